"""How every figure behaves towards its surroundings."""

from __future__ import annotations

import subprocess
import sys

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.figure import Figure

import bayes_assess as ba
from bayes_assess.results import plots

from .drawn import draw

BUDGETS = np.array([50, 100, 200, 500])
RNG = np.random.default_rng(0)
NAMES = ["$x", "\\bad$", "c_1", "a name that is a good deal longer than the others", "e"]
MIDDLE = np.array([0.2, 0.4, 0.5, 0.7, 0.9])
ENDS = np.stack([MIDDLE - 0.05, MIDDLE + 0.05], axis=1)
MASSES = RNG.dirichlet(np.ones(3), (5, 5))

FIGURES = {
    "forest": lambda ax: plots.forest(NAMES, MIDDLE, ENDS, truth=MIDDLE, sizes=np.arange(5), ax=ax),
    "rank_plot": lambda ax: plots.rank_plot(NAMES, np.arange(1, 6), np.tile([1, 5], (5, 1)), ax=ax),
    "label_curves": lambda ax: plots.label_curves(BUDGETS, {"a": BUDGETS, "b": BUDGETS[::-1]}, ylabel="error", ax=ax),
    "campaign": lambda ax: plots.campaign(BUDGETS, {"a": BUDGETS, "b": BUDGETS[::-1]}, ax=ax),
    "trajectory": lambda ax: plots.trajectory(ax, BUDGETS, BUDGETS),
    "reliability": lambda ax: plots.reliability(
        MIDDLE, MIDDLE[::-1], ENDS[::-1], sizes=BUDGETS[[0, 1, 2, 3, 0]], ax=ax
    ),
    "accuracy_against_error": lambda ax: plots.accuracy_against_error(
        NAMES, MIDDLE, ENDS, MIDDLE / 9, ENDS / 9, sizes=np.arange(5), truth=ENDS, ax=ax
    ),
    "confusion_matrix": lambda ax: plots.confusion_matrix(np.full((5, 5), 0.2), NAMES, sizes=np.arange(5), ax=ax),
    "rope_density": lambda ax: plots.rope_density(
        RNG.normal(0, 0.1, 99), 0.05, [0.3, 0.4, 0.3], first=NAMES[0], second=NAMES[1], truth=0.0, ax=ax
    ),
    "pairs": lambda ax: plots.pairs(MASSES, NAMES, ax=ax),
    "precision_recall_curve": lambda ax: plots.precision_recall_curve(
        np.concatenate([MIDDLE, MIDDLE[::-1]]), np.concatenate([ENDS, ENDS[::-1]]), truth=np.tile(MIDDLE, 2), ax=ax
    ),
    "precision_by_rank": lambda ax: plots.precision_by_rank(
        BUDGETS,
        {name: np.stack([MIDDLE, *ENDS.T], axis=-1)[:4] for name in NAMES[:2]},
        truth=MIDDLE[:4],
        queried=(BUDGETS, MIDDLE[:4]),
        labelled=np.arange(1, 500),
        ax=ax,
    ),
    "expected_path": lambda ax: plots.expected_path(
        BUDGETS, MIDDLE[:4][::-1], ENDS[:4][::-1], 0.3, used=20, needed=(300, 200, 400), title="How wide?", ax=ax
    ),
    "hidden_shares": lambda ax: plots.hidden_shares(
        MIDDLE,
        np.stack([MIDDLE, MIDDLE[::-1]], axis=1),
        np.stack([ENDS, ENDS[::-1]], axis=1),
        NAMES[:2],
        ruled_out=0.6,
        title="If positives hid",
        ax=ax,
    ),
}
every_figure = pytest.mark.parametrize("make", FIGURES.values(), ids=FIGURES)


def test_every_public_figure_is_tried_here():
    assert set(FIGURES) == {name for name in dir(plots) if callable(getattr(plots, name))}


@every_figure
def test_new_figures_leave_global_settings_alone_and_clip_nothing(make):
    before = dict(mpl.rcParams)
    figure = make(None).figure
    assert plt.fignum_exists(figure.number)  # pyplot's, so that notebooks show it
    figure.draw_without_rendering()
    assert dict(mpl.rcParams) == before
    box, page = figure.get_tightbbox(), figure.bbox_inches
    assert box.x0 >= page.x0
    assert box.x1 <= page.x1
    assert box.y0 >= page.y0
    assert box.y1 <= page.y1


@pytest.mark.slow
@every_figure
def test_figures_are_drawn_on_the_axes_they_are_given(make):
    figure = Figure(figsize=(7, 5), layout="constrained")
    (first, second), (third, given) = figure.subplots(2, 2)
    assert make(given) is given
    assert given.has_data()
    for other in (first, second, third):
        assert not other.has_data()
        assert not other.texts
    assert not figure.legends
    assert not plt.get_fignums()
    draw(figure)


@every_figure
def test_figures_are_drawn_in_a_part_of_a_figure(make):
    part = Figure(figsize=(12, 6), layout="constrained").subfigures(1, 2)[0]
    ax = make(part.subplots())
    assert ax.figure is part
    draw(part.figure)


def test_nothing_is_clipped_of_a_figure_with_many_rows():
    names = [f"a rather long name of group {k}" for k in range(60)]
    estimate = np.linspace(0.2, 0.9, 60)
    ends = np.stack([estimate - 0.05, estimate + 0.05], axis=1)
    figure = plots.forest(names, estimate, ends, truth=estimate, sizes=np.full(60, 123456), title="Accuracy").figure
    figure.draw_without_rendering()
    assert figure.bbox_inches.containsx(figure.get_tightbbox().x0)
    assert figure.bbox_inches.containsx(figure.get_tightbbox().x1)


TITLE = "Better by more than 5 points of $a_1 and $b_2, which are the names of systems: 1,280 of 13,000 labelled"


@pytest.mark.parametrize("names", [["e", "n", "w"], ["a name of 25 letters or so", "another such long name", "w"]])
@pytest.mark.parametrize(
    "make",
    [
        lambda names: plots.pairs(MASSES[:3, :3], names, title=TITLE),
        lambda names: plots.confusion_matrix(
            np.full((3, 3), 1 / 3), names, interval_width=ENDS[:3, [0] * 3], title=TITLE
        ),
        lambda names: plots.forest(names, MIDDLE[:3], ENDS[:3], title=TITLE),
    ],
)
def test_long_titles_are_wrapped_above_everything_else(make, names):
    ax = make(names)
    figure = ax.figure
    figure.draw_without_rendering()
    figure.draw_without_rendering()  # as notebooks and files do, which lay the figure out first
    title, renderer = ax._left_title.get_window_extent(), figure.canvas.get_renderer()
    assert title.x1 <= figure.bbox.x1
    assert title.y1 <= figure.bbox.y1
    for other in figure.axes[1:]:  # a colour bar
        assert other.get_tightbbox(renderer).y1 <= title.y0
    assert ax.get_title(loc="left").replace("\\", "") == TITLE


def test_importing_the_package_does_not_import_matplotlib():
    code = (
        "import sys, bayes_assess.results.plots; assert not any(name.startswith('matplotlib') for name in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@every_figure
def test_what_is_no_axes_is_refused_in_a_sentence(make):
    for wrong in (3, np.array([None])):
        with pytest.raises(ba.OutputError, match=r"passed as ax=, such as those of plt\.subplots\(\)\[1\]; found"):
            make(wrong)
