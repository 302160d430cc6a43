"""Files that the command line reads and writes: pools, sheets of labels, figures, tables."""

from __future__ import annotations

import io
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from bayes_assess._tools.arrays import listing, show, text_as_int, values_of
from bayes_assess.campaigns.journal import Journal
from bayes_assess.cli.asked import columns_of
from bayes_assess.cli.parse import parse_names, spelled_as
from bayes_assess.errors import JournalError, LabelError, OutputError
from bayes_assess.pool.pool import Pool
from bayes_assess.pool.ranked import RankedList
from bayes_assess.pool.readers import read_pool, read_ranked

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from bayes_assess.campaigns.assessment import Assessment, Queries


def reader_options(
    id: str | None,
    scores: list[str] | None,
    prediction: str | None,
    confidence: str | None,
    classes: str | None,
    multilabel: bool = False,
) -> dict[str, Any]:
    """Collect the options of `read_pool` as plain values; one score column of single labels is P(positive)."""
    columns = [name.strip() for text in scores or [] for name in text.split(",")]
    return {
        "id": id,
        "scores": columns[0] if len(columns) == 1 and not multilabel else columns or None,
        "prediction": prediction,
        "confidence": confidence,
        "classes": parse_names(classes),
        **({"multilabel": True} if multilabel else {}),
    }


def read_items(path: Path, options: Mapping[str, Any], *, ranked: bool, seed: int) -> Pool | RankedList:
    """Read a pool, or a ranked list where one score of any scale is to rank the items."""
    if ranked and isinstance(options["scores"], str) and options["prediction"] is None:
        return read_ranked(path, scores=options["scores"], id=options["id"], classes=options["classes"], seed=seed)
    return read_pool(path, **options)


def source_of(path: Path, options: Mapping[str, Any]) -> dict[str, Any]:
    """Say how a pool was read, for the journal."""
    return {"path": str(path.resolve()), "options": dict(options)}


def reopen(run: Path, moved_to: Path | None) -> Assessment:
    """Read the pool of a journal as it was read before, and go on with the assessment."""
    from bayes_assess.campaigns.start import resume

    with Journal.open(run) as journal:
        meta = journal.meta
    source = meta.get("source")
    if source is None:
        if moved_to is None:
            raise JournalError(f"{run} was not started on the command line, so it does not know its pool; add --pool.")
        source = {"path": "", "options": columns_of(meta["question"])}
    path = moved_to or _find(Path(source["path"]), run)
    options = {"id": None, "scores": None, "prediction": None, "classes": None} | source["options"]
    return resume(run, read_items(path, options, ranked="ranked_design" in meta, seed=meta["seed"]))


def _find(recorded: Path, run: Path) -> Path:
    """Where the pool is: at its place, or beside the journal if the two moved together."""
    for path in (recorded, run.resolve().parent / recorded.name):
        if path.is_file():
            return path
    raise JournalError(f"The pool {recorded} of {run} is not there any more; say where it is by --pool.")


def read_sheet(path: Path, id_column: str, label_column: str) -> tuple[np.ndarray, np.ndarray, int]:
    """Read ids and labels as text; return how many rows without a label were left out, too."""
    import pandas as pd

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", pd.errors.ParserWarning)
            frame = pd.read_csv(path, dtype=str, keep_default_na=False, encoding="utf-8-sig", index_col=False)
    except pd.errors.EmptyDataError:
        raise LabelError(f"{path} is empty; it needs the columns {id_column!r} and {label_column!r}.") from None
    except (pd.errors.ParserError, pd.errors.ParserWarning, UnicodeDecodeError) as error:
        raise LabelError(f"{path} cannot be read as CSV in UTF-8: {error}.") from None
    for name in (id_column, label_column):
        if name not in frame.columns:
            raise LabelError(f"{path} has no column {name!r}; its columns are {listing(list(frame.columns), 30)}.")
    # A short last row leaves fields missing even so.
    ids, labels = (frame[name].fillna("").to_numpy(dtype=str) for name in (id_column, label_column))
    given = np.strings.strip(labels) != ""
    return ids[given], labels[given], int((~given).sum())


def known_labels(pool: Pool, ids: np.ndarray, labels: np.ndarray, name: str) -> np.ndarray:
    """Put labels into the pool's order; every item needs exactly one."""
    if pool.classes.dtype.kind == "i" and len(labels) and not pool.multilabel:
        labels = _as_numbers(spelled_as(pool.classes, labels))
    items = pool.positions(ids)
    times = np.bincount(items, minlength=pool.n_items)
    if (times != 1).any():
        item = int(np.argmax(times != 1))
        found = "no label" if times[item] == 0 else f"{times[item]} labels"
        raise LabelError(f"simulate needs one label for every item, but {name} has {found} of {show(pool.ids[item])}.")
    ordered = np.empty(pool.n_items, labels.dtype)
    ordered[items] = labels
    return ordered


def _as_numbers(labels: np.ndarray) -> np.ndarray:
    numbers = text_as_int(labels)
    if numbers is None:
        odd = next(label for label in labels if text_as_int(np.asarray([label])) is None)
        raise LabelError(f"the label {show(odd)} is no whole number, as the pool's classes are; name them by --classes")
    return numbers


def pool_and_labels(path: Path, options: Mapping[str, Any], labels: str, label_column: str) -> tuple[Pool, np.ndarray]:
    """Read a pool and the label of each of its items from a file of labels or from a column of the pool's own file.

    All labels are known here, so that classes that are never predicted need not be declared.
    """
    if Path(labels).is_file():
        pool = read_pool(path, **options)
        ids, told, _ = read_sheet(Path(labels), options["id"] or "id", label_column)
        known = known_labels(pool, ids, told, labels)
    elif Path(labels).suffix.lower() == ".csv":  # a name of a file rather than of a column
        raise FileNotFoundError(2, "No such file", labels)
    else:
        pool, known = _pool_and_column(path, options, labels)
    if not pool.classes_declared and not pool.multilabel:
        if known.dtype.kind == "O" or (pool.classes.dtype.kind == "U") != (known.dtype.kind == "U"):
            known = pool.classes[pool.label_codes(known)]  # or says that numbers are no names
        pool = pool.with_classes(np.union1d(pool.classes, known))
    return pool, known


def _pool_and_column(path: Path, options: Mapping[str, Any], labels: str) -> tuple[Pool, np.ndarray]:
    """Read a pool and the column, or the array, of its labels."""
    if path.suffix.lower() == ".npz":
        pool = read_pool(path, **options)
        with np.load(path, allow_pickle=False) as archive:
            if labels not in archive:
                raise LabelError(f"{path} has no array {labels!r}; its arrays are {listing(list(archive), 30)}.")
            known = values_of(archive[labels])
    else:
        pool = read_pool(path, **{**options, "groups": list(dict.fromkeys([*options["groups"], labels]))})
        known = pool.groups[labels]
    if pool.classes.dtype.kind == "i" and known.dtype.kind == "U" and not pool.multilabel:
        known = _as_numbers(spelled_as(pool.classes, known))
    return pool, known


def refuse_to_overwrite(path: Path, force: bool) -> None:
    """Raise OutputError if a sheet cannot be written there, before any item is asked for."""
    if path.exists() and not force:
        raise OutputError(f"{path} exists already, perhaps with labels in it; choose another name, or add --force.")
    if not path.parent.is_dir():
        raise OutputError(f"There is no folder {path.parent} to write {path.name} in.")


def pending_queries(assessment: Assessment) -> Queries:
    """Gather all items that were handed out and not labelled yet."""
    if not assessment.n_pending:
        raise OutputError("No item is pending: every item that was asked for has its label.")
    return assessment.pending_queries


def save_figure(ax: Axes, path: Path) -> None:
    """Write a figure in the format of its suffix."""
    figure = ax.get_figure(root=True)
    assert figure is not None
    drawn = io.BytesIO()  # a figure that cannot be finished leaves no file
    try:
        figure.savefig(drawn, dpi=150, format=path.suffix[1:] or "png")
    except ValueError as error:  # an unknown suffix; the message lists those it knows
        raise OutputError(f"Cannot write the figure {path}: {error}.") from None
    path.write_bytes(drawn.getvalue())
