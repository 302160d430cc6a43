"""What questions about calibration share: accuracy against confidence in bins, alone or inside groups."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from bayes_assess._tools.shapes import Float, Int, PRNGKey
from bayes_assess.errors import QuestionError
from bayes_assess.estimators.finite_pool import mean_absolute_gap, value_draws, value_interval, value_mean
from bayes_assess.models.alike_or_apart import AlikeOrApart
from bayes_assess.models.belief import Belief, host_generator, pool_shares
from bayes_assess.models.hierarchical_calibration import HierarchicalCalibration
from bayes_assess.models.sampled_belief import SampledBelief
from bayes_assess.models.separate_curves import SeparateCurves
from bayes_assess.pool.cells import Cells, cells
from bayes_assess.pool.groups import Cut, Partition, ScoreBins, cross, partition
from bayes_assess.pool.pool import Pool
from bayes_assess.questions._base import AnswerT_co, Question, pool_size
from bayes_assess.questions._bounded import BoundedByShares
from bayes_assess.questions._priors import calibration_prior
from bayes_assess.questions._setting import Simulated

if TYPE_CHECKING:
    from bayes_assess.models.belief import GivenPrior


_DRAWS = 1_000  # that ends of intervals are taken from
_PLAN_DRAWS = 400  # in a plan
_DRAWN_AT_ONCE = 20_000_000  # numbers
_MOST_APART = 20  # groups, up to which each is learned by itself, too: that takes a fit for every group
_OfBins = Callable[[Cells, np.ndarray], np.ndarray]  # what values of bins, (..., K), come to in groups, (..., G)
_Drawn = Callable[[Any], Float[np.ndarray, "S N K"]]  # draws of the accuracies of all bins, from a belief on them


class CalibrationQuestion(BoundedByShares, Question[AnswerT_co, AnswerT_co]):
    """Bins of the confidence inside groups: cell g * B + b is bin b of group g."""

    bins: int | ScoreBins
    by: Any
    quantity: ClassVar[str] = "calibration error"
    plan_drawn: ClassVar[bool] = True

    def cells(self, pool: Pool, seed: int, strata: Cut | None = None) -> Cells:
        """Collapse the pool into bins of the confidence, within groups if there are any."""
        if pool.confidence is None:
            raise QuestionError(
                f"{self.name} holds accuracy against confidence, and this pool has none; give it one by scores=[...] "
                "or confidence=[...]."
            )
        if self.by is None:
            everything = Partition(np.zeros(pool.n_rows, np.uint8), np.array(["all items"]), "all items")
        else:
            everything = partition(pool, self.by)
        return cells(pool, cross(everything, partition(pool, as_bins(self.bins))), seed=seed)

    def prior(self, pool: Pool, cells: Cells, prior: GivenPrior, strength: float | None) -> Belief:
        """Build the prior of every bin's accuracy; a fixed one counts as two labels."""
        return calibration_prior(cells, prior, strength, self.default_strength)

    def posterior(self, cells: Cells, prior: Belief, counts: Int[np.ndarray, "*batch K 2"]) -> Belief:
        """Return what answers are taken from: what the prior has learned from the labels."""
        if isinstance(prior, HierarchicalCalibration) and 1 < cells.parts[0].n_groups <= _MOST_APART:
            return AlikeOrApart.of(prior, counts)
        return prior.update_counts(counts)

    def belief_of_accuracies(self, accuracy: Float[np.ndarray, "S K"], pooled: Belief, seed: int) -> SampledBelief:
        """Return the draws as a belief."""
        return SampledBelief(accuracy, np.zeros(len(accuracy)))

    def outcomes(self, pool: Pool, items: Int[np.ndarray, " N"], labels: Int[np.ndarray, " N"]) -> np.ndarray:
        """Return 1 where the label agrees with the prediction, else 0."""
        return (labels == pool.predictions[pool.rows_of(items)]).astype(np.int64)

    def shares(self, cells: Cells) -> Float[np.ndarray, "G B"]:
        """Share of a group's items in every bin; rows of zeros for groups without items."""
        size = by_group(cells, cells.sizes)
        return size / np.maximum(size.sum(-1, keepdims=True), 1)

    def truth_of_counts(self, cells: Cells, full: Int[np.ndarray, "K 2"]) -> Float[np.ndarray, " G"]:
        """Compute the expected calibration error of every group at full labels, (G,), or of the pool, ()."""
        return self._answer(self.error_of(cells, full[:, 1] / np.maximum(full.sum(1), 1)))

    def n_shares(self, cells: Cells) -> int:
        """Those of right items in the bins of a group, as many as have items."""
        return int((by_group(cells, cells.sizes) > 0).sum(-1).max())

    def extremes(self, cells: Cells, low, high) -> Float[np.ndarray, "... 2"]:
        """Bound calibration errors, (..., G, 2): by gaps as small and as great as they can be in every bin."""
        return np.stack([self._answer(errors) for errors in self._extreme_errors(cells, low, high)], axis=-1)

    def _extreme_errors(self, cells: Cells, low, high) -> tuple[np.ndarray, np.ndarray]:
        """Return the least and the greatest calibration error of every group, (..., G)."""
        below, above = low[..., 1] - cells.mean_score, high[..., 1] - cells.mean_score
        least = np.maximum(np.maximum(below, -above), 0.0)
        return self.added(cells, least), self.added(cells, np.maximum(np.abs(below), np.abs(above)))

    def error_of(self, cells: Cells, accuracy: Float[np.ndarray, "*batch K"]) -> Float[np.ndarray, "*batch G"]:
        """Compute ECE_g = sum_b p_gb |accuracy_gb - s_gb| of every group ([ABA] "Calibration")."""
        return self.added(cells, np.abs(accuracy - cells.mean_score))

    def greatest(self, cells: Cells, gap: Float[np.ndarray, "*batch K"]) -> Float[np.ndarray, "*batch G"]:
        """Return the greatest value of the bins with items of every group."""
        return np.where(by_group(cells, cells.sizes) > 0, by_group(cells, gap), 0.0).max(-1)

    def added(self, cells: Cells, gap: Float[np.ndarray, "*batch K"]) -> Float[np.ndarray, "*batch G"]:
        """Add up values of the bins of every group, by their shares."""
        return (self.shares(cells) * by_group(cells, gap)).sum(-1)

    def accuracy(self, cells: Cells, prior: Belief, counts) -> Float[np.ndarray, "*batch K"]:
        """Compute the posterior mean accuracy of every bin."""
        return value_mean(self.posterior(cells, prior, counts), counts, pool_size(self, cells))

    def plug_in(self, cells: Cells, prior: Belief, counts) -> Float[np.ndarray, "*batch G"]:
        """Compute the calibration error of the posterior mean accuracies, which [ABA] reports.

        Uncertainty has no sign in it, so that it is smaller than the posterior mean of the calibration error and,
        with few labels, usually nearer to the truth; it has no interval.
        """
        return self._answer(self.error_of(cells, self.accuracy(cells, prior, counts)))

    def estimate(self, cells: Cells, prior: Belief, counts) -> Float[np.ndarray, "*batch G"]:
        """Compute the posterior mean of the expected calibration error, (..., G), or (...) without groups."""
        score = cells.mean_score
        assert score is not None  # `cells` has refused pools without confidence
        gap = mean_absolute_gap(self.posterior(cells, prior, counts), counts, pool_size(self, cells), score)
        return self._answer(self.added(cells, gap))

    def accuracy_draws(self, cells: Cells, prior: Belief, counts, seed: int, n: int) -> Iterator[np.ndarray]:
        """Draw the accuracies of all bins, some draws at a time, (S, ..., K)."""
        return value_draws(self.posterior(cells, prior, counts), counts, pool_size(self, cells), seed, n)

    def accuracy_interval(
        self, cells: Cells, posterior: Belief, counts: Int[np.ndarray, "K 2"], level: float
    ) -> Float[np.ndarray, "K 2"]:
        """Compute equal-tailed intervals of the bins' accuracies, wider where a group may be far off the diagonal.

        Of several groups that may be alike, such a one is drawn to the diagonal and to the others while it has few
        labels; its intervals are also those of a posterior that leans on neither.
        """
        sizes = pool_size(self, cells)
        ends = value_interval(posterior, counts, sizes, level)
        departing = _departing(posterior)
        if departing is None:
            return ends
        wide, departs = value_interval(departing.uncalibrated(), counts, sizes, level), departing.departs
        wide = np.stack([np.minimum(wide[:, 0], ends[:, 0]), np.maximum(wide[:, 1], ends[:, 1])], axis=-1)
        return np.where(np.repeat(departs, len(ends) // len(departs))[:, None], wide, ends)

    def group_accuracy(self, cells: Cells, accuracy: Float[np.ndarray, "*batch K"]) -> Float[np.ndarray, "*batch G"]:
        """Add up the bins' accuracies to that of every group; 0 for a group without items."""
        return self.added(cells, accuracy)

    def group_accuracy_interval(
        self,
        cells: Cells,
        posterior: Belief,
        counts: Int[np.ndarray, "K 2"],
        level: float,
        draws: Float[np.ndarray, "S G"],
    ) -> Float[np.ndarray, "G 2"]:
        """Compute equal-tailed intervals of the groups' accuracies, wider where those of their bins are.

        Parameters
        ----------
        draws : (S, G)
            Posterior draws of the accuracies.
        """
        tails = [(1 - level) / 2, (1 + level) / 2]
        low, high = np.quantile(draws, tails, axis=0)
        departing = _departing(posterior)
        if departing is not None:
            wide = value_draws(departing.uncalibrated(), counts, pool_size(self, cells), 0, _DRAWS)
            least, most = np.quantile(self.group_accuracy(cells, np.concatenate(list(wide))), tails, axis=0)
            departs = departing.departs
            low = np.where(departs, np.minimum(low, least), low)
            high = np.where(departs, np.maximum(high, most), high)
        return np.stack([low, high], axis=-1)

    def _equal_tailed(self, cells, prior, counts, level, draws) -> Float[np.ndarray, "... 2"]:
        """Compute the interval of the calibration error: equal-tailed, and wider where that leans on what is assumed.

        Absolute gaps add up to something even where there are none, so that the draws of a calibrated system lie above
        its error. The lower end is at most what gaps in the direction of their means come to; they cancel where there
        are none. The upper end is that of a prior, too, that does not take systems to be about calibrated.
        """
        flat = counts.reshape(-1, *counts.shape[-2:])
        step = max(1, _DRAWN_AT_ONCE // (_DRAWS * flat[0].size))
        parts = []
        for start in range(0, len(flat), step):
            some = flat[start : start + step]
            drawn = partial(self._drawn, cells, some, start)
            parts.append(self._widened(cells, self.posterior(cells, prior, some), drawn, level))
        ends = np.concatenate(parts).reshape(*counts.shape[:-2], *parts[0].shape[1:])
        return ends if draws is None else _further(ends, draws, level)

    def plan_intervals(self, campaigns: Simulated, level: float) -> np.ndarray:
        """Compute the intervals of a few campaigns from few draws, whether they hold the posterior mean or not."""
        counts, cells = campaigns.counts[:, 0], campaigns.cells
        sizes = pool_size(self, cells)
        key: PRNGKey = np.array([0, 1], np.uint32)

        def drawn(belief: Any) -> Float[np.ndarray, "S N K"]:
            if not hasattr(belief, "draws"):
                return np.concatenate(list(value_draws(belief, counts, sizes, 0, _PLAN_DRAWS)))
            theta = belief.draws(host_generator(key), _PLAN_DRAWS)
            return theta if sizes is None else pool_shares(key, theta, counts, sizes)

        return self._widened(cells, self.posterior(cells, campaigns.prior, counts), drawn, level)[:, None]

    def _widened(self, cells: Cells, posterior: Belief, drawn: _Drawn, level: float) -> Float[np.ndarray, "N ... 2"]:
        errors, least, most = map(self._answer, self._error_draws(cells, posterior, drawn))
        return _ends_of_three(errors, least, most, level)

    def overall_interval(
        self, cells: Cells, prior: Belief, counts: Int[np.ndarray, "K 2"], level: float, draws: Float[np.ndarray, " S"]
    ) -> Float[np.ndarray, " 2"]:
        """Compute the interval of the mean calibration error of the groups, by their shares of the pool.

        It is as wide as those of the groups: see `interval`.

        Parameters
        ----------
        draws : (S,)
            Posterior draws of the mean.
        """
        share = by_group(cells, cells.sizes).sum(-1) / cells.n_items
        return _widened_by((errors @ share for errors in self._told_draws(cells, prior, counts)), draws, level)

    def maximum_interval(
        self,
        cells: Cells,
        prior: Belief,
        counts: Int[np.ndarray, "K 2"],
        level: float,
        draws: Float[np.ndarray, "S G"],
    ) -> Float[np.ndarray, "G 2"]:
        """Compute intervals of every group's greatest calibration error of a bin.

        They are as wide as those of the expected one, than which it is never smaller: see `interval`.

        Parameters
        ----------
        draws : (S, G)
            Posterior draws of the greatest error.
        """
        return _widened_by(self._told_draws(cells, prior, counts, self.greatest), draws, level)

    def _told_draws(
        self, cells: Cells, prior: Belief, counts: Int[np.ndarray, "K 2"], of_bins: _OfBins | None = None
    ) -> Iterator[Float[np.ndarray, "S G"]]:
        """Draw errors after these labels, three ways."""
        flat = counts[None]
        drawn = partial(self._drawn, cells, flat, 0)
        return (errors[:, 0] for errors in self._error_draws(cells, self.posterior(cells, prior, flat), drawn, of_bins))

    def _error_draws(
        self, cells: Cells, posterior: Belief, drawn: _Drawn, of_bins: _OfBins | None = None
    ) -> tuple[Float[np.ndarray, "S N G"], Float[np.ndarray, "S N G"], Float[np.ndarray, "S N G"]]:
        """Draw calibration errors: as they are, with gaps in the direction of their means, and of no calibration."""
        of_bins, score = of_bins or self.added, np.asarray(cells.mean_score)
        gap = drawn(posterior) - score
        errors = of_bins(cells, np.abs(gap))
        one_way = of_bins(cells, np.sign(gap.mean(0)) * gap)
        most = errors
        if isinstance(posterior, AlikeOrApart | HierarchicalCalibration | SeparateCurves):
            most = of_bins(cells, np.abs(drawn(posterior.uncalibrated()) - score))
        return errors, np.maximum(one_way, 0.0), most

    def _drawn(self, cells: Cells, counts, seed: int, belief: Belief) -> Float[np.ndarray, "S N K"]:
        """Draw the accuracies of all bins."""
        return np.concatenate(list(value_draws(belief, counts, pool_size(self, cells), seed, _DRAWS)))

    def _answer(self, errors: Float[np.ndarray, "*batch G"]) -> Float[np.ndarray, "*batch G"]:
        return errors[..., 0] if self.by is None else errors

    def _draw_blocks(self, cells, prior, counts, seed, n) -> Iterator[np.ndarray]:
        for accuracy in self.accuracy_draws(cells, prior, counts, seed, n):
            yield self._answer(self.error_of(cells, accuracy))

    def _ece_error(self, cells: Cells, prior: Belief, counts, full) -> Float[np.ndarray, "*batch"]:
        """Error of the plug-in calibration error in percent of the true one; the groups' by their shares."""
        estimate = self.error_of(cells, self.accuracy(cells, prior, counts))
        truth = self.error_of(cells, full[:, 1] / np.maximum(full.sum(1), 1))
        share = by_group(cells, cells.sizes).sum(-1) / cells.n_items
        error, size = np.abs(estimate - truth) @ share, truth @ share
        return 100 * np.divide(error, size, out=np.where(error > 0, np.inf, 0.0), where=size > 0)


def _departing(posterior: Belief) -> AlikeOrApart | None:
    """Return a posterior of groups of which some may be far off the diagonal; None where none may."""
    return posterior if isinstance(posterior, AlikeOrApart) and posterior.departs.any() else None


def as_bins(bins: int | ScoreBins) -> ScoreBins:
    """Take a number as that many bins of equal width.

    Examples
    --------
    >>> as_bins(5)
    ScoreBins(n_bins=5, kind='width')
    """
    return bins if isinstance(bins, ScoreBins) else ScoreBins(bins)


def _ends_of_three(
    errors: Float[np.ndarray, "S ..."],
    least: Float[np.ndarray, "S ..."],
    most: Float[np.ndarray, "S ..."],
    level: float,
) -> Float[np.ndarray, "... 2"]:
    """Compute equal-tailed ends from draws of errors, and of how small and how great they may be."""
    tails = [(1 - level) / 2, (1 + level) / 2]
    low, high = np.quantile(errors, tails, axis=0)
    low = np.minimum(low, np.quantile(least, tails[0], axis=0))
    return np.stack([low, np.maximum(high, np.quantile(most, tails[1], axis=0))], axis=-1)


def _widened_by(
    three: Iterable[Float[np.ndarray, "S ..."]], draws: Float[np.ndarray, "S ..."], level: float
) -> Float[np.ndarray, "... 2"]:
    """Compute the ends of draws, or those of errors drawn three ways where they are further out."""
    errors, least, most = three
    return _further(_ends_of_three(errors, least, most, level), draws, level)


def _further(
    ends: Float[np.ndarray, "... 2"], draws: Float[np.ndarray, "S ..."], level: float
) -> Float[np.ndarray, "... 2"]:
    """Return these ends, or the equal-tailed ones of draws where they are further out."""
    low, high = np.quantile(draws, [(1 - level) / 2, (1 + level) / 2], axis=0)
    return np.stack([np.minimum(low, ends[..., 0]), np.maximum(high, ends[..., 1])], axis=-1)


def by_group(cells: Cells, values: np.ndarray) -> np.ndarray:
    """Split values of cells (..., G * B) into groups and bins, (..., G, B)."""
    return values.reshape(*values.shape[:-1], cells.parts[0].n_groups, -1)
