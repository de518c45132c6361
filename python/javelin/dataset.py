"""Tables: opening, writing, and what a table is. What can be done with one is in a module for each area."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Any, Dict, Mapping, Optional, Union

import pyarrow as pa

from . import _arguments, _core, _references, _versions, errors
from . import session as _session
from ._blobs import Blobs
from ._data import Source
from ._delta import Deltas
from ._mem_wal_doors import MemWal
from ._metadata import Metadata
from ._reading import Reading
from ._references import Reference
from ._rows import Rows
from ._scan import ColumnOrdering  # noqa: F401  (where the released package has it)
from ._upkeep import Upkeep
from ._versions import Versions
from .schema import LanceSchema
from .session import Session

StorageOptions = Mapping[str, str]


def dataset(
    uri: Union[str, Path],
    version: Optional[Reference] = None,
    asof: Optional[Union[datetime, str]] = None,
    *,
    storage_options: Optional[StorageOptions] = None,
    session: Optional[Session] = None,
) -> "LanceDataset":
    """Open a table.

    Parameters
    ----------
    uri : str or Path
        A path, ``file://...`` or ``memory://...``.
    version : int, str or tuple, optional
        The version to open; the latest by default. A number, the name of a tag, or (branch, version), in which None or ``"main"``
        is the table's own branch, and None for the version the newest there.
    asof : datetime or str, optional
        Open the newest version from before this moment (a str as in ``"2026-01-31 23:59:59"``); local time if it says no zone.
        With a `version` it is ignored.
    storage_options : dict of str to str, optional
        Options of the store. An unknown one is refused.
    session : Session, optional
        What to share with other datasets; the session of the process by default.

    Raises
    ------
    javelin.errors.NotFound
        There is no such table, version, tag or branch, or none from before `asof`.
    javelin.errors.NotSupported
        The table uses a feature that this library does not know, or the scheme of `uri` has no store.
    javelin.errors.Corruption
        Its manifest does not decode.
    """
    if version is not None or asof is None:
        return LanceDataset(uri, version, storage_options=storage_options, session=session)
    location, shared = _arguments.location(uri), _session.of(session)
    options = _arguments.string_map("storage_options", storage_options)
    core = shared._core.open_as_of(location, _versions.nanoseconds("asof", asof) - 1, options)
    return LanceDataset._make(core, location, options, shared)


def write_dataset(
    data_obj: Any,
    uri: Union[str, Path, "LanceDataset"],
    schema: Optional[pa.Schema] = None,
    mode: str = "create",
    *,
    max_rows_per_file: int = 1024 * 1024,
    max_bytes_per_file: int = 90 * 1024**3,
    storage_options: Optional[StorageOptions] = None,
    data_storage_version: Optional[str] = None,
    enable_v2_manifest_paths: bool = True,
    session: Optional[Session] = None,
) -> "LanceDataset":
    """Create, append to or overwrite a table; one commit.

    Parameters
    ----------
    data_obj : anything that holds rows
        Anything with ``__arrow_c_stream__`` or ``__arrow_c_array__`` (pyarrow, polars, a dataset or scanner of ours), a pandas
        frame, a dict of columns, a list of dicts, or an iterator of record batches with its `schema`. Streams are not held in
        memory as a whole. A column of ``large_binary`` whose field has metadata ``lance-encoding:blob`` is one of blobs, which lie
        beside the other values; so is one of the released package's ``blob_array`` (bytes, no URIs), in data files of 2.2.
    uri : str, Path or LanceDataset
        Where the table is. Through a dataset the rows are written against its version: a conflict with what others committed
        since is an error.
    schema : pyarrow.Schema, optional
        For data that says no schema of its own.
    mode : str
        ``"create"``: the table must not exist. ``"append"``: adds rows; a table that does not exist is created.
        ``"overwrite"``: a new version with these rows only; older versions stay readable.
    max_rows_per_file, max_bytes_per_file : int
        A data file is ended when it reaches either.
    data_storage_version : str, optional
        Version of the new data files: ``"2.0"``, ``"2.1"`` or ``"2.2"`` (``"stable"``). Without it the table's own, or ``"2.2"``
        for a new table. An append in another version than the table's leaves a table of both, as with the released package.
    enable_v2_manifest_paths : bool
        On create: name manifests so that the latest sorts first.

    Returns
    -------
    LanceDataset
        The version that this call committed.

    Raises
    ------
    javelin.errors.AlreadyExists
        ``create`` and the table exists.
    javelin.errors.InvalidInput
        The rows do not fit the table (missing or extra column, other type, null where it is not allowed).
    javelin.errors.NotSupported
        A type, file version or table feature that cannot be written.
    javelin.errors.IncompatibleConflict, RetryableConflict, OutcomeUnknown
        The commit failed. Except for OutcomeUnknown nothing is visible of it.
    """
    target = uri if isinstance(uri, LanceDataset) else None
    options = _core.WriteOptions(
        mode=_arguments.text("mode", mode),
        data_storage_version=_arguments.optional_text("data_storage_version", data_storage_version),
        max_rows_per_file=_arguments.whole_number("max_rows_per_file", max_rows_per_file, least=1),
        max_bytes_per_file=_arguments.whole_number("max_bytes_per_file", max_bytes_per_file, least=1),
        enable_v2_manifest_paths=_arguments.flag("enable_v2_manifest_paths", enable_v2_manifest_paths),
        storage_options=_arguments.string_map("storage_options", storage_options),
    )
    if target is not None and session is None and storage_options is None:
        core = Source(data_obj, schema).run(lambda stream: target._core.write(stream, options))
        return LanceDataset._make(core, target.uri, target._storage_options, target._session)
    location, shared = _arguments.location(uri.uri if isinstance(uri, LanceDataset) else uri), _session.of(session)
    core = Source(data_obj, schema).run(lambda stream: shared._core.write(location, stream, options))
    return LanceDataset._make(core, location, _arguments.string_map("storage_options", storage_options), shared)


class LanceDataset(
    Reading,
    Rows,
    Blobs,
    Versions,
    Deltas,
    Metadata,
    Upkeep,
    MemWal,
):
    """One version of a table. Safe to use from several threads.

    Methods that commit (:meth:`insert`, :meth:`initialize_mem_wal`, :meth:`compact_shards`) and :meth:`checkout_latest` move this object to the
    version that results.
    """

    def __init__(
        self,
        uri: Union[str, Path],
        version: Optional[Reference] = None,
        *,
        storage_options: Optional[StorageOptions] = None,
        session: Optional[Session] = None,
    ) -> None:
        self._uri = _arguments.location(uri)
        self._storage_options = _arguments.string_map("storage_options", storage_options)
        self._session = _session.of(session)
        if version is None:
            self._core = self._session._core.open(self._uri, None, self._storage_options)
            return
        place = _references.reference("version", version)
        self._core = self._session._core.open_reference(self._uri, place, self._storage_options)
        if not isinstance(place, int) and (self._core.branch is not None or "/tree/" in self._uri):
            self._uri = self._core.uri  # a name may lead from one branch to another

    def __reduce__(self):
        # By location and version: the version may be cleaned up before it is loaded, and then raises NotFound.
        return _reopen, (self._uri, self.version, self._storage_options, self._core.is_pinned)

    # ---- what it is ----

    def __repr__(self) -> str:
        try:
            return f"LanceDataset({self._uri!r}, version={self.version})"
        except errors.Closed:  # it crossed a fork
            return f"LanceDataset({self._uri!r}, closed)"

    @property
    def uri(self) -> str:
        """Where the table is, as it was given."""
        return self._uri

    @property
    def schema(self) -> pa.Schema:
        """Schema of the table."""
        return pa.schema(self._core.schema)

    @property
    def lance_schema(self) -> LanceSchema:
        """Schema of the table with the ids of its columns."""
        return LanceSchema(_core.TableSchema.of_dataset(self._core))

    @property
    def data_storage_version(self) -> str:
        """Version of the data files, such as ``"2.2"``."""
        return self._core.data_storage_version

    def session(self) -> Session:
        """What this dataset shares with others."""
        return self._session

    # ---- writing ----

    def insert(self, data: Any, *, mode: str = "append", **kwargs: Any) -> None:
        """Write rows and move to the version that results. `kwargs`: those of :func:`write_dataset`."""
        self._core = write_dataset(data, self, mode=mode, **kwargs)._core


def _reopen(uri: str, version: int, storage_options: Dict[str, str], pinned: bool) -> LanceDataset:
    dataset = LanceDataset(uri, version, storage_options=storage_options)
    if not pinned:
        dataset._core = dataset._core.unpinned()
    return dataset
