"""Messages show values as users wrote them, whatever NumPy made of them in between, in sentences."""

import numpy as np
import pytest

import bayes_assess as ba
from bayes_assess.designs import Adaptive, BayesUCB, EpsilonGreedy, Oasis
from bayes_assess.measures import pr_curve

SITES = np.array(["x", "y", "y"])
POOL = ba.Pool(predictions=np.array(["cat", "dog", "dog"]), groups={"site": SITES})
CALLS = {
    "pool ids": (lambda: ba.Pool(predictions=[0, 1], ids=np.array([280, 280])), "280"),
    "unknown id": (lambda: POOL.positions(np.array([280])), "280"),
    "label": (lambda: POOL.label_codes(np.array(["cow"])), "'cow'"),
    "score": (lambda: ba.Pool(scores=np.array([0.2, 1.5])), "1.5"),
    "bins": (lambda: ba.ScoreBins(np.int64(-280)), "-280"),
    "strata": (lambda: ba.Strata(np.int64(0)), "not 0"),
    "seed of cells": (lambda: ba.cells(POOL, seed=np.int64(-280)), "-280"),
    "seed": (lambda: ba.assess(POOL, ba.GroupAccuracy(), seed=np.float64(2.5)), "2.5"),
    "ask": (lambda: ba.assess(POOL, ba.GroupAccuracy()).ask(np.float64(2.5)), "2.5"),
    "level": (lambda: ba.assess(POOL, ba.GroupAccuracy()).result(level=np.float64(95.0)), "95.0"),
    "repeats": (lambda: simulated(repeats=np.float64(2.5)), "2.5"),
    "budgets": (lambda: simulated(budgets=np.array([280, 28])), r"\[280, 28\]"),
    "budgets in a list": (lambda: simulated(budgets=[np.int64(280), np.int64(28)]), r"\[280, 28\]"),
    "strength": (lambda: ba.BetaBernoulli.from_prior(np.float64(-2.5), n_groups=2), "-2.5"),
    "m": (lambda: ba.LeastAccurate(m=np.int64(0)), "found 0"),
    "rope": (lambda: ba.Compare(by="site", rope=np.float64(2.5)), "2.5"),
    "group": (lambda: ba.assess(POOL, ba.Compare(SITES[0], np.str_("z"), by="site")), "'z'"),
    "same group": (lambda: ba.Compare(SITES[0], SITES[0], by="site"), "'x'"),
    "cost": (lambda: ba.MostCostly(np.array(["a", "b"])), r"\['a', 'b'\]"),
    "positive": (lambda: ba.assess(POOL, ba.Metric("f1", positive=np.str_("cow"))), "'cow'"),
    "thresholds": (lambda: pr_curve(n=np.int64(1)), "n = 1"),
    "epsilon": (lambda: EpsilonGreedy(np.float64(2.5)), "2.5"),
    "quantile": (lambda: BayesUCB(quantile=np.float64(2.5)), "2.5"),
    "delta": (lambda: Adaptive(delta=np.float64(2.5)), "2.5"),
    "strength of strata": (lambda: Oasis(strength=np.float64(-2.5)), "-2.5"),
}


def simulated(**options):
    return ba.simulate(POOL, ["cat", "dog", "dog"], ba.GroupAccuracy(), **({"repeats": 2} | options))


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_messages_are_sentences_that_show_values_without_the_types_of_numpy(call):
    make, shown = call
    with pytest.raises(ba.BayesAssessError, match=shown) as caught:
        make()
    message = str(caught.value)
    assert "np." not in message
    assert "array(" not in message
    assert message[0].isupper()
    assert message.endswith(".")
