"""Reading a table together with SSTables of its shards."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Callable, List, Optional, Tuple

import pyarrow as pa

from . import _arguments, _core, errors
from ._data import as_batch
from ._scan import batches_of, table_of

if TYPE_CHECKING:
    from .dataset import LanceDataset


@dataclass
class CompactedSsTable:
    """Names an SSTable whose rows are in the base table.

    Parameters
    ----------
    shard_id : str
        UUID of the shard.
    generation : int
        Generation of the SSTable.
    """

    shard_id: str
    generation: int


class ShardSnapshot:
    """The SSTables of one shard, as somebody listed them. Its methods change it and return it.

    Parameters
    ----------
    shard_id : str
        A UUID.
    """

    def __init__(self, shard_id: str) -> None:
        _arguments.text("shard_id", shard_id)
        try:
            self._shard_id = str(uuid.UUID(shard_id))
        except ValueError:
            raise errors.InvalidInput(f"shard_id {shard_id!r} is no UUID") from None
        self._spec_id = 0
        self._current_generation = 1
        self._sstables: List[Tuple[int, str]] = []

    @property
    def shard_id(self) -> str:
        """UUID of the shard, in lower case with hyphens."""
        return self._shard_id

    def with_spec_id(self, spec_id: int) -> "ShardSnapshot":
        """Set the sharding spec of the shard. Reading does not need it."""
        self._spec_id = _arguments.whole_number("spec_id", spec_id, most=2**32 - 1)
        return self

    def with_current_generation(self, generation: int) -> "ShardSnapshot":
        """Set the generation that the shard writes now. Reading does not need it."""
        self._current_generation = _arguments.whole_number("generation", generation)
        return self

    def with_sstable(self, generation: int, path: str) -> "ShardSnapshot":
        """Add an SSTable: its generation, from 1, and the name of its folder below the folder of the shard."""
        number = _arguments.whole_number("generation", generation, least=1)
        self._sstables.append((number, _arguments.text("path", path)))
        return self

    def _listed(self) -> Tuple[str, List[Tuple[int, str]]]:
        return self._shard_id, list(self._sstables)

    def __repr__(self) -> str:
        return (f"ShardSnapshot(shard_id={self._shard_id!r}, current_generation={self._current_generation}, "
                f"sstables={len(self._sstables)})")


def listed(snapshots: List[ShardSnapshot]) -> List[Tuple[str, List[Tuple[int, str]]]]:
    """What the snapshots say now, for the extension."""
    if not isinstance(snapshots, (list, tuple)) or not all(isinstance(item, ShardSnapshot) for item in snapshots):
        raise errors.WrongType(f"shard_snapshots must be a list of ShardSnapshot, got {snapshots!r}")
    return [snapshot._listed() for snapshot in snapshots]


def with_key(columns: Optional[List[str]], key: List[str]) -> Optional[List[str]]:
    """The columns, and the key columns that are not among them behind."""
    return None if columns is None else columns + [name for name in key if name not in columns]


class LsmScanner:
    """A scan over the table and SSTables of its shards: with a primary key the newest row of every key, deleted ones left out;
    without one every row.

    Made by :meth:`ShardWriter.lsm_scanner`, which adds what the writer holds in memory and sees at each run what is there then,
    or by :meth:`from_snapshots`.
    """

    def __init__(self, open_view: Callable[[], Any]) -> None:
        self._open_view = open_view
        self._columns: Optional[List[str]] = None
        self._limit: Optional[int] = None
        self._offset = 0
        self._with_row_address = False
        self._with_generation = False

    @staticmethod
    def from_snapshots(dataset: "LanceDataset", shard_snapshots: List[ShardSnapshot]) -> "LsmScanner":
        """Scan this version of a table with these SSTables on top. Those whose rows the table holds already count no more.

        Raises :class:`javelin.errors.InvalidInput` for a shard or a generation that is given twice, or a path that is no folder
        name. Running the scan raises :class:`javelin.errors.NotFound` if an SSTable is gone: list the shard again.
        """
        view = _core.open_snapshot_view(dataset._core, listed(shard_snapshots))
        return LsmScanner(lambda: view)

    def project(self, columns: List[str]) -> "LsmScanner":
        """Return these columns; the primary key columns that are not among them follow."""
        self._columns = _arguments.column_names(list(columns))
        return self

    def limit(self, n: Optional[int] = None, offset: Optional[int] = None) -> "LsmScanner":
        """Return `n` rows at most, after leaving out `offset`."""
        self._limit = _arguments.optional_whole_number("n", n)
        self._offset = _arguments.optional_whole_number("offset", offset) or 0
        return self

    def with_row_address(self) -> "LsmScanner":
        """Add ``_rowaddr`` (uint64): the address of rows in the base table, null for others."""
        self._with_row_address = True
        return self

    def with_memtable_gen(self) -> "LsmScanner":
        """Add ``_memtable_gen`` (uint64): the generation of the row in its shard, 0 for rows of the base table."""
        self._with_generation = True
        return self

    def _reader(self) -> Any:
        view = self._open_view()
        scan = view.scan_with_generation if self._with_generation else view.scan
        columns = with_key(self._columns, view.key_columns)
        return scan(columns=columns, limit=self._limit, offset=self._offset, with_row_address=self._with_row_address)

    def to_table(self) -> pa.Table:
        """The rows in memory."""
        return table_of(self._reader())

    def to_batches(self) -> List[pa.RecordBatch]:
        """The rows as a list of batches."""
        return list(batches_of(self._reader()))

    def to_batch(self) -> pa.RecordBatch:
        """The rows as one batch."""
        return as_batch(self.to_table())

    def count_rows(self) -> int:
        """Number of rows."""
        rows = max(self._open_view().count_rows() - self._offset, 0)
        return rows if self._limit is None else min(rows, self._limit)

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        if requested_schema is not None:
            return self.to_table().__arrow_c_stream__(requested_schema)
        return self._reader().__arrow_c_stream__()


class ExecutionPlan:
    """A lookup that is ready to run; every method runs it anew, with the same answer. Made by
    :meth:`LsmPointLookupPlanner.plan_lookup`."""

    def __init__(self, view: Any, keys: Optional[pa.RecordBatch], columns: Optional[List[str]]) -> None:
        self._view = view
        self._keys = keys  # None: a key with a null, which no row has
        self._columns = columns

    @property
    def schema(self) -> pa.Schema:
        """Schema of the result."""
        return pa.schema(self._view.scan(columns=self._columns, limit=0).schema)

    @property
    def dataset_schema(self) -> pa.Schema:
        """Schema of the table."""
        return pa.schema(self._view.schema)

    def explain(self) -> str:
        """What is looked up and where, newest first. For people; the text may change."""
        key = "a null" if self._keys is None else self._keys.to_pylist()[0]
        lines = [f"Lookup: key={key}, columns={self.schema.names}, the first source that knows the key answers"]
        return "\n".join([*lines, *(f"  {tier}" for tier in self._view.tiers)])

    def to_table(self) -> pa.Table:
        """The row, or none."""
        if self._keys is None:
            return self.schema.empty_table()
        return pa.Table.from_batches([pa.record_batch(self._view.get(self._keys, self._columns))])

    def to_batches(self) -> List[pa.RecordBatch]:
        """The row as a list of batches, empty if there is none."""
        return [batch for batch in self.to_table().to_batches() if batch.num_rows > 0]

    def to_reader(self) -> pa.RecordBatchReader:
        """The row as a stream."""
        return self.to_table().to_reader()


class LsmPointLookupPlanner:
    """Looks rows up by primary key in this version of a table with SSTables on top.

    Parameters
    ----------
    dataset : LanceDataset
        The table.
    shard_snapshots : list of ShardSnapshot
        The SSTables.
    pk_columns : list of str, optional
        The primary key columns, for code that names them: no others than those of the table.

    Raises
    ------
    javelin.errors.InvalidInput
        The table has no primary key, `pk_columns` are not its key, or as :meth:`LsmScanner.from_snapshots`.
    """

    def __init__(
        self, dataset: "LanceDataset", shard_snapshots: List[ShardSnapshot], pk_columns: Optional[List[str]] = None
    ) -> None:
        self._view = _core.open_snapshot_view(dataset._core, listed(shard_snapshots))
        self._key: List[str] = self._view.key_columns
        if not self._key:
            raise errors.InvalidInput("this table has no primary key, so rows cannot be looked up by key")
        if pk_columns is not None and sorted(_arguments.column_names(pk_columns) or []) != sorted(self._key):
            raise errors.InvalidInput(f"pk_columns is {pk_columns}, the primary key of this table is {self._key}")

    def plan_lookup(self, pk_value: pa.Array, columns: Optional[List[str]] = None) -> ExecutionPlan:
        """Prepare the lookup of one key.

        Parameters
        ----------
        pk_value : pyarrow.Array
            One value; for a key of several columns a struct of them. Values of other types are cast where that loses nothing.
        columns : list of str, optional
            Columns of the result, then the primary key columns that are not among them; all by default.

        Raises
        ------
        javelin.errors.InvalidInput
            Not one value, a key column that is missing, a value that is none of the key's type, an unknown column.
        """
        if not isinstance(pk_value, pa.Array):
            raise _arguments.wrong_type("pk_value", "a pyarrow.Array", pk_value)
        if len(pk_value) != 1:
            raise errors.InvalidInput(f"pk_value must hold exactly one value, it holds {len(pk_value)}")
        plan = ExecutionPlan(self._view, self._keys(pk_value), with_key(_arguments.column_names(columns), self._key))
        plan.schema  # an unknown column fails here, not at the first run
        return plan

    def _keys(self, value: pa.Array) -> Optional[pa.RecordBatch]:
        """The key columns in the types of the table; None if one of them is null."""
        schema = pa.schema(self._view.schema)
        parts = {self._key[0]: value} if len(self._key) == 1 else self._parts(value)
        cast = [_cast(name, parts[name], schema.field(name).type) for name in self._key]
        if any(column.null_count for column in cast):
            return None
        return pa.RecordBatch.from_arrays(cast, schema=pa.schema([schema.field(name) for name in self._key]))

    def _parts(self, value: pa.Array) -> "dict[str, pa.Array]":
        if not pa.types.is_struct(value.type):
            raise errors.InvalidInput(f"the primary key of this table is {self._key}: give a struct of them, not {value.type}")
        missing = [name for name in self._key if value.type.get_field_index(name) < 0]
        if missing:
            raise errors.InvalidInput(f"pk_value lacks the key column {missing[0]!r}")
        names = [value.type.field(i).name for i in range(value.type.num_fields)]
        return dict(zip(names, value.flatten()))


def _cast(name: str, value: pa.Array, to: pa.DataType) -> pa.Array:
    try:
        return value.cast(to)
    except (ValueError, NotImplementedError) as error:
        raise errors.InvalidInput(f"the value of the key column {name!r} is no {to}: {error}") from None
