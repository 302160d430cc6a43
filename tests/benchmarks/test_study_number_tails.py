"""The study of long tails of errors of numbers."""

from __future__ import annotations

import numpy as np
import pytest
from study_number_tails import KINDS, MEASURES, estimates, fitted, main, row, variants

import bayes_assess as ba


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_pools_have_labels_and_errors_of_the_kurtosis_that_is_said(kind):
    one, again = KINDS[kind](3, 1), KINDS[kind](3, 1)
    np.testing.assert_array_equal(one.labels, again.labels)
    e = one.labels - np.asarray(one.pool.exact.numbers)
    assert one.kurtosis == pytest.approx((e**4).mean() / (e**2).mean() ** 2)


def test_intervals_made_again_from_a_row_are_those_of_the_session():
    one, asked = fitted(1, 0), ba.Metric(list(MEASURES))
    found = row("fitted", 1, 0, "poisson")
    session = ba.assess(one.pool, asked, design="poisson", seed=0)
    ids = session.ask(30).ids
    session.tell(ids, one.labels[ids])
    estimate, truth, which = estimates([found], 0)
    assert which == [0]
    np.testing.assert_allclose(truth[0], asked.truth(one.pool, one.labels), rtol=1e-4)
    said = dict(variants(estimate, asked.for_pool(one.pool).spec.ranges, vary=False))
    np.testing.assert_allclose(said["with expected variances"][0], session.result().interval, rtol=1e-3)
    assert (said["labels alone"][0, 1] != said["with expected variances"][0, 1]).all()


def test_a_report_has_every_measure_and_all_pools(tmp_path, capsys):
    rows = str(tmp_path / "rows.jsonl")
    main(["--rows", rows, "--pools", "1"])
    main(["--rows", rows, "--report"])
    table = capsys.readouterr().out
    assert table.count("| all, 4 | with expected variances |") == len(MEASURES)
