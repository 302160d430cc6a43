"""Ordinal labels given a judge's ratings: sums over grids."""

from __future__ import annotations

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jax import random
from numpyro.infer import Predictive
from scipy import special, stats

import bayes_assess as ba
from bayes_assess._tools import engine
from bayes_assess._tools.pytrees import register_waiting
from bayes_assess.models import rating_labels as model
from bayes_assess.models._rating_moves import KEPT
from bayes_assess.models.rating_labels import RatingLabels, lines

X = np.array([[0.0, 1.5, 0.5, 2.0], [1.0, 0.0, 2.0, 0.5]])  # as two judges expect
GROUP = np.array([0, 0, 1, 1])
C = 3
LINES = lines(X, C)
KAPPA = np.tile(model._STRENGTHS, LINES.shape[2])
LABELS = np.array([[3, 1, 0], [0, 2, 2], [0, 0, 4], [1, 0, 0]])  # (K, C); labels and ratings mostly differ


@pytest.fixture(autouse=True)
def _on_numpy():
    """Compute beliefs on NumPy, as operations on arrays of JAX compile one by one; programs are on JAX all the same."""
    with engine.eager():
        yield


def told(counts=LABELS, order=None, belief=None):
    belief = RatingLabels.from_prior(X, C, GROUP) if belief is None else belief
    items = [(k, y) for k, y in np.ndindex(counts.shape) for _ in range(counts[k, y])]
    for i in range(len(items)) if order is None else order:
        belief = belief.observe(*items[i])
    return belief


def by_sums(counts, x=X):
    """Log likelihood of groups by Dirichlet-multinomial formulas of SciPy, (G, A, B, strengths)."""
    line = lines(x, C)
    found = np.zeros((2, *line.shape[1:3], len(model._STRENGTHS)))
    for k, (g, n) in enumerate(zip(GROUP, counts, strict=True)):
        for i, kappa in enumerate(model._STRENGTHS):
            a = kappa * line[k]
            rising = special.gammaln(a + n) - special.gammaln(a)
            found[g, ..., i] += rising.sum(-1) + special.gammaln(kappa) - special.gammaln(kappa + n.sum())
    return found


def summed(counts, left):
    """Sum prior times likelihood over all points but those `left`: t of (a_0, tau), i and j of both groups, h."""
    a, b = np.exp(by_sums(counts)).reshape(2, len(model._LEVELS), -1)
    given, centre = model._LEVEL_GIVEN, model._CENTRE
    return np.einsum(f"t,ti,tj,ih,jh->{left}", centre, given, given, a, b, optimize=True) / a.shape[-1]


def test_lines_are_distributions_whose_mean_follows_the_rating():
    line = lines(np.array([0.0, 2.0, 4.0]), 5)
    np.testing.assert_allclose(line.sum(-1), 1, atol=1e-12)
    assert (line > 0).all()
    middle, n = len(model._LEVELS) // 2, len(model._SCATTERS)
    assert model._LEVELS[middle] == 0
    straight = line[:, middle, np.abs(model._SLOPES - 1).argmin() * n]  # no bias; b = 1 and the least scatter
    assert straight.argmax(-1).tolist() == [0, 2, 4]
    higher = line @ np.arange(5)
    assert (np.diff(higher, axis=1) > -1e-12).all()
    ratings = np.diff(higher.reshape(3, len(model._LEVELS), -1, n), axis=0)
    assert (np.sign(ratings[:, middle]) == np.sign(model._SLOPES)[:, None]).all()


def test_of_two_classes_one_may_be_rare():
    """A cell without labels is not taken to have what 300 of ten like ones have not shown, see Laplace's rule."""
    belief = RatingLabels.from_prior(np.append(np.full(11, 0.02), 0.6), 2)
    learned = belief.after(np.array([[30, 0]] * 10 + [[0, 0], [3, 3]]))
    assert learned.mean[10, 1] < 2 / (300 + 2)


def test_the_evidence_is_that_of_brute_force():
    assert float(told().log_marginal) == pytest.approx(np.log(summed(LABELS, "")), rel=2e-4)


def test_means_are_those_of_brute_force():
    total, n_levels, kappas = summed(LABELS, ""), len(model._LEVELS), len(model._STRENGTHS)
    joint = [(summed(LABELS, left) / total).reshape(n_levels, -1, kappas) for left in ("ih", "jh")]
    kappa = np.array(model._STRENGTHS)
    line = lines(X, C)
    for k, n in enumerate(LABELS):
        weight = joint[GROUP[k]]  # (A, B, strengths)
        expected = (kappa[:, None] * line[k][:, :, None] + n) / (kappa[:, None] + n.sum())
        np.testing.assert_allclose(told().mean[k], (weight[..., None] * expected).sum((0, 1, 2)), rtol=1e-3)


def test_compiled_steps_believe_the_same():
    cell, label = (np.repeat(part.ravel(), LABELS.ravel()) for part in np.indices(LABELS.shape))

    def learned(belief):
        belief = engine.fori_loop(0, len(cell), lambda i, belief: belief.observe(cell[i], label[i]), belief)
        return belief.mean, belief.log_marginal

    register_waiting()  # other tests may have imported the class before anything imported JAX
    with engine.compiled():
        cell, label = jnp.asarray(cell), jnp.asarray(label)
        mean, log_marginal = jax.jit(learned)(RatingLabels.from_prior(X, C, GROUP))
    np.testing.assert_allclose(mean, told().mean, atol=1e-5)
    assert float(log_marginal) == pytest.approx(float(told().log_marginal), rel=1e-5)


def test_labels_tell_which_of_two_judges_is_right():
    right, wrong = np.arange(5.0), np.array([2.0, 4.0, 0.0, 1.0, 3.0])
    start = RatingLabels.from_prior(np.stack([wrong, right]), 5)
    counts = np.zeros((5, 5), int)
    counts[np.arange(4), np.arange(4)] = 8  # what the second one expects, but none of the last cell
    mean = np.asarray(told(counts, belief=start).mean) @ np.arange(5)
    alone = np.asarray(told(counts, belief=RatingLabels.from_prior(right, 5)).mean) @ np.arange(5)
    misled = np.asarray(told(counts, belief=RatingLabels.from_prior(wrong, 5)).mean) @ np.arange(5)
    assert abs(mean[4] - alone[4]) < 0.1 * abs(misled[4] - alone[4])


@settings(max_examples=5, deadline=None)
@given(st.permutations(range(LABELS.sum())))
def test_the_order_of_labels_does_not_matter(order):
    one, other = told(), told(order=order)
    np.testing.assert_array_equal(one.counts, other.counts)
    np.testing.assert_allclose(one.log_weight, other.log_weight, atol=2e-5)


def test_labels_told_at_once_are_those_told_one_by_one():
    before = RatingLabels.from_prior(X, C, GROUP)
    one_by_one, at_once = told(), before.after(LABELS - np.eye(4, C, dtype=int)[[0, 3, 3, 3]])
    at_once = at_once.observe(0, 0)
    np.testing.assert_array_equal(at_once.counts, one_by_one.counts)
    np.testing.assert_allclose(at_once.log_weight, one_by_one.log_weight, atol=2e-5)
    many = before.after(200 * LABELS)
    concentration = KAPPA[:, None] * LINES.repeat(len(model._STRENGTHS), axis=2)  # (K, A, H, C)
    expected = special.gammaln(concentration + 200 * LABELS[:, None, None]) - special.gammaln(concentration)
    total = special.gammaln(KAPPA + 200 * LABELS.sum(1)[:, None]) - special.gammaln(KAPPA)  # (K, H)
    by_cell = expected.sum(-1) - total[:, None]
    by_group = np.stack([by_cell[GROUP == g].sum(0) for g in range(2)])
    np.testing.assert_allclose(many.log_weight, by_group, rtol=1e-5)


def test_a_label_that_does_not_matter_changes_nothing():
    belief = RatingLabels.from_prior(X, C, GROUP)
    same = belief.observe(1, 2, False)
    np.testing.assert_array_equal(same.counts, 0)
    np.testing.assert_array_equal(same.log_weight, 0)


def test_draws_have_the_posterior_means():
    """Draws are off the grids, by whose sums means are within a sixth of a standard deviation."""
    n = 4000
    belief = told()
    draws = belief.drawn(np.random.default_rng(0), n)
    np.testing.assert_allclose(draws.sum(-1), 1, atol=1e-9)
    gap = np.abs(draws.mean(0) - np.asarray(belief.mean))
    assert (gap < 4.5 * draws.std(0) / np.sqrt(n / KEPT) + draws.std(0) / 6).all()


def test_groups_learn_from_each_other_but_not_everything():
    """The judge underrates the first group by far: the second, of no label, is expected to be underrated a little."""
    x, group = np.tile([1.0, 2.0, 3.0], 2), np.repeat([0, 1], 3)
    start = RatingLabels.from_prior(x, 5, group)
    counts = np.zeros((6, 5), int)
    counts[[0, 1, 2], [3, 4, 4]] = 12
    before, after = (np.asarray(one.mean) @ np.arange(5) for one in (start, told(counts, belief=start)))
    assert ((after - before)[:3] > 1).all()
    assert (0.1 < (after - before)[3:]).all()
    assert (after - before)[3:].sum() < 0.8 * (after - before)[:3].sum()


def test_the_program_has_the_posterior_as_its_density():
    """At points of the grids its log density less that of the closed form is the same, but for the prior's spacing."""
    items = np.array([(k, y) for k, y in np.ndindex(LABELS.shape) for _ in range(LABELS[k, y])])
    line, rng, gaps, seen = lines(X[0], C), np.random.default_rng(1), [], by_sums(LABELS, X[0])
    spread, middle, n = 1, len(model._LEVELS) // 2, len(model._SCATTERS)  # no level is near an end of the grid
    arguments = RatingLabels.from_prior(X[0], C, GROUP).program_arguments(LABELS)
    np.testing.assert_array_equal(np.stack([arguments["cell"], arguments["labels"]], axis=1), items)

    @jax.jit
    def density(values):
        program = numpyro.handlers.substitute(model.program, values)
        return numpyro.infer.util.log_density(program, (), arguments, {})[0]

    for _ in range(4):
        b, s, k = (rng.integers(len(grid)) for grid in (model._SLOPES, model._SCATTERS, model._STRENGTHS))
        centre, *level = middle + rng.integers(-4, 5, 3)
        t, log_tau = spread * len(model._LEVELS) + centre, np.log(model._SPREADS[spread])
        theta, level = rng.dirichlet(np.full(C, 2.0), len(GROUP)), np.array(level)
        left = np.cumsum(theta[:, ::-1], axis=1)[:, ::-1]
        values = {
            "centre": model._LEVELS[centre],
            "log_spread": log_tau,
            "slope": model._SLOPES[b],
            "log_scatter": np.log(model._SCATTERS[s]),
            "log_strength": np.log(model._STRENGTHS[k]),
            "away": (model._LEVELS[level] - model._LEVELS[centre]) / np.exp(log_tau),
            "logit": np.log(theta[:, :-1] / left[:, 1:]),
        }
        with jax.enable_x64(True), engine.compiled():
            total = density(values)
        given = model._LEVEL_GIVEN[t]
        closed = np.log(model._CENTRE[centre]) + sum(
            np.log(given[a]) + seen[g][a, b * n + s, k] for g, a in enumerate(level)
        )
        cells = zip(theta, line[np.arange(len(GROUP)), level[GROUP], b * n + s], LABELS, strict=True)
        closed += sum(stats.dirichlet.logpdf(one, model._STRENGTHS[k] * q + found) for one, q, found in cells)
        logits = np.log(theta[:, :-1] * left[:, 1:] / left[:, :-1]).sum()  # of logits, not of theta
        gaps.append(float(total) - closed - logits)
    np.testing.assert_allclose(gaps, gaps[0], atol=1e-5)


def made(opinion, n, labels):
    """Draw the labels' probabilities and counts, (n, K, C) each, of `labels` items per cell from the program."""
    arguments = RatingLabels.from_prior(X, C, GROUP).program_arguments(opinion=opinion)
    arguments |= {"cell": np.repeat(np.arange(len(GROUP)), labels), "labels": None}
    with jax.enable_x64(True), engine.compiled():
        drawn = Predictive(model.program, num_samples=n)(random.key(opinion), **arguments)
    label = np.asarray(drawn["label"]).reshape(n, len(GROUP), labels)
    return np.asarray(drawn["theta"]), (label[..., None] == np.arange(C)).sum(2)


def _ranks(faulty, n_repeats=400, n_draws=19):
    """Ranks of the mean rating of cells among posterior draws, of labels that the program's prior made."""
    rng, ranks, line = np.random.default_rng(2), [], lines(X, C)
    for theta, counts in (pair for j in range(len(X)) for pair in zip(*made(j, n_repeats // 2, 15), strict=True)):
        counts = 3 * counts if faulty == "labels counted thrice" else counts
        weight = by_sums(counts).reshape(2, len(model._LEVELS), -1)
        kept = counts[:, ::-1] if faulty == "scale reversed" else counts
        belief = RatingLabels(X, line, GROUP, kept.astype(float), weight)
        ranks.append((belief.drawn(rng, n_draws) @ np.arange(C) < theta @ np.arange(C)).sum(0))
    return np.array(ranks)


def _unevenness(ranks, n_draws=19):
    """Least p value of chi-squared tests that ranks are uniform, of four cells."""
    tables = [np.bincount(column // 4, minlength=(n_draws + 1) // 4) for column in ranks.T]
    return min(stats.chisquare(table).pvalue for table in tables)


@pytest.mark.slow
def test_posteriors_of_simulated_labels_are_calibrated():
    assert _unevenness(_ranks(None)) > 2.5e-4  # of four tests: a right posterior fails once in a thousand


@pytest.mark.slow
@pytest.mark.parametrize("faulty", ["labels counted thrice", "scale reversed"])
def test_calibration_finds_planted_faults(faulty):
    assert _unevenness(_ranks(faulty)) < 2.5e-4


def test_levels_are_a_prior():
    np.testing.assert_allclose(model._LEVEL_GIVEN.sum(1), 1, atol=1e-12)
    assert model._CENTRE.sum() == pytest.approx(1, abs=1e-12)
    grid = list(itertools.product(model._SPREADS, model._LEVELS))
    spread = np.array([pair[0] for pair in grid])
    means = model._LEVEL_GIVEN @ model._LEVELS
    quiet = (spread == min(model._SPREADS)) & (np.abs([pair[1] for pair in grid]) < 2)
    np.testing.assert_allclose(means[quiet], [grid[i][1] for i in np.flatnonzero(quiet)], atol=1e-6)


def coarse(monkeypatch):
    """Lay grids of steps that are wider, by a third to thrice."""
    monkeypatch.setattr(model, "_LEVELS", np.linspace(-3, 3, 25))
    monkeypatch.setattr(model, "_SLOPES", np.linspace(0, 1.25, 6))
    monkeypatch.setattr(model, "_SCATTERS", np.geomspace(0.3, 2, 5))
    monkeypatch.setattr(model, "_STRENGTHS", np.geomspace(2, 128, 4))
    for name, value in zip(("_LEVEL_GIVEN", "_CENTRE"), model._prior_of_levels(), strict=True):
        monkeypatch.setattr(model, name, value)
    monkeypatch.setattr(model, "_kept_lines", model._kept_lines.__wrapped__)  # without those of the other grids


@pytest.mark.slow
def test_grids_are_fine_enough_for_many_labels(monkeypatch):
    """Means of cells' mean ratings are those by NUTS but for a part of their deviations; wider steps miss them."""
    rng, n_cells, n_classes = np.random.default_rng(3), 20, 5
    x, group = np.sort(rng.uniform(0, 4, n_cells)), np.arange(n_cells) % 4
    upto = special.ndtr((np.arange(0.5, 4) - (0.7 * x + rng.normal(0.6, 0.4, 4)[group])[:, None]) / 0.6)
    shares = np.diff(upto, prepend=0, append=1, axis=1) + 1e-3
    counts = np.stack([rng.multinomial(20, rng.dirichlet(40 * row)) for row in shares])
    arguments = RatingLabels.from_prior(x, n_classes, group).program_arguments(counts)
    with engine.compiled():
        fitted = ba.fit(model.program, **arguments, pointwise=False, seed=0)
    by_nuts = ba.posterior_draws(fitted, "theta") @ np.arange(5)

    def apart():
        """Return how far means are apart in standard deviations, the root of the mean square."""
        belief = told(counts, belief=RatingLabels.from_prior(x, n_classes, group))
        drawn = belief.drawn(np.random.default_rng(0), 4000) @ np.arange(n_classes)
        return np.sqrt((((drawn.mean(0) - by_nuts.mean(0)) / by_nuts.std(0)) ** 2).mean())

    assert apart() < 1 / 4
    coarse(monkeypatch)
    assert apart() > 1 / 2
