"""Do intervals of errors of numbers hold where errors have long tails, and what do expected variances make of them?

    python benchmarks/study_number_tails.py [--pools 200] [--seed 1] [--minutes 10] [--shard 0/1]
        [--rows benchmarks/results/number_tails.jsonl]
    ... --report [--vary]

Pools have random parameters. Of *made* ones, 400 to 20,000 items, errors are t variables with 2.1 to 60 degrees of
freedom, or normal, times spreads that are all alike, or vary by a gamma or a lognormal distribution; some are much
greater at one item in 300 to one in 5, or off in a region. Of *fitted* ones labels are scikit-learn's Friedman
functions or a linear one, with noise of such kinds, some of them on an exponential scale, and predictions those of a
forest, boosting, neighbours, a tree or a ridge regression. Scores tell spreads well, roughly, wrongly, or are not
there.

A row has a pool and a design, and for every look at 30, 60, 120 and 300 labels and every measure what its interval is
made of. The report has shares of 95 % intervals that held, and interval scores over the truth (Gneiting and Raftery
2007) as ratios to those of labels alone, without expected variances (of means with standard errors, and geometric
means over pools); with --vary for other expected variances, and observations that they count as. Constants were chosen
on seed 1.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterator
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from _rows import Clock, Rows, add_row_options, read_rows, sharded

import bayes_assess as ba
from bayes_assess.estimators import weighted_numbers
from bayes_assess.estimators.weighted import Estimate

LOOKS = (30, 60, 120, 300)
MEASURES = ("mean_absolute_error", "mean_squared_error", "root_mean_squared_error", "r2")
DESIGNS = ("passive", "poisson")
KEY = ("seed", "kind", "pool", "design")
MISS = 2 / (1 - 0.95)  # what an interval's score adds for every unit that the truth lies outside
VARIED = tuple(product((4.0, 6.0, 8.0, 12.0), (16.0, 32.0)))  # of a mean of squares, and observations


class Made(NamedTuple):
    """A pool, its labels, and the kurtosis of its errors."""

    pool: Any
    labels: np.ndarray
    kurtosis: float


def _spread(rng: np.random.Generator, n: int) -> np.ndarray:
    """Spreads of errors: gamma, lognormal, or all alike."""
    kind = rng.random()
    if kind < 0.5:
        return rng.gamma(np.exp(rng.uniform(np.log(0.4), np.log(8))), 1, n)
    return np.exp(rng.normal(0, rng.uniform(0.1, 1.2), n)) if kind < 0.75 else np.ones(n)


def _errors(rng: np.random.Generator, spread: np.ndarray) -> np.ndarray:
    """Errors with these spreads, of a mean square of 1."""
    n, kind = len(spread), rng.choice(["t", "normal", "outliers", "region"])
    degrees = np.exp(rng.uniform(np.log(2.1), np.log(60)))
    e = spread * (rng.standard_t(degrees, n) if kind == "t" else rng.normal(size=n))
    if kind == "outliers":
        share, size = np.exp(rng.uniform(np.log(0.003), np.log(0.2))), np.exp(rng.uniform(np.log(2), np.log(12)))
        e = np.where(rng.random(n) < share, rng.normal(0, size, n) * np.sqrt(np.mean(e**2)), e)
    if kind == "region":
        at, width = rng.random(n), rng.uniform(0.02, 0.3)
        e = e + np.where(at < width, rng.uniform(0, 6) * at / width, 0) * e.std()
    return e / np.sqrt(np.mean(e**2))


def _told(rng: np.random.Generator, spread: np.ndarray) -> dict[str, np.ndarray]:
    """Scores that tell spreads, or do not, as an option of a pool."""
    kind = rng.choice(["well", "roughly", "wrongly", "not"])
    told = {
        "well": spread,
        "roughly": spread * np.exp(rng.normal(0, 1, len(spread))),
        "wrongly": rng.permutation(spread),
    }
    return {} if kind == "not" else {"scores": told[str(kind)]}


def made(seed: int, number: int) -> Made:
    """Make a pool from distributions."""
    rng = np.random.default_rng([91, seed, number])
    n = int(np.exp(rng.uniform(np.log(400), np.log(20_000))))
    spread = _spread(rng, n)
    e = _errors(rng, spread)
    predicted = rng.normal(size=n) * np.exp(rng.uniform(np.log(0.5), np.log(6)))
    labels = predicted + e + (rng.normal(0, 0.3) if rng.random() < 0.5 else 0.0)
    pool = ba.Pool(predictions=predicted, bounds=(-np.inf, np.inf), **_told(rng, spread))
    return Made(pool, labels, _kurtosis(labels - predicted))


def fitted(seed: int, number: int) -> Made:
    """Fit a regression to data that are made, and let it predict others."""
    from sklearn import datasets, ensemble, linear_model, neighbors, tree
    from threadpoolctl import threadpool_limits

    rng = np.random.default_rng([92, seed, number])
    state = {"random_state": int(rng.integers(2**31))}
    n_trained, n = (
        int(np.exp(rng.uniform(np.log(80), np.log(1500)))),
        int(np.exp(rng.uniform(np.log(400), np.log(6000)))),
    )
    data = [datasets.make_friedman1, datasets.make_friedman2, datasets.make_friedman3, datasets.make_regression]
    x, y = data[rng.integers(4)](n_samples=n_trained + n, **state)[:2]
    y = y / y.std()
    spread = _spread(rng, len(y))
    y = y + rng.uniform(0.05, 0.7) * _errors(rng, spread)
    if rng.random() < 0.3:  # such as prices
        y = np.exp(np.clip(rng.uniform(0.4, 1.2) * (y - y.mean()), -8, 8))
    fits = [
        lambda: ensemble.RandomForestRegressor(30, **state),
        lambda: ensemble.HistGradientBoostingRegressor(max_iter=60, **state),
        lambda: neighbors.KNeighborsRegressor(5),
        lambda: tree.DecisionTreeRegressor(min_samples_leaf=3, **state),
        lambda: linear_model.Ridge(),
    ]
    with threadpool_limits(1):  # threads that bin features set filters of warnings aside for one another
        fit = fits[number % len(fits)]().fit(x[:n_trained], y[:n_trained])
    predicted, labels, told = fit.predict(x[n_trained:]), y[n_trained:], _told(rng, spread[n_trained:])
    if hasattr(fit, "estimators_") and rng.random() < 0.7:  # how far trees differ
        told = {"scores": np.std([one.predict(x[n_trained:]) for one in fit.estimators_], axis=0)}
    pool = ba.Pool(predictions=predicted, bounds=(-np.inf, np.inf), **told)
    return Made(pool, labels, _kurtosis(labels - predicted))


KINDS = {"made": made, "fitted": fitted}


def _kurtosis(e: np.ndarray) -> float:
    return float((e**4).mean() / (e**2).mean() ** 2)


def row(kind: str, seed: int, number: int, design: str) -> dict[str, object]:
    """Run a campaign."""
    one, asked = KINDS[kind](seed, number), ba.Metric(list(MEASURES))
    truth, session = asked.truth(one.pool, one.labels), ba.assess(one.pool, asked, design=design, seed=number)
    looks = []
    for look in LOOKS:
        if look > len(one.labels) / 2:
            break
        ids = session.ask(look - session.labels_used).ids
        session.tell(ids, one.labels[ids])
        answer = session.result().evidence.answer
        parts = (truth, answer.value, answer.variance, answer.rise, answer.fall, *answer.possible.T)
        numbers = [[float(f"{x:.5g}") for x in part] for part in parts]
        looks.append({"labels": session.labels_used, "draws": float(answer.n_draws), "numbers": numbers})
    key = {"seed": seed, "kind": kind, "pool": number, "design": design}
    return {**key, "items": len(one.labels), "kurtosis": round(one.kurtosis, 2), "looks": looks}


def estimates(rows: list[dict[str, Any]], look: int) -> tuple[Estimate, np.ndarray, list[int]]:
    """Put what the rows say at a look into an estimate, (R, k), with the truths, and say which rows these are."""
    which = [i for i, one in enumerate(rows) if len(one["looks"]) > look]
    at = [rows[i]["looks"][look] for i in which]
    truth, value, variance, rise, fall, least, most = np.moveaxis([one["numbers"] for one in at], 1, 0)
    labels, size = np.array([[one["labels"] for one in at], [rows[i]["items"] for i in which]], float)
    unlike = np.array([weighted_numbers._EXPECTED.get(name, 0.0) for name in MEASURES])
    estimate = Estimate(
        value,
        variance,
        None,
        rise,
        fall,
        np.isfinite(value),
        np.array([one["draws"] for one in at]),
        np.zeros(len(at), bool),
        possible=np.stack([least, most], axis=-1),
        expected_variance=((1 - labels / size) / labels)[:, None] * unlike * value**2,
    )
    return estimate, truth, which


def variants(estimate: Estimate, ranges: Any, vary: bool) -> Iterator[tuple[str, np.ndarray]]:
    """Yield intervals, (R, k, 2)."""
    yield "labels alone", weighted_numbers.numbers_interval(estimate._replace(expected_variance=None), ranges)
    yield "with expected variances", weighted_numbers.numbers_interval(estimate, ranges)
    kept, unlike = weighted_numbers._BESIDE, weighted_numbers._EXPECTED["mean_squared_error"]
    for other, beside in VARIED if vary else ():
        weighted_numbers._BESIDE = beside
        changed = estimate._replace(expected_variance=estimate.expected_variance * other / unlike)
        yield f"{other:g} beside {beside:g}", weighted_numbers.numbers_interval(changed, ranges)
    weighted_numbers._BESIDE = kept


def report(rows: list[dict[str, Any]], vary: bool) -> str:
    """Tabulate by measure, kind of pool and design."""
    lines, ranges = [], ba.Metric(list(MEASURES)).for_pool(made(1, 0).pool).spec.ranges
    parts = {f"{k}, {d}": [r for r in rows if (r["kind"], r["design"]) == (k, d)] for k in KINDS for d in DESIGNS}
    parts["errors of a kurtosis below 5"] = [one for one in rows if one["kurtosis"] < 5]
    parts["errors of a kurtosis above 20"] = [one for one in rows if one["kurtosis"] > 20]
    parts["all"] = rows
    parts = {part: own for part, own in parts.items() if own}
    for k, measure in enumerate(MEASURES):
        lines += ["", f"| {measure} | intervals | held at 30, 60, 120, 300 labels | score | geometric mean | width |"]
        lines.append("|---|---|---|---|---|---|")
        for part, own in parts.items():
            found: dict[str, list[str]] = {}
            for look in range(max(len(one["looks"]) for one in own)):
                estimate, truth, _ = estimates(own, look)
                t, first = np.abs(truth[:, k] - (1 if measure == "r2" else 0)), None
                for name, ends in variants(estimate, ranges, vary):
                    low, high = ends[:, k].T
                    beyond = np.maximum(low - truth[:, k], 0) + np.maximum(truth[:, k] - high, 0)
                    width, score = (high - low) / t, (high - low + MISS * beyond) / t
                    first = (score, width) if first is None else first
                    more = score / first[0].mean()
                    error = (score - first[0]).std() / first[0].mean() / np.sqrt(len(score))
                    said = (
                        f".{(beyond <= 0).mean() * 1000:03.0f}",
                        f"{more.mean():.2f} ({error:.2f})",
                        f"{np.exp(np.log(score / first[0]).mean()):.2f}",
                        f"{np.exp(np.log(width / first[1]).mean()):.2f}",
                    )
                    found.setdefault(name, []).append(said)
            for name, said in found.items():
                cells = [" ".join(column) for column in zip(*said, strict=True)]
                lines.append(f"| {part}, {len(own)} | {name} | {' | '.join(cells)} |")
    return "\n".join(lines)


def main(arguments: list[str] | None = None) -> None:
    """Run campaigns, or report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_row_options(parser, "benchmarks/results/number_tails.jsonl")
    parser.add_argument("--pools", type=int, default=200, help="of every kind")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--vary", action="store_true", help="other expected variances, too")
    options = parser.parse_args(arguments)
    if options.report:
        print(report([one for one in read_rows(options.rows) if one["seed"] == options.seed], options.vary))
        return
    warnings.simplefilter("ignore")
    rows, clock = Rows(options.rows, KEY), Clock(options.minutes)
    every = product(range(options.pools), KINDS, DESIGNS)
    for number, kind, design in sharded(list(every), options.shard):
        if dict(zip(KEY, (options.seed, kind, number, design), strict=True)) in rows:
            continue
        if clock.over:
            print(f"Stopped after {options.minutes:g} minutes; the same command goes on.")
            return
        rows.add(row(kind, options.seed, number, design))


if __name__ == "__main__":
    main()
