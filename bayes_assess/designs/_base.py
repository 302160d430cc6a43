"""What all designs are to sessions and to the simulator.

A design decides from which cell the next item is drawn. It is a few pure functions on a small pytree, its state, so
that the interactive session and a thousand simulated campaigns run the same code. There are two kinds: designs that
play arms by the posterior of every cell (`ArmDesign`), and designs that draw items with known probabilities and weight
them (`WeightedDesign`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import Field, dataclass, replace
from typing import Any, ClassVar, Generic, NamedTuple, Protocol, TypeVar

import numpy as np

from bayes_assess._tools import engine
from bayes_assess._tools.axes import PRNGKey
from bayes_assess._tools.engine import xp
from bayes_assess._tools.shapes import Array, Bool, Float, Int, Scalar
from bayes_assess._tools.text import plural
from bayes_assess.designs._label_models import LabelDraws
from bayes_assess.errors import DesignError, QuestionError
from bayes_assess.estimators.labelled_items import LabelledItems
from bayes_assess.estimators.weighted import Steps
from bayes_assess.measures.cell_measure import CellMeasure
from bayes_assess.models.belief import Belief
from bayes_assess.pool.cells import Cells
from bayes_assess.pool.groups import Cut
from bayes_assess.pool.pool import Pool

_MANY_SKIPPED = 0.02  # items set aside per label, above which answers say what they could be


class State(Protocol):
    """What every state of a campaign knows: a frozen dataclass that is a pytree of 64-bit arrays of fixed shapes."""

    __dataclass_fields__: ClassVar[dict[str, Field[object]]]

    @property
    def counts(self) -> Int[Array, "K O"]:
        """Labels told of every cell by outcome."""
        ...

    @property
    def pending(self) -> Int[Array, " K"]:
        """Items handed out and not labelled yet."""
        ...

    @property
    def remaining(self) -> Int[Array, " K"]:
        """Items that may be asked for."""
        ...

    @property
    def endless(self) -> bool:
        """Whether labels are draws from p(y | x), so that an item may be asked for again and again."""
        ...


class WeighedLabels(NamedTuple):
    """What labels stand for, of designs that weigh what they draw.

    Attributes
    ----------
    n : float
        Draws.
    weights : (K, O)
        Sums of the importance weights of the draws, by cell and outcome.
    complete : bool
        Whether every item that can matter is labelled.
    """

    n: float
    weights: Float[np.ndarray, "K O"]
    complete: bool


class OtherPosterior(Protocol):
    """The posterior of another model, as designs can take it."""

    def of_groups(self) -> tuple[Belief, object]:
        """Return it as the belief on the cells, and what a label is worth by it."""
        ...

    def of_labels(self) -> LabelDraws:
        """Return it as draws of the probabilities of labels; raise DesignError if the design has no use for them."""
        ...


@contextmanager
def own_step(design: object, step: str) -> Iterator[None]:
    """Say how a step of a design is written, where JAX cannot follow it."""
    try:
        yield
    except TypeError as error:
        if not type(error).__module__.startswith("jax"):
            raise
        raise DesignError(
            f"`{step}` of design {getattr(design, 'name', None)!r} cannot be compiled by JAX: write it with "
            "jax.numpy in the place of numpy, jnp.where in the place of if, and no int() or float()."
        ) from error


StateT = TypeVar("StateT", bound=State)
MemoryT = TypeVar("MemoryT")  # of what a design alone carries in its state


class Draw(NamedTuple):
    """How an item was drawn; numbers, or arrays (n,) of several items.

    Attributes
    ----------
    weight : float
        Importance weight p / q; 1 where items are drawn uniformly within cells that are estimated apart.
    p_new : float
        Probability that a draw is an item neither labelled nor handed out before; 1 where nothing is drawn twice.
    p_pending : float
        Probability that it is an item that was handed out and is not labelled yet.
    """

    weight: Float[Array, "*n"]
    p_new: Float[Array, "*n"]
    p_pending: Float[Array, "*n"]


@dataclass(frozen=True)
class Design(ABC, Generic[StateT]):
    """The interface of designs: frozen dataclasses whose fields are their options, static in compiled functions."""

    name: ClassVar[str]
    max_round: ClassVar[int | None] = None  # the greatest number of arms per round it can play; None: any
    one_by_one: ClassVar[bool] = False  # whether campaigns run one after another, as branches need
    whole_batches: ClassVar[bool] = False  # whether a batch is drawn and counted as a whole, however long it is
    asks_commute: ClassVar[bool] = False  # whether items may be handed out before labels told earlier are learned
    pads_cells: ClassVar[bool] = False  # whether cells without items change nothing but the shapes of compiled steps
    settles_in_order: ClassVar[bool] = False  # whether steps settled together are counted one after the other
    eager_up_to: ClassVar[int] = 0  # cells, up to which sessions run on NumPy; 0: never
    oracles: ClassVar[tuple[str, ...]] = ("deterministic",)  # whose labels it can draw
    learns: ClassVar[bool] = True  # whether prior or labels have a say in what a campaign chooses or records
    takes_posterior: ClassVar[bool] = False  # whether items can be chosen by the posterior of another model
    of_ranks: ClassVar[bool] = False  # True of a `RankedDesign`
    believes_all: ClassVar[bool] = False  # whether calibration curves say what it believes of all labels together
    draws_alike: ClassVar[bool] = False  # whether every item is drawn with the same probability
    plays_arms: ClassVar[bool] = False  # whether it chooses among groups, of which the question's belief says all
    weighs: ClassVar[bool] = False  # whether labels stand for items by the probabilities with which these were drawn
    answering: ClassVar[str]  # what answers measures, as a sentence on another one begins

    @property
    def random_size(self) -> bool:
        """Whether a batch has the asked-for size only on average, and may be empty."""
        return False

    @property
    def of_draws_only(self) -> bool:
        """Whether it is made for labels that are draws from p(y | x), and for no others."""
        return False

    def longest(self, n: int) -> int:
        """Return the most items that a batch of `n` can have: as many, unless sizes are random."""
        return n

    def can_be_eager(self, prior: object) -> bool:
        """Whether steps on what is believed before any label can run on NumPy, where those of the design can."""
        return True

    def is_eager(self, state: StateT) -> bool:
        """Whether steps of a state run on NumPy, as `init` started it within `engine.eager`."""
        return False

    def compiled_state(self, state: StateT) -> StateT:
        """Return the state as compiled steps take it, whichever engine it was started on."""
        return state

    def eager_state(self, state: StateT) -> StateT:
        """Return the state as steps on NumPy take it, whichever engine it was started on."""
        return state

    def strata_of(self, pool: Pool) -> Cut | None:
        """Return what a pool is cut by besides what the question needs: nothing for most designs."""
        return None

    @abstractmethod
    def init(self, cells: Cells, prior: Any, reward: Any, playable: Bool[np.ndarray, " K"] | None = None) -> StateT:
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
    def choose(self, key: PRNGKey, state: StateT) -> tuple[Int[Array, ""], Draw, StateT]:
        """Choose the cell of the next item; some cell must have one left.

        Returns
        -------
        cell : integer
        draw : Draw
        state
            The item is now pending.
        """

    def draw(
        self, key: PRNGKey, state: StateT, first: Int[Array, ""] | int, n: Int[Array, ""] | int, length: int
    ) -> tuple[Int[Array, " L"], Draw, StateT]:
        """Choose a batch: one item after the other, unless the design chooses batches as a whole.

        Parameters
        ----------
        key : key
            Query number t uses ``fold_in(key, t)``.
        state : State
        first : int
            Number of queries made before.
        n, length : int
            Items, and the length that arrays are padded to.

        Returns
        -------
        cells : (length,) integers
        draws : Draw of arrays (length,)
        state
            The items are now pending.
        """

        def one(i, carry):
            cells, draws, state = carry
            cell, draw, state = self.choose(engine.random.fold_in(key, first + i), state)
            draws = engine.tree_map(lambda all, new: engine.at(all)[i].set(new), draws, draw)
            return engine.at(cells)[i].set(cell), draws, state

        draws = Draw(weight=xp.zeros(length), p_new=xp.ones(length), p_pending=xp.zeros(length))
        return engine.fori_loop(0, n, one, (xp.zeros(length, xp.int64), draws, state))

    @abstractmethod
    def update(self, state: StateT, cell: Int[Array, ""], outcome: Int[Array, ""]) -> StateT:
        """Learn the outcome of one pending item of a cell."""

    def settle(self, state: StateT, steps: Steps, last: bool = True) -> StateT:
        """Count steps whose labels are learned; nothing to do for designs that do not weigh what they draw.

        Parameters
        ----------
        steps : Steps
            All steps after the settled ones in the order of asking, as far as labels have come.
        last : bool
            Whether no label is missing among them, so that they are settled from now on.
        """
        return state

    @property
    def keeps_aside(self) -> bool:
        """Whether labels that came stand for items that were asked for and set aside, as for those that are pending."""
        return False

    @property
    def settles(self) -> bool:
        """Whether steps are counted when their labels are known: whether the design has a `settle` of its own."""
        return type(self).settle is not Design.settle

    def choosing_by(self, state: StateT, other: OtherPosterior) -> StateT:
        """Return the state with another model's posterior in the place of what the design believes, to choose by."""
        return self.believing(state, other.of_labels())

    def believing(self, state: StateT, labels: LabelDraws) -> StateT:
        """Return the state with another model's draws of labels in the place of what the design believes, to choose by.

        What labels will be weighed by follows from how items are drawn, so that answers are as valid. Designs that play
        arms take a belief instead, see `choosing_by`.

        Parameters
        ----------
        state : State
        labels : LabelDraws
        """
        raise DesignError(f"Design {self.name!r} chooses by no belief on labels: leave out the posterior.")

    def own_again(self, own: StateT, chosen: StateT) -> StateT:
        """Return the state after items were chosen by another posterior, with the belief of the state `own`."""
        return chosen

    def due(self, state: StateT) -> Bool[Array, ""] | bool:
        """Whether the state is to be refreshed before items are asked for; never for most designs."""
        return False

    def dues(self, state: StateT, n_told: Sequence[int]) -> list[bool]:
        """Whether the state is due at each of some asks to come, before which so many labels will have been told."""
        return [False] * len(n_told)

    def refreshed(self, state: StateT) -> StateT:
        """Compute anew what has only been carried along from label to label."""
        return state

    def reserve(self, state: StateT, cell: Int[Array, ""]) -> StateT:
        """Mark one item of a cell as handed out."""
        return reserve(state, cell)

    @abstractmethod
    def journal_entry(self, state: StateT) -> Mapping[str, Array]:
        """Return what a choice has changed besides handing out items, for a journal."""

    @abstractmethod
    def restore(self, state: StateT, entry: Mapping[str, np.ndarray]) -> StateT:
        """Put back what `journal_entry` returned; the state is that before the items were handed out."""

    def inclusion(self, state: StateT, frame: Int[Array, " K"], asked: Scalar) -> Float[Array, " K"]:
        """Return the probability that an item was drawn in the open round, of designs that serve multi-label pools.

        A round begins when items are asked for while none is pending.

        Parameters
        ----------
        state : State
            After the items were drawn.
        frame : (K,) integers
            Items of every cell that the round draws from: those neither labelled nor handed out when it began.
        asked : int
            Items drawn in it.
        """
        raise DesignError(f"Design {self.name!r} does not know the probabilities with which it has drawn items.")

    def evidence(
        self,
        state: StateT,
        seed: int,
        level: float,
        skipped: Int[np.ndarray, " K"],
        labelled: LabelledItems | None = None,
    ) -> dict[str, object]:
        """Return what labels say of a measure, fields of its result; nothing of designs that play arms.

        Parameters
        ----------
        state : State
        seed : int
        level : float
            Of intervals.
        skipped : (K,) integers
            Items set aside.
        labelled : LabelledItems, optional
            Of measures that tell the items of a cell apart, such as those of a ranking.
        """
        return {}

    def weighed_labels(self, state: StateT) -> WeighedLabels | None:
        """Return what labels stand for; None of designs that draw items of a cell at random, without weights."""
        return None

    def measuring(self, state: StateT, measure: CellMeasure, name: str) -> StateT:
        """Return the state with another measure in the place of its own.

        Raises
        ------
        QuestionError
            If the items drawn do not tell of this measure, of the question that is called `name`.
        """
        raise DesignError(f"Design {self.name!r} measures nothing.")

    def record(self, state: StateT) -> object:
        """Return what a simulated campaign keeps at a look."""
        return state.counts.astype(np.int32)

    def digest(self, record: object, setting: object, seed: int, level: float) -> object:
        """Reduce what campaigns keep, arrays (campaigns, looks, ...), on the host."""
        return record


def reserve(state: StateT, cell: Int[Array, ""]) -> StateT:
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
    remaining = engine.at(state.remaining)[cell].set(xp.maximum(state.remaining[cell] - 1, 0))
    return replace(state, pending=engine.at(state.pending)[cell].add(1), remaining=remaining)


def many_skipped(n: int, labels: int) -> bool:
    """Whether so many items were set aside that an answer should say what they could make of it."""
    return n > _MANY_SKIPPED * labels


def check_drawn(name: str, n: int) -> None:
    """Raise QuestionError if the measure called `name` is about `n` items that were never to be drawn."""
    if n:
        raise QuestionError(
            f"{name} needs draws of {plural(n, 'item')} that have no part in this session's measure and so were never "
            "drawn; start a session with it, or with a list of measures that contains it."
        )
