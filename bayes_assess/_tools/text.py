"""Columns as aligned text, for tables."""

from __future__ import annotations

import math
import re
import unicodedata
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from bayes_assess._tools.shapes import ArrayLike

MAX_WIDTH = 120  # characters; a wider table leaves out columns in its middle
_TRIES = 3  # of cutting names so that none looks like another
_MOST_DECIMALS = 8
_NO_WIDTH = 10.0**-_MOST_DECIMALS  # less is rounding
MAX_CELL = 40  # characters; a longer cell is cut
MAX_CELL_ON_PAGES = 120  # of Markdown and HTML, whose lines are broken
_ODD = r"\x00-\x09\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff"
_UNSEEN, _UNSEEN_OR_END = re.compile(f"[{_ODD}]"), re.compile(f"[{_ODD}\\n]")
_LINKS = re.compile(r"@(?=\w)|\bwww(?=\.)|:(?=//)", re.IGNORECASE)
_HALVES = re.compile("[\ud800-\udfff]")  # of letters, which no file in UTF-8 can hold


@dataclass
class View:
    """A table turned to text: what is shown, and how much is not."""

    names: list[str]
    cells: list[list[str]]  # one list per column
    right: list[bool]  # aligned right
    cut: int  # the note on hidden rows stands before this row
    hidden: int  # rows not shown
    left_out: int = 0  # columns not shown

    def escaped(self, escape: Callable[[str], str]) -> View:
        return replace(
            self,
            names=[escape(name) for name in self.names],
            cells=[[escape(cell) for cell in column] for column in self.cells],
        )

    def narrowed(self, widths: list[int]) -> tuple[View, list[int]]:
        """Leave out columns in the middle until a line fits; the first and the last stay."""
        columns = list(range(len(widths)))
        while len(columns) > 2 and sum(widths[i] + 2 for i in columns) + 5 > MAX_WIDTH:
            columns.pop((len(columns) + 1) // 2)
        left_out = len(widths) - len(columns)
        if not left_out:
            return self, widths
        gap = next(place for place, column in enumerate(columns) if place != column)

        def spliced(values: list, filler: object) -> list:
            shown = [values[i] for i in columns]
            return [*shown[:gap], filler, *shown[gap:]]

        dots = ["..."] * (len(self.cells[0]))
        view = replace(
            self,
            names=spliced(self.names, "..."),
            cells=spliced(self.cells, dots),
            right=spliced(self.right, False),
            left_out=left_out,
        )
        return view, spliced(widths, 3)


def plain_values(values: np.ndarray) -> list[object]:
    """Python scalars; dates stay NumPy's, because Python's have no nanoseconds."""
    return list(values) if values.dtype.kind in "mM" else values.tolist()


def is_numeric(values: np.ndarray) -> bool:
    if values.dtype.kind in "iufc":
        return True
    present = [value for value in values.tolist() if value is not None] if values.dtype.kind == "O" else []
    return bool(present) and all(isinstance(v, (int, float, np.number)) and not isinstance(v, bool) for v in present)


def as_text(values: np.ndarray, spec: str | None, most: int = MAX_CELL) -> list[str]:
    """Each value as text, words cut to so many characters."""
    plain = plain_values(values)
    numbers = [float(v) for v in plain if isinstance(v, (float, np.floating)) and math.isfinite(v)]
    spec_of_floats = _float_format(numbers)
    cells = [_cell(value, spec, spec_of_floats) for value in plain]
    if spec is not None:
        return cells
    words = [i for i, value in enumerate(plain) if not (value is None or isinstance(value, (float, np.floating)))]
    for i, cell in zip(words, shortened([cells[i] for i in words], most), strict=True):
        cells[i] = cell
    return cells


def _cell(value: object, spec: str | None, spec_of_floats: str) -> str:
    if value is None:
        return "-"
    if spec is not None:
        if isinstance(value, (float, np.floating)) and math.isnan(value):  # a score that one of several designs has not
            return "-"
        if isinstance(spec, Rounded) and isinstance(value, (float, np.floating)):
            return rounded(float(value), spec)
        fixed = isinstance(value, (float, np.floating)) and spec.endswith("f") and "z" not in spec
        try:
            return format(value, spec.replace(".", "z.", 1) if fixed else spec)  # what rounds to 0 has no sign
        except (ValueError, TypeError):  # a word among numbers
            return one_line(str(value))
    if isinstance(value, (float, np.floating)):
        return rounded(float(value), spec_of_floats)
    return one_line(str(value))


def enumerated(names: Iterable[object]) -> str:
    """Write names in a sentence.

    Examples
    --------
    >>> enumerated(["a", "b", "c"]), enumerated(["a", "b"]), enumerated(["a"])
    ('a, b and c', 'a and b', 'a')
    """
    *first, last = map(str, names)
    return f"{', '.join(first)} and {last}" if first else last


class Rounded(str):
    """A format of a column of numbers of any size: that of the text, but two digits of small ones, see `rounded`."""


def rounded(value: float, spec: str = ".3f") -> str:
    """Write a number with so many decimals, and a small one that these leave fewer than two digits with two.

    Examples
    --------
    >>> rounded(0.0625), rounded(0.0), rounded(0.0038), rounded(0.00021), rounded(0.000021)
    ('0.062', '0.000', '0.0038', '0.00021', '2.1e-05')
    """
    text = format(value, spec)
    shown = text.partition("e")[0].lstrip("-+").replace(".", "").lstrip("0")
    return format(value, ".2g") if value != 0 and abs(value) < 1 and len(shown) < 2 else text


def decimals_of(values: ArrayLike, least: int = 3) -> int:
    """Return the decimals that leave two digits to the largest of some numbers, `least` or more.

    Examples
    --------
    >>> decimals_of([0.00012, 0.31]), decimals_of([0.00012, 0.0031]), decimals_of([0.00012])
    (3, 4, 5)
    >>> decimals_of([0.0]), decimals_of([1e-17])  # by rounding
    (3, 3)
    """
    sizes = np.abs(np.asarray(values, np.float64))
    largest = float(sizes.max(where=np.isfinite(sizes), initial=0.0))
    if largest < 10.0**-_MOST_DECIMALS:
        return least
    return min(max(least, 1 - math.floor(math.log10(largest))), _MOST_DECIMALS)


def figures(*values: float, sign: str = "", least: int = 3) -> list[str]:
    """Write numbers that stand together, such as an estimate and its interval, with one number of decimals.

    Those that differ do not all look alike, as long as eight decimals tell them apart.

    Examples
    --------
    >>> figures(0.31, 0.00012), figures(0.00021, 0.00012, 0.00035), figures(0.0002, -0.00001, sign="+")
    (['0.310', '0.000'], ['0.00021', '0.00012', '0.00035'], ['+0.00020', '-0.00001'])
    >>> figures(0.9909, 0.9906, 0.9909)
    ['0.9909', '0.9906', '0.9909']
    """
    decimals = decimals_of(values, least)
    low, high = min(values), max(values)
    while decimals < _MOST_DECIMALS and f"{low:.{decimals}f}" == f"{high:.{decimals}f}" and high - low > _NO_WIDTH:
        decimals += 1
    return [f"{value:{sign}z.{decimals}f}" for value in values]


def told_apart(numbers: ArrayLike, digits: int = 4) -> str:
    """Return a format of so many digits, or of as many more as tell all numbers apart.

    Examples
    --------
    >>> told_apart([0.1, 0.2]), told_apart([0.50001, 0.50002])
    ('.4g', '.5g')
    """
    distinct = np.unique(np.asarray(numbers, np.float64)).tolist()
    specs = (f".{more}g" for more in range(digits, 18))
    return next((spec for spec in specs if len({format(n, spec) for n in distinct}) == len(distinct)), ".17g")


def formats_of(columns: Mapping[str, ArrayLike], names: Iterable[str], least: int = 4) -> dict[str, str]:
    """Return formats of columns of numbers: those of an interval, and what it is of, have the same decimals.

    Examples
    --------
    >>> formats_of({"estimate": [0.5, 0.0002], "lower": [0.4, 0], "upper": [1, 0.0004], "se": [0.1, 0.01]},
    ...            ["estimate", "lower", "upper", "se"])
    {'estimate': '.5f', 'lower': '.5f', 'upper': '.5f', 'se': '.4f'}
    """
    together = defaultdict(list)
    for name in names:
        of = re.sub(r"_?(lower|upper)$", "", name)
        together["" if of in ("estimate", "difference") else of].append(name)
    formats = {}
    for some in together.values():
        rows = np.stack([np.asarray(columns[name], np.float64) for name in some], axis=-1)
        decimals = max((decimals_of(row, least) for row in rows), default=least)
        formats |= dict.fromkeys(some, f".{decimals}f")
    return formats


def _float_format(numbers: Sequence[float]) -> str:
    """One format for a column: three to four digits of its largest number."""
    largest = max(map(abs, numbers), default=0.0)
    if largest == 0 or (all(number.is_integer() for number in numbers) and largest < 1e6):
        return ".1f"
    if not 1e-4 <= largest < 1e6:
        return ".3g"
    exponent = math.floor(math.log10(largest))
    return f".{max(3 - exponent, 1) if exponent >= 0 else 2 - exponent}f"


def without_halves(text: str) -> str:
    r"""Return a text with U+FFFD in the place of halves of letters, which damaged texts have.

    Examples
    --------
    >>> without_halves("a\ud83db") == "a\ufffdb"
    True
    """
    return _HALVES.sub("\ufffd", text)


def without_links(markdown: str) -> str:
    """Return Markdown in which no address becomes a link, and nobody is called by name.

    Examples
    --------
    >>> without_links("@anna, http://a.b"), without_links("www.a.b")
    ('@&#8203;anna, http:&#8203;//a.b', 'www&#8203;.a.b')
    """
    return _LINKS.sub(r"\g<0>&#8203;", markdown)


def visible(text: str) -> str:
    r"""Return a text as a terminal should show it: what would move its cursor, or turn letters around, is spelled out.

    Examples
    --------
    >>> print(visible("a\x1b[2Jb\nc"))
    a\x1b[2Jb
    c
    """
    return _UNSEEN.sub(_spelled, text)


def one_line(text: str) -> str:
    return _UNSEEN_OR_END.sub(_spelled, text)


def _spelled(match: re.Match[str]) -> str:
    return match[0].encode("unicode_escape").decode()


def text_width(text: str) -> int:
    """Columns that a terminal needs: two for a wide East Asian letter, none for a combining mark."""
    return sum(0 if unicodedata.combining(c) else 1 + (unicodedata.east_asian_width(c) in "WF") for c in text)


def has_words(texts: Sequence[str]) -> bool:
    """Whether there are letters in any of the texts, but for those of infinity.

    Examples
    --------
    >>> has_words(["[0.1, inf]", "1-4"]), has_words(["cat", "12"])
    (False, True)
    """
    return any(letter.isalpha() for text in texts for letter in text.replace("inf", ""))


def shortened(texts: Sequence[str], most: int) -> list[str]:
    """Cut texts that are wider than `most` columns at their ends, or where they would look alike then, in the middle.

    Those that end alike, too, keep the place at which they differ.

    Examples
    --------
    >>> shortened(["northern hospital, ward 1", "northern hospital, ward 2", "southern hospital"], 14)
    ['north...ward 1', 'north...ward 2', 'southern ho...']
    >>> shortened(["northern hospital, ward 1, inpatients", "northern hospital, ward 2, inpatients"], 20)
    ['nort...d 1, inpat...', 'nort...d 2, inpat...']
    """
    short = {text: text if text_width(text) <= most else f"{_head(text, most - 3)}..." for text in texts}
    for alike in _alike(short):
        head = (most - 3) // 2
        short.update({text: f"{_head(text, head)}...{_tail(text, most - 3 - head)}" for text in alike})
    for _ in range(_TRIES):  # some of those that part at one place may part from each other at another
        for alike in _alike(short):
            short.update(_cut_around_difference(alike, most))
    return [short[text] for text in texts]


def _alike(short: Mapping[str, str]) -> list[list[str]]:
    """Collect the texts that look alike once they are cut."""
    by_cut = defaultdict(list)
    for text, cut in short.items():
        by_cut[cut].append(text)
    alike = ([text for text in texts if text != cut] for cut, texts in by_cut.items() if len(texts) > 1)
    return [texts for texts in alike if texts]


def _cut_around_difference(texts: Sequence[str], most: int) -> dict[str, str]:
    """Cut texts before and after the first place at which two of them differ."""
    first, last = min(texts), max(texts)  # which part first
    common = next((i for i, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), len(first))
    head = max((most - 6) // 3, 1)
    start = max(common - head // 2, 0)
    cut = {}
    for text in texts:
        rest = text[start:]
        before = f"{_head(text, head)}..."
        room = most - text_width(before)
        cut[text] = before + (rest if text_width(rest) <= room else f"{_head(rest, max(room - 3, 0))}...")
    return cut


def _head(text: str, most: int) -> str:
    """Return as many letters as fit."""
    end = next((n for n in range(len(text) + 1) if text_width(text[:n]) > most), len(text) + 1)
    return text[: end - 1]


def _tail(text: str, most: int) -> str:
    """Return as many of the last letters as fit."""
    return _head(text[::-1], most)[::-1]


def pad_text(text: str, width: int, right: bool) -> str:
    space = " " * (width - text_width(text))
    return space + text if right else text + space


def line(cells: Sequence[str], widths: Sequence[int], right: Sequence[bool]) -> str:
    return "  ".join(map(pad_text, cells, widths, right))


def more_rows(count: int) -> str:
    return plural(count, "more row")


def labels_suggest(count: int) -> str:
    """Say by which labels something is believed, after "as".

    Examples
    --------
    >>> labels_suggest(20), labels_suggest(1), labels_suggest(0)
    ('the 20 labels suggest', 'the 1 label suggests', 'expected before any label')
    """
    return f"the {plural(count, 'label')} suggest{'s' * (count == 1)}" if count else "expected before any label"


def folded(text: str) -> str:
    """Return what texts have in common that differ in capitals, spaces or how letters are composed alone.

    Examples
    --------
    >>> folded(" Anna  B") == folded("anna b")
    True
    """
    return composed(" ".join(text.split()).casefold())


def composed(text: str) -> str:
    """Return a text whose letters are composed in one way, as they look.

    Examples
    --------
    >>> composed("u" + chr(0x308)) == chr(0xFC)
    True
    """
    return unicodedata.normalize("NFC", text)


def plural(count: int, one: str, many: str | None = None) -> str:
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def points(share: float, spec: str = "g") -> str:
    """Write a difference of shares in percentage points.

    Examples
    --------
    >>> points(0.05), points(0.01)
    ('5 points', '1 point')
    """
    shown = f"{100 * share:{spec}}"
    return f"{shown} point{'' if shown == '1' else 's'}"
