"""What the papers say that does not hold: a counterexample of a few numbers each, worked out here by hand.

docs/papers.md names them; that the package does otherwise is tested beside what does it.
"""

from __future__ import annotations

import itertools

import jax.numpy as jnp
import numpy as np
import pytest

import bayes_assess as ba
from bayes_assess.acquisition.importance import blockwise_proposal
from bayes_assess.acquisition.poisson import inclusion_of_deviations
from bayes_assess.estimators.ranked_labels import debiased
from bayes_assess.models import DirichletTree
from bayes_assess.models.dirichlet_tree import Tree


def test_counting_the_predicted_class_learns_nothing_of_labels():
    # [ABA]'s code adds the predicted class to the counts of its row: the row of "cat" would be sure to be right.
    pool = ba.Pool(predictions=["cat"] * 40 + ["dog"] * 40, ids=np.arange(80))
    a = ba.assess(pool, ba.ConfusionMatrix(), design="random", seed=0)
    a.tell(np.arange(20), ["dog"] * 20)  # every "cat" so far is a dog
    matrix = a.result().estimate
    assert matrix[0, 1] > 0.8  # of 20 labels with a prior worth one label or so
    published = np.array([0.5 + 20, 0.5]) / 21
    assert published[1] < 0.05


def test_leaf_coordinates_are_negative_under_imbalance():
    # [NH] eq. (11) maximises over leaves, which takes the number of leaves below a node from its count.
    tree = Tree(256)
    counts = np.zeros((256, 2), np.int64)
    counts[:, 0], counts[-50:, 1] = 200, 1  # 50 positives, which is many of 51,250 items
    posterior = DirichletTree.from_prior(tree=tree, mean_scores=np.full((256, 2), [0.999, 0.001])).update(counts)
    of_positives = np.asarray(posterior.beta[0])[1]  # of the root's two children, 128 leaves each
    np.testing.assert_allclose(of_positives, [1.128, 51.128])
    assert (of_positives - 128 < 0).all()  # no maximum: the published code clips it
    assert (np.asarray(posterior.mean) > 0).all()  # over branches


def test_zero_variance_is_not_reached_by_two_accuracies():
    # [NH] appendix D: the gradient of an accuracy has one sign, and yet tr(Sigma) of two of them is not 0. Its proof
    # takes (sum of a)^2 to be at most the sum of a^2, for a of one sign, where it is at least that.
    n = 1_000
    wrong = np.zeros((2, n))
    wrong[0, :100], wrong[1, 50:125] = 1, 1  # errors of two systems, half of the first's shared
    risk = wrong.mean(1)
    norms = np.sqrt((wrong**2).sum(0))
    trace = norms.mean() ** 2 - risk @ risk  # eq. (7): (sum of v)^2 - ||Dg R||^2
    both, either = 0.05, 0.125
    assert trace == pytest.approx((either - both + np.sqrt(2) * both) ** 2 - 0.1**2 - 0.075**2)
    assert trace > 0.005
    # It is the least there is: what a proposal q costs, sum of p^2 ||l||^2 / q - ||R||^2, is no less for any other.
    rng = np.random.default_rng(0)
    for _ in range(20):
        q = norms * rng.gamma(5.0, size=n) + 1e-9
        q /= q.sum()
        assert (norms**2 / n**2 / q).sum() - risk @ risk > trace
    for one in wrong:  # of one accuracy it is 0
        assert one.mean() ** 2 - one.mean() ** 2 == 0


def test_the_norm_of_a_mean_loss_misses_items_that_weigh_against_each_other():
    # [NH]'s code averages the losses of a block, then takes the norm. Of F1 with half of the items predicted positive,
    # at F = 2/3: a positive label has Dg l in proportion to f - F (1 + f) / 2 of either sign, 1/3 and -1/3.
    gradient = np.array([1 - 2 / 3, -1 / 3])
    mean_then_norm = abs(gradient.mean())
    root_of_mean_square = np.sqrt((gradient**2).mean())
    assert mean_then_norm == pytest.approx(0, abs=1e-15)  # such a block would never be asked for
    assert root_of_mean_square == pytest.approx(1 / 3)
    norms = jnp.array([[0.0, abs(gradient[0])], [0.0, abs(gradient[1])]])  # two cells of one block, labels 0 and 1
    items = jnp.array([[0, 0, 1], [0, 0, 1]])
    ours = blockwise_proposal(norms, norms > 0, jnp.array([[0.0, 1.0]] * 2), 0.0, items, jnp.array([0, 0]), 1)
    np.testing.assert_allclose(ours, 1 / 3, rtol=1e-6)


def test_published_inclusion_probabilities_do_not_sum_to_the_budget():
    # [SEME] Algorithm 3: with j items saturated the rest has (M - j) / (H - S_j) h, one item too many.
    h, budget = np.array([10.0, 1.0, 1.0, 1.0, 1.0]), 3
    ours = inclusion_of_deviations(h, budget)
    assert ours.tolist() == [1.0, 0.5, 0.5, 0.5, 0.5]
    j = 2  # the smallest j for which the j-th largest does not saturate
    published = np.minimum(h * (budget - j) / (h.sum() - h[: j - 1].sum()), 1.0)
    assert published[1:].sum() + 1 == pytest.approx(2.0)
    assert ours.sum() == budget


def _two_rounds(losses, b1, b2, weights):
    """Expected total of two rounds of independent draws, over everything that may be drawn; weights of (U_1, U_2)."""
    n, total = len(losses), 0.0
    for first in itertools.product([False, True], repeat=n):
        first = np.array(first)
        chance = np.prod(np.where(first, b1, 1 - b1))
        for second in itertools.product([False, True], repeat=int((~first).sum())):
            drawn = np.zeros(n, bool)
            drawn[~first] = second
            of_second = np.prod(np.where(np.array(second), b2, 1 - b2)) if second else 1.0
            rounds = np.array([losses[first].sum() / b1, losses[first].sum() + losses[drawn].sum() / b2])
            total += chance * of_second * (np.array(weights(n, int((~first).sum()))) @ rounds)
    return total


def test_rounds_of_a_random_size_are_unbiased_in_equal_shares_and_not_by_what_is_left():
    # [SEME] (128) has equal shares. Weights by precision, n / (U (U - n)), follow the size of the first round, and so
    # its total. Sizes of rounds that are fixed leave them free of labels and of chance.
    losses = np.array([1.0, 1.0, 1.0, 0.0, 0.0])

    def by_precision(n, left):
        w = np.array([0.5 / n, 0.5 / max(left, 0.5)])  # half of what is left is expected to be drawn
        return w / w.sum()

    assert _two_rounds(losses, 0.5, 0.5, lambda n, left: [0.5, 0.5]) == pytest.approx(3, abs=1e-12)
    assert _two_rounds(losses, 0.5, 0.5, by_precision) < 3 - 0.1


def test_the_ratio_of_unbiased_totals_is_biased():
    # [SEME] takes F = f / g of Algorithm 2 for unbiased. One item was found, one of two others, seldom drawn, missed.
    f, g, b = np.array([1.0, 0.0, 0.0]), np.array([1.0, 0.5, 0.5]), np.array([1.0, 0.2, 0.2])
    expected = 0.0
    for drawn in itertools.product([False, True], repeat=3):
        s = np.array(drawn)
        if s[0]:
            expected += np.prod(np.where(s, b, 1 - b)) * (f[s] / b[s]).sum() / (g[s] / b[s]).sum()
    assert f.sum() / g.sum() == 0.5
    assert expected == pytest.approx(0.64 + 0.32 / 3.5 + 0.04 / 6)


def test_a_factor_of_one_third_does_not_bound_the_effect_of_annotators_who_err():
    # [ADA] sec. 2: within a factor 1 + eta of p for p >= 1/3. The mean label is p + eta (1 - 2 p).
    eta, p = 0.1, np.linspace(1 / 3, 1, 1_001)
    seen = p + eta * (1 - 2 * p)
    factor = np.maximum(seen / p, p / seen)
    beyond = p > (1 + eta) / (1 + 2 * eta)
    assert factor[-1] == pytest.approx(1 / 0.9)
    assert (factor > 1 + eta + 1e-12).tolist() == beyond.tolist()
    np.testing.assert_allclose(debiased(seen, eta), p, atol=1e-12)  # what `noise=` does
