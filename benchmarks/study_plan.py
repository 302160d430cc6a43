"""Plans against what campaigns then needed: labels until the interval is a half, or a third, of what it is now.

    BAYES_ASSESS_POOLS=folder python benchmarks/study_plan.py [--campaigns 4] [--labels 50 100] [--shrink 0.5 0.33]
        [--pools abt_buy 20news] [--measures f1 rate accuracy overall]
    BAYES_ASSESS_ZOO=benchmarks/fitted_pools.py python benchmarks/study_plan.py --zoo 8 [--seed 77] --labels 0 50
        --measures f1 recall precision ...
    python benchmarks/study_plan.py --verdicts 14 [--seed 5] --labels 0 20 60 --measures f1 recall precision --batch 5

The folder holds pools as .npz files with `labels`, and `scores` of all classes or `probability` and `predictions` of
the positive one, see `tournament.py`. A session is told some labels and plans; then it is continued, by the same step,
with the true labels until the interval is as narrow as planned for. A row has the pool, what is measured, labels told,
the width planned for, labels expected with their range, labels that were needed, and the ratio of the two. Below, by
measure and labels told, the median of the ratio, the middle half of the ratios, and the share of campaigns that ended
in the range, which is to be nine of ten. With --batch labels come that many at a time, as people ask for them, and with
--minutes the study ends by itself. Without pools nothing is run.

With --verdicts two systems are compared, on so many pools of every kind of `_system_pools.py`, until the verdict has
the probability .95. Campaigns of which it has not after 300 labels count as if that were then.
"""

from __future__ import annotations

import argparse
import math
import os
import sys
import time
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from _pools import binaries, wholes, zoo
from _system_pools import pools as pools_of_two

import bayes_assess as ba
from bayes_assess.errors import BudgetError
from bayes_assess.sessions.planning import Present, followed, futures_of, labels_needed
from bayes_assess.studies.goals import Goal

MEASURES = ("f1", "rate", "accuracy", "overall")
COLUMNS = ("pool", "measure", "labels", "width", "expected", "lower", "upper", "needed", "ratio")
STEP, BATCH = 10, 5  # labels told at a time, and where verdicts are asked for
MOST = 6  # times as many as the range says are waited for
SURE, ROPE, LAST = 0.95, 0.05, 300  # of a verdict: its probability, what counts as none, and labels at most
LARGEST, WIDTH = 60_000, 0.2  # items of a pool of a generator, and the width without a label


def asked_of_zoo(n: int, seed: int, measures: list[str]) -> Iterator[tuple[str, str, ba.Pool, np.ndarray, Any, str]]:
    """Yield the same of pools of a generator that are not too large to follow."""
    for name, binary in zoo(n, seed):
        if len(binary.labels) <= LARGEST:
            for measure in measures:
                yield name, measure, binary.pool, binary.labels, ba.Metric(measure), "widest"


def asked(folder: Path, measures: list[str]) -> Iterator[tuple[str, str, ba.Pool, np.ndarray, Any, str]]:
    """Yield pools with their labels, what is asked of them, and which interval is meant."""
    for name, binary in binaries(folder):
        if name.count(":") == 0 or name.endswith(":0"):
            for measure in {"f1", "rate"} & set(measures):
                yield name, measure, binary.pool, binary.labels, ba.Metric(measure), "widest"
    for name, pool, labels in wholes(folder):
        if "accuracy" in measures:
            yield name, "accuracy", pool, labels, ba.Metric("accuracy"), "widest"
        if "overall" in measures:
            yield name, "overall", pool, labels, ba.GroupAccuracy(), "overall"


def label(session: Any, labels: np.ndarray, n: int) -> None:
    """Ask for `n` items and tell their labels; for one where fewer are left that can tell anything."""
    try:
        queries = session.ask(n)
    except BudgetError:
        queries = session.ask(1)
    session.tell(queries.ids, labels[session.pool.positions(queries.ids)])


def told(pool: ba.Pool, labels: np.ndarray, question: Any, n: int, seed: int) -> Any:
    """Return a session that has been told `n` labels, or as many as there is anything to learn from."""
    session = ba.assess(pool, question, seed=seed)
    while session.labels_used < n and np.ptp(session.result().interval).any():
        label(session, labels, min(STEP, n - session.labels_used))
    return session


def width_now(session: Any, of: str) -> float:
    """Return how wide the interval is."""
    result = session.result()
    return float(np.diff(result.overall[1] if of == "overall" else result.interval)[0])


def in_batches(session: Any, labels: np.ndarray, width: float, of: str, batch: int, most: float) -> float:
    """Return the labels that a session needs further, asked for in batches; infinite if more than `most`."""
    first = session.labels_used
    while width_now(session, of) > width:
        if session.labels_used - first > most:
            return math.inf
        label(session, labels, batch)
    return float(session.labels_used - first)


def compare(session: Any, labels: np.ndarray, of: str, shrink: float, batch: int) -> tuple[Any, float]:
    """Return the plan, and the labels that were needed; infinite where they were not seen to be enough."""
    now = width_now(session, of)
    width = shrink * now if session.labels_used else WIDTH
    plan = session.plan(width=width, of=of)
    if batch:
        return plan, in_batches(session, labels, width, of, batch, MOST * max(plan.labels.upper, STEP))
    goal = Goal.checked(session.question, session.cells, width, None, of, 0.95)
    present = Present.of(session)
    codes = session.pool.label_space.complete_codes(labels, session.pool.n_items)
    full = session.question.full_counts(session.pool, session.cells, codes, session._setting.n_outcomes)
    future = futures_of(session, present, goal, (full - np.asarray(present.state.counts))[None], one_by_one=True)
    seen, _, values = followed(session, present, goal, future)
    return plan, float(labels_needed(goal, seen, values, present.n_items)[0]) - present.n_told


def widths(
    pools: Iterator[tuple[str, str, ba.Pool, np.ndarray, Any, str]], options: argparse.Namespace
) -> Iterator[tuple[str, str, int, Any, float]]:
    """Yield pools, measures, labels told, plans of a width, and how many labels it took further."""
    for name, measure, pool, labels, question, of in pools:
        if options.pools and name.split(":")[0] not in options.pools:
            continue
        for n in options.labels:
            for seed in range(options.campaigns):
                for shrink in options.shrink if n else options.shrink[:1]:
                    session = told(pool, labels, question, n, seed)
                    if not width_now(session, of):
                        break
                    yield name, measure, n, *compare(session, labels, of, shrink, options.batch)


def verdicts(
    n: int, seed: int, measures: list[str], looks: list[int], batch: int
) -> Iterator[tuple[str, str, int, Any, float]]:
    """Yield pools, measures, labels told, plans of a verdict, and how many labels it took further."""
    for name, two in pools_of_two(n, seed):
        for measure in measures if len(two.labels) <= LARGEST else ():
            session: Any = ba.assess(two.pool, ba.Compare("new", "prediction", measure=measure, rope=ROPE), seed=0)
            plans: dict[int, Any] = {}
            while session.labels_used < LAST and (session.result().probability < SURE or not session.labels_used):
                if session.labels_used in looks and session.result().probability < SURE:
                    plans[session.labels_used] = session.plan(probability=SURE)
                try:
                    label(session, two.labels, batch)
                except BudgetError:  # nothing else can tell anything
                    break
            for told_then, plan in plans.items():
                yield name, measure, told_then, plan, float(session.labels_used - told_then)


def main() -> None:
    """Run the study on the pools of the folder."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--campaigns", type=int, default=4)
    parser.add_argument("--labels", nargs="*", type=int, default=(50, 100))
    parser.add_argument("--shrink", nargs="*", type=float, default=(0.5, 0.33))
    parser.add_argument("--pools", nargs="*")
    parser.add_argument("--zoo", type=int, help="pools of the generator that BAYES_ASSESS_ZOO names, and no folder")
    parser.add_argument("--verdicts", type=int, help="pools of two systems of every kind, and no folder")
    parser.add_argument("--seed", type=int, default=77, help="of the generator")
    parser.add_argument("--measures", nargs="*", default=MEASURES)
    parser.add_argument(
        "--batch", type=int, default=0, help="labels that come together, in a campaign of asks and tells"
    )
    parser.add_argument("--minutes", type=float, default=math.inf)
    options = parser.parse_args()
    folder = os.environ.get("BAYES_ASSESS_POOLS")
    if not (options.zoo or options.verdicts or folder):
        sys.exit("Set BAYES_ASSESS_POOLS to a folder of pools, or ask for --zoo or --verdicts; nothing was run.")
    end = time.monotonic() + 60 * options.minutes
    if options.verdicts:
        plans = verdicts(options.verdicts, options.seed, options.measures, options.labels, options.batch or BATCH)
    else:
        of_zoo = asked_of_zoo(options.zoo or 0, options.seed, options.measures)
        plans = widths(of_zoo if options.zoo else asked(Path(str(folder)), options.measures), options)
    print(",".join(COLUMNS))
    ratios, held = defaultdict(list), defaultdict(list)
    for name, measure, n, plan, needed in plans:
        ratio = plan.labels.expected / needed
        row = (name, measure, n, plan.goal, *plan.labels, needed, ratio)
        print(",".join(f"{value:.4g}" if isinstance(value, float) else str(value) for value in row))
        sys.stdout.flush()
        ratios[measure, n].append(ratio)
        held[measure, n].append(plan.labels.lower <= needed <= plan.labels.upper)
        if time.monotonic() > end:
            break
    print("\nmeasure,labels,campaigns,ratio,lower_quartile,upper_quartile,inside")
    for (measure, n), found in ratios.items():
        low, middle, high = np.exp(np.quantile(np.log(found), [0.25, 0.5, 0.75])) if found else [math.nan] * 3
        print(f"{measure},{n},{len(found)},{middle:.2f},{low:.2f},{high:.2f},{np.mean(held[measure, n]):.2f}")


if __name__ == "__main__":
    main()
