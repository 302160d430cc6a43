"""The commands that answer: ``status``, ``plan``, ``report`` and ``export``."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bayes_assess._tools.progress import progress
from bayes_assess._tools.text import plural, visible
from bayes_assess.cli.asked import Asked
from bayes_assess.cli.echo import echo
from bayes_assess.cli.live import let_go
from bayes_assess.cli.options import CsvOut, Force, Level, Moved, PlotOut, RunFile, ThresholdFor, asked_instead, taking
from bayes_assess.errors import LabelError, QuestionError

if TYPE_CHECKING:
    from bayes_assess.results import Result
    from bayes_assess.sessions.session import AnySession


class Interval(StrEnum):
    """Which of several intervals a plan is about."""

    WIDEST = "widest"
    OVERALL = "overall"


class ReportFormat(StrEnum):
    """Formats of a report."""

    HTML = "html"
    MD = "md"


Json = Annotated[bool, typer.Option("--json", help="Print it as JSON, for scripts.")]


@taking(asked=asked_instead)
def status(
    run: RunFile,
    *,
    asked: Asked | None,
    level: Level = None,
    csv: CsvOut = None,
    plot: PlotOut = None,
    json: Json = False,
    threshold_for: ThresholdFor = None,
    force: Force = False,
    pool: Moved = None,
) -> None:
    """Answer the question from the labels told so far.

    Another question is answered from the same labels where these allow: most on groups whatever the run's is, and
    measures where items were drawn at random, or by scores and predictions alone.

    With --json all of it is one object: answer, intervals, table and how many labels are used, pending and remaining.
    """
    from bayes_assess.cli import files, tables, text
    from bayes_assess.cli.parse import parse_goal

    files.check_table_and_figure(csv, plot, force, files.inputs_of(run, pool))
    wanted = None if threshold_for is None else parse_goal(threshold_for)
    assessment, result = _answered(run, level, pool, asked)
    threshold = None if wanted is None else text.threshold(result, wanted)
    if json:
        further = {} if threshold is None else {"threshold": threshold}
        _print_json({**result.to_dict(), **text.numbers(assessment), **further})
    else:
        echo(result.summary())
        if threshold is not None:
            echo(threshold)
        echo(text.labels_so_far(assessment))
        for table in tables.narrow(result):
            echo()
            text.print_table(table)
    if csv is not None:
        result.full_table().to_csv(csv)
        echo(f"Wrote {csv}.", err=json)
    if plot is not None:
        files.save_figure(result.plot(), plot)
        echo(f"Wrote {plot}.", err=json)


def export(
    run: RunFile,
    output: Annotated[Path, typer.Option("-o", "--output", metavar="FILE", help="Where to write, .parquet or .csv.")],
    force: Force = False,
    pool: Moved = None,
) -> None:
    """Write labels with the number of items of the pool that each stands for, to be joined with other tables.

    Columns are id, cell, group, label, weight, round (which ask it was, 0 where nobody asked) and time. Sums of weights
    over labels estimate numbers of items of the pool.
    """
    from bayes_assess.cli import files
    from bayes_assess.sessions.export import check_writable

    files.refuse_to_overwrite(output, force, files.inputs_of(run, pool))
    check_writable(output)
    with let_go(files.reopen(run, pool)) as assessment:
        table = assessment.export(output)
    echo(f"Wrote {plural(len(table), 'label')} to {output}.")


def agreement(run: RunFile, json: Json = False, csv: CsvOut = None, force: Force = False, pool: Moved = None) -> None:
    """Say how well annotators agree, how often a label then is wrong, and what that makes of the answer.

    Labels are compared as they were told, whatever was decided later.
    """
    from bayes_assess.cli import files, text

    files.refuse_to_overwrite(csv, force, files.inputs_of(run, pool))
    with let_go(files.reopen(run, pool)) as assessment:
        team_agreement, error, unknown = assessment.agreement(), None, ""
        try:
            error = assessment.labelling_error()
        except LabelError as refused:  # of several labels per item, and of numbers
            unknown = str(refused)
    if json:
        wrong = None if error is None else error.rate, None if error is None else error.interval.tolist()
        _print_json({**team_agreement.to_dict(), **dict(zip(("wrong", "wrong_interval"), wrong, strict=True))})
    else:
        echo(team_agreement.summary())
        text.print_table(team_agreement.table())
        echo(unknown if error is None else error.summary())
        if error is not None:
            echo(text.counting_on_wrong_labels(error, assessment.result()))
    if csv is not None:
        team_agreement.table().to_csv(csv)
        echo(f"Wrote {csv}.", err=json)


def plan(
    run: RunFile,
    width: Annotated[float | None, typer.Option(help="What the interval is to be wide, such as 0.05.")] = None,
    probability: Annotated[
        float | None,
        typer.Option(
            help="Of comparisons and the best of several systems: what the verdict is to have; 0.95 by default."
        ),
    ] = None,
    of: Annotated[Interval, typer.Option(help="Of several intervals the widest, or of the overall accuracy.")] = (
        Interval.WIDEST
    ),
    level: Level = None,
    json: Json = False,
    csv: CsvOut = None,
    plot: PlotOut = None,
    force: Force = False,
    pool: Moved = None,
) -> None:
    """Say how many more labels it takes until enough is known.

    The campaign is continued on labels such as those so far suggest, until its interval is narrow enough, or its
    verdict sure enough; before any label only the prior speaks. It takes some seconds, and changes nothing.
    """
    from bayes_assess.cli import files, text

    files.check_table_and_figure(csv, plot, force, files.inputs_of(run, pool))
    with let_go(files.reopen(run, pool)) as assessment, progress("Planning"):
        labels_plan = assessment.plan(
            width, probability=probability, of=of.value, level=0.95 if level is None else level
        )
    if json:
        _print_json(labels_plan.to_dict())
    else:
        echo(labels_plan.summary())
        echo()
        text.print_table(labels_plan.table())
    if csv is not None:
        labels_plan.table().to_csv(csv)
        echo(f"Wrote {csv}.", err=json)
    if plot is not None:
        files.save_figure(labels_plan.plot(), plot)
        echo(f"Wrote {plot}.", err=json)


@taking(asked=asked_instead)
def report(
    run: RunFile,
    *,
    asked: Asked | None,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="FILE", help="Where to write it (.html, .md).")
    ] = None,
    format: Annotated[
        ReportFormat | None, typer.Option("--format", help="By default what the suffix says; without -o, md.")
    ] = None,
    level: Level = None,
    force: Force = False,
    pool: Moved = None,
) -> None:
    """Write question, answer, figure and table as one page.

    HTML is one file to send; Markdown, which is printed without -o, is for pull requests.
    """
    from bayes_assess.cli import files
    from bayes_assess.errors import OutputError
    from bayes_assess.results.report import as_markdown, write_report

    if output is not None:
        files.refuse_to_overwrite(output, force, files.inputs_of(run, pool))
    elif format is ReportFormat.HTML:
        raise OutputError("A page of HTML goes to a file; add -o, such as -o report.html.")
    assessment, result = _answered(run, level, pool, asked)
    command = ["bayes-assess", "report", str(run), *([] if output is None else ["-o", str(output)])]
    command += [] if asked is None else asked.arguments
    made_by = {
        "journal": str(run),
        "pool": f"fingerprint {assessment.pool.fingerprint()}",
        "command": files.as_command(command + ([] if level is None else ["--level", f"{level:g}"])),
    }
    if output is None:
        echo(as_markdown(result, made_by), nl=False)
        return
    with progress("Drawing"):
        write_report(result, output, None if format is None else format.value, made_by)
    echo(f"Wrote {output}.")


def _answered(run: Path, level: float | None, pool: Path | None, asked: Asked | None) -> tuple[AnySession, Result]:
    """Return the session of a journal, and its answer to its own question or to another one."""
    from bayes_assess.cli import files

    with progress("Reading"):
        assessment = files.reopen(run, pool) if asked is None else files.reopen_wider(run, pool, asked.columns)
        with let_go(assessment):
            if asked is not None and not assessment.answers_others:
                raise QuestionError("This run answers its own question, no other; leave out --question.")
            question = None if asked is None else asked.question(assessment.pool)
            answer = partial(assessment.result, question=question)
            return assessment, answer() if level is None else answer(level)


def _print_json(values: Mapping[str, object]) -> None:
    import json

    written = json.dumps(values, allow_nan=False, indent=2, ensure_ascii=False)
    if visible(written) != written:
        written = json.dumps(values, allow_nan=False, indent=2)
    typer.echo(written)
