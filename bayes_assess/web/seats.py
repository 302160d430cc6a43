"""People at the labelling desk: what each has open, and what each has answered last."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field
from typing import NamedTuple

from bayes_assess._tools.shapes import Json
from bayes_assess.web.cards import Unit

RECENT = 10  # answers that can be changed


class GivenAnswer(NamedTuple):
    """An answer that somebody gave: one per side of the unit, or None where nobody can say."""

    unit: Unit
    answers: list[Json] | None

    def plain(self) -> dict[str, object]:
        """Return it as the page takes it."""
        return {**self.unit.card(), "answers": self.answers}


@dataclass
class Seat:
    """A person at the desk.

    Attributes
    ----------
    name : str or None
        By which labels are told; None where people are not told apart.
    open : dict of Unit
        By key, in the order in which they are to be labelled.
    recent : dict of GivenAnswer
        By key, the latest last.
    seen : float
        When the person was last heard of.
    """

    name: str | None
    open: OrderedDict[str, Unit] = field(default_factory=OrderedDict)
    recent: OrderedDict[str, GivenAnswer] = field(default_factory=OrderedDict)
    seen: float = 0.0

    def gave(self, given: GivenAnswer) -> None:
        """Keep an answer, the latest last, of a unit that is open no more."""
        self.open.pop(given.unit.key, None)
        self.recent.pop(given.unit.key, None)
        self.recent[given.unit.key] = given
        while len(self.recent) > RECENT:
            self.recent.popitem(last=False)
