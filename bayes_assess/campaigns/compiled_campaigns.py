"""Simulated campaigns on labels that are classes.

Every campaign is the design's own step (`choose`, then `update`) in a compiled loop, vectorised over repeats.
Outcomes are drawn without replacement from the true label counts of the cells, which has the same distribution as
handing out items in random order.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, ClassVar

import numpy as np

from bayes_assess._tools.lazy import jax, jit, jnp, lax
from bayes_assess._tools.shapes import Array, Int
from bayes_assess.campaigns.simulated import SimulatedCampaigns
from bayes_assess.campaigns.study import Campaigns
from bayes_assess.designs import Design, State
from bayes_assess.designs.step import RandomRounds, looked_at, one_label, one_random_round, start_campaign
from bayes_assess.questions._scoring import proposal_divergence

# Campaigns that one compiled call runs side by side: enough to hide its overhead, few enough to stay in cache.
_LANE_CELLS = 8192
_ONE_BY_ONE = 10  # campaigns of a call that runs them one after another: little is kept before it is digested


class CompiledCampaigns(SimulatedCampaigns):
    """Campaigns whose labels come one by one, a few side by side in every thread."""

    n_threads: ClassVar[int] = os.cpu_count() or 2

    def lots(self, repeats: int) -> Sequence[Any]:
        """Return keys of the campaigns of every lot, and the state that all start from."""
        n_threads = self.n_threads
        one_by_one, size = self.plan.design.one_by_one, self.plan.counts.size
        most = _ONE_BY_ONE if one_by_one else int(np.clip(2 * _LANE_CELLS // size, 4, 256))
        n_lots = n_threads * -(-repeats // (n_threads * most))  # as many for every thread
        lanes = -(-repeats // n_lots)
        keys = jax.random.split(jax.random.key(self.seed), n_lots * lanes).reshape(n_lots, lanes)
        with jax.enable_x64(True):
            start = self.plan.design.init(*self.plan.setting)
        return [(lane, start) for lane in keys]

    def played(self, lot: Any, advance: Callable[[int], None]) -> Any:
        """Run a campaign per key; see `_kept` for what is recorded."""
        (keys, start), design, batch = lot, self.plan.design, min(self.batch, int(self.looks[-1]))
        with jax.enable_x64(True):
            counts, looks = jnp.asarray(self.plan.counts), jnp.asarray(self.looks)
            record, far = jax.device_get(_campaigns(design, batch, keys, start, counts, looks))
        record = design.digest(record, self.plan.setting, self.seed, self.level)
        advance(len(keys))
        return record, far

    def campaigns(self, record: Any) -> Campaigns:
        """Return what is kept of all campaigns."""
        found, far = record
        return Campaigns(found, self.plan.setting.prior, self.plan.setting.cells, self.plan.counts, far)


@partial(jit, static_argnums=(0, 1))
def _campaigns(
    design: Design, batch: int, keys: Array, state: State, counts: Int[Array, "K O"], looks: Int[Array, " B"]
) -> Any:
    """Run one campaign per key; what `_kept` returns has leading axes (campaigns, looks)."""

    def of_random_rounds(key):
        keys, length = jax.random.split(key), design.longest(batch)

        def round_(look, carry):
            n = jnp.minimum(jnp.minimum(batch, look - carry.planned), carry.state.remaining.sum())
            return one_random_round(design, length, keys, carry, n)

        def until(carry, look):
            def open_(one):
                return (one.planned < look) & (one.state.remaining.sum() > 0)

            carry = lax.while_loop(open_, partial(round_, look), carry)._replace(planned=look)
            return carry, _kept(design, carry.state, carry.left)

        nothing = jnp.zeros((), jnp.int64)
        return lax.scan(until, RandomRounds(nothing, nothing, state, counts), looks)[1]

    def campaign(key):
        start = start_campaign(batch, jax.random.split(key), state, counts)

        def until(carry, look):
            carry = lax.fori_loop(carry.t, look, lambda _, carry: one_label(design, carry), carry)
            return carry, _kept(design, looked_at(design, carry), carry.left)

        return lax.scan(until, start, looks)[1]

    run = of_random_rounds if design.random_size else campaign
    return lax.map(run, keys) if design.one_by_one else jax.vmap(run)(keys)


def _kept(design: Design, state: State, left: Int[Array, "K O"]) -> tuple[Any, Array | None]:
    """Return what is kept of a campaign at a look, and how far its proposal is from the best one if it has any."""
    return design.record(state), proposal_divergence(state, left) if design.weighs else None
