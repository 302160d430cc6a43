"""Strict modes of JAX in tests of code that is written for them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from bayes_assess._tools import axes


@contextmanager
def kept_modes() -> Iterator[None]:
    """Let functions run in the modes of their callers, which they lift for those who set them for their own code."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(axes, "SETTINGS", {"enable_x64": True})
        yield
