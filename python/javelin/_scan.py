"""Scans and what comes out of them."""

from __future__ import annotations

from typing import Any, Iterator, List, Optional

import pyarrow as pa

from . import _arguments, errors


ROW_ADDRESS = "_rowaddr"


def wants_bytes_of_blobs(blob_handling: Optional[str]) -> bool:
    if blob_handling is None:
        return False
    known = {"all_binary": True, "blobs_descriptions": False, "all_descriptions": False}
    if _arguments.text("blob_handling", blob_handling) not in known:
        raise errors.InvalidInput(f"blob_handling must be 'all_binary' or 'blobs_descriptions', got '{blob_handling}'")
    return known[blob_handling]


class _BlobReader:
    """A reader of the extension whose descriptions of blobs become bytes, batch by batch.

    A batch ends where its bytes with those of its blobs would be more than a scan's batch may have."""

    def __init__(self, core: Any, reader: Any, drop_address: bool, batch_bytes: Optional[int]) -> None:
        self._core = core
        self._reader = reader
        self._drop_address = drop_address
        self._batch_bytes = batch_bytes
        self._rest: Optional[pa.RecordBatch] = None  # of the reader's last batch

    def _with_bytes(self, batch: Any) -> pa.RecordBatch:
        batch = pa.record_batch(self._core.read_blobs(batch))
        return batch.drop_columns([ROW_ADDRESS]) if self._drop_address else batch

    @property
    def schema(self) -> pa.Schema:
        schema = pa.schema(self._reader.schema)
        return self._with_bytes(pa.RecordBatch.from_arrays([pa.array([], field.type) for field in schema], schema=schema)).schema

    def read_next(self) -> Optional[pa.RecordBatch]:
        if self._rest is None:
            batch = self._reader.read_next()
            if batch is None:
                return None
            self._rest = pa.record_batch(batch)
        count = self._core.rows_with_blobs(self._rest, self._batch_bytes)
        batch = self._with_bytes(self._rest.slice(0, count))
        self._rest = self._rest.slice(count) if count < self._rest.num_rows else None
        return batch

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return pa.RecordBatchReader.from_batches(self.schema, batches_of(self)).__arrow_c_stream__(requested_schema)


def batches_of(reader: Any) -> Iterator[pa.RecordBatch]:
    """The batches of a reader of the extension; failures keep their class. Each batch is waited for without the GIL.

    Not a generator, which would end after a failure as if all rows had come: asked again, it fails again."""
    return map(pa.record_batch, iter(reader.read_next, None))


def table_of(reader: Any) -> pa.Table:
    batches = list(batches_of(reader))
    return pa.Table.from_batches(batches, schema=None if batches else pa.schema(reader.schema))


class LanceScanner:
    """A scan that is ready to run; every method runs it anew. Made by :meth:`LanceDataset.scanner` and
    :meth:`FreshView.scan`."""

    def __init__(self, core: Any, columns: Optional[List[str]], limit: Optional[int], offset: Optional[int],
                 batch_size: Optional[int], with_row_id: bool, with_row_address: bool, blob_handling: Optional[str] = None,
                 batch_size_bytes: Optional[int] = None) -> None:
        self._core = core
        self._bytes_of_blobs = wants_bytes_of_blobs(blob_handling)
        self._limit = _arguments.optional_whole_number("limit", limit)
        self._offset = _arguments.optional_whole_number("offset", offset) or 0
        self._arguments = dict(
            columns=_arguments.column_names(columns),
            limit=self._limit,
            offset=self._offset,
            batch_rows=_arguments.optional_whole_number("batch_size", batch_size, least=1),
            batch_bytes=_arguments.optional_whole_number("batch_size_bytes", batch_size_bytes, least=1),
            with_row_id=_arguments.optional_flag("with_row_id", with_row_id),
            with_row_address=_arguments.optional_flag("with_row_address", with_row_address),
        )

    def _reader(self) -> Any:
        if not self._bytes_of_blobs:
            return self._core.scan(**self._arguments)
        reader = self._core.scan(**{**self._arguments, "with_row_address": True})
        asked = self._arguments["with_row_address"] or ROW_ADDRESS in (self._arguments["columns"] or [])
        return _BlobReader(self._core, reader, drop_address=not asked, batch_bytes=self._arguments["batch_bytes"])

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
