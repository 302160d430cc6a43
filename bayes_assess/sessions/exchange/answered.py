"""Answers of annotators, as exports of labelling tools have them in JSON."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from typing import NamedTuple, TypeGuard

import numpy as np

from bayes_assess.pool._label_rows import SEPARATOR

_ODD = re.compile("[\x00\ud800-\udfff]")  # which no text in a file should have: halves of letters, ends of strings
_KINDS = {dict: "an object", list: "a list", str: "a text", bool: "true or false", int: "a number", float: "a number"}


class Said(NamedTuple):
    """What one annotator said of one item.

    Attributes
    ----------
    label : str
        Empty where nothing was said; several names with semicolons between them.
    annotator : str
        Empty where that is not known.
    """

    label: str
    annotator: str


class AnsweredItem(NamedTuple):
    """What annotators said of one item.

    Attributes
    ----------
    id : str
    said : list of Said
        None where nobody has seen the item.
    names : set of str
        Controls or questions that have answers here.
    n_open : int
        Answers that were left out because they may be drafts.
    n_untold : int
        Answers that were taken although they may be drafts, or discarded.
    """

    id: str
    said: list[Said]
    names: set[str]
    n_open: int = 0
    n_untold: int = 0


class UnreadableTask(Exception):
    """A task that cannot be read; `problem` goes on where "task 7: " begins."""

    def __init__(self, problem: str) -> None:
        super().__init__(problem)
        self.problem = problem


def cell_text(value: object) -> str:
    """Return a value of JSON as the text that a cell of a sheet would hold.

    Raises
    ------
    UnreadableTask
        If it is a list or an object, or a number that is infinite, or too large to be read as another.

    Examples
    --------
    >>> [cell_text(value) for value in ("cat", 7, 7.0, 7.125, True, None)]
    ['cat', '7', '7', '7.1250', 'true', '']
    """
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    if isinstance(value, float) and math.isinf(value):
        raise UnreadableTask("an infinite number, or one that is too large, stands where a text or a number should be")
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return _ODD.sub("\ufffd", value)
    if isinstance(value, int) or (isinstance(value, float) and value.is_integer()):
        return str(int(value))
    if isinstance(value, float):  # a zero more, or three decimals could be thousands
        return np.format_float_positional(value, trim="-") + "0"
    raise UnreadableTask(f"{kind_of(value)} stands where a text or a number should be")


def kind_of(value: object) -> str:
    """Say what a value of JSON is.

    Examples
    --------
    >>> kind_of({}), kind_of(None)
    ('an object', 'null')
    """
    return _KINDS.get(type(value), "null")


def joined(texts: Iterable[str]) -> str:
    """Return names as the text of several labels; the text itself where there is one."""
    return SEPARATOR.join(text for text in texts if text.strip())


def are_objects(values: object) -> TypeGuard[list[dict[str, object]]]:
    """Tell whether a value of JSON is a list of objects.

    Examples
    --------
    >>> are_objects([{}]), are_objects({}), are_objects([1])
    (True, False, False)
    """
    return isinstance(values, list) and all(isinstance(element, dict) for element in values)
