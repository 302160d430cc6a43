"""Cells of items that tie over a wide range of ranks: their rate is the mean of the curve over that range."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import pytest
from scipy import special

import bayes_assess as ba
from bayes_assess._tools import engine
from bayes_assess.models._numerics import particles as smc
from bayes_assess.models._numerics.beta_binomial import log_likelihood
from bayes_assess.models.calibration_curve import prior_curves, program, rejuvenated
from bayes_assess.models.curve_members import POSITIVES
from bayes_assess.models.curve_rates import N_PARAMETERS, PARAMETERS, rates
from bayes_assess.pool.rank_strata import RankStrata

SLOPE, SHIFT = PARAMETERS.index("slope"), PARAMETERS.index("shift")


def cells_of(scores, predictions=None):
    pool = ba.Pool(scores=scores, predictions=predictions)
    return ba.Metric("f1").setting(pool, strata=RankStrata(22)).cells


def coarse(n=4000, n_positive=40):
    """Cells of a score of which all but some above the cut are exactly 0."""
    return cells_of(np.append(np.zeros(n - n_positive), np.linspace(0.6, 0.9, n_positive)))


def on_host(place, member, coordinates):
    with engine.eager():
        return rates(place, member, coordinates)


def curves(slope, shift):
    """Parameters of the member `curve` in which nothing is unlike its median but slope and shift."""
    place = np.zeros((1, N_PARAMETERS), np.float32)
    place[0, SLOPE], place[0, SHIFT] = np.arcsinh(0.8 * np.log(slope / 4) / 0.7) / 0.8, shift
    return place


def exact_mean(slope, shift, low, high, cut):
    """The mean of the curve over all ranks of a range, by its formula in 64 bits."""
    edges = np.linspace(low, high, 400_001)
    u = (edges[1:] + edges[:-1]) / 2
    return 0.999 * special.expit(slope * (special.logit(u) - cut - shift)).mean()


@pytest.mark.parametrize("shift", [-1.0, 0.0, 1.0])
@pytest.mark.parametrize("slope", [0.5, 1.0, 2.0, 4.0, 8.0])
def test_the_rate_of_tied_items_is_the_mean_of_the_curve_over_their_ranks(slope, shift):
    cells = coarse()
    coordinates = cells.events.coordinates
    assert coordinates.tied.which.tolist()[0] == 0
    found = on_host(curves(slope, shift), POSITIVES[0], coordinates)[0][0, 0]
    expected = exact_mean(slope, shift, 0, 0.99, special.logit(0.99))
    # Seven points, each for a part of the range: curves fall by a factor of e^1.2 within a part near the cut at most.
    assert found == pytest.approx(expected, rel=0.15)
    at_middle = on_host(curves(slope, shift), POSITIVES[0], coordinates._replace(tied=None))[0][0, 0]
    if slope >= 2:
        assert at_middle < 0.2 * expected  # which is what it is about


def test_items_that_tie_at_the_top_are_looked_at_from_the_cut_upwards():
    cells = cells_of(np.append(np.linspace(0.01, 0.4, 1000), np.ones(1000)))
    coordinates = cells.events.coordinates
    assert (coordinates.tied.which >= 0).nonzero()[0].tolist() == [cells.n_cells - 1]
    found = on_host(curves(4.0, 0.5), POSITIVES[0], coordinates)[0][0, -1]
    expected = exact_mean(4.0, 0.5, 0.5, 1.0, 0.0)
    assert 1 - found == pytest.approx(1 - expected, rel=0.15)


def test_points_of_a_range_share_its_items():
    tied = cells_of(np.repeat([0.1, 0.3, 0.7], [600, 300, 100])).events.coordinates.tied
    np.testing.assert_allclose(tied.mass.sum(1), 1, rtol=1e-6)
    for place, mass in zip(tied.place[0], tied.mass, strict=True):
        assert (np.diff(place[mass > 0]) > 0).all()
    assert (tied.place[1] == tied.place[1, :, :1]).all()  # the scores are the same


def test_scores_that_do_not_tie_leave_the_curve_as_it_is():
    assert cells_of(np.linspace(0.01, 0.99, 480)).events.coordinates.tied is None


def test_a_cell_most_of_whose_items_do_not_tie_is_at_its_mean():
    rng = np.random.default_rng(1)
    scores = np.concatenate([np.full(40, 0.02), rng.uniform(0.001, 0.4, 900), rng.uniform(0.6, 1, 60)])
    assert ba.Metric("f1").setting(ba.Pool(scores=scores), strata=RankStrata(2)).cells.events.coordinates.tied is None


@pytest.mark.slow
def test_both_engines_and_the_program_have_the_same_rates():
    cells = coarse()
    coordinates, member = cells.events.coordinates, POSITIVES[1]
    place = np.random.default_rng(2).normal(size=(5, N_PARAMETERS)).astype(np.float32)
    expected = on_host(place, member, coordinates)
    compiled = jax.jit(lambda place: rates(place, member, jax.tree.map(jnp.asarray, coordinates)))(place)
    for one, other in zip(compiled, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=2e-4)
    values = dict(zip(PARAMETERS, place[0], strict=False)) | {"deviation": place[0, len(PARAMETERS) :]}
    told = numpyro.handlers.substitute(program, {name: jnp.asarray(value) for name, value in values.items()})
    seeded = numpyro.handlers.trace(numpyro.handlers.seed(told, 0))
    inputs = jax.tree.map(jnp.asarray, coordinates), member, jnp.zeros(cells.n_cells, jnp.int32)
    curve = jax.jit(lambda: seeded.get_trace(*inputs)["curve"]["value"])()
    np.testing.assert_allclose(curve, expected[0][0], rtol=2e-4)


def test_moves_look_at_labels_of_tied_cells_by_the_same_rates(monkeypatch):
    coordinates = coarse().events.coordinates
    labels = np.zeros((len(coordinates.feature), 2), np.float32)
    labels[0], labels[-1], labels[3] = (40, 2), (1, 1), (0, 5)
    seen = []

    def looked_at(uniform, place, weight, known, log_likelihood):
        seen.append((place, log_likelihood(place)))
        return place, weight

    monkeypatch.setattr(smc, "moved", looked_at)
    with engine.eager():
        state = replace(prior_curves(0, POSITIVES, coordinates, 16), counts=labels)
        rejuvenated(state, np.ones(len(POSITIVES.prior), bool))
        for i, (place, found) in enumerate(seen):
            share, strength = rates(place, POSITIVES[i], coordinates)
            expected = log_likelihood(share, strength, labels[:, 1], labels.sum(1))
            np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)
    assert len(seen) == len(POSITIVES.prior)
