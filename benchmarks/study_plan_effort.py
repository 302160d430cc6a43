"""Plans of a measure by group with the short moves of futures against plans with the moves of a session.

    python benchmarks/study_plan_effort.py [--pools 9] [--labels 100] [--groups 4]

Made pools of 20,000 items, of which 2, 5 or 20 % are positive, with scores that tell these apart more or less well. A
session of F1 by group is told some labels, and plans for intervals half as wide, in both ways. A row has the processor
seconds and the labels expected with their range, in both; the last one the ratios of both, in the geometric mean.
"""

from __future__ import annotations

import argparse
import time
from unittest import mock

import numpy as np

import bayes_assess as ba
from bayes_assess.models import curve_blocks
from bayes_assess.models._numerics import particles as smc

N_ITEMS, STEP = 20_000, 10
AS_SESSIONS = curve_blocks.Effort(negligible=1e-3, uneven=0.35, n_group_steps=smc.N_GROUP_STEPS)


def told(seed: int, n_groups: int, n_labels: int) -> ba.Assessment:
    """Return a session on a made pool."""
    rng = np.random.default_rng(seed)
    share, apart = rng.choice([0.02, 0.05, 0.2]), rng.uniform(1, 3)
    labels = (rng.random(N_ITEMS) < share).astype(int)
    scores = 1 / (1 + np.exp(4 - 2.5 * rng.normal(apart * labels, 1.0)))
    pool = ba.Pool(scores=scores, groups={"site": rng.integers(0, n_groups, N_ITEMS)})
    session = ba.assess(pool, ba.Metric("f1", by="site"), seed=seed)
    while session.labels_used < n_labels:
        queries = session.ask(STEP)
        session.tell(queries.ids, labels[queries.ids])
    return session


def planned(session: ba.Assessment) -> tuple[float, tuple[float, float, float]]:
    """Return the processor seconds of a plan, and the labels that it expects with their range."""
    start = time.process_time()
    plan = session.plan(width=float(np.diff(session.result().interval, axis=-1).max()) / 2)
    return time.process_time() - start, plan.labels


def main() -> None:
    """Print a row per pool."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pools", type=int, default=9)
    parser.add_argument("--labels", type=int, default=100)
    parser.add_argument("--groups", type=int, default=4)
    options = parser.parse_args()
    logs = []
    for seed in range(100, 100 + options.pools):
        session = told(seed, options.groups, options.labels)
        short, labels = planned(session)
        with mock.patch.object(curve_blocks.Effort, "of", return_value=AS_SESSIONS):
            long, labels_of_long = planned(session)
        logs.append(np.log([short / long, labels[0] / labels_of_long[0]]))
        print(f"{short:6.1f} s {labels}   {long:6.1f} s {labels_of_long}", flush=True)
    mean, error = np.mean(logs, axis=0), np.std(logs, axis=0, ddof=1) / len(logs) ** 0.5
    print(f"time {np.exp(mean[0]):.2f} ± {error[0]:.2f}, labels {np.exp(mean[1]):.2f} ± {error[1]:.2f}")


if __name__ == "__main__":
    main()
