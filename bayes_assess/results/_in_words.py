"""Questions and guarantees in the words of those who asked."""

from __future__ import annotations

from typing import Any

from bayes_assess.questions import (
    AllPairs,
    Calibration,
    ConfusionMatrix,
    ExtremeQuestion,
    GroupAccuracy,
    MeasureComparison,
    MeasurePairs,
    Metric,
    PRCurve,
    PrecisionCurve,
    Rate,
    TwoGroups,
    TwoSystems,
)

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
    if isinstance(question, ConfusionMatrix):
        return "Which labels do the items of every predicted class have?"
    if isinstance(question, Calibration):
        return f"How well is the confidence calibrated{by and ','}{by}?"
    if isinstance(question, AllPairs):
        return f"Which groups{by} are more accurate than which?"
    if isinstance(question, TwoGroups | TwoSystems):
        return "Is {} or {} more accurate?".format(*question.names())
    if isinstance(question, PrecisionCurve):
        return "How many of the first items of the list are positive, at every rank?"
    return _of_measures(question, by)


def _of_measures(question: Any, by: str) -> str:
    """Put a question about measures in words."""
    if isinstance(question, MeasureComparison):
        return "Has {} or {} the higher {}?".format(*question.names(), question.measure_name)
    if isinstance(question, MeasurePairs):
        return f"Which groups{by} have a higher {question.measure_name} than which?"
    if isinstance(question, PRCurve):
        return "How do precision and recall change with the threshold?"
    if isinstance(question, Rate):
        label = "positive" if question.positive is None else f"labelled {question.positive}"
        return f"What share of the items is {label}{by and ','}{by}?"
    if not isinstance(question, Metric):
        return f"{question.name}?"
    several = isinstance(question.measure, list | tuple)
    names = [getattr(one, "name", one) for one in (question.measure if several else [question.measure])]
    of = f" of {_listed(question.systems)}" if question.systems else ""
    return f"How high {'are' if len(names) > 1 else 'is'} {_listed(names)}{of}{by and ','}{by}?"


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
