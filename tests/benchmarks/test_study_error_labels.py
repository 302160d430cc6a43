"""Tests of the study of the labels of wrong predictions: the weights that it has chosen, and how it finds them."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import logsumexp
from study_error_labels import LOOKS, UNKNOWN, chosen, if_unknown, log_probability, most_probable, readings, weighed

import bayes_assess as ba
from bayes_assess._tools import engine
from bayes_assess.models.error_labels import ErrorLabels
from bayes_assess.questions._events import error_labels

PREDICTIONS = np.repeat([0, 1, 2], [60, 30, 10])
POOL = ba.Pool(scores=np.array([[0.7, 0.2, 0.1], [0.1, 0.8, 0.1], [0.3, 0.1, 0.6]])[PREDICTIONS])
NAMES = {"even": 0.25, "scores": 0.5, "times sizes": 0.125, "times squares": 0.125}


COUNTS = np.array([[0, 3, 1], [2, 0, 0], [1, 0, 0]])


def told(belief: ErrorLabels, counts: np.ndarray) -> tuple[ErrorLabels, float]:
    """Return the belief after labels, and the log probability that it gave them, one after the other."""
    expected = 0.0
    with engine.eager():
        for row, label in np.repeat(np.argwhere(counts), counts[counts > 0], axis=0):
            expected += float(np.log(belief.mean[row, label]))
            belief = belief.observe(row, label, np.bool_(True))
    return belief, expected


@pytest.mark.parametrize(
    ("pool", "weights"),
    [(POOL, NAMES), (ba.Pool(predictions=PREDICTIONS, classes=range(3)), {"even": 0.75, "roots": 0.25})],
    ids=["with scores", "without"],
)
def test_the_weights_that_were_chosen_are_those_of_the_package(pool, weights):
    found = {name: [log_probability(share, COUNTS)] * len(LOOKS) for name, share in readings(pool).items()}
    belief, expected = told(error_labels(pool), COUNTS)
    np.testing.assert_allclose(weighed([found], weights), expected, rtol=1e-5)
    assert logsumexp(belief.log_weight) == pytest.approx(expected, rel=1e-5)
    assert weights == chosen(pool)


@pytest.mark.parametrize("n", [0, 2], ids=["no label of one", "labels of one"])
@pytest.mark.parametrize("scored", [True, False], ids=["with scores", "without"])
def test_so_is_how_often_errors_are_of_classes_that_are_never_predicted(scored, n):
    scores = {"scores": np.pad(np.asarray(POOL.scores), ((0, 0), (0, 2)))} if scored else {}
    pool = ba.Pool(predictions=PREDICTIONS, classes=range(5), **scores)
    counts = np.zeros((5, 5), int)
    counts[:3, :3], counts[0, 4] = COUNTS, n
    found = if_unknown(readings(pool), chosen(pool), np.arange(5) < 3, counts)
    name = next(name for name in UNKNOWN if name.startswith("**"))
    assert found[name] == pytest.approx(told(error_labels(pool), counts)[1], abs=0.01)


def test_the_most_probable_weights_are_those_of_which_pools_were_drawn():
    """Of pools of which a quarter follows one reading and the rest another, to which nothing else comes near."""
    rows = [{"kind": "made", "one": [[0.0, -9.0]], "other": [[-9.0, -9.0]]}] * 5
    rows += [{"kind": "made", "one": [[-9.0, -9.0]], "other": [[-9.0, 0.0]]}] * 15
    found = most_probable(rows, ["one", "other"], 0)
    np.testing.assert_allclose(found, [[0.25, 0.0], [0.0, 0.75]], atol=1e-3)
