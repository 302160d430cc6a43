"""What a journal keeps of a session besides its asks and labels: enough to start the same session again."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import fields
from typing import Any

import numpy as np

from bayes_assess.acquisition.rewards import Belief
from bayes_assess.cells import Cells
from bayes_assess.designs import Design, find_design
from bayes_assess.errors import JournalError
from bayes_assess.journal import Journal
from bayes_assess.models import BetaBernoulli, DirichletConfusion, PairedOutcomes
from bayes_assess.partition import ScoreBins
from bayes_assess.pool import Pool
from bayes_assess.questions import QUESTIONS, Question, ScorePrior
from bayes_assess.strata import Strata

_MODELS = {model.__name__: model for model in (BetaBernoulli, DirichletConfusion, PairedOutcomes, ScorePrior)}


def describe(
    pool: Pool,
    question: Question,
    design: Design,
    prior: Belief,
    cells: Cells,
    seed: int,
    source: Mapping[str, Any] | None,
) -> dict[str, Any]:
    """Say in plain values all that a resumed session needs besides the pool."""
    parameters = {field.name: np.asarray(getattr(prior, field.name)) for field in fields(prior)}
    return {
        "pool": pool.fingerprint(),
        "question": question.describe(),
        "design": {"name": design.name, "options": vars(design)},
        "prior": {"model": type(prior).__name__, "parameters": parameters},
        "cells": digest(cells.codes),
        "seed": seed,
        "source": source,
    }


def read_description(book: Journal, pool: Pool, question: Question | None) -> tuple[Question, Design, Belief, int]:
    """Rebuild question, design, prior and seed from a journal of this pool."""
    meta = book.meta
    if meta["pool"] != pool.fingerprint():
        raise JournalError(
            f"The journal {str(book.path)!r} belongs to another pool: predictions, scores, ids, classes and groups "
            "must be the same as when it was started."
        )
    if question is None:
        question = _described_question(meta["question"])
    elif not isinstance(question, Question) or not _same(question.describe(), meta["question"]):
        raise JournalError(f"The journal {str(book.path)!r} asks another question: {meta['question']}.")
    found = find_design(meta["design"]["name"], question.n_sought, question.designs)
    design = type(found)(**meta["design"]["options"])
    parameters = {name: np.asarray(values) for name, values in meta["prior"]["parameters"].items()}
    return question, design, _MODELS[meta["prior"]["model"]](**parameters), meta["seed"]


def _described_question(description: Mapping[str, Any]) -> Question:
    options = {name: _described_option(value) for name, value in description.items() if name != "question"}
    return QUESTIONS[description["question"]](**options)


def _same(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Whether two questions are the same; arrays are not compared, the groups that they make are."""

    def known(value):
        return not (isinstance(value, dict) and "array" in value)

    return one.keys() == other.keys() and all(
        one[name] == other[name] for name in one if known(one[name]) and known(other[name])
    )


def _described_option(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    if "array" in value:
        raise JournalError(
            "Groups or predictions of this journal were given as an array; pass resume(..., question=...) too."
        )
    if "strata" in value:
        return Strata.from_description(value)
    return ScoreBins(value["bins"], kind=value["kind"])


def digest(codes: np.ndarray) -> str:
    """Fingerprint the assignment of items to cells."""
    return hashlib.sha256(codes.astype(np.uint32).tobytes()).hexdigest()
