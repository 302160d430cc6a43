"""What a confusion matrix says of the prior, by the accuracies on its diagonal."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from bayes_assess._tools.seeds import jax_key
from bayes_assess._tools.shapes import Float
from bayes_assess.estimators.finite_pool import value_draws
from bayes_assess.models.belief import pool_shares
from bayes_assess.questions import ConfusionMatrix
from bayes_assess.questions._base import pool_size
from bayes_assess.results._learned import agreement_belief, contradiction, what_was_learned
from bayes_assess.results.evidence.groupwise import Groupwise
from bayes_assess.results.sections.section import Section

_DRAW_NUMBERS = 20_000_000  # of draws of whole matrices, within these bounds
_MOST_DRAWS, _FEWEST_DRAWS = 10_000, 20


@dataclass(frozen=True, eq=False, repr=False)
class Matrix(Section):
    """Labels of every predicted class by label, and the shares that are right."""

    question: ConfusionMatrix
    evidence: Groupwise

    @property
    def n_draws(self) -> int:
        """How many posterior draws are taken: few of a large matrix."""
        return int(np.clip(_DRAW_NUMBERS // self.evidence.counts.size, _FEWEST_DRAWS, _MOST_DRAWS))

    @cached_property
    def agreements(self) -> Float[np.ndarray, "S K"]:
        """Posterior draws of the share of every predicted class that is right."""
        known = self.evidence
        own = np.arange(len(known.counts))
        belief = agreement_belief(known.posterior, own)
        agreements = known.counts[own, own]
        counts = np.stack([known.labelled - agreements, agreements], axis=-1)
        size = pool_size(self.question, known.cells)
        if belief is known.posterior:  # no closed form; few draws of a large matrix
            theta = self.draws[:, own, own]
            return theta if size is None else pool_shares(jax_key(known.seed, "pool"), theta, counts, size)
        return np.concatenate(list(value_draws(belief, counts, size, known.seed, _MOST_DRAWS)))

    def of_the_prior(self) -> str | None:
        """Say that labels contradict the prior of agreements, or what they taught it."""
        known, score = self.evidence, self.evidence.cells.mean_score
        own = np.arange(len(known.counts))
        contradicted = contradiction(agreement_belief(known.prior, own), known.counts[own, own], known.labelled, score)
        return contradicted or what_was_learned(known.posterior, self.agreements, known.size, score, known._tails())
