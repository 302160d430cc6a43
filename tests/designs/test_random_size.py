"""What holds of both designs whose batches have a random size: totals, intervals, exact answers, refusals."""

from __future__ import annotations

import numpy as np
import pytest

import bayes_assess as ba
from bayes_assess.designs import Importance, Poisson
from bayes_assess.errors import DesignError
from designs.random_size import F1, LABELS, POOL, PREDICTED, rounds, told, totals_and_truth

# Expected labels of batches, and designs as [SEME] has them.
PUBLISHED = {
    "importance": Importance(n_strata=16, lam=0.9, epsilon=1e-9, floor=0.0, size="random"),
    "poisson": Poisson(n_strata=16, floor=0.0, size="random"),
}
both = pytest.mark.parametrize("kind", [Importance, Poisson])


# Over one round of importance sampling: `test_importance_random.py`.
@pytest.mark.slow
@pytest.mark.parametrize("name", ["poisson", "importance"])
def test_totals_are_unbiased_over_rounds_of_unlike_sizes(name):
    on, states = rounds(1_000, 15, 40, 5, design=PUBLISHED[name])
    totals = totals_and_truth(on, states)
    for found, full in totals:
        assert abs(found.mean() - full) < 4 * found.std() / np.sqrt(len(found))
    if name == "poisson":  # their variances are estimated
        memory, attribute = states.memory, np.asarray(on.reward.attribute)
        variances = np.asarray(memory.other_squares) / np.asarray(memory.weight)[:, None, None] ** 2
        hits, _ = totals[-1]
        assert variances[:, attribute == 1, 1].sum(1).mean() == pytest.approx(hits.var(), rel=0.15)


KINDS = {"importance": (Importance, {"lam": 0.9}), "poisson": (Poisson, {})}
SOME, ALL = ("ratio",), ("ratio", "cautious", "beta")


# Of accuracy, whose denominator is known, and of Poisson sampling the quick tests hold the interval of one batch.
@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "name", "repeats", "intervals"),
    [
        ("importance", "f1", 100, SOME),
        *((kind, name, 300, ALL) for kind in KINDS for name in ("f1", "accuracy")),
    ],
)
def test_intervals_cover_and_the_published_ones_are_the_shortest(kind, name, repeats, intervals):
    make, options = KINDS[kind]
    designs = {interval: make(n_strata=16, size="random", interval=interval, **options) for interval in intervals}
    study = ba.simulate(POOL, LABELS, ba.Metric(name), designs=designs, budgets=[40, 120], repeats=repeats, batch=40)
    width = {interval: np.diff(study.intervals[interval], axis=-1).mean() for interval in designs}
    for interval in set(intervals) - {"beta"}:
        assert (study.coverage[interval] > 0.95 - 4 * np.sqrt(0.05 * 0.95 / repeats)).all()
        assert width.get("beta", 0) < width[interval]
    if "beta" in intervals:
        assert (study.coverage["beta"] > 0.8).all()


@both
@pytest.mark.parametrize("interval", ["cautious", "beta", "ratio"])
@pytest.mark.parametrize("labels", [np.zeros(500, int), np.ones(500, int), PREDICTED], ids=["none", "all", "right"])
def test_one_kind_of_label_or_no_error_leaves_an_answer(kind, interval, labels):
    question = ba.Metric(["precision", "recall", "accuracy"])
    design = kind(n_strata=16, size="random", interval=interval)
    a = told((1, 60, 1), question, design=design, labels=labels)
    r, truth = a.result(), question.truth(POOL, labels)
    assert np.isfinite(r.estimate).all()
    assert np.isfinite(r.interval).all()
    assert (np.diff(r.interval, axis=1) > 0).all()
    if interval != "beta":
        assert ((r.interval[:, 0] <= truth + 1e-12) & (truth <= r.interval[:, 1] + 1e-12)).all()


@pytest.mark.parametrize("name", PUBLISHED)
def test_the_answer_is_exact_once_everything_is_labelled(name):
    a = told((300, 100), design=PUBLISHED[name])
    while not a.done:
        queries = a.ask(a.n_remaining)
        a.tell(queries.ids, LABELS[queries.ids])
    r = a.result()
    assert r.guarantee == "exact"
    assert r.estimate == pytest.approx(F1.truth(POOL, LABELS), abs=1e-12)


@both
def test_what_neither_can_do_is_refused_in_a_sentence(kind):
    with pytest.raises(DesignError, match="pass size='random'"):
        kind(interval="ratio")
    with pytest.raises(DesignError, match="'fixed' or 'random'"):
        kind(size="some")
    with pytest.raises(DesignError, match="ratio of sums over items"):
        ba.assess(POOL, ba.Metric("matthews_corrcoef"), design=kind(size="random", interval="ratio"))
    numbers = ba.Pool(predictions=[1.0, 2.0, 3.0], bounds=(0, 5))
    with pytest.raises(DesignError, match="labels that are classes"):
        ba.assess(numbers, ba.Metric("mae"), design=kind(size="random"))
