"""CSV files, whatever wrote them: commas, semicolons or tabs, UTF-8, UTF-16 or Windows-1252, texts of any length."""

from __future__ import annotations

import codecs
import csv
import math
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from bayes_assess._tools.locks import Exclusive
from bayes_assess._tools.text import without_halves

DELIMITERS = (",", ";", "\t")
WINDOWS = "cp1252"  # what Excel writes as plain CSV in Western Europe and America
_SEPARATOR = re.compile(r'"?sep=(.)"?\r?\n', re.IGNORECASE)  # a first line that Excel writes and does not count
_LONGEST = 2**31 - 1  # letters of a field; the csv module reads no more than 131,072 unless it is told to
_LIMIT = Exclusive()
_QUOTE, _ENDS = '"', re.compile('[",\t\r\n]')
_CHUNK = 1 << 16  # rows, or bytes
_ROWS_OF_TITLES = 10  # among which a header is looked for, to say where it is
_QUOTES = " \"'"


_BINARY = {  # by how they begin: files of Excel, LibreOffice, ZIP and gzip; of Parquet, Arrow and SQLite
    (b"PK\x03\x04", b"\xd0\xcf\x11\xe0", b"\x1f\x8b"): "a workbook or another archive",
    (b"PAR1", b"ARROW1", b"SQLite format 3\0"): "a binary file of tables",
}


class UnreadableCsv(Exception):
    """A file that cannot be read; `problem` goes on where "... cannot be read" begins."""

    def __init__(self, problem: str) -> None:
        super().__init__(problem)
        self.problem = problem


class CsvFile(NamedTuple):
    """A file whose header has been read.

    Attributes
    ----------
    path : Path
    encoding : str
    delimiter : str
    header : list of str
        Names of the columns, without spaces around them; none where the file has no text.
    number : int
        Of the header's row, as spreadsheets count; blank lines before it count, too.
    skipped : int
        Lines before the first row, which spreadsheets do not count.
    """

    path: Path
    encoding: str
    delimiter: str
    header: list[str]
    number: int
    skipped: int

    def chunks(self) -> Iterator[tuple[int, list[list[str]]]]:
        """Yield some rows after the header at a time, with the number of the first; blank lines are empty rows.

        Raises
        ------
        UnreadableCsv
            At a row that is no CSV.
        """
        first = 1
        for rows in _chunks(self.path, self.encoding, self.delimiter, self.skipped):
            after = max(self.number + 1 - first, 0)
            if len(rows) > after:
                yield first + after, rows[after:]
            first += len(rows)

    @property
    def note(self) -> str | None:
        """What to know of the encoding that was guessed."""
        if self.encoding != WINDOWS:
            return None
        return "It is not in UTF-8, and was read as Windows-1252; if letters look wrong, save it as 'CSV UTF-8'."


def open_csv(path: Path, n_found: Callable[[list[str]], int]) -> CsvFile:
    r"""Find out how a file is written, and read its header.

    Parameters
    ----------
    path : Path
    n_found : function
        Says how many of the columns that are wanted a header has: the delimiter is the one that finds most of them, and
        then most columns.

    Raises
    ------
    UnreadableCsv
        If the file is in no encoding that is known, or its header is no CSV.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "sheet.csv")
    ...     _ = path.write_text("ID ;note\n7;a, b\n", encoding="utf-16")
    ...     file = open_csv(path, lambda header: "ID" in header)
    ...     print(file.delimiter, file.header, next(file.chunks()))
    ; ['ID', 'note'] (2, [['7', 'a, b']])
    """
    encoding = encoding_of(path)
    with path.open(encoding=encoding, newline="") as stream:
        separator = _SEPARATOR.match(stream.readline(20))
    skipped, delimiters = (1, separator[1]) if separator else (0, DELIMITERS)
    files, problems = [], []
    for delimiter in delimiters:
        try:
            number, header = _header(path, encoding, delimiter, skipped)
        except UnreadableCsv as error:
            problems.append(error)
            continue
        files.append(CsvFile(path, encoding, delimiter, [name.strip() for name in header], number, skipped))
    if not files:
        raise problems[0]
    return max(files, key=lambda file: (n_found(file.header), len(file.header)))


def encoding_of(path: Path, others: Sequence[str] = (WINDOWS,)) -> str:
    """Return the encoding of a file: UTF-8 or UTF-16, or else the first of others that can read it.

    Raises
    ------
    UnreadableCsv
        If none can, or the file is a pipe.
    """
    if path.exists() and not (path.is_file() or path.is_dir()):
        raise UnreadableCsv("as it is a pipe, which gives its text only once")
    with path.open("rb") as stream:
        start = stream.read(200)
    for begun, kind in _BINARY.items():
        if start.startswith(begun):
            raise UnreadableCsv(f"as text: it is {kind}")
    likely, problem = _likely(start), ""
    for encoding in (likely, *others):
        try:
            _decode(path, encoding)
        except UnicodeDecodeError as error:
            problem = problem or f"{error.reason} at byte {error.start}"
        else:
            return encoding
    known = " or ".join(["UTF-8", "UTF-16", *["Windows-1252"] * (WINDOWS in others)])
    raise UnreadableCsv(f"as {known}: {problem}")


def _likely(start: bytes) -> str:
    if start[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
        return "utf-16"
    zeros = [at % 2 for at, byte in enumerate(start.partition(b"\n")[0]) if not byte]  # the other halves of letters
    if len(zeros) > 1 and len(set(zeros)) == 1:
        return "utf-16-le" if zeros[0] else "utf-16-be"
    return "utf-8-sig"


def _decode(path: Path, encoding: str) -> None:
    """Raise UnicodeDecodeError, with the place in the file, if it is not in this encoding."""
    decoder, before, plain = codecs.getincrementaldecoder(encoding)(), 0, encoding == "utf-8-sig"
    with path.open("rb") as stream:
        while True:
            part = stream.read(_CHUNK)
            if part and plain and part.isascii() and not decoder.getstate()[0]:  # nothing to find out
                before += len(part)
                continue
            try:
                decoder.decode(part, final=not part)
            except UnicodeDecodeError as error:
                n_kept = len(error.object) - len(part)
                raise UnicodeDecodeError(
                    error.encoding, b"\0", before + error.start - n_kept, before + error.end - n_kept, error.reason
                ) from None
            if not part:
                return
            before += len(part)


def _header(path: Path, encoding: str, delimiter: str, skipped: int) -> tuple[int, list[str]]:
    """Return the number of the first row that has text, and that row."""
    number = 0
    for rows in _chunks(path, encoding, delimiter, skipped, 1):
        number += 1
        if any(map(str.strip, rows[0])):
            return number, rows[0]
    return number, []


def _chunks(path: Path, encoding: str, delimiter: str, skipped: int, size: int = _CHUNK) -> Iterator[list[list[str]]]:
    with path.open(encoding=encoding, newline="") as stream:
        for _ in range(skipped):
            stream.readline()
        reader, number = csv.reader(stream, delimiter=delimiter, strict=True), 0
        while True:
            rows: list[list[str]] = []
            try:
                with _long_fields():
                    rows.extend(islice(reader, size))
            except csv.Error as error:
                if rows:
                    yield rows
                raise UnreadableCsv(f"as CSV: row {number + len(rows) + 1}: {error}") from None
            if not rows:
                return
            yield rows
            number += len(rows)


@contextmanager
def _long_fields() -> Iterator[None]:
    with _LIMIT:
        before = csv.field_size_limit(_LONGEST)
        try:
            yield
        finally:
            csv.field_size_limit(before)


def header_below(rows: Iterable[Sequence[str]], first: int, n_found: Callable[[list[str]], int], least: int) -> str:
    """Say which of the first rows below a title looks like the header: the end of a message, empty if none does.

    Parameters
    ----------
    rows : the rows below the first one
    first : int
        Number of the first of them in the file.
    n_found : callable
        Counts the columns that are looked for among names.
    least : int
        So many of them make a header.

    Examples
    --------
    >>> header_below([["id", "label"]], 2, lambda names: len({"id", "label"}.intersection(names)), 2)
    ' Row 2 looks like the header: delete the row above it.'
    """
    for number, row in enumerate(islice(rows, _ROWS_OF_TITLES), start=first):
        cells = ",".join(row)  # which the title may have let be cut at another delimiter
        if any(n_found([cell.strip(_QUOTES) for cell in cells.split(by)]) >= least for by in DELIMITERS):
            return f" Row {number} looks like the header: delete the {'row' if number == 2 else 'rows'} above it."
    return ""


def csv_values(values: Sequence[object]) -> list[str]:
    """Write the cells of a column; what is missing as nothing."""
    return ["" if _is_missing(value) else csv_cell(value) for value in values]


def csv_cell(value: object) -> str:
    """Write a cell, in quotes if it has any letter that readers may take for the end of a cell or a row."""
    text = without_halves(str(value))
    return f'"{text.replace(_QUOTE, 2 * _QUOTE)}"' if _ENDS.search(text) else text


def _is_missing(value: object) -> bool:
    return value is None or (isinstance(value, float) and math.isnan(value))
