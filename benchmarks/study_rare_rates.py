"""Do intervals of a rate hold where positives are rare, and scores announce them or say nothing?

    python benchmarks/study_rare_rates.py [--items 20000] [--campaigns 100] [--minutes 15] [--shard 0/1]
        [--rows rare_rates.jsonl]
    ... --report

Pools of one positive in 667, 500 and 400, whose scores are their probabilities of being positive, or those of other
items; campaigns of `Rate` by `variance_reduction` from `simulate`. A row has a pool: how many intervals held, and those
that lean on random items alone, at 100, 200, 400 and 800 labels. Rows are written as soon as they are made, and a run
goes on where one stopped.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from itertools import product
from typing import Any

import numpy as np
from _rows import Clock, Rows, add_row_options, read_rows, sharded

import bayes_assess as ba

BUDGETS = (100, 200, 400, 800)
SHARES = (0.0015, 0.002, 0.0025)
KEY = ("share", "shuffled")


def made(share: float, shuffled: bool, n_items: int) -> tuple[ba.Pool, np.ndarray]:
    """Return a pool with labels, of which this share is positive."""
    rng = np.random.default_rng(round(1e5 * share) + shuffled)
    risk = rng.beta(0.05, 4.0, n_items)
    scores = np.clip(risk * share / risk.mean(), 0.0, 1.0)
    labels = (rng.random(n_items) < scores).astype(int)
    return ba.Pool(scores=rng.permutation(scores) if shuffled else scores), labels


def row(share: float, shuffled: bool, options: argparse.Namespace) -> dict[str, object]:
    """Run the campaigns of a pool."""
    pool, labels = made(share, shuffled, options.items)
    given = {"budgets": BUDGETS, "repeats": options.campaigns, "progress": False}
    study = ba.simulate(pool, labels, ba.Rate(1), designs=["variance_reduction"], **given)
    (name,) = study.intervals
    truth = float(study.truth.item())
    held = {
        kind: ((ends[..., 0] <= truth) & (truth <= ends[..., 1])).sum(0).tolist()
        for kind, ends in (("held", study.intervals[name]), ("held by random items", study.design_intervals[name]))
    }
    return {"share": share, "shuffled": shuffled, "truth": truth, "campaigns": options.campaigns, **held}


def report(rows: Iterable[dict[str, Any]]) -> str:
    """Tabulate shares of campaigns with their standard errors."""
    lines = ["share   scores      held at " + " ".join(f"{n:>12}" for n in BUDGETS) + "   by random items"]
    for one in rows:
        n = one["campaigns"]
        shares = [k / n for k in one["held"]]
        told = " ".join(f"{p:.2f} (se {np.sqrt(p * (1 - p) / n):.2f})" for p in shares)
        design = " ".join(f"{k / n:.2f}" for k in one["held by random items"])
        lines.append(f"{one['share']:.4f}  {'shuffled' if one['shuffled'] else 'calibrated':<10}  {told}   {design}")
    return "\n".join(lines)


def main() -> None:
    """Run or report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--items", type=int, default=20_000)
    parser.add_argument("--campaigns", type=int, default=100)
    add_row_options(parser, "rare_rates.jsonl")
    options = parser.parse_args()
    if options.report:
        print(report(read_rows(options.rows)))
        return
    clock, rows = Clock(options.minutes), Rows(options.rows, KEY)
    for share, shuffled in sharded(product(SHARES, (False, True)), options.shard):
        if clock.over:
            return
        if {"share": share, "shuffled": shuffled} not in rows:
            rows.add(row(share, shuffled, options))


if __name__ == "__main__":
    main()
