"""Texts in the cells of sheets, such that spreadsheets show them and do nothing else, and back."""

from __future__ import annotations

import re

import numpy as np

from bayes_assess._tools.arrays import objects

_FORMULA = re.compile(r"'*[=+\-@\t\r\n]")  # how what spreadsheets may compute begins, with as many quotes before it
_HARMLESS = re.compile(r"[+-]?[0-9]+(?:[.,][0-9]+)?|-")
_CODED = re.compile("_x([0-9A-Fa-f]{4})_")  # how workbooks write letters that XML does not have
_LIKE_CODE = re.compile("x(?=[0-9A-Fa-f]{4}_)")
_NO_XML = re.compile("[\x00-\x08\x0b-\x1f\ufffe\uffff]")


def inert(text: str) -> str:
    """Return a text as CSV should hold it: with a quote before it if a spreadsheet would take it for a formula.

    Examples
    --------
    >>> inert("=HYPERLINK(A1)"), inert("-1"), inert("fine")
    ("'=HYPERLINK(A1)", '-1', 'fine')
    """
    return f"'{text}" if _FORMULA.match(text) and not _HARMLESS.fullmatch(text) else text


def inert_column(values: np.ndarray) -> np.ndarray:
    """Return a column with its texts as CSV should hold them."""
    if values.dtype.kind not in "UO":
        return values
    return objects(inert(value) if isinstance(value, str) else value for value in values.tolist())


def as_meant(cell: str) -> str:
    """Return the text for which a cell of CSV stands; see `inert`.

    Examples
    --------
    >>> as_meant("'=HYPERLINK(A1)"), as_meant("'tis")
    ('=HYPERLINK(A1)', "'tis")
    """
    return cell[1:] if cell.startswith("'") and _FORMULA.match(cell) else cell


def coded(text: str) -> str:
    r"""Return a text as workbooks hold it, where ``_x000D_`` stands for a letter that XML does not have.

    Examples
    --------
    >>> coded("a\rb"), decoded(coded("a\rb")), coded("_x000D_")
    ('a_x000D_b', 'a\rb', '__x0078_000D_')
    """
    # The x of what looks like a code is coded itself; openpyxl loses underscores that are.
    text = _LIKE_CODE.sub("_x0078_", text)
    return _NO_XML.sub(lambda match: f"_x{ord(match[0]):04X}_", text)


def decoded(text: str) -> str:
    """Return the text for which that of a workbook stands; see `coded`."""
    return _CODED.sub(lambda match: chr(int(match[1], 16)), text)
