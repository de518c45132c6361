"""Reading a version of a table."""

from __future__ import annotations

import random
from typing import Any, Iterator, List, Mapping, Optional, Sequence, Union

import pyarrow as pa

from . import _arguments, _core, _scan, errors
from ._row_numbers import row_numbers
from ._scan import ColumnOrdering, LanceScanner
from ._table import Table
from .fragment import LanceFragment, ids_of

Columns = Union[List[str], Mapping[str, str], None]


class Reading(Table):
    """The methods of a dataset that read rows."""

    def scanner(
        self,
        columns: Columns = None,
        filter: Optional[str] = None,
        limit: Optional[int] = None,
        offset: Optional[int] = None,
        *,
        batch_size: Optional[int] = None,
        batch_size_bytes: Optional[int] = None,
        scan_in_order: Optional[bool] = None,
        fragments: Optional[Sequence[LanceFragment]] = None,
        with_row_id: Optional[bool] = None,
        with_row_address: Optional[bool] = None,
        late_materialization: Optional[bool] = None,
        blob_handling: Optional[str] = None,
        order_by: Optional[Sequence[Union[str, ColumnOrdering]]] = None,
    ) -> LanceScanner:
        """Prepare a scan of this version.

        Parameters
        ----------
        columns : list of str, or dict of str to str, optional
            Columns of the result in their order; all by default. ``"st.x"`` is a field of a struct, as a column of that name. A
            dict has names of the result with an SQL value for each (the language of filters): ``{"twice": "id * 2"}``.
        filter : str, optional
            An SQL condition, such as ``"id > 5 AND name LIKE 'a%'"``: only rows for which it is true. It may name ``_rowid`` and
            ``_rowaddr`` too. Only columns that the filter or the result needs are read.
        limit, offset : int, optional
            Rows to return at most; rows to leave out first. Both count rows that pass the filter.
        batch_size : int, optional
            Rows of a batch at most.
        batch_size_bytes : int, optional
            Bytes that a batch takes in memory at most, about (at least one row); 16 MiB by default.
        scan_in_order : bool, optional
            Rows come in order of fragment and position in any case.
        fragments : list of LanceFragment, optional
            Read these fragments only, each once, in this order.
        with_row_id, with_row_address : bool
            Add ``_rowid`` / ``_rowaddr`` (uint64) as last columns.
        late_materialization : bool, optional
            Whether columns that the filter does not need are read only of rows that pass (True), or of all rows (False). By
            default it is decided as the scan goes, by how many rows pass.
        blob_handling : str, optional
            What blob columns are read as: ``"blobs_descriptions"`` (the default) is where each value lies, a struct that costs no
            more to read than two numbers; ``"all_binary"`` is the bytes, of all rows of a batch at once. They count in
            ``batch_size_bytes`` then.
        order_by : list of str or ColumnOrdering, optional
            Columns to sort by, the first one counts most; a name means ascending, nulls last. Rows that are equal stay in order of
            fragment and position. NaN is above all numbers, texts are compared by bytes. Rows are sorted in memory, within the
            session's limit; with a `limit` only as many are kept as it and the `offset` say.

        Raises
        ------
        javelin.errors.InvalidInput
            An unknown or repeated column (the nearest name is said), SQL that is no condition or does not fit its columns: at once,
            before anything is read. While rows are read: a division by zero, a value that a cast cannot take.
        javelin.errors.NotSupported
            SQL or a function that the language does not have; an order by structs or lists.
        javelin.errors.OutOfMemory
            While rows are read: more of them are to be sorted than the session's memory limit allows.
        """
        computes = isinstance(columns, Mapping)
        names = None if computes else _arguments.column_names(columns)
        bytes_of_blobs = _scan.wants_bytes_of_blobs(blob_handling)
        if computes and bytes_of_blobs:
            raise errors.NotSupported("computed columns together with blob_handling='all_binary': name the columns in a list")
        _arguments.optional_flag("scan_in_order", scan_in_order)  # in order is one of the orders that False allows
        batch_bytes = _arguments.optional_whole_number("batch_size_bytes", batch_size_bytes, least=1)
        adds_address = _arguments.optional_flag("with_row_address", with_row_address)
        scan = _core.scanner(
            self._core,
            columns=names,
            computed=_arguments.sql_by_name("columns", columns) if computes else None,
            filter=None if filter is None else _arguments.sql("filter", filter),
            **_scan.limits(limit, offset, batch_size),
            batch_bytes=batch_bytes,
            with_row_id=_arguments.optional_flag("with_row_id", with_row_id),
            with_row_address=adds_address or bytes_of_blobs,
            late_columns=None if late_materialization is None else _arguments.flag("late_materialization", late_materialization),
            order_by=_scan.orderings(order_by),
            fragments=None if fragments is None else ids_of(fragments),
        )
        if not bytes_of_blobs:
            return LanceScanner(self._core, scan)
        asked = adds_address or _scan.ROW_ADDRESS in (names or [])
        return LanceScanner(self._core, scan, _scan.BlobBytes(not asked, batch_bytes))

    def to_table(
        self,
        columns: Columns = None,
        filter: Optional[str] = None,
        limit: Optional[int] = None,
        offset: Optional[int] = None,
        *,
        batch_size: Optional[int] = None,
        batch_size_bytes: Optional[int] = None,
        scan_in_order: Optional[bool] = None,
        with_row_id: Optional[bool] = None,
        with_row_address: Optional[bool] = None,
        late_materialization: Optional[bool] = None,
        blob_handling: Optional[str] = None,
        order_by: Optional[Sequence[Union[str, ColumnOrdering]]] = None,
    ) -> pa.Table:
        """Rows in order of fragment and position, in memory. Arguments: :meth:`scanner`."""
        return self.scanner(
            columns=columns,
            filter=filter,
            limit=limit,
            offset=offset,
            batch_size=batch_size,
            batch_size_bytes=batch_size_bytes,
            scan_in_order=scan_in_order,
            with_row_id=with_row_id,
            with_row_address=with_row_address,
            late_materialization=late_materialization,
            blob_handling=blob_handling,
            order_by=order_by,
        ).to_table()

    def to_batches(
        self,
        columns: Columns = None,
        filter: Optional[str] = None,
        limit: Optional[int] = None,
        offset: Optional[int] = None,
        *,
        batch_size: Optional[int] = None,
        batch_size_bytes: Optional[int] = None,
        scan_in_order: Optional[bool] = None,
        with_row_id: Optional[bool] = None,
        with_row_address: Optional[bool] = None,
        late_materialization: Optional[bool] = None,
        blob_handling: Optional[str] = None,
        order_by: Optional[Sequence[Union[str, ColumnOrdering]]] = None,
    ) -> Iterator[pa.RecordBatch]:
        """The same as :meth:`to_table`, batch by batch. Arguments: :meth:`scanner`."""
        return self.scanner(
            columns=columns,
            filter=filter,
            limit=limit,
            offset=offset,
            batch_size=batch_size,
            batch_size_bytes=batch_size_bytes,
            scan_in_order=scan_in_order,
            with_row_id=with_row_id,
            with_row_address=with_row_address,
            late_materialization=late_materialization,
            blob_handling=blob_handling,
            order_by=order_by,
        ).to_batches()

    def to_pandas(
        self,
        columns: Columns = None,
        filter: Optional[str] = None,
        limit: Optional[int] = None,
        offset: Optional[int] = None,
        *,
        batch_size: Optional[int] = None,
        with_row_id: Optional[bool] = None,
        with_row_address: Optional[bool] = None,
        **kwargs: Any,
    ) -> Any:
        """Rows as a ``pandas.DataFrame``. Arguments: :meth:`scanner`; others go to :meth:`pyarrow.Table.to_pandas`."""
        return self.scanner(columns, filter, limit, offset, batch_size=batch_size, with_row_id=with_row_id,
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

    def get_fragments(self) -> List[LanceFragment]:
        """The fragments of this version, by id."""
        return [LanceFragment(self, *numbers) for numbers in _core.fragments(self._core)]

    def get_fragment(self, fragment_id: int) -> Optional[LanceFragment]:
        """The fragment of that id, or None if this version has none."""
        number = _arguments.whole_number("fragment_id", fragment_id)
        return next((fragment for fragment in self.get_fragments() if fragment.fragment_id == number), None)

    def sample(self, num_rows: int, columns: Optional[List[str]] = None, randomize_order: bool = True, **kwargs: Any) -> pa.Table:
        """`num_rows` rows drawn at random, each at most once; by Python's generator (:func:`random.seed`). In the order of the
        draw, or of the table without `randomize_order`, which reads faster. `kwargs`: :meth:`take`. Raises
        :class:`javelin.errors.InvalidInput` for more rows than there are."""
        count, rows = _arguments.whole_number("num_rows", num_rows), self.count_rows()
        if count > rows:
            raise errors.InvalidInput(f"a sample of {count} rows of a table with {rows}")
        drawn = random.sample(range(rows), count)
        return self.take(drawn if _arguments.flag("randomize_order", randomize_order) else sorted(drawn), columns, **kwargs)

    def count_rows(self, filter: Optional[str] = None) -> int:
        """Number of rows of this version; from metadata. With a `filter` (:meth:`scanner`) of the rows for which it is true: reads
        the columns that it names."""
        if filter is None:
            return self._core.count_rows()
        return self.scanner([], filter).count_rows()

    def __len__(self) -> int:
        return self.count_rows()

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self.scanner().__arrow_c_stream__(requested_schema)
