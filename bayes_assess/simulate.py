"""Replicated campaigns: how many labels does each design need on this pool?

Every campaign is the design's own step (`choose`, then `update`) in a compiled loop, vectorised over repeats.
Outcomes are drawn without replacement from the true label counts of the cells, which is the same law as handing out
items in random order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Float, Int, Key

from bayes_assess.cells import label_counts
from bayes_assess.designs import CellState, Design, find_design
from bayes_assess.errors import BudgetError, DesignError, LabelError
from bayes_assess.models import BetaBernoulli
from bayes_assess.plots import label_curves
from bayes_assess.pool import Pool
from bayes_assess.questions import GroupAccuracy
from bayes_assess.tables import Table

if TYPE_CHECKING:
    from matplotlib.axes import Axes

DEFAULT_DESIGNS = ("random", "thompson")
_DEFAULT_BUDGETS = 50
# Campaigns that one compiled call runs side by side: enough to hide its overhead, few enough to stay in cache.
_LANE_CELLS = 8192
_THREADS = 2


@dataclass(frozen=True, eq=False)
class Campaigns:
    """What the repeats of one design found at every budget.

    Attributes
    ----------
    counts : (R, B, K, O) integers
        Labels of every cell by outcome.
    """

    counts: Int[np.ndarray, "R B K O"]
    prior: BetaBernoulli

    @property
    def labelled(self) -> Int[np.ndarray, "R B K"]:
        """Labels of every cell, (R, B, K)."""
        return self.counts.sum(-1)


@dataclass(frozen=True, eq=False)
class Study:
    """Replicated campaigns of several designs on one pool, made by `simulate`.

    Attributes
    ----------
    truth : (K,) floats
        Exact answer at full labels.
    budgets : (B,) integers
        Labels at which campaigns were looked at.
    estimates : mapping from design to (R, B, K) floats
    intervals : mapping from design to (R, B, K, 2) floats
        Computed on first use.
    scores : mapping from design to a mapping from score to (R, B) floats
        Scores against the truth: ``"rmse"``, and ``"mrr"`` where extremes are sought.

    Examples
    --------
    >>> import bayes_assess as ba
    >>> pool = ba.Pool(predictions=[0] * 50 + [1] * 50)
    >>> labels = [0] * 40 + [1] * 60
    >>> study = ba.simulate(pool, labels, ba.GroupAccuracy(), budgets=[10, 100], repeats=20)
    >>> study.truth.tolist()
    [0.8, 1.0]
    >>> float(study.scores["thompson"]["rmse"][:, -1].max())  # everything is labelled
    0.0
    """

    question: GroupAccuracy
    groups: np.ndarray
    size: Int[np.ndarray, " K"]
    truth: Float[np.ndarray, " K"]
    budgets: Int[np.ndarray, " B"]
    campaigns: Mapping[str, Campaigns]
    level: float = 0.95

    @property
    def weight(self) -> Float[np.ndarray, " K"]:
        """Share of the pool in every cell."""
        return self.size / self.size.sum()

    @cached_property
    def estimates(self) -> Mapping[str, Float[np.ndarray, "R B K"]]:
        """Estimates by design, (repeats, budgets, groups)."""
        estimate = self.question.estimate
        return {name: estimate(c.prior, c.counts, self.size) for name, c in self.campaigns.items()}

    @cached_property
    def intervals(self) -> Mapping[str, Float[np.ndarray, "R B K 2"]]:
        """Intervals by design, (repeats, budgets, groups, 2); each design's are computed when looked at."""
        return _Lazy(self.campaigns, lambda c: self._interval(c))

    @cached_property
    def scores(self) -> Mapping[str, Mapping[str, Float[np.ndarray, "R B"]]]:
        """Scores against the truth by design and name, (repeats, budgets)."""
        return {name: self.question.evaluate(e, self.truth, self.weight) for name, e in self.estimates.items()}

    @cached_property
    def coverage(self) -> Mapping[str, Float[np.ndarray, " B"]]:
        """Share of intervals that hold the truth, weighted by group, by design: (budgets,)."""
        return _Lazy(self.campaigns, lambda c: self._coverage(self._interval(c)))

    def labels_to(self, score: str | None = None, value: float | None = None) -> dict[str, int | None]:
        """Labels until the mean score over campaigns reaches a value and stays there.

        Parameters
        ----------
        score : str, optional
            Name of a score; the question's first one by default.
        value : float, optional
            For ``"rmse"`` at most this, for ``"mrr"`` more than this; 0.05 and 0.99 by default.

        Returns
        -------
        Mapping from design to the smallest budget looked at, or None where the largest does not suffice.

        Examples
        --------
        >>> import bayes_assess as ba
        >>> pool = ba.Pool(predictions=[0] * 100 + [1] * 100)
        >>> study = ba.simulate(pool, [0] * 130 + [1] * 70, ba.LeastAccurate(), budgets=[20, 200], repeats=5)
        >>> study.labels_to("rmse", 1e-12)
        {'random': 200, 'thompson': 200}
        """
        score = self.question.scores[0] if score is None else score
        self._check_score(score)
        lower = self.question.lower_is_better[score]
        value = (0.05 if lower else 0.99) if value is None else value
        found = {}
        for name, scores in self.scores.items():
            mean = scores[score].mean(0)
            good = mean <= value if lower else mean > value
            stays = np.logical_and.accumulate(good[::-1])[::-1]
            found[name] = int(self.budgets[np.argmax(stays)]) if stays.any() else None
        return found

    def table(self, budgets: Sequence[int] | None = None) -> Table:
        """Tabulate mean scores with standard errors, one row per design and budget.

        Parameters
        ----------
        budgets : integers, optional
            Some of the study's budgets; by default as many as make a short table.
        """
        chosen = self._chosen_budgets(budgets)
        columns: dict[str, list] = {"design": [], "labels": []}
        for name, scores in self.scores.items():
            columns["design"] += [name] * len(chosen)
            columns["labels"] += self.budgets[chosen].tolist()
            for score in self.question.scores:
                values = scores[score][:, chosen]
                error = values.std(0, ddof=1) / np.sqrt(len(values)) if len(values) > 1 else np.zeros(len(chosen))
                columns.setdefault(score, []).extend(values.mean(0))
                columns.setdefault(f"{score}_se", []).extend(error)
        formats = {name: ".4f" for name in columns if name not in ("design", "labels")}
        return Table(columns, title=f"{type(self.question).__name__}, {self._n_repeats} campaigns", formats=formats)

    def plot(self, score: str | None = None, *, ax: Axes | None = None) -> Axes:
        """Draw the mean score against labels, one line per design, with a band of two standard errors."""
        score = self.question.scores[0] if score is None else score
        self._check_score(score)
        return label_curves(
            self.budgets,
            {name: scores[score] for name, scores in self.scores.items()},
            ylabel=score.upper(),
            title=f"{type(self.question).__name__}: {self._n_repeats} campaigns on {int(self.size.sum()):,} items",
            ax=ax,
        )

    def __repr__(self) -> str:
        return repr(self.table())

    def _repr_html_(self) -> str:
        return self.table()._repr_html_()

    @property
    def _n_repeats(self) -> int:
        return len(next(iter(self.campaigns.values())).counts)

    def _interval(self, c: Campaigns) -> Float[np.ndarray, "R B K 2"]:
        return self.question.interval(c.prior, c.counts, self.size, self.level)

    def _coverage(self, interval: Float[np.ndarray, "R B K 2"]) -> Float[np.ndarray, " B"]:
        slack = 1e-12  # (r + K) / n may differ from the truth in the last digit
        inside = (interval[..., 0] <= self.truth + slack) & (self.truth <= interval[..., 1] + slack)
        return (inside @ self.weight).mean(0)

    def _check_score(self, score: str) -> None:
        if score not in self.question.scores:
            known = ", ".join(repr(name) for name in self.question.scores)
            raise LabelError(f"{type(self.question).__name__} has no score {score!r}; it has {known}.")

    def _chosen_budgets(self, budgets: Sequence[int] | None) -> np.ndarray:
        if budgets is None:
            n_shown = max(2, 18 // len(self.campaigns))
            return np.unique(np.linspace(0, len(self.budgets) - 1, n_shown).round().astype(int))
        missing = np.setdiff1d(budgets, self.budgets)
        if len(missing):
            raise BudgetError(f"The study was not looked at with {missing.tolist()} labels.")
        return np.searchsorted(self.budgets, budgets)


class _Lazy(Mapping):
    """A mapping whose values are computed when they are looked at, once."""

    def __init__(self, source: Mapping[str, Any], compute: Callable[[Any], Any]):
        self._source, self._compute, self._done = source, compute, {}

    def __getitem__(self, name: str) -> Any:
        if name not in self._done:
            self._done[name] = self._compute(self._source[name])
        return self._done[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._source)

    def __len__(self) -> int:
        return len(self._source)


def simulate(
    pool: Pool,
    labels: Any,
    question: GroupAccuracy,
    *,
    designs: Iterable[str | Design] | Mapping[str, Any] = DEFAULT_DESIGNS,
    budgets: Sequence[int] | None = None,
    repeats: int = 1000,
    seed: int = 0,
    prior: str | BetaBernoulli | None = None,
    prior_strength: float | None = None,
    level: float = 0.95,
    progress: bool = False,
) -> Study:
    """Run many campaigns of several designs on a pool whose labels are all known.

    Parameters
    ----------
    pool : Pool
    labels : (M,) class names
        The true label of every item. Classes that a pool of predictions alone did not declare are added.
    question : GroupAccuracy, LeastAccurate or MostAccurate
    designs : names or Design objects, or a mapping
        A mapping gives each its own name, and may give it its own prior: ``{"flat": ("random", "uninformative")}``.
    budgets : increasing integers, optional
        Labels at which to look; 50 of them up to the whole pool by default, evenly spaced on the logarithmic scale.
    repeats : int
        Campaigns per design.
    seed : int
    prior, prior_strength
        As for `assess`.
    level : float
        Posterior probability of the intervals.
    progress : bool
        Show a progress bar on the terminal's standard error.

    Returns
    -------
    Study

    Raises
    ------
    BudgetError
        If budgets do not increase, or exceed the pool.
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
    if not pool.classes_declared:
        # All labels are known here, so classes that were never predicted need not be declared.
        pool = pool.with_classes(np.union1d(pool.classes, np.asarray(labels)))
    codes = pool.label_codes(labels)
    if len(codes) != pool.n_items:
        raise LabelError(f"simulate needs the label of every item; found {len(codes)} labels, {pool.n_items} items.")
    cells = question.cells(pool, seed)
    question.check(cells)
    outcomes = question.outcomes(pool, np.arange(pool.n_items), codes)
    counts = label_counts(cells, outcomes, question.reward.n_outcomes)
    looks = _checked_budgets(budgets, pool.n_items)
    if isinstance(repeats, bool) or int(repeats) != repeats or repeats < 1:
        raise BudgetError(f"repeats is a positive whole number; found {repeats!r}.")
    plans = _plans(designs, question, cells, prior, prior_strength)
    with _progress_bar(progress, len(plans) * int(repeats)) as advance:
        campaigns = {
            name: _run(design, belief, cells, counts, question, looks, int(repeats), seed, advance)
            for name, (design, belief) in plans.items()
        }
    return Study(question, cells.names, cells.counts, question.truth_of_counts(counts), looks, campaigns, level)


def _plans(designs, question, cells, prior, prior_strength) -> dict[str, tuple[Design, BetaBernoulli]]:
    """Resolve every design's name, object and prior."""
    if isinstance(designs, str | Design):
        designs = [designs]
    if not isinstance(designs, Mapping):
        designs = {design if isinstance(design, str) else repr(design): design for design in designs}
    plans = {}
    for name, plan in designs.items():
        design, own_prior = plan if isinstance(plan, tuple) else (plan, prior)
        plans[name] = find_design(design, question.reward), question.prior(cells, own_prior, prior_strength)
    if not plans:
        raise DesignError("simulate needs at least one design.")
    return plans


def _run(design, prior, cells, counts, question, looks, repeats, seed, advance) -> Campaigns:
    """Run all campaigns of one design, a few side by side in each of two threads."""
    most = int(np.clip(_LANE_CELLS // cells.n_cells, 4, 256))
    n_chunks = _THREADS * -(-repeats // (_THREADS * most))  # as many for every thread
    lanes = -(-repeats // n_chunks)
    keys = jax.random.split(jax.random.key(seed), n_chunks * lanes).reshape(n_chunks, lanes)
    with jax.enable_x64(True):
        state = design.init(cells, prior, question.reward)
        counts, looks_ = jnp.asarray(counts), jnp.asarray(looks)

    def chunk(keys):
        with jax.enable_x64(True):
            found = jax.device_get(_campaigns(design, keys, state, counts, looks_))
        advance(lanes)
        return found

    with ThreadPoolExecutor(_THREADS) as threads:
        chunks = list(threads.map(chunk, keys))
    return Campaigns(np.concatenate(chunks)[:repeats], prior)


@partial(jax.jit, static_argnums=0)
def _campaigns(
    design: Design, keys: Array, state: CellState, counts: Int[Array, "K O"], looks: Int[Array, " B"]
) -> Int[Array, "L B K O"]:
    """Run one campaign per key, recording the counts at every look."""

    def campaign(key):
        keys = jax.random.split(key)

        def until(carry, look):
            carry = lax.fori_loop(carry[0], look, lambda t, c: (t + 1, *_step(design, keys, t, *c[1:])), carry)
            return carry, carry[1].counts.astype(jnp.int32)

        start = (jnp.zeros((), looks.dtype), state, counts)
        return lax.scan(until, start, looks)[1]

    return jax.vmap(campaign)(keys)


def _step(
    design: Design, keys: Key[Array, " 2"], t: Int[Array, ""], state: CellState, left: Int[Array, "K O"]
) -> tuple[CellState, Int[Array, "K O"]]:
    """Ask one item, as a session whose key is the first would, and tell its outcome.

    `left` counts the outcomes of every cell's unlabelled items.
    """
    key_choose, key_outcome = jax.vmap(jax.random.fold_in, (0, None))(keys, t)
    cell, _, state = design.choose(key_choose, state)
    upto = jnp.cumsum(left[cell])
    item = jax.random.randint(key_outcome, (), 0, upto[-1])
    outcome = (upto <= item).sum()
    return design.update(state, cell, outcome), left.at[cell, outcome].add(-1)


def _checked_budgets(budgets: Sequence[int] | None, n_items: int) -> Int[np.ndarray, " B"]:
    if budgets is None:
        return np.unique(np.geomspace(min(10, n_items), n_items, _DEFAULT_BUDGETS).round().astype(np.int64))
    looks = np.atleast_1d(np.asarray(budgets))
    if looks.ndim != 1 or not len(looks) or looks.dtype.kind not in "iu" or looks[0] < 1 or (np.diff(looks) <= 0).any():
        raise BudgetError(f"Budgets are increasing whole numbers of labels, at least 1; found {budgets!r}.")
    if looks[-1] > n_items:
        raise BudgetError(f"The pool has {n_items:,} items, fewer than the budget of {looks[-1]:,} labels.")
    return looks.astype(np.int64)


class _progress_bar:
    """A Rich progress bar that is silent unless wanted; calling it advances it."""

    def __init__(self, wanted: bool, total: int):
        self._wanted, self._total = wanted, total

    def __enter__(self) -> Callable[[int], None]:
        if not self._wanted:
            return lambda n: None
        from rich.console import Console
        from rich.progress import Progress

        self._bar = Progress(console=Console(stderr=True))
        self._bar.__enter__()
        task = self._bar.add_task("campaigns", total=self._total)
        return lambda n: self._bar.advance(task, n)

    def __exit__(self, *error) -> None:
        if self._wanted:
            self._bar.__exit__(*error)
