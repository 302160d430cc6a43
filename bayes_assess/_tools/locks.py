"""A lock that an interrupt cannot leave behind."""

from __future__ import annotations

import contextlib
import threading


class Exclusive:
    """Lets one thread at a time run some sections, which do not nest.

    Python may raise `KeyboardInterrupt` when a call returns, from 3.14 on that of a ``with`` statement that has just
    taken a lock, too, whose end is then never reached. A plain lock would stay taken, and its own thread would wait for
    itself. This one is taken again by the same thread, and wholly given back at the end of its next section.

    Examples
    --------
    >>> lock = Exclusive()
    >>> lock.__enter__()  # and is interrupted
    >>> with lock:
    ...     pass
    >>> thread = threading.Thread(target=lock.__enter__)
    >>> thread.start()  # which nothing keeps waiting
    >>> thread.join()
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(self, *of_error: object) -> None:
        with contextlib.suppress(RuntimeError):  # that it is not held any more
            while True:
                self._lock.release()
