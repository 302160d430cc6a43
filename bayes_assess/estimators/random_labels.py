"""How many labels of random items estimate a share or a mean as well as an interval says that it is known."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float, Int
from scipy import special

_ROUNDING = 1e-9  # of a number of labels that is whole


def random_labels(
    share: Float[np.ndarray, "*shape"] | float,
    width: Float[np.ndarray, "*shape"] | float,
    size: Int[np.ndarray, "*shape"] | int,
    level: float = 0.95,
    variance: Float[np.ndarray, "*shape"] | float | None = None,
) -> Int[np.ndarray, "*shape"]:
    r"""Count the random items whose labels give a share an interval of some width.

    The share p of n items, drawn without replacement from M, has the variance p (1 - p) / n times (M - n) / (M - 1).
    Setting half of the width w of its normal interval to z standard deviations and solving for n,

    .. math::
        n = n_0 M / (n_0 + M - 1), \quad n_0 = z^2 p (1 - p) / (w / 2)^2

    where p = 0 or 1 would need no label at all. There, and near there, it is n_0 = z^2 (1 - w) / w, which gives the
    interval of Wilson, [0, z^2 / (n_0 + z^2)] where no label is positive, the width w. The mean of other numbers has
    their variance in the place of p (1 - p), with one label at least.

    Parameters
    ----------
    share : (...) floats in [0, 1]
        p.
    width : (...) floats
        w; 0 takes the labels of all items.
    size : (...) integers
        M.
    level : float in (0, 1)
    variance : (...) floats, optional
        Of the labels, where they are other numbers than 0 and 1; `share` is their mean, and does not matter then.

    Returns
    -------
    (...) integers, at most `size`, rounded up.

    Examples
    --------
    >>> random_labels(0.5, 0.1, 10**9), random_labels(0.5, 0.1, 1000)
    (array(385), array(278))
    >>> int(random_labels(0.0, 0.01, 10**9))  # no positive label
    381
    >>> int(random_labels(3.7, 0.2, 10**9, variance=1.2))  # ratings
    461
    """
    p, w, m = (np.asarray(values, np.float64) for values in (share, width, size))
    z = special.ndtri((1 + level) / 2)
    known = w > 0
    w = np.where(known, w, 1)
    if variance is None:
        w = np.clip(w, None, 1)
        n = np.maximum(z**2 * p * (1 - p) / (w / 2) ** 2, z**2 * (1 - w) / w)
    else:
        n = np.maximum(z**2 * np.asarray(variance, np.float64) / (w / 2) ** 2, 1.0)
    n = n * m / np.maximum(n + m - 1, np.finfo(float).tiny)
    return np.where(known, np.minimum(np.ceil(n - _ROUNDING * n), m), m).astype(np.int64)
