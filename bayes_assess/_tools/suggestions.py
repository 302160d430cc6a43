"""Names that somebody may have meant."""

from __future__ import annotations

import difflib
import inspect
import re
from collections.abc import Callable, Iterable
from functools import wraps
from typing import ParamSpec, TypeVar

from bayes_assess._tools.arrays import show

P = ParamSpec("P")
T = TypeVar("T")

_SEPARATORS = re.compile(r"[\s_-]+")
_LONGEST = 200  # characters of a name that are compared


def near_names(name: object, known: Iterable[str], cutoff: float = 0.6, end: str = "") -> list[str]:
    """Return up to three names that are spelled like this one, the most alike first.

    Parameters
    ----------
    name : object
    known : names
        Case, hyphens, underscores and spaces make no difference.
    cutoff : float
        How alike names have to be, from 0 to 1.
    end : str
        With which a name may end, too.

    Examples
    --------
    >>> near_names("thomson", ["thompson", "random"]), near_names("GroupAcuracy", ["group-accuracy"])
    (['thompson'], ['group-accuracy'])
    """
    folded: dict[str, str] = {}
    for candidate in known:
        folded |= {_folded(f"{candidate}{end}"): candidate, _folded(candidate): candidate}
    meant = _folded(name[:_LONGEST] if isinstance(name, str) else show(name))
    near = difflib.get_close_matches(meant, list(folded), n=3, cutoff=cutoff)
    return list(dict.fromkeys(folded[candidate] for candidate in near))


def did_you_mean(name: object, known: Iterable[str]) -> str:
    """Return a question that goes after a sentence, with a space before it; nothing where no name is near.

    Examples
    --------
    >>> did_you_mean("thomson", ["thompson"]), did_you_mean("zzz", ["thompson"])
    (" Did you mean 'thompson'?", '')
    """
    near = near_names(name, known)
    return f" Did you mean {' or '.join(map(repr, near))}?" if near else ""


def with_known_arguments(error: type[Exception]) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Refuse names of arguments that a function has not, with the one that may be meant.

    Examples
    --------
    >>> @with_known_arguments(ValueError)
    ... def read(source, *, prediction=None):
    ...     pass
    >>> read("pool.csv", predictions="p")
    Traceback (most recent call last):
    ValueError: read has no argument 'predictions'. Did you mean 'prediction'?
    """

    def decorated(function: Callable[P, T]) -> Callable[P, T]:
        known = list(inspect.signature(function).parameters)

        @wraps(function)
        def checked(*args: P.args, **kwargs: P.kwargs) -> T:
            for name in kwargs:
                if name not in known:
                    hint = did_you_mean(name, known) or f" Its arguments are {', '.join(map(repr, known))}."
                    raise error(f"{function.__name__} has no argument {name!r}.{hint}")
            return function(*args, **kwargs)

        return checked

    return decorated


def _folded(name: str) -> str:
    return _SEPARATORS.sub("", name).casefold()
