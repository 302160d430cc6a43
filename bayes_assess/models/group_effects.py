r"""Effects of very many groups on calibration curves, each drawn given a curve and the labels of its own group.

A curve m of `calibration_curve` says how probable an event is in every cell. Cells of group g may differ from it all
together, by u_g in log odds, such as where a judge is too kind to one author:

.. math::
    \tau \sim \text{uniform on SPREADS}, \quad u_g \sim N(0, \tau^2), \quad
    p_c \sim \mathrm{Beta}(\nu_c m'_c, \nu_c (1 - m'_c)), \quad \mathrm{logit}\, m'_c = \mathrm{logit}\, m_c + u_{g(c)}

Given m and nu_c groups are independent but for tau, so that their effects need no particles of their own: u_g lives on
a grid, where the labels of the group have a beta-binomial probability, and tau is drawn from what is left when all u_g
are summed out. The curves are those that were learned as if there were no such effects. What they took for scatter of
single cells stays in nu, so that groups without labels are uncertain rather than sure.

Shapes: draws S, cells K, groups G, grid U.
"""

from __future__ import annotations

import numpy as np

from bayes_assess._tools.shapes import Float, Int

SPREADS = np.array([0.1, 0.2, 0.4, 0.7, 1.1, 1.6, 2.2])
"""Standard deviations of the effects, equally probable before any label."""

_GRID = np.linspace(-5.0, 5.0, 61)
_AT_ONCE, _IN_CACHE = 4_000_000, 200_000  # numbers
_N_FACTORS = 8  # of either outcome, none less than 1e-13


def with_group_effects(
    rng: np.random.Generator,
    curves: Float[np.ndarray, "S K"],
    strength: Float[np.ndarray, "S K"],
    counts: Int[np.ndarray, "K 2"],
    group: Int[np.ndarray, " K"],
) -> Float[np.ndarray, "S K"]:
    """Draw an effect of every group given every curve and the labels, and return the curves with them.

    Parameters
    ----------
    rng : Generator
    curves, strength : (S, K)
        Draws of m and nu_c.
    counts : (K, 2)
        Labelled items without and with the event.
    group : (K,) integers
        Group of every cell.

    Examples
    --------
    >>> rng, flat = np.random.default_rng(0), np.full((500, 4), 0.5)
    >>> counts = np.array([[20, 0], [0, 20], [10, 10], [0, 0]])
    >>> theta = with_group_effects(rng, flat, np.full((500, 4), 50.0), counts, np.arange(4)).mean(0)
    >>> bool(theta[0] < 0.2), bool(theta[1] > 0.8), bool(abs(theta[2] - 0.5) < 0.1), bool(abs(theta[3] - 0.5) < 0.1)
    (True, True, True, True)
    """
    curves, nu = np.asarray(curves, np.float64), np.asarray(strength, np.float64)
    logit = np.log(curves) - np.log1p(-curves)
    labelled = np.flatnonzero(counts.sum(1))
    labelled = labelled[np.argsort(group[labelled], kind="stable")]
    known, of_known = np.unique(group[labelled], return_inverse=True)  # groups with labels; of others only tau is
    others = np.setdiff1d(np.arange(int(group.max()) + 1), known)
    prior = np.exp(-0.5 * (_GRID / SPREADS[:, None]) ** 2)
    prior /= prior.sum(1, keepdims=True)
    effect = np.zeros((len(curves), len(known) + len(others)))
    numbers = len(_GRID) * max(len(labelled), 1)  # of a curve
    at, scale, seen = logit[:, labelled], nu[:, labelled], counts[labelled]
    for some in _parts(len(curves), _AT_ONCE // numbers):
        likelihood = np.concatenate(
            [
                _likelihood(at[some][few], scale[some][few], seen, of_known, len(known))
                for few in _parts(len(at[some]), _IN_CACHE // numbers)
            ]
        )
        tau, effect[some, known] = _drawn(rng, likelihood, prior)
        effect[some, others] = _drawn_without_labels(rng, tau, prior, len(others))
    effect += (rng.random(effect.shape) - 0.5) * (_GRID[1] - _GRID[0])
    return np.clip(1 / (1 + np.exp(-(logit + effect[:, group]))), 1e-7, 1 - 1e-6)


def _parts(n: int, size: int) -> list[slice]:
    """Cut `n` rows into parts of a size, which is at least 1."""
    size = max(size, 1)
    return [slice(start, start + size) for start in range(0, n, size)]


def _likelihood(
    logit: Float[np.ndarray, "S L"],
    nu: Float[np.ndarray, "S L"],
    counts: Int[np.ndarray, "L 2"],
    group: Int[np.ndarray, " L"],
    n_groups: int,
) -> Float[np.ndarray, "S G U"]:
    """Compute the probability of every group's labels at every effect, relative to the most probable one.

    Of rising factorials, in units of nu, as many factors are multiplied before a logarithm as 64 bits hold.
    """
    log = np.zeros((len(logit), n_groups, len(_GRID)))
    odds = np.exp(logit)[:, :, None] * np.exp(_GRID)
    complement = 1 / (1 + odds)
    shares, scatter = (complement, odds * complement), 1 / nu[:, :, None]
    for start in range(0, int(counts.max(initial=0)), _N_FACTORS):
        more = np.flatnonzero((counts > start).any(1))
        product = np.ones((len(logit), len(more), len(_GRID)))
        for outcome, share in enumerate(shares):
            for j in range(start, start + _N_FACTORS):
                further = np.flatnonzero(counts[more, outcome] > j)
                if len(further):
                    product[:, further] *= share[:, more[further]] + j * scatter[:, more[further]]
        present, first = np.unique(group[more], return_index=True)
        log[:, present] += np.add.reduceat(np.log(product), first, axis=1)
    return np.exp(log - log.max(-1, keepdims=True))


def _drawn(
    rng: np.random.Generator, likelihood: Float[np.ndarray, "S G U"], prior: Float[np.ndarray, "T U"]
) -> tuple[Int[np.ndarray, " S"], Float[np.ndarray, "S G"]]:
    """Draw which tau every curve has with all effects summed out, then the effects of groups with labels."""
    evidence = np.log(likelihood @ prior.T).sum(1)  # (S, T)
    weight = np.exp(evidence - evidence.max(1, keepdims=True))
    tau = _chosen(rng, weight)
    return tau, _GRID[_chosen(rng, likelihood * prior[tau][:, None])]


def _drawn_without_labels(
    rng: np.random.Generator, tau: Int[np.ndarray, " S"], prior: Float[np.ndarray, "T U"], n_groups: int
) -> Float[np.ndarray, "S G"]:
    """Draw the effects of groups that have no labels, given tau."""
    effect = np.empty((len(tau), n_groups))
    for i, probabilities in enumerate(prior):
        upto, some = np.cumsum(probabilities), tau == i
        place = np.searchsorted(upto / upto[-1], rng.random((some.sum(), n_groups)), side="right")
        effect[some] = _GRID[place]
    return effect


def _chosen(rng: np.random.Generator, weight: Float[np.ndarray, "*batch U"]) -> Int[np.ndarray, "*batch"]:
    """Draw places on the last axis by their weights."""
    upto = np.cumsum(weight, axis=-1)
    return (upto < rng.random(upto.shape[:-1])[..., None] * upto[..., -1:]).sum(-1)
