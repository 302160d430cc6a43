"""Warnings that point at the line of whoever called the package, however deep in it their cause was found."""

from __future__ import annotations

import sys
import warnings

_PASSED_OVER = (__name__.partition(".")[0], "contextlib", "functools")  # the package, and what its decorators are of


def warn_caller(text: str, category: type[Warning] = UserWarning) -> None:
    """Warn, and name the line outside the package that led here.

    Python shows a warning once for every such line: two cells of a notebook are told apart.

    Examples
    --------
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     warn_caller("Two labels are missing.")
    >>> [str(one.message) for one in caught]
    ['Two labels are missing.']
    """
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] in _PASSED_OVER:
        level, frame = level + 1, frame.f_back
    warnings.warn(text, category, stacklevel=level)
