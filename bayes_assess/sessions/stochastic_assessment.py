"""The session with a stochastic oracle: every label is a draw from p(y | x), and an item may be asked again ([NH])."""

from __future__ import annotations

from typing import Any

import numpy as np

from bayes_assess._tools.arrays import first_true, is_whole, missing_mask, show, values_of
from bayes_assess._tools.engine import eager
from bayes_assess._tools.seeds import jax_key
from bayes_assess._tools.shapes import ArrayLike, Bool, Int
from bayes_assess._tools.text import plural
from bayes_assess.books.annotators import annotator_names
from bayes_assess.books.drawn_labels import AnswersBy, DrawBook, said_of_labels
from bayes_assess.designs import Design
from bayes_assess.errors import BudgetError, LabelError
from bayes_assess.pool.pool import Pool
from bayes_assess.pool.units import Codes, Units
from bayes_assess.questions import Question, Setting
from bayes_assess.sessions.assessment import Assessment, ResultT_co
from bayes_assess.sessions.queries import Queries
from bayes_assess.sessions.turns import in_turn


class StochasticAssessment(Assessment[ResultT_co]):
    """A campaign whose labels are draws, made by `assess(..., oracle="stochastic")` or `resume`: as `Assessment`.

    Every item that `ask` hands out is a draw of its own, of an item that may be out or have labels already; every label
    is that of a draw. Nothing is ever exact: p(y | x) is unknown, however often an item was asked.

    - `pending` and `pending_queries` have an item as often as it was drawn and has no label for it yet; `labelled` has
      a row per label, those of an item in the order of telling.
    - `tell` takes an id as often as it has labels, which may differ, and takes them for the oldest draws of the item.
      The same sheet must not be told twice: as every label is that of a draw, `LabelError` is raised if there are more
      labels of an item than draws of it that have none. The summary says how many labels each annotator has told.
    - `correct` is for items that have one label, by whomever: of several it is not said which one was wrong.
    """

    repeats_items = True
    unknown_kinds = ("annotate", "resolve")

    def __init__(self, pool: Pool, question: Question, design: Design, setting: Setting, seed: int, engine: str):
        super().__init__(pool, question, design, setting, seed, engine)
        with eager(engine == "eager"):  # whoever draws label t by the t-th split of the seed's key has that of query t
            self._key = jax_key(seed, "draws of a session")
        self._items: Any = DrawBook(self.cells, seed)
        self._annotators: Any = AnswersBy()

    @property
    def done(self) -> bool:
        """Whether all items were set aside; else another label always tells something."""
        return self.n_remaining == 0

    @property
    def label_counts(self) -> tuple[np.ndarray, Int[np.ndarray, "n C"]]:
        """Ids of the items with labels, in pool order, and how often each has every label, (n, C)."""
        labelled, codes = self._items.told
        items, place = np.unique(labelled, return_inverse=True)
        counts = np.zeros((len(items), self.pool.n_classes), np.int64)
        np.add.at(counts, (place, codes), 1)
        return self.pool.ids[items], counts

    @in_turn
    def ask(self, n: int = 1, *, posterior: object = None, annotator: str | None = None) -> Queries:
        """Draw the next `n` items to label, which may be the same item several times.

        Parameters
        ----------
        n : int
            At least 1; there is no limit.
        posterior : Belief, ArviZ object or array (S, K) or (S, K, C), optional
            As for `Assessment.ask`.
        annotator : str, optional
            Whom they are for, as for `Assessment.ask`.

        Raises
        ------
        BudgetError
            If `n` is not a positive whole number, or all items were set aside.

        Examples
        --------
        >>> import bayes_assess as ba
        >>> pool = ba.Pool(predictions=["cat", "dog"])
        >>> a = ba.assess(pool, ba.Metric("accuracy"), design="passive", oracle="stochastic")
        >>> queries = a.ask(40)
        >>> a.tell(queries.ids, ["cat", "dog"] * 20)
        >>> a.labels_used, a.n_pending
        (40, 0)
        >>> a.result().guarantee
        'asymptotic'
        """
        if not is_whole(n):
            raise BudgetError(f"Ask for a positive whole number of items; found {show(n)}.")
        if self.done:
            raise BudgetError("All items that can matter were set aside; release some of them to ask again.")
        return self._choose(int(n), posterior, annotator)

    def __repr__(self) -> str:
        n_items = len(self.label_counts[0])
        return (
            f"StochasticAssessment({self._asked_by}, design {self.design.name!r}: "
            f"{said_of_labels(self.labels_used, n_items)} of {self.pool.n_items:,}, {self.n_pending:,} pending)"
        )

    def _weighed_labels(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the items of draws with a label, its codes, and how many items of the pool each stands for."""
        weighed = self.design.weighed_labels(self._state)
        n = 0.0 if weighed is None else weighed.n
        return *self._items.told, self._items.told_weights * self.pool.n_items / max(n, 1.0)

    def _read(self, ids: ArrayLike, labels: ArrayLike, *, correcting: bool = False) -> tuple[Units, Codes]:
        """Return the items of labels, each as often as it has one, and codes of these."""
        if correcting:
            items, codes = super()._read(ids, labels, correcting=True)
            several = first_true(self._items.n_labels_of(items) > 1)
            if several is not None:
                item = items[several]
                raise LabelError(
                    f"Item {show(self.pool.ids[item])} has {self._items.n_labels_of(items)[several]:,} labels, and "
                    "which of them was wrong is not said; nothing was changed. Labels of an item may differ here."
                )
            return items, codes
        space = self.pool.label_space
        ids, labels = space.labelled_only(ids, labels)
        if not len(ids):
            return np.zeros(0, np.intp), np.zeros(0, np.int64)
        items, codes = self.pool.positions(ids), space.codes(labels, ids)
        beyond = first_true(~self._untold(items))
        if beyond is not None:
            item = items[[beyond]]
            n, awaited = int((items == item).sum()), self._items.n_out_of(item)[0]
            raise LabelError(
                f"Item {show(self.pool.ids[item][0])} has {plural(n, 'label')} here and awaits {awaited:,}. Nothing "
                "was taken: every label is that of a draw of its own, and those of a sheet count once; ask for items "
                "before they are labelled."
            )
        return items, codes

    def _untold(self, units: Units) -> Bool[np.ndarray, " n"]:
        """Whether a label of an item, its first, second and so on here, is that of a draw that has none."""
        order = np.argsort(units, kind="stable")
        _, first, n = np.unique(units[order], return_index=True, return_counts=True)
        nth = np.empty(len(units), np.int64)
        nth[order] = np.arange(len(units)) - np.repeat(first, n)
        return nth < self._items.n_out_of(units)

    def _tell_named(self, ids: ArrayLike, labels: ArrayLike, annotator: ArrayLike) -> None:
        given = np.atleast_1d(values_of(labels))
        names = annotator_names(annotator, len(given), self.pool.show)
        items, codes = self._read(ids, labels)
        if len(items):
            names = names[~missing_mask(given)]
            self._write("tell", {**self._units.recorded(items, codes), "annotators": names})
            self._take_labels(items, codes, {}, names)

    def _revise(self, ids: ArrayLike, labels: ArrayLike, annotator: str) -> int:
        return self._correct(ids, labels)
