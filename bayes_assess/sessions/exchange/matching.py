"""Ids and labels as people and spreadsheets write them, and what they stand for in a pool."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np

from bayes_assess._tools.arrays import listing
from bayes_assess._tools.text import folded
from bayes_assess.pool._classes import between_numbers
from bayes_assess.pool._ids import text_keys
from bayes_assess.pool._label_rows import NO_LABEL, NO_LABEL_BESIDE, SEPARATOR, as_list, names_in, separators_hint
from bayes_assess.pool.number_labels import are_within
from bayes_assess.pool.pool import Pool
from bayes_assess.sessions.exchange.cells import as_meant

_NUMBER = re.compile(r"([+-]?)([0-9]+)(?:[.,]([0-9]+))?")
_THOUSANDS = re.compile(r"-?[1-9][0-9]{0,2}(?:,[0-9]{3})+|-?[1-9][0-9]{0,2}(?:\.[0-9]{3})+")
_PLAIN = re.compile(r"[+-]?[0-9]*\.?[0-9]+(?:[eE][+-]?[0-9]+)?")
_SHORT = re.compile(r"[0-9](?:[.,][0-9]+)?[eE][+][0-9]{2,}")
_SHORTENED = (
    ": a spreadsheet shortened it; take the sheet as it was written, where ids of more than 15 digits are texts"
)
_MONTH = r"(?:jan|feb|m[aä]r|mrz|apr|avr|abr|ma[iy]|jun|jul|aug|ago|sep|o[ckt]t|nov|de[cz])[a-z]{0,6}\.?"
_DATE = re.compile(
    rf"[0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}}(?:[ T][0-9:.]+)?|[0-9]{{1,2}}([./-])[0-9]{{1,2}}\1[0-9]{{2,4}}"
    rf"|[0-9]{{1,2}}[. -]{{1,2}}{_MONTH}(?:[ -][0-9]{{2,4}})?|{_MONTH}[ -][0-9]{{2,4}}",
    re.IGNORECASE,
)
_DATED = ": a spreadsheet may have made a date of an id such as '3-1'; take the sheet as it was written"
UNKNOWN = "is the id of no item"
_MORE = "; only these are predicted: to have others, start again and name every class, by --classes or classes=[...]"
_WORDS = {"true": "1", "false": "0"}


class Match(NamedTuple):
    """What a text stands for.

    Attributes
    ----------
    found : int or str, optional
        Position of an item, or the name of a label; None if there is none, or more than one.
    problem : str
        Why not; the end of a sentence that begins with the text.
    exact : bool
        Whether the text is just what is stood for.
    """

    found: int | str | None
    problem: str = ""
    exact: bool = True


def number_keys(text: str) -> set[str]:
    """Return the plain forms of the numbers that a text may be, none if it is no number.

    Zeros before a number and after its decimal point or comma count for nothing. Three digits after a point or a comma
    may be thousands.

    Examples
    --------
    >>> sorted(number_keys("0855,00")), sorted(number_keys("1,000")), sorted(number_keys("7a"))
    (['855'], ['1', '1000'], [])
    """
    keys = set()
    number = _NUMBER.fullmatch(text)
    if number is not None:
        sign, whole, part = number[1].strip("+"), number[2].lstrip("0") or "0", (number[3] or "").rstrip("0")
        keys.add(f"{sign}{whole}.{part}" if part else f"{sign}{whole}")
    if _THOUSANDS.fullmatch(text):
        keys.add(re.sub("[.,]", "", text))
    return keys


class IdMatcher:
    """Finds the items of a pool by ids, also such as Excel has changed: ``855.0``, or ``7`` for ``007``.

    Blanks at the ends count only where ids of the pool differ by them.

    Examples
    --------
    >>> import bayes_assess as ba
    >>> match = IdMatcher(ba.Pool(predictions=[0, 1], ids=["007", "855"]))
    >>> [(place.found, place.exact) for place in match(["855", "7", "855.0", "9"])]
    [(1, True), (0, False), (1, False), (None, True)]
    """

    def __init__(self, pool: Pool, unknown: str = UNKNOWN):
        self._pool, self._unknown = pool, unknown

    def __call__(self, texts: Sequence[str]) -> list[Match]:
        """Match many texts."""
        written = list(texts) if self._pool.ids.dtype.kind == "U" else [text.strip() for text in texts]
        places = self._pool.find(np.array(written, dtype=str)).tolist() if written else []
        return [
            Match(place) if place >= 0 else self._by_number(text.strip())
            for text, place in zip(written, places, strict=True)
        ]

    def _by_number(self, text: str) -> Match:
        places = sorted({place for key in number_keys(text) for place in self._of_number(key)} | self._of_letters(text))
        if len(places) > 1:
            return Match(None, f"is the id of several items: {listing(self._pool.ids[places], 5)}")
        if places:
            return Match(places[0], exact=False)
        if _SHORT.fullmatch(text):
            return Match(None, self._unknown + _SHORTENED)
        return Match(None, self._unknown + _DATED * (self._has_texts and _DATE.fullmatch(text) is not None))

    @cached_property
    def _has_texts(self) -> bool:
        """Whether ids are texts other than dates, of which a spreadsheet may make dates."""
        ids = self._pool.ids
        return ids.dtype.kind == "U" and self._pool.in_memory and not _DATE.fullmatch(str(ids[0]))

    def _of_letters(self, text: str) -> set[int]:
        """Find the ids that are the same letters, put together or taken apart: macOS writes accents apart.

        So are those of a sheet of CSV, with its quotes before what may be a formula, that was saved as a workbook.
        """
        if self._pool.ids.dtype.kind != "U" or not self._pool.in_memory:
            return set()
        forms = {as_meant(text), *(unicodedata.normalize(form, text) for form in ("NFC", "NFD"))} - {text}
        return {place for place in self._pool.find(np.array([*forms])).tolist() if place >= 0} if forms else set()

    def _of_number(self, key: str) -> Iterable[int]:
        if self._pool.ids.dtype.kind != "U":
            return (place for place in self._pool.find(np.array([key])).tolist() if place >= 0)
        keys, places, kind = self._numbers
        bare = key.replace(".", "").strip("0")
        if len(bare) * 4 > kind.itemsize:
            return ()
        of_digits = text_keys(np.array([bare], kind))
        start, stop = (int(np.searchsorted(keys, of_digits, side)[0]) for side in ("left", "right"))
        return (place for place in places[start:stop].tolist() if key in number_keys(str(self._pool.ids[place])))

    @cached_property
    def _numbers(self) -> tuple[np.ndarray, np.ndarray, np.dtype]:
        """Ids that are numbers: hashes of their digits without outer zeros, in order; positions; the kind of text.

        Different forms of a number have the same digits, and so have few other numbers.
        """
        bare = np.strings.replace(np.strings.replace(self._pool.ids, ".", ""), ",", "")
        places = np.flatnonzero(np.strings.isdecimal(bare))
        digits = np.strings.strip(bare[places], "0")
        keys = text_keys(digits) if len(digits) else np.zeros(0, np.uint64)
        order = np.argsort(keys)
        return keys[order], places[order], digits.dtype


class LabelMatcher:
    """Finds the class, or the set of classes, that a text names in spite of case, spaces and forms of numbers.

    Examples
    --------
    >>> import bayes_assess as ba
    >>> match = LabelMatcher(ba.Pool(predictions=["good", "bad"], classes=["bad", "good"]))
    >>> match("Good "), match("best").problem
    (Match(found='good', problem='', exact=False), "is not one of the classes ('bad', 'good')")
    """

    def __init__(self, pool: Pool):
        self.names = [str(name) for name in pool.classes.tolist()]
        self._several = pool.multilabel
        self._space = pool.label_space
        self._classes = pool.classes
        self._more = "" if pool.classes_declared else _MORE
        self._seen: dict[str, Match] = {}
        self._alike: dict[str, list[str]] = {}
        for name in self.names:
            for key in {folded(name), *number_keys(name)}:
                self._alike.setdefault(key, []).append(name)

    def __call__(self, text: str) -> Match:
        """Match one text."""
        if text not in self._seen:
            read = self._set if self._several else self._number if self._space.bounds else self._one
            self._seen[text] = read(text)
        return self._seen[text]

    def _one(self, text: str) -> Match:
        if text in self.names:
            return Match(text)
        own = folded(text)
        for keys in ({own}, number_keys(own) | {_WORDS.get(own, own), as_meant(own)}):
            names = sorted({name for key in keys for name in self._alike.get(key, ())})
            if len(names) > 1:
                return Match(None, f"could be any of {listing(names)}")
            if names:
                return Match(names[0], exact=False)
        rated = next(filter(None, (between_numbers(key, self._classes) for key in sorted(number_keys(text)))), "")
        more = f"; {rated}" if rated else self._more
        return Match(None, f"is not one of the classes ({listing(self._classes)}){more}")

    def _number(self, text: str) -> Match:
        """Match the step that is nearest to a number within the bounds, in whatever way that is written."""
        space = self._space
        assert space.bounds is not None
        lowest, highest = space.bounds
        own = text.strip()
        # Of numbers that are not rounded, 59.961 is no 59,961; and workbooks have 0.00002 as 2e-05.
        plain = _PLAIN.fullmatch(own) and ("e" in own.lower() or not len(space.classes))
        ways = [own] if plain else sorted(number_keys(own))
        ways = [way for way in ways if are_within(float(way), lowest, highest)]
        if len(ways) != 1:
            none = f"is no number from {lowest:g} to {highest:g}"
            none = "is no number" if np.isinf([lowest, highest]).all() else none
            return Match(None, f"could be any of {listing(ways)}" if ways else none)
        return Match(str(space.names(space.codes(ways))[0]), exact="," not in text)

    def _set(self, text: str) -> Match:
        """Match names between semicolons, or in a list; they come in the order of the classes."""
        listed = None if text in self.names else as_list(text)
        named = listed if listed is not None and all(isinstance(name, str) for name in listed) else names_in(text)
        names = [str(name) for name in named or ()]
        names = [name for name in names if name] or names  # without gaps, such as at the end of "cat;dog;"
        if not names or names == [NO_LABEL]:
            return Match(NO_LABEL, exact=listed is None)
        if NO_LABEL in names and len(names) > 1:
            return Match(None, f"has {NO_LABEL_BESIDE}")
        each = [(name, self._one(name)) for name in names]
        for name, match in each:
            if match.found is None:
                hint = separators_hint(name, self.names)
                return Match(None, f"names {name!r}, which {match.problem}{hint}")
        given = {match.found for _, match in each}
        whole = SEPARATOR.join(name for name in self.names if name in given)
        gaps = listed is not None or len(names) <= text.count(SEPARATOR)
        return Match(whole, exact=all(match.exact for _, match in each) and not gaps)
