"""A tree over blocks whose families are given one by one, of any sizes, with leaves at any depth ([NH] sec. 4).

A leaf above the deepest level hangs on a chain of only children, which have all of their parent's mass, so that all
levels are passed over alike. Nodes of a level know their parent by its number; leaves are in the order of the blocks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeAlias

import numpy as np

from bayes_assess._tools import engine
from bayes_assess._tools.arrays import show
from bayes_assess._tools.engine import xp
from bayes_assess._tools.shapes import Array, Float, Int
from bayes_assess.errors import PartitionError
from bayes_assess.models.dirichlet_tree.tree import Level, Nodes, Tree

_DEEPEST = 64  # levels

Family: TypeAlias = "tuple[int | Family, ...]"  # of blocks and families


@dataclass(frozen=True, repr=False)
class ExplicitTree(Tree):
    """A tree of nested families; made by `explicit_tree`.

    Parameters
    ----------
    n_leaves, branching, depth : int
        As for `Tree`, `branching` being the size of the largest family.
    children : nested tuples
        Families of blocks 0..K-1 and of further families.

    Examples
    --------
    >>> tree = explicit_tree([[0, 1], [2, [3, 4, 5]]])
    >>> tree.depth, [tree.n_nodes(level) for level in range(4)]
    (3, [1, 2, 4, 6])
    """

    children: Family = field(default=())

    def n_nodes(self, level: int) -> int:
        """Count the nodes of a level, only children above leaves included; level 0 is the root alone."""
        return len(self._parents[level])

    def spread(self, values: Level, level: int) -> Nodes:
        """Hand every value of level `level` - 1 to its children: (..., n_(l-1)) to (..., n_l)."""
        return xp.asarray(values)[..., self._parents[level]]

    def siblings(self, values: Level, level: int) -> Float[Array, "*batch parents children"]:
        """Lay out the values of a level with a row per family, (..., n_(l-1), b), and 0 for children not there."""
        values = xp.asarray(values)
        padded = xp.pad(values, [(0, 0)] * (values.ndim - 1) + [(0, 1)])
        table = np.full((self.n_nodes(level - 1), self.branching), self.n_nodes(level))
        table[self._parents[level], self._place[level]] = np.arange(self.n_nodes(level))
        return padded[..., table]

    def from_siblings(self, rows: Float[Array, "*batch parents children"], level: int) -> Nodes:
        """Undo `siblings`."""
        return rows[..., self._parents[level], self._place[level]]

    def only_children(self, level: int) -> Int[np.ndarray, " n"]:
        """Return the nodes of a level that have no sibling."""
        return np.flatnonzero(self._sizes[level] == 1)

    def families(self, level: int) -> tuple[tuple[int, int], ...]:
        """List the families of a level by size: (how many, of how many children); only children left out."""
        return tuple(index.shape for index in self._families(level))

    def family_name(self, level: int, size: int) -> str:
        """Name the families of a level by their size, for a program."""
        return f"{level}_of_{size}"

    def split(self, values: Level, level: int) -> tuple[Float[Array, "*batch families children"], ...]:
        """Cut the values of a level into its `families`, (..., how many, of how many) each."""
        values = xp.asarray(values)
        return tuple(values[..., index] for index in self._families(level))

    def join(
        self, parts: Sequence[Float[Array, "*batch families children"]], level: int, batch: tuple[int, ...]
    ) -> Nodes:
        """Put families of branch probabilities together again, (*batch, n_l); an only child has probability 1."""
        joined = xp.ones((*batch, self.n_nodes(level)))
        for index, part in zip(self._families(level), parts, strict=True):
            joined = engine.at(joined)[..., index].set(xp.asarray(part))
        return joined

    def interleave(self, values: Level, level: int | None = None) -> Nodes:
        """Return values as they are: passes of this tree take nodes in order."""
        return xp.asarray(values)

    def restore(self, values: Level) -> Nodes:
        """Undo `interleave`."""
        return xp.asarray(values)

    def sibling_sums(self, values: Level, level: int | None = None) -> Nodes:
        """Sum values of a level over siblings: (..., n_l) to (..., n_(l-1))."""
        assert level is not None
        values = xp.asarray(values)
        nothing = xp.zeros((*values.shape[:-1], self.n_nodes(level - 1)), values.dtype)
        return engine.at(nothing)[..., self._parents[level]].add(values)

    def to_children(self, values: Level, level: int | None = None) -> Nodes:
        """Hand values to all children, which are on this level: (..., n_(l-1)) to (..., n_l)."""
        assert level is not None
        return self.spread(values, level)

    @cached_property
    def _parents(self) -> list[Int[np.ndarray, " n"]]:
        """Parent of every node, level by level; the root's own is 0."""
        nodes, parents = [self.children], [np.zeros(1, np.int64)]
        for _ in range(self.n_levels):
            below = [(i, child) for i, node in enumerate(nodes) for child in _children(node)]
            nodes = [child for _, child in below]
            parents.append(np.array([i for i, _ in below]))
        parents[-1] = parents[-1][np.argsort(np.array(nodes))]
        return parents

    @cached_property
    def _sizes(self) -> list[Int[np.ndarray, " n"]]:
        """Size of every node's family, level by level."""
        return [np.bincount(parents)[parents] for parents in self._parents]

    @cached_property
    def _place(self) -> list[Int[np.ndarray, " n"]]:
        """Place of every node among its siblings, level by level."""
        places = []
        for parents in self._parents:
            order = np.argsort(parents, kind="stable")
            first = np.searchsorted(parents[order], parents[order])
            place = np.zeros(len(parents), np.int64)
            place[order] = np.arange(len(parents)) - first
            places.append(place)
        return places

    def _families(self, level: int) -> list[Int[np.ndarray, "families children"]]:
        """Nodes of the families of a level, an array per size, the largest first."""
        parents, sizes = self._parents[level], self._sizes[level]
        order = np.argsort(parents, kind="stable")
        return [order[sizes[order] == size].reshape(-1, size) for size in np.unique(sizes)[::-1] if size > 1]

    def __repr__(self) -> str:
        return f"explicit_tree({_shown(self.children)})"


def explicit_tree(children: Sequence[object]) -> ExplicitTree:
    """Make a tree of nested families.

    Parameters
    ----------
    children : nested sequences
        The root's family: blocks, by their numbers 0..K-1, each once and in any order, and families of them.

    Raises
    ------
    PartitionError
        If a family is empty or no sequence, a number is missing or occurs twice, or the nesting is too deep.

    Examples
    --------
    >>> explicit_tree([[2, 0], 1]).sums(np.array([1, 2, 4]))[1].tolist()  # the family of 0 and 2, and block 1
    [5, 2]
    """
    whole = nested(children)
    leaves = sorted(_leaves(whole))
    wrong = next((k for k, leaf in enumerate([*leaves, None]) if leaf != k), len(leaves))
    if wrong < len(leaves):
        twice = wrong > 0 and leaves[wrong] == leaves[wrong - 1]
        what = f"{leaves[wrong]} occurs twice" if twice else f"{wrong} is missing"
        raise PartitionError(f"A tree has every block from 0 to the last one once for a leaf; {what}.")
    return ExplicitTree(len(leaves), max(2, _largest(whole)), _depth(whole), whole)


def nested(children: object, level: int = 0) -> Family:
    """Turn nested sequences of whole numbers into nested tuples.

    Raises
    ------
    PartitionError
        If a family is empty or no sequence, or the nesting is too deep.

    Examples
    --------
    >>> nested([[0, 1], 2])
    ((0, 1), 2)
    """
    if not isinstance(children, list | tuple | np.ndarray) or not len(children):
        raise PartitionError(
            "A tree is given as nested lists of block numbers, such as [[0, 1], [2, [3, 4]]], none of them empty; "
            f"found {show(children)}."
        )
    if level >= _DEEPEST:
        raise PartitionError(f"A tree has {_DEEPEST} levels at most; this one is nested deeper.")
    family = []
    for child in children:
        whole = isinstance(child, int | np.integer) and not isinstance(child, bool)
        family.append(int(child) if whole else nested(child, level + 1))
    return tuple(family)


def _children(node: int | Family) -> Family:
    """Children of a node, a leaf being its own only child."""
    return node if isinstance(node, tuple) else (node,)


def _leaves(node: int | Family) -> list[int]:
    return [leaf for child in node for leaf in _leaves(child)] if isinstance(node, tuple) else [node]


def _depth(node: int | Family) -> int:
    return 1 + max(map(_depth, node)) if isinstance(node, tuple) else 0


def _largest(node: int | Family) -> int:
    return max(len(node), *map(_largest, node)) if isinstance(node, tuple) else 0


def _shown(node: int | Family) -> str:
    return f"[{', '.join(map(_shown, node))}]" if isinstance(node, tuple) else str(node)
