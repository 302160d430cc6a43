"""One measure of several systems, less its mean over them: what they have in common cancels."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from bayes_assess._tools import engine
from bayes_assess._tools.engine import xp
from bayes_assess._tools.seeds import generator
from bayes_assess._tools.shapes import Array, Float, Int
from bayes_assess.measures._loss_table import LossTable
from bayes_assess.measures._losses import DenseLosses
from bayes_assess.measures._stacked import Part

_ROUNDING = 1e-12


@dataclass(frozen=True)
class _Multiple:
    """g(R) = factor R."""

    factor: float

    def __call__(self, risk: Float[Array, " D"]) -> Float[Array, " D"]:
        return self.factor * risk[0]


@dataclass(frozen=True)
class _MultipleDerivative:
    factor: float

    def __call__(self, risk: Float[Array, " D"]) -> Float[Array, "1 D"]:
        return xp.full((1, 1), self.factor)


def centred_table(table: LossTable) -> LossTable:
    """Return the table of a measure of several systems less its mean over the systems, if it is a mean of one loss.

    Items on which no two systems differ have no loss then, and their labels do not matter. Of other measures, such as
    F1, every item matters: their table is returned as it is, but where all systems predict the same no item does.

    Parameters
    ----------
    table : LossTable
        Of one measure with one value, for several systems.

    Examples
    --------
    >>> import bayes_assess as ba
    >>> from bayes_assess.measures import centred_table, table_for
    >>> pool = ba.Pool(predictions=[0, 1, 1, 0], systems={"b": [0, 0, 1, 1]})
    >>> codes, table = table_for("accuracy", pool, systems=["prediction", "b"])
    >>> centred_table(table).nonzero.any(1)[codes].tolist()  # where the two differ
    [False, True, False, True]
    """
    factor = _factor(table)
    if factor is None:
        return replace(table, nonzero=np.zeros_like(table.nonzero)) if not alike_outputs(table).any() else table
    (part,) = table.parts
    losses = np.asarray(table.losses.values, np.float64)[..., part.places[:, 0]]
    losses = losses - losses.mean(-1, keepdims=True)
    losses[np.abs(losses) < _ROUNDING] = 0
    n = len(part.starts)
    low, high = table.ranges[0]
    widest = (high - low) * (1 - 1 / n)
    own = Part(_Multiple(factor), None, 1, tuple(range(n)), 1, _MultipleDerivative(factor), elementwise=True)
    return replace(
        table,
        losses=DenseLosses(losses),
        nonzero=(losses != 0).any(-1),
        parts=(own,),
        outputs=tuple(f"{name} less the mean of all" for name in table.outputs),
        ranges=((-widest, widest),) * n,
    )


def alike_outputs(table: LossTable) -> Int[np.ndarray, " K"]:
    """Return for every output the first one that has the same value whatever the labels are, as of equal predictions.

    Risks at random shares of the labels tell losses apart that are not the same.

    Examples
    --------
    >>> import bayes_assess as ba
    >>> from bayes_assess.measures import alike_outputs, table_for
    >>> pool = ba.Pool(predictions=[0, 1, 1, 0], systems={"b": [0, 0, 1, 1], "c": [0, 1, 1, 0]})
    >>> alike_outputs(table_for("f1", pool, systems=["prediction", "b", "c"])[1]).tolist()
    [0, 1, 0]
    """
    part, *more = table.parts
    if more:
        return np.arange(table.n_outputs)
    with engine.eager():
        risk = np.asarray(table.mean(generator(0, "shares").random(np.shape(table.nonzero))))
    own = risk[part.places].reshape(table.n_outputs, -1)
    same = np.abs(own - own[:, None]).max(-1) <= _ROUNDING * (1 + np.abs(own).max())
    return same.argmax(1)


def _factor(table: LossTable) -> float | None:
    """Return b where every output is a + b R of one loss R, else None."""
    part: Part
    part, *more = table.parts
    if more or part.size != 1 or part.averaged != 1 or not table.losses.is_dense:
        return None
    with engine.eager():
        values = [part.value(np.array([place])) for place in (0.0, 0.25, 1.0)]
    if len(values[0]) != 1:
        return None
    at_none, at_quarter, at_all = (float(value[0]) for value in values)
    factor = at_all - at_none
    return factor if factor and abs(at_none + factor / 4 - at_quarter) < _ROUNDING else None
