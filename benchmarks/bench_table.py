"""Tables that stay in an engine, beside SQL written by hand: seconds, memory and queries of the engine.

A table of ids, scores and 16 groups, in Parquet files that a seed makes, becomes 512 cells (groups by 32 strata of the
score) of which the accuracy is asked, 25 items at a time. The same is done in SQL: rows, scores and a checksum by group
and bin of the score, and a pass that picks the first rows of a random order. Every row of the output is measured in a
process of its own, and written as soon as it is there:

    python benchmarks/bench_table.py --rows 10000000 30000000 100000000 --data /tmp/tables --out table.jsonl

`--engines duckdb spark sql frugal memory` names what is measured: `sql` is DuckDB by hand, `frugal` the same kept to as
little memory as `scan_pool` keeps it, `memory` the pool in memory.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from _rows import Clock, Rows, whole

GROUPS, STRATA, BATCH, ROUNDS = 16, 32, 25, 20
FILE_ROWS, CHUNK = 10_000_000, 1_000_000
ENGINES = ("duckdb", "sql", "frugal", "polars", "spark", "memory")


def make(folder: Path, n_rows: int, seed: int) -> str:
    """Write files of so many rows, unless they are there; return their address."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = folder / f"rows{n_rows}_seed{seed}"
    if not (table / ".done").exists():
        table.mkdir(parents=True, exist_ok=True)
        for part, start in enumerate(range(0, n_rows, FILE_ROWS)):
            writer = None
            for chunk in range(start, min(start + FILE_ROWS, n_rows), CHUNK):
                generator = np.random.default_rng([seed, chunk])
                n = min(CHUNK, n_rows - chunk)
                columns = {
                    "id": np.arange(chunk, chunk + n) * 7 + 3,
                    "score": generator.beta(0.4, 2, n).astype(np.float32),
                    "site": generator.integers(0, GROUPS, n).astype(np.int16),
                }
                frame = pa.table(columns)
                writer = writer or pq.ParquetWriter(table / f"part{part:04d}.parquet", frame.schema)
                writer.write_table(frame)
            assert writer is not None
            writer.close()
        (table / ".done").touch()
    return str(table / "*.parquet")


def seconds(act: Callable[[], Any]) -> tuple[float, Any]:
    """Return how long something takes by the clock, and what it returns."""
    start = time.perf_counter()
    found = act()
    return time.perf_counter() - start, found


class Stages:
    """Seconds by stage, of the clock and of processors: other processes take their share of the clock's."""

    def __init__(self) -> None:
        self.found: dict[str, float] = {}

    def __call__(self, name: str, act: Callable[[], Any]) -> Any:
        """Measure a stage and return what it returns."""
        start = time.process_time()
        self.found[f"{name}_s"], found = seconds(act)
        self.found[f"{name}_cpu_s"] = time.process_time() - start
        return found


class Stopwatch:
    """Seconds and queries of engines so far, and processor time."""

    def __init__(self) -> None:
        from bayes_assess.pool.scan.engine import Engine

        self.seconds, self.n_queries = 0.0, 0
        collect = Engine.collect

        def timed(engine: Any, query: Any) -> Any:
            took, found = seconds(lambda: collect(engine, query))
            self.seconds, self.n_queries = self.seconds + took, self.n_queries + 1
            return found

        Engine.collect = timed


def warm_up() -> None:
    """Import what is imported when it is first used, which `bench_cold.py` measures."""
    import duckdb

    import bayes_assess as ba

    table = duckdb.sql("SELECT range AS id, range / 1000 AS score, range % 2 AS site FROM range(1000)")
    pool = ba.scan_pool(table, id="id", scores="score", groups=["site"])
    a = ba.assess(pool, ba.GroupAccuracy(by="site"), seed=0)
    a.tell(a.ask(1).ids, [1])


def session(pool_of: Callable[[], Any], check: Callable[[Any], Any] | None) -> dict[str, Any]:
    """Measure a pool, its cells, the first items, and the next ones, whose labels are those of a coin."""
    import bayes_assess as ba
    from bayes_assess.pool.groups import cross

    watch, stage = Stopwatch(), Stages()
    pool = stage("scan", pool_of)
    if check is not None:
        stage("ids", lambda: check(pool))

    def begin() -> Any:
        by = cross(ba.partition(pool, "site"), ba.partition(pool, ba.ScoreBins(STRATA, "weight")))
        return ba.assess(pool, ba.GroupAccuracy(by=by), seed=0)

    a = stage("start", begin)
    before = watch.n_queries
    queries = stage("first_ask", lambda: a.ask(BATCH))
    n_first, before = watch.n_queries - before, watch.n_queries
    coin, turns = np.random.default_rng(0), []

    def turn(queries: Any) -> Any:
        a.tell(queries.ids, coin.integers(0, 2, BATCH))
        return a.ask(BATCH)

    for _ in range(ROUNDS):
        took, queries = seconds(lambda queries=queries: turn(queries))
        turns.append(took)
    return {
        "cells": a.cells.n_cells,
        "kinds": pool.n_rows,
        **stage.found,
        "engine_s": watch.seconds,
        "turn_ms": 1e3 * float(np.median(turns[1:])),
        "most_ms": 1e3 * max(turns[1:]),
        "queries_first_ask": n_first,
        "queries_later": watch.n_queries - before,
    }


def measured(engine: str, address: str, n_rows: int) -> dict[str, Any]:
    """Measure one engine in this process."""
    if engine in ("sql", "frugal"):
        return by_hand(address, n_rows, frugal=engine == "frugal")
    import bayes_assess as ba
    from bayes_assess.pool.scan.reading import _check_ids

    warm_up()
    columns: dict[str, Any] = {"id": "id", "scores": "score", "groups": ["site"]}
    if engine == "memory":
        import pyarrow.parquet as pq

        table = pq.read_table(str(Path(address).parent))
        return session(
            lambda: ba.Pool(
                scores=table["score"].to_numpy(),
                ids=table["id"].to_numpy(),
                groups={"site": table["site"].to_numpy()},
            ),
            None,
        )
    source: Any = address
    if engine == "polars":
        import polars as pl

        source = pl.scan_parquet(address)
    elif engine == "spark":
        source = spark().read.parquet(str(Path(address).parent))
    return session(lambda: ba.scan_pool(source, **columns, check_ids=False), lambda pool: _check_ids(pool.engine, "id"))


def spark() -> Any:
    """Return Spark in local mode, on as many cores as there are."""
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[*]").config("spark.ui.enabled", "false")
    return builder.config("spark.driver.memory", "4g").config("spark.log.level", "ERROR").getOrCreate()


def by_hand(address: str, n_rows: int, frugal: bool) -> dict[str, Any]:
    """Do what a session needs of an engine in SQL, as it would be written for this table."""
    import duckdb

    from bayes_assess.pool.scan.opening import _frugal

    files = f"read_parquet('{address}')"
    count = (
        f"SELECT site, floor(score * 1200)::INTEGER AS bin, count(*), sum(score::DOUBLE), sum(hash(id)) "
        f"FROM {files} GROUP BY ALL"
    )
    few = 20_000 / n_rows
    pick = f"SELECT id, score, site FROM {files} WHERE hash(id) < {int(few * 2**64)}::UBIGINT"
    twice = f"SELECT id FROM {files} GROUP BY id HAVING count(*) > 1 LIMIT 1"
    connection = _frugal(duckdb.connect()) if frugal else duckdb.connect()
    stage = Stages()
    for name, query in {"scan": count, "first_ask": pick, "ids": twice}.items():
        stage(name, connection.sql(query).fetchall)
    return stage.found


def main() -> None:
    """Measure row by row, each in a process of its own."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=whole, nargs="+", default=[1_000_000], help="rows of the tables")
    parser.add_argument("--engines", nargs="+", choices=ENGINES, default=["duckdb", "sql"])
    parser.add_argument("--repeats", type=whole, default=1, help="how often, in turn")
    parser.add_argument("--seed", type=int, default=0, help="of the tables")
    parser.add_argument("--data", default=os.path.join(tempfile.gettempdir(), "bayes_assess_tables"), help="folder")
    parser.add_argument("--out", default="bench_table.jsonl", help="JSON lines: rows that it has are not made again")
    parser.add_argument("--minutes", type=float, help="start no further row after so many")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.child:
        task = json.loads(given.child)
        found = measured(**task)
        found["peak_gb"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        print(json.dumps(found))
        return
    rows, clock = Rows(given.out, ("rows", "engine", "repeat")), Clock(given.minutes)
    for n_rows in given.rows:
        address = make(Path(given.data), n_rows, given.seed)
        for repeat in range(given.repeats):
            for engine in given.engines:
                key = {"rows": n_rows, "engine": engine, "repeat": repeat}
                if key in rows or clock.over:
                    continue
                task = json.dumps({"engine": engine, "address": address, "n_rows": n_rows})
                done = subprocess.run([sys.executable, __file__, "--child", task], stdout=subprocess.PIPE, text=True)
                if done.returncode:
                    sys.exit(f"{engine} on {n_rows:,} rows ended with {done.returncode}.")
                rows.add(key | json.loads(done.stdout.splitlines()[-1]))
                print(json.dumps(rows.rows[-1]), flush=True)


if __name__ == "__main__":
    main()
