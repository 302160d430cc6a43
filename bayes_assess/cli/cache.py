"""Compiled code that one command leaves to the next: every command is a process of its own, and compiling takes most.

Nothing of a pool is kept, only code for the shapes of its arrays.
"""

from __future__ import annotations

import os
from pathlib import Path

_MOST_FILES = 3000  # some 20 MB
_LEAST_SECONDS = "0"  # of compiling that are worth a file: a hundred small functions take half of the time


def keep_compiled() -> None:
    """Let JAX keep compiled code in ``bayes-assess`` in the user's cache folder, unless its own settings say where.

    To be called before JAX is imported. Where the folder cannot be written, every command compiles for itself.
    """
    if "JAX_COMPILATION_CACHE_DIR" in os.environ:
        return
    try:
        home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
        folder = Path(home) / "bayes-assess"
        folder.mkdir(parents=True, exist_ok=True)
        _prune(folder)
    except (OSError, RuntimeError):  # no home folder
        return
    if os.access(folder, os.W_OK):
        os.environ["JAX_COMPILATION_CACHE_DIR"] = str(folder)
        os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", _LEAST_SECONDS)


def _prune(folder: Path) -> None:
    """Delete the oldest files where there are too many, and those that an interrupted command left empty."""
    files = []
    for entry in os.scandir(folder):
        if entry.is_file():
            if entry.stat().st_size:
                files.append(entry)
            else:
                Path(entry.path).unlink(missing_ok=True)
    if len(files) > _MOST_FILES:
        for entry in sorted(files, key=lambda entry: entry.stat().st_mtime)[:-_MOST_FILES]:
            Path(entry.path).unlink(missing_ok=True)
