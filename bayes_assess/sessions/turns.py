"""Turns of sessions that share a journal: what others have written is followed before anything new is decided.

Nobody holds the file while a decision is computed. Whoever finds, when it comes to writing, that another session was
faster, follows what that one wrote and decides again; whoever was faster has gone on, so some session always does.

An event is recorded first and takes effect then. Whoever is interrupted in between, by Ctrl-C for example, starts over
from what is recorded at the next turn.
"""

from __future__ import annotations

import contextlib
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from functools import wraps
from typing import Concatenate, NamedTuple, NoReturn, SupportsIndex, TypeVar

from bayes_assess._tools.axes import P
from bayes_assess._tools.progress import progress
from bayes_assess.errors import BayesAssessError, JournalError, LostTurnError, OutputError
from bayes_assess.sessions.journal import Event, Journal

_T = TypeVar("_T")
_WHAT = {"ask": "Choosing items", "tell": "Learning from the labels", "result": "Answering"}
_SessionT = TypeVar("_SessionT", bound="TakesTurns")


class Note(NamedTuple):
    """What somebody wrote on an item."""

    id: Hashable
    annotator: str | None
    text: str


class TakesTurns(ABC):
    """A session whose journal others may write to, in other processes or by other sessions of this one.

    Attributes
    ----------
    journal : Journal or None
    """

    def __init__(self) -> None:
        self.journal: Journal | None = None
        self._sequence = 0  # of the journal's last entry that this session knows
        self._events: list[Event] = []  # that have led to where it is
        self._stale = False  # whether it may be elsewhere than its events lead, as after an interrupt
        self._held: list[tuple[str, Mapping[str, object]]] | None = None  # what is to be recorded together
        self._turn = threading.RLock()  # threads that share a session go one after the other
        self._in_turn = False

    def __reduce_ex__(self, protocol: SupportsIndex) -> NoReturn:
        """Refuse to be copied or pickled: half of a copy would be the session itself."""
        raise OutputError(
            "A session cannot be copied or pickled. Keep a journal, assess(..., journal='run.db'), and go on from it "
            "by resume, in other processes, too; results can be pickled."
        )

    def catch_up(self) -> int:
        """Follow what others have written to the journal since this session last looked.

        Asking, telling, correcting, setting aside and `result` do so by themselves.

        Returns
        -------
        int
            How many entries there were, such as asks and tells; 0 without an open journal.

        Raises
        ------
        JournalError
            If the journal cannot be read, or contradicts what this session knows.

        Examples
        --------
        >>> import bayes_assess as ba, tempfile, os
        >>> path = os.path.join(tempfile.mkdtemp(), "run.db")
        >>> pool = ba.Pool(predictions=["cat", "cat", "dog"])
        >>> mine = ba.assess(pool, ba.GroupAccuracy(), journal=path)
        >>> theirs = ba.resume(path, pool)
        >>> theirs.tell(theirs.ask(1).ids, ["cat"])
        >>> mine.catch_up(), mine.labels_used
        (2, 1)
        """
        with self._turn:
            if self._stale:
                return self._start_over()
            book = self._open_journal
            if book is None or book.last_sequence == self._sequence:
                return 0
            events = list(book.events(after=self._sequence))
            self._stale = True
            try:
                self._follow_others(events)
            except JournalError:
                return self._start_over()
            self._sequence += len(events)
            self._stale = False
            return len(events)

    @property
    def events(self) -> tuple[Event, ...]:
        """All that has happened so far, in order: asks, labels told, items set aside, corrections, notes.

        Examples
        --------
        >>> import bayes_assess as ba
        >>> a = ba.assess(ba.Pool(predictions=["cat", "dog"]), ba.GroupAccuracy())
        >>> a.tell(a.ask(1).ids, ["cat"])
        >>> [event.kind for event in a.events]
        ['ask', 'tell']
        """
        with self._turn:
            return tuple(self._events)

    @property
    def notes(self) -> tuple[Note, ...]:
        """What annotators wrote beside their labels, in order; `note` keeps it."""
        payloads = [event.payload for event in self.events if event.kind == "note" and event.payload["text"]]
        return tuple(Note(*(payload[field] for field in Note._fields)) for payload in payloads)

    def note(self, id: Hashable, text: str, *, annotator: str | None = None, unsure: bool = False) -> None:
        """Keep a note on an item beside its label; answers do not depend on it.

        Parameters
        ----------
        id : item id
        text : str
        annotator : str, optional
            Who wrote it.
        unsure : bool
            Whether the annotator cannot label the item, of which another has: the labelling page asks nobody again.

        Raises
        ------
        UnknownIdError
            If the pool has no such item, or none of those asked for where a list knows ids by their ranks alone.

        Examples
        --------
        >>> import bayes_assess as ba
        >>> a = ba.assess(ba.Pool(predictions=["cat", "dog"]), ba.GroupAccuracy())
        >>> a.note(1, "blurred", annotator="A1")
        >>> a.notes
        (Note(id=1, annotator='A1', text='blurred'),)
        """
        id, who = self._noted(id), None if annotator is None else str(annotator)
        payload = {"ids": [id], "id": id, "annotator": who, "text": str(text), **({"unsure": True} if unsure else {})}
        self._take_turn(lambda: self._write("note", payload))

    def rehearse(self) -> None:
        """Compile what the next label will need; nothing where nothing is compiled."""
        return

    @property
    def _open_journal(self) -> Journal | None:
        """The journal if it is open; without it a session still answers from what it knows."""
        return None if self.journal is None or self.journal.closed else self.journal

    def _start_over(self) -> int:
        """Follow all that is recorded from the start; return how many entries this session had not known."""
        known, book = self._sequence, self._open_journal
        events = self._events if book is None else list(book.events())
        self._restart(events)
        self._events = events
        self._sequence = known if book is None else len(events)
        self._stale = False
        return self._sequence - known

    def _write(self, kind: str, payload: Mapping[str, object]) -> None:
        """Record an event before it takes effect, unless another session has written to the journal."""
        self._stale = True  # until the turn has come to its end
        if self._held is None:
            self._record_all([(kind, payload)])
        else:
            self._held.append((kind, payload))

    def _record_all(self, acts: Sequence[tuple[str, Mapping[str, object]]]) -> None:
        if self.journal is not None:
            first, *further = acts
            self._sequence = self.journal.append(*first, *further, expected=self._sequence)
        for kind, payload in acts:
            self._events.append(Event(len(self._events) + 1, kind, "", dict(payload)))

    @contextlib.contextmanager
    def _together(self) -> Iterator[None]:
        """Record what is written within a turn once all of it has taken effect, or let nothing of it have one."""
        self._held = held = []
        try:
            yield
            if held:
                self._record_all(held)
        except Exception:
            if held:
                self._start_over()
            raise
        finally:
            self._held = None

    def _replay(self, book: Journal) -> None:
        """Bring a fresh session to the state that the journal records; no decision is taken anew."""
        self.journal = book
        if not self.catch_up():
            list(book.events())  # none, or the file is damaged where they were
        self._take_snapshot()

    @abstractmethod
    def _noted(self, id: Hashable) -> Hashable:
        """Return what the journal calls an item on which there is a note, or raise UnknownIdError."""

    def _take_snapshot(self) -> None:
        """Keep where the events have led now and then, so that whoever follows them later starts from there."""
        return

    @property
    def _record(self) -> str:
        """Where the events are recorded, in words."""
        return "this session" if self.journal is None else f"the journal {str(self.journal.path)!r}"

    @abstractmethod
    def _follow_others(self, events: Sequence[Event]) -> None:
        """Bring this session to where these further entries of its journal have led."""

    @abstractmethod
    def _restart(self, events: Sequence[Event]) -> None:
        """Bring this session to where these events have led from the start."""

    def _take_turn(self, act: Callable[[], _T]) -> _T:
        """Run `act` on all that is known; once more whenever another session has written before it could."""
        with self._turn:
            if self._in_turn:  # part of a turn
                return act()
            self._in_turn, self._held = True, None
            try:
                while True:
                    self.catch_up()
                    try:
                        done = act()
                    except LostTurnError:  # what was written before has taken effect, the rest is not written
                        self._stale = False
                        continue
                    self._stale = False
                    self._take_snapshot()
                    return done
            finally:
                self._in_turn = False


@contextlib.contextmanager
def readable(event: Event, name: str) -> Iterator[None]:
    """Say which entry it is that lacks something or holds what the session does not know."""
    try:
        yield
    except JournalError:
        raise
    except (BayesAssessError, LookupError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise JournalError(
            f"Entry {event.sequence} of {name} cannot be followed; it was changed by hand or by another release. "
            f"({type(error).__name__}: {error})"
        ) from error


def in_turn(act: Callable[Concatenate[_SessionT, P], _T]) -> Callable[Concatenate[_SessionT, P], _T]:
    """Let a session's method see all that others wrote; it changes nothing of the session before it writes."""
    what = _WHAT.get(act.__name__, "Following the labels")

    @wraps(act)
    def taken(self: _SessionT, /, *args: P.args, **options: P.kwargs) -> _T:
        with progress(what):
            return self._take_turn(lambda: act(self, *args, **options))

    return taken
