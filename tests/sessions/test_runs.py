"""Asks and labels that are followed at once lead to where they lead one by one."""

from __future__ import annotations

import numpy as np
import pytest

import bayes_assess as ba
from bayes_assess.sessions import runs
from bayes_assess.sessions.campaign import Campaign
from bayes_assess.sessions.journal import Journal
from bayes_assess.sessions.ranked_assessment import RankedAssessment
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
