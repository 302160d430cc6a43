"""What a journal knows of items and people: who labelled what, and for whom items were asked for."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from typing import TypeVar

import numpy as np

from bayes_assess._tools.seeds import generator
from bayes_assess.books.annotators import UNNAMED
from bayes_assess.sessions.journal import Event
from bayes_assess.sessions.session import AnySession

_T = TypeVar("_T")


class History:
    """Events of a session as the desk needs them; items are known by the id of the first of their unit.

    Parameters
    ----------
    session : Session
    overlap : float
        Share of the items that a second person is to label.

    Attributes
    ----------
    second : dict
        Items that await a second label, and who gave the first.

    Examples
    --------
    >>> import bayes_assess as ba
    >>> from bayes_assess.books.annotators import AtPage
    >>> a = ba.assess(ba.Pool(predictions=["cat", "dog"] * 2), ba.GroupAccuracy())
    >>> ids = a.ask(2, annotator=AtPage("anna")).ids.tolist()
    >>> sheet = a.ask(2, annotator="anna")  # which nobody is shown on the page
    >>> a.tell(ids[:1], ["cat"], annotator="anna")
    >>> history = History(a)
    >>> history.told_by(ids[0]), history.awaited()["anna"] == ids[1:], history.latest("anna", 10)[0][1]
    ({'anna'}, True, ['cat'])
    """

    def __init__(self, session: AnySession, overlap: float = 0.0):
        self._session, self._overlap = session, overlap
        self._begin()
        self.follow()

    def _begin(self) -> None:
        self._seen = 0
        self.second: dict[Hashable, str] = {}
        self._told: dict[Hashable, set[str]] = {}
        self._unsure: set[Hashable] = set()  # of which somebody could give no second label
        self._asked: dict[Hashable, str] = {}
        self._shown: set[Hashable] = set()  # of those that were asked for, the ones on the page and not on a sheet
        self._given: dict[str, dict[Hashable, list[str | float] | None]] = {}

    def follow(self) -> bool:
        """Take note of what has happened since the last look; tell whether that is anything."""
        events = self._session.events
        if len(events) < self._seen:  # an ask that never took effect was left out
            self._begin()
        new = events[self._seen :]
        for event in new:
            self._take(event)
        self._seen = len(events)
        return bool(new)

    def told_by(self, id: Hashable) -> set[str]:
        """Return the names of those who labelled an item."""
        return self._told.get(id, set())

    def awaited(self) -> dict[str, list[Hashable]]:
        """Return the items without an answer that the page asked for, by whom they were asked for."""
        pending = set(self._session.pending.tolist())
        ids_by_name: dict[str, list[Hashable]] = {}
        for id, name in self._asked.items():
            if id in self._shown and id in pending:
                ids_by_name.setdefault(name, []).append(id)
        return ids_by_name

    def latest(self, name: str, n: int) -> list[tuple[list[Hashable], list[str | float] | None]]:
        """Return the ids and labels of the last units that somebody answered, the latest last.

        Of those without a name they are the units that were asked for one by one, not those of sheets.
        """
        given = [item for item in self._given.get(name, {}).items() if name != UNNAMED or item[0] in self._asked]
        return [(self.unit(id), labels) for id, labels in given[-n:]]

    def unit(self, id: Hashable) -> list[Hashable]:
        """Return the ids of the unit of an item: the item itself, or both halves of its pair."""
        return self._session.labelled_with([id])[0].tolist()

    def id_of(self, key: str) -> Hashable:
        """Return the id of the item that the page calls by a text."""
        ids = self._session.pool.ids
        numbers = ids is None or np.asarray(ids).dtype.kind in "iu"
        return int(key) if numbers and key.lstrip("-").isdecimal() else key

    def _take(self, event: Event) -> None:
        payload = event.payload
        if event.kind == "ask" and "annotator" in payload:
            asked = {ids[0]: payload["annotator"] for ids in self._units(payload["ids"])}
            self._asked |= asked
            if payload.get("page") or payload["annotator"] == UNNAMED:  # which older journals say of the page alone
                self._shown |= asked.keys()
        elif event.kind == "annotate":
            for part in (payload, payload["further"]):
                for ids, label, name in zip(
                    self._units(part["ids"]), _plain(part["labels"]), _plain(part["annotators"]), strict=True
                ):
                    self._label(ids[0], [label], str(name))
        elif event.kind in ("tell", "correct", "revise"):
            name = payload.get("annotator", UNNAMED)
            each = payload.get("halves") or [[label] for label in _plain(payload["labels"])]
            for ids, labels in zip(self._units(payload["ids"]), each, strict=True):
                if event.kind != "correct" or name in self.told_by(ids[0]):
                    self._label(ids[0], list(labels), name)
        elif event.kind == "skip":
            for ids in self._units(payload["ids"]):
                name = self._asked.get(ids[0])
                if name is not None:
                    self._give(ids[0], None, name)
        elif event.kind == "note" and payload.get("unsure"):
            self._unsure.add(payload["id"])
            self.second.pop(payload["id"], None)
            if payload["annotator"] is not None:
                self._give(payload["id"], None, payload["annotator"])
        elif event.kind == "release":
            for ids in self._units(payload["ids"]):
                self._asked.pop(ids[0], None)
                self._shown.discard(ids[0])

    def _label(self, id: Hashable, labels: list[str | float], name: str) -> None:
        names = self._told.setdefault(id, set())
        names.add(name)
        # Where an item has one label, whoever told it, no name is told with it: it is of whom the item was asked.
        self._give(id, labels, self._asked.get(id, name) if self._session.one_annotator else name)
        due = self._overlap and generator(0, f"second label of {id}").random() < self._overlap
        if len(names) > 1:
            self.second.pop(id, None)
        elif due and name != UNNAMED and id not in self._unsure:
            self.second[id] = name

    def _give(self, id: Hashable, labels: list[str | float] | None, name: str) -> None:
        given = self._given.setdefault(name, {})
        given.pop(id, None)
        given[id] = labels

    def _units(self, ids: np.ndarray | Sequence[Hashable]) -> Iterator[list[Hashable]]:
        """Go through the units of an event: pairs have names of their own there."""
        yield from self._session.recorded_as(_plain(ids)).tolist()


def _plain(values: np.ndarray | Sequence[_T]) -> list[_T]:
    return values.tolist() if isinstance(values, np.ndarray) else list(values)
