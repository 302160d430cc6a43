"""Intervals of groups that lean on random labels alone: what each question makes of bounds of shares."""

from __future__ import annotations

from itertools import product
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import stats

import bayes_assess as ba
from bayes_assess.estimators.random_counts import RandomLabels
from made import play_on_numpy

RNG = np.random.default_rng(5)
SITES = np.array(["a"] * 5 + ["b"] * 4)
RIGHT = np.array([1, 1, 0, 1, 0, 1, 1, 0, 1], bool)
PREDICTED = np.array([0, 1, 1, 0, 1, 1, 0, 1, 0])
OTHER = np.array([0, 1, 0, 0, 1, 0, 0, 1, 1])
SMALL = ba.Pool(
    predictions=PREDICTED,
    confidence=np.where(np.arange(9) % 2, 0.6, 0.95),
    groups={"site": SITES},
    systems={"other": OTHER},
)
COST = [[0.0, 1.0], [5.0, 2.0]]
QUESTIONS = {
    "accuracy": ba.GroupAccuracy(by="site"),
    "recall": ba.GroupRecall(by="site"),
    "confusion": ba.ConfusionMatrix(),
    "cost": ba.MostCostly(COST),
    "calibration": ba.Calibration(bins=2),
    "calibration of groups": ba.LeastCalibrated(by="site", bins=2),
    "two groups": ba.Compare("a", "b", by="site"),
    "all groups": ba.Compare(by="site"),
    "two systems": ba.Compare("prediction", "other"),
    "two calibrations": ba.Compare("a", "b", by="site", measure="ece", bins=2),
}
every_question = pytest.mark.parametrize("kind", QUESTIONS)


def tables(sizes: np.ndarray, n_outcomes: int, possible: np.ndarray):
    """All tables of counts of cells by outcome."""
    rows = [
        [
            row
            for row in product(range(size + 1), repeat=n_outcomes)
            if sum(row) == size and not np.array(row)[~may].any()
        ]
        for size, may in zip(sizes.tolist(), possible, strict=True)
    ]
    return np.array(list(product(*rows)))


@every_question
def test_extremes_are_those_of_all_counts_within_the_bounds(kind):
    asked = QUESTIONS[kind].for_pool(SMALL)
    setting = asked.setting(SMALL)
    cells, n_outcomes = setting.cells, setting.n_outcomes
    possible = np.ones((cells.n_cells, n_outcomes), bool)
    if kind == "two systems":  # which are both right, or both wrong, where they agree
        possible = np.array([[True, False, False, True], [False, True, True, True]])
    if kind == "cost":
        possible = np.array([[True, True], [True, True]])
    full = tables(cells.sizes, n_outcomes, possible)
    shares = full / np.maximum(cells.sizes[:, None], 1)
    for _ in range(8):
        one, other = shares[RNG.integers(len(shares), size=2)]
        low, high = np.minimum(one, other), np.maximum(one, other)
        inside = ((shares >= low - 1e-9) & (shares <= high + 1e-9)).all(axis=(1, 2))
        values = np.array([asked.truth_of_counts(cells, counts) for counts in full[inside]], float)
        ends = asked.extremes(cells, low, high)
        if kind == "recall":  # of groups in which nothing may be positive nothing is known
            unknown = (high[:, :2] == 0).all(-1)
            assert (ends[unknown] == [0, 1]).all()
            ends, values = ends[~unknown], values[:, ~unknown]
        assert (ends[..., 0] <= values.min(0) + 1e-9).all()
        assert (ends[..., 1] >= values.max(0) - 1e-9).all()
        if "calibration" not in kind:  # whose gaps may vanish between two counts
            np.testing.assert_allclose(ends[..., 0], values.min(0), atol=1e-9)
            np.testing.assert_allclose(ends[..., 1], values.max(0), atol=1e-9)


def campaign(kind: str, design: str | None = None):
    n = 1200
    rng = np.random.default_rng(11)
    site = rng.choice(["a", "b"], n, p=[0.8, 0.2])
    predicted = rng.integers(0, 2, n)
    confidence = rng.beta(4, 2, n) / 2 + 0.5
    labels = np.where(rng.random(n) < np.where(site == "a", 0.9, 0.6), predicted, 1 - predicted)
    other = np.where(rng.random(n) < 0.7, predicted, 1 - predicted)
    pool = ba.Pool(
        predictions=predicted, confidence=confidence, groups={"site": site}, systems={"other": other}, classes=[0, 1]
    )
    return pool, labels, QUESTIONS[kind]


@every_question
def test_they_hold_at_all_looks_together(kind):
    pool, labels, asked = campaign(kind)
    setting = asked.for_pool(pool).setting(pool)
    cells, repeats, level = setting.cells, 150, 0.8
    full = asked.for_pool(pool).full_counts(pool, cells, pool.label_codes(labels), setting.n_outcomes)
    rng, counts = np.random.default_rng(3), []
    shares = np.array([0.02, 0.1, 0.4, 1.0])  # of every cell, each label in its random order
    for _ in range(repeats):
        orders = [rng.permutation(np.repeat(np.arange(setting.n_outcomes), row)) for row in full]
        counts.append(
            [
                [np.bincount(order[: int(share * len(order))], minlength=setting.n_outcomes) for order in orders]
                for share in shares
            ]
        )
    found = SimpleNamespace(counts=np.array(counts), cells=cells)
    ends, truth = asked.for_pool(pool).study_design_intervals(found, level), asked.truth(pool, labels)
    held = ((ends[..., 0] <= truth + 1e-9) & (truth <= ends[..., 1] + 1e-9)).all(axis=1)
    assert held.sum(0).min() >= stats.binom(repeats, level).ppf(1e-6)
    np.testing.assert_allclose(ends[:, -1, ..., 0], np.broadcast_to(truth, ends[:, -1, ..., 0].shape), atol=1e-9)
    widths = np.diff(ends, axis=-1)[..., 0].mean(0)
    assert (widths[1:] <= widths[:-1] + 1e-9).all()


def test_studies_have_them_for_designs_that_play_groups(monkeypatch):
    play_on_numpy(monkeypatch)
    pool, labels, asked = campaign("accuracy")
    study = ba.simulate(
        pool, labels, asked, designs=["random"], budgets=[20, 80], repeats=8, seed=4, prior="uninformative"
    )
    ends = study.design_intervals["random"]
    assert ends.shape == study.intervals["random"].shape
    counts = study.campaigns["random"].counts
    low, high = RandomLabels.all_of(counts).shares(study.campaigns["random"].cells.sizes, 0.95)
    np.testing.assert_allclose(ends, np.stack([low[..., 1], high[..., 1]], axis=-1))


@every_question
@pytest.mark.parametrize("prior", ["learned", "uninformative"])
def test_results_have_them_beside_an_assumption(kind, prior):
    pool, labels, asked = campaign(kind)
    a = ba.assess(pool, asked, prior=prior, seed=2)
    queries = a.ask(40)
    a.tell(queries.ids, labels[queries.ids])
    r = a.result()
    assert r.design_interval.shape == r.interval.shape
    assert r.assumption
    assert np.diff(r.design_interval, axis=-1).mean() > np.diff(r.interval, axis=-1).mean()
    a.tell(pool.ids, labels)
    exact = a.result()
    assert exact.guarantee == "exact"
    assert exact.assumption.startswith("Nothing is assumed")
    np.testing.assert_allclose(exact.design_interval, exact.interval, atol=1e-9)
    assert "design_interval" in r.to_dict()


SHARE = 0.7


def told_by(choose, seed: int):
    """A session of 300 of 1,000 items, of which `choose` tells, sets aside or gives back as it likes."""
    pool = ba.Pool(predictions=np.ones(1000, int), classes=[0, 1])
    labels = (np.random.default_rng(seed).permutation(1000) < 1000 * SHARE).astype(int)
    a = ba.assess(pool, ba.GroupAccuracy(), design="random", seed=seed)
    while a.labels_used + a.n_pending + a.n_skipped < 300 and a.n_remaining:
        choose(a, a.ask(50).ids, labels)
    return a.result(0.8)


def only_right_ones(a, ids, labels):
    a.tell(ids[labels[ids] == 1], [1] * int(labels[ids].sum()))


def wrong_ones_set_aside(a, ids, labels):
    only_right_ones(a, ids, labels)
    a.skip(ids[labels[ids] == 0])


def wrong_ones_set_aside_and_told_later(a, ids, labels):
    wrong_ones_set_aside(a, ids, labels)
    some = a.skipped[::4]
    a.tell(some, labels[some])


def some_are_volunteered_first(a, ids, labels):
    if not a.labels_used:
        wrong = np.setdiff1d(np.flatnonzero(labels == 0), ids)[:100]
        a.tell(wrong, labels[wrong])
    a.tell(ids, labels[ids])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("choose", "is_seen"),
    [
        *[(only_right_ones, False), (wrong_ones_set_aside, False), (wrong_ones_set_aside_and_told_later, False)],
        (some_are_volunteered_first, True),
    ],
)
def test_whoever_chooses_which_labels_come_back_misleads_nobody_who_reads_them(choose, is_seen):
    """The credible interval takes labels for random ones, and misses, unless they are unlike those that are."""
    results = [told_by(choose, seed) for seed in range(12)]
    held = [r.design_interval[1, 0] <= SHARE + 1e-9 and r.design_interval[1, 1] >= SHARE - 1e-9 for r in results]
    believed = [r.interval[1, 0] <= SHARE <= r.interval[1, 1] for r in results]
    assert sum(held) >= stats.binom(12, 0.8).ppf(1e-3)
    assert sum(believed) >= stats.binom(12, 0.8).ppf(1e-3) if is_seen else sum(believed) < 6
    assert np.mean([np.diff(r.design_interval[1]) for r in results]) < 1


def test_labels_that_were_drawn_otherwise_leave_what_they_leave_possible():
    pool, labels, _ = campaign("accuracy")
    a = ba.assess(pool, ba.GroupAccuracy(by="site"), seed=0)
    queries = a.ask(60)
    a.tell(queries.ids, labels[queries.ids])
    r = a.result(question=ba.GroupAccuracy(by="prediction"))  # whose groups have parts of both sites
    right = np.bincount(pool.predictions[queries.ids], labels[queries.ids] == pool.predictions[queries.ids])
    told, size = np.bincount(pool.predictions[queries.ids]), np.bincount(pool.predictions)
    expected = np.stack([right / size, (size - told + right) / size], axis=-1)
    np.testing.assert_allclose(r.design_interval, expected)
    alike = a.result(question=ba.LeastAccurate(by="site"))
    np.testing.assert_allclose(alike.design_interval, a.result().design_interval)


def test_of_the_population_the_pool_is_a_sample_too():
    pool, labels, _ = campaign("accuracy")
    a = ba.assess(pool, ba.GroupAccuracy(by="site", target="population"), seed=0)
    a.tell(a.ask(1200).ids, labels[a.labelled[0]] if a.labels_used else labels[a.pending])
    r = a.result()
    assert (np.diff(r.design_interval, axis=-1) > 0).all()
    counts = r.counts
    low, high = RandomLabels.all_of(counts).shares(r.cells.sizes, 0.95, of_pool=False)
    np.testing.assert_allclose(r.design_interval, np.stack([low[:, 1], high[:, 1]], axis=-1))


@pytest.mark.parametrize(
    ("kind", "n_parts"), [("accuracy", 1), ("recall", 2), ("two groups", 2), ("two calibrations", 2)]
)
def test_parts_of_an_answer_are_bounded_at_once(kind, n_parts):
    pool, _, asked = campaign(kind)
    setting = asked.for_pool(pool).setting(pool)
    cells, asked = setting.cells, asked.for_pool(pool)
    labels = RandomLabels.all_of(np.where(cells.sizes[:, None] > 0, [20, 30, 25][: setting.n_outcomes], 0))
    assert asked.n_shares(cells) == n_parts
    each, whole = (asked.extremes(cells, *labels.shares(cells.sizes, 1 - alpha)) for alpha in (0.2 / n_parts, 0.2))
    np.testing.assert_array_equal(asked.random_interval(cells, labels, 0.8), each)
    assert (n_parts == 1) == np.array_equal(each, whole)
