"""How wide is the interval that leans on no belief, and what do its random items cost the estimate?

    BAYES_ASSESS_POOLS=folder python benchmarks/study_design_interval.py --out rows.csv [--campaigns 24]
        [--pools abt_buy cifar10:3] [--audits uniform followed] [--minutes 30]

Campaigns of `variance_reduction` on F1. The audit `uniform` draws one item in twenty, all alike, as it once was the
default; `followed` is the default of today, which draws more of them, where a label is expected to tell most (see
`designs._audit.audit_plan`). A row has the mean ends and the mean width of the design interval, the share of campaigns
whose design intervals held the truth at all budgets so far, and the root of the mean squared error of the estimate.
Rows that the file holds are not computed anew. Below, geometric means over pools, `followed` relative to `uniform`.
"""

from __future__ import annotations

import argparse
import csv
import os
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import jax.numpy as jnp
import numpy as np
from tournament import Binary, binaries

import bayes_assess as ba
from bayes_assess.designs import VarianceReduction

BUDGETS = [50, 100, 250, 500]
COLUMNS = ["pool", "audit", "campaigns", "labels", "truth", "low", "high", "width", "held", "rmse"]
_FLOOR = 2e-3  # of a root mean squared error, in ratios: errors below do not matter


@dataclass(frozen=True)
class Uniform(VarianceReduction):
    """One item in twenty is random, and all are alike."""

    def random_items(self, state):
        """Return the share of random items, and that all are drawn as often."""
        return self.audit, jnp.zeros_like(state.remaining)


AUDITS = {"uniform": Uniform(), "followed": VarianceReduction()}


def rows_of(name: str, binary: Binary, audit: str, campaigns: int) -> list[dict]:
    """Run campaigns on one pool."""
    study = ba.simulate(
        binary.pool, binary.labels, ba.Metric("f1"), designs={audit: AUDITS[audit]}, budgets=BUDGETS,
        repeats=campaigns, seed=1,
    )  # fmt: skip
    truth, ends = float(study.truth), study.design_intervals[audit]
    held = (ends[..., 0] <= truth + 1e-12) & (truth <= ends[..., 1] + 1e-12)
    rmse = np.sqrt(((study.estimates[audit] - truth) ** 2).mean(0))
    return [
        dict(zip(COLUMNS, (name, audit, campaigns, budget, truth, *ends[:, b].mean(0),
                           np.diff(ends[:, b]).mean(), held[:, : b + 1].all(1).mean(), rmse[b]), strict=True))
        for b, budget in enumerate(BUDGETS)
    ]  # fmt: skip


def compared(rows: list[dict]) -> None:
    """Print geometric means of ratios over the pools that both audits have."""
    print("\nlabels,pools,width_ratio,rmse_ratio,held_least")
    for budget in BUDGETS:
        of = {(row["pool"], row["audit"]): row for row in rows if int(row["labels"]) == budget}
        both = [pool for pool, audit in of if audit == "followed" and (pool, "uniform") in of]
        if both:
            found = {
                (key, audit): np.maximum([float(of[pool, audit][key]) for pool in both], floor)
                for key, floor in (("width", 1e-9), ("rmse", _FLOOR))
                for audit in AUDITS
            }
            width, rmse = (found[key, "followed"] / found[key, "uniform"] for key in ("width", "rmse"))
            held = min(float(of[pool, "followed"]["held"]) for pool in both)
            print(
                f"{budget},{len(both)},{np.exp(np.log(width).mean()):.3f},{np.exp(np.log(rmse).mean()):.3f},{held:.3f}"
            )


def main() -> None:
    """Run what is missing in the file, as long as time is left."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--campaigns", type=int, default=24)
    parser.add_argument("--pools", nargs="*")
    parser.add_argument("--audits", nargs="*", default=list(AUDITS), choices=list(AUDITS))
    parser.add_argument("--minutes", type=float, default=np.inf)
    options = parser.parse_args()
    folder, begin = os.environ.get("BAYES_ASSESS_POOLS"), time.monotonic()
    if not folder:
        sys.exit("Set BAYES_ASSESS_POOLS to a folder of pools; nothing was run.")
    rows = list(csv.DictReader(options.out.open())) if options.out.exists() else []
    pools = dict(binaries(Path(folder)))
    for name in options.pools or pools:
        for audit in options.audits:
            if any((row["pool"], row["audit"]) == (name, audit) for row in rows):
                continue
            if time.monotonic() - begin > 60 * options.minutes:
                sys.exit("Time is over; call it again for the rest.")
            rows += rows_of(name, pools[name], audit, options.campaigns)
            with options.out.open("w", newline="") as file:
                writer = csv.DictWriter(file, COLUMNS)
                writer.writeheader()
                writer.writerows(rows)
    print(",".join(COLUMNS))
    for row in rows:
        print(",".join(f"{x:.4g}" if isinstance(x, float) else str(x) for x in row.values()))
    compared(rows)


if __name__ == "__main__":
    main()
