"""Futures of a campaign whose belief is calibration curves, followed a block of labels at a time.

A block is a twelfth of all labels. Its random items are drawn as the design draws them, and its other items are chosen
in a few rounds by the design's own gains, those of a block so far being pending; labels are learned when the block is
complete. That is the design asking for small batches, but for bets on random items, which no plan looks at. Everything
runs on NumPy, so that nothing is compiled for one plan.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from bayes_assess._tools import engine
from bayes_assess._tools.progress import progress
from bayes_assess._tools.seeds import generator, sequence
from bayes_assess._tools.shapes import Int
from bayes_assess.campaigns.arm_futures import PART
from bayes_assess.campaigns.study import Campaigns
from bayes_assess.designs import VarianceReduction
from bayes_assess.designs._belief_state import BeliefState
from bayes_assess.designs._gains import gains
from bayes_assess.estimators.posterior_measure import PosteriorMeasure
from bayes_assess.models import curve_blocks
from bayes_assess.questions import Setting

_ROUNDS = 2  # of a block
_N_PARTICLES = 128  # of a member
_N_DRAWS = 256  # at a look


class CurveFutures:
    """Futures that a campaign may have, each of which goes on as far as it is asked to.

    Parameters
    ----------
    design : VarianceReduction
    state : BeliefState
        Without pending items.
    unlabelled : (n, K, O) integers
        What `imagined_labels` returned.
    setting : Setting
        Of the campaign.
    seed : int

    Examples
    --------
    >>> import bayes_assess as ba
    >>> from bayes_assess.campaigns.futures import imagined_labels
    >>> a = ba.assess(ba.Pool(scores=np.linspace(0.05, 0.95, 40)), ba.Metric("f1"), seed=0)
    >>> unlabelled = imagined_labels(a.design, a._state, a._setting, 2, seed=0)
    >>> futures = CurveFutures(a.design, a._state, unlabelled, a._setting, seed=0)
    >>> few, all_ = (np.diff(futures.answers(np.arange(2), n, 0.95).interval(0.95))[:, 0, 0, 0] for n in (10, 40))
    >>> (few > 0.1).tolist(), all_.tolist()
    ([True, True], [0.0, 0.0])
    """

    def __init__(
        self,
        design: VarianceReduction,
        state: BeliefState,
        unlabelled: Int[np.ndarray, "n K O"],
        setting: Setting,
        seed: int,
    ):
        self.setting, self.unlabelled = setting, unlabelled
        self._design, self._seed = design, seed
        self._streams = [generator(seed, f"future {number}") for number in range(len(unlabelled))]
        now, self._campaigns = design.eager_state(state), []
        for left, rng in zip(unlabelled, self._streams, strict=True):
            belief = curve_blocks.thinned(now.belief, rng, _N_PARTICLES)
            self._campaigns.append((replace(now, belief=belief), left))

    enough_at_once = True
    smooth = True  # widths are those of few draws

    def campaigns(self, which: Int[np.ndarray, " f"], n_labels: int, level: float) -> Campaigns:
        """Go on to a number of labels in all, and return what answers are taken from; see `answers`."""
        found = self.answers(which, n_labels, level)
        return Campaigns(found, self.setting.prior, self.setting.cells, self.unlabelled[0])

    def answers(self, which: Int[np.ndarray, " f"], n_labels: int, level: float) -> PosteriorMeasure:
        """Go on to a number of labels in all, and compute the answers, of arrays (f, 1, ...).

        They have no intervals from random items alone.

        Parameters
        ----------
        which : (f,) integers
            Futures that go on.
        n_labels : int
        level : float
            Of the intervals.
        """
        records = []
        with progress(f"Following futures to {n_labels:,} labels", len(which)) as advance, engine.eager():
            for number in which.tolist():
                campaign, rng = self._campaigns[number], self._streams[number]
                campaign = _until(self._design, campaign, n_labels - int(campaign[0].counts.sum()), rng)
                self._campaigns[number] = campaign
                look = self._design.record(campaign[0], _N_DRAWS)._replace(bets=None)
                records.append(engine.tree_map(lambda part: np.asarray(part)[None], look))
                advance(1)
            joined = engine.tree_map(lambda *parts: np.stack(parts), *records)
            stream = sequence(self._seed, f"futures at {n_labels}").generate_state(1)[0].item()
            return self._design.digest(joined, self.setting, stream, level)


def _until(
    design: VarianceReduction, campaign: tuple[BeliefState, Int[np.ndarray, "K O"]], n: int, rng: np.random.Generator
) -> tuple[BeliefState, Int[np.ndarray, "K O"]]:
    """Go on by `n` labels."""
    state, left = campaign
    while n > 0:
        size = min(n, 1 + int(state.counts.sum()) // PART)
        labels = np.zeros_like(left)
        for cell, asked in zip(*_asked(design, state, size, rng), strict=True):
            labels[cell] = rng.multivariate_hypergeometric(left[cell], asked)
        state, left, n = _told(state, labels), left - labels, n - size
    return state, left


def _asked(
    design: VarianceReduction, state: BeliefState, n: int, rng: np.random.Generator
) -> tuple[Int[np.ndarray, " c"], Int[np.ndarray, " c"]]:
    """Choose the items of a block: cells, and how many of each."""
    share, doublings = design.random_items(state)
    odds = state.remaining * np.exp2(doublings / 2)
    pending = np.minimum(rng.multinomial(rng.binomial(n, share), odds / odds.sum()), state.remaining)
    while (missing := n - pending.sum()) > 0:
        gain = np.where(state.remaining > pending, gains(replace(state, pending=pending)), -1.0)
        best = np.argsort(-gain, kind="stable")[: min(missing, -(-n // _ROUNDS))]
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
            errors = errors.observe(state.row[cell], outcome, np.ones((), bool))  # type: ignore[arg-type]
    return replace(
        state,
        counts=state.counts + labels,
        remaining=state.remaining - labels.sum(1),
        belief=curve_blocks.learned(state.belief, np.stack([labels.sum(1) - events, events], axis=1)),
        errors=errors,
    )
