"""Importance sampling for measures: passive, static and adaptive (Dirichlet tree)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np

from bayes_assess._tools import engine
from bayes_assess._tools.arrays import show
from bayes_assess._tools.axes import PRNGKey, x64
from bayes_assess._tools.engine import xp
from bayes_assess._tools.shapes import Array, Bool, Float, Int
from bayes_assess.acquisition.cell_measure import CellMeasure
from bayes_assess.acquisition.importance import blockwise_proposal, deterministic_proposal, stochastic_proposal
from bayes_assess.acquisition.repeated_draws import draw_repeatedly, log_missed, whole_draws
from bayes_assess.designs._base import Draw
from bayes_assess.designs._label_models import LabelDraws
from bayes_assess.designs._random_size import RandomSize
from bayes_assess.designs._rounds import Rounds
from bayes_assess.designs._stratifying import Stratifying
from bayes_assess.designs._weighted import WeightedState, covering
from bayes_assess.designs._with_replacement import WithReplacement
from bayes_assess.errors import DesignError, PartitionError
from bayes_assess.models.dirichlet_tree import DirichletTree, Tree, explicit_tree, fit_latent, latent_prior, refresh
from bayes_assess.pool.cells import Cells

_EPSILON = 1e-3  # of the greatest norm
_FLOOR = 0.1  # of all new labels
_LEARNING_FLOOR = 0.05  # where the model learns from what such draws find
_NEWTON_STEPS = 2


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

    def inclusion(self, state: WeightedState, frame: Any, asked: Any) -> Float[Array, " K"]:
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

    epsilon: float = _EPSILON
    floor: float = _FLOOR
    lam: float = 1.0
    interval: Literal["cautious", "beta", "ratio"] = "cautious"

    name: ClassVar[str] = "importance"
    takes_posterior: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 <= self.lam <= 1:
            raise DesignError(f"The lam of {self.name} lies in [0, 1]; found {show(self.lam)}.")

    @property
    def whole_batches(self) -> bool:  # type: ignore[override]
        """Whether a batch is drawn and counted as a whole: where its size is random."""
        return self.random_size

    @x64
    def init(
        self, cells: Cells, prior: Any, reward: CellMeasure, playable: Bool[np.ndarray, " K"] | None = None
    ) -> WeightedState:
        """Start a campaign; see `WeightedDesign.init`."""
        state = super().init(cells, prior, reward, playable)
        if not self.random_size:
            return state
        rounds = Rounds.before_labels(state.counts.shape, state.draws.proposal[:, -1], True, replacement=True)
        return replace(state, memory=rounds)

    def init_memory(self, state: WeightedState) -> Float[Array, "K C+1"]:
        """Compute the proposal, which no label changes."""
        return self.proposal_given(state, self.lam * state.prior + (1 - self.lam) / state.prior.shape[1])

    def propose(self, state: WeightedState) -> Float[Array, "K C+1"]:
        """Propose what was computed at the start."""
        return state.memory

    def draw(
        self, key: PRNGKey, state: WeightedState, first: Any, n: Int[Array, ""] | int, length: int
    ) -> tuple[Int[Array, " L"], Draw, WeightedState]:
        """Draw a batch; see `Design.draw`."""
        if not self.random_size:
            return super().draw(key, state, first, n, length)
        rounds, left, undrawn = state.memory, state.remaining, state.undrawn
        start, number = self.keys_of_batch(key, first, rounds)
        begins = state.pending.sum() == 0
        repeats = {name: xp.where(begins, 0.0, column) for name, column in rounds.repeats.items()}
        # Where nothing is left that can matter, any item is drawn.
        q = xp.where((rounds.model * left).sum() > 0, rounds.model, 1.0)
        instead = (q * xp.maximum(undrawn - left, 0)).sum()  # of items set aside, which others stand for
        q = q / ((q * (left + repeats["distinct"])).sum() + instead)
        fresh = q * (1 + instead / xp.maximum((q * left).sum(), 1e-300))
        possible = (left * (q > 0)).sum()  # of which the last might take draws without end
        n_draws = whole_draws(number, xp.minimum(n, possible - 0.5), log_missed(fresh), left * 1.0)
        drawn = draw_repeatedly(start, q, left, repeats["distinct"], instead, n_draws, length)
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
        taken = {"pending": state.pending + drawn.counts, "remaining": left - drawn.counts}
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


class _Oracle(NamedTuple):
    """What the adaptive design knows of the oracle."""

    prior: DirichletTree
    ready: Any  # the prior, prepared for latent labels
    counts: Float[Array, "B C"]  # labels of every block
    latent: Any  # the fit to latent labels
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
    labels: Any

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
    epsilon: float = _EPSILON
    stage: int = 1
    floor: float = _LEARNING_FLOOR
    decay: Literal["share", "labels"] = "share"
    children: str | Sequence[Any] | None = None

    name: ClassVar[str] = "adaptive"
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
        if self.stage < 1:
            raise DesignError(f"A stage is at least one label; found {self.stage!r}.")

    def _nested(self, children: Any) -> tuple[Any, ...]:
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
    def oracle_prior(self, state: WeightedState) -> DirichletTree:
        """Build the prior from the mean scores of the blocks ([NH] sec. 5.2)."""
        measure = state.measure
        size = measure.by_block(measure.size)[:, None]
        scores: Any = measure.by_block(state.prior * measure.size[:, None]) / xp.maximum(size, 1)
        return DirichletTree.from_prior(mean_scores=scores, tree=self.tree(measure.n_blocks))

    def init_memory(self, state: WeightedState) -> _Oracle:
        """Fit the model to the pool without labels."""
        measure = state.measure
        prior = self.oracle_prior(state)
        counts = xp.zeros((measure.n_blocks, measure.n_outcomes))
        if self._draws_labels(state):
            return _Oracle(prior, None, counts, None, xp.asarray(prior.predictive))
        ready = latent_prior(prior)
        latent = fit_latent(prior, counts, measure.by_block(measure.size))
        return _Oracle(prior, ready, counts, latent, xp.asarray(latent.pi))

    def update_memory(self, state: WeightedState, cell: Int[Array, ""], outcome: Int[Array, ""]) -> _Oracle:
        """Refresh the model after a label, at the end of a stage."""
        memory: _Oracle = state.memory
        measure = state.measure
        memory = memory._replace(counts=engine.at(memory.counts)[measure.block[cell], outcome].add(1))
        return memory if self._draws_labels(state) else self._by_stage(self._fitted, memory, state)

    def update_memory_from_draws(self, state: WeightedState) -> _Oracle:
        """Refresh the model of a stochastic oracle, which counts draws by their weights ([NH] app. H)."""
        memory: _Oracle = state.memory
        return self._by_stage(self._predictive, memory, state) if self._draws_labels(state) else memory

    @x64
    def label_tree(self, state: WeightedState) -> LabelTree:
        """Return the tree that has learned the labelled items, those without a label left out.

        What is asked for depends on blocks, not on labels, so that P(label | block) is that of the block's items.
        """
        memory: _Oracle = state.memory
        labels = state.measure.by_block(state.draws.weights) if self._draws_labels(state) else memory.counts
        return LabelTree(memory.prior, labels)

    def belief(self, state: WeightedState) -> Float[Array, "K C"]:
        """Return what the model says of the labels of every cell."""
        return state.memory.pi[state.measure.block]

    def propose(self, state: WeightedState) -> Float[Array, "K C+1"]:
        """Propose by the norms of Dg l at the risk that the model expects."""
        return self.proposal_given(state, self.belief(state))

    def proposal_given(self, state: WeightedState, pi: Float[Array, "K C"]) -> Float[Array, "K C+1"]:
        """Return the best proposal, up to a factor, if labels of unlabelled items had these probabilities."""
        measure = state.measure
        norms = measure.norms(measure.risk(state.masses(pi)))
        left = 1 - state.share_labelled if self.decay == "share" else 1 / (state.counts.sum() + 1)
        floor = self.epsilon * norms.max() * left
        if self.level == "block":
            items = state.items.astype(xp.float64)
            return blockwise_proposal(norms, measure.nonzero, pi, floor, items, measure.block, measure.n_blocks)
        form = stochastic_proposal if self._draws_labels(state) else deterministic_proposal
        return form(norms, measure.nonzero, pi, floor)

    def proposal_power(self, state: WeightedState) -> int:
        """Return 2 where a proposal is the root of expected squares, else 1; see `believing`."""
        return 2 if self.level == "block" or self._draws_labels(state) else 1

    def _draws_labels(self, state: WeightedState) -> bool:
        """Whether labels are modelled as draws: where they are, or where the option says so."""
        return state.measure.stochastic or self.oracle == "stochastic"

    def _by_stage(self, fit: Any, memory: _Oracle, state: WeightedState) -> _Oracle:
        if self.stage == 1:
            return fit(memory, state)
        return engine.cond(state.counts.sum() % self.stage == 0, lambda: fit(memory, state), lambda: memory)

    def _predictive(self, memory: _Oracle, state: WeightedState) -> _Oracle:
        posterior = memory.prior.update(state.measure.by_block(state.draws.weights))
        return memory._replace(pi=xp.asarray(posterior.predictive))

    def _fitted(self, memory: _Oracle, state: WeightedState) -> _Oracle:
        unlabelled = state.measure.by_block(state.unlabelled).astype(xp.float64)
        latent = refresh(memory.ready, memory.counts, unlabelled, memory.latent, _NEWTON_STEPS)
        return memory._replace(latent=latent, pi=xp.asarray(latent.pi))
