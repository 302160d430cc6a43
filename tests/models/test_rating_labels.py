"""Ordinal labels given a judge's ratings: exact sums over grids."""

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
from scipy import special, stats

from bayes_assess.models import rating_labels as model
from bayes_assess.models.rating_labels import RatingLabels, lines

X = np.array([[0.0, 1.5, 0.5, 2.0], [1.0, 0.0, 2.0, 0.5]])  # as two judges expect
GROUP = np.array([0, 0, 1, 1])
C = 3
LINES = lines(X, C)
KAPPA = model._kappa(LINES.shape[2])
LABELS = np.array([[3, 1, 0], [0, 2, 2], [0, 0, 4], [1, 0, 0]])  # (K, C); labels and ratings mostly differ


def told(counts=LABELS, order=None, belief=None):
    belief = RatingLabels.from_prior(X, C, GROUP) if belief is None else belief
    items = [(k, y) for k, y in np.ndindex(counts.shape) for _ in range(counts[k, y])]
    for i in range(len(items)) if order is None else order:
        belief = belief.observe(*items[i])
    return belief


def by_sums(counts):
    """Log likelihood of groups by Dirichlet-multinomial formulas of SciPy, (G, A, B, strengths), and the line."""
    line = lines(X, C)
    found = np.zeros((2, *line.shape[1:3], len(model._STRENGTHS)))
    for k, (g, n) in enumerate(zip(GROUP, counts, strict=True)):
        for i, kappa in enumerate(model._STRENGTHS):
            a = kappa * line[k]
            rising = special.gammaln(a + n) - special.gammaln(a)
            found[g, ..., i] += rising.sum(-1) + special.gammaln(kappa) - special.gammaln(kappa + n.sum())
    return found


def weights(counts):
    """Posterior of (centre, spread), levels of both groups, line and strength, by brute force."""
    given, centre = model._LEVEL_GIVEN, model._CENTRE
    a, b = np.exp(by_sums(counts)).reshape(2, len(model._LEVELS), -1)
    return np.einsum("t,ti,tj,ih,jh->tijh", centre, given, given, a, b) / a.shape[-1]


def test_lines_are_distributions_whose_mean_follows_the_rating():
    line = lines(np.array([0.0, 2.0, 4.0]), 5)
    np.testing.assert_allclose(line.sum(-1), 1, atol=1e-12)
    assert (line > 0).all()
    middle, straight = len(model._LEVELS) // 2, 4 * len(model._SCATTERS)  # no bias; b = 1 and the least scatter
    assert (model._LEVELS[middle], model._SLOPES[4]) == (0, 1)
    assert line[:, middle, straight].argmax(-1).tolist() == [0, 2, 4]
    higher = line @ np.arange(5)
    assert (np.diff(higher, axis=1) > -1e-12).all()
    np.testing.assert_array_equal(line[0, :, : len(model._SCATTERS)], line[2, :, : len(model._SCATTERS)])  # b = 0


def test_the_evidence_is_that_of_brute_force():
    assert float(told().log_marginal) == pytest.approx(np.log(weights(LABELS).sum()), rel=2e-4)


def test_means_are_those_of_brute_force():
    joint = weights(LABELS)
    joint = (joint / joint.sum()).sum(0).reshape(*joint.shape[1:3], -1, len(model._STRENGTHS))
    kappa = np.array(model._STRENGTHS)
    line = lines(X, C)
    for k, n in enumerate(LABELS):
        weight = joint.sum(1 - GROUP[k])  # (A, B, strengths)
        expected = (kappa[:, None] * line[k][:, :, None] + n) / (kappa[:, None] + n.sum())
        np.testing.assert_allclose(told().mean[k], (weight[..., None] * expected).sum((0, 1, 2)), rtol=1e-3)


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


def test_a_label_that_does_not_matter_changes_nothing():
    belief = RatingLabels.from_prior(X, C, GROUP)
    same = belief.observe(1, 2, False)
    np.testing.assert_array_equal(same.counts, 0)
    np.testing.assert_array_equal(same.log_weight, 0)


def test_draws_have_the_posterior_means():
    n = 4000
    belief = told()
    draws = belief.drawn(np.random.default_rng(0), n)
    np.testing.assert_allclose(draws.sum(-1), 1, atol=1e-9)
    gap = np.abs(draws.mean(0) - np.asarray(belief.mean))
    assert (gap < 4.5 * draws.std(0) / np.sqrt(n) + 1e-4).all()


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
    """Log density of the program less that of the closed form is the same at any theta, line and levels."""
    cell, label = np.array([(k, y) for k, y in np.ndindex(LABELS.shape) for _ in range(LABELS[k, y])]).T
    line, rng, gaps = lines(X, C), np.random.default_rng(1), []
    given, centre = model._LEVEL_GIVEN, model._CENTRE
    seen = by_sums(LABELS)

    @jax.jit
    def log_density(values):
        substituted = numpyro.handlers.substitute(numpyro.handlers.seed(model.program, random.key(0)), values)
        return numpyro.infer.util.log_density(substituted, (line, GROUP, 2, cell, label), {}, {})[0]

    for _ in range(4):
        t = rng.integers(len(centre) - len(model._LEVELS), len(centre))  # groups differ most: no density underflows
        h, level = rng.integers(len(KAPPA)), rng.integers(8, 17, 2)
        theta = rng.dirichlet(np.ones(C), len(GROUP))
        values = {"centre": t, "line": h, "level": level, "theta": theta}
        total = log_density({name: jnp.asarray(value) for name, value in values.items()})
        kappa, base = KAPPA[h], line[np.arange(len(GROUP)), level[GROUP], h // len(model._STRENGTHS)]
        closed = np.log(centre[t]) + sum(
            np.log(given[t, a]) + seen[g].reshape(len(model._LEVELS), -1)[a, h] for g, a in enumerate(level)
        )
        cells = zip(theta, base, LABELS, strict=True)
        closed += sum(stats.dirichlet.logpdf(one, kappa * q + n) for one, q, n in cells)
        gaps.append(float(total) - closed)
    np.testing.assert_allclose(gaps, gaps[0], atol=2e-3)  # of 32-bit sums of about 30 terms


def _ranks(faulty, n_repeats=400, n_draws=19):
    """Ranks of the mean rating of cells among posterior draws, of labels that the program's prior made."""
    rng, ranks = np.random.default_rng(2), []
    line = lines(X, C)
    for _ in range(n_repeats):
        t, h = rng.choice(len(model._CENTRE), p=model._CENTRE), rng.integers(len(KAPPA))
        level = rng.choice(len(model._LEVELS), 2, p=model._LEVEL_GIVEN[t])
        base = line[np.arange(len(GROUP)), level[GROUP], h // len(model._STRENGTHS)]
        theta = np.array([rng.dirichlet(KAPPA[h] * q) for q in base])
        counts = np.array([rng.multinomial(5, p / p.sum()) for p in theta])
        weight = by_sums(counts).reshape(2, len(model._LEVELS), -1)
        if faulty == "labels counted thrice":
            counts = 3 * counts
            weight = by_sums(counts).reshape(weight.shape)
        kept = counts[:, ::-1] if faulty == "scale reversed" else counts
        belief = RatingLabels(line, GROUP, kept.astype(float), weight)
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
