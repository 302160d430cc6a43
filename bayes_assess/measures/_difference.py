"""The difference of one measure between two systems, or two sub-populations."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from bayes_assess._tools.engine import xp
from bayes_assess._tools.shapes import Array, Float
from bayes_assess.errors import QuestionError
from bayes_assess.measures._loss_table import LossTable
from bayes_assess.measures._stacked import Part

if TYPE_CHECKING:
    from bayes_assess.measures._measure import Risk


@dataclass(frozen=True)
class Difference:
    """A function of two risks that stand side by side: `of` at the first less `of` at the second.

    Parameters
    ----------
    of : callable
        g, of `size` losses; with one value.
    size : int
    range : (lowest, highest)
        Where g lies.
    """

    of: Callable[[Risk], Array]
    size: int
    range: tuple[float, float]

    def __call__(self, risk: Float[Array, " D"]) -> Float[Array, ""]:
        first, second = (xp.asarray(self.of(half)).reshape(risk.shape[1:]) for half in self.halves(risk))
        return xp.where(xp.isfinite(first), first, 0.0) - xp.where(xp.isfinite(second), second, 0.0)

    def halves(self, risk: Risk) -> tuple[Risk, Risk]:
        """Return the risk of the first and that of the second, (D, ...)."""
        return risk[: self.size], risk[self.size :]


@dataclass(frozen=True)
class _BothDefined:
    part: Part

    def __call__(self, risk: Risk) -> Array:
        size = self.part.size
        return _all(self.part, risk[:size]) & _all(self.part, risk[size:])


def _all(part: Part, risk: Risk) -> Array:
    known: Array = part.defined(risk)
    return known if part.elementwise else xp.all(known)


@dataclass(frozen=True)
class _DifferenceDerivative:
    part: Part

    def __call__(self, risk: Risk) -> Array:
        size = self.part.size
        return xp.concatenate([self.part.jacobian(risk[:size]), -self.part.jacobian(risk[size:])], axis=1)


def difference_table(table: LossTable, first: int, second: int) -> LossTable:
    """Return the table of the difference of two outputs of one measure, the first less the second.

    Parameters
    ----------
    table : LossTable
        Of one measure with one value, for several systems or sub-populations.
    first, second : int
        Positions in ``table.outputs``.

    Raises
    ------
    QuestionError
        If there are several measures, or the measure has several values.

    Examples
    --------
    >>> import bayes_assess as ba
    >>> from bayes_assess.measures import difference_table, table_for
    >>> pool = ba.Pool(predictions=[0, 1, 1, 0], systems={"b": [0, 0, 1, 1]})
    >>> codes, table = table_for("accuracy", pool, systems=["prediction", "b"])
    >>> less = difference_table(table, 0, 1)
    >>> less.outputs, less.ranges
    (('accuracy (system prediction) less accuracy (system b)',), ((-1.0, 1.0),))
    """
    part, *more = table.parts
    is_single = part.n_outputs == 1
    if more or not is_single or part.averaged > 1:
        raise QuestionError("A comparison is of one measure with one value, such as 'f1'.")
    places = part.places[[first, second]].ravel()
    losses = table.losses.columns(places)
    values = np.asarray(losses.values)
    mine, others = np.split(values, 2, axis=-1)
    alike = np.array_equal(mine, others)  # as of systems that predict the same: no label matters
    low, high = table.ranges[first]
    return replace(
        table,
        losses=losses,
        nonzero=(values != 0).any(-1) & (not alike),
        parts=(
            Part(
                Difference(part.g, part.size, (low, high)),
                _BothDefined(part),
                2 * part.size,
                (0,),
                derivative=None if part.derivative is None else _DifferenceDerivative(part),
                elementwise=part.elementwise,
            ),
        ),
        outputs=(f"{table.outputs[first]} less {table.outputs[second]}",),
        ranges=((low - high, high - low),),
    )
