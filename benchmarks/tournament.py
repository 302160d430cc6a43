"""Designs for measures against each other, on honest pools and on adversarial ones: errors, coverage, widths, time.

    BAYES_ASSESS_POOLS=folder BAYES_ASSESS_ZOO=zoo.py python benchmarks/tournament.py [--minutes 40]
        [--kinds real zoo] [--campaigns 48] [--measures f1 accuracy] [--designs variance_reduction adaptive]
        [--pools abt_buy 20news:0] [--unscored] [--budgets 50 100 250] [--batch 20] [--rows tournament.jsonl]
        [--shard 0/2]
    ... --report [--csv benchmarks/results/tournament.csv]

Pools are of four kinds. "real": the .npz files of the folder with `labels`, and `scores` of all classes or
`probability` and `predictions` of the positive one; of pools with many classes some are taken for the positive one in
turn ("20news:0"). "whole": those pools with all their classes ("20news"), for accuracy, balanced accuracy and MCC.
"zoo": pools of a Python file with ``pools(n, seed)``. "adversarial": some real ones with scores made worse: shuffled,
inverted, constant, coarsened to five values, squashed and stretched; 20 % and 45 % of the positives moved to low
scores; predictions that know nothing. With --unscored pools have predictions alone.

A row has the root of the mean squared error, the share of 95 % intervals that hold the truth and their mean width, of
designs that keep one also of the interval that leans on random items alone (of which all budgets' intervals must hold
it at once), and the seconds. Rows are written as soon as they are made, and a run goes on where one stopped. --report
makes the tables from them: geometric means over pools of the squared error relative to the best of the other designs,
with standard errors over pools. Without a folder and without a generator nothing is run.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from _campaign_rows import FLOOR, campaign_row
from _pool_means import best_rivals, bootstrap, geometric, heading, jackknife, line, with_error
from _pools import adversarial, binaries, folder, wholes, zoo
from _rows import Clock, Rows, add_row_options, by_budget, read_rows, sharded, write_csv

from bayes_assess._tools.compiled_cache import keep_compiled

OURS = "variance_reduction"
DESIGNS = ("passive", "stratified", "importance", "oasis", "adaptive", OURS)
MEASURES = ("f1", "precision", "recall", "accuracy", "balanced_accuracy", "matthews_corrcoef")
OF_ALL_CLASSES = ("accuracy", "balanced_accuracy", "matthews_corrcoef")
BUDGETS = (50, 100, 250, 500, 1000)
KINDS = ("real", "whole", "zoo", "adversarial")
MADE_WORSE = ("abt_buy", "nh_tweets", "20news:0")
KEY = ("pool", "measure", "design", "campaigns", "batch")
COLUMNS = ("pool", "kind", "measure", "design", "labels", "campaigns", "batch", "truth", "rmse", "coverage", "width",
           "score", "design_ok", "design_width", "seconds")  # fmt: skip


def cases(options: argparse.Namespace) -> Iterator[tuple[str, str, Callable[[], tuple[Any, np.ndarray]]]]:
    """Yield the name and the kind of every pool, and a function that makes it with its labels."""
    real = folder()
    kinds = {
        "real": lambda: binaries(real) if real else (),
        "zoo": lambda: zoo(options.zoo, options.seed),
        "adversarial": lambda: (
            worse
            for name, honest in (binaries(real) if real else ())
            if name in options.made_worse
            for worse in adversarial(name, honest)
        ),
    }
    for kind in options.kinds:
        if kind == "whole":
            for name, pool, labels in wholes(real) if real else ():
                yield name, kind, lambda pool=pool, labels=labels: (pool, labels)
        else:
            for name, binary in kinds[kind]():
                if options.unscored:
                    yield f"{name} without scores", kind, lambda binary=binary: (binary.unscored, binary.labels)
                else:
                    yield name, kind, lambda binary=binary: (binary.pool, binary.labels)


def run(options: argparse.Namespace) -> None:
    """Add the rows that are not there yet."""
    rows, clock = Rows(options.rows, KEY), Clock(options.minutes)
    for name, kind, made in sharded(cases(options), options.shard):
        if options.pools and name not in options.pools:
            continue
        pool = None
        for measure in options.measures:
            if kind == "whole" and measure not in OF_ALL_CLASSES:
                continue
            for design in options.designs:
                row = {"pool": name, "kind": kind, "measure": measure, "design": design}
                row |= {"campaigns": options.campaigns, "batch": options.batch}
                if row in rows:
                    continue
                if clock.over:
                    print(f"Stopped after {options.minutes:g} minutes; the same command goes on.")
                    return
                pool, labels = made() if pool is None else (pool, labels)
                found = campaign_row(pool, labels, measure, design, options.budgets, options.campaigns, options.batch)
                rows.add(row | (found or {"budgets": []}))  # of a design that cannot serve the measure without budgets
                if found is not None:
                    print(f"{name}, {measure}, {design}: errors {np.round(found['rmse'], 4)}", flush=True)


def report(rows: list[dict[str, Any]]) -> str:
    """Write squared errors relative to the best other design, and coverage; and the errors of all designs."""
    parts = []
    for measure in [measure for measure in MEASURES if any(row["measure"] == measure for row in rows)]:
        for kind in KINDS:
            found = [row for row in rows if (row["measure"], row["kind"]) == (measure, kind) and row["budgets"]]
            mine = {row["pool"]: row for row in found if row["design"] == OURS}
            if mine:
                parts += [f"## {measure}, {len(mine)} pools, {kind}\n", against_the_best(mine, found)]
                parts += [errors_of_all(mine, found)]
    return "\n".join(parts) if parts else "There are no rows yet."


def against_the_best(mine: dict[str, dict], found: list[dict]) -> str:
    """Write a line per number of labels; pools without rows of another design have no part in ratios."""
    best = best_rivals([row for row in found if row["design"] != OURS])
    head = "labels mse/best-other 9th-decile worst coverage 10th-percentile least-coverage design-ok least-design-ok"
    lines = [heading(head.split())]
    for labels in sorted({budget for row in mine.values() for budget in row["budgets"]}):
        rows = {pool: (row, row["budgets"].index(labels)) for pool, row in mine.items() if labels in row["budgets"]}
        error = {pool: max(row["rmse"][b], FLOOR) for pool, (row, b) in rows.items()}
        ratios = np.array([(error[p] / best[p, labels]) ** 2 for p in error if (p, labels) in best])
        coverage = np.array([row["coverage"][b] for row, b in rows.values()])
        held = np.array([row["design_ok"][b] for row, b in rows.values() if "design_ok" in row])
        cells = [(np.nan, np.nan)] * 3
        if len(ratios):
            tail = bootstrap(partial(np.quantile, q=0.9), ratios)
            cells = [jackknife(geometric, ratios), tail, (ratios.max(), np.nan)]
        cells += [jackknife(np.mean, coverage), bootstrap(partial(np.quantile, q=0.1), coverage)]
        cells += [(coverage.min(), np.nan), jackknife(np.mean, held), (held.min() if len(held) else np.nan, np.nan)]
        lines.append(line([str(labels), *(with_error(*cell) for cell in cells)]))
    return "\n".join(lines) + "\n"


def errors_of_all(mine: dict[str, dict], found: list[dict]) -> str:
    """Write the geometric mean error and the mean coverage of every design, on pools that all designs have."""
    by_design: dict[str, dict[str, dict]] = {}
    for row in found:
        by_design.setdefault(row["design"], {})[row["pool"]] = row
    shared = sorted(set.intersection(*(set(pools) for pools in by_design.values())))
    budgets = sorted({budget for pool in shared for budget in mine[pool]["budgets"]}) if shared else []
    lines = (
        [heading(["design", *(name for b in budgets for name in (f"error at {b:,}", "coverage"))])] if budgets else []
    )
    for design, pools in by_design.items() if budgets else ():
        cells = []
        for labels in budgets:
            at = [(pools[p], pools[p]["budgets"].index(labels)) for p in shared if labels in pools[p]["budgets"]]
            errors = np.array([max(row["rmse"][b], FLOOR) for row, b in at])
            cells += [with_error(*jackknife(geometric, errors))]
            cells += [with_error(*jackknife(np.mean, np.array([row["coverage"][b] for row, b in at])))]
        lines.append(line([design, *cells]))
    return "\n".join(lines) + ("\n" if lines else "")


def main(arguments: list[str] | None = None) -> None:
    """Run the tournament, or report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_row_options(parser, "tournament.jsonl")
    parser.add_argument("--csv", help="where --report writes all rows, a line per budget")
    parser.add_argument("--kinds", nargs="*", default=KINDS, choices=KINDS)
    parser.add_argument("--campaigns", type=int, default=48)
    parser.add_argument("--measures", nargs="*", default=MEASURES)
    parser.add_argument("--designs", nargs="*", default=DESIGNS)
    parser.add_argument("--pools", nargs="*", help="only those of these names")
    parser.add_argument("--budgets", nargs="*", type=int, default=list(BUDGETS))
    parser.add_argument("--batch", type=int, default=1)
    parser.add_argument("--zoo", type=int, default=40, help="pools of the generator")
    parser.add_argument("--unscored", action="store_true", help="leave the scores out")
    parser.add_argument("--seed", type=int, default=1, help="of the generator")
    parser.add_argument("--made-worse", nargs="*", default=MADE_WORSE, help="real pools that are made adversarial")
    options = parser.parse_args(arguments)
    if options.report:
        rows = read_rows(options.rows)
        print(report(rows))
        if options.csv:
            Path(options.csv).parent.mkdir(parents=True, exist_ok=True)
            write_csv(by_budget(rows), options.csv, COLUMNS)
        return
    if next(cases(options), None) is None:
        sys.exit("Set BAYES_ASSESS_POOLS to a folder of pools or BAYES_ASSESS_ZOO to a generator; nothing was run.")
    keep_compiled()
    run(options)


if __name__ == "__main__":
    main()
