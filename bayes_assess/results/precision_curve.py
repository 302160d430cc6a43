"""The precision of a ranked list at every rank, with a band, and where to cut it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

import numpy as np

from bayes_assess._tools.arrays import is_number, show
from bayes_assess._tools.levels import checked_level
from bayes_assess._tools.shapes import ArrayLike, Float, Int
from bayes_assess._tools.tables import Table
from bayes_assess._tools.text import Rounded
from bayes_assess._tools.to_arviz import ArvizData
from bayes_assess.designs.ranked import Band, RankedDesign, SamplingPlan
from bayes_assess.errors import QuestionError
from bayes_assess.estimators.precision_band import RateBand
from bayes_assess.estimators.ranked_growth import growth
from bayes_assess.estimators.ranked_labels import RankedLabels
from bayes_assess.pool.ranked import RankedList
from bayes_assess.questions import PrecisionCurve
from bayes_assess.results import plots
from bayes_assess.results._base import Result
from bayes_assess.results.evidence.believed import Believed
from bayes_assess.results.evidence.ranked import RankSample
from bayes_assess.results.sections.believed_curve import BelievedCurve
from bayes_assess.results.sections.ranked_curve import Bounded, growing_ranks
from bayes_assess.results.sections.sampled_curve import SampledCurve

if TYPE_CHECKING:
    import typing_extensions
    import xarray
    from matplotlib.axes import Axes

    RankEvidenceT_co = typing_extensions.TypeVar(
        "RankEvidenceT_co", bound=RankSample | Believed, default=RankSample, covariant=True
    )
    CurveT_co = typing_extensions.TypeVar(
        "CurveT_co", bound=SampledCurve | BelievedCurve, default=SampledCurve, covariant=True
    )
else:
    RankEvidenceT_co, CurveT_co = (TypeVar(name, covariant=True) for name in ("R_co", "S_co"))

_ROWS = 13  # of a table


@dataclass(frozen=True, eq=False, repr=False)
class PrecisionCurveResult(Result[RankEvidenceT_co, CurveT_co], Generic[RankEvidenceT_co, CurveT_co]):
    """The precision curve of a ranked list, from random items of strata of ranks, or from a belief.

    Precision at a rank is the share of positives among the items down to it, recall the share of all positives that
    are among them.

    Attributes
    ----------
    guarantee : str
        ``"exact"`` once all is labelled. Before that, of random items ``"asymptotic"``: the band holds the whole curve
        with probability `level`, whatever the number of labels, at one look, as `promise` says; of windows it leaves
        chance out. Of a belief ``"credible"``, at every rank by itself, or ``"anytime"`` where random items contradict
        the belief somewhere: the band holds what these tell, too.
    contradicted : (int, int) or None, or (k,) booleans
        Ranks whose precisions contradict the monotonicity that the question assumes: the band is then that of curves
        of any shape. Of a belief, whether random items contradict it, of precisions and recalls.
    estimated, bounding : Band
        Of the estimates, taken for exact, and of their confidence intervals. This and what follows up to `factor` is of
        random items.
    ranked : RankedList
    labels : RankedLabels
    plan : SamplingPlan
    done : bool
        Whether the design needs no more labels, so that the promised factor is kept.
    queried : (k,) integers
        Ranks whose precision was estimated from labels.
    factor : float
        Largest ratio of the band's ends to the estimate over the ranks beyond the head, infinite where it is 0.
    first_labels : (F,) integers
        Labels of the first items, best first: 1, 0, or -1 where there is none; of a belief.
    n_skipped : int
        Items set aside, which nobody could label.

    Examples
    --------
    >>> import bayes_assess as ba
    >>> a = ba.assess(ba.RankedList(100), ba.PrecisionCurve(p_min=0.5))
    >>> queries = a.ask(100)
    >>> a.tell(queries.ids, (queries.ranks <= 80).astype(int))
    >>> a.result().at(50), a.result().cut(0.8)
    (Bounded(estimate=1.0, lower=1.0, upper=1.0), 100)
    """

    question: PrecisionCurve

    _of_parts: ClassVar[frozenset[str]] = Result._of_parts | {
        *"prior cells counts groups posterior seed skipped".split(),
        *"difference first_labels ranked labels plan estimated bounding done queried factor".split(),
    }

    @staticmethod
    def of(
        question: PrecisionCurve,
        design: RankedDesign,
        ranked: RankedList,
        labels: RankedLabels,
        plan: SamplingPlan,
        level: float,
        n_skipped: int = 0,
    ) -> PrecisionCurveResult:
        """Answer from the labels that a plan has led to."""
        level = checked_level(level, "a band")
        estimated = design.band(question.promise, labels, plan, None)
        bounding = design.band(question.promise, labels, plan, 1 - level)
        against = None
        if isinstance(bounding, RateBand) and bounding.slack < labels.n_items:
            leeway = bounding.slack, bounding.envelope.monotone_from
            against = bounding.contradiction() or growth(labels, plan.edges, *leeway, 1 - level)
            if against is not None:
                bounding = replace(bounding.envelope, slack=labels.n_items)
        evidence = RankSample(
            question=question,
            design=design.name,
            level=level,
            ranked=ranked,
            labels=labels,
            plan=plan,
            estimated=estimated,
            bounding=bounding,
            contradicted=against,
            aside=n_skipped,
            notes=tuple(_notes(question, ranked)),
        )
        return PrecisionCurveResult(question, evidence, SampledCurve(question, evidence))

    @property
    def n_items(self) -> int:
        """Length of the list, N."""
        return self.section.n_items

    @property
    def guarantee(self) -> str:
        """What the band promises, in a word."""
        return self.section.guarantee

    @property
    def promise(self) -> str:
        """What the band promises, in a sentence."""
        return self.section.promise

    @property
    def assumption(self) -> str:
        """What the band leans on."""
        return self.section.assumption

    @property
    def contradicted(self) -> Any:
        """Ranks whose precisions contradict that it does not grow; of a belief, whether random items contradict it."""
        return self.section.contradicted

    @property
    def ranked(self: PrecisionCurveResult[RankSample, SampledCurve]) -> RankedList:
        """The list."""
        return self.evidence.ranked

    @property
    def labels(self: PrecisionCurveResult[RankSample, SampledCurve]) -> RankedLabels:
        """Labels by rank."""
        return self.evidence.labels

    @property
    def plan(self: PrecisionCurveResult[RankSample, SampledCurve]) -> SamplingPlan:
        """What the design wants to be labelled."""
        return self.evidence.plan

    @property
    def estimated(self: PrecisionCurveResult[RankSample, SampledCurve]) -> Band:
        """The band of the estimates, taken for exact."""
        return self.evidence.estimated

    @property
    def bounding(self: PrecisionCurveResult[RankSample, SampledCurve]) -> Band:
        """The band of their confidence intervals."""
        return self.evidence.bounding

    @property
    def done(self: PrecisionCurveResult[RankSample, SampledCurve]) -> bool:
        """Whether the design needs no more labels, so that the promised factor is kept."""
        return self.evidence.done

    @property
    def queried(self: PrecisionCurveResult[RankSample, SampledCurve]) -> Int[np.ndarray, " k"]:
        """Ranks whose precision was estimated from labels."""
        return self.section.queried

    @property
    def factor(self: PrecisionCurveResult[RankSample, SampledCurve]) -> float:
        """Largest ratio of the band's ends to the estimate over the ranks beyond the head, infinite where it is 0."""
        return self.section.factor

    @property
    def first_labels(self: PrecisionCurveResult[Believed, BelievedCurve]) -> Int[np.ndarray, " F"]:
        """Labels of the first items, best first: 1, 0, or -1 where there is none."""
        return self.section.first_labels

    @property
    def difference(self: PrecisionCurveResult[Believed, BelievedCurve]):
        """Comparison of two of the precisions and recalls by their joint posterior; see `Believed.difference`."""
        return self.evidence.difference

    @cached_property
    def average_precision(self) -> Bounded:
        """Mean over all positives of the precision at their ranks."""
        return self.section.average_precision()

    @property
    def ranks(self) -> Int[np.ndarray, " T"]:
        """Ranks of `estimate` and `interval`, which grow geometrically from 1 to N."""
        return self.section.ranks

    @property
    def shown_ranks(self) -> Int[np.ndarray, " n"]:
        """Ranks of a figure."""
        return self.section.shown_ranks

    def at(self, rank: ArrayLike) -> Bounded:
        """Return the precision of the first `rank` items.

        Parameters
        ----------
        rank : int, or (n,) integers
            1..N.

        Returns
        -------
        Bounded
            (estimate, lower, upper): numbers, or arrays (n,).

        Raises
        ------
        QuestionError
            If a rank lies outside 1..N.
        """
        return self._at(self.section.precision, rank)

    def recall(self, rank: ArrayLike) -> Bounded:
        """Return the share of all positives that are among the first `rank` items; see `at`."""
        return self._at(self.section.recall, rank)

    def f1(self, rank: ArrayLike) -> Bounded:
        """Return the F1 score of calling the first `rank` items positive and no others; see `at`."""
        return self._at(self.section.f1, rank)

    def cut(self, precision: float) -> int:
        """Return the largest rank whose precision is at least that by the lower band, 0 if there is none.

        Parameters
        ----------
        precision : float in (0, 1]
            That the items down to the cut should have.

        Raises
        ------
        QuestionError
            If the precision is not in (0, 1].
        """
        if not (is_number(precision) and 0 < precision <= 1):
            raise QuestionError(f"A precision to cut at lies in (0, 1], such as 0.8; found {show(precision)}.")
        turns = self.section.turns()
        good = np.flatnonzero(self.section.precision(turns)[:, 1] >= precision)
        if not len(good):
            return 0
        below = int(turns[good[-1]])
        if good[-1] == len(turns) - 1:
            return below
        beyond = int(turns[good[-1] + 1])  # between the two the band falls below once
        while beyond - below > 1:
            middle = (below + beyond) // 2
            if self.section.precision(np.array([middle]))[0, 1] >= precision:
                below = middle
            else:
                beyond = middle
        return below

    def table(self) -> Table:
        """Tabulate precision and recall at ranks that grow geometrically; `curve` takes any ranks."""
        return self.curve(growing_ranks(self.n_items, _ROWS))

    def curve(self, ranks: ArrayLike) -> Table:
        """Tabulate precision, recall and F1 at these ranks."""
        ranks = self._checked(ranks)
        columns: dict[str, ArrayLike] = {"rank": ranks}
        for name, bands in self._bands(ranks).items():
            columns |= dict(zip((name, f"{name}_lower", f"{name}_upper"), bands.T, strict=True))
        title = f"{self.question.name}, {self.level:.0%} band"
        return Table(columns, title=title, formats=dict.fromkeys(list(columns)[1:], Rounded(".3f")) | {"rank": ","})

    def to_xarray(self, ranks: ArrayLike | None = None) -> xarray.Dataset:
        """Return precision, recall and F1 with their bands as an xarray Dataset over ranks.

        Parameters
        ----------
        ranks : (n,) integers, optional
            400 that grow geometrically by default.
        """
        import xarray

        ranks = self.section.shown_ranks if ranks is None else self._checked(ranks)
        variables = {name: (("rank", "of"), bands) for name, bands in self._bands(ranks).items()}
        return xarray.Dataset(
            variables, coords={"rank": ranks, "of": ["estimate", "lower", "upper"]}, attrs={"level": self.level}
        )

    def plot(
        self,
        *,
        truth: Callable[[Int[np.ndarray, " n"]], ArrayLike] | None = None,
        beside: AnyPrecisionCurveResult | None = None,
        ax: Axes | None = None,
    ) -> Axes:
        """Draw precision by rank with its band, and of random items the queried ranks and the labels spent.

        Parameters
        ----------
        truth : function from ranks (n,) to precisions (n,), optional
        beside : PrecisionCurveResult, optional
            Another answer about the same list, whose band is drawn too.
        ax : Axes, optional
        """
        known, ranks = self.section, self.shown_ranks
        bands = {answer.design: answer.section.precision(ranks) for answer in (self, beside) if answer is not None}
        exact = None if truth is None else np.asarray(truth(ranks), float)
        queried, labelled = (None, None) if known.marked is None else known.marked
        return plots.precision_by_rank(
            ranks,
            bands,
            queried=None if queried is None else (queried, known.precision(queried)[:, 0]),
            labelled=labelled,
            truth=exact,
            band_label=f"{self.level:.0%} band",
            title=f"Precision of {self.n_items:,} ranked items",
            ax=ax,
        )

    def to_arviz(self, *, parameters: bool = False) -> ArvizData:
        """Return posterior draws of precision and recall at ranks as an ArviZ object; see `MetricResult.to_arviz`.

        Parameters
        ----------
        parameters : bool
            Whether to add those of the belief's model.

        Raises
        ------
        QuestionError
            If the band is of random labels, which have no posterior.
        """
        return self.section.to_arviz(parameters, self._attributes())

    @property
    def headline(self) -> str:
        """The answer as one sentence."""
        return self._answer()[0]

    def _answer(self) -> list[str]:
        return self.section.answer()

    def _bands(self, ranks: Int[np.ndarray, " n"]) -> dict[str, Float[np.ndarray, "n 3"]]:
        of = self.section
        return {"precision": of.precision(ranks), "recall": of.recall(ranks), "f1": of.f1(ranks)}

    def _at(self, of: Callable[[Int[np.ndarray, " n"]], Float[np.ndarray, "n 3"]], rank: ArrayLike) -> Bounded:
        values = of(self._checked(rank))
        return Bounded(*(values[0].tolist() if np.asarray(rank).ndim == 0 else values.T))

    def _checked(self, ranks: ArrayLike) -> Int[np.ndarray, " n"]:
        values = np.atleast_1d(np.asarray(ranks))
        if values.ndim != 1 or values.dtype.kind not in "iu" or ((values < 1) | (values > self.n_items)).any():
            raise QuestionError(f"Ranks are whole numbers from 1 to {self.n_items:,}; found {show(ranks)}.")
        return values.astype(np.int64)


def _notes(question: PrecisionCurve, ranked: RankedList) -> Iterator[str]:
    """Say which labels may be wrong, and which ranks are in random order."""
    if question.noise:
        yield (
            f"Estimates are corrected for labels of which {question.noise:.3g} are wrong, of positive and of negative "
            "items alike; the band allows for any share up to that, of either."
        )
    if ranked.n_tied:
        yield f"{ranked.n_tied:,} items share their score with others; those are in random order."


AnyPrecisionCurveResult = PrecisionCurveResult[RankSample, SampledCurve] | PrecisionCurveResult[Believed, BelievedCurve]
