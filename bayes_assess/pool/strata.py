"""Strata for sampling designs: contiguous ranges of a score, or regions of a feature space.

Both are passed to `partition`. What sets them apart from `ScoreBins` is that they can be cut from any score or from
features, that none is empty, and that ties cost no strata elsewhere. How they are cut: `_strata`.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from bayes_assess._tools.arrays import first_nested, frozen, is_one_of, listing, show, values_of
from bayes_assess._tools.shapes import ArrayLike, Float
from bayes_assess.errors import PartitionError
from bayes_assess.pool._classes import codes_of
from bayes_assess.pool._cuts import (
    between,
    check_count,
    check_finite,
    clusters,
    csf_weights,
    distinct_scores,
    few_digits,
    first_of_each,
    grid_of,
    interval_names,
    occupied,
    share_out,
    shortfall,
    tree_leaves,
)
from bayes_assess.pool._scores import is_single
from bayes_assess.pool.groups import Cut, Partition
from bayes_assess.pool.pool import Pool

KINDS = ("csf", "geometric", "width", "weight")
Kind = Literal["csf", "geometric", "width", "weight"]


@dataclass(frozen=True, eq=False, repr=False)
class Strata(Cut):
    """Strata of a score, in increasing order: contiguous, never empty, equal scores always together.

    Parameters
    ----------
    n_strata : int
        How many strata, K. Fewer come out if there are fewer distinct scores, or if a grid leaves some without
        a score; `Partition.note` says so.
    kind : {"csf", "geometric", "width", "weight"}
        Equal shares of the cumulated square root of frequencies [DH59]_; edges in geometric progression [GH04]_;
        equal widths between the least and the largest score; or equal numbers of items as ties allow.
        Where scores are 0 and none is negative, the zeros are the first stratum and the progression runs over the
        rest. Where a score is negative, it runs over score - min + (max - min) / K.
    of : class name or array (M,), optional
        What is cut. By default P(positive) of a two-class pool with scores, else the confidence. Or the score of
        a class; or any finite scores, such as margins.
    n_fine : int, optional
        Fine bins of csf strata, between the least and the largest score. By default 4 per stratum, or 2 M^(1/3)
        (Rice's rule) if that is more. Many more than that make csf strata those of equal weight.

    Raises
    ------
    PartitionError
        If an option is out of range, or a given score is not a finite number.

    Notes
    -----
    A fine bin of f items weighs sqrt(f), which its items share evenly, so that it may be cut; a score of more than
    M / K items is a fine bin of its own. Csf and equal-weight strata all weigh the same, except that a score that
    outweighs one has it to itself and the others share the rest: as many strata as asked for come out of as many
    distinct scores. Csf strata are narrow where scores are rare, which under extreme imbalance is at the top;
    geometric ones at low scores.

    References
    ----------
    .. [DH59] T. Dalenius and J. L. Hodges, "Minimum variance stratification", JASA 54, 1959.
    .. [GH04] P. Gunning and J. M. Horgan, "A new algorithm for the construction of stratum boundaries in skewed
       populations", Survey Methodology 30, 2004.

    Examples
    --------
    >>> import bayes_assess as ba
    >>> from bayes_assess.pool.strata import Strata
    >>> pool = ba.Pool(scores=[0.10, 0.11, 0.12, 0.13, 0.14, 0.15, 0.16, 0.5, 0.7, 0.9])
    >>> strata = ba.partition(pool, Strata(3))
    >>> strata
    Partition(3 groups by 3 csf score strata)
    >>> strata.names.tolist(), strata.codes.tolist()
    (['[0.1, 0.15)', '[0.15, 0.7)', '[0.7, 0.9]'], [0, 0, 0, 0, 0, 1, 1, 1, 2, 2])
    """

    n_strata: int = 256
    kind: Kind = "csf"
    of: Any = None
    n_fine: int | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "n_strata", check_count("n_strata", self.n_strata))
        if not is_one_of(self.kind, KINDS):
            raise PartitionError(f"The kind must be one of {listing(KINDS)}, not {show(self.kind)}.")
        if self.n_fine is not None:
            object.__setattr__(self, "n_fine", check_count("n_fine", self.n_fine))
            if self.kind != "csf":
                raise PartitionError(
                    f'The number n_fine is that of fine bins of "csf" strata; leave it out for {self.kind}.'
                )
        scores = self.of.item() if isinstance(self.of, np.generic) else self.of
        object.__setattr__(
            self, "of", scores if scores is None or isinstance(scores, str | int) else _given_scores(scores)
        )

    def __repr__(self) -> str:
        scores = f"array of {len(self.of):,}" if isinstance(self.of, np.ndarray) else repr(self.of)
        return f"Strata(n_strata={self.n_strata}, kind={self.kind!r}, of={scores}, n_fine={self.n_fine})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Strata) and self._options() == other._options() and np.array_equal(self.of, other.of)

    def __hash__(self) -> int:
        return hash(self._options())

    def _options(self) -> tuple[object, ...]:
        scores = len(self.of) if isinstance(self.of, np.ndarray) else self.of
        return type(self.of).__name__, scores, self.n_strata, self.kind, self.n_fine

    def cut(self, pool: Pool) -> Partition:
        """Return the strata of a pool, as `partition` does.

        Parameters
        ----------
        pool : Pool
            M items.

        Returns
        -------
        Partition

        Raises
        ------
        PartitionError
            If the pool lacks the scores, or has another number of items than the array of scores.

        Examples
        --------
        >>> import bayes_assess as ba
        >>> Strata(2, "width").cut(ba.Pool(scores=[0.1, 0.4, 0.9])).codes.tolist()
        [0, 0, 1]
        """
        scores = _scores_of(pool, self.of)
        distinct, counts = distinct_scores(scores, pool.multiplicity)
        if self.kind in ("width", "geometric"):
            grid = grid_of(distinct, self.n_strata, self.kind)
            if is_single(distinct):  # 0.7 as float32 is less than 0.7, and reaches it
                grid = grid.astype(np.float32).astype(np.float64)
            edges = occupied(grid, distinct)
        else:
            weights = counts.astype(np.float64)
            if self.kind == "csf":
                weights = csf_weights(distinct, counts, self.n_strata, self.n_fine)
            edges = distinct[first_of_each(share_out(weights, self.n_strata))]
        n_occupied = len(edges)
        cause = "scores tie" if len(distinct) < self.n_strata else "no score lies in the others"
        note = shortfall(n_occupied, self.n_strata, "strata", pool.n_items, cause)
        edges = np.append(edges, distinct[-1]) + 0.0  # no negative zero
        codes = between(scores, edges)
        names = interval_names(few_digits(edges))
        return Partition(codes, frozen(names), f"{n_occupied} {self.kind} score strata", frozen(edges), note)


def _read(values: ArrayLike, what: str) -> np.ndarray:
    array = values_of(values)
    if first_nested(array) is not None:
        raise PartitionError(
            f"{what.capitalize()} must be numbers in rows of equal length, but the rows differ in length."
        )
    return array


def _given_scores(of: ArrayLike) -> Float[np.ndarray, " M"]:
    scores = _read(of, "scores to cut")
    if scores.ndim != 1 or scores.dtype.kind not in "biuf":
        raise PartitionError(
            f"Cannot cut scores of shape {scores.shape} ({scores.dtype}); pass a class name, or one number per item."
        )
    scores = scores.astype(np.float64, copy=False)
    check_finite(scores, "score")
    return frozen(scores)


def _scores_of(pool: Pool, of: Hashable | ArrayLike | None) -> Float[np.ndarray, " M"]:
    """Scores to cut, see `Strata`."""
    if isinstance(of, np.ndarray):
        pool.check_in_memory("An array of scores to cut has one for every item")
        if len(of) != pool.n_items:
            raise PartitionError(f"There are {len(of):,} scores to cut, but the pool has {pool.n_items:,} items.")
        return of
    if pool.margins is not None and not (of is None and pool.confidence is not None):
        return pool.margins if of is None or pool.label_codes([of])[0] == 1 else -pool.margins
    if of is None and (pool.scores is None or pool.n_classes != 2 or pool.multilabel):
        if pool.confidence is None:
            raise PartitionError(
                "Score strata need scores; pass scores or confidence to the pool, or an array of scores as of=..."
            )
        return pool.confidence
    if pool.scores is None:
        raise PartitionError(f"The pool has no scores of {show(of)} or any class; give it some by scores=[...].")
    column = 1
    if of is not None:
        codes, unknown = codes_of(np.asarray([of]), pool.classes)
        if unknown is not None:
            raise PartitionError(
                f"There is no class of={show(of)}: it is none of the classes ({listing(pool.classes)})."
            )
        column = int(codes[0])
    if pool.scores.ndim == 2:
        return pool.scores[:, column].astype(np.float64)
    positive = pool.scores.astype(np.float64)
    return positive if column else 1 - positive


@dataclass(frozen=True, eq=False, repr=False)
class FeatureStrata(Cut):
    """Strata of a feature space, in an order that puts similar ones side by side.

    Scale the features first: distances and widths are taken as they are.

    Parameters
    ----------
    features : array (M, F)
        Finite numbers. float32 is kept.
    n_strata : int
        How many strata. Fewer come out if there are fewer distinct rows; `Partition.note` says so.
    kind : {"k_d_tree", "k_means"}
        ``"k_d_tree"``: the leaves, from left to right, of a tree that always splits the largest leaf at the median of
        its widest feature. With a power of two of strata and no ties, a complete binary tree over the strata is
        that tree itself, and sizes differ by at most one. Equal rows stay together. ``"k_means"``: clusters of
        scikit-learn's ``MiniBatchKMeans``, in the order of the leaves of Ward's hierarchical clustering of their
        centres.
    seed : int
        Where k-means starts.

    Raises
    ------
    PartitionError
        If an option is out of range, or a feature is not a finite number.

    Examples
    --------
    >>> import bayes_assess as ba
    >>> from bayes_assess.pool.strata import FeatureStrata
    >>> pool = ba.Pool(predictions=[0, 0, 1, 1])
    >>> ba.partition(pool, FeatureStrata([[0, 0], [9, 1], [0, 1], [9, 0]], n_strata=2)).codes.tolist()
    [0, 1, 0, 1]
    """

    features: Any
    n_strata: int = 256
    kind: Literal["k_d_tree", "k_means"] = "k_d_tree"
    seed: int = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "n_strata", check_count("n_strata", self.n_strata))
        if not is_one_of(self.kind, ("k_d_tree", "k_means")):
            raise PartitionError(f'The kind must be "k_d_tree" or "k_means", not {show(self.kind)}.')
        if not isinstance(self.seed, int | np.integer) or not 0 <= self.seed < 2**32:
            raise PartitionError(f"Seed must be an integer from 0 to 2^32 - 1, not {show(self.seed)}.")
        features = _read(self.features, "features")
        if features.ndim != 2 or not features.shape[1] or features.dtype.kind not in "biuf":
            raise PartitionError(
                f"Features have shape {features.shape} ({features.dtype}); pass numbers, (items, features)."
            )
        if features.dtype not in (np.float32, np.float64):
            features = features.astype(np.float64)
        check_finite(features, "feature")
        object.__setattr__(self, "features", frozen(features))

    def __repr__(self) -> str:
        shape = " x ".join(f"{size:,}" for size in self.features.shape)
        return f"FeatureStrata(features={shape}, n_strata={self.n_strata}, kind={self.kind!r}, seed={self.seed})"

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, FeatureStrata)
            and self._options() == other._options()
            and np.array_equal(self.features, other.features)
        )

    def __hash__(self) -> int:
        return hash(self._options())

    def _options(self) -> tuple[object, ...]:
        return self.features.shape, self.features.dtype.str, self.n_strata, self.kind, int(self.seed)

    def cut(self, pool: Pool) -> Partition:
        """Return the strata of a pool, as `partition` does.

        Parameters
        ----------
        pool : Pool
            M items.

        Returns
        -------
        Partition

        Raises
        ------
        PartitionError
            If there are features of another number of items, or scikit-learn is missing and needed.

        Examples
        --------
        >>> import bayes_assess as ba
        >>> FeatureStrata([[0.0], [1.0], [1.0]], n_strata=3).cut(ba.Pool(predictions=[0, 0, 1]))
        Partition(2 groups by 2 k-d tree strata of 1 feature (2 of 3 strata: rows tie))
        """
        pool.check_in_memory("Strata of features are cut from a row of features for every item")
        if len(self.features) != pool.n_items:
            raise PartitionError(
                f"There are features of {len(self.features):,} items, but the pool has {pool.n_items:,}."
            )
        if self.kind == "k_d_tree":
            kind, name, cause = "k-d tree", "leaf", "rows tie"
            codes = tree_leaves(self.features, self.n_strata)
        else:
            kind, name, cause = "k-means", "cluster", "the other clusters are empty"
            codes = clusters(self.features, min(self.n_strata, pool.n_items), int(self.seed))
        n_occupied, width = int(codes.max()) + 1, self.features.shape[1]
        names = np.array([f"{name} {i}" for i in range(n_occupied)])
        note = shortfall(n_occupied, self.n_strata, "strata", pool.n_items, cause)
        description = f"{n_occupied} {kind} strata of {width} feature{'s' * (width != 1)}"
        return Partition(
            frozen(codes.astype(np.min_scalar_type(n_occupied - 1))), frozen(names), description, note=note
        )
