"""Calibration: accuracy against confidence in bins, and the expected calibration error that follows."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from bayes_assess._tools.arrays import show
from bayes_assess._tools.shapes import Array, ArrayLike, Bool, Float
from bayes_assess._tools.tables import Table
from bayes_assess._tools.to_arviz import ArvizData, to_arviz
from bayes_assess.errors import QuestionError
from bayes_assess.estimators.finite_pool import extended
from bayes_assess.questions import Calibration, LeastCalibrated
from bayes_assess.questions._calibration_bins import by_group
from bayes_assess.results import plots
from bayes_assess.results._learned import what_was_learned
from bayes_assess.results.plots._drawing import checked_numbers
from bayes_assess.results.sections.groups import GroupSection

if TYPE_CHECKING:
    from matplotlib.axes import Axes


_ROUNDING = 1e-9  # of gaps that are exactly 0


class _Draws(NamedTuple):
    """What posterior draws of all bins come to, group by group."""

    error: Float[np.ndarray, "S G"]  # expected calibration error
    maximum: Float[np.ndarray, "S G"]  # maximum calibration error
    accuracy: Float[np.ndarray, "S G"]
    overconfident: Float[np.ndarray, "G B"]  # share of draws with an accuracy below the confidence


@dataclass(frozen=True, eq=False, repr=False)
class CalibrationErrors(GroupSection):
    """Accuracy and confidence of every bin, and the expected calibration error (ECE) of every group.

    Without groups there is a single one, called "all items", and the estimate is a number.

    Attributes
    ----------
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
        return self.evidence.cells.parts[1].names

    @property
    def confidence(self) -> Float[np.ndarray, "G B"]:
        """Mean confidence of every bin."""
        return by_group(self.evidence.cells, np.asarray(self.evidence.cells.mean_score))

    @cached_property
    def accuracy(self) -> Float[np.ndarray, "G B"]:
        """Posterior mean accuracy of every bin."""
        known = self.evidence
        return by_group(known.cells, self.question.accuracy(known.cells, known.learner, known.counts))

    @cached_property
    def accuracy_interval(self) -> Float[np.ndarray, "G B 2"]:
        """Equal-tailed credible interval of every bin's accuracy."""
        known = self.evidence
        ends = self.question.accuracy_interval(known.cells, known.posterior, known.counts, known.level)
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
        known = self.evidence
        return self.question.plug_in(known.cells, known.learner, known.counts)

    @cached_property
    def maximum_error(self) -> Float[np.ndarray, " G"]:
        """Posterior mean of the maximum calibration error over bins with items, (G,).

        It is no less than that of the expected error, which is known beyond what draws tell: of one bin they are one.
        """
        first, *_ = drawn = self._drawn.maximum
        error = first + (drawn - first).mean(0)  # that of equal draws is exact
        return np.maximum(error, self.evidence.estimate)

    @cached_property
    def maximum_error_interval(self) -> Float[np.ndarray, "G 2"]:
        """Credible interval of the maximum calibration error, (G, 2), as wide as that of the expected one."""
        known = self.evidence
        given = (known.cells, known.learner, known.counts, known.level, self._drawn.maximum)
        return extended(self.question.maximum_interval(*given), self.maximum_error)

    @cached_property
    def group_accuracy(self) -> Float[np.ndarray, " G"]:
        """Posterior mean accuracy of every group, (G,)."""
        return self.question.group_accuracy(self.evidence.cells, self.accuracy.ravel())

    @cached_property
    def group_accuracy_interval(self) -> Float[np.ndarray, "G 2"]:
        """Equal-tailed credible interval of every group's accuracy, (G, 2)."""
        known = self.evidence
        given = (known.cells, known.posterior, known.counts, known.level, self._drawn.accuracy)
        return extended(self.question.group_accuracy_interval(*given), self.group_accuracy)

    @property
    def alone(self) -> bool:
        """Whether there is one group, all items, so that the answer is a number without ranks."""
        return self.question.by is None

    @cached_property
    def overall(self) -> tuple[float, Float[np.ndarray, " 2"]]:
        """Calibration error of the pool, or its mean over groups by their shares: estimate and credible interval."""
        known = self.evidence
        if self.alone:
            return float(known.estimate), self.interval
        weight = known.size / known.size.sum()
        mean = float(known.estimate @ weight)
        if known.guarantee == "exact":  # draws are all equal, up to rounding
            return mean, np.full(2, mean)
        given = (known.cells, known.learner, known.counts, known.level, self.draws @ weight)
        return mean, extended(self.question.overall_interval(*given), np.asarray(mean))

    @cached_property
    def draws(self) -> Float[np.ndarray, "S G"]:
        """Posterior draws of the ECE, (S, G), or (S,) without groups."""
        return self._drawn.error[:, 0] if self.alone else self._drawn.error

    def table(self) -> Table | None:
        """Tabulate the bins where there are no groups."""
        return self.bins_table() if self.alone else None

    def bins_table(self, group: Hashable | None = None) -> Table:
        """Tabulate the bins of a group: confidence, accuracy, and the gap between them.

        Parameters
        ----------
        group : optional
            Name of the group; needed only if there are several.
        """
        known = self.evidence
        g = self._group(group)
        size, labelled = (by_group(known.cells, x)[g] for x in (known.cells.sizes, known.counts.sum(-1)))
        columns = {
            "bin": self.bins,
            "items": size,
            "labelled": labelled,
            "right": by_group(known.cells, known.counts[:, 1])[g],
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
            title=f"Confidence and accuracy of {known.groups[g]}, {known.interval_label}s",
            formats=dict.fromkeys(list(columns)[4:], ".3f") | {"gap": "+.3f"},
        )

    def plot(
        self,
        kind: str | None,
        *,
        group: Hashable | None,
        truth: Float[np.ndarray, "..."] | None,
        prior: bool,
        asked: Bool[np.ndarray, " G"],
        asked_label: str | None,
        ax: Axes | None,
    ) -> Axes | None:
        """Draw a reliability diagram, or accuracies against calibration errors; None of figures of other kinds."""
        known, alone = self.evidence, self.alone
        kind = ("reliability" if alone and kind is None else kind) or (
            "reliability" if group is not None else "scatter"
        )
        if kind == "reliability":
            return self._reliability(self._group(group), truth, prior, ax)
        if kind == "scatter" and not alone:
            shown = known.size > 0
            return plots.accuracy_against_error(
                [str(name) for name in known.groups[shown]],
                self.group_accuracy[shown],
                self.group_accuracy_interval[shown],
                known.estimate[shown],
                self.interval[shown],
                sizes=known.size[shown],
                truth=None if truth is None else checked_numbers("truth", truth, (len(shown), 2))[shown],
                highlight=asked[shown],
                highlight_label=asked_label,
                interval_label=known.interval_label,
                title=f"Calibration by {known.by}: {known._progress()}",
                ax=ax,
            )
        if alone:
            raise QuestionError(f"Calibration without groups plots 'reliability'; found {kind!r}.")
        if kind not in ("estimate", "rank"):
            raise QuestionError(f"Calibration plots 'reliability', 'scatter', 'estimate' or 'rank'; found {kind!r}.")
        return None

    def to_arviz(self, attributes: dict[str, object]) -> ArvizData:
        """Return posterior and prior draws, observed and constant data as an ArviZ object.

        ``theta`` are the accuracies of the population's bins; ``calibration_error`` is what the question asks for.
        """
        known = self.evidence
        shape, n_draws = self.confidence.shape, len(self.draws)
        theta, before = known.thetas(n_draws)
        error = self.question.error_of(known.cells, known.in_target(theta))
        agreements, labels, items = (
            by_group(known.cells, x) for x in (known.counts[:, 1], known.counts.sum(-1), known.cells.sizes)
        )
        cells = ["theta", "agreements", "labels", "items", "confidence"]
        return to_arviz(
            {"theta": theta.reshape(n_draws, *shape), "calibration_error": error},
            prior={"theta": before.reshape(n_draws, *shape)},
            observed_data={"agreements": agreements},
            constant_data={"labels": labels, "items": items, "confidence": self.confidence},
            dims={name: ["group", "bin"] for name in cells} | {"calibration_error": ["group"]},
            coords={"group": known.groups, "bin": self.bins},
            attrs=attributes,
        )

    @cached_property
    def _drawn(self) -> _Draws:
        """One pass over posterior draws of all bins, which are never kept."""
        question, known, cells = self.question, self.evidence, self.evidence.cells
        filled = by_group(cells, cells.sizes) > 0
        error, maximum, accuracy, below, n_draws = [], [], [], np.zeros(filled.shape), 0
        for block in question.accuracy_draws(cells, known.learner, known.counts, known.seed, known.n_draws):
            gap = by_group(cells, block - cells.mean_score)
            error.append(question.error_of(cells, block))
            maximum.append(question.greatest(cells, np.abs(block - cells.mean_score)))
            accuracy.append(question.group_accuracy(cells, block))
            below += np.where(filled, gap < -_ROUNDING, 0.0).sum(0)
            n_draws += len(block)
        return _Draws(np.concatenate(error), np.concatenate(maximum), np.concatenate(accuracy), below / n_draws)

    def on_all(self) -> list[str]:
        """Say the calibration error of the pool; without groups, the greatest of a bin, and its direction."""
        error, ends = self.overall
        second = self.evidence.by_random_labels if self.alone else None
        by_random = "" if second is None else f"; by random labels alone [{second[0]:.3f}, {second[1]:.3f}]"
        lines = [f"Expected calibration error {error:.3f}{self.evidence.with_ends(ends)}{by_random}."]
        if not self.alone:
            return lines
        ends = self.evidence.with_ends(self.maximum_error_interval[0])
        return [*lines, f"Maximum calibration error {self.maximum_error[0]:.3f}{ends}.", self._direction()]

    def of_the_prior(self) -> str | None:
        """Say that labels contradict the prior, or how groups differ and how far scores can be trusted."""
        known = self.evidence
        contradicted = known.contradiction()
        sizes = by_group(known.cells, known.cells.sizes).sum(-1)
        by_size = self.question.group_accuracy(known.cells, np.asarray(known.cells.mean_score))
        return contradicted or what_was_learned(known.prior, self._drawn.accuracy, sizes, by_size, known._tails())

    def _direction(self) -> str:
        """Say in which bins the confidence is surely too high, or too low."""
        known = self.evidence
        probability, filled = self.probability_overconfident[0], by_group(known.cells, known.cells.sizes)[0] > 0
        over, under = filled & (probability >= known.level), filled & (probability <= 1 - known.level)
        if known.guarantee == "exact":
            over, under = filled & (self.gap[0] < -_ROUNDING), filled & (self.gap[0] > _ROUNDING)
        if not (over | under).any():
            if known.guarantee == "exact":
                return "In every bin the accuracy is the mean confidence."
            return f"In no bin is it {known.level:.0%} sure on which side of its confidence the accuracy lies."
        parts = [
            f"{word} in {', '.join(self.bins[which])}"
            for word, which in (("over-confident", over), ("under-confident", under))
            if which.any()
        ]
        return f"The system is {' and '.join(parts)}."

    def _reliability(self, g: int, truth: ArrayLike | None, prior: bool, ax: Axes | None) -> Axes:
        known = self.evidence
        name = "" if self.alone else f" of {known.groups[g]}"
        size, labelled = (by_group(known.cells, x)[g] for x in (known.cells.sizes, known.counts.sum(-1)))
        before = by_group(known.cells, self.question.accuracy(known.cells, known.prior, known.nothing))
        return plots.reliability(
            self.confidence[g],
            self.accuracy[g],
            self.accuracy_interval[g],
            sizes=size,
            labelled=labelled,
            edges=known.cells.parts[1].edges,
            prior=before[g] if prior else None,
            truth=truth,
            interval_label=known.interval_label,
            title=f"Reliability{name}: {known._progress()}",
            ax=ax,
        )

    def _group(self, name: Hashable) -> int:
        groups = self.evidence.groups
        if name is None and len(groups) == 1:
            return 0
        places = np.flatnonzero(groups.astype(str) == str(name))
        if len(places) != 1:
            known = ", ".join(str(group) for group in groups[:20]) + (", ..." if len(groups) > 20 else "")
            raise QuestionError(f"Name one of the groups {known}; found {show(name)}.")
        return int(places[0])

    def more_columns(self) -> dict[str, Array]:
        """Columns beside the estimates."""
        return {
            "plug_in": self.plug_in,
            "max_error": self.maximum_error,
            "accuracy": self.group_accuracy,
            "accuracy_lower": self.group_accuracy_interval[:, 0],
            "accuracy_upper": self.group_accuracy_interval[:, 1],
        }
