"""Engines that hold tables, and what Narwhals has no common word for."""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from threading import RLock
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NoReturn, SupportsIndex

import numpy as np

from bayes_assess._tools.arrays import to_numpy
from bayes_assess.errors import BayesAssessError, EngineError, OutputError, PoolError
from bayes_assess.pool.scan.sql import quoted

if TYPE_CHECKING:
    import narwhals as nw
    from narwhals.dtypes import DType


_ODD = ("INTERVAL", "BIT", "BIGNUM", "VARINT", "TUPLE", "UNION", "VARIANT", "GEOMETRY")  # types of DuckDB's
_OTHER_TYPE = "Error when converting column"  # begins a line of what DuckDB says of a row of CSV
_HASHED = 15  # hexadecimal digits of MD5, 60 bits, that stand for an id that is text


class Engine:
    """A table as a lazy frame of Narwhals, whatever engine holds it.

    Parameters
    ----------
    native : lazy frame of an engine
    name : str
    ranges : function, optional
        Returns the least and the greatest number of a column of whole numbers, if that is found fast.
    named : function, optional
        Returns the table with the texts that a file has in some columns, where its engine took names for flags.

    Attributes
    ----------
    frame : narwhals.LazyFrame
    name : str
        What the table is called, in messages.
    n_queries : int
        Queries so far, those of numbers of rows included.
    most_rows : int
        Rows of the largest answer so far.
    """

    def __init__(
        self,
        native: object,
        name: str,
        ranges: Callable[[str], tuple[int, int] | None] | None = None,
        named: Callable[[list[str]], object] | None = None,
    ):
        import narwhals as nw

        self._nw, self.name, self._lock = nw, name, RLock()
        self._ranges, self._named = ranges, named
        self.n_queries, self.most_rows = 0, 0
        frame = nw.from_native(native, pass_through=True)
        if isinstance(frame, nw.DataFrame):
            raise PoolError(f"The {type(native).__name__} is in memory already; read it by ba.read_pool.")
        if not isinstance(frame, nw.LazyFrame):
            raise PoolError(
                f"Cannot scan {type(native).__name__}; pass a DuckDB relation, a Polars LazyFrame, a Spark data frame, "
                "an Ibis table, or what DuckDB reads: a path such as 'warehouse/*.parquet', or 'duckdb:file.db/table'."
            )
        self.frame = frame
        self._kind = frame.implementation

    def __repr__(self) -> str:
        return f"Engine({self.name})"

    def __deepcopy__(self, memo: dict[int, object]) -> Engine:
        """Return the engine itself: the table stays where it is."""
        return self

    def __reduce_ex__(self, protocol: SupportsIndex) -> NoReturn:
        """Refuse to be pickled: no other process has the connection."""
        raise OutputError(
            f"The items of this pool stay in {self.name}, and neither the pool nor results on it can be pickled. Scan "
            "the table in the other process, or keep what a result says, by result.to_dict() or result.report()."
        )

    @property
    def schema(self) -> dict[str, DType]:
        """Types of Narwhals by column."""
        with self.asked():
            return dict(self.frame.collect_schema())

    def collect(self, query: Callable[[nw.LazyFrame], nw.LazyFrame]) -> dict[str, np.ndarray]:
        """Run a query, made of the table's frame, and return its columns; None is what is missing among objects.

        Engines refuse in every step of a query, once they are not there any more.

        Raises
        ------
        EngineError
            If the engine does not answer.
        """
        with self.asked():
            self.n_queries += 1
            frame = query(self.frame).collect()
            self.most_rows = max(self.most_rows, len(frame))
            return {name: to_numpy(frame[name]) for name in frame.columns}

    def n_rows(self) -> int:
        """Count the rows of the table."""
        return int(self.collect(lambda frame: frame.select(n=self._nw.len()))["n"][0])

    def range_of(self, column: str) -> tuple[int, int] | None:
        """Return the least and the greatest number of a column of whole numbers, if that is found fast."""
        with self.asked():
            return None if self._ranges is None else self._ranges(column)

    def small(self, columns: dict[str, np.ndarray], like: Mapping[str, str] = MappingProxyType({})) -> nw.LazyFrame:
        """Return a small table as a frame of this engine, to join with.

        Parameters
        ----------
        columns : dict of str to array
        like : mapping of str to str, optional
            Columns that are joined with those of the table, as far as it has them: Polars joins columns of one type.
        """
        nw, kind, native = self._nw, self._kind, self._nw.to_native(self.frame)
        plain = {name: values.tolist() for name, values in columns.items()}
        with self.asked():
            if kind.is_duckdb():  # on the connection of the table, which a relation does not tell
                import pyarrow as pa

                # Found by its name, which no table of the warehouse has.
                bayes_assess_small = pa.table(dict(columns))  # noqa: F841
                return nw.from_native(native.query("bayes_assess_table", "SELECT * FROM bayes_assess_small"))
            if kind.is_polars():
                import polars as pl

                known = native.collect_schema()
                types: Any = {name: known[column] for name, column in like.items() if column in known}
                return nw.from_native(pl.LazyFrame(plain).cast(types))
            if kind.is_ibis():
                import ibis  # pyright: ignore[reportMissingImports]

                return nw.from_native(ibis.memtable(plain))
            return nw.from_native(
                native.sparkSession.createDataFrame(list(zip(*plain.values(), strict=True)), list(plain))
            )

    def with_text_key(self, column: str, name: str) -> None:
        """Add a number of 60 bits to the table that stands for an id that is text: the beginning of its MD5.

        An id without a letter is missing.
        """
        nw, kind, native = self._nw, self._kind, self._nw.to_native(self.frame)
        if kind.is_duckdb():
            key = f"('0x' || substr(md5(nullif({quoted(column)}::VARCHAR, '')), 1, {_HASHED}))::BIGINT"
            native = native.project(f"*, {key} AS {quoted(name)}")
        elif kind.is_polars():
            import polars as pl

            def hashed(ids: pl.Series) -> pl.Series:
                return pl.Series(id_numbers(ids.to_list()), dtype=pl.Int64)

            # Of each by itself, so that rows are looked up by their ids before any is hashed.
            key = pl.col(column).map_batches(hashed, return_dtype=pl.Int64, is_elementwise=True)
            native = native.with_columns(key.alias(name))
        elif kind.is_pyspark() or kind.is_pyspark_connect():
            from pyspark.sql import functions as f  # pyright: ignore[reportMissingImports]

            text = f.when(f.col(column) != "", f.col(column))
            key = f.conv(f.substring(f.md5(text), 1, _HASHED), 16, 10).cast("long")
            native = native.withColumn(name, key)
        else:
            raise PoolError(
                f"Ids that are text are hashed by DuckDB, Polars or Spark; {self.name} is of another engine. Name a "
                "column of whole numbers as id."
            )
        self.frame = nw.from_native(native)

    def spell_out(self, column: str) -> None:
        """Let UUIDs be their texts, which other types of DuckDB's are not."""
        native: Any = self._nw.to_native(self.frame)
        if self._kind.is_duckdb() and str(native.types[native.columns.index(column)]) == "UUID":
            text = f"* REPLACE ({quoted(column)}::VARCHAR AS {quoted(column)})"
            self.frame = self._nw.from_native(native.project(text))

    def with_names(self, columns: list[str]) -> None:
        """Let columns of yes and no be the texts that a file has, where the engine takes them for true and false."""
        if self._named is not None:
            with self.asked():
                self.frame = self._nw.from_native(self._named(columns))

    def keep(self, columns: list[str]) -> None:
        """Leave all other columns out, whose names may be those of columns that are computed."""
        with self.asked():
            self.frame = self.frame.select(*columns)

    def odd_type(self, column: str) -> str | None:
        """Return the name of a type of DuckDB's whose values come back as others, or in no order; None of others."""
        native: Any = self._nw.to_native(self.frame)
        if not self._kind.is_duckdb():
            return None
        name = str(native.types[native.columns.index(column)])
        return name if name.partition("(")[0] in _ODD else None

    def with_row_numbers(self, name: str) -> None:
        """Add the number of every row, from 0, in the order in which the engine keeps them."""
        nw, kind, native = self._nw, self._kind, self._nw.to_native(self.frame)
        if kind.is_duckdb():
            native = native.project(f"*, row_number() OVER () - 1 AS {quoted(name)}")
        elif kind.is_polars():
            native = native.with_row_index(name)
        else:
            raise PoolError(f"Rows of {self.name} have no numbers that stay; name a column of ids, id='...'.")
        self.frame = nw.from_native(native)

    @contextlib.contextmanager
    def asked(self) -> Iterator[None]:
        """Turn what an engine raises into a sentence; one query at a time."""
        with self._lock:
            try:
                yield
            except BayesAssessError:
                raise
            except Exception as error:  # whatever an engine raises: of its own, of Arrow, of the network
                raise _answered(error, self.name) from error


def _answered(error: Exception, name: str) -> EngineError:
    """Return the error that says what an engine answered in the place of rows."""
    said = [line.rstrip(" .") for line in (str(error).strip() or type(error).__name__).splitlines()]
    column = next((line for line in said if line.startswith(_OTHER_TYPE)), None)
    if column is not None:
        return EngineError(
            f"DuckDB takes the types of columns from the first rows of {name}, and another row has other values "
            f"({said[0]}: {column}). Mend the row or write the file as Parquet, or in Python pass a relation with the "
            "types, such as duckdb.read_csv(path, dtype={'id': 'VARCHAR'})."
        )
    return EngineError(
        f"The engine of {name} gave no answer ({said[0]}). Nothing was changed; once it answers again, ask again, or "
        "scan the table anew and resume from the journal."
    )


def id_numbers(texts: Iterable[str | None]) -> list[int | None]:
    """Return the numbers of 60 bits that stand for ids that are text; None for those without a letter.

    Examples
    --------
    >>> id_numbers(["abc", None, ""])
    [648541476951500027, None, None]
    """
    named = [text or "" for text in texts]
    digests = b"".join([hashlib.md5(text.encode(), usedforsecurity=False).digest() for text in named])
    numbers = np.frombuffer(digests, ">u8")[::2] >> np.uint64(64 - 4 * _HASHED)
    return [number if text else None for number, text in zip(numbers.tolist(), named, strict=True)]
