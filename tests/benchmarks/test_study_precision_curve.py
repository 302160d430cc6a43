"""Tests of the study of precision curves: its lists, its strata and its table, on short lists."""

import sys

import numpy as np
import pytest
import study_precision_curve as study

SIZES = [5_000, 40_000]


@pytest.mark.parametrize("n_items", SIZES)
def test_positives_are_a_weakly_monotone_list(n_items):
    ranks = np.arange(study.PREFIX, n_items + 1)
    found = study.positives(ranks, n_items)
    assert set(np.diff(found)) <= {0, 1}
    p = found / ranks
    greatest_beyond = np.maximum.accumulate(p[::-1])[::-1]
    assert (greatest_beyond[study.SLACK :] <= p[: -study.SLACK]).all()
    np.testing.assert_allclose(p, study.precision(ranks, n_items), atol=0.5 / study.PREFIX)


def test_strata_that_are_cut_keep_their_labels():
    strata = study.Strata(np.random.default_rng(0), 40_000, np.array([10_000, 40_000]), np.zeros((2, 2), np.int64))
    strata.label(np.array([300, 500]))
    before = strata.found.copy()
    strata.cut(np.array([5_000, 10_000, 40_000]))
    np.testing.assert_array_equal(strata.found[:2].sum(0), before[0])
    np.testing.assert_array_equal(strata.found[2], before[1])
    assert (strata.found <= strata.items(strata.ends)).all()


def test_all_labels_give_the_curve():
    strata = study.Strata(np.random.default_rng(0), 5_000, np.array([4_000, 5_000]), np.zeros((2, 2), np.int64))
    strata.label(np.array([508, 1_000]))
    edges, p, radius = strata.estimates()
    np.testing.assert_allclose(p * edges, study.positives(edges, 5_000), atol=1e-8)
    np.testing.assert_array_equal(radius, 0)


@pytest.mark.parametrize("name", [name for name in study.METHODS if name != "PAULA"])
def test_estimates_keep_the_promised_factor(name):
    """Each run fails with a probability of at most delta = 0.05, and in fact never."""
    runs = [study.PLAY[name](np.random.default_rng(seed), SIZES[1]) for seed in range(5)]
    assert max(run.error for run in runs) <= study.BETA * (1 + study.EPSILON)
    assert all(run.n_labels <= SIZES[1] for run in runs)
    assert all(run.covered in (True, None) for run in runs)


def test_table_and_figure_are_made(monkeypatch, tmp_path, capsys):
    out = tmp_path / "curve.png"
    monkeypatch.setattr(study, "SIZES", SIZES)
    monkeypatch.setattr(sys, "argv", ["study_precision_curve.py", "--repeats", "2", "--out", str(out)])
    study.main()
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 2 + len(SIZES) * len(study.METHODS)
    assert {len(line.split("|")) for line in lines} == {11}
    assert [line.split("|")[1].strip() for line in lines[2::4]] == ["5,000", "40,000"]
    assert out.read_bytes().startswith(b"\x89PNG")
