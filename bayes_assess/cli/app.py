"""The command line: ``bayes-assess start``, ``ask``, ``tell``, ``correct``, ``skip`` and so on.

Everything heavy is imported inside the commands, so that ``--help`` answers at once.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from bayes_assess._tools.progress import progress
from bayes_assess._tools.text import plural
from bayes_assess.cli import answers, labels
from bayes_assess.cli.asked import Asked
from bayes_assess.cli.designs import parse_design
from bayes_assess.cli.echo import echo
from bayes_assess.cli.epilogs import CHOICES, example
from bayes_assess.cli.group import app
from bayes_assess.cli.label import Open, Port
from bayes_assess.cli.label import label as label_command
from bayes_assess.cli.live import let_go
from bayes_assess.cli.options import (
    Belief,
    CsvOut,
    Designs,
    Force,
    ForWhom,
    HowChosen,
    Moved,
    OracleKind,
    PlotOut,
    PoolFile,
    RunFile,
    Seed,
    SheetOut,
    Show,
    ShowPrediction,
    Strength,
    Tool,
    asked,
    reading,
    shown_columns,
    taking,
)
from bayes_assess.errors import BudgetError, OutputError


@app.command(
    epilog=CHOICES
    + example(
        "bayes-assess start predictions.csv --question least-accurate --out run.db",
        "bayes-assess start cases.parquet --scores p_cat,p_dog --by hospital --out run.db",
        "bayes-assess start pool.csv --question compare --second old_model --out run.db",
        "bayes-assess start pairs.csv --scores score --question metric --measure f1 --out run.db",
        "bayes-assess start ranked.csv --scores score --question precision-curve --out run.db",
        "bayes-assess start pairs.csv --scores score --question metric --measure f1 --design poisson:labels=curve "
        "--out run.db",
        "bayes-assess start topics.csv --multilabel --question metric --measure f1_micro --out run.db",
        "bayes-assess start tickets.csv --show text --out run.db",
        "bayes-assess start 'warehouse/*.parquet' --scores score --question metric --measure f1 --out run.db",
        "bayes-assess start pairs.csv --scores score --question metric --measure f1 --oracle stochastic --out run.db",
    )
)
@taking(asked=asked, reading=reading)
def start(
    pool: PoolFile,
    *,
    out: Annotated[Path, typer.Option("--out", metavar="FILE", help="The journal to make, such as run.db.")],
    asked: Asked,
    design: HowChosen = None,
    prior: Belief = None,
    prior_strength: Strength = None,
    seed: Seed = 0,
    oracle: OracleKind = "deterministic",
    show: Show = None,
    reading: dict[str, object],
) -> None:
    """Start to assess a pool of predictions."""
    from bayes_assess.cli import files, text
    from bayes_assess.sessions.start import assess

    chosen = None if design is None else parse_design(design)
    reading |= asked.columns | shown_columns(show)
    with progress("Starting"):
        ranked = asked.is_ranked(chosen)
        items = files.read_items(pool, reading, ranked=ranked, seed=seed, of_ranks=asked.of_ranks)
        assessment = assess(
            items,
            asked.question(items),
            design=chosen,
            prior=prior,
            prior_strength=prior_strength,
            seed=seed,
            oracle=oracle,
            journal=out,
            source=files.source_of(pool, reading),
        )
    with let_go(assessment):
        echo(f"Started {out}: {text.started(assessment)}")
        first = ["bayes-assess", "ask", str(out), "-n", str(text.first_sheet(assessment)), "-o", "to_label.csv"]
        echo(f"Next: {files.as_command(first)}")


@app.command(
    epilog=example(
        "bayes-assess ask run.db -n 20 -o to_label.csv",
        "bayes-assess ask run.db -n 20 -o to_label.xlsx --show text",
        "bayes-assess ask run.db -n 20 -o tasks.json --tool label-studio",
        "bayes-assess ask run.db -n 20 -o for_anna.csv --annotator anna",
    )
)
def ask(
    run: RunFile,
    n: Annotated[
        int | None, typer.Option("-n", help="How many items; 20, or all that are left, by default.", show_default=False)
    ] = None,
    output: SheetOut = None,
    show: Show = None,
    show_prediction: ShowPrediction = False,
    pending: Annotated[bool, typer.Option("--pending", help="Write again all items that await labels.")] = False,
    annotator: ForWhom = None,
    tool: Tool = None,
    force: Force = False,
    pool: Moved = None,
) -> None:
    """Choose the items to label next.

    With -o they become a sheet with the columns id and label and, between them, those of --show, which `start` takes,
    too; else they are printed. In an .xlsx file, labels are chosen from a list of the classes. With --tool they become
    tasks of Label Studio or records of Argilla. Items stay pending until their labels are told.
    The journal keeps for whom they are, if --annotator says it, and --pending writes those of one annotator again.
    """
    from bayes_assess.cli import files, rows, text
    from bayes_assess.cli.told import named

    annotator = named(annotator)
    if pending and n is not None:
        raise BudgetError("--pending writes the items that were asked for before; leave out -n.")
    files.check_output(output, force, tool, files.inputs_of(run, pool))
    with progress("Choosing"):
        assessment = files.reopen(run, pool, shown_columns(show))
        with let_go(assessment):
            wanted = text.next_sheet(assessment) if n is None else n
            queries = (
                files.pending_queries(assessment, annotator) if pending else assessment.ask(wanted, annotator=annotator)
            )
    if not len(queries) and assessment.design.random_size and not assessment.done:
        echo("This batch has no items, as one of random size may; it counts as a round. Ask again.")
        return
    if not len(queries):
        echo("The design needs no more labels: there is nothing to ask for, and no sheet to write.")
        return
    fewer = "" if pending else text.fewer(assessment, queries, wanted)
    if output is None:
        text.print_table(queries.sheet(show_prediction=show_prediction))
        if fewer:
            echo(f"{plural(len(queries), 'item')}{fewer}.")
        return
    again = f"write them again by `{files.as_command(['bayes-assess', 'ask', str(run)])} --pending -o FILE`"
    try:
        files.write_sheet(queries, output, show_prediction, tool)
    except OutputError as error:
        raise OutputError(f"{error} Nothing is lost: the items are pending, {again}.") from None
    except KeyboardInterrupt:
        echo(f"{len(queries):,} items are pending; {again}.", err=True)
        raise
    tell = ["bayes-assess", "tell", str(run)] + ([] if annotator is None else ["--annotator", annotator])
    command = files.as_command(tell)
    echo(rows.written(f"{plural(len(queries), 'item')} to {output}{fewer}", output, tool, command))


app.command(
    epilog=example(
        "bayes-assess tell run.db to_label.csv",
        "bayes-assess tell run.db to_label.xlsx --unsure unsure,?",
        "bayes-assess tell run.db of_anna.csv --annotator anna",
        "bayes-assess tell run.db export.json    (of Label Studio or Argilla)",
    )
)(labels.tell)
app.command(
    epilog=example(
        "bayes-assess correct run.db fixes.csv", "bayes-assess correct run.db fixes_of_anna.csv --annotator anna"
    )
)(labels.correct)
app.command(epilog=example("bayes-assess disagreements run.db -o to_decide.csv"))(labels.disagreements)
app.command(epilog=example("bayes-assess agreement run.db --csv pairs.csv"))(answers.agreement)
app.command(epilog=example("bayes-assess resolve run.db to_decide.csv", "bayes-assess resolve run.db --rule majority"))(
    labels.resolve
)
app.command(epilog=example("bayes-assess skip run.db item-007 item-011"))(labels.skip)
app.command(epilog=example("bayes-assess release run.db item-007", "bayes-assess release run.db --pending"))(
    labels.release
)
app.command(
    epilog=example(
        "bayes-assess label run.db",
        "bayes-assess label run.db --show text --show-answer --width 0.05",
        "bayes-assess label run.db --show photo --images photos/",
        "bayes-assess label run.db --overlap 0.1    (ADDRESS&name=anna, ADDRESS&name=ben)",
    )
)(label_command)
app.command(epilog=example("bayes-assess status run.db --plot figure.png"))(answers.status)
app.command(epilog=example("bayes-assess plan run.db --width 0.05"))(answers.plan)
app.command(epilog=example("bayes-assess report run.db -o report.html"))(answers.report)
app.command(epilog=example("bayes-assess export run.db -o labels.parquet"))(answers.export)


@app.command(
    epilog=CHOICES
    + example(
        "bayes-assess simulate labelled.csv --labels label --question least-accurate",
        "bayes-assess simulate predictions.csv --labels labels.csv --budgets 100,200 --repeats 200",
    )
)
@taking(asked=asked, reading=reading)
def simulate(
    pool: PoolFile,
    *,
    labels: Annotated[str, typer.Option(metavar="FILE|COLUMN", help="True labels: a CSV (id, label) or a column.")],
    asked: Asked,
    designs: Designs = None,
    budgets: Annotated[str | None, typer.Option(metavar="NUMBERS", help="Labels at which to look: 100,200.")] = None,
    repeats: Annotated[int, typer.Option(help="Campaigns per design.")] = 200,
    batch: Annotated[int, typer.Option(help="Items that are asked for before any of their labels is told.")] = 1,
    prior: Belief = None,
    prior_strength: Strength = None,
    seed: Seed = 0,
    csv: CsvOut = None,
    plot: PlotOut = None,
    force: Force = False,
    label: Annotated[str, typer.Option(metavar="COLUMN", help="The column of labels in a file of labels.")] = "label",
    reading: dict[str, object],
) -> None:
    """Compare designs on a pool whose labels are known.

    Every design runs many campaigns; tables say how close they come with how many labels, how often their intervals
    hold the truth, and how wide these are.
    """
    from bayes_assess.cli import files, text
    from bayes_assess.studies.simulate import simulate as run

    files.check_table_and_figure(csv, plot, force, [pool, Path(labels)])
    items, known = files.pool_and_labels(pool, reading | asked.columns, labels, label, asked.of_ranks)
    study = run(
        items,
        known,
        asked.question(items),
        designs=None if designs is None else {name: parse_design(name) for name in map(str.strip, designs.split(","))},
        budgets=_whole_numbers(budgets),
        repeats=repeats,
        batch=batch,
        seed=seed,
        prior=prior,
        prior_strength=prior_strength,
    )
    text.print_table(study.table())
    with progress("Looking at the intervals"):
        intervals = study.interval_table()
    text.print_table(intervals)
    echo(text.labels_to(study))
    if csv is not None:
        study.table(study.budgets.tolist()).to_csv(csv)
        echo(f"Wrote {csv}.")
    if plot is not None:
        files.save_figure(study.plot(), plot)
        echo(f"Wrote {plot}.")


@app.command(epilog=example("bayes-assess demo", "bayes-assess demo --judge", "bayes-assess demo --label"))
def demo(
    output: Annotated[Path, typer.Option(metavar="FOLDER", help="Where figures and tables go.")] = Path("demo_output"),
    repeats: Annotated[int, typer.Option(help="Simulated campaigns per design.")] = 500,
    judge: Annotated[
        bool, typer.Option("--judge", help="Find the share of good reviews beside a cheap judge.")
    ] = False,
    label: Annotated[bool, typer.Option("--label", help="Label digits yourself, in the browser.")] = False,
    port: Port = None,
    open: Open = True,
    seed: Seed = 0,
) -> None:
    """Find the weakest class of a digit classifier.

    Trains it, runs a campaign that learns where to look beside one at random, and writes figures and tables. With
    --judge a classifier judges reviews instead, and a person a few of them. It takes less than a minute. With --label
    you are the one who is asked, at a page in the browser, until Ctrl-C.
    """
    if label:
        from bayes_assess.cli import demo_label

        with progress("Drawing the digits"):
            run_file, pictures = demo_label.prepared(output, seed)
        label_command(run_file, port, open, images=str(pictures), show_answer=True, width=demo_label.WIDTH)
        return
    from bayes_assess.cli import demo_judge, text
    from bayes_assess.cli.demo import run

    if judge:
        demo_judge.run(output, seed=seed, say=echo, show=text.print_table)
        return
    run(output, repeats=repeats, seed=seed, say=echo, show=text.print_table)


def _whole_numbers(text: str | None) -> list[int] | None:
    if text is None:
        return None
    try:
        return [int(number) for number in text.split(",")]
    except ValueError:
        raise BudgetError(f"Budgets are whole numbers separated by commas, such as 100,200; found {text!r}.") from None
