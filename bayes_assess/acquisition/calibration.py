"""What a group is worth when the least calibrated groups are sought ([ABA] Table 1)."""

from __future__ import annotations

from bayes_assess._tools.axes import any_engine
from bayes_assess._tools.engine import xp
from bayes_assess._tools.shapes import Array, Float
from bayes_assess.models.calibration_bins import expected_calibration_error


@any_engine
def calibration_reward(
    theta: Float[Array, "*batch G B"], score: Float[Array, "G B"], weight: Float[Array, "G B"]
) -> Float[Array, "*batch G"]:
    """Compute every group's expected calibration error under accuracies `theta`: sum_b p_gb |theta~_gb - s_gb|.

    Parameters
    ----------
    theta : (..., G, B)
        Accuracies of the bins inside every group: a posterior draw for Thompson sampling.
    score : (G, B)
        Mean confidence s_gb of every bin's items.
    weight : (G, B)
        Share p_gb of the group's items in every bin; rows sum to 1, and are all 0 for a group without items.

    Returns
    -------
    (..., G) rewards, the greater the worse calibrated.

    Examples
    --------
    >>> import numpy as np
    >>> score, weight = np.array([[0.6, 0.9], [0.6, 0.9]]), np.full((2, 2), 0.5)
    >>> theta = np.array([[0.6, 0.8], [0.3, 0.9]])
    >>> calibration_reward(theta, score, weight).round(3).tolist()
    [0.05, 0.15]
    """
    return xp.asarray(expected_calibration_error(theta, score, weight))
