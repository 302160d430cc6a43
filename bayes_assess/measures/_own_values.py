"""Values of measures of one's own, looked at before any label is paid for: range, derivative, many risks at once."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from bayes_assess._tools import engine
from bayes_assess._tools.axes import in_64_bits, own_settings
from bayes_assess._tools.shapes import Array, Bool, Float
from bayes_assess.errors import QuestionError
from bayes_assess.measures._measure import Measure
from bayes_assess.measures._stacked import Part

_ROUNDING = 1e-9
_MIXED = 3  # risks of items of all kinds together
_STEP = 1e-6  # of central differences
_ALIKE = 1e-3  # relative difference of a derivative from these


def check_range(measure: Measure, losses: Float[np.ndarray, "n D"]) -> None:
    """Raise QuestionError if a measure of one's own leaves its range where all items have one of these losses."""
    if not measure.is_own or measure.g is None or not np.isfinite(measure.range).any():
        return
    found, known = _values(measure, np.unique(losses, axis=0))
    low, high = measure.range
    beyond = found[known & ((found < low - _ROUNDING) | (found > high + _ROUNDING))]
    if len(beyond):
        raise QuestionError(
            f"Measure {measure.name!r} says that it lies in [{low:g}, {high:g}], but would be {beyond[0]:g} if all "
            "items were like one that may be in this pool. Give it a range that holds it whatever the labels are, "
            "range=(lowest, highest): intervals lean on that."
        )


def check_values(measure: Measure, losses: Float[np.ndarray, "n D"]) -> None:
    """Raise QuestionError if a measure of one's own is not what it says to be, of items with these losses.

    It leaves its range, has a value nowhere, a derivative that is none of its g, or functions that do not work entry by
    entry as `elementwise` has it.
    """
    if not measure.is_own or measure.g is None or not len(losses):
        return
    check_range(measure, losses)
    alike, rng = np.unique(losses, axis=0), np.random.default_rng(0)
    mixed = rng.dirichlet(np.ones(len(alike)), _MIXED) @ alike
    anywhere = np.concatenate([alike, mixed, np.full((1, losses.shape[1]), 0.5), rng.random((_MIXED, losses.shape[1]))])
    if not _values(measure, anywhere)[1].any():
        defined = "" if measure.defined is None else ", or not `defined`,"
        raise QuestionError(
            f"Measure {measure.name!r} has no value, whatever the labels are: its g is not finite{defined} at "
            f"{mixed[0].round(3).tolist()}, nor at any other risk that was tried."
        )
    if measure.derivative is not None:
        _check_derivative(measure, measure.g, measure.derivative, mixed)
    if measure.elementwise:
        _check_elementwise(measure, mixed)


def _values(
    measure: Measure, risks: Float[np.ndarray, "n D"]
) -> tuple[Float[np.ndarray, "n K"], Bool[np.ndarray, "n K"]]:
    """Compute g at some risks, and where it is defined, risk by risk."""
    g = measure.g
    assert g is not None
    part = Part(g, measure.defined, risks.shape[1], (0,), 1, measure.derivative)
    with engine.compiled(), own_settings():
        found, known = (np.asarray(engine.vmap(of)(risks)) for of in (part.value, part.defined))
    return found, known


def _check_derivative(
    measure: Measure,
    g: Callable[[Float[Array, " D"]], Array],
    derivative: Callable[[Float[Array, " D"]], Array],
    risks: Float[np.ndarray, "n D"],
) -> None:
    """Hold a derivative against central differences of g, where these are finite."""
    with engine.eager(), np.errstate(all="ignore"):
        for risk in risks:
            steps = _STEP * (1 + np.abs(risk)) * np.eye(len(risk))
            ends = [[np.atleast_1d(np.asarray(g(risk + s), np.float64)) for s in (step, -step)] for step in steps]
            change = np.stack([(up - down) / (2 * step.sum()) for (up, down), step in zip(ends, steps, strict=True)], 1)
            stated = np.asarray(derivative(risk), np.float64)
            known = np.isfinite(change)
            near = np.abs(stated - change) <= _ALIKE * (_ALIKE + np.abs(change).max(initial=0.0, where=known))
            if (known & ~near).any():
                raise QuestionError(
                    f"The derivative of measure {measure.name!r} is not that of its g: at the risk "
                    f"{risk.round(3).tolist()} it is {stated.round(3).tolist()}, and differences of g are "
                    f"{change.round(3).tolist()}. Mend it, or leave it out: JAX differentiates g by itself."
                )


def _check_elementwise(measure: Measure, risks: Float[np.ndarray, "n D"]) -> None:
    """Hold g and `defined` at many risks together against these one by one."""
    found, known = _values(measure, risks)
    functions = {"g": (measure.g, found, known), "defined": (measure.defined, known, np.ones_like(known))}
    for name, (function, each, looked_at) in functions.items():
        if function is None:
            continue
        try:
            with engine.eager(), in_64_bits(), np.errstate(all="ignore"):
                together = np.asarray(function(risks.T))
            fits = together.shape in ((len(risks),), each.T.shape) and np.allclose(
                np.where(looked_at, together.reshape(-1, len(risks)).T, 0), np.where(looked_at, each, 0)
            )
        except (TypeError, ValueError, IndexError):
            fits = False
        if not fits:
            raise QuestionError(
                f"Measure {measure.name!r} says that it is elementwise, but its {name} of risks of shape "
                f"{risks.T.shape} is not that of each of the {len(risks)}; leave out elementwise=True."
            )
