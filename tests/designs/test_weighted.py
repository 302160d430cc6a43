"""What every design that weighs its draws must do."""

from __future__ import annotations

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

import bayes_assess as ba
from bayes_assess.acquisition.target import estimated_risk
from bayes_assess.designs import WEIGHTED, Adaptive, Importance, Oasis, Passive, Stratified
from bayes_assess.designs._weighted import _geometric, _repeats
from campaigns import run_campaign


def rare_pool(n: int = 400, seed: int = 0) -> tuple[ba.Pool, np.ndarray]:
    """Scores that rank well and are no probabilities; one label in sixteen is positive."""
    rng = np.random.default_rng(seed)
    labels = (np.arange(n) % 16 == 0).astype(int)
    scores = 1 / (1 + np.exp(1.5 - rng.normal(size=n) - 2 * labels))
    groups = {
        "rival": np.where(rng.random(n) < 0.1, 1 - labels, labels),
        "site": np.array(["a", "b"])[np.arange(n) % 2],
    }
    return ba.Pool(scores=scores, groups=groups), labels


POOL, LABELS = rare_pool()
F1 = ba.Metric("f1")
SMALL = {
    "passive": Passive(),
    "importance": Importance(n_strata=16),
    "oasis": Oasis(n_strata=16),
    "stratified": Stratified(n_strata=16),
    "adaptive": Adaptive(n_strata=16),
    "adaptive, flat, by block": Adaptive(n_strata=16, depth=1, level="block"),
    "adaptive, stochastic": Adaptive(n_strata=16, oracle="stochastic"),
    "adaptive, in stages, mixed": Adaptive(n_strata=16, stage=5, delta=0.2),
}
REPLACING = [name for name in SMALL if name != "stratified"]


def fresh(design, question=F1):
    cells = question.cells(POOL, 0, design.strata)
    prior = question.prior(POOL, cells, None, None)
    state = design.init(cells, prior, question.reward(cells, prior), question.playable(cells))
    with jax.enable_x64(True):
        return cells, jax.tree.map(jnp.asarray, state)


def test_every_registered_design_is_tested_here():
    assert {type(design) for design in SMALL.values()} == set(WEIGHTED.values())


@pytest.mark.parametrize("name", SMALL)
def test_campaigns_ask_every_item_once_and_end_at_the_exact_answer(name):
    cells = F1.cells(POOL, 0, SMALL[name].strata)
    played, state = run_campaign(SMALL[name], F1, POOL, LABELS, POOL.n_items, jax.random.key(3))
    np.testing.assert_array_equal(np.bincount(played, minlength=cells.n_cells), cells.counts)
    with jax.enable_x64(True):
        answer = SMALL[name].answer(state)
    assert bool(answer["exact"])
    np.testing.assert_allclose(answer["estimate"], [F1.truth(POOL, LABELS)], rtol=1e-12)
    other = run_campaign(SMALL[name], F1, POOL, LABELS, POOL.n_items, jax.random.key(4))[0]
    assert (played != other).any()


@pytest.mark.parametrize("name", REPLACING)
def test_weighted_losses_less_their_mean_are_a_martingale(name):
    """E[sum_j (w_j l_j - R)] = 0 whenever one stops ([NH] Theorem 1), and R is the risk at full labels."""
    design, n_campaigns = SMALL[name], 1500
    cells, state = fresh(design)
    left = F1.full_counts(POOL, cells, LABELS, 2)
    with jax.enable_x64(True):

        @jax.jit
        @jax.vmap
        def campaign(key):
            def step(carry, t):
                state, left = carry
                cell, weight, state = design.choose(jax.random.fold_in(key, t), state)
                outcome = (jax.random.uniform(jax.random.fold_in(key, -1 - t)) * left[cell].sum() >= left[cell, 0]) + 0
                return (design.update(state, cell, outcome, weight), left.at[cell, outcome].add(-1)), None

            last = jax.lax.scan(step, (state, jnp.asarray(left)), jnp.arange(25))[0][0]
            risk = estimated_risk(last.target, last.draws)
            return last.draws.n * (risk - last.target.risk(left / 400)), last.draws.n, last.draws.weights.sum()

        gaps, n_draws, weights = map(np.asarray, campaign(jax.random.split(jax.random.key(0), n_campaigns)))
    error = gaps.std(0, ddof=1) / np.sqrt(n_campaigns)
    assert (np.abs(gaps.mean(0)) < 4 * error).all()
    assert (n_draws >= 25).all()
    total = weights - n_draws  # weights of draws are 1 in the mean
    assert abs(total.mean()) < 4 * total.std(ddof=1) / np.sqrt(n_campaigns) + 1e-9


@pytest.mark.parametrize("name", SMALL)
def test_new_items_come_from_cells_as_often_as_the_proposal_says(name):
    design = SMALL[name]
    _, state = fresh(design)
    with jax.enable_x64(True):
        for cell, outcome in [(0, 0), (0, 0), (3, 1), (9, 0), (9, 1), (12, 1)]:
            state = design.update(design.reserve(state, cell), cell, outcome, 0.7)
        cells, weights = jax.vmap(lambda key: design.choose(key, state)[:2])(jax.random.split(jax.random.key(1), 4000))
        proposal = design.propose(state) if name == "stratified" else state.draws.proposal
        mass = np.asarray(state.remaining * proposal[:, -1])
    counts = np.bincount(np.asarray(cells), minlength=len(mass))
    assert (counts[mass == 0] == 0).all()
    assert stats.chisquare(counts[mass > 0], 4000 * mass[mass > 0] / mass.sum()).pvalue > 1e-4
    if name != "stratified":
        one = 1 / (POOL.n_items * np.asarray(state.draws.proposal)[np.asarray(cells), -1])
        np.testing.assert_allclose(weights, one, rtol=1e-12)


@pytest.mark.parametrize("name", REPLACING)
def test_every_item_that_can_matter_can_be_drawn(name):
    question = ba.Metric(["precision", "recall"]) if "oasis" not in name else F1
    design = SMALL[name]
    _, state = fresh(design, question)
    with jax.enable_x64(True):
        for step in range(12):
            proposal, nonzero = np.asarray(state.draws.proposal), np.asarray(state.target.nonzero)
            kinds = np.concatenate([nonzero, nonzero.any(-1, keepdims=True)], axis=-1) & (np.asarray(state.items) > 0)
            assert (proposal[kinds] > 0).all()
            assert (proposal * np.asarray(state.items)).sum() == pytest.approx(1)
            cell, weight, state = design.choose(jax.random.key(step), state)
            state = design.update(state, cell, step % 2, weight)


@pytest.mark.parametrize("name", SMALL)
def test_nothing_recompiles_as_labels_arrive(name):
    design, traces = SMALL[name], []
    _, state = fresh(design)

    @jax.jit
    def step(key, state):
        traces.append(1)
        cell, weight, state = design.choose(key, state)
        return design.update(state, cell, jnp.ones((), jnp.int64), weight)

    with jax.enable_x64(True):
        for t in range(4):
            state = step(jax.random.key(t), state)
    assert len(traces) == 1


# -- repeated draws ----------------------------------------------------------------------------------------------------


def test_repeated_draws_before_a_new_item_are_geometric():
    with jax.enable_x64(True):
        n = np.asarray(
            jax.vmap(lambda key: _geometric(key, jnp.asarray(0.3)))(jax.random.split(jax.random.key(0), 5000))
        )
        assert float(_geometric(jax.random.key(1), jnp.ones(()))) == 0
    counts = np.bincount(np.minimum(n.astype(int), 12), minlength=13)
    law = stats.geom(0.3, loc=-1)
    expected = 5000 * np.append(law.pmf(np.arange(12)), law.sf(11))
    assert stats.chisquare(counts, expected).pvalue > 1e-4


@pytest.mark.parametrize("n", [0, 7, 500, 10_000])
def test_repeated_draws_hit_items_in_proportion(n):
    mass = np.array([[0.0, 0.2, 0.1], [0.0, 0.0, 0.4]])
    with jax.enable_x64(True):
        hits = np.asarray(_repeats(jax.random.key(2), jnp.asarray(float(n)), jnp.asarray(mass)))
    assert hits.sum() == pytest.approx(n)
    assert (hits[mass == 0] == 0).all()
    if n:
        assert stats.chisquare(hits[mass > 0], n * mass[mass > 0] / mass.sum()).pvalue > 1e-4


@pytest.mark.parametrize("order", ["as asked", "backwards", "in two parts"])
def test_a_batch_gets_its_weights_back_in_any_order(order):
    a = ba.assess(POOL, F1, design=Adaptive(n_strata=16), seed=2)
    first = a.ask(60)
    a.tell(first.ids, LABELS[first.ids])
    queries = a.ask(120)  # so many that pending items are drawn again
    assert np.asarray(a._state.owed).sum() > 0
    ids = queries.ids if order == "as asked" else queries.ids[::-1]
    for part in np.split(ids, [50]) if order == "in two parts" else [ids]:
        a.tell(part, LABELS[part])
    assert np.asarray(a._state.owed) == pytest.approx(0, abs=1e-9)
    reference = ba.assess(POOL, F1, design=Adaptive(n_strata=16), seed=2)
    for batch in (first, queries):
        reference.ask(len(batch))
        reference.tell(batch.ids, LABELS[batch.ids])
    assert a.result().estimate == pytest.approx(reference.result().estimate, rel=1e-6)


def test_only_draws_with_a_label_count():
    """Draws of the passive design weigh 1 each, whatever is pending and however little of it comes back."""
    a = ba.assess(POOL, F1, design="passive", seed=1)
    queries = a.ask(200)
    np.testing.assert_allclose(queries.weights, 1)
    assert float(a._state.draws.n) == 0
    for part in (queries.ids[:40], queries.ids[40:50], queries.ids[50:]):
        a.tell(part, LABELS[part])
        draws = a._state.draws
        assert float(np.asarray(draws.weights).sum()) == pytest.approx(float(draws.n))
        assert float(draws.n) >= a.labels_used
        estimate = a.result().estimate
        a.ask(5)  # what is pending changes nothing
        repeats = float(a._state.draws.n) - float(draws.n)
        assert repeats > 0 or a.result().estimate == estimate
    assert float(draws.n) > 200


def test_labels_that_nobody_asked_for_inform_and_carry_no_weight():
    design = Adaptive(n_strata=16)
    a = ba.assess(POOL, F1, design=design, seed=1)
    before = np.asarray(a._state.memory.pi)
    others = np.flatnonzero(LABELS)[:5]
    a.tell(POOL.ids[others], LABELS[others])
    assert np.asarray(a._state.draws.weights).sum() == 0
    assert np.asarray(a._state.pending).sum() == 0
    assert a._state.counts.sum() == 5
    assert np.abs(np.asarray(a._state.memory.pi) - before).max() > 1e-3
    queries = a.ask(30)
    assert not set(queries.ids) & set(POOL.ids[others])
    more = np.setdiff1d(np.arange(POOL.n_items), [*queries.ids, *others])[:10]
    a.tell([*queries.ids, *more], LABELS[[*queries.ids, *more]])
    assert np.asarray(a._state.owed) == pytest.approx(0, abs=1e-12)
    assert a.result().volunteered == 15


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
    ],
)
def test_options_out_of_range_are_refused(make, said):
    with pytest.raises(ba.DesignError, match=said):
        make()


def test_a_design_that_decides_on_cells_cannot_serve_a_measure_nor_the_other_way_round():
    with pytest.raises(ba.DesignError, match="'thompson' cannot serve this question; these can: 'adaptive', 'oasis'"):
        ba.assess(POOL, F1, design="thompson")
    with pytest.raises(ba.DesignError, match="'adaptive' cannot serve this question; these can: 'thompson'"):
        ba.assess(POOL, ba.GroupAccuracy(), design="adaptive")
    with pytest.raises(ba.DesignError, match="'oasis' cannot serve this question; these can: 'adaptive', 'importance'"):
        ba.assess(POOL, ba.Metric("accuracy"), design="oasis")


def test_other_posteriors_are_refused():
    a = ba.assess(POOL, F1, design="passive")
    with pytest.raises(ba.DesignError, match="model of its own"):
        a.ask(1, posterior=np.full((10, 4), 0.5))


def test_the_proposal_of_a_block_is_that_of_its_items_alike():
    design = SMALL["adaptive, flat, by block"]
    _, state = fresh(design)
    proposal, block = np.asarray(state.draws.proposal), np.asarray(state.target.block)
    for b in np.unique(block):
        assert np.ptp(proposal[block == b]) == 0


def test_mixing_gives_every_item_its_share():
    _, state = fresh(replace(SMALL["adaptive"], delta=0.5))
    assert np.asarray(state.draws.proposal).min() >= 0.5 / POOL.n_items
