"""Measures from a belief on an event: posterior, and the interval that leans on nothing beside it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import NamedTuple

import numpy as np

from bayes_assess._tools.arrays import is_whole, listing, show
from bayes_assess._tools.levels import checked_level
from bayes_assess._tools.seeds import generator
from bayes_assess._tools.shapes import Array, Bool, Float
from bayes_assess._tools.text import figures, labels_suggest, plural
from bayes_assess._tools.to_arviz import ArvizData, to_arviz
from bayes_assess.acquisition.equivalence import checked_rope
from bayes_assess.errors import QuestionError
from bayes_assess.estimators.posterior_measure import posterior_measure, simultaneous_band
from bayes_assess.estimators.ratio_losses import ratio_losses
from bayes_assess.estimators.verdicts import region_masses
from bayes_assess.measures import LossTable
from bayes_assess.questions._measures_answered import cells_table
from bayes_assess.results._in_words import CONTRADICTING, KNOWN, SAID
from bayes_assess.results.evidence._belief_draws import BeliefDraws
from bayes_assess.results.evidence._on_measures import ROUNDING, Variables

_LINES = 12  # of a summary
_ENOUGH, _LIKELY = 20, 0.05  # labels of predicted positives, and probability, from which on chance is suspected


class EstimatedDifference(NamedTuple):
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


class Believed(BeliefDraws):
    """Evidence on measures from a belief that learns what the scores mean, and what random items alone tell.

    Attributes
    ----------
    found : Posterior
    supposed : function, optional
        Draws measures as if all items set aside were of one kind, and of another, see `VarianceReduction.supposing`.
    """

    def band(
        self, level: float | None = None, draws: Float[np.ndarray, "S k"] | None = None
    ) -> Float[np.ndarray, "k 2"]:
        """Compute intervals that hold all measures at once, such as a whole curve, with a posterior probability.

        Parameters
        ----------
        level : float in (0, 1), optional
            That of the result by default.
        draws : (S, k) floats, optional
            Of functions of the measures; of the measures by default.

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
        return simultaneous_band(self.found.draws if draws is None else draws, level)

    def difference(self, first: str | int, second: str | int, rope: float = 0.0) -> EstimatedDifference:
        """Compare two of the measures, such as the F1 of two systems, by their joint posterior.

        Parameters
        ----------
        first, second : str or int
            Names of outputs as in ``groups``, or their positions.
        rope : float
            Half-width of the region in which they count as equal.

        Returns
        -------
        EstimatedDifference
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
            if len(at) != 1 or not is_whole(at[0], 0) or at[0] >= len(self.groups):
                raise QuestionError(f"There is no output {show(side)}; there are {listing(self.groups)}.")
            columns.append(self.found.draws[:, int(at[0])])
        draws = columns[0] - columns[1]
        posterior = posterior_measure(draws[:, None], self.found.exact, self.found.cautious)
        masses = region_masses(draws, checked_rope(rope) + ROUNDING)
        return EstimatedDifference(float(posterior.value[0]), posterior.interval(self.level)[0], *masses.tolist())

    def to_arviz(
        self, measures: Callable[[], Variables], parameters: bool, attributes: Mapping[str, object]
    ) -> ArvizData:
        """Return posterior draws of the measures as an ArviZ object, with those of the model if they are wanted."""
        (posterior, dims, coords), counts = measures(), self.found.events
        observed, of_cells = {"labels": counts.sum(1)}, {}
        if not self.events.believes_all:
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
            attrs=attributes,
        )

    @property
    def takes_one_line(self) -> bool:
        """Whether one sentence says all measures that no other sentence of the summary does."""
        return len(self.groups) <= SAID and (len(self.groups) > 1 or bool(np.any(self.contradicted)))

    def lines(self, on_ranks: list[str]) -> list[str]:
        """Say estimates, intervals and what these lean on; in between, sentences on ranks."""
        ends, value, certain = self.ends, self.value, self.certain
        if self.exact:
            lines = [self.in_words_exact(name, point) for name, point in zip(self.groups, value, strict=True)]
            return [*_first(lines), *on_ranks, *self.if_undefined()]
        lines = []
        for i, (name, measured, (low, high)) in enumerate(zip(self.groups, value, ends, strict=True)):
            point, *between = figures(measured, low, high)
            if certain[i]:
                lines.append(f"{name} {point} ({KNOWN}).")
                continue
            kind, given = ("anytime", "") if self.contradicted[i] else ("credible", f", {self.if_alike}")
            lines.append(f"{name} {point}, {self.level:.0%} {kind} interval [{', '.join(between)}]{given}.")
        many = int(np.sum(self.contradicted)) > 1
        lines = [*self.warning("Their intervals hold both." if many else "The interval holds both."), *_first(lines)]
        if self.all_certain:
            return [*lines, *on_ranks, *self.if_undefined()]
        on_scores = *self._if_scores_fall(), *self._if_no_better_than_chance(), *self._if_hidden()
        return [*lines, *on_ranks, *self.if_undefined(), self.leaning(), *on_scores]

    @property
    def if_alike(self) -> str:
        """What credible intervals lean on, within a sentence."""
        known = labels_suggest(self.labels_learned)
        return (
            f"if the scores rank as {known}"
            if self._scored
            else f"if items with the same predictions are alike, as {known}"
        )

    @property
    def kind_of_intervals(self) -> str:
        """What intervals are, within a sentence."""
        return f"{self.level:.0%} credible intervals, {self.if_alike}"

    def warning(self, consequence: str) -> list[str]:
        """Say what random items contradict, and the consequence; nothing where they contradict nothing."""
        return [self._contradicting(self.named_contradicted, consequence)] if np.any(self.contradicted) else []

    def _contradicting(self, named: str, consequence: str) -> str:
        said = f"what they say of {named} and what the other labels suggest have no value in common"
        return f"{CONTRADICTING} the {self.trusted}: {said}. {consequence}"

    def leaning_of_verdict(self, contradicted: Callable[[], str], known: Callable[[], str]) -> list[str]:
        """Say what a verdict leans on, and what random items alone tell of it.

        Parameters
        ----------
        contradicted, known : functions that return texts
            Of what random items contradict the belief, beside the measures, and what they tell; without words for
            nothing.
        """
        named, said = self.named_contradicted or contradicted(), known()
        against = "Verdict and ranks lean on what the other labels suggest; intervals of leads hold both."
        leaning = self._contradicting(named, against) if named else f"This holds {self.if_alike}."
        without = f"Without trusting the {self.trusted}{f': {said}' if said else ', nothing can be said yet'}"
        return [leaning, *([self.leaning(without)] if self.audited else [])]

    def leaning(self, without: str | None = None) -> str:
        """Say what random items alone tell; what they tell of the measures in words of the result, if there are any."""
        events, audits, size = self.events, self.found.audits, self.cells.sizes
        if self.audited:
            ends = self._known_without_trust() if without is None else without
        else:
            ends = self._known_without_account(without)
            if not audits.any():  # random labels that there may be are of an account of other measures
                return f"{ends}."
        if events.believes_all:
            return f"{ends}; {_number(int(audits.sum()) * self.question.labels_each, 'random label')} so far."
        if events.about_agreement:
            n, wrong = int(audits.sum()), int(audits[:, 0].sum())
            return f"{ends}; {_found(n, '', wrong, 'error')}."
        matters = np.asarray(self.cells.measure.nonzero).any(-1)  # of precision, those predicted positive alone
        quiet = (events.coordinates.feature < 0) & matters
        if not size[quiet].any():
            return f"{ends}; {self.said_of_random_labels()}."
        among = f" among {plural(int(size[quiet].sum()), 'item')} not predicted positive"
        return f"{ends}; {self.said_of_random_labels(quiet, among)}."

    def _known_without_account(self, without: str | None) -> str:
        """Say what is known without trust where random items have not been counted for these measures, and why."""
        table = cells_table(self.cells)
        if len(ratio_losses(table).outputs):
            why = "the session kept account of its own measure alone"
        elif isinstance(table, LossTable) and any(part.n_outputs == table.n_classes > 1 for part in table.parts):
            why = "random items are counted for one class at a time, which a question names as the positive one"
        else:
            why = "what is asked is no ratio of sums, which random items alone could bound"
        if without is None:
            return f"Without trusting the {self.trusted}, nothing can be said: {why}"
        return f"{without}, whatever items without a label turn out to be: {why}"

    def _if_scores_fall(self) -> list[str]:
        """Say where scores are taken for the other way round."""
        if not self.events.subject.turned:
            return []
        return [
            "Scores are low where the positive class is predicted: they are taken to fall as it gets more probable, as "
            "distances do."
        ]

    def _if_no_better_than_chance(self) -> list[str]:
        """Say where predicted positives may well be positive no more often than other items."""
        events = self.events
        if events.believes_all or events.about_agreement:
            return []
        announced, sizes = events.coordinates.feature > 0, np.asarray(self.cells.sizes, float)
        labelled = self.found.events + self.found.known
        if labelled[announced].sum() < _ENOUGH or not sizes[~announced].any():
            return []
        n_open = sizes - labelled.sum(1)
        positives = labelled[:, 1] + n_open * self.rates
        among = [positives[:, which].sum(1) / sizes[which].sum() for which in (announced, ~announced)]
        chance = float((among[0] <= among[1]).mean())
        if chance < _LIKELY:
            return []
        return [
            f"Predicted positives may be positive no more often than other items (probability {chance:.0%}): check "
            "that predictions and labels are of the same items."
        ]

    def _known_without_trust(self) -> str:
        design, without = self.design_interval, f"Without trusting the {self.trusted}"
        ranges = np.array(cells_table(self.cells).ranges)
        said = np.flatnonzero((design != ranges).any(-1) & ~self.certain)
        if not len(said):
            return f"{without}, nothing can be said yet"
        if len(design) == 1:
            return f"{without}: [{', '.join(figures(*design[0]))}]"
        named = ", ".join(f"{self.groups[i]} [{', '.join(figures(*design[i]))}]" for i in said[:SAID])
        more = len(said) - SAID
        return f"{without}: {named}{f', and {more:,} more in the table' if more > 0 else ''}"

    def said_of_random_labels(self, cells: Bool[Array, " K"] | slice = slice(None), among: str = "") -> str:
        """Say what random labels found."""
        audits = self.found.audits[cells]
        return _found(int(audits.sum()), among, int(audits[:, 1].sum()), "positive")

    def _if_skipped(self) -> list[str]:
        return [] if self.supposed is None or len(self.groups) > SAID else self._suppositions

    @cached_property
    def _suppositions(self) -> list[str]:
        """What measures would be if all items set aside were of one kind, and of the other: learned once."""
        assert self.supposed is not None
        agreement = self.events.about_agreement
        single = not agreement and self.events.subject.votes is None  # of several systems, which one is right?
        by_prediction, concerned, *ends = self.supposed(by_prediction=single)
        found = [posterior_measure(of_kind.draws, False, of_kind.cautious) for of_kind in ends]
        said = [(posterior.value, posterior.interval(self.level)) for posterior in found]
        kinds = ("right", "wrong") if agreement or by_prediction else ("positive", "negative")
        return [
            self._supposition(name, kinds, [(float(value[i]), interval[i]) for value, interval in said])
            for i, name in enumerate(self.groups)
            if concerned[i]  # items set aside may be of other groups
        ]

    @property
    def _use_of_volunteered(self) -> str:
        if self.found.known.any():
            return "and count as known, no more"
        alike = "and taken for chosen at random among items that are alike"
        return f"{alike}; without trusting the {self.trusted}, for known, no more"

    @property
    def _others_of_skipped(self) -> str:
        return f"others with {'its' if self.n_skipped == 1 else 'their'} prediction{' and score' * self._scored}"


def _first(lines: list[str]) -> list[str]:
    """Return the first lines, and how many more there are."""
    return lines if len(lines) <= _LINES else [*lines[:_LINES], f"And {len(lines) - _LINES:,} more."]


def _found(n: int, among: str, hits: int, what: str) -> str:
    """Say what random labels found."""
    return f"{_number(n, 'random label')}{among} found {_number(hits, what)}" if n else f"no random label{among} yet"


def _number(n: int, what: str) -> str:
    return f"no {what}" if n == 0 else f"{n:,} {what}{'s' * (n != 1)}"
