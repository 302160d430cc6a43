"""What all designs are to sessions and to the simulator.

A design decides from which cell the next item is drawn. It is a few pure functions on a small pytree, its state, so
that the interactive session and a thousand simulated campaigns run the same code. There are two kinds: designs that
play arms by the posterior of every cell (`ArmDesign`), and designs that draw items with known probabilities and weight
them (`WeightedDesign`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from bayes_assess._typing import PRNGKey
from bayes_assess.cells import Cells

State = Any  # a pytree of 64-bit arrays of fixed shapes


@dataclass(frozen=True)
class Design(ABC):
    """The interface of designs: frozen dataclasses whose fields are their options, static in compiled functions."""

    name: ClassVar[str]
    max_round: ClassVar[int | None] = None  # the greatest number of arms per round it can play; None: any
    learns: ClassVar[bool] = True  # whether prior or labels have a say in what a campaign chooses or records
    strata: ClassVar[Any] = None  # what the pool is cut by besides what the question needs, see `partition`

    @abstractmethod
    def init(self, cells: Cells, prior: Any, reward: Any, playable: Bool[np.ndarray, " K"] | None = None) -> State:
        """Start a campaign.

        Parameters
        ----------
        cells : Cells
            The pool's K cells.
        prior : pytree
            What the question believes of every cell before any label.
        reward : pytree
            What a label is worth to the question.
        playable : (K,) booleans, optional
            Cells whose items may be asked for; all of them by default.

        Returns
        -------
        State with nothing labelled.
        """

    @abstractmethod
    def choose(self, key: PRNGKey, state: State) -> tuple[Int[Array, ""], Float[Array, ""], State]:
        """Choose the cell of the next item; some cell must have one left.

        Returns
        -------
        cell : integer
        weight : float
            Importance weight of the item; 1 where items are drawn uniformly within cells that are estimated apart.
        state
            The item is now pending.
        """

    @abstractmethod
    def update(
        self, state: State, cell: Int[Array, ""], outcome: Int[Array, ""], weight: Float[Array, ""] | float = 1.0
    ) -> State:
        """Learn the outcome of one pending item of a cell; its weight is 0 if nobody asked for it."""

    @abstractmethod
    def estimate(self, state: State) -> Array:
        """Estimate from the labels told."""

    def reserve(self, state: State, cell: Int[Array, ""]) -> State:
        """Mark one item of a cell as handed out."""
        return reserve(state, cell)

    @abstractmethod
    def notes(self, state: State) -> Mapping[str, Array]:
        """Return what a choice has changed besides handing out items, for a journal."""

    @abstractmethod
    def recall(self, state: State, notes: Mapping[str, np.ndarray]) -> State:
        """Put back what `notes` returned."""

    def record(self, state: State, left: Int[Array, "K O"]) -> Any:
        """Return what a simulated campaign keeps at a look; `left` counts the outcomes of unlabelled items."""
        return state.counts.astype(np.int32)


def reserve(state: State, cell: Int[Array, ""]) -> State:
    """Mark one item of a cell as handed out.

    Examples
    --------
    >>> import jax, bayes_assess as ba
    >>> from bayes_assess.acquisition.rewards import LowAccuracy
    >>> from bayes_assess.designs import Thompson
    >>> cells = ba.cells(ba.Pool(predictions=[0, 0, 1]))
    >>> state = Thompson().init(cells, ba.BetaBernoulli.from_prior(n_groups=2), LowAccuracy())
    >>> with jax.enable_x64(True):
    ...     reserve(jax.tree.map(jax.numpy.asarray, state), 0).remaining.tolist()
    [1, 1]
    """
    # Labels may come of items that were never to be asked for.
    remaining = state.remaining.at[cell].set(jnp.maximum(state.remaining[cell] - 1, 0))
    return replace(state, pending=state.pending.at[cell].add(1), remaining=remaining)
