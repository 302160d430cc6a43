from __future__ import annotations

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from bayes_assess.errors import PartitionError
from bayes_assess.models.dirichlet_tree.tree import Tree

TREES = [Tree(1), Tree(5), Tree(11, 3), Tree(20, 16), Tree(3, 2, 4), Tree.flat(7)]


@pytest.fixture(autouse=True)
def _x64():
    with jax.enable_x64(True):
        yield


def naive_tree(tree):
    """Every node as the tuple of its leaves, per level, built from the leaves up."""
    levels = [[(k,) for k in range(tree.n_leaves)]]
    for _ in range(tree.n_levels):
        children, b = levels[0], tree.branching
        levels.insert(0, [sum(children[i : i + b], ()) for i in range(0, len(children), b)])
    return levels


@partial(jax.jit, static_argnums=0)
def passes(tree, values):
    """All passes over a tree in one compiled function, level by level."""
    levels, sums = range(1, tree.n_levels + 1), tree.sums(values)
    inside = [tree.interleave(values)]
    for _ in levels:
        inside.insert(0, tree.sibling_sums(inside[0]))
    shares = [tree.shares(sums[level], level) for level in levels]
    return {
        "sums": sums,
        "spread": [tree.spread(sums[level - 1], level) for level in levels],
        "shares": shares,
        "products": tree.products(shares),
        "inside": inside,
        "inside, from natural order": [tree.interleave(total, level) for level, total in enumerate(sums)],
        "handed": [tree.to_children(inside[level - 1]) for level in levels],
        "handed, from natural order": [tree.interleave(tree.spread(sums[level - 1], level), level) for level in levels],
        "restored": tree.restore(inside[-1]),
    }


@pytest.mark.parametrize("tree", TREES, ids=str)
def test_every_pass_is_a_walk_over_the_nodes_in_both_orders(tree):
    values = np.random.default_rng(0).gamma(1.0, size=(2, tree.n_leaves))
    nodes, found = naive_tree(tree), passes(tree, values)
    assert [tree.n_nodes(level) for level in range(tree.n_levels + 1)] == [len(level) for level in nodes]
    sums = [np.stack([values[:, list(node)].sum(-1) for node in level], -1) for level in nodes]
    for level, expected in enumerate(sums):
        np.testing.assert_allclose(found["sums"][level], expected, rtol=1e-13)
        np.testing.assert_allclose(found["inside"][level], found["inside, from natural order"][level], rtol=1e-13)
    for level in range(1, tree.n_levels + 1):
        above = nodes[level - 1]
        parent = [next(p for p, leaves in enumerate(above) if set(node) <= set(leaves)) for node in nodes[level]]
        np.testing.assert_allclose(found["spread"][level - 1], sums[level - 1][:, parent], rtol=1e-13)
        np.testing.assert_allclose(found["shares"][level - 1], sums[level] / sums[level - 1][:, parent], rtol=1e-13)
        real = np.asarray(found["inside"][level]) > 0
        handed, expected = found["handed"][level - 1], found["handed, from natural order"][level - 1]
        np.testing.assert_allclose(np.where(real, handed, 0), np.where(real, expected, 0), rtol=1e-13)
    np.testing.assert_allclose(found["products"], values / values.sum(-1, keepdims=True), rtol=1e-12)
    np.testing.assert_array_equal(found["restored"], values)


@pytest.mark.parametrize("tree", [Tree(11, 3), Tree(9, 4)], ids=str)
def test_families_cut_and_joined_again_are_the_level_with_ones_for_only_children(tree):
    for level in range(1, tree.n_levels + 1):
        values = jnp.arange(2.0, 2 + tree.n_nodes(level))[None]
        parts = tree.split(values, level)
        assert [part.shape[1:] for part in parts] == list(tree.families(level))
        joined = tree.join(parts, level, (1,))
        only = tree.n_nodes(level) % tree.branching == 1
        np.testing.assert_array_equal(joined[0, : -1 if only else None], values[0, : -1 if only else None])
        assert not only or joined[0, -1] == 1


def test_a_tree_is_a_static_argument():
    assert Tree(5) == Tree(5, 2, 3)
    assert hash(Tree(5)) == hash(Tree(5, 2, 3))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((0,), "one leaf or more; found 0"),
        ((3, 1), "found branching 1"),
        ((5, 2, 2), "depth 3 or more"),
        ((5, 2, 40), "of depth 40 would have places for more than 4,194,304; choose a depth nearer to 3"),
        ((5, 2, 10**30), "choose a depth nearer to 3"),
    ],
)
def test_a_tree_that_cannot_be_is_refused(arguments, message):
    with pytest.raises(PartitionError, match=message):
        Tree(*arguments)
