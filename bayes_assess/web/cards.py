"""Items as the page shows them, and the answers that it takes, as plain values for JSON."""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from urllib.parse import quote, urlsplit

import numpy as np

from bayes_assess._tools.arrays import listing, show
from bayes_assess._tools.seeds import generator
from bayes_assess._tools.shapes import ArrayLike, Json
from bayes_assess.errors import LabelError
from bayes_assess.pool._label_rows import NO_LABEL, SEPARATOR
from bayes_assess.pool.labels import LabelSpace
from bayes_assess.sessions.exchange.tasks import Answers
from bayes_assess.sessions.session import AnySession

PICTURES = {".png", ".jpg", ".jpeg", ".gif", ".webp", ".avif"}
_MOST_BUTTONS = 20  # classes, beyond which they are searched
_LETTERS = "abcdefghijklmopqrstvwxyz"  # without n and u, which are keys of the page
_TAKEN = " nu?/"
_GREATEST = sys.float_info.max
_TAKEN_UP = (NO_LABEL,)


@dataclass(frozen=True)
class Pictures:
    """Where pictures may come from: a folder, or the beginning of addresses.

    Attributes
    ----------
    folder : str, optional
        Absolute.
    address : str, optional
        Such as ``https://pictures.example.org/2026/``.

    Examples
    --------
    >>> Pictures("/data").link("cats/7.png"), Pictures("/data").link("a cat")
    ('pictures/cats/7.png', None)
    >>> Pictures(address="https://a.org/").link("https://a.org/7.png"), Pictures().link("https://b.org/7.png")
    ('https://a.org/7.png', None)
    """

    folder: str | None = None
    address: str | None = None

    @classmethod
    def of(cls, place: str | os.PathLike[str] | None) -> Pictures:
        """Return what an option says: a folder, an address, or nothing."""
        from pathlib import Path

        if place is None:
            return cls()
        if not isinstance(place, str | os.PathLike):
            raise LabelError(
                f"Pictures are shown from a folder, or by the beginning of addresses; found {show(place)}."
            )
        place = os.fspath(place)
        if urlsplit(place).scheme in ("http", "https"):
            return cls(address=place if urlsplit(place).path else f"{place}/")
        if not Path(place).is_dir():
            raise LabelError(f"There is no folder {place} of pictures; name a folder, or the beginning of addresses.")
        return cls(folder=str(Path(place).resolve()))

    def link(self, text: str) -> str | None:
        """Return where the page finds a picture; None where the text names none that may be shown."""
        if self.address is not None and text.startswith(self.address) and not set(text) & set("\n\r\t \"'<>\\"):
            return text
        if self.folder is not None and PurePosixPath(text).suffix.lower() in PICTURES and "\n" not in text:
            return f"pictures/{quote(text.removeprefix(self.folder).lstrip('/'))}"
        return None


@dataclass(frozen=True)
class Unit:
    """What is asked for at a time: an item, or the two halves of a pair.

    Attributes
    ----------
    key : str
        Which unit it is, for the page.
    ids : tuple
        Of its items, as the session knows them.
    sides : list of dicts
        What is shown of every item, in the order in which the page shows them.
    order : tuple of int
        Which item every side is of.
    """

    key: str
    ids: tuple[Hashable, ...]
    sides: list[dict[str, object]] = field(repr=False)
    order: tuple[int, ...]

    def card(self) -> dict[str, object]:
        """Return the unit as the page takes it."""
        return {"key": self.key, "sides": self.sides}


class AnswerKind:
    """What the page takes for an answer, and the labels that it stands for.

    Parameters
    ----------
    space : LabelSpace
    often : array (C,), optional
        How often every class is predicted: the order in which many of them are listed.

    Examples
    --------
    >>> import bayes_assess as ba
    >>> kind = AnswerKind(ba.Pool(predictions=["cat", "dog"]).label_space)
    >>> kind.spec["kind"], [one["key"] for one in kind.spec["choices"]], kind.label(1)
    ('one', ['1', '2'], 'dog')
    """

    def __init__(self, space: LabelSpace, often: np.ndarray | None = None):
        self._space = space
        self.answers = Answers.of(space, ())
        n = len(self.answers.choices)
        self._place = {name: place for place, name in enumerate(self.answers.choices)}
        order = np.arange(n)
        if n > _MOST_BUTTONS and often is not None:
            order = np.argsort(-np.append(often, 0)[:n], kind="stable")
        keys = _keys(self.answers)
        self.spec: dict[str, object] = {
            "kind": "number" if self.answers.bounds else "several" if self.answers.several else "one",
            "search": n > _MOST_BUTTONS,
            "bounds": self.answers.bounds and tuple(end if math.isfinite(end) else None for end in self.answers.bounds),
            "within": self.answers.within if self.answers.bounds else None,
            "choices": [
                {"code": code, "name": self.answers.choices[code], "key": keys[code] if n <= _MOST_BUTTONS else None}
                for code in order.tolist()
            ],
            "none": self._place.get(NO_LABEL) if self.answers.several else None,
        }

    def label(self, answer: Json) -> Hashable:
        """Return the label that an answer of the page stands for.

        Raises
        ------
        LabelError
            If it is no answer that the page could give.
        """
        if self.answers.bounds is not None:
            if isinstance(answer, bool) or not isinstance(answer, int | float) or not abs(answer) <= _GREATEST:
                raise LabelError(f"A label is a number here; found {show(answer)}.")
            return float(answer)
        if self.answers.several:
            if not isinstance(answer, list) or not answer:
                raise LabelError("An item has a list of labels here, or the one that says that none applies.")
            return SEPARATOR.join(self.answers.choices[self._code(code)] for code in answer)
        return self._space.classes[self._code(answer)].item()

    def answer(self, label: str | float | None) -> Json:
        """Return the answer that stands for a label; None for none.

        Examples
        --------
        >>> import bayes_assess as ba
        >>> space = ba.Pool(predictions=["a;b", "-"], multilabel=True).label_space
        >>> AnswerKind(space).answer("b;a")
        [1, 0]
        """
        if label is None:
            return None
        if self.answers.bounds is not None:
            return float(label)
        if self.answers.several:
            return [self._place[name] for name in str(label).split(SEPARATOR)]
        return self._place[str(label)]

    def _code(self, code: Json) -> int:
        if isinstance(code, bool) or not isinstance(code, int) or not 0 <= code < len(self.answers.choices):
            raise LabelError(f"No class has the number {show(code)}; the classes are {listing(self.answers.choices)}.")
        return code


def units_of(session: AnySession, ids: ArrayLike, pictures: Pictures) -> list[Unit]:
    """Return what is shown of items of a session; those of pairs are two and two.

    The order of a pair's sides is drawn once and for all, from the session's seed, so that it tells nothing.
    """
    ids = np.asarray(ids)
    columns = session.pool.shown_of(ids) if len(ids) else {}
    sides = [
        [_field(name, values[at], pictures) for name, values in columns.items() if _some(values[at])]
        for at in range(len(ids))
    ]
    each = session.question.labels_each
    units = []
    for start in range(0, len(ids), each):
        own = ids[start : start + each].tolist()
        order = (0,) if each == 1 else tuple(generator(0, f"sides of {own[0]!r}").permutation(each).tolist())
        fields = sides[start : start + each]
        shown = [{"fields": fields[side], "id": None if fields[side] else str(own[side])} for side in order]
        units.append(Unit(str(own[0]), tuple(own), shown, order))
    return units


def _some(value: object) -> bool:
    return value is not None and value == value and str(value).strip() != ""


def _field(name: str, value: object, pictures: Pictures) -> dict[str, str]:
    text = str(value)
    link = pictures.link(text)
    return {"name": name, "text": text} if link is None else {"name": name, "picture": link, "text": text}


def _keys(answers: Answers) -> Sequence[str | None]:
    """Return the key of every button: the name itself where it is a single letter or digit, else one that is no name.

    So of the classes 0 to 10 the key 1 is that of 1.
    """
    names = answers.choices
    lower = [name.lower() for name in names]
    own = {
        name: key
        for name, key in zip(names, lower, strict=True)
        if len(key) == 1 and (key.isalnum() or name in _TAKEN_UP) and key not in _TAKEN and lower.count(key) == 1
    }
    if answers.several and len(own) < len(names) and "0" not in own:
        own |= dict.fromkeys(set(_TAKEN_UP) & own.keys(), "0")  # where none applies
    numbered = any(map(str.isdigit, own))
    many = [*_LETTERS, *"123456789"] if numbered else [*"123456789", *_LETTERS]
    free = iter([key for key in many if key not in own.values()])
    return [own[name] if name in own else next(free, None) for name in names]
