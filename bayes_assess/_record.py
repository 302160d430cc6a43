"""What a journal keeps of a session besides its asks and labels: enough to start the same session again."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

import numpy as np

from bayes_assess.cells import Cells
from bayes_assess.designs import Design, find_design
from bayes_assess.errors import JournalError
from bayes_assess.journal import Journal
from bayes_assess.models import BetaBernoulli
from bayes_assess.partition import ScoreBins
from bayes_assess.pool import Pool
from bayes_assess.questions import QUESTIONS, GroupAccuracy


def describe(
    pool: Pool,
    question: GroupAccuracy,
    design: Design,
    prior: BetaBernoulli,
    cells: Cells,
    seed: int,
    source: Mapping[str, Any] | None,
) -> dict[str, Any]:
    """Say in plain values all that a resumed session needs besides the pool."""
    return {
        "pool": pool.fingerprint(),
        "question": question.describe(),
        "design": {"name": design.name, "options": vars(design)},
        "prior": {"a": np.asarray(prior.a), "b": np.asarray(prior.b)},
        "cells": digest(cells.codes),
        "seed": seed,
        "source": source,
    }


def read_description(
    book: Journal, pool: Pool, question: GroupAccuracy | None
) -> tuple[GroupAccuracy, Design, BetaBernoulli, int]:
    """Rebuild question, design, prior and seed from a journal of this pool."""
    meta = book.meta
    if meta["pool"] != pool.fingerprint():
        raise JournalError(
            f"The journal {str(book.path)!r} belongs to another pool: predictions, scores, ids, classes and groups "
            "must be the same as when it was started."
        )
    question = _described_question(meta["question"]) if question is None else question
    found = find_design(meta["design"]["name"], question.reward)
    design = type(found)(**meta["design"]["options"])
    prior = BetaBernoulli(np.asarray(meta["prior"]["a"]), np.asarray(meta["prior"]["b"]))
    return question, design, prior, meta["seed"]


def _described_question(description: Mapping[str, Any]) -> GroupAccuracy:
    options = {key: value for key, value in description.items() if key not in ("question", "by")}
    by = description["by"]
    if isinstance(by, dict):
        if "array" in by:
            raise JournalError("The groups of this journal were given as an array; pass resume(..., question=...) too.")
        by = ScoreBins(by["bins"], kind=by["kind"])
    return QUESTIONS[description["question"]](by, **options)


def digest(codes: np.ndarray) -> str:
    """Fingerprint the assignment of items to cells."""
    return hashlib.sha256(codes.astype(np.uint32).tobytes()).hexdigest()
