import re

import duckdb
import numpy as np
import polars as pl
import pytest

import bayes_assess as ba

M = 3_000
RNG = np.random.default_rng(4)
SCORE = np.concatenate([RNG.beta(0.3, 1, M - 900), np.repeat(np.arange(9) / 9, 100)])
FRAME = pl.DataFrame(
    {
        "id": RNG.permutation(M) * 5 - M,
        "score": SCORE,
        "site": np.array(["n", "s"])[RNG.integers(0, 2, M)],
        "text": [f"text {i}" for i in range(M)],
        "label": (RNG.random(M) < SCORE).astype(int),
    }
)
ROW = {name: row for row, name in enumerate(FRAME["id"].to_list())}
QUESTION = ba.PrecisionCurve(epsilon=0.3, beta=1.5, p_min=0.2)


def scanned(source=None, **columns):
    columns = columns or {"id": "id", "scores": "score", "groups": "site", "show": "text"}
    return ba.scan_pool(FRAME.lazy() if source is None else source, **columns)


def labels(ids):
    return [FRAME["label"][ROW[name]] for name in ids.tolist()]


def test_a_precision_curve_is_asked_of_a_table_and_resumed(tmp_path):
    path = tmp_path / "run.db"
    a = ba.assess(scanned(), QUESTION, seed=2, journal=path)
    queries = a.ask(40)
    assert queries.show["text"].tolist() == [f"text {ROW[name]}" for name in queries.ids.tolist()]
    a.tell(queries.ids[:30], labels(queries.ids[:30]))
    connection = duckdb.connect()
    connection.register("frame", FRAME[::-1].to_arrow())
    connection.execute("CREATE TABLE items AS SELECT * FROM frame")
    b = ba.resume(path, scanned(connection.table("items")))
    assert (b.labels_used, b.n_pending) == (30, 10)
    assert set(b.pending.tolist()) == set(queries.ids[30:].tolist())
    b.tell([str(name) for name in queries.ids[30:].tolist()], labels(queries.ids[30:]))  # as a sheet has them
    while not b.done:
        queries = b.ask(100)
        b.tell(queries.ids, labels(queries.ids))
    ranks = np.array([10, 100, 1000])
    order = np.argsort(-SCORE, kind="stable")
    truth = np.cumsum(FRAME["label"].to_numpy()[order])[ranks - 1] / ranks
    found = b.result().at(ranks)
    assert ((found.lower <= truth + 0.02) & (truth - 0.02 <= found.upper)).all()
    with pytest.raises(ba.UnknownIdError, match="was not asked for"):
        b.tell([12345], [1])
    with pytest.raises(ba.JournalError, match=r"another list: .* and the order of items"):
        ba.resume(path, scanned(FRAME[:-1].lazy()))


def test_what_a_ranked_table_cannot_do_is_told_with_what_can():
    with pytest.raises(ba.QuestionError, match=re.escape("a single column of P(positive)")):
        ba.RankedList.from_pool(scanned(id="id", predictions="label"))
    with pytest.raises(ba.QuestionError, match=re.escape("Scores of the LazyFrame are P(1), and the question has 0")):
        ba.assess(scanned(), ba.PrecisionCurve(positive=0))
    ranked = ba.RankedList.from_pool(scanned())
    with pytest.raises(ba.QuestionError, match="take one of the designs of ranked lists, such as 'adastrat'"):
        ranked.as_pool()
    with pytest.raises(
        ba.PoolError, match=r"PrecisionCurve by a design .* with the designs of ranked lists, PrecisionCurve can"
    ):
        ba.assess(scanned(), QUESTION, design="variance_reduction")


def test_a_table_that_has_lost_rows_hands_nothing_out():
    connection = duckdb.connect()
    connection.register("frame", FRAME.to_arrow())
    connection.execute("CREATE TABLE items AS SELECT * FROM frame")
    a = ba.assess(scanned(connection.table("items")), QUESTION)
    connection.execute("DELETE FROM items WHERE score < 0.9")
    with pytest.raises(ba.EngineError, match="Nothing was handed out"):
        a.ask(50)
    assert a.n_pending == 0
