"""Questions and guarantees in the words of those who asked."""

from __future__ import annotations

from typing import Any

import numpy as np

from bayes_assess.measures import MEASURES, MULTILABEL_MEASURES
from bayes_assess.questions import (
    AllPairs,
    Best,
    Calibration,
    ConfusionMatrix,
    ExtremeQuestion,
    GroupAccuracy,
    GroupRecall,
    Mean,
    MeasureComparison,
    MeasurePairs,
    Metric,
    MultiLabelMetric,
    PRCurve,
    PrecisionCurve,
    Rate,
    TwoCalibrations,
    TwoGroups,
    TwoSystems,
)

_SHORT = {"f1": "F1", "roc": "ROC", "auc": "AUC"}
_AVERAGES = ("micro", "macro", "weighted", "samples")
_ROUNDING = 1e-9
_GUARANTEES = {
    "credible": "The interval holds the answer with probability {level:.0%}, given the model and the labels.",
    "asymptotic": "The interval holds the answer in about {level:.0%} of campaigns, the better the more labels.",
    "exact": "The answer is exact: every item is labelled that can matter.",
    "anytime": "The interval holds the answer with probability {level:.0%} at least, whenever the campaign stops.",
}


def question_in_words(question: Any) -> str:
    """Return a question as one sentence.

    Examples
    --------
    >>> question_in_words(GroupAccuracy("site")), question_in_words(Metric(["precision", "recall"]))
    ('How accurate is the system, by site?', 'How high are precision and recall?')
    """
    by = _by(question)
    if isinstance(question, str):  # of a plan
        return f"How many labels does {question} need?"
    if isinstance(question, ExtremeQuestion):
        m, plural = question.n_sought, "" if question.n_sought == 1 else "s"
        which = f"Which {f'{m} ' if m > 1 else ''}group{plural}{by} {'is' if m == 1 else 'are'}"
        return f"{which} the {question.adjective}?"
    if isinstance(question, GroupAccuracy):
        return f"How accurate is the system{by and ','}{by}?"
    if isinstance(question, GroupRecall):
        return f"What share of the positive items does the system find{by and ','}{by}?"
    if isinstance(question, ConfusionMatrix):
        return "Which labels do the items of every predicted class have?"
    if isinstance(question, Calibration):
        return f"How well is the confidence calibrated{by and ','}{by}?"
    if isinstance(question, AllPairs):
        return f"Which groups{by} are more accurate than which?"
    if isinstance(question, TwoGroups | TwoSystems):
        return "Is {} or {} more accurate?".format(*question.names())
    if isinstance(question, TwoCalibrations):
        return "Which has the greater calibration error, {} or {}?".format(*question.names())
    if isinstance(question, PrecisionCurve):
        return "How many of the first items of the list are positive, at every rank?"
    return _of_measures(question, by)


def _of_measures(question: Any, by: str) -> str:
    """Put a question about measures in words."""
    if isinstance(question, MeasureComparison):
        return "Has {} or {} the higher {}?".format(*question.names(), measure_in_words(question.measure_name))
    if isinstance(question, Best):
        extreme = "highest" if question.sign > 0 else "lowest"
        return f"Which of {_listed(question.systems)} has the {extreme} {measure_in_words(question.measure_name)}?"
    if isinstance(question, MeasurePairs):
        return f"Which groups{by} have a higher {measure_in_words(question.measure_name)} than which?"
    if isinstance(question, PRCurve):
        return "How do precision and recall change with the threshold?"
    if isinstance(question, Rate):
        label = "positive" if question.positive is None else f"labelled {question.positive}"
        return f"What share of the items is {label}{by and ','}{by}?"
    if not isinstance(question, Metric):
        return f"{question.name}?"
    names = _measures_of(question)
    of = f" of {_listed(question.systems)}" if question.systems else ""
    return f"How high {'are' if len(names) > 1 else 'is'} {_listed(names)}{of}{by and ','}{by}?"


def title_of(question: Any) -> str:
    """Return a question on measures as the title of a figure or a table.

    Examples
    --------
    >>> title_of(Metric(["f1", "precision"])), title_of(Metric("balanced_accuracy", by="site"))
    ('F1 and precision', 'Balanced accuracy by site')
    >>> title_of(Rate("good", by="site")), title_of(Rate()), title_of(Mean())
    ('Rate of good by site', 'Rate of positive labels', 'Mean of the labels')
    """
    if isinstance(question, MeasureComparison):
        return "{} of {} less {}".format(_measured(question), *question.names())
    if isinstance(question, Best):
        return f"{_measured(question)} of {_listed(question.systems)}"
    if isinstance(question, MeasurePairs):
        return f"{_measured(question)}, all pairs{_by(question)}"
    if isinstance(question, Rate):
        return f"Rate of {_counted(question.positive)}{_by(question)}"
    if isinstance(question, Mean):
        return f"Mean of the labels{_by(question)}"
    if isinstance(question, PRCurve) and not isinstance(question, PrecisionCurve):
        return "Precision and recall by threshold"
    if type(question) not in (Metric, MultiLabelMetric):
        return question.name
    of = f" of {_listed(question.systems)}" if question.systems else ""
    return _capital(f"{_listed(_measures_of(question))}{of}{_by(question)}")


def measure_in_words(name: str) -> str:
    """Return the name of a measure as people say it.

    Examples
    --------
    >>> measure_in_words("f1"), measure_in_words("f1_macro (site A_1)"), measure_in_words("my_own")
    ('F1', 'macro F1 (site A_1)', 'my_own')
    """
    head, *rest = name.split(" ", 1)
    plain = head.removesuffix("_score")
    if plain in MEASURES or plain in MULTILABEL_MEASURES:
        words = plain.split("_")
        words = [words[-1], *words[:-1]] if words[-1] in _AVERAGES and len(words) > 1 else words
        head = " ".join(_SHORT.get(word, word) for word in words)
    return " ".join([head, *rest])


def in_one_line(answer: Any, ends: Any) -> str:
    """Say the estimates of a few measures with their intervals in one sentence."""
    values = np.atleast_1d(answer.estimate).tolist()
    said = [
        f"{measure_in_words(name)} {value:.3f}" + (f" [{low:.3f}, {high:.3f}]" if high - low > _ROUNDING else "")
        for name, value, (low, high) in zip(answer.groups.tolist(), values, ends.tolist(), strict=True)
    ]
    plural = "s" * (len(said) > 1)
    how = "exact" if answer.guarantee == "exact" else f"{answer.level:.0%} {answer.guarantee} interval{plural}"
    return f"{_capital(_listed(said))} ({how})."


def _counted(positive: Any) -> str:
    """Name what a rate counts."""
    if positive is None:
        return "positive labels"
    if positive == "C":  # of logs that have I and C
        return "correct answers"
    return positive if isinstance(positive, str) else f"label {positive}"


def _measured(question: Any) -> str:
    """Name the measure that is compared, as a title begins."""
    return _capital(measure_in_words(question.measure_name))


def _measures_of(question: Any) -> list[str]:
    several = isinstance(question.measure, list | tuple)
    given = question.measure if several else [question.measure]
    return [measure_in_words(str(getattr(one, "name", one))) for one in given]


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def guarantee_in_words(answer: Any) -> str | None:
    """Say what the interval of an answer promises; None where it promises nothing of the kind.

    Examples
    --------
    >>> import bayes_assess as ba
    >>> guarantee_in_words(ba.assess(ba.Pool(predictions=[0, 1]), ba.GroupAccuracy()).result(0.9))
    'The interval holds the answer with probability 90%, given the model and the labels.'
    """
    said = _GUARANTEES.get(getattr(answer, "guarantee", ""))
    return None if said is None else said.format(level=answer.level)


def _by(question: Any) -> str:
    by = getattr(question, "by", None)
    return "" if by is None else f" by {by}" if isinstance(by, str) else " by group"


def _listed(names: Any) -> str:
    *first, last = map(str, names)
    return f"{', '.join(first)} and {last}" if first else last
