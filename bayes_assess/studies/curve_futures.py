"""Futures of a campaign whose belief is calibration curves, followed a block of labels at a time.

The random items of a block are drawn as the design draws them, and its other items are of the cells of the greatest
gains, the random ones being pending. That is the design asking for small batches from as many cells, but for bets on
random items, which no plan looks at.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from bayes_assess._tools.shapes import Int
from bayes_assess.designs import VarianceReduction
from bayes_assess.designs._belief_state import BeliefState, Look
from bayes_assess.designs._gains import gains, handed_out
from bayes_assess.estimators.posterior_measure import PosteriorMeasure
from bayes_assess.models import curve_blocks
from bayes_assess.studies.futures import PART, Longer, SeparateFutures

_N_PARTICLES = 128  # of a member
_N_DRAWS, _MOST_DRAWS = 256, 2048  # at a look
_USUAL = 0.98  # level of intervals, up to which the ends of so few draws are known
_LONGER, _LONGER_AT_FIRST = Longer(1.2, 0.3), Longer(1.8, 0.3)


def draws_at(level: float) -> int:
    """Return how many draws there are at a look: as many as for other levels in the tails, up to eight times as many.

    Examples
    --------
    >>> draws_at(0.95), draws_at(0.99), draws_at(0.9999)
    (256, 512, 2048)
    """
    return round(min(max(_N_DRAWS * (1 - _USUAL) / (1 - level), _N_DRAWS), _MOST_DRAWS))


@dataclass(frozen=True, eq=False)
class CurveFutures(SeparateFutures[BeliefState]):
    """Futures whose answers have no intervals from random items alone.

    Parameters
    ----------
    n_draws : int
        Of the measure at every look, see `draws_at`; all others are as for `Futures`.

    Examples
    --------
    >>> import bayes_assess as ba
    >>> from bayes_assess.studies.futures import imagined_labels
    >>> a = ba.assess(ba.Pool(scores=np.linspace(0.05, 0.95, 40)), ba.Metric("f1"), seed=0)
    >>> unlabelled = imagined_labels(a.design, a._state, a._setting, 2, seed=0)
    >>> futures = CurveFutures(a.design, a._state, unlabelled, a._setting, seed=0)
    >>> records = [futures.campaigns(np.arange(2), n, 0.95).record for n in (10, 40)]
    >>> few, all_ = (np.diff(record.interval(0.95))[:, 0, 0, 0] for record in records)
    >>> (few > 0.1).tolist(), all_.tolist()
    ([True, True], [0.0, 0.0])
    """

    design: VarianceReduction
    smooth: bool = True
    n_draws: int = _N_DRAWS
    enough_at_once: ClassVar[bool] = True

    def longer(self, n_told: int) -> Longer:
        """Return how many times as many further labels campaigns take until they know as much, after some.

        Of campaigns on pools that the belief did not draw the median is about the geometric mean, between labels that
        come one by one and in tens, and of spreads this one has the best interval score (`benchmarks/study_plan.py`).
        """
        return _LONGER if n_told else _LONGER_AT_FIRST

    def start(self, rng: np.random.Generator) -> BeliefState:
        """Return what a future knows at first: of its belief few particles."""
        now = self.design.eager_state(self.state)
        return replace(now, belief=curve_blocks.thinned(now.belief, rng, _N_PARTICLES))

    def blocks(self, n_told: int, n_labels: int) -> Iterator[int]:
        """Yield the sizes of blocks that are alike, where others leave a small one to the end."""
        number = max(1, round((n_labels - n_told) / (1 + n_told // PART)))
        upto = np.linspace(n_told, n_labels, number + 1).round().astype(int)
        yield from np.diff(upto).tolist()

    def block(
        self, rng: np.random.Generator, state: BeliefState, left: Int[np.ndarray, "K O"], n: int
    ) -> tuple[BeliefState, Int[np.ndarray, "K O"]]:
        """Ask for `n` items and learn their labels, some of those left; return the labels, too."""
        labels = np.zeros_like(left)
        for cell, asked in zip(*_asked(self.design, state, n, rng), strict=True):
            labels[cell] = rng.multivariate_hypergeometric(left[cell], asked)
        return _told(state, labels), labels

    def record(self, state: BeliefState) -> Look:
        """Return what is kept at a look."""
        return self.design.record(state, self.n_draws)._replace(bets=None)

    def digest(self, record: Any, stream: int, level: float) -> PosteriorMeasure:
        """Reduce what is kept to measures, roughly."""
        return self.design.digest(record, self.setting, stream, level, roughly=True)


def _asked(
    design: VarianceReduction, state: BeliefState, n: int, rng: np.random.Generator
) -> tuple[Int[np.ndarray, " c"], Int[np.ndarray, " c"]]:
    """Choose the items of a block: cells, and how many of each."""
    share, doublings = design.random_items(state)
    odds = state.remaining * np.exp2(doublings / 2)
    pending = np.minimum(rng.multinomial(rng.binomial(n, share), odds / odds.sum()), state.remaining)
    while (missing := n - pending.sum()) > 0:
        then = handed_out(state, replace(state, pending=pending))
        gain = np.where(state.remaining > pending, gains(then), -1.0)
        best = np.argsort(-gain, kind="stable")[:missing]
        pending[best[gain[best] >= 0]] += 1
    cells = np.flatnonzero(pending)
    return cells, pending[cells]


def _told(state: BeliefState, labels: Int[np.ndarray, "K O"]) -> BeliefState:
    """Learn the labels of a block."""
    at = np.arange(len(labels)), state.event
    events = labels[at]
    others = labels.copy()
    others[at] = 0
    errors = state.errors
    for cell, outcome in zip(*np.nonzero(others), strict=True):
        for _ in range(0 if errors.is_trivial else others[cell, outcome]):
            errors = errors.observe(state.row[cell], outcome, np.ones((), bool))
    return replace(
        state,
        counts=state.counts + labels,
        remaining=state.remaining - labels.sum(1),
        belief=curve_blocks.learned(state.belief, np.stack([labels.sum(1) - events, events], axis=1)),
        errors=errors,
    )
