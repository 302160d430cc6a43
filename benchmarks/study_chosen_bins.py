"""Which bins of the confidence should labels go to, for calibration errors by the learned prior?

    python benchmarks/study_chosen_bins.py [--by site] [--pools 30] [--seed 4] [--minutes 15] [--rows chosen_bins.jsonl]
    ... --report

Pools are of classifiers that scikit-learn fitted (`_fitted_worlds.py`) and, in the place of every second one if all
items are asked for together, those of `_confidence_pools.py`. `Calibration` with ten bins is asked ten labels at a
time, two campaigns a pool, by the package's design, by one that reduces the variances of the bins' accuracies as [ABA]
has it ("accuracies"), and at random. A row has, at 30, 100 and 300 labels, means over groups and campaigns: how often
95 % intervals of calibration errors hold, their width, interval score and squared error, and, in the mean over items,
the squared error and the interval score of the bins' accuracies. --report compares sets on the pools that all have.
"""

from __future__ import annotations

import argparse
from contextlib import nullcontext
from typing import Any
from unittest import mock

import numpy as np
from _campaign_rows import scored
from _confidence_pools import pools as made
from _fitted_worlds import fitted_pool
from _rows import Rows, add_row_options, read_rows, sharded, without_row

import bayes_assess as ba
from bayes_assess.acquisition.rewards import AccuracyVarianceReduction

LOOKS, BATCH, CAMPAIGNS = (30, 100, 300), 10, 2
SETS, KEY = ("package", "accuracies", "random"), ("by", "seed", "pool", "set")
FIGURES = ("held", "width", "interval score", "RMSE", "RMSE of bins", "interval score of bins")


def pool_of(by: str | None, seed: int, number: int) -> tuple[ba.Pool, np.ndarray]:
    """Return a pool and its labels."""
    if by is None and number % 2:
        ((_, pool, labels, _),) = list(made(number // 2 + 1, seed))[-1:]
        return pool, labels
    return fitted_pool(np.random.default_rng([seed, number]), most_classes=6)


def campaign(pool: ba.Pool, labels: np.ndarray, by: str | None, design: str, seed: int) -> list[list[float]]:
    """Ask for labels, and return the figures of every look."""
    question = ba.Calibration(bins=10, by=by)
    session, found = ba.assess(pool, question, seed=seed, design=design), []
    truth = np.atleast_1d(question.truth(pool, labels))
    share = session.cells.weights
    accuracy = session.cells.mean((labels == pool.predictions).astype(float))
    for look in LOOKS:
        while session.labels_used < look and session.n_remaining:
            ids = session.ask(min(BATCH, session.n_remaining)).ids
            session.tell(ids, labels[ids])
        result = session.result()
        held, width, score = scored(*np.reshape(result.interval, (-1, 2)).T, truth)
        bins = scored(*np.reshape(result.accuracy_interval, (-1, 2)).T, accuracy)[2]
        error, of_bins = np.atleast_1d(result.estimate) - truth, np.ravel(result.accuracy) - accuracy
        means = [held.mean(), width.mean(), score.mean(), (error**2).mean(), share @ of_bins**2, share @ bins]
        found.append([round(float(x), 6) for x in means])
    return found


def report(rows: list[dict[str, Any]]) -> str:
    """Write a table of means, and of mean ratios of widths to those of the first set."""
    lines = [
        "| by | labels go | pools | " + " | ".join((*FIGURES, "width over the package's")) + " |",
        "|---" * 10 + "|",
    ]
    for by in dict.fromkeys(row["by"] for row in rows):
        sets = {name: {} for name in SETS}
        for row in rows:
            if row["by"] == by:
                sets[row["set"]][row["seed"], row["pool"]] = np.array(row["found"])
        common = sorted(set.intersection(*(set(each) for each in sets.values())))
        base = np.array([sets[SETS[0]][key] for key in common])
        for name in SETS if common else ():
            found = np.array([sets[name][key] for key in common])
            apart = np.log(found[:, :, 1] / base[:, :, 1])
            ratio, error = np.exp(apart.mean(0)), apart.std(0) / np.sqrt(len(common))
            means = found.mean(0)
            means[:, [3, 4]] **= 0.5
            cells = [" ".join(f"{value:.3f}" for value in means[:, k]) for k in range(len(FIGURES))]
            last = " ".join(f"{one:.2f} ({se:.2f})" for one, se in zip(ratio, error, strict=True))
            lines.append(f"| {by or 'all items'} | {name} | {len(common)} | {' | '.join([*cells, last])} |")
    return "\n".join(lines)


def main(arguments: list[str] | None = None) -> None:
    """Run all sets, or report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_row_options(parser, "chosen_bins.jsonl")
    parser.add_argument("--by", choices=["site"])
    parser.add_argument("--pools", type=int, default=30)
    parser.add_argument("--seed", type=int, default=4)
    options = parser.parse_args(arguments)
    if options.report:
        print(report(read_rows(options.rows)))
        return
    rows = Rows(options.rows, KEY)
    wanted = (
        ({"by": options.by, "seed": options.seed, "pool": number, "set": name}, None)
        for number in range(options.pools)
        for name in SETS
    )
    as_aba = mock.patch.object(ba.Calibration, "reward", return_value=AccuracyVarianceReduction())
    for row, _ in without_row(sharded(wanted, options.shard), rows, options.minutes):
        pool, labels = pool_of(options.by, options.seed, row["pool"])
        design = "random" if row["set"] == "random" else "thompson"
        with as_aba if row["set"] == "accuracies" else nullcontext():
            found = [campaign(pool, labels, options.by, design, seed) for seed in range(CAMPAIGNS)]
        rows.add(row | {"found": np.mean(found, axis=0).round(6).tolist()})


if __name__ == "__main__":
    main()
