"""Proposals of importance sampling, against variances summed item by item ([NH] Propositions 1, 2, Examples 4, 5)."""

from __future__ import annotations

import numpy as np
import pytest

import bayes_assess as ba
from bayes_assess._tools import engine
from bayes_assess.acquisition import measure_on_cells
from bayes_assess.acquisition.importance import (
    deterministic_proposal,
    divergence,
    f_measure_masses,
    normalised,
    optimal_proposal,
    stochastic_proposal,
)
from bayes_assess.measures import measure

FULL = np.array([[70, 5], [8, 17]])  # items by prediction (rows) and label
ITEMS = FULL
PI = ITEMS / ITEMS.sum(1, keepdims=True)


@pytest.fixture(autouse=True)
def _on_numpy():
    """The formulas are those of compiled steps, and need no compiling."""
    with engine.eager():
        yield


def on_cells(name: str):
    """Return the measure on two cells, by prediction, and its norms ||Dg(R) l|| at the truth."""
    predictions = np.repeat([0, 1], FULL.sum(1))
    of_cells = measure_on_cells(name, ba.cells(ba.Pool(predictions=predictions)))
    return of_cells, np.asarray(of_cells.norms(of_cells.risk(ITEMS / ITEMS.sum())))


def gradients(name: str) -> np.ndarray:
    """Return Dg(R) l by prediction and label, written out."""
    tn, fp, fn, tp = FULL[0, 0], FULL[1, 0], FULL[0, 1], FULL[1, 1]
    if name == "accuracy":
        return np.array([[0.0, -1.0], [-1.0, 0.0]])
    if name == "recall":
        share, recall = (tp + fn) / FULL.sum(), tp / (tp + fn)
        return np.array([[0.0, -recall], [0.0, 1 - recall]]) / share
    f1, mean = 2 * tp / (2 * tp + fp + fn), (tp + (fp + fn) / 2) / FULL.sum()
    assert tn > 0
    return np.array([[0.0, -f1 / 2], [-f1 / 2, 1 - f1]]) / mean


def trace(name: str, q: np.ndarray) -> float:
    """Return the variance of one draw by probabilities q of items, by prediction and label, (2, 2): eq. (5)."""
    n = FULL.sum()
    squares = gradients(name) ** 2
    mean = (FULL * gradients(name)).sum() / n
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = np.where(squares > 0, squares / (n**2 * q), 0.0)
    return float((FULL * terms).sum() - mean**2)


@pytest.mark.parametrize("name", ["accuracy", "recall", "f1"])
def test_norms_are_those_of_the_gradient_written_out(name):
    np.testing.assert_allclose(on_cells(name)[1], np.abs(gradients(name)), rtol=1e-6, atol=1e-9)


def test_the_best_proposal_reaches_the_published_variances():
    recall = 17 / 22
    for name, least in (("accuracy", 0.0), ("recall", 4 * recall**2 * (1 - recall) ** 2)):  # Examples 4 and 5
        best = np.asarray(optimal_proposal(on_cells(name)[1], ITEMS))
        assert (best * FULL).sum() == pytest.approx(1, rel=1e-6)
        assert trace(name, best) == pytest.approx(least, rel=1e-5, abs=1e-6)


@pytest.mark.parametrize("name", ["accuracy", "recall", "f1"])
def test_no_proposal_has_less_variance_than_the_best_one(name):
    best = np.asarray(optimal_proposal(on_cells(name)[1], ITEMS), np.float64)
    least, rng = trace(name, best), np.random.default_rng(0)
    for _ in range(50):
        q = (best + 1e-4) * rng.gamma(3.0, size=best.shape)
        assert trace(name, q / (q * FULL).sum()) > least


def test_where_labels_are_known_the_proposal_is_the_best_one():
    of_cells, norms = on_cells("f1")
    items = np.concatenate([ITEMS, np.zeros((2, 1), int)], axis=1)
    found = normalised(deterministic_proposal(norms, np.asarray(of_cells.nonzero), PI, 0.0), items)
    best = optimal_proposal(norms, ITEMS)
    np.testing.assert_allclose(found[:, :-1], best, rtol=1e-6)
    assert float(divergence(best, found, ITEMS, ITEMS)) == pytest.approx(0, abs=1e-6)


def test_of_items_without_labels_the_two_oracles_have_two_means():
    of_cells, norms = on_cells("f1")
    pi = np.array([[0.9, 0.1], [0.3, 0.7]])
    nonzero = np.asarray(of_cells.nonzero)
    always, drawn = (kind(norms, nonzero, pi, 0.0) for kind in (deterministic_proposal, stochastic_proposal))
    np.testing.assert_allclose(always[:, -1], (pi * norms).sum(1), rtol=1e-6)  # sum_y ||Dg l|| pi
    np.testing.assert_allclose(drawn[:, -1], np.sqrt((pi * norms**2).sum(1)), rtol=1e-6)  # and its root mean square
    np.testing.assert_allclose(drawn[:, 0], drawn[:, -1])  # a labelled item may have another label the next time


def test_the_best_proposal_for_labels_that_are_drawn_has_the_least_variance():
    of_cells, norms = on_cells("f1")
    size = FULL.sum(1)
    own = np.asarray(stochastic_proposal(norms, np.asarray(of_cells.nonzero), PI, 0.0), np.float64)[:, -1]

    def variance(q):
        return (FULL * gradients("f1") ** 2 / (q / (q @ size))[:, None]).sum()

    for factor in (0.8, 0.95, 1.05, 1.25):
        assert variance(own * [1, factor]) > variance(own)


def test_a_floor_lifts_labels_that_can_matter_and_no_others():
    norms, nonzero = np.array([[0.0, 0.2], [0.0, 0.0]]), np.array([[False, True], [False, True]])
    found = deterministic_proposal(norms, nonzero, np.full((2, 2), 0.5), 0.3)
    np.testing.assert_allclose(found, [[0.0, 0.3, 0.15], [0.0, 0.3, 0.15]])
    found = stochastic_proposal(norms, nonzero, np.full((2, 2), 0.5), 0.3)
    np.testing.assert_allclose(found, np.full((2, 3), 0.3 * np.sqrt(0.5)))


def test_a_measure_of_ones_own_has_its_own_gradient():
    of_cells = measure_on_cells(measure("fbeta", beta=2), ba.cells(ba.Pool(predictions=np.repeat([0, 1], FULL.sum(1)))))
    tp, fp, fn = 17, 8, 5
    f2 = 5 * tp / (5 * tp + 4 * fn + fp)
    mean = (tp + (4 * fn + fp) / 5) / FULL.sum()
    norms = np.asarray(of_cells.norms(of_cells.risk(ITEMS / ITEMS.sum())))
    np.testing.assert_allclose(norms, [[0, f2 * 4 / 5 / mean], [f2 / 5 / mean, (1 - f2) / mean]], rtol=1e-5, atol=1e-9)


@pytest.mark.parametrize("alpha", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("predicted", [0.0, 1.0])
def test_masses_of_an_f_measure_are_roots_of_expected_squares_of_its_influence(alpha, predicted):
    """TP / (alpha PP + (1 - alpha) P) moves by l_1 - F l_2, up to a factor, of an item with the label y."""
    theta, value = 0.2, 0.7
    moves = [predicted * y - value * (alpha * predicted + (1 - alpha) * y) for y in (0, 1)]
    expected = 0.4 * np.sqrt((1 - theta) * moves[0] ** 2 + theta * moves[1] ** 2)
    arguments = (np.array([x]) for x in (0.4, predicted, theta))
    np.testing.assert_allclose(f_measure_masses(*arguments, value, alpha), [expected], rtol=1e-12)


def test_measures_are_put_on_cells_of_pools_alone():
    for wrong in (None, 3, np.ones((2, 2)), ba.Pool(predictions=[0, 1])):
        with pytest.raises(ba.QuestionError, match="A measure is put on the cells of a pool"):
            measure_on_cells("f1", wrong)
    with pytest.raises(ba.QuestionError, match="table_for takes measures first, then a Pool; found ndarray"):
        ba.measures.table_for("f1", np.ones(2))
