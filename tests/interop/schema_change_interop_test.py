"""The peer changes the columns of a table whose shards hold rows: in SSTables, in memory, in the log, of either library.

What has to come out is computed from plain dicts: a column added later is null, a renamed one keeps its values, a dropped one
is gone.
"""

import shutil
import uuid
from pathlib import Path

import pyarrow as pa
import pytest

import javelin
from javelin import errors
from peer import Peer, PeerError

pytestmark = pytest.mark.interop

KEY = {"lance-schema:unenforced-primary-key": "true"}
SCHEMA = pa.schema([
    pa.field("id", pa.int64(), nullable=False, metadata=KEY),
    pa.field("text", pa.string()),
    pa.field("score", pa.int32(), nullable=False),
])

HELPERS = """
import glob, os
from lance.mem_wal import LsmScanner, ShardSnapshot

def writer(uri, shard):
    return lance.dataset(uri).mem_wal_writer(shard, max_wal_flush_interval_ms=5)

def scan(uri, shard):
    snapshot = ShardSnapshot(shard)
    for folder in glob.glob(os.path.join(uri, "_mem_wal", shard, "*_gen_*")):
        snapshot.with_sstable(int(folder.rsplit("_", 1)[1]), os.path.basename(folder))
    return LsmScanner.from_snapshots(lance.dataset(uri), [snapshot]).to_table()

def rows_of(schema, rows):
    return pa.Table.from_pylist(rows, schema=schema)
"""

# What the peer does, and what becomes of a row of before.
def added(name):
    return lambda row: {**row, name: None}


CHANGES = {
    "nothing": ("pass", lambda row: row),
    "add": ("ds.add_columns(pa.schema([pa.field('more', pa.int64())]))", added("more")),
    # `_tombstone` of SSTables from before has the id of this column, and its type.
    "add a bool": ("ds.add_columns(pa.schema([pa.field('flag', pa.bool_())]))", added("flag")),
    "add by an expression": ("ds.add_columns({'more': 'cast(null as bigint)'})", added("more")),
    "add two": ("ds.add_columns(pa.schema([pa.field('flag', pa.bool_()), pa.field('more', pa.string())]))",
                lambda row: {**row, "flag": None, "more": None}),
    "drop": ("ds.drop_columns(['text'])", lambda row: {name: value for name, value in row.items() if name != "text"}),
    "drop one that must not be null": ("ds.drop_columns(['score'])",
                                       lambda row: {name: value for name, value in row.items() if name != "score"}),
    "rename": ("ds.alter_columns({'path': 'text', 'name': 'words'})",
               lambda row: {"id": row["id"], "words": row["text"], "score": row["score"]}),
    "swap the names": ("ds.alter_columns({'path': 'text', 'name': 'x'}); ds.add_columns(pa.schema([pa.field('text', pa.string())]))",
                       lambda row: {"id": row["id"], "x": row["text"], "score": row["score"], "text": None}),
    "drop and add again": ("ds.drop_columns(['text']); ds.add_columns(pa.schema([pa.field('text', pa.string())]))",
                           lambda row: {"id": row["id"], "score": row["score"], "text": None}),
    "let it be null": ("ds.alter_columns({'path': 'score', 'nullable': True})", lambda row: row),
    "all of it": ("ds.add_columns(pa.schema([pa.field('flag', pa.bool_())])); ds.alter_columns({'path': 'score', 'name': 'points'});"
                  "ds.drop_columns(['text'])", lambda row: {"id": row["id"], "points": row["score"], "flag": None}),
}
changes = pytest.mark.parametrize("change", CHANGES)


def row(key, tag):
    return {"id": key, "text": f"{tag}{key}", "score": key * 10}


@pytest.fixture
def uri(tmp_path):
    path = str(tmp_path / "t.lance")
    base = pa.Table.from_pylist([row(key, "base") for key in range(1, 6)], schema=SCHEMA)
    javelin.write_dataset(base, path).initialize_mem_wal(unsharded=True)
    return path


def table_of(schema, rows):
    return pa.Table.from_pylist(rows, schema=schema)


def new_row(schema, key):
    """A row with a value in every column."""
    values = {pa.int64(): key, pa.int32(): key, pa.string(): f"new{key}", pa.bool_(): True}
    return {field.name: key if field.name == "id" else values[field.type] for field in schema}


def by_id(table):
    found = {each["id"]: each for each in table.to_pylist()}
    assert len(found) == table.num_rows, "an id comes twice"
    return found


def expected_of(rows, change):
    follow = CHANGES[change][1]
    return {key: follow(values) for key, values in rows.items()}


def alter(peer, uri, change):
    peer.run(f"ds = lance.dataset(uri)\n{CHANGES[change][0]}", uri=uri)


def assert_read_alike(peer, uri, shard, expected):
    """All rows are in SSTables and the base: our view, the peer's scan over the SSTables, then both after we compact."""
    assert by_id(javelin.dataset(uri).fresh().to_table()) == expected
    assert by_id(peer.value("scan(uri, shard)", uri=uri, shard=shard)) == expected
    keys = [*expected, 99]
    found = javelin.dataset(uri).fresh().get(keys)
    assert found.to_pylist() == [expected[key] for key in keys if key in expected]
    assert javelin.dataset(uri).fresh().count_rows() == len(expected)
    table = javelin.dataset(uri)
    table.compact_shards(retired_grace=0)
    assert by_id(javelin.dataset(uri).to_table()) == expected
    peer.run("ds = lance.dataset(uri); ds.validate()", uri=uri)
    assert by_id(peer.value("ds.to_table()")) == expected
    assert peer.value("ds.count_rows()") == len(expected)


@changes
def test_our_rows_in_every_tier_follow(uri, peer, shard, change):
    rows = {key: row(key, "base") for key in range(1, 6)}
    writer = javelin.dataset(uri).mem_wal_writer(shard, commit_mode="eager")
    writer.put([row(2, "sstable"), row(6, "sstable"), row(7, "sstable")])
    writer.flush()
    writer.put([row(3, "memory"), row(7, "memory"), row(8, "memory")])
    writer.delete([1])
    rows |= {2: row(2, "sstable"), 6: row(6, "sstable"), **{key: row(key, "memory") for key in (3, 7, 8)}}
    del rows[1]
    alter(peer, uri, change)

    expected = expected_of(rows, change)
    table = javelin.dataset(uri)
    assert by_id(table.fresh().to_table()) == expected, "before the writer knows"
    assert writer.evolve() is (change != "nothing")
    assert writer.evolve() is False
    assert writer.schema.equals(table.schema, check_metadata=True)
    assert by_id(table.fresh().to_table()) == expected, "one MemTable frozen or flushed, one empty"
    for key in (3, 9):
        expected[key] = new_row(writer.schema, key)
        writer.put([expected[key]])
    writer.delete([8])
    del expected[8]
    assert by_id(table.fresh().to_table()) == expected
    assert by_id(writer.lsm_scanner().to_table()) == expected
    writer.close()
    assert_read_alike(peer, uri, shard, expected)


@changes
@pytest.mark.parametrize("opener", ["ours", "theirs"])
def test_our_log_of_before_is_replayed_under_the_new_columns(uri, peer, shard, change, opener):
    rows = {key: row(key, "base") for key in range(1, 6)} | {key: row(key, "log") for key in (2, 6)}
    del rows[3]
    with Peer("javelin") as ours:
        ours.run("w = javelin.dataset(uri).mem_wal_writer(shard, commit_mode='eager'); w.put(rows); w.delete([3])", uri=uri, shard=shard,
                 rows=[row(2, "log"), row(6, "log")])
    alter(peer, uri, change)
    expected = expected_of(rows, change)
    with Peer("javelin") as ours:  # the log gets entries of both schemas in one generation
        ours.run("w = javelin.dataset(uri).mem_wal_writer(shard, commit_mode='eager')", uri=uri, shard=shard)
        expected[7] = new_row(javelin.dataset(uri).schema, 7)
        ours.run("w.put([row])", row=expected[7])
        assert by_id(ours.value("javelin.dataset(uri).fresh().to_table()")) == expected
    assert not list(Path(uri, "_mem_wal", shard).glob("*_gen_*"))
    if opener == "ours":
        with javelin.dataset(uri).mem_wal_writer(shard, max_memtable_size=1) as writer:
            assert by_id(writer.lsm_scanner().to_table()) == expected
    else:
        peer.run("w = writer(uri, shard)", uri=uri, shard=shard)
        assert by_id(peer.value("w.lsm_scanner().to_table()")) == expected
        peer.run("w.close()")
    assert_read_alike(peer, uri, shard, expected)


@changes
def test_their_rows_in_sstables_and_log_follow(uri, peer, shard, change):
    rows = {key: row(key, "base") for key in range(1, 6)}
    sstable, log = [row(2, "sstable"), row(6, "sstable")], [row(6, "log"), row(7, "log")]
    rows |= {each["id"]: each for each in [*sstable, *log]}
    del rows[1]
    peer.run("w = writer(uri, shard); w.put(rows_of(schema, rows)); w.delete(pa.table({'id': [1]})); w.close()", uri=uri, shard=shard,
             schema=SCHEMA, rows=sstable)
    with Peer() as other:
        other.run(HELPERS)
        other.run("w = writer(uri, shard); w.put(rows_of(schema, rows))", uri=uri, shard=shard, schema=SCHEMA, rows=log)
        alter(peer, uri, change)
        expected = expected_of(rows, change)
    with Peer() as other:  # replays, then appends under the new columns to the same generation
        other.run(HELPERS)
        expected[8] = new_row(javelin.dataset(uri).schema, 8)
        other.run("w = writer(uri, shard); w.put(rows_of(lance.dataset(uri).schema, [row]))", uri=uri, shard=shard, row=expected[8])
    with javelin.dataset(uri).mem_wal_writer(shard) as writer:
        assert by_id(writer.lsm_scanner().to_table()) == expected
        expected[9] = new_row(writer.schema, 9)
        writer.put([expected[9]])
        assert by_id(javelin.dataset(uri).fresh().to_table()) == expected
    assert_read_alike(peer, uri, shard, expected)


@pytest.mark.parametrize("library", ["ours", "theirs"])
def test_an_open_with_an_old_version_keeps_new_columns_of_the_log(uri, peer, shard, library):
    old = javelin.dataset(uri)
    alter(peer, uri, "add two")
    schema = javelin.dataset(uri).schema
    expected = expected_of({key: row(key, "base") for key in range(1, 6)}, "add two") | {8: new_row(schema, 8)}
    with Peer("javelin" if library == "ours" else "lance") as other:
        if library == "ours":
            other.run("w = javelin.dataset(uri).mem_wal_writer(shard, commit_mode='eager')", uri=uri, shard=shard)
        else:
            other.run(HELPERS)
            other.run("w = writer(uri, shard)", uri=uri, shard=shard)
        other.run("w.put(pa.Table.from_pylist([row], schema=schema))", row=expected[8], schema=schema)
    with old.mem_wal_writer(shard) as writer:
        assert writer.schema.names == schema.names
    assert_read_alike(peer, uri, shard, expected)


def test_the_peer_loses_new_columns_of_the_log_that_way(uri, peer, shard):
    peer.run("old = lance.dataset(uri)", uri=uri)
    alter(peer, uri, "add two")
    schema = javelin.dataset(uri).schema
    with Peer() as other:
        other.run(HELPERS)
        other.run("w = writer(uri, shard); w.put(rows_of(schema, [row]))", uri=uri, shard=shard, row=new_row(schema, 8), schema=schema)
    peer.run("old.mem_wal_writer(shard, max_wal_flush_interval_ms=5).close()", shard=shard)
    assert by_id(peer.value("scan(uri, shard)"))[8]["more"] is None


def test_a_put_of_the_other_columns_says_what_to_do(uri, peer, shard):
    with javelin.dataset(uri).mem_wal_writer(shard, commit_mode="eager") as writer:
        alter(peer, uri, "all of it")
        schema = javelin.dataset(uri).schema
        old, new = table_of(SCHEMA, [row(6, "old")]), table_of(schema, [new_row(schema, 7)])
        with pytest.raises(errors.InvalidInput, match="'text'.*evolve the writer"):
            writer.put(new)
        writer.put(old)
        assert writer.evolve()
        with pytest.raises(errors.InvalidInput, match="'points'.*evolve the writer"):
            writer.put(old)
        writer.put(new)
    assert set(by_id(javelin.dataset(uri).fresh().to_table())) == set(range(1, 8))
    with pytest.raises(errors.Closed):
        writer.evolve()


def test_what_the_peer_refuses_while_a_table_has_shards(uri, peer):
    for code, word in (("alter_columns({'path': 'score', 'data_type': pa.int64()})", "takes a new field id"),
                       ("alter_columns({'path': 'id', 'name': 'key'})", "rename a primary key"),
                       ("alter_columns({'path': 'text', 'nullable': False})", "non-nullable"),
                       ("add_columns({'more': 'score + 1'})", "computed column")):
        with pytest.raises(PeerError, match=word):
            peer.run(f"lance.dataset(uri).{code}", uri=uri)


def test_a_cast_after_mem_wal_was_taken_off(uri, peer, shard):
    """A cast gives the column another id. Rows in memory would read null there, so they are not read."""
    writer = javelin.dataset(uri).mem_wal_writer(shard, commit_mode="eager")
    writer.put([row(6, "memory")])
    peer.run("ds = lance.dataset(uri); ds.drop_index('__lance_mem_wal')", uri=uri)
    assert 6 in by_id(javelin.dataset(uri).fresh().to_table())
    peer.run("ds.alter_columns({'path': 'score', 'data_type': pa.int64()})")
    with pytest.raises(errors.NotSupported, match="close the writer"):
        javelin.dataset(uri).fresh()
    with pytest.raises(errors.NotFound, match="MemWAL"):
        writer.evolve()
    writer.close()
    assert set(by_id(javelin.dataset(uri).fresh().to_table())) == set(range(1, 6))


def test_a_key_that_is_dropped_is_not_followed(uri, peer, shard):
    """The peer lets the key go. Which rows count, and which are deletions, cannot be said then."""
    writer = javelin.dataset(uri).mem_wal_writer(shard, commit_mode="eager")
    writer.put([row(2, "sstable")])
    writer.delete([3])
    writer.flush()
    writer.put([row(2, "memory")])
    peer.run("lance.dataset(uri).drop_columns(['id'])", uri=uri)
    with pytest.raises(errors.InvalidInput, match="primary key"):
        writer.evolve()
    with pytest.raises(errors.NotSupported, match="primary key"):
        javelin.dataset(uri).fresh().to_table()
    writer.close()
    with pytest.raises(errors.NotSupported, match="primary key"):
        javelin.dataset(uri).fresh().to_table()
    with pytest.raises(errors.NotSupported, match="primary key"):
        javelin.dataset(uri).compact_shards()
    assert javelin.dataset(uri).count_rows() == 5


def empty_table(tmp_path, peer, initialize_by):
    """No data file holds a column, so the peer would give the id of a dropped one to the next."""
    uri = str(tmp_path / "t.lance")
    table = javelin.write_dataset(SCHEMA.empty_table(), uri)
    if initialize_by == "ours":
        table.initialize_mem_wal(unsharded=True)
    else:
        peer.run("lance.dataset(uri).initialize_mem_wal(unsharded=True)", uri=uri)
    return uri


DROP_AND_ADD = {
    "another name": "ds = lance.dataset(uri); ds.drop_columns(['text']); ds.add_columns(pa.schema([pa.field('more', pa.string())]))",
    "the same name": "ds = lance.dataset(uri); ds.drop_columns(['text']); ds.add_columns(pa.schema([pa.field('text', pa.string())]))",
}


@pytest.mark.parametrize("change", DROP_AND_ADD)
@pytest.mark.parametrize("initialize_by", ["ours", "theirs"])
def test_the_id_of_a_dropped_column_is_never_given_again(tmp_path, peer, shard, initialize_by, change):
    uri = empty_table(tmp_path, peer, initialize_by)
    if initialize_by == "theirs":
        peer.run("w = writer(uri, shard); w.put(rows_of(schema, rows)); w.close()", uri=uri, shard=shard, schema=SCHEMA, rows=[row(1, "theirs")])
    writer = javelin.dataset(uri).mem_wal_writer(shard, commit_mode="eager")
    writer.put([row(2, "sstable")])
    writer.flush()
    writer.put([row(3, "memory")])
    peer.run(DROP_AND_ADD[change], uri=uri)

    name = javelin.dataset(uri).schema.names[-1]
    assert [field.id() for field in javelin.dataset(uri).lance_schema.fields()] == [0, 2, 3]
    keys = [1, 2, 3] if initialize_by == "theirs" else [2, 3]
    expected = {key: {"id": key, "score": key * 10, name: None} for key in keys}
    table = javelin.dataset(uri)
    assert by_id(table.fresh().to_table()) == expected
    writer.evolve()
    writer.put([{"id": 4, "score": 40, name: "new"}])
    expected[4] = {"id": 4, "score": 40, name: "new"}
    assert by_id(table.fresh().to_table()) == expected
    writer.close()
    assert_read_alike(peer, uri, shard, expected)


@pytest.mark.parametrize("with_versions", [True, False])
def test_an_id_that_was_given_again_before_any_of_our_commits_is_noticed(tmp_path, peer, shard, with_versions):
    """The peer then reads the values of one column as those of another."""
    uri = empty_table(tmp_path, peer, "theirs")
    peer.run("w = writer(uri, shard); w.put(rows_of(schema, [row])); w.close()", uri=uri, shard=shard, schema=SCHEMA, row=row(1, "sstable"))
    with Peer() as killed:
        killed.run(HELPERS)
        killed.run("w = writer(uri, shard); w.put(rows_of(schema, [row]))", uri=uri, shard=shard, schema=SCHEMA, row=row(2, "log"))
    peer.run("ds = lance.dataset(uri)\nds.alter_columns({'path': 'score', 'name': 'points'})\nds.drop_columns(['points'])\n"
             "ds.add_columns(pa.schema([pa.field('more', pa.int32())]))", uri=uri)
    if not with_versions:
        peer.run("import datetime; lance.dataset(uri).cleanup_old_versions(older_than=datetime.timedelta(0))", uri=uri)
    assert by_id(peer.value("scan(uri, shard)", uri=uri, shard=shard))[1]["more"] == 10
    table = javelin.dataset(uri)
    for ask in (lambda: table.fresh().to_table(), lambda: table.fresh().get([1]), lambda: table.compact_shards(),
                lambda: table.mem_wal_writer(shard)):
        with pytest.raises(errors.NotSupported, match="'more' now, but .*(has no such column|are gone)"):
            ask()
    # As the error says.
    peer.run("lance.dataset(uri).drop_columns(['more'])", uri=uri)
    with javelin.dataset(uri).mem_wal_writer(shard):
        pass
    javelin.dataset(uri).compact_shards()
    peer.run("lance.dataset(uri).add_columns(pa.schema([pa.field('more', pa.int32())]))", uri=uri)
    expected = {key: {"id": key, "text": f"{tag}{key}", "more": None} for key, tag in ((1, "sstable"), (2, "log"))}
    assert by_id(javelin.dataset(uri).fresh().to_table()) == expected


@pytest.mark.parametrize("with_versions", [True, False])
def test_a_column_that_was_renamed_twice_before_any_of_our_commits(tmp_path, peer, shard, with_versions):
    uri = empty_table(tmp_path, peer, "theirs")
    peer.run("w = writer(uri, shard); w.put(rows_of(schema, [row])); w.close()", uri=uri, shard=shard, schema=SCHEMA, row=row(1, "sstable"))
    peer.run("ds = lance.dataset(uri)\nfor old, new in (('text', 'a'), ('a', 'b')): ds.alter_columns({'path': old, 'name': new})", uri=uri)
    table = javelin.dataset(uri)
    if with_versions:
        assert by_id(table.fresh().to_table()) == {1: {"id": 1, "b": "sstable1", "score": 10}}
        return
    peer.run("import datetime; lance.dataset(uri).cleanup_old_versions(older_than=datetime.timedelta(0))", uri=uri)
    with pytest.raises(errors.NotSupported, match="are gone"):
        javelin.dataset(uri).fresh().to_table()


def test_an_overwrite_of_a_table_that_keeps_its_ids(tmp_path, peer, shard):
    """Its columns are new ones, also to rows that still lie in the shard's folder."""
    uri = empty_table(tmp_path, peer, "ours")
    with javelin.dataset(uri).mem_wal_writer(shard) as writer:
        writer.put([row(1, "before")])
    javelin.write_dataset(table_of(SCHEMA, [row(5, "after")]), uri, mode="overwrite")
    assert [field.id() for field in javelin.dataset(uri).lance_schema.fields()] == [3, 4, 5]
    peer.run("ds = lance.dataset(uri); ds.validate(); ds.initialize_mem_wal(unsharded=True)", uri=uri)
    assert by_id(peer.value("ds.to_table()")) == {5: row(5, "after")}
    peer.run("ds.add_columns(pa.schema([pa.field('more', pa.int64())]))")
    assert [field.id() for field in javelin.dataset(uri).lance_schema.fields()] == [3, 4, 5, 6]


def test_mem_wal_is_taken_off_by_the_peer_and_turned_on_again(uri, peer, shard):
    """The peer forgets what the table holds of a shard, and shows rows of its SSTables over newer ones of the table."""
    with javelin.dataset(uri).mem_wal_writer(shard) as writer:
        writer.put([row(1, "sstable")])
    peer.run("ds = lance.dataset(uri); ds.drop_index('__lance_mem_wal')", uri=uri)
    table = javelin.dataset(uri)
    with pytest.raises(errors.InvalidInput, match="adopt_sstables"):
        table.initialize_mem_wal(unsharded=True)
    assert by_id(javelin.dataset(uri).fresh().to_table())[1] == row(1, "base")
    table.initialize_mem_wal(unsharded=True, adopt_sstables=True)
    assert by_id(table.fresh().to_table())[1] == row(1, "sstable")


@pytest.mark.parametrize("first", ["a writer of another shard", "a writer of the shard"])
def test_what_was_given_again_is_noticed_after_the_first_commit_of_ours_too(tmp_path, peer, shard, first):
    uri = empty_table(tmp_path, peer, "theirs")
    peer.run("w = writer(uri, shard); w.put(rows_of(schema, [row])); w.close()", uri=uri, shard=shard, schema=SCHEMA, row=row(1, "sstable"))
    peer.run("ds = lance.dataset(uri); ds.drop_columns(['score']); ds.add_columns(pa.schema([pa.field('more', pa.int32())]))", uri=uri)
    peer.run("import datetime; lance.dataset(uri).cleanup_old_versions(older_than=datetime.timedelta(0))", uri=uri)
    with javelin.dataset(uri).mem_wal_writer(shard if "the shard" in first else str(uuid.uuid4())):
        pass
    table = javelin.dataset(uri)
    for ask in (lambda: table.fresh().to_table(), lambda: table.compact_shards()):
        with pytest.raises(errors.NotSupported, match="are gone"):
            ask()


def test_sstables_of_other_columns_are_not_taken_over(tmp_path, peer, shard, uri):
    """A cast gives the column another id; an overwrite of a table that keeps its ids, all columns."""
    with javelin.dataset(uri).mem_wal_writer(shard) as writer:
        writer.put([row(1, "sstable")])
    peer.run("ds = lance.dataset(uri); ds.drop_index('__lance_mem_wal'); ds.alter_columns({'path': 'score', 'data_type': pa.int64()})", uri=uri)
    with pytest.raises(errors.InvalidInput, match="another column 'score'"):
        javelin.dataset(uri).initialize_mem_wal(unsharded=True, adopt_sstables=True)
    javelin.write_dataset(table_of(SCHEMA, [row(5, "after")]), uri, mode="overwrite")
    with pytest.raises(errors.InvalidInput, match="another column 'id'"):
        javelin.dataset(uri).initialize_mem_wal(unsharded=True, adopt_sstables=True)


def test_a_live_writer_forgets_what_others_retired(uri, peer, shard):
    """The base does not say any more that it holds them, and has newer rows."""
    table = javelin.dataset(uri)
    writer = table.mem_wal_writer(shard, commit_mode="eager", frozen_memtable_grace_ms=60_000)
    writer.put([row(1, "sstable")])
    writer.flush()
    with Peer("javelin") as other:
        other.run("javelin.dataset(uri).compact_shards(retired_grace=0)", uri=uri)
    peer.run("ds = lance.dataset(uri); ds.update({'text': \"'newer'\"}, where='id = 1'); ds.delete('id = 2')", uri=uri)
    expected = {1: {**row(1, "sstable"), "text": "newer"}, **{key: row(key, "base") for key in (3, 4, 5)}}
    assert by_id(table.fresh().to_table()) == expected
    peer.run("ds = lance.dataset(uri); ds.drop_index('__lance_mem_wal')", uri=uri)
    assert by_id(table.fresh().to_table()) == expected
    assert table.fresh().get([1, 2]).to_pylist() == [expected[1]]
    writer.close()


def test_an_id_that_was_given_again_with_another_type_is_refused(tmp_path, peer, shard):
    """Before any of our commits the peer gives the id of a dropped column to the next one, here of the same name."""
    uri = empty_table(tmp_path, peer, "theirs")
    peer.run("w = writer(uri, shard); w.put(rows_of(schema, [row])); w.close()", uri=uri, shard=shard, schema=SCHEMA, row=row(1, "sstable"))
    with Peer() as killed:
        killed.run(HELPERS)
        killed.run("w = writer(uri, shard); w.put(rows_of(schema, [row]))", uri=uri, shard=shard, schema=SCHEMA, row=row(2, "log"))
    peer.run("ds = lance.dataset(uri); ds.drop_columns(['score']); ds.add_columns(pa.schema([pa.field('score', pa.float32())]))", uri=uri)
    assert [field.id() for field in javelin.dataset(uri).lance_schema.fields()] == [0, 1, 2]
    with pytest.raises(errors.NotSupported, match="int32"):
        javelin.dataset(uri).fresh().to_table()
    with pytest.raises(errors.NotSupported, match="int32"):
        javelin.dataset(uri).compact_shards()
    with pytest.raises(errors.WalCorrupt, match="int32"):
        javelin.dataset(uri).mem_wal_writer(shard)


OTHER_COLUMNS = pa.schema([
    pa.field("id", pa.int64(), nullable=False, metadata=KEY),
    pa.field("note", pa.string()),
    pa.field("points", pa.int32(), nullable=False),
])
OVERWRITE = ("ds = lance.write_dataset(pa.Table.from_pylist([row], schema=schema), uri, mode='overwrite')\n"
             "ds.initialize_mem_wal(unsharded=True)")


@pytest.mark.parametrize("where", ["sstable", "log"])
@pytest.mark.parametrize("ours_first", [False, True])
def test_rows_of_a_table_that_the_peer_overwrote_are_not_shown(tmp_path, peer, shard, where, ours_first):
    """It gives the ids of before to other columns, and shows values of the ones as those of the others."""
    uri = empty_table(tmp_path, peer, "theirs")
    with Peer() as other:
        other.run(HELPERS)
        other.run("w = writer(uri, shard); w.put(rows_of(schema, [row]))", uri=uri, shard=shard, schema=SCHEMA, row=row(1, "before"))
        if where == "sstable":
            other.run("w.close()")
    after = {"id": 5, "note": "after", "points": 50}
    peer.run(OVERWRITE, uri=uri, schema=OTHER_COLUMNS, row=after)
    if ours_first:
        with javelin.dataset(uri).mem_wal_writer(str(uuid.uuid4())):
            pass
    table = javelin.dataset(uri)
    asked = [lambda: table.mem_wal_writer(shard)]
    if where == "sstable":
        assert by_id(peer.value("scan(uri, shard)", uri=uri, shard=shard))[1] == {"id": 1, "note": "before1", "points": 10}
        asked = [lambda: table.fresh().to_table(), lambda: table.fresh().get([1]), lambda: table.fresh().count_rows(),
                 lambda: table.compact_shards()]
    for ask in asked:
        with pytest.raises(errors.NotSupported, match="overwrote the table; the rows are of the table that was there before"):
            ask()
    assert by_id(table.to_table()) == {5: after}
    # As the error says.
    shutil.rmtree(Path(uri, "_mem_wal", shard))
    with javelin.dataset(uri).mem_wal_writer(shard) as writer:
        writer.put([{"id": 6, "note": "new", "points": 60}])
    table = javelin.dataset(uri)
    assert by_id(table.fresh().to_table()) == {5: after, 6: {"id": 6, "note": "new", "points": 60}}


@pytest.mark.parametrize("base_rows", [True, False])
def test_a_column_that_comes_again_under_its_name_before_any_of_our_commits(tmp_path, peer, shard, base_rows):
    """With data files the ids prove that it is another one. Without them the peer gives it the same id, and no name tells
    that it is not the same: a hole that is left (docs/format.md, "MemWAL: schemas")."""
    uri = str(tmp_path / "t.lance")
    rows = [row(9, "base")] if base_rows else []
    javelin.write_dataset(table_of(SCHEMA, rows), uri)
    peer.run("lance.dataset(uri).initialize_mem_wal(unsharded=True)", uri=uri)
    peer.run("w = writer(uri, shard); w.put(rows_of(schema, [row])); w.close()", shard=shard, schema=SCHEMA, row=row(1, "sstable"))
    peer.run("ds = lance.dataset(uri); ds.drop_columns(['score']); ds.add_columns(pa.schema([pa.field('score', pa.int32())]))")
    assert [field.id() for field in javelin.dataset(uri).lance_schema.fields()] == [0, 1, 3 if base_rows else 2]
    found = by_id(javelin.dataset(uri).fresh().to_table())
    assert found == by_id(peer.value("scan(uri, shard)"))
    assert found[1]["score"] == (None if base_rows else 10)


def test_a_dataset_from_before_a_rename_whose_versions_are_gone(tmp_path, peer, shard):
    """No row was written: what cannot be told is of the dataset, and a new one knows."""
    uri = empty_table(tmp_path, peer, "theirs")
    old = javelin.dataset(uri)
    peer.run("import datetime\nds = lance.dataset(uri)\nds.alter_columns({'path': 'text', 'name': 'words'})\n"
             "ds.cleanup_old_versions(older_than=datetime.timedelta(0))", uri=uri)
    with pytest.raises(errors.NotSupported, match="at which the table was opened.*open the newest version of the table") as refused:
        old.mem_wal_writer(shard)
    assert "rows" not in str(refused.value)
    old.checkout_latest()
    with old.mem_wal_writer(shard) as writer:
        assert writer.schema.names == ["id", "words", "score"]


def test_rows_without_a_key_are_not_rows_of_nulls_of_the_table_that_overwrote_theirs(tmp_path, peer, shard):
    """All columns have new ids then. The peer is asked for nothing: it does not scan shards without a key."""
    uri = str(tmp_path / "t.lance")
    before, after = pa.schema([("a", pa.int64())]), pa.schema([("x", pa.int64())])
    javelin.write_dataset(before.empty_table(), uri).initialize_mem_wal(unsharded=True)
    with javelin.dataset(uri).mem_wal_writer(shard) as writer:
        writer.put([{"a": 1}])
    peer.run("ds = lance.write_dataset(pa.Table.from_pylist([{'x': 5}], schema=schema), uri, mode='overwrite')", uri=uri, schema=after)
    with pytest.raises(errors.InvalidInput, match="has no column that"):
        javelin.dataset(uri).initialize_mem_wal(unsharded=True, adopt_sstables=True)
    peer.run("ds.initialize_mem_wal(unsharded=True)")
    table = javelin.dataset(uri)
    for ask in (lambda: table.fresh().to_table(), lambda: table.fresh().count_rows(), lambda: table.compact_shards()):
        with pytest.raises(errors.NotSupported, match="overwrote the table"):
            ask()
    assert table.to_table().to_pylist() == [{"x": 5}]
