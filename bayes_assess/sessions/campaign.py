"""A campaign as events lead it: those of a journal, or those that a session has just recorded."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from bayes_assess._tools.shapes import Array, Int
from bayes_assess._tools.text import plural
from bayes_assess.books.annotators import ToldLabels
from bayes_assess.designs import (
    Draw,
    refreshed,
    reserve_batch,
    settle_batch,
    update_batch,
)
from bayes_assess.errors import BayesAssessError
from bayes_assess.estimators.random_counts import RandomLabels
from bayes_assess.models.belief import Belief
from bayes_assess.pool.cells import Cells
from bayes_assess.pool.units import Units
from bayes_assess.questions import Question
from bayes_assess.results import Result, make_result
from bayes_assess.sessions.counted import check_counts
from bayes_assess.sessions.course import Course, put_right
from bayes_assess.sessions.journal import Event
from bayes_assess.sessions.open_steps import OpenSteps
from bayes_assess.sessions.other_beliefs import said_of_few_draws
from bayes_assess.sessions.runs import PIECE, TELLING, Run, between_refreshes, pieces, read_run
from bayes_assess.sessions.snapshots import Snapshots
from bayes_assess.sessions.volunteered import said_of_chosen_labels

_MANY_MISSING = 0.1  # labels of batches that came back in part, per label, above which answers speak of them


class Campaign(Course):
    """What events have made of a pool and a design; sessions add what people call.

    Events are items that were asked for, with all that their choice has changed, labels that were told, with the names
    of annotators or without, items that were set aside or may be asked for again, and labels that were corrected or
    decided on. The same events lead to the same campaign, and a corrected label counts as if it had been told in the
    place of the wrong one: items that were chosen in between, and the probabilities with which they were drawn, stay as
    they were; all that follows from labels is computed anew.
    """

    @cached_property
    def _snapshots(self) -> Snapshots:
        return Snapshots(lasting=self._pool.in_memory)

    def _follow_others(self, events: Sequence[Event]) -> None:
        # What a corrected label has led to starts where it was told.
        if not self._events or self._corrections(events):
            self._restart([*self._events, *events])
        else:
            self._follow(events, self._record)
        self._events.extend(events)

    def _restart(self, events: Sequence[Event]) -> None:
        self._adopt(self._following(events, self._record, recorded=True))

    @property
    def _asked_by(self) -> str:
        """What is asked, and by which cells."""
        return f"{self.question.name} by {self._drawn_by}" if self._drawn_by else self.question.name

    @property
    def _drawn_by(self) -> str:
        """By what items differ of which more or fewer are drawn; cells of a measure alone are called as it is."""
        by = None if self.design.plays_arms else getattr(self.question, "by", None)
        of_cells = self.cells.description if self.cells.description != self.question.name else None
        return " and ".join(filter(None, [by, of_cells]))

    def _following(self, events: Sequence[Event], name: str, *, recorded: bool = False) -> Campaign:
        """Return another campaign on the same pool, at where these events have led."""
        campaign = type(self)(self._pool, self.question, self.design, self._setting, self._seed, self.engine)
        known, corrections = self._snapshots.restored(self, campaign, events), None
        for part in self._snapshots.stages(events, known) if recorded else [slice(known, None)]:
            corrections = self._corrections(events[known:]) if corrections is None else corrections
            campaign._follow(events[part], name, corrections)
            if recorded and part.stop is not None:
                self._snapshots.take(campaign, part.stop, self.journal)
        return campaign

    def _take_snapshot(self) -> None:
        if self.journal is None or not self.journal.closed:
            self._snapshots.take(self, len(self._events), self.journal)

    def _follow(self, events: Sequence[Event], name: str, right: Mapping[int, int] | None = None) -> None:
        """Bring the campaign to where further events have led; `name` says where they are from.

        `right` are the codes of labels that these and later events put right.
        """
        super()._follow(events, name, self._corrections(events) if right is None else right)
        self._check_agreement(name)

    def _parts(self, events: Sequence[Event]) -> Iterator[Sequence[Event]]:
        for run in super()._parts(events):
            yield from between_refreshes(run, self.design, self._state) if len(run) > 1 else [run]

    def _check_agreement(self, name: str) -> None:
        check_counts(self, name)

    @property
    def _followed_at_once(self) -> tuple[str, ...]:
        if self._rounds is not None or self.repeats_items:
            return ()
        return ("ask", *TELLING) if self.design.asks_commute else TELLING

    def _follow_at_once(self, events: Sequence[Event], right: Mapping[int, int]) -> bool:
        try:
            run = read_run(events, self._units.named, self._units.codes_in)
        except (BayesAssessError, LookupError, TypeError, ValueError):  # found again, and named, one by one
            return False
        if not run.in_order or not self._items.unseen(run.asked).all() or not self._items.open(run.told).all():
            return False
        further = run.further
        known = (self._items.label[further.items] >= 0) | np.isin(further.items, run.told)
        if not known.all() or self._annotators.have_told(further):
            return False
        unasked = self._items.unseen(run.told) & ~np.isin(run.told, run.asked)
        if unasked.any() and not self.design.asks_commute:
            return False
        self._hand_out_at_once(run, [event for event in events if event.kind == "ask"], run.told[unasked])
        codes = put_right(run.told, run.codes, right)
        self._annotators.record(run.said)
        if self._steps is not None and not self.design.settles_in_order:
            self._take_in_turn(run, codes, self._steps)
            return True
        for piece in pieces(len(run.told)):
            self._take(run.told[piece], codes[piece])
        return True

    def _take_in_turn(self, run: Run, codes: Int[np.ndarray, " n"], steps: OpenSteps) -> None:
        """Take labels of items that are out, and count steps as they were settled; those after them in the end."""
        cells = self._items.cells_of(run.told)
        outcomes = self.outcomes_of(run.told, codes)
        start = 0  # of the labels that are not learned yet
        for part in run.tells:
            steps.tell(run.told[part], outcomes[part])
            settled = steps.settle()
            if len(settled.cell) or part.stop - start >= PIECE or part.stop == len(codes):
                some = slice(start, part.stop)
                self._state = update_batch(self.design, self._state, cells[some], outcomes[some], settled)
                start = part.stop
        self._items.take_labels(run.told, codes)
        later = steps.later()
        if len(later.cell):
            self._state = settle_batch(self.design, self._state, later, last=False)

    def _hand_out_at_once(self, run: Run, asks: Sequence[Event], unasked: Int[np.ndarray, " n"]) -> None:
        """Hand out the items of these asks, and take over items that nobody asked for."""
        if not asks and not len(unasked):
            return
        state, cells = self._state, self._items.cells_of(run.asked)
        if asks:
            state = self.design.restore(refreshed(self.design, state), asks[-1].payload)
        for some in (cells, self._items.cells_of(unasked)):
            for piece in pieces(len(some)):
                state = reserve_batch(self.design, state, some[piece])
        alike = np.ones(len(cells))
        self._hand_out(run.asked, cells, Draw(alike, alike, 0 * alike), state)
        self._items.accept(unasked)

    def _follow_ask(self, units: Units, event: Event, right: Mapping[int, int]) -> bool:
        """Hand out items as they were; tell whether they could be."""
        if not self._items.drawable(units).all():
            return False
        alike = np.ones(len(units))
        draws = Draw(**{field: alike if self._steps is None else event.payload[field] for field in Draw._fields})
        cells = self._items.cells_of(units)
        state = self.design.restore(refreshed(self.design, self._state), event.payload)
        self._hand_out(units, cells, draws, reserve_batch(self.design, state, cells))
        return True

    def _follow_annotate(self, units: Units, event: Event, right: Mapping[int, int]) -> bool:
        """Learn first labels of named annotators and keep their further ones; tell whether they contradict none."""
        first, further = self._told_in(event.payload), self._told_in(event.payload["further"])
        if (self._items.label[units] >= 0).any():
            return False
        self._annotate(first, None, put_right(units, first.codes, right))
        before = [
            self._items.label[item] < 0 or name in self._annotators.of_item(item)
            for item, name in zip(further.items.tolist(), further.annotators.tolist(), strict=True)
        ]
        self._annotators.record(further)
        return not any(before)

    def _follow_correct(self, units: Units, event: Event, right: Mapping[int, int]) -> bool:
        """Tell whether there were labels to correct; they are right already."""
        self._annotators.settle(units, event.payload.get("rule"))  # which older journals do not have
        return bool((self._items.n_labels_of(units) == 1).all())

    _follow_resolve = _follow_correct

    def _follow_revise(self, units: Units, event: Event, right: Mapping[int, int]) -> bool:
        """Put labels of an annotator right, which count no more than they did; tell whether there were any."""
        own, counts = self._annotators.own(units, event.payload["annotator"])
        if (own < 0).any() or (counts != np.asarray(event.payload["counts"], bool)).any():
            return False
        annotators = np.full(len(units), event.payload["annotator"], object)
        self._annotators.record(ToldLabels(units, self._units.codes_in([event.payload]), annotators))
        return True

    def _told_in(self, entry: Mapping[str, Any]) -> ToldLabels:
        """Read labels with their annotators."""
        return ToldLabels(
            self._units.named(entry["ids"]), self._units.codes_in([entry]), np.array(entry["annotators"], object)
        )

    def _decided(self, kind: str, payload: Mapping[str, object]) -> Campaign:
        """Return the campaign as it would be if these labels had been told at once."""
        decision = Event(len(self._events) + 1, kind, "", dict(payload))
        return self._following([*self._events, decision], "this session")

    def rehearse(self) -> None:
        """Compile what the next label will need, while somebody reads the first item; nothing is learned from it.

        Examples
        --------
        >>> import bayes_assess as ba
        >>> a = ba.assess(ba.Pool(predictions=["cat", "dog"]), ba.GroupAccuracy())
        >>> queries = a.ask(1)
        >>> a.rehearse()
        >>> a.labels_used, a.n_pending
        (0, 1)
        """
        with self._turn:
            pending = self._items.awaited[:1]
            events = list(self._events)
        if not len(pending):
            return
        event = Event(len(events) + 1, "tell", "", self._units.any_recorded(pending))
        self._following([*events, event], "this session")

    def _answered(
        self,
        asked: Question,
        cells: Cells,
        prior: Belief,
        counts: Int[Array, "K O"],
        found: Mapping[str, object],
        *,
        level: float,
        skipped: Int[np.ndarray, " K"],
        design: str | None = None,
        notes: Sequence[str] = (),
        random: RandomLabels | None = None,
    ) -> Result:
        """Make the result of a question: what labels say of it, and how the campaign came by them.

        Parameters
        ----------
        asked, cells, prior
            The question, the groups of items that it is answered by, and what was believed of them.
        counts : (K, O) integers
            Labels of every cell by outcome.
        found : mapping
            Further fields of the result, what labels say.
        level : float
        skipped : (K,) integers
            Items set aside.
        design : str, optional
            The name of the design as which the labels count, the campaign's own by default.
        notes : sequence of str
            Sentences, which come before those on annotators.
        random : RandomLabels, optional
            Which labels are of random items of their cells.
        """
        few = said_of_few_draws(found, prior, counts, level)
        few = () if few and asked.settled(cells, np.asarray(counts)) else few
        chosen = said_of_chosen_labels(self, asked, prior, cells, np.asarray(counts), found, random)
        return make_result(
            question=asked,
            prior=prior,
            cells=cells,
            counts=np.asarray(counts),
            level=level,
            design=self.design.name if design is None else design,
            volunteered=self._items.n_volunteered * asked.labels_each,
            withdrawn=self._n_withdrawn * asked.labels_each,
            skipped=skipped,
            seed=self._seed,
            notes=(
                *chosen,
                *self._of_steps(asked),
                *few,
                *notes,
                *self._of_labels_missing(asked, cells, counts),
                *self._of_classes_unseen(asked, cells, counts),
                *self._annotators.said(),
            ),
            random=random,
            labelled_by=self._annotators.by_whom(),
            of_pool=asked.result_fields(self._pool),
            found={"known_alone": int(random.known.sum()), **found} if chosen and random is not None else found,
        )

    def _of_steps(self, asked: Question) -> tuple[str, ...]:
        """Say what rounding makes of predictions and labels that are numbers between steps."""
        step = self._pool.rounded_to
        said = "" if step is None or asked.numeric else asked.said_of_steps(step)
        return (said,) if said else ()

    def _of_labels_in_wait(self, labels_each: int) -> tuple[str, ...]:
        """Say for which items random labels wait, where they count in the order in which their items were asked for."""
        n = labels_each * self._steps.awaited() if self._steps is not None and self.design.settles_in_order else 0
        if not n or bool(self._state.complete):
            return ()
        wait = f"some wait for {plural(n, 'item')} that {'has' if n == 1 else 'have'} no label yet"
        them = "it" if n == 1 else "them"
        return (f"Random labels count in the order of asking, and {wait}: label, skip or release {them}.",)

    def _of_labels_missing(self, asked: Question, cells: Cells, counts: Int[Array, "K O"]) -> tuple[str, ...]:
        """Say how many labels of batches that came back in part are missing, where they are many.

        Whoever leaves out hard items, or tells the easy ones first, has chosen which labels there are.
        """
        book = self._items
        most = book.n_pending + sum(len(event.payload["ids"]) for event in self._events if event.kind == "release")
        if most <= _MANY_MISSING * book.n_labelled or asked.settled(cells, np.asarray(counts)):
            return ()
        asks = [np.asarray(event.payload["ids"]) for event in self._events if event.kind == "ask"]
        batch = np.repeat(np.arange(len(asks)), [len(ids) for ids in asks])
        items = self._units.named(np.concatenate(asks)) if asks else np.zeros(0, np.int64)
        out = ~np.isin(items, np.union1d(book.told[0], book.aside))
        in_part = np.isin(batch, np.intersect1d(batch[out], batch[~out]))
        missing = np.unique(items[out & in_part])
        n = asked.labels_each * len(missing)
        if n <= _MANY_MISSING * book.n_labelled * asked.labels_each:
            return ()
        n_back = asked.labels_each * int((~np.isin(missing, book.awaited)).sum())
        have, were, them = ("has", "was", "it") if n == 1 else ("have", "were", "them")
        back = f", {n_back:,} of them given back" if n_back < n else f", and {were} given back"
        back = back if n_back else ""
        return (
            f"{plural(n, 'item')} of batches that came back in part {have} no label yet{back}; the answer takes {them} "
            "to be like the others.",
        )

    def _of_classes_unseen(self, asked: Question, cells: Cells, counts: Int[Array, "K O"]) -> tuple[str, ...]:
        """Say what classes without a label so far are to the question, where it matters that there are none."""
        _, codes = self._items.told
        if not len(codes) or self._pool.multilabel or self._pool.exact is not None:
            return ()
        unseen = np.bincount(codes, minlength=self._pool.n_classes)[: self._pool.n_classes] == 0
        said = asked.said_of_classes(np.asarray(self._pool.classes)[unseen].tolist()) if unseen.any() else ""
        return (said,) if said and not asked.settled(cells, np.asarray(counts)) else ()

    @property
    def _n_withdrawn(self) -> int:
        """Labelled items that had been asked for, and were set aside or given back before their labels came."""
        if not self._items.n_volunteered or not any(event.kind in ("skip", "release") for event in self._events):
            return 0
        return int(self._items.volunteered(self._handed_out).sum())

    def _become(self, other: Campaign, kind: str, payload: Mapping[str, object]) -> None:
        """Record an event that makes another campaign of this one, and go on with that."""
        self._write(kind, payload)
        self._adopt(other)

    def _adopt(self, other: Campaign) -> None:
        self._state, self._items, self._steps, self._rounds = other._state, other._items, other._steps, other._rounds
        self._annotators = other._annotators
