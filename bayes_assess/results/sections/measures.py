"""What questions on measures say of these: a table, a figure, and of labels that predictions are a proxy of, more."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from bayes_assess._tools.shapes import Array, Float, Int
from bayes_assess._tools.tables import Table
from bayes_assess._tools.text import formats_of
from bayes_assess.questions import Metric
from bayes_assess.results import plots
from bayes_assess.results._in_words import measure_in_words, title_of
from bayes_assess.results.evidence.kinds import MeasureEvidence
from bayes_assess.results.plots._drawing import LONGEST_NAME
from bayes_assess.results.sections.section import Section

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True, eq=False, repr=False)
class Measures(Section):
    """Measures alone."""

    question: Metric
    evidence: MeasureEvidence

    @property
    def measured_items(self) -> Int[np.ndarray, " G"]:
        """Items of every group that is measured, or of the pool."""
        return np.asarray(self.evidence.cells.n_items)

    def table(self) -> Table:
        """Tabulate all measures."""
        known = self.evidence
        columns = {
            "measure": known.groups,
            "estimate": known.value,
            "lower": known.ends[:, 0],
            "upper": known.ends[:, 1],
            **known.columns(),
            **self.columns(),
        }
        title = f"{title_of(self.question)}, {known.interval_label}s"
        numbers = [name for name, values in columns.items() if np.asarray(values).dtype.kind == "f"]
        return Table(columns, title=title, formats=formats_of(columns, numbers))

    def forest(self, truth: Float[np.ndarray, "..."] | float | None, ax: Axes | None) -> Axes:
        """Draw estimates with intervals, those of random items alone as pale bars, and exact answers."""
        known = self.evidence
        return plots.forest(
            self._names_beside(),
            known.value,
            known.ends,
            prior=known.second,
            truth=None if truth is None else np.atleast_1d(truth),
            order="given",
            xlabel=f"{known.interval_label}s",
            title=f"{title_of(self.question)}: {known._progress()}",
            prior_label=f"without trusting the {known.trusted}",
            ax=ax,
        )

    def _names_beside(self) -> list[str]:
        """Return the names of measures where there is room; else shorter ones, in which those of groups are whole."""
        names, by = self.evidence.groups.tolist(), self.question.by
        if max(map(len, names)) <= LONGEST_NAME:
            return names
        names = [measure_in_words(name) for name in names]
        if max(map(len, names)) <= LONGEST_NAME or not isinstance(by, str):
            return names
        parts = [name.partition(f" ({by} ") for name in names]
        if not all(mark for _, mark, _ in parts):
            return names
        alone = len({measure for measure, *_ in parts}) == 1  # which the title names
        return [group[:-1] if alone else f"{measure}: {group[:-1]}" for measure, _, group in parts]

    def columns(self) -> dict[str, Array]:
        """Columns beside estimates and intervals."""
        return {}

    def tables(self) -> list[Table]:
        """Tabulate what a table of estimates has no room for."""
        return []

    def lines(self) -> list[str]:
        """Say what else there is to say, a sentence per line."""
        return []
