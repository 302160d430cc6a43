"""Strata of items whose labels can move a measure about as far, which what is measured has a say in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from bayes_assess.errors import PartitionError
from bayes_assess.pool.groups import Cut, Partition
from bayes_assess.pool.pool import Pool
from bayes_assess.pool.strata import Kind


@dataclass(frozen=True)
class DeviationStrata(Cut):
    """How a design asks a question for strata of items by how far their labels can move the measure.

    Parameters
    ----------
    n_strata : int
        Strata at most.
    kind : {"csf", "geometric", "width", "weight"}
        How the deviations are cut, see `Strata`.
    lam : float in [0, 1]
        How far scores are trusted: labels are believed to be lam s + (1 - lam) r, with r the mean score of the class.

    Examples
    --------
    >>> DeviationStrata(256, "csf", 0.9)
    DeviationStrata(n_strata=256, kind='csf', lam=0.9)
    """

    n_strata: int
    kind: Kind
    lam: float
    of_deviations: ClassVar[bool] = True

    def cut(self, pool: Pool) -> Partition:
        """Raise PartitionError: a pool alone says nothing of a measure."""
        raise PartitionError("Strata of deviations depend on the measure; a session or a study makes them.")
