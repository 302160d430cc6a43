"""The design that reduces the posterior variance of a measure: sessions, simulated campaigns, audits, answers."""

from __future__ import annotations

from dataclasses import replace

import jax
import numpy as np
import pytest

import bayes_assess as ba
from bayes_assess._tools import engine
from bayes_assess._tools.axes import in_64_bits
from bayes_assess.designs import Poisson, VarianceReduction, _gains, variance_reduction
from bayes_assess.designs._audit import audit_plan
from bayes_assess.designs._gains import gains
from bayes_assess.designs.step import one_label, start_campaign
from bayes_assess.errors import DesignError, PriorError, QuestionError
from bayes_assess.estimators import betting
from bayes_assess.estimators.weighted import Steps
from bayes_assess.models.calibration_curve import drawn
from bayes_assess.models.curve_members import POSITIVES
from bayes_assess.questions import _events
from bayes_assess.studies.compiled_campaigns import CompiledCampaigns
from made import labelled_sessions

RNG = np.random.default_rng(7)
SCORES = RNG.beta(0.3, 3.0, 600)
LABELS = (RNG.random(600) < SCORES).astype(int)
POOL = ba.Pool(scores=np.stack([1 - SCORES, SCORES], axis=1))
SMALL = VarianceReduction(n_strata=12)
THREE = ba.Pool(scores=RNG.dirichlet([1.0, 1.0, 1.0], 60))
FEW = 90  # items of a pool that is labelled as a whole
FEW_POOL = ba.Pool(scores=POOL.scores[:FEW])


told = labelled_sessions(POOL, LABELS, ba.Metric("f1"), batch=20, design=SMALL)


def test_it_is_the_default_for_measures_of_predictions_and_labels():
    assert ba.assess(POOL, ba.Metric("f1")).design.name == "variance_reduction"
    assert ba.assess(POOL, ba.Metric("accuracy")).design.name == "variance_reduction"
    many = ba.Pool(predictions=[0, 1, 2, 2])
    assert ba.assess(many, ba.Metric("recall", positive=2)).design.name == "variance_reduction"
    assert ba.assess(many, ba.Metric("f1_macro")).design.name == "variance_reduction"
    assert ba.assess(POOL, ba.Metric("brier_score_loss")).design.name == "variance_reduction"
    assert ba.assess(THREE, ba.Metric("brier_score_loss")).design.name == "adaptive"
    assert ba.assess(POOL, ba.PRCurve(4)).design.name == "variance_reduction"


def test_the_answer_is_exact_once_everything_is_labelled():
    for question in (ba.Metric("f1"), ba.Metric(["precision", "recall"]), ba.Metric("accuracy")):
        a = told(FEW, question, pool=FEW_POOL, labels=LABELS[:FEW], batch=30)
        result = a.result()
        truth = np.atleast_1d(question.truth(FEW_POOL, LABELS[:FEW]))
        np.testing.assert_allclose(np.atleast_1d(result.estimate), truth, rtol=0, atol=1e-12)
        np.testing.assert_allclose(
            np.reshape(result.interval, (-1, 2)), np.stack([truth, truth], 1), rtol=0, atol=1e-12
        )
        assert result.guarantee == "exact"
        np.testing.assert_allclose(np.reshape(result.design_interval, (-1, 2)), np.stack([truth, truth], 1), atol=1e-12)


def test_an_interval_holds_its_estimate_and_lies_in_the_range_of_the_measure():
    for n in (0, 1, 20, 60):
        a = told(n)
        result = a.result()
        for low, high in (result.interval, result.credible_interval):
            assert 0 <= low <= result.estimate <= high <= 1
            assert low < high
        assert 0 <= result.design_interval[0] <= result.design_interval[1] <= 1


def test_asking_alone_moves_no_answer():
    a = told(40)
    before = a.result()
    a.ask(30)
    after = a.result()
    assert before.estimate == after.estimate
    np.testing.assert_array_equal(before.interval, after.interval)
    np.testing.assert_array_equal(before.design_interval, after.design_interval)


@pytest.mark.slow
@pytest.mark.parametrize("batch", [1, 7])
def test_a_simulated_campaign_is_the_steps_of_a_session(batch):
    question, n, seed = ba.Metric("f1"), 21, 5  # by which no label is chosen by a last digit
    study = ba.simulate(POOL, LABELS, question, designs=[SMALL], budgets=[n], repeats=1, seed=seed, batch=batch)
    record = next(iter(study.campaigns.values())).record
    setting = question.setting(POOL, seed, SMALL.strata_of(POOL))
    with engine.eager():  # as sessions of small pools are
        first = engine.random.split(engine.random.key(seed), CompiledCampaigns.n_threads)[0]
        full = question.full_counts(POOL, setting.cells, LABELS, 2)
        campaign = start_campaign(batch, engine.random.split(first), SMALL.init(*setting), full)
        for _ in range(n):
            campaign = one_label(SMALL, campaign)
        mine = SMALL.record(campaign.state)
        found = SMALL.digest(jax.tree.map(lambda x: np.asarray(x)[None, None], mine), setting, seed, 0.95)
    apart = np.abs(found.quantiles[0, 0] - record.quantiles[0, 0])
    # Last digits, which differ by compiler, decide which of two particles is kept. A label more or less, or another
    # key, moves three quarters of the quantiles and more, some of them by .04 to .2.
    assert (apart > 1e-3).mean() < 0.03
    assert apart.max() < 0.01


def test_a_journal_brings_back_the_same_state(tmp_path):
    kept, a = told(30, journal=tmp_path / "run.db"), told(30)
    kept.ask(10), a.ask(10)
    kept.journal.close()
    b = ba.resume(tmp_path / "run.db", POOL)
    assert b.result().estimate == a.result().estimate
    np.testing.assert_array_equal(b.result().design_interval, a.result().design_interval)
    np.testing.assert_array_equal(b.ask(15).ids, a.ask(15).ids)


def test_labels_of_a_batch_may_come_in_any_order_and_in_parts():
    a, b = ba.assess(POOL, ba.Metric("f1"), design=SMALL), ba.assess(POOL, ba.Metric("f1"), design=SMALL)
    ids = a.ask(40).ids
    np.testing.assert_array_equal(ids, b.ask(40).ids)
    a.tell(ids, LABELS[ids])
    for part in (ids[25:], ids[:10], ids[10:25]):
        b.tell(part, LABELS[part])
    with jax.enable_x64(True):
        audits = [np.asarray(x._state.audit.bets.capital) for x in (a, b)]
    np.testing.assert_allclose(audits[0], audits[1], rtol=1e-9)
    np.testing.assert_array_equal(a.counts, b.counts)
    # The particles moved at other times, so the two answers differ by Monte Carlo error alone.
    assert abs(a.result().estimate - b.result().estimate) < 4 * 0.15 * a.result().standard_error


def test_a_part_of_a_batch_settles_no_bets_before_the_first_label_has_come():
    a = ba.assess(POOL, ba.Metric("f1"), design=VarianceReduction(n_strata=12, audit=0.5))
    ids = a.ask(20).ids
    a.tell(ids[1:], LABELS[ids[1:]])
    assert int(a._state.audit.counts.sum()) == 0
    a.tell(ids[:1], LABELS[ids[:1]])
    weights = a.pool.n_items  # every random item of the batch counts now
    assert 0 < int(a._state.audit.counts.sum()) < weights


def test_bets_are_settled_on_what_was_known_when_each_item_was_asked_for():
    a = told(100, batch=100)
    before, known = a._state, np.array(a._state.audit.known)
    size, queries = np.asarray(before.measure.size), a.ask(12)
    believed, rates = np.asarray(a._state.audit.believed), np.exp2(np.asarray(a._state.audit.doublings) / 2)
    assert np.ptp(rates) > 0
    a.tell(queries.ids, LABELS[queries.ids])
    audit, bets = a._state.audit, engine.tree_map(lambda x: np.asarray(x)[0], before.audit.bets)
    with engine.eager(), in_64_bits():
        for cell, label, weight in zip(
            a._items.cells_of(queries.ids), LABELS[queries.ids], queries.weights, strict=True
        ):
            tables = audit.f[0], audit.g[0], known, size - known.sum(1), believed
            bets = betting.update(bets, *tables, cell, label, weight > 0, rates=rates)
            known[cell, label] += 1
    assert (queries.weights > 0).sum() > 1
    assert float(bets.n_draws) == float(before.audit.bets.n_draws[0]) + (queries.weights > 0).sum()
    np.testing.assert_allclose(audit.bets.capital[0], bets.capital, rtol=1e-9)
    np.testing.assert_array_equal(audit.known, known)


def test_results_count_random_labels_without_and_with_the_event():
    a = told(60)
    counts = np.asarray(a._state.audit.counts)
    assert a.result().evidence.found.audits.sum(0).tolist() == counts.sum(0).tolist()
    assert counts[:, 0].sum() > counts[:, 1].sum()


def test_labels_that_nobody_asked_for_are_known_and_audit_nothing():
    a = ba.assess(POOL, ba.Metric("f1"), design=SMALL)
    a.tell(np.arange(30), LABELS[:30])
    assert a.labels_used == 30
    assert int(a._state.audit.counts.sum()) == 0
    assert int(a._state.audit.known.sum()) == 30
    assert "taken for chosen at random" in a.result().summary()


def test_random_items_are_a_uniform_sample():
    """Shares of 1,200 random items agree with the sizes of at most 4 cells (chi-squared, 3 degrees, p = 1e-4)."""
    design = VarianceReduction(n_strata=2, audit=0.9999)
    setting = ba.Metric("f1").setting(POOL, 0, design.strata_of(POOL))
    with jax.enable_x64(True):
        state = design.init(*setting)
        cells = jax.jit(jax.vmap(lambda key: design.choose(key, state)[0]))(jax.random.split(jax.random.key(0), 1200))
    n = np.bincount(np.asarray(cells), minlength=setting.cells.n_cells)
    expected = 1200 * setting.cells.weights
    assert ((n - expected) ** 2 / expected).sum() < 21.1


def after_a_hundred(design, setting):
    """Return the state with 100 labels in two cells, from which on random items are as many as they get."""
    with jax.enable_x64(True):
        state = jax.tree.map(jax.numpy.asarray, design.init(*setting))
        taken = jax.numpy.zeros_like(state.remaining).at[:2].set(50)
        return replace(state, counts=state.counts.at[:, 0].add(taken), remaining=state.remaining - taken)


@pytest.mark.slow
def test_random_items_are_drawn_as_often_as_they_are_weighted_for():
    """Shares of 750 items agree with the probabilities of 6 cells at most (chi-squared, 5 degrees, p = 1e-4)."""
    design = VarianceReduction(n_strata=3)
    setting = ba.Metric("f1").setting(POOL, 0, design.strata_of(POOL))
    state = after_a_hundred(design, setting)
    with jax.enable_x64(True):
        planned = jax.jit(design.random_items)
        assert planned(design.init(*setting))[0] == pytest.approx(0.05)  # at first
        share, doublings = planned(state)
        keys = jax.random.split(jax.random.key(0), 2600)
        cells, draws, after = jax.jit(jax.vmap(lambda key: design.choose(key, state)))(keys)
    random = np.asarray(draws.weight) > 0
    assert 0.26 < random.mean() < 0.34  # of all items three in ten, as one in twenty has the event
    assert share == pytest.approx(0.3)
    np.testing.assert_array_equal(after.audit.doublings[0], doublings)
    left = np.asarray(state.remaining)
    expected = left * 2 ** (np.asarray(doublings) / 2)
    expected = expected / expected.sum()
    assert np.ptp(expected / left) > 0
    n = np.bincount(np.asarray(cells)[random], minlength=len(expected))
    assert ((n - n.sum() * expected) ** 2 / (n.sum() * expected)).sum() < 25.7
    weights = left / (expected * POOL.n_items)  # 1 / (M q)
    np.testing.assert_allclose(np.asarray(draws.weight)[random], weights[np.asarray(cells)[random]])


@pytest.mark.slow
def test_random_labels_that_results_speak_of_are_uniform_draws():
    """Of 1,500 random items those that count agree with the sizes of 6 cells at most, and all of them do not."""
    design = VarianceReduction(n_strata=3)
    setting = ba.Metric("f1").setting(POOL, 0, design.strata_of(POOL))
    first = after_a_hundred(design, setting)

    def counted(keys):
        state = replace(first, belief=replace(first.belief, key=keys[0]))
        cell, draw, state = design.choose(keys[1], state)
        steps = Steps(*(jax.numpy.atleast_1d(x) for x in (cell, 0, draw.weight, draw.p_new)))
        return cell, draw.weight > 0, design.settle(state, steps).audit.counts.sum(1)

    with jax.enable_x64(True):
        cells, random, counts = jax.jit(jax.vmap(counted))(jax.random.split(jax.random.key(0), (5000, 2)))
    size = np.asarray(first.remaining)

    def distance(n):
        expected = n.sum() * size / size.sum()
        return ((n - expected) ** 2 / expected).sum()  # chi-squared of 5 degrees, 25.7 at p = 1e-4

    assert distance(np.asarray(counts).sum(0)) < 25.7
    assert distance(np.bincount(np.asarray(cells)[np.asarray(random)], minlength=len(size))) > 100
    assert 0 < np.asarray(counts).sum() < np.asarray(random).sum()


def test_there_are_fewer_random_items_where_events_are_rare_and_none_is_never_drawn():
    remaining, variance = np.array([990, 10, 0]), np.array([[0.0], [1e-4], [1.0]])
    with jax.enable_x64(True):
        shares = [float(audit_plan(0.05, events, remaining, variance)[0]) for events in (0.0, 1e-3, 0.04, 0.5, 0.999)]
        np.testing.assert_allclose(shares, [0.05, 0.05625, 0.3, 0.3, 0.05625])
        assert audit_plan(0.05, 0.5, remaining, variance)[1].tolist()[0] == 0
        assert audit_plan(0.05, 0.5, remaining, variance)[1].tolist()[1] > 0
        assert [float(audit_plan(audit, 0.5, remaining, variance)[0]) for audit in (0.0, 0.2, 0.9)] == [0.0, 0.3, 0.9]
        assert audit_plan(0.9, 0.5, remaining, variance)[1].tolist() == [0, 0, 0]


def test_random_items_are_drawn_by_what_was_known_when_no_item_was_pending():
    a = told(30)
    a.ask(10)
    before, believed = np.asarray(a._state.audit.doublings), np.asarray(a._state.audit.believed)
    a.tell(a.pending[:5], LABELS[a.pending[:5]])
    a.ask(3)
    np.testing.assert_array_equal(a._state.audit.doublings, before)
    np.testing.assert_array_equal(a._state.audit.believed, believed)
    a.tell(a.pending, LABELS[a.pending])
    a.ask(1)
    assert (np.asarray(a._state.audit.doublings) != before).any()
    assert (np.asarray(a._state.audit.believed) != believed).any()


@pytest.mark.slow
def test_the_label_asked_for_is_the_one_that_teaches_most():
    design = VarianceReduction(n_strata=12, audit=0.0)
    a = ba.assess(POOL, ba.Metric("recall"), design=design)
    a.tell(np.arange(60), LABELS[:60])
    with jax.enable_x64(True):
        state = jax.tree.map(jax.numpy.asarray, a._state)
        gain = np.where(np.asarray(state.remaining) > 0, np.asarray(gains(state)), -1)
    assert gain[a.ask(1).cells[0]] > (1 - 1e-3) * gain.max()  # compiled or not, to rounding


@pytest.mark.parametrize("measure", ["f1", "f1_macro"])
def test_what_pending_items_do_not_change_is_computed_once_for_a_batch(measure, monkeypatch):
    scores = np.random.default_rng(3).dirichlet(np.ones(2 if measure == "f1" else 4), 300)
    pool, directions, computed = ba.Pool(scores=scores, classes=list(range(scores.shape[1]))), _gains._directions, []

    def asked():
        a = ba.assess(pool, ba.Metric(measure), design=SMALL)
        first = a.ask(30)
        a.tell(first.ids, scores[first.ids].argmax(1))
        computed.clear()
        return a.ask(30).cells.tolist()

    monkeypatch.setattr(_gains, "_directions", lambda *state: computed.append(None) or directions(*state))
    kept = asked()
    assert len(computed) == 1
    monkeypatch.setattr(variance_reduction, "handed_out", lambda before, after: after)
    assert asked() == kept
    assert len(computed) == 30


@pytest.mark.slow
@pytest.mark.parametrize("measure", ["f1", "accuracy"])
def test_of_many_groups_labels_are_expected_to_tell_as_much_as_of_few(measure, monkeypatch):
    """Of many what a cell tells is kept for its own group alone, and losses that are 0 may be left out."""
    rng = np.random.default_rng(4)
    labels = (rng.random(900) < 0.3).astype(int)
    pool = ba.Pool(scores=rng.beta(1 + labels, 2 - labels), groups={"site": rng.integers(0, 70, 900)})

    def asked(groups_are_many, largest):
        monkeypatch.setattr(_gains, "MANY", 64 if groups_are_many else 100)
        monkeypatch.setattr(_events, "_LARGEST_DENSE", largest)
        a = ba.assess(pool, ba.Metric(measure, by="site"), design=VarianceReduction(audit=0.3), seed=0)
        a.tell(ids := a.ask(25).ids, labels[ids])
        state = a._state
        with engine.eager(), in_64_bits():
            told = _gains.at_stake(state)[2]
            return gains(state), told.toarray() if groups_are_many else told, a.result().interval

    every = asked(False, 2**26)
    for largest in (2**26, 0):
        for found, expected in zip(asked(True, largest), every, strict=True):
            np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("kind", ["all negative", "all positive", "constant scores", "five scores", "no scores"])
def test_pools_without_information_are_answered_without_nan(kind):
    labels = {"all negative": np.zeros(600, int), "all positive": np.ones(600, int)}.get(kind, LABELS)
    scores = {"constant scores": np.full(600, 0.4), "five scores": np.round(SCORES * 4) / 4}.get(kind, SCORES)
    pool = ba.Pool(scores=np.stack([1 - scores, scores], axis=1))
    if kind == "no scores":
        pool = ba.Pool(predictions=(SCORES > 0.3).astype(int), classes=[0, 1])
    result = told(60, ba.Metric(["f1", "accuracy"]), pool=pool, labels=labels).result()
    assert np.isfinite(result.estimate).all()
    assert np.isfinite(result.interval).all()
    assert np.isfinite(result.design_interval).all()
    truth = ba.Metric(["f1", "accuracy"]).truth(pool, labels)
    assert (result.interval[:, 0] <= truth + 1e-9).all()
    assert (truth <= result.interval[:, 1] + 1e-9).all()


@pytest.mark.parametrize("n_items", [1, 3])
def test_tiny_pools_are_answered(n_items):
    pool = ba.Pool(scores=np.linspace(0.2, 0.9, n_items))
    a = ba.assess(pool, ba.Metric("f1"), design=SMALL)
    assert np.isfinite(a.result().estimate)
    ids = a.ask(n_items).ids
    a.tell(ids, np.ones(n_items, int))
    assert a.result().guarantee == "exact"
    assert a.result().estimate == pytest.approx(ba.Metric("f1").truth(pool, np.ones(n_items, int)), abs=1e-12)


def test_another_measure_of_the_same_event_is_answered_from_the_same_labels():
    a = told(80)
    both = a.result(question=ba.Metric(["precision", "recall", "f1"]))
    assert both.estimate[2] == pytest.approx(float(a.result().estimate), abs=0.01)
    precision = float(ba.Metric("precision").truth(POOL, LABELS))  # all 14 that are predicted positive have labels
    np.testing.assert_allclose(both.design_interval[0], precision, atol=1e-12)
    np.testing.assert_array_equal(both.design_interval[1:], [[0.0, 1.0]] * 2)  # bets were on F1 alone
    other = a.result(question=ba.Metric(["recall", "specificity"], positive=0))  # of two classes either is the event
    same = a.result(question=ba.Metric(["specificity", "recall"]))
    np.testing.assert_allclose(other.estimate, same.estimate, atol=1e-12)


ALIKE = np.concatenate([np.linspace(0.2, 0.95, 40), np.zeros(19_960)])  # scores, 99.8 % of them the same
ALIKE_POOL = ba.Pool(scores=ALIKE)


@pytest.mark.parametrize("relative", [1.0, 0.0])
def test_items_that_are_all_alike_swallow_no_labels(monkeypatch, relative):
    """With scatter that is relative; with the same scatter of all rates, as a planted fault, they do."""
    members = replace(POSITIVES, relative=np.full_like(POSITIVES.prior, relative))
    monkeypatch.setattr(_events, "POSITIVES", members)
    labels = (np.random.default_rng(0).random(len(ALIKE)) < 1.2 * ALIKE - 0.2).astype(int)
    a = ba.assess(ALIKE_POOL, ba.Metric("f1"), design=VarianceReduction(n_strata=12, audit=0.0))
    among = 0
    for _ in range(10):
        ids = a.ask(4).ids
        among += int((ALIKE[ids] == 0).sum())
        a.tell(ids, labels[ids])
    assert (among < 20) == (relative == 1.0)


def test_hidden_positives_move_the_interval_and_only_labels_the_estimate():
    a = ba.assess(ALIKE_POOL, ba.Metric("f1"), design=VarianceReduction(n_strata=12))
    a.tell(np.arange(40), np.arange(40) >= 10)  # all that have a score: 30 positives, 24 of them predicted
    # And none among 1,500 of the others: of 256 particles' draws more than half, of whatever seed, have none at all.
    a.tell(np.arange(1000, 2500), np.zeros(1500, int))
    result = a.result()
    best = 2 * 24 / (24 + 30)
    assert result.estimate == pytest.approx(best, abs=1e-12)
    assert result.interval[1] == pytest.approx(best, abs=1e-12)
    assert result.interval[0] < 2 * 24 / (24 + 30 + 10)  # ten hidden ones are nothing that 1,500 labels rule out
    a.tell([5000], [1])
    after = a.result()
    # One in 1,501 says what it says: no more than the share of 1,501, and no less than the one.
    assert 2 * 24 / (24 + 30 + len(ALIKE) / 1501) < after.estimate < 2 * 24 / (24 + 31)
    assert after.interval[0] < result.interval[0]
    assert after.estimate < after.interval[1] <= 2 * 24 / (24 + 31) + 1e-12


@pytest.mark.parametrize("flat", [True, False])
def test_labels_that_find_no_positive_do_not_say_that_there_is_none(monkeypatch, flat):
    """30 of 20,000 items are predicted positive, wrongly, and 40 others are; 470 labels of these find none.

    They rule out no more than three in 470, 125 of the others. Without scores that say nothing among what is believed,
    as a planted fault, the interval ends before 40.
    """
    prior = POSITIVES.prior * (np.array(POSITIVES.names) != "flat") if not flat else POSITIVES.prior
    monkeypatch.setattr(_events, "POSITIVES", replace(POSITIVES, prior=np.maximum(prior, 1e-9)))
    rng = np.random.default_rng(3)
    scores = 1 / (1 + np.exp(5 - 1.5 * rng.normal(size=20_000)))
    predictions = np.isin(np.arange(20_000), np.argsort(scores)[-30:])
    a = ba.assess(ba.Pool(predictions=predictions, scores=scores), ba.Metric("accuracy"), seed=3)
    a.tell(np.flatnonzero(predictions), np.zeros(30, bool))
    a.tell(rng.choice(np.flatnonzero(~predictions), 470, replace=False), np.zeros(470, bool))
    low, high = a.result().interval
    assert (low <= 1 - 70 / 20_000 <= high) == flat


MANY = np.random.default_rng(3).dirichlet([0.5] * 4, 300)
MANY_LABELS = np.array([np.random.default_rng(i).choice(4, p=row) for i, row in enumerate(MANY)])


@pytest.mark.slow
def test_measures_of_many_classes_are_exact_once_everything_is_labelled():
    pool = ba.Pool(scores=MANY)
    question = ba.Metric(["f1_macro", "matthews_corrcoef", "balanced_accuracy", "cohen_kappa", "accuracy"])
    a = told(300, question, pool=pool, labels=MANY_LABELS, batch=150)
    truth = question.truth(pool, MANY_LABELS)
    np.testing.assert_allclose(a.result().estimate, truth, rtol=0, atol=1e-12)
    np.testing.assert_allclose(a.result().design_interval, np.stack([truth, truth], axis=1), rtol=0, atol=1e-12)


def test_several_systems_on_many_classes_are_left_to_other_designs():
    """The belief tells wrong predictions of one system apart, not which of several is right: it was sure, and wrong."""
    pool = ba.Pool(scores=MANY, systems={"other": (MANY.argmax(1) + 1) % 4})
    for question in (
        ba.Metric("accuracy", systems=["prediction", "other"]),
        ba.Compare(None, "other", measure="f1_macro"),
    ):
        assert question.default_design_on(pool) in ("adaptive", "importance")
        with pytest.raises(ba.QuestionError, match="of two classes those of several systems"):
            ba.assess(pool, question, design="variance_reduction")
    assert ba.Metric("f1", positive=0, systems=["prediction", "other"]).default_design_on(pool) == "variance_reduction"


@pytest.mark.slow
def test_measures_of_many_classes_are_estimated_from_a_few_labels():
    question = ba.Metric(["f1_macro", "accuracy"])
    result = told(100, question, pool=ba.Pool(scores=MANY), labels=MANY_LABELS).result()
    truth = question.truth(ba.Pool(scores=MANY), MANY_LABELS)
    assert (result.interval[:, 0] < truth).all()
    assert (truth < result.interval[:, 1]).all()
    assert (result.interval[:, 1] - result.interval[:, 0] < 0.35).all()
    anew = told(100, ba.Metric("accuracy"), pool=ba.Pool(scores=MANY), labels=MANY_LABELS).result(question=question)
    assert (anew.interval[:, 0] < truth).all()  # all of the labels has been kept, beside whether they agree
    assert (truth < anew.interval[:, 1]).all()


def test_what_it_cannot_serve_is_refused():
    with pytest.raises(QuestionError, match=r"of two classes .* of scores .* is none of them\."):
        ba.assess(THREE, ba.Metric("brier_score_loss"), design="variance_reduction")
    with pytest.raises(QuestionError, match="'adaptive' can serve it"):
        ba.assess(THREE, ba.Metric("brier_score_loss"), design=Poisson(labels="curve"))
    with pytest.raises(PriorError, match="no prior but 'learned'"):
        ba.assess(POOL, ba.Metric("f1"), prior="informative")
    with pytest.raises(DesignError, match="audit"):
        VarianceReduction(audit=1.0)


@pytest.mark.slow
def test_intervals_cover_on_pools_that_follow_no_member_of_the_belief():
    """Over 25 pools x 8 campaigns x 3 budgets, 93 % on average, less two standard errors of 200 campaigns."""
    covered, without = [], []
    for seed in range(25):
        rng = np.random.default_rng(seed)
        score = rng.normal(0, 1, 3000) + rng.exponential(1.0, 3000)
        rate = 1 / (1 + np.exp(-(rng.uniform(0.6, 3) * score - rng.uniform(3, 6) + np.sin(3 * score) * 0.5)))
        labels = (rng.random(3000) < rate).astype(int)
        predictions = (score > np.quantile(score, 1 - max(labels.mean(), 0.01))).astype(int)
        squashed = 1 / (1 + np.exp(-0.3 * score))
        pool = ba.Pool(predictions=predictions, scores=np.stack([1 - squashed, squashed], axis=1))
        study = ba.simulate(
            pool, labels, ba.Metric("f1"), designs=["variance_reduction"], budgets=[50, 150, 400], repeats=8, seed=seed
        )
        covered.append(study.coverage["variance_reduction"])
        design = study.design_intervals["variance_reduction"]
        without.append(((design[..., 0] <= study.truth) & (study.truth <= design[..., 1])).all(1).mean())
    # Many pools: campaigns on one pool miss together, as waves that the curve does not follow differ between pools.
    error = np.sqrt(0.93 * 0.07 / 200)
    assert (np.mean(covered, axis=0) > 0.93 - 2 * error).all()
    # At all budgets at once, 95 % less two standard errors.
    assert np.mean(without) > 0.95 - 2 * np.sqrt(0.95 * 0.05 / 200)


def test_a_curve_is_exact_once_everything_is_labelled():
    question = ba.PRCurve([0.05, 0.2, 0.5])
    a = told(FEW, question, pool=FEW_POOL, labels=LABELS[:FEW], batch=30)
    result, truth = a.result(), question.truth(FEW_POOL, LABELS[:FEW])
    np.testing.assert_allclose(result.estimate, truth, atol=1e-12)
    np.testing.assert_allclose(result.interval, np.stack([truth, truth], 1), atol=1e-12)
    np.testing.assert_allclose(result.band(), np.stack([truth, truth], 1), atol=1e-12)
    assert "exact" in result.summary()


def test_the_band_of_a_curve_holds_its_intervals_and_the_whole_curve_in_most_draws():
    result = told(60, ba.PRCurve([0.05, 0.2, 0.5])).result()
    band = result.band()
    tails = np.quantile(result.draws, [0.025, 0.975], axis=0).T
    assert (band[:, 0] <= tails[:, 0] + 1e-9).all()
    assert (tails[:, 1] <= band[:, 1] + 1e-9).all()
    inside = ((band[:, 0] <= result.draws) & (result.draws <= band[:, 1])).all(1).mean()
    assert 0.95 <= inside <= 1
    assert result.table()["threshold"].tolist() == [0.05, 0.2, 0.5]
    assert "Precision and recall at 3 thresholds" in result.summary()
    with pytest.raises(QuestionError, match="between 0 and 1"):
        result.band(95)


def test_measures_of_several_systems_are_compared_by_their_joint_posterior():
    rival = (SCORES + RNG.normal(0, 0.3, 600) >= 0.5).astype(int)
    pool = ba.Pool(scores=POOL.scores, systems={"rival": rival})
    result = told(60, ba.Metric("f1", systems=["prediction", "rival"]), pool=pool).result()
    found = result.difference("f1 (system prediction)", "f1 (system rival)", rope=0.05)
    draws = result.draws[:, 0] - result.draws[:, 1]
    assert found.below + found.equal + found.above == pytest.approx(1)
    assert found.above == pytest.approx((draws > 0.05).mean(), abs=1e-12)
    assert found.interval[0] < found.estimate < found.interval[1]
    assert result.difference(1, 0, rope=0.05).below == pytest.approx(found.above)
    with pytest.raises(QuestionError, match="no output 'f1'"):
        result.difference("f1", 1)
    with pytest.raises(QuestionError, match=r"no output 0\.5"):
        result.difference(0.5, 1)
    for rope in (-1, np.nan, "wide", "0.05"):
        with pytest.raises(QuestionError, match="The rope is the largest difference that counts as none"):
            result.difference(0, 1, rope=rope)


def test_labels_of_another_measure_answer_a_curve():
    a = told(80)
    curve = a.result(question=ba.PRCurve(6))
    n = len(curve.question.thresholds)
    assert 2 <= n <= 6
    assert np.shape(curve.estimate) == (2 * n,)
    recall = np.asarray(curve.estimate[n:])
    assert (np.diff(recall) <= 0.02).all()  # medians of what falls in every draw


def test_a_difference_of_exactly_the_rope_is_none():
    pool = ba.Pool(predictions=[0] * 5 + [1] * 5, systems={"b": [0] * 5 + [1] * 4 + [0]})
    a = ba.assess(pool, ba.Metric("accuracy", systems=["prediction", "b"]))
    a.tell(pool.ids, [0] * 5 + [1] * 5)
    assert a.result().difference(0, 1, rope=0.1)[2:] == (0, 1, 0)


def test_a_group_of_many_that_is_unlike_its_scores_is_believed_to_be_so_in_sessions_and_studies():
    """Of 30 groups one has no positive, whatever its scores; half of its items are labelled."""
    rng, site = np.random.default_rng(1), np.arange(600) % 30
    scores = rng.beta(2, 2, 600)
    labels = np.where(site == 0, 0, rng.random(600) < scores).astype(int)
    a = ba.assess(ba.Pool(scores=scores, groups={"site": site}), ba.Rate(by="site"), design=VarianceReduction(2))
    some = np.flatnonzero(((site == 0) & (np.arange(600) < 300)) | (np.arange(600) % 7 == 1))
    a.tell(some, labels[some])
    found = a.result().evidence.found
    with engine.eager(), in_64_bits():
        alike = drawn(a._state.belief, len(found.curves))[0]
        look = engine.tree_map(lambda x: np.asarray(x)[None], engine.fetched(a.design.record(a._state)))
        study = a.design.digest(look, a._setting, 0, 0.95)
    cells = a._items.cells_of(np.flatnonzero(site == 0))
    assert (found.curves[:, cells].mean(0) < 0.75 * np.asarray(alike)[:, cells].mean(0)).all()
    spread = found.draws[:, 0].std()
    assert abs(study.value.ravel()[0] - np.median(found.draws[:, 0])) < 5 * 1.2533 * spread / np.sqrt(512)


def test_means_by_group_look_at_a_cell_and_its_own_group_alone(monkeypatch):
    """Labels of numbers tell of their own cell: what is left out would be multiplied by 0."""
    rng, n = np.random.default_rng(0), 600
    rated, group = rng.beta(3, 2, n), rng.integers(0, 5, n)
    session = ba.assess(ba.Pool(predictions=rated, bounds=(0, 1), groups={"group": group}), ba.Mean(by="group"), seed=0)
    session.tell(session.ask(12).ids, rng.beta(3, 2, 12))
    session.ask(3)
    state = session._state
    with engine.eager():
        pairs = _gains._pairs(state)
        assert pairs is not None
        assert len(pairs.cells) <= len(state.row)
        some = gains(state)
        monkeypatch.setattr(_gains, "_FEW_PAIRS", -1.0)
        np.testing.assert_array_equal(gains(replace(state)), some)
