"""Measures of a classifier such as F1, under any imbalance ([NH])."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from bayes_assess._tools import engine
from bayes_assess._tools.arrays import listing, show
from bayes_assess._tools.axes import in_64_bits
from bayes_assess._tools.shapes import ArrayLike, Float, Int
from bayes_assess.designs import WEIGHTED, Design, State
from bayes_assess.errors import QuestionError
from bayes_assess.estimators.labelled_items import LabelledItems
from bayes_assess.estimators.random_labels import item_variance, labels_of_variance
from bayes_assess.estimators.score_order import score_order
from bayes_assess.measures import (
    OF_CLASSES_THAT_OCCUR,
    Measure,
    MultiLabelMeasure,
    PRCurveMeasure,
    combine,
    curve_scores,
    pool_value,
    positive_code,
    table_for,
)
from bayes_assess.measures._pool_losses import Measures
from bayes_assess.measures.cell_measure import CellMeasure
from bayes_assess.models.belief import Belief
from bayes_assess.pool.cells import Cells, cells
from bayes_assess.pool.groups import Cut, Partition, partition
from bayes_assess.pool.pool import Pool, check_several_classes
from bayes_assess.pool.rank_strata import RankedScore, cuts_ranks
from bayes_assess.questions._base import BelievedT_co, Question, WeighedT_co
from bayes_assess.questions._column_names import check_by, checked_names
from bayes_assess.questions._event_cells import EventCells, MetricCells, crossed_losses, event_cells, metric_cells
from bayes_assess.questions._events import (
    MOST_CLASSES,
    Subject,
    alike_but_for_scores,
    can_believe,
    has_event,
    of_label_sets,
    subject_of,
    takes_scores,
)
from bayes_assess.questions._measures_answered import MeasuresAnswered, cell_measure, cells_table
from bayes_assess.questions._other_measures import check_same_event, measured_on
from bayes_assess.questions._score_prior import ScorePrior, event_prior, score_prior

if TYPE_CHECKING:
    from bayes_assess.measures import LossTable, PRCurveTable
    from bayes_assess.models.belief import GivenPrior


_OPTIONS = ("positive", "systems", "by", "average")
_F_MEASURES = {"precision": 1.0, "recall": 0.0, "f1": 0.5}


@dataclass(frozen=True, eq=False)
class Metric(MeasuresAnswered, Question[BelievedT_co, WeighedT_co]):
    """What is the F1 score, the precision, or any other measure of the system? See [NH] Definition 1.

    Parameters
    ----------
    measure : str, Measure, or a list of these
        Names are scikit-learn's, see `bayes_assess.measures.MEASURES`; of a pool whose items may have several labels
        each, `bayes_assess.measures.MULTILABEL_MEASURES`, and the other parameters are left out.
    positive : class name, optional
        Positive class of two-class measures; the second class of two by default.
    systems : sequence of str, optional
        Columns of predicted classes to measure several systems at once; ``"prediction"`` is the pool's own.
    by : str, optional
        Column of groups to measure one by one.
    average : "macro", optional
        Ask for the mean over the groups instead.

    Examples
    --------
    >>> import bayes_assess as ba
    >>> pool = ba.Pool(predictions=[0, 0, 1, 1])
    >>> a = ba.assess(pool, ba.Metric("f1"), design="passive")
    >>> a.tell(a.ask(4).ids, [1, 1, 1, 1])
    >>> round(float(a.result().estimate), 12)  # everything is labelled
    0.666666666667
    """

    asks: ClassVar[str] = "How high {are} {measures}{of_systems}{of_every}?"
    titled: ClassVar[str] = "{measures}{of_systems}{by}"
    measure: Measures
    positive: Hashable | None = None
    systems: str | Sequence[str] = field(default=(), kw_only=True)
    by: str | None = field(default=None, kw_only=True)
    average: str | None = field(default=None, kw_only=True)
    target: str = field(default="pool", init=False, repr=False)

    default_design: ClassVar[str] = "variance_reduction"
    default_designs: ClassVar[tuple[str, ...]] = ("passive", "variance_reduction")
    of_measure: ClassVar[bool] = True
    is_curve: ClassVar[bool] = False
    _forms: ClassVar[list[type[Metric]]] = []
    oracles: ClassVar[tuple[str, ...]] = ("deterministic", "stochastic")
    quantity: ClassVar[str] = "measure"
    lower_is_better: ClassVar[Mapping[str, bool]] = {"mse": True, "bias": True, "divergence": True}
    goals: ClassVar[Mapping[str, float]] = {"mse": 1e-3, "bias": 0.01, "divergence": 0.5}

    def __post_init__(self) -> None:
        given: Any = self.measure
        if isinstance(given, MultiLabelMeasure):
            first, *more = given.outputs
            object.__setattr__(self, "measure", [first, *more] if more else first)
        elif not of_label_sets(given):
            combine(given)  # a name that does not exist is refused at once
        check_by("a measure", self.by)
        if not isinstance(self.systems, list | tuple) or not all(isinstance(name, str) for name in self.systems):
            object.__setattr__(self, "systems", checked_names("systems", self.systems))

    @property
    def name(self) -> str:
        """What the question is called."""
        if of_label_sets(self.measure):  # which a pool of items with several labels looks up
            names: Any = [self.measure] if isinstance(self.measure, str) else self.measure
            return f"{type(self).__name__}({', '.join(names)})"
        names = [getattr(spec, "called", spec.name) for spec in combine(self.measure)]
        return f"{type(self).__name__}({', '.join(names)})"

    def said_of_classes(self, unseen: Sequence[object]) -> str:
        """Say that an average leaves out classes that do not occur, and counts those that do."""
        names = [] if of_label_sets(self.measure) else [spec.name for spec in combine(self.measure)]
        if not unseen or not set(names) & set(OF_CLASSES_THAT_OCCUR):
            return ""
        such = "the class" if len(unseen) == 1 else "such a class"
        return (
            f"No label is of {listing(unseen, 3)} so far: balanced accuracy leaves {such} out if no item is of it, and "
            "counts its recall otherwise."
        )

    def __init_subclass__(cls, **options: object) -> None:
        super().__init_subclass__(**options)
        if "serves" in vars(cls):
            Metric._forms.append(cls)

    @staticmethod
    def serves(question: Metric, pool: Pool) -> bool:
        """Whether a question has this form on a pool; every form of measures of other labels than classes says so."""
        return False

    def for_pool(self, pool: Pool) -> Metric:
        """Return the question, or the `MultiLabelMetric` or `NumericMetric` that it is on this pool.

        It is the first where items may have several labels, the second where labels are numbers and it is of these.

        Examples
        --------
        >>> import bayes_assess as ba
        >>> pool = ba.Pool(predictions=["cat;dog", "-"], multilabel=True)
        >>> ba.Metric("f1_samples").for_pool(pool)
        MultiLabelMetric(measure='f1_samples', positive=None, systems=(), by=None, average=None)
        """
        form = next((form for form in self._forms if form.serves(self, pool)), None)
        if form is not None:
            return form(self.measure, **{name: getattr(self, name) for name in _OPTIONS}).for_pool(pool)
        if of_label_sets(self.measure):
            raise QuestionError(
                f"Measures of items with several labels each, such as {show(self.measure)}, need a pool of such items; "
                "pass multilabel=True to the pool."
            )
        self.check_pool(pool)
        return self

    def _refuse_options(self, what: str, instead: str, but: tuple[str, ...] = ()) -> None:
        """Raise QuestionError if an option is given that measures of some kind of pool do not take."""
        for option in _OPTIONS:
            value = getattr(self, option)
            if option not in but and value is not None and len(np.atleast_1d(value)):
                raise QuestionError(f"Measures of {what} take no {option}; found {show(value)}. {instead}")

    @property
    def scores(self) -> tuple[str, ...]:
        """Mean squared error, bias, and divergence of the proposal from the best one."""
        return ("mse", "bias", "divergence")

    def default_design_on(self, pool: Pool) -> str:
        """Return ``"variance_reduction"`` where a belief on labels can answer the measure, else ``"adaptive"``."""
        return self.default_design if self._is_believable(pool) else "adaptive"

    def default_designs_on(self, pool: Pool) -> tuple[str, ...]:
        """Return random items, and the default design."""
        return ("passive", self.default_design_on(pool))

    @property
    def designs(self) -> tuple[str, ...]:  # type: ignore[override]
        """Designs that draw with known probabilities, OASIS for F-measures only; and one that learns labels."""
        weighted = (name for name, kind in WEIGHTED.items() if self.f_alpha is not None or not kind.needs_f_measure)
        specs = combine(self.measure)
        believable = any(has_event(specs, 1, 0, n) or can_believe(specs, n) for n in (2, 3))  # whatever the pool
        return (*weighted, *["variance_reduction"] * believable)

    @property
    def f_alpha(self) -> float | None:
        """Weight alpha of the F-measure TP / (alpha PP + (1 - alpha) P), None if it is not one."""
        spec, *more = combine(self.measure)
        if not spec.binary or spec.made_by is None:
            return None
        if more or self.systems or self.by is not None:
            return None
        name, options = spec.made_by
        return 1 / (1 + options[0][1] ** 2) if name == "fbeta" else _F_MEASURES.get(name)

    def cells(self, pool: Pool, seed: int, strata: Cut | None = None) -> MetricCells:
        """Collapse the pool into what the losses and the strata tell apart."""
        check_several_classes(pool)
        codes, table = self.losses(pool)
        if cuts_ranks(strata):
            subject, ranked = self._subject(pool)
            alike = alike_but_for_scores(pool, combine(self.measure), self.by)
            return event_cells(pool, subject, ranked, codes, table, strata, seed, alike)
        joint, attribute, block = crossed_losses(codes, table, _blocks(pool, strata), self.name)
        plain = cells(pool, joint, seed=seed)
        measure = CellMeasure(
            table=table,
            attribute=attribute,
            block=block,
            size=plain.sizes,
            predicted=self._predicted(pool, plain),
            n_attributes=table.n_attributes,
            n_blocks=joint.parts[0].n_groups,
            n_outcomes=pool.n_classes,
            positive=self._positive_code(pool),
            f_alpha=self.f_alpha,
        )
        return MetricCells(**vars(plain), measure=measure)

    def subject(self, pool: Pool) -> Subject:
        """Find the event that a belief on the measure is about.

        Raises
        ------
        QuestionError
            If no belief on labels can answer it.
        """
        return self._subject(pool)[0]

    def ranked(self, pool: Pool) -> RankedScore | None:
        """Return the score that announces the event that a belief on the measure is about; None without one."""
        return self._subject(pool)[1]

    def _subject(self, pool: Pool) -> tuple[Subject, RankedScore | None]:
        if not self._is_believable(pool):
            raise QuestionError(
                "Calibration curves, of design 'variance_reduction' and of 'poisson' with labels='curve', serve "
                f"measures of predictions and labels, of up to {MOST_CLASSES} classes, of two classes those of several "
                f"systems, too, and of scores of items in memory; {self.name} is none of them. "
                "'adaptive' can serve it, and 'poisson' with labels='scores'."
            )
        return subject_of(pool, combine(self.measure), self._positive_of_event(pool), self.systems, self.by)

    def _positive_of_event(self, pool: Pool) -> int | None:
        needed = self.is_curve or _binary(combine(self.measure))
        return positive_code(pool, self.positive) if needed else None

    def _is_believable(self, pool: Pool) -> bool:
        specs = combine(self.measure)
        if takes_scores(specs, pool.n_classes) and pool.multiplicity is not None:  # whose items are not at hand
            return False
        has_one_event = has_event(specs, self._positive_of_event(pool), len(self.systems), pool.n_classes)
        return has_one_event or can_believe(specs, pool.n_classes, len(self.systems))

    def outcomes_on(self, cells: Cells, pool: Pool, items: Int[np.ndarray, " n"], labels: np.ndarray) -> np.ndarray:
        """Take labels as they are, or whether they are the event that the cells are about."""
        return metric_cells(cells).outcomes(items, labels)

    def playable(self, cells: Cells) -> np.ndarray:
        """Cells whose labels can matter: some label has a loss."""
        with engine.eager(), in_64_bits():
            worth: np.ndarray = np.atleast_1d(np.asarray(cell_measure(cells).nonzero).any(-1))
        return worth

    def prior(self, pool: Pool, cells: Any, prior: GivenPrior, strength: float | None) -> ScorePrior:
        """Take the mean scores of every cell, or equal probabilities."""
        if metric_cells(cells).subject is not None:
            return self._event_prior(cells, prior, strength)
        return score_prior(self.name, pool, cells, prior, strength)

    def _event_prior(self, cells: EventCells, prior: GivenPrior, strength: float | None) -> ScorePrior:
        return event_prior(cells, prior, strength)

    def reward(self, cells: Cells, prior: Belief) -> CellMeasure:
        """Return what is estimated."""
        return cell_measure(cells)

    def outcomes(self, pool: Pool, items: Int[np.ndarray, " N"], labels: Int[np.ndarray, " N"]) -> np.ndarray:
        """Take labels as they are."""
        return labels

    def groups(self, cells: Cells) -> np.ndarray:
        """Names of what is measured, (k,)."""
        return np.array(cell_measure(cells).table.outputs)

    def group_sizes(self, cells: Cells) -> None:
        """Return None: measures are no groups."""

    def is_single(self, cells: Cells) -> bool:
        """Whether there is one measure."""
        return len(cells_table(cells).outputs) == 1

    def random_labels(
        self, cells: Cells, full: Int[np.ndarray, "F K O"], width: Float[np.ndarray, " F"], level: float, overall: bool
    ) -> Float[np.ndarray, " F"]:
        """Count the random labels that give the widest interval of a measure a width, by the delta method."""
        variance = np.array([item_variance(cell_measure(cells), counts) for counts in full]).max(-1)
        return labels_of_variance(variance, width, int(cells.sizes.sum()), level)

    def truth_of_counts(self, cells: Cells, full: Int[np.ndarray, "K C"]) -> Float[np.ndarray, " k"]:
        """Compute the measure from all labels."""
        target = cell_measure(cells)
        with engine.eager(), in_64_bits():
            return self.shaped(target.table.outputs, np.asarray(target.table.value(target.risk(full / full.sum()))))

    @property
    def of_tables(self) -> bool:
        """Whether items need not be in memory: unless thresholds or orders of scores tell every item from the next."""
        return not self.is_curve and not self.is_of_order

    @property
    def of_shares(self) -> bool:
        """Whether it asks for shares of items that labels show one by one."""
        return self.measure == "accuracy" and not self.systems and self.average is None

    @property
    def is_of_order(self) -> bool:
        """Whether what is measured is the order of all scores."""
        return any(spec.ranking is not None for spec in combine(self.measure))

    def labelled_items(self, pool: Pool, cells: Cells, labels: Int[np.ndarray, " M"]) -> LabelledItems | None:
        """Return where items with these labels stand in the order of the scores, or what they lose by these.

        -1 is no label; None if that is no matter.

        Examples
        --------
        >>> import bayes_assess as ba
        >>> pool = ba.Pool(scores=[0.2, 0.4, 0.6, 0.8])
        >>> asked = ba.Metric("roc_auc")
        >>> asked.labelled_items(pool, asked.setting(pool).cells, np.array([0, 1, -1, -1])).open.tolist()
        [0, 0, 1, 1]
        """
        if isinstance(cells, EventCells) and cells_table(cells).is_averaged:
            return cells.labelled_items(labels)
        if not self.is_of_order:
            return None
        scores, positive = curve_scores(pool, self.positive)
        hit = np.where(labels < 0, -1, labels == positive)
        return score_order(scores, self.losses(pool)[0], cells.source.row_cells, hit)

    def on_cells(self, pool: Pool, cells: Cells) -> Metric:
        """Return the question as these cells can answer it: itself, unless it is a curve without thresholds."""
        return self

    def on_own_cells(self, pool: Pool, cells: Cells, design: Design, state: State) -> tuple[Metric, Cells, State]:
        """Put the measure on the cells of a session on another one; see `Question.on_own_cells`."""
        own, asked = metric_cells(cells), self.on_cells(pool, cells)
        if own.subject is not None:
            of_order = asked.is_curve or asked.is_of_order
            check_same_event(asked.name, asked.subject(pool), own.subject, pool.n_classes, of_order)
        measure = measured_on(asked.name, own, asked.losses(pool))
        return asked, replace(own, measure=measure), design.measuring(state, measure, asked.name)

    def truth(self, pool: Pool, labels: ArrayLike) -> Float[np.ndarray, "..."]:
        """Compute the exact answer from all labels of a pool, (M,) class names.

        Examples
        --------
        >>> import bayes_assess as ba
        >>> float(ba.Metric("roc_auc").truth(ba.Pool(scores=[0.2, 0.4, 0.6, 0.8]), [0, 1, 0, 1]))
        0.75
        """
        if pool.multilabel or not self.is_of_order:
            return super().truth(pool, labels)
        pool.complete_codes(labels)
        values = pool_value(self.measure, pool, labels, positive=self.positive)
        return self.shaped(self.losses(pool)[1].outputs, values)

    def losses(self, pool: Pool) -> tuple[Int[np.ndarray, " M"], LossTable | PRCurveTable]:
        """Return what the loss of every item depends on, and the table of losses."""
        return table_for(self.measure, pool, **{name: getattr(self, name) for name in _OPTIONS})

    def _predicted(self, pool: Pool, cells: Cells) -> Float[np.ndarray, " K"]:
        """Whether the items of every cell are predicted positive."""
        positive = self._positive_code(pool)
        if self.f_alpha is None or positive < 0:
            return np.zeros(cells.n_cells)
        return (pool.predictions[cells.one_of_each()] == positive).astype(np.float64)

    def _positive_code(self, pool: Pool) -> int:
        return -1 if (code := positive_code(pool, self.positive)) is None else code


def _binary(specs: Sequence[Measure | PRCurveMeasure]) -> bool:
    return any(spec.binary for spec in specs)


def _blocks(pool: Pool, strata: Cut | None) -> Partition:
    """Cut the pool into strata, or leave it whole where no design asks for them."""
    whole = Partition(np.zeros(pool.n_rows, np.uint8), np.array(["all"]), "one stratum")
    return whole if strata is None else partition(pool, strata)
