"""The shape of [SEME]'s Figures 1 to 11: Poisson sampling against importance sampling and uniform sampling.

    BAYES_ASSESS_POOLS=/path/to/pools python benchmarks/study_seme.py --out seme.md [--quick]

The folder holds ``mnist.npz`` and ``20news.npz`` (arrays ``scores`` of all classes, ``labels`` and ``classes``); what
is missing is left out. A pool whose items have 20 labels each is made here and needs no folder. It takes four minutes
on one core.

What is written: what becomes of [SEME]'s statements about its figures; errors of estimates against distinct labels,
coverage of nominal 90 % intervals, items drawn with certainty, one experiment step by step, and errors of every measure
when sampled for every other.

With 500 repeats, 17 of 28 statements hold. Poisson errs clearly more than importance in no figure by the scores as they
are, and far less from a quarter of the pool on; with few labels they are alike. What does not hold: published intervals
cover far too little while few errors have been found (the F1 score of MNIST, 26 % of the time at 100 labels); trust in
scores of 0.9 errs more than full trust on both pools, though full trust leaves out items whose score is 0, and with
these an error that no number of labels cures; and by shuffled scores Poisson can be worse than importance.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
from _seme_claims import verdicts
from _seme_pools import (
    RATIOS,
    Binary,
    Items,
    LabelSets,
    Pool,
    Weights,
    mnist,
    multi_label,
    newsgroup,
    newsgroups,
    overconfident,
    shuffled,
    trusted,
)
from _seme_tables import (
    LEVEL,
    Certainty,
    Found,
    Study,
    certainty_table,
    coverage_table,
    cross_table,
    describe,
    error_table,
    one_run,
    worse_table,
)
from _systematic import systematic_sample
from jaxtyping import Float, Int

from bayes_assess.acquisition.poisson import (
    draws_for_distinct,
    importance_probabilities,
    inclusion_probabilities,
    poisson_sample,
)
from bayes_assess.estimators.horvitz_thompson import beta_interval
from bayes_assess.estimators.ratio_interval import Unseen, ratio_interval

SHARES = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 0.75)  # of the pool that is labelled
FEWER_SHARES = (0.01, 0.05, 0.1, 0.25, 0.5)
METHODS = ("Uniform, repl.", "Uniform", "Importance", "Poisson", "Fixed size")
CHECKED = ("Uniform", "Poisson", "Fixed size")  # without replacement, as `ratio_interval` wants it
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
        q = pool.measures.index(measure)
        self.drawn = pool.losses[0][:, q], pool.losses[1][:, q], inclusion

    def interval(self, items: Items) -> Float[np.ndarray, " 2"]:
        """Compute `ratio_interval` from the items drawn."""
        f, g, b = (part[items] for part in self.drawn)
        return ratio_interval(f, g, b, self.unseen(items), LEVEL)

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
        kinds = None
        if isinstance(pool, Binary) and plan.ratio_intervals and design.inclusion.min() > 0:
            kinds = Kinds(pool, design.inclusion, measure)  # items that can never be drawn leave no honest interval
        for r in range(plan.repeats):
            sample = design.sample(rng)
            labels[t, r], estimates[t, r] = len(sample.items), pool.values(sample.items, sample.weights)
            if ends is not None:
                variances = design.variances(pool, sample)
                ends[t, r] = [beta_interval(*pair, LEVEL) for pair in zip(estimates[t, r], variances, strict=True)]
            if kinds is not None and r < plan.ratio_intervals:
                ratio_ends[t, r] = kinds.interval(sample.items)
    truth = pool.values(everything, np.ones(pool.n_items))
    shares = np.array(plan.shares)
    return Found(pool.name, method, measure, pool.measures, truth, shares, budgets, labels, estimates, ends, ratio_ends)


def certainty(pool: Pool, measure: str) -> Certainty:
    """Compare chances of inclusion of Poisson and importance sampling for the same expected labels."""
    h = pool.deviation(measure)
    chances = {"Poisson": [], "Importance": []}
    for name, rows in chances.items():
        for share in SHARES:
            design = sampler(name, pool, measure, round(share * pool.n_items))
            rows.append(np.full(pool.n_items, np.nan) if design is None else np.sort(design.inclusion)[::-1])
    poisson, importance = (np.stack(rows) for rows in chances.values())
    at = [0, pool.n_items // 10, pool.n_items // 2]
    certain = (poisson == 1).mean(1)
    return Certainty(float(h.mean() / h.max()), np.array(SHARES), certain, poisson[:, at], importance[:, at])


def error_with_all_labels(pool: Pool, measure: str) -> float:
    """Return the greatest error of Poisson sampling that expects as many labels as there are items."""
    design = sampler("Poisson", pool, measure, pool.n_items)
    assert design is not None
    sample = design.sample(np.random.default_rng(0))
    everything = pool.values(np.arange(pool.n_items), np.ones(pool.n_items))
    return float(np.abs(pool.values(sample.items, sample.weights) - everything).max())


_START = time.perf_counter()


def say(what: str) -> None:
    """Say on standard error how long it took."""
    seconds, processor = time.perf_counter() - _START, time.process_time()
    print(f"{what}: {seconds:.0f} s in all, {processor:.0f} s of processor time", file=sys.stderr, flush=True)


def real_pools(folder: Path | None) -> tuple[list[Pool], list[Pool]]:
    """Read the pools that there are, and make those with worse scores."""
    if folder is None:
        return [], []
    makers = {"mnist.npz": (mnist,), "20news.npz": (newsgroup, newsgroups)}
    pools = [make(folder) for name, makes in makers.items() if (folder / name).exists() for make in makes]
    twos = [pool for pool in pools if len(pool.measures) > 1]
    return list(pools), [change(pool) for pool in twos for change in (overconfident, shuffled, trusted)]


def methods_on(pool: Pool, worse: bool) -> tuple[str, ...]:
    """Return the methods whose samples are worth a look; trust in the scores changes only what follows them."""
    if isinstance(pool, Binary) and pool.lam == 1 and worse:
        return ("Importance", "Poisson")
    return METHODS[1:] if worse else METHODS


def study(pools: list[Pool], worse: list[Pool], repeats: int, ratio_intervals: int) -> Study:
    """Run everything."""
    all_found = Study()
    for pool in [*pools, *worse]:
        measure = pool.measures[0] if isinstance(pool, LabelSets) or len(pool.measures) == 1 else "f1"
        all_found.pools[pool.name] = pool
        all_found.certainty[pool.name] = certainty(pool, measure)
        all_found.exact[pool.name] = error_with_all_labels(pool, measure)
        for method in methods_on(pool, pool in worse):
            checked = method in CHECKED and isinstance(pool, Binary) and (pool not in worse or method != "Uniform")
            plan = Plan(repeats, True, min(ratio_intervals, repeats) if checked else 0)
            plan = replace(plan, shares=FEWER_SHARES) if pool in worse else plan
            all_found.found[pool.name, method, measure] = run(pool, method, measure, plan)
        say(pool.name)
    crossed = [pool for pool in pools if isinstance(pool, LabelSets)] + pools[:1]
    for pool in {pool.name: pool for pool in crossed}.values():
        for method in ("Poisson", "Importance"):
            for measure in pool.measures:
                plan = Plan(repeats, intervals=False, shares=FEWER_SHARES)
                all_found.cross[pool.name, method, measure] = run(pool, method, measure, plan)
        say(f"{pool.name}, every measure for every other")
    return all_found


CROSS_NOTE = "The least errors are bold."
PRECISION_NOTE = (
    "Samples for precision hold no item that is predicted negative before they hold all others, so that recall is "
    "estimated to be 1: an error that stays, and may be less than those that fall with the labels."
)
INTRODUCTION = """# [SEME]'s Figures 1 to 11 on other pools

[SEME] is Yilmaz, Hayes, Habib, Burgess, Barber, *Sample Efficient Model Evaluation*. Its MNIST, 20
Newsgroups and Toxic Comments have other classifiers, and Toxic Comments is not among these pools: a simulated pool with
20 labels per item stands in its place. What can be compared is which method errs less, and by how much.

Methods: **Uniform, repl.** draws all items alike with replacement, as in [SEME]; **Uniform** without. **Importance**
draws with replacement by the optimal probabilities, **Poisson** every item with its optimal inclusion probability.
**Fixed size** is systematic sampling with those of Poisson, in the order of the scores. All expect the same number of
distinct labels. Samples are for the F1 score (micro F1; accuracy where all classes count), scores trusted to 0.9. An
estimate whose denominator is 0 counts as 0, its interval is [0, 1].

± is one standard error over {repeats:,} repeats ({ratio:,} for `ratio_interval`). Errors are mean absolute errors in
percentage points; "log" is the mean of log (error^2), errors below 1e-6 counting as that. "Beta" is the published
interval; that of samples of fixed size takes them for Poisson samples. "-": draws with replacement cannot reach so many
items. Onset: percent of the pool labelled from which on items are drawn with certainty.

| pool | items | truth | onset, % |
| --- | ---: | --- | ---: |
"""


def report(found: Study, worse: list[str], repeats: int, ratio_intervals: int) -> str:
    """Write the report; pools with worse scores share a table."""
    introduction = INTRODUCTION.format(repeats=repeats, ratio=min(ratio_intervals, repeats))
    rows = [describe(pool, found.certainty[name]) for name, pool in found.pools.items()]
    parts = [introduction + "\n".join(rows) + "\n", f"## [SEME]'s statements\n\n{verdicts(found)}\n"]
    for name in found.pools:
        if name in worse:
            continue
        methods = found.of(name)
        parts += [
            f"## {name}, sampled for {methods[0].measure}\n",
            f"Errors (Figures 2 and 5):\n\n{error_table(methods)}\n",
            f"log (error^2) (Figures 8 and 9):\n\n{error_table(methods, logarithms=True)}\n",
            f"Coverage of 90 % intervals, percent (Figure 3):\n\n{coverage_table(methods)}\n",
            f"The first experiment (Figures 1, 6 and 7):\n\n{one_run(methods)}\n",
        ]
    parts.append(f"## Certain items (Figure 4)\n\n{certainty_table(found)}\n")
    for pool in dict.fromkeys(key[0] for key in found.cross):
        for method, figure in (("Poisson", "Figures 6 and 10"), ("Importance", "Figure 11")):
            methods = [one for key, one in found.cross.items() if key[:2] == (pool, method)]
            title = f"## {pool}, {method}, every measure for every other ({figure})"
            note = f"{CROSS_NOTE} {PRECISION_NOTE}" if isinstance(found.pools[pool], Binary) else CROSS_NOTE
            parts.append(f"{title}\n\n{note}\n\n{cross_table(methods)}\n")
    if worse:
        table = worse_table(one for name in worse for one in found.of(name))
        parts.append(f"## Worse scores, and scores trusted wholly (not in [SEME])\n\n{table}\n")
    return "\n".join(parts)


def main() -> int:
    """Write the report."""
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("seme.md"), help="Markdown file to write")
    parser.add_argument("--repeats", type=int, default=500, help="samples per method and number of labels")
    parser.add_argument(
        "--ratio-intervals", type=int, default=100, help="of so many repeats; they take most of the time"
    )
    parser.add_argument("--quick", action="store_true", help="30 repeats, for trying")
    options = parser.parse_args()
    folder = os.environ.get("BAYES_ASSESS_POOLS")
    if not folder:
        print("Without BAYES_ASSESS_POOLS, the folder of the labelled pools, only the simulated pool is studied.")
    repeats = 30 if options.quick else options.repeats
    pools, worse = real_pools(Path(folder) if folder else None)
    found = study([*pools, multi_label()], worse, repeats, options.ratio_intervals)
    text = report(found, [pool.name for pool in worse], repeats, options.ratio_intervals)
    minutes, processor = (time.perf_counter() - _START) / 60, time.process_time() / 60
    text += f"\nTime: {minutes:.1f} minutes, {processor:.1f} minutes of processor time.\n"
    options.out.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
