"""The rate of positive labels, or the mean of ratings, beside what the predictions alone would have said of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from bayes_assess._tools.shapes import Float, Int
from bayes_assess._tools.tables import Table
from bayes_assess.estimators.random_labels import labels_of_variance, random_labels
from bayes_assess.results._ordered import MeasureEvidenceT_co
from bayes_assess.results.metric import MetricResult

_LINES = 12  # of a summary
_JUDGE = ("judge", "bias", "bias_lower", "bias_upper", "random_labels")  # columns


@dataclass(frozen=True, eq=False, repr=False)
class ProxyResult(MetricResult[MeasureEvidenceT_co]):
    """A mean over a pool, or over its groups, beside that of the predictions.

    Attributes
    ----------
    bias : float or (G,)
        How far what the predictions alone say is above the estimate.
    bias_interval : (2,) or (G, 2)
        Of the bias: what the predictions say less the interval of the mean.
    random_labels : int or (G,) integers
        Labels of random items, of every group, that would have given an interval as narrow; see
        `bayes_assess.estimators.random_labels`.
    """

    items: Int[np.ndarray, " G"] = field(kw_only=True)
    judged: Float[np.ndarray, " G"] | Int[np.ndarray, " G"] = field(kw_only=True)  # sums over the predictions

    @property
    def bias(self) -> Any:
        """How far what the predictions alone say is above the estimate."""
        return self._shaped(self._bias)

    @property
    def bias_interval(self) -> Float[np.ndarray, "... 2"]:
        """Interval of the bias, of the same level and guarantee as that of the mean."""
        return self._shaped(self._bias_ends)

    @property
    def random_labels(self) -> Any:
        """Random labels that would have given an interval as narrow."""
        return self._shaped(self._labels_as_good)

    def table(self) -> Table:
        """Tabulate the means, what the predictions alone say, and how many random labels would do as well."""
        plain = super().table()
        judge = self.judge_table()
        columns = {name: plain[name] for name in plain.columns} | {name: judge[name] for name in _JUDGE}
        formats = dict.fromkeys([*plain.columns[1:], *_JUDGE[:-1]], ".4f")
        return Table(columns, title=plain.title, formats=formats)

    def judge_table(self) -> Table:
        """Tabulate what the predictions alone say, and how many random labels would do as well as those used."""
        values = (self._judge, self._bias, *self._bias_ends.T, self._labels_as_good)
        columns = {"measure": self.groups} | dict(zip(_JUDGE, values, strict=True))
        title = f"What the predictions alone say, {self._interval_label}s of their bias"
        return Table(columns, title=title, formats=dict.fromkeys(_JUDGE[:-1], ".4f"))

    @property
    def _measured_items(self) -> Int[np.ndarray, " G"]:
        return self.items

    @property
    def _judge(self) -> Float[np.ndarray, " G"]:
        return self.judged / self.items

    @property
    def _bias(self) -> Float[np.ndarray, " G"]:
        return self._judge - np.atleast_1d(self.estimate)

    @property
    def _bias_ends(self) -> Float[np.ndarray, "G 2"]:
        return self._judge[:, None] - self._ends_of_all()[:, ::-1]

    @property
    def _labels_as_good(self) -> Int[np.ndarray, " G"]:
        width = np.diff(self._ends_of_all(), axis=-1)[:, 0]
        return random_labels(np.atleast_1d(self.estimate), width, self.items, self.level)

    def _answer(self) -> list[str]:
        exact = self.guarantee == "exact"
        priced = [self._price()] if self.labels_used and not exact else []
        return [*super()._answer(), *self._said_by_the_judge(exact), *priced]

    def _said_by_the_judge(self, exact: bool) -> list[str]:
        """Say what the predictions alone say and, once there are labels, how biased that is."""
        lines = []
        rows = zip(self.groups, self._judge, self._bias, self._bias_ends, strict=True)
        for name, judge, bias, (low, high) in rows:
            said = f"The predictions alone say {judge:.3f}{f' for {name}' if len(self.items) > 1 else ''}."
            how = " (exact)" if exact else f", {self.level:.0%} {self.guarantee} interval [{low:+z.3f}, {high:+z.3f}]"
            lines.append(f"{said} Their bias is {bias:+z.3f}{how}." if self.labels_used else said)
        return lines if len(lines) <= _LINES else [*lines[:_LINES], f"And {len(lines) - _LINES:,} more."]

    def _price(self) -> str:
        """Say how many random labels would do as well as those used."""
        n, intervals = int(self._labels_as_good.sum()), "an interval" if len(self.items) == 1 else "intervals"
        return f"About {n:,} random labels would give {intervals} as narrow; {self.labels_used:,} were used."


class RateResult(ProxyResult[MeasureEvidenceT_co]):
    """The rate of positive labels of a pool, or of its groups, beside that of the predictions.

    Attributes
    ----------
    judge_rate : float, or (G,) for groups
        Share of the items that are predicted positive: what the predictions alone say.
    bias, bias_interval, random_labels
        See `ProxyResult`.
    """

    @property
    def judge_rate(self) -> Any:
        """What the predictions alone say."""
        return self._shaped(self._judge)


@dataclass(frozen=True, eq=False, repr=False)
class MeanResult(ProxyResult[MeasureEvidenceT_co]):
    """The mean rating of a pool, or of its groups, beside that of the predictions.

    Attributes
    ----------
    judge_mean : float, or (G,) for groups
        Mean over the predictions: what they alone say.
    bias, bias_interval, random_labels
        See `ProxyResult`; random labels are counted given the variance that the labels show.
    """

    values: Float[np.ndarray, " C"] = field(kw_only=True)
    group: Int[np.ndarray, " M"] = field(kw_only=True)

    @property
    def judge_mean(self) -> Any:
        """What the predictions alone say."""
        return self._shaped(self._judge)

    @property
    def _labels_as_good(self) -> Int[np.ndarray, " G"]:
        mean, width = np.atleast_1d(self.estimate), np.diff(self._ends_of_all(), axis=-1)[:, 0]
        span = float(np.ptp(self.values))
        return labels_of_variance(self._variance(mean) / span**2, width / span, self.items, self.level)

    def _variance(self, mean: Float[np.ndarray, " G"]) -> Float[np.ndarray, " G"]:
        """Estimate the variance of the labels: squares of cells by their labels, and by one of the pool's on average.

        Within cells labels are those of random items, whatever the design.
        """
        counts, sizes = np.asarray(self.counts, np.float64), np.asarray(self.cells.sizes, np.float64)
        away = (self.values - mean[self.group[self.cells.one_of_each()]][:, None]) ** 2  # (K, C)
        total = counts.sum(1)
        found = (counts * away).sum(1)
        weight = np.divide(sizes, total, out=np.zeros_like(sizes), where=total > 0)  # items that a label stands for
        overall = (weight * found).sum() / max((weight * total).sum(), 1.0)
        square = (found + overall) / (total + 1)
        group = self.group[self.cells.one_of_each()]
        return np.bincount(group, weights=sizes * square, minlength=len(mean)) / self.items
