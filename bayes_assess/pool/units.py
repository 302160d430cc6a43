"""Units: what is asked for and labelled at a time, which is an item of a pool, a pair of them, or a rank of a list.

Sessions and their books know units by whole numbers. How people name them, what labels of them are and what is written
down of both is said here, and by the unit sources of pairs and of ranks.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from bayes_assess._tools.shapes import ArrayLike, Float, Int
from bayes_assess.pool.labels import LabelSpace, read_labels

if TYPE_CHECKING:
    from bayes_assess.pool.cells import Cells
    from bayes_assess.pool.pool import Pool

Units = Int[np.ndarray, " n"]
Codes = Int[np.ndarray, " n"]


class UnitSource(ABC):
    """What units are, by their ids and labels.

    Attributes
    ----------
    label_space : LabelSpace
        What items can be labelled.
    """

    one_label: ClassVar[bool] = False  # whether a unit has one label, whoever told it
    label_space: LabelSpace

    @abstractmethod
    def find(self, ids: ArrayLike) -> Units:
        """Return units by ids of items; raise `UnknownIdError` at the first that labels cannot be of."""

    @abstractmethod
    def ids_of(self, units: Units) -> np.ndarray:
        """Return the ids of the items of units, in their order."""

    def names_of(self, units: Units) -> np.ndarray:
        """Return what records call units: their ids."""
        return self.ids_of(units)

    def known_as(self, id: Hashable) -> Hashable:
        """Return what records call the unit of an item."""
        return self.names_of(self.find([id])).tolist()[0]

    def named(self, names: ArrayLike) -> Units:
        """Return units by what records call them."""
        return self.find(np.asarray(names))

    def labels_of(self, units: Units, codes: Codes) -> tuple[np.ndarray, np.ndarray]:
        """Return the ids of the items of units with these codes, and their labels."""
        return self.ids_of(units), self.label_space.names(codes)

    def read(
        self, ids: ArrayLike, labels: ArrayLike, known: Callable[[Units], Codes], *, correcting: bool = False
    ) -> tuple[Units, Codes]:
        """Return the units with labels, each once, and codes of these, see `read_labels`."""
        return read_labels(self.label_space, ids, labels, self.find, known, correcting=correcting)

    def recorded(self, units: Units, codes: Codes) -> dict[str, object]:
        """Return what is recorded of labels."""
        return {"ids": self.names_of(units), "labels": self.label_space.names(codes) if len(codes) else []}

    def codes_in(self, records: Sequence[Mapping[str, Any]]) -> Codes:
        """Return the codes of the labels that were recorded, all together."""
        labels = list(chain.from_iterable(record["labels"] for record in records))
        return self.label_space.codes(labels) if labels else np.zeros(0, np.int64)

    def together(self, ids: ArrayLike) -> np.ndarray:
        """Return the ids of the items that are labelled together with each of these, (n, labels_each)."""
        return np.asarray(ids)[:, None]

    def together_in(self, names: ArrayLike) -> np.ndarray:
        """Return the ids of the items of units that records call so, (n, labels_each)."""
        return np.asarray(names)[:, None]

    def n_differing(self, codes: Codes, others: Codes) -> int:
        """Count the labels of items that differ."""
        return int((codes != others).sum())


class ItemUnits(UnitSource):
    """Items of a pool, each a unit of its own.

    Attributes
    ----------
    described : str
        How items are counted, where that is not one by one, with a leading space.

    Parameters
    ----------
    pool : Pool

    Examples
    --------
    >>> import bayes_assess as ba
    >>> units = ItemUnits(ba.Pool(predictions=["cat", "dog", "cat"], ids=["a", "b", "c"]))
    >>> units.find(["c", "a"]).tolist(), units.recorded(np.array([1]), np.array([0]))["labels"].tolist()
    ([2, 0], ['cat'])
    """

    described: ClassVar[str] = ""

    def __init__(self, pool: Pool):
        self.pool = pool  # of the items, which is asked about
        self.label_space = pool.label_space

    @property
    def n_items(self) -> int:
        """Items that are of units."""
        return self.pool.n_items

    def find(self, ids: ArrayLike) -> Units:
        """Return positions of items."""
        return self.pool.positions(ids)

    def ids_of(self, units: Units) -> np.ndarray:
        """Return ids of items."""
        return self.pool.ids[units]

    def any_recorded(self, units: Units) -> dict[str, object]:
        """Return what would be recorded of labels that units could have, whichever."""
        return {"ids": self.names_of(units), "labels": self.pool.any_labels(len(units))}

    def counted(self, codes: Codes) -> Codes:
        """Return the codes of labels as the question knows them; negative ones stay so."""
        return codes

    def items_of(self, units: Units) -> Int[np.ndarray, " m"]:
        """Return the positions of the items of units, those of a unit one after the other."""
        return units

    def groups_of(self, items: Int[np.ndarray, " m"], places: Int[np.ndarray, " m"], cells: Cells) -> np.ndarray:
        """Return what the groups of items are called, which are in these cells."""
        return cells.names[places]

    def confidence_of(self, items: Int[np.ndarray, " m"], cells: Cells) -> Float[np.ndarray, " m"] | None:
        """Return the scores of the predictions of items, if there are any."""
        unknown = self.pool.multilabel or self.pool.confidence is None
        return None if unknown else cells.source.confidence_of(items)

    def ranks_of(self, items: Int[np.ndarray, " m"]) -> Int[np.ndarray, " m"] | None:
        """Return the ranks of items, 1..M; None where the question is not about ranks."""
        return None


class RankedItemUnits(ItemUnits):
    """Items of a pool that scores rank, each a unit of its own.

    Parameters
    ----------
    pool : Pool
    scores : (M,)
        The greatest score is that of the first rank.

    Examples
    --------
    >>> import bayes_assess as ba
    >>> scores = np.array([0.2, 0.9, 0.5, 0.5])
    >>> RankedItemUnits(ba.Pool(scores=scores), scores).ranks_of(np.array([1, 0, 3])).tolist()
    [1, 4, 3]
    """

    def __init__(self, pool: Pool, scores: Float[np.ndarray, " M"]):
        super().__init__(pool)
        self._scores = scores

    def ranks_of(self, items: Int[np.ndarray, " m"]) -> Int[np.ndarray, " m"]:
        """Return how many items score as high as each or higher: of equal scores the last of their ranks."""
        return self.n_items - np.searchsorted(self._sorted, self._scores[items], side="left")

    @cached_property
    def _sorted(self) -> Float[np.ndarray, " M"]:
        return np.sort(self._scores)
