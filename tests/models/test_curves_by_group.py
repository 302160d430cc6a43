"""Curves of groups that are measured one by one: simulation-based calibration of what particles say of them."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpyro.diagnostics import effective_sample_size
from numpyro.infer import MCMC, NUTS
from scipy import special

import bayes_assess as ba
from bayes_assess._tools import engine
from bayes_assess.models import curve_rates
from bayes_assess.models.calibration_curve import prior_curves, program
from bayes_assess.models.curve_members import POSITIVES
from bayes_assess.models.curve_rates import N_PARAMETERS, rates
from bayes_assess.pool.rank_strata import RankStrata
from sbc import ranks, uniformity

N_GROUPS, CELLS_EACH, LABELS_EACH = 4, 6, 4
K = N_GROUPS * CELLS_EACH
N_LABELS = K * LABELS_EACH
N_REPLICATES, N_FAULTY, N_DRAWS = 400, 240, 63
ALPHA = 1e-4  # false-alarm rate of one calibration test
SCALE = N_PARAMETERS  # place of the scale by which groups differ
STATISTICS = "log nu", "scale", "first group", "last group", "contrast"


@cache
def made():
    """Coordinates of 24 cells, six of each group, and members of which groups are measured one by one."""
    pool = ba.Pool(scores=np.random.default_rng(0).beta(0.4, 1.2, 480))
    coordinates = ba.Metric("f1").setting(pool, strata=RankStrata(22)).cells.events.coordinates
    at = np.minimum(np.arange(K), len(coordinates.feature) - 1)
    along = {"place": 1, "standard": 1, "smooth": 1, "feature": 0}
    there = {name: np.take(getattr(coordinates, name), at, axis) for name, axis in along.items()}
    groups = np.eye(N_GROUPS, dtype=np.float32)[np.arange(K) % N_GROUPS]
    tied = coordinates.tied
    coordinates = coordinates._replace(groups=groups, tied=tied and tied._replace(which=tied.which[at]), **there)
    return coordinates, POSITIVES.apart()


def statistics(place, share, strength):
    """What is looked at, (Q, S): the scatter of cells, the scale of groups, two groups and their difference."""
    odds = special.logit(np.float64(share))
    first, last = (odds[:, g::N_GROUPS].mean(1) for g in (0, N_GROUPS - 1))
    return np.stack([np.log(np.float64(strength[:, 9])), np.float64(place[:, SCALE]), first, last, last - first])


@cache
def replicates():
    """What the prior draws, (Q, R), and labels, (R, K): events among four of every cell."""
    coordinates, members = made()
    rng = np.random.default_rng(7)
    prior = np.float64(members.prior) / np.float64(members.prior).sum()
    member = rng.choice(len(prior), N_REPLICATES, p=prior)
    place = rng.normal(size=(N_REPLICATES, N_PARAMETERS + 1 + 3 * N_GROUPS)).astype(np.float32)
    share, strength = np.empty((2, N_REPLICATES, K))
    with engine.eager():
        for i in range(len(prior)):
            share[member == i], strength[member == i] = rates(place[member == i], members[i], coordinates)
    p = rng.beta(np.maximum(strength * share, 1e-9), np.maximum(strength * (1 - share), 1e-9))
    return statistics(place, share, strength), rng.binomial(LABELS_EACH, p)


@jax.jit
def learned(state, cells, events):
    return jax.lax.fori_loop(0, N_LABELS, lambda i, held: held.observe(cells[i], events[i]), state)


def p_values(n, change, sign=1):
    """Of the ranks of every statistic among draws of the weighted particles."""
    coordinates, members = made()
    truth, hits = replicates()
    rng = np.random.default_rng(8)
    draws = np.empty((N_DRAWS, len(STATISTICS), n))
    for r in range(n):
        turn = rng.permutation(N_LABELS)
        cells = np.repeat(np.arange(K), LABELS_EACH)[turn]
        events = (np.arange(LABELS_EACH) < hits[r][:, None]).ravel()[turn]
        told = jnp.asarray(cells, jnp.int32), jnp.asarray(events == (sign > 0), bool)
        state = learned(prior_curves(r, change(members), coordinates), *told)
        within = special.log_softmax(np.float64(state.particles.log_weight), axis=1)
        member = np.float64(state.log_prior) + np.float64(state.particles.log_evidence)
        weight = special.softmax(member[:, None] + within)
        chosen = np.unravel_index(rng.choice(weight.size, N_DRAWS, p=weight.ravel()), weight.shape)
        parts = (np.asarray(x)[chosen] for x in (state.particles.place, state.share, state.strength))
        draws[:, :, r] = statistics(*parts).T
    rank = ranks(truth[:, :n], draws, rng)
    return {name: uniformity(one, N_DRAWS, 8) for name, one in zip(STATISTICS, rank, strict=True)}


@pytest.mark.slow
def test_the_posterior_is_calibrated():
    assert min(p_values(N_REPLICATES, lambda members: members).values()) > ALPHA


FAULTS = {  # what shows them, how they change the members, and the sign of labels
    "labels turned round": ("first group", lambda members: members, -1),
    "groups three times as unlike": (
        "scale",
        lambda members: replace(members, group_sd=3 * members.group_sd, group_slope_sd=3 * members.group_slope_sd),
        1,
    ),
    "cells ten times as alike": (
        "log nu",
        lambda members: replace(members, strength=members.strength + np.log(np.float32(10))),
        1,
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("fault", FAULTS)
def test_calibration_catches_a_planted_fault(fault):
    shown_by, change, sign = FAULTS[fault]
    assert p_values(N_FAULTY, change, sign)[shown_by] < ALPHA


@pytest.mark.slow
def test_nuts_on_the_program_agrees():
    """Means by 16 runs of particles, after the labels of one replicate of which groups differ."""
    coordinates, members = made()
    truth, hits = replicates()
    one = int(np.argmax(truth[STATISTICS.index("scale")]))
    which = members.names.index("curve")
    with jax.enable_x64(True):
        member, inputs = (jax.tree.map(jnp.asarray, part) for part in (members[which], coordinates))
        mcmc = MCMC(
            NUTS(program, target_accept_prob=0.9), num_warmup=600, num_samples=1500, num_chains=2,
            chain_method="sequential", progress_bar=False,
        )  # fmt: skip
        n = jnp.full(K, LABELS_EACH)
        mcmc.run(jax.random.key(0), inputs, member, n, jnp.asarray(hits[one]))
        draws = {name: np.asarray(x) for name, x in mcmc.get_samples(group_by_chain=True).items()}
    place = np.zeros((*draws["group_scale"].shape, N_PARAMETERS + 1 + 3 * N_GROUPS))
    place[..., SCALE] = draws["group_scale"]
    each = zip(place, draws["curve"], draws["nu"], strict=True)
    theirs = np.stack([statistics(*chain).T for chain in each])
    cells = np.repeat(np.arange(K), LABELS_EACH)
    events = (np.arange(LABELS_EACH) < hits[one][:, None]).ravel()
    turn = np.random.default_rng(0).permutation(N_LABELS)
    told = jnp.asarray(cells[turn], jnp.int32), jnp.asarray(events[turn], bool)
    ours = []
    for seed in range(16):
        state = learned(prior_curves(100 + seed, members, coordinates), *told)
        weight = special.softmax(np.float64(state.particles.log_weight[which]))
        parts = (np.asarray(x)[which] for x in (state.particles.place, state.share, state.strength))
        ours.append(statistics(*parts) @ weight)
    size = np.minimum(effective_sample_size(theirs), theirs.shape[0] * theirs.shape[1])
    errors = theirs.std((0, 1)) / np.sqrt(size), np.std(ours, 0, ddof=1) / np.sqrt(len(ours))
    bias = 4 / 256 * theirs.std((0, 1))  # of means by weights
    assert (np.abs(np.mean(ours, 0) - theirs.mean((0, 1))) < 5 * np.hypot(*errors) + bias).all()
    assert (np.hypot(*errors) < 0.2 * theirs.std((0, 1))).all()  # the check has teeth


@pytest.mark.parametrize("members", [POSITIVES.apart(), POSITIVES], ids=["apart", "in the curve"])
@pytest.mark.parametrize("n_groups", [N_GROUPS, 12])
def test_effects_of_groups_are_put_at_cells_of_one_group_as_at_cells_of_several(members, n_groups, monkeypatch):
    """Some cells are of no group."""
    groups = np.eye(n_groups + 1, dtype=np.float32)[np.arange(K) % (n_groups + 1), :n_groups]
    coordinates = made()[0]._replace(groups=groups)
    place = np.random.default_rng(3).normal(size=(16, coordinates.n_parameters)).astype(np.float32)
    members = replace(members, group_mean=np.full_like(members.group_mean, 0.5))
    with engine.eager():
        one = [rates(place, members[i], coordinates) for i in range(len(members.prior))]
        monkeypatch.setattr(curve_rates.CellCoordinates, "only_group", lambda _: None)
        several = [rates(place, members[i], coordinates) for i in range(len(members.prior))]
    np.testing.assert_array_equal(one, several)
