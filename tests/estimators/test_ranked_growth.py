"""Growth of precision along a ranked list is found where there is some, and seldom where there is none."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

import bayes_assess as ba
from bayes_assess.estimators.ranked_growth import growth
from bayes_assess.estimators.ranked_labels import RankedLabels

N = 3000
EDGES = np.array([60, 700, N])
LABELS = (60, 150, 150)  # of every stratum
DEPTH = np.arange(N) / N
ALPHA, REPEATS = 0.05, 80
LIMIT = stats.binom.isf(1e-4, REPEATS, ALPHA)


def sampled(rates: np.ndarray, seed: int) -> RankedLabels:
    """Label random items of strata, as many as `LABELS` says."""
    rng = np.random.default_rng([seed, 7])
    starts = np.append(0, EDGES[:-1])
    parts = [start + 1 + rng.choice(end - start, n, False) for start, end, n in zip(starts, EDGES, LABELS, strict=True)]
    ranks = np.sort(np.concatenate(parts))
    return RankedLabels(ranks, rng.random(len(ranks)) < rates[ranks - 1], N)


def alarms(rates: np.ndarray) -> int:
    return sum(growth(sampled(rates, seed), EDGES, 20, 1, ALPHA) is not None for seed in range(REPEATS))


@pytest.mark.parametrize("rate", [0.03, 0.5, pytest.param(0.9, marks=pytest.mark.slow)])
def test_equal_rates_are_seldom_taken_for_growing_ones(rate):
    assert alarms(np.full(N, rate)) <= LIMIT


def test_falling_rates_are_taken_for_growing_ones_more_seldom():
    assert alarms(0.9 - 0.5 * DEPTH) <= 1
    assert alarms(np.where(DEPTH < 0.1, 0.95, 0.4)) <= LIMIT


@pytest.mark.parametrize("rates", [0.4 + 0.5 * DEPTH, np.where((DEPTH > 0.1) & (DEPTH < 0.5), 0.3, 0.8)])
def test_growth_and_dips_are_found(rates):
    assert alarms(rates) > 0.9 * REPEATS
    first, last = growth(sampled(rates, 0), EDGES, 20, 1, ALPHA)
    assert rates[first:last].mean() > rates[:first].mean()


def test_growth_of_which_a_question_says_nothing_is_none():
    found = sampled(0.4 + 0.5 * DEPTH, 0)
    assert growth(found, EDGES, N, 1, ALPHA) is None
    assert growth(found, EDGES, 20, N, ALPHA) is None


@pytest.mark.parametrize("ranks", [[], [5], [1, 2, 3], [1, N]])
def test_a_few_labels_show_nothing(ranks):
    assert growth(RankedLabels(np.array(ranks, int), np.ones(len(ranks), bool), N), EDGES, 20, 1, ALPHA) is None


def test_a_band_does_not_lean_on_what_labels_speak_against():
    good = np.random.default_rng(0).random(4000) < 0.5 + 0.4 * np.arange(4000) / 4000
    question = ba.PrecisionCurve(epsilon=0.1, beta=1.2, slack=20, p_min=0.5)
    c = ba.assess(ba.RankedList(4000), question, seed=0)
    while not c.done:
        ranks = c.ask(500).ids
        c.tell(ranks, good[ranks - 1].astype(int))
    result, at = c.result(), np.arange(1, 4001)
    assert result.summary().splitlines()[2].startswith("The labels contradict the assumption")
    band, truth = result.at(at), np.cumsum(good) / at
    assert ((band.lower <= truth) & (truth <= band.upper)).all()
