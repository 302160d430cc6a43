"""The study of grades beside a judge of any number."""

import numpy as np
import pytest
import study_grades
from study_grades import GRADES, made, main


def test_people_give_whole_grades_and_judges_any_number():
    for number, n_grades in enumerate(GRADES):
        pool, labels, by = made(2, number)
        steps = (n_grades - 1) * labels
        np.testing.assert_allclose(steps, np.rint(steps), atol=1e-9)
        assert len(np.unique(pool.exact.numbers)) > 100
        assert (by is None) == (not pool.groups)


@pytest.mark.slow
def test_a_run_goes_on_and_reports(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(study_grades, "LOOKS", (10, 20))
    monkeypatch.setattr(study_grades, "BATCH", 10)
    rows = ["--rows", str(tmp_path / "rows.jsonl")]
    for n in ("1", "1"):
        main([*rows, "--pools", n, "--seed", "15"])
    assert len((tmp_path / "rows.jsonl").read_text().splitlines()) == 2
    main([*rows, "--report"])
    table = capsys.readouterr().out
    assert table.startswith("1 pools")
    assert "| package | 10 |" in table
    assert "| anything | 20 |" in table
