"""Pools whose items may have several labels each, on the command line."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest

import bayes_assess as ba
from cli.test_app import done, read_csv, refused, write_csv

NAMES = np.array(["ant", "bee", "cow"])
N = 40


@pytest.fixture
def pool_file(tmp_path) -> Path:
    rng = np.random.default_rng(1)
    scores = rng.random((N, 3))
    labels = [";".join(NAMES[row]) or "-" for row in rng.random((N, 3)) < scores]
    columns = {f"p_{name}": scores[:, c].round(4).tolist() for c, name in enumerate(NAMES)}
    return write_csv(tmp_path / "pool.csv", {"id": [f"i{k}" for k in range(N)], **columns, "label": labels})


def test_a_campaign_runs_from_start_to_status(pool_file, tmp_path):
    run, sheet = tmp_path / "run.db", tmp_path / "sheet.csv"
    out = done("start", pool_file, "--multilabel", "--question", "metric", "--measure", "f1_micro", "--out", run)
    assert "Metric(f1_micro), design poisson: 40 items in" in out
    assert "An item has all of its labels at once, such as a;b, or - where none applies." in out
    done("ask", run, "-n", 20, "-o", sheet)
    known = {row["id"]: row["label"] for row in read_csv(pool_file)}
    rows = [{**row, "label": known[row["id"]]} for row in read_csv(sheet)]
    rows[4]["label"] = ""
    with sheet.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.DictWriter(stream, ["id", "label"])
        writer.writeheader()
        writer.writerows(rows)
    assert "Took 19 labels (1 without a label skipped)." in done("tell", run, sheet)
    out = done("status", run)
    assert "19 of 40 items labelled (design 'poisson')." in out
    result = ba.resume(run, ba.read_pool(pool_file, multilabel=True)).result()
    assert f"f1_micro {result.estimate:.3f}, 95% asymptotic interval" in out


def test_several_labels_without_the_option_are_told_of(tmp_path):
    """Each set was a class of its own, and nothing said so."""
    pool = write_csv(tmp_path / "pool.csv", {"prediction": ["ant", "bee", "ant;bee", "-"]})
    out = done("start", pool, "--question", "metric", "--measure", "f1_macro", "--out", tmp_path / "run.db")
    assert "'ant;bee' is taken for one class: if items may have several labels, start again with --multilabel." in out
    other = write_csv(tmp_path / "other.csv", {"prediction": ["x;y", "z"]})  # nothing says that these are two
    assert "--multilabel" not in done("start", other, "--out", tmp_path / "other.db")


def test_what_needs_several_labels_names_the_option_as_it_is_written(pool_file, tmp_path):
    """It said --multilabelTrue."""
    options = ("--question", "metric", "--measure", "f1_samples", "--out", tmp_path / "run.db")
    assert "; pass --multilabel to the pool." in refused("start", pool_file, *options, "--prediction", "label")
    assert "or none, say so, by --multilabel." in refused("start", pool_file, *options)


def test_agreement_is_said_where_wrong_labels_cannot_be_known(pool_file, tmp_path):
    run = tmp_path / "run.db"
    done("start", pool_file, "--multilabel", "--question", "metric", "--measure", "f1_micro", "--out", run)
    rows = {"id": ["i1", "i2", "i1", "i2"], "label": ["ant", "bee", "ant;bee", "bee"], "annotator": list("aabb")}
    done("tell", run, write_csv(tmp_path / "both.csv", rows))
    out = done("agreement", run)
    assert out.startswith("2 annotators agree in 50.0% of the pairs of labels of 2 items")
    assert "How often labels are wrong is known of items with one label each" in out
    found = json.loads(done("agreement", run, "--json"))
    assert (found["raw"], found["wrong"], found["wrong_interval"]) == (0.5, None, None)


def test_designs_are_compared_on_known_labels(pool_file):
    asked = ["--multilabel", "--question", "metric", "--measure", "f1_micro", "--labels", "label"]
    out = done("simulate", pool_file, *asked, "--budgets", 10, "--repeats", 3, "--designs", "passive")
    assert "Metric(f1_micro), 3 campaigns" in out


def test_what_single_labels_alone_have_is_refused_in_one_line(pool_file, tmp_path):
    asked = "start", pool_file, "--multilabel", "--out", tmp_path / "run.db"
    assert "'poisson' or 'passive'" in refused(*asked)
    metric = "--question", "metric", "--measure", "f1_micro"
    assert "these can: 'poisson', 'passive'" in refused(*asked, *metric, "--design", "adaptive")
