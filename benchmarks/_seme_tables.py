"""What sampling found on the pools of [SEME]'s kind, as tables in the shape of its figures.

Shapes: T numbers of labels, R repeats, Q measures. Errors are in percentage points, ± one Monte-Carlo standard error.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from bayes_assess._tools.shapes import Bool, Float, Int

LEVEL = 0.9  # of intervals
LEAST_ERROR = 1e-6  # smaller errors count as this in logarithms: a sample that is exact has the logarithm -27.6


@dataclass(frozen=True, eq=False)
class Found:
    """What one method found on one pool, sampled for one measure; NaN where it cannot reach so many labels.

    Attributes
    ----------
    truth : (Q,)
    shares, budgets : (T,)
        Expected distinct labels, as shares of the pool and as numbers.
    labels : (T, R)
        Distinct labels.
    estimates : (T, R, Q)
    ends : (T, R, Q, 2)
        Of the published interval, that of a Beta distribution.
    own_ends : (T, R, 2)
        Of the package's own interval, for the measure that was sampled for.
    """

    pool: str
    method: str
    measure: str
    measures: tuple[str, ...]
    truth: Float[np.ndarray, " Q"]
    shares: Float[np.ndarray, " T"]
    budgets: Int[np.ndarray, " T"]
    labels: Float[np.ndarray, "T R"]
    estimates: Float[np.ndarray, "T R Q"]
    ends: Float[np.ndarray, "T R Q 2"]
    own_ends: Float[np.ndarray, "T R 2"]

    @cached_property
    def errors(self) -> Float[np.ndarray, "T R Q"]:
        """Absolute errors."""
        return np.abs(self.estimates - self.truth)

    @cached_property
    def log_errors(self) -> Float[np.ndarray, "T R Q"]:
        """Logarithms of squared errors, as in [SEME] Figures 8 to 11."""
        return 2 * np.log(np.maximum(self.errors, LEAST_ERROR))

    @cached_property
    def inside(self) -> Float[np.ndarray, "T R Q"]:
        """Whether the published intervals hold the truth."""
        return _inside(self.ends, self.truth)

    @property
    def own_inside(self) -> Float[np.ndarray, "T R"]:
        """Whether the package's own intervals hold the truth."""
        return _inside(self.own_ends, self.truth[self.measures.index(self.measure)])

    def at(self, shares: tuple[float, ...]) -> Found:
        """Keep some shares of the pool."""
        rows = np.isin(self.shares, shares)
        arrays = {name: getattr(self, name)[rows] for name in ("labels", "estimates", "ends", "own_ends")}
        return replace(self, shares=self.shares[rows], budgets=self.budgets[rows], **arrays)

    def part(self, measure: str, rows: slice | Bool[np.ndarray, " T"]) -> Found:
        """Keep one measure, and some numbers of labels."""
        q = [self.measures.index(measure)]
        return replace(
            self,
            measures=(measure,),
            truth=self.truth[q],
            shares=self.shares[rows],
            budgets=self.budgets[rows],
            labels=self.labels[rows],
            estimates=self.estimates[rows][..., q],
            ends=self.ends[rows][:, :, q],
            own_ends=self.own_ends[rows],
        )

    @property
    def reached(self) -> np.ndarray:
        """Which numbers of labels the method can reach, (T,)."""
        return ~np.isnan(self.labels[:, 0])


@dataclass(frozen=True, eq=False)
class Certainty:
    """Chances of inclusion of Poisson and of importance sampling, for the same expected labels.

    Attributes
    ----------
    onset : float
        Share of the pool from which on an item is drawn with certainty: mean deviation over greatest ([SEME] (88)).
    shares : (T,)
        Of the pool, labels.
    certain : (T,)
        Of the pool, items that Poisson sampling draws with certainty.
    poisson, importance : (T, 3)
        Chances of the item drawn most likely, of that at one tenth from there on, and of the median item.
    places : (P,)
        Of items, from the one drawn most likely on.
    curves : mapping from "poisson" and "importance" to (T, P)
        Their chances.
    """

    onset: float
    shares: Float[np.ndarray, " T"]
    certain: Float[np.ndarray, " T"]
    poisson: Float[np.ndarray, "T 3"]
    importance: Float[np.ndarray, "T 3"]
    places: Int[np.ndarray, " P"]
    curves: dict[str, Float[np.ndarray, "T P"]]


@dataclass(frozen=True, eq=False)
class Facts:
    """What a pool is: M items, Q measures and their true values, of which one is sampled for if nothing is said."""

    n_items: int
    measures: tuple[str, ...]
    truth: Float[np.ndarray, " Q"]
    sampled_for: str
    binary: bool
    crossed: bool  # whether samples for other measures are of interest
    certainty: Certainty


@dataclass(frozen=True)
class Study:
    """All that was found, by pool, method and measure sampled for."""

    facts: dict[str, Facts] = field(default_factory=dict)
    found: dict[tuple[str, str, str], Found] = field(default_factory=dict)
    cross: dict[tuple[str, str, str], Found] = field(default_factory=dict)
    exact: dict[str, float] = field(default_factory=dict)  # greatest error of Poisson sampling with all labels

    def of(self, pool: str) -> list[Found]:
        """Return all methods on a pool."""
        return [one for one in self.found.values() if one.pool == pool]


def _budgets(found: list[Found]) -> list[tuple[int, int]]:
    """Return the numbers of labels that some method has reached, with their places."""
    return [(t, int(n)) for t, n in enumerate(found[0].budgets) if any(one.reached[t] for one in found)]


def mean_and_error(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Average over repeats, the second axis, with the standard error."""
    error = values.std(1, ddof=1) / np.sqrt(values.shape[1])
    return values.mean(1), np.where(error < 1e-9, 0.0, error)  # rounding alone


def describe(name: str, facts: Facts) -> str:
    """Say what the pool is, as a row."""
    values = ", ".join(f"{name} {value:.3f}" for name, value in zip(facts.measures, facts.truth, strict=True))
    return f"| {name} | {facts.n_items:,} | {values} | {100 * facts.certainty.onset:.1f} |"


def error_table(found: list[Found], logarithms: bool = False) -> str:
    """Write errors of all measures by labels and method."""
    lines = _head("labels", "method", *found[0].measures)
    for t, budget in _budgets(found):
        for one in found:
            values, errors = mean_and_error(one.log_errors) if logarithms else mean_and_error(100 * one.errors)
            shown = _cells(values[t], errors[t], "{:.2f} ± {:.2f}" if logarithms else "{:.3g} ± {:.1g}")
            lines.append(f"| {budget:,} | {one.method} | {' | '.join(shown)} |")
    return "\n".join(lines)


def coverage_table(found: list[Found]) -> str:
    """Write the share of intervals that hold the truth, percent, by labels and method."""
    names = [f"{name}, Beta" for name in found[0].measures]
    lines = _head("labels", "method", *names, f"{found[0].measure}, ours", "its width over Beta's")
    for t, budget in _budgets(found):
        for one in found:
            mean, error = mean_and_error(100 * one.inside)
            shown = _cells(mean[t], error[t], "{:.1f} ± {:.1f}")
            shown += _own_cells(one, t)
            lines.append(f"| {budget:,} | {one.method} | {' | '.join(shown)} |")
    return "\n".join(lines)


def _own_cells(one: Found, t: int) -> list[str]:
    """Show the coverage of the package's own interval, and its width over that of the published one."""
    if not one.reached[t]:
        return ["-", "-"]
    inside, error = (float(100 * x[0]) for x in mean_and_error(one.own_inside[t : t + 1]))
    q = one.measures.index(one.measure)
    width, beta = np.diff(one.own_ends[t]).mean(), np.diff(one.ends[t, :, q]).mean()
    return [f"{inside:.1f} ± {error:.1f}", f"{width / beta:.2f}" if width < 100 * beta else "over 100"]


def worse_table(found: Iterable[Found]) -> str:
    """Write errors and coverage for the measure that was sampled for, by pool, labels and method."""
    head = (
        "pool",
        "labels",
        "method",
        "error",
        "log",
        "coverage, Beta",
        "coverage, ours",
        "width over Beta's",
    )
    lines = _head(*head)
    for one in found:
        q = one.measures.index(one.measure)
        for t, budget in _budgets([one]):
            shown = []
            formats = ("{:.3g} ± {:.1g}", "{:.2f} ± {:.2f}", "{:.1f} ± {:.1f}")
            for values, style in zip((100 * one.errors, one.log_errors, 100 * one.inside), formats, strict=True):
                mean, error = mean_and_error(values[t : t + 1, :, q])
                shown += _cells(mean, error, style)
            lines.append(f"| {one.pool} | {budget:,} | {one.method} | {' | '.join(shown + _own_cells(one, t))} |")
    return "\n".join(lines)


def cross_table(found: list[Found]) -> str:
    """Write errors of all measures by labels and by the measure that was sampled for; the least are bold."""
    lines = _head("labels", "sampled for", *found[0].measures)
    means, errors = (
        np.stack(parts) for parts in zip(*(mean_and_error(100 * one.errors) for one in found), strict=True)
    )
    for t, budget in _budgets(found):
        least = np.nanmin(means[:, t], axis=0)
        for i, one in enumerate(found):
            shown = _cells(means[i, t], errors[i, t], "{:.3g} ± {:.1g}")
            shown = [
                f"**{text}**" if m == best else text for text, m, best in zip(shown, means[i, t], least, strict=True)
            ]
            lines.append(f"| {budget:,} | {one.measure} | {' | '.join(shown)} |")
    return "\n".join(lines)


def certainty_table(study: Study) -> str:
    """Write how many items are drawn with certainty, and chances of inclusion, by pool and labels."""
    greatest = "greatest, at one tenth, and median chance"
    lines = _head("pool", "labels, %", "certain, % of items", f"Poisson: {greatest}", f"importance: {greatest}")
    for pool, facts in study.facts.items():
        one = facts.certainty
        for t, share in enumerate(one.shares):
            chances = [", ".join(f"{x:.3f}" for x in part[t]) for part in (one.poisson, one.importance)]
            lines.append(f"| {pool} | {100 * share:g} | {100 * one.certain[t]:.1f} | {' | '.join(chances)} |")
    return "\n".join(lines)


def one_run(found: list[Found]) -> str:
    """Write the first repeat's estimates and published intervals of the measure sampled for."""
    q = found[0].measures.index(found[0].measure)
    lines = _head("labels", *(one.method for one in found))
    for t, budget in _budgets(found):
        shown = []
        for one in found:
            low, high = one.ends[t, 0, q]
            shown.append(f"{one.estimates[t, 0, q]:.4f} [{low:.4f}, {high:.4f}]" if one.reached[t] else "-")
        lines.append(f"| {budget:,} | {' | '.join(shown)} |")
    return "\n".join([*lines, "", f"The truth is {found[0].truth[q]:.4f}."])


def _inside(ends: np.ndarray, truth: np.ndarray | float) -> np.ndarray:
    """Return 1 where an interval holds the truth, 0 where not, and NaN where there is none."""
    inside = (ends[..., 0] <= truth + 1e-12) & (truth <= ends[..., 1] + 1e-12)
    return np.where(np.isnan(ends[..., 0]), np.nan, inside)


def _head(*names: str) -> list[str]:
    words = {"labels", "method", "pool", "sampled for"}
    rules = ["---" if name in words - {"labels"} else "---:" for name in names]
    return [f"| {' | '.join(names)} |", f"| {' | '.join(rules)} |"]


def _cells(values: np.ndarray, errors: np.ndarray, style: str) -> list[str]:
    return ["-" if np.isnan(v) else style.format(v, e) for v, e in zip(values, errors, strict=True)]
