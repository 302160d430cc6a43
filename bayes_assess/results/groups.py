"""Answers with one value per group: accuracies, recalls and costs, their ranks, and who is probably the worst."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

import numpy as np

from bayes_assess._tools.shapes import Float, Int
from bayes_assess._tools.tables import Table
from bayes_assess._tools.text import plural
from bayes_assess._tools.to_arviz import ArvizData
from bayes_assess.errors import QuestionError
from bayes_assess.estimators.joint_draws import random_ranks
from bayes_assess.estimators.random_labels import random_labels
from bayes_assess.results import plots
from bayes_assess.results._answer import Shares
from bayes_assess.results._ranks import Ranks
from bayes_assess.results.evidence.groupwise import Groupwise
from bayes_assess.results.sections.costs import Costs
from bayes_assess.results.sections.groups import Accuracies, GroupSection
from bayes_assess.results.sections.recalls import Recalls

if TYPE_CHECKING:
    import typing_extensions
    from matplotlib.axes import Axes

    SectionT_co = typing_extensions.TypeVar("SectionT_co", bound=GroupSection, default=Accuracies, covariant=True)
else:
    SectionT_co = TypeVar("SectionT_co", covariant=True)


@dataclass(frozen=True, eq=False, repr=False)
class GroupwiseResult(Ranks[Groupwise]):
    """One value per group: estimates, intervals, ranks (1 is the worst) and probabilities.

    Attributes
    ----------
    groups : (G,) names
    estimate : (G,) floats
    interval : (G, 2) floats
    size, labelled : (G,) integers
        Items and labels.
    """

    @property
    def by(self) -> str:
        """What the groups are."""
        return self.cells.parts[0].description

    @property
    def size(self) -> Int[np.ndarray, " G"]:
        """Items of every group, (G,)."""
        return self.evidence.size

    @property
    def labelled(self) -> Int[np.ndarray, " G"]:
        """Labels of every group, (G,)."""
        return self.evidence.labelled

    @property
    def item_shares(self) -> Shares | None:
        """Posterior draws of accuracies; None of what is no share of items that labels show one by one."""
        return Shares(np.asarray(self.draws), self.labelled, self.size) if self.question.of_shares else None

    def _draw_ranks(self) -> Int[np.ndarray, "S J"]:
        """Rank every group with items in every draw; ties are broken at random."""
        filled = self.size > 0
        draws = np.asarray(self.draws)[:, filled]
        return random_ranks(draws if self.question.low_is_worst else -draws, self.seed)

    if TYPE_CHECKING:

        @cached_property
        def overall(self) -> tuple[float, Float[np.ndarray, " 2"]]:
            """Value over the whole pool: estimate and credible interval."""
            ...

    @property
    def labels_as_good(self) -> int | None:
        """Random labels that would have told the overall accuracy as well; None of what is no share."""
        if self.question.quantity != "accuracy":
            return None
        mean, ends = self.overall
        return int(random_labels(mean, float(np.diff(ends)[0]), int(self.size.sum()), self.level))

    @property
    def identified(self) -> np.ndarray:
        """Names of the m groups most probably among the extremes asked for; empty for other questions."""
        if not self.question.sign:
            return self.groups[:0]
        return self.groups[self._most_probable()]

    def table(self) -> Table:
        """Tabulate everything known of every group, the worst first.

        Examples
        --------
        >>> import bayes_assess as ba
        >>> ba.assess(ba.Pool(predictions=[0, 1]), ba.GroupAccuracy()).result().table().columns[:5]
        ('group', 'items', 'labelled', 'right', 'estimate')
        """
        columns = {
            "group": self.groups,
            "items": self.size,
            "labelled": self.labelled,
            **self._columns_of_labels(),
            "estimate": self.estimate,
            "lower": self.interval[:, 0],
            "upper": self.interval[:, 1],
            **self._more_columns(),
            "rank": self.rank,
            "rank_lower": self.rank_interval[:, 0],
            "rank_upper": self.rank_interval[:, 1],
            "p_worst": self.probability_worst,
            "p_best": self.probability_best,
        }
        name, probability = self._sought()
        columns.setdefault(name, probability)
        order = np.lexsort((self.estimate if self.question.low_is_worst else -self.estimate, self.size == 0))
        numbers = [name for name in columns if name != "group" and np.asarray(columns[name]).dtype.kind == "f"]
        formats = dict.fromkeys(numbers, ".3f") | {"rank": ".1f"}
        return Table(
            {name: np.asarray(column)[order] for name, column in columns.items()},
            title=f"{self.question.quantity.capitalize()} by {self.by}, {self._interval_label}s",
            formats=formats,
        )

    def plot(
        self,
        kind: str = "estimate",
        *,
        truth: Float[np.ndarray, " G"] | None = None,
        prior: bool = False,
        ax: Axes | None = None,
    ) -> Axes:
        """Draw every group's estimate, or rank, with its interval.

        Parameters
        ----------
        kind : {"estimate", "rank"}
        truth : (G,), optional
            Known values to mark, such as `question.truth(pool, labels)`.
        prior : bool
            Whether to mark the prior means, too.
        ax : matplotlib Axes, optional
            Where to draw; a new figure otherwise.
        """
        quantity = self.question.quantity
        if kind not in ("estimate", "rank", quantity):
            raise QuestionError(f"A result plots 'estimate' or 'rank'; found {kind!r}.")
        shown = np.flatnonzero(self.size > 0)
        if not self.question.low_is_worst:  # figures start with the worst group
            shown = shown[np.argsort(-self.estimate[shown], kind="stable")]
        names = [str(name) for name in self.groups[shown]]
        highlight = np.isin(self.groups, self.identified)[shown] if len(self.identified) else None
        title = f"by {self.by}: {self._progress()}"
        ends_are = f"{self._interval_label}s"
        sought: dict[str, Any] = {"highlight": highlight}
        sought["highlight_label"] = None if highlight is None else self._most()
        truth = None if truth is None else np.asarray(truth, np.float64)[shown]
        if kind == "rank":
            worst_first = 1 if self.question.low_is_worst else -1
            true_rank = None if truth is None else np.argsort(np.argsort(worst_first * truth)) + 1
            rank, ends = self.rank[shown], self.rank_interval[shown]
            sought |= {"title": f"Rank {title}", "xlabel": f"rank, {ends_are}"}
            return plots.rank_plot(names, rank, ends, truth=true_rank, **sought, ax=ax)
        return plots.forest(
            names,
            self.estimate[shown],
            self.interval[shown],
            prior=self._prior_estimate()[shown] if prior else None,
            truth=truth,
            sizes=self.labelled[shown],
            **sought,
            order="estimate" if self.question.low_is_worst else "given",
            xlabel=f"{quantity}, {ends_are}",
            title=f"{quantity.capitalize()} {title}",
            ax=ax,
        )

    def _answer(self) -> list[str]:
        mean, (low, high) = self.overall
        lines = [
            f"Overall {self.question.quantity} {mean:.3f}, {self.level:.0%} {self.guarantee} interval "
            f"[{low:.3f}, {high:.3f}]."
        ]
        if self.question.sign:
            return [*lines, self._extremes()]
        width = np.diff(self.interval[self.size > 0], axis=-1)
        return [
            *lines,
            f"{len(width)} groups by {self.by}; their intervals are {np.median(width):.3f} wide in the median and "
            f"{width.max():.3f} at most."
            if len(width) > 1
            else f"1 group by {self.by}; its interval is {width.max():.3f} wide.",
        ]

    def _prior_estimate(self) -> Float[np.ndarray, " G"]:
        """Compute what the estimate was before any label."""
        return self.question.estimate(self.cells, self.prior, self.evidence.nothing)

    def _columns_of_labels(self) -> dict[str, np.ndarray]:
        """Columns of what the labels alone show, beside which estimates stand."""
        return {}

    def _more_columns(self) -> dict[str, np.ndarray]:
        """Columns that only some results have."""
        return {}

    @property
    def sought_column(self) -> str:
        """Column of the table with the probability that answers the question."""
        return self._sought()[0]

    def _sought(self) -> tuple[str, Float[np.ndarray, " G"]]:
        """Probability that answers the question: its name in the table, and its values."""
        question = self.question
        if not question.sign:
            return "p_worst", self.probability_worst
        m = question.n_sought
        side = "worst" if (question.sign < 0) == question.low_is_worst else "best"
        probability = self.probability_among_worst(m) if side == "worst" else self.probability_among_best(m)
        return f"p_{side}" if m == 1 else f"p_among_{m}_{side}", probability

    def _most_probable(self) -> Int[np.ndarray, " m"]:
        _, probability = self._sought()
        # Several groups may share a probability of 1 or 0: the estimate decides between them.
        order = np.lexsort((self.question.sign * self.estimate, probability, self.size > 0))
        return order[::-1][: self.question.n_sought]

    def _extremes(self) -> str:
        found = self._most_probable()
        _, probability = self._sought()
        named = ", ".join(f"{self.groups[g]} ({self.estimate[g]:.3f}, probability {probability[g]:.2f})" for g in found)
        n_groups = int((self.size > 0).sum())
        return f"The {self._most()} of {plural(n_groups, 'group')}: {named}."

    def _most(self) -> str:
        """Say which groups are sought."""
        m = self.question.n_sought
        return f"{m} {self.question.adjective}" if m > 1 else self.question.adjective

    def _fill(self, values: np.ndarray) -> np.ndarray:
        """Spread values of the groups with items over all groups, 0 elsewhere."""
        out = np.zeros(len(self.groups), values.dtype)
        out[self.size > 0] = values
        return out


@dataclass(frozen=True, eq=False, repr=False)
class GroupResult(GroupwiseResult, Generic[SectionT_co]):
    """Accuracy, recall or cost of every group: estimates, intervals, ranks (1 is the worst) and probabilities.

    Attributes
    ----------
    groups : (G,) names
    estimate : (G,) floats
        Posterior mean accuracy of every group, or cost of an item; of recall expected found items over expected
        positive ones, or for ``target="population"`` the posterior mean.
    interval : (G, 2) floats
        Equal-tailed credible interval.
    level : float
        Posterior probability of the interval.
    guarantee : str
        ``"credible"``, or ``"exact"`` once everything is labelled; for recall, every group has positive items then.
    size, labelled : (G,) integers
        Items and labels.
    successes : (G,) integers
        Labels that agree with the prediction; of recall, of positive items that the system has found; not of costs.
    positives : (G,) integers
        Positive labels; of recall alone.
    labels_used : int
    design : str
    question : GroupAccuracy, GroupRecall, MostCostly, or a subclass
    prior, posterior : Belief
    section : Accuracies, Recalls or Costs
        What the question adds to the table.

    Examples
    --------
    >>> import bayes_assess as ba
    >>> pool = ba.Pool(predictions=["cat", "cat", "dog"])
    >>> a = ba.assess(pool, ba.GroupAccuracy())
    >>> queries = a.ask(3)
    >>> a.tell(queries.ids, ["cat", "cat", "cat"])
    >>> a.result().estimate.tolist(), a.result().guarantee
    ([1.0, 0.0], 'exact')
    """

    section: SectionT_co

    _of_parts: ClassVar[frozenset[str]] = GroupwiseResult._of_parts | {"successes", "positives"}

    @property
    def successes(self: GroupResult[Accuracies | Recalls]) -> Int[np.ndarray, " G"]:
        """Labels of every group that agree with the prediction; of recall, positive ones whose items were found."""
        return self.section.successes

    @property
    def positives(self: GroupResult[Recalls]) -> Int[np.ndarray, " G"]:
        """Positive labels of every group, (G,)."""
        return self.section.positives

    @cached_property
    def overall(self) -> tuple[float, Float[np.ndarray, " 2"]]:
        """Value over the whole pool: estimate and credible interval."""
        mean, draws = self.section.overall(self.estimate, self.draws)
        return mean, self.evidence.ends_of(draws, mean)

    def to_arviz(self) -> ArvizData:
        """Return posterior and prior draws, observed and constant data as an ArviZ object; see `section.to_arviz`."""
        return self.section.to_arviz(self.draws, self._attributes())

    def _columns_of_labels(self) -> dict[str, np.ndarray]:
        return self.section.columns()

    def _answer(self) -> list[str]:
        return [*super()._answer(), *self.section.lines()]

    def _of_the_prior(self) -> str | None:
        return self.section.of_the_prior(self.draws)

    def _if_skipped(self) -> list[str]:
        return self.section.if_skipped()


RecallResult = GroupResult[Recalls]
"""Recall of every group; to `isinstance`, any `GroupResult` is one."""
CostResult = GroupResult[Costs]
"""Mean cost of an item by predicted class; to `isinstance`, any `GroupResult` is one."""
