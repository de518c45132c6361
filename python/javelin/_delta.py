"""What changed between two versions of a table."""

from __future__ import annotations

from typing import Any, Optional

import pyarrow as pa

from . import _arguments, errors
from ._scan import batches_of
from ._table import Table


class DatasetDelta:
    """Rows that came or changed in a range of versions; made by :meth:`LanceDataset.delta`."""

    def __init__(self, core: Any, begin: int, end: int) -> None:
        self._core, self._begin, self._end = core, begin, end

    def _reader(self, kind: str) -> pa.RecordBatchReader:
        reader = self._core.delta(kind, self._begin, self._end)
        return pa.RecordBatchReader.from_batches(pa.schema(reader.schema), batches_of(reader))

    def get_inserted_rows(self) -> pa.RecordBatchReader:
        """Rows that came in the range and are there still: all columns, then ``_rowid``, ``_row_created_at_version`` and
        ``_row_last_updated_at_version``."""
        return self._reader("inserted")

    def get_updated_rows(self) -> pa.RecordBatchReader:
        """Rows that were there before the range and were changed last in it, with the same columns."""
        return self._reader("updated")


class Deltas(Table):
    """The methods of a dataset that compare versions."""

    def delta(
        self,
        compared_against: Optional[int] = None,
        *,
        begin_version: Optional[int] = None,
        end_version: Optional[int] = None,
    ) -> DatasetDelta:
        """What changed since another version, in rows of this one.

        Parameters
        ----------
        compared_against : int, optional
            The other version: the range begins behind it and ends with this one.
        begin_version, end_version : int, optional
            The range instead: behind `begin_version`, up to `end_version`.

        Raises
        ------
        javelin.errors.InvalidInput
            Neither or both are given, or half of a range.
        javelin.errors.NotSupported
            The table has no stable row ids, so its rows do not say when they came. Raised by the methods of the result.
        """
        against = _arguments.optional_whole_number("compared_against", compared_against)
        begin = _arguments.optional_whole_number("begin_version", begin_version)
        end = _arguments.optional_whole_number("end_version", end_version)
        if against is not None and begin is None and end is None:
            return DatasetDelta(self._core, against, self._core.version)
        if against is not None or begin is None or end is None:
            raise errors.InvalidInput("give compared_against, or begin_version and end_version")
        return DatasetDelta(self._core, begin, end)
