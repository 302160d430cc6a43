"""Names and texts as SQL writes them."""

from __future__ import annotations


def quoted(name: str) -> str:
    """Return the name of a column as SQL writes it.

    Examples
    --------
    >>> quoted('a"b')
    '"a""b"'
    """
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    """Return a text as SQL writes it.

    Examples
    --------
    >>> literal("o'clock")
    "'o''clock'"
    """
    return "'" + text.replace("'", "''") + "'"
