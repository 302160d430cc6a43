"""Tests of the tournament: rows that resume, and tables worked out by hand."""

import numpy as np
import pytest
import tournament
from _pools import Binary, adversarial, binaries
from _rows import read_rows
from tournament import main, report


def row(design: str, pool: str, rmse: list, coverage: list, **more) -> dict:
    held = {"pool": pool, "kind": "real", "measure": "f1", "design": design, "campaigns": 2, "batch": 1}
    return held | {"budgets": [50, 100], "rmse": rmse, "coverage": coverage} | more


def test_tables_have_the_numbers_worked_out_by_hand():
    rows = [
        row("passive", "a", [0.2, 0.1], [1.0, 1.0]),
        row("adaptive", "a", [0.1, 0.1], [0.9, 1.0]),
        row("variance_reduction", "a", [0.1, 0.05], [1.0, 0.9], design_ok=[1.0, 0.5]),
        row("passive", "b", [0.1, 0.1], [1.0, 0.8]),
        row("adaptive", "b", [0.2, 0.1], [1.0, 1.0]),
        row("variance_reduction", "b", [0.2, 0.1], [0.8, 0.9], design_ok=[1.0, 1.0]),
        row("oasis", "a", [], []) | {"budgets": []},  # cannot serve the measure
    ]
    lines = report(rows).splitlines()
    assert lines[0] == "## f1, 2 pools, real"
    assert lines[4].startswith("| 50 | 2 ± 2 | 3.7 ± 1 | 4 | 0.9 ± 0.1 |")  # ratios 1 and 4
    assert lines[4].endswith("| 0.8 | 1 ± 0 | 1 |")
    assert lines[5].startswith("| 100 | 0.5 ± 0.4 |")  # 1/4 and 1
    assert lines[5].endswith("| 0.9 | 0.75 ± 0.2 | 0.5 |")
    assert "| passive | 0.141 ± 0.05 | 1 ± 0 | 0.1 ± 0 | 0.9 ± 0.1 |" in lines


def test_pools_of_a_folder_are_of_one_class_each(tmp_path):
    rng = np.random.default_rng(0)
    np.savez(tmp_path / "one.npz", probability=[0.2, 0.8], predictions=[0, 1], labels=[1, 1])
    np.savez(tmp_path / "many.npz", scores=rng.random((30, 6)).astype(np.float32) * 9, labels=np.arange(30) % 6)
    found = dict(binaries(tmp_path))
    assert list(found) == ["many:0", "many:3", "many:5", "one"]
    assert found["many:3"].labels.sum() == 5
    assert found["one"].predictions.tolist() == [0, 1]


def test_adversarial_pools_keep_their_labels():
    rng = np.random.default_rng(0)
    honest = Binary(np.arange(40) % 2, np.arange(40) % 2, rng.random(40))
    found = dict(adversarial("x", honest))
    assert len(found) == 9
    assert all((binary.labels == honest.labels).all() for binary in found.values())
    assert found["x 45% hidden"].predictions.sum() == 20 - 9


def test_nothing_is_run_without_pools(monkeypatch):
    monkeypatch.delenv("BAYES_ASSESS_POOLS", raising=False)
    monkeypatch.delenv("BAYES_ASSESS_ZOO", raising=False)
    with pytest.raises(SystemExit, match="nothing was run"):
        main([])


def test_a_run_goes_on_where_it_stopped(tmp_path, monkeypatch, capsys):
    rng = np.random.default_rng(0)
    score = rng.random(60)
    np.savez(tmp_path / "one.npz", probability=score, predictions=score > 0.5, labels=rng.random(60) < score)
    monkeypatch.setenv("BAYES_ASSESS_POOLS", str(tmp_path))
    monkeypatch.delenv("BAYES_ASSESS_ZOO", raising=False)
    made = []

    def found(pool, labels, measure, design, budgets, campaigns, batch):
        made.append((measure, design))
        numbers = {"rmse": [0.1], "coverage": [1.0], "width": [0.2], "score": [0.3], "truth": 0.5}
        return None if (measure, design) == ("recall", "oasis") else {"budgets": [50], **numbers, "seconds": 1.0}

    monkeypatch.setattr(tournament, "campaign_row", found)
    rows = str(tmp_path / "rows.jsonl")
    common = ["--rows", rows, "--measures", "f1", "recall", "--designs", "oasis", "variance_reduction"]
    main([*common, "--minutes", "0"])
    assert made == []
    main([*common, "--kinds", "real", "--measures", "recall"])
    main([*common])
    assert len(made) == len(set(made)) == 4
    assert len(read_rows(rows)) == 4
    capsys.readouterr()
    main(["--rows", rows, "--report", "--csv", str(tmp_path / "results" / "rows.csv")])
    assert "## f1, 1 pools, real" in capsys.readouterr().out
    lines = (tmp_path / "results" / "rows.csv").read_text().splitlines()
    assert lines[0].startswith("pool,kind,measure,design,labels")
    assert len(lines) == 1 + 3
