"""Derivatives in closed form are those that JAX finds, and measures that take batches work on them entry by entry."""

from __future__ import annotations

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import bayes_assess as ba
from bayes_assess._tools import engine
from bayes_assess.errors import QuestionError
from bayes_assess.measures import MEASURES, difference_table, table_for

RNG = np.random.default_rng(4)
SEVERAL = ("f1_macro", "matthews_corrcoef")


def tables():
    """Yield every measure of the registry on pools of two and four classes, of two systems and in two groups.

    Each is compiled on its own: all measures alone, and some of every other kind, are in the quick tests.
    """
    seen = set()
    for n_classes in (4, 2):
        labels = np.arange(40) % n_classes
        pool = ba.Pool(
            scores=np.full((40, n_classes), 1 / n_classes),
            predictions=labels,
            groups={"half": np.arange(40) % 3 == 0},
            systems={"other": np.roll(labels, 1)},
        )
        for name in MEASURES:
            for options in ({}, {"systems": ["prediction", "other"]}, {"by": "half"}):
                try:
                    table = table_for(name, pool, **options)[1]
                except QuestionError:  # not of so many classes, or of scores that other systems lack
                    continue
                if table.parts:
                    kind = next(iter(options), "plain")
                    soon = (kind == "plain" and name not in seen) or (name in SEVERAL and n_classes == 2)
                    marks = [] if soon else pytest.mark.slow
                    seen.add(name)
                    yield pytest.param(table, id=f"{name}-{n_classes}-{kind}", marks=marks)
                    if len(table.outputs) == 2 and len(table.parts[0].starts) == 2 and table.parts[0].averaged == 1:
                        marks = [] if name in SEVERAL and n_classes == 2 else pytest.mark.slow
                        yield pytest.param(
                            difference_table(table, 0, 1), id=f"{name}-{n_classes}-difference", marks=marks
                        )


TABLES = list(tables())
CLOSED = [case for case in TABLES if any(part.derivative is not None for part in case.values[0].parts)]
BATCHED = [case for case in TABLES if all(part.elementwise for part in case.values[0].parts)]


def risks(table, n=5):
    """Return shares of cells whose losses are risks that can be."""
    share = RNG.dirichlet(np.ones(table.nonzero.size), n).reshape(n, *table.nonzero.shape)
    with engine.eager():
        return table.mean(share)


def test_the_registry_has_closed_forms_and_batches():
    assert len(TABLES) > 200
    assert CLOSED == BATCHED == TABLES


@pytest.mark.parametrize("table", CLOSED)
def test_derivatives_in_closed_form_are_those_that_jax_finds(table):
    by_jax = [replace(part, derivative=None) for part in table.parts]
    for risk in (*risks(table), np.zeros(table.n_losses)):  # also where there is nothing to divide by
        with engine.eager():
            found = table.jacobian(risk)
        assert isinstance(found, np.ndarray)
        with jax.enable_x64(True):
            expected = replace(table, parts=tuple(by_jax)).jacobian(jnp.asarray(risk))
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("average", [None, "macro"])
def test_ratios_and_means_of_all_groups_are_differentiated_at_once(average):
    pool = ba.Pool(scores=np.full(600, 0.4), predictions=np.arange(600) % 2, groups={"site": np.arange(600) % 300})
    table = table_for(["recall", "f1", "jaccard", "accuracy", "rate"], pool, by="site", average=average)[1]
    calls = []

    def counted(of):
        return lambda risk: (calls.append(risk.shape), of(risk))[1]

    at_once = replace(table, parts=tuple(replace(part, derivative=counted(part.derivative)) for part in table.parts))
    one_by_one = replace(table, parts=tuple(replace(part, at_once=False) for part in table.parts))
    for risk in (*risks(table, 2), np.zeros(table.n_losses)):
        with engine.eager(), np.errstate(all="raise"):
            np.testing.assert_array_equal(at_once.jacobian(risk), one_by_one.jacobian(risk))
    assert len(calls) == 3 * 5


@pytest.mark.parametrize("table", BATCHED)
def test_batches_are_computed_entry_by_entry(table):
    batch = risks(table, 6).reshape(2, 3, -1)
    apart = replace(table, parts=tuple(replace(part, elementwise=False) for part in table.parts))
    with engine.eager():
        values, defined = table.value(batch), table.defined(batch)
        np.testing.assert_allclose(values, apart.value(batch), rtol=1e-12)
        np.testing.assert_array_equal(defined, apart.defined(batch))
    assert values.shape == defined.shape == (2, 3, table.n_outputs)
    np.testing.assert_allclose(table.value(batch), values, rtol=1e-12)  # compiled


def test_a_measure_of_ones_own_is_computed_row_by_row_beside_batches():
    gap = ba.Measure(
        loss=lambda y, f: jnp.stack([y * f, (1 - y) * f]), g=lambda r: abs(r[0] - r[1]), name="gap", binary=True
    )
    pool = ba.Pool(scores=np.full(40, 0.4), predictions=np.arange(40) % 2)
    table = table_for(["f1", gap, "recall_per_class", "accuracy"], pool)[1]
    batch = risks(table, 6).reshape(2, 3, -1)
    assert [part.elementwise for part in table.parts] == [True, False, True, True]
    with engine.eager():
        values, defined = table.value(batch), table.defined(batch)
        for at in np.ndindex(2, 3):
            np.testing.assert_allclose(values[at], table.value(batch[at]), rtol=1e-12)
    assert defined.shape == values.shape == (2, 3, 5)
    np.testing.assert_allclose(table.value(batch), values, rtol=1e-12)  # compiled
