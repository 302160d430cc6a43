"""Ten million items become a pool and its cells; cells must take less than three seconds on two cores."""

from __future__ import annotations

import numpy as np
import pytest

import bayes_assess as ba
from bayes_assess.pool.cells import label_counts

N_ITEMS = 10_000_000
N_CELLS = 512


@pytest.fixture(scope="module")
def arrays():
    generator = np.random.default_rng(0)
    positive = generator.random(N_ITEMS, dtype=np.float32)
    return {
        "predictions": generator.integers(0, N_CELLS, N_ITEMS),
        "confidence": generator.random(N_ITEMS),
        "scores": np.stack([1 - positive, positive], axis=1),
    }


@pytest.fixture(scope="module")
def pool(arrays):
    return ba.Pool(predictions=arrays["predictions"], confidence=arrays["confidence"])


def test_pool_of_predictions(benchmark, arrays):
    pool = benchmark.pedantic(
        lambda: ba.Pool(predictions=arrays["predictions"], confidence=arrays["confidence"]), rounds=3, warmup_rounds=1
    )
    assert pool.n_classes == N_CELLS


def test_pool_of_scores(benchmark, arrays):
    pool = benchmark.pedantic(lambda: ba.Pool(scores=arrays["scores"]), rounds=3, warmup_rounds=1)
    assert pool.n_items == N_ITEMS


def test_fingerprint(benchmark, arrays):
    pools = (ba.Pool(scores=arrays["scores"]) for _ in range(4))
    benchmark.pedantic(lambda pool: pool.fingerprint(), setup=lambda: ((next(pools),), {}), rounds=3)


@pytest.mark.parametrize("by", ["prediction", ba.ScoreBins(N_CELLS, "weight")], ids=["prediction", "weight bins"])
def test_cells(benchmark, pool, by):
    cells = benchmark.pedantic(lambda: ba.cells(pool, by), rounds=3, warmup_rounds=1)
    assert cells.n_cells == N_CELLS
    if benchmark.stats is not None:  # None when benchmarks are switched off
        assert benchmark.stats.stats.min < 3


def test_label_counts(benchmark, pool):
    cells = ba.cells(pool)
    table = benchmark.pedantic(lambda: label_counts(cells, pool.predictions, N_CELLS), rounds=3)
    assert np.array_equal(np.diag(table), cells.sizes)
