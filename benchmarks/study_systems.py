"""How many labels find the best of several systems, and which of two is better: the belief and random labels.

    python benchmarks/study_systems.py [--campaigns 48] [--sizes 500 2000] [--budgets 100 250 500 1000]

Four systems whose rates of good answers are .80, .78, .75 and .70, each asked 500 or 2,000 times. A judge scores all
answers: its scores separate good from bad ones at an area under the curve of about .87, and it favours some systems and
disfavours others by up to .8 in log odds, the best one among these. A row is of one design at one number of labels:
`right`, the share of the six pairs whose verdict with a rope of .02 is that of all labels; `best`, the share of
campaigns in which the best system has the highest estimate; the mean error of the differences; and the share of 95 %
intervals of the four rates that hold them. With 48 campaigns:

| answers each | design | labels | right | best | error | held |
|--:|---|--:|--:|--:|--:|--:|
| 500 | variance_reduction | 100 | 0.649 | 0.625 | 0.055 | 0.95 |
| 500 | variance_reduction | 250 | 0.757 | 0.708 | 0.039 | 0.91 |
| 500 | variance_reduction | 500 | 0.847 | 0.917 | 0.022 | 0.95 |
| 500 | variance_reduction | 1,000 | 0.892 | 0.979 | 0.012 | 0.97 |
| 500 | passive | 100 | 0.566 | 0.333 | 0.101 | 0.97 |
| 500 | passive | 250 | 0.670 | 0.542 | 0.056 | 0.96 |
| 500 | passive | 500 | 0.712 | 0.625 | 0.034 | 0.97 |
| 500 | passive | 1,000 | 0.778 | 0.792 | 0.023 | 0.95 |
| 2,000 | passive | 100 | 0.542 | 0.438 | 0.106 | 0.97 |
| 2,000 | passive | 250 | 0.628 | 0.500 | 0.065 | 0.95 |
| 2,000 | passive | 500 | 0.708 | 0.583 | 0.042 | 0.96 |
| 2,000 | passive | 1,000 | 0.757 | 0.583 | 0.030 | 0.96 |

With 500 answers each the belief finds the best system with 500 labels more often than random labels do with 1,000.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator

import numpy as np

import bayes_assess as ba

RATES = {"a": 0.80, "b": 0.78, "c": 0.75, "d": 0.70}
FAVOUR = np.array([-0.5, 0.5, 0.0, 0.8])  # of the judge, in log odds
DESIGNS = ("variance_reduction", "passive")
ROPE = 0.02


def made(size: int, seed: int = 0) -> tuple[ba.Pool, np.ndarray]:
    """Make a pool of four systems with exactly these rates, and its labels."""
    rng = np.random.default_rng(seed)
    system = np.repeat(np.arange(len(RATES)), size)
    labels = np.concatenate([rng.permutation(np.arange(size) < round(rate * size)) for rate in RATES.values()])
    score = 1.6 * (labels - 0.5) + FAVOUR[system] + rng.normal(0, 1.0, len(labels)) + 0.5
    pool = ba.Pool(scores=1 / (1 + np.exp(-score)), groups={"system": np.array(list(RATES))[system]})
    return pool, labels.astype(int)


def rows(size: int, campaigns: int, budgets: list[int]) -> Iterator[list[str]]:
    """Run campaigns of both designs, and score them."""
    pool, labels = made(size)
    question = ba.Compare(by="system", measure="rate", rope=ROPE)
    for design in DESIGNS:
        study = ba.simulate(pool, labels, question, designs=[design], budgets=budgets, repeats=campaigns)
        ends, (scores,) = study.intervals[design], study.scores.values()
        held = ((ends[..., 0] <= study.truth + 1e-9) & (study.truth <= ends[..., 1] + 1e-9)).mean((0, 2))
        for b, budget in enumerate(budgets):
            values = [f"{scores[name][:, b].mean():.3f}" for name in ("right", "best", "error")]
            yield [f"{size:,}", design, f"{budget:,}", *values, f"{held[b]:.2f}"]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--campaigns", type=int, default=48)
    parser.add_argument("--sizes", type=int, nargs="*", default=[500, 2000])
    parser.add_argument("--budgets", type=int, nargs="*", default=[100, 250, 500, 1000])
    given = parser.parse_args()
    print("| answers each | design | labels | right | best | error | held |\n|--:|---|--:|--:|--:|--:|--:|")
    for size in given.sizes:
        for row in rows(size, given.campaigns, given.budgets):
            print(f"| {' | '.join(row)} |", flush=True)


if __name__ == "__main__":
    main()
