"""Precision-recall curves: what they say at a threshold, and at which threshold they say what is wanted."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from bayes_assess._tools import engine
from bayes_assess._tools.arrays import is_number, is_whole, quotient, show
from bayes_assess._tools.axes import in_64_bits
from bayes_assess._tools.shapes import ArrayLike, Float, Int
from bayes_assess._tools.tables import Table
from bayes_assess._tools.text import plural, told_apart
from bayes_assess.errors import QuestionError
from bayes_assess.estimators.contradiction import contradicted, contradicting_level, widened
from bayes_assess.estimators.possible_values import LabelledByAttribute, possible_values
from bayes_assess.measures import PRCurveTable
from bayes_assess.questions._measures_answered import cells_table
from bayes_assess.questions.pr_curve import reaching
from bayes_assess.results import plots
from bayes_assess.results._curve_point import CurvePoint, Measured
from bayes_assess.results.evidence._on_measures import Variables
from bayes_assess.results.metric import MeasureEvidenceT_co, MetricResult

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_ROWS = 20  # of a table
_ROUNDING = 1e-9


class CurveResult(MetricResult[MeasureEvidenceT_co]):
    """A precision-recall curve, and its points."""

    def at(self, threshold: float) -> CurvePoint:
        """Return precision, recall and F1 of the rule "positive if the score is at least the threshold".

        Parameters
        ----------
        threshold : float
            The curve is known at its own thresholds; the next one from this one upwards answers, which is the same
            rule where no score lies between them. What is returned says which it is.

        Returns
        -------
        CurvePoint

        Raises
        ------
        QuestionError
            If the curve does not reach so far.

        Examples
        --------
        >>> import bayes_assess as ba
        >>> pool = ba.Pool(scores=[0.2, 0.4, 0.6, 0.8])
        >>> a = ba.assess(pool, ba.PRCurve([0.3, 0.5, 0.7]))
        >>> a.tell(pool.ids, [0, 1, 0, 1])
        >>> print(a.result().at(0.7))
        Threshold 0.7, which 1 item reaches: precision 1.000 [1.000, 1.000], recall 0.500 [0.500, 0.500], \
F1 0.667 [0.667, 0.667]; without trusting the scores precision [1.000, 1.000], recall [0.500, 0.500], \
F1 [0.667, 0.667].
        """
        known = self._thresholds
        covers_all = self._reaching[0] == self.cells.n_items
        if not is_number(threshold):
            raise QuestionError(f"A threshold is one number, such as {known[0]:g}; found {show(threshold)}.")
        if threshold > known[-1] or (threshold < known[0] and not covers_all):
            raise QuestionError(
                f"The thresholds of this curve lie between {known[0]:g} and {known[-1]:g}; found {show(threshold)}. "
                "Ask for a curve with this threshold, such as PRCurve([0.5, 0.9])."
            )
        return self._point(int(np.searchsorted(known, threshold)))._replace(asked=float(threshold))

    def threshold(
        self, *, precision: float | None = None, recall: float | None = None, probability: float | None = None
    ) -> CurvePoint:
        """Return the threshold to run at, for a precision or a recall that is wanted.

        Of a precision that is the lowest threshold of the curve where it is reached, which keeps most of the recall; of
        a recall it is the highest one, which keeps most of the precision.

        Parameters
        ----------
        precision, recall : float in (0, 1]
            What is wanted at least; one of them.
        probability : float in (0, 1), optional
            Posterior probability with which it is to be reached; by default the estimate is to reach it.

        Returns
        -------
        CurvePoint

        Raises
        ------
        QuestionError
            If no threshold reaches it, with the one that comes closest.

        Examples
        --------
        >>> import bayes_assess as ba
        >>> pool = ba.Pool(scores=[0.2, 0.4, 0.6, 0.8])
        >>> a = ba.assess(pool, ba.PRCurve([0.3, 0.5, 0.7]))
        >>> a.tell(pool.ids, [0, 1, 0, 1])
        >>> a.result().threshold(precision=0.6).threshold, a.result().threshold(recall=0.5).threshold
        (0.3, 0.7)
        """
        reached, point = self._sought(precision, recall, probability)
        if not reached:
            raise QuestionError(self.said_of_threshold(precision=precision, recall=recall, probability=probability))
        return point

    def said_of_threshold(
        self, *, precision: float | None = None, recall: float | None = None, probability: float | None = None
    ) -> str:
        """Say which threshold to run at, or that none reaches what is wanted, and which comes closest.

        Parameters
        ----------
        precision, recall, probability : float, optional
            As for `threshold`.

        Examples
        --------
        >>> import bayes_assess as ba
        >>> pool = ba.Pool(scores=[0.2, 0.4, 0.6, 0.8])
        >>> a = ba.assess(pool, ba.PRCurve([0.3, 0.5]))
        >>> a.tell(pool.ids, [0, 1, 0, 1])
        >>> a.result().said_of_threshold(precision=0.9).partition(":")[0]
        'At no threshold of this curve is the precision 0.9 or more. It comes closest here'
        """
        reached, point = self._sought(precision, recall, probability)
        name, wanted = ("precision", precision) if recall is None else ("recall", recall)
        least = f" with probability {probability:g}" if probability is not None else ""
        if not reached:
            return (
                f"At no threshold of this curve is the {name} {wanted:g} or more{least}. It comes closest here: {point}"
            )
        which = "lowest" if name == "precision" else "highest"
        return f"The {which} threshold where the {name} is {wanted:g} or more{least}: {point}"

    def _sought(
        self, precision: float | None, recall: float | None, probability: float | None
    ) -> tuple[bool, CurvePoint]:
        """Return whether something is reached, and the point where it is or comes closest."""
        if (precision is None) == (recall is None):
            raise QuestionError("Name a precision or a recall that is wanted, one of them, such as precision=0.9.")
        name, wanted = ("precision", precision) if precision is not None else ("recall", recall)
        assert wanted is not None
        for what, value in ((name, wanted), ("probability", probability)):
            if value is not None and not (is_number(value) and 0 < value <= 1):
                raise QuestionError(f"A {what} that is wanted lies in (0, 1], such as 0.9; found {show(value)}.")
        part = self._part(name)
        value = np.atleast_1d(self.estimate)[part]
        least = wanted - _ROUNDING
        sure = value if probability is None else (self.evidence.joint[:, part] >= least).mean(0)
        reached = sure >= (least if probability is None else probability)
        places = np.flatnonzero(reached)
        if len(places):
            return True, self._point(int(places[0] if name == "precision" else places[-1]))
        # Where the probability is 0 all along, the estimates tell which is the closest.
        closest = np.argmax(np.where(sure == sure.max(), value, -1.0))
        return False, self._point(int(closest))

    def best(self, measure: str = "f1") -> CurvePoint:
        """Return the threshold where F1 is estimated to be the greatest, the lowest one of several.

        Parameters
        ----------
        measure : {"f1"}

        Returns
        -------
        CurvePoint

        Raises
        ------
        QuestionError
            If it is another measure.

        Examples
        --------
        >>> import bayes_assess as ba
        >>> pool = ba.Pool(scores=[0.2, 0.4, 0.6, 0.8])
        >>> a = ba.assess(pool, ba.PRCurve([0.3, 0.5, 0.7]))
        >>> a.tell(pool.ids, [0, 1, 0, 1])
        >>> round(a.result().best("f1").f1.estimate, 3)
        0.8
        """
        if measure != "f1":
            raise QuestionError(f"The best threshold is that of the greatest 'f1'; found {show(measure)}.")
        return self._point(self._greatest_f1)

    def table(self, rows: int | None = _ROWS) -> Table:
        """Tabulate precision and recall with their intervals, a row per threshold.

        Parameters
        ----------
        rows : int, optional
            At most so many, spread over the curve; None for all.
        """
        value, ends, known = self.evidence.value, self.evidence.ends, self._thresholds
        n = len(known)
        places = self._places(rows)
        columns: dict[str, np.ndarray] = {"threshold": known[places]}
        for name in ("precision", "recall"):
            part = places + self._part(name).start
            columns |= {name: value[part], f"{name}_lower": ends[part, 0], f"{name}_upper": ends[part, 1]}
        some = f"{len(places)} of {n:,} thresholds" if len(places) < n else f"{n:,} threshold{'s' * (n != 1)}"
        title = f"Precision and recall at {some}, {self.level:.0%} {self.guarantee} intervals"
        formats = dict.fromkeys(columns, ".3f") | {"threshold": told_apart(known[places])}
        return Table(columns, title=title, formats=formats)

    def full_table(self) -> Table:
        """Tabulate the curve at all thresholds."""
        return self.table(None)

    def plot(self, *, truth: ArrayLike | None = None, ax: Axes | None = None) -> Axes:
        """Draw the precision-recall curve, with the intervals of both.

        Parameters
        ----------
        truth : array (2 L,), optional
            Exact answer to mark.
        ax : Axes, optional
        """
        return plots.precision_recall_curve(
            self.evidence.value,
            self.evidence.ends,
            truth=truth,
            interval_label=f"{self._interval_label}s",
            title=f"Precision and recall: {self._progress()}",
            ax=ax,
        )

    @property
    def headline(self) -> str:
        """The answer as one sentence."""
        return self._said_of_the_best_f1()

    def _said_of_the_best_f1(self) -> str:
        point = self.best()
        interval = "" if self.guarantee == "exact" else f", {self.level:.0%} {self.guarantee} interval"
        low, high = point.f1.interval
        ends = "" if self.guarantee == "exact" else f" [{low:.3f}, {high:.3f}]"
        greatest = "F1 is greatest" if self.guarantee == "exact" else "By estimate F1 is greatest"
        return f"{greatest} at {self._named(point.threshold)}: {point.f1.estimate:.3f}{interval}{ends}."

    @property
    def _thresholds(self) -> Float[np.ndarray, " L"]:
        table = cells_table(self.cells)
        assert isinstance(table, PRCurveTable)
        return np.asarray(table.thresholds)

    def _places(self, rows: int | None = _ROWS) -> Int[np.ndarray, " P"]:
        """Return which thresholds a table shows."""
        n = len(self._thresholds)
        if rows is not None and not is_whole(rows):
            raise QuestionError(f"A table has a whole number of rows, 1 or more, or all by None; found {show(rows)}.")
        return np.unique(np.linspace(0, n - 1, n if rows is None else min(int(rows), n)).round().astype(int))

    def _named(self, threshold: float) -> str:
        """Name a threshold in a sentence, by the digits that the table has."""
        return f"threshold {threshold:{told_apart(self._thresholds[self._places()])}}"

    @cached_property
    def _reaching(self) -> Int[np.ndarray, " L"]:
        """How many items reach every threshold."""
        return reaching(self.cells)

    @cached_property
    def _design_ends(self) -> Float[np.ndarray, "k 2"] | None:
        """Intervals from random items alone."""
        return self._at_all_thresholds(self.evidence.second)

    @cached_property
    def _sure_design_ends(self) -> Float[np.ndarray, "k 2"] | None:
        """The same at the level by which random items may contradict the belief, see `contradicting_level`."""
        return self._at_all_thresholds(self.evidence.sure_second)

    def _at_all_thresholds(self, second: Float[np.ndarray, "k 2"] | None) -> Float[np.ndarray, "k 2"] | None:
        """Let intervals at the thresholds that are audited hold for the thresholds before and after, too.

        From one threshold to the next higher one, positives among the items that reach it can only become fewer, and so
        can negatives. What the labels leave possible needs no trust either, one value where all is labelled.
        """
        if second is None:
            return None
        n = self._reaching.astype(np.float64)
        precision, recall = (second[self._part(name)] for name in ("precision", "recall"))
        low, high = (precision * n[:, None]).T
        fewest = np.maximum(_most_from(low), n - _least_until(n - low))
        most = np.minimum(_least_until(high), n - _most_from(n - high))
        counts = np.sort(np.stack([fewest, most], axis=-1), axis=-1) / np.maximum(n, 1)[:, None]
        shares = np.sort(np.stack([_most_from(recall[:, 0]), _least_until(recall[:, 1])], axis=-1), axis=-1)
        with engine.eager(), in_64_bits():
            labelled = LabelledByAttribute.of(self.cells.measure, self.evidence.counts)
            possible = possible_values(cells_table(self.cells), labelled)
        return np.concatenate([counts, shares]).clip(possible[:, :1], possible[:, 1:])

    @cached_property
    def _greatest_f1(self) -> int:
        """Place of the threshold with the greatest F1."""
        return int(np.argmax(self._f1(slice(None))[0]))

    def _f1(self, places: Int[np.ndarray, " P"] | slice, level: float | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Estimate F1 at some thresholds, with intervals, (n,) and (n, 2)."""
        parts = self._part("precision"), self._part("recall")
        return self.evidence.function(lambda values: _f1_of(*(values[..., part][..., places] for part in parts)), level)

    def _answer(self) -> list[str]:
        exact = self.guarantee == "exact"
        how = " (exact)" if exact else f", {self.evidence.kind_of_intervals}"
        n = plural(len(self._thresholds), "threshold")
        lines = [f"Precision and recall at {n}{how}.", self._said_of_the_best_f1(), *self._if_none_reaches()]
        if exact:
            return lines
        warning = self.evidence.warning("The intervals there hold both.")
        return [*warning, *lines, self.evidence.leaning(self._known_without_trust())]

    def _if_none_reaches(self) -> list[str]:
        """Say where precision and recall are 0 for want of items."""
        beyond = self._thresholds[self._reaching == 0]
        if not len(beyond):
            return []
        more = " or one above" * (len(beyond) > 1)
        return [f"No item reaches {self._named(beyond[0])}{more}: precision is not defined there, and counts as 0."]

    def _known_without_trust(self) -> str:
        point = self.best()  # of which the answer speaks
        ends = {"precision": point.precision.design_interval, "recall": point.recall.design_interval}
        said = ", ".join(f"{name} [{two[0]:.3f}, {two[1]:.3f}]" for name, two in ends.items() if two is not None)
        return f"Without trusting the scores, at {self._named(point.threshold)}: {said}"

    def _variables(self) -> Variables:
        parts = {name: self.draws[:, self._part(name)] for name in ("precision", "recall")}
        return Variables(parts, {name: ["threshold"] for name in parts}, {"threshold": self._thresholds})

    def _part(self, name: str) -> slice:
        n = len(self._thresholds)
        return slice(0, n) if name == "precision" else slice(n, 2 * n)

    def _point(self, at: int) -> CurvePoint:
        value, ends, design = self.evidence.value, self.evidence.ends, self._design_ends
        places = {name: at + self._part(name).start for name in ("precision", "recall")}
        parts = {
            name: Measured(float(value[i]), ends[i], None if design is None else design[i])
            for name, i in places.items()
        }
        best, between = self._f1(slice(at, at + 1))
        of_both, sure = [places["precision"], places["recall"]], self._sure_design_ends
        without = None if design is None else _f1_of(*design[of_both])
        if without is not None and sure is not None and self.guarantee != "exact":
            ends = self._f1(slice(at, at + 1), contradicting_level(self.level))[1]
            between = widened(between, without[None], contradicted(ends, _f1_of(*sure[of_both])[None]))
        f1 = Measured(float(best[0]), between[0], without)
        return CurvePoint(
            float(self._thresholds[at]),
            int(self._reaching[at]),
            precision=parts["precision"],
            recall=parts["recall"],
            f1=f1,
            level=self.level,
        )


def _f1_of(precision: np.ndarray, recall: np.ndarray) -> np.ndarray:
    """Compute F1, 0 where both are 0."""
    return quotient(2 * precision * recall, precision + recall)


def _most_from(values: Float[np.ndarray, " L"]) -> Float[np.ndarray, " L"]:
    """Greatest value from every place on."""
    return np.maximum.accumulate(values[::-1])[::-1]


def _least_until(values: Float[np.ndarray, " L"]) -> Float[np.ndarray, " L"]:
    """Least value up to every place."""
    return np.minimum.accumulate(values)
