"""Levels of intervals and strengths of priors, as users give them."""

from __future__ import annotations

from bayes_assess._tools.arrays import is_number, is_share, show
from bayes_assess.errors import PriorError, QuestionError


class Level(float):
    """A level of an interval, which in percent has all of its digits: 99.9 % are not 100 %.

    Examples
    --------
    >>> f"{Level(0.95):.0%}", f"{Level(0.975):.0%}", f"{Level(0.999):.0%}", f"{Level(0.999):.1f}"
    ('95%', '97.5%', '99.9%', '1.0')
    """

    __slots__ = ()

    def __format__(self, spec: str) -> str:
        """Write the level; in percent with the digits that it has."""
        if spec != ".0%":
            return super().__format__(spec)
        text = f"{100 * self:.6g}"
        return f"{100 * self:.15g}%" if text in ("0", "100") else f"{text}%"


def checked_level(level: float, of: str = "an interval") -> Level:
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
    return Level(level)


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
