"""Measures of items that may have several labels each: what `Metric` asks of a multi-label pool."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from bayes_assess._tools.arrays import CHUNK, show
from bayes_assess._tools.shapes import ArrayLike, Float, Int
from bayes_assess._tools.text import plural
from bayes_assess.acquisition.cell_deviations import CellDeviations
from bayes_assess.designs import MULTILABEL, Design, State
from bayes_assess.errors import PriorError, QuestionError
from bayes_assess.estimators.drawn_items import ItemWeights, missing_items, weighted_items_estimate
from bayes_assess.measures import MultiLabelMeasure, multilabel_measure
from bayes_assess.pool.cells import Cells, cells
from bayes_assess.pool.groups import Partition, block_means
from bayes_assess.pool.multilabel import MultiLabelPool
from bayes_assess.pool.pool import Pool
from bayes_assess.pool.strata import Strata
from bayes_assess.questions._event_cells import MetricCells, metric_cells
from bayes_assess.questions._score_prior import ScorePrior
from bayes_assess.questions._setting import Labelled, Simulated
from bayes_assess.questions.metric import Metric

if TYPE_CHECKING:
    from bayes_assess.models.belief import GivenPrior
    from bayes_assess.pool.items import Rows


_DIGITS = 9  # of deviations, so that machines that round sums in another way cut the same strata
_LAM = 0.9  # how far scores are trusted where no design says so


@dataclass(frozen=True, eq=False, repr=False)
class MultiLabelCells(MetricCells):
    """Cells of a pool whose items may have several labels each.

    Parameters
    ----------
    predicted : (K, C)
        Share of the items of every cell of which a class is predicted.
    lam : float
        How far scores are trusted, see `blended_scores`.
    """

    predicted: Float[np.ndarray, "K C"]
    lam: float


@dataclass(frozen=True, eq=False)
class MultiLabelMetric(Metric):
    """What `Metric` is on a multi-label pool; ``Metric(...).for_pool(pool)`` makes it.

    Labelling an item tells of all classes whether they apply, which counts as one label. Designs see cells of items
    whose labels can move the measure about as far, and one outcome: that an item is labelled.

    Examples
    --------
    >>> import bayes_assess as ba
    >>> pool = ba.Pool(scores=[[0.9, 0.6], [0.2, 0.1]], classes=["cat", "dog"], multilabel=True)
    >>> question = ba.Metric("f1_micro").for_pool(pool)
    >>> round(float(question.truth(pool, ["cat", "-"])), 3)
    0.667
    """

    made_by: ClassVar[str] = "Metric"
    multilabel: ClassVar[bool] = True
    oracles: ClassVar[tuple[str, ...]] = ("deterministic",)
    default_design: ClassVar[str] = "poisson"
    default_designs: ClassVar[tuple[str, ...]] = ("passive", "poisson")

    @property
    def designs(self) -> tuple[str, ...]:
        """Designs that know the probabilities with which they have drawn items."""
        return MULTILABEL

    def __post_init__(self) -> None:
        super().__post_init__()
        alone = "of one class, group or system alone, make a pool"
        instead = f"Averages over classes have names of their own, such as 'f1_macro'; {alone}."
        self._refuse_options("a multi-label pool", instead)
        _ = self.spec

    @cached_property
    def spec(self) -> MultiLabelMeasure:
        """The measures."""
        names: Any = self.measure
        return multilabel_measure(names)

    @property
    def is_of_order(self) -> bool:
        """Say no: there are no measures of the order of scores."""
        return False

    @property
    def name(self) -> str:
        """What the question is called."""
        return f"Metric({', '.join(self.spec.outputs)})"

    @staticmethod
    def serves(question: Metric, pool: Pool) -> bool:
        """Whether items of the pool may have several labels; curves are of one label each."""
        return pool.multilabel and not question.is_curve

    def for_pool(self, pool: Pool) -> MultiLabelMetric:
        """Return the question itself, or raise QuestionError if items of this pool have one label each."""
        if not pool.multilabel:
            raise QuestionError(f"{self.name} is asked of a multi-label pool; pass multilabel=True to the pool.")
        return self

    def default_design_on(self, pool: Pool) -> str:
        """Return ``"poisson"``."""
        return self.default_design

    def default_designs_on(self, pool: Pool) -> tuple[str, ...]:
        """Return random items, and the default design."""
        return self.default_designs

    def cells(self, pool: Pool, seed: int, strata: Any = None) -> MultiLabelCells:
        """Collapse the pool into strata of the deviations, or into one cell where a design asks for none."""
        pool = label_set_pool(pool)
        groups = Partition(np.zeros(pool.n_items, np.uint8), np.array(["all"]), "one stratum")
        lam, deviation = _LAM, np.ones(1)
        if strata is not None and strata.of_deviations:
            lam, h = strata.lam, item_deviations(pool, self.spec, strata.lam)
            groups = Strata(strata.n_strata, strata.kind, of=h).cut(pool)
            groups = replace(groups, description=f"{plural(groups.n_groups, 'stratum', 'strata')} of deviations")
            size = np.bincount(groups.codes, minlength=groups.n_groups)
            deviation = np.sqrt(np.bincount(groups.codes, h**2, groups.n_groups) / np.maximum(size, 1))
        elif strata is not None:
            raise QuestionError(
                f"Multi-label pools are cut by how far labels can move the measure, not by {show(strata)}; "
                "leave the strata out."
            )
        lam = lam if pool.scores is not None else 0.0
        plain = cells(pool, groups, seed=seed)
        measure: Any = CellDeviations(deviation, plain.sizes, self.spec)
        return MultiLabelCells(**vars(plain), measure=measure, predicted=block_means(groups, pool.indicators), lam=lam)

    def prior(self, pool: Pool, cells: Cells, prior: GivenPrior, strength: float | None) -> ScorePrior:
        """Return a placeholder: the design believes in the scores as far as its option `lam` says."""
        if prior is not None or strength is not None:
            raise PriorError(
                f"{self.name} takes no prior and no prior_strength on a multi-label pool: a design's option lam says "
                "how far scores are trusted, as in designs.Poisson(lam=0.9)."
            )
        return ScorePrior(np.ones((cells.n_cells, 1)))

    def outcomes_on(self, cells: Cells, pool: Pool, items: Int[np.ndarray, " n"], labels: np.ndarray) -> np.ndarray:
        """Return the one outcome of every label."""
        return np.zeros(len(labels), np.int64)

    def losses_of(self, pool: MultiLabelPool, items: Rows, labels: Int[np.ndarray, " n"]) -> Float[np.ndarray, "n D"]:
        """Return the losses of items with these labels, codes of label sets."""
        return self.spec.losses(pool.indicators[items], pool.label_space.indicators(labels))

    def on_own_cells(
        self, pool: Pool, cells: Cells, design: Design, state: State
    ) -> tuple[MultiLabelMetric, Cells, State]:
        """Put the measure on the cells of a session on another one, which the items themselves answer."""
        own = metric_cells(cells)
        return self, replace(own, measure=replace(own.measure, table=self.spec)), state

    def evidence(self, told: Labelled) -> dict[str, object]:
        """Return what the labelled items say of the measure, fields of `WeightedLabelSets`."""
        pool, cells, items, weights = label_set_pool(told.pool), label_set_cells(told.cells), told.items, told.weights
        complete = len(items) == pool.n_items
        if complete:
            weights = ItemWeights.all_known(pool.n_items)
        if weights is None:  # as if there were no labels
            items, weights = items[:0], ItemWeights.all_known(0)
        unlabelled = cells.sizes - np.bincount(cells.source.cells_of(items), minlength=cells.n_cells)
        answer = weighted_items_estimate(
            self.spec,
            self.losses_of(pool, items, told.codes[items]),
            weights,
            pool.n_items,
            cells.predicted,
            missing_items(told.inclusion, unlabelled),
            lambda: believed_risk(pool, self.spec, cells.lam),
            complete,
        )
        if not len(items):
            answer = answer._replace(
                value=self.spec.value(believed_risk(pool, self.spec, cells.lam)),
                defined=np.zeros(len(answer.value), bool),
            )
        return {"answer": answer, "all_covariances": answer.covariance}

    def truth(self, pool: Pool, labels: ArrayLike) -> Float[np.ndarray, "..."]:
        """Compute the exact answer from all labels of a pool; see `Question.truth`."""
        codes = pool.complete_codes(labels)
        return self._value(self.full_counts(pool, None, codes, 1))

    def full_counts(self, pool: Pool, cells: Cells | None, codes: Int[np.ndarray, " M"], n_outcomes: int) -> np.ndarray:
        """Return the mean losses at full labels, (D,): cells do not tell what the labels are."""
        pool = label_set_pool(pool)
        total = np.zeros(self.spec.n_losses(pool.n_classes))
        for start in range(0, pool.n_items, CHUNK):
            items = slice(start, start + CHUNK)
            total += self.losses_of(pool, items, codes[items]).sum(0)
        return total / pool.n_items

    def truth_of_counts(self, cells: Cells, full: Float[np.ndarray, " D"]) -> Float[np.ndarray, "..."]:
        """Compute the measure from the mean losses at full labels."""
        return self._value(full)

    def study_intervals(self, campaigns: Simulated, level: float) -> np.ndarray:
        """Return the intervals of simulated campaigns, (R, B, *answer, 2)."""
        ends = campaigns.record.interval(self.spec.ranges, level)
        return ends[..., 0, :] if self._is_scalar(self.spec.outputs) else ends

    def _value(self, risk: Float[np.ndarray, " D"]) -> Float[np.ndarray, "..."]:
        return self.shaped(self.spec.outputs, self.spec.value(risk))


def label_set_pool(pool: Pool) -> MultiLabelPool:
    """Return a pool whose items may have several labels; raise QuestionError for others."""
    if not isinstance(pool, MultiLabelPool):
        raise QuestionError("The items of this pool have one label each; pass multilabel=True to the pool.")
    return pool


def label_set_cells(cells: Cells) -> MultiLabelCells:
    """Return the cells of such a pool; raise QuestionError for others."""
    if not isinstance(cells, MultiLabelCells):
        raise QuestionError("These groups of items were made for another question.")
    return cells


def blended_scores(pool: MultiLabelPool, lam: float, items: Any = slice(None)) -> Float[np.ndarray, "n C"]:
    """Return the believed probabilities of labels: scores blended with their mean over the pool, class by class.

    Parameters
    ----------
    pool : MultiLabelPool
        Without scores every item has the shares of the predicted classes.
    lam : float in [0, 1]
        How far scores are trusted. With 1, items of sure scores would never be drawn.
    items : optional
        Which, all by default.

    Examples
    --------
    >>> import bayes_assess as ba
    >>> pool = ba.Pool(scores=[[1.0, 0.0], [0.0, 0.0]], multilabel=True)
    >>> blended_scores(pool, 0.9).round(3).tolist()
    [[0.95, 0.0], [0.05, 0.0]]
    """
    if pool.scores is None:
        return np.broadcast_to(pool.indicators.mean(0), pool.indicators[items].shape)
    return lam * pool.scores[items].astype(np.float64) + (1 - lam) * pool.scores.mean(0, dtype=np.float64)


def believed_risk(pool: MultiLabelPool, measure: MultiLabelMeasure, lam: float) -> Float[np.ndarray, " D"]:
    """Return the mean losses that the scores make one expect.

    Examples
    --------
    >>> import bayes_assess as ba
    >>> pool = ba.Pool(scores=[[1.0, 0.0], [0.0, 0.0]], multilabel=True)
    >>> believed_risk(pool, multilabel_measure("hamming_loss"), 1.0).tolist()
    [0.0]
    """
    total = np.zeros(measure.n_losses(pool.n_classes))
    for start in range(0, pool.n_items, CHUNK):
        items = slice(start, start + CHUNK)
        total += measure.expected_losses(pool.indicators[items], blended_scores(pool, lam, items)).sum(0)
    return total / pool.n_items


def item_deviations(pool: MultiLabelPool, measure: MultiLabelMeasure, lam: float) -> Float[np.ndarray, " M"]:
    """Return how far the labels of every item can be expected to move the measure, up to a factor.

    Examples
    --------
    >>> import bayes_assess as ba
    >>> pool = ba.Pool(scores=[[0.5, 0.0], [1.0, 0.0]], multilabel=True)
    >>> item_deviations(pool, multilabel_measure("accuracy"), 1.0).round(3).tolist()
    [1.0, 0.447]
    """
    risk, deviations = believed_risk(pool, measure, lam), np.empty(pool.n_items)
    for start in range(0, pool.n_items, CHUNK):
        items = slice(start, start + CHUNK)
        deviations[items] = measure.deviations(pool.indicators[items], blended_scores(pool, lam, items), risk)
    greatest = deviations.max()
    return np.round(deviations / greatest, _DIGITS) if greatest > 0 else deviations
