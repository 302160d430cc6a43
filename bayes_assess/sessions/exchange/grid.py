"""Rows of a CSV file, an Excel workbook or a file of records as texts, whatever wrote the file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from bayes_assess._tools.arrays import listing
from bayes_assess._tools.csv_files import UnreadableCsv, encoding_of, header_below, open_csv
from bayes_assess.errors import LabelError
from bayes_assess.sessions.exchange.cells import as_meant
from bayes_assess.sessions.exchange.records import RECORDS, read_records
from bayes_assess.sessions.exchange.workbook import SUFFIX, NotComputed, read_workbook

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
    shown : mapping of str to list of str
        Texts of further columns, as far as the file has one of the very name.
    """

    rows: list[int]
    columns: list[list[str]]
    wrong: dict[int, str]
    unit: str = "row"
    counted: str = "counted from the header, row 1, "
    notes: Sequence[str] = ()
    shown: Mapping[str, list[str]] = MappingProxyType({})


class _Table(NamedTuple):
    """Rows of a file from the header on, as one way to read it has them."""

    number: int  # of the header in the file, less one; -1 where it is no row
    rows: list[list[str]]
    error: str | None = None  # why there are no further rows
    note: str | None = None
    name: str = ""  # of a sheet of a workbook

    @property
    def header(self) -> list[str]:
        return [name.strip() for name in self.rows[0]]


def read_grid(path: Path, wanted: Sequence[str], optional: Sequence[str] = (), shown: Sequence[str] = ()) -> Grid:
    r"""Read some columns of a sheet, and others if they are there; blank lines are passed over.

    Columns that annotators were shown are read from CSV and workbooks, in which people move cells.

    CSV may be separated by commas, semicolons or tabs, in UTF-8, UTF-16 or Windows-1252, with or without a byte-order
    mark; records are Parquet or lines of JSON. Names of columns are taken in any case and with spaces around them, if
    no column has the very name.

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
    ...     read_grid(path, ["id", "label"])[:3]
    ([2], [['7'], ['cat']], {})
    """
    tables = [table for table in _tables(path, wanted, optional) if table.rows]
    if not tables:
        raise LabelError(f"{path} is empty; it needs the columns {' and '.join(map(repr, wanted))}.")
    table = max(tables, key=lambda table: (_n_found(table.header, wanted), len(table.header)))
    if _n_found(table.header, wanted) < len(wanted):
        below = header_below(table.rows[1:], table.number + 2, lambda row: _n_found(row, wanted), len(wanted))
        raise LabelError(f"{path} has no {_missing(table.header, wanted)}{below}")
    places, width = [_place(table.header, name, path) for name in wanted], len(table.header)
    places += [_place(table.header, name, path) if _n_found(table.header, [name]) else width for name in optional]
    if table.error is not None:
        raise LabelError(f"{path} cannot be read {table.error}.")
    numbers, columns, wrong = [], [[] for _ in places], {}
    for number, row in enumerate(table.rows[1:], start=table.number + 2):
        if not _is_row(row):
            continue
        if _has_text(row[width:]):
            wrong[number] = _TOO_LONG
        numbers.append(number)
        texts = [row[place] if place < min(len(row), width) else "" for place in places]
        for column, text in zip(columns, texts, strict=True):
            column.append(text)
            if isinstance(text, NotComputed):
                wrong[number] = (
                    f"cell {text.cell} is a formula whose value the file does not hold; open it in a spreadsheet and "
                    "save it, or write the value"
                )
    notes = [table.note] if table.note else []
    alike = [sheet.name for sheet in tables if sheet is not table and _n_found(sheet.header, wanted) == len(wanted)]
    if alike:
        notes.append(f"Read the sheet {table.name!r} alone; others have these columns, too: {listing(alike)}.")
    if path.suffix.lower() in RECORDS:
        return Grid(numbers, columns, wrong, "row", "counted from 1, ", tuple(notes))
    of_shown = {name: table.header.index(name.strip()) for name in shown if table.header.count(name.strip()) == 1}
    kept = [row for row in table.rows[1:] if _is_row(row)]
    shown_texts = {name: [row[at] if at < len(row) else "" for row in kept] for name, at in of_shown.items()}
    return Grid(numbers, columns, wrong, notes=tuple(notes), shown=shown_texts)


def _tables(path: Path, wanted: Sequence[str], optional: Sequence[str]) -> list[_Table]:
    """Read the sheets of a workbook, a CSV file, or records."""
    if path.suffix.lower() == SUFFIX:
        return [_from_header(rows, name) for name, rows in read_workbook(path).items()]
    if path.suffix.lower() == ".xls":
        raise LabelError(f"{path} is of the format of Excel 97; save it as .xlsx or as CSV.")
    if path.suffix.lower() in RECORDS:
        header, rows = read_records(path, [*wanted, *optional])
        return [_Table(-1, [header, *rows])] if header else []
    try:
        csv_file = open_csv(path, lambda header: _n_found(header, wanted))
    except UnreadableCsv as error:
        raise LabelError(f"{path} cannot be read {error.problem}; save it as 'CSV UTF-8'.") from None
    rows, problem = [csv_file.header], None
    try:
        for _, some in csv_file.chunks():
            rows.extend([*map(as_meant, row)] for row in some)
    except UnreadableCsv as error:
        problem = error.problem
    return [_Table(csv_file.number - 1, rows, problem, csv_file.note)] if csv_file.header else []


def decoded(path: Path) -> str:
    """Return the text of an export, which is in UTF-8 or UTF-16."""
    try:
        encoding = encoding_of(path, ())
    except UnreadableCsv as error:
        raise LabelError(f"{path} cannot be read {error.problem}; export it again.") from None
    return path.read_text(encoding=encoding)


def _from_header(rows: list[list[str]], name: str) -> _Table:
    first = next((i for i, row in enumerate(rows) if _has_text(row)), len(rows))
    return _Table(first, rows[first:], name=name)


def _is_row(row: Sequence[str]) -> bool:
    """Tell a row from a blank line, or an empty one that a spreadsheet leaves, such as ``;;``."""
    return _has_text(row) or any(isinstance(text, NotComputed) for text in row)


def _has_text(row: Sequence[str]) -> bool:
    return any(map(str.strip, row))


def _n_found(header: list[str], wanted: Sequence[str]) -> int:
    names = {name.casefold() for name in header}
    return sum(name.strip().casefold() in names for name in wanted)


def _missing(header: list[str], wanted: Sequence[str]) -> str:
    """Name the first column that is missing, and those there are."""
    name = next(name for name in wanted if not _n_found(header, [name]))
    return f"column {name!r}; its columns are {listing(header, 30)}."


def _place(header: list[str], name: str, path: Path) -> int:
    """Return where a column is that is there: that of the very name, else the one that differs in case alone."""
    alike = (
        [i for i, column in enumerate(header) if as_is(column) == as_is(name.strip())] for as_is in (str, str.casefold)
    )
    places = next(filter(None, alike))
    if len(places) > 1:
        raise LabelError(f"{path} has {len(places)} columns {name!r}; leave one.")
    return places[0]
