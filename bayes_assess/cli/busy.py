"""A sign on a terminal that something takes its time."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator


@contextlib.contextmanager
def busy(what: str) -> Iterator[None]:
    """Show what is being done, with a spinner, as long as it lasts; nothing unless standard error is a terminal.

    Examples
    --------
    >>> with busy("Planning"):
    ...     print("no sign of it in a pipe")
    no sign of it in a pipe
    """
    if not sys.stderr.isatty():
        yield
        return
    from rich.console import Console

    with Console(stderr=True).status(f"{what} ..."):
        yield
