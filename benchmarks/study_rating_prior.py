"""What the belief on ratings takes for granted, by a proper score on a population of pools unlike one another.

    python benchmarks/study_rating_prior.py [--set package] [--pools 108] [--seed 1] [--campaigns 8] [--minutes 15]
        [--rows benchmarks/results/rating_prior.jsonl]
    ... --set "anything: 0.1" --even 0.1
    ... --set "strong lines" --strengths 4,256
    ... --report

Pools are those of `_rating_pools.py`: labels of 3 to 7 classes that are cut from a normal variable, heaped at the top
or anything, and judges that are biased, copy but for a share, are blind for the lowest, constant, coarse or useless.
In every other campaign items are drawn at random, in the others the cell is next whose label tells most by the
variances so far. A row has, at 10, 25, 50, 100 and 250 labels, means over campaigns and groups of how often 95 %
intervals of mean ratings hold, how often they lie above, their width, their interval score and the squared error,
relative to the standard deviation of as many random labels. --even replaces the share of labels that may be anything,
--strengths the range of how many labels the line counts as. --report compares sets with the first one.

Of 54 pools; the score is relative to the package's on the same pool, in the geometric mean, with standard errors over
pools:

| constants | labels | held | score / package |
|---|--:|--:|--:|
| package (0.03; 1 to 256) | 10 | 0.940 ± 0.011 | |
| | 50 | 0.940 ± 0.011 | |
| | 250 | 0.939 ± 0.010 | |
| 0.1 may be anything | 10 | 0.930 ± 0.019 | 1.04 ± 0.03 |
| | 50 | 0.941 ± 0.012 | 1.08 ± 0.04 |
| | 250 | 0.941 ± 0.012 | 1.05 ± 0.03 |
| lines count as 4 and more | 10 | 0.941 ± 0.011 | 1.00 ± 0.01 |
| | 50 | 0.917 ± 0.014 | 1.08 ± 0.02 |
| | 250 | 0.935 ± 0.010 | 1.03 ± 0.03 |

A share that is learned, from 0.0055 to 0.55, scores no better either: 1.00 to 1.05 of what the fixed one does.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

import numpy as np
from _rating_pools import pools
from _rows import Rows, add_row_options, read_rows, without_row

import bayes_assess as ba
from bayes_assess._tools import engine
from bayes_assess.models import rating_labels as model
from bayes_assess.models.rating_labels import RatingLabels

LOOKS, LEVEL, KEY, N_DRAWS = (10, 25, 50, 100, 250), 0.95, ("set", "seed", "pool"), 512
MISS = 2 / (1 - LEVEL)  # what an interval's score adds for every unit that the truth lies outside
FIGURES = ("held", "above", "width", "score", "square")


@contextmanager
def using(even: float | None, strengths: str | None) -> Iterator[None]:
    """Replace constants of the model."""
    low, high = (float(end) for end in strengths.split(",")) if strengths else np.exp(model._LOG_STRENGTH)
    spread = np.exp(model._middles(np.log(low), np.log(high), len(model._STRENGTHS)))
    with (
        mock.patch.object(model, "_EVEN", model._EVEN if even is None else even),
        mock.patch.object(model, "_STRENGTHS", spread),
    ):
        yield


class Cells:
    """Items of one rating and group each.

    Parameters
    ----------
    pool : Pool
    labels : (M,)
        From 1 on.
    by : str, optional
        Column of groups.
    """

    def __init__(self, pool: ba.Pool, labels: np.ndarray, by: str | None) -> None:
        group = np.zeros(len(labels), int) if by is None else np.unique(pool.groups[by], return_inverse=True)[1]
        kind, self.cell = np.unique(group * pool.n_classes + pool.predictions, return_inverse=True)
        self.rating, self.n_classes, self.labels = kind % pool.n_classes, pool.n_classes, labels - 1
        self.group, self.n_groups = kind // pool.n_classes, int(group.max()) + 1
        self.sizes, self.group_sizes = np.bincount(self.cell), np.bincount(group)
        self.truth = np.array([self.labels[group == g].mean() for g in range(self.n_groups)])
        self.variance = np.array([self.labels[group == g].var() for g in range(self.n_groups)])

    def random_sd(self) -> np.ndarray:
        """Return standard deviations of means of random labels, (looks, G), where labels are never all alike."""
        drawn = np.outer(LOOKS, self.group_sizes / len(self.labels))
        return np.sqrt((self.variance + 0.01) / drawn)

    def means(self, belief: RatingLabels, counts: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Draw mean ratings of groups, (draws, G)."""
        rest = (self.sizes - counts.sum(1)).astype(int)
        drawn = rng.multinomial(np.broadcast_to(rest, (N_DRAWS, len(rest))), belief.drawn(rng, N_DRAWS))
        total = (drawn + counts) @ np.arange(self.n_classes)  # (draws, K)
        return np.stack([total[:, self.group == g].sum(1) for g in range(self.n_groups)], axis=1) / self.group_sizes


def next_cell(counts: np.ndarray, sizes: np.ndarray, rng: np.random.Generator, at_random: bool) -> int:
    """Choose where the next label comes from: any item, or the cell whose mean is known least by variances so far."""
    n = counts.sum(1)
    left = sizes - n
    if at_random:
        return int(rng.choice(len(sizes), p=left / left.sum()))
    ratings = np.arange(counts.shape[1])
    squares = counts @ ratings**2 - (counts @ ratings) ** 2 / np.maximum(n, 1)
    pooled = (squares.sum() + 1) / (n.sum() + 1)
    variance = (squares + 2 * pooled) / (n + 2) + 0.3 / (n + 1)
    return int(np.argmax(np.where(left > 0, sizes**2 * variance / ((n + 1) * (n + 2)), -1)))


def campaign(cells: Cells, rng: np.random.Generator, at_random: bool) -> np.ndarray:
    """Label items; return FIGURES at every look, (looks, figures)."""
    queues = [rng.permutation(np.flatnonzero(cells.cell == k)).tolist() for k in range(len(cells.sizes))]
    counts, seen = np.zeros((len(queues), cells.n_classes)), []
    belief = RatingLabels.from_prior(cells.rating.astype(float), cells.n_classes, cells.group)
    for n in range(1, LOOKS[-1] + 1):
        k = next_cell(counts, cells.sizes, rng, at_random)
        label = int(cells.labels[queues[k].pop()])
        counts[k, label] += 1
        belief = belief.observe(k, label)
        if n in LOOKS:
            means = cells.means(belief, counts, rng)
            low, high = np.quantile(means, [(1 - LEVEL) / 2, (1 + LEVEL) / 2], axis=0)
            outside, sd = (
                np.maximum(low - cells.truth, 0) + np.maximum(cells.truth - high, 0),
                cells.random_sd()[len(seen)],
            )
            square = ((np.median(means, axis=0) - cells.truth) / sd) ** 2
            width = (high - low) / sd
            figures = outside <= 1e-9, low > cells.truth + 1e-9, width, width + MISS * outside / sd, square
            seen.append([np.mean(figure) for figure in figures])
    return np.array(seen)


def report(rows: list[dict[str, Any]]) -> str:
    """Compare sets with the first one of a seed, on the pools that both have."""
    sets: dict[tuple[int, str], dict[str, dict[str, Any]]] = {}
    for row in rows:
        sets.setdefault((row["seed"], row["set"]), {})[row["pool"]] = row
    lines = [
        "| seed | set | labels | held | tenth of pools | above | width | score | ratio |",
        "|--:|---" + "|--:" * 7 + "|",
    ]
    for (seed, name), here in sorted(sets.items(), key=lambda one: one[0][0]):
        first = next(one for (other, _), one in sets.items() if other == seed)
        both = sorted(set(here) & set(first))
        for i, look in enumerate(LOOKS):
            held, above, width, score = (np.array([here[pool][f][i] for pool in both]) for f in FIGURES[:4])
            ratio = np.log(score / [first[pool]["score"][i] for pool in both])
            error, part = held.std() / np.sqrt(len(both)), ratio.std() / np.sqrt(len(both))
            lines.append(
                f"| {seed} | {name} ({len(both)}) | {look} | {held.mean():.3f} ± {error:.3f} | "
                f"{np.quantile(held, 0.1):.2f} | {above.mean():.3f} | {width.mean():.2f} | {score.mean():.2f} | "
                f"{np.exp(ratio.mean()):.2f} ± {part:.2f} |"
            )
    return "\n".join(lines)


def main(arguments: list[str] | None = None) -> None:
    """Run a set, or report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_row_options(parser, "rating_prior.jsonl")
    parser.add_argument("--set", default="package", help="what the constants are called")
    parser.add_argument("--even", type=float, help="e of the model")
    parser.add_argument("--strengths", metavar="LOW,HIGH", help="range of kappa")
    parser.add_argument("--pools", type=int, default=108)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--campaigns", type=int, default=8)
    options = parser.parse_args(arguments)
    if options.report:
        print(report(read_rows(options.rows)))
        return
    rows, key = Rows(options.rows, KEY), {"set": options.set, "seed": options.seed}
    population = ((key | {"pool": name}, of) for name, *of in pools(options.pools, options.seed))
    with using(options.even, options.strengths), engine.eager():
        for row, (pool, labels, facts) in without_row(population, rows, options.minutes):
            begin, cells = time.process_time(), Cells(pool, labels, facts["by"])
            streams = np.random.default_rng([23, options.seed, pool.n_items]).spawn(options.campaigns)
            means = np.mean([campaign(cells, rng, i % 2 == 0) for i, rng in enumerate(streams)], axis=0)
            figures = {figure: means[:, k].round(5).tolist() for k, figure in enumerate(FIGURES)}
            rows.add(row | facts | figures | {"seconds": round(time.process_time() - begin, 2)})


if __name__ == "__main__":
    main()
