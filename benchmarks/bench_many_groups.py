"""Campaigns of thousands of groups in fresh processes: processor seconds, and gigabytes at the most.

    python benchmarks/bench_many_groups.py [--groups 1000 4000] [--items 200000]

A session of F1 by group asks for 20 items, learns their labels and answers; one of `LeastCalibrated` with five bins of
every group asks for 20 one after the other. Whoever compares two versions runs both at once, and looks at ratios.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path

SCRIPT = """
import resource, sys, time
import numpy as np
import bayes_assess as ba

question, n_groups, n = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
rng = np.random.default_rng(0)
labels = (rng.random(n) < 0.2).astype(int)
scores = 1 / (1 + np.exp(2 - 2 * rng.normal(2.0 * labels, 1.0)))
pool = ba.Pool(scores=scores, groups={"site": rng.integers(0, n_groups, n)})
asked = {"f1": lambda: ba.Metric("f1", by="site"), "calibration": lambda: ba.LeastCalibrated("site", bins=5)}[question]
start = time.process_time()
a, seconds = ba.assess(pool, asked(), seed=0), []
for batch in [20] if question == "f1" else [1] * 20:
    queries = a.ask(batch)
    a.tell(queries.ids, labels[queries.ids])
seconds.append(time.process_time() - start)
if question == "f1":
    start = time.process_time()
    a.result().interval
    seconds.append(time.process_time() - start)
print(a.cells.n_cells, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6, *seconds)
"""


def measured(question: str, n_groups: int, n_items: int) -> list[float]:
    """Return cells, gigabytes, and seconds of 20 labels, and of an answer."""
    path = os.pathsep.join(filter(None, [str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH")]))
    command = [sys.executable, "-c", SCRIPT, question, str(n_groups), str(n_items)]
    said = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": path}, check=True)
    return [float(number) for number in said.stdout.split()]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--groups", nargs="*", type=int, default=(1000, 4000))
    parser.add_argument("--items", type=int, default=200_000)
    options = parser.parse_args()
    for question in ("f1", "calibration"):
        for n_groups in options.groups:
            cells, memory, asking, *answer = measured(question, n_groups, options.items)
            result = "".join(f", an answer {seconds:.1f} s" for seconds in answer)
            of = f"{question} of {n_groups} groups, {cells:.0f} cells"
            print(f"{of:45} {memory:4.1f} GB, 20 labels {asking:5.1f} s{result}", flush=True)


if __name__ == "__main__":
    main()
