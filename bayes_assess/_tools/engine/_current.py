"""Which engine runs the steps of this thread."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar

import numpy as np

EAGER: ContextVar[bool | None] = ContextVar("bayes_assess_eager", default=None)


def is_eager() -> bool:
    """Tell whether steps run on NumPy now."""
    return bool(EAGER.get())


def is_chosen() -> bool:
    """Tell whether `eager` or `compiled` has said what steps run on; nobody has on the host, outside of steps."""
    return EAGER.get() is not None


@contextmanager
def eager(on: bool = True) -> Iterator[None]:
    """Run the steps inside on NumPy; on the compiled engine with ``on=False``.

    Divisions by zero and logarithms of it are no errors there, as they are none in compiled steps.

    Examples
    --------
    >>> with eager():
    ...     is_eager()
    True
    >>> is_eager()
    False
    """
    token = EAGER.set(on)
    try:
        with np.errstate(all="ignore" if on else None):
            yield
    finally:
        EAGER.reset(token)


def compiled() -> AbstractContextManager[None]:
    """Run the steps inside on the compiled engine; see `eager`."""
    return eager(False)
