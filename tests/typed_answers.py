"""What editors and type checkers know of answers: `make types` reads this file, which nothing runs."""

# pyright: reportUnnecessaryTypeIgnoreComment=error

from __future__ import annotations

from typing import assert_type

import bayes_assess as ba
from bayes_assess import results


def answers() -> None:
    """Name the classes of answers, of all kinds of questions."""
    pool = ba.Pool(scores=[0.2, 0.6, 0.9])

    # Groups: one class, whatever the design.
    groups = ba.assess(pool, ba.GroupAccuracy(by="prediction"), design="thompson", prior="learned")
    assert_type(groups, ba.Assessment[ba.GroupResult])
    assert_type(groups.result(0.9), ba.GroupResult)
    assert_type(groups.result().table(), ba.Table)
    assert_type(ba.assess(pool, ba.LeastAccurate(m=2)).result(), ba.GroupResult)
    assert_type(ba.assess(pool, ba.LowestRecall("site")).result(), ba.RecallResult)
    assert_type(ba.assess(pool, ba.ConfusionMatrix()).result(), ba.ConfusionResult)
    assert_type(ba.assess(pool, ba.MostCostly([[0, 1], [5, 0]])).result(), ba.CostResult)
    assert_type(ba.assess(pool, ba.LeastCalibrated(by="prediction")).result(), ba.CalibrationResult)

    # Measures: the design decides.
    asked = ba.Metric("f1")
    assert_type(ba.assess(pool, asked, design="variance_reduction").result(), results.BeliefMetricResult)
    assert_type(ba.assess(pool, asked, design="adaptive").result(), ba.MetricResult[results.Weighted])
    assert_type(ba.assess(pool, asked, design=ba.designs.Poisson()).result(), ba.MetricResult[results.Weighted])
    assert_type(ba.assess(pool, asked).result(), results.BeliefMetricResult | ba.MetricResult[results.Weighted])
    assert_type(ba.assess(pool, asked, oracle="stochastic"), ba.StochasticAssessment[ba.MetricResult[results.Weighted]])
    assert_type(ba.assess(pool, ba.Rate(by="site"), design="passive").result(), results.WeightedRateResult)
    assert_type(ba.assess(pool, ba.PRCurve(), design="variance_reduction").result(), results.BeliefCurveResult)

    # Ranked lists.
    ranked = ba.assess(ba.RankedList(1000), ba.PrecisionCurve(p_min=0.5))
    assert_type(ranked, ba.RankedAssessment)
    assert_type(ranked.result(), ba.PrecisionCurveResult)
    by_belief = ba.assess(pool, ba.PrecisionCurve(), design="variance_reduction")
    assert_type(by_belief.result(), results.BeliefPrecisionCurveResult)

    # Comparisons: of two sides, or of all pairs.
    assert_type(ba.assess(pool, ba.Compare("cat", "dog", by="prediction")).result(), ba.CompareResult)
    assert_type(ba.assess(pool, ba.Compare(second=["cat"])).result(), ba.CompareResult)
    assert_type(ba.assess(pool, ba.Compare(by="site")).result(), ba.PairsResult)
    compared = ba.assess(pool, ba.Compare("a", "b", by="site", measure="rate")).result()
    assert_type(compared, results.BeliefComparisonResult | results.WeightedComparisonResult)
    assert_type(compared.verdict, str)

    # Another question from the same labels.
    assert_type(groups.result(question=ba.Calibration()), ba.CalibrationResult)

    # What the question adds is known by the question.
    assert_type(ba.assess(pool, ba.LowestRecall("site")).result().positives.ndim, int)
    assert_type(ba.assess(pool, ba.Rate(), design="passive").result().bias_interval.ndim, int)
    _ = groups.result().positives  # pyright: ignore[reportAttributeAccessIssue]
    _ = ba.assess(pool, asked).result().bias  # pyright: ignore[reportAttributeAccessIssue]
    _ = ba.assess(pool, ba.Rate()).result().judge_mean  # pyright: ignore[reportAttributeAccessIssue]

    # What a result does not have is an error, and so is what its evidence does not have.
    _ = groups.result().in_ellipsoid  # pyright: ignore[reportAttributeAccessIssue]
    believed = ba.assess(pool, asked, design="variance_reduction").result()
    weighted = ba.assess(pool, asked, design="adaptive").result()
    assert_type(believed.sensitivity([0.1]), results.Sensitivity)
    assert_type(weighted.in_ellipsoid([0.5]), bool)
    _ = believed.covariance  # pyright: ignore[reportAttributeAccessIssue]
    _ = weighted.band  # pyright: ignore[reportAttributeAccessIssue]
