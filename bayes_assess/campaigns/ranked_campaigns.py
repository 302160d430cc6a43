"""Replicated campaigns on ranked lists whose labels are all known."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from bayes_assess._tools.seeds import generator
from bayes_assess._tools.shapes import Bool, Int
from bayes_assess.campaigns.ranks import RankBook
from bayes_assess.designs.ranked import RankedDesign
from bayes_assess.pool.ranked import RankedList
from bayes_assess.questions import PrecisionCurve
from bayes_assess.questions.precision_curve import RankedRecord
from bayes_assess.results.precision_curve import PrecisionCurveResult


def run_ranked(
    ranked: RankedList,
    positive: Bool[np.ndarray, " N"],
    question: PrecisionCurve,
    design: RankedDesign,
    ranks: Int[np.ndarray, " T"],
    looks: Int[np.ndarray, " B"],
    repeats: int,
    seed: int,
    level: float,
    advance: Callable[[int], None],
) -> RankedRecord:
    """Run campaigns of one design.

    A plan's items are asked for as one batch: none of their labels has a say before all are told.

    Parameters
    ----------
    ranked : RankedList
    positive : (N,) booleans
        Whether the item of every rank is positive.
    question : PrecisionCurve
    design : RankedDesign
    ranks : (T,) integers
        At which to estimate.
    looks : (B,)
        Labels at which to look.
    repeats, seed : int
    level : float
        Of the bands.
    advance : function
        Told how many campaigns are done.

    Returns
    -------
    RankedRecord
    """
    found = np.empty((repeats, len(looks), len(ranks), 3))
    labels = np.empty((repeats, len(looks)), np.int64)
    for repeat, own in enumerate(generator(seed, "ranked campaigns").integers(2**62, size=repeats).tolist()):
        book = RankBook(design, question.promise, ranked.n_items, own)
        for at, look in enumerate(looks.tolist()):
            _label(book, positive, look)
            answer = PrecisionCurveResult.of(question, design, ranked, book.labels, book.plan, level)
            found[repeat, at] = np.stack(answer.at(ranks), axis=-1)
            labels[repeat, at] = answer.labels_used
        advance(1)
    return RankedRecord(found[..., 0], found[..., 1], found[..., 2], labels)


def _label(book: RankBook, positive: Bool[np.ndarray, " N"], n: int) -> None:
    """Go on until `n` items are labelled, or the design is done."""
    while book.labels.n_labelled < n and not book.done:
        ranks = book.draw(n - book.labels.n_labelled)
        book.hand_out(ranks)
        book.tell(ranks, positive[ranks - 1])
