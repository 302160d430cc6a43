"""Measures by the posterior of another model that users hand to a result, and the words for them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar

import numpy as np

from bayes_assess._tools.shapes import Bool, Float
from bayes_assess._tools.to_arviz import ArvizData, to_arviz
from bayes_assess.estimators.posterior_measure import PosteriorMeasure, posterior_measure
from bayes_assess.questions._measures_answered import cells_table
from bayes_assess.results.evidence._assuming import Assuming
from bayes_assess.results.evidence._on_measures import Variables


@dataclass(frozen=True, eq=False, repr=False)
class Given(Assuming):
    """Evidence on measures from the posterior of another model: labelled items as they are, others drawn from it.

    Attributes
    ----------
    given : (S, k)
        Draws of the measures of the pool.
    posterior : (S, K, O)
        Draws of the probabilities of the outcomes of every cell, as they were given.
    """

    given: Float[np.ndarray, "S k"] = field(kw_only=True)
    posterior: Float[np.ndarray, "S K O"] = field(kw_only=True)

    audited: ClassVar[bool] = False  # by random items
    second: ClassVar[None] = None  # there are no intervals that lean on less
    sure_second: ClassVar[None] = None
    trusted: ClassVar[str] = "posterior"
    has_joint: ClassVar[bool] = True  # draws, by which to rank

    @property
    def before_labels(self) -> str:
        """Nothing: what the posterior has learned from, nobody knows."""
        return ""

    @property
    def exact(self) -> bool:
        """Whether every item is labelled that can matter."""
        measure = self.cells.measure
        unlabelled = np.asarray(measure.unlabelled(self.counts))
        return not unlabelled[np.asarray(measure.nonzero).any(-1)].any()

    @property
    def contradicted(self) -> Bool[np.ndarray, " k"]:
        """Nothing: random items tell nothing beside these draws."""
        return np.zeros(len(self.groups), bool)

    @property
    def guarantee(self) -> str:
        """What the interval promises."""
        return "exact" if self.exact else "credible"

    guarantee_of_functions = guarantee

    @property
    def assumption(self) -> str:
        """What estimates and intervals lean on."""
        if self.exact:
            return "Nothing is assumed: every item is labelled that can matter."
        return (
            "The posterior that was given is taken to be right: labels that are missing are drawn from it, and "
            "nothing is checked against random items."
        )

    @property
    def value(self) -> Float[np.ndarray, " k"]:
        """Posterior medians."""
        return self._measured.value

    @property
    def ends(self) -> Float[np.ndarray, "k 2"]:
        """Credible intervals."""
        return np.stack([self.value] * 2, axis=-1) if self.exact else self._measured.interval(self.level)

    @property
    def design_interval(self) -> Float[np.ndarray, "k 2"]:
        """The ranges of the measures: nothing is known without the posterior."""
        return self.ends if self.exact else np.array(cells_table(self.cells).ranges, np.float64)

    @property
    def sure_design_interval(self) -> Float[np.ndarray, "k 2"]:
        """The same, of which no level changes anything."""
        return self.design_interval

    @property
    def standard_error(self) -> Float[np.ndarray, " k"]:
        """Posterior standard deviations."""
        return self.given.std(0)

    @property
    def n_draws(self) -> int:
        """Draws of the measures."""
        return len(self.given)

    @cached_property
    def joint(self) -> Float[np.ndarray, "S k"]:
        """Posterior draws of the measures."""
        return self.given

    @property
    def quantiles_of_first(self) -> Float[np.ndarray, " Q"]:
        """Posterior draws of the first measure."""
        return self.given[:, 0]

    def summarised(self, draws: Float[np.ndarray, "S n"]) -> PosteriorMeasure:
        """Summarise draws of something that were made of `joint`."""
        return posterior_measure(draws, self.exact)

    def to_arviz(
        self, measures: Callable[[], Variables], parameters: bool, attributes: Mapping[str, object]
    ) -> ArvizData:
        """Return posterior draws of the measures as an ArviZ object."""
        posterior, dims, coords = measures()
        known = {"labels": self.counts.sum(1)}
        coords, dims = coords | {"cell": self.cells.names}, dims | {"labels": ["cell"]}
        return to_arviz(posterior, dims=dims, coords=coords, observed_data=known, attrs=attributes)

    @property
    def kind_of_intervals(self) -> str:
        """What intervals are, within a sentence."""
        return f"{self.level:.0%} {self.guarantee} intervals, if the posterior is right that was given"

    @property
    def _others_of_skipped(self) -> str:
        return "other items of its cell" if self.n_skipped == 1 else "other items of their cells"

    @property
    def _use_of_volunteered(self) -> str:
        return "and counted as told"

    @cached_property
    def _measured(self) -> PosteriorMeasure:
        return self.summarised(self.given)
