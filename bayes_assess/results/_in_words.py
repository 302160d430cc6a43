"""Questions and guarantees in the words of those who asked."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from bayes_assess._tools.text import enumerated, figures, points
from bayes_assess.measures import MEASURES, MULTILABEL_MEASURES

if TYPE_CHECKING:
    from bayes_assess.questions._base import Question


LABELLED = re.compile(r"[\d,]+ (labels? )?of [\d,]+ .*\(design .*\)(\.|; .*\.)$")  # the line of summaries about labels
CONTRADICTING = "Random items contradict"  # the beginning of a warning
KNOWN = "exact: no label that is missing can change it"
SAID = 3  # measures, up to which one sentence names each
_NAMED, _LETTERS = 8, 100  # systems, and letters of their names, up to which titles name each
_SHORT = {"f1": "F1", "roc": "ROC", "auc": "AUC", "mae": "MAE", "mse": "MSE", "rmse": "RMSE", "r2": "R2"}
_SHORT |= {"fbeta": "F-beta", "jaccard": "Jaccard index", "seme": "SEME", "brier": "Brier", "nh": "[NH]"}
_WHOLE = {"cohen_kappa": "Cohen's kappa", "fowlkes_mallows": "Fowlkes-Mallows index", "zero_one_loss": "zero-one loss"}
_WHOLE |= {"matthews_corrcoef": "Matthews correlation", "brier_score_loss": "Brier score"}
_AVERAGES = ("micro", "macro", "weighted", "samples")
_ROUNDING = 1e-9
_POINTS_UP_TO = 1.0  # differences of measures that are no wider are spoken of in points
_GUARANTEES = {
    "credible": "The interval holds the answer with probability {level:.0%}, given the model and the labels.",
    "asymptotic": "The interval holds the answer in about {level:.0%} of campaigns, the better the more labels.",
    "exact": "The answer is exact: every item is labelled that can matter.",
    "anytime": "The interval holds the answer with probability {level:.0%} at least, whenever the campaign stops.",
}


def question_in_words(question: Question | str) -> str:
    """Return a question as one sentence.

    Examples
    --------
    >>> import bayes_assess as ba
    >>> question_in_words(ba.GroupAccuracy("site")), question_in_words(ba.Metric(["precision", "recall"]))
    ('How accurate is the system, by site?', 'How high are precision and recall?')
    """
    if isinstance(question, str):  # of a plan
        return f"How many labels does {question} need?"
    return question.asks.format_map(_Words(question))


def title_of(question: Question) -> str:
    """Return a question on measures as the title of a figure or a table.

    Examples
    --------
    >>> from bayes_assess.questions import Mean, Metric, Rate
    >>> title_of(Metric(["f1", "precision"])), title_of(Metric("balanced_accuracy", by="site"))
    ('F1 and precision', 'Balanced accuracy by site')
    >>> title_of(Rate("good", by="site")), title_of(Rate()), title_of(Mean())
    ('Rate of good by site', 'Rate of positive labels', 'Mean of the labels')
    """
    return _capital(question.titled.format_map(_Words(question)))


def measure_in_words(name: str) -> str:
    """Return the name of a measure as people say it.

    Examples
    --------
    >>> [measure_in_words(name) for name in ("f1", "f1_macro (site A_1)", "f1[cat]", "my_own", "matthews_corrcoef")]
    ['F1', 'macro F1 (site A_1)', 'F1[cat]', 'my_own', 'Matthews correlation']
    """
    head, *rest = re.split(r"(?=[ \[(])", name, maxsplit=1)
    plain = head.removesuffix("_score")
    if plain in MEASURES or plain in MULTILABEL_MEASURES or plain in _SHORT:
        words = plain.split("_")
        words = [words[-1], *words[:-1]] if words[-1] in _AVERAGES and len(words) > 1 else words
        head = _WHOLE.get(plain) or " ".join(_SHORT.get(word, word) for word in words)
    return "".join([head, *rest])


def in_one_line(names: Sequence[str], values: np.ndarray, ends: np.ndarray, kind: str) -> str:
    """Say the estimates of a few measures with their intervals in one sentence, which ends with their kind."""
    said = []
    for name, value, (low, high) in zip(names, values.tolist(), ends.tolist(), strict=True):
        point, *between = figures(value, low, high)
        said.append(f"{measure_in_words(name)} {point}" + f" [{', '.join(between)}]" * (high - low > _ROUNDING))
    return f"{_capital(enumerated(said))} ({kind})."


def accuracies_compared(first: str, second: str, eta: int, rope: float) -> str:
    """Say which of three events there is: the first is less accurate, practically equal, or more accurate.

    Examples
    --------
    >>> accuracies_compared("a", "b", 1, 0.05)
    'a and b are within 5 points of each other in accuracy'
    >>> accuracies_compared("a", "b", 0, 0)
    'a is less accurate than b'
    """
    if eta == 1:
        alike = f"within {points(rope)} of each other in accuracy" if rope else "equally accurate"
        return f"{first} and {second} are {alike}"
    by = f"more than {points(rope)} " if rope else ""
    return f"{first} is {by}{'less' if eta == 0 else 'more'} accurate than {second}"


def values_compared(what: str, sides: tuple[str, str], eta: int, rope: str) -> str:
    """Say which of three events there is: a value of the first is lower, practically equal, or higher.

    The region of practical equivalence is in words, "" where it is 0 alone.

    Examples
    --------
    >>> values_compared("F1", ("a", "b"), 2, "5 points"), values_compared("F1", ("a", "b"), 1, "")
    ('The F1 of a is more than 5 points above that of b', 'The F1 of a is equal to that of b')
    """
    by, alike = (f"more than {rope} ", f"within {rope} of") if rope else ("", "equal to")
    where = alike if eta == 1 else f"{by}{'below' if eta == 0 else 'above'}"
    return f"The {what} of {sides[0]} is {where} that of {sides[1]}"


def rope_in_words(rope: float, widest: float, measure_name: str) -> str:
    """Say a half-width of differences, in points where measures are shares, whose widest difference is 1.

    Examples
    --------
    >>> rope_in_words(0.05, 1.0, "f1"), rope_in_words(0.05, 2.0, "matthews_corrcoef"), rope_in_words(0.5, 1.0, "mean")
    ('5 points', '0.05', '0.5')
    """
    return points(rope) if widest <= _POINTS_UP_TO and measure_name != "mean" else f"{rope:g}"


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def guarantee_in_words(guarantee: str, level: float) -> str:
    """Say what an interval promises.

    Examples
    --------
    >>> guarantee_in_words("credible", 0.9)
    'The interval holds the answer with probability 90%, given the model and the labels.'
    """
    return _GUARANTEES[guarantee].format(level=level)


class _Words:
    """Words of a question that its sentences are made of, by their names."""

    def __init__(self, question: Any):
        self._question = question

    def __getitem__(self, word: str) -> str:
        own = getattr(type(self), word, None)
        return str(getattr(self._question, word) if own is None else own(self))

    def by(self) -> str:
        by = getattr(self._question, "by", None)
        return "" if by is None else f" by {by}" if isinstance(by, str) else " by group"

    def of_every(self) -> str:
        return self.by() and f",{self.by()}"

    def of_systems(self) -> str:
        names = self._question.systems
        few = len(names) <= _NAMED and sum(map(len, names)) <= _LETTERS
        return f" of {enumerated(names) if few else f'{len(names):,} systems'}" if names else ""

    def groups(self) -> str:
        m = self._question.n_sought
        return "group" if m == 1 else f"{m} groups"

    def are(self) -> str:
        several = self._question.n_sought > 1 or len(self._names()) > 1
        return "are" if several else "is"

    def first(self) -> str:
        return self._question.names()[0]

    def second(self) -> str:
        return self._question.names()[1]

    def measure(self) -> str:
        return measure_in_words(self._question.measure_name)

    def measures(self) -> str:
        return enumerated(self._names())

    def labelled(self) -> str:
        positive = self._question.positive
        return "positive" if positive is None else f"labelled {positive}"

    def counted(self) -> str:
        positive = self._question.positive
        if positive == "C":  # of logs that have I and C
            return "correct answers"
        return "positive labels" if positive is None else positive if isinstance(positive, str) else f"label {positive}"

    def _names(self) -> list[str]:
        given = getattr(self._question, "measure", None)
        given = given if isinstance(given, list | tuple) else [given]
        names = [getattr(measure, "called", getattr(measure, "name", measure)) for measure in given]
        return [measure_in_words(str(name)) for name in names]
