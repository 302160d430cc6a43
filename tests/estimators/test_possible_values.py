"""What labels leave possible: of all labels that the other items could have, and of sessions and studies."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import bayes_assess as ba
from bayes_assess._tools import engine
from bayes_assess.designs import Importance
from bayes_assess.estimators.possible_values import LabelledByAttribute, constant_outputs, possible_values
from bayes_assess.estimators.ratio_losses import ratio_losses
from bayes_assess.measures import LossTable, _pool_losses, table_for
from bayes_assess.measures._difference import difference_table
from bayes_assess.measures._losses import SparseLosses, compress
from bayes_assess.measures.cell_measure import measure_on_cells

RATIOS = ["precision", "recall", "f1", "accuracy", "specificity", "jaccard"]


def every_labelling(counts: np.ndarray, unlabelled: np.ndarray) -> Any:
    """Yield the counts at full labels of two classes, for all that the other items could be."""
    for positives in itertools.product(*(range(n + 1) for n in unlabelled)):
        yield counts + np.stack([unlabelled - positives, positives], -1)


def value(measure: Any, full: np.ndarray) -> np.ndarray:
    with engine.eager():
        return np.asarray(measure.table.value(measure.risk(full / full.sum())))


@pytest.mark.parametrize("seed", range(6))
def test_they_are_the_extremes_over_all_labels(seed):
    rng = np.random.default_rng(seed)
    predictions = rng.integers(0, 2, 12)
    pool = ba.Pool(predictions=predictions, classes=[0, 1], systems={"b": rng.integers(0, 2, 12)})
    for asked in (
        ba.Metric(RATIOS),
        ba.Metric("accuracy", systems=["prediction", "b"]),
        ba.Compare("prediction", "b", measure="f1"),
    ):
        cells: Any = asked.for_pool(pool).cells(pool, 0)
        measure = cells.measure
        unlabelled = rng.integers(0, cells.sizes + 1)
        positives = rng.integers(0, cells.sizes - unlabelled + 1)
        counts = np.stack([cells.sizes - unlabelled - positives, positives], -1)
        values = np.array([value(measure, full) for full in every_labelling(counts, unlabelled)])
        with engine.eager():
            found = possible_values(measure.table, LabelledByAttribute.of(measure, counts))
        expected = np.stack([values.min(0), values.max(0)], -1)
        if len(measure.table.outputs) > 1:
            np.testing.assert_allclose(found, expected, atol=1e-12)
        else:  # of a difference, bounds of both parts
            assert (found[:, 0] <= expected[:, 0] + 1e-12).all()
            assert (found[:, 1] >= expected[:, 1] - 1e-12).all()


@pytest.mark.parametrize("seed", range(4))
def test_those_of_a_curve_are_the_extremes_at_every_threshold(seed):
    rng = np.random.default_rng(seed)
    pool = ba.Pool(scores=rng.choice([0.1, 0.4, 0.6, 0.9], 10))
    cells: Any = ba.PRCurve([0.3, 0.5, 0.7]).for_pool(pool).cells(pool, 0)
    unlabelled = rng.integers(0, cells.sizes + 1)
    positives = rng.integers(0, cells.sizes - unlabelled + 1)
    counts = np.stack([cells.sizes - unlabelled - positives, positives], -1)
    values = np.array([value(cells.measure, full) for full in every_labelling(counts, unlabelled)])
    with engine.eager():
        found = possible_values(cells.measure.table, LabelledByAttribute.of(cells.measure, counts))
    np.testing.assert_allclose(found, np.stack([values.min(0), values.max(0)], -1), atol=1e-12)


def test_those_of_many_campaigns_are_those_of_each():
    pool = ba.Pool(predictions=[0, 0, 0, 1, 1], classes=[0, 1])
    table: Any = measure_on_cells(RATIOS, ba.cells(pool)).table
    counts = np.array([[[[1, 0], [0, 1]], [[0, 2], [1, 0]]], [[[0, 0], [0, 0]], [[2, 1], [1, 1]]]])
    unlabelled = np.array([3, 2]) - counts.sum(-1)
    together = possible_values(table, LabelledByAttribute(counts, unlabelled))
    for at in np.ndindex(2, 2):
        np.testing.assert_array_equal(
            together[at], possible_values(table, LabelledByAttribute(counts[at], unlabelled[at]))
        )


@pytest.mark.parametrize(
    ("design", "asked"),
    [
        ("oasis", "recall"),
        ("importance", "f1"),
        *itertools.product(["adaptive", "importance", "stratified", "passive", "poisson"], ["recall", "curve"]),
        *(pytest.param(d, "f1", marks=pytest.mark.slow) for d in ("adaptive", "stratified", "passive", "poisson")),
    ],
)
def test_answers_of_weighted_draws_stay_within(design, asked):
    """Of 40 items with 25 to 39 labels: without this, one estimate in four was ruled out by its own labels."""
    question = ba.PRCurve([0.25, 0.5, 0.75]) if asked == "curve" else ba.Metric(asked)
    for seed in range(3):
        rng = np.random.default_rng(seed)
        scores = rng.beta(0.5, 1.5, 40)
        labels = (rng.random(40) < scores).astype(int)
        a = ba.assess(ba.Pool(scores=scores), question, design=design, seed=seed)
        predicted = scores[:, None] >= np.array([0.25, 0.5, 0.75] if asked == "curve" else [0.5])
        for _ in range(5):
            ids = a.ask(8).ids
            a.tell(ids, labels[ids])
            result: Any = a.result()
            known = np.isin(np.arange(40), a.labelled[0])
            hits, missed = (labels[:, None] * known[:, None] * one for one in (predicted, ~predicted))
            left, low = ~known[:, None] & predicted, ~known[:, None] & ~predicted
            tp, fn, more, less = hits.sum(0), missed.sum(0), left.sum(0), low.sum(0)
            with np.errstate(invalid="ignore"):
                ends = {
                    "recall": [tp / (tp + fn + less), (tp + more) / (tp + more + fn)],
                    "f1": [
                        2 * tp / (predicted.sum(0) + tp + fn + less),
                        2 * (tp + more) / (predicted.sum(0) + tp + more + fn),
                    ],
                    "curve": [tp / predicted.sum(0), (tp + more) / predicted.sum(0)],
                }[asked]
            least, most = np.nan_to_num(ends)
            size = len(least)
            estimate, interval = (
                np.atleast_1d(result.estimate)[..., :size],
                np.reshape(result.interval, (-1, 2))[:size],
            )
            assert (estimate >= least - 1e-9).all()
            assert (estimate <= most + 1e-9).all()
            assert (interval[:, 0] >= least - 1e-9).all()
            assert (interval[:, 1] <= most + 1e-9).all()


def test_published_intervals_stay_as_they_are_published():
    scores = np.linspace(0.01, 0.99, 20)
    found = []
    for interval in ("beta", "cautious"):
        a = ba.assess(ba.Pool(scores=scores), ba.Metric("recall"), design=Importance(interval=interval))
        ids = a.ask(15).ids
        a.tell(ids, (scores[ids] > 0.3).astype(int))
        result: Any = a.result()
        found.append(result.evidence.answer.possible)
    assert found[0] is None
    assert found[1] is not None


@pytest.mark.parametrize("bounds", [(0, 10), (0, np.inf)])
@pytest.mark.parametrize("by", [None, "site"])
def test_errors_stay_within_what_bounds_of_numbers_allow(bounds, by):
    rng = np.random.default_rng(3)
    predictions = rng.uniform(2, 8, 30)
    labels = np.clip(predictions + rng.normal(0, 1, 30), 0, 10)
    sites = np.repeat(["a", "b"], [18, 12])
    pool = ba.Pool(predictions=predictions, bounds=bounds, groups={"site": sites})
    names = ["mae", "mse", "rmse"]
    a = ba.assess(pool, ba.Metric(names, by=by), design="passive", seed=0)
    for _ in range(3):
        result: Any = a.result()
        known = np.isin(np.arange(30), a.labelled[0])
        error = np.abs(labels - predictions)
        furthest = np.maximum(predictions, 10 - predictions) if np.isfinite(bounds[1]) else np.full(30, np.inf)
        ends = []
        for group in [np.full(30, True)] if by is None else [sites == "a", sites == "b"]:
            for power, root in ((1, 1), (2, 1), (2, 2)):
                least = np.where(known, error, 0)[group] ** power
                most = np.where(known, error, furthest)[group] ** power
                ends.append([least.mean() ** (1 / root), most.mean() ** (1 / root)])
        least, most = np.array(ends).T
        estimate, interval = np.ravel(result.estimate), np.reshape(result.interval, (-1, 2))
        assert (estimate >= least * (1 - 1e-9)).all()
        assert (estimate <= most * (1 + 1e-9)).all()
        assert (interval[:, 0] >= least * (1 - 1e-9)).all()
        assert (interval[:, 1] <= most * (1 + 1e-9)).all()
        ids = a.ask(9).ids
        a.tell(ids, labels[ids])


@pytest.mark.slow
def test_studies_and_sessions_stay_within_alike():
    rng = np.random.default_rng(0)
    scores = rng.beta(0.5, 1.5, 30)
    labels = (rng.random(30) < scores).astype(int)
    pool = ba.Pool(scores=scores)
    study = ba.simulate(pool, labels, ba.Metric("recall"), designs=["importance"], budgets=[28], repeats=60, seed=0)
    positive, predicted = labels.sum(), scores >= 0.5
    hits = (labels * predicted).sum()
    # Two items are unlabelled: the other labels leave no more than two hits, or two positives, to be known.
    least, most = (hits - 2) / positive, hits / max(positive - 2, 1)
    assert (study.estimates["importance"] >= least - 1e-9).all()
    assert (study.estimates["importance"] <= most + 1e-9).all()
    assert (np.diff(study.intervals["importance"]) <= most - least + 1e-9).all()


def sparsely(table: LossTable) -> LossTable:
    """The same table in the form of many outputs, of which only losses that are not 0 are kept."""
    index, values = compress(table.losses.dense())
    return replace(table, losses=SparseLosses(index, values, table.n_losses))


@pytest.mark.parametrize(
    ("measure", "options"),
    [
        (RATIOS, {}),
        (["f1", "accuracy"], {"by": "site"}),
        (["matthews_corrcoef", "recall", "f1_per_class"], {"by": "site"}),
        ("accuracy", {"systems": ["prediction", "b"]}),
        ("f1", {"systems": ["prediction", "b"], "by": "site"}),
    ],
)
def test_they_are_those_of_a_table_that_keeps_few_losses(measure, options):
    rng = np.random.default_rng(2)
    groups, systems = {"site": np.arange(60) % 7}, {"b": rng.integers(0, 2, 60)}
    pool = ba.Pool(predictions=rng.integers(0, 2, 60), classes=[0, 1], groups=groups, systems=systems)
    _, dense = table_for(measure, pool, **options)
    tables = [dense, difference_table(dense, 0, 1)] if isinstance(measure, str) else [dense]
    counts = rng.integers(0, 3, (2, dense.n_attributes, 2)).astype(float)
    labelled = LabelledByAttribute(counts, rng.integers(0, 4, (2, dense.n_attributes)).astype(float))
    for table in tables:
        np.testing.assert_allclose(possible_values(sparsely(table), labelled), possible_values(table, labelled))
        for few, many in zip(ratio_losses(sparsely(table)), ratio_losses(table), strict=True):
            np.testing.assert_allclose(few, many)


@pytest.mark.parametrize("design", ["passive", "poisson", "variance_reduction"])
def test_sessions_on_very_many_groups_answer(design, monkeypatch):
    rng, site = np.random.default_rng(1), np.arange(120) % 12
    labels = rng.integers(0, 2, 120)
    pool = ba.Pool(predictions=np.where(rng.random(120) < 0.8, labels, 1 - labels), groups={"site": site})
    results = []
    for largest in (100, 2**22):
        monkeypatch.setattr(_pool_losses, "LARGEST_DENSE", largest)
        a = ba.assess(pool, ba.Metric(["f1", "accuracy"], by="site"), design=design)
        ids = a.ask(40).ids
        a.tell(ids, labels[ids])
        results.append(a.result())
    np.testing.assert_allclose(results[0].interval, results[1].interval)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_what_is_called_constant_is_so_for_all_labels(n_classes):
    """A group in which one class is predicted: no label gives it a correlation."""
    predictions, site = np.array([1, 1, 1, 0, 1]), np.array(["one", "one", "one", "two", "two"])
    pool = ba.Pool(predictions=predictions, classes=list(range(n_classes)), groups={"site": site})
    names = ["matthews_corrcoef", "cohen_kappa", "balanced_accuracy", "recall_macro", "f1_macro", "f1_per_class"]
    item, found_table = table_for(names, pool, by="site")
    table: Any = found_table
    always = [list(table.outputs).index(name) for name in ("matthews_corrcoef (site one)", "cohen_kappa (site one)")]
    for known in itertools.product(range(-1, n_classes), repeat=5):
        if known[3:] != (-1, -1):
            continue
        counts, unlabelled = np.zeros((table.n_attributes, n_classes)), np.zeros(table.n_attributes)
        for place, label in zip(item, known, strict=True):
            unlabelled[place] += label < 0
            counts[place, max(label, 0)] += label >= 0
        with engine.eager():
            found, values = constant_outputs(table, counts[None], unlabelled[None])
        assert found[0, always].all()
        choices = [range(n_classes) if label < 0 else [label] for label in known]
        every = np.zeros((int(np.prod([len(one) for one in choices])), *counts.shape))
        for one, labels in zip(every, itertools.product(*choices), strict=True):
            np.add.at(one, (item, list(labels)), 0.2)
        with engine.eager():
            all_values = np.asarray(table.value(table.mean(every)))
        np.testing.assert_allclose(all_values[:, found[0]] - values[found[0]], 0, atol=1e-9)


@pytest.mark.parametrize("design", ["variance_reduction", "passive"])
@pytest.mark.parametrize("measure", ["matthews_corrcoef", "cohen_kappa"])
def test_correlations_with_one_predicted_class_are_known_before_any_label(design, measure):
    rng, site = np.random.default_rng(0), np.arange(90) % 3
    labels = rng.integers(0, 2, 90)
    pool = ba.Pool(predictions=np.where(site == 2, 1, labels), classes=[0, 1], groups={"site": site})
    a = ba.assess(pool, ba.Metric(measure, by="site"), design=design)
    for _ in range(2):
        result: Any = a.result()
        assert f"{measure} (site 2) 0.000 (exact: no label that is missing can change it)." in result.summary()
        assert result.guarantee != "exact"
        assert not np.ptp(result.interval[2])
        assert abs(result.estimate[2]) < 1e-9
        ids = a.ask(20).ids
        a.tell(ids, labels[ids])
