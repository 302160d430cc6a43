import copy
import hashlib
import itertools
import pickle
import re
from datetime import UTC, date, datetime
from decimal import Decimal
from uuid import UUID

import duckdb
import narwhals as nw
import numpy as np
import polars as pl
import pytest
from pyarrow import parquet
from scipy import stats

import bayes_assess as ba
from bayes_assess.pool.groups import cross
from bayes_assess.pool.scan import engine as scan_engine
from bayes_assess.pool.scan import first_rows
from bayes_assess.pool.scan.kinds import BIN, Layout, bins_of, is_bad, with_kinds
from bayes_assess.pool.scan.order import P, first_word, order_keys, second_word

M = 20_000
RNG = np.random.default_rng(5)
SCORE = np.concatenate([RNG.beta(0.3, 2, M - 60), np.repeat(np.arange(12) / 12, 5)]).round(6)
FRAME = pl.DataFrame(
    {
        "id": RNG.permutation(10 * M)[:M] - 7 * M,
        "score": SCORE,
        "site": np.array(["north", "south", "it's west"])[RNG.integers(0, 3, M)],
        "answer": RNG.integers(0, 3, M),
        "other": RNG.integers(0, 2, M),
        "text": [f"text {i}" for i in range(M)],
    }
).with_columns(name=pl.col("id").cast(pl.String) + "-x")
PLACE = {name: place for place, name in enumerate(FRAME["id"].to_list())}


def parquet_of(tmp_path, frame=FRAME, n_files=2):
    step = -(-len(frame) // n_files)
    for i in range(n_files):
        frame[i * step : (i + 1) * step].write_parquet(tmp_path / f"part{i}.parquet")
    return str(tmp_path / "*.parquet")


def sources(tmp_path):
    connection = duckdb.connect()
    connection.register("frame", FRAME.to_arrow())
    connection.execute("CREATE TABLE items AS SELECT * FROM frame ORDER BY text")
    return {
        "files": parquet_of(tmp_path),
        "relation": connection.table("items"),
        "Polars": FRAME.lazy(),
    }


def in_order(source, n_cells):
    sizes = np.bincount(source.row_cells, minlength=n_cells)
    return [source.ids_of(source.take(np.full(40, k), np.arange(40))).tolist() for k in np.flatnonzero(sizes)]


@pytest.mark.parametrize("word", [first_word, second_word])
def test_words_spread_consecutive_ids_evenly(word):
    keys = order_keys(3)
    first = word(np.arange(400_000), keys[0])
    if word is second_word:  # cubes permute numbers below the prime
        assert len(np.unique(first)) == len(first)
    counts = np.bincount(first * 1000 // P, minlength=1000)
    assert ((counts - 400) ** 2 / 400).sum() < 999 + 5 * np.sqrt(2 * 999)  # chi-square, five standard deviations
    # Ranks of neighbours are as good as independent: their correlation is within five standard errors of 0.
    rank = np.argsort(np.argsort(first))
    for lag in (1, 2, 10):
        assert abs(np.corrcoef(rank[:-lag], rank[lag:])[0, 1]) < 5 / np.sqrt(len(rank))
    assert not np.array_equal(first, word(np.arange(400_000), keys[1]))


@pytest.mark.parametrize("has", [[0, 1, 2, 3, 4], [0, 3, 6, 9, 12, 15, 18], list(range(10))])
def test_what_comes_first_has_the_law_of_a_draw_without_replacement(has):
    """Of ids in a row, which would know of one another if a cube were all."""
    n_ids, n, n_seeds = 20, 5, 10_000
    keys = np.random.default_rng(0).integers(0, P, (n_seeds, 4))
    first = [np.argpartition(first_word(np.arange(n_ids), own), n)[:n] for own in keys]
    counts = np.bincount(np.isin(first, has).sum(axis=1), minlength=n + 1)
    expected = n_seeds * stats.hypergeom(n_ids, len(has), n).pmf(np.arange(n + 1))
    rare = expected < 5
    kept = np.append(counts[~rare], counts[rare].sum()), np.append(expected[~rare], expected[rare].sum())
    distance = sum((kept[0] - kept[1]) ** 2 / np.maximum(kept[1], 1e-9))
    assert distance < stats.chi2(np.count_nonzero(kept[1]) - 1).isf(1e-4)


@pytest.mark.parametrize("single", [False, True])
@pytest.mark.parametrize("of", ["scores", "confidence"])
def test_bins_hold_their_lower_edges_in_the_order_of_scores_on_every_engine(of, single):
    small = np.exp(np.arange(np.log(2.0**-26), np.log(0.5), 0.005))
    scores = np.concatenate([np.linspace(0, 1, 1201), np.exp2(-np.arange(1, 40.0)), small, 1 - small])
    scores = np.unique(scores.astype(np.float32).astype(float) if single else scores)
    frame = pl.DataFrame({"score": scores}).cast(pl.Float32 if single else pl.Float64)
    layout = Layout(id=None, single=single, **({"scores": "score"} if of == "scores" else {"confidence": "score"}))
    numbers = []
    for table in (frame.lazy(), duckdb.from_arrow(frame.to_arrow())):
        kinds = with_kinds(nw.from_native(table), layout).select("score", BIN).sort("score").collect()
        numbers.append(kinds[BIN].to_numpy())
        assert kinds["score"].to_numpy().astype(float).tolist() == scores.tolist()
    assert numbers[0].tolist() == numbers[1].tolist()
    assert (np.diff(numbers[0]) >= 0).all()
    assert not is_bad(layout, numbers[0]).any()
    down = np.floor(scores * 2**30) / 2**30
    confidence = np.maximum(down, 1 - down) if of == "scores" else down
    slack = 2.0**-25 if single else 2.0**-30
    wanted = np.minimum(np.floor((confidence + slack) * layout.n_bins), layout.n_bins - 1)
    assert bins_of(layout, numbers[0]).tolist() == wanted.tolist()
    # Rare events: four edges or more in every factor e of small scores.
    parts = np.searchsorted(scores, np.exp(np.arange(np.log(2.0**-26), np.log(0.5), 1.0)))
    assert min(len(np.unique(numbers[0][a : b + 1])) for a, b in itertools.pairwise(parts)) > 4


def test_ids_of_64_bits_of_any_sign_are_told_apart():
    ids = np.concatenate(
        [
            np.arange(1000) * P,
            -1 - np.arange(1000),
            np.arange(1000) + np.int64(-(2**63)),
            np.int64(2**63 - 1) - np.arange(1000),
        ]
    )
    found = second_word(ids, order_keys(0)[0])
    assert len(np.unique(found)) > 0.999 * len(ids)
    frame = pl.DataFrame({"id": ids, "answer": 0})
    connection = duckdb.connect()
    for source in (frame.lazy(), connection.from_arrow(frame.to_arrow())):
        pool = ba.scan_pool(source, id="id", predictions="answer", classes=[0, 1])
        source = ba.cells(pool, seed=0).source
        first = source.ids_of(source.take(np.zeros(30, int), np.arange(30)))
        assert first.tolist() == ids[np.argsort(first_word(ids, order_keys(0)[0]), kind="stable")][:30].tolist()


WIDE = {
    "unsigned": lambda ids: pl.LazyFrame({"id": pl.Series(ids, dtype=pl.UInt64), "answer": 0}),
    "of 128 bits": lambda ids: pl.LazyFrame({"id": pl.Series(ids, dtype=pl.Int128), "answer": 0}),
    "DuckDB's of 128 bits": lambda ids: duckdb.sql(f"SELECT unnest({ids})::HUGEINT AS id, 0 AS answer"),
}


@pytest.mark.parametrize("kind", WIDE)
def test_ids_of_wide_types_are_of_64_bits_or_refused(kind):
    pool = ba.scan_pool(WIDE[kind]([7, 2**62, 9]), id="id", predictions="answer", classes=[0, 1])
    assert sorted(ba.assess(pool, ba.GroupAccuracy()).ask(3).ids.tolist()) == [7, 9, 2**62]
    with pytest.raises(ba.PoolError, match=r"lie between -2\^63 and 2\^63, .*; cast 'id' to text"):
        ba.scan_pool(WIDE[kind]([7, 2**63, 9]), id="id", predictions="answer", classes=[0, 1])


@pytest.mark.parametrize("key", ["id", "name"])
def test_engines_and_numpy_put_the_same_items_first_and_give_one_fingerprint(tmp_path, key):
    keys, wanted = order_keys(11), None
    hashed = FRAME["id"].to_numpy()
    if key == "name":
        hashed = np.array([int(hashlib.md5(name.encode()).hexdigest()[:15], 16) for name in FRAME["name"].to_list()])
    words = first_word(hashed, keys[0]), second_word(hashed, keys[1])
    site = FRAME["site"].to_numpy()
    prints = set()
    for engine, source in sources(tmp_path).items():
        pool = ba.scan_pool(source, id=key, scores="score", groups=["site"], systems=["other"])
        cells = ba.cells(pool, "site", seed=11)
        found = in_order(cells.source, cells.n_cells)
        if wanted is None:
            by_site = [np.flatnonzero(site == name) for name in cells.names]
            wanted = [
                FRAME[key].to_numpy()[rows[np.lexsort((words[1][rows], words[0][rows]))][:40]].tolist()
                for rows in by_site
            ]
        assert found == wanted, engine
        prints.add((pool.fingerprint(), cells.source.fingerprint()))
    assert len(prints) == 1


@pytest.fixture
def found_with_kinds(monkeypatch):
    """Let tables be large from 1,000 rows on, of which 2,000 or so come first."""
    monkeypatch.setattr(first_rows, "_LEAST", 1000)
    monkeypatch.setattr(first_rows, "_ROWS", 2000)


def of_small_ids(frame=FRAME):
    return frame.with_columns(id=pl.int_range(len(frame)) * 7 + 3)


@pytest.mark.parametrize("by", ["site", "prediction"])
def test_first_rows_of_large_files_are_found_with_the_kinds_and_change_no_order(tmp_path, found_with_kinds, by):
    address, columns = parquet_of(tmp_path, of_small_ids()), {"id": "id", "scores": "score", "groups": "site"}
    pool, other = ba.scan_pool(address, **columns), ba.scan_pool(of_small_ids().lazy(), **columns)
    assert other.kinds.first is None
    assert abs(len(pool.kinds.first.ids) - 2000) < 5 * 2000**0.5
    assert pool.fingerprint() == other.fingerprint()
    for seed in (0, 1):
        n_queries, one, two = pool.engine.n_queries, ba.cells(pool, by, seed=seed), ba.cells(other, by, seed=seed)
        assert in_order(one.source, one.n_cells) == in_order(two.source, two.n_cells)
        assert pool.engine.n_queries == n_queries + (1 if seed == 0 else 2)  # the number of rows, and a fetch
        cells, ranks = np.zeros(1500, int), np.arange(1500)  # beyond what was found
        assert (
            one.source.ids_of(one.source.take(cells, ranks)).tolist()
            == two.source.ids_of(two.source.take(cells, ranks)).tolist()
        )
    items = one.source.take(np.zeros(300, int), np.arange(300))
    score = dict(zip(of_small_ids()["id"].to_list(), SCORE.tolist(), strict=True))
    wanted = [max(score[name], 1 - score[name]) for name in one.source.ids_of(items).tolist()]
    np.testing.assert_allclose(one.source.confidence_of(items), wanted, atol=1e-8)


def test_first_rows_are_looked_for_where_ids_are_known_to_be_small(tmp_path, found_with_kinds):
    def first(frame, **columns):
        folder = tmp_path / str(len(list(tmp_path.iterdir())))
        folder.mkdir()
        return ba.scan_pool(parquet_of(folder, frame), scores="score", **columns).kinds.first

    assert first(of_small_ids(), id="id") is not None
    assert first(FRAME, id="id") is None  # some are negative
    assert first(of_small_ids().with_columns(id=pl.col("id") + P), id="id") is None
    assert first(FRAME, id="name") is None
    assert first(of_small_ids().with_columns(pl.col("id").cast(pl.String)), id="id") is None
    assert first(FRAME) is None
    assert first(of_small_ids(), id="id", show="text") is None
    assert first(of_small_ids()[:900], id="id") is None
    connection = duckdb.connect()
    connection.from_arrow(of_small_ids().to_arrow()).create("items")
    assert ba.scan_pool("items", connection=connection, id="id", scores="score").kinds.first is not None
    assert ba.scan_pool(connection.table("items"), id="id", scores="score").kinds.first is None


def test_repeated_ids_and_lost_rows_are_found_in_first_rows_too(tmp_path, found_with_kinds):
    doubled = pl.concat([of_small_ids(), of_small_ids()])
    pool = ba.scan_pool(parquet_of(tmp_path, doubled), id="id", scores="score", check_ids=False)
    with pytest.raises(ba.EngineError, match="is that of several rows"):
        ba.assess(pool, ba.Metric("accuracy")).ask(5)
    (folder := tmp_path / "lost").mkdir()
    pool = ba.scan_pool(parquet_of(folder, of_small_ids()), id="id", scores="score")
    parquet_of(folder, of_small_ids()[:-5])
    a = ba.assess(pool, ba.Metric("accuracy"))
    with pytest.raises(ba.EngineError, match="the table has changed"):
        a.ask(5)
    assert a.n_pending == 0


def test_cells_are_those_of_the_same_pool_in_memory(tmp_path):
    columns = {"scores": FRAME["score"], "groups": {"site": FRAME["site"]}, "ids": FRAME["id"]}
    memory = ba.Pool(**columns)
    pool = ba.scan_pool(parquet_of(tmp_path), id="id", scores="score", groups="site")
    assert (len(pool), pool.n_items, pool.classes.tolist()) == (M, M, memory.classes.tolist())
    for by in ("prediction", "site", ba.ScoreBins(10), ba.ScoreBins(12), ba.ScoreBins(1)):
        one, other = ba.cells(memory, by), ba.cells(pool, by)
        np.testing.assert_array_equal(one.sizes, other.sizes)
        np.testing.assert_array_equal(one.names, other.names)
        np.testing.assert_allclose(one.mean_score, other.mean_score, atol=2**-29)
    crossed = [cross(ba.partition(one, "site"), ba.partition(one, ba.ScoreBins(5))) for one in (memory, pool)]
    np.testing.assert_array_equal(ba.cells(memory, crossed[0]).sizes, ba.cells(pool, crossed[1]).sizes)
    # Strata that ranks decide are of about equal sizes: bins of scores are narrow, and those of a kind stay together.
    for by in (ba.ScoreBins(7, "weight"), ba.Strata(9, "weight")):
        one, other = ba.cells(memory, by).sizes, ba.cells(pool, by).sizes
        assert one.sum() == other.sum() == M
        np.testing.assert_allclose(one, other, atol=0.02 * M)


@pytest.mark.parametrize("dtype", [pl.Float32, pl.Float64])
def test_scores_on_the_edge_of_a_bin_are_in_it_whatever_their_precision(dtype):
    tenths = [0.1, 0.2, 0.3, 0.7, 1 - 0.8, 1 - 0.9, 0.0, 1.0, 1e-9, 1 - 1e-7]
    frame = pl.DataFrame({"id": range(len(tenths)), "confidence": pl.Series(tenths, dtype=dtype), "answer": 0})
    pool = ba.scan_pool(frame.lazy(), predictions="answer", confidence="confidence", classes=[0, 1])
    memory = ba.Pool(predictions=frame["answer"], confidence=frame["confidence"], classes=[0, 1])
    np.testing.assert_array_equal(ba.cells(pool, ba.ScoreBins(10)).sizes, ba.cells(memory, ba.ScoreBins(10)).sizes)


def test_class_probabilities_predict_the_first_of_the_largest_or_what_a_column_says():
    rows = np.array([[0.2, 0.5, 0.3], [0.4, 0.4, 0.2], [0.1, 0.2, 0.7], [0.1, 0.21, 0.69]])
    frame = pl.DataFrame(
        {"id": range(4), **{f"p_{name}": rows[:, i] for i, name in enumerate("abc")}, "own": list("bacb")}
    )
    columns = ["p_a", "p_b", "p_c"]
    for predictions in (None, "own"):
        pool = ba.scan_pool(frame.lazy(), scores=columns, predictions=predictions)
        memory = ba.Pool(scores=rows, predictions=None if predictions is None else frame["own"], classes=list("abc"))
        one, other = ba.cells(pool), ba.cells(memory)
        np.testing.assert_array_equal(one.sizes, other.sizes)
        np.testing.assert_allclose(one.mean_score, other.mean_score, atol=2**-29)
        items = pool.positions([0, 1, 2, 3])
        assert pool.prediction_names(items).tolist() == memory.prediction_names(np.arange(4)).tolist()
        np.testing.assert_allclose(pool.confidence_of(items), memory.confidence)


def test_rows_without_ids_are_numbered(tmp_path):
    frame = FRAME.drop("id")
    for source in (parquet_of(tmp_path, frame), frame.lazy()):
        pool = ba.scan_pool(source, predictions="answer")
        items = pool.positions([0, "17", M - 1])
        assert pool.ids[items].tolist() == [0, 17, M - 1]
        assert pool.prediction_names(items).tolist() == [FRAME["answer"][i] for i in (0, 17, M - 1)]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"score": [0.1, float("nan"), 0.2]}, "The score of item 8 in column 'score' is NaN"),
        ({"score": [0.1, None, 0.2]}, "The score of item 8 in column 'score' is NaN or missing"),
        ({"score": [0.1, 0.5, 3.5]}, "The score of item 9 in column 'score' is 3.5; probabilities lie in"),
        ({"score": [0.1, -0.5, 3.5]}, "The score of item 8 in column 'score' is -0.5"),
        ({"score": ["a", "b", "c"]}, "The column 'score' of scores holds String, not numbers."),
        ({"site": ["n", None, "s"]}, "The value of 'site' of item 8 is missing"),
        ({"answer": [1, None, 0]}, "The prediction of item 8 is missing"),
        ({"id": [7, 9, 9]}, "Ids must be unique, but 9 is the id of 2 rows"),
        ({"id": [7, None, 9]}, "The id of a row of"),
        ({"id": [None, None, 9]}, "The id of a row of"),
        ({"id": ["a", None, None]}, "The id of a row of"),
        ({"id": [0.5, 1.5, 2.5]}, "Ids are whole numbers or texts, and 'id' holds Float64; cast it to whole numbers."),
        ({"id": [date(2026, 1, day) for day in (1, 2, 3)]}, "and 'id' holds Date; cast it to text."),
        ({"id": ["a", "", "b"]}, "The id of a row of"),
        ({"id": ["a", "", ""]}, "The id of a row of"),
        ({"site": ["n", "", "s"]}, "The value of 'site' of item 8 is missing"),
        ({"site": [1.5, float("nan"), 2.5]}, "The value of 'site' of item 8 is missing"),
        ({"site": [["n"], ["n"], ["s"]]}, "The column 'site' holds List(String)"),
        ({"site": [{"in": 1}, {"in": 1}, {"in": 2}]}, "The column 'site' holds Struct"),
    ],
)
@pytest.mark.parametrize("engine", ["DuckDB", "Polars"])
def test_the_first_offending_row_is_named(change, said, engine):
    columns = {"id": [7, 8, 9], "score": [0.1, 0.2, 0.3], "site": ["n", "n", "s"], "answer": [0, 1, 1]} | change
    frame = pl.DataFrame(columns)
    source = frame.lazy() if engine == "Polars" else duckdb.connect().from_arrow(frame.to_arrow())
    with pytest.raises(ba.PoolError, match=re.escape(said)):
        ba.scan_pool(source, id="id", scores="score", predictions="answer", groups=["site"])


@pytest.mark.parametrize("columns", [{"scores": "score"}, {"scores": ["score", "rest"]}, {"groups": ["score"]}])
def test_nan_is_found_in_parquet_files_whose_statistics_leave_it_out(tmp_path, columns):
    score = np.array([0.2, 0.4, np.nan, 0.9])
    frame = pl.DataFrame({"id": [6, 7, 8, 9], "score": score, "rest": 1 - score, "answer": ["a", "b", "b", "a"]})
    parquet.write_table(frame.to_arrow(), tmp_path / "pool.parquet")
    with pytest.raises(ba.PoolError, match="item 8"):
        ba.scan_pool(tmp_path / "pool.parquet", predictions="answer", classes=["a", "b"], **columns)


@pytest.mark.parametrize("answers", [[0, 1], ["0", "1"]])
def test_classes_of_scores_are_called_as_they_are_predicted(answers):
    frame = pl.DataFrame({"id": [4, 5], "p_0": [0.5, 0.6], "p_1": [0.5, 0.4], "answer": answers})
    classes = ["no", "yes"] if answers == [0, 1] else None
    for source in (frame.lazy(), duckdb.connect().from_arrow(frame.to_arrow())):
        with pytest.raises(ba.PoolError, match="name the classes as they are predicted"):
            ba.scan_pool(source, scores=["p_0", "p_1"], predictions="answer", classes=classes)


SITES = ["north", "south", "west"]
MOMENTS = [datetime(2026, 1, 1, hour, tzinfo=UTC) for hour in range(3)]


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (SITES, pl.Categorical()),
        (SITES, pl.Enum(SITES)),
        (MOMENTS, pl.Datetime("us", "Europe/Berlin")),
        (MOMENTS, pl.Datetime("ns", "UTC")),
        ([Decimal("0.5"), Decimal("1.5"), Decimal("2.5")], pl.Decimal(4, 1)),
        ([1, 2, 3], pl.UInt8()),
        ([0.5, 1.5, 2.5], pl.Float32()),
        ([date(2026, 1, day) for day in (1, 2, 3)], pl.Date()),
    ],
)
def test_items_of_groups_of_every_type_are_handed_out_on_every_engine(tmp_path, values, kind):
    sites = RNG.integers(0, 3, 600)
    frame = pl.DataFrame({"id": range(600), "site": pl.Series([values[site] for site in sites.tolist()], dtype=kind)})
    frame = frame.with_columns(answer=pl.Series(RNG.integers(0, 2, 600)))
    asked = []
    for source in (frame.lazy(), parquet_of(tmp_path, frame)):
        a = ba.assess(ba.scan_pool(source, predictions="answer", groups="site"), ba.GroupAccuracy(by="site"), seed=1)
        asked.append(a.ask(30).ids.tolist())
        a.tell(range(500, 520), [0] * 20)  # looked up by their ids
    assert asked[0] == asked[1]


def test_predictions_that_are_yes_or_no_are_those_of_the_classes_0_and_1():
    frame = pl.DataFrame({"id": [4, 5], "p_0": [0.4, 0.6], "p_1": [0.6, 0.4], "answer": [True, False]})
    pool = ba.scan_pool(frame.lazy(), scores=["p_0", "p_1"], predictions="answer")
    np.testing.assert_array_equal(pool.confidence_of(pool.positions([5, 4])), [0.6, 0.6])


def test_a_score_that_rounding_left_outside_is_shown_as_it_is():
    frame = pl.DataFrame({"id": [4, 5], "score": [0.5, 1.0000001]})
    with pytest.raises(
        ba.PoolError, match=r"The score of item 5 in column 'score' is 1\.0000001; probabilities lie in"
    ):
        ba.scan_pool(frame.lazy(), scores="score")


def test_probabilities_that_do_not_sum_to_one_are_named():
    frame = pl.DataFrame({"id": [4, 5], "a": [0.5, 0.6], "b": [0.5, 0.3]})
    with pytest.raises(ba.PoolError, match=re.escape("The scores of item 5 sum to 0.9, not 1")):
        ba.scan_pool(frame.lazy(), scores=["a", "b"])
    rounded = pl.DataFrame({"id": [4, 5], "a": [0.5, 0.6], "b": [0.499, 0.399]})  # as `Pool` takes them
    assert ba.scan_pool(rounded.lazy(), scores=["a", "b"]).n_items == 2


def test_repeated_ids_across_files_are_found_when_they_are_fetched_if_nobody_looked_before(tmp_path):
    FRAME.write_parquet(tmp_path / "part0.parquet")
    FRAME.write_parquet(tmp_path / "part1.parquet")
    source = str(tmp_path / "*.parquet")
    with pytest.raises(ba.PoolError, match="is the id of 2 rows"):
        ba.scan_pool(source, scores="score")
    pool = ba.scan_pool(source, scores="score", check_ids=False)
    a = ba.assess(pool, ba.GroupAccuracy())
    with pytest.raises(ba.EngineError, match="is that of several rows"):
        a.ask(1)
    assert a.n_pending == 0


def test_no_query_returns_more_rows_than_kinds_or_a_bound(tmp_path):
    pool = ba.scan_pool(parquet_of(tmp_path), scores="score")
    assert pool.engine.most_rows == pool.n_rows < 3000
    a = ba.assess(pool, ba.GroupAccuracy(), seed=2)
    for _ in range(3):
        a.tell(a.ask(25).ids, [0] * 25)
    assert pool.engine.most_rows < 3000
    assert len(pool.met) < 1500


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("nothing/*.parquet", "DuckDB cannot open 'nothing/*.parquet'"),
        ("pool.ddb", "A table of a file of DuckDB's is 'duckdb:pool.ddb/TABLE'."),
        ("pool.txt", "does not exist. Files that it reads end in .parquet, .pq, .csv, .tsv, .gz."),
        ("duckdb:nothing.db/items", "There is no file 'nothing.db'"),
        ("duckdb:items", "names no table; write duckdb:file.db/table"),
        (FRAME, "is in memory already; read it by ba.read_pool"),
        ([1, 2], "Cannot scan list"),
    ],
)
def test_what_cannot_be_opened_is_told(source, said):
    with pytest.raises(ba.PoolError, match=re.escape(said)):
        ba.scan_pool(source, scores="score")


def test_uuids_of_duckdb_are_ids_by_their_text():
    table = duckdb.sql("SELECT md5(range::VARCHAR)::UUID AS id, range % 2 AS answer FROM range(2000)")
    texts = table.project("id::VARCHAR AS id, answer")
    asked = []
    for source in (table, texts):
        pool = ba.scan_pool(source, predictions="answer")
        a = ba.assess(pool, ba.GroupAccuracy())
        asked.append(a.ask(20).ids.tolist())
        a.tell([UUID(one) for one in asked[-1][:5]], [1] * 5)
        assert a.labels_used == 5
    assert asked[0] == asked[1]


def test_lookups_of_texts_in_polars_hash_no_other_rows(monkeypatch):
    hashed = []
    own = scan_engine.id_numbers
    monkeypatch.setattr(scan_engine, "id_numbers", lambda texts: hashed.append(len(texts)) or own(texts))
    pool = ba.scan_pool(FRAME.lazy(), id="name", predictions="answer")
    assert sum(hashed) == M
    assert pool.positions([f"{FRAME['id'][7]}-x", f"{FRAME['id'][8]}-x"]).tolist() == [0, 1]
    assert sum(hashed) == M + 2


@pytest.mark.parametrize("kind", ["BIGINT", "VARCHAR"])
@pytest.mark.parametrize("told", [True, "1.0", "01", "+1", "1_0", "\uff15"])
def test_ids_that_no_item_has_in_memory_are_those_of_none_in_tables(kind, told):
    table = duckdb.sql(f"SELECT range::{kind} AS id, range % 2 AS answer FROM range(100)")
    scanned = ba.scan_pool(table, predictions="answer")
    read = ba.Pool(ids=table.to_arrow_table()["id"], predictions=np.arange(100) % 2)
    for pool in (scanned, read):
        with pytest.raises(ba.UnknownIdError, match=re.escape(f"no item with id {told!r}")):
            pool.positions([told])


def test_a_blank_beside_the_digits_of_an_id_is_that_of_no_item():
    table = duckdb.sql("SELECT range AS id, range % 2 AS answer FROM range(100)")
    for pool in (ba.scan_pool(table, predictions="answer"), ba.Pool(predictions=np.arange(100) % 2)):
        with pytest.raises(ba.UnknownIdError, match="no item with id ' 5'"):
            pool.positions([" 5"])


def test_a_folder_is_told_how_its_files_are_called(tmp_path):
    path = tmp_path / "warehouse"
    path.mkdir()
    with pytest.raises(ba.PoolError, match=re.escape(f"The files of a folder are '{path.as_posix()}/**/*.parquet'.")):
        ba.scan_pool(path, scores="score")


def test_a_connection_is_no_name_of_a_file():
    with pytest.raises(
        ba.PoolError, match=r"one of DuckDB, such as duckdb\.connect\('file\.db'\); found 'run\.duckdb'"
    ):
        ba.scan_pool("items", scores="score", connection="run.duckdb")


def test_a_row_of_csv_that_has_other_types_is_told(tmp_path):
    path = tmp_path / "pool.csv"
    path.write_text("\n".join(["id,score", *(f"{i},0.25" for i in range(30_000)), "x7,0.5", ""]))
    with pytest.raises(
        ba.EngineError,
        match=r'on Line: 30002: Error when converting column "id"\. Could not .*"x7".*read_csv\(path, dtype=',
    ):
        ba.scan_pool(path, scores="score")
    typed = duckdb.read_csv(path, dtype={"id": "VARCHAR"})
    assert ba.scan_pool(typed, scores="score").n_items == 30_001


def test_classes_and_groups_of_csv_called_yes_and_no_keep_their_names(tmp_path):
    path = tmp_path / "pool.csv"
    rows = [f"{i},{['no', 'yes'][i % 2]},{['T', 'F'][i % 2]},{['false', 'True'][i % 2]}" for i in range(300)]
    path.write_text("\n".join(["id,prediction,sex,new", *rows, ""]))
    scanned, read = (one(path, groups=["sex", "new"]) for one in (ba.scan_pool, ba.read_pool))
    assert scanned.classes.tolist() == read.classes.tolist() == ["no", "yes"]
    assert set(scanned.groups["sex"].tolist()) == set(read.groups["sex"].tolist()) == {"F", "T"}
    assert set(scanned.groups["new"].tolist()) == set(read.groups["new"].tolist()) == {False, True}
    a = ba.assess(scanned, ba.Metric("f1", positive="yes"), seed=0)
    a.tell([1, 2], ["yes", "no"])
    assert a.labels_used == 2


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        ("to_hours(range % 2)", "INTERVAL"),
        ("(range % 2)::INTEGER::BIT", "BIT"),
        ("(range % 2)::BIGNUM", "BIGNUM"),
        ("row(range % 2)", "TUPLE(BIGINT)"),
    ],
)
def test_groups_of_types_whose_values_do_not_come_back_are_refused(value, kind):
    table = duckdb.sql(f"SELECT range AS id, range % 2 AS answer, {value} AS site FROM range(100)")
    with pytest.raises(ba.PoolError, match=re.escape(f"'site' holds values of DuckDB's type {kind}; cast it to text.")):
        ba.scan_pool(table, predictions="answer", groups="site")


@pytest.mark.parametrize("engine", ["relation", "Polars"])
def test_columns_that_are_called_like_those_computed_disturb_nothing_and_are_refused_where_they_are_used(
    tmp_path, engine
):
    names = ["__key", "__kind", "__n", "__bin", "__c", "__score_0", "__word", "__square_u", "__first", "__id"]
    frame = FRAME.with_columns(pl.lit(7).alias(name) for name in names)
    source = frame.lazy() if engine == "Polars" else duckdb.connect().from_arrow(frame.to_arrow())
    pool = ba.scan_pool(source, scores="score", groups="site", show="text")
    a = ba.assess(pool, ba.GroupAccuracy(by="site"), seed=0)
    plain = ba.assess(ba.scan_pool(FRAME.lazy(), scores="score", groups="site"), ba.GroupAccuracy(by="site"), seed=0)
    assert a.ask(20).ids.tolist() == plain.ask(20).ids.tolist()
    for name in names[:-1]:
        with pytest.raises(ba.PoolError, match=f"called like '{name}'; rename it"):
            ba.scan_pool(source, scores="score", groups=name)


def test_a_file_of_duckdb_and_names_on_a_connection_are_opened(tmp_path):
    path = tmp_path / "pool.db"
    connection = duckdb.connect(str(path))
    connection.register("frame", FRAME.to_arrow())
    connection.execute("CREATE TABLE items AS SELECT * FROM frame")
    one = ba.scan_pool("items", scores="score", connection=connection)
    connection.close()
    other = ba.scan_pool(f"duckdb:{path}/items", scores="score")
    assert one.fingerprint() == other.fingerprint()


def test_folders_whose_names_have_values_are_columns_unless_files_have_them(tmp_path):
    for place, site in enumerate(["north", "south"]):
        folder = tmp_path / f"site={site}" / "answer=7"
        folder.mkdir(parents=True)
        FRAME[place * 10 : place * 10 + 10].drop("site", "answer").write_parquet(folder / "part.parquet")
    pool = ba.scan_pool(str(tmp_path / "**/*.parquet"), predictions="answer", groups="site")
    assert sorted(set(pool.groups["site"].tolist())) == ["north", "south"]
    assert pool.classes.tolist() == [7]
    own = tmp_path / "own" / "answer=7"
    own.mkdir(parents=True)
    FRAME.write_parquet(own / "part.parquet")
    assert ba.scan_pool(str(tmp_path / "own/*/*.parquet"), predictions="answer").classes.tolist() == [0, 1, 2]


def test_what_needs_items_in_memory_says_so():
    pool = ba.scan_pool(FRAME.lazy(), scores="score", groups=["site"])
    for question in (ba.Metric("roc_auc"), ba.PRCurve(5)):
        with pytest.raises(ba.PoolError, match="stay in the LazyFrame"):
            ba.assess(pool, question)
    with pytest.raises(ba.PoolError, match="stay in the LazyFrame"):
        ba.cells(pool, np.zeros(M))
    with pytest.raises(ba.PoolError, match="stay in the LazyFrame"):
        ba.GroupAccuracy().truth(pool, np.zeros(M, int))
    with pytest.raises(ba.PartitionError, match=re.escape("or in Python scan the table with n_bins=700")):
        ba.cells(pool, ba.ScoreBins(7))


def test_a_pool_of_a_table_is_its_own_copy_and_no_pickle():
    pool = ba.scan_pool(pl.LazyFrame({"id": range(20), "score": np.linspace(0, 1, 20)}), id="id", scores="score")
    result = ba.assess(pool, ba.GroupAccuracy()).result()
    assert copy.deepcopy(result).summary() == result.summary()
    for held in (pool, result):
        with pytest.raises(ba.OutputError, match=r"stay in .* Scan the table in the other process"):
            pickle.dumps(held)
