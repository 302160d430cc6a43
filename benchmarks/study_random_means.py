"""Intervals of means of grades from random items: how far off may the next label be? By interval scores.

    python benchmarks/study_random_means.py [--pools 200] [--seed 1] [--minutes 15]
        [--rows benchmarks/results/random_means.jsonl]
    ... --report

Pools of 300 to 3,000 items have ratings of 3 to 7 classes (`_rating_pools.py`), differences of the ratings of two
systems for the same prompts, some of which one system fails at altogether, or differences most of which are 0 and the
others anything. Random items are labelled, 3 to 300 of them, four times each. The end of an interval counts one event
more than was seen (`measure_interval`): a label as far off as any that is possible, or as the farthest that was seen,
on either side, times (n + 1) / (n - 1); besides Student's interval. A row has, for a pool and every number of labels,
how often each holds, and its width and interval score (Gneiting and Raftery 2007), relative to the range.

--report has means over pools, and ratios to the first in the geometric mean. What chose it, 600 pools of seed 1:

| pools | labels | possible: held | shown: held | width | score | Student's: held | score |
|---|--:|--:|--:|--:|--:|--:|--:|
| systems | 3 | 1.000 | 0.994 | 0.80 | 0.81 | 0.993 | 0.87 |
| | 10 | 1.000 | 0.990 | 0.74 | 0.75 | 0.951 | 0.60 |
| | 30 | 0.998 | 0.988 | 0.84 | 0.85 | 0.955 | 0.69 |
| | 100 | 0.986 | 0.979 | 0.92 | 0.94 | 0.944 | 0.85 |
| | 300 | 0.975 | 0.971 | 0.96 | 0.97 | 0.943 | 0.90 |
| ties | 3 | 1.000 | 1.000 | 0.97 | 0.97 | 1.000 | 0.99 |
| | 10 | 1.000 | 0.999 | 0.91 | 0.91 | 0.990 | 0.80 |
| | 30 | 0.999 | 0.995 | 0.87 | 0.88 | 0.975 | 0.69 |
| | 100 | 0.998 | 0.994 | 0.88 | 0.89 | 0.955 | 0.66 |
| | 300 | 0.996 | 0.993 | 0.92 | 0.92 | 0.946 | 0.67 |
| ratings | 3 | 1.000 | 0.989 | 0.95 | 0.97 | 0.991 | 1.04 |
| | 10 | 0.996 | 0.983 | 0.92 | 0.94 | 0.965 | 0.91 |
| | 30 | 0.984 | 0.976 | 0.94 | 0.96 | 0.954 | 0.91 |
| | 100 | 0.971 | 0.966 | 0.95 | 0.97 | 0.939 | 0.92 |
| | 300 | 0.965 | 0.964 | 0.97 | 0.98 | 0.940 | 0.94 |

Standard errors are .002 to .006 of a share and .01 to .03 of a ratio. Student's interval has better scores on average
and holds less often than it says where few labels are far off and none of them was seen. Half as far as the farthest
scored .84 to .99 of the whole and held in .954 to .993 (150 pools of seed 5, 12 times); it was not taken, as for two
grades the ends would no longer be those of [CLOPPER].
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Any

import numpy as np
from _rating_pools import LABELS, _labels
from _rows import Rows, add_row_options, read_rows, without_row
from scipy import stats
from study_calibration_prior import scored

import bayes_assess as ba
from bayes_assess._tools import engine
from bayes_assess.estimators.intervals import measure_interval
from bayes_assess.estimators.weighted import Estimate
from bayes_assess.measures import mean_of, table_for

KINDS, RULES, FIGURES = ("systems", "ties", "ratings"), ("possible", "shown", "student"), ("held", "width", "score")
LOOKS, TIMES, KEY = (3, 10, 30, 100, 300), 4, ("seed", "pool")


def pools(n: int, seed: int) -> Iterator[tuple[str, str, np.ndarray, np.ndarray]]:
    """Yield names, kinds, the grade of every item, and all grades that there could be."""
    for i in range(n):
        for kind in KINDS:
            rng = np.random.default_rng([43, seed, i, KINDS.index(kind)])
            grades, greatest = _grades(kind, rng)
            least = 0 if kind == "ratings" else -greatest
            yield f"{kind} {seed}-{i}", kind, grades, np.arange(least, greatest + 1.0)


def _grades(kind: str, rng: np.random.Generator) -> tuple[np.ndarray, int]:
    n, n_classes = int(rng.integers(301, 3000)), int(rng.choice([3, 4, 5, 5, 7]))
    greatest = n_classes - 1
    if kind == "ratings":
        labels = _labels(rng, LABELS[int(rng.integers(len(LABELS)))], np.zeros(n, int), n_classes)
        return labels.astype(float), greatest
    if kind == "ties":
        shares = rng.dirichlet(np.full(2 * n_classes - 1, 0.5))
        some = rng.random(n) < np.exp(rng.uniform(np.log(0.004), np.log(0.3)))
        return np.where(some, rng.choice(np.arange(-greatest, n_classes), n, p=shares), 0.0), greatest
    prompt, cuts = rng.normal(0, rng.uniform(0.2, 1.5), n), np.sort(rng.normal(rng.normal(0, 0.7), 1.2, greatest))
    sides = []
    for fails in (0.3, 0.4):
        quality = prompt + rng.normal(0, 0.2) + rng.normal(0, rng.uniform(0.1, 1.2), n)
        failed = rng.random(n) < (np.exp(rng.uniform(np.log(0.002), np.log(0.15))) if rng.random() < fails else 0)
        sides.append(np.where(failed, 0, (quality[:, None] > cuts).sum(1)))
    return (sides[1] - sides[0]).astype(float), greatest


def intervals(found: np.ndarray, values: np.ndarray, n_items: int) -> list[np.ndarray]:
    """Return the interval of the mean by every rule from these random labels, of so many items."""
    n, value = len(found), found.mean()
    variance = found.var(ddof=1) / n * (1 - n / n_items)
    pool = ba.Pool(predictions=np.zeros(1, int), classes=list(range(len(values))))
    table = table_for(mean_of(tuple(values.tolist())), pool)[1]
    seen, ends = np.isin(values, found), []
    for labels in (None, seen):
        fall, rise = table.influence_ends(np.array([value, 1.0]), np.ones(1), labels, n) / n
        estimate = Estimate(np.array([value]), np.array([variance]), None, rise, -fall, np.array([True]), n, False)
        ends.append(measure_interval(estimate, table.ranges)[0])
    reach = stats.t.ppf(0.975, n - 1) * np.sqrt(variance)
    return [*ends, np.clip(value + reach * np.array([-1, 1]), values[0], values[-1]) if variance else ends[0]]


def figures(grades: np.ndarray, values: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Compute FIGURES of every rule and number of labels, (looks, rules, 3)."""
    truth, width, found = grades.mean(), np.ptp(values), []
    for look in LOOKS:
        ends = np.array([intervals(rng.choice(grades, look, replace=False), values, len(grades)) for _ in range(TIMES)])
        scores = scored(ends[..., 0] / width, ends[..., 1] / width, truth / width)
        found.append(np.stack([np.mean(score, axis=0) for score in scores], axis=-1))
    return np.array(found)


def report(rows: list[dict[str, Any]]) -> str:
    """Write means by kind of pool and number of labels."""
    lines = [
        "| pools | labels | possible: held | shown: held | width | score | Student's: held | score |",
        "|---" + "|--:" * 7 + "|",
    ]
    for kind in dict.fromkeys(row["kind"] for row in rows):
        every = np.array([row["figures"] for row in rows if row["kind"] == kind])  # (pools, looks, rules, figures)
        held, ratio = every[..., 0].mean(0), np.exp(np.log(every[..., 1:] / every[:, :, :1, 1:]).mean(0))
        for i, look in enumerate(LOOKS):
            (_, (width, score), (_, student)) = ratio[i]
            line = f"| {kind if i == 0 else ''} | {look} | {held[i, 0]:.3f} | {held[i, 1]:.3f} | {width:.2f} "
            lines.append(line + f"| {score:.2f} | {held[i, 2]:.3f} | {student:.2f} |")
    return "\n".join(lines)


def main(arguments: list[str] | None = None) -> None:
    """Compute rows, or report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_row_options(parser, "random_means.jsonl")
    parser.add_argument("--pools", type=int, default=200, help="of each kind")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args(arguments)
    if options.report:
        print(report(read_rows(options.rows)))
        return
    rows = Rows(options.rows, KEY)
    population = (({"seed": options.seed, "pool": name}, of) for name, *of in pools(options.pools, options.seed))
    with engine.eager():
        for key, (kind, grades, values) in without_row(population, rows, options.minutes):
            found = figures(grades, values, np.random.default_rng([44, options.seed, len(grades)]))
            rows.add(key | {"kind": kind, "figures": found.round(5).tolist()})


if __name__ == "__main__":
    main()
