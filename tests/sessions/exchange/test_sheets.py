"""Sheets for annotators, and what comes back from them."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import warnings
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import bayes_assess as ba
from bayes_assess.sessions.exchange import matching
from bayes_assess.sessions.exchange.cells import inert
from bayes_assess.sessions.exchange.matching import IdMatcher, LabelMatcher
from bayes_assess.sessions.exchange.sheets import read_sheet
from bayes_assess.sessions.exchange.workbook import write_workbook

CLASSES = ["good", "bad", "so so"]
POOL = ba.Pool(predictions=["good", "bad", "good", "bad"], ids=["a1", "a2", "007", "855"], classes=CLASSES)
TEXT = st.text(st.characters(exclude_categories=["Cs", "Cc"], include_characters="\n"), max_size=12)
IDS = st.text(st.characters(exclude_categories=["Cs", "Cc", "Z"]), min_size=1, max_size=8).filter(
    lambda i: i == i.strip()
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("sheets")


def written(path: Path, rows: list[list[str]], delimiter: str = ",", encoding: str = "utf-8", end: str = "\n") -> Path:
    stream = io.StringIO()
    csv.writer(stream, delimiter=delimiter, lineterminator=end).writerows(rows)
    path.write_bytes(stream.getvalue().encode(encoding))
    return path


def sheet_of(folder: Path, *rows: tuple[str, str], **options) -> Path:
    return written(folder / "sheet.csv", [["id", "label"], *map(list, rows)], **options)


def test_ids_with_outer_blanks_are_told_apart_where_the_pool_does(folder):
    pool = ba.Pool(predictions=["good"] * 4, ids=["a", " a", " b", "c"], classes=CLASSES)
    path = sheet_of(folder, (" a", "bad"), ("a", "good"), ("b", "bad"), ("c ", "good"))
    for ids, labels in (ba.read_labels(path, pool), ba.read_labels(path)):
        assert pool.positions(ids).tolist() == [1, 0, 2, 3]
        assert labels.tolist() == ["bad", "good", "bad", "good"]
    with pytest.raises(ba.LabelError, match="row 2: 'a' is the id of no item"):
        read_sheet(sheet_of(folder, ("a  ", "bad")), pool)


SEEN = ba.Pool(
    predictions=["good"] * 5,
    ids=["1", "2", "3", "4", "5"],
    classes=CLASSES,
    show={"text": ["=a", "b  b", "c", "d", "d"], "day": ["2030-01-02", "2030-02-01", "5", "6", "7"]},
)


def seen_columns() -> dict[str, list[str]]:
    shown = {name: SEEN.show[name].tolist() for name in SEEN.show}
    return {"id": SEEN.ids.tolist(), **shown, "label": ["bad"] * 5}


def written_columns(path: Path, columns: dict[str, list[str]]) -> Path:
    if path.suffix == ".csv":
        return written(path, [[*columns], *map(list, zip(*columns.values(), strict=True))])
    write_workbook(path, columns, CLASSES)
    return path


@pytest.mark.parametrize("suffix", ["csv", "xlsx"])
def test_a_sheet_of_which_some_columns_were_sorted_is_refused(folder, suffix):
    path, columns = folder / f"sorted.{suffix}", seen_columns()
    columns["text"] = columns["text"][::-1]
    with pytest.raises(
        ba.LabelError, match=r"row 5: 'text' of '4' is that of '2'; row 6: 'text' of '5' is that of '1'"
    ):
        ba.read_labels(written_columns(path, columns), SEEN)
    del columns["text"]  # as the message says
    assert ba.read_labels(written_columns(path, columns), SEEN)[0].tolist() == SEEN.ids.tolist()


@pytest.mark.parametrize("suffix", ["csv", "xlsx"])
def test_rows_without_labels_tell_whose_texts_a_sorted_sheet_shows(folder, suffix):
    path, columns = folder / f"part.{suffix}", seen_columns() | {"label": ["bad", "", "", "", ""]}
    columns["text"] = ["d", "=a", "b  b", "c", "d"]  # two items have the first, so that it says nothing
    assert ba.read_labels(written_columns(path, columns), SEEN)[0].tolist() == ["1"]
    columns["text"] = ["c", "=a", "b  b", "d", "d"]
    with pytest.raises(
        ba.LabelError, match=r"row 2: 'text' of '1' is that of '3'\. Some columns of the sheet were sorted"
    ):
        ba.read_labels(written_columns(path, columns), SEEN)


def test_a_sheet_whose_ids_were_filled_down_is_refused(folder):
    pool = ba.Pool(predictions=["good"] * 6, classes=CLASSES, show={"text": [f"text {i}" for i in range(6)]})
    rows = [["id", "text", "label"], ["0", "text 3", "bad"], ["1", "text 5", "bad"]]
    with pytest.raises(
        ba.LabelError, match=r"row 2: 'text' of '0' is that of '3'; row 3: 'text' of '1' is that of '5'"
    ):
        ba.read_labels(written(folder / "filled.csv", rows), pool)


def test_what_annotators_and_spreadsheets_change_in_shown_columns_is_no_matter(folder):
    columns = seen_columns()
    columns["text"] = ["'=a", " b b", "c, I think", "", "d"]  # the quote is that of a sheet
    columns["day"][:2] = reversed(columns["day"][:2])  # day and month
    assert ba.read_labels(written_columns(folder / "edited.csv", columns), SEEN)[0].tolist() == SEEN.ids.tolist()
    rows = [["id", "text", "text", "label"], ["1", "c", "=a", "bad"], ["3", "c", "c", "bad"]]
    assert len(ba.read_labels(written(folder / "twice.csv", rows), SEEN)[0]) == 2  # nobody knows which text is meant


# -- reading -----------------------------------------------------------------------------------------------------------


@settings(deadline=None, max_examples=80)
@given(
    ids=st.lists(IDS, min_size=1, max_size=6, unique=True),
    delimiter=st.sampled_from(",;\t"),
    encoding=st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be"]),
    end=st.sampled_from(["\n", "\r\n"]),
    header=st.sampled_from([("id", "label"), ("ID", "Label"), (" Id ", "LABEL ")]),
    data=st.data(),
)
def test_what_was_written_is_read_whatever_wrote_it(folder, ids, delimiter, encoding, end, header, data):
    pool = ba.Pool(predictions=["good"] * len(ids), ids=ids, classes=CLASSES)
    labels = data.draw(st.lists(st.sampled_from([*CLASSES, ""]), min_size=len(ids), max_size=len(ids)))
    notes = data.draw(st.lists(TEXT, min_size=len(ids), max_size=len(ids)))
    columns = data.draw(st.permutations([[header[0], *map(inert, ids)], [header[1], *labels], ["note", *notes]]))
    path = written(folder / "any.csv", list(map(list, zip(*columns, strict=True))), delimiter, encoding, end)
    found, told = ba.read_labels(path, pool)
    assert dict(zip(found.tolist(), told.tolist(), strict=True)) == {
        one: label for one, label in zip(ids, labels, strict=True) if label
    }
    texts, _ = ba.read_labels(path)
    assert texts.tolist() == found.tolist()


@settings(deadline=None, max_examples=50)
@given(st.lists(st.integers(0, 10**6), min_size=1, max_size=8, unique=True), st.integers(0, 7), st.data())
def test_ids_that_spreadsheets_change_are_never_taken_for_others(numbers, width, data):
    ids = [f"{number:0{width}}" for number in numbers]
    at = data.draw(st.integers(0, len(ids) - 1))
    form = data.draw(st.sampled_from(["{}", "{}.0", "{},0", "{},00", " {} ", "{:,}", "{:,}.0"]))
    for pool_ids in (ids, numbers):
        (match,) = IdMatcher(ba.Pool(predictions=[0] * len(ids), ids=pool_ids))([form.format(numbers[at])])
        assert match.found in (at, None)
        unclear = form == "{:,}.0" or (form == "{:,}" and numbers[at] >= 1000)
        assert match.found == at or unclear


def test_accents_may_be_written_apart():
    together, apart = "caf\u00e9", "cafe\u0301"  # macOS writes names of files like the second
    pool = ba.Pool(predictions=[together, "tea"], ids=[apart, "x"])
    (found,) = IdMatcher(pool)([together])
    assert (found.found, found.exact) == (0, False)
    label = LabelMatcher(pool)(apart)
    assert (label.found, label.exact) == (together, False)
    both = ba.Pool(predictions=[together, apart], ids=[together, apart])
    assert [one.found for one in IdMatcher(both)([apart, together])] == [1, 0]
    assert LabelMatcher(both)(apart).found == apart


def test_an_id_that_could_be_several_is_refused():
    match = IdMatcher(ba.Pool(predictions=[0] * 4, ids=["7", "007", "1", "1000"]))
    one, other, third = match(["7.0", "1,000", "7"])
    assert one.problem == "is the id of several items: '7', '007'"
    assert other.problem == "is the id of several items: '1', '1000'"
    assert third.found == 0  # just as it is


def test_ids_that_are_other_numbers_are_not_looked_at_one_by_one(monkeypatch):
    seen = []
    numbers_of = matching.number_keys
    monkeypatch.setattr(matching, "number_keys", lambda text: seen.append(text) or numbers_of(text))
    ids = [*(f"{i:06}" for i in range(5000)), "doc 1", "12.50", "1,250"]
    match = IdMatcher(ba.Pool(predictions=[0] * len(ids), ids=ids, classes=[0, 1]))
    found = match(["37.0", "12,5", "1250", "5000", "-7"])
    assert [one.found for one in found] == [37, 5001, None, None, None]
    assert found[2].problem == "is the id of several items: '001250', '1,250'"
    assert len(seen) < 40


@settings(deadline=None, max_examples=50)
@given(st.sampled_from(CLASSES), st.data())
def test_names_are_known_in_any_case_and_with_any_spaces(name, data):
    letters = [data.draw(st.sampled_from([letter.lower(), letter.upper()])) for letter in name]
    spaces = st.sampled_from(["", " ", "\t", "  "])
    text = (
        data.draw(spaces) + "".join(letters).replace(" ", data.draw(st.sampled_from([" ", "  "]))) + data.draw(spaces)
    )
    match = LabelMatcher(POOL)(text)
    assert (match.found, match.exact) == (name, text == name)


@pytest.mark.parametrize(
    ("classes", "text", "found"),
    [
        ([0, 1], "1.0", "1"),
        ([0, 1], "1,0", "1"),
        ([0, 1], "TRUE", "1"),
        ([0, 1], "False", "0"),
        (["1.5", "2"], "1,5", "1.5"),
        (["1.5", "2"], "2.0", "2"),
        (["Good", "good"], "good", "good"),
        (["true", "false"], "True", "true"),
    ],
)
def test_numbers_and_truth_values_are_known_in_other_forms(classes, text, found):
    assert LabelMatcher(ba.Pool(predictions=classes[:1], classes=classes))(text).found == found


def test_a_name_that_could_be_several_is_refused():
    match = LabelMatcher(ba.Pool(predictions=["Good"], classes=["Good", "good"]))("GOOD")
    assert match.problem == "could be any of 'Good', 'good'"


def test_sets_of_labels_come_in_the_order_of_the_classes():
    pool = ba.Pool(predictions=["cat", "dog;cow"], classes=["cat", "cow", "dog"], multilabel=True)
    match = LabelMatcher(pool)
    assert [match(text).found for text in ("dog;cat", " Dog ; COW", "-", "cow")] == ["cat;dog", "cow;dog", "-", "cow"]
    assert match("dog;hen").problem == "names 'hen', which is not one of the classes ('cat', 'cow', 'dog')"


def test_sets_of_labels_are_read_from_lists_in_writing_and_with_gaps():
    pool = ba.Pool(predictions=["cat", "dog;cow"], classes=["cat", "cow", "dog", "[x]"], multilabel=True)
    match = LabelMatcher(pool)
    for text, found in {
        "['dog', 'cat']": "cat;dog",
        '["Cow"]': "cow",
        "[]": "-",
        "['-']": "-",
        "dog;;cat;": "cat;dog",
    }.items():
        assert (match(text).found, match(text).exact) == (found, False)
    assert match("[x];dog").found == "dog;[x]"
    assert match("[1, 2]").problem.startswith("names '[1, 2]', which is not one of the classes")
    assert match("dog;-").problem.startswith("has '-', which says that no class applies, beside other names")
    assert match("dog, cat").problem.endswith("; several names stand between semicolons, such as 'dog;cat'")


def test_nothing_is_said_of_letters_that_are_composed_otherwise(folder):
    """What was said took 'Ödem' for 'Ödem', which reads alike: macOS composes letters so."""
    names = ["\N{LATIN CAPITAL LETTER O WITH DIAERESIS}dem", "none"]
    pool = ba.Pool(predictions=names, ids=["a", "b"])
    path = sheet_of(folder, ("a", "O\N{COMBINING DIAERESIS}dem"), ("b", "none"))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert ba.read_labels(path, pool)[1].tolist() == names
    path = sheet_of(folder, ("a", "o\N{COMBINING DIAERESIS}dem"), ("b", "none"))
    with pytest.warns(UserWarning, match="Took 'o\N{COMBINING DIAERESIS}dem' for"):
        ba.read_labels(path, pool)


def test_what_was_taken_for_something_else_is_said(folder):
    path = sheet_of(folder, ("855.0", "Good"), ("7", "good "), ("a1", "bad"))
    with pytest.warns(UserWarning, match="Took") as said:
        ids, labels = ba.read_labels(path, POOL)
    assert ids.tolist() == ["855", "007", "a1"]
    assert labels.tolist() == ["good", "good", "bad"]
    assert sorted(str(one.message).partition(": ")[2] for one in said) == [
        "Took 'Good', 'good ' for 'good', in 2 rows.",
        "Took ids such as '855.0' for '855', '7' for '007', in 2 rows.",
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ba.read_labels(sheet_of(folder, ("855", "good")), POOL)


@settings(deadline=None, max_examples=40)
@given(st.lists(st.sampled_from(["fine", "id", "label", "missing", "blank"]), min_size=1, max_size=40))
def test_every_bad_row_is_listed_as_the_file_numbers_it(folder, kinds):
    assume(set(kinds) & {"id", "label", "missing"})
    row = {"fine": ("a1", "good"), "id": ("b", "good"), "label": ("a2", "best"), "missing": ("", "bad"), "blank": ()}
    path = sheet_of(folder, *(row[kind] for kind in kinds))
    bad = [number for number, kind in enumerate(kinds, start=2) if kind in ("id", "label", "missing")]
    with pytest.raises(ba.LabelError) as caught:
        ba.read_labels(path, POOL)
    message = str(caught.value)
    listed = [
        int(number) for rows in re.findall(r"rows? ([\d, and]+):", message) for number in re.findall(r"\d+", rows)
    ]
    assert sorted(listed) == bad[:20]
    assert ("more row" in message) == (len(bad) > 20)
    assert message.endswith(".")


@pytest.mark.parametrize("name", ["missing.csv", "missing.xlsx", "missing.json", "."])
def test_a_file_that_is_not_there_is_refused_in_a_sentence(folder, name):
    for pool in (None, POOL):
        with pytest.raises(ba.LabelError, match=r" cannot be read: .*\.$"):
            ba.read_labels(folder / name, pool)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "is empty; it needs the columns 'id' and 'label'"),
        (b"id,label\na1,good,x\n", "row 2: there are more fields than columns"),
        (b'id,label\na1,"good\n', "cannot be read as CSV: row 2: unexpected end of data"),
        (b"id,label\na1,g\x81d\n", "UTF-8 or UTF-16 or Windows-1252: .* save it as 'CSV UTF-8'"),
        (b"id;class\na1;good\n", "no column 'label'; its columns are 'id', 'class'"),
        (b"id,Label,LABEL\na1,good,bad\n", "has 2 columns 'label'; leave one"),
        (
            b"id,label\na1,good\na1,bad\n",
            "row 3: 'a1' occurs twice with different labels, 'good' and 'bad', first in row 2",
        ),
    ],
)
def test_a_file_that_is_no_sheet_is_refused(folder, content, said):
    path = folder / "odd.csv"
    path.write_bytes(content)
    with pytest.raises(ba.LabelError, match=said):
        ba.read_labels(path, POOL)


def test_a_line_that_names_the_delimiter_is_not_counted(folder):
    path = folder / "sep.csv"
    path.write_text("sep=;\r\nid;label\r\n\r\na1;good, best\r\n", newline="")
    with pytest.raises(ba.LabelError, match="row 3: the label 'good, best' is not one of"):
        ba.read_labels(path, POOL)


def test_words_for_unsure_are_set_apart(folder):
    path = sheet_of(folder, ("a1", "?"), ("a2", "N/A "), ("855", "bad"), ("007", ""))
    sheet = read_sheet(path, POOL, unsure=["unsure", "?", "n/a"])
    assert (sheet.ids.tolist(), sheet.unsure.tolist(), sheet.n_blank) == (["855"], ["a1", "a2"], 1)
    with pytest.raises(ba.LabelError, match="'bad' is a class"):
        read_sheet(path, POOL, unsure=["Bad"])
    twice = sheet_of(folder, ("a1", "?"), ("a1", "good"))
    with pytest.raises(ba.LabelError, match="row 3: 'a1' occurs twice with different labels, unsure and 'good'"):
        read_sheet(twice, POOL, unsure=["?"])


def test_labels_have_the_type_of_the_classes(folder):
    pool = ba.Pool(predictions=[0, 1])
    path = sheet_of(folder, ("0", "1"), ("1", "0"))
    ids, labels = ba.read_labels(path, pool)
    assert (ids.tolist(), labels.tolist()) == ([0, 1], [1, 0])
    a = ba.assess(pool, ba.GroupAccuracy(), prior="uninformative")
    a.tell(ids, labels)
    assert a.labels_used == 2


# -- writing -----------------------------------------------------------------------------------------------------------

TEXTS = ['He said "no"', "=1+1", "two\nlines", None]
SHOWN = ba.Pool(
    scores=[[0.9, 0.1], [0.2, 0.8], [0.6, 0.4], [0.3, 0.7]],
    classes=["good", "bad"],
    ids=["001", "b", "c", "d"],
    show={"text": TEXTS, "length": [12.0, 4.0, 9.0, float("nan")]},
)


def queries_of(pool: ba.Pool) -> ba.Queries:
    return ba.assess(pool, ba.GroupAccuracy(), prior="uninformative").ask(pool.n_items)


def test_a_sheet_shows_what_annotators_need_and_never_the_prediction(folder):
    queries = queries_of(SHOWN)
    queries.to_csv(folder / "out.csv")
    with (folder / "out.csv").open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert list(rows[0]) == ["id", "text", "length", "label"]
    by_id = {row["id"]: (row["text"], row["length"], row["label"]) for row in rows}
    expected = dict(zip(SHOWN.ids.tolist(), zip(TEXTS, [12.0, 4.0, 9.0, ""], strict=True), strict=True))
    in_csv = {"=1+1": "'=1+1"}  # no formula
    assert by_id == {name: (in_csv.get(text, text or ""), str(length), "") for name, (text, length) in expected.items()}
    frame = queries.to_frame()
    assert list(frame.columns) == ["id", "text", "length", "prediction", "group", "weight"]


@pytest.mark.parametrize("unit", ["s", "us", "ns"])
def test_times_are_shown_without_the_digits_of_their_type(folder, unit):
    times = np.array(["2024-05-01T08:30:00", "NaT"], f"M8[{unit}]")
    ba.assess(ba.Pool(predictions=[0, 1], show={"at": times}), ba.GroupAccuracy()).ask(2).to_csv(folder / "sheet.csv")
    assert sorted((folder / "sheet.csv").read_text().splitlines()) == ["0,2024-05-01T08:30:00,", "1,,", "id,at,label"]


def test_the_prediction_is_shown_where_it_is_asked_for(folder):
    queries = queries_of(SHOWN)
    queries.to_csv(folder / "out.csv", show_prediction=True)
    with (folder / "out.csv").open(newline="") as stream:
        rows = {row["id"]: row for row in csv.DictReader(stream)}
    assert list(rows["b"]) == ["id", "text", "length", "prediction", "score", "label"]
    assert (rows["b"]["prediction"], rows["b"]["score"]) == ("bad", "0.8")
    plain = queries_of(ba.Pool(predictions=["a", "b"]))
    assert plain.sheet(show_prediction=True).columns == ("id", "prediction", "label")


def test_what_is_shown_has_no_part_in_the_fingerprint_and_stays_with_more_classes():
    plain = ba.Pool(scores=SHOWN.scores, classes=["good", "bad"], ids=SHOWN.ids)
    assert SHOWN.fingerprint() == plain.fingerprint()
    assert list(SHOWN.with_classes(["bad", "good", "so so"]).show) == ["text", "length"]


@pytest.mark.parametrize("suffix", [".csv", ".npz", "frame"])
def test_columns_to_show_are_read_as_they_are(folder, suffix):
    text = np.array(["007", "1.50", "", "x"])
    columns = {"id": np.array(list("abcd")), "prediction": np.array([0, 1, 1, 0]), "text": text, "site": np.arange(4)}
    path = folder / f"pool{suffix}"
    if suffix == ".csv":
        written(path, [list(columns), *map(list, zip(*(values.tolist() for values in columns.values()), strict=True))])
    elif suffix == ".npz":
        named = {"id": "ids", "prediction": "predictions"}
        np.savez(path, **{named.get(name, name): values for name, values in columns.items()})
    else:
        import pandas as pd

        path = pd.DataFrame(columns)
    pool = ba.read_pool(path, show=["text", "site"], groups="site")
    queries = queries_of(pool)
    shown = dict(zip(queries.ids.tolist(), queries.sheet()["text"].tolist(), strict=True))
    assert shown == {"a": "007", "b": "1.50", "c": None, "d": "x"}
    assert pool.groups["site"].dtype.kind == "i"  # not text, though it is shown


@pytest.mark.parametrize(
    ("show", "said"),
    [
        ({"label": ["a", "b"]}, "has a column 'label' of its own; show 'label' under another name"),
        ({" ID": ["a", "b"]}, "has a column 'id' of its own"),
        ({"prediction": ["a", "b"]}, 'may be called "prediction"'),
        ({"text": ["a"]}, "shape .1,."),
    ],
)
def test_columns_that_cannot_be_shown_are_refused(show, said):
    with pytest.raises(ba.PoolError, match=said):
        ba.Pool(predictions=[0, 1], show=show)
    with pytest.raises(ba.PoolError, match=said):
        ba.Pool(predictions=["0", "1"], show=show, multilabel=True)


# -- Excel -------------------------------------------------------------------------------------------------------------


def test_without_openpyxl_a_sentence_says_what_to_install(folder, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "openpyxl", None)
    with pytest.raises(ba.OutputError, match=r'Excel workbooks need openpyxl: pip install "bayes-assess\[xlsx\]"'):
        queries_of(SHOWN).to_xlsx(folder / "none.xlsx")
    (folder / "some.xlsx").write_bytes(b"PK")
    with pytest.raises(ba.OutputError, match="openpyxl"):
        ba.read_labels(folder / "some.xlsx")


def test_ids_of_many_digits_come_back_from_a_workbook_as_they_are(folder):
    openpyxl = pytest.importorskip("openpyxl")
    path = folder / "long.xlsx"
    pool = ba.Pool(predictions=[0, 1] * 5, ids=np.arange(10) + 12345678901234567)
    queries = ba.assess(pool, ba.GroupAccuracy()).ask(10)
    queries.to_xlsx(path)
    book = openpyxl.load_workbook(path)
    for row in range(2, 12):
        book.active.cell(row, 2).value = 1
    book.save(path)
    assert ba.read_labels(path, pool)[0].tolist() == queries.ids.tolist()


def test_an_id_that_a_spreadsheet_has_rounded_is_that_of_no_item(folder):
    openpyxl = pytest.importorskip("openpyxl")
    pool = ba.Pool(predictions=[0, 1] * 5, ids=np.arange(10) + 12345678901234565)
    book = openpyxl.Workbook()
    for row in (["id", "label"], [12345678901234570, 1]):  # as openpyxl and pandas write 12345678901234568
        book.active.append(row)
    book.save(folder / "rounded.xlsx")
    with pytest.raises(
        ba.LabelError, match=r"row 2: '1\.2345678901234570e\+16' is the id of no item: a spreadsheet short"
    ):
        ba.read_labels(folder / "rounded.xlsx", pool)
    for text in ("1.23457E+16", "1,23457E+16", "1E+16"):
        with pytest.raises(
            ba.LabelError, match=r"is the id of no item: a spreadsheet shortened it; take the sheet as it"
        ):
            ba.read_labels(sheet_of(folder, (text, "1"), delimiter=";"), pool)


def test_a_workbook_is_filled_in_from_a_list_and_read_back(folder):
    openpyxl = pytest.importorskip("openpyxl")
    path = folder / "sheet.xlsx"
    queries_of(SHOWN).to_xlsx(path)
    book = openpyxl.load_workbook(path)
    sheet = book.active
    rows = list(sheet.iter_rows(values_only=True))
    assert rows[0] == ("id", "text", "length", "label")
    assert {row[0]: row[1] for row in rows[1:]} == dict(zip(SHOWN.ids.tolist(), TEXTS, strict=True))
    assert {cell.data_type for cell in sheet["B"][1:]} == {"s", "n"}  # never a formula; n is an empty cell
    (listed,) = sheet.data_validations.dataValidation
    assert (listed.formula1, str(listed.sqref)) == ("=classes!$A$1:$A$2", "D2:D5")
    assert [cell.value for cell in book["classes"]["A"]] == ["good", "bad"]
    for row in range(2, 6):
        sheet.cell(row, 4).value = "Good" if sheet.cell(row, 1).value == "b" else "bad"
        if sheet.cell(row, 1).value == "001":
            sheet.cell(row, 1).value = 1  # as if somebody had typed it
    book.save(path)
    with pytest.warns(UserWarning, match="Took"):
        ids, labels = ba.read_labels(path, SHOWN)
    assert dict(zip(ids.tolist(), labels.tolist(), strict=True)) == {"001": "bad", "b": "good", "c": "bad", "d": "bad"}


def test_a_workbook_of_label_sets_has_no_list(folder):
    openpyxl = pytest.importorskip("openpyxl")
    pool = ba.Pool(predictions=["a;b", "a", "b"], multilabel=True)
    ba.assess(pool, ba.Metric("f1_micro"), design="passive").ask(2).to_xlsx(folder / "sets.xlsx")
    book = openpyxl.load_workbook(folder / "sets.xlsx")
    assert book.sheetnames == ["to label"]


def test_sheets_of_a_workbook_that_are_not_read_are_named(folder):
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    book.active.title = "mine"
    for sheet, id in ((book.active, "b"), (book.create_sheet("hers"), "c")):
        sheet.append(["id", "label"])
        sheet.append([id, "bad"])
    book.create_sheet("notes").append(["id", "why"])
    book.save(folder / "two.xlsx")
    with pytest.warns(UserWarning, match="Read the sheet 'mine' alone; others have these columns, too: 'hers'."):
        ids, _ = ba.read_labels(folder / "two.xlsx", SHOWN)
    assert ids.tolist() == ["b"]


@pytest.mark.parametrize(
    ("write", "name", "said"),
    [
        ("to_xlsx", "sheet.csv", "A workbook is written as XLSX; name the file sheet.xlsx, not sheet.csv, or"),
        ("to_xlsx", "sheet", "name the file sheet.xlsx, not sheet, or"),
        ("to_csv", "sheet.xlsx", "A sheet is written as CSV here; name the file sheet.csv, not sheet.xlsx"),
        ("to_csv", "sheet.json", "name the file sheet.csv, not sheet.json"),
        ("to_csv", "sheet.ODS", "name the file sheet.csv, not sheet.ODS"),
        ("to_csv", "sheet.parquet", "name the file sheet.csv, not sheet.parquet"),
    ],
)
def test_a_sheet_has_the_name_by_which_it_can_be_read_back(tmp_path, write, name, said):
    with pytest.raises(ba.OutputError, match=said):
        getattr(queries_of(SHOWN), write)(tmp_path / name)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("path", [None, io.StringIO(), 3], ids=["None", "a stream", "a number"])
def test_what_is_written_is_named_by_a_path(path):
    queries = queries_of(SHOWN)
    for write, what in ((queries.to_csv, "sheet"), (queries.to_xlsx, "workbook"), (queries.table().to_csv, "table")):
        with pytest.raises(ba.OutputError, match=f"Name the file to write the {what} to by its path; found"):
            write(path)
    with pytest.raises(ba.OutputError, match="write the tasks to by its path"):
        queries.to_json(path, tool="argilla")


def test_what_is_no_pool_or_no_column_is_refused_in_a_sentence(folder):
    path = sheet_of(folder, ("a1", "good"))
    session = ba.assess(POOL, ba.GroupAccuracy())
    for other in (session, "id", ba.RankedList(3)):
        with pytest.raises(
            ba.LabelError, match=f"or none, as for ranked lists; found {type(other).__name__}. The pool"
        ):
            ba.read_labels(path, other)
    with pytest.raises(ba.LabelError, match="A column of a sheet is named by a text, such as 'label'; found 1"):
        ba.read_labels(path, POOL, label=1)


def records_of(folder, kind: str, rows: list[dict]):
    """Write rows as lines of JSON, with a blank one at the end, or as Parquet."""
    path = folder / f"labels.{kind}"
    if kind == "parquet":
        pd.DataFrame(rows).to_parquet(path)
    else:
        path.write_text("".join(f"{json.dumps(row)}\n" for row in rows) + "\n", encoding="utf-8")
    return path


@pytest.mark.parametrize("kind", ["jsonl", "NDJSON", "parquet"])
def test_labels_are_read_from_records(folder, kind):
    rows = [
        {"ID": "007", "label": "good", "annotator": "anna", "spans": [[1, 2]]},
        {"ID": "a1", "label": None, "annotator": "anna", "spans": []},
        {"ID": "855", "label": "bad", "annotator": None, "spans": [[3, 4]]},
    ]
    ids, labels, names = ba.read_labels(records_of(folder, kind, rows), POOL, annotators=True)
    assert (ids.tolist(), labels.tolist(), names.tolist()) == (["007", "855"], ["good", "bad"], ["anna", ""])
    rows[2]["label"] = "best"
    with pytest.raises(ba.LabelError, match="counted from 1, these rows are wrong: row 3: the label 'best' is not one"):
        ba.read_labels(records_of(folder, kind, rows), POOL)
    with pytest.raises(
        ba.LabelError, match="has no column 'said'; its columns are 'ID', 'label', 'annotator', 'spans'"
    ):
        ba.read_labels(records_of(folder, kind, rows), POOL, label="said")


@pytest.mark.parametrize("kind", ["jsonl", "parquet"])
def test_sets_of_labels_are_lists_in_records(folder, kind):
    pool = ba.Pool(predictions=["cat;dog", "-", "dog"], multilabel=True)
    rows = [{"id": 0, "label": ["dog", "cat"]}, {"id": 1, "label": []}, {"id": 2, "label": None}]
    ids, labels = ba.read_labels(records_of(folder, kind, rows), pool)
    assert (ids.tolist(), labels.tolist()) == ([0, 1], ["cat;dog", "-"])


def test_what_a_session_has_exported_can_be_told_to_another(folder):
    first, second = (ba.assess(POOL, ba.GroupAccuracy()) for _ in range(2))
    first.tell(["007", "855"], ["good", "bad"])
    first.export(folder / "labels.parquet")
    second.tell(*ba.read_labels(folder / "labels.parquet", POOL))
    assert second.labelled[1].tolist() == first.labelled[1].tolist()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"id": "a1"', "line 1: Expecting"),
        ('{"id": "a1"}\n["a1"]', "line 2 is a list, not an object"),
        (
            '{"id": "a1", "label": "good"}\n{"id": "855", "label": "good", "label": "bad"}',
            'line 2 has \'label\' twice, "good" and "bad"; leave one of them',
        ),
        ("", "is empty"),
    ],
)
def test_broken_lines_of_json_are_refused(folder, text, said):
    (folder / "labels.jsonl").write_text(text)
    with pytest.raises(ba.LabelError, match=said):
        ba.read_labels(folder / "labels.jsonl", POOL)


def test_what_a_line_of_json_says_twice_alike_or_of_other_columns_is_no_matter(folder):
    lines = '{"id": "a1", "label": "good", "label": "good", "note": 1, "note": {"label": 2, "label": 3}}'
    (folder / "labels.jsonl").write_text(lines)
    assert [column.tolist() for column in ba.read_labels(folder / "labels.jsonl", POOL)] == [["a1"], ["good"]]


@pytest.mark.parametrize("start", [b"PAR1", b"ARROW1", b"SQLite format 3\0"])
def test_a_table_of_another_format_is_no_text(folder, start):
    (folder / "sheet.csv").write_bytes(start + bytes(100))
    with pytest.raises(ba.LabelError, match="cannot be read as text: it is a binary file of tables; save it as 'CSV"):
        ba.read_labels(folder / "sheet.csv")
    (folder / "sheet.parquet").write_bytes(start + bytes(100))
    with pytest.raises(ba.LabelError, match="cannot be read as Parquet: "):
        ba.read_labels(folder / "sheet.parquet")


@pytest.mark.parametrize("start", [b"\x1f\x8b", b"PK\x03\x04", bytes.fromhex("d0cf11e0a1b11ae1")])
def test_a_workbook_under_another_name_is_no_text(folder, start):
    (folder / "sheet.csv").write_bytes(start + bytes(100))
    with pytest.raises(ba.LabelError, match="cannot be read as text: it is a workbook or another archive"):
        ba.read_labels(folder / "sheet.csv")
    with pytest.raises(ba.PoolError, match="it is a workbook or another archive"):
        ba.read_pool(folder / "sheet.csv")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="There are no pipes with names.")
def test_a_pipe_is_not_an_empty_sheet(folder):
    """Nobody writes to it: whoever began to read it would wait for ever."""
    os.mkfifo(folder / "pipe.csv")
    with pytest.raises(ba.LabelError, match="cannot be read as it is a pipe, which gives its text only once"):
        ba.read_labels(folder / "pipe.csv")


def test_a_broken_workbook_is_refused(folder):
    pytest.importorskip("openpyxl")
    (folder / "broken.xlsx").write_bytes(b"PK, and nothing else")
    with pytest.raises(ba.LabelError, match="cannot be read as an Excel workbook"):
        ba.read_labels(folder / "broken.xlsx")
    (folder / "old.xls").write_bytes(b"")
    with pytest.raises(ba.LabelError, match=r"save it as \.xlsx or as CSV"):
        ba.read_labels(folder / "old.xls")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "Labels of March,\nid,label\n1,0\n",
            "'Labels of March', ''. Row 2 looks like the header: delete the row above",
        ),
        (
            "Labels of March\n\nID;Label\n1;0\n",
            "'Labels of March'. Row 3 looks like the header: delete the rows above it.",
        ),
        ("Labels of March\nid,verdict\n1,0\n", "its columns are 'Labels of March'.$"),
    ],
)
def test_a_title_above_the_header_is_pointed_at(text, said, tmp_path):
    path = tmp_path / "labels.csv"
    path.write_text(text)
    with pytest.raises(ba.LabelError, match=said):
        read_sheet(path, ba.Pool(predictions=[0, 1]))


def test_a_formula_that_nobody_computed_is_refused_by_its_cell_and_an_empty_one_is_blank(folder):
    """As files that a program wrote have them; spreadsheets save what formulas come to."""
    openpyxl = pytest.importorskip("openpyxl")
    path, saved = folder / "formulas.xlsx", folder / "saved.xlsx"
    book = openpyxl.Workbook()
    for row in (["id", "label", "note"], [0, "=1-1", None], [1, '=IF(1,"","")', None], [2, 1, "=C1"]):
        book.active.append(row)
    book.save(path)
    pool = ba.Pool(predictions=[0, 1, 1])
    for options in ({}, {"pool": pool}):
        with pytest.raises(ba.LabelError, match=r"row 2: cell B2 is a formula whose value .*; row 3: cell B3 is"):
            ba.read_labels(path, **options)
    with zipfile.ZipFile(path) as archive, zipfile.ZipFile(saved, "w") as copy:
        for name in archive.namelist():
            text = archive.read(name)
            text = text.replace(b"<f>1-1</f><v />", b"<f>1-1</f><v>0</v>")
            copy.writestr(name, text.replace(b'<c r="B3"><f>', b'<c r="B3" t="str"><f>'))
    assert [part.tolist() for part in ba.read_labels(saved, pool)] == [[0, 2], [0, 1]]


@pytest.mark.parametrize(
    "text", ["03.01.2026", "2026-01-03", "2026-01-03 00:00:00", "3-Jan", "03. Mrz", "3-mai-26", "Jan-03", "01/03/2026"]
)
def test_ids_of_which_a_spreadsheet_has_made_dates_are_said_to_be_such(folder, text):
    (folder / "dates.csv").write_text(f"id;label\n{text};1\n", encoding="utf-8")
    said = "is the id of no item: a spreadsheet may have made a date of an id such as '3-1'; take the sheet as it was"
    with pytest.raises(ba.LabelError, match=said):
        ba.read_labels(folder / "dates.csv", ba.Pool(predictions=[0, 1], ids=["3-1", "3-2"]))
    for ids in ([31, 32], ["2025-01-01", "2025-01-02"]):
        with pytest.raises(ba.LabelError, match=r"is the id of no item\.$"):
            ba.read_labels(folder / "dates.csv", ba.Pool(predictions=[0, 1], ids=ids))


@pytest.mark.parametrize("kind", ["csv", "xlsx"])
def test_empty_rows_that_spreadsheets_leave_are_no_items_without_a_label(folder, kind):
    """Such as ";;", which Excel writes below a table that was shortened: they were counted as rows without a label."""
    rows = [
        ["id", "text", "label"],
        ["a1", "x", "good"],
        ["", "", ""],
        ["a2", "y", ""],
        ["", " ", ""],
        ["007", "", "bad"],
    ]
    path = folder / f"left.{kind}"
    if kind == "csv":
        written(path, [*rows, ["", "", ""], ["", "", ""]], delimiter=";")
    else:
        book = pytest.importorskip("openpyxl").Workbook()
        for row in [*rows, ["", "", ""]]:
            book.active.append(row)
        book.save(path)
    sheet = read_sheet(path, POOL)
    assert (sheet.ids.tolist(), sheet.labels.tolist(), sheet.n_blank) == (["a1", "007"], ["good", "bad"], 1)
    wrong = written(folder / "wrong.csv", [*rows, ["", "", ""], ["b", "", "good"]])
    with pytest.raises(ba.LabelError, match="row 8: 'b' is the id of no item"):  # as the file numbers it
        ba.read_labels(wrong, POOL)


def test_rows_that_are_wrong_in_the_same_way_are_said_together(tmp_path):
    pool = ba.Pool(predictions=["bug", "bill"] * 4)
    labels = ["bugs", "bill", "spam", "bugs", "", "spam", "bugs", "bug"]
    path = tmp_path / "sheet.csv"
    path.write_text("id,label\n" + "".join(f"{i},{label}\n" for i, label in enumerate(labels)) + "99,bug\n")
    with pytest.raises(ba.LabelError) as refused:
        ba.read_labels(path, pool)
    said = str(refused.value)
    assert "rows 2, 5 and 8: the label 'bugs' is not one of the classes ('bill', 'bug'); only these are" in said
    assert "rows 4 and 7: the label 'spam' is none, either; row 10: '99' " in said
    assert said.count("('bill', 'bug')") == said.count("name every class") == 1


def test_classes_are_said_once_of_sheets_with_several_labels_each(tmp_path):
    pool = ba.Pool(scores=np.full((4, 2), 0.7), classes=["A1.0", "B2.0"], multilabel=True)
    path = tmp_path / "sheet.csv"
    path.write_text('id,label\n0,"A1.0, B2.0"\n1,"A1,0"\n2,?\n3,A1.0;B2.0\n')
    with pytest.raises(ba.LabelError) as refused:
        ba.read_labels(path, pool)
    said = str(refused.value)
    assert said.count("('A1.0', 'B2.0')") == 1
    assert "semicolons, such as 'A1.0;B2.0'; row 3: the label 'A1,0' names 'A1,0', which is none, either; row 4" in said
