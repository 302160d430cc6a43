"""Labels that were wrong: everything is as if the right ones had been told."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import bayes_assess as ba
from bayes_assess.sessions.journal import Journal
from sessions.courses import BINARY, CASES, POSITIVE, N, assert_same, every_case, started


def wrong_label(case: str, item: int):
    return "a;b;c" if case.startswith("label sets") else 1 - POSITIVE[item]


def run(a: ba.Assessment, case: str, wrong: int = 0) -> list[int]:
    """Label two batches and some items that nobody asked for, the first ones wrong; a third batch stays open."""
    labels, told = CASES[case][-1], []
    for n in (12, 16):
        items = a.ask(n).ids
        told += items.tolist()
        a.tell(items[n // 2 :], labels[items[n // 2 :]])
        if n == 16:
            others = np.setdiff1d(np.arange(N), told)[:3]
            a.tell(others, labels[others])
        first = [wrong_label(case, i) if j < wrong else labels[i] for j, i in enumerate(items[: n // 2].tolist())]
        a.tell(items[: n // 2], first)
    a.ask(5)
    return [i for i in told if a._items.label[i] >= 0]


def replayed_right(path, case: str, change: Callable[[int], object]) -> ba.Assessment:
    """Resume from a copy of the journal in which other labels were told in the first place."""
    copy = path.with_name("copy.db")
    with Journal.open(path) as journal, Journal.create(copy, journal.meta) as other:
        for event in journal.events():
            payload = event.payload
            if event.kind == "tell":
                told = zip(payload["ids"], payload["labels"], strict=True)
                payload = payload | {"labels": [change(i) if change(i) is not None else label for i, label in told]}
            if event.kind != "correct":
                other.append(event.kind, payload)
    return ba.resume(copy, CASES[case][0])


@every_case
def test_a_corrected_session_is_that_of_a_journal_with_the_right_labels(case, tmp_path):
    path = tmp_path / "run.db"
    a = started(case, journal=path)
    told = run(a, case, wrong=4)
    before = a._items.label.copy()
    wrong = [i for i in told if a.pool.label_space.names(a._items.label[[i]])[0] != CASES[case][-1][i]]
    assert len(wrong) >= 4
    a.correct(wrong, CASES[case][-1][wrong])
    a.journal.close()
    right = dict(zip(wrong, CASES[case][-1][wrong].tolist(), strict=True))
    expected = replayed_right(path, case, right.get)
    assert_same(a, expected)
    assert_same(ba.resume(path, CASES[case][0]), expected)
    assert np.flatnonzero(before != a._items.label).tolist() == sorted(wrong)
    a.journal = None
    np.testing.assert_array_equal(a.ask(4).ids, expected.ask(4).ids)


@pytest.mark.parametrize("case", ["arms", "poisson"])
def test_without_a_journal_corrections_are_the_same_and_the_last_one_counts(case, tmp_path):
    kept, plain = started(case, journal=tmp_path / "run.db"), started(case)
    told = run(kept, case)
    run(plain, case)
    items = [i for i in told if POSITIVE[i] == POSITIVE[told[0]]][:3]
    for a in (kept, plain):
        before = a.result().estimate
        a.correct(items, [wrong_label(case, i) for i in items])
        assert np.any(a.result().estimate != before)
        a.correct(items[:1], CASES[case][-1][items[:1]])
    assert_same(kept, plain)
    assert (plain._items.label[items] != POSITIVE[items]).tolist() == [False, True, True]


def test_the_journal_keeps_the_wrong_label_and_the_right_one(tmp_path):
    a = started("arms", journal=tmp_path / "run.db")
    item = run(a, "arms")[0]
    a.correct([item], [1 - POSITIVE[item]])
    a.correct([item], [1 - POSITIVE[item]])  # as it is already: no event
    events = list(a.journal.events())
    assert events[-1].kind == "correct"
    assert events[-1].payload == {"ids": [item], "labels": [1 - POSITIVE[item]]}
    assert [event.kind for event in events].count("correct") == 1
    told = dict(pair for e in events if e.kind == "tell" for pair in zip(e.payload["ids"], e.payload["labels"]))  # noqa: B905
    assert told[item] == POSITIVE[item]


class TestRefusals:
    """A correction is all or nothing."""

    @pytest.fixture
    def session(self):
        a = started("arms")
        self.told = run(a, "arms")
        return a

    def refused(self, a, ids, labels, error, message):
        before, state = a.result().estimate, a._state
        with pytest.raises(error, match=message):
            a.correct(ids, labels)
        np.testing.assert_array_equal(a.result().estimate, before)
        assert a._state is state

    def test_an_item_without_a_label_is_refused(self, session):
        ids = [self.told[0], session.pending[0]]
        self.refused(session, ids, [0, 1], ba.LabelError, f"Item {ids[1]} has no label that could be corrected")

    def test_a_label_outside_the_classes_is_refused(self, session):
        self.refused(session, self.told[:1], [7], ba.LabelError, "7, which is not one of the classes")

    def test_two_labels_of_one_item_are_refused(self, session):
        self.refused(session, [self.told[0]] * 2, [0, 1], ba.LabelError, "occurs twice with different labels")

    def test_an_unknown_item_is_refused(self, session):
        self.refused(session, [N], [0], ba.UnknownIdError, str(N))

    def test_nothing_to_correct_is_accepted(self, session):
        session.correct([], [])
        session.correct(self.told[:1], [None])
        assert session.labels_used == len(self.told) + 3

    def test_a_contradiction_says_how_to_correct(self, session):
        with pytest.raises(ba.LabelError, match="leave the item out, or correct its label"):
            session.tell(self.told[:1], [1 - POSITIVE[self.told[0]]])


def test_what_another_session_asked_for_stays_asked_for_after_a_correction(tmp_path):
    a = started("arms", journal=tmp_path / "run.db")
    item = run(a, "arms")[0]
    asked = ba.resume(tmp_path / "run.db", BINARY).ask(1).ids
    a.correct([item], [1 - POSITIVE[item]])
    assert np.isin(asked, a.pending).all()
    assert_same(a, ba.resume(tmp_path / "run.db", BINARY))


def test_a_journal_that_corrects_what_has_no_label_is_refused(tmp_path):
    a = started("arms", journal=tmp_path / "run.db")
    items = a.ask(2).ids
    a.journal.append("correct", {"ids": items, "labels": [0, 0]}, expected=1)
    a.journal.close()
    with pytest.raises(ba.JournalError, match=r"Entry 2 of the journal .* does not follow"):
        ba.resume(tmp_path / "run.db", BINARY)
