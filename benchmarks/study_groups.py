"""Constants of groups in calibration curves (`Members.apart`) on a population of pools of some groups.

    python benchmarks/study_groups.py [--set package] [--pools 64] [--minutes 15] [--rows groups.jsonl]
    ... --set "alike in slope" --change group_slope_sd=0
    ... --set "alike in slope" --groups 8 --measure recall --levels-alone
    ... --report

Pools are made: 800 to 4,000 items in groups of unlike sizes, which are alike, or whose log odds scatter by 0.5, 1 or 2:
those of an error that no score announces, those of a positive label at the same score, or of what the score is worth.
A campaign per pool asks for F1, or another measure, of every group, and is looked at with 30 and 120 labels if there
are four groups, and in proportion. --change replaces constants of all members. With --levels-alone scores are taken to
tell as much in all of more than eight groups, of which predicted positives and the others of a group are two.
--report compares sets with the first one on the pools that both have: shares of 95 % intervals that hold, their mean
width and interval score, and the mean difference of scores, with standard errors over pools.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from _rows import Rows, add_row_options, read_rows, sharded, without_row
from scipy.special import expit, logit

import bayes_assess as ba
from bayes_assess.models.curve_members import Members
from bayes_assess.models.curve_rates import Coordinates

LOOKS, BATCHES = (30, 120), (10, 30)  # of four groups
FOUR = 4  # groups, unless said
KEY = ("set", "measure", "groups", "pool")
SPREADS = (0.0, 0.5, 1.0, 2.0)  # of log odds between groups
KINDS = ("errors", "levels", "errors", "slopes")
MISS = 2 / (1 - 0.95)  # what an interval's score adds for every unit that the truth lies outside


class Grouped(NamedTuple):
    """A pool of groups with its labels, and how groups differ."""

    pool: ba.Pool
    labels: np.ndarray
    spread: float
    kind: str


def made(seed: int, n_groups: int = FOUR) -> Grouped:
    """Make a pool; of more than four groups it is as much larger.

    Examples
    --------
    >>> one = made(3)
    >>> f1 = ba.Metric("f1", by="site", positive=1).truth(one.pool, one.labels)
    >>> one.spread, one.kind, one.pool.n_items, f1.round(2).tolist()
    (2.0, 'errors', 1577, [0.41, 0.35, 0.38, 0.3])
    """
    rng = np.random.default_rng([77, seed])
    n, share = int(rng.integers(800, 4000)) * n_groups // FOUR, rng.dirichlet(np.full(n_groups, 2.0)) + 0.05
    group = rng.choice(n_groups, n, p=share / (1 + 0.05 * n_groups))
    spread, kind = SPREADS[seed % 4], KINDS[seed // 4 % 4]
    chance = np.clip(rng.beta(0.4 * rng.uniform(0.5, 1.5), 1.0 + 2 * rng.random(), n), 1e-6, 1 - 1e-6)
    effect = rng.normal(0, spread, n_groups)
    if kind == "errors":
        wrong = expit(logit(rng.uniform(0.02, 0.15)) + effect)[group]
        labels = (rng.random(n) < chance) ^ (rng.random(n) < wrong)
    elif kind == "levels":
        labels = rng.random(n) < expit(logit(chance) + effect[group])
    else:
        labels = rng.random(n) < expit(logit(chance) * np.exp(0.6 * effect[group]))
    score = chance if rng.random() < 0.6 else expit(2.5 * logit(chance))
    scores, predictions = np.stack([1 - score, score], 1), (score >= 0.5).astype(int)
    pool = ba.Pool(predictions=predictions, scores=scores, classes=[0, 1], groups={"site": group})
    return Grouped(pool, labels.astype(int), spread, kind)


@contextmanager
def using(changes: dict[str, float], levels_alone: bool = False) -> Iterator[None]:
    """Let groups differ by other constants, and by levels alone if there are more than eight."""
    own, effects = Members.apart, Coordinates.group_effects

    def apart(members: Members) -> Members:
        return replace(own(members), **{name: np.full_like(members.prior, value) for name, value in changes.items()})

    def fewer(coordinates: Coordinates) -> tuple[str, ...]:
        return effects.fget(coordinates._replace(own_slopes=np.zeros(0, np.int32)))

    Members.apart = apart
    if levels_alone:
        Coordinates.group_effects = property(fewer)
    try:
        yield
    finally:
        Members.apart, Coordinates.group_effects = own, effects


def campaign(one: Grouped, seed: int, measure: str = "f1") -> dict[str, Any]:
    """Ask, label, and say what every look found of the groups: lists (2, G)."""
    begin, found = time.process_time(), []
    asked = ba.Metric(measure, by="site", positive=1)
    truth, n_groups = np.asarray(asked.truth(one.pool, one.labels)), one.pool.groups["site"].max() + 1
    session = ba.assess(one.pool, asked, seed=seed, engine="eager")
    for look, batch in zip(LOOKS, BATCHES, strict=True):
        while session.labels_used < look * n_groups // FOUR:
            ids = session.ask(batch * n_groups // FOUR).ids
            session.tell(ids, one.labels[ids])
        result = session.result()
        low, high = np.asarray(result.interval).T
        outside = np.maximum(low - truth, 0) + np.maximum(truth - high, 0)
        error = np.asarray(result.estimate) - truth
        found.append((outside <= 1e-12, high - low, high - low + MISS * outside, error))
    held, width, score, error = (np.stack(column).tolist() for column in zip(*found, strict=True))
    return {"held": held, "width": width, "score": score, "error": error, "seconds": time.process_time() - begin}


def report(rows: list[dict[str, Any]]) -> str:
    """Compare sets with the first one, for every measure and number of groups."""
    kinds: dict[tuple[str, int], list[dict[str, Any]]] = {}
    for row in rows:
        kinds.setdefault((row.get("measure", "f1"), row.get("groups", FOUR)), []).append(row)
    if len(kinds) == 1:
        return _report(rows, *(n for _, n in kinds))
    return "\n".join(f"{measure} of {n} groups\n{_report(some, n)}" for (measure, n), some in kinds.items())


def _report(rows: list[dict[str, Any]], n_groups: int) -> str:
    sets: dict[str, dict[int, dict[str, Any]]] = {}
    for row in rows:
        sets.setdefault(row["set"], {})[row["pool"]] = row
    first, lines = next(iter(sets.values())), []
    for name, held in sets.items():
        pools = sorted(set(held) & set(first))
        for i, look in enumerate(LOOKS):
            share, width, score = (
                np.array([np.mean(held[pool][column][i]) for pool in pools]) for column in ("held", "width", "score")
            )
            more = score - np.array([np.mean(first[pool]["score"][i]) for pool in pools])
            error = np.sqrt(np.mean([np.square(held[pool]["error"][i]) for pool in pools]))
            spreads = np.array([held[pool]["spread"] for pool in pools])
            by_spread = " ".join(f"{share[spreads == s].mean():.2f}" for s in SPREADS if (spreads == s).any())
            lines.append(
                f"{name}, {len(pools)} pools, {look * n_groups // FOUR} labels: held {share.mean():.3f} (by spread "
                f"{by_spread}), width {width.mean():.3f}, RMSE {error:.3f}, score {score.mean():.3f}, more than the "
                f"first's by {more.mean():+.3f} +- {more.std() / np.sqrt(len(pools)):.3f}"
            )
    return "\n".join(lines)


def main(arguments: list[str] | None = None) -> None:
    """Run a set, or report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_row_options(parser, "groups.jsonl")
    parser.add_argument("--set", default="package", help="what the constants are called")
    parser.add_argument("--change", nargs="*", default=[], metavar="COLUMN=NUMBER")
    parser.add_argument("--levels-alone", action="store_true", help="differ between more than eight groups")
    parser.add_argument("--measure", default="f1")
    parser.add_argument("--groups", type=int, default=FOUR)
    parser.add_argument("--pools", type=int, default=64)
    options = parser.parse_args(arguments)
    if options.report:
        print(report(read_rows(options.rows)))
        return
    rows = Rows(options.rows, KEY)
    of_all = {"set": options.set, "measure": options.measure, "groups": options.groups}
    seeds = ((of_all | {"pool": seed}, seed) for seed in sharded(range(options.pools), options.shard))
    changes = {name: float(value) for name, _, value in (one.partition("=") for one in options.change)}
    with using(changes, options.levels_alone):
        for row, seed in without_row(seeds, rows, options.minutes):
            one = made(seed, options.groups)
            rows.add(row | {"spread": one.spread, "kind": one.kind, **campaign(one, seed, options.measure)})


if __name__ == "__main__":
    main()
