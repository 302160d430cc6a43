"""The commands that take labels: ``tell``, ``correct``, ``disagreements``, ``resolve``, ``skip`` and ``release``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bayes_assess._tools.progress import progress
from bayes_assess.books.annotators import MAJORITY
from bayes_assess.cli.echo import echo
from bayes_assess.cli.live import let_go
from bayes_assess.cli.options import (
    Force,
    IdOfLabels,
    ItemIds,
    LabelColumn,
    LabelsFile,
    Moved,
    OfWhom,
    RunFile,
    SheetOut,
    Tool,
    Unsure,
)
from bayes_assess.errors import LabelError

if TYPE_CHECKING:
    from bayes_assess.sessions.session import AnySession

Annotator = Annotated[
    str | None,
    typer.Option(
        "--annotator",
        metavar="NAME",
        help="Who gave the labels, where a column annotator of the sheet does not say so.",
    ),
]
Whose = Annotated[
    str | None,
    typer.Option("--annotator", metavar="NAME", help="Whose own labels are put right; else those that count."),
]
Rule = Annotated[
    str | None,
    typer.Option(
        "--rule", metavar="RULE", help="In the place of LABELS: majority, or the name of an annotator who decides."
    ),
]
Decided = Annotated[
    Path | None,
    typer.Argument(
        metavar="[LABELS]", help="CSV or .xlsx with the columns id and label, or the export of a labelling tool, .json."
    ),
]


def tell(
    run: RunFile,
    labels: LabelsFile,
    id: IdOfLabels = "id",
    label: LabelColumn = "label",
    unsure: Unsure = None,
    annotator: Annotator = None,
    pool: Moved = None,
) -> None:
    """Take labels from a sheet or from the export of a labelling tool, all or nothing.

    A sheet is CSV or .xlsx, however it was saved, Parquet or .jsonl. Rows without a label are skipped, other columns
    ignored; labels that were told before may be there again. An export is the JSON or JSON-MIN of Label Studio, or
    records of Argilla; tasks that were skipped, and drafts, are rows without a label. Items with a word of --unsure are
    set aside: they are never asked for again.

    Annotators who are named, by --annotator, in a column annotator or by the tool, may label what others have labelled.
    The first label counts until `resolve`.
    """
    from bayes_assess.cli import files, rows, told

    annotator = told.named(annotator)
    words = [] if unsure is None else unsure.split(",")
    assessment = files.reopen(run, pool)
    with let_go(assessment), progress("Learning"):
        sheet = told.read_told(assessment, labels, id, label, words, annotator)
        used, by_all = assessment.labels_used, assessment.n_told
        who = sheet.annotators if (sheet.annotators != "").any() else None
        aside = assessment.tell_or_skip(sheet.ids, sheet.labels, sheet.unsure, annotator=who)
    new, by_all = assessment.labels_used - used, assessment.n_told - by_all
    for note in sheet.notes:
        echo(note)
    echo(rows.taken(new, known=len(sheet.ids) - by_all, skipped=sheet.n_blank, aside=aside, again=by_all - new))
    _say_answer(assessment)


def correct(
    run: RunFile,
    labels: LabelsFile,
    id: IdOfLabels = "id",
    label: LabelColumn = "label",
    annotator: Whose = None,
    pool: Moved = None,
) -> None:
    """Put labels right that were told wrong, all or nothing.

    The file has the items to correct with their right labels; rows without a label are skipped. The answer is then that
    of a campaign to which the right labels had been told; the journal keeps the wrong ones, too. With --annotator the
    labels were those of one annotator: what others have said stays, and nobody has thereby decided between them.
    """
    from bayes_assess.cli import files, rows, told

    annotator = told.named(annotator)
    assessment = files.reopen(run, pool)
    with let_go(assessment), progress("Learning"):
        sheet = told.read_corrections(assessment, labels, id, label, annotator)
        changed = assessment.correct(sheet.ids, sheet.labels, annotator=annotator)
    for note in sheet.notes:
        echo(note)
    echo(rows.corrected(changed, as_before=len(sheet.ids) - changed, skipped=sheet.n_blank))
    _say_answer(assessment)


def disagreements(
    run: RunFile, output: SheetOut = None, tool: Tool = None, force: Force = False, pool: Moved = None
) -> None:
    """List the items on which annotators differ and nobody has decided.

    With -o they become a sheet with what everybody said and an empty column label, which `resolve` takes once whoever
    decides has filled it in, or with --tool tasks of a labelling tool; else they are printed.
    """
    from bayes_assess.cli import files, rows, text

    files.check_output(output, force, tool, files.inputs_of(run, pool))
    with let_go(files.reopen(run, pool)) as assessment:
        items = assessment.disagreements()
    echo(rows.differing(assessment))
    if output is None:
        if len(items):
            text.print_table(items.table())
        return
    files.write_sheet(items, output, tool=tool)  # an empty one, too: an older sheet is no answer
    if not len(items):
        echo(f"Wrote {output}, which holds no items: there is nothing to decide.")
        return
    echo(rows.written(str(output), output, tool, files.as_command(["bayes-assess", "resolve", str(run)])))


def resolve(
    run: RunFile,
    labels: Decided = None,
    rule: Rule = None,
    id: IdOfLabels = "id",
    label: LabelColumn = "label",
    pool: Moved = None,
) -> None:
    """Decide on labels about which annotators differ, by a sheet or by a rule, all or nothing.

    Rows of the sheet without a label stay open, and so do ties of a majority. The answer is then that of a campaign to
    which these labels had been told; the journal keeps what everybody said.
    """
    from bayes_assess.cli import files, rows, told

    if (labels is None) == (rule is None):
        raise LabelError("Resolve by a sheet, such as to_decide.csv, or by --rule, and not by both.")
    assessment = files.reopen(run, pool)
    sheet = None
    with let_go(assessment), progress("Learning"):
        if labels is None:
            n = assessment.resolve(rule=rule)
        else:
            sheet = told.read_corrections(assessment, labels, id, label)
            n = assessment.resolve(sheet.ids, sheet.labels)
    for note in [] if sheet is None else sheet.notes:
        echo(note)
    echo(rows.resolved(n, assessment.n_disagreements))
    if rule == MAJORITY and (split := assessment.why_no_majority()):
        echo(split)
    _say_answer(assessment)


def skip(run: RunFile, ids: ItemIds, pool: Moved = None) -> None:
    """Set items aside that nobody can label.

    They are never asked for again, unless you release them. The answer takes them to be like the others, and says how
    many they are.
    """
    from bayes_assess.cli import files, rows, text

    assessment = files.reopen(run, pool)
    with let_go(assessment):
        item_ids = assessment.ids_named(ids)
        n = assessment.skip(item_ids)
        named = set(assessment.labelled_with(item_ids).ravel().tolist())
    echo(rows.set_aside(n, before=len(named) - n))
    echo(text.labels_so_far(assessment))


def release(
    run: RunFile,
    ids: Annotated[list[str] | None, typer.Argument(metavar="[IDS]...", help="Items, by their ids.")] = None,
    pending: Annotated[bool, typer.Option("--pending", help="All items that await labels.")] = False,
    skipped: Annotated[bool, typer.Option("--skipped", help="All items that were set aside.")] = False,
    annotator: OfWhom = None,
    pool: Moved = None,
) -> None:
    """Let items be asked for again that await labels or were set aside.

    Release what is pending if a sheet was lost, or if nobody is going to label it; with --annotator, what was asked for
    one annotator.
    """
    from bayes_assess.cli import files, rows, text
    from bayes_assess.cli.told import named

    if not (ids or pending or skipped):
        raise LabelError("Say which items to release: their ids, --pending or --skipped.")
    annotator = named(annotator)
    if annotator is not None and not pending:
        raise LabelError("--annotator says whose pending items to release; add --pending.")
    assessment = files.reopen(run, pool)
    with let_go(assessment):
        awaited = files.pending_queries(assessment, annotator).ids if annotator else assessment.pending
        chosen = [
            *assessment.ids_named(ids or []),
            *awaited.tolist() * pending,
            *assessment.skipped.tolist() * skipped,
        ]
        n = assessment.release([str(name) for name in chosen])
    echo(rows.released(n))
    echo(text.labels_so_far(assessment))


def _say_answer(assessment: AnySession) -> None:
    """Print what the labels say now, and how many there are."""
    from bayes_assess.cli import text

    with progress("Answering"):
        said = assessment.result().summary()
    echo(said)
    echo(text.labels_so_far(assessment))
