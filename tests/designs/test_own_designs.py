"""Designs of one's own whose steps return what they must not are told so in a sentence."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import jax.numpy as jnp
import numpy as np
import pytest

import bayes_assess as ba
from bayes_assess.designs import ArmDesign, WithReplacement

POOL = ba.Pool(scores=[0.1, 0.3, 0.4, 0.6, 0.8, 0.9], groups={"site": ["x", "y", "x", "y", "x", "y"]})
QUESTION = ba.GroupAccuracy(by="site")


@dataclass(frozen=True)
class Played(ArmDesign):
    """Plays what a function of its state says."""

    name: ClassVar[str] = "played"
    function: Callable = lambda state: jnp.zeros(1, int)
    rounds: object = 1

    def arms_per_round(self, reward):
        """Say how many that are."""
        return self.rounds

    def play(self, key, state):
        """Play it."""
        return self.function(state)


@dataclass(frozen=True)
class Proposed(WithReplacement):
    """Proposes what a function of its state says."""

    name: ClassVar[str] = "proposed"
    function: Callable = lambda state: jnp.ones(state.items.shape)

    def propose(self, state):
        """Propose it."""
        return self.function(state)


@dataclass(frozen=True)
class Nameless(ArmDesign):
    """Has no name."""

    def play(self, key, state):
        """Play the first group."""
        return jnp.zeros(1, int)


def test_what_steps_may_return():
    assert len(ba.assess(POOL, QUESTION, design=Played()).ask(3)) == 3
    assert len(ba.assess(POOL, ba.Metric("f1"), design=Proposed()).ask(3)) == 3


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda state: jnp.full(1, 9), "has chosen cell 9 of 2, which are numbered from 0"),
        (lambda state: jnp.full(1, -1), "has chosen cell -1 of 2, which are numbered from 0"),
        (lambda state: jnp.full(1, 0.5), r"an array of integers of shape \(1,\); found an array of float"),
        (lambda state: None, r"`play` of design 'played' returns .* of shape \(1,\); found None"),
        (lambda state: 0, r"an array of integers of shape \(1,\); found 0"),
        (lambda state: np.argmax(np.asarray(state.left))[None], "`play` of design 'played' cannot be compiled by JAX"),
        (lambda state: jnp.zeros(1, int) if state.left[0] > 1 else jnp.ones(1, int), "jnp.where in the place of if"),
    ],
)
def test_arms_that_are_no_groups_are_refused(function, message):
    a = ba.assess(POOL, QUESTION, design=Played(function))
    with pytest.raises(ba.DesignError, match=message):
        a.ask(2)
    assert a.n_pending == 0


@pytest.mark.parametrize("rounds", [0, "1", True, 1.0])
def test_the_number_of_arms_is_a_whole_number(rounds):
    with pytest.raises(ba.DesignError, match=r"`arms_per_round` of design 'played' is a whole number from 1; found"):
        ba.assess(POOL, QUESTION, design=Played(rounds=rounds))


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda state: jnp.ones(3), r"`propose` of design 'proposed' .* of shape \(2, 3\); found shape \(3,\)"),
        (lambda state: None, r"of shape \(2, 3\); found None"),
        (lambda state: np.ones(np.asarray(state.items).shape), "`propose` of design 'proposed' cannot be compiled"),
    ],
)
def test_proposals_of_another_shape_are_refused(function, message):
    with pytest.raises(ba.DesignError, match=message):
        ba.assess(POOL, ba.Metric("f1"), design=Proposed(function=function))


def test_a_design_without_a_name_is_refused():
    with pytest.raises(ba.DesignError, match=r"A design has a name, .*; Nameless\(\) has none"):
        ba.assess(POOL, QUESTION, design=Nameless())
