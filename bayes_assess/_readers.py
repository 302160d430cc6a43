"""Reading the arrays of a pool from CSV, Parquet and NPZ files and from dataframes."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple
from zipfile import is_zipfile

import numpy as np

from bayes_assess._arrays import frame_of, listing, text_as_int, values_of
from bayes_assess.errors import PoolError

SUFFIXES = (".csv", ".parquet", ".npz")
SCORE_PREFIXES = ("p_", "score_")
NPZ_NAMES = {"id": "ids", "scores": "scores", "prediction": "predictions", "confidence": "confidence"}
NO_NUMBER = ["", "nan", "NaN", "NA", "null", "None"]  # in a column of numbers; elsewhere only "" is missing


class Columns(NamedTuple):
    """Which columns of a table hold what."""

    id: str | None
    scores: str | list[str] | None  # one name is P(positive), a list one column per class
    prediction: str | None
    confidence: str | None
    groups: list[str]

    @property
    def numbers(self) -> list[str]:
        """The columns of numbers."""
        scores = [self.scores] if isinstance(self.scores, str) else self.scores or []
        return [*scores, *([self.confidence] if self.confidence else [])]

    @property
    def all(self) -> list[str]:
        """Every column that is needed, once."""
        single = [name for name in (self.id, self.prediction) if name]
        return list(dict.fromkeys([*single, *self.numbers, *self.groups]))


def read(source: Any, names: dict[str, Any], groups: list[str], classes: Any) -> dict[str, Any]:
    """Return the arguments of `Pool` from a path or a frame; see `read_pool`."""
    if isinstance(source, Path):
        if source.suffix.lower() not in SUFFIXES:
            raise PoolError(f"cannot read {source.name!r}: its suffix should be one of {', '.join(SUFFIXES)}")
        if not source.is_file():
            raise PoolError(f"there is no file {str(source)!r}")
        if source.suffix.lower() == ".npz":
            return _read_npz(source, names, groups, classes)
        reader = _read_csv if source.suffix.lower() == ".csv" else _read_parquet
        return reader(source, names, groups, classes)
    frame = frame_of(source)
    if frame is None or not hasattr(frame, "select"):
        raise PoolError(f"cannot read a pool from {type(source).__name__}; pass a path or a dataframe")
    return _read_frame(frame, names, groups, classes)


def _read_frame(frame: Any, names: dict[str, Any], groups: list[str], classes: Any) -> dict[str, Any]:
    columns = resolve(frame.collect_schema().names(), names, groups)
    frame = frame.select(*columns.all)
    frame = frame.collect() if hasattr(frame, "collect") else frame
    return _arguments({name: frame[name].to_numpy() for name in columns.all}, columns, classes)


def _read_parquet(path: Path, names: dict[str, Any], groups: list[str], classes: Any) -> dict[str, Any]:
    try:
        from pyarrow import ArrowInvalid, parquet
    except ImportError:
        raise PoolError('reading Parquet needs PyArrow: pip install "bayes-assess[parquet]"') from None
    try:
        columns = resolve(parquet.read_schema(path).names, names, groups)
        table = parquet.read_table(path, columns=columns.all)
    except ArrowInvalid as error:
        raise PoolError(f"{path.name!r} is not a Parquet file: {error}") from None
    return _read_frame(frame_of(table), columns._asdict(), groups, classes)


def _read_csv(path: Path, names: dict[str, Any], groups: list[str], classes: Any) -> dict[str, Any]:
    import pandas as pd

    # The same numbers as from Parquet: pandas 3.1 parses exactly and deprecates the option that older ones need.
    release = tuple(int(part) for part in pd.__version__.split(".")[:2])
    exact: dict[str, Any] = {} if release >= (3, 1) else {"float_precision": "round_trip"}
    try:
        columns = resolve(list(pd.read_csv(path, nrows=0).columns), names, groups)
        frame = pd.read_csv(
            path,
            usecols=columns.all,
            dtype={columns.id: str} if columns.id else None,  # else 007 would become 7
            keep_default_na=False,  # a class or a site may be called "NA" or "None"
            **exact,
            na_values={name: NO_NUMBER if name in columns.numbers else [""] for name in columns.all},
        )
    except (pd.errors.ParserError, pd.errors.EmptyDataError, UnicodeDecodeError) as error:
        raise PoolError(f"cannot read {path.name!r} as CSV: {error}") from None
    arrays = {name: frame[name].to_numpy() for name in columns.all}
    if columns.id:
        text = values_of(arrays[columns.id])
        numbers = text_as_int(text) if text.dtype.kind == "U" else None
        arrays[columns.id] = text if numbers is None else numbers
    return _arguments(arrays, columns, classes)


def _read_npz(path: Path, names: dict[str, Any], groups: list[str], classes: Any) -> dict[str, Any]:
    if "labels" in groups:
        raise PoolError("labels are never read into a pool; tell them to the assessment instead")
    if not is_zipfile(path):
        raise PoolError(f"{path.name!r} is not an NPZ file")
    try:
        with np.load(path, allow_pickle=False) as archive:
            if all(names[role] is None for role in ("scores", "prediction", "confidence")):
                names = names | {role: key for role, key in NPZ_NAMES.items() if role != "id" and key in archive}
            if names["id"] is None and "ids" in archive:
                names = names | {"id": "ids"}
            columns = _check_columns(Columns(**names, groups=groups), list(archive), "array")
            if not columns.numbers and columns.prediction is None:
                raise PoolError(f"{path.name!r} holds no scores or predictions; it has the arrays {_listed(archive)}")
            if classes is None and "classes" in archive:
                classes = archive["classes"]
            return _arguments({name: archive[name] for name in columns.all}, columns, classes)
    except PoolError:
        raise
    except (OSError, ValueError) as error:
        raise PoolError(
            f"cannot read {path.name!r} as NPZ ({error}); save arrays of text or numbers by np.savez"
        ) from None


def resolve(present: list[str], names: dict[str, Any], groups: list[str]) -> Columns:
    """Decide which columns to read: those named, else those with telling names; see `read_pool`."""
    scores = names["scores"]
    names = names | {"scores": scores if scores is None or isinstance(scores, str) else list(scores), "groups": groups}
    chosen = Columns(**names)
    if chosen.id is None and "id" in present:
        chosen = chosen._replace(id="id")
    if chosen.scores is None and chosen.prediction is None and chosen.confidence is None:
        free = [name for name in present if name != chosen.id and name not in groups]
        chosen = chosen._replace(
            scores=_detect_scores(free),
            prediction="prediction" if "prediction" in free else None,
            confidence="confidence" if "confidence" in free else None,
        )
        if chosen.scores is None and chosen.prediction is None:
            raise PoolError(
                f"found neither a column 'prediction' nor several that begin with 'p_' or 'score_' among the columns "
                f"{_listed(present)}; name them as prediction=... or scores=..."
            )
        if chosen.scores is not None:
            chosen = chosen._replace(confidence=None)  # it follows from the scores
    return _check_columns(chosen, present, "column")


def _detect_scores(present: list[str]) -> list[str] | None:
    found = [[name for name in present if str(name).startswith(prefix)] for prefix in SCORE_PREFIXES]
    found = [names for names in found if len(names) > 1]
    if len(found) > 1:
        raise PoolError(f"both {listing(found[0], 2)} and {listing(found[1], 2)} may be scores; pass scores=[...]")
    return found[0] if found else None


def _check_columns(columns: Columns, present: list[str], what: str) -> Columns:
    for name in columns.all:
        if name not in present:
            raise PoolError(f"there is no {what} {name!r}; the {what}s are {_listed(present)}")
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
    }


def _stack(columns: list[np.ndarray], names: list[str]) -> np.ndarray:
    columns = [values_of(column) for column in columns]
    for name, column in zip(names, columns, strict=True):
        if column.dtype.kind not in "biuf" or column.ndim != 1:
            raise PoolError(f"score column {name!r} does not hold one number per row, but {listing(column, 3)}")
    return np.column_stack(columns)


def class_names(columns: list[str]) -> list[Any]:
    """Return the class names that score columns stand for: a common first word dropped, numbers as integers."""
    names = [str(name) for name in columns]
    first = {name.partition("_")[0] for name in names}
    if len(first) == 1 and all(name.partition("_")[2] for name in names):
        names = [name.partition("_")[2] for name in names]
    numbers = text_as_int(np.asarray(names)) if names else None
    return names if numbers is None else numbers.tolist()
