"""Pools that stay in files and tables, on the command line."""

from __future__ import annotations

import csv
from pathlib import Path

import duckdb
import numpy as np
import polars as pl
import pytest

import bayes_assess as ba
from cli.commands import call, refused

M = 600
RNG = np.random.default_rng(3)
FRAME = pl.DataFrame(
    {
        "id": range(M),
        "score": RNG.random(M).round(4),
        "site": np.array(["n", "s"])[RNG.integers(0, 2, M)],
        "text": [f"text {i}" for i in range(M)],
    }
)


def done(*arguments: object) -> str:
    result = call(*arguments)
    assert result.exit_code == 0, result.output
    return result.stdout


def addresses(folder: Path) -> dict[str, list[str]]:
    (folder / "warehouse").mkdir()
    for i in range(2):
        FRAME[i * M // 2 : (i + 1) * M // 2].write_parquet(folder / "warehouse" / f"{i}.parquet")
    FRAME.write_parquet(folder / "one.parquet")
    connection = duckdb.connect(str(folder / "pool.db"))
    connection.register("frame", FRAME.to_arrow())
    connection.execute("CREATE TABLE items AS SELECT * FROM frame")
    connection.close()
    return {
        "files": [str(folder / "warehouse" / "*.parquet")],
        "table": [f"duckdb:{folder / 'pool.db'}/items"],
        "one file": [str(folder / "one.parquet"), "--scan"],
    }


def fill_in(sheet: Path) -> None:
    rows = list(csv.DictReader(sheet.read_text(encoding="utf-8").splitlines()))
    for row in rows:
        assert row["text"] == f"text {row['id']}"
        row["label"] = str(int(FRAME["score"][int(row["id"])] > 0.4))
    with sheet.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.DictWriter(stream, rows[0])
        writer.writeheader()
        writer.writerows(rows)


def test_a_run_on_a_table_is_the_same_whatever_its_address(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    sheets = []
    for place, address in enumerate(addresses(tmp_path).values()):
        run, sheet = tmp_path / f"run{place}.db", tmp_path / f"sheet{place}.csv"
        said = done("start", *address, "--scores", "score", "--by", "site", "--show", "text", "--out", run)
        assert f"{M}" in said
        done("ask", run, "-n", 10, "-o", sheet)
        sheets.append(sheet.read_text(encoding="utf-8"))
        fill_in(sheet)
        assert done("tell", run, sheet).startswith("Took 10 labels.")
        assert "10" in done("status", run)
        done("report", run)
    assert sheets[0] == sheets[1] == sheets[2]


@pytest.mark.parametrize("name", ["pool[1].csv", "pool?.csv", "pool*.csv"])
def test_a_file_whose_name_looks_like_a_pattern_is_a_file(tmp_path, name):
    pool, run = tmp_path / name, tmp_path / "run.db"
    pool.write_text("id;prediction\n007;cat\n008;dog\n", encoding="utf-8")
    done("start", pool, "--out", run)
    assert "0 of 2 items labelled" in done("status", run)
    assert "belongs to" in refused("ask", run, "-n", 1, "-o", pool, "--force")


def test_what_a_table_cannot_do_is_told(tmp_path):
    given = addresses(tmp_path)
    run = tmp_path / "run.db"
    files = given["files"]
    assert "leave out --multilabel" in refused("start", *files, "--scores", "score", "--multilabel", "--out", run)
    assert "There is no column 'nothing'" in refused("start", *files, "--scores", "nothing", "--out", run)
    assert "A simulated campaign needs" in refused("simulate", *files, "--labels", "site", "--scores", "score")
    assert "DuckDB cannot open" in refused("start", tmp_path / "no*.parquet", "--scores", "score", "--out", run)
    done("start", *files, "--scores", "score", "--out", run)
    assert "start a run with 'site', by --by" in refused("status", run, "--question", "group-accuracy", "--by", "site")


def test_a_session_of_python_is_told_which_columns_are_read(tmp_path):
    path, pool = tmp_path / "run.db", tmp_path / "pool.csv"
    pool.write_text("key,prediction\nx,cat\ny,dog\n", encoding="utf-8")
    ba.assess(ba.read_pool(pool, id="key"), ba.GroupAccuracy(), journal=path).journal.close()
    said = refused("status", path, "--pool", pool)
    assert "another pool: " in said
    assert "such as id, prediction and score: where others were named, go on in Python, by ba.resume." in said


def test_a_table_that_is_gone_is_told(tmp_path):
    given, run = addresses(tmp_path), tmp_path / "run.db"
    done("start", *given["files"], "--scores", "score", "--out", run)
    for path in (tmp_path / "warehouse").iterdir():
        path.unlink()
    assert "is not there any more" in refused("ask", run)


def test_a_file_of_the_pool_is_not_written_over(tmp_path):
    given, run = addresses(tmp_path), tmp_path / "run.db"
    done("start", *given["files"], "--scores", "score", "--out", run)
    pool = tmp_path / "warehouse" / "0.parquet"
    assert "which this command reads" in refused("ask", run, "-o", pool, "--force")


def test_a_table_that_grew_is_refused(tmp_path):
    given, run = addresses(tmp_path), tmp_path / "run.db"
    done("start", *given["files"], "--scores", "score", "--out", run)
    FRAME[:3].with_columns(id=pl.col("id") + M).write_parquet(tmp_path / "warehouse" / "2.parquet")
    assert "a table of 600 rows" in refused("ask", run)


@pytest.mark.parametrize("words", [["--question", "metric", "--measure", "f1"], ["--question", "calibration"]])
def test_other_questions_are_asked(tmp_path, words):
    run = tmp_path / "run.db"
    done("start", *addresses(tmp_path)["files"], "--scores", "score", *words, "--out", run)
    assert "text 1" not in done("ask", run, "-n", 4)


# In the quick tests another test asks of the other addresses.
kinds = pytest.mark.parametrize(
    "kind", ["table", *(pytest.param(kind, marks=pytest.mark.slow) for kind in ("files", "one file"))]
)


@kinds
def test_labels_are_exported_with_weights(tmp_path, kind):
    source, run = addresses(tmp_path)[kind], tmp_path / "run.db"
    done(
        "start",
        *source,
        "--scores",
        "score",
        "--question",
        "group-accuracy",
        "--by",
        "site",
        "--show",
        "text",
        "--out",
        run,
    )
    done("ask", run, "-n", 8, "-o", tmp_path / "sheet.csv")
    fill_in(tmp_path / "sheet.csv")
    done("tell", run, tmp_path / "sheet.csv")
    assert (
        done("export", run, "-o", tmp_path / "labels.parquet") == f"Wrote 8 labels to {tmp_path / 'labels.parquet'}.\n"
    )
    labels = pl.read_parquet(tmp_path / "labels.parquet")
    assert labels.columns == ["id", "cell", "group", "label", "weight", "round", "time"]
    assert labels["weight"].sum() == pytest.approx(M)
    assert "exists already" in refused("export", run, "-o", tmp_path / "labels.parquet")
    assert "to .parquet or .csv; found" in refused("export", run, "-o", tmp_path / "labels.txt")


@kinds
def test_a_precision_curve_is_asked_of_a_table_in_the_order_of_its_scores(tmp_path, kind):
    source, run, sheet = addresses(tmp_path)[kind], tmp_path / "run.db", tmp_path / "sheet.csv"
    done("start", *source, "--scores", "score", "--question", "precision-curve", "--show", "text", "--out", run)
    done("ask", run, "-n", 30, "-o", sheet)
    fill_in(sheet)
    assert done("tell", run, sheet).startswith("Took 30 labels.")
    assert "rank" in done("status", run)
