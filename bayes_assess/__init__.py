"""How good is a black-box classifier? Bayesian assessment with as few labels as possible.

The heavy parts (JAX, NumPyro, ArviZ) are imported on first use, so that importing the package is quick and
configures nothing.
"""

from __future__ import annotations

import importlib
import sys
from types import ModuleType
from typing import Any

__version__ = "0.1.0"

# Public name -> the submodule that owns it.
_OWNERS = {
    "BayesAssessError": "errors",
    "BudgetError": "errors",
    "DesignError": "errors",
    "JournalError": "errors",
    "LabelError": "errors",
    "PartitionError": "errors",
    "PoolError": "errors",
    "PriorError": "errors",
    "QuestionError": "errors",
    "UnknownIdError": "errors",
    "Pool": "pool",
    "read_pool": "pool",
    "Partition": "partition",
    "ScoreBins": "partition",
    "partition": "partition",
    "FeatureStrata": "strata",
    "Strata": "strata",
    "Cells": "cells",
    "cells": "cells",
    "BetaBernoulli": "models.beta_bernoulli",
    "CalibrationBins": "models.calibration_bins",
    "DirichletConfusion": "models.dirichlet_confusion",
    "DirichletTree": "models.dirichlet_tree",
    "PairedOutcomes": "models.paired_outcomes",
    "Measure": "measures",
    "ConvergenceWarning": "inference",
    "InferenceError": "errors",
    "fit": "inference",
    "posterior_draws": "inference",
    "Calibration": "questions",
    "Compare": "questions",
    "ConfusionMatrix": "questions",
    "GroupAccuracy": "questions",
    "LeastAccurate": "questions",
    "LeastCalibrated": "questions",
    "MostAccurate": "questions",
    "Metric": "questions",
    "MostCostly": "questions",
    "PRCurve": "questions",
    "Assessment": "assessment",
    "Queries": "queries",
    "CalibrationResult": "results",
    "CompareResult": "results",
    "ConfusionResult": "results",
    "CostResult": "results",
    "GroupResult": "results",
    "MetricResult": "results",
    "PairsResult": "results",
    "Table": "tables",
    "Journal": "journal",
    "OutputError": "errors",
    "UnknownColumnError": "errors",
    "assess": "assessment",
    "resume": "assessment",
    "Study": "study",
    "simulate": "simulate",
}
# Modules that are public as such.
_MODULES = ("acquisition", "designs", "intervals", "measures", "models", "plots")

__all__ = sorted([*_OWNERS, "__version__"])  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return importlib.import_module(f"{__name__}.{name}")
    owner = _OWNERS.get(name)
    if owner is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f"{__name__}.{owner}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__


class _Package(ModuleType):
    """Keeps ``bayes_assess.partition`` and its like the public functions, not the modules that define them."""

    def __setattr__(self, name: str, value: Any) -> None:
        # Importing a submodule binds it on the package; a public function of the same name takes precedence.
        if name in _OWNERS and isinstance(value, ModuleType):
            return
        super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package
