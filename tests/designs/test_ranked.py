"""What designs for ranked lists promise of a curve, and how the probability that it fails is shared."""

from __future__ import annotations

import numpy as np
import pytest

from bayes_assess.designs._ranked import Promise, SamplingPlan, _lowest_precision
from bayes_assess.designs.ranked import LogStrat, Paula, RandomRanks
from bayes_assess.estimators.ranked_labels import RankedLabels

PROMISE = Promise(epsilon=0.1, beta=1.2, delta=0.1, monotone_from=1, slack=20, p_min=0.5, eta=0.0)


def labelled_plan(design, n_items=4000):
    """Return a plan and labels that it wants, half of them positive beyond the head."""
    plan = design.start(PROMISE, n_items)
    ranks = np.concatenate(
        [
            end - size + 1 + np.arange(wanted) * size // max(wanted, 1)
            for end, size, wanted in zip(plan.edges, plan.sizes, plan.wanted, strict=True)
        ]
    )
    return plan, RankedLabels(ranks, (ranks <= plan.edges[0]) | (ranks % 2 == 0), n_items)


def test_what_a_band_may_miss_is_shared_among_its_ranks_and_chance():
    plan, labels = labelled_plan(LogStrat())
    band = LogStrat().band(PROMISE, labels, plan, 0.1)
    assert band.delta == 0.05
    ranks, each = plan.edges, 0.05 / len(plan.edges)
    radius = labels.radius_at(ranks, each)
    assert radius[-1] > 0
    np.testing.assert_allclose(band.envelope.lower, labels.precision_at(ranks) - radius)
    np.testing.assert_allclose(band.envelope.upper, labels.precision_at(ranks) + radius)


def test_half_of_what_may_go_wrong_is_left_for_a_lowest_precision_that_is_not_known():
    assert PROMISE.delta_of_samples == 0.1
    assert PROMISE._replace(p_min=None).delta_of_samples == 0.05


def test_the_lowest_precision_counts_on_annotators_who_take_negative_items_for_positive():
    """Of labels with the mean M <= 1/2 a precision may be as low as (M - eta) / (1 - 2 eta)."""
    ranks = np.arange(1, 20_001)
    plan = SamplingPlan(np.array([100, 20_000]), np.array([100, 9950]))
    some = (ranks <= 100) | (ranks % 2 == 0)
    labels = RankedLabels(ranks[some], ranks[some] // 2 % 25 < 12, 20_000)
    unknown = PROMISE._replace(p_min=None)
    sure, noisy = (_lowest_precision(unknown._replace(eta=eta), labels, plan) for eta in (0.0, 0.05))
    assert 0.44 < sure < 0.48
    assert noisy == pytest.approx((sure - 0.05) / 0.9)


@pytest.mark.parametrize("every", [1, 3])
def test_the_first_head_is_a_stratum_until_it_is_part_of_a_whole_one(every):
    """Items beyond it are labelled at random, less densely; so are those of a first head that turns out too long."""
    promise, n_items = PROMISE._replace(p_min=None), 40_000
    design, first = RandomRanks(), RandomRanks().start(promise, n_items).edges[0]
    ranks = np.append(np.arange(1, first + 1), np.arange(first + 1, n_items + 1, 4))
    labels = RankedLabels(ranks, ranks % every == 0, n_items)
    plan = design.start(promise, n_items)
    while plan.p_min is None:
        plan = design.refine(promise, labels, plan)
    assert plan.edges[0] == first
    last = design.refine(promise, labels, plan)
    head, samples = last.edges[0], design._samples(promise, n_items, plan.p_min)
    assert (head > first) == (every == 3)
    assert last.done
    assert last.wanted[0] == head
    assert last.wanted[1] >= (n_items - head) * samples / head


def test_labels_that_a_window_lacks_are_estimated_by_the_others():
    promise, design = PROMISE._replace(p_min=None), Paula(window=10)
    plan = design.start(promise, 200)
    ranks = np.concatenate([np.arange(e - w + 1, e + 1) for e, w in zip(plan.edges, plan.wanted, strict=True) if w])
    some = RankedLabels(ranks[::2], ranks[::2] <= plan.edges[0], 200)  # no positive one beyond the head
    band = design.band(promise, some, plan, None)
    np.testing.assert_allclose(band.lower_at(np.array([200])), plan.edges[0] / 200, rtol=0.1)
    nothing = design.band(promise, RankedLabels(ranks[:0], ranks[:0] > 0, 200), plan, None)
    assert nothing.upper_at(np.array([200])) == 0.5


def test_labels_that_a_window_lacks_may_be_anything():
    promise, design = PROMISE._replace(p_min=None), Paula(window=10)
    plan = design.start(promise, 200)
    ranks = np.concatenate([np.arange(e - w + 1, e + 1) for e, w in zip(plan.edges, plan.wanted, strict=True) if w])
    whole = RankedLabels(ranks, ranks % 2 == 0, 200)
    without = RankedLabels(ranks[:-4], ranks[:-4] % 2 == 0, 200)  # of the last window
    last = np.array([200])
    bands = [design.band(promise, labels, plan, 0.05) for labels in (whole, without)]
    assert bands[0].lower_at(last) > bands[1].lower_at(last)
    assert bands[0].upper_at(last) < bands[1].upper_at(last)
