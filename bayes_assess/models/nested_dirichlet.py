"""Confusion matrix whose rows are of two stages: does the label agree, and if not, which one is it?

**Rows are PREDICTED classes k, columns are OUTCOMES j of a label**, one of which, own_k, is the agreement. The
agreement theta_k,own ~ Beta(a_k, b_k); the errors share out the rest, theta_kj = (1 - theta_k,own) phi_kj with
phi_k ~ Dirichlet(alpha_k) over j != own_k, independent of it. (Where b_k is the sum of alpha_k, the row is
Dirichlet.) With X the agreement and m_j, v_j mean and variance of phi_j,

    E theta_j = E(1 - X) m_j,    Var theta_j = E (1 - X)^2 v_j + Var X m_j^2.

It is what is left of `HierarchicalConfusion` when its hyperparameters are known.

Shapes: a, b (..., K), alpha (..., K, O), draws (S, ..., K, O). Everything is 64-bit.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar

import numpy as np

from bayes_assess._tools import engine
from bayes_assess._tools.axes import PRNGKey, any_engine
from bayes_assess._tools.engine import xp
from bayes_assess._tools.pytrees import register_dataclass
from bayes_assess._tools.shapes import Array, Bool, Float, Int
from bayes_assess.errors import PriorError
from bayes_assess.models._bases import Compiled
from bayes_assess.models._numerics.beta_sampling import standard_beta
from bayes_assess.models._numerics.dirichlet_sampling import dirichlet_draw, others
from bayes_assess.models._numerics.gamma_sampling import standard_gamma
from bayes_assess.models._numerics.polya_urn import urn_counts
from bayes_assess.models.belief import merge_columns
from bayes_assess.models.dirichlet_confusion import FloatMatrix, FloatRows, IntMatrix

Own = Int[Array, " K"] | Int[np.ndarray, " K"]
_NUMBERS, _MOST_DRAWS, _FEWEST_DRAWS = 5_000_000, 4_000, 500  # that quantiles are taken from


@partial(register_dataclass, data_fields=["a", "b", "alpha", "own"], meta_fields=[])
@dataclass(frozen=True)
class NestedDirichlet(Compiled):
    """Independent rows, each a Beta agreement and Dirichlet shares of the errors.

    Parameters
    ----------
    a, b : (..., K) positive
        Beta parameters of the agreement.
    alpha : (..., K, O)
        Dirichlet parameters of the errors' shares, 0 for the agreement and for outcomes that are impossible.
    own : (K,) integers
        Outcome that is the agreement.

    Examples
    --------
    >>> belief = NestedDirichlet(np.array([3.0]), np.array([1.0]), np.array([[0.0, 1.0, 3.0]]), np.array([0]))
    >>> belief.mean.tolist()
    [[0.75, 0.0625, 0.1875]]
    >>> belief.update_counts([[0, 2, 0]]).mean.round(3).tolist()
    [[0.5, 0.25, 0.25]]
    """

    a: FloatRows
    b: FloatRows
    alpha: FloatMatrix
    own: Own

    on_host: ClassVar[bool] = True

    @any_engine
    def update_counts(self, counts: IntMatrix) -> NestedDirichlet:
        """Add counts (..., K, O) of outcomes."""
        counts = xp.asarray(counts).astype(xp.float64)
        agreements, errors = split_counts(counts, self.own)
        return replace(self, a=self.a + agreements, b=self.b + errors.sum(-1), alpha=self.alpha + errors)

    @any_engine
    def update_at_mean(self, n: Int[Array, "*batch K"]) -> NestedDirichlet:
        """Imagine `n` more labels of every predicted class, (..., K), that come back at the posterior mean."""
        return self.update_counts(xp.asarray(n, xp.float64)[..., None] * self.mean)

    @any_engine
    def merged(self, level: Int[np.ndarray, "K C"], n_levels: int) -> NestedDirichlet:
        """Count errors of equal level as one outcome, row by row; (..., K, U), by the aggregation property.

        Raises
        ------
        PriorError
            If an error has the level of the agreement.
        """
        own = merged_own(level, self.own, np.asarray(self.alpha).reshape(-1, *level.shape).max(0) > 0)
        return replace(self, alpha=merge_columns(np.asarray(self.alpha), level, n_levels), own=own)

    def draw(self, rng: np.random.Generator, shape: tuple[int, ...] = ()) -> Float[np.ndarray, "*shape K O"]:
        """Draw a value of every row, (*shape, ..., K, O), on the host."""
        a, b = np.asarray(self.a), np.asarray(self.b)
        agreement = rng.beta(a, b, (*shape, *a.shape))[..., None]
        share = dirichlet_draw(rng, np.asarray(self.alpha), shape)
        return np.where(np.arange(share.shape[-1]) == np.asarray(self.own)[:, None], agreement, (1 - agreement) * share)

    def completed(
        self, rng: np.random.Generator, counts: IntMatrix, rest: Int[np.ndarray, "*batch K"]
    ) -> Int[np.ndarray, "*batch K O"]:
        """Draw the labels of `rest` further items of every row, (..., K), and count them with `counts`, on the host.

        Examples
        --------
        >>> belief = NestedDirichlet(np.array([3.0]), np.array([1.0]), np.array([[0.0, 1.0, 3.0]]), np.array([0]))
        >>> belief.completed(np.random.default_rng(0), np.array([[2, 0, 0]]), np.array([4])).sum().item()
        6
        """
        a, b, alpha, own = (np.asarray(x) for x in (self.a, self.b, self.alpha, self.own))
        right = rng.binomial(rest, rng.beta(a, b))
        full = np.asarray(counts) + urn_counts(rng, alpha, rest - right)
        full[..., np.arange(len(own)), own] += right
        return full

    @engine.jit
    def _moments(self):
        a, b, alpha = (xp.asarray(x) for x in (self.a, self.b, self.alpha))
        total, errors = a + b, alpha.sum(-1, keepdims=True)
        mean, share = a / total, alpha / errors
        share_variance = share * (others(alpha) / errors) / (errors + 1)
        return joined_moments(self.own, mean, mean * (b / total) / (total + 1), share, share_variance)

    @partial(engine.jit, static_argnums=(2, 3))
    def _draws(self, key: PRNGKey, n: int, dtype: str):
        key_agreement, key_errors = engine.random.split(key)
        a, b, alpha = (
            xp.broadcast_to(xp.asarray(x).astype(dtype), (n, *x.shape)) for x in (self.a, self.b, self.alpha)
        )
        return row_draws(key_errors, standard_beta(key_agreement, a, b), alpha, self.own)

    @engine.jit
    def _quantiles(self, level: Float[Array, "*levels"]):
        shape = self.alpha.shape
        a, b = (xp.asarray(x).ravel() for x in (self.a, self.b))
        alpha, own = xp.asarray(self.alpha).reshape(-1, 1, shape[-1]), xp.asarray(self.own)
        n = n_quantile_draws(alpha.shape)

        def draw(row):
            key_agreement, key_errors = engine.random.split(engine.random.fold_in(engine.random.key(0), row))
            agreement = standard_beta(key_agreement, xp.full((n, 1), a[row]), xp.full((n, 1), b[row]))
            parameters = xp.broadcast_to(alpha[row], (n, 1, shape[-1]))
            return row_draws(key_errors, agreement, parameters, own[row % shape[-2]][None])[:, 0]

        return row_quantiles(level, len(alpha), draw).reshape(*level.shape, *shape)


def is_own(own: Own, n_outcomes: int) -> Bool[Array, "K O"]:
    """Say which entry of every row is the agreement."""
    return xp.arange(n_outcomes) == xp.asarray(own)[:, None]


def split_counts(counts: FloatMatrix, own: Own) -> tuple[Float[Array, "*batch K"], Float[Array, "*batch K O"]]:
    """Split counts of outcomes into agreements and errors, the latter 0 in the agreement's column."""
    diagonal = is_own(own, counts.shape[-1])
    return xp.where(diagonal, counts, 0).sum(-1), xp.where(diagonal, 0, counts)


def joined_moments(
    own: Own, mean: FloatRows, variance: FloatRows, share_mean: FloatMatrix, share_variance: FloatMatrix
) -> tuple[FloatMatrix, FloatMatrix]:
    """Moments of the rows, from those of the agreements (..., K) and of the errors' shares (..., K, O)."""
    diagonal = is_own(own, share_mean.shape[-1])
    mean, variance = xp.asarray(mean)[..., None], xp.asarray(variance)[..., None]
    square = variance + (1 - mean) ** 2
    return (
        xp.where(diagonal, mean, (1 - mean) * share_mean),
        xp.where(diagonal, variance, square * share_variance + variance * share_mean**2),
    )


def row_draws(
    key: PRNGKey, agreement: Float[Array, "*batch K"], alpha: Float[Array, "*batch K O"], own: Own
) -> Float[Array, "*batch K O"]:
    """Rows, from draws of the agreements and the parameters of the errors' shares, 0 for what is impossible."""
    gamma, boost = standard_gamma(key, xp.where(alpha > 0, alpha, 1))
    boost = xp.where(alpha > 0, boost, -xp.inf)
    # The greatest boost taken out, one term at least is of an ordinary size: the sum is never 0.
    weight = gamma * xp.exp(boost - boost.max(-1, keepdims=True))
    share = weight / weight.sum(-1, keepdims=True)
    agreement = agreement[..., None]
    return xp.where(is_own(own, alpha.shape[-1]), agreement, (1 - agreement) * share)


def merged_own(level: Int[np.ndarray, "K C"], own: Own, possible: Bool[np.ndarray, "K C"]) -> Int[np.ndarray, " K"]:
    """Return the level of every row's agreement, which no possible error may have.

    Raises
    ------
    PriorError
        If one has.
    """
    level, place = np.asarray(level), np.asarray(own).astype(np.int64)
    own_level = np.take_along_axis(level, place[:, None], axis=1)
    shared = np.argwhere((level == own_level) & possible & (np.arange(level.shape[1]) != place[:, None]))
    if shared.size:
        k, j = shared[0].tolist()
        raise PriorError(
            f"Outcome {j} of predicted class {k} is an error and has the level {level[k, j]} of the agreement, outcome "
            f"{place[k]}; errors may be counted together, but the agreement is an outcome of its own."
        )
    return own_level[:, 0]


def n_quantile_draws(shape: tuple[int, ...]) -> int:
    """Choose the number of draws that quantiles are taken from, the fewer the more values there are."""
    return max(_FEWEST_DRAWS, min(_MOST_DRAWS, _NUMBERS // math.prod(shape)))


def row_quantiles(
    level: Float[Array, "*levels"], n_rows: int, draw: Callable[[Int[Array, " S"]], Float[Array, "S O"]]
) -> Float[Array, "*levels R O"]:
    """Quantiles of every row's draws, row after row so that memory holds those of one."""
    quantiles = engine.mapped(lambda row: xp.quantile(draw(row), level, axis=0), xp.arange(n_rows))
    return xp.moveaxis(quantiles, 0, -2)
