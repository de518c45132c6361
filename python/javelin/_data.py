"""What callers hand in, as one Arrow stream."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Callable, Dict, Iterable, List, Optional, Sequence, TypeVar

import pyarrow as pa

from . import errors

_T = TypeVar("_T")


class Source:
    """A stream of record batches made of what a caller handed in.

    `schema` is that of data that says none of its own; `types` gives plain Python values and data frames the types of a table,
    by column name.
    `stream` has ``__arrow_c_stream__``. `failure` is what a Python producer raised while it was read; it tells more than
    the error that the reader saw of it.
    """

    def __init__(self, data: Any, schema: Optional[pa.Schema] = None, types: Optional[pa.Schema] = None) -> None:
        self.failure: Optional[BaseException] = None
        self.stream = self._stream_of(data, schema, types)

    def run(self, work: Callable[[Any], _T]) -> _T:
        """`work(stream)`; a failure of the producer itself comes out as it was raised."""
        try:
            return work(self.stream)
        except errors.JavelinError as error:
            if self.failure is not None:
                raise self.failure from error
            raise

    def _stream_of(self, data: Any, schema: Optional[pa.Schema], types: Optional[pa.Schema]) -> Any:
        if isinstance(data, (pa.Table, pa.RecordBatchReader)):
            return data
        if isinstance(data, pa.RecordBatch):
            return pa.Table.from_batches([data])
        if _is_frame(data, "pandas"):
            return _own(_retyped(pa.Table.from_pandas(data, schema=schema), types))
        if _is_frame(data, "polars"):
            return _retyped(data.to_arrow(), types)  # its own stream has string views, which tables do not
        if isinstance(data, Mapping):
            return _own(_table_of_columns(data, schema, types))
        if isinstance(data, list) and data and isinstance(data[0], Mapping):
            return _table_of_columns(_columns_of_rows(data), schema, types)
        if hasattr(data, "__arrow_c_stream__"):
            return data
        if hasattr(data, "__arrow_c_array__"):
            return pa.Table.from_batches([pa.record_batch(data)])
        if hasattr(data, "scanner"):  # a pyarrow.dataset.Dataset
            return data.scanner().to_reader()
        if hasattr(data, "to_reader"):  # a pyarrow.dataset.Scanner
            return data.to_reader()
        if isinstance(data, (list, tuple, Iterator)):
            return self._reader_of_batches(data, schema)
        raise TypeError(
            f"cannot read rows from {type(data).__name__}: give anything with __arrow_c_stream__ or __arrow_c_array__, a "
            "pandas or polars frame, a dict of columns, a list of dicts, or an iterator of record batches with its schema"
        )

    def _reader_of_batches(self, batches: Iterable[Any], schema: Optional[pa.Schema]) -> pa.RecordBatchReader:
        if schema is None:
            raise errors.InvalidInput("an iterator of record batches needs the argument `schema`")
        return pa.RecordBatchReader.from_batches(schema, self._recorded(_conforming(batches, schema)))

    def _recorded(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        try:
            yield from batches
        except BaseException as error:
            self.failure = error
            raise


def _is_frame(data: Any, library: str) -> bool:
    return type(data).__module__.split(".")[0] == library and type(data).__name__ == "DataFrame"


def _columns_of_rows(rows: Sequence[Any]) -> Dict[str, List[Any]]:
    """Every name that any row has is a column; a row that lacks it is null there."""
    for row in rows:
        if not isinstance(row, Mapping):
            raise TypeError(f"expected a list of dicts, got {type(row).__name__} in it")
    names = dict.fromkeys(name for row in rows for name in row)
    return {name: [row.get(name) for row in rows] for name in names}


def _table_of_columns(
    columns: Mapping[str, Any], schema: Optional[pa.Schema], types: Optional[pa.Schema]
) -> pa.Table:
    if schema is not None:
        unknown = [name for name in columns if name not in schema.names]
        if unknown:
            raise errors.InvalidInput(f"the schema that was given has no column {unknown[0]!r}")
        missing = [name for name in schema.names if name not in columns]
        if missing:
            raise errors.InvalidInput(f"column {missing[0]!r} of the schema that was given is missing in the data")
        return pa.Table.from_pydict({name: columns[name] for name in schema.names}, schema=schema)
    if types is None:
        return pa.Table.from_pydict(dict(columns))
    guessed = pa.Table.from_pydict({name: values for name, values in columns.items() if name not in types.names})
    fields = [types.field(name) if name in types.names else guessed.schema.field(name) for name in columns]
    values = {name: columns[name] if name in types.names else guessed.column(name) for name in columns}
    return pa.Table.from_pydict(values, schema=pa.schema(fields))


def _retyped(table: pa.Table, types: Optional[pa.Schema]) -> pa.Table:
    """A frame's columns in the types of the table, where no value changes by it."""
    if types is None:
        return table
    fields = [types.field(field.name) if field.name in types.names else field for field in table.schema]
    return _cast(table, pa.schema(fields))


def _own(table: pa.Table) -> pa.Table:
    """A copy that shares no memory with the arrays it was made of, which their owner may go on changing."""
    manager = pa.default_cpu_memory_manager()
    return pa.Table.from_batches([batch.copy_to(manager) for batch in table.to_batches()], schema=table.schema)


def _conforming(batches: Iterable[Any], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        if not isinstance(batch, pa.RecordBatch):
            raise TypeError(f"expected a pyarrow.RecordBatch, got {type(batch).__name__}")
        if batch.schema.equals(schema):
            yield batch
        else:
            yield from _cast(pa.Table.from_batches([batch]), schema).to_batches()


def _cast(table: pa.Table, schema: pa.Schema) -> pa.Table:
    try:
        return table.cast(schema)
    except (ValueError, NotImplementedError) as error:
        raise errors.InvalidInput(f"the rows do not fit the schema: {error}") from None


def as_batch(table: pa.Table) -> pa.RecordBatch:
    """All rows of a table in one batch, of the table's schema."""
    batches = table.combine_chunks().to_batches()
    return batches[0] if batches else pa.RecordBatch.from_pylist([], schema=table.schema)
