"""Runs of asks and labels in a record, which a campaign follows at once where that leads to the same.

Thousands of labels that were told one by one are then learned in batches. A run ends where another kind of event comes,
or where the state of the design is to be refreshed.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from itertools import chain, groupby, pairwise
from typing import Any, NamedTuple

import numpy as np

from bayes_assess._tools.arrays import objects
from bayes_assess._tools.shapes import ArrayLike, Bool, Int
from bayes_assess.books.annotators import UNNAMED, ToldLabels
from bayes_assess.designs import Design, State
from bayes_assess.sessions.journal import Event

_UnitsNamed = Callable[[ArrayLike], Int[np.ndarray, " n"]]
_CodesIn = Callable[[Sequence[Mapping[str, object]]], Int[np.ndarray, " n"]]

PIECE = 64  # labels learned at once: as many as live sessions have compiled steps for
TELLING = ("tell", "annotate")  # kinds of events that tell labels


class Run(NamedTuple):
    """Items asked for and labels told in some events; `*_in` are the events' places.

    Attributes
    ----------
    asked, asked_in : (a,) integers
    said : ToldLabels
        All labels with those who told them, in order.
    said_in : (m,) integers
    first : (m,) booleans
        Whether a label is the first of its item, which is to be learned.
    """

    asked: Int[np.ndarray, " a"]
    asked_in: Int[np.ndarray, " a"]
    said: ToldLabels
    said_in: Int[np.ndarray, " m"]
    first: Bool[np.ndarray, " m"]

    @property
    def told(self) -> Int[np.ndarray, " n"]:
        """Items of first labels."""
        return self.said.items[self.first]

    @property
    def told_in(self) -> Int[np.ndarray, " n"]:
        """Places of the events that told first labels."""
        return self.said_in[self.first]

    @property
    def codes(self) -> Int[np.ndarray, " n"]:
        """Codes of first labels."""
        return self.said.codes[self.first]

    @property
    def further(self) -> ToldLabels:
        """Labels of items that had one."""
        return ToldLabels(*(column[~self.first] for column in self.said))

    @property
    def tells(self) -> list[slice]:
        """Labels of every event that tells some."""
        cuts = [0, *(np.flatnonzero(np.diff(self.told_in)) + 1).tolist(), len(self.told_in)]
        return [slice(start, end) for start, end in pairwise(cuts) if end > start]

    @property
    def in_order(self) -> bool:
        """Whether every item is asked for once at most, told once at most, and not told before it is asked for.

        Further labels of an item come after the first, one of an annotator.
        """
        if len(np.unique(self.asked)) < len(self.asked) or len(np.unique(self.told)) < len(self.told):
            return False
        _, asked, told = np.intersect1d(self.asked, self.told, assume_unique=True, return_indices=True)
        if not (self.asked_in[asked] < self.told_in[told]).all():
            return False
        if self.first.all():
            return True
        by_whom = list(zip(self.said.items.tolist(), self.said.annotators.tolist(), strict=True))
        place = dict(zip(self.told.tolist(), np.flatnonzero(self.first).tolist(), strict=True))
        further = np.flatnonzero(~self.first).tolist()
        return len(set(by_whom)) == len(by_whom) and all(place.get(by_whom[at][0], -1) < at for at in further)


def runs_of(events: Sequence[Event], kinds: Collection[str]) -> Iterator[list[Event]]:
    """Go through runs of events of these kinds, and through all other events one by one.

    Examples
    --------
    >>> events = [Event(i, kind, "", {}) for i, kind in enumerate(["ask", "tell", "skip", "tell"], 1)]
    >>> [[event.sequence for event in run] for run in runs_of(events, ("ask", "tell"))]
    [[1, 2], [3], [4]]
    """
    for together, run in groupby(events, lambda event: event.kind in kinds):
        if together:
            yield list(run)
        else:
            yield from ([event] for event in run)


def between_refreshes(events: Sequence[Event], design: Design, state: State) -> Iterator[Sequence[Event]]:
    """Cut a run of asks and labels before the asks at which the state is to be refreshed."""
    n_told = np.cumsum([0, *(len(event.payload["ids"]) if event.kind in TELLING else 0 for event in events)])
    asks = [place for place, event in enumerate(events) if event.kind == "ask"]
    dues = design.dues(state, n_told[asks].tolist()) if asks else []
    cuts = [0, *(place for place, due in zip(asks, dues, strict=True) if due and place), len(events)]
    for start, end in pairwise(cuts):
        yield events[start:end]


def read_run(events: Sequence[Event], units_named: _UnitsNamed, codes_in: _CodesIn) -> Run:
    """Look up items and labels of a run, all together, by what the journal calls them."""
    asks = [(place, event.payload) for place, event in enumerate(events) if event.kind == "ask"]
    tells = [record for place, event in enumerate(events) for record in _told_in(place, event)]
    records = [record for _, record, _ in tells]
    asked, asked_in = _items_in(asks, units_named)
    items, said_in = _items_in([(place, record) for place, record, _ in tells], units_named)
    names = chain.from_iterable(record.get("annotators", [UNNAMED] * len(record["ids"])) for record in records)
    said = ToldLabels(items, codes_in(records), objects(names))
    first = np.repeat(np.array([first for *_, first in tells], bool), [len(record["ids"]) for record in records])
    return Run(asked, asked_in, said, said_in, first)


def pieces(n: int) -> list[slice]:
    """Return so many labels in batches.

    Examples
    --------
    >>> pieces(70)
    [slice(0, 64, None), slice(64, 70, None)]
    """
    return [slice(start, min(start + PIECE, n)) for start in range(0, n, PIECE)]


def _told_in(place: int, event: Event) -> Sequence[tuple[int, Mapping[str, Any], bool]]:
    """Return the records of labels in an event, with its place and whether they are first ones."""
    first = [(place, event.payload, True)] if event.kind in TELLING else []
    return [*first, (place, event.payload["further"], False)] if event.kind == "annotate" else first


def _items_in(
    records: Sequence[tuple[int, Mapping[str, Any]]], units_named: _UnitsNamed
) -> tuple[Int[np.ndarray, " n"], Int[np.ndarray, " n"]]:
    """Return the items of records, and the places of their events."""
    ids = list(chain.from_iterable(record["ids"] for _, record in records))
    where = np.repeat([at for at, _ in records], [len(record["ids"]) for _, record in records]).astype(np.int64)
    return (units_named(ids) if ids else np.zeros(0, np.intp)), where
