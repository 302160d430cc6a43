"""Plain EM for a Dirichlet tree with latent labels ([NH] app. F, eqs. 10 to 12): to compare with, not to use.

A step moves by about (number of labels) / M of the way, so that with few labels in a large pool EM stands still long
before it has arrived; stopped by a tolerance relative to the log posterior it returns its starting point. The leaf form
of its M-step, [NH] eq. (11), maximises the density over psi itself and subtracts the number of leaves below a node from
its count: fewer items of a class than leaves make that negative. `fit_latent` has neither trouble.
"""

from __future__ import annotations

from functools import partial
from typing import Literal

import jax
import jax.numpy as jnp
import numpy as np

from bayes_assess._tools.axes import x64
from bayes_assess._tools.shapes import Array, Float
from bayes_assess.errors import PriorError
from bayes_assess.models.dirichlet_tree import DirichletTree, Latent
from bayes_assess.models.dirichlet_tree.latent import ByLabel, Counts

_LESS = {"mean": 0.0, "mode": 1.0, "leaf": 1.0}
_LEAST_COUNT = 1e-9  # of a branch, where the leaf form goes below 0


@x64
def em(
    prior: DirichletTree,
    labelled: ByLabel,
    unlabelled: Counts,
    start: Latent | ByLabel | None = None,
    *,
    point: Literal["mean", "mode", "leaf"] = "mean",
    n_iterations: int = 1,
) -> Latent:
    """Take `n_iterations` steps of EM.

    Parameters
    ----------
    prior : DirichletTree
    labelled : (K, C)
        Labelled items of every block by label.
    unlabelled : (K,)
        Items of every block without a label.
    start : Latent or (K, C), optional
        Left out, the prior's mean.
    point : {"mean", "mode", "leaf"}
        What the M-step takes for branches: count + beta; count + beta - 1; or count + beta - the number of leaves
        below, [NH] eq. (11), which may be negative and is then raised to 1e-9.
    n_iterations : int

    Returns
    -------
    Latent
        Its `gap` is the change of theta in the last step, the greatest over classes.

    Examples
    --------
    >>> from bayes_assess.models.dirichlet_tree import DirichletTree, Tree
    >>> prior = DirichletTree.from_prior(n_classes=2, tree=Tree(2))
    >>> labels = [[20, 0], [18, 2]]
    >>> [round(float(em(prior, labels, [10**6, 10**6], n_iterations=n).theta[1]), 2) for n in (1, 20)]
    [0.5, 0.5]
    """
    if point not in _LESS:
        raise PriorError(f"`point` is 'mean', 'mode' or 'leaf'; found {point!r}.")
    if start is None:
        start = prior.mean
    joint = jnp.asarray(start.joint if isinstance(start, Latent) else start, jnp.float64)
    n, u = jnp.asarray(labelled, jnp.float64), jnp.asarray(unlabelled, jnp.float64)
    return _em(prior, n, u, joint, n_iterations, point)


@partial(jax.jit, static_argnames="point")
def _em(
    prior: DirichletTree, n: Array, u: Array, joint: Array, n_iterations: int, point: Literal["mean", "mode", "leaf"]
) -> Latent:
    tree = prior.tree
    leaves = tree.sums(np.ones(tree.n_leaves))

    def step(_, carry: tuple[Float[Array, "K C"], Float[Array, ""]]):
        joint, _ = carry
        expected = n + u[:, None] * joint / joint.sum(-1, keepdims=True)
        counts = tree.sums(expected.T)
        theta = counts[0][:, 0] + jnp.asarray(prior.alpha) - _LESS[point]
        branches = []
        for level, beta in enumerate(prior.beta, start=1):
            less = leaves[level] if point == "leaf" else _LESS[point]
            count = counts[level] + jnp.asarray(beta) - less
            branches.append(tree.shares(jnp.maximum(count, _LEAST_COUNT) if point == "leaf" else count, level))
        moved = ((theta / theta.sum())[:, None] * tree.products(branches)).T
        return moved, jnp.abs(moved.sum(0) - joint.sum(0)).max()

    joint, change = jax.lax.fori_loop(0, n_iterations, step, (joint, jnp.asarray(jnp.inf)))
    return Latent(joint, change, jnp.asarray(n_iterations))
