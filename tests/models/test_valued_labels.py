"""Labels that stand for numbers: distributions of given means, and a posterior of the means of cells."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from jax import random
from numpyro.infer import Predictive
from scipy import stats

from bayes_assess._tools import engine
from bayes_assess.models import _value_gibbs
from bayes_assess.models._value_gibbs import Gibbs
from bayes_assess.models._value_terms import LEAST, LEVELS, SHARES, Grades, terms, within
from bayes_assess.models.rating_labels import RatingLabels
from bayes_assess.models.valued_labels import ValuedLabels, program
from sbc import ranks, uniformity

X = np.array([0.1, 0.3, 0.5, 0.55, 0.7, 0.9])
GROUP = np.array([0, 1, 0, 1, 0, 1])
APART = np.array([[0.1, -0.1, 0.2, 0.0, -0.2, 0.05]])  # how far a further judge is from the mean of both
NONE = np.zeros((0, 2))  # further judges of two cells
GRID = np.linspace(0, 1, 101)
RARITY = np.array([0.5, 1.0, 1.0, 0.2, 4.0, 2.0])
ALIKE = 1e-6  # shares below
EACH = 8  # labels of every cell but the last
DRAWS = 15  # of every posterior, each by a chain of its own


@given(
    hnp.arrays(float, 3, elements=st.floats(0, 1)),
    hnp.arrays(float, 3, elements=st.floats(0, 0.5)),
    st.permutations([0.0, 0.1, 0.35, 0.6, 1.0]),
)
def test_distributions_have_the_means_asked_for_whatever_the_order_of_the_values(mean, spread, values):
    values = np.array(values)
    found = within(values, mean, spread, np)
    assert (found >= 0).all()
    np.testing.assert_allclose(found.sum(-1), 1, atol=1e-12)
    np.testing.assert_allclose(found @ values, mean, atol=1e-12)
    variance = found @ values**2 - (found @ values) ** 2
    room = np.minimum(spread, np.minimum(mean, 1 - mean))
    assert (variance >= room**2 - 1e-12).all()  # what lies between classes goes to those next to it
    assert (variance <= room**2 + 0.4**2 / 4 + 1e-12).all()


def test_rates_and_levels_are_those_of_the_host_on_the_device():
    found = jax.jit(lambda values, mean, spread: within(values, mean, spread, jnp))(GRID, np.array([0.2, 0.97]), 0.1)
    np.testing.assert_allclose(found, within(GRID, np.array([0.2, 0.97]), np.array([0.1, 0.1]), np), atol=1e-4)


def test_observed_labels_are_counted_and_others_are_not():
    belief = ValuedLabels.from_prior(np.array([10.0, 30.0]), np.array([0.0, 20.0, 40.0]))
    belief = belief.observe(1, 2).observe(0, 0, False).observe(1, 2)
    np.testing.assert_array_equal(belief.counts, [[0, 0, 0], [0, 0, 2]])
    np.testing.assert_allclose(belief.x, [0.25, 0.75])
    np.testing.assert_array_equal(belief.strength, [1, 3])


def test_decisions_look_at_cells_without_labels():
    """Equal labels leave little variance where they were seen, and much where there are none, also at the ends."""
    belief = ValuedLabels.from_prior(np.array([0.0, 0.5, 1.0]), GRID)
    with engine.eager():
        for _ in range(10):
            belief = belief.observe(1, 50)
        mean = np.asarray(belief.mean)
    variance = mean @ GRID**2 - (mean @ GRID) ** 2
    assert variance[1] < 0.2 * variance[[0, 2]].min()


@pytest.mark.parametrize(
    ("labels", "parts"),
    [
        ([], 50),
        ([20] * 20, 50),  # labels that are all alike may be anything
        ([0] * 20 + [50] * 2, 50),  # two may be at an end by accident
        ([0] * 20 + [50] * 3, 1),
        ([0, 12, 25, 38, 50], 4),  # quarters, rounded to fiftieths
        ([0, 12, 25, 38, 50, 24], 50),
        ([0, 10, 10, 20, 40, 30], 5),
        ([0, 5, 10, 20, 40, 30, 45], 50),  # eleven grades are believed by their means
    ],
)
def test_whole_grades_are_told_from_labels_that_lie_so_by_accident(labels, parts):
    times = np.bincount(np.array(labels, int), minlength=51)
    assert int(Grades.of(51).parts(times, np)) == parts
    assert int(jax.jit(lambda times: Grades.of(51).parts(times, jnp))(times)) == parts


def test_labels_of_any_number_seldom_look_like_grades():
    """Of 1,000 sets of ten labels, a fifth of which are equal, at most as many as one in a hundred allows."""
    rng, grades = np.random.default_rng(8), Grades.of(51)
    sets = np.where(rng.random((1000, 10)) < 0.2, 17, rng.integers(51, size=(1000, 10)))
    taken = sum(int(grades.parts(np.bincount(labels, minlength=51), np)) < 50 for labels in sets)
    assert taken <= 10 + 3 * np.sqrt(10)


def test_whole_grades_beside_a_judge_of_any_number_are_believed_as_grades():
    """Equal grades of a cell are whole numbers, not means that are known to a fraction of a grade."""
    fine, at = np.linspace(0, 1, 51), np.array([0, 12, 25, 38, 50])
    counts = np.array([[0, 0, 4, 0, 0], [1, 2, 1, 0, 0], [0, 0, 0, 3, 2], [0, 0, 0, 0, 0]], np.float32)
    expected = np.array([[0.5, 0.3, 0.7, 0.9], [0.4, 0.3, 0.8, 0.9], [0.6, 0.3, 0.6, 0.9]])  # the mean of two judges
    group = np.array([0, 0, 1, 1])
    spread = np.zeros((4, 51), np.float32)
    spread[:, at] = counts
    anything = replace(ValuedLabels.from_prior(expected, fine, group), counts=spread)
    whole = RatingLabels.from_prior(4 * expected, 5, group).after(counts)
    draws = anything.drawn(np.random.default_rng(5), 200)
    np.testing.assert_allclose(draws[..., at], whole.drawn(np.random.default_rng(5), 200), atol=1e-6)
    assert (draws[..., np.delete(np.arange(51), at)] == 0).all()
    parts = (belief.in_parts(np.random.default_rng(5), 200, 64) for belief in (anything, whole))
    for (some, labels), (same, expected) in zip(*parts, strict=True):
        n = some.stop - some.start
        assert some == same
        np.testing.assert_allclose(labels.drawn(None, n)[..., at], expected.drawn(None, n), atol=1e-6)


def test_decisions_see_that_labels_are_rounded_to_grades(monkeypatch):
    """A cell of four equal grades is as uncertain as rounding to quarters makes it, not to fiftieths."""
    fine = np.linspace(0, 1, 51)
    counts = np.zeros((3, 51), np.float32)
    counts[0, 25], counts[1, [0, 12, 38]], counts[2, [38, 50]] = 4, 1, 2
    belief = replace(ValuedLabels.from_prior(np.array([0.5, 0.3, 0.9]), fine), counts=counts)

    def variances():
        with engine.eager():
            mean = np.asarray(replace(belief).mean)
        return mean @ fine**2 - (mean @ fine) ** 2

    of_grades = variances()
    monkeypatch.setattr(Grades, "parts", lambda _, times, module: module.asarray(len(times) - 1))
    assert (of_grades - variances())[0] > 4 / (4 + 1.5) * (1 / 4**2 - 1 / 50**2) / 12


@pytest.mark.slow
def test_levels_and_coefficients_have_their_joint_distribution():
    """Drawn in turn by 4,000 chains, levels are as frequent as they are probable with the coefficients summed out."""
    rng, n = np.random.default_rng(6), 4000
    counts = np.zeros((6, 101), int)
    counts[:, 30] = 1  # of every cell, whose labels are given below
    gibbs = Gibbs(X, GROUP, RARITY, GRID, counts, APART, rng, chains=n)
    own = 0.3 * np.cos(2 * np.pi * X) + np.array([0.1, -0.1, 0.1, -0.1, 0.1, -0.1])  # a wave, and groups apart
    error, apart = np.full(6, 0.003), np.array([1, 2, 0.5, 1, 1, 3])
    given = [np.broadcast_to(part, (n, 6)) for part in (own, error, apart)]
    for _ in range(15):
        coefficients = gibbs._coefficients(*given)
    model = terms(X, GROUP, APART)
    log, means = [], []
    for tau2, variance in zip(model.tau2, model.variance, strict=True):
        both = model.columns * variance @ model.columns.T + np.diag(tau2 * apart + error)
        log.append(stats.multivariate_normal.logpdf(own, np.zeros(6), both))
        means.append(variance * (model.columns.T @ np.linalg.solve(both, own)))
    expected = np.exp(log - np.logaddexp.reduce(log))
    tau, phi, omega = gibbs.level
    _, n_phi, n_omega = *LEVELS, len(expected) // np.prod(LEVELS)
    shape = *LEVELS, n_omega
    found = np.bincount((tau * n_phi + phi) * n_omega + omega, minlength=len(expected)).reshape(shape) / n
    for axes in ((), (1, 2), (0, 2), (0, 1)):  # together, and each by itself
        is_found, is_expected = found.sum(axes), expected.reshape(shape).sum(axes)
        assert (np.abs(is_found - is_expected) < 4.5 * np.sqrt(is_expected * (1 - is_expected) / n) + 1 / n).all()
        assert np.ptp(is_expected) > 0.5 / is_expected.size  # labels tell of it
    away = coefficients.mean(0) - expected @ means
    assert (np.abs(away) < 4.5 * coefficients.std(0) / np.sqrt(n)).all()


def test_a_cell_of_many_labels_has_their_mean_and_its_error():
    """With 400 labels the prior counts for nothing: the posterior is about normal, with the variance of the mean."""
    rng = np.random.default_rng(3)
    labels = rng.binomial(100, 0.3, 400)
    counts = np.zeros((2, 101))
    counts[0] = np.bincount(labels, minlength=101)
    counts[1] = np.bincount(rng.binomial(100, 0.8, 400), minlength=101)
    belief = ValuedLabels(
        np.array([0.9, 0.1]), np.zeros(2, int), np.ones(2), GRID, counts, NONE
    )  # whatever the judge said
    draws = belief.drawn(rng, 2048)[:, 0] @ GRID
    error = labels.std() / 100 / np.sqrt(400)
    assert abs(draws.mean() - labels.mean() / 100) < 0.15 * error
    assert draws.std() == pytest.approx(error, rel=0.15)  # draws: 3 % of Monte-Carlo error, autocorrelation apart


def test_a_bias_of_all_cells_is_learned_for_those_without_labels():
    belief = ValuedLabels.from_prior(X, GRID)
    counts = np.zeros((6, 101))
    for k in range(5):
        counts[k, np.rint(100 * (X[k] - 0.1)).astype(int) + np.array([-2, 0, 2])] = 4
    told = replace(belief, counts=counts)
    draws = told.drawn(np.random.default_rng(0), 1024)[:, 5] @ GRID
    assert abs(np.median(draws) - 0.8) < 0.03
    assert np.diff(np.quantile(draws, [0.1, 0.9]))[0] > np.diff(np.quantile(draws, [0.4, 0.6]))[0] > 0


def test_labels_tell_which_of_two_judges_is_right():
    """The second one: their mean is half wrong, and what is expected of a cell without labels is what it says."""
    right, wrong = np.linspace(10, 90, 9), np.array([50.0, 20, 80, 10, 60, 90, 30, 70, 40])
    belief = ValuedLabels.from_prior(np.stack([(right + wrong) / 2, wrong, right]), np.arange(101.0))
    counts = np.zeros((9, 101))
    for k in range(8):
        counts[k, int(right[k]) + np.array([-2, 0, 2])] = 3
    draws = replace(belief, counts=counts).drawn(np.random.default_rng(0), 1024)[:, 8] @ np.arange(101)
    assert abs(np.median(draws) - right[8]) < 5  # the mean is 65


@cache
def simulated(n_each: int) -> list[tuple[np.ndarray, ...]]:
    """Draw means of cells, their shares of outliers, and counts of labels from the program, none of them at an end."""
    model, cell = terms(X, GROUP, APART), np.repeat(np.arange(5), EACH)
    levels = np.stack(np.meshgrid(np.arange(len(model.tau2)), np.arange(len(SHARES))), axis=-1).reshape(-1, 2)

    @jax.jit
    @jax.vmap
    def prior(key, level, share):
        arguments = (model, level, share, GRID, jnp.asarray(RARITY), jnp.asarray(cell))
        return Predictive(program, num_samples=n_each)(key, *arguments)

    found = prior(random.split(random.key(0), len(levels)), levels[:, 0], SHARES[levels[:, 1]])
    sites = {"label": len(cell), "mean": 6, "outlying": 6}
    sampled = (np.asarray(found[name], np.float64).reshape(-1, size) for name, size in sites.items())
    kept = []
    for labels, mean, share in zip(*sampled, strict=True):
        if labels.min() > 0 and labels.max() < 100:
            counts = np.zeros((6, 101))
            np.add.at(counts, (cell, labels.astype(int)), 1)
            kept.append((mean, share, counts))
    return kept


def ranked(faulty: str | None = None) -> np.ndarray:
    rng, found = np.random.default_rng(0), []
    for mean, share, counts in simulated(48):
        seen = {"labels counted thrice": 3 * counts, "scale reversed": counts[:, ::-1]}.get(faulty or "", counts)
        draws = Gibbs(X, GROUP, RARITY, GRID, seen.astype(int), APART, rng, chains=DRAWS + 1).run(DRAWS + 1)
        own = (draws.apart - LEAST) / (1 - LEAST)
        draws = np.column_stack([draws.mean, own.clip(ALIKE, None)])[:DRAWS]
        found.append(ranks(np.r_[mean, share.clip(ALIKE, None)], draws, rng))
    return np.array(found)


@pytest.mark.slow
def test_posteriors_of_simulated_labels_are_calibrated():
    """Means and shares of outliers, also of the cell without labels; twelve tests fail once in a thousand times."""
    found = ranked()
    assert min(uniformity(column, DRAWS, bins=4) for column in found.T) > 8e-5


@pytest.mark.slow
@pytest.mark.parametrize("faulty", ["labels counted thrice", "scale reversed"])
def test_calibration_finds_planted_faults(faulty):
    assert min(uniformity(column, DRAWS, bins=4) for column in ranked(faulty).T) < 8e-5


def test_functions_of_few_labels_are_looked_up_and_of_many_computed_to_the_same_draws(monkeypatch):
    counts = np.random.default_rng(3).poisson(0.1, (len(X), len(GRID)))
    counts[2] = 0

    def drawn():
        return Gibbs(X, GROUP, RARITY, GRID, counts, APART, np.random.default_rng(0), chains=8).run(40)

    looked_up = drawn()
    assert counts.sum(1).max() < _value_gibbs._LOOKED_UP * 8
    monkeypatch.setattr(_value_gibbs, "_LOOKED_UP", 0)
    for one, other in zip(looked_up, drawn(), strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("most", [200, 70, 24, 3])
def test_parts_of_draws_are_of_chains_that_begin_once(most, monkeypatch):
    """The first steps take most of the time, and had been taken for every part."""
    belief = ValuedLabels.from_prior(10 * X, 10 * GRID, GROUP).observe(0, 40)
    begun, swept = [], []
    start, sweep = Gibbs._start, Gibbs._sweep
    monkeypatch.setattr(Gibbs, "_start", lambda self: begun.append(self) or start(self))
    monkeypatch.setattr(Gibbs, "_sweep", lambda self: swept.append(self) or sweep(self))
    parts = list(belief.in_parts(np.random.default_rng(0), 100, most))
    assert len(begun) == 1
    assert len(swept) == _value_gibbs._BURN_IN + -(-100 // begun[0].n_chains)
    places = [some for some, _ in parts]
    assert np.concatenate([np.arange(100)[some] for some in places]).tolist() == list(range(100))
    assert max(some.stop - some.start for some in places) <= most
    rng = np.random.default_rng(1)
    found = np.concatenate([labels.drawn(rng, some.stop - some.start) for some, labels in parts])
    np.testing.assert_array_equal(found, belief.drawn(np.random.default_rng(0), 100))
