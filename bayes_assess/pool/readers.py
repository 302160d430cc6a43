"""Reading a pool from CSV, Parquet and NPZ files and from dataframes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zipfile import is_zipfile

import numpy as np

from bayes_assess._tools.arrays import frame_of, to_numpy
from bayes_assess._tools.arrow_text import dictionary_of, is_double, is_text, numbers_of, text_of
from bayes_assess._tools.coded import CodedColumn
from bayes_assess._tools.dates import zoned_text
from bayes_assess._tools.progress import in_progress
from bayes_assess._tools.row_numbers import Numbering, numbered_as_in_file
from bayes_assess._tools.shapes import ArrayLike, Frame
from bayes_assess._tools.suggestions import with_known_arguments
from bayes_assess._tools.uuids import is_uuid, uuid_text
from bayes_assess.errors import PoolError
from bayes_assess.pool._csv import read_csv
from bayes_assess.pool._memory import check_fits
from bayes_assess.pool._table import (
    Columns,
    MissingColumnError,
    arguments,
    check_columns,
    columns_chosen,
    columns_named,
    columns_shown,
    resolve_columns,
    spelled_out_columns,
)
from bayes_assess.pool._wide import SYSTEM, long_form
from bayes_assess.pool.pool import Pool
from bayes_assess.pool.ranked import RankedList

if TYPE_CHECKING:
    import os

    import narwhals as nw


SUFFIXES = (".csv", ".tsv", ".parquet", ".npz")
_JSON = (".json", ".jsonl", ".ndjson")
NPZ_NAMES = {"id": "ids", "scores": "scores", "prediction": "predictions", "confidence": "confidence"}


@with_known_arguments(PoolError)
@in_progress("Reading the pool")
def read_pool(
    source: str | os.PathLike[str] | Frame,
    *,
    id: str | None = None,
    scores: str | Iterable[str] | None = None,
    prediction: str | None = None,
    confidence: str | None = None,
    groups: str | Iterable[str] | None = (),
    systems: str | Iterable[str] | Mapping[str, str] | None = (),
    wide: Iterable[str] | Mapping[str, str] | None = (),
    show: str | Iterable[str] | None = (),
    classes: ArrayLike | None = None,
    multilabel: bool = False,
    bounds: tuple[float, float] | None = None,
) -> Pool:
    """Read a pool from a CSV, Parquet or NPZ file, or from a dataframe.

    Parameters
    ----------
    source : str, Path or dataframe
        A file with suffix ``.csv``, ``.tsv``, ``.parquet`` or ``.npz``, or any frame that Narwhals reads (pandas,
        Polars, Arrow).
        CSV may be separated by commas, semicolons or tabs, in UTF-8, UTF-16 or Windows-1252. Classes, groups and ids
        are called as it has them: ``01`` is another class than ``1``.
        An NPZ file holds the arrays ``scores``, ``predictions``, ``confidence``, ``ids`` and ``classes``, as many as
        there are; its ``labels`` are never read.
    id : str, optional
        Column of ids; by default the column ``id`` (``ids`` in NPZ) if there is one, else the row numbers.
    scores : str or list of str, optional
        The column of P(positive), or the columns of class probabilities. In NPZ, the name of the array.
    prediction, confidence : str, optional
        Columns of predicted classes and of their probabilities.
    groups : list of str, optional
        Columns of attributes to assess groups by.
    systems : list of str, or mapping of str to str, optional
        Columns of other systems' predictions; or the names of systems, and the column of each.
    wide : list of str, or mapping of str to str, optional
        Where a row is a prompt that several systems have answered: the columns of verdicts on their answers, or the
        names of systems, and the column of each. Every answer becomes an item, such as ``"7/gpt"`` of row 7, with the
        groups ``"system"`` and, by the name of the column of ids, the row.
    show : list of str, optional
        Columns that annotators need to see, such as a text; see `Pool`.
    classes : sequence, optional
        Class names; by default those of the score columns, without the first word up to an underscore if all
        columns share it: ``p_cat, p_dog`` give ``cat, dog``, and ``p_0, p_1`` give the integers 0 and 1.
    multilabel : bool
        True: items may have several labels each, and predictions are texts such as ``"cat;dog"``, with ``"-"`` where no
        class is predicted; see `MultiLabelPool`.
    bounds : two floats, optional
        Predictions and labels are numbers between these; see `NumericPool`.

    Returns
    -------
    Pool
        A column ``prediction`` (``predictions`` in NPZ) holds the predictions unless another is named. Where none of
        ``scores``, ``prediction`` and ``confidence`` is named, there are also the column ``confidence``, and those that
        begin with ``p_`` or with ``score_`` if there are two or more; or ``score``, of two classes, where there is no
        ``prediction`` either.

    Raises
    ------
    PoolError
        If the file is missing or of another kind, or a column or an argument is; the message lists those there are.

    Examples
    --------
    >>> import bayes_assess as ba
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"id": ["a", "b"], "p_cat": [0.9, 0.3], "p_dog": [0.1, 0.7], "site": ["x", "y"]})
    >>> pool = ba.read_pool(frame, groups=["site"])
    >>> pool.classes.tolist(), pool.ids.tolist()
    (['cat', 'dog'], ['a', 'b'])
    >>> answers = pd.DataFrame({"id": [7, 8], "old": ["good", "bad"], "new": ["good", "good"]})
    >>> pool = ba.read_pool(answers, wide=["old", "new"])
    >>> pool.ids.tolist(), pool.groups["system"].tolist()
    (['7/old', '8/old', '7/new', '8/new'], ['old', 'old', 'new', 'new'])
    """
    systems, wide = (
        given if isinstance(given, Mapping) else {name: name for name in columns_named(given)}
        for given in (systems, wide)
    )
    groups, shown = columns_named(groups), columns_named(show)
    with numbered_as_in_file() as numbering:
        if wide:
            if scores is not None or prediction is not None or confidence is not None or systems or multilabel:
                raise PoolError(
                    "A wide table has one verdict per answer: leave out scores, predictions and other systems."
                )
            return Pool(**_read_wide(source, wide, id, groups, shown, classes, numbering), bounds=bounds)
        columns = columns_chosen(
            id=id,
            scores=scores,
            prediction=prediction,
            confidence=confidence,
            groups=groups,
            systems=systems,
            multilabel=multilabel,
            show=shown,
        )
        arrays = _read(source, columns, classes, numbering)
        arrays = arrays if bounds is None and not multilabel else spelled_out_columns(arrays)
        return Pool(**arrays, multilabel=multilabel, bounds=bounds)


def _read_wide(
    source: str | os.PathLike[str] | Frame,
    answers: Mapping[str, str],
    id: str | None,
    groups: list[str],
    show: list[str],
    classes: ArrayLike | None,
    numbering: Numbering,
) -> dict[str, Any]:
    """Read a wide table; groups that its long form has by itself may be named, too."""
    columns = columns_chosen(
        id=id,
        scores=None,
        prediction=next(iter(answers.values())),
        groups=[name for name in groups if name not in (SYSTEM, id, "row", "id")],
        systems=answers,
        show=show,
    )
    arrays = spelled_out_columns(_read(source, columns, classes, numbering))
    numbering.n_rows = len(arrays["predictions"])
    name = id if id is not None or arrays["ids"] is None else "id"
    return long_form(arrays, arrays["systems"], name)


@with_known_arguments(PoolError)
@in_progress("Reading the list")
def read_ranked(
    source: str | os.PathLike[str] | Frame,
    *,
    scores: str,
    id: str | None = None,
    show: str | Iterable[str] | None = (),
    classes: ArrayLike | None = None,
    seed: int = 0,
) -> RankedList:
    """Read a ranked list from a file or a dataframe: ids and one score of any scale.

    Parameters
    ----------
    source : str, Path or dataframe
        As for `read_pool`.
    scores : str
        The column of scores; the items need not be in their order.
    id : str, optional
        Column of ids; by default the column ``id`` if there is one, else the row numbers.
    show : list of str, optional
        Columns that annotators need to see, such as a text; see `Pool`.
    classes : two values, optional
        The labels that an item can have, the negative first; 0 and 1 by default.
    seed : int
        Of the order of equal scores, which is random.

    Returns
    -------
    RankedList

    Raises
    ------
    PoolError
        If the file is missing or of another kind, or a column is.

    Examples
    --------
    >>> import bayes_assess as ba
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"id": ["a", "b", "c"], "score": [-3.5, 8.0, 1.2]})
    >>> ba.read_ranked(frame, scores="score").ids_at([1, 2, 3]).tolist()
    ['b', 'c', 'a']
    """
    columns = columns_chosen(id=id, scores=scores, show=show)
    with numbered_as_in_file() as numbering:
        return _ranked(_read(source, columns, None, numbering), classes, seed)


@with_known_arguments(PoolError)
@in_progress("Reading the pool")
def read_scored(
    source: str | os.PathLike[str] | Frame,
    *,
    scores: str,
    id: str | None = None,
    groups: str | Iterable[str] | None = (),
    show: str | Iterable[str] | None = (),
    classes: ArrayLike | None = None,
    seed: int = 0,
) -> Pool | RankedList:
    """Read a pool where a column of scores holds probabilities, and a ranked list where its scale is another one.

    Parameters
    ----------
    source, scores, id, show, classes
        As for `read_ranked`.
    groups : list of str, optional
        Columns of attributes, which ranked lists have none of.
    seed : int
        Of the order of equal scores in a ranked list.

    Raises
    ------
    PoolError
        If the file is missing or of another kind, or a column is.

    Examples
    --------
    >>> import pandas as pd
    >>> read_scored(pd.DataFrame({"id": ["a", "b"], "score": [-3.5, 8.0]}), scores="score").ids_at([1, 2]).tolist()
    ['b', 'a']
    >>> read_scored(pd.DataFrame({"id": ["a", "b"], "score": [0.25, 1.0]}), scores="score")
    Pool(2 items, 2 classes, scores)
    """
    columns = columns_chosen(id=id, scores=scores, show=show, groups=groups)
    with numbered_as_in_file() as numbering:
        arrays = _read(source, columns, classes, numbering)
        ranked = _ranked(arrays, classes, seed)  # which refuses what is no score on any scale
        values = np.asarray(ranked.scores)
        return Pool(**arrays) if values[-1] >= 0 and values[0] <= 1 else ranked


def _ranked(found: Mapping[str, Any], classes: ArrayLike | None, seed: int) -> RankedList:
    names = (0, 1) if classes is None else classes
    return RankedList.from_scores(found["scores"], found["ids"], names, seed, found["show"])


def _read(source: Any, columns: Columns, classes: ArrayLike | None, numbering: Numbering) -> dict[str, Any]:
    """Return the arguments of `Pool` from a path or a frame; see `read_pool`."""
    if isinstance(source, str | Path):
        source = Path(source)
        many = "*" in source.name or source.is_dir()
        hint = " Many files are one table to ba.scan_pool('folder/*.parquet', id=..., scores=...)." if many else ""
        if source.suffix.lower() not in SUFFIXES:
            from bayes_assess.pool.scan.opening import DATABASES, DUCKDB  # which few files need

            if source.suffix.lower() in DATABASES:
                hint = f" A table of it is '{DUCKDB}{source}/TABLE', for ba.scan_pool and the command line."
            if source.suffix.lower() in _JSON:
                raise PoolError(
                    f"Cannot read {source.name!r} as a pool: a table is read from CSV or Parquet; of a file with an "
                    "object per line, pd.read_json(path, lines=True) is the frame, which read_pool takes. Logs of "
                    "evaluation tools are read by ba.read_log."
                )
            raise PoolError(f"Cannot read {source.name!r}: its suffix should be one of {', '.join(SUFFIXES)}.{hint}")
        if not source.is_file():
            raise PoolError(f"There is no file {str(source)!r}.{hint}")
        if source.suffix.lower() == ".npz":
            return _read_npz(source, columns, classes)
        if source.suffix.lower() in (".csv", ".tsv"):
            return read_csv(source, columns, classes, numbering)
        return _read_parquet(source, columns, classes)
    try:
        frame = frame_of(source)
    except ValueError:  # of Narwhals, whose frames have no two columns of one name
        names = [str(name) for name in source.columns]
        twice = next((name for name in names if names.count(name) > 1), names[0])
        raise PoolError(
            f"The frame has {names.count(twice)} columns {twice!r}; give each a name of its own, or leave one."
        ) from None
    if frame is None or not hasattr(frame, "select"):
        raise PoolError(f"Cannot read a pool from {type(source).__name__}; pass a path or a dataframe.")
    return _read_frame(frame, columns, classes)


def _read_frame(frame: Any, columns: Columns, classes: ArrayLike | None) -> dict[str, Any]:
    present = frame.collect_schema().names()
    index = getattr(getattr(frame.to_native(), "index", None), "names", ())  # of pandas
    name = next((name for name in columns.all if name in index and name not in present), None)
    if name is not None:
        raise PoolError(f"The index of the frame holds {name!r}, and no column does: pass frame.reset_index().")
    columns = resolve_columns(present, columns)
    return arguments(_arrays(frame, columns), columns, classes)


def _arrays(frame: Any, columns: Columns) -> dict[str, Any]:
    frame, named = frame.select(*columns.all), columns.named
    if hasattr(frame, "collect"):
        import narwhals as nw

        check_fits(int(frame.select(nw.len()).collect().item()), "The table")
        frame = frame.collect()
    shown = set(columns.texts) - {columns.id}  # of any length
    arrays = {name: _array(frame[name], name not in shown, name in named) for name in columns.all}
    zoned = None if columns.id is None else zoned_text(frame[columns.id])
    return arrays if zoned is None else {**arrays, str(columns.id): zoned}


def _array(column: nw.Series, short: bool, named: bool) -> Any:
    """Return a column, short texts of Arrow from their bytes, and names as codes of the distinct ones."""
    column = _in_arrow(column) if short else column
    if column.implementation.is_pyarrow() and is_uuid(native := column.to_native()):
        text = uuid_text(native)
        return to_numpy(column) if text is None else text
    if short and column.implementation.is_pyarrow():
        native = column.to_native()
        if is_text(native):
            return CodedColumn(*dictionary_of(native)) if named and len(native) else text_of(native)
        if is_double(native):
            return numbers_of(native)
    return to_numpy(column)


def _in_arrow(column: nw.Series) -> nw.Series:
    """Return texts of Polars as a column of Arrow, where that is installed, and others as they are."""
    import narwhals as nw

    is_text = column.implementation.is_polars() and column.dtype == nw.String and not column.null_count()
    if not is_text or find_spec("pyarrow") is None:
        return column
    from pyarrow import chunked_array

    return nw.from_native(chunked_array([column.to_arrow()]), series_only=True)


def _read_parquet(path: Path, columns: Columns, classes: ArrayLike | None) -> dict[str, Any]:
    try:
        from pyarrow import ArrowException, parquet
    except ImportError:
        raise PoolError('Reading Parquet needs PyArrow: pip install "bayes-assess[parquet]".') from None
    try:
        columns = resolve_columns(parquet.read_schema(path).names, columns)
        check_fits(parquet.read_metadata(path).num_rows, f"The file {path.name!r}")
        # Names are kept once in most files, and texts of every row are never made of them.
        table = parquet.read_table(path, columns=columns.all, read_dictionary=sorted(columns.named))
        arrays = _arrays(frame_of(table), columns)
    except (ArrowException, OSError, UnicodeDecodeError) as error:  # damaged files give all of these
        raise PoolError(f"Cannot read {path.name!r} as Parquet: {_first_line(error)}.") from None
    return arguments(arrays, columns, classes)


def _read_npz(path: Path, columns: Columns, classes: ArrayLike | None) -> dict[str, Any]:
    if "labels" in [*columns.groups, *columns.show]:
        raise PoolError("Labels are never read into a pool; tell them to the assessment instead.")
    try:
        if not is_zipfile(path):
            raise PoolError(f"The file {path.name!r} is not an NPZ file.")
        with path.open("rb") as stream, np.load(stream, allow_pickle=False) as archive:
            columns = _resolve_npz(path, list(archive), columns)
            wanted = {*columns.all, *(["classes"] if classes is None and "classes" in archive else [])}
            arrays = {name: archive[name] for name in wanted}
    except PoolError:
        raise
    except Exception as error:  # whatever zip files, compression and headers of arrays raise when they are damaged
        raise PoolError(
            f"Cannot read {path.name!r} as NPZ ({_first_line(error)}); save arrays of text or numbers by np.savez."
        ) from None
    return arguments(arrays, columns, arrays.get("classes") if classes is None else classes)


def _resolve_npz(path: Path, present: list[str], columns: Columns) -> Columns:
    """Decide which arrays to read; see `read_pool`."""
    detected = NPZ_NAMES
    if any((columns.scores, columns.prediction, columns.confidence)):
        detected = {role: NPZ_NAMES[role] for role in ("id", "prediction")}
    if columns.multilabel:
        detected = {role: name for role, name in detected.items() if role != "confidence"}
    free = set(present) - {*columns.groups, *columns.systems.values()}
    keys = {role: key for role, key in detected.items() if not getattr(columns, role) and key in free}
    columns = check_columns(columns._replace(**keys), present, "array")
    if not columns.numbers and columns.prediction is None:
        raise MissingColumnError(
            f"The file {path.name!r} holds no scores or predictions; it has the arrays {columns_shown(present)}."
        )
    return columns


def _first_line(error: Exception) -> str:
    """Return what a library says of a file, as the end of a sentence of ours."""
    said = (str(error).strip() or type(error).__name__).splitlines()[0].rstrip(" .")
    return said.encode(errors="replace").decode()
