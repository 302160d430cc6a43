"""Designs that draw items with known probabilities and weight them: state of their campaigns, and what they share.

How the next item is drawn is the designs' own, see `WithReplacement` and `Stratified`; so is how labels are weighed.
From weights on, an estimate is the same for all of them.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar, Generic, Protocol

import numpy as np

from bayes_assess._tools import engine
from bayes_assess._tools.arrays import show
from bayes_assess._tools.axes import PRNGKey, x64
from bayes_assess._tools.engine import xp
from bayes_assess._tools.pytrees import register_dataclass
from bayes_assess._tools.shapes import Array, Bool, Float, Int
from bayes_assess.designs._base import Design, MemoryT, WeighedLabels, check_drawn
from bayes_assess.errors import DesignError
from bayes_assess.estimators.labelled_items import LabelledItems
from bayes_assess.estimators.weighted import (
    Estimate,
    Steps,
    Sums,
    WeightedDraws,
    add_steps,
    weighted_covariance,
    weighted_estimate,
    within_possible,
)
from bayes_assess.measures.cell_measure import CellMeasure
from bayes_assess.pool.cells import Cells

_COVARIANCE_UP_TO = 100  # measures
_KEPT_OF_CAMPAIGNS = 300  # counts of labels that a study keeps of every look at every campaign
_DATA = ["measure", "prior", "counts", "pending", "remaining", "covered", "settled", "draws", "memory"]


class LabelPrior(Protocol):
    """What is believed of labels before any, as scores have it."""

    @property
    def mean(self) -> Float[Array, "K C"] | Float[np.ndarray, "K C"]:
        """Probability of every label of an item of every cell."""
        ...


@partial(register_dataclass, data_fields=_DATA, meta_fields=["eager"])
@dataclass(frozen=True)
class WeightedState(Generic[MemoryT]):
    """Everything a campaign knows, cell by cell; 64-bit, of fixed shape."""

    measure: CellMeasure
    prior: Float[Array, "K C"]  # probability of every label of an item before any label
    counts: Int[Array, "K C"]  # labelled items; labels, where an item may have several
    pending: Int[Array, " K"]  # items handed out and not labelled yet
    remaining: Int[Array, " K"]  # items that may be asked for: neither labelled nor handed out nor set aside
    covered: Bool[Array, " K"]  # whether every step so far could draw unlabelled items of the cell
    settled: Sums  # over the steps before the first whose label is missing
    draws: WeightedDraws  # of all steps whose labels are known
    memory: MemoryT  # what the design alone carries
    eager: bool = False  # whether steps run on NumPy

    @property
    def unlabelled(self) -> Int[Array, " K"]:
        """Items without a label, pending ones included; all items where labels are draws from p(y | x)."""
        return self.measure.size if self.endless else self.measure.size - self.counts.sum(-1)

    @property
    def endless(self) -> bool:
        """Whether labels are draws from p(y | x), so that an item may be asked for again and again."""
        return self.measure.stochastic

    @property
    def known(self) -> Int[Array, "K C"]:
        """Items whose label is known for good, by label."""
        return xp.zeros_like(self.counts) if self.measure.stochastic else self.counts

    @property
    def items(self) -> Int[Array, "K C+1"]:
        """Items of every cell labelled y, and unlabelled."""
        return xp.concatenate([self.known, self.unlabelled[:, None]], axis=-1)

    @property
    def n_items(self) -> Int[Array, ""]:
        """Items of the pool."""
        return self.measure.size.sum()

    @property
    def share_labelled(self) -> Float[Array, ""]:
        """Share of the pool that is labelled for good."""
        return self.known.sum() / self.n_items

    @property
    def matters(self) -> Bool[Array, " K"]:
        """Whether some label of the cell's items has a loss."""
        return xp.any(self.measure.nonzero, -1)

    @property
    def undrawn(self) -> Int[Array, " K"]:
        """Items that can matter and may be drawn: those that remain, and those set aside."""
        return xp.where(self.matters, self.unlabelled - (0 if self.measure.stochastic else self.pending), 0)

    @property
    def complete(self) -> Bool[Array, ""]:
        """Whether every item that can matter is labelled."""
        return xp.where(self.matters, self.unlabelled, 0).sum() == 0

    def masses(self, pi: Float[Array, "K C"]) -> Float[Array, "K C"]:
        """Share of the pool in every cell with every label, unlabelled items by their probabilities `pi`."""
        return (self.known + self.unlabelled[:, None] * pi) / self.n_items


@dataclass(frozen=True)
class WeightedDesign(Design[WeightedState]):
    """Base of designs that draw items with known probabilities: subclasses say how, and how labels are weighed."""

    needs_f_measure: ClassVar[bool] = False
    weighs: ClassVar[bool] = True
    pads_cells: ClassVar[bool] = True
    answering: ClassVar[str] = "These draws answer"
    eager_up_to: ClassVar[int] = 100_000  # where compiling pays off after some hundred labels

    def __post_init__(self) -> None:
        """Check the options; every class checks its own and passes on."""

    def is_eager(self, state: WeightedState) -> bool:
        """Whether steps of a state run on NumPy: it was started so."""
        return state.eager

    def compiled_state(self, state: WeightedState) -> WeightedState:
        """Return the state as compiled steps take it, whichever engine it was started on."""
        return replace(state, eager=False)

    @x64
    def init(
        self, cells: Cells, prior: LabelPrior, reward: CellMeasure, playable: Bool[np.ndarray, " K"] | None = None
    ) -> WeightedState:
        """Start a campaign; `prior` is what scores say of every label, (K, C), and `reward` the `CellMeasure`."""
        size = xp.asarray(cells.sizes, xp.int64)
        shape = (cells.n_cells, reward.n_outcomes)
        measure = engine.tree_map(xp.asarray, reward)
        all_covered = xp.ones(shape[0], bool)
        nothing = WeightedDraws(
            n=xp.zeros(()),
            n_new=xp.zeros(()),
            weights=xp.zeros(shape),
            new=xp.zeros(shape),
            squares=xp.zeros(shape),
            proposal=xp.full((shape[0], shape[1] + 1), 1 / size.sum()),
            covered=all_covered,
        )
        return WeightedState(
            measure=measure,
            prior=xp.asarray(prior.mean, xp.float64),
            counts=xp.zeros(shape, xp.int64),
            pending=xp.zeros_like(size),
            remaining=size if playable is None else xp.where(xp.asarray(playable), size, 0),
            covered=all_covered,
            settled=Sums.zeros(shape),
            draws=nothing,
            memory=(),
            eager=engine.is_eager(),
        )

    def update(self, state: WeightedState, cell: Int[Array, ""], outcome: Int[Array, ""]) -> WeightedState:
        """Learn the label of one pending item of a cell."""
        return replace(
            state,
            counts=engine.at(state.counts)[cell, outcome].add(1),
            pending=engine.at(state.pending)[cell].add(-1),
        )

    def settle(self, state: WeightedState, steps: Steps, last: bool = True) -> WeightedState:
        """Count steps whose labels are learned.

        Parameters
        ----------
        state : WeightedState
            All labels are learned already.
        steps : Steps
            All steps after the settled ones, in the order of asking, up to some step at least as late as the last with
            a label.
        last : bool
            Whether no label is missing among them, so that they are settled from now on.
        """
        sums = add_steps(state.settled, steps, state.n_items, state.measure.stochastic)
        counted = {name: getattr(sums, name) for name in ("n", "n_new", "weights", "new", "squares")}
        draws = state.draws._replace(**counted, covered=state.covered)
        return replace(state, settled=sums if last else state.settled, draws=draws)

    @property
    def interval_kind(self) -> str:
        """Which intervals answers have: ``"cautious"`` ones, ``"beta"`` or ``"ratio"``."""
        return "cautious"

    def label_tree(self, state: WeightedState) -> object:
        """Return what a model of labels has learned, None where the design has none; see `Adaptive`."""
        return None

    @abstractmethod
    def weighed(self, state: WeightedState) -> tuple[WeightedDraws, Float[Array, "H D"]]:
        """Return the draws with all labels weighed, and what their `squares` are centred by, (H, D)."""

    @x64
    def weighed_labels(self, state: WeightedState) -> WeighedLabels:
        """Return the sums of the weights of all draws by label."""
        if float(state.draws.n) == 0:
            return WeighedLabels(0.0, np.zeros(np.shape(state.counts)), bool(state.complete))
        with engine.eager(self.is_eager(state)):
            draws, complete = _weighed(self, state)
        return WeighedLabels(float(draws.n), np.asarray(draws.weights, np.float64), bool(complete))

    def answer(self, state: WeightedState) -> Estimate:
        """Estimate the measure, and how well it is known."""
        draws, centres = self.weighed(state)
        estimate = weighted_estimate(state.measure, draws, state.counts, self.masses(state), state.complete, centres)
        return estimate._replace(beta=xp.asarray(self.interval_kind == "beta"))

    def evidence(
        self,
        state: WeightedState,
        seed: int,
        level: float,
        skipped: Int[np.ndarray, " K"],
        labelled: LabelledItems | None = None,
    ) -> dict[str, object]:
        """Return fields of `Weighted`; measures of a ranking are exact once all items are labelled."""
        with engine.eager(self.is_eager(state)):
            return self._evidence(state, labelled)

    @x64
    def _evidence(self, state: WeightedState, labelled: LabelledItems | None) -> dict[str, object]:
        answer, covariance = engine.tree_map(np.asarray, _answered(self, state))
        answer = self.on_host(answer, state.measure)
        if labelled is not None and answer.exact:
            table: Any = state.measure.table
            answer = answer._replace(value=labelled.values(table, np.zeros((1, 1)), np.zeros(1, np.int64))[0])
        return {"answer": answer, "all_covariances": covariance, "tree": self.label_tree(state)}

    def measuring(self, state: WeightedState, measure: CellMeasure, name: str) -> WeightedState:
        """Return the state with another measure of the items drawn in the place of its own."""
        nonzero = np.asarray(measure.nonzero)
        missing = nonzero.any(-1) & ~np.asarray(state.draws.covered)
        check_drawn(name, int(np.asarray(measure.size)[missing].sum()))
        size, labelled, pending = (np.asarray(x) for x in (state.measure.size, state.counts, state.pending))
        n_open = size if state.endless else size - labelled.sum(-1) - pending
        return replace(state, measure=measure, remaining=np.where(nonzero.any(-1), n_open, 0))

    def on_host(self, answer: Estimate, measure: CellMeasure) -> Estimate:
        """Return an answer with what its intervals need besides, found outside of compiled code."""
        return within_possible(answer, measure)

    def digest(self, record: Any, setting: Any, seed: int, level: float) -> Any:
        """Return what campaigns keep, (campaigns, looks, ...), as a session would return it."""
        return self.on_host(record, setting.reward) if setting.reward.has_losses else record

    def covariance(self, state: WeightedState) -> Float[Array, "k k"]:
        """Estimate the covariance of the estimates, (k, k)."""
        draws, centres = self.weighed(state)
        return weighted_covariance(state.measure, draws, state.counts, state.complete, centres)

    def masses(self, state: WeightedState) -> Float[Array, "K C"]:
        """Return the share of the pool in every cell with every label, as far as labelled, else as believed."""
        return state.masses(self.belief(state))

    def journal_entry(self, state: WeightedState) -> Mapping[str, Array]:
        """Return which cells every step so far could draw from."""
        return {"covered": state.covered}

    def restore(self, state: WeightedState, entry: Mapping[str, np.ndarray]) -> WeightedState:
        """Put back which cells every step so far could draw from."""
        return replace(state, covered=np.asarray(entry["covered"], bool))

    def record(self, state: WeightedState) -> Estimate | tuple[Array, WeightedDraws]:
        """Return the estimate of a simulated campaign; labels and draws where losses are known elsewhere."""
        if not state.measure.has_losses:
            return state.counts, state.draws
        estimate = self.answer(state)
        many = state.measure.n_attributes * state.measure.n_outcomes > _KEPT_OF_CAMPAIGNS
        return estimate._replace(labelled=None) if many else estimate

    def belief(self, state: WeightedState) -> Float[Array, "K C"]:
        """Return the probability of every label of the unlabelled items of every cell: what scores say, here."""
        return state.prior


@partial(engine.jit, static_argnums=0)
def _answered(design: WeightedDesign, state: WeightedState) -> tuple[Estimate, Float[Array, "k k"] | None]:
    """Return the estimate, and its covariance where that is small; in one graph, which compiles fast."""
    few = state.measure.table.n_outputs <= _COVARIANCE_UP_TO
    return design.answer(state), design.covariance(state) if few else None


@partial(engine.jit, static_argnums=0)
def _weighed(design: WeightedDesign, state: WeightedState) -> tuple[WeightedDraws, Bool[Array, ""]]:
    """Return the draws with all labels weighed, and whether there are no more; in one graph, too."""
    return design.weighed(state)[0], state.complete


def check_interval(design: str, interval: object, kinds: tuple[str, ...] = ("cautious", "beta")) -> None:
    """Raise DesignError unless intervals of this kind can be asked for."""
    if interval not in kinds:
        named = " or ".join([", ".join(map(repr, kinds[:-1])), repr(kinds[-1])])
        raise DesignError(f"The interval of {design} is {named}; found {show(interval)}.")


def draw_cell(key: PRNGKey, mass: Float[Array, " K"]) -> Int[Array, ""]:
    """Draw a cell in proportion to `mass`, never one of mass 0 unless all are."""
    upto = xp.cumsum(mass)
    u = upto[-1] * engine.random.uniform(key)
    place = (upto <= u).sum()
    return xp.minimum(place, xp.max(xp.where(mass > 0, xp.arange(len(mass)), 0)))  # rounding


def covering(state: WeightedState, possible: Bool[Array, " K"]) -> WeightedState:
    """Return the state after a step that could draw the unlabelled items of these cells."""
    return replace(state, covered=state.covered & (possible | (state.unlabelled == 0)))
