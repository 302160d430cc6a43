"""Any text goes through every kind of sheet and comes back as it was."""

from __future__ import annotations

import csv
import json
import time
import zipfile
from datetime import date, datetime

import numpy as np
import openpyxl
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import bayes_assess as ba
from bayes_assess.errors import OutputError, PoolError
from bayes_assess.sessions.exchange.cells import as_meant, coded, decoded, inert
from bayes_assess.sessions.queries import Queries

LETTERS = st.one_of(
    st.characters(exclude_categories=["Cs"], exclude_characters="\0"), st.sampled_from("=+-@'\t\r\n,;\"_x0")
)
NAMES = st.text(LETTERS, min_size=1, max_size=8).filter(lambda name: name.strip())
SHOWN = st.text(st.one_of(st.characters(), LETTERS), max_size=12)


def queries_of(pool: ba.Pool) -> Queries:
    n = pool.n_items
    return Queries(
        ids=pool.ids,
        cells=np.zeros(n, int),
        weights=np.ones(n),
        groups=pool.prediction_names(slice(None)),
        predictions=pool.prediction_names(slice(None)),
        show=pool.show,
        choices=pool.label_space.choices,
        label_space=pool.label_space,
    )


def pool_of(ids, names, shown):
    n = len(ids)
    return ba.Pool(
        predictions=np.arange(n) % len(names), ids=ids, classes=names, show={"text": np.array(shown[:n], object)}
    )


def answered(queries, folder, suffix):
    """Write a sheet and fill in the prediction as a spreadsheet keeps it; return its path and the texts shown."""
    path = folder / f"sheet{suffix}"
    if suffix in (".csv", ".tsv"):
        between = {".csv": ",", ".tsv": "\t"}[suffix]
        queries.to_csv(path, show_prediction=True)
        with path.open(newline="", encoding="utf-8") as stream:
            header, *rows = csv.reader(stream, strict=True, delimiter=between)
        with path.open("w", newline="", encoding="utf-8") as stream:
            for row in [header, *([*row[:-1], row[header.index("prediction")]] for row in rows)]:
                stream.write(between.join('"' + cell.replace('"', '""') + '"' for cell in row) + "\r\n")
        return path, [as_meant(row[1]) for row in rows]
    queries.to_xlsx(path, show_prediction=True)
    book = openpyxl.load_workbook(path)
    sheet = book.worksheets[0]
    names = [cell.value for cell in sheet[1]]
    for row in sheet.iter_rows(min_row=2):
        row[-1].value, row[-1].data_type = row[names.index("prediction")].value, "s"
    book.save(path)
    return path, [decoded(str(row[1] or "")) for row in sheet.iter_rows(min_row=2, values_only=True)]


def test_days_of_a_workbook_are_those_of_a_pool_and_times_stay(tmp_path):
    """Excel keeps a day as the time at which it begins."""
    names = ["2020-02-29", "2020-03-01", "2020-03-01T04:05:00"]
    book = openpyxl.Workbook()
    rows = [("id", "label"), *((datetime.fromisoformat(name), date(2020, 1, 1)) for name in names)]
    for row in rows:
        book.active.append(row)
    book.save(tmp_path / "sheet.xlsx")
    ids, labels = ba.read_labels(tmp_path / "sheet.xlsx", ba.Pool(predictions=["2020-01-01"] * 3, ids=names))
    assert (ids.tolist(), labels.tolist()) == (names, ["2020-01-01"] * 3)


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".xlsx"])
@settings(deadline=None, max_examples=40)
@given(
    ids=st.lists(NAMES, min_size=1, max_size=4, unique=True),
    names=st.lists(NAMES, min_size=2, max_size=3, unique=True),
    shown=st.lists(SHOWN, min_size=4, max_size=4),
)
@example(ids=["=1+1", "'=1+1", "-1", "@a"], names=["+a", "'+a"], shown=["a\rb", "\ud83d", "\0" * 99, "\r"])
@example(ids=[" a", "a"], names=["_x000D_", "\rz", "x005F_"], shown=["", "=", "", ""])
def test_any_text_goes_through_a_sheet_and_back(tmp_path_factory, suffix, ids, names, shown):
    pool = pool_of(ids, names, shown)
    path, seen = answered(queries_of(pool), tmp_path_factory.mktemp("any"), suffix)
    found, labels = ba.read_labels(path, pool)
    assert found.tolist() == pool.ids.tolist()
    assert labels.tolist() == pool.prediction_names(slice(None)).tolist()
    whole = ["".join("\ufffd" if "\ud800" <= letter <= "\udfff" else letter for letter in text) for text in shown]
    assert seen == whole[: len(ids)]


def test_a_sheet_of_csv_may_come_back_as_a_workbook(tmp_path):
    pool = pool_of(["@a", "=b", "'c", "-d"], ["+", "-"], [""] * 4)
    path, _ = answered(queries_of(pool), tmp_path, ".csv")
    book = openpyxl.Workbook()
    with path.open(newline="", encoding="utf-8") as stream:
        for i, row in enumerate(csv.reader(stream), start=1):
            for j, text in enumerate(row, start=1):  # as text, with the quotes that kept it from being a formula
                cell = book.active.cell(i, j)
                cell.value, cell.data_type = text, "s"
    book.save(path.with_suffix(".xlsx"))
    with pytest.warns(UserWarning, match=" Took ") as said:
        found, labels = ba.read_labels(path.with_suffix(".xlsx"), pool)
    assert found.tolist() == pool.ids.tolist()
    assert labels.tolist() == ["+", "-", "+", "-"]
    assert [str(one.message).split(" Took ")[1] for one in said] == [
        """"'+" for '+', in 2 rows.""",
        """ids such as "'@a" for '@a', "'=b" for '=b', "'-d" for '-d', in 3 rows.""",
    ]


@pytest.mark.parametrize("tool", ["label-studio", "argilla"])
@settings(deadline=None, max_examples=30)
@given(ids=st.lists(NAMES, min_size=1, max_size=4, unique=True), shown=st.lists(SHOWN, min_size=4, max_size=4))
def test_any_text_goes_through_tasks_and_back(tmp_path_factory, tool, ids, shown):
    folder = tmp_path_factory.mktemp("tasks")
    pool = pool_of(ids, ["cat", "dog"], shown)
    queries_of(pool).to_json(folder / "tasks.json", tool=tool)
    tasks = json.loads((folder / "tasks.json").read_text(encoding="utf-8"))
    for at, task in enumerate(tasks):
        if tool == "argilla":
            task["responses"] = {"label": [{"value": "dog", "user_id": "u", "status": "submitted"}]}
        else:
            task["id"] = at
            task["annotations"] = [{"result": [{"from_name": "label", "value": {"choices": ["dog"]}}]}]
    (folder / "export.json").write_text(json.dumps(tasks))
    found, labels = ba.read_labels(folder / "export.json", pool)
    assert found.tolist() == pool.ids.tolist()
    assert set(labels.tolist()) == {"dog"}


@settings(deadline=None, max_examples=50)
@given(st.text(st.one_of(st.characters(exclude_categories=["Cs"]), st.sampled_from("_x0DdFf'=-"))))
def test_cells_stand_for_what_was_written(text):
    assert as_meant(inert(text)) == text
    assert decoded(coded(text)) == text
    assert decoded(coded(text).replace("x005F_", "")) == text  # which openpyxl leaves out
    assert inert(text)[:1] not in [*"=@\t\r\n"]


def test_formulas_are_texts_in_csv(tmp_path):
    pool = ba.Pool(predictions=["=cmd()", "-1"], ids=["@a", "+1"], show={"=x": ["=1+1", "\t=2"]})
    queries_of(pool).to_csv(tmp_path / "s.csv", show_prediction=True)
    with (tmp_path / "s.csv").open(newline="") as stream:
        assert list(csv.reader(stream)) == [
            ["id", "'=x", "prediction", "label"],
            ["'@a", "'=1+1", "'=cmd()", ""],
            ["+1", "'\t=2", "-1", ""],
        ]


def test_a_text_too_long_for_a_cell_of_excel_is_refused(tmp_path):
    pool = ba.Pool(predictions=["a"], ids=["i"], show={"text": ["x" * 40_000]})
    with pytest.raises(OutputError, match=r"B2 would have 40,000 letters, and cells of Excel have 32,767 .*write CSV"):
        queries_of(pool).to_xlsx(tmp_path / "s.xlsx")
    queries_of(pool).to_csv(tmp_path / "s.csv")
    assert ba.read_labels(tmp_path / "s.csv", pool)[0].tolist() == []


@pytest.mark.parametrize("odd", ["a\ud83d", "a\0b"])
def test_names_that_no_file_can_keep_are_refused(odd):
    message = "has half a letter or the character NUL, which no file can keep"
    for options in (
        {"predictions": ["x", "y"], "ids": ["a", odd]},
        {"predictions": ["x", odd]},
        {"predictions": [0, 1], "classes": ["x", odd]},
        {"predictions": ["x", "y"], "groups": {"site": ["s", odd]}},
    ):
        with pytest.raises(PoolError, match=message):
            ba.Pool(**options)


def test_workbooks_that_would_fill_the_memory_are_refused(tmp_path):
    path = tmp_path / "bomb.xlsx"
    openpyxl.Workbook().save(path)
    with zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("xl/worksheets/sheet9.xml", b" " * 100_000_000)
    with pytest.raises(
        ba.LabelError, match=r"as an Excel workbook: its 0\.1 MB would unpack to 100 MB, more than is read"
    ):
        ba.read_labels(path)


def test_empty_cells_that_a_workbook_claims_to_have_are_not_read(tmp_path):
    path, whole = tmp_path / "wide.xlsx", tmp_path / "whole.xlsx"
    book = openpyxl.Workbook()
    for row in (["id", "label"], ["a", "good"]):
        book.active.append(row)
    book.save(whole)
    with zipfile.ZipFile(whole) as archive, zipfile.ZipFile(path, "w") as other:
        for name in archive.namelist():
            text = archive.read(name).replace(b'<dimension ref="A1:B2"', b'<dimension ref="A1:XFD1048576"')
            other.writestr(name, text)
    start = time.process_time()
    assert [part.tolist() for part in ba.read_labels(path)] == [["a"], ["good"]]
    assert time.process_time() - start < 5
