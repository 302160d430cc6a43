"""Measures that are a ratio of two sums over the items of a pool, or a mean: those that audits alone can answer."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, Int

from bayes_assess._tools.axes import x64
from bayes_assess.measures import LossTable

_PLACES = np.array([[0.31, 0.73], [0.12, 0.94], [0.55, 0.58], [0.02, 0.41]])  # where g is looked at
_MOST = 8  # outputs that bets are kept for


@x64
def ratio_losses(
    table: LossTable,
) -> tuple[Int[np.ndarray, " J"], Float[np.ndarray, "J A O"], Float[np.ndarray, "J A O"]]:
    """Write outputs as ratios sum f / sum g over items, those that are one.

    Parameters
    ----------
    table : LossTable
        With dense losses.

    Returns
    -------
    outputs : (J,) integers
        Which outputs are ratios with g >= 0 and a bounded range; the first eight.
    f, g : (J, A, O)
        Of an item of every attribute with every outcome.

    Examples
    --------
    >>> import bayes_assess as ba
    >>> from bayes_assess.measures import table_for
    >>> _, table = table_for(["f1", "matthews_corrcoef"], ba.Pool(predictions=[0, 0, 1, 1]))
    >>> outputs, f, g = ratio_losses(table)
    >>> outputs.tolist(), f[0].tolist(), g[0].tolist()  # rows = predicted class, columns = label
    ([0], [[0.0, 0.0], [0.0, 1.0]], [[0.0, 0.5], [0.5, 1.0]])
    """
    values = np.asarray(table.losses.values)  # type: ignore[union-attr]
    shape = values.shape[:2]
    outputs, tops, bottoms = [], [], []
    at = 0
    for part in table.parts:
        n_outputs = jax.eval_shape(part.value, jax.ShapeDtypeStruct((part.size,), jnp.float64)).shape[0]
        for copy in range(len(part.starts)):
            pair = _ratio(part, values[..., part.places[copy]]) if n_outputs == 1 and part.averaged == 1 else None
            bounded = np.isfinite(table.ranges[at]).all() if at < len(table.ranges) else False
            if pair is not None and bounded and (pair[1] >= 0).all():
                outputs.append(at)
                tops.append(pair[0])
                bottoms.append(pair[1])
            at += n_outputs
    n = min(len(outputs), _MOST)
    f, g = (np.array(part[:n]).reshape(n, *shape) for part in (tops, bottoms))
    return np.array(outputs[:n], np.int64), f, g


def _ratio(part: Any, losses: Float[np.ndarray, "A O D"]) -> tuple[np.ndarray, np.ndarray] | None:
    """Return f and g of a part that is a mean or a ratio, found by looking at its function."""
    if part.size == 1:
        at = np.append([0.0, 1.0], _PLACES[:, 0])
        low, high, *_ = values = _values(part, at[:, None])
        if np.allclose(values, low + (high - low) * at, rtol=0, atol=1e-9):
            top = low + (high - low) * losses[..., 0]
            return top, np.ones_like(top)
    if part.size == 2 and np.allclose(_values(part, _PLACES), _PLACES[:, 0] / _PLACES[:, 1], rtol=0, atol=1e-9):
        return losses[..., 0], losses[..., 1]
    return None


@lru_cache(maxsize=256)
def _looked_at(part: Any) -> Any:
    return jax.jit(jax.vmap(lambda risk: jnp.ravel(jnp.asarray(part.g(risk)))[0]))


def _values(part: Any, risks: Float[np.ndarray, "N D"]) -> Float[np.ndarray, " N"]:
    return np.asarray(_looked_at(part)(risks))
