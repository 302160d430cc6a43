"""Tables of DuckDB, Polars, Spark and Ibis become the same pool; engines that are not installed are skipped."""

import re

import numpy as np
import polars as pl
import pytest

import bayes_assess as ba
from engines import ENGINES, table

# Spark warns of what its own libraries will change, and leaves sockets to the end of the process.
pytestmark = pytest.mark.filterwarnings("ignore")

M = 1_000
RNG = np.random.default_rng(9)
IDS = np.concatenate([RNG.permutation(10 * M)[: M - 4] - 5 * M, [2**62, -(2**62), 2**63 - 1, -(2**63)]])
SCORE = np.concatenate([RNG.beta(0.3, 1, M - 60), np.repeat(np.arange(12) / 12, 5)]).round(6)
FRAME = pl.DataFrame(
    {
        "id": IDS,
        "score": SCORE,
        "site": np.array(["north", "south", "it's west"])[RNG.integers(0, 3, M)],
        "old": (RNG.random(M) < 0.5).astype(int),
        "text": [f"text {i}" for i in range(M)],
        "label": (RNG.random(M) < SCORE).astype(int),
    }
).with_columns(name=pl.col("id").cast(pl.String) + "-x", cat=pl.col("score"), dog=1 - pl.col("score"))
TRUTH = dict(zip(IDS.tolist(), FRAME["label"].to_list(), strict=True))
ROW = {name: row for row, name in enumerate(IDS.tolist())}
COLUMNS = {"id": "id", "scores": "score", "groups": ["site"], "systems": ["old"], "show": "text"}


def scanned(engine, folder, frame=FRAME, **columns):
    return ba.scan_pool(table(engine, frame, folder), **(columns or COLUMNS))


def on_engines(engines, values, quick):
    """Values on engines: on Spark, whose queries take seconds, and in sessions most are left to the slow tests."""
    pairs = [(engine, value) for engine in engines for value in values]
    return [pytest.param(*pair, marks=[] if pair in quick else [pytest.mark.slow]) for pair in pairs]


def soon(engines):
    """Leave Spark to the slow tests."""
    return [pytest.param(engine, marks=[pytest.mark.slow] * (engine == "Spark")) for engine in engines]


KINDS = {
    "groups": COLUMNS,
    "classes": {"id": "id", "scores": ["cat", "dog"]},
    "confidence": {"predictions": "old", "confidence": "score"},
}
QUICK_KINDS = [("Spark", "groups"), *((engine, kind) for engine in ("Polars", "Ibis") for kind in KINDS)]


@pytest.mark.parametrize(("engine", "kind"), on_engines(ENGINES[1:], KINDS, QUICK_KINDS))
def test_kinds_first_items_and_fingerprint_are_those_of_duckdb(tmp_path, engine, kind):
    one, other = (scanned(name, tmp_path, **KINDS[kind]) for name in ("DuckDB", engine))
    assert one.fingerprint() == other.fingerprint()
    np.testing.assert_array_equal(one.multiplicity, other.multiplicity)
    firsts = []
    for pool in (one, other):
        source = ba.cells(pool, seed=4).source
        firsts.append(source.ids_of(source.take(np.repeat([0, 1], 50), np.tile(np.arange(50), 2))).tolist())
    assert firsts[0] == firsts[1]


QUESTIONS = {"f1": ba.Metric("f1"), "groups": ba.GroupAccuracy(by="site")}
QUICK_SESSIONS = [("Spark", "f1"), ("Ibis", "f1"), ("DuckDB", "f1"), ("Polars", "groups")]


@pytest.mark.parametrize(("engine", "question"), on_engines(ENGINES, QUESTIONS, QUICK_SESSIONS))
def test_a_session_goes_on_where_another_engine_left_it(tmp_path, engine, question):
    path = tmp_path / "run.db"
    a = ba.assess(scanned("DuckDB", tmp_path), QUESTIONS[question], seed=1, journal=path)
    queries = a.ask(15)
    a.tell(queries.ids, [TRUTH[name] for name in queries.ids.tolist()])
    b = ba.resume(path, scanned(engine, tmp_path))
    assert b.labels_used == 15
    one, other = a.ask(15), ba.resume(path, scanned(engine, tmp_path)).pending_queries
    assert set(one.ids.tolist()) == set(other.ids.tolist())
    places = [IDS.tolist().index(name) for name in other.ids.tolist()]
    assert other.show["text"].tolist() == FRAME["text"][places].to_list()
    np.testing.assert_allclose(b.result().interval, a.result().interval)


@pytest.mark.parametrize("engine", soon(ENGINES))
def test_ids_are_looked_up_by_the_engine(tmp_path, engine):
    pool = scanned(engine, tmp_path)
    some = IDS[[5, 17, -1, -2]]
    items = pool.positions(some)
    assert pool.ids[items].tolist() == some.tolist()
    assert len(pool.met) == 4
    with pytest.raises(ba.UnknownIdError, match="There is no item with id 123456789"):
        pool.positions([123456789])


@pytest.mark.parametrize("engine", soon(ENGINES[:3]))
def test_ids_that_are_text_are_in_the_same_order_on_every_engine(tmp_path, engine):
    columns = {"id": "name", "scores": "score"}
    one, other = (scanned(name, tmp_path, **columns) for name in ("DuckDB", engine))
    asked = [ba.assess(pool, ba.GroupAccuracy(), seed=2).ask(30).ids.tolist() for pool in (one, other)]
    assert asked[0] == asked[1]
    assert one.fingerprint() == other.fingerprint()


def test_ids_that_are_text_are_refused_where_nothing_hashes_them(tmp_path):
    with pytest.raises(ba.PoolError, match="Ids that are text are hashed by DuckDB, Polars or Spark"):
        scanned("Ibis", tmp_path, id="name", scores="score")


@pytest.mark.parametrize("engine", soon(ENGINES))
def test_ranks_are_in_the_order_of_the_scores_and_the_same_on_every_engine(tmp_path, engine):
    ranks = np.arange(1, M + 1)
    ranked = ba.RankedList.from_pool(scanned(engine, tmp_path), seed=3)
    ids = ranked.ids_at(ranks)
    assert sorted(ids.tolist()) == sorted(TRUTH)
    score = SCORE[[ROW[name] for name in ids.tolist()]]
    assert (np.diff(score) <= 0).all()
    assert ids.tolist() == ba.RankedList.from_pool(scanned("Polars", tmp_path), seed=3).ids_at(ranks).tolist()
    other = ba.RankedList.from_pool(scanned("Polars", tmp_path), seed=4).ids_at(ranks)
    tied = np.flatnonzero(other != ids)  # among equal scores alone
    assert 0 < len(tied) < M
    np.testing.assert_array_equal(score, SCORE[[ROW[name] for name in other.tolist()]])


OFFENDING = {
    "score nan": ({"score": [0.1, float("nan"), 0.2]}, "The score of item 8 in column 'score' is NaN"),
    "score missing": ({"score": [0.1, None, 0.2]}, "The score of item 8 in column 'score' is NaN or missing"),
    "score great": ({"score": [0.1, 0.5, 3.5]}, "The score of item 9 in column 'score' is 3.5; probabilities lie in"),
    "site missing": ({"site": ["n", None, "s"]}, "The value of 'site' of item 8 is missing"),
    "id twice": ({"id": [7, 9, 9]}, "Ids must be unique, but 9 is the id of 2 rows"),
    "id missing": ({"id": [7, None, 9]}, "The id of a row of"),
}
QUICK_OFFENDING = [("Spark", "id twice")]
QUICK_OFFENDING += [("Ibis", offence) for offence in OFFENDING]


@pytest.mark.parametrize(("engine", "offence"), on_engines(ENGINES[2:], OFFENDING, QUICK_OFFENDING))
def test_the_first_offending_row_is_named(tmp_path, engine, offence):
    change, said = OFFENDING[offence]
    frame = pl.DataFrame({"id": [7, 8, 9], "score": [0.1, 0.2, 0.3], "site": ["n", "n", "s"]} | change)
    with pytest.raises(ba.PoolError, match=re.escape(said)):
        scanned(engine, tmp_path, frame, id="id", scores="score", groups=["site"])


@pytest.mark.parametrize("engine", ENGINES[2:])
def test_rows_without_ids_have_no_numbers_that_stay(tmp_path, engine):
    with pytest.raises(ba.PoolError, match="name a column of ids"):
        scanned(engine, tmp_path, FRAME.drop("id"), scores="score")
