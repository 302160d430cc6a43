"""What all questions share: the setting of a campaign, and scores of estimates against the truth."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Literal, TypeVar

import numpy as np

from bayes_assess._tools.arrays import show
from bayes_assess._tools.shapes import ArrayLike, Bool, Float, Int
from bayes_assess._tools.text import plural
from bayes_assess.acquisition.rewards import Reward
from bayes_assess.designs import Design, State
from bayes_assess.errors import QuestionError
from bayes_assess.estimators.labelled_items import LabelledItems
from bayes_assess.measures.cell_measure import CellMeasure
from bayes_assess.models.belief import Belief
from bayes_assess.pool.cells import Cells, label_counts
from bayes_assess.pool.groups import Cut
from bayes_assess.pool.pool import Pool, checked_pool
from bayes_assess.pool.rank_strata import RankedScore
from bayes_assess.pool.units import ItemUnits
from bayes_assess.questions._answered import Answered
from bayes_assess.questions._setting import Labelled, Setting, Simulated

if TYPE_CHECKING:
    from bayes_assess.models.belief import GivenPrior


TARGETS = ("pool", "population")

# Classes of results: by a design with a belief, by one that weighs its draws, and the one of groups by any design.
BelievedT_co = TypeVar("BelievedT_co", covariant=True)
WeighedT_co = TypeVar("WeighedT_co", covariant=True)
AnswerT_co = TypeVar("AnswerT_co", covariant=True)


class Question(Answered, Generic[BelievedT_co, WeighedT_co]):
    """What is asked of a pool, apart from how items are chosen. It holds no labels.

    Its type parameters are the classes of its results, which the stub `bayes_assess/__init__.pyi` says of public ones.

    Posteriors are functions of counts: `counts` (..., K, O) are the labels of K cells by outcome, `prior` is the
    model that `prior` returned.
    """

    target: str
    default_strength: ClassVar[float] = 2.0
    default_design: ClassVar[str] = "thompson"
    default_designs: ClassVar[tuple[str, ...]] = ("random", "thompson")  # of studies
    designs: ClassVar[tuple[str, ...] | None] = None  # those that can serve it; None: all that play arms
    lower_is_better: ClassVar[Mapping[str, bool]] = {
        "rmse": True,
        "cost_error": True,
        "ece_error": True,
        "error": True,
        "mrr": False,
        "success": False,
        "right": False,
    }
    # What studies ask for unless told otherwise; an ECE error is in percent.
    goals: ClassVar[Mapping[str, float]] = {
        "rmse": 0.05,
        "cost_error": 0.05,
        "ece_error": 20.0,
        "error": 0.05,
        "mrr": 0.99,
        "success": 0.95,
        "right": 0.95,
    }
    quantity: ClassVar[str]  # what is estimated, as a noun
    asks: ClassVar[str] = "{name}?"  # as a sentence, with words of `results._in_words`
    titled: ClassVar[str] = "{name}"  # as the title of a figure or a table
    low_is_worst: ClassVar[bool] = False
    made_by: ClassVar[str] = ""  # what makes it, where that is not its class
    sign: ClassVar[int] = 0  # of questions about extremes: `sign` times the value is greatest there
    adjective: ClassVar[str]  # of these: what the groups are that are looked for, such as "least accurate"
    multilabel: ClassVar[bool] = False  # True: of items that may have several labels each
    numeric: ClassVar[bool] = False  # True: of labels that are numbers as they are told
    oracles: ClassVar[tuple[str, ...]] = ("deterministic",)  # of the labels that it can be answered from
    of_ranks: ClassVar[bool] = False  # whether designs of ranked lists serve it
    of_measure: ClassVar[bool] = False  # True of a `Metric`
    unplannable: ClassVar[str] = ""  # why nothing can be planned for it, the end of a sentence
    has_overall: ClassVar[bool] = False  # whether an overall value is known beside those of groups
    verdicts: ClassVar[Literal["none", "one", "several"]] = "none"  # that have a probability
    plan_matched: ClassVar[bool] = False  # whether a plan may take values of cells for independent Beta variables
    plan_drawn: ClassVar[bool] = False  # whether intervals of a plan are those of few draws
    possible: ClassVar[ArrayLike] = True  # which outcomes are possible at all, in every cell
    labels_each: ClassVar[int] = 1  # labels that an item of a cell takes: two where that is a pair

    @property
    def name(self) -> str:
        """What the question is called."""
        return type(self).__name__

    def said_of_steps(self, step: float) -> str:
        """Say what it makes of numbers that have been rounded to steps; "" where its results say so themselves."""
        return (
            f"Predictions and labels are rounded to steps of {step:g}, and count as the same where they are equal then."
        )

    def said_of_classes(self, unseen: Sequence[object]) -> str:
        """Say what it makes of classes that no label is of so far; "" where it makes nothing of their own of them."""
        return ""

    @property
    def of_tables(self) -> bool:
        """Whether items need not be in memory."""
        return True

    @property
    def of_shares(self) -> bool:
        """Whether it asks for shares of items that labels show one by one."""
        return self.quantity == "accuracy"

    def default_design_on(self, pool: Pool) -> str:
        """Return the design that a session on this pool takes by default."""
        return self.default_design

    def default_designs_on(self, pool: Pool) -> tuple[str, ...]:
        """Return the designs that a study on this pool compares by default."""
        return self.default_designs

    @property
    @abstractmethod
    def scores(self) -> tuple[str, ...]:
        """Names of the scores of estimates, the foremost first."""

    @property
    def n_sought(self) -> int:
        """Groups that are looked for at a time."""
        return 1

    def is_single(self, cells: Cells) -> bool:
        """Whether the answer is one number, or one verdict, not one for every group."""
        return False

    def widest_on(self, cells: Cells) -> float:
        """Return how wide its intervals are before anything is known, in its own units."""
        return 1.0

    def unit_on(self, cells: Cells, truth: Float[np.ndarray, "..."]) -> float:
        """Return what a large difference of the answer is, in its own units: the `goals` of errors are for 1."""
        return 1.0

    def random_labels(
        self, cells: Cells, full: Int[np.ndarray, "F K O"], width: Float[np.ndarray, " F"], level: float, overall: bool
    ) -> Float[np.ndarray, " F"] | None:
        """Count the random labels that give an interval of a width; None where no formula has them.

        Parameters
        ----------
        cells : Cells
        full : (F, K, O) integers
            Items of every cell by outcome, on several pools.
        width : (F,) floats
        level : float in (0, 1)
            Of the interval.
        overall : bool
            Whether it is that of the overall value, where there is one.
        """
        return None

    def study_verdicts(self, campaigns: Simulated) -> Float[np.ndarray, "R B"]:
        """Compute the probability of the verdict in simulated campaigns; of several that of the least sure one."""
        raise self.no_verdict()

    def no_verdict(self) -> QuestionError:
        """Say that there is no verdict to plan for."""
        return QuestionError(
            f"This {self.name} gives no verdict whose probability a plan could follow; plan the width of its interval, "
            "such as width=0.05."
        )

    def plan_verdicts(self, campaigns: Simulated) -> Float[np.ndarray, "R B"]:
        """Compute the probability of the verdict in a few campaigns that a plan follows: that of studies."""
        return self.study_verdicts(campaigns)

    def check_pool(self, pool: Pool) -> None:
        """Raise QuestionError if items of this pool may have several labels, and the question is of single ones.

        PoolError, if they are not in memory and the question needs them there.
        """
        if pool.multilabel and not self.multilabel:
            raise QuestionError(
                f"{self.name} is asked of items with one label each, and those of a multi-label pool may have several; "
                "ask of them Metric('f1_micro'), or other measures of several labels, by design 'poisson' or 'passive'."
            )
        if not self.of_tables:
            pool.check_in_memory(f"{self.name} is answered from items")
        if pool.numeric and not self.numeric:
            raise QuestionError(
                f"{self.name} is asked of labels that are classes, or numbers rounded within finite bounds, such as "
                "bounds=(0, 100). Here they are taken as they are: of such ask Metric('mae'), 'mse', 'r2', or other "
                "measures of regression."
            )

    def items_in(self, given: object) -> Pool:
        """Return what a session is started on as a pool of items, or raise QuestionError."""
        return checked_pool(given)

    def labelled_pool(self, pool: Pool) -> Pool:
        """Return the pool whose labels the question takes: that pool, unless it takes them in another form."""
        return pool

    def for_pool(self, pool: Pool) -> Question:
        """Return the question as it is asked of this pool, itself unless it has a form of its own there.

        Raises
        ------
        QuestionError
            If it cannot be asked of this pool.
        """
        self.check_pool(pool)
        return self

    def posed(self, pool: Pool, codes: Int[np.ndarray, " M"] | None = None) -> tuple[Pool, Any]:
        """Return the pool that decisions are about, and the codes of its labels from those of all items, if given.

        It is the pool itself, unless what is labelled together counts as one item, see `PairedComparison`.
        """
        return pool, codes

    def units(self, pool: Pool) -> ItemUnits:
        """Return what is asked for and labelled at a time, of the pool that `posed` returned."""
        return ItemUnits(pool)

    def setting(
        self,
        pool: Pool,
        seed: int = 0,
        strata: Cut | None = None,
        prior: GivenPrior = None,
        strength: float | None = None,
        *,
        cells: Cells | None = None,
    ) -> Setting:
        """Put the question to a pool.

        Parameters
        ----------
        pool : Pool
        seed : int
            Decides the order of items within cells.
        strata : optional
            Those of the design, if it has any, see `Design.strata_of`.
        prior, strength
            As for `prior`.
        cells : Cells, optional
            Those of another setting of the same pool, seed and strata, to share them.

        Raises
        ------
        QuestionError, PartitionError, PriorError
            If the question or the prior does not fit the pool.

        Examples
        --------
        >>> import bayes_assess as ba
        >>> pool = ba.Pool(predictions=["cat", "cat", "dog"])
        >>> ba.GroupAccuracy().setting(pool, prior="uninformative").prior
        BetaBernoulli(a=array([1., 1.]), b=array([1., 1.]))
        """
        asked = self.for_pool(pool)
        if asked is not self:
            return asked.setting(pool, seed, strata, prior, strength, cells=cells)
        if cells is None:
            cells = self.cells(pool, seed, strata)
            self.check(cells)
        return self.setting_on(cells, self.prior(pool, cells, prior, strength))

    def setting_on(self, cells: Cells, belief: Any) -> Setting:
        """Take cells and a belief on them as they are: a belief that `prior` made before, or another posterior."""
        return Setting(cells, belief, self.reward(cells, belief), self.playable(cells))

    @abstractmethod
    def cells(self, pool: Pool, seed: int, strata: Cut | None = None) -> Cells:
        """Collapse the pool into this question's cells, and those of a design's strata if it has any."""

    def check(self, cells: Cells) -> None:
        """Raise QuestionError if these cells cannot answer the question."""

    def playable(self, cells: Cells) -> Bool[np.ndarray, " K"]:
        """Cells whose items are worth a label: all, unless the question says otherwise."""
        return np.ones(cells.n_cells, bool)

    @abstractmethod
    def prior(self, pool: Pool, cells: Cells, prior: GivenPrior, strength: float | None) -> Any:
        """Build the prior of every cell.

        Parameters
        ----------
        pool : Pool
        cells : Cells
        prior : {"learned", "informative", "uninformative"}, Belief or None
            None takes the learned prior, or with a strength the informative one if the pool has scores, else the
            uninformative one.
        strength : float or None
            Labels per cell that a fixed prior counts as; None takes the question's default.
        """

    def belief_of_accuracies(self, accuracy: Float[np.ndarray, "S K"], pooled: Belief, seed: int) -> Belief | None:
        """Return the belief on the cells that draws of their accuracies amount to; None where they do not say enough.

        Parameters
        ----------
        accuracy : (S, K)
            Joint posterior draws of the accuracies of the cells' unlabelled items.
        pooled : Belief
            That which takes the labels of every cell for random ones, whose accuracy alone is wrong.
        seed : int
        """
        return None

    def posterior(self, cells: Cells, prior: Belief, counts: Int[np.ndarray, "*batch K O"]) -> Belief:
        """Return what answers are taken from: what the prior has learned from the labels."""
        return prior.update_counts(counts)

    def settled(self, cells: Cells, counts: Int[np.ndarray, "K O"]) -> bool:
        """Tell whether labels leave nothing open of this pool: every item that is worth a label has one."""
        missing = counts.sum(-1) < cells.sizes
        return not (missing & self.playable(cells)).any()

    @abstractmethod
    def reward(self, cells: Cells, prior: Belief) -> Reward | CellMeasure:
        """Return what one label is worth, or what is measured."""

    @abstractmethod
    def outcomes(self, pool: Pool, items: Int[np.ndarray, " N"], labels: Int[np.ndarray, " N"]) -> np.ndarray:
        """Return the outcome of every item, 0..O-1, from its label's code."""

    def full_counts(self, pool: Pool, cells: Cells, codes: Int[np.ndarray, " M"], n_outcomes: int) -> np.ndarray:
        """Count the outcomes of every cell at full labels, (K, O)."""
        return label_counts(cells, self.outcomes_on(cells, pool, np.arange(pool.n_items), codes), n_outcomes)

    def outcomes_on(self, cells: Cells, pool: Pool, items: Int[np.ndarray, " n"], labels: np.ndarray) -> np.ndarray:
        """Return the outcomes of labels on the cells of a setting: `outcomes`, unless a design has others.

        Raises
        ------
        QuestionError
            If these are no integers from 0, one for every item.
        """
        found = np.asarray(self.outcomes(pool, items, labels))
        found = found.astype(np.int64) if found.dtype == bool else found
        if found.shape != (len(items),) or found.dtype.kind not in "iu" or found.min(initial=0) < 0:
            raise QuestionError(
                f"`outcomes` of {type(self).__name__} returns an integer from 0 for every item; of "
                f"{plural(len(items), 'item')} found {show(found)}."
            )
        return found

    def truth(self, pool: Pool, labels: ArrayLike) -> Float[np.ndarray, "..."]:
        """Compute the exact answer from all labels of a pool, (M,) class names.

        Examples
        --------
        >>> import bayes_assess as ba
        >>> ba.GroupAccuracy().truth(ba.Pool(predictions=["cat", "cat", "dog"]), ["cat", "dog", "dog"]).tolist()
        [0.5, 1.0]
        """
        asked = self.for_pool(pool)
        if asked is not self:
            return asked.truth(pool, labels)
        pool.check_in_memory("An exact answer is computed from the labels of all items")
        codes = pool.complete_codes(labels)
        cells = self.cells(pool, seed=0)
        # Not checked: what no labels can answer, such as how equal systems differ, may have an exact answer.
        setting = self.setting(pool, prior="uninformative", cells=cells)
        return self.truth_of_counts(cells, self.full_counts(pool, cells, codes, setting.n_outcomes))

    @abstractmethod
    def truth_of_counts(self, cells: Cells, full: Int[np.ndarray, "K O"]) -> Float[np.ndarray, "..."]:
        """Compute the exact answer from the number of items of every cell with every outcome."""

    def check_posterior(self, belief: Belief) -> None:
        """Raise InferenceError if the posterior of another model leaves out something that is asked."""

    def cell_draws(
        self, draws: Float[np.ndarray, "S ..."], shape: tuple[int, ...]
    ) -> Float[np.ndarray, "S ..."] | None:
        """Arrange posterior draws of any model as those of the cells, (S, *shape); None if they do not fit."""
        return draws.reshape(-1, *shape) if np.prod(draws.shape[1:]) == np.prod(shape) else None

    def groups(self, cells: Cells) -> np.ndarray:
        """Names of the groups that are asked about, (G,)."""
        return cells.parts[0].names

    def result_fields(self, pool: Pool) -> Mapping[str, object]:
        """Return what the result needs to know of the pool beside cells and counts, fields of its class."""
        return {}

    def labelled_items(self, pool: Pool, cells: Cells, labels: Int[np.ndarray, " M"]) -> LabelledItems | None:
        """Return where items with these labels stand in the order of the scores, if that is what is measured."""
        return None

    def ranked(self, pool: Pool) -> RankedScore | None:
        """Return the score that announces the event that a belief on labels is about; None where there is none."""
        return None

    def on_own_cells(self, pool: Pool, cells: Cells, design: Design, state: State) -> tuple[Question, Cells, State]:
        """Put the question on the cells of a session on another one, and in the state of its design.

        Parameters
        ----------
        pool : Pool
        cells : Cells
            Of the session.
        design : Design
        state : State

        Returns
        -------
        The question, and cells and state with what it measures.

        Raises
        ------
        QuestionError
            If it is no measure, or the cells or the items drawn do not tell of it.
        """
        raise QuestionError(f"{design.answering} measures, Metric(...) or PRCurve(...); found {self!r}.")

    def evidence(self, told: Labelled) -> dict[str, object]:
        """Return what labels say of what is asked, fields of its result: what the design finds, unless items say it."""
        if told.given is not None:
            return told.given(told)
        labelled = self.labelled_items(told.pool, told.cells, told.codes)
        return told.design.evidence(told.state, told.seed, told.level, told.skipped, labelled)

    def group_sizes(self, cells: Cells) -> Int[np.ndarray, " G"] | None:
        """Count the items of every group that is asked about, None if these are no groups."""
        return cells.sizes.reshape(len(self.groups(cells)), -1).sum(-1)


def pool_size(question: Question, cells: Cells) -> Int[np.ndarray, " K"] | None:
    """Items of every cell where the accuracy of this pool is asked for, None where it is that of the population."""
    return cells.sizes if question.target == "pool" else None


def check_target(target: str) -> None:
    """Raise QuestionError unless the target is known."""
    if not isinstance(target, str) or target not in TARGETS:
        raise QuestionError(f"target is 'pool' or 'population'; found {show(target)}.")
