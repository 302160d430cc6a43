"""Ranked lists: items in the order of a score, of which there may be billions."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from bayes_assess._tools.arrays import first_missing, first_true, frozen, is_whole, listing, show, values_of
from bayes_assess._tools.row_numbers import row_no
from bayes_assess._tools.seeds import checked_seed, generator
from bayes_assess._tools.shapes import ArrayLike, Float, Int
from bayes_assess.errors import PoolError, QuestionError, UnknownIdError
from bayes_assess.pool._classes import check_classes
from bayes_assess.pool._columns import check_show
from bayes_assess.pool._fingerprint import digest
from bayes_assess.pool._ids import IdIndex, check_ids, find_ids, id_array
from bayes_assess.pool._scores import both_columns
from bayes_assess.pool.labels import LabelSpace
from bayes_assess.pool.pool import Pool, checked_pool

MOST_ITEMS = 2**53  # beyond, ranks are no longer exact in 64-bit floats
_MOST_OF_A_POOL = 100_000_000


@dataclass(frozen=True, eq=False, repr=False)
class RankedList:
    """Items t_1, ..., t_N in the order of a score, the best first; nothing is kept of each item that is not given.

    Parameters
    ----------
    n_items : int, optional
        N, where no scores and no ids are given; up to 2^53.
    scores : array (N,), optional
        Scores in decreasing order; `from_scores` sorts them. Equal ones keep the order that they are given in.
    ids : array (N,), optional
        Distinct integers or texts; by default an item's id is its rank, 1..N.
    id_at : function, optional
        Takes ranks (n,) and returns their ids (n,), for lists that are too long to be written down.
    classes : two values
        The labels that an item can have, the negative first.
    show : mapping of str to array (N,), optional
        What annotators need to see of the items, in the order of the list; see `Pool`.

    Raises
    ------
    PoolError
        If lengths differ, a score is missing or out of order, or there are not two classes.

    Examples
    --------
    >>> import bayes_assess as ba
    >>> ba.RankedList(35_000_000)
    RankedList(35,000,000 items)
    >>> ba.RankedList(scores=[0.9, 0.9, 0.1], ids=["a", "b", "c"]).ids_at([1, 3]).tolist()
    ['a', 'c']
    """

    n_items: int = 0
    scores: Any = None
    ids: Any = None
    id_at: Callable[[Int[np.ndarray, " n"]], ArrayLike] | None = None
    classes: Any = (0, 1)
    show: Mapping[str, Any] | None = None
    label_space: LabelSpace = field(init=False)
    positive: int = field(init=False, default=1)
    rows: Any = field(init=False, default=None)  # of a table, where the items are not in memory, see `RankedRows`
    is_ranked: ClassVar[bool] = True  # which no `Pool` is

    def __post_init__(self) -> None:
        scores = None if self.scores is None else _checked_scores(self.scores)
        n_items = self._length(scores)
        if self.ids is not None and self.id_at is not None:
            raise PoolError("A ranked list takes ids or id_at, not both.")
        ids = None if self.ids is None else check_ids(self.ids, n_items)
        if self.ids is not None and ids is None:
            ids = np.arange(n_items)  # row numbers, which are no ranks
        names = check_classes(self.classes)
        if len(names) != 2:
            raise PoolError(f"A ranked list takes two classes, the negative first; found {listing(names)}.")
        shown = check_show(self.show, n_items)
        values = {"n_items": n_items, "scores": scores, "ids": ids, "classes": names, "show": shown}
        for name, value in {**values, "label_space": LabelSpace(names, declared=True)}.items():
            object.__setattr__(self, name, frozen(value) if isinstance(value, np.ndarray) else value)
        if self._index is not None:
            self._index.check_unique()

    def _length(self, scores: np.ndarray | None) -> int:
        lengths = {len(given) for given in (scores, self.ids) if given is not None}
        if not is_whole(self.n_items, 0):
            raise PoolError(f"The length of a ranked list is a positive whole number; found {show(self.n_items)}.")
        lengths |= {int(self.n_items)} if self.n_items else set()
        if len(lengths) > 1:
            raise PoolError(f"The list is given lengths that differ: {', '.join(f'{n:,}' for n in sorted(lengths))}.")
        n_items = next(iter(lengths), 0)
        if not 0 < n_items <= MOST_ITEMS:
            raise PoolError(f"A ranked list has 1 to 2^53 items; found {n_items:,}. Pass n_items, scores or ids.")
        return n_items

    @classmethod
    def from_scores(
        cls,
        scores: ArrayLike,
        ids: ArrayLike | None = None,
        classes: ArrayLike = (0, 1),
        seed: int = 0,
        show: Mapping[str, ArrayLike] | None = None,
    ) -> RankedList:
        """Rank items by scores in any order, the greatest first; equal scores in an order drawn at random.

        Parameters
        ----------
        scores : array (N,)
        ids : array (N,), optional
            By default the row numbers 0..N-1.
        classes : two values
        seed : int
            Of the order of equal scores.
        show : mapping of str to array (N,), optional
            What annotators need to see, in the order of `scores`.

        Raises
        ------
        DesignError
            If the seed is no whole number, 0 or more.

        Examples
        --------
        >>> RankedList.from_scores([0.2, 0.9, 0.5]).ids_at([1, 2, 3]).tolist()
        [1, 2, 0]
        """
        values = _finite(scores)
        order = _decreasing(values, seed)
        names = np.arange(len(values)) if ids is None else np.asarray(values_of(ids))
        if names.shape != values.shape:
            raise PoolError(f"There are {len(values):,} scores for ids of shape {names.shape}; pass one id per item.")
        shown = {name: column[order] for name, column in check_show(show, len(values)).items()}
        try:
            return cls(scores=values[order], ids=names[order], classes=classes, show=shown)
        except PoolError:
            if ids is not None:  # a message on ids names rows as they were given, not ranks
                RankedList(ids=ids)
            raise

    @classmethod
    def from_pool(cls, pool: Pool, positive: Hashable | None = None, seed: int = 0) -> RankedList:
        """Rank the items of a pool by the score of a class, equal scores in an order drawn at random.

        Parameters
        ----------
        pool : Pool
            With scores.
        positive : class name, optional
            The last class of two by default.
        seed : int

        Raises
        ------
        QuestionError
            If the pool has no scores, or more than two classes and none is named.

        Examples
        --------
        >>> import bayes_assess as ba
        >>> RankedList.from_pool(ba.Pool(scores=[0.2, 0.9, 0.5])).ids_at([1, 2, 3]).tolist()
        [1, 2, 0]
        """
        if not pool.in_memory:
            from bayes_assess.pool.scan.ranked import RankedRows  # which few lists need

            rows = RankedRows(pool.rows, pool.classes, positive, seed)
            made = cls(rows.n_items, id_at=rows.ids_at, classes=pool.classes)
            object.__setattr__(made, "rows", rows)
            return made
        code = ranking_class(pool, positive)
        if pool.margins is not None:
            scores = pool.margins if code == 1 else -pool.margins
        else:
            assert pool.scores is not None  # or there is no positive code
            column = pool.scores if pool.scores.ndim == 2 else both_columns(pool.scores)
            scores = column[:, code].astype(np.float64)
        order = _decreasing(scores, seed)
        shown = {name: column[order] for name, column in pool.show.items()}
        made = cls(scores=scores[order], ids=pool.ids[order], show=shown)
        object.__setattr__(made, "classes", pool.classes)
        object.__setattr__(made, "label_space", pool.label_space)
        object.__setattr__(made, "positive", code)
        return made

    @classmethod
    def of(cls, items: Pool | RankedList, positive: Hashable | None = None, seed: int = 0) -> RankedList:
        """Return a list as it is, or the items of a pool in the order of the score of a class, as `from_pool`.

        Raises
        ------
        QuestionError
            If the list is that of another positive class, or the pool cannot be ranked.

        Examples
        --------
        >>> ranked = RankedList(4)
        >>> RankedList.of(ranked) is ranked
        True
        """
        if isinstance(items, RankedList):
            items.check_positive(positive)
            return items
        return cls.from_pool(checked_pool(items), positive, seed)

    def as_pool(self) -> Pool:
        """Return the items as a pool whose scores fall evenly with the rank, for designs that learn what scores mean.

        Raises
        ------
        QuestionError
            If the list is too long to be held item by item, or its items are those of a table.

        Examples
        --------
        >>> RankedList(4).as_pool().scores.tolist()
        [0.875, 0.625, 0.375, 0.125]
        """
        if self.rows is not None:
            raise QuestionError(
                f"The items stay in {self.rows.place}, and designs that learn what scores mean look at all of them: "
                "take one of the designs of ranked lists, such as 'adastrat'."
            )
        if self.n_items > _MOST_OF_A_POOL:
            raise QuestionError(
                f"The list has {self.n_items:,} items; designs that learn what scores mean take up to "
                f"{_MOST_OF_A_POOL:,}. Take one of the designs of ranked lists, such as 'adastrat'."
            )
        ranks = np.arange(1, self.n_items + 1)
        scores = 1 - (ranks - 0.5) / self.n_items
        if len(self.label_space.classes) != 2:
            raise QuestionError("The list was ranked from a pool of several classes; pass that pool.")
        scores = scores if self.positive == 1 else 1 - scores
        return Pool(scores=scores, ids=self.ids_at(ranks), classes=self.label_space.classes, show=self.show)

    def check_positive(self, positive: Hashable | None) -> None:
        """Check that a question's positive class, if it names one, is that of the list.

        Raises
        ------
        QuestionError
            If it is another one.
        """
        own = self.label_space.classes[self.positive]
        if positive is not None and positive != own and str(positive) != str(own):
            raise QuestionError(
                f"The list is ranked by the score of its positive class, {show(own)}, but the question has "
                f"{show(positive)} as positive; leave that out, or name it second among the classes."
            )

    @property
    def in_memory(self) -> bool:
        """Whether the items are no rows of a table."""
        return self.rows is None

    @property
    def n_tied(self) -> int:
        """Items that share their score with another one."""
        if self.scores is None:
            return 0
        equal = self.scores[1:] == self.scores[:-1]
        return int((np.append(equal, False) | np.append(False, equal)).sum())

    @cached_property
    def _index(self) -> IdIndex | None:
        return None if self.ids is None else IdIndex(self.ids)

    def ids_at(self, ranks: ArrayLike) -> np.ndarray:
        """Return the ids of items by rank, 1..N.

        Raises
        ------
        QuestionError
            If a rank lies outside 1..N.
        """
        ranks = self.checked_ranks(ranks)
        if self.id_at is not None:
            ids = np.asarray(self.id_at(ranks))
            if ids.shape != ranks.shape:
                raise PoolError(f"id_at returned ids of shape {ids.shape} for {len(ranks):,} ranks; return one each.")
            return ids
        return ranks if self.ids is None else self.ids[ranks - 1]

    def ranks_of(self, ids: ArrayLike) -> Int[np.ndarray, " n"] | None:
        """Return the ranks of items by id; None where only `id_at` is known, which has no way back.

        Raises
        ------
        UnknownIdError
            At the first id that names no item.
        """
        if self.id_at is not None:
            return None
        if self._index is not None:
            return find_ids(ids, self._index, self.n_items) + 1
        ranks = id_array(ids)
        wrong = ranks.dtype.kind not in "iu"
        at = 0 if wrong else first_true((ranks < 1) | (ranks > self.n_items))
        if at is not None and len(ranks):
            raise UnknownIdError(f"There is no item {show(ranks[at])}; the items' ids are their ranks, 1 to N.")
        return ranks.astype(np.int64)

    def names_of(self, ids: ArrayLike) -> list[Hashable]:
        """Return ids as `ids_at` returns them, as far as they have been written otherwise."""
        return np.asarray(ids).tolist() if self.rows is None else self.rows.names_of(ids)

    def shown_at(self, ranks: Int[np.ndarray, " n"]) -> dict[str, np.ndarray]:
        """Return what annotators see of items by rank."""
        if self.rows is not None:
            return self.rows.shown_at(ranks)
        return {name: column[ranks - 1] for name, column in (self.show or {}).items()}

    def shown_of(self, ids: ArrayLike) -> dict[str, np.ndarray]:
        """Return what annotators see of items by their ids, nothing where only `id_at` is known."""
        ranks = self.ranks_of(ids) if self.show else None
        return {} if ranks is None else self.shown_at(ranks)

    def prediction_counts(self) -> None:
        """Return None: a list has an order, and no predictions."""

    def checked_ranks(self, ranks: ArrayLike) -> Int[np.ndarray, " n"]:
        """Return ranks as an array of int64, or raise QuestionError if one lies outside 1..N."""
        values = np.atleast_1d(np.asarray(ranks))
        at = first_true((values < 1) | (values > self.n_items)) if values.dtype.kind in "iu" else 0
        if at is not None and len(values):
            raise QuestionError(f"Ranks are whole numbers from 1 to {self.n_items:,}; found {show(values[at])}.")
        return values.astype(np.int64)

    def fingerprint(self) -> str:
        """Return a SHA-256 of what is given of the items; that of the table of one."""
        if self.rows is not None:
            return self.rows.fingerprint()
        given = {name: getattr(self, name) for name in ("scores", "ids") if getattr(self, name) is not None}
        return digest({"length": np.array([self.n_items]), **given, "classes": self.label_space.classes})

    def __len__(self) -> int:
        return self.n_items

    def __repr__(self) -> str:
        return f"RankedList({self.n_items:,} items)"


def ranking_class(pool: Pool, positive: Hashable | None) -> int:
    """Return the code of the class by whose score a pool is ranked."""
    if pool.multilabel or (pool.scores is None and pool.margins is None):
        what = "several labels per item" if pool.multilabel else "no scores; give it some by scores=[...]"
        raise QuestionError(f"A ranked list needs a score of every item; this pool has {what}.")
    if positive is None and pool.n_classes == 2:
        return 1
    if positive is None:
        raise QuestionError(
            f"The pool has {pool.n_classes} classes; say which is positive, as in positive={show(pool.classes[-1])}."
        )
    return int(pool.label_codes([positive])[0])


def _checked_scores(scores: ArrayLike) -> Float[np.ndarray, " N"]:
    values = _finite(scores)
    at = first_true(np.diff(values) > 0)
    if at is not None:
        raise PoolError(
            f"Scores of a ranked list decrease, but {values[at + 1]:g} in row {at + 1} comes after {values[at]:g}; "
            "RankedList.from_scores(scores, ids=...) sorts them."
        )
    return values


def _finite(scores: ArrayLike) -> Float[np.ndarray, " N"]:
    values = values_of(scores)
    if values.ndim != 1 or values.dtype.kind not in "iuf":
        raise PoolError(f"Scores of a ranked list are numbers, one per item; found {show(scores)}.")
    row = first_missing(values)
    row = first_true(~np.isfinite(values)) if row is None else row
    if row is not None:
        raise PoolError(f"The score in row {row_no(row)} is {show(values[row])}; give every item a finite score.")
    return values.astype(np.float64)


def _decreasing(scores: Float[np.ndarray, " N"], seed: int) -> Int[np.ndarray, " N"]:
    """Return the order of decreasing scores, equal ones in a random order."""
    chance = generator(checked_seed(seed), "ranks").random(len(scores))
    return np.lexsort((chance, -scores))
