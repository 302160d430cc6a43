"""Generative models, one per file: the NumPyro program and the closed-form posterior beside it."""

from bayes_assess.models.beta_bernoulli import BetaBernoulli as BetaBernoulli
from bayes_assess.models.calibration_bins import CalibrationBins as CalibrationBins
from bayes_assess.models.dirichlet_confusion import DirichletConfusion as DirichletConfusion
from bayes_assess.models.dirichlet_tree.model import DirichletTree as DirichletTree
from bayes_assess.models.hierarchical_accuracy import HierarchicalAccuracy as HierarchicalAccuracy
from bayes_assess.models.hierarchical_calibration import HierarchicalCalibration as HierarchicalCalibration
from bayes_assess.models.hierarchical_confusion import HierarchicalConfusion as HierarchicalConfusion
from bayes_assess.models.nested_dirichlet import NestedDirichlet as NestedDirichlet
from bayes_assess.models.paired_outcomes import PairedOutcomes as PairedOutcomes
