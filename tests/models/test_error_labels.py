"""Labels of wrong predictions: those of further errors, whose other tests are with those of all models."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import special, stats

from bayes_assess._tools import engine
from bayes_assess.models.error_labels import ErrorLabels


@pytest.mark.parametrize("n", [3, 7], ids=["by the urn", "by distributions"])  # fewer, or more, than there are labels
def test_labels_of_further_errors_are_mixtures_of_beta_binomials(n):
    scores = np.array([[0.7, 0.2, 0.1], [0.1, 0.8, 0.1], [0.3, 0.1, 0.6]])
    told = np.float32([[0, 1, 3], [0, 0, 0], [2, 0, 0]])
    belief = replace(ErrorLabels.from_scores(scores), counts=told, log_weight=np.float32(np.linspace(0, 2, 8)))
    n_draws = 20_000
    wrong = np.tile([n, 2, n], (n_draws, 1))
    found = belief.completed(np.random.default_rng(0), wrong)
    np.testing.assert_array_equal(found.sum(-1), wrong)
    assert (found[:, range(3), range(3)] == 0).all()
    weight = special.softmax(np.float64(belief.log_weight))
    for row, (first, second) in enumerate([(1, 2), (0, 2), (0, 1)]):
        a, b = (np.float64(belief.base[:, row, label] + told[row, label]) for label in (first, second))
        size = wrong[0, row]
        pmf = stats.betabinom.pmf(np.arange(size + 1), size, a[:, None], b[:, None])
        expected = n_draws * weight @ pmf
        seen = np.bincount(found[:, row, first], minlength=size + 1)
        statistic = ((seen - expected) ** 2 / expected).sum()
        assert statistic < stats.chi2.ppf(1 - 1e-5, size)


def test_no_further_errors_have_no_labels():
    belief = ErrorLabels.from_scores(n_classes=4)
    assert belief.completed(np.random.default_rng(0), np.zeros((3, 4), int)).sum() == 0


def test_hypotheses_weigh_by_the_probability_of_all_labels_of_errors():
    """Of every row that is Dirichlet-multinomial, up to the number of orders, which all hypotheses have in common."""
    scores = np.array([[0.7, 0.2, 0.1], [0.1, 0.8, 0.1], [0.3, 0.1, 0.6]])
    belief = first = ErrorLabels.from_scores(scores)
    with engine.eager():
        for row, label in [(0, 1), (0, 2), (0, 0), (2, 0), (0, 1), (2, 2), (0, 1)]:
            belief = belief.observe(row, label, np.bool_(row != label))
    told = np.array([[0, 3, 1], [0, 0, 0], [1, 0, 0]])
    np.testing.assert_array_equal(belief.counts, told)
    expected = np.zeros(len(first.base))
    for row, others in enumerate([[1, 2], [0, 2], [0, 1]]):
        alpha, counts = np.float64(first.base[:, row][:, others]), told[row, others]
        expected += stats.dirichlet_multinomial(alpha, counts.sum()).logpmf(counts)
    found = np.float64(belief.log_weight)
    np.testing.assert_allclose(found - found[0], expected - expected[0], atol=1e-5)  # 32 bits
    # What labels to come are expected to be is by how much each would change the probability of all.
    for row, label in [(0, 1), (0, 2), (1, 0), (2, 0)]:
        with engine.eager():
            after = np.float64(belief.observe(row, label, np.bool_(True)).log_weight)
        chance = np.exp(special.logsumexp(after) - special.logsumexp(found))
        assert belief.mean[row, label] == pytest.approx(chance, rel=1e-4)
    weight = special.softmax(found)
    worth = weight @ first.base.sum(-1) + told.sum(-1)
    np.testing.assert_allclose(belief.strength, worth, rtol=1e-5)
