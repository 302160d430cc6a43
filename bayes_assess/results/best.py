"""The best of several systems: by how much each is ahead of the others, and how sure that is."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from bayes_assess._tools.shapes import ArrayLike, Bool, Float, Int
from bayes_assess._tools.tables import Table
from bayes_assess.estimators.contradiction import contradicted, contradicting_level, widened
from bayes_assess.estimators.joint_draws import widened_leads
from bayes_assess.estimators.posterior_measure import PosteriorMeasure
from bayes_assess.measures import alike_outputs
from bayes_assess.questions import Best
from bayes_assess.questions._measures_answered import cells_table
from bayes_assess.results import plots
from bayes_assess.results._in_words import measure_in_words, rope_in_words, title_of
from bayes_assess.results._order import Order, widest_difference
from bayes_assess.results.evidence._on_measures import Variables
from bayes_assess.results.evidence.believed import Believed
from bayes_assess.results.evidence.weighted import Weighted
from bayes_assess.results.metric import MeasureEvidenceT_co, MetricResult

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_CONTENDER = 0.05  # probability of being as good as the best, above which a summary names a system
_SAID = 5
_ALIKE = 0.005  # probability that several are the best, above which a summary says that the first may be one of them


@dataclass(frozen=True, eq=False, repr=False)
class BestResult(MetricResult[MeasureEvidenceT_co]):
    """Which of several systems is the best, by the joint posterior of their measures.

    Attributes
    ----------
    best : str
        The system that is the best with the highest probability.
    probability_best : (G,) floats
        Of every system, in the order of `systems`.
    probability_good : (G,) floats
        That a system is behind the best by no more than the rope.
    systems : (G,) texts
    estimate : (G,) floats
        Leads: the measure of a system less the highest of the others, or of losses the other way round.
    interval : (G, 2) floats
        Of the leads; where random items contradict the belief, they hold what these tell, too.
    design_interval : (G, 2) floats
        From random items alone, of all leads at once and at any time; of beliefs, as `credible_interval`.
    draws : (S, G) floats
        Posterior draws of the leads.
    rank, rank_interval, probability_worst
        Of every system, see `ranking`.
    """

    question: Best

    @property
    def guarantee(self) -> str:
        """What the intervals of the leads promise."""
        return self.evidence.guarantee_of_functions

    @property
    def assumption(self) -> str:
        """What leads and verdict lean on."""
        return self.evidence.assumption_of_functions

    @property
    def standard_error(self) -> Float[np.ndarray, " G"]:
        """Standard deviations of the draws of the leads, (G,)."""
        return self._lead_draws.std(0)

    @property
    def covariance(self: BestResult[Weighted]) -> Float[np.ndarray, "G G"]:
        """Covariance of the draws of the leads, (G, G)."""
        return np.cov(self._lead_draws, rowvar=False, ddof=0)

    @property
    def in_ellipsoid(self: BestResult[Weighted]):
        """Whether the ellipsoid about the leads holds some values; see `Weighted.in_ellipsoid`."""
        return partial(self.evidence.in_ellipsoid, centre=self.estimate, covariance=self.covariance)

    @property
    def design_interval(self: BestResult[Believed]) -> Float[np.ndarray, "G 2"]:
        """Bounds of the leads from random items alone, which hold all of them at any time."""
        return self._ends if self.guarantee == "exact" else self._bounded(self.evidence.design_interval)

    @property
    def credible_interval(self: BestResult[Believed]) -> Float[np.ndarray, "G 2"]:
        """Intervals of the leads given the belief."""
        return self._ends

    @property
    def contradicted(self: BestResult[Believed]) -> Bool[np.ndarray, " G"]:
        """Whether the two have no value in common, (G,), at a level of .95 or more: by chance those of others part."""
        if self.guarantee == "exact":
            return np.zeros(len(self.question.systems), bool)
        ends = self._leads.interval(contradicting_level(self.level))
        return contradicted(ends, self._bounded(self.evidence.sure_design_interval))

    @property
    def band(self: BestResult[Believed]):
        """Intervals that hold all leads at once; see `Believed.band`."""
        return partial(self.evidence.band, draws=self._lead_draws)

    @property
    def systems(self) -> np.ndarray:
        """Names of the systems, (G,)."""
        return self.ordered_names

    @property
    def best(self) -> str:
        """The system that is the best with the highest probability; of equal ones the one with the greatest lead."""
        return str(self.systems[np.lexsort((self.estimate, self.probability_best))[-1]])

    @property
    def probability_good(self) -> Float[np.ndarray, " G"]:
        """Probability that every system is behind the best by no more than the rope, (G,)."""
        return self.question.probability_good(self._lead_draws)

    @property
    def probability(self) -> float:
        """Probability of the verdict: that some system is the best, or within the rope of it."""
        return float(self.probability_good.max())

    @cached_property
    def estimate(self) -> Float[np.ndarray, " G"]:
        """Medians of the leads."""
        return self._leads.value

    @cached_property
    def interval(self) -> Float[np.ndarray, "G 2"]:
        """Intervals of the leads; where random items contradict the belief, they hold what these tell, too."""
        if not self.evidence.has_posterior:
            return self._ends
        of_belief: Any = self
        return widened(self._ends, of_belief.design_interval, of_belief.contradicted)

    @cached_property
    def draws(self) -> Float[np.ndarray, "S G"]:
        """Posterior draws of the leads, (S, G)."""
        return self.question.leads(self.section.draws)  # which says where there is no posterior

    @property
    def verdict(self) -> str:
        """The answer as a sentence."""
        systems = self.systems
        if self.guarantee == "exact":
            good = systems[self.probability_good > 0]
            many = f" and {len(good) - _SAID:,} more" if len(good) > _SAID else ""
            what = self._of_measure if len(good) == 1 else f"{self._of_measure}, or are as good as that"
            known = self.evidence.from_labels("the")
            return f"{', '.join(good[:_SAID])}{many} {'has' if len(good) == 1 else 'have'} {what}, {known}."
        if self._is_open:
            return f"There is no label yet that tells which system has {self._of_measure}."
        probability, order = self.probability_good, self._foremost
        first = order[0]
        others = [f"{systems[g]} ({probability[g]:.2f})" for g in order[1:] if probability[g] >= _CONTENDER]
        more = f" and {len(others) + 1 - _SAID:,} more" if len(others) >= _SAID else ""
        tied = probability.sum() > 1 + _ALIKE  # draws in which several are best count for each
        within = f" or is within {self._rope} of the best" if self.question.rope else " or is as good" if tied else ""
        also = f"; also possible: {', '.join(others[: _SAID - 1])}{more}" if others else ""
        sure = f"{probability[first]:.2f}{self.evidence.before_labels}"
        return f"{systems[first]} has {self._of_measure}{within} with probability {sure}{also}."

    @property
    def _is_open(self) -> bool:
        """Whether nothing tells one system from another."""
        return self.evidence.tells_nothing(float(self.probability_best.max()))

    @property
    def headline(self) -> str:
        """The answer as one sentence."""
        return self.verdict

    def table(self) -> Table:
        """Tabulate the systems, the best first."""
        order = self._best_first
        columns = {
            "system": self.systems,
            "lead": self.estimate,
            "lower": self.interval[:, 0],
            "upper": self.interval[:, 1],
            "p_best": self.probability_best,
            "p_good": self.probability_good,
        }
        title = f"{self._ranked_by} over the best of the others, {self._interval_label}s"
        formats = {**dict.fromkeys(("lead", "lower", "upper"), "+.4f"), "p_best": ".3f", "p_good": ".3f"}
        return Table({name: column[order] for name, column in columns.items()}, title=title, formats=formats)

    def plot(self, *, truth: ArrayLike | None = None, ax: Axes | None = None) -> Axes:
        """Draw the leads with their intervals, the best system at the top.

        Parameters
        ----------
        truth : (G,) floats, optional
            Exact leads to mark.
        ax : Axes, optional
        """
        title = f"{title_of(self.question)}: {self._progress()}"
        order = self._best_first
        return plots.forest(
            self.systems[order].tolist(),
            self.estimate[order],
            self.interval[order],
            truth=None if truth is None else np.asarray(truth)[order],
            order="given",
            xlabel=f"lead over the best of the others, {self._interval_label}s",
            title=title,
            ax=ax,
        )

    def _variables(self) -> Variables:
        """Return the leads as a variable: accuracies are known up to what all systems have in common."""
        return Variables({"lead": self.draws}, {"lead": ["system"]}, {"system": self.systems})

    @cached_property
    def _order(self) -> Order:
        names = np.array(self.question.systems)
        order = names, "system", self.question.measure_name, self.estimate, self.interval, self.evidence.joint
        return Order(*order, widest_difference(self.evidence), self.evidence.cautious)

    @cached_property
    def _leads(self) -> PosteriorMeasure:
        return self.evidence.summarised(self._lead_draws)

    def _bounded(self, ends: Float[np.ndarray, "G 2"]) -> Float[np.ndarray, "G 2"]:
        """Bound the leads by bounds of the measures that hold all at once."""
        widest = widest_difference(self.evidence)
        return self.question.bounded_leads(ends).clip(-widest, widest)

    @cached_property
    def _ends(self) -> Float[np.ndarray, "G 2"]:
        """Intervals by draws; of weighted draws none ends below that of the difference from the foremost system."""
        ends = self._leads.interval(self.level)
        if self.evidence.has_posterior or self.guarantee == "exact":
            return ends
        return widened_leads(self.question.direction * self.evidence.joint, ends, self.level)

    @cached_property
    def _lead_draws(self) -> Float[np.ndarray, "S G"]:
        return self.question.leads(self.evidence.joint)

    @property
    def _ranked_by(self) -> str:
        return f"Lead in {measure_in_words(self.question.measure_name)}"

    @property
    def _rope_asked(self) -> float:
        return self.question.rope

    @property
    def _of_measure(self) -> str:
        return f"the {self.question.extreme} {measure_in_words(self.question.measure_name)}"

    @property
    def _rope(self) -> str:
        return rope_in_words(self.question.rope, widest_difference(self.evidence), self.question.measure_name)

    @property
    def _best_first(self) -> Int[np.ndarray, " G"]:
        """Systems in the order of tables and figures."""
        return np.lexsort((self.estimate, self.probability_best))[::-1]

    @property
    def _foremost(self) -> Int[np.ndarray, " G"]:
        """Systems in the order in which a verdict names them: those first that are within the rope most probably."""
        return np.lexsort((self.estimate, self.probability_best, self.probability_good))[::-1]

    def _answer(self) -> list[str]:
        exact = self.guarantee == "exact"
        leaning = [] if exact else self.evidence.leaning_of_verdict(self._contradicted_leads, self._known_of_lead)
        leads = [] if self._is_open else self._leading()
        return [self.verdict, *leads, *self.evidence.if_undefined(), *leaning]

    def _contradicted_leads(self) -> str:
        """Name the leads of which random items contradict the belief, of many the first ones."""
        of_belief: Any = self
        names = self.systems[of_belief.contradicted]
        more = f" and {len(names) - _SAID:,} more" if len(names) > _SAID else ""
        return f"the lead of {', '.join(names[:_SAID])}{more}" if len(names) else ""

    def _known_of_lead(self) -> str:
        """Say what random items alone tell of the foremost system."""
        of_belief: Any = self
        first = self._foremost[0]
        low, high = of_belief.design_interval[first]
        return (
            f"lead of {self.systems[first]} [{low:+z.3f}, {high:+z.3f}]" if high - low < 2 * self._order.widest else ""
        )

    @property
    def _twins(self) -> Int[np.ndarray, " n"]:
        """Other systems that no label can tell from the foremost one."""
        table: Any = cells_table(self.cells)  # no curve, which Best refuses
        first, alike = self._foremost[0], alike_outputs(table)
        return np.setdiff1d(np.flatnonzero(alike == alike[first]), first)

    def _leading_together(self, twins: Int[np.ndarray, " n"]) -> list[str]:
        """Say of systems that are the same by how much they are ahead of all others."""
        same = np.array([self._foremost[0], *twins])
        values = self.question.direction * self.evidence.joint
        lead = self.evidence.summarised(values[:, same[:1]] - np.delete(values, same, axis=1).max(1, keepdims=True))
        (low, high), names = lead.interval(self.level)[0], self.systems[same].tolist()
        shown = [*names[:_SAID], *([f"{len(names) - _SAID:,} more"] if len(names) > _SAID else [])]
        both = f"{', '.join(shown[:-1])} and {shown[-1]}"
        return [
            f"No label can tell {both} apart: they are equally good.",
            f"Their lead over the best of the other systems {lead.value[0]:+z.3f}, {self._interval_label} "
            f"[{low:+z.3f}, {high:+z.3f}].",
        ]

    def _leading(self) -> list[str]:
        first = self._foremost[0]
        if self.guarantee != "exact" and len(twins := self._twins):
            return self._leading_together(twins)
        lead, (low, high), name = self.estimate[first], self.interval[first], self.systems[first]
        if self.guarantee == "exact":
            return [f"Lead of {name} over the best of the others {lead:+z.4f} (exact)."]
        return [
            f"Lead of {name} over the best of the others {lead:+z.3f}, {self._interval_label} "
            f"[{low:+z.3f}, {high:+z.3f}]."
        ]
