"""Sessions of ranked lists, which keep one label of every item and answer their own question alone."""

from __future__ import annotations

from os import PathLike
from typing import TYPE_CHECKING, NoReturn

from bayes_assess._tools.shapes import ArrayLike
from bayes_assess.books.annotators import ONE_LABEL
from bayes_assess.errors import DesignError, LabelError
from bayes_assess.sessions.export import NO_WEIGHTS
from bayes_assess.sessions.labelling import BookT_co, PoolT_co, QuestionT_co
from bayes_assess.sessions.session import DesignT_co, Session

if TYPE_CHECKING:
    import duckdb


class OneAnnotator(Session[PoolT_co, QuestionT_co, DesignT_co, BookT_co]):
    """Sessions that have no use for whether annotators agree, and whose labels have no weights."""

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
        _refuse()

    def agreement(self) -> NoReturn:
        """Refuse, and say why."""
        _refuse()

    def labelling_error(self, level: float = 0.95) -> NoReturn:
        """Refuse, and say why."""
        _refuse()

    def resolve(
        self, ids: ArrayLike | None = None, labels: ArrayLike | None = None, *, rule: str | None = None
    ) -> NoReturn:
        """Refuse, and say why."""
        _refuse()

    def why_no_majority(self) -> str:
        """Say nothing: no items are left undecided."""
        return ""

    def export(
        self, to: str | PathLike[str] | None = None, *, connection: duckdb.DuckDBPyConnection | None = None
    ) -> NoReturn:
        """Refuse, and say why."""
        raise DesignError(NO_WEIGHTS)

    def _tell_named(self, ids: ArrayLike, labels: ArrayLike, annotator: ArrayLike) -> NoReturn:
        _refuse()

    def _revise(self, ids: ArrayLike, labels: ArrayLike, annotator: str) -> NoReturn:
        _refuse()


def _refuse() -> NoReturn:
    raise LabelError(ONE_LABEL)
