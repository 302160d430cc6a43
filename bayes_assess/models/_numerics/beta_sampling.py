"""Beta draws in bulk, from pairs of Gamma draws; exact in distribution for any positive parameters."""

from __future__ import annotations

from bayes_assess._tools.axes import PRNGKey
from bayes_assess._tools.engine import xp
from bayes_assess._tools.shapes import Array, Float
from bayes_assess.models._numerics.gamma_sampling import standard_gamma


def standard_beta(key: PRNGKey, a: Float[Array, "*shape"], b: Float[Array, "*shape"]) -> Float[Array, "*shape"]:
    """Draw one Beta(a, b) variable per element; to be called under 64-bit types.

    Parameters
    ----------
    key : PRNG key
    a, b : arrays of one shape and of 64-bit or 32-bit floats, positive
        Parameters. Values far below 1 are fine: the boost for alpha < 1 is taken in logarithms.

    Returns
    -------
    Array of the same shape and type, in [0, 1].
    """
    gamma, boost = standard_gamma(key, xp.stack([a, b]))
    return 1 / (1 + gamma[1] / gamma[0] * xp.exp(boost[1] - boost[0]))
