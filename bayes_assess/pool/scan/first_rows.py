"""The rows that come first in the order of sessions' own seed, found in the pass that counts the kinds of rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from bayes_assess._tools.shapes import Float, Int
from bayes_assess.pool.scan.engine import Engine
from bayes_assess.pool.scan.kinds import KEY, SCORE, UNITS, Layout
from bayes_assess.pool.scan.order import P, first_word, order_keys

SEED = 0  # of sessions, unless another is given
FIRST = "__first"  # a column that is computed: the id of a row that comes first
NONE = -1  # in its place where a row does not
_ROWS = 40_000  # about so many
MOST_FIRST = 2 * _ROWS
_LEAST = 1_000_000  # of tables with fewer rows another pass costs little
_DIGITS = 8  # of scores, which are known in units of 2^-30


@dataclass(frozen=True, eq=False)
class FirstRows:
    """All rows of a table whose first word of the order is below a bound.

    Attributes
    ----------
    stop : int
        The bound.
    ids : (n,) integers
    kinds : (n,) integers
    score : (n,) floats, optional
        Rounded: for people to look at.
    """

    stop: int
    ids: Int[np.ndarray, " n"]
    kinds: Int[np.ndarray, " n"]
    score: Float[np.ndarray, " n"] | None

    @classmethod
    def of(cls, stop: int, found: Mapping[str, np.ndarray], kinds: Int[np.ndarray, " n"]) -> FirstRows:
        """Take them from what was counted: a row of it for every id, or more where an id is repeated."""
        times = found["__n"].astype(np.int64)
        units = found.get(f"{SCORE}_0_u")
        score = None if units is None else np.round((units / times + 0.5) / UNITS, _DIGITS).repeat(times)
        return cls(stop, found[FIRST].astype(np.int64).repeat(times), kinds.repeat(times), score)

    def fetched(self, word: str) -> dict[str, np.ndarray]:
        """Return them as a query would, by column, with their first words."""
        columns = {"__id": self.ids, KEY: self.ids, "__kind": self.kinds}
        columns[word] = first_word(self.ids, order_keys(SEED)[0])
        return columns if self.score is None else {**columns, SCORE: self.score}


def bound_of(engine: Engine, layout: Layout) -> int:
    """Return a bound below which about 40,000 first words lie; 0 where first rows are better fetched later.

    That is so of small tables, of ids that are texts or not known to be 0..p-1, and where annotators see more columns.
    """
    if layout.show or isinstance(layout.scores, tuple) or layout.id is None:
        return 0
    ids = engine.range_of(layout.id) if engine.schema[layout.id].is_integer() else None
    if ids is None or ids[0] < 0 or ids[1] >= P:
        return 0
    n_rows = engine.n_rows()
    return 0 if n_rows < _LEAST else min(P, _ROWS * P // n_rows)
