"""Old versions go: of the peer's tables by us, of ours by the peer, and the same files by both."""

import os
import pathlib
import shutil
import time
from datetime import timedelta

import pyarrow as pa
import pytest

import javelin
from javelin import errors
from peer import PeerError

pytestmark = pytest.mark.interop

HELPERS = """
from datetime import timedelta

def explain(uri, **options):
    found = lance.dataset(uri).explain_cleanup_old_versions(include_files=True, **options)
    place = "/".join(uri.strip("/").split("/")) + "/"
    files = sorted((f.path[len(place):], f.kind, f.unverified, f.size_bytes) for f in found.candidate_files)
    names = ("bytes_removed", "old_versions", "data_files_removed", "transaction_files_removed", "index_files_removed",
             "deletion_files_removed", "failed_deletes")
    return files, {name: getattr(found.stats, name) for name in names}
"""


def numbered(first, count):
    return pa.table({"id": pa.array(range(first, first + count), pa.int64()), "s": [f"v{i}" for i in range(first, first + count)]})


@pytest.fixture
def uri(tmp_path):
    return str(tmp_path / "table.lance")


def files(uri):
    return {str(path.relative_to(uri)) for path in pathlib.Path(uri).rglob("*") if path.is_file()}


def explained(uri, **options):
    found = javelin.dataset(uri).explain_cleanup_old_versions(include_files=True, **options)
    stats = {name: getattr(found.stats, name) for name in found.stats.__dataclass_fields__}
    return sorted((f.path, f.kind, f.unverified, f.size_bytes) for f in found.candidate_files), stats


def busy(peer, uri):
    """A table of the peer with many versions: rows gone, an index built twice, compacted, overwritten."""
    peer.run("lance.write_dataset(table, uri, max_rows_per_file=20)", uri=uri, table=numbered(0, 60))
    peer.run("ds = lance.dataset(uri); ds.delete('id < 5'); ds.create_scalar_index('id', 'BTREE'); ds.delete('id = 30')")
    peer.run("ds.create_scalar_index('id', 'BTREE', replace=True); lance.write_dataset(table, uri, mode='append')", table=numbered(60, 5))
    peer.run("lance.dataset(uri).optimize.compact_files()")


def read(peer, uri):
    rows = javelin.dataset(uri).to_table()["id"].to_pylist()
    assert peer.value("lance.dataset(uri).to_table()['id'].to_pylist()", uri=uri) == rows
    return rows


@pytest.mark.parametrize("options", [{"older_than": timedelta(0)}, {"retain_versions": 3}, {"retain_versions": 1, "delete_unverified": True},
                                     {"versions": [2, 3, 7]}, {"older_than": timedelta(days=1)}, {}, {"versions": [1, 5], "retain_versions": 4}],
                         ids=str)
def test_the_same_files_go(peer, uri, options):
    busy(peer, uri)
    for name in ("data/orphan.lance", "_deletions/7-1-5.bin", "_transactions/1-orphan.txn", "_indices/orphan/page.lance", "data/notes.txt"):
        pathlib.Path(uri, name).parent.mkdir(parents=True, exist_ok=True)
        pathlib.Path(uri, name).write_bytes(b"junk")
    theirs, their_stats = peer.value("explain(uri, **options)", uri=uri, options=options)
    ours, our_stats = explained(uri, **options)
    if options.get("delete_unverified"):
        # The peer then calls all of them unverified, and leaves deletion and transaction files there that nothing names.
        orphans = {"_deletions/7-1-5.bin", "_transactions/1-orphan.txn"}
        assert {path for path, *_ in ours} == {path for path, *_ in theirs} | orphans
        return
    assert ours == theirs
    assert our_stats == their_stats
    copy = uri + ".copy"
    shutil.copytree(uri, copy)
    rows = read(peer, uri)
    stats = javelin.dataset(uri).cleanup_old_versions(**options)
    assert {name: getattr(stats, name) for name in our_stats} == our_stats
    peer.run("lance.dataset(copy).cleanup_old_versions(**options)", copy=copy)
    assert files(uri) == files(copy)
    assert read(peer, uri) == rows
    assert peer.value("lance.dataset(uri).to_table(filter='id = 31')['id'].to_pylist()") == [31]  # by the index
    peer.run("lance.dataset(uri).validate()")


def test_old_files_that_nobody_names(peer, uri):
    busy(peer, uri)
    for name, days in (("data/young.lance", 6.9), ("data/old.lance", 7.1), ("_deletions/7-1-5.arrow", 8), ("_transactions/1-x.txn", 8)):
        path = pathlib.Path(uri, name)
        path.write_bytes(b"junk")
        os.utime(path, (time.time() - days * 86400,) * 2)
    options = {"retain_versions": 100}
    assert explained(uri, **options)[0] == peer.value("explain(uri, **options)", uri=uri, options=options)[0]
    assert [name for name, *_ in explained(uri, **options)[0]] == ["_deletions/7-1-5.arrow", "_transactions/1-x.txn", "data/old.lance"]


def test_the_peer_cleans_up_what_we_made(peer, uri):
    dataset = javelin.write_dataset(numbered(0, 30), uri, max_rows_per_file=5)
    dataset.insert(numbered(30, 5))
    dataset.optimize.compact_files()
    theirs, _ = peer.value("explain(uri, older_than=timedelta(0))", uri=uri)
    assert explained(uri, older_than=timedelta(0))[0] == theirs
    peer.run("lance.dataset(uri).cleanup_old_versions(older_than=timedelta(0))")
    assert read(peer, uri) == list(range(35))
    assert len(list(pathlib.Path(uri, "data").iterdir())) == 1
    assert [version["version"] for version in javelin.dataset(uri).versions()] == [4]


def test_tags_and_branches(peer, uri):
    busy(peer, uri)
    peer.run("ds = lance.dataset(uri); ds.tags.create('keep', 2); ds.create_branch('b', 4)", uri=uri)
    with pytest.raises(errors.InvalidInput, match="'keep' .version 2."):
        javelin.dataset(uri).cleanup_old_versions(older_than=timedelta(0))
    with pytest.raises(PeerError, match="keep"):
        peer.run("lance.dataset(uri).cleanup_old_versions(older_than=timedelta(0))")
    options = {"older_than": timedelta(0), "error_if_tagged_old_versions": False}
    explanation = javelin.dataset(uri).explain_cleanup_old_versions(**options)
    assert [(branch.name, branch.referenced_version) for branch in explanation.referenced_branches] == [("b", 4)]
    assert explanation.candidate_files == []
    theirs = peer.value("explain(uri, **options)", options=options)[0]
    # The peer takes the transaction of a version that a branch keeps; we leave it there.
    kept = {name for name, *_ in theirs} - {name for name, *_ in explained(uri, **options)[0]}
    assert all(name.startswith("_transactions/") for name in kept) and len(kept) <= 1
    javelin.dataset(uri).cleanup_old_versions(**options)
    assert [version["version"] for version in javelin.dataset(uri).versions()] == [2, 4, javelin.dataset(uri).version]
    assert peer.value("lance.dataset(uri).checkout_version('keep').count_rows()") == 55
    assert peer.value("lance.dataset(uri).checkout_version(('b', None)).count_rows()") == 54
    read(peer, uri)


def test_what_lies_elsewhere_is_not_touched(peer, uri, tmp_path):
    busy(peer, uri)
    clone = str(tmp_path / "clone.lance")
    peer.run("lance.dataset(uri).shallow_clone(clone, lance.dataset(uri).version)", uri=uri, clone=clone)
    before = files(uri)
    peer.run("ds = lance.dataset(clone); ds.delete('id = 40'); ds.delete('id = 41'); lance.write_dataset(table, clone, mode='overwrite')",
             table=numbered(0, 3))
    stats = javelin.dataset(clone).cleanup_old_versions(older_than=timedelta(0))
    assert stats.old_versions == 3 and stats.data_files_removed == 0 and stats.deletion_files_removed == 2
    assert files(uri) == before
    assert read(peer, clone) == [0, 1, 2]


def test_shards_are_not_touched(peer, uri, shard):
    key = {"lance-schema:unenforced-primary-key": "true"}
    schema = pa.schema([pa.field("id", pa.int64(), nullable=False, metadata=key), pa.field("s", pa.string())])
    dataset = javelin.write_dataset(numbered(0, 5).cast(schema), uri)
    dataset.initialize_mem_wal(unsharded=True)
    with dataset.mem_wal_writer(shard, commit_mode="eager") as writer:
        writer.put(numbered(3, 4).cast(schema))
    dataset.insert(numbered(20, 2).cast(schema))
    dataset.optimize.compact_files()
    below = {name for name in files(uri) if name.startswith("_mem_wal")}
    assert below
    dataset.cleanup_old_versions(older_than=timedelta(0), delete_unverified=True)
    assert {name for name in files(uri) if name.startswith("_mem_wal")} == below
    assert sorted(dataset.fresh().to_table()["id"].to_pylist()) == [*range(7), 20, 21]
    dataset.compact_shards()
    assert sorted(read(peer, uri)) == [*range(7), 20, 21]
