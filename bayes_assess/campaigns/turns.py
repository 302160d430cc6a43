"""Turns of sessions that share a journal: what others have written is followed before anything new is decided.

Nobody holds the file while a decision is computed. Whoever finds, when it comes to writing, that another session was
faster, follows what that one wrote and decides again; whoever was faster has gone on, so some session always does.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any, TypeVar

from bayes_assess._tools.progress import progress
from bayes_assess.campaigns.journal import Event, Journal
from bayes_assess.errors import LostTurnError

_T = TypeVar("_T")
_WHAT = {"ask": "Choosing items", "tell": "Learning from the labels", "result": "Answering"}
_Act = TypeVar("_Act", bound=Callable[..., Any])


class TakesTurns:
    """A session whose journal others may write to, in other processes or by other sessions of this one.

    Attributes
    ----------
    journal : Journal or None
    """

    def __init__(self) -> None:
        self.journal: Journal | None = None
        self._sequence = 0  # of the journal's last entry that this session knows
        self._turn = threading.RLock()  # threads that share a session go one after the other
        self._in_turn = False

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
            if self.journal is None or self.journal.closed or self.journal.last_sequence == self._sequence:
                return 0  # without its journal, a session still answers from what it knows
            events = list(self.journal.events(after=self._sequence))
            self._follow_others(events)
            self._sequence += len(events)
            return len(events)

    def _follow_others(self, events: Sequence[Event]) -> None:
        """Bring this session to where these entries of its journal have led."""
        raise NotImplementedError

    def _take_turn(self, act: Callable[[], _T]) -> _T:
        """Run `act` on all that is known; once more whenever another session has written before it could."""
        with self._turn:
            if self._in_turn:  # part of a turn
                return act()
            self._in_turn = True
            try:
                while True:
                    self.catch_up()
                    try:
                        return act()
                    except LostTurnError:
                        continue
            finally:
                self._in_turn = False


def in_turn(act: _Act) -> _Act:
    """Let a session's method see all that others wrote; it changes nothing of the session before it writes."""
    what = _WHAT.get(act.__name__, "Following the labels")

    @wraps(act)
    def taken(self: Any, *args: Any, **options: Any) -> Any:
        with progress(what):
            return self._take_turn(lambda: act(self, *args, **options))

    return taken  # type: ignore[return-value]
