"""Scores that are no probabilities rank the items, and nothing else is read from them."""

from __future__ import annotations

import numpy as np
import pytest

import bayes_assess as ba
from bayes_assess.pool._scores import margins_of

RNG = np.random.default_rng(0)
LABELS = (RNG.random(600) < 0.5).astype(int)
MARGINS = 1.2 * (2 * LABELS - 1) + RNG.normal(size=600)
PREDICTIONS = (MARGINS > 0).astype(int)
POOL = ba.Pool(predictions=PREDICTIONS, scores=MARGINS)
FEW = ba.Pool(predictions=PREDICTIONS[:150], scores=MARGINS[:150])  # to be labelled as a whole


def labelled(pool, question, n: int = 80, **options):
    a = ba.assess(pool, question, **options)
    items = pool.positions(a.ask(n).ids)
    a.tell(pool.ids[items], LABELS[items])
    return a


def test_margins_are_kept_as_they_are_and_promise_nothing():
    assert POOL.scores is None
    assert POOL.confidence is None
    np.testing.assert_array_equal(POOL.margins, MARGINS)
    assert POOL.classes.tolist() == [0, 1]
    assert not POOL.classes_declared
    assert ba.Pool(predictions=PREDICTIONS, scores=1 / (1 + np.exp(-MARGINS))).margins is None


def test_pools_with_other_margins_have_other_fingerprints():
    other = ba.Pool(predictions=PREDICTIONS, scores=2 * MARGINS)
    assert POOL.fingerprint() == ba.Pool(predictions=PREDICTIONS, scores=list(MARGINS)).fingerprint()
    assert len({POOL.fingerprint(), other.fingerprint(), ba.Pool(predictions=PREDICTIONS).fingerprint()}) == 3


@pytest.mark.slow
def test_units_of_margins_make_no_odds():
    one, other = (
        labelled(ba.Pool(predictions=PREDICTIONS, scores=unit * MARGINS), ba.Metric("f1")) for unit in (1, 1024)
    )
    np.testing.assert_array_equal(one.labelled[0], other.labelled[0])
    np.testing.assert_allclose(one.result().interval, other.result().interval, atol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("question", [ba.Metric("f1"), ba.Metric("accuracy"), ba.Rate()], ids=lambda one: one.name)
def test_margins_tell_more_than_predictions_alone(question):
    def error(pool):
        study = ba.simulate(
            pool, LABELS, question, designs=["variance_reduction"], budgets=[60], repeats=30, progress=False
        )
        return ((study.estimates["variance_reduction"] - study.truth) ** 2)[:, 0]

    # Errors of 30 campaigns on a pool each; squared errors scatter about as much as they are large.
    by_rank, alone = error(POOL), error(ba.Pool(predictions=PREDICTIONS))
    assert by_rank.mean() < alone.mean() + 2 * np.hypot(by_rank.std(), alone.std()) / np.sqrt(30)


ACCURACY = pytest.param(ba.Metric("accuracy"), marks=pytest.mark.slow)


@pytest.mark.slow
@pytest.mark.parametrize("question", [ba.Metric("f1"), ACCURACY, ba.Rate()], ids=lambda one: one.name)
def test_full_labels_are_exact(question):
    assert labelled(FEW, question, 150, seed=3).result().guarantee == "exact"


@pytest.mark.parametrize("design", ["adaptive", "stratified", "importance", "poisson", "passive"])
def test_every_design_for_measures_takes_margins(design):
    low, high = labelled(POOL, ba.Metric("f1"), design=design).result().interval
    assert 0 < low < high < 1


def test_curves_have_thresholds_on_the_scale_of_the_margins():
    result = labelled(POOL, ba.PRCurve([-1.0, 0.0, 1.0]), 600, design="passive").result()
    precision = [LABELS[threshold <= MARGINS].mean() for threshold in (-1, 0, 1)]
    np.testing.assert_allclose(np.asarray(result.estimate)[:3], precision)


def test_the_first_class_is_the_surer_the_smaller_the_margin():
    first = labelled(POOL, ba.Metric("f1", positive=0))
    turned = ba.Pool(predictions=1 - PREDICTIONS, scores=-MARGINS)
    other = ba.assess(turned, ba.Metric("f1"))
    np.testing.assert_array_equal(first.labelled[0], np.sort(other.ask(80).ids))
    assert ba.RankedList.from_pool(POOL, positive=0).ids_at([1])[0] == MARGINS.argmin()
    assert ba.RankedList.from_pool(POOL).ids_at([1])[0] == MARGINS.argmax()


def test_a_margin_counts_from_between_both_sides():
    assert margins_of(np.array([3.0, -2.0, 0.0]), np.array([1, 0, 0])).tolist() == [1.5, 3.5, 1.5]
    assert margins_of(np.array([3.0, 2.0]), np.array([1, 1])).tolist() == [1.0, 0.0]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"scores": MARGINS}, "pass the predictions, too"),
        ({"scores": -MARGINS, "predictions": PREDICTIONS}, r"Pass -scores, or classes=\[1, 0\]"),
        ({"scores": MARGINS, "predictions": np.arange(600) % 3}, "two classes; this pool has 3"),
        ({"scores": np.append(MARGINS[1:], np.nan), "predictions": PREDICTIONS}, "row 599 is NaN"),
        ({"scores": np.append(MARGINS[1:], np.inf), "predictions": PREDICTIONS}, "row 599 is infinite"),
        ({"scores": MARGINS[1:], "predictions": PREDICTIONS}, "600 predictions but scores of 599"),
    ],
)
def test_what_ranks_nothing_is_refused(given, said):
    with pytest.raises(ba.PoolError, match=said):
        ba.Pool(**given)


def test_a_third_class_is_refused():
    with pytest.raises(ba.PoolError, match="rank the items of two classes"):
        POOL.with_classes([0, 1, 2])


def test_questions_on_the_confidence_say_that_there_is_none():
    with pytest.raises(ba.QuestionError, match="this pool has none"):
        ba.assess(POOL, ba.Calibration())


def test_a_session_resumes_on_a_pool_read_from_a_file(tmp_path):
    rows = zip(range(600), PREDICTIONS.tolist(), MARGINS.tolist(), strict=True)
    text = "id,predicted,margin\n" + "".join(f"{i},{p},{m!r}\n" for i, p, m in rows)
    (tmp_path / "pool.csv").write_text(text)
    pool = ba.read_pool(tmp_path / "pool.csv", id="id", prediction="predicted", scores="margin")
    a = labelled(pool, ba.Metric("f1"), journal=tmp_path / "run.db")
    again = ba.resume(tmp_path / "run.db", POOL)
    np.testing.assert_array_equal(a.result().interval, again.result().interval)
