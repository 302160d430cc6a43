"""Measures by name, with the names and meanings of scikit-learn where it has them."""

from __future__ import annotations

import inspect
import math
import re
from collections.abc import Callable, Mapping
from functools import partial
from types import MappingProxyType
from typing import Any

from bayes_assess._tools.arrays import LARGEST, is_one_of, show
from bayes_assess._tools.suggestions import near_names
from bayes_assess.errors import QuestionError
from bayes_assess.measures import _classification as classification
from bayes_assess.measures import _regression as regression
from bayes_assess.measures._measure import Measure
from bayes_assess.measures._ranking import average_precision, roc_auc
from bayes_assess.measures._ratios import ratio, seme_f1_macro

_SHORT = {"mae": "mean_absolute_error", "mse": "mean_squared_error", "rmse": "root_mean_squared_error"}
_OTHER_NAMES = {  # under which people ask for measures
    "sensitivity": "recall",
    "tpr": "recall",
    "true_positive_rate": "recall",
    "hit_rate": "recall",
    "tnr": "specificity",
    "true_negative_rate": "specificity",
    "ppv": "precision",
    "positive_predictive_value": "precision",
    "mcc": "matthews_corrcoef",
    "phi": "matthews_corrcoef",
    "kappa": "cohen_kappa",
    "iou": "jaccard",
    "dice": "f1",
    "auc": "roc_auc",
    "auroc": "roc_auc",
    "ap": "average_precision",
    "pr_auc": "average_precision",
    "auprc": "average_precision",
    "brier": "brier_score_loss",
    "error_rate": "zero_one_loss",
    "prevalence": "rate",
}
_COMPLEMENTS = {  # of measures, under the names by which people ask for 1 less these
    "fnr": "recall",
    "false_negative_rate": "recall",
    "miss_rate": "recall",
    "fpr": "specificity",
    "false_positive_rate": "specificity",
    "false_alarm_rate": "specificity",
    "fdr": "precision",
    "false_discovery_rate": "precision",
}
_OF_THE_OTHER_CLASS = {"npv": "precision", "negative_predictive_value": "precision"}
_CALIBRATION_ERRORS = ("ece", "expected_calibration_error", "calibration_error")
_AVERAGES = ("binary", "per_class", "macro", "micro", "weighted")
_OF_RANKS = re.compile(r"(?:precision|recall|hits?|success|n?dcg|map|mrr|[pr])(?:_?(?:at|@)_?(?:k|\d+))|n?dcg|mrr|map")


def _meant(text: str) -> str:
    """Say which measure a name may mean, the end of a sentence.

    Examples
    --------
    >>> _meant("FNR"), _meant("Sensitivity")
    ("it is 1 less 'recall': ask for that.", "did you mean 'recall'?")
    """
    for complement in near_names(text, _COMPLEMENTS, cutoff=1.0):
        return f"it is 1 less {_COMPLEMENTS[complement]!r}: ask for that."
    for other in near_names(text, _OF_THE_OTHER_CLASS, cutoff=1.0):
        return f"it is {_OF_THE_OTHER_CLASS[other]!r} of the negative class: name that as the positive one."
    if near_names(text, _CALIBRATION_ERRORS, cutoff=1.0):
        return "calibration errors are what the questions Calibration and LeastCalibrated ask for."
    if _OF_RANKS.fullmatch(name := text.removesuffix("_score").lower()):
        if name.startswith("r"):
            return (
                "of a pool of queries with all their candidates, the first k of each predicted positive, it is "
                "Metric('recall'), and its mean over queries Metric('recall', by='query', average='macro'); of one "
                "ranked list the question PrecisionCurve has recall at every rank."
            )
        return (
            "of one ranked list the question PrecisionCurve has precision, recall and F1 at every rank; of many short "
            "ones Rate is the mean precision, and Rate or Mean by the rank has it, or the mean grade, rank by rank."
        )
    others = near_names(text, _OTHER_NAMES, cutoff=1.0, end="_score")
    near = [_OTHER_NAMES[other] for other in others] or near_names(text, MEASURES, cutoff=0.5, end="_score")
    return f"did you mean {', '.join(map(repr, near))}?" if near else f"the measures are {', '.join(MEASURES)}."


def measure(name: str, **options: object) -> Measure:
    """Return a measure by its name, scikit-learn's with or without the ending ``_score``.

    Parameters
    ----------
    name : str
        One of `MEASURES`. Where scikit-learn has the name, values on a fully labelled pool are equal to its.
    **options
        ``average`` of precision, recall, f1, fbeta and jaccard: "binary" (default), "macro", "micro", "weighted" or
        None, the last for one output per class; ``f1_macro`` and ``f1_per_class`` are short for
        ``measure("f1", average="macro")`` and ``average=None``. ``beta`` of fbeta. ``weights`` of cohen_kappa.

    Returns
    -------
    Measure

    Raises
    ------
    QuestionError
        If there is no such measure or option; the message lists near names.

    Notes
    -----
    Undefined ratios (0/0) count as 0 without a warning, scikit-learn's ``zero_division=0``; Cohen's kappa as with
    ``replace_undefined_by=0``; balanced accuracy is the mean over the classes that have labels. Averages run over
    all classes of the pool, also those neither predicted nor labelled, scikit-learn's ``labels=``. The measures of the
    order of all scores, roc_auc and average_precision, are of one positive class. Not
    scikit-learn's are rate (the share of positive labels, whatever is predicted), specificity, fowlkes_mallows,
    brier_nh, explained_share ([NH] Tables 1 and 2) and seme_f1_macro ([SEME] app. D). The measures of regression
    (mean_absolute_error, mean_squared_error, root_mean_squared_error, r2, explained_share; "mae", "mse" and "rmse" are
    short for the first three) are of pools whose labels are numbers, see `bayes_assess.pool.numbers.NumberPool`.

    Examples
    --------
    >>> from bayes_assess.measures import measure
    >>> measure("f1_macro") is measure("f1_score", average="macro")
    True
    >>> measure("fbeta", beta=2).name
    'fbeta(2)'
    >>> measure("f1_marco")
    Traceback (most recent call last):
        ...
    bayes_assess.errors.QuestionError: There is no measure 'f1_marco'; did you mean 'f1_macro', ...?
    """
    text = _SHORT.get(str(name), str(name))
    make = MEASURES.get(text) or MEASURES.get(text.removesuffix("_score"))
    if make is None:
        if text in ("mean", "average"):
            raise QuestionError(
                f"There is no measure {show(name)}; the mean of what labels stand for is the question ba.Mean(), "
                "--question mean on the command line."
            )
        raise QuestionError(f"There is no measure {show(name)}; {_meant(text)}")
    try:
        inspect.signature(make).bind(**options)
    except TypeError as error:
        known = [key for key in inspect.signature(make).parameters if key in ("average", "beta", "weights")]
        such = f" Say it in Python: ba.measures.measure({name!r}, beta=2)." if "beta" in {*known} - {*options} else ""
        raise QuestionError(
            f"Measure {name!r} takes {' and '.join(known) if known else 'no options'}: {error}.{such}"
        ) from None
    return make(**options)


def describe_measure(one: object) -> str | dict[str, object]:
    """Say in plain values which of `MEASURES` this is: its name, or a dictionary of name and options.

    Raises
    ------
    QuestionError
        If it is none of them.

    Examples
    --------
    >>> from bayes_assess.measures import measure
    >>> describe_measure(measure("f1", average=None))
    'f1_per_class'
    >>> describe_measure(measure("fbeta", beta=2, average="macro"))
    {'measure': 'fbeta_macro', 'beta': 2.0}
    """
    called = getattr(one, "name", one)
    name, options = getattr(one, "made_by", None) or (str(called), ())
    if one is classification.mean_of():  # of which only comparisons are told by name, with the values beside it
        return "mean"
    try:
        known = isinstance(one, Measure) and measure(name, **dict(options)) is one
    except QuestionError:
        known = False
    if not known:
        raise QuestionError(
            f"A journal keeps measures by name; {called!r} has functions of its own, which it cannot keep. "
            "Leave out the journal."
        )
    plain = {option: "inf" if value == math.inf else value for option, value in options}  # which JSON lacks
    return {"measure": name, **plain} if options else name


def described_measure(description: Mapping[str, object]) -> Measure:
    """Make the measure of a dictionary, see `describe_measure`.

    Examples
    --------
    >>> described_measure({"measure": "fbeta", "beta": 2.0}).name
    'fbeta(2)'
    """
    options: dict[str, Any] = {name: math.inf if value == "inf" else value for name, value in description.items()}
    return measure(options.pop("measure"), **options)


def _averaged(kind: str, *, average: str | None = "binary") -> Measure:
    return _ratio(kind, kind, average)


def _f1(*, average: str | None = "binary") -> Measure:
    return _ratio("f1", "fbeta", average)


def _fbeta(*, beta: float, average: str | None = "binary") -> Measure:
    known = isinstance(beta, int | float) and not isinstance(beta, bool)
    if not (known and (0 <= beta <= LARGEST or beta == math.inf)):
        raise QuestionError(
            f"The beta of an F-measure is a number of at least 0, up to {LARGEST:g} or infinite; found {show(beta)}."
        )
    share = 1.0 if math.isinf(beta) else beta**2 / (1 + beta**2) if beta * LARGEST > 1 else 0.0
    return _ratio("fbeta", "fbeta", average, share, float(beta))


def _ratio(name: str, kind: str, average: str | None, share: float = 0.5, beta: float | None = None) -> Measure:
    average = "per_class" if average is None else average
    if not is_one_of(average, _AVERAGES):
        raise QuestionError(
            f"The averages are {', '.join(map(repr, _AVERAGES[2:]))}, 'binary' and None (per class); found "
            f"{show(average)}."
        )
    stem = name if average in ("binary", "per_class") else f"{name}_{average}"
    ending = "" if beta is None else f"({beta:g})"
    made_by = (f"{name}_{average}" if average != "binary" else name, () if beta is None else (("beta", beta),))
    return ratio(stem + ending, kind, average, share, made_by)


def _all() -> Mapping[str, Callable[..., Measure]]:
    makers: dict[str, Callable[..., Measure]] = {
        "accuracy": classification.accuracy,
        "balanced_accuracy": classification.balanced_accuracy,
        "rate": classification.rate,
        "zero_one_loss": partial(classification.error_rate, "zero_one_loss"),
        "hamming_loss": partial(classification.error_rate, "hamming_loss"),
    }
    families: dict[str, Callable[..., Measure]] = {
        "precision": partial(_averaged, "precision"),
        "recall": partial(_averaged, "recall"),
        "f1": _f1,
        "fbeta": _fbeta,
        "jaccard": partial(_averaged, "jaccard"),
    }
    for name, make in families.items():
        makers[name] = make
        makers |= {f"{name}_{average}": _fix_average(make, average) for average in _AVERAGES[1:]}
    return MappingProxyType(
        makers
        | {
            "seme_f1_macro": seme_f1_macro,
            "specificity": lambda: ratio("specificity", "specificity"),
            "matthews_corrcoef": classification.matthews_corrcoef,
            "cohen_kappa": classification.cohen_kappa,
            "fowlkes_mallows": classification.fowlkes_mallows,
            "brier_score_loss": classification.brier_score_loss,
            "brier_nh": classification.brier_nh,
            "log_loss": classification.log_loss,
            "roc_auc": roc_auc,
            "average_precision": average_precision,
            "mean_absolute_error": regression.mean_absolute_error,
            "mean_squared_error": regression.mean_squared_error,
            "root_mean_squared_error": regression.root_mean_squared_error,
            "r2": regression.r2,
            "explained_share": regression.explained_share,
        }
    )


def _fix_average(make: Callable[..., Measure], average: str) -> Callable[..., Measure]:
    if "beta" in inspect.signature(make).parameters:
        return lambda *, beta: make(beta=beta, average=average)
    return lambda: make(average=average)


MEASURES: Mapping[str, Callable[..., Measure]] = _all()
"""Makers of the measures by name; call `measure` rather than these."""

OF_CLASSES_THAT_OCCUR = ("balanced_accuracy",)
"""Averages that leave out the classes that no item is of."""

LOSSES = frozenset(
    (
        "zero_one_loss",
        "hamming_loss",
        "brier_score_loss",
        "log_loss",
        "mean_absolute_error",
        "mean_squared_error",
        "root_mean_squared_error",
    )
)
"""Measures of which less is better."""
