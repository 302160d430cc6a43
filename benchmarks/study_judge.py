"""What a judge's verdicts are worth beside labels: a rate by `variance_reduction` and by prediction-powered inference.

    BAYES_ASSESS_POOLS=folder python benchmarks/study_judge.py [--campaigns 48] [--pools cifar10]

A pool's classifier is the judge. Of many classes one half is counted as positive against the other, so that about half
of the items are; two pools of pairs have few positives. The judge gives scores, or its verdicts alone, or scores in no
order. A row is of one kind of judge at one number of labels: the mean squared error of as many random labels, known
exactly, over that of `variance_reduction` and over that of PPI++ on random labels, with their standard errors (1,000
samples of the latter); the ratio of both gains; and how often 95 % intervals hold the rate, the credible one, the one
that trusts no score, and that of PPI++. PPI++ is `ppi_mean_ci` of the package ppi-python (the extra `benchmarks`), with
the judge's score for a prediction, or its verdict where it has none, and the weight of the predictions tuned.

Halves of the classes of cifar10, the judge being right in 0.970 of cases, 48 campaigns (verdicts: 96):

| judge | labels | gain | gain of PPI++ | held | held, no score trusted | held, PPI++ |
|---|--:|--:|--:|--:|--:|--:|
| scores | 50 | 75.7 ± 14.5 | 9.8 ± 0.2 | 0.98 | 1.00 | 0.97 |
| | 100 | 80.4 ± 15.8 | 10.6 ± 0.2 | 1.00 | 1.00 | 0.97 |
| | 250 | 72.8 ± 20.1 | 10.5 ± 0.2 | 1.00 | 1.00 | 0.97 |
| | 500 | 75.1 ± 32.0 | 10.1 ± 0.2 | 0.98 | 1.00 | 0.98 |
| | 1,000 | 118.0 ± 23.5 | 10.2 ± 0.2 | 1.00 | 1.00 | 0.99 |
| verdicts | 50 | 14.8 | 8.2 ± 0.2 | 1.00 | | 0.97 |
| | 100 | 13.2 | 8.8 ± 0.2 | 1.00 | | 0.97 |
| | 250 | 8.7 | 8.5 ± 0.2 | 0.96 | | 0.97 |
| | 500 | 8.2 | 8.4 ± 0.2 | 0.97 | | 0.98 |
| useless | 50 | 1.00 ± 0.23 | 1.01 ± 0.02 | 0.94 | 1.00 | 0.94 |
| | 100 | 0.97 ± 0.17 | 1.02 ± 0.02 | 0.94 | 1.00 | 0.95 |
| | 250 | 1.14 ± 0.21 | 0.98 ± 0.02 | 0.96 | 1.00 | 0.95 |
| | 500 | 0.92 ± 0.20 | 1.02 ± 0.02 | 0.92 | 0.98 | 0.96 |
| | 1,000 | 0.83 ± 0.17 | 0.99 ± 0.02 | 0.90 | 0.96 | 0.96 |

Intervals of PPI++ are those of a sample from a population, and too wide where much of the pool is labelled.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

import bayes_assess as ba

BUDGETS = (50, 100, 250, 500, 1000)
SAMPLES = 1000  # of random labels
HALVES = ("cifar10", "20news", "mnist")
RARE = ("abt_buy", "amzn_goog")


class Judged(NamedTuple):
    """Items with a judge's scores, or verdicts in their place, and their labels, 0 or 1."""

    name: str
    pool: ba.Pool
    proxy: np.ndarray
    labels: np.ndarray


def judged(folder: Path, names: list[str] | None) -> Iterator[Judged]:
    """Yield all pools with each kind of judge."""
    for name in (*HALVES, *RARE):
        if (names and name not in names) or not (folder / f"{name}.npz").is_file():
            continue
        data = np.load(folder / f"{name}.npz")
        if name in HALVES:
            positive = np.arange(data["scores"].shape[1]) % 2 == 0
            scores = np.clip(data["scores"].astype(np.float64) @ positive, 0, 1)
            labels = positive[data["labels"]].astype(int)
        else:
            scores, labels = data["probability"].astype(np.float64), data["labels"].astype(int)
        verdicts = (scores > 0.5).astype(int)
        shuffled = np.random.default_rng(0).permutation(scores)
        yield Judged(f"{name}, scores", ba.Pool(scores=scores), scores, labels)
        yield Judged(f"{name}, verdicts", ba.Pool(predictions=verdicts, classes=[0, 1]), verdicts, labels)
        yield Judged(f"{name}, useless", ba.Pool(scores=shuffled), shuffled, labels)


def random_error(labels: np.ndarray, n: int) -> float:
    """Return the mean squared error of the rate of `n` random labels, drawn without replacement."""
    p, n_items = labels.mean(), len(labels)
    return p * (1 - p) / n * (n_items - n) / (n_items - 1)


def powered(proxy: np.ndarray, labels: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return squared errors of PPI++ on `n` random labels, and whether its 95 % intervals hold the rate."""
    from ppi_py import ppi_mean_ci

    rng, truth, y, proxy = np.random.default_rng(n), labels.mean(), labels.astype(float), proxy.astype(float)
    ends = np.empty((SAMPLES, 2))
    for i in range(SAMPLES):
        items = rng.choice(len(labels), n, replace=False)
        lower, upper = ppi_mean_ci(y[items], proxy[items], proxy, alpha=0.05)
        ends[i] = lower.item(), upper.item()
    return (ends.mean(1) - truth) ** 2, (ends[:, 0] <= truth) & (truth <= ends[:, 1])


def gain(baseline: float, squares: np.ndarray) -> tuple[float, float]:
    """Return how many times smaller a mean squared error is than a baseline, and the standard error of that."""
    mean = squares.mean()
    return baseline / mean, baseline / mean**2 * squares.std() / np.sqrt(len(squares))


def rows(case: Judged, campaigns: int) -> Iterator[tuple[str, float, list[float]]]:
    """Run campaigns, and yield a row, the ratio of both gains, and the coverage of all intervals per budget."""
    study = ba.simulate(
        case.pool, case.labels, ba.Rate(1), designs=["variance_reduction"], budgets=list(BUDGETS), repeats=campaigns
    )
    truth = case.labels.mean()
    squares = (study.estimates["variance_reduction"] - truth) ** 2
    kinds = (study.intervals["variance_reduction"], study.design_intervals["variance_reduction"])
    held = [((ends[..., 0] <= truth) & (truth <= ends[..., 1])).mean(0) for ends in kinds]
    for b, n in enumerate(BUDGETS):
        baseline = random_error(case.labels, n)
        ours, ours_error = gain(baseline, squares[:, b])
        theirs_squares, theirs_held = powered(case.proxy, case.labels, n)
        theirs, theirs_error = gain(baseline, theirs_squares)
        coverage = [held[0][b], held[1][b], theirs_held.mean()]
        cells = [f"{n:,}", f"{ours:.2f} ± {ours_error:.2f}", f"{theirs:.2f} ± {theirs_error:.2f}"]
        cells += [f"{ours / theirs:.2f}", *(f"{share:.3f}" for share in coverage)]
        yield f"| {' | '.join(cells)} |", ours / theirs, coverage


def main() -> None:
    """Print a table per judge, and the means over all of them."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--campaigns", type=int, default=48)
    parser.add_argument("--pools", nargs="*")
    given = parser.parse_args()
    folder = os.environ.get("BAYES_ASSESS_POOLS")
    if folder is None:
        raise SystemExit("Set BAYES_ASSESS_POOLS to the folder of pools.")
    ratios, coverages = [], []
    for case in judged(Path(folder), given.pools):
        agree = ((case.proxy > 0.5) == case.labels).mean()
        print(f"\n{case.name}: {len(case.labels):,} items, {case.labels.mean():.4f} positive, judge right {agree:.3f}")
        print("| labels | gain | gain of PPI++ | ratio | held | held, no score trusted | held, PPI++ |")
        print("|--:|--:|--:|--:|--:|--:|--:|", flush=True)
        for row, ratio, coverage in rows(case, given.campaigns):
            print(row, flush=True)
            ratios.append(ratio)
            coverages.append(coverage)
    print(f"\nRatio of gains, geometric mean: {np.exp(np.log(ratios).mean()):.2f}.")
    print("Intervals held:", *(f"{share:.3f}" for share in np.mean(coverages, 0)), "on average,", end=" ")
    print(*(f"{share:.3f}" for share in np.min(coverages, 0)), "at worst.")


if __name__ == "__main__":
    main()
