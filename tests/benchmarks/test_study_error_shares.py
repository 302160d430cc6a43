"""Tests of the study of which classes errors are of."""

import numpy as np
import pytest
from _rows import read_rows
from study_error_shares import FIGURES, LOOKS, campaign, main, pools, report, using

from bayes_assess.models import HierarchicalConfusion


@pytest.mark.slow
def test_pools_have_scores_or_none():
    scored = list(pools(2, 1, scored=True))
    assert [name for name, *_ in scored if name.startswith(("classes", "rare"))] == [
        "classes-1-0", "classes-1-1", "rare-1-0", "rare-1-1"
    ]  # fmt: skip
    assert all(pool.scores is not None for _, _, pool, _ in scored)
    assert all(pool.scores is None for _, _, pool, _ in pools(2, 1))
    _, _, pool, labels = scored[-1]
    assert np.asarray(pool.scores)[:, 0].mean() > 1.3 * (labels == 0).mean()  # of the rare class


def test_powers_are_replaced_for_a_while():
    scores = np.array([[0.7, 0.15, 0.15], [0.2, 0.6, 0.2], [0.1, 0.1, 0.8]])
    share = lambda: HierarchicalConfusion.from_prior(mean_scores=scores, predicted=[90, 90, 5]).mean[0, 2]  # noqa: E731
    now = share()
    with using(None, "none"):
        alone = share()
    with using(None, "1"):
        once = share()
    assert now < once < alone
    assert share() == now
    even = lambda: HierarchicalConfusion.from_prior(n_classes=3, predicted=[90, 90, 5]).mean[0, 2]  # noqa: E731
    now = even()
    with using(0.0):
        assert even() > now


def test_a_campaign_has_figures_of_every_look():
    *_, (_, _, pool, labels) = pools(1, 1, scored=True)
    costs, rng = np.stack([1.0 - np.eye(pool.n_classes)]), np.random.default_rng(0)
    found = np.array(campaign(pool, labels, rng.permutation(pool.n_items), costs, rng))
    assert found.shape == (len(LOOKS), 1 + len(FIGURES) // 2)
    _, held, width, score, _ = found.T
    assert width[-1] < width[0]
    np.testing.assert_array_equal(score == width, held == 1)


@pytest.mark.slow
def test_sets_are_compared_by_kind_on_the_pools_that_both_have(tmp_path, capsys):
    rows = str(tmp_path / "rows.jsonl")
    for more in ([], ["--set", "none", "--powers", "none"]):
        main(["--rows", rows, "--pools", "1", "--scored", *more])
    assert {row["kind"] for row in read_rows(rows)} >= {"made", "one rare class"}
    main(["--rows", rows, "--report", "--by-kind"])
    table = capsys.readouterr().out
    assert table.count("| none (1) |") == table.count("| package (1) |") >= 2 * len(LOOKS)
    assert report(read_rows(rows)).count("\n") == 1 + 2 * len(LOOKS)
