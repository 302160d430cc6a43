"""What costs of predicted classes add to a table of groups."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bayes_assess._tools.to_arviz import ArvizData, to_arviz
from bayes_assess.questions import MostCostly
from bayes_assess.results._learned import agreement_belief, contradiction
from bayes_assess.results.sections.groups import GroupSection


@dataclass(frozen=True, eq=False, repr=False)
class Costs(GroupSection):
    """Labels of every predicted class by their costs: counts (K, U) are by the distinct costs ``question.levels``.

    Examples
    --------
    >>> import bayes_assess as ba
    >>> pool = ba.Pool(predictions=["cat", "cat", "dog", "dog"])
    >>> result = ba.assess(pool, ba.MostCostly([[0, 1], [10, 0]]), prior="uninformative").result()
    >>> result.estimate.tolist(), result.identified.tolist()
    ([0.5, 5.0], ['dog'])
    """

    question: MostCostly

    def columns(self) -> dict[str, np.ndarray]:
        """Return the mean cost of labels."""
        known = self.evidence
        return {"seen": (self.question.levels * known.counts).sum(-1) / np.maximum(known.labelled, 1)}

    def of_the_prior(self) -> str | None:
        """Say that labels contradict the prior of agreements."""
        known, own = self.evidence, self.question.agreement
        agreements = known.counts[np.arange(len(own)), own]
        return contradiction(agreement_belief(known.prior, own), agreements, known.labelled, known.cells.mean_score)

    def to_arviz(self, attributes: dict[str, object]) -> ArvizData:
        """Return posterior and prior draws of the costs."""
        known = self.evidence
        return to_arviz(
            {"cost": self.draws},
            prior={"cost": known.prior_draws(known.n_draws)},
            observed_data={"outcomes": known.counts},
            constant_data={"labels": known.labelled, "items": known.size, "outcome_cost": self.question.levels},
            dims={name: ["prediction"] for name in ("cost", "labels", "items")}
            | {name: ["prediction", "cost_level"] for name in ("outcomes", "outcome_cost")},
            coords={"prediction": known.groups},
            attrs=attributes,
        )
