r"""Whole batches with inclusion probabilities that minimise the expected variance ([SEME]), in one round or several.

A round draws item i of those that are neither labelled nor handed out with probability b_i, min(1, h_i / tau) with the
deviations h of the believed labels (`designs._label_models`). Its total is that of the items known before and of the
others by their weights 1 / b. Rounds are averaged with weights n / (U (U - n)) for n labels among U items, which no
label decides: the inverse of a round's variance if all items had the same chance and spread, and for rounds of one
label the weights of S. Farquhar, Y. Gal and T. Rainforth, "On statistical bias in active learning", ICLR 2021. Weights
1 / b are scaled to the number of the items that they stand for: cell by cell where a cell is sure to be drawn from, and
for the others once for all rounds together. Of every round for itself this would be biased where rounds are small: a
lone item would stand for all, whatever its b.

That is of batches of a fixed size. Those of a random one (`size="random"`) are weighed as published, see
`designs._random_size`.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal, TypeAlias

import numpy as np

from bayes_assess._tools import engine
from bayes_assess._tools.arrays import is_number, is_one_of, show
from bayes_assess._tools.axes import PRNGKey, x64
from bayes_assess._tools.engine import xp
from bayes_assess._tools.shapes import Array, Bool, Float, Int, Scalar
from bayes_assess.acquisition.cell_inclusion import cell_inclusion, independent_cells, systematic_cells
from bayes_assess.designs._base import Draw
from bayes_assess.designs._deviation_strata import DeviationStrata
from bayes_assess.designs._label_models import CurveLabels, LabelDraws, LabelModel, ScoreLabels
from bayes_assess.designs._random_size import RandomSize
from bayes_assess.designs._rounds import RoundSums
from bayes_assess.designs._stratifying import Stratifying
from bayes_assess.designs._weighted import LabelPrior, WeightedState, covering
from bayes_assess.designs.variance_reduction import VarianceReduction
from bayes_assess.errors import DesignError
from bayes_assess.estimators.weighted import WeightedDraws
from bayes_assess.measures.cell_measure import CellMeasure
from bayes_assess.pool.cells import Cells
from bayes_assess.pool.groups import Cut
from bayes_assess.pool.pool import Pool
from bayes_assess.pool.rank_strata import RankStrata

_State: TypeAlias = WeightedState[RoundSums[LabelModel]]


@dataclass(frozen=True)
class Poisson(RandomSize, Stratifying):
    """Batches whose items have the inclusion probabilities of optimal Poisson sampling ([SEME]).

    For people who send one batch, or a few, to be labelled. A batch has as many items as were asked for, spread over
    the scores by systematic sampling. Poisson sampling proper has a random number: by ``size="random"`` every item is
    drawn or not on its own, with the same probabilities, so that ``ask(n)`` hands out n items *on average*, and may
    hand out none. That is as published, and costs variance; see `ratio_bias` for what it costs besides.

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
    interval : {"cautious", "beta", "ratio"}
        The first two as of `Importance`. ``"ratio"`` is `ratio_interval`, of random sizes and of measures that are a
        ratio of sums over items, such as F1: it leans on no score, and holds with few errors found.
    size : {"fixed", "random"}
        Of batches. With ``size="random", floor=0, interval="beta"`` this is [SEME]'s Algorithm 2.

    Examples
    --------
    >>> import bayes_assess as ba
    >>> a = ba.assess(ba.Pool(scores=[0.1, 0.3, 0.6, 0.9]), ba.Metric("f1"), design="poisson")
    >>> len(a.ask(3))
    3
    >>> Poisson(labels="curve").strata_of(ba.Pool(scores=[0.1, 0.9]))
    RankStrata(n_strata=256)
    >>> a = ba.assess(ba.Pool(scores=[0.1, 0.3, 0.6, 0.9]), ba.Metric("f1"), design=Poisson(size="random"))
    >>> 0 <= len(a.ask(2)) <= 4  # two on average
    True
    """

    lam: float = 0.9
    floor: float = field(default=0.1)
    labels: Literal["scores", "curve"] = "scores"
    interval: Literal["cautious", "beta", "ratio"] = "cautious"

    name: ClassVar[str] = "poisson"
    whole_batches: ClassVar[bool] = True
    takes_posterior: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if not is_one_of(self.labels, ("scores", "curve")):
            raise DesignError(f"The labels of {self.name} are 'scores' or 'curve'; found {show(self.labels)}.")
        for option in ("lam", "floor"):
            value = getattr(self, option)
            if not (is_number(value) and 0 <= value <= 1):
                raise DesignError(f"The {option} of {self.name} lies in [0, 1]; found {show(value)}.")
        if self.labels == "curve":
            for option in ("lam", "kind", "strata"):
                if getattr(self, option) != getattr(Poisson, option, None):
                    raise DesignError(
                        f"Design {self.name!r} with labels='curve' learns what scores mean, and cuts the pool by their "
                        f"ranks; leave out {option}={show(getattr(self, option))}."
                    )

    @property
    def interval_kind(self) -> str:
        """Which intervals answers have: those that are asked for."""
        return self.interval

    @property
    def eager_up_to(self) -> int:  # type: ignore[override]
        """Cells, up to which sessions run on NumPy: curves have many draws of every cell."""
        return VarianceReduction.eager_up_to if self.labels == "curve" else super().eager_up_to

    @property
    def one_by_one(self) -> bool:  # type: ignore[override]
        """Whether campaigns run one after another: curves take branches."""
        return self.labels == "curve"

    def strata_of(self, pool: Pool) -> Cut | None:
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
        if self.random_size:
            raise DesignError("Batches of random size are of items with one label each; leave out size='random'.")
        if self.strata is not None:
            raise DesignError(
                f"Design {self.name!r} cuts a multi-label pool by how far labels can move the measure; "
                "leave out its strata."
            )
        return DeviationStrata(self.n_strata, self.kind, self.lam)

    @x64
    def init(
        self, cells: Cells, prior: LabelPrior, reward: CellMeasure, playable: Bool[np.ndarray, " K"] | None = None
    ) -> _State:
        """Start a campaign; see `WeightedDesign.init`."""
        state = super().init(cells, prior, reward, playable)
        n_classes = state.counts.shape[1]
        nothing = xp.zeros(state.counts.shape)
        model: LabelModel = ScoreLabels(self.lam * state.prior + (1 - self.lam) / n_classes, nothing)
        if self.labels == "curve":
            if reward.table.is_averaged:
                raise DesignError(
                    f"Losses of {', '.join(reward.table.outputs)} differ by the scores within a stratum, and design "
                    f"{self.name!r} with labels='curve' takes them for alike: 'variance_reduction' can serve them, or "
                    "'poisson' with labels='scores'."
                )
            about: Any = cells  # of an event
            model = CurveLabels.before_labels(about.events, n_classes)
        return replace(state, memory=RoundSums.before_labels(state.counts.shape, model, self.random_size))

    @x64
    def believing(self, state: _State, labels: LabelDraws) -> _State:
        """Return the state with draws of another model, to choose a batch by.

        Raises
        ------
        DesignError
            If some labels of the open round have come, and others not.
        """
        self.check_believing(state)
        with engine.eager(self.is_eager(state)):
            model = engine.tree_map(xp.asarray, labels.positive())
        return replace(state, memory=state.memory._replace(model=model))

    def belief(self, state: _State) -> Float[Array, "K C"]:
        """Return the probability of every label of unlabelled items, after the labels of complete rounds."""
        return state.memory.model.mean

    def deviations(self, state: _State) -> Float[Array, " K"]:
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
        self,
        key: PRNGKey,
        state: _State,
        first: Int[Array, ""] | int,
        n: Int[Array, ""] | int,
        length: int,
    ) -> tuple[Int[Array, " L"], Draw, _State]:
        """Draw a batch; see `Design.draw`."""
        rounds, size, undrawn = state.memory, state.remaining, state.undrawn
        start, order = self.keys_of_batch(key, first, rounds)
        b = cell_inclusion(self.deviations(state), size, n)
        # Items drawn stand for those of their cell that were set aside, too; where all that is left of a cell was, half
        # an item is taken to be there, so that others stand for it.
        whole = xp.where(size > 0, b, n / xp.maximum(size.sum(), 1))
        included = xp.where(undrawn > size, whole * xp.maximum(size, 0.5) / xp.maximum(undrawn, 1), b)
        asked = n
        if self.random_size:
            counts = independent_cells(start, b, size, length)
            asked = counts.sum()
        else:
            counts = systematic_cells(engine.random.uniform(start), b * size, size, n)
        begins = state.pending.sum() == 0
        planned = n if self.random_size else 0.0
        rounds = rounds.handed_out(begins, state.counts, undrawn, included, asked, planned)
        cells = xp.searchsorted(xp.cumsum(counts), xp.arange(length), side="right").astype(xp.int64)
        cells = xp.minimum(cells, len(size) - 1)  # of the padding
        shuffled = xp.where(xp.arange(length) < asked, engine.random.uniform(order, (length,)), 2.0)
        cells = cells[xp.argsort(shuffled, stable=True)]
        weight = n / (state.n_items * xp.maximum(b[cells], 1e-300))
        draws = Draw(weight=weight, p_new=xp.ones(length), p_pending=xp.zeros(length))
        state = covering(state, (included > 0) & state.matters)
        return cells, draws, replace(state, pending=state.pending + counts, remaining=size - counts, memory=rounds)

    @x64
    def inclusion(self, state: _State, frame: Int[Array, " K"], asked: Scalar) -> Float[Array, " K"]:
        """Return the probability that an item was drawn in the open round; see `WeightedDesign.inclusion`."""
        return xp.clip(state.memory.inclusion, 0.0, 1.0)

    def choose(self, key: PRNGKey, state: _State) -> tuple[Int[Array, ""], Draw, _State]:
        """Draw a batch of one item."""
        cells, draws, state = self.draw(key, state, 0, 1, 1)
        return cells[0], engine.tree_map(lambda column: column[0], draws), state

    @property
    def in_rounds(self) -> bool:
        """Whether labels are weighed round by round: always."""
        return True

    def _closed(self, rounds: RoundSums) -> RoundSums:
        """Close the open round, and learn its labels."""
        rounds = super()._closed(rounds)
        return rounds._replace(model=rounds.model.learned(rounds.drawn))

    def _draws(self, state: _State, rounds: RoundSums) -> WeightedDraws:
        """Write sums over rounds as those of weighted draws: as many as labels, with the same estimate and variance."""
        if self.random_size:
            return super()._draws(state, rounds)
        n, n_items, share = rounds.drawn.sum(), state.n_items, xp.maximum(rounds.weight, 1e-300)
        few = n / xp.maximum(n - 1, 1)
        totals, spread = rounds.estimate()
        return self.as_draws(state, rounds, totals / share * n / n_items, spread * few * (n / (share * n_items)) ** 2)

    def weighed(self, state: _State) -> tuple[WeightedDraws, Float[Array, "1 D"]]:
        """Return the draws, centred by the mean of what their variance weighs where the size of a round is fixed."""
        if self.random_size:
            return super().weighed(state)
        squares = state.draws.squares
        return state.draws, state.measure.risk(squares / xp.sqrt(xp.maximum(squares.sum(), 1e-300)))[None]
