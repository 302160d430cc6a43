"""Sequential Monte Carlo over labels for several models at once, whose parameters are standard normal before any label.

Every model holds S particles. A label multiplies their weights by its probability, and the mean factor is the label's
probability under the model, so that the evidence of the models comes with it. When the weights of a model have become
uneven, its particles are resampled and moved by Metropolis steps that leave its posterior as it is (iterated batch
importance sampling, Chopin 2002, Biometrika 89). Steps alternate: an autoregressive one in the Gaussian fitted to the
other half of the particles, and a random walk in it.

Everything is of 32 bits: sums of a few hundred logarithms lose 1e-4 of one.

Shapes: models B, particles S, parameters D.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from bayes_assess._tools import engine
from bayes_assess._tools.engine import xp
from bayes_assess._tools.shapes import Array, Bool, Float, Int, Scalar

N_MOVES = 13  # the first one only looks where the particles are
_PERSISTENCE = np.array([0.5, 0.8, 0.95], np.float32)  # of autoregressive steps
_STEPS = np.array([0.6, 0.25, 0.1], np.float32)  # of random walks, in standard deviations of the particles
_RIDGE = 1e-3  # variance added to that of the particles
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
    """

    place: Float[Array, "B S D"]
    log_weight: Float[Array, "B S"]
    log_evidence: Float[Array, " B"]


def start(rng: np.random.Generator, shape: tuple[int, int, int]) -> Particles:
    """Draw particles before any label, (B, S, D), on the host."""
    place = rng.standard_normal(shape, np.float32)
    return Particles(place, np.zeros(shape[:2], np.float32), np.zeros(shape[:1], np.float32))


def observe(particles: Particles, log_probability: Float[Array, "B S"]) -> Particles:
    """Weigh particles by the log probability that each gives to what was seen, whose mean is the models' evidence."""
    weight = particles.log_weight + log_probability
    gained = engine.logsumexp(weight, 1) - engine.logsumexp(particles.log_weight, 1)
    return particles._replace(log_weight=weight, log_evidence=particles.log_evidence + gained)


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
    places = xp.arange(len(weight))
    # A cumulative sum, in one operation instead of the dozen that `cumsum` compiles to.
    upto = xp.matmul((places[:, None] >= places).astype(weight.dtype), weight, precision="highest")
    wanted = (offset + xp.arange(n, dtype=weight.dtype)) * (upto[-1] / n)
    return xp.minimum((upto <= wanted[:, None]).sum(1), len(weight) - 1)


def n_random(n_particles: int, dimension: int, n_moves: int = N_MOVES) -> int:
    """Return how many uniform numbers `moved` takes."""
    return 1 + n_moves * n_particles * (dimension + 1)


def moved(
    uniform: Float[Array, " N"],
    place: Float[Array, "S D"],
    log_weight: Float[Array, " S"],
    log_likelihood: Callable[[Float[Array, "S D"]], Float[Array, " S"]],
    n_moves: int = N_MOVES,
) -> Float[Array, "S D"]:
    """Resample particles, and move them by Metropolis steps that leave their posterior as it is.

    Each half of the particles takes the steps of the Gaussian that is fitted to the other half, as it was before the
    round. Fitted to the particles that it moves it would draw them together, by a share of about D / S of their
    variance per round. Copies of one particle lie side by side, so that halves have hardly any in common.

    Parameters
    ----------
    uniform : (`n_random`,)
        Random numbers in (0, 1).
    place : (S, D)
        An even number.
    log_weight : (S,)
    log_likelihood : callable
        Log probability of all labels so far at each of S parameters.
    n_moves : int
        Steps, the first of which only looks where the particles are.
    """
    n, dimension = place.shape
    # Halves (2, S/2, D), so that what is done with both is compiled once.
    place = place[resampled(uniform[0], log_weight, n)].reshape(2, n // 2, dimension)
    centre, factor, whiten = _gaussians(place[::-1])
    random = uniform[1:].reshape(n_moves, 2, n // 2, dimension + 1)
    # Before the loop: within it the compiler would compute them anew for every cell of the likelihood.
    noise = xp.einsum("mhse,hde->mhsd", engine.ndtri(random[..., 1:]), factor)
    threshold = xp.log(random[..., 0])
    constants = (
        np.arange(n_moves),
        np.resize(np.repeat(_PERSISTENCE, 2), n_moves),
        np.resize(np.repeat(_STEPS, 2), n_moves),
    )

    def step(carry, inputs):
        place, value, depth = carry
        i, rho, width, noise, threshold = inputs
        autoregressive = i % 2 == 1
        towards = centre + rho * (place - centre) + xp.sqrt(1 - rho**2) * noise
        proposed = xp.where(autoregressive, towards, place + width * noise)
        proposed = xp.where(i == 0, place, proposed)  # where they are: their likelihood is not known yet
        far = 0.5 * (((proposed - centre) @ whiten) ** 2).sum(-1)
        log_density = log_likelihood(proposed.reshape(n, dimension)).reshape(2, n // 2) - 0.5 * (proposed**2).sum(-1)
        gain = log_density - value + xp.where(autoregressive, far - depth, 0.0)
        accepted = (threshold < gain) | (i == 0)
        kept = xp.where(accepted[..., None], proposed, place)
        return (kept, xp.where(accepted, log_density, value), xp.where(accepted, far, depth)), None

    nothing = xp.zeros((2, n // 2), place.dtype)
    start = place, nothing, nothing
    return engine.scan(step, start, (*constants, noise, threshold))[0][0].reshape(n, dimension)


def _gaussians(
    place: Float[Array, "H S D"],
) -> tuple[Float[Array, "H 1 D"], Float[Array, "H D D"], Float[Array, "H D D"]]:
    """Fit Gaussians: their means, the Cholesky factors L of their covariances, and L^-T."""
    centre = place.mean(1, keepdims=True)
    far = place - centre
    eye = xp.eye(place.shape[2], dtype=place.dtype)
    factor = xp.linalg.cholesky(xp.einsum("hsd,hse->hde", far, far) / place.shape[1] + _RIDGE * eye)
    inverse = engine.solve_lower(factor, eye)
    return centre, factor, inverse.mT
