"""Intervals of mean losses that hold at any time of a campaign, whatever the losses are."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

import bayes_assess as ba
from bayes_assess.estimators.betting_means import bounded_mean_interval

N, LOOKS = 200, np.unique(np.geomspace(2, 199, 12).astype(int))


def populations(seed: int):
    """Losses and how great they can be: rare and large ones, nearly all alike, and the greatest possible."""
    rng = np.random.default_rng(seed)
    most = rng.uniform(0.5, 2.0, N)
    kinds = (most * (rng.random(N) < 0.04), most * rng.beta(0.2, 2, N), 0.3 * most, most * (rng.random(N) < 0.9))
    return kinds[seed % 4], most


def missed_ever(interval_of, seed: int) -> bool:
    losses, most = populations(seed)
    order = np.random.default_rng([seed, 1]).permutation(N)
    for n in LOOKS:
        low, high = interval_of(losses[order[:n]], most[order[:n]], most[order[n:]])
        if not low - 1e-12 <= losses.mean() <= high + 1e-12:
            return True
    return False


def normal(losses, most, rest):
    deviation = losses.std(ddof=1) / np.sqrt(len(losses)) * np.sqrt(len(rest) / N)
    return losses.mean() - 1.96 * deviation, losses.mean() + 1.96 * deviation


@pytest.mark.slow
def test_the_truth_leaves_the_interval_at_some_time_no_more_often_than_promised():
    repeats = 60
    missed = sum(missed_ever(lambda *of: bounded_mean_interval(*of, 0.2, 0.9), seed) for seed in range(repeats))
    assert missed <= stats.binom.ppf(0.999, repeats, 0.1)
    # One for a number of draws that was fixed before misses far more often at some time.
    assert sum(missed_ever(normal, seed) for seed in range(20)) > stats.binom.ppf(0.9999, 20, 0.1)


def test_labels_that_are_missing_because_losses_are_great_are_allowed_for():
    repeats = 24

    def with_gaps(losses, most, rest):
        gone = (losses > 0.8 * most) & (np.arange(len(losses)) % 2 == 0)
        return bounded_mean_interval(np.where(gone, np.nan, losses), most, rest, 0.2, 0.9)

    missed = sum(missed_ever(with_gaps, seed) for seed in range(repeats))
    assert missed <= stats.binom.ppf(0.999, repeats, 0.1)


def test_the_interval_is_what_labels_leave_and_nothing_else_at_the_end():
    most = np.array([1.0, 2.0, 3.0])
    np.testing.assert_allclose(bounded_mean_interval(np.zeros(0), np.zeros(0), most, 0.1), [0, 2])
    np.testing.assert_allclose(bounded_mean_interval(np.array([0.3, 1.0, 2.0]), most, np.zeros(0), 0.1), [1.1, 1.1])
    one = bounded_mean_interval(np.array([0.3, 1.0, np.nan]), most, np.zeros(0), 0.1)
    np.testing.assert_allclose(one, [1.3 / 3, 4.3 / 3])
    assert bounded_mean_interval(np.zeros(5), np.zeros(5), np.zeros(9), 0.0).tolist() == [0, 0]


@pytest.mark.parametrize("believed", [0.0, 1e-6, 0.05, 5.0])
def test_more_labels_shorten_it_whatever_was_believed(believed):
    rng = np.random.default_rng(3)
    losses = rng.beta(1, 19, 4_000)
    widths = [
        np.diff(bounded_mean_interval(losses[:n], np.ones(n), np.ones(4_000 - n), believed))[0]
        for n in (50, 200, 800, 3_200)
    ]
    assert (np.diff(widths) < 0).all()
    assert widths[2] < 0.05


def pool(bounds=(0, 100), n=300):
    rng = np.random.default_rng(4)
    f = rng.uniform(20, 80, n)
    return ba.Pool(predictions=f, bounds=bounds), np.clip(f + rng.normal(0, 3, n), 0, 100)


def test_a_session_takes_items_in_the_order_in_which_they_were_asked_for(tmp_path):
    items, labels = pool()
    run = tmp_path / "run.db"
    a = ba.assess(items, ba.Metric(["rmse", "mae", "r2"]), design="passive", seed=2, journal=run)
    first, second = a.ask(40), a.ask(30)
    a.tell(second.ids, labels[second.ids])
    a.tell(first.ids[:25], labels[first.ids[:25]])
    r = a.result()
    ids = np.concatenate([first.ids, second.ids])
    error = np.abs(labels - items.exact.numbers)
    known = np.where(np.isin(ids, first.ids[25:]), np.nan, error[ids])
    most = np.maximum(items.exact.numbers, 100 - items.exact.numbers)
    rest = most[np.setdiff1d(np.arange(300), ids)]
    believed = r.evidence.in_order().believed
    expected = bounded_mean_interval(known, most[ids], rest, believed[1])
    np.testing.assert_allclose(r.design_interval[1], expected, rtol=1e-9)
    squares = bounded_mean_interval(known**2, most[ids] ** 2, rest**2, believed[0])
    np.testing.assert_allclose(r.design_interval[0], np.sqrt(squares), rtol=1e-9)
    assert r.design_interval[2].tolist() == [-np.inf, 1.0]
    assert (r.design_interval[:2, 0] <= r.interval[:2, 0]).all()
    assert "At any time, whatever errors the bounds allow: root_mean_squared_error [" in r.summary()
    a.journal.close()
    again = ba.resume(run, items)
    np.testing.assert_array_equal(again.result().design_interval, r.design_interval)
    again.journal.close()


def test_where_order_or_bounds_are_missing_there_is_none():
    for bounds, design, volunteer in (((0, np.inf), "passive", 0), ((0, 100), "poisson", 0), ((0, 100), "passive", 1)):
        items, labels = pool(bounds)
        a = ba.assess(items, ba.Metric("mae"), design=design)
        ids = a.ask(20).ids
        a.tell(ids, labels[ids])
        if volunteer:
            other = np.setdiff1d(np.arange(300), ids)[:1]
            a.tell(other, labels[other])
        assert a.result().design_interval is None
        assert "At any time" not in a.result().summary()
        rest = np.setdiff1d(np.arange(300), a.labelled[0])
        a.tell(rest, labels[rest])
        np.testing.assert_array_equal(a.result().design_interval, a.result().interval)


@pytest.mark.parametrize("level", [0.8, 0.95])
def test_one_draw_rejects_by_half_of_the_error_on_either_side(level):
    """Who expects next to nothing bets 3/4 of the capital: of the greatest loss 1 + 3/4 (1 - theta) / theta is left."""
    rest = np.ones(9999)
    lower = bounded_mean_interval(np.ones(1), np.ones(1), rest, 1e-9, level)[0]
    assert lower == pytest.approx(0.75 / (2 / (1 - level) - 0.25), rel=1e-9)
    # With such bets the least loss leaves 1 + 3/4 theta / (1 - theta).
    upper = bounded_mean_interval(np.zeros(1), np.ones(1), rest, 1e-9, level)[1]
    assert 1 - upper == pytest.approx(0.75 / (2 / (1 - level) - 0.25), rel=1e-9)
