"""The words for measures whose intervals lean on one assumption, with none beside them that lean on less."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from bayes_assess._tools.shapes import Array, Bool
from bayes_assess._tools.text import figures
from bayes_assess.results._in_words import KNOWN, SAID
from bayes_assess.results.evidence._on_measures import OnMeasures

_LINES = 12  # of a summary


class Assuming(OnMeasures):
    """Evidence on measures that says one sentence on what it assumes."""

    @property
    def certain(self) -> Bool[np.ndarray, " k"]:
        """Measures that no label which is missing can change, (k,)."""
        return np.full(len(self.groups), self.exact)

    def columns(self) -> dict[str, Array]:
        """Return the standard errors; of measures that no draw defines they are missing."""
        error = np.asarray(self.standard_error, np.float64)
        return {"se": np.where(np.isinf(error), np.nan, error)}

    @property
    def takes_one_line(self) -> bool:
        """Whether one sentence says all measures that no other sentence of the summary does."""
        return 1 < len(self.groups) <= SAID

    def leaning(self, without: str | None = None) -> str:
        """Say what intervals lean on."""
        return self.assumption

    def leaning_of_verdict(self, contradicted: Callable[[], str], known: Callable[[], str]) -> list[str]:
        """Say what a verdict leans on; random items tell nothing beside it."""
        return [self.assumption]

    def lines(self, on_ranks: list[str]) -> list[str]:
        """Say estimates, intervals and what these lean on; in between, sentences on ranks."""
        kind = f"{self.level:.0%} {self.guarantee} interval"
        if self.exact:
            lines = [self.in_words_exact(name, value) for name, value in zip(self.groups, self.value, strict=True)]
        else:
            lines = []
            for name, value, (low, high), known in zip(self.groups, self.value, self.ends, self.certain, strict=True):
                point, *between = figures(value, low, high)
                lines.append(f"{name} {point}" + (f" ({KNOWN})." if known else f", {kind} [{', '.join(between)}]."))
        if len(lines) > _LINES:
            lines = [*lines[:_LINES], f"And {len(lines) - _LINES:,} more."]
        undefined = self.if_undefined()
        return [*lines, *on_ranks, *undefined, *([] if self.certain.all() else [self.assumption])]
