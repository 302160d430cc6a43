"""Queries and labels that a precision curve takes, by the length of the list: the shape of [ADA]'s Figures 2 and 3.

    python benchmarks/study_precision_curve.py --out precision_curve.png [--repeats 100]

The precision falls from 0.9 to 0.5, mostly linearly in the rank, as that of [ADA]'s PPDB-36K about does, and by 0.006
from a rank to e times the rank: less, and whole numbers of positives alone would make it rise by more than the slack
allows. Lists are numbers of positives in strata, from which labels are drawn without replacement. epsilon = 0.03,
beta = 1.05, delta = 0.05, p_min = 0.5; all items up to rank 3,492 are labelled, which serves slacks up to 200. AdaStrat
grows its number of queries K as they come and draws what is missing in every stratum. PAULA labels 100 items at every
rank of LogStrat's grid.

Errors are the greatest factor by which a run's curve is off, medians over runs; beta (1 + epsilon) = 1.0815 is claimed
of all but PAULA. Band: share of runs in which the band of Hoeffding's intervals holds the curve everywhere.

It takes half a minute. With 100 repeats:

| items | method | queries | [ADA] | labels | [ADA] | error | within 1.0815 | band |
|--:|---|--:|--:|--:|--:|--:|--:|--:|
| 35,615 | AdaStrat | 12 |  | 13,464 |  | 1.020 | 1.00 | 1.00 |
| 35,615 | LogStrat | 78 | 78 | 17,312 | 18K | 1.009 | 1.00 | 1.00 |
| 35,615 | PAULA | 78 | 78 | 11,292 |  | 1.015 | 1.00 |  |
| 35,615 | random |  |  | 20,391 |  | 1.008 | 1.00 |  |
| 356,150 | AdaStrat | 13 |  | 18,128 |  | 1.027 | 1.00 | 1.00 |
| 356,150 | LogStrat | 156 | 156 | 34,117 | 35K | 1.011 | 1.00 | 1.00 |
| 356,150 | PAULA | 156 | 156 | 19,092 |  | 1.017 | 1.00 |  |
| 356,150 | random |  |  | 79,108 |  | 1.007 | 1.00 |  |
| 3,561,500 | AdaStrat | 13 | 18 | 21,908 | 24K | 1.025 | 1.00 | 1.00 |
| 3,561,500 | LogStrat | 234 | 234 | 52,095 | 53K | 1.011 | 1.00 | 1.00 |
| 3,561,500 | PAULA | 234 | 234 | 26,892 |  | 1.017 | 1.00 |  |
| 3,561,500 | random |  |  | 278,160 | 284K | 1.005 | 1.00 |  |
| 35,615,000 | AdaStrat | 14 | 18-21 | 23,289 | 28K | 1.028 | 1.00 | 1.00 |
| 35,615,000 | LogStrat | 312 | 312 | 70,515 | 73K | 1.011 | 1.00 | 1.00 |
| 35,615,000 | PAULA | 312 | 312 | 34,692 |  | 1.017 | 1.00 |  |
| 35,615,000 | random |  |  | 944,518 | 1M | 1.004 | 1.00 |  |
| 356,150,000 | AdaStrat | 14 |  | 25,480 |  | 1.027 | 1.00 | 1.00 |
| 356,150,000 | LogStrat | 390 |  | 89,643 |  | 1.011 | 1.00 | 1.00 |
| 356,150,000 | PAULA | 390 |  | 42,492 |  | 1.017 | 1.00 |  |
| 356,150,000 | random |  |  | 3,159,981 |  | 1.004 | 1.00 |  |
"""

from __future__ import annotations

import argparse
import math
from dataclasses import dataclass, field
from pathlib import Path

import matplotlib as mpl
import numpy as np

from bayes_assess.acquisition.precision_curve import (
    bisect,
    geometric_ranks,
    random_prefix,
    samples_per_point,
    strata_needed,
    window_bounds,
)
from bayes_assess.acquisition.precision_envelope import Envelope

SIZES = [35_615 * 10**k for k in range(5)]
EPSILON, BETA, DELTA, P_MIN, PREFIX, SLACK, WINDOW = 0.03, 1.05, 0.05, 0.5, 3492, 200, 100
LOG_FALL = 0.006
METHODS = ["AdaStrat", "LogStrat", "PAULA", "random"]
PAPER = {  # [ADA] Figures 2 and 3, as far as numbers are given: queries, labels
    "AdaStrat": [("", ""), ("", ""), ("18", "24K"), ("18-21", "28K"), ("", "")],
    "LogStrat": [("78", "18K"), ("156", "35K"), ("234", "53K"), ("312", "73K"), ("", "")],
    "PAULA": [("78", ""), ("156", ""), ("234", ""), ("312", ""), ("", "")],
    "random": [("", ""), ("", ""), ("", "284K"), ("", "1M"), ("", "")],
}


def precision(ranks, n_items: int):
    """Return the curve at given ranks."""
    v = np.asarray(ranks, np.float64)
    return 0.9 - LOG_FALL * np.log(v / PREFIX) - (0.4 - LOG_FALL * math.log(n_items / PREFIX)) * v / n_items


def positives(ranks, n_items: int):
    """Return the number of positives up to given ranks."""
    return np.rint(np.asarray(ranks) * precision(ranks, n_items)).astype(np.int64)


@dataclass
class Run:
    """What one run found."""

    n_queries: int
    n_labels: int
    error: float
    covered: bool | None = None


@dataclass
class Strata:
    """A list beyond its prefix, cut at ranks, with the labels drawn so far."""

    rng: np.random.Generator
    n_items: int
    ends: np.ndarray = field(default_factory=lambda: np.zeros(0, np.int64))
    found: np.ndarray = field(default_factory=lambda: np.zeros((0, 2), np.int64))  # negative and positive labels

    def items(self, ends: np.ndarray) -> np.ndarray:
        """Return negative and positive items of every stratum."""
        good = np.diff(positives(ends, self.n_items), prepend=positives(PREFIX, self.n_items))
        return np.column_stack([np.diff(ends, prepend=PREFIX) - good, good])

    def cut(self, ends: np.ndarray) -> None:
        """Cut strata in two at new ranks; their labels are a random part on either side."""
        items, new = self.items(ends), np.zeros((len(ends), 2), np.int64)
        for i, stop in enumerate(self.ends):
            inside = np.flatnonzero((ends > (self.ends[i - 1] if i else PREFIX)) & (ends <= stop))
            rest = self.found[i].copy()
            for j in inside[:-1]:
                later = items[inside[inside > j]].sum(0)
                new[j] = self.rng.hypergeometric(items[j], later, rest)
                rest -= new[j]
            new[inside[-1]] = rest
        self.ends, self.found = ends, new

    def label(self, needed: np.ndarray) -> None:
        """Draw labels without replacement until every stratum has as many as it needs."""
        left = self.items(self.ends) - self.found
        n = np.maximum(needed - self.found.sum(1), 0)
        good = self.rng.hypergeometric(left[:, 1], left[:, 0], n)
        self.found += np.column_stack([n - good, good])

    def estimates(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the prefix and the ranks, their estimates and half-widths of intervals."""
        edges, sizes, n = np.append(PREFIX, self.ends), np.diff(self.ends, prepend=PREFIX), self.found.sum(1)
        totals = np.append(positives(PREFIX, self.n_items), sizes * self.found[:, 1] / n)
        squares = np.append(0.0, np.where(n < sizes, sizes.astype(float) ** 2 / n, 0.0))
        radius = np.sqrt(math.log(2 * len(self.ends) / DELTA) / 2 * np.cumsum(squares)) / edges
        return edges, np.cumsum(totals) / edges, radius


def looked_at(n_items: int) -> np.ndarray:
    """Return the ranks at which curves are compared."""
    return np.unique(np.geomspace(PREFIX, n_items, 2000).astype(np.int64))


def factor(curve: np.ndarray, n_items: int) -> float:
    """Return by which factor a curve is off, at most."""
    return float(np.exp(np.abs(np.log(curve / precision(looked_at(n_items), n_items))).max()))


def enveloped(strata: Strata) -> Run:
    """Judge the envelope of estimates, and the band of intervals."""
    n, v = strata.n_items, looked_at(strata.n_items)
    edges, p, radius = strata.estimates()
    middle = Envelope(edges, p, p, SLACK, n, PREFIX)
    band = Envelope(edges, np.clip(p - radius, 0, 1), np.clip(p + radius, 0, 1), SLACK, n, PREFIX)
    truth, whole = precision(v, n), 1 / v  # positives are whole numbers: up to one is rounding
    covered = bool(((band.lower_at(v) <= truth + whole) & (truth <= band.upper_at(v) + whole)).all())
    error = factor(np.sqrt(middle.lower_at(v) * middle.upper_at(v)), n)
    return Run(len(edges) - 1, PREFIX + int(strata.found.sum()), error, covered)


def adastrat(rng: np.random.Generator, n_items: int) -> Run:
    """Bisect in rounds, with iterative deepening."""
    strata, ranks = Strata(rng, n_items), np.array([n_items])
    strata.ends, strata.found = ranks, np.zeros((1, 2), np.int64)
    while True:
        strata.cut(ranks)
        strata.label(strata_needed(ranks, PREFIX, samples_per_point(len(ranks), BETA, DELTA, P_MIN)))
        edges, p, _ = strata.estimates()
        new = bisect(edges, Envelope(edges, p, p, SLACK, n_items, PREFIX).gaps(), EPSILON)
        if not len(new):
            return enveloped(strata)
        ranks = np.sort(np.append(ranks, new))


def logstrat(rng: np.random.Generator, n_items: int) -> Run:
    """Query the grid."""
    ranks = geometric_ranks(n_items, PREFIX, EPSILON)
    strata = Strata(rng, n_items, ranks, np.zeros((len(ranks), 2), np.int64))
    strata.label(strata_needed(ranks, PREFIX, samples_per_point(len(ranks), BETA, DELTA, P_MIN)))
    return enveloped(strata)


def paula(rng: np.random.Generator, n_items: int) -> Run:
    """Label a window at every rank of the grid, the prefix's among them."""
    ranks = np.append(PREFIX, geometric_ranks(n_items, PREFIX, EPSILON))
    density = np.diff(ranks * precision(ranks, n_items)) / np.diff(ranks)
    density = np.append(density, density[-1])
    bounds = window_bounds(ranks, rng.binomial(WINDOW, density) / WINDOW, int(positives(PREFIX, n_items)))
    error = factor(bounds.precision_at(looked_at(n_items)), n_items)
    return Run(len(ranks) - 1, PREFIX + WINDOW * (len(ranks) - 1), error)


def uniform(rng: np.random.Generator, n_items: int) -> Run:
    """Label a long prefix and a uniform sample of the rest."""
    s = samples_per_point(n_items, BETA * (1 + EPSILON), DELTA, P_MIN)
    prefix, v = random_prefix(n_items, s), looked_at(n_items)
    beyond = v[v > prefix]
    if not len(beyond):
        return Run(0, n_items, 1.0)
    sizes = np.diff(beyond, prepend=prefix)
    good = np.diff(positives(beyond, n_items), prepend=positives(prefix, n_items))
    drawn = rng.binomial(good, s / prefix), rng.binomial(sizes - good, s / prefix)
    n = np.cumsum(drawn[0] + drawn[1])
    mean = np.divide(np.cumsum(drawn[0]), n, out=np.zeros(len(n)), where=n > 0)
    p = (positives(prefix, n_items) + (beyond - prefix) * mean) / beyond
    return Run(0, prefix + int(n[-1]), factor(np.append(precision(v[v <= prefix], n_items), p), n_items))


PLAY = dict(zip(METHODS, [adastrat, logstrat, paula, uniform], strict=True))


def study(repeats: int, seed: int = 0) -> dict[str, list[list[Run]]]:
    """Run every method on every list."""
    rng = np.random.default_rng(seed)
    return {name: [[PLAY[name](rng, n) for _ in range(repeats)] for n in SIZES] for name in METHODS}


def table(runs: dict[str, list[list[Run]]]) -> str:
    """Write medians over runs, beside the paper's numbers."""
    lines = [
        "| items | method | queries | [ADA] | labels | [ADA] | error | within 1.0815 | band |",
        "|--:|---|" + "--:|" * 7,
    ]
    for i, n in enumerate(SIZES):
        for name in METHODS:
            found, (paper_queries, paper_labels) = runs[name][i], PAPER[name][i]
            queries, labels, error = (
                float(np.median([getattr(run, what) for run in found])) for what in ("n_queries", "n_labels", "error")
            )
            within = np.mean([run.error <= BETA * (1 + EPSILON) for run in found])
            band = "" if found[0].covered is None else f"{np.mean([bool(run.covered) for run in found]):.2f}"
            lines.append(
                f"| {n:,} | {name} | {f'{queries:.0f}' if queries else ''} | {paper_queries} | {labels:,.0f} "
                f"| {paper_labels} | {error:.3f} | {within:.2f} | {band} |"
            )
    return "\n".join(lines)


def draw(runs: dict[str, list[list[Run]]], out: Path) -> None:
    """Draw queries and labels against items."""
    mpl.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
    for axis, what, title in zip(axes, ("n_queries", "n_labels"), ("queries", "labels"), strict=True):
        for name in METHODS:
            if what == "n_queries" and name == "random":
                continue
            values = np.array([[getattr(run, what) for run in found] for found in runs[name]])
            style = "--" if name == "PAULA" else "-"
            (line,) = axis.plot(SIZES, np.median(values, axis=1), style, marker="o", ms=4, label=name)
            axis.fill_between(SIZES, *np.quantile(values, [0.05, 0.95], axis=1), color=line.get_color(), alpha=0.2)
        axis.set(xscale="log", yscale="log", xlabel="items", ylabel=title)
        axis.legend(frameon=False)
    figure.savefig(out, dpi=150)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--out", type=Path, required=True, help="file of the figure")
    parser.add_argument("--repeats", type=int, default=100)
    options = parser.parse_args()
    runs = study(options.repeats)
    print(table(runs))
    draw(runs, options.out)


if __name__ == "__main__":
    main()
