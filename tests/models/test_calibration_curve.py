"""The calibration curve: its likelihood, its program, its particles against independent answers, and odd pools."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import pytest
from numpyro.diagnostics import effective_sample_size
from numpyro.infer import MCMC, NUTS
from numpyro.infer.util import log_density
from scipy import special, stats

import bayes_assess as ba
from bayes_assess._tools import engine
from bayes_assess.estimators.posterior_measure import measure_draws, measure_values
from bayes_assess.models._numerics import particles as smc
from bayes_assess.models._numerics.beta_binomial import log_likelihood
from bayes_assess.models.calibration_curve import prior_curves, program
from bayes_assess.models.curve_members import AGREEMENT, POSITIVES, RATES, UNSCORED, VERDICTS, Members
from bayes_assess.models.curve_rates import GROUP_EFFECTS, N_SMOOTH, PARAMETERS, rates
from bayes_assess.pool.rank_strata import RankedScore, RankStrata
from bayes_assess.questions._curve_coordinates import coordinates_of
from sbc import ranks, uniformity

DIMENSION = len(PARAMETERS) + N_SMOOTH
SCALE, EFFECTS = DIMENSION, DIMENSION + 1  # where there are groups: their scale, and from where on their effects are
K = 24  # cells of all states: other numbers are compiled anew
N_MOST = 600  # labels of one campaign, at most
EPS = 2.0**-24  # largest relative error of rounding to 32 bits
LEAST = 1e-9  # rate of a curve


def on_host(place, member, coordinates):
    """Return curve and strength as eager steps compute them."""
    with engine.eager():
        return rates(place, member, coordinates)


def likelihood_on_host(share, strength, k, n):
    """Return the log likelihood as eager steps compute it."""
    with engine.eager():
        return log_likelihood(share, strength, np.float32(k), np.float32(n))


def metric_setting(pool):
    return ba.Metric("f1").setting(pool, strata=RankStrata(22))


def padded(coordinates):
    """Coordinates of K cells: the last one again, which never gets a label."""
    at = np.minimum(np.arange(K), len(coordinates.feature) - 1)
    along = {"place": 1, "standard": 1, "smooth": 1, "feature": 0, "groups": 0}
    there = {name: np.take(getattr(coordinates, name), at, axis) for name, axis in along.items()}
    tied = coordinates.tied
    return coordinates._replace(tied=tied and tied._replace(which=tied.which[at]), **there)


@cache
def made():
    """A pool of 480 items, its setting, and the coordinates of its cells."""
    pool = ba.Pool(scores=np.random.default_rng(0).beta(0.4, 1.2, 480))
    setting = metric_setting(pool)
    return setting, padded(setting.cells.events.coordinates)


@jax.jit
def _learned(state, cells, events, n):
    return jax.lax.fori_loop(0, n, lambda i, state: state.observe(cells[i], events[i]), state)


def learned(state, cells, events):
    """The state after some labels; one compiled loop for all of them."""
    spare = N_MOST - len(cells)
    labels = jnp.asarray(np.pad(cells, (0, spare)), jnp.int32), jnp.asarray(np.pad(events, (0, spare)), bool)
    return _learned(state, *labels, len(cells))


def campaign(n=60, seed=1):
    """Labels of a pool whose curve is steep, mostly about the cut: cells and events."""
    setting, _ = made()
    rng = np.random.default_rng(seed)
    size = np.asarray(setting.cells.sizes)
    rate = special.expit(np.linspace(-5, 4, len(size)))
    cells = np.repeat(np.arange(len(size)), np.minimum(size, n))
    cells = rng.permutation(cells)[:n]
    return cells, rng.random(n) < rate[cells]


def counts_of(cells, events):
    k, n = np.bincount(cells, weights=events, minlength=K), np.bincount(cells, minlength=K)
    return k.astype(int), n


# -- independent formulas, in 64 bits ---------------------------------------------------------------------------------


def exact_log_likelihood(share, strength, k, n):
    """Log probability of labels in one order, by the Gamma function; share and strength (..., K) as they are."""
    share, nu = np.asarray(share, np.float64), np.asarray(strength, np.float64)
    a, b = nu * share, nu * (1 - share)
    return (special.betaln(a + k, b + n - k) - special.betaln(a, b)).sum(-1)


def rising(start, step, n):
    """Log of start (start + step) ... by adding up logarithms."""
    return np.log(start + step * np.arange(n)).sum()


def reference_slab(u, spike):
    """Whether a standard normal variable is in the slab, and where there."""
    share = stats.norm.sf(u) / (1 - spike)  # less than 1 in the slab
    return share < 1, stats.norm.isf(np.minimum(share, 1)) if spike > 0 else u


def reference_rates(place, member, coordinates):
    """The formulas of the module's docstring, by NumPy; place (S, D)."""
    place = np.asarray(place, np.float64)
    u = dict(zip(PARAMETERS, place.T, strict=False))
    x = np.float64(coordinates.place[member.coordinate])
    z = np.float64(coordinates.standard[member.coordinate])
    tails = (lambda u: np.sinh(member.heavy * u) / member.heavy) if member.heavy > 0 else (lambda u: u)
    b = member.slope * np.exp(member.slope_sd * tails(u["slope"]))
    b = b + member.either_slope * u["slope"] / coordinates.unit[member.coordinate]
    a = member.intercept + member.from_log_odds * coordinates.log_odds + member.intercept_sd * u["shift"]
    kappa = np.clip(member.bend + member.bend_sd * u["bend"], 0.1, 1.6)[:, None]
    bent = np.sign(x) * ((1 + np.abs(x)) ** kappa - 1) / kappa if member.bend_sd > 0 else x
    w = np.exp(member.roughness + member.roughness_sd * u["roughness"])
    eta = (
        a[:, None]
        + b[:, None] * (bent - (member.shift_sd * u["shift"])[:, None])
        + (member.prediction + member.prediction_sd * tails(u["prediction"]))[:, None] * coordinates.feature
        + (member.score_sd * u["score"])[:, None] * z
        + w[:, None] * (place[:, len(PARAMETERS) :] @ np.float64(coordinates.smooth[member.coordinate]).T)
    )
    hides, z = reference_slab(u["unannounced"], np.float64(member.spike))
    phi = np.where(hides, np.exp(member.unannounced + member.unannounced_sd * z), 0)
    tau = member.shift_sd * u["shift"] if member.coordinate == 0 else 0
    gamma = np.minimum(phi * special.expit(coordinates.log_odds - tau), 0.5)[:, None]
    lapses, z = reference_slab(u["lapse"], np.float64(member.lapse_spike))
    rest = np.where(lapses, special.expit(-(member.lapse + member.lapse_sd * z)), 1)[:, None]
    m = np.clip(gamma + (1 - gamma) * rest * special.expit(eta), LEAST, 1 - 1e-6)
    nu = np.exp(np.clip(member.strength + member.strength_sd * u["strength"], -2, 16))[:, None]
    return m, nu / (4 * m * (1 - m)) ** member.relative


# -- likelihood -------------------------------------------------------------------------------------------------------


def rounding_bound(share, strength, k, n):
    """Several roundings of every term that `log_likelihood` adds up."""
    share, nu = np.float64(share), np.float64(strength)
    bound = 0.0
    for start_, count in ((share, k), (1 - share, n - k), (np.ones_like(share), n)):
        bound = bound + (count + 4) * (2 + np.abs(np.log(start_)) + np.abs(np.log(start_ + count / nu)))
    return 8 * EPS * bound.sum(-1)


def test_the_likelihood_is_the_beta_binomial_of_labels_in_one_order():
    rng = np.random.default_rng(0)
    n_draws, n_cells = 400, 12
    share = np.float32(special.expit(rng.uniform(-13, 13, (n_draws, n_cells))))
    share[:40, 0], share[40:80, 0] = LEAST, np.float32(1 - 1e-6)
    strength = np.float32(np.exp(rng.uniform(-2, 16, (n_draws, n_cells))))
    strength[:2] = np.exp(np.float32([-2, 16]))[:, None]
    strength[100:] /= 4 * share[100:] * (1 - share[100:])  # scatter that is relative
    n = np.array([0, 1, 1, 2, 3, 4, 5, 6, 30, 1000, 20_000, 1_000_000])
    for how in (0.0, 1.0, 0.5, 0.01):
        k = np.round(n * how)
        found = likelihood_on_host(share, strength, k, n)
        # By single factors, since differences of 64-bit log Gamma lose digits themselves where nu is large.
        exact = [
            sum(
                rising(p, 1 / nu, int(r)) + rising(1 - p, 1 / nu, int(m - r)) - rising(1.0, 1 / nu, int(m))
                for p, nu, r, m in zip(row[:-1], strengths[:-1], k[:-1], n[:-1], strict=True)
            )
            for row, strengths in zip(np.float64(share[:100]), np.float64(strength[:100]), strict=True)
        ]
        few = likelihood_on_host(share[:100, :-1], strength[:100, :-1], k[:-1], n[:-1])
        assert (np.abs(few - exact) < rounding_bound(share[:100, :-1], strength[:100, :-1], k[:-1], n[:-1])).all()
        assert (
            np.abs(found - exact_log_likelihood(share, strength, k, n)) < rounding_bound(share, strength, k, n)
        ).all()


def test_a_likelihood_of_no_label_is_1():
    share = np.float32([[1e-7, 0.3, 1 - 1e-6]])
    nothing = np.zeros(3, np.float32)
    assert likelihood_on_host(share, np.full_like(share, 1e6), nothing, nothing).tolist() == [0.0]


@pytest.fixture
def never_moved(monkeypatch):
    """Particles keep their places, and steps run on NumPy."""
    monkeypatch.setattr(smc, "_UNEVEN", 0.0)
    with engine.eager():
        yield


def test_labels_one_by_one_come_to_the_likelihood_in_every_order(never_moved):
    _, coordinates = made()
    cells = np.array([3, 12, 12, 20, 12, 3, 12, 12])
    events = np.array([0, 1, 0, 1, 1, 0, 1, 0])
    k, n = counts_of(cells, events)
    for order in (np.arange(8), np.arange(8)[::-1], np.array([4, 2, 6, 0, 7, 1, 3, 5])):
        state = prior_curves(0, POSITIVES, coordinates, 16)
        for cell, event in zip(cells[order], events[order], strict=True):
            state = state.observe(cell, event == 1)
        np.testing.assert_array_equal(state.counts, np.stack([n - k, k], axis=1))
        share, strength = np.asarray(state.share), np.asarray(state.strength)
        exact = exact_log_likelihood(share, strength, k, n)
        np.testing.assert_allclose(state.particles.log_weight, exact, atol=64 * EPS, rtol=64 * EPS)
        evidence = special.logsumexp(exact, axis=1) - np.log(16)
        np.testing.assert_allclose(state.particles.log_evidence, evidence, atol=64 * EPS, rtol=64 * EPS)
        few = state.deciding
        exact = exact_log_likelihood(few.share, few.strength, k, n)
        np.testing.assert_allclose(few.log_weight, exact, atol=64 * EPS, rtol=64 * EPS)


@pytest.mark.parametrize("before", [1_000, 100_000, 10_000_000])
@pytest.mark.parametrize("event", [False, True])
def test_a_surprise_after_many_equal_labels_is_as_improbable_as_it_is(never_moved, before, event):
    _, coordinates = made()
    state = prior_curves(1, POSITIVES, coordinates, 64)
    counts = np.zeros((K, 2), np.float32)
    counts[12, int(not event)] = before
    after = replace(state, counts=counts).observe(np.int64(12), np.bool_(event))
    share, nu = np.float64(state.share[:, :, 12]), np.float64(state.strength[:, :, 12])
    exact = np.log(nu * (share if event else 1 - share) / (nu + before))
    np.testing.assert_allclose(after.particles.log_weight, exact, atol=1e-5, rtol=8 * EPS)


# -- program ----------------------------------------------------------------------------------------------------------

TABLES = {
    "positives": POSITIVES,
    "positives_apart": POSITIVES.apart(),
    "positives_beside": POSITIVES.beside(),
    "agreement": AGREEMENT,
    "rates": RATES,
    "verdicts": VERDICTS,
}
MEMBERS = [(name, i) for name, table in TABLES.items() for i in range(len(table.prior))]


@pytest.mark.parametrize(("table", "which"), MEMBERS)
def test_rates_follow_the_formulas(table, which):
    _, coordinates = made()
    member = TABLES[table][which]
    place = np.random.default_rng(2).normal(size=(200, DIMENSION)).astype(np.float32)
    share, strength = on_host(place, member, coordinates)
    expected, nu = reference_rates(place, member, coordinates)
    # Slopes of e^10 times a coordinate of 10 have 32-bit logits that are off by 0.1; where they matter they are small.
    settled = np.abs(special.logit(np.clip(expected, 1e-12, 1 - 1e-12))) < 10
    np.testing.assert_allclose(share, expected, atol=2e-4)
    # Where it is relative, by the curve of 32 bits, whose own error would count several times.
    relative = (4.0 * share * (1 - share)) ** -member.relative / (4 * expected * (1 - expected)) ** -member.relative
    np.testing.assert_allclose(strength, nu * relative, rtol=128 * EPS)
    assert np.median(np.abs(share - expected)[settled]) < 16 * EPS
    assert settled.mean() > 0.3


@pytest.mark.slow
@pytest.mark.parametrize("which", ["curve", "bent"])
def test_the_program_has_finite_derivatives_in_64_bits(which):
    _, coordinates = made()
    with jax.enable_x64(True):
        member = jax.device_put(POSITIVES[POSITIVES.names.index(which)])
        inputs = jax.device_put(coordinates)
        place = jnp.asarray(np.random.default_rng(4).normal(size=(3, DIMENSION)))
        slopes = jax.jit(jax.grad(lambda place: rates(place, member, inputs)[0].sum()))(place)
        assert slopes.dtype == np.float64
        assert np.isfinite(slopes).all()
        assert (slopes[:, PARAMETERS.index("bend")] != 0).all() == (which == "bent")


def grouped(coordinates):
    """The same cells, every other one of another group."""
    return coordinates._replace(groups=np.eye(2, dtype=np.float32)[np.arange(len(coordinates.feature)) % 2])


def test_effects_of_groups_shift_log_odds():
    _, coordinates = made()
    member = RATES[4]  # flat: nothing is unannounced and nothing lapses, so that log odds are eta
    place = np.random.default_rng(5).normal(size=(50, EFFECTS + 6)).astype(np.float32)
    place[:, EFFECTS + 2 :] = 0
    plain = special.logit(np.float64(on_host(place[:, :DIMENSION], member, coordinates)[0]))
    shifted = special.logit(np.float64(on_host(place, member, grouped(coordinates))[0]))
    expected = float(member.group_sd) * place[:, EFFECTS : EFFECTS + 2][:, np.arange(K) % 2]
    inside = (np.abs(plain) < 8) & (np.abs(shifted) < 8)  # which 32 bits tell from 0 and 1
    assert inside.mean() > 0.5
    np.testing.assert_allclose((shifted - plain)[inside], expected[inside], atol=2e-3)


def test_effects_of_systems_have_heavy_tails_in_every_direction():
    _, coordinates = made()
    member, rng = POSITIVES[3], np.random.default_rng(6)  # weak: nothing is unannounced and nothing lapses

    def shifts(u, groups):
        """Log odds with effects u (S, G) of contrasts (K, G) less those without."""
        place = np.zeros((len(u), EFFECTS + 3 * groups.shape[1]), np.float32)
        place[:, EFFECTS : EFFECTS + groups.shape[1]] = u
        cells = coordinates._replace(groups=groups.astype(np.float32))
        with_, without = (np.float64(on_host(at, member, cells)[0]) for at in (place, 0 * place))
        return special.logit(with_) - special.logit(without)

    assert member.group_spread == 0
    of_one, u = np.ones((K, 1)) / 4, rng.normal(size=(40, 1))
    expected = np.sinh(member.group_heavy * u) / member.group_heavy / 4
    np.testing.assert_allclose(shifts(u, of_one), np.broadcast_to(expected, (40, K)), atol=2e-3)
    # Contrasts that are turned and effects that are turned with them say the same.
    contrasts, effects = rng.normal(size=(K, 3)) / 8, rng.normal(size=(40, 3))
    turn = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    np.testing.assert_allclose(shifts(effects @ turn, contrasts @ turn), shifts(effects, contrasts), atol=2e-3)


SIDES = np.where(np.arange(K) % 3 == 0, 0.4, -0.4)[:, None].astype(np.float32)  # what another system says of cells


def test_a_verdict_of_another_system_shifts_log_odds_by_the_mean_of_its_effect():
    _, coordinates = made()
    member = POSITIVES.beside()[3]  # weak: nothing is unannounced and nothing lapses
    place = np.zeros((1, EFFECTS + 3), np.float32)
    with_ = on_host(place, member, coordinates._replace(groups=SIDES))[0]
    without = on_host(place[:, :DIMENSION], member, coordinates)[0]
    shift = special.logit(np.float64(with_)) - special.logit(np.float64(without))
    np.testing.assert_allclose(shift[0], member.group_mean * SIDES[:, 0], atol=2e-3)
    assert member.group_mean > 0


@pytest.mark.parametrize("which", range(4))
def test_groups_that_are_measured_share_a_scale_of_any_size(which):
    _, coordinates = made()
    member, n_groups = POSITIVES.apart()[which], 6  # log odds are shifted, whatever is unannounced or lapses
    groups = np.eye(n_groups, dtype=np.float32)[np.arange(K) % n_groups]
    u, z = np.random.default_rng(7).normal(size=(400, n_groups)), np.random.default_rng(8).normal(size=(400, 1))
    place = np.zeros((len(u), EFFECTS + 3 * n_groups), np.float32)
    place[:, PARAMETERS.index("unannounced")] = 2.0  # some events are, where the member has such
    alike = place.copy()
    place[:, SCALE], place[:, EFFECTS : EFFECTS + n_groups] = z[:, 0], u
    cells = coordinates._replace(groups=groups)
    with_, without = (np.float64(on_host(at, member, cells)[0]) for at in (place, alike))
    shift = (special.logit(with_) - special.logit(without))[:, :n_groups]
    inside = (np.abs(special.logit(with_[:, :n_groups])) < 8).all(1)
    assert inside.mean() > 0.5
    expected = member.group_sd * np.exp(member.group_spread * z) * u
    np.testing.assert_allclose(shift[inside], expected[inside], atol=5e-3)


def test_in_a_steeper_group_the_coordinate_is_stretched():
    _, coordinates = made()
    member, v = RATES[2], 0.7
    place = np.random.default_rng(5).normal(size=(50, EFFECTS + 6)).astype(np.float32)
    place[:, DIMENSION:] = 0
    stretched = coordinates.place * np.where(np.arange(K) % 2, np.exp(member.group_slope_sd * v), 1.0)
    expected = on_host(place, member, grouped(coordinates._replace(place=stretched)))[0]
    place[:, EFFECTS + 3] = v
    np.testing.assert_allclose(on_host(place, member, grouped(coordinates))[0], expected, rtol=1e-5)
    assert not np.allclose(on_host(0 * place, member, grouped(coordinates))[0], expected)


def test_what_scores_are_worth_differs_between_many_groups_too():
    _, coordinates = made()
    member, v, group = AGREEMENT.apart()[0], 0.7, np.arange(K) % 9
    many = coordinates._replace(groups=np.eye(9, dtype=np.float32)[group], own_slopes=np.ones(1, np.int32))
    place = np.zeros((1, EFFECTS + 18), np.float32)
    plain = on_host(place, member, many)[0]
    stretched = coordinates.place * np.where(group == 4, np.exp(member.group_slope_sd * v), 1.0)
    expected = on_host(place, member, many._replace(place=stretched))[0]
    place[:, EFFECTS + 9 + 4] = v
    np.testing.assert_allclose(on_host(place, member, many)[0], expected, rtol=1e-5)
    assert not np.allclose(plain, expected)


def test_a_group_has_lapses_of_its_own():
    _, coordinates = made()
    member, v = RATES[0], 0.7
    place = np.random.default_rng(5).normal(size=(50, EFFECTS + 6)).astype(np.float32)
    place[:, DIMENSION:] = 0
    more = place.copy()
    more[:, PARAMETERS.index("lapse")] += v * member.group_lapse_sd / member.lapse_sd
    plain, lapsing = (on_host(one, member, grouped(coordinates))[0] for one in (place, more))
    place[:, EFFECTS + 5] = v
    expected = np.where(np.arange(K) % 2, lapsing, plain)
    np.testing.assert_allclose(on_host(place, member, grouped(coordinates))[0], expected, rtol=1e-5)
    assert not np.allclose(plain, lapsing)


def test_the_program_knows_effects_of_groups():
    _, coordinates = made()
    k, n = counts_of(*campaign())
    place = np.random.default_rng(6).normal(size=(1, EFFECTS + 6)).astype(np.float32)
    values = dict(zip(PARAMETERS, place[0], strict=False))
    effects = dict(zip(GROUP_EFFECTS, place[0, EFFECTS:].reshape(3, 2), strict=True))
    values |= {"deviation": place[0, len(PARAMETERS) : DIMENSION]} | effects | {"group_scale": place[0, SCALE]}

    @jax.jit
    def traced(values):
        told = numpyro.handlers.substitute(program, values)
        trace = numpyro.handlers.trace(told).get_trace(grouped(coordinates), RATES[0], jnp.asarray(n), jnp.asarray(k))
        return {name: trace[name]["value"] for name in ("curve", "nu")}

    trace = traced({name: jnp.asarray(value) for name, value in values.items()})
    share, strength = on_host(place, RATES[0], grouped(coordinates))
    np.testing.assert_allclose(trace["curve"], share[0], rtol=1e-4)  # 32-bit log odds
    np.testing.assert_allclose(trace["nu"], strength[0], rtol=64 * EPS)


def test_a_belief_starts_with_parameters_for_every_group():
    _, coordinates = made()
    assert prior_curves(0, VERDICTS, coordinates, 8).particles.place.shape == (2, 8, DIMENSION)
    assert prior_curves(0, VERDICTS, grouped(coordinates), 8).particles.place.shape == (2, 8, EFFECTS + 6)
    many = coordinates._replace(groups=np.eye(9, dtype=np.float32)[np.arange(K) % 9])
    assert prior_curves(0, VERDICTS, many, 8).particles.place.shape == (2, 8, EFFECTS + 9)
    many = many._replace(own_slopes=np.ones(1, np.int32))
    assert prior_curves(0, VERDICTS, many, 8).particles.place.shape == (2, 8, EFFECTS + 18)


@pytest.mark.slow
@pytest.mark.parametrize(("table", "which"), [("positives", 1), ("positives", 3), ("agreement", 4)])
def test_the_program_is_the_prior_the_rates_and_the_likelihood(table, which):
    _, coordinates = made()
    cells, events = campaign()
    k, n = counts_of(cells, events)
    place = np.random.default_rng(3).normal(size=(1, DIMENSION))
    with jax.enable_x64(True):
        coordinates = jax.tree.map(lambda x: jnp.asarray(x, jnp.float64), coordinates)
        member = jax.device_put(TABLES[table][which])
        values = dict(zip(PARAMETERS, jnp.asarray(place[0]), strict=False))
        values["deviation"] = jnp.asarray(place[0, len(PARAMETERS) :])

        @jax.jit
        def computed(place, values):
            joint, trace = log_density(program, (coordinates, member, jnp.asarray(n), jnp.asarray(k)), {}, values)
            share, strength = rates(place, member, coordinates)
            likelihood = log_likelihood(share, strength, jnp.asarray(k, float), jnp.asarray(n, float))
            return joint, trace["curve"]["value"], trace["nu"]["value"], share, strength, likelihood

        joint, curve, nu, share, strength, likelihood = computed(jnp.asarray(place), values)
        np.testing.assert_allclose(curve, share[0], rtol=1e-13)
        np.testing.assert_allclose(nu, strength[0], rtol=1e-13)
        prior = stats.norm.logpdf(place).sum()
        orders = np.log(special.comb(n, k)).sum()
        # Stirling's series is good to 1e-6 from four on, for every cell's three products.
        np.testing.assert_allclose(joint, prior + likelihood[0] + orders, atol=3e-6 * K)


@pytest.mark.slow
def test_the_program_draws_labels_of_its_cells():
    _, coordinates = made()
    _, n = counts_of(*campaign())
    seeded = numpyro.handlers.trace(numpyro.handlers.seed(program, 0))
    k = jax.jit(lambda: seeded.get_trace(coordinates, POSITIVES[0], jnp.asarray(n))["k"]["value"])()
    assert ((k >= 0) & (k <= n)).all()


def test_what_a_table_of_members_leaves_out_is_nothing():
    one = Members.of(only={"prior": 1.0})[0]
    _, coordinates = made()
    place = np.random.default_rng(4).normal(size=(3, DIMENSION)).astype(np.float32)
    place[:, len(PARAMETERS) :] = 0
    share, strength = on_host(place, one, coordinates)
    np.testing.assert_allclose(share, 0.5, rtol=8 * EPS)
    np.testing.assert_array_equal(strength, 1.0)
    for table in TABLES.values():
        assert table.prior.sum() == pytest.approx(1, abs=8 * EPS)


# -- posterior --------------------------------------------------------------------------------------------------------

N_RUNS = 12


@cache
def prior_of(beside):
    """Members and coordinates: of one system, or beside the verdicts of another."""
    members, coordinates = POSITIVES, made()[1]
    if not beside:
        return members, coordinates
    return members.beside(), coordinates._replace(groups=SIDES)


@cache
def runs(n, beside=False):
    """Independent states after the same labels."""
    cells, events = campaign(n)
    members, coordinates = prior_of(beside)
    return [learned(prior_curves(100 + i, members, coordinates), cells, events) for i in range(N_RUNS)]


@pytest.mark.slow
def test_evidence_of_the_members_equals_that_of_draws_from_the_prior():
    cells, events = campaign(8)
    k, n = counts_of(cells, events)
    _, coordinates = made()
    found = np.exp([np.asarray(state.particles.log_evidence, np.float64) for state in runs(8)])
    rng = np.random.default_rng(5)
    for i, name in enumerate(POSITIVES.names):
        share, nu = reference_rates(rng.normal(size=(30_000, DIMENSION)), POSITIVES[i], coordinates)
        seen = n > 0
        exact = np.exp(exact_log_likelihood(share[:, seen], nu[:, seen], k[seen], n[seen]))
        error = np.hypot(exact.std() / np.sqrt(len(exact)), found[:, i].std(ddof=1) / np.sqrt(N_RUNS))
        assert abs(found[:, i].mean() - exact.mean()) < 5 * error, name
        assert error < 0.1 * exact.mean()  # the check has teeth
    assert max(state.n_moved for state in runs(8)) > 0


def by_quadrature(k, n):
    """Evidence, and means of the level and of log nu, of the belief without scores."""
    level, log_nu = (x.ravel() for x in np.meshgrid(np.linspace(-6, 6, 241), np.linspace(-6, 6, 241)))
    log_prior = stats.norm.logpdf(level) + stats.norm.logpdf(log_nu)
    member = UNSCORED[0]
    m = np.clip(special.expit(member.intercept_sd * np.float64(level)), LEAST, 1 - 1e-6)
    nu = np.exp(np.clip(member.strength + member.strength_sd * np.float64(log_nu), -2, 16))
    p = np.exp(log_prior + exact_log_likelihood(np.repeat(m[:, None], len(n), 1), nu[:, None], k, n)) * 0.05**2
    return p.sum(), np.stack([m, np.log(nu)]) @ p / p.sum()


@pytest.mark.slow
def test_without_scores_evidence_and_posterior_equal_quadrature():
    zero = np.zeros(K, np.float32)
    coordinates = made()[1]._replace(
        place=zero[None], standard=zero[None], smooth=np.zeros((1, K, N_SMOOTH), np.float32), feature=zero,
        unit=np.ones(1, np.float32), log_odds=np.float32(0),
    )  # fmt: skip
    rng = np.random.default_rng(6)
    cells = rng.integers(0, 6, 80)
    events = rng.random(80) < np.array([0.9, 0.5, 0.8, 0.95, 0.2, 0.7])[cells]
    k, n = counts_of(cells, events)
    evidence, mean = by_quadrature(k, n)
    n_runs, n_particles = 16, 256
    states = [learned(prior_curves(i, UNSCORED, coordinates, n_particles), cells, events) for i in range(n_runs)]
    # Means by weights are biased by a few over S; steps fitted to the particles that they move cost .06, and .15 here.
    bias = 4 / n_particles
    ratio = np.exp([float(state.particles.log_evidence[0]) - np.log(evidence) for state in states])
    assert abs(ratio.mean() - 1) < 5 * ratio.std(ddof=1) / np.sqrt(n_runs) + bias
    weight = [special.softmax(np.float64(state.particles.log_weight[0])) for state in states]
    draws = [np.stack([state.share[0, :, 0], np.log(state.strength[0, :, 0])]) for state in states]
    found = np.array([draw @ w for draw, w in zip(draws, weight, strict=True)])
    spread = np.sqrt((draws[0] - found[0][:, None]) ** 2 @ weight[0])
    error = found.std(0, ddof=1) / np.sqrt(n_runs)
    assert (np.abs(found.mean(0) - mean) < 5 * error + bias * spread).all()
    assert (error < 0.05 * spread).all()  # the check has teeth
    assert ratio.std(ddof=1) < 0.2


def summaries(share, log_nu):
    """The curve at some cells, at all of them together, and log nu of one; (S, Q)."""
    return np.concatenate([share[:, [4, 10, 13, 15, 18]], share.mean(1)[:, None], log_nu[:, [13]]], axis=1)


@pytest.mark.slow
@pytest.mark.parametrize(("which", "beside"), [("curve", False), ("weak", False), ("flat", False), ("curve", True)])
def test_nuts_on_the_program_agrees(which, beside):
    cells, events = campaign(60)
    k, n = counts_of(cells, events)
    members, coordinates = prior_of(beside)
    with jax.enable_x64(True):
        which = members.names.index(which)
        member = jax.device_put(members[which])
        inputs = jax.device_put(coordinates)
        mcmc = MCMC(
            NUTS(program, target_accept_prob=0.9), num_warmup=800, num_samples=3000, num_chains=2,
            chain_method="sequential", progress_bar=False,
        )  # fmt: skip
        mcmc.run(jax.random.key(0), inputs, member, jnp.asarray(n), jnp.asarray(k))
        draws = {name: np.asarray(x) for name, x in mcmc.get_samples(group_by_chain=True).items()}
    theirs = np.stack([summaries(*both) for both in zip(draws["curve"], np.log(draws["nu"]), strict=True)])
    ours = np.array(
        [
            special.softmax(np.float64(state.particles.log_weight[which]))
            @ summaries(np.asarray(state.share[which]), np.log(np.asarray(state.strength[which])))
            for state in runs(60, beside)
        ]
    )
    size = np.minimum(effective_sample_size(theirs), theirs.shape[0] * theirs.shape[1])
    errors = theirs.std((0, 1)) / np.sqrt(size), ours.std(0, ddof=1) / np.sqrt(N_RUNS)
    bias = 4 / 256 * theirs.std((0, 1))  # of means by weights
    assert (np.abs(ours.mean(0) - theirs.mean((0, 1))) < 5 * np.hypot(*errors) + bias).all()
    assert (np.hypot(*errors) < 0.2 * theirs.std((0, 1))).all()  # the check has teeth


# -- simulation-based calibration -------------------------------------------------------------------------------------

N_REPLICATES, N_FAULTY, N_DRAWS = 480, 240, 63
ALPHA = 1e-4  # false-alarm rate of one calibration test
ASKED = np.repeat([6, 10, 12, 15, 16, 18], 5)  # cells of the labels
WHERE = 15  # cell whose nu is looked at


@cache
def replicates():
    """Statistics (6, R) of what the prior draws, in the order of `STATISTICS`, and labels (R, N)."""
    setting, coordinates = made()
    size = np.asarray(setting.cells.sizes)
    rng = np.random.default_rng(7)
    prior = np.float64(POSITIVES.prior) / np.float64(POSITIVES.prior).sum()
    member = rng.choice(len(prior), N_REPLICATES, p=prior)
    draw = rng.normal(size=(N_REPLICATES, DIMENSION))
    spikes = {"unannounced": POSITIVES.spike[member], "lapse": POSITIVES.lapse_spike[member]}
    hides, lapses = (
        (spike > 0) & (stats.norm.cdf(draw[:, PARAMETERS.index(name)]) > spike) for name, spike in spikes.items()
    )
    share, nu = np.empty((2, N_REPLICATES, K))
    for i in range(len(prior)):
        share[member == i], nu[member == i] = reference_rates(draw[member == i], POSITIVES[i], coordinates)
    share, nu = share[:, : len(size)], nu[:, : len(size)]
    p = rng.beta(np.maximum(nu * share, 1e-9), np.maximum(nu * (1 - share), 1e-9))
    items = [rng.random((N_REPLICATES, m)) < p[:, [c]] for c, m in enumerate(size)]  # the labels of all items
    events = np.stack([item.sum(1) for item in items], axis=1)
    turn = [(ASKED[:i] == c).sum() for i, c in enumerate(ASKED)]
    labels = np.stack([items[c][:, i] for c, i in zip(ASKED, turn, strict=True)], axis=1)
    statistics = (
        member,
        hides,
        lapses,
        np.log(nu[:, WHERE]),
        share[:, np.unique(ASKED)].mean(1),
        measure_values(setting.reward, events)[:, 0],
    )
    return np.stack(statistics), labels


STATISTICS = "member", "hidden", "lapses", "log nu", "curve", "measure"
FAULTS = {  # what shows them, how they learn labels, and the sign of the evidence
    "labels turned round": ("measure", lambda members, labels: (members, ASKED, ~labels), 1),
    "every label four times": ("curve", lambda members, labels: (members, np.tile(ASKED, 4), np.tile(labels, 4)), 1),
    "cells three times as alike": (
        "log nu",
        lambda members, labels: (replace(members, strength=members.strength + np.log(np.float32(3))), ASKED, labels),
        1,
    ),
    "positives hide in one pool of a thousand": (
        "hidden",
        lambda members, labels: (replace(members, spike=np.where(members.spike > 0, 0.999, 0)), ASKED, labels),
        1,
    ),
    "the surest items err in one pool of a thousand": (
        "lapses",
        lambda members, labels: (
            replace(members, lapse_spike=np.where(members.lapse_spike > 0, 0.999, 0)),
            ASKED,
            labels,
        ),
        1,
    ),
    "evidence turned round": ("member", lambda members, labels: (members, ASKED, labels), -1),
}


def p_values(n, learn, sign):
    """Of the ranks of every statistic among draws of the weighted particles."""
    setting, coordinates = made()
    truth, labels = replicates()
    rng = np.random.default_rng(8)
    draws = np.empty((N_DRAWS, len(STATISTICS), n))
    for r in range(n):
        members, cells, events = learn(POSITIVES, labels[r])
        state = learned(prior_curves(r, members, coordinates), cells, events)
        within = special.log_softmax(np.float64(state.particles.log_weight), axis=1)
        log_member = np.float64(state.log_prior) + sign * np.float64(state.particles.log_evidence)
        weight = special.softmax(log_member[:, None] + within)
        chosen = np.unravel_index(rng.choice(weight.size, N_DRAWS, p=weight.ravel()), weight.shape)
        share, nu = np.asarray(state.share)[chosen], np.asarray(state.strength)[chosen]
        k, m = counts_of(ASKED, labels[r])
        counts, whole = np.stack([m - k, k], axis=1), setting.cells.n_cells
        measures = measure_draws(rng, setting.reward, share[:, :whole], nu[:, :whole], counts[:whole])[:, 0]
        curve, cautious = share[:, np.unique(ASKED)].mean(1), np.asarray(state.cautious)[chosen]
        draws[:, :, r] = np.stack([chosen[0], *cautious.T, np.log(nu[:, WHERE]), curve, measures], axis=1)
    rank = ranks(truth[:, :n], draws, rng)
    return {name: uniformity(one, N_DRAWS, n // 30) for name, one in zip(STATISTICS, rank, strict=True)}


@pytest.mark.slow
def test_the_posterior_is_calibrated():
    assert min(p_values(N_REPLICATES, lambda members, labels: (members, ASKED, labels), 1).values()) > ALPHA


@pytest.mark.slow
@pytest.mark.parametrize("fault", sorted(FAULTS))
def test_calibration_catches_a_planted_fault(fault):
    shown_by, learn, sign = FAULTS[fault]
    assert p_values(N_FAULTY, learn, sign)[shown_by] < ALPHA


# -- odd pools and labels ---------------------------------------------------------------------------------------------


def odd_pools():
    rng = np.random.default_rng(9)
    some = rng.random(40)
    return {
        "one item": ba.Pool(scores=[0.7]),
        "two items": ba.Pool(scores=[0.2, 0.7]),
        "five items": ba.Pool(scores=[0.1, 0.2, 0.2, 0.6, 0.9]),
        "a cell for every item": ba.Pool(scores=np.linspace(0.1, 0.9, 7)),
        "constant scores": ba.Pool(scores=np.full(30, 0.3)),
        "scores of 0 and 1": ba.Pool(scores=np.resize([0.0, 1.0, 0.0], 30)),
        "zeros and others": ba.Pool(scores=np.where(some < 0.5, 0.0, some)),
        "no scores": ba.Pool(predictions=np.resize([0, 1, 0, 0], 30), classes=[0, 1]),
        "all predicted positive": ba.Pool(scores=0.5 + some / 2),
        "none predicted positive": ba.Pool(scores=some / 2.01),
    }


@pytest.fixture(params=["on the host", pytest.param("compiled", marks=pytest.mark.slow)])
def learn(request):
    """What learns labels: steps on NumPy, as every other pool, and every other kind of it, is compiled anew."""
    if request.param == "compiled":
        yield lambda seed, members, coordinates, *labels: learned(prior_curves(seed, members, coordinates), *labels)
        return

    def on_numpy(seed, members, coordinates, cells, events):
        state = prior_curves(seed, members, coordinates)
        for cell, event in zip(cells, events, strict=True):
            state = state.observe(cell, np.bool_(event))
        return state

    with engine.eager():
        yield on_numpy


def finite(state):
    state = jax.tree.map(np.asarray, replace(state, key=np.zeros(2)))
    parts = state.share, state.strength, state.particles.place, state.particles.log_evidence, state.member_weights
    parts += tuple(state.deciding)[:2]
    weights = (
        special.softmax(np.asarray(state.particles.log_weight), axis=1),
        special.softmax(state.deciding.log_weight),
    )
    shares = np.asarray(state.share)
    return all(np.isfinite(part).all() for part in (*parts, *weights)) and 0 < shares.min() and shares.max() < 1


# In the quick tests all labels of two pools, and one kind of labels of the others.
ODD = [(name, labels) for name in odd_pools() for labels in ("none", "events", "no events", "both", "all but one")]
SOON = "both", "zeros and others", "no scores"


@pytest.mark.parametrize(
    ("name", "labels"),
    [pytest.param(*case, marks=[] if {*case} & {*SOON} else [pytest.mark.slow]) for case in ODD],
)
def test_odd_pools_and_labels_give_numbers(name, labels, learn):
    setting = metric_setting(odd_pools()[name])
    size = np.asarray(setting.cells.sizes)
    cells = np.repeat(np.arange(len(size)), size)
    rng = np.random.default_rng(10)
    if labels == "none":
        cells = cells[:0]
    elif labels == "all but one":
        cells = rng.permutation(cells)[1:]
    events = {"events": np.ones(len(cells), bool), "no events": np.zeros(len(cells), bool)}.get(
        labels, rng.random(len(cells)) < 0.5
    )
    state = learn(2, POSITIVES, padded(setting.cells.events.coordinates), cells, events)
    assert finite(state)
    share, strength, _ = (np.asarray(x) for x in state.weighted(50))
    counts = np.asarray(state.counts)[: len(size)].astype(int)
    draws = measure_draws(rng, setting.reward, share[:, : len(size)], strength[:, : len(size)], counts)
    assert ((draws >= 0) & (draws <= 1)).all()
    if labels in ("events", "no events", "both"):  # of every item
        exact = np.broadcast_to(measure_values(setting.reward, counts[None, :, 1]), draws.shape)
        np.testing.assert_allclose(draws, exact, rtol=4 * np.finfo(float).eps)


@pytest.mark.parametrize("unit", [1.0, 1e30, 1e-30, 0.0])
def test_scores_that_are_no_probabilities_give_numbers(unit, learn):
    rng = np.random.default_rng(13)
    score = unit * rng.normal(size=60) + (5 if unit == 0 else 0)
    ranked = RankedScore(score, rng.random(60) < 0.4)
    cell = RankStrata(10).of(ranked).codes
    coordinates = padded(coordinates_of(ranked, cell, np.bincount(cell)))
    assert all(np.isfinite(part).all() for part in jax.tree.leaves(coordinates))
    assert finite(learn(9, POSITIVES, coordinates, cell, rng.random(60) < 0.5))


@pytest.mark.parametrize("confidence", [np.full(20, 0.8), np.resize([1.0, 0.5], 20), np.linspace(0.5, 1, 20), [0.9]])
def test_odd_confidences_give_numbers(confidence, learn):
    pool = ba.Pool(predictions=np.zeros(len(confidence), int), confidence=confidence, classes=[0, 1, 2])
    setting = ba.Metric("accuracy").setting(pool, strata=RankStrata(22))
    assert setting.cells.events.members.names == AGREEMENT.names
    cells = np.repeat(np.arange(setting.cells.n_cells), setting.cells.sizes)
    for event in (True, False):
        coordinates = padded(setting.cells.events.coordinates)
        assert finite(learn(3, AGREEMENT, coordinates, cells, np.full(len(cells), event)))


def test_before_any_label_draws_follow_the_prior():
    _, coordinates = made()
    state = prior_curves(4, POSITIVES, coordinates)
    np.testing.assert_allclose(state.member_weights, POSITIVES.prior, rtol=8 * EPS)
    assert (np.asarray(state.particles.log_evidence) == 0).all()
    place = np.asarray(state.particles.place, np.float64).ravel()
    assert stats.kstest(place, "norm").pvalue > ALPHA
    share, strength, cautious = jax.device_get(jax.jit(lambda state: state.weighted(2000))(state))
    # Positives hide, and the surest items err, in so many draws of the members in which scores rank, which have spikes.
    ranking = POSITIVES.prior[POSITIVES.spike > 0]
    for those, spike in zip(cautious.T, np.float64([POSITIVES.spike[0], POSITIVES.lapse_spike[0]]), strict=True):
        error = np.sqrt(spike * (1 - spike) * np.sum(ranking**2.0) / 256)
        assert abs(those.mean() - (1 - spike) * ranking.sum()) < 4 * error
    # The strength of all members is log-normal at even odds, and relative to the rate.
    middle = np.asarray(4 * share * (1 - share))
    log_nu = (np.log(strength * middle).mean(1) - np.log(300)) / 1.5
    # 2,000 systematic draws of 1,280 particles have the mean of the weighted particles, up to a few of them.
    weights = np.repeat(np.float64(POSITIVES.prior), 256) / 256
    assert abs(float(log_nu.mean())) < 4 * np.sqrt((weights**2).sum())
    expected = np.float64(POSITIVES.prior) @ np.asarray(state.share, np.float64).mean(1)
    # Every particle is drawn as often as expected, rounded up or down: a variance of 1/4 each at most.
    error = np.sqrt(share.shape[0] ** -2 / 4 * (np.asarray(state.share, np.float64) ** 2).sum((0, 1)))
    assert (np.abs(np.float64(share).mean(0) - expected) < 4 * error).all()


@pytest.mark.slow
def test_labels_one_by_one_and_in_a_loop_give_the_same_state():
    cells, events = campaign(30)
    _, coordinates = made()
    whole = learned(prior_curves(5, POSITIVES, coordinates), cells, events)
    state = prior_curves(5, POSITIVES, coordinates)
    for cell, event in zip(cells, events, strict=True):
        state = learned(state, [cell], [event])
    assert whole.n_moved > 2
    same = jax.jit(lambda *states: jax.tree.map(lambda a, b: (a == b).all(), *states))(state, whole)
    assert all(jax.tree.leaves(jax.device_get(same)))
    other = learned(prior_curves(6, POSITIVES, coordinates), cells, events)
    assert (np.asarray(other.particles.place) != np.asarray(whole.particles.place)).any()


@pytest.mark.slow
def test_evidence_turns_to_the_curve_when_scores_rank_and_away_when_they_do_not():
    _, coordinates = made()
    cells, events = campaign(200)
    good = learned(prior_curves(7, POSITIVES, coordinates), cells, events)
    bad = learned(prior_curves(7, POSITIVES, coordinates), cells, ~events)
    weak = POSITIVES.names.index("weak")
    assert good.member_weights[weak] < 0.1 < 0.9 < bad.member_weights[weak]


def test_learning_brings_the_curve_to_the_rates():
    setting, coordinates = made()
    cells, events = campaign(400)
    state = learned(prior_curves(8, POSITIVES, coordinates), cells, events)
    k, n = counts_of(cells, events)
    weight = np.exp(np.float64(smc.log_joint_weight(state.particles, state.log_prior)))
    share, nu = np.float64(state.share), np.float64(state.strength)
    mean = (weight[..., None] * (nu * share + k) / (nu + n)).sum((0, 1))
    rate = special.expit(np.linspace(-5, 4, setting.cells.n_cells))
    # Of 400 labels of about 20 each cell, no cell is farther off than four binomial standard errors.
    error = np.sqrt(rate * (1 - rate) / np.maximum(n[: len(rate)], 1)) + 1 / (n[: len(rate)] + 2)
    assert (np.abs(mean[: len(rate)] - rate) < 4 * error).all()
