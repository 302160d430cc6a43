"""The study of one odd group, short."""

import pytest
import study_odd_group
from study_odd_group import FIGURES, campaign


@pytest.mark.slow
def test_far_more_labels_find_the_odd_group_and_its_accuracy(monkeypatch):
    monkeypatch.setattr(study_odd_group, "LOOKS", (60, 1200))
    figures = campaign(10, 0)
    assert figures["found"][-1] == 1
    assert figures["odd off"][-1] < 0.1
    assert set(figures) == set(FIGURES)


def test_a_run_goes_on_and_reports(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(study_odd_group, "LOOKS", (4, 8))
    monkeypatch.setattr(study_odd_group, "GROUPS", (4,))
    rows = ["--rows", str(tmp_path / "rows.jsonl")]
    for n in ("1", "2"):
        study_odd_group.main([*rows, "--campaigns", n])
    study_odd_group.main([*rows, "--set", "as classes", "--change", "alike=2.485,1.3", "--campaigns", "1"])
    study_odd_group.main([*rows, "--report"])
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(":")[0] for line in lines] == [
        "package, 4 groups, 2 campaigns",
        "as classes, 4 groups, 1 campaigns",
    ]
