"""Accuracies of groups that learn from each other: hyperposterior, mixture, and what goes wrong without them."""

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
from bayes_assess.models.hierarchical_accuracy import ALIKE, LOG_STRENGTH, HierarchicalAccuracy, program
from sbc import ranks, uniformity

SCORES = np.array([0.55, 0.7, 0.8, 0.9, 0.97])
PRIOR = HierarchicalAccuracy.from_prior(mean_score=SCORES, strength_prior=(3.0, 1.0))
ARGUMENTS = {name: PRIOR.program_arguments()[name] for name in ("covariates", "location", "scale", "strength_prior")}
AGREEMENTS, LABELS = np.array([3, 8, 7, 2, 0]), np.array([8, 12, 8, 2, 0])
POSTERIOR = PRIOR.update(AGREEMENTS, LABELS)
ALPHA = 1e-4  # false-alarm rate of one calibration test


def standard_error(belief, values, mean):
    """Standard error of a self-normalised importance-sampling mean; quasi-random points do better than that."""
    weight = np.asarray(belief.weight)
    return np.sqrt((weight**2 * (values - mean) ** 2).sum())


def by_quadrature(agreements, labels, strength_prior):
    """Evidence, means and variances of two accuracies by a fine grid over both hyperparameters, without scores."""
    intercept, log_strength = (x.ravel() for x in np.meshgrid(np.linspace(-9, 11, 401), np.linspace(-5, 13, 361)))
    log_p = stats.norm.logpdf(intercept, 1, 2) + stats.norm.logpdf(log_strength, *strength_prior)
    m, nu = np.clip(special.expit(intercept), 1e-12, 1 - 1e-12), np.exp(log_strength)
    for r, n in zip(agreements, labels, strict=True):
        log_p += special.betaln(nu * m + r, nu * (1 - m) + n - r) - special.betaln(nu * m, nu * (1 - m))
    p = np.exp(log_p) * (20 / 400) * (18 / 360)
    means = np.stack([(nu * m + r) / (nu + n) for r, n in zip(agreements, labels, strict=True)])
    mean = (p * means).sum(1) / p.sum()
    total = nu + np.asarray(labels)[:, None]
    variance = (p * (means * (1 - means) / (total + 1) + (means - mean[:, None]) ** 2)).sum(1) / p.sum()
    return np.log(p.sum()), mean, variance


@pytest.mark.parametrize("strength_prior", [LOG_STRENGTH, ALIKE], ids=["classes", "sites"])
@pytest.mark.parametrize(
    ("agreements", "labels"), [([0, 0], [0, 0]), ([3, 9], [10, 10]), ([40, 0], [40, 2]), ([1, 0], [1, 0])]
)
def test_evidence_and_moments_equal_quadrature(agreements, labels, strength_prior):
    belief = HierarchicalAccuracy.from_prior(n_groups=2, strength_prior=strength_prior).update(agreements, labels)
    evidence, mean, variance = by_quadrature(agreements, labels, strength_prior)
    weight = np.asarray(belief.weight)
    relative = np.sqrt(weight.size * (weight**2).sum() - 1) / np.sqrt(weight.size)
    assert abs(float(belief.log_evidence()) - evidence) < 4 * relative
    a, b = (np.asarray(x) for x in belief.parts)
    means = a / (a + b)
    second = means * (b / (a + b)) / (a + b + 1) + (means - mean) ** 2
    for g in range(2):
        assert abs(belief.mean[g] - mean[g]) < 4 * standard_error(belief, means[:, g], mean[g])
        assert abs(belief.variance[g] - variance[g]) < 4 * standard_error(belief, second[:, g], variance[g])
    assert 1 / (weight**2).sum() > 20  # the checks have teeth


@pytest.mark.slow
def test_nuts_on_the_program_agrees():
    groups = np.repeat(np.arange(5), LABELS)
    outcomes = np.concatenate([np.arange(n) < r for r, n in zip(AGREEMENTS, LABELS, strict=True)]).astype(int)
    with jax.enable_x64(True):
        mcmc = MCMC(NUTS(program, target_accept_prob=0.95), num_warmup=1000, num_samples=8000, progress_bar=False)
        mcmc.run(jax.random.key(0), groups, outcomes, **ARGUMENTS)
        theta = np.asarray(mcmc.get_samples(group_by_chain=True)["theta"])
    a, b = (np.asarray(x) for x in POSTERIOR.parts)
    for power in (1, 2):
        parts = (a / (a + b)) if power == 1 else a * (a + 1) / ((a + b) * (a + b + 1))
        values = theta**power
        found = np.asarray(POSTERIOR.weight) @ parts
        ours = np.array([standard_error(POSTERIOR, parts[:, g], found[g]) for g in range(5)])
        theirs = values.std((0, 1)) / np.sqrt(effective_sample_size(values))
        assert (np.abs(values.mean((0, 1)) - found) < 4 * np.hypot(ours, theirs)).all()


# -- simulation-based calibration -------------------------------------------------------------------------------------

N_REPLICATES, N_LABELS, N_DRAWS = 1200, 6, 63


@pytest.fixture(scope="module")
def replicates():
    """Accuracies and labels that the program draws, (R, G) each."""
    groups = jnp.repeat(jnp.arange(5), N_LABELS)

    def one(key):
        trace = numpyro.handlers.trace(numpyro.handlers.seed(program, key)).get_trace(groups, **ARGUMENTS)
        return trace["theta"]["value"], trace["agreement"]["value"].reshape(5, N_LABELS).sum(1)

    with jax.enable_x64(True):
        theta, agreements = jax.jit(jax.vmap(one))(jax.random.split(jax.random.key(2), N_REPLICATES))
    return np.asarray(theta), np.asarray(agreements)


FAULTS = {
    "disagreements as agreements": lambda prior, r, n: prior.update(n - r, n),
    "every label twice": lambda prior, r, n: prior.update(2 * r, 2 * n),
    "an agreement too many": lambda prior, r, n: prior.update(r + 1, n + 1),
    "scores turned round": lambda prior, r, n: HierarchicalAccuracy.from_prior(mean_score=1 - SCORES).update(r, n),
    "groups nearly alike": lambda prior, r, n: HierarchicalAccuracy.from_prior(
        mean_score=SCORES, strength_prior=(7.0, 0.5)
    ).update(r, n),
    "groups in another order": lambda prior, r, n: prior.update(r[:, ::-1], n),
}


def p_value(theta, posterior):
    """Of a contrast of the groups, one number per replicate, since accuracies of a replicate are not independent."""
    contrast = np.array([0.3, -0.1, 0.2, 0.5, 1.0])
    draws = np.asarray(posterior.sample(jax.random.key(3), N_DRAWS)) @ contrast
    return uniformity(ranks(theta @ contrast, draws, np.random.default_rng(3)), N_DRAWS)


@pytest.mark.slow
def test_the_posterior_is_calibrated(replicates):
    theta, agreements = replicates
    assert p_value(theta, PRIOR.update(agreements, np.full(agreements.shape, N_LABELS))) > ALPHA


@pytest.mark.slow
@pytest.mark.parametrize("fault", FAULTS)
def test_calibration_catches_a_planted_fault(replicates, fault):
    theta, agreements = replicates
    assert p_value(theta, FAULTS[fault](PRIOR, agreements, np.full(agreements.shape, N_LABELS))) < ALPHA


# -- learning ---------------------------------------------------------------------------------------------------------


def test_batches_of_labels_come_to_what_all_of_them_at_once_do():
    half = AGREEMENTS // 2, LABELS // 2
    twice = PRIOR.update(*half).update(AGREEMENTS - half[0], LABELS - half[1])
    np.testing.assert_array_equal(twice.mean, POSTERIOR.mean)


def test_labels_one_by_one_come_to_what_counts_do():
    belief = PRIOR
    with jax.enable_x64(True):
        observe = jax.jit(lambda belief, group, outcome: belief.observe(group, outcome))
        belief = jax.device_put(belief)
        for group, (r, n) in enumerate(zip(AGREEMENTS, LABELS, strict=True)):
            for i in range(n):
                belief = observe(belief, group, int(i < r))
    np.testing.assert_array_equal(belief.agreements, AGREEMENTS)
    _a, _b = (np.asarray(x) for x in belief.parts)
    for g in range(5):  # the points of the prior, weighted, against points placed anew
        errors = (
            standard_error(x, np.asarray(x.parts[0] / sum(x.parts))[:, g], x.mean[g]) for x in (belief, POSTERIOR)
        )
        error = np.hypot(*errors)
        assert abs(belief.mean[g] - POSTERIOR.mean[g]) < 4 * error


def test_groups_without_labels_follow_the_others():
    prior = HierarchicalAccuracy.from_prior(n_groups=4)
    good, bad = prior.update([19, 20, 19, 0], [20, 20, 20, 0]), prior.update([4, 5, 6, 0], [20, 20, 20, 0])
    assert good.mean[3] > 0.85 > 0.4 > bad.mean[3]
    assert good.variance[3] < prior.variance[3]


def test_overconfident_scores_are_found_out_by_all_groups_together():
    score, rng = np.full(50, 0.97), np.random.default_rng(0)
    posterior = HierarchicalAccuracy.from_prior(mean_score=score).update(rng.binomial(3, 0.7, 50), np.full(50, 3))
    # 150 labels: the standard error of the mean accuracy is 0.037.
    assert abs(posterior.mean.mean() - 0.7) < 3 * 0.037


def test_other_covariates_join():
    site = np.array([0.0, 0, 0, 1, 1, 1])
    prior = HierarchicalAccuracy.from_prior(n_groups=6, covariates={"site": site})
    posterior = prior.update([9, 10, 0, 2, 1, 0], [10, 10, 0, 10, 10, 0])
    assert posterior.mean[2] > 0.6 > 0.4 > posterior.mean[5]


def test_imagined_labels_leave_the_means_where_they_are_and_narrow_the_posterior():
    more = POSTERIOR.update_at_mean(np.full(5, 20))
    assert np.abs(np.asarray(more.mean) - POSTERIOR.mean).max() < 0.05
    assert (np.asarray(more.variance) < POSTERIOR.variance).all()


def test_quantiles_invert_the_distribution_of_the_draws():
    draws = np.asarray(POSTERIOR.sample(jax.random.key(4), 20_000))
    for level in (0.025, 0.5, 0.975):
        quantile, error = POSTERIOR.quantile(level), 4 * np.sqrt(level * (1 - level) / 20_000)
        assert ((draws < quantile - 2.0**-39).mean(0) < level + error).all()
        # Accuracies nearer to 1 than quantiles are found are drawn as 1.
        assert ((draws <= quantile + 2.0**-39).mean(0) > level - error).all()
    assert POSTERIOR.quantile([0.1, 0.9]).shape == (2, 5)


@pytest.mark.parametrize("r", [0, 50])
def test_everything_wrong_or_right_stays_finite(r):
    posterior = PRIOR.update(np.full(5, r), np.full(5, 50))
    assert np.isfinite(posterior.log_weight).all()
    assert ((posterior.mean > 0) & (posterior.mean < 1) & (posterior.variance > 0)).all()


# -- in sessions ------------------------------------------------------------------------------------------------------


def overconfident_pool(n=1600, n_groups=8):
    """Groups whose scores all say 0.97, and which are right in 50 to 85 % of their items."""
    rng = np.random.default_rng(7)
    predictions = np.resize(np.arange(n_groups), n)
    right = rng.random(n) < np.linspace(0.5, 0.85, n_groups)[predictions]
    pool = ba.Pool(predictions=predictions, confidence=np.full(n, 0.97), classes=range(n_groups))
    return pool, np.where(right, predictions, (predictions + 1) % n_groups)


@pytest.mark.slow
@pytest.mark.parametrize(
    "question",
    [ba.GroupAccuracy(), ba.LeastAccurate(), ba.Calibration(bins=2, by="prediction"), ba.Compare(by="prediction")],
    ids=lambda question: question.name,
)
def test_questions_on_accuracies_take_the_learned_prior(question, tmp_path):
    pool, labels = overconfident_pool()
    a = ba.assess(pool, question, prior="learned", journal=tmp_path / "run.db")
    queries = a.ask(5)
    a.tell(queries.ids, labels[queries.ids])
    a.ask(2)
    again = ba.resume(tmp_path / "run.db", pool)
    np.testing.assert_array_equal(again.result().estimate, a.result().estimate)


def test_few_labels_of_overconfident_groups_do_not_bluff():
    pool, labels = overconfident_pool(n_groups=40)
    covered = {}
    for prior in ("learned", "informative"):
        result = ba.assess(pool, ba.GroupAccuracy(), design="random", prior=prior)
        ids = result.ask(40).ids
        result.tell(ids, labels[ids])
        lower, upper = np.quantile(result.result().draws.mean(1), [0.025, 0.975])
        covered[prior] = bool(lower <= (pool.predictions == labels).mean() <= upper)
    assert covered == {"learned": True, "informative": False}


def test_scores_that_promise_certainty_are_not_believed():
    """A hundred labels are right: an accuracy of 0.99, with which that happens once in three times, stays possible."""
    prior = HierarchicalAccuracy.from_prior(mean_score=np.full(10, 0.9999))
    assert prior.update(np.full(10, 10), np.full(10, 10)).quantile(0.025).max() < 0.99


def test_the_level_is_half_way_to_that_of_usual_systems_or_that_of_the_scores():
    """As logits, of which a score of 1 has 4.6, and an accuracy of 0.88 has 2."""
    sure, half = (HierarchicalAccuracy.from_prior(mean_score=np.full(4, score)).location[0] for score in (1.0, 0.5))
    np.testing.assert_allclose([sure, half], [1 + special.logit(0.99) / 2, 1])
    shares = HierarchicalAccuracy.from_prior(mean_score=[0.5, 0.5], around_scores=3.0)
    assert (shares.location[0], shares.scale[0]) == (0, 3)


def test_groups_without_an_error_may_have_some():
    """All labels of two groups are right: 0.988, with which 59 of the first are every other time, stays possible."""
    posterior = HierarchicalAccuracy.from_prior(mean_score=[0.989, 0.81]).update([59, 61], [59, 61])
    assert posterior.quantile(0.025)[0] < 0.5 ** (1 / 59)


@pytest.mark.slow
@pytest.mark.parametrize("budget", [120, 480])
def test_where_larger_groups_are_less_accurate_the_overall_accuracy_is_held(budget):
    """Larger groups are asked about more; a model that does not know sizes takes theirs for everyone's accuracy."""
    rng = np.random.default_rng(1)
    place = rng.normal(size=120)
    sizes = np.rint(60 * np.exp(0.4 * place)).astype(int)
    accuracy = rng.beta(*(12 * np.stack([m := special.expit(1.2 - 0.8 * place), 1 - m])))
    predictions = np.repeat(np.arange(120), sizes)
    labels = np.where(rng.random(len(predictions)) < np.repeat(accuracy, sizes), predictions, (predictions + 1) % 120)
    pool, question = ba.Pool(predictions=predictions, classes=list(range(120))), ba.GroupAccuracy()
    study = ba.simulate(
        pool, labels, question, designs={"a": ("thompson", "learned")}, budgets=[budget], repeats=(n := 32), seed=0
    )
    truth, found = study.truth @ study.weight, study.campaigns["a"]
    draws = [question.draws(study.cells, found.prior, counts, 0, 400) @ study.weight for counts in found.counts[:, 0]]
    ends = np.quantile(draws, [0.025, 0.975], axis=1)
    held = int(((ends[0] <= truth) & (truth <= ends[1])).sum())
    assert held >= stats.binom.ppf(ALPHA, n, 0.88)


@pytest.mark.parametrize("question", [ba.GroupAccuracy(), ba.ConfusionMatrix(), ba.Calibration()], ids=lambda q: q.name)
def test_the_learned_prior_has_no_strength_to_choose(question):
    with pytest.raises(ba.PriorError, match="finds its strength from the labels"):
        ba.assess(overconfident_pool()[0], question, prior="learned", prior_strength=2)


def test_results_are_64_bit_and_the_setting_is_left_alone():
    assert POSTERIOR.mean.dtype == POSTERIOR.log_weight.dtype == np.float64
    assert not jax.config.jax_enable_x64


@pytest.mark.slow
def test_points_of_some_hundred_campaigns_are_those_of_the_compiled_program_without_compiling_it(caplog):
    labels = np.random.default_rng(0).integers(0, 9, (200, len(SCORES)))
    agreements = np.random.default_rng(1).binomial(labels, 0.8)
    caplog.set_level("DEBUG", "jax")
    with engine.eager():
        found = PRIOR.update(agreements, labels)
    assert not [record for record in caplog.records if record.msg.startswith("Compiling")]
    with engine.compiled():
        compiled = PRIOR.update(agreements, labels)
    assert any("_placed" in record.getMessage() for record in caplog.records if record.msg.startswith("Compiling"))
    np.testing.assert_allclose(found.log_weight, compiled.log_weight, rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(found.log_strength, compiled.log_strength, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "either `mean_score`, or `n_groups`"),
        ({"mean_score": [0.5, 1.5]}, "between 0 and 1; group 1 has 1.5"),
        ({"n_groups": 2, "covariates": {"age": [1.0]}}, r"'age' has shape \(1,\); pass one number for each of 2"),
        ({"n_groups": 2, "covariates": {"age": [1.0, np.nan]}}, "'age' is not a finite number for every group"),
        ({"mean_score": [0.5, 0.6], "around_scores": 0}, "`around_scores` is a positive number of log odds; found 0"),
        ({"n_groups": 2, "strength_prior": (4.0, 0.0)}, r"standard deviation of log nu; found \(4.0, 0.0\)"),
        ({"n_groups": 2, "strength_prior": 4.0}, "is mean and standard deviation of log nu; found 4.0"),
        ({"n_groups": 2, "sizes": [1]}, r"`sizes` has shape \(1,\); pass one number for each of 2"),
        ({"n_groups": 2, "covariates": {"age": ["a", "b"]}}, "'age' is not a finite number for every group"),
    ],
)
def test_bad_input_gets_one_sentence(arguments, message):
    with pytest.raises(ba.PriorError, match=message):
        HierarchicalAccuracy.from_prior(**arguments)
