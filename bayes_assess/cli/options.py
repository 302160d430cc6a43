"""Options that several commands take, and how commands share them."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from bayes_assess.cli.asked import OPTIONS, Asked, Option, QuestionName, flag
from bayes_assess.errors import QuestionError


class PriorName(StrEnum):
    """Priors by name."""

    LEARNED = "learned"
    INFORMATIVE = "informative"
    UNINFORMATIVE = "uninformative"


class ToolName(StrEnum):
    """Labelling tools by name."""

    LABEL_STUDIO = "label-studio"
    ARGILLA = "argilla"


PoolFile = Annotated[
    Path,
    typer.Argument(
        metavar="POOL",
        help="Predictions: CSV, Parquet, NPZ, a log, a folder of logs; or 'files/*.parquet' or duckdb:file.db/table, "
        "which stay where they are.",
    ),
]
RunFile = Annotated[Path, typer.Argument(metavar="RUN", help="The journal that `start` made.")]
LabelsFile = Annotated[
    Path,
    typer.Argument(
        metavar="LABELS",
        help="CSV, .xlsx, Parquet or .jsonl with the columns id and label, or what Label Studio or Argilla export, "
        ".json.",
    ),
]
ItemIds = Annotated[list[str], typer.Argument(metavar="IDS...", help="Items, by their ids.")]
IdOfLabels = Annotated[str, typer.Option("--id", metavar="COLUMN", help="The column of ids.")]
LabelColumn = Annotated[
    str, typer.Option("--label", metavar="COLUMN", help="The column of labels; in exports, the question.")
]
Moved = Annotated[Path | None, typer.Option("--pool", help="The pool, if it is not where it was at the start.")]
Belief = Annotated[
    PriorName | None, typer.Option("--prior", help="What is believed before any label; learned by default.")
]
Strength = Annotated[
    float | None,
    typer.Option(
        help="Labels per group that a fixed prior counts as: 2 by default, 1 for confusion and costs. Not for metric, "
        "pr-curve, rate and mean."
    ),
]
Seed = Annotated[int, typer.Option(help="Decides every random choice.")]
Level = Annotated[
    float | None,
    typer.Option(
        "--level", help="Probability of the intervals; 0.95 by default, and what --delta leaves of 1 for ranked lists."
    ),
]
CsvOut = Annotated[Path | None, typer.Option("--csv", metavar="FILE", help="Write the whole table here.")]
PlotOut = Annotated[Path | None, typer.Option("--plot", metavar="FILE", help="Draw it here (.png, .pdf, .svg).")]
HowChosen = Annotated[
    str | None,
    typer.Option(
        "--design",
        metavar="NAME",
        help="How items are chosen, with options if need be, such as poisson:labels=curve; see below.",
    ),
]
OracleKind = Annotated[
    Literal["deterministic", "stochastic"],
    typer.Option(
        "--oracle",
        help="Whether an item has one label, or its labels may differ from one time to the next, and it may be asked "
        "again (metric and pr-curve).",
    ),
]
Designs = Annotated[
    str | None,
    typer.Option(
        "--designs", metavar="NAMES", help="Designs, separated by commas; random sampling and the default, if left out."
    ),
]
Show = Annotated[
    list[str] | None,
    typer.Option("--show", metavar="COLUMNS", help="What annotators need to see, such as text; separated by commas."),
]
ShowPrediction = Annotated[
    bool, typer.Option("--show-prediction", help="Show prediction and score, too, which sway annotators.")
]
SheetOut = Annotated[
    Path | None,
    typer.Option("-o", "--output", metavar="FILE", help="The sheet to fill in: .csv, .tsv, .xlsx; .json with --tool."),
]
ForWhom = Annotated[str | None, typer.Option("--annotator", metavar="NAME", help="Who is to label the items.")]
OfWhom = Annotated[
    str | None, typer.Option("--annotator", metavar="NAME", help="With --pending: only those asked for this annotator.")
]
Tool = Annotated[
    ToolName | None, typer.Option("--tool", help="Write tasks for a labelling tool, and its set-up beside them.")
]
Unsure = Annotated[
    str | None, typer.Option("--unsure", metavar="WORDS", help="What stands where nobody can tell: unsure,?,n/a.")
]
Force = Annotated[
    bool, typer.Option("--force", help="Replace files that exist; never the run, its pool or other inputs.")
]

ThresholdFor = Annotated[
    str | None,
    typer.Option(
        "--threshold-for",
        metavar="GOAL",
        help="Of pr-curve: the threshold for precision=0.9 or recall=0.8, or where f1 is greatest; of precision-curve: "
        "where to cut for precision=0.9.",
    ),
]
Ask = Annotated[QuestionName, typer.Option("--question", metavar="QUESTION", help="What to find out, see below.")]
AskInstead = Annotated[
    QuestionName | None,
    typer.Option(
        "--question", metavar="QUESTION", help="Another question than the run's own, with its options as of `start`."
    ),
]
IdColumn = Annotated[str | None, typer.Option("--id", metavar="COLUMN", help="Ids; by default `id` or row numbers.")]
Scores = Annotated[
    list[str] | None,
    typer.Option(
        "--scores",
        metavar="COLUMNS",
        help="Class probabilities, separated by commas or one by one; a single column is P(positive), or any score "
        "that ranks the items of precision-curve.",
    ),
]
Prediction = Annotated[str | None, typer.Option("--prediction", metavar="COLUMN", help="Predicted classes.")]
Confidence = Annotated[str | None, typer.Option("--confidence", metavar="COLUMN", help="Their probabilities.")]
Multilabel = Annotated[
    bool, typer.Option("--multilabel", help="Items may have several labels, such as cat;dog, or none, written -.")
]
Wide = Annotated[
    str | None,
    typer.Option(
        "--wide",
        metavar="COLUMNS",
        help="Verdicts on several systems' answers to the prompt of a row, separated by commas; see --by system.",
    ),
]
Bounds = Annotated[
    str | None,
    typer.Option("--bounds", metavar="LOW,HIGH", help="Labels are numbers between these, as predictions are, or none."),
]
Scan = Annotated[
    bool, typer.Option("--scan", help="Leave the rows in the file and count them by DuckDB: more than fit in memory.")
]
Classes = Annotated[
    str | None,
    typer.Option(
        "--classes", metavar="NAMES", help="All classes, separated by commas; one with a comma in double quotes."
    ),
]


def asked(question: Ask = QuestionName.GROUP_ACCURACY, **options: object) -> Asked:
    """Gather what is asked; the signature, which Typer reads, has every option of a question."""
    return Asked(name=question, options={name: value for name, value in options.items() if value is not None})


def asked_instead(question: AskInstead = None, **options: object) -> Asked | None:
    """Gather another question than the run's own, if there is one; the signature is as that of `asked`."""
    given = {name: value for name, value in options.items() if value is not None}
    if question is not None:
        return Asked(name=question, options=given)
    if given:
        raise QuestionError(f"{flag(next(iter(given)))} goes with another question than the run's own: add --question.")
    return None


def _option(name: str, option: Option) -> inspect.Parameter:
    shown = typer.Option(flag(name), metavar=option.metavar, help=option.help)
    annotation = Annotated[option.kind | None, shown]
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=annotation)


for _gathering in (asked, asked_instead):
    _gathering.__signature__ = inspect.Signature(
        [
            inspect.signature(_gathering, eval_str=True).parameters["question"],
            *(_option(name, option) for name, option in OPTIONS.items()),
        ]
    )


def reading(
    id: IdColumn = None,
    scores: Scores = None,
    prediction: Prediction = None,
    confidence: Confidence = None,
    classes: Classes = None,
    multilabel: Multilabel = False,
    wide: Wide = None,
    bounds: Bounds = None,
    scan: Scan = False,
) -> dict[str, Any]:
    """Gather how to read the pool."""
    from bayes_assess.cli.files import reader_options
    from bayes_assess.cli.parse import names_in, parse_bounds

    options = reader_options(id, scores, prediction, confidence, classes, multilabel)
    options |= {} if wide is None else {"wide": names_in(wide)}
    options |= {"scan": True} if scan else {}
    return options | ({} if bounds is None else {"bounds": parse_bounds(bounds)})


def shown_columns(show: list[str] | None) -> dict[str, list[str]]:
    """Gather the columns that annotators see, if any are named, as an option of `read_pool`."""
    from bayes_assess.cli.parse import names_in

    columns = [name for text in show or [] for name in names_in(text)]
    return {"show": columns} if columns else {}


def taking(**makers: Callable[..., object]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Make a command take the options of functions in the place of the parameters that the functions compute.

    Examples
    --------
    >>> def size(width: int = 2, height: int = 3):
    ...     return width * height
    >>> @taking(area=size)
    ... def command(name: str, *, area: int):
    ...     print(name, area)
    >>> command(name="door", width=1, height=2)
    door 2
    >>> list(inspect.signature(command).parameters)
    ['name', 'width', 'height']
    """

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        options = {name: inspect.signature(maker, eval_str=True).parameters for name, maker in makers.items()}
        taken: list[inspect.Parameter] = []
        for name, parameter in inspect.signature(command, eval_str=True).parameters.items():
            taken += options[name].values() if name in options else [parameter]

        @functools.wraps(command)
        def whole(**given: object) -> None:
            for name, maker in makers.items():
                given[name] = maker(**{option: given.pop(option) for option in options[name]})
            command(**given)

        # What Typer reads: signature and annotations.
        whole.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
            [parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY) for parameter in taken]
        )
        whole.__annotations__ = {parameter.name: parameter.annotation for parameter in taken}
        return whole

    return decorate
