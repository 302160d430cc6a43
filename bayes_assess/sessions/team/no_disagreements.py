"""Sessions that compare no annotators, and say why."""

from __future__ import annotations

from os import PathLike
from typing import TYPE_CHECKING, ClassVar, NoReturn

from bayes_assess._tools.shapes import ArrayLike
from bayes_assess.errors import DesignError, LabelError
from bayes_assess.sessions.labelling import BookT_co, PoolT_co, QuestionT_co
from bayes_assess.sessions.session import DesignT_co, Session

if TYPE_CHECKING:
    import duckdb


class NoDisagreements(Session[PoolT_co, QuestionT_co, DesignT_co, BookT_co]):
    """Sessions that have no use for whether annotators agree, and say why."""

    why_not: ClassVar[str]

    @property
    def n_told(self) -> int:
        """Labels told so far."""
        return self.labels_used

    @property
    def n_disagreements(self) -> int:
        """None."""
        return 0

    def disagreements(self, *, resolved: bool = False) -> NoReturn:
        """Refuse, and say why."""
        self._refuse()

    def agreement(self) -> NoReturn:
        """Refuse, and say why."""
        self._refuse()

    def labelling_error(self, level: float = 0.95) -> NoReturn:
        """Refuse, and say why."""
        self._refuse()

    def resolve(
        self, ids: ArrayLike | None = None, labels: ArrayLike | None = None, *, rule: str | None = None
    ) -> NoReturn:
        """Refuse, and say why."""
        self._refuse()

    def why_no_majority(self) -> str:
        """Say nothing: no items are left undecided."""
        return ""

    def _refuse(self) -> NoReturn:
        raise LabelError(self.why_not)


class OneAnnotator(NoDisagreements[PoolT_co, QuestionT_co, DesignT_co, BookT_co]):
    """Sessions that keep one label of every item, which stands for no others, and answer their own question alone."""

    one_annotator = True
    answers_others = False
    why_not: ClassVar[str] = (
        "Ranked lists and comparisons of pairs keep one label of every item, not those of several annotators: let "
        "these agree first, and tell what they agreed on, without annotators."
    )

    def export(
        self, to: str | PathLike[str] | None = None, *, connection: duckdb.DuckDBPyConnection | None = None
    ) -> NoReturn:
        """Refuse: labels of pairs and of ranks have no weights of their own."""
        raise DesignError(
            "Labels of pairs and of ranked lists do not stand for items of the pool one by one, and have no weights: "
            "in Python `labelled` of the session has ids and labels; or ask measures or groups of a pool."
        )

    def _tell_named(self, ids: ArrayLike, labels: ArrayLike, annotator: ArrayLike) -> NoReturn:
        self._refuse()

    def _revise(self, ids: ArrayLike, labels: ArrayLike, annotator: str) -> NoReturn:
        self._refuse()
