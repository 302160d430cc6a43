"""Copies of answers, as they come from other processes and from files, say what the answers say."""

from __future__ import annotations

import copy
import pickle
import re

import numpy as np
import pytest

import bayes_assess as ba
from results.test_plain_values import ASKED

COPIES = {"copied": copy.deepcopy, "pickled": lambda result: pickle.loads(pickle.dumps(result))}
BELIEVED = ("f1_believed", "best", "rate_pairs")  # the rest by random items, or by groups
OTHERS = ("accuracy", "confusion", "curve", "measures_compared", "mean", "label_sets")
LABELLED = 12


@pytest.mark.parametrize("name", BELIEVED + OTHERS)
def test_copies_of_an_answer_say_the_same(name):
    pool, question, design, labels = ASKED[name]
    a = ba.assess(pool, question, design=None if name in BELIEVED else design)
    ids = a.ask(LABELLED).ids
    a.tell(ids, labels[ids])
    result = a.result()
    for copied in COPIES.values():
        other = copied(result)
        assert other.summary() == result.summary()
        assert str(other.table()) == str(result.table())
        np.testing.assert_array_equal(other.interval, result.interval)


@pytest.mark.parametrize("how", COPIES)
def test_copies_know_what_the_belief_is_about(how):
    """Whether random items had errors or positives among them follows from the curves, which copies have as others."""
    pool, _, _, labels = ASKED["accuracy"]
    a = ba.assess(pool, ba.Metric("accuracy"), seed=0)
    ids = a.ask(40).ids
    a.tell(ids, labels[ids])
    result = a.result()
    assert re.search(r"random labels? found .* errors?\.", result.summary())
    assert COPIES[how](result).summary() == result.summary()


@pytest.mark.parametrize("how", COPIES)
def test_copies_of_what_is_known_of_a_ranked_list_say_the_same(how):
    ranked = ba.RankedList(500, show={"text": ["a text"] * 500})
    a = ba.assess(ranked, ba.PrecisionCurve(p_min=0.5))
    ids = a.ask(LABELLED).ids
    a.tell(ids, ids % 2)
    assert COPIES[how](a.result()).summary() == a.result().summary()
