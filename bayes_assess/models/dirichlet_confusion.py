"""Confusion matrix, one Dirichlet-categorical model per predicted class ([ABA] eq. 2 and 3).

**Rows are PREDICTED classes k, columns are LABELS j**, in every array of this file: theta_kj = P(label j | predicted
k), so that rows sum to 1. ([ABA] writes theta_jk with the label first; a cost matrix from there must be transposed.)

Plate ``prediction`` (K): theta_k ~ Dirichlet(alpha_k). Plate ``item`` (N): label_i ~ Categorical(theta_{k(i)}), where
k(i) is the predicted class of item i. The posterior is Dirichlet(alpha_k + n_k), with n_kj the number of items
predicted k that are *labelled* j. (The published code of [ABA] adds the prediction in place of the label.)

Shapes: parameters (..., K, C); draws (S, ..., K, C). Everything is 64-bit: counts up to 10^9 stay exact.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from bayes_assess._tools.arrays import as_floats
from bayes_assess._tools.axes import any_engine
from bayes_assess._tools.engine import xp
from bayes_assess._tools.lazy import dist, numpyro
from bayes_assess._tools.levels import checked_strength
from bayes_assess._tools.pytrees import register_dataclass
from bayes_assess._tools.shapes import Array, ArrayLike, Float, Int
from bayes_assess.errors import LabelError, PriorError
from bayes_assess.models._bases import Dirichlet
from bayes_assess.models._numerics.beta_quantile import beta_quantile
from bayes_assess.models.belief import merge_columns
from bayes_assess.models.program_items import items_of

FloatMatrix = Float[Array, "*batch K C"] | Float[np.ndarray, "*batch K C"]
IntMatrix = Int[Array, "*batch K C"] | Int[np.ndarray, "*batch K C"]
FloatRows = Float[Array, "*batch K"] | Float[np.ndarray, "*batch K"]

# Scores of exactly 0 would rule a label out for ever; the smallest share of a row is this over the number of classes.
_LEAST_ROW_SHARE = 1e-6
_LEAST = 1e-9  # sum of a row's parameters


def program(
    predictions: Int[Array, " N"], labels: Int[Array, " N"] | None = None, *, alpha: Float[Array, "K C"]
) -> None:
    """Run the generative program: a distribution of labels per predicted class, a label per item.

    Parameters
    ----------
    predictions : (N,) integers in 0..K-1
        Predicted class of every labelled item.
    labels : (N,) integers in 0..C-1, optional
        Labels; left out, the program simulates them.
    alpha : (K, C) positive
        Prior parameters; rows = predicted class, columns = label.

    Examples
    --------
    >>> import jax.numpy as jnp, numpyro
    >>> predictions = jnp.array([0, 0, 1])
    >>> seeded = numpyro.handlers.seed(program, rng_seed=0)
    >>> trace = numpyro.handlers.trace(seeded).get_trace(predictions, alpha=jnp.ones((2, 4)))
    >>> trace["theta"]["value"].shape, trace["label"]["value"].shape
    ((2, 4), (3,))
    """
    with numpyro.plate("prediction", len(alpha)):
        theta = numpyro.sample("theta", dist.Dirichlet(xp.asarray(alpha)))
    with numpyro.plate("item", len(predictions)):
        numpyro.sample("label", dist.CategoricalProbs(xp.asarray(theta)[predictions]), obs=labels)


@partial(register_dataclass, data_fields=["alpha"], meta_fields=[])
@dataclass(frozen=True)
class DirichletConfusion(Dirichlet):
    """Independent Dirichlet distributions over the rows of a confusion matrix: a prior, or what `update` made.

    Parameters
    ----------
    alpha : (..., K, C) positive floats
        Dirichlet parameters; rows = predicted class, columns = label.

    Examples
    --------
    >>> prior = DirichletConfusion.from_prior(n_predictions=2, n_classes=2)
    >>> posterior = prior.update([[3, 1], [0, 0]])
    >>> posterior.mean.tolist()
    [[0.7, 0.3], [0.5, 0.5]]
    """

    alpha: FloatMatrix

    @classmethod
    @any_engine
    def from_prior(
        cls,
        strength: float = 1.0,
        *,
        mean_scores: Float[np.ndarray, "K C"] | None = None,
        n_predictions: int | None = None,
        n_classes: int | None = None,
    ) -> DirichletConfusion:
        """Build a prior worth `strength` labels per predicted class ([ABA] "Priors").

        Parameters
        ----------
        strength : float, positive
            N0 = sum_j alpha_kj, in labels.
        mean_scores : (K, C) in [0, 1], optional
            Row k is the mean score vector of the items *predicted* k: the informative prior with alpha_kj
            proportional to it. A row of zeros stands for a class that is predicted for no item and gives a uniform
            row. A share below 1e-6 / C of its row is raised to that, so that every label keeps a chance.
        n_predictions, n_classes : int, optional
            K and C, for the uninformative prior alpha_kj = N0 / C.

        Raises
        ------
        PriorError
            If the strength is not positive and finite, `mean_scores` is no matrix or has a value outside [0, 1], or
            neither or both of `mean_scores` and the two sizes are given.

        Examples
        --------
        >>> DirichletConfusion.from_prior(10, mean_scores=[[0.75, 0.25], [0, 0]]).alpha.tolist()
        [[7.5, 2.5], [5.0, 5.0]]
        """
        checked_strength(strength)
        sizes = [size for size in (n_predictions, n_classes) if size is not None]
        if len(sizes) != (2 if mean_scores is None else 0):
            raise PriorError(
                "Pass either `mean_scores` (informative prior) or both `n_predictions` and `n_classes` "
                "(uninformative prior)."
            )
        if mean_scores is None:
            return cls(xp.full(sizes, strength / sizes[1], xp.float64))
        return cls(xp.asarray(strength * row_shares(mean_scores)))

    @classmethod
    @any_engine
    def of_moments(cls, mean: FloatMatrix, variance: FloatMatrix) -> DirichletConfusion:
        """Return the Dirichlet distributions with these means whose rows have the variances' sums, (..., K, C) each.

        With m the means of a row and V the sum of its variances, the sum of its parameters is sum_j m_j (1 - m_j) / V
        - 1.

        Examples
        --------
        >>> prior = DirichletConfusion(np.array([[3.0, 1.0, 2.0]]))
        >>> DirichletConfusion.of_moments(prior.mean, prior.variance).alpha.round(9).tolist()
        [[3.0, 1.0, 2.0]]
        """
        m = xp.asarray(mean)
        spread = (m * (1 - m)).sum(-1, keepdims=True)
        total = spread / xp.maximum(xp.asarray(variance).sum(-1, keepdims=True), _LEAST**2) - 1
        return cls(m * xp.clip(total, _LEAST, 1 / _LEAST))

    def program_arguments(self, counts: IntMatrix | None = None) -> dict[str, object]:
        """Return the arguments of `program` under which its posterior is this belief after `counts`.

        Parameters
        ----------
        counts : (K, C) integers, optional
            Items predicted k (rows) and labelled j (columns).

        Raises
        ------
        LabelError
            If the counts do not fit, or are no whole numbers.

        Examples
        --------
        >>> data = DirichletConfusion.from_prior(n_predictions=2, n_classes=2).program_arguments([[0, 2], [1, 0]])
        >>> data["predictions"].tolist(), data["labels"].tolist()
        ([0, 0, 1], [1, 1, 0])
        """
        alpha = np.asarray(self.alpha)
        predictions, labels = items_of(counts, alpha.shape)
        return {"predictions": predictions, "labels": labels, "alpha": alpha}

    @any_engine
    def quantile(self, level: ArrayLike) -> FloatMatrix:
        """Quantile of every probability at one level, (..., K, C), or at (L,) of them, (L, ..., K, C).

        Each probability is of a Beta distribution, with parameters alpha_j and the sum of the others.
        """
        level = xp.asarray(level, xp.float64)
        return beta_quantile(level.reshape(level.shape + (1,) * np.ndim(self.alpha)), *self.beta_marginals())

    @any_engine
    def merged(self, level: Int[np.ndarray, "K C"], n_levels: int) -> DirichletConfusion:
        """Count labels of equal level as one outcome, row by row; (..., K, U), by the aggregation property.

        Examples
        --------
        >>> prior = DirichletConfusion.from_prior(3, n_predictions=1, n_classes=3)
        >>> prior.merged(np.array([[0, 1, 0]]), 2).alpha.tolist()
        [[2.0, 1.0]]
        """
        return DirichletConfusion(merge_columns(np.asarray(self.alpha), level, n_levels))


def statistics(
    predictions: np.ndarray, labels: np.ndarray, n_predictions: int, n_classes: int
) -> Int[np.ndarray, "K C"]:
    """Count labels per predicted class, the sufficient statistics of a set of labels.

    Parameters
    ----------
    predictions : (N,) integers in 0..K-1
    labels : (N,) integers in 0..C-1
    n_predictions, n_classes : int
        K and C.

    Returns
    -------
    (K, C) int64; rows = predicted class, columns = label.

    Raises
    ------
    LabelError
        If a prediction or a label is out of range.

    Examples
    --------
    >>> statistics([0, 0, 1], [1, 2, 0], 2, 3)
    array([[0, 1, 1],
           [1, 0, 0]])
    """
    rows, columns = np.asarray(predictions, np.int64), np.asarray(labels, np.int64)
    for name, codes, size in (("Predictions", rows, n_predictions), ("Labels", columns, n_classes)):
        outside = np.flatnonzero((codes < 0) | (codes >= size))
        if outside.size:  # it would be counted in another cell
            item = int(outside[0])
            raise LabelError(f"{name} are codes from 0 to {size - 1}; item {item} has {int(codes[item])}.")
    cells = np.bincount(rows * n_classes + columns, minlength=n_predictions * n_classes)
    return cells.reshape(n_predictions, n_classes)


def row_shares(mean_scores: ArrayLike) -> Float[np.ndarray, "K C"]:
    """Scores as positive rows that sum to 1; a row of zeros becomes uniform."""
    scores = as_floats(mean_scores)
    if scores.ndim != 2:
        raise PriorError(
            f"Mean scores have a row per predicted class and a column per label; found shape {scores.shape}."
        )
    outside = np.argwhere(~((scores >= 0) & (scores <= 1 + 1e-6)))  # a mean of rounded scores may pass 1 by a little
    if outside.size:
        k, j = outside[0].tolist()
        raise PriorError(
            f"Mean scores lie between 0 and 1; predicted class {k}, label {j} has {float(scores[k, j])!r}. "
            "A class that is predicted for no item takes a row of zeros."
        )
    total = scores.sum(-1, keepdims=True)
    shares = np.divide(scores, total, out=np.ones_like(scores), where=total > 0)
    shares = np.maximum(shares, _LEAST_ROW_SHARE / scores.shape[1])
    return shares / shares.sum(-1, keepdims=True)
