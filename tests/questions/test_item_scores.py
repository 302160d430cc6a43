"""Measures by which an item loses as its own score says, such as the log loss: under the default design."""

from __future__ import annotations

import itertools

import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats
from sklearn import metrics

import bayes_assess as ba
from bayes_assess.designs import Poisson, VarianceReduction
from bayes_assess.measures import Measure

BOTH = ["brier_score_loss", "log_loss"]


def made(n: int, seed: int) -> tuple[ba.Pool, np.ndarray, np.ndarray]:
    """Make a pool whose scores are too sure of themselves."""
    rng = np.random.default_rng(seed)
    evidence = rng.normal(-2.0, 2.0, n)
    y = (rng.random(n) < 1 / (1 + np.exp(-evidence))).astype(int)
    s = 1 / (1 + np.exp(-1.6 * evidence))
    return ba.Pool(scores=s, groups={"site": np.array(["a", "b"])[np.arange(n) % 2]}), y, s


def exact(y: np.ndarray, s: np.ndarray) -> list[float]:
    return [metrics.brier_score_loss(y, s), metrics.log_loss(y, s, labels=[0, 1])]


def regret(y, f, s):
    """What is lost by a wrong prediction, the more the surer it was; and by every positive one."""
    return jnp.stack([(y - f) ** 2 * jnp.abs(s - 0.5), y])


REGRET = Measure(loss=regret, g=lambda r: r[0] / (0.5 + r[1]), name="regret", binary=True)


def test_it_is_the_default_of_two_classes_whose_items_are_at_hand():
    pool, *_ = made(60, 0)
    assert ba.assess(pool, ba.Metric("log_loss")).design.name == "variance_reduction"
    assert ba.assess(pool, ba.Metric(["log_loss", "f1"], by="site")).design.name == "variance_reduction"
    three = ba.Pool(scores=0.2 + 0.4 * np.eye(3)[[0, 1, 2, 0, 1, 2]])
    assert ba.assess(three, ba.Metric("log_loss")).design.name == "adaptive"
    with pytest.raises(ba.QuestionError, match="needs scores, which this pool lacks"):
        ba.assess(ba.Pool(predictions=[0, 1]), ba.Metric("log_loss"))
    with pytest.raises(ba.DesignError, match="Losses of log_loss differ by the scores within a stratum"):
        ba.assess(pool, ba.Metric("log_loss"), design=Poisson(labels="curve"))


@pytest.mark.parametrize("design", ["variance_reduction", "adaptive"])
def test_labels_of_everything_answer_as_scikit_learn_does(design):
    pool, y, s = made(400, 1)
    a = ba.assess(pool, ba.Metric([*BOTH, "f1"]), design=design)
    a.tell(pool.ids, y)
    r = a.result()
    assert r.guarantee == "exact"
    np.testing.assert_allclose(r.estimate, [*exact(y, s), metrics.f1_score(y, s > 0.5)], rtol=1e-12)
    np.testing.assert_allclose(r.interval, np.stack([r.estimate] * 2, axis=-1), rtol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize(
    "question",
    [
        ba.Metric(BOTH, by="site"),
        ba.Metric("log_loss", positive=0),
        ba.Metric("brier_score_loss", by="site", average="macro"),
        ba.Compare("a", "b", by="site", measure="log_loss"),
        ba.Metric(REGRET),
    ],
    ids=lambda question: question.name,
)
def test_every_form_of_them_is_exact_once_everything_is_labelled(question):
    pool, y, _ = made(300, 2)
    a = ba.assess(pool, question)
    ids = a.ask(40).ids
    a.tell(ids, y[ids])
    low, high = np.reshape(a.result().interval, (-1, 2)).T
    assert (low < high).all()
    rest = np.setdiff1d(pool.ids, a.labelled[0])
    a.tell(rest, y[rest])
    assert a.design.name == "variance_reduction"
    np.testing.assert_allclose(a.result().estimate, question.truth(pool, y), rtol=1e-10)


def test_a_few_labels_missing_leave_what_they_can_change():
    """Labelled items are known one by one: taken at the means of four strata, they would be far off."""
    pool, y, s = made(400, 3)
    a = ba.assess(pool, ba.Metric(BOTH), design=VarianceReduction(n_strata=4))
    a.tell(pool.ids[3:], y[3:])
    r = a.result()
    others = np.array([exact(np.r_[first, y[3:]], s) for first in itertools.product((0, 1), repeat=3)])
    ends = others.min(0), others.max(0)
    for interval in (r.interval, r.design_interval):
        assert (interval[:, 0] - 1e-12 <= exact(y, s)).all()
        assert (exact(y, s) <= interval[:, 1] + 1e-12).all()
    assert (ends[0] - 1e-12 <= r.interval[:, 0]).all()
    assert (r.interval[:, 1] <= ends[1] + 1e-12).all()


@pytest.mark.slow
def test_what_labels_leave_possible_holds_the_truth():
    pool, y, _ = made(200, 4)
    for n in (20, 120, 190):
        a = ba.assess(pool, ba.Metric(BOTH), design=VarianceReduction(n_strata=6, audit=0.5))
        while a.labels_used < n:
            ids = a.ask(10).ids
            a.tell(ids, y[ids])
        r = a.result()
        truth = a.question.truth(pool, y)
        assert (r.design_interval[:, 0] <= truth).all()
        assert (truth <= r.design_interval[:, 1]).all()
    assert np.diff(r.design_interval)[0, 0] < 0.3  # of 190 labels among 200


def campaigns(n: int, design: object, looks: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return truths (n, 2), and estimates with intervals and those of random items, if there are any (n, 2, 5)."""
    truths, found = [], []
    for i in range(n):
        pool, y, s = made(1500, seed + i)
        a = ba.assess(pool, ba.Metric(BOTH), design=design, seed=i)
        while a.labels_used < looks:
            ids = a.ask(15).ids
            a.tell(ids, y[ids])
        r = a.result()
        truths.append(exact(y, s))
        alone = [r.design_interval] if a.design.name == "variance_reduction" else []
        found.append(np.column_stack([r.estimate, r.interval, *alone]))
    return np.array(truths), np.array(found)


@pytest.mark.slow
def test_intervals_are_far_narrower_than_those_of_weighted_draws_and_no_farther_off():
    truth, believed = campaigns(6, "variance_reduction", 90, 10)
    _, weighted = campaigns(6, "adaptive", 90, 10)
    widths = [np.diff(found[..., 1:3])[..., 0].mean(0) for found in (believed, weighted)]
    assert (widths[0] < 0.6 * widths[1]).all()
    missed = (truth < believed[..., 1]) | (truth > believed[..., 2])
    assert missed.sum(0).max() <= stats.binom(6, 0.05).ppf(0.9995)


@pytest.mark.slow
@pytest.mark.parametrize("audit", [0.05, 0.9])
def test_intervals_hold(audit):
    """Misses of R intervals of 95 % are Binomial(R, 0.05) at most: more than its quantile at 0.9995 are none."""
    truth, found = campaigns(40, VarianceReduction(audit=audit), 120, 50)
    for low, high in ((1, 2), (3, 4)):
        missed = (truth < found[..., low]) | (truth > found[..., high])
        assert missed.sum(0).max() <= stats.binom(40, 0.05).ppf(0.9995)
    if audit == 0.9:
        assert (np.diff(found[..., 3:])[..., 0].mean(0) < [0.2, 0.8]).all()


def test_an_answer_is_summarised_tabulated_resumed_and_handed_to_arviz(tmp_path):
    pool, y, _ = made(300, 5)
    a = ba.assess(pool, ba.Metric(BOTH), journal=tmp_path / "run.db")
    ids = a.ask(40).ids
    a.tell(ids, y[ids])
    r = a.result()
    assert "Without trusting the scores: brier_score_loss [" in r.summary()
    assert r.table()["measure"].tolist() == BOTH
    assert list(r.to_arviz()["posterior"].data_vars) == BOTH
    assert r.sensitivity((0.0, 0.2)).estimate.shape == (2, 2)
    again = ba.resume(tmp_path / "run.db", pool)
    np.testing.assert_array_equal(again.result().interval, r.interval)


@pytest.mark.slow
def test_sessions_on_other_measures_answer_them_and_they_answer_others():
    pool, y, _ = made(500, 6)
    for own, asked in ((ba.Metric("f1"), ba.Metric(BOTH)), (ba.Metric(BOTH), ba.Metric("roc_auc"))):
        a = ba.assess(pool, own, seed=1)
        while a.labels_used < 120:
            ids = a.ask(20).ids
            a.tell(ids, y[ids])
        interval = np.reshape(a.result(question=asked).interval, (-1, 2))
        truth = np.ravel(asked.truth(pool, y))
        assert (interval[:, 0] < truth).all()
        assert (truth < interval[:, 1]).all()
        rest = np.setdiff1d(pool.ids, a.labelled[0])
        a.tell(rest, y[rest])
        np.testing.assert_allclose(np.ravel(a.result(question=asked).estimate), truth, rtol=1e-10)


def test_draws_of_another_model_answer_from_labelled_items_one_by_one():
    pool, y, s = made(300, 7)
    a = ba.assess(pool, ba.Metric(BOTH))
    a.tell(pool.ids[:299], y[:299])
    draws = np.full((50, a.cells.n_cells), 0.5)
    r = a.result(posterior=draws)
    either = np.array([exact(np.r_[y[:299], label], s) for label in (0, 1)])
    np.testing.assert_allclose(np.sort(r.interval, axis=-1), np.sort(either.T, axis=-1), rtol=1e-9)


@pytest.mark.slow
def test_a_study_takes_items_at_the_means_of_their_strata():
    """Off by no more than the sum over strata of sizes times half a standard deviation of what labels change."""
    pool, y, s = made(2_000, 8)
    study = ba.simulate(pool, y, ba.Metric("brier_score_loss"), designs=["variance_reduction"], budgets=[40], repeats=4)
    cell = study.cells.source.row_cells
    spread = [np.std(1 - 2 * s[cell == k]) * (cell == k).sum() / 2 for k in range(study.cells.n_cells)]
    assert abs(study.truth - exact(y, s)[0]) <= sum(spread) / len(s) < 0.02
    assert study.estimates["variance_reduction"].shape == (4, 1)
