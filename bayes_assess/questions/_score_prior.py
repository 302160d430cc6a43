"""What designs that weigh labels take for a prior: the probability of every label, as scores have it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from bayes_assess._tools.arrays import show
from bayes_assess._tools.pytrees import register_dataclass
from bayes_assess._tools.shapes import Array, Float
from bayes_assess.errors import PriorError
from bayes_assess.pool.cells import Cells
from bayes_assess.pool.counting import add_up
from bayes_assess.pool.groups import Partition, block_means
from bayes_assess.pool.pool import Pool
from bayes_assess.questions._event_cells import EventCells

if TYPE_CHECKING:
    from bayes_assess.models.belief import GivenPrior


@partial(register_dataclass, data_fields=["mean"], meta_fields=[])
@dataclass(frozen=True)
class ScorePrior:
    """What is believed of the labels of every cell before any label.

    Parameters
    ----------
    mean : (K, C)
        Probability of every label; rows sum to 1.
    """

    mean: Float[Array, "K C"]


def score_prior(name: str, pool: Pool, cells: Cells, prior: GivenPrior, strength: float | None) -> ScorePrior:
    """Take the mean scores of every cell, or equal probabilities, for the question of that name."""
    if strength is not None:
        raise PriorError(f"{name} takes no prior_strength: the design decides how many labels its prior counts as.")
    if isinstance(prior, ScorePrior):
        if np.shape(prior.mean) != (cells.n_cells, pool.n_classes):
            raise PriorError(
                f"The prior has shape {np.shape(prior.mean)}; it needs a row per group of items and a column per "
                f"class, {(cells.n_cells, pool.n_classes)}."
            )
        wrong = np.argwhere(~((np.asarray(prior.mean) >= 0) & (np.asarray(prior.mean) <= 1 + 1e-6)))
        if len(wrong):
            cell, label = wrong[0].tolist()
            raise PriorError(
                f"The prior's probabilities lie between 0 and 1; that of row {cell}, label {label} is "
                f"{float(np.asarray(prior.mean)[cell, label])!r}."
            )
        return prior
    informative = pool.scores is not None or pool.confidence is not None
    if prior is not None and not (isinstance(prior, str) and prior in ("informative", "uninformative")):
        raise PriorError(f"{name} takes the prior 'informative' or 'uninformative'; found {show(prior)}.")
    if prior == "informative" and not informative:
        raise PriorError("The informative prior needs scores, and the pool has none.")
    if prior == "uninformative" or not informative:
        return ScorePrior(np.full((cells.n_cells, pool.n_classes), 1 / pool.n_classes))
    return ScorePrior(_mean_scores(pool, cells))


def event_prior(cells: EventCells, prior: GivenPrior, strength: float | None) -> ScorePrior:
    """Return a placeholder: the belief has a prior of its own, and learns what the scores mean."""
    if strength is not None or not (prior is None or (isinstance(prior, str) and prior == "learned")):
        raise PriorError(
            "Calibration curves, of design 'variance_reduction' and of 'poisson' with labels='curve', learn what "
            "scores mean: they take no prior_strength, and no prior but 'learned'; found "
            f"{show(prior if strength is None else strength)}. Fixed priors are for the other designs, such as "
            "'adaptive'."
        )
    n_outcomes = cells.measure.n_outcomes
    return ScorePrior(np.full((cells.n_cells, n_outcomes), 1 / n_outcomes))


def _mean_scores(pool: Pool, cells: Cells) -> Float[np.ndarray, "K C"]:
    """Mean probability of every label in every cell, as the scores have it."""
    cell, times = cells.source.row_cells, pool.multiplicity
    groups = Partition(cell, cells.names, cells.description)
    if pool.scores is not None:
        means = block_means(groups, pool.scores, times)
        means = np.stack([1 - means, means], axis=-1) if means.ndim == 1 else means
        return means / means.sum(-1, keepdims=True)
    confidence = np.zeros((cells.n_cells, pool.n_classes))
    assert pool.confidence is not None
    pairs = cell * pool.n_classes + pool.predictions
    rest = add_up(cell, 1 - pool.confidence, cells.n_cells, times)
    own = add_up(pairs, pool.confidence, confidence.size, times).reshape(confidence.shape)
    own_rest = add_up(pairs, 1 - pool.confidence, confidence.size, times).reshape(confidence.shape)
    spread = (rest[:, None] - own_rest) / max(pool.n_classes - 1, 1)
    return (own + spread) / np.maximum(cells.sizes, 1)[:, None]
