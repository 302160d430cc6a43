"""Labels as people tell and correct them: what they call becomes events, which are recorded first, then take effect.

What is asked for and told is a unit: an item of a pool, or a rank of a list. Sessions differ in how units are found by
ids, in what is kept of them, and in what labels change; that events follow from each other is held here, once.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np

from bayes_assess._tools.arrays import listing, values_of
from bayes_assess._tools.shapes import ArrayLike, Bool
from bayes_assess.books.book import Book
from bayes_assess.errors import JournalError, LabelError
from bayes_assess.pool.labels import check_unlabelled
from bayes_assess.pool.pool import Pool
from bayes_assess.pool.ranked import RankedList
from bayes_assess.pool.units import Codes, Units, UnitSource
from bayes_assess.questions import Question
from bayes_assess.sessions.journal import Event
from bayes_assess.sessions.runs import runs_of
from bayes_assess.sessions.turns import TakesTurns, in_turn, readable

PoolT_co = TypeVar("PoolT_co", bound=Pool | RankedList, covariant=True)
QuestionT_co = TypeVar("QuestionT_co", bound=Question, covariant=True)
BookT_co = TypeVar("BookT_co", bound=Book, covariant=True)

_LEFT_OUT: Any = ...  # labels, where a frame or a dictionary was told in one argument


def _in_two(told: Any, call: str) -> str:
    """Say how to call a method with what it was called with in one argument, without labels beside it."""
    if isinstance(told, Mapping):
        how = f"of a dictionary, {call}(list(labels), list(labels.values()))"
    elif hasattr(told, "columns"):
        how = f"of this frame, by two of its columns {listing(list(told.columns))}, {call}(frame['id'], frame['label'])"
    else:
        how = f"{call}(ids, labels)"
    return f"Ids and labels are two arguments, and one was found: {how}."


class Labelling(TakesTurns, Generic[PoolT_co, QuestionT_co, BookT_co]):
    """What people tell of items, as events and what follows from them.

    Attributes
    ----------
    pool : Pool or RankedList
    question : Question
    """

    repeats_items: ClassVar[bool] = False  # whether an item may be asked for, and labelled, several times
    unknown_kinds: ClassVar[tuple[str, ...]] = ()  # kinds of events that sessions of a class do not have
    pool: PoolT_co
    question: QuestionT_co
    _items: BookT_co

    @property
    @abstractmethod
    def _units(self) -> UnitSource:
        """What is asked for and told, by ids and labels."""

    @property
    def labels_used(self) -> int:
        """Labels told so far."""
        return self._items.n_labelled * self.question.labels_each

    @property
    def n_pending(self) -> int:
        """Items handed out and not labelled yet."""
        return self._items.n_pending * self.question.labels_each

    @property
    def n_skipped(self) -> int:
        """Items set aside."""
        return self._items.n_skipped * self.question.labels_each

    @property
    def pending(self) -> np.ndarray:
        """Ids of the items handed out and not labelled yet, in the order of the pool."""
        return self._units.ids_of(self._items.awaited)

    @property
    def skipped(self) -> np.ndarray:
        """Ids of the items set aside, in the order of the pool."""
        return self._units.ids_of(self._items.aside)

    @property
    def labelled(self) -> tuple[np.ndarray, np.ndarray]:
        """Ids and labels of the items that are labelled, in the order of the pool."""
        return self._units.labels_of(*self._items.told)

    @in_turn
    def tell(self, ids: ArrayLike, labels: ArrayLike = _LEFT_OUT, *, annotator: ArrayLike | None = None) -> None:
        """Learn labels: any subset of the pending items, in any order. All are taken, or none.

        A label that was told before may be told again. Labels of items that were not asked for are taken as labels
        of random items of their cells by designs that play groups and by `variance_reduction`, unless they seem chosen
        by what tells of labels; designs that weigh what they draw, and all design intervals, count those items as known
        from then on, but let them stand for no others. Ranked lists take none of these.

        Parameters
        ----------
        ids : (n,) item ids
            The queries themselves stand for their ids.
        labels : (n,) class names
            In the order of the ids; a series of pandas whose index is the ids in another order is refused. None, NaN, a
            masked value or an empty text means that the item is not labelled yet: it stays pending. An item that was
            set aside counts as labelled without having been asked for.
        annotator : str, or array (n,) of them, optional
            Who told the labels. Items that somebody else has labelled may then be labelled again, by other labels, too:
            the first label told is the one that counts until it is resolved, see `disagreements`. Ranked lists and
            comparisons of pairs keep one label of every item, whoever told it.

        Raises
        ------
        LabelError
            If lengths or orders differ, a label is not one of the classes, or contradicts another label of the same
            item by the same annotator, or by any where none is named; if annotators of items of ranked lists or pairs
            are named, or one half of a pair has no label.
        UnknownIdError
            If an id is not in the pool, or that of an item of a ranked list that was not asked for: items that somebody
            picked are not random ones.

        Examples
        --------
        >>> import bayes_assess as ba
        >>> a = ba.assess(ba.Pool(predictions=["cat", "dog"]), ba.GroupAccuracy())
        >>> a.tell(a.ask(2).ids, ["cat", "cat"])
        >>> a.labels_used
        2
        """
        if labels is _LEFT_OUT:
            raise LabelError(_in_two(ids, "tell"))
        if annotator is not None:
            self._tell_named(ids, labels, annotator)
            return
        units, codes = self._read(ids, labels)
        new = self._untold(units)
        if new.any():
            self._write("tell", self._units.recorded(units[new], codes[new]))
            self._take_labels(units[new], codes[new], {})

    @in_turn
    def correct(self, ids: ArrayLike, labels: ArrayLike = _LEFT_OUT, *, annotator: str | None = None) -> int:
        """Put labels right that were told wrong. All are taken, or none.

        Afterwards everything is as if these labels had been told in the place of the wrong ones, except that the items
        chosen since then stay chosen. The journal keeps both.

        Parameters
        ----------
        ids : (n,) item ids
            Items that have a label.
        labels : (n,) class names
            Their right labels; items without one (None, NaN, a masked value or an empty text) are left as they are.
        annotator : str, optional
            Whose own labels these were. What others have said of the items stays, and nobody has thereby decided
            between them: the label that counts changes where it was this annotator's.

        Returns
        -------
        int
            How many labels changed.

        Raises
        ------
        LabelError
            If lengths differ, an item has no label yet, or none by this annotator, or a label is not one of the
            classes.
        UnknownIdError
            If an id is not in the pool.

        Examples
        --------
        >>> import bayes_assess as ba
        >>> a = ba.assess(ba.Pool(predictions=["cat", "dog"]), ba.GroupAccuracy())
        >>> a.tell(a.ask(2).ids, ["cat", "cat"])
        >>> a.correct([0, 1], ["cat", "dog"])
        1
        >>> a.result().estimate.tolist()
        [1.0, 1.0]
        """
        if labels is _LEFT_OUT:
            raise LabelError(_in_two(ids, "correct"))
        if annotator is not None:
            return self._revise(ids, labels, annotator)
        return self._correct(ids, labels)

    @in_turn
    def skip(self, ids: ArrayLike) -> int:
        """Set items aside that nobody can label: they are never asked for again, unless they are released.

        The answer takes them to be like the others of their cell, or between the same queried ranks of a list, and the
        summary says how many they are. Of ranked lists others take their places.

        Parameters
        ----------
        ids : (n,) item ids
            Items without a label, whether they were asked for or not; of ranked lists those that were.

        Returns
        -------
        int
            How many were not set aside before.

        Raises
        ------
        LabelError
            If an item has a label; nothing is changed then.
        UnknownIdError
            If an id is not in the pool, or that of an item of a ranked list that was not asked for.

        Examples
        --------
        >>> import bayes_assess as ba
        >>> a = ba.assess(ba.Pool(predictions=["cat", "cat", "dog"]), ba.GroupAccuracy())
        >>> a.skip(a.ask(1).ids)
        1
        >>> a.n_skipped, a.n_pending, a.n_remaining
        (1, 0, 2)
        """
        units = self._unlabelled(ids, "set aside")
        return self._move("skip", units[~self._items.is_skipped(units)], self._set_aside)

    @in_turn
    def release(self, ids: ArrayLike) -> int:
        """Let items be asked for again that are pending or set aside, such as those of a sheet that was lost.

        Parameters
        ----------
        ids : (n,) item ids
            As for `skip`.

        Returns
        -------
        int
            How many were pending or set aside.

        Raises
        ------
        LabelError, UnknownIdError
            As by `skip`.

        Examples
        --------
        >>> import bayes_assess as ba
        >>> a = ba.assess(ba.RankedList(1_000_000), ba.PrecisionCurve(p_min=0.5))
        >>> a.release(a.ask(2).ids)
        2
        >>> a.n_pending
        0
        """
        units = np.unique(self._units.find(ids)) if self.repeats_items else self._unlabelled(ids, "released")
        return self._move("release", units[~self._items.unseen(units)], self._put_back)

    def _move(self, kind: str, units: Units, move: Callable[[Units], None]) -> int:
        if len(units):
            self._write(kind, {"ids": self._units.names_of(units)})
            move(units)
        return len(units) * self.question.labels_each

    def _correct(self, ids: ArrayLike, labels: ArrayLike) -> int:
        """Put labels right, whoever told them; say how many changed."""
        units, codes = self._read(ids, labels, correcting=True)
        before = self._items.codes_of(units)
        wrong = before != codes
        if wrong.any():
            self._decide("correct", units[wrong], codes[wrong])
        return self._units.n_differing(before, codes)

    def _noted(self, id: Hashable) -> Hashable:
        return self._units.known_as(id)

    def _read(self, ids: ArrayLike, labels: ArrayLike, *, correcting: bool = False) -> tuple[Units, Codes]:
        """Return the units with labels, and codes of these; `correcting` ones contradict none that were told."""
        return self._units.read(ids, labels, self._items.codes_of, correcting=correcting)

    def _unlabelled(self, ids: ArrayLike, done: str) -> Units:
        """Return the units with these ids, each once; `done` says what is done to them, which labels rule out."""
        units = self._units.find(ids)
        check_unlabelled(self._items.codes_of(units), np.atleast_1d(values_of(ids)), done)
        return np.unique(units)

    def _untold(self, units: Units) -> Bool[np.ndarray, " n"]:
        """Whether there is a label to be told of units."""
        return self._items.codes_of(units) < 0

    def _units_in(self, event: Event) -> Units:
        """Return the units that an event is about."""
        return self._units.named(event.payload["ids"])

    @abstractmethod
    def _take_labels(
        self, units: Units, codes: Codes, right: Mapping[int, int], annotators: ArrayLike | None = None
    ) -> None:
        """Learn labels that are untold; `right` are codes that later events put right, by unit."""

    def _set_aside(self, units: Units) -> None:
        """Ask no more for units that are pending or unseen."""
        self._items.skip(units)

    def _put_back(self, units: Units) -> None:
        """Let units be asked for again that are pending or set aside."""
        self._items.put_back(units)

    @abstractmethod
    def _decide(self, kind: str, units: Units, codes: Codes) -> None:
        """Put these labels in force, by an event of this kind."""

    @abstractmethod
    def _tell_named(self, ids: ArrayLike, labels: ArrayLike, annotator: ArrayLike) -> None:
        """Learn labels of named annotators."""

    @abstractmethod
    def _revise(self, ids: ArrayLike, labels: ArrayLike, annotator: str) -> int:
        """Put an annotator's own labels right; say how many changed."""

    @property
    def _followed_at_once(self) -> tuple[str, ...]:
        """Kinds of events that lead to the same one by one and together."""
        return ("tell",)

    def _parts(self, events: Sequence[Event]) -> Iterator[Sequence[Event]]:
        """Yield events in turn, those together that may be followed at once from where the session is by then."""
        return runs_of(events, self._followed_at_once)

    def _follow(self, events: Sequence[Event], name: str, right: Mapping[int, int]) -> None:
        """Apply events that were recorded; `name` says where, `right` are codes that later events put right."""
        for part in self._parts(events):
            if len(part) == 1 or not self._follow_at_once(part, right):
                for event in part:
                    self._follow_one(event, name, right)

    @abstractmethod
    def _follow_at_once(self, events: Sequence[Event], right: Mapping[int, int]) -> bool:
        """Follow some events together; tell whether they could be, and change nothing if not."""

    def _follow_one(self, event: Event, name: str, right: Mapping[int, int]) -> None:
        """Apply an event that was recorded; `name` says where, `right` are codes that later events put right."""
        follow = None if event.kind in self.unknown_kinds else getattr(self, f"_follow_{event.kind}", None)
        if follow is None:
            raise JournalError(
                f"Entry {event.sequence} of {name} is of the unknown kind {event.kind!r}; "
                "a newer release may have written it; upgrade bayes_assess to open it."
            )
        with readable(event, name):
            units = self._units_in(event)
            once = self.repeats_items or len(np.unique(units)) == len(units)
            followed = once and follow(units, event, right)
        if not followed:
            raise JournalError(
                f"Entry {event.sequence} of {name} does not follow from those before it; "
                "it was changed by hand or by another release. Go back to an older copy, or start a new one."
            )

    def _follow_tell(self, units: Units, event: Event, right: Mapping[int, int]) -> bool:
        """Learn labels, the right ones of those that were corrected later; tell whether there were none."""
        if not self._untold(units).all():
            return False
        self._take_labels(units, self._units.codes_in([event.payload]), right, event.payload.get("annotators"))
        return True

    def _follow_skip(self, units: Units, event: Event, right: Mapping[int, int]) -> bool:
        """Set units aside; tell whether they could be."""
        if (self._items.codes_of(units) >= 0).any() or self._items.is_skipped(units).any():
            return False
        self._set_aside(units)
        return True

    def _follow_release(self, units: Units, event: Event, right: Mapping[int, int]) -> bool:
        """Let units be asked for again; tell whether they were pending or set aside."""
        labelled = not self.repeats_items and (self._items.codes_of(units) >= 0).any()
        if labelled or self._items.unseen(units).any():
            return False
        self._put_back(units)
        return True

    def _follow_note(self, units: Units, event: Event, right: Mapping[int, int]) -> bool:
        """Change nothing: notes stand beside labels."""
        return True
