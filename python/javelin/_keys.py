"""Primary keys as callers hand them in, for reads and deletes alike."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, List, Optional

import pyarrow as pa

from . import errors
from ._data import Source


def source_of_keys(
    keys: Any, key_columns: List[str], types: pa.Schema, schema: Optional[pa.Schema] = None
) -> Source:
    """Keys as a stream of their columns: plain values for a key of one column; else the key columns by name, as rows, as
    columns or as Arrow data. Plain Python values of other columns are left out, unread."""
    if _are_plain_values(keys):
        if len(key_columns) != 1:
            raise errors.InvalidInput(
                f"the key of this table is {key_columns}: give keys as dicts or as a table of these columns"
            )
        keys = {key_columns[0]: keys}
    return Source(keys, schema, types=types, only=key_columns)


def _are_plain_values(keys: Any) -> bool:
    if isinstance(keys, (pa.Array, pa.ChunkedArray)):
        return True
    if not isinstance(keys, (list, tuple)) or not keys:
        return False
    return not any(isinstance(key, (Mapping, pa.RecordBatch)) for key in keys)
