"""Archives: parts of them that fit in memory, in the compressions that zipfile knows and in Zstandard."""

from __future__ import annotations

import importlib
import struct
import zipfile
import zlib
from collections.abc import Callable, Collection
from pathlib import Path

MOST_BYTES = 2 * 2**30  # of what is read of an archive
_MOST_TIMES = 200  # by which texts get smaller; what gets smaller by more was made to fill memories
_SMALL = 64 * 2**20  # bytes, which fit in any case
ZSTANDARD = 93  # its number among the compressions of archives
_LOCAL = struct.Struct("<4s22xHH")  # header of a part: signature, ..., lengths of its name and of further fields


class NoZstandard(Exception):
    """Parts are compressed by Zstandard, and nothing here can read it."""


def check_unpacked(archive: zipfile.ZipFile, names: Collection[str] | None = None) -> None:
    """Raise ValueError if what is to be read of an archive would fill the memory.

    Parameters
    ----------
    archive : ZipFile
    names : collection of str, optional
        What is to be read; everything by default.

    Examples
    --------
    >>> import io
    >>> with zipfile.ZipFile(io.BytesIO(), "w") as archive:
    ...     archive.writestr("a.txt", "fine")
    ...     check_unpacked(archive)
    """
    parts = [part for part in archive.infolist() if names is None or part.filename in names]
    size = sum(part.file_size for part in parts)
    packed = sum(part.compress_size for part in parts)
    if size > MOST_BYTES or (size > _SMALL and size > _MOST_TIMES * packed):
        raise ValueError(
            f"its {packed / 1e6:,.1f} MB would unpack to {size / 1e6:,.0f} MB, more than is read; if it is sound, "
            "split it into several files"
        )


def read_part(path: Path, archive: zipfile.ZipFile, name: str) -> bytes:
    """Return a part of an archive, which has passed `check_unpacked`.

    Raises
    ------
    NoZstandard
        If that is what it is compressed by, and no library is there.
    zipfile.BadZipFile
        If it is damaged.
    """
    part = archive.getinfo(name)
    if part.compress_type != ZSTANDARD:
        return archive.read(name)
    unpack = _zstandard()
    with path.open("rb") as stream:
        stream.seek(part.header_offset)
        signature, *lengths = _LOCAL.unpack(stream.read(_LOCAL.size))
        if signature != b"PK\x03\x04":
            raise zipfile.BadZipFile(f"{name} is not where the archive says it is")
        stream.seek(sum(lengths), 1)
        content = unpack(stream.read(part.compress_size), part.file_size)
    if len(content) != part.file_size or zlib.crc32(content) != part.CRC:
        raise zipfile.BadZipFile(f"{name} is damaged")
    return content


def _zstandard() -> Callable[[bytes, int], bytes]:
    """Return what unpacks bytes to so many of them, at most."""
    for module in ("compression.zstd", "backports.zstd"):  # Python 3.14, or what it was made of
        try:
            library = importlib.import_module(module)
        except ImportError:
            continue
        return lambda packed, size: library.ZstdDecompressor().decompress(packed, max_length=max(size, 1))
    try:
        library = importlib.import_module("zstandard")
    except ImportError:
        raise NoZstandard from None
    return lambda packed, size: library.ZstdDecompressor().stream_reader(packed).read(size)
