"""Weighted points in the place of the posterior of the hyperparameters that Dirichlet rows share.

Rows k are Dirichlet(kappa q_k), q_k = (1 - lambda) told_k + lambda even_k, with log kappa and logit lambda normal.
Where some outcomes are new, even_k gives way to (1 - nu) even_k + nu new_k, with logit nu normal. What told_k is may be
one of several readings, of which the first is as probable as the others together; and by a last reading, of all shares
and with probability 1/3, new outcomes do not occur. The points are a grid for every reading, along the axes of the
posterior's covariance, found in passes: each takes the mean and the covariance of the grid before for its own, and the
first is of the prior. A point's weight is its density times the volume it stands for,

    log w = sum_k [log Gamma(kappa) - log Gamma(kappa + E_k) + sum_j log Gamma(kappa q_kj + n_kj)
            - log Gamma(kappa q_kj)] + log prior + log volume,    E_k = sum_j n_kj,

so that the weights sum to the probability of the labels as a sequence.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial

import numpy as np

from bayes_assess._tools import engine
from bayes_assess._tools.engine import xp
from bayes_assess._tools.shapes import Array, ArrayLike, Float
from bayes_assess.models._numerics.special import log_rising

# Of (log kappa, logit lambda), from the errors in public pools of 10 to 1,000 classes: kappa of 5 to 16 around uniform
# rows, of 40 and more around those of scores, which lambda of 0 to 0.1 fits best.
CONCENTRATION, MIX = (math.log(12.0), 1.5), (-1.0, 1.5)
NEW = (0.0, 2.0)  # of logit nu, by benchmarks/study_unknown_classes.py: docs/priors.md has the table
_NEVER = 1 / 3  # probability that no item is of classes that are never predicted
_LOCATION, _SCALE = (np.array(pair) for pair in zip(CONCENTRATION, MIX, NEW, strict=True))
_SIDE, _REACH = 8, 3.2  # points of the grid along an axis, over so many standard deviations to either side
_PASSES = 3  # from a grid over the prior to one over the posterior
_NUMBERS = 2**16  # of one block of points
_DENSE, _FEWEST = 2**11, 2**10  # entries of a matrix up to which all are taken, and of the shortest list of some


Hyperpoints = tuple[
    Float[Array, "*batch J"], Float[Array, "*batch J"], Float[Array, "*batch J"] | None, Float[Array, "*batch J"]
]


def readings_of(
    told: Float[Array, "K O"],
    even: Float[Array, "K O"],
    new: Float[Array, "K O"] | None = None,
    resized: Float[Array, "H K O"] | None = None,
    never: Float[Array, "2 K O"] | None = None,
) -> list[Float[Array, "R K O"]]:
    """Return shares told, even and perhaps new by reading, (R, K, O) each, or (1, K, O) where all have the same.

    Parameters
    ----------
    told, even, new : (K, O)
        Rows that sum to 1, with zeros where an outcome is impossible.
    resized : (H, K, O), optional
        Other readings of `told`.
    never : (2, K, O), optional
        Told and even shares if new outcomes do not occur: a last reading, of all tables.

    Examples
    --------
    >>> even = np.array([[0, 0.5, 0.5], [0.5, 0, 0.5]])
    >>> [shares.shape for shares in readings_of(even, even, even, np.stack([even, even]))]
    [(3, 2, 3), (1, 2, 3), (1, 2, 3)]
    """
    parts = [xp.asarray(told)[None], *([] if resized is None else [xp.asarray(resized)])]
    others = [xp.asarray(x)[None] for x in (even, new) if x is not None]
    if never is not None:
        n, last = sum(map(len, parts)), xp.asarray(never)
        parts.append(last[:1])
        others = [xp.concatenate([xp.broadcast_to(x, (n, *x.shape[1:])), last[1:]]) for x in others]
    return [xp.concatenate(parts), *others]


def weighted_points(
    tables: Sequence[Float[Array, "R K O"]], errors: Float[Array, "*batch K O"], never: bool = False
) -> Hyperpoints:
    """Return log kappa, logit lambda, logit nu and the log weight of every point, reading by reading; 64-bit.

    Parameters
    ----------
    tables : two or three of (R, K, O) or (1, K, O)
        From `readings_of`; without new shares logit nu is None.
    errors : (..., K, O)
        Counts of outcomes, 0 where they are impossible.
    never : bool
        Whether the last reading is that new outcomes do not occur.

    Examples
    --------
    >>> import jax, jax.numpy as jnp
    >>> with jax.enable_x64(True):
    ...     log_kappa, _, _, log_weight = weighted_points(
    ...         readings_of(jnp.eye(2), jnp.full((2, 2), 0.5)), jnp.zeros((2, 2))
    ...     )
    ...     round(float(jax.nn.softmax(log_weight) @ log_kappa), 6)  # the prior's mean, log 12
    2.484907
    """
    chosen = _seen if tables[0][0].size > _DENSE and _is_one_matrix(errors) else _all
    flat, entries = chosen([reading for table in tables for reading in table], errors)
    points, log_weight = _points(flat, entries, errors.sum(-1), tuple(map(len, tables)), never)
    log_kappa, logit_mix, *logit_new = points
    return log_kappa, logit_mix, logit_new[0] if logit_new else None, log_weight


def mean_rows(tables: Sequence[Array], logits: Sequence[Array]) -> Array:
    """Mix told, even and perhaps new shares, (1 - lambda) told + lambda ((1 - nu) even + nu new).

    Examples
    --------
    >>> round(float(mean_rows([0.8, 0.5, 0.1], [np.array(0.0), np.array(0.0)])), 3)  # half of 0.8, half of 0.3
    0.55
    """
    *tables, mean = tables
    for table, logit in zip(reversed(tables), reversed(logits), strict=True):
        share = engine.sigmoid(logit)
        mean = (1 - share) * table + share * mean
    return mean


def _is_one_matrix(errors: Array) -> bool:
    return errors.ndim == 2 and not engine.is_traced(errors)


def _all(tables, errors):
    """Return all entries of the matrices, flat."""
    return tuple(xp.asarray(x).ravel() for x in tables), errors.reshape(*errors.shape[:-2], -1)


def _seen(tables, errors):
    """Return the entries of a large matrix that errors were seen in, the others having nothing to say of the points.

    They are filled up to one of few lengths, so that few programs are compiled.
    """
    flat = np.asarray(errors).ravel()
    place = np.flatnonzero(flat)
    length = _FEWEST
    while length < len(place):
        length *= 4
    filled = np.zeros((len(tables) + 1, length))
    filled[:, : len(place)] = [np.asarray(x).ravel()[place] for x in (*tables, flat)]
    *tables, errors = (xp.asarray(x) for x in filled)
    return tuple(tables), errors


def of_reading(readings: Float[ArrayLike, "R *shape"], point: Array, n_points: int) -> Array:
    """Return shares as points read them, of which equally many are of every reading; of one they are as they are.

    Examples
    --------
    >>> of_reading(np.array([[0.25, 0.75], [0.0, 1.0]]), np.array([0, 7, 3]), 8).tolist()
    [[0.25, 0.75], [0.0, 1.0], [0.25, 0.75]]
    """
    readings = xp.asarray(readings)
    return readings[0] if len(readings) == 1 else readings[point // (n_points // len(readings))]


@partial(engine.jit, static_argnums=(3, 4))
def _points(
    tables: tuple[Float[Array, " N"], ...],
    errors: Float[Array, "*batch N"],
    total: Float[Array, "*batch K"],
    n: tuple[int, ...],
    never: bool,
) -> tuple[list[Float[Array, "*batch J"]], Float[Array, "*batch J"]]:
    """Place the points of the hyperposterior and weigh them, for every batch of errors: N entries and K row sums.

    Of the tables the first n[0] are readings of one, the next n[1] of another, and so on.
    """
    if errors.ndim == 1:
        return _of_readings(tables, errors, total, n, never)
    flat = errors.reshape(-1, errors.shape[-1]), total.reshape(-1, total.shape[-1])
    points = engine.mapped(lambda counts: _of_readings(tables, counts[0], counts[1], n, never), flat)
    return engine.tree_map(lambda x: x.reshape(*errors.shape[:-1], x.shape[-1]), points)


def _of_readings(tables, errors, total, n, never):
    """Place a grid for every reading, one after the other."""
    if n[0] == 1:
        return _placed(tables, errors, total)
    ends = np.cumsum(n)
    kinds = [tables[end - size : end] for size, end in zip(n, ends, strict=True)]
    several = tuple(xp.stack(kind) for kind in kinds if len(kind) > 1)

    def of_one(reading):
        reading = iter(reading)
        return _placed([next(reading) if len(kind) > 1 else kind[0] for kind in kinds], errors, total)

    points, log_weight = engine.mapped(of_one, several)
    log_weight += xp.asarray(reading_log_weights(n[0], never))[:, None]
    return engine.tree_map(xp.ravel, (points, log_weight))


def reading_log_weights(n: int, never: bool = False) -> Float[np.ndarray, " n"]:
    """Return logarithms of the probabilities of n readings, the last of which may be that new outcomes do not occur.

    Examples
    --------
    >>> np.exp(reading_log_weights(3)).round(2).tolist(), np.exp(reading_log_weights(3, never=True)).round(2).tolist()
    ([0.5, 0.25, 0.25], [0.33, 0.33, 0.33])
    """
    if never:
        return np.append(reading_log_weights(n - 1) + math.log(1 - _NEVER), math.log(_NEVER))
    return -np.log(np.array([1.0] if n == 1 else [2.0] + [2.0 * (n - 1)] * (n - 1)))


def _placed(tables, errors, total):
    """Place a grid over the prior, then, by its mean and covariance, over what has most of the posterior."""
    n_axes = len(tables)  # kappa, and a share for every table but the first
    axis = xp.linspace(-_REACH, _REACH, _SIDE)
    step = 2 * _REACH / (_SIDE - 1)
    grid = xp.stack(xp.meshgrid(*[axis] * n_axes), axis=-1).reshape(-1, n_axes)
    density = partial(_log_density, tables, errors, total)
    block = 2 ** int(math.log2(max(1, min(len(grid), _NUMBERS // tables[0].size))))  # a divisor of the number of points

    def weighed(center, root):
        points = center + grid @ root.T
        log_density = engine.mapped(density, points.reshape(-1, block, n_axes)).ravel()
        return points, log_density + xp.log(xp.diagonal(root)).sum()

    def narrower(_, carry):
        center, root = carry
        points, log_weight = weighed(center, root)
        w = engine.softmax(log_weight)
        center = w @ points
        off = points - center
        # The posterior within the volume of a point counts as uniform.
        covariance = (w[:, None] * off).T @ off + root @ root.T * step**2 / 12
        return center, xp.linalg.cholesky(covariance)

    start = xp.asarray(_LOCATION[:n_axes]), xp.diag(xp.asarray(_SCALE[:n_axes]))
    points, log_weight = weighed(*engine.fori_loop(0, _PASSES, narrower, start))
    return list(points.T), log_weight + n_axes * math.log(step)


def _log_density(tables, errors, total, points):
    """Log posterior density of points (J, P) up to the evidence: Dirichlet-multinomial errors, prior."""
    log_kappa, *logits = (points[:, [p]] for p in range(points.shape[1]))
    kappa = xp.exp(log_kappa)
    expected = xp.where(tables[1] > 0, kappa * mean_rows(tables, logits), 1.0)
    gain = log_rising(expected, errors).sum(-1) - log_rising(kappa, total).sum(-1)
    location, scale = (x[: points.shape[1]] for x in (_LOCATION, _SCALE))
    standard = (points - xp.asarray(location)) / xp.asarray(scale)
    constant = 0.5 * points.shape[1] * math.log(2 * math.pi) + math.log(float(scale.prod()))
    return gain - 0.5 * (standard**2).sum(-1) - constant
