"""Answers with one value per group: accuracies, recalls and costs, their ranks, and who is probably the worst."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
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
from bayes_assess.results.plots._drawing import checked_numbers
from bayes_assess.results.sections.calibration import CalibrationErrors
from bayes_assess.results.sections.costs import Costs
from bayes_assess.results.sections.groups import Accuracies, GroupSection
from bayes_assess.results.sections.recalls import Recalls

if TYPE_CHECKING:
    import typing_extensions
    from matplotlib.axes import Axes

    GroupSectionT_co = typing_extensions.TypeVar(
        "GroupSectionT_co", bound=GroupSection, default=Accuracies, covariant=True
    )
else:
    GroupSectionT_co = TypeVar("GroupSectionT_co", covariant=True)


@dataclass(frozen=True, eq=False, repr=False)
class GroupResult(Ranks[Groupwise, GroupSectionT_co], Generic[GroupSectionT_co]):
    """Accuracy, recall, cost or calibration error of every group: estimates, intervals, ranks (1 is the worst).

    Attributes
    ----------
    groups : (G,) names
    estimate : (G,) floats
        Posterior mean accuracy of every group, cost of an item, or expected calibration error, which is a number where
        there are no groups; of recall expected found items over expected positive ones, or for
        ``target="population"`` the posterior mean.
    interval : (G, 2) floats
        Equal-tailed credible interval.
    design_interval : (G, 2) floats
        Interval that leans on no prior and on no score: on items alone that were drawn at random within groups. It
        holds at all moments together, for each group by itself, whatever labels that did not come back would have
        shown.
    assumption : str
        What estimate and interval lean on.
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
    section : Accuracies, Recalls, Costs or CalibrationErrors
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

    _of_parts: ClassVar[frozenset[str]] = Ranks._of_parts | {
        *"successes positives bins confidence accuracy accuracy_interval gap probability_overconfident plug_in".split(),
        *"maximum_error maximum_error_interval group_accuracy group_accuracy_interval bins_table".split(),
    }

    @property
    def successes(self: GroupResult[Accuracies | Recalls]) -> Int[np.ndarray, " G"]:
        """Labels of every group that agree with the prediction; of recall, positive ones whose items were found."""
        return self.section.successes

    @property
    def positives(self: GroupResult[Recalls]) -> Int[np.ndarray, " G"]:
        """Positive labels of every group, (G,)."""
        return self.section.positives

    @property
    def bins(self: GroupResult[CalibrationErrors]) -> np.ndarray:
        """Names of the bins, (B,); this and what follows up to `bins_table` is of calibration."""
        return self.section.bins

    @property
    def confidence(self: GroupResult[CalibrationErrors]) -> Float[np.ndarray, "G B"]:
        """Mean confidence of every bin."""
        return self.section.confidence

    @property
    def accuracy(self: GroupResult[CalibrationErrors]) -> Float[np.ndarray, "G B"]:
        """Posterior mean accuracy of every bin."""
        return self.section.accuracy

    @property
    def accuracy_interval(self: GroupResult[CalibrationErrors]) -> Float[np.ndarray, "G B 2"]:
        """Equal-tailed credible interval of every bin's accuracy."""
        return self.section.accuracy_interval

    @property
    def gap(self: GroupResult[CalibrationErrors]) -> Float[np.ndarray, "G B"]:
        """Accuracy less confidence: negative where the system is over-confident."""
        return self.section.gap

    @property
    def probability_overconfident(self: GroupResult[CalibrationErrors]) -> Float[np.ndarray, "G B"]:
        """Posterior probability that a bin's accuracy is below its confidence; 0 for bins without items."""
        return self.section.probability_overconfident

    @property
    def plug_in(self: GroupResult[CalibrationErrors]) -> Float[np.ndarray, " G"]:
        """Calibration error of the posterior mean accuracies ([ABA]'s estimate), (G,), or a number."""
        return self.section.plug_in

    @property
    def maximum_error(self: GroupResult[CalibrationErrors]) -> Float[np.ndarray, " G"]:
        """Posterior mean of the maximum calibration error over bins with items, (G,)."""
        return self.section.maximum_error

    @property
    def maximum_error_interval(self: GroupResult[CalibrationErrors]) -> Float[np.ndarray, "G 2"]:
        """Equal-tailed credible interval of the maximum calibration error, (G, 2)."""
        return self.section.maximum_error_interval

    @property
    def group_accuracy(self: GroupResult[CalibrationErrors]) -> Float[np.ndarray, " G"]:
        """Posterior mean accuracy of every group, (G,)."""
        return self.section.group_accuracy

    @property
    def group_accuracy_interval(self: GroupResult[CalibrationErrors]) -> Float[np.ndarray, "G 2"]:
        """Equal-tailed credible interval of every group's accuracy, (G, 2)."""
        return self.section.group_accuracy_interval

    @property
    def bins_table(self: GroupResult[CalibrationErrors]):
        """Table of the bins of a group; see `CalibrationErrors.bins_table`."""
        return self.section.bins_table

    @property
    def by(self) -> str:
        """What the groups are."""
        return self.evidence.by

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
        if not self.question.of_shares:
            return None
        return Shares(np.asarray(self.draws), self.labelled, self.size, self.cells.source.cells_of)

    def _draw_ranks(self) -> Int[np.ndarray, "S J"]:
        """Rank every group with a value in every draw; ties are broken at random."""
        if self.section.alone:
            raise QuestionError("The calibration error of the whole pool has no ranks; ask that of groups, by=...")
        draws = np.asarray(self.draws)[:, self.section.valued]
        return random_ranks(draws if self.question.low_is_worst else -draws, self.seed)

    @property
    def overall(self) -> tuple[float, Float[np.ndarray, " 2"]]:
        """Value over the whole pool: estimate and credible interval."""
        return self.section.overall

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
        own = self.section.table()
        if own is not None:
            return own
        columns = {
            "group": self.groups,
            "items": self.size,
            "labelled": self.labelled,
            **self.section.columns(),
            "estimate": self.estimate,
            "lower": self.interval[:, 0],
            "upper": self.interval[:, 1],
            **self.section.more_columns(),
            "rank": self.rank,
            "rank_lower": self.rank_interval[:, 0],
            "rank_upper": self.rank_interval[:, 1],
            "p_worst": self.probability_worst,
            "p_best": self.probability_best,
        }
        name, probability = self._sought()
        columns.setdefault(name, probability)
        order = np.lexsort((self.estimate if self.question.low_is_worst else -self.estimate, ~self.section.valued))
        numbers = [name for name in columns if name != "group" and np.asarray(columns[name]).dtype.kind == "f"]
        formats = dict.fromkeys(numbers, ".3f") | {"rank": ".1f"}
        return Table(
            {name: np.asarray(column)[order] for name, column in columns.items()},
            title=f"{self.question.quantity.capitalize()} by {self.by}, {self._intervals_of(self.size)}",
            formats=formats,
        )

    def plot(
        self,
        kind: str | None = None,
        *,
        group: Hashable | None = None,
        truth: Float[np.ndarray, "..."] | None = None,
        prior: bool = False,
        ax: Axes | None = None,
    ) -> Axes:
        """Draw every group's estimate, or rank, with its interval; of calibration, bins or accuracies, too.

        Parameters
        ----------
        kind : {"estimate", "rank", "reliability", "scatter"}, optional
            The first by default. The last two are of calibration: bins of one group with the histogram of their scores,
            the default without groups; and every group's accuracy against its ECE, the default with groups.
        group : optional
            Name of the group for a reliability diagram; needed only if there are several.
        truth : array, optional
            Known values to mark, (G,), such as `question.truth(pool, labels)`; accuracies of the group's bins (B,) for
            reliability, accuracy and ECE (G, 2) for the scatter.
        prior : bool
            Whether to mark the prior means, too; not in the scatter.
        ax : matplotlib Axes, optional
            Where to draw; a new figure otherwise.
        """
        asked, label = np.isin(self.groups, self.identified), self._most() if len(self.identified) else None
        own = self.section.plot(kind, group=group, truth=truth, prior=prior, asked=asked, asked_label=label, ax=ax)
        if own is not None:
            return own
        quantity = self.question.quantity
        shown = np.flatnonzero(self.section.valued)
        if not self.question.low_is_worst:  # figures start with the worst group
            shown = shown[np.argsort(-self.estimate[shown], kind="stable")]
        names = [str(name) for name in self.groups[shown]]
        title = f"by {self.by}: {self._progress()}"
        ends_are = f"{self._interval_label}s"
        sought: dict[str, Any] = {"highlight": asked[shown] if asked.any() else None, "highlight_label": label}
        truth = None if truth is None else checked_numbers("truth", truth, self.size.shape)[shown]
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

    def to_arviz(self) -> ArvizData:
        """Return posterior and prior draws, observed and constant data as an ArviZ object; see `section.to_arviz`."""
        return self.section.to_arviz(self._attributes())

    @property
    def headline(self) -> str:
        """The answer as one sentence: the groups that are sought, if any are."""
        return self._extremes() if self.question.sign else super().headline

    def _answer(self) -> list[str]:
        return [*self.section.on_all(), *([] if self.section.alone else self._on_groups()), *self.section.lines()]

    def _on_groups(self) -> list[str]:
        if self.question.sign:
            return [self._extremes()]
        width, several = np.diff(self.interval[self.size > 0], axis=-1), int((self.size > 0).sum()) > 1
        groups = f"{plural(len(width), 'group')} by {self.by}"
        if self.guarantee == "exact":
            return [f"{groups}{', all of them exact' if several else ', exact'}."]
        said = (
            f"{groups}; their intervals are {np.median(width):.3f} wide in the median and {width.max():.3f} at most"
            if several
            else f"{groups}; its interval is {width.max():.3f} wide"
        )
        return [f"{said}{self._by_random_labels(several)}."]

    def _by_random_labels(self, several: bool) -> str:
        """Say how wide intervals are that lean on nothing, the end of a sentence; nothing where there are none."""
        ends = self.evidence.by_random_labels
        if ends is None:
            return ""
        width = np.diff(ends[self.size > 0], axis=-1)
        widths = f"{np.median(width):.3f} and {width.max():.3f}" if several else f"{width.max():.3f}"
        return f"; by {'their' if several else 'its'} own random labels alone, {widths}"

    def _prior_estimate(self) -> Float[np.ndarray, " G"]:
        """Compute what the estimate was before any label."""
        return self.question.estimate(self.cells, self.prior, self.evidence.nothing)

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

    @property
    def _n_found(self) -> int:
        """Groups that are sought, or as many of them as have a value."""
        return min(self.question.n_sought, int(self.section.valued.sum()))

    def _most_probable(self) -> Int[np.ndarray, " m"]:
        _, probability = self._sought()
        # Several groups may share a probability of 1 or 0: the estimate decides between them.
        order = np.lexsort((self.question.sign * self.estimate, probability, self.section.valued))
        return order[::-1][: self._n_found]

    def _extremes(self) -> str:
        places = self._most_probable()
        _, probability = self._sought()
        equal = self._equal_to(places)
        sure = [f", probability {chance:.2f}" for chance in probability[places]] if not equal else [""] * len(places)
        named = ", ".join(f"{self.groups[g]} ({self.estimate[g]:.3f}{p})" for g, p in zip(places, sure, strict=True))
        n_groups = int((self.size > 0).sum())
        return f"The {self._most()} of {plural(n_groups, 'group')}: {named}{equal}{self.evidence.before_labels}."

    def _equal_to(self, found: Int[np.ndarray, " m"]) -> str:
        """Name the groups that are no less extreme than the last of those found, once everything is labelled."""
        last = found[-1]
        ties = self.section.valued & np.isclose(self.estimate, self.estimate[last], rtol=1e-12, atol=1e-12)
        names = [str(self.groups[g]) for g in np.flatnonzero(ties) if g not in found]
        if self.guarantee != "exact" or not names:
            return ""
        many = f" and {len(names) - 3:,} more" if len(names) > 3 else ""
        return f"; {', '.join(names[:3])}{many} {'are' if len(names) > 1 else 'is'} equal to {self.groups[last]}"

    def _most(self) -> str:
        """Say which groups are sought."""
        m = self._n_found
        return f"{m} {self.question.adjective}" if m > 1 else self.question.adjective

    def _fill(self, values: np.ndarray) -> np.ndarray:
        """Spread values of the groups that have one over all groups, 0 elsewhere."""
        out = np.zeros(len(self.groups), values.dtype)
        out[self.section.valued] = values
        return out


RecallResult = GroupResult[Recalls]
"""Recall of every group; to `isinstance`, any `GroupResult` is one."""
CostResult = GroupResult[Costs]
"""Mean cost of an item by predicted class; to `isinstance`, any `GroupResult` is one."""
CalibrationResult = GroupResult[CalibrationErrors]
"""Calibration errors, of all items or of every group; to `isinstance`, any `GroupResult` is one."""
