"""Tests of the study of which labels wrong predictions have."""

from __future__ import annotations

import numpy as np
import pytest
from _class_pools import KINDS, balanced
from study_label_factors import LOOKS, MEASURES, READINGS, SETS, believing, report, unscored

from bayes_assess.models import label_factors
from bayes_assess.models.error_labels import ErrorLabels


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


def test_readings_are_those_that_their_names_say_and_the_own_come_back():
    own, by_accuracy = label_factors.SHAPES, ErrorLabels.given_accuracy
    belief = ErrorLabels.from_scores(n_classes=3, sizes=np.array([5, 5, 5]))
    for name, (factors, accuracies) in READINGS.items():
        with believing("accuracy", name):
            assert (label_factors.SHAPES == own) is factors
            assert (belief.given_accuracy(np.full(3, 0.5)) is not belief) is accuracies
    with believing("shapes", "none"):
        assert label_factors.SHAPES == (np.inf,)
    assert (label_factors.SHAPES, ErrorLabels.given_accuracy) == (own, by_accuracy)


def test_of_pools_without_scores_of_all_classes_confidences_are_left():
    ((_, _, pool, _),) = balanced(1, 0)
    shown = unscored(pool)
    np.testing.assert_array_equal(shown.predictions, pool.predictions)
    assert shown.scores is None


@pytest.mark.parametrize("compared", SETS)
def test_the_table_has_means_and_differences_from_the_first_answers(compared):
    sets = SETS[compared]
    found = np.zeros((2, len(sets), len(LOOKS), len(MEASURES), 4))
    found[..., 0], found[:, 0, ..., 2] = 1.0, 0.5
    found[:, 1:, ..., 2] = np.array([0.2, 0.4])[:, None, None, None]
    rows = [{"population": "made", "compared": compared, "found": one.tolist()} for one in found]
    lines = report(rows).splitlines()
    assert len(lines) == 2 + len(sets) * len(MEASURES)
    assert lines[2].endswith("| 0.500 0.500 0.500 | +0.0000 (0.0000) +0.0000 (0.0000) +0.0000 (0.0000) |")
    assert lines[3].endswith("| 0.300 0.300 0.300 | -0.2000 (0.0707) -0.2000 (0.0707) -0.2000 (0.0707) |")
