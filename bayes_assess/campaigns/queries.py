"""What a session hands out: the items to label next."""

from __future__ import annotations

from dataclasses import dataclass
from os import PathLike
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from bayes_assess._tools.tables import Table


@dataclass(frozen=True, eq=False)
class Queries:
    """Items to label next, in the order in which they were drawn.

    Attributes
    ----------
    ids : (n,) item ids
    cells : (n,) integers
        Cell of every item.
    weights : (n,) floats
        Importance weights; 1 for designs that draw uniformly within cells.
    groups : (n,) names
        Group of every item, for people.

    Examples
    --------
    >>> import bayes_assess as ba
    >>> a = ba.assess(ba.Pool(predictions=["cat", "dog"], ids=[7, 8]), ba.GroupAccuracy())
    >>> sorted(a.ask(2).ids.tolist())
    [7, 8]
    """

    ids: np.ndarray
    cells: Int[np.ndarray, " n"]
    weights: Float[np.ndarray, " n"]
    groups: np.ndarray
    predictions: np.ndarray

    def __len__(self) -> int:
        return len(self.ids)

    def table(self) -> Table:
        """Tabulate the queries."""
        return Table(
            {"id": self.ids, "prediction": self.predictions, "group": self.groups, "weight": self.weights},
            title=f"{len(self)} items to label",
        )

    def to_frame(self, backend: str = "pandas") -> Any:
        """Return a data frame with columns id, prediction, group, weight."""
        return self.table().to_frame(backend)

    def to_csv(self, path: str | PathLike[str]) -> None:
        """Write a sheet for annotators: one row per item, with an empty column ``label`` to fill in.

        It has no predictions, so that annotators are not swayed by them.
        """
        Table({"id": self.ids, "label": np.full(len(self), "")}).to_csv(path)

    def __repr__(self) -> str:
        return repr(self.table())

    def _repr_html_(self) -> str:
        return self.table()._repr_html_()
