"""What the parameters of a calibration curve say of the rates of cells, see `calibration_curve`.

The share m_c and the strength nu_c of a cell come from what a particle says of its curve and what is known of the
cell; either is computed once where many of the other meet it.

Shapes: particles S, cells K, groups G, parameters D, effects E, smooth functions J.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from bayes_assess._tools import engine
from bayes_assess._tools.engine import xp
from bayes_assess._tools.pytrees import register_dataclass
from bayes_assess._tools.shapes import Array, Bool, Float, Int
from bayes_assess.models.curve_members import NEVER, Members

N_SMOOTH = 8  # smooth functions
GROUP_EFFECTS = ("effect", "steepness", "lapses")  # u, v, l
_FEW_GROUPS = 8  # beyond so many there is but the first, unless they are said to have slopes of their own
PARAMETERS = ("shift", "slope", "prediction", "score", "unannounced", "lapse", "roughness", "strength", "bend")
N_PARAMETERS = len(PARAMETERS) + N_SMOOTH  # before those of groups
N_OF_SCALE = 1  # by how much groups differ, before the effects of each of them
_LEAST, _LEAST_OTHER = 1e-9, 1e-6  # of the event and of its absence, at which 32 bits do not underflow
_ROUNDING = 1e-12  # of a square whose root has a derivative
_MOST_LOG_ODDS = 30.0  # by which those of groups differ
_MOST_SPREAD = 4.0  # standard deviations of the log of a scale
_AT_ONCE, _BLOCK = 8192, 32  # rates, and cells of a block where there are more: compilers make more of small arrays
_BELOW_1 = 1 - 2.0**-20  # whose quantile has a derivative in 32 bits


class TiedCells(NamedTuple):
    """Cells of items that tie over a wide range of ranks, whose rate is the mean of the curve over that range.

    Attributes
    ----------
    which : (K,) integers
        Number of the tied cell, 0..W-1, or -1.
    cell : (W,) integers
    place : (X, W, Q)
        For every coordinate Q points of the range.
    smooth : (X, W, Q, J)
        The smooth functions there.
    mass : (W, Q)
        Shares of the cell's items about them.
    """

    which: Int[Array, " K"]
    cell: Int[Array, " W"]
    place: Float[Array, "X W Q"]
    smooth: Float[Array, "X W Q J"]
    mass: Float[Array, "W Q"]


class Coordinates(NamedTuple):
    """What the curve knows of the cells of a pool; 32-bit.

    Attributes
    ----------
    place : (X, K)
        Coordinates of the score, such as the logit of its rank and the logit of itself.
    standard : (X, K)
        For every coordinate another one in standard units, by which the curve may deviate.
    smooth : (X, K, J)
        For every coordinate the smooth functions.
    feature : (K,)
        Such as the share of items that are predicted positive, less 1/2.
    unit : (X,)
        Standard deviation of every coordinate over the items.
    log_odds : ()
        Log odds of the share of predicted positives.
    groups : (K, G)
        Shares of the items of every cell that are of groups with effects of their own, or other numbers that such
        effects are proportional to; (K, 0) without groups.
    many : (K,) integers
        Group of every cell, where there are too many of them for that; (0,) otherwise. See `group_effects`.
    tied : TiedCells, optional
        Where there are such cells.
    own_slopes : (1,) or (0,) integers
        Whether scores may tell more in some of more than eight groups than in others.
    """

    place: Float[Array, "X K"]
    standard: Float[Array, "X K"]
    smooth: Float[Array, "X K J"]
    feature: Float[Array, " K"]
    unit: Float[Array, " X"]
    log_odds: Float[Array, ""]
    groups: Float[Array, "K G"]
    many: Int[Array, " K"] = np.zeros(0, np.int32)
    tied: TiedCells | None = None
    own_slopes: Int[Array, " E"] = np.zeros(0, np.int32)

    @property
    def group_effects(self) -> tuple[str, ...]:
        """Which effects its groups have."""
        few = self.groups.shape[1] <= _FEW_GROUPS
        return GROUP_EFFECTS if few else GROUP_EFFECTS[: 1 + len(self.own_slopes)]

    @property
    def n_parameters(self) -> int:
        """How many parameters a curve has."""
        n_groups = self.groups.shape[1]
        return N_PARAMETERS + (N_OF_SCALE + len(self.group_effects) * n_groups if n_groups else 0)


def padded(coordinates: Coordinates, n_cells: int) -> Coordinates:
    """Return the coordinates with further cells, which are as the last one.

    Tied cells are padded, too, to a power of 2, with ones that no cell is.

    Parameters
    ----------
    coordinates : Coordinates
    n_cells : int
    """
    at = np.minimum(np.arange(n_cells), len(coordinates.feature) - 1)
    along = {"place": 1, "standard": 1, "smooth": 1, "feature": 0, "groups": 0}
    there = {name: np.take(getattr(coordinates, name), at, axis) for name, axis in along.items()}
    many = coordinates.many[at] if len(coordinates.many) else coordinates.many
    tied = coordinates.tied
    if tied is not None:
        n_tied = 1 << max(len(tied.cell) - 1, 1).bit_length()
        at_tied = np.minimum(np.arange(n_tied), len(tied.cell) - 1)
        tied = TiedCells(
            tied.which[at], tied.cell[at_tied], tied.place[:, at_tied], tied.smooth[:, at_tied], tied.mass[at_tied]
        )
    return coordinates._replace(**there, many=many, tied=tied)


class Curves(NamedTuple):
    """What the parameters of every particle say of its curve; arrays (S, 1), unless noted."""

    intercept: Float[Array, "S 1"]
    slope: Float[Array, "S 1"]
    delta: Float[Array, "S 1"]
    zeta: Float[Array, "S 1"]
    gamma: Float[Array, "S 1"]
    kappa: Float[Array, "S 1"]
    nu: Float[Array, "S 1"]
    lapse: Float[Array, "S 1"]
    waves: Any  # (S, J): s e_j; compiled, J arrays (S, 1)
    effects: Float[Array, "S E G"]  # (S, E, G)


@partial(register_dataclass, data_fields=["x", "size", "z", "smooth", "feature", "groups", "tied"], meta_fields=[])
@dataclass(frozen=True)
class CellCoordinates:
    """What a member knows of cells; arrays (K,), unless noted."""

    x: Float[Array, " K"]
    size: Float[Array, " K"]  # log (1 + |x|)
    z: Float[Array, " K"]
    smooth: Float[Array, "K J"]  # (K, J)
    feature: Float[Array, " K"]
    groups: Float[Array, "K G"]  # (K, G)
    tied: Int[Array, " K"] | None = None  # number of the tied cell, or -1

    @classmethod
    def of(cls, member: Members, coordinates: Coordinates) -> CellCoordinates:
        """Return the coordinates of one member."""
        which = member.coordinate
        x = coordinates.place[which]
        smooth, z = coordinates.smooth[which], coordinates.standard[which]
        tied = None if coordinates.tied is None else coordinates.tied.which
        return cls(x, xp.log1p(xp.abs(x)), z, smooth, coordinates.feature, coordinates.groups, tied)

    @engine.kept
    def only_group(self) -> Int[np.ndarray, " K"] | None:
        """Return the group of every cell, G for none; None if any cell has several, or one by another number than 1."""
        there = self.groups != 0
        number = there.sum(1)
        if (number > 1).any() or (self.groups.sum(1) != number).any():
            return None
        return np.where(number > 0, there.argmax(1), there.shape[1])


def rates(
    place: Float[Array, "S D"], member: Members, coordinates: Coordinates
) -> tuple[Float[Array, "S K"], Float[Array, "S K"]]:
    """Compute the curve m and the strength nu_c at every cell from standard normal parameters of one member."""
    curves = curves_of(place, member, coordinates)
    cells, tied = CellCoordinates.of(member, coordinates), tied_shares(curves, member, coordinates)

    def of_some(cells):
        share, scatter = at_cells(curves, member, cells, tied)
        return share, 1 / scatter

    n_cells = len(cells.x)
    if engine.is_eager() or n_cells * len(place) <= _AT_ONCE:
        share, strength = of_some(cells)
    else:
        blocks = -(-n_cells // _BLOCK)

        def cut(of_cell):
            padding = [(0, blocks * _BLOCK - n_cells), *[(0, 0)] * (of_cell.ndim - 1)]
            return xp.pad(of_cell, padding).reshape(blocks, _BLOCK, *of_cell.shape[1:])

        pieces = engine.mapped(of_some, engine.tree_map(cut, cells))
        share, strength = (part.reshape(blocks * _BLOCK, -1)[:n_cells] for part in pieces)
    return _turned(share), _turned(strength)


def _sigmoid(x: Array) -> Array:
    return 1 / (1 + xp.exp(-xp.clip(x, -80.0, 80.0)))  # to full relative precision where it is small


def curves_of(place: Float[Array, "S D"], member: Members, coordinates: Coordinates) -> Curves:
    """Compute what of a curve is the same at every cell."""
    at = {name: place[:, i] for i, name in enumerate(PARAMETERS)}
    heavy = xp.maximum(member.heavy, 1e-3)  # sinh(h u) / h is u in the limit
    which = member.coordinate

    def tails(u):
        return xp.sinh(heavy * u) / heavy

    slope = member.slope * xp.exp(member.slope_sd * tails(at["slope"]))
    slope = slope + member.either_slope * at["slope"] / coordinates.unit[which]
    intercept = member.intercept + member.from_log_odds * coordinates.log_odds + member.intercept_sd * at["shift"]
    tau = member.shift_sd * at["shift"]
    intercept = intercept - slope * tau
    delta = member.prediction + member.prediction_sd * tails(at["prediction"])
    kappa = xp.clip(member.bend + member.bend_sd * at["bend"], 0.1, 1.6)
    roughness = xp.exp(member.roughness + member.roughness_sd * at["roughness"])
    both = xp.stack([at["unannounced"], at["lapse"]])  # in one operation, which compiles in less time than two
    (hides, lapses), (of_hidden, of_lapses) = slab(both, xp.stack([member.spike, member.lapse_spike])[:, None])
    lapse = xp.where(lapses, member.lapse + member.lapse_sd * of_lapses, NEVER)
    announced = _sigmoid(coordinates.log_odds - xp.where(which == 0, tau, 0.0))
    phi = xp.where(hides, xp.exp(member.unannounced + member.unannounced_sd * of_hidden), 0.0)
    gamma = xp.minimum(phi * announced, 0.5)
    nu = xp.exp(xp.clip(member.strength + member.strength_sd * at["strength"], -2.0, 16.0))
    by_particle = intercept, slope, delta, member.score_sd * at["score"], gamma, kappa, nu, lapse
    return Curves(
        *(x[:, None] for x in by_particle),
        waves=_columns(roughness[:, None] * place[:, len(PARAMETERS) : N_PARAMETERS]),
        effects=_effects(place, member, coordinates),
    )


def slab(u: Array, spike: Array) -> tuple[Bool[Array, "..."], Array]:
    """Tell whether a standard normal variable is beyond a spike, which may be 0, and which quantile of the slab it is.

    Examples
    --------
    >>> with engine.eager():
    ...     beyond, quantile = slab(np.array([0.0, 0.6744898]), np.array(0.5))  # the median, and the third quartile
    >>> beyond.tolist(), quantile[1:].round(6).tolist()
    ([False, True], [0.0])
    """
    share = xp.clip(engine.ndtr(-u) / (1 - spike), _LEAST, 1.0)
    return share < 1, xp.where(spike > 0, -engine.ndtri(xp.minimum(share, _BELOW_1)), u)


def tied_shares(curves: Curves, member: Members, coordinates: Coordinates) -> Float[Array, "S W"] | None:
    """Compute the mean of the curve over the ranks of every tied cell, as it lies; None where there are none."""
    if coordinates.tied is None:
        return None
    tied, which = coordinates.tied, member.coordinate
    at = xp.repeat(tied.cell, tied.mass.shape[1])
    x = tied.place[which].reshape(-1)
    points = CellCoordinates(
        x=x,
        size=xp.log1p(xp.abs(x)),
        z=coordinates.standard[which][at],
        smooth=tied.smooth[which].reshape(len(at), -1),
        feature=coordinates.feature[at],
        groups=coordinates.groups[at],
    )
    share = _turned(_share(curves, member, points))
    return (share.reshape(-1, *tied.mass.shape) * tied.mass).sum(-1)


def at_cells(
    curves: Curves, member: Members, cells: CellCoordinates, tied: Float[Array, "S W"] | None = None
) -> tuple[Float[Array, "S K"], Float[Array, "S K"]]:
    """Compute m and 1 / nu_c at cells, as `_turned` puts them; those that tie have the shares given."""
    m = _share(curves, member, cells)
    if tied is not None and cells.tied is not None:
        m = xp.where(_turned(cells.tied[None] >= 0), _turned(tied[:, xp.maximum(cells.tied, 0)]), m)
    return m, engine.power(4 * m * (1 - m), member.relative) * (1 / _turned(curves.nu))


def _share(curves: Curves, member: Members, cells: CellCoordinates) -> Float[Array, "S K"]:
    """Compute the curve m at cells, or points, as `_turned` puts them."""
    effects, sums, of_cells = _effects_at(curves, cells)
    wave = _waves(curves, cells)
    intercept, slope, delta, zeta, gamma, kappa, _, lapse = (_turned(part) for part in curves[:8])
    x, size, z, feature = (_turned(part[None]) for part in (cells.x, cells.size, cells.z, cells.feature))
    of_group = xp.zeros((), wave.dtype)
    if effects:
        of_group = member.group_sd * effects[0] + member.group_mean * _turned(sums[None])
    if not (engine.is_eager() and member.group_odds == 1):
        wave = wave + of_cells((1 - member.group_odds) * of_group)
    if len(effects) > 2:
        lapse = lapse + of_cells(member.group_lapse_sd * effects[2])
    bent = engine.cond(
        member.bend_sd > 0,
        lambda: xp.sign(x) * (xp.exp(kappa * size) - 1) / kappa,
        lambda: xp.broadcast_to(xp.asarray(x, wave.dtype), wave.shape),
    )
    if len(effects) > 1:
        bent = of_cells(xp.exp(member.group_slope_sd * effects[1])) * bent
    eta = intercept + slope * bent + delta * feature + zeta * z + wave
    m = xp.clip(gamma + (1 - gamma) * (1 - _sigmoid(lapse)) * _sigmoid(eta), _LEAST, 1 - _LEAST_OTHER)
    if not effects:
        return m
    factor = of_cells(xp.exp(xp.clip(member.group_odds * of_group, -_MOST_LOG_ODDS, _MOST_LOG_ODDS)))
    return xp.clip(m * factor / (1 - m + m * factor), _LEAST, 1 - _LEAST_OTHER)


def _effects_at(
    curves: Curves, cells: CellCoordinates
) -> tuple[list[Float[Array, "S N"]], Float[Array, " N"], Callable[[Array], Array]]:
    """Return effects at cells as `_turned` puts them, sums of the shares they are weighed by, and what puts them there.

    On NumPy, where every cell is of one group, effects are those of groups, and of none, and the function that is
    returned takes to cells what follows from them.
    """
    group = cells.only_group() if engine.is_eager() and curves.effects.shape[1] else None
    if group is None:
        by_cell = engine.product(curves.effects, cells.groups.T)
        return [_turned(by_cell[:, i]) for i in range(by_cell.shape[1])], cells.groups.sum(1), lambda values: values
    n, n_effects, n_groups = curves.effects.shape
    of_groups = np.zeros((n_effects, n, n_groups + 1), np.float32)  # of none, there are none
    of_groups[..., :n_groups] = curves.effects.swapaxes(0, 1)
    sums = np.ones(n_groups + 1, np.float32)
    sums[n_groups] = 0
    return list(of_groups), sums, lambda values: values.take(group, 1)  # in the order of rows, unlike values[:, group]


def _columns(waves: Float[Array, "S J"]) -> Array | list[Array]:
    """Compiled, take the columns apart, which lie side by side in memory then; on NumPy, leave (S, J) as it is."""
    return waves if engine.is_eager() else [waves[:, j : j + 1] for j in range(waves.shape[1])]


def _waves(curves: Curves, cells: CellCoordinates) -> Float[Array, "S K"]:
    """Compute what the smooth functions add at cells, as `_turned` puts it."""
    if engine.is_eager():
        return engine.product(curves.waves, cells.smooth.T)
    # One operation with what follows, where a product of matrices with few columns is another.
    parts = [cells.smooth[:, j : j + 1] * _turned(wave) for j, wave in enumerate(curves.waves)]
    return sum(parts[1:], parts[0])


def _turned(part: Float[Array, "*shape"]) -> Float[Array, "*shape"]:
    """Compiled, put cells first, as `log_likelihood` does; on NumPy, leave (S, K) as it is."""
    return part if engine.is_eager() else part.T


def _effects(place: Float[Array, "S D"], member: Members, coordinates: Coordinates) -> Float[Array, "S E G"]:
    """Return the effects of groups: none where there are no groups.

    The first ones are stretched, so that no contrast of groups is preferred. u becomes u exp(t z), with a spread t of
    the log of a scale that all groups share. Or it becomes u sinh(h r) / (h r), where r^2 is the mean square of the G
    effects: sinh(h u) / h of one effect, as for the slope.
    """
    n_groups = coordinates.groups.shape[1]
    if not n_groups:
        return place[:, :0].reshape(len(place), 0, 0)
    scale, effects = place[:, N_PARAMETERS], place[:, N_PARAMETERS + N_OF_SCALE :].reshape(len(place), -1, n_groups)
    length = xp.sqrt((effects[:, :1] ** 2).sum(-1, keepdims=True) / n_groups + _ROUNDING)
    bent = xp.maximum(member.group_heavy * length, _ROUNDING)
    heavy = xp.where(member.group_heavy > 0, xp.sinh(bent) / bent, 1.0)
    scaled = xp.exp(member.group_spread * xp.minimum(scale, _MOST_SPREAD))[:, None, None]
    return xp.concatenate([effects[:, :1] * heavy * scaled, effects[:, 1:]], axis=1)


def likelihood_parts(coordinates: Coordinates) -> Float[Array, "K P"]:
    """Return which part of the likelihood every cell is of: those of the G groups, and of cells without a group."""
    in_group = (coordinates.groups != 0).astype(xp.float32)
    number = in_group.sum(1, keepdims=True)
    return xp.concatenate([in_group / xp.maximum(number, 1), (number == 0).astype(xp.float32)], axis=1)


def groups_apart(member: Members, coordinates: Coordinates) -> Bool[Array, ""]:
    """Tell whether the effects of a group matter to its own part of the likelihood alone."""
    return (member.group_heavy == 0) & ((coordinates.groups != 0).sum(1) <= 1).all()
