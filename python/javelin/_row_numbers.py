"""Row numbers as callers hand them in.

Without `pyarrow.array`, which imports pandas when it first sees plain values: half a second for the first take of a process.
"""

from __future__ import annotations

import array
from collections.abc import Iterable
from typing import Any

import pyarrow as pa
import pyarrow.types as kinds

from . import errors


def row_numbers(indices: Any) -> pa.Array:
    """Whole numbers from 0 in any sequence, numpy array or Arrow array, as uint64.

    Raises :class:`javelin.errors.WrongType` for what is no whole number (floats and bools are none) and
    :class:`javelin.errors.InvalidInput` for one that is out of range or null.
    """
    if isinstance(indices, (pa.Array, pa.ChunkedArray)):
        return _of_arrow(indices)
    if type(indices).__module__ == "numpy" and hasattr(indices, "dtype"):
        return _of_numpy(indices)
    if isinstance(indices, (str, bytes)) or not isinstance(indices, Iterable):
        raise errors.WrongType(f"row numbers must be a sequence of whole numbers, got {type(indices).__name__}")
    return _of_plain(indices if isinstance(indices, (list, tuple, range)) else list(indices))


def _of_arrow(indices: Any) -> pa.Array:
    if isinstance(indices, pa.ChunkedArray):
        indices = indices.combine_chunks()
    if isinstance(indices, pa.DictionaryArray):
        indices = indices.dictionary_decode()
    if indices.null_count:
        raise errors.InvalidInput("row numbers must be whole numbers from 0, got null")
    if not (kinds.is_integer(indices.type) or len(indices) == 0):
        raise _no_whole_number(indices.type)
    try:
        return indices.cast(pa.uint64())
    except pa.ArrowInvalid as error:
        raise _out_of_range(error) from None


def _of_numpy(indices: Any) -> pa.Array:
    if indices.ndim != 1:
        raise errors.InvalidInput(f"row numbers must be a sequence, got an array of {indices.ndim} dimensions")
    if indices.dtype.kind == "O":
        return _of_plain(indices.tolist())
    if indices.dtype.kind not in "iu" and len(indices):
        raise _no_whole_number(indices.dtype)
    if indices.dtype.kind == "i" and len(indices) and indices.min() < 0:
        raise _out_of_range(indices.min())
    return _of_bytes(indices.astype("uint64", order="C"))


def _of_plain(indices: Any) -> pa.Array:
    for kind in set(map(type, indices)):
        if kind is type(None):
            raise errors.InvalidInput("row numbers must be whole numbers from 0, got None")
        if kind is bool or not hasattr(kind, "__index__"):
            raise _no_whole_number(kind.__name__)
    try:
        return _of_bytes(array.array("Q", indices))
    except OverflowError as error:
        raise _out_of_range(error) from None


def _of_bytes(numbers: Any) -> pa.Array:
    """`numbers`: uint64 one after another, which nobody changes from here on."""
    return pa.Array.from_buffers(pa.uint64(), len(numbers), [None, pa.py_buffer(numbers)])


def _no_whole_number(kind: Any) -> errors.WrongType:
    return errors.WrongType(f"row numbers must be whole numbers, got {kind}")


def _out_of_range(what: Any) -> errors.InvalidInput:
    return errors.InvalidInput(f"row numbers must be from 0 to {2**64 - 1}: {what}")
