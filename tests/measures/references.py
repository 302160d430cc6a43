"""Measures as scikit-learn, or a formula in NumPy, gives them on fully labelled data."""

from __future__ import annotations

import functools
import warnings

import numpy as np
from sklearn import metrics

import bayes_assess as ba
from bayes_assess.measures import LossTable, measure, table_for

ANY = (
    *("accuracy", "balanced_accuracy", "zero_one_loss", "hamming_loss", "matthews_corrcoef", "cohen_kappa"),
    *("precision_macro", "recall_macro", "f1_macro", "jaccard_macro", "seme_f1_macro"),
    *("precision_micro", "recall_micro", "f1_micro", "jaccard_micro"),
    *("precision_weighted", "recall_weighted", "f1_weighted", "jaccard_weighted"),
    *("precision_per_class", "recall_per_class", "f1_per_class", "jaccard_per_class"),
    "fbeta_macro",
)
BINARY = ("precision", "recall", "f1", "jaccard", "specificity", "fowlkes_mallows")
TWO = (  # averages do not depend on the number of classes
    *BINARY,
    *("accuracy", "zero_one_loss", "balanced_accuracy", "matthews_corrcoef", "cohen_kappa"),
    *("f1_micro", "f1_macro", "f1_weighted", "f1_per_class", "seme_f1_macro"),
)
SCORES = ("brier_score_loss", "log_loss")


def names_for(n_classes: int) -> tuple[str, ...]:
    """Names of the measures without scores that a pool has."""
    return TWO if n_classes == 2 else ANY


@functools.cache
def table_of_all(n_classes: int) -> LossTable:
    """All of them stacked, so that all tests share one compilation; attributes are the predicted classes."""
    measures = [measure(name, **({"beta": 2} if "fbeta" in name else {})) for name in names_for(n_classes)]
    return table_for(measures, ba.Pool(predictions=np.arange(n_classes)))[1]


def reference(name: str, y: np.ndarray, f: np.ndarray, n_classes: int, s: np.ndarray | None = None) -> np.ndarray:
    """Value of a measure of label codes y and prediction codes f, (k,); class 1 is the positive one of two."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return np.atleast_1d(_reference(name, y, f, n_classes, s))


def _reference(name, y, f, n_classes, s):
    every = list(range(n_classes))
    stem, _, average = name.partition("_")
    if stem in ("precision", "recall", "f1", "fbeta", "jaccard"):
        function = getattr(metrics, f"{stem}_score")
        options = {"beta": 2.0} if stem == "fbeta" else {}
        if not average:
            return function(y, f, zero_division=0, pos_label=1, **options)
        average = None if average == "per_class" else average
        return function(y, f, labels=every, average=average, zero_division=0, **options)
    if name == "specificity":
        return metrics.recall_score(y, f, zero_division=0, labels=[0], average=None)
    if name == "fowlkes_mallows":
        precision = metrics.precision_score(y, f, zero_division=0)
        return np.sqrt(precision * metrics.recall_score(y, f, zero_division=0))
    if name == "seme_f1_macro":
        precision = metrics.precision_score(y, f, labels=every, average="macro", zero_division=0)
        recall = metrics.recall_score(y, f, labels=every, average="macro", zero_division=0)
        return 2 * precision * recall / max(precision + recall, 1e-300)
    if name == "cohen_kappa":
        return np.nan_to_num(metrics.cohen_kappa_score(y, f, labels=every))
    if name == "brier_score_loss":
        return metrics.brier_score_loss(y, s, **({"pos_label": 1} if s.ndim == 1 else {"labels": every}))
    if name == "log_loss":
        return metrics.log_loss(y, s, labels=every)
    return getattr(
        metrics, {"accuracy": "accuracy_score", "balanced_accuracy": "balanced_accuracy_score"}.get(name, name)
    )(y, f)
