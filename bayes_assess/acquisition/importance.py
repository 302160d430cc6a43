"""Proposals of importance sampling on cells, and how far they are from the best one ([NH] Propositions 1 and 2).

An item of cell k is either unlabelled, or labelled y. Items of the same cell and state are told apart by nothing, so a
proposal is a table (K, C + 1): column y < C holds the probability of *one item* labelled y, column C that of one
unlabelled item. Tables count up to a factor until `normalised`.
"""

from __future__ import annotations

from bayes_assess._tools import engine
from bayes_assess._tools.engine import xlogy, xp
from bayes_assess._tools.shapes import Array, Bool, Float, Int

ByLabel = Float[Array, "K C"]
Proposal = Float[Array, "K C+1"]


def deterministic_proposal(
    norms: ByLabel, nonzero: Bool[Array, "K C"], pi: ByLabel, epsilon: Float[Array, ""] | float
) -> Proposal:
    """Build the proposal for an oracle that always gives an item the same label ([NH] Proposition 2).

    v = sum_y max(||Dg l(x, y)||, eps 1[l != 0]) pi(y | x), where pi is a point mass for labelled items.

    Parameters
    ----------
    norms : (K, C)
        ||Dg(R) l|| for items of every cell with every label.
    nonzero : (K, C) booleans
        Whether l != 0.
    pi : (K, C)
        Probability of every label for the unlabelled items of every cell.
    epsilon : float
        Floor, in the unit of the norms.

    Examples
    --------
    >>> import jax.numpy as jnp
    >>> norms, pi = jnp.array([[0.0, 2.0]]), jnp.array([[0.5, 0.5]])
    >>> deterministic_proposal(norms, norms > 0, pi, 0.0).tolist()
    [[0.0, 2.0, 1.0]]
    """
    known = xp.maximum(norms, epsilon * nonzero)
    return xp.concatenate([known, (known * pi).sum(-1, keepdims=True)], axis=-1)


def stochastic_proposal(
    norms: ByLabel, nonzero: Bool[Array, "K C"], pi: ByLabel, epsilon: Float[Array, ""] | float
) -> Proposal:
    """Build the proposal for an oracle that draws labels, and for static sampling ([NH] Propositions 1 and 2, [SAW]).

    v = (sum_y max(||Dg l(x, y)||^2, eps^2 1[l != 0]) pi(y | x))^(1/2), the same for labelled items. (Here eps is in
    the unit of the norms, in [NH] in that of their squares.) Arguments are those of `deterministic_proposal`.

    Examples
    --------
    >>> import jax.numpy as jnp
    >>> norms, pi = jnp.array([[0.0, 2.0]]), jnp.array([[0.75, 0.25]])
    >>> stochastic_proposal(norms, norms > 0, pi, 0.0).tolist()
    [[1.0, 1.0, 1.0]]
    """
    square = xp.maximum(norms, epsilon * nonzero) ** 2
    v = xp.sqrt((square * pi).sum(-1, keepdims=True))
    return xp.broadcast_to(v, (*v.shape[:-1], norms.shape[-1] + 1))


def blockwise_proposal(
    norms: ByLabel,
    nonzero: Bool[Array, "K C"],
    pi: ByLabel,
    epsilon: Float[Array, ""] | float,
    items: Float[Array, "K C+1"],
    block: Int[Array, " K"],
    n_blocks: int,
) -> Proposal:
    """Build the best proposal among those that are constant within blocks: v_b = (E ||Dg l||^2)^(1/2) over its items.

    (The published code of [NH] takes the norm of the average loss of a block with each label instead.)

    Parameters
    ----------
    norms, nonzero, pi, epsilon
        As for `deterministic_proposal`.
    items : (K, C + 1)
        Number of items of every cell labelled y, and unlabelled.
    block : (K,) integers
        Block of every cell.
    n_blocks : int

    Examples
    --------
    >>> import jax.numpy as jnp
    >>> norms, pi = jnp.array([[0.0, 5.0], [0.0, 0.0]]), jnp.array([[0.5, 0.5], [1.0, 0.0]])
    >>> items, block = jnp.array([[0, 0, 2], [0, 0, 23]]), jnp.array([0, 0])
    >>> blockwise_proposal(norms, norms > 0, pi, 0.0, items, block, 1).tolist()  # sqrt(2 * 12.5 / 25)
    [[1.0, 1.0, 1.0], [1.0, 1.0, 1.0]]
    """
    known = xp.maximum(norms, epsilon * nonzero) ** 2
    square = xp.concatenate([known, (known * pi).sum(-1, keepdims=True)], axis=-1)
    total = engine.at(xp.zeros(n_blocks))[block].add((items * square).sum(-1))
    size = engine.at(xp.zeros(n_blocks))[block].add(items.sum(-1))
    v = xp.sqrt(total / xp.maximum(size, 1))[block]
    return xp.broadcast_to(v[:, None], square.shape)


def normalised(proposal: Proposal, items: Float[Array, "K C+1"], delta: float = 0.0) -> Proposal:
    """Scale a proposal so that it sums to 1 over all items, mixed with the uniform one ([NH] sec. 3.3.1).

    Parameters
    ----------
    proposal : (K, C + 1)
        Up to a factor; where all of it is 0, the uniform proposal takes its place. What adds up to no finite number, 0
        or more, is no proposal, and makes one of NaN.
    items : (K, C + 1)
        Number of items of every cell labelled y, and unlabelled.
    delta : float in [0, 1]
        Share of the uniform proposal.

    Examples
    --------
    >>> import jax.numpy as jnp
    >>> items = jnp.array([[0, 1, 3]])
    >>> normalised(jnp.array([[9.0, 1.0, 3.0]]), items, 0.2)[:, 1:].round(2)
    Array([[0.13, 0.29]], dtype=float32)
    """
    total, n_items = (items * proposal).sum(), items.sum()
    own = proposal / xp.where(total > 0, total, 1)
    instead = xp.where(total == 0, 1 / n_items, xp.nan)
    return xp.where((total > 0) & (total < xp.inf), (1 - delta) * own + delta / n_items, instead)


def floored(proposal: Proposal, items: Float[Array, " K"], share: float) -> Proposal:
    """Give some items a share of all new draws, the same to each, whatever the proposal says of them.

    Unbiased estimates need q > 0 wherever the loss can be nonzero, and a weight p / q may be no greater than about
    1 / share if a few surprises shall not decide all ([OASIS] epsilon-greedy proposal, [NH] sec. 3.3.1; T. Hesterberg,
    "Weighted average importance sampling and defensive mixture distributions", Technometrics 37, 1995).

    Parameters
    ----------
    proposal : (K, C + 1)
        A normalised one.
    items : (K,)
        Unlabelled items of every cell whose label can matter; at least one, else nothing changes.
    share : float in [0, 1]
        Their share of the probability of unlabelled items. All of it where that probability is 0.

    Examples
    --------
    >>> import jax.numpy as jnp
    >>> proposal = jnp.array([[0.0, 0.5, 0.25], [0.0, 0.0, 0.0]])  # one item labelled 1, and two unlabelled of a score
    >>> [round(float(q), 3) for q in floored(proposal, jnp.array([2, 3]), 0.1)[:, 2]]
    [0.235, 0.01]
    """
    new = (proposal[:, -1] * items).sum()
    n = items.sum()
    mass = xp.where(new > 0, share * new, xp.where(new == 0, 1.0, xp.nan))
    own = xp.where(new > 0, (1 - share) * proposal[:, -1], 0.0) + mass / xp.maximum(n, 1)
    return xp.where(n > 0, engine.at(proposal)[:, -1].set(own), proposal)


def optimal_proposal(norms: ByLabel, full: Int[Array, "K C"]) -> ByLabel:
    """Build the best proposal where all labels are known, for items of cell k labelled y ([NH] Proposition 1).

    Parameters
    ----------
    norms : (K, C)
        ||Dg(R) l|| at the true R.
    full : (K, C) integers
        Items of every cell by label.

    Returns
    -------
    (K, C) probabilities of one item; they sum to 1 over all items unless all norms are 0.
    """
    total = (norms * full).sum()
    return norms / xp.where(total > 0, total, 1)


def divergence(
    best: ByLabel, proposal: Proposal, labelled: Int[Array, "K C"], full: Int[Array, "K C"]
) -> Float[Array, ""]:
    """Compute the Kullback-Leibler divergence KL(best || proposal) over items ([NH] Figure 2).

    Parameters
    ----------
    best : (K, C)
        The optimal proposal, by cell and true label.
    proposal : (K, C + 1)
        Probability of one item, labelled y or unlabelled.
    labelled, full : (K, C) integers
        Labelled items, and all items, by true label.

    Examples
    --------
    >>> import jax.numpy as jnp
    >>> best, uniform = jnp.array([[0.0, 0.5]]), jnp.full((1, 3), 0.25)
    >>> round(float(divergence(best, uniform, jnp.array([[1, 1]]), jnp.array([[2, 2]]))), 4)  # log 2
    0.6931
    """
    entropy = xlogy(best, best)
    known = entropy - xlogy(best, proposal[:, :-1])
    unknown = entropy - xlogy(best, proposal[:, -1:])
    return (
        xp.where(labelled > 0, labelled * known, 0) + xp.where(full > labelled, (full - labelled) * unknown, 0)
    ).sum()


def f_measure_masses(
    share: Float[Array, " B"],
    predicted: Float[Array, " B"],
    theta: Float[Array, " B"],
    value: Float[Array, ""],
    alpha: float,
) -> Float[Array, " B"]:
    """Weigh strata for the F-measure TP / (alpha PP + (1 - alpha) P) ([OASIS]).

    v_k = omega_k (f_k (alpha^2 F^2 (1 - theta_k) + (1 - F)^2 theta_k) + (1 - f_k) (1 - alpha)^2 F^2 theta_k)^(1/2)

    Parameters
    ----------
    share : (B,)
        omega_k, share of the pool in every stratum.
    predicted : (B,)
        f_k, share of predicted positives in every stratum, summed over systems.
    theta : (B,)
        Probability of a positive label in every stratum.
    value : float
        F, the current estimate.
    alpha : float in [0, 1]
        1/2 for F1, 1 for precision, 0 for recall.

    Examples
    --------
    >>> import jax.numpy as jnp
    >>> one, half = jnp.ones(1), jnp.full(1, 0.5)
    >>> f_measure_masses(one, one, half, 0.5, 1.0).tolist()  # precision 1/2: any predicted positive, 1/2
    [0.5]
    """
    hit = alpha**2 * value**2 * (1 - theta) + (1 - value) ** 2 * theta
    miss = (1 - alpha) ** 2 * value**2 * theta
    return share * xp.sqrt(predicted * hit + (1 - predicted) * miss)
