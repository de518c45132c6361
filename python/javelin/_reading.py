"""Reading a version of a table."""

from __future__ import annotations

from typing import Any, Iterator, List, Optional, Sequence, Union

import pyarrow as pa

from . import _arguments, _scan
from ._row_numbers import row_numbers
from ._scan import LanceScanner
from ._table import Table


class Reading(Table):
    """The methods of a dataset that read rows."""

    def scanner(
        self,
        columns: Optional[List[str]] = None,
        *,
        limit: Optional[int] = None,
        offset: Optional[int] = None,
        batch_size: Optional[int] = None,
        batch_size_bytes: Optional[int] = None,
        with_row_id: bool = False,
        with_row_address: bool = False,
        blob_handling: Optional[str] = None,
    ) -> LanceScanner:
        """Prepare a scan of this version.

        Parameters
        ----------
        columns : list of str, optional
            Columns of the result in their order; all by default.
        limit, offset : int, optional
            Rows to return at most; rows to leave out first.
        batch_size : int, optional
            Rows of a batch at most.
        batch_size_bytes : int, optional
            Bytes that a batch takes in memory at most, about (at least one row); 16 MiB by default.
        with_row_id, with_row_address : bool
            Add ``_rowid`` / ``_rowaddr`` (uint64) as last columns.
        blob_handling : str, optional
            What blob columns are read as: ``"blobs_descriptions"`` (the default) is where each value lies, a struct that costs no
            more to read than two numbers; ``"all_binary"`` is the bytes, of all rows of a batch at once. They count in
            ``batch_size_bytes`` then.
        """
        return LanceScanner(self._core, columns, limit, offset, batch_size, with_row_id, with_row_address, blob_handling,
                            batch_size_bytes)

    def to_table(
        self,
        columns: Optional[List[str]] = None,
        *,
        limit: Optional[int] = None,
        offset: Optional[int] = None,
        batch_size: Optional[int] = None,
        batch_size_bytes: Optional[int] = None,
        with_row_id: bool = False,
        with_row_address: bool = False,
        blob_handling: Optional[str] = None,
    ) -> pa.Table:
        """Rows in order of fragment and position, in memory. Arguments: :meth:`scanner`."""
        return self.scanner(columns, limit=limit, offset=offset, batch_size=batch_size,
                            batch_size_bytes=batch_size_bytes, with_row_id=with_row_id, with_row_address=with_row_address,
                            blob_handling=blob_handling).to_table()

    def to_batches(
        self,
        columns: Optional[List[str]] = None,
        *,
        limit: Optional[int] = None,
        offset: Optional[int] = None,
        batch_size: Optional[int] = None,
        batch_size_bytes: Optional[int] = None,
        with_row_id: bool = False,
        with_row_address: bool = False,
        blob_handling: Optional[str] = None,
    ) -> Iterator[pa.RecordBatch]:
        """The same as :meth:`to_table`, batch by batch. Arguments: :meth:`scanner`."""
        return self.scanner(columns, limit=limit, offset=offset, batch_size=batch_size,
                            batch_size_bytes=batch_size_bytes, with_row_id=with_row_id, with_row_address=with_row_address,
                            blob_handling=blob_handling).to_batches()

    def to_pandas(
        self,
        columns: Optional[List[str]] = None,
        *,
        limit: Optional[int] = None,
        offset: Optional[int] = None,
        batch_size: Optional[int] = None,
        with_row_id: bool = False,
        with_row_address: bool = False,
        **kwargs: Any,
    ) -> Any:
        """Rows as a ``pandas.DataFrame``. Arguments: :meth:`scanner`; others go to :meth:`pyarrow.Table.to_pandas`."""
        return self.scanner(columns, limit=limit, offset=offset, batch_size=batch_size, with_row_id=with_row_id,
                            with_row_address=with_row_address).to_pandas(**kwargs)

    def head(self, num_rows: int, **kwargs: Any) -> pa.Table:
        """The first `num_rows` rows. Arguments: :meth:`scanner`."""
        return self.scanner(limit=num_rows, **kwargs).to_table()

    def take(self, indices: Union[Sequence[int], pa.Array], columns: Optional[List[str]] = None, *,
             blob_handling: Optional[str] = None) -> pa.Table:
        """The n-th rows of a full scan, in the order asked, repeats allowed.

        `indices` are whole numbers from 0: any sequence, an array of numpy or Arrow. `blob_handling`: :meth:`scanner`. Raises
        :class:`javelin.errors.InvalidInput` for a number past the last row, and for what is no whole number.
        """
        rows, names = row_numbers(indices), _arguments.column_names(columns)
        if not _scan.wants_bytes_of_blobs(blob_handling):
            return pa.Table.from_batches([pa.record_batch(self._core.take(rows, names))])
        names = pa.schema(self._core.schema).names if names is None else names
        read = names if _scan.ROW_ADDRESS in names else [*names, _scan.ROW_ADDRESS]
        batch = pa.record_batch(self._core.read_blobs(self._core.take(rows, read)))
        return pa.Table.from_batches([batch.select(names)])

    def count_rows(self) -> int:
        """Number of rows of this version."""
        return self._core.count_rows()

    def __len__(self) -> int:
        return self.count_rows()

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self.scanner().__arrow_c_stream__(requested_schema)
