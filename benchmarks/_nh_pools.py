"""Pools of [NH]'s experiments: the HDF5 files of its authors, copies of them as NPZ, and stand-ins for these."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit, logit

import bayes_assess as ba
from bayes_assess.questions import Metric


class Published(NamedTuple):
    """What [NH] Table 3 says of a pool, and the files that may hold it, the authors' own first."""

    files: tuple[str, ...]
    n_items: int
    f1: float


PUBLISHED = {
    "abt_buy": Published(("abt-buy-svm.h5", "nh_abt_buy.npz", "abt_buy.npz"), 53_753, 0.595),
    "amzn_goog": Published(("amazon-googleproducts-svm.h5", "nh_amzn_goog.npz", "amzn_goog.npz"), 676_267, 0.282),
    "dblp_acm": Published(("dblp-acm-svm-small.h5", "nh_dblp_acm.npz", "dblp_acm.npz"), 53_946, 0.947),
    "restaurant": Published(("restaurant-svm.h5", "nh_restaurant.npz", "restaurant.npz"), 149_747, 0.899),
    "safedriver": Published(("safedriver-xgb.h5", "nh_safedriver.npz", "safedriver.npz"), 178_564, 0.100),
    "creditcard": Published(("creditcard-lr.h5", "nh_creditcard.npz", "creditcard.npz"), 85_443, 0.728),
    "tweets100k": Published(("tweets100k-svm.h5", "nh_tweets.npz", "tweets100k.npz"), 20_000, 0.770),
}
POOLS = list(PUBLISHED)


class UnreadableFileError(ValueError):
    """A file that holds no pool."""


@dataclass(frozen=True, eq=False)
class Data:
    """A pool with all its labels.

    Attributes
    ----------
    name : str
        One of `POOLS`.
    file : str
        That it was read from.
    scores : (M,)
        By which the pool is cut, of any scale.
    probability, predictions, labels : (M,)
        Of the positive class, 0 and 1.
    """

    name: str
    file: str
    scores: np.ndarray
    probability: np.ndarray
    predictions: np.ndarray
    labels: np.ndarray

    @cached_property
    def pool(self) -> ba.Pool:
        """What designs see."""
        return ba.Pool(scores=self.probability, predictions=self.predictions)

    def facts(self) -> dict[str, Any]:
        """Say what explains the figures."""
        f1, accuracy = (float(Metric(name).truth(self.pool, self.labels)) for name in ("f1", "accuracy"))
        found = {"file": self.file, "items": len(self.labels), "positives": int(self.labels.sum())}
        return found | {"predicted": int(self.predictions.sum()), "f1": f1, "accuracy": accuracy}


def is_published(name: str, facts: dict[str, Any]) -> bool:
    """Whether a pool has the items and the F1 score of the one in [NH], which stand-ins have not."""
    published = PUBLISHED[name]
    return facts["items"] == published.n_items and abs(facts["f1"] - published.f1) <= 0.0005 + 1e-9


def pools_in(folder: Path, wanted: list[str]) -> Iterator[Data]:
    """Yield the pools of a folder, each from the first of its files that can be read; say why others cannot."""
    for name in wanted:
        for path in (folder / file for file in PUBLISHED[name].files):
            if not path.exists():
                continue
            try:
                yield read_pool(name, path)
                break
            except UnreadableFileError as error:
                print(f"{path} is left out: {error}", file=sys.stderr)


def read_pool(name: str, path: Path) -> Data:
    """Read a pool of an HDF5 or NPZ file.

    As [NH]'s code does, of a file whose name has "svm" scores become probabilities by the logistic function, whatever
    probabilities it holds; where there are no scores they are the logits of probabilities, and where there are no
    predictions those are positive from a score of 0 on.

    Raises
    ------
    UnreadableFileError
        If it holds no labels of 0 and 1, no scores, or arrays of other lengths.
    """
    found = read_hdf5(path) if path.suffix == ".h5" else read_npz(path)
    if "labels" not in found:
        raise UnreadableFileError("it has no array of labels.")
    labels = found["labels"]
    scores, probability = found.get("scores"), found.get("probs")
    if "svm" in path.name.lower() and scores is not None:
        probability = None
    if scores is None:
        if probability is None:
            raise UnreadableFileError("it has neither scores nor probabilities.")
        scores = logit(np.clip(probability, np.finfo(np.float64).tiny, 1 - np.finfo(np.float64).epsneg))
    if probability is None:
        probability = expit(scores)
    predictions = found.get("preds", scores >= 0)
    arrays = {"labels": labels, "scores": scores, "probabilities": probability, "predictions": predictions}
    for what, array in arrays.items():
        if array.shape != (len(labels),):
            raise UnreadableFileError(f"there are {len(labels):,} labels, and {what} of shape {array.shape}.")
        if not np.isfinite(array).all():
            raise UnreadableFileError(f"its {what} are not all finite.")
    for what in ("labels", "predictions"):
        if not np.isin(arrays[what], (0, 1)).all():
            raise UnreadableFileError(f"its {what} are not all 0 or 1.")
    return Data(name, path.name, scores, probability, predictions.astype(int), labels.astype(int))


def read_hdf5(path: Path) -> dict[str, np.ndarray]:
    """Read the arrays of the authors' layout, but the features."""
    try:
        import h5py
    except ImportError:
        raise UnreadableFileError("HDF5 files take the package h5py, which is not installed.") from None
    try:
        with h5py.File(path) as file:
            names = [name for name in ("labels", "scores", "probs", "preds") if name in file]
            return {name: np.asarray(file[name], np.float64) for name in names}
    except OSError:
        raise UnreadableFileError("it is no HDF5 file; perhaps it is what Git keeps in its place.") from None


def read_npz(path: Path) -> dict[str, np.ndarray]:
    """Read `labels`, `predictions`, and `probability` or `scores` of the positive class."""
    try:
        with np.load(path) as file:
            names = {"labels": "labels", "scores": "scores", "probs": "probability", "preds": "predictions"}
            return {ours: file[theirs].astype(np.float64) for ours, theirs in names.items() if theirs in file}
    except (OSError, ValueError):
        raise UnreadableFileError("it is no NPZ file of arrays.") from None
