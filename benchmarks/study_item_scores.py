"""Brier scores and log losses, of which what an item loses depends on its score: does the default design serve them?

    python benchmarks/study_item_scores.py [--pools 60] [--seed 6] [--minutes 15] [--rows item_scores.jsonl]
    BAYES_ASSESS_ZOO=zoo.py python benchmarks/study_item_scores.py --zoo [--seed 6]
    ... --report

Pools are those of `fitted_pools.py` or, with --zoo, those of a generator whose scores are probabilities; at most 3,000
items of each. Every design asks for labels ten at a time, one campaign a pool, and its 95 % interval is looked at after
20, 60 and 200. Squared errors, widths and interval scores are of the truth of each pool. --report writes how often
intervals hold, and geometric means over pools.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from functools import lru_cache
from itertools import islice
from typing import Any

import numpy as np
from _pools import zoo
from _rows import Rows, add_row_options, read_rows, sharded, without_row
from fitted_pools import fitted

import bayes_assess as ba

LOOKS, BATCH, MOST = (20, 60, 200), 10, 3_000
MISS = 2 / (1 - 0.95)
MEASURES, DESIGNS = ("brier_score_loss", "log_loss"), ("variance_reduction", "adaptive", "importance")
KEY = ("kind", "seed", "pool", "measure", "design")
LEAST, LEAST_ERROR = 1e-3, 1e-3  # of the truth that figures are of, and of such figures, for geometric means


@lru_cache(1)
def made(kind: str, seed: int, number: int) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
    """Return scores, predictions and labels of some items of a pool; None if scores are no probabilities."""
    rng = np.random.default_rng([seed, number])
    if kind == "zoo":
        (_, found), *_ = islice(zoo(number + 1, seed), number, None)
        parts = found.score, found.predictions, found.labels
    else:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of fits that have not converged
            parts = fitted(number, rng)[:3]
    score, predictions, labels = (np.asarray(part) for part in parts)
    some = rng.permutation(len(labels))[:MOST]
    score, predictions, labels = score[some].astype(float), predictions[some].astype(int), labels[some].astype(int)
    usable = score.min() >= 0 and score.max() <= 1 and labels.any()
    return (score, predictions, labels) if usable else None


def campaign(pool: ba.Pool, labels: np.ndarray, measure: str, design: str, seed: int) -> dict[str, Any]:
    """Ask for labels, and say what every look found."""
    question = ba.Metric(measure, positive=1)
    session, found = ba.assess(pool, question, seed=seed, design=design), []
    for look in LOOKS:
        while session.labels_used < look and session.n_remaining >= BATCH:
            ids = session.ask(BATCH).ids
            session.tell(ids, labels[ids])
        result = session.result()
        found.append([round(float(x), 6) for x in (result.estimate, *result.interval)])
    return {"truth": round(float(question.truth(pool, labels)), 6), "found": found}


def report(rows: list[dict[str, Any]]) -> str:
    """Write a table of shares and geometric means by kind of pool, measure and design."""
    lines = [
        "| kind | measure | design | pools | 95 % intervals held | error | width | interval score |",
        "|" + "---|" * 8,
    ]
    for kind in dict.fromkeys(row["kind"] for row in rows):
        for measure in MEASURES:
            some = [row for row in rows if (row["kind"], row["measure"]) == (kind, measure)]
            of_pool = {design: {row["pool"]: row for row in some if row["design"] == design} for design in DESIGNS}
            common = sorted(set.intersection(*(set(each) for each in of_pool.values())))
            for design in DESIGNS if common else ():
                cells = _figures([of_pool[design][number] for number in common])
                lines.append(f"| {kind} | {measure} | {design} | {len(common)} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _figures(rows: list[dict[str, Any]]) -> list[str]:
    truth = np.array([row["truth"] for row in rows])[:, None]
    size = np.maximum(truth, LEAST)
    estimate, low, high = np.moveaxis(np.array([row["found"] for row in rows]), -1, 0)
    outside = np.maximum(np.maximum(low - truth, truth - high), 0)
    held = (outside <= 1e-6).mean(0)
    relative = [np.abs(estimate - truth) / size + LEAST_ERROR]
    relative += [(high - low + missed) / size + LEAST_ERROR for missed in (0, MISS * outside)]
    means = [np.exp(np.log(part).mean(0)) for part in relative]
    return [" ".join(f"{value:.2f}" for value in part) for part in (held, *means)]


def main(arguments: list[str] | None = None) -> None:
    """Run a set, or report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_row_options(parser, "item_scores.jsonl")
    parser.add_argument("--pools", type=int, default=60)
    parser.add_argument("--seed", type=int, default=6)
    parser.add_argument("--zoo", action="store_true")
    options = parser.parse_args(arguments)
    if options.report:
        print(report(read_rows(options.rows)))
        return
    kind = "zoo" if options.zoo else "fitted"
    if options.zoo and not list(zoo(1, options.seed)):
        sys.exit("Set BAYES_ASSESS_ZOO to a generator of pools; nothing was run.")
    rows = Rows(options.rows, KEY)
    wanted = (
        ({"kind": kind, "seed": options.seed, "pool": number, "measure": measure, "design": design}, None)
        for number in range(options.pools)
        for measure in MEASURES
        for design in DESIGNS
    )
    for row, _ in without_row(sharded(wanted, options.shard), rows, options.minutes):
        parts = made(kind, options.seed, row["pool"])
        if parts is not None:
            score, predictions, labels = parts
            pool = ba.Pool(scores=score, predictions=predictions, classes=[0, 1])
            rows.add(row | campaign(pool, labels, row["measure"], row["design"], row["pool"]))


if __name__ == "__main__":
    main()
