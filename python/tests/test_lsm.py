"""Scans and lookups over a table and SSTables of its shards."""

import pathlib
import shutil
import uuid

import pyarrow as pa
import pytest
from support import KEY, SCHEMA, ids_of, rows

import javelin
from javelin.mem_wal import CompactedSsTable, LsmPointLookupPlanner, LsmScanner, ShardSnapshot


def publish(table, shard, *steps):
    """One SSTable per step, each a function of a writer; the snapshot of the shard as its manifest lists it."""
    for step in steps:
        with table.mem_wal_writer(shard, commit_mode="eager") as writer:
            step(writer)
    manifest = writer.refresh_manifest()
    snapshot = ShardSnapshot(shard).with_current_generation(manifest["current_generation"])
    for sstable in manifest["sstables"]:
        snapshot.with_sstable(sstable["generation"], sstable["path"])
    return snapshot


@pytest.fixture
def snapshot(table, shard):
    """Base 1, 2, 3; generation 1 replaces 2 and adds 4; generation 2 replaces 2 again and deletes 1."""

    def second(writer):
        writer.put(rows([2], "second"))
        writer.delete(pa.table({"id": [1]}))

    return publish(table, shard, lambda writer: writer.put(rows([2, 4], "first")), second)


def as_dict(table):
    found = table.to_pylist()
    by_id = {row["id"]: row["text"] for row in found}
    assert len(by_id) == len(found), "an id comes twice"
    return by_id


EXPECTED = {2: "second 2", 3: "base 3", 4: "first 4"}


def test_scan_of_snapshots(table, snapshot):
    scanner = LsmScanner.from_snapshots(table, [snapshot])
    assert as_dict(scanner.to_table()) == EXPECTED and scanner.to_table().schema == SCHEMA
    assert as_dict(pa.table(scanner)) == EXPECTED
    assert scanner.to_batch().num_rows == 3 and sum(batch.num_rows for batch in scanner.to_batches()) == 3
    assert scanner.count_rows() == 3
    assert scanner.project(["text"]).to_table().schema.names == ["text", "id"]
    assert scanner.project([]).limit(1).to_table().schema.names == ["id"]
    assert scanner.count_rows() == 1 and scanner.limit(5, 2).count_rows() == 1
    first, rest = scanner.limit(1).to_table(), scanner.limit(None, 1).to_table()
    assert sorted(ids_of(first) + ids_of(rest)) == [2, 3, 4]
    with_address = scanner.project(["id"]).limit().with_row_address().to_table()
    assert with_address.schema.names == ["id", "_rowaddr"]
    assert {row["id"]: row["_rowaddr"] for row in with_address.to_pylist()} == {2: None, 4: None, 3: 2}
    with_generation = LsmScanner.from_snapshots(table, [snapshot]).with_memtable_gen().with_row_address().project(["id"])
    assert with_generation.to_table().schema.field("_memtable_gen") == pa.field("_memtable_gen", pa.uint64(), False)
    assert with_generation.to_table().schema.names == ["id", "_rowaddr", "_memtable_gen"]
    assert {row["id"]: row["_memtable_gen"] for row in with_generation.to_table().to_pylist()} == {2: 2, 4: 1, 3: 0}
    assert with_generation.limit(1, 1).to_table().num_rows == 1
    assert LsmScanner.from_snapshots(table, []).with_memtable_gen().to_table()["_memtable_gen"].to_pylist() == [0, 0, 0]
    assert as_dict(LsmScanner.from_snapshots(table, []).to_table()) == {1: "base 1", 2: "base 2", 3: "base 3"}


def test_a_snapshot_may_leave_out_and_mix_up_generations(table, snapshot, shard):
    (one, first), (two, second) = snapshot._listed()[1]
    assert (one, two) == (1, 2)
    only_first = ShardSnapshot(shard).with_sstable(1, first)
    assert as_dict(LsmScanner.from_snapshots(table, [only_first]).to_table()) == {
        1: "base 1", 2: "first 2", 3: "base 3", 4: "first 4"
    }
    mixed = ShardSnapshot(shard).with_sstable(2, second).with_sstable(1, first)
    assert as_dict(LsmScanner.from_snapshots(table, [mixed]).to_table()) == EXPECTED


def test_a_scanner_keeps_the_snapshot_it_was_given(table, snapshot, shard):
    (_, (_, (two, second))) = snapshot._listed()
    growing = ShardSnapshot(shard)
    scanner = LsmScanner.from_snapshots(table, [growing])
    growing.with_sstable(two, second)
    assert as_dict(scanner.to_table()) == {1: "base 1", 2: "base 2", 3: "base 3"}


def test_snapshots_that_make_no_sense(table, snapshot, shard):
    folder = snapshot._listed()[1][0][1]
    with pytest.raises(javelin.errors.InvalidInput, match="generation must be at least 1"):
        ShardSnapshot(shard).with_sstable(0, folder)
    for snapshots, word in (
        ([ShardSnapshot(shard).with_sstable(1, folder).with_sstable(1, folder)], "twice"),
        ([snapshot, snapshot], "twice"),
        ([ShardSnapshot(shard).with_sstable(1, "../" + folder)], "folder"),
        ([ShardSnapshot(shard).with_sstable(1, "")], "folder"),
    ):
        with pytest.raises(javelin.errors.InvalidInput, match=word):
            LsmScanner.from_snapshots(table, snapshots)
        with pytest.raises(javelin.errors.InvalidInput, match=word):
            LsmPointLookupPlanner(table, snapshots)
    for text in ("x", "", "1234"):
        with pytest.raises(javelin.errors.InvalidInput, match="UUID"):
            ShardSnapshot(text)
    for call in (lambda: ShardSnapshot(5), lambda: ShardSnapshot(shard).with_sstable("1", folder), lambda: ShardSnapshot(shard).with_sstable(1, 5),
                 lambda: LsmScanner.from_snapshots(table, [shard]), lambda: ShardSnapshot(shard).with_spec_id("1")):
        with pytest.raises(TypeError):
            call()
    for call in (lambda: ShardSnapshot(shard).with_sstable(-1, folder), lambda: ShardSnapshot(shard).with_spec_id(2**32),
                 lambda: ShardSnapshot(shard).with_current_generation(-1)):
        with pytest.raises(javelin.errors.InvalidInput):
            call()


def test_snapshot_values(shard):
    snapshot = ShardSnapshot(shard.upper().replace("-", ""))
    assert snapshot.shard_id == shard
    assert snapshot.with_spec_id(1) is snapshot and snapshot.with_current_generation(2) is snapshot
    assert shard in repr(snapshot.with_sstable(1, "x")) and "sstables=1" in repr(snapshot)
    assert CompactedSsTable(shard, 1) == CompactedSsTable(shard_id=shard, generation=1) != CompactedSsTable(shard, 2)


def test_an_sstable_that_is_gone(table, snapshot, uri, shard):
    scanner = LsmScanner.from_snapshots(table, [snapshot])
    plan = LsmPointLookupPlanner(table, [snapshot]).plan_lookup(pa.array([3], pa.int64()))
    shutil.rmtree(pathlib.Path(uri, "_mem_wal", shard, snapshot._listed()[1][0][1]))
    again = javelin.dataset(uri, session=javelin.Session())
    with pytest.raises(javelin.errors.NotFound):
        LsmScanner.from_snapshots(again, [snapshot]).to_table()
    for run in (scanner.to_table, plan.to_table):
        try:
            run()  # what is open already may be read on
        except javelin.errors.NotFound:
            pass


def test_without_a_key_everything_is_scanned(uri, shard):
    plain = pa.schema([("id", pa.int64()), ("text", pa.string())])
    table = javelin.write_dataset(rows([1, 2], "base").cast(plain), uri)
    table.initialize_mem_wal(unsharded=True)
    snapshot = publish(table, shard, lambda writer: writer.put(rows([2, 3], "new").cast(plain)))
    scanner = LsmScanner.from_snapshots(table, [snapshot])
    assert sorted(ids_of(scanner.to_table())) == [1, 2, 2, 3] and scanner.count_rows() == 4
    assert scanner.project(["text"]).to_table().schema.names == ["text"]
    with pytest.raises(javelin.errors.InvalidInput, match="no primary key"):
        LsmPointLookupPlanner(table, [snapshot])
    with table.mem_wal_writer(shard, commit_mode="eager") as writer:
        writer.put(rows([2], "newest").cast(plain))
        assert sorted(ids_of(writer.lsm_scanner().to_table())) == [1, 2, 2, 2, 3]


# ---- through a writer ----


def test_a_writer_reads_its_memory_its_sstables_and_other_shards(table, snapshot, shard):
    other = str(uuid.uuid4())
    with table.mem_wal_writer(other, commit_mode="eager") as writer:
        writer.put(rows([3, 7], "memory"))
        assert as_dict(writer.lsm_scanner().to_table()) == {1: "base 1", 2: "base 2", 3: "memory 3", 7: "memory 7"}
        both = writer.lsm_scanner([snapshot])
        assert as_dict(both.to_table()) == {2: "second 2", 3: "memory 3", 4: "first 4", 7: "memory 7"} and both.count_rows() == 4
        writer.put(rows([8], "memory"))
        assert 8 in as_dict(both.to_table()), "each run sees what is there then"
        generations = writer.lsm_scanner([snapshot]).with_memtable_gen().to_table().to_pylist()
        assert {row["id"]: row["_memtable_gen"] for row in generations} == {2: 2, 3: 1, 4: 1, 7: 1, 8: 1}
        with pytest.raises(javelin.errors.InvalidInput, match="twice"):
            writer.lsm_scanner([snapshot, snapshot]).to_table()
    with table.mem_wal_writer(shard, commit_mode="eager") as writer:
        writer.put(rows([9], "memory"))
        stale = ShardSnapshot(shard).with_sstable(1, "nope_gen_1")
        for snapshots in (None, [], [snapshot], [stale]):
            assert as_dict(writer.lsm_scanner(snapshots).to_table()) == {**EXPECTED, 9: "memory 9"}


# ---- lookups ----


def look(table, snapshot, value, columns=None, **options):
    value = value if isinstance(value, pa.Array) else pa.array([value], pa.int64())
    return LsmPointLookupPlanner(table, [snapshot], **options).plan_lookup(value, columns).to_table()


def test_lookup(table, snapshot):
    for key, text in {**EXPECTED, 1: None, 9: None}.items():
        assert look(table, snapshot, key).to_pylist() == ([{"id": key, "text": text}] if text else [])
        assert look(table, snapshot, key).schema.equals(SCHEMA, check_metadata=True)
    assert look(table, snapshot, 2, ["text"]).schema.names == ["text", "id"]
    assert look(table, snapshot, 2, []).schema.names == ["id"]
    assert look(table, snapshot, 2, pk_columns=["id"]).num_rows == 1
    assert look(table, snapshot, pa.array([2], pa.int8())).num_rows == 1
    assert look(table, snapshot, pa.array([None], pa.int64())).num_rows == 0


def test_a_plan_gives_the_same_answer_each_time(table, snapshot, shard):
    plan = LsmPointLookupPlanner(table, [snapshot]).plan_lookup(pa.array([2], pa.int64()))
    for _ in range(3):
        assert plan.to_table().to_pylist() == [{"id": 2, "text": "second 2"}]
        assert [batch.to_pylist() for batch in plan.to_batches()] == [[{"id": 2, "text": "second 2"}]]
        assert plan.to_reader().read_all().to_pylist() == [{"id": 2, "text": "second 2"}]
    assert plan.schema == plan.dataset_schema == SCHEMA
    text = plan.explain()
    newest, older = text.index("generation 2"), text.index("generation 1")
    assert newest < older < text.index(f"Base table: version {table.version}") and shard in text
    gone = LsmPointLookupPlanner(table, [snapshot]).plan_lookup(pa.array([1], pa.int64()), ["text"])
    assert gone.to_batches() == [] and gone.schema.names == ["text", "id"]
    null = LsmPointLookupPlanner(table, [snapshot]).plan_lookup(pa.array([None], pa.int64()))
    assert "null" in null.explain() and null.to_reader().read_all().num_rows == 0


def test_lookups_that_are_refused(table, snapshot):
    for value in (pa.array([1, 2]), pa.array([], pa.int64()), pa.array(["x"]), pa.array([1.5]), pa.array([2**63], pa.uint64()),
                  pa.array([{"id": 2}])):
        with pytest.raises(javelin.errors.InvalidInput):
            look(table, snapshot, value)
    with pytest.raises(javelin.errors.InvalidInput, match="nope"):
        LsmPointLookupPlanner(table, [snapshot]).plan_lookup(pa.array([1]), ["nope"])
    for columns in ([], ["text"], ["id", "text"], ["nope"]):
        with pytest.raises(javelin.errors.InvalidInput, match="primary key"):
            LsmPointLookupPlanner(table, [snapshot], columns)
    for call in (lambda: LsmPointLookupPlanner(table, [snapshot]).plan_lookup([1]), lambda: look(table, snapshot, 1, "id"),
                 lambda: LsmPointLookupPlanner(table, [snapshot], "id")):
        with pytest.raises(TypeError):
            call()


def test_lookup_by_a_key_of_two_columns(uri, shard):
    schema = pa.schema([
        pa.field("n", pa.int32(), nullable=False, metadata={**KEY, "lance-schema:unenforced-primary-key:position": "2"}),
        pa.field("tenant", pa.string(), nullable=False, metadata={**KEY, "lance-schema:unenforced-primary-key:position": "1"}),
        pa.field("v", pa.int64()),
    ])
    table = javelin.write_dataset(pa.table({"n": [1, 2], "tenant": ["a", "a"], "v": [1, 2]}, schema=schema), uri)
    table.initialize_mem_wal(unsharded=True)
    snapshot = publish(table, shard, lambda writer: writer.put(pa.table({"n": [2], "tenant": ["a"], "v": [20]}, schema=schema)))
    planner = LsmPointLookupPlanner(table, [snapshot], ["n", "tenant"])
    for key, found in (({"tenant": "a", "n": 2}, [20]), ({"n": 1, "tenant": "a"}, [1]), ({"n": 1, "tenant": "b"}, []),
                       ({"n": 1, "tenant": None}, [])):
        value = pa.array([key], pa.struct([(name, pa.int64() if name == "n" else pa.string()) for name in key]))
        assert planner.plan_lookup(value).to_table()["v"].to_pylist() == found
    assert planner.plan_lookup(pa.array([{"tenant": "a", "n": 2}]), ["v"]).to_table().schema.names == ["v", "tenant", "n"]
    for value in (pa.array([{"tenant": "a"}]), pa.array(["a"]), pa.array([{"tenant": "a", "n": 2**40}])):
        with pytest.raises(javelin.errors.InvalidInput):
            planner.plan_lookup(value)
