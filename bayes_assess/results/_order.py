"""Several groups, or systems, in the order of one value of each: which is the best, and how all pairs compare."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from bayes_assess._tools.shapes import Bool, Float, Int
from bayes_assess._tools.tables import Table
from bayes_assess.acquisition.equivalence import checked_rope
from bayes_assess.errors import QuestionError
from bayes_assess.estimators.joint_draws import PairDifferences, pair_differences, random_ranks
from bayes_assess.measures import LOSSES, combine
from bayes_assess.questions import Metric
from bayes_assess.questions._measures_answered import cells_table
from bayes_assess.results._base import CountedT_co, SectionT_co
from bayes_assess.results._in_words import measure_in_words
from bayes_assess.results._pairs import pairs_table
from bayes_assess.results._ranks import Ranks
from bayes_assess.results.evidence._on_measures import Variables
from bayes_assess.results.evidence.kinds import MeasureEvidence

_NEITHER_GOOD_NOR_BAD = ("rate", "mean")  # measures of which nobody has said whether a high one is wanted
_CONTENDER = 0.05  # probability of being the best, above which a summary names a group


class Order(NamedTuple):
    """A value of each of several groups, or systems, by which they are ordered.

    Attributes
    ----------
    names : (G,)
    by : str
        What the groups are.
    measure : str
        Name of what the value is of.
    value : (G,) floats
    ends : (G, 2) floats
        Intervals of the values.
    joint : (S, G) floats
        Draws by which to rank.
    widest : float
        The largest difference that is possible.
    cautious : (S, P) booleans, optional
        Which of the draws are of precautions, see `posterior_measure`.
    """

    names: np.ndarray
    by: str
    measure: str
    value: Float[np.ndarray, " G"]
    ends: Float[np.ndarray, "G 2"]
    joint: Float[np.ndarray, "S G"]
    widest: float
    cautious: Bool[np.ndarray, "S P"] | None = None

    @property
    def low_is_best(self) -> bool:
        """Whether the lowest value is the best, as of losses."""
        return self.measure in LOSSES

    @property
    def first_in_words(self) -> str:
        """What the first in this order is called: whether a high rate or mean is good, nobody has said."""
        return "Highest" if self.measure in _NEITHER_GOOD_NOR_BAD else "Best"

    @property
    def comparatives(self) -> tuple[str, str]:
        """What one is that comes after another in this order, and before it."""
        return ("lower", "higher") if self.measure in _NEITHER_GOOD_NOR_BAD else ("worse", "better")

    def variables(self) -> Variables:
        """Return the draws as a variable, by the name of the measure."""
        by = f"{self.by}_group" if self.by in ("chain", "draw", "cell") else self.by  # dimensions of their own
        return Variables({self.measure: self.joint}, {self.measure: [by]}, {by: self.names})

    def differences(self, rope: float, level: float, exact: bool) -> PairDifferences:
        """Compare all pairs, worse and better in the place of lower and higher."""
        differences = pair_differences(self.joint, float(rope), level, exact, self.cautious)
        return differences._replace(masses=differences.masses[..., ::-1]) if self.low_is_best else differences


def order_of_groups(question: Metric, evidence: MeasureEvidence) -> Order | None:
    """Order groups, or systems, by one measure of each; None where outputs are something else."""
    named_by = question.by or question.systems  # measures of several labels have names of their own
    if not evidence.has_joint or not named_by:
        return None
    by = question.by or "system"
    spec, *more = combine(question.measure)
    start, outputs = f"{spec.name} ({by} ", evidence.groups.tolist()
    alike = all(name.startswith(start) and name.endswith(")") for name in outputs)
    if more or len(outputs) < 2 or not alike or (question.by and len(question.systems) > 1):
        return None
    names = np.array([name.removeprefix(start).removesuffix(")") for name in outputs])
    values = evidence.value, evidence.ends, evidence.joint
    return Order(names, by, spec.name, *values, widest_difference(evidence), evidence.cautious)


def widest_difference(evidence: MeasureEvidence) -> float:
    """Compute the largest difference of a measure that is possible, whatever several systems have in common."""
    spec, *_ = combine(evidence.question.measure)
    return float(min(np.ptp(spec.range), np.ptp(cells_table(evidence.cells).ranges[0])))


class Ordered(Ranks[CountedT_co, SectionT_co]):
    """Ranks and pairs of groups, or of systems, by one measure; of a result with a value for each of them.

    The best is the one with the highest value, of losses such as ``"zero_one_loss"`` the lowest: of a rate, let the
    positive label be the one that is wanted. Probabilities are those of joint draws: of the posterior, or, where
    estimates come from draws with known probabilities, of a Gaussian copula that has the estimates' correlations and
    the ends of their intervals of all levels for quantiles.

    Attributes
    ----------
    rank : (G,) floats
        Mean rank, 1 is the worst.
    rank_interval : (G, 2) integers
    probability_best, probability_worst : (G,) floats
    """

    if TYPE_CHECKING:

        @cached_property
        def _order(self) -> Order | None: ...

    @property
    def _known_order(self) -> Order:
        if self._order is None:
            raise QuestionError(
                f"{self.question.name} has no ranks: they are of one measure of several groups, by=..., or of several "
                "systems, such as Rate(by='system')."
            )
        return self._order

    @property
    def ordered_names(self) -> np.ndarray:
        """Names of the groups or systems, (G,)."""
        return self._known_order.names

    def ranking(self) -> Table:
        """Tabulate the groups with their ranks, the best first.

        Examples
        --------
        >>> import bayes_assess as ba
        >>> pool = ba.Pool(predictions=["good"] * 6, classes=["bad", "good"], groups={"system": list("aaabbb")})
        >>> a = ba.assess(pool, ba.Rate(by="system"))
        >>> a.tell(a.ask(6).ids, ["good"] * 6)
        >>> a.result().ranking().columns
        ('group', 'estimate', 'lower', 'upper', 'rank', 'rank_lower', 'rank_upper', 'p_worst', 'p_best')
        """
        order, ranks = self._known_order, self.rank_interval
        columns = {
            "group": order.names,
            "estimate": order.value,
            "lower": order.ends[:, 0],
            "upper": order.ends[:, 1],
            "rank": self.rank,
            "rank_lower": ranks[:, 0],
            "rank_upper": ranks[:, 1],
            "p_worst": self.probability_worst,
            "p_best": self.probability_best,
        }
        rows = np.lexsort((-self.rank, -self.probability_best))
        formats = dict.fromkeys(("estimate", "lower", "upper", "p_worst", "p_best"), ".3f") | {"rank": ".1f"}
        title = f"{self._ranked_by} by {order.by}, {self._interval_label}s; rank 1 is worst"
        return Table({name: column[rows] for name, column in columns.items()}, title=title, formats=formats)

    def pairs(self, rope: float | None = None) -> Table:
        """Tabulate the differences of all pairs of groups, or systems, the surest verdicts first.

        A measure that is not defined in a group, such as the recall where no item is positive, counts as 0 here as
        elsewhere, which the summary says; `GroupRecall` leaves such groups out of its ranks.

        Parameters
        ----------
        rope : float, optional
            Half-width of the region in which two groups count as equal; smaller than the largest possible difference,
            which is 1 for rates and in units of the values for means. By default that of the question, 0.05 where it
            has none.

        Examples
        --------
        >>> import bayes_assess as ba
        >>> pool = ba.Pool(predictions=["good"] * 6, classes=["bad", "good"], groups={"system": list("aaabbb")})
        >>> a = ba.assess(pool, ba.Rate(by="system"))
        >>> a.tell(pool.ids, ["good"] * 4 + ["bad"] * 2)
        >>> print(a.result().pairs(rope=0.1))
        Differences of rate, 95% exact intervals
        first  second  difference  lower  upper  p_worse  p_equal  p_better  verdict
        -----  ------  ----------  -----  -----  -------  -------  --------  ---------------
        a      b            0.667  0.667  0.667    0.000    0.000     1.000  first is higher
        """
        width = self._rope_asked if rope is None else rope
        return self._pairs_table(checked_rope(width, below=self._known_order.widest))

    @property
    def _ranked_by(self) -> str:
        """What the estimates of a ranking are of."""
        return self._known_order.measure

    @property
    def _rope_asked(self) -> float:
        """The rope of the question, if it has one."""
        return 0.05

    def _pairs_table(self, rope: float) -> Table:
        order = self._known_order
        differences = order.differences(rope, self.level, self.guarantee == "exact")
        title = f"Differences of {measure_in_words(order.measure)}, {self._interval_label}s"
        return pairs_table(order.names, differences, title, order.comparatives)

    def _draw_ranks(self) -> Int[np.ndarray, "S G"]:
        order = self._known_order
        return random_ranks(-order.joint if order.low_is_best else order.joint, self.seed)

    def _said_of_the_best(self) -> list[str]:
        """Name the group that is the best, or those of which one is."""
        if self.evidence.warning(""):
            return ["Ranks and pairs lean on what random items contradict."]
        word = self._known_order.first_in_words
        best, names = self.probability_best, self.ordered_names
        order = np.lexsort((self.rank, best))[::-1]
        if self.guarantee == "exact":
            top = names[best > 0]
            many = f" and {len(top) - 3:,} more" if len(top) > 3 else ""
            return [f"{word}: {', '.join(top[:3])}{many}{' are equal' if len(top) > 1 else ''} (exact)."]
        if self.evidence.tells_nothing(float(best.max())):
            return [f"There is no label yet that tells which of {len(names):,} is the {word.lower()}."]
        named = [f"{names[g]} with probability {best[g]:.2f}" for g in order[:3] if best[g] >= _CONTENDER]
        first, *others = named or [f"{names[order[0]]} with probability {best[order[0]]:.2f}"]
        rest = f", {' or '.join(others)}" if others else ""
        return [f"{word} of {len(names):,}: {first}{rest}{self.evidence.before_labels}."]
