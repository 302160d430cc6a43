"""What summaries say of measures from a belief."""

from __future__ import annotations

import numpy as np

from bayes_assess._tools.shapes import Array, Bool
from bayes_assess._tools.text import labels_suggest
from bayes_assess.estimators.posterior_measure import posterior_measure
from bayes_assess.estimators.ratio_losses import ratio_losses
from bayes_assess.questions._measures_answered import cells_table
from bayes_assess.results.sensitivity import SensitiveToHidden

_LINES = 12  # of a summary
SAID = 3  # measures, up to which a sentence names each
_DIGITS = 3
_ENOUGH, _LIKELY = 20, 0.05  # labels of predicted positives, and probability, from which on chance is suspected


class BeliefSentences(SensitiveToHidden):
    """Sentences of results of a belief: what was found, what that leans on, and what random items alone tell."""

    def _answer(self) -> list[str]:
        ends, value = self._ends_of_all(), np.atleast_1d(self.estimate)
        if self.found.exact:
            lines = [f"{name} {one:.{_DIGITS}f} (exact)." for name, one in zip(self.groups, value, strict=True)]
            return [*lines[:_LINES], *(self._said_of_the_best() if self._is_ordered else [])]
        lines = [self._contradiction("The interval holds both.")] if np.any(self._contradicted) else []
        for i, (name, one, (low, high)) in enumerate(zip(self.groups, value, ends, strict=True)):
            if self._certain[i]:
                lines.append(f"{name} {one:.{_DIGITS}f} (exact: no label that is missing can change it).")
                continue
            given = "" if self._contradicted[i] else f", {self._if_alike()}"
            lines.append(
                f"{name} {one:z.3f}, {self.level:.0%} {self._kind(i)} interval [{low:z.3f}, {high:z.3f}]{given}."
            )
        if len(lines) > _LINES:
            lines = [*lines[:_LINES], f"And {len(value) - _LINES:,} more."]
        best = self._said_of_the_best() if self._is_ordered else []
        if self._all_certain:
            return [*lines, *best]
        return [*lines, *best, self._without_trust(), *self._if_no_better_than_chance(), *self._if_hidden()]

    def _if_alike(self) -> str:
        """Say what credible intervals lean on, within a sentence."""
        known = labels_suggest(self.labels_used)
        return (
            f"if the scores rank as {known}"
            if self._scored
            else f"if items with the same predictions are alike, as {known}"
        )

    def _contradiction(self, consequence: str) -> str:
        named = ", ".join(self.groups[self._contradicted][:3])
        return (
            f"Random items contradict the {self._trusted}: what they say of {named} and what the other labels suggest "
            f"have no value in common. {consequence}"
        )

    def _kind(self, i: int) -> str:
        return "anytime" if self._contradicted[i] else "credible"

    def _without_trust(self) -> str:
        """Say what random items alone tell."""
        if not self.found.audited:
            bounded = len(ratio_losses(cells_table(self.cells)).outputs)
            said = "what is asked is no ratio of sums, which random items alone could bound"
            why = "the session kept account of its own measure alone" if bounded else said
            ends = f"Without trusting the {self._trusted}, nothing can be said: {why}"
        else:
            ends = self._known_without_trust()
        events, audits, size = self._events, self.found.audits, self.cells.sizes
        if events.believes_all:
            return f"{ends}; {_number(int(audits.sum()) * self.question.labels_each, 'random label')} so far."
        if events.about_agreement:
            n, wrong = int(audits.sum()), int(audits[:, 0].sum())
            return f"{ends}; {_found(n, '', wrong, 'error')}."
        quiet = events.coordinates.feature < 0
        among = f" among {int(size[quiet].sum()):,} items not predicted positive"
        return f"{ends}; {self._random_labels(quiet, among)}."

    def _if_no_better_than_chance(self) -> list[str]:
        """Say where predicted positives may well be positive no more often than other items."""
        events = self._events
        if events.believes_all or events.about_agreement:
            return []
        announced, sizes = events.coordinates.feature > 0, np.asarray(self.cells.sizes, float)
        if self.found.events[announced].sum() < _ENOUGH or not sizes[~announced].any():
            return []
        left = sizes - self.found.events.sum(1)
        positives = self.found.events[:, 1] + left * self._rates
        among = [positives[:, which].sum(1) / sizes[which].sum() for which in (announced, ~announced)]
        chance = float((among[0] <= among[1]).mean())
        if chance < _LIKELY:
            return []
        return [
            f"Predicted positives may be positive no more often than other items (probability {chance:.0%}): check "
            "that predictions and labels are of the same items."
        ]

    def _known_without_trust(self) -> str:
        design, without = self._design, f"Without trusting the {self._trusted}"
        ranges = np.array(cells_table(self.cells).ranges)
        said = np.flatnonzero((design != ranges).any(-1) & ~self._certain)
        if not len(said):
            return f"{without}, nothing can be said yet"
        if len(design) == 1:
            return f"{without}: [{design[0, 0]:.3f}, {design[0, 1]:.3f}]"
        named = ", ".join(f"{self.groups[i]} [{design[i, 0]:.3f}, {design[i, 1]:.3f}]" for i in said[:SAID])
        more = len(said) - SAID
        return f"{without}: {named}{f', and {more:,} more in the table' if more > 0 else ''}"

    def _random_labels(self, cells: Bool[Array, " K"] | slice = slice(None), among: str = "") -> str:
        audits = self.found.audits[cells]
        return _found(int(audits.sum()), among, int(audits[:, 1].sum()), "positive")

    def _if_skipped(self) -> list[str]:
        if self.supposed is None or len(self.groups) > SAID:
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
        return (
            "the estimate takes them for random ones among items that are alike; the interval without trust knows "
            "them, no more."
        )

    @property
    def _others_of_skipped(self) -> str:
        return f"others with {'its' if self.n_skipped == 1 else 'their'} prediction{' and score' * self._scored}"


def _found(n: int, among: str, hits: int, what: str) -> str:
    """Say what random labels found."""
    return f"{_number(n, 'random label')}{among} found {_number(hits, what)}" if n else f"no random label{among} yet"


def _number(n: int, what: str) -> str:
    return f"no {what}" if n == 0 else f"{n:,} {what}{'s' * (n != 1)}"
