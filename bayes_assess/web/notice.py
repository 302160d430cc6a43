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
COMMAND = "/command"  # where commands are sent
NO_COMMAND = "This is no command."  # what the server says to who knows its secret and sends none
_PATIENCE = 0.2  # seconds to wait for a server on this machine
_BUSY = 5.0  # seconds after which one that says nothing is taken to be at work


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
    """Return where a journal's page is served; None where no server answers, or another one than its own."""
    try:
        notice = Notice(**json.loads(notice_path(journal).read_text(encoding="utf-8")))
        with socket.create_connection((notice.host, notice.port), _PATIENCE):
            pass
    except (OSError, ValueError, TypeError):
        return None
    return notice if _knows(notice) else None


def _knows(notice: Notice) -> bool:
    """Tell whether the server at an address knows the secret: that of a server that was killed may be another's now."""
    import http.client

    connection = http.client.HTTPConnection(notice.host, notice.port, timeout=_BUSY)
    headers = {"Content-Type": "application/json", "Authorization": f"Bearer {notice.secret}"}
    try:
        connection.request("POST", COMMAND, "{}", headers)
        return NO_COMMAND.encode() in connection.getresponse().read(1000)
    except TimeoutError:
        return True
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


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
