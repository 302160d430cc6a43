"""What an answer would be if positives hid among items of low score, where labels are few."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np

from bayes_assess._tools.arrays import show
from bayes_assess._tools.shapes import Bool, Float
from bayes_assess._tools.tables import Table
from bayes_assess._tools.text import plural
from bayes_assess.errors import QuestionError
from bayes_assess.estimators.hidden_positives import HiddenPositives
from bayes_assess.estimators.posterior_measure import posterior_measure
from bayes_assess.results import plots
from bayes_assess.results._answer import Answer

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_GRID = np.arange(100) / 100  # of shares under which a verdict is tried
_MOST_SAID = 3  # measures that summaries name
_MOST_DRAWN = 7  # lines of a figure
_ALIKE = 1e-9
_ALL_OF_THEM = 1 - 1e-9  # a share that no items can be, so that all are supposed that there are


@dataclass(frozen=True, eq=False, repr=False)
class Sensitivity(Answer):
    """What measures would be if a share of all positives hid among items of low score.

    These items, the bulk, are not predicted positive, and the belief expects less than half as many positives among
    them as among others of the pool. At a share of 0 the answer is that of the result; draws of the posterior in which
    more positives hide than is supposed stay as they are. Nothing is learned from what is supposed.

    Attributes
    ----------
    shares : (H,)
        Shares of all positives that are supposed to hide.
    estimate : (H,), or (H, k) for a list of measures
        Posterior medians, as those of the result are.
    interval : (H, 2), or (H, k, 2)
        Credible intervals, given the share.
    n_items : int
        Unlabelled items of the bulk.
    random_labels, random_positives : int
        Labels of random items in the bulk, and how many of them are positive.
    ruled_out : float
        The greatest share that these random labels do not rule out at the level, by the exact bound of the
        hypergeometric distribution, given as many positives elsewhere as the labels suggest.
    level : float
    names, names_said : (k,)
        What is measured, and how sentences call it.
    """

    shares: Float[np.ndarray, " H"]
    level: float
    names: np.ndarray
    names_said: np.ndarray
    n_items: int
    random_labels: int
    random_positives: int
    ruled_out: float
    hidden: HiddenPositives
    cautious: Bool[np.ndarray, "n 2"]
    is_scalar: bool
    compares: bool
    low_is_best: bool
    scored: bool

    @cached_property
    def estimate(self) -> Float[np.ndarray, "H *k"]:
        """Posterior medians at every share."""
        return self._shaped(self._found[0])

    @cached_property
    def interval(self) -> Float[np.ndarray, "H *k 2"]:
        """Credible intervals at every share."""
        return self._shaped(self._found[1])

    def holds_up_to(self, *, above: float | None = None, better_than: float | None = None) -> Any:
        """Find the greatest hidden share, in whole per cent, under which a verdict stands with its interval.

        Parameters
        ----------
        above : float
            The verdict is that the measure is above this number: all of its interval is.
        better_than : float
            Of comparisons: the first is better than the second by more than this number, of losses the lower.

        Returns
        -------
        float, or (k,) floats for a list of measures
            NaN where the verdict does not stand even if no more hide than the belief has.

        Examples
        --------
        >>> import bayes_assess as ba
        >>> a = ba.assess(ba.Pool(scores=[0.01] * 40 + [0.9] * 4), ba.Metric("f1"))
        >>> a.tell(range(36, 44), [0] * 4 + [1] * 4)
        >>> hidden = a.result().sensitivity()
        >>> hidden.holds_up_to(above=0.99)
        nan
        >>> 0 <= hidden.holds_up_to(above=0.01) < 1
        True
        """
        if (above is None) == (better_than is None):
            raise QuestionError("A verdict has one threshold; pass above=, or better_than= of comparisons.")
        if (better_than is not None) != self.compares:
            kind = "differences; pass better_than=" if self.compares else "no differences; pass above="
            raise QuestionError(f"These are {kind} in its place.")
        threshold: Any = above if better_than is None else better_than
        if not isinstance(threshold, Real) or not math.isfinite(threshold):
            raise QuestionError(f"The threshold of a verdict is a number; found {show(threshold)}.")
        low, high = np.moveaxis(self._answers(_GRID)[1], -1, 0)
        stands = (-high if self.compares and self.low_is_best else low) > threshold
        n_first = np.logical_and.accumulate(stands, axis=0).sum(0)
        shares = np.where(n_first > 0, _GRID[np.maximum(n_first - 1, 0)], np.nan)
        return float(shares[0]) if self.is_scalar else shares

    def summary(self) -> str:
        """Say what was supposed, what random labels rule out, and what changes the most."""
        lines = [f"Positives may hide among {self.n_items:,} unlabelled items {self._which}. {self.said_of_labels()}."]
        (fewest, most), ends = self._answers(_GRID[[0, -1]])  # whichever shares are supposed
        change = np.maximum(np.abs(most - fewest), np.abs(ends[1] - ends[0]).max(-1))
        alike = self.names_said[change < _ALIKE]
        if len(alike):
            named = ", ".join(alike[:_MOST_SAID]) + ("" if len(alike) <= _MOST_SAID else " and others")
            lines.append(
                f"{named}: the same whatever hides, as items that are not predicted positive have no part in it."
            )
        changed = np.argsort(-change, kind="stable")[: np.count_nonzero(change >= _ALIKE)]
        lines += [self.said(float(self.shares[-1]), i) for i in np.sort(changed[:_MOST_SAID]).tolist()]
        if len(changed) > _MOST_SAID:
            lines.append(f"No other measure changes by more; the table has all {len(self.names):,}.")
        return "\n".join(lines)

    def said(self, share: float, i: int) -> str:
        """Say what one measure would be if a share of all positives hid, or as many as these items can be."""
        most = self.hidden.greatest_share
        supposed = f"{_in_words(share)} positives hid among the {self.n_items:,} unlabelled items {self._which}"
        if share > most:
            share = _ALL_OF_THEM
            supposed = f"all {self.n_items:,} unlabelled items {self._which} were positive, {most:.0%} of all positives"
        value, ends = self._answers(np.array([share]))
        name, (low, high) = self.names_said[i], ends[0, i]
        return f"If {supposed}, {name} would be {value[0, i]:.3f} [{low:.3f}, {high:.3f}]."

    def said_of_labels(self) -> str:
        """Say what random labels rule out."""
        if not self.random_labels:
            return "No random label there rules anything out"
        labels = plural(self.random_labels, "random label")
        verb = "rules" if self.random_labels == 1 else "rule"
        if self.ruled_out > 0.99:
            return f"{labels} there {verb} out next to nothing"
        return f"{labels} there {verb} out more than {self.ruled_out:.0%}"

    def table(self) -> Table:
        """Tabulate estimates and intervals: a row per share and measure."""
        value, ends = self._found
        n, k = value.shape
        columns = {
            "hidden": np.repeat(self.shares, k),
            "measure": np.tile(self.names, n),
            "estimate": value.ravel(),
            "lower": ends[..., 0].ravel(),
            "upper": ends[..., 1].ravel(),
            "ruled_out": np.repeat(self.shares > self.ruled_out, k),
        }
        formats = {"hidden": ".0%", **dict.fromkeys(("estimate", "lower", "upper"), ".4f")}
        return Table(columns, title=f"If a share of all positives hid among items {self._which}", formats=formats)

    def plot(self, *, ax: Axes | None = None) -> Axes:
        """Draw intervals against the hidden share, and what random labels rule out.

        Parameters
        ----------
        ax : Axes, optional
        """
        if len(self.names) > _MOST_DRAWN:
            raise QuestionError(
                f"The figure has up to {_MOST_DRAWN} measures, and these are {len(self.names):,}; `table` has them all."
            )
        value, ends = self._found
        return plots.hidden_shares(
            self.shares,
            value,
            ends,
            self.names.tolist(),
            ruled_out=self.ruled_out,
            interval_label=f"{self.level:.0%} interval given the share",
            which=self._which,
            title=f"If positives hid among items {self._which}",
            ax=ax,
        )

    @property
    def _which(self) -> str:
        return "of low score" if self.scored else "not predicted positive"

    @cached_property
    def _found(self) -> tuple[Float[np.ndarray, "H k"], Float[np.ndarray, "H k 2"]]:
        return self._answers(self.shares)

    def _answers(self, shares: Float[np.ndarray, " H"]) -> tuple[Float[np.ndarray, "H k"], Float[np.ndarray, "H k 2"]]:
        known = [self._answer_if(float(share)) for share in shares]
        return np.stack([value for value, _ in known]), np.stack([ends for _, ends in known])

    def _answer_if(self, share: float) -> tuple[Float[np.ndarray, " k"], Float[np.ndarray, "k 2"]]:
        if share not in self._by_share:
            posterior = posterior_measure(self.hidden.draws(share), False, self.cautious)
            self._by_share[share] = posterior.value, posterior.interval(self.level)
        return self._by_share[share]

    @cached_property
    def _by_share(self) -> dict[float, tuple[Float[np.ndarray, " k"], Float[np.ndarray, "k 2"]]]:
        """Answers that are known by now: sentences on several measures ask for the same shares."""
        return {}

    def _shaped(self, values: np.ndarray) -> np.ndarray:
        return values[:, 0] if self.is_scalar else values


def _in_words(share: float) -> str:
    return "1 in 10" if abs(share - 0.1) < _ALIKE else f"{share:.0%} of all"
