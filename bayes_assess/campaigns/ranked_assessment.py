"""The interactive session on a ranked list."""

from __future__ import annotations

from dataclasses import dataclass
from os import PathLike
from typing import Any

import numpy as np
from jaxtyping import Int

from bayes_assess._tools.arrays import show, values_of
from bayes_assess._tools.tables import Table
from bayes_assess.campaigns.journal import Journal
from bayes_assess.campaigns.ranks import RankBook
from bayes_assess.designs.ranked import RankedDesign, check_budget
from bayes_assess.errors import BudgetError, JournalError, PoolError, QuestionError, UnknownIdError
from bayes_assess.pool.labels import check_consistent, check_labelled
from bayes_assess.pool.pool import Pool
from bayes_assess.pool.ranked import RankedList
from bayes_assess.questions import PrecisionCurve
from bayes_assess.results.precision_curve import PrecisionCurveResult


@dataclass(frozen=True, eq=False)
class RankedQueries:
    """Items of a ranked list to label next, in the order in which they were drawn.

    Attributes
    ----------
    ids : (n,) item ids
    ranks : (n,) integers
        1..N.

    Examples
    --------
    >>> import bayes_assess as ba
    >>> a = ba.assess(ba.RankedList(1_000_000), ba.PrecisionCurve(epsilon=0.1, beta=1.2, p_min=0.5))
    >>> len(a.ask(20))
    20
    """

    ids: np.ndarray
    ranks: Int[np.ndarray, " n"]

    def __len__(self) -> int:
        return len(self.ids)

    def table(self) -> Table:
        """Tabulate the queries."""
        return Table({"id": self.ids, "rank": self.ranks}, title=f"{len(self)} items to label")

    def to_frame(self, backend: str = "pandas") -> Any:
        """Return a data frame with columns id and rank."""
        return self.table().to_frame(backend)

    def to_csv(self, path: str | PathLike[str]) -> None:
        """Write a sheet for annotators: one row per item, with an empty column ``label`` to fill in.

        It does not say how items rank, so that annotators are not swayed by that.
        """
        Table({"id": self.ids, "label": np.full(len(self), "")}).to_csv(path)

    def __repr__(self) -> str:
        return repr(self.table())

    def _repr_html_(self) -> str:
        return self.table()._repr_html_()


class RankedAssessment:
    """A campaign on one ranked list, made by `assess` or `resume`.

    Attributes
    ----------
    pool : RankedList
    question, design : what was given
    """

    def __init__(self, pool: RankedList, question: PrecisionCurve, design: RankedDesign, seed: int):
        self.pool, self.question, self.design = pool, question, design
        self.journal: Journal | None = None
        self._sequence = 0  # of the journal's last entry that this session knows
        self._book = RankBook(design, question.promise, pool.n_items, seed)
        if question.budget is not None:
            check_budget(design, question.promise, pool.n_items, question.budget)
        self._ranks: dict[Any, int] = {}  # of ids handed out, where the list cannot find them

    @property
    def labels_used(self) -> int:
        """Labels told so far."""
        return self._book.labels.n_labelled

    @property
    def n_pending(self) -> int:
        """Items handed out and not labelled yet."""
        return self._book.n_pending

    @property
    def n_remaining(self) -> int:
        """Items that the design wants next, as far as it can tell before their labels are known."""
        return int(self._book.lacking.sum())

    @property
    def done(self) -> bool:
        """Whether the design needs no more labels; `ask` then returns no items."""
        return self._book.done

    @property
    def pending(self) -> np.ndarray:
        """Ids of the items handed out and not labelled yet, in the order of the list."""
        return self.pool.ids_at(self._book.pending)

    @property
    def pending_queries(self) -> RankedQueries:
        """The items handed out and not labelled yet, in the order of the list."""
        return RankedQueries(self.pending, self._book.pending)

    def ask(self, n: int = 1) -> RankedQueries:
        """Choose the next items to label; they are pending until their labels are told.

        Parameters
        ----------
        n : int
            At most so many: fewer where the labels of others decide what comes next, none once the design is done.

        Returns
        -------
        RankedQueries

        Raises
        ------
        BudgetError
            If `n` is not a positive whole number, or pending items must be labelled first.

        Examples
        --------
        >>> import bayes_assess as ba
        >>> a = ba.assess(ba.RankedList(500), ba.PrecisionCurve(p_min=0.5))
        >>> labels = a.tell(a.ask(500).ids, [1] * 500)  # such a short list is labelled whole
        >>> a.done, len(a.ask(10))
        (True, 0)
        """
        if isinstance(n, bool) or int(n) != n or n < 1:
            raise BudgetError(f"Ask for a positive whole number of items; found {show(n)}.")
        ranks = self._book.draw(self._within_budget(int(n)))
        if not len(ranks) and not self.done:
            raise BudgetError(
                f"What comes next depends on the {self.n_pending:,} items that are pending; tell their labels first."
            )
        ids = self.pool.ids_at(ranks)
        if len(ranks):
            self._write("ask", {"ids": ids, "ranks": ranks})
            self._hand_out(ids, ranks)
        return RankedQueries(ids, ranks)

    def tell(self, ids: Any, labels: Any) -> None:
        """Learn labels: any subset of the items asked for, in any order. All are taken, or none.

        Parameters
        ----------
        ids : (n,) item ids
        labels : (n,) class names
            None, NaN, a masked value or an empty text means that the item is not labelled yet: it stays pending.

        Raises
        ------
        LabelError
            If lengths differ, a label is not one of the classes, or contradicts another label of the same item.
        UnknownIdError
            If an item is not in the list, or was not asked for: items that somebody picked are not random ones.

        Examples
        --------
        >>> import bayes_assess as ba
        >>> a = ba.assess(ba.RankedList(1_000_000), ba.PrecisionCurve(p_min=0.5))
        >>> a.tell(a.ask(2).ids, [1, 0])
        >>> a.labels_used
        2
        """
        space = self.pool.label_space
        ids, labels = space.labelled_only(ids, labels)
        if not len(ids):
            return
        ranks = self._ranks_of(ids)
        known = self._as_codes(self._book.codes(ranks))
        ranks, codes = check_consistent(known, ranks, space.codes(labels, ids), ids, space)
        new = self._book.codes(ranks) < 0
        ranks, codes = ranks[new], codes[new]
        if len(ranks):
            self._write("tell", {"ids": self.pool.ids_at(ranks), "labels": space.names(codes)})
            self._book.tell(ranks, codes == self.pool.positive)

    def correct(self, ids: Any, labels: Any) -> int:
        """Put labels right that were told wrong. All are taken, or none.

        Estimates and bands are those of the right labels; what the wrong ones led to asking for stays asked for. The
        journal keeps both.

        Parameters
        ----------
        ids : (n,) item ids
            Items that have a label.
        labels : (n,) class names
            Their right labels; items without one are left as they are.

        Returns
        -------
        int
            How many labels changed.

        Raises
        ------
        LabelError
            If lengths differ, an item has no label yet, or a label is not one of the classes.

        Examples
        --------
        >>> import bayes_assess as ba
        >>> a = ba.assess(ba.RankedList(1_000_000), ba.PrecisionCurve(p_min=0.5))
        >>> queries = a.ask(2)
        >>> a.tell(queries.ids, [1, 0])
        >>> a.correct(queries.ids, [1, 1])
        1
        """
        space = self.pool.label_space
        ids, labels = space.labelled_only(ids, labels)
        if not len(ids):
            return 0
        ranks = self._ranks_of(ids)
        check_labelled(self._book.codes(ranks), ids)
        ranks, codes = check_consistent(np.full(len(ranks), -1), ranks, space.codes(labels, ids), ids, space)
        positive = codes == self.pool.positive
        wrong = (self._book.codes(ranks) == 1) != positive
        if wrong.any():
            payload = {"ids": self.pool.ids_at(ranks[wrong]), "labels": space.names(codes[wrong])}
            self._write("correct", payload)
            self._book.correct(ranks[wrong], positive[wrong])
        return int(wrong.sum())

    def result(self, level: float | None = None) -> PrecisionCurveResult:
        """Answer the question from the labels told so far.

        Parameters
        ----------
        level : float in (0, 1), optional
            Probability of the band; 1 - delta by default.

        Examples
        --------
        >>> import bayes_assess as ba
        >>> a = ba.assess(ba.RankedList(100), ba.PrecisionCurve(p_min=0.5))
        >>> a.tell(a.ask(100).ids, [1] * 100)
        >>> a.result().at(50)
        Bounded(estimate=1.0, lower=1.0, upper=1.0)
        """
        level = 1 - self.question.delta if level is None else level
        return PrecisionCurveResult.of(self.question, self.design, self.pool, self._book.labels, self._book.plan, level)

    def __repr__(self) -> str:
        return (
            f"RankedAssessment({self.question.name}, design {self.design.name!r}: "
            f"{self.labels_used:,} of {self.pool.n_items:,} items labelled, {self.n_pending:,} pending)"
        )

    def _within_budget(self, n: int) -> int:
        """Return how many of `n` items may be asked for."""
        budget = self.question.budget
        if budget is None or self.done:
            return n
        left = budget - self._book.n_asked
        if left <= 0:
            promised = self.question.beta * (1 + self.question.epsilon)
            raise BudgetError(
                f"The budget of {budget:,} labels is spent, and the design wants more: the band is within a factor of "
                f"{self.result().factor:.3g} of the estimates so far, and {promised:.3g} was asked for."
            )
        return min(n, left)

    def _ranks_of(self, ids: np.ndarray) -> Int[np.ndarray, " n"]:
        ranks = self.pool.ranks_of(ids)
        if ranks is None:
            found = [self._ranks.get(name, 0) for name in ids.tolist()]
            ranks = np.array(found, np.int64)
        unasked = np.flatnonzero(~self._book.is_taken(ranks))
        if len(unasked):
            raise UnknownIdError(
                f"Item {show(ids[unasked[0]])} was not asked for; a ranked list takes labels of items that it drew at "
                "random, and of no others."
            )
        return ranks

    def _as_codes(self, codes: Int[np.ndarray, " n"]) -> Int[np.ndarray, " n"]:
        """Return the classes' codes for 1 (positive) and 0, and -1 where there is no label."""
        positive = self.pool.positive
        if len(self.pool.label_space.classes) == 2:
            return np.where(codes < 0, -1, np.where(codes == 1, positive, 1 - positive))
        return np.where(codes == 1, positive, -1)  # which negative class it was does not matter

    def _hand_out(self, ids: np.ndarray, ranks: Int[np.ndarray, " n"]) -> None:
        self._book.hand_out(ranks)
        if self.pool.id_at is not None:
            if len(self._ranks.keys() | set(ids.tolist())) < len(self._ranks) + len(ids):
                raise PoolError("id_at gave one id to several ranks; ids must be distinct.")
            self._ranks.update(zip(ids.tolist(), ranks.tolist(), strict=True))

    def _write(self, kind: str, payload: dict[str, Any]) -> None:
        if self.journal is not None:
            self._sequence = self.journal.append(kind, payload, expected=self._sequence)

    def _replay(self, book: Journal) -> None:
        """Bring a fresh session to the state that the journal records."""
        for event in book.events():
            self._sequence = event.sequence
            ids = values_of(event.payload["ids"])
            if event.kind == "ask":
                ranks = np.asarray(event.payload["ranks"], np.int64)
                lacking = self._book.lacking
                self._hand_out(self.pool.ids_at(ranks), ranks)
                if not (self._book.lacking <= lacking).all():
                    raise _contradicts(book)
            elif event.kind == "tell":
                ranks = self._ranks_of(ids)
                codes = self.pool.label_space.codes(event.payload["labels"])
                self._book.tell(ranks, codes == self.pool.positive)
            elif event.kind == "correct":
                codes = self.pool.label_space.codes(event.payload["labels"])
                self._book.correct(self._ranks_of(ids), codes == self.pool.positive)
            else:
                raise JournalError(
                    f"Entry {event.sequence} of the journal {str(book.path)!r} is of the unknown kind {event.kind!r}; "
                    "a newer release may have written it; upgrade bayes_assess to open it."
                )
        self.journal = book


def _contradicts(book: Journal) -> JournalError:
    return JournalError(
        f"The journal {str(book.path)!r} contradicts itself; it was changed by hand or by another release. Start a "
        "new one."
    )


def ranked_list(pool: Any, question: PrecisionCurve, seed: int) -> RankedList:
    """Return the list itself, or that of a pool that its scores rank.

    Raises
    ------
    QuestionError
        If it is neither, the pool has no scores, or the question's positive class is not that of the list.
    """
    if isinstance(pool, RankedList):
        pool.check_positive(question.positive)
        return pool
    if not isinstance(pool, Pool):
        raise QuestionError(f"PrecisionCurve is asked of a RankedList or a Pool; found {type(pool).__name__}.")
    return RankedList.from_pool(pool, question.positive, seed)
