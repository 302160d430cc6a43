"""The confusion matrix and its costs. Rows = PREDICTED class, columns = LABEL."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from bayes_assess._tools.arrays import is_whole, show
from bayes_assess._tools.seeds import jax_key
from bayes_assess._tools.shapes import Int
from bayes_assess._tools.tables import Table
from bayes_assess._tools.to_arviz import ArvizData, to_arviz
from bayes_assess.errors import QuestionError
from bayes_assess.models.belief import is_mixture, population_draws
from bayes_assess.questions import ConfusionMatrix
from bayes_assess.results import plots
from bayes_assess.results._base import Result
from bayes_assess.results.evidence.groupwise import Groupwise
from bayes_assess.results.groups import CostResult, GroupResult
from bayes_assess.results.sections.costs import Costs
from bayes_assess.results.sections.matrix import Matrix

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_ANNOTATED = 12  # classes up to which a figure has room for numbers


@dataclass(frozen=True, eq=False, repr=False)
class ConfusionResult(Result[Groupwise, Matrix]):
    """Shares of labels among the items of every predicted class.

    Attributes
    ----------
    estimate : (K, C) floats
        Posterior means; rows = predicted class, columns = label, rows sum to 1.
    interval : (K, C, 2) floats
        Equal-tailed credible interval of every entry.
    design_interval : (K, C, 2) floats
        Interval of every entry by itself that leans on random items alone, see `GroupResult`.
    classes : (C,) names
    size, labelled : (K,) integers
        Items and labels of every predicted class.

    Examples
    --------
    >>> import bayes_assess as ba
    >>> pool = ba.Pool(predictions=["cat", "cat", "dog"])
    >>> a = ba.assess(pool, ba.ConfusionMatrix(cost=[[0, 1], [5, 0]]))
    >>> a.tell([0, 1, 2], ["cat", "dog", "cat"])
    >>> a.result().cost.estimate.tolist()  # of an item predicted cat, of an item predicted dog
    [0.5, 5.0]
    """

    question: ConfusionMatrix

    @property
    def classes(self) -> np.ndarray:
        """Names of the classes, (C,)."""
        return self.cells.names

    @property
    def size(self) -> Int[np.ndarray, " K"]:
        """Items of every predicted class, (K,)."""
        return self.cells.sizes

    @property
    def labelled(self) -> Int[np.ndarray, " K"]:
        """Labels of every predicted class, (K,)."""
        return self.counts.sum(-1)

    @cached_property
    def cost(self) -> CostResult:
        """What an item of every predicted class costs, if the question has a cost matrix."""
        from bayes_assess.questions import MostCostly

        if self.question.cost_matrix is None:
            raise QuestionError("The question has no costs; ask ba.ConfusionMatrix(cost=...).")
        # Labels are counted by their costs, as if the costs alone had been asked for.
        question = MostCostly(self.question.cost_matrix, target=self.question.target)
        random = self.evidence.random
        evidence = Groupwise(
            question=question,
            prior=question.merged(self.prior),
            cells=self.cells,
            counts=question.merge(self.counts).astype(np.int64),
            level=self.level,
            design=self.design,
            volunteered=self.volunteered,
            withdrawn=self.evidence.withdrawn,
            seed=self.seed,
            random=None if random is None else random.merged(question.merge),
            is_given=self.evidence.is_given,
            known_alone=self.evidence.known_alone,
            # The hyperparameters of a mixture have learned from all labels, not from their costs alone.
            belief=question.merged(self.posterior) if self.belief or is_mixture(self.prior) else None,
        )
        return GroupResult(question, evidence, Costs(question, evidence))

    def table(self) -> Table:
        """Tabulate every pair of predicted class and label, the most frequent labels of a class first."""
        rows, columns = np.indices(self.estimate.shape)
        order = np.lexsort((-self.estimate.ravel(), rows.ravel()))
        return self._pairs(rows.ravel()[order], columns.ravel()[order])

    def confusions(self, n: int = 10) -> Table:
        """Tabulate the n most frequent errors: pairs of different classes with the most items in expectation.

        Examples
        --------
        >>> import bayes_assess as ba
        >>> pool = ba.Pool(predictions=["cat", "cat", "dog"])
        >>> ba.assess(pool, ba.ConfusionMatrix()).result().confusions(1)["label"].tolist()
        ['dog']
        """
        if not is_whole(n):
            raise QuestionError(f"The number of errors to tabulate is a whole number, 1 or more; found {show(n)}.")
        return self._pairs(*self._frequent(n))

    def _frequent(self, n: int) -> tuple[Int[np.ndarray, " n"], Int[np.ndarray, " n"]]:
        """Return the predictions and the labels of the n most frequent errors."""
        items = self.estimate * self.size[:, None]
        np.fill_diagonal(items, -1.0)
        order = np.argsort(-items.ravel(), kind="stable")[: min(int(n), items.size - len(items))]
        rows, columns = np.unravel_index(order, items.shape)
        return rows, columns

    def plot(self, *, ax: Axes | None = None) -> Axes:
        """Draw the matrix as a heat map."""
        shown = self.size > 0
        few = len(self.classes) <= _ANNOTATED
        return plots.confusion_matrix(
            self.estimate[shown],
            [str(name) for name in self.classes[shown]],
            [str(name) for name in self.classes],
            interval_width=np.diff(self.interval[shown], axis=-1)[..., 0] if few else None,
            sizes=self.labelled[shown],
            interval_label=self._interval_label,
            title=f"Share of labels by prediction: {self._progress()}",
            ax=ax,
        )

    def to_arviz(self) -> ArvizData:
        """Return posterior and prior draws, observed and constant data as an ArviZ object.

        ``theta`` is the confusion matrix of the population: dims ``prediction`` and ``true_label``.
        """
        prior = population_draws(self.prior, jax_key(self.seed + 1, "draws"), len(self.draws))
        return to_arviz(
            {"theta": self.draws},
            prior={"theta": prior},
            observed_data={"counts": self.counts},
            constant_data={"items": self.size},
            dims={name: ["prediction", "true_label"] for name in ("theta", "counts")} | {"items": ["prediction"]},
            coords={"prediction": self.classes, "true_label": self.classes},
            attrs=self._attributes(),
        )

    @property
    def _has_shown_errors(self) -> bool:
        """Whether a label was another class than predicted; true before any label and of a posterior that was given."""
        errors = self.counts.sum() - np.trace(self.counts)
        return errors > 0 or not self.labels_used or self.evidence.is_given or self.guarantee == "exact"

    def _answer(self) -> list[str]:
        diagonal = np.diagonal(self.estimate) @ self.cells.weights
        ends = self.evidence.ends_of(self.section.agreements @ self.cells.weights, diagonal)
        right = f"overall accuracy {diagonal:.3f}{self.evidence.with_ends(ends)}"
        lines = [f"Confusion matrix of {len(self.classes)} classes; {right}."]
        pairs = [(row, column, self.estimate[row, column]) for row, column in zip(*self._frequent(3), strict=True)]
        classes = self.classes
        named = ", ".join(
            f"{classes[label]} taken for {classes[predicted]} ({share:.3f})"
            for predicted, label, share in pairs
            if share * self.size[predicted] > 0
        )
        if not self._has_shown_errors:
            lines.append("No label has shown an error yet: which errors are the most frequent is open.")
        elif named:
            lines.append(f"Most frequent errors, as shares of their predicted class: {named}.")
        if self.question.cost_matrix is not None:
            mean, (low, high) = self.cost.overall
            ends = f", {self.level:.0%} interval [{low:.3f}, {high:.3f}]" if self.guarantee != "exact" else " (exact)"
            lines.append(f"An item costs {mean:.3f} on average{ends}.")
        return lines

    def _pairs(self, rows: np.ndarray, columns: np.ndarray) -> Table:
        interval = self.interval[rows, columns]
        return Table(
            {
                "predicted": self.classes[rows],
                "label": self.classes[columns],
                "items": self.size[rows],
                "labelled": self.labelled[rows],
                "count": self.counts[rows, columns],
                "estimate": self.estimate[rows, columns],
                "lower": interval[:, 0],
                "upper": interval[:, 1],
            },
            title=f"Share of labels by prediction, {self._intervals_of(self.size[rows])}",
            formats=dict.fromkeys(("estimate", "lower", "upper"), ".3f"),
        )
