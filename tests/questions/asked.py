"""A small scored pool, and every question that can be asked of it, with its answer worked out by hand."""

from __future__ import annotations

import numpy as np

import bayes_assess as ba


def scored_pool(n: int = 160, seed: int = 0, n_classes: int = 4) -> tuple[ba.Pool, np.ndarray]:
    """Scores of a classifier that is right about as often as it says, but for one class."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(n_classes, size=n)
    logits = rng.normal(size=(n, n_classes)) + 1.5 * np.eye(n_classes)[labels] * (labels != 2)[:, None]
    scores = np.exp(logits) / np.exp(logits).sum(1, keepdims=True)
    rival = np.where(rng.random(n) < 0.4, labels, scores.argmax(1))
    site = np.array(["east", "north", "west"])[rng.integers(3, size=n)]
    return ba.Pool(scores=scores, groups={"site": site}, systems={"rival": rival}), labels


POOL, LABELS = scored_pool()
RIGHT = POOL.predictions == LABELS
VALUES = np.array([-1.0, 0.5, 2, 6])  # of classes
COST = np.array([[0.0, 1, 1, 3], [2, 0, 2, 2], [0.5, 0.5, 0, 0.5], [9, 1, 1, 0]])  # row = predicted, column = label


def accuracies(by: np.ndarray) -> np.ndarray:
    return np.array([RIGHT[by == g].mean() for g in np.unique(by)])


def recalls(positive: int) -> np.ndarray:
    """Share of the items of a class, site by site, that are predicted to be of it."""
    of_class, site = LABELS == positive, POOL.groups["site"]
    return np.array([np.mean(POOL.predictions[of_class & (site == s)] == positive) for s in ("east", "north", "west")])


def means_by_site(values: np.ndarray) -> np.ndarray:
    return np.array([values[POOL.groups["site"] == site].mean() for site in ("east", "north", "west")])


def confusion() -> np.ndarray:
    return np.array([[np.mean(LABELS[POOL.predictions == k] == j) for j in range(4)] for k in range(4)])


def calibration_error(of: np.ndarray, n_bins: int) -> float:
    """ECE of some items in bins of equal width, item by item."""
    confidence, right = POOL.confidence[of], RIGHT[of]
    error = 0.0
    for b in range(n_bins):
        inside = np.minimum((confidence * n_bins).astype(int), n_bins - 1) == b
        if inside.any():
            error += inside.mean() * abs(right[inside].mean() - confidence[inside].mean())
    return error


def accuracy_leads() -> np.ndarray:
    """By how much the pool's system and its rival are ahead of each other."""
    ahead = np.mean(POOL.predictions == LABELS) - np.mean(POOL.systems["rival"] == LABELS)
    return np.array([ahead, -ahead])


_SITES = accuracies(POOL.groups["site"])
ANSWERS = {
    "accuracy": (ba.GroupAccuracy(by="site"), _SITES),
    "least_accurate": (ba.LeastAccurate(m=2), accuracies(POOL.predictions)),
    "recall": (ba.GroupRecall("site", positive=1), recalls(1)),
    "lowest_recall": (ba.LowestRecall("site", positive=3, m=2), recalls(3)),
    "confusion": (ba.ConfusionMatrix(COST), confusion()),
    "most_costly": (ba.MostCostly(COST, m=2), (COST * confusion()).sum(1)),
    "calibration": (ba.Calibration(bins=5), calibration_error(np.ones(160, bool), 5)),
    "calibration_by": (
        ba.Calibration(5, by="site"),
        np.array([calibration_error(POOL.groups["site"] == site, 5) for site in ("east", "north", "west")]),
    ),
    "least_calibrated": (
        ba.LeastCalibrated(bins=4),
        np.array([calibration_error(POOL.predictions == k, 4) for k in range(4)]),
    ),
    "two_groups": (ba.Compare("west", "east", by="site"), _SITES[2] - _SITES[0]),
    "two_calibrations": (
        ba.Compare("west", "north", by="site", measure="ece", bins=3),
        calibration_error(POOL.groups["site"] == "west", 3) - calibration_error(POOL.groups["site"] == "north", 3),
    ),
    "all_pairs": (ba.Compare(by="site"), _SITES[:, None] - _SITES[None, :]),
    "two_systems": (
        ba.Compare("rival", "prediction"),
        np.mean(POOL.systems["rival"] == LABELS) - np.mean(POOL.predictions == LABELS),
    ),
    "best": (ba.Best(["prediction", "rival"]), accuracy_leads()),
    "rate_pairs": (ba.Compare(by="site", measure="rate", positive=2), means_by_site(LABELS == 2)),
    "mean_pairs": (ba.Compare(by="site", measure="mean", values=VALUES, rope=0.5), means_by_site(VALUES[LABELS])),
}
RANDOM = {name: "passive" if isinstance(question, ba.Metric) else "random" for name, (question, _) in ANSWERS.items()}
QUESTIONS = {name: question for name, (question, _) in ANSWERS.items()}
TRUTHS = {name: truth for name, (_, truth) in ANSWERS.items()}
