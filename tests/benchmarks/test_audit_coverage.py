"""Tests of the audit of intervals: cases of every question, truths, and tables that find what holds too seldom."""

import numpy as np
import pytest
from _audit_answers import BAND, Said, verdicts
from _audit_questions import CASES
from _audit_worlds import KIND_OF, made
from _rows import read_rows
from audit_coverage import campaign, low, main, report, tally

import bayes_assess as ba
from bayes_assess.measures import MEASURES
from bayes_assess.questions import QUESTIONS


def said(held: bool, width: float = 0.2, guarantee: str = "credible") -> Said:
    ends = np.array([[0.5, 0.5 + width]])
    return Said(ends.mean(1), ends, np.array([0.5 if held else 0.4]), guarantee)


def test_every_question_and_every_measure_of_labels_has_a_case():
    assert {case.registered for case in CASES.values()} == set(QUESTIONS)
    of_numbers = CASES["numbers"].make(made("told errors", 0)).measure
    assert set(MEASURES) - set(CASES) == set(of_numbers)


def test_pools_of_a_seed_are_the_same_and_of_another_one_others():
    for world in ("calibrated", "six classes", "fair judge", "falling", "sets, rare", "fitted, more classes"):
        one, again, other = made(world, 0), made(world, 0), made(world, 1)
        np.testing.assert_array_equal(one.labels, again.labels)
        assert one.labels.shape != other.labels.shape or (one.labels != other.labels).any()
    assert not made("no positives", 3).labels.any()
    assert made("rare positives", 3).labels.sum() == 15
    right = made("all right", 3)
    assert (right.pool.predictions == right.labels).all()
    assert set(KIND_OF) == {world for case in CASES.values() for world in case.worlds} | {"uneven groups"}


def test_intervals_that_miss_are_counted_and_points_that_hold_are_left_out():
    campaigns = [[({"answer": said(one)}, [])] for one in [True] * 6 + [False] * 4] + [
        [({"answer": said(True, 0.0)}, [])]
    ]
    ((found,), _) = tally(campaigns)
    assert (found["n"], found["coverage"], found["broken"]) == (10, 0.6, 0)
    assert found["se"] == pytest.approx(np.sqrt(0.6 * 0.4 / 9), abs=1e-4)
    assert low(found)
    assert not low(found | {"coverage": 0.75})  # 9 of 10 are promised, and two standard errors are .19
    assert low(found | {"coverage": 0.75, "guarantees": {"anytime": 10}})
    assert low(found | {"coverage": 0.75, "of": 100, "se": 0.05})  # of groups: as 75 intervals apart


def test_a_point_that_misses_and_an_estimate_outside_are_found():
    outside = Said(np.array([0.9]), np.array([[0.4, 0.6]]), np.array([0.5]), "credible")
    ((found,), _) = tally([[({"answer": one}, [])] for one in (said(False, 0.0), outside)])
    assert (found["n"], found["coverage"], found["broken"]) == (2, 0.5, 1)


@pytest.mark.parametrize(("guarantee", "share", "of"), [(BAND, 0.0, 1), ("credible", 0.5, 2)])
def test_bands_are_counted_whole_and_credible_intervals_rank_by_rank(guarantee, share, of):
    held, missed = said(True, guarantee=guarantee), said(False)
    both = Said(*(np.concatenate(parts) for parts in zip(held[:3], missed[:3], strict=True)), guarantee)
    ((found,), _) = tally([[({"precision": both}, [])]])
    assert (found["coverage"], found["of"]) == (share, of)


def test_verdicts_are_right_by_the_truth_and_the_rope():
    pool, labels = made("calibrated", 0)[:2]
    a = ba.assess(pool, ba.Compare("new", "prediction", rope=0.0))
    a.tell(pool.ids, labels)
    result = a.result()
    assert verdicts(result, result.estimate) == [(1.0, True)]
    assert verdicts(result, -np.asarray(result.estimate)) == [(1.0, False)]


def test_a_campaign_looks_twice_at_answers_beside_their_truth():
    looks = campaign(CASES["accuracy by site"], "random", "calibrated", 0, 0.5)
    world = made("calibrated", 0)
    right, site = world.pool.predictions == world.labels, world.pool.groups["site"]
    for found, _ in looks:
        np.testing.assert_allclose(found["answer"].truth, [right[site == s].mean() for s in np.unique(site)])
        assert found["overall"].truth == pytest.approx(right.mean())
    assert np.diff(looks[1][0]["overall"].interval) < np.diff(looks[0][0]["overall"].interval)


def test_worlds_of_two_classes_can_be_left_without_scores():
    scored, alone = made("calibrated", 3), made("calibrated", 3, scored=False)
    assert alone.pool.scores is None
    for one, other in ((scored.pool.predictions, alone.pool.predictions), (scored.labels, alone.labels)):
        np.testing.assert_array_equal(one, other)
    for name in ("new", "old"):
        np.testing.assert_array_equal(scored.pool.system_codes(name), alone.pool.system_codes(name))
    np.testing.assert_array_equal(scored.pool.groups["site"], alone.pool.groups["site"])


def test_rows_are_written_once_and_reported(tmp_path, capsys):
    rows = str(tmp_path / "rows.jsonl")
    for _ in range(2):
        main(["--rows", rows, "--questions", "f1", "--designs", "passive", "--worlds", "calibrated", "--repeats", "3",
              "--more", "3"])  # fmt: skip
    ((row,), text) = read_rows(rows), capsys.readouterr().out
    assert (row["campaigns"], row["world"], text.count("f1, passive, calibrated")) == (3, "calibrated", 1)
    assert "| Metric | 1 | 1 | 1 | 3 |" in report([row], 10)
    assert "| f1 | 1 | 1 | 1 | 3 |" in report([row], 10, each=True)
    missed = row | {"found": [one | {"coverage": 0.0, "se": 0.0} for one in row["found"]]}
    assert "| f1 | passive | calibrated | 1 | answer | 0.00 |" in report([missed], 10)
