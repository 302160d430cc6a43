"""Refusals send people the right way: what is advised is there, and takes what was refused."""

from __future__ import annotations

import json
import re
from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest

import bayes_assess as ba
from cli.commands import done, refused

RATED = ba.Pool(predictions=[1, 2, 3, 4, 5] * 4)


@pytest.mark.parametrize("label", [4.5, "4.5"])
def test_a_rating_between_classes_needs_bounds(label):
    a = ba.assess(RATED, ba.Mean())
    with pytest.raises(ba.LabelError, match=r"made with bounds=\(1, 5\)"):
        a.tell([0], [label])
    a = ba.assess(ba.Pool(predictions=[1, 2, 3, 4, 5] * 4, bounds=(1, 5)), ba.Mean())
    a.tell([0], [label])
    assert a.labels_used == 1


@pytest.mark.parametrize("text", ["4.5", "4,5"])
def test_a_rating_between_classes_needs_bounds_on_the_command_line(tmp_path, text):
    pool, sheet = tmp_path / "pool.csv", tmp_path / "sheet.csv"
    pool.write_text("id,prediction\n" + "".join(f"{i},{i % 5 + 1}\n" for i in range(20)))
    sheet.write_text(f'id;label\n3;"{text}"\n')
    run = tmp_path / "run.db"
    done("start", pool, "--question", "mean", "--out", run)
    said = refused("tell", run, sheet)
    assert "is made with --bounds 1,5: start with that" in said
    done("start", pool, "--question", "mean", "--bounds", "1,5", "--out", tmp_path / "other.db")
    assert "Took 1 label" in done("tell", tmp_path / "other.db", sheet)


def test_classes_that_are_no_numbers_get_an_example_of_their_values(tmp_path):
    pool = ba.Pool(predictions=["3/5", "4/5"] * 5)
    with pytest.raises(ba.QuestionError, match=r"by values, such as \{'4/5': 4\} in Python"):
        ba.assess(pool, ba.Mean())
    ba.assess(pool, ba.Mean({"3/5": 3, "4/5": 4}))
    path = tmp_path / "pool.csv"
    path.write_text("prediction\n" + "3/5\n4/5\n" * 5)
    said = refused("start", path, "--question", "mean", "--out", tmp_path / "run.db")
    assert "--values 4/5=4 on the command line" in said
    done("start", path, "--question", "mean", "--values", "3/5=3,4/5=4", "--out", tmp_path / "run.db")


@pytest.mark.parametrize("several", [[4, 5], (4, 5), {4, 5}, np.array([4, 5])])
def test_a_rate_of_several_classes_is_a_mean(several):
    with pytest.raises(ba.QuestionError, match=r"one of several classes is ba.Mean\(values"):
        ba.assess(RATED, ba.Rate(several))
    a = ba.assess(RATED, ba.Mean({1: 0, 2: 0, 3: 0, 4: 1, 5: 1}))
    a.tell(RATED.ids, RATED.classes[RATED.predictions])
    assert a.result().estimate == pytest.approx(0.4)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: ba.Pool(scores=[1, 2, 3, 4, 5]), "if these are ratings.* pass them as predictions"),
        (lambda: ba.Pool(predictions=[4.5, 3.5]), r"such as ratings.* bounds=\(1, 5\)"),
        (lambda: ba.Metric("mean"), r"the question ba.Mean\(\), --question mean on the command line"),
        (lambda: ba.Pool(scores=pd.Series([[0.2, 0.8], [0.5, 0.5]])), "holds lists .* a column per class"),
        (lambda: ba.Pool(scores=[[0.2, 0.8], [0.5]]), "equal length"),
        (lambda: ba.Pool(predictions=["a", "b"], scores=[0.4, np.nan]), "the mean score of the others"),
    ],
)
def test_what_was_meant_is_named(make: Callable[[], object], said):
    with pytest.raises(ba.BayesAssessError, match=said):
        make()


def test_a_table_of_lines_of_json_is_no_log_and_is_read_as_advised(tmp_path):
    path, csv = tmp_path / "pool.jsonl", tmp_path / "pool.csv"
    path.write_text("\n".join(json.dumps({"id": i, "prediction": "ab"[i % 2], "score": 0.5}) for i in range(4)))
    said = refused("start", path, "--out", tmp_path / "run.db")
    assert "have no 'doc_id'; they have 'id', 'prediction', 'score'" in said
    assert "read from CSV or Parquet" in said
    assert re.search(r"pd\.read_json\(path, lines=True\)\.to_csv\(", said)
    pd.read_json(path, lines=True).to_csv(csv, index=False)
    done("start", csv, "--out", tmp_path / "run.db")
    with pytest.raises(ba.PoolError, match=r"pd\.read_json\(path, lines=True\) is the frame"):
        ba.read_pool(path)
    assert ba.read_pool(pd.read_json(path, lines=True)).n_items == 4


def test_a_column_of_lists_in_parquet_is_refused_with_what_to_make_of_it(tmp_path):
    pytest.importorskip("pyarrow")
    frame = pd.DataFrame({"id": [1, 2], "probs": [[0.2, 0.8], [0.6, 0.4]]})
    frame.to_parquet(tmp_path / "pool.parquet")
    with pytest.raises(ba.PoolError, match="holds lists of them; make it a column per class"):
        ba.read_pool(tmp_path / "pool.parquet", id="id", scores="probs")
    wide = pd.DataFrame(frame["probs"].tolist(), columns=["p_cat", "p_dog"])
    assert ba.read_pool(wide).classes.tolist() == ["cat", "dog"]


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: ba.assess(RATED, ba.Mean(), engine=pd.NA), "An engine is"),
        (lambda: ba.assess(RATED, ba.Mean(), oracle=pd.NA), "An oracle is"),
        (lambda: ba.ScoreBins(5, kind=pd.NA), "The kind must be"),
        (lambda: ba.Pool(predictions=["a", "b"], multilabel=pd.NA), "multilabel is True or False; found <NA>"),
        (lambda: ba.designs.Poisson(size=pd.NA), "size"),
        (lambda: ba.assess(RATED, ba.GroupAccuracy()).plan(width=0.1, of=pd.NA), "of"),
        (lambda: ba.assess(RATED, ba.GroupAccuracy()).resolve(rule=pd.NA), "A rule is 'majority'"),
        (lambda: ba.assess(RATED, ba.GroupAccuracy()).plan(width=0.1, futures=10**30), "may follow .* futures; found"),
        (lambda: ba.assess(RATED, ba.GroupAccuracy()).plan(width=0.1, futures=10**12), "may follow .* futures; found"),
    ],
)
def test_options_that_are_no_options_are_refused_in_a_sentence(make, said):
    with pytest.raises(ba.BayesAssessError, match=said):
        make()


def test_what_is_robust_is_named_where_there_is_no_sensitivity():
    for question in (ba.GroupAccuracy(), ba.ConfusionMatrix()):
        r = ba.assess(RATED, question).result()
        assert not hasattr(r, "sensitivity")
        with pytest.raises(AttributeError, match=r"What leans on no belief here is \.design_interval\."):
            r.sensitivity()
        assert r.design_interval is not None
