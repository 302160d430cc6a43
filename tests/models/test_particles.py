"""Sequential Monte Carlo on targets that are known: weights, resampling, and moves that leave a posterior as it is."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import integrate, special, stats

from bayes_assess._tools import engine
from bayes_assess._tools.engine import xp
from bayes_assess.models._numerics import particles as smc
from bayes_assess.models._numerics.particles import (
    Particles,
    log_joint_weight,
    n_random,
    observe,
    prior_particles,
    resampled,
    uneven,
)

ALPHA = 1e-4  # false-alarm rate of one test
EPS = 2.0**-24
S = 20_000


def steps(key, place, log_likelihood):
    """Move particles of equal weights, each of which is kept once."""
    uniform = jax.random.uniform(key, (n_random(*place.shape),), jnp.float32, 2.0**-24, 1.0)
    equal = xp.zeros(len(place), place.dtype)
    return smc.moved(xp.asarray(uniform), place, equal, log_likelihood(place), log_likelihood)


def moved(key, place, log_likelihood):
    """Move them on NumPy, which is faster where there are many."""
    with engine.eager():
        after, found = steps(key, np.asarray(place), log_likelihood)
    np.testing.assert_allclose(found, log_likelihood(after), rtol=1e-4, atol=1e-4)
    return after


# -- weights ----------------------------------------------------------------------------------------------------------

SEEN = np.float32([0.3, 1.2, -0.5, 2.0])  # y_i ~ N(x, 1), x ~ N(0, 1)


def test_evidence_of_a_normal_mean_is_that_of_its_formula():
    particles = prior_particles(np.random.default_rng(0), (2, S, 1))
    for y in SEEN:
        particles = observe(particles, jax.scipy.stats.norm.logpdf(y, particles.place[..., 0]))
    exact = stats.multivariate_normal.logpdf(SEEN, cov=np.eye(4) + 1)
    likelihood = stats.norm.logpdf(SEEN, np.float64(particles.place)).sum(-1)
    mean = np.exp(likelihood).mean(1)
    np.testing.assert_allclose(particles.log_evidence, np.log(mean), atol=1e-5)  # however the labels were told
    error = np.exp(likelihood).std(1) / np.sqrt(S) / np.exp(exact)
    assert (np.abs(mean / np.exp(exact) - 1) < 4 * error).all()
    assert (error < 0.02).all()
    weight = special.softmax(np.float64(particles.log_weight), axis=1)
    mean = (weight * particles.place[..., 0]).sum(1)
    assert (np.abs(mean - SEEN.sum() / 5) < 4 * np.sqrt(0.2 * (weight**2).sum(1))).all()


def test_evidence_goes_on_from_weights_that_were_reset():
    place = jax.random.normal(jax.random.key(1), (1, 100, 1))
    held = Particles(place, jnp.full((1, 100), -7.0), jnp.float32([-3.0]), jnp.full((1, 100), -2.0))
    after = observe(held, jnp.log(jnp.full((1, 100), 0.25)))
    np.testing.assert_allclose(after.log_evidence, -3 + np.log(0.25), rtol=16 * EPS)
    np.testing.assert_allclose(after.log_likelihood, -2 + np.log(0.25), rtol=16 * EPS)  # of all labels


def test_weights_of_all_particles_are_those_of_their_models():
    log_weight = np.float32([[0.0, 1.0, 2.0], [-900.0, -900.0, -901.0]])
    held = Particles(jnp.zeros((2, 3, 1)), log_weight, np.float32([-50.0, -48.0]), log_weight)
    log_prior = np.log(np.float32([0.8, 0.2]))
    weight = np.exp(np.float64(log_joint_weight(held, log_prior)))
    model = special.softmax(log_prior + held.log_evidence)
    np.testing.assert_allclose(weight, model[:, None] * special.softmax(log_weight, axis=1), rtol=1e-5)


@pytest.mark.parametrize(("n_even", "due"), [(49, True), (51, False)])
def test_particles_are_due_below_half_of_their_number(n_even, due):
    log_weight = np.where(np.arange(100) < n_even, 0.0, -50.0)[None].repeat(2, 0).astype(np.float32)
    held = Particles(
        jnp.zeros((2, 100, 1)), jnp.asarray(log_weight), jnp.float32([0.0, -30.0]), jnp.asarray(log_weight)
    )
    # Nobody sees whether the particles of a model that has lost are even.
    assert uneven(held, jnp.log(jnp.float32([0.5, 0.5]))).tolist() == [due, False]


# -- resampling -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("size", "n"), [pytest.param(256, 256, marks=pytest.mark.slow), (7, 50), (1280, 128), (5, 1), (1, 4)]
)
def test_every_particle_is_drawn_as_often_as_expected_rounded_up_or_down(size, n):
    rng = np.random.default_rng(size)
    log_weight = np.float32(rng.normal(0, 2, size) - 1e3)
    log_weight[rng.random(size) < 0.2] = -np.inf
    log_weight[0] = -1e3
    expected = n * special.softmax(np.float64(log_weight))
    keys = jax.random.split(jax.random.key(2), 400)
    draw = jax.jit(jax.vmap(lambda key: resampled(jax.random.uniform(key), log_weight, n)))
    drawn = np.asarray(draw(keys))
    counts = np.stack([np.bincount(one, minlength=size) for one in drawn])
    slack = 4 * EPS * n * np.sqrt(size)  # of the cumulated weights
    assert (counts >= np.floor(expected - slack)).all()
    assert (counts <= np.ceil(expected + slack)).all()
    assert not counts[:, np.isneginf(log_weight)].any()
    # Rounded up as often as the fraction says: so many independent keys, so many particles.
    fraction = expected % 1
    error = np.sqrt(np.maximum(fraction * (1 - fraction), 1e-3) / len(keys))
    z = (counts.mean(0) - expected) / error
    assert np.abs(z).max() < stats.norm.isf(ALPHA / 2 / size) + slack / error.min()


# -- moves ------------------------------------------------------------------------------------------------------------

DESIGN = np.float32([[2.0, 0.0, 0.5], [1.0, -1.0, 0.0]])
ANSWER = np.float32([3.0, -1.0])
COVARIANCE = np.linalg.inv(np.eye(3) + DESIGN.T @ DESIGN)
MEAN = COVARIANCE @ DESIGN.T @ ANSWER


def gaussian(place):
    return -0.5 * ((ANSWER - place @ DESIGN.T) ** 2).sum(1)


def standardised(place):
    """Coordinates that are independent and standard normal under the posterior."""
    return np.linalg.solve(np.linalg.cholesky(COVARIANCE), (np.float64(place) - MEAN).T).T


def moments_agree(place):
    z = standardised(place)
    away = np.abs(z.mean(0)).max() * np.sqrt(len(z))
    second = z.T @ z / len(z) - np.eye(3)
    return max(away, np.abs(second / np.sqrt(1 + np.eye(3))).max() * np.sqrt(len(z))) < 4.5


@pytest.fixture(scope="module")
def exact_draws():
    z = np.random.default_rng(3).normal(size=(S, 3))
    return np.float32(MEAN + z @ np.linalg.cholesky(COVARIANCE).T)


@pytest.mark.slow
def test_moves_leave_a_gaussian_posterior_as_it_is(exact_draws):
    after = np.asarray(moved(jax.random.key(3), exact_draws, gaussian))
    assert moments_agree(exact_draws)
    assert moments_agree(after)
    # All have gone, and far: many steps forget 1 - rho each, and nearly all of them are taken.
    assert (after != exact_draws).any(1).mean() > 0.99
    correlation = [
        np.corrcoef(a, b)[0, 1] for a, b in zip(standardised(exact_draws).T, standardised(after).T, strict=True)
    ]
    assert np.abs(correlation).max() < 0.4


WRONG = {
    "no labels": lambda place: 0 * gaussian(place),
    "labels twice": lambda place: 2 * gaussian(place),
    "labels of the other sign": lambda place: gaussian(-place),
    "slightly off": lambda place: 1.1 * gaussian(place),
}
WRONG_BY_FAR = ("no labels", "labels twice", "labels of the other sign")


@pytest.mark.parametrize("name", [pytest.param(n, marks=pytest.mark.slow) if n in WRONG_BY_FAR else n for n in WRONG])
def test_moves_by_a_wrong_likelihood_are_seen(name, exact_draws):
    assert not moments_agree(moved(jax.random.key(3), exact_draws, WRONG[name]))


@pytest.mark.slow
def test_moves_bring_particles_from_elsewhere_to_the_posterior():
    place = jax.random.normal(jax.random.key(4), (S, 3)) * 0.3 - 1
    assert not moments_agree(place)
    for key in jax.random.split(jax.random.key(5), 12):
        place = moved(key, place, gaussian)
    assert moments_agree(place)


def skewed(place):
    """Twelve events of twelve, a Poisson count of 2, and nothing on the third parameter."""
    return 12 * special.log_expit(2 * place[:, 0]) + 2 * place[:, 1] * 1.5 - np.exp(1.5 * place[:, 1])


def distribution(log_likelihood):
    """Draws of one parameter and its distribution function, by quadrature."""
    x = np.linspace(-8, 8, 40_001)
    density = np.exp(log_likelihood(x) - 0.5 * x**2)
    upto = integrate.cumulative_trapezoid(density, x, initial=0)
    upto /= upto[-1]
    return lambda rng: np.interp(rng.random(S), upto, x), lambda values: np.interp(values, x, upto)


def test_moves_leave_a_skewed_posterior_as_it_is():
    rng = np.random.default_rng(6)
    parts = (
        distribution(lambda x: -12 * np.log1p(np.exp(-2 * x))),
        distribution(lambda x: 3 * x - np.exp(1.5 * x)),
        distribution(lambda x: 0 * x),
    )
    place = np.float32(np.stack([draw(rng) for draw, _ in parts], axis=1))
    after = np.asarray(moved(jax.random.key(6), place, skewed))
    for column, (_, upto) in zip(after.T, parts, strict=True):
        assert stats.kstest(upto(np.float64(column)), "uniform").pvalue > ALPHA / 3
    # Independent they stay, too.
    u = np.stack([upto(np.float64(column)) for column, (_, upto) in zip(after.T, parts, strict=True)])
    assert np.abs(np.corrcoef(u)[np.triu_indices(3, 1)]).max() < 4.5 / np.sqrt(S)
    # A posterior that is not quite this one is told from it.
    other = np.asarray(moved(jax.random.key(6), place, lambda place: 0.9 * skewed(place)))
    assert stats.kstest(parts[0][1](np.float64(other[:, 0])), "uniform").pvalue < ALPHA


@pytest.mark.parametrize("n_distinct", [1, 2])
def test_copies_of_a_few_particles_move_apart_and_stay_finite(n_distinct):
    place = np.resize(np.float32(np.random.default_rng(7).normal(size=(n_distinct, 3))), (64, 3))
    after = np.asarray(moved(jax.random.key(7), place, gaussian))
    assert np.isfinite(after).all()
    assert len(np.unique(after, axis=0)) > 32


def test_what_is_impossible_is_never_moved_to(exact_draws):
    inside = exact_draws[np.abs(exact_draws - MEAN).max(1) < 0.7]
    inside = inside[: len(inside) // 8 * 8]
    centre = np.float32(MEAN)
    possible = lambda x: np.abs(x - centre).max(1) < 0.7  # noqa: E731
    after = moved(jax.random.key(8), inside, lambda x: np.where(possible(x), gaussian(x), -np.inf))
    assert np.abs(np.asarray(after) - np.float32(MEAN)).max() < 0.7


def test_few_particles_in_many_dimensions_are_not_drawn_together():
    """Steps fitted to the particles that they move take 5 % of the variance here."""
    n_runs, n_particles, n_dimensions = 150, 64, 9
    place = np.random.default_rng(9).normal(size=(n_runs, n_particles, n_dimensions)).astype(np.float32)
    keys = jax.random.split(jax.random.key(9), n_runs)

    def run(one):
        return steps(*one, lambda place: jnp.zeros(len(place)))[0]

    after = jax.lax.map(run, (keys, place))
    square = (np.float64(after) ** 2).sum(-1).mean(1)
    error = square.std(ddof=1) / np.sqrt(n_runs)
    assert abs(square.mean() - n_dimensions) < 4 * error
    assert error < 0.01 * n_dimensions  # the check has teeth


def test_no_part_has_a_say_in_the_gaussian_by_which_it_moves():
    """Fitted to all, Gaussians would draw few particles together: by too little for the test before this to see."""
    place = np.random.default_rng(10).normal(0.3, 0.5, size=(8, 40, 3))
    for h in range(8):
        changed = place.copy()
        changed[h] *= 1.5
        with engine.eager():
            (before, after) = (smc._gaussians_of_others(one) for one in (place, changed))
        for old, new in zip(before, after, strict=True):
            np.testing.assert_allclose(old[h], new[h], rtol=1e-9, atol=1e-12)
            assert np.abs(np.delete(old - new, h, 0)).reshape(7, -1).max(1).min() > 1e-3
    others = place[1:].reshape(-1, 3)
    centre, factor, whiten = (one[0] for one in before)
    np.testing.assert_allclose(centre[0], others.mean(0))
    np.testing.assert_allclose(factor.T @ whiten, np.eye(3), atol=1e-9)
    fitted = np.cov(others.T, bias=True) + 1e-3 * np.eye(3)
    precision = np.linalg.inv(fitted) - np.eye(3)  # that labels add, of which the doubt takes some back
    kept = np.linalg.matrix_power(precision, 3) @ np.linalg.inv(precision @ precision + 4 * np.eye(3))
    np.testing.assert_allclose(factor @ factor.T, np.linalg.inv(np.eye(3) + kept), rtol=1e-8)


# -- groups -----------------------------------------------------------------------------------------------------------

N_SHARED, N_GROUPS, N_EFFECTS = 17, 8, 3
BY_GROUP = N_SHARED + N_GROUPS * N_EFFECTS


def labels_of_groups(rng):
    """Rows x and values y ~ N(x . place, 1), and the group of each; the last ones are of none."""
    group = np.repeat(np.arange(N_GROUPS + 1), 6)
    x = np.zeros((len(group), BY_GROUP))
    x[:, :3] = rng.normal(size=(len(group), 3)) / 2
    for row in np.flatnonzero(group < N_GROUPS):
        x[row, N_SHARED + group[row] :: N_GROUPS] = rng.normal(1.0, 0.5, N_EFFECTS)
    return np.float32(x), np.float32(x @ rng.normal(size=BY_GROUP) + rng.normal(size=len(x))), group


def posterior_of(x, y):
    covariance = np.linalg.inv(np.eye(x.shape[1]) + x.T @ x)
    return covariance @ x.T @ y, covariance


def likelihood_by_group(x, y, group):
    part = np.eye(N_GROUPS + 1, dtype=np.float32)[group]
    return lambda place: -0.5 * (y - place @ x.T) ** 2 @ part


def moved_by_groups(key, place, parts, apart=True):
    uniform = jax.random.uniform(key, (n_random(*place.shape, N_GROUPS),), jnp.float32, 2.0**-24, 1.0)
    with engine.eager():
        groups = smc.ParticleGroups(N_GROUPS, N_SHARED, np.bool_(apart))
        after, found = smc.moved_by_groups(np.asarray(uniform), place, np.zeros(len(place), np.float32), parts, groups)
    np.testing.assert_allclose(found, parts(after).sum(1), rtol=1e-4, atol=1e-4)
    return after


# Groups that are apart are followed by few particles in the quick tests.
@pytest.mark.slow
@pytest.mark.parametrize("apart", [True, False])
def test_moves_by_groups_leave_a_posterior_as_it_is(apart):
    rng = np.random.default_rng(11)
    x, y, group = labels_of_groups(rng)
    mean, covariance = posterior_of(x, y)
    root = np.linalg.cholesky(covariance)
    place = np.float32(mean + rng.normal(size=(S // 5, BY_GROUP)) @ root.T)
    after = moved_by_groups(jax.random.key(11), place, likelihood_by_group(x, y, group), apart)
    assert (after != place).any(1).mean() > 0.99
    standard = np.linalg.solve(root, (np.float64(after) - mean).T)
    for row in standard:
        assert stats.kstest(row, "norm").pvalue > ALPHA / BY_GROUP
    assert np.abs(np.corrcoef(standard)[np.triu_indices(BY_GROUP, 1)]).max() < 5 / np.sqrt(S // 5)
    # With what one group has seen counted twice it is another one.
    twice = np.where(np.arange(N_GROUPS + 1) == 0, 2, 1).astype(np.float32)
    other = moved_by_groups(jax.random.key(11), place, lambda at: likelihood_by_group(x, y, group)(at) * twice, apart)
    moved_off = np.linalg.solve(root, (np.float64(other) - mean).T)
    assert min(stats.kstest(row, "norm").pvalue for row in moved_off) < ALPHA


@pytest.mark.slow
def test_few_particles_follow_many_labels_of_groups():
    """As many steps in all parameters at once, of which few are taken, leave errors 20 times as great."""
    errors, shares = [], []
    for seed in range(2):
        rng = np.random.default_rng([12, seed])
        x, y, group = labels_of_groups(rng)
        order = rng.permutation(len(y))
        held = prior_particles(rng, (1, 256, BY_GROUP))
        with engine.eager():
            for i, row in enumerate(order):
                seen = order[: i + 1]
                held = observe(held, -0.5 * (y[row] - held.place @ x[row]) ** 2)
                if uneven(held, np.zeros(1, np.float32)).any():
                    place = held.place[0][resampled(rng.random(), held.log_weight[0], 256)]
                    parts = likelihood_by_group(x[seen], y[seen], group[seen])
                    place = moved_by_groups(jax.random.key(100 * seed + i), place, parts)
                    held = held._replace(place=place[None], log_weight=np.zeros((1, 256), np.float32))
        mean, covariance = posterior_of(x, y)
        weight, deviation = np.exp(held.log_weight[0]), np.sqrt(np.diag(covariance))
        found = weight @ held.place[0] / weight.sum()
        errors.append(((found - mean) / deviation) ** 2)
        shares.append(weight @ (held.place[0] - found) ** 2 / weight.sum() / deviation**2)
    # As good as 40 independent draws would be, of 256 particles: errors would be 1 / 40 in the mean.
    assert np.mean(errors) < 1 / 40
    assert np.mean(shares) > 0.9


def test_impossible_places_of_one_group_hold_up_no_other():
    place = np.float32(np.random.default_rng(13).normal(size=(64, BY_GROUP)))
    own = N_SHARED + N_GROUPS * np.arange(N_EFFECTS)  # of the first group

    def parts(at):
        found = np.zeros((len(at), N_GROUPS + 1), np.float32)
        found[:, 0] = np.where((at[:, own] == place[:, own]).all(1), 0.0, -np.inf)
        return found

    with engine.eager():
        uniform = np.random.default_rng(14).uniform(2.0**-24, 1, n_random(64, BY_GROUP, N_GROUPS)).astype(np.float32)
        groups = smc.ParticleGroups(N_GROUPS, N_SHARED, np.True_)
        uniform[0] = 0.5  # every particle is kept once
        after, _ = smc.moved_by_groups(uniform, place, np.zeros(64, np.float32), parts, groups)
    np.testing.assert_array_equal(after[:, own], place[:, own])
    others = np.delete(np.arange(BY_GROUP), own)
    assert (after[:, others] != place[:, others]).mean() > 0.9
