"""What a question adds to its result, whatever it asks."""

from __future__ import annotations

from abc import ABC
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from bayes_assess._tools.shapes import Float
from bayes_assess.questions import Question
from bayes_assess.results.evidence.kinds import Counted, Evidence


@dataclass(frozen=True, eq=False, repr=False)
class SectionBase(ABC):
    """A question with the evidence on it: the numbers of the answer, and what else there is to say."""

    question: Question
    evidence: Evidence

    if TYPE_CHECKING:

        @property
        def estimate(self) -> Any:
            """What is asked, estimated."""

        @cached_property
        def interval(self) -> Float[np.ndarray, "..."]:
            """Intervals of what is asked."""
            ...

    @property
    def n_draws(self) -> int:
        """How many posterior draws are taken."""
        return self.evidence.n_draws

    @cached_property
    def draws(self) -> Float[np.ndarray, "S ..."]:
        """Posterior draws of what is asked."""
        return self.evidence.draws(self.n_draws)

    def of_the_prior(self) -> str | None:
        """Say what the labels taught the prior, or that they contradict it; None where there is nothing to say."""
        return None

    def if_skipped(self) -> list[str]:
        """Say what the answer would be if all items set aside were of one kind, or of another."""
        return self.evidence._if_skipped()


@dataclass(frozen=True, eq=False, repr=False)
class Section(SectionBase):
    """A section whose numbers are those of labels that are counted by cell and outcome."""

    evidence: Counted

    @property
    def estimate(self) -> Any:
        """What is asked, estimated."""
        return self.evidence.estimate

    @cached_property
    def interval(self) -> Float[np.ndarray, "..."]:
        """Intervals of what is asked."""
        return self.evidence.interval(lambda: self.draws)
