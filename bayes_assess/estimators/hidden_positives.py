"""Measures if positives hid among items of low score: what no label has shown, and few labels can rule out.

An event, the positive label, is all that matters of a label. The *bulk* are cells of items that nobody predicts
positive and where the belief expects few. For every posterior draw there are O positives elsewhere, labelled ones
included, and B unlabelled ones in the bulk. If a share h of O + H positives hides there,

    H = max(B, h / (1 - h) O),

spread evenly over the unlabelled items of the bulk: more are supposed than the draw has, never fewer.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy import special

from bayes_assess._tools.axes import any_engine
from bayes_assess._tools.shapes import Array, Bool, Float, Int
from bayes_assess.estimators.posterior_measure import Completion, measure_values, outcome_draws
from bayes_assess.measures.cell_measure import CellMeasure
from bayes_assess.models.error_labels import ErrorLabels

_FEW = 0.5  # of the pool's rate of positives: cells of the bulk have no more, as far as the belief knows


def bulk_cells(
    expected: Float[np.ndarray, " K"], size: Int[np.ndarray, " K"], unpredicted: Bool[np.ndarray, " K"]
) -> Bool[np.ndarray, " K"]:
    """Tell which cells are the bulk: items that are not predicted positive, and half as often positive as all items.

    Parameters
    ----------
    expected : (K,)
        Expected rate of positives.
    size : (K,) integers
        Items.
    unpredicted : (K,) booleans
        Whether no system predicts a cell's items positive.

    Examples
    --------
    >>> bulk_cells(np.array([0.0, 0.2, 0.9]), np.array([80, 10, 10]), np.array([True, True, False])).tolist()
    [True, False, False]
    """
    return unpredicted & (size > 0) & (expected <= _FEW * (expected @ size) / size.sum())


@dataclass(frozen=True, eq=False)
class HiddenPositives:
    """Posterior draws of positives in the bulk and elsewhere.

    Attributes
    ----------
    measure : CellMeasure
        On A cells, one of every attribute.
    elsewhere : (n, A)
        Positives that are not unlabelled items of the bulk, by attribute.
    believed : (n,)
        B, positives among the unlabelled items of the bulk.
    unlabelled : (A,)
        Unlabelled items of the bulk, by attribute.
    """

    measure: CellMeasure
    elsewhere: Float[np.ndarray, "n A"]
    believed: Float[np.ndarray, " n"]
    unlabelled: Float[np.ndarray, " A"]

    @classmethod
    def drawn(
        cls,
        rng: np.random.Generator,
        measure: CellMeasure,
        curves: Float[np.ndarray, "n K"],
        strength: Float[np.ndarray, "n K"],
        counts: Int[np.ndarray, "K 2"],
        bulk: Bool[np.ndarray, " K"],
        known: Int[np.ndarray, "K 2"] | int = 0,
    ) -> HiddenPositives:
        """Draw positives from a belief.

        Parameters
        ----------
        rng, measure, curves, strength, counts, known
            As for `measure_draws`, of a measure with two outcomes.
        bulk : (K,) booleans
        """
        size, known = np.asarray(measure.size), np.broadcast_to(known, counts.shape)
        all_of_it = Completion(np.ones_like(size), np.zeros_like(size), ErrorLabels.none(), counts)
        events = outcome_draws(rng, size - known.sum(-1), curves, strength, counts, all_of_it)[..., 1]
        present, place = np.unique(np.asarray(measure.attribute), return_inverse=True)
        membership = (place.ravel()[:, None] == np.arange(len(present))).astype(np.float64)  # (K, A)
        merged = replace(
            measure,
            attribute=present,
            block=np.zeros_like(present),
            size=size @ membership.astype(np.int64),
            predicted=np.asarray(measure.predicted) @ membership,
            n_blocks=1,
        )
        return cls(
            measure=merged,
            elsewhere=(events * ~bulk + (counts + known)[:, 1]) @ membership,
            believed=(events * bulk).sum(1).astype(np.float64),
            unlabelled=((size - (counts + known).sum(-1)) * bulk) @ membership,
        )

    @any_engine
    def draws(self, share: float) -> Float[np.ndarray, "n k"]:
        """Compute measures if this share of all positives, less than 1, hid in the bulk; no more than it has items."""
        n_elsewhere = self.elsewhere.sum(1)
        hidden = np.minimum(np.maximum(self.believed, share / (1 - share) * n_elsewhere), self.unlabelled.sum())
        spread = self.unlabelled / max(self.unlabelled.sum(), 1)
        return measure_values(self.measure, self.elsewhere + hidden[:, None] * spread)

    @property
    def greatest_share(self) -> float:
        """The share of all positives that would hide if the whole unlabelled bulk were positive, in the median."""
        n_items = float(self.unlabelled.sum())
        return n_items / max(n_items + float(np.median(self.elsewhere.sum(1))), 1.0)

    def ruled_out(self, n_items: int, n_labels: int, n_found: int, level: float) -> float:
        """Compute the share of all positives above which random labels leave less than 1 - level.

        Of a bulk of `n_items`, `n_labels` random ones of which found `n_found` positives; other positives are as many
        as there are in the median.
        """
        most = most_positives(n_items, n_labels, n_found, level) - n_found
        return most / (most + float(np.median(self.elsewhere.sum(1)))) if most else 0.0


def most_positives(n_items: int, n_labels: int, n_found: int, level: float) -> int:
    """Return the most positives among so many items that random labels, drawn without replacement, do not rule out.

    The greatest number of which at most `n_found` are found with a probability above 1 - level, by the hypergeometric
    distribution: an exact bound of Clopper and Pearson's kind.

    Examples
    --------
    >>> most_positives(10, 5, 0, 0.95)  # of three, none is found with probability 21 / 252, and of four with 6 / 252
    3
    >>> most_positives(1000, 0, 0, 0.95)
    1000
    """

    def is_possible(positives: int) -> bool:
        k = np.arange(max(0, n_labels - (n_items - positives)), min(n_found, positives) + 1)
        log = _log_choose(positives, k) + _log_choose(n_items - positives, n_labels - k)
        return float(np.exp(log - _log_choose(n_items, n_labels)).sum()) > 1 - level

    low, high = n_found, n_items - (n_labels - n_found) + 1  # possible, and not
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if is_possible(middle) else (low, middle)
    return low


def _log_choose(n: int | Array, k: int | Array) -> Array:
    return special.gammaln(n + 1.0) - special.gammaln(k + 1.0) - special.gammaln(n - k + 1.0)
