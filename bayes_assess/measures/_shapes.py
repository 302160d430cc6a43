"""Checks of the arrays that tables take; JAX would clamp an index beyond the end and say nothing."""

from __future__ import annotations

from bayes_assess._tools.engine import xp
from bayes_assess._tools.shapes import Array, ArrayLike, Float
from bayes_assess.errors import QuestionError


def as_cells(values: ArrayLike, n_attributes: int, n_classes: int) -> Float[Array, "*batch A C"]:
    """Take a share or a mass of every cell as floats; rows = attribute, columns = label.

    Raises
    ------
    QuestionError
        If it has another shape than (..., A, C).
    """
    cells = xp.asarray(values, xp.float64)
    if cells.shape[-2:] != (n_attributes, n_classes):
        raise QuestionError(
            "Shares have a row per attribute and a column per label, "
            f"here {(n_attributes, n_classes)}; found shape {cells.shape}."
        )
    return cells


def as_risk(values: ArrayLike, size: int) -> Float[Array, "*batch D"]:
    """Take a risk as floats.

    Raises
    ------
    QuestionError
        If it has another shape than (..., D).
    """
    risk = xp.asarray(values, xp.float64)
    if risk.shape[-1:] != (size,):
        raise QuestionError(f"A risk is the mean of {size} losses; found shape {risk.shape}.")
    return risk
