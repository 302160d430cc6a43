"""Simulated campaigns on labels that are numbers.

Labels have no say in what designs draw there, so that campaigns draw cells alone; which items of the cells these are,
and what follows from their labels, is found afterwards.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import ClassVar

import numpy as np

from bayes_assess._tools.lazy import jax
from bayes_assess._tools.pytrees import stacked
from bayes_assess._tools.seeds import generator
from bayes_assess.designs import compiled_start
from bayes_assess.estimators.weighted_numbers import weighted_numbers
from bayes_assess.pool.numbers import NumberPool
from bayes_assess.questions import NumericMetric
from bayes_assess.questions.numeric_metric import believed_losses, labelled_by_group, possible_errors, possible_losses
from bayes_assess.studies.compiled_campaigns import CompiledCampaigns
from bayes_assess.studies.study import Campaigns


class NumericCampaigns(CompiledCampaigns):
    """Campaigns that keep labels by cell, and draws: as `WeightedDesign.record` has them."""

    pool: NumberPool
    question: NumericMetric

    pads_cells: ClassVar[bool] = False  # labels are kept by cell

    def campaigns(self, record: object) -> Campaigns:
        """Return estimates from all campaigns; the record is an Estimate."""
        drawn, question, design = super().campaigns(record), self.question, self.plan.design
        pool, cells = self.pool, drawn.cells
        labels = pool.label_space.names(self.codes)
        cell = cells.source.cells_of(np.arange(pool.n_items))
        losses = question.losses_of(pool, np.arange(pool.n_items), labels)
        start = compiled_start(design, *self.plan.setting)
        believed, extremes = partial(believed_losses, pool, question), possible_losses(pool, question, labels[:0])
        possible, errors = possible_errors(pool, question), question.item_losses(pool, slice(None), labels)
        counts, draws = drawn.record
        starts = np.cumsum(cells.sizes) - cells.sizes
        rng, estimates = generator(self.seed, "numbers"), []
        for r in range(len(counts)):
            order = np.lexsort((rng.random(pool.n_items), cell))  # the items of every cell, in random order
            rank = np.arange(pool.n_items) - starts[cell[order]]
            row = []
            for b in range(counts.shape[1]):
                items = np.sort(order[rank < counts[r, b, cell[order], 0]])
                state = replace(
                    start, counts=counts[r, b], draws=jax.tree.map(lambda x, r=r, b=b: x[r, b], draws), memory=()
                )
                asked, ends = np.zeros(len(items), np.int64), possible.ends(items, errors[items])
                estimate, _ = weighted_numbers(
                    *(design, state, question.spec, losses[items], cell[items], asked, believed, extremes, ends),
                    by_group=labelled_by_group(pool, question, items),
                )
                row.append(estimate)
            estimates.append(stacked(row))
        return replace(drawn, record=stacked(estimates), full=losses.mean(0), divergence=None)
