"""How often the two bands of a precision curve hold it, and how wide they are: random labels and the belief.

    [BAYES_ASSESS_POOLS=folder] python benchmarks/study_precision_band.py [--campaigns 16] [--pools 20news cifar10]

Made lists fall from 0.95 to 0.5: with scores that are true probabilities, with scores that rank as well and mean
something else, and shuffled. With the folder, classes of its pools are ranked by their scores, too. A row is of one
design at one number of labels: the root of the mean squared error over 48 ranks, the share of ranks at which the band
holds the curve, the share of campaigns in which it does everywhere, and its mean width. AdaStrat is asked for a band
within a factor beta (1 + epsilon) = 1.32 with probability 0.95 and may stop before; the belief's band is credible at
every rank by itself. With 16 campaigns on 8 lists of each kind:

| list | design | labels | RMSE | ranks held | curves held | width |
|---|---|--:|--:|--:|--:|--:|
| probabilities | variance_reduction | 100 | 0.0504 | 0.923 | 0.81 | 0.203 |
| | | 500 | 0.0197 | 0.997 | 0.94 | 0.075 |
| | | 2,000 | 0.0101 | 0.962 | 0.81 | 0.028 |
| | adastrat | 100 | 0.1098 | 1.000 | 1.00 | 0.750 |
| | | 500 | 0.1035 | 1.000 | 0.98 | 0.371 |
| | | 2,000 | 0.1000 | 1.000 | 1.00 | 0.320 |
| other scale | variance_reduction | 100 | 0.0857 | 0.835 | 0.38 | 0.212 |
| | | 500 | 0.0276 | 0.965 | 0.81 | 0.078 |
| | | 2,000 | 0.0114 | 0.967 | 0.62 | 0.029 |
| shuffled | variance_reduction | 100 | 0.0486 | 0.996 | 0.81 | 0.254 |
| | | 500 | 0.0180 | 1.000 | 1.00 | 0.089 |
| | | 2,000 | 0.0096 | 0.993 | 0.94 | 0.030 |
| | adastrat | 100 | 0.0885 | 1.000 | 1.00 | 0.612 |
| | | 500 | 0.0213 | 0.966 | 0.88 | 0.125 |
| | | 2,000 | 0.0161 | 0.966 | 0.88 | 0.082 |

The belief's band is a fraction as wide, and misses where scores mean something else than they say and labels are few.
AdaStrat looks at nothing but ranks, so that its rows are the same on another scale.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np

import bayes_assess as ba

BUDGETS = (100, 250, 500, 1000, 2000)
DESIGNS = ("variance_reduction", "adastrat")
SHARED = {"20news": (0, 3), "cifar10": (0, 3), "mnist": (8,), "abt_buy": (1,), "amzn_goog": (1,)}
N_MADE, N_LISTS = 30_000, 8

Labelled = tuple[ba.Pool, np.ndarray]


def made() -> Iterator[tuple[str, list[Labelled]]]:
    """Yield some lists of every kind: a list by itself may be one on which chance has lifted the precision."""
    rate = 0.95 - 0.85 * np.linspace(0, 1, N_MADE) ** 0.7
    for name, score in (("probabilities", rate), ("other scale", rate**6), ("shuffled", None)):
        lists = []
        for seed in range(N_LISTS):
            rng = np.random.default_rng(seed)
            labels = (rng.random(N_MADE) < rate).astype(int)
            lists.append((ba.Pool(scores=rng.permutation(rate) if score is None else score), labels))
        yield f"made, {name}", lists


def shared(folder: Path, names: list[str] | None) -> Iterator[tuple[str, list[Labelled]]]:
    """Yield one class against the rest, ranked by its score."""
    for name, classes in SHARED.items():
        if (names and name not in names) or not (folder / f"{name}.npz").is_file():
            continue
        data = np.load(folder / f"{name}.npz")
        known = data["scores"] if "scores" in data else data["probability"]
        for code in classes:
            scores = known if known.ndim == 1 else known[:, code]
            yield f"{name}:{code}", [(ba.Pool(scores=scores), (data["labels"] == code).astype(int))]


def rows(lists: list[Labelled], campaigns: int) -> Iterator[list[str]]:
    """Run campaigns of both designs, and score them."""
    question = ba.PrecisionCurve(epsilon=0.1, beta=1.2, slack=50)
    budgets = [n for n in BUDGETS if n <= lists[0][0].n_items]
    for design in DESIGNS:
        found = []
        for pool, labels in lists:
            repeats = -(-campaigns // len(lists))
            study = ba.simulate(pool, labels, question, designs=[design], budgets=budgets, repeats=repeats)
            ends = study.intervals[design]
            held = (ends[..., 0] <= study.truth + 1e-9) & (study.truth <= ends[..., 1] + 1e-9)
            found.append((study.estimates[design] - study.truth, held, ends))
        error, held, ends = (np.concatenate(part) for part in zip(*found, strict=True))
        for b, budget in enumerate(budgets):
            yield [
                design,
                f"{budget:,}",
                f"{np.sqrt((error[:, b] ** 2).mean()):.4f}",
                f"{held[:, b].mean():.3f}",
                f"{held[:, b].all(-1).mean():.2f}",
                f"{(ends[:, b, :, 1] - ends[:, b, :, 0]).mean():.3f}",
            ]


def main() -> None:
    """Print a table per list."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--campaigns", type=int, default=16)
    parser.add_argument("--pools", nargs="*")
    given = parser.parse_args()
    folder = os.environ.get("BAYES_ASSESS_POOLS")
    lists = [] if given.pools else list(made())
    for name, some in [*lists, *(shared(Path(folder), given.pools) if folder else ())]:
        print(f"\n{name}: {some[0][0].n_items:,} items, {some[0][1].mean():.4f} positive", flush=True)
        print("| design | labels | RMSE | ranks held | curves held | width |\n|---|--:|--:|--:|--:|--:|")
        for row in rows(some, given.campaigns):
            print(f"| {' | '.join(row)} |", flush=True)


if __name__ == "__main__":
    main()
