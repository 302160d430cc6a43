"""Stratified estimates: collapsed strata, their estimates and variances."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import bayes_assess as ba
from bayes_assess.designs import Stratified
from bayes_assess.estimators.stratified import collapse, collapsed


def collapsed_by_hand(labels: np.ndarray, size: np.ndarray) -> list[int]:
    """The rule, stratum by stratum."""
    labelled = np.flatnonzero(labels)
    if not len(labelled):
        return [0] * len(labels)
    edges = np.append(0, np.cumsum(size))
    group, held, of = 0, 0, {}
    for b in labelled:
        group, held = (group + 1, 0) if held >= 2 else (group, held)
        held += labels[b]
        of[b] = group
    if held < 2 and group:
        of = {b: min(g, group - 1) for b, g in of.items()}
    found = []
    for b in range(len(labels)):
        middle = (edges[b] + edges[b + 1]) / 2
        gaps = [(0 if c == b else edges[c] - middle if c > b else middle - edges[c + 1], c) for c in labelled]
        found.append(of[min(gaps)[1]])
    return found


COLLAPSE = jax.jit(collapse)


@settings(deadline=None, max_examples=60)
@given(st.lists(st.tuples(st.sampled_from([0, 0, 1, 1, 2, 5]), st.integers(5, 40)), min_size=8, max_size=8))
def test_neighbouring_strata_collapse_until_each_has_two_labels(strata):
    labels, size = (np.array(column) for column in zip(*strata, strict=True))
    with jax.enable_x64(True):
        group = np.asarray(COLLAPSE(labels, size))
    np.testing.assert_array_equal(group, collapsed_by_hand(labels, size))
    assert (np.diff(group) >= 0).all()
    held = np.bincount(group, weights=labels)
    assert (held >= 2).all() or len(held) == 1


def test_estimate_and_variance_are_the_textbook_ones():
    labels, size = np.array([3, 0, 4]), np.array([20, 6, 30])
    values = [np.array([1.0, 0, 1]), np.array([0.0, 0, 1, 0])]
    with jax.enable_x64(True):
        found = jax.tree.map(np.asarray, collapsed(jnp.asarray(labels), jnp.asarray(size)))
    total, variance = 0.0, 0.0
    for g, (n_items, sample) in enumerate(zip([26, 30], values, strict=True)):
        assert float(found.per_label[g]) == pytest.approx(n_items / len(sample))
        total += float(found.spread[g] * (sample**2).sum() - (found.centre[g] * sample.sum()) ** 2)
        variance += n_items**2 * (1 - len(sample) / n_items) * sample.var(ddof=1) / len(sample)
    assert total == pytest.approx(variance)


def good_pool(n: int = 2000) -> tuple[ba.Pool, np.ndarray]:
    """Scores that rank well, and are far below the share of positives."""
    rng = np.random.default_rng(4)
    labels = (np.arange(n) % 6 == 0).astype(int)
    logit = rng.normal(3.5 * labels - 1.5, 1.2)
    return ba.Pool(scores=1 / (1 + np.exp(2.0 - logit)), predictions=(logit > 0).astype(int)), labels


@pytest.mark.slow  # the quick tests have the variance by its formula
@pytest.mark.parametrize("repeats", [100, 300])
def test_fewer_labels_than_strata_give_estimates_and_intervals_that_hold(repeats):
    pool, labels = good_pool()
    measures = ["recall", "accuracy"]
    study = ba.simulate(
        pool, labels, ba.Metric(measures), designs={"": Stratified()}, budgets=[100, 250], repeats=repeats, batch=5
    )
    error = study.estimates[""] - study.truth
    standard_error = error.std(0, ddof=1) / np.sqrt(repeats)
    assert (np.abs(error.mean(0)) < 3 * standard_error + [[0.01, 0], [0.004, 0]]).all()  # recall: a ratio of few labels
    hits = ((study.intervals[""][..., 0] <= study.truth) & (study.truth <= study.intervals[""][..., 1])).sum(0)
    assert (hits >= stats.binom.ppf(1e-3, repeats, 0.93)).all()
    # Strata explain much of what the labels are: proportional allocation gains that, and the intervals say so.
    width = np.diff(study.intervals[""], axis=-1)[..., 1, 1, 0].mean()
    accuracy = study.truth[1]
    assert width < 0.95 * 2 * 1.96 * np.sqrt(accuracy * (1 - accuracy) / 250 * (1 - 250 / 2000))
