"""The study of labels that nobody asked for."""

import numpy as np
import pytest
import study_volunteered
from study_volunteered import CHOICES, OF_GROUPS, chosen, main


@pytest.mark.parametrize("choice", OF_GROUPS)
def test_items_are_chosen_as_is_said(choice):
    rng = np.random.default_rng(0)
    labels = (rng.random(2_000) < 0.3).astype(int)
    score = np.clip(0.5 * labels + rng.random(2_000) / 2, 0, 1)
    told = chosen(choice, 100, rng, score, (score > 0.4).astype(int), labels)
    share, errors = labels[told].mean(), (labels != (score > 0.4))[told].mean()
    assert len(np.unique(told)) == 100
    expected = {
        "random": abs(share - 0.3) < 4 * np.sqrt(0.3 * 0.7 / 100),
        "highest scores": score[told].min() >= np.sort(score)[-100],
        "positives": share == 1,
        "errors": errors == 1,
        "another score": share > 0.6,
        "in doubt": np.abs(score[told] - 0.4).max() <= np.sort(np.abs(score - 0.4))[102],
    }
    assert expected[choice]


@pytest.mark.slow
def test_a_run_goes_on_and_reports(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(study_volunteered, "LOOKS", (0, 2, 4))
    monkeypatch.setattr(study_volunteered, "BATCH", 2)
    monkeypatch.setattr(study_volunteered, "CHOICES", CHOICES[:2])
    rows = ["--rows", str(tmp_path / "rows.jsonl")]
    for n in ("1", "2", "2"):
        main([*rows, "--pools", n])
    assert len((tmp_path / "rows.jsonl").read_text().splitlines()) == 4
    main([*rows, "--report"])
    table = capsys.readouterr().out
    assert table.count("| random | chosen in") == 1
    assert "| 100 | highest scores |" in table


def test_a_run_on_groups_too(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(study_volunteered, "LOOKS", (0, 20))
    monkeypatch.setattr(study_volunteered, "OF_GROUPS", ("random", "in doubt"))
    rows = ["--groups", "--rows", str(tmp_path / "rows.jsonl")]
    main([*rows, "--pools", "1"])
    main([*rows, "--report"])
    table = capsys.readouterr().out
    assert "| in doubt | always | 1 | 1.00 1.00 |" in table
    assert "| random | never | 1 | 0.00 0.00 |" in table
