"""What verdicts on a difference have in common, whatever is compared."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from bayes_assess._tools.shapes import Float
from bayes_assess._tools.tables import Table
from bayes_assess.estimators.joint_draws import PairDifferences
from bayes_assess.questions import GroupPair, MeasureComparison, TwoSystems
from bayes_assess.results import plots
from bayes_assess.results._base import EvidenceT_co, Result

if TYPE_CHECKING:
    from matplotlib.axes import Axes

EVENTS = ("first is worse", "equivalent", "first is better")


@dataclass(frozen=True, eq=False, repr=False)
class Verdict(Result[EvidenceT_co]):
    """Names of the two sides, and the most probable of three events."""

    question: GroupPair | TwoSystems | MeasureComparison

    if TYPE_CHECKING:

        @cached_property
        def masses(self) -> Float[np.ndarray, " 3"]: ...

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

    def _density(self, draws: Float[np.ndarray, " S"], title: str, truth: float | None, ax: Axes | None) -> Axes:
        """Draw the posterior density of the difference, with the region of practical equivalence marked."""
        first, second = self.names
        return plots.rope_density(
            draws,
            float(self.question.rope),
            self.masses,
            first=first,
            second=second,
            estimate=float(self.estimate),
            interval=self.interval,
            interval_label=self._interval_label,
            truth=truth,
            title=f"{title}: {self._progress()}",
            ax=ax,
        )


def pairs_table(names: np.ndarray, found: PairDifferences, title: str) -> Table:
    """Tabulate every pair of groups, the surest verdicts first.

    Parameters
    ----------
    names : (G,)
    found : PairDifferences
    title : str
    """
    first, second = np.triu_indices(len(names), 1)
    masses, ends = found.masses[first, second], found.interval[first, second]
    order = np.argsort(-masses.max(-1), kind="stable")
    columns = {
        "first": names[first],
        "second": names[second],
        "difference": found.estimate[first, second],
        "lower": ends[:, 0],
        "upper": ends[:, 1],
        "p_worse": masses[:, 0],
        "p_equal": masses[:, 1],
        "p_better": masses[:, 2],
        "verdict": np.array(EVENTS)[masses.argmax(-1)],
    }
    return Table(
        {name: np.asarray(values)[order] for name, values in columns.items()},
        title=title,
        formats=dict.fromkeys(list(columns)[2:8], ".3f"),
    )
