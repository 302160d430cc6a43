"""Labels and blocks: a distribution of labels, and per label a Dirichlet tree over blocks in order ([NH] section 4).

theta ~ Dirichlet(alpha). Plate ``class`` (C), and for every level l of the tree a plate ``node_l`` over its families of
siblings: branch_l ~ Dirichlet(beta_l); psi_yk is the product of the branches on the way from the root to leaf k. Plate
``item``: label_i ~ Categorical(theta), block_i ~ Categorical(psi_label(i)). Blocks that are near in the tree, such as
neighbouring strata of a score, share what is learnt of them.

Two oracles. A *stochastic* one: labels are draws, weighted where they were not drawn uniformly, and the model is
conjugate ([NH] app. H): `DirichletTree.update`, then `predictive`. A *deterministic* one: blocks of all items are known
and the labels of most are latent ([NH] app. F): `fit_latent` finds the maximum, `refresh` follows it label by label.
[NH] eq. (11) maximises over psi itself, which fails under imbalance; here the point is taken in branch coordinates.

That maximum is a belief to choose labels by, no estimate: blocks without labels keep what the prior says of them. With
scores far too high in the prior, 1,000 labels mostly of high scores and 210 positives among 700,000 items, the maximum
expects 24,000 positives.

Shapes: blocks K, classes C, level l has n_l nodes. Counts and P(label | block) are (K, C); alpha (..., C), beta a tuple
of (..., C, n_l) for l = 1..D; draws (S, ..., C) and (S, ..., C, K). Everything is 64-bit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from bayes_assess._tools import engine
from bayes_assess._tools.arrays import as_floats
from bayes_assess._tools.axes import PRNGKey, x64
from bayes_assess._tools.engine import is_traced, xlogy, xp
from bayes_assess._tools.lazy import dist, numpyro
from bayes_assess._tools.levels import checked_strength
from bayes_assess._tools.pytrees import register_dataclass
from bayes_assess._tools.shapes import Array, Float, Int
from bayes_assess.errors import LabelError, PriorError
from bayes_assess.models._numerics.dirichlet_sampling import dirichlet_draw, log_multivariate_beta, standard_dirichlet
from bayes_assess.models.dirichlet_tree.tree import Level
from bayes_assess.models.dirichlet_tree.tree import Tree as Tree
from bayes_assess.models.program_items import items_of

FloatTable = Float[Array, "*batch K C"] | Float[np.ndarray, "*batch K C"]
FloatClasses = Float[Array, "*batch C"] | Float[np.ndarray, "*batch C"]


def program(
    blocks: Int[Array, " N"] | None = None,
    labels: Int[Array, " N"] | None = None,
    *,
    alpha: Float[Array, " C"],
    beta: tuple[Float[Array, "C n"], ...],
    tree: Tree,
    n_items: int | None = None,
) -> None:
    """Run the generative program: a distribution of labels, a tree of blocks per label, a label and a block per item.

    Parameters
    ----------
    blocks : (N,) integers in 0..K-1, optional
        Block of every item; left out, the program simulates `n_items` blocks.
    labels : (N,) integers in 0..C-1, optional
        Labels; left out, they are simulated, or summed out where blocks are observed: every item may have any label.
    alpha : (C,) positive
        Prior parameters of the distribution of labels.
    beta : tuple of (C, n_l) positive
        Prior parameters of the branches, one array per level 1..D.
    tree : Tree
    n_items : int, optional
        N, where nothing is observed.

    Examples
    --------
    >>> import jax.numpy as jnp, numpyro
    >>> seeded = numpyro.handlers.seed(program, rng_seed=0)
    >>> prior = DirichletTree.from_prior(n_classes=2, tree=Tree(3))
    >>> trace = numpyro.handlers.trace(seeded).get_trace(alpha=prior.alpha, beta=prior.beta, tree=prior.tree, n_items=9)
    >>> {name: trace[name]["value"].shape for name in ("theta", "branch_1", "branch_2", "psi", "label", "block")}
    {'theta': (2,), 'branch_1': (2, 1, 2), 'branch_2': (2, 1, 2), 'psi': (2, 3), 'label': (9,), 'block': (9,)}
    """
    sizes = [*(len(seen) for seen in (blocks, labels) if seen is not None), n_items or 0]
    theta, psi = _parameters(alpha, beta, tree)
    with numpyro.plate("item", sizes[0]):
        if labels is None and blocks is not None:
            numpyro.sample("block", dist.CategoricalProbs(theta @ psi), obs=blocks)
            return
        label: Any = numpyro.sample("label", dist.CategoricalProbs(theta), obs=labels)
        numpyro.sample("block", dist.CategoricalProbs(psi[label]), obs=blocks)


def latent_program(
    labelled: Int[Array, "K C"],
    unlabelled: Int[Array, " K"],
    *,
    alpha: Float[Array, " C"],
    beta: tuple[Float[Array, "C n"], ...],
    tree: Tree,
) -> None:
    """Run the program on counts of a pool of which few labels are known, latent labels summed out.

    Parameters
    ----------
    labelled : (K, C)
        Labelled items of every block (rows) by label (columns).
    unlabelled : (K,)
        Items of every block whose label is latent.
    alpha, beta, tree
        As in `program`.
    """
    theta, psi = _parameters(alpha, beta, tree)
    joint = (theta[:, None] * psi).T
    numpyro.factor("labelled", xlogy(xp.asarray(labelled, joint.dtype), joint).sum())
    numpyro.factor("unlabelled", xlogy(xp.asarray(unlabelled, joint.dtype), joint.sum(-1)).sum())


def _parameters(
    alpha: Float[Array, " C"], beta: Sequence[Float[Array, "C n"]], tree: Tree
) -> tuple[Float[Array, " C"], Float[Array, "C K"]]:
    """Sample theta and the branches; a site per level and size of its families."""
    alpha, branches = xp.asarray(alpha), []
    theta = xp.asarray(numpyro.sample("theta", dist.Dirichlet(alpha)))
    classes = numpyro.plate("class", len(alpha), dim=-2)
    for level, parameters in enumerate(beta, start=1):
        families = []
        for part in tree.split(parameters, level):
            name = tree.family_name(level, part.shape[-1])
            with classes, numpyro.plate(f"node_{name}", part.shape[-2], dim=-1):
                families.append(numpyro.sample(f"branch_{name}", dist.Dirichlet(part)))
        branches.append(tree.join(families, level, (len(alpha),)))
    psi = numpyro.deterministic("psi", tree.products(branches))
    return theta, xp.asarray(psi)


@partial(register_dataclass, data_fields=["alpha", "beta"], meta_fields=["tree"])
@dataclass(frozen=True)
class DirichletTree:
    """A Dirichlet distribution over labels and per label a Dirichlet tree over blocks: a prior, or what `update` made.

    Parameters
    ----------
    alpha : (..., C) positive floats
        Parameters of theta.
    beta : tuple of (..., C, n_l) positive floats, levels 1 to D
        Parameters of the branches; that of an only child, whose probability is 1, has no effect.
    tree : Tree

    Examples
    --------
    >>> prior = DirichletTree.from_prior(n_classes=2, tree=Tree(4))
    >>> posterior = prior.update([[6, 0], [2, 0], [1, 1], [0, 5]])
    >>> posterior.predictive[:, 1].round(2).tolist()  # P(label 1 | block)
    [0.08, 0.12, 0.68, 0.83]
    """

    alpha: FloatClasses
    beta: tuple[Level, ...]
    tree: Tree

    @classmethod
    @x64
    def from_prior(
        cls,
        strength: float = 1.0,
        *,
        tree: Tree,
        mean_scores: Float[np.ndarray, "K C"] | None = None,
        n_classes: int | None = None,
    ) -> DirichletTree:
        """Build the prior of [NH] section 5.2.

        With s(y|k) the mean score of class y in block k, alpha_y = 1 + strength sum_k s(y|k), and beta of a node is its
        depth squared + strength times the sum of s(y|k) over the leaves below it: deep branches are held together more
        than high ones. Without scores those sums are 0.

        Parameters
        ----------
        strength : float, positive
            Labels that the scores of one block count as; [NH] has 1.
        tree : Tree
            K blocks.
        mean_scores : (K, C) in [0, 1], optional
            Row k holds the mean scores of the items of block k; a block without items takes a row of zeros.
        n_classes : int, optional
            C, for the prior without scores.

        Raises
        ------
        PriorError
            If the strength is not positive and finite, `mean_scores` has another number of rows than the tree has
            leaves or a value outside [0, 1], or neither or both of `mean_scores` and `n_classes` are given.

        Examples
        --------
        >>> prior = DirichletTree.from_prior(tree=Tree(2), mean_scores=[[0.75, 0.25], [0.25, 0.75]])
        >>> prior.alpha.tolist(), prior.beta[0].tolist()
        ([2.0, 2.0], [[1.75, 1.25], [1.25, 1.75]])
        """
        checked_strength(strength)
        if (mean_scores is None) == (n_classes is None):
            raise PriorError("Pass either `mean_scores` (informative prior) or `n_classes` (uninformative prior).")
        if mean_scores is None:
            scores = np.zeros((tree.n_leaves, n_classes or 0))
        else:
            scores = _checked_scores(mean_scores, tree)
        sums = tree.sums(strength * xp.asarray(scores.T))
        beta = tuple(level**2 + total for level, total in enumerate(sums[1:], start=1))
        return cls(1 + sums[0][:, 0], beta, tree)

    @x64
    def update(self, counts: FloatTable) -> DirichletTree:
        """Add labels: `counts` (..., K, C) of blocks (rows) by label (columns), each label with its weight.

        A label drawn with probability q_i has weight 1 / (M q_i) ([NH] eq. 15, weighted); complete data have 1.

        Raises
        ------
        LabelError
            If the counts do not fit the tree and the classes, or one is negative or not finite.

        Examples
        --------
        >>> DirichletTree.from_prior(n_classes=2, tree=Tree(2)).update([[0, 0.5], [0, 3]]).beta[0].tolist()
        [[1.0, 1.0], [1.5, 4.0]]
        """
        table = xp.asarray(counts, xp.float64)
        shape = (self.tree.n_leaves, self.alpha.shape[-1])
        if table.shape[-2:] != shape:
            raise LabelError(f"Counts have a row per block and a column per label, {shape}; found {table.shape}.")
        if not is_traced(table) and not np.all(np.isfinite(table) & (np.asarray(table) >= 0)):
            raise LabelError(f"Counts of labels are finite and 0 or more; one is {float(table.min())!r}.")
        return _update(self, table)

    def program_arguments(
        self, counts: Int[Array, "K C"] | None = None, unlabelled: Int[Array, " K"] | None = None
    ) -> dict[str, object]:
        """Return the arguments of `program` under which its posterior is this belief after `counts`.

        Parameters
        ----------
        counts : (K, C) integers, optional
            Labelled items of every block (rows) by label (columns).
        unlabelled : (K,) integers, optional
            Items of every block whose label is latent: the arguments are those of `latent_program` then.

        Raises
        ------
        LabelError
            If counts do not fit, or are no whole numbers.

        Examples
        --------
        >>> prior = DirichletTree.from_prior(n_classes=2, tree=Tree(3))
        >>> data = prior.program_arguments([[2, 0], [0, 0], [0, 1]])
        >>> data["blocks"].tolist(), data["labels"].tolist()
        ([0, 0, 2], [0, 0, 1])
        """
        shape = (self.tree.n_leaves, np.shape(self.alpha)[-1])
        blocks, labels = items_of(counts, shape)
        alpha, beta = np.asarray(self.alpha), tuple(np.asarray(level) for level in self.beta)
        prior = {"alpha": alpha, "beta": beta, "tree": self.tree}
        if unlabelled is None:
            return {"blocks": blocks, "labels": labels, "n_items": len(blocks), **prior}
        open_, _ = items_of(np.reshape(unlabelled, (-1, 1)), (shape[0], 1))
        latent = np.bincount(open_, minlength=shape[0])
        return {"labelled": statistics(blocks, labels, *shape), "unlabelled": latent, **prior}

    @property
    @x64
    def mean(self) -> FloatTable:
        """Probability that the next item lies in block k and has label y, E theta_y E psi_yk, (..., K, C)."""
        return _mean(self)

    @property
    @x64
    def predictive(self) -> FloatTable:
        """P(label y of the next item | its block k), (..., K, C): rows sum to 1 ([NH] eq. 14)."""
        joint = xp.asarray(self.mean)
        return joint / joint.sum(-1, keepdims=True)

    @x64
    def sample(self, key: PRNGKey, n: int) -> tuple[Float[Array, "S *batch C"], Float[Array, "S *batch C K"]]:
        """Draw theta, (n, ..., C), and psi, (n, ..., C, K), `n` times.

        Examples
        --------
        >>> import jax
        >>> theta, psi = DirichletTree.from_prior(n_classes=2, tree=Tree(5)).sample(jax.random.key(0), 7)
        >>> theta.shape, psi.shape
        ((7, 2), (7, 2, 5))
        """
        return _sample(key, n, self)

    def drawn(self, rng: np.random.Generator, n: int) -> tuple[Float[np.ndarray, "S C"], Float[np.ndarray, "S C K"]]:
        """Draw the same on the host; of arrays of NumPy.

        Examples
        --------
        >>> prior = DirichletTree.from_prior(n_classes=2, tree=Tree(5))
        >>> theta, psi = prior.drawn(np.random.default_rng(0), 7)
        >>> theta.shape, psi.sum(-1).round(6).tolist()[0]
        ((7, 2), [1.0, 1.0])
        """
        with engine.eager():
            belief = engine.tree_map(np.asarray, self)
            parts = (np.asarray(part) for part in (belief.alpha, _families(belief)))
            theta, families = (dirichlet_draw(rng, part, (n,)) for part in parts)
            return theta, np.asarray(_blocks(belief, families))

    @x64
    def log_prob(self, theta: FloatClasses, branches: tuple[Level, ...]) -> Float[Array, "*batch"]:
        """Log density at theta (..., C) and branch probabilities, a tuple of (..., C, n_l) as `beta` is.

        It is with respect to all but the last component of theta and of every family of siblings.
        """
        return _log_prob(self, xp.asarray(theta, xp.float64), branches)

    @x64
    def log_marginal(self, counts: FloatTable) -> Float[Array, "*batch"]:
        """Log probability of a sequence of items with these counts of blocks by label, parameters integrated out.

        Examples
        --------
        >>> import math
        >>> prior = DirichletTree.from_prior(n_classes=2, tree=Tree(2))
        >>> round(math.exp(prior.log_marginal([[2, 0], [0, 0]])), 6)  # label 0 twice, 1/2 2/3, block 0 twice, 1/2 2/3
        0.111111
        """
        return _log_constant(self.update(counts)) - _log_constant(self)


def statistics(blocks: np.ndarray, labels: np.ndarray, n_blocks: int, n_classes: int) -> Int[np.ndarray, "K C"]:
    """Count labels per block, the sufficient statistics of labelled items.

    Raises
    ------
    LabelError
        If a block or a label is out of range.

    Examples
    --------
    >>> statistics([0, 0, 2], [1, 1, 0], n_blocks=3, n_classes=2).tolist()
    [[0, 2], [0, 0], [1, 0]]
    """
    rows, columns = np.asarray(blocks, np.int64), np.asarray(labels, np.int64)
    for name, codes, size in (("Blocks", rows, n_blocks), ("Labels", columns, n_classes)):
        outside = np.flatnonzero((codes < 0) | (codes >= size))
        if outside.size:  # it would be counted in another block
            item = int(outside[0])
            raise LabelError(f"{name} are codes from 0 to {size - 1}; item {item} has {int(codes[item])}.")
    return np.bincount(rows * n_classes + columns, minlength=n_blocks * n_classes).reshape(n_blocks, n_classes)


def _checked_scores(mean_scores: Any, tree: Tree) -> Float[Array, "K C"]:
    if is_traced(mean_scores):  # within a compiled function, whose caller has seen to the values
        return mean_scores
    scores = as_floats(mean_scores)
    if scores.ndim != 2 or len(scores) != tree.n_leaves:
        raise PriorError(
            f"Mean scores have a row for each of {tree.n_leaves} blocks and a column per class; found {scores.shape}."
        )
    outside = np.argwhere(~((scores >= 0) & (scores <= 1 + 1e-6)))  # a mean of rounded scores may pass 1 by a little
    if outside.size:
        k, y = outside[0].tolist()
        raise PriorError(f"Mean scores lie between 0 and 1; block {k}, class {y} has {float(scores[k, y])!r}.")
    return scores


@engine.jit
def _update(belief: DirichletTree, table: Float[Array, "*batch K C"]) -> DirichletTree:
    sums = belief.tree.sums(xp.swapaxes(table, -1, -2))
    beta = tuple(xp.asarray(old) + new for old, new in zip(belief.beta, sums[1:], strict=True))
    return replace(belief, alpha=xp.asarray(belief.alpha) + sums[0][..., 0], beta=beta)


@engine.jit
def _mean(belief: DirichletTree) -> Float[Array, "*batch K C"]:
    alpha = xp.asarray(belief.alpha)
    branches = [belief.tree.shares(beta, level) for level, beta in enumerate(belief.beta, start=1)]
    theta = alpha / alpha.sum(-1, keepdims=True)
    return xp.swapaxes(theta[..., None] * belief.tree.products(branches), -1, -2)


@engine.jit
def _log_prob(belief: DirichletTree, theta: FloatClasses, branches: tuple[Level, ...]) -> Float[Array, "*batch"]:
    value = xlogy(xp.asarray(belief.alpha) - 1, theta).sum(-1) - _log_constant(belief)
    for level, (beta, branch) in enumerate(zip(belief.beta, branches, strict=True), start=1):
        for b, x in zip(belief.tree.split(beta, level), belief.tree.split(branch, level), strict=True):
            value += xlogy(b - 1, x).sum((-1, -2, -3))
    return value


@engine.jit
def _log_constant(belief: DirichletTree) -> Float[Array, "*batch"]:
    """Sum log B over theta and all families."""
    value = log_multivariate_beta(xp.asarray(belief.alpha))
    for level, beta in enumerate(belief.beta, start=1):
        for part in belief.tree.split(beta, level):
            value += log_multivariate_beta(part).sum((-1, -2))
    return value


@partial(engine.jit, static_argnums=1)
def _sample(key: PRNGKey, n: int, belief: DirichletTree) -> tuple[Float[Array, "..."], Float[Array, "..."]]:
    parts = xp.asarray(belief.alpha), _families(belief)
    keys = engine.random.split(key)
    drawn = [standard_dirichlet(keys[i], xp.broadcast_to(part, (n, *part.shape))) for i, part in enumerate(parts)]
    return drawn[0], _blocks(belief, drawn[1])


def _families(belief: DirichletTree) -> Float[Array, "*batch C N H"]:
    """Return the parameters of all families of all levels; of a child that is not there 0, so that it draws 0."""
    return xp.concatenate([belief.tree.siblings(beta, level) for level, beta in enumerate(belief.beta, start=1)], -2)


def _blocks(belief: DirichletTree, families: Float[Array, "*batch C N H"]) -> Float[Array, "*batch C K"]:
    """Multiply draws of all families along the way to every block."""
    tree, start, branches = belief.tree, 0, []
    for level in range(1, tree.n_levels + 1):
        branches.append(tree.from_siblings(families[..., start : start + tree.n_nodes(level - 1), :], level))
        start += tree.n_nodes(level - 1)
    return tree.products(branches)
