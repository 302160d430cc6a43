"""What questions on groups add to a table of groups, and what accuracies add to it."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Hashable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from bayes_assess._tools.arrays import show
from bayes_assess._tools.shapes import Array, Bool, Float, Int
from bayes_assess._tools.tables import Table
from bayes_assess._tools.to_arviz import ArvizData
from bayes_assess.errors import QuestionError
from bayes_assess.results._learned import what_was_learned
from bayes_assess.results.evidence.groupwise import Groupwise
from bayes_assess.results.sections.section import Section

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True, eq=False, repr=False)
class GroupSection(Section):
    """What a question adds to a table of groups."""

    evidence: Groupwise

    @property
    def alone(self) -> bool:
        """Whether there is one group, all items, so that the answer is a number without ranks."""
        return False

    @property
    def valued(self) -> Bool[np.ndarray, " G"]:
        """Which groups have a value, as far as is known, (G,): those with items."""
        return self.evidence.size > 0

    @cached_property
    def overall(self) -> tuple[float, Float[np.ndarray, " 2"]]:
        """Value over the whole pool, groups weighted by their shares: estimate and credible interval."""
        weight = self.evidence.size / self.evidence.size.sum()
        mean = float(self.evidence.estimate @ weight)
        return mean, self.evidence.ends_of(self.draws @ weight, mean)

    def columns(self) -> dict[str, np.ndarray]:
        """Columns of what the labels alone show, beside which estimates stand."""
        return {}

    def more_columns(self) -> dict[str, Array]:
        """Columns beside the estimates."""
        return {}

    def table(self) -> Table | None:
        """Tabulate what stands in the place of the groups; None where these do."""
        return None

    def plot(
        self,
        kind: str | None,
        *,
        group: Hashable | None,
        truth: Float[np.ndarray, "..."] | None,
        prior: bool,
        asked: Bool[np.ndarray, " G"],
        asked_label: str | None,
        ax: Axes | None,
    ) -> Axes | None:
        """Draw what results draw of this question alone; None of the kinds that all results have."""
        if kind not in (None, "estimate", "rank", self.question.quantity):
            raise QuestionError(f"A result plots 'estimate' or 'rank'; found {kind!r}.")
        if group is not None:
            raise QuestionError(f"A figure of a single group is of calibration alone; found group={show(group)}.")
        return None

    def on_all(self) -> list[str]:
        """Say the value over the whole pool, a sentence per line."""
        mean, ends = self.overall
        return [f"Overall {self.question.quantity} {mean:.3f}{self.evidence.with_ends(ends)}."]

    def lines(self) -> list[str]:
        """Say what else there is to say, a sentence per line."""
        return []

    @abstractmethod
    def to_arviz(self, attributes: dict[str, object]) -> ArvizData:
        """Return posterior and prior draws, observed and constant data as an ArviZ object."""


class Accuracies(GroupSection):
    """Labels that agree with predictions."""

    @property
    def successes(self) -> Int[np.ndarray, " G"]:
        """Labels of every group that agree with the prediction, (G,)."""
        return self.evidence.counts[:, 1]

    def columns(self) -> dict[str, np.ndarray]:
        """Count the labels that agree."""
        return {"right": self.successes}

    def of_the_prior(self) -> str | None:
        """Say that labels contradict the prior, or how groups differ and how far scores can be trusted."""
        known = self.evidence
        learned = known.posterior, self.draws, known.size, known.cells.mean_score, known._tails()
        return known.contradiction() or what_was_learned(*learned)

    def if_skipped(self) -> list[str]:
        """Say what the overall accuracy would be if all items set aside were right, or all wrong, as labels tell it.

        A posterior that was given learns nothing of other items from that.
        """
        known = self.evidence
        if self.question.target != "pool" or known.skipped is None:
            return []
        answers = []
        for right in (True, False):
            supposed = known.supposing(np.outer(known.skipped, [not right, right]))
            answers.append(replace(self, evidence=supposed).overall)
        return [known._supposition("the overall accuracy", ("right", "wrong"), answers)]

    def to_arviz(self, attributes: dict[str, object]) -> ArvizData:
        """Return ``theta``, the accuracy of the population, and ``accuracy``, under the target of the question."""
        posterior, prior = self.evidence.thetas(len(self.draws))
        drawn = {"theta": posterior, "accuracy": self.evidence.in_target(posterior)}
        return self.evidence.to_arviz(drawn, {"theta": prior}, {"agreements": self.successes}, attributes)
