"""Tables of files and databases: what they are called, and how they are opened."""

from __future__ import annotations

import contextlib
from functools import partial
from glob import glob
from pathlib import Path
from tempfile import gettempdir
from typing import TYPE_CHECKING

from bayes_assess._tools.arrays import show
from bayes_assess.errors import PoolError
from bayes_assess.pool.scan.engine import Engine
from bayes_assess.pool.scan.sql import literal, quoted

if TYPE_CHECKING:
    import duckdb


DUCKDB = "duckdb:"  # begins the address of a table in a file of DuckDB's
DATABASES = (".duckdb", ".ddb")
_READERS = {
    ".parquet": "read_parquet",
    ".pq": "read_parquet",
    ".csv": "read_csv",
    ".tsv": "read_csv",
    ".gz": "read_csv",
}
_FLAGS = "('true', 'false')"  # as texts of CSV; DuckDB takes yes and no for them, too, which are names


def is_address(text: str) -> bool:
    """Whether a text names a table or many files, rather than one file, such as one that is called ``pool[1].csv``.

    Examples
    --------
    >>> is_address("duckdb:file.db/table"), is_address("warehouse/*.parquet"), is_address("pool.parquet")
    (True, True, False)
    """
    return text.startswith(DUCKDB) or (any(letter in text for letter in "*?[") and not Path(text).is_file())


def files_of(text: str) -> list[Path]:
    """Return the files of an address, or the one of a path, as far as there are any."""
    if text.startswith(DUCKDB):
        text = text.removeprefix(DUCKDB).rpartition("/")[0]
    return [Path(name) for name in sorted(glob(text, recursive=True))] if is_address(text) else [Path(text)]


def open_engine(source: object, connection: duckdb.DuckDBPyConnection | None = None) -> Engine:
    """Open a table: a relation, a lazy frame, a path or an address.

    Raises
    ------
    PoolError
        If there is no such file or table, or DuckDB is needed and missing.
    """
    if not isinstance(source, str | Path):
        if connection is not None:
            raise PoolError(
                "A connection opens paths and names of tables; a relation has one of its own. Leave it out."
            )
        return Engine(source, f"the {type(source).__name__}")
    if connection is not None and not hasattr(connection, "read_parquet"):
        raise PoolError(f"A connection is one of DuckDB, such as duckdb.connect('file.db'); found {show(connection)}.")
    text, ranges, named = str(source), None, None
    reader = _READERS.get(Path(text).suffix.lower())
    try:
        import duckdb
    except ImportError:
        raise PoolError('Scanning files needs DuckDB: pip install "bayes-assess[engine]".') from None
    try:
        if text.startswith(DUCKDB):
            path, _, table = text.removeprefix(DUCKDB).rpartition("/")
            if not path or not table:
                raise PoolError(f"The address {text!r} names no table; write duckdb:file.db/table.")
            if not Path(path).is_file():
                raise PoolError(f"There is no file {path!r}.")
            relation = _frugal(duckdb.connect(path, read_only=True)).table(table)
            ranges = partial(_range_in_table, relation)
        else:
            connection = _frugal(duckdb.connect()) if connection is None else connection
            relation = connection.table(text) if reader is None else getattr(connection, reader)(text)
            if reader is None:
                ranges = partial(_range_in_table, relation)
            elif reader == "read_csv":
                named = partial(_with_names, connection, relation, text)
            elif reader == "read_parquet":
                relation, ranges = _with_folders(connection, relation, text), partial(_range_in_files, connection, text)
    except duckdb.Error as error:
        said = str(error).strip().splitlines()[0].rstrip(" .!:")
        hint = "" if reader or text.startswith(DUCKDB) else f" Files that it reads end in {', '.join(_READERS)}."
        if Path(text).suffix.lower() in DATABASES and not text.startswith(DUCKDB):
            hint = f" A table of a file of DuckDB's is '{DUCKDB}{text}/TABLE'."
        if Path(text).is_dir():
            hint = f" The files of a folder are {(Path(text) / '**/*.parquet').as_posix()!r}."
        raise PoolError(f"DuckDB cannot open {text!r}: {said}.{hint}") from None
    return Engine(relation, repr(text), ranges, named)


def _range_in_files(connection: duckdb.DuckDBPyConnection, text: str, column: str) -> tuple[int, int] | None:
    """Return the least and the greatest whole number of a column, if Parquet files say so of all their parts."""
    import duckdb

    with contextlib.suppress(duckdb.Error):  # of files that cannot be listed, or whose numbers are wider
        query = (
            "SELECT min(stats_min_value::BIGINT), max(stats_max_value::BIGINT), count(*) - count(stats_max_value) "
            f"FROM parquet_metadata({literal(text)}) WHERE path_in_schema = {literal(column)}"
        )
        least, most, unknown = connection.cursor().execute(query).fetchall()[0]
        return None if least is None or most is None or unknown else (least, most)
    return None


def _range_in_table(relation: duckdb.DuckDBPyRelation, column: str) -> tuple[int, int] | None:
    """Return the least and the greatest number of a column of a table, which DuckDB looks up fast."""
    least, most = relation.aggregate(f"min({quoted(column)}), max({quoted(column)})").fetchall()[0]
    return None if least is None else (int(least), int(most))


def _with_folders(
    connection: duckdb.DuckDBPyConnection, relation: duckdb.DuckDBPyRelation, text: str
) -> duckdb.DuckDBPyRelation:
    """Add columns that names of folders hold, as in ``site=north/1.parquet``, where no file has one of that name."""
    import duckdb

    files = []
    with contextlib.suppress(duckdb.Error):  # of addresses that cannot be listed
        files = connection.cursor().execute(f"SELECT min(file) FROM glob({literal(text)})").fetchall()
    folders = str(files[0][0]).replace("\\", "/").split("/")[:-1] if files else []
    names = {name.partition("=")[0].lower() for name in folders if "=" in name}
    if not names or names & set(map(str.lower, relation.columns)):  # DuckDB would take the folder's values
        return relation
    return connection.read_parquet(text, hive_partitioning=True)


def _with_names(
    connection: duckdb.DuckDBPyConnection, relation: duckdb.DuckDBPyRelation, text: str, columns: list[str]
) -> duckdb.DuckDBPyRelation:
    """Return a CSV file with texts in those of some columns that hold other flags than true and false."""
    kinds = dict(zip(relation.columns, map(str, relation.types), strict=True))
    flags = [name for name in columns if kinds[name] == "BOOLEAN"]
    if not flags:
        return relation
    as_text = connection.read_csv(text, dtype=dict.fromkeys(flags, "VARCHAR"))
    named = []
    for name in flags:
        others = as_text.filter(f"lower({quoted(name)}) NOT IN {_FLAGS}").limit(1)
        named += [name] if others.fetchall() else []
    return connection.read_csv(text, dtype=dict.fromkeys(named, "VARCHAR")) if named else relation


def _frugal(connection: duckdb.DuckDBPyConnection) -> duckdb.DuckDBPyConnection:
    """Let DuckDB take little memory, and a folder for temporary files for the rest: it is no slower for that."""
    import duckdb

    row = connection.execute("SELECT current_setting('threads')").fetchone()
    n_threads = int(row[0]) if row is not None else 1
    connection.execute(f"SET memory_limit = '{max(1536, 256 * n_threads)}MiB'")
    with contextlib.suppress(duckdb.Error):
        connection.execute(f"SET temp_directory = {literal(gettempdir())}")  # refused where one is in use already
    return connection
