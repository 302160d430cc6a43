"""Labelling tools on the command line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from cli.commands import done, refused
from sessions.exchange.tool_exports import annotated, flat_record, label_studio, label_studio_minimal, record

IDS = list("abcdef")


def started(folder: Path, *options: str) -> Path:
    pool, run = folder / "pool.csv", folder / "run.db"
    rows = [f"{id},{'good' if i % 2 else 'bad'},text {id},{i}" for i, id in enumerate(IDS)]
    pool.write_text("\n".join(["id,prediction,text,score", *rows]), encoding="utf-8")
    done("start", pool, "--show", "text", "--out", run, *options)
    return run


@pytest.fixture
def run(tmp_path) -> Path:
    return started(tmp_path, "--prediction", "prediction", "--prior", "uninformative")


def exported(run: Path, content: Any) -> Path:
    path = run.parent / "export.json"
    path.write_text(json.dumps(content), encoding="utf-8")
    return path


@pytest.mark.parametrize("form", [label_studio, label_studio_minimal])
def test_label_studio_there_and_back(run, form):
    tasks = run.parent / "tasks.json"
    said = done("ask", run, "-n", 3, "-o", tasks, "--tool", "label-studio")
    assert f"import it into a project that has {tasks.with_suffix('.xml')} as its labelling configuration" in said
    asked = [task["data"]["item_id"] for task in json.loads(tasks.read_text(encoding="utf-8"))]
    told = done("tell", run, exported(run, form([(id, "good", "anna@example.org") for id in asked])))
    assert told.startswith("Took 3 labels.\n")
    changed = exported(run, form([(asked[0], "bad", "anna@example.org")]))
    assert "correct" in refused("tell", run, changed)
    assert done("correct", run, changed).startswith("Corrected 1 label.")


@pytest.mark.parametrize("form", [record, flat_record])
def test_argilla_there_and_back(run, form):
    tasks = run.parent / "records.json"
    said = done("ask", run, "-n", 2, "-o", tasks, "--tool", "argilla", "--show-prediction")
    assert f"a dataset that has the settings {run.parent / 'records.settings.json'}" in said
    records = json.loads(tasks.read_text(encoding="utf-8"))
    assert {one["suggestions"]["label"]["value"] for one in records} <= {"good", "bad"}
    rows = [(one["id"], "good", user) for one in records for user in ("u1", "u2")]
    told = done("tell", run, exported(run, form(rows)))
    assert "Took 2 labels (2 more of items that others had labelled)." in told
    assert "2 items have labels of two annotators or more, who agree" in told


def test_a_skipped_task_stays_pending_and_an_unsure_one_is_set_aside(run):
    done("ask", run, "-n", 6)
    rows = [("a", "good", "1"), ("b", "unsure", "1"), ("c", "bad", "1")]
    export = label_studio(rows)
    export[2]["annotations"][0]["was_cancelled"] = True
    told = done("tell", run, exported(run, export), "--unsure", "unsure")
    assert "Took 1 label (1 set aside, 1 without a label skipped)." in told
    assert "4 pending" in told


def test_annotators_who_differ_are_decided_on_in_a_tool(run):
    done("tell", run, exported(run, label_studio([("a", "good", "x@y.org"), ("a", "bad", "z@y.org")])))
    tasks = run.parent / "decide.json"
    said = done("disagreements", run, "-o", tasks, "--tool", "label-studio")
    assert f"bayes-assess resolve {run} EXPORT.json" in said
    (task,) = json.loads(tasks.read_text(encoding="utf-8"))
    assert task["data"] == {"item_id": "a", "text": "text a", "x_y_org": "good", "z_y_org": "bad"}
    decided = exported(run, [annotated("a", [{"choices": ["bad"]}])])
    assert done("resolve", run, decided).startswith("Decided on 1 item; annotators differ on 0 more.")


def test_ranked_lists_take_labels_on_which_annotators_agree(tmp_path):
    run = started(tmp_path, "--scores", "score", "--question", "precision-curve", "--epsilon", "0.1")
    tasks = tmp_path / "tasks.json"
    done("ask", run, "-n", 2, "-o", tasks, "--tool", "label-studio", "--show-prediction")
    data = [task["data"] for task in json.loads(tasks.read_text(encoding="utf-8"))]
    assert all(one["rank"].isdecimal() for one in data)
    first, second = (one["item_id"] for one in data)
    differing = exported(run, label_studio([(first, "1", "a@b.org"), (first, "0", "c@b.org")]))
    assert "occurs twice with different labels" in refused("tell", run, differing)
    agreed = exported(run, label_studio([(first, "1", "a@b.org"), (first, "1", "c@b.org"), (second, "0", "a@b.org")]))
    assert done("tell", run, agreed).startswith("Took 2 labels.")


def test_files_and_tools_go_together(run):
    assert "Say by -o where to write the tasks" in refused("ask", run, "--tool", "argilla")
    assert "Say by --tool which labelling tool is to read t.json: label-studio or argilla." in refused(
        "ask", run, "-o", run.parent / "t.json"
    )
    assert "name the file t.json, not t.csv" in refused("ask", run, "-o", run.parent / "t.csv", "--tool", "argilla")
    (run.parent / "t.xml").write_text("<View/>", encoding="utf-8")
    assert "t.xml exists already" in refused("ask", run, "-o", run.parent / "t.json", "--tool", "label-studio")
    assert "0 pending" in done("status", run)  # nothing was asked for


def test_a_broken_export_is_told_in_one_line(run):
    path = exported(run, [{"id": 3, "data": {"item_id": "a"}, "annotations": None}, {"id": 4, "data": {"text": "x"}}])
    said = refused("tell", run, path)
    assert said.count("\n") == 1
    assert "by the numbers of Label Studio, these tasks are wrong: task 4: its data has no 'item_id'" in said
    path.write_text("[{", encoding="utf-8")
    assert "cannot be read as JSON" in refused("correct", run, path)
