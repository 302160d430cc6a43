"""Cells of measures, and those of a belief on an event of every label."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from bayes_assess._tools.shapes import Int
from bayes_assess.errors import QuestionError
from bayes_assess.estimators.item_losses import ItemLosses, item_losses
from bayes_assess.measures import AveragedTable, LossTable, PRCurveTable, averaged
from bayes_assess.measures.cell_measure import CellMeasure
from bayes_assess.models.error_labels import ErrorLabels
from bayes_assess.models.rating_labels import MOST_RATINGS
from bayes_assess.pool.cells import Cells, cells
from bayes_assess.pool.counting import distinct_codes
from bayes_assess.pool.groups import Partition
from bayes_assess.pool.pool import Pool
from bayes_assess.pool.rank_strata import RankedScore, RankStrata, opinion_strata
from bayes_assess.questions._curve_coordinates import coordinates_of, patterns, with_groups, with_votes
from bayes_assess.questions._events import CellEvents, Subject, error_labels, merged, rating_labels

_MOST, _FEWEST = 1024, 4  # cells where a measure tells many kinds of items apart, and strata at least
_OF_VALUES = 24  # strata of expected numbers
_MOST_RATED = 160  # kinds of items by all ratings of theirs
_OF_RATINGS = 16  # strata of the expected rating, which ratings cut again


def _alike(
    codes: Int[np.ndarray, " M"], kinds: Int[np.ndarray, " M"]
) -> tuple[Int[np.ndarray, " N"], Int[np.ndarray, " M"]]:
    """Cut items by two codes; return the first of every pair of codes that occurs, and the pair of every item."""
    n_kinds = int(kinds.max()) + 1
    pairs, pair = distinct_codes(codes.astype(np.int64) * n_kinds + kinds, (int(codes.max()) + 1) * n_kinds)
    return pairs // n_kinds, pair


@dataclass(frozen=True, eq=False, repr=False)
class MetricCells(Cells):
    """Cells on which all losses of a measure are constant, and the measure on them."""

    measure: CellMeasure

    @property
    def subject(self) -> Subject | None:
        """The event that a design's belief on the labels is about; None where no belief is on an event."""
        return None

    def outcomes(self, items: Int[np.ndarray, " N"], labels: Int[np.ndarray, " N"]) -> Int[np.ndarray, " N"]:
        """Return the outcomes of labels of these items: the labels themselves."""
        return labels


class OfItems(NamedTuple):
    """Losses of items that differ within cells.

    Attributes
    ----------
    codes : (M,) integers
        Attribute of every item.
    table : LossTable
        Losses of attributes.
    means : AveragedTable
        Those of cells.
    """

    codes: Int[np.ndarray, " M"]
    table: LossTable
    means: AveragedTable


@dataclass(frozen=True, eq=False, repr=False)
class EventCells(MetricCells):
    """Cells of a design with a belief on one event of every label, which is all that the measure depends on."""

    events: CellEvents
    of_items: OfItems | None = None

    @property
    def subject(self) -> Subject:
        """The event that the belief is about."""
        return self.events.subject

    def outcomes(self, items: Int[np.ndarray, " N"], labels: Int[np.ndarray, " N"]) -> Int[np.ndarray, " N"]:
        """Whether the labels of these items are the event, or the labels where all of them is needed."""
        if not self.events.subject.decides:
            return labels
        return (labels == self.events.subject.event[self.source.rows_of(items)]).astype(np.int64)

    def labelled_items(self, labels: Int[np.ndarray, " M"]) -> ItemLosses:
        """Return what items with these labels lose, where cells take losses at their means; -1 is none."""
        assert self.of_items is not None
        event, items = np.full(len(labels), -1), np.flatnonzero(labels >= 0)
        event[items] = self.outcomes(items, labels[items])
        return item_losses(*self.of_items, self.source.row_cells, self.sizes, event)


def metric_cells(cells: Cells) -> MetricCells:
    """Return the cells of a question on measures; raise QuestionError for others."""
    if not isinstance(cells, MetricCells):
        raise QuestionError("These groups of items were made for another question.")
    return cells


def event_cells(
    pool: Pool,
    subject: Subject,
    ranked: RankedScore | None,
    codes: Int[np.ndarray, " M"],
    table: LossTable | PRCurveTable,
    strata: RankStrata,
    seed: int,
    alike: Int[np.ndarray, " M"] | None = None,
) -> EventCells:
    """Collapse a pool for a belief on one event of every label.

    Parameters
    ----------
    pool : Pool
    subject : Subject
        What the belief is about.
    ranked : RankedScore, optional
        The score that announces the event.
    codes : (M,) integers
        Attribute of every item, by which the losses in `table` differ.
    table : LossTable
    strata : RankStrata
    seed : int
        Decides the order of items within cells.
    alike : (M,) integers, optional
        Groups of items within which losses differ by the scores alone; cells of them take the losses at their means.
    """
    apart = None
    if alike is not None:
        apart = merged(codes, table, subject, largest=0)  # nearly as many attributes as items
        codes, attributes = alike, np.arange(int(alike.max()) + 1)
    elif subject.decides:
        codes, table = merged(codes, table, subject)
        attributes = np.arange(table.n_attributes)
        if subject.votes is not None:  # items of one attribute on which the judges vote alike
            pairs, codes = np.unique(codes * np.int64(_MOST) + patterns(subject.votes), return_inverse=True)
            attributes = pairs // _MOST
    elif subject.values is not None and pool.n_classes > MOST_RATINGS:  # few items may be of one prediction: by groups
        group = np.zeros_like(codes) if subject.group is None else subject.group
        first = np.unique(group, return_index=True)[1]
        attributes, codes = codes[first], group
    else:  # items of one attribute that have the same prediction, and the same ratings by further judges if few occur
        attributes, codes = _alike(codes, subject.event)
        if subject.opinions is not None and len(subject.opinions) > 2:
            ratings = np.unique(subject.opinions[2:], axis=1, return_inverse=True)[1].ravel()
            kinds, finer = _alike(codes, ratings)
            if len(kinds) <= _MOST_RATED:
                attributes, codes = attributes[kinds], finer
    n_kinds = len(attributes)
    if subject.values is not None and pool.n_classes > MOST_RATINGS:
        assert subject.opinions is not None
        blocks = opinion_strata(subject.opinions, min(strata.n_strata, _OF_VALUES), pool.multiplicity)
    elif ranked is None:
        blocks = Partition(np.zeros(pool.n_rows, np.uint8), np.array(["all"]), "prediction")
    else:
        n_strata = strata.n_strata if n_kinds == 1 else max(_FEWEST, min(strata.n_strata, _MOST // n_kinds))
        n_strata = n_strata if subject.values is None else min(n_strata, _OF_RATINGS)
        blocks = RankStrata(n_strata).of(ranked)
    distinct, cell = distinct_codes(blocks.codes.astype(np.int64) * n_kinds + codes, blocks.n_groups * n_kinds)
    block, kind = np.divmod(distinct, n_kinds)
    names = np.array([f"{blocks.names[b]}, {a}" for b, a in zip(block, kind, strict=True)])
    joint = Partition(cell.astype(np.min_scalar_type(len(distinct) - 1)), names, blocks.description, note=blocks.note)
    plain = cells(pool, joint, seed=seed)
    attribute, of_items = attributes[kind].astype(np.int64), None
    if apart is not None:
        code, of_attributes = apart
        assert isinstance(of_attributes, LossTable)  # no curve, whose losses depend on no score
        table, attribute = averaged(code, of_attributes, cell, plain.n_cells), np.arange(plain.n_cells)
        of_items = OfItems(code, of_attributes, table)
    measure = CellMeasure(
        table=table,
        attribute=attribute,
        block=block.astype(np.int64),
        size=plain.sizes,
        predicted=np.zeros(plain.n_cells),
        n_attributes=table.n_attributes,
        n_blocks=blocks.n_groups,
        n_outcomes=2 if subject.decides else pool.n_classes,
    )
    event = subject.event[plain.one_of_each()].astype(np.int64)
    if subject.decides:
        about = np.ones_like(event), np.zeros_like(event), ErrorLabels.none()
    elif subject.values is not None:  # all of it is believed by cells, and no label is an event
        about = np.full_like(event, -1), np.arange(plain.n_cells), rating_labels(pool, subject, cell, plain.sizes)
    else:
        about = event, event, error_labels(pool)
    coordinates = coordinates_of(ranked, cell, plain.sizes)
    if subject.values is None:
        coordinates = with_groups(coordinates, cell, pool.multiplicity, subject.group, subject.kind)
    if subject.votes is not None:
        coordinates = with_votes(coordinates, subject.votes, cell, pool.multiplicity)
    events = CellEvents(subject, coordinates, *about)
    return EventCells(**vars(plain), measure=measure, events=events, of_items=of_items)


def crossed_losses(
    codes: Int[np.ndarray, " M"], table: LossTable | PRCurveTable, blocks: Partition, name: str
) -> tuple[Partition, Int[np.ndarray, " K"], Int[np.ndarray, " K"]]:
    """Cut items by what their losses depend on and by blocks; return attribute and block of every group, too."""
    attributes = Partition(codes, np.arange(table.n_attributes), "losses")
    both = blocks.codes.astype(np.int64) * table.n_attributes + codes
    distinct, cell = distinct_codes(both, blocks.n_groups * table.n_attributes)
    block, attribute = np.divmod(distinct.astype(np.int64), table.n_attributes)
    names = np.array([str(blocks.names[b]) for b in block]) if blocks.n_groups > 1 else attribute.astype(str)
    joint = Partition(
        cell.astype(np.min_scalar_type(len(distinct) - 1)),
        names,
        blocks.description if blocks.n_groups > 1 else name,
        note=blocks.note,
        parts=(blocks, attributes),
    )
    return joint, attribute, block
