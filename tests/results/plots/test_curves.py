from __future__ import annotations

import numpy as np
import pytest

from bayes_assess.results import plots

from .drawn import line, segments


def _curve(n: int) -> tuple[np.ndarray, np.ndarray]:
    """`n` thresholds that the same items reach, as of scores of 0 and 1."""
    estimate = np.repeat([0.9, 0.6], n)
    return estimate, np.stack([estimate - 0.1, estimate + 0.05], axis=1)


@pytest.mark.parametrize("n", [1, 4])
def test_one_threshold_or_several_that_the_same_items_reach_are_a_dot_with_two_intervals(n):
    """Their bands have no width, and the line from dot to dot no length."""
    ax = plots.precision_recall_curve(*_curve(n), truth=np.repeat([0.85, 0.62], n))
    dot, truth = line(ax, "estimate"), line(ax, "truth")
    assert (dot.get_marker(), truth.get_marker()) == ("o", "D")
    assert (dot.get_xydata() == [0.6, 0.9]).all()
    precision, recall = (segments(lines) for lines in ax.collections if hasattr(lines, "get_segments"))
    np.testing.assert_allclose(precision, [[[0.6, 0.8], [0.6, 0.95]]] * n)
    np.testing.assert_allclose(recall, [[[0.5, 0.9], [0.65, 0.9]]] * n)


def test_curves_of_many_thresholds_have_neither_dots_nor_lines_for_intervals():
    recall = np.linspace(1, 0, 13)
    estimate = np.concatenate([np.sqrt(1 - recall**2), recall])
    ax = plots.precision_recall_curve(estimate, np.stack([estimate - 0.1, estimate + 0.1], axis=1))
    assert line(ax, "estimate").get_marker() == "None"
    assert not any(hasattr(lines, "get_segments") for lines in ax.collections)
