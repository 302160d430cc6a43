"""Which classes errors are of by scores, or where there are none, by proper scores on a population of pools.

    python benchmarks/study_error_shares.py [--set package] [--pools 24] [--seed 1] [--minutes 15]
        [--rows benchmarks/results/error_shares.jsonl]
    ... --set even --power 0
    ... --scored --rows benchmarks/results/error_shares_scored.jsonl [--set "scores alone" --powers none]
    ... --report [--by-kind]

Pools are made ones of 3 to 15 classes (`_class_pools.py`) and classifiers that scikit-learn fitted
(`_fitted_worlds.py`), without their scores. With --scored they have them, and there are more: the fitted ones with
scores divided by how frequent classes are, and four classes of which scores do not know that one is rare. Labels are of
random items. A row has, for a pool and every number of labels, means over two campaigns: the log probability of the
labels, and how often 95 % intervals of the mean cost of all items hold, their width, their interval score and the bias,
relative to the cost itself. Costs of errors are drawn anew for every pool; the dear ones are higher by as much as a
label is predicted more rarely. --power makes the share of the errors that a class has before any label follow that
power of how many items are predicted so; 1/2 in the package. --powers takes those of other readings of the scores.

--report compares sets with the first one, with standard errors over pools. What chose it, 96 pools of seeds 1 and 2;
log probabilities and scores are beside those of even shares:

| errors follow | labels | log probability of labels | costs: score | bias | dear ones: held | score | bias |
|---|--:|--:|--:|--:|--:|--:|--:|
| no sizes | 10 | | | +0.12 | 0.932 | | +0.21 |
| | 30 | | | +0.02 | 0.922 | | +0.09 |
| | 300 | | | +0.01 | 0.917 | | +0.03 |
| **their roots** | 10 | +0.01 ± 0.04 | 1.01 ± 0.01 | +0.12 | 0.948 | 0.92 ± 0.02 | +0.07 |
| | 30 | +0.04 ± 0.07 | 0.99 ± 0.02 | +0.02 | 0.927 | 0.92 ± 0.02 | -0.01 |
| | 300 | +0.37 ± 0.20 | 0.99 ± 0.01 | 0.00 | 0.932 | 0.94 ± 0.03 | 0.00 |
| sizes | 10 | -0.11 ± 0.07 | 1.01 ± 0.01 | +0.12 | 0.953 | 0.87 ± 0.02 | -0.03 |
| | 30 | -0.14 ± 0.11 | 0.98 ± 0.02 | +0.02 | 0.927 | 0.89 ± 0.03 | -0.07 |
| | 300 | +0.04 ± 0.26 | 0.99 ± 0.01 | 0.00 | 0.938 | 0.91 ± 0.03 | -0.01 |

Labels are less probable by sizes than by their roots, which leave no bias. docs/priors.md has the table with scores.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest import mock

import numpy as np
from _class_pools import pools as made
from _fitted_worlds import fitted_pool
from _rows import Rows, add_row_options, read_rows, without_row
from study_calibration_prior import scored
from study_unknown_classes import matrix

import bayes_assess as ba
from bayes_assess._tools import engine
from bayes_assess.models import _error_shares, hierarchical_confusion

LOOKS, DRAWS, CAMPAIGNS, KEY = (10, 30, 100, 300), 1500, 2, ("set", "seed", "pool")
FIGURES = tuple(f"{cost}_{figure}" for cost in ("any", "dear") for figure in ("held", "width", "score", "bias"))


def pools(n: int, seed: int, scored: bool = False) -> Iterator[tuple[str, str, ba.Pool, np.ndarray]]:
    """Yield names, kinds, pools, without scores or with them, and labels."""
    for name, _, pool, labels in made(n, seed):
        yield name, "made", pool if scored else _unscored(pool), labels
    for k in range(n):
        pool, labels = fitted_pool(np.random.default_rng([77, seed, k]), 8)
        if pool.n_classes < 3:
            continue
        yield f"fitted-{seed}-{k}", "fitted", pool if scored else _unscored(pool), labels
        if scored:
            frequency = np.bincount(np.asarray(labels), minlength=pool.n_classes) + 1
            yield f"flattened-{seed}-{k}", "flattened", _of_weights(np.maximum(pool.scores, 1e-6) / frequency), labels
    for k in range(n if scored else 0):
        yield f"rare-{seed}-{k}", "one rare class", *_with_a_rare_class(np.random.default_rng([78, seed, k]))


def _with_a_rare_class(rng: np.random.Generator) -> tuple[ba.Pool, np.ndarray]:
    """Make four classes, one of a twentieth of the items, and scores that do not know how frequent they are."""
    labels, center = rng.choice(4, 1500, p=[0.05, 0.3, 0.3, 0.35]), rng.normal(0, 1.6, (4, 3))
    x = center[labels] + rng.normal(size=(1500, 3))
    log_odds = -0.5 * ((x[:, None] - center) ** 2).sum(2)
    return _of_weights(np.exp(log_odds - log_odds.max(1, keepdims=True))), labels


def _of_weights(weights: np.ndarray) -> ba.Pool:
    scores = weights / weights.sum(1, keepdims=True)
    return ba.Pool(predictions=scores.argmax(1), scores=scores, classes=list(range(scores.shape[1])))


def _unscored(pool: ba.Pool) -> ba.Pool:
    return ba.Pool(predictions=pool.predictions, classes=list(range(pool.n_classes)))


@contextmanager
def using(power: float | None, powers: str | None = None) -> Iterator[None]:
    """Let shares of errors follow other powers of the numbers of items."""

    def shares(predicted: np.ndarray) -> np.ndarray:
        weight = np.where(np.eye(len(predicted), dtype=bool), 0.0, (predicted + 1.0) ** power)
        return weight / weight.sum(1, keepdims=True)

    with ExitStack() as changes:
        if power is not None:
            changes.enter_context(mock.patch.object(hierarchical_confusion, "shares_by_sizes", shares))
        if powers == "none":
            changes.enter_context(mock.patch.object(hierarchical_confusion, "shares_resized", return_value=None))
        elif powers is not None:
            others = tuple(map(float, powers.split(",")))
            changes.enter_context(mock.patch.object(_error_shares, "_POWERS", others))
        yield


def campaign(
    pool: ba.Pool, labels: np.ndarray, order: np.ndarray, costs: np.ndarray, rng: np.random.Generator
) -> list[list[float]]:
    """Label items in this order; return the log probability of the labels and FIGURES for every look."""
    question, n = ba.ConfusionMatrix(), pool.n_classes
    prior = question.prior(pool, question.setting(pool, 0).cells, None, None)
    predictions, sizes = np.asarray(pool.predictions), np.bincount(pool.predictions, minlength=n)
    truth = (costs * matrix(predictions, labels, n)).sum((1, 2)) / pool.n_items
    unit, found = truth + 1e-3 * costs.mean((1, 2)), []
    for look in LOOKS:
        seen = matrix(predictions[order[:look]], labels[order[:look]], n)
        belief = prior.update_counts(seen)
        theta = belief.draws(rng, DRAWS)
        rest = rng.multinomial(sizes - seen.sum(1), theta / np.maximum(theta.sum(-1, keepdims=True), 1.0))
        draws = np.einsum("qkj,skj->qs", costs, seen + rest) / pool.n_items
        held, width, score = scored(*np.quantile(draws, [0.025, 0.975], axis=1), truth)
        bias = (np.median(draws, axis=1) - truth) / unit
        found.append([float(belief.log_evidence()), *np.array([held, width / unit, score / unit, bias]).T.ravel()])
    return found


def report(rows: list[dict[str, Any]], by_kind: bool = False) -> str:
    """Compare sets with the first one, on the pools that both have, of all kinds or of each."""
    if by_kind:
        kinds = dict.fromkeys(row["kind"] for row in rows)
        return "\n\n".join(f"{kind}\n\n{report([row for row in rows if row['kind'] == kind])}" for kind in kinds)
    sets: dict[str, dict[tuple[int, str], dict[str, Any]]] = {}
    for row in rows:
        sets.setdefault(row["set"], {})[row["seed"], row["pool"]] = row
    first = next(iter(sets.values()))
    lines = [
        "| set | labels | log probability of labels | costs: held | score | bias | dear ones: held | score | bias |",
        "|---" + "|--:" * 8 + "|",
    ]
    for name, here in sets.items():
        both = [pool for pool in here if pool in first]
        root = np.sqrt(len(both))
        for i, look in enumerate(LOOKS):
            figures = {f: np.array([here[pool][f][i] for pool in both]) for f in ("evidence", *FIGURES)}
            gain = figures["evidence"] - [first[pool]["evidence"][i] for pool in both]
            line = f"| {name} ({len(both)}) | {look} | {gain.mean():+.2f} ± {gain.std() / root:.2f} "
            for cost in ("any", "dear"):
                ratio = np.log(figures[f"{cost}_score"] / [first[pool][f"{cost}_score"][i] for pool in both])
                line += f"| {figures[f'{cost}_held'].mean():.3f} "
                line += (
                    f"| {np.exp(ratio.mean()):.2f} ± {ratio.std() / root:.2f} | {figures[f'{cost}_bias'].mean():+.2f} "
                )
            lines.append(line + "|")
    return "\n".join(lines)


def main(arguments: list[str] | None = None) -> None:
    """Run a set, or report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_row_options(parser, "error_shares.jsonl")
    parser.add_argument("--set", default="package", help="what the prior is called")
    parser.add_argument("--power", type=float, help="of the numbers of items that errors follow")
    parser.add_argument("--scored", action="store_true", help="pools with scores")
    parser.add_argument("--powers", help="of the numbers of items, other readings of scores; none for no other")
    parser.add_argument("--by-kind", action="store_true", help="report kinds of pools apart")
    parser.add_argument("--pools", type=int, default=24)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args(arguments)
    if options.report:
        print(report(read_rows(options.rows), options.by_kind))
        return
    rows, key = Rows(options.rows, KEY), {"set": options.set, "seed": options.seed}
    population = ((key | {"pool": name}, of) for name, *of in pools(options.pools, options.seed, options.scored))
    with using(options.power, options.powers), engine.eager():
        for row, (kind, pool, labels) in without_row(population, rows, options.minutes):
            begin, rng = time.process_time(), np.random.default_rng([45, options.seed, pool.n_items])
            n = pool.n_classes
            cost = rng.exponential(size=(n, n)) * ~np.eye(n, dtype=bool)
            rarity = 1 / (np.bincount(pool.predictions, minlength=n) / pool.n_items + 0.01)
            costs, orders = np.stack([cost, cost * rarity]), [rng.permutation(pool.n_items) for _ in range(CAMPAIGNS)]
            means = np.mean([campaign(pool, np.asarray(labels), order, costs, rng) for order in orders], axis=0)
            figures = {name: means[:, k].round(5).tolist() for k, name in enumerate(("evidence", *FIGURES))}
            rows.add(row | {"kind": kind, **figures, "seconds": round(time.process_time() - begin, 2)})


if __name__ == "__main__":
    main()
