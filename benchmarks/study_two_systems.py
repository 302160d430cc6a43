"""Which of two systems is better where scores are of one of them: beliefs by proper scores on a population of pools.

    BAYES_ASSESS_POOLS=folder BAYES_ASSESS_ZOO=zoo.py python benchmarks/study_two_systems.py [--set package]
        [--pools 14] [--seed 1] [--measure f1] [--campaigns 8] [--minutes 15] [--shard 0/2] [--rows two_systems.jsonl]
    ... --set "one curve" --one-curve
    ... --set verdicts --verdicts
    ... --set "of less use" --change group_mean=2.5
    ... --report

Pools are those of `_system_pools.py`: made ones whose systems see evidence that has more or less in common, new
versions of systems, classifiers that scikit-learn fitted, and those of a generator and a folder where the environment
names these. Campaigns by `variance_reduction`, 25 labels at a time, ask by how much "new" is above "prediction", and
are looked at with 50, 100 and 200 labels. --one-curve ranks items first by how many systems predict them positive,
whosever the score is, as is done where scores are of the predictions of none alone, or nearly as good for those of the
other; --verdicts takes what the other predicts for verdicts beside the score even there. --change replaces constants of
`Members.beside`.

--report compares sets with the first one on the pools that both have, by kind: the geometric mean of interval scores,
that of root mean squared errors, and the share of 95 % intervals that hold, with standard errors over pools.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import Any
from unittest import mock

import numpy as np
from _campaign_rows import LEVEL, scores_of
from _rows import Rows, add_row_options, read_rows, sharded, without_row
from _system_pools import TwoSystems, pools

import bayes_assess as ba
from bayes_assess._tools.compiled_cache import keep_compiled
from bayes_assess.models.curve_members import Members
from bayes_assess.pool.rank_strata import RankedScore

BUDGETS, BATCH, DESIGN = (50, 100, 200), 25, "variance_reduction"
KEY = ("set", "measure", "pool", "campaigns")
LEAST = 1e-3  # of an interval's score, in ratios: less does not matter


@contextmanager
def using(changes: dict[str, float], one_curve: bool, verdicts: bool) -> Iterator[None]:
    """Replace constants of the effects of other systems, or let all items follow one curve, or none."""
    beside = Members.beside

    def changed(members: Members) -> Members:
        found = beside(members)
        return replace(found, **{name: np.full_like(found.prior, value) for name, value in changes.items()})

    with ExitStack() as patches:
        patches.enter_context(mock.patch.object(Members, "beside", changed))
        if one_curve:
            patches.enter_context(mock.patch.object(RankedScore, "separates", False))
        if verdicts:
            patches.enter_context(mock.patch.object(RankedScore, "ranks_positives_of", return_value=False))
        yield


def campaigns_on(one: TwoSystems, measure: str, campaigns: int) -> dict[str, Any]:
    """Simulate campaigns on a pool, and score them."""
    begin, question = time.process_time(), ba.Compare("new", "prediction", measure=measure)
    budgets = [budget for budget in BUDGETS if 2 * budget < one.pool.n_items]
    study = ba.simulate(
        one.pool, one.labels, question, designs=DESIGN, budgets=budgets, repeats=campaigns, seed=1, batch=BATCH,
        level=LEVEL, progress=False,
    )  # fmt: skip
    scored = scores_of(study.estimates[DESIGN], study.intervals[DESIGN], float(study.truth))
    return {"truth": float(study.truth), "budgets": budgets, **scored, "processor": time.process_time() - begin}


def report(rows: list[dict[str, Any]]) -> str:
    """Compare sets with the first one."""
    lines = [
        "| measure | pools | set | labels | interval score | error | held |",
        "|---|---|---|--:|--:|--:|--:|",
    ]
    for measure in dict.fromkeys(row["measure"] for row in rows):
        sets: dict[str, dict[str, dict[str, Any]]] = {}
        for row in rows:
            if row["measure"] == measure:
                sets.setdefault(row["set"], {})[row["pool"]] = row
        first = next(iter(sets.values()))
        for kind in (*dict.fromkeys(name.split("-")[0].split(":")[0] for name in first), ""):
            for name, here in sets.items():
                for budget in BUDGETS:
                    pairs = [
                        (first[pool], row, row["budgets"].index(budget))
                        for pool, row in here.items()
                        if pool.startswith(kind) and pool in first and budget in row["budgets"]
                    ]
                    if pairs:
                        lines.append(f"| {measure} | {len(pairs)} {kind} | {name} | {budget} | {_compared(pairs)} |")
    return "\n".join(lines)


def _compared(pairs: list[tuple[dict[str, Any], dict[str, Any], int]]) -> str:
    """Write ratios of scores and of errors, and how many intervals hold."""
    score = [np.log(max(own["score"][b], LEAST) / max(base["score"][b], LEAST)) for base, own, b in pairs]
    error = [own["log_rmse"][b] - base["log_rmse"][b] for base, own, b in pairs]
    held, root = np.array([own["coverage"][b] for _, own, b in pairs]), np.sqrt(len(pairs))
    ratios = [f"{np.exp(np.mean(x)):.2f} ± {np.std(x) / root:.2f}" for x in (score, error)]
    return " | ".join([*ratios, f"{held.mean():.3f} ± {held.std() / root:.3f}"])


def main(arguments: list[str] | None = None) -> None:
    """Run a set, or report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_row_options(parser, "two_systems.jsonl")
    parser.add_argument("--set", default="package", help="what the belief is called")
    parser.add_argument("--one-curve", action="store_true", help="rank items by how many systems predict them positive")
    parser.add_argument("--verdicts", action="store_true", help="take what other systems predict for verdicts always")
    parser.add_argument("--change", nargs="*", default=[], metavar="COLUMN=NUMBER")
    parser.add_argument("--measure", default="f1")
    parser.add_argument("--pools", type=int, default=14, help="of every kind")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--campaigns", type=int, default=8)
    options = parser.parse_args(arguments)
    if options.report:
        print(report(read_rows(options.rows)))
        return
    keep_compiled()
    changes = {name: float(value) for name, _, value in (one.partition("=") for one in options.change)}
    key = {"set": options.set, "measure": options.measure, "campaigns": options.campaigns}
    population = sharded(pools(options.pools, options.seed), options.shard)
    cases = ((key | {"pool": name}, one) for name, one in population)
    rows = Rows(options.rows, KEY)
    with using(changes, options.one_curve, options.verdicts):
        for row, one in without_row(cases, rows, options.minutes):
            rows.add(row | campaigns_on(one, options.measure, options.campaigns) | {"facts": one.facts})


if __name__ == "__main__":
    main()
