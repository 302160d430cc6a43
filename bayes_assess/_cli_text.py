"""What the command line prints of results."""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING, Any

import typer

from bayes_assess.results import GroupwiseResult, Result
from bayes_assess.tables import Table

if TYPE_CHECKING:
    from bayes_assess.assessment import Assessment
    from bayes_assess.simulate import Study


def show(table: Table) -> None:
    """Print a table: by Rich on a terminal, as plain text into a pipe or a file."""
    if not sys.stdout.isatty():
        typer.echo(repr(table))
        return
    from rich.console import Console

    Console().print(table.to_rich())


def started(assessment: Assessment) -> str:
    """Say what was started, and which labels are possible."""
    pool, cells = assessment.pool, assessment.cells
    named = ", ".join(str(name) for name in pool.classes[:12]) + (", ..." if pool.n_classes > 12 else "")
    more = "" if pool.classes_declared else " (as predicted; if there are others, start again with --classes)"
    return (
        f"{assessment.question.name} by {cells.description}, design {assessment.design.name}: "
        f"{pool.n_items:,} items in {cells.n_cells:,} groups.\nLabels can be {named}{more}."
    )


def taken(new: int, known: int, skipped: int) -> str:
    """Say what became of the rows of a sheet."""
    notes = [f"{known:,} known before"] if known else []
    notes += [f"{skipped:,} without a label skipped"] if skipped else []
    return f"Took {new:,} label{'s' * (new != 1)}" + (f" ({', '.join(notes)})." if notes else ".")


def progress(assessment: Assessment) -> str:
    """Say how many labels were used, and how many items are left."""
    return (
        f"Labels: {assessment.labels_used:,} used, {assessment.n_pending:,} pending, "
        f"{assessment.n_remaining:,} remaining."
    )


def narrow(result: Result) -> Table:
    """Tabulate a result in fewer columns, so that it fits a terminal of 80 characters."""
    full = result.table()
    if not isinstance(result, GroupwiseResult) or "rank" not in full.columns:
        return full
    ends = zip(full["lower"], full["upper"], full["rank_lower"], full["rank_upper"], strict=True)
    texts = [(f"[{low:.3f}, {high:.3f}]", f"{first}-{last}") for low, high, first, last in ends]
    columns: dict[str, Any] = {
        "group": full["group"],
        "items": full["items"],
        "labels": full["labelled"],
        "estimate": full["estimate"],
        "interval": [interval for interval, _ in texts],
        "rank": [rank if size else "-" for (_, rank), size in zip(texts, full["items"], strict=True)],
    }
    name = result.sought_column
    short = re.sub(r"p_among_(\d+)_(\w+)", r"p_\2_\1", name)
    columns[short] = full[name]
    return Table(columns, title=full.title, formats={"estimate": ".3f", short: ".3f"})


def labels_to(study: Study) -> str:
    """Say how many labels each design needs, by the question's own scores."""
    lines = []
    for score in study.question.scores:
        side = "at most" if study.question.lower_is_better[score] else "above"
        goal = f"{side} {study.question.goals[score]:g}"
        found = study.labels_to(score)
        needs = ", ".join(f"{name} {'not reached' if n is None else f'{n:,}'}" for name, n in found.items())
        lines.append(f"Labels until the mean {score} is {goal} and stays there: {needs}.")
    return "\n".join(lines)
