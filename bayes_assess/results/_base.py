"""What every answer of a session has: an estimate, its interval, and what the interval guarantees."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

import numpy as np

from bayes_assess._tools.shapes import Float, Int
from bayes_assess._tools.text import plural
from bayes_assess._tools.to_arviz import ArvizData
from bayes_assess.designs import many_skipped
from bayes_assess.designs._belief_state import MeasurePosterior
from bayes_assess.models.belief import Belief
from bayes_assess.pool.cells import Cells
from bayes_assess.questions import Question
from bayes_assess.results._answer import Answer
from bayes_assess.results._in_words import guarantee_in_words
from bayes_assess.results.evidence.believed import Believed
from bayes_assess.results.evidence.groupwise import Groupwise
from bayes_assess.results.evidence.kinds import Counted, Evidence, MeasureEvidence
from bayes_assess.results.evidence.weighted import Weighted
from bayes_assess.results.sections.section import SectionBase

EvidenceT_co = TypeVar("EvidenceT_co", bound=Evidence, covariant=True)
CountedT_co = TypeVar("CountedT_co", bound=Counted, covariant=True)
if TYPE_CHECKING:
    import typing_extensions
    from matplotlib.axes import Axes

    SectionT_co = typing_extensions.TypeVar("SectionT_co", bound=SectionBase, default=SectionBase, covariant=True)
else:
    SectionT_co = TypeVar("SectionT_co", covariant=True)


@dataclass(frozen=True, eq=False, repr=False)
class Result(Answer, Generic[EvidenceT_co, SectionT_co]):
    """The answer to a question: what labels are evidence of, in sentences, a table and a figure.

    Attributes
    ----------
    question : Question
    evidence : EvidenceBase
        What labels say of what is asked, by how they are counted.
    section : Section
        What the question makes of it.
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
    section: SectionT_co

    _of_parts: ClassVar[frozenset[str]] = frozenset(  # attributes that only some kinds of evidence, or sections, have
        {
            *"belief standard_error".split(),
            *"found credible_interval design_interval contradicted band sensitivity".split(),
            *"covariance n_effective in_ellipsoid".split(),
        }
    )

    if not TYPE_CHECKING:

        def __class_getitem__(cls, parts: object) -> type:
            """Return the class: its parts are known to type checkers, and names of classes with parts are classes."""
            return cls

        def __getattr__(self, name: str) -> object:
            """Say what there is, where only answers to other questions, or by other designs, have an attribute."""
            parts = self.__dict__
            kinds = [type(parts[part]) for part in ("evidence", "section") if part in parts]
            if name in self._of_parts and kinds and not any(hasattr(kind, name) for kind in kinds):
                has_other = name == "sensitivity" and getattr(parts["evidence"], "design_interval", None) is not None
                instead = " What leans on no belief here is .design_interval." if has_other else ""
                raise AttributeError(
                    f"The answer to {parts['question'].name} by {parts['evidence'].design!r} has no {name!r}: it is of "
                    f"other questions, or of other designs.{instead}"
                )
            return object.__getattribute__(self, name)  # which fails as it has

    @cached_property
    def estimate(self) -> Any:
        """What is asked, estimated: a posterior mean, of measures a median, or an estimate from weighted draws."""
        return self.section.estimate

    @cached_property
    def interval(self) -> Float[np.ndarray, "..."]:
        """Interval of what is asked, by `guarantee`; it holds the estimate."""
        return self.section.interval

    @cached_property
    def draws(self) -> Float[np.ndarray, "S ..."]:
        """Posterior draws of what is asked, (S, ...); 10,000 of them unless there are very many groups."""
        return self.section.draws

    @property
    def posterior(self: Result[Counted]) -> Any:
        """Posterior of every cell in the population; of a measure, draws of the rate of its event in every cell."""
        return self.evidence.posterior

    @property
    def guarantee(self) -> str:
        """What the interval promises, in a word."""
        return self.evidence.guarantee

    @property
    def promise(self) -> str:
        """What the interval promises, in a sentence."""
        return guarantee_in_words(self.guarantee, self.level)

    @property
    def prior(self: Result[Counted]) -> Belief:
        """What was believed of every cell before any label."""
        return self.evidence.prior

    @property
    def cells(self: Result[Counted]) -> Cells:
        """What labels are counted in."""
        return self.evidence.cells

    @property
    def counts(self: Result[Counted]) -> Int[np.ndarray, "K O"]:
        """Labels of every cell by outcome, (K, O)."""
        return self.evidence.counts

    @property
    def groups(self: Result[Counted]) -> np.ndarray:
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
    def seed(self: Result[Counted]) -> int:
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
        """Labels that were told without being asked for, or after their items had been set aside or given back."""
        return self.evidence.volunteered

    @property
    def skipped(self: Result[Counted]) -> Int[np.ndarray, " K"] | None:
        """Items of every cell that were set aside."""
        return self.evidence.skipped

    @property
    def n_skipped(self) -> int:
        """Items that were set aside."""
        return self.evidence.n_skipped

    @property
    def n_draws(self) -> int:
        """How many posterior draws are taken."""
        return self.section.n_draws

    @property
    def notes(self) -> tuple[str, ...]:
        """Sentences on the labels, which end the summary."""
        return self.evidence.notes

    @property
    def belief(self: Result[Groupwise]) -> Belief | None:
        """A posterior that has seen the labels, in the place of the prior's."""
        return self.evidence.belief

    @property
    def assumption(self: Result[MeasureEvidence | Groupwise]) -> str:
        """What estimates and intervals lean on."""
        return self.evidence.assumption

    @property
    def standard_error(self: Result[MeasureEvidence]) -> Any:
        """Posterior standard deviations, or standard errors."""
        return self.evidence.shaped(self.evidence.standard_error)

    @property
    def found(self: Result[Believed]) -> MeasurePosterior:
        """Draws of the belief's own parameters, and what the labels were."""
        return self.evidence.found

    @property
    def credible_interval(self: Result[Believed]) -> Float[np.ndarray, "... 2"]:
        """Intervals given the belief."""
        return self.evidence.shaped(self.evidence.credible_interval)

    @property
    def design_interval(self: Result[Believed | Groupwise]) -> Float[np.ndarray, "... 2"]:
        """Intervals from random items alone; of groups, and of numbers with bounds, such as hold at any time."""
        ends = self.evidence.design_interval
        return ends if ends is None else self.evidence.shaped(ends)

    @property
    def contradicted(self: Result[Believed]) -> Any:
        """Whether credible interval and design interval have no value in common."""
        return self.evidence.shaped(self.evidence.contradicted)

    @property
    def band(self: Result[Believed]):
        """Intervals that hold all measures at once; see `Believed.band`."""
        return self.evidence.band

    @property
    def sensitivity(self: Result[Believed]):
        """What the answer would be if positives hid among items of low score; see `Believed.sensitivity`."""
        return self.evidence.sensitivity

    @property
    def covariance(self: Result[Weighted]) -> Float[np.ndarray, "k k"]:
        """Covariance of the estimates ([NH] sec. 3.3.2)."""
        return self.evidence.covariance

    @property
    def n_effective(self: Result[Weighted]) -> Any:
        """Effective number of draws that inform the measure, see `effective_draws`."""
        return self.evidence.shaped(self.evidence.n_effective)

    @property
    def in_ellipsoid(self: Result[Weighted]):
        """Whether the confidence ellipsoid of all measures holds some values; see `Weighted.in_ellipsoid`."""
        return self.evidence.in_ellipsoid

    def __dir__(self) -> list[str]:
        """Name what there is: some of it is of some questions, or of some kinds of evidence."""
        absent = self._of_parts.difference(dir(self.evidence), dir(self.section))
        return [name for name in super().__dir__() if name not in absent]

    def summary(self) -> str:
        """Say the answer in a few sentences."""
        of = self.evidence
        lines = [f"{of._of_labels()} (design {self.design!r}){of.progress_of_design}."]
        lines += self._answer()
        of_the_prior = self.section.of_the_prior() if self.evidence.leans_on_prior else None
        lines += [*([of_the_prior] if of_the_prior else []), *self.evidence.of_what_is_given]
        use = "" if self.guarantee == "exact" else f", {self.evidence._use_of_volunteered}"
        late = self.evidence.withdrawn
        for n, how in ((self.volunteered - late, "without being asked for"), (late, _after_withdrawal(late))):
            if n:
                lines.append(f"{plural(n, 'label')} {'was' if n == 1 else 'were'} told {how}{use}.")
        if self.n_skipped:
            lines += self._about_skipped()
        return "\n".join([*lines, *self.notes])

    def _about_skipped(self) -> list[str]:
        """Say what the answer makes of items that nobody could label."""
        is_one = self.n_skipped == 1
        them = "it" if is_one else "them"
        said = f"{plural(self.n_skipped, 'item')} {'was' if is_one else 'were'} set aside: nobody could label {them}"
        if self.guarantee == "exact":
            return [f"{said}; the answer does not depend on {them}."]
        lines = [f"{said}; the answer takes {them} to be like the {self.evidence._others_of_skipped}."]
        return [*lines, *self.section.if_skipped()] if many_skipped(self.n_skipped, self.labels_used) else lines

    @abstractmethod
    def _answer(self) -> list[str]:
        """Say the answer, a sentence per line."""

    @abstractmethod
    def plot(self, *, ax: Axes | None = None) -> Axes:
        """Draw the answer."""

    @abstractmethod
    def to_arviz(self) -> ArvizData:
        """Return posterior and prior draws, observed and constant data as an ArviZ object."""

    @property
    def _trusted(self: Result[MeasureEvidence]) -> str:
        """What is not trusted where intervals are of random items alone."""
        return self.evidence.trusted

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

    def _intervals_of(self, sizes: Int[np.ndarray, " G"]) -> str:
        """Name the intervals of groups in a title: groups without items are never exact."""
        unknown = self.guarantee == "exact" and not sizes.all()
        return f"{self._interval_label}s" + "; groups without items as they are believed to be" * unknown


def _after_withdrawal(n: int) -> str:
    """Say when labels came whose items had been asked for."""
    return f"after {'its item' if n == 1 else 'their items'} had been set aside or given back"
