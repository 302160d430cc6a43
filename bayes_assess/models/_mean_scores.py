"""Mean scores of groups and bins as priors take them: checked, and as logits."""

from __future__ import annotations

import numpy as np
from scipy import special

from bayes_assess._tools.arrays import as_floats, show, unmasked
from bayes_assess._tools.shapes import ArrayLike, Float, Int
from bayes_assess.errors import PriorError

_UNSCORED = 0.02  # share of items of which no score says anything, so that no mean score promises certainty


def mean_scores(score: ArrayLike, what: str = "group") -> Float[np.ndarray, "*shape"]:
    """Take mean scores as floats, if all lie in [0, 1].

    Examples
    --------
    >>> mean_scores([0.5, 1])
    array([0.5, 1. ])
    """
    score = as_floats(score)
    outside = ~((score >= 0) & (score <= 1))
    if outside.any():
        place = int(np.flatnonzero(outside)[0])
        raise PriorError(f"Mean scores lie between 0 and 1; {what} {place} has {show(score.flat[place])}.")
    return score


def binned_scores(
    score: ArrayLike, size: ArrayLike
) -> tuple[Float[np.ndarray, "*groups B"], Int[np.ndarray, "*groups B"]]:
    """Take mean scores and sizes of bins, (G, B) or (B,), if they fit together; a bin without items needs no score.

    Examples
    --------
    >>> binned_scores([0.7, float("nan")], [3, 0])[0]
    array([0.7, 0.5])
    """
    score, size = as_floats(score), np.asarray(unmasked(size))
    if score.shape != size.shape:
        raise PriorError(f"`score` and `size` have one entry per bin; found shapes {score.shape} and {size.shape}.")
    if score.ndim not in (1, 2) or score.size == 0:
        raise PriorError(
            f"`score` has the shape (groups, bins), or (bins,) without groups; found the shape {score.shape}."
        )
    if not (size >= 0).all():
        raise PriorError(f"A bin holds 0 items or more; found {show(size.min())}.")
    return mean_scores(np.where((size == 0) & np.isnan(score), 0.5, score), "cell"), size


def logits(score: Float[np.ndarray, "*shape"]) -> Float[np.ndarray, "*shape"]:
    """Compute logits of mean scores that promise no certainty: of some items a score of 1 or 0 says nothing.

    Systems whose scores are 1 are hardly ever right in all items, and on the scale of log odds nothing but that would
    be near to such a score.

    Examples
    --------
    >>> logits(np.array([0.5, 1.0])).round(2).tolist()
    [0.0, 4.6]
    """
    return special.logit((1 - _UNSCORED) * score + _UNSCORED / 2)
