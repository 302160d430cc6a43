"""Adaptive importance sampling for measures, by a Dirichlet tree over labels and blocks."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, NamedTuple

from bayes_assess._tools import engine
from bayes_assess._tools.arrays import is_number, show
from bayes_assess._tools.axes import x64
from bayes_assess._tools.engine import xp
from bayes_assess._tools.shapes import Array, Float, Int
from bayes_assess.acquisition.importance import blockwise_proposal, deterministic_proposal, stochastic_proposal
from bayes_assess.designs._stratifying import Stratifying
from bayes_assess.designs._weighted import WeightedState
from bayes_assess.designs._with_replacement import WithReplacement
from bayes_assess.designs.importance import EPSILON
from bayes_assess.errors import DesignError, PartitionError
from bayes_assess.models.dirichlet_tree import (
    DirichletTree,
    Latent,
    LatentPrior,
    Tree,
    explicit_tree,
    fit_latent,
    latent_prior,
    refresh,
)

_LEARNING_FLOOR = 0.05  # where the model learns from what such draws find
_NEWTON_STEPS = 2


class _Oracle(NamedTuple):
    """What the adaptive design knows of the oracle."""

    prior: DirichletTree
    ready: LatentPrior | None  # the prior, prepared for latent labels
    counts: Float[Array, "B C"]  # labels of every block
    latent: Latent | None  # the fit to latent labels
    pi: Float[Array, "B C"]  # probability of every label in every block


class LabelTree(NamedTuple):
    """A prior of labels and blocks, and what it has learned.

    Attributes
    ----------
    prior : DirichletTree
    labels : (B, C)
        Labelled items of every block by label; where labels are draws, their weights ([NH] app. H).
    """

    prior: DirichletTree
    labels: Float[Array, "B C"]

    @property
    def posterior(self) -> DirichletTree:
        """The tree after these labels."""
        return self.prior.update(self.labels)


@dataclass(frozen=True)
class Adaptive(Stratifying, WithReplacement):
    """Adaptive importance sampling with a Dirichlet-tree model of the oracle ([NH] Algorithm 1, Proposition 2, sec. 4).

    Parameters
    ----------
    n_strata : int
        Blocks of the model, at most.
    kind : str
        How the scores are cut into blocks, see `Strata`.
    strata : Strata or FeatureStrata, optional
        Other blocks, in the place of `n_strata` and `kind`; the tree takes those side by side for alike.
    depth : int, optional
        Depth of the tree; 1 is a flat one. By default as deep as binary branching makes it.
    branching : int
        Children of a node, at most.
    children : nested sequences, optional
        Any other tree, in the place of `depth` and `branching`: families of block numbers, 0 for the stratum of the
        least scores, and of families, such as ``[[0, 1], [2, [3, 4]]]``; as a text, the same as JSON.
    oracle : {"deterministic", "stochastic"}
        Form of model and proposal, which follow the oracle of the session or study. That for a stochastic oracle is
        refused where one label of every item is taken for its truth.
    level : {"item", "block"}
        Whether predictions and known labels tell the items of a block apart.
    epsilon : float in (0, 1]
        Floor of ||Dg l|| where l != 0, as a share of the greatest one; 1e-9 is as published.
    decay : {"share", "labels"}
        How that floor falls: with the share of unlabelled items, as [NH] has it for a deterministic oracle, or as
        epsilon / (labels + 1), as for a stochastic one ([NH] app. H).
    stage : int
        Labels between two proposals.
    floor : float in [0, 1]
        Share of new labels drawn uniformly from all items whose label can matter, whatever the model says of them; 0 is
        as published.

    Examples
    --------
    >>> Adaptive(depth=1).tree(256)
    Tree(n_leaves=256, branching=256, depth=1)
    """

    depth: int | None = None
    branching: int = 2
    oracle: Literal["deterministic", "stochastic"] = "deterministic"
    level: Literal["item", "block"] = "item"
    epsilon: float = EPSILON
    stage: int = 1
    floor: float = _LEARNING_FLOOR
    decay: Literal["share", "labels"] = "share"
    children: str | Sequence[object] | None = None

    name: ClassVar[str] = "adaptive"
    pads_cells: ClassVar[bool] = False  # blocks are leaves of a tree
    takes_posterior: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.children is not None:
            object.__setattr__(self, "children", self._nested(self.children))
        options = {
            "oracle": ("deterministic", "stochastic"),
            "level": ("item", "block"),
            "decay": ("share", "labels"),
        }
        for option, choices in options.items():
            if getattr(self, option) not in choices:
                raise DesignError(f"{option} is {choices[0]!r} or {choices[1]!r}; found {getattr(self, option)!r}.")
        if not (is_number(self.stage) and self.stage >= 1):
            raise DesignError(f"A stage is at least one label; found {show(self.stage)}.")

    def _nested(self, children: str | Sequence[object]) -> tuple[object, ...]:
        if self.depth is not None or self.branching != 2:
            raise DesignError("A tree is given by its children, or by depth and branching; leave one of them out.")
        if isinstance(children, str):
            try:
                children = json.loads(children)
            except ValueError:
                raise DesignError(
                    f"The children of a tree are nested lists of block numbers, such as [[0, 1], [2, 3]]; "
                    f"found {show(children)}."
                ) from None
        try:
            return explicit_tree(children).children
        except PartitionError as error:
            raise DesignError(str(error)) from None

    def tree(self, n_blocks: int) -> Tree:
        """Return the tree over so many blocks.

        Raises
        ------
        DesignError
            If its children are given, and are of another number of blocks.
        """
        if self.children is not None:
            tree = explicit_tree(self.children)
            if tree.n_leaves != n_blocks:
                raise DesignError(
                    f"The tree has {tree.n_leaves:,} blocks for leaves, and the pool falls into {n_blocks:,}: its "
                    f"scores may have fewer values than strata were asked for. Give children of {n_blocks:,} blocks."
                )
            return tree
        return Tree.flat(n_blocks) if self.depth == 1 else Tree(n_blocks, self.branching, self.depth)

    @property
    def of_draws_only(self) -> bool:
        """Whether model and proposal are those for a stochastic oracle."""
        return self.oracle == "stochastic"

    @x64
    def oracle_prior(self, state: WeightedState[_Oracle]) -> DirichletTree:
        """Build the prior from the mean scores of the blocks ([NH] sec. 5.2)."""
        measure = state.measure
        size = measure.by_block(measure.size)[:, None]
        scores: Any = measure.by_block(state.prior * measure.size[:, None]) / xp.maximum(size, 1)
        return DirichletTree.from_prior(mean_scores=scores, tree=self.tree(measure.n_blocks))

    def init_memory(self, state: WeightedState[_Oracle]) -> _Oracle:
        """Fit the model to the pool without labels."""
        measure = state.measure
        prior = self.oracle_prior(state)
        counts = xp.zeros((measure.n_blocks, measure.n_outcomes))
        if self._draws_labels(state):
            return _Oracle(prior, None, counts, None, xp.asarray(prior.predictive))
        ready = latent_prior(prior)
        latent = fit_latent(prior, counts, measure.by_block(measure.size))
        return _Oracle(prior, ready, counts, latent, xp.asarray(latent.pi))

    def update_memory(self, state: WeightedState[_Oracle], cell: Int[Array, ""], outcome: Int[Array, ""]) -> _Oracle:
        """Refresh the model after a label, at the end of a stage."""
        memory = state.memory
        measure = state.measure
        memory = memory._replace(counts=engine.at(memory.counts)[measure.block[cell], outcome].add(1))
        return memory if self._draws_labels(state) else self._by_stage(self._fitted, memory, state)

    def update_memory_from_draws(self, state: WeightedState[_Oracle]) -> _Oracle:
        """Refresh the model of a stochastic oracle, which counts draws by their weights ([NH] app. H)."""
        memory = state.memory
        return self._by_stage(self._predictive, memory, state) if self._draws_labels(state) else memory

    @x64
    def label_tree(self, state: WeightedState[_Oracle]) -> LabelTree:
        """Return the tree that has learned the labelled items, those without a label left out.

        What is asked for depends on blocks, not on labels, so that P(label | block) is that of the block's items.
        """
        memory = state.memory
        labels = state.measure.by_block(state.draws.weights) if self._draws_labels(state) else memory.counts
        return LabelTree(memory.prior, labels)

    def belief(self, state: WeightedState[_Oracle]) -> Float[Array, "K C"]:
        """Return what the model says of the labels of every cell."""
        return state.memory.pi[state.measure.block]

    def propose(self, state: WeightedState[_Oracle]) -> Float[Array, "K C+1"]:
        """Propose by the norms of Dg l at the risk that the model expects."""
        return self.proposal_given(state, self.belief(state))

    def proposal_given(self, state: WeightedState[_Oracle], pi: Float[Array, "K C"]) -> Float[Array, "K C+1"]:
        """Return the best proposal, up to a factor, if labels of unlabelled items had these probabilities."""
        measure = state.measure
        norms = measure.norms(measure.risk(state.masses(pi)))
        factor = 1 - state.share_labelled if self.decay == "share" else 1 / (state.counts.sum() + 1)
        floor = self.epsilon * norms.max() * factor
        if self.level == "block":
            items = state.items.astype(xp.float64)
            return blockwise_proposal(norms, measure.nonzero, pi, floor, items, measure.block, measure.n_blocks)
        form = stochastic_proposal if self._draws_labels(state) else deterministic_proposal
        return form(norms, measure.nonzero, pi, floor)

    def proposal_power(self, state: WeightedState[_Oracle]) -> int:
        """Return 2 where a proposal is the root of expected squares, else 1; see `believing`."""
        return 2 if self.level == "block" or self._draws_labels(state) else 1

    def _draws_labels(self, state: WeightedState[_Oracle]) -> bool:
        """Whether labels are modelled as draws: where they are, or where the option says so."""
        return state.measure.stochastic or self.oracle == "stochastic"

    def _by_stage(
        self,
        fit: Callable[[_Oracle, WeightedState[_Oracle]], _Oracle],
        memory: _Oracle,
        state: WeightedState[_Oracle],
    ) -> _Oracle:
        if self.stage == 1:
            return fit(memory, state)
        return engine.cond(state.counts.sum() % self.stage == 0, lambda: fit(memory, state), lambda: memory)

    def _predictive(self, memory: _Oracle, state: WeightedState[_Oracle]) -> _Oracle:
        posterior = memory.prior.update(state.measure.by_block(state.draws.weights))
        return memory._replace(pi=xp.asarray(posterior.predictive))

    def _fitted(self, memory: _Oracle, state: WeightedState[_Oracle]) -> _Oracle:
        unlabelled = state.measure.by_block(state.unlabelled).astype(xp.float64)
        assert memory.ready is not None  # as labels are not draws
        assert memory.latent is not None
        latent = refresh(memory.ready, memory.counts, unlabelled, memory.latent, _NEWTON_STEPS)
        return memory._replace(latent=latent, pi=xp.asarray(latent.pi))
