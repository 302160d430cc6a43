"""What curves know of cells does not depend on whether alike items are listed one by one or counted."""

from __future__ import annotations

import numpy as np
import pytest

from bayes_assess.models.curve_rates import Coordinates
from bayes_assess.pool.rank_strata import RankedScore
from bayes_assess.questions._curve_coordinates import coordinates_of, with_groups, with_votes

CELL = np.array([0, 0, 1, 1, 2, 2, 0])
TIMES = np.array([5, 1, 2, 7, 1, 30, 4])
GROUP = np.array([0, 1, 2, 0, 1, 1, 2])
VOTES = np.array([[1, 0], [0, 0], [1, 1], [0, 1], [1, 0], [0, 1], [1, 1]], bool)
NOTHING = {name: np.zeros((1, 3)) for name in ("place", "standard")}
EMPTY = Coordinates(
    **NOTHING, smooth=np.zeros((1, 3, 8)), feature=np.zeros(3), unit=np.ones(1), log_odds=0.0, groups=np.zeros((3, 0))
)


def of_groups(items, cell, times=None):
    return with_groups(EMPTY, cell, times, items).groups


def of_votes(items, cell, times=None):
    return with_votes(EMPTY, items, cell, times).groups


@pytest.mark.parametrize(("grouped", "of_items"), [(of_groups, GROUP), (of_votes, VOTES)])
def test_shares_of_cells_count_alike_items_as_often_as_there_are(grouped, of_items):
    counted = grouped(of_items, CELL, TIMES)
    listed = grouped(np.repeat(of_items, TIMES, axis=0), np.repeat(CELL, TIMES))
    np.testing.assert_allclose(counted, listed, rtol=1e-6)
    assert np.abs(counted - grouped(of_items, CELL)).max() > 0.1


def test_shares_of_groups_are_those_of_the_items_of_a_cell():
    found = of_groups(GROUP, CELL, TIMES)
    np.testing.assert_allclose(found, [[0.5, 0.1, 0.4], [7 / 9, 0, 2 / 9], [0, 1, 0]], rtol=1e-6)


@pytest.mark.parametrize(
    ("n_groups", "n_kinds", "few", "many"),
    [(3, 20, 23, None), (14, 15, 15, "group"), (3, 30, 24, "kind"), (14, 30, 24, "pair")],
)
def test_groups_and_kinds_of_items_have_effects_side_by_side(n_groups, n_kinds, few, many):
    cell = np.arange(450)
    group, kind = cell % n_groups, cell // n_groups % n_kinds
    assert np.bincount(kind, minlength=n_kinds).min() > 0
    empty = EMPTY._replace(groups=np.zeros((450, 0)), feature=np.zeros(450))
    found = with_groups(empty, cell, group=group, kind=kind)
    assert found.groups.shape == (450, few)
    if n_kinds <= 24:
        np.testing.assert_allclose(found.groups[:, :n_kinds], np.eye(n_kinds)[kind])
    if many is None or n_groups == 3:
        np.testing.assert_allclose(found.groups[:, -3:], np.eye(3)[group])
    if many is None:
        assert not len(found.many)
        return
    expected = {"group": group, "kind": kind, "pair": group * 100 + kind}[many]
    same = np.equal.outer(expected, expected)
    np.testing.assert_array_equal(np.equal.outer(found.many, found.many), same)


def test_scores_tell_more_in_some_of_many_groups_but_not_of_many_kinds():
    cell = np.arange(180)
    empty = EMPTY._replace(groups=np.zeros((180, 0)), feature=np.zeros(180))
    group, kind = cell % 12, cell % 15
    assert with_groups(empty, cell, group=group).group_effects == ("effect", "steepness")
    assert with_groups(empty, cell, kind=kind).group_effects == ("effect",)
    assert with_groups(empty, cell, group=group % 4, kind=kind % 9).group_effects == ("effect",)
    assert with_groups(empty, cell, group=group % 8).group_effects == ("effect", "steepness", "lapses")


def test_very_many_kinds_share_parameters_by_their_numbers_of_items():
    """Of 30 kinds with 1 to 30 items that of 1 is with that of 2, if those of like sizes are together."""
    kind = np.repeat(np.arange(30), np.arange(1, 31))
    cell = np.arange(len(kind))
    found = with_groups(EMPTY._replace(groups=np.zeros((len(cell), 0)), feature=np.zeros(len(cell))), cell, kind=kind)
    place = found.groups.argmax(1)
    assert found.groups.shape[1] == 24
    np.testing.assert_array_equal(np.sort(np.bincount(place[np.searchsorted(kind, np.arange(30))])), [1] * 18 + [2] * 6)
    assert (np.diff(place) >= 0).all()
    np.testing.assert_array_equal(found.many, kind)


@pytest.mark.parametrize("n_systems", [2, 3, 5])
def test_effects_of_systems_prefer_none_of_them(n_systems):
    """Items that one system alone predicts positive: any two systems differ alike, and all together not at all."""
    alone, score = np.eye(n_systems, dtype=bool), np.linspace(0.3, 0.6, n_systems)
    ranked = RankedScore(score, alone[0], alone[1:])
    found = coordinates_of(ranked, np.arange(n_systems), np.ones(n_systems, int)).groups
    np.testing.assert_allclose(found.T @ found, np.eye(n_systems - 1), atol=1e-6)
    np.testing.assert_allclose(found.sum(0), 0, atol=1e-6)


@pytest.mark.parametrize("power", [-900, 900, 1020])
def test_the_unit_of_scores_that_are_no_probabilities_does_not_matter(power):
    score, announced = np.random.default_rng(0).normal(size=12), np.arange(12) % 3 == 0
    cell = np.repeat(np.arange(4), 3)
    ranked = (RankedScore(x, announced) for x in (score, np.ldexp(score, power)))
    one, other = (coordinates_of(each, cell, np.bincount(cell)) for each in ranked)
    for name in ("place", "standard", "smooth", "feature"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
