from __future__ import annotations

import io
import sys

import pytest

from bayes_assess.cli.busy import busy


class Screen(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(("stream", "seen"), [(Screen(), True), (io.StringIO(), False)], ids=["terminal", "pipe"])
def test_a_terminal_shows_what_is_done_and_a_pipe_nothing(monkeypatch, stream, seen):
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(sys, "stderr", stream)
    with busy("Planning"):
        pass
    assert ("Planning" in stream.getvalue()) == seen
