"""One Newton step for labels that are latent: an exact solve of a system of K C equations in O(K C^3), by the tree.

Let m_yk = theta_y psi_yk be the share of items of class y in block k, h_k = sum_y m_yk, pi_yk = m_yk / h_k, and m_y(nu)
the sum of m_yk below node nu. With n_yk labelled and u_k unlabelled items, the log posterior is

    F = sum_yk n_yk log m_yk + sum_k u_k log h_k + sum_yk B_yk log m_yk - sum_y sum_nu c_y(nu) log m_y(nu),

nu over inner nodes, the prior being in Minka's form: B are the pseudo-counts of the leaves, and c_y(nu) those of the
children of nu in sum less that of nu itself. As F is homogeneous, F - T sum m with T = M + sum A, A the pseudo-counts
of the classes, has the same maximum without a constraint.

Newton's method works on log h_k and the log-odds of pi_.k. There the terms of the data are concave and separate, and in
the first-order change d of log m every inner node adds c d(nu)^2 / 2, where d(nu) is the mean of d below nu weighted
by m: the quadratic model is a Gaussian tree with a C-vector at each node. One pass up eliminates the leaves (the
distribution of a node's change given all below it: a mean and a covariance), one pass down substitutes. In changes of
mass, m d, that distribution is the plain sum over the children.

Plain EM would need about M / (number of labels) steps, because in EM's terms the labels are a tiny part of the
information; here that ratio does not matter, and convergence is quadratic.
"""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple, TypeVar

from bayes_assess._tools import engine
from bayes_assess._tools.engine import xp
from bayes_assess._tools.shapes import Array, Float, Scalar
from bayes_assess.models.dirichlet_tree.tree import Tree

Masses = Float[Array, "C n"]  # interleaved order
Weights = Float[Array, " n"]
T = TypeVar("T")

# A leaf's precision matrix must keep this part of the determinant that the prior alone gives it.
_LEAST_DETERMINANT = 0.1
_LEAST_FACTOR = 1e-12  # of that of many classes, in the place of 0


class Problem(NamedTuple):
    """What a step needs of the data and the prior, in interleaved order; b^D leaves, padded ones all 0."""

    labelled: Masses  # n
    unlabelled: Weights  # u
    leaf: Masses  # B
    inner: tuple[Masses, ...]  # c, levels 0 to D - 1
    total: Float[Array, ""]  # T


def direction(tree: Tree, problem: Problem, mass: Masses) -> tuple[Masses, Float[Array, ""]]:
    """Compute the Newton direction in log m at positive masses (C, b^D), and the rise of F that the model expects."""
    algebra: Any = _Pair if mass.shape[0] == 2 else _Dense
    curvature, pull = _prior(tree, problem, mass)
    gradient_prior = problem.leaf - pull
    size = class_sum(mass)
    share = over(mass, size)
    gradient = problem.labelled + gradient_prior + problem.unlabelled * share - problem.total * mass
    weight = class_sum(problem.labelled) + class_sum(gradient_prior)
    covariance, mean = algebra.leaf(mass, share, weight, problem.total * size, pull, gradient)
    moments = [(covariance, mean)]
    for level in range(tree.n_levels - 1, -1, -1):
        summed = engine.tree_map(partial(tree.sibling_sums, level=level + 1), moments[-1])
        covariance, mean, curvature[level] = algebra.node(*summed, algebra.vector(curvature[level]))
        moments.append((covariance, mean))
    moments.reverse()
    change = mean  # of the root's masses; below, of a level's
    force = _minus(None, curvature[0], change)
    for level in range(1, tree.n_levels + 1):
        covariance, mean = moments[level]
        force = engine.tree_map(partial(tree.to_children, level=level), force)
        change = engine.tree_map(xp.subtract, mean, algebra.times(covariance, force))
        if level < tree.n_levels:
            force = _minus(force, curvature[level], change)
    step = over(algebra.matrix(change), mass)
    return step, (gradient * step).sum() / 2


def move(mass: Masses, step: Masses, longest: Float[Array, ""] | float) -> Masses:
    """Take a step in (log h, log-odds of pi) given by its first-order change of log m, cut to `longest`."""
    step = step * xp.minimum(1.0, longest / xp.maximum(xp.abs(step).max(), longest))
    size = class_sum(mass)
    share = over(mass, size)
    moved = share * xp.exp(step)
    return moved * over(size * xp.exp(class_sum(share * step)), class_sum(moved))


def objective(tree: Tree, problem: Problem, mass: Masses) -> Float[Array, ""]:
    """Compute F - T (sum m - 1): the log posterior, up to a constant, where the masses sum to 1."""
    value = _log_sum(problem.labelled, mass) + _log_sum(problem.unlabelled, class_sum(mass))
    value += _log_sum(problem.leaf, mass) - problem.total * (mass.sum() - 1)
    for level, coefficient in reversed(list(enumerate(problem.inner, start=1))):
        mass = tree.sibling_sums(mass, level)
        value -= _log_sum(coefficient, mass)
    return value


def class_sum(values: Masses) -> Weights:
    """Sum over classes; for a few of them by slices, which compile to better code than a reduction."""
    return sum(values[1:], start=values[0]) if len(values) <= 4 else values.sum(0)


def over(numerator: Array, denominator: Array) -> Array:
    """Divide where the denominator is not 0, and leave the numerator where it is, which is on padding."""
    return numerator / xp.where(denominator == 0, 1.0, denominator)


def _prior(tree: Tree, problem: Problem, mass: Masses) -> tuple[list[Array], Masses]:
    """Return c / m(nu)^2 per inner level, and what all the nodes above a leaf take from its gradient, (C, b^D)."""
    levels = [mass]
    for level in range(tree.n_levels, 0, -1):
        levels.append(tree.sibling_sums(levels[-1], level))
    curvature: list[Array] = []
    pull: Scalar = 0.0
    for level, (coefficient, total) in enumerate(zip(problem.inner, levels[:0:-1], strict=True), start=1):
        here = over(coefficient, total)
        pull = tree.to_children(here + pull, level)
        curvature.append(over(here, total))
    return curvature, mass * pull


def _log_sum(weight: Array, value: Array) -> Float[Array, ""]:
    """Sum weight x log(value), no weight counting as 0."""
    return xp.where(weight == 0, 0.0, weight * xp.log(xp.where(weight == 0, 1.0, value))).sum()


def _minus(force: T | None, curvature: T, change: T) -> T:
    """Force on the children of a node: its own less what its curvature takes."""
    own = engine.tree_map(xp.multiply, curvature, change)
    return engine.tree_map(xp.negative, own) if force is None else engine.tree_map(xp.subtract, force, own)


class _Pair:
    """Laws of the change at a node for two classes: covariance (v00, v01, v11), mean (m0, m1), all separate arrays."""

    @staticmethod
    def vector(values: Masses) -> tuple[Weights, Weights]:
        return values[0], values[1]

    @staticmethod
    def matrix(vector: tuple[Weights, Weights]) -> Masses:
        return xp.stack(vector)

    @staticmethod
    def times(covariance, vector):
        (v00, v01, v11), (x0, x1) = covariance, vector
        return v00 * x0 + v01 * x1, v01 * x0 + v11 * x1

    @staticmethod
    def leaf(mass, share, weight, size, pull, gradient):
        (p0, p1), (e0, e1), (m0, m1) = share, pull, mass
        a, c, cross = e0 + size * p0 * p0, e1 + size * p1 * p1, size * p0 * p1
        between = weight * p0 * p1
        exact = (a + between) * (c + between) - (cross - between) ** 2
        keep = (exact > _LEAST_DETERMINANT * e0 * e1) & (a + between > 0)
        between = xp.where(keep, between, xp.maximum(between, 0.0))
        q00, q01, q11 = a + between, cross - between, c + between
        inverse = over(xp.ones_like(q00), q00 * q11 - q01 * q01)
        v00, v01, v11 = q11 * inverse, -q01 * inverse, q00 * inverse
        covariance = m0 * m0 * v00, m0 * m1 * v01, m1 * m1 * v11
        g0, g1 = gradient
        return covariance, (m0 * (v00 * g0 + v01 * g1), m1 * (v01 * g0 + v11 * g1))

    @staticmethod
    def node(covariance, mean, curvature):
        (s00, s01, s11), (q0, q1), (c0, c1) = covariance, mean, curvature
        determinant = s00 * s11 - s01 * s01
        keep = (1 - s00 * c0 > 0) & ((1 - s00 * c0) * (1 - s11 * c1) - s01 * s01 * c0 * c1 > 0)
        c0, c1 = xp.where(keep, c0, 0.0), xp.where(keep, c1, 0.0)
        i00, i11 = 1 - s00 * c0, 1 - s11 * c1  # I - S C, whose inverse times S is (S^-1 - C)^-1
        inverse = 1 / (i00 * i11 - s01 * s01 * c0 * c1)
        mean = (i11 * q0 + s01 * c1 * q1) * inverse, (s01 * c0 * q0 + i00 * q1) * inverse
        return ((s00 - c1 * determinant) * inverse, s01 * inverse, (s11 - c0 * determinant) * inverse), mean, (c0, c1)


class _Dense:
    """The same for any number of classes: covariance (C, C, n), mean (C, n)."""

    @staticmethod
    def vector(values: Masses) -> Masses:
        return values

    @staticmethod
    def matrix(vector: Masses) -> Masses:
        return vector

    @staticmethod
    def times(covariance, vector):
        return (covariance * vector).sum(1)

    @staticmethod
    def leaf(mass, share, weight, size, pull, gradient):
        # The precision is D + r s s', D diagonal. Its inverse is D^-1 - (r / f) (D^-1 s) (D^-1 s)' with
        # f = 1 + r s' D^-1 s (Sherman and Morrison 1950), and its determinant f times that of D: it is positive
        # definite where f and all of D are positive, or where with r > 0 both f and one element of D are negative.
        def parts(weight, pull):
            diagonal, rest = weight * share + pull, size - weight
            ratio = over(share, diagonal)
            return diagonal, ratio, rest, 1 + rest * (share * ratio).sum(0)

        exact, safe = parts(weight, pull), parts(xp.maximum(weight, 0.0), xp.abs(pull))
        diagonal, _, rest, factor = exact
        negative = (diagonal < 0).sum(0)
        keep = ((negative == 0) & (factor > _LEAST_FACTOR)) | ((negative == 1) & (rest > 0) & (factor < -_LEAST_FACTOR))
        diagonal, ratio, rest, factor = (xp.where(keep, one, other) for one, other in zip(exact, safe, strict=True))
        taken = rest / factor
        mean = mass * (over(gradient, diagonal) - taken * ratio * (ratio * gradient).sum(0))
        moved = mass * ratio
        own = xp.eye(len(mass))[:, :, None] * over(mass * mass, diagonal)
        return own - taken * moved[:, None] * moved, mean

    @staticmethod
    def node(covariance, mean, curvature):
        # Padding, and classes of no mass, have no variance at all: their rows are taken out by a 1 on the diagonal.
        eye = xp.eye(len(mean))[:, :, None]
        variance = _diagonal(covariance)
        scale = xp.sqrt(xp.where(variance > 0, variance, 1.0))
        unit = covariance / (scale[:, None] * scale)
        absent = eye * (variance == 0)
        precision = _inverse(unit + absent)
        lessened = precision - eye * (curvature * scale**2)[:, None]
        keep = _is_positive(lessened)
        curvature = xp.where(keep, curvature, 0.0)
        unit = _inverse(xp.where(keep, lessened, precision)) - absent
        mean = (unit * (precision * (mean / scale)).sum(1)).sum(1) * scale
        return unit * (scale[:, None] * scale), mean, curvature


def _diagonal(covariance: Float[Array, "C C n"]) -> Masses:
    """Take the diagonals of the covariances of all nodes, (C, n)."""
    return xp.moveaxis(xp.diagonal(covariance), -1, 0)


def _inverse(matrix: Float[Array, "C C n"]) -> Float[Array, "C C n"]:
    return xp.moveaxis(engine.inverse(xp.moveaxis(matrix, -1, 0)), 0, -1)


def _is_positive(matrix: Float[Array, "C C n"]) -> Float[Array, " n"]:
    return engine.is_positive_definite(xp.moveaxis(matrix, -1, 0))
