"""Answers whose numbers are those of a section."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Generic, TypeVar

import numpy as np

from bayes_assess._tools.shapes import Float
from bayes_assess.results._base import EvidenceT_co, Result
from bayes_assess.results.sections.section import Section

OwnT_co = TypeVar("OwnT_co", bound=Section, covariant=True)


@dataclass(frozen=True, eq=False, repr=False)
class OfSection(Result[EvidenceT_co], Generic[EvidenceT_co, OwnT_co]):
    """An answer whose numbers are those of its section."""

    section: OwnT_co

    @cached_property
    def estimate(self) -> Any:
        """What is asked, estimated."""
        return self.section.estimate

    @cached_property
    def interval(self) -> Float[np.ndarray, "..."]:
        """Intervals of what is asked."""
        return self.section.interval

    @cached_property
    def draws(self) -> Float[np.ndarray, "S ..."]:
        """Posterior draws of what is asked, (S, ...); 10,000 of them unless there are very many groups."""
        return self.section.draws

    def _of_the_prior(self) -> str | None:
        return self.section.of_the_prior()
