"""The envelope of a precision curve holds every weakly monotone curve, and no narrower one does."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from acquisition.ranked_lists import precision_of, ranked_list, slack_of
from bayes_assess.acquisition.precision_envelope import Envelope
from bayes_assess.errors import DesignError


def lists(n_items):
    """All lists of labels."""
    return np.array(list(itertools.product([0, 1], repeat=n_items)))


def weakly_monotone(p, slack, monotone_from):
    """Whether precisions (n, N) are weakly monotone, by [ADA] Definition 1."""
    good = np.ones(len(p), bool)
    for first in range(monotone_from, p.shape[1] + 1):
        for second in range(first + slack, p.shape[1] + 1):
            good &= p[:, first - 1] >= p[:, second - 1] - 1e-12
    return good


def test_the_slack_of_the_tests_is_the_least_by_definition():
    rng = np.random.default_rng(0)
    for _ in range(100):
        p, start = precision_of(rng.random(30) < 0.5), int(rng.integers(1, 10))
        slack = slack_of(p, start)
        assert weakly_monotone(p[None], slack, start)
        assert slack == 1 or not weakly_monotone(p[None], slack - 1, start)


@pytest.mark.parametrize(("n_items", "slack", "monotone_from"), [(9, 2, 1), (10, 3, 2), (11, 4, 3), (8, 7, 2)])
def test_counts_hold_all_lists_and_are_sharp_up_to_the_slack_away(n_items, slack, monotone_from):
    ranks = np.arange(1, n_items + 1)
    counts = np.cumsum(lists(n_items), axis=1)
    counts = counts[weakly_monotone(counts / ranks, slack, monotone_from)]
    n_sharp = 0
    for y, c in itertools.product(ranks, range(n_items + 1)):
        possible = counts[counts[:, y - 1] == c]
        if not len(possible):
            continue
        known = np.array([c / y])
        fewest, most = Envelope(np.array([y]), known, known, slack, n_items, monotone_from).positives_at(ranks)
        least, greatest = possible.min(0), possible.max(0)
        assert (fewest <= least).all()
        assert (greatest <= most).all()
        if monotone_from <= y - slack and y + slack <= n_items:
            near = slice(y - slack - 1, y + slack)
            np.testing.assert_array_equal(fewest[near], least[near])
            np.testing.assert_array_equal(most[near], greatest[near])
            n_sharp += 1
        # Beyond the slack whole numbers at each of the steps would gain less than one item a step.
        steps = np.abs(ranks - y) // slack
        inside = (y >= monotone_from) & (ranks >= monotone_from) & (y + slack <= n_items) & (ranks + slack <= n_items)
        assert (np.where(inside & (y - slack >= monotone_from), least - fewest - steps, 0) <= 0).all()
        assert (np.where(inside & (y - slack >= monotone_from), most - greatest - steps, 0) <= 0).all()
    assert n_sharp > 0 or slack > n_items // 2


def test_a_list_that_ends_within_the_slack_does_not_hold_precision_down():
    """[ADA] Definition 2 has p(4) <= 1 / 4 here; the list 0 0 1 1 0 is weakly monotone with the slack 2 from 3 on."""
    labels = np.array([0, 0, 1, 1])
    p = precision_of(labels)
    assert slack_of(p, 3) == 2
    assert Envelope(np.array([3]), p[2:3], p[2:3], 2, 4, 3).upper_at(np.array([4]))[0] >= p[3]


def test_the_envelope_holds_hundreds_of_curves_from_exact_values_and_from_bounds():
    rng = np.random.default_rng(1)
    for _ in range(500):
        n_items = int(rng.integers(20, 300))
        p, start = precision_of(ranked_list(rng, n_items)), int(rng.integers(1, 20))
        slack = slack_of(p, start) + int(rng.integers(0, 3))
        ranks = np.sort(rng.choice(n_items, int(rng.integers(1, 8)), replace=False)) + 1
        noise = rng.choice([0.0, 0.1]) * rng.random((2, len(ranks)))
        lower, upper = np.clip(p[ranks - 1] - noise[0], 0, 1), np.clip(p[ranks - 1] + noise[1], 0, 1)
        envelope = Envelope(ranks, lower, upper, slack, n_items, start)
        everywhere = np.arange(1, n_items + 1)
        assert (envelope.lower_at(everywhere) <= p + 1e-12).all()
        assert (p <= envelope.upper_at(everywhere) + 1e-12).all()
        assert envelope.contradiction() is None
        fewest, most = envelope.positives_at(everywhere)
        counts = np.rint(p * everywhere)
        assert ((fewest <= counts) & (counts <= most)).all()


@pytest.mark.slow
def test_heights_are_the_greatest_ratio_over_all_ranks():
    rng = np.random.default_rng(2)
    for _ in range(500):
        n_items = int(rng.integers(20, 200))
        p = precision_of(ranked_list(rng, n_items))
        ranks = np.sort(rng.choice(n_items, int(rng.integers(2, 7)), replace=False)) + 1
        noise = rng.choice([0.0, 0.1]) * rng.random((2, len(ranks)))
        lower, upper = np.clip(p[ranks - 1] - noise[0], 0, 1), np.clip(p[ranks - 1] + noise[1], 0, 1)
        envelope = Envelope(ranks, lower, upper, int(rng.integers(1, 40)), n_items, int(rng.integers(1, 20)))
        everywhere = np.arange(1, n_items + 1)
        low, high = envelope.lower_at(everywhere), envelope.upper_at(everywhere)
        ratio = np.divide(high, low, out=np.full(n_items, math.inf), where=low > 0)
        first, last = np.sort(rng.integers(1, n_items + 1, 2))
        assert envelope.height(first, last) == pytest.approx(ratio[first - 1 : last].max(), rel=1e-12)
        expected = [ratio[a - 1 : b].max() for a, b in itertools.pairwise(ranks)]
        np.testing.assert_allclose(envelope.gaps(), expected, rtol=1e-12)


def test_flat_curves_and_curves_without_a_further_positive_have_the_height_of_their_slack():
    """[ADA] Lemmas 1 and 2: neither p(l) / p(r) nor r p(r) / (l p(l)) leaves anything open."""
    flat, slack, n_items = np.array([0.5, 0.5]), 1, 10**9
    assert Envelope(np.array([1000, n_items]), flat, flat, slack, n_items, 1).gaps()[0] <= 1.001
    spent = np.array([1.0, 1000 / n_items])
    assert Envelope(np.array([1000, n_items]), spent, spent, slack, n_items, 1).gaps()[0] <= 1.001


def test_rounded_precisions_of_a_billion_items_lose_no_positive():
    n_items = 10**9
    positives = np.array([3 * 10**8 - 1, 7 * 10**8 - 3])
    ranks = np.array([10**9 // 3, 10**9 - 7])
    p = positives / ranks
    fewest, most = Envelope(ranks, p, p, 100, n_items, 1000).positives_at(ranks)
    np.testing.assert_array_equal(fewest, positives)
    np.testing.assert_array_equal(most, positives)


def test_the_contradiction_is_the_worst_pair_a_slack_apart():
    ranks, p = np.array([10, 50, 60, 90]), np.array([0.1, 0.5, 0.9, 0.6])
    assert Envelope(ranks, p, p, 20, 100, 20).contradiction() == (50, 90)  # 10 is too early, 60 too close
    assert Envelope(ranks, p, p, 10, 100, 20).contradiction() == (50, 60)
    assert Envelope(ranks, p, p, 41, 100, 20).contradiction() is None


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"ranks": np.array([5, 5])}, "increase"),
        ({"ranks": np.array([5, 11])}, "10 items"),
        ({"upper": np.array([0.5, 1.5])}, r"\[0, 1\]"),
        ({"lower": np.array([0.5])}, "one at each of 2"),
        ({"slack": 0}, "slack"),
    ],
)
def test_what_is_no_envelope_is_refused(changed, message):
    half = np.array([0.5, 0.5])
    given = {"ranks": np.array([5, 10]), "lower": half, "upper": half, "slack": 1, "n_items": 10, "monotone_from": 1}
    with pytest.raises(DesignError, match=message):
        Envelope(**given | changed)


def test_ranks_outside_the_list_are_refused():
    half = np.array([0.5])
    envelope = Envelope(np.array([5]), half, half, 1, 10, 1)
    with pytest.raises(DesignError, match="between 1 and the 10 items"):
        envelope.upper_at(np.array([11]))
    with pytest.raises(DesignError, match="height"):
        envelope.height(7, 6)
