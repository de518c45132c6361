"""Changes of rows by condition and by key."""

from __future__ import annotations

from datetime import timedelta
from typing import Dict, Iterable, Mapping, Optional, Union

from . import _arguments, _core
from ._merge_insert import MergeInsertBuilder
from ._table import Table


class Rows(Table):
    """The methods of a dataset that change rows."""

    def delete(
        self,
        predicate: str,
        *,
        conflict_retries: int = 10,
        retry_timeout: timedelta = timedelta(seconds=30),
    ) -> Dict[str, int]:
        """Delete the rows for which `predicate` is true, and move to the version that results: one commit, also where none is.

        The rows are hidden, not taken out of their files; a fragment without any row left goes. What others deleted meanwhile in
        the same fragments is merged.

        Parameters
        ----------
        predicate : str
            An SQL condition, as the `filter` of :meth:`scanner`. ``"true"`` deletes all rows.
        conflict_retries : int
            How often it runs again, on the newest version, when others changed the same rows meanwhile.
        retry_timeout : timedelta
            After that time it does not run again.

        Returns
        -------
        dict
            ``num_deleted_rows``.

        Raises
        ------
        javelin.errors.InvalidInput, NotSupported
            As :meth:`scanner`, before anything is written; or the table cannot be written by this library.
        javelin.errors.RetryableConflict, IncompatibleConflict, OutcomeUnknown
            The commit failed. Except for OutcomeUnknown nothing is visible of it.
        """
        self._core, rows = _core.delete_rows(
            self._core,
            _arguments.sql("predicate", predicate),
            conflict_retries=_arguments.whole_number("conflict_retries", conflict_retries, most=2**31 - 1),
            retry_timeout_ms=_arguments.milliseconds("retry_timeout", retry_timeout),
        )
        return {"num_deleted_rows": rows}

    def update(
        self,
        updates: Mapping[str, str],
        where: Optional[str] = None,
        conflict_retries: int = 10,
        retry_timeout: timedelta = timedelta(seconds=30),
        data_storage_version: Optional[str] = None,
    ) -> Dict[str, int]:
        """Give columns new values in the rows for which `where` is true, and move to the version that results: one commit, also
        where there is no such row.

        Whole rows are written anew, to the end of the table in the order of a scan; where they were they are hidden. On a
        table with stable row ids they keep their ids.

        Parameters
        ----------
        updates : dict of str to str
            Names of columns with an SQL value for each, of the row as it was: ``{"n": "n + 1", "s": "'done'"}``.
        where : str, optional
            An SQL condition, as the `filter` of :meth:`scanner`; all rows by default.
        conflict_retries : int
            How often it runs again, on the newest version, when others changed the same rows meanwhile.
        retry_timeout : timedelta
            After that time it does not run again.
        data_storage_version : str, optional
            Version of the new data files; the table's own by default.

        Returns
        -------
        dict
            ``num_rows_updated``.

        Raises
        ------
        javelin.errors.InvalidInput
            Nothing to set, an unknown column, a condition or value that does not bind or fit, a null where none is allowed.
        javelin.errors.NotSupported
            A field of a struct, or a column of blobs, JSON or dictionaries, is to be set; SQL that the language does not have; the table cannot be
            written by this library.
        javelin.errors.RetryableConflict, IncompatibleConflict, OutcomeUnknown
            The commit failed. Except for OutcomeUnknown nothing is visible of it.
        """
        self._core, rows = _core.update_rows(
            self._core,
            _arguments.sql_by_name("updates", updates),
            where=None if where is None else _arguments.sql("where", where),
            data_storage_version=_arguments.optional_text("data_storage_version", data_storage_version),
            conflict_retries=_arguments.whole_number("conflict_retries", conflict_retries, most=2**31 - 1),
            retry_timeout_ms=_arguments.milliseconds("retry_timeout", retry_timeout),
        )
        return {"num_rows_updated": rows}

    def merge_insert(self, on: Optional[Union[str, Iterable[str]]] = None) -> MergeInsertBuilder:
        """Merge rows into the table by key: update those that are there, insert others, delete what is not among them.

        Parameters
        ----------
        on : str or iterable of str, optional
            The columns whose values make rows match, all of them; the primary key of the table by default. A null matches nothing.

        Returns
        -------
        MergeInsertBuilder
            Says what to do with which rows, and does it: ``ds.merge_insert("id").when_matched_update_all()
            .when_not_matched_insert_all().execute(rows)``.
        """
        return MergeInsertBuilder(self, on)
