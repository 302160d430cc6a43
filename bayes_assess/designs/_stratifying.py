"""Designs that cut the pool into strata: what is cut, and by what."""

from __future__ import annotations

from dataclasses import dataclass, field

from bayes_assess._tools.arrays import show
from bayes_assess.designs._deviation_strata import DeviationStrata
from bayes_assess.designs._weighted import WeightedDesign
from bayes_assess.errors import DesignError
from bayes_assess.pool.groups import Cut
from bayes_assess.pool.pool import Pool
from bayes_assess.pool.strata import FeatureStrata, Kind, Strata


@dataclass(frozen=True)
class Stratifying(WeightedDesign):
    """Base of weighted designs that cut the pool into strata, those of the scores unless told otherwise.

    Parameters
    ----------
    n_strata : int
        Strata of the scores, at most. A pool without scores stays whole.
    kind : {"csf", "geometric", "width", "weight"}
        How the scores are cut, see `Strata`.
    strata : Strata or FeatureStrata, optional
        Other strata, in the place of `n_strata` and `kind`.
    """

    n_strata: int = 256
    kind: Kind = "csf"
    strata: Strata | FeatureStrata | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.strata is None:
            return
        if not isinstance(self.strata, Strata | FeatureStrata):
            raise DesignError(
                f"The strata of {self.name} are Strata(...) or FeatureStrata(...); found {show(self.strata)}."
            )
        if (self.n_strata, self.kind) != (type(self).n_strata, type(self).kind):
            raise DesignError(f"Pass {self.name} its strata, or n_strata and kind; found both.")

    def strata_of(self, pool: Pool) -> Cut | None:
        """Return the strata that were passed, else those of the scores if the pool has any.

        Pools of numbers are cut by how far labels can be expected to move the measure.
        """
        if pool.numeric and self.interval_kind == "beta":
            raise DesignError("Beta intervals are of measures between 0 and 1; leave out interval='beta'.")
        if self.strata is not None:
            return self.strata
        if pool.numeric:
            return DeviationStrata(self.n_strata, self.kind, lam=1.0)
        given = pool.confidence, pool.scores, pool.margins
        return None if all(values is None for values in given) else Strata(self.n_strata, self.kind)
