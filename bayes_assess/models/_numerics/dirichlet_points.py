"""Weighted points in the place of the posterior of (log kappa, logit lambda), which Dirichlet rows share.

Rows k are Dirichlet(kappa q_k), q_k = (1 - lambda) told_k + lambda even_k, with log kappa and logit lambda normal. The
points are a grid along the principal axes of the posterior, found in passes: each takes the mean and the covariance of
the grid before for its own, and the first is of the prior. A point's weight is its density times the area it stands
for,

    log w = sum_k [log Gamma(kappa) - log Gamma(kappa + E_k) + sum_j log Gamma(kappa q_kj + n_kj)
            - log Gamma(kappa q_kj)] + log prior + log area,    E_k = sum_j n_kj,

so that the weights sum to the probability of the labels as a sequence.
"""

from __future__ import annotations

import math
from functools import partial

import numpy as np

from bayes_assess._tools import engine
from bayes_assess._tools.engine import xp
from bayes_assess._tools.shapes import Array, Float
from bayes_assess.models._numerics.special import log_rising

# Of (log kappa, logit lambda), from the errors in public pools of 10 to 1,000 classes: kappa of 5 to 16 around uniform
# rows, of 40 and more around those of scores, which lambda of 0 to 0.1 fits best.
CONCENTRATION, MIX = (math.log(12.0), 1.5), (-1.0, 1.5)
_LOCATION, _SCALE = (np.array(pair) for pair in zip(CONCENTRATION, MIX, strict=True))
_SIDE, _REACH = 8, 3.2  # points of the grid along an axis, over so many standard deviations to either side
_PASSES = 3  # from a grid over the prior to one over the posterior
_NUMBERS = 2**16  # of one block of points
_DENSE, _FEWEST = 2**14, 2**10  # entries of a matrix up to which all are taken, and of the shortest list of some


def weighted_points(
    told: Float[Array, "K O"], even: Float[Array, "K O"], errors: Float[Array, "*batch K O"]
) -> tuple[Float[Array, "*batch J"], Float[Array, "*batch J"], Float[Array, "*batch J"]]:
    """Return log kappa, logit lambda and the log weight of every point; under 64-bit types.

    Parameters
    ----------
    told, even : (K, O)
        Rows that sum to 1, with zeros where an outcome is impossible.
    errors : (..., K, O)
        Counts of outcomes, 0 where they are impossible.

    Examples
    --------
    >>> import jax, jax.numpy as jnp
    >>> with jax.enable_x64(True):
    ...     log_kappa, _, log_weight = weighted_points(jnp.eye(2), jnp.full((2, 2), 0.5), jnp.zeros((2, 2)))
    ...     round(float(jax.nn.softmax(log_weight) @ log_kappa), 6)  # the prior's mean, log 12
    2.484907
    """
    chosen = _seen if told.size > _DENSE and _is_one_matrix(errors) else _all
    told, even, entries = chosen(told, even, errors)
    return _points(told, even, entries, errors.sum(-1))


def _is_one_matrix(errors: Array) -> bool:
    return errors.ndim == 2 and not engine.is_traced(errors)


def _all(told, even, errors):
    """Return all entries of the matrix, flat."""
    return told.ravel(), even.ravel(), errors.reshape(*errors.shape[:-2], -1)


def _seen(told, even, errors):
    """Return the entries of a large matrix that errors were seen in, the others having nothing to say of the points.

    They are filled up to one of few lengths, so that few programs are compiled.
    """
    flat = np.asarray(errors).ravel()
    place = np.flatnonzero(flat)
    length = _FEWEST
    while length < len(place):
        length *= 4
    filled = np.zeros((3, length))
    filled[:, : len(place)] = [np.asarray(x).ravel()[place] for x in (told, even, flat)]
    told, even, errors = (xp.asarray(x) for x in filled)
    return told, even, errors


@engine.jit
def _points(
    told: Float[Array, " N"],
    even: Float[Array, " N"],
    errors: Float[Array, "*batch N"],
    total: Float[Array, "*batch K"],
):
    """Place the points of the hyperposterior and weigh them, for every batch of errors: N entries and K row sums."""
    if errors.ndim == 1:
        return _placed(told, even, errors, total)
    flat = (x.reshape(-1, x.shape[-1]) for x in (errors, total))
    found = engine.mapped(lambda one: _placed(told, even, *one), tuple(flat))
    return engine.tree_map(lambda x: x.reshape(*errors.shape[:-1], x.shape[-1]), found)


def _placed(told, even, errors, total):
    """Place a grid over the prior, then, by its mean and covariance, over what has most of the posterior."""
    axis = xp.linspace(-_REACH, _REACH, _SIDE)
    step = 2 * _REACH / (_SIDE - 1)
    grid = xp.stack(xp.meshgrid(axis, axis), axis=-1).reshape(-1, 2)
    density = partial(_log_density, told, even, errors, total)
    block = 2 ** int(math.log2(max(1, min(len(grid), _NUMBERS // told.size))))  # a divisor of the number of points

    def weighed(center, root):
        points = center + grid @ root.T
        log_density = engine.mapped(density, points.reshape(-1, block, 2)).ravel()
        return points, log_density + xp.log(xp.diagonal(root)).sum()

    def narrower(_, carry):
        center, root = carry
        points, log_weight = weighed(center, root)
        w = engine.softmax(log_weight)
        center = w @ points
        off = points - center
        # The posterior within the area of a point counts as uniform.
        covariance = (w[:, None] * off).T @ off + root @ root.T * step**2 / 12
        return center, xp.linalg.cholesky(covariance)

    start = xp.asarray(_LOCATION), xp.diag(xp.asarray(_SCALE))
    points, log_weight = weighed(*engine.fori_loop(0, _PASSES, narrower, start))
    return points[:, 0], points[:, 1], log_weight + 2 * math.log(step)


def _log_density(told, even, errors, total, points):
    """Log posterior density of points (J, 2) up to the evidence: Dirichlet-multinomial errors, prior."""
    kappa, mix = xp.exp(points[:, :1]), engine.sigmoid(points[:, 1:])
    expected = xp.where(even > 0, kappa * ((1 - mix) * told + mix * even), 1.0)
    gain = log_rising(expected, errors).sum(-1) - log_rising(kappa, total).sum(-1)
    standard = (points - xp.asarray(_LOCATION)) / xp.asarray(_SCALE)
    return gain - 0.5 * (standard**2).sum(-1) - math.log(2 * math.pi * float(_SCALE.prod()))
