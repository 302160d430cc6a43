"""The study of Brier scores and log losses."""

import pytest
import study_item_scores
from study_item_scores import main


@pytest.mark.slow
def test_a_run_goes_on_and_reports(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(study_item_scores, "LOOKS", (2, 4))
    monkeypatch.setattr(study_item_scores, "BATCH", 2)
    monkeypatch.setattr(study_item_scores, "MEASURES", ("brier_score_loss",))
    rows = ["--rows", str(tmp_path / "rows.jsonl")]
    for n in ("1", "2", "2"):
        main([*rows, "--pools", n])
    assert len((tmp_path / "rows.jsonl").read_text().splitlines()) == 6
    main([*rows, "--report"])
    assert capsys.readouterr().out.count("| fitted | brier_score_loss |") == 3
