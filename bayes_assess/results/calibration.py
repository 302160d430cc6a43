"""Calibration: accuracy against confidence in bins, and the expected calibration error that follows."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from bayes_assess._tools.arrays import show
from bayes_assess._tools.shapes import ArrayLike, Float, Int
from bayes_assess._tools.tables import Table
from bayes_assess._tools.to_arviz import ArvizData, to_arviz
from bayes_assess.errors import QuestionError
from bayes_assess.estimators.finite_pool import extended
from bayes_assess.questions import Calibration, LeastCalibrated
from bayes_assess.questions.calibration import by_group
from bayes_assess.results import plots
from bayes_assess.results._learned import what_was_learned
from bayes_assess.results.groups import GroupwiseResult

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class _Draws(NamedTuple):
    """What posterior draws of all bins come to, group by group."""

    error: Float[np.ndarray, "S G"]  # expected calibration error
    maximum: Float[np.ndarray, "S G"]  # maximum calibration error
    accuracy: Float[np.ndarray, "S G"]
    overconfident: Float[np.ndarray, "G B"]  # share of draws with an accuracy below the confidence


@dataclass(frozen=True, eq=False, repr=False)
class CalibrationResult(GroupwiseResult):
    """Accuracy and confidence of every bin, and the expected calibration error (ECE) of every group.

    Without groups there is a single one, called "all items", and `estimate` is a number.

    Attributes
    ----------
    estimate : (G,) floats, or a number
        Posterior mean of the ECE.
    interval : (G, 2) floats, or (2,)
    confidence, accuracy, gap : (G, B) floats
        Mean confidence of every bin, posterior mean accuracy, and the latter less the former: negative where the
        system is over-confident.
    accuracy_interval : (G, B, 2) floats
    probability_overconfident : (G, B) floats

    Examples
    --------
    >>> import bayes_assess as ba
    >>> pool = ba.Pool(predictions=[0] * 10, confidence=[0.75] * 10, classes=[0, 1])
    >>> a = ba.assess(pool, ba.Calibration(bins=1))
    >>> a.tell(pool.ids, [0] * 5 + [1] * 5)
    >>> result = a.result()
    >>> result.estimate.tolist(), result.gap.tolist()
    (0.25, [[-0.25]])
    """

    question: Calibration | LeastCalibrated

    @property
    def bins(self) -> np.ndarray:
        """Names of the bins, (B,)."""
        return self.cells.parts[1].names

    @property
    def confidence(self) -> Float[np.ndarray, "G B"]:
        """Mean confidence of every bin."""
        return by_group(self.cells, np.asarray(self.cells.mean_score))

    @cached_property
    def accuracy(self) -> Float[np.ndarray, "G B"]:
        """Posterior mean accuracy of every bin."""
        return by_group(self.cells, self.question.accuracy(self.cells, self.evidence.learner, self.counts))

    @cached_property
    def accuracy_interval(self) -> Float[np.ndarray, "G B 2"]:
        """Equal-tailed credible interval of every bin's accuracy."""
        ends = self.question.accuracy_interval(self.cells, self.posterior, self.counts, self.level)
        return extended(ends.reshape(*self.confidence.shape, 2), self.accuracy)

    @property
    def gap(self) -> Float[np.ndarray, "G B"]:
        """Accuracy less confidence: negative where the system is over-confident."""
        return self.accuracy - self.confidence

    @property
    def probability_overconfident(self) -> Float[np.ndarray, "G B"]:
        """Posterior probability that a bin's accuracy is below its confidence; 0 for bins without items."""
        return self._drawn.overconfident

    @property
    def plug_in(self) -> Float[np.ndarray, " G"]:
        """Calibration error of the posterior mean accuracies ([ABA]'s estimate), (G,), or a number."""
        return self.question.plug_in(self.cells, self.evidence.learner, self.counts)

    @cached_property
    def maximum_error(self) -> Float[np.ndarray, " G"]:
        """Posterior mean of the maximum calibration error over bins with items, (G,)."""
        return self._drawn.maximum.mean(0)

    @cached_property
    def maximum_error_interval(self) -> Float[np.ndarray, "G 2"]:
        """Equal-tailed credible interval of the maximum calibration error, (G, 2)."""
        return self.evidence.ends_of(self._drawn.maximum, self.maximum_error)

    @cached_property
    def group_accuracy(self) -> Float[np.ndarray, " G"]:
        """Posterior mean accuracy of every group, (G,)."""
        return self.question.group_accuracy(self.cells, self.accuracy.ravel())

    @cached_property
    def group_accuracy_interval(self) -> Float[np.ndarray, "G 2"]:
        """Equal-tailed credible interval of every group's accuracy, (G, 2)."""
        given = (self.cells, self.posterior, self.counts, self.level, self._drawn.accuracy)
        return extended(self.question.group_accuracy_interval(*given), self.group_accuracy)

    @cached_property
    def overall(self) -> tuple[float, Float[np.ndarray, " 2"]]:
        """Calibration error of the pool, or its mean over groups by their shares: estimate and credible interval."""
        if self.question.by is None:
            return float(self.estimate), self.interval
        weight = self.size / self.size.sum()
        mean = float(self.estimate @ weight)
        given = (self.cells, self.evidence.learner, self.counts, self.level, self.draws @ weight)
        return mean, extended(self.question.overall_interval(*given), np.asarray(mean))

    def _draw_ranks(self) -> Int[np.ndarray, "S J"]:
        if self.question.by is None:
            raise QuestionError("The calibration error of the whole pool has no ranks; ask that of groups, by=...")
        return super()._draw_ranks()

    @cached_property
    def draws(self) -> Float[np.ndarray, "S G"]:
        """Posterior draws of the ECE, (S, G), or (S,) without groups."""
        return self._drawn.error[:, 0] if self.question.by is None else self._drawn.error

    def table(self) -> Table:
        """Tabulate the groups, the least calibrated first, or the bins where there are no groups."""
        return self.bins_table() if self.question.by is None else super().table()

    def bins_table(self, group: Hashable | None = None) -> Table:
        """Tabulate the bins of a group: confidence, accuracy, and the gap between them.

        Parameters
        ----------
        group : optional
            Name of the group; needed only if there are several.
        """
        g = self._group(group)
        size, labelled = (by_group(self.cells, x)[g] for x in (self.cells.sizes, self.counts.sum(-1)))
        columns = {
            "bin": self.bins,
            "items": size,
            "labelled": labelled,
            "right": by_group(self.cells, self.counts[:, 1])[g],
            "confidence": self.confidence[g],
            "accuracy": self.accuracy[g],
            "lower": self.accuracy_interval[g, :, 0],
            "upper": self.accuracy_interval[g, :, 1],
            "gap": self.gap[g],
            "p_overconfident": self.probability_overconfident[g],
        }
        filled = size > 0
        return Table(
            {name: np.asarray(values)[filled] for name, values in columns.items()},
            title=f"Confidence and accuracy of {self.groups[g]}, {self._interval_label}s",
            formats=dict.fromkeys(list(columns)[4:], ".3f") | {"gap": "+.3f"},
        )

    def plot(
        self,
        kind: str | None = None,
        *,
        group: Hashable | None = None,
        truth: Float[np.ndarray, "..."] | None = None,
        prior: bool = False,
        ax: Axes | None = None,
    ) -> Axes:
        """Draw a reliability diagram, or the groups' calibration.

        Parameters
        ----------
        kind : {"reliability", "scatter", "estimate", "rank"}, optional
            Bins of one group with the histogram of their scores; every group's accuracy against its ECE; every
            group's ECE, or its rank. By default the first without groups, the second with them.
        group : optional
            Name of the group for a reliability diagram; needed only if there are several.
        truth : array, optional
            Known values to mark: accuracies of the group's bins (B,) for reliability, accuracy and ECE (G, 2) for the
            scatter, ECE (G,) for the others.
        prior : bool
            Whether to mark the prior means, too; not in the scatter.
        ax : matplotlib Axes, optional
        """
        alone = self.question.by is None
        kind = ("reliability" if alone and kind is None else kind) or (
            "reliability" if group is not None else "scatter"
        )
        if kind == "reliability":
            return self._reliability(self._group(group), truth, prior, ax)
        if kind == "scatter" and not alone:
            shown = self.size > 0
            return plots.accuracy_against_error(
                [str(name) for name in self.groups[shown]],
                self.group_accuracy[shown],
                self.group_accuracy_interval[shown],
                self.estimate[shown],
                self.interval[shown],
                sizes=self.size[shown],
                truth=None if truth is None else np.asarray(truth)[shown],
                highlight=np.isin(self.groups, self.identified)[shown],
                highlight_label=self._most() if len(self.identified) else None,
                interval_label=self._interval_label,
                title=f"Calibration by {self.by}: {self._progress()}",
                ax=ax,
            )
        if alone:
            raise QuestionError(f"Calibration without groups plots 'reliability'; found {kind!r}.")
        if kind not in ("estimate", "rank"):
            raise QuestionError(f"Calibration plots 'reliability', 'scatter', 'estimate' or 'rank'; found {kind!r}.")
        return super().plot(kind, truth=truth, prior=prior, ax=ax)

    def to_arviz(self) -> ArvizData:
        """Return posterior and prior draws, observed and constant data as an ArviZ object.

        ``theta`` are the accuracies of the population's bins; ``calibration_error`` is what the question asks for.
        """
        shape = self.confidence.shape
        n_draws = len(self.draws)
        posterior, prior = (drawn.reshape(n_draws, *shape) for drawn in self.evidence.thetas(n_draws))
        counts = by_group(self.cells, self.counts[:, 1]), by_group(self.cells, self.counts.sum(-1))
        cells = ["theta", "agreements", "labels", "items", "confidence"]
        return to_arviz(
            {"theta": posterior, "calibration_error": self._drawn.error},
            prior={"theta": prior},
            observed_data={"agreements": counts[0]},
            constant_data={
                "labels": counts[1],
                "items": by_group(self.cells, self.cells.sizes),
                "confidence": self.confidence,
            },
            dims={name: ["group", "bin"] for name in cells} | {"calibration_error": ["group"]},
            coords={"group": self.groups, "bin": self.bins},
            attrs=self._attributes(),
        )

    @cached_property
    def _drawn(self) -> _Draws:
        """One pass over posterior draws of all bins, which are never kept."""
        question, cells = self.question, self.cells
        filled = by_group(cells, cells.sizes) > 0
        error, maximum, accuracy, below, n_draws = [], [], [], np.zeros(filled.shape), 0
        for block in question.accuracy_draws(cells, self.evidence.learner, self.counts, self.seed, self.n_draws):
            gap = by_group(cells, block - cells.mean_score)
            error.append(question.error_of(cells, block))
            maximum.append(np.where(filled, np.abs(gap), 0.0).max(-1))
            accuracy.append(question.group_accuracy(cells, block))
            below += np.where(filled, gap < 0, 0.0).sum(0)
            n_draws += len(block)
        return _Draws(np.concatenate(error), np.concatenate(maximum), np.concatenate(accuracy), below / n_draws)

    def _answer(self) -> list[str]:
        error, (low, high), maximum, (m_low, m_high) = (
            (*self.overall, *self._overall_maximum())
            if self.question.by is not None
            else (*self.overall, self.maximum_error[0], self.maximum_error_interval[0])
        )
        words = f"{self.level:.0%} {self.guarantee} interval"
        lines = [f"Expected calibration error {error:.3f}, {words} [{low:.3f}, {high:.3f}]."]
        if self.question.by is None:
            lines.append(f"Maximum calibration error {maximum:.3f}, {words} [{m_low:.3f}, {m_high:.3f}].")
            lines.append(self._direction())
            return lines
        return [*lines, *super()._answer()[1:]]

    def _of_the_prior(self) -> str | None:
        score = np.asarray(self.cells.mean_score)
        found = self.evidence.contradiction()
        sizes = by_group(self.cells, self.cells.sizes).sum(-1)
        by_size = self.question.group_accuracy(self.cells, score)
        return found or what_was_learned(self.prior, self._drawn.accuracy, sizes, by_size, self._tails())

    def _overall_maximum(self) -> tuple[float, Float[np.ndarray, " 2"]]:
        worst = self._drawn.maximum.max(-1)
        mean = float(worst.mean())
        return mean, self.evidence.ends_of(worst, mean)

    def _direction(self) -> str:
        """Say in which bins the confidence is surely too high, or too low."""
        probability, filled = self.probability_overconfident[0], by_group(self.cells, self.cells.sizes)[0] > 0
        over, under = filled & (probability >= self.level), filled & (probability <= 1 - self.level)
        if self.guarantee == "exact":
            over, under = filled & (self.gap[0] < 0), filled & (self.gap[0] > 0)
        if not (over | under).any():
            return f"In no bin is it {self.level:.0%} sure on which side of its confidence the accuracy lies."
        parts = [
            f"{word} in {', '.join(self.bins[which])}"
            for word, which in (("over-confident", over), ("under-confident", under))
            if which.any()
        ]
        return f"The system is {' and '.join(parts)}."

    def _reliability(self, g: int, truth: ArrayLike | None, prior: bool, ax: Axes | None) -> Axes:
        name = "" if self.question.by is None else f" of {self.groups[g]}"
        size, labelled = (by_group(self.cells, x)[g] for x in (self.cells.sizes, self.counts.sum(-1)))
        before = by_group(self.cells, self.question.accuracy(self.cells, self.prior, self.evidence.nothing))
        return plots.reliability(
            self.confidence[g],
            self.accuracy[g],
            self.accuracy_interval[g],
            sizes=size,
            labelled=labelled,
            edges=self.cells.parts[1].edges,
            prior=before[g] if prior else None,
            truth=truth,
            interval_label=self._interval_label,
            title=f"Reliability{name}: {self._progress()}",
            ax=ax,
        )

    def _group(self, name: Hashable) -> int:
        if name is None and len(self.groups) == 1:
            return 0
        found = np.flatnonzero(self.groups.astype(str) == str(name))
        if len(found) != 1:
            known = ", ".join(str(one) for one in self.groups[:20]) + (", ..." if len(self.groups) > 20 else "")
            raise QuestionError(f"Name one of the groups {known}; found {show(name)}.")
        return int(found[0])

    def _more_columns(self) -> dict[str, Int[np.ndarray, " G"]]:
        return {
            "plug_in": self.plug_in,
            "max_error": self.maximum_error,
            "accuracy": self.group_accuracy,
            "accuracy_lower": self.group_accuracy_interval[:, 0],
            "accuracy_upper": self.group_accuracy_interval[:, 1],
        }
