"""Campaigns of the adaptive design for F1 on two pools of different size: the time should not follow the size.

    BAYES_ASSESS_POOLS=folder python benchmarks/bench_adaptive.py [--campaigns 1000] [--labels 2000]

The folder holds ``abt_buy.npz`` and ``amzn_goog.npz`` (arrays ``probability``, ``predictions`` and ``labels``). Without
the variable, random pools of the same sizes and as few positives serve. Compiling is timed apart: the first of two
calls with the same shapes and next to no labels, less the second.
"""

from __future__ import annotations

import argparse
import os
import time
from pathlib import Path

import numpy as np

import bayes_assess as ba
from bayes_assess.designs import Adaptive

POOLS = {"abt_buy": (53_753, 50), "amzn_goog": (676_267, 225)}  # items, positives of the random pools
DESIGN = Adaptive(depth=8)


def load(name: str) -> tuple[ba.Pool, np.ndarray]:
    """Read a pool and its labels, or make up ones of the same size."""
    folder = os.environ.get("BAYES_ASSESS_POOLS")
    if folder:
        with np.load(Path(folder) / f"{name}.npz") as file:
            return ba.Pool(scores=file["probability"], predictions=file["predictions"]), file["labels"]
    n_items, n_positives = POOLS[name]
    rng = np.random.default_rng(0)
    labels = np.zeros(n_items, int)
    labels[:n_positives] = 1
    logit = rng.normal(6.0 * labels - 4.0, 1.5)
    return ba.Pool(scores=1 / (1 + np.exp(-logit)), predictions=(logit > 0).astype(int)), labels


def timed(pool: ba.Pool, labels: np.ndarray, campaigns: int, budgets: list[int]) -> tuple[ba.Study, float]:
    """Run a study; return it with its seconds."""
    start = time.perf_counter()
    study = ba.simulate(pool, labels, ba.Metric("f1"), designs={"": DESIGN}, budgets=budgets, repeats=campaigns)
    return study, time.perf_counter() - start


def main() -> None:
    """Time both pools."""
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("--campaigns", type=int, default=1000)
    parser.add_argument("--labels", type=int, default=2000)
    options = parser.parse_args()
    budgets = [options.labels * part // 4 for part in (1, 2, 3, 4)]
    found = {}
    for name in POOLS:
        pool, labels = load(name)
        print(f"{name}: {pool.n_items:,} items")
        first, again = (timed(pool, labels, options.campaigns, [1, 2, 3, 4])[1] for _ in range(2))
        study, found[name] = timed(pool, labels, options.campaigns, budgets)
        mse, coverage = study.scores[""]["mse"][:, -1].mean(), study.coverage[""][-1]
        print(f"  MSE {mse:.2g} and coverage {coverage:.1%} at {budgets[-1]:,} labels")
        each = 1e6 * found[name] / (options.campaigns * options.labels)
        print(f"  {found[name]:.0f} s, {each:.0f} microseconds per label; compiling {first - again:.0f} s more, once")
    print(f"The larger pool takes {found['amzn_goog'] / found['abt_buy']:.2f} times as long.")


if __name__ == "__main__":
    main()
