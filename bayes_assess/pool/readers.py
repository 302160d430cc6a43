"""Reading a pool from CSV, Parquet and NPZ files and from dataframes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from zipfile import is_zipfile

import numpy as np

from bayes_assess._tools.arrays import frame_of, listing, text_as_int, to_numpy, values_of
from bayes_assess.errors import PoolError
from bayes_assess.pool._wide import SYSTEM, long_form
from bayes_assess.pool.pool import Pool
from bayes_assess.pool.ranked import RankedList

SUFFIXES = (".csv", ".parquet", ".npz")
SCORE_PREFIXES = ("p_", "score_")
NPZ_NAMES = {"id": "ids", "scores": "scores", "prediction": "predictions", "confidence": "confidence"}
NO_NUMBER = ["", "nan", "NaN", "NA", "null", "None"]  # in a column of numbers; elsewhere only "" is missing


def read_pool(
    source: Any,
    *,
    id: str | None = None,
    scores: str | Iterable[str] | None = None,
    prediction: str | None = None,
    confidence: str | None = None,
    groups: str | Iterable[str] = (),
    systems: str | Iterable[str] | Mapping[str, str] = (),
    wide: Iterable[str] | Mapping[str, str] = (),
    show: str | Iterable[str] = (),
    classes: Any = None,
    multilabel: bool = False,
    bounds: tuple[float, float] | None = None,
) -> Pool:
    """Read a pool from a CSV, Parquet or NPZ file, or from a dataframe.

    Parameters
    ----------
    source : str, Path or dataframe
        A file with suffix ``.csv``, ``.parquet`` or ``.npz``, or any frame that Narwhals reads (pandas, Polars, Arrow).
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
        begin with ``p_`` or with ``score_`` if there are two or more.

    Raises
    ------
    PoolError
        If the file is missing or of another kind, or a column is; the message lists the columns there are.

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
    is_file = isinstance(source, str | Path)
    systems, wide = (
        given if isinstance(given, Mapping) else {name: name for name in ([given] if isinstance(given, str) else given)}
        for given in (systems, wide)
    )
    groups = [groups] if isinstance(groups, str) else list(groups)
    if wide:
        if scores is not None or prediction is not None or confidence is not None or systems or multilabel:
            raise PoolError("A wide table has one verdict per answer: leave out scores, predictions and other systems.")
        return _read_wide(Path(source) if is_file else source, wide, id, groups, show, classes, bounds)
    columns = Columns(
        id=id,
        scores=scores if scores is None or isinstance(scores, str) else list(scores),
        prediction=prediction,
        confidence=confidence,
        groups=groups,
        systems=dict(systems),
        multilabel=multilabel,
        show=[show] if isinstance(show, str) else list(show),
    )
    return Pool(**_read(Path(source) if is_file else source, columns, classes), multilabel=multilabel, bounds=bounds)


def _read_wide(
    source: Any, answers: Mapping[str, str], id: str | None, groups: list[str], show: Any, classes: Any, bounds: Any
) -> Pool:
    """Read a wide table; groups that its long form has by itself may be named, too."""
    columns = Columns(
        id=id,
        scores=None,
        prediction=next(iter(answers.values())),
        confidence=None,
        groups=[name for name in groups if name not in (SYSTEM, id, "row", "id")],
        systems=dict(answers),
        show=[show] if isinstance(show, str) else list(show),
    )
    found = _read(source, columns, classes)
    name = id if id is not None or found["ids"] is None else "id"
    return Pool(**long_form(found, found["systems"], name), bounds=bounds)


def read_ranked(
    source: Any,
    *,
    scores: str,
    id: str | None = None,
    show: str | Iterable[str] = (),
    classes: Any = None,
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
    columns = Columns(
        id=id,
        scores=scores,
        prediction=None,
        confidence=None,
        groups=[],
        systems={},
        show=[show] if isinstance(show, str) else list(show),
    )
    found = _read(Path(source) if isinstance(source, str | Path) else source, columns, None)
    names = (0, 1) if classes is None else classes
    return RankedList.from_scores(found["scores"], found["ids"], names, seed, found["show"])


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
    def all(self) -> list[str]:
        """Every column that is needed, once."""
        return list(dict.fromkeys([*self._read, *self.show]))

    @property
    def _read(self) -> list[str]:
        """The columns that say more than what is shown."""
        single = [name for name in (self.id, self.prediction) if name]
        return [*single, *self.numbers, *self.groups, *self.systems.values()]


def _read(source: Any, columns: Columns, classes: Any) -> dict[str, Any]:
    """Return the arguments of `Pool` from a path or a frame; see `read_pool`."""
    if isinstance(source, Path):
        if source.suffix.lower() not in SUFFIXES:
            raise PoolError(f"Cannot read {source.name!r}: its suffix should be one of {', '.join(SUFFIXES)}.")
        if not source.is_file():
            raise PoolError(f"There is no file {str(source)!r}.")
        if source.suffix.lower() == ".npz":
            return _read_npz(source, columns, classes)
        reader = _read_csv if source.suffix.lower() == ".csv" else _read_parquet
        return reader(source, columns, classes)
    frame = frame_of(source)
    if frame is None or not hasattr(frame, "select"):
        raise PoolError(f"Cannot read a pool from {type(source).__name__}; pass a path or a dataframe.")
    return _read_frame(frame, columns, classes)


def _read_frame(frame: Any, columns: Columns, classes: Any) -> dict[str, Any]:
    columns = resolve(frame.collect_schema().names(), columns)
    frame = frame.select(*columns.all)
    frame = frame.collect() if hasattr(frame, "collect") else frame
    return _arguments({name: to_numpy(frame[name]) for name in columns.all}, columns, classes)


def _read_parquet(path: Path, columns: Columns, classes: Any) -> dict[str, Any]:
    try:
        from pyarrow import ArrowInvalid, parquet
    except ImportError:
        raise PoolError('Reading Parquet needs PyArrow: pip install "bayes-assess[parquet]".') from None
    try:
        columns = resolve(parquet.read_schema(path).names, columns)
        table = parquet.read_table(path, columns=columns.all)
    except ArrowInvalid as error:
        raise PoolError(f"The file {path.name!r} is not a Parquet file: {error}.") from None
    return _read_frame(frame_of(table), columns, classes)


def _read_csv(path: Path, columns: Columns, classes: Any) -> dict[str, Any]:
    import pandas as pd

    # The same numbers as from Parquet: pandas 3.1 parses exactly and deprecates the option that older ones need.
    release = tuple(int(part) for part in pd.__version__.split(".")[:2])
    exact: dict[str, Any] = {} if release >= (3, 1) else {"float_precision": "round_trip"}
    try:
        columns = resolve(list(pd.read_csv(path, nrows=0).columns), columns)
        frame = pd.read_csv(
            path,
            usecols=columns.all,
            dtype=dict.fromkeys(columns.texts, str),  # else 007 would become 7
            keep_default_na=False,  # a class or a site may be called "NA" or "None"
            **exact,
            na_values={name: NO_NUMBER if name in columns.numbers else [""] for name in columns.all},
        )
    except (pd.errors.ParserError, pd.errors.EmptyDataError, UnicodeDecodeError) as error:
        raise PoolError(f"Cannot read {path.name!r} as CSV: {error}.") from None
    arrays = {name: frame[name].to_numpy() for name in columns.all}
    if columns.id:
        text = values_of(arrays[columns.id])
        numbers = text_as_int(text) if text.dtype.kind == "U" else None
        arrays[columns.id] = text if numbers is None else numbers
    return _arguments(arrays, columns, classes)


def _read_npz(path: Path, columns: Columns, classes: Any) -> dict[str, Any]:
    if "labels" in [*columns.groups, *columns.show]:
        raise PoolError("Labels are never read into a pool; tell them to the assessment instead.")
    if not is_zipfile(path):
        raise PoolError(f"The file {path.name!r} is not an NPZ file.")
    try:
        with np.load(path, allow_pickle=False) as archive:
            detected = NPZ_NAMES
            if any((columns.scores, columns.prediction, columns.confidence)):
                detected = {role: NPZ_NAMES[role] for role in ("id", "prediction")}
            if columns.multilabel:
                detected = {role: name for role, name in detected.items() if role != "confidence"}
            free = set(archive) - {*columns.groups, *columns.systems.values()}
            found = {role: key for role, key in detected.items() if not getattr(columns, role) and key in free}
            columns = _check_columns(columns._replace(**found), list(archive), "array")
            if not columns.numbers and columns.prediction is None:
                raise PoolError(
                    f"The file {path.name!r} holds no scores or predictions; it has the arrays {_listed(archive)}."
                )
            if classes is None and "classes" in archive:
                classes = archive["classes"]
            return _arguments({name: archive[name] for name in columns.all}, columns, classes)
    except PoolError:
        raise
    except (OSError, ValueError) as error:
        raise PoolError(
            f"Cannot read {path.name!r} as NPZ ({error}); save arrays of text or numbers by np.savez."
        ) from None


def resolve(present: list[str], chosen: Columns) -> Columns:
    """Decide which columns to read: those named, else those with telling names; see `read_pool`."""
    if chosen.id is None and "id" in present:
        chosen = chosen._replace(id="id")
    free = [name for name in present if name not in (chosen.id, *chosen.groups, *chosen.systems.values())]
    nothing = chosen.scores is None and chosen.prediction is None and chosen.confidence is None
    if chosen.prediction is None and "prediction" in free:
        chosen = chosen._replace(prediction="prediction")  # the system's own answer, whatever else is named
    if nothing:
        chosen = chosen._replace(scores=_detect_scores(free))
        if chosen.scores is None and chosen.prediction is None:
            raise PoolError(
                f"Found neither a column 'prediction' nor several that begin with 'p_' or 'score_' among the columns "
                f"{_listed(present)}; say which column holds predictions, or which scores."
            )
        if chosen.scores is None and "confidence" in free and not chosen.multilabel:  # else it follows from the scores
            chosen = chosen._replace(confidence="confidence")
    return _check_columns(chosen, present, "column")


def _detect_scores(present: list[str]) -> list[str] | None:
    found = [[name for name in present if str(name).startswith(prefix)] for prefix in SCORE_PREFIXES]
    found = [names for names in found if len(names) > 1]
    if len(found) > 1:
        raise PoolError(f"Both {listing(found[0], 2)} and {listing(found[1], 2)} may be scores; pass scores=[...].")
    return found[0] if found else None


def _check_columns(columns: Columns, present: list[str], what: str) -> Columns:
    for name in columns.all:
        if name not in present:
            raise PoolError(f"There is no {what} {name!r}; the {what}s are {_listed(present)}.")
    return columns


def _listed(names: Iterable[str]) -> str:
    return listing(list(names), 30)


def _arguments(arrays: dict[str, np.ndarray], columns: Columns, classes: Any) -> dict[str, Any]:
    """Return the keyword arguments of `Pool`."""
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
        "show": {name: arrays[name] for name in columns.show},
    }


def _stack(columns: list[np.ndarray], names: list[str]) -> np.ndarray:
    columns = [values_of(column) for column in columns]
    for name, column in zip(names, columns, strict=True):
        if column.dtype.kind not in "biuf" or column.ndim != 1:
            raise PoolError(f"Score column {name!r} does not hold one number per row, but {listing(column, 3)}.")
    return np.column_stack(columns)


def class_names(columns: list[str]) -> list[Any]:
    """Return the class names that score columns stand for: a common first word dropped, numbers as integers."""
    names = [str(name) for name in columns]
    first = {name.partition("_")[0] for name in names}
    if len(first) == 1 and all(name.partition("_")[2] for name in names):
        names = [name.partition("_")[2] for name in names]
    numbers = text_as_int(np.asarray(names)) if names else None
    return names if numbers is None else numbers.tolist()
