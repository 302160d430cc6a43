"""An append-only store of asks and labels, in one SQLite file.

Once `Journal.append` returns, the event is on the disk: it survives a killed process and a power cut. An append is one
transaction, so an interrupted one leaves nothing behind. The journal knows nothing of questions or designs: an event
is a kind, a time and a dictionary.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import sqlite3
import threading
import weakref
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any

from bayes_assess._tools.strict_json import dumps
from bayes_assess.errors import JournalError, LostTurnError

FORMAT = "bayes_assess journal"
VERSION = 1  # of the file format; a reader refuses a newer one
PATIENCE = 30.0  # seconds to wait for another process that is writing

# The header of an SQLite file carries these two, so a stranger's database is told apart without opening it.
_MAGIC = b"SQLite format 3\0"
_APPLICATION_ID = 0x42794173  # "ByAs"

_SCHEMA = """
CREATE TABLE header (format TEXT NOT NULL, version INTEGER NOT NULL, created TEXT NOT NULL, meta TEXT NOT NULL);
CREATE TABLE events (sequence INTEGER PRIMARY KEY, kind TEXT NOT NULL, time TEXT NOT NULL, payload TEXT NOT NULL);
CREATE TRIGGER header_is_final_1 BEFORE UPDATE ON header BEGIN SELECT RAISE(ABORT, 'a journal is append-only'); END;
CREATE TRIGGER header_is_final_2 BEFORE DELETE ON header BEGIN SELECT RAISE(ABORT, 'a journal is append-only'); END;
CREATE TRIGGER events_are_final_1 BEFORE UPDATE ON events BEGIN SELECT RAISE(ABORT, 'a journal is append-only'); END;
CREATE TRIGGER events_are_final_2 BEFORE DELETE ON events BEGIN SELECT RAISE(ABORT, 'a journal is append-only'); END;
"""


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


class Journal:
    """An append-only file of events; made by `Journal.create` or `Journal.open`.

    It may be used from several threads, and several processes may append to one file.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> folder = tempfile.TemporaryDirectory()
    >>> with Journal.create(f"{folder.name}/run.db", {"seed": 0}) as journal:
    ...     journal.append("ask", {"ids": np.arange(3)})
    1
    >>> with Journal.open(f"{folder.name}/run.db") as journal:
    ...     print(journal.meta, [(event.kind, event.payload) for event in journal.events()])
    {'seed': 0} [('ask', {'ids': [0, 1, 2]})]
    >>> folder.cleanup()
    """

    def __init__(self, path: Path, connection: sqlite3.Connection, meta: dict[str, Any]):
        self._path = path
        self._connection = connection
        self._meta = meta
        self._lock = threading.Lock()  # a transaction belongs to one thread from BEGIN to COMMIT
        self._finalizer = weakref.finalize(self, connection.close)

    @classmethod
    def create(cls, path: str | os.PathLike[str], meta: Mapping[str, Any]) -> Journal:
        """Start a journal in a new file, all or nothing.

        Parameters
        ----------
        path : path-like
            A file that does not exist yet.
        meta : mapping
            What never changes: the pool's fingerprint, the question, the design, the seed. JSON values; NumPy
            numbers and arrays are turned into numbers and lists.

        Returns
        -------
        Journal
            Open and without events.

        Raises
        ------
        JournalError
            If the file exists, or cannot be written.

        Examples
        --------
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder, Journal.create(f"{folder}/run.db", {}) as journal:
        ...     journal.last_sequence
        0
        """
        path = Path(path)
        text = dumps(meta, "The meta data of a journal")
        _refuse_remains(path)
        # Written beside the target and linked into place: a crash leaves no half-made journal.
        temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}.tmp")
        try:
            with _explained(path, "created"), contextlib.closing(_connect(temporary, "rwc")) as connection:
                connection.execute(f"PRAGMA application_id = {_APPLICATION_ID}")
                connection.execute(f"PRAGMA user_version = {VERSION}")
                connection.executescript(f"BEGIN;{_SCHEMA}")
                connection.execute("INSERT INTO header VALUES (?, ?, ?, ?)", (FORMAT, VERSION, _now(), text))
                connection.execute("COMMIT")
            try:
                _publish(temporary, path)
            except FileExistsError:
                raise _exists(path) from None
            except OSError as error:
                raise JournalError(f"The journal {path} cannot be created: {error.strerror or error}.") from error
        finally:
            with contextlib.suppress(OSError):
                temporary.unlink()
        return cls.open(path)

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> Journal:
        """Open an existing journal, to read it and to append to it.

        Parameters
        ----------
        path : path-like
            A file that `create` made.

        Returns
        -------
        Journal
            With all events whose append had returned.

        Raises
        ------
        JournalError
            If the file is missing, is no journal, is damaged, or has a newer format.

        Examples
        --------
        >>> Journal.open("no-such-file.db")
        Traceback (most recent call last):
        bayes_assess.errors.JournalError: There is no journal no-such-file.db; ...
        """
        path = Path(path)
        _check_header(path)
        with _explained(path, "opened"):
            connection = _connect(path, "rw")
            try:
                text = connection.execute("SELECT meta FROM header").fetchone()[0]
                meta = json.loads(text)
            except (TypeError, ValueError) as error:  # no row, or no JSON
                connection.close()
                raise JournalError(f"The journal {path} is damaged: its header cannot be read.") from error
            except BaseException:
                connection.close()
                raise
        return cls(path, connection, meta)

    @property
    def path(self) -> Path:
        """The file, as it was named."""
        return self._path

    @property
    def meta(self) -> dict[str, Any]:
        """A copy of what was said at creation."""
        return json.loads(json.dumps(self._meta))

    @property
    def closed(self) -> bool:
        """Whether `close` was called."""
        return not self._finalizer.alive

    @property
    def last_sequence(self) -> int:
        """Sequence number of the last event in the file, 0 if there is none."""
        with self._lock, _explained(self._path, "read"):
            return _last(self._connection)

    def append(self, kind: str, payload: Mapping[str, Any], *, expected: int | None = None) -> int:
        """Write one event; when this returns, the event is on the disk.

        Parameters
        ----------
        kind : str
            What happened, such as "ask" or "tell".
        payload : mapping of str to JSON values
            NumPy numbers and arrays are turned into numbers and lists.
        expected : int, optional
            Sequence number of the last event the caller knows of. If the file holds later ones, nothing is written.

        Returns
        -------
        int
            The event's sequence number.

        Raises
        ------
        LostTurnError
            If somebody else wrote in between. Nothing is written then.
        JournalError
            If the payload is no JSON, or if the file cannot be written. Nothing is written then.

        Examples
        --------
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder, Journal.create(f"{folder}/run.db", {}) as journal:
        ...     first = journal.append("ask", {"ids": [4, 2]})
        ...     journal.append("tell", {"ids": [4], "labels": ["cat"]}, expected=first)
        2
        """
        if not isinstance(kind, str) or not kind:
            raise JournalError(f"The kind of an event is a word such as 'ask'; found {kind!r}.")
        text = dumps(payload, f"The payload of the event {kind!r}")
        with self._lock, _explained(self._path, "written"), _transaction(self._connection) as connection:
            last = _last(connection)
            if expected is not None and last != expected:
                raise LostTurnError(
                    f"Somebody else wrote to this journal since it was read; resume it again. "
                    f"({self._path}: expected event {expected} to be the last, found {last}.)"
                )
            connection.execute("INSERT INTO events VALUES (?, ?, ?, ?)", (last + 1, kind, _now(), text))
        return last + 1

    def events(self, after: int = 0) -> Iterator[Event]:
        """Go through the events in order, up to the last one at the start of the iteration.

        Parameters
        ----------
        after : int
            Sequence number of the event before the first.

        Yields
        ------
        Event
            One at a time; no lock is held in between.

        Raises
        ------
        JournalError
            If the file is damaged.

        Examples
        --------
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder, Journal.create(f"{folder}/run.db", {}) as journal:
        ...     sequence = journal.append("tell", {"ids": [4], "labels": ["cat"]})
        ...     [(event.sequence, event.kind) for event in journal.events()]
        [(1, 'tell')]
        """
        query = "SELECT sequence, kind, time, payload FROM events WHERE sequence >= ? ORDER BY sequence LIMIT 1"
        for sequence in range(after + 1, self.last_sequence + 1):
            with self._lock, _explained(self._path, "read"):
                row = self._connection.execute(query, (sequence,)).fetchone()
            try:
                if row[0] != sequence:
                    raise ValueError("a gap")
                payload = json.loads(row[3])
            except (TypeError, ValueError) as error:
                raise JournalError(f"The journal {self._path} is damaged: event {sequence} cannot be read.") from error
            yield Event(sequence, row[1], row[2], payload)

    def close(self) -> None:
        """Let go of the file; the journal cannot be used afterwards. Closing twice is harmless."""
        with self._lock:
            self._finalizer()

    def __enter__(self) -> Journal:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Journal({str(self._path)!r})"


def _connect(path: Path, mode: str) -> sqlite3.Connection:
    uri = f"{path.absolute().as_uri()}?mode={mode}"
    # isolation_level=None: transactions begin and end where this file says so.
    connection = sqlite3.connect(uri, uri=True, timeout=PATIENCE, isolation_level=None, check_same_thread=False)
    try:
        # SQLite's default rollback journal, not a write-ahead log: between appends all is in one file, safe to copy.
        connection.execute("PRAGMA synchronous = EXTRA")  # FULL, and the folder is synced: a power cut undoes nothing
    except BaseException:
        connection.close()
        raise
    return connection


@contextlib.contextmanager
def _transaction(connection: sqlite3.Connection) -> Iterator[sqlite3.Connection]:
    connection.execute("BEGIN IMMEDIATE")  # the write lock first: what is read next stays true until the commit
    try:
        yield connection
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


@contextlib.contextmanager
def _explained(path: Path, done: str) -> Iterator[None]:
    """Turn SQLite's errors into ours."""
    try:
        yield
    except sqlite3.ProgrammingError as error:
        raise JournalError(f"The journal {path} is closed; open it again.") from error
    except sqlite3.Error as error:
        hint = "; another process holds it, try again" if "locked" in str(error) else ""
        raise JournalError(f"The journal {path} cannot be {done}: {error}{hint}.") from error


def _last(connection: sqlite3.Connection) -> int:
    return connection.execute("SELECT coalesce(max(sequence), 0) FROM events").fetchone()[0]


def _check_header(path: Path) -> None:
    """Read the first bytes as bytes: SQLite may change a file merely by opening it, and this may be somebody else's."""
    try:
        with path.open("rb") as stream:
            head = stream.read(100)
    except FileNotFoundError:
        raise JournalError(f"There is no journal {path}; check the name, or start one there.") from None
    except OSError as error:
        raise JournalError(f"The journal {path} cannot be opened: {error.strerror or error}.") from error
    if head[:16] != _MAGIC or int.from_bytes(head[68:72], "big") != _APPLICATION_ID:
        raise JournalError(f"{path} is not a journal of bayes_assess; check the name.")
    version = int.from_bytes(head[60:64], "big")
    if version > VERSION:
        raise JournalError(
            f"The journal {path} has format {version}, but this release reads formats up to {VERSION}; "
            "upgrade bayes_assess to open it."
        )


def _refuse_remains(path: Path) -> None:
    if path.exists() or path.is_symlink():
        raise _exists(path)
    for suffix in ("-journal", "-wal"):
        remains = path.with_name(path.name + suffix)
        if remains.exists():
            # SQLite would take it for the undo log of the new file and damage that.
            raise JournalError(f"{remains} is left over from a deleted journal; delete it too, or choose another name.")


def _exists(path: Path) -> JournalError:
    return JournalError(f"{path} exists already; resume it if it is a journal, or choose another name.")


def _publish(temporary: Path, path: Path) -> None:
    """Give a finished file its name, unless the name is taken, and make the name durable."""
    try:
        os.link(temporary, path)
    except FileExistsError:
        raise
    except OSError:  # a file system without links; renaming may overwrite, so claim the name first
        path.touch(exist_ok=False)
        os.replace(temporary, path)
    if os.name == "posix":
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="microseconds")
