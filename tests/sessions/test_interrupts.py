"""Interrupts from the start of a record on: nothing is lost, nothing counts twice, nobody is locked out."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import bayes_assess as ba
from bayes_assess import books, sessions
from bayes_assess.errors import JournalError
from bayes_assess.sessions import journal as journal_module
from bayes_assess.sessions.journal import Journal

SESSIONS = tuple(os.path.dirname(room.__file__) for room in (books, sessions))
N = 6000  # enough to ask anew after every call that is interrupted
LABELS = np.random.default_rng(3).integers(0, 2, N)
SYSTEMS, PROMPTS = np.repeat(["a", "b"], N // 2), np.tile(np.arange(N // 2), 2)
BINARY = ba.Pool(predictions=np.zeros(N, int), classes=[0, 1], groups={"system": SYSTEMS, "prompt": PROMPTS})
KINDS = {
    "items": (BINARY, ba.GroupAccuracy(), {"design": "random", "prior": "uninformative"}),
    "weighted items": (ba.Pool(scores=np.linspace(0.01, 0.99, N)), ba.Metric("f1"), {"design": "passive"}),
    "pairs": (
        BINARY,
        ba.Compare("a", "b", by="system", pair="prompt", measure="rate", positive=1),
        {"design": "passive"},
    ),
    "ranks": (ba.RankedList(N), ba.PrecisionCurve(p_min=0.5), {}),
}
every_kind = pytest.mark.parametrize("kind", KINDS)


def started(kind: str, path: Path | None):
    pool, question, options = KINDS[kind]
    return ba.assess(pool, question, journal=path, **options)


def pending(a, n: int) -> np.ndarray:
    """Ids of the next items without a label; both halves of pairs."""
    ids = a.pending
    if isinstance(a.question, ba.PrecisionCurve) or "pair" not in vars(a.question) or a.question.pair is None:
        return ids[:n]
    return np.concatenate([[i, i + N // 2] for i in ids[ids < N // 2][: n // 2]])


def codes(ids: np.ndarray) -> np.ndarray:
    return LABELS[np.asarray(ids) % N]


# What changes a session; each names items of its own first, so that it can be done again.
def ask(a):
    return lambda: a.ask(2)


def tell(a):
    ids = pending(a, 4)
    return lambda: a.tell(ids, codes(ids))


def tell_named(a):
    ids = pending(a, 2)
    return lambda: a.tell(ids, codes(ids), annotator="Anna")


def skip(a):
    ids = pending(a, 2)
    return lambda: a.skip(ids)


def release(a):
    ids = a.skipped
    return lambda: a.release(ids)


def correct(a):
    ids, labels = a.labelled
    return lambda: a.correct(ids[:1], 1 - labels[:1])


CHANGES = (ask, tell, skip, release, correct)


def interrupted(act: Callable[[], object], at: int) -> bool:
    """Raise KeyboardInterrupt after the so manyth call of sessions from the start of a record on, if there is one.

    Python looks for interrupts when a call returns, before its value is stored.
    """
    calls = 0

    def trace(frame, event, argument):
        nonlocal calls
        caller = frame if event == "c_return" else frame.f_back if event == "return" else None
        if caller is None or not caller.f_code.co_filename.startswith(SESSIONS):
            return
        if calls or caller.f_code.co_qualname in ("Journal.append", "TakesTurns._write"):
            calls += 1
            if calls == at:
                raise KeyboardInterrupt

    before = sys.getprofile()
    sys.setprofile(trace)
    try:
        act()
    except KeyboardInterrupt:
        return True
    finally:
        sys.setprofile(before)
    return False


def same(one, other) -> None:
    for mine, theirs in zip(one.labelled, other.labelled, strict=True):
        np.testing.assert_array_equal(mine, theirs)
    np.testing.assert_array_equal(one.pending, other.pending)
    np.testing.assert_array_equal(one.skipped, other.skipped)
    assert one.result().summary() == other.result().summary()


@every_kind
@pytest.mark.parametrize("every", [19, pytest.param(1, marks=pytest.mark.slow)])
def test_what_is_interrupted_is_done_again_and_the_journal_resumes(kind, every, tmp_path, monkeypatch):
    monkeypatch.setattr(journal_module, "PATIENCE", 0.2)  # a lock that is left behind shows soon
    path = tmp_path / "run.db"
    a = started(kind, path)
    a.ask(200)
    a.tell(pending(a, 20), codes(pending(a, 20)))
    for change in (*CHANGES, *([tell_named] if kind.endswith("items") else [])):
        at = 1
        while True:
            if len(a.pending) < 20:
                a.ask(200)
            if change is release:
                skip(a)()
            act = change(a)
            if not interrupted(act, at):
                break
            with Journal.open(path) as other:  # nobody is locked out
                other.append("release", {"ids": []})
            act()
            at += every
        assert at > 20
        same(a, ba.resume(path, KINDS[kind][0]))


@pytest.mark.parametrize("kind", ["items", "pairs", "ranks"])
def test_labels_and_items_set_aside_of_a_sheet_are_recorded_together_or_not_at_all(kind, tmp_path):
    a, at = started(kind, tmp_path / "run.db"), 1
    a.ask(500)
    while True:
        ids = pending(a, 8)
        if not interrupted(lambda ids=ids: a.tell_or_skip(ids[:4], codes(ids[:4]), ids[4:]), at):
            break
        a.catch_up()
        assert len(a.labelled[0]) == a.n_skipped
        at += 7
    assert at > 20
    same(a, ba.resume(tmp_path / "run.db", KINDS[kind][0]))


@every_kind
def test_without_a_journal_an_interrupted_session_goes_on_alike(kind):
    a, plain = started(kind, None), started(kind, None)
    for side in (a, plain):
        side.ask(40)
    for at in (1, 3, 6, 9, 14):
        act, alike = tell(a), tell(plain)
        assert interrupted(act, at)
        act()
        alike()
        for side in (a, plain):
            skip(side)()
    same(a, plain)


@every_kind
@pytest.mark.parametrize("change", [ask, tell, skip, release])
def test_an_event_that_is_recorded_twice_is_refused(kind, change, tmp_path):
    path = tmp_path / "run.db"
    a = started(kind, path)
    a.ask(20)
    skip(a)()
    change(a)()
    *_, last = a.journal.events()
    assert last.kind == change.__name__
    a.journal.append(last.kind, last.payload)
    with pytest.raises(JournalError, match=rf"ntry {last.sequence + 1}\b"):
        ba.resume(path, KINDS[kind][0])
