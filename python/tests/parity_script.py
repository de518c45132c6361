"""A program over covered names only. Runs under the released package and under ours: python parity_script.py lance|javelin FOLDER.

Prints one JSON object: what each step answered. Row order of LSM scans, times and texts of errors are not part of it.
"""

import importlib
import json
import sys
import uuid

import pyarrow as pa

lance = importlib.import_module(sys.argv[1])
mem_wal = importlib.import_module(sys.argv[1] + ".mem_wal")
folder = sys.argv[2]

KEY = {"lance-schema:unenforced-primary-key": "true"}
SCHEMA = pa.schema([
    pa.field("id", pa.int64(), nullable=False, metadata=KEY),
    pa.field("text", pa.string()),
    pa.field("score", pa.float64()),
])
answers = {}


def rows(ids, text):
    return pa.table({"id": ids, "text": [f"{text} {i}" for i in ids], "score": [i / 2 for i in ids]}, schema=SCHEMA)


def plain(value):
    if isinstance(value, (pa.Table, pa.RecordBatch)):
        return {"schema": value.schema.to_string(), "rows": value.to_pylist()}
    if isinstance(value, pa.Schema):
        return value.to_string()
    return value


def note(name, work):
    """The answer of `work`, or the built-in classes of what it raised."""
    try:
        answers[name] = plain(work())
    except Exception as error:
        built_in = [c.__name__ for c in (OSError, ValueError, TypeError, RuntimeError, NotImplementedError) if isinstance(error, c)]
        answers[name] = {"raised": built_in}


def sorted_rows(table):
    return {"schema": table.schema.to_string(), "rows": sorted(table.to_pylist(), key=lambda row: row["id"])}


def tables():
    uri = f"{folder}/t.lance"
    note("open missing", lambda: lance.dataset(uri))
    note("append missing", lambda: lance.write_dataset(rows([1], "a"), f"{folder}/new.lance", mode="append").version)
    ds = lance.write_dataset(rows(range(10), "a"), uri, max_rows_per_file=4)
    note("create existing", lambda: lance.write_dataset(rows([1], "a"), uri))
    note("bad mode", lambda: lance.write_dataset(rows([1], "a"), uri, mode="bogus"))
    note("bad file version", lambda: lance.write_dataset(rows([1], "a"), f"{folder}/v.lance", data_storage_version="9.9"))
    note("bad schema", lambda: lance.write_dataset(pa.table({"x": [1]}), uri, mode="append"))
    note("null key", lambda: lance.write_dataset(pa.table({"id": pa.array([None], pa.int64())}), uri, mode="append"))
    note("no rows, no schema", lambda: lance.write_dataset([], f"{folder}/e.lance"))
    note("no data", lambda: lance.write_dataset(42, f"{folder}/e.lance"))
    note("no uri", lambda: lance.write_dataset(rows([1], "a"), 42))
    note("itself", lambda: [ds.version, ds.latest_version, ds.count_rows(), len(ds), ds.uri == uri, ds.data_storage_version])
    note("schema", lambda: ds.schema)
    note("to_table", ds.to_table)
    note("columns", lambda: ds.to_table(columns=["text", "id"]))
    note("limit", lambda: ds.to_table(columns=["id"], limit=3, offset=5))
    note("past the end", lambda: ds.to_table(offset=50))
    note("nothing", lambda: ds.to_table(limit=0))
    note("row ids", lambda: ds.to_table(columns=["id"], with_row_id=True, with_row_address=True))
    note("unknown column", lambda: ds.to_table(columns=["nope"]))
    note("column twice", lambda: ds.to_table(columns=["id", "id"]))
    note("columns no list", lambda: ds.to_table(columns="id"))
    note("negative limit", lambda: ds.to_table(limit=-1))
    note("negative offset", lambda: ds.to_table(offset=-1))
    note("batch size 0", lambda: ds.to_table(batch_size=0))
    note("batches", lambda: pa.Table.from_batches(ds.to_batches(columns=["id"], batch_size=3)))
    note("small batches", lambda: all(batch.num_rows <= 3 for batch in ds.to_batches(batch_size=3)))
    note("head", lambda: ds.head(2, columns=["text"]))
    note("take", lambda: ds.take([7, 0, 7], columns=["id"]))
    note("take array", lambda: ds.take(pa.array([3])))
    note("take nothing", lambda: ds.take([]))
    note("take past the end", lambda: ds.take([100]))
    scanner = ds.scanner(columns=["text"], with_row_id=True)
    note("scanner", lambda: [plain(scanner.projected_schema), plain(scanner.dataset_schema), scanner.count_rows()])
    note("scanner rows", scanner.to_table)
    note("scanner reader", lambda: scanner.to_reader().read_all())
    versions(ds, uri)


def without_size(version):
    """An entry of versions() but for its time and the bytes of the files, which each library encodes in its own way."""
    size = version["metadata"].pop("total_files_size")
    return [sorted(version), int(size) > 0, version["metadata"]]


def versions(ds, uri):
    note("insert", lambda: ds.insert(rows([50], "b")))
    note("after insert", lambda: [ds.version, ds.count_rows()])
    note("list of dicts", lambda: ds.insert([{"id": 51, "text": "x", "score": 0.5}]))
    note("left out column", lambda: ds.insert(rows([52], "b").select(["id"])))
    note("left out reads null", lambda: ds.take([12]))
    note("overwrite", lambda: lance.write_dataset(rows([9], "c"), uri, mode="overwrite").version)
    note("old version", lambda: [lance.dataset(uri, version=1).count_rows(), ds.checkout_version(2).count_rows()])
    note("missing version", lambda: lance.dataset(uri, version=99))
    note("checkout of a missing version", lambda: ds.checkout_version(99))
    note("latest", lambda: [ds.checkout_latest(), ds.version])
    note("versions", lambda: [entry["version"] for entry in ds.versions()])
    note("what versions hold", lambda: [without_size(entry) for entry in ds.versions()])
    note("insert past an append", lambda: [(old := ds.checkout_version(5)).insert(rows([77], "d")), old.version])
    note("insert past an overwrite", lambda: ds.checkout_version(1).insert(rows([77], "d")))
    note("overwrite past an append", lambda: lance.write_dataset(rows([5], "e"), ds, mode="overwrite").version)
    note("overwrite past an overwrite", lambda: lance.write_dataset(rows([5], "e"), ds, mode="overwrite").version)
    note("create through a dataset", lambda: lance.write_dataset(rows([5], "e"), ds, mode="create").version)


def shards():
    ds = lance.write_dataset(rows([1, 2, 3], "base"), f"{folder}/m.lance")
    shard = str(uuid.UUID(int=1))
    note("no details", ds.mem_wal_index_details)
    note("no MemWAL", lambda: ds.mem_wal_writer(shard))
    for name, options in {
        "two modes": dict(unsharded=True, identity_column="id"),
        "half a bucket": dict(bucket_column="id"),
        "no buckets": dict(bucket_column="id", num_buckets=0),
        "no such column": dict(identity_column="nope"),
        "no such index": dict(maintained_indexes=["nope"]),
    }.items():
        note(name, lambda: ds.initialize_mem_wal(**options))
    note("initialize", lambda: [ds.initialize_mem_wal(unsharded=True), ds.version])
    note("again", lambda: ds.initialize_mem_wal(unsharded=True))
    note("details", ds.mem_wal_index_details)
    note("bad shard id", lambda: ds.mem_wal_writer("nope"))
    note("no shard id", lambda: ds.mem_wal_writer(7))
    note("durable without ticks", lambda: ds.mem_wal_writer(shard, max_wal_flush_interval_ms=0))
    note("no memtable", lambda: ds.mem_wal_writer(shard, max_memtable_size=0))
    note("ceiling too low", lambda: ds.mem_wal_writer(shard, max_unflushed_memtable_bytes=5))
    writer = ds.mem_wal_writer(shard, max_wal_flush_interval_ms=5)
    puts(writer)
    reads(writer)
    note("fencing", lambda: fencing(ds, shard, writer))
    closed(ds, shard)
    for name, options in {"bucket": dict(bucket_column="id", num_buckets=4), "identity": dict(identity_column="id"), "manual": {},
                          "no indexes": dict(maintained_indexes=[])}.items():
        other = lance.write_dataset(rows([1], "x"), f"{folder}/{name}.lance")
        note(f"details {name}", lambda: [other.initialize_mem_wal(**options), other.mem_wal_index_details()])


def puts(writer):
    note("put", lambda: writer.put(rows([2, 4], "new")))
    note("put nothing", lambda: writer.put(rows([], "new")))
    note("put dicts", lambda: writer.put([{"id": 7, "text": "x", "score": 1.0}]))
    note("put columns", lambda: writer.put({"id": [8], "text": ["x"], "score": [1.0]}))
    note("put batches", lambda: writer.put(iter(rows([9], "new").to_batches()), schema=SCHEMA))
    note("put a number", lambda: writer.put(42))
    for name, table in {
        "reordered": rows([5], "bad").select(["text", "id", "score"]),
        "missing": rows([5], "bad").select(["id", "text"]),
        "extra": rows([5], "bad").append_column("more", pa.array([1])),
        "other type": pa.table({"id": pa.array([5], pa.int32()), "text": ["x"], "score": [1.0]}),
        "null key": pa.table({"id": pa.array([None], pa.int64()), "text": ["x"], "score": [1.0]}),
    }.items():
        note(f"put {name}", lambda: writer.put(table))
    note("delete", lambda: writer.delete(pa.table({"id": [1]})))
    note("delete without key", lambda: writer.delete(pa.table({"text": ["x"]})))
    note("delete other type", lambda: writer.delete(pa.table({"id": pa.array([1], pa.int32())})))
    note("delete null", lambda: writer.delete(pa.table({"id": pa.array([None], pa.int64())})))


def reads(writer):
    note("lsm rows", lambda: sorted_rows(writer.lsm_scanner().to_table()))
    note("lsm columns", lambda: sorted_rows(writer.lsm_scanner().project(["text"]).to_table()))
    note("lsm limit", lambda: writer.lsm_scanner().limit(2, 1).to_table().num_rows)
    note("lsm count", lambda: [writer.lsm_scanner().count_rows(), writer.lsm_scanner().limit(2).count_rows()])
    note("lsm batches", lambda: sum(batch.num_rows for batch in writer.lsm_scanner().to_batches()))
    note("lsm batch", lambda: writer.lsm_scanner().to_batch().num_rows)
    note("lsm unknown column", lambda: writer.lsm_scanner().project(["nope"]).to_table())
    stats, memtable = writer.stats(), writer.memtable_stats()
    note("put count", lambda: [stats["put_count"], stats["memtable_flush_count"], memtable["row_count"], memtable["batch_count"]])
    note("positions", lambda: [memtable["generation"], memtable["max_buffered_batch_position"], memtable["durable_batch_count"],
                               memtable["pending_wal_start_batch_position"], memtable["pending_wal_batch_count"]])
    note("shard id", lambda: writer.shard_id)
    note("put batches without schema", lambda: writer.put(iter(rows([9], "new").to_batches())))


def fencing(ds, shard, writer):
    with ds.mem_wal_writer(shard, max_wal_flush_interval_ms=5) as second:
        note("fenced put", lambda: writer.put(rows([20], "late")))
        note("fenced put again", lambda: writer.put(rows([21], "late")))
        note("fenced scan", lambda: writer.lsm_scanner().to_table())
        note("replayed", lambda: sorted_rows(second.lsm_scanner().to_table()))


def closed(ds, shard):
    writer = ds.mem_wal_writer(shard)
    note("close", lambda: [writer.close(), writer.close()])
    note("closed put", lambda: writer.put(rows([30], "late")))
    note("closed delete", lambda: writer.delete(pa.table({"id": [1]})))
    note("closed scan", lambda: writer.lsm_scanner().to_table())
    note("closed statistics", lambda: writer.stats()["put_count"])


tables()
shards()
print(json.dumps(answers))
