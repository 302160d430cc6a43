"""The share of errors that go to classes which a system never predicts, by proper scores on a population of pools.

    BAYES_ASSESS_POOLS=folder python benchmarks/study_unknown_classes.py [--set package] [--pools 30] [--seed 1]
        [--campaigns 2] [--minutes 15] [--rows benchmarks/results/unknown_classes.jsonl]
    ... --set "no such share" --change none
    ... --set "occur" --change occur
    ... --set "N(-1, 1.5)" --change -1,1.5
    ... --report [--by-kind]

Systems know some classes only: of classifiers that scikit-learn fitted (`_fitted_worlds.py`) the scores of one to three
classes are taken away, or the classifier was fitted without their items; real ones, where the folder is given, lose
classes too; and of others every class is known, but one to three more are declared that no item is of. A third of all
have no scores. Labels are of random items. A row has, for a pool and every number of labels, means over campaigns: the
log probability of the labels, and how often 95 % intervals of the share of items of unknown classes and of the mean
cost of all items hold, with their width and interval score; costs are drawn anew for every pool.
--change takes the prior's mean and standard deviation of logit nu; --report compares sets with the first one of a seed
on the pools that both have, with standard errors over pools.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

import numpy as np
from _fitted_worlds import fitted_pool
from _real_worlds import real_pool
from _rows import Rows, add_row_options, read_rows, without_row
from study_calibration_prior import scored

import bayes_assess as ba
from bayes_assess._tools import engine
from bayes_assess.models import hierarchical_confusion
from bayes_assess.models._numerics import dirichlet_points
from bayes_assess.pool._scores import both_columns

LOOKS, DRAWS, KEY = (10, 30, 120), 4000, ("set", "seed", "pool")
FIGURES = (
    "evidence",
    *("share_held", "share_width", "share_score"),
    *("cost_held", "cost_width", "cost_score"),
)


def pools(n: int, seed: int) -> Iterator[tuple[str, str, ba.Pool, np.ndarray]]:
    """Yield names, kinds of pools, pools and labels."""
    folder = os.environ.get("BAYES_ASSESS_POOLS")
    for k in range(n):
        for kind in ("scores taken away", "declared alone", "real, scores taken away"):
            rng = np.random.default_rng([41, seed, k])
            if not kind.startswith("real"):
                pool, labels = fitted_pool(rng, 8)
            elif folder:
                pool, labels = real_pool(rng, False, folder)
            else:
                continue
            some = bool(k % 3)
            pool, labels = declared(rng, pool, labels, some) if "alone" in kind else without(rng, pool, labels, some)
            yield f"{kind} {seed}-{k}", kind if some else f"{kind}, no scores", pool, labels


def rows_of_scores(pool: ba.Pool) -> np.ndarray:
    """Copy the scores of all classes, of two from those of the second."""
    scores = np.array(pool.scores, np.float64)
    return both_columns(scores) if scores.ndim == 1 else scores


def without(rng: np.random.Generator, pool: ba.Pool, labels: np.ndarray, scored: bool) -> tuple[ba.Pool, np.ndarray]:
    """Take one to three classes away from what a system knows."""
    n_unknown = int(rng.integers(1, min(4, pool.n_classes - 1)))
    unknown = rng.permutation(pool.n_classes)[:n_unknown]
    scores = rows_of_scores(pool)
    scores[:, unknown] = 0
    scores[scores.sum(1) == 0] = np.isin(np.arange(pool.n_classes), unknown, invert=True)
    scores /= scores.sum(1, keepdims=True)
    given = {"scores": scores} if scored else {}
    return ba.Pool(predictions=scores.argmax(1), classes=list(range(pool.n_classes)), **given), labels


def declared(rng: np.random.Generator, pool: ba.Pool, labels: np.ndarray, scored: bool) -> tuple[ba.Pool, np.ndarray]:
    """Declare one to three classes more, of which no item is."""
    n_more = int(rng.integers(1, 4))
    scores = rows_of_scores(pool)
    given = {"scores": np.pad(scores, ((0, 0), (0, n_more)))} if scored else {}
    classes = list(range(pool.n_classes + n_more))
    return ba.Pool(predictions=pool.predictions, classes=classes, **given), labels


@contextmanager
def using(change: str | None) -> Iterator[None]:
    """Replace the prior of logit nu, leave it out, or leave out that such classes may not occur."""
    if change is None:
        yield
    elif change == "occur":
        with mock.patch.object(hierarchical_confusion, "shares_without_unpredicted", return_value=None):
            yield
    elif change == "none":
        with mock.patch.object(hierarchical_confusion, "shares_of_new", return_value=None):
            yield
    else:
        center, spread = map(float, change.split(","))
        location, scale = dirichlet_points._LOCATION.copy(), dirichlet_points._SCALE.copy()
        location[2], scale[2] = center, spread
        with (
            mock.patch.object(dirichlet_points, "_LOCATION", location),
            mock.patch.object(dirichlet_points, "_SCALE", scale),
        ):
            yield


def campaign(
    pool: ba.Pool, labels: np.ndarray, order: np.ndarray, cost: np.ndarray, rng: np.random.Generator
) -> list[list[float]]:
    """Label items in this order; return a list of figures for every look."""
    question, n = ba.ConfusionMatrix(), pool.n_classes
    cells = question.setting(pool, 0).cells
    prior = question.prior(pool, cells, None, None)
    predictions, sizes = np.asarray(pool.predictions), np.bincount(pool.predictions, minlength=n)
    weight = np.stack([np.repeat((sizes == 0)[None], n, axis=0), cost])  # of the entries of two quantities
    full, found = matrix(predictions, labels, n), []
    truth = (weight * full).sum((1, 2)) / pool.n_items
    for look in LOOKS:
        seen = matrix(predictions[order[:look]], labels[order[:look]], n)
        belief = prior.update_counts(seen)
        theta = belief.draws(rng, DRAWS)
        rest = rng.multinomial(sizes - seen.sum(1), theta / np.maximum(theta.sum(-1, keepdims=True), 1.0))
        draws = np.einsum("qkj,skj->qs", weight, seen + rest) / pool.n_items
        ends = np.quantile(draws, [0.025, 0.975], axis=1)
        figures = np.array(scored(*ends, truth), float)  # (held, width, score) of both
        found.append([float(belief.log_evidence()), *figures[:, 0], *figures[:, 1]])
    return found


def matrix(predictions: np.ndarray, labels: np.ndarray, n: int) -> np.ndarray:
    """Count items by prediction and label."""
    return np.bincount(predictions * n + labels, minlength=n * n).reshape(n, n)


def report(rows: list[dict[str, Any]], by_kind: bool) -> str:
    """Compare sets with the first one, of all pools or by kind."""
    sets: dict[str, dict[tuple[int, str], dict[str, Any]]] = {}
    for row in rows:
        sets.setdefault(row["set"], {})[row["seed"], row["pool"]] = row
    lines = [
        "| pools | set | labels | log probability of labels | share held | width | score | cost held | width | score |",
        "|---|---|--:|--:|--:|--:|--:|--:|--:|--:|",
    ]
    for kind in sorted({row["kind"] for row in rows}) if by_kind else ["all"]:
        for name, held in sets.items():
            first = next(iter(sets.values()))
            both = sorted(pool for pool in set(held) & set(first) if kind in ("all", held[pool]["kind"]))
            for i, look in enumerate(LOOKS if both else ()):
                now, before = (np.array([[one[p][f][i] for f in FIGURES] for p in both]) for one in (held, first))
                gain, root = now[:, 0] - before[:, 0], np.sqrt(len(both))
                cells = [f"{gain.mean():+.2f} ({gain.std() / root:.2f})"]
                for q in (1, 4):
                    more = (now[:, q + 2] - before[:, q + 2]) / max(before[:, q + 2].mean(), 1e-12)
                    cells += [
                        f"{now[:, q].mean():.3f} ({now[:, q].std() / root:.3f})",
                        f"{now[:, q + 1].mean():.3f}",
                        f"{now[:, q + 2].mean():.3f} ({100 * more.mean():+.1f} ± {100 * more.std() / root:.1f} %)",
                    ]
                lines.append(f"| {len(both)} {kind} | {name} | {look} | {' | '.join(cells)} |")
    return "\n".join(lines)


def main(arguments: list[str] | None = None) -> None:
    """Run a set, or report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_row_options(parser, "unknown_classes.jsonl")
    parser.add_argument("--set", default="package", help="what the prior is called")
    parser.add_argument("--change", metavar="MEAN,SD", help="of the logit of the share, none, or occur")
    parser.add_argument("--pools", type=int, default=30)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--campaigns", type=int, default=2)
    parser.add_argument("--by-kind", action="store_true", help="a part of the report for every kind of pools")
    options = parser.parse_args(arguments)
    if options.report:
        print(report(read_rows(options.rows), options.by_kind))
        return
    rows, key = Rows(options.rows, KEY), {"set": options.set, "seed": options.seed}
    population = ((key | {"pool": name}, of) for name, *of in pools(options.pools, options.seed))
    with using(options.change), engine.eager():
        for row, (kind, pool, labels) in without_row(population, rows, options.minutes):
            begin, rng = time.process_time(), np.random.default_rng([43, options.seed, pool.n_items])
            cost = rng.exponential(size=(pool.n_classes, pool.n_classes)) * ~np.eye(pool.n_classes, dtype=bool)
            orders = [rng.permutation(pool.n_items) for _ in range(options.campaigns)]  # the same of every set
            found = [campaign(pool, labels, order, cost, rng) for order in orders]
            means = np.mean(found, axis=0)
            figures = {name: means[:, k].round(4).tolist() for k, name in enumerate(FIGURES)}
            rows.add(row | {"kind": kind, **figures, "seconds": round(time.process_time() - begin, 2)})


if __name__ == "__main__":
    main()
