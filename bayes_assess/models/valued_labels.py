r"""Labels that stand for numbers, such as ratings or points, given what a judge expects of every item.

Cells hold items of which the judge expects about the same, x_c, and of one group. Numbers are in units of their range,
so that the least is 0 and the greatest 1. Labels of a cell scatter about its mean:

.. math::
    \mu_c = \alpha + a_{g(c)} + (b + d_{g(c)}) (x_c - 1/2) + \sum_j w_j v_{cj} + f(x_c) + \tau t_c,
    \quad t_c \sim t_1

.. math::
    a_g, d_g \sim N(0, \omega^2), \quad f = \sum_j \phi f_j \cos(\pi j x) / j, \quad
    s_c^2 \sim \nu \sigma^2 / \chi^2_\nu, \quad y \sim (1 - \pi_c) N(\mu_c, s_c^2) + \pi_c H

.. math::
    \pi_c = \epsilon + (1 - \epsilon) q_c, \quad q_c \sim \mathrm{Beta}(\kappa p_c, \kappa (1 - p_c)), \quad
    p_c = \min(\pi (1 + r_c) / 2, 0.9), \quad H = \sum_b h_b U_b, \quad h \sim \mathrm{Dirichlet}(1/2, ..., 1/2)

b says what the judge is worth, w_j what the j-th further judge is worth more or less than all of them, v_cj being how
far it is from their mean x_c; a_g and d_g say how they are biased, f that this is no line, tau what cells have of their
own, which may be much for a few of them. A share pi_c of a cell's labels is of no relation to what the judge expects
and lies in the b-th part of the range with probability h_b; a few labels that are near to it do not yet say that there
are none. A judge who is at a loss may give any number, so that those which it seldom gives are the least to be trusted:
r_c is the share of the range over that of the items which a cell has. All of that is learned. Only means and variances
are taken from the normal distribution: what is drawn of a cell's labels has them and lies within the range. The
posterior is drawn by Gibbs sampling from counts of labels per cell.

Shapes: cells K, classes C, groups G, coefficients P, parts of the range B, chains S, levels T of (tau, phi, omega) and
Q of pi.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
from jaxtyping import Array, Bool, Float, Int
from scipy.special import gammaln

from bayes_assess._tools.pytrees import register_dataclass

_TAU = (0.01, 0.03, 0.08, 0.2)
_PHI = (0.01, 0.06, 0.2)
_OMEGA = (0.01, 0.05, 0.12, 0.3)
_WAVES = (2, 3, 4)
_LEVEL, _LEVEL_SD = 0.5, 0.5  # alpha
_SLOPE, _SLOPE_SD = 0.6, 0.6  # b
_NU = 4.0
_UNKNOWN, _MOST_RARE = 0.02, 3.0  # variance of the mean of a cell that is as rare as wide, for decisions
_SIGMA_SHAPE, _SIGMA_MEAN = 2.0, 0.04  # of a gamma distribution of sigma^2
_TAILS = 1.0  # degrees of freedom of what cells have of their own
_MOST_SLOPED = 8  # groups of which slopes differ, too
_SHARES = np.array([0.001, 0.003, 0.01, 0.02, 0.04, 0.08, 0.15, 0.3])  # pi
_OWN, _LEAST = 6.0, 0.0005  # kappa, epsilon
_PARTS, _PART_PRIOR = 5, 0.5
_CHAINS, _BURN_IN = 64, 30


class _Terms(NamedTuple):
    """The linear model of the means of cells: its columns, prior means, and prior variances at every level."""

    columns: Float[np.ndarray, "K P"]
    mean: Float[np.ndarray, " P"]
    variance: Float[np.ndarray, "T P"]
    tau2: Float[np.ndarray, " T"]


def terms(
    x: Float[np.ndarray, " K"], group: Int[np.ndarray, " K"], apart: Float[np.ndarray, "J K"] | None = None
) -> _Terms:
    """Build the linear model of cells from what judges expect there, in units of the range, and their groups.

    `apart` is how far further judges are from the mean of all, `x`.
    """
    apart = np.zeros((0, len(x))) if apart is None else apart
    n_groups, away = int(group.max()) + 1, x - 0.5
    columns = [np.ones_like(x), away, *(np.cos(np.pi * j * x) / j for j in _WAVES), *apart]
    omegas = _OMEGA if n_groups > 1 else (0.0,)
    tau, phi, omega = np.array(list(itertools.product(_TAU, _PHI, omegas))).T
    fixed = [np.full_like(tau, _LEVEL_SD), np.full_like(tau, _SLOPE_SD), *[phi] * len(_WAVES)]
    fixed += [np.full_like(tau, _SLOPE_SD)] * len(apart)
    if n_groups > 1:
        own = (group == np.arange(n_groups)[:, None]).astype(np.float64)
        columns += [*own, *(own * away if n_groups <= _MOST_SLOPED else ())]
        fixed += [omega] * (len(columns) - len(fixed))
    mean = np.zeros(len(columns))
    mean[:2] = _LEVEL, _SLOPE
    return _Terms(np.stack(columns, axis=1), mean, np.stack(fixed, axis=1) ** 2, tau**2)


def program(
    model: _Terms,
    level: int,
    share: float,
    values: Float[Array, " C"],
    rarity: Float[Array, " K"],
    cell: Int[Array, " N"],
    labels: Int[Array, " N"] | None = None,
) -> None:
    """Run the generative program at one level of (tau, phi, omega).

    Parameters
    ----------
    model : as of `terms`
    level : int
        0..T-1.
    share : float
        pi.
    values : (C,)
        Numbers of the classes from 0 to 1, evenly spaced.
    rarity : (K,)
        r, see `from_prior`.
    cell : (N,) integers
        Of every item.
    labels : (N,) integers 0..C-1, optional
        Left out, they are simulated.
    """
    n_cells, n_terms = model.columns.shape
    sigma2 = jnp.asarray(numpyro.sample("sigma2", dist.Gamma(_SIGMA_SHAPE, _SIGMA_SHAPE / _SIGMA_MEAN)))
    part = jnp.asarray(numpyro.sample("part", dist.Dirichlet(jnp.full(_PARTS, _PART_PRIOR))))
    with numpyro.plate("term", n_terms):
        weight = numpyro.sample("weight", dist.Normal(model.mean, jnp.sqrt(jnp.asarray(model.variance)[level])))
    expected = _shares(share, rarity, jnp)
    with numpyro.plate("cell", n_cells):
        line = model.columns @ jnp.asarray(weight)
        mean = numpyro.sample("mean", dist.StudentT(_TAILS, line, jnp.sqrt(jnp.asarray(model.tau2)[level])))
        variance = numpyro.sample("variance", dist.InverseGamma(_NU / 2, _NU / 2 * sigma2))
        own = numpyro.sample("outlying", dist.Beta(_OWN * expected, _OWN * (1 - expected)))
    mean, spread = jnp.asarray(mean)[:, None], jnp.sqrt(jnp.asarray(variance))[:, None]
    between = jax.scipy.special.ndtr(((values[1:] + values[:-1]) / 2 - mean) / spread)
    near = jnp.diff(between, prepend=0.0, append=1.0, axis=1)
    apart = (_LEAST + (1 - _LEAST) * jnp.asarray(own))[:, None]
    probability = (1 - apart) * near + apart * _spread_out(part, values, jnp)
    with numpyro.plate("item", len(cell)):
        numpyro.sample("label", dist.CategoricalProbs(probability[cell]), obs=labels)


@partial(
    register_dataclass,
    data_fields=["x", "group", "rarity", "values", "counts", "apart"],
    meta_fields=["is_trivial"],
)
@dataclass(frozen=True)
class ValuedLabels:
    """Belief on labels that stand for numbers, by their counts.

    Attributes
    ----------
    x : (K,)
        What the judge expects, in units of the range.
    group : (K,) integers
    rarity : (K,)
        How much more of the range than of the items a cell has.
    values : (C,)
        Numbers of the classes, in units of the range.
    counts : (K, C)
        Labelled items.
    apart : (J, K)
        How far further judges are from what is expected, in units of the range.

    Examples
    --------
    >>> belief = ValuedLabels.from_prior(np.array([1.0, 3.0, 5.0]), np.arange(1.0, 6.0))
    >>> for _ in range(20):  # labels of the lowest rating are the middle one
    ...     belief = belief.observe(0, 2)
    >>> mean = (belief.drawn(np.random.default_rng(0), 256) @ np.arange(1, 6)).mean(0)
    >>> bool(2.8 < mean[0] < 3.2), bool(mean[1] > 3.1)  # so that others are expected to be above theirs
    (True, True)
    """

    x: Any
    group: Any
    rarity: Any
    values: Any
    counts: Any
    apart: Any
    is_trivial: bool = False

    @classmethod
    def from_prior(
        cls,
        expected: Float[np.ndarray, "*J K"],
        values: Float[np.ndarray, " C"],
        group: Int[np.ndarray, " K"] | None = None,
        sizes: Int[np.ndarray, " K"] | None = None,
    ) -> ValuedLabels:
        """Build the belief before any label.

        Parameters
        ----------
        expected : (K,) or (2 + J, K)
            What the judge expects of the items of every cell; or the mean of several, the first one, and further ones.
        values : (C,)
            Number of every class.
        group : (K,) integers 0..G-1, optional
            Groups of which the judge may be biased in different ways.
        sizes : (K,) integers, optional
            Items of every cell; all alike if left out.
        """
        values = np.asarray(values, np.float64)
        least, span = values.min(), np.ptp(values)
        every = (np.atleast_2d(np.asarray(expected, np.float64)) - least) / span
        x, apart = every[0], every[2:] - every[0]
        group = np.zeros(len(x), np.int32) if group is None else np.asarray(group, np.int32)
        rarity = rarities(x, group, np.ones(len(x)) if sizes is None else np.asarray(sizes))
        counts = np.zeros((len(x), len(values)), np.float32)
        rarity, numbers = rarity.astype(np.float32), ((values - least) / span).astype(np.float32)
        return cls(x.astype(np.float32), group, rarity, numbers, counts, apart.astype(np.float32))

    def observe(
        self, cell: Int[Array, ""] | int, label: Int[Array, ""] | int, matters: Bool[Array, ""] | bool = True
    ) -> ValuedLabels:
        """Learn one label of a cell, if that matters."""
        one = jnp.asarray(matters, jnp.float32)
        return replace(self, counts=jnp.asarray(self.counts).at[cell, label].add(one))

    @property
    def learned(self) -> dict[str, Any]:
        """What labels change, by field."""
        return {"counts": self.counts}

    @property
    def mean(self) -> Float[Array, "K C"]:
        """Probability of every label of the next item of every cell, about: what decisions look at.

        Means are the judge's and those of the labels, variances those of the cell and of all cells.
        """
        values, counts = jnp.asarray(self.values), jnp.asarray(self.counts)
        n = counts.sum(1)
        own = counts @ values / jnp.maximum(n, 1)
        squares = (counts * (values - own[:, None]) ** 2).sum(1) + n * _grain(self.values, jnp)
        common = (2 * _SIGMA_MEAN + squares.sum()) / (2 + n.sum())
        # Of the mean: cells without labels are to be asked about, and those that the judge seldom speaks of most.
        unknown = _UNKNOWN * (1 + jnp.minimum(jnp.asarray(self.rarity), _MOST_RARE)) / (n + 1)
        spread = jnp.sqrt((_NU * common + squares) / (_NU + n) + unknown)
        mean = (n * own + jnp.asarray(self.x) + 0.5) / (n + 2)  # not at an end, where there would be no variance
        return _within(values, mean, spread, jnp)

    @property
    def strength(self) -> Float[Array, " K"]:
        """Labels that every cell counts as for decisions: its own and one, so that allocation tends to Neyman's."""
        return jnp.asarray(self.counts).sum(1) + 1.0

    def drawn(self, rng: np.random.Generator, n: int) -> Float[np.ndarray, "n K C"]:
        """Draw `n` distributions of labels for every cell, on the host."""
        found = _Gibbs(self, rng).run(n)
        values = np.asarray(self.values, np.float64)
        near = _within(values, found.mean, np.sqrt(found.variance), np)
        apart = found.apart[..., None]
        return (1 - apart) * near + apart * _spread_out(found.part, values, np)[:, None]


class _Draws(NamedTuple):
    mean: Float[np.ndarray, "S K"]
    variance: Float[np.ndarray, "S K"]
    own: Float[np.ndarray, "S K"]  # how far the cell may be off the line, relative to tau, squared
    apart: Float[np.ndarray, "S K"]
    part: Float[np.ndarray, "S B"]


class _Gibbs:
    """Chains side by side, from the pooled labels on."""

    def __init__(self, belief: ValuedLabels, rng: np.random.Generator):
        counts = np.asarray(belief.counts, np.int64)
        self.rng, self.values = rng, np.asarray(belief.values, np.float64)
        self.grain = float(_grain(self.values, np))
        self.seen = np.flatnonzero(counts.sum(1))
        self.counts, self.n_cells = counts[self.seen], len(counts)
        self.shares = _shares(_SHARES[:, None], np.asarray(belief.rarity, np.float64), np)  # (Q, K)
        self.at, self.code = np.nonzero(self.counts)  # labels that occur, by cell: E of them
        self.times, self.of_cell = self.counts[self.at, self.code], np.eye(len(self.seen))[self.at]
        x, apart = np.asarray(belief.x, np.float64), np.asarray(belief.apart, np.float64)
        self.model = terms(x, np.asarray(belief.group), apart)
        rows = self.model.columns[self.seen]  # none before the first label
        self.squares = np.einsum("kp,kq->kpq", rows, rows).reshape(len(rows), rows.shape[1] ** 2)
        self.state = self._start()

    def run(self, n: int) -> _Draws:
        sweeps = -(-n // _CHAINS)
        for _ in range(_BURN_IN):
            self._sweep()
        found = [self._sweep() for _ in range(sweeps)]
        return _Draws(*(np.concatenate(parts)[:n] for parts in zip(*found, strict=True)))

    def _start(self) -> _Draws:
        model = self.model
        mean = np.broadcast_to(model.columns @ model.mean, (_CHAINS, self.n_cells)).copy()
        n = self.counts.sum(1)
        mean[:, self.seen] = self.counts @ self.values / n if len(n) else 0.0
        # Chains start from few outliers and wide cells to many and narrow ones: either is slow to become the other.
        away = np.linspace(0, 1, _CHAINS)
        variance = np.repeat(_SIGMA_MEAN * 0.01 ** away[:, None], self.n_cells, axis=1)
        part = np.full((_CHAINS, _PARTS), 1 / _PARTS)
        return _Draws(
            mean, variance, np.ones_like(mean), np.repeat(0.3 * away[:, None], self.n_cells, axis=1) + _LEAST, part
        )

    def _sweep(self) -> _Draws:
        """Draw outliers, then variances given means, then means given variances, with the linear model summed out."""
        rng, seen = self.rng, self.seen
        mean, variance, own = self.state[:3]
        near, share, part = self._outliers()
        n = near @ self.of_cell  # (S, L)
        value = self.values[self.code]
        total = near * (value - mean[:, seen][:, self.at]) ** 2 @ self.of_cell + n * self.grain
        precision = (1 / variance).sum(1)
        sigma2 = rng.gamma(
            _SIGMA_SHAPE + self.n_cells * _NU / 2, 1 / (_SIGMA_SHAPE / _SIGMA_MEAN + _NU / 2 * precision)
        )
        shape, rate = np.full(mean.shape, _NU / 2), np.repeat(_NU / 2 * sigma2[:, None], self.n_cells, axis=1)
        shape[:, seen] += n / 2
        rate[:, seen] += total / 2
        variance = rate / rng.standard_gamma(shape)
        observed = near * value @ self.of_cell / np.maximum(n, 1)
        self.state = _Draws(*self._means(n, observed, variance, own), share, part)
        return self.state

    def _outliers(self) -> tuple[Float[np.ndarray, "S E"], Float[np.ndarray, "S K"], Float[np.ndarray, "S B"]]:
        """Draw which labels are near the means of their cells, the share of others, and where these lie."""
        rng, seen = self.rng, self.seen
        mean, variance, _, before, part = self.state
        spread2 = variance[:, seen][:, self.at] + self.grain
        away = (self.values[self.code] - mean[:, seen][:, self.at]) ** 2 / spread2
        near = np.sqrt(6 / np.pi * self.grain / spread2) * np.exp(-away / 2)  # of a class, as wide as the grain says
        share = before[:, seen][:, self.at]
        out = share * _spread_out(part, self.values, np)[:, self.code]
        apart = rng.binomial(self.times, out / (out + (1 - share) * near))
        by_cell, n = apart @ self.of_cell, self.counts.sum(1)
        # Outliers that every cell may have say nothing of the cell's own.
        own = rng.binomial(by_cell.astype(np.int64), 1 - _LEAST / before[:, seen])
        rest = n - by_cell + own
        level = (self._evidence(own, rest) + rng.gumbel(size=(len(own), len(_SHARES)))).argmax(1)
        first, second = _OWN * self.shares[level], _OWN * (1 - self.shares[level])
        first[:, seen] += own
        second[:, seen] += rest - own
        share = _LEAST + (1 - _LEAST) * rng.beta(first, second)
        places = apart @ np.eye(_PARTS)[_parts_of(self.values, np)[self.code]]
        drawn = rng.standard_gamma(_PART_PRIOR + places)
        return self.times - apart, share, drawn / drawn.sum(1, keepdims=True)

    def _evidence(self, own: Int[np.ndarray, "S L"], n: Float[np.ndarray, "S L"]) -> Float[np.ndarray, "S Q"]:
        """Return log probabilities of as many outliers among cells' labels, the cells' own shares summed out."""
        p = self.shares[:, self.seen]
        found = gammaln(_OWN * p + own[:, None]) + gammaln(_OWN * (1 - p) + (n - own)[:, None])
        return (found - gammaln(_OWN * p) - gammaln(_OWN * (1 - p)) - gammaln(_OWN + n)[:, None]).sum(-1)

    def _means(
        self,
        n: Float[np.ndarray, "S L"],
        observed: Float[np.ndarray, "S L"],
        variance: Float[np.ndarray, "S K"],
        apart: Float[np.ndarray, "S K"],
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Draw the level, the coefficients and the means from numbers and means of labels."""
        rng, model, seen = self.rng, self.model, self.seen
        n_chains, n_terms = len(variance), len(model.mean)
        error = variance[:, seen] / np.maximum(n, 1e-9)  # of the mean of a cell's labels
        before = model.columns @ model.mean
        own = observed - before[seen]  # (S, L)
        weight = 1 / (model.tau2[:, None, None] * apart[:, seen] + error)  # (T, S, L)
        rows = model.columns[seen]
        inner = (weight @ self.squares).reshape(*weight.shape[:2], n_terms, n_terms)
        scale = np.sqrt(model.variance)[:, None, :]  # coefficients in units of their prior, which may be 0
        inner = inner * scale[..., None, :] * scale[..., :, None] + np.eye(n_terms)
        right = (weight * own) @ rows * scale
        lower = np.linalg.cholesky(inner)
        half = np.linalg.solve(lower, right[..., None])[..., 0]  # (T, S, P)
        log = 0.5 * (half**2).sum(-1) - np.log(np.diagonal(lower, axis1=-2, axis2=-1)).sum(-1)
        log += 0.5 * (np.log(weight) - weight * own**2).sum(-1)
        at = (log + rng.gumbel(size=log.shape)).argmax(0)  # (S,)
        each = np.arange(n_chains)
        upper = np.swapaxes(lower[at, each], -1, -2)
        free = np.linalg.solve(upper, (half[at, each] + rng.standard_normal((n_chains, n_terms)))[..., None])[..., 0]
        line = (model.mean + free * scale[at, 0]) @ model.columns.T
        tau2 = model.tau2[at][:, None]
        spread = tau2 * apart
        mean = line + np.sqrt(spread) * rng.standard_normal(line.shape)
        sure = spread[:, seen] / (spread[:, seen] + error)
        centre = line[:, seen] + sure * (own + before[seen] - line[:, seen])
        mean[:, seen] = centre + np.sqrt(sure * error) * rng.standard_normal(centre.shape)
        rate = (_TAILS + (mean - line) ** 2 / tau2) / 2
        return mean, variance, rate / rng.standard_gamma((_TAILS + 1) / 2, rate.shape)


def rarities(
    x: Float[np.ndarray, " K"], group: Int[np.ndarray, " K"], sizes: Float[np.ndarray, " K"]
) -> Float[np.ndarray, " K"]:
    """Return the share of the range over that of its group's items that every cell has; between cells it is halved."""
    found = np.ones(len(x))
    for one in np.unique(group):
        cells = np.flatnonzero((group == one) & (sizes > 0))
        cells = cells[np.argsort(x[cells], kind="stable")]
        ends = np.concatenate([[0.0], (x[cells][1:] + x[cells][:-1]) / 2, [1.0]])
        found[cells] = np.diff(ends) * sizes[cells].sum() / sizes[cells]
    return found


def _shares(share: Any, rarity: Any, xp: Any) -> Any:
    """Return the share of outliers in cells, of which `share` is the mean were the judge's numbers spread evenly."""
    return xp.minimum(share * (1 + rarity) / 2, 0.9)


def _parts_of(values: Any, xp: Any) -> Any:
    """Return the part of the range, 0..B-1, in which every class lies."""
    return xp.clip(((values - values.min()) / xp.ptp(values) * _PARTS).astype(int), 0, _PARTS - 1)


def _spread_out(part: Any, values: Any, xp: Any) -> Any:
    """Return the probabilities of classes, (..., C), that of a part of the range shared by its classes alike."""
    at = _parts_of(values, xp)
    found = part[..., at] / (at[:, None] == at).sum(1)
    return found / found.sum(-1, keepdims=True)  # a part may be without classes


def _grain(values: Any, xp: Any) -> Any:
    """Return the variance that rounding to the classes takes from labels or adds, in units of the range."""
    return (xp.ptp(values) / (len(values) - 1)) ** 2 / 12


def _within(values: Any, mean: Any, spread: Any, xp: Any) -> Any:
    """Return distributions over the classes of given means and, where there is room, given variances.

    Half of the mass is at either side of the mean, between the classes next to that place.
    """
    order = xp.argsort(values)
    places = values[order]
    mean = xp.clip(mean, 0.0, 1.0)
    spread = xp.minimum(spread, xp.minimum(mean, 1.0 - mean))
    found = 0.0
    for at in (mean - spread, mean + spread):
        right = xp.clip(xp.searchsorted(places, at, side="right"), 1, len(places) - 1)
        share = xp.clip((at - places[right - 1]) / xp.maximum(places[right] - places[right - 1], 1e-12), 0.0, 1.0)
        classes = xp.arange(len(places))
        found = found + 0.5 * xp.where(classes == right[..., None], share[..., None], 0.0)
        found = found + 0.5 * xp.where(classes == right[..., None] - 1, 1.0 - share[..., None], 0.0)
    return found[..., xp.argsort(order)]
