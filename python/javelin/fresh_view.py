"""Views that see what the writers of a table hold, not only what is in the table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Dict, Iterator, List, Optional

import pyarrow as pa

from . import _arguments, _core, _scan, errors
from ._data import as_batch
from ._keys import source_of_keys
from ._scan import LanceScanner

if TYPE_CHECKING:
    from .dataset import LanceDataset


class FreshView:
    """An immutable view over base table and shards, made by :meth:`LanceDataset.fresh`.

    With a primary key: the newest row of every key, deleted ones left out. Without one: every row. Safe to use from several
    threads.
    """

    def __init__(self, dataset: "LanceDataset", max_staleness: Optional[float] = None) -> None:
        self._dataset = dataset
        self._core = _core.open_fresh_view(dataset._core, _arguments.seconds("max_staleness", max_staleness))

    def __repr__(self) -> str:
        try:
            return f"<FreshView of {self._dataset.uri!r} over version {self.version}>"
        except errors.Closed:  # it crossed a fork
            return f"<FreshView of {self._dataset.uri!r}, closed>"

    @property
    def schema(self) -> pa.Schema:
        """Schema of the rows."""
        return pa.schema(self._core.schema)

    @property
    def version(self) -> int:
        """Version of the base table below this view."""
        return self._core.version

    def refresh(self) -> "FreshView":
        """A new view of what is there now; this one stays as it is."""
        return FreshView(self._dataset)

    def scan(
        self,
        columns: Optional[List[str]] = None,
        *,
        limit: Optional[int] = None,
        offset: Optional[int] = None,
        batch_size: Optional[int] = None,
    ) -> LanceScanner:
        """Prepare a scan. Newest rows first; the order is the same each time. Arguments: :meth:`LanceDataset.scanner`."""
        arguments = dict(columns=_arguments.column_names(columns), **_scan.limits(limit, offset, batch_size))
        return LanceScanner(self._core, _scan.ViewScan(self._core, arguments))

    def to_table(
        self,
        columns: Optional[List[str]] = None,
        *,
        limit: Optional[int] = None,
        offset: Optional[int] = None,
        batch_size: Optional[int] = None,
    ) -> pa.Table:
        """The rows in memory. Arguments: :meth:`scan`."""
        return self.scan(columns, limit=limit, offset=offset, batch_size=batch_size).to_table()

    def to_batches(
        self,
        columns: Optional[List[str]] = None,
        *,
        limit: Optional[int] = None,
        offset: Optional[int] = None,
        batch_size: Optional[int] = None,
    ) -> Iterator[pa.RecordBatch]:
        """The rows batch by batch. Arguments: :meth:`scan`."""
        return self.scan(columns, limit=limit, offset=offset, batch_size=batch_size).to_batches()

    def get(self, keys: Any, columns: Optional[List[str]] = None) -> pa.Table:
        """Rows by primary key.

        Parameters
        ----------
        keys : sequence, dict, list of dicts, or Arrow data
            The keys: plain values for a key of one column; else the key columns by name, as rows or as columns.
        columns : list of str, optional
            Columns of the result; all by default.

        Returns
        -------
        pyarrow.Table
            One row per key that exists, in the order asked; a key asked twice answers once.

        Raises
        ------
        javelin.errors.InvalidInput
            The table has no primary key; a key column is missing, of another type, or null. It names column, row (from 0)
            and value of a plain value that the column cannot hold as it is.
        """
        source = source_of_keys(keys, self._key_columns(), self.schema)
        batch = as_batch(source.stream)
        return pa.Table.from_batches([pa.record_batch(self._core.get(batch, _arguments.column_names(columns)))])

    def _key_columns(self) -> List[str]:
        names = self._core.key_columns
        if not names:
            raise errors.InvalidInput("this table has no primary key, so rows cannot be got by key")
        return names

    def count_rows(self) -> int:
        """Number of rows."""
        return self._core.count_rows()

    def unseen_log_entries(self) -> Dict[str, int]:
        """How many log entries with puts or deletes of each shard this view does not show; empty if it shows everything.

        Rows of a writer of another process, or of one that was killed, lie only in the log until an SSTable is made of them.
        Opening a writer of that shard here and taking a new view shows them (and fences a writer that is still at work).
        Shards with a writer of this session are not among them. Entries that only fence hold no rows and are not counted; one
        that is missing or damaged is, as it may have held some. Asks the store: one request an entry, and small ones are read.
        """
        return self._core.unseen_log_entries()

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self.scan().__arrow_c_stream__(requested_schema)
