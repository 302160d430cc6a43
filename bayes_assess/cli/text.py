"""What the command line prints of results."""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING, Any

import numpy as np

from bayes_assess._tools.tables import Table
from bayes_assess._tools.text import one_line, points, text_width
from bayes_assess.campaigns.exchange.tasks import Answers
from bayes_assess.campaigns.ranked_assessment import RankedAssessment
from bayes_assess.campaigns.stochastic_assessment import StochasticAssessment
from bayes_assess.cli.echo import echo
from bayes_assess.errors import LabelError, QuestionError
from bayes_assess.measures import Measure, combine, positive_code
from bayes_assess.pool.numbers import NumberPool
from bayes_assess.pool.numeric import NumericPool
from bayes_assess.pool.ranked import RankedList
from bayes_assess.questions import (
    Calibration,
    ConfusionMatrix,
    LeastCalibrated,
    Metric,
    MostCostly,
    TwoCalibrations,
    TwoGroups,
    TwoSystems,
)
from bayes_assess.results import (
    BeliefMetricResult,
    CalibrationComparisonResult,
    CompareResult,
    ConfusionResult,
    CurveResult,
    GroupwiseResult,
    MeasurePairsResult,
    MeasureVerdict,
    MetricResult,
    PairsResult,
    ProxyResult,
    RankedAnswer,
    Result,
    TwoSystemsResult,
)

if TYPE_CHECKING:
    from bayes_assess.campaigns.assessment import Assessment
    from bayes_assess.campaigns.simulate import Study

_WIDTH = 80  # characters of a terminal
_THRESHOLDS = 12  # of a curve
_FEW, _SHEET = 20, 500  # items of a first sheet
_SHORTEST = 8  # characters that names are never cut below


def show(table: Table) -> None:
    """Print a table: by Rich on a terminal, as plain text into a pipe or a file."""
    if not sys.stdout.isatty():
        echo(repr(table))
        return
    from rich.console import Console

    Console().print(table.to_rich())


def started(assessment: Assessment) -> str:
    """Say what was started, and which labels are possible."""
    pool, question = assessment.pool, assessment.question
    if isinstance(pool, RankedList):
        return _ranked_started(assessment)
    named = ", ".join(str(name) for name in pool.classes[:12]) + (", ..." if pool.n_classes > 12 else "")
    more = "" if pool.classes_declared else " (as predicted; if there are others, start again with --classes)"
    subject, extent = _asked(assessment)
    can = f"{named}{more}{_positive(assessment)}"
    if isinstance(pool, NumberPool):
        can = f"numbers, {Answers.of(pool.label_space, ()).within}" if np.isfinite(pool.bounds).any() else "numbers"
    elif isinstance(pool, NumericPool):
        can = f"numbers from {pool.bounds[0]:g} to {pool.bounds[1]:g}, rounded to steps of {pool.step:g}"
    lines = [
        f"{question.name}{subject and f' {subject}'}, design {assessment.design.name}: {pool.n_items:,} items{extent}.",
        f"Labels can be {can}.",
    ]
    if isinstance(assessment, StochasticAssessment):
        lines.append("Labels of an item may differ: it may be asked again, and stand in a sheet several times.")
    if pool.multilabel:
        lines.append("An item has all of its labels at once, such as a;b, or - where none applies.")
    if isinstance(question, ConfusionMatrix | MostCostly) and question.cost is not None:
        costs = np.asarray(question.cost)  # shows if rows and columns were taken for each other
        k, j = np.unravel_index(np.argmax(costs), costs.shape)
        pair = f"predicted {pool.classes[k]} whose label is {pool.classes[j]}"
        lines.append(f"The highest cost, {costs[k, j]:g}, is that of an item {pair}.")
    return "\n".join(lines)


def _ranked_started(assessment: Any) -> str:
    ranked, wanted = assessment.pool, assessment.n_remaining
    tied = f", {ranked.n_tied:,} of them with equal scores" if ranked.n_tied else ""
    classes = ranked.label_space.classes
    return (
        f"{assessment.question.name}, design {assessment.design.name}: {ranked.n_items:,} ranked items{tied}.\n"
        f"Labels can be {', '.join(map(str, classes))}; the positive class is {classes[ranked.positive]}.\n"
        f"The design wants {wanted:,} labels first, in any portions; then it sees whether it needs more."
    )


def first_sheet(assessment: Assessment) -> int:
    """Say how many items to ask for first: few, or what a design of ranked lists wants if that is not too much."""
    return min(_SHEET if isinstance(assessment, RankedAssessment) else _FEW, assessment.n_remaining)


def fewer(assessment: Any) -> str:
    """Say why a sheet has fewer items than were asked for."""
    if assessment.design.random_size and assessment.n_remaining:
        return ", fewer than asked for, as batches of a random size have that many only on average"
    why = "which is all that the budget leaves" if assessment.n_remaining else "as their labels decide what comes next"
    return f", fewer than asked for, {why}"


def _positive(assessment: Assessment) -> str:
    """Say which class is positive, where that matters."""
    pool, question = assessment.pool, assessment.question
    if not isinstance(question, Metric) or pool.multilabel or pool.numeric:
        return ""
    binary = any(one.binary if isinstance(one, Measure) else True for one in combine(question.measure))
    code = positive_code(pool, question.positive)
    return f"; the positive class is {pool.classes[code]}" if binary and code is not None else ""


def _asked(assessment: Assessment) -> tuple[str, str]:
    """Say what is asked about, and how that divides the items."""
    question, cells = assessment.question, assessment.cells
    notes = [part.note for part in cells.parts if part.note]
    note = f" ({'; '.join(notes)})" if notes else ""
    if isinstance(question, TwoSystems):
        return f"of {' and '.join(question.names())}", f", and they differ on {cells.sizes[1]:,} of them"
    if isinstance(question, Metric):
        whole = assessment.design.strata_of(assessment.pool) is None
        strata = "" if whole else f" in {cells.parts[0].description}{note}"
        few = assessment.n_remaining < assessment.pool.n_items
        matter = f", of which {assessment.n_remaining:,} can matter" if few else ""
        systems = f"of {' and '.join(question.systems)}" if question.systems else ""
        how = "by" if question.average is None else f"as the {question.average} average over"
        groups = "" if question.by is None else f"{how} {question.by}"
        return " ".join(filter(None, [systems, groups])), f"{matter}{strata}"
    if isinstance(question, Calibration | LeastCalibrated):
        groups, bins = cells.parts
        if question.by is None:
            return f"by {bins.description}", f" in {bins.n_groups:,} bins{note}"
        return f"by {cells.description}", f" in {groups.n_groups:,} groups of {bins.n_groups:,} bins{note}"
    which = f" ({' and '.join(question.names())})" if isinstance(question, TwoCalibrations | TwoGroups) else ""
    return f"by {cells.description}{which}", f" in {cells.n_cells:,} groups{note}"


def numbers(assessment: Assessment | RankedAssessment) -> dict[str, int]:
    """Return how many labels were used, and what became of the other items."""
    found = {"labels_used": assessment.labels_used, "pending": assessment.n_pending, "skipped": assessment.n_skipped}
    found["disagreements"] = assessment.n_disagreements
    return found | {"remaining": assessment.n_remaining, "items": assessment.pool.n_items}


def progress(assessment: Assessment | RankedAssessment) -> str:
    """Say how many labels were used, and how many items are left."""
    aside = f", {assessment.n_skipped:,} set aside" if assessment.n_skipped else ""
    if isinstance(assessment, RankedAssessment):
        wanted = assessment.n_remaining
        rest = f"{wanted:,} or more wanted" if wanted else "whose labels decide what comes next"
        budget = assessment.question.budget
        if wanted and budget is not None and assessment.labels_used + assessment.n_pending >= budget:
            rest = f"the budget is spent, {rest}"
        rest = "the design needs no more" if assessment.done else rest
        return f"Labels: {assessment.labels_used:,} used, {assessment.n_pending:,} pending{aside}, {rest}."
    if isinstance(assessment, StochasticAssessment):
        used = f"{assessment.labels_used:,} used, {assessment.n_pending:,} pending{aside}"
        return f"Labels: {used}; items may be asked again."
    return (
        f"Labels: {assessment.labels_used:,} used, {assessment.n_pending:,} pending, "
        f"{assessment.n_remaining:,} remaining{aside}."
    )


def counting_on_wrong_labels(error: Any, result: Any) -> str:
    """Say what an answer is where labels may be wrong, or why that cannot be said."""
    try:
        found = error.adjusted(result)
    except (QuestionError, LabelError) as refused:
        return str(refused)
    draws, name = found.draws, result.question.name
    if draws.ndim > 1 and draws.shape[1] > 1:
        size = result.size if hasattr(result, "size") else result.items
        draws, name = draws @ (np.asarray(size) / np.sum(size)), f"{name}, overall"
    low, high = np.quantile(draws, [(1 - result.level) / 2, (1 + result.level) / 2])
    return (
        f"Counting on wrong labels, {name}: {draws.mean():.3f}, {result.level:.0%} credible interval [{low:.3f}, "
        f"{high:.3f}], where status takes labels for the truth."
    )


def narrow(result: Result) -> list[Table]:
    """Tabulate a result in so few columns that they fit a terminal of 80 characters."""
    if isinstance(result, RankedAnswer):
        return [_ranked(result)]
    if isinstance(result, ConfusionResult):
        costs = [] if result.question.cost_matrix is None else narrow(result.cost)
        return [_confusions(result), *costs]
    if isinstance(result, CompareResult):
        return [_verdict(result), _sides(result)]
    if isinstance(result, PairsResult | MeasurePairsResult):
        return [_pairs(result)]
    if isinstance(result, BeliefMetricResult | MetricResult):
        verdict = [result.verdict_table()] if isinstance(result, MeasureVerdict) else []
        if isinstance(result, CurveResult):
            return [_curve(result)]
        judge = [_judged(result)] if isinstance(result, ProxyResult) else []
        return [*verdict, _believed(result) if isinstance(result, BeliefMetricResult) else _measures(result), *judge]
    full = result.table()
    if isinstance(result, GroupwiseResult) and "rank" in full.columns:
        return [_groups(result, full)]
    return [_bins(full)]


def _groups(result: GroupwiseResult, full: Table) -> Table:
    columns = {
        "group": full["group"],
        "items": full["items"],
        "labels": full["labelled"],
        **({"right": full["right"]} if "right" in full.columns else {}),
        "estimate": full["estimate"],
        "interval": _intervals(full),
    }
    if "accuracy" in full.columns:
        columns["accuracy"] = full["accuracy"]
    else:
        ends = zip(full["rank_lower"], full["rank_upper"], full["items"], strict=True)
        columns["rank"] = [f"{first}-{last}" if size else "-" for first, last, size in ends]
    name = result.sought_column
    short = re.sub(r"p_among_(\d+)_(\w+)", r"p_\2_\1", name)
    columns[short] = full[name]
    return _fitted(columns, full.title, ("estimate", "accuracy", short))


def _bins(full: Table) -> Table:
    columns = {
        "bin": full["bin"],
        "items": full["items"],
        "labels": full["labelled"],
        "right": full["right"],
        "confidence": full["confidence"],
        "accuracy": full["accuracy"],
        "interval": _intervals(full),
        "p_over": full["p_overconfident"],
    }
    return _fitted(columns, full.title, ("confidence", "accuracy", "p_over"), names=0)


def _confusions(result: ConfusionResult) -> Table:
    full = result.confusions()
    columns = {
        "predicted": full["predicted"],
        "label": full["label"],
        "items": full["items"],
        "labels": full["labelled"],
        "count": full["count"],
        "share": full["estimate"],
        "interval": _intervals(full),
    }
    title = f"Most frequent errors, as shares of their predicted class, {result.level:.0%} {result.guarantee} intervals"
    return _fitted(columns, title, ("share",), names=2)


_ACCURATE = ("less accurate", "more accurate")


def _verdict(result: CompareResult) -> Table:
    first, second = result.names
    rope = points(result.question.rope)
    low, high = ("lower", "higher") if isinstance(result, CalibrationComparisonResult) else _ACCURATE
    events = [f"{low} by more than {rope}", f"within {rope}", f"{high} by more than {rope}"]
    columns = {f"{_cut([first], _WIDTH // 2)[0]} is": events, "probability": result.masses}
    return Table(columns, title=f"{first} compared with {second}", formats={"probability": ".3f"})


def _sides(result: CompareResult) -> Table:
    if isinstance(result, TwoSystemsResult):
        columns = {"systems": result.cells.names, "items": result.cells.sizes, "labels": result.counts.sum(-1)}
        right = ("both right", "first right", "second right", "neither")  # in the order of the outcomes
        columns |= dict(zip(right, result.counts.T, strict=True))
        first, second = result.names
        return _fitted(columns, f"Labels by who is right: first {first}, second {second}")
    full = result.table()
    columns = {name: full[name] for name in ("group", "items")}
    if isinstance(result, CalibrationComparisonResult):
        columns |= {"labels": full["labelled"], "ece": full["ece"], "interval": _intervals(full)}
        return _fitted(columns, full.title, ("ece",))
    columns |= {
        "labels": full["labelled"],
        "right": full["right"],
        "accuracy": full["accuracy"],
        "interval": _intervals(full),
    }
    return _fitted(columns, full.title, ("accuracy",))


def _pairs(result: PairsResult | MeasurePairsResult) -> Table:
    full = result.table()
    masses = np.stack([full[name] for name in ("p_worse", "p_equal", "p_better")], axis=-1)
    columns = {
        "first": full["first"],
        "second": full["second"],
        "difference": [f"{difference:+.3f}" for difference in full["difference"]],
        "interval": _intervals(full, "+.3f"),
        "first is": np.array(["worse", "equal", "better"])[masses.argmax(-1)],
        "probability": masses.max(-1),
    }
    return _fitted(columns, full.title, ("probability",), names=2)


def _measures(result: MetricResult) -> Table:
    full = result.table()
    columns = {"measure": full["measure"], "estimate": full["estimate"], "interval": _intervals(full)}
    return _fitted(columns, f"Measures, {result.level:.0%} {result.guarantee} intervals", ("estimate",))


def _believed(result: BeliefMetricResult) -> Table:
    full = result.table()
    design = Table({"lower": full["design_lower"], "upper": full["design_upper"]})
    columns = {
        "measure": full["measure"],
        "estimate": full["estimate"],
        "interval": _intervals(full),
        f"without {result._trusted}": _intervals(design),
    }
    return _fitted(columns, f"Measures, {result.level:.0%} {result.guarantee} intervals", ("estimate",))


def _judged(result: ProxyResult) -> Table:
    full = result.judge_table()
    ends = Table({"lower": full["bias_lower"], "upper": full["bias_upper"]})
    columns = {
        "measure": full["measure"],
        "judge": full["judge"],
        "bias": [f"{bias:+.3f}" for bias in full["bias"]],
        "interval": _intervals(ends, "+.3f"),
        "random labels": full["random_labels"],
    }
    return _fitted(columns, "What the predictions alone say, and random labels for intervals as narrow", ("judge",))


def _curve(result: CurveResult) -> Table:
    full = result.table(_THRESHOLDS)
    columns: dict[str, Any] = {"threshold": full["threshold"]}
    for name in ("precision", "recall"):
        ends = {"lower": full[f"{name}_lower"], "upper": full[f"{name}_upper"]}
        columns |= {name: full[name], f"{name} interval": _intervals(Table(ends))}
    return Table(columns, title=full.title, formats={"threshold": ".3g", "precision": ".3f", "recall": ".3f"})


def threshold(result: Any, wanted: dict[str, float]) -> str:
    """Say which threshold reaches what is wanted; nothing is wanted where F1 is to be greatest."""
    if not isinstance(result, CurveResult):
        raise QuestionError("--threshold-for is about a curve of precision and recall; add --question pr-curve.")
    return result.said_of_threshold(**wanted) if wanted else f"F1 is greatest here: {result.best()}"


def _ranked(result: RankedAnswer) -> Table:
    full = result.table()
    columns: dict[str, Any] = {"rank": full["rank"]}
    for name in ("precision", "recall"):
        ends = Table({"lower": full[f"{name}_lower"], "upper": full[f"{name}_upper"]})
        columns |= {name: full[name], f"{name} band": _intervals(ends)}
    return Table(columns, title=full.title, formats={"rank": ",", "precision": ".3f", "recall": ".3f"})


def _fitted(columns: dict[str, Any], title: str | None, numbers: tuple[str, ...] = (), *, names: int = 1) -> Table:
    """Make a table, with the names in its first columns cut if they make it wider than a terminal."""
    formats = {name: ".3f" for name in numbers if name in columns}
    table = Table(columns, title=title, formats=formats)
    if not names or _width(table) <= _WIDTH:
        return table

    def cut(most: int) -> Table:
        short = {name: _cut(values, most) for name, values in list(columns.items())[:names]}
        return Table(columns | short, title=title, formats=formats)

    spare = _WIDTH - _width(cut(_SHORTEST))
    return cut(_SHORTEST + max(spare, 0) // names)


def _width(table: Table) -> int:
    return max(map(text_width, repr(table).splitlines()[1:]))  # below the title


def _cut(names: Any, most: int) -> np.ndarray:
    values = np.asarray(names)
    if values.dtype.kind not in "UO":
        return values
    texts = [one_line(str(value)) for value in values]
    return np.array([text if text_width(text) <= most else f"{text[: most - 3]}..." for text in texts])


def _intervals(full: Table, spec: str = ".3f") -> list[str]:
    return [f"[{low:{spec}}, {high:{spec}}]" for low, high in zip(full["lower"], full["upper"], strict=True)]


def labels_to(study: Study) -> str:
    """Say how many labels each design needs, by the question's own scores."""
    lines = []
    for score in study.question.scores:
        side = "at most" if study.question.lower_is_better[score] else "above"
        goal = f"{side} {study.question.goals[score]:g}"
        found = {
            name: n for name, n in study.labels_to(score).items() if not np.isnan(study.scores[name][score]).all()
        }  # designs without a proposal have none to diverge from the best
        if not found:
            continue
        needs = ", ".join(f"{name} {'not reached' if n is None else f'{n:,}'}" for name, n in found.items())
        lines.append(f"Labels until the mean {score} is {goal} and stays there: {needs}.")
    return "\n".join(lines)
