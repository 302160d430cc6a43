"""The pool: predictions, scores, ids and groups of items, and the cells and strata that they are cut into."""

from bayes_assess.pool.cells import Cells as Cells
from bayes_assess.pool.groups import Partition as Partition
from bayes_assess.pool.groups import ScoreBins as ScoreBins
from bayes_assess.pool.label_sets import MultiLabelSpace as MultiLabelSpace
from bayes_assess.pool.multilabel import MultiLabelPool as MultiLabelPool
from bayes_assess.pool.numbers import NumberPool as NumberPool
from bayes_assess.pool.numeric import NumericPool as NumericPool
from bayes_assess.pool.pool import Pool as Pool
from bayes_assess.pool.readers import read_pool as read_pool
from bayes_assess.pool.strata import FeatureStrata as FeatureStrata
from bayes_assess.pool.strata import Strata as Strata
