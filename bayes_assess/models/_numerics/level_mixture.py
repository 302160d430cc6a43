r"""Logits of the labels' probabilities in cells whose Dirichlet distributions share levels that are summed out.

Cells c of group g are Dirichlet(kappa_h q_cah), where h is uniform, t has probabilities p_t, and every group has a
level a_g with probabilities p_(a|t). A sampler that moves continuously needs the density of theta alone,

.. math:: p(\theta) = \frac{1}{H} \sum_{t, h} p_t \prod_g \sum_a p_{a|t} \prod_{c \in g}
          \mathrm{Dirichlet}(\theta_c; \kappa_h q_{cah}) .

Coordinates are logits of each share among those that the ones before have left, in the chart of
`charts.LogitDirichlet` for the least strength: under greater ones cells lie close together, and chains take longer from
one strength to the other than with the other programs.
"""

# pyright: reportIncompatibleMethodOverride=false, reportAssignmentType=false

from __future__ import annotations

from typing import Any

import numpy as np
from numpyro.distributions import Distribution, constraints
from scipy import special

from bayes_assess._tools.lazy import jax, jnp
from bayes_assess._tools.shapes import Array, Float, Int
from bayes_assess.models._numerics.charts import LogitDirichlet, _InChart, _LogitOfBeta, _stick, log_shares


class _OfCells(_LogitOfBeta):
    """The chart of all cells together."""

    domain = constraints.real_matrix
    codomain = constraints.real_matrix

    def log_abs_det_jacobian(self, u: Any, x: Any, intermediates: Any = None) -> Any:
        return super().log_abs_det_jacobian(u, x).sum(-1)


class LevelMixture(Distribution):
    """Joint distribution of the logits of K cells, (K, C - 1), see above.

    Parameters
    ----------
    line : (K, A, B, C)
        q at every level, h being a line B and a strength.
    group : (K,) integers
    n_groups : int
    strengths : (k,)
        kappa.
    given, centre : (T, A), (T,)
        p_(a|t) and p_t.
    counts : (K, C)
        Labels, which the coordinates look at, and the density does not.

    Examples
    --------
    >>> line = np.full((1, 1, 1, 2), 0.5)
    >>> law = LevelMixture(line, np.zeros(1, int), 1, np.array([2.0]), np.ones((1, 1)), np.ones(1), np.zeros((1, 2)))
    >>> round(float(law.log_prob(jnp.zeros((1, 1)))), 6)  # uniform on [0, 1]: the density of the logit at 1/2
    -1.386294
    """

    arg_constraints = {}  # noqa: RUF012 - NumPyro's way
    pytree_data_fields = ("line", "group", "strengths", "given", "centre", "counts", "constant")
    pytree_aux_fields = ("n_groups",)

    def __init__(
        self,
        line: Float[np.ndarray, "K A B C"],
        group: Int[np.ndarray, " K"],
        n_groups: int,
        strengths: Float[np.ndarray, " k"],
        given: Float[np.ndarray, "T A"],
        centre: Float[np.ndarray, " T"],
        counts: Float[Array, "K C"],
    ):
        self.line, self.group, self.n_groups, self.strengths = line, group, n_groups, strengths
        self.given, self.centre, self.counts = given, centre, counts
        alpha = strengths[:, None] * line[..., None, :]
        self.constant = special.gammaln(strengths) - special.gammaln(alpha).sum(-1)  # (K, A, B, k)
        super().__init__((), (line.shape[0], line.shape[-1] - 1))

    @property
    def support(self) -> Any:
        """Real matrices, with the coordinates of the sampler."""
        widest = self.strengths.min() * self.line.mean((1, 2))
        return _InChart(constraints.real_matrix, _OfCells(*_stick(jnp.asarray(widest) + self.counts)))

    def sample(self, key: Any, sample_shape: tuple[int, ...] = ()) -> Any:
        """Draw levels, then the logits of every cell."""
        n = int(np.prod(sample_shape))
        drawn = jax.vmap(self._draw)(jax.random.split(key, n))
        return drawn.reshape(*sample_shape, *self.event_shape)

    def _draw(self, key: Any) -> Float[Array, "K P"]:
        key_t, key_h, key_levels, key_cells = jax.random.split(key, 4)
        t = jax.random.categorical(key_t, jnp.log(self.centre))
        b, s = (
            jax.random.randint(part, (), 0, n)
            for part, n in zip(jax.random.split(key_h), (self.line.shape[2], len(self.strengths)), strict=True)
        )
        level = jax.random.categorical(key_levels, jnp.log(jnp.asarray(self.given)[t]), shape=(self.n_groups,))
        q = jnp.asarray(self.line)[jnp.arange(len(self.group)), level[self.group], b]
        return LogitDirichlet(jnp.asarray(self.strengths)[s] * q).sample(key_cells)

    def log_prob(self, value: Any, intermediates: Any = None) -> Any:
        """Log density of the logits."""
        log_theta = log_shares(value)
        expected = jnp.einsum("kabc,...kc->...kab", self.line, log_theta)
        cells = expected[..., None] * self.strengths + self.constant
        shape = (*value.shape[:-2], self.n_groups, self.line.shape[1], -1)
        groups = jnp.zeros((*value.shape[:-2], self.n_groups, *self.constant.shape[1:]))
        groups = groups.at[..., jnp.asarray(self.group), :, :, :].add(cells).reshape(shape)  # (G, A, H)
        top = jax.lax.stop_gradient(groups.max(-2, keepdims=True))
        mixed = jnp.einsum("ta,...gah->...gth", self.given, jnp.exp(groups - top))
        joint = (jnp.log(jnp.maximum(mixed, 1e-300)) + top).sum(-3) + jnp.log(self.centre)[:, None]
        return jax.nn.logsumexp(joint, axis=(-2, -1)) - jnp.log(groups.shape[-1])
