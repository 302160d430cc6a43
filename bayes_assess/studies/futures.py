"""Futures of a campaign: it goes on on pools that its belief draws.

A future is a pool whose labelled items are as they are and whose other labels are drawn from the posterior, joint over
all cells, and a campaign on it that starts from the present state. Campaigns go on a few labels at a time, so that
they end when enough is known of them; what a block of labels is to them, each kind of futures says.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import repeat
from typing import Any, ClassVar, Generic, NamedTuple

import numpy as np

from bayes_assess._tools import engine
from bayes_assess._tools.axes import in_64_bits, x64
from bayes_assess._tools.progress import progress
from bayes_assess._tools.pytrees import stacked, tree_map
from bayes_assess._tools.seeds import generator, jax_key, sequence
from bayes_assess._tools.shapes import Int
from bayes_assess.designs import ARMS, Design, State, StateT, choose_batch, settle_batch, update_batch
from bayes_assess.designs._belief_state import BeliefState
from bayes_assess.designs._blocks import drawn_without_replacement
from bayes_assess.designs._registry import DESIGNS
from bayes_assess.errors import DesignError
from bayes_assess.estimators.posterior_measure import Completion, outcome_draws
from bayes_assess.estimators.weighted import Steps
from bayes_assess.models.belief import Belief, FixedBelief, beta_marginals, draws_on_host, is_mixture, runs_on_numpy
from bayes_assess.models.beta_bernoulli import BetaBernoulli
from bayes_assess.models.calibration_curve import drawn
from bayes_assess.models.sampled_belief import SampledBelief, as_draws
from bayes_assess.models.true_positive_rate import TruePositiveRate
from bayes_assess.questions import Setting
from bayes_assess.studies.study import Campaigns

_CURVES = 64  # drawn for every future that takes one
PART = 12  # of all labels is a block


def without_pending(
    design: Design[StateT], state: StateT, later: Steps | None, awaited: Int[np.ndarray, " K"] | None = None
) -> StateT:
    """Return the state as if items without a label had never been asked for.

    Parameters
    ----------
    design : Design
    state : State
    later : Steps, optional
        Those of the session that are not settled, as far as labels have come.
    awaited : (K,) integers, optional
        Pending items that may be asked for again; by default all.
    """
    if later is not None:
        known = np.asarray(later.outcome) >= 0
        state = settle_batch(design, state, Steps(*(np.asarray(column)[known] for column in later)))
    awaited = np.asarray(state.pending) if awaited is None else awaited
    return replace(state, pending=np.zeros_like(awaited), remaining=np.asarray(state.remaining) + awaited)


def imagined_labels(
    design: Design, state: State, setting: Setting, n: int, seed: int, serving: Sequence[str] = ()
) -> Int[np.ndarray, "n K O"]:
    """Draw the outcomes of all unlabelled items from the posterior, `n` times.

    Parameters
    ----------
    design : Design
        One that plays arms, or the one with a belief on a measure.
    state : State
    setting : Setting
        Of the campaign.
    n, seed : int
    serving : names of designs
        That serve the question, for the message.

    Returns
    -------
    (n, K, O) integers
        Unlabelled items of every cell by outcome.

    Raises
    ------
    DesignError
        If the design weighs what it draws, and believes nothing of the labels of all items together.

    Examples
    --------
    >>> import bayes_assess as ba
    >>> design = ba.designs.Thompson()
    >>> setting = ba.GroupAccuracy().setting(ba.Pool(predictions=[0, 0, 0, 1]))
    >>> imagined_labels(design, design.init(*setting), setting, 5, seed=0).sum(-1).tolist()[0]
    [3, 1]
    """
    if design.plays_arms:
        with engine.eager(runs_on_numpy(setting.prior)):
            return _by_belief(np.asarray(state.counts), setting, n, seed)
    if design.believes_all:
        with engine.eager():
            return _by_curves(design.eager_state(state), n, seed)
    able = [name for name in serving if name in DESIGNS and (DESIGNS[name].plays_arms or DESIGNS[name].believes_all)]
    with_others = f"; plan with {' or '.join(map(repr, able))}"
    instead = with_others if able else ", and no other design of this question has one"
    raise DesignError(
        f"Design {design.name!r} cannot be planned: it has no model of the labels of all items together, from which "
        f"futures could be drawn{instead}."
    )


@x64
def _by_belief(counts: Int[np.ndarray, "K O"], setting: Setting, n: int, seed: int) -> Int[np.ndarray, "n K O"]:
    """Draw the shares of all cells' outcomes."""
    posterior, sizes = setting.prior.update_counts(counts), setting.cells.sizes
    if isinstance(posterior, TruePositiveRate):
        return posterior.outcome_draws(jax_key(seed, "futures"), n, counts, sizes)[1] - counts
    shares = np.asarray(posterior.pool_draws(jax_key(seed, "futures"), n, counts, sizes))
    if shares.ndim == 2:  # of agreements
        shares = np.stack([1 - shares, shares], axis=-1)
    full = np.rint(shares * sizes[:, None]).astype(np.int64)
    return np.where(sizes[:, None] > 0, full - counts, 0)


def _by_curves(state: BeliefState, n: int, seed: int) -> Int[np.ndarray, "n K O"]:
    """Draw a curve, the rates of the cells around it, which items show the event, and the labels of the others."""
    rng = generator(seed, "futures")
    share, strength, _ = drawn(state.belief, _CURVES * n)
    chosen = rng.permutation(len(share))[:n]  # they come in an order of their own; any n of them are a sample
    events = state.belief.counts.astype(np.int64)
    completion = Completion(state.event, state.row, state.errors, state.counts)
    return outcome_draws(rng, np.asarray(state.measure.size), share[chosen], strength[chosen], events, completion)


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
            prior = FixedBelief(_at_one_look(prior.update_counts(counts).matched()))
    elif matched and _takes_draws(prior):
        with in_64_bits():
            posterior = prior.update_counts(counts)
            mean, variance = np.asarray(posterior.mean), np.asarray(posterior.variance)
        with engine.eager():
            prior = FixedBelief(_at_one_look(BetaBernoulli.of_moments(mean, variance)))
    return Campaigns(counts[:, None], prior, setting.cells, unlabelled)


def _at_one_look(posterior: BetaBernoulli) -> BetaBernoulli:
    return engine.tree_map(lambda leaf: np.asarray(leaf)[:, None], posterior)


def _takes_draws(prior: Belief) -> bool:
    """Whether a belief is one of a user's that has no closed form: what it is asked for takes draws of JAX."""
    return not runs_on_numpy(prior) and not is_mixture(prior) and beta_marginals(prior) is None


class Longer(NamedTuple):
    """How many times as many labels campaigns take as futures, whose pools are what a belief draws: log-normal.

    Attributes
    ----------
    median : float
    spread : float
        Standard deviation of the logarithm.
    """

    median: float = 1.0
    spread: float = 0.0


@dataclass(frozen=True, eq=False)
class Futures(ABC, Generic[StateT]):
    """Campaigns that go on from where a session stands, by blocks of labels that are learned when they are complete.

    A block is a twelfth of all labels. Kinds of futures differ in how its items are chosen and its labels learned.

    Parameters
    ----------
    design : Design
    state : State
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
    """

    design: Design[StateT]
    state: StateT
    unlabelled: Int[np.ndarray, "n K O"]
    setting: Setting
    seed: int
    matched: bool = True
    smooth: bool = False

    enough_at_once: ClassVar[bool] = False  # whether most of them are enough at any look, not at the end of a stage

    @property
    def on_numpy(self) -> bool:
        """Whether they are followed on NumPy, so that nothing is compiled for one plan."""
        return True

    def longer(self, n_told: int) -> Longer:
        """Return how many times as many further labels campaigns take until they know as much, after some."""
        return Longer()

    def campaigns(self, which: Int[np.ndarray, " f"], n_labels: int, level: float) -> Campaigns:
        """Go on to a number of labels in all, and return what answers are taken from, of arrays (f, 1, ...).

        Where a belief is compiled, the futures are repeated up to the number of all.

        Parameters
        ----------
        which : (f,) integers
            Futures that go on.
        n_labels : int
        level : float
            Of the intervals.
        """
        doing = progress(f"Following futures to {n_labels:,} labels", len(which))
        with doing as advance, engine.eager(self.on_numpy), in_64_bits():
            record = tree_map(lambda part: part[:, None], self.followed(which, n_labels, advance))
            stream = sequence(self.seed, f"futures at {n_labels}").generate_state(1)[0].item()
            record = self.digest(record, stream, level)
        if self.design.plays_arms:
            counts = np.asarray(record, np.int64)[:, 0]
            if not runs_on_numpy(self.setting.prior):  # whose functions compile for every shape anew
                counts = counts[np.arange(len(self.unlabelled)) % len(counts)]
            return with_counts(self.setting, counts, self.unlabelled[0], self.matched)
        return Campaigns(record, self.setting.prior, self.setting.cells, self.unlabelled[0])

    @abstractmethod
    def followed(self, which: Int[np.ndarray, " f"], n_labels: int, advance: Callable[[int], None]) -> Any:
        """Go on to a number of labels; return what the design records, arrays (f, ...)."""

    def digest(self, record: Any, stream: int, level: float) -> Any:
        """Reduce what the design records, arrays (f, 1, ...), by random numbers of a stream."""
        return self.design.digest(record, self.setting, stream, level)

    def blocks(self, n_told: int, n_labels: int) -> Iterator[int]:
        """Yield the sizes of blocks from one number of labels to another."""
        while n_told < n_labels:
            size = min(n_labels - n_told, 1 + n_told // PART)
            yield size
            n_told += size


class SeparateFutures(Futures[StateT]):
    """Futures that are followed one after the other, each by random numbers of its own."""

    @cached_property
    def _streams(self) -> list[np.random.Generator]:
        return [generator(self.seed, f"future {number}") for number in range(len(self.unlabelled))]

    @cached_property
    def _campaigns(self) -> list[tuple[StateT, Int[np.ndarray, "K O"]]]:
        """What every future knows, and its labels that are left; changes as they go on."""
        return [(self.start(rng), labels_left) for rng, labels_left in zip(self._streams, self.unlabelled, strict=True)]

    def followed(self, which: Int[np.ndarray, " f"], n_labels: int, advance: Callable[[int], None]) -> Any:
        """Go on to a number of labels; return what the design records, arrays (f, ...)."""
        records = []
        for number in which.tolist():
            state, labels_left = self._campaigns[number]
            for n in self.blocks(int(np.asarray(state.counts).sum()), n_labels):
                state, labels = self.block(self._streams[number], state, labels_left, n)
                labels_left = labels_left - labels
            self._campaigns[number] = state, labels_left
            records.append(tree_map(np.asarray, engine.fetched(self.record(state))))
            advance(1)
        return stacked(records)

    def start(self, rng: np.random.Generator) -> StateT:
        """Return what a future knows at first."""
        return self.state

    @abstractmethod
    def block(
        self, rng: np.random.Generator, state: StateT, left: Int[np.ndarray, "K O"], n: int
    ) -> tuple[StateT, Int[np.ndarray, "K O"]]:
        """Ask for `n` items and learn their labels, some of those left; return the labels, too."""

    def record(self, state: StateT) -> object:
        """Return what is kept at a look."""
        return self.design.record(state)


@dataclass(frozen=True, eq=False)
class SessionFutures(SeparateFutures[StateT]):
    """Futures that are followed by the very steps of a session.

    They are for designs and beliefs of users, and for what is to be compared with blocks of labels.

    Parameters
    ----------
    one_by_one : bool
        Whether a block has one label; all others are as for `Futures`.
    """

    one_by_one: bool = False

    @property
    def on_numpy(self) -> bool:
        """Whether they are followed on NumPy: where the session is."""
        return self.design.is_eager(self.state)

    def blocks(self, n_told: int, n_labels: int) -> Iterator[int]:
        """Yield the sizes of blocks from one number of labels to another."""
        return repeat(1, n_labels - n_told) if self.one_by_one else super().blocks(n_told, n_labels)

    def _deciding(self, state: Any) -> Any:
        """Return the state with draws of its belief in the place of that, where every decision would make its own.

        Labels of a block are learned when it is complete, so that one set of draws serves all of its decisions.
        """
        ours = ARMS.get(self.design.name) is type(self.design)
        if self.one_by_one or not ours or not _takes_draws(state.prior):
            return state
        drawn: Any = _Drawn(_draws_of(state), state.reward)
        return self.design.choosing_by(state, drawn)

    def block(
        self, rng: np.random.Generator, state: StateT, left: Int[np.ndarray, "K O"], n: int
    ) -> tuple[StateT, Int[np.ndarray, "K O"]]:
        """Ask for `n` items as the design chooses them, and tell their labels."""
        words = rng.integers(2**32, size=2, dtype=np.uint32)
        first = int(np.asarray(state.counts).sum() - np.asarray(self.state.counts).sum())
        by = self._deciding(state)
        cells, draws, chosen = choose_batch(self.design, words, by, first, n)
        state = chosen if by is state else self.design.own_again(state, chosen)
        labels = drawn_without_replacement(rng, left, np.bincount(cells, minlength=len(left)))
        outcomes = _in_places(rng, cells, labels)
        steps = Steps(cells, outcomes, draws.weight, draws.p_new)
        return update_batch(self.design, state, cells, outcomes, steps), labels


@dataclass(frozen=True)
class _Drawn:
    """Draws of a belief and its own reward, as designs take the posterior of another model."""

    belief: SampledBelief
    reward: object

    def of_groups(self) -> tuple[SampledBelief, object]:
        """Return both."""
        return self.belief, self.reward


@engine.jit
def _draws_of(state: Any) -> SampledBelief:
    return as_draws(state.posterior)


def _in_places(
    rng: np.random.Generator, cells: Int[np.ndarray, " n"], labels: Int[np.ndarray, "K O"]
) -> Int[np.ndarray, " n"]:
    """Give the items of every cell its labels, in random order."""
    of_cell, outcome = (np.repeat(place, labels[labels > 0]) for place in np.nonzero(labels))
    outcomes = np.empty_like(outcome)
    outcomes[np.argsort(cells, kind="stable")] = outcome[np.lexsort([rng.random(len(outcome)), of_cell])]
    return outcomes
