"""How good is a black-box classifier? Bayesian assessment with as few labels as possible.

The heavy parts (JAX, NumPyro, ArviZ) are imported on first use, so that importing the package is quick and
configures nothing.
"""

from __future__ import annotations

import importlib
from typing import Any

__version__ = "0.1.0"

# Public name -> the submodule that owns it.
_OWNERS = {
    "BayesAssessError": "errors",
    "BudgetError": "errors",
    "DesignError": "errors",
    "EngineError": "errors",
    "JournalError": "errors",
    "LabelError": "errors",
    "PartitionError": "errors",
    "PoolError": "errors",
    "PriorError": "errors",
    "QuestionError": "errors",
    "UnknownIdError": "errors",
    "Pool": "pool",
    "read_pool": "pool",
    "read_log": "pool.logs",
    "read_ranked": "pool.readers",
    "Partition": "pool.groups",
    "TablePool": "pool.scan.pool",
    "scan_pool": "pool.scan.reading",
    "RankedList": "pool.ranked",
    "ScoreBins": "pool.groups",
    "partition": "pool.groups",
    "FeatureStrata": "pool.strata",
    "Strata": "pool.strata",
    "Cells": "pool.cells",
    "cells": "pool.cells",
    "BetaBernoulli": "models.beta_bernoulli",
    "CalibrationBins": "models.calibration_bins",
    "DirichletConfusion": "models.dirichlet_confusion",
    "DirichletTree": "models.dirichlet_tree",
    "HierarchicalAccuracy": "models.hierarchical_accuracy",
    "HierarchicalCalibration": "models.hierarchical_calibration",
    "HierarchicalConfusion": "models.hierarchical_confusion",
    "NestedDirichlet": "models.nested_dirichlet",
    "PairedOutcomes": "models.paired_outcomes",
    "Measure": "measures",
    "ConvergenceWarning": "models.nuts",
    "InferenceError": "errors",
    "fit": "models.nuts",
    "posterior_draws": "models.posterior_draws",
    "Best": "questions",
    "Calibration": "questions",
    "Compare": "questions",
    "ConfusionMatrix": "questions",
    "GroupAccuracy": "questions",
    "GroupRecall": "questions",
    "HighestRecall": "questions",
    "LeastAccurate": "questions",
    "LeastCalibrated": "questions",
    "LowestRecall": "questions",
    "MostAccurate": "questions",
    "Metric": "questions",
    "MostCostly": "questions",
    "PRCurve": "questions",
    "PrecisionCurve": "questions",
    "Rate": "questions",
    "Mean": "questions",
    "Assessment": "sessions.assessment",
    "Queries": "sessions.queries",
    "RankedAssessment": "sessions.ranked_assessment",
    "StochasticAssessment": "sessions.stochastic_assessment",
    "RankedQueries": "sessions.ranked_assessment",
    "CalibrationResult": "results",
    "CompareResult": "results",
    "ConfusionResult": "results",
    "CostResult": "results",
    "GroupResult": "results",
    "MetricResult": "results",
    "PairsResult": "results",
    "PrecisionCurveResult": "results",
    "RateResult": "results",
    "RecallResult": "results",
    "MeanResult": "results",
    "Table": "_tools.tables",
    "Journal": "sessions.journal",
    "OutputError": "errors",
    "UnknownColumnError": "errors",
    "assess": "sessions.start",
    "resume": "sessions.start",
    "label": "web.widget",
    "read_labels": "sessions.exchange.sheets",
    "Study": "studies.study",
    "simulate": "studies.simulate",
    "Plan": "results.plan",
    "plan": "sessions.plan",
}
# Modules that are public as such -> where they are.
_MODULES = {
    "acquisition": "acquisition",
    "designs": "designs",
    "estimators": "estimators",
    "intervals": "estimators.intervals",
    "measures": "measures",
    "models": "models",
    "plots": "results.plots",
}

__all__ = sorted([*_OWNERS, "__version__"])  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return importlib.import_module(f"{__name__}.{_MODULES[name]}")
    owner = _OWNERS.get(name)
    if owner is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f"{__name__}.{owner}"), name)
    if owner.startswith("models."):  # whoever asks for a model may take it apart by JAX
        importlib.import_module(f"{__name__}._tools.pytrees").register_waiting()
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
