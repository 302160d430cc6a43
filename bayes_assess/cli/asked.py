"""The questions of the command line, and the options that go with each.

An option of a question is a parameter of its class in `bayes_assess.questions`. `OPTIONS` says how help shows it,
`FORMS` which questions take it, `parse.READERS` what its text means where that is not plain; a test compares them with
the classes. All else follows from these. Everything heavy is imported inside the functions, as in `cli`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from bayes_assess._tools.shapes import Json
from bayes_assess._tools.text import enumerated
from bayes_assess.errors import QuestionError

if TYPE_CHECKING:
    from bayes_assess.designs import Design
    from bayes_assess.designs.ranked import RankedDesign
    from bayes_assess.pool.pool import Pool
    from bayes_assess.pool.ranked import RankedList
    from bayes_assess.questions import Question

_OWN = "prediction"  # names the pool's own predictions


class QuestionName(StrEnum):
    """What can be asked."""

    GROUP_ACCURACY = "group-accuracy"
    LEAST_ACCURATE = "least-accurate"
    MOST_ACCURATE = "most-accurate"
    GROUP_RECALL = "group-recall"
    LOWEST_RECALL = "lowest-recall"
    HIGHEST_RECALL = "highest-recall"
    CONFUSION_MATRIX = "confusion-matrix"
    MOST_COSTLY = "most-costly"
    CALIBRATION = "calibration"
    LEAST_CALIBRATED = "least-calibrated"
    COMPARE = "compare"
    BEST = "best"
    METRIC = "metric"
    PR_CURVE = "pr-curve"
    PRECISION_CURVE = "precision-curve"
    RATE = "rate"
    MEAN = "mean"

    @property
    def kind(self) -> str:
        """Name of the question in `bayes_assess.questions.QUESTIONS`."""
        return "PRCurve" if self is QuestionName.PR_CURVE else self.title().replace("-", "")


class Option(NamedTuple):
    """How help shows an option of a question, and what it is read as."""

    help: str
    metavar: str | None = None
    kind: type = str


OPTIONS = {
    "by": Option(
        "Groups: prediction, a column, bins:N or weight-bins:N; prediction by default, none for calibration, "
        "metric, rate and mean.",
        "GROUPS",
    ),
    "covariates": Option("Columns of numbers that groups may differ by, separated by commas.", "COLUMNS"),
    "m": Option("Groups to find; 1 by default.", kind=int),
    "cost": Option("Costs as CSV: a row per predicted class, a column per label, with names.", "FILE", Path),
    "bins": Option("Bins of the confidence, or weight:N for equally filled ones; 10 by default.", "N"),
    "first": Option("A group or, without --by, a column of predictions; prediction by default.", "NAME"),
    "second": Option("What to compare it with: another group or, without --by, column.", "NAME"),
    "rope": Option("Largest difference that counts as none, of means in their units; 0.05, or 0 for best.", kind=float),
    "measure": Option("What to measure, by scikit-learn's names, separated by commas: f1,recall.", "NAMES"),
    "positive": Option("The positive class; the second of two by default.", "CLASS"),
    "pair": Option("Column that says which items of the two groups belong together, such as prompt_id.", "COLUMN"),
    "values": Option("Numbers of classes, such as bad=1,fair=2,good=4; the classes themselves by default.", "PAIRS"),
    "systems": Option(
        "Columns of several systems' predictions, separated by commas; prediction is the pool's own.", "COLUMNS"
    ),
    "judges": Option("Columns of further judges' verdicts, or ratings, separated by commas.", "COLUMNS"),
    "average": Option("The mean of the measures of the groups of --by, not each.", "macro"),
    "thresholds": Option("Thresholds of the curve, at most; 1024 by default.", "N", int),
    "epsilon": Option("What may be lost between queried ranks, as a share; 0.03 by default.", kind=float),
    "beta": Option("Factor within which queried precisions are estimated; 1.05 by default.", kind=float),
    "delta": Option("Probability with which the band may fail; 0.05 by default.", kind=float),
    "monotone_from": Option("Rank from which on precision is taken not to grow; 1 by default.", "RANK", int),
    "slack": Option("Ranks over which it may grow nevertheless; 100 by default.", "RANKS", int),
    "p_min": Option("Precision that the list nowhere falls below; found from labels by default.", kind=float),
    "noise": Option("Share of labels that are wrong, at most; 0 by default.", kind=float),
    "budget": Option("Labels there are, to be told at once if they cannot do.", kind=int),
    "target": Option("What the answer is about: this pool, by default, or the population it came from.", "WHICH"),
}


class Form(NamedTuple):
    """A way to ask questions: with which options, and with which others if wanted."""

    names: tuple[QuestionName, ...]
    needs: str = ""
    takes: str = ""
    what: str = ""

    @property
    def options(self) -> list[str]:
        """All options of this form."""
        return [*self.needs.split(), *self.takes.split()]


_Q = QuestionName
FORMS = (
    Form((_Q.GROUP_ACCURACY,), takes="by covariates target"),
    Form((_Q.LEAST_ACCURATE, _Q.MOST_ACCURATE), takes="by covariates m target"),
    Form((_Q.GROUP_RECALL,), "by", "positive covariates target"),
    Form((_Q.LOWEST_RECALL, _Q.HIGHEST_RECALL), "by", "positive covariates m target"),
    Form((_Q.CONFUSION_MATRIX,), takes="cost target"),
    Form((_Q.MOST_COSTLY,), "cost", "m target"),
    Form((_Q.CALIBRATION,), takes="bins by target"),
    Form((_Q.LEAST_CALIBRATED,), takes="bins by m target"),
    Form((_Q.COMPARE,), "by", "measure positive values rope target", "all pairs of groups"),
    Form((_Q.COMPARE,), "by first second", "measure positive values pair bins rope target", "two groups"),
    Form((_Q.COMPARE,), "second", "first measure positive rope target", "two systems"),
    Form((_Q.BEST,), "systems", "measure positive rope"),
    Form((_Q.METRIC,), "measure", "positive systems by average"),
    Form((_Q.PR_CURVE,), takes="positive thresholds"),
    Form((_Q.PRECISION_CURVE,), takes="epsilon beta delta monotone_from slack p_min noise budget positive"),
    Form((_Q.RATE,), takes="positive by judges"),
    Form((_Q.MEAN,), takes="values by judges"),
)


def flag(option: str) -> str:
    """Return an option as it is written on the command line.

    Examples
    --------
    >>> flag("monotone_from")
    '--monotone-from'
    """
    return f"--{option.replace('_', '-')}"


def _overview() -> list[str]:
    lines = {}
    for form in FORMS:
        title = ", ".join(form.names) + (f": {form.what}" if form.what else "")
        lines[title] = [flag(name) for name in form.needs.split()] + [f"[{flag(name)}]" for name in form.takes.split()]
    width = max(map(len, lines))
    return [f"{title:{width}}  {' '.join(options)}" for title, options in lines.items()]


OVERVIEW = _overview()  # as help shows it
DESIGNS = (  # as help shows them; a test compares them with the designs there are
    "metric, pr-curve, rate, mean  variance_reduction, adaptive, oasis (F), importance, poisson, stratified, passive",
    "all others                    thompson, top_two, epsilon_greedy, bayes_ucb, random, random_group",
    "precision-curve               adastrat, logstrat, paula, random, variance_reduction",
    "--multilabel                  poisson, passive, of metric",
    "--bounds, metric mae, r2, ... poisson, importance, stratified, passive",
    "Not every question takes each of them. Options follow the name, such as poisson:labels=curve.",
)


def options_of(name: QuestionName) -> set[str]:
    """Names of the options that a question takes.

    Examples
    --------
    >>> sorted(options_of(QuestionName.MOST_COSTLY))
    ['cost', 'm', 'target']
    """
    return {option for form in FORMS if name in form.names for option in form.options}


@dataclass(frozen=True, kw_only=True)
class Asked:
    """A question as asked on the command line; `options` are those that were given.

    Raises
    ------
    QuestionError
        If an option does not go with the question, or one that it needs is missing.

    Examples
    --------
    >>> Asked(name=QuestionName.LEAST_ACCURATE, options={"by": "site", "m": 2}).columns
    {'groups': ['site'], 'systems': []}
    >>> Asked(name=QuestionName.COMPARE, options={"second": "old_model"}).columns
    {'groups': [], 'systems': ['old_model']}
    """

    name: QuestionName
    options: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self):
        for option in self.options:
            if option not in options_of(self.name):
                having = [name for name in QuestionName if option in options_of(name)]
                plural = "s" * (len(having) > 1)
                raise QuestionError(
                    f"{flag(option)} belongs to the question{plural} {enumerated(having)}, not to {self.name}; "
                    "leave it out."
                )
        if self.name is QuestionName.COMPARE:
            self._check_sides()
        else:
            self._check_needs()
        if self.name in (QuestionName.METRIC, QuestionName.RATE, QuestionName.MEAN):
            self._check_groups()

    def _check_needs(self) -> None:
        for form in FORMS:
            for name in form.needs.split():
                if self.name in form.names and name not in self.options:
                    option = OPTIONS[name]
                    raise QuestionError(f"{self.name} needs {flag(name)} {option.metavar}. {option.help}")

    def _check_sides(self) -> None:
        given = self.options.keys()
        if not {"by", "second"} & given:
            raise QuestionError(
                "compare needs --by GROUPS to compare groups, or --second COLUMN with another system's predictions."
            )
        if "by" in given and len({"first", "second"} & given) == 1:
            raise QuestionError(
                "compare --by takes two groups by --first and --second, or neither for all pairs; found only one. "
                "Leave out --by to compare two systems."
            )

    def _check_groups(self) -> None:
        by, average = self.options.get("by"), self.options.get("average")
        if by is not None and not isinstance(self._read("by"), str):
            raise QuestionError(f"{self.name} takes a column or prediction by --by, not bins of scores; found {by!r}.")
        if average is not None and (average != "macro" or by is None):
            raise QuestionError("metric averages over groups: --average macro --by COLUMN.")

    def is_ranked(self, design: str | Design | RankedDesign | None) -> bool:
        """Whether the question is answered by a design of ranked lists.

        Raises
        ------
        DesignError
            If the design answers no questions about ranked lists, but this is one.
        """
        from bayes_assess.designs.ranked import find_curve_design, is_ranked

        if not self.of_ranks:
            return False
        return design is None or is_ranked(find_curve_design(design))

    @property
    def of_ranks(self) -> bool:
        """Whether the question is about the ranks of a list."""
        return self.name is QuestionName.PRECISION_CURVE

    @property
    def arguments(self) -> list[str]:
        """The question as it was typed.

        Examples
        --------
        >>> Asked(name=QuestionName.LEAST_ACCURATE, options={"by": "site", "m": 2}).arguments
        ['--question', 'least-accurate', '--by', 'site', '--m', '2']
        """
        options = [text for name, value in self.options.items() for text in (flag(name), str(value))]
        return ["--question", str(self.name), *options]

    @property
    def columns(self) -> dict[str, list[str]]:
        """Columns of groups and of other systems' predictions in the pool's file that the question needs."""
        named = ("by", "pair", "first", "second", "systems", "judges", "covariates")
        return columns_of({name: self._read(name) for name in named if name in self.options})

    def question(self, pool: Pool | RankedList) -> Question:
        """Make the question; costs and the positive class are matched to the pool's classes by name."""
        from bayes_assess.sessions.description import described_question

        return described_question(
            {"question": self.name.kind} | {name: self._read(name, pool.classes) for name in self.options}
        )

    def _read(self, name: str, classes: Any = None) -> Json:
        """Return what the text of an option means, in plain values as journals have them."""
        from bayes_assess.cli.parse import READERS

        value = self.options[name]
        return READERS[name](value, classes) if name in READERS else value


def columns_of(described: dict[str, Any]) -> dict[str, list[str]]:
    """Columns of groups and of other systems' predictions that a question described in a journal needs.

    Examples
    --------
    >>> columns_of({"question": "Compare", "first": "prediction", "second": "old_model", "by": None})
    {'groups': [], 'systems': ['old_model']}
    >>> columns_of({"question": "Metric", "measure": "f1", "systems": ["prediction", "old_model"], "by": "site"})
    {'groups': ['site'], 'systems': ['old_model']}
    """
    by, systems = described.get("by"), [*described.get("systems", []), *(described.get("judges") or [])]
    if by is None:
        systems += [described.get("first"), described.get("second")]
    needed = {"groups": [by, described.get("pair"), *described.get("covariates", [])], "systems": systems}
    return {
        kind: list(dict.fromkeys(name for name in names if isinstance(name, str) and name != _OWN))
        for kind, names in needed.items()
    }
