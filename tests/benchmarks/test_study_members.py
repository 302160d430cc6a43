"""Tests of the study of sets of members: rows that resume, changed constants, tables worked out by hand."""

import json
from argparse import Namespace

import numpy as np
import pytest
import study_members
from _campaign_rows import scores_of
from _confidence_pools import pools as confidence_pools
from _known_rates import KNOWN, known_rates_row
from _members_tables import common_pools, left_out, report
from _padded import PaddedMetric
from _rows import Clock, Rows, by_budget, read_rows, sharded, write_csv
from study_members import cases, changed, main, using

import bayes_assess as ba
from bayes_assess.models.curve_members import AGREEMENT, POSITIVES
from bayes_assess.questions import _events

ZOO = """
import numpy as np

def pools(n, seed):
    for k in range(n):
        rng = np.random.default_rng([seed, k])
        score = rng.random(300)
        yield f"made-{k}", score, (score > 0.5).astype(int), (rng.random(300) < score).astype(int), {"hidden": 0.1 * k}
"""


def row(of: str, pool: str, score: list, rmse: list, coverage: list, kind: str = "zoo", hidden: float = 0.0) -> dict:
    facts = {"hidden": hidden} if kind == "zoo" else {}
    held = {
        "measure": "f1",
        "set": of,
        "pool": pool,
        "kind": kind,
        "campaigns": 2,
        "facts": facts,
        "budgets": [50, 100],
    }
    return held | {"score": score, "rmse": rmse, "coverage": coverage}


def test_rows_survive_a_torn_line_and_are_found_again(tmp_path):
    path = tmp_path / "rows.jsonl"
    rows = Rows(path, ("pool", "set"))
    rows.add({"pool": "a", "set": "x", "more": 1})
    with path.open("a") as file:
        file.write('{"pool": "b", "se')
    again = Rows(path, ("pool", "set"))
    assert {"pool": "a", "set": "x"} in again
    assert {"pool": "b", "set": "x"} not in again
    again.add({"pool": "b", "set": "x"})
    assert [one["pool"] for one in read_rows(path)] == ["a", "b"]


def test_rows_by_budget_have_one_line_each(tmp_path):
    path = tmp_path / "rows.csv"
    write_csv(by_budget([row("x", "a", [1.0, 0.5], [0.1, 0.05], [1, 1])]), path, ("pool", "labels", "score"))
    assert path.read_text() == "pool,labels,score\na,50,1\na,100,0.5\n"


def test_shards_are_a_partition_and_no_time_is_over_at_once():
    assert sorted([*sharded(range(7), "0/3"), *sharded(range(7), "1/3"), *sharded(range(7), "2/3")]) == list(range(7))
    with pytest.raises(SystemExit, match="i from 0 to n - 1"):
        list(sharded(range(3), "3/3"))
    assert Clock(0).over
    assert not Clock(None).over


def test_interval_scores_count_what_lies_outside_forty_times():
    intervals = np.array([[[0.4, 0.6]], [[0.6, 0.7]]])  # of two campaigns, around 0.5
    found = scores_of(np.array([[0.5], [0.6]]), intervals, 0.5)
    assert found["score"] == [pytest.approx((0.2 + 0.1 + 40 * 0.1) / 2)]
    assert found["coverage"] == [0.5]
    assert found["rmse"] == [pytest.approx(np.sqrt(0.005))]


def test_changed_priors_keep_their_values_and_the_others_their_proportions():
    found = changed(POSITIVES, ["weak.prior=0.4", "curve.bend=0.8"])
    assert found.prior[POSITIVES.names.index("weak")] == pytest.approx(0.4)
    assert found.prior.sum() == pytest.approx(1)
    assert found.prior[0] / found.prior[1] == pytest.approx(POSITIVES.prior[0] / POSITIVES.prior[1])
    assert found.bend[0] == np.float32(0.8)
    assert found.bend[2] == POSITIVES.bend[2] != np.float32(0.8)
    with pytest.raises(SystemExit, match=r"waek\.prior"):
        changed(POSITIVES, ["waek.prior=0.4"])


def test_questions_mix_the_members_of_the_study_and_the_packages_own_afterwards():
    pool, other = ba.Pool(scores=[0.2, 0.8]), changed(POSITIVES, ["weak.prior=0.4"])
    with using("POSITIVES", other):
        assert ba.Metric("f1").subject(pool).members is other
    assert ba.Metric("f1").subject(pool).members is POSITIVES
    agree = changed(AGREEMENT, ["all.bend=0.9"])
    with using("AGREEMENT", agree):
        three = ba.Pool(scores=[[0.2, 0.5, 0.3], [0.1, 0.1, 0.8]])
        subject = ba.Metric("accuracy").subject(three)
        assert subject.members is agree
        assert subject.about_agreement
    assert _events.AGREEMENT is AGREEMENT


def test_tables_have_the_numbers_worked_out_by_hand():
    rows = [
        row("base", "a", [0.1, 0.2], [0.02, 0.02], [1.0, 1.0]),
        row("base", "b", [0.4, 0.2], [0.08, 0.02], [0.5, 1.0], hidden=0.3),
        row("base", "c", [0.3, 0.3], [0.02, 0.02], [1.0, 0.8]),
        row("new", "b", [0.1, 0.1], [0.04, 0.02], [1.0, 1.0], hidden=0.3),
        row("new", "a", [0.2, 0.2], [0.02, 0.02], [1.0, 0.9]),  # in another order, and without c
    ]
    others = [
        ("oasis", "a", 0.04),
        ("adaptive", "a", 0.02),
        ("adaptive", "b", 0.04),
        (KNOWN, "a", 0.01),
        (KNOWN, "b", 0.02),
    ]
    rivals = [
        {"measure": "f1", "design": design, "pool": pool, "budgets": [50], "rmse": [rmse]}
        for design, pool, rmse in others
    ]
    lines = report(rows, rivals).splitlines()
    least = lines[lines.index("## against the least error if rates of all cells were known") :]
    assert least[4] == "| 50 | zoo | 2 | 0.25 ± 0 | base | 8 ± 6 | 10.00 |"  # (.01 / .02)^2; 2^2 and 4^2
    assert least[5] == "| 50 | zoo | 2 | 0.25 ± 0 | new | 4 ± 0 | 4.00 |"
    all_made = lines[lines.index("## made pools") :]
    # Scores: sqrt(.1 .4) = .2, and sqrt(.2 .1); of pairs sqrt(2 / 4). MSE: sqrt(1 4) = 2 and 1. An error of a
    # geometric mean by the jackknife of two: half of what lies between the two.
    assert "| 50 | base | 2 | 0.2 ± 0.1 | 1 ± 0 | 0.04 ± 0.03 | 2 ± 2 | 3.7 ± 1 | 4 | 0.75 ± 0.2 |" in all_made[4]
    assert all_made[5].startswith(
        "| 50 | new | 2 | 0.141 ± 0.05 | 0.707 ± 0.9 | 0.0283 ± 0.01 | 1 ± 0 | 1 ± 0 | 1 | 1 "
    )
    assert all_made[5].endswith("| 1 |")
    hidden = lines[lines.index("## made pools with hidden positives") :]
    assert hidden[4].startswith("| 50 | base | 1 | 0.4 | 1 | 0.08 | 4 | 4 | 4 | 0.5 | 0.5 | 0.5 |")


def test_the_least_error_of_one_cell_is_that_of_a_simple_random_sample():
    labels = np.arange(100) < 40
    pool = ba.Pool(scores=np.full(100, 0.7))
    found = known_rates_row(pool, labels.astype(int), "precision", [20, 50, 100])
    assert found["budgets"] == [20, 50]
    expected = [np.sqrt(0.4 * 0.6 * 100 / 99 * (1 / n - 1 / 100)) for n in (20, 50)]
    assert found["rmse"] == pytest.approx(expected)


def test_of_two_cells_the_one_whose_labels_are_alike_needs_none():
    labels = np.r_[np.zeros(60, int), np.arange(40) % 2]
    pool = ba.Pool(scores=np.r_[np.full(60, 0.1), np.full(40, 0.9)])
    found = known_rates_row(pool, labels, "accuracy", [10, 40, 60])
    assert found["rmse"] == pytest.approx([0.4 * np.sqrt(0.25 * 40 / 39 * (1 / 10 - 1 / 40)), 0, 0], abs=1e-8)


def test_the_set_is_chosen_without_the_pool_that_is_left_out():
    rows = [
        row("base", "a", [0.1, 0.1], [0.1, 0.1], [1, 1], "real"),
        row("base", "b", [0.3, 0.3], [0.1, 0.1], [1, 1], "real"),
        row("new", "a", [0.4, 0.4], [0.1, 0.1], [1, 1], "real"),
        row("new", "b", [0.2, 0.2], [0.1, 0.1], [1, 1], "real"),
    ]
    lines = left_out(common_pools(rows)).splitlines()
    assert lines[2:] == ["| a | new | 0.4 | base | 0.1 | 4.000 |", "| b | base | 0.3 | new | 0.2 | 1.500 |"]


def test_empty_cells_change_neither_truth_nor_what_is_believed():
    rng = np.random.default_rng(0)
    score = rng.random(400)
    pool, labels = ba.Pool(scores=score), (rng.random(400) < score).astype(int)
    design = ba.designs.VarianceReduction()
    strata = design.strata_of(pool)
    plain, more = (kind("f1").setting(pool, strata=strata) for kind in (ba.Metric, PaddedMetric))
    assert len(more.cells.sizes) == 132 > plain.cells.n_cells
    assert more.cells.sizes.sum() == 400
    for question, setting in ((ba.Metric("f1"), plain), (PaddedMetric("f1"), more)):
        full = question.full_counts(pool, setting.cells, labels, 2)
        assert question.truth_of_counts(setting.cells, full) == pytest.approx(
            2 * (labels & (score >= 0.5)).sum() / (labels.sum() + (score >= 0.5).sum())
        )
    first, other = design.init(*plain), design.init(*more)
    np.testing.assert_allclose(
        other.belief.share[:, :, : plain.cells.n_cells], first.belief.share, rtol=1e-5
    )  # sums in 32 bits
    assert np.isfinite(np.asarray(other.belief.share)).all()


def test_made_pools_of_many_classes_are_as_they_say():
    found = list(confidence_pools(6, 3))
    assert len({name for name, *_ in found}) == 6
    for _, pool, labels, facts in found:
        assert 2 <= pool.n_classes == facts["classes"] <= 50
        assert labels.min() >= 0
        assert labels.max() < pool.n_classes
        assert (pool.predictions == labels).mean() == pytest.approx(facts["accuracy"])


def test_nothing_is_run_without_pools(monkeypatch):
    monkeypatch.delenv("BAYES_ASSESS_POOLS", raising=False)
    monkeypatch.delenv("BAYES_ASSESS_ZOO", raising=False)
    with pytest.raises(SystemExit, match="nothing was run"):
        main([])


def test_shuffled_pools_have_scores_and_predictions_of_other_items(tmp_path, monkeypatch):
    (tmp_path / "zoo.py").write_text(ZOO)
    monkeypatch.setenv("BAYES_ASSESS_ZOO", str(tmp_path / "zoo.py"))
    of = {"measure": "f1", "real": False, "zoo": 1, "seed": 1, "flipped": False}
    found = [list(cases(Namespace(shuffled=wanted, **of))) for wanted in (False, True)]
    (name, _, made, _), (worse, _, made_worse, _) = found[0][0], found[1][0]
    assert (name, worse) == ("made-0", "made-0 shuffled")
    (pool, labels), (other, same) = made(), made_worse()
    np.testing.assert_array_equal(labels, same)
    rows = [np.lexsort(np.column_stack([one.scores, one.predictions]).T) for one in (pool, other)]
    np.testing.assert_array_equal(pool.scores[rows[0]], other.scores[rows[1]])
    np.testing.assert_array_equal(pool.predictions[rows[0]], other.predictions[rows[1]])
    aligned = [np.corrcoef(one.scores[:, 1], labels)[0, 1] for one in (pool, other)]
    assert aligned[0] > 0.4 > 4 / np.sqrt(300) > abs(aligned[1])


def test_flipped_pools_have_other_labels_of_the_same_items(tmp_path, monkeypatch):
    (tmp_path / "zoo.py").write_text(ZOO)
    monkeypatch.setenv("BAYES_ASSESS_ZOO", str(tmp_path / "zoo.py"))
    of = {"measure": "accuracy", "real": False, "zoo": 6, "seed": 1, "shuffled": False}
    honest, noisy = (
        list(cases(Namespace(flipped=wanted, **of | {"measure": measure})))
        for wanted, measure in ((False, "f1"), (True, "accuracy"))
    )
    shares = []
    for (name, _, made, _), (worse, _, made_worse, _) in zip(honest, noisy, strict=True):
        assert worse == f"{name} flipped"
        (pool, labels), (other, wrong) = made(), made_worse()
        np.testing.assert_array_equal(pool.scores, other.scores)
        shares.append((labels != wrong).mean())
    assert 0 < min(shares) < max(shares) < 0.25 + 4 * np.sqrt(0.25 * 0.75 / 300)


@pytest.mark.slow
def test_a_run_makes_a_row_per_pool_and_goes_on_where_it_stopped(tmp_path, monkeypatch, capsys):
    (tmp_path / "zoo.py").write_text(ZOO)
    monkeypatch.setenv("BAYES_ASSESS_ZOO", str(tmp_path / "zoo.py"))
    monkeypatch.delenv("BAYES_ASSESS_POOLS", raising=False)
    monkeypatch.setattr(study_members, "RIVALS", ("importance",))
    files = ["--rows", str(tmp_path / "m.jsonl"), "--rival-rows", str(tmp_path / "r.jsonl")]
    common = [*files, "--zoo", "2", "--campaigns", "2", "--budgets", "20", "40", "500"]
    main([*common, "--pools", "made-1"])
    main([*common, "--minutes", "0"])
    assert [one["pool"] for one in read_rows(tmp_path / "m.jsonl")] == ["made-1"]
    main(common)
    main(common)
    main([*common, "--rivals"])
    rows = read_rows(tmp_path / "m.jsonl")
    assert [one["pool"] for one in rows] == ["made-1", "made-0"]
    assert all(one["budgets"] == [20, 40] for one in rows)
    assert all(len(one["score"]) == 2 for one in rows)
    assert json.dumps(rows[0]["facts"]) == '{"hidden": 0.1}'
    with pytest.raises(SystemExit, match="its own name"):
        main([*common, "--change", "weak.prior=0.4"])
    capsys.readouterr()
    main([*files, "--report"])
    assert "| 20 | package | 2 |" in capsys.readouterr().out


def test_empty_cells_of_pools_of_many_classes_are_of_no_other_kind():
    rng = np.random.default_rng(1)
    pool = ba.Pool(scores=rng.dirichlet(np.full(4, 0.3), 500))
    strata = ba.designs.VarianceReduction().strata_of(pool)
    plain, more = (kind("balanced_accuracy").cells(pool, 0, strata) for kind in (ba.Metric, PaddedMetric))
    n = plain.n_cells
    assert len(more.sizes) == 132 > n
    for name in ("outcome", "row"):
        found, own = getattr(more.events, name), getattr(plain.events, name)
        assert found[:n].tolist() == own.tolist()
        assert set(found[n:]) == {own[-1]}
    assert more.measure.attribute[:n].tolist() == plain.measure.attribute.tolist()
    assert more.sizes[n:].tolist() == [0] * (132 - n)
