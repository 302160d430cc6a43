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
_Rows = Int[np.ndarray, " c"] | slice


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
    at, scale = _logits(curves[:, labelled]), np.asarray(strength[:, labelled], np.float64)
    kinds = _kinds(counts[labelled], of_known)
    for some in _parts(len(curves), _AT_ONCE // numbers):
        logit, nu = at[some], scale[some]
        likelihood = np.empty((len(known), len(logit), len(_GRID)))
        for few in _parts(len(logit), _IN_CACHE // numbers):
            for kind in kinds:
                likelihood[kind.groups, few] = kind.likelihood(logit[few], nu[few])
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


def _kinds(counts: Int[np.ndarray, "L 2"], group: Int[np.ndarray, " L"]) -> list[_FewLabels | _ManyLabels]:
    """Return the groups of few and of many labels, as far as there are any.

    Of rising factorials, in units of nu, as many factors are multiplied as 64 bits hold: all of a group that has few
    labels, as most groups have, and of others so many before a logarithm.
    """
    few = np.bincount(group, counts.sum(1)) <= 2 * _N_FACTORS
    return [
        kind.of(np.flatnonzero(which), np.flatnonzero(which[group]), counts, group)
        for kind, which in ((_FewLabels, few), (_ManyLabels, ~few))
        if which.any()
    ]


class _FewLabels(NamedTuple):
    """Groups with at most two times `_N_FACTORS` labels each.

    Attributes
    ----------
    groups : (g,) integers
        Those of most cells first.
    cells : (L,) integers
        Those of most labels first, of the outcome that most labels are.
    product : _Product
        Over all cells.
    turns : list of (c,) integers
        The first cell of every group, the second one of as many groups as have one, and so on.
    """

    groups: Int[np.ndarray, " g"]
    cells: Int[np.ndarray, " L"]
    product: _Product
    turns: list[Int[np.ndarray, " c"]]

    @classmethod
    def of(
        cls,
        groups: Int[np.ndarray, " g"],
        cells: Int[np.ndarray, " L"],
        counts: Int[np.ndarray, "L 2"],
        group: Int[np.ndarray, " L"],
    ) -> _FewLabels:
        """Find them among all cells with labels, which come in the order of groups."""
        own = counts[cells]
        order = np.argsort(-own[:, own.sum(0).argmax()], kind="stable")
        place = np.argsort(order)
        _, first, size = np.unique(group[cells], return_index=True, return_counts=True)
        larger = np.argsort(-size, kind="stable")
        turns = [place[first[larger[: np.count_nonzero(size > i)]] + i] for i in range(size.max())]
        product = _Product.of(own[order], np.arange(len(cells)), 0, 2 * _N_FACTORS)
        return cls(groups[larger], cells[order], product, turns)

    def likelihood(self, logit: Float[np.ndarray, "S L"], nu: Float[np.ndarray, "S L"]) -> Float[np.ndarray, "g S U"]:
        """Compute the probability of every group's labels at every effect, relative to the most probable one."""
        product = self.product.over(_Shares.of(logit[:, self.cells], nu[:, self.cells], self.product.has_events))
        first, *further = self.turns
        of_groups = product[first]
        for cells in further:
            of_groups[: len(cells)] *= product[cells]
        of_groups /= of_groups.max(-1, keepdims=True)
        return of_groups


class _ManyLabels(NamedTuple):
    """Any groups.

    Attributes
    ----------
    groups : (g,) integers
    cells : (L,) integers
        In the order of groups.
    products : list of (_Product, (p,) integers, (p,) integers)
        Of some factors, which groups have them, and the first of the cells of each.
    """

    groups: Int[np.ndarray, " g"]
    cells: Int[np.ndarray, " L"]
    products: list[tuple[_Product, Int[np.ndarray, " p"], Int[np.ndarray, " p"]]]

    @classmethod
    def of(
        cls,
        groups: Int[np.ndarray, " g"],
        cells: Int[np.ndarray, " L"],
        counts: Int[np.ndarray, "L 2"],
        group: Int[np.ndarray, " L"],
    ) -> _ManyLabels:
        """Find them among all cells with labels, which come in the order of groups."""
        counts, (_, group), products = counts[cells], np.unique(group[cells], return_inverse=True), []
        for start in range(0, int(counts.max()), _N_FACTORS):
            more = np.flatnonzero((counts > start).any(1))
            present, first = np.unique(group[more], return_index=True)
            products.append((_Product.of(counts, more, start, start + _N_FACTORS), present, first))
        return cls(groups, cells, products)

    def likelihood(self, logit: Float[np.ndarray, "S L"], nu: Float[np.ndarray, "S L"]) -> Float[np.ndarray, "g S U"]:
        """Compute the probability of every group's labels at every effect, relative to the most probable one."""
        shares = _Shares.of(logit[:, self.cells], nu[:, self.cells], self.products[0][0].has_events)
        log = np.zeros((len(self.groups), len(logit), len(_GRID)))
        for factors, present, first in self.products:
            product = factors.over(shares)
            log[present] += np.add.reduceat(np.log(product, out=product), first, axis=0)
        log -= log.max(-1, keepdims=True)
        return np.exp(log, out=log)


class _Shares(NamedTuple):
    """First factors of rising factorials; cells come first, so that some of them are blocks of memory.

    Attributes
    ----------
    of_outcomes : two of (c, S, U)
        Without the event, and with it, which only cells with events have.
    scatter : (L, S, 1)
        What a factor is less than the next one.
    """

    of_outcomes: tuple[Float[np.ndarray, "L S U"], Float[np.ndarray, "E S U"]]
    scatter: Float[np.ndarray, "L S 1"]

    @classmethod
    def of(cls, logit: Float[np.ndarray, "S L"], nu: Float[np.ndarray, "S L"], has_events: _Rows) -> _Shares:
        """Compute them at every effect."""
        odds = np.exp(logit.T)[:, :, None] * np.exp(_GRID)
        complement = 1 + odds
        np.divide(1, complement, out=complement)
        return cls((complement, odds[has_events] * complement[has_events]), 1 / nu.T[:, :, None])


class _Product(NamedTuple):
    """Which factors of rising factorials are multiplied; the same for all curves.

    Attributes
    ----------
    has_events : rows
        Of all cells.
    cells : rows
        Cells of the product.
    none : (c,) integers, optional
        Rows of the product without the first factor of items without the event; None where it is not among them.
    factors : list of (outcome, number, rows, rows, rows)
        Rows of the product that are multiplied by a factor, which rows of the shares of the outcome that is of, and
        which cells.
    """

    has_events: _Rows
    cells: _Rows
    none: Int[np.ndarray, " c"] | None
    factors: list[tuple[int, int, _Rows, _Rows, _Rows]]

    @classmethod
    def of(cls, counts: Int[np.ndarray, "L 2"], cells: Int[np.ndarray, " l"], start: int, stop: int) -> _Product:
        """Find them for factors of some cells whose numbers are in a range."""
        has_events = counts[:, 1] > 0
        shares = np.arange(len(counts)), np.cumsum(has_events) - 1
        factors, own = [], counts[cells]
        for outcome, number in enumerate(own.max(0)):
            for j in range(start + (not start and not outcome), min(stop, number)):
                further = np.flatnonzero(own[:, outcome] > j)
                rows = further, shares[outcome][cells[further]], cells[further]
                factors.append((outcome, j, *map(_as_rows, rows)))
        none = None if start else np.flatnonzero(own[:, 0] == 0)
        return cls(_as_rows(np.flatnonzero(has_events)), _as_rows(cells), none, factors)

    def over(self, shares: _Shares) -> Float[np.ndarray, "l S U"]:
        """Multiply the factors."""
        first, scatter = shares.of_outcomes[0][self.cells], shares.scatter
        if self.none is None:
            product = np.ones(first.shape)
        else:
            product = first.copy() if isinstance(self.cells, slice) else first
            product[self.none] = 1
        for outcome, j, rows, of_shares, cells in self.factors:
            share = shares.of_outcomes[outcome][of_shares]
            product[rows] *= share + j * scatter[cells] if j else share
        return product


def _as_rows(rows: Int[np.ndarray, " c"]) -> _Rows:
    """Return a slice for the first rows, which are then no copy."""
    return slice(len(rows)) if np.array_equal(rows, np.arange(len(rows))) else rows


def _drawn(
    rng: np.random.Generator, likelihood: Float[np.ndarray, "G S U"], prior: Float[np.ndarray, "T U"]
) -> tuple[Int[np.ndarray, " S"], Float[np.ndarray, "S G"]]:
    """Draw which tau every curve has with all effects summed out, then the effects of groups with labels."""
    evidence = np.log(likelihood @ prior.T).sum(0)  # (S, T)
    weight = np.exp(evidence - evidence.max(1, keepdims=True))
    tau = _chosen(weight, rng.random(len(weight)))
    uniform, place = rng.random((len(tau), len(likelihood))).T, np.empty((len(likelihood), len(tau)), np.intp)
    for groups in _parts(len(likelihood), _IN_CACHE // (len(tau) * len(_GRID))):
        place[groups] = _chosen(likelihood[groups] * prior[tau], uniform[groups])
    return tau, _GRID[place.T]


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
