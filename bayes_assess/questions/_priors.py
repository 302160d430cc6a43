"""Priors by name, or of the user's own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from bayes_assess._tools.arrays import CHUNK, show
from bayes_assess._tools.shapes import ArrayLike, Float
from bayes_assess.errors import PriorError
from bayes_assess.models.belief import Belief, check_belief, is_belief
from bayes_assess.models.beta_bernoulli import BetaBernoulli
from bayes_assess.models.calibration_bins import CalibrationBins
from bayes_assess.models.dirichlet_confusion import DirichletConfusion
from bayes_assess.models.hierarchical_accuracy import ALIKE, LOG_STRENGTH, HierarchicalAccuracy
from bayes_assess.models.hierarchical_calibration import HierarchicalCalibration
from bayes_assess.models.hierarchical_confusion import HierarchicalConfusion
from bayes_assess.pool._columns import RESERVED
from bayes_assess.pool._scores import both_columns
from bayes_assess.pool.cells import Cells
from bayes_assess.pool.counting import add_up, count
from bayes_assess.pool.pool import Pool

if TYPE_CHECKING:
    from bayes_assess.models.belief import GivenPrior


PRIORS = ("informative", "uninformative")
LEARNED = "learned"


def accuracy_prior(
    cells: Cells,
    prior: GivenPrior,
    strength: float | None,
    default_strength: float,
    covariates: Mapping[str, Float[np.ndarray, " K"]] | None = None,
    around_scores: float | None = None,
) -> Belief:
    """Build the prior of every cell's accuracy: the one that learns, or a fixed one of [ABA] "Priors".

    Fixed ones take no notice of covariates, nor of how far from their scores shares are that are no accuracies.
    """
    if is_learned(prior, strength):
        # Recalls and shares of positive items by group gain nothing by the prior of groups that are alike.
        strength_prior = strength_prior_of(cells) if around_scores is None else LOG_STRENGTH
        known = {"sizes": cells.sizes, "covariates": covariates, "strength_prior": strength_prior}
        if cells.mean_score is None:
            return HierarchicalAccuracy.from_prior(n_groups=cells.n_cells, **known)
        return HierarchicalAccuracy.from_prior(mean_score=cells.mean_score, around_scores=around_scores, **known)
    if isinstance(prior, CalibrationBins):
        prior = prior.flat()
    if is_belief(prior):
        return own_prior(prior, strength, (cells.n_cells,), "one accuracy per group")
    scored = cells.mean_score is not None
    strength = default_strength if strength is None else strength
    if named_prior(prior, "BetaBernoulli", scored) == "uninformative":
        return BetaBernoulli.from_prior(strength, n_groups=cells.n_cells)
    return BetaBernoulli.from_prior(strength, mean_score=cells.mean_score)


def strength_prior_of(cells: Cells) -> tuple[float, float]:
    """Return the prior of log nu of the cells' accuracies, see `HierarchicalAccuracy`: predicted classes differ."""
    return LOG_STRENGTH if are_of_predictions(cells) else ALIKE


def are_of_predictions(cells: Cells) -> bool:
    """Whether items of a cell have one predicted class."""
    return any(part.description == RESERVED for part in cells.parts)


def calibration_prior(cells: Cells, prior: GivenPrior, strength: float | None, default_strength: float) -> Belief:
    """Build the prior of the accuracy of bins of the confidence inside groups, cell g * B + b.

    The learned one follows a curve of the confidence; the others are those of any cells.
    """
    if not is_learned(prior, strength):
        return accuracy_prior(cells, prior, strength, default_strength)
    shape = (cells.parts[0].n_groups, -1)
    assert cells.mean_score is not None  # questions on calibration refuse pools without confidence
    return HierarchicalCalibration.from_prior(score=cells.mean_score.reshape(shape), size=cells.sizes.reshape(shape))


def confusion_prior(pool: Pool, prior: GivenPrior, strength: float | None, default_strength: float) -> Belief:
    """Build the prior of every row of the confusion matrix; rows = predicted class, columns = label."""
    n_classes = pool.n_classes
    if is_learned(prior, strength):
        predicted = count(pool.predictions, n_classes, pool.multiplicity)
        if pool.confidence is None:
            return HierarchicalConfusion.from_prior(n_classes=n_classes, predicted=predicted)
        return HierarchicalConfusion.from_prior(mean_scores=_mean_scores(pool), predicted=predicted)
    if is_belief(prior):
        return own_prior(prior, strength, (n_classes, n_classes), "a row per predicted class and a column per label")
    strength = default_strength if strength is None else strength
    if named_prior(prior, "DirichletConfusion", pool.confidence is not None) == "uninformative":
        return DirichletConfusion.from_prior(strength, n_predictions=n_classes, n_classes=n_classes)
    return DirichletConfusion.from_prior(strength, mean_scores=_mean_scores(pool))


def named_prior(prior: GivenPrior, own: str, scored: bool) -> str:
    """Resolve the name of a fixed prior; None takes what the pool's scores allow."""
    if prior is None:
        return "informative" if scored else "uninformative"
    if not isinstance(prior, str) or prior not in PRIORS:
        raise PriorError(
            f"A prior is 'learned', 'informative', 'uninformative', a {own} or another Belief, with all its members; "
            f"found {show(prior)}."
        )
    if prior == "informative" and not scored:
        raise PriorError(
            "The informative prior is made of the pool's scores, and of what is asked this pool has none. Give the "
            "pool scores of all classes (of accuracies confidences are enough), or use prior='uninformative'."
        )
    return prior


def is_learned(prior: GivenPrior, strength: float | None) -> bool:
    """Say whether the prior is the one that learns: the default, unless a strength asks for a fixed one.

    Raises
    ------
    PriorError
        If it is asked for by name and with a strength.
    """
    if not isinstance(prior, str) or prior != LEARNED:
        return prior is None and strength is None
    if strength is not None:
        raise PriorError("The learned prior finds its strength from the labels; leave out prior_strength.")
    return True


def own_prior(
    prior: Any, strength: float | None, shape: tuple[int, ...], what: str, possible: ArrayLike = True
) -> Belief:
    """Check a prior of the user's own."""
    if strength is not None:
        name = type(prior).__name__
        raise PriorError(f"A prior given as a {name} has its own strength; leave out prior_strength.")
    return check_belief(prior, shape, what, possible)


def _mean_scores(pool: Pool) -> Float[np.ndarray, "K C"]:
    """Mean score vector of the items predicted k, a row per class; zeros where a class is never predicted."""
    n_classes = pool.n_classes
    total = np.zeros((n_classes, n_classes))
    times = pool.multiplicity
    size = count(pool.predictions, n_classes, times)
    if pool.scores is None:  # the confidence alone: what is left goes to the other classes evenly
        expected_right = add_up(pool.predictions, pool.confidence, n_classes, times)
        total[:] = ((size - expected_right) / max(n_classes - 1, 1))[:, None]
        np.fill_diagonal(total, expected_right)
    else:
        for start in range(0, pool.n_rows, CHUNK):
            rows = slice(start, start + CHUNK)
            part = pool.scores[rows]
            part = (both_columns(part) if part.ndim == 1 else part).astype(np.float64)
            np.add.at(total, pool.predictions[rows], part if times is None else part * times[rows, None])
    return total / np.maximum(size, 1)[:, None]
