from __future__ import annotations

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpyro.infer.util import log_density
from scipy import optimize, special, stats
from tree_em import em

from bayes_assess._tools import engine
from bayes_assess.errors import LabelError, PriorError
from bayes_assess.models.dirichlet_tree import (
    DirichletTree,
    Tree,
    fit_latent,
    latent_prior,
    log_posterior,
    program,
    statistics,
)
from bayes_assess.models.dirichlet_tree.explicit import explicit_tree

# Two classes on an uneven binary tree, three on a tree of up to four children; a size each, for the compiler's sake.
PAIR, TRIPLE = Tree(5), Tree(6, 4)


@pytest.fixture(autouse=True)
def _x64():
    with jax.enable_x64(True):
        yield


def a_prior(tree, n_classes, seed=0):
    scores = np.random.default_rng(seed).dirichlet(np.ones(n_classes), tree.n_leaves)
    return DirichletTree.from_prior(tree=tree, mean_scores=scores)


def some_counts(tree, n_classes, n_labels=60, n_items=400, seed=1):
    generator = np.random.default_rng(seed)
    cells = generator.dirichlet(np.full(tree.n_leaves * n_classes, 0.3))
    labelled = generator.multinomial(n_labels, cells).reshape(tree.n_leaves, n_classes)
    return labelled, generator.multinomial(n_items, generator.dirichlet(np.ones(tree.n_leaves)))


def families(tree, level):
    """The families of siblings of a level as lists of node numbers, only children too."""
    nodes = list(range(tree.n_nodes(level)))
    return [nodes[i : i + tree.branching] for i in range(0, len(nodes), tree.branching)]


def branches_of(tree, psi):
    branches, sums = [], np.asarray(psi)
    for level in range(tree.n_levels, 0, -1):
        groups = families(tree, level)
        total = np.stack([sums[:, children].sum(-1) for children in groups], -1)
        branches.insert(0, sums / np.repeat(total, [len(children) for children in groups], axis=-1))
        sums = total
    return branches


# -- the prior -------------------------------------------------------------------------------------------------------


def test_the_prior_counts_scores_below_a_node_and_the_square_of_its_depth():
    scores = np.random.default_rng(0).dirichlet([1, 2, 3], 6)
    prior = DirichletTree.from_prior(2.0, tree=TRIPLE, mean_scores=scores)
    np.testing.assert_allclose(prior.alpha, 1 + 2 * scores.sum(0), rtol=1e-14)
    np.testing.assert_allclose(prior.beta[0][:, 1], 1 + 2 * scores[4:].sum(0), rtol=1e-14)
    np.testing.assert_allclose(prior.beta[1], 4 + 2 * scores.T, rtol=1e-14)


def test_without_scores_the_prior_is_one_per_class_and_the_square_of_the_depth():
    prior = DirichletTree.from_prior(tree=PAIR, n_classes=3)
    assert np.asarray(prior.alpha).tolist() == [1, 1, 1]
    assert [np.unique(beta).tolist() for beta in prior.beta] == [[1], [4], [9]]
    assert [beta.shape for beta in prior.beta] == [(3, 2), (3, 3), (3, 5)]


@pytest.mark.parametrize("bad", [-0.01, 1.01, np.nan, np.inf])
def test_a_mean_score_outside_its_range_is_refused_with_its_place(bad):
    with pytest.raises(PriorError, match="block 1, class 0 has"):
        DirichletTree.from_prior(tree=Tree(2), mean_scores=[[0.5, 0.5], [bad, 0.5]])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "Pass either"),
        ({"n_classes": 2, "mean_scores": np.ones((5, 2))}, "Pass either"),
        ({"mean_scores": np.ones((4, 2))}, r"each of 5 blocks .* found \(4, 2\)"),
        ({"n_classes": 2, "strength": np.nan}, "positive number of labels"),
    ],
)
def test_a_prior_that_cannot_be_is_refused(arguments, message):
    with pytest.raises(PriorError, match=message):
        DirichletTree.from_prior(tree=PAIR, **arguments)


def test_counts_that_cannot_be_are_refused():
    prior = a_prior(PAIR, 2)
    bad = np.zeros((5, 2))
    bad[3, 1] = -1
    with pytest.raises(LabelError, match=r"0 or more; one is -1\.0"):
        prior.update(bad)
    with pytest.raises(LabelError, match=r"\(5, 2\); found \(2, 5\)"):
        prior.update(np.zeros((2, 5)))
    with pytest.raises(LabelError, match=r"labelled items are finite and 0 or more; one is -1\.0"):
        fit_latent(prior, bad, np.zeros(5))
    with pytest.raises(LabelError, match="unlabelled"):
        fit_latent(prior, np.zeros((5, 2)), np.full(5, np.inf))
    with pytest.raises(LabelError, match=r"found \(5, 2\), \(4,\)"):
        fit_latent(prior, np.zeros((5, 2)), np.zeros(4))
    with pytest.raises(LabelError, match=r"positive masses of shape \(5, 2\)"):
        fit_latent(prior, np.zeros((5, 2)), np.ones(5), bad)
    with pytest.raises(LabelError, match="codes from 0 to 4; item 1 has 5"):
        statistics([0, 5], [0, 0], 5, 2)


def test_a_mode_that_does_not_exist_is_refused():
    weak = DirichletTree(np.array([0.5, 2.0]), a_prior(PAIR, 2).beta, PAIR)
    with pytest.raises(PriorError, match="1 or more"):
        latent_prior(weak, "mode")
    with pytest.raises(PriorError, match="'mean' or 'mode'"):
        latent_prior(weak, "median")


# -- complete data ---------------------------------------------------------------------------------------------------


def test_updates_add_up_in_any_order_and_any_weights():
    prior, (first, second) = a_prior(TRIPLE, 3), some_counts(TRIPLE, 3)
    weighted = np.outer(second, [0.5, 0.25, 2.0])
    a, b = prior.update(first).update(weighted), prior.update(weighted + first)
    np.testing.assert_allclose(a.alpha, b.alpha, rtol=1e-14)
    for x, y in zip(a.beta, b.beta, strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-14)


@pytest.mark.slow
@pytest.mark.parametrize(("tree", "n_classes"), [(PAIR, 2), (TRIPLE, 3)])
def test_log_joint_of_the_program_less_log_posterior_is_the_log_marginal_everywhere(tree, n_classes):
    prior = a_prior(tree, n_classes)
    counts, _ = some_counts(tree, n_classes, n_labels=20)
    blocks, labels = np.repeat(np.indices(counts.shape).reshape(2, -1), counts.ravel(), axis=1)
    assert (statistics(blocks, labels, *counts.shape) == counts).all()
    posterior, generator = prior.update(counts), np.random.default_rng(2)
    arguments = {"alpha": jnp.asarray(prior.alpha), "beta": tuple(map(jnp.asarray, prior.beta)), "tree": tree}
    log_joint = jax.jit(lambda sites: log_density(program, (blocks, labels), arguments, sites)[0])
    for _ in range(2):
        theta = generator.dirichlet(np.ones(n_classes))
        branches = branches_of(tree, generator.dirichlet(np.ones(tree.n_leaves), n_classes))
        sites = {"theta": jnp.asarray(theta)}
        for level, branch in enumerate(branches, start=1):
            for part in tree.split(branch, level):
                sites[f"branch_{level}" + ("" if part.shape[-1] == tree.branching else "_last")] = part
        np.testing.assert_allclose(
            log_joint(sites) - posterior.log_prob(theta, branches), prior.log_marginal(counts), rtol=1e-12
        )


def test_the_log_marginal_is_scipys_family_by_family():
    prior, (counts, _) = a_prior(TRIPLE, 3), some_counts(TRIPLE, 3)

    def sequence(n, a):  # the Dirichlet-multinomial distribution counts orderings; a sequence of labels is one of them
        orderings = special.gammaln(n.sum() + 1) - special.gammaln(n + 1).sum()
        return stats.dirichlet_multinomial.logpmf(n, a, n.sum()) - orderings

    expected = sequence(counts.sum(0), prior.alpha)
    for level, total in enumerate(TRIPLE.sums(counts.T)[1:], start=1):
        for y, children in ((y, children) for y in range(3) for children in families(TRIPLE, level)):
            n, a = np.asarray(total)[y, children].astype(int), np.asarray(prior.beta[level - 1])[y, children]
            expected += sequence(n, a)
    np.testing.assert_allclose(prior.log_marginal(counts), expected, rtol=1e-12)


def test_the_mean_is_the_probability_of_the_next_item():
    posterior = a_prior(PAIR, 2).update(some_counts(PAIR, 2)[0])
    single = np.eye(10).reshape(10, 5, 2)
    np.testing.assert_allclose(np.exp(posterior.log_marginal(single)), np.asarray(posterior.mean).ravel(), rtol=1e-12)
    np.testing.assert_allclose(np.asarray(posterior.predictive).sum(-1), 1, rtol=1e-14)


def test_a_flat_tree_is_a_dirichlet_law_over_the_blocks():
    tree, (counts, _) = Tree.flat(5), some_counts(PAIR, 2)
    prior = a_prior(tree, 2)
    posterior = prior.update(counts)
    theta = (np.asarray(prior.alpha) + counts.sum(0)) / (np.asarray(prior.alpha).sum() + counts.sum())
    psi = np.asarray(prior.beta[0]) + counts.T
    joint = theta[:, None] * psi / psi.sum(-1, keepdims=True)
    np.testing.assert_allclose(posterior.predictive, (joint / joint.sum(0)).T, rtol=1e-13)


@pytest.mark.slow
@pytest.mark.parametrize("on_host", [False, True])
def test_draws_have_the_mean_of_the_law_and_sum_to_one(on_host):
    posterior = a_prior(PAIR, 2).update(some_counts(PAIR, 2)[0])
    by_key = partial(posterior.sample, jax.random.key(0))
    theta, psi = posterior.drawn(np.random.default_rng(0), 4000) if on_host else by_key(4000)
    np.testing.assert_allclose(np.asarray(psi).sum(-1), 1, rtol=1e-12)
    joint = np.swapaxes(np.asarray(theta)[..., None] * np.asarray(psi), 1, 2)  # theta and psi are independent
    error = (joint.mean(0) - np.asarray(posterior.mean)) / (joint.std(0) / np.sqrt(len(joint)))
    assert np.abs(error).max() < 4.5


@pytest.mark.slow
def test_draws_on_the_host_have_the_law_of_the_others():
    """Fourth moments of these distributions are below six times those of normal ones."""
    n = 20_000
    for tree in (PAIR, TRIPLE, explicit_tree([[0, 1], [2, [3, 4]]])):
        posterior = a_prior(tree, 2).update(some_counts(tree, 2)[0])
        drawn = posterior.drawn(np.random.default_rng(0), n)
        with engine.eager():  # as compiled steps draw, without compiling three trees
            sampled = posterior.sample(engine.random.key(0), n)
        for one, other in zip(drawn, map(np.asarray, sampled), strict=True):
            spread = np.maximum(other.std(0), 1e-9)
            assert (np.abs(one.mean(0) - other.mean(0)) < 5 * spread * np.sqrt(2 / n)).all()
            assert (np.abs(np.log(np.maximum(one.std(0), 1e-9) / spread)) < 5 * np.sqrt(17 / 2 / n)).all()


# -- latent labels ---------------------------------------------------------------------------------------------------


def naive_log_posterior(tree, prior, labelled, unlabelled, logits, less):
    """The log posterior in branch logits, by a walk over families; `less` 0 takes the logits' Jacobian along."""
    n_classes = len(prior.alpha)
    theta, position = jax.nn.log_softmax(logits[:n_classes]), n_classes
    value, paths = ((prior.alpha - less) * theta).sum(), jnp.zeros((n_classes, 1))
    for level in range(1, tree.n_levels + 1):
        branch = []
        for children in families(tree, level):
            size = len(children)
            piece = logits[position : position + n_classes * size].reshape(n_classes, size)
            position += n_classes * size
            branch.append(jax.nn.log_softmax(piece))
            if size > 1:
                value += ((jnp.asarray(prior.beta[level - 1])[:, jnp.array(children)] - less) * branch[-1]).sum()
        sizes = [part.shape[1] for part in branch]
        paths = jnp.repeat(paths, jnp.array(sizes), axis=1, total_repeat_length=sum(sizes)) + jnp.concatenate(branch, 1)
    joint = theta[:, None] + paths
    return value + (labelled.T * joint).sum() + (unlabelled * jax.nn.logsumexp(joint, axis=0)).sum()


def logits_of(tree, joint):
    joint = np.asarray(joint)
    parts = [np.log(joint.sum(0))]
    for level, branch in enumerate(branches_of(tree, joint.T), start=1):
        parts += [np.log(branch[:, children]).ravel() for children in families(tree, level)]
    return np.concatenate(parts)


@partial(jax.jit, static_argnums=1)
@jax.value_and_grad
def _loss(logits, tree, prior, n, u, less):
    return -naive_log_posterior(tree, prior, n, u, logits, less)


@pytest.mark.parametrize(
    ("tree", "n_classes", "point"),
    [(PAIR, 2, "mean"), (PAIR, 2, "mode"), pytest.param(TRIPLE, 3, "mean", marks=pytest.mark.slow)],
)
def test_the_solution_is_a_stationary_point_that_scipy_cannot_improve(tree, n_classes, point):
    prior, (n, u) = a_prior(tree, n_classes), some_counts(tree, n_classes)
    found = fit_latent(prior, n, u, point=point)
    given = prior, jnp.asarray(n), jnp.asarray(u)

    def loss(logits):
        return _loss(logits, tree, *given, float(point == "mode"))

    here = logits_of(tree, found.joint)
    value, gradient = loss(here)
    assert np.abs(gradient).max() < 1e-6  # of counts of some hundreds
    generator = np.random.default_rng(3)
    best = min(
        optimize.minimize(loss, generator.normal(size=here.size), jac=True, method="L-BFGS-B").fun for _ in range(2)
    )
    assert value <= best + 1e-9 * abs(best)
    # Up to a constant, it is also the package's own log posterior.
    other = em(prior, n, u, n_iterations=3).joint
    rise = log_posterior(prior, n, u, found.joint, point=point) - log_posterior(prior, n, u, other, point=point)
    np.testing.assert_allclose(rise, loss(logits_of(tree, other))[0] - value, rtol=1e-9)


@pytest.mark.parametrize("alpha", [[0.2, 0.1], [300.0, 4.0]])
def test_any_positive_prior_of_the_classes_will_do(alpha):
    prior, (n, u) = a_prior(PAIR, 2), some_counts(PAIR, 2)
    prior = DirichletTree(np.array(alpha), prior.beta, PAIR)
    found = fit_latent(prior, n, u)
    assert found.gap < 1e-10
    np.testing.assert_allclose(em(prior, n, u, found).joint, found.joint, rtol=1e-7)


def test_plain_em_climbs_to_the_same_point():
    prior, (n, u) = a_prior(PAIR, 2), some_counts(PAIR, 2)
    found, path = fit_latent(prior, n, u), [em(prior, n, u, n_iterations=i) for i in (0, 1, 10, 100, 20_000)]
    values = [float(log_posterior(prior, n, u, step.joint)) for step in path]
    assert np.all(np.diff(values) > -1e-9)
    np.testing.assert_allclose(path[-1].joint, found.joint, rtol=1e-6)


def test_a_pool_with_all_labels_known_is_the_conjugate_posterior_mean():
    prior, (n, _) = a_prior(PAIR, 2), some_counts(PAIR, 2)
    found = fit_latent(prior, n, np.zeros(5))
    np.testing.assert_allclose(found.joint, prior.update(n).mean, rtol=1e-9)
    np.testing.assert_allclose(found.pi, prior.update(n).predictive, rtol=1e-9)
    np.testing.assert_allclose(np.asarray(found.theta) * np.asarray(found.psi).T, found.joint, rtol=1e-12)


def test_blocks_without_items_and_a_start_far_off_do_no_harm():
    prior, (n, u) = a_prior(PAIR, 2), some_counts(PAIR, 2)
    n[2], u[2] = 0, 0
    far = np.tile([1 - 1e-7, 1e-7], (5, 1)) / 5
    first, second = fit_latent(prior, n, u), fit_latent(prior, n, u, far)
    assert np.isfinite(first.joint).all()
    np.testing.assert_allclose(first.joint, second.joint, rtol=1e-5)


def test_the_leaf_form_of_the_m_step_breaks_under_imbalance_and_branch_coordinates_do_not():
    tree = Tree(64, 4)
    counts = np.zeros((64, 2))
    counts[:, 0], counts[48:56, 1] = 1000, 1  # 8 positives, all in the last quarter
    prior = DirichletTree.from_prior(tree=tree, n_classes=2)
    share = {
        p: np.asarray(em(prior, counts, np.zeros(64), point=p).psi)[1, 48:].sum() for p in ("mean", "mode", "leaf")
    }
    assert share["mean"] > 0.7
    assert share["mode"] > 0.7
    assert share["leaf"] < 0.3  # every quarter has more leaves than there are positives: 1/4 each at the root
