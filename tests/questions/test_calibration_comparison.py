"""Calibration errors of two groups: masses, intervals, and which items are asked for."""

from __future__ import annotations

import numpy as np
import pytest

import bayes_assess as ba
from bayes_assess.models import BetaBernoulli
from questions.asked import LABELS, POOL

SITE = POOL.groups["site"]


def compared(first="west", second="east", **options):
    return ba.Compare(first, second, by="site", measure="ece", **{"bins": 4} | options)


def test_masses_are_those_of_draws_of_the_bins():
    """[ABA] "Comparison", with the calibration error for theta: bins drawn apart, in NumPy."""
    question = compared(target="population", rope=0.04)
    setting = question.setting(POOL, prior="informative")
    rng = np.random.default_rng(0)
    counts = rng.integers(0, 9, (setting.cells.n_cells, 2))
    a, b = setting.prior.a + counts[:, 1], setting.prior.b + counts[:, 0]
    theta = rng.beta(a, b, (40_000, len(a)))
    gap = (setting.cells.sizes * np.abs(theta - setting.cells.mean_score)).reshape(len(theta), 3, 4).sum(-1)
    error = gap / setting.cells.sizes.reshape(3, 4).sum(-1)
    difference = error[:, 2] - error[:, 0]  # west less east
    expected = np.array([(difference < -0.04).mean(), 0, (difference > 0.04).mean()])
    expected[1] = 1 - expected.sum()
    found = question.masses(setting.cells, setting.prior, counts)
    deviation = np.sqrt(expected * (1 - expected) * (1 / 40_000 + 1 / 4_000))
    assert (np.abs(found - expected) < 4 * deviation + 1e-9).all()
    assert expected.min() > 0.01  # so that a wrong side would show
    assert question.estimate(setting.cells, setting.prior, counts) == pytest.approx(difference.mean(), abs=2e-3)


def test_swapping_the_groups_swaps_the_verdict():
    one, other = (ba.assess(POOL, question, prior="informative") for question in (compared(), compared("east", "west")))
    for a in (one, other):
        a.tell(POOL.ids[:90], LABELS[:90])
    np.testing.assert_allclose(one.result().masses, other.result().masses[::-1], atol=1e-12)
    np.testing.assert_allclose(one.result().interval, -other.result().interval[::-1], atol=1e-12)


def test_a_label_is_worth_what_it_takes_from_a_bound_of_the_variance():
    setting = compared().setting(POOL, prior="uninformative")
    scale = np.asarray(setting.reward.scale)
    n = setting.cells.sizes.reshape(3, 4)
    expected = n / n.sum(-1, keepdims=True)
    expected[1] = 0  # north is not compared
    np.testing.assert_allclose(scale, expected.ravel())
    rng = np.random.default_rng(1)
    for _ in range(20):
        belief = BetaBernoulli(*rng.gamma(2.0, 2.0, (2, len(scale))))
        theta = rng.beta(np.asarray(belief.a), np.asarray(belief.b), (4_000, len(scale)))
        difference = (scale * np.repeat([1, 0, -1], 4) * np.abs(theta - setting.cells.mean_score)).sum(-1)
        bound = (scale**2 * np.asarray(belief.variance)).sum()
        assert difference.var() < bound * (1 + 4 * np.sqrt(2 / 4_000))


def test_only_items_of_the_two_groups_are_asked_for():
    a = ba.assess(POOL, compared(), prior="uninformative")
    assert a.n_remaining == (SITE != "north").sum()
    assert set(SITE[a.ask(a.n_remaining).ids]) == {"west", "east"}


def test_words_say_which_error_is_greater():
    confidence = np.repeat([0.75, 0.9], 40)
    pool = ba.Pool(predictions=["A"] * 40 + ["B"] * 40, confidence=confidence)
    a = ba.assess(pool, ba.Compare("B", "A", by="prediction", measure="ece"), prior="uninformative")
    a.tell(pool.ids, ["A"] * 30 + ["B"] * 10 + ["B"] * 20 + ["A"] * 20)
    result = a.result()
    assert result.verdict == "The calibration error of B is more than 5 points above that of A, as their labels show."
    assert float(result.estimate) == pytest.approx(0.4)
    assert result.table()["ece"].tolist() == pytest.approx([0.4, 0.0])


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"first": None, "second": None}, "two groups by name"),
        ({"by": None}, "two groups by name"),
        ({"positive": 1}, "no positive class"),
        ({"measure": "accuracy"}, "leave out bins="),
        ({"bins": 0}, "at least 1"),
        ({"rope": -1}, "rope"),
    ],
)
def test_what_makes_no_sense_is_refused(options, said):
    whole = {"first": "west", "second": "east", "by": "site", "measure": "ece", "bins": 4} | options
    with pytest.raises(ba.errors.BayesAssessError, match=said):
        ba.Compare(**whole)


def test_a_pool_without_confidence_and_unknown_groups_are_refused():
    with pytest.raises(ba.errors.BayesAssessError, match="this pool has none"):
        ba.assess(ba.Pool(predictions=[0, 1], groups={"site": ["west", "east"]}), compared())
    with pytest.raises(ba.errors.BayesAssessError, match="no group 'south' by site; there are east, north, west"):
        ba.assess(POOL, compared("south"))
    with pytest.raises(ba.errors.BayesAssessError, match="compared with itself"):
        ba.assess(POOL, compared("west", "west"))


def overconfident(n_items=6_000):
    """A pool of calibrated items A, and B whose accuracy is 14.5 points below its confidence; labels of all."""
    rng = np.random.default_rng(0)
    confidence, group = rng.uniform(0.5, 1, n_items), rng.integers(0, 2, n_items)
    right = rng.random(n_items) < np.where(group == 0, confidence, confidence - 0.145)
    groups = {"site": np.where(group == 0, "A", "B")}
    pool = ba.Pool(predictions=np.zeros(n_items, int), confidence=confidence, classes=[0, 1], groups=groups)
    return pool, np.where(right, 0, 1)


def test_a_group_learns_from_its_own_labels_alone():
    pool, labels = overconfident(600)
    a = ba.assess(pool, ba.Compare("A", "B", by="site", measure="ece", bins=4))
    ids = np.flatnonzero(pool.groups["site"] == "B")[:80]
    before = a.result().table()
    a.tell(ids, labels[ids])
    after = a.result().table()
    wide, now = (np.asarray(table["upper"]) - np.asarray(table["lower"]) for table in (before, after))
    assert after["ece"][0] == pytest.approx(before["ece"][0], abs=0.01)  # of A, which has no label
    assert now[0] == pytest.approx(wide[0], abs=0.02)
    assert now[1] < 0.5 * wide[1]


@pytest.mark.slow
def test_intervals_of_the_learned_prior_hold_the_difference_and_verdicts_find_it():
    pool, labels = overconfident()
    question = ba.Compare("A", "B", by="site", measure="ece")
    setting = question.setting(pool, prior="learned")
    full = question.full_counts(pool, setting.cells, labels, 2)
    truth = question.truth_of_counts(setting.cells, full)
    assert truth < -0.1
    n = 100
    rng = np.random.default_rng(1)
    counts = rng.multivariate_hypergeometric(full.ravel(), 100, size=n).reshape(n, *full.shape)
    low, high = question.interval(setting.cells, setting.prior, counts, 0.95).T
    held = ((low <= truth) & (truth <= high)).mean()
    assert held > 0.95 - 4 * np.sqrt(0.95 * 0.05 / n)
    worse = question.masses(setting.cells, setting.prior, counts).argmax(-1) == 0
    assert worse.mean() > 0.45  # it was .30 when groups learned from each other
