from __future__ import annotations

import csv
import re
import sys

import numpy as np
import pytest
from typer.testing import CliRunner

import bayes_assess as ba
from bayes_assess.cli import demo
from bayes_assess.cli.app import app
from bayes_assess.errors import BayesAssessError

pytest.importorskip("sklearn")

REPEATS = 8


@pytest.fixture(scope="module")
def shown(tmp_path_factory):
    """What the command prints, and its folder."""
    folder = tmp_path_factory.mktemp("demo") / "out" / "put"
    result = CliRunner().invoke(app, ["demo", "--output", str(folder), "--repeats", str(REPEATS)])
    assert result.exit_code == 0, result.output
    assert not result.stderr
    return result.stdout, folder


@pytest.fixture(scope="module")
def truth():
    """Accuracy of every predicted digit, straight from the classifier."""
    pool, labels = demo.digits_pool()
    accuracy = [np.mean(labels[pool.predictions == digit] == digit) for digit in range(10)]
    return np.array(accuracy), pool, labels


def rows_of(path):
    with path.open(newline="") as stream:
        return list(csv.DictReader(stream))


def test_the_pool_is_large_and_the_classifier_is_imperfect(truth):
    accuracy, pool, labels = truth
    assert len(pool) == len(labels) >= 1_000
    assert 0.5 < accuracy.min() < accuracy.max() < 1
    assert pool.confidence is not None


@pytest.mark.slow
def test_files_are_written_and_named(shown):
    out, folder = shown
    for path in folder.iterdir():
        assert path.stat().st_size > 100
        assert path.name in out
    for name in ("forest.png", "label_curve.png"):
        data = (folder / name).read_bytes()
        assert data.startswith(b"\x89PNG\r\n\x1a\n")
        assert len(data) > 10_000
    names = {path.name for path in folder.iterdir()}
    assert {"table.csv", "simulation.csv", "posterior_summary.csv", "pool.csv", "labels.csv"} <= names


def test_printed_numbers_are_the_truth(shown, truth):
    out, _ = shown
    accuracy, pool, labels = truth
    printed = re.findall(r"^ +(\d) +(\d+)  (0\.\d+) +(\d+)  \S+ \[\S+ \S+\] +(\d+)", out, re.MULTILINE)
    assert len(printed) == 10
    for digit, items, value, by_thompson, at_random in printed:
        assert int(items) == np.sum(pool.predictions == int(digit))
        assert value == f"{accuracy[int(digit)]:.3f}"
        assert 0 < min(int(by_thompson), int(at_random))
    for column in (3, 4):
        assert sum(int(row[column]) for row in printed) == demo.N_LABELS
    words = " ".join(out.split())
    weakest = int(accuracy.argmin())
    assert f"overall accuracy {np.mean(labels == pool.predictions):.3f}" in words
    assert f"predictions of {weakest} are the weakest, {accuracy[weakest]:.3f} correct" in words
    assert f"Over {REPEATS} simulated campaigns each" in words


def test_estimates_come_from_the_labels_of_the_campaign(shown, truth):
    _, folder = shown
    accuracy, _, labels = truth
    table = rows_of(folder / "table.csv")
    assert len(table) == 20
    inside = 0
    for row in table:
        assert float(row["truth"]) == accuracy[int(row["group"])]
        inside += float(row["lower"]) <= float(row["truth"]) <= float(row["upper"])
    assert inside >= 17  # of 20 intervals of 95 %
    assert [int(row["label"]) for row in rows_of(folder / "labels.csv")] == labels.tolist()


def test_labels_saved_follow_from_the_simulation(shown):
    out, folder = shown
    needed = {}
    for design in ("thompson", "random"):
        rows = [row for row in rows_of(folder / "simulation.csv") if row["design"] == design]
        short = [i for i, row in enumerate(rows) if float(row["mrr"]) <= demo.GOAL]
        needed[design] = int(rows[short[-1] + 1]["labels"])
    words = " ".join(out.split())
    said = f"after {needed['thompson']} labels by Thompson sampling and after {needed['random']} at random"
    assert f"{said}: {demo._saved(needed)}." in words  # eight campaigns do not tell which needs fewer


def test_savings_are_told_whichever_design_needs_fewer():
    assert demo._saved({"thompson": 300, "random": 400}) == "100 labels saved, 25%"
    assert demo._saved({"thompson": 400, "random": 300}) == "100 labels more than at random"
    assert demo._saved({"thompson": 300, "random": 300}) == "no difference"


def test_the_pool_can_be_assessed_from_its_file(shown, truth):
    _, folder = shown
    pool = ba.read_pool(folder / "pool.csv")
    assert pool.fingerprint() == truth[1].fingerprint()


def test_the_posterior_can_be_read_by_arviz(shown):
    from bayes_assess._tools.to_arviz import import_arviz

    _, folder = shown
    if not (folder / "posterior.nc").exists():
        pytest.skip("no NetCDF library")
    posterior = import_arviz().from_netcdf(str(folder / "posterior.nc"))["posterior"]
    rows = [row for row in rows_of(folder / "table.csv") if row["design"] == "thompson"]
    for row in rows:
        mean = float(posterior["accuracy"].sel(group=int(row["group"])).mean())
        assert mean == pytest.approx(float(row["estimate"]), abs=0.01)


def test_a_file_in_the_way_is_left_alone(tmp_path):
    path = tmp_path / "demo_output"
    path.write_text("mine")
    with pytest.raises(BayesAssessError, match="is a file"):
        demo.run(path)
    assert path.read_text() == "mine"


def test_without_scikit_learn_it_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn.datasets", None)
    result = CliRunner().invoke(app, ["demo", "--output", str(tmp_path / "out")])
    assert result.exit_code == 2
    assert 'pip install "bayes-assess[demo]"' in result.stderr
    assert result.stderr.count("\n") == 1
    assert not (tmp_path / "out").exists()
