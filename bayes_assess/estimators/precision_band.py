r"""Bounds of a precision curve whose items become no more likely positive the further down they are, but for chance.

Weak monotonicity ([ADA] Definition 1) is about the precision p(r) of the list at hand. What one knows of a ranking is
that rates fall: the mean P(r) of the probabilities of the first r items to be positive does not grow. With independent
items, the precision at hand then grows by chance alone, and over ranks y < v

.. math:: p(v) - p(y) \le P(v) - P(y) + z \sqrt{P (1 - P) (1 / y - 1 / v)}

but for the normal tail beyond z. An `Envelope` of exact values at the top of a list whose rate is flat there would
therefore miss the curve nearly always. Here every bound that leans on monotonicity gives way by that much: an upper one
at y by the standard deviation at y, a lower one at v by that at v. Those that count items lean on nothing, and stay.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

import numpy as np

from bayes_assess._tools.lazy import stats
from bayes_assess._tools.shapes import Float, Int
from bayes_assess.acquisition.precision_envelope import Envelope

Ranks = Int[np.ndarray, " n"]
Values = Float[np.ndarray, " n"]


@dataclass(frozen=True, eq=False)
class RateBand:
    """An envelope that lets precision grow by chance.

    Attributes
    ----------
    envelope : Envelope
        Of the bounds at queried ranks.
    delta : float in (0, 1)
        Probability that chance lifts some precision further, all of its ranks together.

    Examples
    --------
    >>> p = np.array([0.9, 0.6])
    >>> envelope = Envelope(np.array([100, 400]), p, p, 10, 400, 50)
    >>> band = RateBand(envelope, 0.05)
    >>> envelope.upper_at(np.array([200])).round(3).tolist(), band.upper_at(np.array([200])).round(3).tolist()
    ([0.9], [0.95])
    >>> envelope.lower_at(np.array([200])).round(3).tolist(), band.lower_at(np.array([200])).round(3).tolist()
    ([0.6], [0.522])
    """

    envelope: Envelope
    delta: float
    by_windows: ClassVar[bool] = False

    @property
    def ranks(self) -> Ranks:
        """Queried ranks."""
        return self.envelope.ranks

    @property
    def break_points(self) -> Ranks:
        """Ranks where the bounds of one of the envelopes change."""
        return np.union1d(self._counted.break_points, self._raised.break_points)

    @property
    def slack(self) -> int:
        """That of the envelope."""
        return self.envelope.slack

    def upper_at(self, ranks: Ranks) -> Values:
        """Compute the greatest precision at given ranks."""
        return np.minimum(self._counted.upper_at(ranks), self._raised.upper_at(ranks))

    def lower_at(self, ranks: Ranks) -> Values:
        """Compute the least precision at given ranks."""
        falling = self.envelope.lower_at(ranks)
        chance = self._chance(ranks, falling, np.maximum(self.envelope.upper_at(ranks), falling))
        return np.maximum(self._counted.lower_at(ranks), falling - chance)

    def contradiction(self) -> tuple[int, int] | None:
        """Find the two ranks whose bounds contradict falling rates most; see `Envelope.contradiction`."""
        return self._raised.contradiction()

    @cached_property
    def _counted(self) -> Envelope:
        """The envelope of curves of any shape."""
        return replace(self.envelope, slack=self.envelope.n_items)

    @cached_property
    def _raised(self) -> Envelope:
        """The envelope from upper bounds that chance has lifted."""
        known = self.envelope
        upper = np.minimum(known.upper + self._chance(known.ranks, known.lower, known.upper), 1.0)
        return replace(known, upper=upper)

    def _chance(self, ranks: Ranks, lower: Values, upper: Values) -> Values:
        """Return how far chance moves precisions between these bounds at given ranks."""
        nearest = np.clip(0.5, lower, upper)  # the precision of greatest variance
        share = (nearest * ranks + 1) / (ranks + 2)  # of nearly all or nothing, some variance is left
        return stats.norm.isf(self.delta / (2 * len(self.ranks))) * np.sqrt(share * (1 - share) / ranks)
