"""The course of a campaign: what has become of every item, and the state of the design."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from bayes_assess._tools.engine import eager, random
from bayes_assess._tools.shapes import Array, ArrayLike, Int
from bayes_assess.books.annotators import UNNAMED, AnnotatorBook, ToldLabels
from bayes_assess.books.items import ItemBook
from bayes_assess.books.rounds import RoundBook, check_inclusion
from bayes_assess.designs import (
    Design,
    Draw,
    State,
    compiled_start,
    reserve_batch,
    settle_batch,
    update_batch,
)
from bayes_assess.designs._label_models import CurveLabels
from bayes_assess.errors import QuestionError
from bayes_assess.estimators.random_counts import RandomLabels
from bayes_assess.estimators.weighted import Steps
from bayes_assess.models.belief import Belief
from bayes_assess.pool.cells import Cells
from bayes_assess.pool.pool import Pool
from bayes_assess.pool.units import ItemUnits, Units
from bayes_assess.questions import GroupAccuracy, Question, Setting
from bayes_assess.sessions.journal import Event
from bayes_assess.sessions.labelling import Labelling
from bayes_assess.sessions.open_steps import OpenSteps

OF_PREDICTIONS = GroupAccuracy()


class Volunteered(NamedTuple):
    """What a session has found of labels that nobody asked for.

    Attributes
    ----------
    asked, others : (K, O) integers
        Labels that were asked for, and others.
    model : CurveLabels
        What those that were asked for say alone.
    log_odds : float
        That the others are random ones, and were not chosen by what they say.
    unlike : bool
        Whether they are unlike labels of like items that were asked for.
    column : str, optional
        By which column of the pool their items were chosen among like ones, as far as can be seen.
    """

    asked: Int[np.ndarray, "K O"]
    others: Int[np.ndarray, "K O"]
    model: CurveLabels
    log_odds: float
    unlike: bool
    column: str | None = None

    @property
    def tell_of_labels(self) -> bool:
        """Whether the others seem chosen by what they say, or by what else tells of it."""
        return self.log_odds < 0 or self.unlike

    @property
    def seem_chosen(self) -> bool:
        """Whether the others seem chosen by anything."""
        return self.tell_of_labels or self.column is not None


class Course(Labelling[Pool, Question, ItemBook]):
    """What asks and labels do to a pool and a design, one after the other.

    Parameters
    ----------
    pool, question, design : Pool, Question, Design
    setting : Setting
        The question as it is put to the pool.
    seed : int
    engine : {"eager", "compiled"}
        What runs the design's steps.
    """

    def __init__(
        self,
        pool: Pool,
        question: Question,
        design: Design,
        setting: Setting,
        seed: int,
        engine: str = "compiled",
    ):
        super().__init__()
        if pool.multilabel:
            check_inclusion(design)
        self._pool, self._item_units = pool, question.units(pool)
        self.pool = self._units.pool  # whose items the units are of
        self.question, self.design = question, design
        self.cells, self.prior, _, self._playable = self._setting = setting
        self._seed = seed
        self.engine = engine
        with eager(on_numpy := engine == "eager"):
            self._key = random.key(seed)
            self._state = self._start = design.init(*setting) if on_numpy else compiled_start(design, *setting)
        self._items = ItemBook(self.cells, seed)
        self._annotators = AnnotatorBook(self._units.one_label)
        self._steps = OpenSteps(self.cells.n_items) if design.settles else None
        self._volunteered: Volunteered | None = None
        self._keeps_aside = design.keeps_aside and not setting.stochastic
        self._rounds = RoundBook(pool.n_items, self.cells.n_cells) if pool.multilabel else None

    @property
    def _units(self) -> ItemUnits:
        return self._item_units

    @property
    def n_remaining(self) -> int:
        """Items that may still be asked for: neither labelled nor handed out nor set aside."""
        return int(self._items.remaining[self._playable].sum()) * self.question.labels_each

    @cached_property
    def _by_prediction(self) -> tuple[Cells, Belief]:
        """Cells by prediction, and what is believed of accuracies there before any label."""
        cells = OF_PREDICTIONS.cells(self._pool, self._seed)
        return cells, OF_PREDICTIONS.prior(self._pool, cells, None, None)

    @property
    def _handed_out(self) -> Units:
        """Items that were ever asked for, sorted."""
        asks = [np.asarray(event.payload["ids"]) for event in self._events if event.kind == "ask"]
        return np.unique(self._units.named(np.concatenate(asks))) if asks else np.zeros(0, np.int64)

    @property
    def done(self) -> bool:
        """Whether no item is left to ask for."""
        return self.n_remaining == 0

    @property
    def counts(self) -> Int[np.ndarray, "K O"]:
        """Labels told of every cell by outcome, as beliefs learn them, in the order of ``cells.names``.

        Outcomes are disagreement and agreement where groups are asked about, classes (or costs) for confusion matrices,
        and classes for measures; with a design whose belief is about the one event of every label that decides a
        measure, they are labels without and with the event.

        Examples
        --------
        >>> import bayes_assess as ba
        >>> a = ba.assess(ba.Pool(predictions=["cat", "cat", "dog"]), ba.GroupAccuracy())
        >>> a.tell([0, 1], ["cat", "dog"])
        >>> a.counts.tolist()
        [[1, 1], [0, 0]]
        """
        return np.asarray(self._state.counts)

    def _corrections(self, events: Sequence[Event]) -> dict[int, int]:
        """Return the last code that was put right of every item, by item."""
        corrections: dict[int, int] = {}
        for event in events:
            if event.kind in ("correct", "resolve", "revise"):
                items, codes = self._units_in(event), self._units.codes_in([event.payload])
                counts = np.asarray(event.payload.get("counts", np.ones(len(items))), bool)
                corrections |= zip(items[counts].tolist(), codes[counts].tolist(), strict=True)
        return corrections

    def _hand_out(self, items: Int[np.ndarray, " n"], cells: Int[np.ndarray, " n"], draws: Draw, state: State) -> None:
        """Take over items drawn, and the state after that."""
        weights = np.asarray(draws.weight, np.float64)
        if self._rounds is not None:
            if not self._items.n_pending:
                self._rounds.begin(self._items.remaining + self._items.skipped_by_cell)
            asked = self._rounds.asked + len(items)
            with eager(self.design.is_eager(state)):
                inclusion = np.asarray(self.design.inclusion(state, self._rounds.frame, asked))
            self._rounds.ask(items, inclusion)
        self._state = state
        if not len(items):  # of a random size: all labels that there are have come
            if not self._items.n_pending:
                nothing = np.zeros(0, np.int64)
                self._state = settle_batch(self.design, state, Steps(nothing, nothing, np.zeros(0), np.zeros(0)))
            return
        drawn = self._items.hand_out(items, weights)
        if self._steps is not None:
            self._steps.ask(drawn, cells, draws)

    def _annotate(self, first: ToldLabels, further: ToldLabels | None, codes: Int[np.ndarray, " n"]) -> None:
        """Learn `codes`, which are those of first labels unless they were corrected, and keep who said what."""
        self._annotators.record(first)
        if further is not None:
            self._annotators.record(further)
        if len(first.items):
            self._learn(first.items, codes)

    def _take_labels(
        self,
        units: Int[np.ndarray, " n"],
        codes: Int[np.ndarray, " n"],
        right: Mapping[int, int],
        annotators: ArrayLike | None = None,
    ) -> None:
        names = np.full(len(units), UNNAMED) if annotators is None else np.asarray(annotators, object)
        # Of several labels of an item the first one: where there are more none is put right.
        now = np.where(self._items.codes_of(units) < 0, put_right(units, codes, right), codes)
        self._annotate(ToldLabels(units, codes, names), None, now)

    def _learn(self, items: Int[np.ndarray, " n"], codes: Int[np.ndarray, " n"]) -> None:
        """Take labels of items that have none."""
        skipped = items[self._items.skipped[items]]
        if len(skipped):
            drawn = self._kept(skipped)  # whose labels are those of their draws
            if len(drawn):
                self._items.await_again(drawn)
            self._put_back(np.setdiff1d(skipped, drawn))
        cells, unasked = self._items.cells_of(items), self._items.unseen(items)
        if unasked.any():
            self._items.accept(items[unasked])
            self._state = reserve_batch(self.design, self._state, cells[unasked])
        if self._steps is not None:
            self._steps.volunteer(items[unasked], cells[unasked])
        self._take(items, codes)

    def _take(self, items: Int[np.ndarray, " n"], codes: Int[np.ndarray, " n"]) -> None:
        """Take labels of items that are out."""
        cells, outcomes = self._items.cells_of(items), self.outcomes_of(items, codes)
        settled = later = None
        draws = self._items.take_labels(items, codes)
        if self._steps is not None:
            self._steps.tell(draws, outcomes)
            settled, later = self._steps.take()
        self._state = update_batch(self.design, self._state, cells, outcomes, settled)
        if self._rounds is not None:
            self._rounds.tell(items)
        if later is not None and len(later.cell) and not self.design.settles_in_order:
            self._state = settle_batch(self.design, self._state, later, last=False)

    def outcomes_of(self, items: Int[np.ndarray, " n"], codes: Int[np.ndarray, " n"]) -> Int[np.ndarray, " n"]:
        """Return the outcomes of labels, as the design counts them."""
        if self.question.numeric:  # whose labels the design does not see
            return self._items.volunteered(items).astype(np.int64)
        found = self.question.outcomes_on(self.cells, self._pool, items, self._units.counted(codes))
        n_outcomes = self._state.counts.shape[-1]
        if found.max(initial=0) >= n_outcomes:
            raise QuestionError(
                f"`outcomes` of {type(self.question).__name__} are from 0 to {n_outcomes - 1}, as it counts "
                f"{n_outcomes} of them; found {found.max()}."
            )
        return found

    def _random_labels(self, asked: Question, cells: Cells, counts: Int[Array, "K O"]) -> RandomLabels | None:
        """Tell labels of items that were drawn at random within their cells from others; None if none are so drawn.

        An item that was handed out counts as drawn whatever became of it since: whoever tells some labels of a sheet,
        sets hard items aside, or gives them back, has chosen which labels there are.

        Parameters
        ----------
        asked, cells
            The question, and cells within which items were drawn in random order.
        counts : (K, O) integers
            All labels of these cells by outcome.
        """
        if not self.design.plays_arms:
            return None
        book, counts = self._items, np.asarray(counts, np.int64)

        def by_cell(items):
            return np.bincount(cells.source.cells_of(items), minlength=cells.n_cells)

        if not any(event.kind in ("skip", "release") for event in self._events) and not book.n_volunteered:
            return RandomLabels.all_of(counts)._replace(lost=by_cell(book.awaited))
        drawn = self._handed_out
        items, codes = book.told
        of_drawn = np.isin(items, drawn)
        of_random = self._counted(asked, cells, items[of_drawn], codes[of_drawn], counts.shape[1])
        lost, aside = np.setdiff1d(drawn, items), np.setdiff1d(book.aside, drawn)
        return RandomLabels(of_random, by_cell(lost), counts - of_random, by_cell(aside))

    def _counted(
        self,
        asked: Question,
        cells: Cells,
        items: Int[np.ndarray, " n"],
        codes: Int[np.ndarray, " n"],
        n_outcomes: int,
    ) -> Int[np.ndarray, "K O"]:
        """Count the labels of items, codes as they were told, by cell and outcome of a question."""
        counts, codes = np.zeros((cells.n_cells, n_outcomes), np.int64), self._units.counted(codes)
        np.add.at(counts, (cells.source.cells_of(items), asked.outcomes_on(cells, self._pool, items, codes)), 1)
        return counts

    @property
    def _own_random_labels(self) -> RandomLabels | None:
        """The random labels of the session's own groups; see `_random_labels`."""
        return self._random_labels(self.question, self.cells, self._state.counts)

    def _set_aside(self, units: Int[np.ndarray, " n"]) -> None:
        """Ask no more for items that are pending or unseen."""
        drawn = self._items.skip(units)
        self._withdraw(drawn[:0] if self._keeps_aside else drawn)

    def _put_back(self, units: Int[np.ndarray, " n"]) -> None:
        """Let items be asked for again that are pending or set aside."""
        drawn = self._items.put_back(units)
        self._withdraw(drawn if self._steps is None or not self._keeps_aside else self._steps.lacking(units))

    def _kept(self, items: Int[np.ndarray, " n"]) -> Int[np.ndarray, " m"]:
        """Return those of some items that were set aside whose draws have been kept."""
        return self._steps.lacking(items) if self._keeps_aside and self._steps is not None else items[:0]

    @property
    def _kept_aside(self) -> Int[np.ndarray, " K"]:
        """Items of every cell that were set aside and count as pending ones, see `Design.keeps_aside`."""
        aside = self._items.aside if self._keeps_aside and self._items.n_skipped else np.zeros(0, np.int64)
        aside = aside if self._steps is None else self._steps.lacking(aside)
        return np.bincount(self._items.cells_of(aside), minlength=self.cells.n_cells)

    def _withdraw(self, drawn: Int[np.ndarray, " n"]) -> None:
        """Count anew which items are out, and await no labels of these draws."""
        pending = self._items.cells_of(self._items.awaited)
        self._state = replace(
            self._state,
            pending=np.bincount(pending, minlength=self.cells.n_cells) + self._kept_aside,
            remaining=np.where(self._playable, self._items.remaining, 0),
        )
        if self._rounds is not None:
            self._rounds.withdraw(drawn)
        if self._steps is None or not len(drawn):
            return
        (self._steps.give_up if self._keeps_aside else self._steps.withdraw)(drawn)
        settled, later = self._steps.take()
        self._state = settle_batch(self.design, self._state, settled)
        if len(later.cell) and not self.design.settles_in_order:
            self._state = settle_batch(self.design, self._state, later, last=False)


def put_right(items: Int[np.ndarray, " n"], codes: Int[np.ndarray, " n"], right: Mapping[int, int]) -> np.ndarray:
    """Return the codes of labels, the right ones of those that were corrected later."""
    if not right:
        return codes
    pairs = zip(items.tolist(), codes.tolist(), strict=True)
    return np.array([right.get(item, code) for item, code in pairs], codes.dtype)
