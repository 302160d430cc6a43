"""Bins of the confidence that follow a learned curve: hyperposterior, mixture, and the calibration error they give."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import pytest
from numpyro.diagnostics import effective_sample_size
from numpyro.infer import MCMC, NUTS
from scipy import special, stats

import bayes_assess as ba
from bayes_assess._tools import engine
from bayes_assess._tools.axes import x64
from bayes_assess.models import hierarchical_calibration as model
from bayes_assess.models._numerics import calibration_points
from bayes_assess.models._numerics.calibration_points import DEPARTURES, N_POINTS
from bayes_assess.models.alike_or_apart import AlikeOrApart
from bayes_assess.models.belief import is_belief
from bayes_assess.models.hierarchical_calibration import HierarchicalCalibration, program
from sbc import ranks, uniformity

SCORES = np.array([[0.4, 0.8], [0.55, 0.9], [0.6, 0.97]])  # the only grouped shape of most tests: each compiles anew
PRIOR = HierarchicalCalibration.from_prior(score=SCORES, size=np.ones((3, 2), int))
AGREEMENTS, LABELS = np.array([3, 7, 9, 20, 0, 0]), np.array([8, 9, 12, 20, 2, 0])
POSTERIOR = PRIOR.update(AGREEMENTS, LABELS)
ALPHA = 1e-4  # false-alarm rate of one calibration test


def effective_size(belief):
    weight = np.asarray(belief.weight)
    return 1 / (weight**2).sum(-1)


@pytest.mark.parametrize("known", [[], [4], [2, 5]])
def test_groups_without_labels_are_fitted_as_if_looked_at_one_by_one(known):
    rng, labels = np.random.default_rng(0), np.zeros((1, 7, 3))
    labels[:, known] = rng.integers(1, 9, (1, len(known), 3))
    counts = rng.normal(1, 1, (7, 3)), rng.binomial(labels.astype(int), 0.8).astype(float), labels
    with engine.eager():
        found = calibration_points.weighted_points(*counts)
        every = x64(calibration_points._points)(*counts, calibration_points._uniform_points())
    for one, other in zip(found, every, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-9)


def values_of_points(belief):
    """Means of the cells given every point, and their second moments, (H, K) each."""
    with jax.enable_x64(True):
        mean, variance = (np.asarray(x) for x in model._given_point(jax.device_put(belief)))
    return mean, variance + mean**2


def standard_error(belief, values, mean):
    """Standard error of a self-normalised importance-sampling mean; quasi-random points do better than that."""
    weight = np.asarray(belief.weight)[:, None]
    return np.sqrt((weight**2 * (values - mean) ** 2).sum(0))


def by_quadrature(agreements, labels):
    """Evidence, means and variances of the cells by a fine grid over the hyperparameters and over each group's effect.

    The curve's axes are those of its prior, where they are independent: one grid per departure. Steps of half a prior
    standard deviation, or of 0.9, do for few labels: the trapezoidal rule is that good for such functions.
    """
    x = special.logit(0.98 * np.asarray(SCORES) + 0.01)[..., None]
    r, n = (np.asarray(count, float).reshape(3, 2, 1) for count in (agreements, labels))
    node, weight = np.polynomial.hermite_e.hermegauss(21)
    log_weight = np.log(weight / np.sqrt(2 * np.pi))
    total, first, second = 0.0, 0.0, 0.0
    for departure in DEPARTURES:
        normal, step = np.linspace(-4.5, 4.5, 19, retstep=True)
        intercept, slope = (0 + departure * normal), (1 + 0.7 * departure * normal)
        a, b = (one.ravel() for one in np.meshgrid(intercept, slope))
        log_p_curve = np.add.outer(stats.norm.logpdf(normal), stats.norm.logpdf(normal)).ravel() + 2 * np.log(step)
        for z_tau in np.linspace(-4.5, 4.5, 11):
            tau = np.exp(model.LOG_SPREAD[0] + model.LOG_SPREAD[1] * z_tau)
            logit = (a + b * x)[..., None] + tau * node  # (3, 2, curves, nodes)
            m = np.clip(special.expit(logit), 1e-12, 1 - 1e-12)
            for z_nu in np.linspace(-4.5, 4.5, 11):
                nu = np.exp(model.LOG_STRENGTH[0] + model.LOG_STRENGTH[1] * z_nu)
                r4, n4 = r[..., None], n[..., None]
                gain = special.betaln(nu * m + r4, nu * (1 - m) + n4 - r4) - special.betaln(nu * m, nu * (1 - m))
                log_node = gain.sum(1) + log_weight  # (3, curves, nodes)
                log_group = special.logsumexp(log_node, axis=-1)
                log_p = log_group.sum(0) + log_p_curve + stats.norm.logpdf([z_tau, z_nu]).sum() + 2 * np.log(0.9)
                p = np.exp(log_p - np.log(len(DEPARTURES)))
                share = np.exp(log_node - log_group[..., None])[:, None]
                mean = (nu * m + r4) / (nu + n4)
                total += p.sum()
                first = first + ((share * mean).sum(-1) @ p).ravel()
                square = mean * (1 - mean) / (nu + n4 + 1) + mean**2
                second = second + ((share * square).sum(-1) @ p).ravel()
    return np.log(total), first / total, second / total


@pytest.mark.slow
@pytest.mark.parametrize(
    ("agreements", "labels"), [([1, 2, 0, 1, 0, 0], [2, 2, 1, 1, 0, 0]), ([0, 0, 0, 0, 4, 0], [0, 0, 4, 0, 4, 0])]
)
def test_evidence_and_moments_equal_quadrature(agreements, labels):
    belief = PRIOR.update(np.array(agreements), np.array(labels))
    evidence, mean, second = by_quadrature(agreements, labels)
    relative = np.sqrt(N_POINTS / effective_size(belief) - 1) / np.sqrt(N_POINTS)
    assert abs(float(belief.log_evidence()) - evidence) < 4 * relative + 1e-3  # the grid's own error
    means, squares = values_of_points(belief)
    assert (np.abs(belief.mean - mean) < 4 * standard_error(belief, means, mean)).all()
    found = belief.variance + np.asarray(belief.mean) ** 2
    assert (np.abs(found - second) < 4 * standard_error(belief, squares, second)).all()


@pytest.mark.slow
def test_no_draw_diverges_on_groups_with_many_labels():
    rng = np.random.default_rng(1)
    score = np.linspace(0.525, 0.975, 10)
    shift = rng.normal(0, 0.3, (2, 1)) - 0.5
    labels = rng.multinomial(1_500, np.full(20, 1 / 20)).reshape(2, 10)
    right = rng.binomial(labels, special.expit(special.logit(score) + shift))
    prior = HierarchicalCalibration.from_prior(score=np.tile(score, (2, 1)), size=np.full((2, 10), 500))
    counts = np.stack([labels - right, right], axis=-1).reshape(-1, 2)
    draws = ba.fit(
        program, **prior.program_arguments(counts), progress=False
    )  # 11 of 4,000 when effects were not centred
    assert not np.asarray(draws["sample_stats"]["diverging"]).any()
    posterior = prior.update_counts(counts)
    theta = ba.posterior_draws(draws, "theta").reshape(-1, 20)
    np.testing.assert_allclose(theta.mean(0), posterior.mean, atol=0.01)


@pytest.mark.slow
def test_nuts_on_the_program_agrees():
    cells = np.repeat(np.arange(6), LABELS)
    outcomes = np.concatenate([np.arange(n) < r for r, n in zip(AGREEMENTS, LABELS, strict=True)]).astype(int)
    with jax.enable_x64(True):
        mcmc = MCMC(NUTS(program, target_accept_prob=0.95), num_warmup=1000, num_samples=8000, progress_bar=False)
        mcmc.run(jax.random.key(0), cells, outcomes, x=jnp.asarray(PRIOR.logit_score))
        theta = np.asarray(mcmc.get_samples(group_by_chain=True)["theta"]).reshape(1, -1, 6)
    for values, parts in zip((theta, theta**2), values_of_points(POSTERIOR), strict=True):
        found = np.asarray(POSTERIOR.weight) @ parts
        ours = standard_error(POSTERIOR, parts, found)
        theirs = values.std((0, 1)) / np.sqrt(effective_sample_size(values))
        assert (np.abs(values.mean((0, 1)) - found) < 4 * np.hypot(ours, theirs)).all()


# -- simulation-based calibration -------------------------------------------------------------------------------------

N_REPLICATES, N_LABELS, N_DRAWS = 1200, 8, 63


@pytest.fixture(scope="module")
def replicates():
    """Accuracies and agreements that the program draws, (R, K) each."""
    cells = jnp.repeat(jnp.arange(6), N_LABELS)

    def one(key):
        trace = numpyro.handlers.trace(numpyro.handlers.seed(program, key)).get_trace(
            cells, x=jnp.asarray(PRIOR.logit_score)
        )
        return trace["theta"]["value"].ravel(), trace["agreement"]["value"].reshape(6, N_LABELS).sum(1)

    with jax.enable_x64(True):
        theta, agreements = jax.jit(jax.vmap(one))(jax.random.split(jax.random.key(2), N_REPLICATES))
    return np.asarray(theta), np.asarray(agreements)


FAULTS = {
    "disagreements as agreements": lambda r, n: PRIOR.update(n - r, n),
    "every label twice": lambda r, n: PRIOR.update(2 * r, 2 * n),
    "an agreement too many": lambda r, n: PRIOR.update(r + 1, n + 1),
    "scores turned round": lambda r, n: HierarchicalCalibration.fit(-np.asarray(PRIOR.logit_score), r, n),
    "cells in another order": lambda r, n: PRIOR.update(r[:, ::-1], n),
}


def p_value(theta, posterior):
    """Of a contrast of the cells, one number per replicate, since accuracies of a replicate are not independent."""
    contrast = np.array([0.3, -0.1, 0.2, 0.5, 1.0, -0.4])
    draws = np.asarray(posterior.sample(jax.random.key(3), N_DRAWS)) @ contrast
    return uniformity(ranks(theta @ contrast, draws, np.random.default_rng(3)), N_DRAWS)


@pytest.mark.slow
def test_the_posterior_is_calibrated(replicates):
    theta, agreements = replicates
    assert p_value(theta, PRIOR.update(agreements, np.full(agreements.shape, N_LABELS))) > ALPHA


@pytest.mark.slow
@pytest.mark.parametrize("fault", sorted(FAULTS))
def test_calibration_catches_a_planted_fault(replicates, fault):
    theta, agreements = replicates
    assert p_value(theta, FAULTS[fault](agreements, np.full(agreements.shape, N_LABELS))) < ALPHA


# -- numbers ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [0, 50, 1000, 10_000])
@pytest.mark.parametrize("share", [0.5, 0.75, 0.99, 1.0])
def test_points_have_even_weights_from_no_label_to_ten_thousand(n, share):
    labels = np.random.default_rng(n).multinomial(n, [0.3, 0.3, 0.2, 0.1, 0.1, 0.0])
    assert effective_size(PRIOR.update(np.rint(share * labels), labels)) > 20


@pytest.mark.parametrize("share", [0.0, 1.0])
def test_everything_wrong_or_right_stays_finite(share):
    labels = np.full(6, 2000)
    posterior = PRIOR.update(share * labels, labels)
    assert np.isfinite(posterior.log_weight).all()
    assert ((posterior.mean > 0) & (posterior.mean < 1) & (posterior.variance > 0)).all()
    assert np.abs(np.asarray(posterior.mean) - share).max() < 0.02


def test_results_are_64_bit_and_the_setting_is_left_alone():
    assert POSTERIOR.mean.dtype == POSTERIOR.log_weight.dtype == POSTERIOR.log_node.dtype == np.float64
    assert not jax.config.jax_enable_x64
    assert is_belief(POSTERIOR)


# -- learning ---------------------------------------------------------------------------------------------------------


def test_batches_of_labels_come_to_what_all_of_them_at_once_do():
    half = AGREEMENTS // 2, LABELS // 2
    twice = PRIOR.update(*half).update(AGREEMENTS - half[0], LABELS - half[1])
    np.testing.assert_array_equal(twice.mean, POSTERIOR.mean)


@pytest.mark.slow
def test_campaigns_side_by_side_are_each_what_it_would_be_alone():
    counts = np.stack([LABELS - AGREEMENTS, AGREEMENTS], axis=-1)
    both = PRIOR.update_counts(np.stack([np.zeros_like(counts), counts])[None])
    assert both.mean.shape == both.variance.shape == (1, 2, 6)
    np.testing.assert_allclose(both.mean[0], [PRIOR.mean, POSTERIOR.mean], rtol=1e-9)
    np.testing.assert_allclose(both.variance[0], [PRIOR.variance, POSTERIOR.variance], rtol=1e-9)
    np.testing.assert_allclose(both.quantile([0.1, 0.9])[:, 0, 1], POSTERIOR.quantile([0.1, 0.9]), atol=1e-9)
    draws = np.asarray(both.sample(jax.random.key(5), 4000))
    error = np.sqrt(np.asarray(both.variance) / 4000)
    assert (np.abs(draws.mean(0) - both.mean) < 4.5 * error).all()


def test_labels_one_by_one_come_to_what_counts_do():
    with jax.enable_x64(True):
        observe = jax.jit(lambda belief, cell, outcome: belief.observe(cell, outcome))
        belief = jax.device_put(PRIOR)
        for cell, (r, n) in enumerate(zip(AGREEMENTS, LABELS, strict=True)):
            for i in range(n):
                belief = observe(belief, cell, int(i < r))
        belief = jax.device_get(belief)
    np.testing.assert_array_equal(belief.agreements, AGREEMENTS)
    np.testing.assert_allclose(special.logsumexp(belief.log_node, axis=-1), 0, atol=1e-9)
    # The points of the prior, weighted, against points placed anew.
    (means, _), (anew, _) = values_of_points(belief), values_of_points(POSTERIOR)
    error = np.hypot(
        standard_error(belief, means, np.asarray(belief.mean)),
        standard_error(POSTERIOR, anew, np.asarray(POSTERIOR.mean)),
    )
    assert (np.abs(np.asarray(belief.mean) - POSTERIOR.mean) < 4 * error).all()
    relative = np.sqrt(1 / effective_size(belief) + 1 / effective_size(POSTERIOR))
    assert abs(float(belief.log_evidence()) - float(POSTERIOR.log_evidence())) < 4 * relative
    refreshed = belief.refreshed()
    np.testing.assert_allclose(refreshed.mean, POSTERIOR.mean, rtol=1e-9)
    assert effective_size(refreshed) > 40 > effective_size(belief)


def test_one_label_moves_the_weights_as_the_probabilities_of_the_label():
    """E p(label | point) over points is the predictive probability, the posterior mean."""
    with jax.enable_x64(True):
        more = jax.jit(lambda belief, cell, outcome: belief.observe(cell, outcome))(POSTERIOR, 2, 1)
        gain = float(jax.device_get(more).log_evidence()) - float(POSTERIOR.log_evidence())
    assert gain == pytest.approx(float(np.log(POSTERIOR.mean[2])), abs=1e-9)


def test_components_are_draws_of_the_mixture():
    n = 4000
    with jax.enable_x64(True):
        belief = jax.device_put(POSTERIOR)
        keys = jax.random.split(jax.random.key(6), n)
        components = jax.jit(jax.vmap(lambda key: belief.component(key)))(keys)
        means, variances = np.asarray(components.mean), np.asarray(components.variance)
    assert isinstance(components, ba.BetaBernoulli)
    assert (np.abs(means.mean(0) - POSTERIOR.mean) < 4 * means.std(0) / np.sqrt(n)).all()
    squares = variances + means**2
    expected = POSTERIOR.variance + np.asarray(POSTERIOR.mean) ** 2
    assert (np.abs(squares.mean(0) - expected) < 4 * squares.std(0) / np.sqrt(n)).all()


def test_bins_of_a_group_share_its_effect_in_every_draw():
    n = 80_000
    residual = special.logit(np.clip(np.asarray(PRIOR.sample(jax.random.key(7), n)), 1e-6, 1 - 1e-6))
    same, other = (np.corrcoef(residual[:, 2], residual[:, i])[0, 1] for i in (3, 1))
    assert same > other + 5 / np.sqrt(n)


def test_groups_without_labels_follow_the_others():
    labels = np.array([20, 20, 20, 20, 0, 0])
    good = PRIOR.update(np.array([18, 20, 19, 20, 0, 0]), labels)
    bad = PRIOR.update(np.array([2, 5, 3, 6, 0, 0]), labels)
    assert good.mean[4] > 0.75 > 0.45 > bad.mean[4]
    assert good.mean[5] > bad.mean[5] + 0.3
    assert good.variance[4] < PRIOR.variance[4]


def test_imagined_labels_leave_the_means_where_they_are_and_narrow_the_posterior():
    more = POSTERIOR.update_at_mean(np.full(6, 20))
    assert np.abs(np.asarray(more.mean) - POSTERIOR.mean).max() < 0.05
    assert (np.asarray(more.variance) < POSTERIOR.variance).all()


def test_quantiles_invert_the_distribution_of_the_draws():
    draws = np.asarray(POSTERIOR.sample(jax.random.key(4), 20_000))
    for level in (0.025, 0.5, 0.975):
        quantile = POSTERIOR.quantile(level)  # that of 10,000 other draws
        error = 4.5 * np.sqrt(level * (1 - level) * (1 / 20_000 + 1 / 10_000))
        assert ((draws < quantile - 2.0**-39).mean(0) < level + error).all()
        assert ((draws <= quantile + 2.0**-39).mean(0) > level - error).all()
    assert POSTERIOR.quantile([0.1, 0.9]).shape == (2, 6)


# -- calibration error ------------------------------------------------------------------------------------------------

BINS = np.linspace(0.15, 0.95, 10)
ALONE = HierarchicalCalibration.from_prior(score=BINS, size=np.full(10, 100))


def calibration_error(belief):
    return np.abs(np.asarray(belief.sample(jax.random.key(8), 2000)) - BINS).mean(-1)


def test_overconfident_scores_are_found_out():
    truth = special.expit(special.logit(BINS) / 2 - 0.5)
    error = calibration_error(ALONE.update(np.rint(200 * truth), np.full(10, 200)))
    assert np.quantile(error, 0.025) < np.abs(truth - BINS).mean() < np.quantile(error, 0.975)


@pytest.mark.slow
def test_the_error_of_a_calibrated_system_is_overestimated_less_than_by_bins_alone():
    rng = np.random.default_rng(9)
    agreements = rng.binomial(20, BINS, (40, 10))
    learned = calibration_error(ALONE.update(agreements, np.full((40, 10), 20))).mean(0)
    draws = rng.beta(2 * BINS + agreements, 2 * (1 - BINS) + 20 - agreements, (2000, 40, 10))
    alone = np.abs(draws - BINS).mean((0, 2))
    difference = learned - alone / 2
    assert difference.mean() < -3 * difference.std() / np.sqrt(40)


def pool_of(groups, n=1200):
    rng = np.random.default_rng(11)
    predictions, confidence = rng.integers(0, groups, n), rng.choice([0.55, 0.7, 0.95], n)
    labels = np.where(rng.random(n) < confidence - 0.1, predictions, (predictions + 1) % groups)
    return ba.Pool(predictions=predictions, confidence=confidence, classes=range(groups)), labels


def test_a_confidence_of_one_and_no_error_yet_are_no_proof():
    """Accuracies with which twenty labels in a row show no error half of the time are in the interval."""
    prior = HierarchicalCalibration.from_prior(score=[0.6, 1.0], size=[400, 600])
    low = np.asarray(prior.update(np.array([6, 20]), np.array([10, 20])).quantile(np.array([0.025])))[0, 1]
    assert low**20 < 0.5


@pytest.mark.parametrize(("by", "belief"), [(None, HierarchicalCalibration), ("prediction", AlikeOrApart)])
def test_questions_on_calibration_take_it_for_the_learned_prior(by, belief):
    pool, labels = pool_of(3)
    a = ba.assess(pool, ba.Calibration(bins=2, by=by), design="random", prior="learned")
    ids = a.ask(60).ids
    a.tell(ids, labels[ids])
    result = a.result()
    assert isinstance(result.posterior, belief)
    low, high = np.moveaxis(np.asarray(result.interval), -1, 0)
    assert ((low <= result.estimate) & (result.estimate <= high)).all()


def test_the_learned_prior_has_no_strength_to_choose():
    with pytest.raises(ba.PriorError, match="finds its strength from the labels"):
        ba.assess(pool_of(3)[0], ba.Calibration(), prior="learned", prior_strength=2)


@pytest.mark.parametrize(
    ("score", "size", "message"),
    [
        ([0.5, 1.5], [1, 1], "between 0 and 1; cell 1 has 1.5"),
        ([0.5, np.nan], [1, 1], "between 0 and 1; cell 1 has nan"),
        ([0.5, 0.6], [1], r"one entry per bin; found shapes \(2,\) and \(1,\)"),
        ([0.5, 0.6], [1, -1], "0 items or more; found -1"),
        (0.5, 1, r"found the shape \(\)"),
        ([[]], [[]], r"found the shape \(1, 0\)"),
    ],
)
def test_bad_input_gets_one_sentence(score, size, message):
    with pytest.raises(ba.PriorError, match=message):
        HierarchicalCalibration.from_prior(score=score, size=size)
