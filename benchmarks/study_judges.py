"""What further judges are worth beside a first one, all of whom only say good or bad, on made pools.

    python benchmarks/study_judges.py [--repeats 12]

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
"""

from __future__ import annotations

import argparse

import numpy as np

import bayes_assess as ba
from bayes_assess._tools.tables import Table

BUDGETS = [100, 250]
N, SHARE, POOLS = 4000, 0.6, 4
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


def row(others: list[str], repeats: int) -> dict[str, np.ndarray]:
    """Simulate campaigns on all pools."""
    errors, widths, covered = [], [], []
    for seed in range(POOLS):
        pool, labels = judged(seed, others)
        options = {"designs": ["variance_reduction"], "budgets": BUDGETS, "repeats": repeats, "seed": seed}
        study = ba.simulate(pool, labels, ba.Rate("good"), **options)
        ends = study.intervals["variance_reduction"]
        errors.append(study.estimates["variance_reduction"] - study.truth)
        widths.append(ends[..., 1] - ends[..., 0])
        covered.append((ends[..., 0] <= study.truth) & (study.truth <= ends[..., 1]))
    square, n = np.concatenate(errors) ** 2, POOLS * repeats
    random = np.sqrt(SHARE * (1 - SHARE) / np.array(BUDGETS) * (1 - np.array(BUDGETS) / N))
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
    repeats = parser.parse_args().repeats
    found = {name: row(others, repeats) for name, others in ROWS.items()}
    columns: dict[str, list] = {"judges": list(found)}
    for i, budget in enumerate(BUDGETS):
        columns[f"RMSE {budget}"] = [f"{one['rmse'][i]:.2f} ({one['error'][i]:.2f})" for one in found.values()]
        columns[f"held {budget}"] = [f"{one['coverage'][i]:.2f}" for one in found.values()]
        columns[f"width {budget}"] = [f"{one['width'][i]:.3f}" for one in found.values()]
    print(Table(columns, title=f"{POOLS * repeats} campaigns per row"))


if __name__ == "__main__":
    main()
