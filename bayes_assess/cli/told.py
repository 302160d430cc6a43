"""Sheets of labels as the commands read them, held against what was told before."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from bayes_assess._tools.arrays import show
from bayes_assess._tools.shapes import Bool
from bayes_assess._tools.text import plural
from bayes_assess.errors import LabelError
from bayes_assess.pool.pool import Pool
from bayes_assess.sessions.exchange.exports import is_export
from bayes_assess.sessions.exchange.sheets import Sheet, read_sheet

if TYPE_CHECKING:
    from bayes_assess.sessions.session import AnySession
    from bayes_assess.web.history import History


def named(annotator: str | None) -> str | None:
    """Return the name that an option says, None where it is left out; raise LabelError if it is empty.

    Examples
    --------
    >>> named(" anna "), named(None)
    ('anna', None)
    """
    if annotator is not None and not annotator.strip():
        raise LabelError(
            "--annotator takes a name, such as --annotator anna; found an empty one. Leave it out for none."
        )
    return None if annotator is None else annotator.strip()


def read_told(
    assessment: AnySession,
    path: Path,
    id: str,
    label: str,
    unsure: list[str],
    annotator: str | None = None,
) -> Sheet:
    """Read a sheet of labels; those of nobody in particular do not contradict those that were told.

    `annotator` is who gave the labels of rows that do not say so in a column ``annotator``. Items that somebody has
    labelled are not set aside because another annotator is unsure, which a note says; who has labelled an item cannot
    be unsure of it.
    """
    pool, unknown = assessment.labellable, assessment.unknown_id
    known, told_by = _known(assessment, pool), _ToldBy(assessment, pool)

    def check(item: int, name: str | None, who: str) -> str | None:
        before, who = known.get(item), who or annotator or ""
        if before is None or before == name or (who and (name is not None or not told_by(item, who))):
            return None
        if who:
            return (
                f"was already labelled by {show(who)}, and being unsure contradicts that; a label is put right by "
                "`correct`, but not taken back"
            )
        now = "being unsure" if name is None else repr(name)
        return f"is already labelled {before!r}, and {now} contradicts that; labels are put right by `correct`"

    repeated = assessment.repeats_items
    # Tools always name annotators; sessions that keep one label of every item take those on which they agree.
    single = is_export(path) and assessment.one_annotator
    who = None if single else "annotator"
    sheet = read_sheet(path, pool, id, label, unsure, None if repeated else check, unknown, who, repeated)
    open_ = [item not in known for item in pool.positions(sheet.unsure).tolist()] if len(sheet.unsure) else []
    names = np.where(sheet.annotators == "", annotator or "", sheet.annotators)
    n_labelled = len(open_) - sum(open_)
    notes = [f"Did not set {plural(n_labelled, 'item')} aside that others have labelled."] if n_labelled else []
    notes = [*sheet.notes, *notes]
    sheet = sheet._replace(unsure=sheet.unsure[np.array(open_, bool)], annotators=names, notes=notes)
    return _of_whole_pairs(assessment, sheet, known) if assessment.question.labels_each > 1 else sheet


def _of_whole_pairs(assessment: AnySession, sheet: Sheet, known: dict[int, str]) -> Sheet:
    """Leave out labels of one half of a pair, the other of which nobody can label, or has labelled yet."""
    lost = np.isin(sheet.ids, assessment.labelled_with(sheet.unsure)) if len(sheet.unsure) else np.zeros(0, bool)
    if lost.any():
        sheet = _without(sheet, lost, "of which nobody can label the other half.")
    if not len(sheet.ids):
        return sheet
    pairs, who = assessment.labelled_with(sheet.ids), sheet.annotators.tolist()
    positions = assessment.labellable.positions(pairs.ravel()).reshape(pairs.shape)
    given = set(zip(who, assessment.labellable.positions(sheet.ids).tolist(), strict=True))
    both = zip(who, positions.tolist(), strict=True)
    single = np.array([any((name, item) not in given and item not in known for item in pair) for name, pair in both])
    if single.any():
        sheet = _without(sheet, single, "whose other half has none yet; fill it in and tell the sheet again.")
    return sheet


def _without(sheet: Sheet, rows: Bool[np.ndarray, " n"], why: str) -> Sheet:
    """Leave labels of pairs out, and say why."""
    note = f"Left out {plural(int(rows.sum()), 'label')} of pairs {why}"
    columns = {column: getattr(sheet, column)[~rows] for column in ("ids", "labels", "annotators")}
    return sheet._replace(**columns, notes=[*sheet.notes, note])


def read_corrections(assessment: AnySession, path: Path, id: str, label: str, annotator: str | None = None) -> Sheet:
    """Read a sheet of labels of items that have one, by the annotator who is named, if one is."""
    pool, unknown = assessment.labellable, assessment.unknown_id
    known, told_by = _known(assessment, pool), _ToldBy(assessment, pool)

    def check(item: int, name: str | None, who: str) -> str | None:
        if item not in known:
            return "has no label that could be corrected; labels are told by `tell`"
        if annotator is None or assessment.one_annotator or told_by(item, annotator):
            return None
        return (
            f"has no label by {show(annotator)} that could be corrected; labels are told by `tell`, and the one that "
            "counts is put right without --annotator"
        )

    return read_sheet(path, pool, id, label, check=check, unknown=unknown)


def _known(assessment: AnySession, pool: Pool) -> dict[int, str]:
    ids, labels = assessment.labelled
    return dict(zip(pool.positions(ids).tolist(), map(str, labels.tolist()), strict=True))


class _ToldBy:
    """Who has labelled which items, which is looked up once it is asked for."""

    def __init__(self, assessment: AnySession, pool: Pool) -> None:
        self._assessment, self._pool = assessment, pool
        self._history: History | None = None

    def __call__(self, item: int, name: str) -> bool:
        """Tell whether somebody has labelled an item."""
        if self._history is None:
            from bayes_assess.web.history import History

            self._history = History(self._assessment)
        return name in self._history.told_by(self._pool.ids[[item]].tolist()[0])
