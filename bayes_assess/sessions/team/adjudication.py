"""Labels that are looked at again: corrected, compared between annotators, and decided on."""

from __future__ import annotations

import numpy as np

from bayes_assess._tools.arrays import objects, show, values_of
from bayes_assess._tools.shapes import ArrayLike, Int
from bayes_assess.books.annotators import ToldLabels, annotator_names
from bayes_assess.errors import LabelError
from bayes_assess.sessions.campaign import Campaign
from bayes_assess.sessions.team.agreement import Agreement
from bayes_assess.sessions.team.disagreements import Disagreements
from bayes_assess.sessions.team.labelling_error import LabellingError, labelling_error
from bayes_assess.sessions.turns import in_turn


class Adjudication(Campaign):
    """What sessions offer for labels that may be wrong."""

    @property
    def n_disagreements(self) -> int:
        """Items whose annotators differ and that nobody has decided on."""
        return len(self._annotators.unresolved)

    @property
    def n_told(self) -> int:
        """Labels told so far by all annotators, of one item several."""
        return self._annotators.n_told * self.question.labels_each

    @in_turn
    def disagreements(self, *, resolved: bool = False) -> Disagreements:
        """List the items whose annotators differ.

        Parameters
        ----------
        resolved : bool
            Whether to list those, too, that somebody has decided on.

        Returns
        -------
        Disagreements
            In pool order; `to_csv` writes a sheet to decide in, which `resolve` takes.

        Examples
        --------
        >>> import bayes_assess as ba
        >>> a = ba.assess(ba.Pool(predictions=["cat", "dog"]), ba.GroupAccuracy())
        >>> a.tell([0, 1], ["cat", "cat"], annotator="A1")
        >>> a.tell([0, 1], ["cat", "dog"], annotator="A2")
        >>> a.disagreements().ids.tolist()
        [1]
        """
        book, pool = self._annotators, self.pool
        book.check_compared()
        items = book.differing if resolved else book.unresolved
        return Disagreements(
            ids=pool.ids[items],
            labels={name: self._labels_of(row) for name, row in zip(book.names, book.table(items), strict=True)},
            in_force=self._labels_of(self._items.label[items]),
            resolved=np.array([item in book.settled for item in items.tolist()], bool),
            show={name: values[items] for name, values in pool.show.items()},
            choices=pool.label_space.choices,
            label_space=pool.label_space,
        )

    @in_turn
    def agreement(self) -> Agreement:
        """Say how well annotators agree on the items that two or more of them have labelled.

        Returns
        -------
        Agreement
            The share of labels that agree, Cohen's kappa and Krippendorff's alpha, by the labels as they were told.

        Raises
        ------
        LabelError
            If no item has labels of two annotators, or annotators are not compared: labels of pairs, or draws.

        Examples
        --------
        >>> import bayes_assess as ba
        >>> a = ba.assess(ba.Pool(predictions=["cat", "dog"]), ba.GroupAccuracy())
        >>> a.tell([0, 1], ["cat", "cat"], annotator="A1")
        >>> a.tell([0, 1], ["cat", "dog"], annotator="A2")
        >>> a.agreement().raw
        0.5
        """
        book = self._annotators
        book.check_compared()
        codes = book.table(book.shared)
        took_part = (codes >= 0).any(1)
        codes, numbers = codes[took_part], None
        if self.pool.label_space.bounds is not None and codes.size:
            numbers = np.full(codes.shape, np.nan)
            numbers[codes >= 0] = self.pool.label_space.names(codes[codes >= 0]).astype(np.float64)
        return Agreement(tuple(np.array(book.names, object)[took_part].tolist()), codes, numbers)

    @in_turn
    def resolve(self, ids: ArrayLike | None = None, labels: ArrayLike | None = None, *, rule: str | None = None) -> int:
        """Decide on labels about which annotators differ: a person's labels, or a rule. All are taken, or none.

        Afterwards everything is as if these labels had been told at first, as after `correct`; the journal and
        `disagreements(resolved=True)` keep what the annotators said.

        Parameters
        ----------
        ids : (n,) item ids, optional
            Items that have a label, whether annotators differ about them or not.
        labels : (n,) class names, optional
            The labels decided on, which may be those in force; items without one (None, NaN, a masked value or an empty
            text) stay open.
        rule : str, optional
            In the place of both: ``"majority"``, the label that more than half of an item's annotators gave, where
            there is one (two who differ have none, see `why_no_majority`); or the name of an annotator, whose labels
            are taken where there are any. No item is looked at anew by a rule: `labelling_error` counts such labels by
            their votes, and a person's as right.

        Returns
        -------
        int
            How many items were decided on.

        Raises
        ------
        LabelError
            If neither or both of labels and a rule are given, no annotator has that name, lengths differ, an item has
            no label yet, or a label is not one of the classes.
        UnknownIdError
            If an id is not in the pool.

        Examples
        --------
        >>> import bayes_assess as ba
        >>> a = ba.assess(ba.Pool(predictions=["cat", "dog"]), ba.GroupAccuracy())
        >>> a.tell([0, 1], ["cat", "cat"], annotator="A1")
        >>> a.tell([0, 1], ["cat", "dog"], annotator="A2")
        >>> a.resolve(rule="majority")  # one against one
        0
        >>> a.resolve([1], ["dog"])
        1
        >>> a.result().estimate.tolist()
        [1.0, 1.0]
        """
        self._annotators.check_compared()
        if ids is not None and labels is not None and rule is None:
            items, codes = self._read(ids, labels, correcting=True)
        elif ids is None and labels is None and rule is not None:
            items, codes = self._annotators.by_rule(rule)
        else:
            raise LabelError("Resolve by ids and labels, or by rule='majority' or an annotator's name, not by both.")
        # A person's word says more of an item than a rule that gave it the same label.
        decided = np.array([item in self._annotators.decided for item in items.tolist()], bool)
        new = ~decided | (self._items.label[items] != codes)
        if new.any():
            self._decide("resolve", items[new], codes[new], rule)
        return int(new.sum())

    @in_turn
    def labelling_error(self, level: float = 0.95) -> LabellingError:
        """Estimate how often labels are wrong from the items that two annotators or more have labelled.

        Answers take the label in force for the truth; `LabellingError.adjusted` gives those that count on wrong ones.

        Parameters
        ----------
        level : float in (0, 1)
            Posterior probability of the interval.

        Returns
        -------
        LabellingError
            It is assumed that annotators err independently, alike often on all items and classes, and not together,
            that the items with two labels are like the others, and that what a person decided on is right.

        Raises
        ------
        LabelError
            If no item has labels of two annotators, or items may have several labels each.

        Examples
        --------
        >>> import bayes_assess as ba
        >>> a = ba.assess(ba.Pool(predictions=["cat", "dog"] * 50), ba.GroupAccuracy(), design="random")
        >>> a.tell(range(100), ["cat", "dog"] * 50, annotator="anna")
        >>> a.tell(range(50), ["cat", "dog"] * 20 + ["cat"] * 10, annotator="ben")
        >>> round(a.labelling_error().rate, 3)  # five of fifty differ
        0.058
        """
        self._annotators.check_compared()
        return labelling_error(self, level)

    def why_no_majority(self) -> str:
        """Say why ``rule="majority"`` leaves items undecided, and what decides them; an empty text if it leaves none.

        Examples
        --------
        >>> import bayes_assess as ba
        >>> a = ba.assess(ba.Pool(predictions=["cat", "dog"]), ba.GroupAccuracy())
        >>> a.why_no_majority()
        ''
        """
        return self._annotators.why_undecided()

    def _tell_named(self, ids: ArrayLike, labels: ArrayLike, annotator: ArrayLike) -> None:
        """Learn the first labels of items, and keep further ones beside them."""
        self._annotators.check_compared()
        space = self.pool.label_space
        told_ids, told_labels, places = space.labelled_places(ids, labels)
        n = len(np.atleast_1d(values_of(ids)))
        names = annotator_names(annotator, n, self.pool.show)
        if not len(told_ids):
            return
        items = self.pool.positions(told_ids)
        told = ToldLabels(items, space.codes(told_labels, told_ids), names[places])
        first, further = self._annotators.divide(told, self._items.label, told_ids, space)
        if not len(first.items) and not len(further.items):
            return
        self._write("annotate", {**self._plain(first), "further": self._plain(further)})
        self._annotate(first, further, first.codes)

    def _revise(self, ids: ArrayLike, labels: ArrayLike, annotator: str) -> int:
        self._annotators.check_compared()
        if np.ndim(annotator):
            raise LabelError(f"Labels are corrected for one annotator at a time; found {show(annotator)}.")
        annotator = str(annotator_names(annotator, 1)[0])  # as `tell` writes it
        items, codes = self._read(ids, labels, correcting=True)
        own, counts = self._annotators.own(items, annotator)
        if (own < 0).any():
            missing = self.pool.ids[items[own < 0][0]]
            raise LabelError(
                f"Item {show(missing)} has no label by {show(annotator)} that could be corrected; nothing was changed. "
                "Tell it, or leave out the annotator to put the label right that counts."
            )
        wrong = own != codes
        items, codes, counts = items[wrong], codes[wrong], counts[wrong]
        if len(items):
            payload = {**self._units.recorded(items, codes), "annotator": annotator, "counts": counts}
            if counts.any():
                self._become(self._decided("revise", payload), "revise", payload)
            else:
                self._write("revise", payload)
                self._annotators.record(ToldLabels(items, codes, np.full(len(items), annotator, object)))
        return len(items)

    def _plain(self, told: ToldLabels) -> dict[str, object]:
        return {**self._units.recorded(told.items, told.codes), "annotators": told.annotators}

    def _decide(
        self, kind: str, units: Int[np.ndarray, " n"], codes: Int[np.ndarray, " n"], rule: str | None = None
    ) -> None:
        payload = {**self._units.recorded(units, codes), **({} if rule is None else {"rule": rule.strip()})}
        if (self._items.label[units] != codes).any():
            self._become(self._decided(kind, payload), kind, payload)
        else:
            self._write(kind, payload)
            self._annotators.settle(units, rule)

    def _labels_of(self, codes: Int[np.ndarray, " n"]) -> np.ndarray:
        """Return labels by their codes, None where there is none."""
        known = codes >= 0
        labels = np.full(len(codes), None, object)
        if known.any():
            labels[known] = objects(self.pool.label_space.names(codes[known]).tolist())
        return labels
