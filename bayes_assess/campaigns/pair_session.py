"""The session on a pool of pairs, which `PairedAssessment` shows as one on their halves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain, groupby
from typing import Any

import numpy as np

from bayes_assess._tools.arrays import show
from bayes_assess._tools.shapes import Int
from bayes_assess.campaigns.assessment import Assessment
from bayes_assess.campaigns.journal import Event
from bayes_assess.errors import JournalError, LabelError
from bayes_assess.pool.pairs import PairPool
from bayes_assess.pool.pool import Pool


class PairSession(Assessment):
    """The session on a pool of pairs, which keeps the labels of the halves beside their differences.

    Attributes
    ----------
    told : dict
        Codes of the labels of both halves, by pair.
    """

    def __init__(self, pool: PairPool, *args: Any):
        self.told: dict[int, tuple[int, ...]] = {}
        self._now: Int[np.ndarray, "p 2"] | None = None  # those that are being told
        super().__init__(pool, *args)

    def tell_halves(self, pairs: Int[np.ndarray, " p"], both: Int[np.ndarray, "p 2"]) -> None:
        """Tell the labels of both halves of pairs; those that were told alike before are passed over."""
        space = self._whole.label_space
        for pair, codes in zip(pairs.tolist(), both.tolist(), strict=True):
            if self.told.get(pair, tuple(codes)) != tuple(codes):
                names = space.names([list(self.told[pair]), codes]).tolist()
                before, now = (", ".join(map(show, one)) for one in names)
                raise LabelError(
                    f"The halves of pair {show(self.pool.ids[pair])} are already labelled {before}, and {now} "
                    "contradicts that. Nothing was taken: leave the pair out, or correct its labels."
                )
        new = self._untold(pairs)
        self._with(pairs[new], both[new], self.tell)

    def correct_halves(self, pairs: Int[np.ndarray, " p"], both: Int[np.ndarray, "p 2"]) -> None:
        """Put the labels of halves right; pairs whose difference stays are written down, too."""
        same = self._items.label[pairs] == self._codes(both)
        if same.any():  # nothing changes but what is kept of the halves
            names = self._names(both[same])
            self._write("correct", {**self._payload(pairs[same], both[same]), "halves": names})
            self._keep(pairs[same], both[same])
        self._with(pairs[~same], both[~same], self.correct)

    @property
    def _whole(self) -> Pool:
        pool: Any = self.pool
        return pool.whole

    def _with(self, pairs: np.ndarray, both: np.ndarray, act: Any) -> None:
        if len(pairs):
            self._now = both
            try:
                act(*self._payload(pairs, both).values())
            finally:
                self._now = None
            self._keep(pairs, both)

    def _payload(self, pairs: np.ndarray, both: np.ndarray) -> dict[str, np.ndarray]:
        return {"ids": self.pool.ids[pairs], "labels": self.pool.label_space.names(self._codes(both))}

    def _codes(self, both: Int[np.ndarray, "p 2"]) -> Int[np.ndarray, " p"]:
        pool: Any = self.pool
        return pool.place[both[:, 0], both[:, 1]]

    def _names(self, both: Int[np.ndarray, "p 2"]) -> list[list[Any]]:
        return self._whole.label_space.names(both).tolist()

    def _untold(self, pairs: Int[np.ndarray, " p"]) -> np.ndarray:
        return np.array([pair not in self.told for pair in pairs.tolist()], bool)

    def _keep(self, pairs: np.ndarray, both: np.ndarray) -> None:
        self.told |= {pair: tuple(codes) for pair, codes in zip(pairs.tolist(), both.tolist(), strict=True)}

    def _write(self, kind: str, payload: Mapping[str, Any]) -> None:
        halves = {} if self._now is None else {"halves": self._names(self._now)}
        super()._write(kind, {**payload, **halves})

    def _follow(self, events: Sequence[Event], name: str, right: Mapping[int, int] | None = None) -> None:
        super()._follow(events, name, right)
        self._keep_all(events)

    def _restart(self, events: Sequence[Event]) -> None:
        super()._restart(events)
        self.told = {}
        self._keep_all(events)

    def _keep_all(self, events: Sequence[Event]) -> None:
        """Take the halves' labels from events."""
        for kind, run in groupby(events, lambda event: event.kind):
            if kind not in ("tell", "correct"):
                continue
            entries = [event.payload for event in run]
            if not all("halves" in entry for entry in entries):
                raise JournalError(
                    f"Labels in {self._record} lack those of the halves of their pairs; it was changed by hand or by "
                    "another release. Go back to an older copy, or start a new one."
                )
            pairs = self.pool.positions([name for entry in entries for name in entry["ids"]])
            both = self._whole.label_codes([code for entry in entries for code in chain(*entry["halves"])])
            self._keep(pairs, both.reshape(-1, 2))
