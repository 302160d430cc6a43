"""Asks that were recorded and never took effect: whoever was interrupted in between asked for the same items again."""

from __future__ import annotations

from collections.abc import Sequence

from bayes_assess.campaigns.journal import Event


def without_lost_asks(events: Sequence[Event]) -> list[Event]:
    """Leave out asks some of whose items are asked for again while nothing has become of any of them.

    Nobody was handed the items of such an ask, and whoever asked again did not know of it, nor what follows.

    Examples
    --------
    >>> lost, again, told = {"ids": [4, 2, 7]}, {"ids": [4, 2]}, {"ids": [2], "labels": ["cat"]}
    >>> kinds = [("ask", lost), ("ask", again), ("tell", told)]
    >>> events = [Event(i, kind, "", payload) for i, (kind, payload) in enumerate(kinds, 1)]
    >>> [event.sequence for event in without_lost_asks(events)]
    [2, 3]
    """
    asked_in: dict[object, int] = {}  # place of the ask of items that nothing has become of
    touched: set[int] = set()
    lost: set[int] = set()
    for place, event in enumerate(events):
        ids = event.payload.get("ids", [])
        before = {asked_in.pop(name) for name in ids if name in asked_in}
        if event.kind == "ask":
            lost |= before - touched
            asked_in |= dict.fromkeys(ids, place)
        else:
            touched |= before
    return [event for place, event in enumerate(events) if place not in lost]
