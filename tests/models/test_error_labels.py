"""Labels of wrong predictions: those of further errors, whose other tests are with those of all models."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import jax
import numpy as np
import pytest
from numpyro.infer import Predictive
from scipy import special, stats

import bayes_assess as ba
from bayes_assess._tools import engine
from bayes_assess.models import drawn_labels
from bayes_assess.models.error_labels import ErrorLabels, program
from bayes_assess.questions._events import error_labels


@pytest.mark.parametrize("few", [True, False], ids=["urn", "distributions"])
@pytest.mark.parametrize("n", [3, 7])
def test_labels_of_further_errors_are_mixtures_of_beta_binomials(n, few, monkeypatch):
    monkeypatch.setattr(drawn_labels, "are_few", lambda *_: few)
    scores = np.array([[0.7, 0.2, 0.1], [0.1, 0.8, 0.1], [0.3, 0.1, 0.6]])
    told = np.float32([[0, 1, 3], [0, 0, 0], [2, 0, 0]])
    prior = ErrorLabels.from_scores(scores, sizes=np.array([50, 30, 0]))  # with hypotheses of all kinds
    belief = replace(prior, counts=told, log_weight=np.float32(np.linspace(0, 2, len(prior.base))))
    n_draws = 20_000
    wrong = np.tile([n, 2, n], (n_draws, 1))
    found = belief.completed(np.random.default_rng(0), wrong)
    np.testing.assert_array_equal(found.sum(-1), wrong)
    assert (found[:, range(3), range(3)] == 0).all()
    weight = special.softmax(np.float64(belief.log_weight))
    for row, (first, second) in enumerate([(1, 2), (0, 2), (0, 1)]):
        a, b = (np.float64(belief.base[:, row, label] + told[row, label]) for label in (first, second))
        size = wrong[0, row]
        pmf = stats.betabinom.pmf(np.arange(size + 1), size, a[:, None], b[:, None])
        expected = n_draws * weight @ pmf
        seen = np.bincount(found[:, row, first], minlength=size + 1)
        statistic = ((seen - expected) ** 2 / expected).sum()
        assert statistic < stats.chi2.ppf(1 - 1e-5, size)


def test_no_further_errors_have_no_labels():
    belief = ErrorLabels.from_scores(n_classes=4)
    assert belief.completed(np.random.default_rng(0), np.zeros((3, 4), int)).sum() == 0


def test_hypotheses_weigh_by_the_probability_of_all_labels_of_errors():
    """Of every row that is Dirichlet-multinomial, up to the number of orders, which all hypotheses have in common."""
    scores = np.array([[0.7, 0.2, 0.1], [0.1, 0.8, 0.1], [0.3, 0.1, 0.6]])
    belief = first = ErrorLabels.from_scores(scores)
    with engine.eager():
        for row, label in [(0, 1), (0, 2), (0, 0), (2, 0), (0, 1), (2, 2), (0, 1)]:
            belief = belief.observe(row, label, np.bool_(row != label))
    told = np.array([[0, 3, 1], [0, 0, 0], [1, 0, 0]])
    np.testing.assert_array_equal(belief.counts, told)
    expected = np.log(first.prior)
    for row, others in enumerate([[1, 2], [0, 2], [0, 1]]):
        alpha, counts = np.float64(first.base[:, row][:, others]), told[row, others]
        expected += stats.dirichlet_multinomial(alpha, counts.sum()).logpmf(counts)
    found = np.float64(belief.log_weight)
    np.testing.assert_allclose(found - found[0], expected - expected[0], atol=1e-5)  # 32 bits
    # What labels to come are expected to be is by how much each would change the probability of all.
    for row, label in [(0, 1), (0, 2), (1, 0), (2, 0)]:
        with engine.eager():
            after = np.float64(belief.observe(row, label, np.bool_(True)).log_weight)
        chance = np.exp(special.logsumexp(after) - special.logsumexp(found))
        assert belief.mean[row, label] == pytest.approx(chance, rel=1e-4)
    weight = special.softmax(found)
    worth = weight @ first.base.sum(-1) + told.sum(-1)
    np.testing.assert_allclose(belief.strength, worth, rtol=1e-5)


def ranks_of_simulated_shares(weigh: Callable[[np.ndarray], np.ndarray] = lambda prior: prior) -> np.ndarray:
    """Rank shares of the program's prior among 19 draws of the posterior of its labels; ties are broken at random."""
    scores, sizes, n = np.array([[0.7, 0.2, 0.1], [0.1, 0.8, 0.1], [0.3, 0.1, 0.6]]), np.array([50, 8, 0]), 600
    prior = ErrorLabels.from_scores(scores, sizes=sizes)
    arguments = prior.program_arguments() | {"row": np.repeat([0, 1], 4), "labels": None}
    simulated = Predictive(program, num_samples=n)(jax.random.key(1), **arguments)
    theta, labels = (np.asarray(simulated[name], float) for name in ("theta", "label"))
    belief, rng, ranks = replace(prior, log_weight=np.log(weigh(prior.prior))), np.random.default_rng(2), []
    for true, found in zip(theta, labels.astype(int), strict=True):
        posterior = belief
        with engine.eager():
            for row, label in zip(arguments["row"], found, strict=True):
                posterior = posterior.observe(row, label, np.bool_(True))
        draws = np.round(posterior.drawn(rng, 19)[:, [0, 1], [2, 2]], 6)
        below, as_low = (draws < np.round(true[[0, 1], [2, 2]], 6)), (draws == np.round(true[[0, 1], [2, 2]], 6))
        ranks.append(below.sum(0) + rng.integers(0, as_low.sum(0) + 1))
    return np.array(ranks)


@pytest.mark.slow
def test_shares_of_errors_are_calibrated_by_simulation():
    """Ranks are uniform on 0 to 19; those of a prior that hardly expects a class to be absent are not."""
    for ranks in ranks_of_simulated_shares().T:
        assert stats.chisquare(np.bincount(ranks // 2, minlength=10)).pvalue > 1e-4
    unequal = ranks_of_simulated_shares(lambda prior: prior ** np.where(np.arange(len(prior)) < 48, 1, 4))
    assert min(stats.chisquare(np.bincount(ranks // 2, minlength=10)).pvalue for ranks in unequal.T) < 1e-4


def test_errors_of_rare_classes_are_expected_to_be_rarer_than_scores_say_that_do_not_know_them():
    """Of scores alike, errors by the scores are 1 : 1, by them times sizes 90 : 10, and by squares 8100 : 100."""
    scores, sizes = np.full((3, 3), 1 / 3), np.array([899, 89, 9])
    apart = ErrorLabels.from_scores(scores, sizes=sizes)
    of_first = np.float64(apart.base[:, 0] / apart.base[:, 0].sum(-1, keepdims=True))
    rare = np.unique(of_first[:, 2].round(5))
    np.testing.assert_allclose(rare, 0.05 / 2 + 0.95 * np.array([100 / 8200, 10 / 100, 0.5]), atol=1e-5)
    counts = np.zeros((3, 3), int)
    with engine.eager():
        belief = apart
        for label in [1] * 18 + [2] * 2:  # of predictions of the first class; other classes learn of it
            counts[0, label] += 1
            belief = belief.observe(np.int64(0), np.int64(label), np.bool_(True))
        assert belief.mean[1, 2] < apart.mean[1, 2] < 0.4
        assert ErrorLabels.from_scores(scores).mean[1, 2] == pytest.approx(0.5)
    # The odds that sizes count, to those that they do not, which are 1 to 3 before any label.
    by_size = of_first[:, 2] < 0.4
    np.testing.assert_allclose([apart.prior[by_size].sum(), apart.prior[~by_size].sum()], [1 / 4, 3 / 4], rtol=1e-6)
    weight = special.softmax(np.float64(belief.log_weight))
    assert weight[by_size].sum() > 1 / 2


def test_pools_say_how_many_items_are_predicted_as_every_class():
    predictions = np.repeat([0, 1, 2], [60, 30, 10])
    pool = ba.Pool(scores=np.where(predictions[:, None] == np.arange(3), 0.6, 0.2))
    base = error_labels(pool).base[:, 0]
    assert np.isclose(base[:, 2] / base.sum(-1), 0.05 / 2 + 0.95 * 11 / 42, atol=1e-5).any()


def test_without_scores_errors_follow_the_roots_of_how_many_items_are_predicted_as_other_classes():
    pool = ba.Pool(predictions=np.repeat([0, 1, 2], [60, 35, 8]))
    base = error_labels(pool).base[:, 0]
    np.testing.assert_allclose(
        np.unique((base[:, 2] / base.sum(-1)).round(5)), [0.05 / 2 + 0.95 * 3 / 9, 0.5], atol=1e-5
    )
    alike = ErrorLabels.from_scores(n_classes=3, sizes=np.array([20, 20, 20])).base[:, 0]
    np.testing.assert_allclose(alike[:, 1], alike[:, 2])


def with_errors(belief: ErrorLabels, labels: list[int]) -> ErrorLabels:
    """Tell labels of wrong predictions of the first class."""
    with engine.eager():
        for label in labels:
            belief = belief.observe(np.int64(0), np.int64(label), np.bool_(True))
    return belief


def test_errors_may_be_of_a_class_that_is_never_predicted_and_that_scores_exclude():
    """Three labels of ten of one row make it probable of rows without labels, of which scores alone say nothing."""
    scores = np.array([[0.6, 0.3, 0.1, 0], [0.2, 0.7, 0.1, 0], [0.2, 0.2, 0.6, 0], [0, 0, 0, 0]])
    belief, alone = (ErrorLabels.from_scores(scores, sizes=sizes) for sizes in (np.array([50, 30, 20, 0]), None))
    told = [1] * 5 + [2] * 2 + [3] * 3
    assert with_errors(belief, told).mean[1, 3] > belief.mean[1, 3] > alone.mean[1, 3]


def test_a_class_that_is_never_predicted_may_not_occur_at_all():
    """It is in doubt before any label, the less probable the more errors are of other classes, and ruled out by one."""
    belief = ErrorLabels.from_scores(n_classes=4, sizes=np.array([50, 30, 20, 0]))
    never = belief.base[:, 0, 3] < 1e-3

    def probability(belief: ErrorLabels) -> float:
        return float(special.softmax(np.float64(belief.log_weight))[never].sum())

    assert probability(belief) == pytest.approx(1 / 3)
    without = with_errors(belief, [1, 2] * 50)
    assert probability(without) > 1 / 2
    assert probability(with_errors(without, [3])) < 1e-3
    # Of 300 more errors of every predicted class none is of it as often as that, or by the others' distributions.
    n, further = 4000, np.array([300, 300, 300, 0])
    labels = without.completed(np.random.default_rng(0), np.tile(further, (n, 1)))
    a, rest = (without.base + without.counts)[:, :3, 3].astype(np.float64), (without.base + without.counts)[:, :3]
    b = rest.sum(-1) - a
    of_none = np.exp((special.betaln(a, b + 300) - special.betaln(a, b)).sum(1))
    expected = special.softmax(np.float64(without.log_weight)) @ of_none
    share = (labels[:, :3, 3].sum(1) == 0).mean()
    assert abs(share - expected) < 5 * np.sqrt(expected * (1 - expected) / n)


SIZES = np.array([80, 60, 60, 0])
RIGHT = np.array([0.75, 0.5, 0.05, 0.0])  # of the predictions of every class
SCORES = np.array([[0.7, 0.1, 0.1, 0.1], [0.1, 0.7, 0.1, 0.1], [0.1, 0.1, 0.7, 0.1], [0.1, 0.1, 0.1, 0.7]])


@pytest.mark.parametrize("scores", [SCORES, None], ids=["scores", "no scores"])
def test_labels_decide_alike_before_and_after_accuracies_are_known(scores):
    belief, told = ErrorLabels.from_scores(scores, n_classes=4, sizes=SIZES), [1, 1, 2, 1, 3, 1]
    first, last = with_errors(belief.given_accuracy(RIGHT), told), with_errors(belief, told).given_accuracy(RIGHT)
    np.testing.assert_allclose(special.softmax(first.log_weight), special.softmax(last.log_weight), rtol=1e-4)
    np.testing.assert_array_equal(first.base, last.base)
    assert last.prior.sum() == pytest.approx(1)
    np.testing.assert_allclose(last.prior[: len(belief.prior)], 0.75 * belief.prior, rtol=1e-6)


def test_errors_may_follow_how_many_predictions_of_a_class_are_right_and_the_odds_that_one_is():
    """In proportion to right items and one, 61 : 31 : 4, or to odds, those of the last two 57.5 : 3.5."""
    belief = ErrorLabels.from_scores(SCORES, sizes=SIZES)
    new = belief.given_accuracy(RIGHT).base[len(belief.base) :]
    of_first, of_second = new[:, 0] / new[:, 0].sum(-1, keepdims=True), new[:, 1] / new[:, 1].sum(-1, keepdims=True)
    by_odds = (3.5 / 57.5) / (30.5 / 30.5)
    for share, ratio in [
        (of_first[:, [1, 2]], 31 / 4),
        (of_first[:, [1, 2]], 1 / by_odds),
        (of_second[:, [0, 2]], 61 / 4),
    ]:
        even = 0.05 / 3
        # As scores tell, a third of errors has a label that is never predicted.
        rest = 0.95 * 2 / 3 * np.array([ratio, 1]) / (ratio + 1) + even
        assert np.isclose(share, rest, atol=1e-5).all(1).any()


def test_odds_are_over_those_that_scores_tell():
    """Of the second class scores tell 9 to 1, of the third 1 to 1: as often right, that is rarer by nine."""
    scores = np.array([[0.7, 0.1, 0.1, 0.1], [0.04, 0.9, 0.03, 0.03], [0.2, 0.2, 0.5, 0.1], [0.1, 0.1, 0.1, 0.7]])
    new = ErrorLabels.from_scores(scores, sizes=SIZES).given_accuracy(np.array([0.7, 0.5, 0.5, 0.0]))
    of_first = new.base[-len(new.base) // 3 :, 0]
    by_odds = 0.95 * 2 / 3 * np.array([1, 9]) / 10 + 0.05 / 3
    assert np.isclose(of_first[:, 1:3] / of_first.sum(-1, keepdims=True), by_odds, atol=1e-5).all(1).any()


def test_without_scores_errors_may_follow_how_many_are_right_or_the_roots_of_that():
    """In proportion to 31 : 4 where errors are of no class that is never predicted, or to the roots."""
    belief = ErrorLabels.from_scores(n_classes=4, sizes=SIZES)
    of_first = belief.given_accuracy(RIGHT).base[len(belief.base) :, 0]
    for power in (1.0, 0.5):
        weight = np.array([31.0, 4.0]) ** power
        expected = 0.95 * 2 / 3 * weight / weight.sum() + 0.05 / 3
        assert np.isclose(of_first[:, 1:3] / of_first.sum(-1, keepdims=True), expected, atol=1e-5).all(1).any()


def test_a_class_of_which_few_predictions_are_right_is_expected_to_be_rare_among_other_errors():
    """Odds of 1 to 3 that accuracies count become large with labels that agree, and small with those that do not."""
    belief = ErrorLabels.from_scores(SCORES, sizes=SIZES)
    informed = belief.given_accuracy(RIGHT)
    assert informed.mean[0, 2] < belief.mean[0, 2]
    new = slice(len(belief.base), None)

    def probability(labels: list[int]) -> float:
        return float(special.softmax(with_errors(belief, labels).given_accuracy(RIGHT).log_weight)[new].sum())

    assert probability([]) == pytest.approx(0.25)
    assert probability([1] * 20 + [3] * 10) > 0.5
    assert probability([2] * 20 + [1] * 2 + [3] * 10) < 0.05


def test_accuracies_say_nothing_where_sizes_are_not_known_or_errors_have_but_one_label():
    for belief in (ErrorLabels.from_scores(SCORES), ErrorLabels.from_scores(n_classes=2, sizes=np.array([9, 3]))):
        assert belief.given_accuracy(np.ones(len(belief.counts))) is belief
    assert ErrorLabels.none().given_accuracy(np.ones(1)).is_trivial


def test_classes_of_which_nothing_is_known_keep_their_shares():
    """Errors of the last row are as scores tell a third of the first class; the others share the rest as 31 : 4."""
    belief = ErrorLabels.from_scores(SCORES, sizes=SIZES)
    new = belief.given_accuracy(np.array([np.nan, 0.5, 0.05, np.nan])).base[len(belief.base) :, 3]
    expected = 0.95 * np.array([1 / 3, 2 / 3 * 31 / 35, 2 / 3 * 4 / 35]) + 0.05 / 3
    assert np.isclose(new[:, :3] / new.sum(-1, keepdims=True), expected, atol=1e-5).all(1).any()


@pytest.mark.parametrize("right", [0.0, 1.0])
def test_accuracies_at_their_ends_and_scores_without_doubt_leave_every_label_possible(right):
    for scores in (np.eye(4), SCORES, None):
        base = ErrorLabels.from_scores(scores, n_classes=4, sizes=SIZES).given_accuracy(np.full(4, right)).base
        assert np.isfinite(base).all()
        assert (base[:, ~np.eye(4, dtype=bool)] > 0).all()
