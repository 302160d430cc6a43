"""Replicated campaigns: `ba.simulate` beside the same algorithm as a plain NumPy loop, in one run.

    BAYES_ASSESS_POOLS=folder python benchmarks/bench_campaigns.py [--repeats 1000] [--imagenet]

The folder holds ``cifar100.npz``, ``20news.npz`` and, for ``--imagenet``, ``imagenet.npz``: arrays ``labels`` and
``predictions`` or ``scores``. Without the variable, random pools of the same shapes serve; the times are alike.

Every campaign labels the whole pool. Both ways are timed from the pool to the counts at 50 budgets, and their mean
scores are compared, so that the two times are times of the same thing. Compiling is timed apart: a call with the same
shapes and next to no labels, the first time less the second. The NumPy loop uses one core and bayes_assess two, so
processor time is given beside wall-clock time; it also suffers less from whatever else the machine is doing.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import bayes_assess as ba

N_BUDGETS = 50
CHECKED = (100, 1000, 3000)  # labels at which mean scores are compared
LANES = 256  # at least as many campaigns as `simulate` runs side by side, so that the first call compiles all


@dataclass(frozen=True)
class Case:
    """A pool, a question and how often to run both ways."""

    name: str
    question: ba.GroupAccuracy
    shape: tuple[int, int]  # items, classes
    scored: bool
    repeats: int
    numpy_repeats: int


def load(case: Case) -> tuple[ba.Pool, np.ndarray]:
    """Read a pool and its labels, or make up ones of the same shape."""
    folder = os.environ.get("BAYES_ASSESS_POOLS")
    if folder:
        with np.load(Path(folder) / f"{case.name}.npz") as file:
            labels = file["labels"]
            if "scores" in file.files:
                return ba.Pool(scores=file["scores"]), labels
            n_classes = 1 + int(max(labels.max(), file["predictions"].max()))
            return ba.Pool(predictions=file["predictions"], classes=range(n_classes)), labels
    n_items, n_classes = case.shape
    rng = np.random.default_rng(0)
    predictions = rng.integers(0, n_classes, n_items)
    accuracy = rng.beta(8, 3, n_classes)
    labels = np.where(rng.random(n_items) < accuracy[predictions], predictions, rng.integers(0, n_classes, n_items))
    if not case.scored:
        return ba.Pool(predictions=predictions, classes=range(n_classes)), labels
    scores = np.full((n_items, n_classes), 0.3 / (n_classes - 1))
    scores[np.arange(n_items), predictions] = 0.7
    return ba.Pool(scores=scores), labels


def numpy_campaign(
    rng: np.random.Generator,
    outcomes: list[np.ndarray],
    a: np.ndarray,
    b: np.ndarray,
    looks: np.ndarray,
    reward: Callable[..., np.ndarray],
) -> tuple[np.ndarray, np.ndarray]:
    """Run one campaign: Thompson sampling over groups, items without replacement; return counts at every look."""
    outcomes = [rng.permutation(z) for z in outcomes]  # the order in which each group's items will come
    size = np.array([len(z) for z in outcomes])
    prior_a = a
    a, b = a.copy(), b.copy()
    weight = size / size.sum()
    next_item = np.zeros(len(size), int)
    exhausted = size == 0
    successes, trials = [], []
    done = 0
    for look in looks:
        for _ in range(done, look):
            value = reward(rng.beta(a, b), a, b, weight)
            value[exhausted] = -np.inf
            group = value.argmax()
            i = next_item[group]
            if outcomes[group][i]:
                a[group] += 1
            else:
                b[group] += 1
            next_item[group] = i + 1
            if i + 1 == size[group]:
                exhausted[group] = True
        done = look
        successes.append(np.rint(a - prior_a).astype(int))
        trials.append(next_item.copy())
    return np.array(successes), np.array(trials)


def clocks() -> np.ndarray:
    """Read wall-clock and processor time, in seconds."""
    return np.array([time.perf_counter(), time.process_time()])


def low_accuracy(theta, a, b, weight):
    """Find the least accurate group."""
    return -theta


def variance_reduction(theta, a, b, weight):
    """Estimate every group: the expected reduction of its posterior variance under the draw."""
    n = a + b
    now = a * b / (n * n * (n + 1))
    scale = 1 / ((n + 1) ** 2 * (n + 2))
    return weight * (now - scale * (theta * (a + 1) * b + (1 - theta) * a * (b + 1)))


def run(case: Case) -> list[float]:
    """Time one case both ways, print what was found, and return the differences of mean scores in standard errors."""
    pool, labels = load(case)
    looks = np.unique(np.geomspace(10, pool.n_items, N_BUDGETS).round().astype(int))
    looks = np.union1d(looks, [n for n in CHECKED if n < pool.n_items])
    groups = ba.cells(pool, case.question.by).n_cells
    print(f"{type(case.question).__name__} on {case.name}: {groups} groups, {pool.n_items:,} labels per campaign")

    prior = "uninformative" if pool.confidence is None else "informative"  # the loop has a Beta distribution per group

    def simulate(repeats, budgets):
        start = clocks()
        study = ba.simulate(
            pool, labels, case.question, designs=["thompson"], budgets=budgets, repeats=repeats, prior=prior
        )
        return study, clocks() - start

    few = range(1, len(looks) + 1)
    first, again = simulate(LANES, few)[1], simulate(LANES, few)[1]
    study, ours = simulate(case.repeats, looks)

    belief = study.campaigns["thompson"].prior
    a, b = np.array(belief.a), np.array(belief.b)
    agrees = pool.predictions == pool.label_codes(labels)
    outcomes = [agrees[pool.predictions == g] for g in range(groups)]
    reward = low_accuracy if isinstance(case.question, ba.LeastAccurate) else variance_reduction
    rng = np.random.default_rng(1)
    start = clocks()
    found = [numpy_campaign(rng, outcomes, a, b, looks, reward) for _ in range(case.numpy_repeats)]
    theirs = clocks() - start

    print(f"  compiling     {(first - again)[0]:8.2f} s, once")
    for name, spent, repeats in (("bayes_assess", ours, case.repeats), ("NumPy loop", theirs, case.numpy_repeats)):
        wall, processor = 1e3 * spent / repeats
        print(
            f"  {name:<12}  {spent[0]:8.2f} s for {repeats:,} campaigns; "
            f"per campaign {wall:,.1f} ms, {processor:,.1f} ms of processor"
        )
    ratio = (theirs / case.numpy_repeats) / (ours / case.repeats)
    print(f"  ratio         {ratio[0]:8.1f} in time, {ratio[1]:.1f} in processor time")
    successes, trials = (np.array(counts) for counts in zip(*found, strict=True))
    return compare(study, successes, trials)


def compare(study: ba.Study, successes: np.ndarray, trials: np.ndarray) -> list[float]:
    """Hold the mean scores of both ways against each other, in standard errors from the pooled variance."""
    prior = study.campaigns["thompson"].prior
    counts = np.stack([trials - successes, successes], axis=-1)
    theirs = study.question.evaluate(study.cells, prior, counts, study.full)
    distances = []
    for name in study.question.scores:
        parts = []
        for j in np.flatnonzero(np.isin(study.budgets, CHECKED)):
            x, y = study.scores["thompson"][name][:, j], theirs[name][:, j]
            variance = (x.var(ddof=1) * (len(x) - 1) + y.var(ddof=1) * (len(y) - 1)) / (len(x) + len(y) - 2)
            error = np.sqrt(variance * (1 / len(x) + 1 / len(y)))
            distance = abs(x.mean() - y.mean()) / error if error > 0 else float(x.mean() != y.mean())
            parts.append(f"{x.mean():.4f} / {y.mean():.4f} ({distance:.1f} se) at {study.budgets[j]:,}")
            distances.append(float(distance))
        print(f"  mean {name.upper():<4}     {'; '.join(parts)}")
    return distances


def main() -> int:
    """Run all cases."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=1000, help="campaigns of bayes_assess")
    parser.add_argument("--numpy-repeats", type=int, default=20, help="campaigns of the NumPy loop")
    parser.add_argument("--imagenet", action="store_true", help="also 1,000 groups and 50,000 labels per campaign")
    parser.add_argument("--imagenet-repeats", type=int, default=20, help="campaigns of that, for bayes_assess")
    options = parser.parse_args()
    cases = [
        Case("cifar100", ba.LeastAccurate(), (10_000, 100), False, options.repeats, options.numpy_repeats),
        Case("20news", ba.GroupAccuracy(), (7_532, 20), True, options.repeats, options.numpy_repeats),
    ]
    if options.imagenet:
        cases.append(Case("imagenet", ba.LeastAccurate(), (50_000, 1000), False, options.imagenet_repeats, 5))
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    made_up = "" if os.environ.get("BAYES_ASSESS_POOLS") else ", on made-up pools (BAYES_ASSESS_POOLS is not set)"
    print(f"{cores} cores{made_up}")
    distances = [distance for case in cases for distance in run(case)]
    agree = max(distances) <= 4
    verdict = "agree" if agree else "DIFFER"
    print(f"Mean scores {verdict}: the greatest difference is {max(distances):.1f} standard errors.")
    return 0 if agree else 1


if __name__ == "__main__":
    sys.exit(main())
