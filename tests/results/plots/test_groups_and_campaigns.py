from __future__ import annotations

import numpy as np
import pytest
from matplotlib.colors import to_hex

import bayes_assess as ba
from bayes_assess.errors import OutputError
from bayes_assess.estimators.intervals import bootstrap_interval
from bayes_assess.results import plots
from bayes_assess.results.plots._drawing import line_style

from .drawn import column_names, draw, legend, line, row_names, texts

BUDGETS = np.array([50, 100, 200, 500])


def _groups(count: int) -> tuple[list[str], np.ndarray, np.ndarray]:
    estimate = np.random.default_rng(count).permutation(np.linspace(0.2, 0.9, count))
    interval = np.stack([estimate - 0.05, estimate + 0.05], axis=1)
    return [f"class {k}" for k in range(count)], estimate, interval


# -- forest ----------------------------------------------------------------------------------------------------------


def test_forest_has_the_lowest_estimate_at_the_top():
    names, estimate, interval = _groups(7)
    ax = plots.forest(names, estimate, interval)
    assert row_names(ax) == [names[g] for g in np.argsort(estimate)]
    assert ax.yaxis_inverted()
    dots = ax.lines[0]
    np.testing.assert_allclose(dots.get_xdata(), np.sort(estimate))
    segments = np.array(ax.collections[0].get_segments())  # (group, end, coordinate)
    np.testing.assert_allclose(segments[:, :, 0], interval[np.argsort(estimate)])
    draw(ax.figure)


def test_the_numbers_beside_one_rare_rate_have_digits():
    assert texts(plots.forest(["rate"], [0.0006], [[0.0003, 0.0016]])) == ["0.0006 [0.0003, 0.0016]"]
    assert texts(plots.forest(["rate"], [0.6], [[0.3, 0.9]])) == ["0.600 [0.300, 0.900]"]


def test_forest_keeps_the_given_order_on_request():
    names, estimate, interval = _groups(7)
    assert row_names(plots.forest(names, estimate, interval, order="given")) == names


def test_forest_shows_both_ends_of_many_groups_and_says_how_many_it_hides():
    names, estimate, interval = _groups(100)
    ax = plots.forest(names, estimate, interval, truth=estimate, sizes=np.arange(100), prior=estimate)
    rows = row_names(ax)
    ranked = np.argsort(estimate)
    assert rows[20] == "… 60 more"
    assert rows[:20] == [names[g] for g in ranked[:20]]
    assert rows[21:] == [names[g] for g in ranked[-20:]]
    np.testing.assert_allclose(line(ax, "truth").get_xdata(), estimate[np.r_[ranked[:20], ranked[-20:]]])
    draw(ax.figure)


@pytest.mark.parametrize(("count", "most", "hidden"), [(5, 5, None), (6, 5, "… 1 more"), (9, 2, "… 7 more")])
def test_forest_never_shows_more_than_max_groups(count, most, hidden):
    rows = row_names(plots.forest(*_groups(count), max_groups=most))
    assert len([row for row in rows if not row.startswith("…")]) == min(count, most)
    assert [row for row in rows if row.startswith("…")] == ([hidden] if hidden else [])


def test_forest_marks_highlighted_groups_by_colour_and_shape():
    names, estimate, interval = _groups(6)
    ax = plots.forest(names, estimate, interval, highlight=estimate < 0.4, highlight_label="poor")
    accent = line(ax, "poor")
    np.testing.assert_allclose(np.sort(accent.get_xdata()), np.sort(estimate[estimate < 0.4]))
    others = ax.lines[0]
    assert to_hex(accent.get_color()) != to_hex(others.get_color())
    assert accent.get_marker() != others.get_marker()
    assert legend(ax) == ["poor"]


def test_forest_draws_truth_hollow_and_prior_as_points_or_intervals():
    names, estimate, interval = _groups(4)
    ax = plots.forest(names, estimate, interval, truth=estimate, prior=np.full(4, 0.5), sizes=[10, 20, 3000, 4])
    assert line(ax, "truth").get_markerfacecolor() == "none"
    np.testing.assert_allclose(line(ax, "prior").get_xdata(), 0.5)
    assert {text.get_text() for text in ax.texts} == {"labels", "10", "20", "3,000", "4"}
    wide = np.tile([0.2, 0.8], (4, 1))
    assert "prior" in legend(plots.forest(names, estimate, interval, prior=wide))
    assert "of random items" in legend(
        plots.forest(names, estimate, interval, prior=wide, prior_label="of random items")
    )


def test_figures_of_measures_name_both_intervals():
    pool = ba.Pool(scores=np.linspace(0.01, 0.99, 60))
    a = ba.assess(pool, ba.Metric("f1"))
    a.tell(a.ask(6).ids, [0, 1, 0, 1, 1, 0])
    ax = a.result(level=0.8).plot(truth=0.5)
    assert legend(ax) == ["without trusting the scores", "truth"]
    assert ax.get_xlabel() == "80% credible intervals"


@pytest.mark.parametrize(
    ("measures", "column", "shown"),
    [
        ("balanced_accuracy", "site", ["balanced_accuracy (site north)", "balanced_accuracy (site south)"]),
        ("balanced_accuracy", "hospital", ["north", "south"]),
        ("matthews_corrcoef", "in_hospital", ["north", "south"]),
        (
            ["balanced_accuracy", "recall"],
            "hospital",
            ["balanced accuracy: north", "balanced accuracy: south", "recall: north", "recall: south"],
        ),
        ("specificity", "ward", ["specificity (ward north)", "specificity (ward south)"]),
    ],
)
def test_names_of_groups_are_whole_where_those_of_measures_leave_no_room(measures, column, shown):
    pool = ba.Pool(scores=np.linspace(0.01, 0.99, 60), groups={column: ["north", "south"] * 30})
    a = ba.assess(pool, ba.Metric(measures, by=column), design="passive")
    a.tell(a.ask(6).ids, [0, 1, 0, 1, 1, 0])
    assert row_names(a.result().plot()) == shown


def test_a_figure_of_errors_by_system_names_the_systems():
    pool = ba.Pool(predictions=np.linspace(1, 5, 60), bounds=(1, 5), groups={"system": ["gpt-x", "claude-y"] * 30})
    a = ba.assess(pool, ba.Metric("mae", by="system"))
    a.tell(a.ask(6).ids, [1, 2, 3, 4, 5, 3])
    assert row_names(a.result().plot()) == ["claude-y", "gpt-x"]  # MAE by system, says the title


def test_forest_takes_names_as_they_are():
    ax = plots.forest(["$\\bad", "x" * 99, 3], [0.1, 0.2, 0.3], [[0, 1]] * 3)
    draw(ax.figure)
    rows = row_names(ax)
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
    assert row_names(ax) == ["b", "c", "a"]
    assert list(ax.get_xticks()) == [1, 2, 3]
    low, high = ax.get_xlim()
    assert low < 1 < 3 < high


# -- curves ----------------------------------------------------------------------------------------------------------


def test_curves_are_means_with_their_bootstrap_intervals():
    repeats = np.random.default_rng(0).random((30, 4)) ** 4
    ax = plots.label_curves(BUDGETS, {"random": repeats}, ylabel="error", logy=True)
    np.testing.assert_allclose(ax.lines[0].get_ydata(), repeats.mean(axis=0))
    corners = ax.collections[0].get_paths()[0].vertices
    for budget, ends in zip(BUDGETS, bootstrap_interval(repeats), strict=True):
        drawn = corners[corners[:, 0] == budget, 1]
        np.testing.assert_allclose([drawn.min(), drawn.max()], ends)
    assert ax.get_yscale() == "log"


@pytest.mark.parametrize("curve", [[0.4, 0.3, 0.2, 0.1], [[0.4, 0.3, 0.2, 0.1]]])
def test_a_single_repeat_has_no_band(curve):
    ax = plots.label_curves(BUDGETS, {"random": curve}, ylabel="error")
    assert len(ax.collections) == 0


def test_the_legend_lists_lines_as_they_end_from_top_to_bottom():
    curves = {"low": np.full(4, 0.1), "high": np.full(4, 0.9), "middle": np.full(4, 0.5)}
    ax = plots.label_curves(BUDGETS, curves, ylabel="error", reference=0.3, title="Error")
    assert legend(ax) == ["high", "middle", "exact", "low"]
    draw(ax.figure)


def test_the_legend_of_curves_says_what_bands_are():
    curves = {"low": np.full((3, 4), 0.1), "high": np.full((3, 4), 0.9)}
    ax = plots.label_curves(BUDGETS, curves, ylabel="error", reference=0.3)
    assert legend(ax) == ["high", "exact", "low", "95% interval\nof the mean"]


def test_a_single_estimate_has_its_numbers_beside_it():
    ax = plots.forest(["f1"], [0.5], [[0.4, 0.62]])
    assert texts(ax) == ["0.500 [0.400, 0.620]"]
    assert texts(plots.forest(["f1", "recall"], [0.5, 0.6], [[0.4, 0.62]] * 2)) == []


def test_a_plan_says_what_line_band_and_mark_are():
    spread = [[0.25, 0.35], [0.1, 0.2]]
    ax = plots.expected_path([20, 100], [0.3, 0.15], spread, 0.2, needed=[80, 60, 120], spread_label="90% of futures")
    assert legend(ax) == ["expected", "90% of futures", "80 labels needed", "60 to 120: 90% of futures"]


def test_seven_designs_differ_in_colour_in_dash_and_in_marker():
    ax = plots.label_curves(BUDGETS, {f"design {k}": np.full(4, k) for k in range(9)}, ylabel="error")
    first = ax.lines[:7]
    assert len({to_hex(line.get_color()) for line in first}) == 7
    assert len({line.get_marker() for line in first}) == 7
    assert len({str(line_style(index, points=4)["linestyle"]) for index in range(7)}) == 7


def test_a_logarithmic_axis_reads_plain_numbers():
    ax = plots.label_curves([50, 500, 2000], {"random": [3, 2, 1]}, ylabel="error", logx=True)
    draw(ax.figure)
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
    assert legend(ax) == ["thompson", "random", "truth", "interval"]
    assert len(ax.collections) == 2  # one of them for the legend
    np.testing.assert_array_equal(line(ax, "thompson").get_ydata(), estimate)
    draw(ax.figure)
    with pytest.raises(OutputError, match="found \\['other'\\] for the lines \\['random'\\]"):
        plots.campaign(x, {"random": estimate}, intervals={"other": band})
    with pytest.raises(OutputError, match="interval"):
        plots.trajectory(None, x, estimate, band[:3])


def test_long_names_that_differ_at_their_ends_are_told_apart():
    names = [f"organisation/large-language-model-{size}" for size in ("7b", "70b")]
    shown = row_names(plots.forest(names, [0.4, 0.5], [[0.3, 0.5], [0.4, 0.6]]))
    assert shown == ["organisation/l...nguage-model-7b", "organisation/l...guage-model-70b"]
    ax = plots.rope_density(np.linspace(-0.1, 0.1, 99), 0.05, [0.3, 0.4, 0.3], first=names[0], second=names[1])
    assert "-7b" in ax.get_xlabel()
    assert "-70b" in ax.get_xlabel()
    matrix = plots.confusion_matrix(np.full((2, 2), 0.5), names, sizes=[3, 4])
    assert len(set(row_names(matrix))) == len(set(column_names(matrix))) == 2
