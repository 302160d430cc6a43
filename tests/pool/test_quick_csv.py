"""Plain CSV files are read by Arrow, and give what reading row by row gives."""

from __future__ import annotations

import csv
import io

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bayes_assess as ba
from bayes_assess._tools.arrow_text import text_of
from bayes_assess._tools.csv_files import open_csv
from bayes_assess.errors import PoolError
from bayes_assess.pool import _csv, _quick_csv
from bayes_assess.pool._table import Columns

COLUMNS = Columns(id="id", scores=None, prediction="class", confidence="p", groups=["site"], systems={}, show=["text"])


@pytest.fixture(autouse=True)
def _small_files_too(monkeypatch):
    monkeypatch.setattr(_quick_csv, "_LEAST", 0)


def plain(path):
    """Return what Arrow reads of a file, or None."""
    return _quick_csv.read_plain(open_csv(path, lambda header: "id" in header), COLUMNS, _csv._MISSING)


def read(path, quick: bool):
    """Return everything that a pool is made of, or why it is none."""
    with pytest.MonkeyPatch.context() as patch:
        if not quick:
            patch.setattr(_csv, "read_plain", lambda *_: None)
        try:
            pool = ba.read_pool(path, prediction="class", confidence="p", groups=["site"], show=["text"])
        except PoolError as error:
            return str(error)
    columns = (pool.ids, pool.predictions, pool.confidence, pool.classes, pool.groups["site"], pool.show["text"])
    return [(column.dtype.kind, column.tolist()) for column in columns]


names = st.sampled_from(["cat", "dog", "01", "1", "2.50", "True", "", " x", "Gießen", 'a "b"', "a,b", "a;b", "a\nb"])
numbers = st.sampled_from(["0.5", "1", "0", "0.25", "", "nan", "NA", " 0.5", "1e-3", "0,5", "x", "inf"])
rows = st.lists(st.tuples(names, names, numbers, names, names), min_size=1, max_size=6)


@given(rows=rows, delimiter=st.sampled_from(",;\t"), quoting=st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]))
@settings(max_examples=50, deadline=None)
def test_both_ways_of_reading_agree(rows, delimiter, quoting, tmp_path_factory):
    path, stream = tmp_path_factory.mktemp("csv") / "pool.csv", io.StringIO(newline="")
    writer = csv.writer(stream, delimiter=delimiter, quoting=quoting)
    writer.writerow(["id", "class", "p", "site", "text"])
    writer.writerows((f"{i}{row[0]}", *row[1:]) for i, row in enumerate(rows))
    path.write_text(stream.getvalue(), newline="")
    assert read(path, quick=True) == read(path, quick=False)


@pytest.mark.parametrize("quote", ["", '"'])
def test_plain_files_are_read_by_arrow(quote, tmp_path):
    path, q = tmp_path / "pool.csv", quote
    lines = [f"{q}i{i}{q},{q}{'cat' if i % 2 else 'dog'}{q},0.{i},{q}Gießen{q},{q}text{q}" for i in range(1, 9)]
    path.write_text("id,class,p,site,text\n" + "\n".join(lines))
    found = plain(path)
    assert found is not None
    assert found.n_rows == 8
    assert found.texts["id"].tolist() == [f"i{i}" for i in range(1, 9)]
    assert found.names["class"][0].tolist() == ["cat", "dog"]
    assert read(path, quick=True) == read(path, quick=False)


@pytest.mark.parametrize("part", [1, 3, 1 << 18])  # bytes that are looked through at a time
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_lines_may_break_within_a_field(end, part, tmp_path, monkeypatch):
    monkeypatch.setattr(_quick_csv, "_PART", part)
    path, texts = tmp_path / "pool.csv", ['two\nlines, ""so""', '\n""""', "", "Gießen\n\n\n"]
    rows = [f'i{i},cat,0.{i},x,"{text}"' for i, text in enumerate(texts, start=1)]
    path.write_text(end.join(['\ufeffid,class,p,site,"text"', *rows, ""]), "utf-8", newline="")
    found = plain(path)
    assert found is not None
    assert found.texts["text"].tolist() == [text.replace('""', '"') for text in texts]
    assert read(path, quick=True) == read(path, quick=False)


@pytest.mark.parametrize(
    "rows",
    [
        "a,cat,0.5,x,\nb,cat,0.5,x\n",  # a field too few
        "a,cat,0.5,x,,\n",  # too many
        "a,cat,0.5,x,\n\nb,cat,0.5,x,\n",  # a blank line
        "a,cat,0.5,x,\n,,,,\n",  # a row without anything
        'a,cat,0.5,x,"two\nlines"\nb,cat,0.5,"5" wide",\n',  # quotes that neither begin a field nor end one
        'a,cat,0.5,x,"two\nlines\n',
        "a,cat,0.5,x,\rb,cat,0.5,x,\r",  # ends of lines of old
        "a,cat,half,x,\n",
        "a,cat,1,x,\nb,cat,0,x,\n",  # whole numbers
        "",
    ],
)
def test_other_files_are_read_row_by_row(rows, tmp_path):
    path = tmp_path / "pool.csv"
    path.write_text("id,class,p,site,text\n" + rows, newline="")
    assert plain(path) is None
    assert read(path, quick=True) == read(path, quick=False)


@given(st.lists(st.text(alphabet=st.characters(exclude_categories=["Cs"], exclude_characters="\0")), max_size=20))
def test_texts_of_arrow_are_those_of_python(texts):
    pa = pytest.importorskip("pyarrow")
    column = pa.chunked_array([pa.array(texts[:7], pa.string()), pa.array(texts[7:], pa.string())])
    np.testing.assert_array_equal(text_of(column), np.array(texts, dtype=str))
    np.testing.assert_array_equal(text_of(column.dictionary_encode()), np.array(texts, dtype=str))
