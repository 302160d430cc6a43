"""Designs that play arms: the state of their campaigns, and the steps on it.

Within an arm, which is a cell or a group of neighbouring cells, items are drawn uniformly and without replacement, and
every cell is estimated apart, so that all weights are 1.
"""

from __future__ import annotations

from abc import abstractmethod
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar, Generic, NamedTuple

import numpy as np

from bayes_assess._tools import engine
from bayes_assess._tools.arrays import show
from bayes_assess._tools.axes import PRNGKey, x64
from bayes_assess._tools.engine import xp
from bayes_assess._tools.pytrees import register_dataclass
from bayes_assess._tools.shapes import Array, Bool, Float, Int
from bayes_assess.acquisition.rewards import Reward
from bayes_assess.designs._base import Design, Draw, MemoryT, OtherPosterior, own_step, reserve
from bayes_assess.designs._blocks import SideBySide, choose_in_rounds
from bayes_assess.errors import DesignError
from bayes_assess.models.belief import Belief, is_mixture, jax_ready, runs_on_numpy
from bayes_assess.pool.cells import Cells

_DATA = [
    "prior",
    "counts",
    "pending",
    "remaining",
    "size",
    "weight",
    "playable",
    "queue",
    "memory",
    "reward",
    "carried",
]
_ROUNDS = 8  # of a block
# Labels told at which a mixture's points are placed anew: each at first, then at every third more. In between, their
# weights move exactly; the points would only be too few.
_REFRESH_AT = np.unique(np.floor(1.35 ** np.arange(1, 72)).astype(np.int32))


class Carried(NamedTuple):
    """The posterior that a campaign carries from label to label."""

    posterior: Any  # a Mixture
    n_labels: Int[Array, ""] | np.int64  # told; counted apart, so that campaigns side by side share it
    n_placed: Int[Array, ""] | np.int64  # of them when the points were placed

    @property
    def due(self) -> Bool[Array, ""]:
        """Whether so many labels have come that the points are to be placed anew."""
        upto, placed = ((xp.asarray(_REFRESH_AT) <= n).sum() for n in (self.n_labels, self.n_placed))
        return upto > placed

    def dues(self, n_told: Sequence[int]) -> list[bool]:
        """Whether that is so at each of some asks, before which so many more labels will have been told."""
        dues: list[bool] = []
        placed, upto = int(self.n_placed), _REFRESH_AT.tolist()
        for labels in (int(self.n_labels) + n for n in n_told):
            dues.append(bisect_right(upto, labels) > bisect_right(upto, placed))
            placed = labels if dues[-1] else placed
        return dues

    def learned(self, cell: Int[Array, ""], outcome: Int[Array, ""]) -> Carried:
        """Learn one label: the points stay, their weights move."""
        return self._replace(posterior=self.posterior.observe(cell, outcome), n_labels=self.n_labels + 1)

    def refreshed(self) -> Carried:
        """Place the points anew."""
        return self._replace(posterior=self.posterior.refreshed(), n_placed=self.n_labels)


@partial(register_dataclass, data_fields=_DATA, meta_fields=["prior_class", "eager"])
@dataclass(frozen=True)
class CellState(Generic[MemoryT]):
    """Everything a campaign knows, cell by cell; 64-bit, of fixed shape."""

    prior: Belief  # one distribution per cell
    counts: Int[Array, "K O"]  # labels of every cell by outcome
    pending: Int[Array, " K"]  # items handed out and not labelled yet
    remaining: Int[Array, " K"]  # items that may be asked for: neither labelled nor handed out nor set aside
    size: Int[Array, " K"]  # items
    weight: Float[Array, " K"]  # share of the pool
    playable: Int[Array, " P"]  # cells with items that this campaign may ask for
    queue: Int[Array, " m"]  # arms chosen in this round and still to be served, -1 where served
    memory: MemoryT  # what the design alone carries
    reward: Reward  # what a label is worth
    carried: Carried | None = None  # the posterior, where it is a mixture
    prior_class: type = object  # tells beliefs apart that users registered; see `register_dataclass`
    eager: bool = False  # whether steps run on NumPy

    @property
    def endless(self) -> bool:
        """No: labels are none that may be asked for again and again."""
        return False

    @property
    def posterior(self) -> Belief:
        """Prior plus the labels told."""
        return self.prior.update_counts(self.counts) if self.carried is None else self.carried.posterior

    @property
    def belief(self) -> Belief:
        """The posterior as if pending items came back at its mean, so that a batch does not ask one thing twice."""
        return self.posterior.update_at_mean(self.pending)

    @property
    def left(self) -> Int[Array, " A"]:
        """Items of every arm that may be asked for."""
        return self.remaining.reshape(-1, self.reward.cells_per_arm).sum(-1)

    @property
    def available(self) -> Bool[Array, " A"]:
        """Whether an arm has an item that may be asked for."""
        return self.left > 0


def carried(posterior: Belief) -> Carried | None:
    """Return what a campaign carries of a posterior: nothing unless it is a mixture."""
    return Carried(posterior, np.int64(0), np.int64(0)) if is_mixture(posterior) else None


@dataclass(frozen=True)
class ArmDesign(Design[CellState]):
    """Base of all designs that play arms: subclasses say which arms the next round plays.

    What `update_memory` carries may depend on labels, not on which items are pending.
    """

    asks_commute: ClassVar[bool] = True
    eager_up_to: ClassVar[int] = 20_000
    takes_posterior: ClassVar[bool] = True
    plays_arms: ClassVar[bool] = True
    always_plays_best: ClassVar[bool] = False  # whether all items of a round are of one cell, by no draw

    @property
    def chooses_at_once(self) -> bool:
        """Whether it says how it chooses in many campaigns at once."""
        own, base = type(self), ArmDesign
        return own.play_all is not base.play_all or own.ask_block is not base.ask_block

    def can_be_eager(self, prior: object) -> bool:
        """Whether steps on a belief can run on NumPy."""
        return runs_on_numpy(prior)

    def is_eager(self, state: CellState) -> bool:
        """Whether steps of a state run on NumPy: it was started so."""
        return state.eager

    def compiled_state(self, state: CellState) -> CellState:
        """Return the state as compiled steps take it, whichever engine it was started on."""
        return replace(state, eager=False)

    @x64
    def init(
        self, cells: Cells, prior: Belief, reward: Reward, playable: Bool[np.ndarray, " K"] | None = None
    ) -> CellState:
        """Start a campaign.

        Parameters
        ----------
        cells : Cells
            The pool's K cells.
        prior : Belief
            Prior of every cell.
        reward : Reward
            What one label of an arm is worth to the question.
        playable : (K,) booleans, optional
            Cells whose items may be asked for; all of them by default.

        Returns
        -------
        CellState with nothing labelled.
        """
        prior = jax_ready(prior)
        size = np.asarray(cells.sizes, np.int64)  # on the host: every operation on arrays of JAX compiles by itself
        remaining = size if playable is None else np.where(playable, size, 0)
        state = CellState(
            prior=prior,
            counts=xp.asarray(np.zeros((cells.n_cells, reward.n_outcomes), np.int64)),
            pending=xp.asarray(np.zeros_like(size)),
            remaining=xp.asarray(remaining),
            size=xp.asarray(size),
            weight=xp.asarray(size / size.sum()),
            playable=xp.asarray(np.flatnonzero(remaining)),
            queue=xp.asarray(np.full(self._checked_per_round(reward), -1, np.int64)),
            memory=(),
            reward=reward,
            carried=carried(prior) if self.learns else None,
            prior_class=type(prior),
            eager=engine.is_eager(),
        )
        return replace(state, memory=self.init_memory(state))

    def choose(self, key: PRNGKey, state: CellState) -> tuple[Int[Array, ""], Draw, CellState]:
        """Choose the cell of the next item; some cell must have one left.

        Returns
        -------
        cell : integer
        draw : Draw
            These designs draw uniformly within cells and estimate cell by cell, so its weight is 1.
        state : CellState
            The item is now pending.
        """
        arms_are_cells = state.reward.cells_per_arm == 1
        key_play, key_cell = (key, key) if arms_are_cells else engine.random.split(key)
        waiting = (state.queue >= 0) & state.available[state.queue]
        queue = engine.cond(
            waiting.any(),
            lambda: xp.where(waiting, state.queue, -1),
            lambda: self._round(key_play, state),
        )
        slot = xp.argmax(queue >= 0)
        arm = queue[slot]
        cell = arm if arms_are_cells else _random_cell(key_cell, state, arm)
        draw = Draw(weight=xp.ones(()), p_new=xp.ones(()), p_pending=xp.zeros(()))
        return cell, draw, reserve(replace(state, queue=engine.at(queue)[slot].set(-1)), cell)

    def update(self, state: CellState, cell: Int[Array, ""], outcome: Int[Array, ""]) -> CellState:
        """Learn the outcome of one pending item of a cell: for accuracies, 1 if label and prediction agree, else 0."""
        state = replace(
            state,
            counts=engine.at(state.counts)[cell, outcome].add(1),
            pending=engine.at(state.pending)[cell].add(-1),
            carried=None if state.carried is None else state.carried.learned(cell, outcome),
        )
        return replace(state, memory=self.update_memory(state, cell, outcome))

    @x64
    def choosing_by(self, state: CellState, other: OtherPosterior) -> CellState:
        """Return the state with another posterior, and its reward, in the place of the prior and the labels told."""
        belief, reward = other.of_groups()
        on_numpy = self.is_eager(state) and self.can_be_eager(belief)
        with engine.eager(on_numpy):
            belief = jax_ready(belief)
            fields = {
                "prior": belief,
                "counts": np.zeros_like(np.asarray(state.counts)),
                "memory": (),
                "reward": reward,
            }
            state = replace(state, **fields, eager=on_numpy, carried=carried(belief), prior_class=type(belief))
            return replace(state, memory=self.init_memory(state))

    def knowing(self, state: CellState, counts: Int[np.ndarray, "K O"]) -> CellState:
        """Return the state as if these labels, by cell and outcome, were all that were told; not from compiled code."""
        known = carried(state.prior.update_counts(counts)) if state.carried is not None else None
        n_labels = np.int64(counts.sum())
        known = None if known is None else known._replace(n_labels=n_labels, n_placed=n_labels)
        state = replace(state, counts=counts, carried=known, memory=())
        return replace(state, memory=self.init_memory(state))

    def own_again(self, own: CellState, chosen: CellState) -> CellState:
        """Return the state after items were chosen by another posterior, with the campaign's own belief."""
        same = {name: getattr(chosen, name) for name in ("pending", "remaining", "queue")}
        if own.eager and not chosen.eager:
            same = {name: np.asarray(values) for name, values in same.items()}
        return replace(own, **same)

    def due(self, state: CellState) -> Bool[Array, ""] | bool:
        """Whether the points of a mixture are to be placed anew."""
        return False if state.carried is None else state.carried.due

    def dues(self, state: CellState, n_told: Sequence[int]) -> list[bool]:
        """Whether the state is due at each of some asks to come, before which so many labels will have been told."""
        return super().dues(state, n_told) if state.carried is None else state.carried.dues(n_told)

    def refreshed(self, state: CellState) -> CellState:
        """Place the points of a mixture anew."""
        return state if state.carried is None else replace(state, carried=state.carried.refreshed())

    def journal_entry(self, state: CellState) -> Mapping[str, Array]:
        """Return the arms of the round that are still to be served."""
        return {"queue": state.queue}

    def restore(self, state: CellState, entry: Mapping[str, np.ndarray]) -> CellState:
        """Put the round back."""
        return replace(state, queue=np.asarray(entry["queue"], np.int64))

    def ask_block(self, rng: np.random.Generator, campaigns: SideBySide, n: int) -> Int[np.ndarray, "F K"]:
        """Choose `n` items of every campaign before any of their labels is learned, by cells; see `designs._blocks`."""
        rounds = max(_ROUNDS, campaigns.remaining.shape[1]) if self.always_plays_best else _ROUNDS
        return choose_in_rounds(lambda now, size: self.play_all(rng, now, size), campaigns, n, rounds)

    def play_all(self, rng: np.random.Generator, campaigns: SideBySide, n: int) -> Int[np.ndarray, "n F"]:
        """Choose a cell `n` times in every campaign, as `play` chooses one; -1 where none is available.

        Designs that have no such function are followed by their own steps.
        """
        raise DesignError(f"Design {self.name!r} chooses in one campaign at a time.")

    def _round(self, key: PRNGKey, state: CellState) -> Int[Array, " m"]:
        """Return the arms of the next round, or raise DesignError if they are not as many as the design says."""
        with own_step(self, "play"):
            arms: Any = self.play(key, state)
        m = state.queue.shape[0]
        if not hasattr(arms, "shape") or not np.issubdtype(arms.dtype, np.integer):
            found = f"an array of {arms.dtype}" if hasattr(arms, "shape") else show(arms)
            raise DesignError(
                f"`play` of design {self.name!r} returns the numbers of the groups to play, an array of integers of "
                f"shape ({m},); found {found}."
            )
        if arms.shape != state.queue.shape:
            raise DesignError(
                f"`play` of design {self.name!r} returned arms of shape {arms.shape}, and a round here has {m}, shape "
                f"({m},). A design that plays another number of groups than the question looks for says so in "
                "`arms_per_round`."
            )
        return arms.astype(xp.int64)

    @abstractmethod
    def play(self, key: PRNGKey, state: CellState) -> Int[Array, " m"]:
        """Choose the arms of a round, best first; -1 in the last places if fewer are available."""

    def arms_per_round(self, reward: Reward) -> int:
        """Arms that `play` returns: as many as the question looks for."""
        return reward.m

    def _checked_per_round(self, reward: Reward) -> int:
        m = self.arms_per_round(reward)
        if isinstance(m, bool) or not isinstance(m, int | np.integer) or m < 1:
            raise DesignError(f"`arms_per_round` of design {self.name!r} is a whole number from 1; found {show(m)}.")
        return m

    def init_memory(self, state: CellState) -> object:
        """Build what the design itself carries from step to step."""
        return ()

    def update_memory(self, state: CellState, cell: Int[Array, ""], outcome: Int[Array, ""]) -> object:
        """Refresh what the design carries after a label in `cell`; `state` has the label already."""
        return state.memory


def _random_cell(key: PRNGKey, state: CellState, arm: Int[Array, ""]) -> Int[Array, ""]:
    """Cell of an item drawn uniformly from those that remain in an arm."""
    n_cells = state.reward.cells_per_arm
    upto = xp.cumsum(engine.block(state.remaining, arm * n_cells, n_cells))
    item = engine.random.randint(key, (), 0, upto[-1])
    return arm * n_cells + (upto <= item).sum()
