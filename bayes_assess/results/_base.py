"""What every answer has: an estimate, its interval, and what the interval guarantees."""

from __future__ import annotations

import html
import os
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Generic, NamedTuple, TypeVar

import numpy as np

from bayes_assess._tools.progress import in_progress
from bayes_assess._tools.shapes import Float, Int, Json
from bayes_assess._tools.tables import Table
from bayes_assess._tools.text import plural
from bayes_assess._tools.to_arviz import ArvizData
from bayes_assess.designs import many_skipped
from bayes_assess.models.belief import Belief
from bayes_assess.pool.cells import Cells
from bayes_assess.questions import Question
from bayes_assess.results._in_words import LABELLED
from bayes_assess.results.evidence.told import Told

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from bayes_assess.results.report import Reported


EvidenceT_co = TypeVar("EvidenceT_co", bound=Told, covariant=True)


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
    """

    draws: Float[np.ndarray, "S ..."]
    labelled: Int[np.ndarray, " G"] | float
    size: Int[np.ndarray, " G"]


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
        """The answer as one sentence: the first one of the summary that is not about labels."""
        return next(line for line in self.summary().splitlines() if not LABELLED.match(line))

    def to_frame(self, backend: str = "pandas") -> Any:
        """Return the table as a data frame, see `Table.to_frame`."""
        return self.full_table().to_frame(backend)

    def to_dict(self: Reported) -> dict[str, Json]:
        """Return question, answer, interval and table as plain values that strict JSON can hold.

        What is no number, or infinite, is None.

        Examples
        --------
        >>> import bayes_assess as ba
        >>> found = ba.assess(ba.Pool(predictions=["cat", "dog"]), ba.GroupAccuracy()).result().to_dict()
        >>> found["labels_used"], found["guarantee"], found["table"][0]["group"]
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


@dataclass(frozen=True, eq=False, repr=False)
class Result(Answer, Generic[EvidenceT_co]):
    """The answer to a question: what labels are evidence of, in sentences, a table and a figure.

    Attributes
    ----------
    question : Question
    evidence : Told
        What labels say of what is asked, by how they are counted.
    prior : Belief
        What was believed of every cell before any label.
    cells : Cells
    counts : (K, O) integers
        Labels of every cell by outcome.
    estimate : array of the answer's shape
        Posterior mean of what is asked.
    interval : array of the answer's shape and (2,)
        Equal-tailed credible interval, extended to the estimate where a long tail puts that outside.
    level : float
        Posterior probability of the interval.
    guarantee : str
        ``"credible"``, or ``"exact"`` once everything is labelled and the answer is about this pool.
    labels_used : int
    design : str
    """

    question: Question
    evidence: EvidenceT_co

    _of_parts: ClassVar[frozenset[str]] = frozenset()  # attributes that only some kinds of evidence, or sections, have

    if not TYPE_CHECKING:

        def __class_getitem__(cls, parts: object) -> type:
            """Return the class: its parts are known to type checkers, and names of classes with parts are classes."""
            return cls

    if TYPE_CHECKING:  # answers have these, each in its shape

        @cached_property
        def estimate(self) -> Any: ...

        @cached_property
        def interval(self) -> Float[np.ndarray, "..."]: ...

        @cached_property
        def draws(self) -> Float[np.ndarray, "S ..."]: ...

    @property
    def guarantee(self) -> str:
        """What the interval promises."""
        return self.evidence.guarantee

    @property
    def prior(self) -> Belief:
        """What was believed of every cell before any label."""
        return self.evidence.prior

    @property
    def cells(self) -> Cells:
        """What labels are counted in."""
        return self.evidence.cells

    @property
    def counts(self) -> Int[np.ndarray, "K O"]:
        """Labels of every cell by outcome, (K, O)."""
        return self.evidence.counts

    @property
    def groups(self) -> np.ndarray:
        """Names of the groups that are asked about, (G,)."""
        return self.evidence.groups

    @property
    def level(self) -> float:
        """Of intervals."""
        return self.evidence.level

    @property
    def design(self) -> str:
        """Name of the design by which items were chosen."""
        return self.evidence.design

    @property
    def seed(self) -> int:
        """Seed of the draws."""
        return self.evidence.seed

    @property
    def labels_used(self) -> int:
        """Labels told so far."""
        return self.evidence.labels_used

    @property
    def labelled_by(self) -> str:
        """Who told them, and how far they agree, as the end of a sentence."""
        return self.evidence.labelled_by

    @property
    def volunteered(self) -> int:
        """Labels that were told without being asked for."""
        return self.evidence.volunteered

    @property
    def skipped(self) -> Int[np.ndarray, " K"] | None:
        """Items of every cell that were set aside."""
        return self.evidence.skipped

    @property
    def n_skipped(self) -> int:
        """Items that were set aside."""
        return self.evidence.n_skipped

    @property
    def n_draws(self) -> int:
        """How many posterior draws are taken."""
        return self.evidence.n_draws

    @property
    def notes(self) -> tuple[str, ...]:
        """Sentences on the labels, which end the summary."""
        return self.evidence.notes

    def __dir__(self) -> list[str]:
        """Name what there is: some of it is of some questions, or of some kinds of evidence."""
        absent = self._of_parts.difference(dir(self.evidence), dir(getattr(self, "section", None)))
        return [name for name in super().__dir__() if name not in absent]

    def summary(self) -> str:
        """Say the answer in a few sentences."""
        lines = [f"{self.evidence._of_labels()} (design {self.design!r})."]
        lines += self._answer()
        lines += self._on_the_prior()
        if self.volunteered:
            lines.append(
                f"{self.volunteered:,} labels were told without being asked for: {self.evidence._use_of_volunteered}"
            )
        if self.n_skipped:
            lines += self._about_skipped()
        return "\n".join([*lines, *self.notes])

    def _about_skipped(self) -> list[str]:
        """Say what the answer makes of items that nobody could label."""
        one = self.n_skipped == 1
        them = "it" if one else "them"
        said = f"{plural(self.n_skipped, 'item')} {'was' if one else 'were'} set aside: nobody could label {them}"
        if self.guarantee == "exact":
            return [f"{said}; the answer does not depend on {them}."]
        lines = [f"{said}; the answer takes {them} to be like the {self.evidence._others_of_skipped}."]
        return [*lines, *self._if_skipped()] if many_skipped(self.n_skipped, self.labels_used) else lines

    def _on_the_prior(self) -> list[str]:
        """Say what the labels taught the prior, or that they contradict it; nothing where there is nothing to say."""
        return []

    def _if_skipped(self) -> list[str]:
        """Say what the answer would be if all items set aside were of one kind, or of another."""
        return self.evidence._if_skipped()

    @abstractmethod
    def _answer(self) -> list[str]:
        """Say the answer, a sentence per line."""

    @abstractmethod
    def plot(self, *, ax: Axes | None = None) -> Axes:
        """Draw the answer."""

    @abstractmethod
    def to_arviz(self) -> ArvizData:
        """Return posterior and prior draws, observed and constant data as an ArviZ object."""

    def _progress(self) -> str:
        return self.evidence._progress()

    def _tails(self) -> list[float]:
        return self.evidence._tails()

    def _attributes(self) -> dict[str, object]:
        return {"design": self.design, "guarantee": self.guarantee, "labels_used": self.labels_used}

    @property
    def _interval_label(self) -> str:
        """What intervals are called in figures."""
        return f"{self.level:.0%} {self.guarantee} interval"
