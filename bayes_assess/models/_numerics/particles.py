"""Sequential Monte Carlo over labels for several models at once, whose parameters are standard normal before any label.

Every model holds S particles. A label multiplies their weights by its probability, and the mean factor is the label's
probability under the model, so that the evidence of the models comes with it. When the weights of a model have become
uneven, its particles are resampled and moved by Metropolis steps that leave its posterior as it is (iterated batch
importance sampling, Chopin 2002, Biometrika 89). Steps are autoregressive ones in the Gaussian fitted to other
particles, drawn towards the prior, and a random walk in it.

Everything is of 32 bits: sums of a few hundred logarithms lose 1e-4 of one.

Shapes: models B, particles S, parameters D.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from bayes_assess._tools import engine
from bayes_assess._tools.engine import xp
from bayes_assess._tools.shapes import Array, Bool, Float, Int, Scalar

N_MOVES = 5
_RIDGE = 1e-3  # variance added to that of the particles
_N_PARTS = 8  # of the particles, each of which moves by the Gaussian of all others
_DOUBT = 4.0  # precision that labels must have added, squared, for most of it to be believed of few particles
_STEPS = np.array([(0, 0), (0.5, 0), (0, 0.5), (0, 0), (0.8, 0)], np.float32)  # persistence, or width of a walk
# Steps of parameters that all groups share (1) or of those of each group (0), with persistence and width as above. The
# first one stays where it is, and finds the likelihood there.
_GROUP_STEPS = np.array(
    [
        *[(1, 1, 0), (1, 0.5, 0), (0, 0.5, 0), (1, 0.8, 0), (0, 0, 0), (1, 0, 0)],
        *[(0, 0.8, 0), (1, 0.9, 0), (0, 0, 0.7), (1, 0, 0.4), (0, 0.5, 0), (1, 0.8, 0)],
        *[(0, 0, 0), (1, 0.5, 0), (0, 0.8, 0), (1, 0, 0), (0, 0, 0.7)],
    ],
    np.float32,
)
N_GROUP_STEPS = len(_GROUP_STEPS)
_UNEVEN = 0.5  # effective share of the particles below which they are resampled
_NEGLIGIBLE = 1e-7  # weight of a model below which nobody sees whether its particles are even


class Particles(NamedTuple):
    """Weighted particles of several models.

    Attributes
    ----------
    place : (B, S, D) floats
        Parameters, standard normal before any label.
    log_weight : (B, S) floats
        Up to a constant per model.
    log_evidence : (B,) floats
        Log probability of all labels so far under every model.
    log_likelihood : (B, S) floats
        Log probability of all labels so far that every particle gives to them, as `observe` adds it up.
    """

    place: Float[Array, "B S D"]
    log_weight: Float[Array, "B S"]
    log_evidence: Float[Array, " B"]
    log_likelihood: Float[Array, "B S"]


def prior_particles(rng: np.random.Generator, shape: tuple[int, int, int]) -> Particles:
    """Draw particles before any label, (B, S, D), on the host."""
    place = rng.standard_normal(shape, np.float32)
    nothing = np.zeros(shape[:2], np.float32)
    return Particles(place, nothing, np.zeros(shape[:1], np.float32), nothing)


def observe(particles: Particles, log_probability: Float[Array, "B S"]) -> Particles:
    """Weigh particles by the log probability that each gives to what was seen, whose mean is the models' evidence."""
    weight = particles.log_weight + log_probability
    gained = engine.logsumexp(weight, 1) - engine.logsumexp(particles.log_weight, 1)
    evidence, likelihood = particles.log_evidence + gained, particles.log_likelihood + log_probability
    return particles._replace(log_weight=weight, log_evidence=evidence, log_likelihood=likelihood)


def log_joint_weight(particles: Particles, log_prior: Float[Array, " B"]) -> Float[Array, "B S"]:
    """Return the log weight of every particle among those of all models; the weights sum to 1."""
    within = engine.log_softmax(particles.log_weight, 1)
    return engine.log_softmax(log_prior + particles.log_evidence)[:, None] + within


def uneven(particles: Particles, log_prior: Float[Array, " B"], least: float | None = None) -> Bool[Array, " B"]:
    """Tell which models' particles are to be resampled and moved: whose effective share is below the least."""
    least = _UNEVEN if least is None else least
    weight = engine.softmax(particles.log_weight, 1)
    effective = 1 / (weight**2).sum(1)
    counts = engine.softmax(log_prior + particles.log_evidence) > _NEGLIGIBLE
    return counts & (effective < least * weight.shape[1])


def resampled(offset: Scalar, log_weight: Float[Array, " S"], n: int) -> Int[Array, " n"]:
    """Draw `n` particles by their weights, systematically: each as often as n times its weight, up to one.

    `offset` is uniform in [0, 1), or 1/2 where it need not be random.
    """
    weight = xp.exp(log_weight - log_weight.max())
    upto = _sums_up_to(weight)
    wanted = (offset + xp.arange(n, dtype=weight.dtype)) * (upto[-1] / n)
    return xp.minimum((upto <= wanted[:, None]).sum(1), len(weight) - 1)


def _sums_up_to(weight: Float[Array, " S"]) -> Float[Array, " S"]:
    """Compute cumulative sums; compiled, in few operations instead of the dozen that `cumsum` compiles to."""
    if engine.is_eager():
        return xp.cumsum(weight, dtype=np.float64).astype(weight.dtype)
    n = len(weight)
    size = next(size for size in range(math.isqrt(n), 0, -1) if n % size == 0)

    def sums(values, strictly):  # of everything before, and of the value itself
        places = np.arange(values.shape[-1])
        before = places[:, None] < places + (not strictly)
        return xp.matmul(values, before.astype(np.float32), precision="highest")

    parts = weight.reshape(n // size, size)
    return (sums(parts, False) + sums(parts.sum(1), True)[:, None]).reshape(n)


def n_random(n_particles: int, dimension: int, n_groups: int = 0, n_steps: int = N_GROUP_STEPS) -> int:
    """Return how many uniform numbers `moved` takes, or `moved_by_groups` in so many steps."""
    n_moves = n_steps if n_groups else N_MOVES
    return 1 + n_moves * n_particles * (dimension + max(n_groups, 1))


def moved(
    uniform: Float[Array, " N"],
    place: Float[Array, "S D"],
    log_weight: Float[Array, " S"],
    known: Float[Array, " S"],
    log_likelihood: Callable[[Float[Array, "S D"]], Float[Array, " S"]],
) -> tuple[Float[Array, "S D"], Float[Array, " S"]]:
    r"""Resample particles, and move them by Metropolis steps that leave their posterior as it is.

    Each of eight parts takes the steps of the Gaussian that is fitted to all others. With C their covariance and c^2
    the doubt, that of the proposals is

    .. math::
        C' = (I + J^3 (J^2 + c^2 I)^{-1})^{-1}, \qquad J = C^{-1} - I ,

    J being what labels have added to the precision, which is 1 before any: where it is far beyond what chance makes of
    so few particles it stays, and where it is small the proposals are those of the prior. It is computed as a fraction
    of polynomials of C whose denominator is never near 0,

    .. math::
        C' = C D (D - c^2 (I - C) C^2)^{-1}, \qquad D = (I - C)^2 + c^2 C^2 .

    Of 17 parameters and 256 particles twice to three times as many steps are taken as with C and halves in the place of
    parts. Fitted to the particles that it moves the Gaussian would draw them together, by a share of about D / S of
    their variance per round. Copies of one particle lie side by side, so that parts have hardly any in common.

    Parameters
    ----------
    uniform : (`n_random`,)
        Random numbers in (0, 1).
    place : (S, D)
        S is a multiple of eight.
    log_weight : (S,)
    known : (S,)
        What `log_likelihood` is at `place`.
    log_likelihood : callable
        Log probability of all labels so far at each of S parameters.

    Returns
    -------
    place : (S, D)
    log_likelihood : (S,)
        There.
    """
    n, dimension = place.shape
    shape = _N_PARTS, n // _N_PARTS
    chosen = resampled(uniform[0], log_weight, n)
    place, known = place[chosen].reshape(*shape, dimension), known[chosen].reshape(shape)
    centre, factor, whiten = _gaussians_of_others(place)
    random = uniform[1:].reshape(N_MOVES, *shape, dimension + 1)
    # Before the loop: within it the compiler would compute them anew for every cell of the likelihood.
    white_noise = engine.normal_quantile(random[..., 1:])
    noise = xp.einsum("mhse,hde->mhsd", white_noise, factor)
    threshold = engine.log_of_normal(random[..., 0])

    def step(carry, inputs):
        place, white, known = carry
        (rho, width), noise, white_noise, threshold = inputs
        (proposed, proposed_white), gain = _proposed(place, white, centre, white_noise, noise, rho, width)
        log_probability = log_likelihood(proposed.reshape(n, dimension)).reshape(shape)
        accepted = threshold < log_probability - known + gain
        next_place, next_white = (
            xp.where(accepted[..., None], new, old) for new, old in ((proposed, place), (proposed_white, white))
        )
        return (next_place, next_white, xp.where(accepted, log_probability, known)), None

    start = place, engine.product(place - centre, whiten), known
    steps = np.resize(_STEPS, (N_MOVES, 2))
    place, _, known = engine.scan(step, start, (steps, noise, white_noise, threshold))[0]
    return place.reshape(n, dimension), known.reshape(n)


class ParticleGroups(NamedTuple):
    """Groups of items whose parameters come after those that all share, effect by effect.

    Attributes
    ----------
    n_groups : int
    n_shared : int
    apart : boolean
        Whether parameters of a group matter to its own part of the likelihood alone; groups move together otherwise.
    """

    n_groups: int
    n_shared: int
    apart: Bool[Array, ""]


def moved_by_groups(
    uniform: Float[Array, " N"],
    place: Float[Array, "S D"],
    log_weight: Float[Array, " S"],
    log_likelihood: Callable[[Float[Array, "S D"]], Float[Array, "S P"]],
    groups: ParticleGroups,
    n_steps: int = N_GROUP_STEPS,
) -> tuple[Float[Array, "S D"], Float[Array, " S"]]:
    """Resample particles, and move them, parameters of groups apart from those that all groups share.

    Few particles do not tell the covariance of 40 parameters, and steps in all of them are seldom taken. Given what
    groups share they are independent, so that each takes or refuses a step of its own: with as many likelihoods the
    squared errors of posterior means are some twentieth of those of `moved`.

    Parameters
    ----------
    uniform : (`n_random`,)
        Random numbers in (0, 1).
    place : (S, D)
        S is a multiple of eight.
    log_weight : (S,)
    log_likelihood : callable
        Log probability of the labels in parts: those of the groups, and one that no parameters of groups matter to.
    groups : ParticleGroups
    n_steps : int
        At most as many as there are.

    Returns
    -------
    place : (S, D)
    log_likelihood : (S,)
        There.
    """
    n, dimension = place.shape
    n_groups, n_shared, apart = groups
    shape = _N_PARTS, n // _N_PARTS

    def split(values):  # those that all share, (..., 1, H, S, D), and those of each, (..., G, H, S, E)
        own = values[..., n_shared:].reshape(*values.shape[:-2], *shape, -1, n_groups)
        shared = values[..., :n_shared].reshape(*values.shape[:-2], 1, *shape, n_shared)
        return shared, xp.moveaxis(own, -1, -4)

    def joined(shared, own):
        return xp.concatenate([shared.reshape(n, n_shared), xp.moveaxis(own, 0, -1).reshape(n, -1)], axis=1)

    def likelihood(shared, own):  # (P, H, S)
        return log_likelihood(joined(shared, own)).T.reshape(-1, *shape)

    random = uniform[1:].reshape(n_steps, n, dimension + n_groups)
    threshold = xp.moveaxis(engine.log_of_normal(random[..., dimension:]), -1, 1).reshape(n_steps, n_groups, *shape)
    blocks = split(place[resampled(uniform[0], log_weight, n)])
    gaussians = [_gaussians_of_others(block) for block in blocks]
    for_all = _GROUP_STEPS[:n_steps, 0] > 0
    # Before the loop, as in `moved`.
    noise = split(_white_noise(random[..., :dimension], n_shared, for_all))
    noise = [(z, _coloured(z, g[1], moves)) for z, g, moves in zip(noise, gaussians, (for_all, ~for_all), strict=True)]

    def step(carry, inputs):
        held, known = carry
        (of_all, rho, width), noise, threshold = inputs
        of_all = of_all > 0
        moves = (of_all, ~of_all) if engine.is_eager() else (True, True)
        proposed, gains = zip(
            *(
                _proposed(place, white, g[0], white_noise, own_noise, rho, width) if moved else ((place, white), 0.0)
                for (place, white), g, (white_noise, own_noise), moved in zip(
                    held, gaussians, noise, moves, strict=True
                )
            ),
            strict=True,
        )
        (shared, own), (next_shared, next_own) = ([place for place, _ in blocks] for blocks in (held, proposed))
        log_probability = likelihood(xp.where(of_all, next_shared, shared), xp.where(of_all, own, next_own))
        gained = log_probability - known
        of_groups = gained[:-1] + gains[1]
        taken_by_all = of_all & (threshold[:1] < gained.sum(0) + gains[0])
        together = xp.broadcast_to(threshold[:1] < of_groups.sum(0), of_groups.shape)
        taken_by_group = ~of_all & xp.where(apart, threshold < of_groups, together)
        held = tuple(
            tuple(xp.where(taken[..., None], new, old) for new, old in zip(news, olds, strict=True)) if moved else olds
            for taken, news, olds, moved in zip((taken_by_all, taken_by_group), proposed, held, moves, strict=True)
        )
        taken = taken_by_all | xp.concatenate([taken_by_group, taken_by_group[:1]])
        return (held, xp.where(taken, log_probability, known)), None

    start = tuple((block, engine.product(block - g[0], g[2])) for block, g in zip(blocks, gaussians, strict=True))
    nothing = xp.full((n_groups + 1, *shape), -xp.inf, xp.float32)
    held, known = engine.scan(step, (start, nothing), (_GROUP_STEPS[:n_steps], noise, threshold))[0]
    return joined(held[0][0], held[1][0]), known.sum(0).reshape(n)


def _white_noise(
    uniform: Float[Array, "m S D"], n_shared: int, of_all: Bool[np.ndarray, " m"]
) -> Float[Array, "m S D"]:
    """Compute standard normal noise; on NumPy, only of the parameters that a step moves."""
    if not engine.is_eager():
        return engine.normal_quantile(uniform)
    noise = np.zeros_like(uniform)
    for steps, parameters in ((of_all, slice(n_shared)), (~of_all, slice(n_shared, None))):
        noise[steps, :, parameters] = engine.normal_quantile(uniform[steps, :, parameters])
    return noise


def _coloured(
    noise: Float[Array, "m B H S D"], factor: Float[Array, "B H D D"], moves: Bool[np.ndarray, " m"]
) -> Float[Array, "m B H S D"]:
    """Compute noise of Gaussians; on NumPy, only of steps that move these parameters."""
    some = noise[moves] if engine.is_eager() else noise
    coloured = xp.einsum("mbhse,bhde->mbhsd", some, factor)
    return engine.at(xp.zeros_like(noise))[moves].set(coloured) if engine.is_eager() else coloured


def _proposed(place, white, centre, white_noise, noise, rho, width):
    """Propose a step of blocks of parameters, (B, H, S, D): where to, and what it gains besides the likelihood."""
    is_walk = width > 0
    keep, share = xp.where(is_walk, 1.0, rho), xp.where(is_walk, width, xp.sqrt(1 - rho**2))
    proposed, proposed_white = centre + keep * (place - centre) + share * noise, keep * white + share * white_noise
    gain = _squared(place) - _squared(proposed)
    return (proposed, proposed_white), gain + xp.where(is_walk, 0.0, _squared(proposed_white) - _squared(white))


def _squared(deviation: Float[Array, "H S D"]) -> Float[Array, "H S"]:
    return 0.5 * (deviation**2).sum(-1)


def _gaussians_of_others(
    place: Float[Array, "*blocks H S D"],
) -> tuple[Float[Array, "*blocks H 1 D"], Float[Array, "*blocks H D D"], Float[Array, "*blocks H D D"]]:
    """Fit Gaussians to all parts but one: their means, Cholesky factors L of their covariances, and L^-T.

    In 64 bits where JAX has them enabled: what is rounded here decides on one engine alone whether a particle moves.
    """
    n_parts, n, dimension = place.shape[-3:]
    others, given = n * (n_parts - 1), place.dtype
    place = place.astype(xp.zeros(()).dtype)
    eye = xp.eye(dimension, dtype=place.dtype)
    middle = place.mean((-3, -2), keepdims=True)
    away = place - middle
    own = away.sum(-2, keepdims=True)
    centre = (own.sum(-3, keepdims=True) - own) / others
    square = away.mT @ away
    covariance = (square.sum(-3, keepdims=True) - square) / others - centre.mT @ centre
    factor = xp.linalg.cholesky(_towards_prior(covariance + _RIDGE * eye, eye))
    whiten = engine.solve_lower(factor, eye).mT
    return (middle + centre).astype(given), factor.astype(given), whiten.astype(given)


def _towards_prior(covariance: Float[Array, "H D D"], eye: Float[Array, "D D"]) -> Float[Array, "H D D"]:
    """Take back what chance makes of covariances of few particles, see `moved`."""
    complement, square = eye - covariance, covariance @ covariance
    both = complement @ complement + _DOUBT * square
    estimate = xp.linalg.solve(both - _DOUBT * complement @ square, covariance @ both)
    return (estimate + estimate.mT) / 2
