"""How many more labels until enough is known, with the spread of it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from bayes_assess._tools.shapes import Float, Int, Json
from bayes_assess._tools.strict_json import plain
from bayes_assess._tools.tables import Table
from bayes_assess._tools.text import labels_suggest, plural
from bayes_assess.results import plots
from bayes_assess.results._answer import Answer

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_SPREAD = 0.9  # share of the futures that a spread holds
_ROWS = 12  # of a table
_PARTS = 15  # of a future, by how campaigns differ from it


class Labels(NamedTuple):
    """A number of labels that is not known yet.

    Attributes
    ----------
    expected : int or infinity
        Median over the futures; infinite where more than half of them do not get there.
    lower, upper : int or infinity
        Nine campaigns of ten are to end between.
    """

    expected: float
    lower: float
    upper: float


@dataclass(frozen=True, eq=False, repr=False)
class Plan(Answer):
    """How many more labels a campaign needs, made by `plan` and `Assessment.plan`.

    Attributes
    ----------
    question, design : str
    kind : {"width", "probability"}
        What is planned: the width of the interval, or the probability of the verdict.
    goal : float
        What it is to be.
    level : float
        Of the interval.
    widest : bool
        Whether there are several intervals, or verdicts, of which the widest, or least sure, counts.
    labels_used : int
    n_items : int
        Items that may be labelled, those that are labelled included.
    budgets : (B,) integers
        Labels in all at which futures were looked at, the present number first.
    paths : (F, B) floats
        The width, or the probability, in every future.
    needed : (F,) floats
        Labels that are still needed in every future; infinite where a verdict is not in sight, or all items that may
        be labelled are not enough, as others were set aside or the answer is about a population.
    random : (F,) floats, optional
        Random labels in all that would do as well; not a number where that is unknown.
    longer : float
        How many times as many labels, in the median, campaigns take as futures do; `budgets` and `needed` allow for it.
    spread : float
        Standard deviation of the logarithm of that.

    Examples
    --------
    >>> plan = Plan("GroupAccuracy", "random", "width", 0.1, 0.95, False, 100, 5000, np.array([100, 200]),
    ...             np.array([[0.2, 0.1], [0.2, 0.08]]), np.array([100.0, 80.0]), np.array([385.0, 380.0]))
    >>> print(plan.summary())
    About 90 more labels (80 to 100) until the 95% interval is 0.1 wide; random labels would need about 380 in all.
    From 2 futures, by design 'random' on labels such as the 100 so far suggest; nine of ten lie in the range.
    """

    question: str
    design: str
    kind: str
    goal: float
    level: float
    widest: bool
    labels_used: int
    n_items: int
    budgets: Int[np.ndarray, " B"]
    paths: Float[np.ndarray, "F B"]
    needed: Float[np.ndarray, " F"]
    random: Float[np.ndarray, " F"] | None = None
    longer: float = 1.0
    spread: float = 0.0

    @property
    def labels(self) -> Labels:
        """Labels that are still needed: expected, and from where to where."""
        # Of infinite numbers no quantile can be interpolated, so that it is one of them or the next.
        quantiles = [0.5, (1 - _SPREAD) / 2, (1 + _SPREAD) / 2]
        ends = np.quantile(self._of_campaigns, quantiles, method="closest_observation").round()
        middle = float(np.median(self.needed)) if np.isfinite(self.needed).all() else float(ends[0])
        return Labels(*(value if math.isinf(value) else int(value) for value in (middle, *ends[1:])))

    @property
    def random_labels(self) -> int | None:
        """Random labels in all that would do as well, in the median; None where no formula says."""
        if self.random is None or np.isnan(self.random).mean() >= 0.5:
            return None
        return int(np.nanmedian(self.random))

    @property
    def n_simulated(self) -> int:
        """Labels in all up to which futures were followed; beyond, widths are taken to go on shrinking like 1/sqrt."""
        return int(self.budgets[-1])

    def table(self) -> Table:
        """Tabulate what is expected after some numbers of labels.

        ``reached`` is the share of futures that have reached the goal by then.
        """
        shown = np.unique(np.linspace(0, len(self.budgets) - 1, _ROWS).round().astype(int))
        middle, ends = self._expected
        columns = {
            "labels": self.budgets[shown],
            self.kind: middle[shown],
            "lower": ends[shown, 0],
            "upper": ends[shown, 1],
            "reached": (self._of_campaigns[:, None] + self.labels_used <= self.budgets[shown]).mean(0),
        }
        title = f"Expected {self._subject}, with the range of nine futures of ten"
        formats = dict.fromkeys((self.kind, "lower", "upper"), ".3f") | {"reached": ".0%"}
        return Table(columns, title=title, formats=formats)

    def summary(self) -> str:
        """Say how many more labels are needed, and what that leans on."""
        lines = [self._needed()]
        if not self.needed.any() or self.labels_used == self.n_items:
            return lines[0]
        so_far = f"the {self.labels_used:,} so far suggest{'s' * (self.labels_used == 1)}"
        drawn = so_far if self.labels_used else "the prior alone suggests"
        lines.append(
            f"From {len(self.needed)} futures, by design {self.design!r} on labels such as {drawn}; {self._range}."
        )
        beyond = self.labels_used + self.needed > self.n_simulated
        if beyond.any() and self.kind == "width" and self.n_simulated < self.n_items:
            lines.append(
                f"They were followed up to {self.n_simulated:,} labels; beyond, widths are taken to shrink as those of "
                "random labels do."
            )
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Json]:
        """Return goal, labels and table as plain values that strict JSON can hold; None is beyond what was simulated.

        Examples
        --------
        >>> plan = Plan("GroupAccuracy", "random", "width", 0.1, 0.95, False, 100, 5000, np.array([100, 200]),
        ...             np.array([[0.2, 0.1], [0.2, 0.08]]), np.array([100.0, 80.0]), np.array([385.0, 380.0]))
        >>> plan.to_dict()["labels"]
        {'expected': 90, 'lower': 80, 'upper': 100}
        """
        more = {name: getattr(self, name) for name in ("kind", "goal", "widest", "n_items", "random_labels")}
        return super().to_dict() | plain(more | {"labels": self.labels._asdict()})

    def plot(self, *, ax: Axes | None = None) -> Axes:
        """Draw what is expected against labels with its spread, and the goal as a line.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
        """
        middle, ends = self._expected
        return plots.expected_path(
            self.budgets,
            middle,
            ends,
            self.goal,
            used=self.labels_used,
            needed=np.array(self.labels) + self.labels_used,
            ylabel=self._subject,
            goal_label=f"{self.goal:g} wished",
            spread_label=f"{_SPREAD:.0%} of futures",
            title=f"{self.question}, design {self.design!r}: {len(self.paths)} futures",
            ax=ax,
        )

    @property
    def _of_campaigns(self) -> Float[np.ndarray, " N"]:
        """Labels that are still needed, of campaigns that differ from the futures as much as they are known to."""
        if not self.spread:
            return self.needed
        z = np.array([NormalDist().inv_cdf((k + 0.5) / _PARTS) for k in range(_PARTS)])
        return np.minimum(self.needed[:, None] * np.exp(self.spread * z), self._most_needed[:, None]).ravel()

    @property
    def _most_needed(self) -> Float[np.ndarray, " F"]:
        """All items that are left, which are enough wherever any number of them is."""
        return np.where(np.isfinite(self.needed), self.n_items - self.labels_used, np.inf)

    @property
    def _range(self) -> str:
        within = "nine of ten lie in the range"
        return within if self.longer == 1 else f"campaigns take about {self.longer:g} times as many, and {within}"

    @property
    def _expected(self) -> tuple[Float[np.ndarray, " B"], Float[np.ndarray, "B 2"]]:
        """Median over futures, and the range of nine of ten."""
        ends = np.quantile(self.paths, [(1 - _SPREAD) / 2, (1 + _SPREAD) / 2], axis=0)
        return np.median(self.paths, axis=0), ends.T

    @property
    def _subject(self) -> str:
        if self.kind == "probability":
            return f"probability of the {'least sure ' * self.widest}verdict"
        return f"width of the {'widest ' * self.widest}{self.level:.0%} interval"

    def _needed(self) -> str:
        """Say how many labels are needed, and how many random ones would be."""
        if self.kind == "width":
            subject = f"the {'widest ' * self.widest}{self.level:.0%} interval"
            until, met = f"{subject} is {self.goal:g} wide", f"{subject} is no wider than {self.goal:g}"
        else:
            subject = f"the {'least sure ' * self.widest}verdict has"
            until, met = f"{subject} the probability {self.goal:g}", f"{subject} a probability of {self.goal:g} or more"
        expected, lower, upper = self.labels
        if upper == 0:
            known = self.paths[0, 0] == (0 if self.kind == "width" else 1)  # by predictions alone, where there are none
            if self.labels_used or known:
                return f"No more labels are needed: {met} already."
            return f"As {labels_suggest(0)}, no labels are needed: {met} already."
        seen = self.n_simulated - self.labels_used
        if math.isinf(expected):
            if not seen and self.labels_used == self.n_items:
                now = f"{self.paths[0, -1]:.3f}"
                return f"No item is left to label, and the {self._subject} is {now}, not {self.goal:g}."
            share, enough = np.isfinite(self.needed).mean(), "is enough" if seen == 1 else "are enough"
            if not share:
                return f"In none of the futures {plural(seen, 'more label')} {enough} until {until}."
            return f"In {share:.0%} of the futures {plural(seen, 'more label')} {enough} until {until}, in others not."
        most = f"over {seen:,}" if math.isinf(upper) else f"{_about(upper):,}"
        said = f"About {plural(_about(expected), 'more label')} ({_about(lower):,} to {most}) until {until}"
        random = self.random_labels
        return f"{said}." if random is None else f"{said}; random labels would need about {_about(random):,} in all."


def _about(number: float) -> int:
    """Round to two digits.

    Examples
    --------
    >>> _about(1234), _about(87.4), _about(3)
    (1200, 87, 3)
    """
    return int(float(f"{number:.2g}"))
