"""Turning what people pass (lists, NumPy, JAX, pandas, Polars, Arrow) into plain NumPy arrays.

After `values_of` an array has one of the kinds ``b i u f U M``, or stays ``O`` where its values have no common type.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, MappingView, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np

from bayes_assess.errors import PoolError

if TYPE_CHECKING:
    import narwhals as nw


CHUNK = 1 << 16  # rows handled at a time: small enough to stay in cache
LARGEST = 1e60  # in size, of users' numbers: squares of squared errors can be added up, and their inverses
MISSING_TYPES = {"NoneType", "NAType", "NaTType"}
_LONGEST_SHOWN, _CUT = 200, 60  # characters of a value in a message, and of a longer one
_BITS_SHOWN = 2000  # of an integer; Python may refuse to write one of more than 640 digits


def is_whole(value: Any, least: int = 1) -> bool:
    """Whether a single value is a whole number, `least` or more.

    Examples
    --------
    >>> is_whole(3), is_whole(3.0), is_whole(True), is_whole(None), is_whole("3"), is_whole(float("inf"))
    (True, True, False, False, False, False)
    """
    try:
        odd = isinstance(value, bool | np.bool_) or value is np.ma.masked
        return not odd and int(value) == value and bool(value >= least)
    except (TypeError, ValueError, OverflowError):
        return False


def is_number(value: Any) -> bool:
    """Whether a single value is a finite number.

    Examples
    --------
    >>> is_number(0.5), is_number("0.5"), is_number(None), is_number([0.5]), is_number(float("nan"))
    (True, False, False, False, False)
    """
    try:
        return np.ndim(value) == 0 and value is not np.ma.masked and bool(np.isfinite(value))
    except (TypeError, ValueError):
        return False


def is_share(value: Any) -> bool:
    """Whether a single value is a number between 0 and 1, these not included.

    Examples
    --------
    >>> is_share(0.95), is_share(1), is_share("0.9"), is_share(None), is_share([0.5])
    (True, False, False, False, False)
    """
    try:
        return np.ndim(value) == 0 and bool(0 < value < 1)
    except (TypeError, ValueError):
        return False


def is_one_of(value: Any, names: Collection[str]) -> bool:
    """Whether a value is one of some texts: values such as ``pd.NA`` cannot be compared with these.

    Examples
    --------
    >>> is_one_of("width", ("width", "weight")), is_one_of(None, ("width",)), is_one_of(["width"], ("width",))
    (True, False, False)
    """
    return isinstance(value, str) and value in names


def frame_of(values: object) -> nw.DataFrame[Any] | nw.LazyFrame[Any] | nw.Series[Any] | None:
    """Return ``values`` as a Narwhals frame (lazy or eager) or series, or None where it is neither."""
    if type(values).__module__.partition(".")[0] in ("builtins", "numpy", "bayes_assess"):
        return None
    import narwhals as nw  # here, not above: arrays and lists do without it

    try:
        native = nw.from_native(values, pass_through=True, allow_series=True)
    except nw.exceptions.DuplicateError as error:
        names = ", ".join(line.removeprefix("- ") for line in str(error).splitlines()[1:])
        raise PoolError(f"Columns of a data frame need names that differ; found {names}. Rename them.") from None
    return native if isinstance(native, nw.DataFrame | nw.LazyFrame | nw.Series) else None


def dataframe_of(values: object) -> nw.DataFrame[Any] | None:
    """Return ``values`` as an eager Narwhals frame, or None where it is none: a series has no columns."""
    frame = frame_of(values)
    if frame is None:
        return None
    import narwhals as nw

    return frame if isinstance(frame, nw.DataFrame) else None


def own_index(values: object) -> Any:
    """Return the index of a series or frame of pandas as it has it, None of what has none.

    Examples
    --------
    >>> import pandas as pd
    >>> list(own_index(pd.Series([1, 0]))), own_index([1, 0])
    ([0, 1], None)
    """
    frame = frame_of(values)
    if frame is None:
        return None
    import narwhals as nw

    return nw.maybe_get_index(frame)


def index_of(values: object) -> np.ndarray | None:
    """Return the index of a series or frame of pandas, None of what has none, or has 0, 1, 2 and so on, as by default.

    Examples
    --------
    >>> import pandas as pd
    >>> index_of(pd.Series([1, 0], index=["dog", "cat"])).tolist(), index_of(pd.Series([1, 0])), index_of([1, 0])
    (['dog', 'cat'], None, None)
    """
    index = own_index(values)
    if getattr(index, "start", None) == 0 and getattr(index, "step", None) == 1:  # without an array of it
        return None
    array = None if index is None else np.asarray(index)
    return None if array is None or np.array_equal(array, np.arange(len(array))) else array


def to_numpy(values: object) -> np.ndarray:
    """Return any array, series, frame or nested list as NumPy, without a copy where possible."""
    if isinstance(values, np.ma.MaskedArray):
        if not np.ma.is_masked(values):
            return np.asarray(values.data)
        plain = np.asarray(values.data).astype(object)
        plain[np.ma.getmaskarray(values)] = None
        return plain
    if isinstance(values, np.ndarray):
        return np.asarray(values)  # a matrix stays one whatever is taken of it
    if hasattr(values, "toarray") and hasattr(values, "nnz"):
        raise PoolError(f"A {type(values).__name__} is sparse; pass all of its values, as .toarray() returns them.")
    if isinstance(values, Iterator | Mapping | MappingView) and not hasattr(values, "__array__"):
        raise PoolError(
            f"A {type(values).__name__} is no list or array of values; pass list(...) of it, or of its values()."
        )
    wrapped = frame_of(values)
    if wrapped is not None and not hasattr(wrapped, "to_numpy"):
        raise PoolError(f"A {type(values).__name__} has no values yet; pass what it collects, such as frame.collect().")
    if wrapped is not None:
        return _decoded(wrapped).to_numpy()
    try:
        array = np.asarray(values)
    except ValueError:  # rows of different lengths
        return objects(values)
    except (RuntimeError, TypeError) as error:  # of tensors that are on a device, or part of a gradient
        if isinstance(error, TypeError) and not hasattr(values, "__array__"):
            raise
        reason = " ".join(str(error).split()).rstrip(".")
        raise PoolError(
            f"A {type(values).__name__} cannot be read as it is: {reason}. Pass a NumPy array of it, such as "
            "tensor.detach().cpu().numpy()."
        ) from None
    if array.dtype.kind in "US" and isinstance(values, list | tuple) and _mixed(values):
        return np.asarray(values, dtype=object)  # NumPy would turn None, NaN and numbers into text
    return array


def unmasked(values: Any) -> Any:
    """Return values as they are, and masked arrays as plain ones: as floats with NaN for what is masked.

    Examples
    --------
    >>> unmasked(np.ma.array([1, 2], mask=[False, True])), unmasked([1, 2])
    (array([ 1., nan]), [1, 2])
    """
    if not isinstance(values, np.ma.MaskedArray):
        return values
    return np.ma.filled(values.astype(np.float64), np.nan) if np.ma.is_masked(values) else np.asarray(values.data)


def as_floats(values: Any) -> np.ndarray:
    """Return numbers as 64-bit floats, masked ones as NaN.

    Examples
    --------
    >>> as_floats(np.ma.array([1, 2], mask=[False, True]))
    array([ 1., nan])
    """
    return np.asarray(unmasked(values), np.float64)


def quotient(part: Any, whole: Any) -> np.ndarray:
    """Divide numbers that are 0 or more; nothing of nothing is 0, as scikit-learn has it with ``zero_division=0``.

    Examples
    --------
    >>> quotient(np.array([1.0, 0.0]), np.array([2.0, 0.0])).tolist()
    [0.5, 0.0]
    """
    known = np.asarray(whole) > 0
    return np.where(known, part, 0.0) / np.where(known, whole, 1.0)


def _decoded(wrapped: Any) -> Any:
    """Return a frame or series with Arrow's dictionaries spelled out: its own conversion makes nulls the last entry."""
    if not wrapped.implementation.is_pyarrow():
        return wrapped
    import narwhals as nw
    from pyarrow import types

    native = wrapped.to_native()
    if isinstance(wrapped, nw.Series):
        coded = types.is_dictionary(native.type)
        return nw.from_native(native.cast(native.type.value_type), series_only=True) if coded else wrapped
    for i, field in enumerate(native.schema):
        if types.is_dictionary(field.type):
            native = native.set_column(i, field.name, native.column(i).cast(field.type.value_type))
    return nw.from_native(native)


def objects(values: Any) -> np.ndarray:
    """Return values as a one-dimensional array of objects, whatever they hold."""
    rows = list(values)
    array = np.empty(len(rows), dtype=object)
    for i, row in enumerate(rows):
        array[i] = row
    return array


def _mixed(values: object) -> bool:
    flat = np.asarray(values, dtype=object).ravel()
    return len({isinstance(value, str | bytes) for value in flat}) > 1


def values_of(values: object, *, decimals: bool = True) -> np.ndarray:
    """Return `to_numpy` of ``values`` with text as ``U`` and objects of one type as that type.

    Parameters
    ----------
    values : array, series, frame or list
    decimals : bool
        Whether decimal numbers, as databases have them, become integers where all are whole, else floats.

    Examples
    --------
    >>> from decimal import Decimal
    >>> values_of([Decimal("1.00"), Decimal("3")]), values_of([Decimal("0.5"), None])
    (array([1, 3]), array([0.5, nan]))
    """
    array = to_numpy(values)
    kind = array.dtype.kind
    if kind == "S":
        return np.strings.decode(array, "utf-8", "replace")
    if kind == "T":
        array, kind = array.astype(object), "O"
    if kind != "O":
        return array
    if not array.size:
        return array.astype(np.float64)
    types = set(map(type, array.ravel()))
    if all(issubclass(t, str) for t in types):
        return array.astype(str)
    if all(issubclass(t, bool | np.bool_) for t in types):
        return array.astype(bool)
    if any(issubclass(t, str | bool | np.bool_) for t in types):
        return array
    number = (int, float, np.integer, np.floating)
    if decimals and Decimal in types:
        number = (*number, Decimal)
        if all(issubclass(t, int | np.integer | Decimal) for t in types) and all(map(_is_integer, array.flat)):
            array, types = objects(map(int, array.flat)).reshape(array.shape), {int}
    if all(issubclass(t, number) or t.__name__ in MISSING_TYPES for t in types):
        return _numbers(array, exact=all(issubclass(t, int | np.integer) for t in types))
    return array


def _is_integer(number: int | Decimal) -> bool:
    return not isinstance(number, Decimal) or (number.is_finite() and int(number) == number)


def _numbers(array: np.ndarray, exact: bool) -> np.ndarray:
    """Objects that are numbers or missing, as integers where all are, else as floats with NaN for the missing."""
    if exact:
        try:
            return array.astype(np.int64)
        except OverflowError:
            return array
    flat = [np.nan if type(value).__name__ in MISSING_TYPES else float(value) for value in array.ravel()]
    return np.asarray(flat, dtype=np.float64).reshape(array.shape)


def first_true(mask: np.ndarray) -> int | None:
    """Return the position of the first True, or None."""
    at = int(mask.argmax()) if mask.size else 0
    return at if mask.size and mask[at] else None


def missing_mask(array: np.ndarray) -> np.ndarray:
    """Return where a 1-d array has no value (None, NaN, NaT, empty text)."""
    kind = array.dtype.kind
    if kind == "f":
        return np.isnan(array)
    if kind in "mM":
        return np.isnat(array)
    if kind == "U":
        return array == ""
    if kind == "O":
        return np.array([_is_missing(value) for value in array], dtype=bool)
    return np.zeros(len(array), dtype=bool)


def first_missing(array: np.ndarray) -> int | None:
    """Return the position of the first missing value of a 1-d array, or None; see `missing_mask`."""
    return None if array.dtype.kind in "biu" else first_true(missing_mask(array))


ODD_LETTER = "has half a letter or the character NUL, which no file can keep; replace it"


def first_odd_letter(array: np.ndarray) -> int | None:
    """Return the position of the first text with half a surrogate pair, or NUL before its end, of a 1-d array."""
    if array.dtype.kind != "U" or not array.dtype.itemsize:
        return None
    for start in range(0, len(array), CHUNK):
        part = array[start : start + CHUNK]
        letters = np.ascontiguousarray(part).view(np.uint32).reshape(len(part), -1)
        filled = letters != 0
        if letters.max() < 0xD800 and not (filled[:, 1:] > filled[:, :-1]).any():
            continue
        odd = (letters >= 0xD800) & (letters <= 0xDFFF)
        odd[:, :-1] |= filled[:, 1:] > filled[:, :-1]
        at = first_true(np.asarray(odd.any(axis=1)))
        if at is not None:
            return start + at
    return None


def first_nested(array: np.ndarray) -> int | None:
    """Return the position of the first value that holds several (a list, a set, an array) of a 1-d array, or None."""
    several = (list, tuple, set, frozenset, dict, np.ndarray)
    if array.dtype.kind != "O" or array.ndim != 1:
        return None
    return next((i for i, value in enumerate(array) if isinstance(value, several)), None)


def _is_missing(value: object) -> bool:
    if type(value).__name__ in MISSING_TYPES or (isinstance(value, str) and value == ""):
        return True
    return isinstance(value, float | np.floating) and bool(np.isnan(value))


def whole(array: np.ndarray) -> np.ndarray:
    """Return booleans and whole floats as int64; everything else as it is."""
    if array.dtype.kind == "b":
        return array.astype(np.int64)
    if array.dtype.kind == "f" and array.size and first_broken(array) is None:
        return array.astype(np.int64)
    return array


def first_broken(numbers: np.ndarray) -> int | None:
    """Return the position of the first float that names no integer alone, being broken or 2^53 and more, or None."""
    limit = np.float64(2**53)  # which half precision does not hold
    return first_true(~((np.abs(numbers) < limit) & (numbers == np.floor(numbers))))


def first_beyond(numbers: np.ndarray) -> int | None:
    """Return the position of the first unsigned integer that int64 does not hold, or None."""
    return first_true(numbers > np.iinfo(np.int64).max) if numbers.dtype.kind == "u" else None


def text_as_int(text: np.ndarray) -> np.ndarray | None:
    """Return text as int64 if every value is the plain form of an integer ("17", never "017" or "1e3")."""
    try:
        numbers = text.astype(np.int64)
    except (ValueError, OverflowError):
        return None
    return numbers if np.array_equal(numbers.astype(str), text) else None


def frozen(array: np.ndarray) -> np.ndarray:
    """Return a read-only view; the caller's own array stays writeable."""
    view = array.view()
    view.flags.writeable = False
    return view


def show(value: object) -> str:
    """Return a value as it should stand in a message: without NumPy's type, in one line, and cut where it is long.

    Examples
    --------
    >>> print(show("cat"), show(np.float64(7)), show(np.array([0.25, 0.5])), show("x" * 5000))
    'cat' 7.0 [0.25, 0.5] 'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx'... (5,000 characters in all)
    """
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, list):
        return f"[{listing(value)}]"
    if type(value) is tuple and len(value) > 1:
        return f"({listing(value)})"
    if isinstance(value, str):
        return repr(value) if len(value) <= _LONGEST_SHOWN else f"{value[:_CUT]!r}{_in_all(value)}"
    if isinstance(value, int) and value.bit_length() > _BITS_SHOWN:
        return f"a number of more than {int(_BITS_SHOWN * math.log10(2)):,} digits"
    text = " ".join(repr(value).split())
    return text if len(text) <= _LONGEST_SHOWN else f"{text[:_CUT]}{_in_all(text)}"


def _in_all(text: str) -> str:
    return f"... ({len(text):,} characters in all)"


def listing(values: Sequence[object] | np.ndarray, limit: int = 8) -> str:
    """Return the first values of a sequence for a message: ``'a', 'b', ... (12 in all)``."""
    shown = ", ".join(show(value) for value in list(values[:limit]))
    return shown if len(values) <= limit else f"{shown}, ... ({len(values):,} in all)"
