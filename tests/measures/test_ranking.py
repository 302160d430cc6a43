"""The area under the ROC curve and average precision, against scikit-learn and against pairs counted one by one."""

from __future__ import annotations

import jax
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import metrics

import bayes_assess as ba
from bayes_assess._tools import engine
from bayes_assess.errors import QuestionError
from bayes_assess.measures import Levels, RankingTable, measure, table_for, value_of
from bayes_assess.measures._ranking import _SLOPES, area, mean_precision

BOTH = ["roc_auc", "average_precision"]


def made(n: int, seed: int, values: int | None = None) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    y = (rng.random(n) < 0.2).astype(int)
    y[:2] = 0, 1
    s = 1 / (1 + np.exp(-(rng.normal(size=n) + 1.5 * y - 1)))
    return (s if values is None else np.round(s * values) / values), y


def scikit_learns(y: np.ndarray, s: np.ndarray) -> list[float]:
    return [metrics.roc_auc_score(y, s), metrics.average_precision_score(y, s)]


@settings(max_examples=40, deadline=None, derandomize=True)
@given(st.lists(st.tuples(st.integers(0, 4), st.booleans()), min_size=2, max_size=30))
def test_values_equal_scikit_learns_with_ties(items):
    s, y = np.array([one / 4 for one, _ in items]), np.array([int(hit) for _, hit in items])
    if len(set(y.tolist())) == 2:
        np.testing.assert_allclose(value_of(BOTH, y, scores=s), scikit_learns(y, s), rtol=1e-12)


@pytest.mark.parametrize("values", [None, 12])
def test_values_of_many_items_equal_scikit_learns(values):
    s, y = made(4000, 0, values)
    np.testing.assert_allclose(value_of(BOTH, y, scores=s), scikit_learns(y, s), rtol=1e-12)
    np.testing.assert_allclose(ba.Metric(BOTH).truth(ba.Pool(scores=s), y), scikit_learns(y, s), rtol=1e-12)


def test_the_positive_class_may_be_any():
    s, y = made(500, 1)
    np.testing.assert_allclose(value_of(BOTH, y, scores=s, positive=0), scikit_learns(1 - y, 1 - s), rtol=1e-12)
    rows = np.stack([s / 2, s / 2, 1 - s], axis=1)
    several = np.array(["a", "b", "c"])[np.where(y == 1, 2, np.arange(500) % 2)]
    found = value_of(BOTH, several, scores=rows, classes=list("abc"), positive="c")
    np.testing.assert_allclose(found, scikit_learns(y, 1 - s), rtol=1e-12)


def test_a_measure_that_is_not_defined_counts_as_nothing():
    assert value_of(BOTH, [0, 0, 0], scores=[0.1, 0.2, 0.3]).tolist() == [0, 0]
    assert value_of("average_precision", [1, 1], scores=[0.1, 0.2]) == 1
    assert value_of("roc_auc", [1, 1], scores=[0.1, 0.2]) == 0


def test_average_precision_within_a_level_is_the_mean_over_its_orders():
    """Exactly so where all of a level are positive, or one item is: no other order has another mean."""
    rng = np.random.default_rng(2)
    table: RankingTable = table_for("average_precision", ba.Pool(scores=[0.1, 0.9]))[1]
    for size, hits in ((6, 6), (1, 1)):
        above = 5
        levels = Levels.of(np.array([size, above]), np.array([False, True]))
        found = table.values_of(np.array([[hits, 2.0]]), np.array([[size - hits, 3.0]]), levels)[0, 0]
        y = np.r_[np.ones(size), [1, 1, 0, 0, 0]]
        s = np.r_[np.arange(size) / 100, np.full(above, 0.9)]
        assert found == pytest.approx(metrics.average_precision_score(y, s), rel=1e-12)
    # Of others it is the mean over random orders, up to items being drawn with replacement: less than 1 / size.
    size, hits = 200, 60
    levels = Levels.of(np.array([size]), np.array([False]))
    found = table.values_of(np.array([[float(hits)]]), np.array([[float(size - hits)]]), levels)[0, 0]
    y = rng.permuted(np.tile(np.r_[np.ones(hits), np.zeros(size - hits)], (2000, 1)), axis=1)  # best first
    drawn = (y * np.cumsum(y, axis=1) / np.arange(1, size + 1)).sum(1) / hits
    assert drawn[0] == pytest.approx(metrics.average_precision_score(y[0], -np.arange(size)), rel=1e-12)
    assert abs(found - np.mean(drawn)) < 4 * np.std(drawn) / np.sqrt(2000) + 1 / size


def test_levels_of_many_scores_leave_both_measures_where_they_were():
    s, y = made(20_000, 3)
    pool = ba.Pool(scores=s)
    codes, table = table_for(BOTH, pool)
    assert table.n_attributes <= 256
    share = np.stack([np.bincount(codes, y == one, table.n_attributes) for one in (0, 1)], axis=1) / len(y)
    np.testing.assert_allclose(table.value(table.mean(share)), scikit_learns(y, s), atol=3e-4)


def test_scores_that_many_items_have_are_levels_of_their_own():
    s, _y = made(20_000, 4)
    s[: len(s) // 2] = 0.25
    codes, table = table_for(BOTH, ba.Pool(scores=s))
    tied = np.unique(codes[s == 0.25])
    assert len(tied) == 1
    assert table.levels.tied[tied[0]]
    assert (s[codes == tied[0]] == 0.25).all()


def test_directions_are_derivatives():
    s, y = made(60, 5, 8)
    codes, table = table_for(BOTH, ba.Pool(scores=s))
    share = np.stack([np.bincount(codes, y == one, table.n_attributes) for one in (0, 1)], axis=1) / 60
    directions = np.asarray(table.directions(table.mean(share)))
    step = 1e-6
    for level, label in ((0, 1), (3, 0), (7, 1)):
        moved = share.copy()
        moved[level, label] += step
        with jax.enable_x64(True):
            slope = (np.asarray(table.value(table.mean(moved))) - np.asarray(table.value(table.mean(share)))) / step
        np.testing.assert_allclose(directions[level, label], slope, atol=1e-4)


COUNTS = st.integers(0, 4)
LEVELS = st.lists(st.tuples(COUNTS, COUNTS, st.integers(0, 3), st.booleans()), min_size=1, max_size=8)


_slopes_by_jax = jax.jit(
    lambda ranking, shares, levels: jax.jacrev(ranking, argnums=(0, 1))(*shares, levels), static_argnums=0
)


@pytest.mark.slow
@settings(max_examples=60, deadline=None, derandomize=True)
@given(LEVELS)
def test_slopes_are_those_that_jax_finds(levels):
    """Of levels with ties and without, some without any positive, any negative or any item."""
    positive, negative, more, tied = (np.array(column) for column in zip(*levels, strict=True))
    levels = Levels.of(np.maximum(positive + negative + more, 1), tied)
    shares = np.array([positive, negative], float) / max((positive + negative).sum(), 1)
    for ranking in (area, mean_precision):
        with engine.compiled(), jax.enable_x64(True):
            expected = np.concatenate(_slopes_by_jax(ranking, shares, levels))
        with engine.eager():
            found = _SLOPES[ranking](*shares, levels)
        if shares[0].sum() > 0 and (shares[1].sum() > 0 or ranking is mean_precision):
            np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)
        else:
            assert not np.isfinite(found).any()


def test_another_measure_of_a_ranking_is_differentiated_by_jax():
    def doubled(positive, negative, levels):
        return 2 * area(positive, negative, levels)

    own = ba.Measure(name="doubled", ranking=doubled, binary=True)
    s, y = made(60, seed=1)
    _, table = table_for([own, "roc_auc"], ba.Pool(scores=s))
    share = np.zeros((len(table.levels.size), 2))
    np.add.at(share, (np.searchsorted(np.unique(s), s), y), 1 / 60)
    with engine.eager():
        twice, once = table.jacobian(table.mean(share))
    np.testing.assert_allclose(twice, 2 * once)


@pytest.mark.parametrize(
    ("question", "words"),
    [
        (lambda: ba.Metric(["roc_auc", "f1"]), "cannot stand with 'f1'"),
        (lambda: ba.Metric("roc_auc", by="site").truth(POOL, [0, 1]), "over the whole pool"),
        (lambda: ba.Metric("roc_auc", systems=["old"]).truth(POOL, [0, 1]), "the pool's own scores"),
        (lambda: ba.Metric("roc_auc").truth(ba.Pool(predictions=[0, 1]), [0, 1]), "needs scores"),
        (lambda: measure("roc_auc").value_at([0.5]), "call value_of"),
    ],
)
def test_what_a_ranking_cannot_be_asked_is_refused_in_a_sentence(question, words):
    with pytest.raises(QuestionError, match=words):
        question()


POOL = ba.Pool(scores=[0.2, 0.7], groups={"site": ["n", "s"]}, systems={"old": [0, 1]})
