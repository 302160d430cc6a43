"""What labels say of groups: a belief on every group's outcomes, with its labels counted by outcome."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from bayes_assess._tools.arrays import show
from bayes_assess._tools.seeds import jax_key
from bayes_assess._tools.shapes import Float, Int
from bayes_assess._tools.text import labels_suggest
from bayes_assess._tools.to_arviz import Arrays, ArvizData, to_arviz
from bayes_assess.errors import QuestionError
from bayes_assess.estimators.finite_pool import extended
from bayes_assess.estimators.random_counts import RandomLabels
from bayes_assess.models.belief import Belief, FixedBelief, is_mixture, pool_shares
from bayes_assess.questions._base import pool_size
from bayes_assess.results._learned import contradiction
from bayes_assess.results.evidence.told import EvidenceBase


@dataclass(frozen=True, eq=False, repr=False)
class Groupwise(EvidenceBase):
    """Evidence on groups: the belief on the outcomes of their items, with their labels counted by outcome.

    Attributes
    ----------
    belief : Belief, optional
        A posterior that has seen the labels, in the place of the prior's.
    is_given : bool
        Whether it is that of another model.
    known_alone : int
        Labels, none of them `random` ones, that teach nothing of other items, as what tells of labels has chosen them.
    """

    belief: Belief | None = field(kw_only=True, default=None)
    is_given: bool = field(kw_only=True, default=False)
    known_alone: int = field(kw_only=True, default=0)

    @property
    def learned(self) -> Int[np.ndarray, "K O"]:
        """Labels from which something is learned of other items, by cell and outcome."""
        return self.random.counts if self.known_alone and self.random is not None else self.counts

    @property
    def labels_learned(self) -> int:
        """Labels from which something is learned of other items: all, unless some count as known, no more."""
        return self.labels_used - self.known_alone * self.question.labels_each

    @property
    def guarantee(self) -> str:
        """What intervals promise: ``"exact"`` once everything is labelled and the answer is about this pool."""
        exact = self.question.target == "pool" and self.question.settled(self.cells, self.counts)
        return "exact" if exact else "credible"

    @property
    def assumption(self) -> str:
        """What estimates and intervals lean on."""
        if self.guarantee == "exact":
            return "Nothing is assumed: every item is labelled that can matter."
        if self.is_given:
            return "The posterior that was given is taken to be right."
        if self.belief is None and not is_mixture(self.prior):
            return "What the prior expects counts as labels would."
        alike = "Groups" if getattr(self.question, "bins", None) is None else "Bins"
        scores = "" if self.cells.mean_score is None else ", and scores to say as much,"
        return f"{alike} are taken to be as much alike{scores} as {labels_suggest(self.labels_learned)}."

    @property
    def of_what_is_given(self) -> list[str]:
        """Say that a posterior is taken to be right."""
        return [self.assumption] if self.is_given and self.guarantee != "exact" else []

    @property
    def before_labels(self) -> str:
        """Where probabilities come from before any label; of a posterior that was given, nothing is known of that."""
        return "" if self.is_given else super().before_labels

    @cached_property
    def design_interval(self) -> Float[np.ndarray, "..."]:
        """Intervals that lean on no prior and no score: on items that were drawn at random within groups, alone.

        They hold at whatever moment a campaign stops, see `RandomLabels`. Of labels that were drawn otherwise it is all
        that they leave possible.
        """
        asked: Any = self.question  # is one that is bounded by shares
        return asked.random_interval(self.cells, self.random or self._all_known(), self.level)

    @property
    def by_random_labels(self) -> Float[np.ndarray, "..."] | None:
        """The same where labels are random ones, and something is left open; else None."""
        return None if self.random is None or self.guarantee == "exact" else self.design_interval

    def _all_known(self) -> RandomLabels:
        """Take no label for a random one."""
        nothing = RandomLabels.all_of(np.zeros_like(self.counts))
        return nothing._replace(known=self.counts, aside=self.cells.sizes - self.counts.sum(-1))

    def shaped(self, values: np.ndarray) -> np.ndarray:
        """Return values of answers as they are: they have the shape of the answer."""
        return values

    @cached_property
    def posterior(self) -> Any:
        """Posterior of every cell in the population, from which answers are taken."""
        learner: Any = self.prior if self.belief is None else FixedBelief(self.belief)
        return self.question.posterior(self.cells, learner, self.learned)

    @property
    def learner(self) -> Any:
        """What questions take for their prior: it knows the labels already."""
        return FixedBelief(self.posterior)

    @property
    def nothing(self) -> np.ndarray:
        """Counts of no labels, (K, O)."""
        return np.zeros_like(self.counts)

    @cached_property
    def estimate(self) -> Any:
        """Posterior mean of what is asked."""
        found = self.question.estimate(self.cells, self.learner, self.counts)
        values = np.asarray(found)
        if values.dtype.kind not in "fiu" or not np.isfinite(values).all():
            kind = type(self.question).__name__
            raise QuestionError(f"`estimate` of {kind} returns finite numbers; found {show(found)}.")
        return found

    def interval(self, draws: Callable[[], Float[np.ndarray, "S ..."]]) -> Float[np.ndarray, "..."]:
        """Compute the credible interval of what is asked: equal-tailed, and extended to the estimate.

        Parameters
        ----------
        draws : function
            Returns posterior draws of what is asked; called only where the interval needs them.
        """
        drawn = draws() if self.question.interval_needs_draws(self.posterior) else None
        return self.question.interval(self.cells, self.learner, self.counts, self.level, drawn, self.estimate)

    def draws(self, n: int) -> Float[np.ndarray, "S ..."]:
        """Draw what is asked from its posterior, (n, ...)."""
        return self.question.draws(self.cells, self.learner, self.counts, self.seed, n)

    def prior_draws(self, n: int) -> Float[np.ndarray, "S ..."]:
        """Draw what is asked as it was believed before any label, (n, ...)."""
        return self.question.draws(self.cells, self.prior, self.nothing, self.seed + 1, n)

    def thetas(self, n: int) -> tuple[np.ndarray, np.ndarray]:
        """Draw the parameters of all cells from the posterior and from the prior, (n, K, ...) each."""
        beliefs = enumerate((self.posterior, self.prior))
        posterior, prior = (np.asarray(belief.sample(jax_key(self.seed + i, "draws"), n)) for i, belief in beliefs)
        return posterior, prior

    def in_target(self, theta: Float[np.ndarray, "S K"]) -> Float[np.ndarray, "S K"]:
        """Return what the accuracies of the question's target are, draw by draw, given those of the population."""
        sizes = pool_size(self.question, self.cells)
        return theta if sizes is None else pool_shares(jax_key(self.seed, "pool"), theta, self.counts, sizes)

    def by_group(self, values: np.ndarray) -> np.ndarray:
        """Add up values of cells (K,) over the cells of every group, (G,)."""
        return values.reshape(len(self.groups), -1).sum(-1)

    @property
    def by(self) -> str:
        """What the groups are."""
        return self.cells.parts[0].description

    @property
    def size(self) -> Int[np.ndarray, " G"]:
        """Items of every group, (G,)."""
        return self.by_group(self.cells.sizes)

    @property
    def labelled(self) -> Int[np.ndarray, " G"]:
        """Labels of every group, (G,)."""
        return self.by_group(self.counts.sum(-1))

    def ends_of(self, draws: Float[np.ndarray, "S ..."], estimate: np.ndarray | float) -> Float[np.ndarray, "... 2"]:
        """Compute the equal-tailed interval from draws, extended to the estimate; of exact answers, the estimate."""
        if self.guarantee == "exact":  # draws are all equal, up to rounding
            return np.stack([estimate, estimate], axis=-1)
        return extended(np.moveaxis(np.quantile(draws, self._tails(), axis=0), 0, -1), estimate)

    @property
    def leans_on_prior(self) -> bool:
        """Whether the answer leans on a prior of which labels tell something."""
        return bool(self.labels_learned) and self.belief is None and self.guarantee != "exact"

    @property
    def _use_of_volunteered(self) -> str:
        return "and count as known, no more" if self.known_alone else super()._use_of_volunteered

    def contradiction(self) -> str | None:
        """Say that labels contradict a fixed prior of accuracies; None if they do not."""
        return contradiction(self.prior, self.learned[:, 1], self.learned.sum(-1), self.cells.mean_score)

    def supposing(self, labels: Int[np.ndarray, "K O"]) -> Groupwise:
        """Return the evidence as if items set aside had these labels, by cell and outcome."""
        random = None if self.random is None else self.random._replace(counts=self.random.counts + labels)
        return replace(self, counts=self.counts + labels, random=random, skipped=None)

    def to_arviz(self, posterior: Arrays, prior: Arrays, observed: Arrays, attributes: dict[str, object]) -> ArvizData:
        """Hand draws and observed data to ArviZ, beside labels and items of every group."""
        known = {"labels": self.labelled, "items": self.size}
        return to_arviz(
            posterior,
            prior=prior,
            observed_data=observed,
            constant_data=known,
            dims={name: ["group"] for name in (*posterior, *prior, *observed, *known)},
            coords={"group": self.groups},
            attrs=attributes,
        )
