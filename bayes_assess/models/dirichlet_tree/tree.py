"""A tree over blocks, given by its branching alone; every pass over it goes level by level, never node by node.

The K leaves are the blocks in order; node i of level l has parent i // b in level l - 1; level 0 is the root. The last
node of a level may have fewer than b children. Public arrays hold one level each, (..., n_l), nodes in order.

Solvers use *interleaved* order instead: K is padded to b^D and the base-b digits of every node's number are reversed,
so that the children of node i of level l are nodes i, i + b^l, i + 2 b^l, ...: sums over siblings add contiguous
pieces, and a value is handed to all children by repeating an array.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from operator import index

import numpy as np

from bayes_assess._tools.arrays import is_whole, show
from bayes_assess._tools.engine import xp
from bayes_assess._tools.shapes import Array, Float, Int
from bayes_assess.errors import PartitionError

_MOST_PLACES = 2**22  # of leaves, b^D, in a tree that is deeper than its leaves need

Nodes = Float[Array, "*batch n"]
Level = Nodes | Float[np.ndarray, "*batch n"]


@dataclass(frozen=True)
class Tree:
    """A tree whose leaves are `n_leaves` blocks in order, every inner node with up to `branching` children.

    Parameters
    ----------
    n_leaves : int
        K, at least 1.
    branching : int
        b, at least 2.
    depth : int, optional
        D, the level of the leaves; b^D must not be less than K. Left out, the least that will do.

    Raises
    ------
    PartitionError
        If there is no leaf, the branching is less than 2, or the leaves do not fit.

    Examples
    --------
    >>> tree = Tree(5, branching=2)
    >>> tree.depth, [tree.n_nodes(level) for level in range(4)]
    (3, [1, 2, 3, 5])
    """

    n_leaves: int
    branching: int = 2
    depth: int | None = None

    def __post_init__(self):
        for name, value in (("branching", self.branching), ("depth", self.depth)):
            if not (is_whole(value) or (name == "depth" and value is None)):
                raise PartitionError(f"The {name} of a tree is a whole number, 1 or more; found {show(value)}.")
        K, b = index(self.n_leaves), int(self.branching)
        if K < 1:
            raise PartitionError(f"A tree has one leaf or more; found {K}.")
        if b < 2:
            raise PartitionError(f"An inner node of a tree has up to two children or more; found branching {b}.")
        least = 1
        while b**least < K:
            least += 1
        depth = least if self.depth is None else int(self.depth)
        if depth < least:
            raise PartitionError(f"{K} leaves need depth {least} or more at branching {b}; found depth {depth}.")
        if depth > least and depth * math.log(b) > math.log(_MOST_PLACES):
            raise PartitionError(
                f"{K} leaves need depth {least} at branching {b}, and a tree of depth {depth} would have places for "
                f"more than {_MOST_PLACES:,}; choose a depth nearer to {least}."
            )
        for name, value in (("n_leaves", K), ("branching", b), ("depth", depth)):
            object.__setattr__(self, name, value)

    @classmethod
    def flat(cls, n_leaves: int) -> Tree:
        """Make the tree of depth 1: all leaves are children of the root, "Ours-1" of [NH].

        Examples
        --------
        >>> Tree.flat(5)
        Tree(n_leaves=5, branching=5, depth=1)
        """
        return cls(n_leaves, branching=max(2, index(n_leaves)), depth=1)

    @property
    def n_levels(self) -> int:
        """Number of levels below the root: the depth D."""
        assert self.depth is not None
        return self.depth

    def n_nodes(self, level: int) -> int:
        """Count the nodes of a level; level 0 is the root alone."""
        return -(-self.n_leaves // self.branching ** (self.n_levels - level))

    def sums(self, values: Level) -> tuple[Nodes, ...]:
        """Sum values of leaves, (..., K), below every node: levels 0 to D, (..., n_l) each.

        Examples
        --------
        >>> [level.tolist() for level in Tree(3).sums(np.array([1, 2, 4]))]
        [[7], [3, 4], [1, 2, 4]]
        """
        levels = [xp.asarray(values)]
        for level in range(self.n_levels, 0, -1):
            levels.append(self.siblings(levels[-1], level).sum(-1))
        return tuple(levels[::-1])

    def spread(self, values: Level, level: int) -> Nodes:
        """Hand every value of level `level` - 1 to its children: (..., n_(l-1)) to (..., n_l).

        Examples
        --------
        >>> Tree(3).spread(np.array([10, 20]), level=2).tolist()
        [10, 10, 20]
        """
        return xp.repeat(xp.asarray(values), self.branching, axis=-1)[..., : self.n_nodes(level)]

    def shares(self, values: Level, level: int) -> Nodes:
        """Divide the values of a level by their sums over siblings; an only child gets 1.

        Examples
        --------
        >>> Tree(3).shares(np.array([1.0, 3.0, 5.0]), level=2).tolist()
        [0.25, 0.75, 1.0]
        """
        return xp.asarray(values) / self.spread(self.siblings(values, level).sum(-1), level)

    def siblings(self, values: Level, level: int) -> Float[Array, "*batch parents children"]:
        """Lay out the values of a level with a row per family, (..., n_(l-1), b); children that are not there hold 0.

        Examples
        --------
        >>> Tree(3).siblings(np.array([1, 2, 4]), level=2).tolist()
        [[1, 2], [4, 0]]
        """
        children = _pad(xp.asarray(values), self.n_nodes(level - 1) * self.branching)
        return children.reshape(*children.shape[:-1], -1, self.branching)

    def from_siblings(self, rows: Float[Array, "*batch parents children"], level: int) -> Nodes:
        """Undo `siblings`: (..., n_(l-1), b) to (..., n_l)."""
        return rows.reshape(*rows.shape[:-2], -1)[..., : self.n_nodes(level)]

    def only_children(self, level: int) -> Int[np.ndarray, " n"]:
        """Return the nodes of a level that have no sibling: at most its last one.

        Examples
        --------
        >>> Tree(3).only_children(2).tolist(), Tree(4).only_children(2).tolist()
        ([2], [])
        """
        n = self.n_nodes(level)
        return np.arange(n)[n - (n % self.branching == 1) :]

    def products(self, branches: Sequence[Level]) -> Nodes:
        """Multiply branch probabilities, one array per level 1 to D, along the way to every leaf, (..., K)."""
        value = xp.asarray(branches[0])
        for level, branch in enumerate(branches[1:], start=2):
            value = self.spread(value, level) * xp.asarray(branch)
        return value

    def families(self, level: int) -> tuple[tuple[int, int], ...]:
        """List the families of siblings of a level by size: (how many, of how many children); only children left out.

        Examples
        --------
        >>> Tree(11, branching=4).families(2)  # 4 + 4 + 3
        ((2, 4), (1, 3))
        """
        n_full, rest = divmod(self.n_nodes(level), self.branching)
        return tuple(family for family in ((n_full, self.branching), (1, rest)) if family[0] > 0 and family[1] > 1)

    def family_name(self, level: int, size: int) -> str:
        """Name the families of a level by their size, for a program: the last one of a level may be smaller."""
        return f"{level}" if size == self.branching else f"{level}_last"

    def split(self, values: Level, level: int) -> tuple[Float[Array, "*batch families children"], ...]:
        """Cut the values of a level into its `families`, (..., how many, of how many) each."""
        values, start, parts = xp.asarray(values), 0, []
        for how_many, size in self.families(level):
            piece = values[..., start : start + how_many * size]
            parts.append(piece.reshape(*piece.shape[:-1], how_many, size))
            start += how_many * size
        return tuple(parts)

    def join(
        self, parts: Sequence[Float[Array, "*batch families children"]], level: int, batch: tuple[int, ...]
    ) -> Nodes:
        """Put families of branch probabilities together again, (*batch, n_l); an only child has probability 1."""
        pieces = [xp.asarray(part).reshape(*batch, -1) for part in parts]
        if self.n_nodes(level) % self.branching == 1:
            pieces.append(xp.ones((*batch, 1), pieces[0].dtype if pieces else float))
        return xp.concatenate(pieces, -1)

    def interleave(self, values: Level, level: int | None = None) -> Nodes:
        """Reorder values of a level (the leaves), (..., n_l), to interleaved order, (..., b^l); padding holds 0."""
        level = self.n_levels if level is None else level
        return _pad(xp.asarray(values), self.branching**level)[..., _interleaved(self.branching, level)]

    def restore(self, values: Level) -> Nodes:
        """Undo `interleave`: (..., b^D) to (..., K)."""
        return xp.asarray(values)[..., _interleaved(self.branching, self.n_levels)[: self.n_leaves]]

    def sibling_sums(self, values: Level, level: int | None = None) -> Nodes:
        """Sum over siblings in interleaved order, of whichever level: (..., b^l) to (..., b^(l-1))."""
        values, b = xp.asarray(values), self.branching
        size = values.shape[-1] // b
        if b > 4:
            return values.reshape(*values.shape[:-1], b, size).sum(-2)
        total = values[..., :size]  # slices compile to far better code than a reduction over so few
        for child in range(1, b):
            total = total + values[..., child * size : (child + 1) * size]
        return total

    def to_children(self, values: Level, level: int | None = None) -> Nodes:
        """Hand values to all children in interleaved order, on whichever level: (..., b^(l-1)) to (..., b^l)."""
        return xp.concatenate([xp.asarray(values)] * self.branching, -1)


def _pad(values: Nodes, size: int) -> Nodes:
    missing = size - values.shape[-1]
    return xp.pad(values, [(0, 0)] * (values.ndim - 1) + [(0, missing)]) if missing else values


@lru_cache(maxsize=64)
def _interleaved(branching: int, depth: int) -> np.ndarray:
    """Reverse the digits of 0..b^D - 1: the place of every leaf in interleaved order, which is its own inverse."""
    rest, place = np.arange(branching**depth), np.zeros(branching**depth, np.int64)
    for _ in range(depth):
        place = place * branching + rest % branching
        rest = rest // branching
    return place
