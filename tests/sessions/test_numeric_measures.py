"""Sessions and studies of measures whose labels are numbers: mean absolute and squared errors, and R2."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

import bayes_assess as ba
from bayes_assess.designs import DESIGNS, NUMERIC
from bayes_assess.errors import DesignError, JournalError, LabelError, PriorError, QuestionError
from bayes_assess.estimators.weighted import Estimate
from bayes_assess.estimators.weighted_numbers import _of_groups, numbers_interval
from bayes_assess.measures import GroupedRealMeasures, Measure, RealMeasures
from bayes_assess.pool.numbers import NumberPool
from bayes_assess.questions._number_losses import expected_spread, item_deviations
from bayes_assess.questions.numeric_metric import NumericMetric
from bayes_assess.sessions import snapshots
from bayes_assess.sessions.exchange.matching import LabelMatcher
from cli.test_app import done
from made import play_on_numpy

N, FREE = 60, (-np.inf, np.inf)
MANY = ba.Metric(["mae", "mse", "rmse", "r2"])


def made(seed: int, n: int = N, offset: float = 50.0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Make predictions, how far off they are expected to be, and labels, whose errors have no mean of 0."""
    rng = np.random.default_rng(seed)
    f, u = offset + 10 * rng.standard_normal(n), rng.gamma(3.0, 1.0, n)
    return f, u, f + 1 + u * rng.standard_normal(n)


F, U, Y = made(0)
POOL = ba.Pool(predictions=F, scores=U, bounds=FREE)


def by_hand(y: np.ndarray, f: np.ndarray) -> list[float]:
    """Compute what scikit-learn's functions of these names do."""
    mae, mse = np.average(np.abs(y - f)), np.average((y - f) ** 2)
    return [mae, mse, np.sqrt(mse), 1 - ((y - f) ** 2).sum() / ((y - np.average(y)) ** 2).sum()]


def labelled(design: str, *batches: int, pool: ba.Pool = POOL, labels=Y, question=MANY, **options):
    a = ba.assess(pool, question, design=design, seed=3, **options)
    for n in batches:
        ids = a.ask(n).ids
        a.tell(ids, labels[a.pool.positions(ids)])
    return a


@pytest.mark.parametrize(
    "pool", [POOL, ba.Pool(predictions=F, bounds=(0, 100)), ba.Pool(predictions=F, bounds=(0, np.inf))]
)
def test_the_truth_is_what_scikit_learn_computes_with_bounds_or_without(pool):
    metrics = pytest.importorskip("sklearn.metrics")
    np.testing.assert_allclose(MANY.truth(pool, Y), by_hand(Y, F), rtol=1e-12)
    assert ba.Metric("mae").truth(pool, Y) == pytest.approx(metrics.mean_absolute_error(Y, F), rel=1e-12)
    assert ba.Metric("mse").truth(pool, Y) == pytest.approx(metrics.mean_squared_error(Y, F), rel=1e-12)
    assert ba.Metric("r2").truth(pool, Y) == pytest.approx(metrics.r2_score(Y, F), rel=1e-12)


def test_r2_does_not_lose_its_digits_where_labels_are_far_from_zero():
    f, _, y = made(1, offset=1e7)
    pool = ba.Pool(predictions=f, bounds=FREE)
    assert ba.Metric("r2").truth(pool, y) == pytest.approx(by_hand(y, f)[3], rel=1e-9)
    near = labelled("importance", 30, pool=ba.Pool(predictions=f - 1e7, bounds=FREE), labels=y - 1e7).result()
    far = labelled("importance", 30, pool=pool, labels=y).result()
    np.testing.assert_allclose(far.estimate, near.estimate, rtol=1e-6)
    np.testing.assert_allclose(far.interval, near.interval, rtol=1e-6)


@pytest.mark.parametrize("design", NUMERIC)
def test_every_measure_is_exact_once_everything_is_labelled(design):
    a = labelled(design, 20, 25)
    rest = np.setdiff1d(np.arange(N), a.labelled[0])
    a.tell(rest, Y[rest])
    r = a.result()
    np.testing.assert_allclose(r.estimate, by_hand(Y, F), rtol=1e-12)
    np.testing.assert_array_equal(r.interval, np.stack([r.estimate] * 2, axis=-1))
    assert r.guarantee == "exact"


def test_random_items_are_averaged_as_they_are():
    a = labelled("passive", 12, 1, 7)
    ids = a.labelled[0]
    np.testing.assert_allclose(a.result().estimate, by_hand(Y[ids], F[ids]), rtol=1e-9)
    assert a.result().guarantee == "asymptotic"


def test_strata_are_weighed_by_their_sizes():
    of = np.arange(N) >= 40  # 40 and 20 items
    strata = ba.Strata(2, "width", of=of.astype(float))
    a = ba.assess(POOL, ba.Metric("mae"), design=ba.designs.Stratified(strata=strata))
    ids = a.ask(10).ids
    a.tell(ids, Y[ids])
    error, upper = np.abs(Y[ids] - F[ids]), of[ids]
    assert upper.sum() in (3, 4)
    expected = 2 / 3 * error[~upper].mean() + 1 / 3 * error[upper].mean()
    assert a.result().estimate == pytest.approx(expected, rel=1e-12)
    variance = sum(
        share**2 * (1 - len(e) / n) * e.var(ddof=1) / len(e)
        for share, n, e in ((2 / 3, 40, error[~upper]), (1 / 3, 20, error[upper]))
    )
    assert a.result().standard_error == pytest.approx(np.sqrt(variance), rel=1e-9)


def test_importance_draws_what_is_expected_to_be_far_off_and_weighs_it_less():
    drawn = np.concatenate(
        [ba.assess(POOL, ba.Metric("mae"), design="importance", seed=s).ask(10).ids for s in range(20)]
    )
    assert U[drawn].mean() > U.mean() + 3 * U.std() / np.sqrt(len(drawn))
    few = ba.assess(POOL, ba.Metric("mae"), design=ba.designs.Importance(floor=0.0), seed=0)
    queries = few.ask(1)  # the first draw has the weight p / q, with q in proportion to the deviations
    h = item_deviations(POOL, ba.Metric("mae").for_pool(POOL).spec)
    cell = few.cells.source.cells_of(np.arange(N))
    q = np.sqrt(np.bincount(cell, h**2) / np.bincount(cell))[cell]
    assert queries.weights[0] == pytest.approx(q.mean() / q[queries.ids[0]], rel=1e-9)
    few.tell(queries.ids, Y[queries.ids])
    error = np.abs(Y - F)[queries.ids[0]]
    assert few.result().estimate == pytest.approx(queries.weights[0] * error, rel=1e-9)


@pytest.mark.parametrize("design", NUMERIC)
def test_labels_that_nobody_asked_for_are_known_and_stand_for_no_others(design):
    a = labelled(design, 10, question=ba.Metric("mae"))
    wild = np.setdiff1d(np.arange(N), a.labelled[0])[:2]
    a.tell(wild, F[wild] + 1e4)
    ids = a.ask(20).ids  # from whose round on they are known
    a.tell(ids, Y[ids])
    # Two errors of 1e4 among 60 items add 333 once they are known, and many times that if they stood for others.
    assert 100 < a.result().estimate < 1.05 * 2e4 / N


def test_a_batch_that_has_come_back_in_part_counts():
    a = ba.assess(POOL, MANY, design="passive", seed=3)
    ids = a.ask(20).ids
    a.tell(ids[:9], Y[ids[:9]])
    assert a.result().labels_used == 9
    np.testing.assert_allclose(a.result().estimate, by_hand(Y[ids[:9]], F[ids[:9]]), rtol=1e-9)


@pytest.mark.parametrize("pool", [POOL, ba.Pool(predictions=F, bounds=(0, 100))], ids=["free", "bounded"])
@pytest.mark.parametrize("design", NUMERIC)
def test_a_session_resumes_in_the_middle_of_a_batch(design, pool, tmp_path):
    a = labelled(design, 15, pool=pool, journal=tmp_path / "run.db")
    ids = a.ask(10).ids
    a.tell(ids[:4], Y[ids[:4]])
    a.skip(ids[4:5])
    a.tell([int(np.setdiff1d(np.arange(N), [*a.labelled[0], *ids])[0])], [77.125])
    again = ba.resume(tmp_path / "run.db", pool)
    np.testing.assert_array_equal(again.pending, a.pending)
    np.testing.assert_array_equal(again.labelled[1], a.labelled[1])
    for asked in (None, ba.Metric("r2")):
        np.testing.assert_array_equal(again.result(question=asked).interval, a.result(question=asked).interval)
    a.journal.close()
    a.journal = None
    np.testing.assert_array_equal(again.ask(5).ids, a.ask(5).ids)


def test_a_session_goes_on_from_a_snapshot(tmp_path, monkeypatch):
    monkeypatch.setattr(snapshots, "EVERY", 4)
    a = labelled("importance", 5, 5, 5, journal=tmp_path / "run.db")
    a.tell([int(np.setdiff1d(np.arange(N), a.labelled[0])[0])], [1.0])
    a.tell(ids := a.ask(5).ids, Y[ids])
    again = ba.resume(tmp_path / "run.db", ba.Pool(predictions=F, scores=U, bounds=FREE))  # as in another process
    np.testing.assert_array_equal(again.labelled[1], a.labelled[1])
    np.testing.assert_array_equal(again.result().interval, a.result().interval)


def test_a_corrected_label_counts_as_if_it_had_been_told_at_once(tmp_path):
    a = ba.assess(POOL, MANY, design="importance", seed=3, journal=tmp_path / "run.db")
    ids = a.ask(12).ids
    wrong = Y[ids].copy()
    wrong[2] += 1000
    a.tell(ids, wrong)
    a.correct(ids[2:3], Y[ids[2:3]])
    right = labelled("importance", 12)
    np.testing.assert_array_equal(a.result().interval, right.result().interval)
    np.testing.assert_array_equal(ba.resume(tmp_path / "run.db", POOL).result().interval, right.result().interval)


def test_before_any_label_the_figure_is_what_the_spread_makes_one_expect():
    r = labelled("importance").result()
    assert r.guarantee == "credible"
    assert r.estimate[1] == pytest.approx(np.mean(U**2), rel=1e-9)
    assert r.interval.tolist() == [[0, np.inf], [0, np.inf], [0, np.inf], [-np.inf, 1]]
    assert "how far off predictions are expected to be" in r.summary()


@pytest.mark.parametrize("design", NUMERIC)
@pytest.mark.parametrize("labels", [F, F + 1.0, np.full(N, 3.0)], ids=["all right", "off by one", "one number"])
@pytest.mark.parametrize("n", [1, 2, 9])
def test_intervals_have_a_width_and_hold_the_estimate_however_few_labels(design, labels, n):
    r = labelled(design, n, labels=labels).result()
    assert not np.isnan(r.interval).any()
    assert not np.isnan(r.estimate).any()
    assert (np.diff(r.interval)[:, 0] > 0).all()
    assert ((r.interval[:, 0] <= r.estimate) & (r.estimate <= r.interval[:, 1])).all()
    assert r.summary()
    assert r.table()
    assert r.to_dict()


def test_bounds_say_how_far_off_a_prediction_could_be_where_none_was():
    right = [
        labelled("passive", 10, pool=ba.Pool(predictions=F, bounds=b), labels=F).result() for b in ((0, 100), FREE)
    ]
    assert all(np.isfinite(r.interval[:3]).all() for r in right)
    bounded, free = (r.interval[0, 1] for r in right)
    assert bounded > free  # of which no more is known than the numbers seen


def test_a_constant_prediction_or_item_is_no_obstacle():
    for f in ([5.0], [5.0] * 4):
        pool = ba.Pool(predictions=f, bounds=FREE)
        a = ba.assess(pool, MANY)
        a.tell(a.ask(1).ids, [6.0])
        assert not np.isnan(a.result().interval).any()
        assert a.result().estimate[0] == pytest.approx(1.0)


def test_the_spread_is_what_was_given_else_that_of_the_systems_else_alike():
    assert (expected_spread(POOL) == U).all()
    two = ba.Pool(predictions=[0.0, 4.0], systems={"b": [2.0, 4.0]}, bounds=FREE)
    assert expected_spread(two).tolist() == [1.0, 0.0]
    alike = ba.Pool(predictions=[0.0, 4.0], bounds=FREE)
    assert expected_spread(alike).tolist() == [2.0, 2.0]
    assert ba.assess(alike, ba.Metric("mae"), design="stratified").cells.description == "2 strata of predictions"


def test_labels_are_kept_as_they_were_told_and_texts_are_numbers():
    a = ba.assess(POOL, ba.Metric("mae"))
    ids = a.ask(3).ids
    a.tell(ids, ["1.1", 0.30000000000000004, "-2e3"])
    assert dict(zip(*(x.tolist() for x in a.labelled), strict=True)) == dict(
        zip(ids.tolist(), [1.1, 0.30000000000000004, -2000.0], strict=True)
    )
    for bad in ("many", 1e75, 10**400):
        with pytest.raises(LabelError, match=r"labels are finite numbers of 1e\+60 at most in size\."):
            a.tell(a.ask(1).ids, [bad])
    with pytest.raises(LabelError, match=r"already labelled"):
        a.tell(ids[:1], [1.2])


@pytest.mark.parametrize("bad", [np.inf, -1.0, "x"])
def test_labels_out_of_bounds_are_refused_and_nothing_is_taken(bad):
    a = ba.assess(ba.Pool(predictions=F, bounds=(0, np.inf)), ba.Metric("mae"))
    ids = a.ask(2).ids
    with pytest.raises(LabelError, match="labels are numbers from 0 to inf"):
        a.tell(ids, np.array([1.0, bad], dtype=object))
    assert a.labels_used == 0


def test_other_designs_and_questions_are_refused_in_a_sentence():
    for design in set(DESIGNS) - set(NUMERIC):
        with pytest.raises(DesignError, match=r"cannot serve this question; these can: 'importance', 'poisson'"):
            ba.assess(POOL, ba.Metric("mae"), design=design)
    for question in (ba.GroupAccuracy(), ba.Mean(), ba.Metric("accuracy"), ba.Calibration()):
        with pytest.raises(QuestionError, match=r"of such ask Metric\('mae'\)"):
            ba.assess(POOL, question)
    with pytest.raises(QuestionError, match=r"say that labels are numbers by bounds"):
        ba.assess(ba.Pool(predictions=[1, 2]), ba.Metric("mae"))
    with pytest.raises(QuestionError, match="cannot stand with"):
        ba.Metric(["mae", "f1"])
    with pytest.raises(QuestionError, match="take no systems"):
        ba.assess(POOL, ba.Metric("mae", systems=["b"]))
    with pytest.raises(PriorError, match="takes no prior"):
        ba.assess(POOL, ba.Metric("mae"), prior="uninformative")
    with pytest.raises(DesignError, match="leave out interval='beta'"):
        ba.assess(POOL, ba.Metric("mae"), design=ba.designs.Importance(interval="beta"))
    with pytest.raises(QuestionError, match="are of classes"):
        ba.assess(POOL, ba.Metric("mae"), design=ba.designs.Poisson(labels="curve"))
    with pytest.raises(QuestionError, match=r"numbers rounded within .* Here they are taken as they are"):
        labelled("passive", 5, pool=ba.Pool(predictions=F, bounds=(0, 100))).result(question=ba.Mean())
    with pytest.raises((QuestionError, DesignError)):
        labelled("passive", 5).plan(width=0.1)


def test_a_pool_of_bounds_still_asks_means_and_a_journal_of_one_is_not_one_of_the_other(tmp_path):
    pool = ba.Pool(predictions=F, bounds=(0, 100))
    a = ba.assess(pool, ba.Mean(), journal=tmp_path / "mean.db")
    a.tell(ids := a.ask(5).ids, Y[ids])
    with pytest.raises(QuestionError):
        a.result(question=ba.Metric("mae"))
    labelled("passive", 5, pool=pool, journal=tmp_path / "mae.db")
    assert ba.resume(tmp_path / "mean.db", pool).question.name.startswith("Mean")
    assert isinstance(ba.resume(tmp_path / "mae.db", pool).question, NumericMetric)
    other = F.copy()
    other[0] += 1e-3  # rounds to the same step
    with pytest.raises(JournalError, match="another pool"):
        ba.resume(tmp_path / "mae.db", ba.Pool(predictions=other, bounds=(0, 100)))


FEW = ba.Pool(predictions=F[:40], scores=U[:40], bounds=FREE)
STUDY = {"budgets": [8, 40], "repeats": 200, "batch": 8}  # whose designs are compiled once


@pytest.mark.slow
@pytest.mark.parametrize("design", NUMERIC)
def test_studies_estimate_without_bias_and_sessions_take_the_same_weights(design):
    study = ba.simulate(FEW, Y[:40], ba.Metric(["mae", "mse"]), designs=[design], **STUDY)
    np.testing.assert_allclose(study.truth, by_hand(Y[:40], F[:40])[:2], rtol=1e-12)
    found = study.estimates[design]
    error = found[:, 0].std(0, ddof=1) / np.sqrt(len(found))
    assert (np.abs(found[:, 0].mean(0) - study.truth) < 4 * error).all()
    np.testing.assert_allclose(found[:, 1], np.tile(study.truth, (len(found), 1)), rtol=1e-12)
    assert (study.intervals[design][:, 1, :, 0] == found[:, 1]).all()
    assert (np.diff(study.intervals[design][:, 0]) > 0).all()


@pytest.mark.slow
def test_importance_is_nearer_than_random_items_where_the_spread_is_known():
    labels = (F + 1.5 * U)[:40]
    study = ba.simulate(FEW, labels, ba.Metric(["mae", "mse"]), designs=["passive", "importance"], **STUDY)
    mse = {name: ((found[:, 0] - study.truth) ** 2).mean(0) for name, found in study.estimates.items()}
    assert (mse["importance"] < mse["passive"] / 2).all()


SITE = np.array(list("abc"))[np.random.default_rng(8).choice(3, N, p=[0.5, 0.3, 0.2])]
SITES = ba.Pool(predictions=F, scores=U, bounds=FREE, groups={"site": SITE})


def of_groups(of, *columns):
    return [value for site in "abc" for value in of(*(column[SITE == site] for column in columns))]


@pytest.mark.parametrize("bounds", [FREE, (0, 100)])
def test_groups_of_a_column_are_asked_for_each(bounds):
    pool = ba.Pool(predictions=F, bounds=bounds, groups={"site": SITE})
    question = ba.Metric(["mae", "mse", "rmse", "r2"], by="site")
    np.testing.assert_allclose(question.truth(pool, Y), of_groups(by_hand, Y, F), rtol=1e-12)
    a = labelled("passive", 20, 10, pool=pool, question=question)
    ids = a.labelled[0]
    inside = [np.abs(Y - F)[ids][SITE[ids] == site].mean() for site in "abc"]
    np.testing.assert_allclose(a.result().estimate[::4], inside, rtol=1e-9)  # of its own labels, whatever the others
    assert a.result().groups[:2].tolist() == ["mean_absolute_error (site a)", "mean_squared_error (site a)"]
    rest = np.setdiff1d(np.arange(N), ids)
    a.tell(rest, Y[rest])
    np.testing.assert_allclose(a.result().estimate, of_groups(by_hand, Y, F), rtol=1e-9)
    assert a.result().guarantee == "exact"
    assert ba.Metric("mae", by="site").truth(pool, Y).shape == (3,)


@pytest.mark.parametrize("design", NUMERIC)
def test_a_session_by_groups_goes_on_from_its_journal_and_answers_the_whole_too(design, tmp_path):
    run, question = tmp_path / "run.db", ba.Metric(["mae", "r2"], by="site")
    a = labelled(design, 15, 10, pool=SITES, question=question, journal=run)
    found, whole = a.result(), a.result(question=ba.Metric("mae"))
    low, high = found.interval.T
    assert ((low <= found.estimate) & (found.estimate <= high)).all()
    assert np.isfinite(found.estimate).all()
    a.journal.close()
    again = ba.resume(run, SITES)
    np.testing.assert_array_equal(again.result().interval, found.interval)
    np.testing.assert_array_equal(again.result(question=ba.Metric("mae")).estimate, whole.estimate)
    again.journal.close()


def test_the_derivatives_of_groups_are_those_of_ratios():
    spec = GroupedRealMeasures(RealMeasures.of(["mae", "r2"]), ("a", "b"))
    rng = np.random.default_rng(0)
    losses = spec.whole.losses(rng.normal(size=50), rng.normal(size=50))
    risk = spec.grouped(losses, np.arange(50) % 3 % 2).mean(0)
    step = 1e-6 * np.eye(len(risk))
    numeric = [(spec.value(risk + e) - spec.value(risk - e)) / 2e-6 for e in step]
    np.testing.assert_allclose(spec.jacobian(risk), np.transpose(numeric), atol=1e-6)
    nothing = spec.grouped(losses, np.zeros(50, int)).mean(0)  # of the second group
    assert spec.defined(nothing).tolist() == [True, True, False, False]
    assert np.isfinite(spec.value(nothing)).all()


def test_a_group_gets_its_share_of_attention_whatever_its_size():
    asked = ba.Metric(["mae", "mse"], by="site").for_pool(SITES)
    h = item_deviations(SITES, asked.whole, np.unique(SITE, return_inverse=True)[1])
    total = [(h[SITE == site] ** 2).sum() for site in "abc"]
    np.testing.assert_allclose(total, total[0], rtol=1e-6)


def test_a_group_that_no_draw_has_shown_is_as_believed_and_said_to_be():
    a = ba.assess(SITES, ba.Metric("mae", by="site"), design="passive")
    assert np.isfinite(a.result().estimate).all()  # before any label
    assert not {"Best", "Highest"} & set(a.result().summary().split())
    with pytest.raises(QuestionError, match="has no ranks"):
        a.result().ranking()
    ids = np.flatnonzero(SITE == "a")[:3]
    a.tell(ids, Y[ids])
    result = a.result()
    assert np.isfinite(result.estimate).all()
    assert result.interval[1:, 1].tolist() == [np.inf, np.inf]


def test_groups_that_cannot_be_told_apart_are_refused():
    with pytest.raises(QuestionError, match=r"no group column 'town' to ask by.*site"):
        ba.assess(SITES, ba.Metric("mae", by="town"))
    many = ba.Pool(predictions=F, bounds=FREE, groups={"item": np.arange(N)})
    with pytest.raises(QuestionError, match="up to 50 groups, and item has 60; merge"):
        ba.assess(many, ba.Metric("mae", by="item"))
    with pytest.raises(QuestionError, match="take no average"):
        ba.assess(SITES, ba.Metric("mae", by="site", average="macro"))


def test_variances_of_groups_of_few_labels_lean_on_those_of_all():
    """Of groups of 5, 21, 4, 0 and 10 labels the last is labelled whole; measures with one end, two and none."""
    n, size, ranges = np.array([5, 21, 4, 0, 10]), np.array([50, 210, 40, 60, 10]), [(0, np.inf), (0, 1), FREE]
    value, relative = np.array([2.0, 1.0, 0.5, 0.3, 0.7]), np.array([3.0, 0.5, 0.0, 1.0, 0.0])
    one_label = value**2 * (1 - n / size) / np.maximum(n, 1)
    m, v, step = np.repeat(value, 3), np.repeat(relative * one_label, 3), np.full(15, 0.1)
    estimate = Estimate(m, v, None, step, step, m > 0, 40.0, False, by_group=np.stack([n, size], axis=-1))
    moderated, freedom = (x.reshape(5, 3) for x in _of_groups(estimate, ranges * 5))
    shared = (4 * 3.0 + 20 * 0.5 + 3 * 0.0) / 27
    expected = (8 * shared + (n - 1) * relative) / (8 + n - 1)
    np.testing.assert_allclose(moderated[:3, 0], (expected * one_label)[:3])
    np.testing.assert_array_equal(moderated[:, 1:], v.reshape(5, 3)[:, 1:])
    np.testing.assert_array_equal(moderated[3:, 0], v.reshape(5, 3)[3:, 0])
    assert freedom.tolist() == [[12, 4, 4], [28, 20, 20], [11, 3, 3], [0, 0, 0], [9, 9, 9]]
    alike = estimate._replace(variance=np.repeat(0.5 * one_label, 3))
    np.testing.assert_allclose(_of_groups(alike, ranges * 5)[0], alike.variance)
    low, high = numbers_interval(estimate, ranges * 5).reshape(5, 3, 2)[2, 0]  # without a spread of its own
    assert low < 0.5 - 2 * np.sqrt(moderated[2, 0])
    assert high > 0.5 + 2 * np.sqrt(moderated[2, 0])


def test_means_of_errors_count_on_greater_ones_than_labels_have_shown():
    """Of a mean of squares without spread, one with more than is expected, one of no spread at all, and R2."""
    value, variance, step = (
        np.array([2.0, 2.0, 2.0, 0.4]),
        np.array([0.0, 3.0, 0.0, 0.01]),
        np.array([0.1, 0.2, 0.0, 0.1]),
    )
    ranges = [(0, np.inf)] * 3 + [(-np.inf, 1)]
    alone = Estimate(value, variance, None, step, step, value > 0, 40.0, False)
    expected = np.array([0.8, 0.8, 0.0, 0.0])
    ends = numbers_interval(alone._replace(expected_variance=expected), ranges)
    before = numbers_interval(alone, ranges)
    np.testing.assert_array_equal(ends[2:], before[2:])
    assert before[2].tolist() == [0, np.inf]
    for k in range(2):
        far, near = value[k] + step[k], value[k] - step[k]
        variance_above = (32 * expected[k] + 39 * variance[k]) / 71
        above = stats.t(71).ppf(0.975) * np.sqrt(variance_above + step[k] ** 2) / far
        below = stats.t(39).ppf(0.975) * np.sqrt(variance[k] + step[k] ** 2) / near
        np.testing.assert_allclose(ends[k], [near * np.exp(-below), far * np.exp(above)])
    assert ends[0, 1] > before[0, 1]  # labels alone show no spread
    assert ends[1, 1] < before[1, 1]  # and here more than is expected
    assert (ends[:2, 0] > before[:2, 0]).all()


def test_what_is_expected_of_errors_follows_labels_and_ends_with_the_last_one():
    a = labelled("passive", 20)
    answer = a.result().evidence.answer
    unlike = np.array([1.2, 8.0, 2.0, 0.0])
    np.testing.assert_allclose(answer.expected_variance, unlike * answer.value**2 / 20 * (1 - 20 / N))
    site = labelled("passive", 20, pool=SITES, question=ba.Metric("mae", by="site")).result().evidence.answer
    n, size = site.by_group.T
    assert n.sum() == 20
    np.testing.assert_allclose(site.expected_variance, 1.2 * site.value**2 / np.maximum(n, 1) * (1 - n / size))
    whole = labelled("passive", 20, N - 20).result()
    assert not whole.evidence.answer.expected_variance.any()
    assert not np.ptp(whole.interval, axis=-1).any()


@pytest.mark.slow
def test_intervals_of_groups_cover():
    f, u, y = made(9, 600)
    site = np.random.default_rng(1).choice(3, 600, p=[0.5, 0.3, 0.2])
    pool = ba.Pool(predictions=f, scores=u, bounds=FREE, groups={"site": site})
    designs = {"passive": "passive", "poisson": "poisson"}
    study = ba.simulate(pool, y, ba.Metric("mae", by="site"), designs=designs, budgets=[60, 200], repeats=200, batch=60)
    for design in designs:
        # 600 intervals, of which those of a campaign lean on the same draws.
        assert (study.coverage[design] > 0.95 - 4 * np.sqrt(0.95 * 0.05 / 200)).all()


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["normal", "skewed", "unrelated scores"])
def test_intervals_cover_on_made_pools(kind):
    f, u, y = made(7, 600)
    rng = np.random.default_rng(8)
    if kind == "skewed":
        y = f + u * (rng.exponential(1.0, len(f)) - 1)
    pool = ba.Pool(predictions=f, scores=rng.permutation(u) if kind == "unrelated scores" else u, bounds=FREE)
    designs = ("passive", "stratified", "importance", "poisson")
    study = ba.simulate(
        pool, y, ba.Metric(["mae", "mse", "r2"]), designs=designs, budgets=[50, 150], repeats=400, batch=50
    )
    least = stats.binom.ppf(0.001 / 24, 400, 0.93) / 400  # of 24 figures, were each held in 93 of 100
    for design in designs:
        ends = study.intervals[design]
        held = ((ends[..., 0] <= study.truth) & (study.truth <= ends[..., 1])).mean(0)
        if kind == "skewed":  # squares of long tails are decided by a few items that no draw has shown
            held = held[:, :1]
        assert (held[0] >= stats.binom.ppf(0.001 / 24, 400, 0.88) / 400).all(), (design, held)
        assert (held[1] >= least).all(), (design, held)


def test_one_more_error_as_great_as_the_greatest_moves_a_mean_by_its_distance():
    a = ba.assess(POOL, ba.Metric("mae"), design="passive")
    ids = a.ask(20).ids
    a.tell(ids, Y[ids])
    errors, found = np.abs(Y - F)[ids], a.result().evidence.answer
    np.testing.assert_allclose(found.rise, (errors.max() - errors.mean()) / 20)
    np.testing.assert_allclose(found.fall, (errors.mean() - errors.min()) / 20)


def test_sheets_have_numbers_with_points_and_commas():
    match = LabelMatcher(POOL)
    assert [match(text).found for text in ("59.961", " -1e-3 ", "7,5")] == [
        "59.961",
        "-0.001",
        "7.5",
    ]
    assert match("64,673").problem == "could be any of '64.673', '64673'"
    assert match("many").problem == match("1e75").problem == "is no number"


def test_the_command_line_labels_numbers_without_bounds(tmp_path, monkeypatch):
    play_on_numpy(monkeypatch)
    rows = zip(F.tolist(), U.tolist(), Y.tolist(), strict=True)
    table = "id,prediction,sd,label\n" + "".join(f"{i},{f!r},{u!r},{y!r}\n" for i, (f, u, y) in enumerate(rows))
    (tmp_path / "pool.csv").write_text(table)
    run, asked = tmp_path / "run.db", ("--question", "metric", "--measure", "mae,r2")
    told = ("--bounds", "none", "--scores", "sd")
    out = done("start", tmp_path / "pool.csv", *told, *asked, "--design", "importance:floor=0.2", "--out", run)
    assert "Labels can be numbers." in out
    done("ask", run, "-n", 30, "-o", tmp_path / "sheet.csv")
    ids = [int(line.split(",")[0]) for line in (tmp_path / "sheet.csv").read_text().splitlines()[1:]]
    (tmp_path / "back.csv").write_text("id,label\n" + "".join(f"{i},{float(Y[i])!r}\n" for i in ids))
    done("tell", run, tmp_path / "back.csv")
    assert "mean_absolute_error" in done("status", run)
    again = ba.resume(run, ba.Pool(predictions=F, scores=U, ids=np.arange(N), bounds=FREE))
    assert again.labels_used == 30
    assert "importance" in done(
        "simulate", tmp_path / "pool.csv", *told, *asked, "--labels", "label", "--designs", "importance",
        "--budgets", 10, "--repeats", 5,
    )  # fmt: skip


def test_number_pools_check_what_they_are_given():
    for options, message in (
        ({"predictions": [1.0, np.inf]}, "The prediction in row 1 is inf, which is no finite number"),
        ({"predictions": [1.0, -1e75]}, "row 1 is -1e.75, which is no finite number of 1e.60 at most in size"),
        ({"predictions": [1.0], "scores": [1e300]}, "The score in row 0 is 1e.300"),
        ({"predictions": [1.0, None]}, "The prediction in row 1 is missing"),
        ({"predictions": []}, "no items"),
        ({}, "needs predictions"),
        ({"predictions": [1.0], "scores": [np.nan]}, "The score in row 0 is nan"),
        ({"predictions": [1.0], "systems": {"b": [1.0, 2.0]}}, "System 'b' has 2 predictions"),
        ({"predictions": [1.0], "classes": [1]}, "have no classes"),
        ({"predictions": [1.0], "step": 0.1}, "A step rounds labels"),
        ({"predictions": [1.0], "ids": [1, 2]}, "Ids have shape"),
    ):
        with pytest.raises(ba.PoolError, match=message):
            ba.Pool(bounds=FREE, **options)
    for bounds in ((1, 1), (np.inf, np.inf), (-np.inf, -np.inf), (np.nan, 1), "x"):
        with pytest.raises(ba.PoolError, match="Bounds are the least and the greatest number"):
            ba.Pool(predictions=[1.0], bounds=bounds)
    for bounds in ((0, 1e75), (-1e75, np.inf), (0, 1e-75)):
        with pytest.raises(ba.PoolError, match=r"of 1e\+60 at most .* and 1e-60 apart or more; found \("):
            ba.Pool(predictions=[0.0], bounds=bounds)
    assert isinstance(ba.Pool(predictions=[1.0], bounds=("-inf", "inf")), NumberPool)
    with pytest.raises(ba.PoolError, match="has no predicted classes"):
        _ = POOL.predictions


def test_a_measure_of_numbers_of_ones_own_is_asked_for_by_group_too():
    metrics = pytest.importorskip("sklearn.metrics")
    loss = lambda y, f: jnp.atleast_1d(jnp.where(y > f, 0.9 * (y - f), 0.1 * (f - y)))  # noqa: E731
    pinball = Measure(name="pinball", loss=loss, g=lambda risk: risk[0], range=(0, np.inf), real=True)
    site = np.where(np.arange(N) % 3 == 0, "a", "b")
    pool = ba.Pool(predictions=F, bounds=FREE, groups={"site": site})
    by_hand = [metrics.mean_pinball_loss(Y[site == s], F[site == s], alpha=0.9) for s in "ab"]
    np.testing.assert_allclose(ba.Metric(pinball, by="site").truth(pool, Y), by_hand, rtol=1e-12)
    a = labelled("poisson", 30, pool=pool, question=ba.Metric(pinball))
    low, high = a.result().interval
    assert 0 <= low <= a.result().estimate <= high < np.inf
    a.tell(pool.ids, Y)
    assert a.result().estimate == pytest.approx(metrics.mean_pinball_loss(Y, F, alpha=0.9), rel=1e-12)


@pytest.mark.parametrize("by", [None, "site"])
def test_a_measure_of_ones_own_that_labels_take_out_of_its_range_is_refused(by):
    """Its interval ended at the range: a mean error of 2 was said to be 1."""
    own = Measure(name="far", loss=lambda y, f: jnp.abs(y - f)[None], g=lambda risk: risk[0], bounded=True, real=True)
    a = ba.assess(ba.Pool(predictions=F, bounds=FREE, groups={"site": np.arange(N) % 2}), ba.Metric(own, by=by))
    assert a.result().labels_used == 0
    a.tell([0, 1], [F[0] + 1, F[1]])
    assert a.result().labels_used == 2
    a.tell([2], [F[2] + 3])
    with pytest.raises(QuestionError, match=r"'far' says that it lies in \[0, 1\], but would be 3 if all items were"):
        a.result()
