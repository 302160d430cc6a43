"""What eager steps compute once of an object whose arrays never change."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TypeVar

import numpy as np

from bayes_assess._tools.engine._current import is_eager
from bayes_assess._tools.shapes import Array

S = TypeVar("S")
T = TypeVar("T")

_MOST = 50_000  # numbers of arguments that are kept, as what follows from them may take a hundred times the memory


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
    name = _name(function)

    @wraps(function)
    def once(self: S) -> T:
        if not is_eager():
            return function(self)
        if name not in self.__dict__:
            self.__dict__[name] = function(self)
        return self.__dict__[name]

    return once


def kept_last(function: Callable[[S, Array, Array], T]) -> Callable[[S, Array, Array], T]:
    """Let eager steps compute a method of two arrays once where it is asked for the same ones several times in turn.

    The object keeps what it returned last, unless the arrays are large; see `kept`.

    Examples
    --------
    >>> import numpy as np
    >>> from dataclasses import dataclass
    >>> from bayes_assess._tools.engine import eager
    >>> @dataclass(frozen=True)
    ... class Numbers:
    ...     unit: str
    ...
    ...     @kept_last
    ...     def total(self, first, second):
    ...         print("computed")
    ...         return f"{first.sum() + second.sum()} {self.unit}"
    >>> numbers = Numbers("m")
    >>> with eager():
    ...     [numbers.total(np.ones(2), np.ones(3)) for _ in range(2)]
    computed
    ['5.0 m', '5.0 m']
    """
    name = _name(function)

    @wraps(function)
    def last(self: S, first: Array, second: Array) -> T:
        if not is_eager() or np.size(first) + np.size(second) > _MOST:
            return function(self, first, second)
        known = self.__dict__.get(name)
        if known is None or not all(map(np.array_equal, known[0], (first, second))):
            known = tuple(np.array(part) for part in (first, second)), function(self, first, second)
            self.__dict__[name] = known
        return known[1]

    return last


def carried(before: S, after: S, *functions: Callable[[S], object]) -> S:
    """Let an object keep what `kept` functions have computed of another one, from which it differs in nothing they use.

    Examples
    --------
    >>> from dataclasses import dataclass, replace
    >>> from bayes_assess._tools.engine import eager
    >>> @dataclass(frozen=True)
    ... class Numbers:
    ...     values: list
    ...     unit: str
    >>> @kept
    ... def total(numbers):
    ...     print("computed")
    ...     return sum(numbers.values)
    >>> metres = Numbers([1, 2], "m")
    >>> with eager():
    ...     total(metres), total(carried(metres, replace(metres, unit="s"), total))
    computed
    (3, 3)
    """
    for name in map(_name, functions):
        if name in before.__dict__:
            after.__dict__[name] = before.__dict__[name]
    return after


def _name(function: Callable[..., object]) -> str:
    """Return under which name an object keeps it: not what a class below keeps under the same name."""
    return f"_kept_{function.__qualname__}"
