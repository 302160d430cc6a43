import re
import warnings
from datetime import datetime, timedelta
from decimal import Decimal
from uuid import UUID

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from pyarrow import parquet

import bayes_assess as ba
from bayes_assess._tools.arrays import to_numpy
from bayes_assess.errors import DesignError, PoolError
from bayes_assess.pool import readers
from bayes_assess.pool._table import class_names


@pytest.fixture
def table():
    p_dog = np.random.default_rng(3).random(50)
    return {
        "id": [f"item {i}" for i in range(50)],
        "p_cat": 1 - p_dog,
        "p_dog": p_dog,
        "prediction": np.where(p_dog > 0.7, "dog", "cat"),
        "site": np.array(["north", "NA"])[np.arange(50) % 2],
    }


@pytest.fixture
def sources(table, tmp_path):
    """The same table in every form that can be read."""
    frame = pd.DataFrame(table)
    frame.to_csv(tmp_path / "pool.csv", index=False)
    frame.to_parquet(tmp_path / "pool.parquet")
    np.savez(
        tmp_path / "pool.npz",
        scores=frame[["p_cat", "p_dog"]].to_numpy(),
        predictions=np.array(table["prediction"]),
        classes=["cat", "dog"],
        ids=table["id"],
        site=table["site"],
        labels=np.array(["never", "read"], dtype=object),
    )
    return {
        "csv": tmp_path / "pool.csv",
        "csv as text": str(tmp_path / "pool.csv"),
        "parquet": tmp_path / "pool.parquet",
        "npz": tmp_path / "pool.npz",
        "pandas": frame,
        "polars": pl.DataFrame(table),
        "polars lazy": pl.LazyFrame(table),
        "pyarrow": pa.table(table),
    }


def test_every_source_gives_the_same_pool(sources, table):
    pools = {name: ba.read_pool(source, groups=["site"]) for name, source in sources.items()}
    assert len({pool.fingerprint() for pool in pools.values()}) == 1, {n: p.fingerprint() for n, p in pools.items()}
    pool = pools["csv"]
    assert repr(pool) == "Pool(50 items, 2 classes, scores, groups: site)"
    assert pool.classes.tolist() == ["cat", "dog"]
    assert pool.classes[pool.predictions].tolist() == list(table["prediction"])
    assert pool.positions(["item 7"]).tolist() == [7]
    np.testing.assert_array_equal(pool.scores[:, 1], table["p_dog"])


def test_named_columns_win_over_telling_names(sources, table):
    for name in ("csv", "parquet", "pandas", "polars"):
        pool = ba.read_pool(sources[name], id="id", scores=["p_dog", "p_cat"], groups="site")
        assert pool.classes.tolist() == ["dog", "cat"]
        np.testing.assert_array_equal(pool.scores[:, 0], table["p_dog"])


def test_one_score_column_is_the_probability_of_the_positive_class(sources, table):
    frame = sources["pandas"].drop(columns="prediction")
    pool = ba.read_pool(frame, scores="p_dog", classes=["cat", "dog"])
    assert pool.scores.ndim == 1
    np.testing.assert_array_equal(pool.predictions, pool.scores >= 0.5)


@pytest.mark.parametrize("kind", ["polars", "polars lazy", "pyarrow"])
def test_texts_of_arrow_and_polars_are_taken_from_their_bytes(kind, monkeypatch):
    texts = {"id": ["ä", "b", "cc"], "prediction": ["dog", "Küken", "cat"], "site": ["x", "y", "x"]}
    table = {**texts, "confidence": [0.9, 0.8, 0.7]}
    frame = {"polars": pl.DataFrame, "polars lazy": pl.LazyFrame, "pyarrow": pa.table}[kind](table)
    taken = []
    monkeypatch.setattr(readers, "to_numpy", lambda column: taken.append(column.name) or to_numpy(column))
    pool = ba.read_pool(frame, groups=["site"])
    assert set(taken) <= {"confidence"}
    assert pool.ids.tolist() == texts["id"]
    assert pool.classes[pool.predictions].tolist() == texts["prediction"]
    assert pool.groups["site"].tolist() == texts["site"]


@pytest.mark.parametrize("read", [ba.read_pool, ba.scan_pool, ba.read_ranked])
def test_one_score_column_in_a_list_is_refused_with_the_way_to_name_it(read):
    frame = pl.LazyFrame({"id": ["a", "b"], "score": [0.2, 0.7]})
    with pytest.raises(PoolError, match=r"name it by itself, such as scores='score', if it"):
        read(frame, id="id", scores=["score"])


@pytest.mark.parametrize("given", [{"scores": 3}, {"scores": "score", "show": 3}])
@pytest.mark.parametrize("read", [ba.read_pool, ba.read_ranked])
def test_a_column_by_its_number_is_refused(read, given):
    with pytest.raises(PoolError, match=r"Columns are named by texts; found 3."):
        read(pl.DataFrame({"score": [0.2, 0.7]}), **given)


def test_ids_of_a_ranked_list_are_refused_by_their_rows(tmp_path):
    path = tmp_path / "list.csv"
    path.write_text("id,score\na,0.1\nb,0.2\na,0.3\nc,0.4\n")
    with pytest.raises(PoolError, match="'a' is the id of rows 2 and 4"):
        ba.read_ranked(path, scores="score")
    with pytest.raises(PoolError, match="'a' is the id of rows 0 and 2"):
        ba.RankedList.from_scores([0.1, 0.2, 0.3, 0.4], ids=["a", "b", "a", "c"])
    with pytest.raises(PoolError, match=r"row 1 has 2\.5"):
        ba.RankedList.from_scores([0.1, 0.2, 0.3], ids=["a", 2.5, "c"])


@pytest.mark.parametrize("seed", [-1, "x", 0.5])
def test_a_seed_of_a_ranked_list_that_is_none_is_refused(seed):
    with pytest.raises(DesignError, match="A seed is a whole number"):
        ba.RankedList.from_scores([0.1, 0.2], seed=seed)
    with pytest.raises(DesignError, match="A seed is a whole number"):
        ba.RankedList.from_pool(ba.Pool(scores=[0.1, 0.2]), seed=seed)


@pytest.mark.parametrize("scores", ["p_dog", ["p_cat", "p_dog"]])
def test_naming_the_scores_does_not_drop_the_predictions(sources, table, scores):
    named = {"classes": ["cat", "dog"]} if scores == "p_dog" else {}
    for name in ("csv", "parquet", "pandas", "polars lazy", "pyarrow"):
        pool = ba.read_pool(sources[name], scores=scores, **named)
        assert pool.classes[pool.predictions].tolist() == table["prediction"].tolist()
        assert (pool.predictions != (table["p_dog"] >= 0.5)).any()  # another system than that of the scores
    pool = ba.read_pool(sources["npz"], scores="scores")
    assert pool.classes[pool.predictions].tolist() == table["prediction"].tolist()


def test_predictions_that_are_no_classes_of_the_scores_are_refused(sources):
    with pytest.raises(PoolError, match=r"prediction in row 2 is '...'.*2 classes \(0, 1\); pass .*in the order"):
        ba.read_pool(sources["csv"], scores="p_dog")


def test_naming_the_confidence_finds_the_predictions():
    pool = ba.read_pool(pd.DataFrame({"prediction": [1, 0], "sure": [0.9, 0.8]}), confidence="sure")
    assert (pool.predictions.tolist(), pool.confidence.tolist()) == ([1, 0], [0.9, 0.8])


NULLS = {"prediction": ["b", "a", None], "site": ["x", None, "y"], "id": ["i", None, "k"]}


def coded(column, how):
    """A column with a null, as a dictionary or a categorical."""
    array = pa.array(NULLS[column]).dictionary_encode()
    return {
        "parquet": pa.table({column: array}),
        "pyarrow": pa.table({column: pa.chunked_array([array[:1], array[1:]])}),
        "pandas": pd.DataFrame({column: pd.Categorical(NULLS[column])}),
        "pandas arrow": pd.DataFrame({column: pd.Series(array, dtype=pd.ArrowDtype(array.type))}),
        "polars": pl.DataFrame({column: pl.Series(NULLS[column], dtype=pl.Categorical)}),
        "polars enum": pl.DataFrame({column: pl.Series(NULLS[column], dtype=pl.Enum(sorted("abxyik")))}),
    }[how]


@pytest.mark.parametrize("how", ["parquet", "pyarrow", "pandas", "pandas arrow", "polars", "polars enum"])
@pytest.mark.parametrize(
    ("column", "message"),
    [
        ("prediction", r"prediction in row 2 is missing"),
        ("site", r"'site' has no value in row 1"),
        ("id", r"id in row 1 is missing"),
    ],
)
def test_nulls_among_categories_are_missing_values(column, message, how, tmp_path):
    others = {"prediction": ["b", "a", "b"], "site": ["x", "x", "y"], "id": ["i", "j", "k"]}
    frame = coded(column, how)
    columns = {name: values for name, values in others.items() if name != column}
    if how.startswith("pandas"):
        frame = frame.assign(**columns)
    elif how.startswith("polars"):
        frame = frame.with_columns(**{name: pl.Series(values) for name, values in columns.items()})
    else:
        for name, values in columns.items():
            frame = frame.append_column(name, pa.array(values).dictionary_encode())
    if how == "parquet":
        parquet.write_table(frame, tmp_path / "a.parquet")
        frame = tmp_path / "a.parquet"
    with pytest.raises(PoolError, match=message):
        ba.read_pool(frame, groups=["site"])
    series = coded(column, "parquet")[column]
    with pytest.raises(PoolError, match=message):
        ba.Pool(
            predictions=series if column == "prediction" else others["prediction"],
            ids=series if column == "id" else others["id"],
            groups={"site": series if column == "site" else others["site"]},
        )


def test_dictionaries_of_numbers_are_numbers_and_a_null_is_none():
    scores = pa.chunked_array([pa.array([0.25, None, 0.75]).dictionary_encode()])
    with pytest.raises(PoolError, match="score in row 1 is NaN"):
        ba.Pool(scores=scores)
    with pytest.raises(PoolError, match="row 1, column 0 is NaN"):
        ba.read_pool(pa.table({"p_a": scores, "p_b": [0.75, 0.5, 0.25]}))
    assert ba.Pool(scores=pa.table({"a": scores.take([0, 2]), "b": [0.75, 0.25]})).predictions.tolist() == [1, 0]
    groups = pa.chunked_array([pa.array([3, 1, 3]).dictionary_encode()])
    assert ba.partition(ba.Pool(predictions=[0, 1, 0]), groups).names.tolist() == [1, 3]


def test_predictions_and_confidence_are_detected():
    pool = ba.read_pool(pl.DataFrame({"prediction": [1, 0], "confidence": [0.9, 0.8], "p_x": [3.0, 4.0]}))
    assert repr(pool) == "Pool(2 items, 2 classes, confidence)"
    assert pool.confidence.tolist() == [0.9, 0.8]


def test_score_columns_are_detected_and_group_columns_left_out():
    frame = pd.DataFrame({"score_a": [0.9, 0.8], "score_b": [0.1, 0.2], "score_of_reader": [1, 2]})
    pool = ba.read_pool(frame, groups=["score_of_reader"])
    assert pool.classes.tolist() == ["a", "b"]
    assert list(pool.groups) == ["score_of_reader"]


def test_rows_are_numbered_where_there_is_no_id():
    assert ba.read_pool(pd.DataFrame({"prediction": [1, 0]}, index=[7, 9])).ids.tolist() == [0, 1]


@pytest.mark.parametrize(
    ("columns", "names"),
    [
        (["p_cat", "p_dog"], ["cat", "dog"]),
        (["p_ice_cream", "p_ice_tea"], ["ice_cream", "ice_tea"]),
        (["prob_cat", "prob_car"], ["cat", "car"]),
        (["p_0", "p_1", "p_10"], [0, 1, 10]),
        (["cat", "dog"], ["cat", "dog"]),
        (["p_cat", "q_dog"], ["p_cat", "q_dog"]),
        (["p_00", "p_01"], ["00", "01"]),
        (["p_", "p_x"], ["p_", "p_x"]),
    ],
)
def test_class_names_drop_the_first_word_that_all_columns_share(columns, names):
    assert class_names(columns) == names


def test_csv_ids_keep_their_leading_zeros(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("id,prediction\n007,1\n8,0\n")
    assert ba.read_pool(path).ids.tolist() == ["007", "8"]
    path.write_text("id,prediction\n7,1\n8,0\n")
    assert ba.read_pool(path).ids.tolist() == [7, 8]


def test_csv_names_that_look_missing_are_names(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("prediction,site\nNone,NA\nnull,nan\n")
    pool = ba.read_pool(path, groups=["site"])
    assert pool.classes.tolist() == ["None", "null"]
    assert pool.groups["site"].tolist() == ["NA", "nan"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("id,prediction\na,1\n,0\n", "id in row 3 is missing"),
        ("id,prediction\na,1\na,0\n", "'a' is the id of rows 2 and 3"),
        ("id,prediction\na,1\nb,\n", "prediction in row 3 is missing"),
        ("p_a,p_b\n0.5,0.5\n0.5,\n", "row 3, column 'p_b' is NaN"),
        ("p_a,p_b\n0.5,0.5\nnan,0.5\n", "row 3, column 'p_a' is NaN"),
        ("p_a,p_b\n0.5,0.5\n0.5,half\n", "Score column 'p_b' does not hold one number per row, but 'half' in row 3"),
        ("p_a,p_b\n", "no items"),
        ("", "'a.csv' cannot be read as CSV: it is empty"),
        ("x,y\n1,2\n", "Found neither a column 'prediction' or 'score' nor several .*columns 'x', 'y'"),
        ("p_a,p_b,score_a,score_b\n1,0,1,0\n", "Both 'p_a', 'p_b' and 'score_a', 'score_b' may be scores"),
    ],
)
def test_bad_csv_is_refused_with_its_place(text, message, tmp_path):
    (tmp_path / "a.csv").write_text(text)
    with pytest.raises(PoolError, match=message):
        ba.read_pool(tmp_path / "a.csv")


def test_a_lone_score_is_that_of_the_positive_class_where_nothing_is_predicted(tmp_path):
    (tmp_path / "a.csv").write_text("id,score\na,0.2\nb,0.7\n")
    assert ba.read_pool(tmp_path / "a.csv").scores.tolist() == [0.2, 0.7]
    (tmp_path / "b.csv").write_text("id,prediction,score\na,x,0.2\nb,y,0.7\n")
    assert ba.read_pool(tmp_path / "b.csv").scores is None


@pytest.mark.parametrize("name", ["csv", "parquet", "pandas", "polars", "polars lazy", "pyarrow"])
@pytest.mark.parametrize(
    "arguments", [{"id": "x"}, {"scores": "x"}, {"scores": ["p_cat", "x"]}, {"prediction": "x"}, {"groups": ["x"]}]
)
def test_a_missing_column_is_named_with_those_there_are(name, arguments, sources):
    with pytest.raises(PoolError, match="no column 'x'; the columns are 'id', 'p_cat', 'p_dog', 'prediction', 'site'"):
        ba.read_pool(sources[name], **arguments)


def test_tabs_may_have_a_suffix_of_their_own(tmp_path):
    (tmp_path / "pool.tsv").write_text("id\tprediction\n007\tcat, dog\n008\tcat\n", encoding="utf-8")
    pool = ba.read_pool(tmp_path / "pool.tsv")
    assert (pool.ids.tolist(), pool.classes.tolist()) == (["007", "008"], ["cat", "cat, dog"])


def test_columns_may_be_none(table):
    frame = pl.DataFrame(table)
    none = dict.fromkeys(("groups", "systems", "show"))
    for pool in (ba.read_pool(frame, wide=None, **none), ba.scan_pool(frame.lazy(), **none)):
        assert (len(pool.groups), len(pool.systems), len(pool.show)) == (0, 0, 0)
    assert ba.read_ranked(frame, scores="p_cat", show=None).show == {}


def test_a_column_that_is_the_index_is_pointed_at(table):
    indexed = pd.DataFrame(table).set_index("id")
    with pytest.raises(
        PoolError, match=r"The index of the frame holds 'id', and no column does: pass frame\.reset_index"
    ):
        ba.read_pool(indexed, id="id")
    assert ba.read_pool(indexed.reset_index(), id="id").ids[0] == "item 0"


def test_a_missing_file_and_an_unknown_suffix_are_refused(tmp_path):
    with pytest.raises(PoolError, match=r"There is no file .*none\.csv"):
        ba.read_pool(tmp_path / "none.csv")
    with pytest.raises(PoolError, match=r"\.npz\. A table of it is 'duckdb:pool\.duckdb/TABLE', for ba\.scan_pool"):
        ba.read_pool("pool.duckdb")
    with pytest.raises(PoolError, match=r"suffix should be one of \.csv, \.tsv, \.parquet, \.npz"):
        ba.read_pool("pool.xlsx")
    with pytest.raises(PoolError, match="Cannot read a pool from int"):
        ba.read_pool(3)
    with pytest.raises(PoolError, match="Cannot read a pool from Series"):
        ba.read_pool(pd.Series([1]))


@pytest.mark.parametrize("suffix", ["parquet", "npz"])
def test_a_file_of_another_kind_is_refused(suffix, tmp_path):
    path = tmp_path / f"a.{suffix}"
    path.write_bytes(b"something else altogether")
    with pytest.raises(PoolError, match="is not a"):
        ba.read_pool(path)


def test_npz_arrays_can_be_named(tmp_path):
    path = tmp_path / "a.npz"
    np.savez(path, probability=[0.2, 0.9], predictions=[0, 0], one=[0.8, 0.1], two=[0.2, 0.9])
    assert ba.read_pool(path, scores="probability", prediction="predictions").confidence == pytest.approx([0.8, 0.1])
    assert ba.read_pool(path, scores=["one", "two"]).classes.tolist() == ["one", "two"]
    assert ba.read_pool(path).scores is None


def test_npz_without_what_is_needed_is_refused(tmp_path):
    path = tmp_path / "a.npz"
    np.savez(path, x=[1], labels=[1])
    with pytest.raises(PoolError, match="no scores or predictions; it has the arrays 'x', 'labels'"):
        ba.read_pool(path)
    with pytest.raises(PoolError, match="no array 'site'; the arrays are 'x', 'labels'"):
        ba.read_pool(path, prediction="x", groups=["site"])
    with pytest.raises(PoolError, match="Labels are never read"):
        ba.read_pool(path, prediction="x", groups=["labels"])
    np.savez(path, predictions=np.array(["a", "b"], dtype=object))
    with pytest.raises(PoolError, match="save arrays of text or numbers"):
        ba.read_pool(path)


def test_parquet_categories_are_text(tmp_path):
    frame = pd.DataFrame({"prediction": pd.Series(["b", "a", "b"], dtype="category")})
    parquet.write_table(pa.Table.from_pandas(frame), tmp_path / "a.parquet")
    assert ba.read_pool(tmp_path / "a.parquet").classes.tolist() == ["a", "b"]
    assert ba.read_pool(pl.from_pandas(frame)).predictions.tolist() == [1, 0, 1]


@pytest.mark.parametrize("frame", [pd.DataFrame([[0.25, 0.75]]), "pool.csv"], ids=["frame", "file"])
@pytest.mark.parametrize(
    ("read", "columns"),
    [
        (ba.read_pool, {"scores": 0}),
        (ba.read_pool, {"scores": [0, 1]}),
        (ba.read_pool, {"prediction": 0}),
        (ba.read_pool, {"scores": "0", "groups": 0}),
        (ba.read_pool, {"scores": "0", "systems": {"new": 0}}),
        (ba.read_pool, {"wide": [0, "1"]}),
        (ba.read_ranked, {"scores": 0}),
        (ba.read_ranked, {"scores": "1", "id": 0, "show": None}),
    ],
)
def test_columns_that_are_named_by_numbers_are_refused_in_a_sentence(read, columns, frame):
    with pytest.raises(PoolError, match=r"Columns are named by texts; found 0.*Where those of a frame are not, rename"):
        read(frame, **columns)


def test_columns_of_a_table_are_named_by_texts():
    with pytest.raises(PoolError, match="Columns are named by texts; found 7"):
        ba.scan_pool(pl.DataFrame({"id": [1], "score": [0.5]}).lazy(), scores="score", groups=7)


# CSV as people and spreadsheets write it


@pytest.mark.parametrize(
    ("read", "name", "said"),
    [
        (ba.read_pool, "predictions", "read_pool has no argument 'predictions'. Did you mean 'prediction'?"),
        (ba.scan_pool, "prediction", "scan_pool has no argument 'prediction'. Did you mean 'predictions'"),
        (ba.read_ranked, "score", "read_ranked has no argument 'score'. Did you mean 'scores'"),
        (ba.read_ranked, "zzz", "Its arguments are 'source', 'scores', 'id', 'show', 'classes', 'seed'."),
    ],
)
def test_an_argument_that_there_is_not_is_answered_by_the_one_that_is_meant(read, name, said):
    with pytest.raises(PoolError, match=re.escape(said)):
        read("pool.csv", **{name: "column"})


def csv_pool(folder, content, **options):
    path = folder / "pool.csv"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return ba.read_pool(path, **options)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "cp1252"])
@pytest.mark.parametrize("delimiter", [";", "\t"])
def test_pools_are_read_as_sheets_are(tmp_path, encoding, delimiter):
    text = "id;p_Müll;p_Rest;site\na1;0,25;0,75;Köln\nb2;1;0;Bonn\n".replace(";", delimiter)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        pool = csv_pool(tmp_path, text.encode(encoding), groups=["site"])
    assert [str(one.message)[:37] for one in said] == ["pool.csv: It is not in UTF-8, and was"] * (encoding == "cp1252")
    assert all(one.filename == __file__ for one in said)
    assert pool.classes.tolist() == ["Müll", "Rest"]
    assert pool.ids.tolist() == ["a1", "b2"]
    assert pool.scores.tolist() == [[0.25, 0.75], [1, 0]]
    assert pool.groups["site"].tolist() == ["Köln", "Bonn"]


def test_decimal_commas_between_quotes_are_read_too_but_not_thousands(tmp_path):
    assert csv_pool(tmp_path, 'id,p_a,p_b\nx,"0,25","0,75"\n').scores.tolist() == [[0.25, 0.75]]
    with pytest.raises(PoolError, match=r"Score column 's' does not hold one number per row, but '1,234' in row 3"):
        csv_pool(tmp_path, 'id,s\nx,0.5\ny,"1,234"\n', scores="s")


def test_a_line_that_names_the_delimiter_and_blank_lines_are_passed_over(tmp_path):
    pool = csv_pool(tmp_path, "sep=;\n\nid;prediction\n\na;cat\n;\nb;dog\n")
    assert (pool.ids.tolist(), pool.classes.tolist()) == (["a", "b"], ["cat", "dog"])
    with pytest.raises(PoolError, match="prediction in row 6 is missing"):
        csv_pool(tmp_path, "sep=;\n\nid;prediction\n\na;cat\n;\nb;\n")


@pytest.mark.parametrize(
    ("names", "classes"),
    [
        (["01", "10", "10"], ["01", "10"]),
        (["1", "10", "10"], [1, 10]),
        (["90210", "02134", "90210"], ["02134", "90210"]),
        (["1.0", "2.0", "1.0"], [1, 2]),
        (["True", "False", "True"], [0, 1]),
        (["1", "n/a", "1"], ["1", "n/a"]),
        (["-1", "1", "1"], [-1, 1]),
    ],
)
def test_classes_are_called_as_the_file_has_them(tmp_path, names, classes):
    text = "".join(f"{name},{name}\n" for name in names)
    pool = csv_pool(tmp_path, f"prediction,site\n{text}", groups=["site"])
    assert pool.classes.tolist() == classes
    assert set(pool.groups["site"].tolist()) == set(classes)


def test_systems_are_named_alike(tmp_path):
    pool = csv_pool(tmp_path, "prediction,new\n01,10\n10,10\n", systems=["new"])
    assert pool.classes.tolist() == ["01", "10"]
    assert pool.systems["new"].tolist() == [1, 1]


def test_versions_are_no_numbers_but_formatted_numbers_are(tmp_path):
    pool = csv_pool(tmp_path, "prediction,version,price\na,3.9,3.90\nb,3.10,3.10\n", groups=["version", "price"])
    assert pool.groups["version"].tolist() == ["3.9", "3.10"]
    assert pool.groups["price"].tolist() == [3.9, 3.1]


def test_groups_whose_digits_no_float_holds_are_called_as_the_file_has_them(tmp_path):
    rows = "a,18446744073709551613,0.10000000000000000001\nb,18446744073709551614,0.10000000000000000002\n"
    pool = csv_pool(tmp_path, f"prediction,account,rate\n{rows}", groups=["account", "rate"])
    assert pool.groups["account"].tolist() == ["18446744073709551613", "18446744073709551614"]
    assert pool.groups["rate"].tolist() == ["0.10000000000000000001", "0.10000000000000000002"]


def test_names_that_are_declared_are_names_and_no_codes(tmp_path):
    pool = csv_pool(tmp_path, "prediction\n1\n2\n1\n", classes=["1", "2", "n/a"])
    assert pool.classes[pool.predictions].tolist() == ["1", "2", "1"]
    pool = csv_pool(tmp_path, "prediction\n1\n0\n1\n", classes=["cat", "dog"])
    assert pool.classes[pool.predictions].tolist() == ["dog", "cat", "dog"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("id,text,prediction\na,fine,cat\nb,hello, world,dog\n", "Row 3 of 'pool.csv' has 4 fields, and its header 3"),
        ("id,text,prediction\na,hello, world,\nb,fine,dog\n", "Row 2 of 'pool.csv' has 4 fields"),
        ("id,prediction,prediction\na,cat,dog\n", "There are 2 columns 'prediction'"),
        ("p_a,p_b,p_a\n1,0,0\n", "There are 2 columns 'p_a'"),
    ],
)
def test_shifted_and_ambiguous_columns_are_refused(tmp_path, text, message):
    with pytest.raises(PoolError, match=message):
        csv_pool(tmp_path, text)


def test_columns_that_are_not_needed_may_have_one_name_and_all_rows_may_end_in_a_delimiter(tmp_path):
    pool = csv_pool(tmp_path, "id,note,note,prediction\na,x,y,cat,\nb,,,dog,\n")
    assert pool.classes.tolist() == ["cat", "dog"]


def test_frames_with_two_columns_of_one_name_are_refused():
    frame = pd.DataFrame([["a", "b"]], columns=["prediction", "prediction"])
    with pytest.raises(ba.BayesAssessError, match="2 columns 'prediction'"):
        ba.read_pool(frame)


def test_texts_may_be_of_any_length(tmp_path):
    pool = csv_pool(tmp_path, f'id,text,prediction\na,"{"x" * 200_000}",cat\n', show=["text"])
    assert len(pool.show["text"][0]) == 200_000


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_names_that_are_coded_are_those_of_plain_arrays(suffix, tmp_path):
    rng, n = np.random.default_rng(0), 40_000  # more than a megabyte, which Arrow reads
    table = {
        "id": np.char.add("item-", np.arange(n).astype(str)),
        "prediction": rng.choice(["dog", "cat"], n),
        "rival": rng.choice(["cat", "bird"], n),
        "confidence": rng.random(n),
        "site": rng.choice(["south", "north", "west"], n),
    }
    path = tmp_path / f"pool.{suffix}"
    frame = pd.DataFrame(table)
    frame.to_csv(path, index=False) if suffix == "csv" else frame.to_parquet(path)
    pool = ba.read_pool(path, groups=["site"], systems=["rival"])
    plain = ba.Pool(
        predictions=table["prediction"], confidence=table["confidence"], ids=table["id"],
        groups={"site": table["site"]}, systems={"rival": table["rival"]},
    )  # fmt: skip
    assert pool.fingerprint() == plain.fingerprint()
    np.testing.assert_array_equal(pool.groups["site"], table["site"])
    for by in ("site", "prediction"):
        read, given = ba.partition(pool, by), ba.partition(plain, by)
        assert read.names.tolist() == given.names.tolist()
        np.testing.assert_array_equal(read.codes, given.codes)
    assert pool.with_groups(half=np.arange(n) % 2).groups.keys() == {"site", "half"}


@pytest.mark.parametrize(
    ("column", "value", "said"),
    [
        ("prediction", "", "The prediction in row 2 is missing"),
        ("site", "", "Group column 'site' has no value in row 2"),
        ("rival", "fish", "The prediction in row 2 is 'fish', which is not among"),
    ],
)
def test_a_name_that_cannot_be_is_found_in_its_row(column, value, said, tmp_path):
    table = {"prediction": ["dog", "cat", "cat"], "site": ["x", "y", "x"], "rival": ["cat", "dog", "dog"]}
    table[column][2] = value
    parquet.write_table(pa.table(table), tmp_path / "a.parquet")
    with pytest.raises(PoolError, match=said):
        ba.read_pool(tmp_path / "a.parquet", groups=["site"], systems=["rival"], classes=["cat", "dog"])


def test_letters_are_decoded_wherever_a_long_file_is_cut(tmp_path):
    path = tmp_path / "pool.csv"
    plain = b"id,prediction\n" + b"".join(b"%05d,cat\n" % i for i in range(6_552)) + b"x"
    assert len(plain) == 65_535  # so that the two bytes of the next letter are read apart
    path.write_bytes(plain + "é,cat\nb,dog\n".encode())
    assert ba.read_pool(path).ids[-2:].tolist() == ["xé", "b"]


def test_what_is_no_letter_is_named_by_its_place_in_a_long_file(tmp_path):
    path, rows = tmp_path / "pool.csv", b"id,prediction\n" + b"a,cat\n" * 20_000 + b"b,"
    path.write_bytes(rows + b"\x81\n")
    with pytest.raises(PoolError, match=f"at byte {len(rows)}"):
        ba.read_pool(path)


@pytest.mark.parametrize("last", ["item-11", "item-9", "item-10"])
def test_a_repeated_id_is_found_among_ids_that_grow(last):
    ids = ["item-9", "item-10", last]
    if last == "item-11":
        assert ba.Pool(predictions=["a", "b", "b"], ids=ids).ids.tolist() == ids
        return
    with pytest.raises(PoolError, match=f"'{last}' is the id of rows"):
        ba.Pool(predictions=["a", "b", "b"], ids=ids)


def test_decimal_numbers_of_databases_are_numbers(tmp_path):
    whole, tenths = pa.decimal128(18, 0), pa.decimal128(4, 2)
    ids = [2**59 + 1, 2**59 + 2, 7]  # which floats could not tell apart
    table = pa.table(
        {
            "id": pa.array([*map(Decimal, ids)], whole),
            "prediction": pa.array([*map(Decimal, [1, 0, 1])], whole),
            "confidence": pa.array([*map(Decimal, ["0.75", "0.50", "1.00"])], tenths),
            "site": pa.array([*map(Decimal, ["1.50", "1.50", "2.00"])], tenths),
        }
    )
    parquet.write_table(table, tmp_path / "pool.parquet")
    for source in (tmp_path / "pool.parquet", table, pl.from_arrow(table), table.to_pandas()):
        pool = ba.read_pool(source, groups="site")
        assert (pool.ids.tolist(), pool.classes.tolist(), pool.predictions.tolist()) == (ids, [0, 1], [1, 0, 1])
        assert pool.confidence.tolist() == [0.75, 0.5, 1.0]
        assert pool.groups["site"].tolist() == [Decimal("1.50"), Decimal("1.50"), Decimal("2.00")]
    with pytest.raises(ba.PoolError, match="The score in row 1 is NaN"):
        ba.Pool(scores=[Decimal("0.5"), None])


@pytest.mark.parametrize(
    ("column", "first"),
    [
        ("day", "2024-01-01"),
        ("at", "2024-01-01T12:30:00"),
        ("exactly", "2024-01-01T12:30:00.000000001"),
        ("there", "2024-01-01T13:30:00+01:00"),
        ("clock", "12:30:00"),
    ],
)
def test_dates_and_times_are_ids_by_their_text(column, first, tmp_path):
    times = [datetime(2024, 1, 1, 12, 30) + timedelta(hours=i, days=i, seconds=i / 2) for i in range(4)]
    fine = np.array(times, "M8[ns]") + np.array([1, 0, 0, 0], "m8[ns]")
    table = pa.table(
        {
            "day": [one.date() for one in times],
            "at": times,
            "exactly": pa.array(fine),
            "there": pa.array(times, pa.timestamp("us", tz="Europe/Berlin")),
            "clock": [one.time() for one in times],
            "prediction": [0, 1, 0, 1],
        }
    )
    parquet.write_table(table, tmp_path / "pool.parquet")
    frames = table, table.to_pandas(), pl.from_arrow(table)
    for source in (tmp_path / "pool.parquet", *frames):
        pool = ba.read_pool(source, id=column)
        assert pool.ids[0] == first
        assert len(set(pool.ids.tolist())) == 4
        for frame in frames:  # in some of the rows, too, and of any kind
            assert pool.positions(frame[column][1:3]).tolist() == [1, 2]
        a = ba.assess(pool, ba.GroupAccuracy())
        a.tell(table[column][:2], [0, 1])
        assert a.labels_used == 2
    missing = pd.DataFrame({"id": [*table.to_pandas()[column][:3], None], "prediction": [0, 1, 0, 1]})
    with pytest.raises(ba.PoolError, match="The id in row 3 is missing"):
        ba.read_pool(missing)
    with pytest.raises(ba.PoolError, match="integers, text, dates, times or UUIDs, but row 0 has"):
        ba.Pool(predictions=[0, 1], ids=[timedelta(1), timedelta(2)])


def test_uuids_are_ids_by_their_text(tmp_path):
    given = [UUID(int=(7 << 96) * i + 255 - i) for i in range(5)]
    texts = [str(one) for one in given]
    column = pa.array([one.bytes for one in given], pa.binary(16)).cast(pa.uuid())
    ids = pa.chunked_array([column[:2], column[2:]])
    table = pa.table({"id": ids, "document": ids, "prediction": [0, 1, 0, 1, 1]})
    parquet.write_table(table, tmp_path / "pool.parquet")
    frame = pd.DataFrame({"id": given, "prediction": [0, 1, 0, 1, 1]})
    for source in (tmp_path / "pool.parquet", table, frame):
        pool = ba.read_pool(source, show=[] if source is frame else ["document"])
        assert pool.ids.tolist() == texts
        assert all(values.tolist() == texts for values in pool.show.values())
        for some in (given[3:], texts[3:], table["id"][3:], frame["id"][3:]):
            assert pool.positions(some).tolist() == [3, 4]
        a = ba.assess(pool, ba.GroupAccuracy())
        a.tell(given[:2], [0, 1])
        assert a.labelled[0].tolist() == texts[:2]
    with pytest.raises(PoolError, match="The id in row 4 is missing"):
        ba.read_pool(frame.assign(id=[*given[:4], None]))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("Of June,,\nid,prediction,score\n1,yes,0.5\n", r"Row 2 looks like the header: delete the row above it\.$"),
        ("Of June\n\nid;prediction\n1;yes\n", r"Row 3 looks like the header: delete the rows above it\.$"),
        ("id,text\n1,the score\n2,prediction\n", r"or which scores\.$"),  # no header is below
    ],
)
def test_a_title_above_the_header_is_named(tmp_path, text, said):
    path = tmp_path / "titled.csv"
    path.write_text(text)
    with pytest.raises(PoolError, match=said):
        ba.read_pool(path)
