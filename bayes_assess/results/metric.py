"""Measures, such as F1: estimates and intervals, and what they lean on."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

import numpy as np

from bayes_assess._tools.shapes import Array, Float, Int
from bayes_assess._tools.tables import Table
from bayes_assess._tools.to_arviz import ArvizData
from bayes_assess.designs._belief_state import Posterior
from bayes_assess.results import plots
from bayes_assess.results._base import Shares
from bayes_assess.results._in_words import title_of
from bayes_assess.results._ordered import MeasureEvidenceT_co, Ordered
from bayes_assess.results.evidence._belief_draws import Variables
from bayes_assess.results.evidence.believed import Believed
from bayes_assess.results.evidence.of_measures import MeasureEvidence
from bayes_assess.results.evidence.weighted import Weighted
from bayes_assess.results.sections.judged import Judged, JudgedMeans, JudgedRates
from bayes_assess.results.sections.measures import Measures

if TYPE_CHECKING:
    import typing_extensions
    from matplotlib.axes import Axes

    MeasureSectionT_co = typing_extensions.TypeVar(
        "MeasureSectionT_co", bound=Measures, default=Measures, covariant=True
    )
else:
    MeasureSectionT_co = TypeVar("MeasureSectionT_co", covariant=True)


class MeasuresResult(Ordered[MeasureEvidenceT_co]):
    """Measures and the evidence on them, whatever is asked of them.

    Type checkers know by the class of the evidence which of the attributes there are; those that are not there raise
    AttributeError.
    """

    _of_parts: ClassVar[frozenset[str]] = frozenset(
        {
            *"found credible_interval design_interval contradicted band sensitivity".split(),
            *"covariance n_effective in_ellipsoid".split(),
        }
    )

    @property
    def assumption(self) -> str:
        """What estimates and intervals lean on."""
        return self.evidence.assumption

    @cached_property
    def estimate(self) -> Any:
        """Estimated measures: posterior medians, or estimates from weighted draws, within their ranges."""
        return self._shaped(self.evidence.value)

    @cached_property
    def interval(self) -> Float[np.ndarray, "... 2"]:
        """Intervals; credible ones are wider where random items contradict them."""
        return self._shaped(self._ends_of_all())

    @property
    def standard_error(self) -> Any:
        """Posterior standard deviations, or standard errors."""
        return self._shaped(self.evidence.standard_error)

    @property
    def posterior(self) -> Any:
        """Draws of the rate of the event in every cell, (S, K); with design ``"adaptive"``, the tree of labels."""
        return self.evidence.posterior

    @cached_property
    def draws(self) -> Float[np.ndarray, "S k"]:
        """Posterior draws of the measures."""
        if self.evidence.has_posterior:
            return self.evidence.joint
        return self.question.draws(self.cells, self.prior, self.counts, self.seed, self.n_draws)  # which says why not

    @property
    def item_shares(self) -> Shares | None:
        """Posterior draws of an accuracy or of rates; None of measures that are no shares of items."""
        if not (self.evidence.has_posterior and self.question.of_shares):
            return None
        return Shares(self.draws, self.labels_used / max(self.draws[0].size, 1), self._measured_items)

    @property
    def found(self: MeasuresResult[Believed]) -> Posterior:
        """Draws of the belief's own parameters, and what the labels were."""
        return self.evidence.found

    @property
    def credible_interval(self: MeasuresResult[Believed]) -> Float[np.ndarray, "... 2"]:
        """Intervals given the belief."""
        return self._shaped(self.evidence.credible_interval)

    @property
    def design_interval(self: MeasuresResult[Believed]) -> Float[np.ndarray, "... 2"]:
        """Intervals from random items alone; of numbers with bounds, such as hold at any time."""
        ends = self.evidence.design_interval
        return ends if ends is None else self._shaped(ends)

    @property
    def contradicted(self: MeasuresResult[Believed]) -> Any:
        """Whether credible interval and design interval have no value in common."""
        return self._shaped(self.evidence.contradicted)

    @property
    def band(self: MeasuresResult[Believed]):
        """Intervals that hold all measures at once; see `Believed.band`."""
        return self.evidence.band

    @property
    def sensitivity(self: MeasuresResult[Believed]):
        """What the answer would be if positives hid among items of low score; see `Believed.sensitivity`."""
        return self.evidence.sensitivity

    @property
    def covariance(self: MeasuresResult[Weighted]) -> Float[np.ndarray, "k k"]:
        """Covariance of the estimates ([NH] sec. 3.3.2)."""
        return self.evidence.covariance

    @property
    def n_effective(self: MeasuresResult[Weighted]) -> Any:
        """Effective number of draws that inform the measure, see `effective_draws`."""
        return self._shaped(self.evidence.n_effective)

    @property
    def in_ellipsoid(self: MeasuresResult[Weighted]):
        """Whether the confidence ellipsoid of all measures holds some values; see `Weighted.in_ellipsoid`."""
        return self.evidence.in_ellipsoid

    def table(self) -> Table:
        """Tabulate all measures."""
        ends = self._ends_of_all()
        columns = {
            "measure": self.groups,
            "estimate": np.atleast_1d(self.estimate),
            "lower": ends[:, 0],
            "upper": ends[:, 1],
            **self.evidence.columns(),
            **self._more_columns(),
        }
        title = f"{title_of(self.question)}, {self._interval_label}s"
        numbers = [name for name, values in columns.items() if np.asarray(values).dtype.kind == "f"]
        return Table(columns, title=title, formats=dict.fromkeys(numbers, ".4f"))

    def to_arviz(self, *, parameters: bool = False) -> ArvizData:
        """Return posterior draws of every measure, by its name, as an ArviZ object.

        The draws are independent: diagnostics of chains, such as R-hat, have nothing to find. ``az.summary(data,
        kind="stats")`` leaves them out.

        Of weighted draws, design ``"adaptive"`` alone has a model, of labels, on which the estimate does not lean. Its
        Dirichlet tree has learned the labelled items ([NH] section 4): ``probability``, P(label | block), by block and
        label; ``theta``, the shares of the labels among items such as are asked for, which are not those of the pool;
        and ``psi``, the share of every block given the label, among these. The group ``prior`` holds the same before
        any label, ``observed_data`` the labels of every block.

        Parameters
        ----------
        parameters : bool
            Whether to add those of a belief's model: `rate`, the rate of the event among items that are alike, and
            `strength`; the first is called `cell_rate` where the measure itself is a `rate`.

        Raises
        ------
        QuestionError
            If the design has no model of labels.

        Examples
        --------
        >>> import bayes_assess as ba
        >>> a = ba.assess(ba.Pool(scores=[0.1, 0.4, 0.6, 0.8]), ba.Metric("f1"))
        >>> a.tell(a.ask(3).ids, [0, 1, 1])
        >>> list(a.result().to_arviz()["posterior"].data_vars)
        ['f1']
        >>> a = ba.assess(ba.Pool(scores=[0.1, 0.4, 0.6, 0.8]), ba.Metric("f1"), design="adaptive")
        >>> a.tell(a.ask(3).ids, [0, 1, 1])
        >>> a.result().to_arviz()["posterior"]["probability"].dims
        ('chain', 'draw', 'block', 'true_label')
        """
        return self.evidence.to_arviz(self._for_arviz, parameters, self._attributes())

    def _for_arviz(self) -> Variables:
        """Return the measures as variables, with their dimensions."""
        draws = self.draws
        if self._is_ordered:
            by, names = self._ordered_by, self.ordered_names
            by = f"{by}_group" if by in ("chain", "draw", "cell") else by  # dimensions of their own
            return Variables({self._measure_name: draws}, {self._measure_name: [by]}, {by: names})
        return Variables(dict(zip(self.groups.tolist(), draws.T, strict=True)), {}, {})

    @property
    def headline(self) -> str:
        """The answer as one sentence."""
        one_line = self.evidence.takes_one_line and not self._is_ordered
        return self._in_one_line() if one_line else super().headline

    def _answer(self) -> list[str]:
        return self.evidence.lines(self._said_of_the_best() if self._is_ordered else [])

    def _more_columns(self) -> dict[str, Array]:
        """Columns that only some questions have."""
        return {}

    @property
    def _measured_items(self) -> Int[np.ndarray, " G"]:
        """Items of every group that is measured, or of the pool."""
        return np.asarray(self.cells.n_items)

    @property
    def _trusted(self) -> str:
        return self.evidence.trusted


@dataclass(frozen=True, eq=False, repr=False)
class MetricResult(MeasuresResult[MeasureEvidenceT_co], Generic[MeasureEvidenceT_co, MeasureSectionT_co]):
    """Measures, such as F1, rates or means, from a belief that learns what the scores mean, or from weighted draws.

    Attributes
    ----------
    estimate : float, or (k,) for a list of measures
        Posterior median of the measure of this pool, or an estimate from weighted draws.
    interval : (2,) or (k, 2)
        Credible interval given the belief; where the random items contradict the belief, it holds the interval of the
        random items too. Of weighted draws, see `measure_interval`.
    standard_error : float or (k,)
    guarantee : str
        ``"exact"`` once all items are labelled that can matter. Before that, of a belief ``"credible"``, or
        ``"anytime"`` where the random items contradict it; of weighted draws ``"asymptotic"``, or ``"credible"`` while
        the draws define no measure, so that every figure is what the design believes.
    assumption : str
        What estimates and intervals lean on.
    evidence : Believed or Weighted
        How labels are counted, which decides what else there is.
    credible_interval : (2,) or (k, 2)
        Given the belief, whatever the random items say. This and what follows up to `draws` is of beliefs.
    design_interval : (2,) or (k, 2)
        From the random items alone, valid at any time whatever the scores are worth; the range of the measure where
        that is no ratio of sums.
    contradicted : bool, or (k,) booleans
        Whether the two have no value in common.
    draws : (4000, k)
        Posterior draws of the measures.
    covariance : (k, k)
        Of the estimates. This and what follows is of weighted draws.
    n_draws : int
        Draws, repeated ones included.
    n_effective : float or (k,)
        Effective number of draws that inform the measure.
    section : Measures, JudgedRates or JudgedMeans
        What the question adds. This and what follows is of rates and means, see `Judged`.
    judge_rate, judge_mean : float, or (G,) for groups
        Share of the items that are predicted positive, or mean over the predictions: what the predictions alone say.
    bias : float or (G,)
        How far that is above the estimate.
    bias_interval : (2,) or (G, 2)
    random_labels : int or (G,)
        Labels of random items, of every group, that would have given an interval as narrow.

    Examples
    --------
    >>> import bayes_assess as ba
    >>> pool = ba.Pool(predictions=[1.0, 2.0, 4.0], bounds=(-float("inf"), float("inf")))
    >>> a = ba.assess(pool, ba.Metric(["mae", "mse"]))
    >>> a.tell([0, 1, 2], [1.0, 2.0, 7.0])
    >>> a.result().estimate.tolist(), a.result().guarantee
    ([1.0, 3.0], 'exact')
    >>> pool = ba.Pool(scores=[[0.9, 0.6], [0.2, 0.1]], classes=["cat", "dog"], multilabel=True)
    >>> a = ba.assess(pool, ba.Metric("hamming_loss"))
    >>> a.tell([0, 1], ["cat;dog", "-"])
    >>> float(a.result().estimate), a.result().guarantee
    (0.0, 'exact')
    """

    section: MeasureSectionT_co

    _of_parts: ClassVar[frozenset[str]] = MeasuresResult._of_parts | {
        *"difference bias bias_interval random_labels judge_rate judge_mean judge_table".split(),
        *"items judged values group".split(),
    }

    @property
    def difference(self: MetricResult[Believed, Measures]):
        """Comparison of two of the measures by their joint posterior; see `Believed.difference`."""
        return self.evidence.difference

    @property
    def judge_rate(self: MetricResult[MeasureEvidence, JudgedRates]) -> Any:
        """Share of the items that are predicted positive: what the predictions alone say."""
        return self._shaped(self.section.judge_rate)

    @property
    def judge_mean(self: MetricResult[MeasureEvidence, JudgedMeans]) -> Any:
        """Mean over the predictions: what they alone say."""
        return self._shaped(self.section.judge_mean)

    @property
    def bias(self: MetricResult[MeasureEvidence, Judged]) -> Any:
        """How far what the predictions alone say is above the estimate."""
        return self._shaped(self.section.bias)

    @property
    def bias_interval(self: MetricResult[MeasureEvidence, Judged]) -> Float[np.ndarray, "... 2"]:
        """Interval of the bias, of the same level and guarantee as that of the mean."""
        return self._shaped(self.section.bias_interval)

    @property
    def random_labels(self: MetricResult[MeasureEvidence, Judged]) -> Any:
        """Random labels that would have given an interval as narrow."""
        return self._shaped(self.section.random_labels)

    @property
    def judge_table(self: MetricResult[MeasureEvidence, Judged]):
        """Table of what the predictions alone say; see `Judged.judge_table`."""
        return self.section.judge_table

    @property
    def items(self: MetricResult[MeasureEvidence, Judged]) -> Int[np.ndarray, " G"]:
        """Items of every group, or of the pool, (G,)."""
        return self.section.items

    @property
    def judged(self: MetricResult[MeasureEvidence, Judged]) -> np.ndarray:
        """Sums over the predictions, (G,)."""
        return self.section.judged

    @property
    def values(self: MetricResult[MeasureEvidence, JudgedMeans]) -> Float[np.ndarray, " C"]:
        """Number of every class, (C,)."""
        return self.section.values

    @property
    def group(self: MetricResult[MeasureEvidence, JudgedMeans]) -> Int[np.ndarray, " M"]:
        """Group of every item, (M,)."""
        return self.section.group

    def plot(self, *, truth: Any = None, ax: Axes | None = None) -> Axes:
        """Draw estimates with intervals, those of random items alone as pale bars.

        Parameters
        ----------
        truth : array, optional
            Exact answer to mark.
        ax : Axes, optional
        """
        return plots.forest(
            self.groups.tolist(),
            np.atleast_1d(self.estimate),
            self._ends_of_all(),
            prior=self.evidence.second,
            truth=None if truth is None else np.atleast_1d(truth),
            order="given",
            xlabel=f"{self._interval_label}s",
            title=f"{title_of(self.question)}: {self._progress()}",
            prior_label=f"without trusting the {self._trusted}",
            ax=ax,
        )

    def _more_columns(self) -> dict[str, Array]:
        return self.section.columns()

    def _answer(self) -> list[str]:
        return [*super()._answer(), *self.section.lines()]

    @property
    def _measured_items(self) -> Int[np.ndarray, " G"]:
        return self.section.measured_items


RateResult = MetricResult[MeasureEvidenceT_co, JudgedRates]
"""The rate of positive labels of a pool, or of its groups; to `isinstance`, any `MetricResult` is one."""
MeanResult = MetricResult[MeasureEvidenceT_co, JudgedMeans]
"""The mean rating of a pool, or of its groups; to `isinstance`, any `MetricResult` is one."""
ProxyResult = MetricResult[MeasureEvidenceT_co, Judged]
"""A mean of which predictions are a proxy; to `isinstance`, any `MetricResult` is one."""
