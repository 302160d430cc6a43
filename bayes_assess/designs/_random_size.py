"""Batches that have the size asked for only on average: what designs share that can draw them ([SEME]).

Rounds are weighed as published: sums of l over what was drawn, each for the items that it stands for, rounds by their
planned sizes, and measures from means that are ratios of such sums ([SEME] (5), (18), app. E).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import ClassVar, Literal

import numpy as np

from bayes_assess._tools import engine
from bayes_assess._tools.arrays import is_one_of, show
from bayes_assess._tools.axes import PRNGKey, x64
from bayes_assess._tools.engine import xp
from bayes_assess._tools.shapes import Array, Bool, Float
from bayes_assess.designs._rounds import RoundSums
from bayes_assess.designs._weighted import LabelPrior, WeightedDesign, WeightedState, check_interval
from bayes_assess.errors import DesignError
from bayes_assess.estimators.ratio_interval import RatioSample, ratios_of
from bayes_assess.estimators.weighted import Estimate, Steps, WeightedDraws
from bayes_assess.measures.cell_measure import CellMeasure
from bayes_assess.pool.cells import Cells


@dataclass(frozen=True)
class RandomSize(WeightedDesign):
    """Base of weighted designs whose batches can be of a random size; everything else is left to the next base.

    Parameters
    ----------
    size : {"fixed", "random"}
        Of batches.
    """

    size: Literal["fixed", "random"] = field(default="fixed", kw_only=True)

    intervals: ClassVar[tuple[str, ...]] = ("cautious", "beta", "ratio")

    def __post_init__(self) -> None:
        super().__post_init__()
        interval = self.interval_kind
        check_interval(self.name, interval, self.intervals)
        if not is_one_of(self.size, ("fixed", "random")):
            raise DesignError(f"The size of batches of {self.name} is 'fixed' or 'random'; found {show(self.size)}.")
        if interval == "ratio" and self.size != "random":
            raise DesignError("The interval 'ratio' is of batches of random size; pass size='random', too.")

    @property
    def random_size(self) -> bool:
        """Whether batches have the asked-for size only on average."""
        return self.size == "random"

    def longest(self, n: int) -> int:
        """Return a size that a batch exceeds with a probability below e^-50, by Bernstein's inequality."""
        return n + math.ceil(10 * math.sqrt(n)) + 60 if self.random_size else n

    @x64
    def init(
        self, cells: Cells, prior: LabelPrior, reward: CellMeasure, playable: Bool[np.ndarray, " K"] | None = None
    ) -> WeightedState[RoundSums]:
        """Start a campaign; see `WeightedDesign.init`."""
        if self.random_size and reward.asked_only:
            raise DesignError("Batches of random size are of labels that are classes; leave out size='random'.")
        if self.random_size and reward.stochastic:
            raise DesignError(
                "Where labels are draws, every draw has a label of its own, and batches have the size asked for; leave "
                "out size='random'."
            )
        if self.interval_kind == "ratio":
            ratios_of(reward)  # which refuses other measures
        return super().init(cells, prior, reward, playable)

    def keys_of_batch(self, key: PRNGKey, first: Array | int, rounds: RoundSums) -> tuple[PRNGKey, PRNGKey]:
        """Return the keys by which a batch is drawn, and by which it is ordered.

        An empty batch leaves the number of queries as it was: what was expected so far tells asks apart.
        """
        start, order = engine.random.split(engine.random.fold_in(key, first))
        if self.random_size:
            start = engine.random.fold_in(start, (rounds.weight + rounds.planned).astype(xp.int64))
        return start, order

    def settle(self, state: WeightedState[RoundSums], steps: Steps, last: bool = True) -> WeightedState[RoundSums]:
        """Count labels of the open round, and close it when all have come."""
        if not self.in_rounds:
            return super().settle(state, steps, last)
        rounds, asked = state.memory, (steps.outcome >= 0) & (steps.weight > 0)
        now = engine.at(rounds.now)[steps.cell, xp.maximum(steps.outcome, 0)].add(asked)
        counted = rounds._replace(now=now)
        closes = state.pending.sum() == 0
        whole = self._with_open(counted, closes)
        draws = self._draws(state, whole)
        shown = whole.as_sums(state.counts) if self.random_size else {}
        if not last:
            return replace(state, draws=draws, memory=rounds._replace(shown=shown))
        memory = engine.cond(closes, self._closed, lambda rounds: rounds, counted)
        return replace(state, draws=draws, memory=memory._replace(shown=shown))

    @property
    def in_rounds(self) -> bool:
        """Whether labels are weighed round by round."""
        return self.random_size

    def _closed(self, rounds: RoundSums) -> RoundSums:
        """Close the open round."""
        return self._with_open(rounds, True)

    def _with_open(self, rounds: RoundSums, closes: Bool[Array, ""] | bool) -> RoundSums:
        return rounds.with_open_of_random_size(closes) if self.random_size else rounds.with_open()

    def _draws(self, state: WeightedState[RoundSums], rounds: RoundSums) -> WeightedDraws:
        """Write sums over rounds as those of weighted draws: as many as labels, with the same estimate and variance."""
        # Means are ratios of sums: weights are scaled to the number of items that can matter.
        n, matter = rounds.drawn.sum(), state.matters[:, None]
        unit = (state.measure.size * state.matters).sum() / xp.maximum((rounds.totals * matter).sum(), 1e-300)
        unit = unit * xp.maximum(n, 1) / state.n_items
        return self.as_draws(state, rounds, rounds.totals * unit, rounds.variances * unit**2)

    def as_draws(
        self,
        state: WeightedState[RoundSums],
        rounds: RoundSums,
        weights: Float[Array, "K C"],
        squares: Float[Array, "K C"],
    ) -> WeightedDraws:
        """Return weighted draws, as many as labels were drawn, with these sums of weights and their squares."""
        n = rounds.drawn.sum()
        included = (rounds.included / xp.maximum(n, 1))[:, None]
        return WeightedDraws(
            n=n,
            weights=weights,
            squares=squares,
            proposal=xp.broadcast_to(included, state.draws.proposal.shape),
            covered=state.covered,
            n_new=n,
            new=state.draws.new,
        )

    def weighed(self, state: WeightedState[RoundSums]) -> tuple[WeightedDraws, Float[Array, "1 D"]]:
        """Return the draws; nothing is taken from the second moments of what is a sum over independent items."""
        if not self.random_size:
            return super().weighed(state)
        return state.draws, 0 * state.measure.risk(state.draws.squares)[None]

    def answer(self, state: WeightedState[RoundSums]) -> Estimate:
        """Estimate the measure, and how well it is known."""
        estimate = super().answer(state)
        if not self.random_size:
            return estimate
        by_ratio = xp.asarray(self.interval_kind == "ratio")
        sample = RatioSample(
            **{name: state.measure.by_attribute(column) for name, column in state.memory.shown.items()},
            attribute=xp.asarray(state.measure.attribute),
            inclusion=state.draws.proposal[:, -1] * xp.maximum(state.draws.n, 1),
            unlabelled=state.unlabelled,
        )
        spread = xp.diag(_of_means(state))
        return estimate._replace(variance=xp.maximum(estimate.variance + spread, 0), by_ratio=by_ratio, sample=sample)

    def covariance(self, state: WeightedState[RoundSums]) -> Float[Array, "k k"]:
        """Estimate the covariance of the estimates, (k, k)."""
        return super().covariance(state) + (_of_means(state) if self.random_size else 0.0)

    def on_host(self, answer: Estimate, measure: CellMeasure) -> Estimate:
        """Return the answer with f and g of the measure, where it is a ratio; see `WeightedDesign.on_host`."""
        answer = super().on_host(answer, measure)
        if not self.random_size:
            return answer
        try:
            return answer._replace(sample=None if answer.sample is None else answer.sample.of(measure))
        except DesignError:
            if self.interval_kind == "ratio":
                raise
            return answer._replace(sample=None)

    def check_believing(self, state: WeightedState[RoundSums]) -> None:
        """Raise DesignError if some labels of the open round have come, and others not.

        What is drawn in a round must depend on no label of it, else its inclusion probabilities would not be those of
        its items.
        """
        out, asked = int(np.sum(state.pending)), int(state.memory.asked)
        if 0 < out < asked:
            raise DesignError(
                f"Of a round of {asked:,} items {out:,} are still out, and a posterior that has seen the labels of the "
                "others may not add to it; tell or release what is out first, or ask without a posterior."
            )

    def own_again(self, own: WeightedState[RoundSums], chosen: WeightedState[RoundSums]) -> WeightedState[RoundSums]:
        """Return the state after items were chosen by another posterior, with the design's own model or proposal."""
        if not self.in_rounds:
            return super().own_again(own, chosen)
        return replace(chosen, memory=chosen.memory._replace(model=own.memory.model))

    def journal_entry(self, state: WeightedState[RoundSums]) -> Mapping[str, Array]:
        """Return the open round."""
        entry = super().journal_entry(state)
        if not self.in_rounds:
            return entry
        rounds = state.memory
        return {**entry, **{name: getattr(rounds, name) for name in self._of_open_round}, **rounds.repeats}

    @property
    def _of_open_round(self) -> tuple[str, ...]:
        return ("frame", "inclusion", "asked") + (("planned",) if self.random_size else ())

    def restore(self, state: WeightedState[RoundSums], entry: Mapping[str, np.ndarray]) -> WeightedState[RoundSums]:
        """Put back the open round."""
        state = super().restore(state, entry)
        if not self.in_rounds:
            return state
        open_round: dict[str, object] = {name: np.asarray(entry[name], np.float64) for name in self._of_open_round}
        open_round["repeats"] = {name: np.asarray(entry[name], np.float64) for name in state.memory.repeats}
        if not np.asarray(state.pending).any():  # a round begins
            open_round["known"] = np.asarray(state.counts, np.float64)
        return replace(state, memory=state.memory._replace(**open_round))


def _of_means(state: WeightedState[RoundSums]) -> Float[Array, "k k"]:
    """Return what squared losses l have too much, as losses count less their mean R: sum s (l - R) (l - R)'.

    Nothing where a measure does not change with the scale of R, as of a ratio. Tables of curves, which are all of that
    kind, have no Dg.
    """
    measure, draws = state.measure, state.draws
    jacobian = getattr(measure.table, "jacobian", None)
    if jacobian is None:
        return xp.zeros((measure.table.n_outputs, measure.table.n_outputs))
    n = xp.maximum(draws.n, 1)
    risk = measure.risk(draws.weights / n)
    slope = jacobian(risk)
    mean, moved = slope @ risk, slope @ measure.risk(draws.squares / n**2)
    whole = draws.squares.sum() / n**2
    return whole * xp.outer(mean, mean) - xp.outer(mean, moved) - xp.outer(moved, mean)
