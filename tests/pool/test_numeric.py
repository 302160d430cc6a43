"""Pools that are labelled with numbers within bounds."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import bayes_assess as ba
from bayes_assess.pool.numeric import NumericPool, nearest
from bayes_assess.sessions.exchange.matching import LabelMatcher

POOL = ba.Pool(predictions=[7.5, 60, 99.9], bounds=(0, 100), ids=["a", "b", "c"], systems={"gpt": [0, 50, 100]})


def test_bounds_make_a_pool_of_numbers_in_round_steps():
    assert isinstance(POOL, NumericPool)
    assert (POOL.bounds, POOL.step, POOL.n_classes) == ((0, 100), 2, 51)
    assert POOL.prediction_names([0, 1, 2]).tolist() == ["8", "60", "100"]
    assert POOL.system_codes("gpt").tolist() == [0, 25, 50]
    assert repr(POOL) == "NumericPool(3 items, numbers from 0 to 100 in steps of 2, systems: gpt)"


@pytest.mark.parametrize(
    ("bounds", "step", "n_classes"),
    [((0, 1), None, 51), ((1, 5), None, 41), ((-1, 1), None, 41), ((0, 7.3), None, 37), ((0, 10), 2.5, 5)],
)
def test_steps_are_round_and_fifty_at_most_or_as_asked_for(bounds, step, n_classes):
    pool = ba.Pool(predictions=[bounds[0], bounds[1]], bounds=bounds, step=step)
    assert pool.n_classes == n_classes
    assert float(pool.classes[0]) == bounds[0]
    assert float(pool.classes[-1]) == pytest.approx(bounds[1])


@given(st.lists(st.floats(-3, 9), min_size=1), st.integers(2, 101))
def test_numbers_are_rounded_to_the_nearest_step(numbers, n_classes):
    codes, wrong = nearest(np.array(numbers), -3, 9, n_classes)
    assert wrong is None
    places = np.linspace(-3, 9, n_classes)
    off = np.abs(np.array(numbers)[:, None] - places)
    np.testing.assert_allclose(off[np.arange(len(numbers)), codes], off.min(1), atol=1e-9)


def test_labels_are_numbers_or_their_texts():
    space = POOL.label_space
    assert space.names(space.codes([7.2, 99.4])).tolist() == ["8", "100"]
    assert space.codes(["7.2", " 31 "]).tolist() == [4, 16]


@pytest.mark.parametrize(
    ("label", "message"),
    [
        (100.5, r"The label of item 'b' \(position 1\) is 100\.5; labels are numbers from 0 to 100\."),
        ("good", r"The label of item 'b' \(position 1\) is 'good'; labels are numbers from 0 to 100\."),
        (float("inf"), r"is inf; labels are numbers from 0 to 100\."),
        (None, r"of item 'b' \(position 1\) is missing"),
        (True, r"is True; labels are numbers"),
    ],
)
def test_other_labels_are_refused(label, message):
    with pytest.raises(ba.LabelError, match=message):
        POOL.label_space.codes(np.array([5, label], dtype=object), ["a", "b"])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"predictions": [1, 20], "bounds": (0, 10)},
            r"The prediction in row 1 is 20, which is no number from 0 to 10",
        ),
        ({"predictions": ["x"], "bounds": (0, 10)}, "The prediction in row 0 is 'x', which is no number"),
        ({"predictions": [1, None], "bounds": (0, 10)}, "The prediction in row 1 is missing"),
        ({"predictions": [1], "bounds": (10, 0)}, "Bounds are the least and the greatest number"),
        ({"predictions": [1], "bounds": 7}, "Bounds are the least and the greatest number"),
        ({"predictions": [1], "bounds": (0, 10), "step": 3}, "10 apart, which is no whole number of steps of 3"),
        ({"predictions": [1], "bounds": (0, 10), "step": 0}, "no whole number of steps of 0"),
        ({"predictions": [1], "bounds": (0, 10), "step": 0.01}, "There are 1,000 steps between the bounds"),
        ({"predictions": [1], "step": 0.1}, "give their bounds, too"),
        ({"scores": [0.5], "bounds": (0, 10)}, "needs predictions"),
        ({"predictions": [1, 2], "scores": [0.5], "bounds": (0, 10)}, "how far off each prediction is expected to be"),
        ({"predictions": [1], "scores": [-0.5], "bounds": (0, 10)}, "The score in row 0 is -0.5"),
        ({"predictions": [1], "bounds": (0, 10), "classes": [0, 1]}, "have no classes"),
        ({"bounds": (0, 10)}, "needs predictions"),
        ({"predictions": [1], "bounds": (0, 10), "systems": {"b": [11]}}, "The prediction of 'b' in row 0 is 11"),
    ],
)
def test_bad_pools_are_refused(options, message):
    with pytest.raises(ba.PoolError, match=message):
        ba.Pool(**options)


def test_sheets_may_have_decimal_commas_and_thousands():
    match = LabelMatcher(ba.Pool(predictions=[500], bounds=(0, 5000)))
    assert match("750,0").found == "800"  # in steps of 100
    assert match("6.5").found == "0"
    assert match("2e-05").found == "0"  # as workbooks have 0.00002
    assert match("1e3").found == "1000"
    assert match("1,200").problem == "could be any of '1.2', '1200'"
    assert "no number from 0 to 5000" in match("6000").problem
    assert "no number" in match("many").problem


def test_the_mean_of_all_labels_is_theirs_up_to_rounding():
    rng = np.random.default_rng(0)
    labels = rng.uniform(0, 10, 60)
    pool = ba.Pool(predictions=rng.uniform(0, 10, 60), bounds=(0, 10))
    a = ba.assess(pool, ba.Mean())
    a.tell(pool.ids, labels)
    r = a.result()
    assert r.guarantee == "exact"
    assert abs(r.estimate - labels.mean()) <= pool.step / 2
    assert r.estimate == pytest.approx((pool.step * np.rint(labels / pool.step)).mean())


def test_labels_survive_a_journal(tmp_path):
    pool = ba.Pool(predictions=[1, 5, 9, 4], bounds=(0, 10))
    a = ba.assess(pool, ba.Mean(), journal=tmp_path / "run.db")
    a.tell(a.ask(2).ids, [3.33, 7.77])
    again = ba.resume(tmp_path / "run.db", pool)
    assert sorted(again.labelled[1].tolist()) == sorted(a.labelled[1].tolist())
    assert again.result().estimate == a.result().estimate


def test_annotators_write_numbers_and_choose_none(tmp_path):
    a = ba.assess(ba.Pool(predictions=[1, 5, 9, 4], bounds=(0, 10)), ba.Mean())
    queries = a.ask(2)
    assert queries.choices == ()
    a.tell(queries.ids, [3, 4], annotator="A1")
    a.tell(queries.ids, [3.04, 6], annotator="A2")  # rounds to 3
    assert a.disagreements().ids.tolist() == [queries.ids[1]]


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (ba.Compare("prediction", "new", measure="mae"), "systems are not compared by it"),
        (ba.Best(measure="mae"), "systems are not compared by it"),
        (ba.Metric("f1"), "labels of this pool are numbers: ask for their mean"),
        (ba.PRCurve([0.5]), "labels of this pool are numbers: ask for their mean"),
        (ba.Rate(), "those of this pool are numbers: ask for Mean"),
    ],
)
def test_what_is_of_classes_is_refused_in_words_of_numbers(asked, said):
    """It was not said that labels be numbers, by bounds that the pool had, or which of 51 classes were positive."""
    pool = ba.Pool(predictions=[61.5, 80, 47, 92], bounds=(0, 100), systems={"new": [60, 81, 40, 90]})
    with pytest.raises(ba.QuestionError, match=said):
        ba.assess(pool, asked)


def test_titles_of_measures_of_numbers_name_them_and_their_groups():
    pool = ba.Pool(predictions=[61.5, 80, 47, 92], bounds=(0, 100), groups={"site": [*"abab"]})
    result = ba.assess(pool, ba.Metric(["mae", "r2"], by="site")).result()
    assert result.table().title == "MAE and R2 by site, 95% credible intervals"
