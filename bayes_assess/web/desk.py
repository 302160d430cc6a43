"""The desk: hands the items of one session to people, one after the other, and takes their answers.

Every person has a few items open, the one on the screen and those after it, which are pending in the session and are
handed to nobody else. They are chosen while the person reads. Whoever stays away for a while gives them back.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Collection, Hashable, Sequence

from bayes_assess._tools.arrays import is_share, show
from bayes_assess._tools.shapes import Json
from bayes_assess._tools.text import plural
from bayes_assess.books.annotators import UNNAMED, AtPage, annotator_names
from bayes_assess.errors import BayesAssessError, BudgetError, LabelError
from bayes_assess.sessions.session import AnySession
from bayes_assess.web.cards import AnswerKind, Pictures, Unit, units_of
from bayes_assess.web.history import History
from bayes_assess.web.seats import RECENT, GivenAnswer, Seat

AHEAD = 3  # items that a person has open: one to read, two that follow at once
PATIENCE = 1800.0  # seconds until the items of somebody who is away are given to others
_LONGEST_NOTE = 2000  # characters


class Desk:
    """The items of a session, handed out one after the other.

    It may be used from several threads: whoever comes first is served first.

    Parameters
    ----------
    session : Session
    pictures : Pictures
        Where pictures may come from.
    overlap : float in [0, 1]
        Share of the items that two people label, of those who gave their names; 1 is all of them.
    patience : float
        Seconds until the items of somebody who is away are given to others.
    clock : function
        Returns seconds.

    Raises
    ------
    LabelError
        If `overlap` is no share, the session keeps one label of every item, or its items may be asked again.

    Examples
    --------
    >>> import bayes_assess as ba
    >>> a = ba.assess(ba.Pool(predictions=["cat", "dog"] * 3, show={"text": list("abcdef")}), ba.GroupAccuracy())
    >>> desk = Desk(a)
    >>> first, *_ = desk.opened("anna")["open"]
    >>> state = desk.answer("anna", first["key"], [1])
    >>> a.labels_used, len(state["open"]), state["recent"][-1]["answers"]
    (1, 3, [1])
    """

    def __init__(
        self,
        session: AnySession,
        *,
        pictures: Pictures | None = None,
        overlap: float = 0.0,
        patience: float = PATIENCE,
        clock: Callable[[], float] = time.monotonic,
    ):
        if overlap not in (0, 1) and not is_share(overlap):
            raise LabelError(f"The share of items that two people label lies between 0 and 1; found {show(overlap)}.")
        if overlap and session.one_annotator:
            session.disagreements()  # which says why
        if session.repeats_items:
            raise LabelError(
                "The page asks for every item once, and with a stochastic oracle an item may be asked again; hand out "
                "sheets instead."
            )
        self.session = session
        self.overlap = float(overlap)
        self.lock = threading.RLock()
        self.kind = AnswerKind(session.pool.label_space, session.pool.prediction_counts())
        self._pictures = pictures or Pictures()
        self._patience, self._clock = patience, clock
        self._one = session.one_annotator
        self._seats: dict[str, Seat] = {}
        self._history = History(session, self.overlap)
        self._orphans = self._history.awaited()  # open on the page before the desk was opened
        self._since = clock()

    def opened(self, person: str, name: str | None = None) -> dict[str, object]:
        """Let somebody begin, or come back: what there is to label, and the latest answers.

        Parameters
        ----------
        person : str
            Whom items belong to: a name, or what tells a browser from others.
        name : str, optional
            By which labels are told.

        Raises
        ------
        LabelError
            If nobody can be called so.
        """
        with self.lock:
            seat = self._seat(person, self._called(person, name))
            return {
                "answer": self.kind.spec,
                "paired": self.session.question.labels_each == 2,
                "names_wanted": bool(self.overlap) and seat.name is None,
                **self._state(seat, []),
            }

    def seat(self, person: str, name: str | None = None) -> None:
        """Give somebody a seat who has none; nothing is asked for until there is something to say in return.

        Parameters
        ----------
        person, name : str
            As of `opened`.

        Raises
        ------
        LabelError
            If nobody can be called so.
        """
        with self.lock:
            if person not in self._seats:
                self._seat(person, self._called(person, name))

    def prepare(self) -> None:
        """Choose the first items before anybody is there."""
        with self.lock:
            if not self._seats and not self._orphans.get(UNNAMED):
                seat = Seat(None)
                with contextlib.suppress(BayesAssessError):  # whoever opens the page is told
                    self._ask(seat, AHEAD)
                self._orphans[UNNAMED] = [unit.ids[0] for unit in seat.open.values()]

    def rehearse(self) -> None:
        """Compile what the first label will need, while its item is read; the desk is open meanwhile."""
        with contextlib.suppress(BayesAssessError):
            self.session.rehearse()

    def next(self, person: str, have: Collection[str] = ()) -> dict[str, object]:
        """Return what somebody has open; cards that the page has are left out."""
        with self.lock:
            return self._state(self._seat(person), have)

    def answer(
        self, person: str, key: str, answers: list[Json], note: str = "", have: Collection[str] = ()
    ) -> dict[str, object]:
        """Take an answer, or another one in the place of an earlier one, and say what comes next.

        Parameters
        ----------
        person : str
        key : str
            Of the unit.
        answers : list
            For every side that is shown, as `AnswerKind` has them.
        note : str
            What the person has to say about the item.
        have : list of str
            Cards that the page has.

        Raises
        ------
        LabelError
            If it is no answer, or contradicts what others have told; nothing is taken then.
        UnknownIdError
            If there is no such unit.
        """
        with self.lock:
            seat, unit = self._found(person, key)
            if len(answers) != len(unit.ids):
                raise LabelError(
                    f"A label is wanted of {plural(len(unit.ids), 'item')}; found {plural(len(answers), 'answer')}."
                )
            labels: list[Hashable] = [None] * len(unit.ids)
            for side, answer in zip(unit.order, answers, strict=True):
                labels[side] = self.kind.label(answer)
            note = _checked_note(note)
            self._tell(seat, unit, labels)
            self._note(seat, unit, note)
            seat.gave(GivenAnswer(unit, answers))
            self._follow()  # or an item that awaited this label would be handed out once more
            return self._state(seat, have)

    def skip(self, person: str, key: str, note: str = "", have: Collection[str] = ()) -> dict[str, object]:
        """Set a unit aside that nobody can label, and say what comes next."""
        with self.lock:
            seat, unit = self._found(person, key)
            note = _checked_note(note)
            names = self._history.told_by(unit.ids[0])
            if (seat.name or UNNAMED) in names:
                raise LabelError("A label that was told can be changed, not taken back; choose another one.")
            if not names:
                self.session.skip(list(unit.ids))
            self._note(seat, unit, note, unsure=bool(names))  # where somebody else could
            self._history.follow()
            seat.gave(GivenAnswer(unit, None))
            return self._state(seat, have)

    def decisions(self) -> list[dict[str, object]]:
        """Return the items on which annotators differ and nobody has decided, with what everybody said."""
        with self.lock:
            if self._one or not self.session.n_disagreements:
                return []
            items = self.session.disagreements()
            units = units_of(self.session, items.ids, self._pictures)
            said = [
                [{"name": name, "answer": self.kind.answer(labels[at])} for name, labels in items.labels.items()]
                for at in range(len(units))
            ]
            return [
                {**unit.card(), "said": [entry for entry in all_said if entry["answer"] is not None]}
                for unit, all_said in zip(units, said, strict=True)
            ]

    def decide(self, key: str, answers: list[Json]) -> list[dict[str, object]]:
        """Decide on an item about which annotators differ; return those that are left."""
        if len(answers) != 1:
            raise LabelError(f"One label decides; found {len(answers)} answers.")
        with self.lock:
            self.session.resolve([self._history.id_of(key)], [self.kind.label(answers[0])])
            return self.decisions()

    def counts(self) -> dict[str, object]:
        """Return how far the campaign is, for everybody to see."""
        with self.lock:
            session = self.session
            return {
                "used": session.labels_used,
                "skipped": session.n_skipped,
                "items": session.pool.n_items,
                "to_decide": 0 if self._one else session.n_disagreements,
            }

    def agreement(self) -> str | None:
        """Say how far annotators agree; None where no two have labelled the same item."""
        with self.lock:
            try:
                agreement = None if self._one else self.session.agreement()
            except LabelError:  # no item has two labels
                agreement = None
            if agreement is None:
                return None
            several = plural(agreement.n_items, "item")
            return f"Annotators agree in {agreement.raw:.0%} of the labels of {several} that several have labelled."

    def _called(self, person: str, name: str | None) -> str | None:
        """Return the name of somebody new as labels have it, or raise LabelError."""
        if name is None or person in self._seats:
            return name
        return str(annotator_names(name, 1, self.session.pool.show or ())[0])

    def _seat(self, person: str, name: str | None = None) -> Seat:
        """Return somebody's seat; it is taken when there is none."""
        seat = self._seats.get(person)
        if seat is not None:  # back before others have been given the items
            seat.seen = self._clock()
        self._follow()
        if seat is None:
            seat = self._seats[person] = Seat(name, seen=self._clock())
            known = name is not None or all(
                other.name is not None for other in self._seats.values() if other is not seat
            )
            given = self._history.latest(name or UNNAMED, RECENT) if known else []
            units = units_of(self.session, [i for ids, _ in given for i in ids], self._pictures) if given else []
            for unit, (_, labels) in zip(units, given, strict=True):
                said = None if labels is None else [self.kind.answer(labels[side]) for side in unit.order]
                seat.recent[unit.key] = GivenAnswer(unit, said)
        return seat

    def _found(self, person: str, key: str) -> tuple[Seat, Unit]:
        seat = self._seat(person)
        if key in seat.open:
            return seat, seat.open[key]
        if key in seat.recent:
            return seat, seat.recent[key].unit
        return seat, units_of(self.session, self._history.unit(self._history.id_of(key)), self._pictures)[0]

    def _state(self, seat: Seat, have: Collection[str]) -> dict[str, object]:
        waiting = self._fill(seat)
        cards = [unit.card() if key not in have else {"key": key} for key, unit in seat.open.items()]
        return {
            "open": cards,
            "recent": [answer.plain() if key not in have else {"key": key} for key, answer in seat.recent.items()],
            "waiting": waiting,
            "others": not seat.open and self._others_have(),  # for whom the page waits
            "counts": self.counts(),
        }

    def _fill(self, seat: Seat) -> str:
        """Hand items out until enough are open; say why there are none."""
        if self.overlap and seat.name is None:
            return "Say who you are: some items are labelled by two people."
        self._give_second(seat)
        self._give_orphans(seat)
        lacking = AHEAD - len(seat.open)
        said = ""
        if lacking > 0:
            try:
                self._ask(seat, lacking)
            except BudgetError as error:
                said = str(error)
        if seat.open:
            return ""
        if self._others_have():
            return said or "All other items are with others; wait until they are back."
        return said or "Nothing is left to label."

    def _others_have(self) -> bool:
        """Tell whether somebody has items that may come back."""
        return bool(self.session.n_pending) or any(other.open for other in self._seats.values())

    def _ask(self, seat: Seat, n: int) -> None:
        session, each = self.session, self.session.question.labels_each
        ranked = session.pool.is_ranked
        n = n if ranked else min(n, session.n_remaining // each)
        if n <= 0 or (ranked and session.done):
            return
        whom = AtPage(seat.name or UNNAMED)
        queries = session.ask(n * each, annotator=whom)
        while not len(queries) and session.design.random_size:  # whose batches may be empty
            queries = session.ask(n * each, annotator=whom)
        for unit in units_of(session, queries.ids, self._pictures):
            seat.open[unit.key] = unit

    def _give_second(self, seat: Seat) -> None:
        """Open an item that another person has labelled, where it is due."""
        if not self.overlap or any(unit.ids[0] in self._history.second for unit in seat.open.values()):
            return
        for id, name in self._history.second.items():
            taken = any(str(id) in other.open for other in self._seats.values())
            if name != seat.name and not taken:
                unit = units_of(self.session, [id], self._pictures)[0]
                seat.open[unit.key] = unit
                return

    def _give_orphans(self, seat: Seat) -> None:
        """Open items that the person, or somebody without a name, had before a restart, or that nobody has had yet."""
        for name in dict.fromkeys((seat.name or UNNAMED, UNNAMED)):
            waiting = self._orphans.get(name, [])
            pending = set(self.session.pending.tolist()) if waiting else set()
            while waiting and len(seat.open) < AHEAD:
                ids = self._history.unit(waiting.pop(0))
                if ids[0] in pending:  # and was not answered this moment
                    for unit in units_of(self.session, ids, self._pictures):
                        seat.open[unit.key] = unit

    def _follow(self) -> None:
        """Take note of what others wrote to the journal, and of who is away for too long."""
        self.session.catch_up()
        news = self._history.follow()
        now = self._clock()
        if news:
            pending = set(map(str, self.session.pending.tolist()))
            for seat in self._seats.values():
                for key in [key for key, unit in seat.open.items() if not self._still(unit, pending)]:
                    del seat.open[key]
            for name, ids in self._orphans.items():
                self._orphans[name] = [id for id in ids if str(self._history.unit(id)[0]) in pending]
        for seat in self._seats.values():
            if seat.open and now - seat.seen > self._patience:
                self._release([id for unit in seat.open.values() for id in unit.ids])
                seat.open.clear()
        if self._orphans and now - self._since > self._patience:
            self._release([id for ids in self._orphans.values() for orphan in ids for id in self._history.unit(orphan)])
            self._orphans = {}

    def _still(self, unit: Unit, pending: set[str]) -> bool:
        return unit.key in pending or unit.ids[0] in self._history.second

    def _release(self, ids: Sequence[Hashable]) -> None:
        pending = set(self.session.pending.tolist())
        ids = [id for id in ids if id in pending]
        if ids:
            self.session.release(ids)

    def _tell(self, seat: Seat, unit: Unit, labels: list[Hashable]) -> None:
        """Tell labels, or put right what the person has told before."""
        ids, who = list(unit.ids), {} if self._one or seat.name is None else {"annotator": seat.name}
        names = self._history.told_by(unit.ids[0])
        mine = UNNAMED if self._one or seat.name is None else seat.name
        if mine in names and (mine != UNNAMED or unit.key in seat.recent):
            self.session.correct(ids, labels, **who)
        else:
            self.session.tell(ids, labels, **who)

    def _note(self, seat: Seat, unit: Unit, note: str, *, unsure: bool = False) -> None:
        if note or unsure:
            self.session.note(unit.ids[0], note, annotator=seat.name, unsure=unsure)


def _checked_note(note: str) -> str:
    """Return a note without blanks at its ends, or raise LabelError if it is too long."""
    text = str(note).strip()
    if len(text) > _LONGEST_NOTE:
        raise LabelError(f"A note has at most {_LONGEST_NOTE:,} characters; found {len(text):,}.")
    return text
