"""Measures from a belief on an event: posterior, and the interval that leans on nothing beside it."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from jaxtyping import Float

from bayes_assess._tools.arrays import listing, show
from bayes_assess._tools.tables import Table
from bayes_assess._tools.to_arviz import to_arviz
from bayes_assess.errors import QuestionError
from bayes_assess.estimators.posterior_measure import contradicted, posterior_measure, simultaneous_band, widened
from bayes_assess.estimators.verdicts import region_masses
from bayes_assess.questions import PRCurve
from bayes_assess.questions.metric import cells_table
from bayes_assess.results._curve_table import curve_table
from bayes_assess.results._ordered import Ordered
from bayes_assess.results.plots import forest, precision_recall_curve
from bayes_assess.results.sensitivity import SensitiveToHidden

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_LINES = 12  # of a summary
_SUPPOSED = 3  # measures, up to which a summary says what items set aside could make of each
_DIGITS = 3
_ROUNDING = 1e-9  # of differences that are exactly the rope


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
class BeliefMetricResult(SensitiveToHidden, Ordered):
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

    found: Any = field(kw_only=True)
    supposed: Any = field(kw_only=True, default=None)  # draws if all items set aside had the event, and if none had

    @property
    def guarantee(self) -> str:
        """What the interval promises."""
        if self.found.exact:
            return "exact"
        return "anytime" if np.any(self._contradicted) else "credible"

    @property
    def assumption(self) -> str:
        """What estimate and interval lean on."""
        if self.found.exact:
            return "Nothing is assumed: every item is labelled that can matter."
        if np.any(self._contradicted):
            return "Nothing is assumed of the scores: random items contradict what the other labels suggest."
        if self._scored:
            return f"The scores are taken to rank the items as the {self.labels_used:,} labels suggest."
        return f"Items of a cell are taken to be alike, as the {self.labels_used:,} labels suggest."

    @cached_property
    def estimate(self) -> Any:
        """Posterior medians."""
        return self._shaped(self._posterior.value)

    @cached_property
    def draws(self) -> Float[np.ndarray, "S k"]:  # type: ignore[override]
        """Posterior draws of the measures."""
        return self.found.draws

    @cached_property
    def interval(self) -> Float[np.ndarray, "... 2"]:  # type: ignore[override]
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
    def posterior(self) -> Any:  # type: ignore[override]
        """Draws of the rate of the event in every cell, (S, K), to take for any other purpose."""
        if self._events.believes_all:
            raise QuestionError(
                "The belief is about all of a label, with no event that has a rate in cells; `draws` has the posterior "
                "of what was asked."
            )
        nu, counts = self.found.strength, self.found.events
        return (nu * self.found.curves + counts[:, 1]) / (nu + counts.sum(1))

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
        if not 0 < level < 1:
            raise QuestionError(f"The level of a band lies between 0 and 1, such as 0.95; found {show(level)}.")
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
        >>> a.tell(a.ask(4).ids, [0, 1, 1, 1])
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
        masses = region_masses(draws, rope + _ROUNDING)
        return Difference(float(found.value[0]), found.interval(self.level)[0], *masses.tolist())

    def table(self) -> Table:
        """Tabulate all measures; a row per threshold for curves."""
        ends, design = self._ends_of_all(), self._design
        if isinstance(self.question, PRCurve):
            return curve_table(self, self._posterior.value, ends)
        columns = {
            "measure": self.groups,
            "estimate": np.atleast_1d(self.estimate),
            "lower": ends[:, 0],
            "upper": ends[:, 1],
            "design_lower": design[:, 0],
            "design_upper": design[:, 1],
        }
        title = f"{self.question.name}, {self._interval_label}s"
        return Table(columns, title=title, formats=dict.fromkeys(list(columns)[1:], ".4f"))

    def plot(self, *, truth: Any = None, ax: Axes | None = None) -> Axes:
        """Draw estimates with intervals, the intervals of the random items as pale bars; or the precision-recall curve.

        Parameters
        ----------
        truth : array, optional
            Exact answer to mark.
        ax : Axes, optional
        """
        title = f"{self.question.name}: {self._progress()}"
        ends, value = self._ends_of_all(), np.atleast_1d(self.estimate)
        said = f"{self._interval_label}s"
        if isinstance(self.question, PRCurve):
            return precision_recall_curve(value, ends, truth=truth, interval_label=said, title=title, ax=ax)
        truth = None if truth is None else np.atleast_1d(truth)
        return forest(
            self.groups.tolist(),
            value,
            ends,
            prior=self._design,
            truth=truth,
            order="given",
            xlabel=said,
            title=title,
            prior_label="without trusting the scores",
            ax=ax,
        )

    def to_arviz(self) -> Any:
        """Return posterior draws of the measures and of the rate of the event in every cell as an ArviZ object."""
        counts = self.found.events
        if self._events.believes_all:
            return to_arviz(
                {"measure": self.found.draws},
                dims={"measure": ["output"], "labels": ["cell"]},
                coords={"output": self.groups, "cell": self.cells.names},
                observed_data={"labels": counts.sum(1)},
                attrs=self._attributes(),
            )
        return to_arviz(
            {"measure": self.found.draws, "rate": self.posterior, "strength": self.found.strength},
            dims={"measure": ["output"]} | {name: ["cell"] for name in ("rate", "strength", "labels", "events")},
            coords={"output": self.groups, "cell": self.cells.names},
            observed_data={"labels": counts.sum(1), "events": counts[:, 1]},
            attrs=self._attributes(),
        )

    def _answer(self) -> list[str]:
        ends, value = self._ends_of_all(), np.atleast_1d(self.estimate)
        if isinstance(self.question, PRCurve):
            return self._about_curve()
        if self.found.exact:
            lines = [f"{name} {one:.{_DIGITS}f} (exact)." for name, one in zip(self.groups, value, strict=True)]
            return [*lines[:_LINES], *(self._said_of_the_best() if self._is_ordered else [])]
        lines = []
        if np.any(self._contradicted):
            named = ", ".join(self.groups[self._contradicted][:3])
            lines.append(
                f"Random items contradict the scores: what they say of {named} and what the other labels suggest have "
                "no value in common. The interval holds both."
            )
        if_scores = "if the scores rank as" if self._scored else "if items of a cell are alike, as"
        for i, (name, one, (low, high)) in enumerate(zip(self.groups, value, ends, strict=True)):
            given = "" if self._contradicted[i] else f", {if_scores} the {self.labels_used:,} labels suggest"
            lines.append(f"{name} {one:.3f}, {self.level:.0%} {self._kind(i)} interval [{low:.3f}, {high:.3f}]{given}.")
        if len(lines) > _LINES:
            lines = [*lines[:_LINES], f"And {len(value) - _LINES:,} more."]
        best = self._said_of_the_best() if self._is_ordered else []
        return [*lines, *best, self._without_trust(), *self._if_hidden()]

    def _about_curve(self) -> list[str]:
        n = f"Precision and recall at {len(self._credible) // 2:,} thresholds"
        if self.found.exact:
            return [f"{n} (exact)."]
        if_scores = f"if the scores rank as the {self.labels_used:,} labels suggest"
        lines = [f"{n}, {self.level:.0%} credible intervals, {if_scores}."]
        if np.any(self._contradicted):
            named = ", ".join(self.groups[self._contradicted][:3])
            lines.insert(
                0,
                f"Random items contradict the scores: what they say of {named} and what the other labels suggest have "
                "no value in common. The intervals there hold both.",
            )
        return [*lines, self._without_trust()]

    def _kind(self, i: int) -> str:
        return "anytime" if self._contradicted[i] else "credible"

    def _without_trust(self) -> str:
        """Say what random items alone tell."""
        design = self._design
        if not self.found.audited:
            ends = "Without trusting the scores, nothing can be said: the session kept account of its own measure alone"
        elif len(design) == 1:
            whole = np.array(cells_table(self.cells).ranges[0])
            ends = (
                f"Without trusting the scores: [{design[0, 0]:.3f}, {design[0, 1]:.3f}]"
                if (design[0] != whole).any()
                else "Without trusting the scores, nothing can be said yet"
            )
        else:
            ends = "Without trusting the scores: see design_interval"
        events, audits, size = self._events, self.found.audits, self.cells.sizes
        if events.believes_all:
            return f"{ends}; {_number(int(audits.sum()) * self.question.labels_each, 'random label')} so far."
        if events.about_agreement:
            n, wrong = int(audits.sum()), int(audits[:, 0].sum())
            return f"{ends}; {_found(n, '', wrong, 'error')}."
        quiet = events.coordinates.feature < 0
        among = f" among {int(size[quiet].sum()):,} items not predicted positive"
        return f"{ends}; {self._random_labels(quiet, among)}."

    def _random_labels(self, cells: Any = slice(None), among: str = "") -> str:
        audits = self.found.audits[cells]
        return _found(int(audits.sum()), among, int(audits[:, 1].sum()), "positive")

    @property
    def _events(self) -> Any:
        cells: Any = self.cells
        return cells.events

    @property
    def _scored(self) -> bool:
        return self._events.subject.is_scored

    @cached_property
    def _posterior(self) -> Any:
        return posterior_measure(self.found.draws, self.found.exact, self.found.cautious)

    @cached_property
    def _credible(self) -> Float[np.ndarray, "k 2"]:
        if self.found.exact:
            value = self._posterior.value
            return np.stack([value, value], axis=-1)
        return self._posterior.interval(self.level)

    @property
    def _joint(self) -> Float[np.ndarray, "S k"]:
        return self.found.draws

    @cached_property
    def _design(self) -> Float[np.ndarray, "k 2"]:
        return self._credible if self.found.exact else self.found.design_interval

    @cached_property
    def _contradicted(self) -> np.ndarray:
        return contradicted(self._credible, self._design)

    def _ends_of_all(self) -> Float[np.ndarray, "k 2"]:
        return widened(self._credible, self._design)

    def _shaped(self, values: np.ndarray) -> Any:
        scalar = len(values) == 1 and not isinstance(self.question.measure, list | tuple)
        return values[0] if scalar else values

    def _if_skipped(self) -> list[str]:
        if self.supposed is None or len(self.groups) > _SUPPOSED:
            return []
        kinds = ("right", "wrong") if self._events.about_agreement else ("positive", "negative")
        posteriors = [posterior_measure(draws, False, self.found.cautious) for draws in self.supposed]
        ends = [(one.value, one.interval(self.level)) for one in posteriors]
        return [
            self._supposition(name, kinds, [(float(value[i]), interval[i]) for value, interval in ends])
            for i, name in enumerate(self.groups)
        ]

    @property
    def _use_of_volunteered(self) -> str:
        return "the belief takes them for random items of their cells; the interval without trust knows them, no more."


def _found(n: int, among: str, hits: int, what: str) -> str:
    """Say what random labels found."""
    return f"{_number(n, 'random label')}{among} found {_number(hits, what)}" if n else f"no random label{among} yet"


def _number(n: int, what: str) -> str:
    return f"no {what}" if n == 0 else f"{n:,} {what}{'s' * (n != 1)}"
