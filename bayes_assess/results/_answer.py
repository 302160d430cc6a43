"""What people look at, whatever was asked: sentences, a table, a figure, a report."""

from __future__ import annotations

import html
import os
from abc import ABC, abstractmethod
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from bayes_assess._tools.progress import in_progress
from bayes_assess._tools.shapes import Float, Int, Json
from bayes_assess._tools.tables import Table
from bayes_assess.results._in_words import CONTRADICTING, LABELLED

if TYPE_CHECKING:
    from bayes_assess.results.report import Reported


class Shares(NamedTuple):
    """Shares of items that labels show one by one, such as accuracies.

    Attributes
    ----------
    draws : (S, G) or (S,) floats
        Posterior draws.
    labelled : (G,) numbers, or a number
        Labels of every group.
    size : (G,) integers, or a number
        Items of every group.
    group_of : function, optional
        Returns the group of every item of an array of them, where that is known.
    """

    draws: Float[np.ndarray, "S ..."]
    labelled: Int[np.ndarray, " G"] | float
    size: Int[np.ndarray, " G"]
    group_of: Callable[[Int[np.ndarray, " n"]], Int[np.ndarray, " n"]] | None = None


class Answer(ABC):
    """What people look at: sentences, a table, a figure."""

    @abstractmethod
    def summary(self) -> str:
        """Say the answer in a few sentences."""

    @abstractmethod
    def table(self) -> Table:
        """Tabulate the answer."""

    def full_table(self) -> Table:
        """Tabulate all of the answer, where `table` leaves out rows of what is long."""
        return self.table()

    @property
    def item_shares(self) -> Shares | None:
        """Posterior draws of shares of items; None where the answer is no share, or has no posterior."""
        return None

    @property
    def headline(self) -> str:
        """The answer as one sentence: the first one of the summary that is neither about labels nor a warning."""
        lines = self.summary().splitlines()
        return next(line for line in lines if not (LABELLED.match(line) or line.startswith(CONTRADICTING)))

    @property
    def said_in_headline(self) -> tuple[str, ...]:
        """Sentences of the summary that the headline says, so that a report need not say them again."""
        return (self.headline,)

    def to_frame(self, backend: str = "pandas") -> Any:
        """Return the table as a data frame, see `Table.to_frame`."""
        return self.full_table().to_frame(backend)

    def to_dict(self: Reported) -> dict[str, Json]:
        """Return question, answer, interval and table as plain values that strict JSON can hold.

        What is no number, or infinite, is None.

        Examples
        --------
        >>> import bayes_assess as ba
        >>> values = ba.assess(ba.Pool(predictions=["cat", "dog"]), ba.GroupAccuracy()).result().to_dict()
        >>> values["labels_used"], values["guarantee"], values["table"][0]["group"]
        (0, 'credible', 'cat')
        """
        from bayes_assess.results.report import as_dict  # which few need

        return as_dict(self)

    @in_progress("Writing the report")
    def report(
        self: Reported, path: str | os.PathLike[str], *, format: str | None = None, date: str | None = None
    ) -> Path:
        """Write question, answer, figure, table and origin as one page, all or nothing.

        Parameters
        ----------
        path : path-like
            Where to write. An existing file is replaced.
        format : {"html", "md"}, optional
            A page that loads nothing, or Markdown without the figure; by default what the suffix says.
        date : str, optional
            When the answer was given, as the page says it; today by default.

        Returns
        -------
        pathlib.Path
            The file.

        Raises
        ------
        OutputError
            If the format is unknown, or the file cannot be written.

        Examples
        --------
        >>> import tempfile
        >>> import bayes_assess as ba
        >>> result = ba.assess(ba.Pool(predictions=["cat", "dog"]), ba.GroupAccuracy()).result()
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     result.report(f"{folder}/report.html").read_text()[:15]
        '<!DOCTYPE html>'
        """
        from bayes_assess.results.report import write_report

        return write_report(self, path, format, date=date)

    def __repr__(self) -> str:
        return f"{self.summary()}\n\n{self.table()!r}"

    def _repr_html_(self) -> str:
        lines = "".join(f"<p>{html.escape(line)}</p>" for line in self.summary().splitlines())
        return lines + self.table()._repr_html_()
