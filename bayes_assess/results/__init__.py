"""Answers: what is estimated, how well, and what the interval guarantees."""

from typing import Any

from bayes_assess.questions import (
    AllPairs,
    Best,
    Calibration,
    ConfusionMatrix,
    GroupAccuracy,
    GroupRecall,
    LeastCalibrated,
    Mean,
    MeasureComparison,
    MeasurePairs,
    Metric,
    MostCostly,
    MultiLabelMetric,
    NumericMetric,
    PRCurve,
    PrecisionCurve,
    Question,
    Rate,
    TwoCalibrations,
    TwoGroups,
    TwoSystems,
)
from bayes_assess.results._base import Result as Result
from bayes_assess.results._curve_point import CurvePoint as CurvePoint
from bayes_assess.results._proxy import ProxyResult as ProxyResult
from bayes_assess.results._ranked import RankedAnswer as RankedAnswer
from bayes_assess.results.belief_metric import BeliefMetricResult as BeliefMetricResult
from bayes_assess.results.belief_precision_curve import BeliefPrecisionCurveResult as BeliefPrecisionCurveResult
from bayes_assess.results.best import BeliefBestResult as BeliefBestResult
from bayes_assess.results.best import BestResult as BestResult
from bayes_assess.results.best import WeightedBestResult as WeightedBestResult
from bayes_assess.results.calibration import CalibrationResult as CalibrationResult
from bayes_assess.results.comparison import CalibrationComparisonResult as CalibrationComparisonResult
from bayes_assess.results.comparison import CompareResult as CompareResult
from bayes_assess.results.comparison import PairsResult as PairsResult
from bayes_assess.results.comparison import TwoGroupsResult as TwoGroupsResult
from bayes_assess.results.comparison import TwoSystemsResult as TwoSystemsResult
from bayes_assess.results.confusion import ConfusionResult as ConfusionResult
from bayes_assess.results.curve import BeliefCurveResult as BeliefCurveResult
from bayes_assess.results.curve import CurveResult as CurveResult
from bayes_assess.results.curve import WeightedCurveResult as WeightedCurveResult
from bayes_assess.results.groups import CostResult as CostResult
from bayes_assess.results.groups import GroupResult as GroupResult
from bayes_assess.results.groups import GroupwiseResult as GroupwiseResult
from bayes_assess.results.mean import BeliefMeanResult as BeliefMeanResult
from bayes_assess.results.mean import MeanResult as MeanResult
from bayes_assess.results.mean import WeightedMeanResult as WeightedMeanResult
from bayes_assess.results.measure_comparison import BeliefComparisonResult as BeliefComparisonResult
from bayes_assess.results.measure_comparison import MeasureVerdict as MeasureVerdict
from bayes_assess.results.measure_comparison import WeightedComparisonResult as WeightedComparisonResult
from bayes_assess.results.measure_pairs import BeliefPairsResult as BeliefPairsResult
from bayes_assess.results.measure_pairs import MeasurePairsResult as MeasurePairsResult
from bayes_assess.results.measure_pairs import WeightedPairsResult as WeightedPairsResult
from bayes_assess.results.metric import MetricResult as MetricResult
from bayes_assess.results.multilabel import MultiLabelResult as MultiLabelResult
from bayes_assess.results.numeric import NumericResult as NumericResult
from bayes_assess.results.precision_curve import PrecisionCurveResult as PrecisionCurveResult
from bayes_assess.results.rate import BeliefRateResult as BeliefRateResult
from bayes_assess.results.rate import RateResult as RateResult
from bayes_assess.results.rate import WeightedRateResult as WeightedRateResult
from bayes_assess.results.recall import RecallResult as RecallResult
from bayes_assess.results.sensitivity import Sensitivity as Sensitivity

_RESULTS: dict[type[Question], type[Result]] = {
    GroupAccuracy: GroupResult,
    GroupRecall: RecallResult,
    ConfusionMatrix: ConfusionResult,
    MostCostly: CostResult,
    Calibration: CalibrationResult,
    LeastCalibrated: CalibrationResult,
    TwoGroups: TwoGroupsResult,
    TwoCalibrations: CalibrationComparisonResult,
    TwoSystems: TwoSystemsResult,
    AllPairs: PairsResult,
    MeasureComparison: WeightedComparisonResult,
    MeasurePairs: WeightedPairsResult,
    Best: WeightedBestResult,
    MultiLabelMetric: MultiLabelResult,
    NumericMetric: NumericResult,
    Rate: WeightedRateResult,
    Mean: WeightedMeanResult,
    PRCurve: WeightedCurveResult,
    Metric: MetricResult,
}
_BELIEVED: dict[type[Question], type[Result]] = {  # by the design with a belief
    MeasureComparison: BeliefComparisonResult,
    MeasurePairs: BeliefPairsResult,
    Best: BeliefBestResult,
    PrecisionCurve: BeliefPrecisionCurveResult,
    PRCurve: BeliefCurveResult,
    Rate: BeliefRateResult,
    Mean: BeliefMeanResult,
    Metric: BeliefMetricResult,
}


def make_result(question: Question, **fields: Any) -> Result:
    """Make the result that belongs to a question; `fields` are those of `Result`."""
    kinds = _BELIEVED if "found" in fields else _RESULTS
    kind = next(kind for asked, kind in kinds.items() if isinstance(question, asked))
    return kind(question=question, **fields)
