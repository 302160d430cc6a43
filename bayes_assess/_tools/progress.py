"""Signs that something takes its time: on a terminal and in notebooks, never in a pipe."""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
import threading
import time
from collections.abc import Callable, Iterator
from functools import wraps
from typing import Any, ParamSpec, Protocol, TextIO, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

SWITCH = "BAYES_ASSESS_PROGRESS"
_PATIENCE = 1.0  # seconds until there is a sign
_EVERY = 0.25  # seconds between signs
_OFF = ("0", "false", "no", "off")


class _Screen(Protocol):
    def show(self, text: str) -> None:
        """Put this text in the place of the last."""
        ...

    def end(self, text: str, *, shown: bool) -> None:
        """Leave nothing behind, or the text."""
        ...


class _Terminal:
    """The last line of a terminal."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def show(self, text: str) -> None:
        self._stream.write(f"\r{text[: shutil.get_terminal_size().columns - 1]}\x1b[K")
        self._stream.flush()

    def end(self, text: str, *, shown: bool) -> None:
        if shown:
            self.show("")


class _Log(_Terminal):
    """A file, which gets a line in the end."""

    def show(self, text: str) -> None:
        pass

    def end(self, text: str, *, shown: bool) -> None:
        self._stream.write(f"{text}\n")


class _Notebook:
    """A line below a cell, which is empty in the end."""

    def __init__(self) -> None:
        self._handle: Any = None

    def show(self, text: str) -> None:
        from IPython.display import display

        content = {"text/plain": text}
        if self._handle is None:
            self._handle = display(content, raw=True, display_id=True)
        else:
            self._handle.update(content, raw=True)

    def end(self, text: str, *, shown: bool) -> None:
        if shown:
            self.show("")


class _Task:
    """Something that takes its time; calling it says that a part is done."""

    def __init__(self, what: str, total: int | None) -> None:
        self._what, self._total, self._done = what, total, 0

    def __call__(self, n: int = 1) -> None:
        self._done += n

    def __str__(self) -> str:
        return self._what if self._total is None else f"{self._what}: {self._done:,} of {self._total:,}"


class _Ticker:
    """Shows on a screen, from time to time, what the latest task is; a thread of its own, as tasks are at work."""

    def __init__(self, screen: _Screen, task: _Task) -> None:
        self.tasks = [task]
        self._screen, self._end, self._shown, self._since = screen, threading.Event(), False, time.monotonic()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def end(self) -> None:
        """Leave the screen as it was."""
        self._end.set()
        self._thread.join()
        self._tell(lambda: self._screen.end(self._text(), shown=self._shown))

    def _run(self) -> None:
        pause = _PATIENCE
        while not self._end.wait(pause):
            pause, self._shown = _EVERY, True
            self._tell(lambda: self._screen.show(self._text()))

    def _text(self) -> str:
        return f"{self.tasks[-1]} ... {time.monotonic() - self._since:.0f} s"

    @staticmethod
    def _tell(say: Callable[[], None]) -> None:
        with contextlib.suppress(OSError, ValueError):  # a screen that is gone is no reason to fail
            say()


_lock = threading.Lock()
_ticker: _Ticker | None = None


@contextlib.contextmanager
def progress(what: str, total: int | None = None, *, wanted: bool | None = None) -> Iterator[Callable[[int], None]]:
    """Show what is being done, once that has taken a second, until it is done; tasks within tasks share a line.

    The environment variable ``BAYES_ASSESS_PROGRESS=false`` does without.

    Parameters
    ----------
    what : str
    total : int, optional
        Number of its parts. Calling what is returned with a number says that so many more are done.
    wanted : bool, optional
        By default, if standard error is a terminal, or in a notebook. True: also elsewhere, on standard error.

    Examples
    --------
    >>> with progress("Planning", 3) as advance:
    ...     advance(1)  # no sign of it in a pipe
    """
    global _ticker
    screen = _screen(wanted)
    task = _Task(what, total)
    if screen is None:
        yield task
        return
    with _lock:
        if _ticker is None:
            _ticker = _Ticker(screen, task)
        else:
            _ticker.tasks.append(task)
        ticker = _ticker
    try:
        yield task
    finally:
        with _lock:
            if len(ticker.tasks) == 1:
                _ticker = None
                ticker.end()
            else:
                ticker.tasks.remove(task)


def in_progress(what: str) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Show that a function is at work, see `progress`."""

    def decorated(function: Callable[P, T]) -> Callable[P, T]:
        @wraps(function)
        def shown(*args: P.args, **kwargs: P.kwargs) -> T:
            with progress(what):
                return function(*args, **kwargs)

        return shown

    return decorated


def _screen(wanted: bool | None) -> _Screen | None:
    if wanted is False or (wanted is None and os.environ.get(SWITCH, "").lower() in _OFF):
        return None
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    if hasattr(shell, "kernel"):
        return _Notebook()
    if sys.stderr is None:
        return None
    if sys.stderr.isatty():
        return _Terminal(sys.stderr)
    return _Log(sys.stderr) if wanted else None
