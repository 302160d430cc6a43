"""Factors of labels that all wrong predictions share, in measures of many classes, by interval scores on made pools.

    python benchmarks/study_label_factors.py [--balanced] [--pools 36] [--seed 1] [--minutes 15]
        [--rows benchmarks/results/label_factors.jsonl]
    ... --report

Pools are those of `_class_pools.py`, or with --balanced those that it has of classifiers which were fitted to as many
items of every class. Items are asked for 20 at a time by the default design; with 30, 120 and 400 labels the answer is
given once for each of the `SETS` of shapes that factors may have. A row has, for a pool, whether 95 % intervals hold,
their widths, interval scores, and the errors of estimates, by set, number of labels and measure. --report writes means
over pools, and interval scores less those without factors with their standard errors.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
from _class_pools import balanced
from _class_pools import pools as made
from _rows import Clock, Rows, add_row_options, read_rows
from study_calibration_prior import scored

import bayes_assess as ba
from bayes_assess.models import label_factors

LOOKS, BATCH, KEY = (30, 120, 400), 20, ("population", "seed", "pool")
MEASURES = ("balanced_accuracy", "f1_macro", "accuracy")
SETS = {
    "none": (np.inf,),
    "1/2 none, 1/2 of 1": (np.inf, 1.0),
    "**1/3 none, 1/3 of 2, of 1/2**": (np.inf, 2.0, 0.5),
    "1/2 none, 1/2 of 1/2": (np.inf, 0.5),
    "1/2 none, 1/2 of 1/4": (np.inf, 0.25),
}


def campaign(pool: ba.Pool, labels: np.ndarray, seed: int) -> np.ndarray:
    """Return held, width, score and error by set, look and measure, (sets, looks, measures, 4)."""
    session = ba.assess(pool, ba.Metric(list(MEASURES)), seed=seed)
    truth = np.ravel(session.question.truth(pool, labels))
    found, own = np.empty((len(SETS), len(LOOKS), len(MEASURES), 4)), label_factors.SHAPES
    for at, n in enumerate(LOOKS):
        while session.labels_used < n:
            queries = session.ask(min(BATCH, n - session.labels_used))
            session.tell(queries.ids, labels[queries.ids])
        for i, shapes in enumerate(SETS.values()):
            label_factors.SHAPES = shapes
            try:
                result = session.result()
            finally:
                label_factors.SHAPES = own
            for j, (low, high) in enumerate(result.interval):
                figures = scored(low, high, np.asarray(truth[j]))
                found[i, at, j] = *figures, result.estimate[j] - truth[j]
    return found


def report(rows: list[dict[str, Any]]) -> str:
    """Write a table by population, measure and set of shapes, over all seeds."""
    lines = [
        "| pools | measure | shapes | held | interval score | less that without factors |",
        "|---|---|---|--:|--:|--:|",
    ]
    for population in dict.fromkeys(row["population"] for row in rows):
        found = np.array([row["found"] for row in rows if row["population"] == population])  # (P, sets, looks, m, 4)
        for j, measure in enumerate(MEASURES):
            for i, name in enumerate(SETS):
                held, score = found[:, i, :, j, 0], found[:, i, :, j, 2]
                less = score - found[:, 0, :, j, 2]
                parts = [" ".join(f"{value:.3f}" for value in part.mean(0)) for part in (held, score)]
                error = less.std(0) / np.sqrt(len(less))
                parts.append(" ".join(f"{m:+.4f} ({e:.4f})" for m, e in zip(less.mean(0), error, strict=True)))
                lines.append(f"| {len(found)} {population} | {measure} | {name} | {' | '.join(parts)} |")
    return "\n".join(lines)


def main(arguments: list[str] | None = None) -> None:
    """Run, or report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_row_options(parser, "benchmarks/results/label_factors.jsonl")
    parser.add_argument("--balanced", action="store_true", help="classifiers fitted to as many items of every class")
    parser.add_argument("--pools", type=int, default=36)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args(arguments)
    if options.report:
        print(report(read_rows(options.rows)))
        return
    rows, clock = Rows(options.rows, KEY), Clock(options.minutes)
    population = "balanced" if options.balanced else "made"
    for name, kind, pool, labels in (balanced if options.balanced else made)(options.pools, options.seed):
        row = {"population": population, "seed": options.seed, "pool": name}
        if row in rows:
            continue
        if clock.over:
            print(f"Stopped after {options.minutes:g} minutes; the same command goes on.")
            return
        rows.add(row | {"kind": kind, "found": campaign(pool, labels, 0).round(5).tolist()})


if __name__ == "__main__":
    main()
