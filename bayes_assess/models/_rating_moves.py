"""Points of the belief on ratings, moved off its grids: Metropolis steps of many chains side by side.

Where many cells have few labels each, as those of a judge who gives any number, these tell the line in more detail than
the steps of the grids of `bayes_assess.models.rating_labels`, whose symbols these are.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from scipy import special

from bayes_assess._tools.shapes import Bool, Float, Int

_BURN_IN, KEPT, _APART = 12, 4, 4  # sweeps, draws of every chain, and sweeps between them
_HALVINGS = 6.0  # of a step, at most: what labels tell may be far less or hardly less than a step of the grids


class Points(NamedTuple):
    """Parameters of every draw, in the units of the program."""

    centre: Float[np.ndarray, " S"]  # a_0
    log_spread: Float[np.ndarray, " S"]  # log tau
    level: Float[np.ndarray, "S G"]  # a_g
    slope: Float[np.ndarray, " S"]  # b
    log_scatter: Float[np.ndarray, " S"]  # log s
    log_strength: Float[np.ndarray, " S"]  # log kappa


class Prior(NamedTuple):
    """Standard deviation of the centre, ranges of what is uniform, and what share of labels may be anything."""

    centre_sd: float
    log_spread: tuple[float, float]
    slope: tuple[float, float]
    log_scatter: tuple[float, float]
    log_strength: tuple[float, float]
    even: float


class Steps(NamedTuple):
    """The widest steps that are proposed, those of the grids."""

    log_spread: float
    level: float
    slope: float
    log_scatter: float
    log_strength: float


@dataclass(frozen=True)
class Chains:
    """Chains side by side, in 32 bits.

    Attributes
    ----------
    rng : Generator
    points : Points
    x : (S, L)
        What is expected of cells with labels, in the opinion that the draw follows.
    group : (L,) integers
    counts : (L, C)
    prior, steps : Prior and Steps
    """

    rng: np.random.Generator
    points: Points
    x: Float[np.ndarray, "S L"]
    group: Int[np.ndarray, " L"]
    counts: Float[np.ndarray, "L C"]
    prior: Prior
    steps: Steps

    def run(self) -> Points:
        """Move all parameters a number of times, and keep some of them on the way: the draws of every chain apart."""
        chains, kept = self, []
        log = chains.log_likelihood(chains.points)
        for sweep in range(_BURN_IN + (KEPT - 1) * _APART):
            chains, log = chains._levels_moved(log)
            for name in ("slope", "log_scatter", "log_strength"):
                chains, log = chains._moved(name, log)
            chains = chains._spread_moved()
            if sweep >= _BURN_IN - 1 and (sweep + 1 - _BURN_IN) % _APART == 0:
                kept.append(chains.points)
        return Points(*(np.concatenate(parts) for parts in zip(*kept, strict=True)))

    def log_likelihood(self, points: Points) -> Float[np.ndarray, "S G"]:
        """Compute the logarithm of the probability of the labels of every group."""
        cell, label = np.nonzero(self.counts)
        n_classes = self.counts.shape[1]
        scale, middle = np.float32((n_classes - 1) / 4), np.float32((n_classes - 1) / 2)
        level = scale * points.level[:, self.group] + points.slope[:, None] * (self.x - middle)
        away, width = (
            label.astype(np.float32) - middle - level[:, cell],
            scale * np.exp(points.log_scatter)[:, None],
        )  # (S, E)
        share = special.ndtr((away + 0.5) / width)
        share[:, label == n_classes - 1] = 1
        share -= np.where(label == 0, np.float32(0), special.ndtr((away - 0.5) / width))
        share = np.float32(1 - self.prior.even) * share + np.float32(self.prior.even / n_classes)
        kappa = np.exp(points.log_strength)
        gained = log_rising((kappa[:, None] * share).T, self.counts[cell, label])  # (E, S)
        total = self.counts.sum(1)
        fewer = log_rising(np.broadcast_to(kappa, (len(total), len(kappa))), total)  # (L, S)
        of_group = np.eye(points.level.shape[1], dtype=np.float32)[self.group]  # (L, G)
        return gained.T @ of_group[cell] - fewer.T @ of_group

    def _step(self, widest: float, shape: tuple[int, ...]) -> Float[np.ndarray, "*shape"]:
        """Draw steps that are as wide as that, or a half, a quarter and so on."""
        rng = self.rng
        halved = np.exp2(-_HALVINGS * rng.random(shape, np.float32))
        return np.float32(widest) * halved * rng.standard_normal(shape, np.float32)

    def _levels_moved(self, log: Float[np.ndarray, "S G"]) -> tuple[Chains, Float[np.ndarray, "S G"]]:
        """Propose other levels, each of which the labels of its group accept or not."""
        now = self.points
        level = now.level + self._step(self.steps.level, now.level.shape)
        proposed = self.log_likelihood(now._replace(level=level))
        gain = proposed - log + self._log_levels(level) - self._log_levels(now.level)
        taken = self._accepted(gain)
        level = np.where(taken, level, now.level)
        return replace(self, points=now._replace(level=level)), np.where(taken, proposed, log)

    def _moved(self, name: str, log: Float[np.ndarray, "S G"]) -> tuple[Chains, Float[np.ndarray, "S G"]]:
        """Propose another slope, scatter or strength; with a slope levels that keep groups where their labels are."""
        now = self.points
        value: Float[np.ndarray, " S"] = getattr(now, name)
        step = self._step(getattr(self.steps, name), value.shape)
        other = now._replace(**{name: value + step})
        if name == "slope":
            other = other._replace(level=now.level - step[:, None] * self._places())
        low, high = getattr(self.prior, name)
        inside = (value + step > low) & (value + step < high)
        proposed = self.log_likelihood(other)
        gain = (proposed - log + self._log_levels(other.level) - self._log_levels(now.level)).sum(1)
        taken = self._accepted(np.where(inside, gain, -np.inf))
        points = Points(*(_where(taken, new, old) for new, old in zip(other, now, strict=True)))
        return replace(self, points=points), _where(taken, proposed, log)

    def _spread_moved(self) -> Chains:
        """Draw the centre given levels, and propose another spread."""
        rng, now = self.rng, self.points
        n_groups = now.level.shape[1]
        spread2 = np.exp(2 * now.log_spread)
        variance = 1 / (1 / self.prior.centre_sd**2 + n_groups / spread2)
        centre = variance * now.level.sum(1) / spread2 + np.sqrt(variance) * rng.standard_normal(
            len(spread2), np.float32
        )
        now = now._replace(centre=centre)
        log_spread = now.log_spread + self._step(self.steps.log_spread, centre.shape)
        low, high = self.prior.log_spread
        other = now._replace(log_spread=log_spread)
        gain = (
            replace(self, points=other)._log_levels(now.level) - replace(self, points=now)._log_levels(now.level)
        ).sum(1)
        taken = self._accepted(np.where((log_spread > low) & (log_spread < high), gain, -np.inf))
        return replace(self, points=now._replace(log_spread=np.where(taken, log_spread, now.log_spread)))

    def _places(self) -> Float[np.ndarray, "S G"]:
        """By how much the line changes at the labels of every group with a slope, in units of levels."""
        n_classes = self.counts.shape[1]
        weight = (
            np.eye(self.points.level.shape[1], dtype=np.float32)[self.group] * self.counts.sum(1)[:, None]
        )  # (L, G)
        mean = (self.x - np.float32((n_classes - 1) / 2)) @ weight / np.maximum(weight.sum(0), 1)
        return mean / ((n_classes - 1) / 4)

    def _log_levels(self, level: Float[np.ndarray, "S G"]) -> Float[np.ndarray, "S G"]:
        """Compute the log density of levels, but for a constant."""
        spread = np.exp(self.points.log_spread)[:, None]
        return -0.5 * ((level - self.points.centre[:, None]) / spread) ** 2 - np.log(spread)

    def _accepted(self, gain: Float[np.ndarray, "*shape"]) -> Bool[np.ndarray, "*shape"]:
        return self.rng.random(gain.shape, np.float32) < np.exp(np.minimum(gain, 0))


def _where(taken: Bool[np.ndarray, " S"], new: np.ndarray, old: np.ndarray) -> np.ndarray:
    return np.where(taken.reshape(-1, *[1] * (new.ndim - 1)), new, old)


_MOST_FACTORS = 50  # of a product, beyond which gamma functions are computed


def log_rising(x: Float[np.ndarray, "E *s"], n: Float[np.ndarray, " E"]) -> Float[np.ndarray, "E *s"]:
    """Return the logarithms of x (x + 1) ... (x + n - 1), factor by factor: most of n are 1 or 2.

    Examples
    --------
    >>> np.exp(log_rising(np.array([[0.5], [2.0]]), np.array([3, 1]))).ravel().round(6).tolist()
    [1.875, 2.0]
    """
    logs = np.zeros(x.shape, x.dtype)
    for i in range(int(n.max(initial=0).clip(max=_MOST_FACTORS))):
        more = n > i
        logs[more] += np.log(x[more] + i)
    many = n > _MOST_FACTORS
    rest = n[many].astype(x.dtype).reshape(-1, *[1] * (x.ndim - 1))
    logs[many] += special.gammaln(x[many] + rest) - special.gammaln(x[many] + _MOST_FACTORS)
    return logs
