"""Rows of a CSV file or an Excel workbook as texts, whatever wrote the file."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from bayes_assess._tools.arrays import listing
from bayes_assess.campaigns.exchange.workbook import SUFFIX, read_workbook
from bayes_assess.errors import LabelError

DELIMITERS = (",", ";", "\t")
_SEPARATOR = re.compile(r'"?sep=(.)"?\r?\n', re.IGNORECASE)  # a first line that Excel writes and does not count
_TOO_LONG = "there are more fields than columns; put quotes around texts that contain the delimiter"


class Grid(NamedTuple):
    """The columns that were asked for.

    Attributes
    ----------
    rows : list of int
        Numbers of the rows as the file has them; the header is row 1.
    columns : list of list of str
        Texts of every column that was asked for; empty ones of those that need not be there.
    wrong : mapping of int to str
        What is wrong with rows that cannot be read.
    unit : str
        What a row is called.
    counted : str
        How rows are numbered.
    notes : list of str
        Sentences on what was left out.
    """

    rows: list[int]
    columns: list[list[str]]
    wrong: dict[int, str]
    unit: str = "row"
    counted: str = "counted from the header, row 1, "
    notes: Sequence[str] = ()


class _Table(NamedTuple):
    """Rows of a file from the header on, as one way to read it has them."""

    number: int  # of the header in the file, less one
    rows: list[list[str]]
    error: str | None = None  # which the next row is

    @property
    def header(self) -> list[str]:
        return [name.strip() for name in self.rows[0]]


def read_grid(path: Path, wanted: Sequence[str], optional: Sequence[str] = ()) -> Grid:
    r"""Read some columns of a sheet, and others if they are there; blank lines are passed over.

    CSV may be separated by commas, semicolons or tabs, in UTF-8 or UTF-16, with or without a byte-order mark. Names of
    columns are taken in any case and with spaces around them, if no column has the very name.

    Raises
    ------
    LabelError
        If the file cannot be read, or lacks a column.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "sheet.csv")
    ...     _ = path.write_text("Label ;note;ID\ncat;;7\n", encoding="utf-16")
    ...     print(read_grid(path, ["id", "label"]))
    Grid(rows=[2], columns=[['7'], ['cat']], wrong={}, unit='row', counted='counted from the header, row 1, ', notes=())
    """
    tables = [table for table in _tables(path) if table.rows]
    if not tables:
        raise LabelError(f"{path} is empty; it needs the columns {' and '.join(map(repr, wanted))}.")
    table = max(tables, key=lambda table: (_n_found(table.header, wanted), len(table.header)))
    places, width = [_place(table.header, name, path) for name in wanted], len(table.header)
    places += [_place(table.header, name, path) if _n_found(table.header, [name]) else width for name in optional]
    if table.error is not None:
        raise LabelError(f"{path} cannot be read as CSV: row {table.number + len(table.rows) + 1}: {table.error}.")
    numbers, columns, wrong = [], [[] for _ in places], {}
    for number, row in enumerate(table.rows[1:], start=table.number + 2):
        if not row:  # a blank line, which spreadsheets count
            continue
        if _has_text(row[width:]):
            wrong[number] = _TOO_LONG
        numbers.append(number)
        for column, place in zip(columns, places, strict=True):
            column.append(row[place] if place < min(len(row), width) else "")
    return Grid(numbers, columns, wrong)


def _tables(path: Path) -> list[_Table]:
    """Read a file in all ways that are possible: the sheets of a workbook, or CSV by every delimiter."""
    if path.suffix.lower() == SUFFIX:
        return [_from_header(rows) for rows in read_workbook(path)]
    if path.suffix.lower() == ".xls":
        raise LabelError(f"{path} is of the format of Excel 97; save it as .xlsx or as CSV.")
    text = decoded(path)
    separator = _SEPARATOR.match(text)
    if separator:
        return [_parsed(text[separator.end() :], separator[1])]
    return [_parsed(text, delimiter) for delimiter in DELIMITERS]


def decoded(path: Path, remedy: str = "save it as 'CSV UTF-8'") -> str:
    """Return the text of a file in UTF-8 or UTF-16."""
    data = path.read_bytes()
    zero = data[:200].find(0)
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        encoding = "utf-16"
    elif zero >= 0:  # the other half of a letter
        encoding = "utf-16-le" if zero % 2 else "utf-16-be"
    else:
        encoding = "utf-8-sig"
    try:
        return data.decode(encoding)
    except UnicodeDecodeError as error:
        raise LabelError(
            f"{path} cannot be read as UTF-8 or UTF-16: {error.reason} at byte {error.start}; {remedy}."
        ) from None


def _parsed(text: str, delimiter: str) -> _Table:
    rows, problem = [], None
    try:
        rows.extend(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True))
    except csv.Error as error:
        problem = str(error)
    return _from_header(rows, problem)


def _from_header(rows: list[list[str]], error: str | None = None) -> _Table:
    first = next((i for i, row in enumerate(rows) if _has_text(row)), len(rows))
    return _Table(first, rows[first:], error)


def _has_text(row: Sequence[str]) -> bool:
    return any(map(str.strip, row))


def _n_found(header: list[str], wanted: Sequence[str]) -> int:
    names = {name.casefold() for name in header}
    return sum(name.strip().casefold() in names for name in wanted)


def _place(header: list[str], name: str, path: Path) -> int:
    """Return where a column is: that of the very name, else the one that differs in case alone."""
    for alike in (str, str.casefold):
        places = [i for i, found in enumerate(header) if alike(found) == alike(name.strip())]
        if len(places) > 1:
            raise LabelError(f"{path} has {len(places)} columns {name!r}; leave one.")
        if places:
            return places[0]
    raise LabelError(f"{path} has no column {name!r}; its columns are {listing(header, 30)}.")
