"""Labels in Parquet files and in lines of JSON, as programs write them, as the texts of a sheet."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

from bayes_assess._tools.csv_files import UnreadableCsv, encoding_of
from bayes_assess.errors import LabelError
from bayes_assess.pool._label_rows import NO_LABEL
from bayes_assess.sessions.exchange.answered import UnreadableTask, cell_text, joined, kind_of

_LINES = (".jsonl", ".ndjson")
_PARQUET = (".parquet", ".pq")
RECORDS = (*_LINES, *_PARQUET)


def read_records(path: Path, wanted: Collection[str]) -> tuple[list[str], list[list[str]]]:
    r"""Return the names of the columns, those that are wanted first, in any case, and of these the texts of every row.

    Numbers are as a sheet has them, what is missing is empty, and names in a list are those of a set of labels.

    Raises
    ------
    LabelError
        If the file cannot be read.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "labels.jsonl")
    ...     _ = path.write_text('{"id": 7, "label": ["cat", "dog"]}\n{"id": 8.0, "label": null}\n')
    ...     read_records(path, ["id", "label"])
    (['id', 'label'], [['7', 'cat;dog'], ['8', '']])
    """
    names = {name.strip().casefold() for name in wanted}
    return _of_parquet(path, names) if path.suffix.lower() in _PARQUET else _of_lines(path, names)


def _of_parquet(path: Path, wanted: set[str]) -> tuple[list[str], list[list[str]]]:
    try:
        from pyarrow import ArrowException, parquet
    except ImportError:
        raise LabelError('Reading Parquet needs PyArrow: pip install "bayes-assess[parquet]".') from None
    try:
        present = parquet.read_schema(path).names
        names = [name for name in present if name.strip().casefold() in wanted]
        table = parquet.read_table(path, columns=names)
        columns = [[_text(value) for value in table.column(name).to_pylist()] for name in names]
    except (ArrowException, OSError, UnicodeDecodeError) as error:  # damaged files give all of these
        problem = str(error).partition("\n")[0].rstrip(".")
        raise LabelError(f"{path} cannot be read as Parquet: {problem}.") from None
    rows = [list(row) for row in zip(*columns, strict=True)]
    return [*names, *(name for name in present if name not in names)], rows


def _of_lines(path: Path, wanted: set[str]) -> tuple[list[str], list[list[str]]]:
    found = list(_objects(path, wanted))
    present = list(dict.fromkeys(name for one in found for name in one))
    names = [name for name in present if name.strip().casefold() in wanted]
    rows = [[_text(one.get(name)) for name in names] if one else [] for one in found]
    return [*names, *(name for name in present if name not in names)], rows


def _objects(path: Path, wanted: set[str]) -> Iterator[dict[str, Any]]:
    """Yield the object of every line, an empty one of a blank line."""
    try:
        encoding = encoding_of(path, ())
    except UnreadableCsv as error:
        raise LabelError(f"{path} cannot be read {error.problem}; write it again.") from None
    lines = path.read_text(encoding=encoding).rstrip("\n").split("\n")  # others than those of `splitlines` are letters
    pairs: list[list[tuple[str, Any]]] = []  # names and values of all objects of a line, the outermost last
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            yield {}
            continue
        pairs.clear()
        try:
            one = json.loads(line, object_pairs_hook=lambda found: pairs.append(found) or dict(found))
        except (ValueError, RecursionError) as error:
            raise LabelError(f"{path} cannot be read as lines of JSON: line {number}: {error}.") from None
        if not isinstance(one, dict):
            raise LabelError(f"{path} cannot be read as lines of JSON: line {number} is {kind_of(one)}, not an object.")
        for name, value in pairs[-1]:
            if value != one[name] and name.strip().casefold() in wanted:
                both = f"{json.dumps(value)} and {json.dumps(one[name])}"
                raise LabelError(f"{path}: line {number} has {name!r} twice, {both}; leave one of them.")
        yield one


def _text(value: object) -> str:
    if isinstance(value, list) and all(isinstance(name, str) for name in value):
        return joined(value) or NO_LABEL
    try:
        return cell_text(value)
    except UnreadableTask:
        return json.dumps(value, default=str)
