"""An append-only store of asks and labels, in one SQLite file.

Once `Journal.append` returns, the event is on the disk: it survives a killed process and a power cut. An append is one
transaction, so an interrupted one leaves nothing behind. The journal knows nothing of questions or designs: an event
is a kind, a time and a dictionary.

Every event carries a checksum over itself and all before it, the header's first, so that a file whose bytes have
changed is told from a whole one. A journal of another format than this release writes is refused.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import sqlite3
import weakref
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any

from bayes_assess._tools.files import JOURNAL_ID
from bayes_assess._tools.locks import Exclusive
from bayes_assess._tools.strict_json import dumps
from bayes_assess.errors import JournalError, LostTurnError
from bayes_assess.sessions.journal_checks import (
    TABLES,
    UNREADABLE,
    VERSION,
    check_header,
    checksum,
    damaged,
    event_texts,
    explained,
    path_of,
    read_event,
    read_header,
)
from bayes_assess.sessions.journal_checks import Event as Event

FORMAT = "bayes_assess journal"
CHUNK = 1_000  # events that are read at once
PATIENCE = 30.0  # seconds to wait for another process that is writing

_SCHEMA = f"""
{TABLES[0]};
{TABLES[1]};
CREATE TRIGGER header_is_final_1 BEFORE UPDATE ON header BEGIN SELECT RAISE(ABORT, 'a journal is append-only'); END;
CREATE TRIGGER header_is_final_2 BEFORE DELETE ON header BEGIN SELECT RAISE(ABORT, 'a journal is append-only'); END;
CREATE TRIGGER events_are_final_1 BEFORE UPDATE ON events BEGIN SELECT RAISE(ABORT, 'a journal is append-only'); END;
CREATE TRIGGER events_are_final_2 BEFORE DELETE ON events BEGIN SELECT RAISE(ABORT, 'a journal is append-only'); END;
"""


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

    def __init__(self, path: Path, connection: sqlite3.Connection, meta: dict[str, object], start: int):
        self._path = path
        self._connection = connection
        self._meta = meta
        self._start = start  # checksum of the header
        self._lock = Exclusive()  # a transaction belongs to one thread from BEGIN to COMMIT
        self._finalizer = weakref.finalize(self, connection.close)

    @classmethod
    def create(cls, path: str | os.PathLike[str], meta: Mapping[str, object]) -> Journal:
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
        path = path_of(path)
        text = dumps(meta, "The meta data of a journal")
        _refuse_remains(path)
        # Written beside the target and linked into place: a crash leaves no half-made journal.
        temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}.tmp")
        try:
            with explained(path, "created"), contextlib.closing(_connect(temporary, "rwc")) as connection:
                connection.execute(f"PRAGMA application_id = {JOURNAL_ID}")
                connection.execute(f"PRAGMA user_version = {VERSION}")
                connection.executescript(f"BEGIN;{_SCHEMA}")
                created = _now()
                header = FORMAT, VERSION, created, text, checksum(0, VERSION, FORMAT, created, text)
                connection.execute("INSERT INTO header VALUES (?, ?, ?, ?, ?)", header)
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
            If the file is missing, is no journal, is damaged, or has another format.

        Examples
        --------
        >>> Journal.open("no-such-file.db")
        Traceback (most recent call last):
        bayes_assess.errors.JournalError: There is no journal no-such-file.db; ...
        """
        path = path_of(path)
        check_header(path)
        with explained(path, "opened"):
            connection = _connect(path, "rw")
            try:
                meta, start = read_header(connection, path)
            except UNREADABLE as error:  # no row, or no JSON
                connection.close()
                raise damaged(path, "its header") from error
            except BaseException:
                connection.close()
                raise
        return cls(path, connection, meta, start)

    @property
    def path(self) -> Path:
        """The file, as it was named."""
        return self._path

    @property
    def identity(self) -> str:
        """What tells this journal from others, wherever its file is."""
        return f"{self._start:08x}"

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
        with self._lock, explained(self._path, "read"):
            return _last(self._connection)

    def append(
        self,
        kind: str,
        payload: Mapping[str, object],
        *further: tuple[str, Mapping[str, object]],
        expected: int | None = None,
    ) -> int:
        """Write an event; when this returns, the event is on the disk.

        Parameters
        ----------
        kind : str
            What happened, such as "ask" or "tell".
        payload : mapping of str to JSON values
            NumPy numbers and arrays are turned into numbers and lists.
        *further : pairs of kind and payload
            Of events that are written with it, or not at all.
        expected : int, optional
            Sequence number of the last event the caller knows of. If the file holds later ones, nothing is written.

        Returns
        -------
        int
            The sequence number of the last event written.

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
        texts = [event_texts(*event) for event in ((kind, payload), *further)]
        with self._lock, explained(self._path, "written"):
            connection = self._connection
            # No context manager: an interrupt between its start and the block would leave the transaction open.
            try:
                connection.execute("BEGIN IMMEDIATE")  # the write lock first: what is read stays true until the commit
                last, before = self._end()
                if expected is not None and last != expected:
                    raise LostTurnError(
                        f"Somebody else wrote to this journal since it was read; resume it again. "
                        f"({self._path}: expected event {expected} to be the last, found {last}.)"
                    )
                for kind, text in texts:
                    last += 1
                    event = last, kind, _now(), text
                    before = checksum(before, *event)
                    connection.execute("INSERT INTO events VALUES (?, ?, ?, ?, ?)", (*event, before))
                connection.execute("COMMIT")
            except BaseException:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                raise
            return last

    def events(self, after: int = 0) -> Iterator[Event]:
        """Go through the events in order, up to the last one at the start of the iteration.

        Whoever goes through all of them has the whole file checked before.

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
        if not after:
            self._check_file()
        last, before = self.last_sequence, self._start
        if after:
            known = self._rows("sequence = ?", after)
            if not known:
                raise damaged(self._path, f"event {after}")
            before = known[0][-1]
        while after < last:
            rows = self._rows("sequence > ?", after)
            for row in rows[: last - after] or [()]:
                after += 1
                try:
                    event, before = read_event(row, after, before)
                except UNREADABLE as error:
                    raise damaged(self._path, f"event {after}") from error
                yield event

    def _rows(self, where: str, number: int) -> list[tuple[Any, ...]]:
        """Read some events, the texts as bytes: they may be none."""
        with self._lock, explained(self._path, "read"):
            cursor = self._connection.cursor()
            cursor.execute(f"SELECT * FROM events WHERE {where} ORDER BY sequence LIMIT {CHUNK}", (number,))
            return cursor.fetchall()

    def _end(self) -> tuple[int, int]:
        """Return the last event's number and checksum; call it with the lock held."""
        rows = self._connection.execute("SELECT * FROM events ORDER BY sequence DESC LIMIT 1").fetchall()
        return (rows[0][0], rows[0][-1]) if rows else (0, self._start)

    def _check_file(self) -> None:
        """Raise JournalError unless SQLite finds its file whole."""
        with self._lock, explained(self._path, "read"):
            answer = self._connection.execute("PRAGMA quick_check(1)").fetchone()
        if answer not in ((b"ok",), ("ok",)):
            raise damaged(self._path, "a page of the file")

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
        connection.text_factory = bytes  # what a damaged file holds may be no text
    except BaseException:
        connection.close()
        raise
    return connection


def _last(connection: sqlite3.Connection) -> int:
    return connection.execute("SELECT coalesce(max(sequence), 0) FROM events").fetchone()[0]


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
