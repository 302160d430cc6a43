"""Futures of a campaign that plays arms, all of them followed at once, a block of labels at a time.

A block is a twelfth of all labels. Its items are chosen as the design chooses them, see `designs._blocks`; labels are
learned when the block is complete, and where groups learn from each other the points that carry what they have in
common are placed anew at every look. Everything runs on NumPy, so that nothing is compiled for one plan.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from bayes_assess._tools import engine
from bayes_assess._tools.progress import progress
from bayes_assess._tools.seeds import generator
from bayes_assess._tools.shapes import Int
from bayes_assess.campaigns.study import Campaigns
from bayes_assess.designs import ARMS, Design, State
from bayes_assess.designs._arms import ArmDesign
from bayes_assess.designs._blocks import SideBySide, drawn_without_replacement
from bayes_assess.models.belief import Posterior, draws_on_host, is_mixture, runs_on_numpy
from bayes_assess.questions import Setting

PART = 12  # of all labels is a block


def follows_at_once(design: Design, prior: Any) -> bool:
    """Whether futures of a design on such a prior can be followed by `ArmFutures`.

    Examples
    --------
    >>> import bayes_assess as ba
    >>> prior = ba.BetaBernoulli.from_prior(n_groups=2)
    >>> follows_at_once(ba.designs.Thompson(), prior), follows_at_once(ba.designs.VarianceReduction(), prior)
    (True, False)
    """
    return ARMS.get(design.name) is type(design) and runs_on_numpy(prior) and draws_on_host(prior)


def with_counts(
    setting: Setting, counts: Int[np.ndarray, "f K O"], unlabelled: Int[np.ndarray, "K O"], matched: bool
) -> Campaigns:
    """Return campaigns with these labels at their only look.

    Parameters
    ----------
    setting : Setting
    counts : (f, K, O) integers
    unlabelled : (K, O) integers
        Of any pool.
    matched : bool
        Whether values of cells that learn from each other are taken for independent Beta variables.
    """
    prior: Any = setting.prior
    if matched and is_mixture(prior) and draws_on_host(prior):
        with engine.eager():
            posterior = prior.update_counts(counts).matched()
            prior = Posterior(engine.tree_map(lambda leaf: np.asarray(leaf)[:, None], posterior))
    return Campaigns(counts[:, None], prior, setting.cells, unlabelled)


class ArmFutures:
    """Futures that a campaign may have, side by side.

    Parameters
    ----------
    design : ArmDesign
    state : CellState
        Without pending items.
    unlabelled : (n, K, O) integers
        What `imagined_labels` returned.
    setting : Setting
        Of the campaign.
    seed : int
    matched : bool
        Whether answers take values of cells for independent Beta variables with the means and variances that a
        belief gives them in which cells learn from each other.
    smooth : bool
        Whether widths are those of few draws.

    Examples
    --------
    >>> import bayes_assess as ba
    >>> from bayes_assess.campaigns.futures import imagined_labels
    >>> a = ba.assess(ba.Pool(predictions=[0] * 30 + [1] * 30), ba.GroupAccuracy(), seed=0)
    >>> unlabelled = imagined_labels(a.design, a._state, a._setting, 3, seed=0)
    >>> futures = ArmFutures(a.design, a._state, unlabelled, a._setting, seed=0)
    >>> futures.campaigns(np.arange(3), 20, 0.95).labelled.sum(-1).tolist()
    [[20], [20], [20]]
    """

    enough_at_once = False

    def __init__(
        self,
        design: ArmDesign,
        state: State,
        unlabelled: Int[np.ndarray, "n K O"],
        setting: Setting,
        seed: int,
        matched: bool = True,
        smooth: bool = False,
    ):
        self.setting, self.unlabelled = setting, unlabelled
        self._design, self._matched = design, matched
        self.smooth = smooth
        self._rng = generator(seed, "campaigns of futures")
        self._counts = np.repeat(np.asarray(state.counts, np.int64)[None], len(unlabelled), axis=0)
        self._left = np.array(unlabelled)
        self._remaining = np.repeat(np.asarray(state.remaining, np.int64)[None], len(unlabelled), axis=0)
        reward: Any = setting.reward
        self._weight, self._reward = np.asarray(state.weight), reward.by_moments()

    def campaigns(self, which: Int[np.ndarray, " f"], n_labels: int, level: float) -> Campaigns:
        """Go on to a number of labels in all, and return what answers are taken from, of arrays (f, 1, ...).

        Parameters
        ----------
        which : (f,) integers
            Futures that go on, all of which have as many labels.
        n_labels : int
        level : float
            Of the intervals; counts have none.
        """
        prior: Any = self.setting.prior
        with progress(f"Following {len(which)} futures to {n_labels:,} labels"), engine.eager():
            placed = self._counts[which]
            posterior = prior.update_counts(placed) if self._design.learns else prior
            while (n := n_labels - int(self._counts[which[0]].sum())) > 0:
                self._one_block(which, posterior, placed, min(n, 1 + (n_labels - n) // PART))
        return with_counts(self.setting, self._counts[which], self.unlabelled[0], self._matched)

    def _one_block(self, which: Int[np.ndarray, " f"], posterior: Any, placed: Int[np.ndarray, "f K O"], n: int):
        """Ask for a block of `n` items in some futures, and learn their labels."""
        counts, remaining, left = self._counts[which], self._remaining[which], self._left[which]
        campaigns = SideBySide(
            posterior=posterior,
            since=counts - placed,
            counts=counts,
            pending=np.zeros_like(remaining),
            remaining=remaining,
            weight=self._weight,
            reward=self._reward,
        )
        asked = self._design.ask_block(self._rng, campaigns, n)
        labels = drawn_without_replacement(self._rng, left, asked)
        self._counts[which], self._remaining[which], self._left[which] = (
            counts + labels,
            remaining - asked,
            left - labels,
        )
