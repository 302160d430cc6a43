"""Estimates of measures from weighted draws, and the words for them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from bayes_assess._tools.shapes import ArrayLike, Bool, Float
from bayes_assess._tools.text import plural
from bayes_assess._tools.to_arviz import ArvizData
from bayes_assess.designs.adaptive import LabelTree
from bayes_assess.errors import QuestionError
from bayes_assess.estimators.finite_pool import extended
from bayes_assess.estimators.intervals import effective_draws, ellipsoid_radius, measure_interval
from bayes_assess.estimators.joint_draws import joined_draws
from bayes_assess.estimators.posterior_measure import PosteriorMeasure, posterior_measure
from bayes_assess.estimators.ratio_interval import Ranges
from bayes_assess.estimators.verdicts import interval_quantiles
from bayes_assess.estimators.weighted import Estimate
from bayes_assess.models.dirichlet_tree import DirichletTree
from bayes_assess.questions import MultiLabelMetric
from bayes_assess.questions._measures_answered import cells_table
from bayes_assess.questions.multilabel_metric import MultiLabelCells
from bayes_assess.results.evidence._assuming import Assuming
from bayes_assess.results.evidence._on_measures import ROUNDING, Variables

_N_JOINT = 4000  # draws that estimates stand for


@dataclass(frozen=True, eq=False, repr=False)
class Weighted(Assuming):
    """Evidence on measures from weighted draws.

    Attributes
    ----------
    answer : Estimate
    all_covariances : (k, k), optional
        Of the estimates; None where they are too many to keep.
    tree : LabelTree, optional
        What design ``"adaptive"`` believes of labels.
    """

    answer: Estimate = field(kw_only=True)
    all_covariances: Float[np.ndarray, "k k"] | None = field(kw_only=True)
    tree: LabelTree | None = field(kw_only=True, default=None)

    second: ClassVar[None] = None  # there are no intervals that lean on less
    sure_second: ClassVar[None] = None
    trusted: ClassVar[str] = "scores"
    has_posterior: ClassVar[bool] = False
    has_joint: ClassVar[bool] = True  # draws, by which to rank

    @property
    def exact(self) -> bool:
        """Whether every item is labelled that can matter."""
        return bool(self.answer.exact)

    @property
    def certain(self) -> Bool[np.ndarray, " k"]:
        """Measures that no label which is missing can change, (k,): labels leave one value possible."""
        possible = getattr(self.answer, "possible", None)  # not known of label sets
        return super().certain if possible is None else self.exact | (np.ptp(possible, axis=-1) <= ROUNDING)

    @property
    def guarantee(self) -> str:
        """What the interval promises."""
        if self.certain.all():
            return "exact"
        return "asymptotic" if np.any(self.answer.defined) else "credible"

    guarantee_of_functions = guarantee

    def tells_nothing(self, probability: float) -> bool:
        """Whether no draw defines a measure, and known labels settle no verdict, as they do if it is certain.

        Intervals are all that is possible then, and say nothing of what is more probable within.
        """
        return self.guarantee == "credible" and not (self.labels_used and probability > 1 - ROUNDING)

    @property
    def assumption(self) -> str:
        """What estimates and intervals lean on."""
        if self.answer.exact:
            return "Nothing is assumed: every item is labelled that can matter."
        if self.certain.all():
            return "Nothing is assumed: no label that is missing can change the answer."
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
        n = _range_text(self.n_effective)
        unseen = f"errors of a kind that no draw has shown yet to be spread alike over the {where}"
        if self._of_grades:
            unseen = "no label that no draw has shown yet to be farther off than those that were drawn"
        drawn = f"Intervals lean on {n} effective draw{'s' * (n != '1')}, and take {unseen}."
        if self._draws_labels:
            drawn += " Labels of an item are taken for independent draws: another person might give another one."
        return drawn

    @property
    def _of_grades(self) -> bool:
        return not isinstance(self.cells, MultiLabelCells) and cells_table(self.cells).graded

    def _of_random_size(self) -> str:
        sample = self.answer.sample
        biases = zip(self.groups, [] if sample is None else sample.biases(), strict=True)
        named = ", ".join(f"{name} by about {bias:+z.3f}" for name, bias in biases)
        return f"Batches were of random size, and with so many labels ratios of their sums are biased: {named}."

    @property
    def value(self) -> Float[np.ndarray, " k"]:
        """Estimated measures, within their ranges."""
        return np.asarray(self.answer.value)

    @property
    def ends(self) -> Float[np.ndarray, "k 2"]:
        """Asymptotic intervals."""
        return measure_interval(self.answer, self._ranges, self.level)

    @property
    def standard_error(self) -> Float[np.ndarray, " k"]:
        """Standard errors: infinite where no draw defines the measure, 0 where draws show no spread or all is known."""
        error = np.where(self.answer.defined, np.sqrt(np.maximum(self.answer.variance, 0)), np.inf)
        return np.where(self.certain, 0, error)

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
    def n_effective(self) -> Float[np.ndarray, " k"]:
        """Effective number of draws that inform the measure, see `effective_draws`."""
        return effective_draws(self.answer, self._ranges)

    @property
    def posterior(self) -> DirichletTree:
        """The Dirichlet tree of labels and blocks, with design ``"adaptive"``; others have no posterior."""
        if self.tree is None:
            raise self._no_posterior()
        return self.tree.posterior

    def in_ellipsoid(
        self,
        values: ArrayLike,
        centre: Float[np.ndarray, " k"] | None = None,
        covariance: Float[np.ndarray, "k k"] | None = None,
    ) -> bool:
        """Whether the confidence ellipsoid of all measures holds these values, (k,) ([NH] sec. 3.3.2).

        Parameters
        ----------
        values : (k,)
        centre, covariance : (k,) and (k, k), optional
            What it is the ellipsoid of; the estimates by default, and what one more draw could move them by.

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
        gap = point - (self.value if centre is None else centre)
        answer = self.answer
        if answer.exact:
            return bool(np.allclose(gap, 0))
        known = np.flatnonzero(answer.defined & (answer.variance + answer.rise + answer.fall > 0))
        if covariance is None:  # what no draw has shown yet may move a measure by as much as one more draw
            covariance = self.covariance + np.diag(np.square(np.maximum(answer.rise, answer.fall)))
        inverse = np.linalg.pinv(covariance[np.ix_(known, known)], hermitian=True)
        n = np.min(self.n_effective[known], initial=self.n_draws)
        return bool(gap[known] @ inverse @ gap[known] <= ellipsoid_radius(n, len(known), self.level))

    @cached_property
    def joint(self) -> Float[np.ndarray, "S k"]:
        """Draws that the estimates stand for: a Gaussian copula of their intervals of all levels."""
        quantiles = interval_quantiles(self.answer, self._ranges)
        covariance = self.all_covariances
        if covariance is None:
            return joined_draws(quantiles, None, _N_JOINT, self.seed)
        error = np.sqrt(np.maximum(np.diag(covariance), 0))
        known = (error > 0) & self.answer.defined
        scale = np.where(known, error, 1.0)
        correlation = np.where(np.outer(known, known), covariance / np.outer(scale, scale), 0.0)
        np.fill_diagonal(correlation, 1.0)
        return joined_draws(quantiles, correlation, _N_JOINT, self.seed)

    @property
    def quantiles_of_first(self) -> Float[np.ndarray, " Q"]:
        """Ends of the intervals of the first measure, of all levels."""
        return interval_quantiles(self.answer, self._ranges)[0]

    def summarised(self, draws: Float[np.ndarray, "S n"]) -> PosteriorMeasure:
        """Summarise draws of something that were made of `joint`."""
        return posterior_measure(draws, self.exact)

    def function(
        self, of: Callable[[Float[np.ndarray, "*batch k"]], Float[np.ndarray, "*batch n"]], level: float | None = None
    ) -> tuple[Float[np.ndarray, " n"], Float[np.ndarray, "n 2"]]:
        """Estimate a function of the measures: its value at the estimates, with quantiles of joint draws."""
        value = of(self.value)
        if self.exact:
            return value, np.stack([value, value], axis=-1)
        ends = np.moveaxis(np.quantile(of(self.joint), self._tails(level), axis=0), 0, -1)
        return value, extended(ends, value)

    def to_arviz(
        self, measures: Callable[[], Variables], parameters: bool, attributes: Mapping[str, object]
    ) -> ArvizData:
        """Return draws of what design ``"adaptive"`` believes of labels; other designs have no model."""
        from bayes_assess.results._label_tree import tree_to_arviz  # which few need

        if self.tree is None:
            raise self._no_posterior()
        source: Any = self.cells.source
        return tree_to_arviz(self.tree, self.cells.parts[0].names, source.pool.classes, self.seed, attributes)

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
        return "known since then, but standing for no other item"

    @property
    def kind_of_intervals(self) -> str:
        """What intervals are, within a sentence."""
        return f"{self.level:.0%} {self.guarantee} intervals"

    def _believed(self) -> str:
        """Name the measures that the draws do not define, and where their figures come from; else nothing."""
        open_ = ~(np.asarray(self.answer.defined) | self.certain)
        missing = self.groups[open_]
        if not len(missing):
            return ""
        named = ", ".join(missing[:3]) + (f" and {len(missing) - 3:,} more" if len(missing) > 3 else "")
        possible = "the whole range of the measure" if self._ranges_are_open(open_) else "all that is possible"
        figures, intervals = ("figure is", "interval is") if len(missing) == 1 else ("figures are", "intervals are")
        return (
            f"No draw so far defines {named}: the {figures} what design {self.design!r} believes, starting from "
            f"{self._source_of_belief}, and the {intervals} {possible}."
        )

    def _ranges_are_open(self, outputs: Bool[np.ndarray, " k"]) -> bool:
        """Whether there are labels, and they leave all of the ranges of these measures possible."""
        possible = getattr(self.answer, "possible", None)
        if possible is None:
            return self.labels_used > 0
        open_ = np.isclose(possible, self._ranges, rtol=0, atol=ROUNDING)  # which may be infinite
        return self.labels_used > 0 and bool(open_[outputs].all())

    @property
    def _source_of_belief(self) -> str:
        if self.cells.subject is not None:
            return "the prior of a calibration curve"
        return "scores" if np.ptp(self.prior.mean) > 0 else "equal probabilities of all labels"

    @property
    def _ranges(self) -> Ranges:
        return cells_table(self.cells).ranges


@dataclass(frozen=True, eq=False, repr=False)
class WeightedLabelSets(Weighted):
    """Evidence on measures of items that may have several labels each, from weighted draws."""

    question: MultiLabelMetric
    cells: MultiLabelCells
    answer: Any = field(kw_only=True)  # an ItemsEstimate

    @property
    def assumption(self) -> str:
        """What estimates and intervals lean on."""
        if self.exact or not self.answer.unknown.any():
            return super().assumption
        return (
            f"{super().assumption} Classes that no draw has shown enter as {self._source_of_belief} make one expect, "
            "and the intervals hold all that they could be."
        )

    @property
    def ends(self) -> Float[np.ndarray, "k 2"]:
        """Intervals."""
        return self.answer.interval(self.question.spec.ranges, self.level)

    @property
    def _source_of_belief(self) -> str:
        return "scores" if self.cells.lam > 0 else "the shares of the predicted classes"


def _range_text(values: np.ndarray) -> str:
    """Say one number, or the least and the greatest of several."""
    least, most = (f"{end:,.0f}" if end >= 10 else f"{end:.2g}" for end in (np.min(values), np.max(values)))
    return least if least == most else f"{least} to {most}"
