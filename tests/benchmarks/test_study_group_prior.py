"""Tests of the study of the learned prior of accuracies by group."""

import numpy as np
import pytest
from _fitted_worlds import fitted_pool
from _rows import read_rows
from study_group_prior import FIGURES, LOOKS, campaign, exact, main, report, using

import bayes_assess as ba
from bayes_assess.models import HierarchicalAccuracy


@pytest.fixture(scope="module")
def fitted():
    return fitted_pool(np.random.default_rng(3), 2)


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


@pytest.mark.parametrize("question", [ba.GroupAccuracy(), ba.GroupRecall("site")])
def test_a_campaign_has_figures_of_every_look(question, fitted):
    (pool, labels), rng = fitted, np.random.default_rng(0)
    found = np.array(campaign(question, pool, labels, rng.permutation(pool.n_items)))
    assert found.shape == (len(LOOKS), len(FIGURES))
    held, width, score = (found[:, FIGURES.index(name)] for name in ("held", "width", "score"))
    assert width[-1] < width[0] or isinstance(question, ba.GroupRecall)  # few labels are positive
    assert (score >= width).all()
    np.testing.assert_array_equal(score == width, held == 1)


@pytest.mark.parametrize("question", [ba.GroupAccuracy("site"), ba.GroupRecall("site")])
def test_what_is_exact_is_what_the_question_has_at_full_labels(question, fitted):
    pool, labels = fitted
    cells = question.setting(pool, 0).cells
    full = question.full_counts(pool, cells, labels, question.setting(pool, 0).n_outcomes)
    of_groups, of_all, kept = exact(question, full)
    np.testing.assert_allclose(of_groups[kept], question.truth_of_counts(cells, full)[kept])
    assert of_all == ba.Metric("recall" if isinstance(question, ba.GroupRecall) else "accuracy").truth(pool, labels)


def test_recalls_are_asked_of_pools_with_sites_and_a_positive_item(tmp_path):
    rows = str(tmp_path / "rows.jsonl")
    main(["--rows", rows, "--pools", "2", "--campaigns", "1", "--recalls"])
    found = [row["pool"] for row in read_rows(rows)]
    assert found == [f"recall, fitted-1-{k} by site" for k in (0, 1)] + ["recall, fitted-1-1 by site, no scores"]


def test_sets_are_compared_on_the_pools_that_both_have(tmp_path, capsys, monkeypatch):
    monkeypatch.delenv("BAYES_ASSESS_POOLS", raising=False)
    rows = str(tmp_path / "rows.jsonl")
    main(["--rows", rows, "--pools", "1", "--campaigns", "1"])
    main(["--rows", rows, "--pools", "1", "--campaigns", "1", "--set", "METHODS 12.5", "--change", "intercept=0,2"])
    main(["--rows", rows, "--report"])
    table = capsys.readouterr().out
    assert table.count("3 all | package |") == table.count("3 all | METHODS 12.5 |") == len(LOOKS)
    assert report([], by_kind=False).count("\n") == 1
