"""Cutting a pool into groups: predicted classes, attributes, or bins of the confidence."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar, Literal, TypeAlias, TypeVar

import numpy as np

from bayes_assess._tools.arrays import first_missing, first_nested, frozen, is_one_of, listing, show, values_of
from bayes_assess._tools.coded import CodedColumn, factorised, taken_apart
from bayes_assess._tools.shapes import ArrayLike
from bayes_assess.errors import PartitionError
from bayes_assess.pool._columns import RESERVED
from bayes_assess.pool._cuts import check_count, check_finite, interval_names, shortfall
from bayes_assess.pool._scores import is_single, reached
from bayes_assess.pool.counting import Times, add_up, count
from bayes_assess.pool.pool import Pool, checked_pool

T = TypeVar("T")
_MOST_BINS = 1_000_000  # which take some gigabytes


class Cut(ABC):
    """What `partition` can cut a pool by, beside columns and arrays: `ScoreBins`, `Strata`, `FeatureStrata`."""

    of_ranks: ClassVar[bool] = False  # True of `RankStrata`
    of_deviations: ClassVar[bool] = False  # True of `DeviationStrata`

    @abstractmethod
    def cut(self, pool: Pool) -> Partition:
        """Return the groups of a pool; `partition` calls it."""


@dataclass(frozen=True)
class ScoreBins(Cut):
    """Bins of the confidence, as in reliability diagrams.

    Parameters
    ----------
    n_bins : int
        How many bins.
    kind : {"width", "weight"}
        Bins of equal width over [0, 1], empty ones included; or bins of as nearly equal numbers of items as ties
        allow, between the least and the largest confidence.

    Raises
    ------
    PartitionError
        If there is no bin, or the kind is unknown.

    Examples
    --------
    >>> import bayes_assess as ba
    >>> pool = ba.Pool(scores=[[0.95, 0.05], [0.3, 0.7], [0.0, 1.0]])
    >>> ba.partition(pool, ba.ScoreBins(5)).names.tolist()
    ['[0.0, 0.2)', '[0.2, 0.4)', '[0.4, 0.6)', '[0.6, 0.8)', '[0.8, 1.0]']
    """

    n_bins: int = 10
    kind: Literal["width", "weight"] = "width"

    def __post_init__(self) -> None:
        check_count("n_bins", self.n_bins)
        if self.n_bins > _MOST_BINS:
            raise PartitionError(f"There may be {_MOST_BINS:,} bins of the confidence at most; found {self.n_bins:,}.")
        if not is_one_of(self.kind, ("width", "weight")):
            raise PartitionError(f'The kind must be "width" or "weight", not {show(self.kind)}.')

    def cut(self, pool: Pool) -> Partition:
        """Return the bins of a pool, as `partition` does.

        Examples
        --------
        >>> import bayes_assess as ba
        >>> ba.ScoreBins(5).cut(ba.Pool(scores=[[0.95, 0.05], [0.3, 0.7]])).codes.tolist()
        [4, 3]
        """
        return _by_confidence(pool, self)


@dataclass(frozen=True, eq=False, repr=False)
class Groups:
    """What the groups of a partition are, without the items.

    Parameters
    ----------
    names, description, edges, note
        As in `Partition`.

    Examples
    --------
    >>> import bayes_assess as ba
    >>> ba.partition(ba.Pool(predictions=["cat", "dog", "cat"])).groups
    Groups(2 groups by prediction)
    """

    names: np.ndarray
    description: str
    edges: np.ndarray | None = None
    note: str | None = None

    @property
    def n_groups(self) -> int:
        """Number of groups, G."""
        return len(self.names)

    def __repr__(self) -> str:
        note = f" ({self.note})" if self.note else ""
        groups = f"{self.n_groups:,} group{'s' * (self.n_groups != 1)}"
        return f"{type(self).__name__}({groups} by {self.description}{note})"


@dataclass(frozen=True, eq=False, repr=False)
class Partition:
    """Groups of a pool: each item is in exactly one.

    Parameters
    ----------
    codes : ndarray (M,)
        Group of each item, in the smallest unsigned integers that hold it.
    names : ndarray (G,)
        Group names: class names, values of a column, or bins such as ``"[0.9, 1.0]"``.
    description : str
        What the groups are: ``"prediction"``, ``"site"``, ``"10 equal-width score bins"``.
    edges : ndarray (G + 1,), optional
        Edges of score bins. A bin holds its left edge, and the last one both; equal last edges enclose one value.
    note : str, optional
        What did not come out as asked, such as ``"6 of 10 bins: scores tie"``.
    parts : tuple of Partition
        The partitions whose cross product this is, see `cross`; empty for a plain one.

    Examples
    --------
    >>> import bayes_assess as ba
    >>> ba.partition(ba.Pool(predictions=["cat", "dog", "cat"]))
    Partition(2 groups by prediction)
    """

    codes: np.ndarray
    names: np.ndarray
    description: str
    edges: np.ndarray | None = None
    note: str | None = None
    parts: tuple[Partition, ...] = ()

    @property
    def n_groups(self) -> int:
        """Number of groups, G."""
        return len(self.names)

    @property
    def groups(self) -> Groups:
        """The groups without the items."""
        return Groups(self.names, self.description, self.edges, self.note)

    def __repr__(self) -> str:
        return repr(self.groups).replace("Groups", "Partition", 1)


By: TypeAlias = "str | Cut | Partition | ArrayLike"  # what a pool is cut by, see `partition`


def partition(pool: Pool, by: By = RESERVED) -> Partition:
    """Cut a pool into groups.

    Parameters
    ----------
    pool : Pool
        M items.
    by : str, ScoreBins, Strata, FeatureStrata, array (M,) or Partition
        ``"prediction"``: one group per class, those never predicted included. The name of a group column, or the
        groups' values themselves: one group per distinct value, sorted. `ScoreBins`: bins of the confidence.
        `Strata`: strata of scores for sampling; `FeatureStrata`: strata of features. A `Partition` is returned
        as it is.

    Returns
    -------
    Partition

    Raises
    ------
    QuestionError
        If there is no pool, but a ranked list or something else.
    PartitionError
        If the column is unknown, a value is missing, a length does not fit, or the pool has no confidence to bin.

    Examples
    --------
    >>> import bayes_assess as ba
    >>> pool = ba.Pool(predictions=[0, 1, 1], groups={"site": ["south", "north", "south"]})
    >>> groups = ba.partition(pool, "site")
    >>> groups.names.tolist(), groups.codes.tolist()
    (['north', 'south'], [1, 0, 1])
    """
    checked_pool(pool, "partition takes a Pool first")
    if isinstance(by, Partition):
        return _check_length(by, len(by.codes), pool.n_rows, pool)
    if isinstance(by, Cut):
        return by.cut(pool)
    if isinstance(by, str):
        if by == RESERVED:
            return Partition(_small(pool.predictions, pool.n_classes), pool.classes, RESERVED)
        if by not in pool.groups:
            known = listing([RESERVED, *pool.groups], 30)
            raise PartitionError(
                f"The pool has no group column {by!r}; there are {known}, ba.ScoreBins(n) or an array."
            )
        return _by_values(pool.groups.coded(by), by)
    values = values_of(by, decimals=False)
    if values.ndim != 1:
        given = f"{type(by).__name__} of shape {values.shape}" if values.ndim else show(by)
        raise PartitionError(
            f"Cannot cut a pool by {given}; "
            'pass "prediction", a group column, ba.ScoreBins(n), or an array with one value per item.'
        )
    columns = (RESERVED, *pool.groups)
    if 0 < len(values) <= len(columns) < pool.n_items and all(value in columns for value in values.tolist()):
        if len(values) == 1:
            raise PartitionError(
                f"Groups are by one column, which is named by itself: by={show(values[0])}, in no list."
            )
        raise PartitionError(
            f"Groups are by one column, and these are {listing(values)}: give the pool a column of what an item has in "
            "all of them, such as 'cat, north', and name that one."
        )
    pool.check_in_memory("An array of groups has a value for every item")
    return _by_values(_check_length(values, len(values), pool.n_items, pool), "given groups")


def cross(first: Partition, second: Partition) -> Partition:
    """Cut every group of one partition by another: group g and bin b make cell g * B + b.

    Parameters
    ----------
    first, second : Partition
        G groups, and B groups, of the same items.

    Returns
    -------
    Partition
        G * B groups, empty ones included.

    Examples
    --------
    >>> import bayes_assess as ba
    >>> from bayes_assess.pool.groups import cross
    >>> pool = ba.Pool(predictions=[0, 1, 1], groups={"site": ["south", "north", "south"]})
    >>> cross(ba.partition(pool), ba.partition(pool, "site")).names.tolist()
    ['0, north', '0, south', '1, north', '1, south']
    """
    kind = np.min_scalar_type(max(first.n_groups * second.n_groups - 1, second.n_groups))
    codes = first.codes.astype(kind)
    codes *= kind.type(second.n_groups)
    codes += second.codes.astype(kind)
    names = np.array([f"{outer}, {inner}" for outer in first.names for inner in second.names])
    notes = "; ".join(part.note for part in (first, second) if part.note)
    description = f"{first.description} and {second.description}"
    return Partition(frozen(codes), frozen(names), description, note=notes or None, parts=(first, second))


def block_means(partition: Partition, values: ArrayLike, times: Times = None) -> np.ndarray:
    """Average values over the items of each group, in float64.

    Parameters
    ----------
    partition : Partition
        G groups of M items.
    values : array (M,) or (M, C)
        Finite numbers, such as scores.
    times : array of int (M,), optional
        Items that every row stands for, `Pool.multiplicity`.

    Returns
    -------
    ndarray of float64 (G,) or (G, C)
        Means of the groups; the mean of all items where a group is empty.

    Raises
    ------
    PartitionError
        If the shape does not fit, or a value is not a finite number.

    Examples
    --------
    >>> import bayes_assess as ba
    >>> from bayes_assess.pool.groups import block_means
    >>> groups = ba.partition(ba.Pool(predictions=["a", "b", "b"]))
    >>> block_means(groups, [1.0, 2.0, 3.0]).tolist()
    [1.0, 2.5]
    """
    array, codes = values_of(values), partition.codes
    if array.dtype.kind not in "biuf" or array.ndim not in (1, 2) or len(array) != len(codes):
        raise PartitionError(
            f"Values of shape {array.shape} ({array.dtype}) cannot be averaged over {len(codes):,} items; "
            "pass numbers, (items,) or (items, classes)."
        )
    table = array.reshape(len(array), -1)
    sums = np.array([add_up(codes, column, partition.n_groups, times) for column in table.T])
    if not np.isfinite(sums).all():
        check_finite(array, "value")
    counts = count(codes, partition.n_groups, times)
    means = np.where(counts > 0, sums / np.maximum(counts, 1), sums.sum(1, keepdims=True) / counts.sum())
    return means.T.reshape(-1, *array.shape[1:])


def _check_length(groups: T, length: int, expected: int, pool: Pool) -> T:
    if length != expected:
        raise PartitionError(
            f"The groups are those of {length:,} items, but the pool has {pool.n_items:,}; pass one each."
        )
    return groups


def _small(codes: np.ndarray, n_groups: int) -> np.ndarray:
    """Codes in the smallest unsigned type, which sorts fastest."""
    return frozen(codes.astype(np.min_scalar_type(n_groups - 1)))


def _by_values(column: np.ndarray | CodedColumn, description: str) -> Partition:
    """One group per distinct value."""
    values, of_rows = taken_apart(column)
    if of_rows is not None:
        names, codes = np.unique(values, return_inverse=True)
        return Partition(_small(codes, len(names))[of_rows], frozen(names), description)
    row = first_missing(values)
    if row is not None:
        raise PartitionError(
            f"Groups by {description}: row {row} has no value ({show(values[row])}); "
            'fill it, for example with "unknown", or leave the item out of the pool.'
        )
    row = first_nested(values)
    if row is not None:
        raise PartitionError(
            f"Groups by {description}: row {row} has {show(values[row])}, but an item is in exactly one group."
        )
    try:
        names, codes = factorised(values)
    except TypeError:
        raise PartitionError(
            f"Groups by {description}: values of mixed types cannot be sorted; convert them to text."
        ) from None
    return Partition(_small(codes, len(names)), frozen(names), description)


def _by_confidence(pool: Pool, bins: ScoreBins) -> Partition:
    confidence = pool.confidence
    if confidence is None:
        raise PartitionError(
            "Score bins need the confidence of each prediction; pass scores or confidence to the pool."
        )
    note = None
    if bins.kind == "width":
        pool.check_bins(bins.n_bins)
        edges = np.arange(bins.n_bins + 1) / bins.n_bins
    else:
        edges = _quantiles(confidence, bins.n_bins, pool.multiplicity)
        note = shortfall(len(edges) - 1, bins.n_bins, "bins", pool.n_items)
    n_bins = len(edges) - 1
    # inner edges only, so that the last bin holds both of its own
    if bins.kind == "width":
        single = is_single(confidence if pool.scores is None else pool.scores)
        codes = reached(confidence, edges[1:-1], single=single)
    else:
        codes = np.searchsorted(edges[1:-1], confidence, side="right")
    description = f"{n_bins} equal-{bins.kind} score bins"
    return Partition(_small(codes, n_bins), frozen(_bin_names(edges)), description, frozen(edges), note)


def _quantiles(confidence: np.ndarray, n_bins: int, times: Times) -> np.ndarray:
    """Edges at order statistics: each left edge is the confidence of some item, so no bin is empty."""
    if times is None:
        size, ordered = len(confidence), np.sort(confidence)
        at = np.unique(np.arange(n_bins) * size // n_bins)
    else:
        order = np.argsort(confidence)
        upto, ordered = np.cumsum(times[order]), confidence[order]
        at = np.searchsorted(upto, np.arange(n_bins) * int(upto[-1]) // n_bins, side="right")
    return np.append(np.unique(ordered[at]), ordered[-1])


def _bin_names(edges: np.ndarray) -> np.ndarray:
    """Bins as text, with as few decimals as tell the edges apart: three unless fewer are exact or more are needed."""
    distinct = np.unique(edges)
    text = [repr(edge) for edge in edges.tolist()]  # for edges that 17 decimals cannot tell apart
    for digits in range(1, 18):
        exact = np.abs(np.round(distinct, digits) - distinct).max() < 1e-12
        shown = {f"{edge:.{digits}f}" for edge in distinct}
        if (exact or digits >= 3) and len(shown) == len(distinct):
            text = [f"{edge:.{digits}f}" for edge in edges]
            break
    return interval_names(text)
