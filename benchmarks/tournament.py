"""Designs for measures against each other, on honest pools and on adversarial ones: errors, coverage, widths, time.

    BAYES_ASSESS_POOLS=folder python benchmarks/tournament.py [--campaigns 200] [--measures f1 accuracy]
        [--designs variance_reduction adaptive] [--pools abt_buy 20news:0] [--budgets 50 100 250] [--adversarial]
        [--batch 20] [--csv found.csv]

The folder holds pools as .npz files with `labels`, and `scores` of all classes or `probability` and `predictions` of
the positive one. Of pools with many classes some are taken for the positive one in turn ("20news:0"), and the whole
pool for accuracy, balanced accuracy and MCC ("20news"). --adversarial makes scores worse instead: shuffled, inverted,
constant, coarsened to five values, squashed and stretched; 20 % and 45 % of the positives moved to low scores;
predictions that know nothing.

A row has the root of the mean squared error, the share of 95 % intervals that hold the truth and their mean width, of
designs that keep one also of the interval that leans on random items alone (of which all budgets' intervals must hold
it at once), and the seconds per campaign. Below, geometric means over pools of the squared error relative to
the best of the other designs. Without the folder nothing is run.
"""

from __future__ import annotations

import argparse
import csv
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import bayes_assess as ba
from bayes_assess.errors import BayesAssessError

DESIGNS = ("passive", "stratified", "importance", "oasis", "adaptive", "variance_reduction")
MEASURES = ("f1", "precision", "recall", "accuracy", "balanced_accuracy", "matthews_corrcoef")
OF_ALL_CLASSES = ("accuracy", "balanced_accuracy", "matthews_corrcoef")
BUDGETS = (50, 100, 250, 500, 1000, 2000)
CLASSES = (0, 3, 5)
FOUND = ("pool", "measure", "design", "labels", "truth", "rmse", "coverage", "width")
COLUMNS = (*FOUND, "design_ok", "design_width", "s")
_FLOOR = 1e-4  # of a root mean squared error, in ratios: errors below do not matter


class Binary(NamedTuple):
    """Labels, predictions and scores of a class."""

    labels: np.ndarray
    predictions: np.ndarray
    score: np.ndarray

    @property
    def pool(self) -> ba.Pool:
        """The pool of these items."""
        return ba.Pool(predictions=self.predictions, scores=np.stack([1 - self.score, self.score], axis=1))


def probabilities(scores: np.ndarray) -> np.ndarray:
    """Return rows that sum to 1, whether scores are probabilities or logits."""
    scores = scores.astype(np.float64)
    if scores.min() < 0 or np.abs(scores.sum(1) - 1).max() > 0.01:
        scores = np.exp(scores - scores.max(1, keepdims=True))
    return scores / scores.sum(1, keepdims=True)


def binaries(folder: Path) -> Iterator[tuple[str, Binary]]:
    """Yield pools with one class of interest."""
    for path in sorted(folder.glob("*.npz")):
        data = np.load(path)
        if "probability" in data:
            score = data["probability"].astype(np.float64)
            yield path.stem, Binary(data["labels"].astype(int), data["predictions"].astype(int), score)
        elif "scores" in data:
            scores = probabilities(data["scores"])
            for c in CLASSES:
                labels, predictions = (data["labels"] == c).astype(int), (scores.argmax(1) == c).astype(int)
                yield f"{path.stem}:{c}", Binary(labels, predictions, scores[:, c])


def wholes(folder: Path) -> Iterator[tuple[str, ba.Pool, np.ndarray]]:
    """Yield pools of many classes."""
    for path in sorted(folder.glob("*.npz")):
        data = np.load(path)
        if "scores" in data:
            yield path.stem, ba.Pool(scores=probabilities(data["scores"])), data["labels"].astype(int)


def adversarial(name: str, honest: Binary) -> Iterator[tuple[str, Binary]]:
    """Yield the pool with its scores made worse."""
    rng = np.random.default_rng(1)
    labels, predictions, score = honest
    order = rng.permutation(len(labels))
    logit = np.log(np.clip(score, 1e-9, 1)) - np.log(np.clip(1 - score, 1e-9, 1))
    yield f"{name} shuffled", Binary(labels, predictions[order], score[order])
    yield f"{name} inverted", Binary(labels, predictions, 1 - score)
    yield f"{name} constant", Binary(labels, predictions, np.full(len(labels), 0.5))
    yield f"{name} five values", Binary(labels, predictions, np.round(score * 4) / 4)
    yield f"{name} squashed", Binary(labels, predictions, 1 / (1 + np.exp(-logit / 10)))
    yield f"{name} stretched", Binary(labels, predictions, 1 / (1 + np.exp(-np.clip(5 * logit, -700, 700))))
    for share in (0.2, 0.45):
        moved = rng.choice(np.flatnonzero(labels), int(share * labels.sum()), replace=False)
        low, missed = score.copy(), predictions.copy()
        low[moved] = rng.choice(np.sort(score)[: len(score) // 2], len(moved))
        missed[moved] = 0
        yield f"{name} {share:.0%} hidden", Binary(labels, missed, low)
    blind = rng.random(len(labels))
    yield f"{name} blind", Binary(labels, (blind < labels.mean()).astype(int), 1 - blind)


def shown(value: Any) -> str:
    """Write a value as tables have it."""
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def compete(name: str, pool: ba.Pool, labels: np.ndarray, measure: str, options: argparse.Namespace) -> list[dict]:
    """Run all designs on one measure of one pool."""
    rows = []
    question = ba.Metric(measure)
    budgets = [budget for budget in options.budgets if budget <= pool.n_items]
    for design in options.designs:
        begin = time.perf_counter()
        try:
            study = ba.simulate(
                pool, labels, question, designs=[design], budgets=budgets, repeats=options.campaigns, seed=1,
                batch=options.batch,
            )  # fmt: skip
        except BayesAssessError:  # a design that cannot serve the measure
            continue
        error = np.sqrt(((study.estimates[design] - study.truth) ** 2).mean(0))
        width = np.diff(study.intervals[design], axis=-1)[..., 0].mean(0)
        coverage, ends = study.coverage[design], study.design_intervals[design]
        seconds = (time.perf_counter() - begin) / options.campaigns
        for b, budget in enumerate(budgets):
            found = name, measure, design, budget, float(study.truth), error[b], coverage[b], width[b]
            row: dict[str, Any] = dict(zip(FOUND, found, strict=True)) | {"s": seconds}
            if ends is not None:
                held = (ends[..., 0] <= study.truth + 1e-12) & (study.truth <= ends[..., 1] + 1e-12)
                row |= {"design_ok": held[:, : b + 1].all(1).mean(), "design_width": np.diff(ends[:, b]).mean()}
            rows.append(row)
            print(",".join(shown(row.get(column, "")) for column in COLUMNS))
        sys.stdout.flush()
    return rows


def verdicts(rows: list[dict]) -> None:
    """Print squared errors relative to the best other design, in the geometric mean over pools, and coverages."""
    ours = "variance_reduction"
    keys = sorted({(row["measure"], row["labels"]) for row in rows})
    print("\nmeasure,labels,pools,mse_ratio,worst_ratio,coverage_mean,coverage_least,design_ok_least")
    for measure, labels in keys:
        found = [row for row in rows if (row["measure"], row["labels"]) == (measure, labels)]
        mine = {row["pool"]: row for row in found if row["design"] == ours}
        ratios = []
        for pool, row in mine.items():
            others = [max(r["rmse"], _FLOOR) for r in found if r["pool"] == pool and r["design"] != ours]
            if others:
                ratios.append((max(row["rmse"], _FLOOR) / min(others)) ** 2)
        held = [row["coverage"] for row in mine.values()]
        sure = [row.get("design_ok", np.nan) for row in mine.values()]
        if mine:
            mean = np.exp(np.mean(np.log(ratios))) if ratios else np.nan
            worst = max(ratios, default=np.nan)
            print(
                f"{measure},{labels},{len(mine)},{mean:.3f},{worst:.2f},{np.mean(held):.3f},{min(held):.3f},"
                f"{np.nanmin(sure):.3f}"
            )


def main() -> None:
    """Run the tournament on the pools of the folder."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--campaigns", type=int, default=200)
    parser.add_argument("--measures", nargs="*", default=MEASURES)
    parser.add_argument("--designs", nargs="*", default=DESIGNS)
    parser.add_argument("--pools", nargs="*")
    parser.add_argument("--budgets", nargs="*", type=int, default=BUDGETS)
    parser.add_argument("--batch", type=int, default=1)
    parser.add_argument("--adversarial", action="store_true")
    parser.add_argument("--csv", help="where all rows go")
    options = parser.parse_args()
    folder = os.environ.get("BAYES_ASSESS_POOLS")
    if not folder:
        sys.exit("Set BAYES_ASSESS_POOLS to a folder of pools; nothing was run.")
    print(",".join(COLUMNS))
    rows = []
    for name, honest in binaries(Path(folder)):
        if options.pools and name not in options.pools:
            continue
        for changed, binary in adversarial(name, honest) if options.adversarial else [(name, honest)]:
            for measure in options.measures:
                rows += compete(changed, binary.pool, binary.labels, measure, options)
    for name, pool, labels in [] if options.adversarial else wholes(Path(folder)):
        if not options.pools or name in options.pools:
            for measure in set(options.measures) & set(OF_ALL_CLASSES):
                rows += compete(name, pool, labels, measure, options)
    verdicts(rows)
    if options.csv:
        with Path(options.csv).open("w", newline="") as file:
            writer = csv.DictWriter(file, COLUMNS)
            writer.writeheader()
            writer.writerows(rows)


if __name__ == "__main__":
    main()
