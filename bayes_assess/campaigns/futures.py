"""Futures of a campaign: it goes on by its own steps, on pools that its belief draws.

A future is a pool whose labelled items are as they are and whose other labels are drawn from the posterior, joint over
all cells, and a campaign on it that starts from the present state. Campaigns go on a few labels at a time, so that
they end when enough is known of them.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from bayes_assess._tools import engine
from bayes_assess._tools.axes import in_64_bits, x64
from bayes_assess._tools.progress import progress
from bayes_assess._tools.pytrees import tree_map
from bayes_assess._tools.seeds import generator, jax_key, sequence
from bayes_assess._tools.shapes import Int
from bayes_assess.campaigns.arm_futures import PART, with_counts
from bayes_assess.campaigns.study import Campaigns
from bayes_assess.designs import Design, State, choose_batch, settle_batch, update_batch
from bayes_assess.designs._belief_state import BeliefState
from bayes_assess.designs._blocks import drawn_without_replacement
from bayes_assess.errors import DesignError
from bayes_assess.estimators.posterior_measure import Completion, outcome_draws
from bayes_assess.estimators.weighted import Steps
from bayes_assess.models.belief import runs_on_numpy
from bayes_assess.models.calibration_curve import drawn
from bayes_assess.models.true_positive_rate import TruePositiveRate
from bayes_assess.questions import Setting

_CURVES = 64  # drawn for every future that takes one


def without_pending(design: Design, state: State, later: Steps | None) -> State:
    """Return the state as if items without a label had never been asked for.

    Parameters
    ----------
    design : Design
    state : State
    later : Steps, optional
        Those of the session that are not settled, as far as labels have come.
    """
    if later is not None:
        known = np.asarray(later.outcome) >= 0
        state = settle_batch(design, state, Steps(*(np.asarray(column)[known] for column in later)))
    pending = np.asarray(state.pending)
    return replace(state, pending=np.zeros_like(pending), remaining=np.asarray(state.remaining) + pending)


def imagined_labels(design: Design, state: State, setting: Setting, n: int, seed: int) -> Int[np.ndarray, "n K O"]:
    """Draw the outcomes of all unlabelled items from the posterior, `n` times.

    Parameters
    ----------
    design : Design
        One that plays arms, or the one with a belief on a measure.
    state : State
    setting : Setting
        Of the campaign.
    n, seed : int

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
    raise DesignError(
        f"Design {design.name!r} cannot be planned: it has no model of the labels of all items together, from which "
        "futures could be drawn; plan with 'variance_reduction', where that serves the question."
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


class SessionFutures:
    """Futures that a campaign may have, each followed by the very steps of a session.

    They are for designs and beliefs of users, and for what is to be compared with blocks of labels. Blocks that are
    asked for at a time are as long as those of `ArmFutures`, or of one label.

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
    one_by_one : bool
        Whether labels come one by one.
    matched, smooth : bool
        As for `ArmFutures`.
    """

    enough_at_once = False

    def __init__(
        self,
        design: Design,
        state: State,
        unlabelled: Int[np.ndarray, "n K O"],
        setting: Setting,
        seed: int,
        one_by_one: bool = False,
        matched: bool = False,
        smooth: bool = False,
    ):
        self.setting, self.unlabelled, self.smooth = setting, unlabelled, smooth
        self._design, self._seed, self._one_by_one, self._matched = design, seed, one_by_one, matched
        self._streams = [generator(seed, f"future {number}") for number in range(len(unlabelled))]
        self._campaigns = [(state, left, 0) for left in unlabelled]

    def campaigns(self, which: Int[np.ndarray, " f"], n_labels: int, level: float) -> Campaigns:
        """Go on to a number of labels in all, and return what answers are taken from, of arrays (f, 1, ...).

        Parameters
        ----------
        which : (f,) integers
            Futures that go on.
        n_labels : int
        level : float
            Of the intervals.
        """
        records, on_numpy = [], self._design.is_eager(self._campaigns[0][0])
        with progress(f"Following futures to {n_labels:,} labels", len(which)) as advance:
            for number in which.tolist():
                state = self._until(number, n_labels)
                with engine.eager(on_numpy), in_64_bits():
                    records.append(tree_map(np.asarray, engine.fetched(self._design.record(state))))
                advance(1)
            joined = tree_map(lambda *parts: np.stack(parts)[:, None], *records)
            stream = sequence(self._seed, f"futures at {n_labels}").generate_state(1)[0].item()
            with engine.eager(on_numpy), in_64_bits():
                record = self._design.digest(joined, self.setting, stream, level)
        if self._design.plays_arms:
            return with_counts(self.setting, np.asarray(record, np.int64)[:, 0], self.unlabelled[0], self._matched)
        return Campaigns(record, self.setting.prior, self.setting.cells, self.unlabelled[0])

    def _until(self, number: int, n_labels: int) -> State:
        """Let a future go on to a number of labels."""
        design, rng = self._design, self._streams[number]
        state, left, first = self._campaigns[number]
        while (n := n_labels - int(np.asarray(state.counts).sum())) > 0:
            size = 1 if self._one_by_one else min(n, 1 + (n_labels - n) // PART)
            words = rng.integers(2**32, size=2, dtype=np.uint32)
            cells, draws, state = choose_batch(design, words, state, first, size)
            asked = np.bincount(cells, minlength=len(left))
            labels = drawn_without_replacement(rng, left, asked)
            outcomes = _in_places(rng, cells, labels)
            state = update_batch(design, state, cells, outcomes, Steps(cells, outcomes, draws.weight, draws.p_new))
            left, first = left - labels, first + size
        self._campaigns[number] = state, left, first
        return state


def _in_places(
    rng: np.random.Generator, cells: Int[np.ndarray, " n"], labels: Int[np.ndarray, "K O"]
) -> Int[np.ndarray, " n"]:
    """Give the items of every cell its labels, in random order."""
    of_cell, outcome = (np.repeat(place, labels[labels > 0]) for place in np.nonzero(labels))
    outcomes = np.empty_like(outcome)
    outcomes[np.argsort(cells, kind="stable")] = outcome[np.lexsort([rng.random(len(outcome)), of_cell])]
    return outcomes
