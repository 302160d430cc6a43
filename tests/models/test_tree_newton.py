from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from tree_em import em

from bayes_assess._tools import engine
from bayes_assess.models.dirichlet_tree import DirichletTree, Tree, newton
from bayes_assess.models.dirichlet_tree.latent import _problem, latent_prior
from bayes_assess.models.dirichlet_tree.newton import direction, move, objective


@pytest.fixture(autouse=True)
def _x64():
    with jax.enable_x64(True):
        yield


def near_a_solution(tree, n_classes):
    """A problem, and masses (C, b^D) a few percent off its solution, in interleaved order."""
    generator = np.random.default_rng(0)
    scores = generator.dirichlet(np.ones(n_classes), tree.n_leaves)
    prior = DirichletTree.from_prior(tree=tree, mean_scores=scores)
    n = jnp.asarray(generator.poisson(5 * scores), float)
    u = jnp.asarray(generator.poisson(60, tree.n_leaves), float)
    joint = np.asarray(em(prior, n, u, n_iterations=1000).joint)
    joint = joint * np.exp(0.03 * generator.normal(size=joint.shape))
    return _problem(latent_prior(prior), n, u), tree.interleave(jnp.asarray(joint.T))


@pytest.mark.slow
@pytest.mark.parametrize(("tree", "n_classes"), [(Tree(3), 2), (Tree(5, 4), 3)])
def test_the_pass_over_the_tree_solves_newtons_system_exactly(tree, n_classes):
    problem, mass = near_a_solution(tree, n_classes)
    real = np.flatnonzero(np.asarray(mass[0]) > 0)

    def masses(coordinates):  # log h, and log-odds against the first class
        log_size, odds = coordinates[: real.size], coordinates[real.size :].reshape(-1, real.size)
        share = jax.nn.softmax(jnp.concatenate([jnp.zeros((1, real.size)), odds]), axis=0)
        return jnp.zeros_like(mass).at[:, real].set(jnp.exp(log_size) * share)

    inside = np.asarray(mass)[:, real]
    here = jnp.asarray(np.concatenate([np.log(inside.sum(0)), np.log(inside[1:] / inside[0]).ravel()]))

    def value(coordinates):
        return objective(tree, problem, masses(coordinates))

    @jax.jit
    def by_tree_and_by_matrix(mass, here):
        step, rise = direction(tree, problem, mass)
        newton = -jnp.linalg.solve(jax.hessian(value)(here), jax.grad(value)(here))
        change = jax.jvp(lambda x: jnp.log(masses(x)[:, real]), (here,), (newton,))[1]
        gained = value(here + newton) - value(here)
        return (step[:, real], move(mass, step, 2.0), rise), (change, masses(here + newton), gained)

    (step, moved, rise), (change, expected, gained) = by_tree_and_by_matrix(mass, here)
    np.testing.assert_allclose(step, change, rtol=1e-7, atol=1e-10)
    np.testing.assert_allclose(moved, expected, rtol=1e-9)
    np.testing.assert_allclose(rise, gained, rtol=0.2)


def test_two_classes_in_closed_form_are_the_general_case(monkeypatch):
    tree = Tree(3)
    problem, mass = near_a_solution(tree, 2)
    pair, _ = jax.jit(lambda mass: direction(tree, problem, mass))(mass)
    monkeypatch.setattr(newton, "_Pair", newton._Dense)
    dense, _ = jax.jit(lambda mass: direction(tree, problem, mass))(mass)
    np.testing.assert_allclose(pair, dense, rtol=1e-9, atol=1e-12)


def test_a_long_step_is_cut_and_keeps_its_direction():
    mass = jnp.array([[0.4, 0.1], [0.2, 0.3]])
    step = jnp.array([[30.0, 0.0], [-10.0, 6.0]])
    cut = jax.jit(move)
    np.testing.assert_allclose(cut(mass, step, 1.0), cut(mass, step / 30, 9.0), rtol=1e-14)


@pytest.mark.parametrize("n_classes", [3, 10])
def test_leaves_of_many_classes_are_eliminated_as_by_dense_matrices(n_classes):
    """Also where an element of the diagonal is negative, and where the whole is not positive definite."""
    generator, n = np.random.default_rng(0), 400
    share = generator.dirichlet(np.ones(n_classes), n).T
    mass, size, weight = share * generator.gamma(1, 1, n), generator.gamma(2, 50, n), generator.normal(1, 5, n)
    pull = share * generator.gamma(1, 2, share.shape) * generator.choice([0.1, 1, 5], n)
    share[:, :20], mass[:, :20], pull[:, :20], size[:20], weight[:20] = 0, 0, 0, 0, 0  # padding
    gradient = generator.normal(size=share.shape) * (size > 0)
    with engine.eager():
        covariance, mean = newton._Dense.leaf(mass, share, weight, size, pull, gradient)
    kinds = set()
    for k in range(n):
        diagonal, outer = weight[k] * share[:, k] + pull[:, k], np.outer(share[:, k], share[:, k])
        precision = np.diag(diagonal) + (size[k] - weight[k]) * outer
        is_positive = k < 20 or np.linalg.eigvalsh(precision)[0] > 0
        if not is_positive:
            positive = max(weight[k], 0.0)
            precision = np.diag(positive * share[:, k] + abs(pull[:, k])) + (size[k] - positive) * outer
        inverse = np.linalg.inv(precision + (k < 20) * np.eye(n_classes))
        expected = np.outer(mass[:, k], mass[:, k]) * inverse
        np.testing.assert_allclose(covariance[..., k], expected, rtol=1e-7, atol=1e-9 * abs(expected).max())
        np.testing.assert_allclose(mean[:, k], mass[:, k] * (inverse @ gradient[:, k]), rtol=1e-6, atol=1e-9)
        kinds.add((bool(is_positive), int((diagonal < 0).sum().clip(0, 2))))
    assert {(True, 0), (True, 1), (False, 2)} <= kinds


def test_no_matrix_of_leaves_is_inverted(monkeypatch):
    tree = Tree(8)
    problem, mass = near_a_solution(tree, 3)
    inverted = []
    inverse = newton._inverse
    monkeypatch.setattr(newton, "_inverse", lambda matrix: inverted.append(matrix.shape[-1]) or inverse(matrix))
    jax.eval_shape(lambda problem, mass: direction(tree, problem, mass), problem, mass)  # which computes nothing
    assert sorted(inverted) == [1, 1, 2, 2, 4, 4]
