"""Priors by name, or of the user's own."""

from __future__ import annotations

from typing import Any

import numpy as np
from jaxtyping import Float

from bayes_assess._arrays import CHUNK
from bayes_assess._scores import both_columns
from bayes_assess.cells import Cells
from bayes_assess.errors import PriorError
from bayes_assess.models import BetaBernoulli, CalibrationBins, DirichletConfusion
from bayes_assess.pool import Pool

PRIORS = ("informative", "uninformative")


def accuracy_prior(cells: Cells, prior: Any, strength: float | None, default_strength: float) -> BetaBernoulli:
    """Build the prior of every cell's accuracy ([ABA] "Priors")."""
    if isinstance(prior, CalibrationBins):
        prior = BetaBernoulli(np.ravel(prior.accuracy.a), np.ravel(prior.accuracy.b))
    if isinstance(prior, BetaBernoulli):
        _refuse_strength(prior, strength)
        a, b = np.asarray(prior.a, np.float64), np.asarray(prior.b, np.float64)
        if a.shape != (cells.n_cells,) or b.shape != (cells.n_cells,):
            raise PriorError(
                f"The prior needs one a and b per group, shape ({cells.n_cells},); found {a.shape} and {b.shape}."
            )
        if not (np.isfinite(a).all() and np.isfinite(b).all() and (a > 0).all() and (b > 0).all()):
            raise PriorError("The prior's a and b must be positive and finite.")
        return BetaBernoulli(a, b)
    scored = cells.mean_score is not None
    strength = default_strength if strength is None else strength
    if named_prior(prior, "BetaBernoulli", scored) == "uninformative":
        return BetaBernoulli.from_prior(strength, n_groups=cells.n_cells)
    return BetaBernoulli.from_prior(strength, mean_score=cells.mean_score)


def confusion_prior(pool: Pool, prior: Any, strength: float | None, default_strength: float) -> DirichletConfusion:
    """Build the prior of every row of the confusion matrix; rows = predicted class, columns = label."""
    n_classes = pool.n_classes
    if isinstance(prior, DirichletConfusion):
        _refuse_strength(prior, strength)
        alpha = np.asarray(prior.alpha, np.float64)
        if alpha.shape != (n_classes, n_classes):
            raise PriorError(
                f"The prior needs an alpha per predicted class (row) and label (column), shape "
                f"({n_classes}, {n_classes}); found {alpha.shape}."
            )
        if not (np.isfinite(alpha).all() and (alpha > 0).all()):
            raise PriorError("The prior's alpha must be positive and finite.")
        return DirichletConfusion(alpha)
    strength = default_strength if strength is None else strength
    if named_prior(prior, "DirichletConfusion", pool.confidence is not None) == "uninformative":
        return DirichletConfusion.from_prior(strength, n_predictions=n_classes, n_classes=n_classes)
    return DirichletConfusion.from_prior(strength, mean_scores=_mean_scores(pool))


def named_prior(prior: Any, own: str, scored: bool) -> str:
    """Resolve the name of a prior; None takes what the pool's scores allow."""
    if prior is None:
        return "informative" if scored else "uninformative"
    if not isinstance(prior, str) or prior not in PRIORS:
        raise PriorError(f"A prior is 'informative', 'uninformative' or a {own}; found {prior!r}.")
    if prior == "informative" and not scored:
        raise PriorError(
            "The informative prior is made of the pool's scores, and this pool has none. "
            "Give the pool scores or confidences, or use prior='uninformative'."
        )
    return prior


def _refuse_strength(prior: Any, strength: float | None) -> None:
    if strength is not None:
        name = type(prior).__name__
        raise PriorError(f"A prior given as a {name} has its own strength; leave out prior_strength.")


def _mean_scores(pool: Pool) -> Float[np.ndarray, "K C"]:
    """Mean score vector of the items predicted k, a row per class; zeros where a class is never predicted."""
    n_classes = pool.n_classes
    total = np.zeros((n_classes, n_classes))
    size = np.bincount(pool.predictions, minlength=n_classes)
    if pool.scores is None:  # the confidence alone: what is left goes to the other classes evenly
        right = np.bincount(pool.predictions, weights=pool.confidence, minlength=n_classes)
        total[:] = ((size - right) / max(n_classes - 1, 1))[:, None]
        np.fill_diagonal(total, right)
    else:
        for start in range(0, pool.n_items, CHUNK):
            rows = slice(start, start + CHUNK)
            part = pool.scores[rows]
            part = both_columns(part) if part.ndim == 1 else part
            np.add.at(total, pool.predictions[rows], part.astype(np.float64))
    return total / np.maximum(size, 1)[:, None]
