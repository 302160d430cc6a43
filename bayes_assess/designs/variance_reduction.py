"""The design that labels what is expected to reduce the posterior variance of a measure most."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from operator import itemgetter
from typing import Any, ClassVar

import numpy as np

from bayes_assess._tools import engine
from bayes_assess._tools.arrays import is_number, show
from bayes_assess._tools.axes import PRNGKey, in_64_bits, x64
from bayes_assess._tools.engine import xp
from bayes_assess._tools.seeds import generator
from bayes_assess._tools.shapes import Array, Bool, Float, Int
from bayes_assess.designs._audit import Audit, audit_plan, design_intervals, first_audit
from bayes_assess.designs._base import Design, Draw, check_drawn, many_skipped, reserve
from bayes_assess.designs._belief_state import BeliefState, Look, MeasurePosterior, OtherLabels, Supposed
from bayes_assess.designs._gains import at_stake, gains, handed_out
from bayes_assess.designs._label_models import LabelDraws
from bayes_assess.errors import DesignError
from bayes_assess.estimators import betting
from bayes_assess.estimators.contradiction import contradicting_level
from bayes_assess.estimators.labelled_items import LabelledItems
from bayes_assess.estimators.posterior_measure import (
    Completion,
    PosteriorMeasure,
    labelled_events,
    measure_draws,
    measure_values,
    posterior_measure,
)
from bayes_assess.estimators.rough_measure import rough_measure_draws
from bayes_assess.estimators.weighted import Steps
from bayes_assess.measures.cell_measure import CellMeasure
from bayes_assess.models.calibration_curve import drawn, prior_curves
from bayes_assess.models.curve_rates import Coordinates
from bayes_assess.models.group_effects import with_group_effects
from bayes_assess.pool.cells import Cells
from bayes_assess.pool.pool import Pool
from bayes_assess.pool.rank_strata import RankStrata

_COINS = 2**31 - 2  # folded into the key of the belief, whose moves are numbered from 0
_LEAST = 1e-300  # probability
_N_LOOK = 512  # posterior draws at a look of a simulated campaign
_N_RESULT = 4000  # of a session's result; fewer where tables of attributes and labels are large
_MANY = 4  # cells of an attribute in the mean, from which on their sums are drawn sooner
_RESULT_NUMBERS, _FEWEST_RESULT = 10_000_000, 1000


@dataclass(frozen=True)
class VarianceReduction(Design[BeliefState]):
    """Items whose labels are expected to reduce the posterior variance of a measure most (METHODS 12.2 to 12.4).

    The belief is a mixture of calibration curves that learns from all labels together, see
    `bayes_assess.models.calibration_curve`. Some items are drawn at random; they audit the belief.

    Parameters
    ----------
    n_strata : int
        Ranges of the score, at most; the belief tells their items apart by nothing but the prediction.
    audit : float in [0, 1)
        Share of uniformly random items among those asked for. Unless events are rare or labels few, others are random
        too, three in ten of all at most: these are drawn where a label is expected to tell most.

    Examples
    --------
    >>> VarianceReduction(audit=0.1).name
    'variance_reduction'
    """

    n_strata: int = 128
    audit: float = 0.05

    name: ClassVar[str] = "variance_reduction"
    one_by_one: ClassVar[bool] = True
    pads_cells: ClassVar[bool] = True
    settles_in_order: ClassVar[bool] = True
    believes_all: ClassVar[bool] = True
    eager_up_to: ClassVar[int] = 20_000
    takes_posterior: ClassVar[bool] = True
    answering: ClassVar[str] = "This session answers"

    def __post_init__(self) -> None:
        if not (is_number(self.audit) and 0 <= self.audit < 1):
            raise DesignError(f"The audit of {self.name} lies in [0, 1); found {show(self.audit)}.")

    def strata_of(self, pool: Pool) -> RankStrata:
        """Return strata of the ranks of the scores; the question says of which."""
        return RankStrata(self.n_strata)

    def is_eager(self, state: BeliefState) -> bool:
        """Whether steps of a state run on NumPy: it was started so."""
        return isinstance(state.belief.key, np.ndarray)

    def eager_state(self, state: BeliefState) -> BeliefState:
        """Return the state as steps on NumPy take it, whichever engine it was started on."""
        if self.is_eager(state):
            return state
        with engine.eager():
            key = engine.random.as_key(state.belief.key)
        with engine.eager(False):
            return engine.fetched(replace(state, belief=replace(state.belief, key=key)))

    def compiled_state(self, state: BeliefState) -> BeliefState:
        """Return the state as compiled steps take it, whichever engine it was started on."""
        return replace(state, belief=replace(state.belief, key=engine.random.as_key(state.belief.key)))

    @x64
    def init(
        self, cells: Cells, prior: object, reward: CellMeasure, playable: Bool[np.ndarray, " K"] | None = None
    ) -> BeliefState:
        """Start a campaign; `cells` know what the belief is about, and `reward` is the `CellMeasure`."""
        about: Any = cells  # of an event
        events = about.events
        size = np.asarray(cells.sizes, np.int64)
        playable = np.ones(cells.n_cells, bool) if playable is None else np.asarray(playable)
        belief = prior_curves(0, events.members, events.coordinates)
        held: dict[str, Any] = {
            "measure": reward,
            "playable": playable,
            "event": np.asarray(events.outcome),
            "row": np.asarray(events.row),
            "counts": np.zeros((cells.n_cells, reward.n_outcomes), np.int64),
            "pending": np.zeros_like(size),
            "remaining": np.where(playable, size, 0),
            "belief": belief,
            "errors": events.errors,
            "audit": first_audit(reward, playable),
        }
        return engine.put(BeliefState(**held))

    def choose(self, key: PRNGKey, state: BeliefState) -> tuple[Int[Array, ""], Draw, BeliefState]:
        """Choose the item that teaches most, or a random one, whose weight is positive (`audit_plan`)."""
        coin, place = engine.random.uniform(key, (2,))
        gain = xp.where(state.remaining > 0, gains(state), -1.0)
        share, doublings = self.random_items(state)
        # Fixed while items are pending, as bets are settled by them when labels have come.
        doublings = xp.where(state.pending.sum() == 0, doublings, state.audit.doublings)
        state = handed_out(state, replace(state, audit=state.audit._replace(doublings=doublings)))
        audits = coin < share
        upto = xp.cumsum(state.remaining * state.audit.rates)
        random = xp.minimum((upto <= place * upto[-1]).sum(), xp.argmax(upto))  # rounding may not pass the end
        cell = xp.where(audits, random, xp.argmax(gain))
        weight = upto[-1] / (state.audit.rates[cell] * state.measure.size.sum())
        draw = Draw(weight=xp.where(audits, weight, 0.0), p_new=xp.ones(()), p_pending=xp.zeros(()))
        return cell, draw, self.reserve(state, cell)

    @x64
    def believing(self, state: BeliefState, labels: LabelDraws) -> BeliefState:
        """Return the state with draws of another model, by which items are chosen that are not drawn at random.

        Random items are as many, and drawn as they would be without it, so that they audit the design's own belief.
        """
        mean = np.asarray(labels.mean)
        tilt = (mean * np.log(np.maximum(labels.pi, _LEAST))).sum(-1)
        other = OtherLabels(labels.pi, np.log(np.maximum(labels.weights, _LEAST)), tilt)
        with engine.eager(self.is_eager(state)):
            return replace(state, other=engine.put(other))

    def own_again(self, own: BeliefState, chosen: BeliefState) -> BeliefState:
        """Return the state after items were chosen by another posterior, with the design's own belief alone."""
        return replace(chosen, other=None)

    def random_items(self, state: BeliefState) -> tuple[Float[Array, ""], Int[Array, " K"]]:
        """Return the share of random items now, and how often those of every cell are drawn, see `audit_plan`.

        Both may be anything that follows from what is known, as long as every item may be drawn.
        """
        return audit_plan(self.audit, *at_stake(state), state.counts.sum() + state.pending.sum())

    def update(self, state: BeliefState, cell: Int[Array, ""], outcome: Int[Array, ""]) -> BeliefState:
        """Learn the label of one pending item of a cell."""
        return replace(
            state,
            counts=engine.at(state.counts)[cell, outcome].add(1),
            pending=engine.at(state.pending)[cell].add(-1),
            belief=state.belief.observe(cell, outcome == state.event[cell]),
            errors=state.errors.observe(state.row[cell], outcome, outcome != state.event[cell]),
        )

    def settle(self, state: BeliefState, steps: Steps, last: bool = True) -> BeliefState:
        """Count the bets on random items, in the order of asking and as far as no label is missing."""
        if not last:
            return state
        sizes = xp.where(state.playable, state.measure.size, 0)
        n_outputs = state.audit.f.shape[0]
        coins = engine.random.fold_in(state.belief.key, _COINS)

        def one(i, audit):
            cell, outcome, random = steps.cell[i], steps.outcome[i], steps.weight[i] > 0
            open_ = xp.where(state.playable, sizes - audit.known.sum(-1), 0)

            def bet(audit):
                def of_one(bets, f, g):
                    known, believed = audit.known, audit.believed
                    return betting.update(bets, f, g, known, open_, believed, cell, outcome, rates=audit.rates)

                return audit._replace(bets=engine.vmap(of_one)(audit.bets, audit.f, audit.g))

            audit = engine.cond(random, bet, lambda same: same, audit) if n_outputs else audit
            # Of random items those that are kept with a probability of 1 / rate are uniform draws.
            coin = engine.random.uniform(engine.random.fold_in(coins, audit.known.sum()), dtype=xp.float32)
            uniform = random & (coin * audit.rates[cell] < 1)
            return audit._replace(
                known=engine.at(audit.known)[cell, outcome].add(state.playable[cell]),
                counts=engine.at(audit.counts)[cell, outcome].add(uniform),
            )

        return replace(state, audit=engine.fori_loop(0, (steps.outcome >= 0).sum(), one, state.audit))

    def reserve(self, state: BeliefState, cell: Int[Array, ""]) -> BeliefState:
        """Mark one item of a cell as handed out."""
        # Fixed while items are pending, so that what is believed of an item does not depend on its label.
        believed = xp.where(state.pending.sum() == 0, state.probabilities(), state.audit.believed)
        return handed_out(state, reserve(replace(state, audit=state.audit._replace(believed=believed)), cell))

    def journal_entry(self, state: BeliefState) -> Mapping[str, Array]:
        """Return what random items were drawn by."""
        return {"doublings": state.audit.doublings}

    def restore(self, state: BeliefState, entry: Mapping[str, np.ndarray]) -> BeliefState:
        """Put back what random items were drawn by."""
        doublings = np.asarray(entry["doublings"], np.int64)
        return replace(state, audit=state.audit._replace(doublings=doublings))

    def record(self, state: BeliefState, n: int = _N_LOOK) -> Look:
        """Return what the answer is computed from; `n` curves of the posterior."""
        share, strength, cautious = state.belief.weighted(n)
        return Look(
            share=share,
            strength=strength,
            events=state.belief.counts.astype(xp.int64),
            learned=state.errors.learned,
            counts=state.counts,
            settled=state.settled_counts,
            bets=state.audit.bets,
            cautious=cautious,
            exact=state.complete,
        )

    @x64
    def digest(self, record: Any, setting: Any, seed: int, level: float, roughly: bool = False) -> PosteriorMeasure:
        """Turn curves into posteriors of the measure, and bets, where they are kept, into intervals.

        Roughly, measures of two outcomes are drawn by `rough_measure_draws` where that is sooner.
        """
        reward = setting.reward
        roughly = roughly and setting.cells.events.errors.is_trivial and _MANY * reward.n_attributes <= len(reward.size)
        rng = generator(seed, "posterior of a measure")
        shape = record.exact.shape
        looks = engine.tree_map(lambda part: part.reshape(-1, *part.shape[len(shape) :]), record)
        about = setting.cells.events
        posteriors, joint = [], []
        for i in range(len(looks.exact)):
            look = engine.tree_map(itemgetter(i), looks._replace(bets=None))
            completed = Completion(about.outcome, about.row, replace(about.errors, **look.learned), look.counts)
            share = _with_groups(rng, about.coordinates, look.share, look.strength, look.events)
            curves, known = (share, look.strength, look.events), completed.events - look.events
            if roughly and not known.any():
                draws = rough_measure_draws(rng, reward, *curves)
            else:
                draws = measure_draws(rng, reward, *curves, completed, known=known)
            posteriors.append(posterior_measure(draws, look.exact, look.cautious))
            joint += [draws.astype(np.float32)] if setting.reward.compared else []
        parts = [np.stack([posterior[i] for posterior in posteriors]) for i in range(3)]
        tails = np.stack([posterior.tails for posterior in posteriors])
        ends = sure = None
        if looks.bets is not None:
            audit = first_audit(setting.reward, setting.playable)
            ends, sure = _two_levels(audit, looks.bets, looks.settled, setting.reward, level)
        parts += [ends, np.stack(joint) if joint else None, tails, sure]
        return PosteriorMeasure(*(part if part is None else part.reshape(*shape, *part.shape[1:]) for part in parts))

    def evidence(
        self,
        state: BeliefState,
        seed: int,
        level: float,
        skipped: Int[np.ndarray, " K"],
        labelled: LabelledItems | None = None,
    ) -> dict[str, object]:
        """Return fields of `Believed`."""
        fields: dict[str, object] = {"found": self.posterior(state, seed, level, labelled=labelled)}
        labels = np.asarray(state.counts)
        if labels.shape[1] == 2 and many_skipped(int(skipped.sum()), int(labels.sum())):
            fields["supposed"] = partial(self.supposing, self.eager_state(state), seed, skipped, labelled)
        return fields

    def measuring(self, state: BeliefState, measure: CellMeasure, name: str) -> BeliefState:
        """Return the state with another measure of the same event in the place of its own.

        The belief would say something of items that have no part in the own measure, but no label says how they are.
        """
        matters, own = (np.asarray(each.nonzero).any(-1) for each in (measure, state.measure))
        unlabelled = np.asarray(state.unlabelled)
        check_drawn(name, int(unlabelled[matters & ~own].sum()))
        remaining = np.where(matters, unlabelled - np.asarray(state.pending), 0)
        return replace(state, measure=measure, remaining=remaining, audit=state.audit._replace(f=state.audit.f[:0]))

    def posterior(
        self, state: BeliefState, seed: int, level: float, labelled: LabelledItems | None = None
    ) -> MeasurePosterior:
        """Draw curves and measures of the pool from their posterior, and compute the intervals of the audit."""
        with engine.eager(self.is_eager(state)), in_64_bits():
            return self._posterior(engine.fetched(state), seed, level, labelled)

    def _posterior(
        self, state: BeliefState, seed: int, level: float, labelled: LabelledItems | None
    ) -> MeasurePosterior:
        table_size = state.measure.n_attributes * state.measure.n_outcomes
        n = min(_N_RESULT, max(_FEWEST_RESULT, _RESULT_NUMBERS // table_size))
        share, strength, cautious = drawn(state.belief, n)
        audit, events = state.audit, np.asarray(state.belief.counts, np.int64)
        completed = Completion(state.event, state.row, state.errors, state.counts)
        known = completed.events - events
        hits = np.take_along_axis(audit.counts, np.asarray(state.event)[:, None], 1)[:, 0]
        rng = generator(seed, "posterior of a measure")
        share = _with_groups(rng, state.belief.coordinates, share, strength, events)
        bets, settled = engine.tree_map(lambda part: part[None], audit.bets), np.asarray(state.settled_counts)[None]
        ends, sure = _two_levels(audit, bets, settled, state.measure, level)
        return MeasurePosterior(
            draws=measure_draws(rng, state.measure, share, strength, events, completed, labelled=labelled, known=known),
            curves=share,
            strength=strength,
            cautious=cautious,
            design_interval=ends[0],
            sure_design_interval=sure[0],
            audits=np.stack([audit.counts.sum(1) - hits, hits], axis=-1),
            events=events,
            known=known,
            members=state.belief.member_weights,
            audited=bool(audit.f.shape[0]),
            exact=bool(state.complete),
        )

    def supposing(
        self,
        state: BeliefState,
        seed: int,
        items: Int[np.ndarray, " K"],
        labelled: LabelledItems | None = None,
        *,
        by_prediction: bool,
    ) -> tuple[bool, Bool[np.ndarray, " k"], Supposed, Supposed]:
        """Draw measures of the pool as if these items without a label all had the event, and as if none had.

        These are labels then, as others are, so that what they say of like items is learned. Of designs whose event is
        all of a label that matters. With `by_prediction`, where the measure depends on whether the event is predicted,
        it is as if all were predicted right, and as if all were predicted wrong; whether it is so comes first, and
        then which measures these items have a part in.
        """
        nothing, events = np.zeros_like(items), np.asarray(state.belief.counts).astype(np.int64)
        known = labelled_events(state.event, state.counts) - events
        announced, attribute = np.asarray(state.belief.coordinates.feature), np.asarray(state.measure.attribute)
        shared = np.intersect1d(attribute[announced > 0], attribute[announced < 0])
        by_prediction = by_prediction and bool((np.abs(announced) == 0.5).all()) and not len(shared)
        turned = by_prediction & (announced < 0)
        having, without = np.where(turned, nothing, items), np.where(turned, items, nothing)

        def drawn_if(without: Int[np.ndarray, " K"], having: Int[np.ndarray, " K"]) -> Supposed:
            supposed = np.stack([without, having], axis=-1)
            rng, belief = generator(seed, "posterior of a measure"), state.belief
            for label in rng.permutation(np.repeat(np.arange(supposed.size), supposed.ravel())):
                belief = belief.observe(label // 2, label % 2 == 1)
            share, strength, cautious = drawn(belief, _N_RESULT)
            curves = _with_groups(rng, belief.coordinates, share, strength, events + supposed)
            values = measure_draws(
                rng, state.measure, curves, strength, events, supposed=supposed, labelled=labelled, known=known
            )
            return Supposed(values, cautious)

        with engine.eager(), in_64_bits():
            own = [measure_values(state.measure, (events + known)[None, :, 1] + part) for part in (having, without)]
            concerned = own[0][0] != own[1][0] if labelled is None else np.ones(own[0].shape[1], bool)
            return by_prediction, concerned, drawn_if(without, having), drawn_if(having, without)


def _two_levels(
    audit: Audit, bets: betting.Betting, settled: Int[np.ndarray, "N K O"], measure: CellMeasure, level: float
) -> tuple[Float[np.ndarray, "N k 2"], Float[np.ndarray, "N k 2"]]:
    """Compute the intervals of the audit at a level, and at that by which they may contradict the belief."""
    ends = design_intervals(audit, bets, settled, measure, level)
    sure = contradicting_level(level)
    return ends, ends if sure == level else design_intervals(audit, bets, settled, measure, sure)


def _with_groups(rng, coordinates: Coordinates, share, strength, events) -> Float[np.ndarray, "n K"]:
    """Draw the effects of groups that are too many to be parameters of the curves."""
    many = np.asarray(coordinates.many)
    return with_group_effects(rng, share, strength, events, many) if len(many) else share
