"""The difference of one measure between two systems or sub-populations."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import bayes_assess as ba
from bayes_assess._tools import engine
from bayes_assess.estimators.ratio_losses import ratio_losses
from bayes_assess.measures import Difference, difference_table, pr_curve, table_for, value_of
from bayes_assess.measures._losses import losses_of

RNG = np.random.default_rng(4)
N = 60
LABELS = RNG.integers(0, 2, N)
FIRST, SECOND = (np.where(RNG.random(N) < share, LABELS, 1 - LABELS) for share in (0.8, 0.7))
SITE = RNG.choice(["x", "y", "z"], N)
POOL = ba.Pool(predictions=FIRST, systems={"b": SECOND}, groups={"site": SITE})


def share_of(codes, table):
    share = np.zeros((table.n_attributes, 2))
    np.add.at(share, (codes, LABELS), 1 / N)
    return share


def value(codes, table):
    with engine.eager():
        return table.value(table.mean(share_of(codes, table)))


@pytest.mark.parametrize("name", ["f1", "precision", "accuracy", "matthews_corrcoef", "balanced_accuracy"])
def test_it_is_the_difference_of_the_values_of_two_systems(name):
    codes, table = table_for(name, POOL, systems=["prediction", "b"])
    expected = value_of(name, LABELS, FIRST, classes=[0, 1]) - value_of(name, LABELS, SECOND, classes=[0, 1])
    np.testing.assert_allclose(value(codes, difference_table(table, 0, 1)), [expected], atol=1e-12)
    np.testing.assert_allclose(value(codes, difference_table(table, 1, 0)), [-expected], atol=1e-12)


def test_of_two_groups_items_of_others_have_no_part():
    codes, table = table_for("f1", POOL, by="site")
    less = difference_table(table, 2, 0)
    expected = [value_of("f1", LABELS[SITE == s], FIRST[SITE == s], classes=[0, 1]) for s in ("x", "y", "z")]
    np.testing.assert_allclose(value(codes, less), [expected[2] - expected[0]], atol=1e-12)
    assert not less.nonzero[codes[SITE == "y"]].any()


def test_sparse_losses_give_the_same():
    codes, table = table_for("f1", POOL, by="site")
    dense = table.losses.values
    index = np.broadcast_to(np.arange(dense.shape[-1]), dense.shape)
    sparse = replace(table, losses=losses_of(index, dense, dense.shape[-1], largest=0))
    found, wanted = (value(codes, difference_table(one, 2, 0)) for one in (sparse, table))
    np.testing.assert_allclose(found, wanted, atol=1e-12)


def test_an_undefined_side_counts_as_nothing():
    pool = ba.Pool(predictions=np.zeros(N, int), systems={"b": SECOND}, classes=[0, 1])
    codes, table = table_for("precision", pool, systems=["prediction", "b"])
    expected = -value_of("precision", LABELS, SECOND, classes=[0, 1])
    np.testing.assert_allclose(value(codes, difference_table(table, 0, 1)), [expected], atol=1e-12)


def test_one_measure_with_one_value_is_needed():
    for names in (["f1", "recall"], "precision_per_class"):
        _, table = table_for(names, POOL, systems=["prediction", "b"])
        with pytest.raises(ba.QuestionError, match="one measure with one value"):
            difference_table(table, 0, 1)


@pytest.mark.parametrize(("name", "n_ratios"), [("f1", 2), ("recall", 2), ("accuracy", 1), ("matthews_corrcoef", 0)])
def test_it_is_written_in_ratios_for_audits(name, n_ratios):
    codes, table = table_for(name, POOL, systems=["prediction", "b"])
    less = difference_table(table, 0, 1)
    found = ratio_losses(less)
    assert len(found.outputs) == n_ratios
    share = share_of(codes, less)
    total = sum(s * (f * share).sum() / (g * share).sum() for s, f, g in zip(found.sign, found.f, found.g, strict=True))
    if n_ratios:
        np.testing.assert_allclose(total, value(codes, less)[0], atol=1e-12)
        low, high = found.ranges.T
        ratios = [(f * share).sum() / (g * share).sum() for f, g in zip(found.f, found.g, strict=True)]
        assert (low <= ratios).all()
        assert (ratios <= high).all()


@pytest.mark.parametrize("name", ["accuracy", "zero_one_loss", "rate", "f1"])
def test_measures_by_group_are_written_in_ratios_for_audits(name):
    codes, table = table_for(name, POOL, by="site")
    found, share = ratio_losses(table), share_of(codes, table)
    assert found.outputs.tolist() == [0, 1, 2]
    ratios = [(f * share).sum() / (g * share).sum() for f, g in zip(found.f, found.g, strict=True)]
    np.testing.assert_allclose(ratios, value(codes, table), atol=1e-12)
    assert ((found.f >= 0) & (found.f <= found.g)).all()  # bets take a ratio of every item to be in its range


def test_of_a_curve_some_thresholds_are_ratios():
    scores = RNG.random(N)
    pool = ba.Pool(scores=scores)
    codes, table = table_for(pr_curve(n=20), pool)
    found = ratio_losses(table)
    share = share_of(codes, table)
    ratios = [(f * share).sum() / (g * share).sum() for f, g in zip(found.f, found.g, strict=True)]
    np.testing.assert_allclose(ratios, value(codes, table)[found.outputs], atol=1e-12)
    assert len(found.outputs) == 8


def test_equal_differences_are_compiled_once():
    _codes, table = table_for("f1", POOL, systems=["prediction", "b"])
    first, second = difference_table(table, 0, 1), difference_table(table, 0, 1)
    assert first.parts == second.parts
    assert hash(first.parts) == hash(second.parts)
    assert isinstance(first.parts[0].g, Difference)
