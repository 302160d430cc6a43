"""What replicated campaigns found: estimates, intervals, scores, and the labels that each design needs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import numpy as np

from bayes_assess._tools.arrays import is_number, listing, show
from bayes_assess._tools.shapes import Float, Int
from bayes_assess._tools.tables import Table
from bayes_assess._tools.text import Rounded, plural
from bayes_assess.errors import BudgetError, QuestionError, UnknownColumnError
from bayes_assess.models.belief import Belief
from bayes_assess.pool.cells import Cells
from bayes_assess.questions import Question
from bayes_assess.results import plots

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_ROUNDING = 1e-14  # what is left of scores that are 0
_POWERS = {"mse": 2, "bias": 1, "error": 1}  # of the unit of what is measured, in scores
_ABBREVIATIONS = ("ece", "mrr", "mse", "rmse")


@dataclass(frozen=True, eq=False)
class Campaigns:
    """What the repeats of one design found at every budget.

    Attributes
    ----------
    record : (R, B, K, O) integers, or an Estimate whose arrays are (R, B, ...)
        What the design records: labels of every cell by outcome; estimates for designs that weigh draws.
    prior : pytree
    cells : Cells
    full : (K, O) integers
        Items of every cell by outcome.
    divergence : (R, B) floats, optional
        Of the proposals from the best ones, for designs that weigh draws.
    """

    record: Any
    prior: Belief
    cells: Cells
    full: Int[np.ndarray, "K O"]
    divergence: Float[np.ndarray, "R B"] | None = None

    @property
    def counts(self) -> Int[np.ndarray, "R B K O"]:
        """Labels of every cell by outcome, (R, B, K, O)."""
        return self.record

    @property
    def labelled(self) -> Int[np.ndarray, "R B K"]:
        """Labels of every cell, (R, B, K)."""
        return self.counts.sum(-1)

    @property
    def n_repeats(self) -> int:
        """Number of campaigns, R."""
        return len(self.record[0] if isinstance(self.record, tuple) else self.record)


@dataclass(frozen=True, eq=False)
class Study:
    """Replicated campaigns of several designs on one pool, made by `simulate`.

    Attributes
    ----------
    truth : array of the answer's shape
        Exact answer at full labels: (G,) for accuracies, costs and calibration errors of groups, (K, C) for a
        confusion matrix, a number for a comparison. Groups without items, as bins of a score that no item has, have
        none: they stand there as 0, and count for nothing in `scores` and `coverage`.
    full : (K, O) integers
        Items of every cell by outcome.
    budgets : (B,) integers
        Labels at which campaigns were looked at.
    estimates : mapping from design to (R, B, *answer) floats
    intervals : mapping from design to (R, B, *answer, 2) floats
    scores : mapping from design to a mapping from score to (R, B) floats
        Scores against the truth; their names are ``question.scores``. All three are computed on first use.

    Examples
    --------
    >>> import bayes_assess as ba
    >>> pool = ba.Pool(predictions=[0] * 100 + [1] * 100 + [2] * 100)
    >>> labels = [0] * 60 + [1] * 140 + [2] * 100
    >>> study = ba.simulate(pool, labels, ba.LeastAccurate(), prior="uninformative", budgets=[30, 300], repeats=50)
    >>> study.truth.tolist()
    [0.6, 1.0, 1.0]
    >>> float(study.scores["thompson"]["rmse"][:, -1].max())  # everything is labelled
    0.0
    """

    question: Question
    cells: Cells
    full: Int[np.ndarray, "K O"]
    budgets: Int[np.ndarray, " B"]
    campaigns: Mapping[str, Campaigns]
    level: float = 0.95

    @cached_property
    def truth(self) -> Float[np.ndarray, "..."]:
        """Exact answer at full labels."""
        return self.question.truth_of_counts(self.cells, self.full)

    @property
    def groups(self) -> np.ndarray:
        """Names of the groups, (G,)."""
        return self.question.groups(self.cells)

    @property
    def size(self) -> Int[np.ndarray, " K"]:
        """Items of every cell."""
        return self.cells.sizes

    @property
    def weight(self) -> Float[np.ndarray, " K"]:
        """Share of the pool in every cell."""
        return self.cells.weights

    @cached_property
    def estimates(self) -> Mapping[str, Float[np.ndarray, "R B ..."]]:
        """Estimates by design, (repeats, budgets, *answer)."""
        return _Lazy(self.campaigns, self.question.study_estimates)

    @cached_property
    def intervals(self) -> Mapping[str, Float[np.ndarray, "R B ... 2"]]:
        """Intervals by design, (repeats, budgets, *answer, 2)."""
        return _Lazy(self.campaigns, partial(self.question.study_intervals, level=self.level))

    @cached_property
    def design_intervals(self) -> Mapping[str, Float[np.ndarray, "R B ... 2"] | None]:
        """Intervals that lean on random items alone, by design, (repeats, budgets, *answer, 2), or None.

        They hold at all budgets at once with the probability `level`, whatever the scores, or the prior, are worth.
        """
        return _Lazy(self.campaigns, partial(self.question.study_design_intervals, level=self.level))

    @cached_property
    def scores(self) -> Mapping[str, Mapping[str, Float[np.ndarray, "R B"]]]:
        """Scores against the truth by design and name, (repeats, budgets)."""
        return _Lazy(self.campaigns, self.question.study_scores)

    @cached_property
    def coverage(self) -> Mapping[str, Float[np.ndarray, " B"]]:
        """Share of intervals that hold the truth, weighted by group, by design: (budgets,)."""
        return _Lazy(self.intervals, self._coverage)

    @cached_property
    def goals(self) -> Mapping[str, float]:
        """What scores are to reach unless somebody says: of means, and of errors of numbers, in units of the labels."""
        unit = self.question.unit_on(self.cells, self.truth)
        return {name: self.question.goals[name] * unit ** _POWERS.get(name, 0) for name in self.question.scores}

    def labels_to(self, score: str | None = None, value: float | None = None) -> dict[str, int | None]:
        """Labels until the mean score over campaigns reaches a value and stays there.

        Parameters
        ----------
        score : str, optional
            Name of a score; the question's first one by default.
        value : float, optional
            For ``"rmse"`` at most this, for ``"mrr"`` more than this; 0.05 and 0.99 by default, see `goals`.

        Returns
        -------
        Mapping from design to the smallest budget looked at, or None where the largest does not suffice.

        Examples
        --------
        >>> import bayes_assess as ba
        >>> pool = ba.Pool(predictions=[0] * 100 + [1] * 100 + [2] * 100)
        >>> labels = [0] * 60 + [1] * 140 + [2] * 100
        >>> study = ba.simulate(pool, labels, ba.LeastAccurate(), prior="uninformative", budgets=[30, 300], repeats=50)
        >>> study.labels_to("rmse", 1e-12)
        {'random': 300, 'thompson': 300}
        """
        score, reached = self._criterion(score, value)
        labels = {}
        for name, scores in self.scores.items():
            good = reached(scores[score].mean(0))
            stays = np.logical_and.accumulate(good[::-1])[::-1]
            labels[name] = int(self.budgets[np.argmax(stays)]) if stays.any() else None
        return labels

    def labels_each(self, score: str | None = None, value: float | None = None) -> dict[str, Float[np.ndarray, " R"]]:
        """Labels after which every single campaign first reaches a value of a score, as [ABA] counts in Tables 6, 7, 9.

        Parameters
        ----------
        score, value
            As for `labels_to`.

        Returns
        -------
        Mapping from design to (R,) budgets looked at; infinity where the largest does not suffice.

        Examples
        --------
        >>> import bayes_assess as ba
        >>> pool = ba.Pool(predictions=[0] * 100 + [1] * 100 + [2] * 100)
        >>> labels = [0] * 60 + [1] * 140 + [2] * 100
        >>> study = ba.simulate(pool, labels, ba.LeastAccurate(), prior="uninformative", budgets=[30, 300], repeats=50)
        >>> study.labels_each("rmse", 1e-12)["random"][:5].tolist()
        [300.0, 300.0, 300.0, 300.0, 300.0]
        """
        score, reached = self._criterion(score, value)
        labels = {}
        for name, scores in self.scores.items():
            good = reached(scores[score])
            labels[name] = np.where(good.any(1), self.budgets[good.argmax(1)], np.inf)
        return labels

    def table(self, budgets: int | Sequence[int] | None = None) -> Table:
        """Tabulate mean scores with standard errors (of several campaigns), one row per design and budget.

        Parameters
        ----------
        budgets : one or several integers, optional
            Some of the study's budgets; by default as many as make a short table.
        """
        chosen = self._chosen_budgets(budgets)
        columns: dict[str, list] = {"design": [], "labels": []}
        for name, scores in self.scores.items():
            columns["design"] += [name] * len(chosen)
            columns["labels"] += self.budgets[chosen].tolist()
            for score in self.question.scores:
                values = scores[score][:, chosen]
                several = len(values) > 1  # one campaign does not say how much others differ
                error = values.std(0, ddof=1) / np.sqrt(len(values)) if several else np.full(len(chosen), np.nan)
                for column, numbers in ((score, values.mean(0)), (f"{score}_se", error)):
                    columns.setdefault(column, []).extend(np.where(np.abs(numbers) < _ROUNDING, 0.0, numbers))
        unknown = [name for name, values in columns.items() if name != "design" and np.isnan(values).all()]
        columns = {
            name: values for name, values in columns.items() if {name, name.removesuffix("_se")}.isdisjoint(unknown)
        }
        formats = {name: Rounded(".4f") for name in columns if name not in ("design", "labels")}
        return Table(columns, title=f"{self.question.name}, {plural(self._n_repeats, 'campaign')}", formats=formats)

    def interval_table(self, budgets: int | Sequence[int] | None = None) -> Table:
        """Tabulate how often intervals hold the truth and how wide they are, one row per design and budget.

        Parameters
        ----------
        budgets : one or several integers, optional
            As of `table`.

        Examples
        --------
        >>> import bayes_assess as ba
        >>> pool = ba.Pool(predictions=[0] * 100 + [1] * 100 + [2] * 100)
        >>> labels = [0] * 60 + [1] * 140 + [2] * 100
        >>> study = ba.simulate(pool, labels, ba.LeastAccurate(), prior="uninformative", budgets=[30, 300], repeats=50)
        >>> study.interval_table(300)["coverage"].tolist(), study.interval_table(300)["width"].tolist()
        ([1.0, 1.0], [0.0, 0.0])
        """
        chosen = self._chosen_budgets(budgets)
        columns: dict[str, list] = {"design": [], "labels": [], "coverage": [], "width": []}
        for name, campaigns in self.campaigns.items():
            ends = self._intervals_at(campaigns, chosen)
            columns["design"] += [name] * len(chosen)
            columns["labels"] += self.budgets[chosen].tolist()
            columns["coverage"] += self._coverage(ends).tolist()
            columns["width"] += self._mean(ends[..., 1] - ends[..., 0]).tolist()
        formats = {"coverage": ".3f", "width": Rounded(".3f")}
        return Table(columns, title=f"{self.level:.0%} intervals: how often they hold the truth", formats=formats)

    def plot(self, score: str | None = None, *, logx: bool = False, logy: bool = False, ax: Axes | None = None) -> Axes:
        """Draw the mean score against labels, one line per design, with a band: its 95 % bootstrap interval.

        Parameters
        ----------
        score : str, optional
            One of the question's scores, by default the first.
        logx, logy : bool
            Whether labels, and the score, are on logarithmic axes.
        ax : matplotlib.axes.Axes, optional
        """
        score = self.question.scores[0] if score is None else score
        self._check_score(score)
        return plots.label_curves(
            self.budgets,
            {name: scores[score] for name, scores in self.scores.items()},
            ylabel=" ".join(word.upper() if word in _ABBREVIATIONS else word for word in score.split("_")),
            title=f"{self.question.name}: {plural(self._n_repeats, 'campaign')} on {int(self.size.sum()):,} items",
            logx=logx,
            logy=logy,
            ax=ax,
        )

    def __repr__(self) -> str:
        return repr(self.table())

    def _repr_html_(self) -> str:
        return self.table()._repr_html_()

    @property
    def _n_repeats(self) -> int:
        return next(iter(self.campaigns.values())).n_repeats

    def _coverage(self, interval: Float[np.ndarray, "R B ... 2"]) -> Float[np.ndarray, " B"]:
        slack = 1e-12  # (r + K) / n may differ from the truth in the last digit
        inside = (interval[..., 0] <= self.truth + slack) & (self.truth <= interval[..., 1] + slack)
        return self._mean(inside.astype(float))

    def _mean(self, values: Float[np.ndarray, "R B ..."]) -> Float[np.ndarray, " B"]:
        """Average over campaigns, and over the parts of the answer, groups by their sizes."""
        sizes = self.question.group_sizes(self.cells)
        if sizes is not None and self.truth.ndim and len(self.truth) == len(sizes):
            values = np.tensordot(values, sizes / sizes.sum(), axes=([2], [0]))
        return values.mean(axis=(0, *range(2, values.ndim)))

    def _intervals_at(self, campaigns: Campaigns, chosen: Int[np.ndarray, " b"]) -> Float[np.ndarray, "R b ... 2"]:
        """Return the intervals at some budgets; those of counts are not computed at others."""
        some = isinstance(campaigns.record, np.ndarray)
        campaigns = replace(campaigns, record=campaigns.record[:, chosen]) if some else campaigns
        ends = self.question.study_intervals(campaigns, level=self.level)
        return ends if some else ends[:, chosen]

    def _criterion(self, score: str | None, value: float | None) -> tuple[str, Callable[[np.ndarray], np.ndarray]]:
        """Resolve a score's name, and what it takes to reach a value of it."""
        score = self.question.scores[0] if score is None else score
        self._check_score(score)
        value = self.goals[score] if value is None else value
        if not is_number(value):
            raise QuestionError(f"The value that a score is to reach is a finite number; found {show(value)}.")
        if self.question.lower_is_better[score]:
            return score, lambda scores: np.abs(scores) <= value  # a bias has a sign
        return score, lambda scores: scores > value

    def _check_score(self, score: str) -> None:
        if score not in self.question.scores:
            known = ", ".join(repr(name) for name in self.question.scores)
            raise QuestionError(f"{self.question.name} has no score {score!r}; it has {known}.")

    def _chosen_budgets(self, budgets: int | Sequence[int] | None) -> np.ndarray:
        if budgets is None:
            n_shown = max(2, 18 // len(self.campaigns))
            return np.unique(np.linspace(0, len(self.budgets) - 1, n_shown).round().astype(int))
        wanted = np.atleast_1d(np.asarray(budgets))
        missing = np.setdiff1d(wanted, self.budgets)
        if len(missing):
            raise BudgetError(
                f"The study was not looked at with {listing(missing)} labels; it was with {listing(self.budgets)}."
            )
        return np.searchsorted(self.budgets, wanted)


_Source = TypeVar("_Source")
_Found = TypeVar("_Found")


class _Lazy(Mapping[str, _Found], Generic[_Source, _Found]):
    """A mapping whose values are computed when they are looked at, once."""

    def __init__(self, source: Mapping[str, _Source], compute: Callable[[_Source], _Found]):
        self._source, self._compute = source, compute
        self._done: dict[str, _Found] = {}

    def __getitem__(self, name: str) -> _Found:
        if name not in self._source:
            raise UnknownColumnError(f"The study has no design {show(name)}; it has {listing(list(self._source))}.")
        if name not in self._done:
            self._done[name] = self._compute(self._source[name])
        return self._done[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._source)

    def __len__(self) -> int:
        return len(self._source)

    def __repr__(self) -> str:
        def said(name: str) -> str:
            if name not in self._done:
                return "computed when looked at"
            value = self._done[name]
            if value is None:
                return "none"
            return ", ".join(value) if isinstance(value, Mapping) else f"array of shape {np.asarray(value).shape}"

        return "{" + ", ".join(f"{name!r}: <{said(name)}>" for name in self) + "}"
