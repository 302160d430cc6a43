"""Measures of several labels per item: values as scikit-learn's, moments as by enumeration of all label sets."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn import metrics

from bayes_assess.errors import QuestionError
from bayes_assess.measures import MULTILABEL_MEASURES, multilabel_measure
from bayes_assess.measures._label_set_losses import count_distribution, likely_most

EVERY = tuple(MULTILABEL_MEASURES)
SCIKIT = {
    "f1": metrics.f1_score,
    "precision": metrics.precision_score,
    "recall": metrics.recall_score,
    "jaccard": metrics.jaccard_score,
}
PAIRS = st.tuples(st.integers(1, 8), st.integers(2, 4)).flatmap(
    lambda shape: st.tuples(arrays(bool, shape), arrays(bool, shape))
)


def reference(name, labels, predicted):
    kind, _, average = name.partition("_")
    if name == "seme_f1_macro":
        p, r = reference("precision_macro", labels, predicted), reference("recall_macro", labels, predicted)
        return 2 * p * r / (p + r) if p + r else 0.0
    if kind in SCIKIT:
        return SCIKIT[kind](labels, predicted, average=average, zero_division=0)
    return {
        "accuracy": metrics.accuracy_score,
        "zero_one_loss": metrics.zero_one_loss,
        "hamming_loss": metrics.hamming_loss,
    }[name](labels, predicted)


@settings(max_examples=15, deadline=None, derandomize=True)
@given(PAIRS)
def test_values_at_full_labels_equal_scikit_learns(pair):
    predicted, labels = pair
    every = multilabel_measure(EVERY)
    values = every.value(every.losses(predicted, labels).mean(0))
    expected = [reference(name, labels, predicted) for name in EVERY]
    np.testing.assert_allclose(values, expected, rtol=1e-12, atol=1e-12)
    assert all(low <= value <= high for value, (low, high) in zip(values, every.ranges, strict=True))


@pytest.mark.parametrize("name", EVERY)
@pytest.mark.parametrize("empty", ["row", "column of labels", "column of predictions", "labels", "predictions", "both"])
def test_empty_rows_and_columns_count_as_scikit_learn_counts_them(name, empty):
    rng = np.random.default_rng(5)
    predicted, labels = rng.random((2, 30, 4)) < 0.4
    if empty in ("labels", "both", "column of labels", "row"):
        labels[{"row": 3, "column of labels": (slice(None), 1)}.get(empty, slice(None))] = False
    if empty in ("predictions", "both", "column of predictions", "row"):
        predicted[{"row": 3, "column of predictions": (slice(None), 1)}.get(empty, slice(None))] = False
    one = multilabel_measure(name)
    mean = one.losses(predicted, labels).mean(0)
    assert one.value(mean)[0] == pytest.approx(reference(name, labels, predicted), abs=1e-12)
    assert np.isfinite(one.jacobian(mean)).all()


def test_measures_in_a_list_are_those_alone_and_share_their_losses():
    rng = np.random.default_rng(6)
    predicted, labels = rng.random((2, 20, 3)) < 0.5
    every = multilabel_measure(EVERY)
    mean = every.losses(predicted, labels).mean(0)
    jacobian = every.jacobian(mean)
    for name, row in zip(EVERY, jacobian, strict=True):
        one = multilabel_measure(name)
        own = one.losses(predicted, labels).mean(0)
        assert one.value(own)[0] == pytest.approx(every.value(mean)[EVERY.index(name)], rel=1e-14)
        assert np.count_nonzero(row) == np.count_nonzero(one.jacobian(own))
    assert every.n_losses(3) == len(mean) == 3 + 9 + 4 + 1 + 1
    assert multilabel_measure(["f1_macro", "precision_weighted"]).n_losses(5) == 15


@pytest.mark.parametrize("name", EVERY)
def test_jacobians_are_the_derivatives_of_values(name):
    rng = np.random.default_rng(7)
    predicted, labels = rng.random((2, 40, 3)) < 0.5
    one = multilabel_measure(name)
    mean, step = one.losses(predicted, labels).mean(0), 1e-6
    ahead, behind = (one.value(mean + sign * step * np.eye(len(mean)))[:, 0] for sign in (1, -1))
    np.testing.assert_allclose(one.jacobian(mean)[0], (ahead - behind) / (2 * step), atol=1e-8)


def test_values_take_many_means_at_once():
    rng = np.random.default_rng(8)
    every = multilabel_measure(EVERY)
    means = rng.random((2, 5, every.n_losses(3)))
    values = every.value(means)
    assert values.shape == (2, 5, len(EVERY))
    np.testing.assert_array_equal(values[1, 2], every.value(means[1, 2]))


def enumerated(one, predicted, probabilities):
    """Every label set of an item, its probability, and the item's losses there."""
    for f, p in zip(predicted, probabilities, strict=True):
        sets = np.array(list(itertools.product([False, True], repeat=len(p))))
        chances = np.where(sets, p, 1 - p).prod(1)
        yield chances, one.losses(np.broadcast_to(f, sets.shape), sets)


@pytest.mark.parametrize("names", [*EVERY, EVERY, ("f1_micro", "f1_samples")])
def test_moments_equal_those_by_enumeration_of_all_label_sets(names):
    rng = np.random.default_rng(9)
    predicted, p = rng.random((12, 4)) < 0.4, rng.random((12, 4))
    predicted[0], predicted[1], p[2], p[3, :2] = False, True, 0, 1
    one = multilabel_measure(names)
    expected = np.array([chances @ losses for chances, losses in enumerated(one, predicted, p)])
    np.testing.assert_allclose(one.expected_losses(predicted, p), expected, atol=1e-13)
    for risk in (expected.mean(0), rng.random(expected.shape[1])):
        jacobian = one.jacobian(risk)
        moves = [(chances, (losses - risk) @ jacobian.T) for chances, losses in enumerated(one, predicted, p)]
        squares = [chances @ (move**2).sum(1) for chances, move in moves]
        np.testing.assert_allclose(one.deviations(predicted, p, risk), np.sqrt(squares), rtol=1e-10, atol=1e-12)
    by_default = one.deviations(predicted, p, expected.mean(0))
    np.testing.assert_allclose(one.deviations(predicted, p), by_default, rtol=1e-10, atol=1e-12)


def test_deviations_of_micro_f1_are_those_of_seme():
    rng = np.random.default_rng(10)
    f, p = (rng.random((9, 5)) < 0.5).astype(float), rng.random((9, 5))
    share = (f * p).sum() / (0.5 * f + 0.5 * p).sum()
    on, off = f - share * (0.5 * f + 0.5), -share * 0.5 * f  # h(v^p, v^t = 1) and h(v^p, v^t = 0)
    mean = p * on + (1 - p) * off
    squares = (p * on**2 + (1 - p) * off**2).sum(1) - (mean**2).sum(1) + mean.sum(1) ** 2  # eqs. (95) to (97)
    scale = (0.5 * f + 0.5 * p).sum() / len(f)
    np.testing.assert_allclose(multilabel_measure("f1_micro").deviations(f, p) * scale, np.sqrt(squares), rtol=1e-12)


def test_deviations_of_macro_f1_are_those_of_seme_where_items_touch_one_class():
    f, p = np.eye(3)[[0, 1, 2, 0, 1, 2]], np.zeros((6, 3))
    f[3:] = 0
    p[np.arange(6), [0, 1, 2, 0, 1, 2]] = [0.9, 0.6, 0.3, 0.2, 0.5, 0.4]
    one = multilabel_measure("seme_f1_macro")
    by_hit, by_predicted, by_label = np.split(one.jacobian(one.expected_losses(f, p).mean(0))[0], 3)
    by_a, by_b, by_c = by_hit + by_predicted + by_label, by_predicted, by_label  # of TP, FP and FN, eq. (103)
    squares = (f * (p * by_a**2 + (1 - p) * by_b**2) + (1 - f) * p * by_c**2).sum(1)  # eq. (109)
    np.testing.assert_allclose(one.deviations(f, p), np.sqrt(squares), rtol=1e-12)


def test_large_pools_are_taken_in_pieces():
    rng = np.random.default_rng(11)
    predicted, p = rng.random((1200, 100)) < 0.02, (rng.random((1200, 100)) * 0.05).astype(np.float32)
    one = multilabel_measure(["f1_micro", "f1_samples"])
    mean = one.expected_losses(predicted, p).mean(0)
    checked = [0, 654, 655, 656, 1199]  # 655 items are one piece
    alone = [one.deviations(predicted[i : i + 1], p[i : i + 1], mean)[0] for i in checked]
    np.testing.assert_allclose(one.deviations(predicted, p)[checked], alone, rtol=1e-10)


def test_a_certain_pool_expects_what_it_has():
    rng = np.random.default_rng(12)
    predicted, labels = rng.random((2, 25, 4)) < 0.5
    every = multilabel_measure(EVERY)
    np.testing.assert_allclose(every.expected_losses(predicted, labels), every.losses(predicted, labels), atol=1e-14)


YES = np.array([[True, False]])
REFUSED = {
    "unknown": (lambda: multilabel_measure("f1_marco"), "no multi-label measure 'f1_marco'; did you mean .*'f1_macro'"),
    "of one label": (lambda: multilabel_measure("f1"), "no multi-label measure 'f1'; did you mean"),
    "of every class": (lambda: multilabel_measure("f1_per_class"), "_per_class'; of one class alone ask for 'f1' of"),
    "no near name": (lambda: multilabel_measure("xyz"), "no multi-label measure 'xyz'; there are f1_micro, "),
    "no name": (lambda: multilabel_measure(7), "no multi-label measure 7;"),
    "none": (lambda: multilabel_measure([]), "There is no measure in the list"),
    "twice": (lambda: multilabel_measure(["accuracy", "accuracy_score"]), "named once; found 'accuracy', 'accuracy'"),
    "codes": (lambda: multilabel_measure("accuracy").losses(np.array([0, 1]), YES), "predictions are indicators"),
    "numbers": (lambda: multilabel_measure("accuracy").losses(YES, YES * 2), "labels are indicators"),
    "shapes": (lambda: multilabel_measure("accuracy").losses(YES, np.ones((1, 3))), r"\(1, 2\), but labels have"),
    "logits": (lambda: multilabel_measure("accuracy").deviations(YES, YES * 1.5), r"numbers in \[0, 1\]"),
    "NaN": (lambda: multilabel_measure("accuracy").expected_losses(YES, YES * np.nan), r"numbers in \[0, 1\]"),
    "mean": (lambda: multilabel_measure("f1_macro").value(np.ones(4)), "f1_macro are 3 C numbers; found 4"),
    "means": (lambda: multilabel_measure(["f1_macro", "accuracy"]).value(np.ones(3)), r"are 1 \+ 3 C numbers; found 3"),
    "fixed": (lambda: multilabel_measure("f1_micro").value(np.ones(6)), "f1_micro are 3 numbers; found 6"),
    "matrix": (lambda: multilabel_measure("f1_micro").jacobian(np.ones((2, 3))), r"found shape \(2, 3\)"),
}


@pytest.mark.parametrize("case", REFUSED.values(), ids=REFUSED)
def test_what_does_not_fit_is_refused_in_a_sentence(case):
    call, message = case
    with pytest.raises(QuestionError, match=message) as caught:
        call()
    assert str(caught.value).endswith((".", "?"))


@pytest.mark.parametrize(("n_classes", "mean"), [(3, 1.5), (400, 0.0), (400, 0.3), (2_000, 3.0), (2_000, 40.0)])
def test_counts_of_many_rare_classes_are_summed_only_as_far_as_they_occur(n_classes, mean):
    p = np.random.default_rng(0).dirichlet(np.full(n_classes, 0.1), 2) * mean
    p = np.minimum(p, 1)
    most, whole = likely_most(p), count_distribution(p)
    np.testing.assert_array_equal(count_distribution(p, most), whole[:, : most + 1])
    assert whole[:, most + 1 :].sum(1).max() < 1e-20
    assert most <= min(n_classes, 25 + 3 * mean)  # so that the cost is not that of all counts
