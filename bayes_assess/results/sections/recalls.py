"""What recalls add to a table of groups: what is known of their positive items."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from bayes_assess._tools.seeds import jax_key
from bayes_assess._tools.shapes import Bool, Float, Int
from bayes_assess._tools.text import plural
from bayes_assess._tools.to_arviz import ArvizData
from bayes_assess.models.true_positive_rate import FOUND, NEGATIVE, share_found
from bayes_assess.questions import GroupRecall
from bayes_assess.results._learned import contradiction, what_was_learned
from bayes_assess.results.sections.groups import GroupSection


@dataclass(frozen=True, eq=False, repr=False)
class Recalls(GroupSection):
    """Positive labels, and those of them whose items the system has found.

    Examples
    --------
    >>> import bayes_assess as ba
    >>> pool = ba.Pool(predictions=[1, 0, 0], groups={"site": ["a", "a", "b"]})
    >>> a = ba.assess(pool, ba.LowestRecall("site"))
    >>> a.tell([0, 1, 2], [1, 1, 0])  # no item of b is positive
    >>> r = a.result()
    >>> r.positives.tolist(), float(r.overall[0]), r.guarantee
    ([2, 0], 0.5, 'credible')
    """

    question: GroupRecall

    @property
    def positives(self) -> Int[np.ndarray, " G"]:
        """Positive labels of every group, (G,)."""
        return self.evidence.counts[:, :NEGATIVE].sum(-1)

    @property
    def successes(self) -> Int[np.ndarray, " G"]:
        """Positive labels whose items the system has found, (G,)."""
        return self.evidence.counts[:, FOUND]

    @property
    def valued(self) -> Bool[np.ndarray, " G"]:
        """Which groups have a recall, as far as is known, (G,): not those whose items are all known to be negative."""
        known, filled = self.evidence, super().valued
        positive = filled & ((self.positives > 0) | (known.labelled < known.size))
        return positive if self.question.target == "pool" and positive.any() else filled

    def columns(self) -> dict[str, np.ndarray]:
        """Count the positive labels, and those that were found."""
        return {"positive": self.positives, "found": self.successes}

    @cached_property
    def overall(self) -> tuple[float, Float[np.ndarray, " 2"]]:
        """Recall over all groups: estimate and credible interval."""
        known = self.evidence
        mean, draws = self.question.overall(known.cells, known.learner, known.counts, known.seed, known.n_draws)
        return mean, known.ends_of(draws, mean)

    def on_all(self) -> list[str]:
        """Say recall over all groups, which is exact once all is labelled, even if a group has no positive item."""
        known = self.evidence
        if known.question.target == "population" or not self.positives.any() or (known.labelled < known.size).any():
            return super().on_all()
        return [f"Overall recall {self.overall[0]:.3f} (exact)."]

    def lines(self) -> list[str]:
        """Say where no positive item is known, and where there is none."""
        known, bare = self.evidence, (self.positives == 0) & (self.evidence.size > 0)
        all_labelled = known.labelled == known.size
        among = f"of {plural(int((known.size > 0).sum()), 'group')}"
        unknown, absent = (int((bare & which).sum()) for which in (~all_labelled, all_labelled))
        makes = "what the prior makes of it"
        unranked = ", without a rank" if self.valued.sum() < (known.size > 0).sum() else ""
        return [
            *[f"No positive item is known in {unknown} {among}: recall there is {makes}."] * (unknown > 0),
            *[f"No item is positive in {absent} {among}: recall there is not defined; shown is {makes}{unranked}."]
            * (absent > 0),
        ]

    def of_the_prior(self) -> str | None:
        """Say that positive labels contradict the prior of rates, or how groups differ."""
        known, prior = self.evidence, self._beliefs[1]
        if not self.positives.any():  # negative items tell nothing of recall
            return None
        contradicted = contradiction(prior.rate, self.successes, self.positives, None)
        return contradicted or what_was_learned(known.posterior.rate, self.draws, known.size, None, known._tails())

    def to_arviz(self, attributes: dict[str, object]) -> ArvizData:
        """Return ``theta``, the true positive rate of the population, and ``recall``, under the question's target.

        ``share`` is that of the positive items in the population.
        """
        known, drawn = self.evidence, []
        for i, (belief, counts) in enumerate(zip(self._beliefs, (known.counts, known.nothing), strict=True)):
            key = jax_key(known.seed + i, "draws")
            drawn.append(belief.joint_draws(key, known.n_draws, counts, known.cells.sizes))
        (theta, share, full), (theta_before, share_before, _) = drawn
        recall = share_found(theta, full) if self.question.target == "pool" else theta
        posterior, prior = {"theta": theta, "share": share}, {"theta": theta_before, "share": share_before}
        observed = {"found": self.successes, "positives": self.positives}
        return known.to_arviz(posterior | {"recall": recall}, prior, observed, attributes)

    @property
    def _beliefs(self) -> tuple[Any, Any]:
        """Posterior and prior: `TruePositiveRate` each."""
        return self.evidence.posterior, self.evidence.prior
