"""Streaming rows into the shards of a table."""

from __future__ import annotations

import asyncio
import atexit
import math
import weakref
from typing import Any, Dict, Generator, List, Literal, Optional

import pyarrow as pa

from . import _arguments, _core, errors
from ._data import Source
from ._keys import source_of_keys
from ._lsm import CompactedSsTable, ExecutionPlan, LsmPointLookupPlanner, LsmScanner, ShardSnapshot, listed
from ._sharding import ShardingField, ShardingSpec, evaluate_sharding_spec
from ._wake import waker_of

__all__ = [
    "CompactedSsTable",
    "ExecutionPlan",
    "LsmPointLookupPlanner",
    "LsmScanner",
    "ShardSnapshot",
    "ShardWriter",
    "ShardingField",
    "ShardingSpec",
    "Ticket",
    "evaluate_sharding_spec",
]


class Ticket:
    """The answer of a put or delete that was not waited for. Wait for it from a thread, or ``await`` it in asyncio."""

    def __init__(self, core: Optional[Any]) -> None:
        self._core = core  # None: nothing to wait for (any more). It pins the rows in memory, so it is let go of early.
        self._token = b"" if core is None else core.token

    def __repr__(self) -> str:
        try:
            state = "done" if self.done() else "under way"
        except errors.Closed:
            state = "of another process"  # before a fork
        return f"<Ticket {state}>"

    def wait(self, timeout: Optional[float] = None) -> None:
        """Return when the rows can be read (and with ``durable_write`` are in the log).

        Parameters
        ----------
        timeout : float, optional
            Seconds to wait at most; without it, as long as it takes.

        Raises
        ------
        javelin.errors.Timeout
            The time passed first. The put goes on.
        javelin.errors.Fenced
            The writer failed meanwhile. Whether the rows are in the log is then unknown.
        """
        core = self._core
        if core is None:
            return
        if not core.wait(_arguments.seconds("timeout", timeout, least=-math.inf, most=math.inf)):
            raise errors.Timeout(f"the put is still under way after {timeout} s; its outcome is open")
        self._core = None

    def done(self) -> bool:
        """True if :meth:`wait` would return or raise at once."""
        core = self._core
        return core is None or core.done()

    @property
    def token(self) -> bytes:
        """Opaque position of this put, for reads that must see it; empty for a put without rows."""
        return self._token

    def __await__(self) -> Generator[Any, None, None]:
        return self._settled().__await__()

    async def _settled(self) -> None:
        core = self._core
        if core is not None and not core.done():
            await waker_of(asyncio.get_running_loop()).settled(core)
        self.wait()


class ShardWriter:
    """Streams rows into one shard; made by :meth:`LanceDataset.mem_wal_writer`. Safe to use from several threads: their puts
    share appends to the log.

    As a context manager it closes itself. A writer that is dropped without :meth:`close` stops without I/O: rows that are in
    the log stay there, others are lost.
    """

    def __init__(self, core: Any) -> None:
        self._core = core
        self._follow()
        self._shard_id, self._epoch = core.shard_id, core.epoch
        self._closed = False
        _live_writers.add(self)

    def __repr__(self) -> str:
        return f"<ShardWriter of shard {self._shard_id}, epoch {self._epoch}{', closed' if self._closed else ''}>"

    def _follow(self) -> None:
        self._schema = pa.schema(self._core.schema)
        self._key_columns = self._core.key_columns

    @property
    def schema(self) -> pa.Schema:
        """What rows of a :meth:`put` must look like: the columns of the table when the writer was opened, or last
        :meth:`evolve`-d."""
        return self._schema

    @property
    def shard_id(self) -> str:
        """UUID of the shard."""
        return self._core.shard_id

    @property
    def epoch(self) -> int:
        """Fencing token of this writer: the shard belongs to the highest one."""
        return self._core.epoch

    @property
    def warnings(self) -> List[str]:
        """What the open left out although it was asked to, one sentence each."""
        return self._core.warnings

    def put(self, data: Any, *, schema: Optional[pa.Schema] = None, wait: bool = True) -> Optional[Ticket]:
        """Write rows: the columns of the table in its order, all of them or none. A row replaces the older one of its key.

        Parameters
        ----------
        data : anything that holds rows
            As for :func:`javelin.write_dataset`; plain Python values and data frames take the types of the
            table, where no value changes by it. One row is a list of one dict. Without rows nothing happens.
        schema : pyarrow.Schema, optional
            For data that says no schema of its own.
        wait : bool
            True: return when the rows can be read (and with ``durable_write`` are in the log). False: return a :class:`Ticket`.

        Raises
        ------
        javelin.errors.InvalidInput
            The rows do not fit the table. Nothing was written, the writer is healthy. It names column, row (from 0) and value
            of a plain value that the column cannot hold as it is.
        javelin.errors.Backpressure
            Too much is in memory and no flush makes room, or `wait` is false. Nothing was accepted; retry later.
        javelin.errors.Fenced
            The writer is done for. If this came while waiting, whether the rows are in the log is unknown.
        javelin.errors.Closed
            The writer was closed.
        """
        self._check_open()
        return self._send(self._core.put, Source(data, schema, types=self._schema), wait)

    def delete(self, keys: Any, *, schema: Optional[pa.Schema] = None, wait: bool = True) -> Optional[Ticket]:
        """Delete rows by primary key. `keys` are as for :meth:`FreshView.get`: plain values for a key of one column, else what
        holds every key column; other columns are ignored. Other arguments and errors: :meth:`put`; a table without a primary
        key is InvalidInput."""
        self._check_open()
        if not self._key_columns:
            raise errors.InvalidInput("this table has no primary key, so rows cannot be deleted by key")
        return self._send(self._core.delete, source_of_keys(keys, self._key_columns, self._schema, schema), wait)

    def _check_open(self) -> None:
        if self._closed:
            raise errors.Closed(f"the writer of shard {self.shard_id} is closed; open a new one")

    def _send(self, send: Any, source: Source, wait: bool) -> Optional[Ticket]:
        waits = _arguments.flag("wait", wait)
        ticket = Ticket(source.run(lambda stream: send(stream, waits)))
        if not waits:
            return ticket
        ticket.wait()
        return None

    def evolve(self) -> bool:
        """Take over the columns that the table has now, after somebody added, dropped or renamed some.

        From then on :meth:`put` takes the new columns. Rows put before keep answering: a column added since is null in them, a
        renamed one keeps its values, a dropped one is gone. Without this the writer goes on with the columns that it knows.

        Returns
        -------
        bool
            False: the writer has these columns already.

        Raises
        ------
        javelin.errors.InvalidInput
            Rows of this shard cannot go on under the new columns: another primary key, a column with another type, or one that
            must not be null and may be null in them. Nothing changed, the writer is healthy.
        javelin.errors.NotFound
            MemWAL was taken off the table.
        """
        self._check_open()
        changed: bool = self._core.evolve()
        self._follow()
        return changed

    def flush_wal(self) -> None:
        """Append everything put so far to the log; return when it is durable."""
        self._core.flush_wal()

    def flush(self) -> None:
        """Make an SSTable of everything put so far; return when it is published. Readers in other processes see it then.

        Full MemTables are flushed by themselves; nobody has to call this. While the store is down it waits.
        """
        self._core.flush()

    def close(self) -> None:
        """Append what is pending, flush, and end the writer. Where a flush fails the error is raised, and the rows are safe in
        the log for the next writer. Closing again does nothing."""
        if self._closed:
            return
        try:
            self._core.close()
        except KeyboardInterrupt:
            raise  # it goes on in the background; closing again waits for it
        except BaseException:
            self._closed = True
            raise
        self._closed = True

    def _abort(self) -> None:
        self._closed = True
        self._core.abort()

    def lsm_scanner(self, shard_snapshots: Optional[List[ShardSnapshot]] = None) -> LsmScanner:
        """Reads the table with the rows of this writer's shard on top: newest row of every key, deleted ones left out.

        Parameters
        ----------
        shard_snapshots : list of ShardSnapshot, optional
            SSTables of other shards to read as well; one of this writer's own shard counts for nothing.
        """
        others = [] if shard_snapshots is None else listed(shard_snapshots)
        return LsmScanner(lambda: _core.open_fresh_view_for_writer(self._core, others))

    def seal(self) -> Dict[str, Any]:
        """Close this writer and seal its shard: no writer can open it until :meth:`unseal`; its rows stay readable. Returns the
        shard manifest.

        If this fails, whether the shard is sealed is open: call it again, or :meth:`LanceDataset.seal_shard`.
        """
        self._closed = True
        return self._core.seal()

    def unseal(self) -> Dict[str, Any]:
        """Take back the seal of the shard, so that writers can be opened again (this one stays closed). Returns the shard
        manifest."""
        return self._core.unseal()

    def manifest(self) -> Dict[str, Any]:
        """The shard manifest as this writer last committed it: ``shard_id``, ``version``, ``shard_spec_id``, ``shard_fields``,
        ``writer_epoch``, ``replay_after``, ``wal_position_last_seen``, ``current_generation``, ``sstables``, ``status``
        (``"active"`` or ``"sealed"``)."""
        return self._core.manifest()

    def refresh_manifest(self) -> Dict[str, Any]:
        """The newest shard manifest in the store; the only one that shows what another process did, a seal for example."""
        return self._core.refresh_manifest()

    def stats(self) -> Dict[str, int]:
        """Counters since the open: ``put_count``, ``wal_flush_count``, ``wal_flush_bytes``, ... Times (``..._time_ms``) are
        milliseconds. Answers on a failed or closed writer too."""
        return self._core.stats()

    def memtable_stats(self) -> Dict[str, Optional[int]]:
        """The active MemTable now: ``row_count``, ``batch_count``, ``estimated_size_bytes``, ``generation``, ``frozen_count``, ...
        Answers on a failed or closed writer too."""
        return self._core.memtable_stats()

    def __enter__(self) -> "ShardWriter":
        return self

    def __exit__(self, *_: Any) -> Literal[False]:
        failure = _[1]
        try:
            self.close()
        except errors.JavelinError as error:
            if failure is None:
                raise
            if hasattr(failure, "add_note"):  # Python 3.11
                failure.add_note(f"then the close of the writer failed too: {type(error).__name__}: {error}")
        return False


# Writers still open when the interpreter ends are stopped while it can still run code.
_live_writers: "weakref.WeakSet[ShardWriter]" = weakref.WeakSet()


def _abort_all() -> None:
    for writer in list(_live_writers):
        try:
            writer._abort()
        except errors.Closed:
            pass  # opened before a fork: it belongs to the other process


atexit.register(_abort_all)
