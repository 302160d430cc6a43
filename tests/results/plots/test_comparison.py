from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.colors import to_hex
from scipy import stats

from bayes_assess.errors import OutputError
from bayes_assess.results import plots
from bayes_assess.results.plots._density import density

from .drawn import column_names, draw, legend, line, row_names, segments, texts

DRAWS = np.random.default_rng(0).normal(0.05, 0.05, 20_000)
MASSES = [0.02, 0.48, 0.5]


def _area(path) -> float:
    x, y = path.vertices[:, 0], path.vertices[:, 1]
    return abs(np.dot(x, np.roll(y, 1)) - np.dot(y, np.roll(x, 1))) / 2


# -- density ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("distribution", "tolerance"),
    [
        (stats.norm(0.3, 1e-6), 0.06),
        (stats.norm(-5, 100), 0.06),
        (stats.gamma(4), 0.06),
        (stats.expon(), 0.1),  # ends abruptly at 0
        (stats.uniform(0.4, 0.2), 0.1),
    ],
)
def test_densities_are_those_of_the_distribution(distribution, tolerance):
    draws = distribution.rvs(20_000, random_state=np.random.default_rng(1))
    grid, height = density(draws)
    assert grid.min() >= draws.min()
    assert grid.max() <= draws.max()
    assert height.sum() * (grid[1] - grid[0]) == pytest.approx(1)
    peak = distribution.pdf(grid).max()
    np.testing.assert_allclose(height / peak, distribution.pdf(grid) / peak, atol=tolerance)


def test_the_three_parts_split_at_the_ends_of_the_region():
    ax = plots.rope_density(DRAWS, 0.05, MASSES, first="new", second="old")
    parts = ax.collections[:3]
    for part, (low, high) in zip(parts, [(-np.inf, -0.05), (-0.05, 0.05), (0.05, np.inf)], strict=True):
        box = part.get_paths()[0].get_extents()
        assert box.x0 >= low
        assert box.x1 <= high
        share = np.mean((low < DRAWS) & (DRAWS <= high))
        assert _area(part.get_paths()[0]) == pytest.approx(share, abs=0.01)
    assert len({to_hex(part.get_facecolor()[0]) for part in parts}) == 3
    band = ax.transData.inverted().transform(ax.patches[0].get_window_extent())
    np.testing.assert_allclose(band[:, 0], [-0.05, 0.05])
    draw(ax.figure)


def test_masses_are_written_in_the_colours_and_the_order_of_their_parts():
    ax = plots.rope_density(DRAWS, 0.05, MASSES, first="new", second="old")
    assert texts(ax) == ["old better\n0.02", "equivalent\n0.48", "new better\n0.50"]
    assert [text.get_weight() for text in ax.texts] == ["normal", "normal", "bold"]
    places = [text.get_position()[0] for text in ax.texts]
    assert places == sorted(places)
    orange, _, blue = (to_hex(text.get_color()) for text in ax.texts)
    assert orange == to_hex(ax.collections[0].get_facecolor()[0])
    assert blue == to_hex(ax.collections[2].get_facecolor()[0])
    assert ax.get_xlabel() == "new \N{MINUS SIGN} old"


def test_of_losses_the_lower_one_is_better():
    ax = plots.rope_density(DRAWS, 0.05, MASSES, first="new", second="old", low_is_best=True)
    assert texts(ax) == ["new better\n0.02", "equivalent\n0.48", "old better\n0.50"]
    blue, _, orange = (to_hex(text.get_color()) for text in ax.texts)
    usual = plots.rope_density(DRAWS, 0.05, MASSES)
    assert [to_hex(text.get_color()) for text in usual.texts] == [orange, to_hex(ax.texts[1].get_color()), blue]
    assert blue == to_hex(ax.collections[0].get_facecolor()[0])
    assert orange == to_hex(ax.collections[2].get_facecolor()[0])


@pytest.mark.parametrize(
    ("masses", "words"),
    [([0, 1e-9, 1 - 1e-9], ["0", "<0.01", ">0.99"]), ([0.004, 0.996, 0], ["<0.01", ">0.99", "0"]), ([0, 0, 1], "001")],
)
def test_a_probability_reads_0_or_1_only_if_it_is(masses, words):
    ax = plots.rope_density(DRAWS, 0.05, masses)
    assert [text.split("\n")[-1] for text in texts(ax)] == list(words)


@pytest.mark.parametrize("draws", [DRAWS, DRAWS / 500 + 0.9, DRAWS / 500 - 0.9, DRAWS**2])
@pytest.mark.parametrize("name", ["b", "a rather long name of a system"])
def test_the_words_do_not_cover_each_other(draws, name):
    ax = plots.rope_density(draws, 0.02, MASSES, first=name, second=name)
    ax.figure.draw_without_rendering()
    first, middle, last = (text.get_window_extent() for text in ax.texts)
    assert first.x1 <= middle.x0
    assert middle.x1 <= last.x0
    assert first.x0 >= 0
    assert last.x1 <= ax.figure.bbox.x1


@pytest.mark.parametrize("size", [(2.4, 2.0), (3.4, 2.8), (7, 4)])
def test_in_axes_of_a_user_the_legend_lies_between_the_words_and_the_density(size):
    """Also in a column of a paper, where it is as wide as the axes."""
    figure = plt.figure(figsize=size)
    ax = plots.rope_density(
        np.random.default_rng(0).normal(-0.15, 0.16, 2000),
        0.05,
        [0.74, 0.15, 0.11],
        first="short",
        second="mid-sized clinic",
        estimate=-0.15,
        interval=[-0.474, 0.23],
        interval_label="95% credible interval",
        ax=figure.add_subplot(),
    )
    figure.canvas.draw()
    place, inside = ax.get_legend().get_window_extent(), ax.get_window_extent()
    assert not any(place.overlaps(text.get_window_extent()) for text in ax.texts)
    assert inside.x0 <= place.x0 < place.x1 <= inside.x1
    peak = max(path.vertices[:, 1].max() for part in ax.collections for path in part.get_paths()[:1] if len(path) > 9)
    assert ax.transData.transform((0, peak))[1] < place.y0 + 1
    plt.close(figure)


def test_estimate_interval_and_truth_lie_below_the_density():
    ax = plots.rope_density(DRAWS, 0.05, MASSES, estimate=0.05, interval=[-0.04, 0.4], truth=0.6)
    ends = segments(ax.collections[-1])[0]
    np.testing.assert_array_equal(ends[:, 0], [-0.04, 0.4])
    assert (ends[:, 1] < 0).all()
    dot, diamond = ax.lines[-2], line(ax, "truth")
    assert dot.get_xdata() == [0.05]
    assert diamond.get_xdata() == [0.6]
    assert legend(ax) == ["+0.050", "interval [-0.040, +0.400]", "truth"]
    low, high = ax.get_xlim()
    assert low < -0.05
    assert high > 0.6


def test_few_distinct_values_are_bars():
    draws = np.repeat([-0.1, 0.0, 0.05, 0.2], [10, 20, 30, 40])
    ax = plots.rope_density(draws, 0.05, [0.1, 0.5, 0.4])
    bars = [segments(part) for part in ax.collections[:3]]
    np.testing.assert_allclose([bar[:, 0, 0].tolist() for bar in bars[::2]], [[-0.1], [0.2]])
    np.testing.assert_allclose(bars[1][:, 0, 0], [0, 0.05])
    np.testing.assert_allclose(np.concatenate(bars)[:, 1, 1], [0.1, 0.2, 0.3, 0.4])
    draw(plots.rope_density(np.zeros(50), 0.0, [0, 1, 0]).figure)


def test_one_value_that_most_draws_share_is_a_bar_too():
    draws = np.concatenate([np.zeros(600), DRAWS[:400]])
    ax = plots.rope_density(draws, 0.05, MASSES)
    assert max(segments(ax.collections[1])[:, 1, 1]) == 0.6


def test_without_a_region_there_are_two_parts():
    ax = plots.rope_density(DRAWS, 0, [0.2, 0, 0.8])
    assert texts(ax) == ["second better\n0.20", "first better\n0.80"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"draws": np.zeros((2, 2))}, r"draws of shape \(any\); found \(2, 2\)"),
        ({"draws": [np.nan]}, "no finite draw"),
        ({"masses": [0.5, 0.5]}, r"masses of shape \(3\)"),
        ({"interval": 0.1}, r"interval of shape \(2\)"),
        ({"rope": -0.1}, "0 or more; found -0.1"),
        ({"rope": np.nan}, "found nan"),
    ],
)
def test_rope_density_names_what_does_not_fit(change, message):
    with pytest.raises(OutputError, match=message):
        plots.rope_density(**{"draws": DRAWS, "rope": 0.05, "masses": MASSES} | change)


# -- pairs -----------------------------------------------------------------------------------------------------------


def _all_pairs(count: int) -> np.ndarray:
    masses = np.zeros((count, count, 3))
    below = np.random.default_rng(count).dirichlet(np.ones(3), (count, count))
    rows, columns = np.triu_indices(count, 1)
    masses[rows, columns], masses[columns, rows] = below[rows, columns], below[rows, columns][:, ::-1]
    return masses


def test_pairs_are_coloured_by_better_less_worse_and_the_diagonal_is_blank():
    masses = _all_pairs(4)
    ax = plots.pairs(masses, ["a", "b", "c", "d"])
    cells = ax.collections[0]
    off = ~np.eye(4, dtype=bool)
    np.testing.assert_allclose(cells.get_array(), (masses[..., 2] - masses[..., 0])[off])
    centres = np.array([path.vertices[:4].mean(axis=0) for path in cells.get_paths()])
    np.testing.assert_allclose(centres, np.argwhere(off)[:, ::-1], atol=1e-12)
    assert ax.yaxis_inverted()
    assert row_names(ax) == column_names(ax) == ["a", "b", "c", "d"]
    better, worse = cells.cmap(cells.norm([1.0, -1.0]))
    assert better[2] > better[0]  # blue
    assert worse[0] > worse[2]  # orange
    draw(ax.figure)


def test_only_decided_pairs_fill_their_cells_and_equivalent_ones_have_a_circle():
    masses = np.zeros((3, 3, 3))
    masses[0, 1], masses[1, 0] = [0, 0.05, 0.95], [0.95, 0.05, 0]
    masses[0, 2], masses[2, 0] = [0.01, 0.98, 0.01], [0.01, 0.98, 0.01]
    masses[1, 2], masses[2, 1] = [0.94, 0.03, 0.03], [0.03, 0.03, 0.94]
    ax = plots.pairs(masses, ["a", "b", "c"])
    sides = [np.ptp(path.vertices[:, 0]) for path in ax.collections[0].get_paths()]
    assert [side == 1 for side in sides] == [True, True, True, False, True, False]
    np.testing.assert_array_equal(line(ax, "equivalent").get_xydata(), [[2, 0], [0, 2]])
    assert legend(ax) == ["equivalent", "decided with probability 0.95", "undecided"]


def test_too_many_groups_are_refused_with_advice():
    with pytest.raises(OutputError, match=r"up to 40 groups; found 41\. Choose groups"):
        plots.pairs(_all_pairs(41), range(41))
    assert len(row_names(plots.pairs(_all_pairs(41), range(41), max_groups=41))) == 41


def test_pairs_names_what_does_not_fit():
    with pytest.raises(OutputError, match=r"masses of shape \(3, 3, 3\); found \(2, 2, 3\)"):
        plots.pairs(_all_pairs(2), ["a", "b", "c"])
    with pytest.raises(OutputError, match="at least 2 groups; found 1"):
        plots.pairs(np.zeros((1, 1, 3)), ["a"])


def test_numbers_of_a_small_difference_have_digits():
    ax = plots.rope_density(
        DRAWS / 1000, 0.00005, MASSES, first="a", second="b", estimate=0.00005, interval=[-0.00004, 0.00014]
    )
    assert legend(ax) == ["+0.00005", "interval [-0.00004, +0.00014]"]
