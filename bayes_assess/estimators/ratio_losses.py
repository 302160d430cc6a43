"""Measures that are a mean, a ratio of two sums over the items of a pool, a difference or function of two such ratios.

Those are the measures that audits alone can answer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from bayes_assess._tools import engine
from bayes_assess._tools.axes import in_64_bits
from bayes_assess._tools.shapes import Array, Bool, Float, Int
from bayes_assess.measures import AveragedTable, Difference, LossTable, PRCurveTable, RankingTable, area
from bayes_assess.measures._losses import DenseLosses, SparseLosses

if TYPE_CHECKING:
    from bayes_assess.measures._stacked import Part


_PLACES = np.array([0.31, 0.73, 0.12, 0.94, 0.55, 0.58, 0.02, 0.41, 0.27, 0.66, 0.83])  # where g is looked at
_N_PLACES, _MOST_LOSSES = 12, 8
_MOST = 8  # ratios that bets are kept for


class Ratios(NamedTuple):
    """Ratios sum f / sum g over items, of which outputs are the sum or the difference.

    Attributes
    ----------
    outputs : (J,) integers
        The output that every ratio belongs to; an area under the ROC curve has two, which are not added. Of an
        `AveragedTable` the least ratios come first, and then as many of the greatest.
    sign : (J,)
        1, or -1 where it is subtracted.
    ranges : (J, 2)
        Where it lies.
    f, g : (J, A, O)
        Of an item of every attribute with every outcome; g >= 0.
    """

    outputs: Int[np.ndarray, " J"]
    sign: Float[np.ndarray, " J"]
    ranges: Float[np.ndarray, "J 2"]
    f: Float[np.ndarray, "J A O"]
    g: Float[np.ndarray, "J A O"]


def ratio_losses(table: LossTable | PRCurveTable, most: int | None = _MOST) -> Ratios:
    """Write outputs as ratios sum f / sum g over items, those that are one or a difference of two.

    Parameters
    ----------
    table : LossTable or PRCurveTable
    most : int, optional
        Ratios of a `LossTable` at most, the first ones; None for all.

    Returns
    -------
    Ratios
        With a bounded range; of curves eight spread over them.

    Examples
    --------
    >>> import bayes_assess as ba
    >>> from bayes_assess.measures import table_for
    >>> _, table = table_for(["f1", "matthews_corrcoef"], ba.Pool(predictions=[0, 0, 1, 1]))
    >>> ratios = ratio_losses(table)
    >>> ratios.outputs.tolist(), ratios.f[0].tolist(), ratios.g[0].tolist()  # rows = predicted class, columns = label
    ([0], [[0.0, 0.0], [0.0, 1.0]], [[0.0, 0.5], [0.5, 1.0]])
    """
    special = _OF_TABLES.get(type(table))
    return _of_losses(table, most) if special is None else special(table)


def ratios_apart(
    table: LossTable, asked: Bool[np.ndarray, " K"] | None = None
) -> Iterator[tuple[Ratios, Int[np.ndarray, " a"]]]:
    """Yield the ratios of one output after the other, or of some, of the attributes alone that they depend on.

    For tables of many outputs, of which all ratios at once do not fit into memory.

    Examples
    --------
    >>> import bayes_assess as ba
    >>> from bayes_assess.measures import table_for
    >>> pool = ba.Pool(predictions=[0, 1, 0, 1], groups={"site": ["a", "a", "b", "b"]})
    >>> _, table = table_for("f1", pool, by="site")
    >>> [(ratios.outputs.tolist(), attributes.tolist()) for ratios, attributes in ratios_apart(table)]
    [([0], [0, 2]), ([1], [1, 3])]
    """
    attribute, place = nonzero_losses(table)
    order = np.argsort(place, kind="stable")
    starts = np.searchsorted(place[order], np.arange(table.n_losses + 1))
    for output, part, places in _outputs(table):
        if asked is not None and not asked[output]:
            continue
        touched = np.unique(np.concatenate([attribute[order[starts[d] : starts[d + 1]]] for d in places]))
        if _is_of_all(part):
            touched = np.arange(table.n_attributes)
        ratios = _ratios(part, table.losses.columns(places, touched).dense(), table.ranges[output])
        if ratios:
            yield _joined([(output, *ratio) for ratio in ratios]), touched


def _of_losses(table: Any, most: int | None) -> Ratios:
    ratios: list[tuple[int, float, tuple[float, float], np.ndarray, np.ndarray]] = []
    for output, part, places in _outputs(table):
        if most is not None and len(ratios) >= most:
            break
        ratios += [
            (output, *ratio) for ratio in _ratios(part, table.losses.columns(places).dense(), table.ranges[output])
        ]
    return _joined(ratios[:most]) if ratios else _none((table.n_attributes, table.n_classes))


def _outputs(table: LossTable) -> Iterator[tuple[int, Part, Int[np.ndarray, " D"]]]:
    """Yield outputs that are of one copy of a part and may be ratios, with the places of their losses."""
    at = 0
    for part in table.parts:
        n_outputs = part.n_outputs
        alone = n_outputs == 1 and part.averaged == 1 and part.size <= 2 * _MOST_LOSSES
        for places in part.places:
            if alone and at < len(table.ranges):
                yield at, part, places
            at += n_outputs


def nonzero_losses(table: LossTable) -> tuple[Int[np.ndarray, " n"], Int[np.ndarray, " n"]]:
    """Return attributes and places of the losses that are not 0, once for every label."""
    values = np.asarray(table.losses.values)
    attribute, _, place = np.nonzero(values)
    if isinstance(table.losses, SparseLosses):
        place = np.asarray(table.losses.index)[values != 0]
    return attribute, place


def _is_of_all(part: Part) -> bool:
    """Whether a part is, or is the difference of, an affine function, which is a mean over all items."""
    g, size = (part.g.of, part.g.size) if isinstance(part.g, Difference) else (part.g, part.size)
    return isinstance(_form(g, size), _Affine)


def _joined(found: list[tuple[int, float, tuple[float, float], np.ndarray, np.ndarray]]) -> Ratios:
    return Ratios(*(np.array(column) for column in zip(*found, strict=True)))


def _none(shape: tuple[int, ...]) -> Ratios:
    nothing = np.zeros((0, *shape))
    return Ratios(np.zeros(0, np.int64), np.zeros(0), np.zeros((0, 2)), nothing, nothing)


def _ratios(part: Part, losses: Float[np.ndarray, "A O D"], range: tuple[float, float]) -> list[tuple]:
    """Return sign, range, f and g of the ratios that make an output, none if it is no such thing."""
    pairs = [(1.0, range, _ratio(part.g, losses))]
    if pairs[0][2] is None and isinstance(part.g, Difference):
        halves = map(np.asarray, part.g.halves(np.moveaxis(losses, -1, 0)))
        pairs = [
            (sign, part.g.range, _ratio(part.g.of, np.moveaxis(half, 0, -1)))
            for sign, half in zip((1.0, -1.0), halves, strict=True)
        ]
    known = all(pair is not None and np.isfinite(ends).all() and (pair[1] >= 0).all() for _, ends, pair in pairs)
    return [(sign, ends, *pair) for sign, ends, pair in pairs if pair is not None] if known else []


def _of_curve(table: PRCurveTable) -> Ratios:
    """Return precision and recall at some thresholds."""
    size = len(table.thresholds)
    some = np.unique(((np.arange(_MOST // 2) + 0.5) / (_MOST // 2) * size).astype(np.int64))
    above = np.arange(table.n_attributes) > some[:, None]
    positive = np.arange(table.n_classes) == table.positive
    hits = (above[:, :, None] & positive).astype(float)
    announced, whole = np.ones_like(hits) * above[:, :, None], np.ones_like(hits) * positive
    f, g = np.concatenate([hits, hits]), np.concatenate([announced, whole])
    outputs = np.concatenate([some, size + some])
    return Ratios(outputs, np.ones(len(outputs)), np.tile([0.0, 1.0], (len(outputs), 1)), f, g)


def _of_ranking(table: RankingTable) -> Ratios:
    """Return the two ratios that an area under the ROC curve follows from, see `area_from_ratios`."""
    outputs = np.repeat([i for i, ranking in enumerate(table.rankings) if ranking is area], 2)
    shape = np.shape(table.nonzero)
    size, above = np.asarray(table.levels.size), np.asarray(table.levels.above)
    middle = 1 - (above + size / 2) / size.sum()
    of_levels: Any = table.losses
    positive = np.zeros(shape)
    positive[:, of_levels.positive] = 1.0
    f, g = np.stack([positive * middle[:, None], positive]), np.stack([positive, np.ones(shape)])
    times = len(outputs) // 2
    ends = np.tile([0.0, 1.0], (len(outputs), 1))
    return Ratios(outputs, np.ones(len(outputs)), ends, *(np.tile(x, (times, 1, 1)) for x in (f, g)))


def area_from_ratios(
    place: Float[np.ndarray, "*batch 2"], rate: Float[np.ndarray, "*batch 2"]
) -> Float[np.ndarray, "*batch 2"]:
    r"""Bound an area under the ROC curve by bounds of two ratios of sums over items.

    Ranks of all items are known. With u the mean fraction of items that stand below a positive one (half of those that
    tie), and pi the share of positives,

    .. math:: \mathrm{AUC} = \frac{u - \pi / 2}{1 - \pi} ,

    which rises with u, and with pi where u > 1/2, else falls.

    Parameters
    ----------
    place, rate : (..., 2)
        Bounds of u and of pi.

    Examples
    --------
    >>> area_from_ratios(np.array([0.75, 0.75]), np.array([0.5, 0.5])).tolist()  # two positives above two negatives
    [1.0, 1.0]
    """
    corners = [(place[..., i] - rate[..., j] / 2) / np.maximum(1 - rate[..., j], 1e-12) for i in (0, 1) for j in (0, 1)]
    # A positive item that no negative one faces has no area: the rate's upper end may be 1.
    some = np.clip(np.stack(corners, axis=-1), 0.0, 1.0)
    return np.stack([some.min(-1), some.max(-1)], axis=-1)


def signed(ends: Float[np.ndarray, "*batch J 2"], sign: Float[np.ndarray, " J"]) -> Float[np.ndarray, "*batch J 2"]:
    """Turn bounds of ratios into those of what they add to their outputs."""
    return np.where(sign[:, None] < 0, -ends[..., ::-1], ends)


def between(
    ends: Float[np.ndarray, "*batch J 2"], ratios: Ratios
) -> tuple[Int[np.ndarray, " j"], Float[np.ndarray, "*batch j 2"]]:
    """Return the outputs of ratios of an `AveragedTable`, and what they add, by bounds of the least and the greatest.

    Examples
    --------
    >>> both = Ratios(np.array([0, 0]), np.array([-1.0, -1.0]), *np.zeros((3, 2)))
    >>> outputs, ends = between(np.array([[0.1, 0.3], [0.2, 0.4]]), both)
    >>> outputs.tolist(), ends.tolist()
    ([0], [[-0.4, -0.1]])
    """
    n = len(ratios.outputs) // 2
    return ratios.outputs[:n], signed(np.stack([ends[..., :n, 0], ends[..., n:, 1]], axis=-1), ratios.sign[:n])


class _Affine(NamedTuple):
    """A function of mean losses that is zero + losses @ steps."""

    zero: float
    steps: Float[np.ndarray, " D"]


class _OfRatio(NamedTuple):
    """A function of two mean losses that is zero + step R_1 / R_2, such as the accuracy of a group by its errors."""

    zero: float
    step: float


def _ratio(g: Callable[[Array], Array], losses: Float[np.ndarray, "A O D"]) -> tuple[np.ndarray, np.ndarray] | None:
    """Return f and g of a function that is affine or a ratio; None if it is neither."""
    form = _form(g, losses.shape[-1])
    if form is None:
        return None
    if isinstance(form, _Affine):
        top = form.zero + losses @ form.steps
        return top, np.ones_like(top)
    return form.zero * losses[..., 1] + form.step * losses[..., 0], losses[..., 1]


@lru_cache(256)
def _form(g: Callable[[Array], Array], size: int) -> _Affine | _OfRatio | None:
    """Tell whether a function of mean losses is affine, or is so in the ratio of two, by looking at it."""
    if size > _MOST_LOSSES:
        return None
    places = np.resize(_PLACES, (_N_PLACES, size))
    zero, *ones = values = _values(g, np.vstack([np.zeros(size), np.eye(size), places]))
    steps, values = np.array(ones[:size]) - zero, values[1 + size :]
    if np.allclose(values, zero + places @ steps, rtol=0, atol=1e-9):
        return _Affine(float(zero), steps)
    if size != 2:
        return None
    zero, one = _values(g, np.array([[0.0, 1.0], [1.0, 1.0]]))
    form = _OfRatio(float(zero), float(one - zero))
    alike = np.allclose(values, form.zero + form.step * places[:, 0] / places[:, 1], rtol=0, atol=1e-9)
    return form if alike else None


def _values(g: Callable[[Array], Array], risks: Float[np.ndarray, "N D"]) -> Float[np.ndarray, " N"]:
    """Compute g at a few risks, without compiling it."""
    with engine.eager(), in_64_bits():
        values = np.array([np.ravel(g(risk))[0] for risk in risks], np.float64)
    return np.where(np.isfinite(values), values, 0.0)


def _of_averaged(table: AveragedTable) -> Ratios:
    """Return the ratios of the least losses of items, and then as many of the greatest, if all have one denominator."""
    ends = [_of_losses(replace(table, losses=DenseLosses(losses)), None) for losses in (table.lowest, table.highest)]
    f, g = (np.stack([getattr(ratios, part) for ratios in ends]) for part in ("f", "g"))
    outputs = ends[0].outputs
    others = outputs[(g[0] != g[1]).any((1, 2))]
    kept = np.flatnonzero(~np.isin(outputs, others))
    kept = kept[np.searchsorted(outputs[kept], outputs[kept], side="right") <= _MOST // 2]
    outputs, sign, ranges = (np.concatenate([part[kept], part[kept]]) for part in ends[0][:3])
    return Ratios(outputs, sign, ranges, np.concatenate([f.min(0)[kept], f.max(0)[kept]]), np.concatenate(g[:, kept]))


_OF_TABLES: dict[type, Callable[[Any], Ratios]] = {
    PRCurveTable: _of_curve,
    RankingTable: _of_ranking,
    AveragedTable: _of_averaged,
}
