"""What is known of a ranked list at every rank, whatever it was learned from."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from bayes_assess._tools.arrays import is_number, show
from bayes_assess._tools.shapes import ArrayLike, Float, Int
from bayes_assess._tools.tables import Table
from bayes_assess._tools.text import Rounded
from bayes_assess.errors import QuestionError
from bayes_assess.questions import PrecisionCurve
from bayes_assess.results import plots
from bayes_assess.results._answer import Answer

if TYPE_CHECKING:
    import xarray
    from matplotlib.axes import Axes

_ROWS = 13  # of a table
_RANKS = 64  # of estimate and interval
_POINTS = 400  # of a figure


class Bounded(NamedTuple):
    """A number with the ends of its interval."""

    estimate: Any
    lower: Any
    upper: Any


class RankedAnswer(Answer):
    """What is known of a ranked list at every rank, 1..N.

    Precision at a rank is the share of positives among the items down to it, recall the share of all positives that
    are among them.
    """

    question: PrecisionCurve
    level: Any  # of the band
    design: Any  # its name

    @property
    @abstractmethod
    def n_items(self) -> int:
        """Length of the list, N."""

    @abstractmethod
    def _precision(self, ranks: Int[np.ndarray, " n"]) -> Float[np.ndarray, "n 3"]:
        """Return estimates and bands."""

    @abstractmethod
    def _recall(self, ranks: Int[np.ndarray, " n"]) -> Float[np.ndarray, "n 3"]: ...

    @abstractmethod
    def _f1(self, ranks: Int[np.ndarray, " n"]) -> Float[np.ndarray, "n 3"]: ...

    @abstractmethod
    def _turns(self) -> Int[np.ndarray, " k"]:
        """Return the ranks between which the lower band is a convex function of 1 / rank, from 1 to N."""

    @abstractmethod
    def _average_precision(self) -> Bounded: ...

    @cached_property
    def average_precision(self) -> Bounded:
        """Mean over all positives of the precision at their ranks."""
        return self._average_precision()

    @property
    def ranks(self) -> Int[np.ndarray, " T"]:
        """Ranks of `estimate` and `interval`, which grow geometrically from 1 to N."""
        return np.unique(np.geomspace(1, self.n_items, _RANKS).round().astype(np.int64))

    @cached_property
    def estimate(self) -> Float[np.ndarray, " T"]:
        """Precisions at `ranks`."""
        return self._precision(self.ranks)[:, 0]

    @cached_property
    def interval(self) -> Float[np.ndarray, "T 2"]:
        """The band at `ranks`."""
        return self._precision(self.ranks)[:, 1:]

    def at(self, rank: ArrayLike) -> Bounded:
        """Return the precision of the first `rank` items.

        Parameters
        ----------
        rank : int, or (n,) integers
            1..N.

        Returns
        -------
        Bounded
            (estimate, lower, upper): numbers, or arrays (n,).

        Raises
        ------
        QuestionError
            If a rank lies outside 1..N.
        """
        return self._at(self._precision, rank)

    def recall(self, rank: ArrayLike) -> Bounded:
        """Return the share of all positives that are among the first `rank` items; see `at`."""
        return self._at(self._recall, rank)

    def f1(self, rank: ArrayLike) -> Bounded:
        """Return the F1 score of calling the first `rank` items positive and no others; see `at`."""
        return self._at(self._f1, rank)

    def cut(self, precision: float) -> int:
        """Return the largest rank whose precision is at least that by the lower band, 0 if there is none.

        Parameters
        ----------
        precision : float in (0, 1]
            That the items down to the cut should have.

        Raises
        ------
        QuestionError
            If the precision is not in (0, 1].
        """
        if not (is_number(precision) and 0 < precision <= 1):
            raise QuestionError(f"A precision to cut at lies in (0, 1], such as 0.8; found {show(precision)}.")
        turns = self._turns()
        good = np.flatnonzero(self._precision(turns)[:, 1] >= precision)
        if not len(good):
            return 0
        below = int(turns[good[-1]])
        if good[-1] == len(turns) - 1:
            return below
        beyond = int(turns[good[-1] + 1])  # between the two the band falls below once
        while beyond - below > 1:
            middle = (below + beyond) // 2
            if self._precision(np.array([middle]))[0, 1] >= precision:
                below = middle
            else:
                beyond = middle
        return below

    def table(self) -> Table:
        """Tabulate precision and recall at ranks that grow geometrically; `curve` takes any ranks."""
        return self.curve(np.unique(np.geomspace(1, self.n_items, _ROWS).round().astype(np.int64)))

    def curve(self, ranks: ArrayLike) -> Table:
        """Tabulate precision, recall and F1 at these ranks."""
        ranks = self._checked(ranks)
        columns: dict[str, ArrayLike] = {"rank": ranks}
        for name, band_at in (("precision", self._precision), ("recall", self._recall), ("f1", self._f1)):
            columns |= dict(zip((name, f"{name}_lower", f"{name}_upper"), band_at(ranks).T, strict=True))
        title = f"{self.question.name}, {self.level:.0%} band"
        return Table(columns, title=title, formats=dict.fromkeys(list(columns)[1:], Rounded(".3f")) | {"rank": ","})

    def to_xarray(self, ranks: ArrayLike | None = None) -> xarray.Dataset:
        """Return precision, recall and F1 with their bands as an xarray Dataset over ranks.

        Parameters
        ----------
        ranks : (n,) integers, optional
            400 that grow geometrically by default.
        """
        import xarray

        ranks = self.shown_ranks if ranks is None else self._checked(ranks)
        variables = {
            name: (("rank", "of"), band_at(ranks))
            for name, band_at in (("precision", self._precision), ("recall", self._recall), ("f1", self._f1))
        }
        return xarray.Dataset(
            variables, coords={"rank": ranks, "of": ["estimate", "lower", "upper"]}, attrs={"level": self.level}
        )

    @property
    def shown_ranks(self) -> Int[np.ndarray, " n"]:
        return np.unique(np.geomspace(1, self.n_items, _POINTS).round().astype(np.int64))

    def _at(self, of: Callable[[Int[np.ndarray, " n"]], Float[np.ndarray, "n 3"]], rank: ArrayLike) -> Bounded:
        values = of(self._checked(rank))
        return Bounded(*(values[0].tolist() if np.asarray(rank).ndim == 0 else values.T))

    def _checked(self, ranks: ArrayLike) -> Int[np.ndarray, " n"]:
        values = np.atleast_1d(np.asarray(ranks))
        if values.ndim != 1 or values.dtype.kind not in "iu" or ((values < 1) | (values > self.n_items)).any():
            raise QuestionError(f"Ranks are whole numbers from 1 to {self.n_items:,}; found {show(ranks)}.")
        return values.astype(np.int64)

    def _drawn(
        self,
        truth: Callable[[Int[np.ndarray, " n"]], ArrayLike] | None,
        beside: RankedAnswer | None,
        ax: Axes | None,
        queried: Int[np.ndarray, " k"] | None = None,
        labelled: Int[np.ndarray, " k"] | None = None,
    ) -> Axes:
        """Draw the precision by rank, and that of another answer beside it."""
        ranks = self.shown_ranks
        bands = {answer.design: answer._precision(ranks) for answer in (self, beside) if answer is not None}
        exact = None if truth is None else np.asarray(truth(ranks), float)
        at = None if queried is None else (queried, self._precision(queried)[:, 0])
        title = f"Precision of {self.n_items:,} ranked items"
        return plots.precision_by_rank(
            ranks,
            bands,
            queried=at,
            labelled=labelled,
            truth=exact,
            band_label=f"{self.level:.0%} band",
            title=title,
            ax=ax,
        )
