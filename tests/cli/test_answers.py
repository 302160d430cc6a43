from __future__ import annotations

import csv
import json

import numpy as np
import pytest

import bayes_assess as ba
from cli.commands import call

SIZE = 400


def done(*arguments: object) -> str:
    result = call(*arguments)
    assert result.exit_code == 0, result.output
    return result.stdout


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A journal of 40 random labels, nine of ten of which are right."""
    folder = tmp_path_factory.mktemp("answers")
    with (folder / "pool.csv").open("w", newline="") as stream:
        csv.writer(stream).writerows([["id", "prediction"], *((i, ["cat", "dog"][i % 2]) for i in range(SIZE))])
    options = ["--design", "random", "--prior", "uninformative", "--out", folder / "run.db"]
    done("start", folder / "pool.csv", "--question", "group-accuracy", *options)
    done("ask", folder / "run.db", "-n", 40, "-o", folder / "sheet.csv")
    with (folder / "sheet.csv").open(newline="") as stream:
        ids = [int(row["id"]) for row in csv.DictReader(stream)]
    right = np.arange(40) % 10 > 0
    labels = [["cat", "dog"][(i + 1 - ok) % 2] for i, ok in zip(ids, right, strict=True)]
    with (folder / "sheet.csv").open("w", newline="") as stream:
        csv.writer(stream).writerows([["id", "label"], *zip(ids, labels, strict=True)])
    done("tell", folder / "run.db", folder / "sheet.csv")
    return folder / "run.db"


def result_of(run):
    pool = ba.Pool(predictions=[["cat", "dog"][i % 2] for i in range(SIZE)], ids=np.arange(SIZE))
    return ba.resume(run, pool).result()


def test_status_as_json_is_the_result_with_what_became_of_the_items(run):
    found = json.loads(done("status", run, "--json"), parse_constant=pytest.fail)
    np.testing.assert_allclose(found["estimate"], result_of(run).estimate)
    assert (found["labels_used"], found["pending"], found["remaining"], found["items"]) == (40, 0, 360, 400)
    assert [row["group"] for row in found["table"]] == result_of(run).table()["group"].tolist()


def test_a_plan_says_the_same_in_words_and_as_json(run):
    found = json.loads(done("plan", run, "--width", 0.08, "--of", "overall", "--json"))
    said = done("plan", run, "--width", 0.08, "--of", "overall").splitlines()
    assert 0 < found["labels"]["lower"] <= found["labels"]["expected"] <= found["labels"]["upper"] <= 360
    assert said[0] == found["summary"].splitlines()[0]
    assert result_of(run).labels_used == 40


def test_a_plan_without_a_goal_is_refused_in_one_line(run):
    result = call("plan", run)
    assert result.exit_code == 2
    assert result.stderr.count("\n") == 1
    assert "needs the width" in result.stderr


def test_a_report_says_how_to_make_it_again(run):
    page = run.with_name("the report.html")
    done("report", run, "-o", page, "--level", 0.9)
    text = page.read_text(encoding="utf-8")
    assert "How accurate is the system, by prediction?" in text
    assert f"bayes-assess report {run} -o &#x27;{page}&#x27; --level 0.9" in text
    again = call("report", run, "-o", page)
    assert again.exit_code == 2
    assert "exists already" in again.stderr


def test_markdown_is_printed_and_html_needs_a_file(run):
    assert done("report", run).startswith("## How accurate is the system, by prediction?\n")
    refused = call("report", run, "--format", "html")
    assert refused.exit_code == 2
    assert "add -o" in refused.stderr
