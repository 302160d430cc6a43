"""Random bits by a counter: those of `jax.random`, and the same ones computed by NumPy in eager steps.

Threefry-2x32 with 20 rounds (Salmon, Moraes, Dror and Shaw 2011) turns a key and a counter into bits; a key is two
32-bit words. JAX numbers the elements of an array in their order (its partitionable form), which is done here, too.
Eager keys are arrays (2,) of 32-bit words, compiled ones are JAX's.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np
from scipy import special

from bayes_assess._tools.arrays import show
from bayes_assess._tools.engine._arrays import xp
from bayes_assess._tools.engine._current import eager, is_eager
from bayes_assess._tools.lazy import jax, jnp
from bayes_assess._tools.shapes import Array, Float, Int, Key, PRNGKey, Scalar, UInt
from bayes_assess.errors import DesignError

_ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))
_PARITY, _WORD = 0x1BD11BDA, 0xFFFFFFFF
_FEW = 256  # counters up to which one long integer of Python is faster than arrays
_LANE, _HALF = 64, 32  # bits of it for each, so that sums of twenty rounds do not run over


def key(seed: int) -> PRNGKey:
    """Return the key of a seed in [0, 2^63)."""
    words = np.array([seed >> 32, seed & _WORD], np.uint32)
    return words if is_eager() else _of_jax(words)


def as_key(words: Array) -> PRNGKey:
    """Return the key of two 32-bit words, or of a key of either engine.

    Raises
    ------
    DesignError
        If it is none, such as a seed, or several for eager steps, which take one at a time.

    Examples
    --------
    >>> as_key(0)
    Traceback (most recent call last):
    bayes_assess.errors.DesignError: A key is one of JAX, such as jax.random.key(0); found 0.
    """
    of_numpy = isinstance(words, np.ndarray)
    if not of_numpy and isinstance(words, jax.Array) and _is_typed(words):
        if not is_eager():
            return words
        _check_one(words.shape)
        return _words(words)
    if not (of_numpy or isinstance(words, jax.Array)) or words.dtype != np.uint32:
        raise DesignError(f"A key is one of JAX, such as jax.random.key(0); found {show(words)}.")
    if is_eager():
        _check_one(words.shape[:-1])
        return words if of_numpy else np.asarray(words)
    return _of_jax(words)


def _check_one(shape: tuple[int, ...]) -> None:
    """Raise DesignError for a batch of keys: their words would be taken for those of one."""
    if shape:
        raise DesignError(f"A key is a single one of JAX, such as jax.random.key(0); found keys of shape {shape}.")


def fold_in(key: PRNGKey, data: int | Array) -> PRNGKey:
    """Return the key of a key and a whole number."""
    if not is_eager():
        return jax.random.fold_in(as_key(key), data)
    return np.array(_rounds(as_key(key).tolist(), int(data) & _WORD, 1), np.uint32)


def split(key: PRNGKey, n: int = 2) -> Key[Array, " n"]:
    """Return n keys of a key."""
    if not is_eager():
        return jax.random.split(as_key(key), n)
    if n <= _FEW:
        x, y = _threefry_of_few(as_key(key), n)
        return _lanes(x | y << _HALF, n).view("<u4").reshape(n, 2).astype(np.uint32)
    return np.stack(_threefry(as_key(key), np.arange(n, dtype=np.uint32)), axis=-1)


def words_of_each(keys: Key[Array, " n"] | UInt[Array, "n 2"], k: int = 2) -> UInt[np.ndarray, "n k 2"]:
    """Return the words of k keys of each of some keys, which are words themselves, by NumPy whatever engine runs.

    Examples
    --------
    >>> from bayes_assess._tools import engine
    >>> with engine.eager():
    ...     several = split(key(1), 3)
    ...     bool((words_of_each(several, 5)[2] == split(several[2], 5)).all())
    True
    """
    with eager():
        counter = np.broadcast_to(np.arange(k, dtype=np.uint32), (len(keys), k))
        return np.stack(_threefry(np.moveaxis(np.asarray(keys), -1, 0)[..., None], counter), axis=-1)


def bits(key: PRNGKey, shape: tuple[int, ...] = (), dtype: type[np.unsignedinteger] = np.uint32) -> Array:
    """Draw random bits for every element, 32 by default, or 64."""
    if not is_eager():
        return jax.random.bits(as_key(key), shape, dtype)
    if (n := math.prod(shape)) <= _FEW:
        x, y = _threefry_of_few(as_key(key), n)
        return _lanes(x ^ y if dtype == np.uint32 else x << _HALF | y, n).astype(dtype).reshape(shape)
    first, second = _threefry(as_key(key), np.arange(n, dtype=np.uint32))
    drawn = first ^ second if dtype == np.uint32 else (first.astype(np.uint64) << np.uint64(32)) | second
    return drawn.reshape(shape)


def row_bits(key: PRNGKey, row: Scalar, n: int) -> UInt[Array, " n"]:
    """Draw 32 random bits for the `n` elements of one row of a table: those that `bits` draws for the row.

    Compiled, all rounds are one operation for every element, where those of JAX are a loop over arrays.

    Examples
    --------
    >>> from bayes_assess._tools import engine
    >>> with engine.eager():
    ...     bool((row_bits(key(1), 2, 5) == bits(key(1), (3, 5))[2]).all())
    True
    """
    words = as_key(key) if is_eager() else jax.random.key_data(as_key(key))
    counter = xp.arange(n, dtype=np.uint32) + xp.asarray(row, np.uint32) * np.uint32(n)
    first, second = _threefry(words, counter)
    return first ^ second


def uniform(key: PRNGKey, shape: tuple[int, ...] = (), dtype: type[np.floating] | np.dtype = np.float64) -> Array:
    """Draw numbers from [0, 1), of 64 bits by default."""
    if not is_eager():
        return jax.random.uniform(as_key(key), shape, dtype)
    if dtype == np.float32:
        words = (bits(key, shape) >> np.uint32(9)) | np.uint32(0x3F800000)
        return words.view(np.float32) - np.float32(1)
    words = (bits(key, shape, np.uint64) >> np.uint64(12)) | np.uint64(0x3FF0000000000000)
    return words.view(np.float64) - 1.0


def normal(key: PRNGKey, shape: tuple[int, ...] = ()) -> Array:
    """Draw standard normal variables of 64 bits."""
    if not is_eager():
        return jax.random.normal(as_key(key), shape, np.float64)
    least = np.nextafter(-1.0, 0.0)
    return np.sqrt(2.0) * special.erfinv(np.maximum(least, uniform(key, shape) * (1 - least) + least))


def randint(key: PRNGKey, shape: tuple[int, ...], start: int | Array, stop: int | Array) -> Array:
    """Draw whole numbers of 64 bits from [start, stop)."""
    if not is_eager():
        return jax.random.randint(as_key(key), shape, start, stop, np.int64)
    high, low = (bits(subkey, shape, np.uint64) for subkey in split(key))
    span = np.maximum(np.asarray(stop, np.int64) - np.asarray(start, np.int64), 1).astype(np.uint64)
    half = np.uint64(2**32) % span
    # Twice as many bits as the numbers have, so that hardly any number is preferred; products may pass 64 bits.
    offset = ((high % span) * (half * half % span) + low % span) % span
    return np.asarray(start, np.int64) + offset.astype(np.int64)


def permutation(key: PRNGKey, n: int) -> Int[Array, " n"]:
    """Return the numbers 0 to n - 1 in random order."""
    if not is_eager():
        return jax.random.permutation(as_key(key), n)
    order = np.arange(n)
    for _ in range(int(np.ceil(3 * np.log(max(1, n)) / np.log(2**32 - 1)))):
        key, now = split(key)
        order = order[np.argsort(bits(now, (n,)), kind="stable")]
    return order


def categorical(key: PRNGKey, log_weight: Float[Array, "*batch K"], shape: tuple[int, ...] | None = None) -> Array:
    """Draw places on the last axis by weights, as many as the other axes have, or an array of them before these."""
    if not is_eager():
        return jax.random.categorical(as_key(key), log_weight, shape=shape)
    all_shape = log_weight.shape if shape is None else (*shape, log_weight.shape[-1])
    tiny = np.finfo(log_weight.dtype).tiny
    drawn = np.maximum(tiny, uniform(key, all_shape, log_weight.dtype) + tiny)
    return np.argmax(log_weight - np.log(-np.log(drawn)), axis=-1)


def _threefry(key: Array, counter: Array) -> tuple[Array, Array]:
    """Turn counters (0, n) into two words each."""
    keys = key[0], key[1], key[0] ^ key[1] ^ np.uint32(_PARITY)
    mix: Any = _mixed_in_place if is_eager() else _mixed
    x, y = xp.zeros_like(counter) + keys[0], counter + keys[1]
    for i in range(5):
        x, y = mix(x, y, _ROTATIONS[i % 2])
        x += keys[(i + 1) % 3]
        y += keys[(i + 2) % 3] + np.uint32(i + 1)
    return x, y


def _threefry_of_few(key: Array, n: int) -> tuple[int, int]:
    """Turn the first counters into two words each, all in one integer: calls of NumPy take some times as long."""
    counters, ones = _counters(n)
    return _rounds(key.tolist(), counters, ones)


@cache
def _counters(n: int) -> tuple[int, int]:
    """Return integers with the first counters, and with 1, in their lanes."""
    return sum(i << _LANE * i for i in range(n)), sum(1 << _LANE * i for i in range(n))


def _lanes(words: int, n: int) -> np.ndarray:
    """Return what is in the lanes of an integer."""
    return np.frombuffer(words.to_bytes(_LANE // 8 * n, "little"), "<u8")


def _rounds(key: list[int], counters: int, ones: int) -> tuple[int, int]:
    """Turn the counters in the lanes of an integer into two words each."""
    mask = _WORD * ones
    keys = key[0] * ones, key[1] * ones, (key[0] ^ key[1] ^ _PARITY) * ones
    x, y = keys[0], (counters + keys[1]) & mask
    for i in range(5):
        for turn in _ROTATIONS[i % 2]:
            x += y  # less than 2^38 in the end
            y = ((y << turn | y >> (32 - turn)) ^ x) & mask
        x += keys[(i + 1) % 3]
        y = (y + keys[(i + 2) % 3] + (i + 1) * ones) & mask
    return x & mask, y


def _mixed_in_place(x: np.ndarray, y: np.ndarray, rotations: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray]:
    high = np.empty_like(y)
    for turn in rotations:  # in place, as a round's numbers are many
        x += y
        np.left_shift(y, np.uint32(turn), out=high)
        np.right_shift(y, np.uint32(32 - turn), out=y)
        y |= high
        y ^= x
    return x, y


def _mixed(x: Array, y: Array, rotations: tuple[int, ...]) -> tuple[Array, Array]:
    for turn in rotations:
        x = x + y
        y = ((y << np.uint32(turn)) | (y >> np.uint32(32 - turn))) ^ x
    return x, y


def _is_typed(key: Array) -> bool:
    return jnp.issubdtype(key.dtype, jax.dtypes.prng_key)


def _of_jax(words: Array) -> PRNGKey:
    """Return JAX's key of words, two of Threefry's or four, whatever kind of keys is the user's default."""
    kind = "threefry2x32" if words.shape[-1:] == (2,) else "rbg"
    return jax.random.wrap_key_data(jnp.asarray(words, jnp.uint32), impl=kind)  # untyped words would be compiled


def _words(key: PRNGKey) -> np.ndarray:
    return np.asarray(jax.random.key_data(key))
