"""Books of sessions: what has become of every unit, which is an item of a pool or a rank of a list."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from bayes_assess._tools.shapes import Bool
from bayes_assess.pool.units import Codes, Units


class Book(Protocol):
    """What has become of every unit."""

    @property
    def n_labelled(self) -> int:
        """Labels told so far."""
        ...

    @property
    def n_pending(self) -> int:
        """Units handed out and not labelled yet."""
        ...

    @property
    def n_skipped(self) -> int:
        """Units set aside."""
        ...

    @property
    def awaited(self) -> Units:
        """Units handed out and not labelled yet, in their order, as are the next two."""
        ...

    @property
    def aside(self) -> Units:
        """Units set aside."""
        ...

    @property
    def told(self) -> tuple[Units, Codes]:
        """Units with a label, and the codes of these."""
        ...

    def codes_of(self, units: Units, /) -> Codes:
        """Return the codes of the labels of units, negative where there is none."""
        ...

    def skip(self, units: Units, /) -> object:
        """Set units aside that are pending or unseen."""
        ...

    def put_back(self, units: Units, /) -> object:
        """Let units be handed out again that are pending or set aside."""
        ...

    def unseen(self, units: Units, /) -> Bool[np.ndarray, " n"]:
        """Whether units are neither labelled nor handed out nor set aside."""
        ...

    def is_skipped(self, units: Units, /) -> Bool[np.ndarray, " n"]:
        """Whether units were set aside."""
        ...
