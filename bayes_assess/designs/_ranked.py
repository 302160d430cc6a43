"""What all designs for the precision of a ranked list are to sessions and to the simulator.

A design works in rounds. A plan cuts the list into strata of ranks and wants so many labels of each, of items drawn at
random; once they are told, the design refines the plan, or is done. Nothing here is of the length of the list.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar, NamedTuple, Protocol

import numpy as np

from bayes_assess._tools.shapes import Float, Int
from bayes_assess.acquisition.precision_curve import prefix_length, strata_needed
from bayes_assess.acquisition.precision_envelope import Envelope
from bayes_assess.estimators.precision_band import RateBand
from bayes_assess.estimators.precision_bounds import lowest_precision_bound, samples_per_point
from bayes_assess.estimators.ranked_labels import RankedLabels, debiased, debiased_interval

_PILOT = 200  # labels of the first guess at the lowest precision
_PILOT_GROWTH = 1.25
_PRECISE_ENOUGH = 0.9  # lower bound of the lowest precision, as a share of its estimate


class Promise(NamedTuple):
    """What is promised of a curve, and what is assumed of the list; see `PrecisionCurve` for the parameters."""

    epsilon: float
    beta: float
    delta: float
    monotone_from: int
    slack: int
    p_min: float | None
    eta: float

    @property
    def delta_of_samples(self) -> float:
        """Probability of error that is left for the queries, after that of bounding the lowest precision."""
        return self.delta if self.p_min is not None else self.delta / 2

    def samples(self, n_points: int, p_min: float) -> int:
        """Return the labels that a query takes when there are so many of them ([ADA] eq. 5)."""
        return samples_per_point(n_points, self.beta, self.delta_of_samples, p_min, self.eta)


class Band(Protocol):
    """Bounds of a precision curve at all ranks; an `Envelope`, or what another design knows."""

    by_windows: ClassVar[bool]  # whether bounds are of windows, whose shares of positives fall

    @property
    def ranks(self) -> Int[np.ndarray, " k"]:
        """Ranks that the bounds come from, increasing."""
        ...

    @property
    def break_points(self) -> Int[np.ndarray, " q"]:
        """Ranks between which every bound is the sharpest of some that rise or fall with the rank."""
        ...

    def lower_at(self, ranks: Int[np.ndarray, " n"]) -> Float[np.ndarray, " n"]:
        """Compute the least precision at ranks from the first of the band on."""
        ...

    def upper_at(self, ranks: Int[np.ndarray, " n"]) -> Float[np.ndarray, " n"]:
        """Compute the greatest precision at such ranks."""
        ...


class SamplingPlan(NamedTuple):
    """Strata of ranks and the labels wanted of each.

    Attributes
    ----------
    edges : (k,) increasing ranks
        Last rank of every stratum; the first stratum begins at rank 1, the last one ends at N.
    wanted : (k,) integers
        Labels of random items of every stratum.
    p_min : float or None
        Lower bound of the lowest precision, once it is known.
    done : bool
        Whether the labels suffice.
    """

    edges: Int[np.ndarray, " k"]
    wanted: Int[np.ndarray, " k"]
    p_min: float | None = None
    done: bool = False

    @property
    def sizes(self) -> Int[np.ndarray, " k"]:
        """Items of every stratum."""
        return np.diff(self.edges, prepend=0)


@dataclass(frozen=True)
class RankedDesign(ABC):
    """The interface of designs for ranked lists: frozen dataclasses whose fields are their options."""

    name: ClassVar[str]
    of_ranks: ClassVar[bool] = True
    learns: ClassVar[bool] = True  # its labels have a say in what a campaign chooses
    weighs: ClassVar[bool] = False  # as of `Design`

    @property
    def random_size(self) -> bool:
        """Whether a batch has the asked-for size only on average: never."""
        return False

    def strata_of(self, pool: object) -> None:
        """Return what a pool is cut by: nothing."""
        return None

    def start(self, promise: Promise, n_items: int) -> SamplingPlan:
        """Return the first plan: the head of the list whole, and a sample of the rest.

        Examples
        --------
        >>> from bayes_assess.designs.ranked import AdaStrat
        >>> promise = Promise(0.1, 1.2, 0.05, 1, 20, 0.5, 0.0)
        >>> AdaStrat().start(promise, 100_000).wanted.tolist()
        [116, 185]
        """
        if promise.p_min is not None:
            return self.planned(promise, n_items, promise.p_min)
        head = min(self.head(promise, n_items), n_items)
        return plan_of(np.array([head, n_items]), np.array([head, _PILOT]), None)

    def refine(self, promise: Promise, labels: RankedLabels, plan: SamplingPlan) -> SamplingPlan:
        """Return the plan after this one, whose labels are all told."""
        if plan.p_min is not None:
            return self.next_plan(promise, labels, plan)
        p_min = _lowest_precision(promise, labels, plan)
        if p_min is None:
            more = np.append(plan.wanted[:-1], math.ceil(_PILOT_GROWTH * plan.wanted[-1]))
            return plan_of(plan.edges, more, None)
        return self.planned(promise, labels.n_items, p_min)

    def next_plan(self, promise: Promise, labels: RankedLabels, plan: SamplingPlan) -> SamplingPlan:
        """Return the plan after one whose lowest precision is bounded: none, unless a design looks at the labels."""
        return plan._replace(done=True)

    def head(self, promise: Promise, n_items: int) -> int:
        """Return how many of the first items are labelled one and all."""
        return prefix_length(promise.epsilon, promise.slack, promise.monotone_from)

    @abstractmethod
    def planned(self, promise: Promise, n_items: int, p_min: float) -> SamplingPlan:
        """Return the first plan for a list whose precision is nowhere below `p_min`."""

    def band(self, promise: Promise, labels: RankedLabels, plan: SamplingPlan, delta: float | None) -> Band:
        """Return what the labels say of the curve.

        Parameters
        ----------
        delta : float or None
            Probability with which it may not hold the curve; None: take estimates as if they were exact, corrected
            for the errors of annotators.
        """
        estimated = self.queried(promise, plan)
        ranks = np.union1d(self.known(promise, labels, plan), estimated)
        values = labels.precision_at(ranks)
        if delta is None:
            values = debiased(values, promise.eta)
            return self._envelope(promise, ranks, values, values, labels.n_items)
        radius = labels.radius_at(ranks, delta / (2 * len(estimated)), noisy=promise.eta > 0)
        ends = debiased_interval(values - radius, values + radius, promise.eta)
        return RateBand(self._envelope(promise, ranks, *ends, labels.n_items), delta / 2)

    def _envelope(
        self,
        promise: Promise,
        ranks: Int[np.ndarray, " k"],
        lower: Float[np.ndarray, " k"],
        upper: Float[np.ndarray, " k"],
        n_items: int,
    ) -> Envelope:
        return Envelope(ranks, lower, upper, self.slack(promise, n_items), n_items, promise.monotone_from)

    def queried(self, promise: Promise, plan: SamplingPlan) -> Int[np.ndarray, " k"]:
        """Return the ranks whose precision the labels estimate."""
        return plan.edges

    def known(self, promise: Promise, labels: RankedLabels, plan: SamplingPlan) -> Int[np.ndarray, " n"]:
        """Return further ranks whose precision the labels show: none, unless a design looks into the head."""
        return np.zeros(0, np.int64)

    def slack(self, promise: Promise, n_items: int) -> int:
        """Return how far apart ranks are whose precisions are known to decrease."""
        return promise.slack


def queries(promise: Promise, ranks: Int[np.ndarray, " k"], p_min: float) -> SamplingPlan:
    """Plan to label the items up to the first rank, and to query the others."""
    s = promise.samples(max(len(ranks) - 1, 1), p_min)
    return plan_of(ranks, np.append(ranks[0], strata_needed(ranks[1:], int(ranks[0]), s)), p_min)


def plan_of(edges: np.ndarray, wanted: np.ndarray, p_min: float | None) -> SamplingPlan:
    """Make a plan, leaving out strata without items."""
    edges = edges.astype(np.int64)
    sizes = np.diff(edges, prepend=0)
    has_items = sizes > 0
    return SamplingPlan(edges[has_items], np.minimum(wanted, sizes)[has_items].astype(np.int64), p_min)


def _lowest_precision(promise: Promise, labels: RankedLabels, plan: SamplingPlan) -> float | None:
    """Bound the precision of the whole list from below; None while the bound is not precise enough."""
    n, positive = labels.counts(plan.edges)
    tail = len(plan.edges) - 1
    estimate = float(labels.precision_at(plan.edges)[-1])
    if n[tail] == plan.sizes[tail]:
        return max(estimate, 1 / labels.n_items)
    lowest = lowest_precision_bound(int(n[tail]), positive[tail] / max(n[tail], 1), promise.delta / 2)
    bound = (positive[:tail].sum() + plan.sizes[tail] * max(lowest, 0.0)) / labels.n_items
    if promise.eta:
        bound = min(bound, (bound - promise.eta) / (1 - 2 * promise.eta))
    return float(bound) if bound >= _PRECISE_ENOUGH * estimate and bound > 0 else None
