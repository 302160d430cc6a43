"""Seeds: what is drawn here is independent of what users draw with the same seed; answers, of choices."""

import itertools

import jax
import numpy as np
import pytest

import bayes_assess as ba
from bayes_assess._tools.seeds import generator, jax_key, sequence
from bayes_assess.models import HierarchicalAccuracy, HierarchicalCalibration, HierarchicalConfusion, PairedOutcomes

M = 20_000
MIXTURES = HierarchicalAccuracy, HierarchicalCalibration, HierarchicalConfusion


@pytest.mark.parametrize("n_classes", [1, 7])
@pytest.mark.parametrize("seed", range(3))
def test_noise_of_the_same_seed_is_uncorrelated_with_the_order_of_items(seed, n_classes):
    cells = ba.cells(ba.Pool(predictions=np.arange(M) % n_classes, classes=range(n_classes)), seed=seed)
    items = np.arange(M)
    place = cells.source.ranks_of(items) / cells.sizes[cells.source.cells_of(items)]
    for noise in (
        np.random.default_rng(seed).random(M),
        np.random.default_rng(seed).normal(size=M),
        np.random.default_rng(seed).permutation(M),
        np.random.default_rng(seed).integers(2, size=M),
        np.random.PCG64(seed).random_raw(M).astype(float),
        np.random.default_rng(seed).spawn(1)[0].random(M),
    ):
        assert abs(np.corrcoef(place, noise)[0, 1]) < 4.5 / np.sqrt(M)  # 4.5 standard errors


def test_a_user_who_draws_labels_with_our_seed_sees_his_rate_of_errors():
    wrong = np.random.default_rng(0).random(M) < 0.1
    a = ba.assess(ba.Pool(predictions=np.zeros(M, int), classes=[0, 1]), ba.GroupAccuracy(), design="random", seed=0)
    found = wrong[a.ask(200).ids].sum()
    assert abs(found - 20) < 4.5 * np.sqrt(200 * 0.1 * 0.9)


@pytest.mark.parametrize(
    "question",
    [
        ba.GroupAccuracy(),
        ba.ConfusionMatrix(),
        ba.MostCostly([[0, 1], [2, 0]]),
        ba.Calibration(bins=2),
        ba.Compare("a", "b", by="site"),
        ba.Compare("prediction", "old"),
    ],
    ids=lambda question: type(question).__name__,
)
def test_no_key_of_an_answer_is_the_key_of_a_query(question, monkeypatch):
    used = []

    def recorded(method):
        def sample(self, key, *args, **kwargs):
            if not isinstance(key, jax.core.Tracer):
                used.append(tuple(jax.random.key_data(key).tolist()))
            return method(self, key, *args, **kwargs)

        return sample

    for model, name in itertools.product((*MIXTURES, PairedOutcomes), ("sample", "pool_draws")):
        monkeypatch.setattr(model, name, recorded(getattr(model, name)))
    sites, old = np.array(["a", "b"])[np.arange(40) // 20], np.arange(40) // 3 % 2
    scores = np.linspace(0, 1, 40)
    pool = ba.Pool(predictions=np.arange(40) % 2, scores=scores, groups={"site": sites}, systems={"old": old})
    a = ba.assess(pool, question, seed=3)
    result = a.result()
    _ = getattr(result, "draws", None)
    queries = jax.vmap(jax.random.fold_in, (None, 0))(jax.random.key(3), np.arange(2000))
    taken = {tuple(row) for row in np.asarray(jax.random.key_data(queries)).tolist()}
    taken.add(tuple(jax.random.key_data(jax.random.key(3)).tolist()))
    assert used
    assert not taken & set(used)


def test_purposes_have_streams_of_their_own():
    streams = [generator(5, "order"), generator(5, "draws"), generator(6, "order"), np.random.default_rng(5)]
    assert len({stream.integers(2**63) for stream in streams}) == 4
    assert (
        sequence(2**80, "order").generate_state(2).tolist() != sequence(2**80 + 1, "order").generate_state(2).tolist()
    )
    keys = [jax_key(5, "draws"), jax_key(5, "other"), jax_key(2**40 + 5, "draws")]
    assert len({tuple(jax.random.key_data(key).tolist()) for key in keys}) == 3
