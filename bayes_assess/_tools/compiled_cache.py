"""Compiled programs that one process leaves to the next: compiling takes most of the time of the first.

They are kept in ``bayes-assess`` in the user's cache folder, in a folder for each kind of processor and release of JAX,
which nobody else can read. Nothing of a pool is kept, only code for the shapes of its arrays. Settings of JAX's own
(``JAX_COMPILATION_CACHE_DIR``, `jax_compilation_cache_dir`) come first, and ``BAYES_ASSESS_CACHE`` says where else, or
"off".
"""

from __future__ import annotations

import hashlib
import os
import platform
import time
from functools import cache
from pathlib import Path

SWITCH = "BAYES_ASSESS_CACHE"
_OFF = {"0", "false", "no", "off"}
_MOST_BYTES = 300_000_000
_MOST_DAYS = 60
_MAPS = Path("/proc/self/maps")
_MOST_MAPS = Path("/proc/sys/vm/max_map_count")
_LEAST_SECONDS = 0.0  # of compiling that are worth a file: a hundred small functions take half of the time


@cache
def keep_compiled() -> None:
    """Let JAX keep what it compiles from now on, once per process; see the module.

    To be called where compiled steps begin, not at import: it is a setting of the whole process. Where the folder
    cannot be written, every process compiles for itself.
    """
    import jax

    chosen = getattr(jax.config, "jax_compilation_cache_dir", None)
    folder = None if chosen else cache_folder()
    if folder is None:
        return
    jax.config.update("jax_compilation_cache_dir", str(folder))
    if "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS" not in os.environ:
        jax.config.update("jax_persistent_cache_min_compile_time_secs", _LEAST_SECONDS)
    from jax.experimental.compilation_cache.compilation_cache import reset_cache

    reset_cache()  # what was compiled before has settled that nothing is kept


def leave_room() -> None:
    """Forget the programs of this process where it has half of the memory maps that Linux lets it have.

    A program takes hundreds of them, and one too many ends the process, after some hundred studies say. What is needed
    again is read from the folder, or compiled anew. To be called before something large is compiled.
    """
    try:
        most, maps = int(_MOST_MAPS.read_text()), _MAPS.read_bytes().count(b"\n")
    except OSError:  # no Linux
        return
    if maps > most // 2:
        import jax

        jax.clear_caches()


def cache_folder() -> Path | None:
    """Return the folder of compiled programs, made and tidied; None where there is none.

    Examples
    --------
    >>> import os
    >>> os.environ["BAYES_ASSESS_CACHE"] = "off"
    >>> cache_folder() is None
    True
    >>> del os.environ["BAYES_ASSESS_CACHE"]
    """
    chosen = os.environ.get(SWITCH, "")
    if chosen.lower() in _OFF:
        return None
    from importlib.metadata import version  # takes long to import, and most sessions compile nothing

    try:
        home = Path(chosen) if chosen else Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
        folder = home / "bayes-assess" / f"{_processor()}-jaxlib-{version('jaxlib')}"
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        _prune(folder)
    except (OSError, RuntimeError):  # no home folder
        return None
    return folder if os.access(folder, os.W_OK) else None


def _processor() -> str:
    """Return a name for what code can run on: folders are shared by the machines of a cluster."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        kinds = ("model name", "flags", "Features", "CPU part")
        said = sorted({line for line in lines if line.startswith(kinds)})
    except OSError:
        said = [platform.processor()]
    return f"{platform.machine()}-{hashlib.sha256(chr(10).join(said).encode()).hexdigest()[:12]}"


def _prune(folder: Path) -> None:
    """Delete what is old, the oldest where there is too much, and what an interrupted process left empty."""
    files, oldest = [], time.time() - 86_400 * _MOST_DAYS
    for entry in os.scandir(folder):
        if entry.is_file():
            status = entry.stat()
            if status.st_size and status.st_mtime > oldest:
                files.append((status.st_mtime, status.st_size, entry.path))
            else:
                Path(entry.path).unlink(missing_ok=True)
    total = sum(size for _, size, _ in files)
    for _, size, path in sorted(files):
        if total <= _MOST_BYTES:
            break
        total -= size
        Path(path).unlink(missing_ok=True)
