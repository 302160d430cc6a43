"""Draws that are given as a posterior or a prior: their order, shapes, weights and number."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

import bayes_assess as ba
from bayes_assess.models.sampled_belief import SampledBelief

SCORES = np.random.default_rng(0).random(40)
F1 = ba.assess(ba.Pool(scores=SCORES), ba.Metric("f1"), design=ba.designs.Importance(n_strata=4), seed=0)


def rates(n: int) -> np.ndarray:
    """Draws of the rate of every cell of a measure."""
    return np.random.default_rng(0).beta(1, 3, (n, F1.cells.n_cells))


SITES = ["a", "b", "c", "d"]


def by_site(**options) -> tuple[ba.Assessment, np.ndarray]:
    """A session on four sites, and draws of their accuracies, 0.2, 0.4, 0.6 and 0.8."""
    pool = ba.Pool(predictions=np.zeros(400, int), classes=[0, 1], groups={"site": np.resize(SITES, 400)})
    a = ba.assess(pool, ba.GroupAccuracy(by="site"), seed=0, **options)
    return a, np.random.default_rng(0).beta([200, 400, 600, 800], [800, 600, 400, 200], (500, 4))


@pytest.mark.parametrize("wrap", [lambda theta: theta, lambda theta: xr.Dataset({"theta": theta})])
def test_coordinates_that_name_the_groups_tell_their_order(wrap):
    a, draws = by_site()
    theta = xr.DataArray(draws[None], dims=["chain", "draw", "place"], coords={"place": SITES})
    expected = a.result(posterior=draws).estimate
    np.testing.assert_allclose(expected, [0.2, 0.4, 0.6, 0.8], atol=0.01)
    for order in ([0, 1, 2, 3], [3, 1, 0, 2]):
        found = a.result(posterior=wrap(theta.isel(place=order))).estimate
        np.testing.assert_array_equal(found, expected)
    for names in ([3, 2, 1, 0], ["w", "x", "y", "z"]):  # which are not those of the groups
        np.testing.assert_array_equal(a.result(posterior=wrap(theta.assign_coords(place=names))).estimate, expected)


def test_positions_of_draws_are_no_names_of_classes():
    """ArviZ numbers axes that nobody named; classes may be numbers in another order."""
    pool = ba.Pool(predictions=np.resize([2, 1, 0], 90), classes=[2, 1, 0])
    a = ba.assess(pool, ba.GroupAccuracy(), seed=0)
    draws = np.random.default_rng(0).beta([2, 4, 8], [8, 4, 2], (500, 3))
    theta = xr.DataArray(draws, dims=["draw", "theta_dim_0"], coords={"theta_dim_0": [0, 1, 2]})
    np.testing.assert_array_equal(a.result(posterior=theta).estimate, a.result(posterior=draws).estimate)


@pytest.mark.parametrize("design", ["variance_reduction", ba.designs.Importance(n_strata=4)])
def test_cells_of_measures_are_found_by_their_names_if_each_has_its_own(design):
    a = ba.assess(F1.pool, F1.question, design=design)
    unique = len(set(a.cells.names.tolist())) == a.cells.n_cells
    assert unique == (design == "variance_reduction")
    theta = xr.DataArray(
        np.random.default_rng(0).random((200, a.cells.n_cells)), dims=["draw", "cell"], coords={"cell": a.cells.names}
    )[:, ::-1]
    found, expected = (a.result(posterior=draws) for draws in (theta, theta.values[:, :: -1 if unique else 1]))
    np.testing.assert_array_equal(found.draws, expected.draws)


def test_rows_of_confusion_matrices_sum_to_one():
    pool = ba.Pool(predictions=np.resize(["x", "y", "z"], 90))
    a = ba.assess(pool, ba.ConfusionMatrix(), seed=0)
    draws = np.random.default_rng(0).dirichlet([3.0, 1.0, 1.0], (200, 3))
    message = "outcomes sum to 1; those of draw 0, cell 0 sum to 0.5"
    for take in (a.result, lambda posterior: a.ask(3, posterior=posterior)):
        with pytest.raises(ba.InferenceError, match=message):
            take(posterior=draws / 2)
    with pytest.raises(ba.PriorError, match=message):
        ba.assess(pool, ba.ConfusionMatrix(), prior=SampledBelief(draws / 2, np.zeros(200)))
    assert a.result(posterior=draws).estimate.sum(1) == pytest.approx(1)


@pytest.mark.parametrize(
    ("draws", "log_weight", "message"),
    [
        (np.full((9, 4), 0.5), np.zeros(3), r"found shapes \(9, 4\) and \(3,\)"),
        (np.full((9, 4), 0.5), 0.0, r"found shapes \(9, 4\) and \(\)"),
        (np.full((0, 4), 0.5), np.zeros(0), r"found shapes \(0, 4\) and \(0,\)"),
        (np.full((9, 4), 0.5), np.full(9, np.nan), "weights of draws are finite"),
        (np.full((9, 4), 0.5), np.full(9, -np.inf), "weights of draws are finite"),
        (np.append(np.full((9, 4), 0.5), [[0.5, 0.5, 1.3, 0.5]], 0), np.zeros(10), "draw 9, cell 2 has 1.3"),
        (np.full((9, 4), "high"), np.zeros(9), "parameters of a SampledBelief are numbers"),
    ],
)
def test_sampled_beliefs_that_are_none_are_refused(draws, log_weight, message):
    for options in ({"prior": SampledBelief(draws, log_weight)}, {}):
        with pytest.raises(ba.PriorError, match=message):
            by_site(**options)[0].result(posterior=SampledBelief(draws, log_weight))


def test_draws_that_are_masked_are_none():
    a = by_site()[0]
    draws = np.full((50, len(a.cells.sizes)), 0.5)
    masked = np.ma.array(draws, mask=np.arange(draws.size).reshape(draws.shape) == 1)
    with pytest.raises(
        ba.InferenceError, match="Posterior draws are probabilities, from 0 to 1; draw 0, cell 1 has nan"
    ):
        a.ask(1, posterior={"theta": masked})
    assert len(a.ask(1, posterior={"theta": draws})) == 1


def test_the_class_of_a_belief_is_no_prior():
    with pytest.raises(ba.PriorError, match=r"A prior is 'learned', .*; found <class"):
        by_site(prior=SampledBelief)


def test_a_sampler_is_told_what_of_it_is_taken():
    with pytest.raises(ba.InferenceError, match=r"az\.from_numpyro\(mcmc\), .* mcmc\.get_samples\(\); found Sampler"):
        by_site()[0].result(posterior=type("Sampler", (), {})())


def test_an_arviz_object_without_a_posterior_says_which_groups_it_has():
    prior = xr.Dataset({"theta": (("chain", "draw", "site"), np.full((1, 50, 4), 0.5))})
    with pytest.raises(ba.InferenceError, match="has no posterior; it has the groups 'prior'"):
        by_site()[0].result(posterior={"prior": prior})


def test_intervals_of_few_draws_say_so():
    """Of n draws, one lies beyond each end of a 95 % interval from 40 on."""
    a, draws = by_site()
    said = "Intervals are made of 39 posterior draws and may be too narrow"
    assert said in a.result(posterior=draws[:39]).summary()
    assert "posterior draws" not in a.result(posterior=draws[:40]).summary()
    assert "made of 40 posterior draws" in a.result(0.99, posterior=draws[:40]).summary()
    a.tell(a.pool.ids, np.zeros(400, int))
    assert "posterior draws" not in a.result(posterior=draws[:39]).summary()  # as everything is known


def test_draws_that_labels_leave_of_a_prior_are_counted():
    rng = np.random.default_rng(0)
    a, _ = by_site(prior=SampledBelief(rng.random((500, 4)), np.zeros(500)), design="random")
    assert "posterior draws" not in a.result().summary()
    for upto, few in ((8, False), (300, True)):
        ids = a.ask(upto - a.labels_used).ids
        a.tell(ids, (rng.random(len(ids)) < 0.3).astype(int))
        weights = np.asarray(a._state.posterior.importance)
        assert (1 / (weights**2).sum() < 40) == few
        assert ("Intervals are made of 500 posterior draws, which count as " in a.result().summary()) == few


def test_measures_by_few_draws_say_so():
    for n in (16, 60):
        said = F1.result(posterior=rates(n)).summary()
        assert ("Intervals are made of 16 posterior draws" in said) == (n == 16)


@pytest.mark.parametrize("design", ["variance_reduction", "passive", "importance"])
def test_pairs_are_answered_by_the_sessions_own_belief(design):
    groups = {"system": np.tile(["a", "b"], 20), "prompt": np.repeat(np.arange(20), 2).astype(str)}
    pool = ba.Pool(predictions=np.resize([0, 1, 1], 40), groups=groups)
    question = ba.Compare("a", "b", by="system", measure="rate", pair="prompt")
    a = ba.assess(pool, question, design=design)
    for shape in ((50, a.cells.n_cells), (50, a.cells.n_cells, 2)):
        with pytest.raises(ba.DesignError, match=r"Labels are of pairs here, .* leave out the posterior"):
            a.result(posterior=np.full(shape, 0.5))


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["eager", "compiled"])
@pytest.mark.parametrize(
    "question",
    [
        ba.Calibration(bins=2, by="site"),
        ba.LeastCalibrated(by="site", bins=2),
        ba.Compare("a", "b", by="site", measure="ece"),
    ],
    ids=lambda question: question.name,
)
def test_the_posterior_of_an_answer_on_calibration_by_group_chooses_items(question, engine):
    rng = np.random.default_rng(0)
    scores = rng.uniform(size=300)
    pool = ba.Pool(scores=scores, groups={"site": ["a", "b", "b"] * 100})
    labels = (rng.random(300) < scores).astype(int)
    a = ba.assess(pool, question, seed=0, engine=engine)
    queries = a.ask(20)
    a.tell(queries.ids, labels[queries.ids])
    posterior = a.result().posterior
    estimate = a.result(posterior=posterior).estimate
    assert len(a.ask(5, posterior=posterior)) == 5
    assert np.abs(estimate - a.result().estimate).max() < 0.05


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["eager", "compiled"])
def test_draws_that_are_sure_choose_items_on_either_engine(engine):
    """In 32 bits a draw of 1 leaves a label that contradicts it no probability at all, and its logarithm no number."""
    draws = np.random.default_rng(0).beta(9, 1, (500, 2))
    draws[0] = 1.0
    pool = ba.Pool(predictions=[0] * 300, classes=[0, 1], groups={"site": ["a", "b", "b"] * 100})
    a = ba.assess(pool, ba.GroupAccuracy(by="site"), seed=0, engine=engine)
    a.tell(a.ask(99).ids, [0] * 99)  # so that few are left of the first group
    assert sorted(set(a.ask(150, posterior=draws).groups.tolist())) == ["a", "b"]
