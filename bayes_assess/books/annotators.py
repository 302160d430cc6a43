"""Annotators: who told which label of which item, and where they differ.

An item has one label in force, the first that was told, until it is corrected or resolved; it alone is what answers are
computed from. What others say of the item is kept beside it. That annotators err, each in their own way, is no part of
any model here.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import NamedTuple

import numpy as np

from bayes_assess._tools.arrays import is_one_of, listing, missing_mask, show, values_of, whole
from bayes_assess._tools.shapes import ArrayLike, Bool, Int
from bayes_assess._tools.text import folded, plural
from bayes_assess.errors import LabelError
from bayes_assess.pool.labels import LabelSpace

UNNAMED = "unnamed"  # whoever told labels without saying who
MAJORITY = "majority"
ONE_LABEL = (
    "Ranked lists and comparisons of pairs keep one label of every item, not those of several annotators: let these "
    "agree first, and tell what they agreed on, without annotators."
)
RESERVED = ("id", "label", "in_force", "annotator", MAJORITY, UNNAMED)  # columns of sheets, and rules


class ToldLabels(NamedTuple):
    """Labels with those who told them; arrays (n,) of items, codes and names."""

    items: Int[np.ndarray, " n"]
    codes: Int[np.ndarray, " n"]
    annotators: np.ndarray


class AnnotatorBook:
    """Labels by annotator, and which items somebody has decided on.

    Parameters
    ----------
    one_label : bool
        Whether items have one label each, whoever told it, so that there is nothing to compare.

    Attributes
    ----------
    labels : dict of dicts
        By annotator, in the order of their first labels, the codes of labels by item.
    first : dict of str
        By item, who labelled it first.
    settled : set of int
        Items whose label was corrected or resolved.
    by_votes : set of int
        Those of them that a rule decided on, not a person who looked at them.

    Examples
    --------
    >>> book = AnnotatorBook()
    >>> book.record(ToldLabels(np.array([4, 7]), np.array([0, 1]), np.array(["A1", "A1"])))
    >>> book.record(ToldLabels(np.array([7]), np.array([0]), np.array(["A2"])))
    >>> book.differing.tolist(), book.of_item(7)
    ([7], {'A1': 1, 'A2': 0})
    """

    def __init__(self, one_label: bool = False) -> None:
        self._one_label = one_label
        self.labels: dict[str, dict[int, int]] = {}
        self.first: dict[int, str] = {}
        self.settled: set[int] = set()
        self.by_votes: set[int] = set()

    def check_compared(self) -> None:
        """Raise LabelError where annotators are not compared; the message says why."""
        if self._one_label:
            raise LabelError(ONE_LABEL)

    @property
    def n_told(self) -> int:
        """Labels told so far, of one item several."""
        return sum(map(len, self.labels.values()))

    @property
    def names(self) -> tuple[str, ...]:
        """Names of those who told a label."""
        return tuple(self.labels)

    @property
    def shared(self) -> Int[np.ndarray, " n"]:
        """Items that two annotators or more have labelled, sorted."""
        if len(self.labels) < 2:
            return np.zeros(0, np.intp)
        times = Counter(item for told in self.labels.values() for item in told)
        return np.array(sorted(item for item, n in times.items() if n > 1), np.intp)

    @property
    def differing(self) -> Int[np.ndarray, " n"]:
        """Items whose annotators differ, sorted, whether they are settled or not."""
        shared = self.shared
        return shared[[len(set(self.of_item(item).values())) > 1 for item in shared.tolist()]]

    @property
    def unresolved(self) -> Int[np.ndarray, " n"]:
        """Items whose annotators differ and that nobody has decided on, sorted."""
        differing = self.differing
        return differing[[item not in self.settled for item in differing.tolist()]]

    def of_item(self, item: int) -> dict[str, int]:
        """Return the codes of an item's labels by annotator."""
        return {name: told[item] for name, told in self.labels.items() if item in told}

    def table(self, items: Int[np.ndarray, " n"]) -> Int[np.ndarray, "A n"]:
        """Tabulate the codes of items' labels, a row per annotator; -1 where there is none."""
        rows = [[told.get(item, -1) for item in items.tolist()] for told in self.labels.values()]
        return np.array(rows, np.int64).reshape(len(rows), len(items))

    def record(self, told: ToldLabels) -> None:
        """Write labels down."""
        for item, code, name in zip(told.items.tolist(), told.codes.tolist(), told.annotators.tolist(), strict=True):
            self.labels.setdefault(name, {})[item] = code
            self.first.setdefault(item, name)

    def have_told(self, told: ToldLabels) -> bool:
        """Tell whether one of these annotators has labelled the same item before."""
        pairs = zip(told.items.tolist(), told.annotators.tolist(), strict=True)
        return any(item in self.labels.get(name, ()) for item, name in pairs)

    def own(self, items: Int[np.ndarray, " n"], name: str) -> tuple[Int[np.ndarray, " n"], Bool[np.ndarray, " n"]]:
        """Return the codes of an annotator's labels of items, -1 where there is none, and whether they count.

        Those count that were told first, unless somebody has decided on the item since.
        """
        told = self.labels.get(name, {})
        codes = np.array([told.get(item, -1) for item in items.tolist()], np.int64)
        counts = [self.first.get(item) == name and item not in self.settled for item in items.tolist()]
        return codes, np.array(counts, bool)

    @property
    def decided(self) -> set[int]:
        """Items whose label was corrected, or decided on by a person."""
        return self.settled - self.by_votes

    def settle(self, items: Int[np.ndarray, " n"], rule: str | None = None) -> None:
        """Take note that somebody, or a rule, has decided on the labels of items."""
        these = set(items.tolist())
        self.settled |= these
        self.by_votes = self.by_votes - these if rule is None else self.by_votes | these

    def divide(
        self, told: ToldLabels, in_force: Int[np.ndarray, " M"], ids: np.ndarray, space: LabelSpace
    ) -> tuple[ToldLabels, ToldLabels]:
        """Tell first labels of items from further ones; labels that were told before are left out.

        Parameters
        ----------
        told : ToldLabels
        in_force : (M,) integers
            Codes of the labels that count; negative where there is none.
        ids : (n,)
            Of the items, for messages.
        space : LabelSpace

        Raises
        ------
        LabelError
            If an annotator contradicts an own label, or somebody unnamed the one that counts.
        """
        first: list[int] = []
        further: list[int] = []
        new: dict[int, dict[str, int]] = {}
        for at, (item, code, name) in enumerate(zip(*(column.tolist() for column in told), strict=True)):
            now = new.setdefault(item, {})
            counts = int(in_force[item]) if in_force[item] >= 0 else next(iter(now.values()), None)
            before = counts if name == UNNAMED else (self.of_item(item) | now).get(name)
            if before is None:
                (first if counts is None else further).append(at)
                now[name] = code
            elif code != before and not (item in self.settled and code == counts):
                who = "is already labelled" if name == UNNAMED else f"was already labelled by {show(name)}:"
                earlier, later = (show(value) for value in space.names([before, code]))
                raise LabelError(
                    f"Item {show(ids[at])} {who} {earlier}, and {later} contradicts that. Nothing was taken: leave the "
                    "item out, or correct its label."
                )
        chosen = (np.array(places, np.intp) for places in (first, further))
        first_labels, further_labels = (ToldLabels(*(column[places] for column in told)) for places in chosen)
        return first_labels, further_labels

    def most_say(self, item: int) -> int | None:
        """Return the code that more than half of an item's annotators gave, None where there is none."""
        told = self.of_item(item)
        code, n = Counter(told.values()).most_common(1)[0]
        return code if 2 * n > len(told) else None

    def why_undecided(self) -> str:
        """Say why a majority leaves items undecided, and what decides them; nothing if none is left.

        Examples
        --------
        >>> book = AnnotatorBook()
        >>> book.record(ToldLabels(np.array([7]), np.array([0]), np.array(["anna"])))
        >>> book.record(ToldLabels(np.array([7]), np.array([1]), np.array(["ben"])))
        >>> book.why_undecided()[:73]
        '1 item has no majority: two annotators who differ are one against one. Le'
        """
        ties = [item for item in self.unresolved.tolist() if self.most_say(item) is None]
        if not ties:
            return ""
        pairs = all(len(self.of_item(item)) == 2 for item in ties)
        names = [name for name in self.names if any(item in self.labels[name] for item in ties) and name != UNNAMED]
        why = "two annotators who differ are one against one" if pairs else "no label has more than half of its votes"
        another, it = ("a third one" if pairs else "another one"), "it" if len(ties) == 1 else "them"
        rules = f", take the word of one of them (rule {' or '.join(map(repr, names))})" if names else ""
        lack = f"{plural(len(ties), 'item')} {'has' if len(ties) == 1 else 'have'} no majority"
        return f"{lack}: {why}. Let {another} label {it}{rules}, or decide yourself."

    def by_rule(self, rule: str) -> tuple[Int[np.ndarray, " n"], Int[np.ndarray, " n"]]:
        """Decide on unresolved items: by the majority, or by what one annotator said; ties stay open.

        Raises
        ------
        LabelError
            If the rule is none of these.
        """
        rule = rule.strip() if isinstance(rule, str) else rule  # as names are told
        if not is_one_of(rule, (MAJORITY, *self.labels)):
            known = listing([MAJORITY, *self.names], 30)
            raise LabelError(f"A rule is 'majority' or the name of an annotator; found {show(rule)}, of {known}.")
        own = self.labels.get(rule, {})
        codes = {item: self.most_say(item) if rule == MAJORITY else own.get(item) for item in self.unresolved.tolist()}
        decided = {item: code for item, code in codes.items() if code is not None}
        return np.array(list(decided), np.intp), np.array(list(decided.values()), np.int64)

    def arrays(self) -> dict[str, np.ndarray]:
        """Return all labels by annotator, whose came first and what was decided on, for a snapshot."""
        place = {name: i for i, name in enumerate(self.labels)}
        told = [np.array(list(labels.items()), np.int64).reshape(-1, 2) for labels in self.labels.values()]
        return {
            "names": np.frombuffer(json.dumps(self.names).encode(), np.uint8),
            "n_told": np.array([len(pairs) for pairs in told], np.int64),
            "told": np.concatenate([*told, np.zeros((0, 2), np.int64)]),
            "settled": np.array(sorted(self.settled), np.int64),
            "by_votes": np.array(sorted(self.by_votes), np.int64),
            "first": np.array([(item, place[name]) for item, name in self.first.items()], np.int64).reshape(-1, 2),
        }

    def restore(self, arrays: Mapping[str, np.ndarray]) -> None:
        """Take over what `arrays` returned, into a book that is new."""
        told = np.split(arrays["told"], np.cumsum(arrays["n_told"])[:-1])
        names = json.loads(arrays["names"].tobytes())
        self.labels = {name: dict(pairs.tolist()) for name, pairs in zip(names, told, strict=False)}
        self.settled, self.by_votes = (set(arrays[name].tolist()) for name in ("settled", "by_votes"))
        self.first = {item: names[place] for item, place in arrays["first"].tolist()}

    def by_whom(self) -> str:
        """Say who told how many labels, and how far they agree, as the end of a sentence; nothing of one without name.

        Examples
        --------
        >>> book = AnnotatorBook()
        >>> book.record(ToldLabels(np.array([4, 7]), np.array([0, 1]), np.array(["A1", "A1"])))
        >>> book.by_whom()
        ' by A1'
        >>> book.record(ToldLabels(np.array([7]), np.array([0]), np.array(["A2"])))
        >>> book.by_whom()  # doctest: +NORMALIZE_WHITESPACE
        ' by A1 (2) and A2 (1), of whose labels one counts for each item; they agree on none of 1 item that several
        labelled'
        """
        if not self.labels or self.names == (UNNAMED,):
            return ""
        if len(self.labels) == 1:
            return f" by {self.names[0]}"
        named = [f"{name if name != UNNAMED else 'others'} ({len(told):,})" for name, told in self.labels.items()]
        said = f" by {', '.join(named[:-1])} and {named[-1]}"
        n, alike = len(self.shared), len(self.shared) - len(self.differing)
        if not n:
            return f"{said}, no item by two of them"
        share = f"{alike:,}" if alike else "none"
        counted = "of whose labels one counts for each item"
        return f"{said}, {counted}; they agree on {share} of {plural(n, 'item')} that several labelled"

    def said(self) -> tuple[str, ...]:
        """Say how many items several annotators have labelled, and on how many they differ; nothing if on none."""
        n, differing, open_ = len(self.shared), len(self.differing), len(self.unresolved)
        alike = nearly_alike(self.names)
        if not n:
            return alike
        said = f"{plural(n, 'item')} {'has' if n == 1 else 'have'} labels of two annotators or more"
        if not differing:
            return (f"{said}, who agree.", *alike)
        rest = f"{open_:,} of them unresolved: the label that was told first counts" if open_ else "all resolved"
        return (f"{said}, who differ on {differing:,}, {rest}.", *alike)


def nearly_alike(names: Iterable[str]) -> tuple[str, ...]:
    """Say which annotators have names that may be one person's, in one sentence; nothing if none have.

    Examples
    --------
    >>> nearly_alike(["Anna", "ben", "anna"])[0]
    'Anna and anna are taken for different annotators: if they are one person, tell labels by one name.'
    """
    by_name: dict[str, list[str]] = {}
    for name in names:
        by_name.setdefault(folded(name), []).append(name)
    several = [" and ".join(alike) for alike in by_name.values() if len(alike) > 1]
    if not several:
        return ()
    return (
        f"{', '.join(several)} are taken for different annotators: if they are one person, tell labels by one name.",
    )


class AtPage(str):
    """Whoever labels at the labelling page, in the place of a name that items are asked for: they are on no sheet."""

    __slots__ = ()


def for_whom(annotator: str | None, shown: Iterable[str] = ()) -> dict[str, str | bool]:
    """Return what the journal keeps of the person who is to label items that are asked for, by one name as in `tell`.

    Raises
    ------
    LabelError
        If it is not one name, or one that is taken.

    Examples
    --------
    >>> for_whom(" anna"), for_whom(None)
    ({'annotator': 'anna'}, {})
    >>> for_whom(AtPage("anna"))
    {'annotator': 'anna', 'page': True}
    """
    if annotator is None:
        return {}
    if isinstance(annotator, AtPage):  # whose name was checked
        return {"annotator": str(annotator), "page": True}
    if np.ndim(annotator):
        raise LabelError(f"Items are asked for one annotator at a time; found {show(annotator)}.")
    (name,) = annotator_names(annotator, 1, shown)
    return {} if name == UNNAMED else {"annotator": name}


def annotator_names(annotator: ArrayLike, n: int, shown: Iterable[str] = ()) -> np.ndarray:
    """Return the name of the annotator of every label, `UNNAMED` where it is missing.

    Parameters
    ----------
    annotator : str, or array (n,) of them
    n : int
        Labels.
    shown : names
        Columns that annotators see, which no annotator can be called.

    Raises
    ------
    LabelError
        If there is not one name or one per label, or a name is taken.

    Examples
    --------
    >>> annotator_names("A1", 2).tolist(), annotator_names(["A1", None], 2).tolist()
    (['A1', 'A1'], ['A1', 'unnamed'])
    >>> annotator_names([7, None], 2).tolist()  # as numbers and missing ones, which are floats, are one column
    ['7', 'unnamed']
    """
    values = values_of(annotator)
    values = np.full(n, values.item(), object) if values.ndim == 0 else values
    if values.shape != (n,):
        raise LabelError(f"Name one annotator, or one for each of the {n:,} labels; found {values.size:,}.")
    given = values[~missing_mask(values)]
    given = whole(given) if given.dtype.kind == "f" else given
    names = [str(name).strip() for name in given.tolist()]
    for name in sorted(set(names)):
        if name in (*RESERVED, *shown):
            raise LabelError(
                f"No annotator can be called {show(name)}, which means something else in sheets and rules; take "
                "another name."
            )
    annotators = np.full(n, UNNAMED, object)
    annotators[~missing_mask(values)] = [name or UNNAMED for name in names]
    return annotators
