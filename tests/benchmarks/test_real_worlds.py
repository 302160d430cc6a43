"""Tests of the worlds of real predictions, on files like theirs that are made here."""

import numpy as np
import pytest
from _real_worlds import OF_MORE, OF_TWO, real_pool


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder, rng = tmp_path_factory.mktemp("pools"), np.random.default_rng(0)
    for name in OF_TWO:
        p = rng.beta(0.2, 2, 3000)
        np.savez(folder / name, probability=p, predictions=p > 0.5, labels=rng.random(3000) < p)
    for k, name in enumerate(OF_MORE):
        n = 8000 if name.startswith("cifar") else 3000
        scores = np.random.default_rng(k).dirichlet(np.ones(4), n)
        labels = (np.random.default_rng(9).random((n, 1)) > scores.cumsum(1)).sum(1).clip(0, 3)
        np.savez(folder / name, scores=scores, labels=labels)
    return folder


@pytest.mark.parametrize("two_classes", [True, False])
def test_a_pool_is_a_sample_with_groups_and_systems(folder, two_classes):
    for seed in range(6):
        pool, labels = real_pool(np.random.default_rng(seed), two_classes, folder)
        again, same = real_pool(np.random.default_rng(seed), two_classes, folder)
        np.testing.assert_array_equal(pool.predictions, again.predictions)
        np.testing.assert_array_equal(labels, same)
        assert pool.n_items == len(labels) >= 500
        assert (pool.n_classes == 2) == two_classes
        assert set(pool.groups) == {"site", "half", "pair"}
        assert set(pool.systems) == {"new", "old"}
        assert not two_classes or labels.sum() >= 20


def test_sites_go_with_the_score_and_systems_err_elsewhere(folder):
    pool, _ = real_pool(np.random.default_rng(1), True, folder)
    means = [pool.scores[pool.groups["site"] == site].mean() for site in ("north", "east", "south", "west")]
    assert means == sorted(means)
    assert all((pool.system_codes(name) != pool.predictions).any() for name in pool.systems)
