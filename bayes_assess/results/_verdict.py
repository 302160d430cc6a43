"""What verdicts on a difference have in common, whatever is compared."""

from __future__ import annotations

from typing import Any


class Verdict:
    """Names of the two sides, and the most probable of three events; of results with `masses`, (3,)."""

    masses: Any
    question: Any

    @property
    def names(self) -> tuple[str, str]:
        """What is compared."""
        return self.question.names()

    @property
    def eta(self) -> int:
        """The most probable of the three events: 0, 1 or 2."""
        return int(self.masses.argmax())

    @property
    def probability(self) -> float:
        """Probability of the verdict."""
        return float(self.masses.max())
