"""Posterior draws of any model in the place of a closed-form posterior, for designs to decide on.

The draws are joint over all cells, so that what is learned of one cell moves the others as the model has it. A label
re-weights the draws by its likelihood; nothing is fitted anew.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import xlog1py, xlogy
from jaxtyping import Array, Float, Int

from bayes_assess._typing import PRNGKey, x64

# A label that no draw allows must not take all weights away.
_LEAST_LOG = -1e6


@partial(jax.tree_util.register_dataclass, data_fields=["draws", "log_weight"], meta_fields=[])
@dataclass(frozen=True)
class SampledBelief:
    """Weighted posterior draws of the outcome probabilities of K cells.

    Parameters
    ----------
    draws : (S, K) or (S, K, O)
        Accuracies of the cells, or the probabilities of their O outcomes.
    log_weight : (S,)
        Logarithms of the draws' importance weights, up to a constant.

    Examples
    --------
    >>> import numpy as np
    >>> belief = SampledBelief(np.array([[0.2, 0.5], [0.8, 0.5]]), np.zeros(2))
    >>> belief.update_counts([[0, 1], [0, 0]]).mean.round(2).tolist()  # an agreement in the first cell
    [0.68, 0.5]
    """

    draws: Float[Array, "S K *O"] | Float[np.ndarray, "S K *O"]
    log_weight: Float[Array, " S"] | Float[np.ndarray, " S"]

    @property
    @x64
    def importance(self) -> Float[Array, " S"]:
        """Importance weights of the draws, summing to 1."""
        return jax.nn.softmax(jnp.asarray(self.log_weight))

    @property
    @x64
    def mean(self) -> Float[Array, " K"] | Float[Array, "K O"]:
        """Posterior mean of every cell, (K,) or (K, O)."""
        return jnp.tensordot(self.importance, jnp.asarray(self.draws), 1)

    @property
    @x64
    def variance(self) -> Float[Array, " K"] | Float[Array, "K O"]:
        """Posterior variance of every cell, (K,) or (K, O)."""
        return jnp.tensordot(self.importance, (jnp.asarray(self.draws) - self.mean) ** 2, 1)

    @x64
    def update_counts(self, counts: Int[Array, "K O"]) -> SampledBelief:
        """Learn counts of outcomes (K, O): every draw is weighted by their likelihood under it."""
        counts = jnp.asarray(counts, jnp.float64)
        if self.draws.ndim == 2:
            return self._reweighted(counts[:, 1], counts[:, 0])
        gain = xlogy(counts, jnp.asarray(self.draws)).sum((-2, -1))
        return replace(self, log_weight=self.log_weight + jnp.maximum(gain, _LEAST_LOG))

    @x64
    def update_at_mean(self, n: Int[Array, " K"]) -> SampledBelief:
        """Imagine `n` more labels of every cell, (K,), that come back at the posterior mean."""
        n, mean = jnp.asarray(n, jnp.float64), jnp.asarray(self.mean)
        if self.draws.ndim == 2:
            return self._reweighted(n * mean, n * (1 - mean))
        return self.update_counts(n[:, None] * mean)

    @x64
    def sample(self, key: PRNGKey, n: int) -> Float[Array, "N K"] | Float[Array, "N K O"]:
        """Draw `n` of the draws by their weights, with replacement."""
        upto = jnp.cumsum(self.importance)
        # A uniform variable can round up to the last sum, which lies behind all draws.
        chosen = jnp.searchsorted(upto, upto[-1] * jax.random.uniform(key, (n,)), side="right")
        return jnp.asarray(self.draws)[jnp.minimum(chosen, len(upto) - 1)]

    def _reweighted(self, agreements: Float[Array, " K"], others: Float[Array, " K"]) -> SampledBelief:
        draws = jnp.asarray(self.draws)
        gain = (xlogy(agreements, draws) + xlog1py(others, -draws)).sum(-1)
        return replace(self, log_weight=self.log_weight + jnp.maximum(gain, _LEAST_LOG))
