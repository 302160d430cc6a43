"""What every design that weighs its draws must do."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

import bayes_assess as ba
from bayes_assess._tools import engine
from bayes_assess._tools.engine import xp
from bayes_assess.designs import WEIGHTED, Adaptive, Draw, Importance, Oasis, Passive, Poisson, Stratified
from bayes_assess.designs.oasis import _Strata
from bayes_assess.designs.step import looked_at, one_label, start_campaign
from bayes_assess.errors import DesignError
from bayes_assess.estimators.weighted import Steps, Sums, add_steps, estimated_risk
from bayes_assess.models.dirichlet_tree import DirichletTree, Tree
from bayes_assess.sessions.open_steps import OpenSteps
from made import run_campaign, same_session, start


def rare_pool(n: int = 400, seed: int = 0) -> tuple[ba.Pool, np.ndarray]:
    """Scores that rank well and are no probabilities; one label in sixteen is positive."""
    rng = np.random.default_rng(seed)
    labels = (np.arange(n) % 16 == 0).astype(int)
    scores = 1 / (1 + np.exp(1.5 - rng.normal(size=n) - 2 * labels))
    rival, site = np.where(rng.random(n) < 0.1, 1 - labels, labels), np.array(["a", "b"])[np.arange(n) % 2]
    return ba.Pool(scores=scores, groups={"site": site}, systems={"rival": rival}), labels


POOL, LABELS = rare_pool()
F1 = ba.Metric("f1")
SMALL = {
    "passive": Passive(),
    "importance": Importance(n_strata=16),
    "oasis": Oasis(n_strata=16, epsilon=0.1),
    "stratified": Stratified(n_strata=16),
    "adaptive": Adaptive(n_strata=16),
    "adaptive, flat, by block": Adaptive(n_strata=16, depth=1, level="block"),
    "adaptive, stochastic": Adaptive(n_strata=16, oracle="stochastic"),
    "adaptive, in stages, mixed": Adaptive(n_strata=16, stage=5, delta=0.2),
}
REPLACING = [name for name in SMALL if name != "stratified"]


def fresh(design, question=F1):
    cells, state = start(design, question, POOL)
    with jax.enable_x64(True):
        return cells, jax.device_put(state)


def one_step(cell, outcome, draw=None) -> Steps:
    weight, p_new = (0.7, 1.0) if draw is None else (draw.weight, draw.p_new)
    return Steps(*(jnp.asarray(x)[None] for x in (cell, outcome, weight, p_new)))


SESSIONS = [name for name in SMALL if "stochastic" not in name]


def test_sessions_and_simulations_refuse_a_stochastic_oracle():
    """They would answer for one truth."""
    design, said = SMALL["adaptive, stochastic"], "takes one label of every item for its truth"
    with pytest.raises(DesignError, match=said):
        ba.assess(POOL, F1, design=design)
    with pytest.raises(DesignError, match=said):
        ba.simulate(POOL, LABELS, F1, designs={"": design}, repeats=2)


def test_every_registered_design_is_tested_here():
    others = {Poisson}  # draws batches as a whole, see test_poisson
    assert {type(design) for design in SMALL.values()} | others == set(WEIGHTED.values())


# Campaigns run on NumPy, and compiled, which takes a second each.
on_both_engines = pytest.mark.parametrize(
    "eager", [True, pytest.param(False, marks=pytest.mark.slow)], ids=["eager", "compiled"]
)


@on_both_engines
@pytest.mark.parametrize("name", SMALL)
def test_campaigns_ask_every_item_once_and_end_at_the_exact_answer(name, eager):
    cells, _ = start(SMALL[name], F1, POOL, eager=eager)
    (played, _, state), (other, *_) = (
        run_campaign(SMALL[name], F1, POOL, LABELS, n, np.array([0, seed], np.uint32), 9, eager=eager)
        for seed, n in ((3, POOL.n_items), (4, 30))
    )
    np.testing.assert_array_equal(np.bincount(played, minlength=cells.n_cells), cells.sizes)
    with jax.enable_x64(True), engine.eager(eager):
        answer = SMALL[name].answer(state)
    assert bool(answer.exact)
    np.testing.assert_allclose(answer.value, [F1.truth(POOL, LABELS)], rtol=1e-12)
    assert (played[:30] != other).any()


@on_both_engines
@pytest.mark.parametrize(("name", "batch"), [*((name, 9) for name in SESSIONS), ("adaptive", 1), ("stratified", 1)])
def test_a_session_takes_the_steps_of_a_simulated_campaign(name, batch, eager):
    """Ends in the middle of a batch, so that items are pending."""
    n = 31 if batch > 1 else 12
    key = ba.assess(POOL, F1, design=SMALL[name], seed=0)._key
    cells, outcomes, state = run_campaign(SMALL[name], F1, POOL, LABELS, n, key, batch, eager=eager)
    a = same_session(SMALL[name], F1, POOL, cells, outcomes, batch)
    assert a.n_pending == -n % batch
    compared = (replace(one, settled=None) for one in (a._state, state))  # a session settles what it is told at once
    for one, other in zip(*map(jax.tree.leaves, compared), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "batch"), [*((name, 8) for name in REPLACING), ("adaptive", 1), ("oasis", 1)])
def test_weighted_losses_less_their_mean_are_a_martingale(name, batch):
    """E[sum_j (w_j l_j - R)] = 0 whenever one stops ([NH] Theorem 1), and R is the risk at full labels."""
    design, n_campaigns = SMALL[name], 1500
    cells, state = fresh(design)
    left = F1.full_counts(POOL, cells, LABELS, 2)
    with jax.enable_x64(True):

        @jax.jit
        @jax.vmap
        def campaign(key):
            begin = start_campaign(batch, jax.random.split(key), state, jnp.asarray(left))
            last = looked_at(design, jax.lax.fori_loop(0, 28, lambda _, c: one_label(design, c), begin))
            risk = estimated_risk(last.measure, last.draws)
            return last.draws.n * (risk - last.measure.risk(left / 400)), last.draws.n, last.draws.weights.sum()

        gaps, n_draws, weights = map(np.asarray, campaign(jax.random.split(jax.random.key(0), n_campaigns)))
    error = gaps.std(0, ddof=1) / np.sqrt(n_campaigns)
    assert (np.abs(gaps.mean(0)) < 4 * error).all()
    assert (n_draws >= 28).all()
    total = weights - n_draws  # weights of draws are 1 in the mean
    assert abs(total.mean()) < 4 * total.std(ddof=1) / np.sqrt(n_campaigns) + 1e-9


@pytest.mark.slow
@pytest.mark.parametrize("name", SMALL)
def test_new_items_come_from_cells_as_often_as_the_proposal_says(name):
    design = SMALL[name]
    _, state = fresh(design)
    with jax.enable_x64(True):
        for cell, outcome in [(0, 0), (0, 0), (3, 1), (9, 0), (9, 1), (12, 1)]:
            state = design.update(design.reserve(state, cell), cell, outcome)
            state = design.settle(state, one_step(cell, outcome))
        cells, draws = jax.vmap(lambda key: design.choose(key, state)[:2])(jax.random.split(jax.random.key(1), 4000))
        one = design.allocation(state) if name == "stratified" else state.draws.proposal[:, -1]
        mass = np.asarray(state.remaining * one)
    counts = np.bincount(np.asarray(cells), minlength=len(mass))
    assert (counts[mass == 0] == 0).all()
    assert stats.chisquare(counts[mass > 0], 4000 * mass[mass > 0] / mass.sum()).pvalue > 1e-4
    if name != "stratified":
        one = 1 / (POOL.n_items * np.asarray(state.draws.proposal)[np.asarray(cells), -1])
        np.testing.assert_allclose(draws.weight, one, rtol=1e-12)
        np.testing.assert_allclose(draws.p_new, mass.sum(), rtol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("name", REPLACING)
def test_every_item_that_can_matter_can_be_drawn(name):
    question = ba.Metric(["precision", "recall"]) if "oasis" not in name else F1
    design = SMALL[name]
    _, state = fresh(design, question)
    with jax.enable_x64(True):
        for step in range(12):
            proposal, nonzero = np.asarray(state.draws.proposal), np.asarray(state.measure.nonzero)
            kinds = np.concatenate([nonzero, nonzero.any(-1, keepdims=True)], axis=-1) & (np.asarray(state.items) > 0)
            assert (proposal[kinds] > 0).all()
            assert (proposal * np.asarray(state.items)).sum() == pytest.approx(1)
            cell, draw, state = design.choose(jax.random.key(step), state)
            state = design.settle(design.update(state, cell, step % 2), one_step(cell, step % 2, draw))


@pytest.mark.parametrize("name", SMALL)
def test_nothing_recompiles_as_labels_arrive(name):
    """What a step returns is of the types of what it takes, so that one program serves all labels."""
    design = SMALL[name]
    _, state = fresh(design)

    def step(key, state):
        cell, draw, state = design.choose(key, state)
        state = design.update(state, cell, jnp.ones((), jnp.int64))
        return design.settle(state, one_step(cell, 1, draw))

    with jax.enable_x64(True):
        before, after = (
            jax.tree.flatten(jax.eval_shape(f, jax.random.key(0), state)) for f in (lambda _, state: state, step)
        )
    assert after == before


# -- steps -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("design", [SMALL["adaptive"], SMALL["stratified"], "passive"])
def test_asking_changes_no_answer(design):
    a = ba.assess(POOL, F1, design=design, seed=3)
    first = a.ask(200)
    a.tell(first.ids, LABELS[first.ids])
    before, state = a.result(), a._state
    a.ask(150)
    after = a.result()
    assert before.estimate == after.estimate
    np.testing.assert_array_equal(before.interval, after.interval)
    assert before.n_draws == after.n_draws
    for one, other in zip(jax.tree.leaves(state.draws), jax.tree.leaves(a._state.draws), strict=True):
        np.testing.assert_array_equal(one, other)


def test_sums_over_steps_less_their_draws_times_the_mean_have_mean_zero_exactly():
    """All orders in which three of five items can be drawn, with their probabilities; proposals learn from labels."""
    losses, n_items = np.array([1, 0, 1, 0, 0]), 5
    proposals = {0: np.array([0.1, 0.2, 0.3, 0.15, 0.25]), 1: np.array([0.4, 0.1, 0.2, 0.1, 0.2])}
    total = mean_draws = 0.0
    for order in itertools.permutations(range(5), 3):
        probability, steps = 1.0, []
        for t, item in enumerate(order):
            known = list(order[:t])
            q = proposals[int(losses[known].sum() > 0)]
            p_new = 1 - q[known].sum()
            probability *= q[item] / p_new
            steps.append((item, losses[item], 1 / (n_items * q[item]), p_new))
        with engine.eager():
            columns = [np.asarray(column) for column in zip(*steps, strict=True)]
            first, rest = Steps(*(x[:1] for x in columns)), Steps(*(x[1:] for x in columns))
            sums = add_steps(add_steps(Sums.zeros((5, 2)), first, n_items), rest, n_items)
        total += probability * (float(sums.weights[:, 1].sum()) - float(sums.n) * losses.mean())
        mean_draws += probability * (float(sums.weights.sum()) - float(sums.n))
    assert total == pytest.approx(0, abs=1e-12)
    assert mean_draws == pytest.approx(0, abs=1e-12)


def orders(n: int) -> dict[str, list[np.ndarray]]:
    """Ways in which a batch comes back, in parts of which the last may never come."""
    asked = np.arange(n)
    return {
        "as asked": [asked],
        "backwards, in one go": [asked[::-1]],
        "backwards, one by one": np.split(asked[::-1], n),
        "in two parts": np.split(np.random.default_rng(0).permutation(n), [n // 3]),
    }


@pytest.mark.parametrize("order", orders(1))
@pytest.mark.parametrize("name", ["adaptive", "oasis", "stratified"])
def test_a_batch_leads_to_the_same_answer_in_whatever_order_it_comes_back(name, order):
    sessions = []
    for way in ("as asked", order):
        a = ba.assess(POOL, F1, design=SMALL[name], seed=2)
        first = a.ask(20)
        a.tell(first.ids, LABELS[first.ids])
        second, third = a.ask(16), a.ask(16)
        for part in orders(32)[way]:
            ids = np.concatenate([second.ids, third.ids])[part]
            a.tell(ids, LABELS[ids])
        sessions.append(a)
    one, other = (a._state.draws for a in sessions)
    assert float(one.n) == pytest.approx(float(other.n), rel=1e-12)
    np.testing.assert_allclose(one.weights, other.weights, rtol=1e-12)
    np.testing.assert_allclose(one.squares, other.squares, rtol=1e-12)
    assert sessions[0].result().estimate == pytest.approx(sessions[1].result().estimate, rel=1e-9)
    assert len(sessions[1]._steps.take()[1].cell) == 0  # all is settled


def test_items_that_never_come_back_are_as_if_nobody_had_asked_for_them():
    """The passive design draws all items alike: what is told of a batch is a sample like any other."""
    everything, without = (ba.assess(POOL, F1, design="passive", seed=1) for _ in range(2))
    queries = everything.ask(120)
    told = queries.ids[np.arange(120) % 3 > 0]
    everything.tell(told, LABELS[told])
    expected = 400 * (1 / np.arange(321, 401)).sum()  # draws until 80 of 400 items have been seen
    assert float(everything._state.draws.n) == pytest.approx(expected, rel=1e-12)
    without.tell(without.ask(80).ids, LABELS[told])
    assert everything.result().n_draws == without.result().n_draws
    again = everything.ask(40)  # items that are still missing might be drawn in these steps
    everything.tell(again.ids, LABELS[again.ids])
    expected = 400 * (1 / np.arange(281, 401)).sum()
    assert float(everything._state.draws.n) == pytest.approx(expected, rel=1e-12)


def half_back(rng, q, losses, n_asked: int) -> Sums:
    """Draw so many of the items without replacement by q, and tell every second one at random."""
    n = len(q)
    items = np.argsort(rng.exponential(size=n) / q)[:n_asked]
    before = np.cumsum(q[items]) - q[items]
    steps = OpenSteps(n_items=n)
    steps.ask(items, np.zeros(n_asked, int), Draw(1 / (n * q[items]), 1 - before, before))
    came = rng.permutation(n_asked)[: n_asked // 2]
    steps.tell(items[came], losses[items[came]])
    with engine.eager():
        return add_steps(Sums.zeros((1, 2)), steps.later(), n)


def given_up(rng, q, losses, rounds: int) -> Sums:
    """Ask for 28 of the items, tell every second one and release the others; in a second round tell 26 of 26."""
    n, steps, known = len(q), OpenSteps(n_items=len(q)), np.zeros(len(q), bool)
    for n_asked, n_back in ((28, 14), (26, 26))[:rounds]:
        order = np.argsort(rng.exponential(size=n) / q + np.where(known, np.inf, 0))[:n_asked]
        before = np.cumsum(q[order]) - q[order]
        steps.ask(order, np.zeros(n_asked, int), Draw(1 / (n * q[order]), 1 - q[known].sum() - before, before))
        came = rng.permutation(order)[:n_back]
        steps.tell(came, losses[came])
        known[came] = True
        steps.give_up(steps.lacking(order))
    settled, later = steps.take()
    assert len(later.cell) == 0
    assert (settled.outcome >= 0).all()
    with engine.eager():
        return add_steps(Sums.zeros((1, 2)), settled, n)


@pytest.mark.slow
@pytest.mark.parametrize("rounds", [1, 2])
def test_labels_stand_for_items_that_were_released_in_the_steps_before(rounds):
    """As of labels that do not come back: means within 3 standard errors over campaigns."""
    rng, repeats = np.random.default_rng(0), 1000
    q, losses = np.linspace(3, 0.2, 60), (np.arange(60) % 3 == 0) | (np.arange(60) >= 45)
    sums = [given_up(rng, q / q.sum(), losses.astype(int), rounds) for _ in range(repeats)]
    n, total = np.array([[float(one.n), float(one.weights[0, 1])] for one in sums]).T
    excess = total - n * losses.mean()
    assert abs(excess.mean()) < 3 * excess.std() / np.sqrt(repeats)


@pytest.mark.parametrize("n_asked", [40, 56])
def test_labels_that_come_back_stand_for_those_that_do_not(n_asked):
    """Items asked for are unlike the others: the proposal prefers them. Means within 3 standard errors over campaigns.

    While items never asked for stood for those without a label, the mean loss of 40 of 60 items was .58 for .50.
    """
    rng, repeats = np.random.default_rng(0), 2000
    q, losses = np.linspace(3, 0.2, 60), (np.arange(60) % 3 == 0) | (np.arange(60) >= 45)
    sums = [half_back(rng, q / q.sum(), losses.astype(int), n_asked) for _ in range(repeats)]
    n = np.array([float(one.n) for one in sums])
    total, square = (np.array([getattr(one, name)[0, 1] for one in sums]) for name in ("weights", "squares"))
    excess = total - n * losses.mean()
    assert abs(excess.mean()) < 3 * excess.std() / np.sqrt(repeats)
    # The variance, too, which is of sums about 0 and so somewhat greater. Of 56 items, labels that are missing matter.
    assert np.mean(square / n**2) > np.var(total / n) * (1 - 3 * np.sqrt(2 / repeats))


def test_only_draws_with_a_label_count():
    """Draws of the passive design weigh 1 each, whatever is pending and however little of it comes back."""
    a = ba.assess(POOL, F1, design="passive", seed=1)
    queries = a.ask(200)
    np.testing.assert_allclose(queries.weights, 1)
    assert float(a._state.draws.n) == 0
    for part in (queries.ids[:40], queries.ids[150:], queries.ids[40:150]):
        a.tell(part, LABELS[part])
        draws = a._state.draws
        assert float(np.asarray(draws.weights).sum()) == pytest.approx(float(draws.n))
        assert float(draws.n) == pytest.approx(400 * (1 / np.arange(401 - a.labels_used, 401)).sum())


def test_the_variance_is_that_of_a_sum_of_weighted_losses():
    """[NH] sec. 3.3.2, centred: an accuracy is 1 less the sum of the weights of errors over the draws."""
    a = ba.assess(POOL, ba.Metric("accuracy"), design=SMALL["importance"], seed=1)
    queries = a.ask(60)
    a.tell(queries.ids, LABELS[queries.ids])
    weights = queries.weights[LABELS[queries.ids] != POOL.predictions[queries.ids]]
    assert np.ptp(weights) > 0.1
    expected = ((weights**2).sum() - weights.sum() ** 2 / 60) / float(a._state.draws.n) ** 2
    assert a.result().standard_error ** 2 == pytest.approx(expected, rel=1e-9)


# -- positives that the scores hide ------------------------------------------------------------------------------------


def hiding_pool(n: int = 1500) -> tuple[ba.Pool, np.ndarray]:
    """45 % of the positives have the score 0."""
    rng = np.random.default_rng(1)
    labels = (np.arange(n) % 10 < 3).astype(int)
    scores = 1 / (1 + np.exp(2 - rng.normal(size=n) - 4 * labels))
    positives = np.flatnonzero(labels)
    scores[rng.choice(positives, round(0.45 * len(positives)), replace=False)] = 0.0
    return ba.Pool(scores=scores), labels


@pytest.mark.slow
@pytest.mark.parametrize("design", [Importance(n_strata=16), Adaptive(n_strata=16)])
def test_positives_of_score_zero_are_found(design):
    pool, labels = hiding_pool()
    study = ba.simulate(pool, labels, F1, designs={"": design}, budgets=[700], repeats=200, batch=20)
    error = study.estimates[""][:, 0] - study.truth
    assert abs(error.mean()) < 3 * error.std(ddof=1) / np.sqrt(200)
    assert study.coverage[""][0] * 200 >= stats.binom.ppf(1e-3, 200, 0.95)


@pytest.mark.parametrize("name", ["importance", "adaptive", "adaptive, flat, by block"])
def test_every_new_draw_leaves_a_share_to_all_items_whatever_their_scores(name):
    pool, _ = hiding_pool()
    design = SMALL[name]
    cells, state = start(design, F1, pool)
    state = replace(
        jax.device_get(state), prior=np.eye(2)[np.zeros(cells.n_cells, int)]
    )  # surely negative, all of them
    with engine.eager():
        state = design._refreshed(replace(state, memory=design.init_memory(state)))
        one, left = np.asarray(state.draws.proposal[:, -1]), np.asarray(state.unlabelled)
    assert one[left > 0].min() >= design.floor * (one @ left) / pool.n_items * (1 - 1e-12)


# -- labels that nobody asked for --------------------------------------------------------------------------------------


def test_labels_that_nobody_asked_for_inform_the_model_and_are_no_draws():
    a = ba.assess(POOL, F1, design=Adaptive(n_strata=16), seed=1)
    before = np.asarray(a._state.memory.pi)
    others = np.flatnonzero(LABELS)[:5]
    a.tell(POOL.ids[others], LABELS[others])
    assert np.asarray(a._state.draws.weights).sum() == 0
    assert np.asarray(a._state.pending).sum() == 0
    assert a.counts.sum() == 5
    assert np.abs(np.asarray(a._state.memory.pi) - before).max() > 1e-3
    queries = a.ask(30)
    assert not set(queries.ids) & set(POOL.ids[others])
    more = np.setdiff1d(np.arange(POOL.n_items), [*queries.ids, *others])[:10]
    a.tell([*queries.ids, *more], LABELS[[*queries.ids, *more]])
    assert a.result().volunteered == 15
    assert "15 labels were told without being asked for, known since then, but" in a.result().summary()


@pytest.mark.parametrize("name", ["passive", "stratified"])
def test_labels_that_nobody_asked_for_count_as_known_items_alone(name):
    """Told all positives at the start, a session knows the recall exactly: no draw of others shows a positive."""
    a = ba.assess(POOL, ba.Metric("recall"), design=SMALL[name], seed=1)
    positives = np.flatnonzero(LABELS)
    a.tell(POOL.ids[positives], LABELS[positives])
    queries = a.ask(60)
    a.tell(queries.ids, LABELS[queries.ids])
    assert a.result().estimate == pytest.approx(POOL.predictions[positives].mean(), rel=1e-12)


def test_labels_that_nobody_asked_for_are_taken_out_of_their_strata():
    a = ba.assess(POOL, ba.Metric("accuracy"), design=Stratified(n_strata=4), seed=1)
    right = POOL.predictions == LABELS
    told = np.flatnonzero(~right)[:20]
    a.tell(told, LABELS[told])
    asked = a.ask(60).ids
    a.tell(asked, LABELS[asked])
    stratum = np.asarray(a._state.measure.block)[a._items.cells_of(np.arange(POOL.n_items))]
    total = variance = 0.0
    for size, sample in ((np.isin(stratum, h), right[asked[stratum[asked] == h]]) for h in range(4)):
        n_items, n = size.sum() - size[told].sum(), len(sample)
        total += n_items * sample.mean()
        variance += n_items**2 * (1 - n / n_items) * sample.var(ddof=1) / n
    r = a.result()
    assert r.estimate == pytest.approx(total / POOL.n_items, rel=1e-12)
    assert r.standard_error**2 == pytest.approx(variance / POOL.n_items**2, rel=1e-9)


@pytest.mark.parametrize("name", ["adaptive", "oasis", "stratified", "importance", "passive"])
def test_a_session_goes_on_from_its_journal_as_if_nothing_had_happened(name, tmp_path):
    sessions = []
    for interrupted in (False, True):
        path = tmp_path / f"{interrupted}.db"
        a = ba.assess(POOL, F1, design=SMALL[name], seed=4, journal=path)
        queries = a.ask(40)
        a.tell(queries.ids[:25], LABELS[queries.ids[:25]])
        a.ask(10)
        if interrupted:
            a.journal.close()
            a = ba.resume(path, POOL)
        a.tell(queries.ids[25:], LABELS[queries.ids[25:]])
        sessions.append(a)
    one, other = sessions
    np.testing.assert_array_equal(one.ask(20).ids, other.ask(20).ids)
    np.testing.assert_allclose(one.result().interval, other.result().interval, rtol=1e-9)


# -- options -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: Adaptive(oracle="moody"), "'deterministic' or 'stochastic'"),
        (lambda: Adaptive(level="page"), "'item' or 'block'"),
        (lambda: Adaptive(stage=0), "at least one label"),
        (lambda: Oasis(epsilon=0), "above 0"),
        (lambda: Oasis(strength=-1), "positive number"),
        (lambda: Passive(delta=1.0), "delta"),
        (lambda: Importance(epsilon=-0.1), "epsilon"),
        (lambda: Adaptive(floor=-0.1), r"floor of adaptive lies in \[0, 1\]"),
        (lambda: Importance(lam=1.5), r"lam of importance lies in \[0, 1\]"),
        (lambda: Importance(interval="narrow"), "'cautious', 'beta' or 'ratio'; found 'narrow'"),
        (lambda: Adaptive(decay="never"), "'share' or 'labels'"),
    ],
)
def test_options_out_of_range_are_refused(make, said):
    with pytest.raises(ba.DesignError, match=said):
        make()


def test_published_options_draw_by_the_norms_alone():
    """[NH] Remark 4: q prop. to (E ||Dg l||^2)^(1/2), whatever is left for items that scores are sure of."""
    _, state = fresh(Importance(n_strata=16, epsilon=1e-9, floor=0.0))
    with jax.enable_x64(True):
        measure = state.measure
        squares = measure.norms(measure.risk(state.masses(state.prior))) ** 2
        q = jnp.sqrt((squares * state.prior).sum(-1))
        np.testing.assert_allclose(state.draws.proposal[:, -1], q / (q @ measure.size), rtol=1e-6)
    _, ours = fresh(Importance(n_strata=16))
    least, least_of_ours = (np.asarray(one.draws.proposal)[:, -1].min() for one in (state, ours))
    assert least < least_of_ours


def test_blended_scores_draw_what_scores_are_sure_of():
    """[SEME] eq. 13: q prop. to h of the labels lam s + (1 - lam) / C."""
    _, state = fresh(Importance(n_strata=16, lam=0.9, epsilon=1e-9, floor=0.0))
    with jax.enable_x64(True):
        measure, pi = state.measure, 0.9 * state.prior + 0.05
        squares = measure.norms(measure.risk(state.masses(pi))) ** 2
        q = jnp.sqrt((squares * pi).sum(-1))
        np.testing.assert_allclose(state.draws.proposal[:, -1], q / (q @ measure.size), rtol=1e-6)


@pytest.mark.parametrize("design", [Importance(n_strata=16, interval="beta"), Poisson(n_strata=16, interval="beta")])
def test_beta_intervals_have_the_estimate_and_its_variance(design):
    a = ba.assess(POOL, F1, design=design, seed=2)
    ids = a.ask(120).ids
    a.tell(ids, LABELS[ids])
    r = a.result()
    m, v = r.estimate, r.standard_error**2
    total = m * (1 - m) / v - 1
    np.testing.assert_allclose(r.interval, stats.beta.ppf([0.025, 0.975], m * total, (1 - m) * total))
    assert "as [SEME] publishes them" in r.assumption
    cautious = ba.assess(POOL, F1, design=type(design)(n_strata=16), seed=2)
    cautious.tell(cautious.ask(120).ids, LABELS[ids])
    assert cautious.result().estimate == r.estimate
    assert np.diff(cautious.result().interval) > np.diff(r.interval)


@pytest.mark.slow
@pytest.mark.parametrize("kind", [Importance, Poisson])
def test_beta_intervals_of_studies_have_the_estimate_and_its_variance(kind):
    designs = {"": kind(n_strata=16, interval="beta")}
    study = ba.simulate(POOL, LABELS, F1, designs=designs, budgets=[50], batch=50, repeats=3)
    ends, found = study.intervals[""][:, 0], study.campaigns[""].record
    value, variance = found.value[:, 0, 0], found.variance[:, 0, 0]
    total = value * (1 - value) / variance - 1
    inside = (value > 0) & (value < 1)
    assert inside.any()
    expected = stats.beta.ppf(0.975, value * total, (1 - value) * total)
    np.testing.assert_allclose(ends[inside, 1], np.maximum(expected, value)[inside])


@pytest.mark.parametrize(("decay", "left"), [("share", 1 - 30 / POOL.n_items), ("labels", 1 / 31)])
def test_the_floor_of_norms_falls_as_said(decay, left):
    """With an epsilon of 1 the floor is near the greatest norm, above most others, so that it shows."""
    a = ba.assess(POOL, F1, design=Adaptive(n_strata=16, epsilon=1.0, floor=0.0, decay=decay), seed=1)
    ids = a.ask(30).ids
    a.tell(ids, LABELS[ids])
    state, design = a._state, a.design
    with jax.enable_x64(True):
        measure = state.measure
        norms = measure.norms(measure.risk(state.masses(design.belief(state))))
        least = norms.max() * left
        known = jnp.maximum(norms, least * measure.nonzero)
        expected = (known * design.belief(state)).sum(-1)
        np.testing.assert_allclose(design.propose(state)[:, -1], expected, rtol=1e-9)


def test_a_design_that_decides_on_cells_cannot_serve_a_measure_nor_the_other_way_round():
    with pytest.raises(ba.DesignError, match="'thompson' cannot serve this question; these can: 'adaptive', 'oasis'"):
        ba.assess(POOL, F1, design="thompson")
    with pytest.raises(ba.DesignError, match="'adaptive' cannot serve this question; these can: 'thompson'"):
        ba.assess(POOL, ba.GroupAccuracy(), design="adaptive")
    with pytest.raises(ba.DesignError, match="'oasis' cannot serve this question; these can: 'adaptive', 'importance'"):
        ba.assess(POOL, ba.Metric("accuracy"), design="oasis")


class OwnArms(ba.designs.Thompson):
    """A design of a user's own that plays groups."""


class OwnWeights(Adaptive):
    """A design of a user's own that weighs what it draws."""


def test_designs_of_a_users_own_serve_what_designs_of_their_kind_serve():
    with pytest.raises(ba.DesignError, match="'thompson' cannot serve this question; these can: 'adaptive', 'oasis'"):
        ba.assess(POOL, F1, design=OwnArms())
    with pytest.raises(ba.DesignError, match="'adaptive' cannot serve this question; these can: 'thompson'"):
        ba.assess(POOL, ba.GroupAccuracy(), design=OwnWeights())
    assert len(ba.assess(POOL, ba.GroupAccuracy(), design=OwnArms()).ask(2)) == 2
    assert len(ba.assess(POOL, F1, design=OwnWeights(n_strata=4)).ask(2)) == 2  # deep trees take long to compile


@dataclass(frozen=True)
class Proposing(Oasis):
    """Proposes some number for an item of the first cell once a few items are labelled, and 1 for others."""

    number: float = 1.0

    def propose(self, state):
        """Return what the items of every cell are proposed by."""
        first = xp.arange(len(state.counts))[:, None] == 0
        return xp.where(first & (state.counts.sum() >= 2), self.number, xp.ones(state.draws.proposal.shape))


@pytest.mark.parametrize("number", [np.nan, np.inf, -1e9])
def test_proposals_that_are_no_probabilities_are_refused(number):
    """They made the uniform proposal, or answers from weights that were NaN."""
    design = Proposing(n_strata=16, number=number)
    a = ba.assess(POOL, F1, design=design)
    a.tell(a.ask(2).ids, [0, 1])
    with pytest.raises(ba.DesignError, match=r"let its propose\(\) return finite numbers, 0 or more"):
        a.ask(1)
    assert a.n_pending == 0
    same = Proposing(n_strata=16, number=1.0)
    assert len(ba.assess(POOL, F1, design=same).ask(5)) == 5


# Every number is a program of its own.
@pytest.mark.slow
@pytest.mark.parametrize("number", [np.nan, np.inf, -1e9])
def test_studies_of_proposals_that_are_no_probabilities_are_refused(number):
    design = Proposing(n_strata=16, number=number)
    with pytest.raises(ba.DesignError, match=r"'oasis' proposes items by numbers that are no probabilities"):
        ba.simulate(POOL, LABELS, F1, designs=[design], budgets=[20], repeats=2)


class FirstArm(ba.designs.Thompson):
    """Plays the first group, whether it has items or not."""

    def play(self, key, state):
        """Return the first group."""
        return xp.zeros(1, xp.int64)


@pytest.mark.slow
def test_a_design_that_chooses_a_group_without_items_is_refused():
    a = ba.assess(POOL, ba.GroupAccuracy("site"), design=FirstArm())
    a.tell(a.ask(200).ids, [0] * 200)
    with pytest.raises(ba.DesignError, match="has chosen 3 items of a, where 0 are left"):
        a.ask(3)  # the next items in the order of cells are those of the other group
    with pytest.raises(ba.DesignError, match="'thompson' has chosen items of groups that had none left"):
        ba.simulate(POOL, LABELS, ba.GroupAccuracy("site"), designs=[FirstArm()], budgets=[100, 250], repeats=2)


@pytest.mark.slow
def test_a_journal_that_cannot_bring_back_a_design_is_to_be_left_out(tmp_path):
    with pytest.raises(ba.DesignError, match=r"OwnWeights.* is none of them\. Leave out the journal\."):
        ba.assess(POOL, F1, design=OwnWeights(), journal=tmp_path / "run.db")
    assert not (tmp_path / "run.db").exists()


def test_designs_are_named_that_serve_a_measure_on_some_pool():
    with pytest.raises(ba.DesignError, match=r"these can: .*'importance', .*'passive', 'variance_reduction'\.$"):
        ba.assess(POOL, ba.Metric("log_loss"), design="oasis")
    assert "variance_reduction" not in ba.Metric("mean_squared_error").designs
    for names in ("f1", "f1_macro", "roc_auc", ["log_loss", "f1"], "brier_score_loss"):
        assert "variance_reduction" in ba.Metric(names).designs


def test_the_tree_of_a_campaign_starts_from_the_mean_scores_of_its_blocks():
    pool = ba.Pool(scores=np.repeat([0.2, 0.9], [30, 10]))  # one block of two cells, by the prediction
    a = ba.assess(pool, F1, design=Adaptive(n_strata=1))
    mean = np.array([[0.625, 0.375]])
    with engine.eager():
        found, expected = a.design.oracle_prior(a._state), DirichletTree.from_prior(mean_scores=mean, tree=Tree.flat(1))
        np.testing.assert_allclose(found.predictive, expected.predictive)


def test_oasis_proposes_strata_by_how_far_their_labels_move_the_f_measure():
    pool = ba.Pool(scores=np.repeat([0.1, 0.8], [30, 10]))  # ten are predicted positive
    a = ba.assess(pool, F1, design=Oasis(n_strata=2, epsilon=0.1))
    value = 8 / (0.5 * 10 + 0.5 * (3 + 8))  # as the scores say
    norms = np.sqrt([0.1 * (value / 2) ** 2, 0.2 * (value / 2) ** 2 + 0.8 * (1 - value) ** 2])
    items = np.array([30, 10])
    expected = 0.9 * items * norms / (items @ norms) + 0.1 * items / 40
    proposal = np.asarray(a._state.draws.proposal)[:, -1]
    np.testing.assert_allclose(proposal * np.asarray(a.cells.sizes), expected, rtol=1e-9)


@pytest.mark.parametrize(("decay", "prior"), [(True, 2 / 4), (False, 2)])
def test_the_prior_of_a_stratum_of_oasis_fades_as_published(decay, prior):
    design = Oasis(strength=2, decay=decay)
    of = _Strata(*np.array([[10.0], [0.0], [0.5], [4], [4]]))
    np.testing.assert_allclose(design.posterior_mean(of), [(prior * 0.5 + 4) / (prior + 4)])


def test_the_proposal_of_a_block_is_that_of_its_items_alike():
    design = SMALL["adaptive, flat, by block"]
    _, state = fresh(design)
    proposal, block = np.asarray(state.draws.proposal), np.asarray(state.measure.block)
    for b in np.unique(block):
        assert np.ptp(proposal[block == b, :-1]) == 0  # labelled
        assert np.ptp(proposal[block == b, -1]) == 0  # unlabelled ones have the floor besides


def test_mixing_gives_every_item_its_share():
    _, state = fresh(replace(SMALL["adaptive"], delta=0.5))
    assert np.asarray(state.draws.proposal).min() >= 0.5 / POOL.n_items
