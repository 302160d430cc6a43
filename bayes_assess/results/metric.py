"""Measures, such as F1: estimates and intervals, and what they lean on."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

import numpy as np

from bayes_assess._tools.shapes import Float, Int
from bayes_assess._tools.tables import Table
from bayes_assess._tools.to_arviz import ArvizData
from bayes_assess.questions import Metric
from bayes_assess.questions._event_cells import MetricCells
from bayes_assess.questions._measures_answered import cells_table
from bayes_assess.results._answer import Shares
from bayes_assess.results._in_words import in_one_line
from bayes_assess.results._order import Order, Ordered, order_of_groups
from bayes_assess.results.evidence._on_measures import Variables
from bayes_assess.results.evidence.believed import Believed
from bayes_assess.results.evidence.kinds import MeasureEvidence
from bayes_assess.results.sections.judged import Judged, JudgedMeans, JudgedRates
from bayes_assess.results.sections.measures import Measures

MeasureEvidenceT_co = TypeVar("MeasureEvidenceT_co", bound=MeasureEvidence, covariant=True)
if TYPE_CHECKING:
    import typing_extensions
    from matplotlib.axes import Axes

    MeasureSectionT_co = typing_extensions.TypeVar(
        "MeasureSectionT_co", bound=Measures, default=Measures, covariant=True
    )
else:
    MeasureSectionT_co = TypeVar("MeasureSectionT_co", covariant=True)


@dataclass(frozen=True, eq=False, repr=False)
class MetricResult(Ordered[MeasureEvidenceT_co, MeasureSectionT_co], Generic[MeasureEvidenceT_co, MeasureSectionT_co]):
    """Measures, such as F1, rates or means, from a belief that learns what the scores mean, or from weighted draws.

    Attributes
    ----------
    estimate : float, or (k,) for a list of measures
        Posterior median of the measure of this pool, or an estimate from weighted draws.
    interval : (2,) or (k, 2)
        Credible interval given the belief; where the random items contradict the belief, it holds the interval of the
        random items too. Of weighted draws, see `measure_interval`.
    standard_error : float or (k,)
        Of the posterior, or of the estimate; infinite, and a gap in tables, where no weighted draw defines the measure.
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

    question: Metric

    _of_parts: ClassVar[frozenset[str]] = Ordered._of_parts | {
        *"difference bias bias_interval random_labels judge_rate judge_mean judge_table".split(),
        *"items judged values group".split(),
    }

    @property
    def cells(self) -> MetricCells:
        """What labels are counted in."""
        return self.evidence.cells

    @property
    def item_shares(self) -> Shares | None:
        """Posterior draws of an accuracy or of rates; None of measures that are no shares of items."""
        if not (self.evidence.has_posterior and self.question.of_shares):
            return None
        return Shares(self.draws, self.labels_used / max(self.draws[0].size, 1), self.section.measured_items)

    @property
    def difference(self: MetricResult[Believed, Measures]):
        """Comparison of two of the measures by their joint posterior; see `Believed.difference`."""
        return self.evidence.difference

    @property
    def judge_rate(self: MetricResult[MeasureEvidence, JudgedRates]) -> Any:
        """Share of the items that are predicted positive: what the predictions alone say."""
        return self.evidence.shaped(self.section.judge_rate)

    @property
    def judge_mean(self: MetricResult[MeasureEvidence, JudgedMeans]) -> Any:
        """Mean over the predictions: what they alone say."""
        return self.evidence.shaped(self.section.judge_mean)

    @property
    def bias(self: MetricResult[MeasureEvidence, Judged]) -> Any:
        """How far what the predictions alone say is above the estimate."""
        return self.evidence.shaped(self.section.bias)

    @property
    def bias_interval(self: MetricResult[MeasureEvidence, Judged]) -> Float[np.ndarray, "... 2"]:
        """Interval of the bias, of the same level and guarantee as that of the mean."""
        return self.evidence.shaped(self.section.bias_interval)

    @property
    def random_labels(self: MetricResult[MeasureEvidence, Judged]) -> Any:
        """Random labels that would have given an interval as narrow."""
        return self.evidence.shaped(self.section.random_labels)

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

    @property
    def headline(self) -> str:
        """The answer as one sentence: of groups, or systems, which is the first in their order."""
        if self._order is not None and not self.evidence.warning(""):
            return self._said_of_the_best()[0]
        if not self.evidence.takes_one_line or self._order is not None:
            return super().headline
        how = "exact" if self.guarantee == "exact" else f"{self._interval_label}{'s' * (len(self.groups) > 1)}"
        return in_one_line(self.groups.tolist(), self.evidence.value, self.evidence.ends, how)

    @property
    def said_in_headline(self) -> tuple[str, ...]:
        """Sentences of the summary that the headline says: of a few measures that are known, those of each."""
        known = self.evidence
        each = zip(self.groups.tolist(), known.value.tolist(), strict=True)
        of_all = [known.in_words_exact(name, value) for name, value in each] if known.takes_one_line else []
        return (self.headline, *(of_all if known.exact and self._order is None else []))

    def table(self) -> Table:
        """Tabulate all measures."""
        return self.section.table()

    def plot(self, *, truth: Any = None, ax: Axes | None = None) -> Axes:
        """Draw estimates with intervals, those of random items alone as pale bars.

        Parameters
        ----------
        truth : array, optional
            Exact answer to mark.
        ax : Axes, optional
        """
        return self.section.forest(truth, ax)

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
        return self.evidence.to_arviz(self._variables, parameters, self._attributes())

    def _variables(self) -> Variables:
        """Return the measures as variables, with their dimensions."""
        return self.evidence.variables() if self._order is None else self._order.variables()

    def _answer(self) -> list[str]:
        on_ranks = [] if self._order is None else self._said_of_the_best()
        return [*self.evidence.lines(on_ranks), *self._if_without_order(), *self.section.lines()]

    def _if_without_order(self) -> list[str]:
        """Say where all labels are alike, so that they have no order by which a measure is defined."""
        if not (self.question.is_of_order and self.evidence.exact):
            return []
        table: Any = cells_table(self.cells)
        positive = int(self.counts[:, table.losses.positive].sum())
        if 0 < positive < self.counts.sum():
            return []
        names = [name for name in self.groups.tolist() if name == "roc_auc" or not positive]
        count = "is not defined, and counts as 0" if len(names) == 1 else "are not defined, and count as 0"
        alike = f"{'Every' if positive else 'No'} item is positive"
        return [f"{alike}: {' and '.join(names)} {count}."] * (len(names) > 0)

    @cached_property
    def _order(self) -> Order | None:
        return order_of_groups(self.question, self.evidence)


RateResult = MetricResult[MeasureEvidenceT_co, JudgedRates]
"""The rate of positive labels of a pool, or of its groups; to `isinstance`, any `MetricResult` is one."""
MeanResult = MetricResult[MeasureEvidenceT_co, JudgedMeans]
"""The mean rating of a pool, or of its groups; to `isinstance`, any `MetricResult` is one."""
ProxyResult = MetricResult[MeasureEvidenceT_co, Judged]
"""A mean of which predictions are a proxy; to `isinstance`, any `MetricResult` is one."""
