"""What every answer has: an estimate, its interval, and what the interval guarantees."""

from __future__ import annotations

import html
import os
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np

from bayes_assess._tools.levels import checked_level
from bayes_assess._tools.progress import in_progress
from bayes_assess._tools.seeds import jax_key
from bayes_assess._tools.shapes import Float, Int, Json
from bayes_assess._tools.tables import Table
from bayes_assess._tools.text import plural
from bayes_assess._tools.to_arviz import Arrays, to_arviz
from bayes_assess.designs import many_skipped
from bayes_assess.estimators.finite_pool import extended
from bayes_assess.models.belief import Belief, Posterior
from bayes_assess.pool.cells import Cells
from bayes_assess.questions import Question
from bayes_assess.results._in_words import LABELLED

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from bayes_assess.results.report import Reported


# Posterior draws: as many as fit in this many numbers, within these bounds.
_DRAW_NUMBERS = 1_000_000
_MOST_DRAWS, _FEWEST_DRAWS = 10_000, 500


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
class Told:
    """What was asked, and the labels told so far; fields are those of `Result`."""

    question: Question
    prior: Belief
    cells: Cells
    counts: Int[np.ndarray, "K O"]
    level: float
    design: str
    volunteered: int = 0
    skipped: Int[np.ndarray, " K"] | None = None  # items of every cell that were set aside
    seed: int = 0
    belief: Belief | None = None  # a posterior that has seen the labels, in the place of the prior's
    notes: tuple[str, ...] = ()  # sentences on the labels, which end the summary
    labelled_by: str = ""  # who told them, and how far they agree, as the end of a sentence

    def __post_init__(self):
        checked_level(self.level)

    @property
    def labels_used(self) -> int:
        """Labels told so far."""
        return int(self.counts.sum()) * self.question.labels_each

    @property
    def n_skipped(self) -> int:
        """Items that were set aside."""
        return 0 if self.skipped is None else int(self.skipped.sum()) * self.question.labels_each

    @property
    def n_draws(self) -> int:
        """How many posterior draws are taken."""
        return int(np.clip(_DRAW_NUMBERS // self.counts[:, 0].size, _FEWEST_DRAWS, _MOST_DRAWS))

    @property
    def groups(self) -> np.ndarray:
        """Names of the groups that are asked about, (G,)."""
        return self.question.groups(self.cells)

    @property
    def _n_items(self) -> int:
        """Items of the pool that labels can be of."""
        return self.cells.n_items * self.question.labels_each

    def _of_labels(self) -> str:
        """Say how many labels there are, the beginning of a sentence."""
        return f"{self.labels_used:,} of {self._n_items:,} items labelled"

    @property
    def _use_of_volunteered(self) -> str:
        """What the answer makes of labels that nobody asked for, the end of a sentence."""
        return "the intervals take them for random items of their groups."

    @property
    def _others_of_skipped(self) -> str:
        """Which items the answer takes those to be like that were set aside."""
        return f"others of {'its' if self.n_skipped == 1 else 'their'} group"

    def _if_skipped(self) -> list[str]:
        """Say what the answer would be if all items set aside were right, or all wrong; nothing where that is hard."""
        return []

    def _progress(self) -> str:
        return f"{self.labels_used:,} of {self._n_items:,} labelled"

    def _tails(self) -> list[float]:
        return [(1 - self.level) / 2, (1 + self.level) / 2]

    def _supposition(self, name: str, kinds: tuple[str, str], found: list[tuple[float, np.ndarray]]) -> str:
        """Say estimates and intervals if all items set aside were of one kind, and of the other."""
        subject = "it were" if self.n_skipped == 1 else "all of them were"
        first, second = (
            f"if {subject} {kind}, {value:.3f} [{low:.3f}, {high:.3f}]"
            for kind, (value, (low, high)) in zip(kinds, found, strict=True)
        )
        return f"{name[0].upper()}{name[1:]}, with a {self.level:.0%} credible interval, would be {first}; {second}."


@dataclass(frozen=True, eq=False, repr=False)
class Result(Told, Answer):
    """The answer to a question from the labels told so far.

    Attributes
    ----------
    question : Question
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

    @property
    def guarantee(self) -> str:
        """What the interval promises."""
        return "exact" if self.question.target == "pool" and self._all_labelled else "credible"

    @property
    def _all_labelled(self) -> bool:
        """Whether every item that is worth a label has one."""
        missing = self.counts.sum(-1) < self.cells.sizes
        return not (missing & self.question.playable(self.cells)).any()

    @property
    def posterior(self) -> Belief:
        """Posterior of every cell in the population."""
        return self._posterior

    @cached_property
    def _posterior(self) -> Belief:
        return self._learner.update_counts(self.counts)

    @property
    def _learner(self) -> Any:
        """What questions take for their prior: where a posterior was given, it knows the labels already."""
        return self.prior if self.belief is None else Posterior(self.belief)

    @cached_property
    def estimate(self) -> Any:
        """Posterior mean of what is asked."""
        return self.question.estimate(self.cells, self._learner, self.counts)

    @cached_property
    def interval(self) -> Float[np.ndarray, "..."]:
        """Credible interval of what is asked: equal-tailed, and extended to the estimate where that lies outside."""
        draws = self.draws if self.question.interval_needs_draws(self.posterior) else None
        return self.question.interval(self.cells, self._learner, self.counts, self.level, draws, self.estimate)

    @cached_property
    def draws(self) -> Float[np.ndarray, "S ..."]:
        """Posterior draws of what is asked, (S, ...); 10,000 of them unless there are very many groups."""
        return self.question.draws(self.cells, self._learner, self.counts, self.seed, self.n_draws)

    @property
    def _words(self) -> Told:  # that says how labels are counted
        return self

    def summary(self) -> str:
        """Say the answer in a few sentences."""
        lines = [f"{self._words._of_labels()} (design {self.design!r})."]
        lines += self._answer()
        said = self._of_the_prior() if self.labels_used and self.belief is None and self.guarantee != "exact" else None
        lines += [said] if said else []
        if self.volunteered:
            lines.append(
                f"{self.volunteered:,} labels were told without being asked for: {self._words._use_of_volunteered}"
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
        lines = [f"{said}; the answer takes {them} to be like the {self._words._others_of_skipped}."]
        return [*lines, *self._words._if_skipped()] if many_skipped(self.n_skipped, self.labels_used) else lines

    def _of_the_prior(self) -> str | None:
        """Say what the labels taught the prior, or that they contradict it; None where there is nothing to say."""
        return None

    @abstractmethod
    def _answer(self) -> list[str]:
        """Say the answer, a sentence per line."""

    @abstractmethod
    def plot(self, *, ax: Axes | None = None) -> Axes:
        """Draw the answer."""

    @classmethod
    def _made(cls, kind: type[Told], given: dict[str, Any]) -> Self:
        """Make a result of its fields, and of those of its evidence, which is of that kind if there is any."""
        return cls(**given)

    @abstractmethod
    def to_arviz(self) -> Any:
        """Return posterior and prior draws, observed and constant data as an ArviZ object."""

    def _thetas(self, n: int) -> tuple[np.ndarray, np.ndarray]:
        """Draw the parameters of all cells from the posterior and from the prior, (n, K, ...) each."""
        beliefs = enumerate((self.posterior, self.prior))
        posterior, prior = (np.asarray(one.sample(jax_key(self.seed + i, "draws"), n)) for i, one in beliefs)
        return posterior, prior

    def _groups_to_arviz(self, posterior: Arrays, prior: Arrays, observed: Arrays) -> Any:
        """Hand draws and observed data to ArviZ, beside labels and items of every group."""
        of_cells = {"labels": self.counts.sum(-1), "items": self.cells.sizes}
        known = {name: values.reshape(len(self.groups), -1).sum(-1) for name, values in of_cells.items()}
        return to_arviz(
            posterior,
            prior=prior,
            observed_data=observed,
            constant_data=known,
            dims={name: ["group"] for name in (*posterior, *prior, *observed, *known)},
            coords={"group": self.groups},
            attrs=self._attributes(),
        )

    def _ends(self, draws: Float[np.ndarray, "S ..."], estimate: np.ndarray | float) -> Float[np.ndarray, "... 2"]:
        """Equal-tailed interval from draws, extended to the estimate."""
        return extended(np.moveaxis(np.quantile(draws, self._tails(), axis=0), 0, -1), estimate)

    def _attributes(self) -> dict[str, object]:
        return {"design": self.design, "guarantee": self.guarantee, "labels_used": self.labels_used}

    @property
    def _interval_label(self) -> str:
        """What intervals are called in figures."""
        return f"{self.level:.0%} {self.guarantee} interval"
