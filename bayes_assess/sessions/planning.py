"""Planning: a session is continued on pools that its belief draws, until enough is known."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from bayes_assess._tools import engine
from bayes_assess._tools.arrays import is_whole, show
from bayes_assess._tools.progress import in_progress
from bayes_assess._tools.shapes import Float, Int
from bayes_assess.books.items import ItemBook
from bayes_assess.designs import Design, State, VarianceReduction
from bayes_assess.designs._arms import ArmDesign, CellState
from bayes_assess.errors import BudgetError
from bayes_assess.models.belief import runs_on_numpy
from bayes_assess.pool.pool import Pool
from bayes_assess.questions import Question, Setting
from bayes_assess.results.plan import Plan
from bayes_assess.sessions.campaign import Campaign
from bayes_assess.sessions.session import Session
from bayes_assess.sessions.volunteered import believed_state, learned_alone
from bayes_assess.studies.arm_futures import ArmFutures, follows_at_once
from bayes_assess.studies.curve_futures import CurveFutures, draws_at
from bayes_assess.studies.futures import Futures, SessionFutures, imagined_labels, without_pending
from bayes_assess.studies.goals import Goal, check_plannable, random_labels_to

_LOOKS = 5  # of a stage
_GROWTH = 1.2  # of all labels from look to look
_FIRST = 10  # labels, before which nobody looks
_MOST, _MOST_BY_CURVES = 10_000, 1_000  # further labels of a future, and of one whose belief is curves
_MOST_COUNTS = 500_000_000  # of outcomes by cell in all futures: 4 GB
_LEAST_WIDTH = 1e-12  # that is not 0
_ENOUGH = 0.9  # of the futures must have reached the goal


class Planning(Campaign, Session[Pool, Question, Design, ItemBook]):
    """What plans the labels of a session; `Assessment` is one."""

    def goal(
        self, width: float | None, probability: float | None = None, of: str = "widest", level: float = 0.95
    ) -> Goal:
        """Make a goal of the session's question, see `plan`.

        Examples
        --------
        >>> import bayes_assess as ba
        >>> a = ba.assess(ba.Pool(predictions=["cat", "dog"]), ba.GroupAccuracy())
        >>> a.goal(0.1).reached(0.05)
        True
        """
        return Goal.checked(self.question, self.cells, width, probability, of, level)

    @in_progress("Planning")
    def plan(
        self,
        width: float | None = None,
        *,
        probability: float | None = None,
        of: str = "widest",
        level: float = 0.95,
        futures: int = 16,
    ) -> Plan:
        """Say how many more labels it takes until enough is known.

        The session is continued on pools that are drawn from the posterior, as in METHODS 12.6, by blocks of labels:
        its design chooses the items of a block, and learns when that is complete. Of measures widths are smoothed so
        that they do not rise; and as pools are unlike those that a belief on curves draws, further labels are taken to
        be 1.2 times as many as in these futures, 1.8 times without a label yet, and their range is wider than that of
        the futures (`benchmarks/study_plan.py`), until a width as until a verdict.
        Items that are pending count as not asked for yet. Nothing of the session changes. Plan again when more labels
        have come.

        Parameters
        ----------
        width : float, optional
            What the interval is to be wide, at most: between 0 and 1, and of means and other measures with units, in
            these.
        probability : float in (0, 1), optional
            Of comparisons and of the best of several systems, in the place of the width: what the verdict is to have;
            0.95 if neither is given.
        of : {"widest", "overall"}
            Of several intervals the widest, or for `GroupAccuracy` that of the overall accuracy.
        level : float in (0, 1)
            Of the intervals.
        futures : int
            Pools that are drawn, at least 2: the more, the better known is the spread.

        Returns
        -------
        Plan

        Raises
        ------
        QuestionError
            If the question has no such goal.
        DesignError
            If the design has no belief on labels to draw pools from.
        BudgetError
            If there are too few futures.

        Examples
        --------
        >>> import bayes_assess as ba
        >>> a = ba.assess(ba.Pool(predictions=["cat", "dog"] * 100), ba.GroupAccuracy(), design="random")
        >>> a.tell(a.ask(20).ids, ["cat", "dog"] * 10)
        >>> plan = a.plan(width=0.1, of="overall")
        >>> plan.labels_used, plan.labels.lower <= plan.labels.expected <= plan.labels.upper <= 180
        (20, True)
        """
        if not is_whole(futures, 2):
            raise BudgetError(f"A plan needs at least 2 futures, a whole number; found {show(futures)}.")
        most = _MOST_COUNTS // (self.cells.n_cells * self._setting.n_outcomes)
        if futures > most:
            raise BudgetError(
                f"A plan of this pool may follow {most:,} futures; found {show(futures)}. 16 are the default."
            )
        check_plannable(self.question)
        goal = self.goal(width, probability, of, level)
        present = Present.of(self)
        serving = [name for name in self.question.designs or () if name != VarianceReduction.name or self._is_believed]
        unlabelled = imagined_labels(self.design, present.state, present.setting, int(futures), self._seed, serving)
        continued = futures_of(self, present, goal, unlabelled)
        labels, widths, values = followed(self, present, goal, continued)
        longer = continued.longer(present.n_told)
        labels = _further(labels, longer.median, present.n_items)
        needed = labels_needed(goal, labels, values, present.n_items, present.n_asked_of)
        full = np.asarray(present.state.counts) + unlabelled
        with engine.eager(self.engine == "eager"):
            random = random_labels_to(goal, present.setting.cells, full, _width_then(goal, labels, widths, needed))
        each, known = self.question.labels_each, present.n_known
        return Plan(
            question=self.question.name,
            design=self.design.name,
            kind=goal.kind,
            goal=goal.value,
            level=goal.level,
            widest=goal.widest,
            labels_used=each * (present.n_told + known),
            n_items=each * (present.n_items + known),
            budgets=each * (labels + known),
            paths=values,
            needed=each * (needed - present.n_told),
            random=None if random is None else each * random,
            longer=longer.median,
            spread=longer.spread,
        )

    @property
    def _is_believed(self) -> bool:
        """Whether the belief on measures serves the question on this pool."""
        return self.question.default_design_on(self.pool) == VarianceReduction.name


class Present(NamedTuple):
    """Where a session stands, as if its pending items had never been asked for.

    Attributes
    ----------
    state : State
    setting : Setting
        Of the session; of groups, without items whose labels count as known alone.
    n_told, n_items : int
        Labelled items from which something is learned, and with them those that may still be asked for.
    n_asked_of : int or infinity
        Items that the answer is about: those that were set aside are among them, and a population is infinite.
    n_known : int
        Items that were left out.
    """

    state: State
    setting: Setting
    n_told: int
    n_items: int
    n_asked_of: float
    n_known: int

    @classmethod
    def of(cls, session: Planning) -> Present:
        """Look at a session."""
        later = None if session._steps is None else session._steps.take()[1]
        awaited = np.asarray(session._state.pending) - session._kept_aside
        state, setting = without_pending(session.design, believed_state(session), later, awaited), session._setting
        design, random, n_known = session.design, learned_alone(session), 0
        if random is not None and isinstance(design, ArmDesign) and isinstance(state, CellState):
            known = np.asarray(state.counts) - random.counts
            n_known, sizes = int(known.sum()), setting.cells.sizes - known.sum(-1)
            state = design.knowing(replace(state, size=sizes), random.counts)
            setting = setting._replace(cells=replace(setting.cells, sizes=sizes))
        n_told = session._items.n_labelled - n_known
        n_items = n_told + int(np.asarray(state.remaining).sum())
        n_asked_of = items_asked_of(session.question, n_items + session._items.n_skipped)
        return cls(state, setting, n_told, n_items, n_asked_of, n_known)


def followed(
    session: Planning, present: Present, goal: Goal, futures: Futures
) -> tuple[Int[np.ndarray, " B"], Float[np.ndarray, "F B"], Float[np.ndarray, "F B"]]:
    """Continue a session on pools with these unlabelled items until most futures reach the goal.

    Parameters
    ----------
    session : Assessment
    present : Present
        Where it stands.
    goal : Goal
    futures : Futures

    Returns
    -------
    labels : (B,)
        In all, at every look; the present number first.
    widths : (F, B)
        Of the interval.
    values : (F, B)
        What the goal is about.
    """
    labels = np.array([present.n_told])
    widths, values = (measured[:, None] for measured in goal.now(session, len(futures.unlabelled)))
    n_left = present.n_items - present.n_told
    if not n_left or goal.reached(values).all():
        return labels, widths, values
    design = session.design
    most = min(max(_MOST_BY_CURVES, 4 * present.n_told) if design.one_by_one else _MOST, n_left)
    is_width = goal.kind == "width"
    for look, ends_stage in _looks(present.n_told, most):
        n = present.n_told + look
        # Whoever has arrived is looked at once more, as a width that seems small may rise again.
        open_ = np.flatnonzero(~goal.reached(values[:, :-1]).any(1))
        before, after = (max(1 / max(k, 1) - 1 / present.n_asked_of, 0) for k in (labels[-1], n))
        shrunk = np.sqrt(after / before) if before else 0.0  # 0 of a single item, by 1 / 0 labels
        now = [widths[:, -1] * shrunk, values[:, -1] * (shrunk if is_width else 1)]  # as random labels go on
        campaigns = futures.campaigns(open_, n, goal.level)
        with engine.eager(runs_on_numpy(campaigns.prior)):
            measured = goal.measured(campaigns)
        for all_, some in zip(now, measured, strict=True):
            all_[open_] = some[: len(open_), 0]
        labels = np.append(labels, n)
        widths, values = (np.column_stack(pair) for pair in zip((widths, values), now, strict=True))
        values = falling(values) if futures.smooth and is_width else values
        n_open = int((~goal.reached(values[:, :-1]).any(1)).sum())
        if n_open == 0 or ((ends_stage or futures.enough_at_once) and n_open <= (1 - _ENOUGH) * len(values)):
            break
    return labels, widths, values


def _further(labels: Int[np.ndarray, " B"], longer: float, n_items: int) -> Int[np.ndarray, " B"]:
    """Return labels at looks if further ones are that many times as many; all items are known when all are labelled."""
    further = np.ceil(longer * (labels - labels[0])).astype(np.int64)
    return np.where(labels < n_items, np.minimum(labels[0] + further, n_items - 1), n_items)


def futures_of(
    session: Planning, present: Present, goal: Goal, unlabelled: Int[np.ndarray, "F K O"], one_by_one: bool = False
) -> Futures:
    """Return futures that are followed in the way that is there soonest for the session's design and belief.

    Parameters
    ----------
    session : Assessment
    present : Present
        Where it stands.
    goal : Goal
    unlabelled : (F, K, O) integers
        Items of every pool, by cell and outcome.
    one_by_one : bool
        Whether labels come one by one, by the very steps of the session, where blocks of them would do for a plan.
    """
    design, question = session.design, session.question
    start: Any = design, present.state, unlabelled, present.setting, session._seed
    by_cell = goal.of != "overall"
    answers = {"matched": question.plan_matched and by_cell, "smooth": question.plan_drawn or not by_cell}
    if one_by_one:
        return SessionFutures(*start, one_by_one=True, **answers)
    if design.believes_all:
        return CurveFutures(*start, n_draws=draws_at(goal.level))
    at_once = follows_at_once(design, present.setting.prior)
    return (ArmFutures if at_once else SessionFutures)(*start, **answers)


def falling(widths: Float[np.ndarray, "F B"]) -> Float[np.ndarray, "F B"]:
    """Smooth widths so that they never rise: they fall but for the noise of few draws, dips of which are no progress.

    The non-increasing numbers that are closest to their logarithms, by the least of the greatest means; the first stays
    as it is, and none is beyond.

    Examples
    --------
    >>> falling(np.array([[0.4, 0.2, 0.3, 0.1]])).round(3).tolist()
    [[0.4, 0.245, 0.245, 0.1]]
    """
    n = widths.shape[1]
    upto = np.pad(np.cumsum(np.log(np.maximum(widths[:, 1:], _LEAST_WIDTH)), axis=1), [(0, 0), (1, 0)])
    first, last = np.arange(n - 1)[:, None], np.arange(n - 1)
    mean = (upto[:, None, 1:] - upto[:, :-1, None]) / np.maximum(last - first + 1, 1)
    greatest = np.maximum.accumulate(np.where(last >= first, mean, -np.inf)[:, :, ::-1], axis=2)[:, :, ::-1]
    smooth = np.minimum.accumulate(np.where(last >= first, greatest, np.inf), axis=1)[:, last, last]
    smooth = np.where(smooth > np.log(2 * _LEAST_WIDTH), np.exp(smooth), 0.0)
    return np.concatenate([widths[:, :1], np.minimum(smooth, widths[:, :1])], axis=1)


def _looks(n_told: int, most: int) -> Iterator[tuple[int, bool]]:
    """Yield further labels at which to look, up to `most`, and whether a stage of looks ends there."""
    total, last, number = max(n_told, _FIRST / _GROWTH), 0, 0
    while last < most:
        total, number = total * _GROWTH, number + 1
        look = min(math.ceil(total) - n_told, most)
        if look > last:
            yield look, number % _LOOKS == 0 or look == most
        last = look


def items_asked_of(question: Question, n_items: int) -> float:
    """Return how many items the answer is about: those of the pool, or infinitely many of a population.

    Examples
    --------
    >>> import bayes_assess as ba
    >>> items_asked_of(ba.GroupAccuracy(), 100), items_asked_of(ba.GroupAccuracy(target="population"), 100)
    (100, inf)
    """
    return math.inf if getattr(question, "target", "pool") == "population" else n_items


def labels_needed(
    goal: Goal,
    labels: Int[np.ndarray, " B"],
    values: Float[np.ndarray, "F B"],
    n_items: int,
    n_asked_of: float | None = None,
) -> Float[np.ndarray, " F"]:
    """Labels in all at which every future reaches the goal, between looks by interpolation.

    Beyond the last look variances fall as 1 / n - 1 / M does; no verdict is foreseen there. Where all items that may be
    labelled, `n_items`, are not enough, the labels are infinitely many: the answer is about `n_asked_of` items, M, by
    default the same, of which some were set aside, or of a population.
    """
    all_items = n_items if n_asked_of is None else n_asked_of
    reached = goal.reached(values)
    needed = np.full(len(values), np.inf)
    for future, (met, path) in enumerate(zip(reached, values, strict=True)):
        at = int(met.argmax())
        if met.any():
            before = max(at - 1, 0)
            moved = path[before] - path[at]
            part = 1.0 if moved == 0 else np.clip((path[before] - goal.value) / moved, 0, 1)
            needed[future] = labels[before] + part * (labels[at] - labels[before])
        elif goal.kind == "width" and 0 < labels[-1] < n_items:
            n = labels_to_width(goal.value, path[-1], int(labels[-1]), all_items)
            needed[future] = min(n, n_items) if n < n_items + 1 else np.inf
    return np.ceil(needed)


def labels_to_width(wanted: float, width: float, n: int, n_items: float) -> float:
    """Labels in all at which an interval is as narrow as wanted, if its variance falls as 1 / n - 1 / M does.

    Parameters
    ----------
    wanted, width : float
        What it is to be wide, and what it is with `n` labels of `n_items` items.

    Examples
    --------
    >>> labels_to_width(0.05, 0.1, 100, 1_000_000)  # nearly four times as many
    399.88...
    """
    return 1 / (1 / n_items + (wanted / width) ** 2 * (1 / n - 1 / n_items))


def _width_then(
    goal: Goal, labels: Int[np.ndarray, " B"], widths: Float[np.ndarray, "F B"], needed: Float[np.ndarray, " F"]
) -> Float[np.ndarray, " F"]:
    """Width of the interval at the labels needed, in every future; not a number where these are unknown."""
    if goal.kind == "width":
        return np.where(np.isfinite(needed), goal.value, np.nan)
    widths_then = [
        np.interp(n, labels, path) if np.isfinite(n) else np.nan for n, path in zip(needed, widths, strict=True)
    ]
    return np.array(widths_then)
