"""Cells of labels that stand for numbers: their linear model, their outliers, and distributions over the classes.

What the symbols stand for is said in `bayes_assess.models.valued_labels`.
"""

from __future__ import annotations

import itertools
from functools import lru_cache
from types import ModuleType
from typing import NamedTuple

import numpy as np

from bayes_assess._tools.shapes import Array, Bool, Float, Int
from bayes_assess.models.rating_labels import MOST_RATINGS

_TAU = (0.01, 0.03, 0.08, 0.2)
_PHI = (0.01, 0.06, 0.2)
_OMEGA = (0.01, 0.05, 0.12, 0.3)
LEVELS = len(_TAU), len(_PHI)  # and of omega as many as there are with groups
_WAVES = (2, 3, 4)
_LEVEL, _LEVEL_SD = 0.5, 0.5  # alpha
_SLOPE, _SLOPE_SD = 0.6, 0.6  # b
NU = 4.0
SIGMA_SHAPE, SIGMA_MEAN = 2.0, 0.04  # of a gamma distribution of sigma^2
TAILS = 7.0  # degrees of freedom of what cells have of their own
_MOST_SLOPED = 8  # groups of which slopes differ, too
SHARES = np.array([0.001, 0.003, 0.01, 0.02, 0.04, 0.08, 0.15, 0.3])  # pi
OWN, LEAST = 6.0, 0.0005  # kappa, epsilon
_AT_LOSS, _MOST_AT_LOSS = 0.25, 0.5  # lambda
PARTS, PART_PRIOR, GATHERED = 5, 0.5, 1.0  # B, of h, eta
_SURPRISE = np.log(100.0)  # of labels that are whole grades by accident one time in a hundred
_ROUNDED = 1e-9  # steps


class Terms(NamedTuple):
    """The linear model of the means of cells: its columns, prior means, and prior variances at every level."""

    columns: Float[np.ndarray, "K P"]
    mean: Float[np.ndarray, " P"]
    variance: Float[np.ndarray, "T P"]
    tau2: Float[np.ndarray, " T"]


def terms(
    x: Float[np.ndarray, " K"], group: Int[np.ndarray, " K"], apart: Float[np.ndarray, "J K"] | None = None
) -> Terms:
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
    return Terms(np.stack(columns, axis=1), mean, np.stack(fixed, axis=1) ** 2, tau**2)


def rarities(
    x: Float[np.ndarray, " K"], group: Int[np.ndarray, " K"], sizes: Float[np.ndarray, " K"]
) -> Float[np.ndarray, " K"]:
    """Return the share of the range over that of its group's items that every cell has; between cells it is halved."""
    rarity = np.ones(len(x))
    for g in np.unique(group):
        cells = np.flatnonzero((group == g) & (sizes > 0))
        cells = cells[np.argsort(x[cells], kind="stable")]
        ends = np.concatenate([[0.0], (x[cells][1:] + x[cells][:-1]) / 2, [1.0]])
        rarity[cells] = np.diff(ends) * sizes[cells].sum() / sizes[cells]
    return rarity


def outlying_shares(
    share: Float[Array, "*shape K"] | float, rarity: Float[Array, " K"], xp: ModuleType
) -> Float[Array, "*shape K"]:
    """Return the share of outliers in cells, of which `share` is the mean were the judge's numbers spread evenly."""
    return xp.minimum(share * (1 + rarity) / 2, 0.9)


def at_loss(rarity: Float[Array, " K"], xp: ModuleType) -> Float[Array, " K"]:
    """Return the probability that the judge is at a loss in a cell."""
    return xp.minimum(_AT_LOSS * (1 + rarity) / 2, _MOST_AT_LOSS)


def range_parts(values: Float[Array, " C"], xp: ModuleType) -> Int[Array, " C"]:
    """Return the part of the range, 0..B-1, in which every class lies."""
    return xp.clip(((values - values.min()) / xp.ptp(values) * PARTS).astype(int), 0, PARTS - 1)


def spread_out(part: Float[Array, "*shape B"], values: Float[Array, " C"], xp: ModuleType) -> Float[Array, "*shape C"]:
    """Return the probabilities of classes, (..., C), that of a part of the range shared by its classes alike."""
    at = range_parts(values, xp)
    probabilities = part[..., at] / (at[:, None] == at).sum(1)
    return probabilities / probabilities.sum(-1, keepdims=True)  # a part may be without classes


def grain(values: Float[Array, " C"], xp: ModuleType) -> Float[Array, ""]:
    """Return the variance that rounding to the classes takes from labels or adds, in units of the range."""
    return (xp.ptp(values) / (len(values) - 1)) ** 2 / 12


class Grades(NamedTuple):
    """Divisions of the range of many classes into 1 to D equal parts, at whose ends labels may be."""

    fits: Bool[np.ndarray, "D C"]  # whether a class is nearest to one of the ends
    surprise: Float[np.ndarray, " D"]  # logarithm of how seldom a label of any class is

    @classmethod
    @lru_cache(8)
    def of(cls, n_classes: int) -> Grades:
        """Build the table of divisions; nothing fits those to whose ends most classes are nearest."""
        last, steps = n_classes - 1, np.arange(1, MOST_RATINGS)[:, None]
        at = np.arange(n_classes) * steps / last
        fits = np.abs(at - np.rint(at)) * last / steps <= 0.5 + _ROUNDED
        fits &= 2 * fits.sum(1, keepdims=True) <= n_classes
        return cls(fits, np.log(n_classes / np.maximum(fits.sum(1), 1)))

    def parts(self, times: Float[Array, " C"], xp: ModuleType) -> Int[Array, ""]:
        """Return the fewest parts at whose ends all labels are, if that is no accident; C - 1 otherwise.

        Judges may give any number where people give whole grades. Labels of the most frequent class do not tell, and
        neither does one of another.

        Parameters
        ----------
        times : (C,)
            How many labels are of every class.
        xp : module

        Examples
        --------
        >>> Grades.of(41).parts(np.bincount([20] * 9 + [30, 0, 10], minlength=41), np).item()
        40
        >>> Grades.of(41).parts(np.bincount([20] * 9 + [30, 0, 10, 40], minlength=41), np).item()
        4
        """
        free = times.sum() - times.max() - 1
        known = ((times == 0) | self.fits).all(1) & (free * xp.asarray(self.surprise) >= _SURPRISE)
        return xp.where(known.any(), 1 + xp.argmax(known), len(times) - 1)


def within(
    values: Float[Array, " C"], mean: Float[Array, "*shape"], spread: Float[Array, "*shape"], xp: ModuleType
) -> Float[Array, "*shape C"]:
    """Return distributions over the classes of given means and, where there is room, given variances.

    Half of the mass is at either side of the mean, between the classes next to that place.
    """
    order = xp.argsort(values)
    places = values[order]
    mean = xp.clip(mean, 0.0, 1.0)
    spread = xp.minimum(spread, xp.minimum(mean, 1.0 - mean))
    probabilities = 0.0
    for at in (mean - spread, mean + spread):
        upper = xp.clip(xp.searchsorted(places, at, side="right"), 1, len(places) - 1)
        share = xp.clip((at - places[upper - 1]) / xp.maximum(places[upper] - places[upper - 1], 1e-12), 0.0, 1.0)
        classes = xp.arange(len(places))
        probabilities = probabilities + 0.5 * xp.where(classes == upper[..., None], share[..., None], 0.0)
        probabilities = probabilities + 0.5 * xp.where(classes == upper[..., None] - 1, 1.0 - share[..., None], 0.0)
    return probabilities[..., xp.argsort(order)]
