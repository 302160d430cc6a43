"""Types of arrays with their shapes, from jaxtyping, which only type checkers and readers need.

`ArrayLike` is what people pass for an array: lists, in which values may be missing, arrays and columns of data frames.

At run time nothing stands behind them: importing jaxtyping's arrays imports JAX, half a second that a session on NumPy
would pay before its first answer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Collection

    from jaxtyping import Array as Array
    from jaxtyping import Bool as Bool
    from jaxtyping import Float as Float
    from jaxtyping import Int as Int
    from jaxtyping import Key as Key
    from jaxtyping import Shaped as Shaped
    from jaxtyping import UInt as UInt
    from numpy import typing

    ArrayLike: TypeAlias = typing.ArrayLike | Collection[Any]
else:

    class _Unchecked:
        """Any array, of any shape."""

        def __getitem__(self, shape: Any) -> _Unchecked:
            return self

        def __or__(self, other: Any) -> _Unchecked:
            return self

        __ror__ = __or__

    Array = ArrayLike = Bool = Float = Int = Key = Shaped = UInt = _Unchecked()
