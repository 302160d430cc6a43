"""Tests of the pools of fitted classifiers."""

from pathlib import Path

import fitted_pools
import numpy as np
from _pools import zoo


def test_the_same_seed_makes_the_same_pools_in_any_number():
    first = list(fitted_pools.pools(2, seed=5))
    again = next(fitted_pools.pools(1, seed=5))
    assert again[0] == first[0][0]
    for one, other in zip(again[1:4], first[0][1:4], strict=True):
        np.testing.assert_array_equal(one, other)
    assert first[0][4]["classifier"] == "logistic"
    assert first[1][4]["classifier"] == "balanced logistic"


def test_studies_read_them_as_any_generator(monkeypatch):
    monkeypatch.setenv("BAYES_ASSESS_ZOO", str(Path(fitted_pools.__file__)))
    (name, binary), _ = zoo(2, 5)
    assert name.startswith("fitted-5-0 ")
    assert binary.pool.n_items == len(binary.labels) == len(binary.score) == len(binary.predictions)
    assert set(np.unique(binary.labels)) == {0, 1}
    assert set(np.unique(binary.predictions)) == {0, 1}
