"""Losses of items that differ within an attribute."""

import numpy as np
import pytest

import bayes_assess as ba
from bayes_assess.estimators.item_losses import item_losses
from bayes_assess.measures import averaged, table_for

rng = np.random.default_rng(0)
SCORES = rng.random(60).round(2)
POOL = ba.Pool(scores=SCORES, groups={"site": np.array(["a", "b", "c"])[np.arange(60) % 3]})
CELL = np.repeat([0, 1, 2, 3], [7, 23, 1, 29])
SIZES = np.bincount(CELL)


def losses_of(label: int, measure: str) -> np.ndarray:
    chance = SCORES if label else 1 - SCORES
    eps = np.finfo(float).eps
    return (1 - chance) ** 2 if measure == "brier_score_loss" else -np.log(np.clip(chance, eps, 1 - eps))


@pytest.mark.parametrize("measure", ["brier_score_loss", "log_loss"])
def test_means_and_ends_are_those_of_the_items(measure):
    means = averaged(*table_for(measure, POOL), CELL, 4)
    for label in (0, 1):
        parts = [losses_of(label, measure)[cell == CELL] for cell in range(4)]
        for found, of in ((means.losses.dense(), np.mean), (means.lowest, np.min), (means.highest, np.max)):
            np.testing.assert_allclose(found[:, label, 0], [of(part) for part in parts], rtol=1e-12)


def test_losses_that_are_nothing_count_too():
    scores = np.array([1.0, 0.8, 1.0, 0.0])
    means = averaged(*table_for("brier_score_loss", ba.Pool(scores=scores)), np.array([0, 0, 0, 1]), 2)
    np.testing.assert_allclose(means.losses.dense()[..., 0], [[2.64 / 3, 0.04 / 3], [0, 1]])
    np.testing.assert_allclose(means.lowest[..., 0], [[0.64, 0], [0, 1]])
    np.testing.assert_allclose(means.highest[..., 0], [[1, 0.04], [0, 1]])


def test_of_groups_an_item_loses_in_its_own_alone():
    codes, table = table_for("brier_score_loss", POOL, by="site")
    site = np.arange(60) % 3
    means = averaged(codes, table, site, 3)
    dense = means.losses.dense()
    assert (np.count_nonzero(dense[:, 0], axis=1) == 2).all()  # a loss and a share of every group
    np.testing.assert_array_equal(means.lowest[0, :, 2:], 0)
    np.testing.assert_array_equal(means.highest[0, :, 2:], 0)


@pytest.mark.parametrize("n_labelled", [0, 1, 25, 60])
@pytest.mark.parametrize("measure", ["brier_score_loss", ["log_loss", "f1", "brier_score_loss"]])
def test_values_are_those_of_labelled_items_and_of_means_of_the_others(measure, n_labelled):
    codes, table = table_for(measure, POOL)
    means, labels = averaged(codes, table, CELL, 4), (rng.random(60) < SCORES).astype(int)
    labelled = rng.permutation(60)[:n_labelled]
    event = np.full(60, -1)
    event[labelled] = labels[labelled]
    known = item_losses(codes, table, means, CELL, SIZES, event)
    rest = SIZES - np.bincount(CELL[labelled], minlength=4)
    events = rng.binomial(rest, 0.4, (5, 4))
    share = np.zeros((5, table.n_attributes, 2))  # of every item without a label as many as of others of its cell
    for item in range(60):
        if event[item] >= 0:
            share[:, codes[item], event[item]] += 1 / 60
        else:
            having = events[:, CELL[item]] / rest[CELL[item]] / 60
            share[:, codes[item], 1] += having
            share[:, codes[item], 0] += 1 / 60 - having
    np.testing.assert_allclose(known.values(means, events, rest), table.value(table.mean(share)), atol=1e-12)
