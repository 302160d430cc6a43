import re

import duckdb
import numpy as np
import polars as pl
import pytest

import bayes_assess as ba
from bayes_assess.pool import _memory

FRAME = pl.DataFrame({"id": range(2_000), "score": np.linspace(0, 1, 2_000)})
SAID = re.escape("take about 0 GB in memory (10^8 take 5), and this machine has 0. Leave them")


@pytest.fixture
def small_machine(monkeypatch):
    monkeypatch.setattr(_memory, "memory", lambda: 1_999 * _memory.ITEM)


def test_a_pool_that_cannot_fit_is_refused_with_what_it_takes_and_what_scans_it(small_machine, tmp_path):
    FRAME.write_parquet(tmp_path / "pool.parquet")
    with pytest.raises(ba.PoolError, match=f"The pool has 2,000 items, which {SAID}.*ba.scan_pool"):
        ba.Pool(scores=FRAME["score"])
    with pytest.raises(ba.PoolError, match=f"The file 'pool.parquet' has 2,000 items, which {SAID}"):
        ba.read_pool(tmp_path / "pool.parquet", scores="score")
    with pytest.raises(ba.PoolError, match=f"The table has 2,000 items, which {SAID}"):
        ba.read_pool(FRAME.lazy(), scores="score")
    assert len(ba.Pool(scores=FRAME["score"][:1_999])) == 1_999
    assert ba.scan_pool(FRAME.lazy(), scores="score").n_items == 2_000


def test_machines_that_do_not_say_what_they_have_read_everything(monkeypatch):
    monkeypatch.setattr(_memory, "memory", lambda: None)
    assert len(ba.Pool(scores=FRAME["score"])) == 2_000


@pytest.mark.parametrize("make", [lambda: FRAME.select("score").lazy(), lambda: duckdb.sql("SELECT 1 AS answer")])
def test_a_table_of_an_engine_is_no_array_and_is_sent_to_scan_pool(make):
    for name in ("scores", "predictions"):
        with pytest.raises(ba.PoolError, match=f"The {name} are a .*, whose rows are not in memory: .*ba.scan_pool"):
            ba.Pool(**{name: make()})


@pytest.mark.parametrize("name", ["*.parquet", "."])
def test_many_files_are_sent_to_scan_pool(name, tmp_path):
    with pytest.raises(ba.PoolError, match=re.escape("Many files are one table to ba.scan_pool(")):
        ba.read_pool(tmp_path / name)
