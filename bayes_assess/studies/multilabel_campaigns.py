"""Simulated campaigns on pools whose items may have several labels each.

Labels have no say in what the designs of such pools draw, so that campaigns draw cells alone; which items of the cells
these are, and what follows from their labels, is found afterwards. Items are weighed by the probabilities with which
they were drawn in their batches, which no state of a design has once a batch is complete: campaigns keep them.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any, ClassVar, Generic, NamedTuple, TypeVar

import numpy as np

from bayes_assess._tools.engine import eager, random
from bayes_assess._tools.lazy import jax, jnp
from bayes_assess._tools.pytrees import stacked
from bayes_assess._tools.seeds import generator, jax_key
from bayes_assess._tools.shapes import Array, Bool, Float, Int, UInt
from bayes_assess.books.rounds import check_inclusion
from bayes_assess.designs import Design, State
from bayes_assess.estimators.drawn_items import (
    ItemsEstimate,
    ItemWeights,
    Rounds,
    item_weights,
    missing_items,
    weighted_items_estimate,
)
from bayes_assess.measures import MultiLabelMeasure
from bayes_assess.pool.cells import Cells
from bayes_assess.pool.multilabel import MultiLabelPool
from bayes_assess.questions.multilabel_metric import MultiLabelCells, MultiLabelMetric, believed_risk, label_set_cells
from bayes_assess.studies.compiled_campaigns import CompiledCampaigns

_KEYS = 256  # campaigns whose keys are split at a time

ArrayT = TypeVar("ArrayT", bound="jax.Array | np.ndarray")


class DrawnBatches(NamedTuple, Generic[ArrayT]):
    """What a campaign has drawn in T batches, N items in all.

    Attributes
    ----------
    cells : (N,)
    inclusion : (N,)
        b of every item in its batch.
    by_chance, possible : (T,)
        Items of the frame that a batch could draw or not, and could draw at all.
    missed : (K,), or (B, K) at looks
        Probability that an item was drawn in no batch before the last.
    last : (K,), or (B, K) at looks
        b in the last batch.
    """

    cells: ArrayT
    inclusion: ArrayT
    by_chance: ArrayT
    possible: ArrayT
    missed: ArrayT
    last: ArrayT


def _after_batch(
    design: Design,
    kept: DrawnBatches[jax.Array],
    before: State,
    after: State,
    cells: Int[Array, " L"],
    first: Int[Array, ""],
    n: Int[Array, ""],
) -> DrawnBatches[jax.Array]:
    """Return what is kept of batches after another one."""
    frame, items, t = before.remaining, first + jnp.arange(len(cells)), first // len(cells)
    b = jnp.asarray(design.inclusion(after, frame, n))
    return DrawnBatches(
        cells=kept.cells.at[items].set(cells, mode="drop"),
        inclusion=kept.inclusion.at[items].set(b[cells], mode="drop"),
        by_chance=kept.by_chance.at[t].set(jnp.where((b > 0) & (b < 1), frame, 0).sum()),
        possible=kept.possible.at[t].set(jnp.where(b > 0, frame, 0).sum()),
        missed=kept.missed * (1 - kept.last),
        last=b,
    )


class MultilabelCampaigns(CompiledCampaigns):
    """Campaigns on items that may have several labels each."""

    pool: MultiLabelPool
    question: MultiLabelMetric

    n_threads: ClassVar[int] = 1  # items are drawn by one generator
    pads_cells: ClassVar[bool] = False  # items of cells are looked at
    after_batch: ClassVar[Callable[..., object] | None] = _after_batch

    @cached_property
    def spec(self) -> MultiLabelMeasure:
        """What is measured."""
        return self.question.spec

    @cached_property
    def labels(self) -> Bool[np.ndarray, "M C"]:
        """The labels of all items."""
        return self.pool.label_space.indicators(self.codes)

    @cached_property
    def _believed(self) -> Float[np.ndarray, " D"]:
        return believed_risk(self.pool, self.spec, self._cells.lam)

    @property
    def _cells(self) -> MultiLabelCells:
        return label_set_cells(self.plan.setting.cells)

    @cached_property
    def _rng(self) -> np.random.Generator:
        return generator(self.seed, "campaigns")

    def keys(self, n: int) -> UInt[np.ndarray, "n 2 2"]:
        """Return the words of keys of campaigns; the one outcome that labels have needs none."""
        with eager():
            key, starts = jax_key(self.seed, "campaigns"), range(0, n, _KEYS)
            keys = np.concatenate([random.split(random.fold_in(key, i), min(_KEYS, n - i)) for i in starts])
        return np.stack([keys, keys], axis=1)

    def before_batches(self, batch: int, state: State) -> DrawnBatches[np.ndarray]:
        """Return what is kept of the batches of a campaign before there are any."""
        check_inclusion(self.plan.design)
        n, cells = int(self.looks[-1]), np.zeros(len(state.remaining))
        items, batches = np.zeros(n), np.zeros(-(-n // batch), np.int64)
        return DrawnBatches(items.astype(np.int64), items, batches, batches, cells + 1, cells)

    @staticmethod
    def at_look(design: Design, state: State, left: Array, kept: Any) -> tuple[Array, Array]:
        """Return what is kept at a look: what is known of cells by then."""
        return kept.missed, kept.last

    def digested(
        self, looks: tuple[np.ndarray, np.ndarray], batches: DrawnBatches[np.ndarray]
    ) -> tuple[ItemsEstimate, None]:
        """Estimate from the items of some campaigns."""
        estimates = []
        for arrays in zip(*batches._replace(missed=looks[0], last=looks[1]), strict=True):
            drawn = DrawnBatches(*arrays)
            items = _items_of(drawn.cells, self.plan.setting.cells, self._rng)
            estimates.append(stacked([self._look(drawn, items, at) for at in range(len(self.looks))]))
        return stacked(estimates), None

    def _look(self, drawn: DrawnBatches[np.ndarray], items: Int[np.ndarray, " N"], at: int) -> ItemsEstimate:
        """Estimate from the first labels of a campaign; of a batch some of which are missing they are random ones."""
        pool, cells = self.pool, self._cells
        look, batch = int(self.looks[at]), min(self.batch, int(self.looks[-1]))
        drawn_in = np.arange(look) // batch
        told, starts = np.bincount(drawn_in), np.arange(drawn_in[-1] + 1) * batch
        by_chance, inclusion = drawn.by_chance[: len(told)].copy(), drawn.inclusion[:look].copy()
        share = told[-1] / min(batch, pool.n_items - starts[-1])
        if share < 1:
            by_chance[-1] = drawn.possible[len(told) - 1]
            inclusion[starts[-1] :] *= share
        weights = item_weights(Rounds(pool.n_items - starts, told, by_chance), drawn_in, inclusion, drawn_in + 1)
        items, complete = items[:look], look == pool.n_items
        unlabelled = cells.sizes - np.bincount(drawn.cells[:look], minlength=cells.n_cells)
        return weighted_items_estimate(
            self.spec,
            self.spec.losses(pool.indicators[items], self.labels[items]),
            ItemWeights.all_known(look) if complete else weights,
            pool.n_items,
            cells.predicted,
            missing_items(1 - drawn.missed[at] * (1 - drawn.last[at] * share), unlabelled),
            lambda: self._believed,
            complete,
        )


def _items_of(drawn: Int[np.ndarray, " N"], cells: Cells, rng: np.random.Generator) -> Int[np.ndarray, " N"]:
    """Draw an item without replacement for every draw of a cell."""
    cell = cells.source.cells_of(np.arange(cells.n_items))
    order = np.argsort(cell + rng.random(cells.n_items))
    starts = np.cumsum(cells.sizes) - cells.sizes
    by_cell = np.argsort(drawn, kind="stable")
    ordered = drawn[by_cell]
    items = np.empty(len(drawn), np.int64)
    items[by_cell] = order[starts[ordered] + np.arange(len(drawn)) - np.searchsorted(ordered, ordered)]
    return items
