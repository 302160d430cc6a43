"""Types of arrays with their shapes, from jaxtyping, and of plain values, which only type checkers and readers need.

`Array` is an array of either engine, JAX's or NumPy's; what is one of NumPy always says so. `Scalar` is a single
number, of Python, of NumPy or an array without axes. `ArrayLike` is what people pass for an array: lists, in which
values may be missing, arrays and columns of data frames. `Json` is what strict JSON can hold, `Frame` a data frame of
any library that narwhals knows.

At run time nothing stands behind them: importing jaxtyping's arrays imports JAX, half a second that a session on NumPy
would pay before its first answer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    import jax
    import numpy as np
    from jaxtyping import Bool as Bool
    from jaxtyping import Float as Float
    from jaxtyping import Int as Int
    from jaxtyping import Key as Key
    from jaxtyping import Shaped as Shaped
    from jaxtyping import UInt as UInt
    from narwhals.typing import IntoFrame
    from numpy import typing

    Array: TypeAlias = jax.Array | np.ndarray
    PRNGKey: TypeAlias = Key[Array, ""]
    Scalar: TypeAlias = Array | np.bool | float
    ArrayLike: TypeAlias = typing.ArrayLike | Collection[object]
    Json: TypeAlias = bool | int | float | str | Sequence["Json"] | Mapping[str, "Json"] | None
    Frame: TypeAlias = IntoFrame
else:

    class _Unchecked:
        """Any array, of any shape."""

        def __getitem__(self, shape: object) -> _Unchecked:
            return self

        def __or__(self, other: object) -> _Unchecked:
            return self

        __ror__ = __or__

    Array = ArrayLike = Bool = Float = Frame = Int = Json = Key = PRNGKey = Scalar = Shaped = UInt = _Unchecked()
