"""Priors that learn against fixed ones: accuracy by group and overall, and labels until the worst group is found.

    BAYES_ASSESS_POOLS=folder python benchmarks/study_priors.py [--campaigns 100] [--pools 20news cifar10] [--search]

The folder holds pools as .npz files with `labels` and `scores`, or `labels` and `predictions`. Each is assessed by
predicted class as it is and with its scores made worse: over-confident (logits times 3), under-confident (divided by
3), shuffled. A row has the root of the mean squared error of the classes' accuracies, the share of 95 % intervals that
hold the truth, of classes and of the overall accuracy, and with --search the labels until the mean reciprocal rank of
the least accurate class passes 0.99. Without the folder nothing is run.

With --campaigns 48, cifar10, cifar10_vgg, 20news and mnist with four kinds of scores each and cifar100 and imagenet
without any, the error of the learned prior over that of the better fixed one, in the geometric mean over scores that
are as they are (or none), both designs and all budgets: 20news 0.43, imagenet 0.58, cifar100 0.67, cifar10 0.73,
cifar10_vgg 0.76, mnist 0.85; at one label per class 1.17 (mnist), 1.03 and less elsewhere. With scores of any kind
0.65; worst where they are shuffled and there is one label per class (mnist 2.08). Shares of intervals that hold the
truth, of classes and of the overall accuracy: learned 0.98 and 0.96 on average, 0.93 and 0.85 (standard error 0.05) at
worst; informative 0.82 and 0.66 on average, uninformative 0.88 and 0.02. Labels until the least accurate class is found
(250 campaigns, mean reciprocal rank 0.95 and 0.99): 20news 1,052 and 1,265 (informative 1,721 and 2,647), cifar10 860
and 1,280 (1,669 and 2,837), mnist 7,178 and 8,758 (8,196 and 10,000), cifar100, without scores, 2,837 and 3,952
(uninformative 2,837 and 3,698).
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

import numpy as np

import bayes_assess as ba

PER_GROUP = (1, 2, 5, 10)
PRIORS = ("informative", "uninformative", "learned")
SCORES = ("honest", "over-confident", "under-confident", "shuffled")
DESIGNS = ("random", "thompson")
DRAWS = 400  # for the interval of the overall accuracy


def changed(scores: np.ndarray, how: str) -> np.ndarray:
    """Make scores worse, the predictions being what they are."""
    if how == "shuffled":  # confidences of other items; the winner stays where it is
        top = scores.argmax(1)
        confidence = np.random.default_rng(1).permutation(scores.max(1))
        rest = np.where(np.arange(scores.shape[1]) == top[:, None], 0.0, scores + 1e-12)
        rest *= ((1 - confidence) / rest.sum(1))[:, None]
        rest[np.arange(len(scores)), top] = confidence
        return rest
    power = {"honest": 1.0, "over-confident": 3.0, "under-confident": 1 / 3}[how]
    sharpened = np.maximum(scores, 1e-30).astype(np.float64) ** power
    return sharpened / sharpened.sum(1, keepdims=True)


def pools(folder: Path, names: list[str] | None):
    """Yield (name, scores as, pool, labels)."""
    for path in sorted(folder.glob("*.npz")):
        if names and path.stem not in names:
            continue
        data = np.load(path)
        if "scores" not in data:
            yield path.stem, "none", ba.Pool(predictions=data["predictions"]), data["labels"]
            continue
        scores = data["scores"]
        if scores.ndim == 1:
            continue  # two classes of very unequal size: measures are asked there
        predictions = scores.argmax(1)
        for how in SCORES:
            worse = changed(scores, how)
            classes = list(range(scores.shape[1]))
            pool = ba.Pool(
                predictions=predictions, confidence=worse[np.arange(len(worse)), predictions], classes=classes
            )
            yield path.stem, how, pool, data["labels"]


def compare(name: str, how: str, pool: ba.Pool, labels: np.ndarray, campaigns: int) -> None:
    """Print a row per design, prior and number of labels."""
    question = ba.GroupAccuracy()
    n_groups = pool.n_classes
    budgets = [per * n_groups for per in PER_GROUP if per * n_groups < pool.n_items]
    priors = [prior for prior in PRIORS if how != "none" or prior != "informative"]
    plans = {f"{design} {prior}": (design, prior) for design in DESIGNS for prior in priors}
    study = ba.simulate(pool, labels, question, designs=plans, budgets=budgets, repeats=campaigns, seed=1)
    truth = float(study.truth @ study.weight)
    for plan, (design, prior) in plans.items():
        found = study.campaigns[plan]
        rmse = np.sqrt((study.scores[plan]["rmse"] ** 2).mean(0))
        coverage = study.coverage[plan]
        for b, budget in enumerate(budgets):
            held, low_and_high = [], []
            for counts in found.counts[:, b]:
                draws = question.draws(study.cells, found.prior, counts, 0, DRAWS) @ study.weight
                low_and_high.append(np.quantile(draws, [0.025, 0.975]))
                held.append(low_and_high[-1][0] <= truth <= low_and_high[-1][1])
            width = np.mean(np.diff(low_and_high, axis=1))
            print(
                f"{name},{how},{design},{prior},{budget / n_groups:g},{rmse[b]:.4f},{coverage[b]:.3f},"
                f"{np.mean(held):.3f},{width:.3f}",
                flush=True,
            )


def search(name: str, how: str, pool: ba.Pool, labels: np.ndarray, campaigns: int) -> None:
    """Print the labels until the least accurate class is found."""
    priors = [prior for prior in PRIORS if how != "none" or prior != "informative"]
    plans = {prior: ("thompson", prior) for prior in priors}
    study = ba.simulate(pool, labels, ba.LeastAccurate(), designs=plans, repeats=campaigns, seed=1)
    for prior, needed in study.labels_to("mrr").items():
        print(f"{name},{how},search,{prior},{needed}", flush=True)


def main() -> None:
    """Run the study on the pools of the folder."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--campaigns", type=int, default=100)
    parser.add_argument("--pools", nargs="*")
    parser.add_argument("--scores", nargs="*", help="only scores so changed")
    parser.add_argument("--search", action="store_true")
    options = parser.parse_args()
    folder = os.environ.get("BAYES_ASSESS_POOLS")
    if not folder:
        sys.exit("Set BAYES_ASSESS_POOLS to a folder of pools; nothing was run.")
    print("pool,scores,design,prior,labels_per_class,rmse,coverage_classes,coverage_overall,width_overall")
    for name, how, pool, labels in pools(Path(folder), options.pools):
        if options.scores and how not in options.scores:
            continue
        (search if options.search else compare)(name, how, pool, labels, options.campaigns)


if __name__ == "__main__":
    main()
