"""Tests of the study of means that are compared by pairs."""

import numpy as np
import study_paired_means
from _rows import read_rows
from study_paired_means import DESIGNS, LOOKS, campaign, main, pools


def test_both_systems_answer_every_prompt():
    for _, _, pool, labels in pools(6, 1):
        assert len(labels) == pool.n_items
        prompts, times = np.unique(pool.groups["prompt"], return_counts=True)
        assert (times == 2).all()
        assert len(prompts) == (pool.groups["system"] == "new").sum()


def test_a_run_resumes_and_reports(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(study_paired_means, "LOOKS", LOOKS[:2])
    rows = str(tmp_path / "rows.jsonl")
    for _ in range(2):
        main(["--rows", rows, "--pools", "1"])
    (row,) = read_rows(rows)
    for design in DESIGNS:
        held, width, score, error = np.array(row[design]).T
        assert (width > 0).all()
        np.testing.assert_allclose(score == width, held == 1)
        assert (np.abs(error) < 7).all()
    main(["--rows", rows, "--report", "--by-kind"])
    assert f"| {row['kind']} | 1 | {LOOKS[1]} | " in capsys.readouterr().out


def test_a_campaign_has_figures_of_every_look(monkeypatch):
    monkeypatch.setattr(study_paired_means, "LOOKS", LOOKS[:1])
    (_, _, pool, labels) = next(pools(1, 2))
    assert np.shape(campaign(pool, labels, "passive", 0)) == (1, 4)
