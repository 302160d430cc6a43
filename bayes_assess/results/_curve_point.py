"""A point of a curve of precision and recall, with what is known of it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bayes_assess._tools.shapes import Float
from bayes_assess._tools.text import plural, rounded


class Measured(NamedTuple):
    """A measure at a threshold.

    Attributes
    ----------
    estimate : float
    interval : (2,) floats
    design_interval : (2,) floats, or None
        From random items alone, valid whatever the scores are worth; None where a design draws with known
        probabilities, so that `interval` leans on no scores either.
    """

    estimate: float
    interval: Float[np.ndarray, " 2"]
    design_interval: Float[np.ndarray, " 2"] | None

    def __str__(self) -> str:
        return f"{rounded(self.estimate)} {_ends(self.interval)}"


class CurvePoint(NamedTuple):
    """What a curve says of the rule "positive if the score is at least the threshold".

    Attributes
    ----------
    threshold : float
    n_predicted : int
        Items that reach it.
    precision, recall, f1 : Measured
    level : float
        Of the intervals.
    asked : float, optional
        The threshold that was asked for, where the curve has the next one upwards.
    """

    threshold: float
    n_predicted: int
    precision: Measured
    recall: Measured
    f1: Measured
    level: float
    asked: float | None = None

    def __str__(self) -> str:
        measured = {"precision": self.precision, "recall": self.recall, "F1": self.f1}
        said = ", ".join(f"{name} {value}" for name, value in measured.items())
        reach = f"{plural(self.n_predicted, 'item')} reach{'es' * (self.n_predicted == 1)}"
        here = f"{self.threshold:.4g}"
        asked = here if self.asked is None else f"{self.asked:.4g}"
        next_one = f", the next of this curve from {asked} upwards" if asked != here else ""
        text = f"Threshold {here}{next_one}, which {reach}: {said}"
        ends = {name: value.design_interval for name, value in measured.items()}
        without = ", ".join(f"{name} {_ends(two)}" for name, two in ends.items() if two is not None)
        return f"{text}; without trusting the scores {without}." if without else f"{text}."


def _ends(interval: Float[np.ndarray, " 2"]) -> str:
    return f"[{rounded(interval[0])}, {rounded(interval[1])}]"
