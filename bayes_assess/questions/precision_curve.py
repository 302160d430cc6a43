"""The precision of a ranked list at every rank ([ADA])."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, NamedTuple

import numpy as np

from bayes_assess._tools.arrays import is_number, is_share, is_whole, show
from bayes_assess._tools.shapes import Float, Int
from bayes_assess.designs.ranked import Promise, RankedDesign, find_curve_design, ranked_design
from bayes_assess.errors import QuestionError
from bayes_assess.measures import curve_scores, pr_curve
from bayes_assess.pool.cells import Cells
from bayes_assess.pool.pool import Pool
from bayes_assess.pool.ranked import RankedList
from bayes_assess.pool.units import RankedItemUnits
from bayes_assess.questions._base import BelievedT_co, Question, WeighedT_co
from bayes_assess.questions._event_cells import EventCells
from bayes_assess.questions._score_prior import ScorePrior
from bayes_assess.questions._setting import Labelled, Simulated
from bayes_assess.questions.pr_curve import PRCurve, reaching

if TYPE_CHECKING:
    from bayes_assess.measures._pool_losses import Measures
from bayes_assess.models.belief import GivenPrior

_N_RANKS = 48  # at which studies look, and the belief is asked
_FIRST_RANK = 30  # of these: the precision of fewer items is a matter of each of them
_DEFAULT_SLACK = 100
_FIRST_ITEMS = 512  # whose labels are told apart item by item


@dataclass(frozen=True, eq=False, repr=False)
class PrecisionCurve(PRCurve[BelievedT_co, WeighedT_co]):
    """How many of the first r items of a ranked list are positive, for every r? See [ADA].

    The answer is within a factor of beta (1 + epsilon) of the true precision at every rank at once, with probability
    1 - delta, if precision falls as `monotone_from` and `slack` say. Designs ``"adastrat"``, ``"logstrat"`` and
    ``"random"`` keep that promise, the last one for curves of any shape; ``"variance_reduction"`` answers from its
    belief in what the scores mean, with far fewer labels.

    Parameters
    ----------
    epsilon : float in (0, 1]
        What may be lost between queried ranks, as a share of the precision.
    beta : float above 1 + noise
        Factor within which the precision of a queried rank is estimated.
    delta : float in (0, 1)
        Probability with which the promise may fail.
    monotone_from, slack : int
        Precision is taken not to grow from any rank beyond `monotone_from` to any that is `slack` ranks or more
        below ([ADA] Definition 1).
    p_min : float in (0, 1], optional
        A precision that the list nowhere falls below. By default labels tell it, in which case half of `delta` is
        spent on that.
    noise : float in [0, 0.5)
        Probability with which an annotator's label is the wrong one ([ADA] eta). Estimates are corrected for it; the
        band holds whatever the probabilities are up to it, of positive items and of negative ones.
    positive : class name, optional
        As for `Metric`, where the list is a pool.
    budget : int, optional
        Labels there are. A design of ranked lists that needs more from the start is refused, and no more are asked for.

    Raises
    ------
    QuestionError
        If a number is outside its range.

    Examples
    --------
    >>> import bayes_assess as ba
    >>> a = ba.assess(ba.RankedList(1_000_000), ba.PrecisionCurve(epsilon=0.1, beta=1.2, slack=20, p_min=0.5))
    >>> queries = a.ask(50)
    >>> a.tell(queries.ids, [1] * 50)
    >>> a.done
    False
    """

    asks: ClassVar[str] = "How many of the first items of the list are positive, at every rank?"
    titled: ClassVar[str] = "{name}"
    measure: Measures = field(init=False, repr=False)
    epsilon: float = 0.03
    beta: float = 1.05
    delta: float = 0.05
    monotone_from: int = 1
    slack: int = _DEFAULT_SLACK
    p_min: float | None = None
    noise: float = 0.0
    budget: int | None = None

    unplannable: ClassVar[str] = (
        "answers with a band over all ranks, which has no one width; simulate designs on a list like it"
    )
    of_ranks: ClassVar[bool] = True
    default_design: ClassVar[str] = "adastrat"
    oracles: ClassVar[tuple[str, ...]] = ("deterministic",)
    default_designs: ClassVar[tuple[str, ...]] = ("random", "adastrat")

    def __init__(
        self,
        epsilon: float = 0.03,
        beta: float = 1.05,
        delta: float = 0.05,
        monotone_from: int = 1,
        slack: int = _DEFAULT_SLACK,
        p_min: float | None = None,
        noise: float = 0.0,
        positive: Hashable | None = None,
        budget: int | None = None,
    ):
        self._set(thresholds=_N_RANKS, positive=positive, systems=(), by=None, average=None, target="pool")
        self._set(measure=pr_curve(n=_N_RANKS), epsilon=epsilon, beta=beta, delta=delta)
        self._set(monotone_from=monotone_from, slack=slack, p_min=p_min, noise=noise, budget=budget)
        _check("noise", noise, is_number(noise) and 0 <= noise < 0.5, "a number in [0, 0.5)")
        _check("epsilon", epsilon, is_number(epsilon) and 0 < epsilon <= 1, "a number in (0, 1]")
        _check("beta", beta, is_number(beta) and beta > 1 + noise, f"a number above 1 + noise = {1 + noise:g}")
        _check("delta", delta, is_share(delta), "a number in (0, 1)")
        _check("p_min", p_min, p_min is None or (is_number(p_min) and 0 < p_min <= 1), "a number in (0, 1]")
        for name, rank in (("monotone_from", monotone_from), ("slack", slack)):
            _check(name, rank, is_whole(rank), "a whole number, 1 or more,")
        if budget is not None:
            _check("budget", budget, is_whole(budget), "a number of labels, 1 or more,")

    def _set(self, **fields: object) -> None:
        for name, value in fields.items():
            object.__setattr__(self, name, value.item() if isinstance(value, np.generic) else value)

    @property
    def name(self) -> str:
        """What the question is called."""
        return "PrecisionCurve"

    @property
    def designs(self) -> tuple[str, ...]:
        """The design with a belief; those of ranked lists draw ranks, not items of cells."""
        return ("variance_reduction",)

    @property
    def promise(self) -> Promise:
        """What is promised and assumed, as designs take it."""
        return Promise(
            self.epsilon, self.beta, self.delta, int(self.monotone_from), int(self.slack), self.p_min, self.noise
        )

    def items_in(self, given: object) -> Pool:
        """Return the pool, or the items of a ranked list as one."""
        if isinstance(given, RankedList):
            given.check_positive(self.positive)
            return given.as_pool()
        return super().items_in(given)

    def default_design_on(self, pool: Pool) -> str:
        """Return ``"adastrat"``."""
        return self.default_design

    def default_designs_on(self, pool: Pool) -> tuple[str, ...]:
        """Return random items, and the default design."""
        return self.default_designs

    def for_pool(self, pool: Pool) -> PrecisionCurve:
        """Return the question at thresholds of the pool's scores, whose ranks grow geometrically.

        Examples
        --------
        >>> import bayes_assess as ba
        >>> scores = [0.9, 0.5] * 20 + [0.2] * 10
        >>> ba.PrecisionCurve().for_pool(ba.Pool(scores=scores)).thresholds.tolist()  # ranks 50 and 40
        [0.2, 0.5]
        """
        if pool.multilabel:
            raise QuestionError("A ranked list needs a score of every item; this pool has several labels per item.")
        if not isinstance(self.thresholds, int):
            return self
        pool.check_in_memory("PrecisionCurve by a design that learns what scores mean is answered from items")
        scores = np.sort(curve_scores(pool, self.positive)[0])[::-1]
        first = min(max(_FIRST_RANK, self.monotone_from), len(scores))
        ranks = np.unique(np.geomspace(first, len(scores), _N_RANKS).round().astype(np.int64))
        asked = PrecisionCurve(**{name: getattr(self, name) for name in _OPTIONS}, positive=self.positive)
        thresholds = np.unique(scores[ranks - 1])
        asked._set(thresholds=thresholds, measure=pr_curve(thresholds))
        return asked

    def _event_prior(self, cells: EventCells, prior: GivenPrior, strength: float | None) -> ScorePrior:
        if self.noise:
            raise QuestionError(
                f"Design 'variance_reduction' takes labels to be right; noise={self.noise:g} is for 'adastrat', "
                "'logstrat', 'paula' and 'random'."
            )
        return super()._event_prior(cells, prior, strength)

    def on_cells(self, pool: Pool, cells: Cells) -> PrecisionCurve:
        """Return the question itself."""
        return self

    def units(self, pool: Pool) -> RankedItemUnits:
        """Return items, with the ranks that their scores give them."""
        return RankedItemUnits(pool, curve_scores(pool, self.positive)[0])

    def ranks(self, cells: Cells) -> Int[np.ndarray, " T"]:
        """Return the ranks that the thresholds stand for: how many items reach each, from the last one up."""
        return reaching(cells)

    def evidence(self, told: Labelled) -> dict[str, object]:
        """Return what the design finds, and the labels of the first items, best first: 1, 0, or -1 where there is none.

        These items are as many as reach one of the thresholds.
        """
        ends = reaching(told.cells)
        n = int(ends[ends <= _FIRST_ITEMS].max(initial=0))
        scores, positive = curve_scores(told.pool, self.positive)
        first = np.flatnonzero(scores >= np.partition(scores, len(scores) - n)[len(scores) - n]) if n else np.arange(0)
        code = np.asarray(told.codes[first[np.argsort(-scores[first], kind="stable")]])
        return super().evidence(told) | {"first_labels": np.where(code < 0, -1, code == positive)}

    def groups(self, cells: Cells) -> np.ndarray:
        """Names of the precisions and of the recalls, which the belief is asked too, (2 T,)."""
        names = ("precision", "recall")
        return np.array([f"{name} at rank {rank:,}" for name in names for rank in reaching(cells)])

    def truth_of_counts(self, cells: Cells, full: Int[np.ndarray, "K C"]) -> Float[np.ndarray, " T"]:
        """Compute the precisions from all labels."""
        return _precisions(super().truth_of_counts(cells, full))

    def study_estimates(self, campaigns: Simulated) -> np.ndarray:
        """Return the estimates of simulated campaigns, (R, B, T)."""
        if _is_ranked(campaigns):
            return campaigns.record.value
        return _precisions(super().study_estimates(campaigns))

    def study_intervals(self, campaigns: Simulated, level: float) -> np.ndarray:
        """Return the intervals of simulated campaigns, (R, B, T, 2)."""
        if _is_ranked(campaigns):
            return np.stack([campaigns.record.lower, campaigns.record.upper], axis=-1)
        return _precisions(super().study_intervals(campaigns, level), axis=-2)

    def study_design_intervals(self, campaigns: Simulated, level: float) -> np.ndarray | None:
        """Return the intervals from random items alone, (R, B, T, 2); None where the design keeps none."""
        if _is_ranked(campaigns):
            return None
        intervals = super().study_design_intervals(campaigns, level)
        return None if intervals is None else _precisions(intervals, axis=-2)

    def study_scores(self, campaigns: Simulated) -> dict[str, Float[np.ndarray, "R B"]]:
        """Score simulated campaigns against the truth, (R, B) each."""
        error = self.study_estimates(campaigns) - self.truth_of_counts(campaigns.cells, campaigns.full)
        none = np.full(error.shape[:-1], np.nan)
        return {"mse": (error**2).mean(-1), "bias": error.mean(-1), "divergence": none}


def _is_ranked(campaigns: Simulated) -> bool:
    """Whether campaigns were of a design of ranked lists."""
    return campaigns.record.of_ranks


class RankedSetting(NamedTuple):
    """A question on the precision of a list, put to the list, and the design that draws its ranks.

    Attributes
    ----------
    pool : RankedList
    question : PrecisionCurve
    design : RankedDesign
    """

    pool: RankedList
    question: PrecisionCurve
    design: RankedDesign


def put_to_ranks(
    question: Question, items: Pool | RankedList, design: object = None, seed: int = 0
) -> RankedSetting | None:
    """Put a question to the ranks of a list, or to a pool that its scores rank.

    Parameters
    ----------
    question : Question
    items : Pool or RankedList
    design : str, Design or RankedDesign, optional
        The question's default design if left out.
    seed : int
        Of the order of equal scores.

    Returns
    -------
    RankedSetting, or None if the question is about items of cells, or the design draws these.

    Raises
    ------
    DesignError
        If the design serves no precision curves, and the question is about one.
    QuestionError
        If the items cannot be ranked, or are ranked by the score of another class.

    Examples
    --------
    >>> import bayes_assess as ba
    >>> put_to_ranks(ba.PrecisionCurve(), ba.RankedList(100)).design
    AdaStrat(prefix='last')
    >>> put_to_ranks(ba.Metric("f1"), ba.Pool(scores=[0.1, 0.9])) is None
    True
    """
    if not isinstance(question, PrecisionCurve):
        return None
    chosen = ranked_design(find_curve_design(question.default_design if design is None else design))
    return None if chosen is None else RankedSetting(RankedList.of(items, question.positive, seed), question, chosen)


class RankedRecord(NamedTuple):
    """What campaigns on a ranked list found at every look.

    Attributes
    ----------
    value, lower, upper : (R, B, T)
        Estimates of the precision and its band.
    labels : (R, B)
        Labels that had been told: fewer than the budget where the design was done.
    """

    value: Float[np.ndarray, "R B T"]
    lower: Float[np.ndarray, "R B T"]
    upper: Float[np.ndarray, "R B T"]
    labels: Int[np.ndarray, "R B"]

    of_ranks = True


_OPTIONS = ("epsilon", "beta", "delta", "monotone_from", "slack", "p_min", "noise", "budget")


def _check(name: str, value: object, fits: object, rule: str) -> None:
    if not fits:
        raise QuestionError(f"PrecisionCurve takes {rule} for {name}; found {show(value)}.")


def _precisions(values: np.ndarray, axis: int = -1) -> np.ndarray:
    """Keep the precisions of a curve's outputs, which come before the recalls."""
    return np.take(values, np.arange(values.shape[axis] // 2), axis)
