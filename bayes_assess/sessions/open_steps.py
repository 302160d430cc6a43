"""The steps of a weighted campaign that are not settled yet: items asked for whose labels may come in any order."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from bayes_assess._tools.shapes import Bool, Float, Int
from bayes_assess.designs import Draw
from bayes_assess.estimators.weighted import Steps

_FIRST = 64  # steps that are looked at before all of them are
_AWAITED = np.iinfo(np.int64).max  # in the place of a step: the label may still come


class OpenSteps:
    """Steps from the first whose label is missing on, in the order of asking.

    In a step, items asked for before it that still have no label are stood for by those that have one; while none has,
    they are as if never asked for: they might be drawn in it. So it is with items that are given up, in the steps made
    by then; they may be drawn again in those after. Steps of items that are withdrawn are as if they had never been
    made. Items that nobody asked for take part from when they are told, as items that are known without a draw.

    Examples
    --------
    >>> steps = OpenSteps(n_items=10)
    >>> draws = Draw(weight=np.ones(2), p_new=np.array([1.0, 0.9]), p_pending=np.array([0.0, 0.1]))
    >>> steps.ask(np.array([7, 3]), np.array([0, 0]), draws)
    >>> steps.tell(np.array([3]), np.array([1]))
    >>> settled, later = steps.take()
    >>> len(settled.cell), later.outcome.tolist(), later.p_new.tolist()  # 7 might be drawn instead of 3
    (0, [-1, 1], [1.0, 1.0])
    >>> steps.tell(np.array([7]), np.array([0]))
    >>> settled, later = steps.take()
    >>> settled.outcome.tolist(), settled.p_new.tolist(), len(later.cell)
    ([0, 1], [1.0, 0.9], 0)
    """

    def __init__(self, n_items: int):
        self._n_items = n_items
        self._place: dict[int, int] = {}  # of items without a label, counted from the first that was ever asked for
        self._first = 0  # place of the first open step
        self._cell = np.empty(0, np.int64)
        self._outcome = np.empty(0, np.int64)
        self._columns = np.empty((0, 5))  # weight, p_new, p_pending, q and the sum of q over items pending then
        self._until = np.empty(0, np.int64)  # place of the first step after the item was given up
        self._pending = 0.0  # sum of q over items whose label may still come

    def ask(self, items: Int[np.ndarray, " n"], cells: Int[np.ndarray, " n"], draws: Draw) -> None:
        """Append a batch of items that are handed out."""
        weight = np.asarray(draws.weight, np.float64)
        q = np.divide(1, self._n_items * weight, out=np.zeros(len(weight)), where=weight > 0)
        upto = self._pending + np.cumsum(q)
        self._append(items, cells, np.stack([draws.weight, draws.p_new, draws.p_pending, q, upto - q], axis=-1))
        self._pending = float(upto[-1])

    def volunteer(self, items: Int[np.ndarray, " n"], cells: Int[np.ndarray, " n"]) -> None:
        """Append items that nobody asked for; their labels are to be told at once."""
        self._append(items, cells, np.tile([0.0, 1.0, 0.0, 0.0, 0.0], (len(items), 1)))

    def tell(self, items: Int[np.ndarray, " n"], outcomes: Int[np.ndarray, " n"]) -> None:
        """Write down labels."""
        at = np.array([self._place.pop(item) for item in items.tolist()], np.int64) - self._first
        self._outcome[at] = outcomes
        self._pending -= float(self._columns[at, 3].sum())

    def lacking(self, items: Int[np.ndarray, " n"]) -> Int[np.ndarray, " m"]:
        """Return those of some items that were asked for and have no label, set aside or not."""
        return np.array([item for item in items.tolist() if item in self._place], np.int64)

    def give_up(self, items: Int[np.ndarray, " n"]) -> None:
        """Await no labels of items: they are stood for in the steps so far, and in later ones as if never asked for."""
        at = np.array([self._place.pop(item) for item in items.tolist()], np.int64) - self._first
        self._until[at] = self._first + len(self._cell)
        self._pending -= float(self._columns[at, 3].sum())

    def withdraw(self, items: Int[np.ndarray, " n"]) -> None:
        """Forget the steps of items without a label: in later steps they might be drawn, as if never asked for."""
        gone = np.zeros(len(self._cell), bool)
        gone[[self._place.pop(item) - self._first for item in items.tolist()]] = True
        _, p_new, p_pending, q, then = self._columns.T
        before = np.cumsum(np.where(gone, q, 0.0)) - np.where(gone, q, 0.0)  # all was pending in the steps that follow
        share = np.divide(before, then, out=np.zeros(len(q)), where=then > 0)
        self._columns[:, 1], self._columns[:, 2] = p_new + p_pending * share, p_pending * (1 - share)
        self._columns[:, 4] = np.maximum(then - before, 0.0)
        self._pending -= float(q[gone].sum())
        place = self._first + np.append(0, np.cumsum(~gone))
        self._place = {item: int(place[at - self._first]) for item, at in self._place.items()}
        given_up = self._until < _AWAITED
        self._until[given_up] = place[self._until[given_up] - self._first]
        self._keep(~gone)

    def take(self) -> tuple[Steps, Steps]:
        """Return the steps that are settled now, which are forgotten, and those after them up to the last label."""
        return self.settle(), self.later()

    def settle(self) -> Steps:
        """Return the steps that are settled now, which are forgotten."""
        awaited = (self._outcome[:_FIRST] < 0) & (self._until[:_FIRST] == _AWAITED)  # most often there is one
        awaited = awaited if awaited.any() else (self._outcome < 0) & (self._until == _AWAITED)
        n = int(awaited.argmax()) if awaited.any() else len(awaited)
        given_up = self._until[:n] < _AWAITED
        if given_up.any():  # those of one ask are settled together: their labels stand for each other
            reach = np.maximum.accumulate(np.where(given_up, self._until[:n] - self._first, 0))
            whole = np.flatnonzero(reach <= np.arange(1, n + 1))
            n = int(whole[-1]) + 1 if len(whole) else 0
        settled = self._upto(n)
        if given_up[:n].any():
            known = settled.outcome >= 0
            settled = Steps(*(np.asarray(column)[known] for column in settled))
        self._first += n
        self._keep(slice(n, None))
        if not self._place:
            self._pending = 0.0  # no rounding errors left
        return settled

    def later(self) -> Steps:
        """Return the steps after the settled ones, up to the last label."""
        labels = np.flatnonzero(self._outcome >= 0)
        return self._upto(int(labels[-1]) + 1 if len(labels) else 0)

    def _upto(self, n: int) -> Steps:
        """Return the first n steps."""
        cell, outcome = self._cell[:n], self._outcome[:n]
        weight, p_new, p_pending, q, then = self._columns[:n].T
        drawn, known = weight > 0, outcome >= 0
        # What was pending then under the proposal of then, in the ratio to which it still is under those they came by.
        lacking = np.maximum(self._before(np.where(known, 0.0, q)), 0.0)
        still = np.divide(lacking, then, out=np.zeros(n), where=then > 0)
        missing = p_pending * np.minimum(still, 1.0)
        asked, told = self._before(drawn.astype(np.float64)), self._before((drawn & known).astype(np.float64))
        stood_for = (missing > 0) & (told > 0)
        standing = np.divide(asked, told, out=np.ones(n), where=stood_for)
        of_new = np.divide(p_new, p_new + missing, out=np.ones(n), where=stood_for)
        return Steps(cell, outcome, weight * of_new, p_new + missing, standing)

    def _before(self, values: Float[np.ndarray, " n"]) -> Float[np.ndarray, " n"]:
        """Sum, for every one of the first n steps, over those before it, but for items given up between both."""
        n, until = len(values), self._until[: len(values)] - self._first
        sums, gone = np.cumsum(values) - values, np.flatnonzero(until < n)
        return sums - np.cumsum(np.bincount(until[gone], values[gone], n)) if len(gone) else sums

    def awaited(self) -> int:
        """Count steps without a label that come before the last label of an item drawn at random.

        Examples
        --------
        >>> steps = OpenSteps(n_items=10)
        >>> steps.ask(np.array([7, 3, 5]), np.zeros(3, int), Draw(np.ones(3), np.ones(3), np.zeros(3)))
        >>> steps.tell(np.array([3]), np.array([1]))
        >>> steps.awaited()
        1
        """
        random = np.flatnonzero((self._outcome >= 0) & (self._columns[:, 0] > 0))
        awaited = (self._outcome < 0) & (self._until == _AWAITED)
        return int(awaited[: random[-1]].sum()) if len(random) else 0

    def arrays(self) -> dict[str, np.ndarray]:
        """Return all open steps, for a snapshot."""
        return {
            "place": np.array(list(self._place.items()), np.int64).reshape(-1, 2),
            "first": np.array(self._first),
            "cell": self._cell,
            "outcome": self._outcome,
            "columns": self._columns,
            "until": self._until,
            "pending": np.array(self._pending),
        }

    def restore(self, arrays: Mapping[str, np.ndarray]) -> None:
        """Take over what `arrays` returned."""
        self._place = dict(arrays["place"].tolist())
        self._first, self._pending = int(arrays["first"]), float(arrays["pending"])
        self._cell, self._outcome, self._columns = (arrays[name].copy() for name in ("cell", "outcome", "columns"))
        self._until = arrays["until"].copy()

    def _keep(self, kept: slice | Bool[np.ndarray, " n"]) -> None:
        self._cell, self._outcome, self._columns = self._cell[kept], self._outcome[kept], self._columns[kept]
        self._until = self._until[kept]

    def _append(self, items: np.ndarray, cells: np.ndarray, columns: Float[np.ndarray, "n 5"]) -> None:
        start = self._first + len(self._cell)
        self._place.update(zip(items.tolist(), range(start, start + len(items)), strict=True))
        self._cell = np.append(self._cell, cells)
        self._outcome = np.append(self._outcome, np.full(len(items), -1))
        self._columns = np.concatenate([self._columns, columns])
        self._until = np.append(self._until, np.full(len(items), _AWAITED))
