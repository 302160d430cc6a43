"""The command line: ``bayes-assess start``, ``ask``, ``tell``, ``status``, ``simulate`` and ``demo``.

Exit codes: 0, done; 2, something in the call or in a file is wrong, as one line on standard error says; 1, anything
unforeseen.

Everything heavy is imported inside the commands, so that ``--help`` answers at once.
"""

from __future__ import annotations

import sys
from contextlib import closing
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from bayes_assess import __version__
from bayes_assess.errors import BayesAssessError, BudgetError, OutputError, QuestionError

if TYPE_CHECKING:
    from bayes_assess.assessment import Assessment
    from bayes_assess.questions import GroupAccuracy

FAILED = 2  # as for Typer's own complaints about options


class QuestionName(StrEnum):
    """What can be asked."""

    GROUP_ACCURACY = "group-accuracy"
    LEAST_ACCURATE = "least-accurate"
    MOST_ACCURATE = "most-accurate"


class PriorName(StrEnum):
    """Priors by name."""

    INFORMATIVE = "informative"
    UNINFORMATIVE = "uninformative"


class _Commands(TyperGroup):
    """Turns errors that the user can mend into one line on standard error."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except BrokenPipeError:  # the reader of a pipe left; Typer knows what to do
            raise
        except BayesAssessError as error:
            message = str(error)
        except OSError as error:
            place = f": {error.filename}" if error.filename else ""
            message = f"{error.strerror or error}{place}"
        typer.echo(f"Error: {' '.join(message.split())}", err=True)
        raise typer.Exit(FAILED)


def _example(*lines: str) -> str:
    """Show commands below a help text; the mark keeps their lines as they are."""
    return "\n".join(["\b", "Example:", *(f"  {line}" for line in lines)])


app = typer.Typer(
    cls=_Commands,
    add_completion=False,
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog=_example(
        "bayes-assess start predictions.csv --question least-accurate --out run.db",
        "bayes-assess ask run.db -n 20 -o to_label.csv",
        "bayes-assess tell run.db to_label.csv    (once its labels are filled in)",
        "bayes-assess status run.db",
    )
    + "\n\nExit codes: 0 done; 2 something in the call or in a file is wrong, as the message says; 1 unforeseen.",
)

PoolFile = Annotated[Path, typer.Argument(metavar="POOL", help="Predictions: a CSV, Parquet or NPZ file.")]
RunFile = Annotated[Path, typer.Argument(metavar="RUN", help="The journal that `start` made.")]
Moved = Annotated[Path | None, typer.Option("--pool", help="The pool, if it is not where it was at the start.")]
Ask = Annotated[QuestionName, typer.Option("--question", help="What to find out.")]
By = Annotated[
    str, typer.Option("--by", metavar="GROUPS", help="Groups: prediction, a column, bins:N or weight-bins:N.")
]
Most = Annotated[int | None, typer.Option("--m", help="Groups to find; 1 by default.", show_default=False)]
Belief = Annotated[PriorName | None, typer.Option("--prior", help="Informative by default if there are scores.")]
Strength = Annotated[float | None, typer.Option(help="Worth of the prior in labels per group; 2 by default.")]
Seed = Annotated[int, typer.Option(help="Decides every random choice.")]
IdColumn = Annotated[str | None, typer.Option("--id", metavar="COLUMN", help="Ids; by default `id` or row numbers.")]
Scores = Annotated[
    list[str] | None,
    typer.Option(
        "--scores",
        metavar="COLUMNS",
        help="Class probabilities, separated by commas or one by one; a single column is P(positive).",
    ),
]
Prediction = Annotated[str | None, typer.Option("--prediction", metavar="COLUMN", help="Predicted classes.")]
Confidence = Annotated[str | None, typer.Option("--confidence", metavar="COLUMN", help="Their probabilities.")]
Classes = Annotated[str | None, typer.Option("--classes", metavar="NAMES", help="All classes, separated by commas.")]
Level = Annotated[float, typer.Option("--level", help="Probability of the intervals.")]
CsvOut = Annotated[Path | None, typer.Option("--csv", metavar="FILE", help="Write the whole table here.")]
PlotOut = Annotated[Path | None, typer.Option("--plot", metavar="FILE", help="Draw it here (.png, .pdf, .svg).")]
Force = Annotated[bool, typer.Option("--force", help="Replace the file if it exists.")]


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"bayes-assess {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="Print it.")] = False,
) -> None:
    """How good is a classifier, and where does it fail? Bayesian answers from as few labels as possible."""


@app.command(
    epilog=_example(
        "bayes-assess start predictions.csv --question least-accurate --out run.db",
        "bayes-assess start cases.parquet --scores p_cat,p_dog --by hospital --out run.db",
    )
)
def start(
    pool: PoolFile,
    out: Annotated[Path, typer.Option("--out", metavar="FILE", help="The journal to make, such as run.db.")],
    question: Ask = QuestionName.GROUP_ACCURACY,
    by: By = "prediction",
    m: Most = None,
    design: Annotated[
        str,
        typer.Option(help="How items are chosen: thompson, top_two, epsilon_greedy, bayes_ucb, random, random_group."),
    ] = "thompson",
    prior: Belief = None,
    prior_strength: Strength = None,
    seed: Seed = 0,
    id: IdColumn = None,
    scores: Scores = None,
    prediction: Prediction = None,
    confidence: Confidence = None,
    classes: Classes = None,
) -> None:
    """Start to assess a pool of predictions."""
    from bayes_assess import _cli_files as files
    from bayes_assess import _cli_text as text
    from bayes_assess.assessment import assess
    from bayes_assess.pool import read_pool

    groups, columns = files.parse_by(by)
    asked = _question(question, groups, m)
    options = files.reader_options(id, scores, prediction, confidence, classes)
    items = read_pool(pool, **options, groups=columns)
    source = files.source_of(pool, options, columns)
    assessment = assess(
        items, asked, design=design, prior=prior, prior_strength=prior_strength, seed=seed, journal=out, source=source
    )
    _close(assessment)
    typer.echo(f"Started {out}: {text.started(assessment)}")
    typer.echo(f"Next: bayes-assess ask {out} -n 20 -o to_label.csv")


@app.command(epilog=_example("bayes-assess ask run.db -n 20 -o to_label.csv"))
def ask(
    run: RunFile,
    n: Annotated[int | None, typer.Option("-n", help="How many items; 20 by default.", show_default=False)] = None,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="FILE", help="The CSV sheet to fill in.")
    ] = None,
    pending: Annotated[bool, typer.Option("--pending", help="Write again all items that await labels.")] = False,
    force: Force = False,
    pool: Moved = None,
) -> None:
    """Choose the items to label next.

    With -o they become a sheet with the columns id and label, else they are printed. Items stay pending until their
    labels are told.
    """
    from bayes_assess import _cli_files as files
    from bayes_assess import _cli_text as text

    if pending and n is not None:
        raise BudgetError("--pending writes the items that were asked for before; leave out -n.")
    if output is not None:
        files.refuse_to_overwrite(output, force)
    assessment = files.reopen(run, pool)
    with closing(assessment.journal):  # type: ignore[type-var] - a resumed assessment has a journal
        queries = files.pending_queries(assessment) if pending else assessment.ask(20 if n is None else n)
    if output is None:
        text.show(queries.table())
        return
    try:
        queries.to_csv(output)
    except OutputError as error:
        again = f"bayes-assess ask {run} --pending -o FILE"
        raise OutputError(f"{error} Nothing is lost: the items are pending, write them again by `{again}`.") from None
    typer.echo(f"Wrote {len(queries):,} items to {output}; fill in the column label.")
    typer.echo(f"Next: bayes-assess tell {run} {output}")


@app.command(epilog=_example("bayes-assess tell run.db to_label.csv"))
def tell(
    run: RunFile,
    labels: Annotated[Path, typer.Argument(metavar="LABELS", help="CSV with the columns id and label.")],
    id: Annotated[str, typer.Option("--id", metavar="COLUMN", help="The column of ids.")] = "id",
    label: Annotated[str, typer.Option("--label", metavar="COLUMN", help="The column of labels.")] = "label",
    pool: Moved = None,
) -> None:
    """Take labels from a sheet, all or nothing.

    Rows without a label are skipped, other columns ignored. Labels told before may be there again.
    """
    from bayes_assess import _cli_files as files
    from bayes_assess import _cli_text as text

    ids, told, skipped = files.read_sheet(labels, id, label)
    assessment = files.reopen(run, pool)
    with closing(assessment.journal):  # type: ignore[type-var]
        before = assessment.labels_used
        assessment.tell(ids, files.spelled_as(assessment.pool.classes, told))
    new = assessment.labels_used - before
    typer.echo(text.taken(new, known=len(ids) - new, skipped=skipped))
    typer.echo(assessment.result().summary())
    typer.echo(text.progress(assessment))


@app.command(epilog=_example("bayes-assess status run.db --plot figure.png"))
def status(run: RunFile, level: Level = 0.95, csv: CsvOut = None, plot: PlotOut = None, pool: Moved = None) -> None:
    """Answer the question from the labels told so far."""
    from bayes_assess import _cli_files as files
    from bayes_assess import _cli_text as text

    assessment = files.reopen(run, pool)
    _close(assessment)
    result = assessment.result(level=level)
    typer.echo(result.summary())
    typer.echo(text.progress(assessment))
    typer.echo()
    text.show(text.narrow(result))
    if csv is not None:
        result.table().to_csv(csv)
        typer.echo(f"Wrote {csv}.")
    if plot is not None:
        files.save_figure(result.plot(), plot)
        typer.echo(f"Wrote {plot}.")


@app.command(
    epilog=_example(
        "bayes-assess simulate labelled.csv --labels label --question least-accurate",
        "bayes-assess simulate predictions.csv --labels labels.csv --budgets 100,200 --repeats 200",
    )
)
def simulate(
    pool: PoolFile,
    labels: Annotated[str, typer.Option(metavar="FILE|COLUMN", help="True labels: a CSV (id, label) or a column.")],
    question: Ask = QuestionName.GROUP_ACCURACY,
    by: By = "prediction",
    m: Most = None,
    designs: Annotated[str, typer.Option(metavar="NAMES", help="Designs, separated by commas.")] = "random,thompson",
    budgets: Annotated[str | None, typer.Option(metavar="NUMBERS", help="Labels at which to look: 100,200.")] = None,
    repeats: Annotated[int, typer.Option(help="Campaigns per design.")] = 200,
    prior: Belief = None,
    prior_strength: Strength = None,
    seed: Seed = 0,
    csv: CsvOut = None,
    plot: PlotOut = None,
    label: Annotated[str, typer.Option(metavar="COLUMN", help="The column of labels in a file of labels.")] = "label",
    id: IdColumn = None,
    scores: Scores = None,
    prediction: Prediction = None,
    confidence: Confidence = None,
    classes: Classes = None,
) -> None:
    """Compare designs on a pool whose labels are known.

    Every design runs many campaigns; the table says how close they come with how many labels.
    """
    from bayes_assess import _cli_files as files
    from bayes_assess import _cli_text as text
    from bayes_assess.simulate import simulate as run

    groups, columns = files.parse_by(by)
    asked = _question(question, groups, m)
    options = files.reader_options(id, scores, prediction, confidence, classes)
    items, known = files.pool_and_labels(pool, options, columns, labels, label)
    study = run(
        items,
        known,
        asked,
        designs=[name.strip() for name in designs.split(",")],
        budgets=_whole_numbers(budgets),
        repeats=repeats,
        seed=seed,
        prior=prior,
        prior_strength=prior_strength,
        progress=sys.stderr.isatty(),
    )
    text.show(study.table())
    typer.echo(text.labels_to(study))
    if csv is not None:
        study.table(study.budgets.tolist()).to_csv(csv)
        typer.echo(f"Wrote {csv}.")
    if plot is not None:
        files.save_figure(study.plot(), plot)
        typer.echo(f"Wrote {plot}.")


@app.command(epilog=_example("bayes-assess demo", "bayes-assess demo --output /tmp/demo"))
def demo(
    output: Annotated[Path, typer.Option(metavar="FOLDER", help="Where figures and tables go.")] = Path("demo_output"),
    repeats: Annotated[int, typer.Option(help="Simulated campaigns per design.")] = 500,
    seed: Seed = 0,
) -> None:
    """Find the weakest class of a digit classifier.

    Trains it, runs a campaign that learns where to look beside one at random, and writes figures and tables. It takes
    less than a minute.
    """
    from bayes_assess import _cli_text as text
    from bayes_assess.demo import run

    run(output, repeats=repeats, seed=seed, say=typer.echo, show=text.show, progress=sys.stderr.isatty())


def main() -> None:
    """Run the command line."""
    app(prog_name="bayes-assess")


def _question(name: QuestionName, by: Any, m: int | None) -> GroupAccuracy:
    from bayes_assess.questions import GroupAccuracy, LeastAccurate, MostAccurate

    if name is QuestionName.GROUP_ACCURACY:
        if m is not None:
            raise QuestionError("--m belongs to the questions least-accurate and most-accurate; leave it out.")
        return GroupAccuracy(by)
    return {QuestionName.LEAST_ACCURATE: LeastAccurate, QuestionName.MOST_ACCURATE: MostAccurate}[name](
        by, m=1 if m is None else m
    )


def _whole_numbers(text: str | None) -> list[int] | None:
    if text is None:
        return None
    try:
        return [int(number) for number in text.split(",")]
    except ValueError:
        raise BudgetError(f"Budgets are whole numbers separated by commas, such as 100,200; found {text!r}.") from None


def _close(assessment: Assessment) -> None:
    if assessment.journal is not None:
        assessment.journal.close()
