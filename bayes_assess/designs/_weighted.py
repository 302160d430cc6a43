"""Designs that draw items with known probabilities and weight them: state of their campaigns, and the steps on it.

Items are drawn with replacement ([NH] Algorithm 1). The oracle always gives an item the same label, so that an item
drawn again costs nothing: only distinct items count as labels. Between two new labels the proposal stays, so the number
of repeated draws is geometric, and which items they hit is multinomial.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Bool, Float, Int

from bayes_assess._typing import PRNGKey, x64
from bayes_assess.acquisition.importance import divergence, normalised, optimal_proposal
from bayes_assess.acquisition.target import Draws, Target, estimated_risk, last_second_moments, second_moments
from bayes_assess.cells import Cells
from bayes_assess.designs._base import Design
from bayes_assess.errors import DesignError
from bayes_assess.strata import Kind, Strata

_AT_ONCE = 32  # repeated draws made side by side
_MOST_REPEATS = 4096  # repeated draws between two labels that are made one by one; more enter at their expectation
_LEAST_SHARE = 1e-12  # probability of a new item, below which new items are drawn uniformly

_DATA = ["target", "prior", "counts", "pending", "remaining", "owed", "owed_draws", "draws", "memory"]


@partial(jax.tree_util.register_dataclass, data_fields=_DATA, meta_fields=[])
@dataclass(frozen=True)
class WeightedState:
    """Everything a campaign knows, cell by cell; 64-bit, of fixed shape."""

    target: Target
    prior: Float[Array, "K C"]  # probability of every label of an item before any label
    counts: Int[Array, "K C"]  # distinct labelled items
    pending: Int[Array, " K"]  # items handed out and not labelled yet
    remaining: Int[Array, " K"]  # items that may be asked for: neither labelled nor handed out
    owed: Float[Array, " K"]  # weights of repeated draws of pending items
    owed_draws: Float[Array, " K"]  # number of those draws
    draws: Draws  # of items whose labels are known
    memory: Any  # what the design alone carries

    @property
    def unlabelled(self) -> Int[Array, " K"]:
        """Items without a label, pending ones included."""
        return self.target.size - self.counts.sum(-1)

    @property
    def items(self) -> Int[Array, "K C+1"]:
        """Items of every cell labelled y, and unlabelled."""
        return jnp.concatenate([self.counts, self.unlabelled[:, None]], axis=-1)

    @property
    def n_items(self) -> Int[Array, ""]:
        """Items of the pool."""
        return self.target.size.sum()

    @property
    def share_labelled(self) -> Float[Array, ""]:
        """Share of the pool that is labelled."""
        return self.counts.sum() / self.n_items

    @property
    def complete(self) -> Bool[Array, ""]:
        """Whether every item that can matter is labelled."""
        return (self.remaining.sum() + self.pending.sum()) == 0

    def masses(self, pi: Float[Array, "K C"]) -> Float[Array, "K C"]:
        """Share of the pool in every cell with every label, unlabelled items by their probabilities `pi`."""
        return (self.counts + self.unlabelled[:, None] * pi) / self.n_items


@dataclass(frozen=True)
class WeightedDesign(Design):
    """Base of designs that draw with replacement: subclasses say what the next proposal is.

    Parameters
    ----------
    delta : float in [0, 1)
        Share of uniform draws mixed into every proposal, so that the draws can serve other measures too ([NH] 3.3.1).
    """

    delta: float = 0.0

    needs_f_measure: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if not 0 <= self.delta < 1:
            raise DesignError(f"delta of {self.name} lies in [0, 1); found {self.delta!r}.")
        epsilon = getattr(self, "epsilon", 1.0)  # a proposal without a floor could exclude items that matter
        if not 0 < epsilon <= 1:
            raise DesignError(f"epsilon of {self.name} lies above 0, up to 1; found {epsilon!r}.")

    @x64
    def init(
        self, cells: Cells, prior: Any, reward: Target, playable: Bool[np.ndarray, " K"] | None = None
    ) -> WeightedState:
        """Start a campaign; `prior` is what scores say of every label, (K, C), and `reward` the `Target`."""
        size = jnp.asarray(cells.counts, jnp.int64)
        shape = (cells.n_cells, reward.n_outcomes)
        target = jax.tree.map(jnp.asarray, reward)
        nothing = Draws(
            n=jnp.zeros(()),
            weights=jnp.zeros(shape),
            squares=jnp.zeros(shape),
            proposal=jnp.zeros((shape[0], shape[1] + 1)),
            covered=jnp.ones((shape[0], shape[1] + 1), bool),
        )
        state = WeightedState(
            target=target,
            prior=jnp.asarray(prior.mean, jnp.float64),
            counts=jnp.zeros(shape, jnp.int64),
            pending=jnp.zeros_like(size),
            remaining=size if playable is None else jnp.where(jnp.asarray(playable), size, 0),
            owed=jnp.zeros(shape[0]),
            owed_draws=jnp.zeros(shape[0]),
            draws=nothing,
            memory=(),
        )
        return self._refreshed(replace(state, memory=self.remember(state)))

    def choose(self, key: PRNGKey, state: WeightedState) -> tuple[Int[Array, ""], Float[Array, ""], WeightedState]:
        """Draw items until one is new; those drawn again are weighed on the way."""
        key_number, key_repeats, key_new = jax.random.split(key, 3)
        proposal, n_items = state.draws.proposal, state.n_items
        new = state.remaining * proposal[:, -1]
        p_new = new.sum()
        stuck = p_new < _LEAST_SHARE
        new = jnp.where(stuck, state.remaining / n_items, new)
        cell = draw_cell(key_new, new)
        left = state.remaining.sum()
        weight = jnp.where(stuck, left, 1 / jnp.where(stuck, 1, proposal[cell, -1])) / n_items

        old = jnp.concatenate([state.counts, state.pending[:, None]], axis=-1) * proposal
        p_old = old.sum()
        again = jnp.where(stuck | (p_old <= 0), 0, _geometric(key_number, p_new / (p_new + p_old)))
        hits = _repeats(key_repeats, again, old)
        one = 1 / jnp.where(proposal > 0, n_items * proposal, 1)
        weights = hits * one
        draws = state.draws
        draws = draws._replace(
            n=draws.n + hits[:, :-1].sum(),
            weights=draws.weights + weights[:, :-1],
            squares=draws.squares + (weights * one)[:, :-1],
            covered=draws.covered & ((proposal > 0) | (state.items == 0)),
        )
        state = replace(state, draws=draws, owed=state.owed + weights[:, -1], owed_draws=state.owed_draws + hits[:, -1])
        return cell, weight, self.reserve(state, cell)

    def update(
        self,
        state: WeightedState,
        cell: Int[Array, ""],
        outcome: Int[Array, ""],
        weight: Float[Array, ""] | float = 1.0,
    ) -> WeightedState:
        """Learn the label of an item, and what to propose next; labels that nobody asked for carry no weight."""
        asked = jnp.asarray(weight) > 0
        # Which of a cell's pending items repeated draws have hit is a matter of chance: each gets the same.
        part = jnp.where(asked, 1 / jnp.maximum(state.pending[cell], 1), 0)
        share, share_draws = part * state.owed[cell], part * state.owed_draws[cell]
        draws = state.draws
        total = jnp.where(asked, weight + share, 0)
        draws = draws._replace(
            n=draws.n + jnp.where(asked, 1 + share_draws, 0),
            weights=draws.weights.at[cell, outcome].add(total),
            squares=draws.squares.at[cell, outcome].add(weight * total),  # repeats have much the same weight
        )
        state = replace(
            state,
            counts=state.counts.at[cell, outcome].add(1),
            pending=state.pending.at[cell].add(-1),
            owed=state.owed.at[cell].add(-share),
            owed_draws=state.owed_draws.at[cell].add(-share_draws),
            draws=draws,
        )
        return self._refreshed(replace(state, memory=self.learn(state, cell, outcome)))

    def estimate(self, state: WeightedState) -> Float[Array, " k"]:
        """Estimate the measure, g(Rhat); where Rhat leaves it undefined, by the belief of the design."""
        return estimated_value(state, self.belief(state))[0]

    def answer(self, state: WeightedState) -> dict[str, Any]:
        """Estimate the measure, and how well it is known.

        Returns
        -------
        dict
            ``estimate``, ``variance``, ``defined``, and ``variance_of_last`` as [NH] sec. 3.3.2 has it: (k,);
            ``n_draws``, ``n_effective``, ``exact``: numbers; ``risk``: (d,).
        """
        target, draws = state.target, state.draws
        value, risk = estimated_value(state, self.belief(state))
        mass = second_moments(draws)
        last = target.by_attribute(last_second_moments(draws, state.n_items))
        n: Any = jnp.maximum(draws.n, 1)
        matter = jnp.where(target.nonzero, draws.weights / n, 0).sum()
        square = jnp.where(target.nonzero, mass, 0).sum()
        return {
            "estimate": value,
            "variance": target.table.variances(risk, target.by_attribute(mass), n),
            "variance_of_last": target.table.variances(risk, last, n),
            "defined": target.table.defined(risk),
            "n_draws": draws.n,
            "n_effective": jnp.where(square > 0, draws.n * matter**2 / jnp.where(square > 0, square, 1), 0),
            "exact": state.complete,
            "risk": risk,
        }

    def notes(self, state: WeightedState) -> Mapping[str, Array]:
        """Return the sums of all draws."""
        return {
            "n_draws": state.draws.n,
            "draw_weights": state.draws.weights,
            "draw_squares": state.draws.squares,
            "owed": state.owed,
            "owed_draws": state.owed_draws,
            "covered": state.draws.covered,
        }

    def recall(self, state: WeightedState, notes: Mapping[str, np.ndarray]) -> WeightedState:
        """Put the sums of all draws back."""
        draws = state.draws._replace(
            n=np.float64(notes["n_draws"]),
            weights=np.asarray(notes["draw_weights"], np.float64),
            squares=np.asarray(notes["draw_squares"], np.float64),
            covered=np.asarray(notes["covered"], bool),
        )
        owed = {name: np.asarray(notes[name], np.float64) for name in ("owed", "owed_draws")}
        return replace(state, draws=draws, **owed)

    def record(self, state: WeightedState, left: Int[Array, "K C"]) -> Any:
        """Return estimate, variance, draws and divergence from the best proposal of a simulated campaign."""
        full = state.counts + left
        norms = state.target.norms(state.target.risk(full / state.n_items))
        best = optimal_proposal(norms, full)
        found = self.answer(state)
        found.pop("risk")
        return found | {"divergence": divergence(best, state.draws.proposal, state.counts, full)}

    def _refreshed(self, state: WeightedState) -> WeightedState:
        proposal = normalised(self.propose(state), state.items, self.delta)
        return replace(state, draws=state.draws._replace(proposal=proposal))

    @abstractmethod
    def propose(self, state: WeightedState) -> Float[Array, "K C+1"]:
        """Return the probability of one item of every cell, labelled y or unlabelled, up to a factor."""

    def belief(self, state: WeightedState) -> Float[Array, "K C"]:
        """Return the probability of every label of the unlabelled items of every cell: what scores say, here."""
        return state.prior

    def remember(self, state: WeightedState) -> Any:
        """Build what the design itself carries from step to step."""
        return ()

    def learn(self, state: WeightedState, cell: Int[Array, ""], outcome: Int[Array, ""]) -> Any:
        """Refresh what the design carries after a label in `cell`; `state` has the label already."""
        return state.memory


@dataclass(frozen=True)
class StratifyingDesign(WeightedDesign):
    """Base of weighted designs that cut the scores into strata.

    Parameters
    ----------
    n_strata : int
        Strata, at most.
    kind : {"csf", "geometric", "width", "weight"}
        How the scores are cut, see `Strata`.
    """

    n_strata: int = 256
    kind: Kind = "csf"

    @property
    def strata(self) -> Strata:  # type: ignore[override]
        """Strata of the scores."""
        return Strata(self.n_strata, self.kind)


def estimated_value(state: WeightedState, belief: Float[Array, "K C"]) -> tuple[Float[Array, " k"], Float[Array, " d"]]:
    """Compute g(Rhat) and Rhat, with the value at the believed R where Rhat leaves g undefined (0/0)."""
    target, table = state.target, state.target.table
    known = target.risk(state.counts / state.n_items)
    risk = jnp.where(state.complete, known, estimated_risk(target, state.draws))
    believed = table.value(target.risk(state.masses(belief)))
    return jnp.where(table.defined(risk) | state.complete, table.value(risk), believed), risk


def _geometric(key: PRNGKey, p: Float[Array, ""]) -> Float[Array, ""]:
    """Draw the number of failures before the first success."""
    u = jax.random.uniform(key, minval=jnp.finfo(jnp.float64).tiny)
    return jnp.where(p < 1, jnp.floor(jnp.log(u) / jnp.log1p(-jnp.minimum(p, 1 - 1e-15))), 0)


def draw_cell(key: PRNGKey, mass: Float[Array, " K"]) -> Int[Array, ""]:
    """Draw a cell in proportion to `mass`, never one of mass 0 unless all are."""
    upto = jnp.cumsum(mass)
    u = upto[-1] * jax.random.uniform(key)
    place = (upto <= u).sum()
    return jnp.minimum(place, jnp.max(jnp.where(mass > 0, jnp.arange(len(mass)), 0)))  # rounding


def _repeats(key: PRNGKey, n: Float[Array, ""], mass: Float[Array, "K D"]) -> Float[Array, "K D"]:
    """How often each of the labelled and pending items is hit by `n` draws, by cell and label."""
    flat = mass.ravel()
    upto = jnp.cumsum(flat)
    total = jnp.where(upto[-1] > 0, upto[-1], 1)
    one_by_one = jnp.minimum(n, _MOST_REPEATS).astype(jnp.int64)
    last = jnp.max(jnp.where(flat > 0, jnp.arange(len(flat)), 0))

    def some(i, hits):
        u = total * jax.random.uniform(jax.random.fold_in(key, i), (_AT_ONCE,))
        place = jnp.minimum(jnp.searchsorted(upto, u, side="right"), last)
        real = i * _AT_ONCE + jnp.arange(_AT_ONCE) < one_by_one
        return hits.at[place].add(real.astype(jnp.float64))

    hits = lax.fori_loop(0, (one_by_one + _AT_ONCE - 1) // _AT_ONCE, some, jnp.zeros_like(flat))
    hits = hits + (n - one_by_one) * flat / total
    return hits.reshape(mass.shape)
