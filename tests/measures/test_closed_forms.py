"""Gradients, and what follows from them, against formulas derived by hand."""

from __future__ import annotations

import functools

import numpy as np
import pytest

import bayes_assess as ba
from bayes_assess.measures import measure, table_for
from measures.references import BINARY, names_for, table_of_all


def ratio_gradient(a, b):
    return np.array([1 / b, -a / b**2])


def averaged(average, a, b, w=None):
    """Gradient of an average of the ratios a / b by numerators, denominators and weights, (k, 2C) or (1, 3C)."""
    by_a, by_b = ratio_gradient(a, b)
    if average == "per_class":
        return np.concatenate([np.diag(by_a), np.diag(by_b)], 1)
    if average == "macro":
        return np.concatenate([by_a, by_b]) / len(a)
    mean = (w * a / b).sum() / w.sum()
    return np.concatenate([w * by_a, w * by_b, a / b - mean]) / w.sum()


def seme(r):
    hits, predicted, labels = np.split(r, 3)
    p, q = (hits / predicted).mean(), (hits / labels).mean()
    by_p, by_q = 2 * q**2 / (p + q) ** 2 / len(hits), 2 * p**2 / (p + q) ** 2 / len(hits)
    return np.concatenate([by_p / predicted + by_q / labels, -by_p * hits / predicted**2, -by_q * hits / labels**2])


def matthews(r, n_classes):
    if n_classes == 2:
        a, b, c = r
        root, top = np.sqrt(b * c * (1 - b) * (1 - c)), a - b * c
        return [
            1 / root,
            -c / root - top / root * (1 - 2 * b) / (2 * b * (1 - b)),
            -b / root - top / root * (1 - 2 * c) / (2 * c * (1 - c)),
        ]
    t, p = np.split(r[1:], 2)
    of_t, of_p, top = 1 - t @ t, 1 - p @ p, r[0] - t @ p
    root = np.sqrt(of_t * of_p)
    return np.concatenate([[1 / root], -p / root + top / root * t / of_t, -t / root + top / root * p / of_p])


def kappa(r, n_classes):
    if n_classes == 2:
        e, y, f = r
        chance = y * (1 - f) + (1 - y) * f
        return np.array([-chance, e * (1 - 2 * f), e * (1 - 2 * y)]) / chance**2
    e, (t, p) = r[0], np.split(r[1:], 2)
    chance = t.sum() * p.sum() - t @ p
    return np.concatenate([[-chance], e * (p.sum() - p), e * (t.sum() - t)]) / chance**2


def balanced(r, n_classes):
    if n_classes == 2:
        a, b, c = r
        return np.array([1 / b + 1 / (1 - b), -a / b**2 + (a - c) / (1 - b) ** 2, -1 / (1 - b)]) / 2
    return averaged("macro", *np.split(r, 2))


def gradient(name, r, n_classes):
    if name in ("accuracy", "recall_weighted", "precision_micro", "recall_micro", "f1_micro"):
        return [-1]
    if name in ("zero_one_loss", "hamming_loss"):
        return [1]
    if name == "jaccard_micro":  # (1 - R) / (1 + R)
        return [-2 / (1 + r[0]) ** 2]
    if name == "fowlkes_mallows":
        a, b, c = r
        return np.array([1, -a / (2 * b), -a / (2 * c)]) / np.sqrt(b * c)
    other = {"balanced_accuracy": balanced, "matthews_corrcoef": matthews, "cohen_kappa": kappa}
    if name in other:
        return other[name](r, n_classes)
    if name == "seme_f1_macro":
        return seme(r)
    if name in BINARY:
        return ratio_gradient(*r)
    return averaged(name.split("_", 1)[1], *np.split(r, len(r) // n_classes))


@functools.cache
def jacobian_at_random(n_classes):
    table = table_of_all(n_classes)
    risk = np.random.default_rng(n_classes).uniform(0.1, 0.4, table.n_losses)  # any R, consistent or not
    return table, risk, np.asarray(table.jacobian(risk))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "n_classes"), [(name, n_classes) for n_classes in (2, 3) for name in names_for(n_classes)]
)
def test_the_jacobian_equals_its_closed_form(name, n_classes):
    table, risk, matrix = jacobian_at_random(n_classes)
    part = table.parts[names_for(n_classes).index(name)]
    rows = [i for i, output in enumerate(table.outputs) if output.split("[")[0] == name.removesuffix("_per_class")]
    rows = [i for i in rows if ("[" in table.outputs[i]) == name.endswith("_per_class")]
    if name == "fbeta_macro":
        rows = [table.outputs.index("fbeta_macro(2)")]
    own = part.places[0]
    expected = np.atleast_2d(gradient(name, risk[own], n_classes))
    np.testing.assert_allclose(matrix[rows][:, own], expected, rtol=1e-12, atol=1e-14)
    np.testing.assert_array_equal(np.delete(matrix[rows], own, axis=1), 0)


def test_the_jacobian_of_r2_equals_its_closed_form():
    a, b, c = 0.5, 1.5, 3.0
    variance = c - b**2
    expected = [[-1 / variance, -2 * a * b / variance**2, a / variance**2]]
    np.testing.assert_allclose(measure("r2").jacobian_at([a, b, c]), expected, rtol=1e-13)


def test_the_jacobian_of_the_explained_share_equals_its_closed_form():
    y, y2, f, f2 = 0.5, 1.1, 0.7, 0.9
    top, variance = f2 - 2 * y * f + y**2, y2 - y**2
    by_y = (2 * y - 2 * f) / variance + 2 * y * top / variance**2
    expected = [[by_y, -top / variance**2, -2 * y / variance, 1 / variance]]
    np.testing.assert_allclose(measure("explained_share").jacobian_at([y, y2, f, f2]), expected, rtol=1e-13)


# -- [NH] Examples 4 and 5: a deterministic oracle, q* prop. to p ||Dg l||, tr Sigma = (sum v)^2 - ||Dg R||^2 ----------

SHARE = np.array([[0.8, 0.04], [0.1, 0.06]])  # rows = predicted class, columns = label


def least_variance(name: str) -> tuple[float, float]:
    """Value, and the asymptotic variance under the best proposal."""
    _, table = table_for(name, ba.Pool(predictions=[0, 1]))
    risk = table.mean(SHARE)
    spread = (SHARE * np.sqrt(table.squared_norms(risk))).sum()
    slope = (SHARE[..., None] * table.directions(risk)).sum((0, 1))
    best = SHARE * np.sqrt(table.squared_norms(risk)) / spread  # q*(x) of all items of a cell
    weight = np.divide(SHARE, best, out=np.zeros_like(SHARE), where=best > 0)
    by_table = table.variances(risk, SHARE * weight)  # E_q w^2 = E_p w
    assert by_table[0] == pytest.approx(spread**2 - slope @ slope, abs=1e-14)
    return float(table.value(risk)[0]), float(by_table[0])


def test_recall_cannot_be_known_better_than_example_5_says():
    recall, variance = least_variance("recall")
    assert recall == pytest.approx(0.6, rel=1e-14)
    assert variance == pytest.approx(4 * recall**2 * (1 - recall) ** 2, rel=1e-12)


def test_accuracy_can_be_known_without_variance_as_example_4_says():
    accuracy, variance = least_variance("accuracy")
    assert accuracy == pytest.approx(0.86, rel=1e-14)
    assert variance == pytest.approx(0, abs=1e-15)
