"""How much cheaper a judge's numbers make a true mean, and whether intervals hold it, however good the judge is.

    python benchmarks/study_numbers.py [--repeats 24] [--judges good fair] [--step 10]

Labels of 2,000 items are numbers from 0 to 100. A judge gives numbers, too: a ``good`` one is off by 5 and scatters by
4; a ``fair`` one takes everything for half as extreme as it is and scatters by 12; a ``useless`` one gives any number.
Of ``outliers`` a tenth are any number and others close. Of ``flips`` a third of the labels are 0, and the judge takes a
tenth of the items for their opposite. A row has two pools with as many campaigns each: the root of the mean squared
error and the mean width of 95 % intervals of ``variance_reduction`` relative to those of as many random labels, and the
share of intervals that hold the truth. With --repeats 48, so 96 campaigns (standard error of a share: 0.02):

| judge | labels | RMSE / random | held | width / random |
|---|--:|--:|--:|--:|
| good | 50 | 0.24 | 1.00 | 0.42 |
| good | 100 | 0.22 | 1.00 | 0.34 |
| good | 250 | 0.25 | 0.97 | 0.27 |
| fair | 50 | 0.85 | 0.95 | 0.85 |
| fair | 100 | 0.78 | 0.98 | 0.84 |
| fair | 250 | 0.85 | 0.95 | 0.82 |
| useless | 50 | 0.99 | 0.92 | 0.97 |
| useless | 100 | 1.08 | 0.92 | 0.99 |
| useless | 250 | 1.07 | 0.91 | 1.01 |
| outliers | 50 | 0.49 | 0.91 | 0.47 |
| outliers | 100 | 0.46 | 0.92 | 0.46 |
| outliers | 250 | 0.41 | 0.96 | 0.45 |
| flips | 50 | 0.37 | 0.88 | 0.27 |
| flips | 100 | 0.35 | 0.86 | 0.27 |
| flips | 250 | 0.30 | 0.97 | 0.24 |

Where some of the judge's numbers are of no relation to the labels, intervals are somewhat narrow until labels have
shown it; that it might be so makes those of a good judge wider than its errors are.
"""

from __future__ import annotations

import argparse

import numpy as np

import bayes_assess as ba

N, POOLS, BUDGETS = 2000, 2, [50, 100, 250]
JUDGES = ("good", "fair", "useless", "outliers", "flips")


def made(judge: str, seed: int, step: float | None) -> tuple[ba.Pool, np.ndarray]:
    """Make a pool and its labels, (M,)."""
    rng = np.random.default_rng(seed)
    labels = (100 * rng.beta(4, 2, N)).round(1)
    if judge == "flips":
        labels = np.where(rng.random(N) < 0.3, 0, labels)
    numbers = {
        "good": labels + rng.normal(5, 4, N),
        "fair": 0.5 * labels + rng.normal(20, 12, N),
        "useless": rng.uniform(0, 100, N),
        "outliers": np.where(rng.random(N) < 0.1, rng.uniform(0, 100, N), labels + rng.normal(0, 3, N)),
        "flips": np.where(rng.random(N) < 0.9, labels, 100 - labels),
    }[judge]
    return ba.Pool(predictions=np.clip(numbers, 0, 100), bounds=(0, 100), step=step), labels


def rows(judge: str, repeats: int, step: float | None) -> np.ndarray:
    """Simulate; return error, coverage and width for every budget."""
    errors, held, widths = [], [], []
    for seed in range(POOLS):
        pool, labels = made(judge, seed, step)
        study = ba.simulate(
            pool, labels, ba.Mean(), designs=["variance_reduction"], budgets=BUDGETS, repeats=repeats, seed=seed
        )
        (estimates,), (ends,) = study.estimates.values(), study.intervals.values()
        random = labels.std() / np.sqrt(BUDGETS) * np.sqrt(1 - np.array(BUDGETS) / N)
        errors.append((estimates.reshape(repeats, -1) - labels.mean()) / random)
        ends = ends.reshape(repeats, -1, 2)
        held.append((ends[..., 0] <= labels.mean()) & (labels.mean() <= ends[..., 1]))
        widths.append(np.diff(ends)[..., 0] / (2 * 1.96 * random))
    errors, held, widths = (np.concatenate(parts) for parts in (errors, held, widths))
    return np.stack([np.sqrt((errors**2).mean(0)), held.mean(0), widths.mean(0)], axis=1)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=24)
    parser.add_argument("--judges", nargs="*", default=JUDGES)
    parser.add_argument("--step", type=float)
    given = parser.parse_args()
    print("| judge | labels | RMSE / random | held | width / random |\n|---|--:|--:|--:|--:|")
    for judge in given.judges:
        for n, (error, held, width) in zip(BUDGETS, rows(judge, given.repeats, given.step), strict=True):
            print(f"| {judge} | {n} | {error:.2f} | {held:.2f} | {width:.2f} |", flush=True)


if __name__ == "__main__":
    main()
