"""How Ctrl-C ends the command line: at once, silently, with exit code 130."""

from __future__ import annotations

import os
from types import FrameType

from bayes_assess._tools.files import is_writing

INTERRUPTED = 130  # as shells have it: 128, and 2 for the signal
_FOLDER = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
# They undo what they have begun, or say what has become of it.
_WRITERS = ("Journal.create", "Journal.append", "write_sheet")
_AGAIN = 0.05  # seconds until an interrupt of a writer is repeated, should it have been lost


def end(number: int, frame: FrameType | None) -> None:
    """End the process; if it is just writing a file, by an error, so that nothing half-written is left.

    An error would do nowhere else: where JAX calls Python (to collect garbage, for example), it is printed and
    forgotten, or ends in a crash.
    """
    if is_writing() or _is_called_by_writer(frame):
        _repeat()
        raise KeyboardInterrupt
    os._exit(INTERRUPTED)


def _is_called_by_writer(frame: FrameType | None) -> bool:
    while frame is not None:
        if frame.f_code.co_qualname in _WRITERS and frame.f_code.co_filename.startswith(_FOLDER):
            return True
        frame = frame.f_back
    return False


def _repeat() -> None:
    """Interrupt once more in a moment."""
    import _thread
    import threading

    timer = threading.Timer(_AGAIN, _thread.interrupt_main)
    timer.daemon = True
    timer.start()
