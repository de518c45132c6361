"""Row numbers as callers hand them in.

Without `pyarrow.array`, which imports pandas when it first sees plain values: half a second for the first take of a process.
They cross to the extension as memory, without an array around it.
"""

from __future__ import annotations

import array
from collections.abc import Iterable
from typing import Any

import pyarrow as pa
import pyarrow.types as kinds

from . import _core, errors


def row_numbers(indices: Any) -> Any:
    """Whole numbers from 0 in any sequence, numpy array or Arrow array, as the memory (buffer protocol) of uint64 one after
    another, which nobody changes from here on.

    Raises :class:`javelin.errors.WrongType` for what is no whole number (floats and bools are none) and
    :class:`javelin.errors.InvalidInput` for one that is out of range or null.
    """
    if isinstance(indices, (pa.Array, pa.ChunkedArray)):
        return _of_arrow(indices)
    if type(indices).__module__ == "numpy" and hasattr(indices, "dtype"):
        return _of_numpy(indices)
    if isinstance(indices, (str, bytes)) or not isinstance(indices, Iterable):
        raise errors.WrongType(f"row numbers must be a sequence of whole numbers, got {type(indices).__name__}")
    return _of_plain(indices if isinstance(indices, (list, tuple)) else list(indices))


def _of_arrow(indices: Any) -> memoryview:
    if isinstance(indices, pa.ChunkedArray):
        indices = indices.combine_chunks()
    if isinstance(indices, pa.DictionaryArray):
        indices = indices.dictionary_decode()
    if indices.null_count:
        raise errors.InvalidInput("row numbers must be whole numbers from 0, got null")
    if not (kinds.is_integer(indices.type) or len(indices) == 0):
        raise _no_whole_number(indices.type)
    try:
        numbers = indices.cast(pa.uint64())
    except pa.ArrowInvalid as error:
        raise _out_of_range(error) from None
    values = numbers.buffers()[1]
    return memoryview(b"" if values is None else values)[8 * numbers.offset : 8 * (numbers.offset + len(numbers))]


def _of_numpy(indices: Any) -> Any:
    if indices.ndim != 1:
        raise errors.InvalidInput(f"row numbers must be a sequence, got an array of {indices.ndim} dimensions")
    if indices.dtype.kind == "O":
        return _of_plain(indices.tolist())
    if indices.dtype.kind not in "iu" and len(indices):
        raise _no_whole_number(indices.dtype)
    if indices.dtype.kind == "i" and len(indices) and indices.min() < 0:
        raise _out_of_range(indices.min())
    return indices.astype("uint64", order="C")


def _of_plain(indices: Any) -> Any:
    numbers = _core.whole_numbers(indices)
    if numbers is not None:
        return numbers
    for kind in set(map(type, indices)):
        if kind is type(None):
            raise errors.InvalidInput("row numbers must be whole numbers from 0, got None")
        if kind is bool or not hasattr(kind, "__index__"):
            raise _no_whole_number(kind.__name__)
    try:
        return array.array("Q", indices)
    except OverflowError as error:
        raise _out_of_range(error) from None


def _no_whole_number(kind: Any) -> errors.WrongType:
    return errors.WrongType(f"row numbers must be whole numbers, got {kind}")


def _out_of_range(what: Any) -> errors.InvalidInput:
    return errors.InvalidInput(f"row numbers must be from 0 to {2**64 - 1}: {what}")
