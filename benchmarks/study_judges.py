"""What further judges are worth beside a first one, all of whom only say good or bad, on made pools.

    python benchmarks/study_judges.py [--repeats 12] [--kind ratings]

The first judge calls 80 % of the good items good and 35 % of the bad ones. A better one calls 90 and 30 %, a worse one
70 and 20 %, each independently of the others given the label; a copy says what the first one says, and a coin anything.
Every row has four pools of 4,000 items with as many campaigns each: RMSE, with its Monte-Carlo error, relative to that
of as many random labels, coverage of the 95 % interval, and mean width. With --repeats 24, so 96 campaigns:

| judges | RMSE / random, 100 labels | held, 100 | held, 250 | width, 100 | width, 250 |
|---|--:|--:|--:|--:|--:|
| first judge alone | 0.88 (0.05) | 0.98 | 0.95 | 0.165 | 0.104 |
| and a better one | 0.75 (0.04) | 0.95 | 0.92 | 0.131 | 0.082 |
| and a better and a worse one | 0.54 (0.04) | 0.98 | 0.97 | 0.117 | 0.071 |
| and a copy | 0.79 (0.06) | 0.95 | 0.95 | 0.163 | 0.105 |
| and a coin | 0.85 (0.06) | 0.96 | 0.96 | 0.164 | 0.104 |
| and three coins | 0.74 (0.05) | 0.96 | 0.98 | 0.161 | 0.101 |

Judges that are better than coins are worth their while; those that are none neither help nor make intervals too narrow.

With ``--kind ratings`` labels are ratings from 1 to 5, and with ``numbers`` from 0 to 100, in pools of 2,000 items; the
first judge is off by 1.0 standard deviations of the labels, a close one by 0.35, and a stranger says anything.

With --repeats 24:

| judges of ratings | RMSE / random, 100 labels | 250 | held, 100 | held, 250 | width, 100 | width, 250 |
|---|--:|--:|--:|--:|--:|--:|
| first judge alone | 0.82 (0.06) | 0.65 (0.05) | 0.96 | 0.98 | 0.394 | 0.240 |
| and one like it | 0.88 (0.07) | 0.59 (0.08) | 0.90 | 0.94 | 0.319 | 0.157 |
| and a close one | 0.50 (0.06) | 0.31 (0.02) | 0.96 | 0.98 | 0.197 | 0.100 |
| and a stranger | 0.86 (0.08) | 0.81 (0.09) | 0.96 | 0.94 | 0.385 | 0.221 |
| and a close one and a stranger | 0.45 (0.06) | 0.36 (0.05) | 0.91 | 0.89 | 0.160 | 0.073 |

| judges of numbers | RMSE / random, 100 labels | 250 | held, 100 | held, 250 | width, 100 | width, 250 |
|---|--:|--:|--:|--:|--:|--:|
| first judge alone | 0.84 (0.05) | 0.82 (0.05) | 0.96 | 0.97 | 5.62 | 3.39 |
| and one like it | 0.66 (0.04) | 0.65 (0.05) | 0.97 | 0.98 | 4.77 | 2.87 |
| and a close one | 0.45 (0.04) | 0.48 (0.03) | 0.94 | 0.91 | 3.06 | 1.85 |
| and a stranger | 0.77 (0.06) | 0.84 (0.07) | 0.96 | 0.96 | 5.64 | 3.46 |
| and a close one and a stranger | 0.60 (0.05) | 0.67 (0.05) | 0.95 | 0.95 | 4.40 | 2.63 |

Where the mean of all judges is followed and no more, a close one among them leaves 0.65 (ratings) and 0.54 (numbers) at
250 labels, and with a stranger, too, 0.63 and 0.78.
"""

from __future__ import annotations

import argparse

import numpy as np

import bayes_assess as ba
from bayes_assess._tools.tables import Table

BUDGETS = [100, 250]
N, SHARE, POOLS = 4000, 0.6, 4
CUTS = np.array([-1.2, -0.4, 0.3, 1.1])  # between ratings
SCATTERS = {"first": 1.0, "close": 0.35, "like the first": 1.0}
RATED = {
    "first judge alone": [],
    "and one like it": ["like the first"],
    "and a close one": ["close"],
    "and a stranger": ["stranger"],
    "and a close one and a stranger": ["close", "stranger"],
}
ROWS = {
    "first judge alone": [],
    "and a better one": ["better"],
    "and a better and a worse one": ["better", "worse"],
    "and a copy": ["copy"],
    "and a coin": ["coin"],
    "and three coins": ["coin", "another coin", "third coin"],
}


def judged(seed: int, others: list[str]) -> tuple[ba.Pool, np.ndarray]:
    """Make a pool with its labels; the first judge and the labels of a seed are the same whoever the others are."""
    rng, names = np.random.default_rng(seed), np.array(["bad", "good"])
    good = rng.random(N) < SHARE

    def verdict(of_good: float, of_bad: float) -> np.ndarray:
        return rng.random(N) < np.where(good, of_good, of_bad)

    said = {"first": verdict(0.8, 0.35), "better": verdict(0.9, 0.3), "worse": verdict(0.7, 0.2)}
    said |= {name: verdict(0.5, 0.5) for name in ("coin", "another coin", "third coin")} | {"copy": said["first"]}
    verdicts = {name: names[said[name].astype(int)] for name in ("first", *others)}
    return ba.Pool(predictions=verdicts.pop("first"), classes=names, systems=verdicts), names[good.astype(int)]


def rated(seed: int, others: list[str], kind: str) -> tuple[ba.Pool, np.ndarray]:
    """Make a pool of ratings or of numbers with its labels."""
    rng, n = np.random.default_rng(seed), N // 2
    z = rng.normal(size=n)
    said = {name: 0.8 * z + rng.normal(0, scatter, n) for name, scatter in SCATTERS.items()}
    said["stranger"] = rng.normal(size=n)
    if kind == "ratings":
        shown = {name: (said[name][:, None] > CUTS).sum(1) + 1 for name in ("first", *others)}
        pool = ba.Pool(predictions=shown.pop("first"), classes=[1, 2, 3, 4, 5], systems=shown)
        return pool, (z[:, None] > CUTS).sum(1) + 1
    shown = {name: np.clip(np.round(50 + 18 * said[name]), 0, 100) for name in ("first", *others)}
    pool = ba.Pool(predictions=shown.pop("first"), bounds=(0, 100), systems=shown)
    return pool, np.clip(np.round(50 + 18 * z), 0, 100)


def row(others: list[str], repeats: int, kind: str) -> dict[str, np.ndarray]:
    """Simulate campaigns on all pools."""
    errors, widths, covered, spread = [], [], [], []
    for seed in range(POOLS):
        if kind == "verdicts":
            (pool, labels), question = judged(seed, others), ba.Rate("good")
            spread.append(np.sqrt(SHARE * (1 - SHARE)))
        else:
            (pool, labels), question = rated(seed, others, kind), ba.Mean()
            spread.append(labels.std())
        options = {"designs": ["variance_reduction"], "budgets": BUDGETS, "repeats": repeats, "seed": seed}
        study = ba.simulate(pool, labels, question, **options)
        ends = study.intervals["variance_reduction"]
        errors.append(study.estimates["variance_reduction"] - study.truth)
        widths.append(ends[..., 1] - ends[..., 0])
        covered.append((ends[..., 0] <= study.truth) & (study.truth <= ends[..., 1]))
    square, n = np.concatenate(errors) ** 2, POOLS * repeats
    random = np.mean(spread) * np.sqrt((1 / np.array(BUDGETS)) - 1 / len(labels))
    rmse = np.sqrt(square.mean(0))
    return {
        "rmse": rmse / random,
        "error": square.std(0) / np.sqrt(n) / (2 * rmse) / random,
        "coverage": np.concatenate(covered).mean(0),
        "width": np.concatenate(widths).mean(0),
    }


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=12, help="campaigns on every pool")
    parser.add_argument("--kind", choices=["verdicts", "ratings", "numbers"], default="verdicts")
    given = parser.parse_args()
    repeats, rows = given.repeats, ROWS if given.kind == "verdicts" else RATED
    found = {name: row(others, repeats, given.kind) for name, others in rows.items()}
    columns: dict[str, list] = {"judges": list(found)}
    for i, budget in enumerate(BUDGETS):
        columns[f"RMSE {budget}"] = [f"{one['rmse'][i]:.2f} ({one['error'][i]:.2f})" for one in found.values()]
        columns[f"held {budget}"] = [f"{one['coverage'][i]:.2f}" for one in found.values()]
        columns[f"width {budget}"] = [f"{one['width'][i]:.3f}" for one in found.values()]
    print(Table(columns, title=f"{POOLS * repeats} campaigns per row"))


if __name__ == "__main__":
    main()
