"""Tests of the study of factors that labels of all wrong predictions share."""

from __future__ import annotations

import numpy as np
from _class_pools import KINDS, balanced
from study_label_factors import LOOKS, MEASURES, SETS, report


def test_balanced_pools_have_classes_that_are_rarer_than_their_scores_expect():
    rarer = 0
    for (name, kind, pool, labels), (*_, same) in zip(balanced(4, 0), balanced(4, 0), strict=True):
        assert name.startswith("balanced-0-")
        assert kind in KINDS
        np.testing.assert_array_equal(labels, same)
        share = np.bincount(labels, minlength=pool.n_classes) / len(labels)
        rarest = share.argmin()
        rarer += share[rarest] < 0.5 * np.asarray(pool.scores).mean(0)[rarest]
    assert rarer >= 3


def test_the_table_has_means_and_differences_from_answers_without_factors():
    found = np.zeros((2, len(SETS), len(LOOKS), len(MEASURES), 4))
    found[..., 0], found[:, 0, ..., 2] = 1.0, 0.5
    found[:, 1:, ..., 2] = np.array([0.2, 0.4])[:, None, None, None]
    lines = report([{"population": "made", "found": one.tolist()} for one in found]).splitlines()
    assert len(lines) == 2 + len(SETS) * len(MEASURES)
    assert lines[2].endswith("| 0.500 0.500 0.500 | +0.0000 (0.0000) +0.0000 (0.0000) +0.0000 (0.0000) |")
    assert lines[3].endswith("| 0.300 0.300 0.300 | -0.2000 (0.0707) -0.2000 (0.0707) -0.2000 (0.0707) |")
