"""Ctrl-C ends a command with exit code 130, wherever it finds it, and leaves nothing half done."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

from bayes_assess.designs import ArmDesign
from bayes_assess.sessions import journal as journal_module
from bayes_assess.sessions.journal import Journal
from cli.test_app import call, columns, done, pool_file, run  # noqa: F401 - fixtures

# Presses Ctrl-C at a place that its first argument names; the other arguments are those of the command.
PROGRAM = """
import gc, importlib.abc, signal, sys

where = sys.argv.pop(1)

class Importing(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name == where:
            signal.raise_signal(signal.SIGINT)

def collecting(phase, info):
    if "bayes_assess.sessions.journal" in sys.modules:
        gc.callbacks.remove(collecting)
        signal.raise_signal(signal.SIGINT)

def within_a_write():
    from bayes_assess.sessions import journal

    class Forgetful:
        def __del__(self):  # Python prints errors raised here, and goes on
            signal.raise_signal(signal.SIGINT)

    def now():
        Forgetful()
        for _ in range(3000):  # half a minute, unless the signal is repeated
            time.sleep(0.01)

    import time
    journal._now = now

def replacing(*_):
    signal.raise_signal(signal.SIGINT)

sys.meta_path.insert(0, Importing())
if where == "replacing":
    import os
    os.replace = replacing
if where == "collecting":
    gc.callbacks.append(collecting)
if where == "writing":
    sys.unraisablehook = lambda _: None
    within_a_write()
from bayes_assess.cli import main
main()
"""


@pytest.fixture(autouse=True)
def interrupts_are_heard():
    """Shells let what runs in the background ignore interrupts, and so would commands that it starts."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def interrupt(*_):
    signal.raise_signal(signal.SIGINT)


def n_events(run) -> int:  # noqa: F811
    with Journal.open(run) as journal:
        return journal.last_sequence


@pytest.mark.parametrize("where", ["typer", "bayes_assess.sessions.journal", "scipy.special", "collecting", "writing"])
def test_an_interrupted_ask_leaves_the_journal_alone(run, where):  # noqa: F811
    command = [sys.executable, "-c", PROGRAM, where, "ask", str(run), "-n", "3"]
    found = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (found.returncode, found.stdout, found.stderr) == (130, "", "")
    assert n_events(run) == 0
    assert {path.name for path in run.parent.iterdir()} == {"pool.csv", "run.db"}


@pytest.mark.slow
def test_an_interrupted_start_leaves_no_journal(pool_file, tmp_path):  # noqa: F811
    command = [sys.executable, "-c", PROGRAM, "writing", "start", str(pool_file), "--out", str(tmp_path / "new.db")]
    found = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (found.returncode, found.stdout, found.stderr) == (130, "", "")
    assert {path.name for path in tmp_path.iterdir()} == {"pool.csv"}


@pytest.mark.parametrize("place", [(ArmDesign, "choose"), (journal_module, "_now")], ids=["choosing", "transaction"])
def test_an_interrupt_that_is_an_error_undoes_the_ask(run, monkeypatch, place):  # noqa: F811
    with monkeypatch.context() as patch:
        patch.setattr(*place, interrupt)
        result = call("ask", run, "-n", 3)
    assert (result.exit_code, result.output) == (130, "")
    assert n_events(run) == 0
    assert "3 items to label" in done("ask", run, "-n", 3)


def test_items_whose_sheet_was_interrupted_are_named(run, monkeypatch, tmp_path):  # noqa: F811
    output = tmp_path / "to_label.csv"
    with monkeypatch.context() as patch:
        patch.setattr("os.replace", interrupt)
        result = call("ask", run, "-n", 3, "-o", output)
    assert result.exit_code == 130
    assert "3 items are pending" in result.stderr
    assert f"bayes-assess ask {run} --pending -o FILE" in result.stderr
    assert {path.name for path in tmp_path.iterdir()} == {"pool.csv", "run.db"}
    assert "Wrote 3 items" in done("ask", run, "--pending", "-o", output)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["to_label.csv", "to_label.xlsx", "to_label.json"])
def test_an_interrupted_sheet_of_any_format_leaves_no_part_of_it(run, name):  # noqa: F811
    tool = ["--tool", "argilla"] if name.endswith(".json") else []
    asked = ["ask", str(run), "-n", "3", "-o", str(run.with_name(name)), *tool]
    command = [sys.executable, "-c", PROGRAM, "replacing", *asked]
    found = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (found.returncode, found.stdout) == (130, "")
    assert "3 items are pending" in found.stderr
    assert {path.name for path in run.parent.iterdir()} == {"pool.csv", "run.db"}


def test_tasks_that_were_interrupted_between_their_two_files_leave_neither(run, monkeypatch):  # noqa: F811
    tasks, replaces = run.with_name("tasks.json"), iter([os.replace, interrupt])
    with monkeypatch.context() as patch:
        patch.setattr("os.replace", lambda *names: next(replaces)(*names))
        assert call("ask", run, "-n", 3, "-o", tasks, "--tool", "label-studio").exit_code == 130
    assert next(replaces, None) is None
    assert {path.name for path in run.parent.iterdir()} == {"pool.csv", "run.db"}
    assert "Wrote 3 items" in done("ask", run, "--pending", "-o", tasks, "--tool", "label-studio")


@pytest.mark.slow
@pytest.mark.parametrize("written", [["report", "-o", "page.html"], ["status", "--plot", "plot.png"]], ids=" ".join)
def test_an_interrupted_answer_leaves_no_part_of_its_file(run, written):  # noqa: F811
    words = [written[0], str(run), written[1], str(run.with_name(written[2]))]
    command = [sys.executable, "-c", PROGRAM, "replacing", *words]
    found = subprocess.run(command, capture_output=True, text=True, check=False)
    assert found.returncode == 130, found.stderr
    assert {path.name for path in run.parent.iterdir()} == {"pool.csv", "run.db"}


def test_an_ignored_interrupt_stays_ignored(tmp_path):
    program = f"import signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\n{PROGRAM}"
    command = [sys.executable, "-c", program, "typer", "--version"]
    found = subprocess.run(command, capture_output=True, text=True, check=False)
    assert found.returncode == 0
    assert found.stdout.startswith("bayes-assess ")
