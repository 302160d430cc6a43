"""Measures of one's own that are not what they say are refused before a label is paid for."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
import pytest

import bayes_assess as ba
from bayes_assess._tools.engine import xp
from bayes_assess.errors import QuestionError
from bayes_assess.measures import Measure, table_for
from bayes_assess.measures._made_once import made_once

POOL = ba.Pool(scores=[0.1, 0.4, 0.8, 0.9])


def alarms(**fields) -> Measure:
    """Make the share of false alarms among negatives, on either engine, with what a test has otherwise."""
    good = {
        "loss": lambda y, f: xp.stack([(1 - y) * f, 1 - y]),
        "g": lambda r: r[0] / r[1],
        "name": "alarms",
        "binary": True,
    }
    return Measure(**good | fields)


def slopes(r):
    return xp.stack([1 / r[1], -r[0] / r[1] ** 2])[None]


def test_a_measure_may_have_all_of_its_functions():
    known = {"derivative": slopes, "defined": lambda r: r[1] > 0, "elementwise": True, "bounded": True}
    table_for(alarms(**known), POOL)
    twice = {"g": lambda r: xp.stack([r[0] / r[1], r[1]]), "defined": lambda r: xp.stack([r[1] > 0, r[1] >= 0])}
    table_for(alarms(**twice, elementwise=True), POOL)


def test_a_measure_that_only_this_pool_leaves_without_a_value_is_no_fault():
    precision = alarms(loss=lambda y, f: xp.stack([y * f, f]), name="precision")
    table_for(precision, ba.Pool(predictions=[0, 0], classes=[0, 1]))


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"g": lambda r: jnp.sqrt(r[0] - 9)}, r"has no value, .* its g is not finite at \[.*\], nor at any other risk"),
        ({"defined": lambda r: r[0] > 9}, "has no value, .* its g is not finite, or not `defined`, at"),
        ({"g": lambda r: r[5]}, "g of measure 'alarms' cannot be evaluated: index 5 is out of bounds"),
        ({"g": lambda r: 1 / 0}, "g of measure 'alarms' cannot be evaluated: ZeroDivisionError: division by zero"),
        ({"loss": lambda y, f: {}["y"]}, "loss of measure 'alarms' cannot be evaluated: KeyError: 'y'"),
        ({"loss": lambda y, f: jnp.stack([1j * y])}, "loss of measure 'alarms' is of real numbers; found complex"),
        ({"defined": lambda r: r}, r"`defined` of measure 'alarms' .* to a bool, or to 1 of them; found shape \(2,\)"),
        ({"defined": lambda r: 1 / 0}, "defined of measure 'alarms' cannot be evaluated: ZeroDivisionError"),
        ({"derivative": lambda r: np.ones(3)}, r"of 1 outputs by 2 losses, shape \(1, 2\); found shape \(3,\)"),
        ({"derivative": lambda r: np.ones((1, 2))}, r"derivative of measure 'alarms' is not that of its g: .* JAX"),
        ({"derivative": lambda r: slopes(r) * np.nan}, "derivative of measure 'alarms' is not that of its g"),
        ({"g": lambda r: jnp.sum(r), "elementwise": True}, "is elementwise, but its g of risks of shape"),
        ({"defined": lambda r: (r[1] > 0).all(), "elementwise": True}, "is elementwise, but its defined of risks of"),
        ({"g": lambda r: 2 + r[0], "bounded": True}, r"says that it lies in \[0, 1\], but would be [23]"),
    ],
)
def test_what_a_measure_of_ones_own_gets_wrong_is_a_sentence(fields, message):
    with pytest.raises(QuestionError, match=message):
        table_for(alarms(**fields), POOL)


@pytest.mark.parametrize("made", [None, Measure(build=lambda n: None, name="inner")])
def test_a_measure_that_is_built_for_the_classes_is_a_measure(made):
    with pytest.raises(QuestionError, match=r"`build` of measure 'outer' returns a Measure .*; of 2 classes found"):
        table_for(Measure(build=lambda n: made, name="outer"), POOL)


@made_once
def kept_by_someone() -> Measure:
    return alarms(g=lambda r: 100 * r[0], bounded=True)


def test_a_measure_of_ones_own_that_is_made_once_is_looked_at_too():
    assert kept_by_someone().is_own
    assert not ba.measures.measure("f1").is_own
    with pytest.raises(QuestionError, match=r"says that it lies in \[0, 1\]"):
        table_for(kept_by_someone(), POOL)
