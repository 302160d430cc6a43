"""The study of ranked lists of many shapes."""

import numpy as np
import pytest
import study_ranked_lists
from study_ranked_lists import SHAPES, made, main, rates


@pytest.mark.parametrize("shape", SHAPES)
def test_lists_are_of_the_shapes_that_are_said(shape):
    scores, labels = made(shape, 3, 1)
    assert 800 <= len(scores) == len(labels) <= 30_000
    assert 0 < labels.mean() < 1


def test_rates_rise_with_scores_or_not():
    x = np.linspace(3, -3, 1000)
    rising, bump = (rates(shape, x, np.random.default_rng(5)) for shape in ("rising", "bump"))
    assert (np.diff(rising) <= 0).all()
    assert 0 < bump.argmax() < len(x) - 1
    assert 2 <= len(np.unique(rates("steps", x, np.random.default_rng(5)))) <= 6


@pytest.mark.slow
def test_a_run_goes_on_and_compares_sets(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(study_ranked_lists, "LOOKS", (10, 20))
    monkeypatch.setattr(study_ranked_lists, "BATCH", 10)
    rows = ["--rows", str(tmp_path / "rows.jsonl")]
    for options in ([], [], ["--set", "rough .1", "--rough", ".1"]):
        main([*rows, "--lists", "1", *options])
    assert len((tmp_path / "rows.jsonl").read_text().splitlines()) == 2
    main([*rows, "--report"])
    table = capsys.readouterr().out
    assert "1 lists; by look at 10, 20 labels" in table
    assert table.count("| rising | package | 1 |") == table.count("| rising | rough .1 | 1 |") == 1
