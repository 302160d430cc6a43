"""Do intervals of errors of numbers by group hold, and what do variances that groups share make of them?

    python benchmarks/study_number_groups.py [--pools 60] [--minutes 15] [--shared 4 8 16] [--shard 0/1]
        [--rows number_groups.jsonl]
    ... --report

Pools of four sites, of a half to a tenth of 600 items, have errors of normal or long tails, told by the scores or not
(`_audit_worlds`), or tails that differ between sites; mean absolute and root mean squared errors of every site are
asked for with 30 and 120 labels. A row has a pool and a design: how many intervals held, their mean width, and their
mean interval score over the truth (Gneiting and Raftery 2007), at both looks, of variances and degrees of freedom of
all labels ("whole"), of those by group with eight observations that all groups share ("labels alone"), and of these and
expected variances with so many that groups share (`weighted_numbers._SHARED`). Rows are written as soon as they are
made, and a run goes on where one stopped.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator
from itertools import product
from typing import Any

import numpy as np
from _audit_worlds import SHARES, World
from _audit_worlds import made as audit_world
from _rows import Clock, Rows, add_row_options, read_rows, sharded

import bayes_assess as ba
from bayes_assess.estimators import weighted_numbers

LOOKS = (30, 120)
WORLDS = ("told errors", "untold errors", "long tails", "unlike tails")
DESIGNS = ("passive", "stratified", "poisson")
KEY = ("world", "design", "pool")
MISS = 2 / (1 - 0.95)  # what an interval's score adds for every unit that the truth lies outside


def made(world: str, seed: int) -> World:
    """Make a pool with labels."""
    if world != "unlike tails":
        return audit_world(world, seed)
    rng = np.random.default_rng([41, seed])
    site, predicted = rng.choice(4, 600, p=SHARES), rng.uniform(20, 80, 600)
    tail = rng.permutation([0.1, 0.5, 1.0, 1.6])[site]  # standard deviations of the logarithm of an error
    error = rng.choice([-1, 1], 600) * np.exp(rng.normal(0, tail) + rng.normal(0, 0.5, 4)[site])
    pool = ba.Pool(predictions=predicted, bounds=(-np.inf, np.inf), groups={"site": site})
    return World(pool, predicted + error, np.empty((0, 0)))


def answers(session: Any, shared: Iterable[float]) -> Iterator[tuple[str, np.ndarray]]:
    """Yield intervals as they were, of labels alone, and with so many shared observations."""
    evidence = session.result().evidence
    alone = evidence.answer._replace(expected_variance=None)
    yield "whole", weighted_numbers.numbers_interval(alone._replace(by_group=None), evidence.question.spec.ranges)
    yield "labels alone", weighted_numbers.numbers_interval(alone, evidence.question.spec.ranges)
    kept = weighted_numbers._SHARED
    for n in shared:
        weighted_numbers._SHARED = n
        yield f"{n:g}", weighted_numbers.numbers_interval(evidence.answer, evidence.question.spec.ranges)
    weighted_numbers._SHARED = kept


def row(world: str, design: str, seed: int, shared: list[float]) -> dict[str, object]:
    """Run a campaign."""
    one, asked = made(world, seed), ba.Metric(["mae", "rmse"], by="site")
    truth, session = asked.truth(one.pool, one.labels), ba.assess(one.pool, asked, design=design, seed=seed)
    found: dict[str, dict[str, list[float]]] = {}
    for look in LOOKS:
        ids = session.ask(look - session.labels_used).ids
        session.tell(ids, one.labels[ids])
        for name, ends in answers(session, shared):
            low, high = ends.T
            width = high - low
            score = (width + MISS * (np.maximum(low - truth, 0) + np.maximum(truth - high, 0))) / truth
            held = ((low <= truth * (1 + 1e-12)) & (truth <= high * (1 + 1e-12))).mean()
            known = np.isfinite(width)
            means = held, (width / truth)[known].mean(), score[known].mean()
            for column, mean in zip(("held", "width", "score"), means, strict=True):
                found.setdefault(name, {}).setdefault(column, []).append(round(float(mean), 5))
    return {"world": world, "design": design, "pool": seed, "found": found}


def report(rows: list[dict[str, Any]]) -> str:
    """Tabulate coverage, width and score, and the mean difference of scores to those as they were, with its error."""
    lines = []
    for world, design in sorted({(one["world"], one["design"]) for one in rows}):
        own = [one["found"] for one in rows if (one["world"], one["design"]) == (world, design)]
        for name in own[0]:
            held, width, score = (np.array([f[name][c] for f in own]) for c in ("held", "width", "score"))
            more = score - np.array([f["whole"]["score"] for f in own])
            error = more.std(0) / np.sqrt(len(own))
            looks = " | ".join(
                f"held {held[:, i].mean():.3f}, width {width[:, i].mean():.2f}, score {score[:, i].mean():.2f} "
                f"({more[:, i].mean():+.2f} +- {error[i]:.2f})"
                for i in range(len(LOOKS))
            )
            lines.append(f"{world}, {design}, {name:>12}, {len(own)} pools: {looks}")
    return "\n".join(lines)


def main(arguments: list[str] | None = None) -> None:
    """Run campaigns, or report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_row_options(parser, "number_groups.jsonl")
    parser.add_argument("--pools", type=int, default=60)
    parser.add_argument("--shared", type=float, nargs="*", default=[4, 8, 16])
    options = parser.parse_args(arguments)
    if options.report:
        print(report(read_rows(options.rows)))
        return
    rows, clock = Rows(options.rows, KEY), Clock(options.minutes)
    for seed, world, design in sharded(list(product(range(options.pools), WORLDS, DESIGNS)), options.shard):
        if {"world": world, "design": design, "pool": seed} in rows:
            continue
        if clock.over:
            print(f"Stopped after {options.minutes:g} minutes; the same command goes on.")
            return
        rows.add(row(world, design, seed, options.shared))


if __name__ == "__main__":
    main()
