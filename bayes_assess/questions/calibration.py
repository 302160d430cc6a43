"""Can the confidence be trusted? Its calibration, and the groups in which it is the worst."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from bayes_assess._tools.shapes import Float
from bayes_assess.acquisition.rewards import (
    MOST_BORROWED,
    AccuracyVarianceReduction,
    CalibrationError,
    Reward,
    ScaledVarianceReduction,
)
from bayes_assess.errors import QuestionError
from bayes_assess.models.belief import Belief, beta_marginals
from bayes_assess.pool.cells import Cells
from bayes_assess.pool.groups import By, ScoreBins
from bayes_assess.questions._base import AnswerT_co, check_target
from bayes_assess.questions._calibration_bins import CalibrationQuestion, as_bins, by_group
from bayes_assess.questions._extremes import ExtremeQuestion, mean_reciprocal_rank, no_interval


@dataclass(frozen=True, eq=False)
class Calibration(CalibrationQuestion[AnswerT_co]):
    """How well is the confidence calibrated? See [ABA] "Calibration".

    The answer is the posterior of the expected calibration error, sum_b p_b |accuracy_b - confidence_b| over bins of
    the confidence; the result also has the bins themselves.

    Parameters
    ----------
    bins : int or ScoreBins
        Bins of the confidence: so many of equal width, or any `ScoreBins`.
    by : str, array or Partition, optional
        Groups that are assessed each for itself, as for `GroupAccuracy`; by default the pool as a whole. By the learned
        prior 20 groups or fewer learn from each other as far as the labels say that they are alike (`AlikeOrApart`), so
        that an odd one is not drawn to the others; more are taken for alike.
    target : {"pool", "population"}
        As for `GroupAccuracy`.

    Examples
    --------
    >>> import bayes_assess as ba
    >>> pool = ba.Pool(predictions=[0, 0, 1, 1], confidence=[0.75, 0.75, 0.75, 0.75])
    >>> a = ba.assess(pool, ba.Calibration(bins=4))
    >>> a.tell([0, 1, 2, 3], [0, 0, 1, 0])
    >>> a.result().estimate.tolist()  # three of four are right, as promised
    0.0
    """

    asks: ClassVar[str] = "How well is the confidence calibrated{of_every}?"
    bins: int | ScoreBins = 10
    by: By | None = None
    target: str = field(default="pool", kw_only=True)

    def __post_init__(self):
        check_target(self.target)
        as_bins(self.bins)

    @property
    def scores(self) -> tuple[str, ...]:
        """Error of the plug-in ECE in percent, and RMSE of the bins' accuracies."""
        return ("ece_error", "rmse")

    def reward(self, cells: Cells, prior: Belief) -> Reward:
        """Return what one label of a bin is worth: what it takes from a bound of the variance of its group's error.

        Groups count by their items. By a fixed prior it is what it takes from the variances of bins, as in [ABA].
        """
        if beta_marginals(prior) is not None:
            return AccuracyVarianceReduction()
        size, share = by_group(cells, cells.sizes).sum(-1, keepdims=True), self.shares(cells)
        scale = np.sqrt(size / max(cells.n_items, 1)) * share
        return ScaledVarianceReduction(scale=scale.ravel(), most_borrowed=MOST_BORROWED)

    def evaluate(self, cells, prior, counts, full) -> dict[str, Float[np.ndarray, "*batch"]]:
        """Score estimates: error of the plug-in ECE in percent ([ABA] Table 5), RMSE of the bins ([ABA] Table 8)."""
        error = self.accuracy(cells, prior, counts) - full[:, 1] / np.maximum(full.sum(1), 1)
        rmse = np.sqrt(np.sum(cells.weights * error**2, axis=-1))
        return {"ece_error": self._ece_error(cells, prior, counts, full), "rmse": rmse}


@dataclass(frozen=True, eq=False)
class LeastCalibrated(ExtremeQuestion[AnswerT_co], CalibrationQuestion[AnswerT_co]):
    """Which m groups are the least calibrated? See [ABA] "Identification".

    Parameters
    ----------
    by : str, array or Partition
        The groups, as for `Calibration`.
    bins : int or ScoreBins
        Bins of the confidence inside every group, as for `Calibration`.
    m : int
        How many groups to find.
    target : {"pool", "population"}
        As for `GroupAccuracy`.

    Examples
    --------
    >>> LeastCalibrated(by="site", m=2)
    LeastCalibrated(by='site', bins=10, m=2, target='pool')
    """

    by: By = "prediction"
    bins: int | ScoreBins = 10
    m: int = 1
    target: str = field(default="pool", kw_only=True)

    sign: ClassVar[int] = 1
    adjective: ClassVar[str] = "least calibrated"
    unplannable: ClassVar[str] = no_interval("Calibration")

    def __post_init__(self):
        check_target(self.target)
        self._check_m()
        as_bins(self.bins)
        if self.by is None:
            raise QuestionError("LeastCalibrated looks for groups; pass by='prediction' or another group column.")

    @property
    def scores(self) -> tuple[str, ...]:
        """Mean reciprocal rank of the least calibrated groups, and error of their plug-in ECE in percent."""
        return ("mrr", "ece_error")

    def reward(self, cells: Cells, prior: Belief) -> Reward:
        """Return what one label of a group is worth: its calibration error."""
        shares = self.shares(cells)
        score = by_group(cells, np.asarray(cells.mean_score))
        return CalibrationError(score, shares, shares.shape[1], self.n_sought)

    def evaluate(self, cells, prior, counts, full) -> dict[str, Float[np.ndarray, "*batch"]]:
        """Score the plug-in ECE: mean reciprocal rank of the least calibrated ([ABA] Table 9), error in percent."""
        member = by_group(cells, cells.sizes).sum(-1) > 0
        truth = self.truth_of_counts(cells, full)
        mrr = mean_reciprocal_rank(self.plug_in(cells, prior, counts), truth, member, self.m)
        return {"mrr": mrr, "ece_error": self._ece_error(cells, prior, counts, full)}
