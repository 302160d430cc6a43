"""What replicated campaigns found: estimates, intervals, scores, and the labels that each design needs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float, Int

from bayes_assess.errors import BudgetError, QuestionError
from bayes_assess.models import BetaBernoulli
from bayes_assess.plots import label_curves
from bayes_assess.questions import GroupAccuracy
from bayes_assess.tables import Table

if TYPE_CHECKING:
    from matplotlib.axes import Axes


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
            raise QuestionError(f"{type(self.question).__name__} has no score {score!r}; it has {known}.")

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
