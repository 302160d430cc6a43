"""How well annotators agree: as a share of labels, and beyond chance."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from itertools import combinations
from types import ModuleType

import numpy as np

from bayes_assess._tools.shapes import Float, Frame, Int
from bayes_assess._tools.tables import Table
from bayes_assess._tools.text import plural
from bayes_assess.books.annotators import nearly_alike
from bayes_assess.errors import LabelError, OutputError


@dataclass(frozen=True, eq=False, repr=False)
class Agreement:
    """How well annotators agree, by the labels that they told, whatever was decided later.

    Parameters
    ----------
    annotators : tuple of str
        A names.
    codes : (A, n) integers
        Codes of the labels of items with two labels or more; -1 where an annotator gave none.
    numbers : (A, n) floats, optional
        The labels themselves where they are numbers; NaN where an annotator gave none.

    Examples
    --------
    >>> agreement = Agreement(("A1", "A2"), np.array([[0, 0, 1, 1], [0, 1, 1, 1]]))
    >>> agreement.n_items, agreement.raw
    (4, 0.75)
    """

    annotators: tuple[str, ...]
    codes: Int[np.ndarray, "A n"]
    numbers: Float[np.ndarray, "A n"] | None = None

    def __post_init__(self):
        if not self.n_items:
            raise LabelError(
                "No item has labels of two annotators yet, so that there is no agreement to speak of; let a second one "
                "label some of the same items, and say whose labels they are when they are told."
            )

    @property
    def n_items(self) -> int:
        """Items that two annotators or more have labelled."""
        return self.codes.shape[1]

    @cached_property
    def counts(self) -> Int[np.ndarray, "n C"]:
        """Labels of every item by value, a column for every value that occurs."""
        values = np.unique(self.codes[self.codes >= 0])
        return (self.codes[:, :, None] == values).sum(0)

    @property
    def raw(self) -> float:
        """Share of the pairs of labels of one item that agree: of the items, where there are two annotators."""
        per_item = self.counts.sum(1)
        return float((self.counts * (self.counts - 1)).sum() / (per_item * (per_item - 1)).sum())

    @cached_property
    def kappa(self) -> float | None:
        """Cohen's kappa; None unless there are two annotators, or where all labels are alike.

        (p_o - p_e) / (1 - p_e) with p_o the share of items on which they agree, and p_e what it would be by chance,
        were the labels of each of them shuffled. It is scikit-learn's ``cohen_kappa_score``.
        """
        return self._kappa(0, 1) if len(self.annotators) == 2 else None

    @property
    def level_of_measurement(self) -> str:
        """By which differences `alpha` counts: ``"nominal"``, or ``"interval"`` where labels are numbers."""
        return "nominal" if self.numbers is None else "interval"

    @cached_property
    def alpha(self) -> float | None:
        """Krippendorff's alpha, of any number of annotators; None where all labels are alike.

        1 - D_o / D_e with D_o the share of pairs of labels of one item that differ, every item weighing by its labels,
        and D_e that of pairs of any labels; of numbers, means of their squared differences in the place of shares.
        Items that somebody did not label enter with those they have. It is ``krippendorff.alpha`` with this
        `level_of_measurement`.
        """
        if self.counts.shape[1] < 2:
            return None
        if self.numbers is not None:
            return _interval_alpha(self.numbers)
        return float(_krippendorff().alpha(value_counts=self.counts, level_of_measurement="nominal"))

    def table(self) -> Table:
        """Tabulate the agreement of every two annotators on the items that both have labelled."""
        pairs = [pair for pair in combinations(range(len(self.annotators)), 2) if self._both(*pair).any()]
        raw = [float((self.codes[i] == self.codes[j])[self._both(i, j)].mean()) for i, j in pairs]
        columns = {
            "first": [self.annotators[i] for i, _ in pairs],
            "second": [self.annotators[j] for _, j in pairs],
            "items": [int(self._both(i, j).sum()) for i, j in pairs],
            "agree": raw,
            "kappa": [self._kappa(i, j) for i, j in pairs],
        }
        return Table(columns, title="Agreement of annotators", formats={"agree": ".3f", "kappa": ".3f"})

    def to_dict(self) -> dict[str, object]:
        """Return the numbers as plain values."""
        plain = {"annotators": list(self.annotators), "items": self.n_items, "raw": self.raw}
        return plain | {
            "kappa": self.kappa,
            "alpha": self.alpha,
            "level_of_measurement": self.level_of_measurement,
            "pairs": list(self.table().rows()),
        }

    def to_frame(self, backend: str = "pandas") -> Frame:
        """Return the `table` as a data frame."""
        return self.table().to_frame(backend)

    def summary(self) -> str:
        """Say it in a sentence, with another one where two names may be of one person."""
        return " ".join([self._said(), *nearly_alike(self.annotators)])

    def _said(self) -> str:
        said = f"{plural(len(self.annotators), 'annotator')} agree in {self.raw:.1%} of the pairs of labels"
        if self.alpha is None:
            return f"{said} of {plural(self.n_items, 'item')}."
        of_names = self.numbers is None  # kappa takes numbers for names, however near they are
        kappa = "" if self.kappa is None or not of_names else f"Cohen's kappa {self.kappa:.3f}, "
        alpha = f"; {kappa}Krippendorff's alpha {self.alpha:.3f} ({self.level_of_measurement})"
        return f"{said} of {plural(self.n_items, 'item')}{alpha}."

    def __repr__(self) -> str:
        return self.summary()

    def _both(self, i: int, j: int) -> np.ndarray:
        return np.all(self.codes[[i, j]] >= 0, axis=0)

    def _kappa(self, i: int, j: int) -> float | None:
        first, second = self.codes[[i, j]][:, self._both(i, j)]
        if len(np.unique([first, second])) < 2:
            return None
        return float(_scikit_learn().cohen_kappa_score(first, second))


def _interval_alpha(numbers: Float[np.ndarray, "A n"]) -> float:
    """Compute Krippendorff's alpha by squared differences: of m numbers their sum is 2 m sum (x - mean)^2."""
    told = ~np.isnan(numbers)
    m = told.sum(0)
    each = np.where(told, numbers, 0.0)
    spread = np.where(told, each - each.sum(0) / m, 0.0)
    observed = 2 * (m / (m - 1) * (spread**2).sum(0)).sum() / m.sum()
    every = numbers[told]
    expected = 2 * ((every - every.mean()) ** 2).sum() / (len(every) - 1)
    return float(1 - observed / expected)


def _scikit_learn() -> ModuleType:
    try:
        from sklearn import metrics
    except ImportError:
        raise _missing("Cohen's kappa", "scikit-learn") from None
    return metrics


def _krippendorff() -> ModuleType:
    try:
        return import_module("krippendorff")
    except ImportError:
        raise _missing("Krippendorff's alpha", "the package krippendorff") from None


def _missing(what: str, library: str) -> OutputError:
    return OutputError(f'{what} needs {library}: pip install "bayes-assess[agreement]".')
