"""Replicated campaigns: how many labels does each design need on this pool?

Every campaign is the design's own step (`choose`, then `update`) in a compiled loop, vectorised over repeats.
Outcomes are drawn without replacement from the true label counts of the cells, which has the same distribution as
handing out items in random order.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from bayes_assess._tools.arrays import is_whole, show
from bayes_assess._tools.compiled_cache import keep_compiled
from bayes_assess._tools.lazy import jax, jit, jnp, lax
from bayes_assess._tools.levels import checked_level
from bayes_assess._tools.progress import progress as in_steps
from bayes_assess._tools.seeds import checked_seed
from bayes_assess._tools.shapes import Array, ArrayLike, Int
from bayes_assess.campaigns.asked import check_question
from bayes_assess.campaigns.multilabel_campaigns import LabelledPool, run_multilabel
from bayes_assess.campaigns.numeric_campaigns import estimated_numbers
from bayes_assess.campaigns.oracles import check_oracle, default_of_draws, expected_counts, label_probabilities
from bayes_assess.campaigns.ranked_campaigns import run_ranked
from bayes_assess.campaigns.study import Campaigns as Campaigns
from bayes_assess.campaigns.study import Study as Study
from bayes_assess.designs import Design, State, check_campaign, find_design
from bayes_assess.designs.ranked import find_curve_design
from bayes_assess.designs.step import (
    ENDLESS,
    RandomRounds,
    looked_at,
    one_label,
    one_random_round,
    start_campaign,
)
from bayes_assess.errors import BudgetError, DesignError
from bayes_assess.models.belief import Belief
from bayes_assess.pool.pool import Pool
from bayes_assess.pool.ranked import RankedList
from bayes_assess.questions import Question, Setting
from bayes_assess.questions._scoring import proposal_divergence
from bayes_assess.questions.metric import cells_table
from bayes_assess.questions.precision_curve import RankedRecord

_DEFAULT_BUDGETS = 50
# Campaigns that one compiled call runs side by side: enough to hide its overhead, few enough to stay in cache.
_LANE_CELLS = 8192
_ONE_BY_ONE = 10  # campaigns of a call that runs them one after another: little is kept before it is digested
_THREADS = os.cpu_count() or 2
_MOST_COUNTS = 2_000_000_000  # 8 GB


def simulate(
    pool: Pool,
    labels: ArrayLike,
    question: Question,
    *,
    designs: Iterable[str | Design] | Mapping[str, Any] | None = None,
    budgets: Sequence[int] | None = None,
    repeats: int = 1000,
    seed: int = 0,
    batch: int = 1,
    prior: str | Belief | None = None,
    prior_strength: float | None = None,
    level: float = 0.95,
    oracle: str = "deterministic",
    progress: bool | None = None,
) -> Study:
    """Run many campaigns of several designs on a pool whose labels are all known.

    Parameters
    ----------
    pool : Pool
    labels : (M,) class names
        The true label of every item. Classes that a pool of predictions alone did not declare are added. Of a
        multi-label pool the label sets, as `tell` takes them. Of a stochastic oracle p(y | x): probabilities (M, C) in
        the order of ``pool.classes``, or a function from a NumPy generator and (n,) row numbers to n labels.
    question : Question
    designs : names or Design objects, or a mapping, optional
        By default a random one and the question's own. A mapping gives each its own name, and may give it its own
        prior: ``{"flat": ("random", "uninformative")}``.
    budgets : increasing integers, optional
        Labels at which to look; 50 of them up to the whole pool by default, evenly spaced on the logarithmic scale.
    repeats : int
        Campaigns per design.
    seed : int
    batch : int
        Items that are asked for before any of their labels is told. A budget that a batch does not end at is looked
        at when its first labels have come, in the order of asking. Design ``"poisson"`` is made for one round of the
        whole budget, and serves rounds of any size. Of batches of random size, budgets are what campaigns are
        *expected* to have labelled, and batches expected sizes.
    prior, prior_strength
        As for `assess`.
    level : float
        Posterior probability of the intervals.
    oracle : {"deterministic", "stochastic"}
        As for `assess`. With a stochastic one there may be more labels than items. A function is asked for a number of
        labels of every item first; what it answered is then the oracle, and decides the truth.
    progress : bool, optional
        Whether to show how many campaigns are done; by default on a terminal's standard error and in notebooks.

    Returns
    -------
    Study

    Raises
    ------
    BudgetError
        If budgets do not increase or exceed the pool, or repeats or batch are no positive whole numbers.
    DesignError, LabelError, PriorError, QuestionError, PartitionError
        If an argument does not fit the pool.

    Examples
    --------
    >>> import bayes_assess as ba
    >>> pool = ba.Pool(predictions=[0] * 100 + [1] * 100 + [2] * 100)
    >>> labels = [0] * 60 + [1] * 140 + [2] * 100
    >>> study = ba.simulate(pool, labels, ba.LeastAccurate(), budgets=[30, 60, 300], repeats=50)
    >>> study.estimates["thompson"].shape
    (50, 3, 3)
    """
    seed, level = checked_seed(seed), checked_level(level)
    pool.check_in_memory("A simulated campaign needs the labels of all items")
    check_question(question)
    question = question.for_pool(pool)
    pool = question.labelled_pool(pool)
    if check_oracle(oracle, question):
        codes = label_probabilities(labels, pool, seed)
        designs = ("passive", default_of_draws(question, pool)) if designs is None else designs
    else:
        if not pool.classes_declared and not pool.multilabel:
            # All labels are known here, so classes that were never predicted need not be declared.
            pool = pool.with_classes(pool.label_space.including(labels))
        pool, codes = question.posed(pool, pool.label_space.complete_codes(labels, pool.n_items))
    plans = _plans(designs, question, pool, codes, prior, prior_strength, seed, oracle)
    one = next(iter(plans.values()))
    most = ENDLESS if one.setting.stochastic and budgets is not None else one.setting.n_playable
    looks, each = _looks(budgets, most, question.labels_each), question.labels_each
    if not is_whole(repeats):
        raise BudgetError(f"The number of repeats is a positive whole number; found {show(repeats)}.")
    if not is_whole(batch):
        raise BudgetError(f"A batch is a positive whole number of items; found {show(batch)}.")
    batch = -(-int(batch) // each)
    _check_memory(int(repeats) * len(looks) * sum(plan.n_recorded for plan in plans.values()))
    campaigns: dict[str, Campaigns] = {}
    asked: Any = question
    keep_compiled()
    with in_steps("campaigns", len(plans) * int(repeats), wanted=progress) as advance:
        for name, plan in plans.items():
            twin = next((other for other in campaigns if plan.chooses_as(plans[other])), None)
            if plan.design.of_ranks:
                found = _run_ranked(plan, pool, question, codes, looks, int(repeats), seed, level, advance)
                campaigns[name] = Campaigns(found, plan.setting.prior, plan.setting.cells, plan.full)
            elif question.multilabel:
                known = LabelledPool.of(pool, codes, asked)
                found = run_multilabel(known, plan.design, plan.setting, looks, int(repeats), int(batch), seed, advance)
                campaigns[name] = Campaigns(found, plan.setting.prior, plan.setting.cells, plan.full)
            elif twin is None:
                found = _run(plan, looks, int(repeats), int(batch), seed, level, advance)
                if question.numeric:
                    known: Any = pool
                    labels_of = known.label_space.names(codes)
                    found = estimated_numbers(known, labels_of, asked, plan.design, plan.setting, found, seed)
                campaigns[name] = found
            else:
                campaigns[name] = replace(campaigns[twin], prior=plan.setting.prior)
                advance(int(repeats))
    return Study(question, one.setting.cells, one.full, looks * each, campaigns, level)


@dataclass(frozen=True)
class _Plan:
    """A design in its setting."""

    design: Any
    setting: Setting
    full: Int[np.ndarray, "K O"]

    @property
    def counts(self) -> Int[np.ndarray, "K O"]:
        """Items that campaigns draw from, by outcome."""
        if self.setting.reward.asked_only:  # which knows of labels only that there are any
            return np.stack([self.setting.cells.sizes, 0 * self.setting.cells.sizes], axis=-1)
        return self.full

    @property
    def n_recorded(self) -> int:
        """Numbers kept of a campaign at a look."""
        if self.design.weighs:
            return 7 * len(cells_table(self.setting.cells).outputs)
        return self.full.size

    def chooses_as(self, other: _Plan) -> bool:
        """Whether campaigns of both label the same items: their beliefs differ, but have no say."""
        return (
            self.design == other.design
            and not getattr(self.design, "learns", True)
            and self.setting.cells is other.setting.cells
        )


def _plans(designs, question, pool, codes, prior, prior_strength, seed, oracle) -> dict[str, _Plan]:
    """Resolve every design's name, object and setting; designs with the same strata share their cells."""
    designs = question.default_designs_on(pool) if designs is None else designs
    if isinstance(designs, str | Design):
        designs = [designs]
    if not isinstance(designs, Mapping):
        designs = {design if isinstance(design, str) else repr(design): design for design in designs}
    plans, cut = {}, {}
    for name, plan in designs.items():
        design, own_prior = plan if isinstance(plan, tuple) else (plan, prior)
        if question.of_ranks:
            design = find_curve_design(design)
        else:
            design = find_design(design, question.n_sought, question.designs)
            check_campaign(design, oracle)
        strata = design.strata_of(pool)
        cells, full = cut.get(strata, (None, None))
        setting = question.setting(pool, seed, strata, own_prior, prior_strength, cells=cells)
        if oracle == "stochastic":
            setting = setting.of_draws()
            full = expected_counts(setting.cells, codes)
        if full is None:
            full = question.full_counts(pool, setting.cells, codes, setting.n_outcomes)
            cut[strata] = setting.cells, full
        plans[name] = _Plan(design, setting, full)
    if not plans:
        raise DesignError("simulate needs at least one design.")
    return plans


def _check_memory(n_counts: int) -> None:
    """Refuse studies whose counts of outcomes at all looks would not fit."""
    if n_counts > _MOST_COUNTS:
        raise BudgetError(
            f"The study would keep {n_counts:,} counts of outcomes, {4 * n_counts / 1e9:.0f} GB; look at fewer "
            "budgets, run fewer repeats, or one design at a time."
        )


def _run_ranked(plan, pool, question, codes, looks, repeats, seed, level, advance) -> RankedRecord:
    """Run all campaigns of a design of ranked lists."""
    ranked = RankedList.from_pool(pool, question.positive, seed)
    positive = codes[pool.positions(ranked.ids_at(np.arange(1, ranked.n_items + 1)))] == ranked.positive
    ranks = question.ranks(plan.setting.cells)
    return run_ranked(ranked, positive, question, plan.design, ranks, looks, repeats, seed, level, advance)


def _run(
    plan: _Plan,
    looks: np.ndarray,
    repeats: int,
    batch: int,
    seed: int,
    level: float,
    advance: Callable[[int], None],
) -> Campaigns:
    """Run all campaigns of one design, a few side by side in every thread."""
    design, setting, counts = plan.design, plan.setting, plan.counts
    most = _ONE_BY_ONE if design.one_by_one else int(np.clip(2 * _LANE_CELLS // counts.size, 4, 256))
    n_chunks = _THREADS * -(-repeats // (_THREADS * most))  # as many for every thread
    lanes = -(-repeats // n_chunks)
    keys = jax.random.split(jax.random.key(seed), n_chunks * lanes).reshape(n_chunks, lanes)
    with jax.enable_x64(True):
        state = design.init(*setting)
        true_counts, looks_ = jnp.asarray(counts), jnp.asarray(looks)

    def chunk(keys):
        with jax.enable_x64(True):
            record, far = jax.device_get(
                _campaigns(design, min(batch, int(looks[-1])), keys, state, true_counts, looks_)
            )
        record = design.digest(record, setting, seed, level)
        advance(lanes)
        return record, far

    with ThreadPoolExecutor(_THREADS) as threads:
        chunks = list(threads.map(chunk, keys))
    record, far = jax.tree.map(lambda *parts: np.concatenate(parts)[:repeats], *chunks)
    return Campaigns(record, setting.prior, setting.cells, counts, far)


@partial(jit, static_argnums=(0, 1))
def _campaigns(
    design: Design, batch: int, keys: Array, state: State, counts: Int[Array, "K O"], looks: Int[Array, " B"]
) -> Any:
    """Run one campaign per key; what `_kept` returns has leading axes (campaigns, looks)."""

    def of_random_rounds(key):
        keys, length = jax.random.split(key), design.longest(batch)

        def round_(look, carry):
            n = jnp.minimum(jnp.minimum(batch, look - carry.planned), carry.state.remaining.sum())
            return one_random_round(design, length, keys, carry, n)

        def until(carry, look):
            def open_(one):
                return (one.planned < look) & (one.state.remaining.sum() > 0)

            carry = lax.while_loop(open_, partial(round_, look), carry)._replace(planned=look)
            return carry, _kept(design, carry.state, carry.left)

        nothing = jnp.zeros((), jnp.int64)
        return lax.scan(until, RandomRounds(nothing, nothing, state, counts), looks)[1]

    def campaign(key):
        start = start_campaign(batch, jax.random.split(key), state, counts)

        def until(carry, look):
            carry = lax.fori_loop(carry.t, look, lambda _, carry: one_label(design, carry), carry)
            return carry, _kept(design, looked_at(design, carry), carry.left)

        return lax.scan(until, start, looks)[1]

    run = of_random_rounds if design.random_size else campaign
    return lax.map(run, keys) if design.one_by_one else jax.vmap(run)(keys)


def _kept(design: Design, state: State, left: Int[Array, "K O"]) -> tuple[Any, Array | None]:
    """Return what is kept of a campaign at a look, and how far its proposal is from the best one if it has any."""
    return design.record(state), proposal_divergence(state, left) if design.weighs else None


def _looks(budgets: Sequence[int] | None, n_items: int, each: int) -> Int[np.ndarray, " B"]:
    """Return how many items are labelled at every budget, of which each takes so many labels."""
    if budgets is None:
        return _checked_budgets(None, n_items)
    labels = _checked_budgets(budgets, n_items * each)
    if (labels % each).any():
        raise BudgetError(f"Pairs take two labels each: budgets are even numbers; found {show(budgets)}.")
    return labels // each


def _checked_budgets(budgets: Sequence[int] | None, n_items: int) -> Int[np.ndarray, " B"]:
    if budgets is None:
        return np.unique(np.geomspace(min(10, n_items), n_items, _DEFAULT_BUDGETS).round().astype(np.int64))
    looks = np.atleast_1d(np.asarray(budgets))
    if looks.ndim != 1 or not len(looks) or looks.dtype.kind not in "iu" or looks[0] < 1 or (np.diff(looks) <= 0).any():
        raise BudgetError(f"Budgets are increasing whole numbers of labels, at least 1; found {show(budgets)}.")
    if looks[-1] > n_items:
        raise BudgetError(
            f"The pool has {n_items:,} items for this question, fewer than the budget of {looks[-1]:,} labels."
        )
    return looks.astype(np.int64)
