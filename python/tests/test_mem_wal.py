"""Shard writers and fresh views through the package."""

import pathlib
import pickle
import shutil
import uuid

import pyarrow as pa
import pytest
from support import KEY, SCHEMA, ids_of, rows, run_python, wal_entries

import javelin
from javelin import errors


def test_initialize(uri):
    dataset = javelin.write_dataset(rows([1]), uri)
    assert dataset.mem_wal_index_details() is None
    assert dataset.initialize_mem_wal(bucket_column="id", num_buckets=4, max_memtable_rows=10) is None
    assert (dataset.version, dataset.latest_version) == (2, 2)
    details = dataset.mem_wal_index_details()
    assert (details["num_shards"], details["maintained_indexes"], details["maintain_all_indexes"]) == (4, [], True)
    assert details["writer_config_defaults"]["max_memtable_rows"] == "10"
    assert details["sharding_specs"] == [
        {
            "spec_id": 1,
            "fields": [
                {"field_id": "bucket", "source_ids": [0], "transform": "bucket", "expression": None,
                 "result_type": "int32", "parameters": {"num_buckets": "4"}}
            ],
        }
    ]


@pytest.mark.parametrize(
    "options",
    [
        {"unsharded": True, "identity_column": "id"},
        {"bucket_column": "id"},
        {"num_buckets": 3},
        {"bucket_column": "id", "num_buckets": 0},
        {"bucket_column": "id", "num_buckets": 1025},
        {"bucket_column": "id", "num_buckets": -1},
        {"identity_column": "nope"},
        {"maintained_indexes": ["nope"]},
        {"max_memtable_rows": -1},
    ],
)
def test_initialize_refuses(uri, options):
    dataset = javelin.write_dataset(rows([1]), uri)
    with pytest.raises(errors.InvalidInput) as raised:
        dataset.initialize_mem_wal(**options)
    assert isinstance(raised.value, ValueError) and isinstance(raised.value, OSError)
    assert dataset.latest_version == 1


def test_initialize_twice(table):
    with pytest.raises(errors.InvalidInput):
        table.initialize_mem_wal(unsharded=True)


def test_put_delete_and_read_back(table, writer):
    writer.put(rows([2, 4], "new"))
    writer.delete(pa.table({"id": [1]}))
    expected = [{"id": 2, "text": "new 2"}, {"id": 3, "text": "base 3"}, {"id": 4, "text": "new 4"}]
    assert sorted(writer.lsm_scanner().to_table().to_pylist(), key=lambda row: row["id"]) == expected
    view = table.fresh()
    assert sorted(view.to_table().to_pylist(), key=lambda row: row["id"]) == expected
    assert table.to_table() == rows([1, 2, 3], "base")


def test_rows_outlive_their_writer(table, shard):
    with table.mem_wal_writer(shard, max_wal_flush_interval_ms=5) as writer:
        writer.put(rows([4]))
        writer.delete({"id": [3]})
    with table.mem_wal_writer(shard) as again:
        assert again.epoch == writer.epoch + 1
        assert ids_of(again.lsm_scanner().to_table()) == [1, 2, 4]


def test_a_writer_that_is_dropped_keeps_what_it_acknowledged(table, shard):
    writer = table.mem_wal_writer(shard, max_wal_flush_interval_ms=5)
    writer.put(rows([4]))
    del writer
    with table.mem_wal_writer(shard) as again:
        assert ids_of(again.lsm_scanner().to_table()) == [1, 2, 3, 4]


def test_lsm_scanner(writer):
    writer.put(rows([4, 5]))
    scanner = writer.lsm_scanner()
    assert scanner.project(["text"]) is scanner
    assert scanner.to_table().schema.names == ["text", "id"]
    assert writer.lsm_scanner().project(["id"]).limit(2, 1).to_table().num_rows == 2
    assert writer.lsm_scanner().limit(2).count_rows() == 2
    assert writer.lsm_scanner().limit(None, 4).count_rows() == 1
    assert writer.lsm_scanner().to_batch().num_rows == 5
    assert sum(batch.num_rows for batch in writer.lsm_scanner().to_batches()) == 5
    assert pa.table(writer.lsm_scanner()).num_rows == 5
    late = writer.lsm_scanner()
    writer.put(rows([6]))
    assert late.count_rows() == 6
    with pytest.raises(errors.InvalidInput):
        writer.lsm_scanner().project(["nope"]).to_table()
    with pytest.raises(errors.InvalidInput):
        writer.lsm_scanner().limit(-1)


def test_tickets(writer):
    ticket = writer.put(rows([4]), wait=False)
    ticket.wait(60)
    assert ticket.done() and isinstance(ticket.token, bytes)
    ticket.wait()
    gone = writer.delete({"id": [4]}, wait=False)
    gone.wait()
    assert ids_of(writer.lsm_scanner().to_table()) == [1, 2, 3]


def test_a_ticket_that_takes_too_long(table, shard):
    writer = table.mem_wal_writer(shard, max_wal_flush_interval_ms=3_600_000)
    ticket = writer.put(rows([4]), wait=False)
    assert not ticket.done()
    with pytest.raises(errors.Timeout) as raised:
        ticket.wait(0.05)
    assert isinstance(raised.value, TimeoutError) and isinstance(raised.value, errors.Cancelled)
    with pytest.raises(errors.Timeout):
        ticket.wait(-1)
    writer.flush_wal()
    ticket.wait()
    writer.close()


def test_statistics(writer):
    assert writer.memtable_stats()["max_buffered_batch_position"] is None
    writer.put(rows([4, 5]))
    stats = writer.stats()
    assert {"put_count", "put_time_ms", "wal_flush_count", "wal_flush_bytes", "wal_flush_time_ms", "memtable_flush_count",
            "memtable_flush_rows", "memtable_flush_failures", "memtable_flush_time_ms"} <= set(stats)
    assert (stats["put_count"], stats["wal_flush_count"]) == (1, 1)
    memtable = writer.memtable_stats()
    assert (memtable["row_count"], memtable["batch_count"], memtable["generation"]) == (2, 1, 1)
    assert (memtable["durable_batch_count"], memtable["pending_wal_batch_count"]) == (1, 0)
    assert memtable["pending_wal_start_batch_position"] is None


def test_flushed_rows_stay_in_memory_for_the_grace(table, uri, shard):
    with table.mem_wal_writer(shard, commit_mode="eager", frozen_memtable_grace_ms=3_600_000) as writer:
        writer.put(rows([4]))
        writer.flush()
        stats = writer.memtable_stats()
        assert stats["frozen_count"] == stats["frozen_bytes"] == 0 < stats["grace_bytes"] < stats["retained_bytes"]
        for folder in (pathlib.Path(uri) / "_mem_wal" / shard).glob("*_gen_1"):
            shutil.rmtree(folder)
        assert ids_of(table.fresh().to_table()) == [1, 2, 3, 4]
    assert writer.memtable_stats()["grace_bytes"] == 0
    with table.mem_wal_writer(shard, commit_mode="eager") as writer:
        writer.put(rows([5]))
        writer.flush()
        assert writer.memtable_stats()["grace_bytes"] == 0


def test_a_writer_says_what_columns_it_takes(table, writer):
    assert writer.schema.equals(SCHEMA, check_metadata=True)
    assert writer.evolve() is False
    writer.close()
    assert writer.schema.names == ["id", "text"]
    with pytest.raises(errors.Closed):
        writer.evolve()


def test_manifests(table, shard):
    with table.mem_wal_writer(shard) as writer:
        manifest = writer.manifest()
        assert manifest == writer.refresh_manifest()
        assert (manifest["shard_id"], manifest["writer_epoch"], manifest["status"]) == (shard, writer.epoch, "active")
        assert (manifest["current_generation"], manifest["sstables"], manifest["replay_after"]) == (1, [], 0)


def test_non_durable_puts_can_be_read_at_once(table, uri, shard):
    with table.mem_wal_writer(shard, durable_write=False, max_wal_flush_interval_ms=3_600_000) as writer:
        writer.put(rows([4]))
        assert ids_of(writer.lsm_scanner().to_table()) == [1, 2, 3, 4]
        assert wal_entries(uri, shard) == []
        writer.flush_wal()
        assert len(wal_entries(uri, shard)) == 1


@pytest.mark.parametrize("mode", ["interval", "eager"])
def test_commit_modes(table, shard, mode):
    with table.mem_wal_writer(shard, commit_mode=mode, max_wal_flush_interval_ms=5) as writer:
        writer.put(rows([4]))
        assert writer.lsm_scanner().count_rows() == 4


@pytest.mark.parametrize(
    "options, words",
    [
        ({"max_wal_flush_interval_ms": 0}, "max_wal_flush_interval"),
        ({"max_wal_flush_interval_ms": 0, "enable_memtable": False}, "max_wal_flush_interval"),
        ({"max_memtable_size": 0}, "max_memtable_size"),
        ({"max_memtable_batches": 0}, "max_memtable_batches"),
        ({"max_unflushed_memtable_bytes": 5}, "max_unflushed_memtable_bytes"),
        ({"manifest_scan_batch_size": 0}, "manifest_scan_batch_size"),
        ({"max_memtable_rows": -5}, "max_memtable_rows"),
        ({"max_memtable_rows": 2**64}, "max_memtable_rows"),
        ({"frozen_memtable_grace_ms": -1}, "frozen_memtable_grace"),
        ({"max_wal_flush_interval_ms": 2**63}, "max_wal_flush_interval_ms"),
        ({"commit_mode": "sometimes"}, "commit_mode"),
        ({"shard_spec_id": 7}, "shard_spec_id|spec"),
    ],
)
def test_a_doomed_open_leaves_the_writer_at_work_alone(table, writer, shard, options, words):
    with pytest.raises(errors.InvalidInput, match=words):
        table.mem_wal_writer(shard, **options)
    writer.put(rows([4]))
    assert writer.lsm_scanner().count_rows() == 4
    assert writer.refresh_manifest()["writer_epoch"] == writer.epoch


def test_eager_mode_needs_no_interval(table, shard):
    with table.mem_wal_writer(shard, commit_mode="eager", max_wal_flush_interval_ms=0) as writer:
        writer.put(rows([4]))


def test_stored_defaults_apply_under_arguments(uri, shard):
    dataset = javelin.write_dataset(rows([1]), uri)
    dataset.initialize_mem_wal(unsharded=True, max_memtable_rows=10)
    with dataset.mem_wal_writer(shard) as writer:
        with pytest.raises(errors.InvalidInput, match="max_memtable_rows"):
            writer.put(rows(range(11)))
    with dataset.mem_wal_writer(shard, max_memtable_rows=11) as writer:
        writer.put(rows(range(11)))


# ---- fresh views ----


def test_an_older_version_has_no_fresh_view(table, uri, writer):
    writer.put(rows([4]))
    pinned = javelin.dataset(uri, version=table.version)
    assert ids_of(pinned.fresh().to_table()) == [1, 2, 3, 4], "it is the newest"
    unpinned = pickle.loads(pickle.dumps(javelin.dataset(uri)))
    javelin.write_dataset(rows([5]), uri, mode="append")
    for old in (pinned, javelin.dataset(uri, version=1), table.checkout_version(1), table.checkout_version(table.version),
                pickle.loads(pickle.dumps(pinned))):
        with pytest.raises(errors.NotSupported, match="checkout_latest"):
            old.fresh()
        with pytest.raises(errors.NotSupported, match="checkout_latest"):
            old.fresh(max_staleness=3600)
        assert ids_of(old.to_table()) == [1, 2, 3]
        old.checkout_latest()
        assert 5 in ids_of(old.fresh().to_table())
    for merely_old in (table, unpinned):
        assert merely_old.version < merely_old.latest_version
        assert 5 in ids_of(merely_old.fresh().to_table())


def test_a_checked_out_version_stays_in_its_session(table, uri):
    session = javelin.Session()
    assert javelin.dataset(uri, session=session).checkout_version(1)._session is session


def test_a_view_does_not_change(table, writer):
    writer.put(rows([4]))
    view = table.fresh()
    writer.put(rows([5]))
    table.insert(rows([6]))
    assert ids_of(view.to_table()) == [1, 2, 3, 4]
    assert view.count_rows() == 4
    assert ids_of(view.refresh().to_table()) == [1, 2, 3, 4, 5, 6]
    assert view.refresh().version == table.version


def test_views_see_every_writer_of_the_session(table):
    shards = [str(uuid.uuid4()) for _ in range(3)]
    writers = [table.mem_wal_writer(shard, max_wal_flush_interval_ms=5) for shard in shards]
    for number, writer in enumerate(writers):
        writer.put(rows([100 + number]))
    assert ids_of(table.fresh().to_table()) == [1, 2, 3, 100, 101, 102]
    assert ids_of(javelin.dataset(table.uri).fresh().to_table()) == [1, 2, 3, 100, 101, 102]
    assert ids_of(javelin.dataset(table.uri, session=javelin.Session()).fresh().to_table()) == [1, 2, 3]
    for writer in writers:
        writer.close()


def test_scans_of_a_view(table, writer):
    writer.put(rows([2, 4], "new"))
    view = table.fresh()
    everything = view.to_table()
    assert view.schema == SCHEMA and everything.schema == SCHEMA
    assert view.to_table(["text"]) == everything.select(["text"])
    assert view.to_table(limit=2, offset=1) == everything.slice(1, 2)
    assert pa.Table.from_batches(view.to_batches(batch_size=1)) == everything
    assert view.scan(limit=2).count_rows() == 2
    assert pa.table(view) == everything


def test_get(table, writer):
    writer.put(rows([2, 4], "new"))
    writer.delete({"id": [3]})
    view = table.fresh()
    assert view.get([4, 9, 1, 3, 4]).to_pydict() == {"id": [4, 1], "text": ["new 4", "base 1"]}
    assert view.get([2], columns=["text"]).to_pydict() == {"text": ["new 2"]}
    for keys in (
        pa.array([2]), (2,), {"id": [2]}, [{"id": 2}], pa.table({"id": [2], "more": ["x"]}), pa.record_batch({"id": [2]}),
        pa.chunked_array([[2]]),
    ):
        assert view.get(keys).to_pydict() == {"id": [2], "text": ["new 2"]}
    assert view.get([]).num_rows == 0
    assert view.get([]).schema == SCHEMA


@pytest.mark.parametrize("keys", [pa.table({"id": pa.array([1], pa.int32())}), {"text": ["a"]}, [None]])
def test_get_refuses(table, keys):
    with pytest.raises(errors.InvalidInput):
        table.fresh().get(keys)


def test_get_by_a_key_of_two_columns(uri, shard):
    schema = pa.schema([
        pa.field("tenant", pa.string(), nullable=False, metadata={**KEY, "lance-schema:unenforced-primary-key:position": "1"}),
        pa.field("n", pa.int32(), nullable=False, metadata={**KEY, "lance-schema:unenforced-primary-key:position": "2"}),
        pa.field("text", pa.string()),
    ])
    data = pa.table({"tenant": ["a", "a", "b"], "n": [1, 2, 1], "text": ["x", "y", "z"]}, schema=schema)
    dataset = javelin.write_dataset(data, uri)
    dataset.initialize_mem_wal(unsharded=True)
    with dataset.mem_wal_writer(shard, max_wal_flush_interval_ms=5) as writer:
        writer.put([{"tenant": "a", "n": 2, "text": "new"}])
        view = dataset.fresh()
        assert view.get([{"tenant": "b", "n": 1}, {"tenant": "a", "n": 2}])["text"].to_pylist() == ["z", "new"]
        assert view.get({"n": [1], "tenant": ["a"]}, columns=["text"]).to_pydict() == {"text": ["x"]}
        with pytest.raises(errors.InvalidInput):
            view.get([1])


def test_tables_without_a_key(uri, shard):
    dataset = javelin.write_dataset(pa.table({"n": [1, 1]}), uri)
    dataset.initialize_mem_wal()
    with dataset.mem_wal_writer(shard, max_wal_flush_interval_ms=5) as writer:
        writer.put({"n": [1, 2]})
        assert sorted(writer.lsm_scanner().to_table()["n"].to_pylist()) == [1, 1, 1, 2]
        assert dataset.fresh().count_rows() == 4
        with pytest.raises(errors.InvalidInput, match="primary key"):
            dataset.fresh().get([1])


def test_leaving_a_with_block_hides_no_failure_inside_it(table, shard):
    with pytest.raises(errors.Fenced) as raised:
        with table.mem_wal_writer(shard) as writer:
            second = table.mem_wal_writer(shard)
            writer.put(rows([4]))
    assert raised.value.__context__ is None  # it is the first failure, not that of the close
    assert any("close" in note for note in getattr(raised.value, "__notes__", ["close"]))
    with pytest.raises(KeyError):
        with second:
            third = table.mem_wal_writer(shard)
            raise KeyError("the caller's own")
    third.close()


def test_reprs_say_what_it_is(table, writer, uri, shard):
    assert repr(table) == f"LanceDataset({uri!r}, version=2)"
    assert repr(table.fresh()) == f"<FreshView of {uri!r} over version 2>"
    assert shard in repr(writer) and f"epoch {writer.epoch}" in repr(writer)
    ticket = writer.put(rows([4]), wait=False)
    ticket.wait()
    assert repr(ticket) == "<Ticket done>"
    writer.close()
    assert "closed" in repr(writer)


def test_a_view_tells_what_lies_only_in_logs(table, uri, shard):
    assert table.fresh().unseen_log_entries() == {}
    with table.mem_wal_writer(shard, max_wal_flush_interval_ms=5) as writer:
        writer.put(rows([4]))
        assert table.fresh().unseen_log_entries() == {}  # the writer of this session shows it
        other = javelin.dataset(uri, session=javelin.Session()).fresh()  # as another process sees it
        assert other.unseen_log_entries() == {shard: 1}
        writer.put(rows([5]))
        assert other.unseen_log_entries() == {shard: 2} and other.count_rows() == 3
        writer._abort()  # as if it were killed
        assert table.fresh().unseen_log_entries() == {shard: 2}
    with table.mem_wal_writer(shard) as writer:
        assert table.fresh().unseen_log_entries() == {} and table.fresh().count_rows() == 5
    # What was flushed is seen by a new view; the old one still lacks it. The second claim's entry without rows is not counted.
    assert len(wal_entries(uri, shard)) == 3
    assert other.refresh().unseen_log_entries() == {} and other.refresh().count_rows() == 5
    assert other.unseen_log_entries() == {shard: 2} and other.count_rows() == 3


REFUSED = pa.schema([pa.field("id", pa.int64(), nullable=False, metadata=KEY), pa.field("tags", pa.struct([])), pa.field("n", pa.int64())])


def test_columns_that_cannot_be_written_are_refused_before_anything_changes(tmp_path, table):
    for data, schema in (([], REFUSED), ([{"id": 1, "tags": {}, "n": 7}], REFUSED)):
        with pytest.raises(errors.NotSupported, match="'tags'"):
            javelin.write_dataset(data, tmp_path / "t.lance", schema=schema)
        for mode in ("append", "overwrite"):
            with pytest.raises(errors.NotSupported, match="'tags'"):
                javelin.write_dataset(data, tmp_path / "t.lance", schema=schema, mode=mode)
    assert not list(tmp_path.glob("t.lance/**/*.*"))
    with pytest.raises(errors.NotSupported, match="'tags'"):
        javelin.write_dataset([], table, schema=REFUSED, mode="overwrite")
    assert table.latest_version == 2


@pytest.mark.interop
def test_a_table_of_the_peer_with_such_columns_is_only_read(uri, shard):
    run_python(
        """
        import sys, lance, pyarrow as pa
        key = {"lance-schema:unenforced-primary-key": "true"}
        schema = pa.schema([pa.field("id", pa.int64(), nullable=False, metadata=key), pa.field("tags", pa.struct([])), pa.field("n", pa.int64())])
        rows = pa.Table.from_pylist([{"id": 1, "tags": {}, "n": 7}, {"id": 2, "tags": {}, "n": None}], schema=schema)
        for uri in sys.argv[1:]:
            lance.write_dataset(rows, uri, data_storage_version="2.2")
        lance.dataset(sys.argv[2]).initialize_mem_wal(unsharded=True)
        """,
        uri, uri + "2",
    )
    plain, sharded = javelin.dataset(uri), javelin.dataset(uri + "2")
    for dataset in (plain, sharded):
        assert dataset.to_table(columns=["id"]).to_pydict() == {"id": [1, 2]}
        assert dataset.fresh().get([2], columns=["id"]).to_pydict() == {"id": [2]}
        assert dataset.to_table(columns=["tags", "n"]).to_pydict() == {"tags": [{}, {}], "n": [7, None]}  # the peer finds no 7
    version = plain.version
    with pytest.raises(errors.NotSupported, match="'tags'"):
        javelin.write_dataset(pa.Table.from_pylist([], schema=REFUSED), plain, mode="append")
    with pytest.raises(errors.NotSupported, match="'tags'"):
        plain.initialize_mem_wal(unsharded=True)
    assert plain.latest_version == version
    with pytest.raises(errors.NotSupported, match="'tags'"):
        sharded.mem_wal_writer(shard)
    assert sharded.fresh().unseen_log_entries() == {} and wal_entries(uri + "2", shard) == []


def test_a_waiting_put_waits_for_room(uri, shard):
    schema = pa.schema([pa.field("id", pa.int64(), nullable=False, metadata=KEY), pa.field("text", pa.string())])
    javelin.write_dataset(pa.table({"id": pa.array([], pa.int64()), "text": pa.array([], pa.string())}, schema=schema),
                          uri).initialize_mem_wal(unsharded=True)
    limits = {"max_memtable_size": 1 << 20, "max_unflushed_memtable_bytes": 4 << 20, "max_wal_flush_interval_ms": 2}
    with javelin.dataset(uri).mem_wal_writer(shard, **limits) as writer:
        for number in range(40):
            writer.put([{"id": number, "text": "x" * 300_000}])
        assert writer.stats()["put_count"] == 40
    assert javelin.dataset(uri).fresh().count_rows() == 40


def test_text_that_is_no_utf8_is_refused(uri, shard):
    schema = pa.schema([pa.field("id", pa.int64(), nullable=False, metadata=KEY), pa.field("text", pa.string())])
    text = pa.Array.from_buffers(pa.string(), 1, [None, pa.py_buffer(b"\0\0\0\0\2\0\0\0"), pa.py_buffer(b"\xff\xfe")])
    bad = pa.Table.from_arrays([pa.array([8], pa.int64()), text], schema=schema)
    with pytest.raises(errors.InvalidInput, match="'text' holds text that is no UTF-8"):
        javelin.write_dataset(bad, uri)
    javelin.write_dataset(bad.slice(0, 0), uri).initialize_mem_wal(unsharded=True)
    with javelin.dataset(uri).mem_wal_writer(shard) as writer:
        with pytest.raises(errors.InvalidInput, match="no UTF-8"):
            writer.put(bad)
        writer.put([{"id": 1, "text": "h\u00e9"}])
    assert javelin.dataset(uri).fresh().count_rows() == 1


def test_close_after_an_interrupted_close_finishes_it(uri, shard, table, monkeypatch):
    writer = table.mem_wal_writer(shard, durable_write=False, max_wal_flush_interval_ms=60_000)
    writer.put(rows([100, 101]))
    core = writer._core

    class Interrupted:
        def __getattr__(self, name):
            return getattr(core, name)

        def close(self):
            raise KeyboardInterrupt

    writer._core = Interrupted()
    with pytest.raises(KeyboardInterrupt):
        writer.close()
    writer._core = core
    writer.close()
    assert {100, 101} <= set(javelin.dataset(uri).fresh().to_table()["id"].to_pylist())


def test_an_overwritten_table_has_no_shards(uri, shard, table):
    with table.mem_wal_writer(shard) as writer:
        writer.put(rows([100]))
    javelin.write_dataset(pa.table({"a": pa.array([5], pa.int64())}), uri, mode="overwrite")
    assert javelin.dataset(uri).fresh().to_table().to_pylist() == [{"a": 5}]


def test_a_table_made_anew_at_the_same_place_has_nothing_of_the_old_one(uri, shard):
    for generation in range(3):
        shutil.rmtree(uri, ignore_errors=True)
        javelin.write_dataset(rows([1]), uri).initialize_mem_wal(unsharded=True)
        for step in range(generation + 1):
            with javelin.dataset(uri).mem_wal_writer(shard) as writer:
                writer.put(rows([100 * (generation + 1) + step]))
        del writer
        expected = [1, *(100 * (generation + 1) + step for step in range(generation + 1))]
        assert sorted(javelin.dataset(uri).fresh().to_table()["id"].to_pylist()) == expected
    shutil.rmtree(uri)
    javelin.write_dataset(rows([7]), uri).initialize_mem_wal(unsharded=True)
    assert javelin.dataset(uri).fresh().to_table()["id"].to_pylist() == [7]


def test_a_view_may_be_as_old_as_the_caller_allows(uri, shard, table):
    reader = javelin.dataset(uri, session=javelin.Session())
    before = reader.fresh(max_staleness=60).count_rows()
    with table.mem_wal_writer(shard) as writer:
        writer.put(rows([100]))
    assert reader.fresh(max_staleness=3600).count_rows() == before
    assert reader.fresh().count_rows() == before + 1
    assert reader.fresh(max_staleness=0).count_rows() == before + 1
    for wrong in (-1, float("nan"), float("inf")):
        with pytest.raises(errors.InvalidInput, match="max_staleness"):
            reader.fresh(max_staleness=wrong)
