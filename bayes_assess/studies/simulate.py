"""Replicated campaigns: how many labels does each design need on this pool?"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from bayes_assess._tools.arrays import is_whole, show, unmasked, whole
from bayes_assess._tools.compiled_cache import keep_compiled, leave_room
from bayes_assess._tools.levels import checked_level
from bayes_assess._tools.progress import progress as in_steps
from bayes_assess._tools.seeds import checked_seed
from bayes_assess._tools.shapes import ArrayLike, Int
from bayes_assess.designs import Design, check_campaign, find_design
from bayes_assess.designs.ranked import RankedDesign, find_curve_design
from bayes_assess.designs.step import ENDLESS
from bayes_assess.errors import BudgetError, DesignError, QuestionError
from bayes_assess.models.belief import Belief
from bayes_assess.pool.pool import Pool, check_items
from bayes_assess.pool.ranked import RankedList
from bayes_assess.questions import Question
from bayes_assess.questions.asked import check_question
from bayes_assess.studies.compiled_campaigns import CompiledCampaigns
from bayes_assess.studies.multilabel_campaigns import MultilabelCampaigns
from bayes_assess.studies.numeric_campaigns import NumericCampaigns
from bayes_assess.studies.oracles import check_oracle, default_of_draws, expected_counts, label_probabilities
from bayes_assess.studies.ranked_campaigns import RankedCampaigns
from bayes_assess.studies.simulated import StudiedDesign
from bayes_assess.studies.study import Campaigns as Campaigns
from bayes_assess.studies.study import Study as Study

_OF_LABELS = {"classes": CompiledCampaigns, "sets": MultilabelCampaigns, "numbers": NumericCampaigns}
_DEFAULT_BUDGETS = 50
_MOST_COUNTS = 2_000_000_000  # 8 GB


def simulate(
    pool: Pool,
    labels: ArrayLike,
    question: Question,
    *,
    designs: Iterable[str | Design] | Mapping[str, str | Design | RankedDesign] | None = None,
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
    >>> study = ba.simulate(pool, labels, ba.LeastAccurate(), prior="uninformative", budgets=[30, 300], repeats=50)
    >>> study.estimates["thompson"].shape
    (50, 2, 3)
    """
    seed, level = checked_seed(seed), checked_level(level)
    check_items(pool, "simulate takes a Pool first, then the labels of all items")
    if isinstance(pool, RankedList):
        raise QuestionError(
            "simulate takes a Pool first, then the labels of all items; found RankedList. Pass pool = ranked.as_pool() "
            "and labels in the order of pool.ids, which is that of the ranks."
        )
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
        pool, codes = question.posed(pool, pool.complete_codes(labels))
    plans = _plans(designs, question, pool, codes, prior, prior_strength, seed, oracle)
    first_plan = next(iter(plans.values()))
    most = ENDLESS if first_plan.setting.stochastic and budgets is not None else first_plan.setting.n_playable
    looks, each = _looks(budgets, most, question.labels_each), question.labels_each
    if not is_whole(repeats):
        raise BudgetError(f"The number of repeats is a positive whole number; found {show(repeats)}.")
    if not is_whole(batch):
        raise BudgetError(f"A batch is a positive whole number of items; found {show(batch)}.")
    batch = -(-int(batch) // each)
    _check_memory(int(repeats) * len(looks) * sum(plan.n_recorded for plan in plans.values()))
    campaigns: dict[str, Campaigns] = {}
    keep_compiled()
    with in_steps("campaigns", len(plans) * int(repeats), wanted=progress) as advance:
        for name, plan in plans.items():
            twin = next((earlier for earlier in campaigns if plan.chooses_as(plans[earlier])), None)
            if twin is None:
                leave_room()
                kind = RankedCampaigns if plan.design.of_ranks else _OF_LABELS[pool.label_space.kind]
                simulated = kind(plan, pool, codes, question, looks, batch, seed, level)
                campaigns[name] = simulated.run(int(repeats), advance)
            else:
                campaigns[name] = replace(campaigns[twin], prior=plan.setting.prior)
                advance(int(repeats))
    return Study(question, first_plan.setting.cells, first_plan.full, looks * each, campaigns, level)


def _plans(designs, question, pool, codes, prior, prior_strength, seed, oracle) -> dict[str, StudiedDesign]:
    """Resolve every design's name, object and setting; designs with the same strata share their cells."""
    designs = question.default_designs_on(pool) if designs is None else designs
    if isinstance(designs, str) or not isinstance(designs, Iterable):
        designs = [designs]
    if not isinstance(designs, Mapping):
        designs = {design if isinstance(design, str) else repr(design): design for design in designs}
    plans, cut = {}, {}
    for name, plan in designs.items():
        if isinstance(plan, tuple) and len(plan) != 2:
            raise DesignError(f"Beside a name stands a design, or a design and its prior; found {show(plan)}.")
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
        plans[name] = StudiedDesign(design, setting, full)
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


def _looks(budgets: Sequence[int] | None, n_items: int, each: int) -> Int[np.ndarray, " B"]:
    """Return how many items are labelled at every budget, of which each takes so many labels."""
    if budgets is None:
        return _checked_budgets(None, n_items)
    labels = _checked_budgets(budgets, n_items * each)
    if (labels % each).any():
        raise BudgetError(f"Pairs take two labels each: budgets are even numbers; found {show(budgets)}.")
    return labels // each


def _checked_budgets(budgets: Sequence[int] | None, n_items: int) -> Int[np.ndarray, " B"]:
    if n_items < 1:
        raise BudgetError("No label can change the answer to this question on this pool: there is nothing to simulate.")
    if budgets is None:
        return np.unique(np.geomspace(min(10, n_items), n_items, _DEFAULT_BUDGETS).round().astype(np.int64))
    looks = np.atleast_1d(unmasked(budgets))
    looks = whole(looks) if looks.dtype.kind == "f" else looks
    if looks.ndim != 1 or not len(looks) or looks.dtype.kind not in "iu" or looks[0] < 1 or (np.diff(looks) <= 0).any():
        raise BudgetError(f"Budgets are increasing whole numbers of labels, at least 1; found {show(budgets)}.")
    if looks[-1] > n_items:
        raise BudgetError(
            f"The pool has {n_items:,} items for this question, fewer than the budget of {looks[-1]:,} labels."
        )
    return looks.astype(np.int64)
