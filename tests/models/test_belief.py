"""What takes a belief takes any: here a mixture over hyperparameters, and posterior draws, beside closed forms."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.scipy.special import betainc, betaln

import bayes_assess as ba
from bayes_assess._tools.axes import x64
from bayes_assess.designs import choose_batch
from bayes_assess.models.belief import Belief, check_belief, jax_ready, pool_shares
from bayes_assess.models.paired_outcomes import PairedOutcomes
from bayes_assess.models.sampled_belief import SampledBelief
from questions.asked import COST, LABELS, POOL


@partial(jax.tree_util.register_dataclass, data_fields=["a", "b", "log_weight"], meta_fields=[])
@dataclass(frozen=True)
class Mixture:
    """Weighted draws of hyperparameters, and every cell a Beta distribution under each: the seven members alone."""

    a: Any  # (..., H, K)
    b: Any
    log_weight: Any  # (..., H)

    @property
    @x64
    def weight(self):
        return jax.nn.softmax(jnp.asarray(self.log_weight), axis=-1)[..., None]

    @property
    @x64
    def mean(self):
        return (self.weight * self.a / (self.a + self.b)).sum(-2)

    @property
    @x64
    def variance(self):
        total = self.a + self.b
        return (self.weight * self.a * (self.a + 1) / (total * (total + 1))).sum(-2) - self.mean**2

    @x64
    def update_counts(self, counts):
        counts = jnp.asarray(counts, jnp.float64)[..., None, :, :]
        return self._plus(counts[..., 1], counts[..., 0])

    @x64
    def update_at_mean(self, n):
        agreeing = n * self.mean
        return self._plus(agreeing[..., None, :], (n - agreeing)[..., None, :])

    @x64
    def quantile(self, level):
        level = jnp.asarray(level, jnp.float64)
        level = level.reshape(level.shape + (1,) * (np.ndim(self.a) - 1))
        low, high = (jnp.full(jnp.broadcast_shapes(level.shape, self.mean.shape), end) for end in (0.0, 1.0))

        def halved(_, ends):
            middle = (ends[0] + ends[1]) / 2
            below = (self.weight * betainc(self.a, self.b, middle[..., None, :])).sum(-2) < level
            return jnp.where(below, middle, ends[0]), jnp.where(below, ends[1], middle)

        return jax.lax.fori_loop(0, 40, halved, (low, high))[0]

    @x64
    def sample(self, key, n):
        key_which, key_value = jax.random.split(key)
        which = jax.random.categorical(key_which, jnp.asarray(self.log_weight), shape=(n, *self.log_weight.shape[:-1]))
        a, b = (
            jnp.take_along_axis(jnp.broadcast_to(x, (n, *x.shape)), which[..., None, None], -2).squeeze(-2)
            for x in (self.a, self.b)
        )
        return jax.random.beta(key_value, a, b)

    def pool_draws(self, key, n, counts, sizes):
        key_theta, key_rest = jax.random.split(key)
        return pool_shares(key_rest, np.asarray(self.sample(key_theta, n)), counts, sizes)

    def _plus(self, agreeing, other):
        gain = betaln(self.a + agreeing, self.b + other) - betaln(self.a, self.b)
        return replace(self, a=self.a + agreeing, b=self.b + other, log_weight=self.log_weight + gain.sum(-1))


def mixture(n_cells: int) -> Mixture:
    """Groups that are alike to an unknown degree, around an unknown mean."""
    mean, strength = (x.ravel()[:, None] for x in np.meshgrid([0.3, 0.5, 0.7], [2.0, 20.0]))
    a = np.broadcast_to(mean * strength, (6, n_cells))
    return Mixture(a, np.broadcast_to((1 - mean) * strength, (6, n_cells)), np.zeros(6))


def alone(n_cells: int) -> Mixture:
    """A mixture of one: the closed form under another name."""
    return Mixture(np.full((1, n_cells), 1.5), np.full((1, n_cells), 0.5), np.zeros(1))


ACCURACIES = {
    "accuracy": (ba.GroupAccuracy(by="site"), 3),
    "accuracy_of_the_population": (ba.GroupAccuracy(by="site", target="population"), 3),
    "least_accurate": (ba.LeastAccurate(m=2), 4),
    "calibration": (ba.Calibration(bins=5), 5),
    "least_calibrated": (ba.LeastCalibrated(bins=4), 16),
    "two_groups": (ba.Compare("west", "east", by="site"), 3),
    "two_groups_of_the_population": (ba.Compare("west", "east", by="site", target="population"), 3),
    "all_pairs": (ba.Compare(by="site"), 3),
}
TOLD = np.arange(0, 160, 3)


def test_the_models_are_beliefs():
    for belief in (
        ba.BetaBernoulli(np.ones(2), np.ones(2)),
        ba.DirichletConfusion(np.ones((2, 2))),
        ba.PairedOutcomes(np.ones((2, 4))),
        SampledBelief(np.full((5, 2), 0.5), np.zeros(5)),
        mixture(2),
    ):
        assert isinstance(belief, Belief)
    assert not isinstance(np.ones(3), Belief)


@pytest.mark.slow
@pytest.mark.parametrize("name", ACCURACIES)
def test_answers_from_any_belief_are_those_of_the_closed_form_that_it_equals(name):
    question, n_cells = ACCURACIES[name]
    closed = ba.BetaBernoulli(np.full(n_cells, 1.5), np.full(n_cells, 0.5))
    results = []
    for prior in (closed, alone(n_cells)):
        a = ba.assess(POOL, question, design="random", prior=prior)
        a.tell(TOLD, LABELS[TOLD])
        results.append(a.result())
    expected, found = results
    spread = np.diff(expected.interval).squeeze(-1) + 1e-12
    close = 5 / np.sqrt(10_000)  # in standard deviations, of which an interval has four
    assert (np.abs(np.asarray(found.estimate) - expected.estimate) <= close * spread).all()
    # Ends of draws are apart by single items, of which groups hold some fifty and no fewer than the least.
    step = max(0.02, 1.001 / min(question.group_sizes(expected.cells)))
    np.testing.assert_allclose(found.interval, expected.interval, atol=step)
    if hasattr(expected, "masses"):
        np.testing.assert_allclose(found.masses, expected.masses, atol=5 * 0.5 / np.sqrt(10_000))
    assert found.summary().splitlines()[0] == expected.summary().splitlines()[0]
    assert len(found.table()) == len(expected.table())
    assert found.plot() is not None


@pytest.mark.slow
@pytest.mark.parametrize("name", ["accuracy", "least_accurate", "least_calibrated", "two_groups", "all_pairs"])
def test_designs_decide_on_a_mixture_and_learn_it(name):
    question, n_cells = ACCURACIES[name]
    a = ba.assess(POOL, question, prior=mixture(n_cells), seed=1)
    for _ in range(3):
        ids = a.ask(4).ids
        a.tell(ids, LABELS[ids])
    result = a.result()
    low, high = np.moveaxis(result.interval, -1, 0)
    assert ((low <= result.estimate) & (result.estimate <= high)).all()
    assert result.labels_used == 12


@pytest.mark.slow
def test_what_labels_of_some_groups_say_of_the_others_is_learned():
    """The closed form knows nothing of that."""
    a = ba.assess(POOL, ba.GroupAccuracy(by="site", target="population"), design="random", prior=mixture(3))
    east = np.flatnonzero(POOL.groups["site"] == "east")
    a.tell(east, POOL.predictions[east])  # all right
    prior, now = np.asarray(a.prior.mean), a.result().estimate
    assert (now[1:] > prior[1:] + 0.1).all()


@pytest.mark.slow
def test_quantiles_serve_bayesian_upper_bounds():
    a = ba.assess(POOL, ba.MostAccurate(by="site"), design="bayes_ucb", prior=mixture(3))
    ids = a.ask(6).ids
    a.tell(ids, LABELS[ids])
    assert len(a.ask(3).ids) == 3


@pytest.mark.slow
@pytest.mark.parametrize(
    ("question", "closed"),
    [
        (ba.ConfusionMatrix(COST), ba.DirichletConfusion(np.full((4, 4), 0.5))),
        (ba.MostCostly(COST), ba.DirichletConfusion(np.full((4, 4), 0.5))),
        (
            ba.Compare("rival", "prediction"),
            ba.PairedOutcomes(np.array([[0.5, 0, 0, 0.5], [0, 1 / 3, 1 / 3, 1 / 3]])),
        ),
    ],
    ids=["confusion", "most_costly", "two_systems"],
)
def test_draws_of_outcomes_answer_as_the_closed_form_does(question, closed):
    n, few = 200_000, TOLD[:9]
    draws = np.asarray(closed.sample(jax.random.key(3), n))
    results = []
    for prior in (closed, SampledBelief(draws, np.zeros(n))):
        a = ba.assess(POOL, question, design="random", prior=prior)
        a.tell(few, LABELS[few])
        results.append(a.result())
    expected, found = results
    np.testing.assert_allclose(found.estimate, expected.estimate, atol=0.15)  # some thousand effective draws
    np.testing.assert_allclose(found.interval, expected.interval, atol=0.6)
    assert found.table().columns == expected.table().columns


class TestTheSameBeliefDecidesAndAnswers:
    @pytest.mark.slow
    def test_a_result_from_another_posterior_is_the_result_of_that_prior(self):
        own, other = (
            ba.assess(POOL, ba.GroupAccuracy(by="site"), design="random", prior=p) for p in (None, mixture(3))
        )
        for a in (own, other):
            a.tell(TOLD, LABELS[TOLD])
        result = own.result(posterior=other.result().posterior)
        np.testing.assert_array_equal(result.estimate, other.result().estimate)
        np.testing.assert_array_equal(result.interval, other.result().interval)
        assert not np.array_equal(result.estimate, own.result().estimate)

    @pytest.mark.parametrize("question", [ba.MostCostly(COST), ba.ConfusionMatrix(COST)], ids=["costly", "confusion"])
    def test_draws_of_a_confusion_matrix_answer_costs(self, question):
        a = ba.assess(POOL, question)
        draws = np.random.default_rng(0).dirichlet(np.ones(4), (500, 4))
        result = a.result(posterior=draws)
        costs = result.cost if isinstance(question, ba.ConfusionMatrix) else result
        np.testing.assert_allclose(costs.estimate, (COST * draws.mean(0)).sum(1))
        assert len(a.ask(3, posterior=draws).ids) == 3

    def test_designs_with_models_of_their_own_take_rates_of_their_cells(self):
        a = ba.assess(POOL, ba.Metric("accuracy"))
        assert a.result(posterior=np.full((10, a.cells.n_cells), 0.5)).guarantee == "credible"
        with pytest.raises(ba.InferenceError, match="the probability that the prediction is right"):
            a.result(posterior=np.full((10, 4), 0.5))


@pytest.mark.slow
def test_quantiles_and_draws_of_many_campaigns():
    rng = np.random.default_rng(0)
    prior = ba.BetaBernoulli(np.array([2.0, 6.0]), np.array([2.0, 3.0]))
    n = 50_000
    draws = SampledBelief(rng.beta([2.0, 6.0], [2.0, 3.0], (n, 2)), np.zeros(n))
    counts, sizes = rng.integers(0, 4, (3, 2, 2, 2)), np.array([9, 6])
    exact, sampled = prior.update_counts(counts), draws.update_counts(counts)
    error = 5 * np.sqrt(exact.variance) / np.sqrt(1000)  # some thousand effective draws at least
    assert (np.abs(sampled.mean - exact.mean) < error).all()
    assert (np.abs(sampled.quantile(0.5) - exact.quantile(0.5)) < 2 * error).all()
    assert sampled.quantile([0.1, 0.5, 0.9]).shape == exact.quantile([0.1, 0.5, 0.9]).shape == (3, 3, 2, 2)
    assert sampled.sample(jax.random.key(0), 7).shape == (7, 3, 2, 2)
    shares = sampled.pool_draws(jax.random.key(0), 400, counts, sizes)
    expected = (counts[..., 1] + (sizes - counts.sum(-1)) * np.asarray(exact.mean)) / sizes
    assert (np.abs(shares.mean(0) - expected) < 5 * shares.std(0) / np.sqrt(400) + error).all()
    np.testing.assert_allclose(exact.quantile(0.3), ba.BetaBernoulli(exact.a, exact.b).quantile([0.3])[0])


@pytest.mark.parametrize(
    ("prior", "message"),
    [
        (mixture(5), r"one accuracy per group, shape \(3,\); found shape \(5,\)"),
        (
            SampledBelief(np.full((4, 3), np.nan), np.zeros(4)),
            "draws are probabilities, from 0 to 1; draw 0, cell 0 has nan",
        ),
        (ba.BetaBernoulli(np.array([1.0, 0.0, 1.0]), np.ones(3)), "BetaBernoulli must be positive and finite"),
        (ba.BetaBernoulli(["many", 1, 1], [1.0, 1, 1]), "The parameters of a BetaBernoulli are numbers; found"),
        (ba.BetaBernoulli("many", "few"), "The parameters of a BetaBernoulli are numbers; found"),
        (object(), "'uninformative', a BetaBernoulli or another Belief"),
    ],
)
def test_priors_that_fit_nothing_are_refused(prior, message):
    with pytest.raises(ba.PriorError, match=message):
        ba.assess(POOL, ba.GroupAccuracy(by="site"), prior=prior)


@pytest.mark.parametrize(
    ("question", "lists", "arrays"),
    [
        (
            ba.GroupAccuracy("site"),
            ba.BetaBernoulli([1, 2, 3], [3, 1, 1]),
            ba.BetaBernoulli(np.array([1.0, 2, 3]), np.array([3.0, 1, 1])),
        ),
        (ba.Compare("rival", "prediction"), PairedOutcomes([1, 2, 3, 4]), PairedOutcomes(np.arange(1.0, 5.0))),
    ],
)
def test_parameters_of_priors_may_be_lists(question, lists, arrays):
    estimates = [question.setting(POOL, prior=prior).prior.mean for prior in (lists, arrays)]
    np.testing.assert_array_equal(*estimates)


def test_beliefs_that_compiled_steps_cannot_update_are_refused():
    class Opaque(Mixture):
        pass

    one = mixture(3)
    with pytest.raises(ba.PriorError, match="must be a JAX pytree, and Opaque is none"):
        jax_ready(Opaque(one.a, one.b, one.log_weight))
    assert check_belief(one, (3,), "one accuracy per group").mean.shape == (3,)


def test_journals_say_which_priors_they_can_keep(tmp_path):
    with pytest.raises(ba.PriorError, match=r"keeps priors of the kinds BetaBernoulli, .*; found Mixture"):
        ba.assess(POOL, ba.GroupAccuracy(by="site"), prior=mixture(3), journal=tmp_path / "run.db")
    prior = SampledBelief(np.random.default_rng(0).random((20, 3)), np.zeros(20))
    a = ba.assess(POOL, ba.GroupAccuracy(by="site"), prior=prior, journal=tmp_path / "draws.db")
    a.journal.close()
    again = ba.resume(tmp_path / "draws.db", POOL)
    np.testing.assert_array_equal(again.result().estimate, a.result().estimate)
    again.journal.close()


class TestPlansOnABeliefOfOnesOwn:
    """Its draws are dear, and its functions compile for every shape anew."""

    @staticmethod
    def told(prior, question=None):
        a = ba.assess(POOL, question or ba.GroupAccuracy(by="site"), prior=prior, seed=0)
        a.tell(TOLD[:24], LABELS[TOLD[:24]])
        return a

    @pytest.mark.slow
    def test_decisions_of_a_block_share_their_draws_and_looks_have_one_shape(self, monkeypatch):
        """However many futures are left."""
        a, deciding, shapes = self.told(mixture(3), ba.Compare(by="site")), [], []

        def chosen(design, key, state, first, n):
            deciding.append((type(state.prior), n))
            return choose_batch(design, key, state, first, n)

        def updated(self, counts):
            if not isinstance(counts, jax.core.Tracer) and np.ndim(counts) > 2:
                shapes.append(np.shape(counts))
            return update_counts(self, counts)

        update_counts = Mixture.update_counts
        monkeypatch.setattr("bayes_assess.studies.futures.choose_batch", chosen)
        monkeypatch.setattr(Mixture, "update_counts", updated)
        plan = a.plan(width=0.45, futures=6)
        assert {kind for kind, _ in deciding} == {SampledBelief}
        assert max(n for _, n in deciding) > 1
        assert len(plan.budgets) > 2
        assert {shape[0] for shape in shapes} == {6}

    @pytest.mark.slow
    @pytest.mark.parametrize("question", [ba.GroupAccuracy(by="site"), ba.Compare("west", "east", by="site")])
    def test_they_are_those_of_the_closed_form_that_it_equals(self, question):
        closed = ba.BetaBernoulli(np.full(3, 1.5), np.full(3, 0.5))
        expected, found = (self.told(prior, question).plan(width=0.25).labels for prior in (closed, alone(3)))
        assert 0.85 * expected.expected < found.expected < 1.15 * expected.expected


@partial(jax.tree_util.register_dataclass, data_fields=["a", "b"], meta_fields=[])
@dataclass(frozen=True)
class Sceptic(ba.BetaBernoulli):
    """A prior of this package that was registered as JAX has it, and not here."""


@dataclass(frozen=True)
class Unregistered(ba.BetaBernoulli):
    """One that nobody registered."""


@pytest.mark.slow
def test_a_subclass_of_a_prior_is_registered_with_jax_alone():
    question, answers = ba.GroupAccuracy(by="prediction"), []
    for kind in (ba.BetaBernoulli, Sceptic):
        a = ba.assess(
            POOL, question, prior=kind(np.ones(4), np.full(4, 2.0)), design="random", seed=1, engine="compiled"
        )
        ids = a.ask(10).ids
        a.tell(ids, LABELS[ids])
        answers.append((ids.tolist(), a.result().estimate))
    assert answers[0][0] == answers[1][0]
    np.testing.assert_allclose(answers[0][1], answers[1][1], rtol=1e-12)
    ba.assess(POOL, question, prior=Sceptic(np.ones(4), np.ones(4)), design="thompson").ask(5)
    with pytest.raises(ba.PriorError, match="must be a JAX pytree, and Unregistered is none"):
        ba.assess(POOL, question, prior=Unregistered(np.ones(4), np.ones(4)))


def test_parameters_that_do_not_fit_each_other_are_named():
    with pytest.raises(ba.PriorError, match=r"BetaBernoulli do not fit each other: a \(3,\), b \(2,\)"):
        ba.assess(POOL, ba.GroupAccuracy(), prior=ba.BetaBernoulli(np.ones(3), np.ones(2)))


@partial(jax.tree_util.register_dataclass, data_fields=["a", "b"], meta_fields=["own"])
@dataclass(frozen=True)
class Written:
    """The seven members by a Beta distribution, but for those that a test writes anew."""

    a: Any
    b: Any
    own: tuple = ()

    def __getattribute__(self, name):
        own = dict(object.__getattribute__(self, "own"))
        return own[name] if name in own else object.__getattribute__(self, name)

    @property
    def inner(self):
        return ba.BetaBernoulli(self.a, self.b)

    @property
    def mean(self):
        return self.inner.mean

    @property
    def variance(self):
        return self.inner.variance

    def update_counts(self, counts):
        learned = self.inner.update_counts(counts)
        return replace(self, a=learned.a, b=learned.b)

    def update_at_mean(self, n):
        imagined = self.inner.update_at_mean(n)
        return replace(self, a=imagined.a, b=imagined.b)

    def quantile(self, level):
        return self.inner.quantile(level)

    def sample(self, key, n):
        return self.inner.sample(key, n)

    def pool_draws(self, key, n, counts, sizes):
        return self.inner.pool_draws(key, n, counts, sizes)


def nothing(*_):
    return None


def answer_by(**own):
    prior = Written(jnp.ones(4), jnp.ones(4), tuple(own.items()))
    a = ba.assess(POOL, ba.GroupAccuracy(by="prediction"), prior=prior, design="random", seed=1)
    ids = a.ask(10).ids
    a.tell(ids, LABELS[ids])
    return a.result()


@pytest.mark.parametrize(
    ("own", "message"),
    [
        ({"sample": nothing}, r"`sample` of a Written returns draws .* of shape \(7, 4\); found None"),
        ({"sample": lambda key, n: jnp.full((n, 4), jnp.nan)}, r"`sample` of a Written .*; found .*nan"),
        ({"sample": lambda key, n: jnp.ones((4, n))}, r"of shape \(7, 4\); found shape \(4, 7\)"),
        ({"pool_draws": nothing}, r"`pool_draws` of a Written returns draws .*; found None"),
        ({"pool_draws": lambda key, n, counts, sizes: np.full((n, 4), 7.0)}, "from 0 to 1, of shape .*; found .*7.0"),
        ({"pool_draws": lambda key, n, counts, sizes: np.ones((n // 2, 4))}, r"of shape .*; found shape \(5000, 4\)"),
    ],
)
def test_draws_that_are_no_probabilities_are_refused(own, message):
    answer_by().summary()
    with pytest.raises(ba.PriorError, match=message):
        answer_by(**own).summary()


@partial(jax.tree_util.register_dataclass, data_fields=["a", "b"], meta_fields=[])
@dataclass(frozen=True)
class Drawn(ba.BetaBernoulli):
    """A subclass that draws by itself, as the protocol has it."""

    def sample(self, key, n):
        return jnp.broadcast_to(self.a / (self.a + self.b), (n, *self.a.shape))


def test_a_subclass_may_draw_by_itself():
    prior = Drawn(np.array([1.0, 8.0, 8.0, 8.0]), np.array([8.0, 1.0, 1.0, 1.0]))
    a = ba.assess(POOL, ba.LeastAccurate(by="prediction"), prior=prior, design="thompson")
    assert set(a.ask(3).groups.tolist()) == {POOL.classes[0]}


def test_compiled_code_of_32_bits_is_told_that_a_belief_needs_64():
    belief, counts = ba.HierarchicalAccuracy.from_prior(n_groups=2), np.array([[1, 4], [3, 2]])
    mean = jax.jit(lambda belief, counts: belief.update_counts(counts).mean)
    with jax.enable_x64(False), pytest.raises(ba.InferenceError, match=r"with jax\.enable_x64\(True\)"):
        mean(belief, counts)
    with jax.enable_x64(True):
        np.testing.assert_allclose(mean(belief, counts), belief.update_counts(counts).mean, atol=1e-12)
