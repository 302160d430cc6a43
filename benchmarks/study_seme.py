"""The shape of [SEME]'s Figures 1 to 11: Poisson sampling against importance sampling and uniform sampling.

    BAYES_ASSESS_POOLS=/path/to/pools python benchmarks/study_seme.py --out seme.md [--quick]

The folder holds ``mnist.npz`` and ``20news.npz`` (arrays ``scores`` of all classes, ``labels`` and ``classes``); what is
missing is left out. A pool whose items have 20 labels each is made here and needs no folder. Four minutes on one core.

What is written: what becomes of [SEME]'s statements about its figures; errors of estimates against distinct labels,
coverage of nominal 90 % intervals, items drawn with certainty, one experiment step by step, and errors of every measure
when sampled for every other.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
from _seme_claims import verdicts
from _seme_pools import Binary, Items, Pool, Weights, mnist, multi_label, newsgroup, newsgroups
from _seme_pools import overconfident, shuffled, trusted
from _seme_tables import Found, Study, certainty_table, coverage_table, cross_table, describe, error_table, one_run
from jaxtyping import Float, Int

from bayes_assess.acquisition.poisson import (
    draws_for_distinct,
    expected_distinct,
    importance_probabilities,
    inclusion_probabilities,
    poisson_sample,
)
from bayes_assess.acquisition.systematic import systematic_sample
from bayes_assess.estimators.horvitz_thompson import beta_interval
from bayes_assess.estimators.ratio_interval import Unseen, ratio_interval

LEVEL = 0.9
SHARES = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 0.75)  # of the pool that is labelled
CROSS_SHARES = (0.05, 0.1, 0.25, 0.5)
METHODS = ("Uniform, repl.", "Uniform", "Importance", "Poisson", "Fixed size")
KINDS = 32  # of inclusion probabilities that `ratio_interval` tells apart
_EPSILON = 1e-10  # [SEME] footnote 3


class Sample(NamedTuple):
    """Items drawn, each once, with their weights and how often each was drawn."""

    items: Items
    weights: Weights
    times: Int[np.ndarray, " n"]


@dataclass(frozen=True, eq=False)
class WithoutReplacement:
    """Items drawn with inclusion probabilities b."""

    inclusion: Float[np.ndarray, " M"]
    draw: Callable[[np.random.Generator], Items]

    def sample(self, rng: np.random.Generator) -> Sample:
        """Draw."""
        items = self.draw(rng)
        return Sample(items, 1 / self.inclusion[items], np.ones(len(items), int))

    def variances(self, pool: Pool, sample: Sample) -> Float[np.ndarray, " Q"]:
        """Estimate as for Poisson sampling, which has no less variance than the others here."""
        return pool.variances(sample.items, self.inclusion[sample.items])


@dataclass(frozen=True, eq=False)
class WithReplacement:
    """Items drawn time after time with probabilities q; drawn again they cost nothing."""

    proposal: Float[np.ndarray, " M"]
    n_draws: int

    @property
    def inclusion(self) -> Float[np.ndarray, " M"]:
        """Probability of being drawn at all ([SEME] (81))."""
        return -np.expm1(self.n_draws * np.log1p(-self.proposal))

    def sample(self, rng: np.random.Generator) -> Sample:
        """Draw."""
        times = rng.multinomial(self.n_draws, self.proposal)
        items = np.flatnonzero(times)
        return Sample(items, times[items] / (self.n_draws * self.proposal[items]), times[items])

    def variances(self, pool: Pool, sample: Sample) -> Float[np.ndarray, " Q"]:
        """Estimate from the spread of draws ([SEME] (15) to (17))."""
        square = pool.influence(sample.items, sample.weights) ** 2 + _EPSILON / pool.n_items**2
        return (sample.weights**2 / sample.times) @ square


Sampler = WithoutReplacement | WithReplacement


def sampler(method: str, pool: Pool, measure: str, n_labels: int) -> Sampler | None:
    """Make the sampler that expects so many distinct labels; None where the method cannot reach so many."""
    size = pool.n_items
    if method == "Uniform":
        return WithoutReplacement(np.full(size, n_labels / size), lambda rng: rng.choice(size, n_labels, replace=False))
    deviation = np.ones(size) if method == "Uniform, repl." else pool.deviation(measure)
    if method in ("Uniform, repl.", "Importance"):
        q = importance_probabilities(deviation)
        if n_labels >= 0.99 * np.count_nonzero(q):
            return None
        return WithReplacement(q, round(draws_for_distinct(q, n_labels)))
    b = inclusion_probabilities(deviation, n_labels)
    if method == "Poisson":
        return WithoutReplacement(b, lambda rng: poisson_sample(rng, b))
    return WithoutReplacement(b, lambda rng: pool.order[systematic_sample(rng, b[pool.order])])


class Kinds:
    """Items of a binary pool that `ratio_interval` tells apart: by prediction and by inclusion probability."""

    def __init__(self, pool: Binary, inclusion: Float[np.ndarray, " M"], measure: str):
        ends = np.quantile(inclusion, np.linspace(0, 1, KINDS + 1)[1:-1])
        found, self.kind = np.unique(2 * np.searchsorted(ends, inclusion) + pool.predicted, return_inverse=True)
        self.size = np.bincount(self.kind)
        least = np.full(len(found), np.inf)
        np.minimum.at(least, self.kind, inclusion)
        self.f, self.g = (np.array(table, np.float64)[found % 2].ravel() for table in RATIOS[measure])
        self.inclusion = np.repeat(least, 2)

    def unseen(self, items: Items) -> Unseen:
        """Count what was not drawn, of every kind with either label."""
        left = self.size - np.bincount(self.kind[items], minlength=len(self.size))
        return Unseen(self.f, self.g, self.inclusion, np.repeat(left, 2))


@dataclass(frozen=True)
class Plan:
    """What is repeated: how often, how often with which intervals, and at how many labels."""

    repeats: int
    intervals: bool = True
    ratio_intervals: int = 0  # of so many repeats
    shares: tuple[float, ...] = SHARES


def run(pool: Pool, method: str, measure: str, plan: Plan) -> Found:
    """Sample for one measure and estimate all of the pool's, time after time."""
    rng = np.random.default_rng([*f"{pool.name}, {method}, {measure}".encode()])
    everything = np.arange(pool.n_items)
    budgets = np.array([round(share * pool.n_items) for share in plan.shares])
    shape = len(budgets), plan.repeats, len(pool.measures)
    labels, estimates = np.full(shape[:2], np.nan), np.full(shape, np.nan)
    ends = np.full((*shape, 2), np.nan) if plan.intervals else None
    ratio_ends = np.full((len(budgets), plan.ratio_intervals, 2), np.nan)
    for t, budget in enumerate(budgets):
        design = sampler(method, pool, measure, int(budget))
        if design is None:
            continue
        kinds = Kinds(pool, design.inclusion, measure) if plan.ratio_intervals else None  # type: ignore[arg-type]
        for r in range(plan.repeats):
            sample = design.sample(rng)
            labels[t, r], estimates[t, r] = len(sample.items), pool.values(sample.items, sample.weights)
            if ends is not None:
                variances = design.variances(pool, sample)
                ends[t, r] = [beta_interval(*pair, LEVEL) for pair in zip(estimates[t, r], variances, strict=True)]
            if kinds is not None and r < plan.ratio_intervals:
                q = pool.measures.index(measure)
                f, g = (part[sample.items, q] for part in pool.losses)  # type: ignore[attr-defined]
                inclusion = design.inclusion[sample.items]
                ratio_ends[t, r] = ratio_interval(f, g, inclusion, kinds.unseen(sample.items), LEVEL)
    truth = pool.values(everything, np.ones(pool.n_items))
    return Found(pool.name, method, measure, pool.measures, truth, budgets, labels, estimates, ends, ratio_ends)


def certainty(pool: Pool, measure: str) -> Certainty:
    """Compare the chances of inclusion of Poisson and importance sampling at equal expected labels."""
    ...
