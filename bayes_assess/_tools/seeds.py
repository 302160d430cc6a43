"""Random streams of a seed, a separate one for every purpose.

Users make labels and noise by ``default_rng(seed)`` with the seeds that they pass on to us. Streams of ours therefore
start from the seed together with a name that nobody else spawns by, so that they are independent of those.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bayes_assess._tools.arrays import is_whole, show
from bayes_assess.errors import DesignError

if TYPE_CHECKING:
    from bayes_assess._tools.axes import PRNGKey

_MOST = 2**63  # keys of JAX are made of signed numbers


def checked_seed(seed: int) -> int:
    """Return a seed as a whole number.

    Raises
    ------
    DesignError
        If it is none, or not in [0, 2^63).

    Examples
    --------
    >>> checked_seed(7.0)
    7
    """
    if not is_whole(seed, 0) or seed >= _MOST:
        raise DesignError(f"A seed is a whole number, 0 or more and less than 2^63; found {show(seed)}.")
    return int(seed)


def sequence(seed: int, purpose: str) -> np.random.SeedSequence:
    """Return the seed of one purpose; NumPy promises that it never changes.

    Parameters
    ----------
    seed : int
        0 or more, of any size.
    purpose : str
        What is drawn, such as ``"order"``.

    Examples
    --------
    >>> sequence(0, "order").generate_state(1) != np.random.SeedSequence(0).generate_state(1)
    array([ True])
    """
    name = int.from_bytes(f"bayes_assess {purpose}".encode(), "little")
    return np.random.SeedSequence(seed, spawn_key=(name,))


def generator(seed: int, purpose: str) -> np.random.Generator:
    """Return NumPy's generator for one purpose; see `sequence`.

    Examples
    --------
    >>> generator(0, "draws").random() != np.random.default_rng(0).random()
    True
    """
    return np.random.default_rng(sequence(seed, purpose))


def jax_key(seed: int, purpose: str) -> PRNGKey:
    """Return the JAX key for one purpose; see `sequence`.

    No key is split or folded from ``jax.random.key(seed)``: of that, the t-th split and ``fold_in(..., t)`` are one
    and the same.

    Examples
    --------
    >>> jax_key(0, "draws").shape
    ()
    """
    from bayes_assess._tools.engine import random

    first, second = sequence(seed, purpose).generate_state(2)
    return random.fold_in(random.as_key(np.array([0, first], np.uint32)), second)
