"""Sheets that annotators have filled in, and exports of the tools in which they have labelled."""

from __future__ import annotations

import shlex
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from os import PathLike
from pathlib import Path
from typing import Any, Literal, NamedTuple, overload

import numpy as np

from bayes_assess._tools.arrays import show
from bayes_assess._tools.callers import warn_caller
from bayes_assess._tools.text import enumerated, plural
from bayes_assess.errors import LabelError
from bayes_assess.pool.pool import Pool
from bayes_assess.sessions.exchange import label_studio
from bayes_assess.sessions.exchange.cells import as_meant
from bayes_assess.sessions.exchange.exports import is_export, read_export
from bayes_assess.sessions.exchange.grid import Grid, read_grid
from bayes_assess.sessions.exchange.matching import UNKNOWN, IdMatcher, LabelMatcher

_SHOWN = 20  # rows that a message lists, at most
_EXAMPLES = 3  # spellings that a note shows
_UNSURE = {"unsure", "unknown", "unclear", "not sure", "don't know", "idk", "n/a", "na", "none", "skip"}
_ANNOTATOR = "annotator"  # the column of who gave the labels

Check = Callable[[int, str | None, str], str | None]  # position, label (None: unsure), annotator to what is wrong


class Sheet(NamedTuple):
    """What a sheet says.

    Attributes
    ----------
    ids : (n,) item ids of the pool
    labels : (n,) class names, or sets of them as texts
    unsure : (m,) item ids
        Items of which it says that nobody can label them.
    n_blank : int
        Rows without a label.
    notes : list of str
        Sentences on what was taken for something else.
    annotators : (n,) names
        Who gave the labels; empty texts where the sheet does not say.
    """

    ids: np.ndarray
    labels: np.ndarray
    unsure: np.ndarray
    n_blank: int
    notes: list[str]
    annotators: np.ndarray


@overload
def read_labels(
    path: str | PathLike[str],
    pool: Pool | None = None,
    *,
    id: str = "id",
    label: str = "label",
    annotators: Literal[False] = False,
    repeated: bool = False,
) -> tuple[np.ndarray, np.ndarray]: ...


@overload
def read_labels(
    path: str | PathLike[str],
    pool: Pool | None = None,
    *,
    id: str = "id",
    label: str = "label",
    annotators: Literal[True],
    repeated: bool = False,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]: ...


def read_labels(
    path: str | PathLike[str],
    pool: Pool | None = None,
    *,
    id: str = "id",
    label: str = "label",
    annotators: bool = False,
    repeated: bool = False,
) -> tuple[np.ndarray, ...]:
    r"""Read ids and labels from a sheet that annotators have filled in, or from the export of a labelling tool.

    A sheet may be CSV, separated by commas, semicolons or tabs, in UTF-8, UTF-16 or Windows-1252, an Excel workbook,
    Parquet, or lines of JSON (.jsonl), in which a set of labels may be a list of names.
    Names of columns are taken in any case, other columns ignored, and rows without a label left out. A file whose name
    ends in .json is what Label Studio exports as JSON or JSON-MIN, or what Argilla's `to_json` or `to_list` return;
    skipped and discarded tasks are left out.

    Parameters
    ----------
    path : path-like
    pool : Pool, optional
        With it, ids and labels are those of the pool: what spreadsheets do to numbers (``855.0``, ``7`` for ``007``,
        ``1,5``) and annotators to names (``Good`` for ``good``) is undone where that is unambiguous. Rows that show the
        text of another item of the sheet are wrong: some columns were sorted by themselves.
    id, label : str
        Names of the columns; in exports, of what holds the ids, and of the control or question.
    annotators : bool
        Whether to return who gave the labels, too: a column ``annotator`` of a sheet. Several may label an item then.

    repeated : bool
        Whether an item may have several rows, whose labels may differ and all count: those of a stochastic oracle.

    Returns
    -------
    ids, labels : (n,) arrays
        As `tell` takes them; texts without a pool.
    names : (n,) array
        Of the annotators, if asked for; empty texts where the file does not say.

    Raises
    ------
    LabelError
        If the file cannot be read, or rows of it name no item or no class; the message lists the rows, up to 20, as the
        file numbers them.

    Warns
    -----
    UserWarning
        If an id or a label was taken for another one.

    Examples
    --------
    >>> import bayes_assess as ba, os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "labels.csv")
    >>> with open(path, "w") as stream:
    ...     _ = stream.write("ID;text;Label\na;a text;cat\nb;another;\n")
    >>> ids, labels = ba.read_labels(path)
    >>> ids.tolist(), labels.tolist()
    (['a'], ['cat'])
    """
    if not isinstance(path, (str, PathLike)):
        raise LabelError(f"A sheet is named by the path of its file, such as 'to_label.csv'; found {show(path)}.")
    if pool is not None and not isinstance(pool, Pool):
        raise LabelError(
            f"read_labels takes the Pool of the labels, or none, as for ranked lists; found {type(pool).__name__}. The "
            "pool of a session is its .pool."
        )
    for column in (id, label):
        if not isinstance(column, str):
            raise LabelError(f"A column of a sheet is named by a text, such as 'label'; found {show(column)}.")
    path = Path(path)
    try:
        if pool is None:
            ids, labels, names, _ = read_texts(path, id, label)
            return (ids, labels, names) if annotators else (ids, labels)
        sheet = read_sheet(path, pool, id, label, annotator=_ANNOTATOR if annotators else None, repeated=repeated)
    except OSError as error:
        raise LabelError(f"{path} cannot be read: {error.strerror or error}.") from None
    for note in sheet.notes:
        warn_caller(f"{path}: {note}")
    return (sheet.ids, sheet.labels, sheet.annotators) if annotators else (sheet.ids, sheet.labels)


def read_texts(path: Path, id: str, label: str) -> tuple[np.ndarray, np.ndarray, np.ndarray, int]:
    """Read ids, labels and annotators as texts, without rows that have no label, which are counted.

    Raises
    ------
    LabelError
        If the file cannot be read, or an id is missing.
    """
    grid = _grid(path, id, label, _ANNOTATOR)
    wrong = dict(grid.wrong)
    labels, names = (np.array([text.strip() for text in column], dtype=str) for column in grid.columns[1:])
    # Ids of a pool may differ by blanks, which `tell` passes over if need be; numbers do not.
    ids = np.array([text.strip() if text.strip().isdecimal() else text for text in grid.columns[0]], dtype=str)
    given = labels != ""
    missing = given & (np.strings.strip(ids) == "")
    wrong |= {grid.rows[at]: "the id is missing" for at in np.flatnonzero(missing).tolist()}
    _refuse(path, grid, wrong)
    return ids[given], labels[given], names[given], int((~given).sum())


def read_sheet(
    path: Path,
    pool: Pool,
    id: str = "id",
    label: str = "label",
    unsure: Iterable[str] | None = None,
    check: Check | None = None,
    unknown: str = UNKNOWN,
    annotator: str | None = None,
    repeated: bool = False,
) -> Sheet:
    """Read a sheet and find its items and labels in a pool; all rows are right, or none is taken.

    Parameters
    ----------
    path, pool, id, label
        As of `read_labels`.
    unsure : texts
        What stands in the place of a label where nobody can tell it, in any case; None where that cannot be said.
    check : function, optional
        Says of an item's position, its label, None where nobody can tell it, and who gave it, what speaks against it.
    unknown : str
        What is said of ids of no item.
    annotator : str, optional
        Name of a column that says who gave the labels, if there is such a column: then a row is the one of an item and
        an annotator, and an item that somebody has labelled is not unsure. Exports of tools say it in their own way.
    repeated : bool, optional
        Whether every row is a label of its own, of an item that may have several.

    Raises
    ------
    LabelError
        As `read_labels`, or if a word for unsure is a class.
    """
    grid, match_label = _grid(path, id, label, annotator, tuple(pool.show)), LabelMatcher(pool)
    said_by = [text.strip() for text in grid.columns[2]] if annotator else [""] * len(grid.rows)
    words = _words(unsure or (), match_label.names)
    given = [at for at, text in enumerate(grid.columns[1]) if text.strip()]
    matches = IdMatcher(pool, unknown)([grid.columns[0][at] for at in given])
    wrong, taken = dict(grid.wrong), _Respelled(grid.unit)
    entries: dict[tuple[int, str, int], tuple[int, str | None]] = {}  # of every item and annotator, row and label
    for at, item in zip(given, matches, strict=True):
        row, (id_text, text) = grid.rows[at], (column[at] for column in grid.columns[:2])
        name: Any = None
        if row in wrong:
            continue
        if item.found is None:
            wrong[row] = f"{id_text.strip()!r} {item.problem}" if id_text.strip() else "the id is missing"
            continue
        if text.strip().casefold() not in words:
            labelled = match_label(text)
            if labelled.found is None:
                hint = "" if unsure is None else _unsure_hint(text)
                wrong[row] = f"the label {text!r} {labelled.problem}{hint}"
                continue
            name = labelled.found
            taken.note("label", text, name, labelled.exact)
        place = int(item.found)
        shown = str(pool.ids[place])
        taken.note("id", id_text, shown, item.exact)
        before, first_name = entries.setdefault((place, said_by[at], at if repeated else 0), (row, name))
        problem = None if check is None else check(place, name, said_by[at])
        if first_name != name:
            both = " and ".join("unsure" if said is None else repr(said) for said in (first_name, name))
            wrong[row] = f"{shown!r} occurs twice with different labels, {both}, first in {grid.unit} {before}"
        elif problem is not None:
            wrong[row] = f"{shown!r} {problem}"
    _refuse(path, grid, wrong)
    _refuse_moved(path, grid, given, pool)
    sure = {key: name for key, (_, name) in entries.items() if name is not None}
    labels, places = np.array(list(sure.values()), dtype=str), np.array([place for place, *_ in sure], dtype=np.int64)
    labelled = set(places.tolist())
    nobody = dict.fromkeys(place for (place, *_), (_, name) in entries.items() if name is None)
    return Sheet(
        ids=pool.ids[places],
        labels=labels if pool.multilabel else labels.astype(pool.classes.dtype),
        unsure=pool.ids[np.array([place for place in nobody if place not in labelled], dtype=np.int64)],
        n_blank=len(grid.rows) - len(given),
        notes=[*grid.notes, *taken.notes()],
        annotators=np.array([who for _, who, _ in sure], dtype=str),
    )


def _composed(text: str) -> str:
    return unicodedata.normalize("NFC", text)


class _Respelled:
    """What was taken for something else."""

    def __init__(self, unit: str) -> None:
        self._unit = unit
        self._texts: dict[tuple[str, str], dict[str, int]] = {}  # rows by kind and meaning, and by spelling

    def note(self, kind: str, text: str, meaning: str, exact: bool) -> None:
        """Take note of a text, unless it is what it stands for, or reads so, its letters composed otherwise."""
        if not exact and not (kind == "label" and _composed(text) == _composed(meaning)):
            texts = self._texts.setdefault((kind, meaning if kind == "label" else ""), {})
            key = text if kind == "label" else f"{text.strip()!r} for {meaning!r}"
            texts[key] = texts.get(key, 0) + 1

    def notes(self) -> list[str]:
        """Say it."""
        said = []
        for (kind, meaning), texts in self._texts.items():
            first = list(texts)[:_EXAMPLES]
            rows, more = plural(sum(texts.values()), self._unit), " and others" * (len(texts) > _EXAMPLES)
            if kind == "id":
                said.append(f"Took ids such as {', '.join(first)}, in {rows}.")
            else:
                said.append(f"Took {', '.join(map(repr, first))}{more} for {meaning!r}, in {rows}.")
        return said


def _words(unsure: Iterable[str], names: list[str]) -> set[str]:
    words = {word.strip().casefold() for word in unsure} - {""}
    for name in names:
        if name.casefold() in words:
            raise LabelError(
                f"{name!r} is a class of the pool and cannot say that somebody is unsure; use another word."
            )
    return words


def _unsure_hint(text: str) -> str:
    """Say how to set items aside, where a text may mean that."""
    said = text.strip()
    if any(map(str.isalnum, said)) and said.casefold() not in _UNSURE:
        return ""
    return f"; if it says that nobody can tell, add --unsure {shlex.quote(said)}"


def _grid(path: Path, id: str, label: str, annotator: str | None, shown: Sequence[str] = ()) -> Grid:
    """Read ids, labels and, if they are asked for, annotators from a sheet or the export of a tool."""
    if is_export(path):
        return read_export(path, id, label)
    grid = read_grid(path, [id, label], [*label_studio.CSV, *([annotator] if annotator else [])], shown)
    ids, labels, of_tool, numbers, *who = grid.columns
    exported = any(map(str.strip, numbers))
    theirs = id == "id" and any(map(str.strip, of_tool)) and exported
    labels = [label_studio.csv_label(text) for text in labels] if exported else labels
    return grid._replace(columns=[of_tool if theirs else ids, labels, *who])


def _refuse(path: Path, grid: Grid, wrong: dict[int, str], todo: str = "") -> None:
    """Raise LabelError if rows are wrong."""
    if not wrong:
        return
    unit = grid.unit
    listed = "; ".join(_by_problem(dict(sorted(wrong.items())[:_SHOWN]), unit))
    more = f"; and {plural(len(wrong) - _SHOWN, f'more {unit}')}" if len(wrong) > _SHOWN else ""
    raise LabelError(f"Nothing was taken from {path}; {grid.counted}these {unit}s are wrong: {listed}{more}{todo}.")


def _refuse_moved(path: Path, grid: Grid, given: list[int], pool: Pool) -> None:
    """Raise LabelError if labelled rows show the texts of other items: part of the sheet was sorted or filled down.

    What annotators have changed in a text is no matter, nor are texts that several items have, or that have no
    letters, as dates and numbers, of which spreadsheets make others.
    """
    if not grid.shown or not given:
        return
    found = {at: match.found for at, match in enumerate(IdMatcher(pool)(grid.columns[0])) if match.found is not None}
    places = np.array(list(dict.fromkeys(found.values())), dtype=np.int64)
    for name, texts in grid.shown.items():
        column = pool.show[name]
        own = dict(zip(places.tolist(), map(_as_shown, column[places].tolist()), strict=True))
        read = {at: _as_shown(texts[at]) for at in given}
        others = {at: text for at, text in read.items() if text != own[found[at]] and any(map(str.isalpha, text))}
        if not others:
            continue
        wanted = set(others.values())
        owners = _owners(own.items(), wanted)
        if pool.in_memory:  # the id of the item may have been overwritten
            owners = _owners(enumerate(map(_as_shown, column.tolist())), wanted) | owners
        of_row = {at: (found[at], owners[text]) for at, text in others.items() if text in owners}
        wrong = {
            grid.rows[at]: f"{show(name)} of {str(pool.ids[place])!r} is that of {str(pool.ids[owner])!r}"
            for at, (place, owner) in of_row.items()
        }
        todo = (
            ". Some columns of the sheet were sorted, moved or filled down, and others were not: put the rows together "
            f"as they were handed out, or, if labels and ids belong together, leave the column {show(name)} out"
        )
        _refuse(path, grid, wrong, todo)


def _owners(items: Iterable[tuple[int, str]], texts: set[str]) -> dict[str, int]:
    """Find the items that alone have some texts."""
    having: dict[str, list[int]] = {}
    for item, text in items:
        if text in texts:
            having.setdefault(text, []).append(item)
    return {text: alike[0] for text, alike in having.items() if len(alike) == 1}


def _as_shown(text: object) -> str:
    """Return a text as a sheet may have it: without the quote before a formula, and with blanks of one kind."""
    return " ".join(as_meant(str(text)).split())


def _by_problem(wrong: dict[int, str], unit: str) -> list[str]:
    """Say what is wrong with rows: once of those that have the same problem, and in short of others of its kind.

    Examples
    --------
    >>> none = "is not one of the classes ('a', 'b')"
    >>> wrong = {2: f"'x' {none}", 3: f"'y' {none}; z", 4: "the id is missing", 5: f"'x' {none}"}
    >>> for said in _by_problem(wrong, "row"):
    ...     print(said)
    rows 2 and 5: 'x' is not one of the classes ('a', 'b')
    row 3: 'y' is none, either; z
    row 4: the id is missing
    """
    rows: dict[str, list[int]] = {}
    for row, problem in wrong.items():
        rows.setdefault(problem, []).append(row)
    said: list[str] = []
    known: set[str] = set()
    for problem, where in rows.items():
        what, _, rest = problem.partition(" is not one of the classes ")
        classes, _, more = rest.partition("; ")  # and what to do
        todo = f"; {more}" if more and more not in known else ""
        short = f"{what} is none, either{todo}" if rest and classes in known else problem
        known |= {classes, more} if rest else set()
        said.append(f"{unit}{'s' * (len(where) > 1)} {enumerated(where)}: {short}")
    return said
