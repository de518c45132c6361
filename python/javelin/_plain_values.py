"""Plain Python values as Arrow arrays, with no value changed on the way.

Arrow itself cuts what does not fit in many places (9.7 becomes 9 in a column of integers, a datetime loses its time in a
column of dates). A row that is written differently from what was handed in is a wrong row, so here it is refused.
"""

from __future__ import annotations

import datetime
import decimal
import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import Any, Callable, List, Optional, Tuple

import numpy as np
import pyarrow as pa
import pyarrow.types as kinds

from . import errors

# What Arrow raises for values of a wrong type or out of range. It has no base class of its own for them.
ARROW_REFUSALS = (pa.ArrowException, TypeError, ValueError, OverflowError)

_TEXT_AT_MOST = 80
_MOST_TEXT_BYTES = 2**31 - 1  # of one array
_LARGEST = {16: 65504.0, 32: 3.4028234663852886e38}  # by width of a float
_UNIT_NANOSECONDS = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}
_MICROSECOND = datetime.timedelta(microseconds=1)


def array_of(name: str, values: Any, type: Optional[pa.DataType]) -> pa.Array:
    """The values of a column as an array of a type; without one, of the type that they have in common.

    Raises :class:`javelin.errors.InvalidInput` with column, row (from 0) and value where one does not fit.
    """
    values = _listed(name, values)
    if type is None:
        type = _common_type(name, values)
    refused = _first_refused(values, type)
    if refused is None:
        try:
            return _built(values, type)
        except ARROW_REFUSALS:
            refused = _first_refused_by_arrow(values, type)
    row, reason = refused
    raise errors.InvalidInput(f"column {name!r}, row {row}: {_text(values[row])} is no value of type {type}: {reason}")


def _listed(name: str, values: Any) -> List[Any]:
    if isinstance(values, (str, bytes, Mapping)) or not isinstance(values, Iterable):
        raise errors.InvalidInput(
            f"column {name!r} is {_text(values)}: a dict holds columns, so each value must be a list; "
            "give one row as a list of one dict"
        )
    return values if isinstance(values, list) else list(values)


def _built(values: List[Any], type: pa.DataType) -> pa.Array:
    array = _laid_out(values, type)
    if array is None:
        array = pa.array(values, type=type)
    if isinstance(array, pa.ChunkedArray):  # more text than one array of it can hold
        raise errors.InvalidInput(f"{len(values)} values of type {type} are too much for one batch; give fewer rows")
    return array


def _laid_out(values: List[Any], type: pa.DataType) -> Optional[pa.Array]:
    """Arrays of what keys are made of, without Arrow: its conversion imports pandas, half a second in the first call of a
    process. None for all other values."""
    present = set(map(_python_type, values))
    if present == {int} and kinds.is_integer(type):
        numbers = np.array(values, dtype=_numpy_type(type))
        return pa.Array.from_buffers(type, len(values), [None, pa.py_buffer(numbers)])
    if present == {str} and kinds.is_string(type):
        texts = [value.encode() for value in values]
        ends = np.cumsum([0, *map(len, texts)], dtype=np.int64)
        if ends[-1] <= _MOST_TEXT_BYTES:
            buffers = [None, pa.py_buffer(ends.astype(np.int32)), pa.py_buffer(b"".join(texts))]
            return pa.Array.from_buffers(type, len(values), buffers)
    return None


def _common_type(name: str, values: List[Any]) -> pa.DataType:
    try:
        return pa.infer_type(values)
    except ARROW_REFUSALS as error:
        row, reason = _first_that_fails(values, lambda row: pa.infer_type(values[: row + 1])) or (0, error)
        raise errors.InvalidInput(
            f"column {name!r}, row {row}: {_text(values[row])} has no type in common with the rows before it: {reason}"
        ) from None


def _first_refused_by_arrow(values: List[Any], type: pa.DataType) -> Tuple[int, Any]:
    found = _first_that_fails(values, lambda row: pa.array([values[row]], type=type))
    return found or (0, "Arrow cannot convert the values")


def _first_that_fails(values: List[Any], attempt: Callable[[int], Any]) -> Optional[Tuple[int, Any]]:
    for row in range(len(values)):
        try:
            attempt(row)
        except ARROW_REFUSALS as error:
            return row, error
    return None


def _text(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= _TEXT_AT_MOST else text[: _TEXT_AT_MOST - 3] + "..."


# ---- which Python values a type takes ----


def _first_refused(values: Sequence[Any], type: pa.DataType) -> Optional[Tuple[int, str]]:
    """The first value that the type cannot hold as it is, and why. Looks at Python types first, which is quick."""
    type = _storage(type)
    if kinds.is_null(type):
        return None  # Arrow's own check is exact
    if kinds.is_nested(type):
        return _first_refused_nested(values, type)
    accepts, loses = _rule_of(type)
    present = set(map(_python_type, values))
    present.discard(_NONE)
    if not all(map(accepts, present)):
        row = next(i for i, value in enumerate(values) if value is not None and not accepts(_python_type(value)))
        return row, f"{_python_type(values[row]).__name__} is not converted to it, as the value could change"
    if loses is not None:
        for row, value in enumerate(values):
            reason = None if value is None else loses(value)
            if reason:
                return row, reason
    return None


def _first_refused_nested(values: Sequence[Any], type: pa.DataType) -> Optional[Tuple[int, str]]:
    """Checks all the inner values of all rows at once, and row by row only where one of them is refused."""
    names = {field.name for field in type} if kinds.is_struct(type) else None
    for row, value in enumerate(values):
        if value is None:
            continue
        if not _is_nested_value(value, type):
            return row, f"{_python_type(value).__name__} is not converted to it"
        if names is not None and not names.issuperset(value):
            return row, f"it has no field {next(name for name in value if name not in names)!r}"
    for inner, of_row in _inner_values(type):
        rows = (of_row(value) for value in values if value is not None)
        if _first_refused(list(chain.from_iterable(rows)), inner) is None:
            continue
        for row, value in enumerate(values):
            refused = None if value is None else _first_refused(list(of_row(value)), inner)
            if refused is not None:
                return row, refused[1]
    return None


def _is_nested_value(value: Any, type: pa.DataType) -> bool:
    if kinds.is_struct(type):
        return isinstance(value, Mapping)
    return isinstance(value, (list, tuple, np.ndarray)) or (kinds.is_map(type) and isinstance(value, Mapping))


def _inner_values(type: pa.DataType) -> List[Tuple[pa.DataType, Callable[[Any], Iterable[Any]]]]:
    """Per kind of inner value its type and how to get at them in a value of `type`."""
    if kinds.is_struct(type):
        return [(field.type, lambda row, name=field.name: [row.get(name)]) for field in type]
    if kinds.is_map(type):
        pairs = lambda row: row.items() if isinstance(row, Mapping) else row
        return [
            (type.key_type, lambda row: [key for key, _ in pairs(row)]),
            (type.item_type, lambda row: [item for _, item in pairs(row)]),
        ]
    same = _numpy_type(type.value_type)
    return [(type.value_type, lambda row: () if same is not None and getattr(row, "dtype", None) == same else row)]


def _numpy_type(type: pa.DataType) -> Any:
    """What numpy calls a number type: its arrays of that type hold what Arrow's hold."""
    return np.dtype(type.to_pandas_dtype()) if kinds.is_integer(type) or kinds.is_floating(type) else None


def _storage(type: pa.DataType) -> pa.DataType:
    while isinstance(type, (pa.BaseExtensionType, pa.DictionaryType)):
        type = type.storage_type if isinstance(type, pa.BaseExtensionType) else type.value_type
    return type


_NONE = None.__class__
_python_type = type  # the builtin; `type` is an Arrow type here


def _rule_of(type: pa.DataType) -> Tuple[Callable[[Any], bool], Optional[Callable[[Any], Optional[str]]]]:
    """Which Python types a type takes, and for which of their values it would lose something."""
    if kinds.is_boolean(type):
        return _among(bool, np.bool_), None
    if kinds.is_integer(type):
        return _is_whole, None
    if kinds.is_floating(type):
        limit = _LARGEST.get(type.bit_width)
        return _is_number, None if limit is None else lambda value: _too_large(value, limit)
    if kinds.is_decimal(type):
        return lambda python: python is not bool and issubclass(python, (int, decimal.Decimal)), None
    if kinds.is_string(type) or kinds.is_large_string(type) or kinds.is_string_view(type):
        return _among(str), None
    if kinds.is_date(type):
        return lambda python: issubclass(python, datetime.date) and not issubclass(python, datetime.datetime), None
    if kinds.is_timestamp(type):
        return _among(datetime.datetime, np.datetime64), lambda value: _moment_lost(value, type)
    if kinds.is_time(type):
        return _among(datetime.time), lambda value: _time_lost(value, type)
    if kinds.is_duration(type):
        return _among(datetime.timedelta, np.timedelta64), lambda value: _span_lost(value, type)
    return _among(bytes, bytearray, memoryview), None  # binary of any kind; Arrow itself refuses what is left


def _among(*accepted: Any) -> Callable[[Any], bool]:
    return lambda python: issubclass(python, accepted)


def _is_whole(python: Any) -> bool:
    return issubclass(python, (int, np.integer)) and not issubclass(python, (bool, np.timedelta64))


def _is_number(python: Any) -> bool:
    return issubclass(python, (float, np.floating)) or _is_whole(python)  # Arrow refuses whole numbers that it would round


def _too_large(value: Any, limit: float) -> Optional[str]:
    return "it is too large" if math.isfinite(value) and abs(value) > limit else None


def _moment_lost(value: Any, type: pa.TimestampType) -> Optional[str]:
    if isinstance(value, np.datetime64) or value != value:  # NaT of pandas
        return None  # Arrow itself takes no other unit than that of the column
    if (value.tzinfo is None) != (type.tz is None):
        return "it has a time zone" if type.tz is None else "it has no time zone"
    nanoseconds = value.microsecond * 1000 + getattr(value, "nanosecond", 0)  # pandas has nanoseconds
    return _finer_than(nanoseconds, type)


def _time_lost(value: datetime.time, type: pa.DataType) -> Optional[str]:
    return "it has a time zone" if value.tzinfo is not None else _finer_than(value.microsecond * 1000, type)


def _span_lost(value: Any, type: pa.DurationType) -> Optional[str]:
    if isinstance(value, np.timedelta64):
        return None
    return _finer_than(value // _MICROSECOND * 1000 + getattr(value, "nanoseconds", 0), type)


def _finer_than(nanoseconds: int, type: Any) -> Optional[str]:
    return f"it is finer than {type.unit}" if nanoseconds % _UNIT_NANOSECONDS[type.unit] else None
