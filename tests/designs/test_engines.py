"""Sessions ask and answer alike on NumPy and on compiled steps, up to rounding."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import bayes_assess as ba
from bayes_assess import designs
from bayes_assess._tools import engine
from bayes_assess._tools.engine import xp
from bayes_assess.designs import ARMS, update_batch
from bayes_assess.designs._gains import gains
from bayes_assess.estimators.weighted import Steps
from bayes_assess.measures import Measure
from questions.asked import LABELS, POOL, QUESTIONS

N = 2_000
BATCHES = (12, 1, 13)  # of two lengths once they are padded, so that steps are compiled twice
FEW = (5, 1, 6)  # the same of groups, on which engines differ by rounding alone


def made(n_classes: int, n: int = N, seed: int = 3) -> tuple[ba.Pool, np.ndarray]:
    """Make a pool with scores, groups and a second system, and its labels."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, n_classes, n) if n_classes > 2 else (rng.random(n) < 0.1).astype(int)
    strength = rng.normal(1.5, 1.0, n)
    logits = rng.normal(size=(n, n_classes)) + strength[:, None] * (labels[:, None] == np.arange(n_classes))
    scores = np.exp(logits) / np.exp(logits).sum(1, keepdims=True)
    old = np.where(rng.random(n) < 0.3, rng.permutation(labels), labels)
    groups = {"site": rng.integers(0, 3, n)}
    if n_classes == 2:
        return ba.Pool(scores=scores[:, 1], groups=groups, systems={"old": old}), labels
    return ba.Pool(scores=scores, groups=groups, systems={"old": old}), labels


OWN = Measure(  # written by a user, in JAX
    loss=lambda y, f: jnp.stack([y * f, y, f]),
    g=lambda r: jnp.where(r[1] * r[2] > 0, r[0] / jnp.sqrt(jnp.where(r[1] * r[2] > 0, r[1] * r[2], 1.0)), 0.0),
    name="own",
    binary=True,
    bounded=True,
)
CASES = {
    "ranking": (2, ba.Metric(["roc_auc", "average_precision"])),
    "f1": (2, ba.Metric("f1")),
    "f1 of scores that tie": (2, ba.Metric("f1")),
    "precision and recall": (2, ba.Metric(["precision", "recall", "matthews_corrcoef"])),
    "f1 by group": (2, ba.Metric("f1", by="site")),
    "f1 of two systems": (2, ba.Metric("f1", systems=["prediction", "old"])),
    "better in f1": (2, ba.Compare("prediction", "old", measure="f1")),
    "curve": (2, ba.PRCurve()),
    "accuracy": (4, ba.Metric("accuracy")),
    "macro": (4, ba.Metric(["f1_macro", "balanced_accuracy"])),
    "losses of scores": (2, ba.Metric(["log_loss", "brier_score_loss"], by="site")),
}


SMALL = designs.VarianceReduction(n_strata=12)


def played(pool, labels, question, runs_on, design=SMALL, seed=0, **options):
    """Play a campaign of 26 labels, of which one is told late and one item was never asked for."""
    a = ba.assess(pool, question, design=design, seed=seed, engine=runs_on, **options)
    assert a.engine == runs_on
    asked = []
    for n in BATCHES:
        ids = a.ask(n).ids
        asked += ids.tolist()
        a.tell(ids[1:], labels[ids[1:]])
        a.tell(ids[:1], labels[ids[:1]])
    other = [item for item in range(40) if item not in asked][:1]
    a.tell(other, labels[other])
    return asked, a.result()


# What takes long to compile is left to the slow tests. Of measures, ties are the case with the most code; every design
# of arms plays one question on one prior.
QUICK = ("f1 of scores that tie",)
SOON = {("thompson", "accuracy", None), ("top_two", "two_groups", None), ("random", "all_pairs", None)}
SOON |= {("random_group", "confusion", "informative"), ("epsilon_greedy", "least_calibrated", "informative")}
SOON |= {("bayes_ucb", "least_accurate", "informative")}


def coarse(pool):
    """The same scores, of few values, of which most are 0."""
    scores = pool.scores if pool.scores.ndim == 1 else pool.scores[:, 1]
    return ba.Pool(scores=np.where(scores < 0.3, 0.0, scores.round(1)))


@pytest.mark.parametrize("case", [pytest.param(c, marks=[] if c in QUICK else [pytest.mark.slow]) for c in CASES])
def test_both_engines_ask_and_answer_alike(case):
    n_classes, question = CASES[case]
    n_alike = 0
    for seed in range(3):  # of pools, too: on one pool sessions of any seed begin with the same particles
        pool, labels = made(n_classes, seed=seed)
        if case == "f1 of scores that tie":
            pool = coarse(pool)
            assert question.cells(pool, 0, SMALL.strata_of(pool)).events.coordinates.tied is not None
        (asked, eager), (asked_compiled, compiled) = (
            played(pool, labels, question, e, seed=seed) for e in ("eager", "compiled")
        )
        if asked != asked_compiled:
            continue
        n_alike += 1
        # A particle that moves on one engine alone, as its last digit differs, is one of 256: of a curve's many
        # intervals, whose tails of 2.5 % hold six of them, single ends may follow it.
        for name, most in (("estimate", 0.01), ("interval", 0.02)):
            apart = np.abs(getattr(eager, name) - getattr(compiled, name))
            assert np.quantile(apart, 0.99) < most
        np.testing.assert_allclose(eager.design_interval, compiled.design_interval, atol=1e-6)
    # Such a particle may decide on the next item, too: seldom, and not in two of three sessions.
    assert n_alike >= 2


@pytest.mark.slow
@pytest.mark.parametrize("case", [*CASES, "a measure of one's own"])
def test_of_one_belief_both_engines_expect_the_same_gains(case):
    n_classes, question = CASES.get(case, (2, ba.Metric(OWN)))
    pool, labels = made(n_classes)
    pool = coarse(pool) if case == "f1 of scores that tie" else pool
    a = ba.assess(pool, question, design=SMALL, seed=0, engine="eager")
    ids = a.ask(12).ids
    a.tell(ids[3:], labels[ids[3:]])  # three are pending
    with engine.eager():
        eager = gains(a._state)
    with jax.enable_x64(True):
        compiled = jax.jit(gains)(jax.device_put(a.design.compiled_state(a._state)))
    assert isinstance(eager, np.ndarray)
    assert 0 < eager.max()
    np.testing.assert_allclose(eager, compiled, rtol=1e-3, atol=1e-5 * eager.max())  # of 32 bits


@pytest.mark.slow
def test_a_measure_of_ones_own_is_exact_in_64_bits():
    pool, labels = made(2, 50)
    a = ba.assess(pool, ba.Metric(OWN), seed=0)
    a.tell(np.arange(50), labels)
    assert a.engine == "eager"
    assert float(a.result().estimate) == pytest.approx(float(a.question.truth(pool, labels)), rel=1e-14)


# Designs that weigh their draws, on what they serve; few strata, as deep trees take long to compile.
WEIGHED = {
    "passive": "passive",
    "stratified": designs.Stratified(n_strata=16),
    "importance": designs.Importance(n_strata=16, delta=0.1),
    "as in SEME": designs.Importance(n_strata=16, lam=0.9, floor=0.0, interval="beta"),
    "poisson": designs.Poisson(n_strata=16),
    "poisson by a curve": designs.Poisson(n_strata=16, labels="curve"),
    "poisson of random size": designs.Poisson(n_strata=16, size="random"),
    "importance of random size": designs.Importance(n_strata=16, size="random"),
    "oasis": designs.Oasis(n_strata=16),
    "adaptive": designs.Adaptive(n_strata=16),
    "adaptive, flat": designs.Adaptive(n_strata=16, depth=1, stage=5, decay="labels"),
    "adaptive by blocks": designs.Adaptive(n_strata=16, level="block"),
    "adaptive, a tree of one's own": designs.Adaptive(n_strata=4, children="[[0, 1], [2, 3]]"),
    "adaptive, as it is by default": "adaptive",
}
OF_F = ("oasis",)
OF_NO_EVENT = ("poisson by a curve", "a measure of one's own")  # which a curve cannot be of
SOON_WEIGHED = ("poisson", "macro")


@pytest.mark.parametrize(
    ("name", "case"),
    [
        pytest.param(name, case, marks=[] if (name, case) == SOON_WEIGHED else [pytest.mark.slow])
        for name in WEIGHED
        for case in ("f1", "accuracy", "macro", "f1 by group", "better in f1", "curve", "a measure of one's own")
        if (case == "f1" or name not in OF_F) and (name, case) != OF_NO_EVENT
    ],
)
def test_both_engines_draw_and_weigh_alike(name, case):
    n_classes, question = CASES.get(case, (2, ba.Metric(OWN)))
    pool, labels = made(n_classes)
    (asked, eager), (asked_compiled, compiled) = (
        played(pool, labels, question, e, WEIGHED[name]) for e in ("eager", "compiled")
    )
    assert asked == asked_compiled
    # Curves have 32 bits.
    close = {"rtol": 1e-6, "atol": 1e-8} if name == "poisson by a curve" else {"rtol": 1e-11, "atol": 1e-13}
    kept = ("covariance",) if eager.evidence.all_covariances is not None else ()  # not of hundreds of thresholds
    for value in ("estimate", "interval", "n_effective", *kept):
        np.testing.assert_allclose(getattr(eager, value), getattr(compiled, value), **close)
    # Variances, as roots of what is 0 but for rounding are far apart.
    np.testing.assert_allclose(eager.standard_error**2, compiled.standard_error**2, **close)


def drawn_labels(runs_on, design):
    """Start a session in which every label of an item is a draw."""
    pool, labels = made(2)
    return ba.assess(pool, ba.Metric("f1"), design=WEIGHED[design], oracle="stochastic", seed=0, engine=runs_on), labels


def numbers(runs_on, design):
    """Start a session on labels that are numbers."""
    rng = np.random.default_rng(5)
    predictions = rng.normal(5.0, 3.0, N)
    spread = rng.gamma(2.0, 0.5, N)
    pool = ba.Pool(predictions=predictions, scores=spread, bounds=(-40.0, 60.0))
    asked = ba.Metric(["mae", "rmse", "r2"])
    return ba.assess(pool, asked, design=WEIGHED[design], seed=0, engine=runs_on), rng.normal(predictions, spread)


def pairs(runs_on, design):
    """Start a session that compares two systems by pairs of items."""
    _, labels = made(2)
    groups = {"system": np.repeat(["old", "new"], N // 2), "prompt": np.tile(np.arange(N // 2), 2)}
    asked = ba.Compare("old", "new", by="system", measure="rate", pair="prompt")
    return ba.assess(ba.Pool(predictions=labels, groups=groups), asked, design=design, seed=0, engine=runs_on), labels


OTHERS = [(drawn_labels, name) for name in ("passive", "importance", "oasis", "adaptive")]
OTHERS += [(numbers, name) for name in ("passive", "stratified", "importance", "poisson")]
OTHERS += [(pairs, "variance_reduction"), (pairs, "poisson"), (pairs, "passive")]


@pytest.mark.slow
@pytest.mark.parametrize(("session", "design"), OTHERS)
def test_both_engines_ask_alike_for_draws_and_numbers_and_pairs(session, design):
    found = []
    for runs_on in ("eager", "compiled"):
        a, labels = session(runs_on, design)
        assert a.engine == runs_on
        asked = []
        for n in (12, 2, 14):
            ids = a.ask(n).ids
            asked += ids.tolist()
            for some in (ids[2:], ids[:2]):
                a.tell(some, labels[some])
        found.append((asked, a.result()))
    (asked, eager), (asked_compiled, compiled) = found
    assert asked == asked_compiled
    # Curves have 32 bits.
    close = {"atol": 0.01} if design == "variance_reduction" else {"rtol": 1e-11, "atol": 1e-13}
    for value in ("estimate", "interval"):
        np.testing.assert_allclose(getattr(eager, value), getattr(compiled, value), **close)


def test_what_is_proposed_is_alike_on_both_engines():
    pool, labels = made(2)
    a = ba.assess(pool, ba.Metric("f1"), design=WEIGHED["adaptive"], seed=0)
    ids = a.ask(12).ids
    a.tell(ids[3:], labels[ids[3:]])  # three are pending
    steps = Steps(*(np.array([x]) for x in (0, 1, 0.7, 0.9)))
    eager = update_batch(a.design, a._state, np.array([0]), np.array([1]), steps)
    state = jax.tree.map(np.asarray, a.design.compiled_state(a._state))
    compiled = update_batch(a.design, state, np.array([0]), np.array([1]), steps)
    assert (eager.eager, compiled.eager) == (True, False)
    for one, other in zip(jax.tree.leaves(eager), jax.tree.leaves(compiled), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-15)


def test_small_pools_are_eager_and_journals_say_so(tmp_path):
    pool, labels = made(2)
    a = ba.assess(pool, ba.Metric("f1"), seed=0, journal=tmp_path / "run.db")
    ids = a.ask(5).ids
    a.tell(ids, labels[ids])
    again = ba.resume(tmp_path / "run.db", pool)
    assert (a.engine, again.engine) == ("eager", "eager")
    assert again.result().interval.tolist() == a.result().interval.tolist()
    without = ba.assess(pool, ba.Metric("f1"), seed=0)
    assert without.ask(5).ids.tolist() == ids.tolist()
    without.tell(ids, labels[ids])
    assert again.ask(3).ids.tolist() == without.ask(3).ids.tolist()


# Every design that plays arms on every question that it serves.
PLAYED = [
    pytest.param(
        *(design, name, prior),
        id=f"{design}-{name}-{prior}",
        marks=[] if (design, name, prior) in SOON else [pytest.mark.slow],
    )
    for design, kind in ARMS.items()
    for name, question in QUESTIONS.items()
    for prior in (None, "informative")
    if design in (question.designs or ARMS) and (kind.max_round is None or question.n_sought <= kind.max_round)
    if name != "two_systems" or prior is None  # has one prior
]


@pytest.mark.parametrize(("design", "name", "prior"), PLAYED)
def test_both_engines_ask_alike_for_groups(design, name, prior):
    question, found = QUESTIONS[name], []
    for runs_on in ("eager", "compiled"):
        a = ba.assess(POOL, question, design=design, prior=prior, seed=0, engine=runs_on)
        assert a.engine == runs_on
        asked = []
        for n in FEW:
            ids = a.ask(n).ids
            asked += ids.tolist()
            a.tell(ids[1:], LABELS[ids[1:]])
        unseen = [item for item in range(len(LABELS)) if item not in asked][:1]
        a.tell(unseen, LABELS[unseen])
        a.skip(a.pending)
        result = a.result()
        found.append((asked, result.estimate, result.interval))
    (asked, estimate, interval), (asked_compiled, estimate_compiled, interval_compiled) = found
    assert asked == asked_compiled
    np.testing.assert_allclose(estimate, estimate_compiled, atol=1e-9)
    np.testing.assert_allclose(interval, interval_compiled, atol=1e-9)


# Of one kind of belief, two questions are rewards of one program. Draws of a belief are draws of components that it
# chooses, as designs draw of one; of two beliefs they take seconds to compile, as quantiles do. Sessions of groups play
# the other beliefs on both engines in the quick tests.
@pytest.mark.parametrize(
    ("names", "whole"),
    [
        (("accuracy", "all_pairs"), False),
        pytest.param(("accuracy", "all_pairs"), True, marks=pytest.mark.slow),
        *(
            pytest.param(names, whole, marks=pytest.mark.slow)
            for names in (("most_costly",), ("least_calibrated",))
            for whole in (False, True)
        ),
    ],
)
def test_beliefs_and_rewards_are_alike_on_both_engines(names, whole):
    settings, rng = [QUESTIONS[name].setting(POOL) for name in names], np.random.default_rng(0)
    cells, prior, reward, _ = settings[0]
    assert all(type(one.prior) is type(prior) and one.cells.n_cells == cells.n_cells for one in settings)
    counts = rng.integers(0, 6, (cells.n_cells, reward.n_outcomes))

    def computed(belief, counts, words):
        key = engine.random.as_key(words)
        seen = belief.update_counts(counts)
        part = seen.observe(1, 1).component(key)
        pending = part.update_at_mean(xp.arange(cells.n_cells) % 3)
        draws = seen.sample(key, 7) if whole else seen.mean[None]
        values = [one.reward(draws[0], pending, xp.asarray(one.cells.weights)) for one in settings]
        values += [seen.quantile(xp.asarray([0.1, 0.5])), draws] if whole else []
        return seen.mean, seen.variance, part.mean, *values

    words = np.array([3, 7], np.uint32)
    with engine.eager():
        eager = computed(prior, counts, words)
    with jax.enable_x64(True), engine.compiled():
        compiled = jax.jit(computed)(prior, jnp.asarray(counts), words)
    for one, other in zip(eager, compiled, strict=True):
        assert isinstance(one, np.ndarray)
        np.testing.assert_allclose(one, other, rtol=1e-6, atol=1e-9)


class Own(NamedTuple):
    """A belief of a user's own, written in JAX: one accuracy for all groups alike."""

    a: Any
    b: Any

    @property
    def mean(self):
        return jnp.asarray(self.a) / (self.a + jnp.asarray(self.b))

    @property
    def variance(self):
        return self.mean * (1 - self.mean) / (jnp.asarray(self.a) + self.b + 1)

    def update_counts(self, counts):
        return Own(self.a + jnp.asarray(counts)[..., 1], self.b + jnp.asarray(counts)[..., 0])

    def update_at_mean(self, n):
        return Own(self.a + n * self.mean, self.b + n * (1 - self.mean))

    def quantile(self, level):
        return jnp.broadcast_to(self.mean, (*jnp.shape(level), *jnp.shape(self.a)))

    def sample(self, key, n):
        return jax.random.uniform(key, (n, *jnp.shape(self.a))) ** (self.b / self.a)  # of the same mean

    def pool_draws(self, key, n, counts, sizes):
        return np.asarray(self.sample(key, n))


def test_beliefs_of_ones_own_are_compiled_and_drawn_from_by_keys_of_jax():
    own = Own(np.full(3, 4.0), np.full(3, 2.0))
    question = ba.LeastAccurate(by="site")
    a = ba.assess(POOL, question, design="epsilon_greedy", prior=own, seed=0)
    assert a.engine == "compiled"
    a.tell(ids := a.ask(2).ids, LABELS[ids])
    assert a.result().interval.shape == (3, 2)
    with pytest.raises(ba.DesignError, match="prior of your own, Own, are compiled"):
        ba.assess(POOL, question, prior=own, engine="eager")
    b = ba.assess(POOL, question, design="epsilon_greedy", seed=0)
    assert b.engine == "eager"
    assert len(b.ask(3, posterior=own).ids) == 3
    assert len(b.ask(3, posterior=np.full((5, 3), 0.5)).ids) == 3
    b.tell(b.pending, LABELS[b.pending])
    assert b.labels_used == 6


class OwnDesign(designs.Passive):
    """A design of a user's own, written in JAX."""

    def propose(self, state):
        return jnp.ones_like(state.draws.proposal)


def test_designs_of_ones_own_are_compiled():
    pool, _ = made(2)
    assert ba.assess(pool, ba.Metric("f1"), design=OwnDesign(), seed=0).engine == "compiled"
    with pytest.raises(ba.DesignError, match="always compiled"):
        ba.assess(pool, ba.Metric("f1"), design=OwnDesign(), engine="eager")
    with pytest.raises(ba.DesignError, match="'eager' or 'compiled'"):
        ba.assess(pool, ba.Metric("f1"), engine="numpy")


@pytest.mark.parametrize(
    ("question", "design"),
    [
        (ba.Metric("f1"), None),
        (ba.GroupAccuracy(by="site"), None),
        (ba.LeastAccurate(by="site"), None),
        (ba.ConfusionMatrix(), None),
        (ba.Calibration(bins=3, by="site"), None),
        (ba.Compare(0, 1, by="site"), None),
        *((ba.Metric("f1"), WEIGHED[name]) for name in ("stratified", "importance", "poisson", "oasis", "adaptive")),
    ],
    ids=str,
)
def test_an_eager_session_computes_nothing_with_jax(question, design, monkeypatch):
    pool, labels = made(2)
    a = ba.assess(pool, question, design=design, seed=0)
    assert a.engine == "eager"

    def refuse(*arguments, **options):
        raise AssertionError("JAX computes")

    for name in ("asarray", "where", "zeros", "exp", "log"):
        monkeypatch.setattr(jnp, name, refuse)
    monkeypatch.setattr(jax, "jit", refuse)
    for _ in range(3):
        ids = a.ask(10).ids
        a.tell(ids, labels[ids])
    assert "30 of 2,000 items labelled" in a.result().summary()


def test_what_is_planned_from_an_eager_session_is_compiled():
    pool, labels = made(2)
    a = ba.assess(pool, ba.Metric("f1"), seed=0)
    ids = a.ask(30).ids
    a.tell(ids, labels[ids])
    assert "more labels" in a.plan(width=0.3, futures=2).summary()
