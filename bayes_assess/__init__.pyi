"""Public names, for type checkers and editors: `__init__.py` imports them on first use.

Questions say here, above the rooms of both, which classes their results are of: of designs with a belief, and of those
that weigh their draws.
"""

from collections.abc import Hashable
from typing import Literal, Never, overload

from bayes_assess import acquisition as acquisition
from bayes_assess import designs as designs
from bayes_assess import estimators as estimators
from bayes_assess import measures as measures
from bayes_assess import models as models
from bayes_assess import questions as _asked
from bayes_assess import results as _answered
from bayes_assess._tools.shapes import ArrayLike as _ArrayLike
from bayes_assess._tools.tables import Table as Table
from bayes_assess.errors import BayesAssessError as BayesAssessError
from bayes_assess.errors import BudgetError as BudgetError
from bayes_assess.errors import DesignError as DesignError
from bayes_assess.errors import EngineError as EngineError
from bayes_assess.errors import InferenceError as InferenceError
from bayes_assess.errors import JournalError as JournalError
from bayes_assess.errors import LabelError as LabelError
from bayes_assess.errors import OutputError as OutputError
from bayes_assess.errors import PartitionError as PartitionError
from bayes_assess.errors import PoolError as PoolError
from bayes_assess.errors import PriorError as PriorError
from bayes_assess.errors import QuestionError as QuestionError
from bayes_assess.errors import UnknownColumnError as UnknownColumnError
from bayes_assess.errors import UnknownIdError as UnknownIdError
from bayes_assess.estimators import intervals as intervals
from bayes_assess.measures import Measure as Measure
from bayes_assess.measures._pool_losses import Measures as _Measures
from bayes_assess.models.beta_bernoulli import BetaBernoulli as BetaBernoulli
from bayes_assess.models.calibration_bins import CalibrationBins as CalibrationBins
from bayes_assess.models.dirichlet_confusion import DirichletConfusion as DirichletConfusion
from bayes_assess.models.dirichlet_tree import DirichletTree as DirichletTree
from bayes_assess.models.hierarchical_accuracy import HierarchicalAccuracy as HierarchicalAccuracy
from bayes_assess.models.hierarchical_calibration import HierarchicalCalibration as HierarchicalCalibration
from bayes_assess.models.hierarchical_confusion import HierarchicalConfusion as HierarchicalConfusion
from bayes_assess.models.nested_dirichlet import NestedDirichlet as NestedDirichlet
from bayes_assess.models.nuts import ConvergenceWarning as ConvergenceWarning
from bayes_assess.models.nuts import fit as fit
from bayes_assess.models.paired_outcomes import PairedOutcomes as PairedOutcomes
from bayes_assess.models.posterior_draws import posterior_draws as posterior_draws
from bayes_assess.pool import Pool as Pool
from bayes_assess.pool import read_pool as read_pool
from bayes_assess.pool.cells import Cells as Cells
from bayes_assess.pool.cells import cells as cells
from bayes_assess.pool.groups import By as _By
from bayes_assess.pool.groups import Partition as Partition
from bayes_assess.pool.groups import ScoreBins as ScoreBins
from bayes_assess.pool.groups import partition as partition
from bayes_assess.pool.logs import read_log as read_log
from bayes_assess.pool.ranked import RankedList as RankedList
from bayes_assess.pool.readers import read_ranked as read_ranked
from bayes_assess.pool.scan.pool import TablePool as TablePool
from bayes_assess.pool.scan.reading import scan_pool as scan_pool
from bayes_assess.pool.strata import FeatureStrata as FeatureStrata
from bayes_assess.pool.strata import Strata as Strata
from bayes_assess.results import CalibrationResult as CalibrationResult
from bayes_assess.results import CompareResult as CompareResult
from bayes_assess.results import ConfusionResult as ConfusionResult
from bayes_assess.results import CostResult as CostResult
from bayes_assess.results import GroupResult as GroupResult
from bayes_assess.results import MeanResult as MeanResult
from bayes_assess.results import MetricResult as MetricResult
from bayes_assess.results import PairsResult as PairsResult
from bayes_assess.results import PrecisionCurveResult as PrecisionCurveResult
from bayes_assess.results import RateResult as RateResult
from bayes_assess.results import RecallResult as RecallResult
from bayes_assess.results import plots as plots
from bayes_assess.results.plan import Plan as Plan
from bayes_assess.sessions.assessment import Assessment as Assessment
from bayes_assess.sessions.exchange.sheets import read_labels as read_labels
from bayes_assess.sessions.journal import Journal as Journal
from bayes_assess.sessions.plan import plan as plan
from bayes_assess.sessions.queries import Queries as Queries
from bayes_assess.sessions.ranked_assessment import RankedAssessment as RankedAssessment
from bayes_assess.sessions.ranked_assessment import RankedQueries as RankedQueries
from bayes_assess.sessions.start import assess as assess
from bayes_assess.sessions.start import resume as resume
from bayes_assess.sessions.stochastic_assessment import StochasticAssessment as StochasticAssessment
from bayes_assess.studies.simulate import simulate as simulate
from bayes_assess.studies.study import Study as Study
from bayes_assess.web.widget import label as label

__version__: str

class GroupAccuracy(_asked.GroupAccuracy[GroupResult]): ...
class LeastAccurate(_asked.LeastAccurate[GroupResult]): ...
class MostAccurate(_asked.MostAccurate[GroupResult]): ...
class GroupRecall(_asked.GroupRecall[RecallResult]): ...
class LowestRecall(_asked.LowestRecall[RecallResult]): ...
class HighestRecall(_asked.HighestRecall[RecallResult]): ...
class ConfusionMatrix(_asked.ConfusionMatrix[ConfusionResult]): ...
class MostCostly(_asked.MostCostly[CostResult]): ...
class Calibration(_asked.Calibration[CalibrationResult]): ...
class LeastCalibrated(_asked.LeastCalibrated[CalibrationResult]): ...
class Metric(_asked.Metric[_answered.BeliefMetricResult, MetricResult[_answered.Weighted]]): ...
class Rate(_asked.Rate[_answered.BeliefRateResult, _answered.WeightedRateResult]): ...
class Mean(_asked.Mean[_answered.BeliefMeanResult, _answered.WeightedMeanResult]): ...
class Best(_asked.Best[_answered.BeliefBestResult, _answered.WeightedBestResult]): ...
class PRCurve(_asked.PRCurve[_answered.BeliefCurveResult, _answered.WeightedCurveResult]): ...
class PrecisionCurve(_asked.PrecisionCurve[_answered.BeliefPrecisionCurveResult, Never]): ...

# Two sides, all pairs of groups, and another system beside the pool's own predictions.
@overload
def Compare(
    first: _ArrayLike | None,
    second: _ArrayLike,
    by: _By | None = None,
    rope: float = 0.05,
    *,
    measure: Literal["accuracy", "ece"] = "accuracy",
    bins: int | ScoreBins | None = None,
    target: str = "pool",
) -> _asked.Comparison[CompareResult]: ...
@overload
def Compare(
    first: _ArrayLike | None,
    second: _ArrayLike,
    by: str | None = None,
    rope: float = 0.05,
    *,
    measure: _Measures,
    positive: Hashable | None = None,
    values: _ArrayLike | None = None,
    pair: str | None = None,
    target: str = "pool",
) -> _asked.MeasureComparison[_answered.BeliefComparisonResult, _answered.WeightedComparisonResult]: ...
@overload
def Compare(
    first: None = None,
    second: None = None,
    *,
    by: _By,
    rope: float = 0.05,
    measure: Literal["accuracy"] = "accuracy",
    target: str = "pool",
) -> _asked.AllPairs[PairsResult]: ...
@overload
def Compare(
    first: None = None,
    second: None = None,
    *,
    by: str,
    rope: float = 0.05,
    measure: _Measures,
    positive: Hashable | None = None,
    values: _ArrayLike | None = None,
) -> _asked.MeasurePairs[_answered.BeliefPairsResult, _answered.WeightedPairsResult]: ...
@overload
def Compare(
    *, second: _ArrayLike, rope: float = 0.05, measure: Literal["accuracy"] = "accuracy", target: str = "pool"
) -> _asked.TwoSystems[CompareResult]: ...
@overload
def Compare(
    *,
    second: _ArrayLike,
    rope: float = 0.05,
    measure: _Measures,
    positive: Hashable | None = None,
    values: _ArrayLike | None = None,
    target: str = "pool",
) -> _asked.MeasureComparison[_answered.BeliefComparisonResult, _answered.WeightedComparisonResult]: ...
