from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from sklearn import metrics

import bayes_assess as ba
from bayes_assess.errors import QuestionError
from bayes_assess.measures import Measure, pr_curve, table_for, value_of
from strict import kept_modes

THRESHOLDS = np.array([0.2, 0.5, 0.6, 0.85])
L = len(THRESHOLDS)


@pytest.fixture(scope="module")
def tables():
    """The curve, and the same as an ordinary measure whose attributes are the scores; ranks of these."""
    scores = np.array([0.1, 0.3, 0.55, 0.7, 0.9])
    pool = ba.Pool(scores=scores)
    ranks, curve = table_for(pr_curve(THRESHOLDS), pool)
    losses = Measure(
        loss=lambda y, f, s: jnp.concatenate([1.0 * (s >= THRESHOLDS), y * (s >= THRESHOLDS), y[None]]),
        g=lambda r: jnp.concatenate([r[L : 2 * L] / r[:L], r[L : 2 * L] / r[2 * L]]),
        name="dense",
        binary=True,
    )
    codes, dense = table_for(losses, pool)
    assert codes.tolist() == ranks.tolist() == [0, 1, 2, 3, 4]
    return curve, dense


def share_of(seed: int) -> np.ndarray:
    share = np.random.default_rng(seed).random((L + 1, 2))
    return share / share.sum()


def test_the_cumulative_sums_equal_the_dense_losses(tables):
    curve, dense = tables
    names = ("value", "jacobian", "directions", "squared_norms", "covariance", "variances")

    @jax.jit
    def everything(table, share, mass):
        risk = table.mean(share)
        moments = [getattr(table, name)(risk, mass, 3) for name in names[4:]]
        return [risk, *(getattr(table, name)(risk) for name in names[:4]), *moments]

    with jax.enable_x64(True):
        got, expected = (everything(table, share_of(0), share_of(1)) for table in (curve, dense))
    for name, one, other in zip(("mean", *names), got, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-11, atol=1e-13, err_msg=name)
    np.testing.assert_array_equal(curve.nonzero, dense.nonzero)


def test_the_curve_equals_scikit_learns_at_every_score():
    rng = np.random.default_rng(4)
    s = rng.random(60).round(2)
    y = (rng.random(60) < s).astype(int)
    precision, recall, thresholds = metrics.precision_recall_curve(y, s)
    np.testing.assert_allclose(value_of(pr_curve(), y, scores=s), [*precision[:-1], *recall[:-1]], rtol=1e-13)
    np.testing.assert_allclose(value_of(pr_curve(thresholds), y, scores=s), [*precision[:-1], *recall[:-1]], rtol=1e-13)


def test_the_positive_class_may_be_one_of_many():
    rng = np.random.default_rng(5)
    rows, y = rng.dirichlet(np.ones(3), 50), rng.integers(3, size=50)
    precision, recall, thresholds = metrics.precision_recall_curve(y == 2, rows[:, 2])
    values = value_of(pr_curve(thresholds), y, scores=rows, positive=2)
    np.testing.assert_allclose(values, [*precision[:-1], *recall[:-1]], rtol=1e-13)


@pytest.mark.parametrize("compiled", [False, True])
def test_a_threshold_that_all_items_reach_has_a_recall_of_one_to_the_digit(tables, compiled):
    curve, _ = tables
    share = np.random.default_rng(6).random((500, L + 1, 2))
    share[:, 0] = 0.0
    share /= share.sum((1, 2), keepdims=True)

    def values(table, share):
        return table.value(table.mean(share))

    with jax.enable_x64(True):
        recall = np.asarray((jax.jit(values) if compiled else values)(curve, share))[:, L]
    assert np.unique(recall).tolist() == [1.0]


@pytest.mark.parametrize("kept", ["no positive label", "nothing above the thresholds"])
def test_what_is_undefined_is_zero_and_has_finite_gradients(tables, kept):
    curve, _ = tables
    share = share_of(2)
    share = share * ([1.0, 0.0] if kept == "no positive label" else np.eye(L + 1)[0][:, None])

    @jax.jit
    def everything(share):
        risk = curve.mean(share)
        other = curve.squared_norms(risk), curve.jacobian(risk), curve.variances(risk, share)
        return curve.value(risk), curve.defined(risk), other

    with jax.enable_x64(True):
        value, defined, other = jax.tree.map(np.asarray, everything(share))
    assert all(np.isfinite(part).all() for part in (value, *other))
    empty = slice(L, None) if kept == "no positive label" else slice(0, L)
    assert not defined[empty].any()
    assert (value[empty] == 0).all()


def test_the_default_thresholds_are_scores_of_the_pool_and_dense_at_the_top():
    scores = np.random.default_rng(6).random(5000)
    ranks, table = table_for(pr_curve(n=64), ba.Pool(scores=scores))
    assert len(table.thresholds) <= 64
    assert np.isin(table.thresholds, scores).all()
    assert (table.thresholds[0], table.thresholds[-1]) == (scores.min(), scores.max())
    assert (np.sort(scores)[-10:] >= table.thresholds[-10]).sum() >= 5
    np.testing.assert_array_equal(ranks, (scores[:, None] >= table.thresholds).sum(1))
    assert table.outputs[0] == f"precision[{float(scores.min())!r}]"
    assert len(table.outputs) == len(table.ranges) == table.n_outputs == 2 * len(table.thresholds)


def test_a_thousand_thresholds_never_make_a_square_of_them():
    _, table = table_for(pr_curve(np.linspace(0.001, 0.999, 1024)), ba.Pool(scores=[0.2, 0.7]))
    share = np.full((1025, 2), 1 / 2050)

    def step(table, share):
        risk = table.mean(share)
        return table.value(risk), table.squared_norms(risk), table.variances(risk, share)

    with (
        kept_modes(),
        jax.enable_x64(True),
        jax.numpy_dtype_promotion("strict"),
        jax.numpy_rank_promotion("raise"),
    ):
        program = jax.make_jaxpr(step)(table, share)
    sizes = [out.aval.size for equation in program.eqns for out in equation.outvars]
    assert max(sizes) <= 2 * 2 * 1025


def test_the_dense_forms_run_under_strict_promotion(tables):
    curve, _ = tables

    def everything(risk, mass):
        return curve.jacobian(risk), curve.directions(risk), curve.covariance(risk, mass), curve.nonzero

    with (
        kept_modes(),
        jax.enable_x64(True),
        jax.numpy_dtype_promotion("strict"),
        jax.numpy_rank_promotion("raise"),
    ):
        jax.eval_shape(everything, jnp.ones(2 * L + 1), jnp.ones((L + 1, 2)))


SCORED = ba.Pool(scores=[0.2, 0.7], groups={"site": ["x", "y"]})


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda: pr_curve([0.1, np.nan]), "Thresholds are finite numbers; threshold 1 is nan"),
        (lambda: pr_curve([0.5, 0.4]), "Thresholds increase; threshold 1 is 0.4 after 0.5: sort them"),
        (lambda: pr_curve([0.5, 0.5]), "Thresholds increase"),
        (lambda: pr_curve([]), r"Thresholds are a list of numbers, \(L,\); found shape \(0,\)"),
        (lambda: pr_curve(["a"]), "Thresholds are numbers"),
        (lambda: pr_curve(n=1), "A curve has 2 thresholds or more; found n = 1"),
        (lambda: table_for(pr_curve(), ba.Pool(predictions=[0, 1])), "'pr_curve' needs scores"),
        (lambda: table_for(pr_curve(), ba.Pool(scores=np.eye(3))), "'pr_curve' is of two classes, and the pool has 3"),
        (lambda: table_for([pr_curve(), "f1"], SCORED), "A precision-recall curve is measured alone"),
        (lambda: table_for(pr_curve(), SCORED, by="site"), "of the pool's own scores, over the whole pool"),
    ],
)
def test_a_curve_that_cannot_be_measured_is_refused_in_one_sentence(ask, message):
    with pytest.raises(QuestionError, match=message):
        ask()
