"""The study of groups compares constants on pools of its own."""

import numpy as np
import pytest
import study_groups
from study_groups import SPREADS, made, using

from bayes_assess.models.curve_members import POSITIVES


def test_groups_differ_by_as_much_as_is_said():
    alike, apart = ([made(16 * k + at) for k in range(6)] for at in (0, 3))  # errors that no score announces

    def of_errors(one):
        wrong, group = one.labels != one.pool.predictions, one.pool.groups["site"]
        return np.ptp(np.bincount(group, wrong, 4) / np.bincount(group, minlength=4))

    assert [one.spread for one in (alike[0], apart[0])] == [SPREADS[0], SPREADS[3]]
    assert np.mean([*map(of_errors, alike)]) < 0.1 < 0.2 < np.mean([*map(of_errors, apart)])


def test_constants_are_replaced_for_the_time_being():
    with using({"group_sd": 3.0}):
        assert (POSITIVES.apart().group_sd == 3).all()
        assert (POSITIVES.apart().group_odds == 1).all()
    assert (POSITIVES.apart().group_sd < 1).all()


@pytest.mark.slow
def test_a_run_goes_on_and_reports(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(study_groups, "LOOKS", (2, 4))
    rows = ["--rows", str(tmp_path / "rows.jsonl")]
    for n in ("1", "2", "2"):
        study_groups.main([*rows, "--pools", n])
    study_groups.main([*rows, "--set", "further apart", "--change", "group_sd=2", "--pools", "1"])
    study_groups.main([*rows, "--report"])
    lines = capsys.readouterr().out.splitlines()
    assert len((tmp_path / "rows.jsonl").read_text().splitlines()) == 3
    assert [line.split(":")[0] for line in lines] == [
        "package, 2 pools, 2 labels",
        "package, 2 pools, 4 labels",
        "further apart, 1 pools, 2 labels",
        "further apart, 1 pools, 4 labels",
    ]
    assert "+0.000 +- 0.000" in lines[0]
