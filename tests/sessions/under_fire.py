"""Journals whose sessions are killed at any moment, whose disk is full, and whose folder cannot be written.

``PYTHONPATH=tests python -m sessions.under_fire killed --kills 300`` kills three hundred sessions at random moments.
Processes are forked, which compiled code does not survive: tests run this file in a process of its own.
"""

from __future__ import annotations

import argparse
import os
import random
import resource
import signal
import tempfile
import time
import traceback
from pathlib import Path

import numpy as np

import bayes_assess as ba
from bayes_assess.errors import BudgetError, JournalError
from bayes_assess.sessions.journal import Journal

N = 100_000
RANKED = ba.RankedList(N)  # whose sessions run without compiled code
CURVE = ba.PrecisionCurve(p_min=0.5, beta=1.02)
NOBODY = 65534


def positive(ids: np.ndarray) -> np.ndarray:
    return (np.asarray(ids) * 7919 % 100 < 90 - np.asarray(ids) // 2000).astype(int)


def in_child(work) -> int:
    """Run `work` in a process of its own, and return the process id."""
    child = os.fork()
    if not child:
        code = 1
        try:
            work()
            code = 0
        except Exception:
            traceback.print_exc()
        finally:
            os._exit(code)
    return child


def label_all(a, out: int | None = None) -> None:
    """Ask and tell until nothing is left, and say in a pipe what a `tell` has returned from."""
    while not a.done:
        try:
            ids = a.ask(random.randint(1, 9)).ids
            told = ids[: random.randint(1, len(ids))]
        except BudgetError:  # what comes next depends on what is pending
            told = a.pending
        a.tell(told, positive(told))
        if out is not None:
            os.write(out, b"%d\n" % told[-1])


def killed(folder: Path, kills: int) -> None:
    """Kill sessions at any moment: nothing is lost that `tell` has returned from."""
    path, survived, torn = folder / "run.db", 0, 0
    ba.assess(RANKED, CURVE, journal=path).journal.close()
    moments = random.Random(5)
    for _ in range(kills):
        read, write = os.pipe()
        child = in_child(lambda write=write: label_all(ba.resume(path, RANKED), write))
        os.close(write)
        time.sleep(moments.uniform(0.0, 0.25))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        with os.fdopen(read) as told:
            promised = [int(line) for line in told]
        torn += (folder / "run.db-journal").exists()
        a = ba.resume(path, RANKED)
        ids, labels = a.labelled
        assert np.isin(promised, ids).all()
        np.testing.assert_array_equal(labels, positive(ids))
        assert not np.isin(a.pending, ids).any()
        assert a.labels_used >= survived
        survived = a.labels_used
        a.journal.close()
    assert survived > 0
    print(f"{kills} kills, {torn} of them within a transaction; {survived} labels kept")


def shared(folder: Path) -> None:
    """Kill some of several processes that share a list: no item is handed out twice, no label is lost."""
    path = folder / "run.db"
    ba.assess(RANKED, CURVE, journal=path).journal.close()
    children = [in_child(lambda: label_all(ba.resume(path, RANKED))) for _ in range(4)]
    time.sleep(0.6)
    for child in children[:3]:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        time.sleep(0.1)
    os.kill(children[3], signal.SIGTERM)
    os.waitpid(children[3], 0)
    with Journal.open(path) as journal:
        events = list(journal.events())
    asked = [item for event in events if event.kind == "ask" for item in event.payload["ids"]]
    told = [item for event in events if event.kind == "tell" for item in event.payload["ids"]]
    assert 0 < len(told)
    assert len(set(asked)) == len(asked)
    assert len(set(told)) == len(told)
    a = ba.resume(path, RANKED)
    assert (a.labels_used, a.n_pending) == (len(told), len(asked) - len(told))


def full(folder: Path) -> None:
    """Fill the disk: it is said, the journal stays as it was, and the session goes on once there is room."""
    path = folder / "run.db"
    ba.assess(RANKED, CURVE, journal=path).journal.close()

    def until_full():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # the write fails instead
        limit = path.stat().st_size + 50_000
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
        a = ba.resume(path, RANKED)
        try:
            label_all(a)
        except JournalError as error:
            said = str(error)
        assert "cannot be written" in said
        full = ba.resume(path, RANKED)  # reading needs no room
        assert (a.labels_used, a.n_pending) == (full.labels_used, full.n_pending)
        assert a.labels_used > 100
        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        before = a.labels_used
        ids = np.concatenate([a.pending, a.ask(60).ids])
        a.tell(ids, positive(ids))  # the same session goes on
        assert a.labels_used == before + len(ids)

    assert os.waitpid(in_child(until_full), 0)[1] == 0
    assert ba.resume(path, RANKED).n_pending == 0


def read_only(folder: Path) -> None:
    """Take the right to write away: it is said, nothing is left behind, and reading goes on."""
    path = folder / "run.db"
    a = ba.assess(RANKED, CURVE, journal=path)
    ids = a.ask(60).ids
    a.tell(ids, positive(ids))
    a.journal.close()
    read, write = os.pipe()
    path.chmod(0o444)
    folder.chmod(0o555)

    def as_reader():
        if os.getuid() == 0:  # who may write anywhere
            os.setuid(NOBODY)
        for attempt in (lambda: ba.assess(RANKED, CURVE, journal=folder / "new.db"), lambda: ba.resume(path, RANKED)):
            try:
                b = attempt()
                os.write(write, b"%d labels\n" % b.labels_used)
                b.ask(1)
            except JournalError as error:
                os.write(write, f"{error}\n".encode())

    child = in_child(as_reader)
    os.close(write)
    with os.fdopen(read) as answers:
        created, reads, asked = answers.read().splitlines()
    assert os.waitpid(child, 0)[1] == 0
    folder.chmod(0o755)
    assert "new.db cannot be created" in created
    assert reads == f"{len(ids)} labels"
    assert "run.db cannot be written" in asked
    assert [file.name for file in folder.iterdir()] == ["run.db"]


FIRES = {"killed": killed, "shared": shared, "full": full, "read_only": read_only}

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("fires", nargs="+", choices=FIRES)
    parser.add_argument("--kills", type=int, default=300)
    options = parser.parse_args()
    for fire in options.fires:
        with tempfile.TemporaryDirectory() as name:
            FIRES[fire](Path(name), *([options.kills] if fire == "killed" else []))
