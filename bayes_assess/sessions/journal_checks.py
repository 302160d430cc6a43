"""Journals and their events as they were written: what is damaged is told from what is whole."""

from __future__ import annotations

import contextlib
import json
import sqlite3
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import Any

from bayes_assess._tools.arrays import show
from bayes_assess._tools.files import is_journal
from bayes_assess._tools.strict_json import dumps
from bayes_assess.errors import JournalError

VERSION = 4  # of journals: of the file, and of what it says; a reader refuses every other one
TABLES = (
    """CREATE TABLE header (format TEXT NOT NULL, version INTEGER NOT NULL, created TEXT NOT NULL, meta TEXT NOT NULL,
    checksum INTEGER NOT NULL)""",
    """CREATE TABLE events (sequence INTEGER PRIMARY KEY, kind TEXT NOT NULL, time TEXT NOT NULL, payload TEXT NOT NULL,
    checksum INTEGER NOT NULL)""",
)
_REMEDIES = {  # by what SQLite says
    "locked": "another process holds it, try again",
    "is full": "free some space and try again",
    "readonly": "it, or its folder, may be read only; copy the run to where you can write",
    "unable to open": "its folder may be read only",
}
UNREADABLE = (TypeError, ValueError, LookupError, AttributeError)  # what values of other types and lengths lead to


@dataclass(frozen=True)
class Event:
    """One entry of a journal.

    Parameters
    ----------
    sequence : int
        Place in the journal, from 1.
    kind : str
        What happened, such as "ask" or "tell".
    time : str
        When it was written, ISO 8601 in UTC.
    payload : dict
        What was written.

    Examples
    --------
    >>> Event(1, "tell", "2030-01-01T00:00:00.000000+00:00", {"ids": [7]}).payload["ids"]
    [7]
    """

    sequence: int
    kind: str
    time: str
    payload: dict[str, Any]


class _Recorded(Event):
    """An event of a journal whose payload is read when somebody looks at it: a snapshot stands for most."""

    def __init__(self, sequence: int, kind: str, time: str, text: str):
        self.__dict__.update(sequence=sequence, kind=kind, time=time, _text=text)

    @cached_property
    def payload(self) -> dict[str, Any]:  # pyright: ignore[reportIncompatibleVariableOverride]
        """What was written."""
        return json.loads(self.__dict__["_text"])


@contextlib.contextmanager
def explained(path: Path, done: str) -> Iterator[None]:
    """Turn SQLite's errors into ours."""
    try:
        yield
    except sqlite3.ProgrammingError as error:
        raise JournalError(f"The journal {path} is closed; open it again.") from error
    except sqlite3.OperationalError as error:
        hint = next((f"; {remedy}" for said, remedy in _REMEDIES.items() if said in str(error)), "")
        if not path.parent.is_dir():
            hint = f"; make its folder {path.parent} first"
        raise JournalError(f"The journal {path} cannot be {done}: {error}{hint}.") from error
    except sqlite3.IntegrityError as error:
        raise JournalError(f"The journal {path} cannot be {done}: {error}.") from error
    except (sqlite3.Error, UnicodeDecodeError) as error:
        raise damaged(path, "a page of the file") from error


def damaged(path: Path, what: str) -> JournalError:
    """Return the error that says which part of a journal is damaged, and what to do."""
    return JournalError(
        f"The journal {path} is damaged: {what} cannot be read as it was written; go on from a copy of the file, or "
        "start a new session and tell the labels again."
    )


def checksum(before: int, number: int, *texts: str | bytes) -> int:
    """Return the checksum of an entry that follows one of checksum `before`."""
    parts = [text if isinstance(text, bytes) else text.encode() for text in texts]
    return zlib.crc32(b"\0".join([b"%d" % number, *parts]), before)


def event_texts(kind: str, payload: Mapping[str, object]) -> tuple[str, str]:
    """Return an event as it is written; raise JournalError if it is none."""
    if not isinstance(kind, str) or not kind:
        raise JournalError(f"The kind of an event is a word such as 'ask'; found {kind!r}.")
    return kind, dumps(payload, f"The payload of the event {kind!r}")


def read_header(connection: sqlite3.Connection, path: Path) -> tuple[dict[str, Any], int]:
    """Return what was said at creation, and the header's checksum."""
    try:
        connection.execute("BEGIN")  # so that nobody writes meanwhile
        ((name, version, created, meta, start),) = connection.execute(
            "SELECT format, version, created, meta, checksum FROM header"
        ).fetchall()
        tables = connection.execute("SELECT sql FROM sqlite_master WHERE type = 'table'").fetchall()
        pages, size = (connection.execute(f"PRAGMA page_{what}").fetchone()[0] for what in ("count", "size"))
        whole = path.stat().st_size >= pages * size
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
    if not whole:
        raise damaged(path, "its end")
    if not {(table.encode(),) for table in TABLES} <= {*tables}:  # of which SQLite would make what it can
        raise ValueError("the tables differ")
    if version != VERSION or start != checksum(0, VERSION, name, created, meta):
        raise ValueError("the checksum differs")
    return json.loads(meta), start


def read_event(row: tuple[Any, ...], sequence: int, before: int) -> tuple[Event, int]:
    """Return an event and its checksum; raise one of `UNREADABLE` if it is not as it was written."""
    number, kind, time, payload, check = row
    if number != sequence or check != checksum(before, sequence, kind, time, payload):
        raise ValueError("a gap, or the checksum differs")
    return _Recorded(sequence, kind.decode(), time.decode(), payload.decode()), check


def path_of(given: str | PathLike[str]) -> Path:
    """Return the path of a journal, or raise JournalError where none is given.

    Examples
    --------
    >>> path_of(5)
    Traceback (most recent call last):
    bayes_assess.errors.JournalError: A journal is named by the path of its file, such as 'run.db'; found 5.
    """
    try:
        return Path(given)
    except TypeError:
        message = f"A journal is named by the path of its file, such as 'run.db'; found {show(given)}."
        raise JournalError(message) from None


def check_header(path: Path) -> None:
    """Raise JournalError unless a file is a journal of the format that this release writes.

    The first bytes are read as bytes: SQLite may change a file merely by opening it, and this may be somebody else's.
    """
    try:
        with path.open("rb") as stream:
            head = stream.read(100)
    except FileNotFoundError:
        raise JournalError(f"There is no journal {path}; check the name, or start one there.") from None
    except OSError as error:
        raise JournalError(f"The journal {path} cannot be opened: {error.strerror or error}.") from error
    if not is_journal(head):
        raise JournalError(f"{path} is not a journal of bayes_assess; check the name.")
    version = int.from_bytes(head[60:64], "big")
    if version != VERSION:
        todo = (
            "upgrade bayes_assess to open it"
            if version > VERSION
            else "open it with the release that wrote it, or start a new session and tell its labels again"
        )
        raise JournalError(
            f"The journal {path} has format {version}, but this release reads format {VERSION} only; {todo}."
        )
