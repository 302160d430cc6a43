"""Rows of long studies, one JSON object a line: written as soon as found, so that a run resumes where one stopped."""

from __future__ import annotations

import argparse
import csv
import json
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

Item = TypeVar("Item")


class Rows:
    """Rows in a file, and which there are.

    Parameters
    ----------
    path : path
        Made with the first row.
    key : names of columns
        What tells rows apart.
    """

    def __init__(self, path: str | Path, key: Sequence[str]) -> None:
        self.path, self.key = Path(path), tuple(key)
        self.rows = read_rows(self.path)
        self._present = {self._key_of(row) for row in self.rows}

    def _key_of(self, row: dict[str, Any]) -> tuple:
        return tuple(row.get(name) for name in self.key)

    def __contains__(self, key: dict[str, Any]) -> bool:
        return self._key_of(key) in self._present

    def add(self, row: dict[str, Any]) -> None:
        """Append a row to the file, in one piece: other processes may append theirs."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a+b") as file:
            if file.tell():
                file.seek(-1, 2)
                torn = file.read(1) != b"\n"
            else:
                torn = False
            file.write(b"\n" * torn + json.dumps(row).encode() + b"\n")
        self.rows.append(row)
        self._present.add(self._key_of(row))


def read_rows(*paths: str | Path) -> list[dict[str, Any]]:
    """Read the rows of files that are there; lines that an interrupted run left unfinished are left out."""
    rows = []
    for path in map(Path, paths):
        for line in path.read_text().splitlines() if path.exists() else []:
            try:
                rows.append(json.loads(line))
            except ValueError:
                continue
    return rows


def by_budget(rows: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Write rows whose lists have an entry per budget as one row for each, with `labels` for `budgets`."""
    for row in rows:
        for b, labels in enumerate(row["budgets"]):
            one = {name: value[b] if isinstance(value, list) else value for name, value in row.items()}
            yield {"labels": labels, **{name: value for name, value in one.items() if name != "budgets"}}


def write_csv(rows: Iterable[dict[str, Any]], path: str | Path, columns: Sequence[str]) -> None:
    """Write these columns of rows, numbers with five digits."""
    with Path(path).open("w", newline="") as file:
        writer = csv.DictWriter(file, columns, extrasaction="ignore", lineterminator="\n")
        writer.writeheader()
        for row in rows:
            writer.writerow({n: f"{v:.5g}" if isinstance(v, float) else v for n, v in row.items()})


class Clock:
    """A limit of time, None for none."""

    def __init__(self, minutes: float | None) -> None:
        self.end = None if minutes is None else time.monotonic() + 60 * minutes

    @property
    def over(self) -> bool:
        """Whether the time is over."""
        return self.end is not None and time.monotonic() >= self.end


def without_row(
    items: Iterable[tuple[dict[str, Any], Item]], rows: Rows, minutes: float | None
) -> Iterator[tuple[dict[str, Any], Item]]:
    """Yield keys of rows that are not there, and what these are of, until the time is over, which is then said."""
    clock = Clock(minutes)
    for key, item in items:
        if key in rows:
            continue
        if clock.over:
            print(f"Stopped after {minutes:g} minutes; the same command goes on.")
            return
        yield key, item


def sharded(items: Iterable[Item], shard: str) -> Iterator[Item]:
    """Yield every n-th of the items, from the i-th on, of a shard "i/n"; i is 0 to n - 1.

    Examples
    --------
    >>> list(sharded("abcde", "1/2"))
    ['b', 'd']
    """
    which, of = (int(part) for part in shard.split("/"))
    if not 0 <= which < of:
        sys.exit(f"A shard i/n has i from 0 to n - 1; found {shard}.")
    for place, item in enumerate(items):
        if place % of == which:
            yield item


def whole(text: str) -> int:
    """Read a positive whole number of an option.

    Examples
    --------
    >>> whole("20")
    20
    """
    if not text.isascii() or not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"takes a positive whole number; found {text!r}")
    return int(text)


def add_row_options(parser: argparse.ArgumentParser, rows: str) -> None:
    """Add the options of studies that write rows."""
    parser.add_argument("--rows", default=rows, help="file of JSON lines: rows that it has are not made again")
    parser.add_argument("--minutes", type=float, help="start no further row after so many")
    parser.add_argument("--shard", default="0/1", help="i/n: of the pools every n-th from the i-th on")
    parser.add_argument("--report", action="store_true", help="only make the tables from the rows")
