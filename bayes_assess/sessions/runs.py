"""Runs of asks and labels in a record, which a campaign follows at once where that leads to the same.

Thousands of labels that were told one by one are then learned in batches. A run ends where another kind of event comes,
or where the state of the design is to be refreshed.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from itertools import chain, groupby, pairwise
from typing import NamedTuple

import numpy as np

from bayes_assess._tools.shapes import ArrayLike, Int
from bayes_assess.designs import Design, State
from bayes_assess.sessions.journal import Event

_UnitsNamed = Callable[[ArrayLike], Int[np.ndarray, " n"]]
_CodesIn = Callable[[Sequence[Mapping[str, object]]], Int[np.ndarray, " n"]]

PIECE = 64  # labels learned at once: as many as live sessions have compiled steps for


class Run(NamedTuple):
    """Items asked for and labels told in some events; `*_in` are the events' places.

    Attributes
    ----------
    asked, asked_in : (a,) integers
    told, told_in, codes : (n,) integers
    """

    asked: Int[np.ndarray, " a"]
    asked_in: Int[np.ndarray, " a"]
    told: Int[np.ndarray, " n"]
    told_in: Int[np.ndarray, " n"]
    codes: Int[np.ndarray, " n"]

    @property
    def tells(self) -> list[slice]:
        """Labels of every event that tells some."""
        cuts = [0, *(np.flatnonzero(np.diff(self.told_in)) + 1).tolist(), len(self.told_in)]
        return [slice(start, end) for start, end in pairwise(cuts) if end > start]

    @property
    def in_order(self) -> bool:
        """Whether every item is asked for once at most, told once at most, and not told before it is asked for."""
        if len(np.unique(self.asked)) < len(self.asked) or len(np.unique(self.told)) < len(self.told):
            return False
        _, asked, told = np.intersect1d(self.asked, self.told, assume_unique=True, return_indices=True)
        return bool((self.asked_in[asked] < self.told_in[told]).all())


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
    n_told = np.cumsum([0, *(len(event.payload["ids"]) if event.kind == "tell" else 0 for event in events)])
    asks = [place for place, event in enumerate(events) if event.kind == "ask"]
    dues = design.dues(state, n_told[asks].tolist()) if asks else []
    cuts = [0, *(place for place, due in zip(asks, dues, strict=True) if due and place), len(events)]
    for start, end in pairwise(cuts):
        yield events[start:end]


def read_run(events: Sequence[Event], units_named: _UnitsNamed, codes_in: _CodesIn) -> Run:
    """Look up items and labels of a run, all together, by what the journal calls them."""
    asked, asked_in = _items_in(events, "ask", units_named)
    told, told_in = _items_in(events, "tell", units_named)
    codes = codes_in([event.payload for event in events if event.kind == "tell"])
    return Run(asked, asked_in, told, told_in, codes)


def pieces(n: int) -> list[slice]:
    """Return so many labels in batches.

    Examples
    --------
    >>> pieces(70)
    [slice(0, 64, None), slice(64, 70, None)]
    """
    return [slice(start, min(start + PIECE, n)) for start in range(0, n, PIECE)]


def _items_in(
    events: Sequence[Event], kind: str, units_named: _UnitsNamed
) -> tuple[Int[np.ndarray, " n"], Int[np.ndarray, " n"]]:
    entries = [(place, event.payload["ids"]) for place, event in enumerate(events) if event.kind == kind]
    ids = list(chain.from_iterable(some for _, some in entries))
    where = np.repeat([place for place, _ in entries], [len(some) for _, some in entries]).astype(np.int64)
    return (units_named(ids) if ids else np.zeros(0, np.intp)), where
