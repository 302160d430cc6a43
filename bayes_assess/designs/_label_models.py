"""Models of labels by which batches are drawn: scores as they are, or a calibration curve that learns what they mean.

A model is weighted draws of the probabilities of every label in every cell. It learns from labels by their counts, a
round at a time, so that what is believed while a round is out depends on no label of it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Protocol

from bayes_assess._tools import engine
from bayes_assess._tools.engine import xp
from bayes_assess._tools.pytrees import register_dataclass
from bayes_assess._tools.shapes import Array, Float, Int
from bayes_assess.acquisition.measure_variance import CurveMoments
from bayes_assess.models.calibration_curve import CurveState, prior_curves
from bayes_assess.models.error_labels import ErrorLabels
from bayes_assess.models.rating_labels import RatingLabels
from bayes_assess.models.valued_labels import ValuedLabels

_STRENGTH = 2.0  # labels that the scores count as in every cell, from the second round on
_LEAST = 1e-6  # of the probability of a label, spread over all
_ORDER = 2**31 - 1  # folded into the curve's key, whose moves are numbered from 0


class LabelModel(Protocol):
    """What is believed of the labels of K cells; a pytree."""

    def learned(self, counts: Float[Array, "K C"]) -> LabelModel:
        """Return the model after so many labels in all."""
        ...

    @property
    def weights(self) -> Float[Array, " S"]:
        """Probabilities of the draws."""
        ...

    def draw(self, s: Int[Array, ""] | int) -> Float[Array, "K C"]:
        """Return the probabilities of labels of one of the draws."""
        ...

    @property
    def mean(self) -> Float[Array, "K C"]:
        """Probability of every label."""
        ...


@partial(register_dataclass, data_fields=["prior", "counts"], meta_fields=[])
@dataclass(frozen=True)
class ScoreLabels:
    """Scores as they are, or blended, and the labels of a cell; a single draw.

    Attributes
    ----------
    prior : (K, C)
        Probability of every label before any.
    counts : (K, C)
        Labels learned.

    Examples
    --------
    >>> model = ScoreLabels(xp.array([[0.5, 0.5]]), xp.zeros((1, 2)))
    >>> model.learned(xp.array([[0.0, 2.0]])).mean.tolist()  # two labels count as much as the score
    [[0.25, 0.75]]
    """

    prior: Float[Array, "K C"]
    counts: Float[Array, "K C"]

    def learned(self, counts: Float[Array, "K C"]) -> ScoreLabels:
        """Return the model after so many labels in all."""
        return replace(self, counts=counts)

    @property
    def weights(self) -> Float[Array, " 1"]:
        """Probability of the one draw."""
        return xp.ones(1)

    def draw(self, s: Int[Array, ""] | int) -> Float[Array, "K C"]:
        """Return the mean."""
        return self.mean

    @property
    def mean(self) -> Float[Array, "K C"]:
        """Probability of every label."""
        return (_STRENGTH * self.prior + self.counts) / (_STRENGTH + self.counts.sum(-1, keepdims=True))


@partial(register_dataclass, data_fields=["pi", "weights"], meta_fields=[])
@dataclass(frozen=True)
class LabelDraws:
    """Posterior draws of another model, which has learned all labels that it is to learn.

    Attributes
    ----------
    pi : (S, K, C)
        Probability of every label of an unlabelled item of every cell.
    weights : (S,)
        They sum to 1.

    Examples
    --------
    >>> LabelDraws(xp.array([[[0.5, 0.5]], [[0.0, 1.0]]]), xp.array([0.5, 0.5])).mean.tolist()
    [[0.25, 0.75]]
    """

    pi: Float[Array, "S K C"]
    weights: Float[Array, " S"]

    def learned(self, counts: Float[Array, "K C"]) -> LabelDraws:
        """Return the draws as they are."""
        return self

    def draw(self, s: Int[Array, ""] | int) -> Float[Array, "K C"]:
        """Return one of the draws."""
        return self.pi[s]

    @property
    def mean(self) -> Float[Array, "K C"]:
        """Probability of every label."""
        return xp.tensordot(self.weights, self.pi, 1)

    def positive(self) -> LabelDraws:
        """Return draws that rule no label out, so that every item that can matter is drawn with some probability."""
        return replace(self, pi=(1 - _LEAST) * self.pi + _LEAST / self.pi.shape[-1])


@partial(register_dataclass, data_fields=["curve", "errors", "event", "row", "counts"], meta_fields=[])
@dataclass(frozen=True)
class CurveLabels:
    """The calibration curve of an event of every label, and which labels items without the event have.

    Attributes
    ----------
    curve : CurveState
    errors : ErrorLabels, RatingLabels or ValuedLabels
    event : (K,) integers
        The label that is the event; -1 where none is.
    row : (K,) integers
        Row of `errors`.
    counts : (K, C)
        Labels learned.
    """

    curve: CurveState
    errors: ErrorLabels | RatingLabels | ValuedLabels
    event: Int[Array, " K"]
    row: Int[Array, " K"]
    counts: Float[Array, "K C"]

    @classmethod
    def before_labels(cls, events: Any, n_outcomes: int) -> CurveLabels:
        """Return the prior of the events of some cells, see `questions._events.CellEvents`."""
        errors = engine.tree_map(xp.asarray, events.errors)
        event, row = xp.asarray(events.outcome), xp.asarray(events.row)
        curve = prior_curves(0, events.members, events.coordinates)
        return cls(curve, errors, event, row, xp.zeros((len(event), n_outcomes)))

    def learned(self, counts: Float[Array, "K C"]) -> CurveLabels:
        """Return the model after so many labels in all, those that are new learned one by one in a random order."""
        new_labels = counts - self.counts
        key = engine.random.fold_in(engine.random.fold_in(self.curve.key, _ORDER), self.counts.sum().astype(xp.int32))

        def one(i, carry):
            new_labels, curve, errors = carry
            upto = xp.cumsum(new_labels.ravel())
            place = xp.argmax(upto > engine.random.uniform(engine.random.fold_in(key, i)) * upto[-1])
            cell, label = place // new_labels.shape[1], place % new_labels.shape[1]
            event = label == self.event[cell]
            errors = errors.observe(self.row[cell], label, ~event)
            return engine.at(new_labels)[cell, label].add(-1), curve.observe(cell, event), errors

        n_new = new_labels.sum().astype(xp.int64)
        _, curve, errors = engine.fori_loop(0, n_new, one, (new_labels, self.curve, self.errors))
        return replace(self, curve=curve, errors=errors, counts=counts)

    @property
    def weights(self) -> Float[Array, " S"]:
        """Probabilities of the curves."""
        return engine.softmax(self.curve.deciding.log_weight)

    def draw(self, s: Int[Array, ""] | int) -> Float[Array, "K C"]:
        """Return the probabilities of labels given one of the curves."""
        few = self.curve.deciding
        return self._with_errors(cell_rates(few.share[s], few.strength[s], self.curve.counts))

    @property
    def mean(self) -> Float[Array, "K C"]:
        """Probability of every label."""
        return self._with_errors(believed_rates(self.curve))

    def _with_errors(self, rates: Float[Array, " K"]) -> Float[Array, "K C"]:
        return with_errors(rates, self.event, self.row, self.errors.mean)


@engine.kept
def moments_of(curve: CurveState) -> CurveMoments:
    """Return what its draws say of the next label of every cell."""
    few = curve.deciding
    return CurveMoments.of(few.share, few.strength, few.log_weight, curve.counts)


def believed_rates(curve: CurveState) -> Float[Array, " K"]:
    """Posterior mean of the rate of the event in every cell."""
    if engine.is_eager():  # which keeps it for decisions
        return moments_of(curve).mean
    few = curve.deciding
    return engine.product(engine.softmax(few.log_weight), cell_rates(few.share, few.strength, curve.counts))


def cell_rates(
    share: Float[Array, "*S K"], strength: Float[Array, "*S K"], counts: Float[Array, "K 2"]
) -> Float[Array, "*S K"]:
    """Posterior mean of the rate of the event in every cell, given the curve."""
    return (strength * share + counts[:, 1]) / (strength + counts.sum(1))


def with_errors(
    rates: Float[Array, " K"], event: Int[Array, " K"], row: Int[Array, " K"], errors: Float[Array, "R C"]
) -> Float[Array, "K C"]:
    """Return the probabilities of all labels: of the event, and of the others in the shares that errors have."""
    rates = rates[:, None].astype(xp.float64)
    errors = errors[row]
    return xp.where(event[:, None] == xp.arange(errors.shape[1]), rates, (1 - rates) * errors)
