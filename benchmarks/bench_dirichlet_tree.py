"""Cost of following the posterior of latent labels, one label at a time, inside compiled loops.

Run: ``taskset -c 0 python -m pytest -q -s benchmarks/bench_dirichlet_tree.py --benchmark-disable-gc``

256 blocks, two classes, binary tree of depth 8: every lane of a `vmap` draws a label per turn of a `fori_loop` and
takes one or two Newton steps. The figure printed is processor time per lane and label, in microseconds; it must not
depend on the number of items.
"""

from __future__ import annotations

import time
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from bayes_assess.models.dirichlet_tree import DirichletTree, Tree, fit_latent, latent_prior, refresh

N_BLOCKS, N_LABELS, LIMIT = 256, 200, 40.0  # microseconds


def campaign(n_lanes: int, n_items: int, n_steps: int):
    """Return the compiled loop and its arguments."""
    tree = Tree(N_BLOCKS)
    score = np.linspace(0, 1, N_BLOCKS) ** 3
    size = np.full(N_BLOCKS, n_items / N_BLOCKS)
    prior = DirichletTree.from_prior(tree=tree, mean_scores=np.stack([1 - score, score], axis=1))
    ready, start = latent_prior(prior), fit_latent(prior, np.zeros((N_BLOCKS, 2)), size)

    def lane(ready, start, size, key):
        key_block, key_label = jax.random.split(key)
        block = jax.random.randint(key_block, (N_LABELS,), 0, N_BLOCKS)
        label = (jax.random.uniform(key_label, (N_LABELS,)) < jnp.asarray(score)[block]).astype(int)

        def one_label(t, carry):
            latent, labelled, unlabelled = carry
            labelled, unlabelled = labelled.at[block[t], label[t]].add(1.0), unlabelled.at[block[t]].add(-1.0)
            return refresh(ready, labelled, unlabelled, latent, n_steps), labelled, unlabelled

        first = start, jnp.zeros((N_BLOCKS, 2)), size
        return jax.lax.fori_loop(0, N_LABELS, one_label, first)[0].theta

    lanes = jax.jit(jax.vmap(lane, in_axes=(None, None, None, 0)))
    keys = jax.random.split(jax.random.key(0), n_lanes)
    return partial(lanes, ready, jax.tree.map(jnp.asarray, start), jnp.asarray(size), keys)


@pytest.mark.parametrize(
    ("n_lanes", "n_items", "n_steps"), [(16, 700_000, 1), (64, 700_000, 1), (16, 700_000, 2), (16, 20_000, 2)]
)
def test_a_refresh_per_label_is_cheap_and_independent_of_the_pool(benchmark, n_lanes, n_items, n_steps):
    with jax.enable_x64(True):
        began = time.perf_counter()
        loop = campaign(n_lanes, n_items, n_steps)
        theta = np.asarray(loop())
        compiled, spent = time.perf_counter() - began, []

        def timed():
            began = time.process_time()
            jax.block_until_ready(loop())
            spent.append(time.process_time() - began)

        benchmark.pedantic(timed, rounds=10)
    assert np.isfinite(theta).all()
    micro = 1e6 * min(spent) / (n_lanes * N_LABELS)
    print(f"\n{n_lanes} lanes, {n_items} items, {n_steps} steps: {micro:.1f} us per lane and label ({compiled:.0f} s)")
    if benchmark.stats is not None:
        assert micro < LIMIT
