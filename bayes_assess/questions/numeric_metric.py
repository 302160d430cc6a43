"""Measures of labels that are numbers, such as mean absolute errors and R2: what `Metric` asks of a pool of numbers."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, ClassVar, cast

import numpy as np

from bayes_assess._tools.arrays import show
from bayes_assess._tools.shapes import ArrayLike, Float, Int
from bayes_assess.acquisition.asked_deviations import AskedDeviations
from bayes_assess.designs import NUMERIC, Design, State
from bayes_assess.errors import PriorError, QuestionError
from bayes_assess.estimators.weighted_numbers import numbers_interval, weighted_numbers
from bayes_assess.measures import GroupedRealMeasures, RealMeasures
from bayes_assess.pool.cells import Cells, cells
from bayes_assess.pool.groups import Partition, partition
from bayes_assess.pool.numbers import NumberPool
from bayes_assess.pool.pool import Pool
from bayes_assess.pool.rank_strata import cuts_ranks
from bayes_assess.pool.strata import Strata
from bayes_assess.questions._event_cells import MetricCells, metric_cells
from bayes_assess.questions._events import of_label_sets
from bayes_assess.questions._number_losses import (
    InOrder,
    PossibleErrors,
    believed_risk,
    centre_of,
    groups_by,
    item_deviations,
)
from bayes_assess.questions._score_prior import ScorePrior
from bayes_assess.questions._setting import Labelled, Simulated
from bayes_assess.questions.metric import Metric

if TYPE_CHECKING:
    from bayes_assess.models.belief import GivenPrior
    from bayes_assess.pool.items import Rows


_OF_ANY_SIZE = ("mean_absolute_error", "mean_squared_error", "root_mean_squared_error")  # in units of the labels
_MOST_GROUPS = 50  # that measures are told apart for


@dataclass(frozen=True, eq=False)
class NumericMetric(Metric):
    """What `Metric` is on a pool of numbers; ``Metric("mae").for_pool(pool)`` makes it.

    Designs see cells of items whose labels can be expected to move the measure about as far, and of a label whether
    the item was asked for. Labels have no say in what is drawn.

    Examples
    --------
    >>> import bayes_assess as ba
    >>> pool = ba.Pool(predictions=[1.0, 2.0, 2.0], bounds=(-float("inf"), float("inf")))
    >>> question = ba.Metric("r2").for_pool(pool)
    >>> float(question.truth(pool, [1.0, 2.0, 3.0]))
    0.5
    """

    made_by: ClassVar[str] = "Metric"
    titled: ClassVar[str] = "{measures}{by}"
    numeric: ClassVar[bool] = True
    oracles: ClassVar[tuple[str, ...]] = ("deterministic",)
    default_design: ClassVar[str] = "poisson"
    default_designs: ClassVar[tuple[str, ...]] = ("passive", "poisson")
    group_names: tuple[str, ...] = field(default=(), init=False, repr=False)  # as `for_pool` finds them

    @property
    def designs(self) -> tuple[str, ...]:
        """Designs whose draws do not depend on labels."""
        return NUMERIC

    def __post_init__(self) -> None:
        super().__post_init__()
        self._refuse_options("labels that are numbers", "They are of the pool's own predictions.", but=("by",))
        if self.by is not None and not isinstance(self.by, str):
            raise QuestionError(f"Measures of numbers are asked by a column of groups; found by={show(self.by)}.")

    @cached_property
    def whole(self) -> RealMeasures:
        """The measures, of all items."""
        measures = RealMeasures.of(self.measure)
        assert measures is not None  # `Metric.for_pool` has seen to it
        return measures

    @property
    def spec(self) -> RealMeasures | GroupedRealMeasures:
        """The measures, of all items or of every group; which groups there are, `for_pool` knows."""
        return self.whole if self.by is None else GroupedRealMeasures(self.whole, self.group_names)

    @property
    def name(self) -> str:
        """What the question is called."""
        return f"Metric({', '.join(self.whole.outputs)})"

    @staticmethod
    def serves(question: Metric, pool: Pool) -> bool:
        """Whether labels of the pool are numbers, and the measures are of these."""
        known = pool.exact is not None and not of_label_sets(question.measure)
        return known and RealMeasures.of(question.measure) is not None

    def for_pool(self, pool: Pool) -> NumericMetric:
        """Return the question itself, or raise QuestionError if labels of this pool are no numbers."""
        if pool.exact is None:
            raise QuestionError(
                f"{self.name} is of labels that are real numbers; say that they are by bounds=(0, 100), or "
                "bounds=(-inf, inf), of a pool of predictions."
            )
        if self.by is None:
            return self
        names = tuple(f"{self.by} {name}" for name in groups_by(pool, self.by)[0].tolist())
        if len(names) > _MOST_GROUPS:
            raise QuestionError(
                f"Measures of numbers are told apart for up to {_MOST_GROUPS} groups, and {self.by} has "
                f"{len(names):,}; merge some, or ask of parts of the pool."
            )
        if names == self.group_names:
            return self
        asked = copy(self)
        object.__setattr__(asked, "group_names", names)
        return asked

    def labelled_pool(self, pool: Pool) -> NumberPool:
        """Return the pool whose labels are taken as they are told."""
        return pool.exact

    def default_design_on(self, pool: Pool) -> str:
        """Return ``"poisson"``."""
        return self.default_design

    def default_designs_on(self, pool: Pool) -> tuple[str, ...]:
        """Return random items, and the default design."""
        return self.default_designs

    def cells(self, pool: Pool, seed: int, strata: Any = None) -> MetricCells:
        """Collapse the pool into strata, by default of the deviations, or into one cell where a design asks for none.

        Where deviations are all alike, as nothing is known of the errors, it is the predictions that are cut.
        """
        if cuts_ranks(strata):
            raise QuestionError(
                "Calibration curves are of classes: 'poisson' with labels='curve' cannot serve measures of numbers."
            )
        pool = self.labelled_pool(pool)
        h = item_deviations(pool, self.whole, None if self.by is None else groups_by(pool, self.by)[1])
        groups = Partition(np.zeros(pool.n_items, np.uint8), np.array(["all"]), "one stratum")
        if strata is not None and strata.of_deviations:
            alike = np.ptp(h) == 0
            groups = Strata(strata.n_strata, strata.kind, of=pool.numbers if alike else h).cut(pool)
            what = "predictions" if alike else "deviations"
            groups = replace(groups, description=f"{groups.n_groups} strata of {what}")
        elif strata is not None:
            groups = partition(pool, strata)
        size = np.bincount(groups.codes, minlength=groups.n_groups)
        deviation = np.sqrt(np.bincount(groups.codes, h**2, groups.n_groups) / np.maximum(size, 1))
        plain = cells(pool, groups, seed=seed)
        n, nothing = plain.n_cells, np.zeros((plain.n_cells, 2, self.spec.n_losses))
        measure: Any = AskedDeviations(deviation, plain.sizes, np.arange(n), nothing, self.spec, n)
        return MetricCells(**vars(plain), measure=measure)

    def prior(self, pool: Pool, cells: Cells, prior: GivenPrior, strength: float | None) -> ScorePrior:
        """Return a placeholder: that items are asked for."""
        if prior is not None or strength is not None:
            raise PriorError(f"{self.name} takes no prior and no prior_strength where labels are numbers.")
        return ScorePrior(np.tile([1.0, 0.0], (cells.n_cells, 1)))

    def outcomes_on(self, cells: Cells, pool: Pool, items: Int[np.ndarray, " n"], labels: np.ndarray) -> np.ndarray:
        """Return the outcome of labels of items that were asked for."""
        return np.zeros(len(labels), np.int64)

    def item_losses(self, pool: NumberPool, items: Rows, labels: Float[np.ndarray, " n"]) -> Float[np.ndarray, "n D"]:
        """Return the losses of items with these labels, numbers, whatever their groups."""
        centre = centre_of(pool, self.whole)
        return self.whole.losses(labels - centre, pool.numbers[items] - centre)

    def losses_of(self, pool: NumberPool, items: Rows, labels: Float[np.ndarray, " n"]) -> Float[np.ndarray, "n D"]:
        """Return the losses of items with these labels, numbers; of groups, those of their own."""
        losses, spec = self.item_losses(pool, items, labels), cast("Any", self.spec)
        return losses if self.by is None else spec.grouped(losses, groups_by(pool, str(self.by))[1][items])

    def losses_of_any(self, pool: NumberPool, items: Rows, labels: Float[np.ndarray, " n"]) -> Float[np.ndarray, "n D"]:
        """Return the losses that items with these labels would have in every group, (n G, D)."""
        spec: Any = self.spec
        losses = self.item_losses(pool, items, labels)
        if self.by is None:
            return losses
        return np.concatenate([spec.grouped(losses, np.full(len(losses), g)) for g in range(len(spec.names))])

    def on_own_cells(
        self, pool: Pool, cells: Cells, design: Design, state: State
    ) -> tuple[NumericMetric, Cells, State]:
        """Put the measures on the cells of a session on others, which the items themselves answer."""
        own = metric_cells(cells)
        nothing: Any = np.zeros((own.n_cells, 2, self.spec.n_losses))
        measure = replace(own.measure, table=self.spec, mean=nothing)
        return self, replace(own, measure=measure), replace(state, measure=measure)

    def evidence(self, told: Labelled) -> dict[str, object]:
        """Return what the labelled items say of the measures, fields of `WeightedNumbers`."""
        pool, cells, items = self.labelled_pool(told.pool), told.cells, told.items
        labels = pool.label_space.names(told.codes[items])
        self.whole.check_ranges(self.item_losses(pool, items, labels))
        estimate, covariance = weighted_numbers(
            told.design,
            told.state,
            self.spec,
            self.losses_of(pool, items, labels),
            cells.source.cells_of(items),
            told.volunteered.astype(np.int64),
            lambda: believed_losses(pool, self),
            possible_losses(pool, self, labels),
            possible_errors(pool, self).ends(items, self.item_losses(pool, items, labels)),
            by_group=labelled_by_group(pool, self, items),
        )
        ordered = told.design.draws_alike and cells.n_cells == 1 and np.isfinite(pool.bounds).all()
        answer: dict[str, object] = {"answer": estimate, "all_covariances": covariance}
        if not ordered or told.volunteered.any() or self.by is not None:
            return answer
        order = cells.source.take(np.zeros(pool.n_items, np.int64), np.arange(pool.n_items))
        return answer | {"in_order": partial(losses_in_order, pool, self, order, items, labels)}

    def truth(self, pool: Pool, labels: ArrayLike) -> Float[np.ndarray, "..."]:
        """Compute the exact answer from all labels of a pool; see `Question.truth`."""
        exact = self.labelled_pool(pool)
        codes, asked = exact.complete_codes(labels), self.for_pool(exact)
        return asked._value(asked.full_counts(exact, None, codes, 2))

    def full_counts(self, pool: Pool, cells: Cells | None, codes: Int[np.ndarray, " M"], n_outcomes: int) -> np.ndarray:
        """Return the mean losses at full labels, (D,): cells do not tell what the labels are."""
        exact = self.labelled_pool(pool)
        return self.losses_of(exact, slice(None), exact.label_space.names(codes)).mean(0)

    def truth_of_counts(self, cells: Cells, full: Float[np.ndarray, " D"]) -> Float[np.ndarray, "..."]:
        """Compute the measure from the mean losses at full labels."""
        return self._value(full)

    def unit_on(self, cells: Cells, truth: Float[np.ndarray, "..."]) -> float:
        """Return how large the greatest error is, which nothing bounds; 1 of shares of the variance."""
        if not any(name.startswith(_OF_ANY_SIZE) for name in self.spec.outputs):
            return 1.0
        return float(np.max(np.abs(truth)))

    def study_intervals(self, campaigns: Simulated, level: float) -> np.ndarray:
        """Return the intervals of simulated campaigns, (R, B, *answer, 2)."""
        ends = numbers_interval(campaigns.record, self.spec.ranges, level)
        return ends[..., 0, :] if self._is_scalar(self.spec.outputs) else ends

    def _value(self, risk: Float[np.ndarray, " D"]) -> Float[np.ndarray, "..."]:
        return self.shaped(self.spec.outputs, self.spec.value(risk))


def believed_losses(pool: NumberPool, question: NumericMetric) -> Float[np.ndarray, " D"]:
    """Return the `believed_risk` of a question, (D,) or of every group, flat."""
    spec: Any = question.spec
    if question.by is None:
        return believed_risk(pool, spec)
    codes = groups_by(pool, str(question.by))[1]
    of_groups = [np.flatnonzero(codes == g) for g in range(len(spec.names))]
    share = [len(items) / pool.n_items for items in of_groups]
    means = [np.append(believed_risk(pool, spec.whole, items), 1.0) for items in of_groups]
    return np.concatenate([p * mean for p, mean in zip(share, means, strict=True)])


def labelled_by_group(
    pool: NumberPool, question: NumericMetric, items: Int[np.ndarray, " n"]
) -> Float[np.ndarray, "G 2"] | None:
    """Count the labelled items of every group, and all of its items; None of a question that is of no groups."""
    if question.by is None:
        return None
    names, codes = groups_by(pool, str(question.by))
    return np.stack([np.bincount(some, minlength=len(names)) for some in (codes[items], codes)], axis=-1).astype(float)


def possible_errors(pool: NumberPool, question: NumericMetric) -> PossibleErrors:
    """Return what labels leave possible for the measures of a question."""
    return PossibleErrors.of(pool, question.whole, None if question.by is None else groups_by(pool, question.by)[1])


def losses_in_order(
    pool: NumberPool,
    question: NumericMetric,
    order: Int[np.ndarray, " M"],
    items: Int[np.ndarray, " n"],
    labels: Float[np.ndarray, " n"],
) -> InOrder:
    """Put losses in the order in which items were drawn, up to the last that is labelled.

    Parameters
    ----------
    order : (M,)
        All items, in random order.
    items, labels : (n,)
        Labelled items, and their labels.

    Examples
    --------
    >>> import bayes_assess as ba
    >>> pool = NumberPool(predictions=[1.0, 5.0, 2.0], bounds=(0, 10))
    >>> asked, order = ba.Metric("mae").for_pool(pool), np.array([2, 0, 1])
    >>> drawn = losses_in_order(pool, asked, order, np.array([0]), np.array([3.0]))
    >>> drawn.losses.ravel().tolist(), drawn.most.ravel().tolist(), drawn.rest.ravel().tolist()
    ([nan, 2.0], [8.0, 9.0], [5.0])
    """
    place = np.empty(pool.n_items, np.int64)
    place[order] = np.arange(pool.n_items)
    n = int(place[items].max(initial=-1)) + 1
    ends = [question.losses_of(pool, order, np.full(pool.n_items, bound)) for bound in pool.bounds]
    most = np.maximum(*ends)  # losses that grow with the distance from the prediction
    losses = np.full((n, question.whole.n_losses), np.nan)
    losses[place[items]] = question.losses_of(pool, items, labels)
    return InOrder(losses, most[:n], most[n:], believed_risk(pool, question.whole))


def possible_losses(
    pool: NumberPool, question: NumericMetric, labels: Float[np.ndarray, " n"]
) -> Float[np.ndarray, "4 D"]:
    """Return the losses of the extreme predictions with extreme labels: bounds, else the numbers seen.

    Examples
    --------
    >>> import bayes_assess as ba
    >>> pool = NumberPool(predictions=[1.0, 5.0], bounds=(0, np.inf))
    >>> possible_losses(pool, ba.Metric("mae").for_pool(pool), np.array([7.0])).ravel().tolist()
    [1.0, 6.0, 5.0, 2.0]
    """
    at = np.array([pool.numbers.argmin(), pool.numbers.argmax()])
    seen = np.concatenate([pool.numbers[at], labels])
    low, high = (
        bound if np.isfinite(bound) else end for bound, end in zip(pool.bounds, (seen.min(), seen.max()), strict=True)
    )
    return question.losses_of_any(pool, np.repeat(at, 2), np.tile([low, high], 2))
