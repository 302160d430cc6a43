"""What one label of an item predicted k is worth: to a confusion matrix, or to find costly classes ([ABA] Table 1).

**Rows are PREDICTED classes k, columns are LABELS j.** To estimate the confusion matrix, the reward of predicted
class k is p_k (V_k(L) - E_j V_k(L, j)), j ~ theta~_k, where V_k is the sum of the posterior variances of row k. It is
written three times: in closed form for Dirichlet posteriors and for those of two stages, agreement and errors, and for
posterior draws of any model, where conditioning on label j re-weights the draws by theta_kj. To find costly classes, it
is the cost sum_j c_kj theta~_kj.
"""

from __future__ import annotations

from bayes_assess._tools import engine
from bayes_assess._tools.axes import any_engine
from bayes_assess._tools.engine import xp
from bayes_assess._tools.shapes import Array, Float, Int
from bayes_assess.acquisition._reweighted import draw_weights, weights_after
from bayes_assess.errors import QuestionError
from bayes_assess.models._numerics.dirichlet_sampling import others


@any_engine
def dirichlet_variance_reduction(
    theta: Float[Array, "*batch K C"], alpha: Float[Array, "*batch K C"], weight: Float[Array, "*batch K"]
) -> Float[Array, "*batch K"]:
    """Compute the expected reduction of every row's total posterior variance by one label, for Dirichlet(alpha) rows.

    With A = sum_j alpha_j and r_j = A - alpha_j, the row's variance is V = Q / (A^2 (A + 1)), Q = sum_j alpha_j r_j,
    and after label j it is (Q + 2 r_j) / ((A + 1)^2 (A + 2)): every label at once in O(K C).

    Parameters
    ----------
    theta : (..., K, C)
        Confusion matrix under which the label is imagined: a posterior draw for Thompson sampling, the posterior mean
        for the Bayesian expectation. Rows = predicted class, columns = label; rows sum to 1.
    alpha : (..., K, C)
        Posterior parameters, in the same axes.
    weight : (..., K)
        Share p_k of the pool that is predicted k.

    Returns
    -------
    (..., K) expected reductions, each times its weight. Under one draw it may be negative: a surprising label
    widens the posterior.

    Examples
    --------
    >>> import jax.numpy as jnp
    >>> reward = dirichlet_variance_reduction(jnp.full((1, 2), 0.5), jnp.ones((1, 2)), jnp.ones(1))
    >>> round(float(reward[0]), 4)  # twice 1/12 - 1/18: both components shrink
    0.0556
    """
    theta, alpha, weight = (xp.asarray(x, xp.float64) for x in (theta, alpha, weight))
    total = alpha.sum(-1)
    rest = others(alpha)
    spread = (alpha * rest).sum(-1)
    surprise = (theta * rest).sum(-1)
    # The difference of both variances on their common denominator, so that large A does not cancel.
    numerator = spread / total * ((3 * total + 2) / total) - 2 * surprise
    return weight * numerator / ((total + 1) * (total + 1) * (total + 2))


@any_engine
def nested_variance_reduction(
    theta: Float[Array, "*batch K O"],
    a: Float[Array, "*batch K"],
    b: Float[Array, "*batch K"],
    alpha: Float[Array, "*batch K O"],
    own: Int[Array, " K"],
    weight: Float[Array, "*batch K"],
) -> Float[Array, "*batch K"]:
    """Compute the expected reduction of every row's total posterior variance by one label, for `NestedDirichlet` rows.

    With X ~ Beta(a, b) the agreement, T = a + b, and phi ~ Dirichlet(alpha) the errors' shares, A = sum_j alpha_j and
    Q = sum_j alpha_j (A - alpha_j), the row's variance is

        V = Var X (1 + S) + E(1 - X)^2 D,    S = sum_j (alpha_j / A)^2 = 1 - Q / A^2,    D = Q / (A^2 (A + 1)),

    D being the total variance of phi. An agreement adds 1 to a; error j adds 1 to b and to alpha_j, which turns Q into
    Q + 2 (A - alpha_j): every outcome at once in O(K O).

    Parameters
    ----------
    theta : (..., K, O)
        Confusion matrix under which the label is imagined. Rows = predicted class, columns = outcome.
    a, b : (..., K)
    alpha : (..., K, O)
        0 for the agreement and for outcomes that are impossible.
    own : (K,)
        Outcome that is the agreement.
    weight : (..., K)
        Share p_k of the pool that is predicted k.

    Returns
    -------
    (..., K) expected reductions, each times its weight.

    Examples
    --------
    >>> import jax.numpy as jnp
    >>> alpha = jnp.array([[0.0, 1.0, 1.0]])  # with b = 2 the row is Dirichlet(1, 1, 1)
    >>> arguments = jnp.ones(1), jnp.full(1, 2.0), alpha, jnp.array([0])
    >>> nested = nested_variance_reduction(jnp.full((1, 3), 1 / 3), *arguments, jnp.ones(1))
    >>> bool(jnp.isclose(nested, dirichlet_variance_reduction(jnp.full((1, 3), 1 / 3), jnp.ones((1, 3)), 1.0))[0])
    True
    """
    theta, a, b, alpha, weight = (xp.asarray(x, xp.float64) for x in (theta, a, b, alpha, weight))
    agrees = xp.arange(alpha.shape[-1]) == xp.asarray(own)[:, None]
    total, rest = alpha.sum(-1), others(alpha)
    spread = (alpha * rest).sum(-1)

    def variance(a, b, total, spread):
        mean, outcomes = a / (a + b), a + b
        of_agreement = mean * (b / outcomes) / (outcomes + 1)
        share = spread / total / total
        return of_agreement * (2 - share) + (of_agreement + (1 - mean) ** 2) * share / (total + 1)

    after = variance(a[..., None], b[..., None] + 1, total[..., None] + 1, spread[..., None] + 2 * rest)
    after = xp.where(agrees, variance(a + 1, b, total, spread)[..., None], after)
    return weight * (theta * (variance(a, b, total, spread)[..., None] - after)).sum(-1)


@any_engine
def sample_dirichlet_variance_reduction(
    theta: Float[Array, "K C"],
    draws: Float[Array, "S K C"],
    weight: Float[Array, " K"],
    importance: Float[Array, " S"] | None = None,
) -> Float[Array, " K"]:
    """Compute the expected reduction of every row's total posterior variance by one label, from posterior draws alone.

    The draws may come from any model and any sampler, Dirichlet or not. Takes O(S K C^2) time, row by row.

    Parameters
    ----------
    theta : (K, C)
        Confusion matrix under which the label is imagined, usually one of the draws. Rows = predicted class,
        columns = label.
    draws : (S, K, C)
        Posterior draws of the confusion matrix.
    weight : (K,)
        Share p_k of the pool that is predicted k.
    importance : (S,) non-negative, optional
        Importance weights of the draws, equal if left out; only their ratios matter.

    Returns
    -------
    (K,) expected reductions, each times its weight.

    Examples
    --------
    >>> import jax
    >>> from bayes_assess.models.dirichlet_confusion import DirichletConfusion
    >>> draws = DirichletConfusion.from_prior(2, n_predictions=1, n_classes=2).sample(jax.random.key(0), 100_000)
    >>> reward = sample_dirichlet_variance_reduction(draws.mean(0), draws, 1.0)
    >>> abs(float(reward[0]) - 2 / 36) < 2e-3
    True
    """
    theta, draws, weight = (xp.asarray(x, xp.float64) for x in (theta, draws, weight))
    own = draw_weights(importance, len(draws))
    return weight * _reduction(theta, draws, own / own.sum())


@any_engine
def cost_reward(theta: Float[Array, "*batch K C"], cost: Float[Array, "K C"]) -> Float[Array, "*batch K"]:
    """Compute every predicted class's cost sum_j c_kj theta_kj under confusion matrices `theta`.

    Parameters
    ----------
    theta : (..., K, C)
        Usually a posterior draw. Rows = predicted class, columns = label.
    cost : (K, C)
        Cost of an item predicted k (ROW) whose label is j (COLUMN): in our axes, the transpose of [ABA]'s c_jk.

    Returns
    -------
    (..., K)

    Raises
    ------
    QuestionError
        If `cost` does not have the shape of the confusion matrix.

    Examples
    --------
    >>> import jax.numpy as jnp
    >>> theta = jnp.array([[0.75, 0.25], [0.5, 0.5]])
    >>> cost_reward(theta, [[0, 1], [10, 0]]).tolist()
    [0.25, 5.0]
    """
    theta = xp.asarray(theta, xp.float64)
    return (theta * _checked_cost(cost, theta.shape)).sum(-1)


def _checked_cost(cost: Float[Array, "K C"], shape: tuple[int, ...]) -> Float[Array, "K C"]:
    """Take a cost matrix as floats if it fits confusion matrices of `shape` (..., K, C); under 64-bit types.

    Raises
    ------
    QuestionError
        If it has another shape; a square matrix the wrong way round cannot be told.
    """
    matrix = xp.asarray(cost, xp.float64)
    if matrix.shape != tuple(shape[-2:]):
        raise QuestionError(
            "A cost matrix has a row per predicted class and a column per label, "
            f"here {tuple(shape[-2:])}; found shape {matrix.shape}."
        )
    return matrix


@engine.jit  # `map` would compile anew at every call
def _reduction(
    theta: Float[Array, "K C"], draws: Float[Array, "S K C"], importance: Float[Array, " S"]
) -> Float[Array, " K"]:
    """Reduction of every row's total variance, row by row, so that no K x C x C array is ever made."""

    def of_row(row):
        theta_k, draws_k = row  # (C,), (S, C)
        deviation = draws_k - importance @ draws_k
        square = (deviation**2).sum(-1)
        share = weights_after(importance[:, None] * draws_k)  # (S, C)
        after = square @ share - ((share.T @ deviation) ** 2).sum(-1)
        return square @ importance - theta_k @ after

    return engine.mapped(of_row, (theta, draws.swapaxes(0, 1)))
