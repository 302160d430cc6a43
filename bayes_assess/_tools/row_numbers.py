"""Numbers of rows, and names of columns, as the file shows them from which arrays were read; for messages."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field

import numpy as np


@dataclass
class Numbering:
    """How the rows of arrays are called: from 0 on, unless a reader of files says otherwise."""

    first: int = 0
    numbers: np.ndarray | None = None  # of every row, where there are blank ones between them
    n_rows: int | None = None  # of the file, where its rows occur again and again
    scores: list[str] = field(default_factory=list)  # names of the columns of scores

    def row(self, at: int) -> int:
        """Return the number of the row at a position."""
        at = int(at) if self.n_rows is None else int(at) % self.n_rows
        return at + self.first if self.numbers is None else int(self.numbers[at])


_CURRENT: ContextVar[Numbering | None] = ContextVar("numbering", default=None)


@contextmanager
def numbered_as_in_file() -> Iterator[Numbering]:
    """Have rows numbered as a file has them, once its reader has filled in how.

    Examples
    --------
    >>> with numbered_as_in_file() as numbering:
    ...     numbering.first = 2
    ...     print(row_no(0))
    2
    >>> row_no(0)
    0
    """
    numbering = Numbering()
    token = _CURRENT.set(numbering)
    try:
        yield numbering
    finally:
        _CURRENT.reset(token)


def row_no(at: int) -> int:
    """Return the number of a row: that of the file that is being read, else its position."""
    return (_CURRENT.get() or Numbering()).row(at)


def score_column(at: int) -> str:
    """Return how a column of scores is called: by its name in the file that is being read, else by its position."""
    names = (_CURRENT.get() or Numbering()).scores
    return repr(names[at]) if names else str(at)
