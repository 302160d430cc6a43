"""Where the points and nodes of `HierarchicalCalibration` lie, and their weights.

Campaigns have counts (N, G, B) of agreements r and labels n, and the logits x (G, B) of the bins' mean confidences in
common. `place` is (log nu, log tau), `beta` is (a, slope). Arrays over J points of a grid, or H drawn ones, have that
axis after the campaigns.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from bayes_assess._tools import engine
from bayes_assess._tools.axes import x64
from bayes_assess._tools.engine import xp
from bayes_assess.models._numerics.sobol import sobol_points
from bayes_assess.models._numerics.special import log_rising

N_POINTS, N_NODES = 64, 7
# (a, slope) of a calibrated system, and their standard deviations in units of the departure from it.
CALIBRATED, UNITS = (0.0, 1.0), (1.0, 0.7)
DEPARTURES = (2.0, 1.0, 0.3)  # alike probable; modes are found with the first
# All labels of CIFAR-10, 20 Newsgroups and MNIST, in 10 bins, with confidences as they are, sharpened or shuffled, put
# nu between 500 and 2,000, and tau of predicted classes between 0.3 and 0.7.
LOG_SPREAD, LOG_STRENGTH = (math.log(0.3), 1.0), (math.log(1000.0), 2.0)
_GRID, _REACH = 8, 3.5  # cells of the grid to a side, over so many standard deviations to either side
_ZOOMS = 1  # grids after the first, each placed by the one before
_FINER = 4  # cells of the histogram to one of the grid, to a side
_FLOOR = 0.02  # of the histogram's mass, spread evenly
_STEPS, _MORE_STEPS = 12, 4  # of scoring, from the prior and from a near fit
_INFLATION = 1.2  # of the standard deviations of (a, slope) in the proposal, so that weights stay bounded
_MOST_EAGER = 64  # campaigns, up to which NumPy is done before a program is compiled
_ROUNDS = 2  # of that proposal: the second one lies where the weights of the first put it,
_TEMPER, _LEAST_VARIANCE = 0.5, 0.01  # being tempered, since few points may have most of the weight


def probability(logit):
    """Return the probability of a logit, never 0 or 1."""
    # An accuracy expected at 0 or 1 to the last digit would leave Beta(0, nu).
    return xp.clip(engine.sigmoid(logit), 1e-12, 1 - 1e-12)


@lru_cache
def _uniform_points() -> np.ndarray:
    """Quasi-random points of the unit cube, (H, 5), the same for every call."""
    return sobol_points(5, N_POINTS, seed=20)


@lru_cache
def _hermite() -> tuple[np.ndarray, np.ndarray]:
    """Nodes of Gauss and Hermite for a standard normal variable, and logarithms of their weights."""
    node, weight = np.polynomial.hermite_e.hermegauss(N_NODES)
    return node, np.log(weight / math.sqrt(2 * math.pi))


def weighted_points(x, agreements, labels):
    """Place and weigh the points of N campaigns, (N, G, B): compiled, one after the other, in the memory of one.

    Returns
    -------
    coefficients (N, H, 2), log nu (N, H), tau (N, H), log weights (N, H), shifts and their log weights (N, H, G, Q)
    """
    arrays = x, agreements, labels
    # One campaign's are there sooner on NumPy, those of very many if they are compiled, whatever else runs.
    few = len(agreements) <= (_MOST_EAGER if engine.is_eager() else 1)
    with engine.eager(few and not engine.is_traced(*arrays)):
        if engine.is_eager() and len(x) > 1:
            return _of_labelled_groups(*arrays)
        return x64(_weighted_points)(*(xp.asarray(part) for part in (*arrays, _uniform_points())))


def _of_labelled_groups(x, agreements, labels):
    """Do the same with the groups that have labels alone: two of the others, which have the prior, stand for all."""
    x, agreements, labels = (np.asarray(part) for part in (x, agreements, labels))
    known = (labels > 0).any((0, 2))
    some = np.concatenate([np.flatnonzero(known), np.flatnonzero(~known)[:2]])
    number = np.where(known, np.cumsum(known) - 1, len(some) - 1)
    x, agreements, labels = (part[..., some, :] for part in (x, agreements, labels))
    *points, shift, log_node = x64(_weighted_points)(x, agreements, labels, _uniform_points())
    return *points, shift[..., number, :], log_node[..., number, :]


@engine.jit
def _weighted_points(x, agreements, labels, uniform):
    if engine.is_eager():
        return _points(x, agreements, labels, uniform)

    def alone(counts):
        return tuple(leaf[0] for leaf in _points(x, counts[0][None], counts[1][None], uniform))

    return engine.mapped(alone, (agreements, labels))


def _points(x, r, n, uniform):
    """Place the points of the hyperposterior and the nodes of every group, and weigh them; r and n are (N, G, B)."""
    grouped, count = x.shape[0] > 1, len(r)
    r, n = r[:, None], n[:, None]
    location = xp.broadcast_to(xp.array([LOG_STRENGTH[0], LOG_SPREAD[0]]), (count, 2))
    reach = _REACH * xp.array([LOG_STRENGTH[1], LOG_SPREAD[1] if grouped else 0.0])
    start = xp.array(CALIBRATED), xp.zeros(x.shape[0])
    near = _scored(x, r, n, location[:, None], start, _STEPS)[:2]

    def zoom(_, state):
        log_mass, low, high, near = state
        low, high = _zoomed(log_mass, low, high)
        log_mass, near = _on_grid(x, r, n, low, high, near)
        return log_mass, low, high, near

    flat = xp.zeros((count, _GRID, _GRID if grouped else 1))  # the first grid is as wide as the prior
    log_mass, low, high, near = engine.fori_loop(0, 1 + _ZOOMS, zoom, (flat, location - reach, location + reach, near))
    place, log_proposal = _from_histogram(log_mass, low, high, uniform[:, :2])
    mode, effect, precision, curvature, cross = _scored(x, r, n, place, near, _MORE_STEPS)
    normal = engine.ndtri(uniform[:, 2:4])

    def propose(moments, _):
        """Draw standardised (a, slope) around these moments, weigh, and learn from the weights better moments."""
        mean, root = moments
        standard = mean[:, None] + normal @ xp.swapaxes(root, -1, -2)
        beta, log_density = _drawn(mode, precision, uniform[:, 4], standard, mean[:, None], root[:, None])
        center = effect - (cross * (beta - mode)[..., None]).sum(-2) / curvature
        shift, log_node = _nodes(x, r, n, place, beta, center, 1 / xp.sqrt(curvature))
        total = engine.logsumexp(log_node, axis=-1)
        log_weight = total.sum(-1) + _log_prior(place, beta, grouped) - log_proposal - log_density
        spread = xp.exp(place[..., 1]) if grouped else xp.zeros(place.shape[:-1])
        weight = engine.softmax(_TEMPER * log_weight, axis=-1)[..., None]
        mean = (weight * standard).sum(1)
        off = standard - mean[:, None]
        covariance = xp.swapaxes(weight * off, -1, -2) @ off + _LEAST_VARIANCE * xp.eye(2)
        points = beta, place[..., 0], spread, log_weight, shift, log_node - total[..., None]
        return (mean, xp.linalg.cholesky(covariance)), points

    start = xp.zeros((count, 2)), xp.broadcast_to(_INFLATION * xp.eye(2), (count, 2, 2))
    _, rounds = engine.scan(propose, start, xp.arange(_ROUNDS))
    return tuple(leaf[-1] for leaf in rounds)


def _scored(x, r, n, place, start, steps):
    """Mode of the quasi-likelihood of (a, slope) and the groups' effects at (log nu, log tau), and its curvature.

    The variance of r given n labels is n m (1 - m) (nu + n) / (nu + 1), that of the beta-binomial distribution. With
    the Hessian [[A, C], [C', D]], D being diagonal, the precision of (a, slope) is A - C D^-1 C'.

    Parameters
    ----------
    r, n : (N, 1, G, B)
    place : (N, J, 2)
    start : (N, 1, 2) and (N, 1, G), or without the first axes
        Mode and effects to start from.

    Returns
    -------
    mode (N, J, 2), effects (N, J, G), precision (N, J, 3) as [00, 01, 11], D (N, J, G), C (N, J, 2, G)
    """
    strength = xp.exp(place[..., 0])[..., None, None]
    shrink = (strength + 1) / (strength + xp.maximum(n, 1))
    count, agreeing = shrink * n, shrink * r
    grouped = x.shape[0] > 1
    between = xp.exp(-2 * place[..., 1])[..., None] if grouped else xp.inf
    center, scale = xp.array(CALIBRATED), DEPARTURES[0] * xp.array(UNITS)

    def expected(beta, effect):
        return engine.sigmoid(beta[..., 0, None, None] + beta[..., 1, None, None] * x + effect[..., None])

    def curvature(m):
        w = count * m * (1 - m)
        wx = w * x
        cross = xp.stack([w.sum(-1), wx.sum(-1)], axis=-2)
        d = cross[..., 0, :] + between
        squares = [(w.sum((-2, -1))), wx.sum((-2, -1)), (wx * x).sum((-2, -1))]
        a = xp.stack([squares[0] + scale[0] ** -2, squares[1], squares[2] + scale[1] ** -2], axis=-1)
        first, second = cross[..., 0, :], cross[..., 1, :]
        taken = xp.stack([first * first, first * second, second * second], axis=-2) / d[..., None, :]
        return a - taken.sum(-1), d, cross

    def step(_, state):
        beta, effect = state
        m = expected(beta, effect)
        precision, d, cross = curvature(m)
        off = agreeing - count * m
        score = xp.stack([off.sum((-2, -1)), (off * x).sum((-2, -1))], axis=-1) - (beta - center) / scale**2
        pull = off.sum(-1) - (between * effect if grouped else 0.0)
        move = _solved(precision, score - (cross * (pull / d)[..., None, :]).sum(-1))
        moves = (pull - (cross * move[..., None]).sum(-2)) / d
        largest = xp.maximum(1, xp.maximum(xp.abs(move).max(-1), xp.abs(moves).max(-1)))[..., None]
        return beta + move / largest, effect + moves / largest

    start = tuple(xp.broadcast_to(part, (*place.shape[:-1], part.shape[-1])) for part in start)
    beta, effect = engine.fori_loop(0, steps, step, start)
    return beta, effect, *curvature(expected(beta, effect))


def _solved(precision, score):
    """Solve [[p, q], [q, s]] y = score."""
    p, q, s = (precision[..., i] for i in range(3))
    first, second = score[..., 0], score[..., 1]
    return xp.stack([s * first - q * second, p * second - q * first], axis=-1) / (p * s - q * q)[..., None]


def _departures(mode, precision):
    """Gaussian approximations of the posterior of (a, slope) for each departure, from that for the first.

    With precisions P for the first departure and L_j of the prior, P_j = P - L_0 + L_j. The mode being d away from the
    calibrated values, the mean is P_j^-1 P d away, and the evidence |L_j|^(1/2) |P_j|^(-1/2) exp(d' P P_j^-1 P d / 2).

    Returns
    -------
    means (..., J, 2), precisions (..., J, 3), logarithms of the evidence over that of the first (..., J)
    """
    units, departures = xp.array(UNITS), xp.array(DEPARTURES)
    prior = (departures[:, None] * units) ** -2  # (J, 2)
    more = prior - prior[0]
    more = xp.stack([more[:, 0], xp.zeros(len(more)), more[:, 1]], axis=-1)
    precisions = precision[..., None, :] + more
    off = mode - xp.array(CALIBRATED)
    sides = precision[..., :2] * off[..., :1] + precision[..., 1:] * off[..., 1:]
    pull = sides[..., None, :]
    means = _solved(precisions, pull)
    determinants = precisions[..., 0] * precisions[..., 2] - precisions[..., 1] ** 2
    evidence = 0.5 * (xp.log(prior).sum(-1) - xp.log(determinants) + (means * pull).sum(-1))
    return means + xp.array(CALIBRATED), precisions, evidence - evidence[..., :1]


def _drawn(mode, precision, choice, standard, mean, root):
    """Turn uniform numbers and standardised ones (..., 2) into draws of (a, slope), and the draws' log densities there.

    A departure is chosen; inside it the standardised numbers have that mean and that root of the covariance.
    """
    means, precisions, evidence = _departures(mode, precision)
    share = engine.softmax(evidence)
    chosen = xp.minimum((xp.cumsum(share, axis=-1) < choice[..., None]).sum(-1), share.shape[-1] - 1)[..., None]
    p, q, s = (precisions[..., i] for i in range(3))
    conditional = xp.sqrt(s - q * q / p)
    at_p, at_q, at_conditional = (xp.take_along_axis(part, chosen, -1)[..., 0] for part in (p, q / p, conditional))
    second = standard[..., 1] / at_conditional
    away = xp.stack([standard[..., 0] / xp.sqrt(at_p) - at_q * second, second], axis=-1)
    beta = xp.take_along_axis(means, chosen[..., None], -2)[..., 0, :] + away
    first, second = (beta[..., None, i] - means[..., i] for i in range(2))
    back = xp.sqrt(p) * (first + q / p * second) - mean[..., :1], conditional * second - mean[..., 1:]
    scale, tilt, rest = (root[..., i, j][..., None] for i, j in ((0, 0), (1, 0), (1, 1)))
    lower = back[0] / scale, (back[1] - tilt / scale * back[0]) / rest
    log_densities = -0.5 * (lower[0] ** 2 + lower[1] ** 2) + 0.5 * xp.log(p) + xp.log(conditional)
    log_density = engine.logsumexp(log_densities + xp.log(share), axis=-1) - math.log(2 * math.pi)
    return beta, log_density - xp.log(root[..., 0, 0] * root[..., 1, 1])


def _on_grid(x, r, n, low, high, near):
    """Laplace's approximation of the log posterior density on a grid of (log nu, log tau), (N, J, J), or (N, J, 1).

    Also returns the mean of the fits, near which others are sought.
    """
    across = _GRID if x.shape[0] > 1 else 1
    width = (high - low) / xp.array([_GRID, across])
    rows, columns = xp.meshgrid(xp.arange(_GRID), xp.arange(across), indexing="ij")
    place = low[:, None] + width[:, None] * (xp.stack([rows.ravel(), columns.ravel()], axis=-1) + 0.5)
    beta, effect, precision, curvature, _cross = _scored(x, r, n, place, near, _MORE_STEPS)
    strength = xp.exp(place[..., 0])[..., None, None]
    m = probability(beta[..., 0, None, None] + beta[..., 1, None, None] * x + effect[..., None])
    gain = log_rising(strength * m, r) + log_rising(strength * (1 - m), n - r) - log_rising(strength, n)
    density = gain.sum((-2, -1)) + _log_prior_of_place(place, across > 1)
    density = density + engine.logsumexp(_departures(beta, precision)[2], axis=-1)
    density = density - 0.5 * xp.log(precision[..., 0] * precision[..., 2] - precision[..., 1] ** 2)
    density = density - 0.5 * (((beta - xp.array(CALIBRATED)) / xp.array(UNITS) / DEPARTURES[0]) ** 2).sum(-1)
    if across > 1:
        log_spread = place[..., 1, None]
        density = density - 0.5 * ((effect * xp.exp(-log_spread)) ** 2 + xp.log(curvature) + 2 * log_spread).sum(-1)
    weight = engine.softmax(density, axis=-1)[:, None]
    return density.reshape(-1, _GRID, across), (weight @ beta, weight @ effect)


def _masses(log_mass):
    """Turn logarithms of masses on grids (N, J, J) into masses that sum to 1."""
    return engine.softmax(log_mass.reshape(len(log_mass), -1), axis=-1).reshape(log_mass.shape)


def _zoomed(log_mass, low, high):
    """Narrow grids to where their mass is."""
    mass = _masses(log_mass)
    ends = []
    for axis in range(2):
        share, n_cells = mass.sum(2 - axis), log_mass.shape[1 + axis]
        width = (high[:, axis] - low[:, axis]) / n_cells
        middle = low[:, axis, None] + width[:, None] * (xp.arange(n_cells) + 0.5)
        mean = (share * middle).sum(-1)
        reach = _REACH * xp.sqrt((share * (middle - mean[:, None]) ** 2).sum(-1) + width**2 / 12)
        ends.append((xp.maximum(low[:, axis], mean - reach), xp.minimum(high[:, axis], mean + reach)))
    return tuple(xp.stack(end, axis=-1) for end in zip(*ends, strict=True))


@lru_cache
def _interpolation(n: int, n_fine: int) -> np.ndarray:
    """Return the weights of n numbers on a line in the n_fine numbers between them (Keys 1981, cubic convolution)."""
    place = (np.arange(n_fine)[:, None] + 0.5) * n / n_fine - 0.5
    away = np.abs(place - np.arange(n))
    near, far = (1.5 * away - 2.5) * away**2 + 1, ((-0.5 * away + 2.5) * away - 4) * away + 2
    weight = np.where(away < 1, near, np.where(away < 2, far, 0.0))
    return weight / weight.sum(1, keepdims=True)  # at the ends neighbours are missing


def _from_histogram(log_mass, low, high, uniform):
    """Turn uniform numbers (H, 2) into draws from histograms, the grids being interpolated, and their log densities."""
    fine = tuple(cells * _FINER if cells > 1 else 1 for cells in log_mass.shape[1:])
    rows, columns = (_interpolation(*cells) for cells in zip(log_mass.shape[1:], fine, strict=True))
    mass = _masses(xp.asarray(rows) @ log_mass @ xp.asarray(columns).T)
    mass = (1 - _FLOOR) * mass + _FLOOR / (fine[0] * fine[1])
    first, row = _cells_at(mass.sum(-1)[:, None], uniform[:, 0])
    mass = xp.take_along_axis(mass, row[..., None], axis=1)  # (N, H, columns)
    second, column = _cells_at(mass, uniform[:, 1])
    width = (high - low) / xp.array(fine)
    area = width[:, 0] if fine[1] == 1 else width[:, 0] * width[:, 1]
    place = low[:, None] + width[:, None] * xp.stack([first, second], axis=-1)
    return place, xp.log(xp.take_along_axis(mass, column[..., None], axis=-1)[..., 0] / area[:, None])


def _cells_at(mass, uniform):
    """Invert the distribution functions of histograms (..., J): places in units of cells, and the cells."""
    upto = xp.cumsum(mass, axis=-1)
    sought = uniform * upto[..., -1]
    cell = xp.minimum((upto <= sought[..., None]).sum(-1), mass.shape[-1] - 1)
    shape = (*cell.shape, mass.shape[-1])
    end, own = (xp.take_along_axis(xp.broadcast_to(part, shape), cell[..., None], -1)[..., 0] for part in (upto, mass))
    return cell + 1 - (end - sought) / own, cell


def _nodes(x, r, n, place, beta, center, width):
    """Effects of every group at its nodes, (N, H, G, Q), and log v_q times the probability of the group's labels there.

    int f(u) N(u; 0, tau^2) du = sum_q v_q f(u_q) with u_q = center + width y_q and
    v_q = w_q width N(u_q; 0, tau^2) / N(y_q; 0, 1), where sum_q w_q f(y_q) integrates over a standard normal variable.
    """
    strength = xp.exp(place[..., 0])[..., None, None]
    whole = log_rising(strength, n).sum(-1)
    if x.shape[0] == 1:
        shift = log_node = xp.zeros((*place.shape[:-1], 1, 1))
    else:
        node, log_node = (xp.asarray(value) for value in _hermite())
        log_spread = place[..., 1, None, None]
        shift = center[..., None] + width[..., None] * node
        log_node = log_node + 0.5 * node**2 - 0.5 * (shift * xp.exp(-log_spread)) ** 2
        log_node = log_node + xp.log(width)[..., None] - log_spread
    curve = beta[..., :1, None] + beta[..., 1:, None] * x
    m = probability(curve[..., None, :] + shift[..., None])  # (N, H, G, Q, B)
    r, n, strength = r[..., None, :], n[..., None, :], strength[..., None]
    gain = log_rising(strength * m, r) + log_rising(strength * (1 - m), n - r)
    return shift, log_node + gain.sum(-1) - whole[..., None]


def _log_prior(place, beta, grouped: bool):
    """Log prior density of (log nu, log tau, a, slope), (N, H)."""
    departures = xp.array(DEPARTURES)
    standard = ((beta - xp.array(CALIBRATED)) / xp.array(UNITS))[..., None, :] / departures[:, None]
    log_densities = -0.5 * (standard**2).sum(-1) - 2 * xp.log(departures)
    constant = math.log(2 * math.pi * UNITS[0] * UNITS[1] * len(DEPARTURES))
    return _log_prior_of_place(place, grouped) + engine.logsumexp(log_densities, axis=-1) - constant


def _log_prior_of_place(place, grouped: bool):
    """Log prior density of (log nu, log tau)."""
    priors = [LOG_STRENGTH, LOG_SPREAD] if grouped else [LOG_STRENGTH]
    return sum(
        -0.5 * ((place[..., i] - mean) / scale) ** 2 - math.log(scale) - 0.5 * math.log(2 * math.pi)
        for i, (mean, scale) in enumerate(priors)
    )
