"""What a judge's verdicts are worth beside labels: a rate by `variance_reduction` and by prediction-powered inference.

    BAYES_ASSESS_POOLS=folder python benchmarks/study_judge.py [--campaigns 48] [--pools cifar10 systems]

A pool's classifier is the judge. Of many classes one half is counted as positive against the other, so that about half
of the items are; two pools of pairs have few positives. The judge gives scores, or its verdicts alone, or scores in no
order. `systems` are the rates of four systems of 2,000 answers each, as in `benchmarks/study_systems.py`, whose judge
favours some. A row is of one kind of judge at one number of labels: the mean squared error of as many random labels,
known exactly, over that of `variance_reduction` and over that of the best valid rival, with their standard errors; the
ratio of both gains; and how often 95 % intervals hold the rate, ours and the rival's.

Rivals are PPI++ of ppi-python on random labels, and of glide-py PPI++ in 2, 5 or 10 strata of the score with labels
allotted alike or by the scores' variance, and active inference, whose items are drawn by the score's standard deviation
but at least as if it were 0.02 or 0.1; weights of predictions are tuned. One is valid whose intervals hold the rate in
88 % of 300 samples; of these it is the one of the least error. Both packages are in the extra `benchmarks`. 24
campaigns:

| judge | labels | gain | rival's gain | rival | ratio | held | held, rival |
|---|--:|--:|--:|---|--:|--:|--:|
| cifar10, scores | 50 | 109 ± 25 | 20.4 ± 1.9 | active, 0.1 | 5.3 | 1.00 | 0.98 |
| | 250 | 79 ± 23 | 25.0 ± 2.6 | active, 0.02 | 3.2 | 1.00 | 0.99 |
| | 1,000 | 147 ± 43 | 27.2 ± 2.2 | active, 0.02 | 5.4 | 1.00 | 1.00 |
| cifar10, verdicts | 50 | 21.2 ± 4.2 | 9.3 ± 0.9 | active, 0.1 | 2.3 | 1.00 | 0.99 |
| | 250 | 9.1 ± 2.5 | 9.4 ± 0.7 | active, 0.02 | 1.0 | 0.96 | 0.98 |
| | 1,000 | 11.2 ± 3.5 | 9.7 ± 0.9 | active, 0.02 | 1.2 | 1.00 | 1.00 |
| cifar10, useless | 50 | 1.13 ± 0.22 | 1.06 ± 0.08 | PPI++ | 1.1 | 1.00 | 0.94 |
| | 250 | 1.16 ± 0.35 | 1.12 ± 0.09 | PPI++ | 1.0 | 0.96 | 0.96 |
| | 1,000 | 1.52 ± 0.44 | 1.05 ± 0.09 | PPI++ | 1.5 | 1.00 | 0.97 |
| 20news, scores | 50 | 27 ± 15 | 9.1 ± 1.0 | PPI++, 5 strata | 3.0 | 0.96 | 0.93 |
| | 250 | 18.0 ± 5.7 | 8.9 ± 0.8 | PPI++, 10 strata | 2.0 | 1.00 | 0.96 |
| | 1,000 | 31 ± 12 | 10.4 ± 0.8 | PPI++, 10 strata | 3.0 | 1.00 | 0.98 |
| 20news, verdicts | 50 | 5.0 ± 1.1 | 4.5 ± 0.3 | active, 0.02 | 1.1 | 1.00 | 0.99 |
| | 250 | 5.5 ± 1.3 | 5.1 ± 0.4 | active, 0.02 | 1.1 | 0.96 | 0.98 |
| | 1,000 | 6.2 ± 1.4 | 5.2 ± 0.4 | PPI++, 2 strata | 1.2 | 0.96 | 1.00 |
| 20news, useless | 50 | 0.78 ± 0.24 | 1.01 ± 0.08 | PPI++, 5 strata | 0.8 | 0.92 | 0.93 |
| | 250 | 0.74 ± 0.20 | 1.11 ± 0.08 | PPI++, 5 strata | 0.7 | 0.88 | 0.97 |
| | 1,000 | 1.30 ± 0.29 | 1.23 ± 0.11 | PPI++, 2 strata | 1.1 | 1.00 | 0.97 |
| mnist, scores | 50 | 1,620 ± 630 | 285 ± 54 | active, 0.02 | 5.7 | 1.00 | 1.00 |
| | 250 | 3,130 ± 500 | 268 ± 26 | active, 0.02 | 11.7 | 1.00 | 1.00 |
| | 500 | 4,890 ± 760 | 291 ± 30 | active, 0.02 | 16.8 | 1.00 | 1.00 |
| four systems | 50 | 2.9 ± 0.4 | 1.27 ± 0.06 | active, 0.02 | 2.3 | 0.97 | 0.89 |
| | 250 | 2.4 ± 0.4 | 1.84 ± 0.08 | PPI++, 2 strata | 1.3 | 0.94 | 0.95 |
| | 1,000 | 3.0 ± 0.5 | 1.78 ± 0.07 | PPI++, 10 strata | 1.7 | 0.98 | 0.96 |

By now the script tries strata of equal spread, the bootstrap and lower floors of active inference, too: with scores of
cifar10 the best valid rival (120 samples) then gains 22.8, 37.3, 30.0, 39.0 and 34.2, elsewhere about what is above.

Of these cases at 50, 100, 250, 500 and 1,000 labels (of mnist up to 500) the ratio is 1.94 in the geometric mean, and
1.83 against the rivals of more kinds (cifar10 and 20news, scores and verdicts).
Intervals held 0.974 of the rates on average and 0.875 at worst, the design's own 0.995 and 0.917, the rival's 0.971 and
0.886. The best rival is chosen with the truth in hand, which no user has. With verdicts alone nothing is gained over it
from 250 labels on. A useless judge costs next to nothing: in 96 more campaigns the gain was 1.01, 0.86, 1.23, 0.94 and
0.84 (cifar10) and 1.18, 1.12, 0.80, 0.80 and 0.93 (20news) at the five numbers of labels, each ± 0.14, with 0.92 to
0.98 of the rates held.

Intervals of the rivals are those of a sample from a population, and too wide where much of the pool is labelled.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from _judge_rivals import VALID, best_valid
from study_systems import made as four_systems

import bayes_assess as ba

BUDGETS = (50, 100, 250, 500, 1000)
SAMPLES = 300  # of a rival
HALVES = ("cifar10", "20news", "mnist")
RARE = ("abt_buy", "amzn_goog")


class Judged(NamedTuple):
    """Items with a judge's scores, or verdicts in their place, and their labels, 0 or 1."""

    name: str
    pool: ba.Pool
    proxy: np.ndarray
    labels: np.ndarray
    group: np.ndarray | None = None


def judged(folder: Path, names: list[str] | None) -> Iterator[Judged]:
    """Yield all pools with each kind of judge."""
    if not names or "systems" in names:
        pool, labels = four_systems(2000)
        group = np.unique(pool.groups["system"], return_inverse=True)[1]
        yield Judged("four systems", pool, np.asarray(pool.scores), labels, group)
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


class Row(NamedTuple):
    """What is known of one case at one number of labels."""

    labels: int
    ours: tuple[float, float]  # gain and its standard error
    theirs: tuple[float, float]
    rival: str
    held: list[float]  # by our intervals, those that trust no score, and the rival's


def random_error(labels: np.ndarray, n: float) -> float:
    """Return the mean squared error of the rate of `n` random labels, drawn without replacement."""
    p, n_items = labels.mean(), len(labels)
    return p * (1 - p) / n * (n_items - n) / (n_items - 1)


def gain(baseline: float, squares: np.ndarray) -> tuple[float, float]:
    """Return how many times smaller a mean squared error is than a baseline, and the standard error of that."""
    mean = squares.mean()
    return baseline / mean, baseline / mean**2 * squares.std() / np.sqrt(len(squares))


def rows(case: Judged, campaigns: int, budgets: list[int]) -> Iterator[Row]:
    """Run campaigns, and yield a row per budget."""
    by = None if case.group is None else "system"
    study = ba.simulate(
        case.pool, case.labels, ba.Rate(1, by=by), designs=["variance_reduction"], budgets=budgets, repeats=campaigns
    )
    groups = np.zeros(len(case.labels), int) if case.group is None else case.group
    parts = [groups == g for g in np.unique(groups)]
    truth = np.array([case.labels[part].mean() for part in parts])
    shape = (campaigns, len(budgets), len(parts))
    squares = ((study.estimates["variance_reduction"].reshape(shape) - truth) ** 2).mean(-1)
    kinds = (study.intervals["variance_reduction"], study.design_intervals["variance_reduction"])
    kinds = tuple(ends.reshape(*shape, 2) for ends in kinds)
    held = [((ends[..., 0] <= truth) & (truth <= ends[..., 1])).mean((0, 2)) for ends in kinds]
    for b, n in enumerate(budgets):
        each = n // len(parts)  # labels of a rival in every group
        exact, floored = (
            np.mean([random_error(case.labels[part], k) for part in parts]) for k in (n / len(parts), each)
        )
        rivals = [best_valid(case.labels[part], case.proxy[part], each, SAMPLES) for part in parts]
        theirs = gain(float(floored), np.mean([one.squares for one in rivals], axis=0))
        coverage = [held[0][b], held[1][b], float(np.mean([one.held.mean() for one in rivals]))]
        yield Row(n, gain(float(exact), squares[:, b]), theirs, rivals[0].name, coverage)


def summary(cases: dict[str, list[Row]]) -> Iterator[str]:
    """Yield sentences on all rows; those without a valid rival count in our coverage alone."""
    logs, errors = [], []
    for found in cases.values():
        valid = [row for row in found if row.held[2] >= VALID]
        if valid:
            logs.append(np.mean([np.log(row.ours[0] / row.theirs[0]) for row in valid]))
            # labels of one campaign at several budgets are the same ones: no more sure than one budget
            errors.append(
                np.mean([np.hypot(row.ours[1] / row.ours[0], row.theirs[1] / row.theirs[0]) for row in valid])
            )
    mean, error = np.mean(logs), np.linalg.norm(errors) / len(errors)
    yield f"Ratio of gains, geometric mean: {np.exp(mean):.2f} ± {np.exp(mean) * error:.2f}."
    held = np.array([row.held for found in cases.values() for row in found])
    yield f"Intervals held {np.round(held.mean(0), 3)} on average and {np.round(held.min(0), 3)} at worst."
    useless = [row for name, found in cases.items() if "useless" in name for row in found]
    if useless:
        log = np.mean([np.log(row.ours[0]) for row in useless])
        worst = min(row.ours[0] for row in useless)
        yield f"Gain with useless judges: {np.exp(log):.2f} in the geometric mean, {worst:.2f} at worst."


def main() -> None:
    """Print a table per judge, and the means over all of them."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--campaigns", type=int, default=48, help="three times as many with useless judges")
    parser.add_argument("--budgets", type=int, nargs="*", default=list(BUDGETS))
    parser.add_argument("--pools", nargs="*")
    given = parser.parse_args()
    folder = os.environ.get("BAYES_ASSESS_POOLS")
    if folder is None:
        raise SystemExit("Set BAYES_ASSESS_POOLS to the folder of pools.")
    cases: dict[str, list[Row]] = {}
    for case in judged(Path(folder), given.pools):
        agree = ((case.proxy > 0.5) == case.labels).mean()
        print(f"\n{case.name}: {len(case.labels):,} items, {case.labels.mean():.4f} positive, judge right {agree:.3f}")
        print("| labels | gain | rival's gain | rival | ratio | held | held, no score trusted | held, rival |")
        print("|--:|--:|--:|---|--:|--:|--:|--:|", flush=True)
        cases[case.name] = []
        for row in rows(case, given.campaigns * (3 if "useless" in case.name else 1), given.budgets):
            cells = [f"{row.labels:,}", *(f"{value:.2f} ± {error:.2f}" for value, error in (row.ours, row.theirs))]
            cells += [row.rival if row.held[2] >= VALID else f"none valid, {row.rival}"]
            cells += [f"{row.ours[0] / row.theirs[0]:.2f}", *(f"{share:.3f}" for share in row.held)]
            print(f"| {' | '.join(cells)} |", flush=True)
            cases[case.name].append(row)
    print("", *summary(cases), sep="\n")


if __name__ == "__main__":
    main()
