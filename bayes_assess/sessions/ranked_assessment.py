"""The session on a ranked list."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import NoReturn

import numpy as np

from bayes_assess._tools.arrays import is_whole, show
from bayes_assess._tools.shapes import ArrayLike, Int
from bayes_assess._tools.text import plural
from bayes_assess.books.annotators import for_whom
from bayes_assess.books.rank_units import RankUnits
from bayes_assess.books.ranks import RankBook
from bayes_assess.designs.ranked import RankedDesign, check_budget
from bayes_assess.errors import BayesAssessError, BudgetError, LabelError, QuestionError
from bayes_assess.pool.pool import Pool
from bayes_assess.pool.ranked import RankedList
from bayes_assess.pool.units import Codes, Units
from bayes_assess.questions import PrecisionCurve, Question
from bayes_assess.results.precision_curve import PrecisionCurveResult
from bayes_assess.sessions.journal import Event
from bayes_assess.sessions.queries import RankedQueries as RankedQueries
from bayes_assess.sessions.team.one_annotator import OneAnnotator
from bayes_assess.sessions.turns import in_turn


class RankedAssessment(OneAnnotator[RankedList, PrecisionCurve, RankedDesign, RankBook]):
    """A campaign on one ranked list, made by `assess` or `resume`.

    Attributes
    ----------
    pool : RankedList
    question, design : what was given

    Raises
    ------
    BudgetError
        If the design cannot keep the question's promise within its budget.
    """

    unknown_id = "is the id of no item that was asked for"

    def __init__(self, pool: RankedList, question: PrecisionCurve, design: RankedDesign, seed: int):
        super().__init__()
        self.pool, self.question, self.design = pool, question, design
        self._seed = seed
        if question.budget is not None:
            check_budget(design, question.promise, pool.n_items, question.budget)
        self._begin()

    @property
    def n_remaining(self) -> int:
        """Items that the design wants next, as far as it can tell before their labels are known."""
        return int(self._items.lacking.sum())

    @property
    def done(self) -> bool:
        """Whether the design needs no more labels; `ask` then returns no items."""
        return self._items.done

    @property
    def handed_out(self) -> Pool:
        """The items asked for so far, in the order of the list, as a pool; their predictions mean nothing."""
        asked, classes = self._items.asked, self.pool.label_space.classes
        ids = self.pool.ids_at(asked)
        shown = self.pool.shown_at(asked) if self.pool.rows is None else None  # which an engine would fetch again
        return Pool(predictions=np.full(len(ids), classes[0]), ids=ids, classes=classes, show=shown)

    @property
    def labellable(self) -> Pool:
        """The items asked for so far; raise LabelError if there are none yet."""
        if not len(self._items.asked):
            raise LabelError("No item has been asked for yet; labels are told of those that `ask` chose.")
        return self.handed_out

    def ids_named(self, texts: Sequence[str]) -> list[Hashable]:
        """Return texts as they are: a list knows its ids as they are written, too."""
        return list(texts)

    @property
    def pending_queries(self) -> RankedQueries:
        """The items handed out and not labelled yet, in the order of the list."""
        return self._queries(self._items.awaited)

    @in_turn
    def ask(self, n: int = 1, *, annotator: str | None = None) -> RankedQueries:
        """Choose the next items to label; they are pending until their labels are told.

        Parameters
        ----------
        n : int
            At most so many: fewer where the labels of others decide what comes next, none once the design is done;
            `RankedQueries.fewer` says why.
        annotator : str, optional
            Who is to label them, which the journal keeps.

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
        if not is_whole(n):
            raise BudgetError(f"Ask for a positive whole number of items; found {show(n)}.")
        ranks = self._items.draw(self._within_budget(int(n)))
        if not len(ranks) and not self.done:
            raise BudgetError(
                f"What comes next depends on {plural(self.n_pending, 'pending item')}; tell the labels first."
            )
        ids = self.pool.ids_at(ranks)
        if len(ranks):
            self._units.new_names(ids, ranks)  # which must be sound before they are written
            self._write("ask", {"ids": ids, "ranks": ranks, **for_whom(annotator, self.pool.show or ())})
            self._hand_out(ids, ranks)
        return self._queries(ranks, self._why_fewer() if len(ranks) < n else "")

    @in_turn
    def result(self, level: float | None = None, *, question: Question | None = None) -> PrecisionCurveResult:
        """Answer the question from the labels told so far.

        Parameters
        ----------
        level : float in (0, 1), optional
            Probability of the band; 1 - delta by default.
        question : None
            These labels answer the session's own question alone.

        Raises
        ------
        QuestionError
            If another question is asked.

        Examples
        --------
        >>> import bayes_assess as ba
        >>> a = ba.assess(ba.RankedList(100), ba.PrecisionCurve(p_min=0.5))
        >>> a.tell(a.ask(100).ids, [1] * 100)
        >>> a.result().at(50)
        Bounded(estimate=1.0, lower=1.0, upper=1.0)
        """
        if question is not None:
            raise QuestionError(f"These labels answer {self.question.name} alone; start a session with {question!r}.")
        level = 1 - self.question.delta if level is None else level
        book = self._items
        return PrecisionCurveResult.of(
            self.question, self.design, self.pool, book.labels, book.plan, level, n_skipped=self.n_skipped
        )

    def plan(
        self,
        width: float | None = None,
        *,
        probability: float | None = None,
        of: str = "widest",
        level: float = 0.95,
        futures: int = 16,
    ) -> NoReturn:
        """Refuse, and say why."""
        self.goal(width, probability, of, level)

    def goal(
        self, width: float | None, probability: float | None = None, of: str = "widest", level: float = 0.95
    ) -> NoReturn:
        """Refuse, and say why."""
        raise QuestionError(f"{self.question.name} cannot be planned: it {self.question.unplannable}.")

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
        n_left = budget - self.labels_used - self.n_pending
        if n_left <= 0:
            promised, factor = self.question.beta * (1 + self.question.epsilon), self.result().factor
            sure = " to be sure of it" if factor <= promised else ""
            near = (
                f"is within a factor of {factor:.3g} of the estimates" if np.isfinite(factor) else "reaches down to 0"
            )
            raise BudgetError(
                f"The budget of {budget:,} labels is spent, and the design wants more{sure}: the band {near} so far, "
                f"and a factor of {promised:.3g} was asked for."
            )
        return min(n, n_left)

    def _why_fewer(self) -> str:
        """Say why there are fewer items than were asked for."""
        if self.done:
            return "as the design needs no more labels"
        return "which is all that the budget leaves" if self.n_remaining else "as their labels decide what comes next"

    def _queries(self, ranks: Int[np.ndarray, " n"], fewer: str = "") -> RankedQueries:
        space = self.pool.label_space
        ids, shown = self.pool.ids_at(ranks), self.pool.shown_at(ranks)
        return RankedQueries(ids, ranks, shown, tuple(space.classes.tolist()), space, fewer)

    def _begin(self) -> None:
        """Start without events."""
        options = self.question.promise, self.pool.n_items, self._seed, self.pool.positive
        self._items = RankBook(self.design, *options)
        self._rank_units = RankUnits(self.pool, self._items)

    @property
    def _units(self) -> RankUnits:
        return self._rank_units

    def _take_labels(
        self, units: Units, codes: Codes, right: Mapping[int, int], annotators: ArrayLike | None = None
    ) -> None:
        self._items.tell(units, codes)

    def _decide(self, kind: str, units: Units, codes: Codes) -> None:
        self._write(kind, self._units.recorded(units, codes))
        self._items.correct(units, codes)

    def _hand_out(self, ids: np.ndarray, ranks: Int[np.ndarray, " n"]) -> None:
        self._units.adopt(ids, ranks)
        self._items.hand_out(ranks)

    def _follow_others(self, events: Sequence[Event]) -> None:
        self._follow(events, self._record, {})
        self._events.extend(events)

    def _restart(self, events: Sequence[Event]) -> None:
        self._begin()
        self._follow(events, self._record, {})

    def _follow_at_once(self, events: Sequence[Event], right: Mapping[int, int]) -> bool:
        ids = [name for event in events for name in event.payload["ids"]]
        try:
            ranks, codes = self._units.find(ids), self._units.codes_in([event.payload for event in events])
        except (BayesAssessError, LookupError, TypeError, ValueError):  # found again, and named, one by one
            return False
        if len(np.unique(ranks)) < len(ranks) or (self._items.codes_of(ranks) >= 0).any():
            return False
        start = 0
        while start < len(ranks):  # the plan is refined at the label that it had lacked, not later
            end = start + max(self._items.n_wanted, 1)
            self._take_labels(ranks[start:end], codes[start:end], {})
            start = end
        return True

    def _units_in(self, event: Event) -> Units:
        if event.kind == "ask":
            return np.asarray(event.payload["ranks"], np.int64)
        if event.kind == "note":  # which may be on any item
            return np.zeros(0, np.int64)
        return self._units.find(event.payload["ids"])

    def _follow_ask(self, units: Units, event: Event, right: Mapping[int, int]) -> bool:
        """Hand out items; tell whether the design wanted them."""
        if not self._items.unseen(units).all():
            return False
        lacking = self._items.lacking
        self._hand_out(self.pool.ids_at(units), units)
        return bool((self._items.lacking <= lacking).all())

    def _follow_correct(self, units: Units, event: Event, right: Mapping[int, int]) -> bool:
        """Put labels right; tell whether there were any."""
        if (self._items.codes_of(units) < 0).any():
            return False
        self._items.correct(units, self._units.codes_in([event.payload]))
        return True
