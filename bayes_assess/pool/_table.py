"""Which columns of a table hold what, and the arguments of a pool from them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from bayes_assess._tools.arrays import listing, text_as_int, values_of
from bayes_assess._tools.coded import spelled_out
from bayes_assess._tools.shapes import ArrayLike
from bayes_assess.errors import PoolError

SCORE_PREFIXES = ("p_", "score_")
_INDICATORS = "Columns of 0 and 1, one of every class, are given as scores=[...]."


class Columns(NamedTuple):
    """Which columns of a table hold what."""

    id: str | None
    scores: str | list[str] | None  # one name is P(positive), a list one column per class
    prediction: str | None
    confidence: str | None
    groups: list[str]
    systems: dict[str, str]  # name of the system to its column
    multilabel: bool = False
    show: Sequence[str] = ()

    @property
    def numbers(self) -> list[str]:
        """The columns of numbers."""
        scores = [self.scores] if isinstance(self.scores, str) else self.scores or []
        return [*scores, *([self.confidence] if self.confidence else [])]

    @property
    def texts(self) -> list[str]:
        """The columns that are text whatever they look like: ids, predictions of several labels, and what is shown."""
        shown = [name for name in self.show if name not in self._read]
        return [*(name for name in (self.id, self.prediction if self.multilabel else None) if name), *shown]

    @property
    def named(self) -> set[str]:
        """The columns of names: classes, and values of groups."""
        return {*self.all} - {*self.numbers, *self.texts, *self.show}

    @property
    def all(self) -> list[str]:
        """Every column that is needed, once."""
        return list(dict.fromkeys([*self._read, *self.show]))

    @property
    def _read(self) -> list[str]:
        """The columns that say more than what is shown."""
        single = [name for name in (self.id, self.prediction) if name]
        return [*single, *self.numbers, *self.groups, *self.systems.values()]


class MissingColumnError(PoolError):
    """A column is not there: `column`, or where none was named any that could hold predictions or scores."""

    def __init__(self, message: str, column: str | None = None) -> None:
        super().__init__(message)
        self.column = column


def resolve_columns(present: list[str], chosen: Columns) -> Columns:
    """Decide which columns to read: those named, else those with telling names; see `read_pool`.

    Raises
    ------
    PoolError
        If a column is missing, or if two have its name.
    """
    if chosen.id is None and "id" in present:
        chosen = chosen._replace(id="id")
    free = [name for name in present if name not in (chosen.id, *chosen.groups, *chosen.systems.values())]
    nothing = chosen.scores is None and chosen.prediction is None and chosen.confidence is None
    if chosen.prediction is None and "prediction" in free:
        chosen = chosen._replace(prediction="prediction")  # the system's own answer, whatever else is named
    if nothing:
        chosen = chosen._replace(scores=_detect_scores(free))
        if chosen.scores is None and chosen.prediction is None:
            if "score" not in free:
                raise MissingColumnError(
                    "Found neither a column 'prediction' or 'score' nor several that begin with 'p_' or 'score_' among "
                    f"the columns {columns_shown(present)}; say which column holds predictions, or which scores."
                )
            chosen = chosen._replace(scores="score")  # of two classes
        if chosen.scores is None and "confidence" in free and not chosen.multilabel:  # else it follows from the scores
            chosen = chosen._replace(confidence="confidence")
    chosen = check_columns(chosen, present, "column")
    twice = next((name for name in chosen.all if present.count(name) > 1), None)
    if twice is not None:
        raise PoolError(
            f"There are {present.count(twice)} columns {twice!r}; give each a name of its own, or leave one."
        )
    return chosen


def _detect_scores(present: list[str]) -> list[str] | None:
    candidates = [[name for name in present if str(name).startswith(prefix)] for prefix in SCORE_PREFIXES]
    candidates = [names for names in candidates if len(names) > 1]
    if len(candidates) > 1:
        raise PoolError(
            f"Both {listing(candidates[0], 2)} and {listing(candidates[1], 2)} may be scores; pass scores=[...]."
        )
    return candidates[0] if candidates else None


def check_columns(columns: Columns, present: list[str], what: str) -> Columns:
    """Raise PoolError if a column is missing, or one alone is named as those of several classes."""
    for name in columns.all:
        if name not in present:
            parts = {part.strip() for part in str(name).split(",")}
            several = f" One {what} is named here; for groups by several, add one of what a row has in all of them."
            several = f" {_INDICATORS}" if columns.multilabel and name == columns.prediction else several
            hint = several if len(parts) > 1 and parts <= set(map(str, present)) else ""
            there_are = f"the {what}s are {columns_shown(present)}"
            raise MissingColumnError(f"There is no {what} {name!r}; {there_are}.{hint}", name)
    if isinstance(columns.scores, list) and len(columns.scores) == 1 and not columns.multilabel:
        (only,) = columns.scores
        raise PoolError(
            f"One {what} of scores is no distribution over classes; name it by itself, such as scores={only!r}, if it "
            "is the score of the positive class."
        )
    return columns


def columns_named(given: str | Iterable[str] | None) -> list[str]:
    """Return the names of columns, given as one, as several, or not at all.

    Raises
    ------
    PoolError
        If one is no text.

    Examples
    --------
    >>> columns_named("site"), columns_named(("site", "day")), columns_named(None)
    (['site'], ['site', 'day'], [])
    """
    if given is None:
        return []
    names = list(given) if isinstance(given, Iterable) and not isinstance(given, str) else [given]
    odd = [name for name in names if not isinstance(name, str)]
    if odd:
        raise PoolError(
            f"Columns are named by texts; found {listing(odd)}. Where those of a frame are not, rename them first: "
            "frame.columns = frame.columns.astype(str)."
        )
    return names


def columns_chosen(
    *,
    id: str | None,
    scores: str | Iterable[str] | None,
    show: str | Iterable[str] | None,
    prediction: str | None = None,
    confidence: str | None = None,
    groups: str | Iterable[str] | None = (),
    systems: Mapping[str, str] | None = None,
    multilabel: bool = False,
) -> Columns:
    """Return the columns that somebody names, see `read_pool`; raise PoolError if a name is no text."""
    if multilabel and prediction is not None and not isinstance(prediction, str) and np.ndim(prediction):
        raise PoolError(f"Predicted sets are in one column; found {listing(list(prediction))}. {_INDICATORS}")
    columns_named([name for name in (id, prediction, confidence, *(systems or {}).values()) if name is not None])
    return Columns(
        id=id,
        scores=scores if scores is None or isinstance(scores, str) else columns_named(scores),
        prediction=prediction,
        confidence=confidence,
        groups=columns_named(groups),
        systems=dict(systems or {}),
        multilabel=multilabel,
        show=columns_named(show),
    )


def columns_shown(names: Iterable[str]) -> str:
    """Name the columns that there are, for a message."""
    return listing(list(names), 30)


def arguments(arrays: dict[str, Any], columns: Columns, classes: ArrayLike | None) -> dict[str, Any]:
    """Return the keyword arguments of `Pool`; predictions, groups, systems may be coded: `spelled_out_columns`."""
    scores = None
    if isinstance(columns.scores, str):
        scores = arrays[columns.scores]
    elif columns.scores is not None:
        scores = _stack([arrays[name] for name in columns.scores], columns.scores)
        classes = class_names(columns.scores) if classes is None else classes
    return {
        "scores": scores,
        "predictions": arrays[columns.prediction] if columns.prediction else None,
        "confidence": arrays[columns.confidence] if columns.confidence else None,
        "ids": arrays[columns.id] if columns.id else None,
        "classes": classes,
        "groups": {name: arrays[name] for name in columns.groups},
        "systems": {name: arrays[column] for name, column in columns.systems.items()},
        "show": {name: spelled_out(arrays[name]) for name in columns.show},
    }


def spelled_out_columns(found: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments of a pool of other labels than classes, for which all columns are spelled out."""
    by_name = {
        kind: {name: spelled_out(column) for name, column in found[kind].items()} for kind in ("groups", "systems")
    }
    return {**found, "predictions": spelled_out(found["predictions"]), **by_name}


def _stack(columns: list[np.ndarray], names: list[str]) -> np.ndarray:
    columns = [values_of(column) for column in columns]
    for name, column in zip(names, columns, strict=True):
        if column.dtype.kind not in "biuf" or column.ndim != 1:
            raise PoolError(f"Score column {name!r} does not hold one number per row, but {listing(column, 3)}.")
    return np.column_stack(columns)


def class_names(columns: list[str]) -> list[str]:
    """Return the class names that score columns stand for: a common first word dropped, numbers as integers."""
    names = [str(name) for name in columns]
    first = {name.partition("_")[0] for name in names}
    if len(first) == 1 and all(name.partition("_")[2] for name in names):
        names = [name.partition("_")[2] for name in names]
    numbers = text_as_int(np.asarray(names)) if names else None
    return names if numbers is None else numbers.tolist()
