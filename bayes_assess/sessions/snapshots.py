"""Snapshots of a campaign: what events have made of it, so that whoever goes on from there need not follow them all.

A snapshot says nothing that the events do not say. It counts only for the release that took it, for a campaign that
starts as that one did, and behind the very events that it was taken after; what is damaged, or of another kind, is
passed over, and the events are followed instead.

Some older ones are kept, too, the rarer the older they are: a label that is put right is followed from before it was
told.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import re
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Protocol, TypeGuard

import numpy as np

from bayes_assess import __version__
from bayes_assess._tools import pytrees
from bayes_assess._tools.axes import own_settings
from bayes_assess._tools.lazy import jax, jnp
from bayes_assess.books.annotators import AnnotatorBook
from bayes_assess.books.items import ItemBook
from bayes_assess.books.rounds import RoundBook
from bayes_assess.designs import State
from bayes_assess.errors import JournalError
from bayes_assess.sessions.course import Course
from bayes_assess.sessions.journal import Event, Journal
from bayes_assess.sessions.journal_checks import explained
from bayes_assess.sessions.open_steps import OpenSteps

EVERY = 250  # events or labels, about, between two snapshots
_MOST_BYTES = 32_000_000  # of all snapshots of a journal but the last
_FORMAT = 5
_UNLABELLED = (-3, -2, -1)  # in the place of codes
_PLAIN = (np.ndarray, np.generic, bool, int, float)  # leaves that are not JAX's
_SCHEMA = """CREATE TABLE IF NOT EXISTS snapshots (sequence INTEGER PRIMARY KEY, format INTEGER NOT NULL,
    after INTEGER NOT NULL, checksum INTEGER NOT NULL, data BLOB NOT NULL)"""

Arrays = Mapping[str, np.ndarray]


class SnapshotStore(Protocol):
    """Where snapshots are kept."""

    def before(self, sequence: int) -> Iterator[tuple[int, Arrays]]:
        """Go through snapshots taken after that event or earlier ones, the last first."""
        ...

    def keep(self, sequence: int, arrays: Arrays) -> None:
        """Keep the arrays of a campaign as it is after that event."""
        ...


class InMemory:
    """Snapshots of a session without a journal.

    Examples
    --------
    >>> store = InMemory()
    >>> store.keep(1_000, {"n": np.array(3)})
    >>> [(sequence, int(arrays["n"])) for sequence, arrays in store.before(1_500)]
    [(1000, 3)]
    """

    def __init__(self) -> None:
        self._kept: dict[int, Arrays] = {}

    def before(self, sequence: int) -> Iterator[tuple[int, Arrays]]:
        """Go through snapshots taken after that event or earlier ones, the last first."""
        for at in sorted(self._kept, reverse=True):
            if at <= sequence:
                yield at, self._kept[at]

    def keep(self, sequence: int, arrays: Arrays) -> None:
        """Keep the arrays of a campaign as it is after that event."""
        self._kept[sequence] = {name: array.copy() for name, array in arrays.items()}
        sizes = {at: sum(array.nbytes for array in snapshot.values()) for at, snapshot in self._kept.items()}
        for at in superfluous(sizes):
            del self._kept[at]


class InJournal:
    """Snapshots beside the events of a journal, in a table of their own; nothing else of it ever changes."""

    def __init__(self, journal: Journal):
        self._journal = journal

    def before(self, sequence: int) -> Iterator[tuple[int, Arrays]]:
        """Go through snapshots taken after that event or earlier ones, the last first; whole ones only."""
        for (at,) in self._read("SELECT sequence FROM snapshots ORDER BY sequence DESC"):
            if at <= sequence and (arrays := self._load(at)) is not None:
                yield at, arrays

    def keep(self, sequence: int, arrays: Arrays) -> None:
        """Keep the arrays of a campaign as it is after that event; without a word if they cannot be written."""
        journal, data = self._journal, packed(arrays)
        with contextlib.suppress(JournalError), journal._lock, explained(journal.path, "written"):
            connection = journal._connection
            try:
                connection.execute("BEGIN IMMEDIATE")
                connection.execute(_SCHEMA)
                after = connection.execute("SELECT checksum FROM events WHERE sequence = ?", (sequence,)).fetchone()
                row = sequence, _FORMAT, after[0], zlib.crc32(data), data
                connection.execute("INSERT OR REPLACE INTO snapshots VALUES (?, ?, ?, ?, ?)", row)
                sizes = dict(connection.execute("SELECT sequence, length(data) FROM snapshots").fetchall())
                gone = [(at,) for at in superfluous(sizes)]
                connection.executemany("DELETE FROM snapshots WHERE sequence = ?", gone)
                connection.execute("COMMIT")
            except BaseException:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                raise

    def _load(self, sequence: int) -> Arrays | None:
        """Return the arrays of one snapshot; None if it is not as it was written, or was taken after other events."""
        rows = self._read(
            "SELECT s.format, s.after, e.checksum, s.checksum, s.data FROM snapshots s, events e "
            "WHERE s.sequence = ? AND e.sequence = s.sequence",
            sequence,
        )
        if not rows:
            return None
        ((version, after, now, checksum, data),) = rows
        if version != _FORMAT or after != now or not isinstance(data, bytes) or zlib.crc32(data) != checksum:
            return None
        return unpacked(data)

    def _read(self, query: str, *values: int) -> list[tuple[Any, ...]]:
        """Return rows; none where there is no such table yet, or it cannot be read."""
        journal = self._journal
        with contextlib.suppress(JournalError), journal._lock, explained(journal.path, "read"):
            return journal._connection.execute(query, values).fetchall()
        return []


class Snapshots:
    """When to take snapshots of one session, and where from to go on; in its journal, if they are `lasting`."""

    def __init__(self, lasting: bool = True) -> None:
        self._memory, self._lasting = InMemory(), lasting
        self._at = self._labels = 0  # events and labels at the last one
        self._start: np.ndarray | None = None  # digest

    def take(self, campaign: Course, sequence: int, journal: Journal | None) -> None:
        """Keep a campaign as it is after that event, if the last snapshot was long before.

        None is taken where items may have several labels: draws are few, as every one costs a label.
        """
        labels = campaign._items.n_labelled
        if campaign.repeats_items or (sequence - self._at < EVERY and abs(labels - self._labels) < EVERY):
            return
        self._at, self._labels = sequence, labels
        arrays = state_arrays(campaign._state, campaign._start)
        if arrays is not None:
            books = {f"{name} {key}": array for name, book in _books(campaign) for key, array in book.arrays().items()}
            told = campaign.pool.label_space.told()
            self._store(journal).keep(sequence, {"start": self._digest(campaign), "told": told, **arrays, **books})

    def stages(self, events: Sequence[Event], known: int) -> Iterator[slice]:
        """Cut further events of a record into parts after which snapshots are taken, and a last one."""
        for stop in range(known + EVERY, len(events), EVERY):
            yield slice(known, stop)
            known = stop
        yield slice(known, None)

    def restored(self, campaign: Course, fresh: Course, events: Sequence[Event]) -> int:
        """Bring a campaign that is new to the last of its snapshots that fits; return the event it was taken after.

        None fits that holds a label which later events have put right.

        Parameters
        ----------
        campaign : Campaign
            Whose snapshots these are.
        fresh : Campaign
            Another one that has followed no event.
        events : sequence of Event
            All that are to be followed.
        """
        for at, arrays in self._store(campaign.journal).before(len(events)):
            if arrays["start"].tobytes() != self._digest(fresh).tobytes():
                continue
            if not fresh.pool.label_space.adopt(arrays["told"]):  # before labels of later events get codes
                continue
            corrections = fresh._corrections(events[at:])
            label = dict(zip(arrays["items items"].tolist(), arrays["items label"].tolist(), strict=True))
            if any(label.get(item, -1) not in (code, *_UNLABELLED) for item, code in corrections.items()):
                continue
            fresh._state = state_of(arrays, fresh._start)
            for name, book in _books(fresh):
                own = f"{name} "
                book.restore({key.removeprefix(own): array for key, array in arrays.items() if key.startswith(own)})
            self._at, self._labels = at, fresh._items.n_labelled
            return at
        self._at = self._labels = 0
        return 0

    def _store(self, journal: Journal | None) -> SnapshotStore:
        # Items of an engine's table are numbered as they were met, by every process anew.
        return InJournal(journal) if journal is not None and self._lasting else self._memory

    def _digest(self, campaign: Course) -> np.ndarray:
        if self._start is None:
            self._start = start_digest(campaign._start)
        return self._start


def _books(campaign: Course) -> list[tuple[str, ItemBook | AnnotatorBook | OpenSteps | RoundBook]]:
    """Return what a campaign keeps beside the state of its design, by name."""
    books = {"items": campaign._items, "annotators": campaign._annotators}
    books |= {"steps": campaign._steps, "rounds": campaign._rounds}
    return [(name, book) for name, book in books.items() if book is not None]


def superfluous(sizes: Mapping[int, int]) -> list[int]:
    """Return the snapshots to forget, by the event they were taken after and their sizes in bytes.

    Of those about 1, 2, 4, 8, ... times `EVERY` events older than the last the oldest ones stay, as far as there is
    room.

    Examples
    --------
    >>> superfluous(dict.fromkeys([250, 500, 750, 1000, 1250, 1500], 10))
    [1000, 500]
    """
    last = max(sizes)
    oldest = {((last - at) // EVERY).bit_length(): at for at in sorted(sizes, reverse=True)}
    room, gone = _MOST_BYTES, []
    for at in sorted(sizes, reverse=True):
        if at == last:
            continue
        wanted = at == oldest[((last - at) // EVERY).bit_length()] and sizes[at] <= room
        room -= sizes[at] if wanted else 0
        gone += [] if wanted else [at]
    return gone


def packed(arrays: Arrays) -> bytes:
    """Write arrays down, none of which holds objects."""
    stream = io.BytesIO()
    np.savez(stream, allow_pickle=False, **dict(arrays))
    return stream.getvalue()


def unpacked(data: bytes) -> Arrays | None:
    """Read what `packed` wrote; None if it is something else.

    Examples
    --------
    >>> unpacked(packed({"n": np.arange(2)}))["n"].tolist(), unpacked(b"something else")
    ([0, 1], None)
    """
    try:
        with np.load(io.BytesIO(data), allow_pickle=False) as archive:
            return dict(archive)
    except (ValueError, OSError, EOFError, KeyError, zipfile.BadZipFile, zlib.error):
        return None


def start_digest(state: State) -> np.ndarray:
    """Compute a digest of the state that a campaign starts from, and of the release."""
    leaves, structure, _ = _flattened(state)
    said = re.sub(r" at 0x\w+", "", str(structure))  # functions lie elsewhere in every process
    digest = hashlib.sha256(f"{__version__} {said}".encode())
    for leaf in _numbers(leaves):
        digest.update(f"{leaf.dtype}{leaf.shape}".encode())
        digest.update(np.ascontiguousarray(leaf).tobytes())
    return np.frombuffer(digest.digest(), np.uint8)


def state_arrays(state: State, start: State) -> dict[str, np.ndarray] | None:
    """Return the leaves of a state that differ from those of the start; None where their shapes do, too."""
    (leaves, structure, _), (before, same, _) = _flattened(state), _flattened(start)
    if structure != same:
        return None
    arrays = {}
    for place, (leaf, first) in enumerate(zip(_numbers(leaves), _numbers(before), strict=True)):
        if leaf.dtype != first.dtype or leaf.shape != first.shape:
            return None
        if leaf.tobytes() != first.tobytes():
            arrays[f"state {place}"] = leaf
    return arrays


def state_of(arrays: Arrays, start: State) -> State:
    """Return the state whose `state_arrays` these are."""
    leaves, _, together = _flattened(start)
    for place, leaf in enumerate(leaves):
        array = arrays.get(f"state {place}")
        if array is not None and isinstance(leaf, _PLAIN):  # of eager steps
            leaves[place] = array
        elif array is not None:
            with own_settings():
                put = jax.device_put(array)
                leaves[place] = jax.random.wrap_key_data(put) if _is_key(leaf) else put
    return together(leaves)


def _flattened(state: State) -> tuple[list[object], object, Callable[[Sequence[object]], State]]:
    """Take a state apart: its leaves, its structure, and what puts leaves together; without JAX where none is its."""
    leaves = list(pytrees.leaves(state))
    if all(isinstance(leaf, _PLAIN) for leaf in leaves):
        return leaves, pytrees.structure(state), lambda new_leaves: pytrees.with_leaves(state, new_leaves)
    leaves, structure = jax.tree.flatten(state)
    return leaves, structure, structure.unflatten


def _numbers(leaves: Sequence[object]) -> list[np.ndarray]:
    return [np.asarray(jax.random.key_data(leaf) if _is_key(leaf) else leaf) for leaf in leaves]


def _is_key(leaf: object) -> TypeGuard[jax.Array]:
    if isinstance(leaf, _PLAIN):
        return False
    return isinstance(leaf, jax.Array) and jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key)
