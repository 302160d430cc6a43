"""The commands that serve a labelling page, and those that talk to it."""

from __future__ import annotations

import re
import time

import pytest
from typer.testing import CliRunner

import bayes_assess as ba
from bayes_assess.cli import demo_label, files, live
from bayes_assess.cli.app import app
from bayes_assess.web.notice import Notice, noticed, read_notice
from bayes_assess.web.server import Service
from web.browsers import Server, served


def started(folder):
    """Start a run as the command line does."""
    (folder / "pool.csv").write_text(
        "id,text,prediction\n" + "".join(f"t{i},text {i},{'ab'[i % 2]}\n" for i in range(60))
    )
    options = files.reader_options(None, None, None, None, None) | {"show": ["text"], "groups": [], "systems": []}
    pool = ba.read_pool(folder / "pool.csv", **options)
    source = files.source_of(folder / "pool.csv", options)
    ba.assess(pool, ba.GroupAccuracy(), design="random", journal=folder / "run.db", source=source).journal.close()
    return folder / "run.db"


def test_commands_beside_a_page_are_run_by_its_server(tmp_path):
    run = started(tmp_path)
    server = Server(run)
    try:
        wrote = server.command("ask", "run.db", "-n", "4", "-o", "sheet.csv")
        assert wrote.startswith("Wrote 4 items to sheet.csv")
        lines = (tmp_path / "sheet.csv").read_text().splitlines()
        filled = [lines[0], *(line + "a" for line in lines[1:])]
        (tmp_path / "sheet.csv").write_text("\n".join(filled))
        assert server.command("tell", "run.db", "sheet.csv").startswith("Took 4 labels.")
        server.command("status", "run.db")  # which compiles
        began = time.perf_counter()
        status = server.command("status", "run.db")
        took = time.perf_counter() - began
        assert status.startswith("4 of 60 items labelled")
        assert "Traceback" not in status
        assert took < 2  # half a second where nothing else is going on
    finally:
        server.end()
    assert CliRunner().invoke(app, ["status", str(run)]).stdout == status


def test_refusals_and_exit_codes_come_from_the_server_as_they_are(tmp_path):
    run, words = started(tmp_path), ["ask", "run.db", "-n", "0"]
    session = files.reopen(run, None)
    found = live.runner(run, session)(words, str(tmp_path))
    assert found["code"] == 2
    assert found["out"] == ""
    assert found["err"].startswith("Error: Ask for a positive whole number")
    assert not session.journal.closed
    status = live.runner(run, session)(["status", "run.db"], str(tmp_path))
    assert (status["code"], status["err"]) == (0, "")
    assert live.open_session(run) is None
    session.journal.close()


def test_no_server_is_asked_where_none_answers_or_the_pool_is_read_anew(tmp_path, monkeypatch):
    run = started(tmp_path)
    monkeypatch.chdir(tmp_path)
    assert live.ask_server(["status", "run.db"]) is None
    with noticed(run, Notice("127.0.0.1", 1, "secret")):
        assert (tmp_path / "run.db.page").stat().st_mode & 0o777 == 0o600
        assert read_notice(run) is None  # it was killed
        assert live.ask_server(["status", "run.db"]) is None
    assert not (tmp_path / "run.db.page").exists()
    for words in ([], ["start", "run.db"], ["ask", "run.db", "--show", "text"], ["status", "run.db", "--pool=p.csv"]):
        assert live.ask_server(words) is None


def test_streams_of_a_command_are_not_looked_for_in_the_server(tmp_path, monkeypatch):
    run = started(tmp_path)
    monkeypatch.chdir(tmp_path)
    notice = Notice("127.0.0.1", 1, "secret")
    monkeypatch.setattr(live, "read_notice", lambda _: notice)
    monkeypatch.setattr(live, "_sent", lambda *_: {"code": 0, "out": "", "err": ""})
    with noticed(run, notice):
        assert live.ask_server(["tell", "run.db", "dev/labels.csv"]) == 0
        for stream in ("/dev/stdin", "/dev/fd/63", "/proc/self/fd/0"):
            assert live.ask_server(["tell", "run.db", stream]) is None
        for option in ("-o/dev/stdout", "--output=/dev/stdout"):
            assert live.ask_server(["ask", "run.db", option]) is None


@pytest.fixture
def never_served(monkeypatch):
    """What should have been refused fails, where it would wait for people for ever."""

    def run(_):
        raise AssertionError("a page is served")

    monkeypatch.setattr(Service, "run", run)


@pytest.mark.slow
@pytest.mark.usefixtures("never_served")
def test_a_run_has_one_page_and_a_folder_of_pictures_is_there(tmp_path):
    run = started(tmp_path)
    none = CliRunner().invoke(app, ["label", str(run), "--images", str(tmp_path / "none")])
    assert none.exit_code == 2
    assert "There is no folder" in none.stderr
    server = Server(run)
    try:
        second = CliRunner().invoke(app, ["label", str(run)])
        assert second.exit_code == 2
        assert "is served already" in second.stderr
    finally:
        server.end()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--level", "3"], "lies between 0 and 1"),
        (["--width", "-1"], "is a positive number; found -1"),
        (["--width", "0.1"], "are those of the answer so far, which is not shown; add --show-answer."),
        (["--level", "0.9"], "are those of the answer so far, which is not shown; add --show-answer."),
        (["--port", "99999"], "port must be 0-65535; take another --port"),
        (["--host", "nobody.invalid"], "take another --host"),
    ],
)
@pytest.mark.usefixtures("never_served")
def test_options_that_make_no_sense_are_refused_before_the_page_is_opened(tmp_path, options, said):
    found = CliRunner().invoke(app, ["label", str(started(tmp_path)), "--no-open", *options])
    assert found.exit_code == 2
    assert said in found.stderr
    assert not found.stdout


def test_a_server_at_the_address_of_one_that_was_killed_is_not_taken_for_it(tmp_path, monkeypatch):
    run = started(tmp_path)
    monkeypatch.chdir(tmp_path)
    session = ba.assess(ba.Pool(predictions=["a", "b"]), ba.GroupAccuracy(), design="random")
    with served(session) as address:  # the page of another run
        port = int(re.findall(r":(\d+)/", address)[0])
        with noticed(run, Notice("127.0.0.1", port, "secret of the one that was killed")):
            assert read_notice(run) is None
            assert live.ask_server(["status", "run.db"]) is None


@pytest.mark.slow
def test_the_demo_draws_the_digits_and_goes_on_where_it_was(tmp_path):
    pytest.importorskip("sklearn")
    run, pictures = demo_label.prepared(tmp_path)
    drawn = sorted(pictures.iterdir())
    assert len(drawn) == 1497
    assert drawn[0].read_bytes().startswith(b"\x89PNG")
    session = files.reopen(run, None)
    queries = session.ask(1)
    assert (pictures / str(queries.show["picture"][0])).is_file()
    session.journal.close()
    assert demo_label.prepared(tmp_path) == (run, pictures)
    again = files.reopen(run, None)
    assert again.n_pending == 1
    again.journal.close()
