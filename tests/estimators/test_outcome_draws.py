from __future__ import annotations

import numpy as np
import pytest

import bayes_assess as ba
from bayes_assess.estimators import posterior_measure as posterior_measure_module
from bayes_assess.estimators.posterior_measure import (
    Completion,
    _rest_by_kind,
    measure_draws,
    outcome_draws,
    posterior_measure,
)
from bayes_assess.models.error_labels import ErrorLabels
from bayes_assess.models.valued_labels import ValuedLabels
from bayes_assess.pool.rank_strata import RankStrata

N = 20_000
SIZE, COUNTS = np.array([50, 8, 3]), np.array([[2, 5], [0, 0], [1, 2]])  # labels without and with the event
CURVE, STRENGTH = np.array([0.6, 0.2, 0.5]), 4.0


def drawn(completion: Completion) -> np.ndarray:
    rng = np.random.default_rng(0)
    return outcome_draws(rng, SIZE, np.tile(CURVE, (N, 1)), np.full((N, len(CURVE)), STRENGTH), COUNTS, completion)


def test_the_event_is_beta_binomial_around_the_curve():
    none = Completion(np.ones(3, int), np.zeros(3, int), ErrorLabels.none(), COUNTS)
    events = drawn(none)[..., 1]
    a, b = STRENGTH * CURVE + COUNTS[:, 1], STRENGTH * (1 - CURVE) + COUNTS[:, 0]
    rest, total = SIZE - COUNTS.sum(1), a + b
    variance = rest * a * b * (total + rest) / (total**2 * (total + 1))
    assert (np.abs(events.mean(0) - rest * a / total) <= 5 * np.sqrt(variance / N)).all()
    # A Beta-binomial variable of these parameters has a kurtosis below 6.
    assert (np.abs(events.var(0) - variance) <= 5 * variance * np.sqrt(5 / N)).all()
    assert (events[:, 2] == 0).all()  # everything is labelled


def test_items_without_the_event_have_the_labels_of_their_row():
    """Errors of the first predicted class are learned to be the third one; the event is being right."""
    errors = ErrorLabels(
        base=np.array([[[0.0, 1.0, 1.0], [1.0, 0.0, 1.0], [1.0, 1.0, 0.0]]]),
        prior=np.ones(1),
        counts=np.array([[0.0, 0.0, 6.0], [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]]),
        log_weight=np.zeros(1),
    )
    event = np.array([0, 1, 2])
    labels = drawn(Completion(event, event, errors, np.zeros((3, 3), int)))
    np.testing.assert_array_equal(labels.sum(-1), np.tile(SIZE - COUNTS.sum(1), (N, 1)))
    wrong = labels[:, 0, 1:].sum(1)
    share = labels[:, 0, 2].sum() / wrong.sum()
    # Of a Dirichlet(1, 7) distribution 7 / 8, with the variance of one draw per pool at most.
    assert abs(share - 7 / 8) < 5 * np.sqrt(7 / 64 / N) * np.sqrt((wrong.astype(float) ** 2).mean()) / wrong.mean()


def test_measures_of_many_classes_tell_labels_of_errors_what_share_of_predictions_is_right(monkeypatch):
    """Labelled items count as they are, others by the curve; of a class that is never predicted nothing is known."""
    told = []
    by_accuracy = ErrorLabels.given_accuracy
    monkeypatch.setattr(
        ErrorLabels, "given_accuracy", lambda belief, right: told.append(right) or by_accuracy(belief, right)
    )
    pool = ba.Pool(predictions=np.repeat([0, 1, 2], [30, 20, 10]), classes=[0, 1, 2, 3])
    setting = ba.Metric("balanced_accuracy").setting(pool, strata=RankStrata(1))
    events, size = setting.cells.events, np.asarray(setting.reward.size)
    right = np.array([0.7, 0.4, 0.1, np.nan])
    outcomes = np.zeros((len(size), 4), int)
    first = int(np.flatnonzero(events.row == 0)[0])
    outcomes[first, [0, 1]] = 2, 4
    counts = np.zeros((len(size), 2), int)
    counts[first] = 4, 2
    curves, strength = np.tile(right[events.row], (N, 1)), np.full((N, len(size)), 1e6)
    completion = Completion(events.outcome, events.row, events.errors, outcomes)
    draws = measure_draws(np.random.default_rng(0), setting.reward, curves, strength, counts, completion)
    (found,) = told
    expected = np.array([(2 + 24 * 0.7) / 30, 0.4, 0.1, np.nan])
    error = np.sqrt(np.array([24, 20, 10, 1]) * right * (1 - right) / N) / np.array([30, 20, 10, 1])
    np.testing.assert_array_equal(np.isnan(found), np.isnan(expected))
    assert (np.abs(found - expected)[:3] < 5 * error[:3]).all()
    # Few predictions of the third class are right, so that fewer items of it hide, and the mean of recalls is higher.
    monkeypatch.setattr(ErrorLabels, "given_accuracy", lambda belief, right: belief)
    without = measure_draws(np.random.default_rng(0), setting.reward, curves, strength, counts, completion)
    assert draws.mean() - without.mean() > 5 * np.sqrt((draws.var() + without.var()) / N)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_items_that_are_known_alone_count_and_teach_nothing(n_classes):
    predictions = np.repeat(np.arange(n_classes), 30)
    pool = ba.Pool(predictions=predictions, classes=list(range(n_classes)))
    setting = ba.Metric("accuracy").setting(pool, strata=RankStrata(1))
    on, size = setting.cells.events, np.asarray(setting.reward.size)
    learned, known = np.tile([1, 3], (len(size), 1)), np.tile([6, 1], (len(size), 1))
    outcomes = np.zeros((len(size), n_classes), int)
    np.put_along_axis(outcomes, on.outcome[:, None], (learned + known)[:, 1:], 1)
    np.put_along_axis(outcomes, (on.outcome[:, None] + 1) % n_classes, (learned + known)[:, :1], 1)
    curves, strength = np.full((N, len(size)), 0.5), np.full((N, len(size)), 4.0)
    completion = Completion(on.outcome, on.row, on.errors, outcomes)
    np.testing.assert_array_equal(completion.events, learned + known)
    rng = np.random.default_rng(0)
    draws = measure_draws(rng, setting.reward, curves, strength, learned, completion, known=known)[:, 0]
    rest, rate = size - (learned + known).sum(1), (2 + 3) / (4 + 4)
    shown = rest * rate + (learned + known)[:, 1]
    if not on.about_agreement:  # of predicted negatives those without the event are right
        shown = np.where(predictions[[0, -1]] == on.outcome, shown, size - shown)
    assert abs(draws.mean() - shown.sum() / size.sum()) < 5 * draws.std() / np.sqrt(N)


def test_precautions_count_in_medians_by_as_much_as_they_are_more_probable_than_the_rest():
    """13 of 20 draws weigh 2 * .65 - 1 = .3 together and the others .05 each: the first of these has half of .65."""
    draws, feared = np.arange(20.0)[:, None], (np.arange(20) < 13)[:, None]
    assert posterior_measure(draws, np.bool_(False), feared).value.tolist() == [13.0]
    less_probable = posterior_measure(draws, np.bool_(False), ~feared)
    assert less_probable.value.tolist() == [6.0]  # they count nothing


def test_draws_of_several_precautions_count_by_the_product():
    """Of 17 draws 12 weigh (2 * 12 - 17) / 12 = .58 each, and 6 of these nothing, as the other precaution is rarer."""
    draws = np.arange(17.0)[:, None]
    both = np.stack([np.arange(17) >= 5, np.arange(17) >= 11], axis=1)
    assert posterior_measure(draws, np.bool_(False), both).value.tolist() == [4.0]  # half of 5 + 6 * .58 is 4.3


def test_where_every_draw_is_a_precaution_all_count_alike():
    draws, half = np.arange(16.0)[:, None], np.arange(16) < 8
    found = posterior_measure(draws, np.bool_(False), np.stack([half, ~half], axis=1))
    assert found.value.tolist() in ([7.0], [8.0])


def test_kinds_of_one_row_have_one_distribution_of_the_labels_of_errors():
    rng, n = np.random.default_rng(0), 40

    class Drawn:
        """One row of errors: in half of the draws all have label 1, in the others label 2."""

        def drawn(self, rng, n):
            return np.eye(3)[1 + np.arange(n) % 2][:, None]

    missing = np.stack([np.full(n, 3), np.full(n, 5)], axis=1)
    first, second = _rest_by_kind(rng, missing, np.array([0, 0]), Drawn())
    np.testing.assert_array_equal(first, 3 * Drawn().drawn(rng, n)[:, 0])
    np.testing.assert_array_equal(second, 5 * Drawn().drawn(rng, n)[:, 0])  # and not the other one in the same draw


def test_measures_that_need_many_numbers_are_drawn_from_beliefs_in_parts(monkeypatch):
    """A belief may begin once for all of them."""
    pool = ba.Pool(predictions=np.arange(22) % 11, classes=list(range(11)))
    a = ba.assess(pool, ba.Mean(), seed=0)
    a.tell(pool.ids[:9], pool.predictions[:9])
    begun, begin = [], ValuedLabels._chains
    monkeypatch.setattr(ValuedLabels, "_chains", lambda self, rng, n: begun.append(n) or begin(self, rng, n))
    whole = a.result()
    monkeypatch.setattr(posterior_measure_module, "_NUMBERS", 20_000)
    parts = a.result(level=0.9)
    assert len(begun) == 2
    assert begun[0] == begun[1]
    spread = np.diff(whole.interval, axis=-1)[..., 0] / 4
    assert (np.abs(parts.estimate - whole.estimate) < 5 * spread / np.sqrt(begun[0] / 20)).all()  # of chains
