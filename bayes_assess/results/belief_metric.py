"""Measures from a belief on an event: posterior, and the interval that leans on nothing beside it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from bayes_assess._tools.arrays import listing, show
from bayes_assess._tools.levels import checked_level
from bayes_assess._tools.seeds import generator
from bayes_assess._tools.shapes import Float, Int
from bayes_assess._tools.tables import Table
from bayes_assess._tools.text import labels_suggest
from bayes_assess._tools.to_arviz import to_arviz
from bayes_assess.errors import QuestionError
from bayes_assess.estimators.posterior_measure import (
    posterior_measure,
    simultaneous_band,
)
from bayes_assess.estimators.verdicts import region_masses
from bayes_assess.results import plots
from bayes_assess.results._base import Shares
from bayes_assess.results._belief_words import SAID, BeliefSentences
from bayes_assess.results._believed import ROUNDING
from bayes_assess.results._in_words import title_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class Difference(NamedTuple):
    """A measure less another one.

    Attributes
    ----------
    estimate : float
        Posterior median.
    interval : (2,) floats
    below, equal, above : float
        Posterior probabilities that the first is lower, within the rope, and higher.
    """

    estimate: float
    interval: Float[np.ndarray, " 2"]
    below: float
    equal: float
    above: float


@dataclass(frozen=True, eq=False, repr=False)
class BeliefMetricResult(BeliefSentences):
    """Measures, such as F1, from a belief that learns what the scores mean.

    Attributes
    ----------
    estimate : float, or (k,) for a list of measures
        Posterior median of the measure of this pool.
    interval : (2,) or (k, 2)
        Credible interval given the belief. Where the random items contradict the belief, it holds the interval of the
        random items too.
    credible_interval : (2,) or (k, 2)
        Given the belief, whatever the random items say.
    design_interval : (2,) or (k, 2)
        From the random items alone, valid at any time whatever the scores are worth; the range of the measure where
        that is no ratio of sums.
    contradicted : bool, or (k,) booleans
        Whether the two have no value in common.
    assumption : str
        What estimate and interval lean on.
    draws : (4000, k)
        Posterior draws of the measures.
    guarantee : str
        ``"credible"``; ``"anytime"`` where the random items contradict the belief, and ``"exact"`` once all items are
        labelled that can matter.
    """

    @property
    def guarantee(self) -> str:
        """What the interval promises."""
        if self._all_certain:
            return "exact"
        return "anytime" if np.any(self._contradicted) else "credible"

    @property
    def assumption(self) -> str:
        """What estimate and interval lean on."""
        if self.found.exact:
            return "Nothing is assumed: every item is labelled that can matter."
        if self._all_certain:
            return "Nothing is assumed: no label that is missing can change the answer."
        if np.any(self._contradicted):
            return f"Nothing is assumed of the {self._trusted}: random items contradict what the other labels suggest."
        if self._scored:
            return f"The scores are taken to rank the items as {labels_suggest(self.labels_used)}."
        return f"Items with the same predictions are taken to be alike, as {labels_suggest(self.labels_used)}."

    @cached_property
    def estimate(self) -> Any:
        """Posterior medians."""
        return self._shaped(self._measured.value)

    @property
    def item_shares(self) -> Shares | None:
        """Posterior draws of an accuracy or of rates; None of measures that are no shares of items."""
        if not self.question.of_shares:
            return None
        draws = np.asarray(self.draws)
        return Shares(draws, self.labels_used / max(int(np.prod(draws.shape[1:])), 1), self._measured_items)

    @property
    def _measured_items(self) -> Int[np.ndarray, " G"]:
        """Items of every group that is measured, or of the pool."""
        return np.asarray(self.cells.n_items)

    @cached_property
    def draws(self) -> Float[np.ndarray, "S k"]:
        """Posterior draws of the measures."""
        return self.found.draws

    @cached_property
    def interval(self) -> Float[np.ndarray, "... 2"]:
        """Credible intervals, wider where random items contradict them."""
        return self._shaped(self._ends_of_all())

    @property
    def credible_interval(self) -> Float[np.ndarray, "... 2"]:
        """Intervals given the belief."""
        return self._shaped(self._credible)

    @property
    def design_interval(self) -> Float[np.ndarray, "... 2"]:
        """Intervals from random items alone."""
        return self._shaped(self._design)

    @property
    def contradicted(self) -> Any:
        """Whether credible interval and design interval have no value in common."""
        return self._shaped(self._contradicted)

    @property
    def posterior(self) -> Any:
        """Draws of the rate of the event in every cell, (S, K), to take for any other purpose."""
        if self._events.believes_all:
            raise QuestionError(
                "This answer is about all of a label, with no event that has a rate; `draws` has the posterior of what "
                "was asked."
            )
        return self._rates

    @property
    def standard_error(self) -> Any:
        """Posterior standard deviations."""
        return self._shaped(self.found.draws.std(0))

    def band(self, level: float | None = None) -> Float[np.ndarray, "k 2"]:
        """Compute intervals that hold all measures at once, such as a whole curve, with a posterior probability.

        Parameters
        ----------
        level : float in (0, 1), optional
            That of the result by default.

        Returns
        -------
        (k, 2)

        Examples
        --------
        >>> import bayes_assess as ba
        >>> a = ba.assess(ba.Pool(scores=[0.1, 0.4, 0.6, 0.8]), ba.PRCurve([0.3, 0.7]))
        >>> a.tell(a.ask(3).ids, [0, 1, 1])
        >>> a.result().band(0.9).shape  # precision at both thresholds, then recall
        (4, 2)
        """
        level = self.level if level is None else level
        checked_level(level, "a band")
        return simultaneous_band(self.found.draws, level)

    def difference(self, first: str | int, second: str | int, rope: float = 0.0) -> Difference:
        """Compare two of the measures, such as the F1 of two systems, by their joint posterior.

        Parameters
        ----------
        first, second : str or int
            Names of outputs as in ``groups``, or their positions.
        rope : float
            Half-width of the region in which they count as equal.

        Returns
        -------
        Difference
            First less second.

        Examples
        --------
        >>> import bayes_assess as ba
        >>> pool = ba.Pool(predictions=[0, 1, 1, 0], systems={"b": [0, 0, 1, 1]})
        >>> a = ba.assess(pool, ba.Metric("f1", systems=["prediction", "b"]))
        >>> a.tell([0, 1, 2, 3], [0, 1, 1, 1])
        >>> round(a.result().difference(0, 1).estimate, 6)
        0.0
        """
        columns = []
        for side in (first, second):
            at = np.flatnonzero(self.groups == side) if isinstance(side, str) else [side]
            if len(at) != 1 or not 0 <= at[0] < len(self.groups):
                raise QuestionError(f"There is no output {show(side)}; there are {listing(self.groups)}.")
            columns.append(self.found.draws[:, at[0]])
        draws = columns[0] - columns[1]
        found = posterior_measure(draws[:, None], self.found.exact, self.found.cautious)
        masses = region_masses(draws, rope + ROUNDING)
        return Difference(float(found.value[0]), found.interval(self.level)[0], *masses.tolist())

    def table(self) -> Table:
        """Tabulate all measures."""
        ends, design = self._ends_of_all(), self._design
        columns = {
            "measure": self.groups,
            "estimate": np.atleast_1d(self.estimate),
            "lower": ends[:, 0],
            "upper": ends[:, 1],
            "design_lower": design[:, 0],
            "design_upper": design[:, 1],
        }
        title = f"{title_of(self.question)}, {self._interval_label}s"
        return Table(columns, title=title, formats=dict.fromkeys(list(columns)[1:], ".4f"))

    def plot(self, *, truth: Any = None, ax: Axes | None = None) -> Axes:
        """Draw estimates with intervals, the intervals of the random items as pale bars.

        Parameters
        ----------
        truth : array, optional
            Exact answer to mark.
        ax : Axes, optional
        """
        title = f"{title_of(self.question)}: {self._progress()}"
        ends, value = self._ends_of_all(), np.atleast_1d(self.estimate)
        said = f"{self._interval_label}s"
        truth = None if truth is None else np.atleast_1d(truth)
        return plots.forest(
            self.groups.tolist(),
            value,
            ends,
            prior=self._design,
            truth=truth,
            order="given",
            xlabel=said,
            title=title,
            prior_label=f"without trusting the {self._trusted}",
            ax=ax,
        )

    def to_arviz(self, *, parameters: bool = False) -> Any:
        """Return posterior draws of every measure, by its name, as an ArviZ object.

        The draws are independent: diagnostics of chains, such as R-hat, have nothing to find. ``az.summary(data,
        kind="stats")`` leaves them out.

        Parameters
        ----------
        parameters : bool
            Whether to add those of the model: `rate`, the rate of the event among items that are alike, and `strength`;
            the first is called `cell_rate` where the measure itself is a `rate`.

        Examples
        --------
        >>> import bayes_assess as ba
        >>> a = ba.assess(ba.Pool(scores=[0.1, 0.4, 0.6, 0.8]), ba.Metric("f1"))
        >>> a.tell(a.ask(3).ids, [0, 1, 1])
        >>> list(a.result().to_arviz()["posterior"].data_vars)
        ['f1']
        """
        found, counts = self._for_arviz(), self.found.events
        posterior, dims, coords = found["posterior"], found["dims"], found["coords"]
        observed, of_cells = {"labels": counts.sum(1)}, {}
        if not self._events.believes_all:
            observed["events"] = counts[:, 1]
            if parameters:
                rate = "rate" if "rate" not in posterior else "cell_rate"  # a measure that is asked for has its name
                of_cells = {rate: self.posterior, "strength": self.found.strength}
        # They come particle by particle, which diagnostics would take for a chain that hardly moves.
        order = generator(self.seed, "order of draws").permutation(len(self.found.draws))
        return to_arviz(
            {name: draws[order] for name, draws in (posterior | of_cells).items()},
            dims=dims | {name: ["cell"] for name in (*of_cells, *observed)},
            coords=coords | {"cell": self.cells.names},
            observed_data=observed,
            attrs=self._attributes(),
        )

    def _for_arviz(self) -> dict[str, Any]:
        """Return the measures as variables, with their dimensions."""
        draws = self.found.draws
        if self._is_ordered:
            by, names = self._ordered_by, self.ordered_names
            by = f"{by}_group" if by in ("chain", "draw", "cell") else by  # dimensions of their own
            return {"posterior": {self._measure_name: draws}, "dims": {self._measure_name: [by]}, "coords": {by: names}}
        return {"posterior": dict(zip(self.groups.tolist(), draws.T, strict=True)), "dims": {}, "coords": {}}

    @property
    def headline(self) -> str:
        """The answer as one sentence."""
        one = len(self.groups) == 1 and not np.any(self._contradicted)  # a sentence of the summary says it
        if one or len(self.groups) > SAID or self._is_ordered:
            return super().headline
        return self._in_one_line()
