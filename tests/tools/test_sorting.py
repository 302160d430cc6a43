"""Many numbers are put in order together with their places."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from bayes_assess._tools import sorting
from bayes_assess._tools.sorting import order_of


def pairs(numbers, n):
    """Replace the last of some numbers by the successors of as many others."""
    return np.append(numbers[:-n], numbers[:n] + 1)


NUMBERS = {
    "scores": lambda rng, n: rng.random(n),
    "scores of any sign": lambda rng, n: rng.normal(size=n) * 10.0 ** rng.integers(-300, 300, n),
    "single precision": lambda rng, n: rng.random(n, np.float32),
    "scores of 1,000 values": lambda rng, n: rng.integers(0, 1000, n) / 1000,
    "one and others": lambda rng, n: np.where(rng.random(n) < 0.1, 1.0, rng.random(n)),
    "all the same": lambda rng, n: np.full(n, 0.3),
    "zeros of both signs": lambda rng, n: np.where(rng.random(n) < 0.5, -0.0, 0.0) * rng.integers(0, 2, n),
    "votes": lambda rng, n: rng.integers(-3, 3, n),
    "keys that differ in their last bits": lambda rng, n: rng.integers(0, 2 * n, n).astype(np.uint64),
    "pairs of neighbours": lambda rng, n: rng.permutation(pairs(rng.integers(0, 2**63, n), n // 10)),
    "random bits": lambda rng, n: rng.integers(0, 2**64, n, np.uint64),
}


@pytest.mark.parametrize("name", NUMBERS)
def test_many_numbers_are_in_order_and_every_place_is_there_once(name):
    keys = NUMBERS[name](np.random.default_rng(3), 3 * sorting._MANY)
    order = order_of(keys)
    np.testing.assert_array_equal(keys[order], np.sort(keys))
    np.testing.assert_array_equal(np.sort(order), np.arange(len(keys)))


@given(
    st.one_of(
        arrays.arrays(np.float64, st.integers(1, 60), elements=st.floats(allow_nan=False)),
        arrays.arrays(np.int64, st.integers(1, 60)),
        arrays.arrays(np.uint64, st.integers(1, 60)),
    ),
    st.integers(0, 12),
)
def test_any_numbers_are_in_order(keys, n_alike):
    keys = np.append(keys, np.repeat(keys[:1], n_alike))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sorting, "_MANY", 0)
        order = order_of(keys)
    np.testing.assert_array_equal(keys[order], np.sort(keys))
    np.testing.assert_array_equal(np.sort(order), np.arange(len(keys)))
