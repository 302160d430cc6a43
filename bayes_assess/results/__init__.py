"""Answers: what is estimated, how well, and what the interval guarantees."""

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from bayes_assess.errors import QuestionError
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
from bayes_assess.results.best import BestResult as BestResult
from bayes_assess.results.comparison import CalibrationComparisonResult as CalibrationComparisonResult
from bayes_assess.results.comparison import CompareResult as CompareResult
from bayes_assess.results.comparison import PairsResult as PairsResult
from bayes_assess.results.comparison import TwoGroupsResult as TwoGroupsResult
from bayes_assess.results.comparison import TwoSystemsResult as TwoSystemsResult
from bayes_assess.results.confusion import ConfusionResult as ConfusionResult
from bayes_assess.results.curve import CurveResult as CurveResult
from bayes_assess.results.evidence.believed import Believed as Believed
from bayes_assess.results.evidence.given import Given as Given
from bayes_assess.results.evidence.groupwise import Groupwise as Groupwise
from bayes_assess.results.evidence.numbers import WeightedNumbers
from bayes_assess.results.evidence.ranked import RankSample as RankSample
from bayes_assess.results.evidence.told import EvidenceBase
from bayes_assess.results.evidence.weighted import Weighted as Weighted
from bayes_assess.results.evidence.weighted import WeightedLabelSets
from bayes_assess.results.groups import CalibrationResult as CalibrationResult
from bayes_assess.results.groups import CostResult as CostResult
from bayes_assess.results.groups import GroupResult as GroupResult
from bayes_assess.results.groups import RecallResult as RecallResult
from bayes_assess.results.metric import MeanResult as MeanResult
from bayes_assess.results.metric import MetricResult as MetricResult
from bayes_assess.results.metric import ProxyResult as ProxyResult
from bayes_assess.results.metric import RateResult as RateResult
from bayes_assess.results.precision_curve import PrecisionCurveResult as PrecisionCurveResult
from bayes_assess.results.sections.believed_curve import BelievedCurve as BelievedCurve
from bayes_assess.results.sections.calibration import CalibrationErrors as CalibrationErrors
from bayes_assess.results.sections.compared import SameItems as SameItems
from bayes_assess.results.sections.compared import Sides as Sides
from bayes_assess.results.sections.compared import TwoAccuracies as TwoAccuracies
from bayes_assess.results.sections.compared import TwoCalibrationErrors as TwoCalibrationErrors
from bayes_assess.results.sections.compared import TwoMeasures as TwoMeasures
from bayes_assess.results.sections.costs import Costs as Costs
from bayes_assess.results.sections.groups import Accuracies as Accuracies
from bayes_assess.results.sections.judged import Judged as Judged
from bayes_assess.results.sections.judged import JudgedMeans as JudgedMeans
from bayes_assess.results.sections.judged import JudgedRates as JudgedRates
from bayes_assess.results.sections.matrix import Matrix as Matrix
from bayes_assess.results.sections.measures import Measures as Measures
from bayes_assess.results.sections.pairs import AllAccuracies as AllAccuracies
from bayes_assess.results.sections.pairs import AllMeasures as AllMeasures
from bayes_assess.results.sections.pairs import AllSides as AllSides
from bayes_assess.results.sections.ranked_curve import RankedCurve as RankedCurve
from bayes_assess.results.sections.recalls import Recalls as Recalls
from bayes_assess.results.sections.sampled_curve import SampledCurve as SampledCurve
from bayes_assess.results.sections.section import Section as Section
from bayes_assess.results.sections.section import SectionBase
from bayes_assess.results.sensitivity import Sensitivity as Sensitivity

# By the kind of evidence.
BeliefMetricResult = MetricResult[Believed]
BeliefRateResult = RateResult[Believed]
WeightedRateResult = RateResult[Weighted]
BeliefMeanResult = MeanResult[Believed]
WeightedMeanResult = MeanResult[Weighted]
BeliefBestResult = BestResult[Believed]
WeightedBestResult = BestResult[Weighted]
BeliefCurveResult = CurveResult[Believed]
WeightedCurveResult = CurveResult[Weighted]
BeliefComparisonResult = CompareResult[Believed, TwoMeasures]
WeightedComparisonResult = CompareResult[Weighted, TwoMeasures]
BeliefPairsResult = PairsResult[Believed, AllMeasures]
WeightedPairsResult = PairsResult[Weighted, AllMeasures]
BeliefPrecisionCurveResult = PrecisionCurveResult[Believed, BelievedCurve]

# The class of its result, and of its section.
_RESULTS: dict[type[Question], tuple[type[Result], type[SectionBase]]] = {
    GroupAccuracy: (GroupResult, Accuracies),
    GroupRecall: (GroupResult, Recalls),
    MostCostly: (GroupResult, Costs),
    ConfusionMatrix: (ConfusionResult, Matrix),
    Calibration: (GroupResult, CalibrationErrors),
    LeastCalibrated: (GroupResult, CalibrationErrors),
    TwoGroups: (CompareResult, TwoAccuracies),
    TwoCalibrations: (CompareResult, TwoCalibrationErrors),
    TwoSystems: (CompareResult, SameItems),
    AllPairs: (PairsResult, AllAccuracies),
    MeasureComparison: (CompareResult, TwoMeasures),
    MeasurePairs: (PairsResult, AllMeasures),
    Best: (BestResult, Measures),
    PrecisionCurve: (PrecisionCurveResult, BelievedCurve),
    PRCurve: (CurveResult, Measures),
    Rate: (MetricResult, JudgedRates),
    Mean: (MetricResult, JudgedMeans),
    Metric: (MetricResult, Measures),
}
_EVIDENCE: dict[str, dict[type[Question], type[EvidenceBase]]] = {  # by what was found
    "found": {Question: Believed},
    "given": {Question: Given},
    "answer": {MultiLabelMetric: WeightedLabelSets, NumericMetric: WeightedNumbers, Question: Weighted},
    "": {Question: Groupwise},
}


def make_result(
    question: Question, *, of_pool: Mapping[str, object], found: Mapping[str, object], **told: object
) -> Result:
    """Make the result that belongs to a question.

    Parameters
    ----------
    question : Question
    of_pool : mapping
        What it needs to know of the pool, see `Question.result_fields`.
    found : mapping
        What labels say, fields of their evidence, or of what the question adds to its result.
    **told
        Fields of `EvidenceBase`.

    Raises
    ------
    QuestionError
        If it is a question of the user's own, to which no result belongs.
    """
    made = _first(next(kinds for field, kinds in _EVIDENCE.items() if not field or field in found), question)
    own = {field.name for field in fields(made)}
    evidence = made(question=question, **told, **{name: value for name, value in found.items() if name in own})
    if not any(asked in _RESULTS for asked in type(question).__mro__):
        raise QuestionError(
            f"No class of results belongs to {question.name}. Derive it from a question whose answers have the same "
            "shape, such as GroupAccuracy, or name the classes of its result and of its section in `_RESULTS` of "
            "bayes_assess/results/__init__.py."
        )
    kind, section = _first(_RESULTS, question)
    rest = {**of_pool, **{name: value for name, value in found.items() if name not in own}}
    return kind(question, evidence, section(question, evidence, **rest))


def _first(kinds: Mapping[type[Question], Any], question: Question) -> Any:
    """Find what belongs to a question: to its class, or to the nearest one above it."""
    return next(kinds[asked] for asked in type(question).__mro__ if asked in kinds)
