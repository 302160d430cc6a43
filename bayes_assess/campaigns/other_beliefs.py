"""Beliefs that a session did not form itself: the posterior of another model, or draws of it."""

from __future__ import annotations

from typing import Any

import numpy as np

from bayes_assess._tools.lazy import jax
from bayes_assess.errors import InferenceError
from bayes_assess.models.belief import Belief, check_belief, is_belief
from bayes_assess.models.nuts import posterior_draws
from bayes_assess.models.sampled_belief import SampledBelief
from bayes_assess.questions import Question


def other_belief(posterior: Any, question: Question, shape: tuple[int, ...]) -> Belief:
    """Take the posterior of any model, or draws of it, for the belief on a question's cells.

    Parameters
    ----------
    posterior : Belief, ArviZ object with the variable ``theta``, or array (S, ...)
    question : Question
    shape : tuple
        Shape of one draw as the question's cells need it: (K,), or (K, O).

    Raises
    ------
    InferenceError
        If there are no draws, they do not fit the cells, or are no probabilities.
    PriorError
        If a belief does not fit the cells.

    Examples
    --------
    >>> import numpy as np
    >>> from bayes_assess.questions import GroupAccuracy
    >>> other_belief(np.full((10, 3), 0.5), GroupAccuracy(), (3,)).mean.round(6).tolist()
    [0.5, 0.5, 0.5]
    """
    if is_belief(posterior):
        return check_belief(posterior, shape, "the values of the session's groups")
    is_array = isinstance(posterior, np.ndarray | jax.Array | list)
    draws = np.asarray(posterior if is_array else posterior_draws(posterior, "theta"), np.float64)
    arranged = question.cell_draws(draws, shape) if draws.ndim > 1 and len(draws) else None
    if arranged is None:
        raise InferenceError(
            f"The posterior draws have shape {draws.shape}; the session needs (draws, {', '.join(map(str, shape))}), "
            "in the order of its groups' names."
        )
    if not ((arranged >= 0) & (arranged <= 1 + 1e-6)).all():  # NaN included
        raise InferenceError("Posterior draws of accuracies or shares lie between 0 and 1; some of these do not.")
    return SampledBelief(np.minimum(arranged, 1.0), np.zeros(len(arranged)))
