"""AdaStrat, LogStrat and PAULA: which ranks are queried, how many labels that takes, and what is known then."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from acquisition.ranked_lists import precision_of, ranked_list, slack_of
from bayes_assess.acquisition.precision_curve import (
    adastrat,
    bisect,
    geometric_ranks,
    logstrat,
    prefix_length,
    random_prefix,
    strata_needed,
    telling_ranks,
)
from bayes_assess.acquisition.precision_envelope import Envelope
from bayes_assess.errors import DesignError
from bayes_assess.estimators.precision_bounds import samples_per_point
from bayes_assess.estimators.ranked_labels import RankedLabels
from published import hoeffding_radius

PAPER = [(35_615 * times, n) for times, n in [(1, 78), (10, 156), (100, 234), (1000, 312)]]


def falling(n_items):
    """Precision of a list whose density falls linearly from 0.9 to 0.1, in closed form."""
    return lambda r: 0.9 - 0.4 * r / n_items


@pytest.mark.parametrize("method", [adastrat, logstrat])
def test_exact_queries_give_the_curve_within_the_factor(method):
    rng, n_worth = np.random.default_rng(3), 0
    for _ in range(150):
        n_items, epsilon = int(rng.integers(500, 3000)), float(rng.choice([0.1, 0.25]))
        p, start = precision_of(ranked_list(rng, n_items)), 20
        slack = slack_of(p, start)
        prefix = prefix_length(epsilon, slack, start)
        if prefix >= n_items or p[prefix - 1] == 0:
            continue
        asked = []

        def query(rank, p=p, asked=asked):
            asked.append(rank)
            return p[rank - 1]

        ranks, envelope = method(
            query, n_items, p[prefix - 1], epsilon=epsilon, slack=slack, prefix=prefix, monotone_from=start
        )
        v = np.arange(prefix, n_items + 1)
        low, high, truth = envelope.lower_at(v), envelope.upper_at(v), p[prefix - 1 :]
        assert (low <= truth + 1e-12).all()
        assert (truth <= high + 1e-12).all()
        assert envelope.gaps().max() <= (1 + epsilon) ** 2 * (1 + 1e-9)
        assert np.abs(np.log(np.sqrt(low * high) / truth)).max() <= math.log1p(epsilon) + 1e-9
        assert sorted(asked) == ranks.tolist()  # each once
        assert ranks[-1] == n_items
        assert len(ranks) <= max(1.0, math.log(n_items / prefix) / math.log1p(epsilon))  # [ADA] Theorem 4
        n_worth += len(ranks) > 2
    assert n_worth > 20


@pytest.mark.parametrize(("n_items", "n_queries"), PAPER)
def test_logstrat_queries_as_often_as_in_the_paper(n_items, n_queries):
    ranks = geometric_ranks(n_items, 3492, 0.03)
    assert len(ranks) == n_queries
    ends = np.append(3492, ranks)
    assert ends[-1] == n_items
    assert (ends[1:] <= 1.03**2 * ends[:-1]).all()
    s = samples_per_point(n_queries, 1.05, 0.05, 0.5)
    published = {78: 18_000, 156: 35_000, 234: 53_000, 312: 72_000}[n_queries]
    assert 3492 + strata_needed(ranks, 3492, s).sum() == pytest.approx(published, rel=0.05)


def test_adastrat_queries_a_falling_curve_about_20_times_whatever_its_length():
    for n_items in (35_615, 35_615_000, 10**9):
        query = falling(n_items)
        ranks, envelope = adastrat(query, n_items, query(3492), epsilon=0.03, slack=100, prefix=3492)
        assert 10 <= len(ranks) <= 21
        assert envelope.height(3492, n_items) <= 1.03**2
        v = np.unique(np.geomspace(3492, n_items, 2000).astype(np.int64))
        truth = np.array([query(rank) for rank in v.tolist()])  # no whole numbers of positives: up to one item off
        assert (envelope.lower_at(v) <= truth + 1 / v).all()
        assert (truth <= envelope.upper_at(v) + 1 / v).all()


def test_rounds_query_what_algorithm_1_queries():
    """Depth first, as [ADA] has it."""
    n_items, prefix, epsilon, query = 10**7, 3492, 0.03, falling(10**7)
    known = {prefix: query(prefix), n_items: query(n_items)}

    def halve(left, right):
        ranks = np.array(sorted(known))
        p = np.array([known[rank] for rank in ranks.tolist()])
        height = Envelope(ranks, p, p, 100, n_items, prefix).height(left, right)
        if height <= (1 + epsilon) ** 2 or right / left <= (1 + epsilon) ** 2:
            return
        middle = round(math.sqrt(left * right))
        known[middle] = query(middle)
        halve(left, middle)
        halve(middle, right)

    halve(prefix, n_items)
    ranks, _ = adastrat(query, n_items, query(prefix), epsilon=epsilon, slack=100, prefix=prefix)
    assert sorted(known)[1:] == ranks.tolist()


def test_telling_ranks_bound_the_rest_as_every_rank_of_the_prefix_does():
    """[ADA] Algorithm 1 updates the envelope by all of them; and that is more than the last one says."""
    rng, sharper = np.random.default_rng(7), 0
    for _ in range(100):
        n_items, start = int(rng.integers(80, 400)), int(rng.integers(1, 10))
        p = precision_of(ranked_list(rng, n_items))
        slack = slack_of(p, start)
        prefix = int(rng.integers(start + 1, n_items // 2))
        end, beyond = p[n_items - 1], np.arange(prefix, n_items + 1)

        def envelope(ranks, p=p, prefix=prefix, n_items=n_items, slack=slack, start=start):
            known = np.append(np.union1d(ranks, [prefix]), n_items).astype(int)
            return Envelope(known, p[known - 1], p[known - 1], slack, n_items, start)

        telling = telling_ranks(p[:prefix], slack, start)
        every, some, last = envelope(np.arange(1, prefix)), envelope(telling), envelope([])
        for bound in ("upper_at", "lower_at"):
            np.testing.assert_allclose(getattr(some, bound)(beyond), getattr(every, bound)(beyond), atol=1e-12)
        assert (every.upper_at(beyond) >= p[prefix - 1 :] - 1e-12).all()
        assert end == pytest.approx(every.upper_at(beyond[-1:])[0])
        sharper += (every.upper_at(beyond) < last.upper_at(beyond) - 1e-9).any()
        if prefix > slack + start + 20:
            assert len(telling) < prefix / 2 + slack + 1
    assert sharper > 15


def test_an_interval_is_bisected_if_it_meets_neither_rule():
    ranks = np.array([100, 400, 900, 950])
    assert bisect(ranks, np.array([1.5, 1.5, 1.5]), 0.03).tolist() == [200, 600]
    assert bisect(ranks, np.array([1.5, 1.03**2, math.inf]), 0.03).tolist() == [200]
    assert bisect(np.array([1, 2]), np.array([math.inf]), 0.03).tolist() == []  # nothing in between


def simulated(rng, labels, prefix, *, beta, epsilon, delta, p_min, slack):
    """Play AdaStrat with iterative deepening and samples without replacement."""
    n_items, priority, told = len(labels), rng.random(len(labels)), np.arange(len(labels)) < prefix
    ranks = np.array([n_items])
    while True:
        s = samples_per_point(len(ranks), beta, delta, p_min)
        edges = np.append(prefix, ranks)
        for start, stop, n in zip(edges, ranks, strata_needed(ranks, prefix, s), strict=False):
            told[start + np.argsort(priority[start:stop])[:n]] = True
        found = RankedLabels(np.flatnonzero(told) + 1, labels[told], n_items)
        p = found.precision_at(edges)
        middle = bisect(edges, Envelope(edges, p, p, slack, n_items, prefix).gaps(), epsilon)
        if not len(middle):
            radius = found.radius_at(edges, delta / len(ranks))
            bounds = np.clip(p - radius, 0, 1), np.clip(p + radius, 0, 1)
            return (
                found,
                s,
                Envelope(edges, p, p, slack, n_items, prefix),
                Envelope(edges, *bounds, slack, n_items, prefix),
            )
        ranks = np.sort(np.append(ranks, middle))


def test_sampled_queries_hold_the_curve_as_often_as_claimed():
    n_items, options = 20_000, {"beta": 1.15, "epsilon": 0.1, "delta": 0.3, "p_min": 0.5}
    rate = np.linspace(0.95, 0.15, n_items)
    labels = np.diff(np.floor(np.cumsum(rate)), prepend=0.0) > 0
    p = precision_of(labels)
    slack = slack_of(p, 200)
    prefix = prefix_length(0.1, slack, 200)
    v = np.arange(prefix, n_items + 1)
    truth, rng, n = p[prefix - 1 :], np.random.default_rng(4), 30
    missed = off = 0
    for _ in range(n):
        found, s, estimate, band = simulated(rng, labels, prefix, slack=slack, **options)
        assert len(found.ranks) < n_items / 2
        edges, k = band.ranks, len(band.ranks) - 1
        widest = math.sqrt(math.log(2 * k / options["delta"]) / 2 / s)
        assert (found.radius_at(edges, options["delta"] / k) <= widest).all()  # no more than of s plain samples
        missed += bool(((truth < band.lower_at(v) - 1e-12) | (truth > band.upper_at(v) + 1e-12)).any())
        output = np.sqrt(estimate.lower_at(v) * estimate.upper_at(v))
        off += bool(np.abs(np.log(output / truth)).max() > math.log(1.15 * 1.1))
    assert max(missed, off) <= stats.binom.ppf(1 - 1e-6, n, options["delta"])


@settings(max_examples=50, deadline=None)
@given(st.sets(st.integers(101, 10**9), min_size=1, max_size=30), st.integers(1, 20_000))
def test_strata_reach_the_density_of_every_rank_and_then_the_radius_is_that_of_plain_samples(ranks, s):
    ends = np.array(sorted(ranks))
    sizes, n = np.diff(ends, prepend=100), strata_needed(ends, 100, s)
    assert ((n <= sizes) & ((n == sizes) | (n * ends >= sizes * s))).all()
    assert ((n - 1) * ends < sizes * s).all()  # and no label more
    sampled = np.where(n < sizes, n, 2**60)
    for i in range(len(ends)):
        radius = hoeffding_radius(sizes[: i + 1] / ends[i], sampled[: i + 1], 0.05)
        assert radius <= math.sqrt(math.log(40) / 2 / s) * (1 + 1e-9)


def test_random_sampling_takes_the_fewest_labels():
    n_items = 3_561_500
    s = samples_per_point(n_items, 1.05 * 1.03, 0.05, 0.5)

    def labels(n):
        return n + (n_items - n) * s / n

    n = random_prefix(n_items, s)
    assert labels(n) <= min(labels(0.99 * n), labels(1.01 * n))
    assert labels(n) == pytest.approx(284_000, rel=0.03)  # [ADA] Figure 3
    assert random_prefix(100, s) == 100


def test_the_prefix_makes_room_for_the_slack():
    for epsilon, slack in itertools.product([0.01, 0.03, 0.5], [1, 100, 5000]):
        prefix = prefix_length(epsilon, slack, 1)
        assert (1 - slack / prefix) * (1 + epsilon) ** 2 >= 1 - 1e-12
        if prefix > 1:
            assert (1 - slack / (prefix - 1)) * (1 + epsilon) ** 2 < 1
    assert prefix_length(0.03, 1, 500) == 500


def test_a_list_within_the_prefix_needs_no_query():
    assert len(geometric_ranks(100, 100, 0.1)) == 0
    for method in (adastrat, logstrat):
        ranks, envelope = method(lambda r: 0.5, 100, 0.7, epsilon=0.1, slack=3, prefix=100)
        assert len(ranks) == 0
        assert envelope.upper_at(np.array([100])) == [0.7]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: prefix_length(0.0, 1, 1), "epsilon"),
        (lambda: prefix_length(0.1, 0, 1), "slack"),
    ],
)
def test_arguments_out_of_range_are_refused(call, message):
    with pytest.raises(DesignError, match=message):
        call()
