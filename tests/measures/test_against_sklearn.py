from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn import metrics

import bayes_assess as ba
from bayes_assess.measures import measure, pool_value, table_for, value_of
from measures.references import SCORES, names_for, reference, table_of_all

TOLERANCE = {"rtol": 1e-12, "atol": 1e-12}


def expected(y: np.ndarray, f: np.ndarray, n_classes: int) -> np.ndarray:
    return np.concatenate([reference(name, y, f, n_classes) for name in names_for(n_classes)])


def check(counts: np.ndarray) -> None:
    n_classes = len(counts)
    table = table_of_all(n_classes)
    f, y = (codes.ravel() for codes in np.indices(counts.shape))  # rows = predicted class
    y, f = np.repeat(y, counts.ravel()), np.repeat(f, counts.ravel())
    values = np.asarray(table.value(table.mean(counts / counts.sum())))
    for name, value, truth in zip(table.outputs, values, expected(y, f, n_classes), strict=True):
        np.testing.assert_allclose(value, truth, **TOLERANCE, err_msg=f"{name}\n{counts}")


@settings(max_examples=12, deadline=None, derandomize=True)
@given(st.sampled_from([2, 3]).flatmap(lambda c: arrays(np.int64, (c, c), elements=st.integers(0, 7))))
def test_every_measure_of_a_confusion_table_equals_scikit_learns(counts):
    if counts.sum():
        check(counts)


EDGES = {
    "no label is positive": [[3, 0], [2, 0]],
    "nothing is predicted positive": [[3, 2], [0, 0]],
    "one class only, the negative": [[7, 0], [0, 0]],
    "one class only, the positive": [[0, 0], [0, 7]],
    "every label is positive": [[0, 3], [0, 7]],
    "everything is predicted positive": [[0, 0], [3, 8]],
    "nothing is right": [[0, 4], [3, 0]],
    "everything is right": [[3, 0], [0, 4]],
    "a class neither predicted nor labelled": [[4, 1, 0], [1, 3, 0], [0, 0, 0]],
    "a class never predicted": [[4, 1, 2], [1, 3, 1], [0, 0, 0]],
    "a class never labelled": [[4, 1, 0], [1, 3, 0], [2, 3, 0]],
    "one class of three": [[0, 0, 0], [0, 3, 0], [0, 0, 0]],
}


@pytest.mark.parametrize("counts", EDGES.values(), ids=EDGES.keys())
def test_zero_divisions_equal_scikit_learns(counts):
    check(np.array(counts))


def test_what_is_undefined_is_told_and_counts_as_zero():
    table = table_of_all(2)
    risk = table.mean([[1.0, 0.0], [0.0, 0.0]])
    told = dict(zip(table.outputs, table.defined(risk), strict=True))
    undefined = (
        "precision",
        "recall",
        "f1",
        "jaccard",
        "fowlkes_mallows",
        "matthews_corrcoef",
        "cohen_kappa",
        "balanced_accuracy",
        "f1_macro",
        "f1[1]",
        "seme_f1_macro",
    )
    assert [name for name in undefined if told[name]] == []
    assert all(told[name] for name in ("accuracy", "specificity", "f1_micro", "f1[0]", "f1_weighted", "zero_one_loss"))
    values = dict(zip(table.outputs, table.value(risk), strict=True))
    assert values["precision"] == values["matthews_corrcoef"] == values["cohen_kappa"] == 0


@pytest.mark.parametrize("counts", EDGES.values(), ids=EDGES.keys())
def test_gradients_are_finite_where_a_measure_is_undefined(counts):
    table = table_of_all(len(counts))
    risk = table.mean(np.array(counts) / np.sum(counts))
    assert np.isfinite(table.jacobian(risk)).all()
    assert np.isfinite(table.squared_norms(risk)).all()


def test_measures_of_scores_equal_scikit_learns():
    rng = np.random.default_rng(3)
    y = rng.integers(2, size=50)
    s = np.append(rng.random(48), [0.0, 1.0])
    for name in SCORES:
        np.testing.assert_allclose(value_of(name, y, scores=s), reference(name, y, y, 2, s), **TOLERANCE)
    assert value_of("brier_nh", y, scores=s) == pytest.approx(2 * metrics.brier_score_loss(y, s), rel=1e-14)
    rows = rng.dirichlet(np.ones(3), 50)
    y = rng.integers(3, size=50)
    y[0], rows[0] = 1, [1.0, 0.0, 0.0]  # the clipped end of the log loss
    for name in SCORES:
        np.testing.assert_allclose(value_of(name, y, scores=rows), reference(name, y, y, 3, rows), **TOLERANCE)


def test_the_positive_class_may_be_the_first_and_one_of_many():
    y, f = np.array(["cat", "dog", "cat", "cat"]), np.array(["cat", "cat", "dog", "cat"])
    assert value_of("precision", y, f, positive="cat") == pytest.approx(metrics.precision_score(y, f, pos_label="cat"))
    s = np.array([0.1, 0.7, 0.6, 0.2])  # P(dog)
    truth = metrics.brier_score_loss(y, 1 - s, pos_label="cat")
    assert value_of("brier_score_loss", y, scores=s, positive="cat") == pytest.approx(truth, rel=1e-14)
    y, f = np.array([0, 1, 2, 2, 1, 0]), np.array([0, 2, 2, 1, 1, 1])
    truth = metrics.f1_score(y, f, labels=[2], average=None)[0]
    assert value_of("f1", y, f, positive=2) == pytest.approx(truth, rel=1e-14)


@pytest.mark.parametrize("weights", ["linear", "quadratic"])
def test_weighted_kappa_equals_scikit_learns(weights):
    y, f = np.array([0, 1, 2, 3, 3, 2, 1, 0, 3]), np.array([0, 1, 3, 3, 0, 2, 2, 0, 2])
    truth = metrics.cohen_kappa_score(y, f, weights=weights)
    assert value_of(measure("cohen_kappa_score", weights=weights), y, f) == pytest.approx(truth, rel=1e-12)


@pytest.mark.parametrize("beta", [0, 0.5, np.inf])
def test_f_beta_equals_scikit_learns(beta):
    y, f = np.array([0, 1, 1, 0, 1, 0, 1]), np.array([1, 1, 0, 0, 1, 0, 0])
    truth = metrics.fbeta_score(y, f, beta=beta)
    assert value_of(measure("fbeta", beta=beta), y, f) == pytest.approx(truth, rel=1e-14)


REGRESSION = {
    "mean_absolute_error": metrics.mean_absolute_error,
    "mean_squared_error": metrics.mean_squared_error,
    "r2": metrics.r2_score,
}


@pytest.mark.parametrize("centre", [0.0, 1e6])
def test_measures_of_regression_equal_scikit_learns(centre):
    rng = np.random.default_rng(1)
    y = centre + rng.normal(size=40)
    f = 0.3 * y + 0.7 * centre + rng.normal(size=40)
    values = value_of(list(REGRESSION), y, f)
    np.testing.assert_allclose(values, [truth(y, f) for truth in REGRESSION.values()], rtol=1e-9 if centre else 1e-12)


def test_the_explained_share_is_r2_for_least_squares_alone():
    rng = np.random.default_rng(2)
    x, noise = rng.normal(size=(2, 30))
    y = 1 + 2 * x + noise
    slope, intercept = np.polyfit(x, y, 1)
    fit = intercept + slope * x
    share, r2 = value_of(["explained_share", "r2"], y, fit)
    assert share == pytest.approx(r2, rel=1e-12)
    share, r2 = value_of(["explained_share", "r2"], y, fit + 1)
    assert share == pytest.approx(((fit + 1 - y.mean()) ** 2).mean() / y.var(), rel=1e-12)
    assert share > 1 > r2


def test_labels_of_one_class_in_scored_data_are_not_mistaken_for_a_pool_of_one_class():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert value_of("recall", [0, 0, 0], scores=[0.1, 0.9, 0.2]) == 0.0


# -- multi-label: an item of the pool is a pair of an item and a label that it may have -------------------------------


def pairs(predictions: np.ndarray) -> ba.Pool:
    """Pool of all pairs of M items and C labels, from 0/1 predictions (M, C)."""
    labels = np.broadcast_to([f"label {k}" for k in range(predictions.shape[1])], predictions.shape)
    return ba.Pool(predictions=predictions.ravel(), classes=[0, 1], groups={"label": labels.ravel()})


@pytest.mark.parametrize("name", ["f1", "precision", "recall"])
@settings(max_examples=25, deadline=None, derandomize=True)
@given(
    truth=arrays(np.int64, (6, 3), elements=st.integers(0, 1)),
    found=arrays(np.int64, (6, 3), elements=st.integers(0, 1)),
)
def test_averages_over_labels_equal_scikit_learns(name, truth, found):
    score = getattr(metrics, f"{name}_score")
    pool = pairs(found)
    for average, options in {"micro": {}, "macro": {"by": "label", "average": "macro"}}.items():
        ours = pool_value(name, pool, truth.ravel(), **options)
        np.testing.assert_allclose(ours, [score(truth, found, average=average, zero_division=0)], **TOLERANCE)


def test_an_average_moves_as_the_mean_of_its_parts():
    rng = np.random.default_rng(0)
    pool, label = pairs(rng.integers(0, 2, (40, 3))), rng.integers(0, 2, 120)
    codes, apart = table_for(["f1", "precision"], pool, by="label")
    _, mean = table_for(["f1", "precision"], pool, by="label", average="macro")
    assert mean.outputs == ("f1 (macro)", "precision (macro)")
    assert len(mean.ranges) == 2
    counts = np.bincount(codes * 2 + label, minlength=apart.n_attributes * 2).reshape(-1, 2)
    risk = apart.mean(counts / 120)
    each = np.asarray(apart.jacobian(risk)).reshape(2, 3, -1)
    np.testing.assert_allclose(mean.jacobian(mean.mean(counts / 120)), each.mean(1), **TOLERANCE)


@pytest.mark.parametrize(
    ("options", "said"), [({"average": "macro"}, "by="), ({"by": "label", "average": "micro"}, "macro")]
)
def test_averages_that_cannot_be_are_refused(options, said):
    with pytest.raises(ba.QuestionError, match=said):
        table_for("f1", pairs(np.eye(3, dtype=int)), **options)
