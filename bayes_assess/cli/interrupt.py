"""How Ctrl-C ends the command line: at once, silently, with exit code 130."""

from __future__ import annotations

import os
from types import FrameType

INTERRUPTED = 130  # as shells have it: 128, and 2 for the signal
_FOLDER = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_WRITERS = ("Journal.create", "Journal.append", "Table.to_csv")  # they undo what they have begun
_AGAIN = 0.05  # seconds until an interrupt of a writer is repeated, should it have been lost


def end(number: int, frame: FrameType | None) -> None:
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
