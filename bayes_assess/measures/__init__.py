"""What is measured: generalised measures G = g(R), R = E[l(x, y)] ([NH] Definition 1), and their tables of losses.

A `Measure` says what is measured (`measure` finds it by scikit-learn's name; one may write one's own). `table_for`
turns it, on a pool, into a `LossTable` over the few attributes of items on which its losses depend, from which
samplers and simulators take means, values, gradients and variances. `value_of` is the exact value from all labels.
Where items have several labels each, `multilabel_measure` finds measures with losses of whole sets of labels.
"""

from bayes_assess.measures._averaged import AveragedTable as AveragedTable
from bayes_assess.measures._averaged import averaged as averaged
from bayes_assess.measures._centred import alike_outputs as alike_outputs
from bayes_assess.measures._centred import centred_table as centred_table
from bayes_assess.measures._classification import mean_of as mean_of
from bayes_assess.measures._difference import Difference as Difference
from bayes_assess.measures._difference import difference_table as difference_table
from bayes_assess.measures._full_labels import item_losses as item_losses
from bayes_assess.measures._full_labels import pool_value as pool_value
from bayes_assess.measures._full_labels import value_of as value_of
from bayes_assess.measures._item_attributes import positive_code as positive_code
from bayes_assess.measures._loss_table import LossTable as LossTable
from bayes_assess.measures._measure import Measure as Measure
from bayes_assess.measures._multilabel import MULTILABEL_MEASURES as MULTILABEL_MEASURES
from bayes_assess.measures._multilabel import MultiLabelMeasure as MultiLabelMeasure
from bayes_assess.measures._multilabel import multilabel_measure as multilabel_measure
from bayes_assess.measures._pool_losses import combine as combine
from bayes_assess.measures._pool_losses import curve_scores as curve_scores
from bayes_assess.measures._pool_losses import table_for as table_for
from bayes_assess.measures._pr_curve import PRCurveMeasure as PRCurveMeasure
from bayes_assess.measures._pr_curve import PRCurveTable as PRCurveTable
from bayes_assess.measures._pr_curve import pr_curve as pr_curve
from bayes_assess.measures._ranking import Levels as Levels
from bayes_assess.measures._ranking import RankingTable as RankingTable
from bayes_assess.measures._ranking import area as area
from bayes_assess.measures._real import GroupedRealMeasures as GroupedRealMeasures
from bayes_assess.measures._real import RealMeasures as RealMeasures
from bayes_assess.measures._registry import LOSSES as LOSSES
from bayes_assess.measures._registry import MEASURES as MEASURES
from bayes_assess.measures._registry import OF_CLASSES_THAT_OCCUR as OF_CLASSES_THAT_OCCUR
from bayes_assess.measures._registry import describe_measure as describe_measure
from bayes_assess.measures._registry import described_measure as described_measure
from bayes_assess.measures._registry import measure as measure
