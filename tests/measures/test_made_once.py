"""Measures of the registry are pickled as the calls that make them."""

from __future__ import annotations

import pickle

import pytest

import bayes_assess as ba
from bayes_assess.measures import MEASURES, Measure, mean_of, measure


def again(one):
    return pickle.loads(pickle.dumps(one))


@pytest.mark.parametrize("name", MEASURES)
def test_a_measure_and_its_functions_are_the_same_objects_again(name):
    one = measure(name, **({"beta": 2} if name.startswith("fbeta") else {}))
    fixed = [one] if one.real or one.ranking else [one, one.for_classes(2), one.for_classes(3)]
    for made in fixed:
        assert again(made) is made
        for function in (made.loss, made.g, made.defined, made.derivative, made.ranking):
            assert again(function) is function


def test_functions_that_measures_share_are_equal_whichever_has_made_them():
    one, other = (measure(name).for_classes(3) for name in ("f1_macro", "f1_per_class"))
    assert one.loss == other.loss
    assert hash(one.loss) == hash(other.loss)
    assert one.g != other.g
    assert measure("accuracy").loss is measure("zero_one_loss").loss


def test_means_of_numbers_are_the_same_again():
    assert again(mean_of((1.0, 2.0))) is mean_of((1.0, 2.0))


def test_questions_are_asked_again_elsewhere():
    question = again(ba.Metric(["f1", measure("fbeta", beta=2)]))
    assert question.name == "Metric(f1, fbeta(2))"
    assert again(ba.Metric(measure("recall"))).measure is measure("recall")


def first_loss(risk):
    return risk[0]


def label_alone(y, f):
    return y[None]


def test_measures_of_ones_own_are_pickled_if_their_functions_can_be():
    own = again(Measure(loss=label_alone, g=first_loss, name="own", binary=True))
    assert (own.name, own.g, own.binary) == ("own", first_loss, True)
    with pytest.raises((AttributeError, pickle.PicklingError)):
        pickle.dumps(Measure(loss=label_alone, g=lambda risk: risk[0], name="own", binary=True))
