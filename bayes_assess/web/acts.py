"""What the page asks of its desk, by name: the same for a server and for a notebook."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from typing import Any

from bayes_assess._tools.shapes import Json
from bayes_assess._tools.strict_json import plain
from bayes_assess.web.desk import Desk
from bayes_assess.web.standing import standing

ANSWERING = frozenset(("answer", "skip", "decide"))  # after which the answer so far is another one


class UnknownActError(ValueError):
    """What was sent is nothing that the page sends."""


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
    >>> found = acts.do("answer", {"person": "p", "key": first["key"], "answers": [0]})
    >>> found["counts"]["used"]
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
        BayesAssessError
            If an answer cannot be taken.
        """
        desk = self.desk
        found: dict[str, object] = {}
        try:
            name = sent.get("name")
            name = str(name).strip()[:80] or None if name is not None else None
            person = name or f"#{str(sent['person'])[:200]}"
            have = {str(key) for key in sent.get("have") or ()}
            key, note = str(sent.get("key")), str(sent.get("note") or "")
            answers: list[Json] = list(sent.get("answers") or ())
        except (LookupError, TypeError, AttributeError):
            raise UnknownActError(act) from None
        if act == "decisions":
            return plain({"decisions": desk.decisions()})
        if act == "decide":
            return plain({"decisions": desk.decide(key, answers)})
        if act == "open" or not desk.has_seat(person):  # whose server was started anew
            found = desk.opened(person, name)
        if act == "open":
            found |= {"title": self.title, "campaign": self._campaign, "show_answer": self.show_answer, "name": name}
        elif act == "next":
            found = desk.next(person, have)
        elif act == "answer":
            found = desk.answer(person, key, answers, note, have)
        elif act == "skip":
            found = desk.skip(person, key, note, have)
        else:
            raise UnknownActError(act)
        return plain(found)

    def look(self) -> dict[str, Json]:
        """Return the answer so far with how it has come about, as plain values for JSON."""
        found = standing(self.desk.session, *self._goal)
        if found["estimate"] is not None:
            point: list[Json] = [found["labels"], found["estimate"], found["interval"], found["second"]]
            if self._path and self._path[-1][0] == point[0]:
                self._path.pop()
            self._path.append(point)
        return plain({**found, "path": self._path, "counts": self.desk.counts(), "agreement": self.desk.agreement()})
