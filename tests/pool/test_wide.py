"""Wide tables: a row per prompt and a column of verdicts per system."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import bayes_assess as ba
from bayes_assess.errors import PoolError, QuestionError

FRAME = pd.DataFrame(
    {
        "prompt": ["p1", "p2", "p3"],
        "text": ["What?", "Who?", "Why?"],
        "lang": ["en", "de", "en"],
        "old": ["good", "bad", "good"],
        "new": ["bad", "good", "good"],
    }
)


@pytest.mark.parametrize("kind", ["frame", "csv", "parquet"])
def test_every_answer_becomes_an_item(tmp_path, kind):
    source = FRAME if kind == "frame" else tmp_path / f"answers.{kind}"
    if kind == "csv":
        FRAME.to_csv(source, index=False)
    if kind == "parquet":
        FRAME.to_parquet(source)
    pool = ba.read_pool(source, id="prompt", wide={"before": "old", "after": "new"}, groups=["lang"], show=["text"])
    assert pool.ids.tolist() == ["p1/before", "p2/before", "p3/before", "p1/after", "p2/after", "p3/after"]
    assert pool.classes[pool.predictions].tolist() == [*FRAME["old"], *FRAME["new"]]
    assert pool.groups["system"].tolist() == ["before"] * 3 + ["after"] * 3
    assert pool.groups["prompt"].tolist() == ["p1", "p2", "p3"] * 2
    assert pool.groups["lang"].tolist() == ["en", "de", "en"] * 2
    assert pool.show["text"].tolist() == ["What?", "Who?", "Why?"] * 2


def test_rows_without_ids_are_numbered():
    pool = ba.read_pool(FRAME.drop(columns="prompt"), wide=["old", "new"], groups=["system"])
    assert pool.ids.tolist() == ["0/old", "1/old", "2/old", "0/new", "1/new", "2/new"]
    assert pool.groups["row"].tolist() == ["0", "1", "2"] * 2


def test_the_rates_are_those_of_the_long_table():
    wide = ba.read_pool(FRAME, id="prompt", wide=["old", "new"])
    a = ba.assess(wide, ba.Rate("good", by="system"), design="passive")
    a.tell(wide.ids, ["good", "good", "good", "bad", "bad", "good"])
    result = a.result()
    found = dict(zip(np.unique(wide.groups["system"]).tolist(), result.estimate.tolist(), strict=True))
    assert found == pytest.approx({"old": 1.0, "new": 1 / 3})
    assert result.judge_rate.tolist() == pytest.approx([2 / 3, 2 / 3])


@pytest.mark.parametrize(
    ("change", "options", "said"),
    [
        ({}, {"wide": ["old", "newer"]}, "There is no column 'newer'"),
        ({"new": ["good", None, "bad"]}, {"wide": ["old", "new"]}, "The verdict of 'new' in row 1 is missing"),
        ({}, {"wide": ["old", "text"]}, "have no verdict in common"),
        ({"new": [1, 0, 1]}, {"wide": ["old", "new"]}, "some numbers"),
        ({}, {"wide": ["old", "new"], "prediction": "old"}, "leave out scores, predictions"),
        ({"prompt": [b"p1", b"p2", b"\xff"]}, {"wide": ["old", "new"]}, "row 0 has b'p1'; convert them to text"),
        ({"prompt": ["p1", None, "p3"]}, {"wide": ["old", "new"]}, "The id in row 1 is missing"),
    ],
)
def test_what_is_no_wide_table_is_refused(change, options, said):
    with pytest.raises(PoolError, match=said):
        ba.read_pool(FRAME.assign(**change), id="prompt", **options)


def test_the_positive_verdict_may_be_written_in_another_way():
    pool = ba.Pool(predictions=["PASS", "FAIL", "PASS"])
    assert ba.Rate("pass ").result_fields(pool)["judged"].tolist() == [2]
    truths = ba.Pool(predictions=["true", "false"])
    assert ba.Rate(True).result_fields(truths)["judged"].tolist() == [1]
    with pytest.raises(QuestionError, match="not a class of the pool"):
        ba.Rate("passed").for_pool(pool)
    with pytest.raises(QuestionError, match="not a class of the pool"):
        ba.Rate("PAss").for_pool(ba.Pool(predictions=["PASS", "pass"]))
