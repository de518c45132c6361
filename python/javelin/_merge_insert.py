"""Merges of rows by key."""

from __future__ import annotations

from datetime import timedelta
from typing import Any, Dict, Iterable, List, Optional, Union

import pyarrow as pa

from . import _arguments, _core, errors
from ._data import Source
from ._table import Table


class MergeInsertBuilder:
    """What a merge does with the rows given (the source) and those of the table (the target). Made by
    :meth:`LanceDataset.merge_insert`; nothing happens before :meth:`execute`.

    Every method but :meth:`execute` returns the builder itself.
    """

    def __init__(self, dataset: Table, on: Optional[Union[str, Iterable[str]]] = None) -> None:
        self._dataset = dataset
        self._on = _key(on)
        self._when_matched = "nothing"
        self._update_condition: Optional[str] = None
        self._inserts = False
        self._deletes_rest = False
        self._delete_condition: Optional[str] = None
        self._data_storage_version: Optional[str] = None
        self._conflict_retries = 10
        self._retry_timeout_ms = 30_000

    def when_matched_update_all(self, condition: Optional[str] = None) -> "MergeInsertBuilder":
        """Rows of the table whose key is in the source get its values; columns that the source lacks keep theirs.

        `condition` is SQL over ``source.x`` and ``target.x``: rows for which it is not true stay as they are.
        """
        self._update_condition = None if condition is None else _arguments.sql("condition", condition)
        self._when_matched = "update"
        return self

    def when_matched_delete(self) -> "MergeInsertBuilder":
        """Rows of the table whose key is in the source go. The source needs the key only."""
        return self._match("delete")

    def when_matched_fail(self) -> "MergeInsertBuilder":
        """The merge fails, and changes nothing, if the table has a row with a key of the source."""
        return self._match("fail")

    def when_not_matched_insert_all(self) -> "MergeInsertBuilder":
        """Rows of the source whose key the table does not have are inserted; columns that it lacks are null."""
        self._inserts = True
        return self

    def when_not_matched_by_source_delete(self, expr: Optional[str] = None) -> "MergeInsertBuilder":
        """Rows of the table whose key is not in the source go: all of them, or those for which the SQL condition `expr` over the
        columns of the table is true."""
        self._delete_condition = None if expr is None else _arguments.sql("expr", expr)
        self._deletes_rest = True
        return self

    def conflict_retries(self, max_retries: int) -> "MergeInsertBuilder":
        """How often the merge runs again, on the newest version, when others changed the same rows meanwhile; 10 by default."""
        self._conflict_retries = _arguments.whole_number("max_retries", max_retries, most=2**31 - 1)
        return self

    def retry_timeout(self, timeout: timedelta) -> "MergeInsertBuilder":
        """After that time the merge does not run again; 30 seconds by default."""
        self._retry_timeout_ms = _arguments.milliseconds("timeout", timeout)
        return self

    def data_storage_version(self, version: str) -> "MergeInsertBuilder":
        """Version of the new data files, such as ``"2.2"``; the table's own by default."""
        self._data_storage_version = _arguments.text("version", version)
        return self

    def use_index(self, use_index: bool) -> "MergeInsertBuilder":
        """A hint of the released package that changes no result: keys are always found by reading the key columns."""
        _arguments.flag("use_index", use_index)
        return self

    def write_mode(self, mode: str) -> "MergeInsertBuilder":
        """How updated rows are written: ``"auto"`` and ``"rewrite_rows"`` write whole rows anew. ``"rewrite_columns"`` raises
        NotSupported."""
        if _arguments.text("mode", mode) == "rewrite_columns":
            raise errors.NotSupported("write_mode 'rewrite_columns' is not supported; 'rewrite_rows' gives the same rows")
        if mode not in ("auto", "rewrite_rows"):
            raise errors.InvalidInput(f"mode must be 'auto', 'rewrite_rows' or 'rewrite_columns', got {mode!r}")
        return self

    def execute(self, data_obj: Any, *, schema: Optional[pa.Schema] = None) -> Dict[str, int]:
        """Merge the rows and move the dataset to the version that results: one commit, also where nothing changes.

        Updated rows come to the end of the table in the order of the source, inserted ones behind them. On a table with stable row
        ids updated rows keep their ids. Of two merges on the primary key that insert one key at once, the later one runs again.

        Parameters
        ----------
        data_obj : anything that holds rows
            As for :func:`write_dataset`. All of it is held in memory, within the session's limit; of the table only the columns of
            keys and conditions are read, a part at a time.
        schema : pyarrow.Schema, optional
            For data that says no schema of its own.

        Returns
        -------
        dict
            ``num_inserted_rows``, ``num_updated_rows``, ``num_deleted_rows``.

        Raises
        ------
        javelin.errors.InvalidInput
            The builder was not told to change anything, no such column, a condition that does not bind, rows that do not fit the
            table, several rows that would change the same one, a match where none may be.
        javelin.errors.NotSupported
            A key of a field of a struct or of blobs; the table cannot be written by this library.
        javelin.errors.OutOfMemory
            The rows to merge do not fit: merge them in parts, or in a session with a larger memory limit.
        javelin.errors.RetryableConflict, IncompatibleConflict, OutcomeUnknown
            The commit failed. Except for OutcomeUnknown nothing is visible of it.
        """
        types = pa.schema(self._dataset._core.schema)
        core, inserted, updated, deleted = Source(data_obj, schema, types).run(self._merge)
        self._dataset._core = core
        return {"num_inserted_rows": inserted, "num_updated_rows": updated, "num_deleted_rows": deleted}

    def _merge(self, stream: Any) -> Any:
        return _core.merge_insert(
            self._dataset._core,
            stream,
            self._on,
            when_matched=self._when_matched,
            update_condition=self._update_condition,
            inserts_not_matched=self._inserts,
            deletes_not_matched_by_source=self._deletes_rest,
            delete_condition=self._delete_condition,
            data_storage_version=self._data_storage_version,
            conflict_retries=self._conflict_retries,
            retry_timeout_ms=self._retry_timeout_ms,
        )

    def _match(self, action: str) -> "MergeInsertBuilder":
        self._when_matched, self._update_condition = action, None
        return self


def _key(on: Any) -> List[str]:
    if on is None:
        return []
    if isinstance(on, str):
        return [on]
    if not isinstance(on, Iterable):
        raise _arguments.wrong_type("on", "a str or an iterable of str", on)
    names = list(on)
    if not all(isinstance(name, str) for name in names):
        raise errors.WrongType(f"on must be a str or an iterable of str, got {names!r}")
    return names
