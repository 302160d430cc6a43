"""Where the points and nodes of `HierarchicalCalibration` lie, and their weights.

One campaign: counts (G, B) of agreements r and labels n, and the logits x of the bins' mean confidences. `place` is
(log nu, log tau), `beta` is (a, slope).
"""

from __future__ import annotations

import math
from functools import lru_cache, partial

import jax
import jax.numpy as jnp
import numpy as np

from bayes_assess._tools.lazy import stats
from bayes_assess.models._numerics.special import log_rising

N_POINTS, N_NODES = 64, 7
# (a, slope) of a calibrated system, and their standard deviations in units of the departure from it.
CALIBRATED, UNITS = (0.0, 1.0), (1.0, 0.7)
DEPARTURES = (
    2.0,
    1.0,
    0.3,
    0.1,
    0.03,
)  # alike probable; modes are found with the first
# All labels of CIFAR-10, 20 Newsgroups and MNIST, in 10 bins, with confidences as they are, sharpened or shuffled, put
# nu between 500 and 2,000, and tau of predicted classes between 0.3 and 0.7.
LOG_SPREAD, LOG_STRENGTH = (math.log(0.3), 1.0), (math.log(1000.0), 2.0)
_GRID, _REACH = 8, 3.5  # cells of the grid to a side, over so many standard deviations to either side
_ZOOMS = 1  # grids after the first, each placed by the one before
_FINER = 4  # cells of the histogram to one of the grid, to a side
_FLOOR = 0.02  # of the histogram's mass, spread evenly
_STEPS, _MORE_STEPS = 12, 4  # of scoring, from the prior and from a near fit
_INFLATION = 1.2  # of the standard deviations of (a, slope) in the proposal, so that weights stay bounded
_ROUNDS = 2  # of that proposal: the second one lies where the weights of the first put it,
_TEMPER, _LEAST_VARIANCE = 0.5, 0.01  # being tempered, since few points may have most of the weight


def probability(logit):
    """Return the probability of a logit, never 0 or 1."""
    # An accuracy expected at 0 or 1 to the last digit would leave Beta(0, nu).
    return jnp.clip(jax.nn.sigmoid(logit), 1e-12, 1 - 1e-12)


@lru_cache
def _uniform_points() -> np.ndarray:
    """Quasi-random points of the unit cube, (H, 5), the same for every call."""
    return stats.qmc.Sobol(5, scramble=True, rng=np.random.default_rng(20)).random(N_POINTS)


@lru_cache
def _hermite() -> tuple[np.ndarray, np.ndarray]:
    """Nodes of Gauss and Hermite for a standard normal variable, and logarithms of their weights."""
    node, weight = np.polynomial.hermite_e.hermegauss(N_NODES)
    return node, np.log(weight / math.sqrt(2 * math.pi))


def weighted_points(x, agreements, labels):
    """Place and weigh the points of N campaigns, (N, G, B), one after the other: memory stays that of one.

    Returns
    -------
    coefficients (N, H, 2), log nu (N, H), tau (N, H), log weights (N, H), shifts and their log weights (N, H, G, Q)
    """
    return _weighted_points(x, agreements, labels, jnp.asarray(_uniform_points()))


@jax.jit
def _weighted_points(x, agreements, labels, uniform):
    return jax.lax.map(lambda counts: _points(x, counts[0], counts[1], uniform), (agreements, labels))


def _points(x, r, n, uniform):
    """Place the points of the hyperposterior and the nodes of every group, and weigh them; one campaign (G, B)."""
    grouped = x.shape[0] > 1
    location = jnp.array([LOG_STRENGTH[0], LOG_SPREAD[0]])
    reach = _REACH * jnp.array([LOG_STRENGTH[1], LOG_SPREAD[1] if grouped else 0.0])
    near = _scored(x, r, n, location, (jnp.array(CALIBRATED), jnp.zeros(x.shape[0])), _STEPS)[:2]

    def zoom(_, state):
        log_mass, low, high, near = state
        low, high = _zoomed(log_mass, low, high)
        log_mass, near = _on_grid(x, r, n, low, high, near)
        return log_mass, low, high, near

    flat = jnp.zeros((_GRID, _GRID if grouped else 1))  # the first grid is as wide as the prior
    log_mass, low, high, near = jax.lax.fori_loop(0, 1 + _ZOOMS, zoom, (flat, location - reach, location + reach, near))
    place, log_proposal = _from_histogram(log_mass, low, high, uniform[:, :2])
    fits = jax.vmap(lambda place: _scored(x, r, n, place, near, _MORE_STEPS))(place)
    normal = jax.scipy.special.ndtri(uniform[:, 2:4])

    def weighed(moments, place, fit, log_proposal, choice, standard):
        mode, effect, precision, curvature, cross = fit
        beta, log_density = _drawn(mode, precision, choice, standard, *moments)
        center = effect - (cross * (beta - mode)[:, None]).sum(0) / curvature
        shift, log_node = _nodes(x, r, n, place, beta, center, 1 / jnp.sqrt(curvature))
        total = jax.nn.logsumexp(log_node, axis=-1)
        log_weight = total.sum() + _log_prior(place, beta, grouped) - log_proposal - log_density
        spread = jnp.exp(place[1]) if grouped else jnp.zeros(())
        return beta, place[0], spread, log_weight, shift, log_node - total[:, None]

    def propose(moments, _):
        """Draw standardised (a, slope) around these moments, weigh, and learn from the weights better moments."""
        mean, root = moments
        standard = mean + normal @ root.T
        found = jax.vmap(partial(weighed, moments))(place, fits, log_proposal, uniform[:, 4], standard)
        weight = jax.nn.softmax(_TEMPER * found[3])
        mean = weight @ standard
        off = standard - mean
        covariance = (weight * off.T) @ off + _LEAST_VARIANCE * jnp.eye(2)
        return (mean, jnp.linalg.cholesky(covariance)), found

    _, rounds = jax.lax.scan(propose, (jnp.zeros(2), _INFLATION * jnp.eye(2)), length=_ROUNDS)
    return jax.tree.map(lambda leaf: leaf[-1], rounds)


def _scored(x, r, n, place, start, steps):
    """Mode of the quasi-likelihood of (a, slope) and the groups' effects at one (log nu, log tau), and its curvature.

    The variance of r given n labels is n m (1 - m) (nu + n) / (nu + 1), that of the beta-binomial distribution. With
    the Hessian [[A, C], [C', D]], D being diagonal, the precision of (a, slope) is A - C D^-1 C'.

    Returns
    -------
    mode (2,), effects (G,), precision (3,) as [00, 01, 11], D (G,), C (2, G)
    """
    strength = jnp.exp(place[0])
    count = (strength + 1) / (strength + jnp.maximum(n, 1)) * n
    agreeing = (strength + 1) / (strength + jnp.maximum(n, 1)) * r
    grouped = x.shape[0] > 1
    between = jnp.exp(-2 * place[1]) if grouped else jnp.inf
    center, scale = jnp.array(CALIBRATED), DEPARTURES[0] * jnp.array(UNITS)

    def curvature(m):
        w = count * m * (1 - m)
        wx = w * x
        cross = jnp.stack([w.sum(-1), wx.sum(-1)])
        d = cross[0] + between
        a = jnp.stack([w.sum() + scale[0] ** -2, wx.sum(), (wx * x).sum() + scale[1] ** -2])
        taken = jnp.stack([cross[0] * cross[0], cross[0] * cross[1], cross[1] * cross[1]]) / d
        return a - taken.sum(-1), d, cross

    def step(_, state):
        beta, effect = state
        m = jax.nn.sigmoid(beta[0] + beta[1] * x + effect[:, None])
        precision, d, cross = curvature(m)
        off = agreeing - count * m
        score = jnp.stack([off.sum(), (off * x).sum()]) - (beta - center) / scale**2
        pull = off.sum(-1) - (between * effect if grouped else 0.0)
        move = _solved(precision, score - (cross * (pull / d)).sum(-1))
        moves = (pull - (cross * move[:, None]).sum(0)) / d
        largest = jnp.maximum(1, jnp.maximum(jnp.abs(move).max(), jnp.abs(moves).max()))
        return beta + move / largest, effect + moves / largest

    beta, effect = jax.lax.fori_loop(0, steps, step, start)
    return beta, effect, *curvature(jax.nn.sigmoid(beta[0] + beta[1] * x + effect[:, None]))


def _solved(precision, score):
    """Solve [[p, q], [q, s]] y = score."""
    p, q, s = precision
    return jnp.stack([s * score[0] - q * score[1], p * score[1] - q * score[0]]) / (p * s - q * q)


def _departures(mode, precision):
    """Gaussian approximations of the posterior of (a, slope) for each departure, from that for the first.

    With precisions P for the first departure and L_j of the prior, P_j = P - L_0 + L_j. The mode being d away from the
    calibrated values, the mean is P_j^-1 P d away, and the evidence |L_j|^(1/2) |P_j|^(-1/2) exp(d' P P_j^-1 P d / 2).

    Returns
    -------
    means (J, 2), precisions (J, 3), logarithms of the evidence over that of the first (J,)
    """
    units, departures = jnp.array(UNITS), jnp.array(DEPARTURES)
    prior = (departures[:, None] * units) ** -2  # (J, 2)
    more = prior - prior[0]
    precisions = precision + jnp.stack([more[:, 0], jnp.zeros(len(more)), more[:, 1]], axis=-1)
    off = mode - jnp.array(CALIBRATED)
    pull = jnp.stack([precision[0] * off[0] + precision[1] * off[1], precision[1] * off[0] + precision[2] * off[1]])
    means = jax.vmap(_solved, (0, None))(precisions, pull)
    determinants = precisions[:, 0] * precisions[:, 2] - precisions[:, 1] ** 2
    evidence = 0.5 * (jnp.log(prior).sum(-1) - jnp.log(determinants) + means @ pull)
    return means + jnp.array(CALIBRATED), precisions, evidence - evidence[0]


def _drawn(mode, precision, choice, standard, mean, root):
    """Turn a uniform number and standardised ones (2,) into a draw of (a, slope), and the draws' log density there.

    A departure is chosen; inside it the standardised numbers have that mean and that root of the covariance.
    """
    means, precisions, evidence = _departures(mode, precision)
    share = jax.nn.softmax(evidence)
    chosen = jnp.clip(jnp.searchsorted(jnp.cumsum(share), choice), 0, len(share) - 1)
    p, q, s = precisions.T
    left = jnp.sqrt(s - q * q / p)
    second = standard[1] / left[chosen]
    beta = means[chosen] + jnp.stack([standard[0] / jnp.sqrt(p[chosen]) - (q / p)[chosen] * second, second])
    first, second = (beta - means).T
    back = jnp.stack([jnp.sqrt(p) * (first + q / p * second), left * second]) - mean[:, None]
    lower = back[0] / root[0, 0], (back[1] - root[1, 0] / root[0, 0] * back[0]) / root[1, 1]
    log_densities = -0.5 * (lower[0] ** 2 + lower[1] ** 2) + 0.5 * jnp.log(p) + jnp.log(left)
    log_density = jax.nn.logsumexp(log_densities + jnp.log(share)) - math.log(2 * math.pi)
    return beta, log_density - jnp.log(root[0, 0] * root[1, 1])


def _on_grid(x, r, n, low, high, near):
    """Laplace's approximation of the log posterior density on a grid of (log nu, log tau), (J, J), or (J, 1).

    Also returns the mean of the fits, near which others are sought.
    """
    across = _GRID if x.shape[0] > 1 else 1
    width = (high - low) / jnp.array([_GRID, across])
    rows, columns = jnp.meshgrid(jnp.arange(_GRID), jnp.arange(across), indexing="ij")
    places = low + width * (jnp.stack([rows.ravel(), columns.ravel()], axis=-1) + 0.5)

    def log_mass(place):
        beta, effect, precision, curvature, _cross = _scored(x, r, n, place, near, _MORE_STEPS)
        strength = jnp.exp(place[0])
        m = probability(beta[0] + beta[1] * x + effect[:, None])
        gain = log_rising(strength * m, r) + log_rising(strength * (1 - m), n - r) - log_rising(strength, n)
        density = gain.sum() + _log_prior_of_place(place, across > 1)
        density += jax.nn.logsumexp(_departures(beta, precision)[2])
        density -= 0.5 * jnp.log(precision[0] * precision[2] - precision[1] ** 2)
        density -= 0.5 * (((beta - jnp.array(CALIBRATED)) / jnp.array(UNITS) / DEPARTURES[0]) ** 2).sum()
        if across > 1:
            standard = effect * jnp.exp(-place[1])
            density -= 0.5 * (standard**2 + jnp.log(curvature) + 2 * place[1]).sum()
        return density, beta, effect

    density, beta, effect = jax.vmap(log_mass)(places)
    weight = jax.nn.softmax(density)
    return density.reshape(_GRID, across), (weight @ beta, weight @ effect)


def _zoomed(log_mass, low, high):
    """Narrow a grid to where its mass is."""
    mass = jnp.exp(log_mass - jax.nn.logsumexp(log_mass))
    ends = []
    for axis in range(2):
        share, n_cells = mass.sum(1 - axis), log_mass.shape[axis]
        width = (high[axis] - low[axis]) / n_cells
        middle = low[axis] + width * (jnp.arange(n_cells) + 0.5)
        mean = share @ middle
        reach = _REACH * jnp.sqrt(share @ (middle - mean) ** 2 + width**2 / 12)
        ends.append((jnp.maximum(low[axis], mean - reach), jnp.minimum(high[axis], mean + reach)))
    return tuple(jnp.stack(end) for end in zip(*ends, strict=True))


def _from_histogram(log_mass, low, high, uniform):
    """Turn uniform numbers (H, 2) into draws from a histogram, the grid being interpolated, and their log density."""
    fine = tuple(cells * _FINER if cells > 1 else 1 for cells in log_mass.shape)
    log_mass = jax.image.resize(log_mass, fine, "cubic")
    mass = jnp.exp(log_mass - jax.nn.logsumexp(log_mass))
    mass = (1 - _FLOOR) * mass + _FLOOR / mass.size
    n_rows, n_columns = mass.shape
    rows = jnp.concatenate([jnp.zeros(1), jnp.cumsum(mass.sum(1))])
    first = jnp.interp(uniform[:, 0] * rows[-1], rows, jnp.arange(n_rows + 1.0))
    row = jnp.clip(first.astype(int), 0, n_rows - 1)
    columns = jnp.concatenate([jnp.zeros((n_rows, 1)), jnp.cumsum(mass, axis=1)], axis=1)[row]
    second = jax.vmap(jnp.interp, (0, 0, None))(uniform[:, 1] * columns[:, -1], columns, jnp.arange(n_columns + 1.0))
    column = jnp.clip(second.astype(int), 0, n_columns - 1)
    width = (high - low) / jnp.array(mass.shape)
    area = width[0] if n_columns == 1 else width[0] * width[1]
    return low + width * jnp.stack([first, second], axis=-1), jnp.log(mass[row, column] / area)


def _nodes(x, r, n, place, beta, center, width):
    """Effects of every group at its nodes, (G, Q), and log v_q times the probability of the group's labels there.

    int f(u) N(u; 0, tau^2) du = sum_q v_q f(u_q) with u_q = center + width y_q and
    v_q = w_q width N(u_q; 0, tau^2) / N(y_q; 0, 1), where sum_q w_q f(y_q) integrates over a standard normal variable.
    """
    strength = jnp.exp(place[0])
    whole = log_rising(strength, n).sum(-1)
    if x.shape[0] == 1:
        shift = log_node = jnp.zeros((1, 1))
    else:
        node, log_node = (jnp.asarray(value) for value in _hermite())
        shift = center[:, None] + width[:, None] * node
        log_node = log_node + 0.5 * node**2 - 0.5 * (shift * jnp.exp(-place[1])) ** 2
        log_node += jnp.log(width)[:, None] - place[1]
    m = probability((beta[0] + beta[1] * x)[:, None] + shift[..., None])  # (G, Q, B)
    r, n = r[:, None], n[:, None]
    gain = log_rising(strength * m, r) + log_rising(strength * (1 - m), n - r)
    return shift, log_node + gain.sum(-1) - whole[:, None]


def _log_prior(place, beta, grouped: bool):
    """Log prior density of (log nu, log tau, a, slope)."""
    departures = jnp.array(DEPARTURES)
    standard = (beta - jnp.array(CALIBRATED)) / jnp.array(UNITS) / departures[:, None]
    log_densities = -0.5 * (standard**2).sum(-1) - 2 * jnp.log(departures)
    constant = math.log(2 * math.pi * UNITS[0] * UNITS[1] * len(DEPARTURES))
    return _log_prior_of_place(place, grouped) + jax.nn.logsumexp(log_densities) - constant


def _log_prior_of_place(place, grouped: bool):
    """Log prior density of (log nu, log tau)."""
    priors = [LOG_STRENGTH, LOG_SPREAD] if grouped else [LOG_STRENGTH]
    return sum(
        -0.5 * ((place[i] - mean) / scale) ** 2 - math.log(scale) - 0.5 * math.log(2 * math.pi)
        for i, (mean, scale) in enumerate(priors)
    )
