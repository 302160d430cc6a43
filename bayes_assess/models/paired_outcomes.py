"""Two systems on the same items: who is right where, and by how much their accuracies differ.

An item has one of four outcomes: both systems are right, only the first, only the second, or neither. Plate ``group``
(G, optional): theta_g ~ Dirichlet(alpha_g) over the four. Plate ``label`` (N): outcome_i ~ Categorical(theta_{g(i)}).
The posterior is Dirichlet(alpha_g + n_g) with n_g the counts of outcomes. The difference of the accuracies is
D = P(only the first) - P(only the second): what both get right or wrong cancels, so that D is known far better than
from two separate samples.

Items on which both systems predict the same are right for both or wrong for both whatever their labels: they
contribute exactly zero to D and need no labels. The systems' difference over a pool is q D', with q the share of items
on which they disagree, known without labels, and D' the difference among those; a model of those items alone gives D'.

Shapes: parameters (..., 4) in the order of `OUTCOMES`; draws (S, ..., 4). Everything is 64-bit.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from bayes_assess._tools.axes import any_engine
from bayes_assess._tools.engine import xp
from bayes_assess._tools.lazy import dist, numpyro
from bayes_assess._tools.levels import checked_strength
from bayes_assess._tools.pytrees import register_dataclass
from bayes_assess._tools.shapes import Array, ArrayLike, Float, Int
from bayes_assess.errors import PriorError
from bayes_assess.models._bases import Dirichlet
from bayes_assess.models._numerics.beta_quantile import beta_quantile
from bayes_assess.models.program_items import items_of

OUTCOMES = ("both", "first", "second", "neither")

FloatOutcomes = Float[Array, "*batch 4"] | Float[np.ndarray, "*batch 4"]
IntOutcomes = Int[Array, "*batch 4"] | Int[np.ndarray, "*batch 4"]


def program(groups: Int[Array, " N"], outcomes: Int[Array, " N"] | None = None, *, alpha: Float[Array, "*G 4"]) -> None:
    """Run the generative program: probabilities of the four outcomes per group, an outcome per label.

    Parameters
    ----------
    groups : (N,) integers in 0..G-1
        Group of every labelled item; all zeros where there is one distribution for all.
    outcomes : (N,) integers in 0..3, optional
        Positions in `OUTCOMES`; left out, the program simulates them.
    alpha : (G, 4) or (4,) positive
        Prior parameters.

    Examples
    --------
    >>> import jax.numpy as jnp, numpyro
    >>> seeded = numpyro.handlers.seed(program, rng_seed=0)
    >>> trace = numpyro.handlers.trace(seeded).get_trace(jnp.zeros(5, int), alpha=jnp.ones(4))
    >>> trace["theta"]["value"].shape, trace["outcome"]["value"].shape
    ((4,), (5,))
    """
    alpha = xp.asarray(alpha)
    if alpha.ndim == 1:
        theta = xp.asarray(numpyro.sample("theta", dist.Dirichlet(alpha)))[None]
    else:
        with numpyro.plate("group", len(alpha)):
            theta = xp.asarray(numpyro.sample("theta", dist.Dirichlet(alpha)))
    with numpyro.plate("label", len(groups)):
        numpyro.sample("outcome", dist.CategoricalProbs(theta[groups]), obs=outcomes)


@partial(register_dataclass, data_fields=["alpha"], meta_fields=[])
@dataclass(frozen=True)
class PairedOutcomes(Dirichlet):
    """Dirichlet distribution of the four outcomes of an item: a prior, or the posterior after `update`.

    Parameters
    ----------
    alpha : (..., 4) non-negative floats
        Dirichlet parameters, in the order of `OUTCOMES`; 0 for an outcome that is impossible.

    Examples
    --------
    >>> posterior = PairedOutcomes.from_prior().update([60, 12, 4, 23])
    >>> posterior.mean.round(4).tolist()
    [0.6025, 0.1225, 0.0425, 0.2325]
    >>> round(float(posterior.mean[1] - posterior.mean[2]), 3)  # the first system is better by 8 points
    0.08
    """

    alpha: FloatOutcomes

    @classmethod
    @any_engine
    def from_prior(cls, strength: float = 1.0, *, n_groups: int | None = None) -> PairedOutcomes:
        """Build a prior worth `strength` labels, spread evenly over the four outcomes.

        Parameters
        ----------
        strength : float, positive
            Sum of the parameters, in labels.
        n_groups : int, optional
            Number of groups, each with a distribution of its own; left out, there is one, with parameters (4,).

        Raises
        ------
        PriorError
            If the strength is not positive and finite.

        Examples
        --------
        >>> PairedOutcomes.from_prior(2.0).alpha.tolist()
        [0.5, 0.5, 0.5, 0.5]
        """
        checked_strength(strength)
        shape = (4,) if n_groups is None else (n_groups, 4)
        return cls(xp.full(shape, strength / 4, xp.float64))

    def conditional(self, possible: np.ndarray) -> PairedOutcomes:
        """Return the distributions of items on which some outcomes alone are possible, as strong as this one.

        Parameters
        ----------
        possible : (K, 4) booleans

        Examples
        --------
        >>> PairedOutcomes(np.array([5.0, 2.0, 1.0, 2.0])).conditional(np.array([[False, True, True, True]])).alpha
        array([[0., 4., 2., 4.]])
        """
        alpha = np.asarray(self.alpha)
        return PairedOutcomes(alpha.sum() * possible * alpha / (possible * alpha).sum(-1, keepdims=True))

    def program_arguments(self, counts: IntOutcomes | None = None) -> dict[str, object]:
        """Return the arguments of `program` under which its posterior is this belief after `counts`.

        Parameters
        ----------
        counts : (G, 4) or (4,) integers, as the parameters, optional
            Labelled items with every outcome.

        Raises
        ------
        LabelError
            If the counts do not fit, or are no whole numbers.
        PriorError
            If an outcome is impossible: the program has a density for none such.

        Examples
        --------
        >>> PairedOutcomes.from_prior().program_arguments([1, 0, 0, 2])["outcomes"].tolist()
        [0, 3, 3]
        """
        alpha = np.asarray(self.alpha)
        if not (alpha > 0).all():
            raise PriorError(
                "The program takes positive parameters, and an outcome is impossible here, of parameter 0."
            )
        table = np.atleast_2d(alpha)
        groups, outcomes = items_of(None if counts is None else np.atleast_2d(counts), table.shape)
        return {"groups": groups, "outcomes": outcomes, "alpha": alpha}

    @any_engine
    def quantile(self, level: ArrayLike) -> FloatOutcomes:
        """Quantile of every probability at one level, (..., 4), or at (L,) of them, (L, ..., 4).

        Each probability is of a Beta distribution, with parameters alpha_j and the sum of the others.
        """
        level = xp.asarray(level, xp.float64)
        a, b = (xp.asarray(parameter) for parameter in self.beta_marginals())
        level = level.reshape(level.shape + (1,) * a.ndim)
        inside = beta_quantile(level, xp.where(a > 0, a, 1.0), xp.where(b > 0, b, 1.0))
        return xp.where(a > 0, xp.where(b > 0, inside, 1.0), 0.0)  # impossible and certain outcomes


def outcomes_of(first: np.ndarray, second: np.ndarray, labels: np.ndarray) -> Int[np.ndarray, " N"]:
    """Return the outcome of every item, a position in `OUTCOMES`, from both predictions and the label.

    Examples
    --------
    >>> outcomes_of(["cat", "cat", "dog"], ["cat", "dog", "dog"], ["cat", "dog", "cat"]).tolist()
    [0, 2, 3]
    """
    labels = np.asarray(labels)
    first_wrong, second_wrong = np.asarray(first) != labels, np.asarray(second) != labels
    return 2 * first_wrong.astype(np.int64) + second_wrong


def statistics(groups: np.ndarray, outcomes: np.ndarray, n_groups: int) -> Int[np.ndarray, "G 4"]:
    """Count outcomes per group, the sufficient statistics of a set of labels.

    Parameters
    ----------
    groups : (N,) integers in 0..G-1
    outcomes : (N,) integers in 0..3
        Positions in `OUTCOMES`.
    n_groups : int

    Returns
    -------
    (G, 4) int64 counts

    Examples
    --------
    >>> statistics([0, 0, 1], [1, 1, 3], 2).tolist()
    [[0, 2, 0, 0], [0, 0, 0, 1]]
    """
    cells = 4 * np.asarray(groups, np.int64) + np.asarray(outcomes, np.int64)
    return np.bincount(cells, minlength=4 * n_groups).reshape(n_groups, 4)
