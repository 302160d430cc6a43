"""One group that is far worse than all others: whether `LeastAccurate` finds it, and what its interval is worth.

    python benchmarks/study_odd_group.py [--set package] [--campaigns 100] [--minutes 15] [--rows odd_group.jsonl]
    ... --set "as classes" --change alike=2.485,1.3
    ... --report

Pools have 300 items in each of 10 or 40 groups, of which one is right of 0.6 of its items and the others of 0.88.
Labels are asked for by the default design. A row has, for a campaign and every number of labels, whether the group
with the lowest estimate is the odd one, whether the 95 % interval of that one holds, the share of all intervals that
hold, and by how much the estimate of the odd one is off.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
from _rows import Clock, Rows, add_row_options, read_rows
from study_group_prior import using

import bayes_assess as ba

GROUPS, ODD, USUAL, WORST = (10, 40), 3, 0.88, 0.6
LOOKS = (60, 120, 240)
KEY, FIGURES = ("set", "groups", "seed"), ("found", "odd held", "all held", "odd off")


def campaign(n_groups: int, seed: int) -> dict[str, list[float]]:
    """Ask for the worst group of a pool; return the figures at every look."""
    rng = np.random.default_rng([19, n_groups, seed])
    group = rng.integers(n_groups, size=300 * n_groups)
    right = rng.random(len(group)) < np.where(group == ODD, WORST, USUAL)
    predictions = rng.integers(2, size=len(group))
    labels = np.where(right, predictions, 1 - predictions)
    pool = ba.Pool(predictions=predictions, groups={"group": group})
    session = ba.assess(pool, ba.LeastAccurate(by="group"), seed=seed)
    truth, found = np.bincount(group, right) / np.bincount(group), []
    for look in LOOKS:
        ids = session.ask(look - session.labels_used).ids
        session.tell(ids, labels[ids])
        result = session.result()
        held = (result.interval[:, 0] <= truth) & (truth <= result.interval[:, 1])
        off = abs(result.estimate[ODD] - truth[ODD])
        found.append([float(np.argmin(result.estimate) == ODD), float(held[ODD]), float(held.mean()), float(off)])
    return {name: np.round(values, 4).tolist() for name, values in zip(FIGURES, zip(*found, strict=True), strict=True)}


def report(rows: list[dict[str, Any]]) -> str:
    """Say the means of every set."""
    lines = []
    for name, n_groups in dict.fromkeys((row["set"], row["groups"]) for row in rows):
        some = [row for row in rows if (row["set"], row["groups"]) == (name, n_groups)]
        means = {figure: np.mean([row[figure] for row in some], axis=0).round(3).tolist() for figure in FIGURES}
        told = ", ".join(f"{figure} {' '.join(map(str, values))}" for figure, values in means.items())
        lines.append(f"{name}, {n_groups} groups, {len(some)} campaigns: {told}")
    return "\n".join(lines)


def main(arguments: list[str] | None = None) -> None:
    """Run a set, or report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_row_options(parser, "odd_group.jsonl")
    parser.add_argument("--set", default="package", help="what the constants are called")
    parser.add_argument("--change", nargs="*", default=[], metavar="CONSTANT=NUMBERS", help="as of study_group_prior")
    parser.add_argument("--campaigns", type=int, default=100)
    options = parser.parse_args(arguments)
    if options.report:
        print(report(read_rows(options.rows)))
        return
    rows, clock = Rows(options.rows, KEY), Clock(options.minutes)
    with using(options.change):
        for seed in range(options.campaigns):
            for n_groups in GROUPS:
                row = {"set": options.set, "groups": n_groups, "seed": seed}
                if row in rows:
                    continue
                if clock.over:
                    print(f"Stopped after {options.minutes:g} minutes; the same command goes on.")
                    return
                rows.add(row | campaign(n_groups, seed))


if __name__ == "__main__":
    main()
