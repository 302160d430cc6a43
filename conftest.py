"""Settings that all tests share."""

from __future__ import annotations

import os

import pytest

os.environ.setdefault("MPLBACKEND", "Agg")  # before anything imports matplotlib


@pytest.fixture(autouse=True)
def _close_figures():
    """Leave no open figure behind: pyplot warns about many."""
    yield
    import sys

    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")
