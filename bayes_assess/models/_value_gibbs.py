"""The posterior of cells of labels that stand for numbers, drawn by Gibbs sampling, many chains side by side.

The model is that of `bayes_assess.models.valued_labels`. A sweep draws which labels are outliers, the shares of these
and their places, then variances given means, then means given variances, with the linear model summed out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from scipy.special import expit, gammaln

from bayes_assess._tools.shapes import Float, Int
from bayes_assess.models._value_terms import (
    GATHERED,
    LEAST,
    LEVELS,
    NU,
    OWN,
    PART_PRIOR,
    PARTS,
    SHARES,
    SIGMA_MEAN,
    SIGMA_SHAPE,
    TAILS,
    at_loss,
    grain,
    outlying_shares,
    range_parts,
    terms,
)

_CHAINS, _BURN_IN = 64, 30
_FEW, _FEWEST, _SWEEPS = 512, 8, 16  # draws below which chains are fewer, but not below 8, with so many sweeps of each
_LOOKED_UP = 8  # labels of a cell to a chain, up to which functions of them are looked up


class GibbsDraws(NamedTuple):
    mean: Float[np.ndarray, "S K"]
    variance: Float[np.ndarray, "S K"]
    own: Float[np.ndarray, "S K"]  # how far the cell may be off the line, relative to tau, squared
    apart: Float[np.ndarray, "S K"]
    part: Float[np.ndarray, "S K B"]
    common: Float[np.ndarray, "S B"]


def n_chains(n: int) -> int:
    """Choose how many chains draw `n` of them: of few most of the work is that of getting there.

    Examples
    --------
    >>> n_chains(4000), n_chains(256), n_chains(10)
    (64, 16, 8)
    """
    return _CHAINS if n >= _FEW else max(_FEWEST, n // _SWEEPS)


class Gibbs:
    """Chains side by side, from the pooled labels on."""

    def __init__(
        self,
        x: Float[np.ndarray, " K"],
        group: Int[np.ndarray, " K"],
        rarity: Float[np.ndarray, " K"],
        values: Float[np.ndarray, " C"],
        counts: Int[np.ndarray, "K C"],
        apart: Float[np.ndarray, "J K"],
        rng: np.random.Generator,
        chains: int = _CHAINS,
    ):
        self.rng, self.values, self.n_chains = rng, values, chains
        self.grain = float(grain(self.values, np))
        self.seen = np.flatnonzero(counts.sum(1))
        self.counts, self.n_cells = counts[self.seen], len(counts)
        self.at_loss = at_loss(rarity, np)
        self.shares = outlying_shares(SHARES[:, None], rarity, np)  # (Q, K)
        self.at, self.code = np.nonzero(self.counts)  # labels that occur, by cell: E of them
        self.cell, self.value = self.seen[self.at], self.values[self.code]
        self.times, self.of_cell = self.counts[self.at, self.code], np.eye(len(self.seen))[self.at]
        self.part_of = range_parts(self.values, np)
        self.alike = (self.part_of[:, None] == self.part_of).sum(1)
        self.by_cell = _Sums.over(self.at, len(self.seen))
        self.by_part = _Sums.over(self.at * PARTS + self.part_of[self.code], len(self.seen) * PARTS)
        self.n_labels = self.counts.sum(1)
        share, at_loss_there = (np.asarray(part)[..., self.seen] for part in (self.shares, self.at_loss))
        self.log_gammas = _LogGammas.of(share, at_loss_there, self.n_labels, chains)
        self.model = terms(x, group, apart)
        # Levels of (tau, phi, omega), of which tau tells how cells scatter and the others how coefficients do.
        by_level = (*LEVELS, -1, self.model.columns.shape[1])
        self.tau2 = self.model.tau2.reshape(LEVELS[0], -1)[:, 0]
        self.scale = np.sqrt(self.model.variance).reshape(by_level)[0]  # (phi, omega, P)
        self.level = tuple(np.arange(chains) * n // chains for n in (len(self.tau2), *self.scale.shape[:2]))
        rows = self.model.columns[self.seen]  # none before the first label
        self.squares = np.einsum("kp,kq->kpq", rows, rows).reshape(len(rows), rows.shape[1] ** 2)
        self.state = self._start()

    def run(self, n: int) -> GibbsDraws:
        return next(self.parts(n, n))

    def parts(self, n: int, most: int) -> Iterator[GibbsDraws]:
        """Draw `n`, in parts of at most so many and of all chains: what starts once is there for all."""
        for _ in range(_BURN_IN):
            self._sweep()
        sweeps = max(1, most // self.n_chains) if most < n else -(-n // self.n_chains)
        for start in range(0, n, sweeps * self.n_chains):
            left = n - start
            draws = [self._sweep() for _ in range(min(sweeps, -(-left // self.n_chains)))]
            yield GibbsDraws(*(np.concatenate(parts)[:left] for parts in zip(*draws, strict=True)))

    def _start(self) -> GibbsDraws:
        model = self.model
        mean = np.broadcast_to(model.columns @ model.mean, (self.n_chains, self.n_cells)).copy()
        n = self.counts.sum(1)
        mean[:, self.seen] = self.counts @ self.values / n if len(n) else 0.0
        # Chains start from few outliers and wide cells to many and narrow ones: either is slow to become the other.
        away = np.linspace(0, 1, self.n_chains)
        variance = np.repeat(SIGMA_MEAN * 0.01 ** away[:, None], self.n_cells, axis=1)
        share = np.repeat(0.3 * away[:, None], self.n_cells, axis=1) + LEAST
        common = np.full((self.n_chains, PARTS), 1 / PARTS)
        return GibbsDraws(
            mean, variance, np.ones_like(mean), share, np.repeat(common[:, None], self.n_cells, axis=1), common
        )

    def _sweep(self) -> GibbsDraws:
        """Draw outliers, then variances given means, then means given variances, with the linear model summed out."""
        rng, seen = self.rng, self.seen
        mean, variance, own = self.state[:3]
        near, *outliers = self._outliers()
        n = self.by_cell(near).astype(np.float64)  # (S, L)
        total = near * (self.value - mean[:, self.cell]) ** 2 @ self.of_cell + n * self.grain
        precision = (1 / variance).sum(1)
        sigma2 = rng.gamma(SIGMA_SHAPE + self.n_cells * NU / 2, 1 / (SIGMA_SHAPE / SIGMA_MEAN + NU / 2 * precision))
        shape, rate = np.full(mean.shape, NU / 2), np.repeat(NU / 2 * sigma2[:, None], self.n_cells, axis=1)
        shape[:, seen] += n / 2
        rate[:, seen] += total / 2
        variance = rate / rng.standard_gamma(shape)
        observed = near * self.value @ self.of_cell / np.maximum(n, 1)
        self.state = GibbsDraws(*self._means(n, observed, variance, own), *outliers)
        return self.state

    def _outliers(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Draw which labels are near the means of their cells, (S, E), the shares of others and their places."""
        rng, seen = self.rng, self.seen
        mean, variance, _, before, part, common = self.state
        spread2 = variance[:, self.cell] + self.grain
        away = (self.value - mean[:, self.cell]) ** 2 / spread2
        near = np.sqrt(6 / np.pi * self.grain / spread2) * np.exp(-away / 2)  # of a class, as wide as the grain says
        share = before[:, self.cell]
        out = share * self._spread_out(part[:, seen])
        apart = rng.binomial(self.times, out / (out + (1 - share) * near))
        by_cell = self.by_cell(apart)
        # Outliers that every cell may have say nothing of the cell's own.
        own = rng.binomial(by_cell, 1 - LEAST / before[:, seen])
        share = LEAST + (1 - LEAST) * self._own_share(own, self.n_labels - by_cell)
        places = self.by_part(apart).reshape(*by_cell.shape, PARTS)
        expected = np.repeat(GATHERED * common[:, None], self.n_cells, axis=1)
        new_draws = _new_draws(rng, places, expected[:, seen])
        expected[:, seen] += places
        return self.times - apart, share, _dirichlet(rng, expected), _dirichlet(rng, PART_PRIOR + new_draws.sum(1))

    def _spread_out(self, part: Float[np.ndarray, "S L B"]) -> Float[np.ndarray, "S E"]:
        """Return the probabilities of the labels that occur, each in its cell: those of `_value_terms.spread_out`."""
        of_classes = part[..., self.part_of] / self.alike
        return of_classes[:, self.at, self.code] / of_classes.sum(-1)[:, self.at]

    def _own_share(self, own: Int[np.ndarray, "S L"], rest: Int[np.ndarray, "S L"]) -> Float[np.ndarray, "S K"]:
        """Draw the shares of outliers that cells have of their own, given outliers and other labels."""
        rng, seen = self.rng, self.seen
        usual, lost = self.log_gammas(own, rest)  # (S, Q, L), q summed out, and (S, L) of a uniform distribution
        evidence = np.logaddexp(usual, lost[:, None]).sum(-1)
        level = (evidence + rng.gumbel(size=evidence.shape)).argmax(1)
        chance = np.repeat(self.at_loss[None], len(level), axis=0)
        chance[:, seen] = expit(lost - usual[np.arange(len(level)), level])
        is_lost = rng.random(chance.shape) < chance
        first = np.where(is_lost, 1.0, OWN * self.shares[level])
        second = np.where(is_lost, 1.0, OWN * (1 - self.shares[level]))
        first[:, seen] += own
        second[:, seen] += rest
        return rng.beta(first, second)

    def _means(
        self,
        n: Float[np.ndarray, "S L"],
        observed: Float[np.ndarray, "S L"],
        variance: Float[np.ndarray, "S K"],
        apart: Float[np.ndarray, "S K"],
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Draw the level, the coefficients and the means from numbers and means of labels."""
        rng, model, seen = self.rng, self.model, self.seen
        error = variance[:, seen] / np.maximum(n, 1e-9)  # of the mean of a cell's labels
        before = model.columns @ model.mean
        own = observed - before[seen]  # (S, L)
        coefficients = self._coefficients(own, error, apart)
        line = (model.mean + coefficients) @ model.columns.T
        tau2 = self.tau2[self.level[0], None]
        spread = tau2 * apart
        mean = line + np.sqrt(spread) * rng.standard_normal(line.shape)
        sure = spread[:, seen] / (spread[:, seen] + error)
        centre = line[:, seen] + sure * (own + before[seen] - line[:, seen])
        mean[:, seen] = centre + np.sqrt(sure * error) * rng.standard_normal(centre.shape)
        rate = (TAILS + (mean - line) ** 2 / tau2) / 2
        return mean, variance, rate / rng.standard_gamma((TAILS + 1) / 2, rate.shape)

    def _coefficients(
        self, own: Float[np.ndarray, "S L"], error: Float[np.ndarray, "S L"], apart: Float[np.ndarray, "S K"]
    ) -> Float[np.ndarray, "S P"]:
        """Draw tau, phi and omega in turn, with the coefficients summed out, and then these."""
        rows, each = self.model.columns[self.seen], np.arange(self.n_chains)
        weight = 1 / (self.tau2[:, None, None] * apart[:, self.seen] + error)  # (U, S, L)
        inner = (weight @ self.squares).reshape(*weight.shape[:2], *[rows.shape[1]] * 2)
        rhs = (weight * own) @ rows
        left = 0.5 * (np.log(weight) - weight * own**2).sum(-1)
        tau, phi, omega = self.level
        found = _Marginal.of(inner, rhs, self.scale[phi, omega])
        tau = self._chosen(found.log + left)
        inner, rhs = inner[tau, each], rhs[tau, each]
        if self.scale.shape[1] > 1:  # omega is nothing where there are no groups
            omega = self._chosen(_Marginal.of(inner, rhs, self.scale[phi].swapaxes(0, 1)).log)
        found = _Marginal.of(inner, rhs, self.scale[:, omega])
        phi = self._chosen(found.log)
        self.level = tau, phi, omega
        upper = np.swapaxes(found.lower[phi, each], -1, -2)
        normal = found.half[phi, each] + self.rng.standard_normal(rhs.shape)
        return np.linalg.solve(upper, normal[..., None])[..., 0] * self.scale[phi, omega]

    def _chosen(self, log: Float[np.ndarray, "U S"]) -> Int[np.ndarray, " S"]:
        """Draw one of the levels of every chain by the logarithms of their probabilities."""
        return (log + self.rng.gumbel(size=log.shape)).argmax(0)


class _Marginal(NamedTuple):
    """Linear models with the coefficients summed out, at U levels of every chain."""

    log: Float[np.ndarray, "U S"]  # of the probability of the labels, but for what is alike
    lower: Float[np.ndarray, "U S P P"]  # root of the precision, in units of the prior
    half: Float[np.ndarray, "U S P"]  # by whose inverse the right-hand side is divided

    @classmethod
    def of(
        cls, inner: Float[np.ndarray, "*U S P P"], rhs: Float[np.ndarray, "*U S P"], scale: Float[np.ndarray, "*U S P"]
    ) -> _Marginal:
        """Decompose precisions with their right-hand sides as a further row, which is that divided by the root."""
        scaled = rhs * scale  # of coefficients in units of their prior, which may be 0
        n = scaled.shape[-1]
        both = np.empty((*scaled.shape[:-1], n + 1, n + 1))
        np.multiply(inner, scale[..., None, :], out=both[..., :n, :n])
        both[..., :n, :n] *= scale[..., :, None]
        np.einsum("...pp->...p", both)[..., :n] += 1
        both[..., n, :n] = both[..., :n, n] = scaled
        both[..., n, n] = 1 + (scaled**2).sum(-1)
        lower = np.linalg.cholesky(both)
        half, root = lower[..., n, :n], lower[..., :n, :n]
        log = 0.5 * (half**2).sum(-1) - np.log(np.diagonal(root, axis1=-2, axis2=-1)).sum(-1)
        return cls(log, root, half)


class _Sums(NamedTuple):
    """Sums of whole numbers (S, E) over what is of one place, (S, N)."""

    order: Int[np.ndarray, " E"]
    present: Int[np.ndarray, " P"]
    first: Int[np.ndarray, " P"]
    size: int

    @classmethod
    def over(cls, place: Int[np.ndarray, " E"], size: int) -> _Sums:
        order = np.argsort(place, kind="stable")
        return cls(order, *np.unique(place[order], return_index=True), size)

    def __call__(self, numbers: Int[np.ndarray, "S E"]) -> Int[np.ndarray, "S N"]:
        sums = np.zeros((len(numbers), self.size), np.int64)
        if len(self.first):
            sums[:, self.present] = np.add.reduceat(numbers[:, self.order], self.first, axis=1)
        return sums


class _LogGammas(NamedTuple):
    """Log probabilities of outliers and other labels of cells, at every level of their share and at a loss.

    Where cells have few labels the logarithms of Gamma functions are looked up.
    """

    usual: Float[np.ndarray, "Q L"]  # of no label
    no_loss: Float[np.ndarray, " L"]
    loss: Float[np.ndarray, " L"]
    outlying: Callable[[Int[np.ndarray, "S L"]], Float[np.ndarray, "S Q L"]]
    near: Callable[[Int[np.ndarray, "S L"]], Float[np.ndarray, "S Q L"]]
    other: Callable[[Int[np.ndarray, "S L"]], Float[np.ndarray, "S 1 L"]]
    plus_one: Callable[[Int[np.ndarray, "S L"]], Float[np.ndarray, "S 1 L"]]
    plus_two: Callable[[Int[np.ndarray, "S L"]], Float[np.ndarray, "S 1 L"]]

    @classmethod
    def of(
        cls, share: Float[np.ndarray, "Q L"], at_loss: Float[np.ndarray, " L"], n: Int[np.ndarray, " L"], chains: int
    ) -> _LogGammas:
        most = int(n.max(initial=0))
        most = most if most < _LOOKED_UP * chains else None
        first, second, one = OWN * share, OWN * (1 - share), np.ones((1, len(n)))
        usual = gammaln(OWN) - gammaln(first) - gammaln(second)
        shifts = first, second, OWN * one, one, 2 * one
        return cls(usual, np.log1p(-at_loss), np.log(at_loss), *(_log_gamma_from(shift, most) for shift in shifts))

    def __call__(
        self, own: Int[np.ndarray, "S L"], rest: Int[np.ndarray, "S L"]
    ) -> tuple[Float[np.ndarray, "S Q L"], Float[np.ndarray, "S L"]]:
        n = own + rest
        usual = self.outlying(own) + self.near(rest)
        usual += self.usual - self.other(n)
        lost = (self.plus_one(own) + self.plus_one(rest) - self.plus_two(n))[:, 0]
        return usual + self.no_loss, lost + self.loss


def _log_gamma_from(
    start: Float[np.ndarray, "Q L"], most: int | None
) -> Callable[[Int[np.ndarray, "S L"]], Float[np.ndarray, "S Q L"]]:
    """Return the function of numbers of every cell that is log Gamma (start + number), from a table up to `most`."""
    if most is None:
        return lambda number: gammaln(start + number[:, None])
    table, place = gammaln(start + np.arange(most + 1)[:, None, None]).ravel(), np.arange(start.size)
    place = place.reshape(start.shape)
    return lambda number: table.take(number[:, None] * start.size + place)


def _new_draws(
    rng: np.random.Generator, times: Int[np.ndarray, "S ..."], mass: Float[np.ndarray, "S ..."]
) -> Int[np.ndarray, "S ..."]:
    """Draw how many of as many equal values are new draws, where the distribution that they come from has `mass`.

    That is the number of tables at which so many customers sit, the mean measure of whose Chinese restaurant is `mass`.
    """
    repeats = np.maximum(times.ravel() - 1, 0)
    entry = np.repeat(np.arange(len(repeats)), repeats)
    before = np.arange(len(entry)) - np.repeat(np.cumsum(repeats) - repeats, repeats) + 1.0
    mass = mass.ravel()[entry]
    new = np.bincount(entry[rng.random(len(entry)) * (mass + before) < mass], minlength=len(repeats))
    return (times > 0) + new.reshape(times.shape)


def _dirichlet(rng: np.random.Generator, alpha: Float[np.ndarray, "... B"]) -> Float[np.ndarray, "... B"]:
    drawn = rng.standard_gamma(alpha) + 1e-300
    return drawn / drawn.sum(-1, keepdims=True)
