"""Exports of labelling tools, read as the rows of a sheet."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from bayes_assess._tools.arrays import listing
from bayes_assess._tools.text import plural
from bayes_assess.errors import LabelError
from bayes_assess.sessions.exchange import argilla, label_studio
from bayes_assess.sessions.exchange.answered import AnsweredItem, UnreadableTask, kind_of
from bayes_assess.sessions.exchange.grid import Grid, decoded
from bayes_assess.sessions.exchange.tasks import SUFFIX

_KNOWN = "the JSON or JSON-MIN of Label Studio, or the records of Argilla"


class _Format(NamedTuple):
    """One of the formats: how it is told from others, and read."""

    unit: str
    numbered: bool  # whether the tool shows people a number of its own
    found_in: Callable[[Mapping[str, object]], bool]
    read: Callable[[Mapping[str, object], str, str], AnsweredItem]


_FORMATS = (
    _Format("task", True, label_studio.is_task, label_studio.read_task),
    _Format("task", True, label_studio.is_annotation, label_studio.read_annotation),
    _Format("record", False, argilla.is_record, argilla.read_record),
    _Format("record", False, argilla.is_flat, argilla.read_flat),
)


def is_export(path: Path) -> bool:
    """Whether a file is an export of a tool, rather than a sheet."""
    return path.suffix.lower() == SUFFIX


def read_export(path: Path, id: str = "id", label: str = "label") -> Grid:
    """Read ids, labels and annotators from an export of Label Studio or Argilla, whichever it is.

    A task is a row for every annotator, or one without a label if there are none. Predictions are not read.

    Raises
    ------
    LabelError
        If the file is no JSON, no export, or nowhere has answers to the question `label` but to others.

    Examples
    --------
    >>> import tempfile
    >>> said = {"label": [{"value": "cat", "user_id": "u1"}, {"value": "dog", "user_id": "u2"}]}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "export.json")
    ...     _ = path.write_text(json.dumps([{"id": "7", "fields": {"text": "purrs"}, "responses": said}]))
    ...     grid = read_export(path)
    >>> grid.rows, grid.columns
    ([1, 1], [['7', '7'], ['cat', 'dog'], ['u1', 'u2']])
    """
    entries = _loaded(path)
    first = next((entry for entry in entries if isinstance(entry, dict)), None)
    form = None if first is None else next((form for form in _FORMATS if form.found_in(first)), None)
    if form is None:
        holds = "no object" if first is None else f"{listing(list(first), 5)}" if first else "an empty object"
        raise LabelError(f"{path} is none of {_KNOWN}: its first entry has {holds}.")
    own = [entry["id"] for entry in entries if isinstance(entry, dict) and type(entry.get("id")) is int]
    numbered = form.numbered and len(own) == len(entries)
    rows: list[int] = []
    columns: list[list[str]] = [[], [], []]
    wrong, names, n_open, n_untold = {}, set(), 0, 0
    for number, entry in zip(own if numbered else range(1, len(entries) + 1), entries, strict=True):
        try:
            answered = _read(entry, form, id, label)
        except UnreadableTask as error:
            wrong[number] = error.problem
            continue
        names |= answered.names
        n_open, n_untold = n_open + answered.n_open, n_untold + answered.n_untold
        for text, who in answered.said or [("", "")]:
            rows.append(number)
            for column, cell in zip(columns, (answered.id, text, who), strict=True):
                column.append(cell)
    if names and label not in names:
        raise LabelError(f"{path} has no answers to {label!r}; it has answers to {listing(sorted(names), 10)}.")
    notes = [f"Left out {plural(n_open, 'answer')} of records that are pending, which may be drafts."] * bool(n_open)
    if n_untold:
        said = (
            f"Took {plural(n_untold, 'answer')} of which the file does not say whether they were submitted or discarded"
        )
        notes.append(f"{said}, as to_list(flatten=True) of Argilla does.")
    counted = "by the numbers of Label Studio, " if numbered else "counted from 1, "
    return Grid(rows, columns, wrong, form.unit, counted, notes)


def _read(found: object, form: _Format, id: str, label: str) -> AnsweredItem:
    if not isinstance(found, dict):
        raise UnreadableTask(f"there is {kind_of(found)} in the place of a {form.unit}")
    if not form.found_in(found):
        raise UnreadableTask(f"it is not of the same format as those before; it has {listing(list(found), 5)}")
    return form.read(found, id, label)


def _loaded(path: Path) -> Sequence[object]:
    text = decoded(path)
    try:
        content = json.loads(text)
    except (ValueError, RecursionError) as error:
        where = f": {error}" if isinstance(error, ValueError) else ", or is too deep"
        raise LabelError(f"{path} cannot be read as JSON{where}.") from None
    if isinstance(content, dict):  # one task of a storage that holds a file for each
        content = [content]
    if not isinstance(content, list):
        raise LabelError(f"{path} holds {kind_of(content)}; an export is a list of tasks, {_KNOWN}.")
    if not content:
        raise LabelError(f"{path} is an empty list, without any task.")
    return content
