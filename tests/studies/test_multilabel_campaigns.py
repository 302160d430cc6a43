"""Studies on pools whose items may have several labels each."""

from __future__ import annotations

import numpy as np
import pytest

import bayes_assess as ba
from bayes_assess.designs import MULTILABEL
from bayes_assess.errors import BudgetError, DesignError, LabelError

M, C = 600, 6
REPEATS = 80
CLASSES = [f"c{c}" for c in range(C)]


def made(kind: str) -> tuple[ba.Pool, np.ndarray]:
    """A pool of labels of unequal frequency whose scores are good, shuffled, or right throughout."""
    rng = np.random.default_rng(2)
    logit = rng.normal(np.linspace(-4, 0, C), 2, (M, C))
    labels = rng.random((M, C)) < 1 / (1 + np.exp(-logit))
    scores = 1 / (1 + np.exp(-logit - rng.normal(0, 1, (M, C))))
    if kind == "shuffled":
        scores = scores[rng.permutation(M)]
    if kind == "right":
        labels = scores >= 0.5
    return ba.Pool(scores=scores, multilabel=True, classes=CLASSES), labels


MEASURES = ["f1_micro", "hamming_loss", "accuracy", "f1_macro"]
STUDIES = {}


def study_of(kind: str) -> ba.Study:
    if kind not in STUDIES:
        pool, labels = made(kind)
        options = {"budgets": [50, 75, 100], "repeats": REPEATS, "seed": 0, "batch": 50}
        STUDIES[kind] = ba.simulate(pool, labels, ba.Metric(MEASURES), designs=MULTILABEL, **options)
    return STUDIES[kind]


@pytest.mark.slow
def test_the_default_design_errs_less_than_random_items_on_means_over_items():
    """An item that is sure to have an F1 of 0 is far from the mean, and moves it if it is left out."""
    rng = np.random.default_rng(5)
    base = rng.beta(0.3, 3, 20)
    p = np.where(rng.random((2_000, 20)) < base, 0.98, 0.01)
    labels, pool = rng.random(p.shape) < p, ba.Pool(scores=p, multilabel=True)
    study = ba.simulate(
        pool, labels, ba.Metric("f1_samples"), designs=MULTILABEL, budgets=[60], repeats=60, seed=0, batch=30
    )
    error = {name: np.sqrt(((found - study.truth) ** 2).mean()) for name, found in study.estimates.items()}
    assert error["poisson"] < 0.7 * error["passive"]


# Each kind of pool is a study of its own.
@pytest.mark.slow
@pytest.mark.parametrize("kind", ["good", "shuffled"])
@pytest.mark.parametrize("design", MULTILABEL)
def test_mean_losses_are_unbiased_at_whole_batches_and_in_part(kind, design):
    """Means over campaigns agree with the truth within 3.5 standard errors."""
    study = study_of(kind)
    values = study.estimates[design][..., 1:3]
    error = values.std(0, ddof=1) / np.sqrt(REPEATS)
    assert (np.abs(values.mean(0) - study.truth[1:3]) < 3.5 * error).all()


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["shuffled", "good", "right"])
@pytest.mark.parametrize("design", MULTILABEL)
def test_intervals_hold_the_truth_as_often_as_they_promise(kind, design):
    """At least 0.95 less 3.5 standard errors of a share of the campaigns, and no less than 0.93 on average."""
    study = study_of(kind)
    ends = study.intervals[design]
    inside = ((ends[..., 0] <= study.truth + 1e-12) & (study.truth <= ends[..., 1] + 1e-12)).mean(0)
    assert inside.min() > 0.95 - 3.5 * np.sqrt(0.95 * 0.05 / REPEATS)
    assert inside.mean() > 0.93
    assert (np.diff(ends, axis=-1) > 0).all()


@pytest.mark.parametrize("design", MULTILABEL)
def test_the_stated_variance_of_mean_losses_is_that_of_the_campaigns(design):
    """Variances of systematic samples are overstated, rather; those of 80 campaigns have an error of .16."""
    record = study_of("shuffled").campaigns[design].record
    observed, stated = record.value[..., 1:3].var(0, ddof=1), record.variance[..., 1:3].mean(0)
    assert (observed < (1 + 3.5 * np.sqrt(2 / (REPEATS - 1))) * stated).all()
    assert (observed > 0.5 * stated).all()


@pytest.mark.slow
def test_optimal_probabilities_estimate_the_measure_that_they_are_for_with_less_error():
    pool, labels = made("good")
    study = ba.simulate(pool, labels, ba.Metric("f1_micro"), budgets=[50, 75, 100], repeats=REPEATS, seed=1, batch=50)
    assert list(study.campaigns) == ["passive", "poisson"]
    assert study.estimates["poisson"].shape == (REPEATS, 3)
    mse = {name: scores["mse"].mean(0) for name, scores in study.scores.items()}
    assert (mse["poisson"] < mse["passive"]).all()
    assert study.truth == pytest.approx(ba.Metric("f1_micro").truth(pool, labels))
    assert study.coverage["poisson"].shape == (3,)
    assert {"design", "labels", "mse"} <= set(study.table().columns)


@pytest.mark.parametrize("design", ["passive", pytest.param("poisson", marks=pytest.mark.slow)])
def test_campaigns_that_label_everything_are_exact(design):
    pool, labels = made("good")
    options = {"designs": design, "budgets": [M], "repeats": 3, "batch": 50}
    study = ba.simulate(pool, labels, ba.Metric("f1_macro"), **options)
    np.testing.assert_allclose(study.estimates[design], study.truth)
    np.testing.assert_allclose(study.intervals[design], study.truth)
    assert study.design_intervals[design] is None  # these designs keep none


@pytest.mark.slow
@pytest.mark.parametrize("design", ["passive", "poisson"])
def test_a_batch_that_the_last_budget_ends_is_a_whole_one(design):
    """Its labels have all come, however many more a batch could have had."""
    pool, labels = made("good")
    whole, longer = (
        ba.simulate(pool, labels, ba.Metric("f1_micro"), designs=design, budgets=[25, 50], repeats=5, batch=batch)
        for batch in (50, 400)
    )
    np.testing.assert_array_equal(longer.estimates[design], whole.estimates[design])
    np.testing.assert_array_equal(longer.intervals[design], whole.intervals[design])


@pytest.mark.slow
def test_a_seed_decides_a_study():
    pool, labels = made("good")
    options = {"designs": "passive", "budgets": [25, 50], "repeats": 5, "batch": 50}  # of a known program
    first, again, other = (
        ba.simulate(pool, labels, ba.Metric("f1_micro"), seed=seed, **options).estimates["passive"]
        for seed in (0, 0, 1)
    )
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()


def test_bad_arguments_are_refused():
    pool, labels = made("good")
    with pytest.raises(BudgetError, match="fewer than the budget"):
        ba.simulate(pool, labels, ba.Metric("f1_micro"), budgets=[M + 1])
    with pytest.raises(DesignError, match="these can: 'poisson', 'passive'"):
        ba.simulate(pool, labels, ba.Metric("f1_micro"), designs=["adaptive"])
    with pytest.raises(LabelError):
        ba.simulate(pool, labels[:-1], ba.Metric("f1_micro"))
