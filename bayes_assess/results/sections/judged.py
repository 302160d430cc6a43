"""What the predictions alone say of a rate, or of a mean, beside what labels say of it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bayes_assess._tools.shapes import Array, Float, Int
from bayes_assess._tools.tables import Table
from bayes_assess._tools.text import figures, formats_of, plural
from bayes_assess.estimators.random_labels import labels_of_variance, random_labels
from bayes_assess.results.sections.measures import Measures

_LINES = 12  # of a summary
_COLUMNS = ("judge", "bias", "bias_lower", "bias_upper", "random_labels")


@dataclass(frozen=True, eq=False, repr=False)
class Judged(Measures):
    """What the predictions alone say of means over a pool, or over its groups.

    Attributes
    ----------
    items : (G,) integers
        Items of every group, or of the pool.
    judged : (G,) numbers
        Sums over the predictions.
    bias : (G,) floats
        How far what the predictions alone say is above the estimate.
    bias_interval : (G, 2) floats
        Of the bias: what the predictions say less the interval of the mean, of its level and guarantee.
    random_labels : (G,) integers
        Labels of random items, of every group, that would have given an interval as narrow; see
        `bayes_assess.estimators.random_labels`.
    """

    items: Int[np.ndarray, " G"]
    judged: Float[np.ndarray, " G"] | Int[np.ndarray, " G"]

    @property
    def measured_items(self) -> Int[np.ndarray, " G"]:
        """Items of every group that is measured, or of the pool."""
        return self.items

    @property
    def judge(self) -> Float[np.ndarray, " G"]:
        """What the predictions alone say, (G,)."""
        return self.judged / self.items

    @property
    def bias(self) -> Float[np.ndarray, " G"]:
        """How far what the predictions alone say is above the estimate, (G,)."""
        return self.judge - self.evidence.value

    @property
    def bias_interval(self) -> Float[np.ndarray, "G 2"]:
        """Interval of the bias, (G, 2)."""
        return self.judge[:, None] - self.evidence.ends[:, ::-1]

    @property
    def random_labels(self) -> Int[np.ndarray, " G"]:
        """Random labels that would have given an interval as narrow, (G,)."""
        return random_labels(self.evidence.value, self._widths, self.items, self.evidence.level)

    def columns(self) -> dict[str, Array]:
        """Columns of what the predictions alone say, and how many random labels would do as well as those used."""
        values = (self.judge, self.bias, *self.bias_interval.T, self.random_labels)
        return dict(zip(_COLUMNS, values, strict=True))

    def judge_table(self) -> Table:
        """Tabulate what the predictions alone say, and how many random labels would do as well as those used."""
        columns = {"measure": self.evidence.groups} | self.columns()
        title = f"What the predictions alone say, {self.evidence.interval_label}s of their bias"
        return Table(columns, title=title, formats=formats_of(columns, _COLUMNS[:-1]))

    def tables(self) -> list[Table]:
        """Tabulate what the predictions alone say."""
        return [self.judge_table()]

    def lines(self) -> list[str]:
        """Say what the predictions alone say and, once there are labels, how biased that is, and what labels save."""
        known, lines = self.evidence, []
        exact = known.guarantee == "exact"
        rows = zip(known.groups, self.judge, self.bias, self.bias_interval, strict=True)
        for name, judge, bias, (low, high) in rows:
            said = f"The predictions alone say {figures(judge)[0]}{f' for {name}' if len(self.items) > 1 else ''}."
            middle, *between = figures(bias, low, high, sign="+")
            how = " (exact)" if low == high else f", {known.interval_label} [{', '.join(between)}]"
            lines.append(f"{said} Their bias is {middle}{how}." if known.labels_used else said)
        lines = lines if len(lines) <= _LINES else [*lines[:_LINES], f"And {len(lines) - _LINES:,} more."]
        return [*lines, self._price()] if known.labels_used and not exact else lines

    def _price(self) -> str:
        """Say how many random labels would do as well as those used."""
        n, intervals = int(self.random_labels.sum()), "an interval" if len(self.items) == 1 else "intervals"
        used = self.evidence.labels_used
        was = "was" if used == 1 else "were"
        return f"About {plural(n, 'random label')} would give {intervals} as narrow; {used:,} {was} used."

    @property
    def _widths(self) -> Float[np.ndarray, " G"]:
        return np.diff(self.evidence.ends, axis=-1)[:, 0]


class JudgedRates(Judged):
    """What the predictions alone say of rates of positive labels."""

    judge_rate = Judged.judge


@dataclass(frozen=True, eq=False, repr=False)
class JudgedMeans(Judged):
    """What the predictions alone say of means; random labels are counted given the variance that the labels show.

    Attributes
    ----------
    values : (C,) floats
        Number of every class.
    group : (M,) integers
        Group of every item.
    step : float, optional
        What numbers were rounded to.
    """

    values: Float[np.ndarray, " C"]
    group: Int[np.ndarray, " M"]
    step: float | None = None

    judge_mean = Judged.judge

    def lines(self) -> list[str]:
        """Say what the predictions alone say, what labels save, and what all numbers have been rounded to."""
        if self.step is None:
            return super().lines()
        by = f"which moves means by {self.step / 2:g} at most, and usually by far less"
        return [*super().lines(), f"Predictions and labels are rounded to steps of {self.step:g}, {by}."]

    @property
    def random_labels(self) -> Int[np.ndarray, " G"]:
        """Random labels that would have given an interval as narrow, (G,)."""
        span = float(np.ptp(self.values))
        variance = self._variance(self.evidence.value) / span**2
        return labels_of_variance(variance, self._widths / span, self.items, self.evidence.level)

    def _variance(self, mean: Float[np.ndarray, " G"]) -> Float[np.ndarray, " G"]:
        """Estimate the variance of the labels: squares of cells by their labels, and by one of the pool's on average.

        Within cells labels are those of random items, whatever the design.
        """
        cells, group = self.evidence.cells, self.group[self.evidence.cells.one_of_each()]
        counts, sizes = np.asarray(self.evidence.counts, np.float64), np.asarray(cells.sizes, np.float64)
        away = (self.values - mean[group][:, None]) ** 2  # (K, C)
        total = counts.sum(1)
        squares = (counts * away).sum(1)
        weight = np.divide(sizes, total, out=np.zeros_like(sizes), where=total > 0)  # items that a label stands for
        overall = (weight * squares).sum() / max((weight * total).sum(), 1.0)
        square = (squares + overall) / (total + 1)
        return np.bincount(group, weights=sizes * square, minlength=len(mean)) / self.items
