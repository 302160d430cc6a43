r"""Sites of hierarchical programs in coordinates in which NUTS moves easily, and in which nothing is rounded to 0 or 1.

A hierarchical program draws theta_g ~ Beta(a_g, b_g) with parameters that are themselves unknown. In logits
x = logit theta the posterior narrows where a + b is large, and moves with a / b: a funnel, in which steps of one length
are too long or too short. Given the parameters and the labels of the group theta is a Beta(alpha, beta) variable again,
a ratio of gamma variables, and with G_alpha = G_(alpha + 1) U^(1 / alpha) for a uniform U,

.. math:: x = \log G_{\alpha + 1} - \log G_{\beta + 1} + E / \beta - E' / \alpha

where the first two are about normal and E, E' are exponential variables, which softplus makes of logistic ones. So the
sampler's coordinate is u in

.. math:: x = \mu + \sigma s(u) + \mathrm{softplus}(u) / \beta - \mathrm{softplus}(-u) / \alpha, \qquad
          \mu = \psi(\alpha + 1) - \psi(\beta + 1), \quad \sigma^2 = \psi'(\alpha + 1) + \psi'(\beta + 1) , \\
          s(u) = \mathrm{softplus}(u - \log(1 + 1 / \alpha)) - \mathrm{softplus}(-u - \log(1 + 1 / \beta)) .

s(u) is about u, but where beta is small it stays near 0 until u is as low as log beta: till then E / beta is what
makes x small, and the normal part is as it is. If it fell with u, x would come to -infinity too soon, behind a wall so
steep that trajectories break at it.

It has about the distribution of a normal or a logistic variable, whatever the parameters are and however many labels
there are; the centred form fails for few labels, the non-centred one for many. The distribution of theta stays what it
is, and so do prior draws. A Dirichlet variable is a chain of such x: the logits of each share among those that the ones
before it have left.

Densities are those of x, a log sigmoid(x) + b log sigmoid(-x) - log B(a, b): where b is small most of the mass of theta
lies closer to 1 than floating-point numbers do.
"""

# NumPyro declares domains of transforms as properties and sets them as attributes, as is done here.
# pyright: reportIncompatibleMethodOverride=false, reportAssignmentType=false

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.nn import log_sigmoid, sigmoid, softplus
from numpyro.distributions import Distribution, biject_to, constraints
from numpyro.distributions.transforms import AffineTransform, IndependentTransform, Transform

from bayes_assess._tools.shapes import Array, Float, Key, Scalar
from bayes_assess.models._numerics.special import log_beta

_HALVINGS = 100
_STRAIGHT = 3.0


class _InChart(constraints.Constraint):
    """A support together with the transform onto it."""

    def __init__(self, base: constraints.Constraint, transform: Transform):
        self.base, self.transform = base, transform
        self.event_dim = base.event_dim

    def __call__(self, x: Array) -> Any:
        return self.base(x)

    def feasible_like(self, prototype: Array) -> Any:
        return self.base.feasible_like(prototype)


@biject_to.register(_InChart)
def _transform_of(support: _InChart) -> Transform:
    return support.transform


class LogitDirichlet(Distribution):
    """Logits x_j of the shares of a Dirichlet variable among what is left, theta_j = sigmoid(x_j) prod sigmoid(-x_i).

    A Beta variable is that of two shares. NumPyro reads the coordinates off the first run of a program, unless the
    program has a deterministic site: it is to have one, such as theta.

    Parameters
    ----------
    alpha : (..., O) positive
    counts : (..., O), optional
        Labels, which the coordinates look at, and the density does not; None leaves the logits as they are.

    Examples
    --------
    >>> with jax.enable_x64(True):
    ...     distribution = LogitDirichlet(jnp.array([1.0, 1.0, 1.0]))
    ...     float(distribution.log_prob(jnp.zeros(2)).round(6))  # at 1/2, 1/4, 1/4, with the Jacobian: log of 2 / 32
    -2.772589
    """

    arg_constraints = {"alpha": constraints.independent(constraints.positive, 1)}  # noqa: RUF012 - NumPyro's way
    pytree_data_fields = ("alpha", "counts")

    def __init__(self, alpha: Float[Array, "*shape O"], counts: Array | None = None):
        self.alpha = alpha
        self.counts = counts
        super().__init__(alpha.shape[:-1], (alpha.shape[-1] - 1,))

    @property
    def support(self) -> constraints.Constraint:
        """Real vectors, with the coordinates of the sampler."""
        if self.counts is None:
            return constraints.real_vector
        return _InChart(constraints.real_vector, _LogitOfBeta(*_stick(self.alpha + self.counts)))

    def sample(self, key: Key[jax.Array, ""], sample_shape: tuple[int, ...] = ()) -> Array:
        """Draw logits, by logarithms of gamma variables."""
        log_gamma = jax.random.loggamma(key, self.alpha, (*sample_shape, *self.alpha.shape))
        rest = jax.lax.cumlogsumexp(log_gamma, axis=log_gamma.ndim - 1, reverse=True)
        return log_gamma[..., :-1] - rest[..., 1:]

    def log_prob(self, value: Array, intermediates: object = None) -> Array:
        """Log density of the logits."""
        a, rest = _stick(self.alpha)
        return (a * log_sigmoid(value) + rest * log_sigmoid(-value) - log_beta(a, rest)).sum(-1)


class RowsReadAlike(Distribution):
    """Rows of `LogitDirichlet` variables whose parameters are those of one reading of several, for all rows the same.

    Parameters
    ----------
    alpha : (H, K, O) positive
    log_weight : (H,)
        Log probability of every reading.
    counts : (K, O), optional
        As for `LogitDirichlet`; the coordinates are those of the first reading.

    Examples
    --------
    >>> alpha, even = jnp.ones((2, 5, 3)), jnp.log(jnp.full(2, 0.5))
    >>> RowsReadAlike(alpha, even).sample(jax.random.key(0)).shape
    (5, 2)
    """

    arg_constraints = {"alpha": constraints.independent(constraints.positive, 3)}  # noqa: RUF012 - NumPyro's way
    pytree_data_fields = ("alpha", "log_weight", "counts")

    def __init__(self, alpha: Float[Array, "H K O"], log_weight: Float[Array, " H"], counts: Array | None = None):
        self.alpha, self.log_weight, self.counts = alpha, log_weight, counts
        super().__init__((), (alpha.shape[-2], alpha.shape[-1] - 1))

    @property
    def support(self) -> constraints.Constraint:
        """Real vectors, with the coordinates of the sampler."""
        rows = constraints.independent(constraints.real_vector, 1)
        if self.counts is None:
            return rows
        chart = _LogitOfBeta(*_stick(self.alpha[0] + self.counts))
        return _InChart(rows, IndependentTransform(chart, 1))

    def sample(self, key: Key[jax.Array, ""], sample_shape: tuple[int, ...] = ()) -> Array:
        """Draw a reading, and logits of all rows by it."""
        key_reading, key_rows = jax.random.split(key)
        reading = jax.random.categorical(key_reading, self.log_weight, shape=sample_shape)
        return LogitDirichlet(self.alpha[reading]).sample(key_rows)

    def log_prob(self, value: Array, intermediates: object = None) -> Array:
        """Log density of the logits of all rows."""
        rows = LogitDirichlet(self.alpha).log_prob(value[..., None, :, :]).sum(-1)
        return jax.nn.logsumexp(rows + self.log_weight, axis=-1)


def log_shares(logits: Float[Array, "*shape P"]) -> Float[Array, "*shape O"]:
    """Return log theta of logits, O = P + 1 of them.

    Examples
    --------
    >>> jnp.exp(log_shares(jnp.zeros(2))).tolist()
    [0.5, 0.25, 0.25]
    """
    log_rest = jnp.cumsum(log_sigmoid(-logits), axis=-1)
    before = jnp.concatenate([jnp.zeros_like(log_rest[..., :1]), log_rest[..., :-1]], axis=-1)
    return jnp.concatenate([log_sigmoid(logits) + before, log_rest[..., -1:]], axis=-1)


def _stick(alpha: Array) -> tuple[Array, Array]:
    """Return the parameters of every share and of what is left after it."""
    return alpha[..., :-1], jnp.flip(jnp.cumsum(jnp.flip(alpha, -1), -1), -1)[..., 1:]


class NormalNear(Distribution):
    """A standard normal variable, in coordinates that look at what the labels say of it.

    The sampler's coordinate u is z less its mean, in units of its standard deviation, if an estimate `near` of z had
    the variance 1 / information: without labels z itself (not centred), with many the estimate's error (centred).

    Parameters
    ----------
    near, information : (...)
        None leaves the variable as it is.

    Examples
    --------
    >>> distribution = NormalNear(jnp.array(3.0), jnp.array(99.0))
    >>> [round(float(biject_to(distribution.support)(u)), 3) for u in (0.0, 1.0)]
    [2.97, 3.07]
    """

    arg_constraints = {}  # noqa: RUF012 - NumPyro's way
    pytree_data_fields = ("near", "information")

    def __init__(self, near: Array | None = None, information: Array | None = None):
        self.near, self.information = near, information
        super().__init__(() if near is None else jnp.shape(near), ())

    @property
    def support(self) -> constraints.Constraint:
        """Real numbers, with the coordinates of the sampler."""
        if self.near is None or self.information is None:
            return constraints.real
        precision = 1 + self.information
        return _InChart(constraints.real, AffineTransform(self.near * self.information / precision, precision**-0.5))

    def sample(self, key: Key[jax.Array, ""], sample_shape: tuple[int, ...] = ()) -> Array:
        """Draw standard normal numbers."""
        return jax.random.normal(key, (*sample_shape, *self.batch_shape))

    def log_prob(self, value: Array, intermediates: object = None) -> Array:
        """Log density."""
        return -0.5 * (value**2 + np.log(2 * np.pi))


class _LogitOfBeta(Transform):
    """From coordinates u to logits of Beta(a, b) variables, see above; (..., P) each."""

    domain = constraints.real_vector
    codomain = constraints.real_vector

    def __init__(self, a: Array, b: Array):
        self.a, self.b = a, b
        # A chart need not be exact: these are within 0.12 of psi, and 20 % of psi', whose derivatives take long.
        self.place = jnp.log((a + 0.5) / (b + 0.5))
        self.scale = jnp.sqrt(1 / (a + 0.5) + 1 / (b + 0.5))

        self.high, self.low = jnp.log1p(1 / a), jnp.log1p(1 / b)

    def __call__(self, u: Array) -> Array:
        normal = softplus(u - self.high) - softplus(-u - self.low)
        return self.place + self.scale * normal + softplus(u) / self.b - softplus(-u) / self.a

    def _inverse(self, x: Array) -> Array:
        reach = (jnp.abs(x - self.place) + 1 / self.a + 1 / self.b) / self.scale + self.high + self.low + 1

        def halve(_: Scalar, ends: tuple[Array, Array]) -> tuple[Array, Array]:
            low, high = ends
            middle = (low + high) / 2
            below = self(middle) < x
            return jnp.where(below, middle, low), jnp.where(below, high, middle)

        low, high = jax.lax.fori_loop(0, _HALVINGS, halve, (-reach, reach))
        return (low + high) / 2

    def log_abs_det_jacobian(self, u: Array, x: Array, intermediates: object = None) -> Array:
        normal = sigmoid(u - self.high) + sigmoid(-u - self.low)
        return jnp.log(self.scale * normal + sigmoid(u) / self.b + sigmoid(-u) / self.a).sum(-1)

    def tree_flatten(self) -> tuple[tuple[Array, Array], tuple[tuple[str, str], dict[str, object]]]:
        return (self.a, self.b), (("a", "b"), {})


class _RadialSinh(Transform):
    """Vectors x as center + unit x f(r) / r, r being their length, with f = sinh, beyond `_STRAIGHT` its tangent.

    So far out there is no mass, and an exponential of r would be a wall that trajectories break at.
    """

    domain = constraints.real_vector
    codomain = constraints.real_vector

    def __init__(self, center: Array, unit: Array):
        self.center, self.unit = center, unit

    def __call__(self, x: Array) -> Array:
        r = _length(x)
        return self.center + self.unit * x * _stretched(r) / r

    def _inverse(self, y: Array) -> Array:
        away = (y - self.center) / self.unit
        length = _length(away)
        beyond = jnp.maximum(length - np.sinh(_STRAIGHT), 0.0)
        r = jnp.arcsinh(jnp.minimum(length, np.sinh(_STRAIGHT))) + beyond / np.cosh(_STRAIGHT)
        return away * r / length

    def log_abs_det_jacobian(self, x: Array, y: Array, intermediates: object = None) -> Array:
        r = _length(x)[..., 0]
        across, along = _stretched(r) / r, jnp.cosh(jnp.minimum(r, _STRAIGHT))
        return (x.shape[-1] - 1) * jnp.log(across) + jnp.log(along) + jnp.log(self.unit).sum(-1)

    def tree_flatten(self) -> tuple[tuple[Array, Array], tuple[tuple[str, str], dict[str, object]]]:
        return (self.center, self.unit), (("center", "unit"), {})


def _stretched(r: Array) -> Array:
    return jnp.sinh(jnp.minimum(r, _STRAIGHT)) + np.cosh(_STRAIGHT) * jnp.maximum(r - _STRAIGHT, 0.0)


def _length(x: Array) -> Array:
    return jnp.sqrt((x * x).sum(-1, keepdims=True) + 1e-20)  # never 0, where it has no derivative


class ManySizes(Distribution):
    """A distribution of vectors whose departures from a center may be of many sizes: their logarithms are the chart.

    A mixture of normal distributions, some of them narrow, is a needle on a hill. With the length of a departure in
    terms of its inverse hyperbolic sine, it is about as wide at every size.

    Parameters
    ----------
    base : Distribution
    center, unit : (P,)
        What is far less than a unit away is charted as it is, what is far more by its logarithm.
    """

    arg_constraints = {}  # noqa: RUF012 - NumPyro's way
    pytree_data_fields = ("base", "center", "unit")

    def __init__(self, base: Distribution, center: Array, unit: Array):
        self.base, self.center, self.unit = base, jnp.asarray(center), jnp.asarray(unit)
        super().__init__(base.batch_shape, base.event_shape)

    @property
    def support(self) -> constraints.Constraint:
        """Real vectors, with the coordinates of the sampler."""
        return _InChart(constraints.real_vector, _RadialSinh(self.center, self.unit))

    def sample(self, key: Key[jax.Array, ""], sample_shape: tuple[int, ...] = ()) -> Any:
        """Draw from the base."""
        return self.base.sample(key, sample_shape)

    def log_prob(self, value: Array, intermediates: object = None) -> Any:
        """Log density of the base."""
        return self.base.log_prob(value)
