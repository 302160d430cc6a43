from __future__ import annotations

import contextlib
import io
import warnings
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
import pytest
from numpyro.diagnostics import effective_sample_size
from scipy.special import expit

from bayes_assess._tools.to_arviz import import_arviz
from bayes_assess.acquisition import best_arm, beta_variance_reduction, sample_variance_reduction
from bayes_assess.errors import InferenceError, OutputError
from bayes_assess.models.beta_bernoulli import BetaBernoulli, program, statistics
from bayes_assess.models.nuts import fitting
from bayes_assess.models.nuts.convergence import diagnose
from bayes_assess.models.nuts.fitting import ConvergenceWarning, fit
from bayes_assess.models.nuts.program_sites import trace_sites, what_is_not_finite, without_observations
from bayes_assess.models.posterior_draws import posterior_draws

GROUPS = np.repeat([0, 1, 2], [30, 12, 4])
AGREEMENTS = np.concatenate([np.arange(30) % 10 > 0, np.arange(12) % 2, np.ones(4)]).astype(int)
PRIOR = {"a": [1.0, 1.5, 2.0], "b": [1.0, 0.5, 1.0]}
DATA = {"groups": GROUPS, "agreements": AGREEMENTS, **PRIOR}
NAMES = ["cat", "dog", "owl"]
ALL_GROUPS = ["log_likelihood", "observed_data", "posterior", "posterior_predictive", "prior", "prior_predictive"]


@pytest.fixture(scope="module")
def ours():
    """A good run of our own program; it may neither warn nor print nor touch JAX's settings."""
    output = io.StringIO()
    with contextlib.redirect_stdout(output), contextlib.redirect_stderr(output), warnings.catch_warnings():
        warnings.simplefilter("error")
        assert not jax.config.read("jax_enable_x64")
        data = fit(program, DATA, coords={"group": NAMES}, seed=1)
        assert not jax.config.read("jax_enable_x64")
    assert output.getvalue() == ""
    return data


@pytest.fixture(scope="module")
def conjugate():
    prior = BetaBernoulli(np.array(PRIOR["a"]), np.array(PRIOR["b"]))
    return prior.update(*statistics(GROUPS, AGREEMENTS, 3))


SITES = np.repeat(np.arange(5), [10, 10, 6, 20, 1])
HITS = np.concatenate([np.arange(n) < k for n, k in [(10, 9), (10, 8), (6, 3), (20, 17), (1, 0)]]).astype(int)


def pooled(sites, hits, x):
    """A user's own program: accuracies of sites share a mean; nothing in it may be None."""
    mean = numpyro.sample("mean", dist.Normal(0, 1.5))
    scale = numpyro.sample("scale", dist.HalfNormal(1))
    with numpyro.plate("site", len(x)):
        effect = numpyro.sample("effect", dist.Normal(0, 1))
        theta = numpyro.deterministic("theta", jax.nn.sigmoid(mean + scale * effect))
        # Two measurements of every site, along an axis without a plate.
        numpyro.sample("x", dist.Normal(mean, 1).expand([2]).to_event(1), obs=x)
    assert int(sites.max()) < len(x)  # data stay concrete while the rest is compiled
    with numpyro.plate("label", len(hits)):
        numpyro.sample("hit", dist.Bernoulli(theta[sites]), obs=hits)


@pytest.fixture(scope="module")
def theirs():
    x = np.random.default_rng(0).normal(1, 1, size=(5, 2)).astype(np.float32)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        # Small steps: near scale = 0 the posterior narrows, and one divergence among 4,000 draws would be one too many.
        return fit(pooled, {"sites": SITES, "hits": list(HITS), "x": x}, seed=2, target_accept=0.99)


# -- agreement with what is known exactly ------------------------------------------------------------------------------


@pytest.mark.slow
def test_posterior_moments_are_those_of_the_conjugate_posterior(ours, conjugate):
    theta = np.asarray(ours["posterior"]["theta"].values)
    assert theta.dtype == np.float64
    for draws, exact in ((theta, conjugate.mean), ((theta - conjugate.mean) ** 2, conjugate.variance)):
        error = draws.std((0, 1)) / np.sqrt(effective_sample_size(draws))
        assert (np.abs(draws.mean((0, 1)) - exact) < 5 * error).all()


def test_prior_draws_come_from_the_prior(ours):
    theta = ours["prior"]["theta"].values
    prior = BetaBernoulli(np.array(PRIOR["a"]), np.array(PRIOR["b"]))
    assert theta.shape == (1, 1000, 3)
    assert (np.abs(theta.mean((0, 1)) - prior.mean) < 5 * np.sqrt(prior.variance / 1000)).all()


def test_log_likelihood_is_the_log_probability_of_every_outcome(ours):
    theta = ours["posterior"]["theta"].values[..., GROUPS]
    expected = np.log(np.where(AGREEMENTS == 1, theta, 1 - theta))
    np.testing.assert_allclose(ours["log_likelihood"]["agreement"].values, expected, rtol=1e-10)


def test_predicted_outcomes_follow_the_posterior_not_the_data(ours, conjugate):
    outcome = ours["posterior_predictive"]["agreement"].values
    mean = conjugate.mean[GROUPS]
    # Draws of one item are Bernoulli with the posterior mean; 5 standard errors allow for correlated thetas twice over.
    assert (np.abs(outcome.mean((0, 1)) - mean) < 10 * np.sqrt(mean * (1 - mean) / 4000)).all()
    assert (outcome.std((0, 1)) > 0).all()


# -- what ArviZ gets ---------------------------------------------------------------------------------------------------


def test_groups_dims_and_coords_have_names(ours):
    for group in (*ALL_GROUPS, "sample_stats"):
        assert ours[group].data_vars, group
    theta = ours["posterior"]["theta"]
    assert theta.dims == ("chain", "draw", "group")
    assert list(theta.coords["group"].values) == NAMES
    for group in ("posterior_predictive", "log_likelihood"):
        assert ours[group]["agreement"].dims == ("chain", "draw", "label")
    np.testing.assert_array_equal(ours["observed_data"]["agreement"].values, AGREEMENTS)
    np.testing.assert_array_equal(ours["observed_data"]["agreement"].coords["label"].values, np.arange(46))
    assert ours.attrs["inference_library"] == "numpyro"
    assert len(import_arviz().summary(ours, kind="stats")) == 3


def test_sampler_statistics_have_arvizs_names(ours):
    statistics = ours["sample_stats"]
    assert {"diverging", "n_steps", "tree_depth", "acceptance_rate", "energy", "lp", "step_size"} <= set(statistics)
    assert statistics["diverging"].values.sum() == 0
    steps, depth = statistics["n_steps"].values, statistics["tree_depth"].values
    assert ((2 ** (depth - 1) <= steps) & (steps < 2**depth)).all()


@pytest.mark.slow
def test_a_users_program_that_takes_no_none_gets_every_group_and_plate_names(theirs):
    for group in ALL_GROUPS:
        assert theirs[group].data_vars, group
    assert theirs["posterior"]["theta"].dims == ("chain", "draw", "site")
    assert theirs["posterior"]["mean"].dims == ("chain", "draw")
    assert theirs["posterior_predictive"]["x"].dims == ("chain", "draw", "site", "x_dim_1")
    assert theirs["log_likelihood"]["x"].dims == ("chain", "draw", "site")
    hit = theirs["posterior_predictive"]["hit"].values
    theta = theirs["posterior"]["theta"].values
    # Outcomes of 4000 draws each: 5 standard errors are below 0.04.
    np.testing.assert_allclose(hit.mean((0, 1)), theta.mean((0, 1))[SITES], atol=0.05)


@pytest.mark.slow
def test_the_same_seed_gives_the_same_draws_and_another_seed_others():
    def tiny():
        numpyro.sample("z", dist.Normal(0, 1))

    draws = []
    for seed in (3, 3, 4):
        with pytest.warns(ConvergenceWarning, match="effective sample size"):  # far too few draws
            data = fit(tiny, {}, seed=seed, chains=1, warmup=100, draws=50, pointwise=False)
        draws.append(posterior_draws(data, "z"))
    np.testing.assert_array_equal(draws[0], draws[1])
    assert not np.isin(draws[0], draws[2]).any()


def test_chains_prior_and_predictions_have_keys_of_their_own(monkeypatch):
    """Of one key the first predictions would have the noise of the first draws of the prior."""

    def predictive(*arguments, **options):
        return lambda key: {"theta": jax.random.key_data(key), "agreement": jax.random.key_data(key)}

    def sample(model, settings, key):
        return {"theta": jax.random.key_data(key)}, {}, jnp.array(True)

    monkeypatch.setattr(fitting, "_sample", sample)
    monkeypatch.setattr(fitting, "Predictive", predictive)
    monkeypatch.setattr(fitting, "log_likelihood", lambda *_, **__: {"agreement": jnp.zeros(1)})
    found = fitting._run(program, DATA, fitting._Settings(1, 1, 0, 4, False, 0.9, 1, True), {}, {}).groups
    drawn = found["posterior"]["theta"], found["prior"]["theta"], found["posterior_predictive"]["agreement"]
    assert len({tuple(key.ravel().tolist()) for key in drawn}) == 3


def test_an_observed_argument_is_none_where_the_program_takes_none():
    def walk(y=None):
        rate = numpyro.sample("rate", dist.Uniform(0, 1))
        before = 0.0
        for step in range(3):
            before = numpyro.sample(f"y{step}", dist.Normal(rate * before, 1), obs=None if y is None else y[step])

    def simple(y=None):
        numpyro.sample("y", dist.Normal(numpyro.sample("rate", dist.Uniform(0, 1)), 1).expand([3]), obs=y)

    data, key = {"y": np.zeros(3)}, jax.random.key(0)
    for model, left_out in ((simple, True), (walk, False)):
        simulator = without_observations(model, data, trace_sites(partial(model, **data), key), key)
        assert isinstance(simulator, partial) == left_out  # otherwise a handler around the program
        assert not trace_sites(simulator, key).observations


# -- draws feed the acquisitions ---------------------------------------------------------------------------------------


def test_posterior_draws_puts_chains_in_a_row(ours):
    draws = posterior_draws(ours, "theta")
    assert draws.shape == (4000, 3)
    np.testing.assert_array_equal(draws[1000:2000], ours["posterior"]["theta"].values[1])


def test_acquisitions_on_our_draws_agree_with_closed_forms(ours, conjugate):
    draws, weight = posterior_draws(ours, "theta"), np.array([0.5, 0.3, 0.2])
    exact = beta_variance_reduction(conjugate.mean, conjugate.a, conjugate.b, weight)
    # Sample variances of 4000 correlated draws are good to about 3 % each, and the reward is a difference of them.
    np.testing.assert_allclose(sample_variance_reduction(conjugate.mean, draws, weight), exact, rtol=0.2)

    # Thompson sampling for the least accurate group: one draw, its worst arm. Independent draws as reference.
    arms = jax.vmap(best_arm, (0, 0, None))(jax.random.split(jax.random.key(0), 4000), -draws, np.ones(3, bool))
    reference = np.asarray(conjugate.sample(jax.random.key(1), 100_000)).argmin(1)
    frequency, expected = np.bincount(arms, minlength=3) / 4000, np.bincount(reference, minlength=3) / 100_000
    np.testing.assert_allclose(frequency, expected, atol=0.05)


@pytest.mark.slow
def test_acquisitions_take_the_draws_of_a_hierarchical_program_as_they_are(theirs):
    draws = posterior_draws(theirs, "theta")
    mean, scale, effect = (posterior_draws(theirs, site) for site in ("mean", "scale", "effect"))
    logits = mean[:, None] + scale[:, None] * effect
    np.testing.assert_allclose(draws, expit(logits), rtol=1e-9)
    reward = sample_variance_reduction(draws.mean(0), draws, np.full(5, 0.2))
    assert (reward > 0).all()
    assert reward.argmax() == 4  # the site with one label has most to give
    arm = int(best_arm(jax.random.key(0), draws[17], np.array([True, True, False, True, True])))
    assert arm == np.where(np.arange(5) == 2, -1, draws[17]).argmax()


# -- warnings ----------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_funnel_gives_one_warning_that_names_divergences_the_worst_site_and_remedies():
    def funnel():
        scale = numpyro.sample("scale", dist.Normal(0, 3))
        with numpyro.plate("group", 3):
            numpyro.sample("x", dist.Normal(0, jnp.exp(scale)))

    options = {"warmup": 100, "draws": 200, "target_accept": 0.5, "max_tree_depth": 4}
    with pytest.warns(ConvergenceWarning) as caught:
        data = fit(funnel, {}, coords={"group": NAMES}, **options)
    assert len(caught) == 1
    assert caught[0].filename == __file__
    text = str(caught[0].message)
    diverged = int(data["sample_stats"]["diverging"].values.sum())
    assert f"{diverged} of 800 draws diverged" in text
    assert diverged > 0
    for part in (
        r"R-hat is",
        "bulk effective sample size is",
        "hit the maximum tree depth",
        "target_accept",
        "stronger",
    ):
        assert part in text
    assert " at scale (" in text or " at x[group=" in text
    # Without observations there is nothing to predict, but a prior and a posterior.
    assert data["prior"]["x"].dims == ("chain", "draw", "group")


def test_diagnostics_are_those_of_arviz():
    values = np.random.default_rng(0).normal(size=(4, 500))
    for i in range(1, 500):
        values[:, i] += 0.7 * values[:, i - 1]
    az = import_arviz()
    expected = [az.rhat(values), az.ess(values), az.ess(values, method="tail", prob=(0.05, 0.95))]
    np.testing.assert_allclose(diagnose(values), np.array(expected, float), rtol=0.01)


def test_diagnostics_pass_over_what_is_fixed_and_see_chains_that_are_stuck():
    fixed = np.ones((4, 100)) + 1e-16 * np.arange(100)
    assert np.isnan(diagnose(fixed)).all()
    stuck = np.repeat(np.arange(4.0)[:, None], 100, axis=1)
    assert diagnose(stuck)[0] > 1e6


# -- input that cannot be used -----------------------------------------------------------------------------------------


def nothing_latent(y):
    numpyro.sample("y", dist.Normal(0, 1), obs=y)


def without_plate(y):
    numpyro.sample("y", dist.Normal(numpyro.sample("mean", dist.Normal(0, 1)), 1), obs=y)


def clash(y):
    mean = numpyro.sample("mean", dist.Normal(0, 1))
    with numpyro.plate("draw", 3):
        numpyro.sample("y", dist.Normal(mean, 1), obs=y)


def twice(y):
    with numpyro.plate("mean", 3):
        numpyro.sample("mean", dist.Normal(0, 1))


def two_lengths(y):
    for length, name in ((3, "a"), (4, "b")):
        with numpyro.plate("item", length):
            numpyro.sample(name, dist.Normal(0, 1))


def negative_scale(y):
    numpyro.sample("y", dist.Normal(numpyro.sample("mean", dist.Normal(0, 1)), -1.0), obs=y)


def two_plates(y):
    with numpyro.plate("item", 3), numpyro.plate("judge", 2, dim=-2):
        numpyro.sample("y", dist.Binomial(np.full((2, 3), 5), numpyro.sample("rate", dist.Beta(1, 1))), obs=y)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((3, {}), "Expected a NumPyro program.*found int"),
        ((program, [1, 2]), "Expected data as a mapping.*found list"),
        (
            (program, {"groups": GROUPS, **PRIOR, "labels": AGREEMENTS}),
            "unexpected keyword argument 'labels'.*'groups'",
        ),
        ((program, PRIOR), "missing a required argument: 'groups'"),
        ((nothing_latent, {"y": 1.0}), "no latent site"),
        ((program, {"groups": GROUPS, **PRIOR}), "'agreement' is discrete and not observed"),
        ((program, DATA | {"agreements": np.where(GROUPS == 1, np.nan, 1)}), r"'agreement' have 12 NaN.*\[30\]"),
        ((program, DATA | {"agreements": AGREEMENTS + (GROUPS == 2)}), r"'agreement' hold 2.* at \[42\]"),
        (
            (program, DATA | {"agreements": ["yes"] * len(GROUPS)}),
            r"'agreement' are numbers; found \['yes', ",
        ),
        ((without_plate, {"y": np.zeros(4)}), r"'y' was observed with shape \(4,\).*draws shape \(\).*plate"),
        ((clash, {"y": np.zeros(3)}), "'draw' cannot name a plate"),
        ((two_plates, {"y": np.zeros(4)}), r"'y' have shape \(4,\), but the program draws shape \(2, 3\)\."),
        ((two_plates, {"y": np.array([0, 7, 1])}), r"'y' hold 7 at \[0, 1\]"),
        ((twice, {"y": 0}), "of one site or plate of a program alone, and 'mean' is of two"),
        ((two_lengths, {"y": 0}), "'item' has 3 and, at 'b', 4"),
        ((negative_scale, {"y": np.zeros(3)}), "distribution that there is not: Normal distribution got invalid scale"),
    ],
)
def test_programs_and_data_that_do_not_fit_are_named(arguments, message):
    with pytest.raises(InferenceError, match=message):
        fit(*arguments)


def impossible(y):
    numpyro.sample("y", dist.Exponential(numpyro.sample("rate", dist.HalfNormal(1))).expand([3]), obs=y)


def negative_scale(y):
    numpyro.sample("y", dist.Normal(0, -numpyro.sample("scale", dist.HalfNormal(1))).expand([3]), obs=y)


def without_gradient(y):
    mean = numpyro.sample("mean", dist.Normal(0, 1))
    numpyro.factor("penalty", -jnp.sqrt(0 * mean))
    numpyro.sample("y", dist.Normal(mean, 1).expand([3]), obs=y)


@pytest.mark.parametrize(
    ("model", "what"),
    [
        (impossible, "the log density of 'y' is -inf"),
        (negative_scale, "Normal distribution got invalid scale parameter"),
        (without_gradient, "the gradient is not"),
    ],
)
def test_what_is_not_finite_is_named(model, what):
    assert what_is_not_finite(partial(model, y=-np.ones(3)), jax.random.key(0)) == what


@pytest.mark.slow
@pytest.mark.parametrize("progress", [False, True])
def test_a_program_without_a_start_is_refused(progress):
    options = {"warmup": 4, "draws": 4, "chains": 1, "max_tree_depth": 1, "progress": progress}
    with pytest.raises(InferenceError, match=r"no start at which .* are finite: the gradient is not"):
        fit(without_gradient, {"y": np.zeros(3)}, **options)


@pytest.mark.parametrize("value", [lambda mean: 1.0 if mean > 0 else -1.0, np.exp, float, int])
def test_a_program_that_needs_values_of_sites_is_refused(value):
    def model(y=None):
        numpyro.sample("y", dist.Normal(value(numpyro.sample("mean", dist.Normal(0, 1))), 1).expand([3]), obs=y)

    with pytest.raises(InferenceError, match="needs the value of a site"):
        fit(model, {"y": np.zeros(3)})


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"coords": {"grop": NAMES}}, InferenceError, "`coords` names 'grop'.*'group', 'label'"),
        ({"dims": {"thta": ["group"]}}, InferenceError, "`dims` names 'thta'.*'theta', 'agreement'"),
        ({"coords": {"group": ["cat", "dog"]}}, OutputError, "length 3 along 'group'.*2 labels"),
        ({"dims": {"theta": ["theta"]}}, InferenceError, "'theta' cannot name"),
        ({"dims": {"theta": ["a", "b"]}}, OutputError, "dims names 2"),
        ({"dims": {"theta": "group"}}, InferenceError, "a list of names for every site; found 'group' for 'theta'"),
        ({"draws": 3}, InferenceError, "`draws` is at least 4; found 3"),
        ({"seed": 0.5}, InferenceError, "`seed` is an integer; found 0.5"),
        ({"seed": 2**63}, InferenceError, "`seed` is an integer of 64 bits; found 9223372036854775808"),
        ({"target_accept": 1.0}, InferenceError, "`target_accept` lies between 0 and 1"),
    ],
)
def test_options_that_do_not_fit_are_named_before_sampling(options, error, message):
    with pytest.raises(error, match=message):
        fit(program, DATA, **options)


def test_posterior_draws_names_the_sites_there_are(ours):
    with pytest.raises(InferenceError, match="no 'accuracy'; it has 'theta'"):
        posterior_draws(ours, "accuracy")
    with pytest.raises(InferenceError, match="found ndarray"):
        posterior_draws(np.zeros(3), "theta")
