"""Scans and what comes out of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Dict, Iterator, List, NamedTuple, Optional, Sequence, Tuple, Union

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


class BlobBytes(NamedTuple):
    """How the bytes of blobs are read."""

    drop_address: bool  # the scan has `_rowaddr` for them only
    batch_bytes: Optional[int]  # of a batch with the bytes, about


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


class ViewScan:
    """A prepared scan of a fresh view: what LanceScanner needs of the extension's Scanner."""

    def __init__(self, view: Any, arguments: Dict[str, Any]) -> None:
        self._view, self._arguments = view, arguments

    def to_reader(self) -> Any:
        return self._view.scan(**self._arguments)

    def explain(self, verbose: bool) -> str:
        raise errors.NotSupported("the plan of a scan of a fresh view")

    def analyze(self) -> str:
        raise errors.NotSupported("the plan of a scan of a fresh view")

    def count_rows(self) -> int:
        rows = max(self._view.count_rows() - self._arguments["offset"], 0)
        return rows if self._arguments["limit"] is None else min(rows, self._arguments["limit"])


@dataclass
class ColumnOrdering:
    """One column of `order_by`: its name, the direction, and where nulls come, whichever the direction."""

    column_name: str
    ascending: bool = True
    nulls_first: bool = False


def orderings(order_by: Optional[Sequence[Union[str, ColumnOrdering]]]) -> List[Tuple[str, bool, bool]]:
    if order_by is None:
        return []
    if isinstance(order_by, str) or not isinstance(order_by, Sequence):
        raise _arguments.wrong_type("order_by", "a list of str or ColumnOrdering", order_by)
    checked = []
    for key in order_by:
        key = ColumnOrdering(key) if isinstance(key, str) else key
        if not isinstance(key, ColumnOrdering):
            raise _arguments.wrong_type("order_by", "a list of str or ColumnOrdering", order_by)
        checked.append((_arguments.text("column_name", key.column_name), _arguments.flag("ascending", key.ascending),
                        _arguments.flag("nulls_first", key.nulls_first)))
    return checked


def limits(limit: Optional[int], offset: Optional[int], batch_size: Optional[int]) -> Dict[str, Any]:
    """Checked arguments that every scan has."""
    return dict(
        limit=_arguments.optional_whole_number("limit", limit),
        offset=_arguments.optional_whole_number("offset", offset) or 0,
        batch_rows=_arguments.optional_whole_number("batch_size", batch_size, least=1),
    )


class LanceScanner:
    """A scan that is ready to run; every method runs it anew. Made by :meth:`LanceDataset.scanner` and
    :meth:`FreshView.scan`."""

    def __init__(self, core: Any, scan: Any, blobs: Optional[BlobBytes] = None) -> None:
        self._core = core
        self._scan = scan
        self._blobs = blobs  # None: blobs are read as where they lie

    def _reader(self) -> Any:
        reader = self._scan.to_reader()
        return reader if self._blobs is None else _BlobReader(self._core, reader, *self._blobs)

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
        """Number of rows of the result. Reads only the columns of the filter, without one nothing."""
        return self._scan.count_rows()

    def explain_plan(self, verbose: bool = False) -> str:
        """The steps of the scan, one a line, the outermost first; `verbose` names fragments and files too. Reads nothing. The text
        is for people, and its form may change."""
        return self._scan.explain(_arguments.flag("verbose", verbose))

    def analyze_plan(self) -> str:
        """Runs the scan, without keeping its rows, and returns the steps with what they took: time, rows, batches, and requests
        and bytes of the table's store, as if nothing of its files were known. The text is for people."""
        return self._scan.analyze()

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        if requested_schema is not None:
            return self.to_reader().__arrow_c_stream__(requested_schema)
        return self._reader().__arrow_c_stream__()
