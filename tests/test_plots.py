from __future__ import annotations

import io
import subprocess
import sys

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

from bayes_assess import plots
from bayes_assess._drawing import line_style
from bayes_assess.errors import OutputError

BUDGETS = np.array([50, 100, 200, 500])


def _groups(count: int) -> tuple[list[str], np.ndarray, np.ndarray]:
    estimate = np.random.default_rng(count).permutation(np.linspace(0.2, 0.9, count))
    interval = np.stack([estimate - 0.05, estimate + 0.05], axis=1)
    return [f"class {k}" for k in range(count)], estimate, interval


def _row_names(ax) -> list[str]:
    return [label.get_text() for label in ax.get_yticklabels()]


def _line(ax, label: str):
    return next(line for line in ax.lines if line.get_label() == label)


def _legend(ax) -> list[str]:
    legends = ax.figure.legends or [ax.get_legend()]
    return [text.get_text() for text in legends[0].get_texts()]


def _draw(ax) -> None:
    ax.figure.savefig(io.BytesIO(), format="png")


# -- forest ----------------------------------------------------------------------------------------------------------


def test_forest_has_the_lowest_estimate_at_the_top():
    names, estimate, interval = _groups(7)
    ax = plots.forest(names, estimate, interval)
    assert _row_names(ax) == [names[g] for g in np.argsort(estimate)]
    assert ax.yaxis_inverted()
    dots = ax.lines[0]
    np.testing.assert_allclose(dots.get_xdata(), np.sort(estimate))
    segments = np.array(ax.collections[0].get_segments())  # (group, end, coordinate)
    np.testing.assert_allclose(segments[:, :, 0], interval[np.argsort(estimate)])
    _draw(ax)


def test_forest_keeps_the_given_order_on_request():
    names, estimate, interval = _groups(7)
    assert _row_names(plots.forest(names, estimate, interval, order="given")) == names


def test_forest_shows_both_ends_of_many_groups_and_says_how_many_it_hides():
    names, estimate, interval = _groups(100)
    ax = plots.forest(names, estimate, interval, truth=estimate, sizes=np.arange(100), prior=estimate)
    rows = _row_names(ax)
    ranked = np.argsort(estimate)
    assert rows[20] == "… 60 more"
    assert rows[:20] == [names[g] for g in ranked[:20]]
    assert rows[21:] == [names[g] for g in ranked[-20:]]
    np.testing.assert_allclose(_line(ax, "truth").get_xdata(), estimate[np.r_[ranked[:20], ranked[-20:]]])
    _draw(ax)


@pytest.mark.parametrize(("count", "most", "hidden"), [(5, 5, None), (6, 5, "… 1 more"), (9, 2, "… 7 more")])
def test_forest_never_shows_more_than_max_groups(count, most, hidden):
    rows = _row_names(plots.forest(*_groups(count), max_groups=most))
    assert len([row for row in rows if not row.startswith("…")]) == min(count, most)
    assert [row for row in rows if row.startswith("…")] == ([hidden] if hidden else [])


def test_forest_marks_highlighted_groups_by_colour_and_shape():
    names, estimate, interval = _groups(6)
    ax = plots.forest(names, estimate, interval, highlight=estimate < 0.4, highlight_label="poor")
    accent = _line(ax, "poor")
    np.testing.assert_allclose(np.sort(accent.get_xdata()), np.sort(estimate[estimate < 0.4]))
    others = ax.lines[0]
    assert to_hex(accent.get_color()) != to_hex(others.get_color())
    assert accent.get_marker() != others.get_marker()
    assert _legend(ax) == ["poor"]


def test_forest_draws_truth_hollow_and_prior_as_points_or_intervals():
    names, estimate, interval = _groups(4)
    ax = plots.forest(names, estimate, interval, truth=estimate, prior=np.full(4, 0.5), sizes=[10, 20, 3000, 4])
    assert _line(ax, "truth").get_markerfacecolor() == "none"
    np.testing.assert_allclose(_line(ax, "prior").get_xdata(), 0.5)
    assert {text.get_text() for text in ax.texts} == {"labels", "10", "20", "3,000", "4"}
    ax = plots.forest(names, estimate, interval, prior=np.tile([0.2, 0.8], (4, 1)))
    assert "prior" in _legend(ax)


def test_forest_takes_names_as_they_are():
    ax = plots.forest(["$\\bad", "x" * 99, 3], [0.1, 0.2, 0.3], [[0, 1]] * 3)
    _draw(ax)
    rows = _row_names(ax)
    assert rows[0] == "$\\bad"
    assert len(rows[1]) == 32
    assert rows[2] == "3"


def test_forest_of_fractions_does_not_run_far_beyond_0_and_1():
    low, high = plots.forest(["a", "b"], [0.0, 1.0], [[0, 0.3], [0.7, 1]]).get_xlim()
    assert -0.02 < low < 0 < 1 < high < 1.02


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"names": []}, "no group"),
        ({"estimate": [0.5]}, r"estimate of shape \(2\); found \(1,\)"),
        ({"interval": [0.5, 0.6]}, r"interval of shape \(2, 2\)"),
        ({"truth": [0.5]}, "truth"),
        ({"prior": [[0.5]]}, "prior"),
        ({"sizes": [1, 2, 3]}, "sizes"),
        ({"highlight": [True]}, "highlight"),
        ({"order": "size"}, "found 'size'"),
        ({"max_groups": 1}, "at least 2"),
    ],
)
def test_forest_names_what_does_not_fit(change, message):
    arguments = {"names": ["a", "b"], "estimate": [0.5, 0.6], "interval": [[0.4, 0.6], [0.5, 0.7]]} | change
    with pytest.raises(OutputError, match=message):
        plots.forest(**arguments)


def test_rank_plot_has_rank_one_at_the_top_and_whole_ticks():
    ax = plots.rank_plot(["a", "b", "c"], [2.7, 1.2, 2.1], [[2, 3], [1, 2], [1, 3]], truth=[3, 1, 2])
    assert _row_names(ax) == ["b", "c", "a"]
    assert list(ax.get_xticks()) == [1, 2, 3]
    low, high = ax.get_xlim()
    assert low < 1 < 3 < high


# -- curves ----------------------------------------------------------------------------------------------------------


def test_curves_are_means_with_two_standard_errors_either_side():
    repeats = np.random.default_rng(0).random((30, 4))
    ax = plots.label_curves(BUDGETS, {"random": repeats}, ylabel="error")
    np.testing.assert_allclose(ax.lines[0].get_ydata(), repeats.mean(axis=0))
    corners = ax.collections[0].get_paths()[0].vertices
    error = repeats.std(axis=0, ddof=1) / np.sqrt(30)
    for budget, mean, spread in zip(BUDGETS, repeats.mean(axis=0), error, strict=True):
        ends = corners[corners[:, 0] == budget, 1]
        np.testing.assert_allclose([ends.min(), ends.max()], [mean - 2 * spread, mean + 2 * spread])


@pytest.mark.parametrize("curve", [[0.4, 0.3, 0.2, 0.1], [[0.4, 0.3, 0.2, 0.1]]])
def test_a_single_repeat_has_no_band(curve):
    ax = plots.label_curves(BUDGETS, {"random": curve}, ylabel="error")
    assert len(ax.collections) == 0


def test_the_legend_lists_lines_as_they_end_from_top_to_bottom():
    curves = {"low": np.full(4, 0.1), "high": np.full(4, 0.9), "middle": np.full(4, 0.5)}
    ax = plots.label_curves(BUDGETS, curves, ylabel="error", reference=0.3, title="Error")
    assert _legend(ax) == ["high", "middle", "exact", "low"]
    _draw(ax)


def test_seven_designs_differ_in_colour_in_dash_and_in_marker():
    ax = plots.label_curves(BUDGETS, {f"design {k}": np.full(4, k) for k in range(9)}, ylabel="error")
    first = ax.lines[:7]
    assert len({to_hex(line.get_color()) for line in first}) == 7
    assert len({line.get_marker() for line in first}) == 7
    assert len({str(line_style(index, points=4)["linestyle"]) for index in range(7)}) == 7


def test_a_logarithmic_axis_reads_plain_numbers():
    ax = plots.label_curves([50, 500, 2000], {"random": [3, 2, 1]}, ylabel="error", logx=True)
    _draw(ax)
    shown = [label.get_text() for label in ax.get_xticklabels()]
    assert {"50", "100", "200", "500", "1,000", "2,000"} <= set(shown)
    with pytest.raises(OutputError, match="budgets above 0"):
        plots.label_curves([0, 10], {"random": [2, 1]}, ylabel="error", logx=True)


def test_curves_that_do_not_fit_the_budgets_are_named():
    with pytest.raises(OutputError, match=r"curve 'random' of shape \(any, 4\); found \(1, 2\)"):
        plots.label_curves(BUDGETS, {"random": [1, 2]}, ylabel="error")
    with pytest.raises(OutputError, match="no curve"):
        plots.label_curves(BUDGETS, {}, ylabel="error")


def test_a_campaign_is_lines_bands_and_the_truth():
    x = np.arange(1, 50)
    estimate = 0.7 + 0.1 / x
    band = np.stack([estimate - 0.1, estimate + 0.1], axis=1)
    ax = plots.campaign(x, {"thompson": estimate, "random": estimate + 0.01}, 0.7, intervals={"thompson": band})
    assert _legend(ax) == ["thompson", "random", "truth"]
    assert len(ax.collections) == 1
    np.testing.assert_array_equal(_line(ax, "thompson").get_ydata(), estimate)
    _draw(ax)
    with pytest.raises(OutputError, match="found \\['other'\\] for the lines \\['random'\\]"):
        plots.campaign(x, {"random": estimate}, intervals={"other": band})
    with pytest.raises(OutputError, match="interval"):
        plots.trajectory(None, x, estimate, band[:3])


# -- manners ---------------------------------------------------------------------------------------------------------


def _every_figure(ax=None):
    names, estimate, interval = _groups(5)
    yield plots.forest(names, estimate, interval, truth=estimate, sizes=np.arange(5), ax=ax)
    yield plots.rank_plot(names, np.arange(1, 6), np.tile([1, 5], (5, 1)), ax=ax)
    yield plots.label_curves(BUDGETS, {"a": BUDGETS, "b": BUDGETS[::-1]}, ylabel="error", ax=ax)
    yield plots.campaign(BUDGETS, {"a": BUDGETS, "b": BUDGETS[::-1]}, ax=ax)
    yield plots.trajectory(ax, BUDGETS, BUDGETS)


def test_figures_leave_global_settings_alone():
    before = dict(mpl.rcParams)
    for ax in _every_figure():
        _draw(ax)
    assert dict(mpl.rcParams) == before


def test_figures_are_drawn_on_the_axes_they_are_given():
    for index in range(5):
        figure = Figure(layout="constrained")
        left, right = figure.subplots(1, 2)
        for number, ax in enumerate(_every_figure(right)):
            assert ax is right
            if number == index:
                break
        assert not left.lines
        assert not figure.legends
        _draw(right)


def test_nothing_is_clipped_at_the_edges_of_a_figure():
    names, estimate, interval = _groups(60)
    names[int(np.argmin(estimate))] = "a rather long name of a group"
    ax = plots.forest(names, estimate, interval, truth=estimate, sizes=np.full(60, 123456), title="Accuracy")
    ax.figure.draw_without_rendering()
    page = ax.figure.bbox
    texts = [*ax.get_yticklabels(), *ax.get_xticklabels(), *ax.texts, ax.xaxis.label]
    for text in [*texts, *ax.figure.legends[0].get_texts()]:
        box = text.get_window_extent()
        assert box.x0 >= page.x0
        assert box.x1 <= page.x1
        assert box.y0 >= page.y0
        assert box.y1 <= page.y1


def test_a_new_figure_is_pyplots_so_that_notebooks_show_it():
    axes = plots.forest(["a"], np.array([0.5]), np.array([[0.4, 0.6]]))
    assert plt.fignum_exists(axes.figure.number)


def test_importing_the_module_does_not_import_matplotlib():
    code = "import sys, bayes_assess.plots; assert not any(name.startswith('matplotlib') for name in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)
