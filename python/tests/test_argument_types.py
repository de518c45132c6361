"""Arguments of another type than a call takes: WrongType naming the argument, before anything happens."""

import inspect
import pathlib

import numpy as np
import pyarrow as pa
import pytest
from support import rows

import javelin
from javelin import errors, mem_wal

NO_INT = ("1", True, 1.5, [1])
NO_FLAG = (1, 0, "no", [])
NO_TEXT = (1, True, b"id", ["id"])
NO_NUMBER = ("1", True, [1], 1j)
NO_REFERENCE = (True, 1.5, ["main", 1], (1, 1), ("main", "1"), ("main",), b"tag")
NO_TEXTS = (5, ["a"], {"a": 1}, {1: "a"})
NO_NAMES = ("id", 1, True, [1], {"id": 1})

WRITER = {
    "durable_write": NO_FLAG,
    "max_wal_buffer_size": NO_INT,
    "max_wal_flush_interval_ms": NO_INT,
    "max_wal_persist_retries": NO_INT,
    "wal_persist_retry_base_delay_ms": NO_INT,
    "max_memtable_size": NO_INT,
    "max_memtable_rows": NO_INT,
    "max_memtable_batches": NO_INT,
    "max_unflushed_memtable_bytes": NO_INT,
    "manifest_scan_batch_size": NO_INT,
    "backpressure_log_interval_ms": NO_INT,
    "enable_memtable": NO_FLAG,
}
SCAN = {"columns": NO_NAMES, "limit": NO_INT, "offset": NO_INT, "batch_size": NO_INT}
SCAN_OF_TABLE = {
    **SCAN,
    "filter": NO_TEXT,
    "batch_size_bytes": NO_INT,
    "scan_in_order": NO_FLAG,
    "with_row_id": NO_FLAG,
    "with_row_address": NO_FLAG,
    "late_materialization": (*NO_FLAG, ["id"]),
    "blob_handling": NO_TEXT,
    "order_by": ("id", 1, True, [1], {"id": 1}),
}
RETRIES = {"conflict_retries": NO_INT, "retry_timeout": (1, "1", 1.5, True)}

#: By call: every argument that is a number, a bool, a text or a list of names, with values that are none.
CALLS = {
    "initialize_mem_wal": {
        "maintained_indexes": NO_NAMES,
        "bucket_column": NO_TEXT,
        "num_buckets": NO_INT,
        "identity_column": NO_TEXT,
        "unsharded": NO_FLAG,
        "adopt_sstables": NO_FLAG,
        **WRITER,
    },
    "mem_wal_writer": {
        "shard_id": NO_TEXT,
        **WRITER,
        "commit_mode": NO_TEXT,
        "frozen_memtable_grace_ms": NO_INT,
        "shard_spec_id": NO_INT,
    },
    "compact_shards": {"shard": NO_TEXT, "max_bytes": NO_INT, "dry_run": NO_FLAG, "retired_grace": NO_NUMBER},
    "fresh": {"max_staleness": NO_NUMBER},
    "to_batches": SCAN_OF_TABLE,
    "to_table": SCAN_OF_TABLE,
    "scanner": {**SCAN_OF_TABLE, "fragments": (1, "1", [1], {"id": 1})},
    "get_fragment": {"fragment_id": NO_INT},
    "count_rows": {"filter": NO_TEXT},
    "sample": {"num_rows": NO_INT, "columns": NO_NAMES, "randomize_order": NO_FLAG, "kwargs": ()},
    "delete": {"predicate": NO_TEXT, **RETRIES},
    "update": {
        "updates": ("id", 1, [("text", "'a'")], {1: "id"}, {"text": 1}),
        "where": NO_TEXT,
        "data_storage_version": NO_TEXT,
        **RETRIES,
    },
    "seal_shard": {"shard_id": NO_TEXT},
    "unseal_shard": {"shard_id": NO_TEXT},
    "checkout_version": {"version": NO_REFERENCE},
    "restore": {"force": NO_FLAG},
    "update_config": {"values": NO_TEXTS, "replace": NO_FLAG},
    "update_metadata": {"values": NO_TEXTS, "replace": NO_FLAG},
    "update_schema_metadata": {"values": NO_TEXTS, "replace": NO_FLAG},
    "update_field_metadata": {"field_updates": (5, {1: {}}, {"id": 5}, {"id": {"a": 1}}), "replace": NO_FLAG},
    "delete_config_keys": {"keys": NO_NAMES},
    "delta": {"compared_against": NO_INT, "begin_version": NO_INT, "end_version": NO_INT},
    "create_branch": {"branch": NO_TEXT, "reference": NO_REFERENCE},
}
#: Other arguments that a call cannot do without.
NEEDED = {
    "mem_wal_writer": {"shard_id": "00000000-0000-4000-8000-000000000001"},
    "sample": {"num_rows": 1},
    "delete": {"predicate": "id = 1"},
    "update": {"updates": {"text": "'a'"}},
    "update_config": {"values": {"key": "value"}},
    "update_metadata": {"values": {"key": "value"}},
    "update_schema_metadata": {"values": {"key": "value"}},
    "update_field_metadata": {"field_updates": {"text": {"key": "value"}}},
    "create_branch": {"branch": "branch"},
}
CASES = [(call, argument, value) for call, wrong in CALLS.items() for argument in wrong for value in wrong[argument]]


def files(uri):
    return {str(path): path.stat().st_mtime_ns for path in pathlib.Path(uri).rglob("*")}


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    """A table that no call here may change."""
    return javelin.write_dataset(rows([1, 2, 3]), str(tmp_path_factory.mktemp("plain") / "table.lance"))


@pytest.fixture(scope="module")
def streamed(tmp_path_factory):
    """One with MemWAL, which neither."""
    dataset = javelin.write_dataset(rows([1, 2, 3]), str(tmp_path_factory.mktemp("streamed") / "table.lance"))
    dataset.initialize_mem_wal(unsharded=True)
    return dataset


@pytest.mark.parametrize("call, argument, value", CASES, ids=[f"{c}-{a}-{v!r}" for c, a, v in CASES])
def test_an_argument_of_another_type_is_refused(plain, streamed, call, argument, value):
    dataset = plain if call == "initialize_mem_wal" else streamed
    given = NEEDED.get(call, {})
    before, version = files(dataset.uri), dataset.version
    with pytest.raises(errors.WrongType, match=argument) as raised:
        getattr(dataset, call)(**{**given, argument: value})
    assert isinstance(raised.value, errors.InvalidInput) and isinstance(raised.value, TypeError)
    assert raised.value.kind == "InvalidInput"
    assert files(dataset.uri) == before and dataset.version == version


def test_every_argument_is_among_them():
    for call, wrong in CALLS.items():
        assert set(inspect.signature(getattr(javelin.LanceDataset, call)).parameters) - {"self"} == set(wrong), call


def test_an_open_that_is_refused_leaves_the_writer_at_work_alone(table, writer, shard):
    for argument in CALLS["mem_wal_writer"]:
        if argument != "shard_id":
            with pytest.raises(errors.WrongType, match=argument):
                table.mem_wal_writer(shard, **{argument: object()})
    writer.put(rows([4]))
    assert writer.refresh_manifest()["writer_epoch"] == writer.epoch


def test_views_and_writers(table, writer):
    view = table.fresh()
    for argument, values in SCAN.items():
        for value in values:
            for call in (view.scan, view.to_table, view.to_batches):
                with pytest.raises(errors.WrongType, match=argument):
                    call(**{argument: value})
    for value in NO_FLAG:
        for call in (lambda wait: writer.put(rows([9]), wait=wait), lambda wait: writer.delete([1], wait=wait)):
            with pytest.raises(errors.WrongType, match="wait"):
                call(value)
    ticket = writer.put(rows([4]), wait=False)
    for value in NO_NUMBER:
        with pytest.raises(errors.WrongType, match="timeout"):
            ticket.wait(value)
    with pytest.raises(errors.InvalidInput, match="timeout"):
        ticket.wait(float("nan"))
    ticket.wait(10**400)
    assert sorted(writer.lsm_scanner().to_table()["id"].to_pylist()) == [1, 2, 3, 4]


def test_writes(uri):
    for argument, values in {
        "mode": NO_TEXT,
        "data_storage_version": NO_TEXT,
        "max_rows_per_file": NO_INT,
        "max_bytes_per_file": NO_INT,
        "enable_v2_manifest_paths": (*NO_FLAG, None),
        "storage_options": (5, [("a", "b")], {"a": 1}),
    }.items():
        for value in values:
            with pytest.raises(errors.WrongType, match=argument):
                javelin.write_dataset(rows([1]), uri, **{argument: value})
    assert not pathlib.Path(uri).exists()


def test_lists_of_snapshots(table, writer, shard):
    snapshot = mem_wal.ShardSnapshot(shard)
    for wrong in (snapshot, 5, [5], iter([snapshot]), "", 0, False):
        with pytest.raises(errors.WrongType, match="shard_snapshots"):
            mem_wal.LsmScanner.from_snapshots(table, wrong)
        with pytest.raises(errors.WrongType, match="shard_snapshots"):
            writer.lsm_scanner(wrong)
    assert mem_wal.LsmScanner.from_snapshots(table, (snapshot,)).count_rows() == 3


def test_numbers_and_flags_of_numpy_are_as_good_as_others(table, shard):
    with table.mem_wal_writer(shard, max_memtable_rows=np.int64(50), durable_write=np.bool_(True)) as writer:
        writer.put(rows([4]), wait=np.bool_(True))
    assert table.fresh(max_staleness=np.float32(0.5)).to_table(limit=np.int8(2)).num_rows == 2
    report = table.compact_shards(max_bytes=np.uint64(2**64 - 1), dry_run=np.bool_(False), retired_grace=np.int32(5))
    assert [shard["passes"] for shard in report["shards"]] == [1]
    assert table.to_table(columns=("id",), with_row_id=None).schema.names == ["id"]
    assert table.to_table(with_row_id=np.True_).schema.names[-1] == "_rowid"


def test_a_name_of_a_column_is_not_a_list_of_letters(uri):
    dataset = javelin.write_dataset(pa.table({"a": [1], "b": [2]}), uri)
    with pytest.raises(errors.WrongType, match="columns"):
        dataset.to_table(columns="ab")
    with pytest.raises(errors.WrongType, match="columns"):
        dataset.take([0], columns="ab")
