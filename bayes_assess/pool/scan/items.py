"""Items of a table that somebody has looked at, numbered in the order in which they were met."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence

import numpy as np

from bayes_assess._tools.arrays import show, values_of
from bayes_assess._tools.shapes import Float, Int
from bayes_assess.errors import EngineError


class MetItems:
    """What is kept of items that were fetched: ids, kinds, scores and what annotators see.

    Attributes
    ----------
    item_of : dict
        Item of every id.

    Examples
    --------
    >>> met = MetItems(["text"])
    >>> met.add(np.array([70, 80]), np.array([0, 1]), np.array([0.5, 0.9]), {"text": np.array(["a", "b"])}).tolist()
    [0, 1]
    >>> met.add(np.array([80]), np.array([1]), np.array([0.9]), {"text": np.array(["b"])}).tolist()
    [1]
    >>> met.ids.tolist(), met.shown["text"].tolist()
    ([70, 80], ['a', 'b'])
    """

    def __init__(self, show_columns: Sequence[str]):
        self.item_of: dict[Hashable, int] = {}
        self._kind: list[int] = []
        self._score: list[float] = []
        self._shown: dict[str, list[object]] = {name: [] for name in show_columns}
        self._arrays: dict[str, np.ndarray] = {}  # of the lists, as long as nothing is added

    def __len__(self) -> int:
        return len(self._kind)

    def add(
        self,
        ids: np.ndarray,
        kinds: Int[np.ndarray, " n"],
        scores: Float[np.ndarray, " n"],
        shown: Mapping[str, np.ndarray],
    ) -> Int[np.ndarray, " n"]:
        """Take items over, or find those that are known.

        Raises
        ------
        EngineError
            If an id was that of a row of another kind before.
        """
        items, columns = [], {name: values.tolist() for name, values in shown.items()}
        rows = zip(ids.tolist(), kinds.tolist(), scores.tolist(), strict=True)
        for row, (name, kind, score) in enumerate(rows):
            item = self.item_of.get(name)
            if item is None:
                item = self.item_of[name] = len(self._kind)
                self._kind.append(kind)
                self._score.append(score)
                for column, values in self._shown.items():
                    values.append(columns[column][row])
                self._arrays.clear()
            elif self._kind[item] != kind:
                raise EngineError(
                    f"Item {show(name)} has other predictions, scores or groups than before: the table has changed, or "
                    "has the id twice. Scan it anew and start a session on it."
                )
            items.append(item)
        return np.array(items, np.int64)

    @property
    def ids(self) -> np.ndarray:
        """Ids of the items, (n,)."""
        return self._array("ids", lambda: values_of(list(self.item_of)) if self.item_of else np.zeros(0, np.int64))

    @property
    def kinds(self) -> Int[np.ndarray, " n"]:
        """Kinds of the items."""
        return self._array("kinds", lambda: np.array(self._kind, np.int64))

    @property
    def scores(self) -> Float[np.ndarray, " n"]:
        """Scores of the items as the table has them."""
        return self._array("scores", lambda: np.array(self._score, np.float64))

    @property
    def shown(self) -> dict[str, np.ndarray]:
        """What annotators see of the items, by column, (n,) each."""
        return {
            name: self._array(f"show {name}", lambda v=values: values_of(v)) for name, values in self._shown.items()
        }

    def _array(self, name: str, make: Callable[[], np.ndarray]) -> np.ndarray:
        array = self._arrays.get(name)
        if array is None:
            array = self._arrays[name] = make()
        return array
