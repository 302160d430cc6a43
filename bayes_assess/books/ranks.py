"""The ranks of a campaign on a ranked list: which are handed out, which are labelled, and which come next."""

from __future__ import annotations

import numpy as np

from bayes_assess._tools.seeds import generator
from bayes_assess._tools.shapes import Bool, Int
from bayes_assess.designs.ranked import Promise, RankedDesign, SamplingPlan
from bayes_assess.estimators.ranked_labels import RankedLabels

_DENSE = 4  # strata of up to so many times the ranks taken and wanted are listed; in others ranks are tried


class RankBook:
    """What has become of the ranks of a list; sessions and simulated campaigns share it.

    Parameters
    ----------
    design : RankedDesign
    promise : Promise
    n_items : int
        N.
    seed : int
    positive : int
        Code of the label of positive items.

    Examples
    --------
    >>> from bayes_assess.designs.ranked import AdaStrat
    >>> book = RankBook(AdaStrat(), Promise(0.1, 1.2, 0.05, 1, 20, 0.5, 0.0), n_items=100_000, seed=0)
    >>> ranks = book.draw(3)
    >>> book.hand_out(ranks)
    >>> book.tell(ranks, np.array([1, 1, 0]))
    >>> book.labels.n_labelled, book.n_pending, book.done
    (3, 0, False)
    """

    def __init__(self, design: RankedDesign, promise: Promise, n_items: int, seed: int, positive: int = 1):
        self.design, self.promise, self.n_items = design, promise, n_items
        self._seed, self._positive = seed, positive
        self._taken = np.empty(0, np.int64)  # ranks handed out, labelled or set aside or neither, sorted
        self._skipped = np.empty(0, np.int64)  # those set aside, sorted
        self._released = np.empty(0, np.int64)  # ranks that were handed out and may be drawn again, sorted
        self._ranks, self._codes = np.empty((2, 0), np.int64)  # labelled ones, sorted by rank
        self.n_asked = 0
        self.plan = design.start(promise, n_items)  # that the labels have led to
        self._advance()

    @property
    def labels(self) -> RankedLabels:
        """All labels told."""
        return RankedLabels(self._ranks, self._codes == self._positive, self.n_items)

    @property
    def n_labelled(self) -> int:
        """Labels told so far."""
        return len(self._ranks)

    @property
    def n_skipped(self) -> int:
        """Ranks set aside."""
        return len(self._skipped)

    @property
    def n_pending(self) -> int:
        """Ranks handed out and not labelled yet."""
        return len(self._taken) - len(self._ranks) - len(self._skipped)

    @property
    def asked(self) -> Int[np.ndarray, " n"]:
        """Ranks that were drawn at some time, in their order: their labels are those of random ones."""
        return np.union1d(self._taken, self._released)

    @property
    def awaited(self) -> Int[np.ndarray, " n"]:
        """Ranks handed out and not labelled yet, in their order."""
        return np.setdiff1d(self._taken, np.append(self._ranks, self._skipped), assume_unique=True)

    @property
    def aside(self) -> Int[np.ndarray, " n"]:
        """Ranks set aside, in their order."""
        return self._skipped

    @property
    def told(self) -> tuple[Int[np.ndarray, " n"], Int[np.ndarray, " n"]]:
        """Labelled ranks, in their order, and the codes of their labels."""
        return self._ranks, self._codes

    @property
    def done(self) -> bool:
        """Whether the design needs no more labels."""
        return self.plan.done

    @property
    def lacking(self) -> Int[np.ndarray, " k"]:
        """Ranks of every stratum that are still to be handed out before the plan is refined."""
        asked = np.setdiff1d(self._taken, self._skipped, assume_unique=True)
        return np.maximum(self._wanted - _counts(self.plan, asked), 0) * (not self.plan.done)

    @property
    def n_wanted(self) -> int:
        """Labels, at least, after which the plan is refined; all there can be once it is done."""
        if self.plan.done:
            return self.n_items
        return int(np.maximum(self._wanted - _counts(self.plan, self._ranks), 0).sum())

    def draw(self, n: int) -> Int[np.ndarray, " n"]:
        """Draw up to `n` ranks that the plan lacks, in random order; the same ones again until they are handed out."""
        lacking, plan = self.lacking, self.plan
        rng = generator(self._seed, f"ranks {self.n_asked}")
        share = rng.multivariate_hypergeometric(lacking, min(n, int(lacking.sum())), method="marginals")
        starts = plan.edges - plan.sizes
        drawn = [
            self._fresh(rng, start, end, count) for start, end, count in zip(starts, plan.edges, share, strict=True)
        ]
        return rng.permutation(np.concatenate(drawn))

    def hand_out(self, ranks: Int[np.ndarray, " n"]) -> None:
        """Take note of ranks that somebody is to label."""
        self._take(ranks)
        self.n_asked += len(ranks)

    def tell(self, ranks: Int[np.ndarray, " n"], codes: Int[np.ndarray, " n"]) -> None:
        """Learn the labels of ranks that were handed out, each once."""
        self._take(ranks)
        ranks, codes = np.append(self._ranks, ranks), np.append(self._codes, codes)
        order = np.argsort(ranks)
        self._ranks, self._codes = ranks[order], codes[order]
        self._skipped = np.setdiff1d(self._skipped, ranks, assume_unique=True)
        self._advance()

    def correct(self, ranks: Int[np.ndarray, " n"], codes: Int[np.ndarray, " n"]) -> None:
        """Put labels right that were told; what they led to asking for stays asked for."""
        self._codes = self._codes.copy()
        self._codes[np.searchsorted(self._ranks, ranks)] = codes

    def skip(self, ranks: Int[np.ndarray, " n"]) -> None:
        """Set ranks aside that were handed out and nobody can label; others of their strata take their places."""
        self._take(ranks)
        self._skipped = np.union1d(self._skipped, ranks)
        self._advance()

    def put_back(self, ranks: Int[np.ndarray, " n"]) -> None:
        """Let ranks be drawn again that were handed out and have no label."""
        self._released = np.union1d(self._released, ranks)
        self._taken = np.setdiff1d(self._taken, ranks, assume_unique=True)
        self._skipped = np.setdiff1d(self._skipped, ranks, assume_unique=True)

    def unseen(self, ranks: Int[np.ndarray, " n"]) -> Bool[np.ndarray, " n"]:
        """Whether ranks have not been handed out, or were released since."""
        return ~_held(self._taken, ranks)

    def was_asked(self, ranks: Int[np.ndarray, " n"]) -> Bool[np.ndarray, " n"]:
        """Whether ranks were drawn at some time."""
        return _held(self._taken, ranks) | _held(self._released, ranks)

    def is_skipped(self, ranks: Int[np.ndarray, " n"]) -> Bool[np.ndarray, " n"]:
        """Whether ranks were set aside."""
        return _held(self._skipped, ranks)

    def codes_of(self, ranks: Int[np.ndarray, " n"]) -> Int[np.ndarray, " n"]:
        """Return the codes of the labels of ranks, -1 for those without one."""
        if not len(self._ranks):
            return np.full(len(ranks), -1)
        at = np.minimum(np.searchsorted(self._ranks, ranks), len(self._ranks) - 1)
        return np.where(self._ranks[at] == ranks, self._codes[at], -1)

    @property
    def _wanted(self) -> Int[np.ndarray, " k"]:
        """Labels that the plan wants of every stratum, or can get."""
        return np.minimum(self.plan.wanted, self.plan.sizes - _counts(self.plan, self._skipped))

    def _take(self, ranks: Int[np.ndarray, " n"]) -> None:
        """Let ranks be drawn no more."""
        new = np.sort(ranks[self.unseen(ranks)])
        self._taken = np.insert(self._taken, np.searchsorted(self._taken, new), new)
        self._released = np.setdiff1d(self._released, new, assume_unique=True)

    def _advance(self) -> None:
        """Refine the plan once it has all of its labels, so that it is the same whoever looks in between."""
        while not self.plan.done and (self._wanted <= _counts(self.plan, self._ranks)).all():
            plan = self.design.refine(self.promise, self.labels, self.plan)
            # A plan without a bound wants more labels; where it cannot, all are told but those of items set aside.
            stuck = plan.p_min is None and np.array_equal(plan.wanted, self.plan.wanted)
            self.plan = plan._replace(done=True) if stuck else plan

    def _fresh(self, rng: np.random.Generator, start: int, end: int, n: int) -> Int[np.ndarray, " n"]:
        """Draw `n` distinct ranks in (start, end] that are not taken."""
        if n == 0:
            return np.empty(0, np.int64)
        taken = self._taken[np.searchsorted(self._taken, start, "right") : np.searchsorted(self._taken, end, "right")]
        if end - start <= _DENSE * (len(taken) + n):
            free = np.setdiff1d(np.arange(start + 1, end + 1), taken, assume_unique=True)
            return rng.choice(free, n, replace=False)
        ranks = np.empty(0, np.int64)
        while len(ranks) < n:
            tried = rng.integers(start + 1, end + 1, n - len(ranks))
            # In the order of drawing: sorted, the first ones would be too low.
            _, first = np.unique(tried, return_index=True)
            tried = tried[np.sort(first)]
            ranks = np.append(ranks, tried[~_held(taken, tried) & ~np.isin(tried, ranks)])
        return ranks


def _held(held: Int[np.ndarray, " m"], ranks: Int[np.ndarray, " n"]) -> Bool[np.ndarray, " n"]:
    """Tell which ranks are among sorted ones: by bisection, as few are looked for among many."""
    if not len(held):
        return np.zeros(len(ranks), bool)
    return held[np.minimum(np.searchsorted(held, ranks), len(held) - 1)] == ranks


def _counts(plan: SamplingPlan, ranks: Int[np.ndarray, " n"]) -> Int[np.ndarray, " k"]:
    """Count sorted ranks by stratum."""
    return np.diff(np.searchsorted(ranks, plan.edges, side="right"), prepend=0)
