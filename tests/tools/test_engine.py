"""What eager steps compute with is what compiled ones compute with."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bayes_assess._tools import engine
from bayes_assess._tools.engine import _arrays, random, xp
from bayes_assess.errors import DesignError

words = st.integers(0, 2**32 - 1)


LOGITS = np.log(np.arange(12.0).reshape(3, 4) + 0.01)


@jax.jit
def of_jax(key, data, end):
    """Draw from what a key of JAX is with other data what it draws by its own functions, and a row of bits by ours."""
    folded = jax.random.fold_in(key, data)
    several = jax.random.split(folded, 3)
    exact = {
        "ours": jax.random.key_data(folded),
        "several": jax.random.key_data(several),
        "pairs": jax.random.key_data(jax.vmap(jax.random.split)(several)),
        "bits": jax.random.bits(folded, (4, 2), np.uint32),
        "row": jax.random.bits(folded, (4, 5), np.uint32)[2],
        "row of ours": random.row_bits(folded, jnp.asarray(2), 5),
        "wide": jax.random.uniform(folded, (7,)),
        "narrow": jax.random.uniform(folded, (5, 3), np.float32),
        "long": jax.random.bits(folded, (3,), np.uint64),
        "some whole": jax.random.randint(folded, (4,), -3, end),
        "one whole": jax.random.randint(folded, (), 0, 2**62 + 5),
        "order": jax.random.permutation(folded, 17),
        "large": jax.random.permutation(folded, 2_000),
        "one": jax.random.categorical(folded, LOGITS),
        "many": jax.random.categorical(folded, LOGITS, shape=(50, 3)),
    }
    return exact, jax.random.normal(folded, (6,))


@settings(deadline=None, max_examples=30)  # the first call compiles
@given(words, words, words)
def test_random_bits_are_those_of_jax(first, second, data):
    key = jax.random.wrap_key_data(np.array([first, second], np.uint32))
    with engine.eager():
        ours = random.fold_in(random.as_key(key), data)
        several = random.split(ours, 3)
        row, normal = random.row_bits(ours, 2, 5), random.normal(ours, (6,))
        found = {
            "ours": ours,
            "several": several,
            "pairs": random.words_of_each(several),
            "bits": random.bits(ours, (4, 2)),
            "row": row,
            "row of ours": row,
            "wide": random.uniform(ours, (7,)),
            "narrow": random.uniform(ours, (5, 3), np.float32),
            "long": random.bits(ours, (3,), np.uint64),
            "some whole": random.randint(ours, (4,), -3, data + 1),
            "one whole": random.randint(ours, (), 0, 2**62 + 5),
            "order": random.permutation(ours, 17),
            "large": random.permutation(ours, 2_000),
            "one": random.categorical(ours, LOGITS),
            "many": random.categorical(ours, LOGITS, (50, 3)),
        }
    with jax.enable_x64(True):
        theirs, normal_of_jax = of_jax(key, np.uint32(data), np.int64(data + 1))
        assert found.keys() == theirs.keys()
        for name, drawn in found.items():
            np.testing.assert_array_equal(drawn, theirs[name], err_msg=name)
        np.testing.assert_allclose(normal, normal_of_jax, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("n", [0, 1, 3, 256, 257])
def test_few_bits_and_many_are_those_of_jax(n):
    greatest = 2**32 - 1  # sums run over at once
    for words in np.array([[0, 0], [greatest, greatest], [1, 2**31]], np.uint32):
        with engine.eager():
            key = random.as_key(words)
            keys, short, long = random.split(key, n), random.bits(key, (n,)), random.bits(key, (n,), np.uint64)
            folded = random.fold_in(key, greatest)
        theirs = jax.random.wrap_key_data(words)
        np.testing.assert_array_equal(keys, jax.random.key_data(jax.random.split(theirs, n)))
        np.testing.assert_array_equal(short, jax.random.bits(theirs, (n,), np.uint32))
        with jax.enable_x64(True):
            np.testing.assert_array_equal(long, jax.random.bits(theirs, (n,), np.uint64))
        np.testing.assert_array_equal(folded, jax.random.key_data(jax.random.fold_in(theirs, greatest)))
        assert keys.flags.writeable
        assert long.flags.writeable


@pytest.mark.parametrize("exponent", [-1.0, -0.3, 0.0, 1.0, 2.0])
def test_powers_of_positive_numbers_are_alike_on_both_engines(exponent):
    base, exponent = np.float32([4e-9, 4e-6, 0.3, 1.0, 50.0]), np.float32(exponent)
    exact = np.float64(base) ** np.float64(exponent)
    with engine.eager():
        np.testing.assert_allclose(engine.power(base, exponent), exact, rtol=1e-6)
    # Roundings of the logarithm, 20 at most in size, count as often.
    np.testing.assert_allclose(engine.power(jnp.asarray(base), exponent), exact, rtol=80 * np.finfo(np.float32).eps)


@pytest.mark.parametrize("seed", [0, 7, 2**40 + 3, 2**63 - 1])
def test_a_seed_has_one_key_on_both_engines(seed):
    with engine.eager():
        eager = random.key(seed)
    np.testing.assert_array_equal(eager, jax.random.key_data(random.key(seed)))
    np.testing.assert_array_equal(eager, [seed >> 32, seed % 2**32])


def steps(values):
    """Use everything that steps use, on arrays of 64 bits."""
    twice = engine.at(values)[xp.asarray([0, 0, 2])].add(1.5)
    total = engine.fori_loop(0, 3, lambda i, total: total + twice[i], xp.zeros(()))
    halved = engine.while_loop(lambda x: x > 1, lambda x: x / 2, total)
    carry, each = engine.scan(lambda carry, x: (carry + x, {"square": x**2}), xp.zeros(()), values)
    rows = xp.stack([values, 2 * values])
    lower = xp.asarray([[[2.0, 0.0], [1.0, 3.0]]])
    return {
        "put": engine.at(values)[1].set(-1.0),
        "most": engine.at(values)[xp.asarray([1, 1])].max(xp.asarray([0.5, 5.0])),
        "either": engine.cond(total > 0, lambda x: x, lambda x: -x, total),
        "halved": halved,
        "carried": carry,
        "each": each,
        "mapped": engine.mapped(lambda row: row.sum(), rows, at_once=2),
        "over": engine.vmap(lambda row, by: row.max() * by, in_axes=(1, None))(rows, 3.0),
        "logsumexp": engine.logsumexp(rows, 1),
        "softmax": engine.softmax(rows),
        "log_softmax": engine.log_softmax(rows),
        "ndtr": engine.ndtr(values),
        "ndtri": engine.ndtri(xp.asarray([0.1, 0.5, 0.999])),
        "xlogy": engine.xlogy(xp.asarray([0.0, 2.0]), xp.asarray([0.0, 3.0])),
        "betainc": engine.betainc(2.0, xp.asarray([0.5, 3.0]), 0.3),
        "gammaln": engine.gammaln(xp.asarray([0.5, 3.0])),
        "erf_inv": engine.erf_inv(xp.asarray([-0.5, 0.3])),
        "sigmoid": engine.sigmoid(values),
        "log_sigmoid": engine.log_sigmoid(40 * values),
        "xlog1py": engine.xlog1py(xp.asarray([0.0, 2.0]), xp.asarray([-1.0, 3.0])),
        "top": engine.top_k(xp.asarray([2.0, 5.0, 5.0, 1.0]), 3),
        "solved": engine.solve_lower(lower, xp.eye(2)),
        "block": engine.block(rows, 1, 1),
        "cummax": engine.cummax(values),
    }


def test_steps_are_alike_on_both_engines():
    values = np.array([0.3, -2.0, 1.7, 0.1])
    with engine.eager():
        eager = steps(values)
    assert all(isinstance(leaf, np.ndarray | np.generic) for leaf in jax.tree.leaves(eager))
    with jax.enable_x64(True):
        compiled = jax.jit(steps)(jnp.asarray(values))
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-15), eager, jax.device_get(compiled))


@pytest.mark.parametrize("size", [3, 40])
def test_matrices_are_told_apart_and_inverted_alike_on_both_engines(size):
    rng = np.random.default_rng(0)
    one = rng.normal(size=(6, size, 2 * size))
    made = one @ np.swapaxes(one, -1, -2) / size  # positive definite
    made[1] -= 20 * np.eye(size)
    made[2:4] = np.eye(size)
    made[2, 1, 1] = 0.0  # singular
    made[3, 0, 1] = made[3, 1, 0] = 2.0  # positive diagonal, and yet indefinite
    made[4] = np.nan
    with engine.eager():
        positive, inverse = engine.is_positive_definite(made), engine.inverse(made)
    assert positive.tolist() == [True, False, False, False, False, True]
    with jax.enable_x64(True):
        np.testing.assert_array_equal(positive, engine.is_positive_definite(jnp.asarray(made)))
        expected = np.asarray(engine.inverse(jnp.asarray(made)))
    finite = [0, 1, 3, 5]
    np.testing.assert_allclose(inverse[finite], expected[finite], rtol=1e-9)
    assert not np.isfinite(inverse[[2, 4]]).all((-1, -2)).any()


def test_an_array_that_is_changed_is_a_copy():
    values = np.zeros(3)
    with engine.eager():
        engine.at(values)[0].set(1.0)
    assert values.tolist() == [0.0, 0.0, 0.0]


def test_the_engine_is_back_after_an_error():
    with pytest.raises(ZeroDivisionError), engine.eager():
        raise ZeroDivisionError
    assert not engine.is_eager()
    with engine.eager(), engine.compiled():
        assert not engine.is_eager()


@dataclass(frozen=True)
class Sum:
    """Adds up once."""

    values: Any
    seen: list

    @property
    @engine.kept
    def total(self):
        self.seen.append(1)
        return self.values.sum()


class Twice(Sum):
    @property
    @engine.kept
    def total(self):
        return 2 * super().total


def test_eager_steps_compute_once_per_object_and_compiled_ones_whenever_asked():
    one, two = Sum(np.arange(4), []), Twice(np.arange(4), [])
    with engine.eager():
        assert [one.total, one.total, len(one.seen)] == [6, 6, 1]
        assert [two.total, Sum.total.fget(two), two.total, len(two.seen)] == [12, 6, 12, 1]
        assert [replace(one, values=np.ones(2)).total, len(one.seen)] == [2, 2]
    with engine.compiled():
        assert [one.total, len(one.seen)] == [6, 3]


def test_eager_steps_compute_once_for_the_same_arrays_in_turn_as_they_were(monkeypatch):
    class Added:
        computed = 0

        @engine.kept_last
        def total(self, first, second):
            self.computed += 1
            return first.sum() + second.sum()

    added, first, second = Added(), np.arange(3.0), np.ones((2, 2))
    with engine.eager():
        assert added.total(first, second) == added.total(first.copy(), second) == 7
        assert added.computed == 1
        first[0] = 5  # what is kept is not what the caller's arrays have become
        assert added.total(first, second) == 12
        assert added.total(first, second[0]) == 10
        assert Added().total(first, second) == 12
        monkeypatch.setattr("bayes_assess._tools.engine._kept._MOST", 6)
        assert added.total(first, second) == added.total(first, second) == 12
    assert added.computed == 5


def test_what_depends_on_the_processor_in_32_bits_is_computed_in_64():
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((2, 40, 40))
    single = a.astype(np.float32), b.astype(np.float32)
    exact = single[0].astype(np.float64) @ single[1].astype(np.float64)
    with engine.eager():
        assert np.array_equal(engine.product(*single), exact.astype(np.float32))
        assert np.array_equal(engine.product(a, b), a @ b)
        assert engine.product(single[0], b).dtype == np.float64
        for function in ("sinh", "log1p"):
            value = getattr(xp, function)(np.abs(single[0]))
            assert np.array_equal(value, getattr(np, function)(np.abs(single[0]).astype(float)).astype(np.float32))
            assert getattr(xp, function)(np.abs(a)).dtype == np.float64


def test_many_rows_are_added_as_few_are(monkeypatch):
    rng = np.random.default_rng(1)
    index, rows = rng.integers(-3, 5, 40), rng.normal(size=(40, 6, 2))
    with engine.eager():
        few = engine.at(np.ones((5, 6, 2)))[index].add(rows)
        monkeypatch.setattr(_arrays, "_MANY", 0)
        many = engine.at(np.ones((5, 6, 2)))[index].add(rows)
    np.testing.assert_allclose(many, few, rtol=1e-12)


@pytest.mark.parametrize("in_words", [False, True])
def test_several_keys_are_refused_where_one_is_wanted(in_words):
    """NumPy took the words of the first two for those of one key."""
    keys = jax.random.split(jax.random.key(0), 3)
    keys = jax.random.key_data(keys) if in_words else keys
    with engine.eager(), pytest.raises(DesignError, match=r"a single one of JAX.*found keys of shape \(3,\)"):
        random.uniform(keys, (2,))
