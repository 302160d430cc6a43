"""Masses of the difference of two systems on the same items."""

from __future__ import annotations

import numpy as np
from scipy import special

from bayes_assess._tools.shapes import Float

_NODES = 2000  # quantiles of the share of items that tell the systems apart
_STATES = 512  # at a time


def paired_rope_masses(alpha: Float[np.ndarray, "*batch 4"], rope: float) -> Float[np.ndarray, "*batch 3"]:
    """Compute P(D < -rope), P(|D| <= rope) and P(D > rope) for D = theta_1 - theta_2, theta ~ Dirichlet(alpha).

    The systems are told apart on a share e ~ Beta(alpha_1 + alpha_2, alpha_0 + alpha_3), and independently of it the
    first wins a share w ~ Beta(alpha_1, alpha_2) of that, so that D = e (2 w - 1) > rope where
    w > (1 + rope / e) / 2. The mean over e is taken at the midpoints of equally probable intervals.

    Parameters
    ----------
    alpha : (..., 4)
        Parameters in the order of `paired_outcomes.OUTCOMES`; those of impossible outcomes are 0.
    rope : float
        At least 0; from 1 on, everything is inside.

    Examples
    --------
    >>> paired_rope_masses(np.array([0.0, 30.0, 10.0, 5.0]), 0.1).round(3).tolist()
    [0.0, 0.005, 0.995]
    """
    shape = alpha.shape[:-1]
    flat = alpha.reshape(-1, 4)
    levels = (np.arange(_NODES) + 0.5) / _NODES
    masses = np.empty((len(flat), 3))
    for start in range(0, len(flat), _STATES):
        both, first, second, neither = flat[start : start + _STATES].T[..., None]
        share = special.betaincinv(first + second, both + neither, levels)
        bar = np.minimum((1 + rope / np.maximum(share, 1e-300)) / 2, 1.0)
        above = special.betaincc(first, second, bar).mean(-1)
        below = special.betainc(first, second, 1 - bar).mean(-1)
        masses[start : start + _STATES] = np.stack([below, np.maximum(1 - below - above, 0.0), above], axis=-1)
    return masses.reshape(*shape, 3)
