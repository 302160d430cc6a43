"""Trees of nested families: the same passes and the same model as trees by their branching, and any other."""

from __future__ import annotations

import jax
import numpy as np
import pytest

import bayes_assess as ba
from bayes_assess.designs import Adaptive
from bayes_assess.errors import DesignError, PartitionError
from bayes_assess.models.dirichlet_tree import DirichletTree, Tree, explicit_tree, fit_latent, log_posterior
from bayes_assess.sessions.description import describe_design, described_design

RAGGED = [[2, 0], [[1, 5, 7], 3], 4, [[[6]]]]


@pytest.fixture(autouse=True)
def _x64():
    with jax.enable_x64(True):
        yield


def children_of(tree: Tree):
    """The nested families of a tree by its branching."""
    level = list(range(tree.n_leaves))
    for _ in range(tree.n_levels):
        level = [level[i : i + tree.branching] for i in range(0, len(level), tree.branching)]
    return level[0]


def leaves(node) -> list[int]:
    return [leaf for child in node for leaf in leaves(child)] if isinstance(node, list) else [node]


def walk(node, level=0):
    """Every family of more than one child, with the level that the children are on."""
    if isinstance(node, list):
        if len(node) > 1:
            yield node, level + 1
        for child in node:
            yield from walk(child, level + 1)


def naive_log_posterior(scores, labelled, unlabelled, joint):
    """Density of theta and of every family's branches in logits, by a walk over the nested lists ([NH] eq. 11)."""
    joint = joint / joint.sum()
    value = (labelled * np.log(joint)).sum() + (unlabelled * np.log(joint.sum(1))).sum()
    theta = joint.sum(0)
    for y in range(joint.shape[1]):
        value += (1 + scores[:, y].sum()) * np.log(theta[y])
        for family, level in walk(RAGGED):
            below = [leaves(child) for child in family]
            total = joint[np.concatenate(below).astype(int), y].sum()
            for child in below:
                value += (level**2 + scores[child, y].sum()) * np.log(joint[child, y].sum() / total)
    return value


def counts(seed=0, n_classes=2):
    rng = np.random.default_rng(seed)
    scores = rng.dirichlet(np.ones(n_classes), 8)
    return scores, rng.poisson(3.0, (8, n_classes)).astype(float), rng.poisson(50.0, 8).astype(float)


def test_every_level_sums_the_leaves_of_its_nodes():
    tree = explicit_tree(RAGGED)
    sums = [level.tolist() for level in jax.jit(tree.sums)(2.0 ** np.arange(8))]
    assert sums[0] == [255]
    assert sums[1] == [1 + 4, 2 + 32 + 128 + 8, 16, 64]
    assert sorted(sums[2]) == sorted([1, 4, 2 + 32 + 128, 8, 16, 64])
    assert sums[-1] == (2.0 ** np.arange(8)).tolist()


TREES = Tree(5, 3), Tree(11, 3), Tree(8), Tree.flat(6), Tree(5, 2, 4)


# Fits take seconds to compile, as does what has more levels.
@pytest.mark.parametrize(
    ("tree", "fits"),
    [(TREES[0], False), *(pytest.param(tree, True, marks=pytest.mark.slow) for tree in TREES)],
    ids=str,
)
def test_nested_families_of_a_tree_by_its_branching_are_the_same_model(tree, fits):
    rng, same = np.random.default_rng(1), explicit_tree(children_of(tree))
    assert (same.n_leaves, same.n_levels) == (tree.n_leaves, tree.n_levels)
    scores = rng.dirichlet(np.ones(3), tree.n_leaves)
    labelled, unlabelled = rng.poisson(1.0, (tree.n_leaves, 3)), rng.poisson(40.0, tree.n_leaves)
    one, other = (DirichletTree.from_prior(tree=t, mean_scores=scores) for t in (tree, same))
    np.testing.assert_allclose(other.mean, one.mean, rtol=1e-12)
    np.testing.assert_allclose(other.update(labelled).mean, one.update(labelled).mean, rtol=1e-12)
    if not fits:
        return
    first, second = (fit_latent(prior, labelled, unlabelled) for prior in (one, other))
    np.testing.assert_allclose(second.pi, first.pi, rtol=1e-7)
    assert float(log_posterior(other, labelled, unlabelled, first.joint)) == pytest.approx(
        float(log_posterior(one, labelled, unlabelled, first.joint)), rel=1e-12
    )


@pytest.mark.slow
@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_log_posterior_is_that_of_a_walk_over_the_families_and_the_fit_its_maximum(n_classes):
    scores, labelled, unlabelled = counts(n_classes=n_classes)
    prior = DirichletTree.from_prior(tree=explicit_tree(RAGGED), mean_scores=scores)
    found = fit_latent(prior, labelled, unlabelled)
    joint, rng = np.asarray(found.joint), np.random.default_rng(3)
    best = naive_log_posterior(scores, labelled, unlabelled, joint)
    assert int(found.n_iterations) <= 12
    for scale in (1e-3, 1e-1):
        for _ in range(20):
            other = joint * np.exp(scale * rng.normal(size=joint.shape))
            naive = naive_log_posterior(scores, labelled, unlabelled, other)
            assert naive < best
            difference = log_posterior(prior, labelled, unlabelled, other) - log_posterior(
                prior, labelled, unlabelled, joint
            )
            assert float(difference) == pytest.approx(naive - best, rel=1e-8, abs=1e-9)


@pytest.mark.slow
def test_draws_have_the_mean_of_the_distribution():
    scores, labelled, _ = counts()
    distribution = DirichletTree.from_prior(tree=explicit_tree(RAGGED), mean_scores=scores).update(labelled)
    theta, psi = (np.asarray(x) for x in distribution.sample(jax.random.key(0), 4000))
    draws = np.swapaxes(theta[..., None] * psi, -1, -2)
    np.testing.assert_allclose(draws.sum((-1, -2)), 1)
    error = draws.std(0) / np.sqrt(len(draws))
    assert (np.abs(draws.mean(0) - distribution.mean) < 5 * error).all()


def pool(n=4000, seed=0):
    rng = np.random.default_rng(seed)
    score = rng.beta(0.3, 3, n)
    return ba.Pool(scores=score), (rng.random(n) < score).astype(int)


@pytest.mark.slow
def test_a_session_by_nested_families_asks_what_one_by_branching_asks(tmp_path):
    items, labels = pool()
    asked = []
    for options in ({}, {"children": children_of(Tree(16))}):
        run = tmp_path / f"{len(asked)}.db"
        a = ba.assess(items, ba.Metric("f1"), design=Adaptive(n_strata=16, **options), seed=3, journal=run)
        for _ in range(3):
            queries = a.ask(20)
            a.tell(queries.ids, labels[queries.ids])
        expected = a.result()
        asked.append(np.sort(np.flatnonzero(a._items.label >= 0)))
        a.journal.close()
        again = ba.resume(run, items)
        np.testing.assert_array_equal(again.result().estimate, expected.estimate)
        again.journal.close()
    np.testing.assert_array_equal(*asked)


def test_a_tree_of_other_blocks_than_the_pool_has_is_refused():
    items, _ = pool(200)
    with pytest.raises(DesignError, match="8 blocks for leaves, and the pool falls into 16"):
        ba.assess(items, ba.Metric("f1"), design=Adaptive(n_strata=16, children=RAGGED)).ask(1)


def test_a_tree_comes_back_from_a_journal_and_from_text():
    design = Adaptive(n_strata=8, children=RAGGED)
    assert described_design(describe_design(design)) == design
    assert Adaptive(n_strata=8, children="[[2,0],[[1,5,7],3],4,[[[6]]]]") == design
    assert str(design.tree(8)) == "explicit_tree([[2, 0], [[1, 5, 7], 3], 4, [[[6]]]])"


@pytest.mark.parametrize(
    ("children", "said"),
    [
        ([[0, 1], []], "none of them empty"),
        ([0, 1, 3], "2 is missing"),
        ([[0, 1], [1, 2]], "1 occurs twice"),
        ([-1, 0, 1], "every block from 0"),
        ([0, 1.5], "nested lists of block numbers"),
        (["a", 0], "nested lists of block numbers"),
        ([True, 0], "nested lists of block numbers"),
        (7, "nested lists of block numbers"),
    ],
)
def test_what_is_no_tree_is_refused(children, said):
    with pytest.raises(PartitionError, match=said):
        explicit_tree(children)
    with pytest.raises(DesignError, match=said):
        Adaptive(children=children)


def test_trees_nested_too_deep_and_two_ways_of_giving_one_are_refused():
    deep = [0]
    for _ in range(100):
        deep = [deep]
    with pytest.raises(PartitionError, match="64 levels at most"):
        explicit_tree(deep)
    for options in ({"depth": 1}, {"branching": 3}):
        with pytest.raises(DesignError, match="leave one of them out"):
            Adaptive(children=[0, 1], **options)
    with pytest.raises(DesignError, match="nested lists of block numbers"):
        Adaptive(children="[[0, 1")
