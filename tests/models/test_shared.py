"""What every generative model owes: its program and its closed form are one model."""

from __future__ import annotations

import jax
import numpy as np
import numpyro
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpyro.diagnostics import effective_sample_size
from numpyro.infer import MCMC, NUTS
from numpyro.infer.util import log_density

from sbc import ranks, uniformity
from strict import kept_modes

from .registry import MODELS

ALPHA = 1e-4  # false-alarm rate of one calibration test

each_model = pytest.mark.parametrize("case", MODELS, ids=lambda case: case.name)


def some_labels(case, n_groups=4, n=40, seed=0):
    rng = np.random.default_rng(seed)
    # The last group has no label: its posterior is its prior.
    return rng.integers(0, n_groups - 1, n), rng.integers(0, case.n_outcomes, n)


def simulate(case, prior, groups, seed):
    """One draw of the program: latent parameters and outcomes, as NumPy arrays."""
    with jax.enable_x64(True):
        seeded = numpyro.handlers.seed(case.program, jax.random.key(seed))
        trace = numpyro.handlers.trace(seeded).get_trace(groups, **case.arguments(prior))
        return np.asarray(trace[case.latent]["value"]), np.asarray(trace[case.observed]["value"])


def log_joint(case, prior, groups, outcomes, latents):
    """The log joint density of every one of several latent parameters."""
    with jax.enable_x64(True):
        arguments = case.arguments(prior)
        one = lambda latent: log_density(case.program, (groups, outcomes), arguments, {case.latent: latent})[0]  # noqa: E731
        return np.asarray(jax.jit(jax.vmap(one))(latents))


# -- exact identities ------------------------------------------------------------------------------------------------


@pytest.mark.slow
@each_model
@pytest.mark.parametrize("seed", range(3))
def test_log_joint_minus_posterior_log_density_is_the_log_marginal_at_every_point(case, seed):
    groups, outcomes = some_labels(case, seed=seed)
    prior = case.prior(4)
    counts = case.statistics(groups, outcomes, 4)
    posterior, marginal = prior.update(*counts), prior.log_marginal(*counts).sum()
    latents = prior.sample(jax.random.key(seed), 10)
    joint = log_joint(case, prior, groups, outcomes, latents)
    difference = joint - [posterior.log_prob(latent).sum() for latent in latents]
    # Bayes' theorem; both sides are sums of about 50 terms below 100, in double precision.
    np.testing.assert_allclose(difference, marginal, rtol=0, atol=1e-9)


@each_model
def test_log_marginal_and_log_density_equal_scipy(case):
    groups, outcomes = some_labels(case)
    prior = case.prior(4)
    counts = case.statistics(groups, outcomes, 4)
    np.testing.assert_allclose(prior.log_marginal(*counts), case.exact_log_marginal(prior, counts), rtol=0, atol=1e-10)
    latent = prior.sample(jax.random.key(1), 20)
    for belief in (prior, prior.update(*counts)):
        np.testing.assert_allclose(belief.log_prob(latent), case.exact_log_prob(belief, latent), rtol=0, atol=1e-10)


@each_model
def test_log_marginal_is_a_chain_of_one_step_predictions(case):
    groups, outcomes = some_labels(case, n=12)
    prior = belief = case.prior(4)
    total = 0.0
    for g, z in zip(groups, outcomes, strict=True):
        one = case.statistics(np.array([g]), np.array([z]), 4)
        total += belief.log_marginal(*one).sum()
        belief = belief.update(*one)
    assert prior.log_marginal(*case.statistics(groups, outcomes, 4)).sum() == pytest.approx(total, abs=1e-10)


@each_model
def test_probabilities_of_one_label_sum_to_one(case):
    prior = case.prior(4)
    total = sum(
        np.exp(prior.log_marginal(*case.statistics(np.arange(4), np.full(4, z), 4))) for z in range(case.n_outcomes)
    )
    np.testing.assert_allclose(total, 1, rtol=1e-12)


@each_model
def test_moments_equal_scipy(case):
    belief = case.prior(4).update(*case.statistics(*some_labels(case), 4))
    mean, variance, _ = case.exact_moments(belief)
    np.testing.assert_allclose(belief.mean, mean, rtol=1e-13)
    np.testing.assert_allclose(belief.variance, variance, rtol=1e-12)


# -- updating --------------------------------------------------------------------------------------------------------


@each_model
@settings(max_examples=40, deadline=None, derandomize=True)
@given(data=st.data())
def test_order_and_batching_of_labels_do_not_matter(case, data):
    labels = data.draw(st.lists(st.tuples(st.integers(0, 3), st.integers(0, case.n_outcomes - 1)), max_size=30))
    order = data.draw(st.permutations(range(len(labels))))
    cuts = sorted(data.draw(st.lists(st.integers(0, len(labels)), max_size=4)))
    groups, outcomes = np.array(labels, np.int64).reshape(-1, 2).T
    prior = case.prior(4)
    at_once = prior.update(*case.statistics(groups, outcomes, 4))
    belief = prior
    for batch in np.split(np.array(order, np.int64), cuts):
        belief = belief.update(*case.statistics(groups[batch], outcomes[batch], 4))
    # Sums of at most 35 terms in another order.
    np.testing.assert_allclose(case.parameters(belief), case.parameters(at_once), rtol=1e-14)


@each_model
def test_no_label_leaves_the_prior_as_it_is(case):
    prior = case.prior(4)
    nothing = case.statistics(np.array([], np.int64), np.array([], np.int64), 4)
    np.testing.assert_array_equal(case.parameters(prior.update(*nothing)), case.parameters(prior))
    np.testing.assert_array_equal(prior.log_marginal(*nothing), 0)


@each_model
def test_update_returns_a_new_posterior(case):
    prior = case.prior(4)
    before = case.parameters(prior).copy()
    prior.update(*case.statistics(*some_labels(case), 4))
    np.testing.assert_array_equal(case.parameters(prior), before)


# -- sampling --------------------------------------------------------------------------------------------------------


@each_model
def test_draws_have_the_moments_that_the_posterior_states(case):
    n = 50_000
    for belief in (case.prior(4), case.prior(4).update(*case.statistics(*some_labels(case), 4))):
        draws = belief.sample(jax.random.key(3), n)
        _, variance, fourth = case.exact_moments(belief)
        # Standard errors of a mean and of a variance over n draws; 5 of them are exceeded once in 1.7 million.
        assert (np.abs(draws.mean(0) - belief.mean) < 5 * np.sqrt(variance / n)).all()
        assert (np.abs(draws.var(0) - belief.variance) < 5 * np.sqrt((fourth - variance**2) / n)).all()


@each_model
def test_the_same_key_gives_the_same_draws_and_another_key_others(case):
    belief = case.prior(4)
    first = belief.sample(jax.random.key(0), 50)
    np.testing.assert_array_equal(first, belief.sample(jax.random.key(0), 50))
    assert not (first == belief.sample(jax.random.key(1), 50)).any()


@each_model
def test_sampling_draws_from_the_key_it_is_given_only_once(case):
    with jax.debug_key_reuse(True):
        case.prior(4).sample(jax.random.key(0), 5)


# -- precision -------------------------------------------------------------------------------------------------------


@each_model
def test_results_are_64_bit_outside_any_scope_and_the_setting_is_left_alone(case):
    before = jax.config.jax_enable_x64
    assert not before
    prior = case.prior(4)
    counts = case.statistics(*some_labels(case), 4)
    posterior = prior.update(*counts)
    latent = posterior.sample(jax.random.key(0), 3)
    results = [case.parameters(posterior), posterior.mean, posterior.variance, latent, posterior.log_prob(latent)]
    for result in [*results, prior.log_marginal(*counts)]:
        assert result.dtype == np.float64
    assert jax.config.jax_enable_x64 == before
    assert jax.numpy.ones(()).dtype == np.float32


@each_model
def test_posteriors_pass_through_jit_and_vmap(case):
    prior = case.prior(4)
    counts = case.statistics(*some_labels(case), 4)
    batch = [np.stack([count, 2 * count]) for count in counts]
    with jax.enable_x64(True):
        mean = jax.jit(jax.vmap(lambda *counts: prior.update(*counts).mean))(*batch)
    expected = np.stack([prior.update(*counts).mean, prior.update(*[2 * count for count in counts]).mean])
    np.testing.assert_allclose(mean, expected, rtol=1e-14)


@each_model
def test_no_implicit_promotion_of_types(case):
    prior = case.prior(4)
    counts = case.statistics(*some_labels(case), 4)
    with kept_modes(), jax.numpy_dtype_promotion("strict"):
        posterior = prior.update(*counts)
        latent = posterior.sample(jax.random.key(0), 2)
        posterior.log_prob(latent), posterior.mean, posterior.variance, prior.log_marginal(*counts)


# -- against the program, by sampling --------------------------------------------------------------------------------


@each_model
@pytest.mark.slow
def test_nuts_on_the_program_agrees_with_the_closed_form(case):
    groups, outcomes = some_labels(case)
    prior = case.prior(4)
    posterior = prior.update(*case.statistics(groups, outcomes, 4))
    with jax.enable_x64(True):
        mcmc = MCMC(NUTS(case.program), num_warmup=500, num_samples=4000, progress_bar=False)
        mcmc.run(jax.random.key(0), groups, outcomes, **case.arguments(prior))
        draws = np.asarray(mcmc.get_samples(group_by_chain=True)[case.latent])
    squares = (draws - posterior.mean) ** 2
    for values, expected in ((draws, posterior.mean), (squares, posterior.variance)):
        # Monte-Carlo standard error from the run's own effective sample size; 5 of them: 6e-7 per comparison.
        error = values.std((0, 1)) / np.sqrt(effective_sample_size(values))
        assert (np.abs(values.mean((0, 1)) - expected) < 5 * error).all()
    relative = np.sqrt(posterior.variance) / np.sqrt(effective_sample_size(draws))
    assert (relative < 0.05 * np.sqrt(posterior.variance)).all()  # the check has teeth: errors below 5 % of a deviation


N_GROUPS, N_LABELS, N_DRAWS = 2400, 4, 63


@pytest.fixture(scope="module", params=MODELS, ids=lambda case: case.name)
def campaign(request):
    """Many groups of one program are as many independent replicates of (parameter, data)."""
    case = request.param
    prior = case.prior(N_GROUPS)
    groups = np.repeat(np.arange(N_GROUPS), N_LABELS)
    truth, outcomes = simulate(case, prior, groups, seed=5)
    predictions = np.random.default_rng(5).integers(0, 2, len(groups))
    return case, prior, groups, truth, outcomes, predictions


def calibration_p_value(case, truth, posterior):
    draws = case.scalar(posterior.sample(jax.random.key(6), N_DRAWS))
    return uniformity(ranks(case.scalar(truth), draws, np.random.default_rng(6)), N_DRAWS)


@pytest.mark.slow
def test_the_posterior_is_calibrated(campaign):
    case, prior, groups, truth, outcomes, predictions = campaign
    labels = case.label(predictions, outcomes)
    seen = case.outcome(predictions, labels)
    np.testing.assert_array_equal(seen, outcomes)
    posterior = prior.update(*case.statistics(groups, seen, N_GROUPS))
    assert calibration_p_value(case, truth, posterior) > ALPHA


QUICK_FAULTS = ("a and b swapped", "too narrow")
FAULTS = sorted({fault for case in MODELS for fault in case.faults})


@pytest.mark.parametrize("fault", [f if f in QUICK_FAULTS else pytest.param(f, marks=pytest.mark.slow) for f in FAULTS])
def test_calibration_catches_a_planted_fault(campaign, fault):
    case, prior, groups, truth, outcomes, predictions = campaign
    if fault not in case.faults:
        return
    wrong = case.faults[fault](prior, groups, predictions, case.label(predictions, outcomes))
    assert calibration_p_value(case, truth, wrong) < ALPHA


@each_model
def test_the_log_joint_identity_catches_the_prior_in_place_of_the_posterior(case):
    groups, outcomes = some_labels(case)
    prior = case.prior(4)
    latents = prior.sample(jax.random.key(0), 5)
    joint = log_joint(case, prior, groups, outcomes, latents)
    assert np.ptp(joint - [prior.log_prob(latent).sum() for latent in latents]) > 1
