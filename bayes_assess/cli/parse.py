"""What texts on the command line and in small files mean: groups, bins, names, classes and costs."""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np

from bayes_assess._tools.arrays import listing, show, text_as_int
from bayes_assess._tools.csv_files import UnreadableCsv, open_csv
from bayes_assess._tools.shapes import Json
from bayes_assess.errors import PartitionError, PoolError, QuestionError

_BINS = re.compile(r"(weight-)?bins:(.*)")
# What tools make of the labels 0 and 1 or 7: pandas writes whole numbers with gaps among them as 7.0.
_WORDS = {"true": "1", "false": "0"}
_POINT_ZERO = re.compile(r"\.0+$")


def parse_by(text: str) -> str | dict[str, Json]:
    """Turn ``prediction``, a column's name, ``bins:10`` or ``weight-bins:10`` into groups as journals describe them.

    Examples
    --------
    >>> parse_by("weight-bins:5"), parse_by("site")
    ({'bins': 5, 'kind': 'weight'}, 'site')
    """
    match = _BINS.fullmatch(text)
    if match is None:
        return text
    if not match[2].isdecimal():
        raise PartitionError(f"A number of bins follows the colon, such as --by bins:10; found {text!r}.")
    return {"bins": int(match[2]), "kind": "weight" if match[1] else "width"}


def parse_bins(text: str) -> dict[str, Json]:
    """Turn ``10`` or ``weight:10`` into bins of the confidence as journals describe them.

    Examples
    --------
    >>> parse_bins("10"), parse_bins("weight:5")
    ({'bins': 10, 'kind': 'width'}, {'bins': 5, 'kind': 'weight'})
    """
    match = re.fullmatch(r"(weight:)?(0*[1-9][0-9]*)", text)
    if match is None:
        raise PartitionError(f"--bins takes a number of bins such as 10, or weight:10; found {text!r}.")
    return {"bins": int(match[2]), "kind": "weight" if match[1] else "width"}


def names_in(text: str) -> list[str]:
    """Split names at commas, save at those within double quotes, as in a file of CSV.

    Examples
    --------
    >>> names_in("cat, dog"), names_in('"bill, paid", bug'), names_in('say "hi", bug')
    (['cat', 'dog'], ['bill, paid', 'bug'], ['say "hi"', 'bug'])
    """
    try:
        parts = next(csv.reader([text], skipinitialspace=True)) if '"' in text else text.split(",")
    except csv.Error:  # of a line break that is not within quotes
        parts = text.split(",")
    return [part.strip() for part in parts]


def joined_names(names: Iterable[object]) -> str:
    """Write names as `names_in` takes them apart.

    Examples
    --------
    >>> joined_names(["bill, paid", "bug"])
    '"bill, paid", bug'
    """
    texts = map(str, names)
    return ", ".join('"{}"'.format(text.replace('"', '""')) if names_in(text) != [text] else text for text in texts)


def parse_names(text: str | None) -> list[str] | list[int] | None:
    """Split names as `names_in` does; if all are whole numbers, they are numbers.

    Examples
    --------
    >>> parse_names("cat, dog"), parse_names("0,1"), parse_names(None)
    (['cat', 'dog'], [0, 1], None)
    """
    if text is None:
        return None
    names = names_in(text)
    numbers = text_as_int(np.asarray(names))
    return names if numbers is None else numbers.tolist()


def spelled_as(classes: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Undo what other tools do to whole numbers (``7.0``) and booleans (``True``); text classes stay as they are.

    Examples
    --------
    >>> spelled_as(np.arange(2), np.array(["1.0", "False"])).tolist()
    ['1', '0']
    """
    if classes.dtype.kind == "U" or not len(labels):
        return labels
    return np.array([_WORDS.get(label.lower(), _POINT_ZERO.sub("", label)) for label in labels.tolist()])


def class_named(text: str, classes: np.ndarray) -> str | int:
    """Return the class of that name; text that names none as it is.

    Examples
    --------
    >>> class_named("1.0", np.arange(2)), class_named("cat", np.array(["cat", "dog"]))
    (1, 'cat')
    """
    (spelled,) = spelled_as(classes, np.array([text.strip()])).tolist()
    return {str(name): name for name in classes.tolist()}.get(spelled, text)


def parse_values(text: str, classes: np.ndarray) -> dict[str, Json]:
    """Turn ``bad=1,good=4`` into numbers of classes as journals describe them.

    Examples
    --------
    >>> parse_values("bad=1, good=4.5", np.array(["bad", "good"]))
    {'pairs': [['bad', 1.0], ['good', 4.5]]}
    """
    pairs: dict[Any, float] = {}
    for pair in names_in(text):
        name, _, number = pair.rpartition("=")
        try:
            value = float(number)
        except ValueError:
            value = math.nan
        if not name.strip() or not math.isfinite(value):
            raise QuestionError(f"--values takes finite numbers of classes, such as bad=1,good=4; found {pair!r}.")
        known = class_named(name, classes)
        if known in pairs:
            raise QuestionError(f"--values has two numbers for the class {name.strip()!r}; give one.")
        pairs[known] = value
    return {"pairs": [[name, value] for name, value in pairs.items()]}


def parse_bounds(text: str) -> list[float]:
    """Turn ``0,100`` into the least and the greatest number; ``none`` into no bounds at all, ``0,inf`` into one.

    Examples
    --------
    >>> parse_bounds("0, 10")
    [0.0, 10.0]
    >>> parse_bounds("none")
    [-inf, inf]
    """
    if text.strip().lower() == "none":
        return [-math.inf, math.inf]
    try:
        lowest, highest = (float(end) for end in text.split(","))
    except ValueError:
        raise PoolError(
            f"--bounds takes the least and the greatest number, such as 0,100, or none; found {text!r}."
        ) from None
    return [lowest, highest]


def parse_goal(text: str) -> dict[str, float]:
    """Turn ``precision=0.9`` or ``recall=0.8`` into what a threshold is to reach; ``f1`` reaches for no number.

    Examples
    --------
    >>> parse_goal("precision=0.9"), parse_goal("f1")
    ({'precision': 0.9}, {})
    """
    name, _, number = (part.strip() for part in text.lower().partition("="))
    if name == "f1" and not number:
        return {}
    try:
        value = float(number)
    except ValueError:
        value = math.nan
    if name not in ("precision", "recall") or not 0 < value <= 1:
        raise QuestionError(f"--threshold-for takes precision=0.9, recall=0.8 or f1; found {text!r}.")
    return {name: value}


def read_costs(path: Path, classes: np.ndarray) -> np.ndarray:
    """Read a cost matrix: a row per predicted class, a column per label, in the order of the classes.

    Header and first column name the classes, in any order.
    """
    names = {str(name) for name in classes.tolist()}
    try:
        file = open_csv(path, lambda header: len(names.intersection(header)))
        rows = [file.header, *(row for _, some in file.chunks() for row in some)]
    except UnreadableCsv as error:
        raise QuestionError(f"{path} cannot be read {error.problem}.") from None
    rows = [[field.strip() for field in row] for row in rows if any(map(str.strip, row))]
    if not rows:
        raise QuestionError(f"{path} is empty; it needs a row per predicted class and a column per label.")
    width = len(rows[0])
    for row in rows[1:]:
        if len(row) != width:
            raise QuestionError(f"{path}: the row {row[0]!r} has {len(row)} fields, but the header has {width}.")
    if width == len(classes) and len(names.intersection(rows[0])) == width:
        raise QuestionError(f"{path} does not name its rows; put a column before the others with predicted classes.")
    columns = _in_order(rows[0][1:], classes, path, "column")
    lines = _in_order([row[0] for row in rows[1:]], classes, path, "row")
    costs = np.empty((len(classes), len(classes)))
    for k, line in enumerate(lines):
        for j, column in enumerate(columns):
            text = rows[line + 1][column + 1]
            try:
                costs[k, j] = float(text if file.delimiter == "," else text.replace(",", "."))
            except ValueError:
                costs[k, j] = np.nan
            if not np.isfinite(costs[k, j]):
                pair = f"an item predicted {show(classes[k])} whose label is {show(classes[j])}"
                raise QuestionError(f"{path}: the cost of {pair} is {text!r}, which is no number.")
    return costs


def _in_order(names: list[str], classes: np.ndarray, path: Path, what: str) -> list[int]:
    """Where every class stands among the names of a cost matrix's rows or columns."""
    named = spelled_as(classes, np.array(names, dtype=str)).tolist()
    wanted = classes.astype(str).tolist()
    unpredicted = ", those too that are never predicted" if what == "row" else ""
    needs = f"it needs one for every class ({listing(classes)}){unpredicted}"
    for i, name in enumerate(named):
        if name not in wanted:
            raise QuestionError(
                f"{path} has a {what} {names[i]!r}, which is none of the classes ({listing(classes)}); if it should be "
                "one, name all classes by --classes."
            )
        if name in named[:i]:
            raise QuestionError(f"{path} has two {what}s {names[i]!r}; {needs}.")
    for name in wanted:
        if name not in named:
            raise QuestionError(f"{path} has no {what} {name!r}; {needs}.")
    return [named.index(name) for name in wanted]


def _one_or_more(text: str) -> str | list[str]:
    names = names_in(text)
    return names if len(names) > 1 else names[0]


# Plain values of options, from their texts and the pool's classes.
READERS: dict[str, Callable[[Any, np.ndarray], Json]] = {
    "by": lambda text, classes: parse_by(text),
    "bins": lambda text, classes: parse_bins(text),
    "cost": lambda path, classes: read_costs(path, classes).tolist(),
    "measure": lambda text, classes: _one_or_more(text),
    "positive": class_named,
    "systems": lambda text, classes: names_in(text),
    "judges": lambda text, classes: names_in(text),
    "covariates": lambda text, classes: names_in(text),
    "values": parse_values,
}
