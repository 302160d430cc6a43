"""Draws by NumPy's generator, of many campaigns at once: those of the beliefs, and what matches their moments."""

from __future__ import annotations

import numpy as np
import pytest

from bayes_assess._tools import engine
from bayes_assess.models import (
    BetaBernoulli,
    DirichletConfusion,
    HierarchicalAccuracy,
    HierarchicalCalibration,
    HierarchicalConfusion,
    PairedOutcomes,
    _bases,
)
from bayes_assess.models.alike_or_apart import AlikeOrApart
from bayes_assess.models.belief import draws_on_host, is_mixture
from bayes_assess.models.nested_dirichlet import NestedDirichlet
from bayes_assess.models.separate_curves import SeparateCurves
from bayes_assess.models.true_positive_rate import true_positive_rate

N = 20_000
AGREEMENTS = np.array([[[2, 8], [5, 5], [0, 0]], [[1, 30], [9, 3], [4, 4]]])  # of two campaigns
ROWS = np.array([[[5, 1, 0], [2, 8, 1], [0, 0, 0]], [[9, 0, 3], [1, 4, 4], [2, 2, 30]]])
POSITIVE = np.array([[[1, 5, 4], [0, 9, 1], [0, 0, 0]], [[3, 3, 9], [0, 0, 5], [7, 1, 1]]])
LEARNED = HierarchicalAccuracy.from_prior(n_groups=3)
CURVES = HierarchicalCalibration.from_prior(score=[[0.6, 0.75, 0.9]], size=[[50, 50, 50]])
GROUPS = HierarchicalCalibration.from_prior(score=[[0.6], [0.75], [0.9]], size=[[50], [50], [50]])

BELIEFS = {
    "beta": (BetaBernoulli.from_prior(n_groups=3), AGREEMENTS),
    "dirichlet": (DirichletConfusion.from_prior(n_predictions=3, n_classes=3), ROWS),
    "impossible": (DirichletConfusion(np.array([[1.0, 0.0, 2.0]] * 3)), ROWS * [1, 0, 1]),
    "paired": (PairedOutcomes.from_prior(n_groups=2), np.array([[[5, 1, 0, 2], [0, 1, 3, 9]]] * 2)),
    "nested": (NestedDirichlet(np.ones(3), np.ones(3), 1.0 - np.eye(3), np.arange(3)), ROWS),
    "accuracy": (LEARNED, AGREEMENTS),
    "confusion": (HierarchicalConfusion.from_prior(n_classes=3), ROWS),
    "curve": (CURVES, AGREEMENTS),
    "curves of groups": (GROUPS, AGREEMENTS),
    "recall": (true_positive_rate(LEARNED, LEARNED), POSITIVE),
}


@pytest.mark.parametrize("name", BELIEFS)
def test_draws_have_the_moments_of_the_belief(name):
    """Fourth moments of these distributions are below six times those of normal ones."""
    prior, counts = BELIEFS[name]
    assert draws_on_host(prior)
    with engine.eager():
        posterior, rng = prior.update_counts(counts), np.random.default_rng(0)
        draws = posterior.components(rng, (N,)).draw(rng) if is_mixture(posterior) else posterior.draw(rng, (N,))
        mean, variance = np.asarray(posterior.mean), np.asarray(posterior.variance)
    assert draws.shape == (N, *mean.shape)
    assert (np.abs(draws.mean(0) - mean) <= 5 * np.sqrt(variance / N) + 1e-12).all()
    some = variance > 1e-12
    assert (np.abs(draws.var(0)[some] / variance[some] - 1) < 5 * np.sqrt(17 / N)).all()


@pytest.mark.parametrize("name", [name for name, (prior, _) in BELIEFS.items() if is_mixture(prior)])
def test_what_is_matched_has_the_same_means_and_variances(name):
    prior, counts = BELIEFS[name]
    with engine.eager():
        posterior = prior.update_counts(counts)
        matched = posterior.matched()
        for of in ("mean", "variance"):
            np.testing.assert_allclose(getattr(matched, of), getattr(posterior, of), rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("name", [name for name, (prior, _) in BELIEFS.items() if is_mixture(prior)])
def test_campaigns_learned_at_once_on_numpy_are_those_learned_alone(name):
    prior, counts = BELIEFS[name]
    with engine.eager():
        together, alone = prior.update_counts(counts), [prior.update_counts(one) for one in counts]
        for number, one in enumerate(alone):
            for of in ("mean", "variance"):
                np.testing.assert_allclose(getattr(together, of)[number], getattr(one, of), rtol=1e-9)


def test_draws_of_beliefs_to_answer_by_have_their_moments():
    apart = SeparateCurves.of(GROUPS, AGREEMENTS, [0, 2])
    mixed = AlikeOrApart.of(GROUPS, AGREEMENTS)
    for belief, some in ((apart, [0, 2]), (mixed, [0, 1, 2])):
        draws, mean, variance = (
            np.asarray(x)[..., some] for x in (belief.draws(np.random.default_rng(1), N), belief.mean, belief.variance)
        )
        assert (np.abs(draws.mean(0) - mean) < 5 * np.sqrt(variance / N)).all()
        assert (np.abs(draws.var(0) / variance - 1) < 5 * np.sqrt(17 / N)).all()
    assert not apart.draws(np.random.default_rng(1), 5)[..., 1].any()


def test_moments_of_a_point_have_parameters_that_are_finite():
    found = BetaBernoulli.of_moments(np.array([0.0, 1.0, 0.3]), np.zeros(3))
    assert np.isfinite(found.a).all()
    assert np.isfinite(found.b).all()
    np.testing.assert_allclose(found.mean, [0.0, 1.0, 0.3], atol=1e-9)


def test_draws_of_a_large_matrix_in_a_pool_have_the_moments_of_the_belief(monkeypatch):
    """They come from NumPy's generator; in a large pool hardly an item is labelled, and chance is small."""
    prior, (counts, _) = BELIEFS["confusion"]
    with engine.eager():
        posterior, key, sizes = prior.update_counts(counts), engine.random.key(0), np.full(3, 10**9)
        few = posterior.pool_draws(key, N, counts, sizes)
        monkeypatch.setattr(_bases, "MANY_VALUES", 9)
        draws = posterior.pool_draws(key, N, counts, sizes)
        again = posterior.pool_draws(key, N, counts, sizes)
    assert not np.array_equal(few, draws)
    np.testing.assert_array_equal(again, draws)
    mean, variance = np.asarray(posterior.mean), np.asarray(posterior.variance)
    assert (np.abs(draws.mean(0) - mean) <= 5 * np.sqrt(variance / N)).all()
    assert (np.abs(draws.var(0) / variance - 1) < 5 * np.sqrt(17 / N)).all()
