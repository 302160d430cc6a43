"""Measures that are made once by a function of this package, and pickled as the call that makes them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from functools import cache, partial, update_wrapper, wraps
from typing import Generic, ParamSpec, TypeVar, cast

from bayes_assess.measures._measure import Measure

P = ParamSpec("P")
T = TypeVar("T")
Call = tuple[Callable[..., Measure], tuple[object, ...], dict[str, object]]


class MadeFunction(Generic[P, T]):
    """A function of a measure, such as its g, which the maker of the measure makes again where it is unpickled."""

    def __init__(self, function: Callable[P, T], call: Call, name: str) -> None:
        update_wrapper(self, function)
        self._function, self._origin = function, (*call, name)

    def __eq__(self, other: object) -> bool:
        """Whether another one is of the same function, which measures may share."""
        return isinstance(other, MadeFunction) and self._function == other._function

    def __hash__(self) -> int:
        return hash(self._function)

    def __call__(self, *arguments: P.args, **options: P.kwargs) -> T:
        """Call the function."""
        return self._function(*arguments, **options)

    def __reduce__(self) -> tuple[Callable[..., object], tuple[object, ...]]:
        """Say from which measure the function is had again."""
        return _field_of, self._origin


def made_once(make: Callable[P, Measure]) -> Callable[P, Measure]:
    """Return the maker of a measure that makes the same one once, for any arguments.

    What it makes, and each function of that, can be pickled, though functions are closures: what is unpickled is what
    the maker returns there, the same object within a process, so that nothing is traced or compiled again.

    Parameters
    ----------
    make : callable
        A function of a module, of hashable arguments.

    Examples
    --------
    >>> import pickle
    >>> from bayes_assess.measures import measure
    >>> one = measure("f1")
    >>> pickle.loads(pickle.dumps(one)) is one, pickle.loads(pickle.dumps(one.g)) is one.g
    (True, True)
    """

    @wraps(make)
    def new(*arguments: P.args, **options: P.kwargs) -> Measure:
        made = make(*arguments, **options)
        call: Call = (once, arguments, options)
        for name in (field.name for field in fields(made)):
            function = getattr(made, name)
            # Pickle finds others by their names: not what is local to a function, or a lambda.
            nameless = isinstance(function, partial) or "<" in getattr(function, "__qualname__", "")
            if nameless and not isinstance(function, MadeFunction):
                object.__setattr__(made, name, MadeFunction(function, call, name))
        object.__setattr__(made, "_made_by_calling", call)
        return made

    once = cast("Callable[P, Measure]", cache(new))
    return once


def _field_of(
    make: Callable[..., Measure], arguments: tuple[object, ...], options: dict[str, object], name: str
) -> object:
    return getattr(make(*arguments, **options), name)
