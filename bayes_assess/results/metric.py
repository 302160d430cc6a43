"""Estimates of measures from weighted draws."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from bayes_assess._tools.shapes import ArrayLike, Float
from bayes_assess._tools.tables import Table
from bayes_assess._tools.text import plural
from bayes_assess.designs.adaptive import LabelTree
from bayes_assess.errors import QuestionError
from bayes_assess.estimators.intervals import effective_draws, ellipsoid_radius, measure_interval
from bayes_assess.estimators.joint_draws import joined_draws
from bayes_assess.estimators.verdicts import interval_quantiles
from bayes_assess.estimators.weighted import Estimate
from bayes_assess.questions._event_cells import MetricCells
from bayes_assess.questions._measures_answered import cells_table
from bayes_assess.results import plots
from bayes_assess.results._in_words import title_of
from bayes_assess.results._ordered import Ordered

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_LINES = 12  # of a summary
_SAID = 3  # measures in one sentence
_N_JOINT = 4000  # draws that estimates stand for


@dataclass(frozen=True, eq=False, repr=False)
class MetricResult(Ordered):
    """Measures, such as F1, from weighted draws.

    Attributes
    ----------
    estimate : float, or (k,) for a list of measures
    interval : (2,) or (k, 2)
        See `measure_interval`.
    standard_error : float or (k,)
    covariance : (k, k)
        Of the estimates.
    guarantee : str
        ``"asymptotic"``, or ``"exact"`` once all items are labelled that can matter; ``"credible"`` while the draws
        define no measure, so that every figure is what the design believes.
    assumption : str
        What estimates and intervals lean on.
    n_draws : int
        Draws, repeated ones included.
    n_effective : float or (k,)
        Effective number of draws that inform the measure.
    """

    cells: MetricCells
    answer: Estimate = field(kw_only=True)
    all_covariances: Float[np.ndarray, "k k"] | None = field(kw_only=True)
    tree: LabelTree | None = field(kw_only=True, default=None)

    @property
    def guarantee(self) -> str:
        """What the interval promises."""
        if self.answer.exact:
            return "exact"
        return "asymptotic" if np.any(self.answer.defined) else "credible"

    @property
    def assumption(self) -> str:
        """What estimates and intervals lean on."""
        if self.answer.exact:
            return "Nothing is assumed: every item is labelled that can matter."
        believed = self._believed()
        if self.guarantee == "credible":
            return believed
        of_size = "" if self.answer.sample is None else self._of_random_size()
        return " ".join(filter(None, [self._of_intervals(), of_size, believed]))

    def _of_intervals(self) -> str:
        if np.any(self.answer.by_ratio):
            return "Intervals lean on no score: they count what items not drawn could show, by their chances."
        if np.any(self.answer.beta):
            return (
                "Intervals are those of a Beta distribution with the estimate and its variance, as [SEME] publishes "
                "them: they leave out errors of a kind that no draw has shown yet, and hold too seldom while few "
                "errors were found."
            )
        where = "items" if self._draws_labels else "unlabelled items"
        drawn = (
            f"Intervals lean on {_range_text(self.n_effective)} effective draws, and take errors of a kind that no "
            f"draw has shown yet to be spread alike over the {where}."
        )
        if self._draws_labels:
            drawn += " Labels of an item are taken for independent draws: another person might give another one."
        return drawn

    def _of_random_size(self) -> str:
        sample = self.answer.sample
        biases = zip(self.groups, [] if sample is None else sample.biases(), strict=True)
        named = ", ".join(f"{name} by about {bias:+z.3f}" for name, bias in biases)
        return f"Batches were of random size, and with so many labels ratios of their sums are biased: {named}."

    @cached_property
    def estimate(self) -> Any:
        """Estimated measures, within their ranges."""
        return self._shaped(self.answer.value)

    @property
    def standard_error(self) -> Any:
        """Standard errors: infinite where no draw defines the measure, 0 where draws show no spread."""
        error = np.where(self.answer.defined, np.sqrt(np.maximum(self.answer.variance, 0)), np.inf)
        return self._shaped(np.where(self.answer.exact, 0, error))

    @cached_property
    def interval(self) -> Float[np.ndarray, "... 2"]:
        """Asymptotic intervals."""
        ends = self._ends_of_all()
        return ends[0] if np.ndim(self.estimate) == 0 else ends

    @property
    def covariance(self) -> Float[np.ndarray, "k k"]:
        """Covariance of the estimates ([NH] sec. 3.3.2)."""
        if self.all_covariances is None:
            raise QuestionError(f"The covariance of {len(self.groups):,} outputs is not kept; `standard_error` is.")
        return self.all_covariances

    @property
    def n_draws(self) -> int:
        """Draws, repeated ones included."""
        return int(self.answer.n_draws)

    @property
    def n_effective(self) -> Any:
        """Effective number of draws that inform the measure, see `effective_draws`."""
        return self._shaped(effective_draws(self.answer, cells_table(self.cells).ranges))

    @property
    def posterior(self) -> Any:
        """The Dirichlet tree of labels and blocks, with design ``"adaptive"``; others have no posterior."""
        if self.tree is None:
            raise self._no_posterior()
        return self.tree.posterior

    def in_ellipsoid(self, values: ArrayLike) -> bool:
        """Whether the confidence ellipsoid of all measures holds these values, (k,) ([NH] sec. 3.3.2).

        Parameters
        ----------
        values : (k,)

        Examples
        --------
        >>> import bayes_assess as ba
        >>> pool = ba.Pool(predictions=[0, 1] * 50)
        >>> a = ba.assess(pool, ba.Metric(["precision", "recall"]), design="passive")
        >>> queries = a.ask(40)
        >>> a.tell(queries.ids, [i % 3 % 2 for i in range(40)])
        >>> bool(a.result().in_ellipsoid(a.result().estimate))
        True
        """
        point = np.atleast_1d(np.asarray(values, np.float64))
        if point.shape != (len(self.groups),):
            raise QuestionError(f"The ellipsoid is that of {len(self.groups)} measures; found {point.size} values.")
        gap = point - np.atleast_1d(self.estimate)
        found = self.answer
        if found.exact:
            return bool(np.allclose(gap, 0))
        known = np.flatnonzero(found.defined & (found.variance + found.rise + found.fall > 0))
        # What no draw has shown yet may move a measure by as much as one more draw.
        unseen = np.diag(np.square(np.maximum(found.rise, found.fall)))
        inverse = np.linalg.pinv((self.covariance + unseen)[np.ix_(known, known)], hermitian=True)
        n = np.min(np.atleast_1d(self.n_effective)[known], initial=self.n_draws)
        return bool(gap[known] @ inverse @ gap[known] <= ellipsoid_radius(n, len(known), self.level))

    def table(self) -> Table:
        """Tabulate all measures."""
        ends, value = self._ends_of_all(), np.atleast_1d(self.estimate)
        title = f"{title_of(self.question)}, {self._interval_label}s"
        columns = {
            "measure": self.groups,
            "estimate": value,
            "lower": ends[:, 0],
            "upper": ends[:, 1],
            "se": np.atleast_1d(self.standard_error),
        }
        return Table(columns, title=title, formats=dict.fromkeys(("estimate", "lower", "upper", "se"), ".4f"))

    def plot(self, *, truth: Any = None, ax: Axes | None = None) -> Axes:
        """Draw estimates with intervals.

        Parameters
        ----------
        truth : array, optional
            Exact answer to mark.
        ax : Axes, optional
        """
        ends = self._ends_of_all()
        title = f"{title_of(self.question)}: {self._progress()}"
        said = f"{self._interval_label}s"
        truth = None if truth is None else np.atleast_1d(truth)
        names, value = self.groups.tolist(), np.atleast_1d(self.estimate)
        return plots.forest(names, value, ends, truth=truth, order="given", xlabel=said, title=title, ax=ax)

    def to_arviz(self) -> Any:
        """Return draws of what design ``"adaptive"`` believes of labels; other designs of weighted draws have no model.

        Its Dirichlet tree has learned the labelled items ([NH] section 4): ``probability``, P(label | block), by block
        and label; ``theta``, the shares of the labels among items such as are asked for, which are not those of the
        pool; and ``psi``, the share of every block given the label, among these. The group ``prior`` holds the same
        before any label, ``observed_data`` the labels of every block. The estimate does not lean on them.

        Raises
        ------
        QuestionError
            If the design has no model of labels.

        Examples
        --------
        >>> import bayes_assess as ba
        >>> a = ba.assess(ba.Pool(scores=[0.1, 0.4, 0.6, 0.8]), ba.Metric("f1"), design="adaptive")
        >>> a.tell(a.ask(3).ids, [0, 1, 1])
        >>> data = a.result().to_arviz()
        >>> data["posterior"]["probability"].dims
        ('chain', 'draw', 'block', 'true_label')
        """
        from bayes_assess.results._label_tree import tree_to_arviz  # which few need

        if self.tree is None:
            raise self._no_posterior()
        source: Any = self.cells.source
        blocks = self.cells.parts[0].names
        return tree_to_arviz(self.tree, blocks, source.pool.classes, self.seed, self._attributes())

    def _no_posterior(self) -> QuestionError:
        return QuestionError(
            f"{self.question.name} is estimated from weighted draws, without a posterior that ArviZ could show; "
            "`covariance` and `interval` say how well it is known."
        )

    @property
    def _draws_labels(self) -> bool:
        """Whether labels are draws from p(y | x), of which an item may have several."""
        return self.cells.measure.stochastic

    def _of_labels(self) -> str:
        if not self._draws_labels:
            return super()._of_labels()
        return f"{plural(self.labels_used, 'label')} of {self._n_items:,} items, which may be asked again"

    def _progress(self) -> str:
        if not self._draws_labels:
            return super()._progress()
        return f"{plural(self.labels_used, 'label')} of {self._n_items:,} items"

    @property
    def _others_of_skipped(self) -> str:
        return "other items"

    @property
    def _use_of_volunteered(self) -> str:
        return "they are known since then, but stand for no other items."

    @property
    def headline(self) -> str:
        """The answer as one sentence."""
        if not 1 < len(self.groups) <= _SAID or self._is_ordered:
            return super().headline
        return self._in_one_line()

    def _answer(self) -> list[str]:
        ends = self._ends_of_all()
        kind = f"{self.level:.0%} {self.guarantee} interval"
        lines = [
            f"{name} {value:z.3f}" + (" (exact)." if self.answer.exact else f", {kind} [{low:z.3f}, {high:z.3f}].")
            for name, value, (low, high) in zip(self.groups, np.atleast_1d(self.estimate), ends, strict=True)
        ]
        if len(lines) > _LINES:
            lines = [*lines[:_LINES], f"And {len(lines) - _LINES:,} more."]
        lines += self._said_of_the_best() if self._is_ordered else []
        return lines if self.answer.exact else [*lines, self.assumption]

    def _believed(self) -> str:
        """Name the measures that the draws do not define, and where their figures come from; else nothing."""
        missing = self.groups[~self.answer.defined]
        if not len(missing):
            return ""
        named = ", ".join(missing[:3]) + (f" and {len(missing) - 3:,} more" if len(missing) > 3 else "")
        figures, intervals = ("figure is", "interval is") if len(missing) == 1 else ("figures are", "intervals are")
        possible = "the whole range of the measure" if self.labels_used else "all that is possible"
        return (
            f"No draw so far defines {named}: the {figures} what design {self.design!r} believes, starting from "
            f"{self._source_of_belief}, and the {intervals} {possible}."
        )

    @property
    def _source_of_belief(self) -> str:
        if self.cells.subject is not None:
            return "the prior of a calibration curve"
        return "scores" if np.ptp(self.prior.mean) > 0 else "equal probabilities of all labels"

    @property
    def _joint(self) -> Float[np.ndarray, "S k"]:
        return self._copula

    @cached_property
    def _copula(self) -> Float[np.ndarray, "S k"]:
        """Draws that the estimates stand for: a Gaussian copula of their intervals of all levels."""
        quantiles = interval_quantiles(self.answer, cells_table(self.cells).ranges)
        covariance = self.all_covariances
        if covariance is None:
            return joined_draws(quantiles, None, _N_JOINT, self.seed)
        error = np.sqrt(np.maximum(np.diag(covariance), 0))
        known = (error > 0) & self.answer.defined
        scale = np.where(known, error, 1.0)
        correlation = np.where(np.outer(known, known), covariance / np.outer(scale, scale), 0.0)
        np.fill_diagonal(correlation, 1.0)
        return joined_draws(quantiles, correlation, _N_JOINT, self.seed)

    def _ends_of_all(self) -> Float[np.ndarray, "k 2"]:
        return measure_interval(self.answer, cells_table(self.cells).ranges, self.level)


def _range_text(values: np.ndarray) -> str:
    """Say one number, or the least and the greatest of several."""
    least, most = (f"{end:,.0f}" if end >= 10 else f"{end:.2g}" for end in (np.min(values), np.max(values)))
    return least if least == most else f"{least} to {most}"
