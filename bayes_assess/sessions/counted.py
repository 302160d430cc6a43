"""Items of a campaign as its design has counted them, held against what has become of them."""

from __future__ import annotations

import numpy as np

from bayes_assess.errors import JournalError
from bayes_assess.sessions.course import Course


def check_counts(campaign: Course, name: str) -> None:
    """Raise JournalError unless the design has counted every item as what has become of it; `name` says by what."""
    items, state, cells = campaign._items, campaign._state, campaign.cells
    (labelled, codes), (pending, _) = items.told, items.out
    counts = np.zeros(state.counts.shape, np.int64)
    np.add.at(counts, (items.cells_of(labelled), campaign.outcomes_of(labelled, codes)), 1)
    pending = np.bincount(items.cells_of(pending), minlength=cells.n_cells) + campaign._kept_aside
    for what, counted, actual in (
        ("labels", state.counts, counts),
        ("pending items", state.pending, pending),
        ("remaining items", state.remaining, np.where(campaign._playable, items.remaining, 0)),
    ):
        wrong = np.argwhere(np.asarray(counted) != actual)
        if len(wrong):
            raise JournalError(
                f"{name[0].upper()}{name[1:]} contradicts itself: its entries count other {what} in the group "
                f"{str(cells.names[wrong[0, 0]])!r} than its items have. It was changed by hand or by another "
                "release; start a new one."
            )
