"""What eager steps compute once of an object whose arrays never change."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TypeVar

from bayes_assess._tools.engine._current import is_eager

S = TypeVar("S")
T = TypeVar("T")


def kept(function: Callable[[S], T]) -> Callable[[S], T]:
    """Let eager steps compute a method without arguments once per object, which keeps what it returned.

    Compiled, it is computed wherever it is asked for: what a traced function computes must not leave it, and the
    compiler finds what is computed twice.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> from bayes_assess._tools.engine import eager
    >>> @dataclass(frozen=True)
    ... class Numbers:
    ...     values: list
    ...
    ...     @kept
    ...     def total(self):
    ...         print("computed")
    ...         return sum(self.values)
    >>> numbers = Numbers([1, 2])
    >>> with eager():
    ...     numbers.total(), numbers.total()
    computed
    (3, 3)
    """
    name = f"_kept_{function.__qualname__}"  # not what a class below keeps under the same name

    @wraps(function)
    def once(self: S) -> T:
        if not is_eager():
            return function(self)
        if name not in self.__dict__:
            self.__dict__[name] = function(self)
        return self.__dict__[name]

    return once
