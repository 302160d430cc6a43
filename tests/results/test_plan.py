from __future__ import annotations

import math

import matplotlib.pyplot as plt
import numpy as np
import pytest
from scipy import stats

from bayes_assess.results.plan import Plan


def made(**changed):
    fields = {
        "question": "Metric(f1)",
        "design": "variance_reduction",
        "kind": "width",
        "goal": 0.05,
        "level": 0.95,
        "widest": False,
        "labels_used": 100,
        "n_items": 10_000,
        "budgets": np.array([100, 200, 400]),
        "paths": np.linspace([0.2] * 16, [0.02, *[0.045] * 15], 3).T,
        "needed": np.arange(100.0, 260.0, 10.0),
        "random": np.full(16, 934.0),
    }
    return Plan(**fields | changed)


def test_the_summary_is_one_sentence_with_the_range_and_what_random_labels_need():
    said = made().summary().splitlines()
    assert said[0] == (
        "About 180 more labels (100 to 240) until the 95% interval is 0.05 wide; random labels would need about 930 in "
        "all."
    )
    assert len(said) == 2


def test_one_label_is_no_labels():
    said = made(labels_used=1, budgets=np.array([1, 2]), paths=np.full((16, 2), 0.1), needed=np.ones(16)).summary()
    assert said.startswith("About 1 more label (1 to 1) until")
    assert "labels such as the 1 so far suggests;" in said
    unseen = {"kind": "probability", "needed": np.full(16, np.inf), "budgets": np.array([100, 101]), "random": None}
    assert "the futures 1 more label is enough until" in made(**unseen | {"paths": np.full((16, 2), 0.1)}).summary()


def test_labels_beyond_what_was_simulated_are_owned_up_to():
    assert "followed up to 400 labels" in made(needed=np.full(16, 350.0)).summary()


def test_verdicts_out_of_sight_are_infinite_and_said_to_be():
    few = made(kind="probability", goal=0.9, needed=np.r_[np.full(10, 50.0), np.full(6, np.inf)], random=None)
    assert few.labels.expected == 50
    assert math.isinf(few.labels.upper)
    assert few.summary().startswith("About 50 more labels (50 to over 300) until the verdict has the probability 0.9.")
    none = made(kind="probability", goal=0.9, needed=np.r_[np.full(4, 50.0), np.full(12, np.inf)], random=None)
    assert none.summary().startswith("In 25% of the futures 300 more labels are enough")


def test_unknown_random_labels_are_left_out():
    plan = made(random=np.r_[np.full(6, 900.0), np.full(10, np.nan)])
    assert plan.random_labels is None
    assert "random" not in plan.summary().splitlines()[0]


def test_the_range_allows_for_how_campaigns_differ_from_futures():
    """Of one number in all futures it is that of a log-normal variable, and no campaign needs more than all items."""
    spread = 0.3
    plan = made(needed=np.full(16, 1000.0), longer=1.2, spread=spread)
    ends = 1000 * np.exp(spread * stats.norm.ppf([0.05, 0.95]))
    # Of 15 parts of equal weight the end is the middle of the first, at a thirtieth, to the end of it, at a fifteenth.
    loosest, narrowest = (1000 * np.exp(spread * stats.norm.ppf([p, 1 - p])) for p in (1 / 30, 1 / 15))
    assert loosest[0] - 1 <= plan.labels.lower <= narrowest[0] + 1
    assert narrowest[1] - 1 <= plan.labels.upper <= loosest[1] + 1
    assert loosest[0] < ends[0] < narrowest[0]
    assert plan.labels.expected == 1000
    assert made(needed=np.full(16, 9_000.0), spread=spread).labels.upper == 9_900
    assert made(needed=np.full(16, 1000.0)).labels == (1000, 1000, 1000)
    assert made(needed=np.full(16, 300.0), spread=spread).table()["reached"][-1] == pytest.approx(0.5, abs=1 / 15)


def test_the_table_counts_the_futures_that_are_there():
    plan = made()
    table = plan.table()
    np.testing.assert_allclose(table["reached"], [0, 1 / 16, 1])
    assert list(plan.to_frame().columns) == ["labels", "width", "lower", "upper", "reached"]


def test_the_figure_marks_the_goal_the_present_and_the_labels_needed():
    axes = made().plot()
    goal, now = axes.lines[1], axes.lines[2]
    assert set(goal.get_ydata()) == {0.05}
    assert set(now.get_xdata()) == {100}
    (mark,) = (line for line in axes.lines if line.get_label() == "275 labels needed")
    assert mark.get_xdata() == [made().labels.expected + 100]
    assert axes.get_ylabel() == "width of the 95% interval"
    plt.close(axes.figure)


@pytest.mark.parametrize("used", [0, 1])
def test_a_first_plan_has_no_present_to_mark(used):
    axes = made(labels_used=used).plot()
    assert len(axes.texts) == 1 + used
    plt.close(axes.figure)
