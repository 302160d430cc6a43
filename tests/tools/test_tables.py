from __future__ import annotations

import csv
import importlib.util
import io
import os
import pickle
import subprocess
import sys

import numpy as np
import pytest

from bayes_assess._tools.files import is_writing
from bayes_assess._tools.tables import Table
from bayes_assess._tools.text import Rounded, figures, shortened, text_width
from bayes_assess.errors import OutputError, UnknownColumnError


@pytest.fixture
def table() -> Table:
    return Table(
        {"group": ["cat", "dog"], "labels": np.array([12, 7]), "accuracy": [0.91666, 0.5], "note": ["a|b", None]},
        title="Accuracy by group",
    )


# -- columns ---------------------------------------------------------------------------------------------------------


def test_columns_rows_and_length(table):
    assert table.columns == ("group", "labels", "accuracy", "note")
    assert len(table) == 2
    np.testing.assert_array_equal(table["labels"], [12, 7])
    rows = list(table.rows())
    assert rows[1] == {"group": "dog", "labels": 7, "accuracy": 0.5, "note": None}
    assert type(rows[1]["labels"]) is int
    assert list(table) == rows


def test_a_table_cannot_be_changed(table):
    with pytest.raises(ValueError, match="read-only"):
        table["labels"][0] = 99
    with pytest.raises(TypeError):
        table["labels"] = np.zeros(2)
    with pytest.raises(AttributeError):
        table.columns = ("a",)


def test_later_changes_to_the_input_do_not_reach_the_table():
    labels = np.array([1, 2])
    table = Table({"labels": labels})
    labels[0] = 99
    assert table["labels"][0] == 1


def test_a_table_can_be_pickled(table):
    assert list(pickle.loads(pickle.dumps(table)).rows()) == list(table.rows())


def test_mixed_values_stay_what_they_are():
    assert list(Table({"class": ["a", 1, None]})["class"]) == ["a", 1, None]


def test_an_unknown_column_is_an_error_that_lists_the_columns(table):
    with pytest.raises(UnknownColumnError, match="no column 'recall'; its columns are group, labels") as caught:
        table["recall"]
    assert isinstance(caught.value, KeyError)
    with pytest.raises(UnknownColumnError):
        table[0]


def test_membership_is_refused_because_it_could_mean_two_things(table):
    with pytest.raises(TypeError):
        assert "group" in table


@pytest.mark.parametrize(
    ("columns", "formats", "message"),
    [
        ({"a": [1, 2], "b": [1]}, None, "one length.*'a': 2, 'b': 1"),
        ({"a": np.zeros((2, 2))}, None, r"'a' of the table has shape \(2, 2\)"),
        ({"a": 3.0}, None, r"'a' of the table has shape \(\)"),
        ({"a": [[1], [1, 2]]}, None, "one value per row"),
        ({"1": [1], 1: [2]}, None, "both named '1'"),
        ({"a": [1]}, {"b": ".3f"}, "no column of a"),
        ({"a": ["x"]}, {"a": ".3f"}, "does not fit 'x'"),
    ],
)
def test_columns_that_make_no_table_are_named(columns, formats, message):
    with pytest.raises(OutputError, match=message):
        Table(columns, formats=formats)


# -- text ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("columns", [[1, 2], "labels", None, 3.0])
def test_columns_without_names_are_refused(columns):
    with pytest.raises(OutputError, match=r"takes its columns by name, such as .*; found"):
        Table(columns)


def test_text_is_aligned_with_numbers_on_the_right(table):
    assert repr(table).splitlines() == [
        "Accuracy by group",
        "group  labels  accuracy  note",
        "-----  ------  --------  ----",
        "cat        12     0.917  a|b",
        "dog         7     0.500  -",
    ]


def test_formats_change_what_is_shown_and_nothing_else():
    table = Table({"accuracy": [0.91666], "items": [1234567]}, formats={"accuracy": ".1%", "items": ",d"})
    assert repr(table).splitlines()[-1].split() == ["91.7%", "1,234,567"]
    assert table["accuracy"][0] == 0.91666


@pytest.mark.parametrize(
    ("values", "shown"),
    [
        ([0.0, 1.0], ["0.0", "1.0"]),
        ([0.123456, 1.0], ["0.123", "1.000"]),
        ([123.456, 0.5], ["123.5", "0.5"]),
        ([0.012345], ["0.0123"]),
        ([0.5, 1e-7], ["0.500", "1e-07"]),
        ([1.5e9, 2.0], ["1.5e+09", "2"]),
        ([0.25, np.nan], ["0.250", "nan"]),
        ([0.25, np.inf], ["0.250", "inf"]),
        ([None, 0.25], ["-", "0.250"]),
        (np.array([0.25], dtype=np.float32), ["0.250"]),
    ],
)
def test_floats_show_sensible_digits(values, shown):
    assert [line.strip() for line in repr(Table({"x": values})).splitlines()[2:]] == shown


def test_a_small_probability_is_not_shown_as_zero():
    assert repr(Table({"p": [0.9, 0.0001]})).split()[2:] == ["0.900", "0.0001"]


def test_small_numbers_of_a_column_of_any_size_keep_two_digits():
    values = [0.5, 0.0, 0.0123, 0.00123, 0.000123, 0.0000123, 1.0]
    shown = repr(Table({"x": values}, formats={"x": Rounded(".3f")})).split()[2:]
    assert shown == ["0.500", "0.000", "0.012", "0.0012", "0.00012", "1.2e-05", "1.000"]


def test_a_long_table_shows_head_and_tail():
    lines = repr(Table({"id": np.arange(1000)})).splitlines()
    assert len(lines) == 2 + 20 + 1
    assert lines[2].strip() == "0"
    assert lines[12] == "... (980 more rows)"
    assert lines[-1].strip() == "999"


def test_a_table_of_twenty_rows_is_shown_whole_and_one_of_twenty_one_is_not():
    assert "more row" not in repr(Table({"id": np.arange(20)}))
    assert "... (1 more row)" in repr(Table({"id": np.arange(21)}))


def test_a_wide_table_leaves_out_columns_in_the_middle():
    text = repr(Table({f"class {i}": [0.5] for i in range(40)}))
    assert max(map(len, text.splitlines())) <= 120
    assert "class 0" in text
    assert "class 39" in text
    assert "of 40 columns not shown" in text


def test_wide_letters_and_line_breaks_keep_the_columns_straight():
    lines = repr(Table({"name": ["日本", "cat", "a\nb"], "n": [1, 2, 3]})).splitlines()
    assert lines[2:] == ["日本  1", "cat   2", "a\\nb  3"]


def test_scores_that_some_have_not_are_a_dash():
    lines = repr(Table({"se": [0.25, np.nan]}, formats={"se": ".4f"})).splitlines()
    assert lines[2:] == ["0.2500", "     -"]


def test_a_long_cell_is_cut():
    assert "x" * 37 + "..." in repr(Table({"text": ["x" * 500]}))
    alike = ["a name that begins like the other one, and ends in " + end for end in "12"]
    text = repr(Table({"text": alike}))
    assert "a name that begins... one, and ends in 1\na name that begins... one, and ends in 2" in text
    assert "猫" * 18 + "..." in repr(Table({"text": ["猫" * 40]}))  # of two columns each


def test_pages_have_names_whole_that_lines_of_text_cut():
    name = "recall (system prediction) less recall (system reader B)"
    table = Table({"measure": [name], "text": ["x" * 500]})
    assert name not in repr(table)
    for page in (table.to_markdown(), table.to_html()):
        assert name in page
        assert "x" * 117 + "..." in page
        assert "x" * 118 not in page


def test_ends_of_an_interval_that_differ_do_not_look_alike():
    assert figures(0.9909, 0.9906, 0.9909) == ["0.9909", "0.9906", "0.9909"]
    assert figures(0.9, 0.9, 0.9) == ["0.900", "0.900", "0.900"]
    assert figures(0.1 + 0.2, 0.3, 0.3) == ["0.300", "0.300", "0.300"]  # by rounding
    assert figures(0.5, 0.4999999, 0.5000001, sign="+") == ["+0.5000000", "+0.4999999", "+0.5000001"]
    assert figures(0.31, 0.00012) == ["0.310", "0.000"]


def test_empty_tables_say_so():
    assert repr(Table({"id": []})).endswith("(no rows)")
    assert repr(Table({})) == "(no columns)"
    assert len(Table({})) == 0
    assert Table({"id": []}).to_markdown().count("\n") == 1


def test_markdown_is_whole_and_escaped(table):
    assert table.to_markdown().splitlines() == [
        "Accuracy by group",
        "",
        "| group | labels | accuracy | note |",
        "| :---- | -----: | -------: | :--- |",
        "| cat   |     12 |    0.917 | a\\|b |",
        "| dog   |      7 |    0.500 | -    |",
    ]
    assert len(Table({"id": np.arange(100)}).to_markdown().splitlines()) == 102


def test_markdown_has_no_links_and_calls_nobody():
    names = ["[x](http://a.b)", "@anna", "www.a.b", "&lt;b&gt;", "`code`", "a@b", "[0.1, 0.2]"]
    cells = [
        row.split(" | ")[0].lstrip("| ").rstrip(" |") for row in Table({"id": names}).to_markdown().splitlines()[2:]
    ]
    assert cells == [
        "[x]\\(http:&#8203;//a.b)",
        "@&#8203;anna",
        "www&#8203;.a.b",
        "\\&lt;b\\&gt;",
        "\\`code\\`",
        "a@&#8203;b",
        "[0.1, 0.2]",
    ]


def test_what_would_move_a_cursor_is_spelled_out():
    table = Table({"a\x1b[1m": ["b\x1b]0;title\x07", "c\u202ed\x9b"]}, title="t\x1b[2J")
    shown = repr(table)
    assert "t\\x1b[2J" in shown
    assert "b\\x1b]0;title\\x07" in shown
    assert "c\\u202ed\\x9b" in shown
    from rich.console import Console

    stream = io.StringIO()
    Console(file=stream, width=100).print(table)
    assert not any(letter in shown + stream.getvalue() for letter in "\x1b\x07\x9b\u202e")


def test_csv_quotes_what_could_end_a_row(tmp_path):
    path = Table({"a": ["x\ry", ""], "b": ["\ud83d", '"']}).to_csv(tmp_path / "t.csv")
    assert path.read_bytes().decode() == 'a,b\n"x\ry",\ufffd\n,""""\n'
    assert Table({"a": [None]}).to_csv(tmp_path / "t.csv").read_text() == 'a\n""\n'


def test_html_is_escaped_and_short():
    markup = Table({"<b>": ["<script>"] * 100}, title="a & b")._repr_html_()
    assert "<script>" not in markup
    assert "&lt;script&gt;" in markup
    assert "<caption>a &amp; b</caption>" in markup
    assert "(80 more rows)" in markup
    assert markup.count("<tr>") == 1 + 20 + 1


def test_rich_shows_names_that_look_like_markup(table):
    from rich.console import Console

    console = Console(file=io.StringIO(), width=80)
    console.print(Table({"group": ["[red]", "[/]"], "n": [1, 2]}, title="[bold]"))
    console.print(table)
    text = console.file.getvalue()
    for word in ("[red]", "[/]", "[bold]", "Accuracy by group", "0.917"):
        assert word in text


def test_rich_takes_no_more_columns_than_plain_text_and_wraps_words_alone():
    from rich.console import Console

    names = ["a ward of a hospital", "another ward of it"]
    table = Table({"group": names, "n": [1, 2], "estimate": [0.125, 0.5], "interval": ["[0.1, 0.25]", "[0.25, inf]"]})
    lines = repr(table).splitlines()
    for width in (max(map(len, lines)), 40):
        console = Console(file=io.StringIO(), width=width)
        console.print(table)
        shown = console.file.getvalue()
        assert all(f" {number}" in shown for number in ("0.125", "0.500", "[0.1, 0.25]", "[0.25, inf]"))
        assert " ".join(lines[2].split()) in " ".join(shown.split()) or width == 40
        assert "…" not in shown


def test_rich_shortens_long_tables_unless_told_otherwise():
    long = Table({"id": np.arange(100), "x": np.arange(100)})
    assert long.to_rich().row_count == 21
    assert str(long.to_rich().caption) == "20 of 100 rows"
    assert long.to_rich(max_rows=None).row_count == 100


# -- data ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("backend", ["pandas", "polars", "pyarrow"])
def test_frames_hold_the_same_values(table, backend):
    pytest.importorskip(backend)
    frame = table.to_frame(backend)
    assert type(frame).__module__.split(".")[0] == backend
    rows = frame.to_pylist() if backend == "pyarrow" else None
    rows = rows or (frame.to_dicts() if backend == "polars" else frame.to_dict("records"))
    assert [row["group"] for row in rows] == ["cat", "dog"]
    assert [row["labels"] for row in rows] == [12, 7]
    assert [row["accuracy"] for row in rows] == [0.91666, 0.5]
    assert rows[1]["note"] is None or rows[1]["note"] != rows[1]["note"]


def test_a_frame_is_a_copy(table):
    frame = table.to_frame()
    frame.loc[0, "labels"] = 99
    assert table["labels"][0] == 12


def test_a_backend_that_is_unknown_or_missing_says_so(table, monkeypatch):
    with pytest.raises(OutputError, match="pandas, polars, pyarrow; found 'dask'"):
        table.to_frame("dask")
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(OutputError, match="needs polars, which is not installed here; `pip install polars`"):
        table.to_frame("polars")


def test_csv_holds_every_row_in_full(table, tmp_path):
    values = np.random.default_rng(0).random(100)
    path = Table({"id": np.arange(100), "x": values, "text": ['a "b", c\nd'] * 100}).to_csv(tmp_path / "t.csv")
    with path.open(newline="", encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream))
    assert [int(row["id"]) for row in rows] == list(range(100))
    np.testing.assert_array_equal([float(row["x"]) for row in rows], values)
    assert rows[0]["text"] == 'a "b", c\nd'


def test_csv_writes_missing_values_as_empty_fields(tmp_path):
    path = Table({"id": [1, 2], "x": [np.nan, 1.0], "y": ["a", None]}).to_csv(tmp_path / "t.csv")
    assert path.read_text() == "id,x,y\n1,,a\n2,1.0,\n"


def test_csv_is_replaced_whole_or_not_at_all(tmp_path, monkeypatch):
    path = tmp_path / "t.csv"
    Table({"id": [1]}).to_csv(path)
    Table({"id": [2]}).to_csv(path)
    assert path.read_text() == "id\n2\n"

    def fail(*_):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", fail)
        with pytest.raises(OutputError, match=r"Cannot write .*t\.csv: No space left"):
            Table({"id": [3]}).to_csv(path)
    assert path.read_text() == "id\n2\n"
    assert list(tmp_path.iterdir()) == [path]


def test_csv_into_a_missing_folder_or_onto_a_folder_says_so(tmp_path):
    with pytest.raises(OutputError, match="No such file or directory"):
        Table({"id": [1]}).to_csv(tmp_path / "nowhere" / "t.csv")
    with pytest.raises(OutputError, match="exists and is not a file"):
        Table({"id": [1]}).to_csv(tmp_path)
    assert not is_writing()


def test_csv_through_a_link_keeps_the_link(tmp_path):
    (tmp_path / "real.csv").write_text("old")
    (tmp_path / "link.csv").symlink_to(tmp_path / "real.csv")
    Table({"id": [1]}).to_csv(tmp_path / "link.csv")
    assert (tmp_path / "link.csv").is_symlink()
    assert (tmp_path / "real.csv").read_text() == "id\n1\n"


def test_importing_tables_imports_nothing_heavy():
    code = (
        "import sys, bayes_assess._tools.tables; heavy = {'jax', 'pandas', 'polars', 'pyarrow', 'rich', 'matplotlib'};"
        "assert not heavy & set(sys.modules), heavy & set(sys.modules)"
    )
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    subprocess.run([sys.executable, "-c", code], env=environment, check=True)


def test_names_that_begin_and_end_alike_keep_the_place_at_which_they_differ():
    wards = ("first", "second", "third")
    names = [f"the northern hospital of the county, {ward} ward, inpatients alone" for ward in wards]
    cut = shortened(names, 40)
    assert len(set(cut)) == 3
    assert max(map(text_width, cut)) <= 40
    for name, ward in zip(cut, wards, strict=True):
        assert ward in name
    # the first two part from the third, and later from each other
    two_places = [f"{'a' * 30}{x}{'b' * 30}{y}{'c' * 40}" for x, y in ("11", "12", "21")]
    assert len(set(shortened(two_places, 20))) == 3


def test_tables_are_equal_by_what_they_hold():
    columns = {"group": ["a", None], "when": np.array(["2030-01-01", "NaT"], "M8[D]"), "x": [0.5, np.nan]}
    table = Table(columns, title="t", formats={"x": ".2f"})
    assert table == Table(columns, title="t")
    assert hash(table) == hash(Table(columns, title="t"))
    assert len({table, Table(columns, title="t")}) == 1
    for other in (columns | {"x": [0.5, 0.5]}, columns | {"group": ["a", "b"]}, {"x": columns["x"]} | columns):
        assert table != Table(other, title="t")
    assert table != Table(columns, title="u")
    assert table != Table({name: values[:1] for name, values in columns.items()}, title="t")
    assert table != columns
