"""Measures of many classes by the default design, on made pools with errors of many kinds: do intervals hold?

    BAYES_ASSESS_POOLS=folder python benchmarks/study_classes.py [--pools 36] [--seed 1] [--campaigns 1]
        [--measures balanced_accuracy f1_macro] [--minutes 15] [--rows benchmarks/results/classes.jsonl]
    ... --unknown --rows benchmarks/results/classes_unknown.jsonl
    ... --report

Pools are those of `_class_pools.py` and, where the folder is given, three real ones; with --unknown those of
`study_unknown_classes.py`, of which some classes are never predicted. Items are asked for 20 at a time, and answers
looked at with 30, 120 and 400 labels. A row has, for a pool, a measure and every number of labels, means
over campaigns: how often 95 % intervals hold, their width and interval score, and the mean square of the estimate's
error. --report writes means with standard errors over pools.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from _class_pools import of_scores
from _class_pools import pools as made
from _rows import Clock, Rows, add_row_options, read_rows
from study_calibration_prior import scored
from study_unknown_classes import pools as of_unknown_classes

import bayes_assess as ba

LOOKS, BATCH, KEY = (30, 120, 400), 20, ("seed", "pool", "measure")
REAL = ("cifar10", "cifar10_vgg", "20news")
FIGURES = ("held", "width", "score", "square")


def pools(n: int, seed: int, unknown: bool = False) -> Iterator[tuple[str, str, ba.Pool, np.ndarray]]:
    """Yield names, kinds, pools and labels."""
    if unknown:
        yield from of_unknown_classes(n, seed)
        return
    yield from made(n, seed)
    folder = os.environ.get("BAYES_ASSESS_POOLS")
    for name in REAL if folder is not None else ():
        data = np.load(Path(str(folder)) / f"{name}.npz")
        yield name, "real", of_scores(data["scores"]), data["labels"]


def campaign(pool: ba.Pool, labels: np.ndarray, measure: str, seed: int) -> np.ndarray:
    """Return figures by look, (looks, 4)."""
    session = ba.assess(pool, ba.Metric(measure), seed=seed)
    truth, found = float(np.ravel(session.question.truth(pool, labels))[0]), []
    for n in LOOKS:
        while session.labels_used < n:
            queries = session.ask(min(BATCH, n - session.labels_used))
            session.tell(queries.ids, labels[queries.ids])
        result = session.result()
        low, high = np.ravel(result.interval)
        square = (float(np.ravel(result.estimate)[0]) - truth) ** 2
        found.append((*scored(low, high, np.asarray(truth)), square))
    return np.array(found, float)


def report(rows: list[dict[str, Any]]) -> str:
    """Write a table by measure and number of labels, over all seeds."""
    lines = ["| measure | labels | pools | held | width | score | RMSE |", "|---|--:|--:|--:|--:|--:|--:|"]
    for measure in dict.fromkeys(row["measure"] for row in rows):
        these = [row for row in rows if row["measure"] == measure]
        for i, look in enumerate(LOOKS):
            share, width, score, square = (np.array([row[name][i] for row in these]) for name in FIGURES)
            root = np.sqrt(len(these))
            lines.append(
                f"| {measure} | {look} | {len(these)} | {share.mean():.3f} ± {share.std() / root:.3f} | "
                f"{width.mean():.3f} | {score.mean():.3f} ± {score.std() / root:.3f} | {np.sqrt(square.mean()):.4f} |"
            )
    return "\n".join(lines)


def main(arguments: list[str] | None = None) -> None:
    """Run, or report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_row_options(parser, "benchmarks/results/classes.jsonl")
    parser.add_argument("--unknown", action="store_true", help="pools of which some classes are never predicted")
    parser.add_argument("--pools", type=int, default=36)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--campaigns", type=int, default=1)
    parser.add_argument("--measures", nargs="+", default=["balanced_accuracy", "f1_macro"])
    options = parser.parse_args(arguments)
    if options.report:
        print(report(read_rows(options.rows)))
        return
    rows, clock = Rows(options.rows, KEY), Clock(options.minutes)
    for name, kind, pool, labels in pools(options.pools, options.seed, options.unknown):
        for measure in options.measures:
            row = {"seed": options.seed, "pool": name, "measure": measure}
            if row in rows:
                continue
            if clock.over:
                print(f"Stopped after {options.minutes:g} minutes; the same command goes on.")
                return
            begin = time.process_time()
            figures = np.mean([campaign(pool, labels, measure, k) for k in range(options.campaigns)], axis=0)
            lists = {name: figures[:, k].tolist() for k, name in enumerate(FIGURES)}
            rows.add(row | {"kind": kind, **lists, "seconds": time.process_time() - begin})


if __name__ == "__main__":
    main()
