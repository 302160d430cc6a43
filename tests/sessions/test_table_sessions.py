import os
import re

import duckdb
import numpy as np
import polars as pl
import pytest

import bayes_assess as ba
from bayes_assess.pool.scan.source import TableSource

M = 5_000
RNG = np.random.default_rng(8)
SCORE = RNG.beta(0.4, 2, M)
LABEL = (RNG.random(M) < SCORE).astype(int)  # which the predictions contradict where scores are uncertain
FRAME = pl.DataFrame(
    {
        "id": RNG.permutation(M) * 3 + 1,
        "score": SCORE,
        "site": np.array(["north", "south", "west"])[RNG.integers(0, 3, M)],
        "new": (SCORE > 0.4).astype(int),
        "text": [f"text {i}" for i in range(M)],
        "label": LABEL,
    }
)
TRUTH = dict(zip(FRAME["id"].to_list(), LABEL.tolist(), strict=True))
COLUMNS = {"id": "id", "scores": "score", "groups": ["site"], "systems": ["new"], "show": "text"}


def relation(frame=FRAME):
    connection = duckdb.connect()
    connection.register("frame", frame.to_arrow())
    connection.execute("CREATE TABLE items AS SELECT * FROM frame")
    return connection, connection.table("items")


def scanned(source=None):
    return ba.scan_pool(relation()[1] if source is None else source, **COLUMNS)


def answer(assessment, queries):
    assessment.tell(queries.ids, [TRUTH[name] for name in queries.ids.tolist()])


def course(assessment, n_rounds=3, n=10):
    ids = []
    for _ in range(n_rounds):
        queries = assessment.ask(n)
        ids += queries.ids.tolist()
        answer(assessment, queries)
    return ids


@pytest.mark.parametrize("seed", [0, pytest.param(3, marks=pytest.mark.slow)])
def test_a_seed_asks_for_the_same_items_on_every_engine_and_a_journal_brings_them_back(tmp_path, seed):
    FRAME[: M // 2].write_parquet(tmp_path / "a.parquet")
    FRAME[M // 2 :].write_parquet(tmp_path / "b.parquet")
    asked, sources = [], (str(tmp_path / "*.parquet"), FRAME.lazy(), relation(FRAME[::-1])[1])
    for place, source in enumerate(sources):
        a = ba.assess(scanned(source), ba.GroupAccuracy(by="site"), seed=seed, journal=tmp_path / f"{place}.db")
        asked.append(course(a))
    assert asked[0] == asked[1] == asked[2]
    b = ba.resume(tmp_path / "0.db", scanned(sources[2]))  # whose rows are in another order
    assert b.labels_used == 30
    np.testing.assert_array_equal(b.result().estimate, a.result().estimate)
    assert set(b.labelled[0].tolist()) == set(asked[0])
    assert not set(b.ask(10).ids.tolist()) & set(asked[0])


def test_everything_labelled_gives_the_answer_of_the_same_pool_in_memory():
    question = ba.GroupAccuracy(by="site")
    few = FRAME[:400]
    a = ba.assess(scanned(few.lazy()), question, seed=1)
    answer(a, a.ask(400))
    assert a.done
    truth = question.truth(ba.Pool(scores=few["score"], groups={"site": few["site"]}), few["label"].to_numpy())
    np.testing.assert_allclose(a.result().estimate, truth)


def test_items_carry_what_annotators_see_and_their_own_scores():
    a = ba.assess(scanned(), ba.GroupAccuracy(by="site"))
    queries = a.ask(5)
    rows = [FRAME["id"].to_list().index(name) for name in queries.ids.tolist()]
    assert queries.show["text"].tolist() == FRAME["text"][rows].to_list()
    assert queries.groups.tolist() == FRAME["site"][rows].to_list()
    np.testing.assert_allclose(queries.scores, np.maximum(SCORE[rows], 1 - SCORE[rows]))
    assert queries.predictions.tolist() == (SCORE[rows] >= 0.5).astype(int).tolist()


def test_labels_of_items_that_nobody_asked_for_are_looked_up_and_asked_for_no_more():
    a = ba.assess(scanned(FRAME[:60].lazy()), ba.GroupAccuracy(by="site"))
    known = FRAME["id"][:50].to_list()
    a.tell(known, [TRUTH[name] for name in known])
    assert (a.labels_used, a.n_remaining) == (50, 10)
    assert set(a.ask(10).ids.tolist()) == set(FRAME["id"][50:60].to_list())
    with pytest.raises(ba.UnknownIdError, match=r"one-dimensional, but have shape \(1, 2\)"):
        a.pool.positions([[0, 1]])
    with pytest.raises(ba.UnknownIdError, match="There is no item with id 2"):
        a.tell([2], [1])


def test_items_set_aside_and_released_come_back_in_their_places():
    a = ba.assess(scanned(), ba.GroupAccuracy(by="site"), seed=4)
    first = a.ask(12).ids
    a.skip(first[:4])
    a.release(first[4:])
    again = a.ask(9).ids
    assert not set(again.tolist()) & set(first[:4].tolist())
    b = ba.assess(scanned(), ba.GroupAccuracy(by="site"), seed=4)
    assert set(again.tolist()) <= set(b.ask(60).ids.tolist())


def test_items_that_await_labels_come_in_the_order_of_asking_after_a_resume(tmp_path):
    path = tmp_path / "run.db"
    asked = ba.assess(scanned(), ba.GroupAccuracy(by="site"), journal=path).ask(12).ids.tolist()
    assert asked != sorted(asked)
    assert ba.resume(path, scanned()).pending_queries.ids.tolist() == asked


def test_a_table_that_has_changed_is_refused_at_resume(tmp_path):
    path = tmp_path / "run.db"
    course(ba.assess(scanned(), ba.GroupAccuracy(by="site"), journal=path), 1)
    with pytest.raises(ba.JournalError, match=re.escape("of 5,000 rows, and the LazyFrame has 4,999 now; restore it")):
        ba.resume(path, scanned(FRAME[:-1].lazy()))
    other = FRAME.with_columns(score=pl.when(pl.col("id") == 1).then(0.999).otherwise(pl.col("score")))
    with pytest.raises(ba.JournalError, match=r"scores, groups or ids differ\. Scan it by the same columns, restore"):
        ba.resume(path, scanned(other.lazy()))
    moved = FRAME.with_columns(id=pl.when(pl.col("id") == 1).then(9_999_999).otherwise(pl.col("id")))
    with pytest.raises(ba.JournalError, match="has changed: predictions, scores, groups or ids differ"):
        ba.resume(path, scanned(moved.lazy()))


def test_a_table_that_was_scanned_is_no_pool_in_memory(tmp_path):
    in_memory = ba.read_pool(FRAME, id="id", scores="score", groups=["site"])
    for pool, other, said in (
        (scanned(), in_memory, "a table that was scanned, and this pool is in memory: scan it by ba.scan_pool"),
        (in_memory, scanned(), "a pool in memory, and this one is a table that was scanned: read it by ba.read_pool"),
    ):
        path = tmp_path / f"{type(pool).__name__}.db"
        ba.assess(pool, ba.GroupAccuracy(by="site"), journal=path)
        with pytest.raises(ba.JournalError, match=f"belongs to {said}"):
            ba.resume(path, other)


@pytest.mark.parametrize("change", ["DELETE FROM items WHERE id % 2 = 0", "UPDATE items SET score = 0.5"])
def test_a_table_that_changes_under_a_session_is_found_when_it_is_asked(change, monkeypatch):
    queries, fetch = [], TableSource._fetch
    monkeypatch.setattr(TableSource, "_fetch", lambda source, *of: (queries.append(of), fetch(source, *of))[1])
    connection, table = relation()
    a = ba.assess(ba.scan_pool(table, **COLUMNS), ba.GroupAccuracy(by="site"), design="random")
    answer(a, a.ask(3))
    connection.execute(change)

    def go_on():
        for _ in range(4):
            answer(a, a.ask(500))

    with pytest.raises(ba.EngineError, match="changed"):
        go_on()
    assert a.n_pending == 0
    assert len(queries) < 10


def test_a_connection_that_is_lost_in_the_middle_of_ask_hands_nothing_out():
    connection, table = relation()
    a = ba.assess(ba.scan_pool(table, **COLUMNS), ba.GroupAccuracy(by="site"), design="random")
    answer(a, a.ask(3))
    before = a.labels_used, a.n_pending, a.n_remaining
    ahead = len(a.pool.met)
    connection.close()
    with pytest.raises(ba.EngineError, match=re.escape("gave no answer")):
        a.ask(ahead + 500)
    assert (a.labels_used, a.n_pending, a.n_remaining) == before
    assert len(a.ask(5)) == 5  # of those that were fetched ahead


def test_a_file_that_is_gone_in_the_middle_hands_nothing_out_and_goes_on_once_it_is_back(tmp_path):
    path = tmp_path / "items.parquet"
    FRAME.write_parquet(path)
    a = ba.assess(scanned(str(path)), ba.GroupAccuracy(by="site"), design="random", journal=tmp_path / "run.db")
    ids = course(a, 1)
    os.rename(path, tmp_path / "elsewhere")
    with pytest.raises(ba.EngineError, match="Nothing was changed"):
        a.ask(1_000)
    assert a.n_pending == 0
    os.rename(tmp_path / "elsewhere", path)
    found = a.ask(1_000).ids
    assert len(set(found.tolist()) | set(ids)) == 1_010


QUESTIONS = [
    (ba.GroupAccuracy(by="site"), "thompson"),
    (ba.GroupAccuracy(by=ba.ScoreBins(4)), "random"),
    (ba.LeastAccurate(by="site"), "top_two"),
    (ba.ConfusionMatrix(), "thompson"),
    (ba.Calibration(5), "thompson"),
    (ba.Compare("north", "south", by="site"), "thompson"),
    (ba.Compare("prediction", "new"), "random"),
    (ba.Compare("prediction", "new", measure="f1"), "importance"),
    (ba.Rate(positive=1), "variance_reduction"),
    (ba.Metric(["f1", "accuracy"]), "variance_reduction"),
    (ba.Metric("brier_score_loss"), "importance"),
    *((ba.Metric("f1"), name) for name in ("adaptive", "oasis", "importance", "stratified", "passive", "poisson")),
]
# The default design's belief of groups, and of two systems, takes its time.
SLOW = [
    (ba.Compare("prediction", "new", measure="f1"), "variance_reduction"),
    (ba.Rate(positive=1, by="site"), "variance_reduction"),
]


@pytest.mark.parametrize(
    ("question", "design"),
    [*QUESTIONS, *(pytest.param(*case, marks=pytest.mark.slow) for case in SLOW)],
    ids=lambda one: getattr(one, "name", one),
)
def test_questions_and_designs_are_asked_and_resumed(tmp_path, question, design):
    path = tmp_path / "run.db"
    a = ba.assess(scanned(), question, design=design, seed=0, journal=path)
    ids = course(a, n_rounds=2, n=4)
    a.ask(3)
    b = ba.resume(path, scanned(FRAME.lazy()))
    assert (b.labels_used, b.n_pending) == (a.labels_used, a.n_pending) == (8, 3)
    one, other = a.result(), b.result()
    np.testing.assert_allclose(one.estimate, other.estimate, rtol=1e-9)
    np.testing.assert_allclose(one.interval, other.interval, rtol=1e-9)
    assert np.isfinite(one.interval).all()
    assert set(b.labelled[0].tolist()) == set(ids)


@pytest.mark.parametrize("design", ["random", "variance_reduction"])
def test_other_questions_are_answered_from_the_same_labels(design):
    own = ba.Metric(["f1", "accuracy"]) if design == "variance_reduction" else ba.GroupAccuracy()
    a = ba.assess(scanned(), own, design=design)
    course(a, 2, 6)
    for question in (ba.GroupAccuracy(by="site"), ba.Metric("recall")):
        assert np.isfinite(a.result(question=question).interval).all()


def test_a_plan_of_the_labels_to_come_is_made():
    a = ba.assess(scanned(), ba.GroupAccuracy(by="site"))
    course(a, 1)
    assert a.plan(0.2, futures=2).n_items == M


@pytest.mark.parametrize(
    ("question", "options"),
    [
        (ba.Metric("f1"), {"oracle": "stochastic"}),
        (ba.Compare("north", "south", by="site", measure="rate", positive=1, pair="text"), {}),
        (ba.Metric("average_precision"), {}),
    ],
)
def test_what_needs_items_in_memory_says_what_to_ask_instead(question, options):
    with pytest.raises(
        ba.PoolError, match=r"stay in the LazyFrame. GroupAccuracy, .* can be asked of it; for the rest read a sample"
    ):
        ba.assess(scanned(FRAME.lazy()), question, **options)
    with pytest.raises(
        ba.PoolError, match="A simulated campaign needs the labels of all items, and those of this pool"
    ):
        ba.simulate(scanned(FRAME.lazy()), ba.GroupAccuracy(), LABEL)
