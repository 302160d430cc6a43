"""Several annotators on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import bayes_assess as ba
from cli.commands import done, refused

IDS = list("abcdef")


def sheet(run: Path, name: str, text: str) -> Path:
    path = run.parent / name
    path.write_text(text, encoding="utf-8")
    return path


@pytest.fixture
def run(tmp_path) -> Path:
    pool = tmp_path / "pool.csv"
    rows = [f"{id},{'good' if i % 2 else 'bad'},site{i % 3},text {id}" for i, id in enumerate(IDS)]
    pool.write_text("\n".join(["id,prediction,site,text", *rows]), encoding="utf-8")
    run = tmp_path / "run.db"
    done("start", pool, "--prediction", "prediction", "--show", "text", "--prior", "uninformative", "--out", run)
    return run


def test_two_sheets_of_two_annotators_and_a_decision(run):
    anna = sheet(run, "anna.csv", "id,label\na,good\nb,bad\nc,good\n")
    ben = sheet(run, "ben.csv", "id,label\na,good\nb,good\nc,?\nd,bad\n")
    done("tell", run, anna, "--annotator", "anna")
    told = done("tell", run, ben, "--annotator", "ben", "--unsure", "?")
    assert "Took 1 label (2 more of items that others had labelled)." in told
    assert "2 items have labels of two annotators or more, who differ on 1, 1 of them unresolved" in told
    assert "who differ on 1" in done("status", run)
    assert json.loads(done("status", run, "--json"))["disagreements"] == 1
    decide = run.parent / "decide.csv"
    assert "Annotators differ on 1 item" in done("disagreements", run)
    done("disagreements", run, "-o", decide)
    assert decide.read_text(encoding="utf-8-sig").splitlines() == ["id,text,anna,ben,label", "b,text b,bad,good,"]
    assert "exists already" in refused("disagreements", run, "-o", decide)
    decide.write_text("id,text,anna,ben,label\nb,text b,bad,good,good\n", encoding="utf-8")
    assert done("resolve", run, decide).startswith("Decided on 1 item; annotators differ on 0 more.")
    assert "differ on 0 items" in done("disagreements", run)
    assert done("disagreements", run, "-o", decide, "--force").endswith("holds no items: there is nothing to decide.\n")
    assert decide.read_text(encoding="utf-8-sig").splitlines() == ["id,text,anna,ben,label"]  # not what was decided
    assert done("resolve", run, decide).startswith("Decided on 0 items")


def test_a_column_names_annotators(run):
    both = sheet(run, "both.csv", "id,label,annotator\na,good,anna\na,bad,ben\nb,bad,\nb,good,ben\n")
    told = done("tell", run, both, "--annotator", "cleo")
    assert told.startswith("Took 2 labels (2 more of items that others had labelled).")
    assert done("resolve", run, "--rule", "ben").startswith("Decided on 2 items")
    same = sheet(run, "same.csv", "id,label,annotator\nb,bad,cleo\n")
    assert done("tell", run, same).startswith("Took 0 labels (1 known before).")


def test_one_annotator_does_not_label_an_item_twice(run):
    twice = sheet(run, "twice.csv", "id,label,annotator\na,good,anna\na,bad,anna\n")
    assert "'a' occurs twice with different labels" in refused("tell", run, twice)
    done("tell", run, sheet(run, "anna.csv", "id,label\na,good\n"), "--annotator", "anna")
    other = sheet(run, "other.csv", "id,label\na,bad\nb,bad\n")
    assert "was already labelled by 'anna': 'good'" in refused("tell", run, other, "--annotator", "anna")
    assert "contradicts that; labels are put right by `correct`" in refused("tell", run, other)
    assert json.loads(done("status", run, "--json"))["labels_used"] == 1


def test_resolving_needs_a_sheet_or_a_rule(run):
    for arguments in ([], [run.parent / "pool.csv", "--rule", "majority"]):
        assert "and not by both" in refused("resolve", run, *arguments)
    assert "found 'zoe', of 'majority'" in refused("resolve", run, "--rule", "zoe")


def test_other_questions_from_the_same_labels(run):
    done("tell", run, sheet(run, "all.csv", "id,label\na,bad\nb,bad\nc,bad\nd,bad\ne,good\nf,good\n"))
    found = json.loads(done("status", run, "--json", "--question", "group-accuracy", "--by", "site"))
    by_site = {row["group"]: row["estimate"] for row in found["table"]}
    assert by_site == {"site0": 0.5, "site1": 0.0, "site2": 1.0}  # of a and d, b and e, c and f
    page = done("report", run, "--question", "group-accuracy", "--by", "site")
    assert "These labels were drawn for GroupAccuracy by prediction" in page
    assert "--question group-accuracy --by site" in page
    assert "--by goes with another question than the run's own" in refused("status", run, "--by", "site")
    assert "accuracy 0.500 (exact)." in done("status", run, "--question", "metric", "--measure", "accuracy")


def test_agreement_is_said_with_what_it_makes_of_the_answer(run):
    for name, labels in (("anna", "a,bad\nb,good\nc,bad\nd,good\n"), ("ben", "a,bad\nb,good\nc,bad\nd,bad\n")):
        done("tell", run, sheet(run, f"{name}.csv", f"id,label\n{labels}"), "--annotator", name)
    said = done("agreement", run, "--csv", run.parent / "pairs.csv")
    assert "2 annotators agree in 75.0% of the pairs of labels of 4 items; Cohen's kappa 0.500" in said
    assert "A label is wrong in" in said
    assert "up to" in said  # too few items with two labels to tell
    assert "may be wrong" in said
    assert (run.parent / "pairs.csv").read_text().startswith("first,second,items,agree,kappa")
    assert "exists already" in refused("agreement", run, "--csv", run.parent / "pairs.csv")
    found = json.loads(done("agreement", run, "--json"))
    assert (found["raw"], found["kappa"], found["pairs"][0]["items"]) == (0.75, 0.5, 4)
    assert 0 < found["wrong_interval"][0] < found["wrong"] < found["wrong_interval"][1]


def test_a_sheet_that_one_annotator_lost_is_written_again_without_those_of_others(run):
    hers, his = run.parent / "of_anna.csv", run.parent / "of_ben.csv"
    done("ask", run, "-n", 2, "-o", hers, "--annotator", "anna")
    done("ask", run, "-n", 1, "-o", his, "--annotator", "ben")
    again = run.parent / "again.csv"
    assert f"tell {run} --annotator anna {again}" in done(
        "ask", run, "--pending", "--annotator", " anna", "-o", again, "--show", "text"
    )
    rows = again.read_text().splitlines()
    assert sorted(row.split(",")[0] for row in rows) == sorted(
        row.split(",")[0] for row in hers.read_text().splitlines()
    )
    assert rows[0] == "id,text,label"
    none = "No item that was asked for carl is pending; leave out --annotator for all 3 that await labels."
    assert none in refused("ask", run, "--pending", "--annotator", "carl")
    assert none in refused("release", run, "--pending", "--annotator", "carl")
    assert "add --pending" in refused("release", run, "a", "--annotator", "ben")
    assert "Released 1 item" in done("release", run, "--pending", "--annotator", "ben")
    assert "2 pending" in done("status", run)


def test_agreement_needs_a_second_annotator(run):
    done("tell", run, sheet(run, "anna.csv", "id,label\na,good\n"), "--annotator", "anna")
    assert "let a second one label some of the same items" in refused("agreement", run)


def test_a_majority_of_two_says_why_it_decides_nothing(run):
    done("tell", run, sheet(run, "anna.csv", "id,label\na,good\nb,bad\n"), "--annotator", "anna")
    done("tell", run, sheet(run, "ben.csv", "id,label\na,bad\nb,bad\n"), "--annotator", "ben")
    said = done("resolve", run, "--rule", "majority")
    assert "1 item has no majority: two annotators who differ are one against one. Let a third one label it" in said
    assert "(rule 'anna' or 'ben')" in said
    done("tell", run, sheet(run, "carl.csv", "id,label\na,bad\n"), "--annotator", "carl")
    assert "no majority" not in done("resolve", run, "--rule", "majority")


def test_sheets_for_annotators_and_corrections_of_their_own_labels(run):
    """Python could do both alone."""
    hers = run.parent / "for_anna.csv"
    said = done("ask", run, "-n", 2, "-o", hers, "--annotator", " anna ")
    assert f"tell {run} --annotator anna {hers}" in said
    a = ba.resume(run, ba.read_pool(run.parent / "pool.csv", prediction="prediction", show=["text"]))
    assert a.events[-1].payload["annotator"] == "anna"
    a.journal.close()
    done("tell", run, sheet(run, "anna.csv", "id,label\na,good\nb,bad\n"), "--annotator", "anna")
    done("tell", run, sheet(run, "ben.csv", "id,label\na,good\n"), "--annotator", "ben")
    fixes = sheet(run, "fixes.csv", "id,label\na,bad\n")
    assert done("correct", run, fixes, "--annotator", "ben").startswith("Corrected 1 label.")
    assert "Annotators differ on 1 item on which nobody has decided." in done("disagreements", run)
    assert done("correct", run, fixes, "--annotator", "anna").startswith("Corrected 1 label.")
    assert "Annotators differ on 0 items" in done("disagreements", run)
    other = sheet(run, "other.csv", "id,label\na,bad\nb,good\n")
    assert "row 3: 'b' has no label by 'ben' that could be corrected" in refused(
        "correct", run, other, "--annotator", "ben"
    )


@pytest.mark.parametrize("command", ["ask", "tell", "correct"])
@pytest.mark.parametrize("name", ["", "  "])
def test_an_empty_name_of_an_annotator_is_refused(run, command, name):
    labels = [] if command == "ask" else [sheet(run, "labels.csv", "id,label\na,good\n")]
    assert "--annotator takes a name, such as --annotator anna" in refused(command, run, *labels, "--annotator", name)
    assert json.loads(done("status", run, "--json"))["labels_used"] == 0


def test_who_has_labelled_an_item_is_not_unsure_of_it_and_of_the_items_of_others_a_note_says_so(run):
    """Both were dropped without a word."""
    done("tell", run, sheet(run, "anna.csv", "id,label\na,good\n"), "--annotator", "anna")
    unsure = sheet(run, "unsure.csv", "id,label\na,?\nb,?\n")
    said = refused("tell", run, unsure, "--annotator", "anna", "--unsure", "?")
    assert (
        "row 2: 'a' was already labelled by 'anna', and being unsure contradicts that; a label is put right by" in said
    )
    column = sheet(run, "column.csv", "id,label,annotator\na,?,anna\n")
    assert "was already labelled by 'anna'" in refused("tell", run, column, "--unsure", "?")
    said = done("tell", run, unsure, "--annotator", "ben", "--unsure", "?")
    assert said.startswith("Did not set 1 item aside that others have labelled.\nTook 0 labels (1 set aside).")
