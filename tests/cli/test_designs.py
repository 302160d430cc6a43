"""Designs with options on the command line."""

from __future__ import annotations

import numpy as np
import pytest

import bayes_assess as ba
from bayes_assess.cli.designs import parse_design
from bayes_assess.designs import Adaptive, Poisson
from bayes_assess.designs.ranked import AdaStrat, Paula
from bayes_assess.errors import DesignError
from cli.test_app import done, refused, write_csv


@pytest.fixture
def pool_file(tmp_path):
    scores = np.random.default_rng(4).random(40).round(3)
    labels = (scores > 0.6).astype(int).tolist()
    return write_csv(tmp_path / "pool.csv", {"score": scores.tolist(), "label": labels})


def test_options_follow_the_name_and_have_the_kinds_of_their_defaults():
    assert parse_design("poisson:labels=curve:n_strata=64:floor=0.2") == Poisson(64, floor=0.2, labels="curve")
    assert parse_design("adaptive:oracle=stochastic:stage=5") == Adaptive(oracle="stochastic", stage=5)
    assert parse_design("adaptive:depth=1") == Adaptive(depth=1)
    assert parse_design("adaptive:n_strata=3:children=[[0,1],2]") == Adaptive(n_strata=3, children=[[0, 1], 2])
    assert parse_design("adastrat") == "adastrat"
    assert parse_design("adastrat:prefix=every") == AdaStrat(prefix="every")
    assert parse_design("paula:window=30") == Paula(window=30)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("poison:labels=curve", "There is no design 'poison' with options.*Did you mean 'poisson'"),
        ("mine:Design", "There is no design 'mine' with options.*Designs of your own are for Python."),
        ("top_two:beta=.3:beta=.4", "The option beta of top_two is given twice; leave out one."),
        ("poisson:curve", "poisson has these: n_strata, kind, lam, floor, labels, interval, size; found 'curve'"),
        ("poisson:strata=3", "poisson has these"),
        ("thompson:lam=1", "thompson has none; found 'lam=1'"),
        ("poisson:lam=much", "The option lam of poisson is a number; found 'much'"),
        ("poisson:n_strata=2.5", "The option n_strata of poisson is a whole number; found '2.5'"),
        ("poisson:labels=tree", "'scores' or 'curve'; found 'tree'"),
    ],
)
def test_other_options_are_refused(text, said):
    with pytest.raises(DesignError, match=said):
        parse_design(text)


def test_a_journal_keeps_the_options(pool_file, tmp_path):
    run, asked = tmp_path / "run.db", ("--scores", "score", "--question", "metric", "--measure", "f1")
    out = done("start", pool_file, *asked, "--design", "poisson:labels=curve:n_strata=8", "--out", run)
    assert "design poisson" in out
    assert ba.resume(run, ba.read_pool(pool_file, scores="score")).design == Poisson(8, labels="curve")
    assert "found 'curve'" in refused(
        "start", pool_file, *asked, "--design", "poisson:curve", "--out", tmp_path / "b.db"
    )
    assert not (tmp_path / "b.db").exists()


def test_a_study_names_designs_as_they_were_written(pool_file):
    asked = ("--scores", "score", "--question", "precision-curve", "--labels", "label")
    designs = "random, adastrat:prefix=every"
    out = done("simulate", pool_file, *asked, "--designs", designs, "--budgets", 10, "--repeats", 3)
    assert "adastrat:prefix=every" in out


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (
            ["--measure", "f1,log_loss", "--designs", "poisson:labels=curve"],
            "design 'poisson:labels=curve' takes them for alike",
        ),
        (["--measure", "f1", "--designs", "thompson:x=1"], "are written such as poisson:labels=curve, and thompson"),
        (["--measure", "mae", "--bounds", "0,1", "--designs", "poisson:labels=curve"], "'poisson:labels=curve' cannot"),
        (["--measure", "f1", "--designs", "adastrat"], "'adastrat' is for ranked lists and PrecisionCurve, and cannot"),
    ],
)
def test_options_of_designs_are_not_said_to_be_those_of_the_command(pool_file, options, said):
    scores = ["--prediction", "score"] if "mae" in options else ["--scores", "score"]
    asked = ("--question", "metric", "--labels", "label")  # an option of `simulate`, as of 'poisson'
    assert said in refused("simulate", pool_file, *scores, *asked, *options, "--budgets", 10, "--repeats", 2)


def test_importance_sampling_of_a_random_size_is_started_and_asked_for(pool_file, tmp_path):
    run, sheet = tmp_path / "run.db", tmp_path / "to_label.csv"
    asked = ("--scores", "score", "--question", "metric", "--measure", "f1")
    design = "importance:size=random:lam=0.9:epsilon=1e-9:floor=0:interval=beta"
    done("start", pool_file, *asked, "--design", design, "--out", run)
    assert "items to" in done("ask", run, "-n", "6", "-o", sheet)
    kept = ba.resume(run, ba.read_pool(pool_file, scores="score")).design
    assert kept == ba.designs.Importance(size="random", lam=0.9, epsilon=1e-9, floor=0.0, interval="beta")


def test_batches_of_random_size_are_asked_for_and_may_be_empty(pool_file, tmp_path):
    run, sheet = tmp_path / "run.db", tmp_path / "to_label.csv"
    asked = ("--scores", "score", "--question", "metric", "--measure", "f1")
    design = ("--design", "poisson:size=random:floor=0:interval=beta")
    done("start", pool_file, *asked, *design, "--seed", "1", "--out", run)
    said = [done("ask", run, "-n", "1", "-o", sheet, "--force") for _ in range(8)]
    assert any("This batch has no items" in one for one in said)
    assert any("items to" in one for one in said)


@pytest.mark.slow
@pytest.mark.parametrize("design", ["importance:size=random:lam=0.9:epsilon=1e-9", "poisson:size=random"])
def test_batches_of_random_size_are_simulated(pool_file, design):
    asked = ("--scores", "score", "--question", "metric", "--measure", "f1", "--labels", "label")
    study = ("--budgets", "5,10", "--batch", "5", "--repeats", "20")
    out = done("simulate", pool_file, *asked, "--designs", f"{design}:floor=0:interval=beta", *study)
    assert design.split(":")[0] in out
