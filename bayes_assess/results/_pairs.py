"""All pairs of groups compared, whatever by: a table, a figure, and how many verdicts are sure."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING

import numpy as np

from bayes_assess._tools.tables import Table
from bayes_assess._tools.text import plural
from bayes_assess.estimators.joint_draws import PairDifferences
from bayes_assess.results import plots
from bayes_assess.results._base import EvidenceT_co, Result

if TYPE_CHECKING:
    from functools import cached_property

    from matplotlib.axes import Axes

SURE = 0.95
_EVENTS = ("first is worse", "equivalent", "first is better")


class Pairs(Result[EvidenceT_co]):
    """Differences of all pairs of groups, and verdicts on them."""

    if TYPE_CHECKING:

        @cached_property
        def _compared(self) -> PairDifferences: ...

        @property
        def _names(self) -> np.ndarray:
            """Names of the groups that are compared."""
            ...

        @property
        def _pairs_title(self) -> str: ...

    @property
    @abstractmethod
    def _rope(self) -> str:
        """What the rope is, in words."""

    @property
    def probability(self) -> float:
        """Probability of the least sure verdict on groups with items."""
        return float(self._compared.masses.max(-1).min())

    def table(self) -> Table:
        """Tabulate every pair of groups with items, the surest verdicts first."""
        return pairs_table(self._names, self._compared, self._pairs_title)

    def plot(self, *, ax: Axes | None = None) -> Axes:
        """Draw how sure it is which of every two groups is better, as a heat map."""
        title = f"Better by more than {self._rope}: {self._progress()}"
        return plots.pairs(self._compared.masses, [str(name) for name in self._names], title=title, ax=ax)

    def _said_of_pairs(self) -> str:
        """Say how many verdicts are sure, the beginning of a sentence."""
        masses = self._compared.masses[np.triu_indices(len(self._names), 1)]
        pairs = plural(len(masses), "pair")
        if self.guarantee == "exact":
            return f"The labels settle {'all ' * (len(masses) > 1)}{pairs} of groups"
        sure, have = int((masses.max(-1) >= SURE).sum()), "has" if len(masses) == 1 else "have"
        return f"{sure:,} of {pairs} of groups {have} a verdict of probability {SURE} or more"


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
        "verdict": np.array(_EVENTS)[masses.argmax(-1)],
    }
    return Table(
        {name: np.asarray(values)[order] for name, values in columns.items()},
        title=title,
        formats=dict.fromkeys(list(columns)[2:8], ".3f"),
    )
