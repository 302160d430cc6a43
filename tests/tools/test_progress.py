"""Signs of what takes its time: on terminals and in notebooks, after a second; never in pipes."""

from __future__ import annotations

import io
import sys
import time
from types import SimpleNamespace

import pytest

import bayes_assess as ba
from bayes_assess._tools import progress as module
from bayes_assess._tools.progress import SWITCH, in_progress, progress


class Screen(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def screen(monkeypatch):
    stream = Screen()
    monkeypatch.setattr(module, "sys", SimpleNamespace(stderr=stream, modules=sys.modules))  # pytest moves sys.stderr
    monkeypatch.setattr(module, "_PATIENCE", 0.01)
    monkeypatch.setattr(module, "_EVERY", 0.01)
    return stream


def until(stream: io.StringIO, text: str) -> None:
    """Wait until a stream says something."""
    for _ in range(1000):
        if text in stream.getvalue():
            return
        time.sleep(0.01)
    raise AssertionError(f"{text!r} is not in {stream.getvalue()!r}")


def test_a_terminal_shows_what_is_done_until_it_is(screen):
    with progress("Planning", 3) as advance:
        until(screen, "\rPlanning: 0 of 3 ... 0 s\x1b[K")
        advance(2)
        until(screen, "\rPlanning: 2 of 3 ... 0 s\x1b[K")
    assert screen.getvalue().endswith("\r\x1b[K")
    assert module._ticker is None


def test_what_is_over_soon_is_not_shown(screen, monkeypatch):
    monkeypatch.setattr(module, "_PATIENCE", 60)
    with progress("Planning"):
        pass
    assert screen.getvalue() == ""


def test_tasks_within_tasks_share_the_line(screen):
    with progress("Planning"):
        with progress("Drawing"):
            until(screen, "Drawing ...")
        assert "\r\x1b[K" not in screen.getvalue()
        until(screen, "Planning ...")
    assert screen.getvalue().endswith("\r\x1b[K")


def test_a_task_that_fails_is_over(screen):
    @in_progress("Failing")
    def fail():
        until(screen, "Failing ...")
        raise ValueError

    with pytest.raises(ValueError, match=r"^$"):
        fail()
    assert screen.getvalue().endswith("\r\x1b[K")
    assert module._ticker is None


def test_a_screen_that_is_gone_is_no_reason_to_fail(screen):
    with progress("Planning"):
        until(screen, "Planning")
        screen.close()


@pytest.mark.parametrize("word", ["false", "0", "OFF"])
def test_it_can_be_switched_off(screen, monkeypatch, word):
    monkeypatch.setenv(SWITCH, word)
    with progress("Planning"):
        time.sleep(0.1)
    assert screen.getvalue() == ""


def test_a_pipe_sees_nothing_unless_wanted(screen, monkeypatch):
    pipe = io.StringIO()
    module.sys.stderr = pipe
    with progress("Planning"):
        time.sleep(0.1)
    assert pipe.getvalue() == ""
    with progress("Planning", 2, wanted=True) as advance:
        advance(2)
    assert pipe.getvalue() == "Planning: 2 of 2 ... 0 s\n"
    module.sys.stderr = None  # as where there is no console
    with progress("Planning"):
        pass


def test_sessions_and_studies_show_what_they_do(screen, monkeypatch, tmp_path):
    monkeypatch.setattr(module, "_PATIENCE", 0.0)  # also of what is over at once
    pool = ba.Pool(predictions=["cat", "dog"] * 50)
    a = ba.assess(pool, ba.GroupAccuracy(), design="random")
    a.tell(a.ask(10).ids, ["cat"] * 10)
    a.plan(width=0.3)
    a.result().report(tmp_path / "report.md")
    ba.simulate(pool, ["cat"] * 100, ba.GroupAccuracy(), designs="random", budgets=[10], repeats=5)
    shown = [
        "Starting", "Choosing items", "Learning from the labels", "Planning", "Answering", "Writing the report",
        "campaigns: ",
    ]  # fmt: skip
    for what in shown:
        assert what in screen.getvalue(), what


@pytest.mark.slow
def test_a_notebook_has_an_empty_line_in_the_end():
    nbclient, nbformat = pytest.importorskip("nbclient"), pytest.importorskip("nbformat")
    code = (
        "import time\nfrom bayes_assess._tools.progress import progress\nwith progress('Planning'):\n    time.sleep(2)"
    )
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(code)])
    seen = []
    client = nbclient.NotebookClient(notebook, timeout=60, on_cell_executed=None)
    process = client.process_message
    client.process_message = lambda message, *rest: (seen.append(message), process(message, *rest))[1]
    client.execute()
    said = [m["content"]["data"]["text/plain"] for m in seen if m["msg_type"].endswith("display_data")]
    assert any(text.startswith("Planning ...") for text in said)
    (output,) = notebook.cells[0].outputs
    assert output["data"] == {"text/plain": ""}
