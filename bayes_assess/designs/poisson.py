r"""Whole batches with inclusion probabilities that minimise the expected variance ([SEME]), in one round or several.

A round draws item i of those that are neither labelled nor handed out with probability b_i, min(1, h_i / tau) with the
deviations h of the believed labels (`designs._label_models`). Its total is that of the items known before and of the
others by their weights 1 / b. Rounds are averaged with weights n / (U (U - n)) for n labels among U items, which no
label decides (`estimators.horvitz_thompson.round_weights`). Weights 1 / b are scaled to the number of the items that
they stand for: cell by cell where a cell is sure to be drawn from, and for the others once for all rounds together. Of
every round for itself this would be biased where rounds are small: a lone item would stand for all, whatever its b.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np

from bayes_assess._tools import engine
from bayes_assess._tools.arrays import show
from bayes_assess._tools.axes import PRNGKey, x64
from bayes_assess._tools.engine import xp
from bayes_assess._tools.shapes import Array, Bool, Float, Int
from bayes_assess.acquisition.cell_inclusion import cell_inclusion, systematic_cells
from bayes_assess.acquisition.cell_measure import CellMeasure
from bayes_assess.designs._base import Draw
from bayes_assess.designs._label_models import CurveLabels, LabelDraws, LabelModel, ScoreLabels
from bayes_assess.designs._stratifying import Stratifying
from bayes_assess.designs._weighted import WeightedState, check_interval, covering
from bayes_assess.designs.variance_reduction import VarianceReduction
from bayes_assess.errors import DesignError
from bayes_assess.estimators.weighted import Draws, Steps
from bayes_assess.pool.cells import Cells
from bayes_assess.pool.deviation_strata import DeviationStrata
from bayes_assess.pool.pool import Pool
from bayes_assess.pool.rank_strata import RankStrata
from bayes_assess.pool.strata import FeatureStrata, Strata


class Rounds(NamedTuple):
    """Rounds of a campaign: sums over those that are complete, and the open one.

    Attributes
    ----------
    weight : float
        Sum of the weights w of the complete rounds.
    before : (K, C)
        Sum of w times the labels known before the round.
    alone : (K, C)
        Sum of w times the labels of cells that stand for themselves, scaled to their items.
    alone_squares : (K, C)
        Sum of w^2 (1 - b) / b^2 over the items drawn from these, b their share of the cell.
    others : (K, C)
        Sum of w / b over the items drawn from the other cells, which stand for each other.
    other_squares : (K, C)
        Sum of w^2 (1 - b) / b^2 over these.
    stood_for : float
        Sum of w times the items of the other cells.
    drawn : (K, C)
        Labels of items drawn in complete rounds.
    included : (K,)
        Probability that an item was drawn in a complete round.
    known : (K, C)
        Labels known before the open round.
    frame : (K,)
        Items that it drew from, and those set aside, which they stand for.
    inclusion : (K,)
        b.
    asked : float
        Items drawn in it.
    now : (K, C)
        Labels of these, as far as told.
    model : LabelModel
        What is believed of labels after those of the complete rounds.
    """

    weight: Any
    before: Any
    alone: Any
    alone_squares: Any
    others: Any
    other_squares: Any
    stood_for: Any
    drawn: Any
    included: Any
    known: Any
    frame: Any
    inclusion: Any
    asked: Any
    now: Any
    model: Any

    def with_open(self) -> Rounds:
        """Return the sums with the open round, whose labels are taken for random ones of those asked for."""
        n, size = self.now.sum(), self.frame.sum()
        b = xp.clip(self.inclusion * n / xp.maximum(self.asked, 1), 0.0, 1.0)
        labelled = self.now.sum(-1)
        # Cells that are sure to have an item in a whole round stand for themselves, the others for each other.
        alone = (b * self.frame >= 1) & (labelled > 0)
        share = xp.where(alone, labelled / xp.maximum(self.frame, 1), b)
        inverse = xp.where(labelled > 0, 1 / xp.where(labelled > 0, share, 1), 0.0)[:, None]
        weight = xp.where(n > 0, n / (xp.maximum(size, 1) * xp.maximum(size - n, 0.5)), 0.0)
        drawn = weight * self.now * inverse
        squares = weight**2 * self.now * (1 - xp.minimum(share, 1))[:, None] * inverse**2
        of_alone = alone[:, None]
        return self._replace(
            weight=self.weight + weight,
            before=self.before + weight * self.known,
            alone=self.alone + xp.where(of_alone, drawn, 0.0),
            alone_squares=self.alone_squares + xp.where(of_alone, squares, 0.0),
            others=self.others + xp.where(of_alone, 0.0, drawn),
            other_squares=self.other_squares + xp.where(of_alone, 0.0, squares),
            stood_for=self.stood_for + weight * xp.where(alone | (b <= 0), 0, self.frame).sum(),
            drawn=self.drawn + self.now,
            included=1 - (1 - self.included) * (1 - b),
            inclusion=xp.zeros_like(self.inclusion),
            asked=xp.zeros(()),
            now=xp.zeros_like(self.now),
        )

    def estimate(self) -> tuple[Float[Array, "K C"], Float[Array, "K C"]]:
        """Return w times the estimated number of items of every cell with every label, and what its variance weighs."""
        whole = self.others.sum()
        scale = self.stood_for / xp.maximum(whole, 1e-300)
        # Where all items were drawn from cells that stand for themselves, these have to stand for the others, too.
        rest = xp.where(whole > 0, 0.0, self.stood_for) / xp.maximum(self.alone.sum(), 1e-300)
        totals = self.before + (1 + rest) * self.alone + xp.where(whole > 0, scale, 0.0) * self.others
        squares = (1 + rest) ** 2 * self.alone_squares + xp.where(whole > 0, scale, 0.0) ** 2 * self.other_squares
        return totals, squares


@dataclass(frozen=True)
class Poisson(Stratifying):
    """Batches whose items have the inclusion probabilities of optimal Poisson sampling ([SEME]), of fixed size.

    For people who send one batch, or a few, to be labelled. A batch has as many items as were asked for (Poisson
    sampling proper has a random number), spread over the scores by systematic sampling; the probabilities are the same.
    Whole rounds are weighed when all of their labels have come; before, those told count as random ones of the round.
    So they do where items of a round were set aside, or withdrawn.

    Parameters
    ----------
    n_strata, kind, strata
        How the pool is cut, see `Stratifying`; items of a cell have one probability. A pool of several labels per item
        is cut by the deviations of its items, and takes no `strata`; ``labels="curve"`` cuts by the ranks of the
        scores, and takes neither `kind` nor `strata`.
    lam : float in [0, 1]
        How far scores are trusted: labels are believed to be lam s + (1 - lam) / C ([SEME] (13)); where items may have
        several, each to be lam s + (1 - lam) times its mean score. ``labels="curve"`` takes no other than the default.
    floor : float in [0, 1]
        Share of the mean deviation that is added to every item's, so that none is unlikely to be drawn; 0 is as
        published.
    labels : {"scores", "curve"}
        What labels are believed to be. ``"curve"`` is the belief of `VarianceReduction`, a mixture of calibration
        curves that learns what scores mean from the labels of complete rounds; before any, its prior decides. Squared
        deviations are means over its draws, each with the measure that it expects:
        h_c^2 = sum_s w_s E_{y ~ pi_s} ||Dg(R_s) l(c, y)||^2. Estimates are as unbiased as by the scores.
    interval : {"cautious", "beta"}
        As of `Importance`. With ``floor=0`` the Beta interval is as published, but for the fixed size.

    Examples
    --------
    >>> import bayes_assess as ba
    >>> a = ba.assess(ba.Pool(scores=[0.1, 0.3, 0.6, 0.9]), ba.Metric("f1"), design="poisson")
    >>> len(a.ask(3))
    3
    >>> Poisson(labels="curve").strata_of(ba.Pool(scores=[0.1, 0.9]))
    RankStrata(n_strata=256)
    """

    lam: float = 0.9
    floor: float = field(default=0.1)
    labels: Literal["scores", "curve"] = "scores"
    interval: Literal["cautious", "beta"] = "cautious"

    name: ClassVar[str] = "poisson"
    whole_batches: ClassVar[bool] = True
    takes_posterior: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.labels not in ("scores", "curve"):
            raise DesignError(f"The labels of {self.name} are 'scores' or 'curve'; found {show(self.labels)}.")
        check_interval(self.name, self.interval)
        for option in ("lam", "floor"):
            value = getattr(self, option)
            if not 0 <= value <= 1:
                raise DesignError(f"The {option} of {self.name} lies in [0, 1]; found {show(value)}.")
        if self.labels == "curve":
            for option in ("lam", "kind", "strata"):
                if getattr(self, option) != getattr(Poisson, option, None):
                    raise DesignError(
                        f"Design {self.name!r} with labels='curve' learns what scores mean, and cuts the pool by their "
                        f"ranks; leave out {option}={show(getattr(self, option))}."
                    )

    @property
    def eager_up_to(self) -> int:  # type: ignore[override]
        """Cells, up to which sessions run on NumPy: curves have many draws of every cell."""
        return VarianceReduction.eager_up_to if self.labels == "curve" else super().eager_up_to

    @property
    def one_by_one(self) -> bool:  # type: ignore[override]
        """Whether campaigns run one after another: curves take branches."""
        return self.labels == "curve"

    def strata_of(self, pool: Pool) -> Strata | FeatureStrata | DeviationStrata | RankStrata | None:  # type: ignore[override]
        """Return the strata of the scores or their ranks, or of the deviations where items may have several labels."""
        if self.labels == "curve":
            if pool.multilabel:
                raise DesignError(
                    f"Design {self.name!r} with labels='curve' takes every item to have one label, and this is a "
                    "multi-label pool; leave out labels."
                )
            return RankStrata(self.n_strata)
        if not pool.multilabel:
            return super().strata_of(pool)
        if self.interval == "beta":
            raise DesignError("Beta intervals are of items with one label each; leave out interval='beta'.")
        if self.strata is not None:
            raise DesignError(
                f"Design {self.name!r} cuts a multi-label pool by how far labels can move the measure; "
                "leave out its strata."
            )
        return DeviationStrata(self.n_strata, self.kind, self.lam)

    @x64
    def init(
        self, cells: Cells, prior: Any, reward: CellMeasure, playable: Bool[np.ndarray, " K"] | None = None
    ) -> WeightedState:
        """Start a campaign; see `WeightedDesign.init`."""
        state = super().init(cells, prior, reward, playable)
        n_classes = state.counts.shape[1]
        nothing, none = xp.zeros(state.counts.shape), xp.zeros(len(state.counts))
        model: LabelModel = ScoreLabels(self.lam * state.prior + (1 - self.lam) / n_classes, nothing)
        if self.labels == "curve":
            model = CurveLabels.before_labels(cells.events, n_classes)  # type: ignore[attr-defined]
        rounds = Rounds(
            weight=xp.zeros(()),
            before=nothing,
            alone=nothing,
            alone_squares=nothing,
            others=nothing,
            other_squares=nothing,
            stood_for=xp.zeros(()),
            drawn=nothing,
            included=none,
            known=nothing,
            frame=none,
            inclusion=none,
            asked=xp.zeros(()),
            now=nothing,
            model=model,
        )
        return replace(state, memory=rounds)

    @x64
    def believing(self, state: WeightedState, labels: LabelDraws) -> WeightedState:
        """Return the state with draws of another model, to choose a batch by.

        Raises
        ------
        DesignError
            If some labels of the open round have come, and others not: what is drawn in a round must depend on no label
            of it, else its inclusion probabilities would not be those of its items.
        """
        out, asked = int(np.sum(state.pending)), int(state.memory.asked)
        if 0 < out < asked:
            raise DesignError(
                f"Of a round of {asked:,} items {out:,} are still out, and a posterior that has seen the labels of the "
                "others may not add to it; tell or release what is out first, or ask without a posterior."
            )
        with engine.eager(self.is_eager(state)):
            model = engine.tree_map(xp.asarray, labels.positive())
        return replace(state, memory=state.memory._replace(model=model))

    def own_again(self, own: WeightedState, chosen: WeightedState) -> WeightedState:
        """Return the state after a batch was chosen by another posterior, with the design's own model."""
        return replace(chosen, memory=chosen.memory._replace(model=own.memory.model))

    def belief(self, state: WeightedState) -> Float[Array, "K C"]:
        """Return the probability of every label of unlabelled items, after the labels of complete rounds."""
        return state.memory.model.mean

    def deviations(self, state: WeightedState) -> Float[Array, " K"]:
        """Compute how far an item's label can be expected to move the measure, (K,)."""
        measure, model = state.measure, state.memory.model
        weights = model.weights.astype(xp.float64)

        def add(s, squares):
            pi = model.draw(s)
            norms = measure.norms(measure.risk(state.masses(pi)))
            return squares + weights[s] * (norms**2 * pi).sum(-1)

        h = xp.sqrt(engine.fori_loop(0, len(weights), add, xp.zeros(len(state.remaining))))
        open_ = xp.where(measure.nonzero.any(-1), state.remaining, 0)
        mean = (open_ * h).sum() / xp.maximum(open_.sum(), 1)
        return xp.where(measure.nonzero.any(-1), h + self.floor * mean, 0.0)

    def draw(
        self, key: PRNGKey, state: WeightedState, first: Any, n: Int[Array, ""] | int, length: int
    ) -> tuple[Int[Array, " L"], Draw, WeightedState]:
        """Draw a batch; see `Design.draw`."""
        start, order = engine.random.split(engine.random.fold_in(key, first))
        rounds, size, undrawn = state.memory, state.remaining, state.undrawn
        b = cell_inclusion(self.deviations(state), size, n)
        # Items drawn stand for those of their cell that were set aside, too; where all that is left of a cell was, half
        # an item is taken to be there, so that others stand for it.
        whole = xp.where(size > 0, b, n / xp.maximum(size.sum(), 1))
        included = xp.where(undrawn > size, whole * xp.maximum(size, 0.5) / xp.maximum(undrawn, 1), b)
        counts = systematic_cells(engine.random.uniform(start), b * size, size, n)
        begins = state.pending.sum() == 0
        again = xp.where(begins, 0.0, rounds.inclusion)
        rounds = rounds._replace(
            known=xp.where(begins, state.counts.astype(xp.float64), rounds.known),
            frame=xp.where(begins, undrawn.astype(xp.float64), rounds.frame),
            inclusion=1 - (1 - again) * (1 - included),  # of items that were not drawn earlier in the round
            asked=xp.where(begins, 0.0, rounds.asked) + n,
        )
        cells = xp.searchsorted(xp.cumsum(counts), xp.arange(length), side="right").astype(xp.int64)
        cells = xp.minimum(cells, len(size) - 1)  # of the padding
        shuffled = xp.where(xp.arange(length) < n, engine.random.uniform(order, (length,)), 2.0)
        cells = cells[xp.argsort(shuffled, stable=True)]
        weight = n / (state.n_items * xp.maximum(b[cells], 1e-300))
        draws = Draw(weight=weight, p_new=xp.ones(length), p_pending=xp.zeros(length))
        state = covering(state, (included > 0) & state.matters)
        return cells, draws, replace(state, pending=state.pending + counts, remaining=size - counts, memory=rounds)

    def inclusion(self, state: WeightedState, frame: Any, asked: Any) -> Float[Array, " K"]:
        """Return the probability that an item was drawn in the open round; see `WeightedDesign.inclusion`."""
        return xp.clip(state.memory.inclusion, 0.0, 1.0)

    def choose(self, key: PRNGKey, state: WeightedState) -> tuple[Int[Array, ""], Draw, WeightedState]:
        """Draw a batch of one item."""
        cells, draws, state = self.draw(key, state, 0, 1, 1)
        return cells[0], engine.tree_map(lambda column: column[0], draws), state

    def settle(self, state: WeightedState, steps: Steps, last: bool = True) -> WeightedState:
        """Count labels of the open round, and close it when all have come."""
        rounds, asked = state.memory, (steps.outcome >= 0) & (steps.weight > 0)
        now = engine.at(rounds.now)[steps.cell, xp.maximum(steps.outcome, 0)].add(asked)
        counted = rounds._replace(now=now)
        draws = self._draws(state, counted.with_open())
        if not last:
            return replace(state, draws=draws)
        closes = state.pending.sum() == 0
        kept = engine.cond(closes, self._closed, lambda rounds: rounds, counted)
        return replace(state, draws=draws, memory=kept)

    def _closed(self, rounds: Rounds) -> Rounds:
        """Close the open round, and learn its labels."""
        rounds = rounds.with_open()
        return rounds._replace(model=rounds.model.learned(rounds.drawn))

    def _draws(self, state: WeightedState, rounds: Rounds) -> Draws:
        """Write sums over rounds as those of weighted draws: as many as labels, with the same estimate and variance."""
        n, n_items = rounds.drawn.sum(), state.n_items
        share = xp.maximum(rounds.weight, 1e-300)
        few = n / xp.maximum(n - 1, 1)
        totals, squares = rounds.estimate()
        return Draws(
            n=n,
            weights=totals / share * n / n_items,
            squares=squares * few * (n / (share * n_items)) ** 2,
            proposal=xp.broadcast_to((rounds.included / xp.maximum(n, 1))[:, None], state.draws.proposal.shape),
            covered=state.covered,
            n_new=n,
            new=state.draws.new,
        )

    def weighed(self, state: WeightedState) -> tuple[Draws, Float[Array, "1 D"]]:
        """Return the draws, centred by the mean of what their variance weighs: the size of a round is fixed."""
        squares = state.draws.squares
        return state.draws, state.measure.risk(squares / xp.sqrt(xp.maximum(squares.sum(), 1e-300)))[None]

    def journal_entry(self, state: WeightedState) -> Mapping[str, Array]:
        """Return the open round."""
        rounds = state.memory
        kept = {name: getattr(rounds, name) for name in ("frame", "inclusion", "asked")}
        return {"covered": state.covered, **kept}

    def restore(self, state: WeightedState, entry: Mapping[str, np.ndarray]) -> WeightedState:
        """Put back the open round."""
        kept = {name: np.asarray(entry[name], np.float64) for name in ("frame", "inclusion", "asked")}
        state = super().restore(state, entry)
        if not np.asarray(state.pending).any():  # a round begins
            kept["known"] = np.asarray(state.counts, np.float64)
        return replace(state, memory=state.memory._replace(**kept))
