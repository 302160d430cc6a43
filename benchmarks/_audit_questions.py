"""Every question of the package's registries as `audit_coverage.py` asks it, and the designs that serve it.

The cases are made from `questions.QUESTIONS`, `measures.MEASURES` and `MULTILABEL_MEASURES`, and the designs of a case
from what its question says of itself: a question or a measure that is registered without a case is an error.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from _audit_worlds import BY_GROUPS_ALONE, KIND_OF, OF_FITS, World

import bayes_assess as ba
from bayes_assess.designs import ARMS, DESIGNS
from bayes_assess.designs.ranked import RANKED_DESIGNS
from bayes_assess.measures import MEASURES
from bayes_assess.measures._multilabel import MULTILABEL_MEASURES
from bayes_assess.questions import QUESTIONS
from bayes_assess.studies.oracles import default_of_draws

CLASSES = ("binary", "classes")
REGRESSION = ("mean_absolute_error", "mean_squared_error", "root_mean_squared_error", "r2", "explained_share")
OF_ORDER = ("roc_auc", "average_precision")
OF_SCORES = ("log_loss", "brier_score_loss", "brier_nh")
AVERAGES = ("_per_class", "_macro", "_micro", "_weighted")
OF_CLASSES = ("accuracy", "balanced_accuracy", "matthews_corrcoef", "cohen_kappa", "zero_one_loss", "hamming_loss")
NO_OPTIONS: dict[str, Any] = {}


@dataclass(frozen=True)
class Case:
    """A question, the kinds of worlds that it is asked of, and how labels come.

    Attributes
    ----------
    name : str
    registered : str
        Name of the question in `QUESTIONS`.
    make : function from a World to a question
    kinds : names of kinds of worlds
    by_groups : bool
        Whether it is about groups.
    options : mapping
        Of `assess`.
    labels : {"one", "two annotators"}
        In the second case both err, and the answer is the one that counts on it.
    alone : bool
        Whether it is asked with the default design alone: another case has the others.
    of_pairs : bool
        Whether it is about pairs, of which the worlds of fitted classifiers may have a half too many.
    rotates : bool
        Whether its default design, too, is asked of a few of the worlds, since a case like it is asked of all.
    """

    name: str
    registered: str
    make: Callable[[World], Any]
    kinds: tuple[str, ...] = CLASSES
    by_groups: bool = False
    options: dict[str, Any] = field(default_factory=dict)
    labels: str = "one"
    alone: bool = False
    of_pairs: bool = False
    rotates: bool = False

    @property
    def worlds(self) -> list[str]:
        """Worlds that it is asked of."""
        kept = [world for kind in self.kinds for world, of_kind in KIND_OF.items() if of_kind == kind]
        if self.of_pairs:
            kept = [world for world in kept if world not in OF_FITS]
        return kept if self.by_groups else [world for world in kept if world not in BY_GROUPS_ALONE]

    def designs(self, world: World) -> list[str]:
        """Names of the designs that serve it, its default first."""
        question = self.make(world)
        if question.of_ranks:
            return list(dict.fromkeys((question.default_design, *RANKED_DESIGNS, *question.designs)))
        question = question.for_pool(world.pool)
        serving = tuple(ARMS) if question.designs is None else question.designs
        most = {name: DESIGNS[name].max_round for name in serving}
        able = [name for name in serving if most[name] is None or most[name] >= question.n_sought]
        if self.options.get("oracle") == "stochastic":
            able = [name for name in able if "stochastic" in DESIGNS[name].oracles]
            default = default_of_draws(question, world.pool)
        else:
            default = question.default_design_on(world.pool)
        return [default] if self.alone else [default, *(name for name in able if name != default)]


def _costs(world: World) -> np.ndarray:
    """Make an error cost 1, that of the last class 5."""
    cost = 1.0 - np.eye(world.pool.n_classes)
    cost[:-1, -1] *= 5
    return cost


def _of_class(world: World) -> int:
    """Name the class that measures of one class are about."""
    return world.pool.n_classes - 1


def _sites(world: World) -> tuple[Any, Any]:
    """Name the two largest groups."""
    names, sizes = np.unique(world.pool.groups["site"], return_counts=True)
    first, second = names[np.argsort(-sizes, kind="stable")[:2]]
    return first, second


def _two(make: Callable[..., Any]) -> Callable[[World], Any]:
    """Ask of the two largest groups."""
    return lambda world: make(*(str(x) if isinstance(x, np.str_) else int(x) for x in _sites(world)))


_OF_GROUPS = [
    Case("accuracy by site", "GroupAccuracy", lambda w: ba.GroupAccuracy(by="site"), by_groups=True),
    Case("accuracy by prediction", "GroupAccuracy", lambda w: ba.GroupAccuracy()),
    Case("accuracy by bins", "GroupAccuracy", lambda w: ba.GroupAccuracy(by=ba.ScoreBins(5)), alone=True),
    Case(
        "accuracy, two annotators",
        "GroupAccuracy",
        lambda w: ba.GroupAccuracy(by="site"),
        by_groups=True,
        labels="two annotators",
        alone=True,
    ),
    Case("least accurate", "LeastAccurate", lambda w: ba.LeastAccurate(by="site"), by_groups=True),
    Case("most accurate", "MostAccurate", lambda w: ba.MostAccurate(by="site", m=2), by_groups=True),
    Case("recall by site", "GroupRecall", lambda w: ba.GroupRecall("site", positive=_of_class(w)), by_groups=True),
    Case("lowest recall", "LowestRecall", lambda w: ba.LowestRecall("site", positive=_of_class(w)), by_groups=True),
    Case(
        "highest recall",
        "HighestRecall",
        lambda w: ba.HighestRecall("site", positive=_of_class(w), m=2),
        by_groups=True,
        alone=True,
    ),
    Case("confusion", "ConfusionMatrix", lambda w: ba.ConfusionMatrix(_costs(w))),
    Case("most costly", "MostCostly", lambda w: ba.MostCostly(_costs(w))),
    Case("calibration", "Calibration", lambda w: ba.Calibration(5)),
    Case("calibration by site", "Calibration", lambda w: ba.Calibration(3, by="site"), by_groups=True, alone=True),
    Case("least calibrated", "LeastCalibrated", lambda w: ba.LeastCalibrated(by="site", bins=3), by_groups=True),
    Case("compare two sites", "Compare", _two(lambda a, b: ba.Compare(a, b, by="site")), by_groups=True),
    Case("compare all sites", "Compare", lambda w: ba.Compare(by="site"), by_groups=True),
    Case(
        "compare calibration",
        "Compare",
        _two(lambda a, b: ba.Compare(a, b, by="site", measure="ece", bins=3)),
        by_groups=True,
    ),
    Case("compare systems", "Compare", lambda w: ba.Compare("new", "prediction")),
]
_OF_MEASURES = [
    Case(
        "compare F1 of systems",
        "Compare",
        lambda w: ba.Compare("new", "prediction", measure="f1", positive=_of_class(w)),
    ),
    Case("compare macro F1 of systems", "Compare", lambda w: ba.Compare("new", "old", measure="f1_macro")),
    Case(
        "compare F1 of sites",
        "Compare",
        _two(lambda a, b: ba.Compare(a, b, by="site", measure="f1", positive=1)),
        by_groups=True,
    ),
    Case(
        "compare rates of pairs",
        "Compare",
        lambda w: ba.Compare("a", "b", by="half", measure="rate", pair="pair"),
        ("binary",),
        of_pairs=True,
    ),
    Case(
        "compare means of pairs",
        "Compare",
        lambda w: ba.Compare("a", "b", by="half", measure="mean", pair="pair", rope=0.2),
        ("ratings",),
        of_pairs=True,
    ),
    Case(
        "compare all rates",
        "Compare",
        lambda w: ba.Compare(by="site", measure="rate", positive=_of_class(w)),
        by_groups=True,
    ),
    Case("compare all means", "Compare", lambda w: ba.Compare(by="site", measure="mean", rope=0.2), ("ratings",)),
    Case("best by accuracy", "Best", lambda w: ba.Best(rope=0.01)),
    Case("best by F1", "Best", lambda w: ba.Best(measure="f1", positive=_of_class(w), rope=0.01)),
    Case("best by balanced accuracy", "Best", lambda w: ba.Best(measure="balanced_accuracy"), alone=True),
    Case("rate", "Rate", lambda w: ba.Rate(_of_class(w))),
    Case("rate, no further judge", "Rate", lambda w: ba.Rate(_of_class(w), judges=[])),
    Case("rate by site", "Rate", lambda w: ba.Rate(_of_class(w), by="site", judges=[]), by_groups=True),
    Case("rate, two annotators", "Rate", lambda w: ba.Rate(1), ("binary",), labels="two annotators", alone=True),
    Case("mean of ratings", "Mean", lambda w: ba.Mean(), ("ratings",)),
    Case("mean by site", "Mean", lambda w: ba.Mean(by="site", judges=[]), ("ratings",)),
    Case("mean of numbers", "Mean", lambda w: ba.Mean(), ("bounded",)),
    Case("PR curve", "PRCurve", lambda w: ba.PRCurve([0.2, 0.5, 0.8], positive=_of_class(w))),
    Case(
        "PR curve, drawn labels",
        "PRCurve",
        lambda w: ba.PRCurve([0.2, 0.5, 0.8]),
        ("binary",),
        options={"oracle": "stochastic"},
    ),
    Case(
        "precision curve",
        "PrecisionCurve",
        lambda w: ba.PrecisionCurve(epsilon=0.3, beta=1.5, slack=30, p_min=None),
        ("lists",),
    ),
    Case("f1 by site", "Metric", lambda w: ba.Metric("f1", by="site", positive=_of_class(w)), by_groups=True),
    Case("accuracy of systems", "Metric", lambda w: ba.Metric("accuracy", systems=["prediction", "new", "old"])),
    Case(
        "precision and recall of systems",
        "Metric",
        lambda w: ba.Metric(["precision", "recall"], systems=["prediction", "new"], positive=_of_class(w)),
        alone=True,
    ),
    Case("f1, drawn labels", "Metric", lambda w: ba.Metric("f1"), ("binary",), options={"oracle": "stochastic"}),
    Case(
        "several, drawn labels",
        "Metric",
        lambda w: ba.Metric(["accuracy", "recall", "matthews_corrcoef"]),
        ("binary",),
        options={"oracle": "stochastic"},
    ),
]


def _options_of(name: str) -> dict[str, Any]:
    return {"beta": 2} if name.startswith("fbeta") else NO_OPTIONS


def _measure(name: str) -> Any:
    return ba.measures.measure(name, **_options_of(name))


def _of_metric(names: list[str]) -> Callable[[World], Any]:
    binary = any(_measure(name).binary for name in names)
    made: Any = [_measure(name) for name in names] if len(names) > 1 else _measure(names[0])
    return lambda world: ba.Metric(made, positive=_of_class(world) if binary else None)


def _metrics() -> Iterator[Case]:
    """Every measure by the default design, and lists of all by the others."""
    averages = [name for name in MEASURES if name.endswith(AVERAGES) or name == "seme_f1_macro"]
    two_class = [name for name in MEASURES if name not in (*averages, *REGRESSION, *OF_ORDER, *OF_SCORES, *OF_CLASSES)]
    for name in MEASURES:
        if name not in REGRESSION:
            kinds = ("classes",) if name in averages else CLASSES
            yield Case(
                name,
                "Metric",
                _of_metric([name]),
                kinds,
                alone=name not in ("f1", "precision", "recall"),
                rotates=name != "f1",
            )
    yield Case("all of one class", "Metric", _of_metric(two_class), CLASSES)
    yield Case("all of all classes", "Metric", _of_metric(list(OF_CLASSES)), CLASSES)
    yield Case("all averages", "Metric", _of_metric(averages), ("classes",))
    yield Case("all of scores", "Metric", _of_metric([name for name in OF_SCORES if name != "brier_nh"]), CLASSES)
    yield Case("all of the order", "Metric", _of_metric(list(OF_ORDER)), CLASSES)
    yield Case("numbers", "Metric", lambda w: ba.Metric(list(REGRESSION)), ("numbers",))
    yield Case("numbers by site", "Metric", lambda w: ba.Metric(["mae", "rmse"], by="site"), ("numbers",))
    yield Case("all of label sets", "Metric", lambda w: ba.Metric(list(MULTILABEL_MEASURES)), ("sets",))
    for name in ("f1_micro", "f1_macro", "accuracy", "recall_micro", "f1_samples"):
        yield Case(f"{name} of label sets", "Metric", lambda w, name=name: ba.Metric(name), ("sets",), alone=True)


def _all_cases() -> dict[str, Case]:
    cases = {case.name: case for case in (*_OF_GROUPS, *_OF_MEASURES, *_metrics())}
    missing = set(QUESTIONS) - {case.registered for case in cases.values()}
    if missing:
        raise LookupError(f"Questions without a case: {', '.join(sorted(missing))}.")
    return cases


CASES = _all_cases()
assert set(KIND_OF) >= {world for case in CASES.values() for world in case.worlds}
