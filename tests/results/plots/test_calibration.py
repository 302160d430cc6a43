from __future__ import annotations

import numpy as np
import pytest
from matplotlib.figure import Figure
from matplotlib.text import Text

from bayes_assess.errors import OutputError
from bayes_assess.results import plots

from .drawn import draw, legend, line, segments, texts

SCORE = np.array([0.15, 0.35, np.nan, 0.75, 0.95])
ACCURACY = np.array([0.3, 0.2, np.nan, 0.7, 0.99])
INTERVAL = np.stack([ACCURACY - 0.1, ACCURACY + 0.005], axis=1)
SIZES = np.array([10, 20, 0, 300, 400])
EDGES = np.linspace(0, 1, 6)
FULL = SIZES > 0


def _reliability(**options):
    return plots.reliability(**{"score": SCORE, "accuracy": ACCURACY, "interval": INTERVAL, "sizes": SIZES} | options)


def test_a_reliability_diagram_is_dots_intervals_and_gaps_of_the_bins_that_have_items():
    ax = _reliability()
    np.testing.assert_array_equal(line(ax, "estimate").get_xydata(), np.stack([SCORE, ACCURACY], 1)[FULL])
    gaps, intervals = (segments(collection) for collection in ax.collections[:2])
    np.testing.assert_array_equal(gaps[..., 0], np.stack([SCORE, SCORE], 1)[FULL])
    np.testing.assert_array_equal(gaps[..., 1], np.stack([SCORE, ACCURACY], 1)[FULL])
    np.testing.assert_array_equal(intervals[..., 1], INTERVAL[FULL])
    diagonal = line(ax, "calibrated")
    assert diagonal.get_xy1() == (0, 0)
    assert diagonal.get_slope() == 1
    draw(ax.figure)


def test_the_histogram_shows_items_and_labels_over_the_same_axis():
    labelled = np.array([1, 2, 0, 30, 4])
    ax = _reliability(labelled=labelled, edges=EDGES)
    panel = ax.child_axes[0]
    bars = panel.patches
    assert [bar.get_height() for bar in bars] == [*SIZES[FULL], *labelled[FULL]]
    np.testing.assert_allclose([bar.get_x() for bar in bars[:4]], EDGES[:-1][FULL])
    np.testing.assert_allclose([bar.get_width() for bar in bars], 0.2)
    assert texts(panel) == ["730 items, 37 labelled"]
    ax.set_xlim(0.5, 1)
    assert panel.get_xlim() == (0.5, 1)


@pytest.mark.parametrize("layout", ["constrained", "tight", None])
def test_the_histogram_lies_above_the_diagram_and_inside_its_place(layout):
    figure = Figure(layout=layout)
    ax = _reliability(title="Title", ax=figure.subplots(2, 2)[1, 0])
    draw(figure)
    place, diagram = ax.get_position(original=True), ax.get_position()
    panel = ax.child_axes[0].get_position()
    assert diagram.y0 == place.y0
    assert diagram.y1 < panel.y0
    assert panel.y1 == pytest.approx(place.y1)
    assert (panel.x0, panel.x1) == pytest.approx((place.x0, place.x1))
    title = next(text for text in ax.findobj(Text) if text.get_text() == "Title")
    assert title.get_window_extent().y0 >= ax.child_axes[0].get_window_extent().y1


def test_without_edges_bars_stand_at_the_scores_and_apart():
    panel = _reliability().child_axes[0]
    middle = [bar.get_x() + bar.get_width() / 2 for bar in panel.patches]
    np.testing.assert_allclose(middle, SCORE[FULL])
    ends = np.array([[bar.get_x(), bar.get_x() + bar.get_width()] for bar in panel.patches])
    assert (ends[:-1, 1] < ends[1:, 0]).all()


def test_prior_and_truth_are_drawn_where_they_are():
    ax = _reliability(prior=SCORE, truth=ACCURACY / 2)
    np.testing.assert_array_equal(line(ax, "prior").get_ydata(), SCORE[FULL])
    np.testing.assert_array_equal(line(ax, "truth").get_ydata(), ACCURACY[FULL] / 2)
    assert line(ax, "truth").get_markerfacecolor() == "none"
    assert legend(ax) == ["calibrated", "gap", "estimate", "interval", "prior", "truth", "items"]
    ax = _reliability(labelled=SIZES // 10, interval_label="90% credible interval")
    assert legend(ax)[-3:] == ["90% credible interval", "items", "labelled"]


def test_the_view_is_all_of_0_to_1_unless_scores_crowd_together():
    low, high = _reliability().get_xlim()
    assert -0.02 < low < 0 < 1 < high < 1.02
    ax = plots.reliability([0.97, 0.99], [0.95, 0.98], [[0.93, 0.97], [0.97, 0.99]], sizes=[50, 50])
    assert ax.get_xlim() == ax.get_ylim()
    assert 0.9 < ax.get_xlim()[0] < 0.93


@pytest.mark.parametrize("score", [0.0, 0.5, 1.0])
def test_one_bin_is_enough(score):
    ax = plots.reliability([score], [0.5], [[0.2, 0.8]], sizes=[1], labelled=[1])
    low, high = ax.get_xlim()
    assert low < score < high
    draw(ax.figure)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"score": [[0.5]]}, r"score of shape \(any\); found \(1, 1\)"),
        ({"accuracy": [0.5]}, r"accuracy of shape \(5\); found \(1,\)"),
        ({"interval": ACCURACY}, r"interval of shape \(5, 2\)"),
        ({"sizes": [1]}, "sizes"),
        ({"labelled": [1]}, "labelled"),
        ({"prior": [1]}, "prior"),
        ({"truth": [1]}, "truth"),
        ({"edges": SCORE}, r"edges of shape \(6\)"),
        ({"edges": EDGES[::-1]}, "must not fall; found \\[1.0, 0.8"),
        ({"sizes": np.zeros(5)}, "no bin with items"),
    ],
)
def test_reliability_names_what_does_not_fit(change, message):
    with pytest.raises(OutputError, match=message):
        _reliability(**change)


# -- accuracy against error ------------------------------------------------------------------------------------------


def _groups(count: int) -> dict:
    rng = np.random.default_rng(count)
    x, y = rng.uniform(0.4, 0.9, count), rng.uniform(0.02, 0.3, count)
    return {
        "names": [f"group {k}" for k in range(count)],
        "accuracy": x,
        "accuracy_interval": np.stack([x - 0.05, x + 0.08], 1),
        "error": y,
        "error_interval": np.stack([y / 2, y + 0.1], 1),
    }


def test_groups_are_dots_with_an_interval_across_and_one_up():
    groups = _groups(8)
    sizes = np.array([800, 400, 100, 200, 300, 500, 600, 700])
    ax = plots.accuracy_against_error(**groups, sizes=sizes)
    across, up, dots = ax.collections[:3]
    np.testing.assert_array_equal(dots.get_offsets(), np.stack([groups["accuracy"], groups["error"]], 1))
    np.testing.assert_array_equal(segments(across)[..., 0], groups["accuracy_interval"])
    np.testing.assert_array_equal(segments(across)[..., 1], np.tile(groups["error"][:, None], 2))
    np.testing.assert_array_equal(segments(up)[..., 1], groups["error_interval"])
    np.testing.assert_allclose(dots.get_sizes() / sizes, dots.get_sizes()[0] / 800)
    assert legend(ax) == ["interval", "800 items"]


def test_each_truth_is_joined_to_its_estimate():
    groups = _groups(3)
    truth = np.array([[0.5, 0.1], [0.6, 0.2], [0.7, 0.05]])
    ax = plots.accuracy_against_error(**groups, truth=truth)
    np.testing.assert_array_equal(line(ax, "truth").get_xydata(), truth)
    joins = np.array([link.get_xydata() for link in ax.lines[1:]])
    np.testing.assert_array_equal(joins[:, 0], np.stack([groups["accuracy"], groups["error"]], 1))
    np.testing.assert_array_equal(joins[:, 1], truth)


def test_the_worst_calibrated_are_named_after_the_highlighted():
    groups = _groups(30)
    groups["error"][3] = 0.01
    ax = plots.accuracy_against_error(**groups, highlight=np.arange(30) == 3, highlight_label="chosen", max_names=3)
    worst = np.argsort(-groups["error"])[:2]
    assert texts(ax) == ["group 3", *(groups["names"][g] for g in worst)]
    assert legend(ax) == ["interval", "chosen"]


@pytest.mark.parametrize("count", [2, 20, 100])
def test_names_do_not_cover_each_other(count):
    ax = plots.accuracy_against_error(**_groups(count), max_names=count)
    assert len(ax.texts) >= min(count, 15)
    ax.figure.draw_without_rendering()
    boxes = [text.get_window_extent() for text in ax.texts]
    covered = sum(a.overlaps(b) for k, a in enumerate(boxes) for b in boxes[:k])
    assert covered == 0


def test_groups_at_one_place_keep_only_the_names_that_fit():
    groups = {key: np.repeat(value, 40, axis=0) for key, value in _groups(1).items()}
    ax = plots.accuracy_against_error(**groups, max_names=40)
    assert 2 <= len(ax.texts) <= 8
    ax = plots.accuracy_against_error(**groups, highlight=np.ones(40), max_names=40)
    assert len(ax.texts) == 40


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"names": []}, "no group"),
        ({"accuracy": [0.5]}, r"accuracy of shape \(4\); found \(1,\)"),
        ({"error": [0.5]}, "error"),
        ({"accuracy_interval": np.zeros(4)}, r"accuracy_interval of shape \(4, 2\)"),
        ({"error_interval": np.zeros(4)}, r"error_interval of shape \(4, 2\)"),
        ({"sizes": [1]}, "sizes"),
        ({"highlight": [1]}, "highlight"),
        ({"truth": np.zeros(4)}, r"truth of shape \(4, 2\)"),
    ],
)
def test_accuracy_against_error_names_what_does_not_fit(change, message):
    with pytest.raises(OutputError, match=message):
        plots.accuracy_against_error(**_groups(4) | change)
