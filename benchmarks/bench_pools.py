"""Studies of one pool after another, in a process that has compiled nothing: processor seconds of each.

    BAYES_ASSESS_CACHE=off python benchmarks/bench_pools.py [--pools 3] [--designs variance_reduction importance]

Pools have about as many cells, and compile one program: the first study pays for it. The ratio of the first to the mean
of the others is what that is worth.
"""

from __future__ import annotations

import argparse
import time

import numpy as np

import bayes_assess as ba


def pool_of(seed: int, n: int = 3_000) -> tuple[ba.Pool, np.ndarray]:
    """Make a pool of scores with three digits, of which as many differ as the seed makes."""
    rng = np.random.default_rng(seed)
    scores = np.round(rng.beta(0.4 + 0.05 * seed, 3, n), 3)
    return ba.Pool(scores=scores), (rng.random(n) < scores).astype(int)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pools", type=int, default=3)
    parser.add_argument("--designs", nargs="*", default=["variance_reduction", "importance"])
    options = parser.parse_args()
    for design in options.designs:
        took = []
        for seed in range(options.pools):
            pool, labels = pool_of(seed)
            start = time.process_time()
            ba.simulate(pool, labels, ba.Metric("f1"), designs=[design], budgets=[50, 100], repeats=10, seed=0)
            took.append(time.process_time() - start)
        shown = " ".join(f"{seconds:.1f}" for seconds in took)
        print(f"{design}: {shown} s; the first takes {took[0] / np.mean(took[1:]):.0f} times as long as another")


if __name__ == "__main__":
    main()
