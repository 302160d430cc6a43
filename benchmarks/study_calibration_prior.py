"""Constants of the learned prior of calibration, by a proper score on a population of pools unlike one another.

    BAYES_ASSESS_POOLS=folder python benchmarks/study_calibration_prior.py [--set package] [--pools 40] [--seed 1]
        [--campaigns 2] [--minutes 15] [--rows benchmarks/results/calibration_prior.jsonl]
    ... --set "nearer the diagonal" --change departures=2,1,0.3,0.1,0.03 unscored=0.0002
    ... --report

Pools are those of `_confidence_pools.py` (confidences that are probabilities, over- or under-confident, shifted,
saturated, ranks, margins; a tenth of the surest items may be wrong, or labels) and, where the folder is given, four
real ones with confidences as they are, over- and under-confident. Random labels, looked at with 30, 100 and 300. A row
has, for a pool and every number of labels, means over campaigns: how often 95 % intervals of the ten bins' accuracies
(bins and what follows by their shares of the items) and that of the calibration error hold, their width and their
interval score, and the error of `plug_in`. --change replaces constants of the model. --report compares sets with the
first one on the pools that both have, with standard errors over pools.

What chose them, 52 pools of seed 1 (interval scores of bins and of the calibration error at 30 labels; both are alike
at 100 and 300), where the 80 made pools of seeds 2 and 3 had no part in it:

| departures | least doubt in a confidence of 1 | score of bins | held | score of the error | held |
|---|--:|--:|--:|--:|--:|
| 2, 1, 0.3, 0.1, 0.03 | 0.0001 | 0.280 | 0.86 | 0.218 | 0.90 |
| 2, 1, 0.3, 0.1, 0.03 | 0.01 | 0.234 | 0.90 | 0.173 | 0.92 |
| 2, 1, 0.3 | 0.0001 | 0.242 | 0.92 | 0.183 | 0.93 |
| **2, 1, 0.3** | **0.01** | 0.199 | 0.95 | 0.148 | 0.96 |
| 2, 1, 0.3 | 0.02 | 0.201 | 0.95 | 0.150 | 0.96 |
| 2, 1 | 0.01 | 0.219 | 0.93 | 0.171 | 0.93 |
| seeds 2 and 3: 2, 1, 0.3, 0.1, 0.03 | 0.0001 | 0.308 | 0.84 | 0.228 | 0.88 |
| seeds 2 and 3: 2, 1, 0.3 | 0.01 | 0.214 | 0.95 | 0.151 | 0.97 |
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
from _campaign_rows import scored
from _confidence_pools import pools as made
from _rows import Rows, add_row_options, read_rows, without_row
from study_calibration import SCORES
from study_priors import changed

import bayes_assess as ba
from bayes_assess.models import _mean_scores
from bayes_assess.models._numerics import calibration_points
from bayes_assess.pool.cells import label_counts

LOOKS, LEVEL, KEY = (30, 100, 300), 0.95, ("set", "seed", "pool")
REAL = ("cifar10", "cifar10_vgg", "20news", "mnist")


def pools(n: int, seed: int) -> Iterator[tuple[str, str, ba.Pool, np.ndarray]]:
    """Yield names, kinds of confidence, pools and labels."""
    for name, pool, labels, facts in made(n, seed):
        yield name, facts["kind"], pool, labels
    folder = os.environ.get("BAYES_ASSESS_POOLS")
    if folder is None:
        return
    for name in REAL:
        data = np.load(Path(folder) / f"{name}.npz")
        predictions, classes = data["scores"].argmax(1), list(range(data["scores"].shape[1]))
        for how in SCORES:
            confidence = changed(data["scores"], how)[np.arange(len(predictions)), predictions]
            pool = ba.Pool(predictions=predictions, confidence=confidence, classes=classes)
            yield f"{name}, {how}", f"real, {how}", pool, data["labels"]


@contextmanager
def using(changes: list[str]) -> Iterator[None]:
    """Replace constants: departures=2,1,0.3 or unscored=0.02."""
    given = dict(change.split("=") for change in changes)
    departures = given.pop("departures", None)
    unscored = float(given.pop("unscored", _mean_scores._UNSCORED))
    if given:
        raise SystemExit(f"There are departures and unscored to change; found {', '.join(given)}.")
    sizes = calibration_points.DEPARTURES if departures is None else tuple(map(float, departures.split(",")))
    with (
        mock.patch.object(_mean_scores, "_UNSCORED", unscored),
        mock.patch.object(calibration_points, "DEPARTURES", sizes),
        mock.patch("bayes_assess.models.hierarchical_calibration.DEPARTURES", sizes),
    ):
        yield


def campaign(pool: ba.Pool, labels: np.ndarray, order: np.ndarray) -> list[list[float]]:
    """Label items in this order; return a list of figures for every look."""
    question = ba.Calibration()
    setting = question.setting(pool, 0)
    cells, prior = setting.cells, question.prior(pool, setting.cells, None, None)
    right = (labels == pool.predictions).astype(int)
    full = label_counts(cells, right, 2)
    accuracy, share = full[:, 1] / np.maximum(full.sum(1), 1), cells.sizes / cells.n_items
    error, found, seen = question.truth_of_counts(cells, full), [], np.zeros_like(full)
    cell, start = cells.source.cells_of(order), 0
    for look in LOOKS:
        np.add.at(seen, (cell[start:look], right[order[start:look]]), 1)
        start = look
        bins = question.accuracy_interval(cells, question.posterior(cells, prior, seen), seen, LEVEL)
        whole = np.ravel(question.interval(cells, prior, seen, LEVEL))
        of_bins = (float(figure @ share) for figure in scored(bins[:, 0], bins[:, 1], accuracy))
        of_error = (float(figure) for figure in scored(whole[0], whole[1], np.asarray(error)))
        found.append([*of_bins, *of_error, abs(float(question.plug_in(cells, prior, seen)) - float(error))])
    return found


FIGURES = ("bins_held", "bins_width", "bins_score", "held", "width", "score", "plug_in_error")


def report(rows: list[dict[str, Any]]) -> str:
    """Compare sets with the first one, seed by seed."""
    sets: dict[tuple[int, str], dict[str, dict[str, Any]]] = {}
    for row in rows:
        sets.setdefault((row["seed"], row["set"]), {})[row["pool"]] = row
    lines = [
        "| seed | set | labels | bins held | width | score | ratio | error held | width | score | ratio | plug-in |",
        "|--:|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|",
    ]
    for (seed, name), held in sorted(sets.items(), key=lambda one: one[0][0]):
        first = next(one for (other, _), one in sets.items() if other == seed)
        both = sorted(set(held) & set(first))
        for i, look in enumerate(LOOKS):
            cells = []
            for prefix in ("bins_", ""):
                share, width, score, before = (
                    np.array([one[pool][prefix + figure][i] for pool in both])
                    for one, figure in ((held, "held"), (held, "width"), (held, "score"), (first, "score"))
                )
                ratio, more = np.exp(np.log(score / before).mean()), score - before
                cells.append(
                    f"{share.mean():.3f} ({share.std() / np.sqrt(len(both)):.3f}) | {width.mean():.3f} | "
                    f"{score.mean():.3f} ({more.mean():+.3f} ± {more.std() / np.sqrt(len(both)):.3f}) | {ratio:.2f}"
                )
            plug_in = np.sqrt(np.mean([np.square(held[pool]["plug_in_error"][i]) for pool in both]))
            lines.append(f"| {seed} | {name} ({len(both)}) | {look} | {' | '.join(cells)} | {plug_in:.4f} |")
    return "\n".join(lines)


def main(arguments: list[str] | None = None) -> None:
    """Run a set, or report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_row_options(parser, "calibration_prior.jsonl")
    parser.add_argument("--set", default="package", help="what the constants are called")
    parser.add_argument("--change", nargs="*", default=[], metavar="CONSTANT=NUMBERS")
    parser.add_argument("--pools", type=int, default=40)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--campaigns", type=int, default=2)
    options = parser.parse_args(arguments)
    if options.report:
        print(report(read_rows(options.rows)))
        return
    rows, key = Rows(options.rows, KEY), {"set": options.set, "seed": options.seed}
    population = ((key | {"pool": name}, of) for name, *of in pools(options.pools, options.seed))
    with using(options.change):
        for row, (kind, pool, labels) in without_row(population, rows, options.minutes):
            begin, rng = time.process_time(), np.random.default_rng([19, pool.n_items])
            orders = (rng.permutation(pool.n_items)[: LOOKS[-1]] for _ in range(options.campaigns))
            means = np.mean([campaign(pool, labels, order) for order in orders], axis=0)  # (looks, figures)
            figures = {name: means[:, k].tolist() for k, name in enumerate(FIGURES)}
            rows.add(row | {"kind": kind, **figures, "seconds": time.process_time() - begin})


if __name__ == "__main__":
    main()
