"""Questions, designs and priors as plain values and back, for journals and for the command line.

A question or a design is described by its name and its options: the parameters of its class, each turned into numbers,
texts, lists and dictionaries. Nothing else spells an option out, so that one that is added to a class is kept by
journals too. What a journal cannot hold are values of every item: groups, predictions of another system, scores or
features that strata are cut from. Of these last it holds a digest, by which others are refused.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import fields
from datetime import date, time
from typing import Any

import numpy as np

from bayes_assess._tools.arrays import listing
from bayes_assess._tools.axes import T
from bayes_assess.designs import DESIGNS, Design, find_design
from bayes_assess.designs.ranked import RANKED_DESIGNS, RankedDesign
from bayes_assess.errors import JournalError, PriorError, QuestionError
from bayes_assess.measures import Measure, PRCurveMeasure, describe_measure, described_measure
from bayes_assess.models.belief import Belief
from bayes_assess.models.beta_bernoulli import BetaBernoulli
from bayes_assess.models.dirichlet_confusion import DirichletConfusion
from bayes_assess.models.hierarchical_accuracy import HierarchicalAccuracy
from bayes_assess.models.hierarchical_calibration import HierarchicalCalibration
from bayes_assess.models.hierarchical_confusion import HierarchicalConfusion
from bayes_assess.models.paired_outcomes import PairedOutcomes
from bayes_assess.models.sampled_belief import SampledBelief
from bayes_assess.models.true_positive_rate import LearnedTruePositiveRate, TruePositiveRate
from bayes_assess.pool._fingerprint import digest
from bayes_assess.pool.cells import Cells
from bayes_assess.pool.groups import Cut, ScoreBins
from bayes_assess.pool.pool import Pool
from bayes_assess.pool.ranked import RankedList
from bayes_assess.pool.strata import FeatureStrata, Strata
from bayes_assess.questions import (
    QUESTIONS,
    PrecisionCurve,
    Question,
    ScorePrior,
)
from bayes_assess.questions.precision_curve import RankedSetting, put_to_ranks
from bayes_assess.sessions.journal import Journal

_BELIEFS = {
    belief.__name__: belief
    for belief in (
        BetaBernoulli,
        DirichletConfusion,
        HierarchicalAccuracy,
        HierarchicalCalibration,
        HierarchicalConfusion,
        PairedOutcomes,
        SampledBelief,
        ScorePrior,
        TruePositiveRate,
        LearnedTruePositiveRate,
    )
}
# Beliefs of very many numbers that follow from a few: those, and what makes the belief of them.
_REBUILT: dict[type, tuple[tuple[str, ...], Callable[..., Any]]] = {
    HierarchicalCalibration: (("logit_score", "agreements", "labels"), HierarchicalCalibration.fit)
}
_CUTS: dict[str, tuple[type[Cut], str]] = {  # what names a cut in a description, and the option that it holds
    "bins": (ScoreBins, "n_bins"),
    "strata": (Strata, "n_strata"),
    "feature_strata": (FeatureStrata, "n_strata"),
}
_PER_ITEM = ("by", "first", "second", "of", "features")  # options whose arrays have a value for every item
_CUT_FROM = ("of", "features")  # those of strata, of which a digest is kept
_DIGITS = 16
_NEWER = "a newer release may have written it; upgrade bayes_assess to open it"


def describe(
    pool: Pool,
    question: Question,
    design: Design,
    prior: Belief,
    cells: Cells,
    seed: int,
    source: Mapping[str, object] | None,
    engine: str,
) -> dict[str, object]:
    """Say in plain values all that a resumed session needs besides the pool."""
    return {
        "pool": pool.fingerprint(),
        "items": pool.n_items,
        "question": describe_question(question),
        "design": describe_design(design),
        "prior": describe_belief(prior),
        "cells": cells.source.fingerprint(),
        "seed": seed,
        "source": source,
        "engine": engine,
    }


def read_description(
    book: Journal, pool: Pool, question: Question | None = None, design: Design | RankedDesign | None = None
) -> tuple[Question, Design, Belief, int]:
    """Rebuild question, design, prior and seed from a journal of this pool.

    Question and design need to be given where the journal does not hold them whole; they must be those of the journal.
    """
    meta = book.meta
    # Numbers may be taken as they are told, of a pool that also knows them rounded.
    items = meta["items"]
    if all(meta["pool"] != known.fingerprint() for known in (pool, pool.exact) if known is not None):
        how = _read_otherwise(meta["source"], pool)
        raise JournalError(f"The journal {str(book.path)!r} belongs to {pool.differs_from(meta['pool'], items)}.{how}")
    if question is None:
        question = described_question(meta["question"])
    else:
        _check_asks(book, question)
    if design is None:
        design = described_design(meta["design"])
    else:
        _check_chooses(book, design, meta["design"])
    question = question.for_pool(pool)
    design = find_design(design, question.n_sought, question.designs)
    return question, design, described_belief(meta["prior"]), meta["seed"]


def _read_otherwise(source: Mapping[str, Any] | None, pool: Pool) -> str:
    """Say with which groups the command line read the pool of a journal, if this one has others."""
    groups = None if source is None else source["options"].get("groups")
    if groups is None or set(groups) == set(pool.groups):
        return ""
    found = f"has {listing(list(pool.groups))}" if pool.groups else "has none"
    return f" The command line read it with groups={list(groups)}, and this one {found}."


def describe_ranked(
    ranked: RankedList, question: PrecisionCurve, design: RankedDesign, seed: int, source: Mapping[str, object] | None
) -> dict[str, object]:
    """Say in plain values all that a resumed session on a ranked list needs besides the list."""
    return {
        "pool": ranked.fingerprint(),
        "question": describe_question(question),
        "ranked_design": describe_design(design),
        "seed": seed,
        "source": source,
    }


def is_of_ranked_list(book: Journal) -> bool:
    """Whether a journal is of a session on a ranked list."""
    return "ranked_design" in book.meta


def read_ranked_description(
    book: Journal,
    pool: Pool | RankedList,
    question: Question | None = None,
    design: Design | RankedDesign | None = None,
) -> tuple[RankedSetting, int]:
    """Rebuild list, question, design and seed from a journal of this list, or of the pool that its scores rank."""
    meta = book.meta
    asked = question if question is not None else described_question(meta["question"])
    _check_asks(book, asked)
    described = meta["ranked_design"]
    chosen = _made("design", described["name"], RANKED_DESIGNS, described["options"]) if design is None else design
    _check_chooses(book, chosen, described)
    setting = put_to_ranks(asked, pool, chosen, meta["seed"])
    assert setting is not None  # as the journal is of a ranked list
    ranked = setting.pool
    if meta["pool"] != ranked.fingerprint():
        raise JournalError(
            f"The journal {str(book.path)!r} belongs to another list: scores, ids, classes and the order of items must "
            "be the same as when it was started. Either give it the list that it was started with, or start a session "
            "on this one and tell it the labels again."
        )
    return setting, meta["seed"]


def _check_chooses(book: Journal, design: object, kept: object) -> None:
    """Raise JournalError unless a design is that of a journal."""
    if not isinstance(design, Design | RankedDesign) or describe_design(design) != kept:
        raise JournalError(f"The journal {str(book.path)!r} is of another design: {kept}.")


def _check_asks(book: Journal, question: object) -> None:
    """Raise JournalError unless a question is that of a journal."""
    asked = book.meta["question"]
    if not isinstance(question, Question) or describe_question(question) != asked:
        raise JournalError(f"The journal {str(book.path)!r} asks another question: {asked}.")


def describe_question(question: Question) -> dict[str, object]:
    """Say in plain values what is asked.

    Raises
    ------
    QuestionError
        If the question is none of `QUESTIONS`, or has a measure without a name.

    Examples
    --------
    >>> import bayes_assess as ba
    >>> describe_question(ba.GroupAccuracy(ba.ScoreBins(5)))
    {'question': 'GroupAccuracy', 'by': {'bins': 5, 'kind': 'width'}, 'target': 'pool', 'covariates': []}
    """
    kind = question.made_by or type(question).__name__
    if kind not in QUESTIONS:
        raise QuestionError(
            f"A journal keeps the questions {', '.join(QUESTIONS)}; {kind} is none of them. Leave out the journal."
        )
    return {"question": kind, **_options(question)}


def described_question(description: Mapping[str, Any]) -> Question:
    """Make the question of a description, a journal's or the command line's.

    Raises
    ------
    JournalError
        If there is no such question or option, or the description leaves out values of items.

    Examples
    --------
    >>> described_question({"question": "LeastAccurate", "by": {"bins": 5, "kind": "width"}, "m": 2})
    LeastAccurate(by=ScoreBins(n_bins=5, kind='width'), target='pool', covariates=(), m=2)
    """
    options = {name: value for name, value in description.items() if name != "question"}
    return _made("question", description["question"], QUESTIONS, options)


def describe_design(design: Design | RankedDesign) -> dict[str, object]:
    """Say in plain values how items are chosen.

    Examples
    --------
    >>> from bayes_assess.designs import EpsilonGreedy
    >>> describe_design(EpsilonGreedy(epsilon=0.2))
    {'name': 'epsilon_greedy', 'options': {'epsilon': 0.2}}
    """
    return {"name": design.name, "options": _options(design)}


def described_design(description: Mapping[str, Any]) -> Design:
    """Make the design of a description.

    Raises
    ------
    JournalError
        If there is no such design or option, or the description leaves out values of items.

    Examples
    --------
    >>> described_design({"name": "epsilon_greedy", "options": {"epsilon": 0.2}})
    EpsilonGreedy(epsilon=0.2)
    """
    return _made("design", description["name"], DESIGNS, description["options"])


def describe_belief(belief: Any) -> dict[str, object]:
    """Say in plain values what is believed before any label.

    Raises
    ------
    PriorError
        If a journal cannot keep beliefs of this kind.

    Examples
    --------
    >>> import bayes_assess as ba
    >>> describe_belief(ba.BetaBernoulli([1.0, 2.0], [1.0, 1.0]))
    {'model': 'BetaBernoulli', 'parameters': {'a': [1.0, 2.0], 'b': [1.0, 1.0]}}
    """
    kind = type(belief).__name__
    if kind not in _BELIEFS:
        raise PriorError(
            f"A journal keeps priors of the kinds {', '.join(_BELIEFS)}; found {kind}. Leave out the journal, or keep "
            "it with one of these, such as draws of yours as a SampledBelief, and pass yours after labels as "
            "posterior= of ask and result."
        )
    names = tuple(field.name for field in fields(belief) if field.init)
    names, _ = _REBUILT.get(type(belief), (names, type(belief)))
    parameters = {name: getattr(belief, name) for name in names}
    plain = {
        name: describe_belief(value) if type(value).__name__ in _BELIEFS else np.asarray(value).tolist()
        for name, value in parameters.items()
        if value is not None
    }
    return {"model": kind, "parameters": plain}


def described_belief(description: Mapping[str, Any]) -> Belief:
    """Make the belief of a description.

    Raises
    ------
    JournalError
        If there is no such model.

    Examples
    --------
    >>> described_belief({"model": "BetaBernoulli", "parameters": {"a": [1.0, 3.0], "b": [1.0, 1.0]}}).mean.tolist()
    [0.5, 0.75]
    """
    kind = description["model"]
    if kind not in _BELIEFS:
        raise JournalError(f"There is no model {kind!r}; {_NEWER}.")
    parameters = {
        name: described_belief(value) if isinstance(value, Mapping) else np.asarray(value)
        for name, value in description["parameters"].items()
    }
    _, make = _REBUILT.get(_BELIEFS[kind], ((), _BELIEFS[kind]))
    return make(**parameters)


# -- options -----------------------------------------------------------------------------------------------------------


def _options(made: object) -> dict[str, object]:
    """Describe the options of a question, a design or a cut: the parameters of its class."""
    return {name: _plain(name, getattr(made, name)) for name in inspect.signature(type(made)).parameters}


def _plain(name: str, value: Any) -> object:
    """Turn an option into numbers, texts, lists and dictionaries."""
    if isinstance(value, np.datetime64 | date | time):  # by their texts groups are found, too
        return str(value)
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, Cut):
        key, counted = next((key, counted) for key, (kind, counted) in _CUTS.items() if type(value) is kind)
        return {key if option == counted else option: plain for option, plain in _options(value).items()}
    if isinstance(value, Measure | PRCurveMeasure) or callable(value):
        return describe_measure(value)
    if name in _PER_ITEM:
        described = {"array": "of items"}
        return {**described, "digest": digest({name: value})[:_DIGITS]} if name in _CUT_FROM else described
    if isinstance(value, Mapping):  # whose keys JSON would turn into texts
        return {"pairs": [[key, element] for key, element in value.items()]}
    if isinstance(value, list | tuple):
        return [_plain(name, element) for element in value]
    return np.asarray(value).tolist()


def _value(value: object) -> object:
    """Turn a description of an option back."""
    if isinstance(value, list):
        return [_value(element) for element in value]
    if not isinstance(value, Mapping):
        return value
    if "pairs" in value:
        return {key: element for key, element in value["pairs"]}
    if "measure" in value:
        return described_measure(value)
    for key, (kind, counted) in _CUTS.items():
        if key in value:
            options = {counted if name == key else name: _value(x) for name, x in value.items()}
            return _checked(f"kind of {key}", kind, options)
    raise JournalError(f"There are no groups such as {dict(value)}; {_NEWER}.")


def _made(what: str, name: str, known: Mapping[str, Callable[..., T]], options: Mapping[str, object]) -> T:
    """Make what has this name, with described options."""
    if name not in known:
        raise JournalError(f"There is no {what} {name!r}; {_NEWER}.")
    for option, value in options.items():
        if _lacks_values(value):
            raise JournalError(
                f"This journal's {what} has in {option}= a value of every item, given as an array; "
                f"pass resume(journal, pool, {what}=...) with the same values, which journals do not keep."
            )
    return _checked(f"{what} {name!r}", known[name], {option: _value(value) for option, value in options.items()})


def _lacks_values(plain: object) -> bool:
    """Whether a description leaves out values of items."""
    return isinstance(plain, Mapping) and ("array" in plain or any(map(_lacks_values, plain.values())))


def _checked(what: str, make: Callable[..., T], options: Mapping[str, object]) -> T:
    """Make it, if it takes these options."""
    for option in options:
        if option not in inspect.signature(make).parameters:
            raise JournalError(f"The {what} has no option {option!r}; {_NEWER}.")
    return make(**options)
