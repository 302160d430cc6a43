"""The session: what every campaign on one pool answers, whatever its items are and however they are drawn.

The command line, the labelling page and plans know sessions by this interface alone. `Assessment` and
`RankedAssessment` are the two ways to keep it.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Hashable, Sequence
from os import PathLike
from typing import TYPE_CHECKING, ClassVar, Generic, TypeAlias, TypeVar

import numpy as np

from bayes_assess._tools.shapes import ArrayLike
from bayes_assess._tools.tables import Table
from bayes_assess.books.annotators import UNNAMED, for_whom
from bayes_assess.books.book import Book
from bayes_assess.designs import Design
from bayes_assess.designs.ranked import RankedDesign
from bayes_assess.pool.pool import Pool
from bayes_assess.pool.ranked import RankedList
from bayes_assess.questions import Question
from bayes_assess.results import Result
from bayes_assess.results.plan import Plan
from bayes_assess.sessions.exchange.matching import UNKNOWN
from bayes_assess.sessions.labelling import BookT_co, Labelling, PoolT_co, QuestionT_co
from bayes_assess.sessions.queries import LabelSheet
from bayes_assess.sessions.team.agreement import Agreement
from bayes_assess.sessions.team.disagreements import Disagreements
from bayes_assess.sessions.team.labelling_error import LabellingError
from bayes_assess.sessions.turns import in_turn
from bayes_assess.studies.goals import Goal

if TYPE_CHECKING:
    import duckdb

DesignT_co = TypeVar("DesignT_co", bound="Design | RankedDesign", covariant=True)


class Session(Labelling[PoolT_co, QuestionT_co, BookT_co], Generic[PoolT_co, QuestionT_co, DesignT_co, BookT_co]):
    """A campaign on one pool: items are asked for, their labels told, and a question answered.

    Attributes
    ----------
    pool : Pool or RankedList
    question : Question
    design : Design or RankedDesign
    """

    unknown_id: ClassVar[str] = UNKNOWN  # what is said of ids that are not among the `labellable` ones
    design: DesignT_co

    @property
    def one_annotator(self) -> bool:
        """Whether an item has one label, whoever told it."""
        return self._units.one_label

    @property
    def answers_others(self) -> bool:
        """Whether labels answer other questions than the session's own, where they can: they are of single items."""
        return not self._units.one_label

    @property
    @abstractmethod
    def n_remaining(self) -> int:
        """Items that may still be asked for, as far as the design knows by now."""

    @property
    @abstractmethod
    def done(self) -> bool:
        """Whether nothing is left to ask for."""

    @property
    @abstractmethod
    def n_told(self) -> int:
        """Labels told so far by all annotators, of one item several."""

    @property
    @abstractmethod
    def n_disagreements(self) -> int:
        """Items whose annotators differ and that nobody has decided on."""

    @property
    @abstractmethod
    def pending_queries(self) -> LabelSheet:
        """The items handed out and not labelled yet, in the order of the pool, as `ask` returned them."""

    def pending_queries_of(self, annotator: str) -> LabelSheet:
        """Return those of `pending_queries` that were asked for this annotator last, as ``ask(annotator=...)`` says.

        Examples
        --------
        >>> import bayes_assess as ba
        >>> a = ba.assess(ba.Pool(predictions=["cat", "dog"] * 2), ba.GroupAccuracy())
        >>> of_anna, of_ben = a.ask(2, annotator="anna"), a.ask(1, annotator="ben")
        >>> sorted(a.pending_queries_of("anna").ids.tolist()) == sorted(of_anna.ids.tolist())
        True
        """
        name = for_whom(annotator).get("annotator", UNNAMED)
        asked: dict[Hashable, str] = {}
        for event in self.events:
            if event.kind == "ask":
                ids = self.recorded_as(event.payload["ids"]).ravel().tolist()
                asked |= dict.fromkeys(ids, event.payload.get("annotator", UNNAMED))
        return self.pending_queries.only(id for id, whose in asked.items() if whose == name)

    @abstractmethod
    def ask(self, n: int = ..., *, annotator: str | None = None) -> LabelSheet:
        """Choose the next `n` items to label; they are pending until their labels are told."""

    @abstractmethod
    def result(self, level: float = ..., *, question: Question | None = None) -> Result:
        """Answer the question, or another one, from the labels told so far."""

    @abstractmethod
    def plan(
        self,
        width: float | None = None,
        *,
        probability: float | None = None,
        of: str = "widest",
        level: float = 0.95,
        futures: int = 16,
    ) -> Plan:
        """Say how many more labels it takes until enough is known; raise QuestionError if that cannot be known."""

    @abstractmethod
    def goal(
        self, width: float | None, probability: float | None = None, of: str = "widest", level: float = 0.95
    ) -> Goal:
        """Make a goal of the session's question; raise QuestionError if it has none such. See `plan`."""

    @property
    @abstractmethod
    def labellable(self) -> Pool:
        """The items whose labels can be told; raise LabelError if there are none yet."""

    @abstractmethod
    def ids_named(self, texts: Sequence[str]) -> list[Hashable]:
        """Return the ids that texts stand for, as in sheets; texts that stand for none as they are."""

    @in_turn
    def tell_or_skip(
        self, ids: ArrayLike, labels: ArrayLike, unsure: ArrayLike, *, annotator: ArrayLike | None = None
    ) -> int:
        """Learn labels, and set the items aside of which a sheet says that nobody can label them: both, or neither.

        Parameters
        ----------
        ids, labels, annotator
            As of `tell`.
        unsure : (m,) item ids
            As of `skip`.

        Returns
        -------
        int
            How many items were not set aside before.

        Raises
        ------
        LabelError, UnknownIdError
            As by `tell` and `skip`; nothing is changed then.

        Examples
        --------
        >>> import bayes_assess as ba
        >>> a = ba.assess(ba.Pool(predictions=["cat", "dog"]), ba.GroupAccuracy())
        >>> a.tell_or_skip([0], ["cat"], [1])
        1
        >>> a.labels_used, a.n_skipped
        (1, 1)
        """
        with self._together():
            self.tell(ids, labels, annotator=annotator)
            return self.skip(unsure)

    @abstractmethod
    def export(
        self, to: str | PathLike[str] | None = None, *, connection: duckdb.DuckDBPyConnection | None = None
    ) -> Table:
        """Hand on the labels told so far with their weights; raise DesignError if they have none."""

    @abstractmethod
    def disagreements(self, *, resolved: bool = False) -> Disagreements:
        """List the items whose annotators differ; raise LabelError where an item has one label."""

    @abstractmethod
    def agreement(self) -> Agreement:
        """Say how well annotators agree; raise LabelError where nothing says so."""

    @abstractmethod
    def labelling_error(self, level: float = 0.95) -> LabellingError:
        """Estimate how often labels are wrong; raise LabelError where nothing says so."""

    @abstractmethod
    def resolve(self, ids: ArrayLike | None = None, labels: ArrayLike | None = None, *, rule: str | None = None) -> int:
        """Decide on labels about which annotators differ; say on how many items."""

    @abstractmethod
    def why_no_majority(self) -> str:
        """Say why ``rule="majority"`` leaves items undecided; an empty text if it leaves none."""

    def labelled_with(self, ids: ArrayLike) -> np.ndarray:
        """Return the ids of the items that are labelled together with each of these, (n, labels_each).

        Examples
        --------
        >>> import bayes_assess as ba
        >>> a = ba.assess(ba.Pool(predictions=["cat", "dog"]), ba.GroupAccuracy())
        >>> a.labelled_with([1]).tolist()
        [[1]]
        """
        return self._units.together(ids)

    def recorded_as(self, names: ArrayLike) -> np.ndarray:
        """Return the ids of the items that the journal calls by these names, (n, labels_each)."""
        return self._units.together_in(names)


AnySession: TypeAlias = Session[Pool | RankedList, Question, Design | RankedDesign, Book]
