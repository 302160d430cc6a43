"""The belief on the cells of a question, whichever model holds it: a closed form, a mixture, or posterior draws.

Questions, designs and results take any `Belief`. What its seven members do not say, such as the reward of a label or
the masses of a comparison, is computed from draws of it; where the cells' distributions are independent Beta or
Dirichlet ones (`beta_marginals`), closed forms take the place of draws.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, is_dataclass, replace
from inspect import getattr_static
from typing import Any, Protocol, TypeAlias, TypeGuard, runtime_checkable

import numpy as np

from bayes_assess._tools import engine
from bayes_assess._tools.arrays import as_floats, show
from bayes_assess._tools.axes import PRNGKey, any_engine
from bayes_assess._tools.lazy import jax
from bayes_assess._tools.pytrees import is_of_another_kind
from bayes_assess._tools.seeds import jax_key
from bayes_assess._tools.shapes import Array, ArrayLike, Float, Int, Scalar
from bayes_assess.errors import PriorError

_TRIED = 7  # draws of a belief of one's own before it is used
_ROUNDING = 1e-6  # of draws of 32 bits
MANY_VALUES = 2**7  # of one draw: those of NumPy's generator are made sooner


@runtime_checkable
class Belief(Protocol):
    """A joint distribution of the outcome probabilities of K cells, which learns from labels.

    Values have the shape (..., K) where a label agrees with its prediction or does not, the probability being that of
    agreement, and (..., K, O) where it has one of O outcomes. Counts of labels are (..., K, O) in either case, with
    O = 2 in the first: disagreements, then agreements. Axes before K are those of the counts learned: campaigns.

    A belief that designs decide on is a JAX pytree (`jax.tree_util.register_dataclass`), since compiled steps update
    it, and works under ``jax.jit``; `pool_draws` alone is called on the host. These steps have 64 bits, and so should
    compiled code of your own that calls ours: ``with jax.enable_x64(True):``.
    """

    @property
    def mean(self) -> Float[Array, "..."]:
        """Posterior mean of every cell."""
        ...

    @property
    def variance(self) -> Float[Array, "..."]:
        """Posterior variance of every cell."""
        ...

    def update_counts(self, counts: Int[Array, "*batch K O"]) -> Belief:
        """Learn labels, counts of outcomes (..., K, O); the order and the batches in which they come make no odds."""
        ...

    def update_at_mean(self, n: Int[Array, "*batch K"]) -> Belief:
        """Imagine `n` more labels of every cell, (..., K), that come back at the posterior mean."""
        ...

    def quantile(self, level: ArrayLike) -> Float[Array, "..."]:
        """Quantile of every cell's probability at one level, as `mean`, or at L of them, (L, ...)."""
        ...

    def sample(self, key: PRNGKey, n: int) -> Float[Array, "S ..."]:
        """Draw `n` joint values of all cells, (n, ...)."""
        ...

    def pool_draws(
        self, key: PRNGKey, n: int, counts: Int[Array, "*batch K O"], sizes: Int[np.ndarray, " K"]
    ) -> np.ndarray:
        """Draw `n` joint values of all cells of a finite pool, (n, ...), on the host.

        Labelled items, `counts`, are as they are; what the others of the `sizes` items show is drawn. A cell without
        items has the value of the population.
        """
        ...


@runtime_checkable
class Mixture(Belief, Protocol):
    """A belief that is a mixture over hyperparameter points, each of which has a closed form.

    Campaigns carry it from label to label: a label moves weights, and points are placed anew now and then.
    """

    def observe(self, cell: Scalar, outcome: Scalar) -> Mixture:
        """Learn one label; points stay, their weights move."""
        ...

    def refreshed(self) -> Mixture:
        """Place the points anew where the labels have carried the hyperposterior."""
        ...

    def component(self, key: PRNGKey) -> Belief:
        """Draw one part of the mixture by its weight, a belief with a closed form."""
        ...


@runtime_checkable
class HasProgram(Protocol):
    """A model with a NumPyro program beside it, which hands out what that takes: one line fits it by NUTS.

    Examples
    --------
    >>> import numpy as np
    >>> from bayes_assess.models import BetaBernoulli, beta_bernoulli
    >>> belief = BetaBernoulli.from_prior(n_groups=2)
    >>> isinstance(belief, HasProgram), sorted(belief.program_arguments([[1, 2], [0, 1]]))
    (True, ['a', 'agreements', 'b', 'groups'])
    """

    def program_arguments(self, counts: Int[Array, "K O"] | None = None) -> dict[str, object]:
        """Return arguments of the program under which its posterior is this belief after `counts`.

        Counts of labels are as `Belief.update_counts` takes them, (K, O); none, if left out. Labels that the belief has
        learned already are in its parameters, or among the items.
        """
        ...


GivenPrior: TypeAlias = "str | Belief | None"  # as people say it: by name, by a belief, or nothing

_MEMBERS = ("mean", "variance", "update_counts", "update_at_mean", "quantile", "sample", "pool_draws")


@dataclass(frozen=True)
class FixedBelief:
    """A belief that has seen all labels told, in the place of a prior that learns them.

    Examples
    --------
    >>> import numpy as np
    >>> from bayes_assess.models import BetaBernoulli
    >>> seen = BetaBernoulli(np.array([8.0]), np.array([2.0]))
    >>> FixedBelief(seen).update_counts(np.array([[1, 7]])).mean.tolist()
    [0.8]
    """

    belief: Belief

    @property
    def on_any_engine(self) -> bool:
        """Whether the belief runs on NumPy, too."""
        return runs_on_numpy(self.belief)

    def update_counts(self, counts: Int[Array, "*batch K O"]) -> Belief:
        """Return the belief as it is, in the shape of these campaigns: it knows the labels."""
        counts = np.asarray(counts)
        return self.belief.update_counts(np.zeros_like(counts)) if counts.ndim > 2 else self.belief


def beta_marginals(belief: object) -> tuple[Float[Array, "..."], Float[Array, "..."]] | None:
    """Return the parameters (a, b) of every value's Beta distribution, None where it has no such.

    Cells are independent then, and the O outcomes of one cell are of the Dirichlet distribution with parameters a.

    Examples
    --------
    >>> import numpy as np
    >>> from bayes_assess.models import PairedOutcomes
    >>> a, b = beta_marginals(PairedOutcomes(np.array([5.0, 2.0, 1.0, 2.0])))
    >>> np.asarray(b).tolist()
    [5.0, 8.0, 9.0, 8.0]
    """
    closed = getattr(belief, "beta_marginals", None)
    return None if closed is None else closed()


def is_mixture(belief: object) -> bool:
    """Say whether a belief is a `Mixture`, computing nothing.

    Examples
    --------
    >>> import numpy as np
    >>> from bayes_assess.models import BetaBernoulli, HierarchicalAccuracy
    >>> is_mixture(HierarchicalAccuracy.from_prior(n_groups=2)), is_mixture(BetaBernoulli(np.ones(2), np.ones(2)))
    (True, False)
    """
    return all(callable(getattr_static(belief, member, None)) for member in ("observe", "refreshed", "component"))


def drawn_component(key: PRNGKey, belief: Belief) -> Belief:
    """Draw a component of a mixture; any other belief is its only component."""
    if is_mixture(belief):
        mixture: Any = belief
        return mixture.component(key)
    return belief


def runs_on_numpy(belief: object) -> bool:
    """Say whether a belief is written for either engine, as ours are; others are for JAX.

    So are subclasses of ours that were registered with JAX: steps on NumPy could not take them apart.

    Examples
    --------
    >>> import numpy as np
    >>> from bayes_assess.models import BetaBernoulli
    >>> runs_on_numpy(BetaBernoulli(np.ones(2), np.ones(2)))
    True
    """
    return getattr(belief, "on_any_engine", False) and not is_of_another_kind(type(belief))


def draws_on_host(belief: object) -> bool:
    """Say whether a belief hands out its draws by NumPy's generator, many campaigns at once.

    Such a belief has `draw`, one value of every distribution, or if it is a mixture `components`, parts drawn by their
    weights that have `draw`, and `matched`, independent Beta distributions of the same means and variances.

    Examples
    --------
    >>> import numpy as np
    >>> from bayes_assess.models import BetaBernoulli
    >>> from bayes_assess.models.sampled_belief import SampledBelief
    >>> draws_on_host(BetaBernoulli(np.ones(2), np.ones(2))), draws_on_host(SampledBelief(np.ones((5, 2)), np.zeros(5)))
    (True, False)
    """
    return getattr(belief, "on_host", False)


def is_belief(value: object) -> TypeGuard[Belief]:
    """Say whether a value has all members of a `Belief`, computing none of them.

    Examples
    --------
    >>> is_belief("informative")
    False
    """
    nothing = object()
    return not isinstance(value, type) and all(
        getattr_static(value, member, nothing) is not nothing for member in _MEMBERS
    )


def with_arrays(belief: Belief) -> Belief:
    """Return a belief whose parameters are arrays where they were written as lists.

    Raises
    ------
    PriorError
        If a list is not of numbers.

    Examples
    --------
    >>> from bayes_assess.models import BetaBernoulli
    >>> with_arrays(BetaBernoulli([1.0, 3.0], [1.0, 1.0])).mean.tolist()
    [0.5, 0.75]
    """
    if not is_dataclass(belief):
        return belief
    given = {field.name: getattr(belief, field.name) for field in fields(belief) if field.init}
    odd = {name: value for name, value in given.items() if isinstance(value, list | str | np.ma.MaskedArray)}
    try:
        arrays = {name: as_floats(value) for name, value in odd.items()}
    except (TypeError, ValueError):
        raise PriorError(f"The parameters of a {type(belief).__name__} are numbers; found {show(belief)}.") from None
    return replace(belief, **arrays) if arrays else belief


def check_belief(prior: Belief, shape: tuple[int, ...], what: str, possible: ArrayLike = True) -> Belief:
    """Return a belief on cells of that shape with probabilities for means.

    Parameters
    ----------
    prior : Belief
    shape : (K,) or (K, O)
    what : str
        What every value is, for the message.
    possible : booleans of that shape, optional
        Outcomes that are possible at all; by default every one.

    Raises
    ------
    PriorError
        If it has another shape, or a mean that is no probability.
    """
    prior = with_arrays(prior)
    leaves = jax.tree.leaves(prior)
    if all(isinstance(leaf, np.ndarray | jax.Array) for leaf in leaves):
        try:
            prior = jax.tree.map(as_floats, prior)
        except (TypeError, ValueError):
            raise PriorError(f"The parameters of a {type(prior).__name__} are numbers; found {show(prior)}.") from None
    checked = getattr(prior, "checked", None)
    prior = prior if checked is None else checked()
    try:
        with np.errstate(all="ignore"):
            mean, variance = np.asarray(prior.mean), np.asarray(prior.variance)
    except (TypeError, ValueError) as error:
        if not is_dataclass(prior):
            raise
        shapes = ", ".join(f"{field.name} {np.shape(getattr(prior, field.name))}" for field in fields(prior))
        raise PriorError(
            f"The parameters of a {type(prior).__name__} do not fit each other: {shapes}; the prior needs {what}, "
            f"shape {shape}."
        ) from error
    if mean.shape != shape:
        raise PriorError(f"The prior needs {what}, shape {shape}; found shape {mean.shape}.")
    marginals = beta_marginals(prior)
    if marginals is not None:
        a, b = (np.asarray(parameter) for parameter in marginals)
        proper = np.isfinite(a) & np.isfinite(b) & (a > 0) & ((b > 0) | (a.ndim > 1))
        if not (proper | ~np.asarray(possible)).all():
            raise PriorError(f"The parameters of a {type(prior).__name__} must be positive and finite.")
    if not ((mean >= 0) & (mean <= 1) & (variance >= 0)).all():  # NaN included
        raise PriorError("The prior's means must lie between 0 and 1, and its variances be 0 or more; some are not.")
    if not runs_on_numpy(prior):  # one of the user's own
        with engine.compiled():
            check_draws(prior, "sample", prior.sample(jax_key(0, "draws"), _TRIED), (_TRIED, *shape))
    return prior


def check_draws(belief: object, method: str, found: object, shape: tuple[int, ...]) -> np.ndarray:
    """Return draws that a belief of one's own hands out, or raise PriorError unless they are probabilities of a shape.

    Examples
    --------
    >>> check_draws("mine", "sample", [[0.2, 0.7]], (1, 2)).tolist()
    [[0.2, 0.7]]
    """
    draws = np.asarray(found)
    if (
        draws.shape == shape
        and draws.dtype.kind in "fiub"
        and bool(((draws >= -_ROUNDING) & (draws <= 1 + _ROUNDING)).all())
    ):
        return draws
    wrong = f"found {show(found)}" if draws.shape == shape or not draws.shape else f"found shape {draws.shape}"
    raise PriorError(
        f"`{method}` of a {type(belief).__name__} returns draws that are probabilities, from 0 to 1, of shape {shape}; "
        f"{wrong}."
    )


def host_generator(key: PRNGKey) -> np.random.Generator:
    """Return NumPy's generator for a key: draws on the host need no compiling."""
    with engine.eager():
        return np.random.default_rng(engine.random.as_key(key).tolist())


def population_draws(belief: Any, key: PRNGKey, n: int) -> Float[np.ndarray, "S *shape"]:
    """Draw `n` joint values on the host: many of them by NumPy's generator, if the belief has closed forms for it.

    Examples
    --------
    >>> from bayes_assess._tools.seeds import jax_key
    >>> from bayes_assess.models import DirichletConfusion
    >>> population_draws(DirichletConfusion.from_prior(n_predictions=9, n_classes=9), jax_key(0, "draws"), 5).shape
    (5, 9, 9)
    """
    if draws_on_host(belief) and hasattr(belief, "draws") and 2 * np.size(belief.mean) >= MANY_VALUES:
        return _population_draws(belief, key, n)
    return np.asarray(belief.sample(key, n))


@any_engine
def _population_draws(belief: Any, key: PRNGKey, n: int) -> Float[np.ndarray, "S *shape"]:
    return belief.draws(host_generator(key), n) if engine.is_eager() else np.asarray(belief.sample(key, n))


def pool_shares(
    key: PRNGKey,
    theta: Float[np.ndarray, "S *shape"],
    counts: Int[Array, "*batch K O"],
    sizes: Int[Array, " K"],
) -> Float[np.ndarray, "S *shape"]:
    """Turn draws of the population into draws of a finite pool; see `Belief.pool_draws`.

    Examples
    --------
    >>> import jax
    >>> theta, counts = np.full((4, 2), 0.5), np.array([[0, 1], [1, 2]])
    >>> pool_shares(jax.random.key(0), theta, counts, np.array([1, 3])).tolist()[0]  # everything is labelled
    [1.0, 0.6666666666666666]
    """
    rng = host_generator(key)
    theta, counts, rest = np.array(theta, np.float64), np.asarray(counts), sizes - np.asarray(counts).sum(-1)
    filled = np.asarray(sizes) > 0
    if theta.ndim == counts.ndim:  # (S, ..., K)
        total = counts[..., 1] + rng.binomial(rest, np.clip(theta, 0, 1))
        return np.divide(total, sizes, out=theta, where=np.broadcast_to(filled, theta.shape))
    # Rounding may carry the sum of a row's probabilities past 1, which multinomial draws refuse.
    total = counts + rng.multinomial(rest, theta / np.maximum(theta.sum(-1, keepdims=True), 1.0))
    return np.where(filled[:, None], total / np.maximum(sizes, 1)[:, None], theta)


def merge_columns(
    table: Float[np.ndarray, "*batch K C"], level: Int[np.ndarray, "K C"], n_levels: int
) -> Float[np.ndarray, "*batch K U"]:
    """Add up the columns of equal level, row by row.

    Examples
    --------
    >>> merge_columns(np.array([[1, 2, 4], [1, 2, 4]]), np.array([[0, 1, 0], [0, 0, 1]]), 2).tolist()
    [[5, 2], [3, 4]]
    """
    return np.stack([np.where(level == u, table, 0).sum(-1) for u in range(n_levels)], axis=-1)


def jax_ready(belief: Belief) -> Belief:
    """Return a belief with arrays of the engine for leaves.

    Raises
    ------
    PriorError
        If it is no pytree, so that no compiled step could update it.
    """
    if engine.is_eager():
        return engine.tree_map(np.asarray, belief)
    leaves = jax.tree.leaves(belief)
    if any(leaf is belief for leaf in leaves):
        raise PriorError(
            f"A prior or posterior that designs decide on must be a JAX pytree, and {type(belief).__name__} is none; "
            "register it by jax.tree_util.register_dataclass, or pass posterior draws."
        )
    return jax.device_put(belief)  # `jax.numpy.asarray` would compile a program for each shape
