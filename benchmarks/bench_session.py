"""One ask and tell on ten million items, and the speed of Beta draws.

A decision needs counts, not items: `ask(1)` and `tell` take less than two milliseconds after warm-up on 10^7 items in
512 cells, whatever the design. `assess` itself sorts the items once; its time is measured and its memory noted in the
column ``extra_info`` of a saved run (``--benchmark-json``), and printed with ``-s``.
"""

from __future__ import annotations

import tracemalloc

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import bayes_assess as ba
from bayes_assess.designs import ARMS, WEIGHTED

N_ITEMS = 10_000_000
N_CELLS = 512
TARGET = 2e-3  # seconds for one ask and one tell

QUESTIONS = {"GroupAccuracy": ba.GroupAccuracy, "LeastAccurate": ba.LeastAccurate}


@pytest.fixture(scope="module")
def pool():
    rng = np.random.default_rng(0)
    return ba.Pool(predictions=rng.integers(0, N_CELLS, N_ITEMS), confidence=rng.random(N_ITEMS))


@pytest.mark.benchmark(group="ask(1) and tell")
@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize("design", ARMS)
def test_ask_and_tell(benchmark, pool, question, design):
    assessment = ba.assess(pool, QUESTIONS[question](), design=design)
    rng = np.random.default_rng(1)

    def step():
        queries = assessment.ask(1)
        prediction = queries.predictions
        assessment.tell(queries.ids, np.where(rng.random(1) < 0.8, prediction, (prediction + 1) % N_CELLS))

    benchmark.pedantic(step, rounds=200, warmup_rounds=20)
    if benchmark.stats is not None:  # None when benchmarks are switched off
        assert benchmark.stats.stats.median < TARGET


@pytest.fixture(scope="module")
def rare():
    scores = np.random.default_rng(0).random(N_ITEMS) ** 8
    return ba.Pool(scores=scores, predictions=(scores > 0.9).astype(int))


@pytest.mark.benchmark(group="ask(1) and tell, F1")
@pytest.mark.parametrize("design", WEIGHTED)
def test_ask_and_tell_for_a_measure(benchmark, rare, design):
    assessment = ba.assess(rare, ba.Metric("f1"), design=design)
    rng = np.random.default_rng(1)

    def step():
        queries = assessment.ask(1)
        assessment.tell(queries.ids, (rng.random(1) < 0.1).astype(int))

    benchmark.pedantic(step, rounds=200, warmup_rounds=20)


@pytest.mark.benchmark(group="ask(100) and tell")
def test_ask_and_tell_batch(benchmark, pool):
    assessment = ba.assess(pool, ba.LeastAccurate())

    def step():
        queries = assessment.ask(100)
        assessment.tell(queries.ids, queries.predictions)

    benchmark.pedantic(step, rounds=20, warmup_rounds=3)


@pytest.mark.benchmark(group="assess")
@pytest.mark.parametrize("question", QUESTIONS)
def test_assess(benchmark, pool, question):
    tracemalloc.start()
    assessment = ba.assess(pool, QUESTIONS[question]())
    held, peak = (size / 2**20 for size in tracemalloc.get_traced_memory())
    tracemalloc.stop()
    benchmark.extra_info |= {"held_MiB": round(held), "peak_MiB": round(peak)}
    print(f"\nassess holds {held:.0f} MiB and needs {peak:.0f} MiB for {N_ITEMS:,} items")
    del assessment
    benchmark.pedantic(lambda: ba.assess(pool, QUESTIONS[question]()), rounds=3)


N_DRAWS, N_GROUPS = 1_000, 512


@pytest.fixture(scope="module")
def posterior():
    rng = np.random.default_rng(0)
    trials = rng.integers(0, 200, N_GROUPS)
    return ba.BetaBernoulli.from_prior(n_groups=N_GROUPS).update(rng.binomial(trials, 0.8), trials)


@pytest.mark.benchmark(group="512,000 Beta draws, 64 bits")
@pytest.mark.parametrize("sampler", ["bayes_assess", "numpy", "jax"])
def test_draws(benchmark, posterior, sampler):
    """The column of relative times gives the ratios."""
    a, b = np.asarray(posterior.a), np.asarray(posterior.b)
    key, rng = jax.random.key(0), np.random.default_rng(0)
    with jax.enable_x64(True):
        beta = jax.jit(lambda key, a, b: jax.random.beta(key, a, b, (N_DRAWS, N_GROUPS), jnp.float64))
        draw = {
            "bayes_assess": lambda: posterior.sample(key, N_DRAWS).block_until_ready(),
            "numpy": lambda: rng.beta(a, b, (N_DRAWS, N_GROUPS)),
            "jax": lambda: beta(key, a, b).block_until_ready(),
        }[sampler]
        theta = benchmark.pedantic(draw, rounds=10, warmup_rounds=1)
    if benchmark.stats is not None:
        benchmark.extra_info["draws_per_second"] = round(theta.size / benchmark.stats.stats.median)
    assert abs(np.asarray(theta).mean() - (a / (a + b)).mean()) < 1e-3
