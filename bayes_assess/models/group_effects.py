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

from typing import NamedTuple

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
    labelled = np.flatnonzero(counts.sum(1))
    labelled = labelled[np.argsort(group[labelled], kind="stable")]
    known, of_known = np.unique(group[labelled], return_inverse=True)  # groups with labels; of others only tau is
    others = np.setdiff1d(np.arange(int(group.max()) + 1), known)
    prior = np.exp(-0.5 * (_GRID / SPREADS[:, None]) ** 2)
    prior /= prior.sum(1, keepdims=True)
    effect = np.zeros((len(curves), len(known) + len(others)))
    numbers = len(_GRID) * max(len(labelled), 1)  # of a curve
    at, scale, seen = _logits(curves[:, labelled]), np.asarray(strength[:, labelled], np.float64), counts[labelled]
    for some in _parts(len(curves), _AT_ONCE // numbers):
        likelihood = np.concatenate(
            [
                _likelihood(at[some][few], scale[some][few], seen, of_known, len(known))
                for few in _parts(len(at[some]), _IN_CACHE // numbers)
            ],
            axis=1,
        )
        tau, effect[some, known] = _drawn(rng, likelihood, prior)
        effect[some, others] = _drawn_without_labels(rng, tau, prior, len(others))
    effect += (rng.random(effect.shape) - 0.5) * (_GRID[1] - _GRID[0])
    moved = np.empty(curves.shape)
    for few in _parts(len(curves), _IN_CACHE // len(group)):
        moved[few] = np.clip(1 / (1 + np.exp(-(_logits(curves[few]) + effect[few].take(group, 1)))), 1e-7, 1 - 1e-6)
    return moved


def _logits(share: Float[np.ndarray, "S K"]) -> Float[np.ndarray, "S K"]:
    share = np.asarray(share, np.float64)
    return np.log(share) - np.log1p(-share)


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
) -> Float[np.ndarray, "G S U"]:
    """Compute the probability of every group's labels at every effect, relative to the most probable one.

    Of rising factorials, in units of nu, as many factors are multiplied as 64 bits hold: all of a group that has few
    labels, as most groups have, and of others so many before a logarithm.
    """
    likelihood = np.empty((n_groups, len(logit), len(_GRID)))
    has_few = np.bincount(group, counts.sum(1), n_groups) <= 2 * _N_FACTORS
    for which, of_cells in ((has_few, _of_few), (~has_few, _of_many)):
        cells = np.flatnonzero(which[group])
        if len(cells):
            likelihood[which] = of_cells(logit[:, cells], nu[:, cells], counts[cells], group[cells])
    return likelihood


def _of_few(
    logit: Float[np.ndarray, "S L"],
    nu: Float[np.ndarray, "S L"],
    counts: Int[np.ndarray, "L 2"],
    group: Int[np.ndarray, " L"],
) -> Float[np.ndarray, "g S U"]:
    """Compute it for groups with at most two times `_N_FACTORS` labels each."""
    product = _Factors.of(logit, nu, counts).product(np.arange(len(counts)), 0, 2 * _N_FACTORS)
    _, first, size = np.unique(group, return_index=True, return_counts=True)
    of_groups = product[first]
    for i in range(1, size.max()):
        larger = np.flatnonzero(size > i)
        of_groups[larger] *= product[first[larger] + i]
    of_groups /= of_groups.max(-1, keepdims=True)
    return of_groups


def _of_many(
    logit: Float[np.ndarray, "S L"],
    nu: Float[np.ndarray, "S L"],
    counts: Int[np.ndarray, "L 2"],
    group: Int[np.ndarray, " L"],
) -> Float[np.ndarray, "g S U"]:
    """Compute it for any groups."""
    factors, (_, group) = _Factors.of(logit, nu, counts), np.unique(group, return_inverse=True)
    log = np.zeros((group[-1] + 1, len(logit), len(_GRID)))
    for start in range(0, int(counts.max()), _N_FACTORS):
        more = np.flatnonzero((counts > start).any(1))
        product = factors.product(more, start, start + _N_FACTORS)
        present, first = np.unique(group[more], return_index=True)
        log[present] += np.add.reduceat(np.log(product, out=product), first, axis=0)
    log -= log.max(-1, keepdims=True)
    return np.exp(log, out=log)


class _Factors(NamedTuple):
    """Rising factorials of some cells with labels; these come first, so that some of them are blocks of memory.

    Attributes
    ----------
    counts : (L, 2) integers
        How many factors there are of each kind.
    shares : two of (c, S, U)
        The first ones: without the event, and with it, which only cells with events have.
    rows : two of (L,) integers
        Which row of them is a cell's.
    scatter : (L, S, 1)
        What a factor is less than the next one.
    """

    counts: Int[np.ndarray, "L 2"]
    shares: tuple[Float[np.ndarray, "L S U"], Float[np.ndarray, "E S U"]]
    rows: tuple[Int[np.ndarray, " L"], Int[np.ndarray, " L"]]
    scatter: Float[np.ndarray, "L S 1"]

    @classmethod
    def of(
        cls, logit: Float[np.ndarray, "S L"], nu: Float[np.ndarray, "S L"], counts: Int[np.ndarray, "L 2"]
    ) -> _Factors:
        """Compute them at every effect."""
        odds = np.exp(logit.T)[:, :, None] * np.exp(_GRID)
        complement = 1 / (1 + odds)
        has_events = counts[:, 1] > 0
        share = odds[has_events] * complement[has_events]
        rows = np.arange(len(counts)), np.cumsum(has_events) - 1
        return cls(counts, (complement, share), rows, 1 / nu.T[:, :, None])

    def product(self, cells: Int[np.ndarray, " l"], start: int, stop: int) -> Float[np.ndarray, "l S U"]:
        """Multiply those of some cells whose numbers are in a range."""
        if start:
            product = np.ones((len(cells), *self.shares[0].shape[1:]))
        else:
            product = self.shares[0][cells]
            product[self.counts[cells, 0] == 0] = 1
        for outcome, share in enumerate(self.shares):
            for j in range(start + (not start and not outcome), stop):
                further = np.flatnonzero(self.counts[cells, outcome] > j)
                if not len(further):
                    break
                factor = share[self.rows[outcome][cells[further]]]
                if j:
                    factor += j * self.scatter[cells[further]]
                product[further] *= factor
        return product


def _drawn(
    rng: np.random.Generator, likelihood: Float[np.ndarray, "G S U"], prior: Float[np.ndarray, "T U"]
) -> tuple[Int[np.ndarray, " S"], Float[np.ndarray, "S G"]]:
    """Draw which tau every curve has with all effects summed out, then the effects of groups with labels."""
    evidence = np.log(likelihood @ prior.T).sum(0)  # (S, T)
    weight = np.exp(evidence - evidence.max(1, keepdims=True))
    tau = _chosen(weight, rng.random(len(weight)))
    likelihood *= prior[tau]
    return tau, _GRID[_chosen(likelihood, rng.random((len(tau), len(likelihood))).T).T]


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


def _chosen(weight: Float[np.ndarray, "*batch U"], uniform: Float[np.ndarray, "*batch"]) -> Int[np.ndarray, "*batch"]:
    """Draw places on the last axis by their weights and uniform numbers: how many sums are less."""
    upto = np.cumsum(weight, axis=-1)
    return (upto >= uniform[..., None] * upto[..., -1:]).argmax(-1)
