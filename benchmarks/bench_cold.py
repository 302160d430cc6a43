"""First answers in fresh processes without a cache of compiled programs: processor seconds, by what is asked and how.

    python benchmarks/bench_cold.py [--repeats 3] [--questions f1 accuracy "f1 by design adaptive"] [--csv cold.csv]

Every figure is the least of some processes, each of which imports the package, makes a pool of 20,000 items, asks for
25, learns their labels and prints a summary, by the default design of its question unless another one is named. Beside
them stands ``import sklearn.metrics``, as a yardstick.
"""

from __future__ import annotations

import argparse
import compileall
import csv
import os
import subprocess
import sys
from pathlib import Path

SCRIPT = """
import sys, time
import numpy as np
import bayes_assess as ba

question, _, design = sys.argv[1].partition(" by design ")
rng = np.random.default_rng(0)
n = 20_000
labels = (rng.random(n) < 0.05).astype(int)
evidence = rng.normal(2.0 * labels, 1.0)
binary = ba.Pool(scores=1 / (1 + np.exp(4 - 2.5 * evidence)), groups={"site": rng.integers(0, 8, n)})
classes = rng.integers(0, 5, n)
found = np.where(rng.random(n) < 0.8, classes, (classes + 1) % 5)
several = ba.Pool(predictions=found, confidence=rng.beta(5, 1, n), groups={"site": rng.integers(0, 8, n)})
pool, labels, asked = {
    "f1": (binary, labels, lambda: ba.Metric("f1")),
    "f1 by group": (binary, labels, lambda: ba.Metric("f1", by="site")),
    "curve": (binary, labels, lambda: ba.PRCurve()),
    "accuracy": (several, classes, lambda: ba.Metric("accuracy")),
    "macro f1": (several, classes, lambda: ba.Metric("f1_macro")),
    "groups": (several, classes, lambda: ba.GroupAccuracy(by="site")),
    "worst group": (several, classes, lambda: ba.LeastAccurate(by="site")),
    "confusion": (several, classes, lambda: ba.ConfusionMatrix()),
    "calibration": (several, classes, lambda: ba.Calibration(by="site")),
    "rate": (binary, labels, lambda: ba.Rate(1)),
    "comparison": (several, classes, lambda: ba.Compare(0, 1, by="site")),
}[question]
a = ba.assess(pool, asked(), design=design or None, seed=0, engine=sys.argv[2])
queries = a.ask(25)
a.tell(queries.ids, labels[queries.ids])
a.result().summary()
print(time.process_time())
"""
ENGINES = ("eager", "compiled")
QUESTIONS = (
    "f1",
    "f1 by group",
    "curve",
    "accuracy",
    "macro f1",
    "groups",
    "worst group",
    "confusion",
    "calibration",
    "rate",
    "comparison",
    *(f"f1 by design {design}" for design in ("passive", "stratified", "importance", "poisson", "oasis", "adaptive")),
)
YARDSTICK = "import sklearn.metrics, time; print(time.process_time())"


def seconds(code: str, *arguments: str, repeats: int) -> float:
    """Return the least processor time of some processes."""
    root = str(Path(__file__).parents[1])
    path = os.pathsep.join(filter(None, [root, os.environ.get("PYTHONPATH")]))
    environment = {**os.environ, "PYTHONPATH": path, "BAYES_ASSESS_CACHE": "off"}
    environment.pop("JAX_COMPILATION_CACHE_DIR", None)
    command = [sys.executable, "-c", code, *arguments]
    found = [
        float(subprocess.run(command, capture_output=True, text=True, env=environment, check=True).stdout)
        for _ in range(repeats)
    ]
    return min(found)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--questions", nargs="*", default=list(QUESTIONS))
    parser.add_argument("--csv")
    options = parser.parse_args()
    compileall.compile_dir(Path(__file__).parents[1] / "bayes_assess", quiet=1)  # to bytecode, as installing does
    rows = []
    for question in options.questions:
        for engine in ENGINES:
            taken = seconds(SCRIPT, question, engine, repeats=options.repeats)
            rows.append((question, engine, round(taken, 2)))
            print(f"{question:25}  {engine:8}  {taken:5.2f} s", flush=True)
    print(f"import sklearn.metrics  {seconds(YARDSTICK, repeats=options.repeats):5.2f} s")
    if options.csv:
        with open(options.csv, "w", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows([("question", "engine", "seconds"), *rows])


if __name__ == "__main__":
    main()
