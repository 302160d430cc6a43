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


@pytest.mark.parametrize(("grouped", "of_items"), [(with_groups, GROUP), (with_votes, VOTES)])
def test_shares_of_cells_count_alike_items_as_often_as_there_are(grouped, of_items):
    counted = grouped(EMPTY, of_items, CELL, TIMES).groups
    listed = grouped(EMPTY, np.repeat(of_items, TIMES, axis=0), np.repeat(CELL, TIMES)).groups
    np.testing.assert_allclose(counted, listed, rtol=1e-6)
    assert np.abs(counted - grouped(EMPTY, of_items, CELL).groups).max() > 0.1


def test_shares_of_groups_are_those_of_the_items_of_a_cell():
    found = with_groups(EMPTY, GROUP, CELL, TIMES).groups
    np.testing.assert_allclose(found, [[0.5, 0.1, 0.4], [7 / 9, 0, 2 / 9], [0, 1, 0]], rtol=1e-6)


@pytest.mark.parametrize(
    ("n_groups", "n_kinds", "few", "many"),
    [(3, 20, 23, None), (3, 30, 3, "kind"), (30, 3, 3, "group"), (14, 15, 15, "group"), (30, 40, 0, "pair")],
)
def test_groups_of_two_kinds_have_effects_side_by_side(n_groups, n_kinds, few, many):
    cell = np.arange(60) % 50
    group, kind = cell % n_groups, cell // 2 % n_kinds
    group[0], kind[1] = n_groups - 1, n_kinds - 1  # all occur
    group[50], kind[51] = group[0], kind[1]
    empty = EMPTY._replace(groups=np.zeros((50, 0)), feature=np.zeros(50))
    found = with_groups(empty, group, cell, kind=kind)
    assert found.groups.shape == (50, few)
    if many is None:
        np.testing.assert_allclose(found.groups, np.hstack([np.eye(20)[kind[:50]], np.eye(3)[group[:50]]]))
        return
    expected = {"group": group, "kind": kind, "pair": group * 100 + kind}[many][:50]
    same = np.equal.outer(expected, expected)
    np.testing.assert_array_equal(np.equal.outer(found.many, found.many), same)


@pytest.mark.parametrize("n_systems", [2, 3, 5])
def test_effects_of_systems_prefer_none_of_them(n_systems):
    """Items that one system alone predicts positive: any two systems differ alike, and all together not at all."""
    alone, score = np.eye(n_systems, dtype=bool), np.linspace(0.3, 0.6, n_systems)
    ranked = RankedScore(score, alone[0], alone[1:])
    found = coordinates_of(ranked, np.arange(n_systems), np.ones(n_systems, int)).groups
    np.testing.assert_allclose(found.T @ found, np.eye(n_systems - 1), atol=1e-6)
    np.testing.assert_allclose(found.sum(0), 0, atol=1e-6)
