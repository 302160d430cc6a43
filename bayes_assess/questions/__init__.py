"""What is asked of a pool, apart from how items are chosen.

A question knows its cells, its prior, what a label is worth (the reward that designs maximise), and how to score
estimates against the truth. It holds no labels.
"""

from collections.abc import Callable

from bayes_assess.questions._base import Question as Question
from bayes_assess.questions._comparison import Comparison as Comparison
from bayes_assess.questions._comparison import GroupPair as GroupPair
from bayes_assess.questions._extremes import ExtremeQuestion as ExtremeQuestion
from bayes_assess.questions._extremes import mean_reciprocal_rank as mean_reciprocal_rank
from bayes_assess.questions._score_prior import ScorePrior as ScorePrior
from bayes_assess.questions._setting import Labelled as Labelled
from bayes_assess.questions._setting import Setting as Setting
from bayes_assess.questions.accuracy import GroupAccuracy as GroupAccuracy
from bayes_assess.questions.accuracy import LeastAccurate as LeastAccurate
from bayes_assess.questions.accuracy import MostAccurate as MostAccurate
from bayes_assess.questions.best import Best as Best
from bayes_assess.questions.calibration import Calibration as Calibration
from bayes_assess.questions.calibration import LeastCalibrated as LeastCalibrated
from bayes_assess.questions.calibration_comparison import TwoCalibrations as TwoCalibrations
from bayes_assess.questions.comparison import Compare as Compare
from bayes_assess.questions.confusion import ConfusionMatrix as ConfusionMatrix
from bayes_assess.questions.confusion import MostCostly as MostCostly
from bayes_assess.questions.group_comparison import AllPairs as AllPairs
from bayes_assess.questions.group_comparison import TwoGroups as TwoGroups
from bayes_assess.questions.mean import Mean as Mean
from bayes_assess.questions.measure_comparison import MeasureComparison as MeasureComparison
from bayes_assess.questions.measure_pairs import MeasurePairs as MeasurePairs
from bayes_assess.questions.metric import Metric as Metric
from bayes_assess.questions.multilabel_metric import MultiLabelMetric as MultiLabelMetric
from bayes_assess.questions.numeric_metric import NumericMetric as NumericMetric
from bayes_assess.questions.paired_comparison import PairedComparison as PairedComparison
from bayes_assess.questions.pr_curve import PRCurve as PRCurve
from bayes_assess.questions.precision_curve import PrecisionCurve as PrecisionCurve
from bayes_assess.questions.rate import Rate as Rate
from bayes_assess.questions.recall import GroupRecall as GroupRecall
from bayes_assess.questions.recall import HighestRecall as HighestRecall
from bayes_assess.questions.recall import LowestRecall as LowestRecall
from bayes_assess.questions.system_comparison import TwoSystems as TwoSystems

QUESTIONS: dict[str, Callable[..., Question]] = {
    question.__name__: question
    for question in (
        GroupAccuracy,
        LeastAccurate,
        MostAccurate,
        GroupRecall,
        LowestRecall,
        HighestRecall,
        ConfusionMatrix,
        MostCostly,
        Calibration,
        LeastCalibrated,
        Compare,
        Best,
        Metric,
        PRCurve,
        PrecisionCurve,
        Rate,
        Mean,
    )
}
