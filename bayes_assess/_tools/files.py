"""Files that are complete or, after a crash, what they were before."""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Iterator
from pathlib import Path

from bayes_assess.errors import OutputError

# The header of an SQLite file carries both, so that journals are told from other files without opening them.
_SQLITE = b"SQLite format 3\0"
JOURNAL_ID = 0x42794173  # "ByAs"

_begun: set[Path] = set()  # files that are being written and have not taken their places yet


def is_journal(head: bytes) -> bool:
    """Tell by the first 100 bytes of a file whether it is a journal of a session.

    Examples
    --------
    >>> is_journal(b"id,label")
    False
    """
    return head[:16] == _SQLITE and int.from_bytes(head[68:72], "big") == JOURNAL_ID


def path_of(path: object, what: str) -> Path:
    """Return the path of a file that is to be written; `what` it holds is for messages.

    Raises
    ------
    OutputError
        If it is no path.

    Examples
    --------
    >>> path_of("run/labels.csv", "table").name
    'labels.csv'
    >>> path_of(None, "table")
    Traceback (most recent call last):
    bayes_assess.errors.OutputError: Name the file to write the table to by its path; found NoneType.
    """
    if not isinstance(path, str | os.PathLike):
        raise OutputError(f"Name the file to write the {what} to by its path; found {type(path).__name__}.")
    return Path(path)


@contextlib.contextmanager
def written_whole(path: str | os.PathLike[str], what: str) -> Iterator[Path]:
    """Give a place to write a file to, which takes the place of `path` once it is complete.

    Parameters
    ----------
    path : path-like
        Where to write. An existing file is replaced, and so is what a link points to, but for journals.
    what : str
        What is written, for messages.

    Raises
    ------
    OutputError
        If the file cannot be written, is none, or is the journal of a session.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with written_whole(f"{folder}/a.txt", "text") as temporary:
    ...         _ = temporary.write_text("whole")
    ...     print([path.name for path in Path(folder).iterdir()])
    ['a.txt']
    """
    target = path_of(path, what)
    real = target.resolve()
    temporary = real.with_name(f".{real.name}.{secrets.token_hex(4)}.tmp")
    _begun.add(temporary)
    try:
        if real.exists() and not real.is_file():
            raise OutputError(f"Cannot write the {what} to {target}: it exists and is not a file.")
        if real.exists() and is_journal(_head(real)):
            raise OutputError(
                f"Cannot write the {what} to {target}: it is the journal of a session; choose another name."
            )
        try:
            yield temporary
            with temporary.open("rb+") as stream:
                os.fsync(stream.fileno())
            os.replace(temporary, real)
        finally:
            with contextlib.suppress(FileNotFoundError, NotADirectoryError):
                temporary.unlink()
    except OSError as error:
        raise OutputError(f"Cannot write the {what} to {target}: {error.strerror or error}.") from error
    finally:
        _begun.discard(temporary)


def is_writing() -> bool:
    """Tell whether a file is being written of which a part would be left if the process ended now.

    Examples
    --------
    >>> is_writing()
    False
    """
    return bool(_begun)


def _head(path: Path) -> bytes:
    with path.open("rb") as stream:
        return stream.read(100)
