"""Small pools and hand-driven campaigns that several test modules use."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import jax
import numpy as np
import pytest

import bayes_assess as ba
from bayes_assess._tools import engine
from bayes_assess._tools.engine import xp
from bayes_assess._tools.pytrees import stacked
from bayes_assess.designs import Design, compiled_start
from bayes_assess.designs.step import looked_at, one_label, start_campaign
from bayes_assess.questions import Question
from bayes_assess.studies.compiled_campaigns import CompiledCampaigns


def made_pool(
    accuracies: list[float], sizes: list[int], *, scores: bool = True, seed: int = 0
) -> tuple[ba.Pool, np.ndarray]:
    """A pool with one group per class: exactly round(accuracy * size) of its items are predicted correctly."""
    rng = np.random.default_rng(seed)
    n_classes = len(accuracies)
    predictions = np.repeat(np.arange(n_classes), sizes)
    labels = np.concatenate(
        [
            np.where(np.arange(size) < round(accuracy * size), k, (k + 1) % n_classes)
            for k, (accuracy, size) in enumerate(zip(accuracies, sizes, strict=True))
        ]
    )
    confidence = None
    if scores:  # confidences that know the accuracy roughly, as real ones do
        center = np.repeat(accuracies, sizes) + rng.normal(0, 0.05, len(predictions))
        confidence = np.clip(center, 0.5 / n_classes, 0.99)
    shuffle = rng.permutation(len(predictions))
    pool = ba.Pool(
        predictions=predictions[shuffle],
        confidence=None if confidence is None else confidence[shuffle],
        classes=list(range(n_classes)),
    )
    return pool, labels[shuffle]


def like_20news(seed: int = 0) -> tuple[ba.Pool, np.ndarray]:
    """Twenty groups of some hundreds of items with accuracies from 0.6 to 0.95, as of a news classifier."""
    rng = np.random.default_rng(seed)
    return made_pool(rng.uniform(0.6, 0.95, 20).tolist(), rng.integers(250, 420, 20).tolist(), seed=seed)


def like_cifar10(seed: int = 0) -> tuple[ba.Pool, np.ndarray]:
    """Ten groups of about a thousand items with accuracies from 0.85 to 0.98, as of an image classifier."""
    rng = np.random.default_rng(seed)
    accuracies = [0.85, *np.linspace(0.9, 0.98, 9)]
    return made_pool(accuracies, rng.integers(900, 1100, 10).tolist(), seed=seed)


def _batches(n: int, most: int | None) -> list[int]:
    size = most or max(n, 1)
    return [min(size, n - first) for first in range(0, n, size)]


def labelled_sessions(
    pool: ba.Pool, labels: np.ndarray, question: Question | None = None, batch: int | None = None, **defaults: Any
):
    """Return what makes sessions that have asked for some items, and were told their labels.

    Parameters
    ----------
    pool : Pool
    labels : (M,)
        Of all items.
    question : Question, optional
    batch : int, optional
        The most items that are asked for at a time.
    **defaults
        Of `assess`.

    Returns
    -------
    callable
        Takes how many items to ask for, or the sizes of batches, and what is to differ: `question`, `pool`, `labels`,
        `batch`, and options of `assess`.
    """

    def told(
        n: int | Sequence[int],
        question: Question | None = question,
        *,
        pool: ba.Pool = pool,
        labels: np.ndarray = labels,
        batch: int | None = batch,
        **options: Any,
    ) -> ba.Assessment:
        a = ba.assess(pool, question, **defaults | options)
        for size in _batches(n, batch) if isinstance(n, int) else n:
            queries = a.ask(size)
            a.tell(queries.ids, labels[pool.positions(queries.ids)])
        return a

    return told


def cost_moments(alpha: np.ndarray, cost: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean and variance of the cost sum_j c_kj theta_kj of every row k of Dirichlet variables."""
    total = alpha.sum(-1)
    mean = (cost * alpha).sum(-1) / total
    return mean, (alpha * (cost - mean[:, None]) ** 2).sum(-1) / (total * (total + 1))


def start(design: Design, question: Question, pool: ba.Pool, prior: str | None = None, eager: bool = False):
    """Cells of a campaign and its state without labels, on one of the engines."""
    setting = question.setting(pool, 0, design.strata_of(pool), prior)
    if not eager:
        return setting.cells, compiled_start(design, *setting)
    with engine.eager():
        return setting.cells, design.init(*setting)


def run_campaign(
    design: Design,
    question: Question,
    pool: ba.Pool,
    labels: np.ndarray,
    n: int,
    key: jax.Array,
    batch: int = 1,
    prior: str | None = None,
    eager: bool = False,
):
    """Run one campaign as the simulator does; return cells and outcomes in the order told, and the last state.

    Items are chosen as by a session with that key. On NumPy the steps are the same, without the seconds of compiling.
    """
    cells, state = start(design, question, pool, prior, eager)
    left = question.full_counts(pool, cells, labels, state.counts.shape[1])
    with jax.enable_x64(True), engine.eager(eager):
        key = engine.random.as_key(key)  # of either engine, for which the same program is compiled
        keys = xp.stack([key, engine.random.fold_in(key, 123_456)])
        state, left = (state, left) if eager else jax.device_put((state, left))
        cells, outcomes, state = _play(design, int(n), batch, keys, state, left)
    return np.asarray(cells), np.asarray(outcomes), state


@partial(engine.jit, static_argnums=(0, 1, 2))
def _play(design, n, batch, keys, state, left):
    def step(campaign, _):
        place = campaign.t % batch
        campaign = one_label(design, campaign)
        return campaign, (campaign.steps.cell[place], campaign.steps.outcome[place])

    campaign, told = engine.scan(step, start_campaign(batch, keys, state, left), xp.arange(n))
    return *told, looked_at(design, campaign)


def play_on_numpy(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let simulated campaigns take their steps on NumPy: few are there long before a program is compiled.

    How far proposals are from the best one is left out.
    """

    def played(self, lot, advance):
        design, batch = self.plan.design, min(self.batch, int(self.looks[-1]))
        with engine.eager():
            begin = start_campaign(batch, (), design.init(*self.played_on.setting), self.played_on.counts)
            campaigns = [begin._replace(keys=[engine.random.as_key(key) for key in keys]) for keys in lot[0]]
            records = [stacked(list(_records(design, campaign, self.looks))) for campaign in campaigns]
        advance(len(records))
        return self.digested((stacked(records), None), ())

    monkeypatch.setattr(CompiledCampaigns, "played", played)


def _records(design, campaign, looks):
    for look in looks:
        while campaign.t < look:
            campaign = one_label(design, campaign)
        yield design.record(looked_at(design, campaign))


def same_session(
    design: Design,
    question: Question,
    pool: ba.Pool,
    cells: np.ndarray,
    outcomes: np.ndarray,
    batch: int,
    prior: str | None = None,
) -> ba.Assessment:
    """Take the steps of a simulated campaign in a session, batch by batch, each told in two parts.

    Its items must come from the cells of the campaign; they are told labels that lead to its outcomes.
    """
    a = ba.assess(pool, question, design=design, prior=prior, seed=0)
    every = np.arange(pool.n_classes)
    for first in range(0, len(cells), batch):
        queries = a.ask(min(batch, a.n_remaining))
        part = slice(first, min(first + batch, len(cells)))
        n = part.stop - first
        np.testing.assert_array_equal(queries.cells[:n], cells[part])
        items = pool.positions(queries.ids[:n])
        codes = np.array(
            [
                np.flatnonzero(question.outcomes(pool, np.full(len(every), item), every) == outcome)[0]
                for item, outcome in zip(items, outcomes[part], strict=True)
            ]
        )
        for some in (slice(0, n // 2), slice(n // 2, n)):
            a.tell(queries.ids[:n][some], pool.classes[codes[some]])
    return a
