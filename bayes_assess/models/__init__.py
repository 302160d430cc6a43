"""Generative models, one per file: the NumPyro program and the closed-form posterior beside it."""

from typing import TYPE_CHECKING

from bayes_assess._tools.lazy import names_of
from bayes_assess._tools.pytrees import register_waiting

if TYPE_CHECKING:
    from bayes_assess.models.beta_bernoulli import BetaBernoulli as BetaBernoulli
    from bayes_assess.models.calibration_bins import CalibrationBins as CalibrationBins
    from bayes_assess.models.dirichlet_confusion import DirichletConfusion as DirichletConfusion
    from bayes_assess.models.dirichlet_tree.model import DirichletTree as DirichletTree
    from bayes_assess.models.hierarchical_accuracy import HierarchicalAccuracy as HierarchicalAccuracy
    from bayes_assess.models.hierarchical_calibration import HierarchicalCalibration as HierarchicalCalibration
    from bayes_assess.models.hierarchical_confusion import HierarchicalConfusion as HierarchicalConfusion
    from bayes_assess.models.nested_dirichlet import NestedDirichlet as NestedDirichlet
    from bayes_assess.models.paired_outcomes import PairedOutcomes as PairedOutcomes

_OWNERS = {
    "BetaBernoulli": "beta_bernoulli",
    "CalibrationBins": "calibration_bins",
    "DirichletConfusion": "dirichlet_confusion",
    "DirichletTree": "dirichlet_tree.model",
    "HierarchicalAccuracy": "hierarchical_accuracy",
    "HierarchicalCalibration": "hierarchical_calibration",
    "HierarchicalConfusion": "hierarchical_confusion",
    "NestedDirichlet": "nested_dirichlet",
    "PairedOutcomes": "paired_outcomes",
}

# Whoever asks for a model may take it apart by JAX.
__getattr__, __dir__ = names_of(__name__, _OWNERS, then=register_waiting)
