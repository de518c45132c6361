"""Sharding specs, scans and lookups over SSTables, seals: the same table through both libraries.

Rows are compared as sets by key: the order in which either returns them is its own.
"""

import datetime
import random
import shutil
import uuid
from pathlib import Path

import pyarrow as pa
import pytest

import javelin
from javelin import mem_wal
from peer import PeerError

KEY = {"lance-schema:unenforced-primary-key": "true"}
SCHEMA = pa.schema([
    pa.field("id", pa.int64(), nullable=False, metadata=KEY),
    pa.field("text", pa.string()),
    pa.field("score", pa.float64()),
])

HELPERS = """
import os, lance.mem_wal as mem_wal
from lance.mem_wal import *

def spec_of(fields):
    return ShardingSpec(1, [ShardingField(**field) for field in fields])

def snapshot_of(shard, sstables):
    snapshot = ShardSnapshot(shard)
    for generation, path in sstables:
        snapshot.with_sstable(generation, path)
    return snapshot

def scanner(uri, sstables):
    return LsmScanner.from_snapshots(lance.dataset(uri), [snapshot_of(*each) for each in sstables])

def lookup(uri, sstables, value, columns=None, pk=None):
    planner = LsmPointLookupPlanner(lance.dataset(uri), [snapshot_of(*each) for each in sstables], pk)
    return planner.plan_lookup(value, columns).to_table()
"""


def rows(*keys, tag):
    return pa.table({"id": pa.array(keys, pa.int64()), "text": [f"{tag}{key}" for key in keys],
                     "score": [key / 2 for key in keys]}, schema=SCHEMA)


# ---- sharding ----

DAY = datetime.date(2017, 11, 16)
BATCH = pa.RecordBatch.from_arrays([
    pa.array([1, 2, 3, 34, 2**63 - 1]), pa.array(["a", None, "", "iceberg", "日本語"]), pa.array([True, None, False, True, False]),
    pa.array([1, None, -128, 127, 0], pa.int8()), pa.array([2**64 - 1, 0, 1, 2, None], pa.uint64()),
    pa.array(["x", "y", None, "x", "z"], pa.large_string()), pa.array([0.0, -0.0, float("nan"), None, 1.5]),
    pa.array([DAY, None, DAY, DAY, DAY]),
], schema=pa.schema([pa.field("id", pa.int64(), nullable=False), ("text", pa.string()), ("flag", pa.bool_()), ("tiny", pa.int8()),
                     ("big", pa.uint64()), ("large", pa.large_string()), ("share", pa.float64()), ("day", pa.date32())]))


def field(transform, source=None, name="bucket", **parameters):
    return {"field_id": name, "source_ids": [] if source is None else [source], "transform": transform, "expression": None,
            "result_type": "", "parameters": parameters}


GOOD = [
    *([field("identity", source)] for source in range(6)),
    *([field("bucket", source, num_buckets=count)] for source in range(8) for count in ("1", "16", "1024", "2147483647")),
    [field("bucket", 0, num_buckets="+16")],
    [field("bucket", 0, num_buckets="0016")],
    [field("unsharded")],
    [field("unsharded", 3)],
    [field("bucket", 0, num_buckets="16", column="text")],
    [field("bucket", 99, num_buckets="16", column="text")],
    [field("identity", 0, column="text")],
    [field("bucket", 0, "a", num_buckets="4"), field("identity", 1, "b"), field("unsharded", name="c"), field("bucket", 1, "d", num_buckets="7")],
]
BAD = [
    [field("year", 0)],
    [field("BUCKET", 0, num_buckets="4")],
    [field(None, 0)],
    [{**field(None, 0), "expression": "id + 1"}],
    [field("identity")],
    [field("identity", 99)],
    [field("bucket", num_buckets="4")],
    [field("bucket", 0)],
    *([field("bucket", 0, num_buckets=count)] for count in ("", "0", "-1", "x", " 4", "2147483648")),
    [field("bucket", 0, num_buckets="4", column="nope")],
    [],
]


@pytest.fixture
def both_schemas(tmp_path, peer):
    """The schema of one table in both libraries; the peer's is `schema` there."""
    uri = str(tmp_path / "t.lance")
    peer.run("schema = lance.write_dataset(base, uri).lance_schema", base=pa.table(BATCH.slice(0, 0)), uri=uri)
    return javelin.dataset(uri).lance_schema


def ours(fields, batch, schema):
    return mem_wal.evaluate_sharding_spec(batch, mem_wal.ShardingSpec(1, [mem_wal.ShardingField(**each) for each in fields]), schema)


def shapes(schema):
    return [(each.name, each.type) for each in schema]


def test_sharding_specs_give_the_same_columns(peer, both_schemas):
    for batch in (BATCH, BATCH.slice(1, 3), BATCH.slice(0, 0)):
        for fields in GOOD:
            theirs = peer.value("evaluate_sharding_spec(batch, spec_of(fields), schema)", batch=batch, fields=fields)
            found = ours(fields, batch, both_schemas)
            assert shapes(found.schema) == shapes(theirs.schema), fields
            assert all(one.equals(other) for one, other in zip(found.columns, theirs.columns)), fields
            for each, one, other in zip(fields, found.schema, theirs.schema):
                assert each["transform"] == "identity" or one.nullable == other.nullable is False, fields


def test_a_schema_does_not_hang_on_the_values(peer, both_schemas):
    fields = [field("identity", 1)]
    peer.run("fields = names", names=fields)
    for batch, theirs in ((BATCH, True), (BATCH.slice(2), False)):
        assert peer.value("evaluate_sharding_spec(batch, spec_of(fields), schema)", batch=batch).schema.field(0).nullable == theirs
        assert ours(fields, batch, both_schemas).schema.field(0).nullable


def test_sharding_specs_that_both_refuse(peer, both_schemas):
    for fields in BAD:
        with pytest.raises(PeerError, match="ValueError"):
            peer.run("evaluate_sharding_spec(batch, spec_of(fields), schema)", batch=BATCH, fields=fields)
        with pytest.raises(ValueError):
            ours(fields, BATCH, both_schemas)
    for missing in ("spec_id", "fields"):
        spec = {name: value for name, value in {"spec_id": 1, "fields": []}.items() if name != missing}
        with pytest.raises(PeerError, match=f"ValueError.*{missing}"):
            peer.run("evaluate_sharding_spec(batch, spec, schema)", batch=BATCH, spec=spec)
        with pytest.raises(ValueError, match=missing):
            mem_wal.evaluate_sharding_spec(BATCH, spec, both_schemas)


def test_sharding_specs_that_only_we_refuse(peer, both_schemas):
    for fields in ([{**field("identity", 0), "expression": "id + 1"}], [{**field("identity", 0), "source_ids": [0, 1]}],
                   [field("identity", 6)], [field("identity", 0), field("unsharded")]):
        peer.run("evaluate_sharding_spec(batch, spec_of(fields), schema)", batch=BATCH, fields=fields)
        with pytest.raises(javelin.errors.InvalidInput):
            ours(fields, BATCH, both_schemas)


def test_the_spec_that_a_table_stores_routes_alike(tmp_path, peer):
    for number, options in enumerate(({"bucket_column": "text", "num_buckets": 16}, {"identity_column": "text"}, {"unsharded": True})):
        uri = str(tmp_path / f"{number}.lance")
        javelin.write_dataset(rows(1, 2, tag="base"), uri).initialize_mem_wal(**options)
        table = javelin.dataset(uri)
        batch = rows(*range(50), tag="x").to_batches()[0]
        (spec,) = table.mem_wal_index_details()["sharding_specs"]
        peer.run("ds = lance.dataset(uri); spec = ds.mem_wal_index_details()['sharding_specs'][0]", uri=uri)
        theirs = peer.value("evaluate_sharding_spec(batch, spec, ds.lance_schema)", batch=batch)
        assert mem_wal.evaluate_sharding_spec(batch, spec, table.lance_schema).column(0).equals(theirs.column(0))


def test_nested_sources_work_here_only(tmp_path, peer):
    nested = pa.schema([("s", pa.struct([("x", pa.int32())]))])
    uri = str(tmp_path / "t.lance")
    batch = pa.RecordBatch.from_pylist([{"s": {"x": 1}}, {"s": None}, {"s": {"x": None}}], schema=nested)
    peer.run("schema = lance.write_dataset(pa.table(batch), uri).lance_schema", batch=batch, uri=uri)
    fields = [field("bucket", 1, num_buckets="16")]
    with pytest.raises(PeerError, match="not found in batch"):
        peer.run("evaluate_sharding_spec(batch, spec_of(fields), schema)", fields=fields)
    assert ours(fields, batch, javelin.dataset(uri).lance_schema)["bucket"].to_pylist() == [10, 0, 0]


# ---- scans and lookups ----


def make(uri, base=rows(1, 2, 3, 5, tag="base")):
    table = javelin.write_dataset(base, uri)
    table.initialize_mem_wal(unsharded=True)


def publish_here(uri, shard, put=(), delete=(), tag=""):
    with javelin.dataset(uri).mem_wal_writer(shard, commit_mode="eager") as writer:
        if put:
            writer.put(rows(*put, tag=tag))
        if delete:
            writer.delete(pa.table({"id": pa.array(delete, pa.int64())}))


def publish_there(peer, uri, shard, put=(), delete=(), tag=""):
    peer.run("""
with lance.dataset(uri).mem_wal_writer(shard, max_wal_flush_interval_ms=5) as w:
    if put: w.put(put)
    if delete: w.delete(delete)
""", uri=uri, shard=shard, put=rows(*put, tag=tag) if put else None, delete=pa.table({"id": pa.array(delete, pa.int64())}) if delete else None)


def sstables_of(uri, shard):
    folders = Path(uri, "_mem_wal", shard).glob("*_gen_*")
    return sorted((int(folder.name.rsplit("_", 1)[1]), folder.name) for folder in folders)


def snapshots(listed):
    found = []
    for shard, sstables in listed:
        snapshot = mem_wal.ShardSnapshot(shard)
        for generation, path in sstables:
            snapshot.with_sstable(generation, path)
        found.append(snapshot)
    return found


def our_scanner(uri, listed):
    return mem_wal.LsmScanner.from_snapshots(javelin.dataset(uri), snapshots(listed))


def by_id(table):
    found = {row["id"]: row for row in table.to_pylist()}
    assert len(found) == table.num_rows, "an id comes twice"
    return found


def assert_same_answers(peer, uri, listed, keys):
    """Every way to read, on both sides."""
    names = {"uri": uri, "sstables": listed}
    for code in ("", ".project(['text'])", ".project(['score', 'id'])", ".project([])", ".with_row_address()", ".with_memtable_gen()",
                 ".project(['text']).with_memtable_gen().with_row_address()"):
        theirs = peer.value(f"scanner(uri, sstables){code}.to_table()", **names)
        found = eval(f"scanner{code}.to_table()", {"scanner": our_scanner(uri, listed)})
        assert found.schema.equals(theirs.schema), code
        assert by_id(found) == by_id(theirs), code
    assert our_scanner(uri, listed).count_rows() == peer.value("scanner(uri, sstables).count_rows()", **names)
    for limit in ((0,), (2,), (2, 1), (None, 2), (9, 9)):
        here = our_scanner(uri, listed).limit(*limit)
        assert here.to_table().num_rows == here.count_rows() == peer.value("scanner(uri, sstables).limit(*limit).count_rows()", limit=limit)
    planner = mem_wal.LsmPointLookupPlanner(javelin.dataset(uri), snapshots(listed))
    for key in keys:
        for columns in (None, ["text"], []):
            value = pa.array([key], pa.int64())
            theirs = peer.value("lookup(uri, sstables, value, columns)", value=value, columns=columns, **names)
            found = planner.plan_lookup(value, columns).to_table()
            assert found.schema.equals(theirs.schema) and found.to_pylist() == theirs.to_pylist(), (key, columns)


def test_sstables_of_both_libraries_read_alike(tmp_path, peer, shard):
    uri, other = str(tmp_path / "t.lance"), str(uuid.uuid4())
    make(uri)
    publish_here(uri, shard, put=[2, 4], tag="ours")
    publish_there(peer, uri, shard, put=[2, 6], delete=[1], tag="theirs")
    publish_here(uri, shard, put=[1, 6, 6], delete=[4], tag="again")
    publish_there(peer, uri, other, put=[3, 7], delete=[8], tag="other")
    publish_here(uri, other, delete=[5])
    both = [(shard, sstables_of(uri, shard)), (other, sstables_of(uri, other))]
    assert [generation for generation, _ in both[0][1]] == [1, 2, 3] and len(both[1][1]) == 2
    for listed in ([], both[:1], both[1:], both, [(shard, both[0][1][:1])], [(shard, both[0][1][1:])]):
        assert_same_answers(peer, uri, listed, range(10))
    assert set(by_id(our_scanner(uri, both).to_table())) == {1, 2, 3, 6, 7}


@pytest.mark.parametrize("seed", range(3))
def test_random_shards_read_alike(tmp_path, peer, seed):
    random_ = random.Random(seed)
    uri = str(tmp_path / "t.lance")
    make(uri, rows(*range(12), tag="base"))
    shards = [str(uuid.UUID(int=random_.getrandbits(128))) for _ in range(2)]
    for step in range(6):
        which = random_.randrange(2)
        keys = range(which, 20, 2)  # a key belongs to one shard
        turn = {"put": random_.choices(keys, k=random_.randint(0, 5)), "delete": random_.sample(keys, k=random_.randint(1, 2)), "tag": f"s{step}-"}
        if random_.random() < 0.5:
            publish_here(uri, shards[which], **turn)
        else:
            publish_there(peer, uri, shards[which], **turn)
    assert_same_answers(peer, uri, [(shard, sstables_of(uri, shard)) for shard in shards if Path(uri, "_mem_wal", shard).exists()], range(20))


def test_keys_of_other_types_and_two_columns(tmp_path, peer, shard):
    uri = str(tmp_path / "t.lance")
    schema = pa.schema([
        pa.field("a", pa.int32(), nullable=False, metadata={**KEY, "lance-schema:unenforced-primary-key:position": "1"}),
        pa.field("b", pa.string(), nullable=False, metadata={**KEY, "lance-schema:unenforced-primary-key:position": "2"}),
        pa.field("v", pa.int64()),
    ])
    javelin.write_dataset(pa.table({"a": [1, 1, 2], "b": ["x", "y", "x"], "v": [1, 2, 3]}, schema=schema), uri).initialize_mem_wal(unsharded=True)
    with javelin.dataset(uri).mem_wal_writer(shard, commit_mode="eager") as writer:
        writer.put(pa.table({"a": [1, 9], "b": ["y", "z"], "v": [20, 90]}, schema=schema))
        writer.delete(pa.table({"a": pa.array([2], pa.int32()), "b": ["x"]}))
    listed = [(shard, sstables_of(uri, shard))]
    planner = mem_wal.LsmPointLookupPlanner(javelin.dataset(uri), snapshots(listed))
    types = pa.struct([("a", pa.int32()), ("b", pa.string())])
    swapped = pa.struct([("b", pa.string()), ("a", pa.int64())])
    for value in (*(pa.array([{"a": a, "b": b}], types) for a, b in ((1, "x"), (1, "y"), (2, "x"), (9, "z"), (9, "x"))),
                  pa.array([{"a": 1, "b": "y"}], swapped)):
        for columns in (None, ["v"], ["b", "v"]):
            theirs = peer.value("lookup(uri, sstables, value, columns)", uri=uri, sstables=listed, value=value, columns=columns)
            found = planner.plan_lookup(value, columns).to_table()
            assert found.schema.equals(theirs.schema) and found.to_pylist() == theirs.to_pylist()
    theirs = peer.value("scanner(uri, sstables).project(['v']).to_table()", uri=uri, sstables=listed)
    found = our_scanner(uri, listed).project(["v"]).to_table()
    assert found.schema.equals(theirs.schema) and sorted(found["v"].to_pylist()) == sorted(theirs["v"].to_pylist()) == [1, 20, 90]


def test_values_that_both_cast_and_arguments_that_both_refuse(tmp_path, peer, shard):
    uri = str(tmp_path / "t.lance")
    make(uri)
    publish_here(uri, shard, put=[2], tag="new")
    listed = [(shard, sstables_of(uri, shard))]
    planner = mem_wal.LsmPointLookupPlanner(javelin.dataset(uri), snapshots(listed))
    for value in (pa.array([2], pa.int8()), pa.array(["2"]), pa.array([None], pa.int64()), pa.array([2], pa.uint64())):
        theirs = peer.value("lookup(uri, sstables, value)", uri=uri, sstables=listed, value=value)
        assert planner.plan_lookup(value).to_table().to_pylist() == theirs.to_pylist()
    for value, columns in ((pa.array([1, 2]), None), (pa.array([], pa.int64()), None), (pa.array([{"id": 2}]), None), (pa.array([2]), ["nope"])):
        with pytest.raises(PeerError, match="ValueError|OSError"):
            peer.run("lookup(uri, sstables, value, columns)", value=value, columns=columns)
        with pytest.raises((ValueError, OSError)):
            planner.plan_lookup(value, columns)


def test_a_writer_reads_alike(tmp_path, peer, shard):
    uri, other = str(tmp_path / "t.lance"), str(uuid.uuid4())
    make(uri)
    publish_here(uri, shard, put=[2, 4], delete=[1], tag="flushed")
    publish_there(peer, uri, other, put=[3], tag="other")
    listed = [(other, sstables_of(uri, other))]
    with javelin.dataset(uri).mem_wal_writer(shard, commit_mode="eager") as writer:
        writer.put(rows(4, 9, tag="memory"))
        here = [by_id(writer.lsm_scanner().to_table()), by_id(writer.lsm_scanner(snapshots(listed)).to_table())]
        writer._abort()  # the rows stay in the log, and the peer replays them
    peer.run("w = lance.dataset(uri).mem_wal_writer(shard, max_wal_flush_interval_ms=5)", uri=uri, shard=shard)
    there = [by_id(peer.value("w.lsm_scanner().to_table()")),
             by_id(peer.value("w.lsm_scanner([snapshot_of(*each) for each in sstables]).to_table()", sstables=listed))]
    assert here == there and {key: row["text"] for key, row in here[1].items()} == {
        2: "flushed2", 3: "other3", 4: "memory4", 5: "base5", 9: "memory9"
    }


# ---- where we differ on purpose ----


def compact(peer, uri, shard, generation, merged):
    """What a compactor of the peer does: the rows go into the base, with a mark."""
    peer.run("""
(lance.dataset(uri).merge_insert("id").when_matched_update_all().when_not_matched_insert_all()
    .mark_sstables_as_compacted([CompactedSsTable(shard, generation)]).execute(merged))
""", uri=uri, shard=shard, generation=generation, merged=merged)


def test_p1_compacted_sstables_do_not_hide_newer_base_rows(tmp_path, peer, shard):
    uri = str(tmp_path / "t.lance")
    make(uri)
    publish_here(uri, shard, put=[2, 4], tag="gen1-")
    publish_here(uri, shard, put=[5], tag="gen2-")
    compact(peer, uri, shard, 1, rows(2, 4, tag="gen1-"))
    peer.run("lance.dataset(uri).merge_insert('id').when_matched_update_all().execute(newer)", uri=uri, newer=rows(2, tag="newer"))
    listed = [(shard, sstables_of(uri, shard))]
    right = {1: "base1", 2: "newer2", 3: "base3", 4: "gen1-4", 5: "gen2-5"}
    assert {key: row["text"] for key, row in by_id(our_scanner(uri, listed).to_table()).items()} == right
    assert our_scanner(uri, listed).count_rows() == 5
    planner = mem_wal.LsmPointLookupPlanner(javelin.dataset(uri), snapshots(listed))
    for key, text in right.items():
        plan = planner.plan_lookup(pa.array([key]))
        assert plan.to_table()["text"].to_pylist() == [text]
        assert "generation 2" in plan.explain() and "generation 1" not in plan.explain()
    with javelin.dataset(uri).mem_wal_writer(shard) as writer:
        assert {key: row["text"] for key, row in by_id(writer.lsm_scanner().to_table()).items()} == right
    # The peer reads the old row.
    assert by_id(peer.value("scanner(uri, sstables).to_table()", uri=uri, sstables=listed))[2]["text"] == "gen1-2"


OTHER_KEYS = {
    "uint64": [(pa.uint64(), lambda n: 2**63 + n)],
    "int8": [(pa.int8(), lambda n: n - 50)],
    "large_utf8": [(pa.large_string(), lambda n: f"key {n}")],
    "bool": [(pa.bool_(), lambda n: n == 1)],
    "uint16 and large_utf8": [(pa.uint16(), lambda n: n // 10), (pa.large_string(), lambda n: f"b{n % 10}")],
}


@pytest.mark.parametrize("name", OTHER_KEYS)
def test_p5_a_filter_that_knows_no_key_hides_none(tmp_path, peer, shard, name):
    columns, uri, count = OTHER_KEYS[name], str(tmp_path / "t.lance"), 2 if name == "bool" else 100
    schema = pa.schema([*(pa.field(f"k{place}", type, nullable=False, metadata={**KEY, "lance-schema:unenforced-primary-key:position": str(place)})
                          for place, (type, _) in enumerate(columns, 1)), pa.field("n", pa.int64())])
    table = pa.Table.from_arrays([*(pa.array([make(n) for n in range(count)], type) for type, make in columns), pa.array(range(count))],
                                 schema=schema)
    javelin.write_dataset(table.slice(0, 0), uri).initialize_mem_wal(unsharded=True)
    peer.run("with lance.dataset(uri).mem_wal_writer(shard, max_wal_flush_interval_ms=5) as w: w.put(table)", uri=uri, shard=shard, table=table)
    (sstable,) = Path(uri, "_mem_wal", shard).glob("*_gen_1")
    assert sum(map(int.bit_count, (sstable / "bloom_filter.bin").read_bytes())) <= 8, "the peer's filter holds one entry for all keys"
    view = javelin.dataset(uri).fresh()
    assert view.get(table.drop(["n"]))["n"].to_pylist() == list(range(count))
    assert sorted(view.to_table()["n"].to_pylist()) == list(range(count))


HASHED_KEYS = {
    "int32": [(pa.int32(), lambda n: (n * 7919) % 20011 - 9000)],
    "int64": [(pa.int64(), lambda n: (n - 900) * 10**12 + n)],
    "string": [(pa.string(), lambda n: ["", "é", "\0", "a\0"][n % 4] + str(n))],
    "binary": [(pa.binary(), lambda n: n.to_bytes(3, "little"))],
    "binary, string, int32": [(pa.binary(), lambda n: bytes([n % 3])), (pa.string(), lambda n: f"{n}\0"[: 1 + n % 6]), (pa.int32(), lambda n: n)],
}


@pytest.mark.parametrize("name", HASHED_KEYS)
def test_the_peers_filters_hide_no_key(tmp_path, peer, shard, name):
    columns, uri, each = HASHED_KEYS[name], str(tmp_path / "t.lance"), 600
    schema = pa.schema([*(pa.field(f"k{place}", type, nullable=False, metadata={**KEY, "lance-schema:unenforced-primary-key:position": str(place)})
                          for place, (type, _) in enumerate(columns, 1)), pa.field("n", pa.int64()), pa.field("filling", pa.string())])
    chance = random.Random(3)
    filling = [chance.randbytes(100).hex() for _ in range(3 * each)]  # makes it large enough for its filter to be asked
    table = pa.Table.from_arrays([*(pa.array([make(n) for n in range(3 * each)], type) for type, make in columns), pa.array(range(3 * each)),
                                  pa.array(filling)], schema=schema)
    javelin.write_dataset(table.slice(0, 0), uri).initialize_mem_wal(unsharded=True)
    for generation in range(3):
        peer.run("with lance.dataset(uri).mem_wal_writer(shard, max_wal_flush_interval_ms=5) as w: w.put(table)", uri=uri, shard=shard,
                 table=table.slice(generation * each, each))

    def found(numbers):
        view = javelin.dataset(uri, session=javelin.Session()).fresh()
        return sorted(view.get(table.take(numbers).drop(["n", "filling"]))["n"].to_pylist())

    for first in range(0, 3 * each, 10):  # few enough at once to ask the filters
        numbers = list(range(first, first + 10))
        assert found(numbers) == numbers
    oldest, newest = (next(Path(uri, "_mem_wal", shard).glob(f"*_gen_{generation}")) for generation in (1, 3))
    (oldest / "bloom_filter.bin").write_bytes((newest / "bloom_filter.bin").read_bytes())
    assert found([1, each + 1]) == [each + 1], "it was asked"


def test_p16_a_mark_on_what_was_never_flushed_is_seen(tmp_path, peer, shard):
    uri = str(tmp_path / "t.lance")
    make(uri)
    publish_here(uri, shard, put=[2, 4], tag="gen1-")
    compact(peer, uri, shard, 9, rows(2, tag="gen1-"))
    with pytest.raises(javelin.errors.Corruption, match="generation 9"):
        javelin.dataset(uri).compact_shards()
    with pytest.raises(javelin.errors.Corruption, match="generation 2 was never flushed"):
        javelin.dataset(uri).fresh()


def test_p18_a_compacted_sstable_may_be_gone(tmp_path, peer, shard):
    uri = str(tmp_path / "t.lance")
    make(uri)
    publish_here(uri, shard, put=[2, 4], tag="gen1-")
    publish_here(uri, shard, put=[5], tag="gen2-")
    listed = [(shard, sstables_of(uri, shard))]
    compact(peer, uri, shard, 1, rows(2, 4, tag="gen1-"))
    shutil.rmtree(Path(uri, "_mem_wal", shard, listed[0][1][0][1]))
    assert set(by_id(our_scanner(uri, listed).to_table())) == {1, 2, 3, 4, 5}
    assert mem_wal.LsmPointLookupPlanner(javelin.dataset(uri), snapshots(listed)).plan_lookup(pa.array([4])).to_table().num_rows == 1
    with pytest.raises(PeerError, match="not found"):
        peer.run("scanner(uri, sstables).to_table()", uri=uri, sstables=listed)


def test_p19_tables_without_a_key_are_scanned(tmp_path, peer, shard):
    uri = str(tmp_path / "t.lance")
    plain = pa.schema([("id", pa.int64()), ("text", pa.string())])
    javelin.write_dataset(pa.table({"id": [1, 2], "text": ["a", "b"]}, schema=plain), uri).initialize_mem_wal(unsharded=True)
    peer.run("""
with lance.dataset(uri).mem_wal_writer(shard, max_wal_flush_interval_ms=5) as w:
    w.put(put)
""", uri=uri, shard=shard, put=pa.table({"id": [2, 3], "text": ["c", "d"]}, schema=plain))
    listed = [(shard, sstables_of(uri, shard))]
    assert sorted(our_scanner(uri, listed).to_table()["text"].to_pylist()) == ["a", "b", "c", "d"]
    with pytest.raises(PeerError, match="no primary key"):
        peer.run("scanner(uri, sstables).to_table()", uri=uri, sstables=listed)


def test_p20_generations_that_make_no_sense(tmp_path, peer, shard):
    uri = str(tmp_path / "t.lance")
    make(uri)
    publish_here(uri, shard, put=[2, 4], tag="gen1-")
    folder = sstables_of(uri, shard)[0][1]
    with pytest.raises(javelin.errors.InvalidInput):
        mem_wal.ShardSnapshot(shard).with_sstable(0, folder)
    with pytest.raises(javelin.errors.InvalidInput):
        our_scanner(uri, [(shard, [(1, folder), (1, folder)])])
    with pytest.raises(PeerError, match="PanicException"):
        peer.run("scanner(uri, sstables).to_table()", uri=uri, sstables=[(shard, [(0, folder)])])
    # Rows of an SSTable that is listed twice vanish there.
    assert set(by_id(peer.value("scanner(uri, sstables).to_table()", sstables=[(shard, [(1, folder), (1, folder)])]))) == {1, 3, 5}


def test_a_plan_that_runs_twice_answers_twice(tmp_path, peer, shard):
    uri = str(tmp_path / "t.lance")
    make(uri)
    publish_here(uri, shard, put=[2], tag="new")
    listed = [(shard, sstables_of(uri, shard))]
    plan = mem_wal.LsmPointLookupPlanner(javelin.dataset(uri), snapshots(listed)).plan_lookup(pa.array([2]))
    assert [plan.to_table()["text"].to_pylist() for _ in range(2)] == [["new2"], ["new2"]]
    peer.run("plan = LsmPointLookupPlanner(lance.dataset(uri), [snapshot_of(*each) for each in sstables]).plan_lookup(pa.array([2]))",
             uri=uri, sstables=listed)
    assert [peer.value("plan.to_table()['text'].to_pylist()") for _ in range(2)] == [["new2"], ["base2"]]


# ---- sealing ----


def test_our_seal_stops_the_peer(tmp_path, peer, shard):
    uri = str(tmp_path / "t.lance")
    make(uri)
    peer.run("w = lance.dataset(uri).mem_wal_writer(shard, max_wal_flush_interval_ms=5); w.put(put)", uri=uri, shard=shard, put=rows(9, tag="before"))
    assert javelin.dataset(uri).seal_shard(shard)["status"] == "sealed"
    with pytest.raises(PeerError, match="[Ff]enced|epoch"):
        peer.run("w.put(put)", put=rows(10, tag="after"))
    with pytest.raises(PeerError, match="sealed"):
        peer.run("lance.dataset(uri).mem_wal_writer(shard)")
    javelin.dataset(uri).unseal_shard(shard)
    peer.run("w = lance.dataset(uri).mem_wal_writer(shard, max_wal_flush_interval_ms=5)")
    found = by_id(peer.value("w.lsm_scanner().to_table()"))
    assert found[9]["text"] == "before9" and 10 not in found
