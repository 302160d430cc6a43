"""Where the points of a beta-binomial regression's hyperposterior lie, and their weights; see `HierarchicalAccuracy`.

Points are (beta, log nu). Arrays over J points of a grid have J first.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache, partial
from typing import TypeVar

import numpy as np
from scipy import special

from bayes_assess._tools import engine
from bayes_assess._tools.axes import x64
from bayes_assess._tools.engine import xp
from bayes_assess._tools.shapes import Array, ArrayLike, Float
from bayes_assess.models._numerics.sobol import sobol_points
from bayes_assess.models._numerics.special import log_rising

T = TypeVar("T")


N_POINTS = 64
LOG_STRENGTH = (math.log(12.0), 1.3)  # mean and standard deviation of log nu before labels, METHODS 12.5
_GRID, _REACH = 12, 3.5  # points of the grid in log nu, over so many standard deviations to either side
_STEPS = 8  # of scoring, at most; each about doubles the number of right digits
_CONVERGED = 1e-11  # a step by so little is the last one
_INFLATION = 1.2  # of the proposal's standard deviations, so that weights stay bounded
_AT_ONCE = 16  # campaigns whose points are placed side by side, so that they stay in the processor's cache
_MOST_EAGER, _MOST_NUMBERS = 64, 6_400  # campaigns, or counts of theirs: NumPy is done before a program is compiled
_LEAST = 1e-12  # accuracy expected: at 0 or 1 to the last digit Beta(0, nu) would be left


@lru_cache
def normal_points(dimension: int) -> Float[np.ndarray, "H P"]:
    """Quasi-random standard normal points, the same for every call."""
    return special.ndtri(sobol_points(dimension, N_POINTS, seed=20))


def expected_accuracy(logit: Array) -> Array:
    """Return the accuracy that a regression expects, never quite 0 or 1."""
    return xp.clip(0.5 * (1 + xp.tanh(0.5 * logit)), _LEAST, 1 - _LEAST)


def weighted_points(
    covariates: Float[Array, "G P"],
    location: Float[Array, " P"],
    scale: Float[Array, " P"],
    strength_prior: Float[Array, " 2"],
    agreements: Float[Array, "*batch G"],
    labels: ArrayLike,
) -> tuple[Array, Array, Array]:
    """Place the points for counts (..., G), and weigh them.

    Before labels coefficients have means `location` and standard deviations `scale`, log nu those of `strength_prior`.

    Returns
    -------
    coefficients (..., H, P), log nu (..., H), logarithms of the weights (..., H)
    """
    normal = normal_points(covariates.shape[1] + 1)
    arrays = covariates, location, scale, strength_prior, normal, agreements, labels
    if engine.is_traced(*arrays):
        return _placed(*(xp.asarray(x) for x in arrays))
    # One campaign's are there sooner on NumPy, those of very many if they are compiled, whatever else runs.
    n_campaigns, n_counts = math.prod(agreements.shape[:-1]), math.prod(agreements.shape)
    few = engine.is_eager() and (n_campaigns <= _MOST_EAGER or n_counts <= _MOST_NUMBERS)
    with engine.eager(few or agreements.ndim == 1):
        return x64(_placed)(*(np.asarray(x) for x in arrays))


@engine.jit
def _placed(covariates, location, scale, strength_prior, normal, agreements, labels):
    place = partial(_points, covariates, location, scale, strength_prior, normal)
    one_call = agreements.ndim == 1 or engine.is_eager()
    return place(agreements, labels) if one_call else _of_many(place, (agreements, labels))


def _of_many(
    place: Callable[..., tuple[Array, Array, Array]], counts: tuple[Array, Array]
) -> tuple[Array, Array, Array]:
    """Place the points of many campaigns, a few at a time."""
    batch = counts[0].shape[:-1]
    flat = tuple(x.reshape(-1, x.shape[-1]) for x in counts)
    points = engine.mapped(lambda campaign: place(*campaign), flat, at_once=_AT_ONCE)
    return engine.tree_map(lambda x: x.reshape(*batch, *x.shape[1:]), points)


def _points(covariates, location, scale, strength_prior, normal, agreements, labels):
    """Place and weigh the points of campaigns, counts (..., G)."""
    agreements, labels = (xp.asarray(counts)[..., None, :] for counts in (agreements, labels))
    model = partial(_log_density, covariates, location, scale, strength_prior, agreements, labels)

    def moments(found):
        """Mean and covariance of (log nu, beta) by Laplace's method on an even grid in log nu, placed by the last."""
        center, covariance = found
        spacing = xp.sqrt(covariance[..., 0, 0]) * (2 * _REACH / (_GRID - 1))
        grid = center[..., :1] + spacing[..., None] * (xp.arange(_GRID) - (_GRID - 1) / 2)
        beta, inverse, log_volume = _scored(covariates, location, scale, agreements, labels, grid)
        log_mass = model(grid, beta) + log_volume
        w = xp.exp(log_mass - log_mass.max(-1, keepdims=True))
        w = w / w.sum(-1, keepdims=True)
        joint = xp.concatenate([grid[..., None], beta], axis=-1)
        center = (w[..., None, :] @ joint)[..., 0, :]
        off = joint - center[..., None, :]
        spread = xp.swapaxes(off * w[..., None], -1, -2) @ off
        within = xp.einsum("...j,...jpq->...pq", w, inverse)
        rounding = (spacing**2 / 12)[..., None]
        row = xp.concatenate([rounding, xp.zeros((*rounding.shape[:-1], n - 1))], axis=-1)[..., None, :]
        side = xp.zeros((*within.shape[:-1], 1))
        return center, spread + xp.concatenate([row, xp.concatenate([side, within], axis=-1)], axis=-2)

    n, batch = len(location) + 1, agreements.shape[:-2]
    start = xp.concatenate([strength_prior[:1], xp.zeros(n - 1)]), strength_prior[1] ** 2 * xp.eye(n)
    start = tuple(xp.broadcast_to(part, (*batch, *part.shape)) for part in start)
    center, covariance = _repeated(2, moments, start)
    root = _INFLATION * xp.linalg.cholesky(covariance)
    points = center[..., None, :] + normal @ xp.swapaxes(root, -1, -2)
    volume = xp.log(xp.diagonal(root, axis1=-2, axis2=-1)).sum(-1)
    log_proposal = -0.5 * (normal**2).sum(-1) - volume[..., None] - 0.5 * n * math.log(2 * math.pi)
    log_strength, beta = points[..., 0], points[..., 1:]
    return beta, log_strength, model(log_strength, beta) - log_proposal


def _scored(covariates, location, scale, agreements, labels, log_strength):
    """Modes (..., J, P) of the quasi-likelihood of beta at every nu, covariances, and half their log determinants.

    The variance of r given n labels is n m (1 - m) (nu + n) / (nu + 1), that of the beta-binomial distribution.
    """
    strength = xp.exp(log_strength)[..., None]
    shrink = (strength + 1) / (strength + xp.maximum(labels, 1))
    count, agreeing = shrink * labels, shrink * agreements
    n_groups, n = covariates.shape
    squares = (covariates[:, :, None] * covariates[:, None, :]).reshape(n_groups, -1)
    prior = xp.diag(scale**-2)

    def is_moving(carry):
        number, _, _, move = carry
        return (number < _STEPS) & (xp.abs(move).max() > _CONVERGED)

    def step(carry):
        number, beta, *_ = carry
        m = expected_accuracy(beta @ covariates.T)
        precision = ((count * m * (1 - m)) @ squares).reshape(*m.shape[:-1], n, n) + prior
        score = (agreeing - count * m) @ covariates - (beta - location) / scale**2
        move = _solved(precision, score)
        move = move / xp.maximum(1, xp.abs(move).max(-1, keepdims=True))
        return number + 1, beta + move, precision, move

    shape = log_strength.shape
    start = 0, xp.broadcast_to(location, (*shape, n)), xp.zeros((*shape, n, n)), xp.ones((*shape, n))
    _, beta, precision, _ = engine.while_loop(is_moving, step, start)
    return beta, *_inverse(precision)


def _solved(matrix: Float[Array, "*batch P P"], right: Float[Array, "*batch P"]) -> Float[Array, "*batch P"]:
    """Solve positive definite systems for one right side each."""
    if engine.is_eager():
        return np.linalg.solve(matrix, right[..., None])[..., 0]
    return (_inverse(matrix)[0] * right[..., None]).sum(-2)


def _inverse(matrix: Float[Array, "P P"]) -> tuple[Float[Array, "P P"], Float[Array, ""]]:
    """Invert positive definite matrices (..., P, P); also half the logarithm of the inverse's determinant.

    Compiled, covariates, of which there are few, are eliminated one after the other (Gauss-Jordan): that compiles in a
    fifth of the time of LAPACK's routines.
    """
    if engine.is_eager():
        return np.linalg.inv(matrix), -0.5 * np.linalg.slogdet(matrix)[1]
    log_volume, eye = xp.zeros(()), xp.eye(matrix.shape[-1])
    for i in range(matrix.shape[-1]):
        pivot = matrix[..., i, i, None]
        log_volume = log_volume - 0.5 * xp.log(pivot[..., 0])
        row, column = matrix[..., i, :] / pivot, matrix[..., :, i]
        row = xp.where(eye[i] > 0, 1 / pivot, row)
        column = xp.where(eye[i] > 0, -1.0, column)
        rest = xp.where((eye[i][:, None] > 0) | (eye[i] > 0), 0.0, matrix)
        matrix = rest - column[..., :, None] * row[..., None, :]
    return matrix, log_volume


def _log_density(covariates, location, scale, strength_prior, agreements, labels, log_strength, beta):
    """Log posterior density of J points (beta, log nu) up to the evidence: beta-binomial labels times the prior."""
    strength = xp.exp(log_strength)[..., None]
    m = expected_accuracy(beta @ covariates.T)
    gain = log_rising(strength * m, agreements) + log_rising(strength * (1 - m), labels - agreements)
    gain = gain - log_rising(strength, labels)
    squares = (((beta - location) / scale) ** 2).sum(-1) + ((log_strength - strength_prior[0]) / strength_prior[1]) ** 2
    constant = xp.log(scale).sum() + xp.log(strength_prior[1]) + 0.5 * (len(location) + 1) * math.log(2 * math.pi)
    return gain.sum(-1) - 0.5 * squares - constant


def _repeated(n: int, step: Callable[[T], T], carry: T) -> T:
    """Do a step `n` times."""
    return engine.fori_loop(0, n, lambda _, carry: step(carry), carry)
