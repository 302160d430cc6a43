"""What the command line says of sessions, answers and studies."""

from __future__ import annotations

import sys
from functools import singledispatch
from typing import TYPE_CHECKING

import numpy as np

from bayes_assess._tools.tables import Table
from bayes_assess._tools.text import enumerated, plural
from bayes_assess.cli.echo import echo
from bayes_assess.cli.parse import joined_names
from bayes_assess.errors import LabelError, QuestionError
from bayes_assess.measures import combine, positive_code
from bayes_assess.pool.numbers import NumberPool
from bayes_assess.pool.numeric import NumericPool
from bayes_assess.pool.pool import Pool
from bayes_assess.questions import (
    Calibration,
    ConfusionMatrix,
    GroupPair,
    GroupRecall,
    LeastCalibrated,
    Metric,
    MostCostly,
    Question,
    TwoSystems,
)
from bayes_assess.results import CurveResult, PrecisionCurveResult
from bayes_assess.sessions.assessment import Assessment
from bayes_assess.sessions.exchange.tasks import Answers
from bayes_assess.sessions.ranked_assessment import RankedAssessment

if TYPE_CHECKING:
    from bayes_assess.pool.cells import Cells
    from bayes_assess.results import Result
    from bayes_assess.sessions.queries import LabelSheet
    from bayes_assess.sessions.session import AnySession
    from bayes_assess.sessions.team.labelling_error import LabellingError
    from bayes_assess.studies.simulate import Study

_FEW, _SHEET = 20, 500  # items of a first sheet
_WIDEST = 10_000  # columns of a terminal


def print_table(table: Table) -> None:
    """Print a table: by Rich on a terminal, as plain text into a pipe or a file."""
    if not sys.stdout.isatty():
        echo(repr(table))
        return
    from rich.console import Console

    console, shown = Console(), table.to_rich()
    # A terminal that is narrower than the numbers shows them in lines of its own making: none is cut.
    console.width = max(console.width, Console(width=_WIDEST).measure(shown).minimum)
    console.print(shown)


@singledispatch
def started(assessment: Assessment) -> str:
    """Say what was started, and which labels are possible."""
    pool, question = assessment.pool, assessment.question
    subject, extent = _asked(question, assessment)
    can, items = _labels(pool, question), plural(pool.n_items, "item")
    lines = [
        f"{question.name}{subject and f' {subject}'}, design {assessment.design.name}: {items}{extent}.",
        f"Labels can be {can}.",
    ]
    if assessment.repeats_items:
        lines.append("Labels of an item may differ: it may be asked again, and stand in a sheet several times.")
    if pool.multilabel:
        lines.append("An item has all of its labels at once, such as a;b, or - where none applies.")
    elif (joint := _joint_class(pool)) is not None:
        lines.append(
            f"{joint!r} is taken for one class: if items may have several labels, start again with --multilabel."
        )
    return "\n".join([*lines, *_highest_cost(question, pool)])


def _joint_class(pool: Pool) -> str | None:
    """Return a class that reads as several of the others, such as a;b beside a."""
    names = [str(name) for name in pool.classes.tolist()] if pool.classes.dtype.kind == "U" else []
    return next((name for name in names if ";" in name and {part.strip() for part in name.split(";")} & {*names}), None)


@started.register
def _(assessment: RankedAssessment) -> str:
    ranked, wanted = assessment.pool, assessment.n_remaining
    tied = f", {ranked.n_tied:,} of them with equal scores" if ranked.n_tied else ""
    classes = ranked.label_space.classes
    return (
        f"{assessment.question.name}, design {assessment.design.name}: {plural(ranked.n_items, 'ranked item')}{tied}.\n"
        f"Labels can be {joined_names(classes)}; the positive class is {classes[ranked.positive]}.\n"
        f"The design wants {wanted:,} labels first, in any portions; then it sees whether it needs more."
    )


def first_sheet(assessment: AnySession) -> int:
    """Say how many items to ask for first: few, or what a design of ranked lists wants if that is not too much."""
    return min(_SHEET if assessment.pool.is_ranked else _FEW, assessment.n_remaining)


def next_sheet(assessment: AnySession) -> int:
    """Say how many items to ask for where nobody says: few, or all that are left if these are fewer."""
    return min(_FEW, assessment.n_remaining) or _FEW


def fewer(assessment: AnySession, queries: LabelSheet, wanted: int) -> str:
    """Say why there are fewer items than were asked for, if there are."""
    if len(queries) >= wanted:
        return ""
    by_chance = "as batches of a random size have that many only on average"
    otherwise = by_chance if assessment.n_remaining else "as no more are left"
    return f", fewer than asked for, {getattr(queries, 'fewer', '') or otherwise}"


@singledispatch
def _labels(pool: Pool, question: Question) -> str:
    """Say what labels can be."""
    named = joined_names(pool.classes[:12]) + (f" and {pool.n_classes - 12:,} more" if pool.n_classes > 12 else "")
    more = "" if pool.classes_declared else " (as predicted; if there are others, start again with --classes)"
    return f"{named}{more}{_positive(question, pool)}"


@_labels.register
def _(pool: NumberPool, question: Question) -> str:
    return f"numbers, {Answers.of(pool.label_space, ()).within}" if np.isfinite(pool.bounds).any() else "numbers"


@_labels.register
def _(pool: NumericPool, question: Question) -> str:
    return f"numbers from {pool.bounds[0]:g} to {pool.bounds[1]:g}, rounded to steps of {pool.step:g}"


@singledispatch
def _highest_cost(question: Question, pool: Pool) -> list[str]:
    """Say which cost is the highest, which shows if rows and columns were taken for each other."""
    return []


@_highest_cost.register
def _(question: ConfusionMatrix | MostCostly, pool: Pool) -> list[str]:
    if question.cost is None:
        return []
    costs = np.asarray(question.cost)
    k, j = np.unravel_index(np.argmax(costs), costs.shape)
    pair = f"predicted {pool.classes[k]} whose label is {pool.classes[j]}"
    return [f"The highest cost, {costs[k, j]:g}, is that of an item {pair}."]


@singledispatch
def _positive(question: Question, pool: Pool) -> str:
    """Say which class is positive, where that matters."""
    return ""


@_positive.register
def _(question: Metric, pool: Pool) -> str:
    if pool.multilabel:
        return ""
    binary = any(spec.binary or spec.is_curve for spec in combine(question.measure))
    code = positive_code(pool, question.positive)
    return f"; the positive class is {pool.classes[code]}" if binary and code is not None else ""


@_positive.register
def _(question: GroupRecall, pool: Pool) -> str:
    return f"; the positive class is {pool.classes[positive_code(pool, question.positive)]}"


@singledispatch
def _asked(question: Question, assessment: Assessment) -> tuple[str, str]:
    """Say what is asked about, and how that divides the items."""
    cells = assessment.cells
    return f"by {cells.description}", f" in {plural(cells.n_cells, 'group')}{_note(cells)}"


@_asked.register
def _(question: GroupPair, assessment: Assessment) -> tuple[str, str]:
    cells = assessment.cells
    which = f" ({enumerated(question.names())})"
    return f"by {cells.description}{which}", f" in {plural(cells.n_cells, 'group')}{_note(cells)}"


@_asked.register
def _(question: TwoSystems, assessment: Assessment) -> tuple[str, str]:
    return f"of {enumerated(question.names())}", f", and they differ on {assessment.cells.sizes[1]:,} of them"


@_asked.register
def _(question: Metric, assessment: Assessment) -> tuple[str, str]:
    cells, n_left = assessment.cells, assessment.n_remaining
    blocks = cells.parts[0].description
    whole = assessment.design.strata_of(assessment.pool) is None or blocks == "prediction"
    strata = "" if whole else f" in {blocks}{_note(cells)}"
    matter = f", of which {n_left:,} can matter" if n_left < assessment.pool.n_items else ""
    systems = f"of {enumerated(question.systems)}" if question.systems else ""
    how = "by" if question.average is None else f"as the {question.average} average over"
    groups = "" if question.by is None else f"{how} {question.by}"
    return " ".join(filter(None, [systems, groups])), f"{matter}{strata}"


@_asked.register
def _(question: Calibration | LeastCalibrated, assessment: Assessment) -> tuple[str, str]:
    cells = assessment.cells
    groups, bins = cells.parts
    if question.by is None:
        return f"by {bins.description}", f" in {bins.n_groups:,} bins{_note(cells)}"
    return f"by {cells.description}", f" in {plural(groups.n_groups, 'group')} of {bins.n_groups:,} bins{_note(cells)}"


def _note(cells: Cells) -> str:
    notes = [part.note for part in cells.parts if part.note]
    return f" ({'; '.join(notes)})" if notes else ""


def numbers(assessment: AnySession) -> dict[str, int]:
    """Return how many labels were used, and what became of the other items."""
    counts = {"labels_used": assessment.labels_used, "pending": assessment.n_pending, "skipped": assessment.n_skipped}
    counts["disagreements"] = assessment.n_disagreements
    return counts | {"remaining": assessment.n_remaining, "items": assessment.pool.n_items}


@singledispatch
def labels_so_far(assessment: AnySession) -> str:
    """Say how many labels were used, and how many items are left."""
    used, aside = _used(assessment)
    if assessment.repeats_items:
        return f"Labels: {used}{aside}; items may be asked again."
    return f"Labels: {used}, {assessment.n_remaining:,} remaining{aside}."


@labels_so_far.register
def _(assessment: RankedAssessment) -> str:
    used, aside = _used(assessment)
    wanted, budget = assessment.n_remaining, assessment.question.budget
    rest = f"{wanted:,} or more wanted" if wanted else "whose labels decide what comes next"
    if wanted and budget is not None and assessment.labels_used + assessment.n_pending >= budget:
        rest = f"the budget is spent, {rest}"
    return f"Labels: {used}{aside}, {'the design needs no more' if assessment.done else rest}."


def _used(assessment: AnySession) -> tuple[str, str]:
    """Say how many labels were used and are awaited, and how many items were set aside."""
    aside = f", {assessment.n_skipped:,} set aside" if assessment.n_skipped else ""
    return f"{assessment.labels_used:,} used, {assessment.n_pending:,} pending", aside


def counting_on_wrong_labels(error: LabellingError, result: Result) -> str:
    """Say what an answer is where labels may be wrong, or why that cannot be said."""
    try:
        adjusted = error.adjusted(result)
    except (QuestionError, LabelError) as refused:
        return str(refused)
    draws, name = adjusted.draws, result.question.name
    if draws.ndim > 1 and draws.shape[1] > 1:
        draws, name = draws @ (adjusted.size / np.sum(adjusted.size)), f"{name}, overall"
    low, high = np.quantile(draws, [(1 - result.level) / 2, (1 + result.level) / 2])
    return (
        f"Counting on wrong labels, {name}: {draws.mean():.3f}, {result.level:.0%} credible interval [{low:.3f}, "
        f"{high:.3f}], where status takes labels for the truth."
    )


@singledispatch
def threshold(result: Result, wanted: dict[str, float]) -> str:
    """Say which threshold reaches what is wanted; nothing is wanted where F1 is to be greatest."""
    raise QuestionError("--threshold-for is about a curve of precision and recall; add --question pr-curve.")


@threshold.register
def _(result: CurveResult, wanted: dict[str, float]) -> str:
    greatest = "F1 is greatest" if result.guarantee == "exact" else "By estimate F1 is greatest"
    return result.said_of_threshold(**wanted) if wanted else f"{greatest} here: {result.best()}"


@threshold.register
def _(result: PrecisionCurveResult, wanted: dict[str, float]) -> str:
    if "precision" not in wanted:
        raise QuestionError("A ranked list is cut for a precision: --threshold-for precision=0.9.")
    goal = f"a precision of {wanted['precision']:g} or more"
    rank = result.cut(wanted["precision"])
    return f"Cut at rank {rank:,} for {goal}, by the band." if rank else f"By the band no rank has {goal}."


def labels_to(study: Study) -> str:
    """Say how many labels each design needs, by the question's own scores."""
    lines = []
    for score in study.question.scores:
        side = "at most" if study.question.lower_is_better[score] else "above"
        value = study.goals[score]
        goal = f"{side} {value:,.0f}" if value >= 1000 else f"{side} {value:.3g}"
        needed = {
            name: n for name, n in study.labels_to(score).items() if not np.isnan(study.scores[name][score]).all()
        }  # designs without a proposal have none to diverge from the best
        if not needed:
            continue
        needs = ", ".join(f"{name} {'not reached' if n is None else f'{n:,}'}" for name, n in needed.items())
        lines.append(f"Labels until the mean {score} is {goal} and stays there: {needs}.")
    return "\n".join(lines)
