"""Draws of measures from a belief on an event, what random items alone tell, and what hidden positives would change."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar

import numpy as np

from bayes_assess._tools import engine
from bayes_assess._tools.arrays import show, values_of
from bayes_assess._tools.axes import in_64_bits
from bayes_assess._tools.seeds import generator
from bayes_assess._tools.shapes import Array, Bool, Float
from bayes_assess._tools.text import labels_suggest
from bayes_assess.designs._belief_state import MeasurePosterior, Supposed
from bayes_assess.errors import QuestionError
from bayes_assess.estimators.contradiction import contradicted as are_apart
from bayes_assess.estimators.contradiction import contradicting_level, widened
from bayes_assess.estimators.hidden_positives import HiddenPositives, bulk_cells
from bayes_assess.estimators.possible_values import LabelledByAttribute, possible_values
from bayes_assess.estimators.posterior_measure import PosteriorMeasure, posterior_measure
from bayes_assess.measures import LOSSES, PRCurveTable, combine
from bayes_assess.questions._event_cells import EventCells
from bayes_assess.questions._events import CellEvents
from bayes_assess.questions._measures_answered import cells_table
from bayes_assess.results._in_words import SAID
from bayes_assess.results.evidence._on_measures import ROUNDING, OnMeasures
from bayes_assess.results.sensitivity import Sensitivity

_SHARES = (0.0, 0.05, 0.1, 0.2, 0.3, 0.5)
_OFTEN = 0.05  # share of draws
_SAID = 0.1  # share of hidden positives that summaries speak of


@dataclass(frozen=True, eq=False, repr=False)
class BeliefDraws(OnMeasures):
    """Draws of measures from a belief, their intervals, and whether random items contradict these."""

    cells: EventCells
    found: MeasurePosterior = field(kw_only=True)
    supposed: Callable[..., tuple[bool, Bool[np.ndarray, " k"], Supposed, Supposed]] | None = field(
        kw_only=True, default=None
    )

    has_joint: ClassVar[bool] = True  # draws, by which to rank

    @property
    def exact(self) -> bool:
        """Whether every item is labelled that can matter."""
        return self.found.exact

    @property
    def audited(self) -> bool:
        """Whether random items have been counted for these measures."""
        return self.found.audited

    @property
    def guarantee(self) -> str:
        """What all intervals promise: ``"anytime"`` where random items contradict the belief on every measure."""
        if self.all_certain:
            return "exact"
        return "anytime" if np.all(self.contradicted | self.certain) else "credible"

    @property
    def guarantee_of_functions(self) -> str:
        """What intervals of functions of the measures promise: random items are counted for the measures alone."""
        return "exact" if self.all_certain else "credible"

    @property
    def assumption(self) -> str:
        """What estimate and interval lean on."""
        if self.exact:
            return "Nothing is assumed: every item is labelled that can matter."
        if self.all_certain:
            return "Nothing is assumed: no label that is missing can change the answer."
        if self.guarantee == "anytime":
            return f"Nothing is assumed of the {self.trusted}: random items contradict what the other labels suggest."
        return self._taken()

    @property
    def assumption_of_functions(self) -> str:
        """What functions of the measures lean on, such as leads, where random items contradict the belief, too."""
        return self.assumption if self.all_certain else self._taken()

    @property
    def labels_learned(self) -> int:
        """Labels from which something is learned of other items: all, unless some count as known, no more."""
        return self.labels_used - int(self.found.known.sum())

    def _taken(self) -> str:
        """Say what is taken to hold, and of which measures random items contradict it."""
        taken = (
            "The scores are taken to rank the items"
            if self._scored
            else "Items with the same predictions are taken to be alike,"
        )
        but = f", although random items contradict that for {self.named_contradicted}" * bool(np.any(self.contradicted))
        return f"{taken} as {labels_suggest(self.labels_learned)}{but}."

    @property
    def names_said(self) -> np.ndarray:
        """Names of the measures as sentences have them, (k,): thresholds of curves without digits that tell nothing."""
        table = cells_table(self.cells)
        return np.array(table.names_said) if isinstance(table, PRCurveTable) else self.groups

    @property
    def named_contradicted(self) -> str:
        """Names of the measures on which random items contradict the belief, of many the first ones."""
        names = self.names_said[self.contradicted]
        return ", ".join(names[:SAID]) + (f" and {len(names) - SAID:,} more" if len(names) > SAID else "")

    @property
    def value(self) -> Float[np.ndarray, " k"]:
        """Posterior medians."""
        return self._measured.value

    @property
    def ends(self) -> Float[np.ndarray, "k 2"]:
        """Credible intervals, wider where random items contradict them."""
        return widened(self.credible_interval, self.design_interval, self.contradicted)

    @cached_property
    def credible_interval(self) -> Float[np.ndarray, "k 2"]:
        """Intervals given the belief."""
        value = self._measured.value
        known = np.stack([value, value], axis=-1)
        return known if self.exact else np.where(self._settled[:, None], known, self._measured.interval(self.level))

    @cached_property
    def design_interval(self) -> Float[np.ndarray, "k 2"]:
        """Intervals from random items alone; the values of measures that no label which is missing can change."""
        if self.exact:
            return self.credible_interval
        ends = self.found.design_interval
        return np.where(self._settled[:, None], self._measured.value[:, None], ends)

    @property
    def sure_design_interval(self) -> Float[np.ndarray, "k 2"]:
        """The same at the level by which random items may contradict the belief, see `contradicting_level`."""
        return self.design_interval if self.exact else self.found.sure_design_interval

    @cached_property
    def contradicted(self) -> np.ndarray:
        """Whether the two have no value in common, (k,), at a level of .95 or more: by chance those of others part."""
        level = contradicting_level(self.level)
        if level == self.level:
            return are_apart(self.credible_interval, self.design_interval)
        apart = are_apart(self._measured.interval(level), self.found.sure_design_interval)
        return apart & ~self._settled & (not self.exact)

    @property
    def second(self) -> Float[np.ndarray, "k 2"]:
        """Intervals that lean on nothing, beside `ends`."""
        return self.design_interval

    @property
    def sure_second(self) -> Float[np.ndarray, "k 2"]:
        """The same at the level by which random items may contradict the belief."""
        return self.sure_design_interval

    @property
    def certain(self) -> Bool[np.ndarray, " k"]:
        """Measures that no label which is missing can change, (k,)."""
        return self.exact | (np.ptp(self.design_interval, axis=-1) <= ROUNDING)

    @cached_property
    def _settled(self) -> Bool[np.ndarray, " k"]:
        """Measures that no bets are kept for, and of which labels leave one value possible, (k,)."""
        wide = np.ptp(self.found.design_interval, axis=-1) > ROUNDING
        constant = wide & (np.ptp(self.found.draws, axis=0) <= ROUNDING)
        if self.question.is_curve or not constant.any():  # bets on some thresholds tell of all
            return np.zeros_like(constant)
        with engine.eager(), in_64_bits():
            labelled = LabelledByAttribute.of(self.cells.measure, self.counts)
            possible = possible_values(cells_table(self.cells), labelled, constant)
            return constant & (np.ptp(possible, axis=-1) <= ROUNDING)

    @property
    def all_certain(self) -> bool:
        """Whether no label which is missing can change a measure."""
        return bool(np.all(self.certain))

    @property
    def standard_error(self) -> Float[np.ndarray, " k"]:
        """Posterior standard deviations."""
        return self.found.draws.std(0)

    @property
    def posterior(self) -> Float[np.ndarray, "S K"]:
        """Draws of the rate of the event in every cell, (S, K), to take for any other purpose."""
        if self.events.believes_all:
            raise QuestionError(
                "This answer is about all of a label, with no event that has a rate; `draws` has the posterior of what "
                "was asked."
            )
        return self.rates

    @property
    def rates(self) -> Float[np.ndarray, "S K"]:
        """Draws of the rate of the event in every cell."""
        nu, counts = self.found.strength, self.found.events
        return (nu * self.found.curves + counts[:, 1]) / (nu + counts.sum(1))

    @property
    def events(self) -> CellEvents:
        """The event that the belief is on."""
        return self.cells.events

    @cached_property
    def joint(self) -> Float[np.ndarray, "S k"]:
        """Posterior draws of the measures."""
        return self.found.draws

    @property
    def quantiles_of_first(self) -> Float[np.ndarray, " Q"]:
        """Posterior draws of the first measure."""
        return self.found.draws[:, 0]

    @property
    def cautious(self) -> Bool[np.ndarray, "S P"]:
        """Which of the draws take positives to hide, or the surest items to err."""
        return self.found.cautious

    def summarised(self, draws: Float[np.ndarray, "S n"]) -> PosteriorMeasure:
        """Summarise draws of something that were made of `joint`."""
        return posterior_measure(draws, self.exact, self.cautious)

    def columns(self) -> dict[str, Array]:
        """Return the intervals that lean on random items alone."""
        return {"design_lower": self.design_interval[:, 0], "design_upper": self.design_interval[:, 1]}

    @property
    def undefined_in_draws(self) -> Bool[np.ndarray, " k"]:
        """Measures that need not be defined, and that are 0 in many draws for that, (k,)."""
        zero = ~self.certain & ((self.found.draws == 0).mean(0) >= _OFTEN)
        if not zero.any() or not self.labels_used or self.question.measures_compared == "two":
            return np.zeros_like(zero)
        return zero & ~self.undefined & self.perhaps_undefined

    @property
    def trusted(self) -> str:
        """What the belief leans on."""
        return "scores" if self._scored else "predictions"

    @cached_property
    def _scored(self) -> bool:
        """Whether the answer hinges on scores: items that may change it differ in more than what is predicted."""
        if not self.events.subject.is_scored:
            return False
        places, cells = self.events.coordinates, self.cells
        is_open = (np.asarray(cells.sizes) > self.counts.sum(-1)) & np.asarray(cells.measure.nonzero).any(-1)
        told_apart = np.stack([places.feature, places.place[0]])[:, is_open]
        return np.unique(told_apart, axis=1).shape[1] > len(np.unique(told_apart[0]))

    @cached_property
    def _measured(self) -> PosteriorMeasure:
        return self.summarised(self.found.draws)

    def sensitivity(self, shares: Sequence[float] = _SHARES) -> Sensitivity:
        """Say what the answer would be if a share of all positives hid among items of low score.

        Parameters
        ----------
        shares : sequence of floats in [0, 1)
            Shares of all positives.

        Returns
        -------
        Sensitivity

        Raises
        ------
        QuestionError
            If the answer depends on more than on positives, is exact, or no item has a low score.

        Examples
        --------
        >>> import bayes_assess as ba
        >>> a = ba.assess(ba.Pool(scores=[0.01] * 40 + [0.9] * 4), ba.Metric("f1"))
        >>> a.tell(range(36, 44), [0] * 4 + [1] * 4)
        >>> hidden = a.result().sensitivity([0.0, 0.5])  # as many as were found: 2 * 4 / (8 + 4)
        >>> round(float(hidden.estimate[1]), 3)
        0.667
        """
        given = values_of(shares)
        fits = given.ndim == 1 and len(given) and given.dtype.kind in "iuf"
        if not fits or not ((given >= 0) & (given < 1)).all() or (np.diff(given) <= 0).any():
            raise QuestionError(f"Hidden shares increase and lie in [0, 1), such as 0.1; found {show(shares)}.")
        reason = self._why_nothing_hides()
        if reason:
            raise QuestionError(reason)
        bulk, posterior, audits = self._bulk, self.found, self.found.audits
        n_random, n_positive = int(audits[bulk].sum()), int(audits[bulk, 1].sum())
        # Items that were chosen are known, and no longer among those of which random ones tell.
        n_chosen = int((posterior.events + posterior.known)[bulk].sum()) - n_random
        n_items = int(np.asarray(self.cells.sizes)[bulk].sum()) - n_chosen
        return Sensitivity(
            shares=given.astype(np.float64),
            level=self.level,
            names=self.groups,
            names_said=self.names_said,
            n_items=n_items - n_random,
            random_labels=n_random,
            random_positives=n_positive,
            ruled_out=self._hidden.ruled_out(n_items, n_random, n_positive, self.level),
            hidden=self._hidden,
            cautious=posterior.cautious,
            is_scalar=self.is_single,
            compares=self.question.measures_compared == "two",
            low_is_best=combine(self.question.measure)[0].name in LOSSES,
            scored=self.events.subject.is_scored,
        )

    @cached_property
    def _bulk(self) -> np.ndarray:
        size, feature = np.asarray(self.cells.sizes), np.asarray(self.events.coordinates.feature)
        unpredicted = (feature < 0) & (feature < feature.min() + 1e-3)  # by no system
        return bulk_cells(np.asarray(self.found.curves, np.float64).mean(0), size, unpredicted)

    @cached_property
    def _hidden(self) -> HiddenPositives:
        rng, found = generator(self.seed, "posterior of a measure"), self.found
        return HiddenPositives.drawn(
            rng, self.cells.measure, found.curves, found.strength, found.events, self._bulk, found.known
        )

    def _why_nothing_hides(self) -> str | None:
        """Say why positives cannot be supposed to hide; None where they can."""
        events = self.events
        if self.found.exact:
            return "Nothing hides: every item is labelled that can matter, and the answer is exact."
        if events.believes_all or events.about_agreement or self.cells.measure.n_outcomes != 2:
            return (
                f"{self.question.name} depends on more than on which items are positive, so that no hidden positives "
                "can be supposed; ask for a measure of one positive class, such as recall or F1."
            )
        if self.question.measures_compared == "pairs":
            return "Hidden positives are supposed of two systems or groups at a time; compare them by Compare."
        if not self._bulk.any():
            return (
                "No items have a low score: those that are not predicted positive are expected to be positive more "
                "than half as often as all items."
            )
        return None

    def _if_hidden(self) -> list[str]:
        """Say what hidden positives would make of the answer, where that is outside of its interval.

        That is said of one hidden positive in ten, if random labels do not rule that out.
        """
        one_of_few = len(self.groups) <= SAID and not self.question.is_curve
        if not one_of_few or self._why_nothing_hides():
            return []
        sensitivity = self.sensitivity((0.0, _SAID))
        if sensitivity.ruled_out <= _SAID:
            return []
        value, ends = sensitivity.estimate.reshape(2, -1), sensitivity.interval.reshape(2, -1, 2)
        outside = (value[1] < ends[0, :, 0]) | (value[1] > ends[0, :, 1])
        lines = [sensitivity.said(_SAID, int(i)) for i in np.flatnonzero(outside)]
        return [*lines[:-1], f"{lines[-1][:-1]}; {_lower(sensitivity.said_of_labels())}."] if lines else []


def _lower(text: str) -> str:
    return text[0].lower() + text[1:]
