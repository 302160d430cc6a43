"""Which labels wrong predictions have, for measures of many classes, by the probability of labels on many pools.

    python benchmarks/study_error_labels.py [--unscored] [--pools 24] [--seed 1] [--minutes 15]
        [--rows benchmarks/results/error_labels.jsonl]
    BAYES_ASSESS_POOLS=folder ... --unknown
    ... --report

Pools are those of `study_error_shares.py --scored`, with --unscored those that it has without scores, or with --unknown
those of `study_unknown_classes.py`, where some classes are never predicted. Of random items 30, 120, 400 and 1,000 have
labels. A row has, for a pool, a reading and a strength, the log probability of the labels of the wrong predictions
among them, if errors are shared like that: evenly, by scores, by these times a power of how many items are predicted as
a class, or by the roots of the sizes alone. With --unknown it has log probabilities under `UNKNOWN` instead: how
probable it is that errors are of classes that are never predicted, in which shares, or that none is.

--report weighs readings by `WEIGHTS` and writes how much more probable labels are than by the first of these, in the
mean over pools of every kind, with standard errors; and the weights, for every number of labels, under which they are
the most probable.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
from _rows import Rows, add_row_options, read_rows, sharded, without_row
from scipy.special import gammaln, logsumexp
from study_error_shares import pools
from study_unknown_classes import matrix
from study_unknown_classes import pools as of_unknown_classes

import bayes_assess as ba
from bayes_assess.models._error_shares import shares_by_sizes, shares_if_unpredicted, shares_of_new
from bayes_assess.models.error_labels import _EVEN, _STRENGTHS

LOOKS, KEY = (30, 120, 400, 1000), ("population", "seed", "pool")
MORE = {"never": (), ".5": (0.5,), ".2, .8": (0.2, 0.8), ".1, .3, .6, .9": (0.1, 0.3, 0.6, 0.9)}
UNKNOWN = {  # probabilities of readings, of more errors of classes that are never predicted, how many, and of none
    "as readings say": (1, 0, "never", 0),
    "1/10 of .5 more": (0.9, 0.1, ".5", 0),
    "1/3 of .2, .8": (2 / 3, 1 / 3, ".2, .8", 0),
    "1/2 of .1, .3, .6, .9": (1 / 2, 1 / 2, ".1, .3, .6, .9", 0),
    "1/4 none, 1/4 of .2, .8": (1 / 2, 1 / 4, ".2, .8", 1 / 4),
    "**1/3 none, 1/3 of .2, .8**": (1 / 3, 1 / 3, ".2, .8", 1 / 3),
    "1/2 none, 1/4 of .2, .8": (1 / 4, 1 / 4, ".2, .8", 1 / 2),
}
WEIGHTS = {
    "scored": {
        "even, scores": {"even": 1 / 2, "scores": 1 / 2},
        "all alike": {"even": 1 / 4, "scores": 1 / 4, "times sizes": 1 / 4, "times squares": 1 / 4},
        "**1/4, 1/2, 1/8, 1/8**": {"even": 1 / 4, "scores": 1 / 2, "times sizes": 1 / 8, "times squares": 1 / 8},
        "1/3, 1/3, 1/6, 1/6": {"even": 1 / 3, "scores": 1 / 3, "times sizes": 1 / 6, "times squares": 1 / 6},
        "1/4, 1/2, 1/4 of times roots": {"even": 1 / 4, "scores": 1 / 2, "times roots": 1 / 4},
    },
    "unscored": {
        "even": {"even": 1.0},
        "1/2, 1/2 of roots": {"even": 1 / 2, "roots": 1 / 2},
        "**3/4, 1/4 of roots**": {"even": 3 / 4, "roots": 1 / 4},
        "1/3, 1/3, 1/3 of sizes": {"even": 1 / 3, "roots": 1 / 3, "sizes": 1 / 3},
    },
}


def readings(pool: ba.Pool) -> dict[str, np.ndarray]:
    """Return shares of the labels of wrong predictions by what they follow, (C, C) each."""
    n = pool.n_classes
    sizes = np.bincount(pool.predictions, minlength=n)
    even = ~np.eye(n, dtype=bool) / (n - 1)
    if pool.scores is None:
        found = {"even": even, "roots": shares_by_sizes(sizes), "sizes": _times(even, sizes, 1)}
        return {name: (1 - _EVEN) * shares + _EVEN * even for name, shares in found.items()}
    sums = np.zeros((n, n))
    np.add.at(sums, pool.predictions, pool.scores)
    scores = _times(np.where(sums.sum(1, keepdims=True) > 0, sums * (even > 0), even), sizes, 0)
    powers = {"times roots": 0.5, "times sizes": 1.0, "times squares": 2.0}
    found = {"even": even, "scores": scores, **{name: _times(scores, sizes, power) for name, power in powers.items()}}
    return {name: (1 - _EVEN) * shares + _EVEN * even for name, shares in found.items()}


def _times(shares: np.ndarray, sizes: np.ndarray, power: float) -> np.ndarray:
    """Multiply shares by a power of the sizes, but for classes that are predicted for no item, which keep theirs."""
    shares = shares / np.maximum(shares.sum(1, keepdims=True), 1e-300)
    known = sizes > 0
    weight = np.where(known, shares * (sizes + 1.0) ** power, 0.0)
    of_known = np.where(known, shares, 0.0).sum(1, keepdims=True)
    return np.where(known, weight * of_known / np.maximum(weight.sum(1, keepdims=True), 1e-300), shares)


def log_probability(shares: np.ndarray, counts: np.ndarray) -> list[float]:
    """Return the log probability of labels of errors in their order, by how many labels the shares count as.

    Examples
    --------
    >>> even = np.array([[0, 0.5, 0.5], [0.5, 0, 0.5], [0.5, 0.5, 0]])
    >>> one = np.array([[0, 1, 0], [0, 0, 0], [0, 0, 0]])
    >>> np.exp(log_probability(even, one)).round(6).tolist()
    [0.5, 0.5, 0.5, 0.5]
    """
    n = len(shares)
    others = ~np.eye(n, dtype=bool)
    shares, counts = (table[others].reshape(n, n - 1) for table in (shares, counts))
    found = []
    for strength in _STRENGTHS:
        alpha = strength * shares
        totals = gammaln(alpha.sum(1)) - gammaln((alpha + counts).sum(1))
        found.append(float(totals.sum() + (gammaln(alpha + counts) - gammaln(alpha)).sum()))
    return found


def weighed(rows: list[dict[str, Any]], weights: dict[str, float]) -> np.ndarray:
    """Return log probabilities under a mixture of readings, of strengths that are alike probable, (rows, looks)."""
    log_weight = np.log([weight / len(_STRENGTHS) for weight in weights.values()])
    tables = np.array([[row[name] for name in weights] for row in rows])  # rows, readings, looks, strengths
    return logsumexp(tables + log_weight[:, None, None], axis=(1, 3))


def most_probable(rows: list[dict[str, Any]], names: list[str], look: int, steps: int = 500) -> np.ndarray:
    """Return the weights of readings and strengths under which labels are the most probable, (readings, strengths).

    By expectation and maximisation; all kinds of pools count alike.
    """
    table = np.array([[row[name][look] for name in names] for row in rows]).reshape(len(rows), -1)
    kinds = [row["kind"] for row in rows]
    share = np.array([1 / kinds.count(kind) for kind in kinds])
    weights = np.full(table.shape[1], 1 / table.shape[1])
    for _ in range(steps):
        terms = table + np.log(np.maximum(weights, 1e-12))
        weights = (share / share.sum()) @ np.exp(terms - logsumexp(terms, axis=1, keepdims=True))
    return weights.reshape(len(names), -1)


def if_unknown(
    shares: dict[str, np.ndarray], weights: dict[str, float], predicted: np.ndarray, counts: np.ndarray
) -> dict[str, float]:
    """Return the log probability of labels under `UNKNOWN`, where errors follow these readings but for such classes."""
    tables, log_weight = np.stack([shares[name] for name in weights]), np.log(list(weights.values()))

    def of(tables: np.ndarray) -> float:
        found = np.array([log_probability(table, counts) for table in tables])
        return float(logsumexp(found + log_weight[:, None]) - np.log(len(_STRENGTHS)))

    found, told = {}, of(tables)
    *_, never = shares_if_unpredicted(tables, predicted)
    none, new = of(never), shares_of_new(predicted)
    for name, (as_told, more, of_more, absent) in UNKNOWN.items():
        again = [of((1 - nu) * tables + nu * new) for nu in MORE[of_more]]
        terms, probabilities = [told, none, *again], [as_told, absent, *[more / max(len(again), 1)] * len(again)]
        found[name] = round(float(logsumexp(terms, b=probabilities)), 2)
    return found


def report(rows: list[dict[str, Any]]) -> str:
    """Compare sets of weights with the first one, by kind of pool, and find the most probable weights."""
    lines = []
    for population, sets in (*WEIGHTS.items(), ("unknown", UNKNOWN)):
        here = [row for row in rows if row["population"] == population]
        if not here:
            continue
        first, *others = sets
        log_probabilities = {
            name: np.array([row[name] for row in here]) if population == "unknown" else weighed(here, sets[name])
            for name in sets
        }
        kinds, looks = np.array([row["kind"] for row in here]), " | ".join(map(str, LOOKS))
        lines.append(f"| {population}, beside {first} | kind | pools | {looks} |")
        lines.append("|---|---|--:" + "|--:" * len(LOOKS) + "|")
        for name in others:
            gain = log_probabilities[name] - log_probabilities[first]
            for kind in ("all", *dict.fromkeys(kinds.tolist())):
                of_kind = gain[(kinds == kind) | (kind == "all")]
                mean, error = of_kind.mean(0), of_kind.std(0) / np.sqrt(len(of_kind))
                cells = (f"{m:+.2f} ± {e:.2f}" for m, e in zip(mean, error, strict=True))
                lines.append(f"| {name} | {kind} | {len(of_kind)} | {' | '.join(cells)} |")
        if population == "unknown":
            continue
        names = [name for name in here[0] if isinstance(here[0][name], list)]
        for i, look in enumerate(LOOKS):
            best = dict(zip(names, most_probable(here, names, i).sum(1).round(2).tolist(), strict=True))
            lines.append(f"Most probable with {look} labels: {best}")
    return "\n".join(lines)


def chosen(pool: ba.Pool) -> dict[str, float]:
    """Return the weights of readings that the package has."""
    sets = WEIGHTS["unscored" if pool.scores is None else "scored"]
    return next(weights for name, weights in sets.items() if name.startswith("**"))


def main(arguments: list[str] | None = None) -> None:
    """Run, or report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_row_options(parser, "benchmarks/results/error_labels.jsonl")
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--unscored", action="store_true", help="pools without scores")
    which.add_argument("--unknown", action="store_true", help="pools of which some classes are never predicted")
    parser.add_argument("--pools", type=int, default=24)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args(arguments)
    if options.report:
        print(report(read_rows(options.rows)))
        return
    n, seed = options.pools, options.seed
    population = "unknown" if options.unknown else "unscored" if options.unscored else "scored"
    of = of_unknown_classes(n, seed) if options.unknown else pools(n, seed, scored=not options.unscored)
    rows, key = Rows(options.rows, KEY), {"population": population, "seed": seed}
    keyed = ((key | {"pool": name}, rest) for name, *rest in sharded(of, options.shard))
    for row, (kind, pool, labels) in without_row(keyed, rows, options.minutes):
        predictions, labels, shares = np.asarray(pool.predictions), np.asarray(labels), readings(pool)
        order = np.random.default_rng([46, seed, pool.n_items]).permutation(pool.n_items)
        seen = [matrix(predictions[order[:n]], labels[order[:n]], pool.n_classes) for n in LOOKS]
        if population != "unknown":
            found = {name: [np.round(log_probability(s, c), 2).tolist() for c in seen] for name, s in shares.items()}
        elif shares_of_new(predicted := np.bincount(predictions, minlength=pool.n_classes) > 0) is not None:
            looks = [if_unknown(shares, chosen(pool), predicted, counts) for counts in seen]
            found = {name: [look[name] for look in looks] for name in UNKNOWN}
        else:  # all classes but one are never predicted
            continue
        rows.add(row | {"kind": kind, **found})


if __name__ == "__main__":
    main()
