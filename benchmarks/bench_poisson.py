"""Water-filling of inclusion probabilities for pools of a million items and more.

Run: ``python benchmarks/bench_poisson.py`` for 10^6 and 10^7 items; ``--largest`` adds 10^8 (2.4 GB of memory).

Deviations have a long tail, so that half of the budget are saturated items. What is printed: seconds of the processor,
memory beyond the deviations and the result at its peak, by how much the sum misses the budget, and saturated items.
10^8 items shall take less than ten seconds.
"""

from __future__ import annotations

import argparse
import time
import tracemalloc

import numpy as np

from bayes_assess.acquisition.poisson import inclusion_of_deviations


def rows(n_items: int):
    rng = np.random.default_rng(0)
    deviation = rng.standard_exponential(n_items)
    np.exp(2 * deviation, out=deviation)  # a Pareto tail
    for budget in (1_000, n_items // 100, n_items // 2):
        tracemalloc.start()
        began = time.process_time()
        inclusion = inclusion_of_deviations(deviation, budget)
        spent = time.process_time() - began
        peak = tracemalloc.get_traced_memory()[1] - inclusion.nbytes
        tracemalloc.stop()
        saturated = int(np.count_nonzero(inclusion == 1))
        yield budget, spent, peak / 2**20, inclusion.sum() - budget, saturated


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Water-filling of inclusion probabilities.")
    parser.add_argument("--largest", action="store_true", help="also 10^8 items")
    sizes = [10**6, 10**7] + [10**8] * parser.parse_args().largest
    print("      items     budget  fill s    MiB  off budget  saturated")
    for size in sizes:
        for budget, spent, peak, off, saturated in rows(size):
            line = f"{size:11,} {budget:10,} {spent:7.2f} {peak:6.1f} {off:11.1e} {saturated:10,}"
            print(line, flush=True)
