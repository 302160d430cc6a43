"""Constants of the learned prior of accuracies by group, by a proper score on a population of pools unlike one another.

    BAYES_ASSESS_POOLS=folder python benchmarks/study_group_prior.py [--set package] [--pools 40] [--seed 1]
        [--campaigns 2] [--minutes 15] [--rows benchmarks/results/group_prior.jsonl]
    ... --set "METHODS 12.5" --change intercept=0,2
    ... --harsh --pools 14 --seed 7
    ... --by site --rows benchmarks/results/site_prior.jsonl --pools 30 --seed 12 [--set "as classes"
        --change alike=2.485,1.3]
    ... --recalls --rows benchmarks/results/recall_prior.jsonl --pools 70 [--set "half way" --change level=1,0.5,1.4]
    ... --report

Pools are those of classifiers that scikit-learn fitted (`_fitted_worlds.py`, a third of two classes), by prediction and
by ranges of an input, half of them without scores, too; those of `_confidence_pools.py` by prediction; and where the
folder is given real ones by prediction, with confidences as they are, over- and under-confident, or of other items.
With --harsh they are those of eight of the audit's worlds, by both. Random labels, 1, 3, 10 and 30 of every group. A
row has, for a pool and every number of labels, means over campaigns: how often 95 % intervals of the groups' accuracies
and of the overall accuracy hold, their width, their interval score, and the root mean squared error of the groups.
With --by they are groups of one kind alone.
With --recalls recalls of the last class by site are asked for in their place, on the pools that have sites.
--change replaces constants of the model; --report compares sets with the first one of a seed on the pools that both
have, with standard errors over pools.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
from _audit_worlds import made as world_of
from _confidence_pools import pools as made
from _fitted_worlds import fitted_pool
from _rows import Clock, Rows, add_row_options, read_rows
from study_calibration_prior import LEVEL, scored
from study_priors import SCORES, changed

import bayes_assess as ba
from bayes_assess._tools import engine
from bayes_assess.models import _mean_scores, hierarchical_accuracy
from bayes_assess.models._numerics import regression_points
from bayes_assess.models.true_positive_rate import NEGATIVE
from bayes_assess.questions import _priors, recall

LOOKS, KEY, DRAWS = (1, 3, 10, 30), ("set", "seed", "pool"), 4000
REAL = ("cifar10", "cifar10_vgg", "20news", "mnist", "cifar100", "imagenet")
HARSH = (
    *("saturated scores", "three, saturated scores", "overconfident", "shuffled scores", "six, shuffled scores"),
    *("calibrated", "six classes", "groups apart"),
)
FIGURES = ("held", "width", "score", "overall_held", "overall_width", "overall_score", "rmse")


def pools(n: int, seed: int) -> Iterator[tuple[str, str, str, ba.Pool, np.ndarray]]:
    """Yield names, kinds of pools, what the groups are, pools and labels."""
    for k in range(n):
        most = 2 if k % 3 == 0 else 8
        pool, labels = fitted_pool(np.random.default_rng([23, seed, k]), most)
        kind = "fitted, two classes" if most == 2 else "fitted, more classes"
        for by in ("prediction", "site"):
            yield f"fitted-{seed}-{k} by {by}", f"{kind}, by {by}", by, pool, labels
        if k % 2:
            bare = ba.Pool(predictions=pool.predictions, classes=pool.label_space.classes.tolist(), groups=pool.groups)
            for by in ("prediction", "site"):
                yield f"fitted-{seed}-{k} by {by}, no scores", f"fitted, no scores, by {by}", by, bare, labels
    for name, pool, labels, _ in made(n, seed):
        yield name, "made", "prediction", pool, labels
    folder = os.environ.get("BAYES_ASSESS_POOLS")
    for name in REAL if folder else ():
        data = np.load(Path(str(folder)) / f"{name}.npz")
        if "scores" not in data:
            yield name, "real, no scores", "prediction", ba.Pool(predictions=data["predictions"]), data["labels"]
            continue
        predictions, classes = data["scores"].argmax(1), list(range(data["scores"].shape[1]))
        for how in SCORES:
            confidence = changed(data["scores"], how)[np.arange(len(predictions)), predictions]
            pool = ba.Pool(predictions=predictions, confidence=confidence, classes=classes)
            yield f"{name}, {how}", f"real, {how}", "prediction", pool, data["labels"]


def harsh_pools(n: int, seed: int) -> Iterator[tuple[str, str, str, ba.Pool, np.ndarray]]:
    """Yield the same of the audit's worlds, whose scores say nothing, or too much, as often as what is true."""
    for world in HARSH:
        for k in range(n):
            pool, labels, _ = world_of(world, 1000 * seed + k)
            for by in ("prediction", "site"):
                yield f"{world} {k} by {by}", world, by, pool, labels


@contextmanager
def using(changes: list[str]) -> Iterator[None]:
    """Replace constants, such as unscored=0.02, slope=1,0.7, bare=1,2 without scores.

    Of log nu log_strength=2.48,1.3 is the prior of predicted classes, alike=3.5,1.8 that of other groups.
    With scores level=OFFSET,SHARE,SD puts the level of all groups at the offset plus a share of the scores', and
    intercept=MEAN,SD is the prior of METHODS 12.5, where covariates are scores as they are. With lapse=0.01 no
    accuracy is expected to be greater than 0.99. With around=RATES,SHARES levels of rates and of shares of positive
    items are those of scores, by so much to either side; by 0 they are as those of accuracies.
    """
    given = {name: tuple(map(float, told.split(","))) for name, told in (change.split("=") for change in changes)}
    h, r = hierarchical_accuracy, regression_points
    values: dict[tuple[Any, str], Any] = {
        (_mean_scores, "_UNSCORED"): given.pop("unscored", (_mean_scores._UNSCORED,))[0],
        (h, "_INTERCEPT"): given.pop("bare", h._INTERCEPT),
        (h, "_SLOPE"): given.pop("slope", h._SLOPE),
        (_priors, "LOG_STRENGTH"): given.pop("log_strength", _priors.LOG_STRENGTH),
        (_priors, "ALIKE"): given.pop("alike", _priors.ALIKE),
    }
    if "level" in given:
        offset, share, sd = given.pop("level")
        values[h, "_level"] = lambda score, _: (score.mean(), (offset + share * score.mean(), sd))
    if "intercept" in given:
        prior = given.pop("intercept")
        values[h, "_level"] = lambda score, _: (0.0, prior)
    if "lapse" in given:
        most, expected = 1 - given.pop("lapse")[0], r.expected_accuracy
        values |= {(part, "expected_accuracy"): lambda x: most * expected(x) for part in (h, r)}
    if "around" in given:
        rates, shares = (value or None for value in given.pop("around"))
        values |= {(recall, "_AROUND_RATES"): rates, (recall, "_AROUND_SHARES"): shares}
    if given:
        raise SystemExit(f"There is no constant {', '.join(given)} to change.")
    with ExitStack() as stack:
        for (module, name), value in values.items():
            stack.enter_context(mock.patch.object(module, name, value))
        yield


def campaign(
    question: ba.GroupAccuracy | ba.GroupRecall, pool: ba.Pool, labels: np.ndarray, order: np.ndarray
) -> list[list[float]]:
    """Label items of every group in this order; return a list of figures for every look."""
    cells = question.setting(pool, 0).cells
    prior = question.prior(pool, cells, None, None)
    n_outcomes = question.setting(pool, 0).n_outcomes
    full = question.full_counts(pool, cells, labels, n_outcomes)
    truth, overall_truth, kept = exact(question, full)
    outcome = question.outcomes(pool, order, labels[order])
    cell, found = cells.source.cells_of(order), []
    place = np.zeros(len(order), np.int64)  # of an item among those of its cell
    by_cell = np.argsort(cell, kind="stable")
    starts = np.concatenate([[0], np.cumsum(np.bincount(cell, minlength=cells.n_cells))[:-1]])
    place[by_cell] = np.arange(len(order)) - starts[cell[by_cell]]
    for look in LOOKS:
        seen = np.zeros_like(full)
        told = place < look
        np.add.at(seen, (cell[told], outcome[told]), 1)
        ends = question.interval(cells, prior, seen, LEVEL)
        estimate = question.estimate(cells, prior, seen)
        unknown = kept & (seen.sum(1) < cells.sizes)
        overall = np.quantile(overall_draws(question, cells, prior, seen), [0.025, 0.975])
        groups = [float(figure[unknown].mean()) for figure in scored(ends[:, 0], ends[:, 1], truth)]
        whole = [float(figure) for figure in scored(*overall, np.asarray(overall_truth))]
        found.append([*groups, *whole, float(np.sqrt(np.mean((estimate - truth)[kept] ** 2)))])
    return found


def exact(question: ba.GroupAccuracy | ba.GroupRecall, full: np.ndarray) -> tuple[np.ndarray, float, np.ndarray]:
    """Compute what is asked of groups and of all, and which groups have it, from the counts of all outcomes (G, O)."""
    met = full[:, :NEGATIVE] if isinstance(question, ba.GroupRecall) else full
    rate = met[:, 1] / np.maximum(met.sum(1), 1)
    return rate, met[:, 1].sum() / max(met.sum(), 1), met.sum(1) > 0


def overall_draws(question: ba.GroupAccuracy | ba.GroupRecall, cells: Any, prior: Any, seen: np.ndarray) -> np.ndarray:
    """Draw the accuracy or the recall of all groups, (DRAWS,)."""
    if isinstance(question, ba.GroupRecall):
        return question.overall(cells, prior, seen, 0, DRAWS)[1]
    return question.draws(cells, prior, seen, 0, DRAWS) @ (cells.sizes / cells.n_items)


def report(rows: list[dict[str, Any]], by_kind: bool) -> str:
    """Compare sets with the first one, seed by seed, of all pools or by kind."""
    sets: dict[tuple[int, str], dict[str, dict[str, Any]]] = {}
    for row in rows:
        sets.setdefault((row["seed"], row["set"]), {})[row["pool"]] = row
    lines = [
        "| seed | pools | set | labels | groups held | width | score | ratio | overall held | width | score | ratio | "
        "RMSE |",
        "|--:|---|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|",
    ]
    kinds = list(dict.fromkeys(row["kind"] for row in rows)) if by_kind else ["all"]
    for kind in kinds:
        for (seed, name), held in sorted(sets.items(), key=lambda one: one[0][0]):
            first = next(one for (other, _), one in sets.items() if other == seed)
            both = sorted(pool for pool in set(held) & set(first) if kind in ("all", held[pool]["kind"]))
            for i, look in enumerate(LOOKS if both else ()):
                lines.append(f"| {seed} | {len(both)} {kind} | {name} | {look} | {_cells(held, first, both, i)} |")
    return "\n".join(lines)


def _cells(held: dict[str, Any], first: dict[str, Any], both: list[str], i: int) -> str:
    cells = []
    for prefix in ("", "overall_"):
        share, width, score, before = (
            np.array([one[pool][prefix + figure][i] for pool in both])
            for one, figure in ((held, "held"), (held, "width"), (held, "score"), (first, "score"))
        )
        more, mean = (score - before) / before.mean(), np.exp(np.log(score / before).mean())
        cells.append(
            f"{share.mean():.3f} ({share.std() / np.sqrt(len(both)):.3f}) | {width.mean():.3f} | {score.mean():.3f} "
            f"({100 * more.mean():+.1f} ± {100 * more.std() / np.sqrt(len(both)):.1f} %) | {mean:.2f}"
        )
    rmse = np.sqrt(np.mean([np.square(held[pool]["rmse"][i]) for pool in both]))
    return f"{' | '.join(cells)} | {rmse:.4f}"


def main(arguments: list[str] | None = None) -> None:
    """Run a set, or report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_row_options(parser, "group_prior.jsonl")
    parser.add_argument("--set", default="package", help="what the constants are called")
    parser.add_argument("--change", nargs="*", default=[], metavar="CONSTANT=NUMBERS")
    parser.add_argument("--pools", type=int, default=40)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--campaigns", type=int, default=2)
    parser.add_argument("--harsh", action="store_true", help="pools of eight of the audit's worlds, so many of each")
    parser.add_argument("--by", choices=("prediction", "site"), help="groups of one kind alone")
    parser.add_argument("--recalls", action="store_true", help="recalls by site in the place of accuracies")
    parser.add_argument("--by-kind", action="store_true", help="a part of the report for every kind of pools")
    options = parser.parse_args(arguments)
    if options.report:
        print(report(read_rows(options.rows), options.by_kind))
        return
    rows, clock = Rows(options.rows, KEY), Clock(options.minutes)
    with using(options.change), engine.eager():
        population = harsh_pools if options.harsh else pools
        for name, kind, by, pool, labels in population(options.pools, options.seed):
            row = {"set": options.set, "seed": options.seed, "pool": f"recall, {name}" if options.recalls else name}
            if row in rows or options.by not in (None, by):
                continue
            if clock.over:
                print(f"Stopped after {options.minutes:g} minutes; the same command goes on.")
                return
            if options.recalls and (by != "site" or not (labels == pool.n_classes - 1).any()):
                continue
            question = ba.GroupRecall(by, positive=pool.n_classes - 1) if options.recalls else ba.GroupAccuracy(by=by)
            begin, rng = time.process_time(), np.random.default_rng([29, pool.n_items])
            orders = (rng.permutation(pool.n_items) for _ in range(options.campaigns))
            means = np.mean([campaign(question, pool, labels, order) for order in orders], axis=0)  # (looks, figures)
            figures = {name: means[:, k].round(4).tolist() for k, name in enumerate(FIGURES)}
            rows.add(row | {"kind": kind, **figures, "seconds": round(time.process_time() - begin, 2)})


if __name__ == "__main__":
    main()
