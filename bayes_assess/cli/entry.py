"""The entry point of the command line, and how Ctrl-C ends it: at once, silently, with exit code 130."""

from __future__ import annotations

import os
import signal
from types import FrameType

INTERRUPTED = 130  # as shells have it: 128, and 2 for the signal
_FOLDER = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_WRITERS = ("Journal.create", "Journal.append", "Table.to_csv")  # they undo what they have begun
_AGAIN = 0.05  # seconds until an interrupt of a writer is repeated, should it have been lost


def main() -> None:
    """Run the command line."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # else the caller wants it ignored
        signal.signal(signal.SIGINT, _end)
    from bayes_assess.cli.cache import keep_compiled

    keep_compiled()
    from bayes_assess.cli import app

    app.app(prog_name="bayes-assess")


def _end(number: int, frame: FrameType | None) -> None:
    """End the process; if it is just writing a file, by an error, so that nothing half-written is left.

    An error would do nowhere else: where JAX calls Python (to collect garbage, for example), it is printed and
    forgotten, or ends in a crash.
    """
    while frame is not None:
        if frame.f_code.co_qualname in _WRITERS and frame.f_code.co_filename.startswith(_FOLDER):
            _repeat()
            raise KeyboardInterrupt
        frame = frame.f_back
    os._exit(INTERRUPTED)


def _repeat() -> None:
    """Interrupt once more in a moment."""
    import _thread
    import threading

    timer = threading.Timer(_AGAIN, _thread.interrupt_main)
    timer.daemon = True
    timer.start()
