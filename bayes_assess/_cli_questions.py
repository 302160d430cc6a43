"""The questions of the command line: which options go with which, and the question that they make.

Everything heavy is imported inside the functions, as in `cli`.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bayes_assess.errors import QuestionError

if TYPE_CHECKING:
    from bayes_assess.pool import Pool
    from bayes_assess.questions import Question

_OWN = "prediction"  # names the pool's own predictions


class QuestionName(StrEnum):
    """What can be asked."""

    GROUP_ACCURACY = "group-accuracy"
    LEAST_ACCURATE = "least-accurate"
    MOST_ACCURATE = "most-accurate"
    CONFUSION_MATRIX = "confusion-matrix"
    MOST_COSTLY = "most-costly"
    CALIBRATION = "calibration"
    LEAST_CALIBRATED = "least-calibrated"
    COMPARE = "compare"
    METRIC = "metric"
    PR_CURVE = "pr-curve"

    @property
    def kind(self) -> str:
        """Name of the question in `bayes_assess.questions.QUESTIONS`."""
        return "PRCurve" if self is QuestionName.PR_CURVE else self.title().replace("-", "")


OPTIONS: dict[QuestionName, tuple[str, ...]] = {
    QuestionName.GROUP_ACCURACY: ("by",),
    QuestionName.LEAST_ACCURATE: ("by", "m"),
    QuestionName.MOST_ACCURATE: ("by", "m"),
    QuestionName.CONFUSION_MATRIX: ("cost",),
    QuestionName.MOST_COSTLY: ("cost", "m"),
    QuestionName.CALIBRATION: ("by", "bins"),
    QuestionName.LEAST_CALIBRATED: ("by", "bins", "m"),
    QuestionName.COMPARE: ("by", "first", "second", "rope"),
    QuestionName.METRIC: ("by", "measure", "positive", "systems", "average"),
    QuestionName.PR_CURVE: ("positive", "thresholds"),
}
OVERVIEW = (  # as help shows it
    "group-accuracy                 [--by]",
    "least-accurate, most-accurate  [--by] [--m]",
    "confusion-matrix               [--cost]",
    "most-costly                    --cost [--m]",
    "calibration                    [--bins] [--by]",
    "least-calibrated               [--bins] [--by] [--m]",
    "compare: all pairs of groups   --by [--rope]",
    "compare: two groups            --by --first --second [--rope]",
    "compare: two systems           --second [--first] [--rope]",
    "metric                         --measure [--positive] [--systems] [--by [--average]]",
    "pr-curve                       [--positive] [--thresholds]",
)
DESIGNS = (  # as help shows them; a test compares them with the designs there are
    "metric, pr-curve  adaptive, oasis (F-measures), importance, stratified, passive",
    "all others        thompson, top_two, epsilon_greedy, bayes_ucb, random, random_group",
    "Not every question takes each of them.",
)


@dataclass(frozen=True, kw_only=True)
class Asked:
    """A question as asked on the command line; options that were left out are None.

    Raises
    ------
    QuestionError
        If an option does not go with the question, or one that it needs is missing.

    Examples
    --------
    >>> Asked(name=QuestionName.LEAST_ACCURATE, by="site", m=2).columns
    ['site']
    >>> Asked(name=QuestionName.COMPARE, second="old_model").columns
    ['old_model']
    >>> Asked(name=QuestionName.METRIC, measure="f1", by="site", systems="prediction,old_model").columns
    ['site', 'old_model']
    """

    name: QuestionName
    by: str | None = None
    m: int | None = None
    cost: Path | None = None
    bins: str | None = None
    first: str | None = None
    second: str | None = None
    rope: float | None = None
    measure: str | None = None
    positive: str | None = None
    systems: str | None = None
    average: str | None = None
    thresholds: int | None = None

    def __post_init__(self):
        for option in (field.name for field in fields(self) if field.name != "name"):
            if getattr(self, option) is not None and option not in OPTIONS[self.name]:
                having = [name for name, options in OPTIONS.items() if option in options]
                plural = "s" * (len(having) > 1)
                raise QuestionError(
                    f"--{option} belongs to the question{plural} {_listed(having)}, not to {self.name}; leave it out."
                )
        if self.name is QuestionName.MOST_COSTLY and self.cost is None:
            raise QuestionError(
                "most-costly needs --cost FILE: a CSV table with a row per predicted class and a column per label."
            )
        if self.name is QuestionName.COMPARE:
            self._check_sides()
        if self.name is QuestionName.METRIC:
            self._check_metric()

    def _check_sides(self) -> None:
        if self.by is None and self.second is None:
            raise QuestionError(
                "compare needs --by GROUPS to compare groups, or --second COLUMN with another system's predictions."
            )
        if self.by is not None and (self.first is None) != (self.second is None):
            raise QuestionError(
                "compare --by takes two groups by --first and --second, or neither for all pairs; found only one. "
                "Leave out --by to compare two systems."
            )

    def _check_metric(self) -> None:
        from bayes_assess._cli_files import parse_by

        if self.measure is None:
            raise QuestionError("metric needs --measure NAMES, such as f1 or precision,recall.")
        if self.by is not None and not isinstance(parse_by(self.by)[0], str):
            raise QuestionError(f"metric takes a column or prediction by --by, not bins of scores; found {self.by!r}.")
        if self.average is not None and (self.average != "macro" or self.by is None):
            raise QuestionError("metric averages over groups: --average macro --by COLUMN.")

    @property
    def columns(self) -> list[str]:
        """Columns of the pool's file that the question needs beside the predictions."""
        from bayes_assess._cli_files import parse_by

        columns = [] if self.by is None else parse_by(self.by)[1]
        if self.name is QuestionName.COMPARE and self.by is None:
            columns = [self.first, self.second]
        named = [*columns, *_names(self.systems)]
        return [name for name in dict.fromkeys(named) if name not in (None, _OWN)]

    def question(self, pool: Pool) -> Question:
        """Make the question; costs and the positive class are matched to the pool's classes by name."""
        from bayes_assess._cli_files import class_named, parse_bins, parse_by, read_costs
        from bayes_assess.questions import QUESTIONS

        plain: dict[str, Any] = {"m": self.m, "first": self.first, "second": self.second}
        plain |= {"rope": self.rope, "thresholds": self.thresholds, "average": self.average}
        options = {name: value for name, value in plain.items() if value is not None}
        if self.by is not None:
            options["by"] = parse_by(self.by)[0]
        if self.bins is not None:
            options["bins"] = parse_bins(self.bins)
        if self.cost is not None:
            options["cost"] = read_costs(self.cost, pool.classes)
        if self.measure is not None:
            measures = _names(self.measure)
            options["measure"] = measures if len(measures) > 1 else measures[0]
        if self.positive is not None:
            options["positive"] = class_named(self.positive, pool.classes)
        if self.systems is not None:
            options["systems"] = _names(self.systems)
        return QUESTIONS[self.name.kind](**options)


def columns_of(described: dict[str, Any]) -> list[str]:
    """Columns of a pool that a question described in a journal needs.

    Examples
    --------
    >>> columns_of({"question": "Compare", "first": "prediction", "second": "old_model", "by": None})
    ['old_model']
    >>> columns_of({"question": "Metric", "measure": "f1", "systems": ["prediction", "old_model"], "by": "site"})
    ['site', 'old_model']
    """
    by = described.get("by")
    named = [described.get("first"), described.get("second")] if by is None else [by]
    named += described.get("systems", [])
    return [name for name in dict.fromkeys(named) if isinstance(name, str) and name != _OWN]


def _names(text: str | None) -> list[str]:
    """Split names at commas."""
    return [] if text is None else [name.strip() for name in text.split(",")]


def _listed(names: list[QuestionName]) -> str:
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))
