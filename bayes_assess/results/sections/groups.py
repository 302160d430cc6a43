"""What questions on groups add to a table of groups, and what accuracies add to it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace

import numpy as np

from bayes_assess._tools.shapes import Float, Int
from bayes_assess._tools.to_arviz import ArvizData
from bayes_assess.questions import Question
from bayes_assess.results._learned import what_was_learned
from bayes_assess.results.evidence.groupwise import Groupwise


@dataclass(frozen=True, eq=False, repr=False)
class GroupSection(ABC):
    """What a question adds to a table of groups."""

    question: Question
    evidence: Groupwise

    def columns(self) -> dict[str, np.ndarray]:
        """Columns of what the labels alone show, beside which estimates stand."""
        return {}

    def overall(
        self, estimate: Float[np.ndarray, " G"], draws: Float[np.ndarray, "S G"]
    ) -> tuple[float, Float[np.ndarray, " S"]]:
        """Return the value over the whole pool and draws of it: groups are weighted by their shares."""
        weight = self.evidence.size / self.evidence.size.sum()
        return float(estimate @ weight), draws @ weight

    def lines(self) -> list[str]:
        """Say what else there is to say, a sentence per line."""
        return []

    @abstractmethod
    def of_the_prior(self, draws: Float[np.ndarray, "S G"]) -> str | None:
        """Say what the labels taught the prior, or that they contradict it; None where there is nothing to say."""

    def if_skipped(self) -> list[str]:
        """Say what the answer would be if all items set aside were of one kind, or of another."""
        return []

    @abstractmethod
    def to_arviz(self, draws: Float[np.ndarray, "S G"], attributes: dict[str, object]) -> ArvizData:
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

    def of_the_prior(self, draws: Float[np.ndarray, "S G"]) -> str | None:
        """Say that labels contradict the prior, or how groups differ and how far scores can be trusted."""
        known = self.evidence
        learned = known.posterior, draws, known.size, known.cells.mean_score, known._tails()
        return known.contradiction() or what_was_learned(*learned)

    def if_skipped(self) -> list[str]:
        """Say what the overall accuracy would be if all items set aside were right, or all wrong."""
        known = self.evidence
        if self.question.target != "pool":
            return []
        sizes = known.cells.sizes - known.skipped
        others = replace(known, cells=replace(known.cells, sizes=sizes), belief=known.posterior)
        draws, mean = others.draws(known.n_draws) @ sizes, others.estimate @ sizes
        n, total = known.n_skipped, known.cells.n_items
        found = [(float(mean + k) / total, known.ends_of((draws + k) / total, (mean + k) / total)) for k in (n, 0)]
        return [known._supposition("the overall accuracy", ("right", "wrong"), found)]

    def to_arviz(self, draws: Float[np.ndarray, "S G"], attributes: dict[str, object]) -> ArvizData:
        """Return ``theta``, the accuracy of the population, and ``accuracy``, under the target of the question."""
        posterior, prior = self.evidence.thetas(len(draws))
        drawn = {"theta": posterior, "accuracy": draws}
        return self.evidence.to_arviz(drawn, {"theta": prior}, {"agreements": self.successes}, attributes)
