from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import pytest
from numpyro.infer.util import log_density
from scipy import stats
from tree_em import em

from bayes_assess.models.dirichlet_tree import (
    DirichletTree,
    Tree,
    fit_latent,
    latent_prior,
    latent_program,
    refresh,
    statistics,
)


@pytest.fixture(autouse=True)
def _x64():
    with jax.enable_x64(True):
        yield


def imbalanced_pool(n_items, prevalence, n_labels, n_blocks, seed=0):
    """A pool cut into blocks by a score that ranks well and is too high, and labels mostly from the top."""
    generator = np.random.default_rng(seed)
    labels = np.arange(n_items) < round(n_items * prevalence)
    score = 1 / (
        1 + np.exp(-0.6 * np.where(labels, generator.normal(1, 1.5, n_items), generator.normal(-3.5, 1.3, n_items)))
    )
    heights, edges = np.histogram(score, 5000)
    root = np.cumsum(np.sqrt(heights))
    cuts = np.interp(np.linspace(0, root[-1], n_blocks + 1)[1:-1], root, edges[1:])
    blocks = np.searchsorted(cuts, score)
    size = np.bincount(blocks, minlength=n_blocks)
    mean = np.bincount(blocks, score, n_blocks) / np.maximum(size, 1)
    weight = score * np.where(score > np.quantile(score, 0.999), 200, 1)
    chosen = generator.choice(n_items, n_labels, replace=False, p=weight / weight.sum())
    return blocks, labels.astype(int), size, np.stack([1 - mean, mean], 1), chosen


# -- a large pool ----------------------------------------------------------------------------------------------------


@pytest.fixture(
    scope="module",
    params=[Tree(64, 4), pytest.param(Tree(256), marks=pytest.mark.slow)],
    ids=["64 blocks", "256 blocks"],
)
def campaign(request):
    tree = request.param
    with jax.enable_x64(True):
        blocks, labels, size, scores, chosen = imbalanced_pool(700_000, 1 / 3000, 2000, tree.n_leaves)
        prior = DirichletTree.from_prior(tree=tree, mean_scores=scores)
        n = statistics(blocks[chosen], labels[chosen], tree.n_leaves, 2)
        return prior, n, size - n.sum(1), blocks[chosen], labels[chosen]


@pytest.mark.slow
def test_a_cold_start_arrives_in_a_dozen_steps_where_em_stands_still(campaign):
    prior, n, u, _, _ = campaign
    found, stuck = fit_latent(prior, n, u), em(prior, n, u, n_iterations=20)
    assert found.n_iterations <= 15
    np.testing.assert_allclose(em(prior, n, u, found).joint, found.joint, rtol=1e-6)
    assert stuck.theta[1] > 0.1  # the scores' own mean
    assert found.theta[1] < 0.03
    low = np.tile([1 - 1e-5, 1e-5], (len(n), 1)) / len(n)
    np.testing.assert_allclose(fit_latent(prior, n, u, low).pi, found.pi, rtol=1e-5)


@pytest.mark.slow
def test_a_refresh_of_two_steps_per_label_tracks_the_solution(campaign):
    prior, n, u, blocks, labels = campaign
    ready, blocks, labels = latent_prior(prior), blocks[-300:], labels[-300:]
    labelled, unlabelled = n - statistics(blocks, labels, len(n), 2), u + np.bincount(blocks, minlength=len(n))

    def one_label(carry, item):
        labelled, unlabelled, latent = carry
        labelled, unlabelled = labelled.at[item[0], item[1]].add(1.0), unlabelled.at[item[0]].add(-1.0)
        return (labelled, unlabelled, refresh(ready, labelled, unlabelled, latent)), None

    first = jnp.asarray(labelled, float), jnp.asarray(unlabelled, float), fit_latent(prior, labelled, unlabelled)
    items = jnp.asarray(np.stack([blocks, labels], 1))
    (labelled, unlabelled, latent), _ = jax.jit(lambda first: jax.lax.scan(one_label, first, items))(first)
    np.testing.assert_array_equal(labelled, n)
    exact = fit_latent(prior, n, u)
    np.testing.assert_allclose(latent.pi, exact.pi, rtol=1e-4)
    np.testing.assert_allclose(latent.theta[1], exact.theta[1], rtol=1e-5)


# -- NUTS and exact integration --------------------------------------------------------------------------------------


def exact_mean(prior, labelled, unlabelled, size=80):
    """Posterior mean and sd of theta_1 for two blocks and two classes, by quadrature over the unit cube."""
    x, w = np.polynomial.legendre.leggauss(size)
    x, w = (x + 1) / 2, w / 2
    t, a, b = np.meshgrid(x, x, x, indexing="ij")  # theta_1, psi_11 (class 1, block 1), psi_01
    weight = w[:, None, None] * w[:, None] * w
    joint = np.stack([np.stack([(1 - t) * (1 - b), t * (1 - a)], -1), np.stack([(1 - t) * b, t * a], -1)], -2)
    alpha, beta = np.asarray(prior.alpha), np.asarray(prior.beta[0])
    log = stats.beta.logpdf(t, alpha[1], alpha[0]) + stats.beta.logpdf(a, beta[1, 1], beta[1, 0])
    log += stats.beta.logpdf(b, beta[0, 1], beta[0, 0])
    log += (labelled * np.log(joint)).sum((-1, -2)) + (unlabelled * np.log(joint.sum(-1))).sum(-1)
    density = np.exp(log - log.max()) * weight
    mean = (density * t).sum() / density.sum()
    return mean, np.sqrt((density * (t - mean) ** 2).sum() / density.sum())


def test_the_solution_lies_at_the_exact_posterior_mean_up_to_a_part_of_its_width():
    tree = Tree(2)
    prior = DirichletTree.from_prior(tree=tree, mean_scores=[[0.8, 0.2], [0.3, 0.7]])
    n, u = np.array([[50, 8], [6, 40]]), np.array([30, 20])
    mean, sd = exact_mean(prior, n, u)
    found = fit_latent(prior, n, u)
    # In logits the mode of a Beta(a, b) distribution is its mean; what is left is the skewness that latent labels add.
    assert abs(found.theta[1] - mean) < 0.05 * sd


@pytest.mark.slow
def test_nuts_on_the_counts_has_the_exact_posterior_mean():
    prior = DirichletTree.from_prior(tree=Tree(2), mean_scores=[[0.8, 0.2], [0.3, 0.7]])
    n, u = np.array([[5, 1], [2, 4]]), np.array([30, 20])
    mean, _ = exact_mean(prior, n, u)
    sampler = numpyro.infer.MCMC(
        numpyro.infer.NUTS(latent_program), num_warmup=500, num_samples=4000, progress_bar=False
    )
    arguments = {"alpha": jnp.asarray(prior.alpha), "beta": tuple(map(jnp.asarray, prior.beta)), "tree": prior.tree}
    sampler.run(jax.random.PRNGKey(0), jnp.asarray(n), jnp.asarray(u), **arguments)
    draws = np.asarray(sampler.get_samples()["theta"])[:, 1]
    size = numpyro.diagnostics.effective_sample_size(draws[None])
    assert abs(draws.mean() - mean) < 5 * draws.std() / np.sqrt(size)


def test_counts_and_items_with_latent_labels_have_the_same_log_density():
    prior = DirichletTree.from_prior(tree=Tree(2), mean_scores=[[0.8, 0.2], [0.3, 0.7]])
    n, u = np.array([[1, 2], [0, 1]]), np.array([2, 1])
    sites = {"theta": jnp.array([0.3, 0.7]), "branch_1": jnp.array([[[0.2, 0.8]], [[0.6, 0.4]]])}
    arguments = {"alpha": prior.alpha, "beta": prior.beta, "tree": prior.tree}
    counted = jax.jit(lambda sites: log_density(latent_program, (n, u), arguments, sites)[0])(sites)
    joint = np.array([0.3, 0.7]) * np.array([[0.2, 0.6], [0.8, 0.4]])
    by_items = (n * np.log(joint)).sum() + (u * np.log(joint.sum(1))).sum()
    np.testing.assert_allclose(
        counted, by_items + prior.log_prob(sites["theta"], (sites["branch_1"][:, 0],)), rtol=1e-12
    )
