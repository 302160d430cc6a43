"""Tests of the study of measures of many classes: made pools, and a table worked out by hand."""

from __future__ import annotations

import numpy as np
from _class_pools import KINDS, of_scores, pools
from study_classes import report


def test_made_pools_are_those_of_their_seed_and_unlike_one_another():
    found, again, other = (list(pools(6, seed)) for seed in (0, 0, 1))
    for (name, kind, pool, labels), (_, _, _, same) in zip(found, again, strict=True):
        assert kind in KINDS
        assert name.startswith("classes-0-")
        np.testing.assert_array_equal(labels, same)
        assert pool.n_items == len(labels)
        assert labels.max() < pool.n_classes
        np.testing.assert_allclose(np.asarray(pool.scores).sum(1), 1)
    accuracy = [float((pool.predictions == labels).mean()) for _, _, pool, labels in (*found, *other)]
    assert len(set(accuracy)) == 12
    assert max(accuracy) - min(accuracy) > 0.2


def test_predictions_are_the_most_probable_classes():
    assert of_scores(np.array([[0.2, 0.5, 0.3], [0.6, 0.1, 0.3]])).predictions.tolist() == [1, 0]


def test_the_table_has_means_over_pools_and_their_standard_errors():
    rows = [
        {"measure": "f1_macro", "held": [h] * 3, "width": [w] * 3, "score": [s] * 3, "square": [q] * 3}
        for h, w, s, q in ((1.0, 0.2, 0.2, 0.01), (0.0, 0.4, 1.0, 0.07))
    ]
    line = "| f1_macro | 120 | 2 | 0.500 ± 0.354 | 0.300 | 0.600 ± 0.283 | 0.2000 |"
    assert report(rows).splitlines()[3] == line
