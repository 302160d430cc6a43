"""Levels of intervals and strengths of priors, as users give them."""

from __future__ import annotations

from bayes_assess._tools.arrays import is_number, is_share, show
from bayes_assess.errors import PriorError, QuestionError


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


def checked_strength(strength: float) -> float:
    """Return how many labels a prior counts as.

    Raises
    ------
    PriorError
        If it is no finite number above 0.

    Examples
    --------
    >>> checked_strength(2)
    2
    """
    if not (is_number(strength) and strength > 0):
        raise PriorError(f"A prior's strength is a positive number of labels; found {show(strength)}.")
    return strength
