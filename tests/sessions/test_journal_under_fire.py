"""Journals whose sessions are killed at any moment, whose disk is full, and whose folder cannot be written."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="sessions are forked")


@pytest.mark.slow
@pytest.mark.parametrize(
    "fires",
    [
        ["killed", "--kills", "5"],
        ["killed", "--kills", "100"],
        ["shared", "full", "read_only"],
    ],
    ids=" ".join,
)
def test_a_journal_stays_whole(fires):
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-W", "error", "-m", "sessions.under_fire", *fires]
    done = subprocess.run(command, env=environment, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 0, done.stderr
