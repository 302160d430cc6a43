"""Plans in fresh processes without a cache of compiled programs: processor seconds and what the plan says.

    python benchmarks/bench_plan.py [--questions f1 sites accuracy ...] [--labels 50 100] [--repeats 2]

A session on a pool of 20,000 items, or of 3,000 for thirty groups, is told some labels, ten at a time; then it plans
for an interval half as wide. Every figure is the least of some processes. Further questions take up to a minute: bins
of 55 groups, accuracy by 300 authors, and a mean rating (`--questions bins authors rating`).
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path

SCRIPT = """
import sys, time
import numpy as np
import bayes_assess as ba

rng = np.random.default_rng(0)
n = 20_000
labels = (rng.random(n) < 0.05).astype(int)
evidence = rng.normal(2.0 * labels, 1.0)
scores = 1 / (1 + np.exp(4 - 2.5 * evidence))
binary, by_site = ba.Pool(scores=scores), ba.Pool(scores=scores, groups={"site": np.arange(n) % 6})
classes = rng.integers(0, 5, n)
found = np.where(rng.random(n) < 0.8, classes, (classes + 1) % 5)
several = ba.Pool(predictions=found, confidence=rng.beta(5, 1, n), groups={"site": rng.integers(0, 8, n)})
site = rng.integers(0, 30, 3000)
thirty = ba.Pool(predictions=found[:3000], groups={"site": site}, classes=range(5))
if sys.argv[1] in ("bins", "authors"):
    author = rng.integers(0, 55 if sys.argv[1] == "bins" else 300, n)
    several = ba.Pool(predictions=found, confidence=rng.beta(5, 1, n), groups={"author": author})
rating = rng.beta(3, 2, n)
rated = ba.Pool(predictions=np.clip(rating + rng.normal(0, 0.1, n), 0, 1), bounds=(0, 1))
pool, labels, asked = {
    "f1": (binary, labels, lambda: ba.Metric("f1")),
    "sites": (by_site, labels, lambda: ba.Metric("f1", by="site")),
    "accuracy": (several, classes, lambda: ba.Metric("accuracy")),
    "groups": (several, classes, lambda: ba.GroupAccuracy(by="site")),
    "thirty": (thirty, classes, lambda: ba.GroupAccuracy(by="site")),
    "compare": (several, classes, lambda: ba.Compare(0, 1, by="site")),
    "pairs": (several, classes, lambda: ba.Compare(by="site")),
    "recall": (several, classes, lambda: ba.GroupRecall("site", positive=1)),
    "confusion": (several, classes, lambda: ba.ConfusionMatrix()),
    "calibration": (several, classes, lambda: ba.Calibration()),
    "bins": (several, classes, lambda: ba.Calibration(by="author")),
    "authors": (several, classes, lambda: ba.Metric("accuracy", by="author")),
    "rating": (rated, rating, lambda: ba.Mean()),
}[sys.argv[1]]
a = ba.assess(pool, asked(), seed=0)
while a.labels_used < int(sys.argv[2]):
    queries = a.ask(10)
    a.tell(queries.ids, labels[queries.ids])
width = np.diff(a.result().interval, axis=-1).max()
start = time.process_time()
plan = a.plan(width=width / 2)
print(time.process_time() - start, *plan.labels)
"""
QUESTIONS = ("f1", "sites", "accuracy", "groups", "thirty", "compare", "pairs", "recall", "confusion", "calibration")


def planned(question: str, labels: int, repeats: int) -> tuple[float, list[str]]:
    """Return the least processor time of some processes, and the labels expected with their range."""
    path = os.pathsep.join(filter(None, [str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH")]))
    environment = {**os.environ, "PYTHONPATH": path, "BAYES_ASSESS_CACHE": "off"}
    environment.pop("JAX_COMPILATION_CACHE_DIR", None)
    command = [sys.executable, "-c", SCRIPT, question, str(labels)]
    said = [
        subprocess.run(command, capture_output=True, text=True, env=environment, check=True).stdout.split()
        for _ in range(repeats)
    ]
    return min(float(seconds) for seconds, *_ in said), said[0][1:]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--questions", nargs="*", default=QUESTIONS)
    parser.add_argument("--labels", nargs="*", type=int, default=(50, 100))
    parser.add_argument("--repeats", type=int, default=2)
    options = parser.parse_args()
    for question in options.questions:
        for labels in options.labels:
            seconds, (expected, lower, upper) = planned(question, labels, options.repeats)
            print(f"{question:12} {labels:5}  {seconds:6.2f} s  {expected} ({lower} to {upper})", flush=True)


if __name__ == "__main__":
    main()
