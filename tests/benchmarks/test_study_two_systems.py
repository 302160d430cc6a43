"""The study of two systems compares beliefs on pools of its own."""

from itertools import islice

import numpy as np
import pytest
import study_two_systems
from _system_pools import TwoSystems, pools
from study_two_systems import using

import bayes_assess as ba
from bayes_assess.measures import value_of
from bayes_assess.models.curve_members import POSITIVES
from bayes_assess.pool.rank_strata import RankedScore


def test_systems_have_evidence_in_common_or_not(monkeypatch):
    monkeypatch.delenv("BAYES_ASSESS_ZOO", raising=False)
    monkeypatch.delenv("BAYES_ASSESS_POOLS", raising=False)
    alike, found = {}, {"made": [], "version": []}
    *both, (fitted, _) = islice(pools(12, 1), 25)
    assert fitted.startswith("fitted")
    for name, one in both:
        kind, systems = name.split("-")[0], (one.pool.predictions, one.pool.system_codes("new"))
        f1 = [value_of("f1", one.labels, predictions, classes=[0, 1]) for predictions in systems]
        found[kind].append(abs(f1[1] - f1[0]))
        common = kind if kind == "version" else one.facts["common"]
        alike.setdefault(common, []).append(np.corrcoef([p[one.labels == 0] for p in systems])[0, 1])
    assert np.mean(alike[0.0]) < 0.1 < np.mean(alike[0.9])
    assert np.mean(alike["version"]) > 0.3
    assert np.median(found["version"]) < np.median(found["made"]) / 2


def test_constants_are_replaced_for_the_time_being():
    ranked = RankedScore(np.array([0.1, 0.9]), np.array([False, True]))
    other, score = np.array([False, True, False]), np.array([0.1, 0.2, 0.9])
    three = RankedScore(score, score > 0.5)
    with using({"group_mean": 1.0}, one_curve=True, verdicts=True):
        assert (POSITIVES.beside().group_mean == 1).all()
        assert not ranked.separates
        assert not three.ranks_positives_of(other)
    assert (POSITIVES.beside().group_mean > 1).all()
    assert ranked.separates
    assert three.ranks_positives_of(other)


# Of a design that compiles soon; the one of the study takes seconds for every set.
@pytest.mark.slow
@pytest.mark.parametrize("design", ["passive", "variance_reduction"])
def test_a_run_goes_on_and_reports(design, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(study_two_systems, "DESIGN", design)
    rng = np.random.default_rng(0)
    labels = np.arange(60) % 3 == 0
    score = np.clip(0.6 * labels + 0.4 * rng.random(60), 0, 1)
    pool = ba.Pool(scores=score, systems={"new": (labels ^ (rng.random(60) < 0.1)).astype(int)})
    monkeypatch.setattr(study_two_systems, "BUDGETS", (2, 4))
    monkeypatch.setattr(study_two_systems, "BATCH", 2)
    monkeypatch.setattr(study_two_systems, "keep_compiled", lambda: None)
    monkeypatch.setattr(
        study_two_systems,
        "pools",
        lambda n, seed: [(f"made-{k}", TwoSystems(pool, labels.astype(int))) for k in range(n)],
    )
    rows = ["--rows", str(tmp_path / "rows.jsonl"), "--campaigns", "2"]
    for n in ("1", "2", "2"):
        study_two_systems.main([*rows, "--pools", n])
    study_two_systems.main([*rows, "--set", "one curve", "--one-curve", "--pools", "1"])
    study_two_systems.main([*rows, "--report"])
    lines = capsys.readouterr().out.splitlines()
    assert len((tmp_path / "rows.jsonl").read_text().splitlines()) == 3
    assert [line.split("|")[2:5] for line in lines[2:6]] == [
        [" 2 made ", " package ", " 2 "],
        [" 2 made ", " package ", " 4 "],
        [" 1 made ", " one curve ", " 2 "],
        [" 1 made ", " one curve ", " 4 "],
    ]
    assert "| 1.00 ± 0.00 | 1.00 ± 0.00 |" in lines[2]
