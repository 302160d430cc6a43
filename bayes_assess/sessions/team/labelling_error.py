"""Labels that may be wrong: how many are, by items that two annotators labelled, and what answers then are worth.

Every annotator errs at any item with one probability e, whatever the item, its label and its prediction, and apart from
the others; of C - 1 wrong labels all are alike probable, s = 1 / (C - 1). Two labels of one item then differ with the
probability

    delta = 1 - (1 - e)^2 - s e^2,

which is known from the items that two annotators have labelled: delta ~ Beta(1/2 + d, 1/2 + n - d), d of n items having
labels that differ. N labels of one item, n_c of them of class c, have the probability

    (1 / C) sum over c of (1 - e)^n_c (s e)^(N - n_c),

by which items with more than two labels count, also where the first two decided that there be a third; two labels give
delta and 1 - delta, up to factors. The label in force is wrong with odds of the sum over the other classes to its own
term; where a person decided on it, it is right, where a rule did, it is not known to be. w is the mean over the labels
in force of a group, where these are known, or over all.

Of a share p, such as the accuracy or the rate of positive labels, labels then show q = (1 - w) p + s w (1 - p), so that
draws of q from the posterior that takes labels for the truth, and of w, give p = (q - s w) / (1 - w - s w).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from bayes_assess._tools.levels import checked_level
from bayes_assess._tools.seeds import generator
from bayes_assess._tools.shapes import Float, Int
from bayes_assess._tools.text import plural
from bayes_assess.errors import LabelError, QuestionError
from bayes_assess.estimators.finite_pool import extended
from bayes_assess.results import Result
from bayes_assess.results._answer import Shares
from bayes_assess.sessions.campaign import Campaign

_DRAWS = 4_000
_POINTS = 4_000  # of e, at which its posterior is summed where items have more than two labels
_MOST = 0.3  # of e, beyond which labels say too little to be corrected for it


@dataclass(frozen=True, eq=False)
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
    draws: Float[np.ndarray, "S ..."] = field(repr=False)
    size: Int[np.ndarray, " G"] = field(repr=False)


@dataclass(frozen=True)
class LabellingError:
    """How often a label is wrong, by items that several annotators labelled; made by ``assessment.labelling_error()``.

    Parameters
    ----------
    differing : float
        Items whose labels differ, d where all have two.
    shared : int
        Items that two annotators or more labelled, n.
    n_classes : int
        C.
    kinds : tuples of integers
        Votes for labels in force, votes for every other label that has some (or 0), and how many such labels there are;
        no votes where a person decided.
    level : float in (0, 1)
        Of `interval`.
    seed : int
    several : tuple of (tuple of int, int)
        Votes of items with more than two labels by class, those without any left out, and how many such items there
        are; they are among the `shared` ones.
    labels : (items, kinds), arrays of integers, optional
        All items that have a label, and which of `kinds` it is of.

    Examples
    --------
    >>> error = LabellingError(differing=18.0, shared=100, n_classes=2, kinds=((1, 0, 400),))
    >>> round(error.rate, 3), error.interval.round(2).tolist()  # 2 e (1 - e) is about .18
    (0.103, [0.06, 0.16])
    """

    differing: float
    shared: int
    n_classes: int
    kinds: tuple[tuple[int, ...], ...]
    level: float = 0.95
    seed: int = 0
    several: tuple[tuple[tuple[int, ...], int], ...] = ()
    labels: tuple[Int[np.ndarray, " n"], Int[np.ndarray, " n"]] | None = field(default=None, repr=False, compare=False)

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
        rng, same = generator(self.seed, "labelling error"), 1 / (self.n_classes - 1)
        if not self.several:
            return _errors_of(rng.beta(0.5 + self.differing, 0.5 + self.shared - self.differing, _DRAWS), same)
        d = self.differing - sum(n for votes, n in self.several if len(votes) > 1)  # of items with two labels
        n = self.shared - sum(n for _, n in self.several)
        # On points x, delta = sin(x)^2 / (1 + s), over which the prior of delta is nearly flat.
        x = (np.arange(_POINTS) + 0.5) / _POINTS * np.pi / 2
        delta = np.sin(x) ** 2 / (1 + same)
        score = (d - 0.5) * np.log(delta) + (n - d - 0.5) * np.log1p(-delta) + np.log(np.sin(2 * x))
        for votes, n_items in self.several:
            score += n_items * np.log(_votes(_errors_of(delta, same), self.n_classes, votes).sum(0))
        weight = np.exp(score - score.max())
        ends = np.pi / 2 * np.arange(_POINTS + 1) / _POINTS
        drawn = np.interp(rng.random(_DRAWS), np.append(0.0, np.cumsum(weight)) / weight.sum(), ends)
        return _errors_of(np.sin(drawn) ** 2 / (1 + same), same)

    def adjusted(self, result: Result) -> Adjusted:
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
            raise LabelError(
                f"Labels differ on {self.differing:,.0f} of {plural(self.shared, 'item')}, so that up to "
                f"{self.interval[1]:.0%} may be wrong: too many, or too few items with two labels to tell. Let "
                "annotators label more of the same items, or agree on what the labels mean."
            )
        draws = np.asarray(shares.draws, np.float64)
        rng, same = generator(self.seed, "adjusted"), 1 / (self.n_classes - 1)
        w = self._wrong_among(self._kinds_by_group(shares))[rng.choice(_DRAWS, len(draws))]
        w = w if draws.ndim > 1 else w[:, 0]
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
        return self._wrong_among(self._of_all)[:, 0]

    @property
    def _of_all(self) -> Float[np.ndarray, "n 1"]:
        """Labels of all groups together, by kind."""
        return np.array([[n] for *_, n in self.kinds], np.float64)

    def _kinds_by_group(self, shares: Shares) -> Float[np.ndarray, "n G"]:
        """Count labels by kind and group, those of all in the place of groups that have none or are not known."""
        if shares.group_of is None or self.labels is None:
            return self._of_all
        items, kind = self.labels
        by_group = np.zeros((len(self.kinds), shares.draws.shape[-1]))
        np.add.at(by_group, (kind, shares.group_of(items)), 1)
        return np.where(by_group.sum(0) > 0, by_group, self._of_all)

    def _wrong_among(self, counts: Float[np.ndarray, "n G"]) -> Float[np.ndarray, "S G"]:
        """Return the probability that one of so many labels of every kind is wrong, by draws of e."""
        probability = np.zeros((len(self.draws), counts.shape[1]))
        for (*votes, _), share in zip(self.kinds, counts / counts.sum(0), strict=True):
            if any(votes):
                of_classes = _votes(self.draws, self.n_classes, votes)
                probability += np.outer(of_classes[1:].sum(0) / np.maximum(of_classes.sum(0), 1e-300), share)
        return probability


def _errors_of(delta: Float[np.ndarray, " S"], same: float) -> Float[np.ndarray, " S"]:
    """Return e by how often labels differ: the lesser root of (1 + s) e^2 - 2 e + delta = 0."""
    return (1 - np.sqrt(np.maximum(1 - (1 + same) * delta, 0.0))) / (1 + same)


def _votes(e: Float[np.ndarray, " S"], n_classes: int, votes: Sequence[int]) -> Float[np.ndarray, "C S"]:
    """Return the probability of an item's votes given that it is of each class that has some, and of all others."""
    right, other, total = 1 - e, e / (n_classes - 1), sum(votes)
    voted = [n for n in votes[1:] if n]
    of_classes = [right**n * other ** (total - n) for n in (votes[0], *voted)]
    return np.array([*of_classes, (n_classes - 1 - len(voted)) * other**total])


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
        here = "sets of classes" if pool.multilabel else "numbers" if pool.exact is not None else "of one class"
        raise LabelError(
            "How often labels are wrong is known of items with one label each, of two classes or more; here labels are "
            f"{here}."
        )
    if not len(book.shared):
        raise LabelError(
            "No item has labels of two annotators yet, so that nothing shows how often labels are wrong; let a second "
            "one label some of the same items, and say whose labels they are when they are told."
        )
    patterns: Counter[tuple[int, ...]] = Counter()
    votes_of: dict[int, tuple[int, ...]] = {}
    shared, decided = set(book.shared.tolist()), book.decided
    for item, code in zip(*(column.tolist() for column in campaign._items.told), strict=True):
        by_code = Counter(book.of_item(item).values()) if item in shared else Counter((code,))
        if item in shared:
            patterns[tuple(sorted(by_code.values(), reverse=True))] += 1
        ours = by_code.pop(code, 0)
        votes_of[item] = (0, 0) if item in decided else (ours, *(sorted(by_code.values(), reverse=True) or (0,)))
    kinds = sorted(Counter(votes_of.values()).items())
    place = {votes: at for at, (votes, _) in enumerate(kinds)}
    several = tuple((votes, n) for votes, n in sorted(patterns.items()) if sum(votes) > 2)
    return LabellingError(
        differing=sum(n for votes, n in patterns.items() if len(votes) > 1),
        shared=len(shared),
        n_classes=pool.n_classes,
        kinds=tuple((*votes, n) for votes, n in kinds),
        level=level,
        seed=campaign._seed,
        several=several,
        labels=(np.array(list(votes_of), np.intp), np.array([place[votes] for votes in votes_of.values()], np.intp)),
    )
