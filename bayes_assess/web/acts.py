"""What the page asks of its desk, by name: the same for a server and for a notebook."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from typing import Any

from bayes_assess._tools.shapes import Json
from bayes_assess._tools.strict_json import plain
from bayes_assess.errors import EngineError, JournalError
from bayes_assess.web.desk import Desk
from bayes_assess.web.standing import standing

_ACTS = frozenset(("open", "next", "answer", "skip", "decide", "decisions"))
ANSWERING = frozenset(("answer", "skip", "decide"))  # after which the answer so far is another one
AWAY = (JournalError, EngineError)  # which are no fault of what was sent: it may be taken later


class UnknownActError(ValueError):
    """What was sent is nothing that the page sends."""


class AnotherCampaignError(ValueError):
    """What was sent belongs to a campaign that was served at this address before."""


class Acts:
    """The acts of a page.

    Parameters
    ----------
    desk : Desk
    title : str
    show_answer : bool
        Whether the answer so far can be seen.
    width, level : float, optional
        See `standing`.

    Examples
    --------
    >>> import bayes_assess as ba
    >>> acts = Acts(Desk(ba.assess(ba.Pool(predictions=["cat", "dog"]), ba.GroupAccuracy())))
    >>> first = acts.do("open", {"person": "p"})["open"][0]
    >>> state = acts.do("answer", {"person": "p", "key": first["key"], "answers": [0]})
    >>> state["counts"]["used"]
    1
    """

    def __init__(
        self,
        desk: Desk,
        *,
        title: str = "",
        show_answer: bool = False,
        width: float | None = None,
        level: float | None = None,
    ):
        self.desk, self.title, self.show_answer = desk, title, show_answer
        journal = desk.session.journal
        self._campaign = secrets.token_hex(8) if journal is None else journal.identity
        self._goal = width, level
        self._path: list[list[Json]] = []  # labels, estimate and intervals as they came

    def do(self, act: str, sent: Mapping[str, Any]) -> dict[str, Json]:
        """Do what the page asks for, and return what it is to know, as plain values for JSON.

        Raises
        ------
        UnknownActError
            If the page does not send such things.
        AnotherCampaignError
            If a page is open that came from another campaign's server: items are called alike in many.
        BayesAssessError
            If an answer cannot be taken.
        """
        desk = self.desk
        if act not in _ACTS:
            raise UnknownActError(act)
        try:
            name = sent.get("name")
            name = str(name).strip()[:80] or None if name is not None else None
            person = name or f" #{str(sent['person'])[:200]}"  # no name begins with a blank
            have = {str(key) for key in sent.get("have") or ()}
            key, note = str(sent.get("key")), str(sent.get("note") or "")
            answers: list[Json] = list(sent.get("answers") or ())
            campaign = sent.get("campaign")
            for text in (person, key, note):
                text.encode()  # halves of characters, which JSON can hold, could not be written anywhere
        except (LookupError, TypeError, AttributeError, UnicodeError):
            raise UnknownActError(act) from None
        if not self.is_of(campaign):
            raise AnotherCampaignError
        if act == "decisions":
            return plain({"decisions": desk.decisions()})
        if act == "decide":
            return plain({"decisions": desk.decide(key, answers)})
        if act == "open":
            state = desk.opened(person, name)
            about = {"title": self.title, "campaign": self._campaign, "show_answer": self.show_answer, "name": name}
            return plain({**state, **about})
        desk.seat(person, name)  # the server may have been started anew
        if act == "next":
            return plain(desk.next(person, have))
        if act == "answer":
            return plain(desk.answer(person, key, answers, note, have))
        return plain(desk.skip(person, key, note, have))

    def is_of(self, campaign: Json) -> bool:
        """Tell whether a page is of this campaign; one that asks for the first time does not know of which it is."""
        return campaign is None or campaign == self._campaign

    def look(self) -> dict[str, Json]:
        """Return the answer so far with how it has come about, as plain values for JSON."""
        answer = standing(self.desk.session, *self._goal)
        if answer["estimate"] is not None:
            point: list[Json] = [answer["labels"], answer["estimate"], answer["interval"], answer["second"]]
            if self._path and self._path[-1][0] == point[0]:
                self._path.pop()
            self._path.append(point)
        return plain({**answer, "path": self._path, "counts": self.desk.counts(), "agreement": self.desk.agreement()})
