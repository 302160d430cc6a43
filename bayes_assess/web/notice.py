"""The notice beside a journal that says where its page is served, so that commands find it.

It is a small file that only its owner can read, and it goes when the server ends. Nothing heavy is imported here: the
command line looks for it before anything else.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

SUFFIX = ".page"
_PATIENCE = 0.2  # seconds to wait for a server on this machine


class Notice(NamedTuple):
    """Where a page is served.

    Attributes
    ----------
    host : str
    port : int
    secret : str
        With which commands on this machine are let in.
    """

    host: str
    port: int
    secret: str


def notice_path(journal: Path) -> Path:
    """Return where the notice of a journal is.

    Examples
    --------
    >>> notice_path(Path("run.db")).name
    'run.db.page'
    """
    return journal.with_name(journal.name + SUFFIX)


def read_notice(journal: Path) -> Notice | None:
    """Return where a journal's page is served; None where no server answers."""
    try:
        notice = Notice(**json.loads(notice_path(journal).read_text(encoding="utf-8")))
        with socket.create_connection((notice.host, notice.port), _PATIENCE):
            return notice
    except (OSError, ValueError, TypeError):
        return None


@contextlib.contextmanager
def noticed(journal: Path, notice: Notice) -> Iterator[None]:
    """Keep a notice beside a journal as long as its page is served."""
    path = notice_path(journal)
    path.unlink(missing_ok=True)
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
        json.dump(notice._asdict(), file)
    try:
        yield
    finally:
        path.unlink(missing_ok=True)
