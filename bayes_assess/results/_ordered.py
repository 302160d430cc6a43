"""Which of several groups, or systems, has the highest value of a measure, and how all pairs of them compare."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

import numpy as np

from bayes_assess._tools.shapes import Float, Int
from bayes_assess._tools.tables import Table
from bayes_assess.acquisition.equivalence import checked_rope
from bayes_assess.errors import QuestionError
from bayes_assess.estimators.joint_draws import PairDifferences, pair_differences, random_ranks
from bayes_assess.measures import LOSSES, combine
from bayes_assess.questions import Metric
from bayes_assess.questions._event_cells import MetricCells
from bayes_assess.questions._measures_answered import cells_table
from bayes_assess.results._in_words import in_one_line
from bayes_assess.results._pairs import pairs_table
from bayes_assess.results._ranks import Ranks
from bayes_assess.results.evidence.kinds import MeasureEvidence

MeasureEvidenceT_co = TypeVar("MeasureEvidenceT_co", bound=MeasureEvidence, covariant=True)

_CONTENDER = 0.05  # probability of being the best, above which a summary names a group


@dataclass(frozen=True, eq=False, repr=False)
class Ordered(Ranks[MeasureEvidenceT_co]):
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

    question: Metric

    @property
    def cells(self) -> MetricCells:
        """What labels are counted in."""
        return self.evidence.cells

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
        ends, ranks = self._ends_of_all(), self.rank_interval
        columns = {
            "group": self.ordered_names,
            "estimate": np.atleast_1d(self.estimate),
            "lower": ends[:, 0],
            "upper": ends[:, 1],
            "rank": self.rank,
            "rank_lower": ranks[:, 0],
            "rank_upper": ranks[:, 1],
            "p_worst": self.probability_worst,
            "p_best": self.probability_best,
        }
        order = np.lexsort((-self.rank, -self.probability_best))
        formats = dict.fromkeys(("estimate", "lower", "upper", "p_worst", "p_best"), ".3f") | {"rank": ".1f"}
        title = f"{self._measure_name} by {self._ordered_by}, {self._interval_label}s; rank 1 is worst"
        return Table(
            {name: np.asarray(column)[order] for name, column in columns.items()}, title=title, formats=formats
        )

    def pairs(self, rope: float = 0.05) -> Table:
        """Tabulate the differences of all pairs of groups, the surest verdicts first.

        Parameters
        ----------
        rope : float
            Half-width of the region in which two groups count as equal; smaller than the largest possible difference,
            which is 1 for rates and in units of the values for means.

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
        a      b            0.667  0.667  0.667    0.000    0.000     1.000  first is better
        """
        return pairs_table(self.ordered_names, self._pairs(checked_rope(rope, below=self._widest)), self._pairs_title)

    @cached_property
    def ordered_names(self) -> np.ndarray:
        """Names of the groups or systems, (G,)."""
        if self._names_by is None:
            raise QuestionError(
                f"{self.question.name} has no ranks: they are of one measure of several groups, by=..., or of several "
                "systems, such as Rate(by='system')."
            )
        return np.array(self._names_by)

    def _ends_of_all(self) -> Float[np.ndarray, "k 2"]:
        """Compute the intervals of all values."""
        return self.evidence.ends

    def _in_one_line(self) -> str:
        """Say the estimates of a few measures with their intervals in one sentence."""
        plural = "s" * (len(self.groups) > 1)
        how = "exact" if self.guarantee == "exact" else f"{self._interval_label}{plural}"
        return in_one_line(self.groups.tolist(), np.atleast_1d(self.estimate), self._ends_of_all(), how)

    @property
    def _is_ordered(self) -> bool:
        return self._names_by is not None

    @cached_property
    def _names_by(self) -> list[str] | None:
        """Names of groups or systems, from those of the outputs; None where these are something else."""
        named_by = self.question.by or self.question.systems  # measures of several labels have names of their own
        if not self.evidence.has_joint or not named_by:
            return None
        one, *more = combine(self.question.measure)
        start, found = f"{one.name} ({self._ordered_by} ", self.groups.tolist()
        alike = all(name.startswith(start) and name.endswith(")") for name in found)
        if more or len(found) < 2 or not alike or (self.question.by and len(self.question.systems) > 1):
            return None
        return [name.removeprefix(start).removesuffix(")") for name in found]

    @property
    def _ordered_by(self) -> str:
        return self.question.by or "system"

    @property
    def _widest(self) -> float:
        """The largest difference that is possible."""
        return float(np.ptp(cells_table(self.cells).ranges[0]))

    @property
    def _measure_name(self) -> str:
        return combine(self.question.measure)[0].name

    @property
    def _pairs_title(self) -> str:
        return f"Differences of {self._measure_name}, {self._interval_label}s"

    def _draw_ranks(self) -> Int[np.ndarray, "S G"]:
        assert len(self.ordered_names) == self.evidence.joint.shape[1]
        return random_ranks(-self.evidence.joint if self._measure_name in LOSSES else self.evidence.joint, self.seed)

    def _pairs(self, rope: float) -> PairDifferences:
        """Compare all pairs, worse and better in the place of lower and higher."""
        found = pair_differences(self.evidence.joint, float(rope), self.level, self.guarantee == "exact")
        return found._replace(masses=found.masses[..., ::-1]) if self._measure_name in LOSSES else found

    def _said_of_the_best(self) -> list[str]:
        """Name the group that is the best, or those of which one is."""
        if self.guarantee == "anytime":
            return ["Ranks and pairs lean on the scores, which random items contradict."]
        best, names = self.probability_best, self.ordered_names
        order = np.lexsort((self.rank, best))[::-1]
        if self.guarantee == "exact":
            top = names[best > 0]
            many = f" and {len(top) - 3:,} more" if len(top) > 3 else ""
            return [f"Best: {', '.join(top[:3])}{many}{' are equal' if len(top) > 1 else ''} (exact)."]
        named = [f"{names[g]} with probability {best[g]:.2f}" for g in order[:3] if best[g] >= _CONTENDER]
        first, *others = named or [f"{names[order[0]]} with probability {best[order[0]]:.2f}"]
        rest = f", {' or '.join(others)}" if others else ""
        return [f"Best of {len(names):,}: {first}{rest}. See ranking() and pairs()."]
