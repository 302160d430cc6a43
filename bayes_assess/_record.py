"""What a session writes into its journal, and how a journal becomes a session again."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np

from bayes_assess.designs import Design, find_design, reserve_batch
from bayes_assess.errors import JournalError
from bayes_assess.journal import Journal
from bayes_assess.models import BetaBernoulli
from bayes_assess.partition import ScoreBins
from bayes_assess.pool import Pool
from bayes_assess.questions import QUESTIONS, GroupAccuracy

if TYPE_CHECKING:
    from bayes_assess.assessment import Assessment


def describe(assessment: Assessment, seed: int, source: Mapping[str, Any] | None) -> dict[str, Any]:
    """Say in plain values all that a resumed session needs besides the pool."""
    return {
        "pool": assessment.pool.fingerprint(),
        "question": assessment.question.describe(),
        "design": {"name": assessment.design.name, "options": vars(assessment.design)},
        "prior": {"a": np.asarray(assessment.prior.a), "b": np.asarray(assessment.prior.b)},
        "cells": _digest(assessment.cells.codes),
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


def replay(assessment: Assessment, book: Journal) -> None:
    """Bring a fresh assessment to the state that the journal records; no decision is taken anew."""
    if book.meta["cells"] != _digest(assessment.cells.codes):
        raise JournalError(f"The journal {str(book.path)!r} was written with other groups than these.")
    for event in book.events():
        items = assessment.pool.positions(np.asarray(event.payload["ids"]))
        if event.kind == "tell":
            assessment._learn(items, assessment.pool.label_codes(event.payload["labels"]))
            continue
        cells = assessment.cells.codes[items].astype(np.int64)
        if not np.array_equal(items, assessment._take(cells)):
            raise JournalError(f"Entry {event.sequence} of the journal does not follow from those before it.")
        state = reserve_batch(assessment._state, cells)
        with jax.enable_x64(True):
            state = replace(state, queue=jnp.asarray(event.payload["queue"], jnp.int64))
        assessment._hand_out(items, cells, state)


def _described_question(description: Mapping[str, Any]) -> GroupAccuracy:
    options = {key: value for key, value in description.items() if key not in ("question", "by")}
    by = description["by"]
    if isinstance(by, dict):
        if "array" in by:
            raise JournalError("The groups of this journal were given as an array; pass resume(..., question=...) too.")
        by = ScoreBins(by["bins"], kind=by["kind"])
    return QUESTIONS[description["question"]](by, **options)


def _digest(codes: np.ndarray) -> str:
    return hashlib.sha256(codes.astype(np.uint32).tobytes()).hexdigest()
