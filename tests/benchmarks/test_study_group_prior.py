"""Tests of the study of the learned prior of accuracies by group."""

import numpy as np
import pytest
from _fitted_worlds import fitted_pool
from study_group_prior import FIGURES, LOOKS, campaign, main, report, using

from bayes_assess.models import HierarchicalAccuracy

POOL, LABELS = fitted_pool(np.random.default_rng(3), 2)
SCORES = [0.6, 0.9]


def test_constants_are_replaced_for_a_while():
    now = HierarchicalAccuracy.from_prior(mean_score=SCORES)
    with using(["intercept=0,2", "slope=1,0.5"]):
        before = HierarchicalAccuracy.from_prior(mean_score=SCORES)
    np.testing.assert_allclose(before.location, [0, 1])
    np.testing.assert_allclose(before.scale, [2, 0.5])
    center = before.covariates[:, 1].mean()
    np.testing.assert_allclose(before.covariates[:, 1], now.covariates[:, 1] + center)
    with using(["level=0.5,0.75,1.2"]):
        assert HierarchicalAccuracy.from_prior(mean_score=SCORES).location[0] == 0.5 + 0.75 * center
    with using(["lapse=0.1"]):
        assert HierarchicalAccuracy.from_prior(mean_score=SCORES).quantile(0.5).max() < 0.9
    assert HierarchicalAccuracy.from_prior(mean_score=SCORES).quantile(0.5).max() > 0.9
    with pytest.raises(SystemExit, match="no constant nonsense"), using(["nonsense=1"]):
        pass


def test_a_campaign_has_figures_of_every_look():
    rng = np.random.default_rng(0)
    found = np.array(campaign("prediction", POOL, LABELS, rng.permutation(POOL.n_items)))
    assert found.shape == (len(LOOKS), len(FIGURES))
    width = found[:, FIGURES.index("width")]
    assert width[-1] < width[0]
    assert (found[:, FIGURES.index("score")] >= width).all()


def test_sets_are_compared_on_the_pools_that_both_have(tmp_path, capsys):
    rows = str(tmp_path / "rows.jsonl")
    main(["--rows", rows, "--pools", "1", "--campaigns", "1"])
    main(["--rows", rows, "--pools", "1", "--campaigns", "1", "--set", "METHODS 12.5", "--change", "intercept=0,2"])
    main(["--rows", rows, "--report"])
    table = capsys.readouterr().out
    assert table.count("3 all | package |") == table.count("3 all | METHODS 12.5 |") == len(LOOKS)
    assert report([], by_kind=False).count("\n") == 1
