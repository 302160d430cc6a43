"""The precision of a ranked list from a belief that learns what the scores mean."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float, Int

from bayes_assess._tools.tables import Table
from bayes_assess.estimators.posterior_measure import posterior_measure
from bayes_assess.questions.metric import cells_table
from bayes_assess.results._ranked import Bounded, RankedAnswer, plot_bands, share
from bayes_assess.results.belief_metric import BeliefMetricResult

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True, eq=False, repr=False)
class BeliefPrecisionCurveResult(BeliefMetricResult, RankedAnswer):
    """The precision curve from a belief that learns what the scores mean.

    Between the thresholds that the belief is asked about positives are taken to be spread evenly. The band is credible
    at every rank by itself; where random items contradict the belief somewhere, it holds their intervals too.
    """

    estimate = RankedAnswer.estimate  # at ranks, not at thresholds
    interval = RankedAnswer.interval

    @property
    def n_items(self) -> int:
        """Length of the list, N."""
        return self.cells.n_items

    def _average_precision(self) -> Bounded:
        ranks = self._ranks.astype(float)
        found = np.diff(self._positives, axis=1, prepend=0)
        precision = self._positives / ranks
        middle = (precision + np.concatenate([precision[:, :1], precision[:, :-1]], axis=1)) / 2
        draws = share((found * middle).sum(1), self._positives[:, -1])
        return Bounded(float(np.median(draws)), *np.quantile(draws, self._tails()).tolist())

    def plot(self, *, truth: Any = None, beside: RankedAnswer | None = None, ax: Axes | None = None) -> Axes:  # type: ignore[override]
        """Draw precision by rank with its credible band; see `PrecisionCurveResult.plot`."""
        return plot_bands(self, self.design, truth, beside, ax, None, None)

    def table(self) -> Table:
        """Tabulate precision, recall and F1 at ranks that grow geometrically."""
        return RankedAnswer.table(self)

    @property
    def _ranks(self) -> Int[np.ndarray, " T"]:
        """Ranks of the thresholds, increasing."""
        return self.question.ranks(self.cells)[::-1]

    @cached_property
    def _positives(self) -> Float[np.ndarray, "S T"]:
        """Draws of the positives down to the ranks of the thresholds."""
        n = len(cells_table(self.cells).thresholds)
        return self.found.draws[:, :n][:, ::-1] * self._ranks

    def _draws_of_positives(self, ranks: Int[np.ndarray, " n"]) -> Float[np.ndarray, "S n"]:
        known = np.concatenate([[0], self._ranks])
        counts = np.concatenate([np.zeros((len(self._positives), 1)), self._positives], axis=1)
        after = np.clip(np.searchsorted(known, ranks), 1, len(known) - 1)
        share = (ranks - known[after - 1]) / (known[after] - known[after - 1])
        return counts[:, after - 1] + share * (counts[:, after] - counts[:, after - 1])

    def _precision(self, ranks: Int[np.ndarray, " n"]) -> Float[np.ndarray, "n 3"]:
        found = self._bounded(self._draws_of_positives(ranks) / ranks)
        return self._held(found, *(count / ranks for count in self._counts_without_trust(ranks)))

    def _recall(self, ranks: Int[np.ndarray, " n"]) -> Float[np.ndarray, "n 3"]:
        found = self._bounded(share(self._draws_of_positives(ranks), self._positives[:, -1:]))
        (fewest, most), (least, all_) = self._counts_without_trust(ranks), self._counts_without_trust(self._last)
        return self._held(found, share(fewest, all_), share(most, least))

    def _f1(self, ranks: Int[np.ndarray, " n"]) -> Float[np.ndarray, "n 3"]:
        found = self._bounded(2 * self._draws_of_positives(ranks) / (ranks + self._positives[:, -1:]))
        (fewest, most), (least, all_) = self._counts_without_trust(ranks), self._counts_without_trust(self._last)
        return self._held(found, 2 * fewest / (ranks + all_), 2 * most / (ranks + np.maximum(least, most)))

    @property
    def _last(self) -> Int[np.ndarray, " 1"]:
        return np.array([self.n_items])

    def _bounded(self, draws: Float[np.ndarray, "S n"]) -> Float[np.ndarray, "n 3"]:
        found = posterior_measure(draws, self.found.exact)
        return np.concatenate([found.value[:, None], found.interval(self.level)], axis=1)

    def _held(self, found: Float[np.ndarray, "n 3"], lower: Any, upper: Any) -> Float[np.ndarray, "n 3"]:
        """Widen bands to hold what random items alone say, if these contradict the belief somewhere."""
        if not np.any(self._contradicted):
            return found
        ends = np.minimum(found[:, 1], lower), np.maximum(found[:, 2], np.minimum(upper, 1.0))
        return np.stack([found[:, 0], *ends], axis=-1)

    def _counts_without_trust(self, ranks: Int[np.ndarray, " n"]) -> tuple[np.ndarray, np.ndarray]:
        """Bound the positives down to ranks by random items alone: those of the thresholds before and after."""
        known, n = self._ranks, len(self._ranks)
        ends = self._design[:n][::-1] * known[:, None]
        before = np.searchsorted(known, ranks, "right")
        fewest = np.append(0.0, np.maximum.accumulate(ends[:, 0]))[before]
        after = np.minimum(np.searchsorted(known, ranks), n - 1)
        most = np.minimum.accumulate(ends[::-1, 1])[::-1][after]
        return fewest, np.minimum(most, ranks)

    def _turns(self) -> Int[np.ndarray, " k"]:
        return np.unique(np.concatenate([self._ranks, [1, self.n_items], self._shown_ranks]))
