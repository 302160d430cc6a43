"""Importance sampling for measures: passive and static."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Literal

import numpy as np

from bayes_assess._tools.arrays import is_number, show
from bayes_assess._tools.axes import PRNGKey, x64
from bayes_assess._tools.engine import xp
from bayes_assess._tools.shapes import Array, Bool, Float, Int, Scalar
from bayes_assess.acquisition.importance import stochastic_proposal
from bayes_assess.acquisition.repeated_draws import draw_repeatedly, log_missed, whole_draws
from bayes_assess.designs._base import Draw
from bayes_assess.designs._label_models import LabelDraws
from bayes_assess.designs._random_size import RandomSize
from bayes_assess.designs._rounds import RoundSums
from bayes_assess.designs._stratifying import Stratifying
from bayes_assess.designs._weighted import LabelPrior, WeightedState, covering
from bayes_assess.designs._with_replacement import WithReplacement
from bayes_assess.errors import DesignError
from bayes_assess.measures.cell_measure import CellMeasure
from bayes_assess.pool.cells import Cells

EPSILON = 1e-3  # of the greatest norm
_FLOOR = 0.1  # of all new labels


@dataclass(frozen=True)
class Passive(WithReplacement):
    """Uniformly random items, with replacement ([NH] Definition 3).

    Examples
    --------
    >>> Passive().name
    'passive'
    """

    name: ClassVar[str] = "passive"
    draws_alike: ClassVar[bool] = True

    def propose(self, state: WeightedState) -> Float[Array, "K C+1"]:
        """Propose all items alike."""
        return xp.ones_like(state.draws.proposal)

    @x64
    def inclusion(self, state: WeightedState, frame: Int[Array, " K"], asked: Scalar) -> Float[Array, " K"]:
        """Return the probability that an item was drawn in the open round; see `WeightedDesign.inclusion`."""
        return xp.broadcast_to(asked / xp.maximum(frame.sum(), 1), frame.shape)


@dataclass(frozen=True)
class Importance(RandomSize, Stratifying, WithReplacement):
    """Static importance sampling: the best proposal if scores were probabilities of labels ([SAW], [NH] Remark 4).

    An item drawn again costs nothing, so that a batch of n items is the first n new ones that are drawn. By
    ``size="random"`` the number of draws is chosen before any is made, so that they expect n distinct items, and a
    batch has those that there are. As published, measures are ratios of sums over the draws; which of the items drawn
    before a repeated draw was enters at its expectation. As of `Poisson`, further rounds draw from what is left.

    Parameters
    ----------
    n_strata, kind, strata
        How the pool is cut, see `Stratifying`; within a cell, items are drawn alike.
    epsilon : float in (0, 1]
        Floor of ||Dg l|| where l != 0, as a share of the greatest one; 1e-9 is as published.
    floor : float in [0, 1]
        Share of new labels drawn uniformly from all items whose label can matter, whatever their scores say; 0 is as
        published, by which items that scores are sure of are next to never drawn.
    lam : float in [0, 1]
        How far scores are trusted: labels are believed to be lam s + (1 - lam) / C ([SEME] eq. 13).
    interval : {"cautious", "beta", "ratio"}
        Of the answer: one that allows for what no draw has shown yet, or that of a Beta distribution with the estimate
        and its variance, as [SEME] publishes it (eq. 17), which holds too seldom while few errors have been found.
        ``"ratio"`` is `ratio_interval`, of random sizes and of measures that are a ratio of sums over items, such as
        F1: it leans on no score, and holds with few errors found.
    size : {"fixed", "random"}
        Of batches. With ``size="random", lam=0.9, epsilon=1e-9, floor=0, interval="beta"`` it is [SEME]'s Algorithm 1.

    Examples
    --------
    >>> import bayes_assess as ba
    >>> pool = ba.Pool(scores=[0.1, 0.3, 0.6, 0.9])
    >>> len(ba.assess(pool, ba.Metric("f1"), design="importance").ask(3))
    3
    >>> a = ba.assess(pool, ba.Metric("f1"), design=Importance(size="random"))
    >>> 1 <= len(a.ask(2)) <= 4  # two on average
    True
    """

    epsilon: float = EPSILON
    floor: float = _FLOOR
    lam: float = 1.0
    interval: Literal["cautious", "beta", "ratio"] = "cautious"

    name: ClassVar[str] = "importance"
    takes_posterior: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if not (is_number(self.lam) and 0 <= self.lam <= 1):
            raise DesignError(f"The lam of {self.name} lies in [0, 1]; found {show(self.lam)}.")

    @property
    def interval_kind(self) -> str:
        """Which intervals answers have: those that are asked for."""
        return self.interval

    @property
    def whole_batches(self) -> bool:  # type: ignore[override]
        """Whether a batch is drawn and counted as a whole: where its size is random."""
        return self.random_size

    @x64
    def init(
        self, cells: Cells, prior: LabelPrior, reward: CellMeasure, playable: Bool[np.ndarray, " K"] | None = None
    ) -> WeightedState:
        """Start a campaign; see `WeightedDesign.init`."""
        state = super().init(cells, prior, reward, playable)
        if not self.random_size:
            return state
        rounds = RoundSums.before_labels(state.counts.shape, state.draws.proposal[:, -1], True, replacement=True)
        return replace(state, memory=rounds)

    def init_memory(self, state: WeightedState) -> Float[Array, "K C+1"]:
        """Compute the proposal, which no label changes."""
        return self.proposal_given(state, self.lam * state.prior + (1 - self.lam) / state.prior.shape[1])

    def propose(self, state: WeightedState) -> Float[Array, "K C+1"]:
        """Propose what was computed at the start."""
        return state.memory

    def draw(
        self, key: PRNGKey, state: WeightedState, first: Int[Array, ""] | int, n: Int[Array, ""] | int, length: int
    ) -> tuple[Int[Array, " L"], Draw, WeightedState]:
        """Draw a batch; see `Design.draw`."""
        if not self.random_size:
            return super().draw(key, state, first, n, length)
        rounds, remaining, undrawn = state.memory, state.remaining, state.undrawn
        start, number = self.keys_of_batch(key, first, rounds)
        begins = state.pending.sum() == 0
        repeats = {name: xp.where(begins, 0.0, column) for name, column in rounds.repeats.items()}
        # Where nothing is left that can matter, any item is drawn.
        q = xp.where((rounds.model * remaining).sum() > 0, rounds.model, 1.0)
        instead = (q * xp.maximum(undrawn - remaining, 0)).sum()  # of items set aside, which others stand for
        q = q / ((q * (remaining + repeats["distinct"])).sum() + instead)
        fresh = q * (1 + instead / xp.maximum((q * remaining).sum(), 1e-300))
        possible = (remaining * (q > 0)).sum()  # of which the last might take draws without end
        n_draws = whole_draws(number, xp.minimum(n, possible - 0.5), log_missed(fresh), remaining * 1.0)
        drawn = draw_repeatedly(start, q, remaining, repeats["distinct"], instead, n_draws, length)
        asked, inverse = drawn.counts.sum(), 1 / xp.where(q > 0, q, 1.0)
        included = -xp.expm1(n_draws * log_missed(q))
        repeats = {
            "draws": repeats["draws"] + n_draws,
            "distinct": repeats["distinct"] + drawn.counts,
            "first": repeats["first"] + drawn.times * inverse,
            "second": repeats["second"] + drawn.times * inverse**2,
        }
        rounds = rounds.handed_out(begins, state.counts, undrawn, included, asked, n, repeats)
        draws = Draw(weight=inverse[drawn.cells] / state.n_items, p_new=xp.ones(length), p_pending=xp.zeros(length))
        state = covering(state, (included > 0) & state.matters)
        taken = {"pending": state.pending + drawn.counts, "remaining": remaining - drawn.counts}
        return drawn.cells, draws, replace(state, memory=rounds, **taken)

    @x64
    def believing(self, state: WeightedState, labels: LabelDraws) -> WeightedState:
        """Return the state with the proposal that draws of another model make; see `WithReplacement.believing`.

        Raises
        ------
        DesignError
            If batches are of random size, some labels of the open round have come, and others not.
        """
        chosen = super().believing(state, labels)
        if not self.random_size:
            return chosen
        self.check_believing(state)
        return replace(state, memory=state.memory._replace(model=chosen.draws.proposal[:, -1]))

    def proposal_given(self, state: WeightedState, pi: Float[Array, "K C"]) -> Float[Array, "K C+1"]:
        """Return the best proposal, up to a factor, if labels of unlabelled items had these probabilities."""
        norms = state.measure.norms(state.measure.risk(state.masses(pi)))
        return stochastic_proposal(norms, state.measure.nonzero, pi, self.epsilon * norms.max())
