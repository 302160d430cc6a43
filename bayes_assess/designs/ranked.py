"""Designs for the precision of a ranked list at every rank: which ranks to query, and how many labels that takes."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from bayes_assess._tools.arrays import is_one_of, is_whole, show
from bayes_assess._tools.shapes import Float, Int
from bayes_assess._tools.suggestions import did_you_mean
from bayes_assess.acquisition.precision_curve import (
    bisect,
    geometric_ranks,
    random_prefix,
    telling_ranks,
)
from bayes_assess.designs._base import Design
from bayes_assess.designs._ranked import Band as Band
from bayes_assess.designs._ranked import Promise as Promise
from bayes_assess.designs._ranked import RankedDesign as RankedDesign
from bayes_assess.designs._ranked import SamplingPlan as SamplingPlan
from bayes_assess.designs._ranked import plan_of, queries
from bayes_assess.designs.variance_reduction import VarianceReduction
from bayes_assess.errors import BudgetError, DesignError
from bayes_assess.estimators.precision_windows import window_bounds
from bayes_assess.estimators.ranked_labels import RankedLabels, debiased, debiased_interval

PREFIXES = ("last", "every")


@dataclass(frozen=True)
class AdaStrat(RankedDesign):
    """Query where the curve is least known: bisect until its envelope is narrow enough ([ADA] Algorithm 1).

    Parameters
    ----------
    prefix : {"last", "every"}
        Ranks of the head, which is labelled whole, that bound the curve beyond it: its last one, or every one, as
        Algorithm 1 has it. Where annotators err its precisions are not known, and the last one alone is taken.

    Raises
    ------
    DesignError
        If `prefix` is neither.

    Examples
    --------
    >>> AdaStrat(prefix="every").name
    'adastrat'
    """

    prefix: str = "last"

    name: ClassVar[str] = "adastrat"

    def __post_init__(self) -> None:
        if not is_one_of(self.prefix, PREFIXES):
            raise DesignError(
                f"The prefix bounds a curve by its 'last' rank or 'every' one; found {show(self.prefix)}."
            )

    def planned(self, promise: Promise, n_items: int, p_min: float) -> SamplingPlan:
        """Query the last rank."""
        head = min(self.head(promise, n_items), n_items)
        return queries(promise, np.unique([head, n_items]), p_min)

    def next_plan(self, promise: Promise, labels: RankedLabels, plan: SamplingPlan) -> SamplingPlan:
        """Query the middles of all intervals that are not narrow enough; earlier queries get the labels they lack."""
        assert plan.p_min is not None  # refine sees to it
        known = self.known(promise, labels, plan)
        ranks = np.union1d(known, plan.edges)
        estimates = debiased(labels.precision_at(ranks), promise.eta)
        heights = self._envelope(promise, ranks, estimates, estimates, labels.n_items).gaps()[len(known) :]
        new = bisect(plan.edges, heights, promise.epsilon)
        if not len(new):
            return plan._replace(done=True)
        return queries(promise, np.union1d(plan.edges, new), plan.p_min)

    def known(self, promise: Promise, labels: RankedLabels, plan: SamplingPlan) -> Int[np.ndarray, " n"]:
        """Return the ranks of the head that bound the curve beyond it, besides the last one."""
        head = int(plan.edges[0])
        if self.prefix == "last" or promise.eta or labels.counts(plan.edges)[0][0] < head:
            return super().known(promise, labels, plan)
        precision = labels.precision_at(np.arange(1, head + 1))
        return telling_ranks(precision, self.slack(promise, labels.n_items), promise.monotone_from)


@dataclass(frozen=True)
class LogStrat(RankedDesign):
    """Query ranks that grow geometrically ([ADA] Theorem 1)."""

    name: ClassVar[str] = "logstrat"

    def planned(self, promise: Promise, n_items: int, p_min: float) -> SamplingPlan:
        """Query the whole grid."""
        head = min(self.head(promise, n_items), n_items)
        ranks = np.union1d([head, n_items], geometric_ranks(n_items, head, promise.epsilon))
        return queries(promise, ranks, p_min)


@dataclass(frozen=True)
class RandomRanks(RankedDesign):
    """Label the head, and random items of the rest alike: no shape of the curve is assumed ([ADA] section 2.1)."""

    name: ClassVar[str] = "random"

    def head(self, promise: Promise, n_items: int) -> int:
        """Return the length of the head that makes the labels fewest."""
        return self._head(promise, n_items, promise.p_min or 0.5)

    def planned(self, promise: Promise, n_items: int, p_min: float) -> SamplingPlan:
        """Sample the rest as densely as its first item needs."""
        return self._planned(promise, n_items, p_min, self._head(promise, n_items, p_min))

    def refine(self, promise: Promise, labels: RankedLabels, plan: SamplingPlan) -> SamplingPlan:
        """Return the plan after this one, whose first stratum stays one: its labels are no random ones of a longer."""
        new = super().refine(promise, labels, plan)
        if plan.p_min is not None or new.p_min is None:
            return new
        first, head = int(plan.edges[0]), int(new.edges[0])
        if head <= first:
            return self._planned(promise, labels.n_items, new.p_min, first)
        edges, wanted = np.append(first, new.edges), np.append([first, head - first], new.wanted[1:])
        return plan_of(edges, wanted, new.p_min)

    def next_plan(self, promise: Promise, labels: RankedLabels, plan: SamplingPlan) -> SamplingPlan:
        """Take the strata for one that are labelled whole; nothing else is wanted."""
        whole = np.flatnonzero(plan.wanted == plan.sizes)[-1]
        wanted = np.append(plan.edges[whole], plan.wanted[whole + 1 :])
        return plan._replace(edges=plan.edges[whole:], wanted=wanted, done=True)

    def queried(self, promise: Promise, plan: SamplingPlan) -> Int[np.ndarray, " k"]:
        """Return the grid on which precisions are estimated from the one sample."""
        head, n_items = int(plan.edges[0]), int(plan.edges[-1])
        return np.union1d(plan.edges, geometric_ranks(n_items, head, promise.epsilon))

    def slack(self, promise: Promise, n_items: int) -> int:
        """Return N: precisions of no two ranks need decrease."""
        return n_items

    def _planned(self, promise: Promise, n_items: int, p_min: float, head: int) -> SamplingPlan:
        s = self._samples(promise, n_items, p_min)
        wanted = np.array([head, math.ceil((n_items - head) * min(1.0, s / head))])
        return plan_of(np.array([head, n_items]), wanted, p_min)

    def _head(self, promise: Promise, n_items: int, p_min: float) -> int:
        return min(random_prefix(n_items, self._samples(promise, n_items, p_min)), n_items)

    def _samples(self, promise: Promise, n_items: int, p_min: float) -> int:
        return promise.samples(max(1, math.ceil(math.log(n_items, 1 + promise.epsilon))), p_min)


@dataclass(frozen=True)
class Paula(RankedDesign):
    """Label a window of items at each rank of a grid that grows geometrically ([PAULA]).

    The share of positives is taken to fall from each window to the next, which weak monotonicity does not imply.

    Parameters
    ----------
    window : int
        Items of a window.

    Examples
    --------
    >>> promise = Promise(0.1, 1.2, 0.05, 1, 20, None, 0.0)
    >>> Paula(window=10).start(promise, 200).wanted.tolist()  # the head, then gaps and windows
    [116, 0, 10, 0, 10, 0, 10, 0, 10, 0, 10]
    """

    window: int = 100

    name: ClassVar[str] = "paula"

    def __post_init__(self) -> None:
        if not is_whole(self.window):
            raise DesignError(f"A window has a whole number of items, 1 or more; found {show(self.window)}.")

    def start(self, promise: Promise, n_items: int) -> SamplingPlan:
        """Return the only plan: the head and all windows whole."""
        return self.planned(promise, n_items, 1.0)

    def planned(self, promise: Promise, n_items: int, p_min: float) -> SamplingPlan:
        """Label the head and all windows."""
        head = min(self.head(promise, n_items), n_items)
        grid = geometric_ranks(n_items, head, promise.epsilon)
        begin = np.maximum(grid - self.window, np.append(head, grid[:-1]))
        edges = np.append(head, np.stack([begin, grid], axis=-1))
        wanted = np.append(head, np.stack([np.zeros_like(grid), grid - begin], axis=-1))
        return plan_of(edges, wanted, p_min)

    def band(self, promise: Promise, labels: RankedLabels, plan: SamplingPlan, delta: float | None) -> Band:
        """Bound the positives between windows by the precision of both; labels that are missing may be anything.

        For estimates they are like the others of their window; of one without labels, half of them are positive.
        """
        n, positive = labels.counts(plan.edges)
        windows = plan.wanted > 0
        ranks = plan.edges[windows]
        n, positive, size = n[windows], positive[windows], plan.wanted[windows]
        if delta is None:
            share = np.divide(positive, n, out=np.full(len(n), 0.5), where=n > 0)
            shares = [debiased(share, promise.eta)] * 2
        else:
            shares = debiased_interval(positive / size, (positive + size - n) / size, promise.eta)
        ends = [window_bounds(ranks, share, share[0] * size[0]) for share in shares]
        return WindowBand(ranks, ends[0].lower, ends[1].upper)


@dataclass(frozen=True, eq=False)
class WindowBand:
    """A band from bounds of the positives down to the ranks of a grid, linear in between.

    Attributes
    ----------
    ranks : (k,) increasing
    fewest, most : (k,)

    Examples
    --------
    >>> band = WindowBand(np.array([100, 200]), np.array([90.0, 150.0]), np.array([90.0, 180.0]))
    >>> band.lower_at(np.array([150])).tolist(), band.upper_at(np.array([150])).tolist()
    ([0.8], [0.9])
    """

    ranks: Int[np.ndarray, " k"]
    fewest: Float[np.ndarray, " k"]
    most: Float[np.ndarray, " k"]
    by_windows: ClassVar[bool] = True

    @property
    def break_points(self) -> Int[np.ndarray, " k"]:
        """The ranks of the grid."""
        return self.ranks

    def lower_at(self, ranks: Int[np.ndarray, " n"]) -> Float[np.ndarray, " n"]:
        """Compute the least precision."""
        return np.interp(ranks, self.ranks, self.fewest) / ranks

    def upper_at(self, ranks: Int[np.ndarray, " n"]) -> Float[np.ndarray, " n"]:
        """Compute the greatest precision."""
        return np.interp(ranks, self.ranks, self.most) / ranks


_TRIED = 60  # looser promises, before none is found to be within reach

RANKED_DESIGNS: dict[str, type[RankedDesign]] = {
    design.name: design for design in (AdaStrat, LogStrat, Paula, RandomRanks)
}


def is_ranked(design: object) -> bool:
    """Whether this is a design of ranked lists, or the name of one.

    Examples
    --------
    >>> is_ranked("adastrat"), is_ranked("variance_reduction")
    (True, False)
    """
    return ranked_design(design) is not None


def ranked_design(design: object) -> RankedDesign | None:
    """Return a design of ranked lists, given or by its name; None of all others.

    Examples
    --------
    >>> ranked_design("adastrat"), ranked_design("thompson")
    (AdaStrat(prefix='last'), None)
    """
    if isinstance(design, str):
        return RANKED_DESIGNS[design]() if design in RANKED_DESIGNS else None
    return design if isinstance(design, RankedDesign) else None


def find_curve_design(design: object) -> RankedDesign | Design:
    """Return the design of that name, or the given one, if it serves precision curves.

    Raises
    ------
    DesignError
        If it does not.

    Examples
    --------
    >>> find_curve_design("adastrat")
    AdaStrat(prefix='last')
    """
    if isinstance(design, VarianceReduction):
        return design
    ranked = ranked_design(design)
    if ranked is not None:
        return ranked
    if isinstance(design, str) and design == VarianceReduction.name:
        return VarianceReduction()
    known = (*RANKED_DESIGNS, VarianceReduction.name)
    names, meant = ", ".join(map(repr, known)), did_you_mean(design, known) if isinstance(design, str) else ""
    called = repr(design.name) if isinstance(design, Design) else show(design)
    raise DesignError(f"{called} is no design for precision curves; these are: {names}.{meant}")


def check_budget(design: RankedDesign, promise: Promise, n_items: int, budget: int) -> None:
    """Raise BudgetError if a design cannot keep its promise with so many labels, and say what it could promise.

    Examples
    --------
    >>> promise = Promise(0.03, 1.05, 0.05, 1, 100, 0.5, 0.0)
    >>> check_budget(AdaStrat(), promise, 35_000_000, 20_000)
    >>> check_budget(AdaStrat(), promise, 35_000_000, 1_000)
    Traceback (most recent call last):
    bayes_assess.errors.BudgetError: Design 'adastrat' needs 4,695 labels or more ...
    """
    least = _least_labels(design, promise, n_items)
    if least <= budget:
        return
    times = np.geomspace(1, 1 / promise.epsilon, _TRIED)
    looser = [_looser(promise, t) for t in times]
    good = [candidate for candidate in looser if _least_labels(design, candidate, n_items) <= budget]
    reach = (
        f"with {budget:,} it can reach about epsilon={good[0].epsilon:.2g} and beta={good[0].beta:.3g} at best, where "
        "precision falls slowly"
        if good
        else f"no epsilon up to 1 is within reach of {budget:,}"
    )
    raise BudgetError(
        f"Design {design.name!r} needs {least:,} labels or more for epsilon={promise.epsilon:g} and "
        f"beta={promise.beta:g} on {n_items:,} items; {reach}."
    )


def _looser(promise: Promise, times: float) -> Promise:
    """Return a promise whose factors are further from 1 by so many times."""
    beta = 1 + promise.eta + (promise.beta - 1 - promise.eta) * times
    return promise._replace(epsilon=min(promise.epsilon * times, 1.0), beta=beta)


def _least_labels(design: RankedDesign, promise: Promise, n_items: int) -> int:
    """Return how many labels the first plan wants; a lowest precision that is not known may be a half."""
    return int(design.planned(promise, n_items, promise.p_min or 0.5).wanted.sum())
