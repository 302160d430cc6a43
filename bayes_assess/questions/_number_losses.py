"""Losses of labels that are numbers, as far as predictions, and how far off they are, make one expect them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from bayes_assess._tools.arrays import CHUNK, listing, show
from bayes_assess._tools.shapes import Float, Int
from bayes_assess.errors import QuestionError
from bayes_assess.measures import RealMeasures
from bayes_assess.pool.numbers import NumberPool
from bayes_assess.pool.pool import Pool

_DIGITS = 9  # of deviations, so that machines that round sums in another way cut the same strata
_NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(8)
_WEIGHTS = _WEIGHTS / _WEIGHTS.sum()


# Measures that are a mean of errors, or a function of one: how they follow from it.
OF_MEANS: Mapping[str, Callable[[np.ndarray], np.ndarray]] = MappingProxyType(
    {"mean_absolute_error": np.asarray, "mean_squared_error": np.asarray, "root_mean_squared_error": np.sqrt}
)


class InOrder(NamedTuple):
    """Losses of the items of a pool in the order in which they were drawn at random; see `bounded_mean_interval`.

    Attributes
    ----------
    losses : (n, D)
        Of the items drawn; not a number where the label is missing.
    most : (n, D)
        The greatest that they can have.
    rest : (r, D)
        The greatest losses of the items not drawn.
    believed : (D,)
        Mean losses that are expected.
    """

    losses: Float[np.ndarray, "n D"]
    most: Float[np.ndarray, "n D"]
    rest: Float[np.ndarray, "r D"]
    believed: Float[np.ndarray, " D"]


@dataclass(frozen=True)
class PossibleErrors:
    """What labels leave possible for measures of errors: those of the labelled items are known, others have bounds.

    Attributes
    ----------
    whole : RealMeasures
        k measures.
    group : (M,) integers
        The group of every item, of G.
    size : (G,) integers
    greatest : (M, D) floats, or None
        The greatest losses that every item can have, by the bounds of labels; None where labels have none.
    total : (G, D) floats
        Their sums.
    """

    whole: RealMeasures
    group: Int[np.ndarray, " M"]
    size: Int[np.ndarray, " G"]
    greatest: Float[np.ndarray, "M D"] | None
    total: Float[np.ndarray, "G D"]

    @classmethod
    def of(cls, pool: NumberPool, whole: RealMeasures, group: Int[np.ndarray, " M"] | None = None) -> PossibleErrors:
        """Look at the bounds of all items, of every group if they are told apart.

        Examples
        --------
        >>> pool = NumberPool(predictions=[1.0, 5.0, 2.0], bounds=(0, 10))
        >>> errors = PossibleErrors.of(pool, RealMeasures.of("mae"))
        >>> errors.ends(np.array([0]), np.array([[3.0]])).tolist()  # (3 + 0 + 0) / 3, and (3 + 5 + 8) / 3
        [[1.0, 5.333333333333333]]
        """
        codes = np.zeros(pool.n_items, np.int64) if group is None else group
        size = np.bincount(codes)
        total = np.full((len(size), whole.n_losses), np.inf)
        if not np.isfinite(pool.bounds).all() or not set(whole.outputs) & set(OF_MEANS):
            return cls(whole, codes, size, None, total)
        centre = centre_of(pool, whole)
        f = pool.numbers - centre
        greatest = np.maximum(*(whole.losses(np.full(pool.n_items, end - centre), f) for end in pool.bounds))
        sums = [np.bincount(codes, column, len(size)) for column in greatest.T]
        return cls(whole, codes, size, greatest, np.stack(sums, axis=-1))

    def ends(self, items: Int[np.ndarray, " n"], losses: Float[np.ndarray, "n D"]) -> Float[np.ndarray, "Gk 2"]:
        """Compute the least and the greatest value of every measure of every group, (G k, 2).

        Parameters
        ----------
        items : (n,)
            Labelled items.
        losses : (n, D)
            Theirs.
        """
        group, n_groups = self.group[items], len(self.size)
        ends = np.tile(np.array(self.whole.ranges, np.float64), (n_groups, 1, 1))
        for k, (name, column) in enumerate(zip(self.whole.outputs, self.whole.first_losses, strict=True)):
            if name not in OF_MEANS:
                continue
            known = np.bincount(group, losses[:, column], n_groups)
            most = np.where(np.bincount(group, minlength=n_groups) < self.size, np.inf, known)
            if self.greatest is not None:
                most = known + self.total[:, column] - np.bincount(group, self.greatest[items, column], n_groups)
            ends[:, k] = OF_MEANS[name](np.stack([known, np.maximum(most, known)], -1) / self.size[:, None])
        return ends.reshape(-1, 2)


def believed_risk(
    pool: NumberPool, spec: RealMeasures, items: Int[np.ndarray, " n"] | None = None
) -> Float[np.ndarray, " D"]:
    """Return the mean losses that predictions, and how far off they are expected to be, make one expect.

    Labels are taken to be y = f + u z, with predictions f, their spread u and normal z, by Gauss-Hermite quadrature.
    Where nothing is known of it, u is the standard deviation of the predictions.

    Parameters
    ----------
    pool : NumberPool
    spec : RealMeasures
    items : (n,), optional
        Whose losses are averaged; those of all items by default.

    Examples
    --------
    >>> pool = NumberPool(predictions=[0.0, 5.0], scores=[1.0, 3.0], bounds=(-np.inf, np.inf))
    >>> believed_risk(pool, RealMeasures.of("mse")).round(6).tolist()  # the mean of 1 and 9
    [5.0]
    """
    total, chosen = np.zeros(spec.n_losses), np.ones(pool.n_items, bool)
    if items is not None:
        chosen = np.isin(np.arange(pool.n_items), items)
    for part, losses in _expected(pool, spec):
        total += np.einsum("j,jnd->d", _WEIGHTS, losses[:, chosen[part]])
    return total / chosen.sum()


def item_deviations(
    pool: NumberPool, spec: RealMeasures, group: Int[np.ndarray, " M"] | None = None
) -> Float[np.ndarray, " M"]:
    r"""Return how far the label of every item can be expected to move the measures, up to a factor.

    .. math:: h_i^2 = \sum_k E_{y \sim N(f_i, u_i^2)} (Dg_k(R_0) \, l(y, f_i))^2 / \bar h_k^2,

    each measure k in units of its mean square over the pool; see `believed_risk`. Of measures by `group` R_0 and the
    means are those of the item's group, and h is divided by the root of its share, as one label tells the more of a
    group the smaller that is.

    Examples
    --------
    >>> pool = NumberPool(predictions=[0.0, 5.0], scores=[1.0, 3.0], bounds=(-np.inf, np.inf))
    >>> item_deviations(pool, RealMeasures.of("mae")).round(6).tolist()
    [0.333333, 1.0]
    """
    codes = np.zeros(pool.n_items, np.int64) if group is None else group
    size = np.bincount(codes)
    of_groups = [None] if group is None else [np.flatnonzero(codes == g) for g in range(len(size))]
    jacobian = np.stack([spec.jacobian(believed_risk(pool, spec, items)) for items in of_groups])
    squares = np.empty((pool.n_items, spec.n_outputs))
    for items, losses in _expected(pool, spec):
        moves = np.einsum("jnd,nkd->jnk", losses, jacobian[codes[items]])
        squares[items] = np.einsum("j,jnk->nk", _WEIGHTS, moves**2)
    total = np.zeros((len(size), spec.n_outputs))
    np.add.at(total, codes, squares)
    scale = total / np.maximum(size, 1)[:, None]
    deviations = np.sqrt((squares / np.where(scale > 0, scale, 1)[codes]).sum(-1) * pool.n_items / size[codes])
    greatest = deviations.max()
    return np.round(deviations / greatest, _DIGITS) if greatest > 0 else np.ones(pool.n_items)


def _expected(pool: NumberPool, spec: RealMeasures) -> Iterator[tuple[slice, Float[np.ndarray, "J n D"]]]:
    """Go through the items, with their losses at the nodes, (J, n, D)."""
    u = expected_spread(pool)
    centre = centre_of(pool, spec)
    for start in range(0, pool.n_items, CHUNK):
        items = slice(start, start + CHUNK)
        f = pool.numbers[items]
        y = np.clip(f + u[items] * _NODES[:, None], *pool.bounds)
        losses = spec.losses((y - centre).ravel(), np.tile(f - centre, len(_NODES)))
        yield items, losses.reshape(len(_NODES), len(f), -1)


def centre_of(pool: NumberPool, spec: RealMeasures) -> float:
    """Return what is subtracted from all numbers, so that variances keep their digits.

    It is the mean prediction, with as few binary digits as its spread allows: whole numbers stay whole.
    """
    spread = pool.numbers.std()
    if not spec.shift_invariant or not spread > 0:
        return float(pool.numbers[0]) if spec.shift_invariant else 0.0
    unit = 2.0 ** np.floor(np.log2(spread))
    return float(np.rint(pool.numbers.mean() / unit) * unit)


def expected_spread(pool: NumberPool) -> Float[np.ndarray, " M"]:
    """Return how far off predictions are expected to be: as given, as systems differ, or as predictions vary.

    Examples
    --------
    >>> expected_spread(NumberPool(predictions=[0.0, 4.0], systems={"b": [2.0, 4.0]}, bounds=(-np.inf, np.inf)))
    array([1., 0.])
    """
    systems = pool.systems
    if pool.spread is not None and pool.spread.any():
        return np.asarray(pool.spread)
    if pool.spread is None and systems:
        spread = np.std([pool.numbers, *systems.values()], axis=0)
        if spread.any():
            return spread
    return np.full(pool.n_items, pool.numbers.std() or 1.0)


def groups_by(pool: Pool, by: str) -> tuple[np.ndarray, Int[np.ndarray, " M"]]:
    """Names of the groups of a column, and the group of every item."""
    if by not in pool.groups:
        raise QuestionError(
            f"There is no group column {show(by)} to ask by; the pool's group columns: "
            f"{listing(list(pool.groups)) if pool.groups else 'none'}."
        )
    return pool.groups.factorised(by)
