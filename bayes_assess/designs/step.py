"""Asking and telling: the two steps of every campaign, on one item or on a batch.

Sessions and simulated campaigns run the same functions. Sessions call the compiled forms, which are the same for all
batches of up to 64 items; simulated campaigns run whole batches inside their own compiled loop.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, wraps
from inspect import signature
from typing import Any, Generic, NamedTuple, TypeVarTuple

import numpy as np

from bayes_assess._tools import engine
from bayes_assess._tools.axes import P, PRNGKey, T, x64
from bayes_assess._tools.engine import xp
from bayes_assess._tools.shapes import Array, Bool, Int, Key, UInt
from bayes_assess.designs._base import Design, Draw, StateT
from bayes_assess.errors import DesignError
from bayes_assess.estimators.weighted import Steps


def ask_items(
    design: Design[StateT],
    length: int,
    key: PRNGKey,
    state: StateT,
    first: Int[Array, ""] | int,
    n: Int[Array, ""] | int,
) -> tuple[Int[Array, " L"], Draw, StateT]:
    """Choose `n` items, padded to `length`; see `Design.draw`."""
    return design.draw(key, state, first, n, length)


def tell_items(
    design: Design[StateT], state: StateT, cells: Int[Array, " L"], outcomes: Int[Array, " L"], n: Int[Array, ""] | int
) -> StateT:
    """Learn the outcomes of the first `n` of these pending items; `Design.settle` is still to be called."""
    return engine.fori_loop(0, n, lambda i, state: design.update(state, cells[i], outcomes[i]), state)


Ts = TypeVarTuple("Ts")
_LENGTH = 64  # of the shortest arrays of items in compiled calls


class SimulatedCampaign(NamedTuple, Generic[StateT]):
    """A simulated campaign between two labels."""

    keys: Key[Array, " 2"]  # of choices, as a session would make them, and of outcomes
    t: Int[Array, ""]  # labels told
    state: StateT  # has learned them all, but counts batches when they are complete
    left: Array  # (K, O) outcomes of every cell's unlabelled items; shares of outcomes where labels are draws
    n_items: Int[Array, ""]  # that may be asked for in all
    steps: Steps  # of the last batch; (batch,)
    kept: object = ()  # of its batches


ENDLESS = 2**62  # items that may be asked for where each of them may be again and again


def start_campaign(
    batch: int, keys: Key[Array, " 2"], state: StateT, counts: Int[Array, "K O"]
) -> SimulatedCampaign[StateT]:
    """Return a campaign without labels on cells of so many items of every outcome, or of expected numbers of them."""
    nothing = xp.zeros(batch, xp.int64)
    ones = xp.ones(batch)
    steps = Steps(cell=nothing, outcome=nothing - 1, weight=xp.zeros(batch), p_new=ones, standing=ones)
    n_items = xp.asarray(ENDLESS) if state.endless else state.remaining.sum()
    return SimulatedCampaign(keys, xp.zeros((), xp.int64), state, counts, n_items, steps)


def one_label(
    design: Design[StateT], campaign: SimulatedCampaign[StateT], keep: Callable[..., object] | None = None
) -> SimulatedCampaign[StateT]:
    """Tell one label, whose item is drawn from its cell; first ask for the next batch where none is left.

    `keep`, if there is one, returns what is kept of batches after another one, from what was, and from the states
    before and after it was asked for, its cells, the labels told before, and how many items it has.
    """
    keys, t, state, left, n_items, steps, kept = campaign
    batch = len(steps.cell)
    place = t % batch

    def ask(state, steps, kept):
        due, n = design.due(state), xp.minimum(batch, n_items - t)
        state = state if due is False else engine.cond(due, design.refreshed, lambda same: same, state)
        cells, draws, asked = ask_items(design, batch, keys[0], state, t, n)
        steps = Steps(cells, xp.full_like(steps.outcome, -1), draws.weight, draws.p_new, steps.standing)
        return asked, steps, kept if keep is None else keep(design, kept, state, asked, cells, t, n)

    state, steps, kept = _if(place == 0, batch == 1, ask, state, steps, kept)
    cell = steps.cell[place]
    outcome, left = _outcome(state.endless, engine.random.fold_in(keys[1], t), left, cell)
    state = design.update(state, cell, outcome)
    steps = steps._replace(outcome=engine.at(steps.outcome)[place].set(outcome))
    ends = (place == batch - 1) | (t + 1 == n_items)
    state, steps = _if(ends, batch == 1, lambda state, steps: (design.settle(state, steps), steps), state, steps)
    return SimulatedCampaign(keys, t + 1, state, left, n_items, steps, kept)


class RandomRounds(NamedTuple, Generic[StateT]):
    """A simulated campaign of batches of random size, between two of them."""

    planned: Int[Array, ""]  # items expected of all batches so far
    told: Int[Array, ""]
    state: StateT
    left: Array  # (K, O)


def one_random_round(
    design: Design[StateT], length: int, keys: Key[Array, " 2"], campaign: RandomRounds[StateT], n: Int[Array, ""]
) -> RandomRounds[StateT]:
    """Ask for a batch of `n` items on average, `length` at most, and tell all of its labels."""
    planned, told, state, left = campaign
    cells, draws, state = ask_items(design, length, keys[0], state, planned, n)
    size = state.pending.sum()

    def tell(i, carry):
        state, left, outcomes = carry
        outcome, left = _outcome(False, engine.random.fold_in(keys[1], told + i), left, cells[i])
        return design.update(state, cells[i], outcome), left, engine.at(outcomes)[i].set(outcome)

    nothing = xp.full(length, -1, xp.int64)
    state, left, outcomes = engine.fori_loop(0, size, tell, (state, left, nothing))
    state = design.settle(state, Steps(cells, outcomes, draws.weight, draws.p_new))
    return RandomRounds(planned + n, told + size, state, left)


def _outcome(endless: bool, key: PRNGKey, left: Array, cell: Int[Array, ""]) -> tuple[Int[Array, ""], Array]:
    """Draw the outcome of an item of a cell; return what is left of all outcomes, too."""
    upto = xp.cumsum(left[cell])
    if endless:  # an item of the cell, then a label of the item: a label in proportion to the expected numbers
        outcome = (upto <= upto[-1] * engine.random.uniform(key, dtype=xp.float64)).sum()
        return xp.minimum(outcome, xp.max(xp.where(left[cell] > 0, xp.arange(len(upto)), 0))), left  # rounding
    outcome = (upto <= engine.random.randint(key, (), 0, upto[-1])).sum()
    return outcome, engine.at(left)[cell, outcome].add(-1)


def looked_at(design: Design[StateT], campaign: SimulatedCampaign[StateT]) -> StateT:
    """Return the state with the labels of a batch that has come back in part."""
    batch = len(campaign.steps.cell)
    open_ = (campaign.t % batch != 0) & (campaign.t < campaign.n_items)
    if batch == 1:
        return campaign.state
    return engine.cond(open_, lambda: design.settle(campaign.state, campaign.steps, last=False), lambda: campaign.state)


def _if(condition: Bool[Array, ""], always: bool, then: Callable[[*Ts], tuple[*Ts]], *carry: *Ts) -> tuple[*Ts]:
    return then(*carry) if always else engine.cond(condition, then, lambda *carry: carry, *carry)


def _on_its_engine(step: Callable[P, T]) -> Callable[P, T]:
    """Run a step of (design, ..., state, ...) on the engine that the state was started on."""
    place = list(signature(step).parameters).index("state")

    @wraps(step)
    def run(*arguments: P.args, **named: P.kwargs) -> T:
        design: Any = arguments[0]
        with engine.eager(design.is_eager(arguments[place])):
            return step(*arguments, **named)

    return run


@_on_its_engine
@x64
def choose_batch(
    design: Design[StateT], key: PRNGKey | UInt[np.ndarray, " 2"], state: StateT, first: int, n: int
) -> tuple[Int[np.ndarray, " n"], Draw, StateT]:
    """Choose `n` items one after the other, on average where sizes are random; query t uses ``fold_in(key, t)``.

    Parameters
    ----------
    first : int
        Number of queries made before.

    Returns
    -------
    cells : (n,) integers
    draws : Draw of arrays (n,)
    state : State
    """
    state, key = refreshed(design, state), engine.random.as_key(key)
    parts = []
    for piece in _pieces(design, n):
        size, out = piece.stop - piece.start, state.pending.sum() if design.random_size else 0
        *chosen, state = _choose(design, _padded_length(design.longest(size)), key, state, first + piece.start, size)
        size = int(state.pending.sum() - out) if design.random_size else size
        parts.append(engine.tree_map(lambda x, size=size: x[:size], engine.fetched(chosen)))
    cells, draws = engine.tree_map(lambda *pieces: np.concatenate(pieces), *parts)
    if not (np.isfinite(draws.weight) & (np.asarray(draws.weight) >= 0)).all():
        raise no_proposal(design.name)
    n_cells = state.pending.shape[-1]
    beyond = cells[(cells < 0) | (cells >= n_cells)]
    if len(beyond):
        raise DesignError(
            f"Design {design.name!r} has chosen cell {beyond[0]} of {n_cells}, which are numbered from 0: let it "
            "choose one that has items left."
        )
    return cells, draws, state


def no_proposal(name: str) -> DesignError:
    """Say that a design proposes items by numbers that are no probabilities."""
    return DesignError(
        f"Design {name!r} proposes items by numbers that are no probabilities up to a factor, such as NaN: let its "
        "propose() return finite numbers, 0 or more."
    )


@_on_its_engine
@x64
def refreshed(design: Design[StateT], state: StateT) -> StateT:
    """Return the state as it is when items are asked for: what labels have carried along is computed anew if due."""
    # Not compiled into the step: it compiles by itself, and results do the same.
    return design.refreshed(state) if design.due(state) else state


@_on_its_engine
@x64
def update_batch(
    design: Design[StateT],
    state: StateT,
    cells: Int[np.ndarray, " n"],
    outcomes: Int[np.ndarray, " n"],
    settled: Steps | None = None,
) -> StateT:
    """Learn the outcomes of `n` pending items, and count the steps that they settle, if any."""
    if design.one_by_one:
        for piece in _pieces(design, len(cells)):
            padded_cells, padded_outcomes = _padded(cells[piece], outcomes[piece])
            state = _update(design, state, padded_cells, padded_outcomes, len(cells[piece]))
        return state if settled is None or not len(settled.cell) else settle_batch(design, state, settled)
    padded_cells, padded_outcomes = _padded(cells, outcomes)
    if settled is None or not len(settled.cell):
        return _update(design, state, padded_cells, padded_outcomes, len(cells))
    return _update_and_settle(design, state, padded_cells, padded_outcomes, len(cells), _padded_steps(settled))


@_on_its_engine
@x64
def settle_batch(design: Design[StateT], state: StateT, steps: Steps, last: bool = True) -> StateT:
    """Count steps whose labels are learned, see `Design.settle`; without steps, that some were withdrawn."""
    columns = np.broadcast_arrays(*steps)
    for piece in _pieces(design, len(steps.cell)) or [slice(0, 0)]:
        state = _settle(design, last, state, _padded_steps(Steps(*(column[piece] for column in columns))))
    return state


@_on_its_engine
@x64
def reserve_batch(design: Design[StateT], state: StateT, cells: Int[np.ndarray, " n"]) -> StateT:
    """Mark one item of each of these cells as handed out, a cell as often as it occurs."""
    return _reserve(design, state, _padded(cells)[0], len(cells))


def _pieces(design: Design[StateT], n: int) -> list[slice]:
    """Return the items of every compiled call: steps that take long to compile are compiled for one length."""
    size = _LENGTH if design.one_by_one and not design.whole_batches else max(n, 1)
    return [slice(start, min(start + size, n)) for start in range(0, n, size)]


def _padded_length(n: int) -> int:
    """Return the least of 64, 1,024, 16,384, ... that is not below `n`."""
    length = _LENGTH
    while length < n:
        length *= 16
    return length


def _padded(*arrays: np.ndarray) -> list[np.ndarray]:
    """Pad arrays of one length with zeros."""
    n = len(arrays[0])
    return [np.pad(array, (0, _padded_length(n) - n)) for array in arrays]


def _padded_steps(steps: Steps) -> Steps:
    padded = Steps(*_padded(*np.broadcast_arrays(*steps)))
    padded.outcome[len(steps.cell) :] = -1
    return padded


_choose = engine.jit(ask_items, static_argnums=(0, 1))
_update = engine.jit(tell_items, static_argnums=0)


@partial(engine.jit, static_argnums=0)
def _update_and_settle(
    design: Design[StateT], state: StateT, cells: Int[Array, " L"], outcomes: Int[Array, " L"], n: int, steps: Steps
) -> StateT:
    return design.settle(tell_items(design, state, cells, outcomes, n), steps)


@partial(engine.jit, static_argnums=(0, 1), compiler_options={"xla_backend_optimization_level": 0})
def _settle(design: Design[StateT], last: bool, state: StateT, steps: Steps) -> StateT:
    return design.settle(state, steps, last)


@partial(engine.jit, static_argnums=0)
def _reserve(design: Design[StateT], state: StateT, cells: Int[Array, " n"], n: int) -> StateT:
    return engine.fori_loop(0, n, lambda i, state: design.reserve(state, cells[i]), state)
