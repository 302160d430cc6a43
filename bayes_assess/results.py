"""Answers: what is estimated, how well, and what the interval guarantees."""

from __future__ import annotations

import html
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import jax
import numpy as np
from jaxtyping import Float, Int

from bayes_assess.arviz_bridge import to_arviz
from bayes_assess.errors import QuestionError
from bayes_assess.models import BetaBernoulli
from bayes_assess.plots import forest, rank_plot
from bayes_assess.questions import GroupAccuracy, LeastAccurate, MostAccurate, _ExtremeAccuracy
from bayes_assess.tables import Table

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Posterior draws for ranks: as many as fit in this many numbers, within these bounds.
_DRAW_NUMBERS = 10_000_000
_MOST_DRAWS, _FEWEST_DRAWS = 10_000, 250
_BLOCK_NUMBERS = 2_000_000  # drawn at a time


@dataclass(frozen=True, eq=False)
class GroupResult:
    """Accuracy of every group: estimates, intervals, ranks and probabilities.

    Attributes
    ----------
    groups : (G,) names
    estimate : (G,) floats
        Posterior mean accuracy of every group.
    interval : (G, 2) floats
        Equal-tailed credible interval.
    level : float
        Posterior probability of the interval.
    guarantee : str
        ``"credible"``, or ``"exact"`` once everything is labelled.
    size, labelled, successes : (G,) integers
        Items, labels, and labels that agree with the prediction.
    labels_used : int
    design : str
    question : GroupAccuracy or a subclass
    prior : BetaBernoulli

    Examples
    --------
    >>> import bayes_assess as ba
    >>> pool = ba.Pool(predictions=["cat", "cat", "dog"])
    >>> a = ba.assess(pool, ba.GroupAccuracy())
    >>> queries = a.ask(3)
    >>> a.tell(queries.ids, ["cat", "cat", "cat"])
    >>> a.result().estimate.tolist(), a.result().guarantee
    ([1.0, 0.0], 'exact')
    """

    question: GroupAccuracy
    prior: BetaBernoulli
    groups: np.ndarray
    by: str
    size: Int[np.ndarray, " G"]
    counts: Int[np.ndarray, "G 2"]
    level: float
    design: str
    volunteered: int = 0
    seed: int = 0

    def __post_init__(self):
        if not 0 < self.level < 1:
            raise QuestionError(f"The level of an interval lies between 0 and 1, such as 0.95; found {self.level!r}.")

    @property
    def labelled(self) -> Int[np.ndarray, " G"]:
        """Labels of every group, (G,)."""
        return self.counts.sum(-1)

    @property
    def successes(self) -> Int[np.ndarray, " G"]:
        """Labels of every group that agree with the prediction, (G,)."""
        return self.counts[:, 1]

    @property
    def labels_used(self) -> int:
        """Labels told so far."""
        return int(self.labelled.sum())

    @property
    def guarantee(self) -> str:
        """What the interval promises."""
        complete = self.question.target == "pool" and self.labels_used == self.size.sum()
        return "exact" if complete else "credible"

    @cached_property
    def posterior(self) -> BetaBernoulli:
        """Posterior of the population accuracies theta."""
        return self.prior.update_counts(self.counts)

    @cached_property
    def estimate(self) -> Float[np.ndarray, " G"]:
        """Posterior mean accuracy of every group, (G,)."""
        return self.question.estimate(self.prior, self.counts, self.size)

    @cached_property
    def interval(self) -> Float[np.ndarray, "G 2"]:
        """Equal-tailed credible interval of every group, (G, 2)."""
        return self.question.interval(self.prior, self.counts, self.size, self.level)

    @cached_property
    def draws(self) -> Float[np.ndarray, "S G"]:
        """Posterior draws of every group's accuracy, (S, G); 10,000 of them unless there are very many groups."""
        n_groups = len(self.groups)
        n_draws = int(np.clip(_DRAW_NUMBERS // n_groups, _FEWEST_DRAWS, _MOST_DRAWS))
        draws, rng = np.empty((n_draws, n_groups)), np.random.default_rng(self.seed)
        rows = min(n_draws, max(1, _BLOCK_NUMBERS // n_groups))
        for i, start in enumerate(range(0, n_draws, rows)):
            block = draws[start : start + rows]
            block[:] = self.posterior.sample(jax.random.fold_in(jax.random.key(self.seed), i), rows)[: len(block)]
            if self.question.target == "pool":
                rest = rng.binomial(self.size - self.labelled, block)
                np.divide(self.successes + rest, self.size, out=block, where=self.size > 0)
        return draws

    @cached_property
    def _ranks(self) -> Float[np.ndarray, "S J"]:
        """Rank of every group with items in every draw, 1 = least accurate; ties are broken at random."""
        filled = self.size > 0
        ranks = np.empty((len(self.draws), filled.sum()), np.int32)
        places, rng = np.arange(1, ranks.shape[1] + 1, dtype=np.int32), np.random.default_rng(self.seed + 1)
        for draw, rank in zip(self.draws, ranks, strict=True):
            # Equal shares of different groups are equal floats; different ones are farther apart than this.
            rank[np.argsort(draw[filled] + 1e-13 * rng.random(len(places)))] = places
        return ranks

    @cached_property
    def rank(self) -> Float[np.ndarray, " G"]:
        """Posterior mean rank of every group, 1 = least accurate, (G,); 0 for a group without items."""
        return self._fill(self._ranks.mean(0))

    @cached_property
    def rank_interval(self) -> Int[np.ndarray, "G 2"]:
        """Equal-tailed credible interval of every group's rank, (G, 2)."""
        tail = (1 - self.level) / 2
        ends = np.quantile(self._ranks, [tail, 1 - tail], axis=0, method="inverted_cdf")
        return np.stack([self._fill(end) for end in ends], axis=-1).astype(int)

    @property
    def probability_worst(self) -> Float[np.ndarray, " G"]:
        """Posterior probability that the group is the least accurate, (G,)."""
        return self.probability_among_worst(1)

    @property
    def probability_best(self) -> Float[np.ndarray, " G"]:
        """Posterior probability that the group is the most accurate, (G,)."""
        return self.probability_among_best(1)

    def probability_among_worst(self, m: int) -> Float[np.ndarray, " G"]:
        """Posterior probability that the group is among the m least accurate, (G,)."""
        return self._fill((self._ranks <= m).mean(0))

    def probability_among_best(self, m: int) -> Float[np.ndarray, " G"]:
        """Posterior probability that the group is among the m most accurate, (G,)."""
        return self._fill((self._ranks > self._ranks.shape[1] - m).mean(0))

    @cached_property
    def overall(self) -> tuple[float, Float[np.ndarray, " 2"]]:
        """Accuracy of the whole pool: its posterior mean and credible interval."""
        weight = self.size / self.size.sum()
        tail = (1 - self.level) / 2
        ends = np.quantile(self.draws @ weight, [tail, 1 - tail])
        return float(self.estimate @ weight), ends

    @property
    def identified(self) -> np.ndarray:
        """Names of the m groups most probably among the extremes asked for; empty for other questions."""
        if not isinstance(self.question, _ExtremeAccuracy):
            return self.groups[:0]
        return self.groups[self._most_probable()]

    def table(self) -> Table:
        """Tabulate everything known of every group, least accurate first.

        Examples
        --------
        >>> import bayes_assess as ba
        >>> ba.assess(ba.Pool(predictions=[0, 1]), ba.GroupAccuracy()).result().table().columns[:5]
        ('group', 'items', 'labelled', 'estimate', 'lower')
        """
        columns: dict[str, Any] = {
            "group": self.groups,
            "items": self.size,
            "labelled": self.labelled,
            "estimate": self.estimate,
            "lower": self.interval[:, 0],
            "upper": self.interval[:, 1],
            "rank": self.rank,
            "rank_lower": self.rank_interval[:, 0],
            "rank_upper": self.rank_interval[:, 1],
            "p_worst": self.probability_worst,
            "p_best": self.probability_best,
        }
        m = self.question.m if isinstance(self.question, _ExtremeAccuracy) else 1
        if m > 1 and isinstance(self.question, LeastAccurate):
            columns[f"p_among_{m}_worst"] = self.probability_among_worst(m)
        if m > 1 and isinstance(self.question, MostAccurate):
            columns[f"p_among_{m}_best"] = self.probability_among_best(m)
        order = np.argsort(self.estimate, kind="stable")
        formats = {name: ".3f" for name in ("estimate", "lower", "upper", "p_worst", "p_best")} | {"rank": ".1f"}
        return Table(
            {name: np.asarray(column)[order] for name, column in columns.items()},
            title=f"Accuracy by {self.by}, {self.level:.0%} {self.guarantee} intervals",
            formats=formats,
        )

    def summary(self) -> str:
        """Say the answer in a few sentences."""
        n_items = int(self.size.sum())
        mean, (low, high) = self.overall
        lines = [
            f"{self.labels_used:,} of {n_items:,} items labelled (design {self.design!r}).",
            f"Overall accuracy {mean:.3f}, {self.level:.0%} {self.guarantee} interval [{low:.3f}, {high:.3f}].",
        ]
        if isinstance(self.question, _ExtremeAccuracy):
            lines.append(self._extremes())
        else:
            width = np.diff(self.interval[self.size > 0], axis=-1)
            lines.append(
                f"{int((self.size > 0).sum())} groups by {self.by}; their intervals are "
                f"{np.median(width):.3f} wide in the median and {width.max():.3f} at most."
            )
        if self.volunteered:
            lines.append(
                f"{self.volunteered:,} labels were told without being asked for: the intervals take them for random "
                "items of their groups."
            )
        return "\n".join(lines)

    def plot(
        self,
        kind: str = "accuracy",
        *,
        truth: Float[np.ndarray, " G"] | None = None,
        prior: bool = False,
        ax: Axes | None = None,
    ) -> Axes:
        """Draw every group's estimate, or rank, with its interval.

        Parameters
        ----------
        kind : {"accuracy", "rank"}
        truth : (G,), optional
            Known accuracies to mark, such as `question.truth(pool, labels)`.
        prior : bool
            Whether to mark the prior means, too.
        ax : matplotlib Axes, optional
            Where to draw; a new figure otherwise.
        """
        if kind not in ("accuracy", "rank"):
            raise QuestionError(f"A result plots 'accuracy' or 'rank'; found {kind!r}.")
        shown = self.size > 0
        names = [str(name) for name in self.groups[shown]]
        highlight = np.isin(self.groups, self.identified)[shown] if len(self.identified) else None
        title = f"by {self.by}: {self.labels_used:,} of {int(self.size.sum()):,} labelled"
        truth = None if truth is None else np.asarray(truth, np.float64)[shown]
        if kind == "rank":
            true_rank = None if truth is None else np.argsort(np.argsort(truth)) + 1
            rank, ends = self.rank[shown], self.rank_interval[shown]
            return rank_plot(names, rank, ends, truth=true_rank, highlight=highlight, title=f"Rank {title}", ax=ax)
        return forest(
            names,
            self.estimate[shown],
            self.interval[shown],
            prior=np.asarray(self.prior.mean)[shown] if prior else None,
            truth=truth,
            sizes=self.labelled[shown],
            highlight=highlight,
            xlabel="accuracy",
            title=f"Accuracy {title}",
            ax=ax,
        )

    def to_arviz(self) -> Any:
        """Return posterior and prior draws, observed and constant data as an ArviZ object.

        ``theta`` is the accuracy of the population; ``accuracy`` is what the question asks for, under its target.
        """
        n_draws = len(self.draws)
        key_posterior, key_prior = jax.random.key(self.seed), jax.random.key(self.seed + 1)
        names = ["theta", "accuracy", "agreements", "labels", "items"]
        return to_arviz(
            {"theta": np.asarray(self.posterior.sample(key_posterior, n_draws)), "accuracy": self.draws},
            prior={"theta": np.asarray(self.prior.sample(key_prior, n_draws))},
            observed_data={"agreements": self.successes},
            constant_data={"labels": self.labelled, "items": self.size},
            dims={name: ["group"] for name in names},
            coords={"group": self.groups},
            attrs={"design": self.design, "guarantee": self.guarantee, "labels_used": self.labels_used},
        )

    def __repr__(self) -> str:
        return f"{self.summary()}\n\n{self.table()!r}"

    def _repr_html_(self) -> str:
        lines = "".join(f"<p>{html.escape(line)}</p>" for line in self.summary().splitlines())
        return lines + self.table()._repr_html_()

    def _most_probable(self) -> Int[np.ndarray, " m"]:
        assert isinstance(self.question, _ExtremeAccuracy)
        sign, m = self.question.sign, self.question.m
        probability = self.probability_among_worst(m) if sign < 0 else self.probability_among_best(m)
        # Several groups may share a probability of 1 or 0: the estimate decides between them.
        order = np.lexsort((sign * self.estimate, probability, self.size > 0))
        return order[::-1][:m]

    def _extremes(self) -> str:
        assert isinstance(self.question, _ExtremeAccuracy)
        found, m = self._most_probable(), self.question.m
        probability = self.probability_among_worst(m) if self.question.sign < 0 else self.probability_among_best(m)
        named = ", ".join(f"{self.groups[g]} ({self.estimate[g]:.3f}, probability {probability[g]:.2f})" for g in found)
        n_groups = int((self.size > 0).sum())
        return f"The {m if m > 1 else ''} {self.question.adjective} of {n_groups} groups: {named}.".replace("  ", " ")

    def _fill(self, values: np.ndarray) -> np.ndarray:
        """Spread values of the groups with items over all groups, 0 elsewhere."""
        out = np.zeros(len(self.groups), values.dtype)
        out[self.size > 0] = values
        return out
