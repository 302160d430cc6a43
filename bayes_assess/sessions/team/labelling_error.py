"""Labels that may be wrong: how many are, by items that two annotators labelled, and what answers then are worth.

Every annotator errs at any item with one probability e, whatever the item, its label and its prediction, and apart from
the others; of C - 1 wrong labels all are alike probable, s = 1 / (C - 1). Two labels of one item then differ with the
probability

    delta = 1 - (1 - e)^2 - s e^2,

which is known from the items that two annotators or more have labelled: delta ~ Beta(1/2 + d, 1/2 + n - d), d of n
items having labels that differ, an item with more than two labels by the share of their pairs. Where a label in force
has f votes and the strongest other one a, it is wrong with odds of (1 - e)^a (s e)^f + (C - 2) (s e)^(f + a) to
(1 - e)^f (s e)^a; where somebody decided it is right. w is the mean over all labels in force.

Of a share p, such as the accuracy or the rate of positive labels, labels then show q = (1 - w) p + s w (1 - p), so that
draws of q from the posterior that takes labels for the truth, and of w, give p = (q - s w) / (1 - w - s w).
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from bayes_assess._tools.levels import checked_level
from bayes_assess._tools.seeds import generator
from bayes_assess._tools.shapes import Float, Int
from bayes_assess._tools.text import plural
from bayes_assess.errors import LabelError, QuestionError
from bayes_assess.estimators.finite_pool import extended
from bayes_assess.results import PrecisionCurveResult, Result
from bayes_assess.sessions.campaign import Campaign

_DRAWS = 4_000
_MOST = 0.3  # of e, beyond which labels say too little to be corrected for it


@dataclass(frozen=True)
class Adjusted:
    """An answer that counts on wrong labels.

    Attributes
    ----------
    estimate : (G,) floats, or a number
    interval : (G, 2) floats, or (2,)
    draws : (S, G) or (S,) floats
    size : (G,) integers
        Items of every group.
    """

    estimate: Float[np.ndarray, " G"] | float
    interval: Float[np.ndarray, "... 2"]
    draws: Float[np.ndarray, "S ..."]
    size: Int[np.ndarray, " G"]


@dataclass(frozen=True)
class LabellingError:
    """How often a label is wrong, by items that several annotators labelled; made by ``assessment.labelling_error()``.

    Parameters
    ----------
    differing : float
        Items whose labels differ, d; one with more than two labels by the share of their pairs.
    shared : int
        Items that two annotators or more labelled, n.
    n_classes : int
        C.
    kinds : tuple of (int, int, int)
        Votes for labels in force, votes for the strongest other label, and how many such labels there are; no votes
        where somebody decided.
    level : float in (0, 1)
        Of `interval`.
    seed : int
    by_pairs : bool
        Whether some of the items that differ have more than two labels.

    Examples
    --------
    >>> error = LabellingError(differing=18.0, shared=100, n_classes=2, kinds=((1, 0, 400),))
    >>> round(error.rate, 3), error.interval.round(2).tolist()  # 2 e (1 - e) is about .18
    (0.103, [0.06, 0.16])
    """

    differing: float
    shared: int
    n_classes: int
    kinds: tuple[tuple[int, int, int], ...]
    level: float = 0.95
    seed: int = 0
    by_pairs: bool = False

    @property
    def rate(self) -> float:
        """Posterior mean of e, the probability that an annotator's label is wrong."""
        return float(self.draws.mean())

    @property
    def interval(self) -> Float[np.ndarray, " 2"]:
        """Credible interval of e, at `level`; it holds `rate`, which a long tail may pull beyond equal tails."""
        return extended(np.quantile(self.draws, self._tails), self.rate)

    @cached_property
    def draws(self) -> Float[np.ndarray, " S"]:
        """Posterior draws of e, (S,)."""
        same, d = 1 / (self.n_classes - 1), self.differing
        delta = generator(self.seed, "labelling error").beta(0.5 + d, 0.5 + self.shared - d, _DRAWS)
        # The lesser root of (1 + s) e^2 - 2 e + delta = 0: annotators are right more often than not.
        return (1 - np.sqrt(np.maximum(1 - (1 + same) * delta, 0.0))) / (1 + same)

    def adjusted(self, result: Result | PrecisionCurveResult) -> Adjusted:
        """Return the answer that counts on wrong labels: moved by as many as are expected, and wider.

        Parameters
        ----------
        result : Result
            Of this session: accuracies of groups (`GroupAccuracy` and its like), or rates (`Rate`), with posterior
            draws.

        Raises
        ------
        QuestionError
            If the answer is no share of items that labels show one by one.
        LabelError
            If annotators differ so often that their labels may say hardly anything.

        Examples
        --------
        >>> import bayes_assess as ba
        >>> pool = ba.Pool(predictions=["cat"] * 900, classes=["cat", "dog"])
        >>> a = ba.assess(pool, ba.GroupAccuracy(), prior="uninformative")
        >>> labels = ["cat", "cat", "dog"] * 100
        >>> a.tell(range(300), labels, annotator="anna")
        >>> a.tell(range(100), ["dog"] * 6 + labels[6:100], annotator="ben")  # differs on four
        >>> counted = a.labelling_error().adjusted(a.result())
        >>> a.result().interval[0].round(2).tolist(), counted.interval[0].round(2).tolist()
        ([0.62, 0.71], [0.63, 0.72])
        """
        shares = result.item_shares
        if shares is None:
            raise QuestionError(
                "Wrong labels are counted on in accuracies of groups (GroupAccuracy, LeastAccurate, MostAccurate), in "
                "Metric('accuracy') and in rates (Rate), with the designs that give posterior draws; not in the answer "
                f"to {result.question.name}."
            )
        if self.interval[1] > _MOST:
            by_pairs = ", by the share of pairs where an item has more than two" * self.by_pairs
            differing = f"{round(self.differing, 2):,g} of {plural(self.shared, 'item')}{by_pairs}"
            raise LabelError(
                f"Labels differ on {differing}, so that up to "
                f"{self.interval[1]:.0%} may be wrong: too many, or too few items with two labels to tell. Let "
                "annotators label more of the same items, or agree on what the labels mean."
            )
        draws = np.asarray(shares.draws, np.float64)
        rng, wrong = generator(self.seed, "adjusted"), self._wrong
        w = rng.choice(wrong, len(draws)).reshape(-1, *(1,) * (draws.ndim - 1))
        same = 1 / (self.n_classes - 1)
        labelled, size = shares.labelled, shares.size
        # In the labels themselves as many are wrong as chance has it.
        moved = rng.normal(size=draws.shape) * np.sqrt(labelled * w * (1 - w)) / np.maximum(size, 1)
        informative = 1 - w - same * w
        # Labels that are right no more often than chance leave the share open.
        p = rng.random(draws.shape)
        np.divide(draws + moved - same * w, informative, out=p, where=np.broadcast_to(informative > 0, p.shape))
        p = np.clip(p, 0.0, 1.0)
        tails = [(1 - result.level) / 2, (1 + result.level) / 2]
        estimate = p.mean(0)
        interval = extended(np.moveaxis(np.quantile(p, tails, axis=0), 0, -1), estimate)  # which a long tail may pass
        if np.ndim(result.estimate) == 0:
            return Adjusted(float(estimate.ravel()[0]), interval.reshape(2), p, size)
        return Adjusted(estimate, interval, p, size)

    def summary(self) -> str:
        """Say it in a sentence, with what is assumed."""
        low, high = self.interval
        words = f"{self.level:.0%} credible interval"
        return (
            f"A label is wrong in {self.rate:.1%} of items, {words} [{low:.1%}, {high:.1%}], "
            "if annotators err independently, alike often on all items and classes, and not together."
        )

    def __repr__(self) -> str:
        return self.summary()

    @property
    def _tails(self) -> list[float]:
        return [(1 - self.level) / 2, (1 + self.level) / 2]

    @property
    def _wrong(self) -> Float[np.ndarray, " S"]:
        """Probability that a label in force is wrong, by draws of e."""
        e, total = self.draws, sum(n for *_, n in self.kinds)
        p_right, p_other = 1 - e, e / (self.n_classes - 1)
        probability = np.zeros_like(e)
        for ours, theirs, n in self.kinds:
            if ours:
                wrong = p_right**theirs * p_other**ours + (self.n_classes - 2) * p_other ** (ours + theirs)
                probability += n / total * wrong / np.maximum(wrong + p_right**ours * p_other**theirs, 1e-300)
        return probability


def labelling_error(campaign: Campaign, level: float) -> LabellingError:
    """Count how far annotators differ; see `LabellingError`.

    Raises
    ------
    LabelError
        If no item has labels of two annotators, or labels are no classes.
    """
    book, pool = campaign._annotators, campaign.pool
    level = checked_level(level)
    if pool.multilabel or pool.exact is not None or pool.n_classes < 2:
        raise LabelError("How often labels are wrong is known of items with one label each, of two classes or more.")
    if not len(book.shared):
        raise LabelError(
            "No item has labels of two annotators yet, so that nothing shows how often labels are wrong; let a second "
            "one label some of the same items, and say whose labels they are when they are told."
        )
    differing, by_pairs = 0.0, False
    for item in book.shared.tolist():
        codes = np.array(list(book.of_item(item).values()))
        pairs = len(codes) * (len(codes) - 1)
        apart = float((codes[:, None] != codes).sum() / pairs)
        differing, by_pairs = differing + apart, by_pairs or bool(apart and len(codes) > 2)
    kinds: Counter[tuple[int, int]] = Counter()
    shared = set(book.shared.tolist())
    for item, code in zip(*(column.tolist() for column in campaign._items.told), strict=True):
        if item in book.settled:
            kinds[0, 0] += 1
        elif item not in shared:
            kinds[1, 0] += 1
        else:
            by_code = Counter(book.of_item(item).values())
            ours = by_code.pop(code, 0)
            kinds[ours, max(by_code.values(), default=0)] += 1
    by_votes = tuple((*votes, n) for votes, n in sorted(kinds.items()))
    return LabellingError(differing, len(shared), pool.n_classes, by_votes, level, campaign._seed, by_pairs)
