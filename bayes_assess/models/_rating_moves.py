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
_MOST_FACTORS = 50  # of a product, beyond which gamma functions are computed


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


class Told(NamedTuple):
    """The labels of cells that have some, as the chains look at them: E kinds of labels by cell.

    Attributes
    ----------
    x, x_there : (S, L), (S, E)
        What is expected of cells, less the middle of the scale, in the opinion that the draw follows.
    group, group_there : (L,), (E,) integers
    label : (E,)
        Less the middle of the scale.
    first, last : (E,) booleans
        Whether it is of the lowest, or of the highest class.
    number, total : (E,), (L,)
        Of the labels of the kind, and of the cell.
    n_classes, n_groups : int
    """

    x: Float[np.ndarray, "S L"]
    x_there: Float[np.ndarray, "S E"]
    group: Int[np.ndarray, " L"]
    group_there: Int[np.ndarray, " E"]
    label: Float[np.ndarray, " E"]
    first: Bool[np.ndarray, " E"]
    last: Bool[np.ndarray, " E"]
    number: Float[np.ndarray, " E"]
    total: Float[np.ndarray, " L"]
    n_classes: int
    n_groups: int

    @classmethod
    def of(
        cls, x: Float[np.ndarray, "S K"], group: Int[np.ndarray, " K"], counts: Float[np.ndarray, "K C"], n_groups: int
    ) -> Told:
        """Arrange the labels, those of most of a kind first."""
        total, n_classes = counts.sum(1), counts.shape[1]
        seen = np.argsort(-total, kind="stable")[: np.count_nonzero(total)]
        x, group, counts, total = x[:, seen] - np.float32((n_classes - 1) / 2), group[seen], counts[seen], total[seen]
        cell, label = np.nonzero(counts)
        order = np.argsort(-counts[cell, label], kind="stable")
        cell, label = cell[order], label[order]
        return cls(
            x=x,
            x_there=x[:, cell],
            group=group,
            group_there=group[cell],
            label=(label - (n_classes - 1) / 2).astype(np.float32),
            first=label == 0,
            last=label == n_classes - 1,
            number=counts[cell, label],
            total=total,
            n_classes=n_classes,
            n_groups=n_groups,
        )

    @property
    def scale(self) -> np.float32:
        """A quarter of the scale, in which levels and scatters are."""
        return np.float32((self.n_classes - 1) / 4)

    def by_group(self, group: Int[np.ndarray, " E"]) -> Float[np.ndarray, "E G"]:
        """Return what sums by group."""
        return np.eye(self.n_groups, dtype=np.float32)[group]


@dataclass(frozen=True)
class Chains:
    """Chains side by side, in 32 bits or 64.

    Attributes
    ----------
    rng : Generator
    points : Points
    told : Told
    prior, steps : Prior and Steps
    """

    rng: np.random.Generator
    points: Points
    told: Told
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
        told, even = self.told, self.prior.even
        line = told.scale * points.level[:, told.group_there] + points.slope[:, None] * told.x_there
        width = 1 / (told.scale * np.exp(points.log_scatter)[:, None])
        share = special.ndtr((told.label + np.float32(0.5) - line) * width)
        share[:, told.last] = 1
        share -= np.where(told.first, np.float32(0), special.ndtr((told.label - np.float32(0.5) - line) * width))
        share = np.float32(1 - even) * share + np.float32(even / told.n_classes)
        kappa = np.exp(points.log_strength)
        gained = log_rising((kappa[:, None] * share).T, told.number)  # (E, S)
        fewer = log_rising(np.broadcast_to(kappa, (len(told.total), len(kappa))), told.total)  # (L, S)
        return gained.T @ told.by_group(told.group_there) - fewer.T @ told.by_group(told.group)

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
        told = self.told
        weight = told.by_group(told.group) * told.total[:, None]  # (L, G)
        return told.x @ weight / np.maximum(weight.sum(0), 1) / told.scale

    def _log_levels(self, level: Float[np.ndarray, "S G"]) -> Float[np.ndarray, "S G"]:
        """Compute the log density of levels, but for a constant."""
        spread = np.exp(self.points.log_spread)[:, None]
        return -0.5 * ((level - self.points.centre[:, None]) / spread) ** 2 - np.log(spread)

    def _accepted(self, gain: Float[np.ndarray, "*shape"]) -> Bool[np.ndarray, "*shape"]:
        return self.rng.random(gain.shape, np.float32) < np.exp(np.minimum(gain, 0))


def _where(taken: Bool[np.ndarray, " S"], new: np.ndarray, old: np.ndarray) -> np.ndarray:
    return np.where(taken.reshape(-1, *[1] * (new.ndim - 1)), new, old)


def log_rising(x: Float[np.ndarray, "E *s"], n: Float[np.ndarray, " E"]) -> Float[np.ndarray, "E *s"]:
    """Return the logarithms of x (x + 1) ... (x + n - 1), factor by factor: most of n are 1 or 2.

    Examples
    --------
    >>> np.exp(log_rising(np.array([[0.5], [2.0]]), np.array([3, 1]))).ravel().round(6).tolist()
    [1.875, 2.0]
    """
    falls = (n[1:] <= n[:-1]).all()  # then these with more factors are a part of the array
    logs = np.zeros(x.shape, x.dtype)
    for i in range(int(n.max(initial=0).clip(max=_MOST_FACTORS))):
        more = slice(np.count_nonzero(n > i)) if falls else n > i
        logs[more] += np.log(x[more] + i)
    many = n > _MOST_FACTORS
    if many.any():
        rest = n[many].astype(x.dtype).reshape(-1, *[1] * (x.ndim - 1))
        logs[many] += special.gammaln(x[many] + rest) - special.gammaln(x[many] + _MOST_FACTORS)
    return logs
