"""Answers from the belief on groups: estimates, credible intervals and draws."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from bayes_assess._tools.shapes import Float
from bayes_assess.models.belief import Belief
from bayes_assess.results._base import Result
from bayes_assess.results.evidence.groupwise import Groupwise


@dataclass(frozen=True, eq=False, repr=False)
class OfGroups(Result[Groupwise]):
    """An answer from the belief on groups."""

    @property
    def belief(self) -> Belief | None:
        """A posterior that has seen the labels, in the place of the prior's."""
        return self.evidence.belief

    @property
    def posterior(self) -> Any:
        """Posterior of every cell in the population, from which answers are taken."""
        return self.evidence.posterior

    @cached_property
    def estimate(self) -> Any:
        """Posterior mean of what is asked."""
        return self.evidence.estimate

    @cached_property
    def interval(self) -> Float[np.ndarray, "..."]:
        """Credible interval of what is asked: equal-tailed, and extended to the estimate where that lies outside."""
        draws = self.draws if self.question.interval_needs_draws(self.posterior) else None
        known = self.evidence
        return self.question.interval(self.cells, known.learner, self.counts, self.level, draws, self.estimate)

    @cached_property
    def draws(self) -> Float[np.ndarray, "S ..."]:
        """Posterior draws of what is asked, (S, ...); 10,000 of them unless there are very many groups."""
        return self.evidence.draws(self.n_draws)

    def _on_the_prior(self) -> list[str]:
        said = self._of_the_prior() if self.evidence.leans_on_prior else None
        return [said] if said else []

    def _of_the_prior(self) -> str | None:
        """Say what the labels taught the prior, or that they contradict it; None where there is nothing to say."""
        return None
