"""Tests of the study of intervals of means of grades."""

import numpy as np
import pytest
from _rows import read_rows
from study_random_means import KINDS, LOOKS, intervals, main, pools


def test_pools_are_of_three_kinds():
    kinds = [kind for _, kind, _, _ in pools(2, 1)]
    assert kinds == list(KINDS) * 2
    for _, _, grades, values in pools(2, 1):
        assert np.isin(grades, values).all()


def test_two_grades_have_the_same_interval_by_both_rules():
    possible, shown, _ = intervals(np.repeat([0.0, 1.0], [26, 4]), np.array([0.0, 1.0]), 10_000)
    np.testing.assert_allclose(shown, possible, rtol=1e-12)


def test_labels_far_off_that_none_was_seen_of_widen_the_interval_where_any_is_expected():
    near = np.repeat([-1.0, 0.0, 1.0], [5, 20, 5])
    possible, shown, student = intervals(near, np.arange(-4, 5.0), 10_000)
    assert np.ptp(student) < np.ptp(shown) < 0.7 * np.ptp(possible)
    alike = intervals(np.zeros(30), np.arange(-4, 5.0), 10_000)
    np.testing.assert_array_equal(alike[0], alike[1])
    assert np.ptp(alike[0]) > 0.2


def test_a_run_resumes_and_reports(tmp_path, capsys):
    rows = str(tmp_path / "rows.jsonl")
    for _ in range(2):
        main(["--rows", rows, "--pools", "1"])
    assert len(read_rows(rows)) == len(KINDS)
    main(["--rows", rows, "--report"])
    assert capsys.readouterr().out.count("| ") > len(KINDS) * len(LOOKS)
    with pytest.raises(SystemExit):
        main(["--nothing"])
