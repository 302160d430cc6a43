"""Settings of JAX that users choose for code of their own: answers are those of any others, and they stay."""

from __future__ import annotations

from contextlib import ExitStack

import jax
import numpy as np
import pytest

import bayes_assess as ba
from bayes_assess.models import beta_bernoulli
from bayes_assess.models.sampled_belief import SampledBelief
from made import made_pool

POOL, LABELS = made_pool([0.9, 0.5, 0.7], [40, 30, 20])
PRIOR = SampledBelief(np.random.default_rng(0).random((50, 3)), np.zeros(50))
SETTINGS = {
    "numpy_rank_promotion": "raise",
    "numpy_dtype_promotion": "strict",
    "default_prng_impl": "rbg",
    "threefry_partitionable": False,
    "transfer_guard": "disallow",
}


def asked_and_answered(**options):
    a = ba.assess(POOL, ba.GroupAccuracy(), prior=PRIOR, engine="compiled", seed=3, **options)
    ids = a.ask(4).ids
    a.tell(ids, LABELS[ids])
    return ids.tolist() + a.ask(4).ids.tolist(), a.result().estimate.tolist()


@pytest.mark.parametrize("setting", SETTINGS)
def test_compiled_sessions_are_the_same_whatever_the_setting(setting):
    expected = asked_and_answered()
    with getattr(jax, setting)(SETTINGS[setting]):
        before = getattr(jax.config, f"jax_{setting}")
        assert asked_and_answered() == expected
        assert getattr(jax.config, f"jax_{setting}") == before


@pytest.mark.slow
def test_programs_are_sampled_alike_whatever_the_settings():
    arguments = ba.BetaBernoulli.from_prior(n_groups=2).program_arguments([[1, 3], [2, 2]])

    def drawn():
        with pytest.warns(ba.ConvergenceWarning):
            fitted = ba.fit(beta_bernoulli.program, **arguments, chains=1, warmup=10, draws=10, progress=False)
        return fitted["posterior"]["theta"].values

    expected = drawn()
    with ExitStack() as stack:
        for setting, value in {**SETTINGS, "debug_key_reuse": True}.items():
            stack.enter_context(getattr(jax, setting)(value))
        np.testing.assert_array_equal(drawn(), expected)


def test_functions_called_on_the_host_stay_on_numpy_where_users_have_64_bits():
    """They would be compiled for every shape, which takes seconds."""
    with jax.enable_x64(True):
        for belief in (PRIOR, ba.HierarchicalAccuracy.from_prior(n_groups=3)):
            assert isinstance(belief.update_counts(np.ones((3, 2), int)).mean, np.ndarray)


@pytest.mark.parametrize("key", [0, np.int64(3), None, "a", 1.5, np.random.default_rng(0)])
def test_what_is_no_key_is_refused(key):
    with pytest.raises(ba.DesignError, match=r"such as jax\.random\.key\(0\); found "):
        PRIOR.sample(key, 2)


def test_keys_of_any_kind_serve():
    typed = jax.random.key(7)
    drawn = [PRIOR.sample(key, 3) for key in (typed, jax.random.PRNGKey(7), np.asarray(jax.random.PRNGKey(7)))]
    np.testing.assert_array_equal(drawn[0], drawn[1])
    np.testing.assert_array_equal(drawn[0], drawn[2])
    for implementation in ("rbg", "unsafe_rbg"):
        assert PRIOR.sample(jax.random.key(7, impl=implementation), 3).shape == (3, 3)
    assert PRIOR.sample(jax.random.PRNGKey(7, impl="rbg"), 3).shape == (3, 3)
