"""What of the released ``lance`` package (14.0.2) is here, and what is ours on top of it.

Keys are names as ``module.name`` or ``Class.name``; values the arguments, without ``self``. A test holds both tables against the
package itself and against the released one.
"""

from types import MappingProxyType
from typing import Mapping, Tuple

_SCAN = ("columns", "limit", "offset", "batch_size", "with_row_id", "with_row_address")
_WRITER = (
    "durable_write",
    "max_wal_buffer_size",
    "max_wal_flush_interval_ms",
    "max_memtable_size",
    "max_memtable_rows",
    "max_memtable_batches",
    "max_unflushed_memtable_bytes",
    "manifest_scan_batch_size",
    "backpressure_log_interval_ms",
)
_OUR_WRITER = ("max_wal_persist_retries", "wal_persist_retry_base_delay_ms", "enable_memtable")

#: Names and arguments of the released package that work here as there.
COVERED: Mapping[str, Tuple[str, ...]] = MappingProxyType(
    {
        "dataset": ("uri", "version", "storage_options", "session"),
        "write_dataset": (
            "data_obj",
            "uri",
            "schema",
            "mode",
            "max_rows_per_file",
            "max_bytes_per_file",
            "storage_options",
            "data_storage_version",
            "enable_v2_manifest_paths",
            "session",
        ),
        "Session": (),
        "LanceDataset": ("uri", "version", "storage_options", "session"),
        "LanceDataset.uri": (),
        "LanceDataset.version": (),
        "LanceDataset.latest_version": (),
        "LanceDataset.schema": (),
        "LanceDataset.data_storage_version": (),
        "LanceDataset.session": (),
        "LanceDataset.scanner": _SCAN,
        "LanceDataset.to_table": _SCAN,
        "LanceDataset.to_batches": _SCAN,
        "LanceDataset.to_pandas": _SCAN + ("kwargs",),
        "LanceDataset.head": ("num_rows", "kwargs"),
        "LanceDataset.take": ("indices", "columns"),
        "LanceDataset.count_rows": (),
        "LanceDataset.__len__": (),
        "LanceDataset.versions": (),
        "LanceDataset.checkout_version": ("version",),
        "LanceDataset.checkout_latest": (),
        "LanceDataset.insert": ("data", "mode", "kwargs"),
        "LanceDataset.initialize_mem_wal": (
            "maintained_indexes",
            "bucket_column",
            "num_buckets",
            "identity_column",
            "unsharded",
        )
        + _WRITER,
        "LanceDataset.mem_wal_index_details": (),
        "LanceDataset.mem_wal_writer": ("shard_id",) + _WRITER,
        "LanceScanner.projected_schema": (),
        "LanceScanner.dataset_schema": (),
        "LanceScanner.to_table": (),
        "LanceScanner.to_batches": (),
        "LanceScanner.to_reader": (),
        "LanceScanner.to_pandas": ("kwargs",),
        "LanceScanner.count_rows": (),
        "mem_wal.ShardWriter.shard_id": (),
        "mem_wal.ShardWriter.put": ("data", "schema"),
        "mem_wal.ShardWriter.delete": ("keys", "schema"),
        "mem_wal.ShardWriter.close": (),
        "mem_wal.ShardWriter.stats": (),
        "mem_wal.ShardWriter.memtable_stats": (),
        "mem_wal.ShardWriter.lsm_scanner": (),
        "mem_wal.ShardWriter.__enter__": (),
        "mem_wal.ShardWriter.__exit__": (),
        "mem_wal.LsmScanner.project": ("columns",),
        "mem_wal.LsmScanner.limit": ("n", "offset"),
        "mem_wal.LsmScanner.to_table": (),
        "mem_wal.LsmScanner.to_batches": (),
        "mem_wal.LsmScanner.to_batch": (),
        "mem_wal.LsmScanner.count_rows": (),
    }
)

#: What the released package does not have: further names, and further arguments of names in COVERED.
OURS: Mapping[str, Tuple[str, ...]] = MappingProxyType(
    {
        "LanceDataset.__arrow_c_stream__": ("requested_schema",),
        "LanceDataset.initialize_mem_wal": _OUR_WRITER,
        "LanceDataset.mem_wal_writer": _OUR_WRITER + ("commit_mode", "shard_spec_id"),
        "LanceDataset.compact_shards": ("shard", "max_bytes", "dry_run", "retired_grace"),
        "LanceDataset.fresh": (),
        "LanceScanner.__arrow_c_stream__": ("requested_schema",),
        "FreshView.schema": (),
        "FreshView.version": (),
        "FreshView.refresh": (),
        "FreshView.scan": ("columns", "limit", "offset", "batch_size"),
        "FreshView.to_table": ("columns", "limit", "offset", "batch_size"),
        "FreshView.to_batches": ("columns", "limit", "offset", "batch_size"),
        "FreshView.get": ("keys", "columns"),
        "FreshView.count_rows": (),
        "FreshView.unseen_log_entries": (),
        "FreshView.__arrow_c_stream__": ("requested_schema",),
        "mem_wal.ShardWriter.put": ("wait",),
        "mem_wal.ShardWriter.delete": ("wait",),
        "mem_wal.ShardWriter.epoch": (),
        "mem_wal.ShardWriter.warnings": (),
        "mem_wal.ShardWriter.flush": (),
        "mem_wal.ShardWriter.flush_wal": (),
        "mem_wal.ShardWriter.manifest": (),
        "mem_wal.ShardWriter.refresh_manifest": (),
        "mem_wal.LsmScanner.__arrow_c_stream__": ("requested_schema",),
        "mem_wal.Ticket.wait": ("timeout",),
        "mem_wal.Ticket.done": (),
        "mem_wal.Ticket.token": (),
        "mem_wal.Ticket.__await__": (),
        "errors": (),
    }
)
