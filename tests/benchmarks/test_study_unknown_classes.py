"""Tests of the study of classes that a system never predicts."""

import numpy as np
import pytest
from _fitted_worlds import fitted_pool
from _rows import read_rows
from study_unknown_classes import FIGURES, LOOKS, campaign, declared, main, matrix, report, using, without

from bayes_assess.models import HierarchicalConfusion

RNG = np.random.default_rng


@pytest.fixture(scope="module")
def fitted():
    return fitted_pool(RNG(3), 6)


@pytest.mark.parametrize("scored", [True, False])
def test_classes_are_taken_away_from_a_system_and_declared_besides(scored, fitted):
    pool, _ = fitted
    fewer, labels = without(RNG(1), *fitted, scored)
    never = np.flatnonzero(np.bincount(fewer.predictions, minlength=fewer.n_classes) == 0)
    assert len(never) >= 1
    assert np.isin(labels, never).any()
    assert (fewer.scores is not None) == scored
    more, _ = declared(RNG(1), *fitted, scored)
    assert more.n_classes > pool.n_classes
    np.testing.assert_array_equal(more.predictions, pool.predictions)


def test_the_prior_is_replaced_for_a_while():
    share = lambda: HierarchicalConfusion.from_prior(n_classes=3, predicted=[True, True, False]).mean[0, 2]  # noqa: E731
    now = share()
    with using("none"):
        assert share() < now
    with using("3,0.5"):
        assert share() > now
    assert share() == now


def test_a_campaign_has_figures_of_every_look(fitted):
    pool, labels = without(RNG(1), *fitted, True)
    cost = 1.0 - np.eye(pool.n_classes)
    found = np.array(campaign(pool, labels, RNG(0).permutation(pool.n_items), cost, RNG(1)))
    assert found.shape == (len(LOOKS), len(FIGURES))
    for what in ("share", "cost"):
        held, width, score = (found[:, FIGURES.index(f"{what}_{name}")] for name in ("held", "width", "score"))
        assert width[-1] < width[0]
        np.testing.assert_array_equal(score == width, held == 1)


def test_items_are_counted_by_prediction_and_label():
    assert matrix(np.array([0, 0, 1]), np.array([1, 1, 0]), 2).tolist() == [[0, 2], [1, 0]]


def test_sets_are_compared_on_the_pools_that_both_have(tmp_path, capsys, monkeypatch):
    monkeypatch.delenv("BAYES_ASSESS_POOLS", raising=False)
    rows = str(tmp_path / "rows.jsonl")
    for more in ([], ["--set", "none", "--change", "none"]):
        main(["--rows", rows, "--pools", "1", "--campaigns", "1", *more])
    assert [row["pool"] for row in read_rows(rows)] == ["scores taken away 1-0", "declared alone 1-0"] * 2
    main(["--rows", rows, "--report"])
    table = capsys.readouterr().out
    assert table.count("2 all | package |") == table.count("2 all | none |") == len(LOOKS)
    assert report([], by_kind=False).count("\n") == 1
