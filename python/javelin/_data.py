"""What callers hand in, as one Arrow stream."""

from __future__ import annotations

# Arrow imports pandas when it first sees plain values, and pandas this module, which cannot be imported any more in a thread
# that outlives the main thread.
import concurrent.futures.thread  # noqa: F401
from collections.abc import Iterator, Mapping
from itertools import chain
from typing import Any, Callable, Collection, Dict, Iterable, List, Optional, Sequence, TypeVar

import pyarrow as pa
import pyarrow.types as kinds

from . import errors
from ._plain_values import ARROW_REFUSALS, array_of

_T = TypeVar("_T")


class Source:
    """A stream of record batches made of what a caller handed in.

    `schema` is that of data that says none of its own; `types` gives plain Python values and data frames the types of a table,
    by column name. With `only`, other columns than these are left out of plain Python values.
    `stream` has ``__arrow_c_stream__``. `failure` is what a Python producer raised while it was read; it tells more than
    the error that the reader saw of it.
    """

    def __init__(
        self,
        data: Any,
        schema: Optional[pa.Schema] = None,
        types: Optional[pa.Schema] = None,
        only: Optional[Collection[str]] = None,
    ) -> None:
        self.failure: Optional[BaseException] = None
        self._schema, self._types, self._only = schema, types, only
        self.stream = self._stream_of(data)

    def run(self, work: Callable[[Any], _T]) -> _T:
        """`work(stream)`; a failure of the producer itself comes out as it was raised."""
        try:
            return work(self.stream)
        except errors.JavelinError as error:
            if self.failure is not None:
                raise self.failure from error
            raise

    def _stream_of(self, data: Any) -> Any:
        if isinstance(data, (pa.Table, pa.RecordBatchReader)):
            return data
        if isinstance(data, pa.RecordBatch):
            return pa.Table.from_batches([data])
        if _is_frame(data, "pandas"):
            return _own(self._retyped(_table_of_pandas(data, self._schema)))
        if _is_frame(data, "polars"):
            return self._retyped(data.to_arrow())  # its own stream has string views, which tables do not
        if isinstance(data, Mapping):
            return _own(self._table_of_columns(data))
        if isinstance(data, (list, tuple)) and data and isinstance(data[0], Mapping):
            return self._table_of_columns(_columns_of_rows(data))
        if hasattr(data, "__arrow_c_stream__"):
            return data
        if hasattr(data, "__arrow_c_array__"):
            return pa.Table.from_batches([pa.record_batch(data)])
        if hasattr(data, "scanner"):  # a pyarrow.dataset.Dataset
            return data.scanner().to_reader()
        if hasattr(data, "to_reader"):  # a pyarrow.dataset.Scanner
            return data.to_reader()
        if isinstance(data, (list, tuple, Iterator)):
            return self._reader_of_batches(iter(data))
        raise errors.WrongType(
            f"cannot read rows from {type(data).__name__}: give anything with __arrow_c_stream__ or __arrow_c_array__, a "
            "pandas or polars frame, a dict of columns, a list of dicts, or an iterator of record batches with its schema"
        )

    # ---- batches of the caller's own ----

    def _reader_of_batches(self, batches: Iterator[Any]) -> pa.RecordBatchReader:
        schema = self._schema
        if schema is None:
            if self._types is None:
                raise errors.InvalidInput(
                    "no rows, or an iterator of record batches, say no schema of their own: give the argument `schema`"
                )
            # The table is known, so batches only need a schema among themselves: that of the first.
            first = next(batches, None)
            if first is None:
                return pa.RecordBatchReader.from_batches(self._types, [])
            schema, batches = _batch(first).schema, chain([first], batches)
        return pa.RecordBatchReader.from_batches(schema, self._recorded(_conforming(batches, schema)))

    def _recorded(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        try:
            yield from batches
        except BaseException as error:
            self.failure = error
            raise

    # ---- plain Python values and frames ----

    def _table_of_columns(self, columns: Mapping[str, Any]) -> pa.Table:
        if self._schema is not None:
            _check_names(columns, self._schema)
            columns = {name: columns[name] for name in self._schema.names}
        elif self._only is not None:
            columns = {name: values for name, values in columns.items() if name in self._only}
        fields, arrays = [], []
        for name, values in columns.items():
            field = self._field(name)
            array = _column(name, values, None if field is None else field.type)
            fields.append(pa.field(name, array.type) if field is None else field)
            arrays.append(array)
        _check_lengths(list(columns), arrays)
        metadata = None if self._schema is None else self._schema.metadata
        return pa.Table.from_arrays(arrays, schema=pa.schema(fields, metadata=metadata))

    def _field(self, name: str) -> Optional[pa.Field]:
        """The column in the schema that holds for it, if one does."""
        known = self._schema if self._schema is not None else self._types
        return known.field(name) if known is not None and name in known.names else None

    def _retyped(self, table: pa.Table) -> pa.Table:
        """A frame's columns in the types that are known of them, where no value changes by it."""
        fields = [self._field(field.name) or field for field in table.schema]
        return _cast(table, pa.schema(fields, metadata=table.schema.metadata))


def _is_frame(data: Any, library: str) -> bool:
    return type(data).__module__.split(".")[0] == library and type(data).__name__ == "DataFrame"


def _table_of_pandas(frame: Any, schema: Optional[pa.Schema]) -> pa.Table:
    """Every column as pandas and Arrow agree on it; what types a table wants is settled afterwards, with checks."""
    try:
        table = pa.Table.from_pandas(frame)
    except ARROW_REFUSALS as error:
        raise errors.InvalidInput(f"the data frame cannot be converted: {error}") from None
    if schema is None:
        return table
    _check_names(dict.fromkeys(table.column_names), schema, extra=True)
    return table.select(schema.names).replace_schema_metadata(schema.metadata)


def _columns_of_rows(rows: Sequence[Any]) -> Dict[str, List[Any]]:
    """Every name that any row has is a column; a row that lacks it is null there."""
    for number, row in enumerate(rows):
        if not isinstance(row, Mapping):
            raise errors.WrongType(f"expected a list of dicts, got {type(row).__name__} as row {number}")
    names = dict.fromkeys(name for row in rows for name in row)
    return {name: [row.get(name) for row in rows] for name in names}


def _check_names(columns: Mapping[str, Any], schema: pa.Schema, extra: bool = False) -> None:
    unknown = [name for name in columns if name not in schema.names]
    if unknown and not extra:
        raise errors.InvalidInput(f"the schema that was given has no column {unknown[0]!r}")
    missing = [name for name in schema.names if name not in columns]
    if missing:
        raise errors.InvalidInput(f"column {missing[0]!r} of the schema that was given is missing in the data")


def _check_lengths(names: List[str], arrays: List[Any]) -> None:
    for name, array in zip(names, arrays):
        if len(array) != len(arrays[0]):
            raise errors.InvalidInput(
                f"column {name!r} has {len(array)} values, column {names[0]!r} has {len(arrays[0])}: give as many in each"
            )


def _column(name: str, values: Any, type: Optional[pa.DataType]) -> Any:
    """One column of a dict. What has a type of its own (arrays of Arrow, numpy, pandas) keeps its values or is refused."""
    if not _is_typed(values):
        return array_of(name, values, type)
    try:
        array = values if isinstance(values, (pa.Array, pa.ChunkedArray)) else pa.array(values)
    except ARROW_REFUSALS as error:
        raise errors.InvalidInput(f"column {name!r} cannot be converted: {error}") from None
    return array if type is None else _cast_column(name, array, type)


def _is_typed(values: Any) -> bool:
    if isinstance(values, (pa.Array, pa.ChunkedArray)) or hasattr(values, "__arrow_array__"):
        return True
    dtype = getattr(values, "dtype", None)
    if dtype is None or getattr(values, "ndim", 1) != 1:
        return False
    return not _is_numpy(values) or dtype.kind != "O"


def _is_numpy(values: Any) -> bool:
    return type(values).__module__.split(".")[0] == "numpy"


# ---- casts ----


def _own(table: pa.Table) -> pa.Table:
    """A copy that shares no memory with the arrays it was made of, which their owner may go on changing."""
    manager = pa.default_cpu_memory_manager()
    return pa.Table.from_batches([batch.copy_to(manager) for batch in table.to_batches()], schema=table.schema)


def _batch(batch: Any) -> pa.RecordBatch:
    if not isinstance(batch, pa.RecordBatch):
        raise errors.WrongType(f"expected a pyarrow.RecordBatch, got {type(batch).__name__}; rows are a list of dicts")
    return batch


def _conforming(batches: Iterable[Any], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        if _batch(batch).schema.equals(schema):
            yield batch
        else:
            yield from _cast(pa.Table.from_batches([batch]), schema).to_batches()


def _cast(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """The same columns in the types of a schema."""
    if table.schema.names != schema.names:
        raise errors.InvalidInput(f"the rows have the columns {table.schema.names}, their schema has {schema.names}")
    columns = [_cast_column(field.name, table.column(i), field.type) for i, field in enumerate(schema)]
    return pa.Table.from_arrays(columns, schema=schema)


def _cast_column(name: str, values: Any, type: pa.DataType) -> Any:
    if values.type.equals(type):
        return values
    if not _is_same_sort(values.type, type):
        raise errors.InvalidInput(f"column {name!r} has type {values.type} instead of {type}")
    try:
        return values.cast(type)
    except ARROW_REFUSALS as error:
        raise errors.InvalidInput(f"column {name!r} of type {values.type} does not fit {type}: {error}") from None


def _is_same_sort(given: pa.DataType, wanted: pa.DataType) -> bool:
    """True if Arrow's checked cast between the two keeps every value (floats may be rounded) or fails."""
    if isinstance(given, pa.DictionaryType):
        return _is_same_sort(given.value_type, wanted)
    if kinds.is_null(given) or given.equals(wanted):
        return True
    if _is_list(given) and _is_list(wanted):
        return _is_same_sort(given.value_type, wanted.value_type)
    if kinds.is_timestamp(given) and kinds.is_timestamp(wanted):
        return (given.tz is None) == (wanted.tz is None)
    return any(holds(given) and holds(wanted) for holds in _SORTS)


def _is_list(type: pa.DataType) -> bool:
    return kinds.is_list(type) or kinds.is_large_list(type) or kinds.is_fixed_size_list(type)


_SORTS: List[Callable[[pa.DataType], bool]] = [
    lambda type: kinds.is_integer(type) or kinds.is_floating(type),
    lambda type: kinds.is_integer(type) or kinds.is_decimal(type),
    lambda type: kinds.is_string(type) or kinds.is_large_string(type) or kinds.is_string_view(type),
    lambda type: kinds.is_binary(type) or kinds.is_large_binary(type) or kinds.is_fixed_size_binary(type),
    kinds.is_date,
    kinds.is_time,
    kinds.is_duration,
]


def as_batch(stream: Any) -> pa.RecordBatch:
    """All rows of a table or stream in one batch of its schema."""
    table = stream if isinstance(stream, pa.Table) else pa.table(stream)
    batches = table.to_batches()
    if len(batches) > 1:
        batches = table.combine_chunks().to_batches()
    return batches[0] if batches else pa.RecordBatch.from_pylist([], schema=table.schema)
