"""A pool whose rows stand for many items is put to questions as the pool that has all of them."""

import jax
import numpy as np
import polars as pl
import pytest

import bayes_assess as ba
from bayes_assess.designs import find_design
from bayes_assess.pool.cells import Cells

M = 1_500
RNG = np.random.default_rng(2)
SCORE = RNG.beta(0.5, 1.5, M).round(2)  # so that many items are of one kind
ROWS = RNG.dirichlet([0.7, 0.9, 0.5], M).round(1)
ROWS[:, 2] = 1 - ROWS[:, :2].sum(1)
FRAME = pl.DataFrame(
    {
        "id": range(M),
        "score": SCORE,
        **{f"p_{i}": ROWS[:, i].clip(0) for i in range(3)},
        "falling": 1 - SCORE,
        "confidence": SCORE.clip(0.3),
        "answer": RNG.integers(0, 3, M),
        "binary": (SCORE + RNG.normal(0, 0.2, M) > 0.5).astype(int),
        "site": np.array(["n", "s", "w"])[RNG.integers(0, 3, M)],
        "age": RNG.integers(20, 25, M),
    }
)
POOLS = {
    "P(positive)": {"scores": "score"},
    "P(positive) and predictions": {"scores": "score", "predictions": "binary"},
    "P(negative) and predictions": {"scores": "falling", "predictions": "binary"},
    "class probabilities": {"scores": ["p_0", "p_1", "p_2"]},
    "confidence": {"predictions": "answer", "confidence": "confidence"},
    "predictions": {"predictions": "answer"},
}
TWO = ("P(positive)", "P(positive) and predictions")
SCORED = (*TWO, "class probabilities", "confidence")
ASKED = [
    (ba.GroupAccuracy(), "thompson", tuple(POOLS)),
    (ba.GroupAccuracy("site", covariates=["age"]), "thompson", ("P(positive)",)),
    (ba.GroupAccuracy(ba.ScoreBins(5, "weight")), "random", SCORED),
    (ba.LeastAccurate("site"), "thompson", tuple(POOLS)),
    (ba.ConfusionMatrix(), "thompson", tuple(POOLS)),
    (ba.MostCostly(1 - np.eye(3)), "thompson", ("class probabilities", "confidence")),
    (ba.Calibration(5), "thompson", SCORED),
    (ba.LeastCalibrated("site"), "thompson", TWO),
    (ba.Compare("n", "s", by="site"), "thompson", TWO),
    (ba.Compare("prediction", "binary"), "thompson", ("P(positive)",)),
    (ba.Compare("prediction", "binary", measure="f1"), "variance_reduction", TWO),
    (ba.Rate(positive=1), "variance_reduction", tuple(POOLS)),
    (ba.Rate(positive=1, by="site"), "variance_reduction", TWO),
    (ba.Mean(), "variance_reduction", ("class probabilities", "confidence")),
    (ba.Mean(by="site"), "variance_reduction", ("class probabilities",)),
    (ba.Metric("accuracy"), "variance_reduction", tuple(POOLS)),
    (ba.Metric("f1_macro"), "variance_reduction", ("class probabilities", "predictions")),
    (ba.Metric("f1", systems=["prediction", "binary"]), "variance_reduction", TWO),
    *((ba.Metric("f1"), name, TWO) for name in ("variance_reduction", "adaptive", "oasis", "importance", "stratified")),
    *((ba.Metric("f1"), name, TWO) for name in ("passive", "poisson")),
    (ba.Metric("recall", by="site"), "adaptive", TWO),
    (ba.Metric("recall"), "variance_reduction", ("P(negative) and predictions",)),
]


def pools(name):
    """A table's pool, and that of all items, with the scores that the kinds have."""
    groups = ["site", "age"]
    systems = ["binary"] if name in TWO else []
    pool = ba.scan_pool(FRAME.lazy(), groups=groups, systems=systems, **POOLS[name], n_bins=100)
    rows = np.repeat(np.arange(pool.n_rows), pool.multiplicity)
    given = name in ("P(positive)", "class probabilities") and pool.scores is not None
    predictions = None if given and pool.scores.ndim == 1 else pool.classes[pool.predictions][rows]
    whole = ba.Pool(
        scores=None if pool.scores is None else pool.scores[rows],
        predictions=predictions,
        confidence=None if pool._given_confidence is None else pool._given_confidence[rows],
        classes=pool.classes,
        groups={key: pool.groups[key][rows] for key in groups},
        systems={key: pool.classes[pool.systems[key]][rows] for key in systems},
    )
    return pool, whole


def numbers(setting):
    """All numbers of a setting, but for where the items are."""
    parts = {key: value for key, value in vars(setting.cells).items() if key not in ("source", "parts", "events")}
    if hasattr(setting.cells, "events"):
        parts["coordinates"], parts["errors"] = setting.cells.events.coordinates, setting.cells.events.errors
    leaves = jax.tree.leaves({**parts, "prior": setting.prior, "playable": setting.playable})
    return [np.asarray(leaf) for leaf in leaves]


@pytest.mark.parametrize(
    ("question", "design", "name"),
    [
        pytest.param(question, design, name, id=f"{question.name} {design} {name} {place}")
        for place, (question, design, names) in enumerate(ASKED)
        for name in names
    ],
)
def test_settings_are_those_of_all_items(question, design, name):
    pool, whole = pools(name)
    assert pool.n_rows < M / 1.5
    settings = []
    for one in (pool, whole):
        asked = question.for_pool(one)
        strata = find_design(design, asked.n_sought, asked.designs).strata_of(one)
        settings.append(asked.setting(one, 0, strata))
        assert isinstance(settings[-1].cells, Cells)
    fields = [
        {key: value for key, value in question.for_pool(one).result_fields(one).items() if key != "group"}
        for one in (pool, whole)
    ]
    for one, other in zip(
        *([*numbers(s), *jax.tree.leaves(f)] for s, f in zip(settings, fields, strict=True)), strict=True
    ):
        if np.asarray(one).dtype.kind in "OU":
            assert np.asarray(one).tolist() == np.asarray(other).tolist()
        else:
            np.testing.assert_allclose(one, other, rtol=1e-6, atol=1e-9)
