"""Whether a pool fits into memory, asked before it is read: a process that takes too much is ended without a word."""

from __future__ import annotations

import os

from bayes_assess._tools.arrays import frame_of
from bayes_assess.errors import PoolError

ITEM = 50  # bytes that an item takes in a pool of a score, an id and a group, once it is assessed
_GIGABYTE = 1e9


def memory() -> int | None:
    """Return the bytes of memory of the machine, None where it does not say."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):  # such as Windows
        return None


def check_fits(n_items: int, what: str = "The pool") -> None:
    """Raise PoolError if so many items cannot be in memory.

    Examples
    --------
    >>> check_fits(1_000_000)
    """
    total, needed = memory(), n_items * ITEM
    if total is not None and needed > total:
        raise PoolError(
            f"{what} has {n_items:,} items, which take about {needed / _GIGABYTE:,.0f} GB in memory (10^8 take "
            f"{1e8 * ITEM / _GIGABYTE:.0f}), and this machine has {total / _GIGABYTE:,.0f}. Leave them in files or "
            "in a database, and scan these, which takes 2 GB for 10^8: "
            "ba.scan_pool('warehouse/*.parquet', id=..., scores=...), or --scan on the command line."
        )


def check_in_memory(**given: object) -> None:
    """Raise PoolError if an argument is a table of an engine, whose rows are not in memory."""
    for name, value in given.items():
        if hasattr(frame_of(value), "collect"):  # of Narwhals' lazy frames alone
            raise PoolError(
                f"The {name} are a {type(value).__name__}, whose rows are not in memory: make a pool of the table "
                "where it is, ba.scan_pool(table, id=..., scores=...), or collect it first if it is small."
            )
