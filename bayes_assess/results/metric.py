"""Estimates of measures from weighted draws."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Bool, Float

from bayes_assess._typing import x64
from bayes_assess.acquisition.target import second_moments
from bayes_assess.designs import WeightedDesign, WeightedState
from bayes_assess.errors import QuestionError
from bayes_assess.intervals import ellipsoid_radius, measure_interval
from bayes_assess.plots import forest, precision_recall_curve
from bayes_assess.pool import Pool
from bayes_assess.questions import Metric, PRCurve
from bayes_assess.questions.metric import MetricCells, cells_table
from bayes_assess.results._base import Result
from bayes_assess.tables import Table

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_COVARIANCE_UP_TO = 100  # measures
_LINES = 12  # of a summary


@dataclass(frozen=True, eq=False, repr=False)
class MetricResult(Result):
    """Measures, such as F1, from weighted draws.

    Attributes
    ----------
    estimate : float, or (k,) for a list of measures
    interval : (2,) or (k, 2)
        See `measure_interval`.
    standard_error : float or (k,)
    covariance : (k, k)
        Of the estimates.
    guarantee : str
        ``"asymptotic"``, or ``"exact"`` once all items are labelled that can matter.
    n_draws : int
        Draws, repeated ones included.
    n_effective : float
        Effective number of draws that matter.
    """

    answer: dict[str, Any] = field(kw_only=True)

    @property
    def guarantee(self) -> str:
        """What the interval promises."""
        return "exact" if self.answer["exact"] else "asymptotic"

    @cached_property
    def estimate(self) -> Any:
        """Estimated measures."""
        return self._shaped(self.answer["estimate"])

    @property
    def standard_error(self) -> Any:
        """Standard errors: infinite where no draw defines the measure, 0 where draws show no spread."""
        error = np.where(self.answer["defined"], np.sqrt(np.maximum(self.answer["variance"], 0)), np.inf)
        return self._shaped(np.where(self.answer["exact"], 0, error))

    @cached_property
    def interval(self) -> Float[np.ndarray, "... 2"]:
        """Asymptotic intervals."""
        ends = self._ends_of_all()
        return ends[0] if np.ndim(self.estimate) == 0 else ends

    @property
    def covariance(self) -> Float[np.ndarray, "k k"]:
        """Covariance of the estimates ([NH] sec. 3.3.2)."""
        if self.answer["covariance"] is None:
            raise QuestionError(f"The covariance of {len(self.groups):,} outputs is not kept; `standard_error` is.")
        return self.answer["covariance"]

    @property
    def n_draws(self) -> int:
        """Draws, repeated ones included."""
        return int(self.answer["n_draws"])

    @property
    def n_effective(self) -> float:
        """Effective number of draws that matter to the measure."""
        return float(self.answer["n_effective"])

    @property
    def posterior(self) -> Any:  # type: ignore[override]
        """Refuse: there is no posterior here."""
        raise self._no_posterior()

    def in_ellipsoid(self, values: Any) -> bool:
        """Whether the confidence ellipsoid of all measures holds these values, (k,) ([NH] sec. 3.3.2).

        Parameters
        ----------
        values : (k,)

        Examples
        --------
        >>> import bayes_assess as ba
        >>> pool = ba.Pool(predictions=[0, 1] * 50)
        >>> a = ba.assess(pool, ba.Metric(["precision", "recall"]), design="passive")
        >>> queries = a.ask(40)
        >>> a.tell(queries.ids, [i % 3 % 2 for i in range(40)])
        >>> bool(a.result().in_ellipsoid(a.result().estimate))
        True
        """
        point = np.atleast_1d(np.asarray(values, np.float64))
        if point.shape != (len(self.groups),):
            raise QuestionError(f"The ellipsoid is that of {len(self.groups)} measures; found {point.size} values.")
        gap = point - np.atleast_1d(self.estimate)
        if self.answer["exact"]:
            return bool(np.allclose(gap, 0))
        if not self.answer["defined"].all():
            return True
        inverse = np.linalg.pinv(self.covariance, hermitian=True)
        outside = gap - self.covariance @ (inverse @ gap)  # along directions without spread
        radius = ellipsoid_radius(self.n_draws, len(gap), self.level)
        return bool(gap @ inverse @ gap <= radius and np.abs(outside).max() < 1e-9)

    def table(self) -> Table:
        """Tabulate all measures; a row per threshold for curves."""
        ends, value = self._ends_of_all(), np.atleast_1d(self.estimate)
        title = f"{self.question.name}, {self.level:.0%} {self.guarantee} intervals"
        if isinstance(self.question, PRCurve):
            n = len(value) // 2
            columns: dict[str, Any] = {"threshold": cells_table(self.cells).thresholds}
            for i, name in enumerate(("precision", "recall")):
                part = slice(i * n, (i + 1) * n)
                columns |= {name: value[part], f"{name}_lower": ends[part, 0], f"{name}_upper": ends[part, 1]}
            return Table(columns, title=title, formats=dict.fromkeys(columns, ".3f"))
        columns = {
            "measure": self.groups,
            "estimate": value,
            "lower": ends[:, 0],
            "upper": ends[:, 1],
            "se": np.atleast_1d(self.standard_error),
        }
        return Table(columns, title=title, formats=dict.fromkeys(("estimate", "lower", "upper", "se"), ".4f"))

    def plot(self, *, truth: Any = None, ax: Axes | None = None) -> Axes:
        """Draw estimates with intervals, or the precision-recall curve.

        Parameters
        ----------
        truth : array, optional
            Exact answer to mark.
        ax : Axes, optional
        """
        ends = self._ends_of_all()
        title = f"{self.question.name}: {self._progress()}"
        if isinstance(self.question, PRCurve):
            return precision_recall_curve(self.estimate, ends, truth=truth, title=title, ax=ax)
        truth = None if truth is None else np.atleast_1d(truth)
        names, value = self.groups.tolist(), np.atleast_1d(self.estimate)
        return forest(names, value, ends, truth=truth, order="given", xlabel="", title=title, ax=ax)

    def to_arviz(self) -> Any:
        """Refuse: there is no posterior here."""
        raise self._no_posterior()

    def _no_posterior(self) -> QuestionError:
        return QuestionError(
            f"{self.question.name} is estimated from weighted draws, without a posterior that ArviZ could show; "
            "`covariance` and `interval` say how well it is known."
        )

    def _answer(self) -> list[str]:
        ends = self._ends_of_all()
        kind = f"{self.level:.0%} {self.guarantee} interval"
        if isinstance(self.question, PRCurve):
            lines = [f"Precision and recall at {len(ends) // 2:,} thresholds, {kind}s."]
        else:
            lines = [
                f"{name} {value:.3f}" + (" (exact)." if self.answer["exact"] else f", {kind} [{low:.3f}, {high:.3f}].")
                for name, value, (low, high) in zip(self.groups, np.atleast_1d(self.estimate), ends, strict=True)
            ]
            if len(lines) > _LINES:
                lines = [*lines[:_LINES], f"And {len(lines) - _LINES:,} more."]
        if not self.answer["exact"] and not self.answer["defined"].all():
            missing = self.groups[~self.answer["defined"]]
            named = ", ".join(missing[:3]) + (f" and {len(missing) - 3:,} more" if len(missing) > 3 else "")
            lines.append(f"No draw so far defines {named}: the figure is what the design believes.")
        return lines

    def _ends_of_all(self) -> Float[np.ndarray, "k 2"]:
        found = self.answer
        bounded: Bool[np.ndarray, " k"] = np.array(found["bounded"])
        return measure_interval(
            found["estimate"],
            found["variance"],
            found["n_effective"],
            bounded=bounded,
            defined=found["defined"],
            exact=found["exact"],
            level=self.level,
        )

    @property
    def groups(self) -> np.ndarray:
        """Names of the measures, (k,)."""
        return np.array(self.answer["outputs"])

    def _shaped(self, values: np.ndarray) -> Any:
        scalar = len(values) == 1 and not isinstance(self.question.measure, list | tuple)
        return values[0] if scalar else values


@x64
def measure_answer(design: WeightedDesign, state: WeightedState) -> dict[str, Any]:
    """Answer the question that a session, or `asked_anew`, has as its target."""
    state = jax.tree.map(jnp.asarray, state)
    found = design.answer(state)
    table = state.target.table
    covariance = None
    if len(table.outputs) <= _COVARIANCE_UP_TO:
        mass = state.target.by_attribute(second_moments(state.draws))
        n: Any = jnp.maximum(state.draws.n, 1)
        covariance = table.covariance(found["risk"], mass, n)
    found = {name: np.asarray(value) for name, value in found.items()}
    return found | {
        "covariance": None if covariance is None else np.asarray(covariance),
        "outputs": table.outputs,
        "bounded": table.bounded,
    }


@x64
def asked_anew(
    pool: Pool, cells: Any, state: WeightedState, question: Any
) -> tuple[Metric, MetricCells, WeightedState]:
    """Put another measure in the place of a session's own.

    Parameters
    ----------
    pool : Pool
    cells : MetricCells
        Cells of the session.
    state : WeightedState
    question : Metric
        A curve with a number of thresholds gets thresholds that the cells tell apart.

    Returns
    -------
    The question, and cells and state with its target.

    Raises
    ------
    QuestionError
        If the draws cannot answer it.
    """
    if not isinstance(question, Metric):
        raise QuestionError(f"These draws answer measures, Metric(...) or PRCurve(...); found {question!r}.")
    if isinstance(question, PRCurve):
        question = question.on_cells(pool, cells)
    codes, table = question.losses(pool)
    attribute = codes[cells.order[cells.starts[:-1]]]
    if (codes != attribute[cells.codes]).any():
        raise QuestionError(
            f"{question.name} depends on what the cells of this session do not tell apart; start a session with it, "
            "or with a list of measures that contains it."
        )
    target = replace(cells.target, table=table, attribute=attribute, n_attributes=table.n_attributes)
    nonzero = np.asarray(target.nonzero)
    needed = np.concatenate([nonzero, nonzero.any(-1, keepdims=True)], axis=-1) & (np.asarray(state.items) > 0)
    missing = needed & ~np.asarray(state.draws.covered)
    if missing.any():
        n = int(np.asarray(state.items)[missing].sum())
        raise QuestionError(
            f"{question.name} needs draws of {n:,} items that the proposals of this session left out; a design with "
            "delta > 0, such as Adaptive(delta=0.1), leaves none out."
        )
    remaining = np.where(nonzero.any(-1), state.unlabelled - state.pending, 0)
    return question, replace(cells, target=target), replace(state, target=target, remaining=remaining)
