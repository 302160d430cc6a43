"""Whole batches by the scores and by a calibration curve: errors and coverage of F1 in one round, and in three.

    BAYES_ASSESS_POOLS=folder python benchmarks/study_batches.py [--pools abt_buy cifar10:3] [--campaigns 100]
        [--measure f1] [--out batches.md]

The folder holds pools as `benchmarks/_pools.py` reads them; "cifar10:3 squashed" is a pool whose scores it makes
worse. Five pools take a quarter of an hour on two cores. A row has the root of the mean squared error with its standard
error, and the share of 95 % intervals that hold the truth.

RMSE and coverage of F1 in 100 campaigns each, by the scores (lam = 0.9) and by the curve:

    pool                positives           one round of 250           three rounds of 100
    cifar10:3           1,000 of 10,000     .034 1.00   .030 1.00      .026 1.00   .025  .98
    cifar10:3 squashed  1,000 of 10,000     .032 1.00   .028 1.00      .029 1.00   .027 1.00
    abt_buy             50 of 53,753        .341  .99   .117  .99      .328  .96   .121  .96
    amzn_goog           200 of 676,267      .440  .85   .159 1.00      .445  .91   .167  .97
    dblp_acm            20 of 53,946        .000 1.00   .015 1.00      .003 1.00   .026 1.00

Scores of abt_buy and amzn_goog expect a positive in seven to ten
items, where there is one in a thousand or fewer. Those of dblp_acm, which expect 70 times too many, lead by luck to all
items that are predicted positive, and these predictions miss no positive; the curve keeps looking for some that they
may. Where scores are honest, or squashed, both are about alike.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from _pools import Binary, adversarial, binaries

import bayes_assess as ba
from bayes_assess.designs import Poisson

POOLS = ("cifar10:3", "cifar10:3 squashed", "abt_buy", "amzn_goog", "dblp_acm")
PLANS = {"one round of 250": (250, 1), "three rounds of 100": (100, 3)}  # labels of a round, rounds
DESIGNS = {"scores": Poisson(), "curve": Poisson(labels="curve")}
HEADER = """| pool | positives | rounds | labels by | RMSE | coverage |
| --- | ---: | --- | --- | ---: | ---: |"""


def pools(folder: Path, wanted: list[str]) -> Iterator[tuple[str, Binary]]:
    """Yield the wanted pools that there are."""
    for name, pool in binaries(folder):
        if name in wanted:
            yield name, pool
        if any(one.startswith(f"{name} ") for one in wanted):
            yield from ((worse, made) for worse, made in adversarial(name, pool) if worse in wanted)


def rows(name: str, items: Binary, measure: str, campaigns: int) -> Iterator[str]:
    """Run both designs in both plans on one pool."""
    for plan, (n, rounds) in PLANS.items():
        for labels, design in DESIGNS.items():
            study = ba.simulate(
                items.pool, items.labels, ba.Metric(measure), designs={labels: design}, budgets=[n * rounds],
                repeats=campaigns, batch=n, seed=1,
            )  # fmt: skip
            squares = ((study.estimates[labels] - study.truth) ** 2)[:, 0]
            rmse = np.sqrt(squares.mean())
            error = squares.std(ddof=1) / np.sqrt(campaigns) / max(2 * rmse, 1e-300)
            held = study.coverage[labels][0]
            positives = f"{items.labels.sum():,} of {len(items.labels):,}"
            yield f"| {name} | {positives} | {plan} | {labels} | {rmse:.3f} ± {error:.3f} | {held:.2f} |"


def main() -> int:
    """Write the table."""
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("--pools", nargs="+", default=list(POOLS))
    parser.add_argument("--campaigns", type=int, default=100, help="per design and plan")
    parser.add_argument("--measure", default="f1")
    parser.add_argument("--out", type=Path, help="Markdown file to write, too")
    options = parser.parse_args()
    folder = os.environ.get("BAYES_ASSESS_POOLS")
    if not folder:
        print("Set BAYES_ASSESS_POOLS to the folder of the labelled pools.")
        return 1
    lines = [HEADER]
    print(HEADER)
    for name, pool in pools(Path(folder), options.pools):
        for line in rows(name, pool, options.measure, options.campaigns):
            print(line, flush=True)
            lines.append(line)
    if options.out is not None:
        options.out.write_text("\n".join(lines) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
