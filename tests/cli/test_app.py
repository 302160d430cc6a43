from __future__ import annotations

import contextlib
import csv
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import bayes_assess as ba
from bayes_assess._tools.tables import Table
from bayes_assess.cli import labels as labels_taken
from bayes_assess.cli import told
from bayes_assess.designs import ARMS, DESIGNS, WEIGHTED
from bayes_assess.errors import OutputError
from cli.commands import call
from made import play_on_numpy

COMMANDS = ("start", "ask", "tell", "correct", "skip", "release", "status", "plan", "report", "simulate", "demo")
CLASSES = ("bird", "cat", "dog")
N_ITEMS = 30  # asks of 3 or 4, and of 20 to 30, share what JAX compiles


def done(*arguments: object) -> str:
    result = call(*arguments)
    assert result.exit_code == 0, result.output
    assert not result.stderr
    return result.stdout


def refused(*arguments: object) -> str:
    """The one line that a refusal prints, and nothing else."""
    result = call(*arguments)
    assert result.exit_code == 2, result.output
    assert not result.stdout
    (line,) = result.stderr.splitlines()
    assert line.startswith("Error: ")
    return line


def write_csv(path: Path, columns: dict) -> Path:
    with path.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream)
        writer.writerow(columns)
        writer.writerows(zip(*columns.values(), strict=True))
    return path


def read_csv(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as stream:
        return list(csv.DictReader(stream))


@pytest.fixture(scope="module")
def columns() -> dict[str, list]:
    rng = np.random.default_rng(3)
    predictions = rng.choice(CLASSES, N_ITEMS)
    labels = np.where(rng.random(N_ITEMS) < 0.7, predictions, rng.choice(CLASSES, N_ITEMS))
    return {
        "id": [f"item-{i:03}" for i in range(N_ITEMS)],
        "prediction": predictions.tolist(),
        "confidence": rng.uniform(0.4, 1, N_ITEMS).round(3).tolist(),
        "site": rng.choice(["east", "north", "south"], N_ITEMS).tolist(),
        "label": labels.tolist(),
    }


@pytest.fixture
def pool_file(tmp_path, columns) -> Path:
    return write_csv(tmp_path / "pool.csv", {name: values for name, values in columns.items() if name != "label"})


@pytest.fixture
def truth(columns) -> dict[str, str]:
    return dict(zip(columns["id"], columns["label"], strict=True))


@pytest.fixture
def run(tmp_path, pool_file) -> Path:
    path = tmp_path / "run.db"
    done("start", pool_file, "--question", "least-accurate", "--classes", "bird,cat,dog", "--out", path)
    return path


def asked(run: Path, n: int) -> list[str]:
    path = run.with_name("asked.csv")
    done("ask", run, "-n", n, "-o", path, "--force")
    return [row["id"] for row in read_csv(path)]


def sheet(run: Path, ids: list[str], labels: list[str], name: str = "labels.csv") -> Path:
    return write_csv(run.with_name(name), {"id": ids, "label": labels})


# -- the round trip ----------------------------------------------------------------------------------------------------


def test_round_trip_in_two_chunks_agrees_with_the_library(tmp_path, pool_file, truth):
    run, to_label = tmp_path / "run.db", tmp_path / "to_label.csv"
    out = done("start", pool_file, "--question", "least-accurate", "--by", "site", "--classes", "bird,cat,dog",
               "--m", 1, "--design", "thompson", "--prior", "uninformative", "--prior-strength", 4, "--seed", 5,
               "--out", run)  # fmt: skip
    assert "LeastAccurate by site" in out
    assert "bird, cat, dog" in out
    assert "20 items" in done("ask", run, "-n", 20, "-o", to_label)
    rows = read_csv(to_label)
    assert [row.keys() for row in rows] == [{"id", "label"}] * 20
    assert {row["label"] for row in rows} == {""}

    # the first half in reverse, the other rows still empty and a column of the annotator's own
    ids = [row["id"] for row in rows]
    half = write_csv(
        tmp_path / "half.csv",
        {
            "note": [""] * 20,
            "label": [truth[name] if i >= 10 else " " for i, name in enumerate(ids[::-1])],
            "id": ids[::-1],
        },
    )
    out = done("tell", run, half)
    assert "Took 10 labels (10 without a label skipped)." in out
    assert "Labels: 10 used, 10 pending, 10 remaining." in out
    out = done("tell", run, sheet(run, ids[::-1], [truth[name] for name in ids[::-1]]))
    assert "Took 10 labels (10 known before)." in out

    table, figure = tmp_path / "table.csv", tmp_path / "figure.png"
    out = done("status", run, "--level", 0.9, "--csv", table, "--plot", figure)
    assert "20 of 30 items labelled" in out
    assert "90% credible" in out
    assert figure.read_bytes().startswith(b"\x89PNG")

    pool = ba.read_pool(pool_file, classes=CLASSES, groups=["site"])
    question = ba.LeastAccurate(by="site")
    same = ba.assess(pool, question, design="thompson", prior="uninformative", prior_strength=4, seed=5)
    assert same.ask(20).ids.tolist() == ids
    first = ids[:10]
    same.tell(first, [truth[name] for name in first])
    same.tell(ids, [truth[name] for name in ids])
    expected = same.result(0.9).table()
    for name in ("estimate", "lower", "upper", "labelled"):
        np.testing.assert_array_equal([float(row[name]) for row in read_csv(table)], expected[name])


def test_labels_are_learned_not_predictions(run, columns):
    names, predicted = columns["id"], dict(zip(columns["id"], columns["prediction"], strict=True))
    wrong = {"bird": "cat", "cat": "dog", "dog": "bird"}
    ids = asked(run, N_ITEMS)
    assert sorted(ids) == sorted(names)
    done("tell", run, sheet(run, ids, [wrong[predicted[name]] for name in ids]))
    table = run.with_name("table.csv")
    out = done("status", run, "--csv", table)
    assert "exact" in out
    assert {row["estimate"] for row in read_csv(table)} == {"0.0"}


def test_ask_prints_a_table_and_goes_on_where_it_stopped(run):
    first = done("ask", run, "-n", 3)
    assert first.count("item-") == 3
    later = asked(run, 4)
    assert not any(name in first for name in later)


def test_of_one_item_no_plural_is_said(tmp_path):
    pool = write_csv(tmp_path / "one.csv", {"id": ["a"], "prediction": ["cat"]})
    started = done("start", pool, "--classes", "cat,dog", "--out", tmp_path / "one.db")
    assert "design thompson: 1 item in 2 groups." in started
    written = done("ask", tmp_path / "one.db", "-n", 1, "-o", tmp_path / "sheet.csv")
    assert written.startswith("Wrote 1 item to")


def test_pending_items_can_be_written_again(run, truth, tmp_path):
    ids = asked(run, 4)
    done("tell", run, sheet(run, ids[:2], [truth[name] for name in ids[:2]]))
    again = tmp_path / "again.csv"
    done("ask", run, "--pending", "-o", again)
    assert sorted(row["id"] for row in read_csv(again)) == sorted(ids[2:])
    assert "leave out -n" in refused("ask", run, "--pending", "-n", 2)
    done("tell", run, sheet(run, ids[2:], [truth[name] for name in ids[2:]]))
    assert "No item is pending" in refused("ask", run, "--pending")


def test_what_was_asked_for_survives_a_failed_write(run, tmp_path, monkeypatch):
    def full(self, path):
        raise OutputError(f"Cannot write the table to {path}: no space left on device.")

    monkeypatch.setattr(Table, "to_csv", full)
    line = refused("ask", run, "-n", 4, "-o", tmp_path / "sheet.csv")
    assert "--pending" in line
    monkeypatch.undo()
    done("ask", run, "--pending", "-o", tmp_path / "sheet.csv")
    assert len(read_csv(tmp_path / "sheet.csv")) == 4


def test_a_filled_in_sheet_is_not_overwritten(run):
    path = sheet(run, ["item-000"], ["cat"])
    before = path.read_bytes()
    assert "--force" in refused("ask", run, "-n", 2, "-o", path)
    assert path.read_bytes() == before
    assert "0 pending" in done("status", run)
    done("ask", run, "-n", 3, "-o", path, "--force")
    assert len(read_csv(path)) == 3


OUTPUTS = [("ask", "-o"), ("disagreements", "-o"), ("report", "-o")]
OUTPUTS += [(command, option) for command in ("status", "plan") for option in ("--csv", "--plot")]


@pytest.mark.parametrize(("command", "option"), OUTPUTS)
def test_no_output_replaces_the_run_or_its_pool(run, pool_file, command, option):
    before = run.read_bytes(), pool_file.read_bytes()
    for path in (run, pool_file, run.with_name("run.db-journal")):
        assert "choose another name" in refused(command, run, option, path, "--force")
    assert (run.read_bytes(), pool_file.read_bytes()) == before
    mine = sheet(run, ["mine"], ["mine"], "mine.csv")
    assert "--force" in refused(command, run, option, mine)
    assert read_csv(mine) == [{"id": "mine", "label": "mine"}]


@pytest.mark.parametrize("option", ["--csv", "--plot"])
def test_simulate_replaces_neither_its_inputs_nor_unasked_what_is_there(pool_file, truth, option):
    labels = sheet(pool_file, list(truth), list(truth.values()))
    for path in (pool_file, labels):
        before = path.read_bytes()
        assert "choose another name" in refused("simulate", pool_file, "--labels", labels, option, path, "--force")
        assert path.read_bytes() == before
    mine = sheet(pool_file, ["mine"], ["mine"], "mine.csv")
    assert "--force" in refused("simulate", pool_file, "--labels", labels, option, mine)


def test_a_sheet_needs_its_folder_before_anything_is_asked(run, tmp_path):
    assert "no folder" in refused("ask", run, "-o", tmp_path / "nowhere" / "sheet.csv")
    assert "0 pending" in done("status", run)


# -- sheets of labels --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ids", "labels", "said"),
    [
        (["item-000", "item-001"], ["cat", "horse"], "'horse'"),
        (["item-000", "nobody"], ["cat", "cat"], "'nobody'"),
        (["item-000", "item-000"], ["cat", "dog"], "twice"),
        (["item-000", ""], ["cat", "cat"], "missing"),
    ],
)
def test_a_wrong_row_leaves_everything_as_it_was(run, ids, labels, said):
    before = done("status", run)
    assert said in refused("tell", run, sheet(run, ids, labels))
    assert done("status", run) == before


def test_a_contradiction_is_refused(run):
    done("tell", run, sheet(run, ["item-000"], ["cat"]))
    assert "contradicts" in refused("tell", run, sheet(run, ["item-000"], ["dog"]))


def test_a_wrong_label_is_corrected(run, truth):
    ids = asked(run, 4)
    wrong = {"bird": "cat", "cat": "dog", "dog": "bird"}
    done("tell", run, sheet(run, ids, [wrong[truth[ids[0]]], *(truth[name] for name in ids[1:])]))
    other = ba.resume(run, ba.read_pool(run.with_name("pool.csv"), classes=CLASSES))
    out = done("correct", run, sheet(run, [*ids[:2], "item-029"], [*(truth[name] for name in ids[:2]), ""]))
    assert "Corrected 1 label (1 as they were, 1 without a label skipped)." in out
    assert "Labels: 4 used, 0 pending, 26 remaining." in out
    other.journal = None
    other.correct(ids[:1], [truth[ids[0]]])
    assert other.result().summary() in out
    rest = sorted({*truth} - {*ids})
    assert "no label that could be corrected" in refused("correct", run, sheet(run, rest[:1], ["cat"]))


def test_what_annotators_need_to_see_is_in_their_sheet(tmp_path, pool_file, columns):
    run, sheet, again = tmp_path / "run.db", tmp_path / "sheet.csv", tmp_path / "again.csv"
    done("start", pool_file, "--show", "site", "--out", run)
    done("ask", run, "-n", 3, "-o", sheet)
    rows = read_csv(sheet)
    assert list(rows[0]) == ["id", "site", "label"]
    site = dict(zip(columns["id"], columns["site"], strict=True))
    assert all(row["site"] == site[row["id"]] for row in rows)
    done("ask", run, "--pending", "-o", again, "--show", "site,confidence", "--show-prediction")
    assert list(read_csv(again)[0]) == ["id", "site", "confidence", "prediction", "score", "label"]
    assert not re.search("bird|cat|dog", done("ask", run, "-n", 3))
    assert re.search("bird|cat|dog", done("ask", run, "-n", 3, "--show-prediction"))


def test_sheets_are_workbooks_where_their_name_says_so(run, truth):
    openpyxl = pytest.importorskip("openpyxl")
    path = run.with_name("sheet.xlsx")
    assert f"Wrote 4 items to {path}" in done("ask", run, "-n", 4, "-o", path)
    book = openpyxl.load_workbook(path)
    for row in range(2, 6):
        book.active.cell(row, 2).value = truth[book.active.cell(row, 1).value].upper()
    book.save(path)
    out = done("tell", run, path)
    assert "Took 4 labels." in out
    assert re.search("Took '(CAT|DOG|BIRD)' for '(cat|dog|bird)', in", out)


def test_no_sheet_is_written_that_could_not_be_told(run):
    assert "written as .csv, .tsv or .xlsx, not as .xls;" in refused("ask", run, "-o", run.with_name("sheet.xls"))
    assert "0 pending" in done("status", run)


def test_a_workbook_without_openpyxl_is_refused_before_anything_is_asked(run, monkeypatch):
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    assert 'pip install "bayes-assess[xlsx]"' in refused("ask", run, "-o", run.with_name("sheet.xlsx"))
    assert "0 pending" in done("status", run)


def test_items_that_annotators_are_unsure_of_are_set_aside(run, truth):
    ids = asked(run, 4)
    path = sheet(run, ids, [truth[ids[0]], "?", " N/A", ""])
    assert "'?'" in refused("tell", run, path)
    for _ in range(2):
        out = done("tell", run, path, "--unsure", "unsure,?,n/a")
        assert "Labels: 1 used, 1 pending, 26 remaining, 2 set aside." in out
    assert "2 items were set aside" in out
    line = refused("tell", run, sheet(run, ids[:1], ["?"]), "--unsure", "?")
    assert f"row 2: '{ids[0]}' is already labelled '{truth[ids[0]]}', and being unsure contradicts that" in line


def test_a_sheet_is_taken_whole_or_not_at_all_if_somebody_labels_meanwhile(run, truth, monkeypatch):
    ids = asked(run, 4)
    path = sheet(run, ids, [truth[ids[0]], truth[ids[1]], "?", "?"])
    read_told = told.read_told

    def and_somebody_tells(*arguments):
        read = read_told(*arguments)
        done("tell", run, sheet(run, ids[2:3], [truth[ids[2]]]))
        return read

    with monkeypatch.context() as patch:
        patch.setattr(told, "read_told", lambda *arguments: (patch.undo(), and_somebody_tells(*arguments))[1])
        assert f"'{ids[2]}' has a label" in refused("tell", run, path, "--unsure", "?")
    assert "Labels: 1 used, 3 pending" in done("status", run)


def test_a_pool_that_has_lost_a_column_is_named_with_the_run_that_needs_it(tmp_path, columns):
    """The error was that of a file without anything about a run."""
    pool, run, other = tmp_path / "pool.csv", tmp_path / "by_site.db", tmp_path / "other.csv"
    write_csv(pool, columns)
    done("start", pool, "--by", "site", "--show", "confidence", "--out", run)
    for lost in ("site", "confidence", "prediction"):
        write_csv(other, {name: values for name, values in columns.items() if name != lost})
        said = refused("status", run, "--pool", other)
        first = "Found neither" if lost == "prediction" else f"There is no column '{lost}'; the columns"
        assert f"{other} lacks a column that {run} was started with. {first}" in said
    assert refused("ask", run, "--show", "text").startswith("Error: There is no column 'text'; the columns")


def test_every_bad_row_is_named_at_once(run, truth):
    ids = asked(run, 4)
    done("tell", run, sheet(run, ids[:1], [truth[ids[0]]]))
    wrong = {"bird": "cat", "cat": "dog", "dog": "bird"}[truth[ids[0]]]
    line = refused("tell", run, sheet(run, [ids[0], "nobody", ids[1], ids[2]], [wrong, "cat", "cow", "dog"]))
    assert [f"row {n}: " in line for n in range(2, 6)] == [True, True, True, False]
    assert "`correct`" in line


def test_items_are_set_aside_and_released(run):
    ids = asked(run, 4)
    other = next(f"item-{i:03}" for i in range(N_ITEMS) if f"item-{i:03}" not in ids)
    out = done("skip", run, ids[0], ids[1], other)
    assert "Set 3 items aside." in out
    assert "Labels: 0 used, 2 pending, 25 remaining, 3 set aside." in out
    assert "Set 0 items aside (1 aside before)." in done("skip", run, ids[0])
    assert "3 items were set aside" in done("status", run)
    assert "Released 1 item: it may be asked for again." in done("release", run, ids[0])
    out = done("release", run, "--pending", "--skipped")
    assert "Labels: 0 used, 0 pending, 30 remaining." in out
    assert "--pending or --skipped" in refused("release", run)
    assert "'nobody'" in refused("skip", run, "nobody")


def test_columns_of_other_names(run):
    path = write_csv(run.with_name("other.csv"), {"key": ["item-003"], "verdict": ["dog"]})
    assert "Took 1 label" in done("tell", run, path, "--id", "key", "--label", "verdict")
    assert "'key', 'verdict'" in refused("tell", run, path)


def test_files_of_spreadsheets(run):
    path = run.with_name("excel.csv")
    path.write_text("id,label\r\nitem-003,dog\r\nitem-004,\r\n,\r\n", encoding="utf-8-sig")
    assert "Took 1 label (1 without a label skipped)" in done("tell", run, path)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "empty"),
        (b"id,label\nitem-000,cat,x\n", "row 2: there are more fields than columns"),
        (b"id,label\nitem-000,cat\nitem-001,cat,x\n", "row 3: there are more fields than columns"),
        (b"id,label\nitem-000,c\x81t\n", "UTF-8"),
        (b"id|label\nitem-000|cat\n", "'id|label'"),
    ],
)
def test_a_file_that_is_no_sheet(run, content, said):
    path = run.with_name("odd.csv")
    path.write_bytes(content)
    assert said in refused("tell", run, path)
    assert "Labels: 0 used" in done("status", run)


def test_a_short_row_has_no_label(run):
    path = run.with_name("short.csv")
    path.write_text("id,label\nitem-000,cat\nitem-001\n")
    assert "Took 1 label (1 without a label skipped)" in done("tell", run, path)


@pytest.mark.parametrize("written", [["1.0", "0.0"], ["1", "0"], ["True", "FALSE"]])
def test_whole_numbers_survive_other_tools(tmp_path, written):
    pool, run = tmp_path / "pool.csv", tmp_path / "run.db"
    write_csv(pool, {"id": [1, 2, 3], "score": [0.2, 0.9, 0.7]})
    done("start", pool, "--scores", "score", "--out", run)
    assert "Took 2 labels" in done("tell", run, sheet(run, [1, 2], written))
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path)
        assert "2 of 3 items labelled" in done("status", "run.db")


# -- pools -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--by", "bins:4"], "4 equal-width score bins"),
        (["--by", "weight-bins:3"], "3 equal-weight score bins"),
        (["--by", "site", "--question", "most-accurate", "--m", "2"], "MostAccurate by site"),
    ],
)
def test_groups(tmp_path, pool_file, options, said):
    assert said in done("start", pool_file, *options, "--out", tmp_path / "run.db")
    out = done("status", tmp_path / "run.db")
    assert "0 pending" in out
    assert ("p_best_2" if "--m" in options else "p_worst") in out
    assert max(map(len, out.splitlines()[3:])) <= 80


@pytest.mark.parametrize("suffix", [".npz", ".parquet"])
def test_other_kinds_of_files(tmp_path, suffix, monkeypatch):
    play_on_numpy(monkeypatch)
    rng = np.random.default_rng(0)
    scores = rng.dirichlet([1, 1], 20)
    path, run = tmp_path / f"pool{suffix}", tmp_path / "run.db"
    if suffix == ".npz":
        np.savez(path, scores=scores, labels=rng.integers(2, size=20))
    else:
        pytest.importorskip("pyarrow")
        import pandas as pd

        pd.DataFrame({"yes": scores[:, 0], "no": scores[:, 1], "labels": rng.integers(2, size=20)}).to_parquet(path)
    options = [] if suffix == ".npz" else ["--scores", "yes,no", "--classes", "0,1"]
    assert "20 items" in done("start", path, *options, "--out", run)
    assert "0 pending" in done("status", run)
    out = done("simulate", path, *options, "--labels", "labels", "--designs", "random", "--budgets", 20, "--repeats", 2)
    assert "random      20  0.0000" in out


def test_commands_that_learn_and_answer_show_that_they_are_at_work(run, monkeypatch):
    shown = []
    monkeypatch.setattr(labels_taken, "progress", lambda what: shown.append(what) or contextlib.nullcontext())
    done("tell", run, sheet(run, ["item-000"], ["cat"]))
    done("correct", run, sheet(run, ["item-000"], ["dog"]))
    assert shown == ["Learning", "Answering"] * 2


def test_a_changed_pool_is_refused(run, pool_file):
    pool_file.write_text(pool_file.read_text().replace("cat", "dog", 1))
    for command in (["ask", run], ["status", run], ["tell", run, sheet(run, ["item-000"], ["cat"])]):
        assert "another pool" in refused(*command)


def test_python_is_told_with_which_groups_the_command_line_read_a_pool(tmp_path, pool_file):
    path, read = tmp_path / "by_site.db", {"classes": ["bird", "cat", "dog"]}
    done("start", pool_file, "--by", "site", "--classes", "bird,cat,dog", "--out", path)
    with pytest.raises(ba.JournalError, match=r"with groups=\['site'\], and this one has none\."):
        ba.resume(path, ba.read_pool(pool_file, **read))
    assert ba.resume(path, ba.read_pool(pool_file, **read, groups=["site"])).labels_used == 0


def test_groups_by_two_columns_are_told_to_be_one(tmp_path, pool_file):
    said = refused("start", pool_file, "--by", "site,prediction", "--out", tmp_path / "crossed.db")
    assert "There is no column 'site,prediction'" in said
    assert said.endswith("for groups by several, add one of what a row has in all of them.")
    assert "for groups" not in refused("start", pool_file, "--by", "site,ward", "--out", tmp_path / "crossed.db")


def test_a_moved_pool_is_found_beside_the_journal_or_named(run, pool_file, tmp_path):
    together = tmp_path / "together"
    together.mkdir()
    moved = run.rename(together / "run.db")
    pool_file.rename(together / "pool.csv")
    done("status", moved)
    elsewhere = (together / "pool.csv").rename(tmp_path / "renamed.csv")
    assert "--pool" in refused("status", moved)
    done("status", moved, "--pool", elsewhere)


def test_a_journal_from_python_needs_its_pool_named(pool_file, tmp_path):
    pool = ba.read_pool(pool_file, groups=["site"])
    ba.assess(pool, ba.GroupAccuracy("site"), journal=tmp_path / "python.db").journal.close()
    assert "--pool" in refused("status", tmp_path / "python.db")
    assert "by site" in done("status", tmp_path / "python.db", "--pool", pool_file)


def test_who_does_not_say_how_many_gets_all_that_are_left(run):
    done("ask", run, "-n", N_ITEMS - 5, "-o", run.with_name("first.csv"))
    assert "Wrote 5 items" in done("ask", run, "-o", run.with_name("last.csv"))
    assert refused("ask", run).endswith(f"({N_ITEMS} are pending); nothing is left to ask for.")


def test_names_with_spaces_are_quoted_in_what_comes_next(tmp_path, pool_file):
    run, sheet = tmp_path / "my run.db", tmp_path / "to label.csv"
    assert f"Next: bayes-assess ask '{run}' -n" in done("start", pool_file, "--out", run)
    assert f"Next: bayes-assess tell '{run}' '{sheet}'" in done("ask", run, "-n", 4, "-o", sheet)


@pytest.mark.slow
def test_warnings_are_notes_of_one_line(tmp_path):
    pool = tmp_path / "pool.csv"
    pool.write_bytes("id,prediction\n1,caf\u00e9\n2,tea\n".encode("cp1252"))
    words = [sys.executable, "-m", "bayes_assess", "start", str(pool), "--out", str(tmp_path / "run.db")]
    (line,) = subprocess.run(words, capture_output=True, text=True, check=True).stderr.splitlines()
    assert line.startswith("Note: pool.csv: It is not in UTF-8, and was read as Windows-1252;")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--classes", "bird"], "pass every class that can be predicted as --classes, in the order"),
        (["--question", "group-accuracy", "--oracle", "stochastic"], ": --oracle stochastic, whose labels"),
        (
            ["--question", "compare", "--by", "x", "--first", "a", "--second", "b", "--pair", "y"],
            "by --measure rate or",
        ),
        (["--question", "calibration"], "give it one by --scores or --confidence."),
        (["--question", "metric", "--measure", "log_loss"], "give it some by --scores."),
        (["--question", "precision-curve"], "this pool has no scores; give it some by --scores."),
    ],
)
def test_refusals_name_options_rather_than_arguments(tmp_path, words, said):
    pool = tmp_path / "pool.csv"
    pool.write_text("prediction,x,y\nbird,a,1\ncat,b,1\n", encoding="utf-8")
    assert said in refused("start", pool, "--out", tmp_path / "run.db", *words)


def test_refusals_name_options_of_start_where_it_takes_another_run(run, truth):
    ids = asked(run, 6)
    done("tell", run, sheet(run, ids, [truth[i] for i in ids]))
    recall = ("--question", "group-recall", "--by", "site", "--positive", "cat")
    assert refused("status", run, *recall).endswith("start a session with it, or with --design random.")


def test_asking_beyond_the_pool(run):
    line = refused("ask", run, "-n", N_ITEMS + 1)
    assert "only 30" in line
    asked(run, N_ITEMS)
    assert "only 0" in refused("ask", run)
    assert "positive whole number" in refused("ask", run, "-n", 0)


# -- mistakes ----------------------------------------------------------------------------------------------------------


def test_missing_files(run, tmp_path):
    missing = tmp_path / "missing.csv"
    assert "missing.csv" in refused("start", missing, "--out", tmp_path / "new.db")
    assert "missing.csv" in refused("tell", run, missing)
    assert "missing.db" in refused("status", tmp_path / "missing.db")
    assert "missing.csv" in refused("simulate", tmp_path / "pool.csv", "--labels", missing)
    assert not (tmp_path / "new.db").exists()


def test_an_unknown_design_lists_the_known_ones(pool_file, tmp_path):
    line = refused("start", pool_file, "--design", "clever", "--out", tmp_path / "run.db")
    assert all(name in line for name in DESIGNS)
    assert not (tmp_path / "run.db").exists()


def test_an_unknown_question_lists_the_known_ones(pool_file, tmp_path):
    result = call("start", pool_file, "--question", "why", "--out", tmp_path / "run.db")
    assert result.exit_code == 2
    assert all(name in result.stderr for name in ("group-accuracy", "least-accurate", "most-accurate"))


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--by", "colour"], "'colour'"),
        (["--by", "bins:many"], "bins:10"),
        (["--m", 2], "--m belongs"),
        (["--question", "least-accurate", "--m", 9], "at most 3"),
        (["--seed", -1], "seed"),
        (["--scores", "p_a,p_b"], "'p_a'"),
        (["--classes", "bird,cat"], "'dog'"),
    ],
)
def test_a_start_that_makes_no_sense(pool_file, tmp_path, options, said):
    assert said in refused("start", pool_file, *options, "--out", tmp_path / "run.db")
    assert not (tmp_path / "run.db").exists()


def test_a_journal_is_not_overwritten(run, pool_file):
    assert "exists already" in refused("start", pool_file, "--out", run)


def test_other_files_are_no_journals(pool_file):
    assert "not a journal" in refused("status", pool_file)


@pytest.mark.parametrize("command", [["status"], ["plan", "--width", 0.1]])
def test_a_figure_that_cannot_be_written_is_refused_before_anything_is_done(run, tmp_path, command):
    table, figure = tmp_path / "table.csv", tmp_path / "figure.nonsense"
    name, *options = command
    result = call(name, run, *options, "--csv", table, "--plot", figure)
    assert (result.exit_code, result.stdout) == (2, "")
    assert "its suffix should be one of" in result.stderr
    both = tmp_path / "both.png"
    assert "cannot both be" in refused(name, run, *options, "--csv", both, "--plot", both)
    assert not any(path.exists() for path in (table, figure, both))


# -- simulate ----------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_simulate_takes_labels_from_a_file_or_a_column(tmp_path, columns, pool_file):
    labelled = write_csv(tmp_path / "labelled.csv", columns)
    labels = write_csv(tmp_path / "labels.csv", {"id": columns["id"][::-1], "label": columns["label"][::-1]})
    options = ["--question", "least-accurate", "--by", "site", "--budgets", "20,30", "--repeats", 20]
    table, figure = tmp_path / "t.csv", tmp_path / "f.png"
    by_column = done("simulate", labelled, "--labels", "label", *options)
    by_file = done("simulate", pool_file, "--labels", labels, *options, "--csv", table, "--plot", figure)
    assert by_file.startswith(by_column)
    assert figure.read_bytes().startswith(b"\x89PNG")
    last = [row for row in read_csv(table) if row["labels"] == "30"]
    assert {row["design"] for row in last} == {"random", "thompson"}
    assert {float(row["rmse"]) for row in last} == {0.0}  # everything is labelled


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (["--labels", "verdict"], "'verdict'"),
        (["--budgets", "ten"], "100,200"),
        (["--budgets", "31"], "30 items"),
        (["--designs", "clever"], "thompson"),
        (["--repeats", 0], "repeats"),
    ],
)
def test_a_simulation_that_makes_no_sense(tmp_path, columns, change, said):
    labelled = write_csv(tmp_path / "labelled.csv", columns)
    assert said in refused("simulate", labelled, "--labels", "label", *change)


def test_simulate_says_how_often_intervals_hold_and_names_a_column_of_labels_as_such(tmp_path, columns):
    """Nothing was said of intervals, and an empty cell of the labels was one of a "Group column"."""
    pool = write_csv(tmp_path / "labelled.csv", columns)
    said = done("simulate", pool, "--labels", "label", "--designs", "random", "--budgets", "10,20", "--repeats", 3)
    assert "95% intervals: how often they hold the truth\ndesign  labels  coverage  width" in said
    holes = ["", *columns["label"][1:]]
    pool = write_csv(tmp_path / "holes.csv", {**columns, "label": holes})
    said = refused("simulate", pool, "--labels", "label", "--budgets", 20, "--repeats", 2)
    assert "simulate needs one label for every item, but the column 'label' of" in said
    assert "has none in row 2 ('')" in said
    assert "Group" not in said


def test_goals_of_a_mean_are_in_its_units(tmp_path, monkeypatch):
    """A mean of amounts was to be known within 0.03, whatever they are amounts of."""
    play_on_numpy(monkeypatch)
    amounts = np.arange(60.0) * 20
    pool = write_csv(tmp_path / "amounts.csv", {"prediction": amounts.tolist(), "label": (amounts + 10).tolist()})
    words = "--question", "mean", "--bounds", "0,2000", "--designs", "passive", "--budgets", "20", "--repeats", 2
    said = done("simulate", pool, "--labels", "label", *words)
    assert "mean mse is at most 4,000 and" in said  # 0.001 of 2,000 squared
    assert "mean bias is at most 20 and" in said


def test_simulate_finds_ids_that_a_spreadsheet_has_changed(tmp_path, monkeypatch):
    play_on_numpy(monkeypatch)
    pool, labels = tmp_path / "pool.tsv", tmp_path / "labels.csv"
    pool.write_text("id\tprediction\n" + "".join(f"{i:03d}\t{'uv'[i % 2]}\n" for i in range(20)), encoding="utf-8")
    labels.write_text("id;label\n" + "".join(f"{i};{'uv'[i % 3 % 2]}\n" for i in range(20)), encoding="utf-8")
    words = "simulate", pool, "--labels", labels, "--budgets", 20, "--repeats", 2
    assert "2 campaigns" in done(*words, "--designs", "random")
    labels.write_text(labels.read_text().replace("\n7;", "\n77;"))
    assert "'77' is the id of no item" in refused(*words)


def test_simulate_refuses_labels_of_which_none_is_predicted(tmp_path):
    pool = tmp_path / "pool.csv"
    pool.write_text("prediction,label\n" + "yes,y\nno,n\n" * 5, encoding="utf-8")
    said = refused("simulate", pool, "--labels", "label", "--budgets", 5)
    assert "None of the labels in label, 'n', 'y', is predicted; 'no', 'yes' are." in said


def test_simulate_refuses_predictions_for_labels(tmp_path):
    pool = tmp_path / "pool.csv"
    pool.write_text("prediction,label\n" + "yes,yes\nno,no\n" * 5, encoding="utf-8")
    said = refused("simulate", pool, "--labels", "prediction", "--budgets", 5)
    assert "The column 'prediction' holds the predictions; name the one of true labels by --labels." in said


def test_simulate_needs_every_label_once(tmp_path, columns, pool_file):
    labels = write_csv(tmp_path / "labels.csv", {"id": columns["id"][1:], "label": columns["label"][1:]})
    assert "no label of 'item-000'" in refused("simulate", pool_file, "--labels", labels)


# -- the program itself ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("command", COMMANDS)
def test_help_shows_an_example(command):
    out = done(command, "--help")
    assert f"bayes-assess {command}" in out


def test_help_of_the_whole_lists_the_commands_and_exit_codes():
    out = done("--help")
    assert all(f"\n  {command} " in out for command in COMMANDS)
    assert "Exit codes" in out


@pytest.mark.parametrize("command", ["start", "simulate"])
def test_help_names_every_design_by_family(command):
    out = done(command, "--help")
    lines = out[out.index("Designs, the default first:") :].splitlines()
    weighted, arms = (re.findall(r"\w+", line[line.index("  ", 4) :]) for line in lines[1:3])
    assert set(DESIGNS) <= {*weighted, *arms}
    assert set(WEIGHTED) <= set(weighted)
    assert set(ARMS) == set(arms)
    assert (weighted[0], arms[0]) == (ba.Metric.default_design, ba.GroupAccuracy.default_design)


def test_version():
    assert done("--version").strip() == f"bayes-assess {ba.__version__}"


def test_the_command_line_imports_nothing_heavy():
    heavy = ["jax", "numpyro", "arviz", "pandas", "matplotlib", "scipy", "numpy"]
    code = f"import sys, bayes_assess.cli; print([name for name in {heavy} if name in sys.modules])"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


def test_a_program_of_its_own_prints_one_line_and_exits_with_2(tmp_path):
    code = "from bayes_assess.cli import main; main()"
    command = [sys.executable, "-c", code, "status", str(tmp_path / "no.db")]
    found = subprocess.run(command, capture_output=True, text=True, check=False)
    assert found.returncode == 2
    assert found.stdout == ""
    assert found.stderr.startswith("Error: There is no journal")
    assert found.stderr.count("\n") == 1


# -- compiled code that one command leaves to the next ---------------------------------------------------------------


def in_process(cache, *arguments):
    """Run a command in a process of its own, as from a shell whose user has set nothing."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("JAX_", "BAYES_ASSESS_"))}
    command = [sys.executable, "-m", "bayes_assess", *map(str, arguments)]
    return subprocess.run(
        command, capture_output=True, text=True, check=True, env=environment | {"XDG_CACHE_HOME": str(cache)}
    )


@pytest.mark.slow
def test_a_command_uses_what_another_has_compiled(tmp_path, columns):
    cache, compiled = tmp_path / "cache", []
    labelled = write_csv(tmp_path / "labelled.csv", columns)
    options = ["--labels", "label", "--question", "least-accurate", "--by", "site", "--budgets", 20, "--repeats", 20]
    for _ in range(2):
        in_process(cache, "simulate", labelled, *options)
        compiled.append({path.name for path in cache.rglob("*-cache")})
    assert compiled[0]
    assert compiled[0] == compiled[1]


def test_a_cache_that_cannot_be_written_is_done_without(pool_file, tmp_path):
    (tmp_path / "file").touch()
    found = in_process(
        tmp_path / "file", "start", pool_file, "--question", "least-accurate", "--out", tmp_path / "a.db"
    )
    assert "Started" in found.stdout
    assert found.stderr == ""


@pytest.mark.parametrize(("count", "last"), [(12, "c10, c11 (as"), (14, "c10, c11 and 2 more (as")])
def test_of_many_classes_the_first_are_named_and_the_others_counted(count, last, tmp_path):
    path = tmp_path / "pool.csv"
    path.write_text("prediction\n" + "".join(f"c{k:02}\n" for k in range(count)))
    out = done("start", path, "--question", "group-accuracy", "--design", "random", "--out", tmp_path / "run.db")
    assert f"Labels can be c00, c01, c02, c03, c04, c05, c06, c07, c08, c09, {last} predicted" in out


def test_zip_codes_keep_their_zeros_from_the_pool_to_the_sheet(tmp_path):
    path, run = tmp_path / "pool.csv", tmp_path / "run.db"
    path.write_bytes("id;prediction\r\na;01\r\nb;10\r\nc;90210\r\n".encode("utf-16"))
    out = done("start", path, "--question", "group-accuracy", "--design", "random", "--out", run)
    assert "3 items in 3 groups." in out
    assert "Labels can be 01, 10, 90210 (as predicted" in out
    sheet = tmp_path / "sheet.csv"
    sheet.write_text("id,label\na,01\nb,10\nc,02134\n")
    assert "name every class, by --classes" in refused("tell", run, sheet)
    sheet.write_text("id,label\na,01\nb,10\n")
    assert "Took 2 labels" in done("tell", run, sheet)


def test_names_with_escape_sequences_do_not_reach_the_terminal(tmp_path):
    path, run = tmp_path / "pool.csv", tmp_path / "run.db"
    path.write_text("id,prediction,site\na\x1b[31m,cat\x1b]0;t\x07,s\x1b[2J\nb,dog,s\x1b[2J\n")
    out = done("start", path, "--question", "group-accuracy", "--by", "site", "--design", "random", "--out", run)
    out += done("ask", run, "-n", "2")
    out += refused("start", path, "--question", "compare", "--by", "site", "--out", tmp_path / "b.db")
    assert "cat\\x1b]0;t\\x07" in out
    assert "\x1b" not in out
    assert "\x07" not in out


def test_a_folder_of_logs_is_a_pool(tmp_path):
    for model in ("small", "large"):
        (tmp_path / "logs" / model).mkdir(parents=True)
        rows = [{"doc_id": i, "target": "7", "filtered_resps": ["7"], "acc": float(i % 2)} for i in range(4)]
        path = tmp_path / "logs" / model / "samples_sums.jsonl"
        path.write_text("\n".join(map(json.dumps, rows)))
    run = tmp_path / "run.db"
    asked = ("--question", "group-accuracy", "--by", "model", "--design", "random")
    out = done("start", tmp_path / "logs", *asked, "--out", run)
    assert "8 items in 2 groups" in out
    assert len(done("ask", run, "-n", "8").splitlines()) == 11
    assert "2 groups by prediction" in done("status", run, "--question", "group-accuracy", "--by", "prediction")


def test_one_group_and_one_item_are_said_to_be_one(tmp_path):
    path = tmp_path / "pool.csv"
    path.write_text("id,prediction\na,yes\nb,yes\n")
    run = tmp_path / "run.db"
    assert "2 items in 1 group." in done("start", path, "--question", "group-accuracy", "--out", run)
    assert "1 item to label" in done("ask", run, "-n", 1)


def test_names_that_are_nearly_right_get_a_suggestion(tmp_path, pool_file):
    out = tmp_path / "run.db"
    assert (
        "Did you mean 'least-accurate'" in call("start", pool_file, "--question", "least-acurate", "--out", out).output
    )
    assert "Did you mean 'thompson'?" in refused("start", pool_file, "--design", "thomson", "--out", out)
    found = call("start", pool_file, "--question", "f1", "--out", out).output
    assert "Did you mean --question metric --measure f1?" in found
    other = call("start", pool_file, "--question", "recall", "--out", out).output  # which is like group-recall
    assert "Did you mean --question metric --measure recall?" in other
    assert "Invalid value for '--question': 'f1' is not one of" in " ".join(found.split())
    in_python = " ".join(call("start", pool_file, "--question", "Metric('f1')", "--out", out).output.split())
    assert "Invalid value for '--question': \"Metric('f1')\" is not one of" in in_python
    assert in_python.endswith("Did you mean 'metric'?")
    with pytest.raises(ba.QuestionError, match=r"found 'Metrik'. Did you mean ba.Metric\(...\)?"):
        ba.assess(ba.Pool(predictions=["a", "b"]), "Metrik")
    with pytest.raises(ba.QuestionError, match=r"found 'f1'. Did you mean ba.Metric\('f1'\)?"):
        ba.assess(ba.Pool(predictions=["a", "b"]), "f1")


def test_a_question_mark_for_a_label_names_the_option(run):
    path = write_csv(run.with_name("unsure.csv"), {"id": ["item-003", "item-004"], "label": ["?", "cow"]})
    line = refused("tell", run, path)
    assert "the label '?' is not one of the classes" in line
    assert "add --unsure '?'" in line
    assert line.count("--unsure") == 1
    assert "--unsure" not in refused("correct", run, path)


def test_items_are_set_aside_by_ids_as_sheets_have_them(tmp_path):
    path, run = tmp_path / "pool.csv", tmp_path / "run.db"
    path.write_text("id,prediction\n001,cat\n002,dog\n003,cat\n")
    done("start", path, "--question", "group-accuracy", "--design", "random", "--out", run)
    assert "Set 2 items aside" in done("skip", run, "2", " 3.0")
    assert "Set 0 items aside (1 aside before)" in done("skip", run, "002")
    assert "Released 1 item" in done("release", run, "2")
    assert "'7'" in refused("skip", run, "7")


def test_classes_whose_names_have_commas_can_be_named(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = [f"{i},0.{i},{['bug', chr(34) + 'bill, paid' + chr(34)][i < 5]}" for i in range(10)]
    Path("pool.csv").write_text("\n".join(['id,"score, raw",prediction', *rows]))
    out = done(
        *("start", "pool.csv", "--scores", '"score, raw"', "--classes", '"bill, paid",bug', "--show", '"score, raw"'),
        *("--question", "metric", "--measure", "f1", "--out", "run.db"),
    )
    assert 'Labels can be "bill, paid", bug; the positive class is bug.' in out
    done("ask", "run.db", "-n", "1", "-o", "sheet.csv")
    assert Path("sheet.csv").read_text().startswith('id,"score, raw",label')
