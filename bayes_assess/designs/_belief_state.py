"""State of campaigns by a belief on the event of labels, and what their sessions know in the end."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np

from bayes_assess._tools.engine import xp
from bayes_assess._tools.pytrees import register_dataclass
from bayes_assess._tools.shapes import Array, Bool, Float, Int
from bayes_assess.designs._audit import Audit, any_label
from bayes_assess.designs._label_models import believed_rates, with_errors
from bayes_assess.estimators.betting import Betting
from bayes_assess.measures.cell_measure import CellMeasure
from bayes_assess.models.calibration_curve import CurveState
from bayes_assess.models.error_labels import ErrorLabels


class OtherLabels(NamedTuple):
    """Posterior draws of another model, by which items are chosen for once.

    Attributes
    ----------
    pi : (S, K, O)
        Probabilities of the outcomes of unlabelled items.
    log_weight : (S,)
        Of the draws.
    tilt : (S, K)
        What one more label of every cell that comes back at the mean adds to it.
    """

    pi: Float[Array, "S K O"]
    log_weight: Float[Array, " S"]
    tilt: Float[Array, "S K"]


class Look(NamedTuple):
    """What the answers of a campaign are computed from, at one number of labels.

    Attributes
    ----------
    share, strength : (n, K)
        Of curves that are drawn from the posterior.
    events : (K, 2) integers
        Labelled items without and with the event.
    learned : dict
        What labels have changed of the belief on errors.
    counts, settled : (K, O) integers
        Labelled items by outcome; with those that cannot matter.
    bets : Betting of arrays (J, ...), optional
        On random items.
    cautious : (n, 2) booleans
        See `MeasurePosterior`.
    exact : boolean
        Whether every item is labelled that can matter.
    """

    share: Float[Array, "n K"]
    strength: Float[Array, "n K"]
    events: Int[Array, "K 2"]
    learned: Mapping[str, Array]
    counts: Int[Array, "K O"]
    settled: Int[Array, "K O"]
    bets: Betting | None
    cautious: Bool[Array, "n 2"]
    exact: Bool[Array, ""]


class MeasurePosterior(NamedTuple):
    """What a session knows of its measures; on the host.

    Attributes
    ----------
    draws : (n, k)
        Of the measures of the pool.
    curves : (n, K)
        Of the curve.
    strength : (n, K)
        Labels that the curve counts as in every cell.
    cautious : (n, 2) booleans
        Whether the curve takes positives to hide, and the surest items to err, which are precautions.
    design_interval : (k, 2)
        Intervals that lean on random items alone.
    sure_design_interval : (k, 2)
        The same at a level by which they may contradict the belief.
    audits : (K, 2) integers
        Uniformly random items without and with the event.
    events, known : (K, 2) integers
        Labelled items without and with the event, and further ones of which the belief learned nothing.
    members : (B,)
        Posterior probabilities of the curves that the belief mixes.
    audited : bool
        Whether random items have been counted for these measures.
    exact : bool
        Whether every item is labelled that can matter.
    """

    draws: Float[np.ndarray, "n k"]
    curves: Float[np.ndarray, "n K"]
    strength: Float[np.ndarray, "n K"]
    cautious: Bool[np.ndarray, "n 2"]
    design_interval: Float[np.ndarray, "k 2"]
    sure_design_interval: Float[np.ndarray, "k 2"]
    audits: Int[np.ndarray, "K 2"]
    events: Int[np.ndarray, "K 2"]
    known: Int[np.ndarray, "K 2"]
    members: Float[np.ndarray, " B"]
    audited: bool
    exact: bool


class Supposed(NamedTuple):
    """What a session would know of its measures if items that were set aside had certain labels; on the host.

    Attributes
    ----------
    draws : (n, k)
        Of the measures of the pool.
    cautious : (n, 2) booleans
        As of `MeasurePosterior`.
    """

    draws: Float[np.ndarray, "n k"]
    cautious: Bool[np.ndarray, "n 2"]


@partial(
    register_dataclass,
    data_fields=[
        *("measure", "playable", "event", "row", "counts", "pending", "remaining"),
        *("belief", "errors", "audit", "other"),
    ],
    meta_fields=[],
)
@dataclass(frozen=True)
class BeliefState:
    """Everything a campaign knows, cell by cell.

    Attributes
    ----------
    measure : CellMeasure
    playable : (K,) booleans
        Cells whose labels can matter.
    event : (K,) integers
        The outcome that is the event.
    row : (K,) integers
        What the outcomes of items without the event depend on, such as the predicted class.
    counts : (K, O) integers
        Labelled items by outcome.
    pending, remaining : (K,) integers
        Items handed out and not labelled yet, and items that may be asked for; those set aside are neither.
    belief : CurveState
        On the event.
    errors : ErrorLabels
        On the outcomes of items without it.
    audit : Audit
    other : OtherLabels, optional
        In the place of the belief, as long as items are chosen by another posterior.
    """

    measure: CellMeasure
    playable: Bool[Array, " K"]
    event: Int[Array, " K"]
    row: Int[Array, " K"]
    counts: Int[Array, "K O"]
    pending: Int[Array, " K"]
    remaining: Int[Array, " K"]
    belief: CurveState
    errors: ErrorLabels
    audit: Audit
    other: OtherLabels | None = None

    @property
    def endless(self) -> bool:
        """No: labels are none that may be asked for again and again."""
        return False

    @property
    def unlabelled(self) -> Int[Array, " K"]:
        """Items without a label, pending ones included."""
        return self.measure.size - self.counts.sum(-1)

    @property
    def complete(self) -> Bool[Array, ""]:
        """Whether every item that can matter is labelled."""
        return ~xp.any(xp.any(self.measure.nonzero, -1) & (self.unlabelled > 0))

    @property
    def settled_counts(self) -> Int[Array, "K O"]:
        """Labelled items, with those that cannot matter as if their labels were known."""
        known = any_label(self.measure.size, self.counts.shape[1])
        return self.counts * self.playable[:, None] + known * ~self.playable[:, None]

    def probabilities(self) -> Float[Array, "K O"]:
        """Believed probability of every outcome of an unlabelled item."""
        return with_errors(believed_rates(self.belief), self.event, self.row, self.errors.mean)

    def masses(self, probabilities: Float[Array, "K O"]) -> Float[Array, "K O"]:
        """Share of the pool in every cell with every outcome, unlabelled items by their probabilities."""
        return (self.counts + self.unlabelled[:, None] * probabilities) / self.measure.size.sum()
