"""The rounds of a session whose estimates weigh items: which were drawn in which, and with which probabilities."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from bayes_assess._tools.shapes import Float, Int
from bayes_assess.designs import MULTILABEL, Design
from bayes_assess.errors import DesignError
from bayes_assess.estimators.drawn_items import ItemWeights, Rounds, item_weights

_NEVER = -1  # drawn in no round


def check_inclusion(design: Design) -> None:
    """Raise DesignError unless a design knows the probabilities with which it has drawn items."""
    if type(design).inclusion is Design.inclusion:
        able = " and ".join(map(repr, MULTILABEL))
        raise DesignError(f"Design {design.name!r} cannot serve pools of several labels per item; {able} can.")


class RoundBook:
    """Rounds of a session; one begins when items are asked for while none is pending.

    Items that are told without having been asked for are known to the rounds that begin later.

    Parameters
    ----------
    n_items, n_cells : int
        M and K.

    Examples
    --------
    >>> book = RoundBook(n_items=4, n_cells=1)
    >>> book.begin(np.array([4]))
    >>> book.ask(np.array([2, 0]), np.array([0.5]))
    >>> book.tell(np.array([2, 0]))
    >>> book.weights(np.array([0, 2]), np.array([0, 0])).total.tolist()
    [2.0, 2.0]
    """

    def __init__(self, n_items: int, n_cells: int):
        self._drawn_in = np.full(n_items, _NEVER, np.int32)
        self._known_to = np.full(n_items, _NEVER, np.int32)  # the first round that begins when the label is known
        self._frame: list[Int[np.ndarray, " K"]] = []
        self._inclusion: list[Float[np.ndarray, " K"]] = []
        self._asked: list[int] = []
        self._told: list[int] = []
        self._n_cells = n_cells

    @property
    def frame(self) -> Int[np.ndarray, " K"]:
        """Items of every cell that the last round draws from."""
        return self._frame[-1]

    @property
    def asked(self) -> int:
        """Items drawn in the last round."""
        return self._asked[-1]

    @property
    def n_told(self) -> int:
        """Labels of items that were drawn."""
        return sum(self._told)

    def begin(self, frame: Int[np.ndarray, " K"]) -> None:
        """Begin a round that draws from so many items of every cell."""
        self._frame.append(np.array(frame))
        self._inclusion.append(np.zeros(self._n_cells))
        self._asked.append(0)
        self._told.append(0)

    def ask(self, items: Int[np.ndarray, " n"], inclusion: Float[np.ndarray, " K"]) -> None:
        """Add items to the last round; `inclusion` is that of an item of every cell in the whole round."""
        self._drawn_in[items] = len(self._frame) - 1
        self._asked[-1] += len(items)
        self._inclusion[-1] = np.asarray(inclusion, np.float64)

    def tell(self, items: Int[np.ndarray, " n"]) -> None:
        """Take note of labels."""
        self._known_to[items] = len(self._frame)
        for number in self._drawn_in[items].tolist():
            if number != _NEVER:
                self._told[number] += 1

    def withdraw(self, items: Int[np.ndarray, " n"]) -> None:
        """Forget that items were drawn; their round counts as one whose other labels are random ones of it."""
        self._drawn_in[items] = _NEVER

    def arrays(self) -> dict[str, np.ndarray]:
        """Return all rounds, for a snapshot."""
        items = np.flatnonzero((self._drawn_in != _NEVER) | (self._known_to != _NEVER))
        return {
            "items": items,
            "drawn_in": self._drawn_in[items],
            "known_to": self._known_to[items],
            "frame": np.array(self._frame, np.int64).reshape(-1, self._n_cells),
            "inclusion": np.array(self._inclusion, np.float64).reshape(-1, self._n_cells),
            "asked": np.array([self._asked, self._told], np.int64),
        }

    def restore(self, arrays: Mapping[str, np.ndarray]) -> None:
        """Take over what `arrays` returned, into a book that is new."""
        self._drawn_in[arrays["items"]], self._known_to[arrays["items"]] = arrays["drawn_in"], arrays["known_to"]
        self._frame, self._inclusion = list(arrays["frame"]), list(arrays["inclusion"])
        self._asked, self._told = arrays["asked"].tolist()

    def weights(self, items: Int[np.ndarray, " n"], cells: Int[np.ndarray, " n"]) -> ItemWeights:
        """Weigh labelled items of these cells; some must have been drawn."""
        frame, told, b = np.array(self._frame), np.array(self._told), self._so_far()
        by_chance = np.where((b > 0) & (b < 1), frame, 0).sum(1)
        drawn_in = self._drawn_in[items]
        rounds = Rounds(frame.sum(1), told, by_chance)
        return item_weights(rounds, drawn_in, b[drawn_in, cells], self._known_to[items])

    def inclusion(self) -> Float[np.ndarray, " K"]:
        """Return the probability that an item of every cell was drawn in some round and is known."""
        return 1 - np.prod(1 - self._so_far(), axis=0)

    def _so_far(self) -> Float[np.ndarray, "r K"]:
        """Inclusion probabilities of all rounds: of one that is labelled in part, as if no more had been asked for."""
        share = np.array(self._told) / np.maximum(self._asked, 1)
        return np.array(self._inclusion).reshape(-1, self._n_cells) * share[:, None]
