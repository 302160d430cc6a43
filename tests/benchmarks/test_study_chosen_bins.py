"""The study of where labels on calibration go."""

import pytest
import study_chosen_bins
from study_chosen_bins import SETS, main, report

import bayes_assess as ba


@pytest.mark.slow
@pytest.mark.parametrize("more", [[], ["--by", "site"]])
def test_a_run_goes_on_and_reports(tmp_path, capsys, monkeypatch, more):
    monkeypatch.setattr(study_chosen_bins, "LOOKS", (2, 4))
    monkeypatch.setattr(study_chosen_bins, "BATCH", 2)
    reward = ba.Calibration.reward
    rows = ["--rows", str(tmp_path / "rows.jsonl")]
    for n in ("1", "2", "2"):
        main([*rows, *more, "--pools", n])
    assert len((tmp_path / "rows.jsonl").read_text().splitlines()) == 6
    assert ba.Calibration.reward is reward
    main([*rows, "--report"])
    assert capsys.readouterr().out.count("| 2 |") == 3


def test_widths_are_compared_on_the_pools_that_all_sets_have():
    def row(name, pool, width):
        return {"by": None, "seed": 1, "pool": pool, "set": name, "found": [[1.0, width, width, 0.0, 0.0, 0.1]]}

    rows = [row(name, pool, width) for name, width in zip(SETS, (0.1, 0.2, 0.3), strict=True) for pool in (0, 1)]
    lines = report([*rows, row("package", 2, 9.0)]).splitlines()
    assert [line.split("|")[3].strip() for line in lines[2:]] == ["2", "2", "2"]
    assert [line.split("|")[-2].strip() for line in lines[2:]] == ["1.00 (0.00)", "2.00 (0.00)", "3.00 (0.00)"]
