"""Excel workbooks, by openpyxl, which is an optional extra."""

from __future__ import annotations

import contextlib
import io
import re
import zipfile
from collections.abc import Mapping, Sequence
from datetime import date, datetime, time
from pathlib import Path
from types import ModuleType
from typing import Any

from bayes_assess._tools.archives import check_unpacked
from bayes_assess._tools.files import written_whole
from bayes_assess._tools.text import without_halves
from bayes_assess.errors import LabelError, OutputError
from bayes_assess.sessions.exchange.cells import coded, decoded

SUFFIX = ".xlsx"
OTHER_FORMATS = (".xls", ".xlsb", ".xlsm", ".ods", ".numbers")  # of workbooks, which are neither written nor read
_CLASSES = "classes"  # the hidden sheet that the drop-down list is taken from
_WIDEST = 80  # characters of a column
_LONGEST = 32_767  # letters of a cell
_EXACT = 10**15  # whole numbers below it keep all digits in a cell, whoever writes it
_FORMULA = re.compile(rb"<(\w+:)?f[\s/>]")
_ROUNDED = 2**53  # from which on a number that was read may have been another one


def need_openpyxl() -> ModuleType:
    """Return openpyxl.

    Raises
    ------
    OutputError
        If it is not installed.
    """
    try:
        import openpyxl
    except ImportError:
        raise OutputError('Excel workbooks need openpyxl: pip install "bayes-assess[xlsx]", or use CSV.') from None
    return openpyxl


def write_workbook(path: Path, columns: Mapping[str, Sequence[object]], choices: Sequence[object] = ()) -> None:
    """Write a workbook with one sheet, all or nothing.

    Parameters
    ----------
    path : Path
    columns : mapping of names to values
        Numbers, texts and None.
    choices : sequence
        Values of a drop-down list in the column ``label``; others may be typed in, too, after a warning.

    Raises
    ------
    OutputError
        If openpyxl is missing, the name is none of an XLSX file, or the file cannot be written.
    """
    if path.suffix.lower() != SUFFIX:
        raise OutputError(
            f"A workbook is written as XLSX; name the file {path.stem}{SUFFIX}, not {path.name}, or write it by to_csv."
        )
    openpyxl = need_openpyxl()
    from openpyxl.styles import Alignment, Font
    from openpyxl.utils import get_column_letter
    from openpyxl.worksheet.datavalidation import DataValidation

    book = openpyxl.Workbook()
    sheet = book.active
    sheet.title = "to label"
    sheet.freeze_panes = "A2"
    for at, (name, values) in enumerate(columns.items(), start=1):
        _fill(sheet.cell(1, at), name)
        sheet.cell(1, at).font = Font(bold=True)
        for row, value in enumerate(values, start=2):
            _fill(sheet.cell(row, at), value)
            sheet.cell(row, at).alignment = Alignment(wrap_text=True, vertical="top")
        longest = max((len(str(value)) for value in [name, *values]), default=0)
        sheet.column_dimensions[get_column_letter(at)].width = min(max(longest, 8) + 2, _WIDEST)
    if len(choices):
        hidden = book.create_sheet(_CLASSES)
        hidden.sheet_state = "hidden"
        for row, value in enumerate(choices, start=1):
            _fill(hidden.cell(row, 1), value)
        listed = DataValidation(type="list", formula1=f"={_CLASSES}!$A$1:$A${len(choices)}", allow_blank=True)
        listed.errorStyle = "warning"
        listed.error = "This is none of the classes."
        sheet.add_data_validation(listed)
        letter = get_column_letter(list(columns).index("label") + 1)
        listed.add(f"{letter}2:{letter}{max(len(columns['label']), 1) + 1}")
    stream = io.BytesIO()
    book.save(stream)
    with written_whole(path, "workbook") as temporary:
        temporary.write_bytes(stream.getvalue())


class NotComputed(str):
    """The text of a cell with a formula whose value the file does not hold: none; `cell` is its name, such as B3."""

    cell: str

    @classmethod
    def at(cls, cell: str) -> NotComputed:
        """Return the text of that cell."""
        text = cls()
        text.cell = cell
        return text


def read_workbook(path: Path) -> dict[str, list[list[str]]]:
    """Return the cells of every sheet as texts, by its name; formulas as their values, or as `NotComputed`.

    Raises
    ------
    LabelError
        If the file is no workbook.
    OutputError
        If openpyxl is missing.
    """
    openpyxl = need_openpyxl()
    stream = io.BytesIO(path.read_bytes())
    try:
        with zipfile.ZipFile(stream) as archive:
            check_unpacked(archive)
            sheets = [name for name in archive.namelist() if name.startswith("xl/worksheets/")]
            has_formulas = any(_FORMULA.search(archive.read(name)) for name in sheets)
        values = _cells(openpyxl.load_workbook(stream, read_only=True, data_only=True))
        formulas = _cells(openpyxl.load_workbook(stream, read_only=True)) if has_formulas else values
    except Exception as error:  # whatever a broken archive makes it raise
        raise LabelError(f"{path} cannot be read as an Excel workbook: {str(error).rstrip('.')}.") from None
    both = {name: zip(rows, formulas[name], strict=True) for name, rows in values.items()}
    return {name: [[*map(_computed, *two)] for two in rows] for name, rows in both.items()}


def _cells(book: Any) -> dict[str, list[Sequence[Any]]]:
    """Return the cells of every sheet."""
    with contextlib.closing(book):
        for sheet in book.worksheets:
            sheet.reset_dimensions()  # which a file may claim to be millions of empty cells
        return {sheet.title: list(sheet.iter_rows()) for sheet in book.worksheets}


def _computed(cell: Any, formula: Any) -> str:
    """Return the text of a cell; a formula that came to an empty text is known from one that nobody computed."""
    if cell.value is None and formula.data_type == "f" and cell.data_type != "str":
        return NotComputed.at(formula.coordinate)
    return _text(cell.value)


def _fill(cell: Any, value: object) -> None:
    """Write a value as it is: a text is no formula, and stays one when edited, as a number of many digits does."""
    if isinstance(value, int) and abs(value) >= _EXACT:
        value = str(value)
    if not isinstance(value, str):
        cell.value = value
        return
    text = coded(without_halves(value))
    if len(text) > _LONGEST:
        raise OutputError(
            f"{cell.coordinate} would have {len(text):,} letters, and cells of Excel have {_LONGEST:,} at most; "
            "write CSV."
        )
    cell.value = text
    cell.data_type = "s"
    cell.number_format = "@"


def _text(value: object) -> str:
    """Return what a cell shows, without the .0 of whole numbers, and as no whole number where digits may be lost."""
    if value is None:
        return ""
    if isinstance(value, datetime) and value.time() == time.min:  # Excel knows no dates without a time
        value = value.date()
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, int | float) and abs(value) >= _ROUNDED:
        return f"{float(value):.16e}"
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return decoded(str(value))
