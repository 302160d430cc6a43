from __future__ import annotations

import copy

import numpy as np
import pytest
from scipy import stats

import bayes_assess as ba
from bayes_assess._tools.to_arviz import import_arviz
from made import like_20news, made_pool
from questions.asked import LABELS as ASKED_LABELS
from questions.asked import POOL as ASKED_POOL

POOL, LABELS = made_pool([0.9, 0.5, 0.7, 0.8], [300, 200, 150, 250])


@pytest.fixture(scope="module")
def result():
    assessment = ba.assess(POOL, ba.LeastAccurate(m=2), prior="informative", seed=0)
    queries = assessment.ask(120)
    assessment.tell(queries.ids, LABELS[queries.ids])
    return assessment.result(level=0.9)


def test_estimates_and_intervals_are_those_of_the_finite_pool(result):
    r, n, size = result.successes, result.labelled, result.size
    a, b = np.asarray(result.posterior.a), np.asarray(result.posterior.b)
    np.testing.assert_allclose(result.estimate, (r + (size - n) * a / (a + b)) / size)
    distribution = stats.betabinom(size - n, a, b)
    inside = distribution.cdf(np.round(result.interval[:, 1] * size - r)) - distribution.cdf(
        np.round(result.interval[:, 0] * size - r) - 1
    )
    assert (inside >= 0.9).all()
    assert (
        inside < 0.9 + 2 * distribution.pmf(distribution.median())
    ).all()  # one count fewer on either side would not do


def test_probabilities_of_being_worst_follow_from_the_posterior(result):
    a, b = np.asarray(result.posterior.a), np.asarray(result.posterior.b)
    rng = np.random.default_rng(5)
    theta = rng.beta(a, b, (40_000, 4))
    share = (result.successes + rng.binomial(result.size - result.labelled, theta)) / result.size
    worst = np.bincount(share.argmin(1), minlength=4) / 40_000
    # Two Monte-Carlo estimates, of 10,000 and 40,000 draws, agree within five standard errors.
    error = np.sqrt(worst * (1 - worst) * (1 / 10_000 + 1 / 40_000))
    assert (np.abs(result.probability_worst - worst) <= 5 * error + 2e-3).all()
    assert result.probability_worst.sum() == pytest.approx(1)
    assert result.probability_best.sum() == pytest.approx(1)
    assert result.probability_among_worst(2).sum() == pytest.approx(2)
    assert result.probability_among_worst(4).tolist() == [1, 1, 1, 1]
    for probability in (result.probability_among_worst, result.probability_among_best):
        for wrong in (0, -1, 0.5, "2", None, [1, 2]):
            with pytest.raises(ba.QuestionError, match="a whole number, 1 or more; found"):
                probability(wrong)


def test_mean_ranks_add_up_and_intervals_hold_the_median(result):
    assert result.rank.sum() == pytest.approx(1 + 2 + 3 + 4)
    order = np.argsort(result.draws, axis=1)
    median = np.median(np.argsort(order, axis=1) + 1, axis=0)
    assert (result.rank_interval[:, 0] <= median).all()
    assert (median <= result.rank_interval[:, 1]).all()


def test_groups_that_tie_share_the_ranks():
    pool, labels = made_pool([0.5, 0.5, 0.5], [4, 4, 4])
    a = ba.assess(pool, ba.GroupAccuracy())
    a.tell(pool.ids, labels)
    # 10,000 draws of three equal accuracies: every group is worst in a third, within five standard errors.
    np.testing.assert_allclose(a.result().probability_worst, 1 / 3, atol=5 * np.sqrt(2 / 9 / 10_000))


def test_the_worst_groups_are_identified_and_named(result):
    assert set(result.identified.tolist()) == {1, 2}
    assert "The 2 least accurate of 4 groups: 1 (" in result.summary()
    assert result.table().columns[-1] == "p_among_2_worst"


def test_the_most_accurate_group_is_identified():
    a = ba.assess(POOL, ba.MostAccurate(), seed=0)
    a.tell(POOL.ids[::2], LABELS[::2])
    assert a.result().identified.tolist() == [0]
    assert "The most accurate of 4 groups: 0 (" in a.result().summary()


def test_the_overall_accuracy_has_the_pools_weights(result):
    mean, (low, high) = result.overall
    assert mean == pytest.approx(result.estimate @ result.size / 900)
    assert low < mean < high


def test_the_table_lists_the_least_accurate_group_first(result):
    table = result.table()
    assert table["group"][0] == 1
    assert (np.diff(table["estimate"]) >= 0).all()


@pytest.mark.parametrize("question", [ba.GroupAccuracy(), ba.ConfusionMatrix()])
def test_groups_without_items_are_not_said_to_be_exact(question):
    for classes in (["cat", "dog"], ["cat", "dog", "owl"]):
        a = ba.assess(ba.Pool(predictions=["cat", "dog"], classes=classes), question)
        a.tell([0, 1], ["cat", "cat"])
        title = a.result().table().title
        assert "95% exact intervals" in title
        assert ("groups without items as they are believed to be" in title) == ("owl" in classes)


def test_the_plot_shows_every_group_with_items(result):
    axes = result.plot(truth=[0.9, 0.5, 0.7, 0.8])
    assert len(axes.get_yticks()) == 4
    for wrong in (0.9, [0.9, 0.5], [0.9] * 5):
        with pytest.raises(ba.OutputError, match=r"needs truth of shape \(4\); found"):
            result.plot(truth=wrong)
    with pytest.raises(ba.OutputError, match="needs numbers for truth; found 'high'"):
        result.plot(truth="high")


@pytest.mark.parametrize("question", [ba.GroupAccuracy(), ba.Metric("accuracy"), ba.Compare(by="prediction")])
@pytest.mark.parametrize("level", [0, 1, 95, -0.1, None, "f1"])
def test_a_level_outside_0_and_1_is_refused(question, level):
    with pytest.raises(ba.QuestionError, match=rf"between 0 and 1, such as 0\.95; found {level!r}"):
        ba.assess(POOL, question).result(level)


@pytest.mark.parametrize(
    "asked",
    [
        lambda name: ba.assess(POOL, name),
        lambda name: ba.plan(POOL, name),
        lambda name: ba.simulate(POOL, np.zeros(len(POOL.ids), int), name),
        lambda name: ba.assess(POOL, ba.Metric("accuracy")).result(question=name),
        lambda name: ba.assess(POOL, ba.GroupAccuracy()).result(question=name),
    ],
    ids=["assess", "plan", "simulate", "measure's result", "groups' result"],
)
def test_a_name_in_the_place_of_a_question_is_answered_with_what_was_meant(asked):
    with pytest.raises(ba.QuestionError, match=r"found 'accuracy'. Did you mean ba.Metric\('accuracy'\)?"):
        asked("accuracy")


def test_draws_of_arviz_are_joint_ones_of_the_population_and_the_pool(result):
    posterior = result.to_arviz()["posterior"]
    theta, accuracy = (np.asarray(posterior[name]).reshape(-1, 4) for name in ("theta", "accuracy"))
    rest = result.size - result.labelled
    right = accuracy * result.size - result.successes  # among items without a label: binomial, given theta
    z = (right - rest * theta) / np.sqrt(rest * theta * (1 - theta))
    np.testing.assert_allclose(np.mean(z**2, axis=0), 1, atol=5 * np.sqrt(2 / len(z)))


@pytest.mark.parametrize(
    "question",
    [
        ba.GroupAccuracy("site", target="population"),
        ba.GroupRecall("site", positive=1, target="population"),
        ba.Calibration(3, by="site", target="population"),
    ],
)
def test_draws_of_the_population_are_what_arviz_has_of_its_cells(question):
    a = ba.assess(ASKED_POOL, question, design="random")
    queries = a.ask(40)
    a.tell(queries.ids, ASKED_LABELS[queries.ids])
    posterior = a.result().to_arviz()["posterior"]
    name = {"accuracy": "accuracy", "recall": "recall"}.get(question.quantity, "calibration_error")
    theta, found = (np.asarray(posterior[one]).reshape(10_000, -1) for one in ("theta", name))
    if name == "calibration_error":
        theta = question.error_of(a.cells, theta)
    np.testing.assert_array_equal(found, theta)


def test_arviz_gets_named_groups_posterior_and_prior(result):
    data = result.to_arviz()
    posterior = data["posterior"]
    assert posterior["theta"].dims == ("chain", "draw", "group")
    assert posterior["accuracy"].shape == (4, 2_500, 4)
    assert posterior["group"].values.tolist() == [0, 1, 2, 3]
    assert data["prior"]["theta"].shape == (4, 2_500, 4)
    assert data["observed_data"]["agreements"].values.tolist() == result.successes.tolist()
    assert data["constant_data"]["items"].values.tolist() == [300, 200, 150, 250]
    summary = import_arviz().summary(data, var_names=["theta"], round_to="none")
    # The mean of 10,000 draws lies within five standard errors of the posterior mean.
    error = np.sqrt(np.asarray(result.posterior.variance) / 10_000)
    assert (np.abs(summary["mean"].to_numpy() - np.asarray(result.posterior.mean)) < 5 * error).all()


@pytest.mark.slow
def test_intervals_cover_as_often_as_they_say_under_thompson_sampling():
    """Over pools drawn from the prior, credible intervals hold the truth with their level's probability."""
    rng, covered, n_groups = np.random.default_rng(0), 0, 5
    for repeat in range(150):
        accuracies = rng.beta(2, 1, n_groups)
        pool = ba.Pool(predictions=np.repeat(np.arange(n_groups), 80))
        labels = np.where(rng.random(400) < accuracies[pool.predictions], pool.predictions, (pool.predictions + 1) % 5)
        prior = ba.BetaBernoulli(np.full(n_groups, 2.0), np.ones(n_groups))
        assessment = ba.assess(pool, ba.LeastAccurate(), prior=prior, seed=repeat)
        for _ in range(4):
            ids = assessment.ask(16).ids
            assessment.tell(ids, labels[ids])
        truth = np.bincount(pool.predictions, labels == pool.predictions) / 80
        low, high = assessment.result(level=0.9).interval.T
        covered += ((low <= truth + 1e-12) & (truth <= high + 1e-12)).sum()
    # Equal tails of counts cover at least 0.9, and about one count's probability more on average.
    n = 150 * n_groups
    assert stats.binom.sf(covered - 1, n, 0.96) > 1e-4
    assert stats.binom.cdf(covered, n, 0.9) > 1e-4


def test_a_thousand_groups_are_answered_with_fewer_draws():
    pool = ba.Pool(predictions=np.arange(20_000) % 4000)
    result = ba.assess(pool, ba.GroupAccuracy()).result()
    assert result.draws.shape == (500, 4000)


def test_a_result_prints_its_summary_and_table():
    pool, labels = like_20news()
    a = ba.assess(pool, ba.GroupAccuracy())
    queries = a.ask(50)
    a.tell(queries.ids, labels[queries.ids])
    assert "50 of" in repr(a.result())
    assert "p_worst" in repr(a.result())


def test_a_result_of_measures_has_what_its_evidence_has_and_no_more():
    pool = ba.Pool(scores=[0.1, 0.4, 0.6, 0.8], groups={"site": list("abab")})
    of_belief, of_weights = {"found", "credible_interval", "band", "sensitivity"}, {"covariance", "in_ellipsoid"}
    both = of_belief | of_weights
    for question in (ba.Metric("f1"), ba.Rate(), ba.Compare(by="site", measure="rate")):
        results = []
        for design, own in (("variance_reduction", of_belief), ("passive", of_weights)):
            a = ba.assess(pool, question, design=design)
            a.tell(a.ask(3).ids, [0, 1, 1])
            results.append(a.result())
            assert both & {*dir(results[-1])} == own
            assert {name for name in both if hasattr(results[-1], name)} == own
            assert ("difference" in dir(results[-1])) is hasattr(results[-1], "difference")
        assert type(results[0]) is type(results[1])


def test_a_result_has_what_the_section_of_its_question_has_and_no_more():
    pool = ba.Pool(
        predictions=[0, 1, 1, 0],
        confidence=[0.6, 0.7, 0.8, 0.9],
        classes=[0, 1],
        groups={"site": list("abab")},
        systems={"b": [0, 1, 0, 0]},
    )
    some = {
        "successes",
        "positives",
        "gap",
        "bins_table",
        "share_differing",
        "bias",
        "random_labels",
        "judge_rate",
        "judge_mean",
        "judge_table",
    }
    judged = {"bias", "random_labels", "judge_table"}
    for question, own in {
        ba.GroupAccuracy("site"): {"successes"},
        ba.LowestRecall("site"): {"successes", "positives"},
        ba.MostCostly([[0, 1], [1, 0]]): set(),
        ba.LeastCalibrated(bins=2, by="site"): {"gap", "bins_table"},
        ba.Compare("a", "b", by="site"): set(),
        ba.Compare(second="b"): {"share_differing"},
        ba.Metric("accuracy"): set(),
        ba.Rate(): judged | {"judge_rate"},
        ba.Mean([0, 1]): judged | {"judge_mean"},
    }.items():
        result = ba.assess(pool, question).result()
        assert some & {*dir(result)} == own
        assert {name for name in some if hasattr(result, name)} == own


def test_names_of_classes_by_the_question_are_classes():
    pool = ba.Pool(predictions=[0, 1, 1, 0], classes=[0, 1], groups={"site": list("abab")})
    assert isinstance(ba.assess(pool, ba.GroupRecall("site")).result(), ba.RecallResult)
    assert isinstance(ba.assess(pool, ba.Rate()).result(), ba.RateResult)
    assert ba.CalibrationResult is ba.GroupResult
    assert not isinstance(ba.assess(pool, ba.Rate()).result(), ba.CompareResult)


def test_verdicts_on_accuracies_and_on_measures_are_of_one_class():
    pool = ba.Pool(predictions=[0, 1, 1, 0], classes=[0, 1], groups={"site": list("abab")}, systems={"b": [0, 1, 0, 0]})
    of_measures, of_groups = {"standard_error"}, {"belief"}
    for question, design, own in (
        (ba.Compare("a", "b", by="site"), None, of_groups),
        (ba.Compare(second="b"), None, of_groups),
        (ba.Compare("a", "b", by="site", measure="rate"), "variance_reduction", of_measures),
        (ba.Compare("a", "b", by="site", measure="rate"), "passive", of_measures),
    ):
        a = ba.assess(pool, question, design=design)
        a.tell(pool.ids, [0, 1, 0, 0])
        result = a.result()
        assert type(result) is ba.CompareResult
        assert {name for name in of_measures | of_groups if hasattr(result, name)} == own
        assert own == (of_measures | of_groups) & {*dir(result)}
        assert result.assumption.startswith("Nothing is assumed")  # all is labelled
        assert result.headline == result.verdict
        assert result.verdict_table()["probability"].tolist() == result.masses.tolist()
        assert result.masses[result.eta] == result.probability == 1


def test_a_figure_of_one_group_is_of_calibration_alone():
    result = ba.assess(POOL, ba.GroupAccuracy()).result()
    for asked in ({"kind": "reliability"}, {"group": 0}):
        with pytest.raises(ba.QuestionError, match=r"A result plots|of calibration alone"):
            result.plot(**asked)


def test_what_only_other_answers_have_is_said_to_be_theirs():
    result = ba.assess(ba.Pool(predictions=[0, 1, 1, 0]), ba.GroupAccuracy()).result()
    with pytest.raises(AttributeError, match="answer to GroupAccuracy by 'thompson' has no 'standard_error': it is of"):
        result.standard_error  # noqa: B018
    with pytest.raises(AttributeError, match="'GroupResult' object has no attribute 'nonsense'"):
        result.nonsense  # noqa: B018
    assert not hasattr(result, "sensitivity")
    with pytest.raises(AttributeError, match=r"other designs\. What leans on no belief here is \.design_interval\."):
        result.sensitivity  # noqa: B018
    numbers = ba.assess(ba.Pool(predictions=[0.5, 1.5], bounds=(-np.inf, np.inf)), ba.Metric("mae")).result()
    with pytest.raises(AttributeError, match=r"has no 'sensitivity': .* other designs\.$"):
        numbers.sensitivity  # noqa: B018
    assert copy.deepcopy(result).estimate.tolist() == result.estimate.tolist()


def test_a_fault_inside_an_attribute_is_not_called_its_absence(monkeypatch):
    result = ba.assess(ba.Pool(predictions=[0, 1, 1, 0]), ba.Metric("f1")).result()
    monkeypatch.setattr(type(result.evidence), "sensitivity", property(lambda self: self.nothing))
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        result.sensitivity()


def test_a_standard_error_that_no_draw_defines_is_a_gap_in_tables_and_not_infinite(tmp_path):
    a = ba.assess(ba.Pool(predictions=[0, 1, 1, 0]), ba.Metric(["recall", "accuracy"]), design="passive")
    table = a.result().table()
    assert "inf" not in repr(table)
    assert table.to_csv(tmp_path / "table.csv").read_text().splitlines()[1].endswith(",")
    assert np.isinf(a.result().standard_error).all()
