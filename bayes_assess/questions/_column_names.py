"""Names of columns that questions are asked about, checked."""

from __future__ import annotations

from collections.abc import Iterable

from bayes_assess._tools.arrays import listing, show
from bayes_assess.errors import QuestionError


def check_by(what: str, by: object) -> None:
    """Raise QuestionError unless the groups of a measure are those of a column, or there are none."""
    names = [name for name in by if isinstance(name, str)] if isinstance(by, list | tuple) else []
    if 1 < len(names) == len(set(names)):  # of columns: values of items occur more than once
        raise QuestionError(
            f"The groups of {what} are those of one column, and these are {listing(names)}: give the pool a column of "
            "what an item has in all of them, such as 'cat, north', and name that one."
        )
    if by is not None and not isinstance(by, str):
        raise QuestionError(f"The groups of {what} are those of a column of the pool: give its name; found {show(by)}.")


def checked_names(option: str, given: object) -> tuple[str, ...]:
    """Return names of columns of predictions: of one, of several, or of none.

    Raises
    ------
    QuestionError
        If these are no names.

    Examples
    --------
    >>> checked_names("judges", "gpt"), checked_names("judges", ["a", "b"]), checked_names("judges", None)
    (('gpt',), ('a', 'b'), ())
    """
    names: object = () if given is None else (given,) if isinstance(given, str) else given
    if not isinstance(names, Iterable) or not all(isinstance(name, str) for name in names):
        raise QuestionError(f"{option} are names of columns of predictions; found {show(given)}.")
    return tuple(names)
