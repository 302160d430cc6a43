"""Answers: what is estimated, how well, and what the interval guarantees."""

from typing import Any

from bayes_assess.questions import (
    AllPairs,
    Calibration,
    ConfusionMatrix,
    GroupAccuracy,
    LeastCalibrated,
    MeasureComparison,
    Metric,
    MostCostly,
    MultiLabelMetric,
    Question,
    TwoGroups,
    TwoSystems,
)
from bayes_assess.results._base import Result as Result
from bayes_assess.results._belief_answer import belief_answer as belief_answer
from bayes_assess.results._belief_answer import events_anew as events_anew
from bayes_assess.results.belief_metric import BeliefMetricResult as BeliefMetricResult
from bayes_assess.results.calibration import CalibrationResult as CalibrationResult
from bayes_assess.results.comparison import CompareResult as CompareResult
from bayes_assess.results.comparison import PairsResult as PairsResult
from bayes_assess.results.comparison import TwoGroupsResult as TwoGroupsResult
from bayes_assess.results.comparison import TwoSystemsResult as TwoSystemsResult
from bayes_assess.results.confusion import ConfusionResult as ConfusionResult
from bayes_assess.results.groups import CostResult as CostResult
from bayes_assess.results.groups import GroupResult as GroupResult
from bayes_assess.results.groups import GroupwiseResult as GroupwiseResult
from bayes_assess.results.measure_comparison import BeliefComparisonResult as BeliefComparisonResult
from bayes_assess.results.measure_comparison import MeasureVerdict as MeasureVerdict
from bayes_assess.results.measure_comparison import WeightedComparisonResult as WeightedComparisonResult
from bayes_assess.results.metric import MetricResult as MetricResult
from bayes_assess.results.metric import asked_anew as asked_anew
from bayes_assess.results.metric import measure_answer as measure_answer
from bayes_assess.results.multilabel import MultiLabelResult as MultiLabelResult
from bayes_assess.results.multilabel import multilabel_answer as multilabel_answer

_RESULTS: dict[type[Question], type[Result]] = {
    GroupAccuracy: GroupResult,
    ConfusionMatrix: ConfusionResult,
    MostCostly: CostResult,
    Calibration: CalibrationResult,
    LeastCalibrated: CalibrationResult,
    TwoGroups: TwoGroupsResult,
    TwoSystems: TwoSystemsResult,
    AllPairs: PairsResult,
    MeasureComparison: WeightedComparisonResult,
    MultiLabelMetric: MultiLabelResult,
    Metric: MetricResult,
}


def make_result(question: Question, **fields: Any) -> Any:
    """Make the result that belongs to a question; `fields` are those of `Result`."""
    kind = next(kind for asked, kind in _RESULTS.items() if isinstance(question, asked))
    if "found" in fields:
        kind = BeliefComparisonResult if isinstance(question, MeasureComparison) else BeliefMetricResult
    return kind(question=question, **fields)
