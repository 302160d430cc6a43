"""Structures of pytrees, by which compiled functions are found again."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from itertools import combinations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import bayes_assess as ba
from bayes_assess._tools import pytrees
from bayes_assess._tools.pytrees import register_dataclass
from bayes_assess.acquisition.rewards import AccuracyVarianceReduction, HighAccuracy, LowAccuracy
from bayes_assess.designs import ARMS
from made import made_pool


@partial(register_dataclass, data_fields=["one", "other"], meta_fields=["size"])
@dataclass(frozen=True)
class Pair:
    one: jax.Array
    other: jax.Array
    size: int = 2


@dataclass(frozen=True)
class Mine:
    """As a user may register it: by JAX's own function."""

    a: jax.Array
    b: jax.Array


@dataclass(frozen=True)
class Another(Mine):
    """A second class with the same fields."""


for cls in (Mine, Another):
    jax.tree_util.register_dataclass(cls, ["a", "b"], [])


def test_a_pytree_comes_back_as_it_was():
    pair = Pair(jnp.ones(2), jnp.zeros(3), size=5)
    leaves, structure = jax.tree.flatten(pair)
    back = jax.tree.unflatten(structure, leaves)
    assert back.size == 5
    for one, other in zip(leaves, jax.tree.leaves(back), strict=True):
        assert one is other
    paths = [jax.tree_util.keystr(path) for path, _ in jax.tree.flatten_with_path(pair)[0]]
    assert paths == [".one", ".other"]


def test_meta_fields_are_constants_of_compiled_functions():
    traces = []

    @jax.jit
    def total(pair):
        traces.append(pair.size)
        return pair.size * (pair.one + pair.other)

    for size in (2, 2, 3):
        assert float(total(Pair(jnp.ones(()), jnp.ones(()), size))) == 2 * size
    assert traces == [2, 3]


@pytest.mark.parametrize(
    "several",
    [
        (AccuracyVarianceReduction(), LowAccuracy(), HighAccuracy()),
        (ba.BetaBernoulli.from_prior(n_groups=2), Pair(jnp.ones(2), jnp.ones(2)), Mine(jnp.ones(2), jnp.ones(2))),
    ],
    ids=["rewards", "beliefs"],
)
def test_no_two_classes_have_equal_structures(several):
    for one, other in combinations(map(jax.tree.structure, several), 2):
        assert one != other


def test_campaigns_on_two_beliefs_that_users_registered_have_different_structures():
    cells, _, reward, _ = ba.GroupAccuracy().setting(made_pool([0.9, 0.5], [30, 20])[0])
    one, other, same = (
        ARMS["random"]().init(cells, cls(np.full(2, value), np.ones(2)), reward)
        for cls, value in ((Mine, 1), (Another, 1), (Mine, 2))
    )
    assert jax.tree.structure(one) != jax.tree.structure(other)
    assert jax.tree.structure(one) == jax.tree.structure(same)


def test_an_interrupt_loses_no_class_that_waits_for_jax(monkeypatch):
    """It was off the list before JAX knew it, and never a pytree again in that process."""

    @dataclass
    class Waiting:
        values: list

    def interrupted(cls):
        raise KeyboardInterrupt

    monkeypatch.setattr(pytrees, "_WAITING", [Waiting])
    monkeypatch.setitem(pytrees._FIELDS, Waiting, (("values",), ()))
    with monkeypatch.context() as patch:
        patch.setattr(pytrees, "_register", interrupted)
        with pytest.raises(KeyboardInterrupt):
            pytrees.register_waiting()
    pytrees.register_waiting()
    assert jax.tree.map(lambda x: x + 1, Waiting([1])) == Waiting([2])
    pytrees._WAITING.append(Waiting)  # as after an interrupt that came once JAX knew it
    pytrees.register_waiting()
    assert not pytrees._WAITING
