"""Simulated campaigns on pools whose items may have several labels each.

Labels have no say in what the designs of such pools draw, so that campaigns draw cells batch by batch, side by side, by
the design's own steps; which items of the cells these are, and what follows from their labels, is found afterwards.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np

from bayes_assess._tools.axes import x64
from bayes_assess._tools.lazy import jax, jit, jnp
from bayes_assess._tools.seeds import generator, jax_key
from bayes_assess._tools.shapes import Array, Bool, Float, Int
from bayes_assess.campaigns.rounds import check_inclusion
from bayes_assess.campaigns.simulated import SimulatedCampaigns
from bayes_assess.designs import State, WeightedDesign
from bayes_assess.designs.step import ask_items
from bayes_assess.estimators.drawn_items import (
    ItemsEstimate,
    ItemWeights,
    Rounds,
    item_weights,
    missing_items,
    weighted_items_estimate,
)
from bayes_assess.measures import MultiLabelMeasure
from bayes_assess.questions.multilabel_metric import MultiLabelCells, believed_risk

_SIDE_BY_SIDE = 256  # campaigns that draw in one compiled call


class _Drawn(NamedTuple):
    """What H campaigns have drawn in T batches of up to B items, N items in all.

    Attributes
    ----------
    cells : (H, N)
    inclusion : (H, N)
        b of every item in its batch.
    by_chance, possible : (H, T)
        Items of the frame that a batch could draw or not, and could draw at all.
    included : mapping from looks to (H, K)
        Probability that an item was drawn before, and is labelled.
    """

    cells: Int[np.ndarray, "H N"]
    inclusion: Float[np.ndarray, "H N"]
    by_chance: Int[np.ndarray, "H T"]
    possible: Int[np.ndarray, "H T"]
    included: dict[int, Float[np.ndarray, "H K"]]


class MultilabelCampaigns(SimulatedCampaigns):
    """Campaigns on items that may have several labels each."""

    @cached_property
    def spec(self) -> MultiLabelMeasure:
        """What is measured."""
        return self.question.spec

    @cached_property
    def cells(self) -> MultiLabelCells:
        """The pool as the design sees it."""
        cells: Any = self.plan.setting.cells
        return cells

    @cached_property
    def labels(self) -> Bool[np.ndarray, "M C"]:
        """The labels of all items."""
        space: Any = self.pool.label_space
        return space.indicators(self.codes)

    @cached_property
    def _believed(self) -> Float[np.ndarray, " D"]:
        pool: Any = self.pool
        return believed_risk(pool, self.spec, self.cells.lam)

    def lots(self, repeats: int) -> Sequence[Any]:
        """Return keys of campaigns that draw in one compiled call, and a generator that all share."""
        check_inclusion(self.plan.design)
        rng, key = generator(self.seed, "campaigns"), jax_key(self.seed, "campaigns")
        starts = range(0, repeats, _SIDE_BY_SIDE)
        sizes = [min(_SIDE_BY_SIDE, repeats - start) for start in starts]
        return [(jax.random.split(jax.random.fold_in(key, i), n), rng) for i, n in zip(starts, sizes, strict=True)]

    def played(self, lot: Any, advance: Callable[[int], None]) -> Any:
        """Run a campaign per key; return an ItemsEstimate."""
        (keys, rng), (design, setting), looks = lot, (self.plan.design, self.plan.setting), self.looks
        with jax.enable_x64(True):
            state = design.init(self.cells, setting.prior, setting.reward, setting.playable)
        drawn, found = _draw(design, keys, state, self.cells.sizes, looks, min(self.batch, int(looks[-1]))), []
        for one in range(len(keys)):
            items = _items_of(drawn.cells[one], self.cells, rng)
            found.append(_stacked([self._look(drawn, one, items, int(look)) for look in looks]))
            advance(1)
        return _stacked(found)

    def _look(self, drawn: _Drawn, one: int, items: Int[np.ndarray, " N"], look: int) -> ItemsEstimate:
        """Estimate from the first labels of a campaign."""
        pool: Any = self.pool
        cells, items, batch = self.cells, items[:look], min(self.batch, int(self.looks[-1]))
        complete = look == pool.n_items
        unlabelled = cells.sizes - np.bincount(drawn.cells[one, :look], minlength=cells.n_cells)
        return weighted_items_estimate(
            self.spec,
            self.spec.losses(pool.indicators[items], self.labels[items]),
            ItemWeights.all_known(look) if complete else _weights(drawn, one, look, batch, pool.n_items),
            pool.n_items,
            cells.predicted,
            missing_items(drawn.included[look][one], unlabelled),
            lambda: self._believed,
            complete,
        )


def _stacked(rows: list[ItemsEstimate]) -> ItemsEstimate:
    return ItemsEstimate(*(np.stack(column) for column in zip(*rows, strict=True)))


@x64
def _draw(
    design: WeightedDesign, keys: Array, state: State, sizes: Int[np.ndarray, " K"], looks: np.ndarray, batch: int
) -> _Drawn:
    """Draw all batches of some campaigns."""
    n_items, last = int(sizes.sum()), int(looks[-1])
    # On the host: to JAX every shape would be a program to compile.
    states = jax.tree.map(lambda x: np.broadcast_to(np.asarray(x), (len(keys), *np.shape(x))), state)
    left = np.tile(sizes, (len(keys), 1))
    missed, included = np.ones(left.shape), {}
    columns: list[tuple[np.ndarray, ...]] = []
    for t in range(0, last, batch):
        n = min(batch, n_items - t)
        out, b, states = _next_batch(design, batch, keys, states, t, n)
        out, b = np.asarray(out)[:, :n], np.asarray(b)
        by_chance = np.where((b > 0) & (b < 1), left, 0).sum(1)
        columns.append((out, np.take_along_axis(b, out, 1), by_chance, np.where(b > 0, left, 0).sum(1)))
        for look in looks[(looks > t) & (looks <= t + n)].tolist():
            included[look] = 1 - missed * (1 - b * ((look - t) / n))
        missed *= 1 - b
        for row, drawn in zip(left, out, strict=True):
            row -= np.bincount(drawn, minlength=len(row))
    cells, inclusion, by_chance, possible = zip(*columns, strict=True)
    wide = np.concatenate(cells, axis=1), np.concatenate(inclusion, axis=1)
    return _Drawn(*wide, np.stack(by_chance, axis=1), np.stack(possible, axis=1), included)


@partial(jit, static_argnums=(0, 1))
def _next_batch(design: WeightedDesign, batch: int, keys: Array, states: State, first: int, n: int) -> Any:
    """Ask for a batch in every campaign, and tell its labels."""

    def one(key, state):
        frame = state.remaining
        cells, _, state = ask_items(design, batch, key, state, first, n)
        inclusion = design.inclusion(state, frame, n)
        counts = state.counts + state.pending[:, None]  # of the one outcome that labels have
        return cells, inclusion, replace(state, counts=counts, pending=jnp.zeros_like(state.pending))

    return jax.vmap(one)(keys, states)


def _items_of(drawn: Int[np.ndarray, " N"], cells: MultiLabelCells, rng: np.random.Generator) -> Int[np.ndarray, " N"]:
    """Draw an item without replacement for every draw of a cell."""
    cell = cells.source.cells_of(np.arange(cells.n_items))
    order = np.argsort(cell + rng.random(cells.n_items))
    starts = np.cumsum(cells.sizes) - cells.sizes
    by_cell = np.argsort(drawn, kind="stable")
    ordered = drawn[by_cell]
    items = np.empty(len(drawn), np.int64)
    items[by_cell] = order[starts[ordered] + np.arange(len(drawn)) - np.searchsorted(ordered, ordered)]
    return items


def _weights(drawn: _Drawn, one: int, look: int, batch: int, n_items: int) -> ItemWeights:
    """Weigh the first items of a campaign; a batch of which some labels are missing is one of random items of it."""
    drawn_in = np.arange(look) // batch
    n_rounds = int(drawn_in[-1]) + 1
    told = np.bincount(drawn_in)
    asked = min(batch, n_items - (n_rounds - 1) * batch)
    by_chance = drawn.by_chance[one, :n_rounds].copy()
    inclusion = drawn.inclusion[one, :look].copy()
    if told[-1] < asked:
        by_chance[-1] = drawn.possible[one, n_rounds - 1]
        inclusion[drawn_in == n_rounds - 1] *= told[-1] / asked
    return item_weights(
        Rounds(n_items - np.arange(n_rounds) * batch, told, by_chance), drawn_in, inclusion, drawn_in + 1
    )
