"""What a session hands out: the items to label next."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from os import PathLike
from typing import TYPE_CHECKING, Self

import numpy as np

from bayes_assess._tools.arrays import missing_mask, objects
from bayes_assess._tools.dates import iso_text
from bayes_assess._tools.files import path_of
from bayes_assess._tools.shapes import Bool, Float, Frame, Int
from bayes_assess._tools.tables import Table
from bayes_assess._tools.text import plural
from bayes_assess.errors import OutputError
from bayes_assess.pool.labels import LabelSpace
from bayes_assess.sessions.exchange.cells import inert, inert_column
from bayes_assess.sessions.exchange.records import RECORDS
from bayes_assess.sessions.exchange.tasks import SUFFIX as EXPORTS
from bayes_assess.sessions.exchange.tasks import Answers, Tasks
from bayes_assess.sessions.exchange.tools import write_tasks
from bayes_assess.sessions.exchange.workbook import OTHER_FORMATS, SUFFIX, write_workbook

if TYPE_CHECKING:
    from numpy.typing import DTypeLike

# Suffixes by which `read_labels` takes a file for something else.
_NO_CSV = (SUFFIX, EXPORTS, *OTHER_FORMATS, *RECORDS)


class LabelSheet(ABC):
    """Items with what annotators need to see of them, and the sheets that they fill in."""

    ids: np.ndarray
    show: Mapping[str, np.ndarray]
    choices: tuple[Hashable, ...]
    label_space: LabelSpace | None

    def __len__(self) -> int:
        return len(self.ids)

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> np.ndarray:
        """Return the ids, so that queries stand for them wherever ids are taken: ``tell(queries, labels)``."""
        return np.array(self.ids, dtype=dtype) if copy is not False else np.asarray(self.ids, dtype=dtype)

    def __iter__(self) -> Iterator[Hashable]:
        """Go through the ids."""
        return iter(self.ids.tolist())

    @abstractmethod
    def table(self) -> Table:
        """Tabulate the queries for those who run the campaign: annotators get the `sheet`."""

    def only(self, ids: Iterable[Hashable]) -> Self:
        """Return a sheet of the items alone that are among these.

        Examples
        --------
        >>> import bayes_assess as ba
        >>> a = ba.assess(ba.Pool(predictions=["cat", "dog"]), ba.GroupAccuracy())
        >>> a.ask(2).only([1]).ids.tolist()
        [1]
        """
        kept = set(ids)
        rows = np.array([id in kept for id in self.ids.tolist()], bool)
        return type(self)(**{name: _of_rows(value, rows) for name, value in vars(self).items()})

    def to_frame(self, backend: str = "pandas") -> Frame:
        """Return the `table` as a data frame."""
        return self.table().to_frame(backend)

    def sheet(self, *, show_prediction: bool = False) -> Table:
        """Tabulate what annotators get: ids, what they need to see, and an empty column ``label`` to fill in.

        Parameters
        ----------
        show_prediction : bool
            Whether to show them prediction and score, or the rank, too, which sway annotators.
        """
        columns = {"id": self.ids, **self._shown()} | (self._swaying() if show_prediction else {})
        return Table({**columns, "label": np.full(len(self), "")}, title=f"{plural(len(self), 'item')} to label")

    def to_csv(self, path: str | PathLike[str], *, show_prediction: bool = False) -> None:
        """Write the `sheet` for annotators as CSV, or with tabs where the name ends in ``.tsv``.

        Texts that a spreadsheet would take for formulas, as they begin with ``=``, ``+``, ``-`` or ``@``, get a quote
        before them, which `read_labels` takes away again.

        Parameters
        ----------
        path : path-like
        show_prediction : bool
            Whether to show prediction and score, or the rank, which sway annotators.

        Raises
        ------
        OutputError
            If the name is that of a workbook or of JSON, or the file cannot be written.
        """
        named = path_of(path, "sheet")
        if named.suffix.lower() in _NO_CSV:
            raise OutputError(
                f"A sheet is written as CSV here; name the file {named.stem}.csv, not {named.name}, or write "
                "a workbook by to_xlsx, or tasks for a labelling tool by to_json."
            )
        sheet = self.sheet(show_prediction=show_prediction)
        Table({inert(name).replace("\0", "\ufffd"): inert_column(sheet[name]) for name in sheet.columns}).to_csv(path)

    def to_xlsx(self, path: str | PathLike[str], *, show_prediction: bool = False) -> None:
        """Write the `sheet` for annotators as an Excel workbook, where they choose labels from a list of the classes.

        Parameters
        ----------
        path : path-like
        show_prediction : bool
            Whether to show prediction and score, or the rank, which sway annotators.

        Raises
        ------
        OutputError
            If openpyxl is not installed (``pip install "bayes-assess[xlsx]"``), the name does not end in ``.xlsx``, or
            the file cannot be written.
        """
        sheet = self.sheet(show_prediction=show_prediction)
        columns = {name: sheet[name].tolist() for name in sheet.columns} | {"label": [None] * len(self)}
        write_workbook(path_of(path, "workbook"), columns, self.choices)

    def to_json(self, path: str | PathLike[str], *, tool: str, show_prediction: bool = False) -> None:
        """Write tasks for a labelling tool, and beside them what the tool needs to know of the labels.

        For Label Studio this is the labelling configuration, ``tasks.xml`` for ``tasks.json``; for Argilla the settings
        of a dataset, ``tasks.settings.json``. `read_labels` reads what the tool exports.

        Parameters
        ----------
        path : path-like
            It ends in .json.
        tool : {"label-studio", "argilla"}
        show_prediction : bool
            Whether to add predictions with their scores as pre-annotations or suggestions, or to show the rank, which
            sway annotators.

        Raises
        ------
        OutputError
            If there is no such tool, or a file cannot be written.

        Examples
        --------
        >>> import bayes_assess as ba, os, tempfile
        >>> pool = ba.Pool(predictions=["cat", "dog"], show={"text": ["purrs", "barks"]})
        >>> folder = tempfile.mkdtemp()
        >>> ba.assess(pool, ba.GroupAccuracy()).ask(2).to_json(os.path.join(folder, "tasks.json"), tool="label-studio")
        >>> sorted(os.listdir(folder))
        ['tasks.json', 'tasks.xml']
        """
        answers = Answers.of(self.label_space, self.choices)
        swaying = self._swaying() if show_prediction else {}
        write_tasks(path_of(path, "tasks"), Tasks.of(self.ids, self._shown(), swaying, answers), tool)

    @abstractmethod
    def _swaying(self) -> dict[str, np.ndarray]:
        """Return the columns that annotators had better not see."""

    def _shown(self) -> dict[str, np.ndarray]:
        return {name: _plain(values) for name, values in self.show.items()}

    def __repr__(self) -> str:
        return repr(self.table())

    def _repr_html_(self) -> str:
        return self.table()._repr_html_()


@dataclass(frozen=True, eq=False, repr=False)
class Queries(LabelSheet):
    """Items to label next, in the order in which they were drawn.

    Attributes
    ----------
    ids : (n,) item ids
        Dates, times and UUIDs as texts, as the pool has them; ``frame.iloc[pool.positions(queries.ids)]`` are the rows
        of the frame that the pool was made of, whatever its index.
    cells : (n,) integers
        Cell of every item.
    weights : (n,) floats
        Importance weights; 1 for designs that draw uniformly within cells.
    groups : (n,) names
        Group of every item, for people.
    predictions : (n,) class names
    scores : (n,) floats, optional
        The probability that the classifier gives to its prediction.
    show : mapping of str to array (n,)
        What annotators need to see, such as a text.
    choices : sequence of class names
        From which annotators choose one; empty where an item may have several labels.
    label_space : LabelSpace, optional
        All labels that an item can have, which labelling tools need to know.
    ranks : (n,) integers, optional
        Of `PrecisionCurve` by a design that learns what scores mean: 1..N in a list, or by the scores of a pool, of
        equal ones the last of their ranks; None of other questions.

    Examples
    --------
    >>> import bayes_assess as ba
    >>> pool = ba.Pool(predictions=["cat", "dog"], ids=[7, 8], show={"text": ["It purrs.", "It barks."]})
    >>> queries = ba.assess(pool, ba.GroupAccuracy()).ask(2)
    >>> sorted(queries.ids.tolist()), queries.sheet().columns
    ([7, 8], ('id', 'text', 'label'))
    """

    ids: np.ndarray
    cells: Int[np.ndarray, " n"]
    weights: Float[np.ndarray, " n"]
    groups: np.ndarray
    predictions: np.ndarray
    scores: Float[np.ndarray, " n"] | None = None
    show: Mapping[str, np.ndarray] = field(default_factory=dict)
    choices: tuple[Hashable, ...] = ()
    label_space: LabelSpace | None = None
    ranks: Int[np.ndarray, " n"] | None = None

    def table(self) -> Table:
        """Tabulate the queries for those who run the campaign: annotators get the `sheet`."""
        ranks = {} if self.ranks is None else {"rank": self.ranks}
        columns = {"prediction": self.predictions, "group": self.groups, "weight": self.weights}
        columns = {"id": self.ids, **ranks, **self._shown() | columns}
        return Table(columns, title=f"{plural(len(self), 'item')} to label")

    def _swaying(self) -> dict[str, np.ndarray]:
        if self.ranks is not None:
            return {"rank": self.ranks}
        return {"prediction": self.predictions} | ({} if self.scores is None else {"score": self.scores})


@dataclass(frozen=True, eq=False, repr=False)
class RankedQueries(LabelSheet):
    """Items of a ranked list to label next, in the order in which they were drawn.

    Attributes
    ----------
    ids : (n,) item ids
    ranks : (n,) integers
        1..N.
    show : mapping of str to array (n,)
        What annotators need to see, such as a text.
    choices : sequence of class names
        From which annotators choose one.
    label_space : LabelSpace, optional
        All labels that an item can have, which labelling tools need to know.
    fewer : str
        Why there are fewer items than were asked for; empty where there are as many.

    Examples
    --------
    >>> import bayes_assess as ba
    >>> a = ba.assess(ba.RankedList(1_000_000), ba.PrecisionCurve(epsilon=0.1, beta=1.2, p_min=0.5))
    >>> queries = a.ask(20)
    >>> len(queries), queries.sheet().columns
    (20, ('id', 'label'))
    """

    ids: np.ndarray
    ranks: Int[np.ndarray, " n"]
    show: Mapping[str, np.ndarray] = field(default_factory=dict)
    choices: tuple[Hashable, ...] = ()
    label_space: LabelSpace | None = None
    fewer: str = ""

    def table(self) -> Table:
        """Tabulate the queries for those who run the campaign: annotators get the `sheet`."""
        fewer = f", fewer than asked for, {self.fewer}" if self.fewer else ""
        title = f"{plural(len(self), 'item')} to label{fewer}"
        return Table({"id": self.ids, "rank": self.ranks, **self._shown()}, title=title)

    def _swaying(self) -> dict[str, np.ndarray]:
        return {"rank": self.ranks}


def _of_rows(value: object, rows: Bool[np.ndarray, " n"]) -> object:
    """Return what a sheet has by rows for some of them, and all else as it is."""
    if isinstance(value, Mapping):
        return {name: _of_rows(column, rows) for name, column in value.items()}
    return value[rows] if isinstance(value, np.ndarray) else value


def _plain(values: np.ndarray) -> np.ndarray:
    """Return numbers and texts as they are, None for what is missing, and anything else as a text."""
    missing, values = missing_mask(values), iso_text(values)
    shown = [
        None if gone else value if isinstance(value, str | int | float) else str(value)
        for value, gone in zip(values.tolist() if values.dtype.kind != "m" else values, missing, strict=True)
    ]
    return objects(shown)
