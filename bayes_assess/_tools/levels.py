"""Levels of intervals, as users give them."""

from __future__ import annotations

from bayes_assess._tools.arrays import is_share, show
from bayes_assess.errors import QuestionError


def checked_level(level: float, of: str = "an interval") -> float:
    """Return the level of an interval, or of something else, in (0, 1).

    Raises
    ------
    QuestionError
        If it is no number, or not between 0 and 1.

    Examples
    --------
    >>> checked_level(0.9)
    0.9
    """
    if not is_share(level):
        raise QuestionError(f"The level of {of} lies between 0 and 1, such as 0.95; found {show(level)}.")
    return level
