"""Several annotators: whose label counts, what is kept, and how differences are decided on."""

from __future__ import annotations

import unicodedata

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bayes_assess as ba
from bayes_assess.books.annotators import AnnotatorBook, ToldLabels
from bayes_assess.pool.labels import LabelSpace
from bayes_assess.sessions.journal import Journal
from sessions.courses import POSITIVE, TEXTS, N, assert_same, started

SPACE = LabelSpace(np.array(["cat", "dog", "eel"]), declared=True)
POOL = ba.Pool(
    predictions=["cat", "dog", "cat", "dog"],
    ids=["a", "b", "c", "d"],
    classes=SPACE.classes,
    show={"text": ["meow", "woof", "purr", "bark"]},
)


def session(journal=None) -> ba.Assessment:
    return ba.assess(POOL, ba.GroupAccuracy(), prior="uninformative", journal=journal)


def two_annotators(a: ba.Assessment) -> ba.Assessment:
    a.tell(["a", "b", "c"], ["cat", "dog", "cat"], annotator="A1")
    a.tell(["a", "b", "c", "d"], ["cat", "cat", "dog", "dog"], annotator="A2")
    return a


def test_the_label_told_first_counts_until_somebody_decides():
    a = two_annotators(session())
    assert dict(zip(*a.labelled, strict=True)) == {"a": "cat", "b": "dog", "c": "cat", "d": "dog"}
    assert a.disagreements().ids.tolist() == ["b", "c"]
    assert a.labels_used == 4  # not seven
    assert a.resolve(["b"], ["dog"]) == 1  # as it was
    assert a.resolve(["c"], ["eel"]) == 1  # as nobody said
    assert dict(zip(*a.labelled, strict=True))["c"] == "eel"
    assert len(a.disagreements()) == 0
    found = a.disagreements(resolved=True)
    assert found.labels["A1"].tolist() == ["dog", "cat"]
    assert found.labels["A2"].tolist() == ["cat", "dog"]
    assert found.in_force.tolist() == ["dog", "eel"]


@pytest.mark.parametrize("decided", [False, True])
def test_own_labels_are_put_right_without_those_that_count(decided):
    a = two_annotators(session())
    if decided:
        a.resolve(["a"], ["eel"])
    by, label = ("A1", "dog") if decided else ("A2", "dog")
    assert a.correct(["a"], [label], annotator=by) == 1
    assert a.disagreements(resolved=True).labels[by][0] == label
    assert dict(zip(*a.labelled, strict=True))["a"] == ("eel" if decided else "cat")


def test_a_rule_leaves_alone_what_was_decided():
    a = two_annotators(session())
    a.resolve(["b"], ["eel"])
    assert a.resolve(rule="A2") == 1  # c alone
    assert dict(zip(*a.labelled, strict=True)) == {"a": "cat", "b": "eel", "c": "dog", "d": "dog"}


def test_a_book_comes_back_from_its_arrays():
    book, again = AnnotatorBook(), AnnotatorBook()
    book.record(ToldLabels(np.array([4, 7, 9]), np.array([0, 1, 2]), np.array(["A1", "A2", "A1"])))
    book.record(ToldLabels(np.array([7, 4]), np.array([0, 0]), np.array(["A1", "A2"])))
    book.settle(np.array([9, 7]))
    book.settle(np.array([4]), "majority")
    again.restore(book.arrays())
    assert vars(again) == vars(book)


def test_counts_are_those_of_labels_in_force():
    a = two_annotators(session())
    plain = session()
    plain.tell(["a", "b", "c"], ["cat", "dog", "cat"])
    plain.tell(["d"], ["dog"])
    np.testing.assert_array_equal(a.result().counts, plain.result().counts)
    a.resolve(rule="A2")
    assert a.result().counts.tolist() == [[1, 1], [1, 1], [0, 0]]  # A2 finds b a cat and c a dog
    assert a.result().estimate[:2].tolist() == [0.5, 0.5]


def test_the_summary_says_how_many_items_were_labelled_twice_and_on_how_many_labels_differ():
    a = session()
    a.tell(["a"], ["cat"], annotator="A1")
    assert "annotators" not in a.result().summary()
    two_annotators(a)
    end = a.result().summary().splitlines()[-1]
    assert end.startswith("3 items have labels of two annotators or more, who differ on 2, 2 of them unresolved")
    a.correct(["b"], ["cat"])  # which decides, too
    assert "who differ on 2, 1 of them unresolved" in a.result().summary()
    a.resolve(["c"], ["cat"])
    assert "who differ on 2, all resolved" in a.result().summary()


def test_names_in_an_array_are_as_names_one_by_one():
    a, b = session(), two_annotators(session())
    ids, labels = ["a", "b", "c", "a", "b", "c", "d", "d"], ["cat", "dog", "cat", "cat", "cat", "dog", "dog", None]
    a.tell(ids, labels, annotator=["A1"] * 3 + ["A2"] * 4 + ["A1"])
    assert a._annotators.labels == b._annotators.labels
    np.testing.assert_array_equal(a._items.label, b._items.label)


def test_without_names_a_second_and_different_label_is_an_error():
    a = session()
    a.tell(["a"], ["cat"], annotator="A1")
    for annotator in (None, [None]):
        with pytest.raises(ba.LabelError, match=r"'a'.* is already labelled 'cat', and 'dog' contradicts"):
            a.tell(["a"], ["dog"], annotator=annotator)
    a.tell(["a"], ["cat"])
    assert a.labels_used == 1


def test_unnamed_labels_are_those_of_an_annotator_without_a_name():
    a = session()
    a.tell(["a"], ["cat"])
    a.tell(["a"], ["dog"], annotator="A2")
    assert list(a.disagreements().labels) == ["unnamed", "A2"]
    assert dict(zip(*a.labelled, strict=True)) == {"a": "cat"}


def test_an_annotator_cannot_contradict_an_own_label_and_nothing_is_taken():
    a = two_annotators(session())
    with pytest.raises(ba.LabelError, match="was already labelled by 'A2': 'cat', and 'dog' contradicts"):
        a.tell(["d", "b"], ["eel", "dog"], annotator=["A3", "A2"])
    assert a._annotators.names == ("A1", "A2")
    a.tell(["b"], ["cat"], annotator="A2")  # as before
    a.resolve(["b"], ["dog"])
    a.tell(["b"], ["dog"], annotator="A2")  # as decided
    assert a._annotators.of_item(1) == {"A1": 1, "A2": 0}


@pytest.mark.parametrize("name", ["label", "id", "majority", "text", "unnamed"])
def test_names_with_another_meaning_are_refused(name):
    with pytest.raises(ba.LabelError, match="No annotator can be called"):
        session().tell(["a"], ["cat"], annotator=name)


@pytest.mark.parametrize(
    "names", [[7, None], pd.Series([7, None]), pd.Series([7, None], dtype="Int64"), np.array([7.0, np.nan])]
)
def test_a_number_is_one_name_whether_or_not_others_are_missing(names):
    a = ba.assess(ba.Pool(predictions=[0, 1] * 3), ba.GroupAccuracy())
    a.tell([0, 1], [0, 1], annotator=names)
    a.tell([2, 3], [0, 1], annotator=7)  # one for all
    a.tell([0, 3], [1, 0], annotator="8")
    assert list(a.disagreements().labels) == ["7", "unnamed", "8"]
    assert a.correct([2], [1], annotator=7) == 1
    with pytest.raises(ba.LabelError, match=r"corrected for one annotator at a time; found \[7, 8\]"):
        a.correct([2, 3], [0, 0], annotator=[7, 8])


def test_one_name_or_one_for_every_label():
    with pytest.raises(ba.LabelError, match="one for each of the 2 labels; found 3"):
        session().tell(["a", "b"], ["cat", "cat"], annotator=["A1", "A2", "A3"])


def test_majorities_decide_and_ties_stay_open():
    a = two_annotators(session())
    assert a.resolve(rule="majority") == 0
    a.tell(["b", "c"], ["cat", "eel"], annotator="A3")
    assert a.resolve(rule="majority") == 1
    assert a.disagreements().ids.tolist() == ["c"]  # cat, dog, eel
    assert dict(zip(*a.labelled, strict=True))["b"] == "cat"
    with pytest.raises(ba.LabelError, match="found 'A9', of 'majority', 'A1', 'A2', 'A3'"):
        a.resolve(rule="A9")
    for wrong in ({}, {"ids": ["b"]}, {"ids": ["b"], "labels": ["cat"], "rule": "A1"}):
        with pytest.raises(ba.LabelError, match="not by both"):
            a.resolve(**wrong)


def test_items_without_a_label_cannot_be_resolved():
    with pytest.raises(ba.LabelError, match="'a' has no label"):
        session().resolve(["a"], ["cat"])


def test_the_sheet_of_disagreements_comes_back_by_resolve(tmp_path):
    a = two_annotators(session())
    found = a.disagreements()
    frame = found.to_frame()
    assert list(frame.columns) == ["id", "A1", "A2", "text", "in_force", "resolved"]
    path = tmp_path / "sheet.csv"
    found.to_csv(path)
    lines = path.read_text(encoding="utf-8-sig").splitlines()
    assert lines[0] == "id,text,A1,A2,label"
    path.write_text("\n".join([lines[0], lines[1] + "eel", lines[2]]), encoding="utf-8")
    assert a.resolve(*ba.read_labels(path, POOL)) == 1
    assert a.disagreements().ids.tolist() == ["c"]


def test_sheets_of_disagreements_have_no_columns_of_who_said_nothing_of_their_items():
    a = two_annotators(session())
    a.tell(["d"], ["dog"], annotator="A3")
    found = a.disagreements()
    assert "A3" not in found.sheet().columns
    assert "A3" not in found.table().columns
    assert {"A1", "A2"} < set(found.sheet().columns)
    assert found.labels["A3"].tolist() == [None, None]


def test_who_found_that_no_class_applies_is_told_from_who_said_nothing():
    a = ba.assess(ba.Pool(predictions=["cat;dog", "cat"], multilabel=True), ba.Metric("f1_micro"))
    a.tell([0, 1], ["-", "cat"], annotator="A1")
    a.tell([0, 1], ["cat", "dog"], annotator="A2")
    a.tell([1], ["-"], annotator="A3")
    found = a.disagreements()
    assert found.table()["A1"].tolist() == ["-", "cat"]
    assert found.table()["A3"].tolist() == ["", "-"]
    assert found.labels["A3"].tolist() == [None, "-"]


@pytest.mark.parametrize("case", ["arms", "poisson", "label sets"])
def test_a_resumed_session_has_the_same_annotators_and_the_same_answer(case, tmp_path):
    path = tmp_path / "run.db"
    a = started(case, journal=path)
    labels = TEXTS if case == "label sets" else POSITIVE
    other = np.array(["a;b;c"] * N) if case == "label sets" else 1 - POSITIVE
    items = a.ask(12).ids
    a.tell(items[:8], labels[items[:8]], annotator="A1")
    a.tell(items[4:], np.where(np.arange(4, 12) % 2, labels[items[4:]], other[items[4:]]), annotator="A2")
    a.tell(items[8:9], labels[items[8:9]], annotator="A1")  # of which A2's label counts
    a.tell(items[4:5], other[items[4:5]], annotator="A3")  # nothing but further labels
    a.ask(3)
    a.resolve(items[6:7], labels[items[6:7]])
    assert a.resolve(rule="majority") == 1
    a.journal.close()
    resumed = ba.resume(path, a.pool)
    assert_same(a, resumed)
    assert resumed._annotators.labels == a._annotators.labels
    assert resumed._annotators.settled == a._annotators.settled == {int(items[4]), int(items[6])}
    with Journal.open(path) as journal:
        kinds = [event.kind for event in journal.events()]
    assert kinds == ["ask", *["annotate"] * 4, "ask", "resolve", "resolve"]


def test_decided_labels_are_as_if_they_had_been_told_at_once():
    a = started("poisson")
    items = a.ask(20).ids
    a.tell(items, 1 - POSITIVE[items], annotator="A1")
    a.tell(items, POSITIVE[items], annotator="A2")
    a.resolve(rule="A2")
    plain = started("poisson")
    plain.tell(plain.ask(20).ids, POSITIVE[items])
    np.testing.assert_array_equal(a.result().estimate, plain.result().estimate)
    np.testing.assert_array_equal(a.ask(5).ids, plain.ask(5).ids)


def test_ranked_lists_and_pairs_refuse_annotators_in_one_sentence():
    groups = {"system": ["a", "a", "b", "b"], "prompt": ["p", "q", "q", "p"]}
    pairs = ba.Compare("a", "b", by="system", measure="rate", pair="prompt")
    for a in (
        ba.assess(ba.RankedList(500), ba.PrecisionCurve(p_min=0.5)),
        ba.assess(ba.Pool(predictions=[1, 0, 1, 1], groups=groups), pairs),
    ):
        for refused in (
            lambda a=a: a.tell([1, 2], [1, 0], annotator="A1"),
            a.disagreements,
            a.agreement,
            lambda a=a: a.resolve(rule="majority"),
        ):
            with pytest.raises(ba.LabelError, match="keep one label of every item"):
                refused()
        assert a.n_disagreements == 0


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 2), st.sampled_from(["A", "B", "C"])), max_size=25))
def test_every_annotator_has_the_first_own_label_and_the_first_of_all_counts(rows):
    book, in_force = AnnotatorBook(), np.full(5, -1)
    expected: dict[str, dict[int, int]] = {}
    counts: dict[int, int] = {}
    for item, code, name in rows:
        told = ToldLabels(np.array([item]), np.array([code]), np.array([name], object))
        if expected.get(name, {}).get(item, code) != code:
            with pytest.raises(ba.LabelError, match="contradicts"):
                book.divide(told, in_force, np.array([item]), SPACE)
            continue
        first, further = book.divide(told, in_force, np.array([item]), SPACE)
        assert len(first.items) + len(further.items) == (item not in expected.get(name, {}))
        in_force[first.items] = first.codes
        book.record(first)
        book.record(further)
        expected.setdefault(name, {})[item] = code
        counts.setdefault(item, code)
    assert book.labels == expected
    assert in_force.tolist() == [counts.get(item, -1) for item in range(5)]
    by_item = {item: [told[item] for told in expected.values() if item in told] for item in counts}
    assert book.differing.tolist() == sorted(item for item, codes in by_item.items() if len(set(codes)) > 1)


def test_annotators_put_their_own_labels_right_without_deciding_for_others(tmp_path):
    a = two_annotators(session(tmp_path / "run.db"))
    assert a.correct(["b"], ["dog"], annotator="A2") == 1  # A1 says so, too, whose label counts
    assert dict(zip(*a.labelled, strict=True))["b"] == "dog"
    assert a.disagreements().ids.tolist() == ["c"]
    assert a.correct(["c"], ["dog"], annotator="A1") == 1  # the label that counts
    assert dict(zip(*a.labelled, strict=True))["c"] == "dog"
    assert not a.n_disagreements
    assert a.agreement().raw == 1
    assert a.correct(["c"], ["dog"], annotator="A1") == 0
    a.tell(["d"], ["cat"], annotator="A1")
    a.resolve(["d"], ["eel"])
    a.correct(["d"], ["dog"], annotator="A1")  # somebody has decided on it
    assert dict(zip(*a.labelled, strict=True))["d"] == "eel"
    again = ba.resume(tmp_path / "run.db", POOL)
    assert_same(again, a)
    assert again.agreement().raw == a.agreement().raw == 1
    with pytest.raises(ba.LabelError, match="'b' has no label by 'A3' that could be corrected"):
        a.correct(["a", "b"], [None, "cat"], annotator="A3")


def test_an_annotators_correction_is_followed_by_other_sessions(tmp_path):
    a = two_annotators(session(tmp_path / "run.db"))
    other = ba.resume(tmp_path / "run.db", POOL)
    a.correct(["a"], ["eel"], annotator="A1")
    other.catch_up()
    assert_same(other, a)
    assert other.disagreements().ids.tolist() == ["a", "b", "c"]


def test_journals_keep_for_whom_items_were_asked_and_what_people_noted(tmp_path):
    a = session(tmp_path / "run.db")
    ids = a.ask(2, annotator="A1").ids
    a.note(ids[0], "hard to hear", annotator="A1")
    again = ba.resume(tmp_path / "run.db", POOL)
    (asked, noted) = again.events
    assert (asked.kind, asked.payload["annotator"], asked.payload["ids"]) == ("ask", "A1", ids.tolist())
    assert noted.kind == "note"
    assert [tuple(note) for note in again.notes] == [(ids[0], "A1", "hard to hear")]
    assert_same(again, a)
    ranked = ba.assess(ba.RankedList(100), ba.PrecisionCurve(p_min=0.5), journal=tmp_path / "ranked.db")
    first = ranked.ask(1, annotator="A1").ids
    ranked.note(first[0], "odd")
    again = ba.resume(tmp_path / "ranked.db", ranked.pool)
    assert again.notes[0].text == "odd"
    assert again.events[0].payload["annotator"] == "A1"


@pytest.mark.parametrize("nobody", [99, "x", None, [1], float("nan"), ("a",)])
def test_a_note_on_no_item_is_refused_and_the_journal_can_still_be_followed(tmp_path, nobody):
    a = session(tmp_path / "run.db")
    with pytest.raises(ba.UnknownIdError):
        a.note(nobody, "odd")
    a.note("a", "odd")
    assert ba.resume(tmp_path / "run.db", POOL).notes == a.notes


@pytest.mark.parametrize("nobody", [0, 101, "x", "5", None, [1], 2.5, float("nan"), True])
@pytest.mark.parametrize("options", [{}, {"ids": np.arange(200, 300)}, {"id_at": lambda ranks: ranks + 200}])
def test_a_note_on_no_item_of_a_list_is_refused(nobody, options):
    a = ba.assess(ba.RankedList(100, **options), ba.PrecisionCurve(p_min=0.5))
    ids = a.ask(2).ids
    with pytest.raises(ba.UnknownIdError):
        a.note(nobody, "odd")
    a.note(ids[1], "odd")
    assert [note.id for note in a.notes] == [ids[1]]


def test_ranked_lists_take_notes_on_any_item_and_no_corrections_by_annotators(tmp_path):
    a = ba.assess(ba.RankedList(1_000_000), ba.PrecisionCurve(p_min=0.5), journal=tmp_path / "run.db")
    ids = a.ask(2).ids
    a.tell(ids, [1, 0])
    unasked = next(rank for rank in range(1, 5) if rank not in ids)
    a.note(unasked, "odd")
    with pytest.raises(ba.LabelError, match="one label of every item"):
        a.correct(ids, [1, 1], annotator="A1")
    again = ba.resume(tmp_path / "run.db", a.pool)
    assert (again.notes[0].id, again.labelled[1].tolist()) == (unasked, a.labelled[1].tolist())


def test_a_rehearsal_changes_nothing_and_compiles_what_the_next_label_needs():
    a = session()
    a.ask(1)
    before = a.result().summary()
    a.rehearse()
    assert (a.labels_used, a.n_pending, a.result().summary()) == (0, 1, before)
    assert [event.kind for event in a.events] == ["ask"]


@pytest.mark.parametrize("other", ["anna", "ANNA", "An\u0303a"])
def test_names_that_may_be_of_one_person_are_named(other):
    """Else agreement, and how often labels are wrong, would be told by somebody who agrees with their own labels."""
    name = "Anna" if other.casefold() == "anna" else unicodedata.normalize("NFC", other)
    a = ba.assess(ba.Pool(predictions=["cat", "dog"] * 4), ba.GroupAccuracy())
    a.tell([0, 1], ["cat", "dog"], annotator=name)
    a.tell([2], ["cat"], annotator="ben")
    assert "different annotators" not in a.result().summary()
    a.tell([3], ["cat"], annotator=other)
    said = f"{name} and {other} are taken for different annotators: if they are one person, tell labels by one name."
    assert a.result().summary().endswith(said)
    a.tell([0, 1], ["cat", "cat"], annotator=f" {other} ")  # blanks at the ends are none of a name's
    assert a.result().summary().endswith(said)
    assert a.agreement().summary().endswith(said)
    assert a.resolve(rule=f" {other} ") == 1


def test_items_are_asked_for_people_by_the_names_that_labels_are_told_by():
    """A number stayed one in the journal, and columns of sheets were taken for names."""
    a = ba.assess(ba.Pool(predictions=[0, 1] * 10, show={"text": list("abcdefghij" * 2)}), ba.GroupAccuracy())
    for name, kept in ((5, "5"), (" anna ", "anna"), ("", None)):
        a.ask(1, annotator=name)
        assert a.events[-1].payload.get("annotator") == kept
    before = len(a.events)
    for taken in ("label", "text"):
        with pytest.raises(ba.LabelError, match=f"No annotator can be called '{taken}'"):
            a.ask(1, annotator=taken)
    with pytest.raises(ba.LabelError, match=r"one annotator at a time; found \['anna', 'ben'\]"):
        a.ask(1, annotator=["anna", "ben"])
    assert len(a.events) == before
    assert a.n_pending == 3


def test_labels_left_out_are_said_once_and_names_stay_with_their_labels():
    a = ba.assess(ba.Pool(predictions=[0, 1] * 20), ba.GroupAccuracy())
    with pytest.warns(UserWarning, match="Left out 1 of 3 labels") as found:
        a.tell([4, 5, 6], [0, float("nan"), 1], annotator=["ann", "bob", "cy"])
    assert len(found) == 1
    a.tell([6], [0], annotator="dan")
    found = a.disagreements()
    assert {name: labels.tolist() for name, labels in found.labels.items()} == {"ann": [None], "cy": [1], "dan": [0]}
