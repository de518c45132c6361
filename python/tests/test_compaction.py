"""Flushed rows of shards move into the table: :meth:`LanceDataset.compact_shards`."""

import pathlib
import threading

import pyarrow as pa
import pytest
from support import ids_of, rows, wal_entries

import javelin
from javelin import errors


def texts(table):
    found = dict(zip(table["id"].to_pylist(), table["text"].to_pylist()))
    assert len(found) == len(table), "an id comes twice"
    return found


def folders(uri, shard):
    """Of SSTables that hold any file; a local store leaves empty ones behind."""
    return sorted({path.parts[0] for path in files_below(pathlib.Path(uri, "_mem_wal", shard)) if "_gen_" in path.parts[0]})


def files_below(folder):
    return [path.relative_to(folder) for path in folder.rglob("*") if path.is_file()]


@pytest.fixture
def flushed(table, shard):
    """The table with two SSTables: 2 and 4 written, 1 deleted; then 4 written again."""
    with table.mem_wal_writer(shard, commit_mode="eager") as writer:
        writer.put(rows([2, 4], "first"))
        writer.delete(pa.table({"id": [1]}))
        writer.flush()
        writer.put(rows([4], "second"))
    return table


NEWEST = {2: "first 2", 3: "base 3", 4: "second 4"}


def test_flushed_rows_move_into_the_table(flushed, uri, shard):
    before = flushed.version
    assert flushed.compact_shards() == {
        "version": before + 1,
        "shards": [{
            "shard_id": shard, "passes": 1, "generations": [1, 2], "rows_read": 4, "rows_upserted": 2, "rows_deleted": 1,
            "compacted_through": 2, "retired": [1, 2], "awaiting_indexes": 0, "folders_deleted": 0, "skipped": None,
        }],
    }
    assert flushed.version == before + 1, "the dataset moves to the new version"
    assert texts(flushed.to_table()) == NEWEST
    assert texts(javelin.dataset(uri).to_table()) == NEWEST
    assert texts(flushed.fresh().to_table()) == NEWEST
    assert len(folders(uri, shard)) == 2


def test_what_is_done_is_not_done_again(flushed, shard):
    flushed.compact_shards()
    version = flushed.version
    (entry,) = flushed.compact_shards()["shards"]
    assert (entry["passes"], entry["generations"], entry["compacted_through"]) == (0, [], 2)
    assert "every flushed SSTable" in entry["skipped"]
    assert flushed.version == version


def test_folders_go_after_the_grace(flushed, uri, shard):
    assert flushed.compact_shards(retired_grace=3600)["shards"][0]["folders_deleted"] == 0
    assert len(folders(uri, shard)) == 2
    assert flushed.compact_shards(retired_grace=0)["shards"][0]["folders_deleted"] == 2
    assert folders(uri, shard) == []
    assert flushed.compact_shards(retired_grace=0)["shards"][0]["folders_deleted"] == 0
    assert texts(flushed.fresh().to_table()) == NEWEST


def test_a_dry_run_changes_nothing(flushed, uri):
    before = sorted(str(path) for path in pathlib.Path(uri).rglob("*"))
    report = flushed.compact_shards(dry_run=True)
    assert report["version"] == flushed.version
    assert (report["shards"][0]["generations"], report["shards"][0]["rows_read"], report["shards"][0]["passes"]) == ([1, 2], 4, 0)
    assert sorted(str(path) for path in pathlib.Path(uri).rglob("*")) == before
    assert texts(flushed.to_table()) == {1: "base 1", 2: "base 2", 3: "base 3"}


def test_max_bytes_cuts_commits(flushed):
    report = flushed.compact_shards(max_bytes=1)
    assert (report["shards"][0]["passes"], report["shards"][0]["generations"]) == (2, [1, 2])
    assert texts(flushed.to_table()) == NEWEST


def test_one_shard(flushed, shard):
    other = "00000000-0000-4000-8000-000000000001"
    with flushed.mem_wal_writer(other) as writer:
        writer.put(rows([9]))
    report = flushed.compact_shards(shard=other)
    assert [entry["shard_id"] for entry in report["shards"]] == [other]
    assert ids_of(flushed.to_table()) == [1, 2, 3, 9]
    assert len(flushed.compact_shards()["shards"]) == 2
    assert ids_of(flushed.to_table()) == [2, 3, 4, 9]


def test_a_writer_goes_on_beside_it(table, uri, shard):
    with table.mem_wal_writer(shard, commit_mode="eager") as writer:
        expected = {1: "base 1", 2: "base 2", 3: "base 3"}
        for turn in range(4):
            writer.put(rows([turn, 10 + turn], f"turn {turn}"))
            writer.flush()
            writer.put(rows([20 + turn], f"turn {turn}"))
            expected |= {key: f"turn {turn} {key}" for key in (turn, 10 + turn, 20 + turn)}
            assert table.compact_shards(retired_grace=0)["shards"][0]["passes"] == 1
            assert texts(table.fresh().to_table()) == expected
            assert texts(writer.lsm_scanner().to_table()) == expected
    with table.mem_wal_writer(shard):
        assert texts(table.fresh().to_table()) == expected


def test_threads_put_while_others_compact_and_read(table, uri, shard):
    ended, failures = threading.Event(), []

    def until_the_end(work):
        try:
            while not ended.is_set():
                work(javelin.dataset(uri))
        except BaseException as failure:  # shown by the test's own thread
            failures.append(failure)

    def compact(dataset):
        dataset.compact_shards(retired_grace=3600)

    def read(dataset):
        texts(dataset.fresh().to_table())

    with table.mem_wal_writer(shard, commit_mode="eager", max_memtable_batches=2) as writer:
        others = [threading.Thread(target=until_the_end, args=(work,)) for work in (compact, compact, read)]
        for thread in others:
            thread.start()
        expected = texts(table.to_table())
        for turn in range(60):
            batch = rows([turn % 7, 100 + turn], f"turn {turn}")
            writer.put(batch)
            expected |= texts(batch)
            assert texts(table.fresh().to_table()) == expected
        ended.set()
        for thread in others:
            thread.join()
    assert failures == []
    dataset = javelin.dataset(uri)
    dataset.compact_shards()
    assert texts(dataset.to_table()) == texts(dataset.fresh().to_table()) == expected
    (last,) = dataset.compact_shards()["shards"]
    assert last["compacted_through"] >= 30


def test_rows_of_the_log_stay_there(table, uri, shard):
    writer = table.mem_wal_writer(shard, commit_mode="eager")
    writer.put(rows([7]))
    (entry,) = table.compact_shards()["shards"]
    assert entry["passes"] == 0 and len(wal_entries(uri, shard)) == 1
    assert ids_of(table.fresh().to_table()) == [1, 2, 3, 7]
    writer.close()
    table.compact_shards()
    assert ids_of(table.to_table()) == [1, 2, 3, 7]


def test_a_view_whose_sstables_went_before_it_was_read_is_taken_anew(flushed, uri):
    unread, read = (javelin.dataset(uri, session=javelin.Session()).fresh() for _ in range(2))
    version = read.version
    javelin.dataset(uri, session=javelin.Session()).compact_shards(retired_grace=0)
    assert ids_of(unread.get([1, 2, 3, 4])) == ids_of(javelin.dataset(uri).fresh().get([1, 2, 3, 4]))
    assert texts(unread.to_table()) == NEWEST and unread.version > version
    with pytest.raises(errors.NotFound, match="take a new view"):  # it said which moment it is
        read.to_table()


def test_a_table_that_no_writer_opened(table):
    assert table.compact_shards() == {"version": table.version, "shards": []}


def test_errors(flushed, uri, tmp_path):
    with pytest.raises(errors.InvalidInput, match="(?i)uuid"):
        flushed.compact_shards("nothing")
    missing = "00000000-0000-4000-8000-000000000001"
    with pytest.raises(errors.NotFound, match=missing) as caught:
        flushed.compact_shards(missing)
    assert caught.value.fields["shard"] == missing
    with pytest.raises(errors.InvalidInput, match="max_bytes"):
        flushed.compact_shards(max_bytes=0)
    with pytest.raises(errors.InvalidInput, match="max_bytes"):
        flushed.compact_shards(max_bytes=-1)
    for grace in (-1, float("nan"), float("inf"), 2**60):
        with pytest.raises(errors.InvalidInput, match="retired_grace"):
            flushed.compact_shards(retired_grace=grace)
    with pytest.raises(errors.NotFound, match="MemWAL"):
        javelin.write_dataset(rows([1]), str(tmp_path / "plain.lance")).compact_shards()
    assert texts(javelin.dataset(uri).to_table()) == {1: "base 1", 2: "base 2", 3: "base 3"}, "nothing was changed"


def test_without_a_key_all_rows_are_appended(tmp_path, shard):
    schema = pa.schema([pa.field("id", pa.int64())])
    table = javelin.write_dataset(pa.table({"id": [1]}, schema=schema), str(tmp_path / "keyless.lance"))
    table.initialize_mem_wal(unsharded=True)
    with table.mem_wal_writer(shard) as writer:
        writer.put(pa.table({"id": [1, 2, 2]}, schema=schema))
    table.compact_shards()
    assert table.to_table()["id"].to_pylist() == [1, 1, 2, 2]
