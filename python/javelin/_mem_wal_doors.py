"""MemWAL of a table: turning it on, its shards, their writers and the view over all of it."""

from __future__ import annotations

from typing import Any, Callable, Dict, List, Mapping, Optional

from . import _arguments, _core, mem_wal
from ._table import Table
from .fresh_view import FreshView

# Writer options that a table stores as defaults of its writers, by the check of their types. What range they have is the
# library's to say.
_STORED_WRITER_OPTIONS: Mapping[str, Callable[[str, Any], Any]] = {
    "durable_write": _arguments.flag,
    "max_wal_buffer_size": _arguments.integer,
    "max_wal_flush_interval_ms": _arguments.integer,
    "max_wal_persist_retries": _arguments.integer,
    "wal_persist_retry_base_delay_ms": _arguments.integer,
    "max_memtable_size": _arguments.integer,
    "max_memtable_rows": _arguments.integer,
    "max_memtable_batches": _arguments.integer,
    "max_unflushed_memtable_bytes": _arguments.integer,
    "manifest_scan_batch_size": _arguments.integer,
    "backpressure_log_interval_ms": _arguments.integer,
    "enable_memtable": _arguments.flag,
}
_WRITER_OPTIONS: Mapping[str, Callable[[str, Any], Any]] = {
    **_STORED_WRITER_OPTIONS,
    "commit_mode": _arguments.text,
    "frozen_memtable_grace_ms": _arguments.integer,
    "shard_spec_id": _arguments.integer,
}


class MemWal(Table):
    """The methods of a dataset that are about MemWAL."""

    def initialize_mem_wal(
        self,
        *,
        maintained_indexes: Optional[List[str]] = None,
        bucket_column: Optional[str] = None,
        num_buckets: Optional[int] = None,
        identity_column: Optional[str] = None,
        unsharded: bool = False,
        adopt_sstables: bool = False,
        durable_write: Optional[bool] = None,
        max_wal_buffer_size: Optional[int] = None,
        max_wal_flush_interval_ms: Optional[int] = None,
        max_wal_persist_retries: Optional[int] = None,
        wal_persist_retry_base_delay_ms: Optional[int] = None,
        max_memtable_size: Optional[int] = None,
        max_memtable_rows: Optional[int] = None,
        max_memtable_batches: Optional[int] = None,
        max_unflushed_memtable_bytes: Optional[int] = None,
        manifest_scan_batch_size: Optional[int] = None,
        backpressure_log_interval_ms: Optional[int] = None,
        enable_memtable: Optional[bool] = None,
    ) -> None:
        """Turn MemWAL on: one commit. Once per table.

        At most one way of sharding: `bucket_column` with `num_buckets` (1 to 1024), `identity_column`, or `unsharded`; with
        none of them the caller chooses shards freely. All rows of a key must go to one shard.

        The other arguments are those of :meth:`mem_wal_writer`; as soon as one is given, all of them are stored with the table
        as defaults of its writers.

        Parameters
        ----------
        maintained_indexes : list of str, optional
            Indexes that MemTables mirror; all by default, none for ``[]``.
        adopt_sstables : bool
            Only for a table that had MemWAL before (it was taken off, or the table was overwritten): SSTables that its shards
            still list are taken over, and their rows count as newer than the table's. Without it such a table is refused, and so
            are SSTables of other columns. Give the sharding that they were written under.

        Raises
        ------
        javelin.errors.InvalidInput
            Already initialised; no such column or index; a column or key type that cannot be used; two ways of sharding or half
            of one; a column named ``_tombstone``; a shard lists SSTables from before, and `adopt_sstables` is not set.
        javelin.errors.NotSupported
            `enable_memtable` is False: no writer could be opened (see :meth:`mem_wal_writer`); a column or a version of data
            files that cannot be written.
        """
        defaults = _given(locals(), _STORED_WRITER_OPTIONS)
        self._core = _core.initialize_mem_wal(
            self._core,
            maintained_indexes=_arguments.names("maintained_indexes", maintained_indexes),
            bucket_column=_arguments.optional_text("bucket_column", bucket_column),
            num_buckets=_arguments.optional_whole_number("num_buckets", num_buckets, most=2**32 - 1),
            identity_column=_arguments.optional_text("identity_column", identity_column),
            unsharded=_arguments.flag("unsharded", unsharded),
            adopt_sstables=_arguments.flag("adopt_sstables", adopt_sstables),
            writer_defaults=defaults,
        )

    def mem_wal_index_details(self) -> Optional[Dict[str, Any]]:
        """What MemWAL stores with the table, or None if it is not initialised: ``num_shards``, ``maintained_indexes``,
        ``maintain_all_indexes``, ``writer_config_defaults``, ``sharding_specs``."""
        return _core.mem_wal_details(self._core)

    def mem_wal_writer(
        self,
        shard_id: str,
        *,
        durable_write: Optional[bool] = None,
        commit_mode: Optional[str] = None,
        max_wal_buffer_size: Optional[int] = None,
        max_wal_flush_interval_ms: Optional[int] = None,
        max_wal_persist_retries: Optional[int] = None,
        wal_persist_retry_base_delay_ms: Optional[int] = None,
        max_memtable_size: Optional[int] = None,
        max_memtable_rows: Optional[int] = None,
        max_memtable_batches: Optional[int] = None,
        max_unflushed_memtable_bytes: Optional[int] = None,
        manifest_scan_batch_size: Optional[int] = None,
        backpressure_log_interval_ms: Optional[int] = None,
        frozen_memtable_grace_ms: Optional[int] = None,
        enable_memtable: Optional[bool] = None,
        shard_spec_id: Optional[int] = None,
    ) -> "mem_wal.ShardWriter":
        """Claim a shard and open its writer; replays what is in its log. Whoever wrote to the shard before is fenced.

        An argument that is not given comes from the defaults stored with the table, then from the values below. All of them are
        checked before the claim, so an open that cannot succeed does no harm to the writer at work.

        Parameters
        ----------
        shard_id : str
            A UUID.
        durable_write : bool
            True (default): a put returns when its rows are in the log. False: when they can be read here; a crash may lose them.
        commit_mode : str
            ``"interval"`` (default): one append to the log per `max_wal_flush_interval_ms`, shared by all puts since the last.
            ``"eager"``: an append starts at once when none is under way; what arrives meanwhile shares the next.
        max_wal_buffer_size : int
            Bytes that start an append early; 10 MiB; 0 = never.
        max_wal_flush_interval_ms : int
            Milliseconds between appends; 100. 0 = no ticker, only allowed without `durable_write`.
        max_wal_persist_retries : int, wal_persist_retry_base_delay_ms : int
            How often, and after how many milliseconds at first, a failed append is tried again; 3 and 50.
        max_memtable_size, max_memtable_rows, max_memtable_batches : int
            A MemTable is frozen at so many bytes (256 MiB), rows (100,000) or batches (8,000).
        max_unflushed_memtable_bytes : int
            Bytes of memory at which puts wait for a flush to make room; with ``wait=False`` they are refused at once
            (Backpressure). 1 GiB.
        manifest_scan_batch_size : int
            Manifest versions probed at once when looking for the newest; 1.
        backpressure_log_interval_ms : int
            A put that waits for room counts one in ``stats()["backpressure_warnings"]`` each time so many milliseconds have
            passed; 30,000, 0 = never.
        frozen_memtable_grace_ms : int
            Milliseconds that a flushed MemTable goes on to answer reads from memory, for queries that are split over several
            reads; 0 = not at all. Its memory counts in ``grace_bytes``, not against `max_unflushed_memtable_bytes`.
        enable_memtable : bool
            True. False (a writer that only appends to the log) is not supported yet.
        shard_spec_id : int
            The sharding spec of the shard; the table's only one by default.

        Raises
        ------
        javelin.errors.InvalidInput
            An argument or stored default is out of range, or `shard_id` is no UUID.
        javelin.errors.NotFound
            MemWAL is not initialised on the table.
        javelin.errors.NotSupported
            `enable_memtable` is False, or the table has several sharding specs.
        javelin.errors.Sealed, ClaimLost
            The shard cannot be claimed.
        javelin.errors.WalGap, WalCorrupt
            Its log cannot be replayed.
        """
        options = _given(locals(), _WRITER_OPTIONS)
        return mem_wal.ShardWriter(_core.open_shard_writer(self._core, _arguments.text("shard_id", shard_id), options))

    def seal_shard(self, shard_id: str) -> Dict[str, Any]:
        """Seal a shard, the first step of dropping it: its writer is fenced, no other can be opened until :meth:`unseal_shard`,
        its rows stay readable. A shard that is sealed stays so. Returns the shard manifest, as :meth:`ShardWriter.manifest`.

        Rows that lie only in the log of the shard are kept there, for the writer after an unseal.

        Raises
        ------
        javelin.errors.InvalidInput, NotFound
            `shard_id` is no UUID; the table has no such shard.
        javelin.errors.ClaimLost, Fenced
            Somebody else claimed the shard meanwhile.
        """
        return _core.seal_shard(self._core, _arguments.text("shard_id", shard_id))

    def unseal_shard(self, shard_id: str) -> Dict[str, Any]:
        """Take back a seal; a shard without one is left as it is. Returns the shard manifest. Errors: :meth:`seal_shard`."""
        return _core.unseal_shard(self._core, _arguments.text("shard_id", shard_id))

    def compact_shards(
        self,
        shard: Optional[str] = None,
        *,
        max_bytes: Optional[int] = None,
        dry_run: bool = False,
        retired_grace: Optional[float] = None,
    ) -> Dict[str, Any]:
        """Move the flushed rows of shards into the table itself, and move this object to the version that results.

        Each commit takes the oldest SSTables of a shard that the table does not hold: the newest row of every key comes in, what
        the table had of these keys goes, deleted keys go. Writers go on meanwhile, of this process and of others (what
        they flush after the call began is for the next one); several compactions may run. Rows that are only in the log or in memory stay there (:meth:`javelin.mem_wal.ShardWriter.close`
        flushes them). Without a primary key all rows are appended. An SSTable is retired once every index of the table has
        caught up with it, and its folder deleted `retired_grace` later, by the next call.

        Parameters
        ----------
        shard : str, optional
            The UUID of one shard; all of them by default.
        max_bytes : int
            SSTables of one commit, by the memory that their rows took; 256 MiB. One SSTable always fits.
        dry_run : bool
            Only say what there is to do; nothing is written.
        retired_grace : float
            Seconds that the folders of retired SSTables stay for readers with an older view; 600. Readers that are slower get
            :class:`javelin.errors.NotFound` and take a new view.

        Returns
        -------
        dict
            ``version``, and ``shards``: a dict for each, in order of ``shard_id``. ``passes`` = commits; ``generations`` =
            SSTables moved; ``rows_read`` = rows in them, ``rows_upserted`` and ``rows_deleted`` = keys whose newest row is one
            or the other; ``compacted_through`` = the newest generation that the table holds; ``retired`` = generations no
            longer listed; ``awaiting_indexes`` = how many are held, but still listed because an index has not caught up;
            ``folders_deleted``; ``skipped`` = why nothing was moved, else None. In a dry run: ``generations``, ``rows_read``,
            ``retired`` and ``folders_deleted`` say what a run would start with.

        Raises
        ------
        javelin.errors.InvalidInput
            `shard` is no UUID, `max_bytes` is 0, or `retired_grace` is negative.
        javelin.errors.NotFound
            MemWAL is not initialised on the table, or it has no such shard.
        javelin.errors.Corruption
            A flushed generation is neither in the table nor listed by its shard (as after a restore), the table claims
            generations that the shard never had, or an SSTable does not decode. The other shards have been compacted.
        javelin.errors.RetryableConflict, OutcomeUnknown
            Others changed the table again and again, or answers were lost: call it again, what is done counts.
        """
        grace = _arguments.seconds("retired_grace", retired_grace)
        self._core, shards = _core.compact_shards(
            self._core,
            shard=_arguments.optional_text("shard", shard),
            max_bytes=_arguments.optional_whole_number("max_bytes", max_bytes, least=1, most=2**64 - 1),
            dry_run=_arguments.flag("dry_run", dry_run),
            retired_grace_ms=None if grace is None else int(grace * 1000),
        )
        return {"version": self.version, "shards": shards}

    def fresh(self, *, max_staleness: Optional[float] = None) -> FreshView:
        """A view over the newest version of the table and what its shards hold above it, live writers of this session
        included. Rows that lie only in the log of another process, or of a writer that was killed, are not in it:
        :meth:`FreshView.unseen_log_entries` tells how much that is.

        With `max_staleness`, in seconds, a view that this session took at most that long ago will do, which asks the store for
        nothing; while a writer of the table is open in the session, a new one is taken all the same.

        Raises :class:`javelin.errors.NotSupported` if this object was opened at an older version by its number (shards have no
        history: :meth:`checkout_latest` first), or if the columns or the key of the table were changed in a way that a writer of
        this session cannot follow; :class:`javelin.errors.Corruption` if the table says it holds more of a shard than was ever
        flushed, or less than what the shard let go of (as after a restore); and :class:`javelin.errors.Fenced` if one has failed or was overtaken; close it to read on.
        A view is one moment. One whose SSTables were compacted and collected before it answered anything is taken anew; after its
        first answer, reading what is gone raises :class:`javelin.errors.NotFound`: take a new view.
        """
        return FreshView(self, max_staleness)


def _given(arguments: Mapping[str, Any], checks: Mapping[str, Callable[[str, Any], Any]]) -> Dict[str, Any]:
    """Those of the arguments that are not None, each by its check."""
    return {name: check(name, arguments[name]) for name, check in checks.items() if arguments[name] is not None}
