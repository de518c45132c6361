"""Single MemWAL objects, byte for byte: WAL entries, shard manifests, bucket hashes, the table's MemWAL entry.

`wal_tool` (beside this file, built with the tree) decodes what the peer wrote and writes shards from the log layer alone.
"""

import datetime
import json
import subprocess
from pathlib import Path

import pyarrow as pa
import pytest

from peer import Peer, built_tool

KEY = {"lance-schema:unenforced-primary-key": "true"}
PLAIN = pa.schema([pa.field("id", pa.int64(), nullable=False, metadata=KEY), pa.field("text", pa.string())])
NESTED = pa.schema([
    pa.field("id", pa.int32(), nullable=False, metadata=KEY),
    pa.field("place", pa.struct([pa.field("x", pa.float32(), nullable=False), pa.field("name", pa.string())])),
    pa.field("tags", pa.list_(pa.string())),
    pa.field("points", pa.list_(pa.struct([pa.field("a", pa.int8())]))),
    pa.field("vector", pa.list_(pa.float32(), 4)),
    pa.field("flag", pa.bool_(), metadata={"own": "kept"}),
], metadata={"table": "kept"})


def tool(*arguments):
    done = subprocess.run([built_tool("wal_tool"), *map(str, arguments)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def reversed_name(number, suffix):
    return format(number, "064b")[::-1] + suffix


def entry_file(uri, shard, position):
    return Path(uri, "_mem_wal", shard, "wal", reversed_name(position, ".arrow"))


def manifest_file(uri, shard, version):
    return Path(uri, "_mem_wal", shard, "manifest", reversed_name(version, ".binpb"))


def read_stream(path):
    return pa.ipc.open_stream(path.read_bytes()).read_all()


def metadata_of(schema_or_field):
    return {key.decode(): value.decode() for key, value in (schema_or_field.metadata or {}).items()}


def field_ids(field):
    """(name, id, children) at every level; None where there is no id."""
    kind = field.type
    children = [kind.field(i) for i in range(kind.num_fields)]
    return field.name, metadata_of(field).get("lance:field_id"), [field_ids(child) for child in children]


def nested_rows(first, count, schema=NESTED):
    return pa.Table.from_pylist([
        {"id": first + i, "place": None if i % 3 == 0 else {"x": i / 2, "name": f"p{i}"}, "tags": [f"t{i}", None][:i % 3],
         "points": [{"a": i}, None], "vector": [i, 1, 2, 3] if i % 2 else None, "flag": i % 2 == 0} for i in range(count)
    ], schema=schema)


def written_by_killed_peer(peer, path, shard, schema=NESTED):
    """Two entries, one of two batches, and a delete; the writer is killed, not closed."""
    uri = str(path / "theirs.lance")
    peer.run("lance.write_dataset(base, uri).initialize_mem_wal(unsharded=True)", uri=uri, base=nested_rows(0, 3, schema))
    peer.run("w = lance.dataset(uri).mem_wal_writer(shard, max_wal_flush_interval_ms=5)", shard=shard)
    peer.run("w.put(a)", a=nested_rows(10, 5, schema))
    peer.run("w.put(pa.Table.from_batches(b.to_batches(max_chunksize=2)))", b=nested_rows(20, 4, schema))
    peer.run("w.delete(keys)", keys=pa.table({"id": pa.array([10, 21], pa.int32())}))
    peer.kill()
    return uri


def test_entries_of_a_killed_peer_decode(tmp_path, peer, shard):
    # A key of the log in the table's own metadata gives way. (The peer itself cannot reopen such a shard.)
    uri = written_by_killed_peer(peer, tmp_path, shard, NESTED.with_metadata({"table": "kept", "writer_epoch": "99"}))
    positions = range(1, 1 + len(list(Path(uri, "_mem_wal", shard, "wal").iterdir())))
    assert len(positions) >= 3
    seen = []
    for position in positions:
        stored = entry_file(uri, shard, position)
        header = tool("decode-entry", stored, tmp_path / "rows", tmp_path / "again")
        assert header["writer_epoch"] == 1 and header["generation"] == 1
        assert header["fence_sentinel"] is False and header["has_target"] is False
        theirs, rows, again = read_stream(stored), read_stream(tmp_path / "rows"), read_stream(tmp_path / "again")
        assert rows.replace_schema_metadata(None).equals(theirs.replace_schema_metadata(None))
        # The table's own metadata stays, all keys of the log go; encoded again it is what the peer wrote.
        assert metadata_of(theirs.schema) == {"table": "kept", "writer_epoch": "1", "generation": "1"}
        assert metadata_of(rows.schema) == {"table": "kept"}
        assert again.equals(theirs) and again.schema.equals(theirs.schema, check_metadata=True)
        assert header["batches"] == len(theirs.to_batches())
        # Ids on every level, none on the tombstone.
        ids = [field_ids(field) for field in theirs.schema]
        assert ids == [field_ids(field) for field in rows.schema]
        assert ids == [("id", "0", []), ("place", "1", [("x", "2", []), ("name", "3", [])]), ("tags", "4", [("item", "5", [])]),
                       ("points", "6", [("item", "7", [("a", "8", [])])]), ("vector", "9", [("item", None, [])]),
                       ("flag", "10", []), ("_tombstone", None, [])]
        seen += [(row["id"], row["_tombstone"]) for row in rows.to_pylist()]
    assert seen == [(key, False) for key in (*range(10, 15), *range(20, 24))] + [(10, True), (21, True)]


def test_sentinels_of_the_peer_decode(tmp_path, peer, shard):
    uri = written_by_killed_peer(peer, tmp_path, shard)
    count = len(list(Path(uri, "_mem_wal", shard, "wal").iterdir()))
    with Peer() as second:
        second.run("w = lance.dataset(uri).mem_wal_writer(shard)", uri=uri, shard=shard)
        second.kill()
    stored = entry_file(uri, shard, count + 1)
    header = tool("decode-entry", stored, tmp_path / "rows", tmp_path / "again")
    assert header == {"writer_epoch": 2, "generation": None, "fence_sentinel": True, "has_target": False, "batches": 0}
    assert metadata_of(read_stream(tmp_path / "again").schema) == metadata_of(read_stream(stored).schema)


def test_manifests_of_the_peer_are_the_same_bytes_again(tmp_path, peer, shard):
    uri = str(tmp_path / "theirs.lance")
    peer.run("lance.write_dataset(base, uri).initialize_mem_wal(unsharded=True)", uri=uri, base=PLAIN.empty_table())
    for turn in range(3):
        peer.run("w = lance.dataset(uri).mem_wal_writer(shard, max_wal_flush_interval_ms=5); w.put(rows); w.close()", shard=shard,
                 rows=pa.table({"id": [turn, 7], "text": ["a", None]}, schema=PLAIN))
    versions = len(list(Path(uri, "_mem_wal", shard, "manifest").glob("*.binpb")))
    assert versions >= 6
    for version in range(1, versions + 1):
        stored = manifest_file(uri, shard, version)
        manifest = tool("decode-manifest", stored, tmp_path / "again")
        assert (tmp_path / "again").read_bytes() == stored.read_bytes()
        assert manifest["shard"] == shard and manifest["version"] == version and manifest["spec"] == 1
        assert manifest["unknown_bytes"] == 0 and manifest["sealed"] is False
    assert manifest["epoch"] == 3 and manifest["generation"] == 4
    assert [table["generation"] for table in manifest["sstables"]] == [1, 2, 3]
    for table in manifest["sstables"]:
        assert Path(uri, "_mem_wal", shard, table["path"]).is_dir()
        assert table["physical_rows"] == 2 and table["primary_key_bytes"] == 16 and table["in_memory_bytes"] > 0


def storage_rows(rows):
    """Rows of (id, text, tombstone) under the storage schema of PLAIN."""
    schema = pa.schema([
        pa.field("id", pa.int64(), nullable=False, metadata={**KEY, "lance:field_id": "0"}),
        pa.field("text", pa.string(), metadata={"lance:field_id": "1"}),
        pa.field("_tombstone", pa.bool_(), nullable=False),
    ])
    return pa.table([pa.array(column, kind) for column, kind in zip(zip(*rows), schema.types)], schema=schema)


def test_a_shard_made_by_us_opens_in_the_peer(tmp_path, peer, shard):
    uri = str(tmp_path / "ours.lance")
    peer.run("lance.write_dataset(base, uri).initialize_mem_wal(unsharded=True)", uri=uri,
             base=pa.table({"id": [1, 2], "text": ["base", "base"]}, schema=PLAIN))
    entries = [
        [(1, "first", False), (3, "first", False), (4, "first", False)],
        [(3, "second", False), (1, None, True)],
        [(5, "third", False), (4, None, True), (4, "back", False)],
    ]
    steps = []
    for number, rows in enumerate(entries):
        path = tmp_path / f"entry{number}"
        with pa.ipc.new_stream(path, storage_rows(rows).schema) as stream:
            stream.write_table(storage_rows(rows))
        steps += [path] if number != 1 else [path, "claim"]
    made = tool("make-shard", uri, shard, 1, *steps)
    assert [(step["epoch"], step["position"]) for step in made] == [(1, 1), (1, 2), (2, 3), (2, 4)]
    peer.run("w = lance.dataset(uri).mem_wal_writer(shard, max_wal_flush_interval_ms=5)", shard=shard)
    expected = {2: "base", 3: "second", 4: "back", 5: "third"}
    scan = "{row['id']: row['text'] for row in w.lsm_scanner().to_table().to_pylist()}"
    assert peer.value(scan) == expected
    assert tool("decode-manifest", manifest_file(uri, shard, 3), tmp_path / "again")["epoch"] == 3
    sentinel = tool("decode-entry", entry_file(uri, shard, 5), tmp_path / "rows", tmp_path / "again")
    assert sentinel["fence_sentinel"] and sentinel["writer_epoch"] == 3
    peer.run("w.put(rows); w.close()", rows=pa.table({"id": [6], "text": ["peer"]}, schema=PLAIN))
    peer.run("w = lance.dataset(uri).mem_wal_writer(shard)")
    assert peer.value(scan) == {**expected, 6: "peer"}


COLUMNS = {
    "bool": pa.array([True, False, None]),
    **{kind: pa.array([0, 1, -1, 42, -128, 127, None], kind) for kind in ("int8", "int16", "int32", "int64")},
    "int32 ends": pa.array([2**31 - 1, -2**31], "int32"),
    "int64 ends": pa.array([2**63 - 1, -2**63, 2**32, -2**32], "int64"),
    **{kind: pa.array([0, 1, 42, 200, 255, None], kind) for kind in ("uint8", "uint16", "uint32", "uint64")},
    "uint32 end": pa.array([2**32 - 1], "uint32"),
    "uint64 end": pa.array([2**64 - 1, 2**63], "uint64"),
    **{kind: pa.array([0.0, -0.0, 1.25, -3.5, float("nan"), float("inf"), float("-inf"), 1e30, None], kind)
       for kind in ("float32", "float64")},
    "date32": pa.array([datetime.date(1970, 1, 2), datetime.date(1960, 1, 1), datetime.date(2017, 11, 16), None]),
    **{f"timestamp {unit} {zone}": pa.array([0, 1, -1, 1510871468000, None], pa.timestamp(unit, zone))
       for unit in ("s", "ms", "us", "ns") for zone in (None, "UTC")},
    **{f"time32 {unit}": pa.array([0, 1, 81068, None], pa.time32(unit)) for unit in ("s", "ms")},
    **{f"time64 {unit}": pa.array([0, 1, 81068000000, None], pa.time64(unit)) for unit in ("us", "ns")},
    **{kind: pa.array(["", "a", "ab", "abc", "abcd", "abcde", "iceberg", "hello world", "héllo wörld", "日本語", "\x00", "\x7f\u0080", "x" * 1000, None],
                      kind) for kind in ("string", "large_string")},
}


@pytest.mark.parametrize("count", [1, 7, 16, 1024])
def test_bucket_hashes_are_those_of_the_peer(tmp_path, peer, count):
    peer.run("""
def buckets(column, count, path):
    ds = lance.write_dataset(pa.table({"c": column}).slice(0, 0), path)
    field = lance.mem_wal.ShardingField("bucket", [0], transform="bucket", result_type="int32", parameters={"num_buckets": str(count)})
    batch = pa.RecordBatch.from_arrays([column], ["c"])
    return lance.mem_wal.evaluate_sharding_spec(batch, lance.mem_wal.ShardingSpec(1, [field]), ds.lance_schema).column(0).to_pylist()
""")
    for number, (name, column) in enumerate(COLUMNS.items()):
        path = tmp_path / "column"
        with pa.ipc.new_stream(path, pa.schema([pa.field("c", column.type)])) as stream:
            stream.write_batch(pa.RecordBatch.from_arrays([column], ["c"]))
        theirs = peer.value("buckets(column, count, path)", column=column, count=count, path=str(tmp_path / f"t{number}.lance"))
        assert tool("buckets", count, path) == theirs, name


MODES = [
    {},
    {"unsharded": True},
    {"bucket_column": "id", "num_buckets": 1},
    {"bucket_column": "text", "num_buckets": 1024},
    {"identity_column": "text"},
    {"unsharded": True, "maintained_indexes": []},
    {"unsharded": True, "max_memtable_rows": 10, "manifest_scan_batch_size": 2},
    {"durable_write": False, "max_wal_flush_interval_ms": 0, "max_wal_buffer_size": 5, "max_memtable_size": 1000, "max_memtable_batches": 3,
     "max_unflushed_memtable_bytes": 50000, "manifest_scan_batch_size": 2, "backpressure_log_interval_ms": 7},
]


@pytest.mark.parametrize("options", MODES, ids=str)
def test_a_table_initialised_by_us_is_one_initialised_by_the_peer(tmp_path, peer, shard, options):
    import javelin

    base = pa.table({"id": [1, 2], "text": ["a", None]}, schema=PLAIN)
    details = []
    for name in ("theirs", "ours"):
        uri = str(tmp_path / f"{name}.lance")
        peer.run("ds = lance.write_dataset(base, uri)", base=base, uri=uri)
        if name == "theirs":
            peer.run("ds.initialize_mem_wal(**options)", options=options)
        else:
            javelin.dataset(uri).initialize_mem_wal(**options)
        details.append(peer.value("lance.dataset(uri).mem_wal_index_details()"))
    assert details[0] == details[1]
    # And the peer's writer takes it.
    peer.run("w = lance.dataset(uri).mem_wal_writer(shard, max_wal_flush_interval_ms=5); w.put(rows)", shard=shard,
             rows=pa.table({"id": [2, 3], "text": ["b", "c"]}, schema=PLAIN))
    assert peer.value("{row['id']: row['text'] for row in w.lsm_scanner().to_table().to_pylist()}") == {1: "a", 2: "b", 3: "c"}
    with pytest.raises(Exception, match="already initialized"):
        peer.run("lance.dataset(uri).initialize_mem_wal(unsharded=True)")
    with pytest.raises(Exception, match="already initialized"):
        javelin.dataset(uri).initialize_mem_wal(unsharded=True)
