"""Simulated campaigns on labels that are classes.

Every campaign is the design's own step (`choose`, then `update`) in a compiled loop, vectorised over repeats.
Outcomes are drawn without replacement from the true label counts of the cells, which has the same distribution as
handing out items in random order.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property, partial
from typing import Any, ClassVar, TypeVar, cast

import numpy as np

from bayes_assess._tools.axes import own_settings
from bayes_assess._tools.engine import eager, random
from bayes_assess._tools.lazy import jax, jit, jnp, lax
from bayes_assess._tools.shapes import Array, Int, Key, UInt
from bayes_assess.designs import Design, State, WeightedState, compiled_start
from bayes_assess.designs.step import RandomRounds, looked_at, no_proposal, one_label, one_random_round, start_campaign
from bayes_assess.errors import DesignError
from bayes_assess.questions._empty_cells import with_empty_cells
from bayes_assess.questions._scoring import proposal_divergence
from bayes_assess.studies.simulated import SimulatedCampaigns, StudiedDesign
from bayes_assess.studies.study import Campaigns

T = TypeVar("T")
R = TypeVar("R")

# Campaigns that one compiled call runs side by side: enough to hide its overhead, few enough to stay in cache.
_LANE_CELLS = 8192
_ONE_BY_ONE = 10  # campaigns of a call that runs them one after another: little is kept before it is digested


class CompiledCampaigns(SimulatedCampaigns[Design, "tuple[Key[Array, 'n 2'], State]"]):
    """Campaigns whose labels come one by one, a few side by side in every thread."""

    n_threads: ClassVar[int] = os.cpu_count() or 2
    pads_cells: ClassVar[bool] = True  # whether what is kept of campaigns is of no single cell
    after_batch: ClassVar[Callable[..., object] | None] = None  # what is kept of batches, see `one_label`

    @cached_property
    def played_on(self) -> StudiedDesign[Design]:
        """The plan, with so many cells without items that pools of few sizes are compiled for."""
        plan = self.plan
        if not (plan.design.pads_cells and self.pads_cells):
            return plan
        setting = with_empty_cells(plan.setting)
        more = setting.cells.n_cells - plan.setting.cells.n_cells
        return replace(plan, setting=setting, full=np.pad(plan.full, [(0, more), (0, 0)]))

    def lots(self, repeats: int) -> Sequence[tuple[Key[Array, "n 2"], State]]:
        """Return keys of the campaigns of every lot, and the state that all start from."""
        n_threads = self.n_threads
        one_by_one, size = self.plan.design.one_by_one, self.played_on.counts.size
        most = _ONE_BY_ONE if one_by_one else int(np.clip(2 * _LANE_CELLS // size, 4, 256))
        n_lots = n_threads * -(-repeats // (n_threads * most))  # as many for every thread
        lanes = -(-repeats // n_lots)
        keys = self.keys(n_lots * lanes).reshape(n_lots, lanes, 2, 2)
        start = compiled_start(self.plan.design, *self.played_on.setting)
        return [(random.as_key(lane), start) for lane in keys]

    def keys(self, n: int) -> UInt[np.ndarray, "n 2 2"]:
        """Return the words of keys of campaigns: of choices, and of outcomes.

        They are those of `jax.random`, by NumPy: JAX would compile programs for each number of campaigns.
        """
        with eager():
            return random.words_of_each(random.split(random.key(self.seed), n))

    def played(self, lot: tuple[Key[Array, "n 2"], State], advance: Callable[[int], None]) -> Any:
        """Run a campaign per pair of keys."""
        (keys, start), design, batch = lot, self.plan.design, min(self.batch, int(self.looks[-1]))
        with own_settings():
            counts, looks = jax.device_put((self.played_on.counts, self.looks))
            kept = self.before_batches(batch, start)
            record = jax.device_get(_campaigns(type(self), design, batch, keys, start, counts, kept, looks))
        record = self.digested(*record)
        advance(len(keys))
        return record

    def before_batches(self, batch: int, state: State) -> object:
        """Return what is kept of the batches of a campaign before there are any."""
        return ()

    @staticmethod
    def at_look(design: Design, state: State, left: Array, kept: object) -> tuple[object, object]:
        """Return what is kept at a look: what the design records, and how far its proposal is from the best one."""
        far = proposal_divergence(cast("WeightedState", state), left) if design.weighs else None
        return design.record(state), far

    def digested(self, looks: Any, batches: Any) -> Any:
        """Reduce what was kept of some campaigns, (campaigns, looks, ...) and (campaigns, ...)."""
        record, far = looks
        return self.plan.design.digest(record, self.played_on.setting, self.seed, self.level), far

    def campaigns(self, record: Any) -> Campaigns:
        """Return what is kept of all campaigns."""
        at_looks, far = record
        if far is not None and np.isnan(far).any():
            raise no_proposal(self.plan.design.name)
        if self.plan.design.plays_arms and (np.asarray(at_looks).sum((-2, -1)) < self.looks).any():
            raise DesignError(
                f"Design {self.plan.design.name!r} has chosen items of groups that had none left: let it choose among "
                "what is available, by numbers that are not NaN."
            )
        return replace(super().campaigns(at_looks), divergence=far)


# Vectors as wide as the processor has them: compilers take half of that by default, as few instructions slow it down.
@partial(jit, static_argnums=(0, 1, 2), compiler_options={"xla_cpu_prefer_vector_width": 512})
def _campaigns(
    kind: type[CompiledCampaigns],
    design: Design,
    batch: int,
    keys: Key[Array, "n 2"],
    state: State,
    counts: Int[Array, "K O"],
    kept: object,
    looks: Int[Array, " B"],
) -> Any:
    """Run one campaign per pair of keys; return what is kept at looks, (campaigns, looks, ...), and of batches."""

    def of_random_rounds(keys, start):
        length = design.longest(batch)

        def round_(look, carry):
            n = jnp.minimum(jnp.minimum(batch, look - carry.planned), carry.state.remaining.sum())
            return one_random_round(design, length, keys, carry, n)

        def until(carry, look):
            def open_(one):
                return (one.planned < look) & (one.state.remaining.sum() > 0)

            carry = lax.while_loop(open_, partial(round_, look), carry)._replace(planned=look)
            return carry, kind.at_look(design, carry.state, carry.left, kept)

        last, at_looks = lax.scan(until, start, looks)
        return last, (at_looks, kept)

    def campaign(keys, start):
        def label(_, carry):
            return one_label(design, carry._replace(keys=keys), kind.after_batch)._replace(keys=())

        def until(carry, look):
            carry = lax.fori_loop(carry.t, look, label, carry)
            return carry, kind.at_look(design, looked_at(design, carry), carry.left, carry.kept)

        last, at_looks = lax.scan(until, start, looks)
        return last, (at_looks, last.kept)

    if design.random_size:
        nothing = jnp.zeros((), jnp.int64)
        run, start = of_random_rounds, RandomRounds(nothing, nothing, state, counts)
    else:
        no_keys: Any = ()
        run, start = campaign, start_campaign(batch, no_keys, state, counts)._replace(kept=kept)
    if design.one_by_one:
        return lax.map(lambda keys: run(keys, start)[1], keys)
    if design.plays_arms:  # which carry so little else that finding out takes no longer
        return jax.vmap(lambda keys: run(keys, start)[1])(keys)
    return _side_by_side(run, keys, start)


def _side_by_side(run: Callable[[Any, T], tuple[T, R]], keys: Key[Array, "n 2"], start: T) -> R:
    """Run campaigns from one start, by a function of keys that returns where they end, too.

    What a campaign changes has an axis of campaigns from the start. Otherwise JAX finds out what needs one by tracing
    every step again and again until nothing new does.
    """
    from jax.extend.core import jaxpr_as_fun

    traced, (_, returned) = jax.make_jaxpr(run, return_shape=True)(keys[0], start)
    leaves, n_lanes = jax.tree.leaves(start), len(keys)
    after, before = traced.jaxpr.outvars[: len(leaves)], traced.jaxpr.invars[1:]
    axes = [None if end is begin else 0 for end, begin in zip(after, before, strict=True)]
    lanes = [
        leaf if axis is None else jnp.broadcast_to(leaf, (n_lanes, *jnp.shape(leaf)))
        for leaf, axis in zip(leaves, axes, strict=True)
    ]
    outputs = jax.vmap(lambda *inputs: jaxpr_as_fun(traced)(*inputs)[len(leaves) :], [0, *axes])(keys, *lanes)
    return jax.tree.unflatten(jax.tree.structure(returned), outputs)
