"""The study of questions on pairs of an item and a class, short."""

import numpy as np
import pytest
import study_label_pairs
from study_label_pairs import FIGURES, MEASURES, Made, campaign, made


@pytest.fixture(scope="module")
def small():
    """A pool of the study, cut to 60 items."""
    one = made(1, 0)
    return Made.of(np.asarray(one.items.scores)[:60], list(one.items.classes), one.labels[:60])


@pytest.mark.parametrize("measure", MEASURES)
def test_of_pairs_the_truth_is_that_of_items(small, measure):
    of_items, of_pairs = MEASURES[measure]
    truth = of_items.for_pool(small.items).truth(small.items, small.labels)
    assert float(of_pairs.truth(small.pairs, small.labels.ravel())) == pytest.approx(float(truth), rel=1e-12)


@pytest.mark.parametrize("asked", ["items", pytest.param("pairs", marks=pytest.mark.slow)])
def test_all_answers_leave_no_error(small, asked, monkeypatch):
    monkeypatch.setattr(study_label_pairs, "ANSWERS", (small.labels.size,))
    monkeypatch.setattr(study_label_pairs, "BATCH", 1_000)
    np.testing.assert_allclose(campaign(small, "f1_micro", asked, 0), [[0, 0, 0, 1]], atol=1e-12)


def test_a_run_goes_on_and_reports(small, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(study_label_pairs, "ANSWERS", (20, 60))
    monkeypatch.setattr(study_label_pairs, "BATCH", 60)
    monkeypatch.setattr(study_label_pairs, "MEASURES", {"f1_micro": MEASURES["f1_micro"]})
    monkeypatch.setattr(study_label_pairs, "made", lambda seed, number: small)
    rows = ["--rows", str(tmp_path / "rows.jsonl")]
    for n in ("1", "2"):
        study_label_pairs.main([*rows, "--pools", n, "--campaigns", "1"])
    found = study_label_pairs.read_rows(rows[1])
    assert [(row["pool"], row["asked"]) for row in found] == [(0, "items"), (0, "pairs"), (1, "items"), (1, "pairs")]
    assert all(len(row[name]) == 2 for row in found for name in FIGURES)
    study_label_pairs.main([*rows, "--report"])
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(" | ")[:3] for line in lines[2:]] == [["| f1_micro", "2", "20"], ["| f1_micro", "2", "60"]]
