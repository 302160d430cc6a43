"""What [SEME] publishes for its samples, in plain NumPy, to compare with."""

from __future__ import annotations

import numpy as np


def ratio_variance(f, g, b):
    """Estimate the variance of sum (f / b) / sum (g / b) from the items drawn, (28) and (29)."""
    bottom = (g / b).sum()
    if bottom == 0:
        return np.inf
    square = (1 / b - 1) * (f - (f / b).sum() / bottom * g) ** 2 + 1e-10 * (b < 1)
    return (square / b).sum() / bottom**2
