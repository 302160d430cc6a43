"""Items of measures chosen by the posterior of another model: the draws decide, and answers are as valid."""

from __future__ import annotations

import jax
import numpy as np
import pytest
from scipy import stats

import bayes_assess as ba
from bayes_assess import acquisition
from bayes_assess._tools import engine
from bayes_assess._tools.to_arviz import to_arviz
from bayes_assess.acquisition.measure_variance import drawn_reduction
from bayes_assess.designs import Adaptive, Importance, Poisson, VarianceReduction
from bayes_assess.models import hierarchical_accuracy
from bayes_assess.models.dirichlet_tree import Tree

RNG = np.random.default_rng(0)
SCORES = RNG.uniform(size=40)
LABELS = (RNG.random(40) < SCORES).astype(int)
POOL = ba.Pool(scores=SCORES)
F1 = ba.Metric("f1")
DESIGNS = {
    "adaptive": Adaptive(n_strata=4),
    "adaptive by block": Adaptive(n_strata=4, level="block"),
    "importance": Importance(n_strata=4),
    "poisson": Poisson(n_strata=4),
    "poisson by curves": Poisson(n_strata=4, labels="curve"),
    "variance_reduction": VarianceReduction(n_strata=4),
}


def session(name: str, question: ba.Metric = F1, **options):
    return ba.assess(POOL, question, design=DESIGNS[name], **options)


def rates(n_cells: int, seed: int = 0, n: int = 16) -> np.ndarray:
    return np.random.default_rng(seed).beta(1, 3, (n, n_cells))


def tell(a, queries) -> None:
    a.tell(queries.ids, LABELS[queries.ids])


def by_nuts(belief, counts):
    program = hierarchical_accuracy.program
    return ba.fit(program, **belief.program_arguments(counts), chains=4, warmup=200, draws=200)


def by_own_draws(belief, counts):
    theta = belief.update_counts(counts).sample(jax.random.key(0), 200)
    return to_arviz({"theta": np.asarray(theta)}, dims={"theta": ["group"]})


@pytest.mark.filterwarnings("ignore::bayes_assess.models.nuts.ConvergenceWarning")  # of few draws
@pytest.mark.parametrize("fit", [by_own_draws, pytest.param(by_nuts, marks=pytest.mark.slow)])
def test_draws_of_a_fit_choose_the_next_items(fit):
    a = session("adaptive", seed=0)
    tell(a, a.ask(12))
    fitted = fit(ba.HierarchicalAccuracy.from_prior(mean_score=a.cells.mean(SCORES)), a.counts)
    queries = a.ask(5, posterior=fitted)
    assert len(queries) == 5
    tell(a, queries)
    assert a.labels_used == 17


def test_parameters_of_a_tree_serve_as_they_are():
    a, b = (session("adaptive", seed=0) for _ in range(2))
    for one in (a, b):
        tell(one, one.ask(12))
    prior = ba.DirichletTree.from_prior(tree=Tree(a.cells.n_cells), mean_scores=np.asarray(a.prior.mean))
    with engine.eager():
        theta, psi = prior.update(a.counts).sample(engine.random.key(0), 50)
    joint = np.einsum("sy,syk->sky", theta, psi)
    by_hand = b.ask(8, posterior=joint / joint.sum(-1, keepdims=True))
    np.testing.assert_array_equal(a.ask(8, posterior={"theta": theta, "psi": psi}).ids, by_hand.ids)


def test_a_belief_serves_as_its_draws():
    a = session("poisson", seed=0)
    belief = ba.BetaBernoulli(np.full(a.cells.n_cells, 9.0), np.ones(a.cells.n_cells))
    assert len(a.ask(5, posterior=belief)) == 5


def test_recall_takes_no_posterior_that_says_nothing_of_the_share_of_positive_items():
    pool = ba.Pool(predictions=[1, 0, 1, 1, 0], groups={"site": ["a", "a", "a", "b", "b"]})
    a = ba.assess(pool, ba.GroupRecall(by="site"))
    a.tell([0, 1], [1, 1])
    for attempt in (a.ask, a.result):
        for rates_alone in (np.full((20, 2), 0.7), np.full((20, 2, 2), 0.5), ba.BetaBernoulli(np.ones(2), np.ones(2))):
            with pytest.raises(ba.InferenceError, match=r"share of positive items.* give a bayes_assess\.models\."):
                attempt(posterior=rates_alone)
    own = a.result()
    np.testing.assert_array_equal(a.result(posterior=own.posterior).estimate, own.estimate)


# -- the draws decide --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "oracle"), [("adaptive", "deterministic"), ("importance", "stochastic")])
def test_weights_are_of_the_proposal_of_these_draws(name, oracle):
    a = session(name)
    draws, design = rates(a.cells.n_cells), DESIGNS[name]
    queries = a.ask(1, posterior=draws)
    options = {"epsilon": design.epsilon, "floor": design.floor, "oracle": oracle}
    proposal = acquisition.importance_proposal(draws, None, a.cells, **options)
    np.testing.assert_allclose(1 / (40 * queries.weights), proposal[queries.cells], rtol=1e-4)
    own = 1 / (40 * session(name).ask(1).weights)
    assert abs(own / proposal[session(name).ask(1).cells] - 1).max() > 0.05


def test_inclusion_probabilities_are_those_of_these_draws():
    a = session("poisson")
    draws = rates(a.cells.n_cells)
    a.ask(10, posterior=draws)
    wanted = acquisition.inclusion_probabilities(draws, None, a.cells, 10, floor=DESIGNS["poisson"].floor)
    np.testing.assert_allclose(a._state.memory.inclusion, wanted, rtol=1e-4)


def test_labels_that_the_draws_know_are_not_asked_for():
    a = session("variance_reduction", seed=0)
    draws = np.full((50, a.cells.n_cells), 1e-9)
    draws[:, 3] = np.linspace(0.2, 0.8, 50)
    n = int(a.cells.sizes[3])
    queries = a.ask(n, posterior=draws)
    assert (queries.cells[queries.weights == 0] == 3).all()  # the others are random ones
    assert (queries.weights == 0).sum() > n / 2


def test_probabilities_of_all_labels_say_the_same_as_those_of_the_positive_class():
    for name in DESIGNS:
        a, b = session(name), session(name)
        draws = rates(a.cells.n_cells)
        both = np.stack([1 - draws, draws], axis=-1)
        np.testing.assert_array_equal(a.ask(6, posterior=draws).ids, b.ask(6, posterior=both).ids)


def test_rates_are_of_the_positive_class():
    for name in DESIGNS:
        question = ba.Metric("f1", positive=0)
        a, b = session(name, question), session(name, question)
        draws = rates(a.cells.n_cells)
        first = np.stack([draws, 1 - draws], axis=-1)
        np.testing.assert_array_equal(a.ask(6, posterior=draws).ids, b.ask(6, posterior=first).ids)


def test_several_classes_take_probabilities_of_all_of_them():
    scores = np.random.default_rng(0).dirichlet(np.ones(3), 60)
    for design in ("adaptive", "importance", "poisson", "variance_reduction"):
        a = ba.assess(ba.Pool(scores=scores), ba.Metric("f1_macro"), design=design)
        draws = np.random.default_rng(1).dirichlet(np.ones(3), (8, a.cells.n_cells))
        assert len(a.ask(4, posterior=draws)) == 4
        with pytest.raises(
            ba.InferenceError, match=rf"pass \(draws, {a.cells.n_cells}, 3\): the probabilities of 0, 1"
        ):
            a.ask(1, posterior=draws[..., 0])


def test_accuracies_of_several_classes_take_the_probability_of_being_right():
    scores = np.random.default_rng(0).dirichlet(np.ones(3), 60)
    a = ba.assess(ba.Pool(scores=scores), ba.Metric("accuracy"))
    assert len(a.ask(4, posterior=rates(a.cells.n_cells))) == 4
    with pytest.raises(ba.InferenceError, match="the probability that the prediction is right"):
        a.ask(1, posterior=np.full((4, a.cells.n_cells, 3), 1 / 3))


def test_both_engines_take_the_same_items_by_draws():
    found = []
    for name in ("eager", "compiled"):
        a = session("variance_reduction", seed=3, engine=name)
        found.append(a.ask(12, posterior=rates(a.cells.n_cells)).ids)
    np.testing.assert_array_equal(*found)


def test_the_reduction_of_a_label_is_that_of_all_labels_written_out():
    """Var(v) - E Var(v | y) of a linear measure, by enumeration of the labels of three items in two cells."""
    rng = np.random.default_rng(0)
    pi, weight = rng.dirichlet([1, 1], (4, 2)), rng.dirichlet(np.ones(4))
    left, d = np.array([1, 2]), rng.normal(size=(2, 2, 1))
    cells = np.array([0, 1, 1])
    labels = np.stack(np.meshgrid(*[[0, 1]] * 3, indexing="ij"), axis=-1).reshape(-1, 3)
    chance = weight @ pi[:, cells, labels].prod(-1)  # (8,)
    value = d[cells, labels, 0].sum(-1)

    def variance(p):
        return p @ value**2 / p.sum() - (p @ value / p.sum()) ** 2

    gains = []
    for item in (0, 1):
        after = sum(chance[at].sum() * variance(chance * at) for at in (labels[:, item] == 0, labels[:, item] == 1))
        gains.append(1 - after / variance(chance))
    with engine.eager():
        np.testing.assert_allclose(drawn_reduction(pi, np.log(weight), left, d), gains, rtol=1e-10)


# -- answers are as valid ----------------------------------------------------------------------------------------------


def wrong_posterior(a, seed: int) -> np.ndarray:
    """Draw rates that take every score, and every label told, for its opposite."""
    m, c = a.cells.mean(SCORES), a.counts
    return np.random.default_rng(seed).beta(1 + 9 * (1 - m) + 3 * c[:, 0], 1 + 9 * m + 3 * c[:, 1], (16, len(c)))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["adaptive", "importance"])
def test_weighted_sums_stay_unbiased_whatever_the_draws_say(name):
    """Sums of weights of items of a cell and label, less their shares of the draws, have mean 0 ([NH] eq. 1).

    Four in a million of such standardised means exceed 4.6; there are ten.
    """
    gaps = []
    for seed in range(36):
        a = session(name, ba.Metric("accuracy"), seed=seed)
        tell(a, a.ask(4))
        for _ in range(2):
            tell(a, a.ask(6, posterior=wrong_posterior(a, seed)))
        draws, share = a._state.draws, np.zeros(a.counts.shape)
        np.add.at(share, (a._items.cells_of(np.arange(40)), LABELS), 1 / 40)
        gaps.append(np.asarray(draws.weights - share * draws.n)[share > 0])
    error = np.std(gaps, axis=0) / np.sqrt(len(gaps))
    assert (abs(np.mean(gaps, axis=0)) < 4.6 * error).all()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["adaptive", "importance"])
def test_weights_are_the_reciprocals_of_how_often_cells_are_drawn(name):
    """A cell of a share s of the items, of which a draw counts w, is drawn with probability s / w ([NH] eq. 1)."""
    drawn = []
    for seed in range(150):
        a = session(name, ba.Metric("accuracy"), seed=seed)
        queries = a.ask(1, posterior=rates(a.cells.n_cells))
        drawn.append((int(a._items.cells_of(queries.ids)[0]), float(queries.weights[0])))
    weight = dict(drawn)
    assert len({round(w, 9) for _, w in drawn}) == len(weight) == a.cells.n_cells
    chance = a.cells.sizes / 40 / [weight[cell] for cell in range(len(weight))]
    counts = np.bincount([cell for cell, _ in drawn])
    assert stats.chisquare(counts, len(drawn) * chance / chance.sum()).pvalue > 1e-4
    assert chance.sum() == pytest.approx(1)
    assert np.ptp(list(weight.values())) > 0.3


@pytest.mark.slow
def test_items_of_a_batch_are_drawn_with_their_inclusion_probabilities():
    n, seen = 150, np.zeros(40)
    draws = None
    for seed in range(n):
        a = session("poisson", seed=seed)
        draws = rates(a.cells.n_cells) if draws is None else draws
        seen[a.ask(10, posterior=draws).ids] += 1
    b = np.asarray(a._state.memory.inclusion)[a._items.cells_of(np.arange(40))]
    alpha = 1e-3 / 40  # of each item, so that one such test in a thousand fails
    assert (stats.binom.sf(seen - 1, n, b) > alpha).all()
    assert (stats.binom.cdf(seen, n, b) > alpha).all()
    assert np.ptp(b) > 0.1


def test_random_items_stay_random():
    """Weighted labels of the items drawn at random have the pool's mean, whichever items the draws ask for."""
    found = []
    for seed in range(150):
        a = ba.assess(POOL, F1, design=VarianceReduction(n_strata=4, audit=0.5), seed=seed)
        queries = a.ask(1, posterior=np.tile([1e-3, 0.5, 1e-3, 0.5, 1e-3], (4, 1))[:, : a.cells.n_cells])
        found.append(float(queries.weights[0] * LABELS[queries.ids[0]]))
    share = 0.5
    assert abs(np.mean(found) / share - LABELS.mean()) < 4 * np.std(found) / share / np.sqrt(len(found))


def own_parts(state) -> list[np.ndarray]:
    """What a design believes, and proposes to draw next."""
    parts = [getattr(state, name, None) for name in ("draws", "belief", "errors", "other")]
    leaves = jax.tree.leaves([*parts, getattr(getattr(state, "memory", None), "model", None)])
    return [np.asarray(leaf) for leaf in leaves if not jax.dtypes.issubdtype(leaf.dtype, jax.dtypes.prng_key)]


@pytest.mark.parametrize("name", DESIGNS)
def test_the_sessions_own_belief_comes_back(name):
    a = session(name, seed=1)
    tell(a, a.ask(8))
    before = own_parts(a._state)
    a.ask(4, posterior=rates(a.cells.n_cells))
    after = own_parts(a._state)
    assert len(after) == len(before)
    for one, other in zip(after, before, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("name", DESIGNS)
def test_a_campaign_resumed_after_such_an_ask_gives_the_same_answers(name, tmp_path):
    a = session(name, seed=1, journal=tmp_path / "run.db")
    tell(a, a.ask(8))
    queries = a.ask(6, posterior=rates(a.cells.n_cells))
    a.journal.close()
    b = ba.resume(tmp_path / "run.db", POOL)
    np.testing.assert_array_equal(b.pending, np.sort(queries.ids))
    for one in (a, b):
        one.journal = None
        tell(one, queries)
    np.testing.assert_array_equal(a.result().estimate, b.result().estimate)
    np.testing.assert_array_equal(a.result().interval, b.result().interval)
    np.testing.assert_array_equal(a.ask(5).ids, b.ask(5).ids)
    assert a.result().summary() == b.result().summary()


def test_labels_that_are_draws_are_asked_for_by_another_posterior():
    a = ba.assess(POOL, F1, design=Adaptive(n_strata=4), oracle="stochastic")
    tell(a, a.ask(10))
    queries = a.ask(10, posterior=rates(a.cells.n_cells))
    tell(a, queries)
    assert a.labels_used == 20
    assert np.isfinite(a.result().interval).all()


@pytest.mark.parametrize("name", DESIGNS)
@pytest.mark.parametrize("value", [0.0, 0.5, 1.0])
def test_draws_that_are_sure_of_everything_leave_a_campaign_valid(name, value):
    a = session(name)
    for n in (3, 30, 7):
        tell(a, a.ask(n, posterior=np.full((1, a.cells.n_cells), value)))
    assert a.result().estimate == pytest.approx(F1.truth(POOL, LABELS))


# -- refusals ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", DESIGNS)
@pytest.mark.parametrize(
    ("draws", "message"),
    [
        (np.full((10, 99), 0.5), r"shape \(10, 99\).*K = \d+ cells.*a\.cells\.names: pass \(draws, \d+\): the probab"),
        (np.full((10, 3, 2), 0.5), r"shape \(10, 3, 2\).* or \(draws, \d+, 2\): the probabilities of 0, 1.*a\.counts"),
        (np.zeros((0, 4)), "found"),
        (np.full((10, 4), np.nan), "from 0 to 1"),
        ("theta", "ArviZ object with a posterior, .*; found str"),
        ({"theta": np.full((10, 2), 0.5), "psi": np.full((10, 2, 99), 1 / 99)}, r"shape \(10, 99, 2\)"),
    ],
)
def test_draws_that_do_not_fit_are_refused_and_nothing_is_asked(name, draws, message):
    a = session(name)
    with pytest.raises(ba.InferenceError, match=message):
        a.ask(2, posterior=draws)
    assert a.n_pending == 0
    assert not a.events


@pytest.mark.parametrize("draws", [["a"], [0.5, [0.5]]])
def test_answers_by_draws_that_are_no_numbers_are_refused(draws):
    a = session(next(iter(DESIGNS)))
    with pytest.raises(ba.InferenceError, match="Posterior draws are numbers"):
        a.result(posterior=draws)


@pytest.mark.parametrize("design", ["passive", "oasis", "stratified"])
def test_designs_without_a_belief_on_labels_are_refused(design):
    a = ba.assess(POOL, F1, design=design)
    with pytest.raises(ba.DesignError, match="these can choose by one: 'adaptive', 'importance', 'poisson', 'var"):
        a.ask(1, posterior=rates(a.cells.n_cells))


def test_a_round_is_not_added_to_by_its_own_labels():
    a = session("poisson")
    queries = a.ask(6)
    a.ask(2, posterior=rates(a.cells.n_cells))  # no label has come
    a.tell(queries.ids[:3], LABELS[queries.ids[:3]])
    with pytest.raises(ba.DesignError, match="Of a round of 8 items 5 are still out"):
        a.ask(2, posterior=rates(a.cells.n_cells))
    assert len(a.ask(2)) == 2
    tell(a, a.pending_queries)
    assert len(a.ask(2, posterior=rates(a.cells.n_cells))) == 2


def test_labels_that_are_no_classes_are_refused():
    numbers = ba.assess(ba.Pool(predictions=[1.0, 2.0], bounds=(0, 5)), ba.Metric("mae"), design="importance")
    sets = ba.assess(ba.Pool(predictions=["cat;dog", "-"], multilabel=True), ba.Metric("f1_samples"), design="poisson")
    for a, message in ((numbers, "Labels are numbers here"), (sets, "Labels are sets of labels here")):
        with pytest.raises(ba.DesignError, match=message):
            a.ask(1, posterior=np.full((4, a.cells.n_cells), 0.5))


# --- answers ----------------------------------------------------------------------------------------------------


ANSWERED = {
    "f1": ba.Metric("f1"),
    "several": ba.Metric(["recall", "matthews_corrcoef"]),
    "by group": ba.Metric("f1", by="site"),
    "rate": ba.Rate(),
    "rate by group": ba.Rate(by="site"),
    "mean": ba.Mean(),
    "curve": ba.PRCurve([0.3, 0.6]),
    "ranking": ba.Metric(["roc_auc", "average_precision"]),
    "best": ba.Best(["prediction", "b"], measure="f1"),
    "comparison": ba.Compare("prediction", "b", measure="f1"),
    "precision curve": ba.PrecisionCurve(),
}


@pytest.mark.parametrize("name", ANSWERED)
def test_measures_are_answered_by_another_posterior(name):
    """Rates of 1 and 0 that are the labels: then the answer is the truth, by every design."""
    sites, b = np.arange(40) % 2, (SCORES > 0.3).astype(int)
    pool = ba.Pool(scores=SCORES, groups={"site": sites}, systems={"b": b})
    question = ANSWERED[name]
    for design in ("variance_reduction",) if name == "precision curve" else ("variance_reduction", "importance"):
        made = {"variance_reduction": VarianceReduction(n_strata=40), "importance": Importance(n_strata=40)}[design]
        a = ba.assess(pool, question, design=made, seed=0)
        ids = a.ask(8).ids
        a.tell(ids, LABELS[ids])
        cells = a.cells.source.cells_of(np.arange(40))
        size = np.bincount(cells, minlength=a.cells.n_cells)
        known = np.isin(np.arange(40), ids)
        left = np.bincount(cells[~known], minlength=len(size))
        rate = np.bincount(cells[~known], LABELS[~known], len(size)) / np.maximum(left, 1)
        result = a.result(posterior=np.tile(rate, (30, 1)))
        assert result.guarantee == "credible"
        assert "posterior that was given" in result.assumption
        if np.isin(rate, (0, 1)).all():  # items of a cell are alike
            truth = question.for_pool(pool).truth(pool, LABELS)
            low, high = np.moveaxis(np.asarray(result.interval), -1, 0)
            np.testing.assert_allclose(np.ravel(low), np.ravel(truth), atol=1e-9)
            np.testing.assert_allclose(np.ravel(high), np.ravel(truth), atol=1e-9)
        for looked in (result.summary, result.table, result.to_dict, result.to_arviz):
            assert looked()


def test_answers_on_groups_say_that_a_posterior_was_given_once(tmp_path):
    a = ba.assess(POOL, ba.GroupAccuracy(), design="random", seed=0)
    ids = a.ask(8).ids
    a.tell(ids, LABELS[ids])
    result = a.result(posterior=np.random.default_rng(0).beta(8, 2, (500, a.cells.n_cells)))
    said = "The posterior that was given is taken to be right."
    assert result.summary().splitlines().count(said) == 1
    assert result.report(tmp_path / "report.md").read_text().count(said) == 1
    assert "posterior" not in a.result().summary()


def test_labels_that_are_missing_are_drawn_from_the_posterior():
    """The accuracy of one cell: labelled items as they are, and a beta-binomial number of the others."""
    pool, labels = ba.Pool(predictions=np.zeros(30, int), classes=[0, 1]), np.arange(30) % 3 == 0
    a = ba.assess(pool, ba.Metric("accuracy"), design="passive", seed=0)
    ids = a.ask(12).ids
    a.tell(ids, labels[ids].astype(int))
    right = int((~labels[ids]).sum())
    wrong = np.random.default_rng(0).beta(2.0, 5.0, 50_000)  # rates of class 1, of which none is right
    result = a.result(posterior=np.stack([1 - wrong, wrong], -1)[:, None])
    found = np.rint(result.draws[:, 0] * 30 - right).astype(int)
    expected = stats.betabinom(18, 5.0, 2.0).pmf(np.arange(19)) * len(found)
    seen = np.bincount(found, minlength=19)
    several = expected > 5
    counts, means = (np.append(x[several], x[~several].sum()) for x in (seen, expected))
    assert stats.chisquare(counts, means * counts.sum() / means.sum()).pvalue > 1e-4
    assert result.interval[0] <= result.estimate <= result.interval[1]


def test_answers_by_another_posterior_are_exact_once_all_is_labelled():
    a = session("importance", seed=0)
    a.tell(np.arange(40), LABELS)
    result = a.result(posterior=rates(a.cells.n_cells))
    assert result.guarantee == "exact"
    assert result.estimate == pytest.approx(F1.truth(POOL, LABELS), abs=1e-12)
    np.testing.assert_array_equal(result.interval, [result.estimate] * 2)


def test_answers_by_another_posterior_leave_the_session_as_it_was():
    a, b = (session("variance_reduction", seed=0) for _ in range(2))
    for one in (a, b):
        tell(one, one.ask(8))
    a.result(posterior=rates(a.cells.n_cells))
    np.testing.assert_array_equal(a.result().interval, b.result().interval)
    np.testing.assert_array_equal(a.ask(5).ids, b.ask(5).ids)


def test_posteriors_are_refused_for_answers_where_items_have_no_one_class():
    numbers = ba.assess(ba.Pool(predictions=[1.0, 2.0], bounds=(0, 5)), ba.Metric("mae"))
    with pytest.raises(ba.DesignError, match="Labels are numbers here"):
        numbers.result(posterior=np.full((10, 1), 0.5))
    with pytest.raises(ba.InferenceError, match=r"shape \(10, 3\)"):
        session("importance").result(posterior=np.full((10, 3), 0.5))


def test_a_site_of_another_name_is_asked_for():
    a = session(next(iter(DESIGNS)))
    n_cells = len(a.cells.sizes)
    data = {"p": np.full((200, n_cells), 0.5)}
    with pytest.raises(
        ba.InferenceError, match=r"has no 'theta'; it has 'p'\. .*, such as ba\.posterior_draws\(data, 'p'\)"
    ):
        a.result(posterior=data)
    assert a.result(posterior=ba.posterior_draws(data, "p")).summary()  # as it says
