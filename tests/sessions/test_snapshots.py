"""Sessions that go on from a snapshot are those that have followed every event."""

from __future__ import annotations

import contextlib
import shutil
import sqlite3
import subprocess
import sys

import numpy as np
import pytest

import bayes_assess as ba
from bayes_assess.sessions import snapshots
from bayes_assess.sessions.campaign import Campaign
from bayes_assess.sessions.journal import Journal
from bayes_assess.sessions.snapshots import InJournal, Snapshots
from sessions.courses import BINARY, CASES, POSITIVE, N, assert_same, every_case, started
from sessions.test_interrupts import KINDS, codes, pending, same
from sessions.test_interrupts import started as started_kind


@pytest.fixture
def often(monkeypatch):
    """Take a snapshot every few events."""
    monkeypatch.setattr(snapshots, "EVERY", 4)


@pytest.fixture
def followed(monkeypatch):
    """Count the events that campaigns follow."""
    counted: list[int] = []
    follow = Campaign._follow

    def counting(self, events, *more):
        counted.append(len(events))
        follow(self, events, *more)

    monkeypatch.setattr(Campaign, "_follow", counting)
    return counted


def without_snapshots(path, pool):
    """Resume by following every event."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Snapshots, "restored", lambda *arguments: 0)
        return ba.resume(path, pool)


def label(a, case: str, steps: int = 9) -> None:
    """Do what leaves traces: labels in parts, of others, of two annotators, items set aside, and open asks."""
    labels, random = CASES[case][-1], np.random.default_rng(3)
    for step in range(steps):
        a.ask(int(random.integers(2, 5)))
        items = random.permutation(a.pending)[:3]
        if step % 3 == 1:
            a.tell(items, labels[items], annotator="Ann")
            a.tell(items[:1], labels[items[:1]], annotator="Bob\0")
        else:
            a.tell(items, labels[items])
        if step == 4:
            a.skip(a.pending[:1])
            other = next(i for i in range(N) if i not in a.labelled[0] and i not in a.pending)
            a.tell([other], labels[[other]])


@every_case
def test_a_session_goes_on_from_a_snapshot_as_if_it_had_followed_all(case, tmp_path, often, followed):
    path, pool = tmp_path / "run.db", CASES[case][0]
    a = started(case, path)
    label(a, case)
    del followed[:]
    b = ba.resume(path, pool)
    assert sum(followed) < 6 < len(a._events)
    assert_same(a, b)
    assert b.disagreements(resolved=True).ids.tolist() == a.disagreements(resolved=True).ids.tolist()
    assert a._annotators.labels == b._annotators.labels
    assert a._annotators.first == b._annotators.first  # whose labels count when they are put right
    shutil.copy(path, tmp_path / "copy.db")
    assert a.ask(3).ids.tolist() == ba.resume(tmp_path / "copy.db", pool).ask(3).ids.tolist()


@pytest.mark.slow
@every_case
def test_corrections_start_before_the_label_was_told(case, tmp_path, often, followed):
    path, (pool, *_, labels) = tmp_path / "run.db", CASES[case]
    a, plain = started(case, path), started(case)
    wrong = "a;b;c" if case.startswith("label sets") else None
    for one in (a, plain):
        label(one, case)
        late, early = int(one._events[-1].payload["ids"][0]), int(one._events[1].payload["ids"][0])
    for item in (late, early):
        told = [wrong if wrong else 1 - POSITIVE[item]]
        del followed[:]
        assert a.correct([item], told) == plain.correct([item], told)
        assert sum(followed) < len(a._events) - 4 or item == early
    assert_same(a, plain)
    assert_same(a, without_snapshots(path, pool))
    assert_same(a, ba.resume(path, pool))
    a.correct([early], labels[[early]])
    assert_same(a, without_snapshots(path, pool))


@pytest.mark.parametrize("kind", ["pairs", "items"])
def test_sessions_on_pairs_keep_the_labels_of_the_halves(kind, tmp_path, often):
    path = tmp_path / "run.db"
    a = started_kind(kind, path)
    for _ in range(6):
        a.ask(8)
        ids = pending(a, 4)
        a.tell(ids, codes(ids))
    same(a, ba.resume(path, KINDS[kind][0]))


def test_label_sets_mean_the_same_after_a_snapshot_in_whichever_order_they_were_told(tmp_path, often):
    def pool():  # as another process makes it
        return ba.Pool(scores=np.linspace(0.1, 0.8, 40).reshape(20, 2), classes=["a", "b"], multilabel=True)

    a = ba.assess(pool(), ba.Metric("f1_micro"), design="passive", journal=tmp_path / "run.db")
    for labels in (["b", "a;b", "-"], ["a", "b", "-"], ["a;b", "a"]):
        a.tell(a.ask(len(labels)).ids, labels)
    met_others = pool()
    met_others.label_space.codes(["a", "b"])  # in which these sets have other codes
    for fresh in (pool(), met_others):
        again = ba.resume(tmp_path / "run.db", fresh)
        assert [x.tolist() for x in again.labelled] == [x.tolist() for x in a.labelled]
        assert again.result().estimate == a.result().estimate


def test_a_session_in_another_process_goes_on_from_a_snapshot(tmp_path, often):
    path = tmp_path / "run.db"
    a = started("belief", path)
    label(a, "belief")
    code = (
        "import sys; sys.path.insert(0, 'tests')\n"
        "import bayes_assess as ba\nfrom sessions.courses import BINARY\n"
        "from bayes_assess.sessions.campaign import Campaign\n"
        "follow = Campaign._follow\n"
        "Campaign._follow = lambda self, events, *more: (print(len(events)), follow(self, events, *more))\n"
        f"a = ba.resume({str(path)!r}, BINARY)\nprint(a.ask(3).ids.tolist())"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split("\n")
    assert int(found[0]) < 6
    a.catch_up()
    assert found[1] == str(a._events[-1].payload["ids"])


def damage(path, what: str) -> None:
    with contextlib.closing(sqlite3.connect(path)) as connection, connection:
        if what == "bytes":
            for at, data in connection.execute("SELECT sequence, data FROM snapshots").fetchall():
                middle = len(data) // 2
                data = data[:middle] + bytes([data[middle] ^ 1]) + data[middle + 1 :]
                connection.execute("UPDATE snapshots SET data = ? WHERE sequence = ?", (data, at))
        else:
            connection.execute(what)
    connection.close()


@pytest.mark.parametrize(
    "what",
    [
        "bytes",
        "UPDATE snapshots SET format = format + 1",
        "UPDATE snapshots SET after = after + 1",  # taken after other events
        "UPDATE snapshots SET data = 'text'",
        "DROP TABLE snapshots",
        "ALTER TABLE snapshots RENAME COLUMN data TO other",
    ],
)
def test_what_is_not_as_it_was_taken_is_passed_over(what, tmp_path, often, followed):
    path = tmp_path / "run.db"
    a = started("arms", path)
    label(a, "arms")
    damage(path, what)
    del followed[:]
    b = ba.resume(path, BINARY)
    assert sum(followed) == len(a._events)
    assert_same(a, b)


@pytest.mark.parametrize("change", ["release", "start"])
def test_snapshots_of_another_release_or_another_start_are_passed_over(change, tmp_path, often, followed, monkeypatch):
    path = tmp_path / "run.db"
    a = started("belief", path)
    label(a, "belief")
    if change == "release":
        monkeypatch.setattr(snapshots, "__version__", "9.9")
    else:
        init = type(a.design).init
        changed = lambda self, *setting: init(self, *setting).__class__(  # noqa: E731
            **vars(init(self, *setting)) | {"event": 1 - np.asarray(a._start.event)}
        )
        monkeypatch.setattr(type(a.design), "init", changed)
    del followed[:]
    ba.resume(path, BINARY)
    assert sum(followed) == len(a._events)


def test_a_snapshot_that_cannot_be_written_is_not_missed(tmp_path, often, monkeypatch):
    path = tmp_path / "run.db"
    a = started("arms", path)
    monkeypatch.setattr(snapshots, "_SCHEMA", "no SQL")
    label(a, "arms")
    assert_same(a, ba.resume(path, BINARY))


def test_few_snapshots_are_kept_and_the_last_is_one_of_them(tmp_path):
    sizes: dict[int, int] = {}
    for at in range(250, 64_001, 250):
        sizes[at] = 1_000_000
        for gone in snapshots.superfluous(sizes):
            del sizes[gone]
        assert at in sizes
        assert len(sizes) <= 10
    ages = 64_000 - np.array(sorted(sizes, reverse=True))
    assert (np.diff(ages[1:]) <= np.maximum(2 * ages[1:-1], 500)).all()  # to follow at most thrice what is needed
    sizes = dict.fromkeys(sizes, 20_000_000)
    assert len(sizes) - len(snapshots.superfluous(sizes)) == 2


def test_older_journals_get_a_table_for_them(tmp_path):
    path = tmp_path / "run.db"
    with Journal.create(path, {}) as journal:
        for n in range(3):
            journal.append("note", {"n": n})
        store = InJournal(journal)
        assert list(store.before(3)) == []
        store.keep(2, {"n": np.arange(2)})
        assert [at for at, _ in store.before(3)] == [2]
        assert [at for at, _ in store.before(1)] == []
        assert journal.append("note", {"n": 3}, expected=3) == 4
    with Journal.open(path) as journal:
        assert [event.payload["n"] for event in journal.events()] == [0, 1, 2, 3]
