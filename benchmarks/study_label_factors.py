"""Which labels errors have, by factors that all share and by accuracies: interval scores of measures of many classes.

    python benchmarks/study_label_factors.py [--balanced] [--unscored] [--accuracy] [--pools 36] [--seed 1]
        [--minutes 15] [--rows benchmarks/results/label_factors.jsonl]
    ... --report

Pools are those of `_class_pools.py`, or with --balanced those that it has of classifiers which were fitted to as many
items of every class; --unscored keeps but the greatest score of an item. Items are asked for 20 at a time by the
default design; with 30, 120 and 400 labels the answer is given once for each of the `SHAPES` that factors may have, or
with --accuracy for each of the `READINGS` of errors. A row has, for a pool, whether 95 % intervals hold, their widths,
interval scores, and the errors of estimates, by set, number of labels and measure. --report writes means over pools,
and interval scores less those of the first set with their standard errors.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest.mock import patch

import numpy as np
from _class_pools import balanced
from _class_pools import pools as made
from _rows import Clock, Rows, add_row_options, read_rows
from study_calibration_prior import scored

import bayes_assess as ba
from bayes_assess.models import label_factors
from bayes_assess.models.error_labels import ErrorLabels

LOOKS, BATCH, KEY = (30, 120, 400), 20, ("population", "seed", "pool", "compared")
MEASURES = ("balanced_accuracy", "f1_macro", "accuracy")
SHAPES = {
    "none": (np.inf,),
    "1/2 none, 1/2 of 1": (np.inf, 1.0),
    "**1/3 none, 1/3 of 2, of 1/2**": (np.inf, 2.0, 0.5),
    "1/2 none, 1/2 of 1/2": (np.inf, 0.5),
    "1/2 none, 1/2 of 1/4": (np.inf, 0.25),
}
READINGS = {"factors": (True, False), "**factors and accuracies**": (True, True), "accuracies": (False, True)}
SETS = {"shapes": SHAPES, "accuracy": READINGS}


@contextmanager
def believing(compared: str, name: str) -> Iterator[None]:
    """Put what one set of `SETS` says in the place of the belief's own."""
    with_factors, with_accuracy = READINGS.get(name, (True, False))  # shapes are compared alone
    shapes = SHAPES.get(name, label_factors.SHAPES if with_factors else (np.inf,))
    with ExitStack() as stack:
        stack.enter_context(patch.object(label_factors, "SHAPES", shapes))
        if not with_accuracy:
            stack.enter_context(patch.object(ErrorLabels, "given_accuracy", lambda belief, right: belief))
        yield


def campaign(pool: ba.Pool, labels: np.ndarray, seed: int, compared: str = "shapes") -> np.ndarray:
    """Return held, width, score and error by set, look and measure, (sets, looks, measures, 4)."""
    session = ba.assess(pool, ba.Metric(list(MEASURES)), seed=seed)
    truth = np.ravel(session.question.truth(pool, labels))
    found = np.empty((len(SETS[compared]), len(LOOKS), len(MEASURES), 4))
    for at, n in enumerate(LOOKS):
        while session.labels_used < n:
            queries = session.ask(min(BATCH, n - session.labels_used))
            session.tell(queries.ids, labels[queries.ids])
        for i, name in enumerate(SETS[compared]):
            with believing(compared, name):
                result = session.result()
            for j, (low, high) in enumerate(result.interval):
                figures = scored(low, high, np.asarray(truth[j]))
                found[i, at, j] = *figures, result.estimate[j] - truth[j]
    return found


def unscored(pool: ba.Pool) -> ba.Pool:
    """Make a pool of which only the scores of the predictions are known."""
    confidence = np.asarray(pool.scores).max(1)
    return ba.Pool(predictions=pool.predictions, confidence=confidence, classes=range(pool.n_classes))


def report(rows: list[dict[str, Any]]) -> str:
    """Write a table by population, measure and set of shapes, over all seeds."""
    lines = [
        "| pools | measure | errors | held | interval score | less that of the first |",
        "|---|---|---|--:|--:|--:|",
    ]
    for compared, population in dict.fromkeys((row["compared"], row["population"]) for row in rows):
        some = [r for r in rows if (r["compared"], r["population"]) == (compared, population)]
        found = np.array([row["found"] for row in some])  # (P, sets, looks, m, 4)
        for j, measure in enumerate(MEASURES):
            for i, name in enumerate(SETS[compared]):
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
    parser.add_argument("--unscored", action="store_true", help="pools of which only the greatest scores are known")
    parser.add_argument("--accuracy", action="store_true", help="compare readings of errors, not shapes of factors")
    parser.add_argument("--pools", type=int, default=36)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args(arguments)
    if options.report:
        print(report(read_rows(options.rows)))
        return
    rows, clock = Rows(options.rows, KEY), Clock(options.minutes)
    population = ("balanced" if options.balanced else "made") + ", without scores" * options.unscored
    compared = "accuracy" if options.accuracy else "shapes"
    for name, kind, pool, labels in (balanced if options.balanced else made)(options.pools, options.seed):
        row = {"population": population, "seed": options.seed, "pool": name, "compared": compared}
        if row in rows:
            continue
        if clock.over:
            print(f"Stopped after {options.minutes:g} minutes; the same command goes on.")
            return
        shown = unscored(pool) if options.unscored else pool
        rows.add(row | {"kind": kind, "found": campaign(shown, labels, 0, compared).round(5).tolist()})


if __name__ == "__main__":
    main()
