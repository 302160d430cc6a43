"""Sessions on the order of all scores: exact once everything is labelled, and intervals that hold before."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
from sklearn import metrics

import bayes_assess as ba
from bayes_assess.designs import WEIGHTED, VarianceReduction

BOTH = ["roc_auc", "average_precision"]


def made(n: int, seed: int) -> tuple[ba.Pool, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    y = (rng.random(n) < 0.15).astype(int)
    s = 1 / (1 + np.exp(-(rng.normal(size=n) + 2 * y - 1.5)))
    return ba.Pool(scores=s), y, s


def exact(y: np.ndarray, s: np.ndarray) -> list[float]:
    return [metrics.roc_auc_score(y, s), metrics.average_precision_score(y, s)]


@pytest.mark.parametrize("design", ["variance_reduction", *(name for name in WEIGHTED if name != "oasis")])
def test_labels_of_everything_answer_as_scikit_learn_does(design):
    pool, y, s = made(400, 0)  # of more scores than a campaign's levels
    a = ba.assess(pool, ba.Metric(BOTH), design=design)
    a.tell(pool.ids, y)
    r = a.result()
    assert r.guarantee == "exact"
    np.testing.assert_allclose(r.estimate, exact(y, s), rtol=1e-12)
    np.testing.assert_allclose(r.interval.T, [r.estimate, r.estimate], rtol=1e-12)


def test_a_few_labels_missing_leave_what_they_can_change():
    pool, y, s = made(400, 1)
    a = ba.assess(pool, ba.Metric("roc_auc"))
    a.tell(pool.ids[3:], y[3:])
    r = a.result()
    others = [exact(np.r_[[k & 1, k >> 1 & 1, k >> 2], y[3:]], s)[0] for k in range(8)]
    assert min(others) - 1e-3 < r.interval[0] <= r.interval[1] < max(others) + 1e-3
    assert r.interval[0] <= exact(y, s)[0] <= r.interval[1]


@pytest.mark.slow
def test_random_items_alone_bound_the_area_by_the_ranks_of_positives():
    """By two ratios, each missed with a probability of 2.5 % at most."""
    pool, y, s = made(3000, 5)
    truth, narrower = exact(y, s)[0], 0
    missed = np.zeros(8, bool)
    for seed in range(8):
        a = ba.assess(pool, ba.Metric("roc_auc"), design=VarianceReduction(audit=0.9), seed=seed)
        for _ in range(3):
            ids = a.ask(60).ids
            a.tell(ids, y[ids])
        low, high = a.result().design_interval
        missed[seed] = not low <= truth <= high
        narrower += low > 0.3
    assert missed.sum() <= stats.binom(8, 0.05).ppf(0.9995)
    assert narrower == 8


@pytest.mark.slow
def test_intervals_hold():
    """Misses of R intervals of 95 % are Binomial(R, 0.05): more than its quantile at 0.9995 are none."""
    pool, y, _ = made(1000, 2)
    study = ba.simulate(pool, y, ba.Metric(BOTH), designs=["variance_reduction"], budgets=[60], repeats=12, seed=3)
    ends = study.intervals["variance_reduction"][:, 0]
    missed = (study.truth < ends[..., 0]) | (study.truth > ends[..., 1])
    assert missed.sum(0).max() <= stats.binom(12, 0.05).ppf(0.9995)


@pytest.mark.slow
def test_a_ranking_is_summarised_tabulated_and_handed_to_arviz(tmp_path):
    pool, y, _ = made(300, 4)
    a = ba.assess(pool, ba.Metric(BOTH), journal=tmp_path / "run.db")
    ids = a.ask(20).ids
    a.tell(ids, y[ids])
    r = a.result()
    assert r.table()["measure"].tolist() == BOTH
    assert list(r.to_arviz()["posterior"].data_vars) == BOTH
    r.report(tmp_path / "report.html")
    assert "How high are ROC AUC and average precision?" in (tmp_path / "report.html").read_text()
    assert r.design_interval[1].tolist() == [0, 1]
    alone = a.result(question=ba.Metric("average_precision")).summary()
    assert "no ratio of sums, which random items alone could bound" in alone
    again = ba.resume(tmp_path / "run.db", pool)
    np.testing.assert_array_equal(again.result().estimate, r.estimate)


@pytest.mark.parametrize("design", ["variance_reduction", "passive"])
def test_labels_that_are_all_alike_are_said_to_have_no_order(design):
    for label, said in (
        (0, f"No item is positive: {' and '.join(BOTH)} are"),
        (1, "Every item is positive: roc_auc is"),
    ):
        a = ba.assess(ba.Pool(scores=np.linspace(0.1, 0.9, 8)), ba.Metric(BOTH), design=design)
        a.tell(range(7), [label] * 7)
        assert "not defined" not in a.result().summary()
        a.tell([7], [label])
        assert f"{said} not defined, and count{'s' * label} as 0." in a.result().summary()


@pytest.mark.parametrize("design", ["variance_reduction", "passive"])
def test_a_single_item_has_no_area_whatever_its_label_is(design):
    result = ba.assess(ba.Pool(scores=[0.4]), ba.Metric(BOTH), design=design).result()
    assert "roc_auc 0.000 (exact: no label that is missing can change it)." in result.summary()
    assert result.interval.tolist() == [[0, 0], [0, 1]]
