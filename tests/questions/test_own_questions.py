"""Questions of one's own whose methods return what they must not are told so in a sentence."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
import pytest

import bayes_assess as ba
from bayes_assess.errors import QuestionError

N = 60
POOL = ba.Pool(predictions=["a", "b"] * (N // 2), groups={"site": np.repeat(["x", "y"], N // 2)})
LABELS = np.array(["a", "a", "b"] * (N // 3))


class Named(ba.GroupAccuracy):
    """How often is the label what a function says?"""

    asks: ClassVar[str] = "How often is the label b{of_every}?"
    found: ClassVar[Callable[..., Any]]
    believed: ClassVar[Callable[..., Any] | None] = None

    def outcomes(self, pool, items, labels):
        """Return what the function says."""
        return type(self).found(labels)

    def estimate(self, cells, prior, counts):
        """Return the usual estimate, or another."""
        if type(self).believed is None:
            return super().estimate(cells, prior, counts)
        return type(self).believed(cells.n_cells)


def asked(found, believed=None):
    kind = type("Own", (Named,), {"found": staticmethod(found), "believed": believed and staticmethod(believed)})
    return ba.assess(POOL, kind(by="site"), design="random", seed=0)


def answered(a):
    ids = a.ask(20).ids
    a.tell(ids, LABELS[ids])
    return a.result()


def test_outcomes_may_be_booleans_which_count_as_0_and_1():
    one, other = (answered(asked(found)) for found in (lambda y: y == 1, lambda y: (y == 1).astype(int)))
    np.testing.assert_array_equal(one.estimate, other.estimate)
    np.testing.assert_array_equal(one.counts, other.counts)


@pytest.mark.parametrize(
    "found",
    [
        lambda y: y.astype(float),
        lambda y: y - 1,
        lambda y: y[:-1],
        lambda y: np.zeros((len(y), 2), int),
        lambda y: None,
        lambda y: np.full(len(y), np.nan),
    ],
    ids=["floats", "negative", "too-few", "two-columns", "nothing", "nan"],
)
def test_outcomes_are_an_integer_from_0_for_every_item(found):
    with pytest.raises(QuestionError, match=r"`outcomes` of Own returns an integer from 0 for every item; of 20 items"):
        answered(asked(found))


def test_outcomes_are_those_that_the_question_counts():
    with pytest.raises(QuestionError, match=r"`outcomes` of Own are from 0 to 1, as it counts 2 of them; found 2"):
        answered(asked(lambda y: y + 1))


@pytest.mark.parametrize(
    ("believed", "message"),
    [
        (lambda k: np.full(k, np.nan), "`estimate` of Own returns finite numbers; found .*nan"),
        (lambda k: None, "`estimate` of Own returns finite numbers; found None"),
    ],
)
def test_estimates_are_finite(believed, message):
    with pytest.raises(QuestionError, match=message):
        _ = answered(asked(lambda y: y, believed)).estimate
