"""Pools in CSV files: which columns hold what, and values from their texts.

A class, a group or an id is called as the file has it: ``01`` is another name than ``1``. Columns are numbers where all
of their texts are plain ones, in the way that most programs write them.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from decimal import Decimal
from itertools import count
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from bayes_assess._tools.arrays import objects, text_as_int
from bayes_assess._tools.callers import warn_caller
from bayes_assess._tools.coded import CodedColumn
from bayes_assess._tools.csv_files import CsvFile, UnreadableCsv, header_below, open_csv
from bayes_assess._tools.row_numbers import Numbering
from bayes_assess.errors import PoolError
from bayes_assess.pool._quick_csv import PlainColumns, read_plain
from bayes_assess.pool._table import SCORE_PREFIXES, Columns, arguments, class_names, resolve_columns

_TELLING = ("id", "prediction", "confidence", "score")
_MISSING = {"", "nan", "NaN", "NA", "null", "None"}  # in a column of numbers; elsewhere only "" is missing
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:[.]([0-9]+))?(?:[eE][+-]?[0-9]+)?")
_THOUSANDS = re.compile(r"-?[1-9][0-9]{0,2}(?:,[0-9]{3})+")
_INEXACT = 2.0**53  # from where on floating-point numbers leave whole numbers out
_FLAGS = {"True": True, "TRUE": True, "true": True, "False": False, "FALSE": False, "false": False}


def read_csv(path: Path, columns: Columns, classes: Any, numbering: Numbering) -> dict[str, Any]:
    """Return the arguments of `Pool` from a CSV file.

    Parameters
    ----------
    path, columns, classes
        As of `read_pool`.
    numbering : Numbering
        Is told how the file numbers its rows.

    Raises
    ------
    PoolError
        If the file cannot be read, a column is missing or there twice, or a row has more fields than the header.
    """
    try:
        file = open_csv(path, lambda header: _n_found(header, columns))
        if not file.header:
            raise UnreadableCsv("as CSV: it is empty")
        columns = _resolved(file, columns)
        held = _Held(file, columns, numbering)
        plain = read_plain(file, columns, _MISSING)
        if plain is None:
            for first, rows in file.chunks():
                held.take(first, rows)
        else:
            held.take_columns(plain)
    except UnreadableCsv as error:
        raise PoolError(f"{path.name!r} cannot be read {error.problem}.") from None
    held.check_widths()
    if file.note:
        warn_caller(f"{path.name}: {file.note}")
    names = class_names(columns.scores) if classes is None and isinstance(columns.scores, list) else classes
    arrays = held.arrays(None if names is None else set(map(str, list(names))))
    return arguments(arrays, columns, classes)


def _resolved(file: CsvFile, columns: Columns) -> Columns:
    """Decide which columns to read; where there are not those, say which row below has their names."""
    try:
        return resolve_columns(file.header, _stripped(columns, file.header))
    except PoolError as error:
        first, rows = next(iter(file.chunks()), (0, []))
        more = max(_n_found(file.header, columns), 1) + 1  # and two at least
        below = header_below(rows, first, lambda row: _n_found(row, columns), more)
        error.args = (f"{error}{below}",)
        raise


def _n_found(header: list[str], columns: Columns) -> int:
    wanted = {*_TELLING, *(name.strip() for name in columns.all)}
    return sum(name in wanted or name.startswith(SCORE_PREFIXES) for name in header)


def _stripped(columns: Columns, header: list[str]) -> Columns:
    """Return names without spaces around them, as those of the header are."""

    def strip(name: object) -> Any:
        return name if name in header or not isinstance(name, str) else name.strip()

    def each(names: Any) -> Any:
        return strip(names) if isinstance(names, str) or names is None else [strip(name) for name in names]

    names = {name: each(getattr(columns, name)) for name in ("id", "scores", "prediction", "confidence", "groups")}
    systems = {name: strip(column) for name, column in columns.systems.items()}
    return columns._replace(**names, systems=systems, show=each(columns.show))


class _Held:
    """What was read of a file: numbers as arrays, names as codes of their texts, all other texts as they are."""

    def __init__(self, file: CsvFile, columns: Columns, numbering: Numbering) -> None:
        self._file, self._columns, self._numbering = file, columns, numbering
        numbering.first = file.number + 1
        numbering.scores = [] if columns.scores is None or isinstance(columns.scores, str) else columns.scores
        self._width = len(file.header)
        self._numbers: list[np.ndarray] = []  # of rows that are not blank
        self._blank = False
        self._lengths: set[int] = set()
        self._longer: dict[int, int] = {}  # lengths beyond that of the header, and the first such row
        self._parts: dict[str, list[np.ndarray | list[str]]] = {name: [] for name in columns.all}
        self._texts: dict[str, defaultdict[str, int]] = {
            name: defaultdict(count().__next__)
            for name in columns.all
            if name not in {*columns.numbers, *columns.texts}
        }

    def take(self, first: int, rows: list[list[str]]) -> None:
        """Take some rows, of which the first has this number."""
        width = self._width
        lengths = np.fromiter(map(len, rows), np.int64, len(rows))
        numbers = np.arange(first, first + len(rows))
        odd = np.flatnonzero(lengths != width).tolist()
        blank = {at for at in odd if not any(map(str.strip, rows[at]))}
        blank |= {at for at, row in enumerate(rows) if not any(row)} if width > 1 else set()
        if blank:
            self._blank = True
            filled = np.setdiff1d(np.arange(len(rows)), list(blank))
            rows, lengths, numbers = [rows[at] for at in filled.tolist()], lengths[filled], numbers[filled]
        if not rows:
            return
        self._numbers.append(numbers)
        self._lengths.update(np.unique(lengths).tolist())
        if lengths.min() < width or lengths.max() > width:
            rows = [self._fitted(row, int(number)) for row, number in zip(rows, numbers, strict=True)]
        places = {name: self._file.header.index(name) for name in self._parts}
        for name, place in places.items():
            self._parts[name].append(self._part(name, [row[place] for row in rows]))

    def take_columns(self, plain: PlainColumns) -> None:
        """Take all rows at once."""
        first = self._numbering.first
        self._numbers.append(np.arange(first, first + plain.n_rows))
        for name, values in (plain.numbers | plain.texts).items():
            self._parts[name].append(values)
        for name, (names, codes) in plain.names.items():
            self._texts[name].update((text, code) for code, text in enumerate(names.tolist()))
            self._parts[name].append(codes)

    def _fitted(self, row: list[str], number: int) -> list[str]:
        extra = row[self._width :]
        if extra and any(map(str.strip, extra)):
            self._refuse(len(row), number)
        if extra:
            self._longer.setdefault(len(row), number)
        return row[: self._width] + [""] * (self._width - len(row))

    def check_widths(self) -> None:
        """Refuse rows that are longer than others, if by empty fields: a delimiter in a text may have moved them."""
        if self._longer and len(self._lengths) > 1:
            width, number = next(iter(self._longer.items()))
            self._refuse(width, number)

    def _refuse(self, width: int, number: int) -> NoReturn:
        raise PoolError(
            f"Row {number} of {self._file.path.name!r} has {width} fields, and its header {self._width}: put quotes "
            f"around texts that contain the delimiter {self._file.delimiter!r}, or values move to other columns."
        )

    def _part(self, name: str, cells: list[str]) -> np.ndarray | list[str]:
        if name in self._texts:
            return np.fromiter(map(self._texts[name].__getitem__, cells), np.int64, len(cells))
        return self._floats(cells) if name in self._columns.numbers else cells

    def _floats(self, cells: list[str]) -> np.ndarray:
        """Return numbers; the texts themselves where some are no numbers."""
        try:
            numbers = np.array(cells, np.float64)
        except ValueError:
            cells = ["nan" if cell.strip() in _MISSING else cell for cell in cells]
            try:
                return np.array(self._pointed(cells), np.float64)
            except ValueError:
                return objects(cells)
        integers = text_as_int(np.array(cells)) if (numbers == np.floor(numbers)).all() else None
        return numbers if integers is None else integers

    def _pointed(self, cells: list[str]) -> list[str]:
        """Return numbers with decimal points in the place of commas, if these cannot be anything else."""
        having = [cell for cell in cells if "," in cell]
        no_thousands = self._file.delimiter != "," or not all(map(_THOUSANDS.fullmatch, having))
        if having and no_thousands and not any("." in cell for cell in cells):
            return [cell.replace(",", ".") for cell in cells]
        return cells

    def arrays(self, classes: set[str] | None) -> dict[str, Any]:
        """Return what the columns hold; predictions among the names of the classes are names, whatever they look like.

        Raises
        ------
        PoolError
            If there is no row.
        """
        if not self._numbers:
            raise PoolError(f"{self._file.path.name!r} has no rows after its header; the pool has no items.")
        if self._blank:
            self._numbering.numbers = np.concatenate(self._numbers)
        columns = self._columns
        arrays = {}
        for name in columns.numbers:
            arrays[name] = np.concatenate(self._parts[name])
            self._check_number(name, arrays[name])
        for name in columns.texts:
            parts = self._parts[name]
            arrays[name] = (
                parts[0] if isinstance(parts[0], np.ndarray) else objects([x for part in parts for x in part])
            )
        if columns.id:
            ids = arrays[columns.id].astype(str, copy=False)
            numbers = text_as_int(ids)
            arrays[columns.id] = ids if numbers is None else numbers
        together = [name for name in (columns.prediction, *columns.systems.values()) if name in self._texts]
        alike = list({text for name in together for text in self._texts[name]})
        values = dict(zip(alike, self._values(alike, classes).tolist(), strict=True))
        for name, texts in self._texts.items():
            in_order = list(texts)
            own = np.array([values[text] for text in in_order]) if name in together else self._groups(in_order)
            arrays[name] = CodedColumn(own, np.concatenate(self._parts[name]))
        return arrays

    def _check_number(self, name: str, values: np.ndarray) -> None:
        if values.dtype.kind != "O":
            return
        for at, value in enumerate(values.tolist()):
            if isinstance(value, str):
                try:
                    float(value)
                except ValueError:
                    raise PoolError(
                        f"Score column {name!r} does not hold one number per row, but {value!r} in row "
                        f"{self._numbering.row(at)}."
                    ) from None

    def _groups(self, texts: Sequence[str]) -> np.ndarray:
        """Return `_values`, or the texts themselves where several are one number, or the number is another one."""
        values = self._values(texts)
        if values.dtype.kind != "f":
            return values
        n_different = len(set(map(Decimal, self._pointed(list(texts)))))
        exact = np.abs(values).max() < _INEXACT and len(np.unique(values)) == n_different
        return values if exact else np.array(texts, dtype=str)

    def _values(self, texts: Sequence[str], classes: set[str] | None = None) -> np.ndarray:
        """Return distinct texts as numbers or booleans if they all are, else as they are."""
        names = np.array(texts, dtype=str)
        known = classes is not None and classes.issuperset(texts)
        if not texts or "" in texts or known:
            return names
        if all(text in _FLAGS for text in texts):
            return np.array([_FLAGS[text] for text in texts])
        integers = text_as_int(names)
        if integers is not None:
            return integers
        pointed = self._pointed(list(texts)) if self._file.delimiter != "," else list(texts)
        matches = [_NUMBER.fullmatch(text) for text in pointed]
        # 3.9 and 3.10 are versions; 3.90 and 3.10 may be numbers.
        places = {len(match[1] or "") if match else -1 for match in matches}
        plain = -1 not in places and (
            len(places) == 1 or not any(m and m[1] and m[1] != "0" and m[1].endswith("0") for m in matches)
        )
        return np.array(pointed, np.float64) if plain else names
