"""The precision of a ranked list at every rank, from a belief that learns what the scores mean."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from bayes_assess._tools.arrays import quotient
from bayes_assess._tools.seeds import generator
from bayes_assess._tools.shapes import Bool, Float, Int
from bayes_assess._tools.text import labels_suggest, rounded
from bayes_assess._tools.to_arviz import ArvizData
from bayes_assess.estimators.posterior_measure import posterior_measure
from bayes_assess.estimators.precision_bounds import positives_in_all
from bayes_assess.results._average_precision import average_precisions
from bayes_assess.results._in_words import CONTRADICTING, guarantee_in_words
from bayes_assess.results.evidence._on_measures import Variables
from bayes_assess.results.evidence.believed import Believed
from bayes_assess.results.sections.ranked_curve import Bounded, RankedCurve


@dataclass(frozen=True, eq=False, repr=False)
class BelievedCurve(RankedCurve):
    """The precision curve from a belief that learns what the scores mean.

    Between the thresholds that the belief is asked about, positives are taken to be in random order, but for those that
    labels show among the first items. The band is credible at every rank by itself; where random items contradict the
    belief somewhere, it holds their intervals too.

    Attributes
    ----------
    first_labels : (F,) integers
        Labels of the first items, best first: 1, 0, or -1 where there is none.
    """

    evidence: Believed
    first_labels: Int[np.ndarray, " F"]

    @property
    def guarantee(self) -> str:
        """What the band promises: all of it holds what random items alone say, where these contradict the belief."""
        return "anytime" if self._is_contradicted else self.evidence.guarantee

    @property
    def assumption(self) -> str:
        """What the band leans on."""
        if self._is_contradicted:
            return "Nothing is assumed of the scores: random items contradict what the other labels suggest."
        return self.evidence.assumption

    @property
    def promise(self) -> str:
        """What the band promises, in a sentence."""
        return guarantee_in_words(self.guarantee, self.evidence.level)

    @property
    def contradicted(self) -> Bool[np.ndarray, " k"]:
        """Whether random items contradict the belief, of precision and recall at the ranks of `draws`."""
        return self.evidence.shaped(self.evidence.contradicted)

    @property
    def _is_contradicted(self) -> bool:
        return bool(np.any(self.evidence.contradicted))

    @property
    def n_items(self) -> int:
        """Length of the list, N."""
        return self.evidence.cells.n_items

    def average_precision(self) -> Bounded:
        """Return the mean over all positives of the precision at their ranks, with bounds."""
        counts = np.diff(self._positives, axis=1, prepend=0)
        draws = average_precisions(
            generator(self.evidence.seed, "order of positives"), self._ranks, counts, self.first_labels
        )
        return Bounded(float(np.median(draws)), *np.quantile(draws, self.evidence._tails()).tolist())

    def answer(self) -> list[str]:
        """Say the answer, a sentence per line."""
        n, known = self.n_items, labels_suggest(self.evidence.labels_learned)
        tenth, (value, lower, upper) = max(1, n // 10), self._at(n)
        first = rounded(self._at(tenth)[0])
        said = f"Precision is {first} in the first {tenth:,} items and {rounded(value)} in all {n:,}"
        if self.evidence.exact:
            return [f"{said} (exact)."]
        lines = [f"{said}, {self.evidence.level:.0%} {self.guarantee} interval [{rounded(lower)}, {rounded(upper)}]."]
        if self._is_contradicted:
            lines.append(
                f"{CONTRADICTING} the scores: what they say of some rank and what the other labels suggest have "
                "no value in common. The band holds both."
            )
        else:
            lines.append(f"The band holds the precision of every rank by itself, if the scores rank as {known}.")
        return [*lines, self._without_trust()]

    def _without_trust(self) -> str:
        if not self.evidence.audited:
            return self.evidence.leaning()
        n = len(self._ranks)
        design, said = self.evidence.design_interval[:n][::-1], self.evidence.said_of_random_labels()
        known = np.flatnonzero(np.ptp(design, axis=1) < 1)  # bets are kept at some of the thresholds
        if not len(known):
            return f"Without trusting the scores, nothing can be said yet; {said}."
        rank, (lower, upper) = self._ranks[known[-1]], design[known[-1]]
        where = "all" if rank == self.n_items else f"the first {rank:,} items"
        return f"Without trusting the scores: [{rounded(lower)}, {rounded(upper)}] in {where}; {said}."

    def to_arviz(self, parameters: bool, attributes: dict[str, object]) -> ArvizData:
        """Return posterior draws of precision and recall at the ranks of the belief's thresholds."""
        return self.evidence.to_arviz(self._variables, parameters, attributes)

    def _at(self, rank: int) -> list[float]:
        return self.precision(np.array([rank]))[0].tolist()

    def _variables(self) -> Variables:
        n = len(self._ranks)
        parts = {name: self.draws[:, i * n : (i + 1) * n][:, ::-1] for i, name in enumerate(("precision", "recall"))}
        return Variables(parts, {name: ["rank"] for name in parts}, {"rank": self._ranks})

    @property
    def _ranks(self) -> Int[np.ndarray, " T"]:
        """Ranks of the thresholds, increasing."""
        return self.question.ranks(self.evidence.cells)[::-1]

    @cached_property
    def _positives(self) -> Float[np.ndarray, "S T"]:
        """Draws of the positives down to the ranks of the thresholds."""
        n = len(self._ranks)
        return self.draws[:, :n][:, ::-1] * self._ranks

    def _draws_of_positives(self, ranks: Int[np.ndarray, " n"]) -> Float[np.ndarray, "S n"]:
        known = np.concatenate([[0], self._ranks])
        counts = np.concatenate([np.zeros((len(self._positives), 1)), self._positives], axis=1)
        after = np.clip(np.searchsorted(known, ranks), 1, len(known) - 1)
        start, end = known[after - 1], known[after]
        told = self._told_positives(ranks) - self._told_positives(start)
        told_in_all = self._told_positives(end) - self._told_positives(start)
        size = self._unlabelled(end) - self._unlabelled(start)
        before = self._unlabelled(ranks) - self._unlabelled(start)
        good = np.clip(counts[:, after] - counts[:, after - 1] - told_in_all, 0, size)  # sums are rounded
        # Of `good` positives among `size` items in random order, the first `before` hold a hypergeometric number, whose
        # quantiles are close to normal ones; a draw's stands at the same quantile everywhere.
        share = before / np.maximum(size, 1)
        spread = np.sqrt(share * (1 - share) * good * (1 - good / np.maximum(size, 1)) * size / np.maximum(size - 1, 1))
        drawn = good * share + spread * self._quantiles[:, None]
        drawn = np.clip(drawn, np.maximum(0, before - (size - good)), np.minimum(before, good))
        return counts[:, after - 1] + told + drawn

    def _told_positives(self, ranks: Int[np.ndarray, " n"]) -> Int[np.ndarray, " n"]:
        """Count the positives among the labels of the first items, down to ranks."""
        return np.append(0, np.cumsum(self.first_labels == 1))[np.minimum(ranks, len(self.first_labels))]

    def _unlabelled(self, ranks: Int[np.ndarray, " n"]) -> Int[np.ndarray, " n"]:
        """Count the items down to ranks, but for those of the first that have a label."""
        return ranks - np.append(0, np.cumsum(self.first_labels >= 0))[np.minimum(ranks, len(self.first_labels))]

    @cached_property
    def _quantiles(self) -> Float[np.ndarray, " S"]:
        """Standard normal numbers, one of every draw."""
        return generator(self.evidence.seed, "positions").standard_normal(len(self._positives))

    def precision(self, ranks: Int[np.ndarray, " n"]) -> Float[np.ndarray, "n 3"]:
        """Return estimates and bands of the precision."""
        band = self._bounded(self._draws_of_positives(ranks) / ranks)
        return self._held(band, *(count / ranks for count in self._counts_without_trust(ranks)))

    def recall(self, ranks: Int[np.ndarray, " n"]) -> Float[np.ndarray, "n 3"]:
        """Return estimates and bands of the recall."""
        band = self._bounded(quotient(self._draws_of_positives(ranks), self._positives[:, -1:]))
        (lower, most), (upper, fewest) = self._positives_without_trust(ranks)
        return self._held(band, quotient(lower, most), quotient(upper, fewest))

    def f1(self, ranks: Int[np.ndarray, " n"]) -> Float[np.ndarray, "n 3"]:
        """Return estimates and bands of F1."""
        band = self._bounded(2 * self._draws_of_positives(ranks) / (ranks + self._positives[:, -1:]))
        (lower, most), (upper, fewest) = self._positives_without_trust(ranks)
        return self._held(band, 2 * lower / (ranks + most), 2 * upper / (ranks + fewest))

    def _positives_without_trust(self, ranks: Int[np.ndarray, " n"]) -> list[tuple[np.ndarray, np.ndarray]]:
        """Return positives down to ranks and in all by random items alone, of the least recall and of the greatest."""
        lower, upper = self._counts_without_trust(ranks)
        total = self._counts_without_trust(np.array([self.n_items]))
        most, fewest = positives_in_all(ranks, (lower, upper), total, self.n_items)
        return [(lower, most), (upper, fewest)]

    def _bounded(self, draws: Float[np.ndarray, "S n"]) -> Float[np.ndarray, "n 3"]:
        """Take medians and credible intervals, of which the shortest ones may reach further than equal-tailed ones."""
        each = [posterior_measure(draw[:, None], self.evidence.exact) for draw in draws.T]  # of many, fewer quantiles
        bands = [
            np.concatenate([posterior.value[:, None], posterior.interval(self.evidence.level)], axis=1)
            for posterior in each
        ]
        return np.clip(np.concatenate(bands), 0, 1)  # sums are rounded

    def _held(self, found: Float[np.ndarray, "n 3"], lower: np.ndarray, upper: np.ndarray) -> Float[np.ndarray, "n 3"]:
        """Widen bands to hold what random items alone say, if these contradict the belief somewhere."""
        if not self._is_contradicted:
            return found
        ends = np.minimum(found[:, 1], lower), np.maximum(found[:, 2], np.minimum(upper, 1.0))
        return np.stack([found[:, 0], *ends], axis=-1)

    def _counts_without_trust(self, ranks: Int[np.ndarray, " n"]) -> tuple[np.ndarray, np.ndarray]:
        """Bound the positives down to ranks by random items alone: those of the thresholds before and after."""
        known, n = self._ranks, len(self._ranks)
        ends = self.evidence.design_interval[:n][::-1] * known[:, None]
        before = np.searchsorted(known, ranks, "right")
        fewest = np.append(0.0, np.maximum.accumulate(ends[:, 0]))[before]
        after = np.minimum(np.searchsorted(known, ranks), n - 1)
        most = np.minimum.accumulate(ends[::-1, 1])[::-1][after]
        return fewest, np.minimum(most, ranks)

    def turns(self) -> Int[np.ndarray, " k"]:
        """Return the ranks between which the lower band is a convex function of 1 / rank, from 1 to N."""
        return np.unique(np.concatenate([self._ranks, [1, self.n_items], self.shown_ranks]))
