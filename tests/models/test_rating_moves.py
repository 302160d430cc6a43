"""Draws of the belief on ratings off its grids, against sums over grids that are far finer."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import special

from bayes_assess.models import rating_labels as model
from bayes_assess.models._rating_moves import KEPT, Chains, Points, Prior, Steps, Told, log_rising
from bayes_assess.models.rating_labels import RatingLabels

C, RATINGS = 5, np.arange(5)
X = np.array([0.3, 0.8, 1.4, 1.9, 2.3, 2.8, 3.2, 3.7, 0.5, 2.0, 4.0])  # the last three without labels
N = 30  # labels of every other cell
PRIOR = Prior(model._CENTRE_SD, model._LOG_SPREAD, model._SLOPE, model._LOG_SCATTER, model._LOG_STRENGTH, model._EVEN)
STEPS = Steps(1.0, 0.2, 0.2, 0.5, 1.0)


def labelled(slope: float, level: float, scatter: float) -> np.ndarray:
    """Labels of the cells around a line."""
    rng = np.random.default_rng(2)
    near = 2 + level + slope * (X - 2) + scatter * rng.normal(size=(N, len(X)))
    codes = np.rint(near).clip(0, C - 1).astype(int)
    counts = np.stack([np.bincount(column, minlength=C) for column in codes.T])
    counts[-3:] = 0
    return counts


def moments(counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Compute means and squares of the mean ratings of cells without labels by sums over fine grids."""
    spread = np.exp(np.linspace(*model._LOG_SPREAD, 60))
    levels = np.linspace(-0.3, 0.9, 41)
    prior = np.exp(-0.5 * levels**2 / (1 + spread[:, None] ** 2)) / np.sqrt(1 + spread[:, None] ** 2)
    slopes = np.linspace(0.5, 1.15, 31)
    scatters = np.exp(np.linspace(*model._LOG_SCATTER, 42)[1:-1])
    strengths = np.exp(np.linspace(*model._LOG_STRENGTH, 26)[1:-1])
    mu = 2 + levels[:, None, None] + slopes[:, None] * (X - 2)  # (A, B, K)
    upto = special.ndtr((np.arange(C - 1) + 0.5 - mu[..., None, None]) / scatters[:, None])  # (A, B, K, S, C - 1)
    q = np.diff(upto, axis=-1, prepend=0, append=1) * (1 - model._EVEN) + model._EVEN / C
    weight, first, second = 0.0, 0.0, 0.0
    cell, label = np.nonzero(counts)
    told, seen = counts[cell, label], counts.sum(1)
    logs = []
    for kappa in strengths:
        alpha = kappa * np.moveaxis(q[:, :, cell, :, label], 0, -1)  # (A, B, S, E)
        gain = (special.gammaln(alpha + told) - special.gammaln(alpha)).sum(-1)
        logs.append(gain - (special.gammaln(kappa + seen) - special.gammaln(kappa)).sum())
    log = np.stack(logs, axis=-1) + np.log(prior.mean(0))[:, None, None, None]
    weight = np.exp(log - log.max())
    weight /= weight.sum()
    mean, square = q[:, :, -3:] @ RATINGS, q[:, :, -3:] @ RATINGS**2  # (A, B, 3, S)
    first = np.einsum("abst,abks->k", weight, mean)
    squares = (strengths * mean[..., None] ** 2 + square[..., None]) / (strengths + 1)
    second = np.einsum("abst,abkst->k", weight, squares)
    return first, second


@pytest.mark.slow
@pytest.mark.parametrize("scatter", [0.35, 1.0])
def test_draws_have_the_moments_of_far_finer_grids(scatter):
    counts = labelled(0.83, 0.28, scatter)
    belief = RatingLabels.from_prior(X, C).after(counts)
    draws = belief.drawn(np.random.default_rng(1), 4000)[:, -3:] @ RATINGS
    for found, expected in zip((draws, draws**2), moments(counts), strict=True):
        error = found.std(0) / np.sqrt(len(draws) / KEPT)  # of every chain as if all draws were alike
        np.testing.assert_array_less(np.abs(found.mean(0) - expected), 4.5 * error)


@pytest.mark.parametrize(("times", "bits"), [(41, 32), (42, 64)])
def test_labels_are_summed_up_in_as_many_bits_as_their_number_needs(times, bits, monkeypatch):
    """Rounding moves differences of log likelihoods between points by less than a tenth."""
    seen = []
    run = Chains.run
    monkeypatch.setattr(Chains, "run", lambda chains: seen.append(chains) or run(chains))
    counts = times * labelled(0.83, 0.28, 1.0)  # of 240
    RatingLabels.from_prior(X, C).after(counts).drawn(np.random.default_rng(1), 1000)
    (chains,) = seen
    assert {part.dtype.itemsize * 8 for part in (*chains.points, chains.told.x, chains.told.number)} == {bits}
    exact = Told.of(np.repeat(X[None], 250, axis=0), np.zeros(len(X), int), counts.astype(float), 1)
    points = Points(*(part.astype(float) for part in chains.points))
    error = chains.log_likelihood(chains.points) - replace(chains, told=exact).log_likelihood(points)
    assert np.ptp(error) < 0.1


def test_parts_are_of_draws_that_are_moved_once(monkeypatch):
    belief, runs = RatingLabels.from_prior(X, C).after(labelled(0.83, 0.28, 0.35)), []
    run = Chains.run
    monkeypatch.setattr(Chains, "run", lambda chains: runs.append(1) or run(chains))
    whole = belief.drawn(np.random.default_rng(1), 2000) @ RATINGS
    parts = list(belief.in_parts(np.random.default_rng(2), 2000, 600))
    assert [(some.start, some.stop) for some, _ in parts] == [(0, 600), (600, 1200), (1200, 1800), (1800, 2000)]
    together = np.concatenate([labels.drawn(None, some.stop - some.start) for some, labels in parts]) @ RATINGS
    assert len(runs) == 2
    error = np.sqrt(KEPT * (whole.var(0) + together.var(0)) / 2000)
    np.testing.assert_array_less(np.abs(whole.mean(0) - together.mean(0)), 4.5 * error)


def test_draws_before_any_label_are_of_the_prior():
    """As parameters are that are drawn from it, which cells have in common."""
    rng, n = np.random.default_rng(3), 4000
    x, group = np.array([0.0, 2.0, 3.0]), np.array([0, 0, 1])
    draws = RatingLabels.from_prior(x, 4, group).drawn(np.random.default_rng(2), n) @ np.arange(4)
    spread = np.exp(rng.uniform(*model._LOG_SPREAD, n))
    level = rng.normal(size=n)[:, None] + spread[:, None] * rng.normal(size=(n, 2))
    slope, scatter = rng.uniform(*model._SLOPE, n)[:, None], np.exp(rng.uniform(*model._LOG_SCATTER, n))[:, None]
    q = model._distribution(np.broadcast_to(x, (n, 3)), 4, level[:, group], slope, scatter, np)
    kappa = np.exp(rng.uniform(*model._LOG_STRENGTH, n))
    gamma = rng.standard_gamma(kappa[:, None, None] * q)
    expected = gamma @ np.arange(4) / gamma.sum(-1)
    for of_cells in (lambda mean: mean, lambda mean: mean**2, lambda mean: mean[:, :1] * mean):
        found, wanted = of_cells(draws), of_cells(expected)
        error = np.sqrt((KEPT * found.var(0) + wanted.var(0)) / n)
        np.testing.assert_array_less(np.abs(found.mean(0) - wanted.mean(0)), 4.5 * error)


def drawn_from_prior(rng: np.random.Generator, n_groups: int) -> Points:
    centre, log_spread = rng.normal(0, model._CENTRE_SD, 1), rng.uniform(*model._LOG_SPREAD, 1)
    level = centre[:, None] + np.exp(log_spread)[:, None] * rng.normal(size=(1, n_groups))
    rest = (rng.uniform(*limits, 1) for limits in (model._SLOPE, model._LOG_SCATTER, model._LOG_STRENGTH))
    return Points(centre, log_spread, level, *rest)


@pytest.mark.slow
def test_moves_leave_the_joint_distribution_as_it_is():
    """Parameters of the prior that are moved given labels drawn by them are of the prior again (Geweke 2004)."""
    rng, group, x, n_classes = np.random.default_rng(7), np.array([0, 0, 1, 1, 2, 2]), np.array([0, 2, 1, 3, 2, 2.5]), 4
    before, after = [], []
    for _ in range(150):
        points = drawn_from_prior(rng, 3)
        slope, scatter = points.slope[:, None], np.exp(points.log_scatter)[:, None]
        q = model._distribution(x[None], n_classes, points.level[:, group], slope, scatter, np)[0]
        gamma = rng.standard_gamma(np.exp(points.log_strength) * q)
        counts = rng.multinomial(6, gamma / gamma.sum(-1, keepdims=True)).astype(np.float32)
        start = Points(*(np.repeat(part, 4, axis=0).astype(np.float32) for part in points))
        places = np.repeat(x[None], 4, axis=0).astype(np.float32)
        found = Chains(rng, start, Told.of(places, group, counts, 3), PRIOR, STEPS).run()
        for limits, values in zip(PRIOR[1:5], (found.log_spread, *found[3:]), strict=True):
            assert (limits[0] < values).all()
            assert (values < limits[1]).all()
        before.append(functions(start))
        after.append(functions(found))
    change = np.array(after) - before
    error = change.std(0) / np.sqrt(len(change))
    np.testing.assert_array_less(np.abs(change.mean(0)), 4 * error)


def functions(points: Points) -> list[float]:
    """Return means over the chains of parameters, and of how far levels are from the centre, and from each other."""
    away = points.level - points.centre[:, None]
    relative = (away / np.exp(points.log_spread)[:, None]) ** 2
    others = points.centre, points.centre**2, points.log_spread, *points[3:], points.slope**2, points.log_strength**2
    return [float(part.mean()) for part in (*others, points.level, points.level**2, np.abs(away), relative)]


def test_products_have_as_many_factors_as_there_are_labels():
    x, n = np.array([[0.3, 2.0], [1e-3, 40.0], [5.0, 0.7]]), np.array([0, 3, 400])
    expected = special.gammaln(x + n[:, None]) - special.gammaln(x)
    np.testing.assert_allclose(log_rising(x, n), expected, rtol=1e-10, atol=1e-10)
