"""What results say of their priors: what was learned, and when labels contradict a fixed one."""

from __future__ import annotations

import re

import numpy as np
import pytest
from scipy import stats

import bayes_assess as ba
from bayes_assess.cli.tables import narrow
from bayes_assess.models import HierarchicalAccuracy
from bayes_assess.models.belief import FixedBelief
from bayes_assess.models.sampled_belief import SampledBelief
from bayes_assess.results._learned import contradiction, what_was_learned
from made import labelled_sessions

N_GROUPS = 25


def boasting_pool(seed: int = 0, n: int = 2500) -> tuple[ba.Pool, np.ndarray]:
    """Twenty-five groups of accuracies around 0.8, of which the scores say 0.95."""
    rng = np.random.default_rng(seed)
    group = rng.integers(0, N_GROUPS, n)
    right = rng.random(n) < np.clip(rng.normal(0.8, 0.05, N_GROUPS), 0, 1)[group]
    pool = ba.Pool(predictions=np.zeros(n, int), confidence=np.full(n, 0.95), classes=[0, 1], groups={"site": group})
    return pool, np.where(right, 0, 1)


told = labelled_sessions(*boasting_pool(), ba.GroupAccuracy(by="site"), design="random")


def test_the_summary_says_how_far_scores_and_groups_are_apart():
    result = told(400, prior="learned").result()
    sentence = result.summary().splitlines()[-1]
    found = re.fullmatch(
        r"Learned from all labels: groups differ by about (\d+) points?; the scores are over-confident by about (\d+) "
        r"\((\d+) to (\d+)\)\.",
        sentence,
    )
    assert found is not None, sentence
    differ, over, low, high = map(int, found.groups())
    assert low <= over <= high
    pool, labels = boasting_pool()
    assert low - 1 <= 100 * (0.95 - (labels == pool.predictions).mean()) <= high + 1  # rounded to points
    assert over == round(100 * (0.95 - result.overall[0]))
    assert 1 <= differ <= 12


@pytest.mark.parametrize("question", [ba.Calibration(bins=3, by="half"), ba.LeastCalibrated(bins=3, by="half")])
def test_calibration_of_groups_that_may_be_apart_says_it_too(question):
    rng = np.random.default_rng(0)
    pool = ba.Pool(predictions=np.zeros(400, int), classes=[0, 1], confidence=np.full(400, 0.95),
                   groups={"half": np.arange(400) % 2})  # fmt: skip
    labels = (rng.random(400) > 0.7).astype(int)
    a = ba.assess(pool, question, design="random", seed=0)
    asked = a.ask(120).ids
    a.tell(asked, labels[asked])
    said = r"Learned from all labels: groups differ by .*; the scores are over-confident"
    assert re.search(said, a.result().summary())


def test_a_fixed_prior_that_labels_contradict_is_named_and_the_way_out_too():
    summary = told(150, prior="informative").result().summary()
    assert "times as probable where groups learn from each other" in summary
    assert "the prior 'learned'" in summary
    assert "contradict" not in told(150, prior="learned").result().summary()


def test_few_labels_contradict_a_prior_by_the_number_that_is_right():
    boasting, one_each = ba.BetaBernoulli(np.full(25, 1.9), np.full(25, 0.1)), np.ones(25, int)
    distribution = stats.binom(25, 0.95)  # one label per group
    for right in (19, 24):
        said = contradiction(boasting, (np.arange(25) < right).astype(int), one_each, np.full(25, 0.95))
        assert (said is None) == (right == 24)
        if said is not None:
            low, high = map(int, distribution.ppf([0.025, 0.975]))
            assert f"it expected {low} to {high} of the 25 to be right, and 19 are" in said


def test_how_far_scores_are_off_is_said_in_points_where_no_group_has_said_the_unit():
    apart = np.linspace(-0.1, 0.1, 101)
    belief = ba.HierarchicalAccuracy.from_prior(mean_score=[0.9])
    over, open_ = (
        what_was_learned(belief, middle + apart[:, None], np.array([9]), np.array([0.9]), [0.0, 1.0])
        for middle in (0.6, 0.9)
    )
    assert over == "Learned from all labels: the scores are over-confident by about 30 points (20 to 40)."
    assert open_ == (
        "Learned from all labels: whether the scores are over- or under-confident is open (-10 to +10 points)."
    )


@pytest.mark.parametrize("prior", ["learned", "informative"])
def test_nothing_is_said_before_the_first_label_or_when_all_are_known(prior):
    pool, labels = boasting_pool(n=200)
    a = ba.assess(pool, ba.GroupAccuracy(by="site"), prior=prior)
    assert not re.search("Learned|contradict", a.result().summary())
    a.tell(pool.ids, labels)
    assert not re.search("Learned|contradict", a.result().summary())


def test_of_recall_nothing_is_learned_before_a_positive_item_is_known():
    pool = ba.Pool(predictions=np.arange(60) % 2, groups={"site": np.repeat([*"abc"], 20)})
    a = ba.assess(pool, ba.GroupRecall("site"))
    a.tell(range(20, 39), np.zeros(19, int))
    summary = a.result().summary()
    assert "No positive item is known in 3 of 3 groups: recall there is what the prior makes of it." in summary
    assert "Learned from all labels" not in summary
    a.tell([0], [1])
    assert "Learned from all labels: groups differ by about" in a.result().summary()


def test_overall_recall_is_exact_once_all_is_labelled_though_a_group_has_no_positive_item():
    pool = ba.Pool(predictions=np.arange(60) % 2, groups={"site": np.repeat([*"abc"], 20)})
    labels = np.repeat([1, 0], [40, 20])
    a = ba.assess(pool, ba.GroupRecall("site"))
    a.tell(range(59), labels[:59])
    summary = a.result().summary()
    assert "Overall recall 0.500, 95% credible interval [0." in summary  # the last item may be positive
    assert "No positive item is known in 1 of 3 groups: recall there is what the prior makes of it." in summary
    a.tell([59], [0])
    result = a.result()
    assert result.guarantee == "credible"  # of the third group there is none
    assert "Overall recall 0.500 (exact)." in result.summary()
    assert "No item is positive in 1 of 3 groups: recall there is not defined; shown is what the" in result.summary()
    assert "No positive item is known" not in result.summary()


@pytest.mark.parametrize("m", [1, 3])
def test_a_group_that_is_known_to_have_no_positive_item_is_not_among_the_lowest_in_recall(m):
    sites = np.repeat([*"abc"], [30, 30, 6])
    pool = ba.Pool(predictions=np.arange(66) % 2, groups={"site": sites})
    labels = np.repeat([1, 0], [60, 6])
    labels[:4] = [0, 1, 0, 1]
    a = ba.assess(pool, ba.LowestRecall("site", m=m))
    a.tell(range(66), labels)
    result = a.result()
    assert "c" not in result.identified
    assert result.headline.startswith("The 2 lowest" if m == 3 else "The lowest")
    assert "c (" not in result.headline
    assert result.rank[2] == result.probability_among_worst(m)[2] == 0
    assert result.rank.max() <= 2
    assert result.table()["group"][-1] == "c"
    assert next(row for row in str(narrow(result)[0]).splitlines() if row.startswith("c ")).split()[-2] == "-"
    assert "c" not in [text.get_text() for text in result.plot().get_yticklabels()]
    assert "shown is what the prior makes of it, without a rank." in result.summary()
    of_population = a.result(question=ba.LowestRecall("site", m=m, target="population"))
    assert of_population.rank[2] > 0  # where it has one, too


def test_where_no_item_of_any_group_is_positive_groups_are_shown_as_the_prior_has_them():
    pool = ba.Pool(predictions=np.arange(6) % 2, groups={"site": [*"aaabbb"]})
    a = ba.assess(pool, ba.LowestRecall("site"))
    a.tell(range(6), np.zeros(6, int))
    assert len(a.result().identified) == 1
    assert "No item is positive in 2 of 2 groups" in a.result().summary()


def test_a_right_prior_is_hardly_ever_contradicted():
    """The odds, a likelihood ratio, exceed 100 with probability 1/100 at most; the number adds half of that."""
    rng, n_campaigns = np.random.default_rng(1), 80
    prior, labels = ba.BetaBernoulli(np.full(8, 1.4), np.full(8, 0.6)), np.array([0, 1, 2, 4, 8, 8, 16, 16])
    alarms = sum(
        contradiction(prior, rng.binomial(labels, rng.beta(1.4, 0.6, 8)), labels, np.full(8, 0.7)) is not None
        for _ in range(n_campaigns)
    )
    assert stats.binom.sf(alarms - 1, n_campaigns, 0.015) > 1e-4
    wrong = rng.binomial(labels, 0.05)
    assert contradiction(prior, wrong, labels, np.full(8, 0.7)) is not None  # the alarm can be heard


def test_one_group_without_scores_has_nothing_to_say():
    posterior = ba.HierarchicalAccuracy.from_prior(n_groups=1).update([3], [4])
    assert what_was_learned(posterior, np.full((9, 1), 0.7), np.array([8]), None, [0.025, 0.975]) is None


def test_raw_counts_stand_beside_the_estimates():
    result = told(100, prior="learned").result()
    table = result.table()
    order = np.argsort(result.estimate, kind="stable")
    np.testing.assert_array_equal(table["right"], result.successes[order])
    np.testing.assert_array_equal(table["labelled"], result.labelled[order])


def of_last_month():
    """Return priors of four groups of which 136 labels of 152 were right before, and one that knows nothing."""
    before = np.tile([4, 34], (4, 1))
    learned = HierarchicalAccuracy.from_prior(n_groups=4).update_counts(before)
    drawn = SampledBelief(np.random.default_rng(0).beta(35, 5, (2_000, 4)))
    return {"learned": learned, "drawn": drawn, "fresh": HierarchicalAccuracy.from_prior(n_groups=4)}


@pytest.mark.parametrize("name", ["learned", "drawn"])
def test_labels_contradict_what_a_prior_that_is_no_closed_form_has_learned_before(name):
    prior, labels = of_last_month()[name], np.full(4, 13)
    said = contradiction(prior, np.array([8, 9, 7, 8]), labels, None)
    assert said is not None
    assert "of the 52 to be right, and 32 are" in said
    assert contradiction(prior, np.array([11, 12, 11, 12]), labels, None) is None


def test_nothing_contradicts_a_prior_that_has_learned_nothing_or_a_posterior_that_knows_the_labels():
    none_right, labels = np.zeros(4, int), np.full(4, 13)
    priors = of_last_month()
    assert contradiction(priors["learned"], none_right, labels, None) is not None
    for prior in (priors["fresh"], FixedBelief(priors["learned"]), FixedBelief(priors["drawn"])):
        assert contradiction(prior, none_right, labels, None) is None
