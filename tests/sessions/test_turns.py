"""Several sessions on one journal: no item is handed out twice, no label is lost, and all come to the same answer."""

from __future__ import annotations

import copy
import os
import pickle
import subprocess
import sys
import threading

import numpy as np
import pytest

import bayes_assess as ba
from bayes_assess.errors import LabelError
from sessions.courses import CASES, assert_same, every_case, started

ROUNDS = 12


def sides_of(case: str, path, n: int = 2) -> list:
    return [started(case, journal=path), *(ba.resume(path, CASES[case][0]) for _ in range(n - 1))]


@every_case
def test_sessions_that_write_by_turns_are_the_session_that_reads_it_all(case, tmp_path):
    path, labels, random = tmp_path / "run.db", CASES[case][-1], np.random.default_rng(4)
    sides, open_, handed_out = sides_of(case, path), [], []
    for _ in range(ROUNDS):
        asked = sides[random.integers(2)].ask(int(random.integers(1, 4))).ids.tolist()
        open_ += asked
        handed_out += asked
        told = [open_.pop(int(random.integers(len(open_)))) for _ in range(int(random.integers(len(open_))))]
        if told:
            sides[random.integers(2)].tell(told, labels[told])
    assert len(set(handed_out)) == len(handed_out)
    for side in sides:
        side.catch_up()
        assert_same(side, ba.resume(path, CASES[case][0]))
        assert side.labels_used == len(handed_out) - len(open_)


@pytest.mark.parametrize("case", ["arms", "adaptive", "belief", "label sets"])
def test_what_others_correct_set_aside_and_release_is_followed(case, tmp_path):
    path, labels = tmp_path / "run.db", CASES[case][-1]
    mine, theirs = sides_of(case, path)
    ids = mine.ask(12).ids
    theirs.tell(ids[:8], labels[np.roll(ids, 1)][:8])
    theirs.skip(ids[8:10])
    mine.tell(ids[10:], labels[ids[10:]])
    assert theirs.correct(ids[:8], labels[ids[:8]]) > 0
    mine.release(ids[8:9])
    theirs.tell(ids[8:9], labels[ids[8:9]])
    for side in (mine, theirs):
        side.catch_up()
        assert_same(side, ba.resume(path, CASES[case][0]))
    assert np.isin(ids[:9], mine.labelled[0]).all()


def test_a_turn_that_is_lost_while_it_is_decided_is_taken_again(tmp_path, monkeypatch):
    mine, theirs = sides_of("arms", tmp_path / "run.db")
    taken, write = [], mine._write

    def write_late(kind, payload):
        if not taken:  # somebody writes between the decision and its record
            taken.extend(theirs.ask(5).ids.tolist())
        write(kind, payload)

    monkeypatch.setattr(mine, "_write", write_late)
    got = mine.ask(5)
    assert not set(got.ids.tolist()) & set(taken)
    theirs.catch_up()
    assert_same(mine, theirs)


def test_results_count_what_others_told(tmp_path):
    mine, theirs = sides_of("arms", tmp_path / "run.db")
    before = mine.result().labels_used
    ids = theirs.ask(9).ids
    theirs.tell(ids, CASES["arms"][-1][ids])
    assert (before, mine.result().labels_used, mine.catch_up()) == (0, 9, 0)


def test_annotators_in_two_sessions_may_differ_and_it_is_seen_in_both(tmp_path):
    mine, theirs = sides_of("arms", tmp_path / "run.db")
    ids = mine.ask(4).ids
    mine.tell(ids, [0, 0, 1, 1], annotator="A1")
    theirs.tell(ids, [0, 1, 1, 1], annotator="A2")
    assert mine.disagreements().ids.tolist() == theirs.disagreements().ids.tolist() == [ids[1]]
    assert (mine.resolve(rule="A2"), theirs.catch_up()) == (1, 1)
    assert_same(mine, theirs)


def test_who_contradicts_a_label_of_somebody_else_is_told_so(tmp_path):
    mine, theirs = sides_of("arms", tmp_path / "run.db")
    ids = mine.ask(2).ids
    theirs.tell(ids, [1, 1])
    with pytest.raises(LabelError, match="already labelled 1"):
        mine.tell(ids[:1], [0])
    assert mine.labels_used == 2


def test_sessions_on_a_ranked_list_take_turns(tmp_path):
    path, random = tmp_path / "run.db", np.random.default_rng(0)
    ranked = ba.RankedList(3_000)
    mine = ba.assess(ranked, ba.PrecisionCurve(p_min=0.5), journal=path)
    theirs, handed_out = ba.resume(path, ranked), []
    for side in [mine, theirs, theirs, mine] * 4:
        ids = side.ask(20).ids
        handed_out += ids.tolist()
        (mine if random.random() < 0.5 else theirs).tell(ids[:15], (ids[:15] < 400).astype(int))
    theirs.correct(mine.labelled[0][:2], [0, 0])
    assert len(set(handed_out)) == len(handed_out)
    again = ba.resume(path, ranked)
    for side in (mine, theirs):
        assert side.result().summary() == again.result().summary()
        assert side.pending.tolist() == again.pending.tolist()


def test_sessions_on_pairs_take_turns(tmp_path):
    path = tmp_path / "run.db"
    correct = np.random.default_rng(1).random(120) < 0.7
    systems, prompts = np.repeat(["a", "b"], 60), np.tile(np.arange(60), 2)
    pool = ba.Pool(predictions=["yes"] * 120, classes=["yes", "no"], groups={"system": systems, "prompt": prompts})
    labels = np.where(correct, "yes", "no")
    question = ba.Compare("a", "b", by="system", pair="prompt", measure="rate", positive="yes")
    mine = ba.assess(pool, question, journal=path)
    theirs = ba.resume(path, pool)
    first, second = mine.ask(10).ids, theirs.ask(10).ids
    assert not set(first.tolist()) & set(second.tolist())
    theirs.tell(first, labels[first])
    mine.tell(second, labels[second])
    theirs.correct(second[:1], ["no" if labels[second[0]] == "yes" else "yes"])
    mine.correct(second[:1], labels[second[:1]])
    theirs.catch_up()
    again = ba.resume(path, pool)
    assert mine.result().summary() == theirs.result().summary() == again.result().summary()


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, pickle.dumps])
def test_a_session_is_not_copied(copied):
    """A copy would share the books of items with the session, but not what was learned from their labels."""
    ranked = ba.assess(ba.RankedList(100), ba.PrecisionCurve(epsilon=0.2, beta=1.5, p_min=0.5))
    for a in (ba.assess(ba.Pool(predictions=[0, 1] * 5), ba.GroupAccuracy()), ranked):
        with pytest.raises(ba.OutputError, match=r"cannot be copied or pickled\. Keep a journal"):
            copied(a)


def test_threads_share_a_session():
    pool = ba.Pool(predictions=np.zeros(400, int))
    a = ba.assess(pool, ba.GroupAccuracy(), design="random", prior="uninformative")
    a.ask(1)  # compiled before threads race
    handed_out: list[int] = []

    def work():
        for _ in range(10):
            ids = a.ask(3).ids
            a.tell(ids, np.zeros(3, int))
            handed_out.extend(ids.tolist())

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(handed_out) == len(set(handed_out)) == a.labels_used == 180


WORKER = """
import sys
import numpy as np
import bayes_assess as ba
a = ba.resume(sys.argv[1], ba.Pool(predictions=np.zeros(2000, int)))
for n in range(25):
    ids = a.ask(n % 3 + 1).ids
    a.tell(ids, np.zeros(len(ids), int))
    print(*ids)
"""


def test_processes_that_ask_and_tell_at_once_share_the_items(tmp_path):
    path, pool = tmp_path / "run.db", ba.Pool(predictions=np.zeros(2000, int))
    a = ba.assess(pool, ba.GroupAccuracy(), design="random", prior="uninformative", journal=path)
    a.ask(1)
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    workers = [
        subprocess.Popen([sys.executable, "-c", WORKER, path], env=environment, stdout=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    handed_out = [int(word) for worker in workers for word in worker.communicate()[0].split()]
    assert [worker.returncode for worker in workers] == [0] * 2
    assert len(handed_out) == len(set(handed_out)) == 2 * 49
    assert a.catch_up() == 2 * 50
    assert a.labels_used == 2 * 49


def test_a_journal_whose_last_entry_has_lost_its_number_is_refused(tmp_path):
    """The greatest number of its entries is 0 then, as that of a journal without any."""
    pool, path = ba.Pool(predictions=[0, 0, 1, 1]), tmp_path / "run.db"
    a = ba.assess(pool, ba.GroupAccuracy(), journal=path)
    a.tell(a.ask(2).ids, [0, 1])
    a.journal.close()
    content, refused = path.read_bytes(), 0
    end = content.index(b"tell20")  # the kind, and when
    for start in range(end - 16, end):
        path.write_bytes(content[:start] + bytes(end - start) + content[end:])
        try:
            assert ba.resume(path, pool).labels_used == 2
        except ba.JournalError:
            refused += 1
    assert refused
