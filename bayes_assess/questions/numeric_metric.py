"""Measures of labels that are numbers, such as mean absolute errors and R2: what `Metric` asks of a pool of numbers."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, cast

import numpy as np

from bayes_assess._tools.arrays import CHUNK, listing, show
from bayes_assess._tools.shapes import ArrayLike, Float, Int
from bayes_assess.acquisition.asked_deviations import AskedDeviations
from bayes_assess.designs import NUMERIC
from bayes_assess.errors import PriorError, QuestionError
from bayes_assess.estimators.weighted_numbers import numbers_interval
from bayes_assess.measures import GroupedRealMeasures, RealMeasures
from bayes_assess.pool.cells import Cells, cells
from bayes_assess.pool.groups import Partition, partition
from bayes_assess.pool.numbers import NumberPool
from bayes_assess.pool.pool import Pool
from bayes_assess.pool.rank_strata import cuts_ranks
from bayes_assess.pool.strata import Strata
from bayes_assess.questions._event_cells import MetricCells
from bayes_assess.questions._events import of_label_sets
from bayes_assess.questions._score_prior import ScorePrior
from bayes_assess.questions._setting import Simulated
from bayes_assess.questions.metric import Metric

if TYPE_CHECKING:
    from bayes_assess.models.belief import GivenPrior
    from bayes_assess.pool.items import Rows


_MOST_GROUPS = 50  # that measures are told apart for
_DIGITS = 9  # of deviations, so that machines that round sums in another way cut the same strata
_NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(8)
_WEIGHTS = _WEIGHTS / _WEIGHTS.sum()


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
    titled: ClassVar[str] = "{name}"
    numeric: ClassVar[bool] = True
    oracles: ClassVar[tuple[str, ...]] = ("deterministic",)
    default_design: ClassVar[str] = "poisson"
    default_designs: ClassVar[tuple[str, ...]] = ("passive", "poisson")
    group_names: tuple[str, ...] = field(default=(), init=False, repr=False)  # as `for_pool` finds them

    @property
    def designs(self) -> tuple[str, ...]:
        """Designs whose draws do not depend on labels."""
        return NUMERIC

    @property
    def f_alpha(self) -> None:
        """None: it is no F-measure."""
        return None

    @property
    def is_of_order(self) -> bool:
        """No: numbers have no order of scores."""
        return False

    def __post_init__(self) -> None:
        super().__post_init__()
        self._refuse_options("labels that are numbers", "They are of the pool's own predictions.", but=("by",))
        if self.by is not None and not isinstance(self.by, str):
            raise QuestionError(f"Measures of numbers are asked by a column of groups; found by={show(self.by)}.")

    @cached_property
    def whole(self) -> RealMeasures:
        """The measures, of all items."""
        found = RealMeasures.of(self.measure)
        assert found is not None  # `Metric.for_pool` has seen to it
        return found

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
        names = tuple(f"{self.by} {name}" for name in _groups(pool, self.by)[0].tolist())
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

    def labelled_pool(self, pool: Any) -> NumberPool:
        """Return the pool whose labels are taken as they are told."""
        return pool.exact

    def default_design_on(self, pool: Pool) -> str:
        """Return ``"poisson"``."""
        return self.default_design

    def default_designs_on(self, pool: Pool) -> tuple[str, ...]:
        """Return random items, and the default design."""
        return self.default_designs

    def cells(self, pool: Any, seed: int, strata: Any = None) -> MetricCells:
        """Collapse the pool into strata, by default of the deviations, or into one cell where a design asks for none.

        Where deviations are all alike, as nothing is known of the errors, it is the predictions that are cut.
        """
        if cuts_ranks(strata):
            raise QuestionError("Calibration curves are of classes; labels='curve' cannot serve measures of numbers.")
        h = item_deviations(pool, self.whole, None if self.by is None else _groups(pool, self.by)[1])
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
        if isinstance(prior, ScorePrior) and np.shape(prior.mean) == (cells.n_cells, 2):
            return prior
        if prior is not None or strength is not None:
            raise PriorError(f"{self.name} takes no prior and no prior_strength where labels are numbers.")
        return ScorePrior(np.tile([1.0, 0.0], (cells.n_cells, 1)))

    def outcomes(self, pool: Pool, items: Int[np.ndarray, " N"], labels: Int[np.ndarray, " N"]) -> np.ndarray:
        """Return the outcome of labels of items that were asked for."""
        return np.zeros(len(labels), np.int64)

    def outcomes_on(self, cells: Cells, pool: Pool, items: Int[np.ndarray, " n"], labels: np.ndarray) -> np.ndarray:
        """Return the outcome of labels of items that were asked for."""
        return np.zeros(len(labels), np.int64)

    def losses_of(self, pool: NumberPool, items: Rows, labels: Float[np.ndarray, " n"]) -> Float[np.ndarray, "n D"]:
        """Return the losses of items with these labels, numbers; of groups, those of their own."""
        centre = _centre(pool, self.whole)
        losses, spec = self.whole.losses(labels - centre, pool.numbers[items] - centre), cast("Any", self.spec)
        return losses if self.by is None else spec.grouped(losses, _groups(pool, str(self.by))[1][items])

    def losses_of_any(self, pool: NumberPool, items: Rows, labels: Float[np.ndarray, " n"]) -> Float[np.ndarray, "n D"]:
        """Return the losses that items with these labels would have in every group, (n G, D)."""
        spec: Any = self.spec
        if self.by is None:
            return self.losses_of(pool, items, labels)
        centre = _centre(pool, self.whole)
        losses = self.whole.losses(labels - centre, pool.numbers[items] - centre)
        return np.concatenate([spec.grouped(losses, np.full(len(losses), g)) for g in range(len(spec.names))])

    def truth(self, pool: Pool, labels: ArrayLike) -> Float[np.ndarray, "..."]:
        """Compute the exact answer from all labels of a pool; see `Question.truth`."""
        exact = self.labelled_pool(pool)
        codes, asked = exact.label_space.complete_codes(labels, exact.n_items), self.for_pool(exact)
        return asked._value(asked.full_counts(exact, None, codes, 2))

    def full_counts(self, pool: Any, cells: Any, codes: Int[np.ndarray, " M"], n_outcomes: int) -> np.ndarray:
        """Return the mean losses at full labels, (D,): cells do not tell what the labels are."""
        return self.losses_of(pool, slice(None), pool.label_space.names(codes)).mean(0)

    def truth_of_counts(self, cells: Cells, full: Float[np.ndarray, " D"]) -> Float[np.ndarray, "..."]:
        """Compute the measure from the mean losses at full labels."""
        return self._value(full)

    def study_intervals(self, campaigns: Simulated, level: float) -> np.ndarray:
        """Return the intervals of simulated campaigns, (R, B, *answer, 2)."""
        ends = numbers_interval(campaigns.record, self.spec.ranges, level)
        return ends[..., 0, :] if self._is_scalar(self.spec.outputs) else ends

    def _value(self, risk: Float[np.ndarray, " D"]) -> Float[np.ndarray, "..."]:
        return self.shaped(self.spec.outputs, self.spec.value(risk))


def believed_risk(
    pool: NumberPool, spec: RealMeasures, items: Int[np.ndarray, " n"] | None = None
) -> Float[np.ndarray, " D"]:
    """Return the mean losses that predictions, and how far off they are expected to be, make one expect.

    Labels are taken to be y = f + u z, with predictions f, their spread u and normal z, by Gauss-Hermite quadrature.
    Where nothing is known of it, u is the standard deviation of the predictions.

    Parameters
    ----------
    pool : NumberPool
    spec : RealMeasures
    items : (n,), optional
        Whose losses are averaged; those of all items by default.

    Examples
    --------
    >>> pool = NumberPool(predictions=[0.0, 5.0], scores=[1.0, 3.0], bounds=(-np.inf, np.inf))
    >>> believed_risk(pool, RealMeasures.of("mse")).round(6).tolist()  # the mean of 1 and 9
    [5.0]
    """
    total, chosen = np.zeros(spec.n_losses), np.ones(pool.n_items, bool)
    if items is not None:
        chosen = np.isin(np.arange(pool.n_items), items)
    for part, losses in _expected(pool, spec):
        total += np.einsum("j,jnd->d", _WEIGHTS, losses[:, chosen[part]])
    return total / chosen.sum()


def believed_losses(pool: NumberPool, question: NumericMetric) -> Float[np.ndarray, " D"]:
    """Return the `believed_risk` of a question, (D,) or of every group, flat."""
    spec: Any = question.spec
    if question.by is None:
        return believed_risk(pool, spec)
    codes = _groups(pool, str(question.by))[1]
    of_groups = [np.flatnonzero(codes == g) for g in range(len(spec.names))]
    share = [len(items) / pool.n_items for items in of_groups]
    means = [np.append(believed_risk(pool, spec.whole, items), 1.0) for items in of_groups]
    return np.concatenate([p * mean for p, mean in zip(share, means, strict=True)])


def item_deviations(
    pool: NumberPool, spec: RealMeasures, group: Int[np.ndarray, " M"] | None = None
) -> Float[np.ndarray, " M"]:
    r"""Return how far the label of every item can be expected to move the measures, up to a factor.

    .. math:: h_i^2 = \sum_k E_{y \sim N(f_i, u_i^2)} (Dg_k(R_0) \, l(y, f_i))^2 / \bar h_k^2,

    each measure k in units of its mean square over the pool; see `believed_risk`. Of measures by `group` R_0 and the
    means are those of the item's group, and h is divided by the root of its share, as one label tells the more of a
    group the smaller that is.

    Examples
    --------
    >>> pool = NumberPool(predictions=[0.0, 5.0], scores=[1.0, 3.0], bounds=(-np.inf, np.inf))
    >>> item_deviations(pool, RealMeasures.of("mae")).round(6).tolist()
    [0.333333, 1.0]
    """
    codes = np.zeros(pool.n_items, np.int64) if group is None else group
    size = np.bincount(codes)
    of_groups = [None] if group is None else [np.flatnonzero(codes == g) for g in range(len(size))]
    jacobian = np.stack([spec.jacobian(believed_risk(pool, spec, items)) for items in of_groups])
    squares = np.empty((pool.n_items, spec.n_outputs))
    for items, losses in _expected(pool, spec):
        moves = np.einsum("jnd,nkd->jnk", losses, jacobian[codes[items]])
        squares[items] = np.einsum("j,jnk->nk", _WEIGHTS, moves**2)
    total = np.zeros((len(size), spec.n_outputs))
    np.add.at(total, codes, squares)
    scale = total / np.maximum(size, 1)[:, None]
    found = np.sqrt((squares / np.where(scale > 0, scale, 1)[codes]).sum(-1) * pool.n_items / size[codes])
    greatest = found.max()
    return np.round(found / greatest, _DIGITS) if greatest > 0 else np.ones(pool.n_items)


def _expected(pool: NumberPool, spec: RealMeasures) -> Any:
    """Go through the items, with their losses at the nodes, (J, n, D)."""
    u = expected_spread(pool)
    centre = _centre(pool, spec)
    for start in range(0, pool.n_items, CHUNK):
        items = slice(start, start + CHUNK)
        f = pool.numbers[items]
        y = np.clip(f + u[items] * _NODES[:, None], *pool.bounds)
        losses = spec.losses((y - centre).ravel(), np.tile(f - centre, len(_NODES)))
        yield items, losses.reshape(len(_NODES), len(f), -1)


def _centre(pool: NumberPool, spec: RealMeasures) -> float:
    """Return what is subtracted from all numbers, so that variances keep their digits.

    It is the mean prediction, with as few binary digits as its spread allows: whole numbers stay whole.
    """
    spread = pool.numbers.std()
    if not spec.shift_invariant or not spread > 0:
        return float(pool.numbers[0]) if spec.shift_invariant else 0.0
    unit = 2.0 ** np.floor(np.log2(spread))
    return float(np.rint(pool.numbers.mean() / unit) * unit)


def expected_spread(pool: NumberPool) -> Float[np.ndarray, " M"]:
    """Return how far off predictions are expected to be: as given, as systems differ, or as predictions vary.

    Examples
    --------
    >>> expected_spread(NumberPool(predictions=[0.0, 4.0], systems={"b": [2.0, 4.0]}, bounds=(-np.inf, np.inf)))
    array([1., 0.])
    """
    systems = pool.systems
    if pool.spread is not None and pool.spread.any():
        return np.asarray(pool.spread)
    if pool.spread is None and systems:
        found = np.std([pool.numbers, *systems.values()], axis=0)
        if found.any():
            return found
    return np.full(pool.n_items, pool.numbers.std() or 1.0)


def _groups(pool: Pool, by: str) -> tuple[np.ndarray, Int[np.ndarray, " M"]]:
    """Names of the groups of a column, and the group of every item."""
    if by not in pool.groups:
        raise QuestionError(
            f"There is no group column {show(by)} to ask by; the pool's group columns: "
            f"{listing(list(pool.groups)) if pool.groups else 'none'}."
        )
    names, codes = np.unique(pool.groups[by], return_inverse=True)
    return names, codes.reshape(-1)
