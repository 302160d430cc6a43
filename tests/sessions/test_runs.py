"""Asks and labels that are followed at once lead to where they lead one by one."""

from __future__ import annotations

import numpy as np
import pytest

import bayes_assess as ba
from bayes_assess.sessions import runs
from bayes_assess.sessions.campaign import Campaign
from bayes_assess.sessions.journal import Journal
from bayes_assess.sessions.ranked_assessment import RankedAssessment
from bayes_assess.sessions.snapshots import Snapshots
from sessions.courses import BINARY, CASES, N, assert_same, started
from sessions.test_interrupts import KINDS, LABELS, codes, pending, same
from sessions.test_interrupts import started as started_kind


@pytest.fixture
def one_by_one(monkeypatch):
    """Follow event by event from now on."""

    def switch():
        monkeypatch.setattr(Campaign, "_followed_at_once", ())
        monkeypatch.setattr(RankedAssessment, "_followed_at_once", ())

    return switch


def label_singly(a, labels: np.ndarray, volunteers: bool) -> None:
    """Ask for one, two or three items at a time, and tell labels one by one, of some items that nobody asked for."""
    random = np.random.default_rng(5)
    for step in range(22):
        a.ask(int(random.integers(1, 4)))
        for item in random.permutation(a.pending)[: random.integers(6)]:
            a.tell([item], labels[[item]])
        if volunteers and step % 5 == 4:
            item = next(i for i in range(N) if i not in a.labelled[0] and i not in a.pending)
            a.tell([item], labels[[item]])


@pytest.mark.parametrize("case", ["arms", "rounds of arms", "learned", "belief", "passive", "poisson"])
def test_a_record_followed_at_once_leads_to_the_same_session(case, tmp_path, one_by_one, monkeypatch):
    path = tmp_path / "run.db"
    monkeypatch.setattr(runs, "PIECE", 8)  # so that there are several
    pool, labels = (BINARY, CASES["arms"][-1]) if case == "learned" else (CASES[case][0], CASES[case][-1])
    a = ba.assess(pool, ba.GroupAccuracy(), seed=2, journal=path) if case == "learned" else started(case, path)
    label_singly(a, labels, volunteers=case in ("arms", "rounds of arms", "learned"))
    together = ba.resume(path, pool)
    assert_same(a, together)
    ids, told = together.labelled
    together.correct(ids[:1], 1 - told[:1])
    one_by_one()
    a.catch_up()
    assert_same(a, together)
    assert_same(ba.resume(path, pool), together)


@pytest.mark.slow
@pytest.mark.parametrize("case", ["arms", "rounds of arms", "belief", "passive"])
def test_so_do_labels_of_named_annotators(case, tmp_path, one_by_one, monkeypatch):
    path = tmp_path / "run.db"
    monkeypatch.setattr(runs, "PIECE", 8)
    pool, *_, labels = CASES[case]
    a, random = started(case, path), np.random.default_rng(5)
    for step in range(22):
        a.ask(2)
        for item in random.permutation(a.pending)[:3]:
            a.tell([item], labels[[item]], annotator="anna" if step % 3 else None)
        some = random.choice(a.labelled[0], 2, replace=False) if a.labels_used > 1 else []
        a.tell(some, (labels[some] + (step % 4 == 0)) % 2, annotator=f"ben {step}")
    seen = []
    follow = Campaign._follow_annotate
    monkeypatch.setattr(Campaign, "_follow_annotate", lambda *args: seen.append(1) or follow(*args))
    monkeypatch.setattr(Snapshots, "restored", lambda *_: 0)
    together = ba.resume(path, pool)
    assert len(seen) < 3  # all that stand between asks where these do not commute, too
    assert_same(a, together)
    one_by_one()
    singly = ba.resume(path, pool)
    assert len(seen) > 20
    for other in (a, together):
        assert_same(other, singly)
        for of in ("labels", "first", "settled"):
            assert getattr(other._annotators, of) == getattr(singly._annotators, of)
            assert list(getattr(other._annotators, of)) == list(getattr(singly._annotators, of))


def test_a_second_label_of_an_annotator_within_a_run_is_named(tmp_path):
    for again, first in ((2, 2), (3, 5)):
        path = tmp_path / f"{again}.db"
        a = started_kind("items", path)
        ids = a.ask(8).ids
        for item in ids[:4]:
            a.tell([item], LABELS[[item]], annotator="anna")
        nothing = {"ids": [], "labels": [], "annotators": []}
        of_ben = {"ids": [ids[first]], "labels": [0], "annotators": ["anna"]}
        a.journal.append("annotate", {**nothing, "further": of_ben})
        a.journal.append("note", {"ids": ids[:1], "id": ids[0], "annotator": None, "text": ""})
        with pytest.raises(ba.JournalError, match="Entry 6 of the journal"):
            ba.resume(path, KINDS["items"][0])


@pytest.mark.parametrize("kind", ["pairs", "ranks"])
def test_so_it_is_on_pairs_and_on_ranked_lists(kind, tmp_path, one_by_one):
    path = tmp_path / "run.db"
    a = started_kind(kind, path)
    step = 2 if kind == "pairs" else 1
    for n in (40, 60):
        a.ask(n)
        ids = pending(a, n - 10)
        for at in range(0, len(ids), step):
            a.tell(ids[at : at + step], codes(ids[at : at + step]))
    together = ba.resume(path, KINDS[kind][0])
    one_by_one()
    same(ba.resume(path, KINDS[kind][0]), together)
    same(a, together)


def test_what_contradicts_itself_within_a_run_is_named(tmp_path):
    path = tmp_path / "run.db"
    a = started_kind("items", path)
    ids = a.ask(8).ids
    for item in ids:
        a.tell([item], LABELS[[item]])
    a.journal.close()
    with Journal.open(path) as journal:
        journal.append("tell", {"ids": ids[2:3], "labels": 1 - LABELS[ids[2:3]]})
        journal.append("tell", {"ids": [7], "labels": [0]})
    with pytest.raises(ba.JournalError, match="Entry 10 of the journal"):
        ba.resume(path, KINDS["items"][0])


def test_an_entry_that_lacks_something_is_named(tmp_path):
    for kind in ("items", "ranks"):
        path = tmp_path / f"{kind}.db"
        a = started_kind(kind, path)
        a.ask(2)
        a.journal.append("tell", {"ids": a.pending})
        a.journal.close()
        with pytest.raises(ba.JournalError, match=r"Entry 2 of the journal .* cannot be followed"):
            ba.resume(path, KINDS[kind][0])
