"""What the next label of every cell is expected to tell of a measure, under a belief on all labels."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from bayes_assess._tools import engine
from bayes_assess._tools.engine import xp
from bayes_assess._tools.shapes import Array, Float, Int
from bayes_assess.acquisition.measure_variance import MANY, SPARSE, drawn_reduction, expected_reduction, without_zeros
from bayes_assess.designs._audit import telling
from bayes_assess.designs._belief_state import BeliefState, OtherLabels
from bayes_assess.designs._label_models import moments_of
from bayes_assess.measures import LossTable

_MOST_THRESHOLDS = 32  # of a curve that decisions look at
_FEW_PAIRS = 0.5  # share of all cells and outputs, up to which they are looked at alone


def gains(state: BeliefState) -> Float[Array, " K"]:
    """Compute the expected reduction of the variance by one more label of every cell."""
    if state.other is not None:
        return _gains_by(state.other, state)
    inputs = moments_of(state.belief), state.unlabelled, state.pending
    apart = _apart(state)
    if apart is not None:
        return expected_reduction(*inputs, apart.astype(np.float32))
    return expected_reduction(*inputs, *_influence(state), _at_mean(state)[2])


def handed_out(before: BeliefState, after: BeliefState) -> BeliefState:
    """Let a state keep what eager steps know of another one from which it differs by pending items and the audit."""
    known = _believed, _masses, _apart, _at_mean, _outcomes, _pairs, _share_of_events, _telling
    return engine.carried(before, after, *known)


def _gains_by(other: OtherLabels, state: BeliefState) -> Float[Array, " K"]:
    """Compute the same from draws, as if pending items came back at the mean."""
    masses = state.masses(xp.tensordot(engine.softmax(other.log_weight), other.pi, 1))
    directions, _ = _directions(state, masses)
    log_weight = other.log_weight + other.tilt @ state.pending.astype(xp.float64)
    n_open = xp.maximum(state.unlabelled - state.pending, 0)
    return drawn_reduction(other.pi, log_weight, n_open, directions)


@engine.kept
def _believed(state: BeliefState) -> Float[Array, "K O"]:
    """Return the posterior mean of a state."""
    return state.probabilities()


@engine.kept
def _masses(state: BeliefState) -> Float[Array, "K O"]:
    """Return the masses of a state at its posterior mean."""
    return state.masses(_believed(state))


@engine.kept
def _apart(state: BeliefState) -> Any:
    """Compute by how much an item with the event raises every output beyond one without, as a sparse matrix (K, J).

    On NumPy, of many outputs and two outcomes, as of a thousand groups: a cell bears on the measures of one. None
    otherwise.
    """
    measure = state.measure
    table: Any = measure.table
    is_of_many = engine.is_eager() and isinstance(table, LossTable) and len(table.outputs) > MANY
    if not is_of_many or measure.sought or not state.errors.is_trivial or table.losses.density > SPARSE:
        return None
    directions = table.sparse_directions(measure.risk(_masses(state)))
    without, with_event = (directions[2 * measure.attribute + outcome] for outcome in range(2))
    return (with_event - without) / measure.size.sum()


@engine.kept
def _at_mean(state: BeliefState) -> tuple[Float[Array, "K O"], Float[Array, "K O J"], Float[Array, " J"] | None]:
    """Return the posterior mean of a state and `_directions` there."""
    return _believed(state), *_directions(state, _masses(state))


def _directions(
    state: BeliefState, masses: Float[Array, "K O"]
) -> tuple[Float[Array, "K O J"], Float[Array, " J"] | None]:
    """Compute by how much an item of every cell with every outcome raises every output, at some masses.

    Where the best output is sought, that is its lead over every other, and by how much these are behind is returned,
    too.
    """
    measure = state.measure
    risk = measure.risk(masses)
    table: Any = measure.table
    every = {"every": -(-len(table.thresholds) // _MOST_THRESHOLDS)} if table.is_curve else {}
    directions = xp.asarray(table.directions(risk, **every))
    behind = None
    if measure.sought is not None:
        best, behind = measure.sought.behind(table.value(risk))
        directions = measure.sought.sign * (directions[..., best][..., None] - directions)
    return directions[measure.attribute] / measure.size.sum(), behind


def at_stake(state: BeliefState) -> tuple[Float[Array, ""], Int[Array, " K"], Any]:
    """Return the believed share of events, the items that may be drawn, and what each label tells, see `audit_plan`."""
    return _share_of_events(state), state.remaining, _telling(state)


@engine.kept
def _share_of_events(state: BeliefState) -> Float[Array, ""]:
    return xp.take_along_axis(_masses(state), state.event[:, None], axis=1).sum()


@engine.kept
def _telling(state: BeliefState) -> Any:
    """Return what a label tells of every output, (K, J); of many as a sparse matrix."""
    apart = _apart(state)
    if apart is not None:
        variance = apart.power(2)
        variance.data = telling(variance.data * np.repeat(_believed(state).prod(1), np.diff(variance.indptr)))
        return variance
    believed, directions, _ = _at_mean(state)
    mean = _over_outcomes(believed, directions)
    return telling(_over_outcomes(believed, (directions - mean[:, None]) ** 2))


@engine.kept
def _outcomes(state: BeliefState) -> tuple[Float[Array, "K J"], Float[Array, "K O"], Float[Array, "K J"]]:
    """Compute what outcomes say of the outputs, at the plug-in.

    Returns
    -------
    influence : (K, J)
        By how much an item with the event raises every output beyond one without; see `without_zeros`.
    wrong : (K, O)
        Probabilities of the outcomes of an item without the event.
    otherwise : (K, J)
        By how much such an item raises every output in the mean.
    """
    _, directions, _ = _at_mean(state)
    wrong = state.errors.mean.astype(xp.float64)[state.row]
    at_event = xp.take_along_axis(directions, state.event[:, None, None], axis=1)[:, 0]
    otherwise = _over_outcomes(wrong, directions)
    return without_zeros((at_event - otherwise).astype(xp.float32)), wrong, otherwise


def _over_outcomes(weight: Float[Array, "K O"], values: Float[Array, "K O J"]) -> Float[Array, "K J"]:
    """Compute weighted sums over outcomes."""
    if engine.is_eager() and weight.shape[1] == 2:  # the same sums in less time
        return weight[:, :1] * values[:, 0] + weight[:, 1:] * values[:, 1]
    return (weight[:, :, None] * values).sum(1)


def _influence(state: BeliefState) -> tuple[Float[Array, "K J"], Float[Array, "K J"] | float]:
    """Compute `influence` of `_outcomes`, and what other outcomes tell.

    Returns
    -------
    influence : (K, J)
    extra : (K, J), or 0
        By how much the outcome of an item without the event is expected to reduce the variance: it says of itself, and
        of all items of its row without the event, which outcomes they have.
    """
    influence, wrong, otherwise = _outcomes(state)
    if state.measure.n_outcomes == 2:
        return influence, 0.0
    believed, directions, _ = _at_mean(state)
    unlike = 1 - xp.take_along_axis(believed, state.event[:, None], axis=1)[:, 0]
    n_open = (state.unlabelled - state.pending) * unlike
    n_rows = state.errors.mean.shape[0]
    # What pending items will tell counts.
    strength = state.errors.strength + engine.at(xp.zeros(n_rows))[state.row].add(state.pending * unlike)
    pairs = _pairs(state)
    if pairs is not None:
        cells = pairs.cells
        shown = pairs.apart + n_open[cells] * pairs.apart / (strength[state.row] + 1)[cells]
        extra = np.zeros(directions[:, 0].shape, np.float32)
        extra[cells, pairs.outputs] = unlike[cells] * (wrong[cells].T * shown**2).sum(0)
        return influence, extra
    apart = directions - otherwise[:, None]  # of an item without the event, with every outcome
    by_row = engine.at(xp.zeros((n_rows, *apart.shape[1:])))[state.row].add(n_open[:, None, None] * apart)
    shown = apart + (by_row / (strength[:, None, None] + 1))[state.row]
    return influence, (unlike[:, None] * (wrong[:, :, None] * shown**2).sum(1)).astype(xp.float32)


class _Pairs(NamedTuple):
    """Cells and outputs that they bear on.

    Attributes
    ----------
    cells, outputs : (P,) integers
    apart : (O, P)
        By how much an item without the event, with every outcome, raises the output beyond the mean of such items.
    """

    cells: Int[np.ndarray, " P"]
    outputs: Int[np.ndarray, " P"]
    apart: Float[np.ndarray, "O P"]


@engine.kept
def _pairs(state: BeliefState) -> _Pairs | None:
    """Return cells and outputs that they bear on, on NumPy, where these are few and labels of a cell tell of it alone.

    Such as numbers by group. None otherwise.
    """
    if not engine.is_eager() or len(np.unique(state.row)) < len(state.row):
        return None
    _, directions, _ = _at_mean(state)
    apart = directions - _outcomes(state)[2][:, None]
    cells, outputs = np.nonzero(apart.any(1))
    if len(cells) > _FEW_PAIRS * apart[:, 0].size:
        return None
    return _Pairs(cells, outputs, np.ascontiguousarray(apart[cells, :, outputs].T))
