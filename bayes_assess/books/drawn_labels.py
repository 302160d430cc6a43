"""Draws of a session with a stochastic oracle: an item may be drawn again, and every draw has a label of its own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NoReturn

import numpy as np

from bayes_assess._tools.seeds import generator
from bayes_assess._tools.shapes import Bool, Float, Int
from bayes_assess._tools.text import plural
from bayes_assess.books.annotators import UNNAMED, ToldLabels
from bayes_assess.errors import LabelError
from bayes_assess.pool.cells import Cells

_OUT, _WITHDRAWN = -1, -2  # in place of a label's code


class DrawBook:
    """The draws of a session in the order in which they were made.

    Labels of an item's draws are exchangeable: whichever of its draws a label is taken for, the estimate is as good.
    They are taken for the oldest first.

    Attributes
    ----------
    n_asked, n_labelled, n_pending, n_skipped, n_volunteered : int
        Draws made so far, those with a label, those without, items set aside, and 0.
    pending, skipped : (M,) booleans
        Whether an item has a draw without a label, and whether it was set aside.
    label : (M,) integers
        Code of the first label of every item; negative without one.

    Examples
    --------
    >>> import bayes_assess as ba
    >>> book = DrawBook(ba.cells(ba.Pool(predictions=[0, 0, 1])), seed=0)
    >>> book.hand_out(np.array([2, 2, 0]), np.ones(3)).tolist()
    [0, 1, 2]
    >>> book.take_labels(np.array([2]), np.array([1])).tolist(), book.n_pending, book.pending.tolist()
    ([0], 2, [True, False, True])
    """

    def __init__(self, cells: Cells, seed: int):
        self.cells, self._seed = cells, seed
        self.n_asked = self.n_labelled = self.n_pending = self.n_skipped = self.n_volunteered = 0
        self.pending = np.zeros(cells.n_items, bool)
        self.skipped = np.zeros(cells.n_items, bool)
        self.label = np.full(cells.n_items, -1, np.int32)
        self._items: list[int] = []  # of every draw
        self._weights: list[float] = []
        self._codes: list[int] = []
        self._out: dict[int, list[int]] = {}  # draws without a label of every item that has one, oldest first
        self._told: dict[int, list[int]] = {}  # draws with a label, in the order of telling

    @property
    def remaining(self) -> Int[np.ndarray, " K"]:
        """Items of every cell that are not set aside."""
        return self.cells.sizes - self.skipped_by_cell

    @property
    def skipped_by_cell(self) -> Int[np.ndarray, " K"]:
        """Items of every cell that were set aside."""
        return np.bincount(self.cells_of(self.aside), minlength=self.cells.n_cells)

    @property
    def out(self) -> tuple[Int[np.ndarray, " n"], Float[np.ndarray, " n"]]:
        """Items of the draws without a label, in pool order, and importance weights of these."""
        return self._of_draws(self._out, self._weights)

    @property
    def awaited(self) -> Int[np.ndarray, " n"]:
        """Items of the draws without a label, in pool order."""
        return self.out[0]

    @property
    def aside(self) -> Int[np.ndarray, " n"]:
        """Items set aside, in pool order."""
        return np.flatnonzero(self.skipped)

    @property
    def told(self) -> tuple[Int[np.ndarray, " n"], Int[np.ndarray, " n"]]:
        """Items of the draws with a label, in pool order, of one item in the order of telling, and codes of these."""
        items, codes = self._of_draws(self._told, self._codes)
        return items, codes.astype(np.int64)

    @property
    def told_weights(self) -> Float[np.ndarray, " n"]:
        """Importance weights of the draws with a label, in the order of `told`."""
        return self._of_draws(self._told, self._weights)[1]

    def n_out_of(self, items: Int[np.ndarray, " n"]) -> Int[np.ndarray, " n"]:
        """Count the draws without a label of every one of these items."""
        return np.array([len(self._out.get(item, ())) for item in items.tolist()], np.int64)

    def n_labels_of(self, items: Int[np.ndarray, " n"]) -> Int[np.ndarray, " n"]:
        """Count the labels of every one of these items."""
        return np.array([len(self._told.get(item, ())) for item in items.tolist()], np.int64)

    def _of_draws(self, draws: Mapping[int, Sequence[int]], values: Sequence[float]) -> tuple[np.ndarray, np.ndarray]:
        """Return the items of these draws, which are by item, in pool order, and what belongs to every draw."""
        chosen = [draw for item in sorted(draws) for draw in draws[item]]
        return np.array([self._items[i] for i in chosen], np.intp), np.array([values[i] for i in chosen], np.float64)

    def codes_of(self, items: Int[np.ndarray, " n"]) -> Int[np.ndarray, " n"]:
        """Return the code of the first label of every one of these items, negative where there is none."""
        return self.label[items]

    def volunteered(self, items: Int[np.ndarray, " n"]) -> Bool[np.ndarray, " n"]:
        """Whether nobody asked for items: of none, as every label is that of a draw."""
        return np.zeros(len(items), bool)

    def cells_of(self, items: Int[np.ndarray, " n"]) -> Int[np.ndarray, " n"]:
        """Return the cell of every one of these items."""
        return self.cells.source.cells_of(items)

    def unseen(self, items: Int[np.ndarray, " n"]) -> Bool[np.ndarray, " n"]:
        """Whether items have no draw without a label and are not set aside."""
        return ~self.pending[items] & ~self.skipped[items]

    def is_skipped(self, items: Int[np.ndarray, " n"]) -> Bool[np.ndarray, " n"]:
        """Whether items were set aside."""
        return self.skipped[items]

    def drawable(self, items: Int[np.ndarray, " n"]) -> Bool[np.ndarray, " n"]:
        """Whether items can have been drawn: those that were not set aside."""
        return ~self.skipped[items]

    def next_items(self, cells: Int[np.ndarray, " n"]) -> Int[np.ndarray, " n"]:
        """Draw an item of each of these cells, uniformly from those that are not set aside."""
        return np.array([self._drawn(cell, self.n_asked + at) for at, cell in enumerate(cells.tolist())], np.intp)

    def _drawn(self, cell: int, draw: int) -> int:
        rng, size = generator(self._seed, f"draw {draw}"), int(self.cells.sizes[cell])
        while True:  # the design has seen to it that one is left
            item = int(self.cells.source.take(np.array([cell]), np.array([rng.integers(size)]))[0])
            if not self.skipped[item]:
                return item

    def hand_out(self, items: Int[np.ndarray, " n"], weights: Float[np.ndarray, " n"]) -> Int[np.ndarray, " n"]:
        """Write draws down; return their numbers."""
        draws = np.arange(self.n_asked, self.n_asked + len(items))
        for item, draw in zip(items.tolist(), draws.tolist(), strict=True):
            self._out.setdefault(item, []).append(draw)
        self._items += items.tolist()
        self._weights += np.asarray(weights, np.float64).tolist()
        self._codes += [_OUT] * len(items)
        self.pending[items] = True
        self.n_asked += len(items)
        self.n_pending += len(items)
        return draws

    def take_labels(self, items: Int[np.ndarray, " n"], codes: Int[np.ndarray, " n"]) -> Int[np.ndarray, " n"]:
        """Take labels for draws that have none; return the draws."""
        draws = []
        for item, code in zip(items.tolist(), codes.tolist(), strict=True):
            draw = self._out[item].pop(0)
            self._codes[draw] = code
            if self.label[item] < 0:
                self.label[item] = code
            self._told.setdefault(item, []).append(draw)
            if not self._out[item]:
                del self._out[item]
                self.pending[item] = False
            draws.append(draw)
        self.n_labelled += len(draws)
        self.n_pending -= len(draws)
        return np.array(draws, np.intp)

    def skip(self, items: Int[np.ndarray, " n"]) -> Int[np.ndarray, " m"]:
        """Draw items no more; return the draws that are withdrawn."""
        return self._set_aside(items, True)

    def put_back(self, items: Int[np.ndarray, " n"]) -> Int[np.ndarray, " m"]:
        """Let items be drawn again, and draws of them without a label not have been made; return these."""
        return self._set_aside(items, False)

    def _set_aside(self, items: Int[np.ndarray, " n"], aside: bool) -> Int[np.ndarray, " m"]:
        self.n_skipped += int(aside) * len(items) - int(self.skipped[items].sum())
        self.skipped[items] = aside
        draws = [draw for item in items.tolist() for draw in self._out.pop(item, [])]
        for draw in draws:
            self._codes[draw] = _WITHDRAWN
        self.pending[items] = False
        self.n_pending -= len(draws)
        return np.array(draws, np.intp)


class AnswersBy:
    """How many labels each annotator has told, where labels of an item may differ."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()

    def record(self, told: ToldLabels) -> None:
        """Count these labels by annotator."""
        self.counts.update(told.annotators.tolist())

    def check_compared(self) -> NoReturn:
        """Raise LabelError, which says why annotators are not compared."""
        raise LabelError(
            "With a stochastic oracle labels of an item may differ, whoever gives them, and all of them count: there "
            "is nothing to decide on."
        )

    @property
    def n_told(self) -> int:
        """Labels told so far."""
        return self.counts.total()

    @property
    def unresolved(self) -> Int[np.ndarray, " 0"]:
        """No items: that labels of an item differ is as it should be."""
        return np.zeros(0, np.intp)

    def why_undecided(self) -> str:
        """Say nothing: there is nothing to decide on."""
        return ""

    def settle(self, items: Int[np.ndarray, " n"], rule: str | None = None) -> None:
        """Take no note of corrections: who told a label has told it."""

    def by_whom(self) -> str:
        """Say who told how many labels, as the end of a sentence; nothing of one without name.

        Examples
        --------
        >>> book = AnswersBy()
        >>> book.record(ToldLabels(np.array([4, 4, 7]), np.array([0, 1, 1]), np.array(["A1", "A2", "A1"])))
        >>> book.by_whom()
        ' by A1 (2) and A2 (1)'
        """
        if not self.counts or set(self.counts) == {UNNAMED}:
            return ""
        if len(self.counts) == 1:
            return f" by {next(iter(self.counts))}"
        named = [f"{name if name != UNNAMED else 'others'} ({n:,})" for name, n in self.counts.items()]
        return f" by {', '.join(named[:-1])} and {named[-1]}"

    def said(self) -> tuple[str, ...]:
        """Say nothing: that labels of an item differ is as it should be."""
        return ()


def said_of_labels(n_labels: int, n_items: int) -> str:
    """Say how many labels there are of how many items.

    Examples
    --------
    >>> said_of_labels(3, 1)
    '3 labels of 1 item'
    """
    return f"{plural(n_labels, 'label')} of {plural(n_items, 'item')}"
