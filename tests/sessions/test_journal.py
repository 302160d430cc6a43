from __future__ import annotations

import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import threading

import numpy as np
import pytest

import bayes_assess as ba
from bayes_assess.errors import JournalError, OutputError
from bayes_assess.sessions import journal as journal_module
from bayes_assess.sessions import journal_checks
from bayes_assess.sessions.journal import Journal

needs_sigkill = pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no SIGKILL on this system")


@pytest.fixture
def path(tmp_path):
    return tmp_path / "run.db"


def _python(code: str, *arguments: object) -> subprocess.Popen:
    """Start Python on some code that finds `Journal`, `os`, `signal` and `sys.argv`."""
    preamble = "import os, signal, sys\nfrom bayes_assess.sessions.journal import Journal\n"
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    return subprocess.Popen([sys.executable, "-c", preamble + code, *map(str, arguments)], env=environment)


def _payloads(path) -> list[dict]:
    with Journal.open(path) as journal:
        return [event.payload for event in journal.events()]


# -- what is written is read back ------------------------------------------------------------------------------------


def test_events_come_back_in_order_with_kind_time_and_payload(path):
    with Journal.create(path, {"seed": 3, "question": {"name": "accuracy"}}) as journal:
        assert journal.last_sequence == 0
        assert list(journal.events()) == []
        assert journal.append("ask", {"ids": [4, 2]}) == 1
        assert journal.append("tell", {"ids": [4], "labels": ["cat"]}) == 2
    with Journal.open(path) as journal:
        assert journal.path == path
        assert journal.meta == {"seed": 3, "question": {"name": "accuracy"}}
        assert journal.last_sequence == 2
        events = list(journal.events())
    assert [(event.sequence, event.kind) for event in events] == [(1, "ask"), (2, "tell")]
    assert events[1].payload == {"ids": [4], "labels": ["cat"]}
    assert all(event.time.endswith("+00:00") for event in events)
    assert events[0].time <= events[1].time


def test_numpy_values_come_back_as_python_values(path):
    payload = {
        "ids": np.array([3, 1], dtype=np.uint16),
        "names": np.array(["ä", "b"]),
        "objects": np.array(["c", np.int64(7), None], dtype=object),
        "weight": np.float32(0.1),
        "count": np.int64(2**62),
        "flag": np.bool_(True),
        "scalar": np.array(5),
        "nested": [{"matrix": np.eye(2)}],
        "pair": (1, np.int8(2)),
    }
    with Journal.create(path, {"seed": np.int64(1)}) as journal:
        journal.append("ask", payload)
        assert journal.meta == {"seed": 1}
    assert _payloads(path) == [
        {
            "ids": [3, 1],
            "names": ["ä", "b"],
            "objects": ["c", 7, None],
            "weight": float(np.float32(0.1)),
            "count": 2**62,
            "flag": True,
            "scalar": 5,
            "nested": [{"matrix": [[1.0, 0.0], [0.0, 1.0]]}],
            "pair": [1, 2],
        }
    ]


def test_floats_survive_to_the_last_bit(path):
    values = np.random.default_rng(0).random(1000) ** 9
    with Journal.create(path, {}) as journal:
        journal.append("ask", {"weights": values})
    np.testing.assert_array_equal(_payloads(path)[0]["weights"], values)


def test_a_hundred_thousand_ids_are_one_event(path):
    ids = [f"item-{i}" for i in range(100_000)]
    with Journal.create(path, {}) as journal:
        journal.append("ask", {"ids": ids})
    assert _payloads(path) == [{"ids": ids}]


def test_meta_is_a_copy(path):
    with Journal.create(path, {"groups": ["a"]}) as journal:
        journal.meta["groups"].append("b")
        assert journal.meta == {"groups": ["a"]}


def test_a_path_with_odd_characters_works(tmp_path):
    path = tmp_path / "50% of #2?mode=ro ä.db"
    with Journal.create(path, {}) as journal:
        journal.append("ask", {})
    assert _payloads(path) == [{}]
    assert [file.name for file in tmp_path.iterdir()] == [path.name]


@pytest.mark.parametrize(
    ("payload", "message"),
    [
        ({"weight": float("nan")}, "cannot be written as JSON"),
        ({"weights": np.array([1.0, np.inf])}, "cannot be written as JSON"),
        ({"ids": {1, 2}}, "is a set"),
        ({"scores": {1: 0.5}}, "key 1 is not text"),
        ({"z": np.complex128(1j)}, "is a complex"),
        ([1, 2], "must be a mapping"),
    ],
)
def test_a_payload_that_is_no_json_is_refused_and_nothing_written(path, payload, message):
    with Journal.create(path, {}) as journal:
        with pytest.raises(JournalError, match=message):
            journal.append("ask", payload)
        assert journal.last_sequence == 0


def test_the_kind_must_be_a_word(path):
    with Journal.create(path, {}) as journal, pytest.raises(JournalError, match="found ''"):
        journal.append("", {})


# -- creating and opening --------------------------------------------------------------------------------------------


def test_create_refuses_an_existing_file_and_leaves_it_alone(path):
    path.write_text("mine")
    with pytest.raises(JournalError, match=r"exists already; resume it .* or choose another name"):
        Journal.create(path, {})
    assert path.read_text() == "mine"
    assert list(path.parent.iterdir()) == [path]


def test_create_does_not_overwrite_a_file_that_appears_meanwhile(path, monkeypatch):
    monkeypatch.setattr(journal_module, "_refuse_remains", lambda path: path.write_text("mine"))
    with pytest.raises(JournalError, match="exists already"):
        Journal.create(path, {})
    assert path.read_text() == "mine"


def test_create_works_without_hard_links(path, monkeypatch):
    def no_links(*_):
        raise PermissionError("no links here")

    monkeypatch.setattr(os, "link", no_links)
    with Journal.create(path, {"seed": 0}) as journal:
        assert journal.append("ask", {}) == 1
    assert list(path.parent.iterdir()) == [path]


def test_a_failed_create_leaves_no_file(path, monkeypatch):
    monkeypatch.setattr(journal_module, "_SCHEMA", "CREATE TABLE header (half);")
    with pytest.raises(JournalError, match="cannot be created"):
        Journal.create(path, {})
    with pytest.raises(JournalError, match="cannot be written as JSON"):
        Journal.create(path, {"seed": {1}})
    assert list(path.parent.iterdir()) == []


def test_create_in_a_missing_folder_says_so(tmp_path):
    with pytest.raises(JournalError, match=r"cannot be created: .*; make its folder .*nowhere first"):
        Journal.create(tmp_path / "nowhere" / "run.db", {})


def test_create_refuses_the_remains_of_a_deleted_journal(path):
    (path.parent / "run.db-journal").write_bytes(b"undo log")
    with pytest.raises(JournalError, match="left over from a deleted journal"):
        Journal.create(path, {})
    assert not path.exists()


def test_open_of_a_missing_file_says_so_and_makes_none(path):
    with pytest.raises(JournalError, match="There is no journal"):
        Journal.open(path)
    assert not path.exists()


@pytest.mark.parametrize("content", [b"", b"id,label\n1,cat\n", b"SQLite format 3\0" + bytes(200)])
def test_open_of_another_file_says_so(path, content):
    path.write_bytes(content)
    with pytest.raises(JournalError, match="not a journal"):
        Journal.open(path)
    assert path.read_bytes() == content


def test_open_of_somebody_elses_database_says_so_and_leaves_it_alone(path):
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE events (mine)")
    connection.close()
    content = path.read_bytes()
    with pytest.raises(JournalError, match="not a journal"):
        Journal.open(path)
    assert path.read_bytes() == content


def test_open_of_a_folder_says_so(tmp_path):
    with pytest.raises(JournalError, match="cannot be opened"):
        Journal.open(tmp_path)


@pytest.mark.parametrize(
    ("later", "todo"),
    [(1, "upgrade bayes_assess"), (-1, "open it with the release that wrote it, or start a new session")],
)
def test_a_journal_of_another_format_is_refused_with_what_to_do(path, monkeypatch, later, todo):
    other = journal_checks.VERSION + later
    for module in (journal_module, journal_checks):
        monkeypatch.setattr(module, "VERSION", other)
    Journal.create(path, {}).close()
    monkeypatch.undo()
    content = path.read_bytes()
    said = f"format {other}, but this release reads format {journal_checks.VERSION} only; {todo}"
    with pytest.raises(JournalError, match=said):
        Journal.open(path)
    assert path.read_bytes() == content


def test_a_damaged_file_is_reported(path):
    with Journal.create(path, {}) as journal:
        for _ in range(50):
            journal.append("ask", {"ids": list(range(500))})
    content = bytearray(path.read_bytes())
    content[4096:] = bytes(len(content) - 4096)
    path.write_bytes(content)
    with pytest.raises(JournalError):
        _payloads(path)


def test_a_missing_event_is_reported(path):
    with Journal.create(path, {}) as journal:
        for _ in range(3):
            journal.append("ask", {})
    connection = sqlite3.connect(path, isolation_level=None)
    with pytest.raises(sqlite3.IntegrityError, match="append-only"):
        connection.execute("DELETE FROM events WHERE sequence = 2")
    connection.execute("DROP TRIGGER events_are_final_2")
    connection.execute("DELETE FROM events WHERE sequence = 2")
    connection.close()
    with pytest.raises(JournalError, match="damaged: event 2"):
        _payloads(path)


def test_a_closed_journal_says_so(path):
    journal = Journal.create(path, {})
    journal.close()
    journal.close()
    for use in (lambda: journal.append("ask", {}), lambda: list(journal.events()), lambda: journal.last_sequence):
        with pytest.raises(JournalError, match="closed"):
            use()


@pytest.mark.parametrize(
    ("name", "write"),
    [
        ("run.csv", lambda a, path: a.result().table().to_csv(path)),
        ("run.md", lambda a, path: a.result().report(path, format="md")),
        ("run.csv", lambda a, path: a.pending_queries.to_csv(path)),
        ("run.xlsx", lambda a, path: a.pending_queries.to_xlsx(path)),
        ("run.json", lambda a, path: a.pending_queries.to_json(path, tool="argilla")),
    ],
    ids=["table", "report", "sheet", "workbook", "tasks"],
)
def test_nothing_is_written_onto_a_journal(tmp_path, name, write):
    path = tmp_path / name
    a = ba.assess(ba.RankedList(100), ba.PrecisionCurve(p_min=0.5), journal=path)
    a.ask(3)
    before = path.read_bytes()
    with pytest.raises(OutputError, match="journal of a session"):
        write(a, path)
    assert path.read_bytes() == before


# -- damage ----------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A journal of some pages, with what it holds."""
    path = tmp_path_factory.mktemp("whole") / "run.db"
    with Journal.create(path, {"seed": 7, "question": {"question": "Rate", "by": "s\u00efte"}}) as journal:
        for i in range(40):
            journal.append("ask", {"ids": [f"item-{j}" for j in range(i, i + 30)]})
            journal.append("tell", {"ids": [f"item-{i}"], "labels": ["cat" if i % 3 else "dog"]})
    return path.read_bytes(), _content(path)


def _content(path) -> tuple:
    with Journal.open(path) as journal:
        return journal.meta, list(journal.events())


def _same_or_refused(path, content, expected) -> bool:
    """Tell whether a damaged journal was refused; if not it must be the same."""
    path.write_bytes(content)
    try:
        found = _content(path)
    except JournalError:
        return True
    assert found == expected
    return False


def test_a_journal_that_was_cut_anywhere_is_refused(path, whole):
    content, expected = whole
    random = np.random.default_rng(0)
    cuts = {
        *range(0, len(content), 4096),
        *(len(content) - n for n in (1, 2, 100, 4000)),
        *random.integers(0, len(content), 60),
    }
    for size in sorted(cuts):
        assert _same_or_refused(path, content[:size], expected), size


def test_a_bit_that_was_flipped_is_found_unless_it_changes_nothing(path, whole):
    content, expected = whole
    random, refused = np.random.default_rng(1), 0
    places = [*random.integers(0, len(content), 300), *range(100), *random.integers(100, 4096, 50)]
    for place in places:
        flipped = bytearray(content)
        flipped[place] ^= 1 << int(random.integers(8))
        refused += _same_or_refused(path, flipped, expected)
    assert refused > len(places) // 2


def test_no_bit_of_what_makes_the_tables_can_be_flipped(path, whole):
    """SQLite takes `PRIMASY KEY` for the name of a type: numbers of events were lost with it, and so were labels."""
    content, expected = whole
    for table in journal_checks.TABLES:
        start = content.index(table.encode())
        for place in range(start, start + len(table)):
            for bit in range(8):
                flipped = bytearray(content)
                flipped[place] ^= 1 << bit
                assert _same_or_refused(path, flipped, expected), (place, bit)


def test_an_event_that_was_changed_by_hand_is_reported(path):
    with Journal.create(path, {}) as journal:
        for label in ("cat", "dog"):
            journal.append("tell", {"ids": [label], "labels": [label]})
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("DROP TRIGGER events_are_final_1")
    connection.execute("UPDATE events SET payload = replace(payload, 'cat', 'cow') WHERE sequence = 1")
    connection.close()
    with Journal.open(path) as journal, pytest.raises(JournalError, match=r"damaged: event 1 .* copy of the file"):
        list(journal.events())


# -- crashes ---------------------------------------------------------------------------------------------------------


@needs_sigkill
def test_what_append_returned_from_survives_sigkill(path):
    Journal.create(path, {"seed": 0}).close()
    killed = _python(
        """
journal = Journal.open(sys.argv[1])
journal.append("ask", {"ids": [1, 2]})
journal.append("tell", {"ids": [1], "labels": ["cat"]})
os.kill(os.getpid(), signal.SIGKILL)
""",
        path,
    )
    assert killed.wait() == -signal.SIGKILL
    assert _payloads(path) == [{"ids": [1, 2]}, {"ids": [1], "labels": ["cat"]}]


@needs_sigkill
@pytest.mark.parametrize("statement", ["INSERT", "COMMIT"])
def test_an_append_killed_midway_leaves_nothing_and_the_journal_works_on(path, statement):
    with Journal.create(path, {"seed": 0}) as journal:
        journal.append("ask", {"ids": [1]})
    killed = _python(
        """
journal = Journal.open(sys.argv[1])
connection = journal._connection
connection.execute("PRAGMA cache_size = 1")  # so that the half-done transaction reaches the file
def kill(statement):
    if statement.startswith(sys.argv[2]):
        os.kill(os.getpid(), signal.SIGKILL)
connection.set_trace_callback(kill)
journal.append("tell", {"ids": list(range(100_000))})
""",
        path,
        statement,
    )
    assert killed.wait() == -signal.SIGKILL
    if statement == "COMMIT":
        # The half-done append is in the file, and its undo log beside it.
        assert (path.parent / "run.db-journal").stat().st_size > 0
        assert path.stat().st_size > 100_000
    with Journal.open(path) as journal:
        assert [event.payload for event in journal.events()] == [{"ids": [1]}]
        assert journal.append("tell", {"ids": [1]}, expected=1) == 2
    assert _payloads(path) == [{"ids": [1]}, {"ids": [1]}]


def test_an_append_that_fails_inside_its_transaction_is_undone(path, monkeypatch):
    with Journal.create(path, {}) as journal:
        with monkeypatch.context() as patch:
            patch.setattr(journal_module, "checksum", lambda *_: None)  # which may not be null
            with pytest.raises(JournalError, match="cannot be written"):
                journal.append("ask", {})
        assert journal.last_sequence == 0
        assert journal.append("ask", {}) == 1


def test_a_copy_of_the_one_file_is_the_whole_journal(path):
    with Journal.create(path, {}) as journal:
        journal.append("ask", {"ids": [1]})
        copy = shutil.copy(path, path.with_name("copy.db"))
        assert sorted(file.name for file in path.parent.iterdir()) == ["copy.db", "run.db"]
    assert _payloads(copy) == [{"ids": [1]}]


# -- several writers -------------------------------------------------------------------------------------------------


def test_two_processes_append_at_once_and_nothing_is_lost(path):
    Journal.create(path, {}).close()
    code = """
with Journal.open(sys.argv[1]) as journal:
    for number in range(40):
        journal.append("tell", {"writer": sys.argv[2], "number": number})
"""
    writers = [_python(code, path, name) for name in "ab"]
    assert [writer.wait() for writer in writers] == [0, 0]
    payloads = _payloads(path)
    for name in "ab":
        assert [p["number"] for p in payloads if p["writer"] == name] == list(range(40))


def test_threads_share_a_journal(path):
    with Journal.create(path, {}) as journal:
        sequences: list[int] = []
        threads = [
            threading.Thread(target=lambda: sequences.extend(journal.append("tell", {}) for _ in range(20)))
            for _ in range(4)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(sequences) == list(range(1, 81))


def test_an_append_that_missed_somebody_elses_event_is_refused(path):
    with Journal.create(path, {}) as mine, Journal.open(path) as theirs:
        last = mine.append("ask", {"ids": [1]}, expected=0)
        theirs.append("tell", {"ids": [1]})
        with pytest.raises(
            JournalError, match="Somebody else wrote to this journal since it was read; resume it again"
        ):
            mine.append("tell", {"ids": [2]}, expected=last)
        assert mine.last_sequence == 2


@pytest.mark.parametrize(
    ("pragma", "todo"),
    [
        ("max_page_count = 1", "free some space and try again"),
        ("query_only = ON", "copy the run to where you can write"),
    ],
)
def test_what_to_do_is_said_where_a_journal_cannot_be_written(path, pragma, todo):
    with Journal.create(path, {}) as journal:
        journal._connection.execute(f"PRAGMA {pragma}")
        with pytest.raises(JournalError, match=f"cannot be written: .*; .*{todo}"):
            journal.append("ask", {"ids": ["x" * 100_000]})
        assert journal.last_sequence == 0


def test_waiting_for_a_locked_journal_ends_with_a_sentence(path, monkeypatch):
    monkeypatch.setattr(journal_module, "PATIENCE", 0.01)
    with Journal.create(path, {}) as journal:
        other = sqlite3.connect(path, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(JournalError, match="another process holds it"):
            journal.append("ask", {})
        other.execute("ROLLBACK")
        other.close()
        assert journal.append("ask", {}) == 1


def test_reading_goes_on_while_events_are_appended(path):
    with Journal.create(path, {}) as journal:
        for number in range(3):
            journal.append("ask", {"number": number})
        seen = []
        for event in journal.events():
            journal.append("tell", {"number": event.sequence})
            seen.append(event.sequence)
    assert seen == [1, 2, 3]
