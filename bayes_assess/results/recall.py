"""Recall of every group, with what is known of its positive items."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from bayes_assess._tools.lazy import jax
from bayes_assess._tools.seeds import jax_key
from bayes_assess._tools.shapes import Float, Int
from bayes_assess._tools.text import plural
from bayes_assess.models.true_positive_rate import FOUND, NEGATIVE
from bayes_assess.questions import GroupRecall
from bayes_assess.results._learned import contradiction, what_was_learned
from bayes_assess.results.groups import GroupwiseResult


@dataclass(frozen=True, eq=False, repr=False)
class RecallResult(GroupwiseResult):
    """Recall of every group: estimates, intervals, ranks (1 is the lowest recall) and probabilities.

    Attributes
    ----------
    groups : (G,) names
    estimate : (G,) floats
        Expected found items over expected positive ones, or for ``target="population"`` the posterior mean.
    interval : (G, 2) floats
        Equal-tailed credible interval.
    guarantee : str
        ``"credible"``, or ``"exact"`` once everything is labelled and every group has positive items.
    size, labelled, positives, successes : (G,) integers
        Items, labels, positive labels, and those of them whose items the system has found.

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
    _counted: ClassVar[tuple[str, ...]] = ("positive", "found")

    @property
    def positives(self) -> Int[np.ndarray, " G"]:
        """Positive labels of every group, (G,)."""
        return self.counts[:, :NEGATIVE].sum(-1)

    @property
    def successes(self) -> Int[np.ndarray, " G"]:
        """Positive labels whose items the system has found, (G,)."""
        return self.counts[:, FOUND]

    @cached_property
    def overall(self) -> tuple[float, Float[np.ndarray, " 2"]]:
        """Recall over all groups: estimate and credible interval."""
        mean, draws = self.question.overall(self.cells, self.evidence.learner, self.counts, self.seed, self.n_draws)
        return mean, self._ends(draws, mean)

    def _answer(self) -> list[str]:
        bare = int(((self.positives == 0) & (self.size > 0)).sum())
        if not bare:
            return super()._answer()
        filled = int((self.size > 0).sum())
        where = f"{bare} of {plural(filled, 'group')}"
        return [
            *super()._answer(),
            f"No positive item is known in {where}: recall there is what the prior makes of it.",
        ]

    def _raw_columns(self) -> dict[str, np.ndarray]:
        return {"positive": self.positives, "found": self.successes}

    def _of_the_prior(self) -> str | None:
        prior: Any = self.prior
        found = contradiction(prior.rate, self.successes, self.positives, None)
        return found or what_was_learned(self.posterior.rate, self.draws, self.size, None, self._tails())

    def to_arviz(self) -> Any:
        """Return posterior and prior draws, observed and constant data as an ArviZ object.

        ``theta`` is the true positive rate of the population; ``recall`` is what the question asks for, under its
        target; ``share`` is that of the positive items in the population.
        """
        beliefs: tuple[Any, Any] = self.posterior, self.prior
        n, drawn = len(self.draws), []
        for i, belief in enumerate(beliefs):
            keys = jax.random.split(jax_key(self.seed + i, "draws"))
            parts = zip(("theta", "share"), (belief.rate, belief.share), keys, strict=True)
            drawn.append({name: np.asarray(part.sample(key, n)) for name, part, key in parts})
        observed = {"found": self.successes, "positives": self.positives}
        return self.evidence.to_arviz(drawn[0] | {"recall": self.draws}, drawn[1], observed, self._attributes())
