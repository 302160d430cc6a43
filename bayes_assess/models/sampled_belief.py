"""Posterior draws of any model in the place of a closed-form posterior.

The draws are joint over all cells, so that what is learned of one cell moves the others as the model has it. A label
re-weights the draws by its likelihood; nothing is fitted anew.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from bayes_assess._tools import engine
from bayes_assess._tools.arrays import as_floats
from bayes_assess._tools.axes import PRNGKey, any_engine
from bayes_assess._tools.engine import xp
from bayes_assess._tools.pytrees import register_dataclass
from bayes_assess._tools.shapes import Array, ArrayLike, Float, Int
from bayes_assess.errors import InferenceError, PriorError
from bayes_assess.models._bases import Sampled
from bayes_assess.models.belief import Belief, merge_columns
from bayes_assess.models.posterior_draws import check_probabilities

_LEAST = 1e-300  # probability
_ALIKE: Any = None  # weights of draws of which none are given
_DRAWS = 2000  # of a belief that has a closed form for nothing


@partial(register_dataclass, data_fields=["draws", "log_weight"], meta_fields=[])
@dataclass(frozen=True)
class SampledBelief(Sampled):
    """Weighted posterior draws of the outcome probabilities of K cells.

    Parameters
    ----------
    draws : (S, K) or (S, K, O)
        Accuracies of the cells, or the probabilities of their O outcomes.
    log_weight : (..., S), optional
        Logarithms of the draws' importance weights, up to a constant; a row for every campaign that labels were
        learned of. Left out, all draws count alike.

    Examples
    --------
    >>> import numpy as np
    >>> belief = SampledBelief(np.array([[0.2, 0.5], [0.8, 0.5]]))
    >>> belief.update_counts([[0, 1], [0, 0]]).mean.round(2).tolist()  # an agreement in the first cell
    [0.68, 0.5]
    """

    draws: Float[Array, "S K *O"] | Float[np.ndarray, "S K *O"]
    log_weight: Float[Array, "*batch S"] | Float[np.ndarray, "*batch S"] = _ALIKE

    def __post_init__(self) -> None:
        if self.log_weight is None and np.ndim(self.draws):
            object.__setattr__(self, "log_weight", np.zeros(len(self.draws)))

    def checked(self) -> SampledBelief:
        """Return the belief, or raise PriorError unless its draws are probabilities with a weight each.

        Examples
        --------
        >>> import numpy as np
        >>> SampledBelief(np.array([[0.2, 1.5]]), np.zeros(1)).checked()
        Traceback (most recent call last):
        bayes_assess.errors.PriorError: Posterior draws are probabilities, from 0 to 1; draw 0, cell 1 has 1.5.
        """
        try:
            draws, log_weight = (as_floats(values) for values in (self.draws, self.log_weight))
        except (TypeError, ValueError):
            raise PriorError(
                "The draws and the weights of a SampledBelief are numbers; some of these are not."
            ) from None
        if draws.ndim not in (2, 3) or 0 in draws.shape or log_weight.shape[-1:] != draws.shape[:1]:
            raise PriorError(
                "A SampledBelief has draws (S, K), or (S, K, O), and log_weight (S,), none if all count alike; "
                f"found shapes {draws.shape} and {log_weight.shape}."
            )
        if not np.isfinite(log_weight.max(-1)).all():
            raise PriorError(
                "The logarithms of the weights of draws are finite, but for -inf of draws that do not count."
            )
        try:
            check_probabilities(draws)
        except InferenceError as error:
            raise PriorError(str(error)) from None
        return self

    @property
    def n_effective(self) -> Float[np.ndarray, "*batch"]:
        """Draws, equally weighted, that tell as much as these: the sum of the weights squared, by that of squares."""
        return 1 / (np.asarray(self.importance) ** 2).sum(-1)

    @property
    @any_engine
    def importance(self) -> Float[Array, "*batch S"]:
        """Importance weights of the draws, summing to 1."""
        return engine.softmax(xp.asarray(self.log_weight), axis=-1)

    @property
    @any_engine
    def mean(self) -> Float[Array, "*batch K *O"]:
        """Posterior mean of every cell, (..., K) or (..., K, O)."""
        return xp.tensordot(self.importance, xp.asarray(self.draws), 1)

    @property
    @any_engine
    def variance(self) -> Float[Array, "*batch K *O"]:
        """Posterior variance of every cell, (..., K) or (..., K, O)."""
        draws = xp.asarray(self.draws)
        center = draws.mean(0)  # so that little cancels
        square = xp.tensordot(self.importance, (draws - center) ** 2, 1)
        return xp.maximum(square - (self.mean - center) ** 2, 0.0)

    @any_engine
    def update_counts(self, counts: Int[Array, "*batch K O"]) -> SampledBelief:
        """Learn counts of outcomes (..., K, O): every draw is weighted by their likelihood under it."""
        counts = xp.asarray(counts, xp.float64)
        if self.draws.ndim == 2:
            return self._reweighted(counts[..., 1], counts[..., 0])
        draws = xp.asarray(self.draws)
        gain = xp.tensordot(counts, _safe_log(draws), ((-2, -1), (1, 2)))
        return replace(self, log_weight=self.log_weight + gain)

    @any_engine
    def update_at_mean(self, n: Int[Array, "*batch K"]) -> SampledBelief:
        """Imagine `n` more labels of every cell, (..., K), that come back at the posterior mean."""
        n, mean = xp.asarray(n, xp.float64), xp.asarray(self.mean)
        if self.draws.ndim == 2:
            return self._reweighted(n * mean, n * (1 - mean))
        return self.update_counts(n[..., None] * mean)

    @any_engine
    def quantile(self, level: ArrayLike) -> Float[Array, "*levels_batch K *O"]:
        """Quantile of every cell's draws by their weights, at one level or at (L,) of them."""
        level, draws = xp.asarray(level, xp.float64), xp.asarray(self.draws)
        axis = -draws.ndim  # that of the draws, before the cells
        order = xp.argsort(draws, axis=0)
        ordered = xp.take_along_axis(draws, order, axis=0)
        upto = xp.cumsum(self.importance[..., order], axis=axis)
        enough = upto >= level.reshape(level.shape + (1,) * upto.ndim) * (1 - 1e-12)
        first = xp.expand_dims(xp.argmax(enough, axis=axis), axis)
        return xp.take_along_axis(xp.broadcast_to(ordered, enough.shape), first, axis).squeeze(axis)

    @any_engine
    def sample(self, key: PRNGKey, n: int) -> Float[Array, "N *batch K *O"]:
        """Draw `n` of the draws by their weights, with replacement."""
        upto = xp.cumsum(self.importance, axis=-1)
        flat = upto.reshape(-1, upto.shape[-1])
        u = engine.random.uniform(key, (len(flat), n), xp.float64)
        # A uniform variable can round up to the last sum, which lies behind all draws.
        chosen = engine.vmap(lambda row, u: xp.searchsorted(row, row[-1] * u, side="right"))(flat, u)
        chosen = xp.minimum(chosen, flat.shape[-1] - 1).T.reshape(n, *upto.shape[:-1])
        return xp.asarray(self.draws)[chosen]

    def merged(self, level: Int[np.ndarray, "K C"], n_levels: int) -> SampledBelief:
        """Count labels of equal level as one outcome, row by row."""
        return replace(self, draws=merge_columns(np.asarray(self.draws), level, n_levels))

    def _reweighted(self, agreements: Float[Array, "*batch K"], others: Float[Array, "*batch K"]) -> SampledBelief:
        draws = xp.asarray(self.draws)
        gain = xp.tensordot(agreements, _safe_log(draws), ((-1,), (1,)))
        gain = gain + xp.tensordot(others, _safe_log(1 - draws), ((-1,), (1,)))
        return replace(self, log_weight=self.log_weight + gain)


@any_engine
def as_draws(belief: Belief) -> SampledBelief:
    """Return a belief as weighted draws: its own where it consists of them, else some of always the same key.

    Examples
    --------
    >>> import numpy as np
    >>> from bayes_assess.models import BetaBernoulli
    >>> as_draws(BetaBernoulli(np.ones(3), np.ones(3))).draws.shape
    (2000, 3)
    """
    if isinstance(belief, SampledBelief):
        return belief
    return SampledBelief(belief.sample(engine.random.key(0), _DRAWS), xp.zeros(_DRAWS))


def _safe_log(x: Float[Array, "*shape"]) -> Float[Array, "*shape"]:
    """Logarithm, finite at 0: no draw's weight is lost for good to a label that none of them allows."""
    return xp.log(xp.maximum(x, _LEAST))
