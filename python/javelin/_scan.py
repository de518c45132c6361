"""Scans and what comes out of them."""

from __future__ import annotations

from typing import Any, Iterator, List, Optional

import pyarrow as pa

from . import _arguments


def batches_of(reader: Any) -> Iterator[pa.RecordBatch]:
    """The batches of a reader of the extension; failures keep their class. Each batch is waited for without the GIL."""
    while (batch := reader.read_next()) is not None:
        yield pa.record_batch(batch)


def table_of(reader: Any) -> pa.Table:
    return pa.Table.from_batches(list(batches_of(reader)), schema=pa.schema(reader.schema))


class LanceScanner:
    """A scan that is ready to run; every method runs it anew. Made by :meth:`LanceDataset.scanner` and
    :meth:`FreshView.scan`."""

    def __init__(self, core: Any, columns: Optional[List[str]], limit: Optional[int], offset: Optional[int],
                 batch_size: Optional[int], with_row_id: bool, with_row_address: bool) -> None:
        self._core = core
        self._limit = _arguments.optional_whole_number("limit", limit)
        self._offset = _arguments.optional_whole_number("offset", offset) or 0
        self._arguments = dict(
            columns=_arguments.column_names(columns),
            limit=self._limit,
            offset=self._offset,
            batch_rows=_arguments.optional_whole_number("batch_size", batch_size, least=1),
            with_row_id=_arguments.optional_flag("with_row_id", with_row_id),
            with_row_address=_arguments.optional_flag("with_row_address", with_row_address),
        )

    def _reader(self) -> Any:
        return self._core.scan(**self._arguments)

    @property
    def projected_schema(self) -> pa.Schema:
        """Schema of the result."""
        return pa.schema(self._reader().schema)

    @property
    def dataset_schema(self) -> pa.Schema:
        """Schema of the table."""
        return pa.schema(self._core.schema)

    def to_table(self) -> pa.Table:
        """All rows of the result in memory."""
        return table_of(self._reader())

    def to_batches(self) -> Iterator[pa.RecordBatch]:
        """The result batch by batch; at most ``batch_size`` rows each."""
        return batches_of(self._reader())

    def to_reader(self) -> pa.RecordBatchReader:
        """The result as a stream."""
        reader = self._reader()
        return pa.RecordBatchReader.from_batches(pa.schema(reader.schema), batches_of(reader))

    def to_pandas(self, **kwargs: Any) -> Any:
        """The result as a ``pandas.DataFrame``; `kwargs` go to :meth:`pyarrow.Table.to_pandas`."""
        return self.to_table().to_pandas(**kwargs)

    def count_rows(self) -> int:
        """Number of rows of the result, without reading them."""
        rows = max(self._core.count_rows() - self._offset, 0)
        return rows if self._limit is None else min(rows, self._limit)

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        if requested_schema is not None:
            return self.to_reader().__arrow_c_stream__(requested_schema)
        return self._reader().__arrow_c_stream__()
