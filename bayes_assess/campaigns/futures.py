"""Futures of a campaign: it goes on by its own steps, on pools that its belief draws.

A future is a pool whose labelled items are as they are and whose other labels are drawn from the posterior, joint over
all cells, and a campaign on it that starts from the present state. Campaigns go on a few labels at a time, so that
they end when enough is known of them.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from bayes_assess._tools import engine
from bayes_assess._tools.axes import x64
from bayes_assess._tools.compiled_cache import keep_compiled
from bayes_assess._tools.lazy import jax, jit, jnp, lax
from bayes_assess._tools.progress import progress
from bayes_assess._tools.seeds import generator, jax_key, sequence
from bayes_assess._tools.shapes import Array, Int
from bayes_assess.designs import Design, State, settle_batch
from bayes_assess.designs._belief_state import BeliefState
from bayes_assess.designs.step import Campaign, one_label, start_campaign
from bayes_assess.errors import DesignError
from bayes_assess.estimators.posterior_measure import Completion, outcome_draws
from bayes_assess.estimators.weighted import Steps
from bayes_assess.models.calibration_curve import drawn
from bayes_assess.models.true_positive_rate import TruePositiveRate
from bayes_assess.questions import Setting

_THREADS = os.cpu_count() or 2
_CURVES = 64  # drawn for every future that takes one


def without_pending(design: Design, state: State, later: Steps | None) -> State:
    """Return the state as if items without a label had never been asked for.

    Parameters
    ----------
    design : Design
    state : State
    later : Steps, optional
        Those of the session that are not settled, as far as labels have come.
    """
    if later is not None:
        known = np.asarray(later.outcome) >= 0
        state = settle_batch(design, state, Steps(*(np.asarray(column)[known] for column in later)))
    pending = np.asarray(state.pending)
    return replace(state, pending=np.zeros_like(pending), remaining=np.asarray(state.remaining) + pending)


def imagined_labels(design: Design, state: State, setting: Setting, n: int, seed: int) -> Int[np.ndarray, "n K O"]:
    """Draw the outcomes of all unlabelled items from the posterior, `n` times.

    Parameters
    ----------
    design : Design
        One that plays arms, or the one with a belief on a measure.
    state : State
    setting : Setting
        Of the campaign.
    n, seed : int

    Returns
    -------
    (n, K, O) integers
        Unlabelled items of every cell by outcome.

    Raises
    ------
    DesignError
        If the design weighs what it draws, and believes nothing of the labels of all items together.

    Examples
    --------
    >>> import bayes_assess as ba
    >>> design = ba.designs.Thompson()
    >>> setting = ba.GroupAccuracy().setting(ba.Pool(predictions=[0, 0, 0, 1]))
    >>> imagined_labels(design, design.init(*setting), setting, 5, seed=0).sum(-1).tolist()[0]
    [3, 1]
    """
    if design.plays_arms:
        return _by_belief(np.asarray(state.counts), setting, n, seed)
    if design.believes_all:
        with engine.eager():
            return _by_curves(design.eager_state(state), n, seed)
    raise DesignError(
        f"Design {design.name!r} cannot be planned: it has no model of the labels of all items together, from which "
        "futures could be drawn; plan with 'variance_reduction', where that serves the question."
    )


@x64
def _by_belief(counts: Int[np.ndarray, "K O"], setting: Setting, n: int, seed: int) -> Int[np.ndarray, "n K O"]:
    """Draw the shares of all cells' outcomes."""
    posterior, sizes = setting.prior.update_counts(counts), setting.cells.sizes
    if isinstance(posterior, TruePositiveRate):
        return posterior.outcome_draws(jax_key(seed, "futures"), n, counts, sizes)[1] - counts
    shares = np.asarray(posterior.pool_draws(jax_key(seed, "futures"), n, counts, sizes))
    if shares.ndim == 2:  # of agreements
        shares = np.stack([1 - shares, shares], axis=-1)
    full = np.rint(shares * sizes[:, None]).astype(np.int64)
    return np.where(sizes[:, None] > 0, full - counts, 0)


def _by_curves(state: BeliefState, n: int, seed: int) -> Int[np.ndarray, "n K O"]:
    """Draw a curve, the rates of the cells around it, which items show the event, and the labels of the others."""
    rng = generator(seed, "futures")
    share, strength, _ = drawn(state.belief, _CURVES * n)
    chosen = rng.permutation(len(share))[:n]  # they come in an order of their own; any n of them are a sample
    events = state.belief.counts.astype(np.int64)
    completion = Completion(state.event, state.row, state.errors, state.counts)
    return outcome_draws(rng, np.asarray(state.measure.size), share[chosen], strength[chosen], events, completion)


def continued(
    design: Design,
    state: State,
    unlabelled: Int[np.ndarray, "n K O"],
    stages: Iterator[Int[np.ndarray, " L"]],
    seed: int,
) -> Iterator[tuple[Int[np.ndarray, " L"], Any]]:
    """Continue the campaign on every future by its own steps, compiled, a stage at a time.

    Parameters
    ----------
    design : Design
    state : State
        Without pending items.
    unlabelled : (n, K, O) integers
        What `imagined_labels` returned.
    stages : iterator of (L,) integers
        Further labels at which to look; the same number of them in every stage, each beyond those before.
    seed : int

    Yields
    ------
    looks : (L,) integers
    record : pytree of arrays (n, L, ...)
        What the design records.
    """
    keep_compiled()
    n = len(unlabelled)
    state = design.compiled_state(state)
    keys = jax.random.split(jax_key(seed, "campaigns of futures"), (n, 2))
    per_thread = -(-n // _THREADS) if design.one_by_one else n
    parts = [slice(start, start + per_thread) for start in range(0, n, per_thread)]
    with jax.enable_x64(True):
        started = [_started(design, keys[part], state, jnp.asarray(unlabelled[part])) for part in parts]
    n_alone = 1
    with ThreadPoolExecutor(len(parts)) as threads:
        for looks in stages:
            with progress(f"Following {n} futures to {looks[-1]:,} more labels"):
                advance = partial(_advanced, design, np.asarray(looks))
                alone = [advance(campaign) for campaign in started[:n_alone]]  # which compiles, once for all
                found, n_alone = [*alone, *threads.map(advance, started[n_alone:])], 0
                started = [campaign for campaign, _ in found]
            yield looks, _joined([record for _, record in found])


def digested(design: Design, record: Any, setting: Setting, seed: int, level: float) -> Any:
    """Turn what designs record of futures into answers, see `Design.digest`; on several cores where that takes long.

    Parameters
    ----------
    record : pytree of arrays (n, L, ...)
        What `continued` yields.
    """
    n = len(jax.tree.leaves(record)[0])
    if not design.one_by_one or n < _THREADS:
        return design.digest(record, setting, seed, level)
    starts = np.linspace(0, n, _THREADS + 1).astype(int)
    parts = [jax.tree.map(lambda leaf, at=at: leaf[at], record) for at in map(slice, starts[:-1], starts[1:])]

    def digest(numbered):
        number, part = numbered
        return design.digest(part, setting, sequence(seed, f"futures {number}").generate_state(1)[0].item(), level)

    with progress(f"Computing the intervals of {n} futures"), ThreadPoolExecutor(_THREADS) as threads:
        return _joined(list(threads.map(digest, enumerate(parts))))


def _joined(parts: list[Any]) -> Any:
    return jax.tree.map(lambda *leaves: np.concatenate(leaves), *parts)


@partial(jit, static_argnums=0)
def _started(design: Design, keys: Array, state: State, unlabelled: Int[Array, "n K O"]) -> Campaign:
    """Return a campaign for every future."""
    start = jax.vmap(lambda key, left: start_campaign(1, key, state, left), out_axes=_axes(design, state))
    return start(keys, unlabelled)


def _advanced(design: Design, looks: np.ndarray, campaigns: Campaign) -> tuple[Campaign, Any]:
    """Go on to every look; what the design records is on the host."""
    with jax.enable_x64(True):
        advance = _compiled if design.one_by_one else _compiled_soon
        campaigns, record = advance(design, campaigns, jnp.asarray(looks))
        return campaigns, jax.device_get(record)


def _to_looks(design: Design, campaigns: Campaign, looks: Int[Array, " L"]) -> tuple[Campaign, Any]:
    def one(campaign):
        def until(campaign, look):
            campaign = lax.fori_loop(campaign.t, look, lambda _, same: one_label(design, same), campaign)
            return campaign, design.record(campaign.state)

        return lax.scan(until, campaign, looks)

    if design.one_by_one:
        return lax.map(one, campaigns)
    axes = _axes(design, campaigns.state)
    return jax.vmap(one, in_axes=(axes,), out_axes=(axes, 0))(campaigns)


_compiled = jit(_to_looks, static_argnums=0)
# Steps of designs that play arms are cheap: a plan of them waits for the compiler, not for what it has compiled.
_compiled_soon = jit(_to_looks, static_argnums=0, compiler_options={"xla_backend_optimization_level": 0})


def _axes(design: Design, state: State) -> Any:
    """Return a `Campaign` of axes: 0, or None for what all have in common, on which branches stay branches."""
    if design.one_by_one:
        return 0
    axes = design.in_common(jax.tree.map(lambda _: 0, state))
    axis: Any = {"keys": 0, "t": None, "state": axes, "left": 0, "n_items": None, "steps": 0}
    return Campaign(**axis)
