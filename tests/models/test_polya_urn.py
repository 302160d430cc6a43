"""Labels by an urn are Dirichlet-multinomial, and take the place of distributions where items are few."""

from __future__ import annotations

from itertools import product

import jax
import numpy as np
import pytest
from scipy import stats

from bayes_assess._tools import engine
from bayes_assess.models import HierarchicalConfusion, hierarchical_confusion
from bayes_assess.models._numerics.polya_urn import urn_counts

N = 40_000
ALPHA = np.array([[0.3, 0.0, 1.2, 0.7], [4.0, 1.0, 0.0, 0.0], [0.02, 0.01, 0.02, 0.0]])


@pytest.mark.parametrize("row", range(3))
@pytest.mark.parametrize("n", [1, 4, 6])
def test_counts_of_a_row_are_dirichlet_multinomial(row, n):
    items = np.array([2, 5, 3])
    items[row] = n
    found = urn_counts(np.random.default_rng([row, n]), np.broadcast_to(ALPHA, (N, 3, 4)), np.tile(items, (N, 1)))
    np.testing.assert_array_equal(found.sum(-1), np.tile(items, (N, 1)))
    assert (found[:, ALPHA == 0] == 0).all()
    possible = np.flatnonzero(ALPHA[row])
    kinds = [kind for kind in product(range(n + 1), repeat=len(possible)) if sum(kind) == n]
    expected = N * np.array([stats.dirichlet_multinomial(ALPHA[row, possible], n).pmf(kind) for kind in kinds])
    code = found[:, row][:, possible] @ (n + 1) ** np.arange(len(possible))
    seen = np.array([(code == np.array(kind) @ (n + 1) ** np.arange(len(possible))).sum() for kind in kinds])
    often = expected > 5  # the others together
    seen, expected = (np.append(x[often], x[~often].sum()) for x in (seen, expected))
    some = expected > 0
    statistic = ((seen - expected)[some] ** 2 / expected[some]).sum()
    assert statistic < stats.chi2.ppf(1 - 1e-5, max(some.sum() - 1, 1))


def test_rows_and_draws_are_independent():
    found = urn_counts(np.random.default_rng(0), np.ones((N, 2, 2)), np.full((N, 2), 3))[..., 0]
    others = found[:, 1], np.roll(found[:, 0], 1)
    for other in others:
        assert abs(np.corrcoef(found[:, 0], other)[0, 1]) < 4.5 / np.sqrt(N)


def test_rows_without_items_and_rows_with_one_possible_label():
    alpha = np.array([[1e9, 0.0, 1e-9], [0.0, 1e-12, 0.0], [0.0, 0.0, 0.0]])
    found = urn_counts(np.random.default_rng(0), alpha, np.array([5, 7, 0]))
    assert found.tolist() == [[5, 0, 0], [0, 7, 0], [0, 0, 0]]


def test_weak_rows_beside_strong_ones_keep_their_shares():
    alpha = np.tile([[1e9, 1e9, 0.0], [3e-9, 1e-9, 1e-9]], (N, 1, 1))
    first = urn_counts(np.random.default_rng(0), alpha, np.ones((N, 2), int))[:, 1].mean(0)
    assert (np.abs(first - [0.6, 0.2, 0.2]) < 4.5 * np.sqrt(0.24 / N)).all()


def test_many_items_have_the_shares_of_their_first_ones():
    """Of 5,000 items the share of a label is nearly a Beta variable: pointers are followed to their ends."""
    shares = urn_counts(np.random.default_rng(0), np.full((400, 2), 0.5), np.full(400, 5_000))[:, 0] / 5_000
    assert stats.kstest(shares, stats.beta(0.5, 0.5).cdf).pvalue > 1e-5


@pytest.mark.parametrize("n_labelled", [0, 3])
def test_pools_of_few_items_are_completed_alike_with_and_without_distributions(n_labelled, monkeypatch):
    rng = np.random.default_rng(0)
    scores, sizes = rng.dirichlet(np.ones(12), 12) + 2 * np.eye(12), np.array([2, 9, *[5] * 10])
    counts = np.zeros((12, 12), int)
    counts[np.arange(n_labelled), [0, 1, 5][:n_labelled]] = 2
    belief = HierarchicalConfusion.from_prior(mean_scores=scores / scores.sum(1, keepdims=True)).update_counts(counts)
    n, found = 4000, []
    for few in (True, False):
        monkeypatch.setattr(hierarchical_confusion, "are_few", lambda *_, few=few: few)
        with engine.eager():
            found.append(np.asarray(belief.pool_draws(jax.random.key(int(few)), n, counts, sizes)))
    urn, distributions = found
    np.testing.assert_allclose(urn.sum(-1), 1)
    for power in (1, 2):
        a, b = urn**power, distributions**power
        se = np.sqrt((a.var(0) + b.var(0)) / n) + 3 / n  # where all but a few draws are 0 a normal bound is too near
        assert (np.abs(a.mean(0) - b.mean(0)) < 4.5 * se).all()
    assert (urn[:, 0] == distributions[:, 0]).all() == (n_labelled > 0)  # all labelled
