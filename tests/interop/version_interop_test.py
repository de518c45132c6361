"""Tables in data files of 2.0, 2.1 and 2.2, made by either library: rows, shards, compaction and schema changes by the other."""

from pathlib import Path

import pyarrow as pa
import pytest

import javelin
from javelin import errors

pytestmark = pytest.mark.interop

KEY = {"lance-schema:unenforced-primary-key": "true"}
SCHEMA = pa.schema([
    pa.field("id", pa.int64(), nullable=False, metadata=KEY),
    pa.field("text", pa.string()),
    pa.field("vector", pa.list_(pa.float32(), 4)),
    pa.field("tags", pa.list_(pa.string())),
    pa.field("place", pa.struct([pa.field("x", pa.int32()), pa.field("names", pa.list_(pa.struct([pa.field("n", pa.string())])))])),
])
VERSIONS = ["2.0", "2.1", "2.2"]
HELPERS = """
def files_of(uri):
    return [f"{f.file_major_version}.{f.file_minor_version}" for fragment in lance.dataset(uri).get_fragments() for f in fragment.metadata.files]
def rows_of(uri):
    return sorted(lance.dataset(uri).to_table().to_pylist(), key=lambda row: row["id"])
"""


def row(key, tag):
    return {"id": key, "text": None if key % 5 == 0 else f"{tag} {key % 3}", "vector": None if key % 7 == 0 else [float(key)] * 4,
            "tags": None if key % 4 == 0 else [f"{tag}{i}" for i in range(key % 3)],
            "place": {"x": None if key % 2 else key, "names": [{"n": tag}] * (key % 4)}}


def rows(keys, tag):
    return pa.Table.from_pylist([row(key, tag) for key in keys], schema=SCHEMA)


def keys(*ids):
    return pa.table({"id": pa.array(ids, pa.int64())})


def made(maker, peer, tmp_path, version, base):
    uri = str(tmp_path / "table.lance")
    if maker == "ours":
        javelin.write_dataset(base, uri, data_storage_version=version)
    else:
        peer.run("lance.write_dataset(base, uri, data_storage_version=version)", base=base, uri=uri, version=version)
    return uri


def by_id(table):
    return sorted(table.to_pylist(), key=lambda entry: entry["id"])


def expect(*parts):
    return sorted((row(key, tag) for ids, tag in parts for key in ids), key=lambda entry: entry["id"])


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("maker", ["ours", "theirs"])
def test_rows_of_both_in_one_table(peer, tmp_path, maker, version):
    uri = made(maker, peer, tmp_path, version, rows(range(150), "base"))
    javelin.write_dataset(rows(range(150, 160), "we"), uri, mode="append")
    peer.run("lance.write_dataset(more, uri, mode='append')", uri=uri, more=rows(range(160, 170), "they"))
    expected = expect((range(150), "base"), (range(150, 160), "we"), (range(160, 170), "they"))
    assert peer.value("rows_of(uri)", uri=uri) == expected
    assert by_id(javelin.dataset(uri).to_table()) == expected
    assert peer.value("files_of(uri)", uri=uri) == [version] * 3
    assert javelin.dataset(uri).data_storage_version == version
    wanted = [3, 155, 165]
    assert javelin.dataset(uri).take(wanted).to_pylist() == peer.value("lance.dataset(uri).take(wanted).to_pylist()", uri=uri, wanted=wanted)
    # Either changes columns, the other goes on.
    peer.run("lance.dataset(uri).drop_columns(['vector'])", uri=uri)
    left = pa.Table.from_pylist([row(200, "late")], schema=SCHEMA).drop_columns(["vector"])
    javelin.write_dataset(left, uri, mode="append")
    peer.run("lance.dataset(uri).optimize.compact_files()", uri=uri)
    found = by_id(javelin.dataset(uri).to_table())
    assert found == peer.value("rows_of(uri)", uri=uri)
    assert found == [{k: v for k, v in entry.items() if k != "vector"} for entry in [*expected, row(200, "late")]]
    # An overwrite keeps the version too.
    overwritten = javelin.write_dataset(rows([1], "new"), uri, mode="overwrite")
    assert overwritten.data_storage_version == version
    assert peer.value("files_of(uri)", uri=uri) == [version]


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("maker", ["ours", "theirs"])
def test_shards(peer, tmp_path, shard, maker, version):
    uri = made(maker, peer, tmp_path, version, rows(range(5), "base"))
    javelin.dataset(uri).initialize_mem_wal(unsharded=True)
    with javelin.dataset(uri).mem_wal_writer(shard, commit_mode="eager") as writer:
        writer.put(rows([3, 10, 11], "we"))
        writer.delete(keys(1, 11))
    expected = expect(([0, 2, 4], "base"), ([3, 10], "we"))
    assert by_id(javelin.dataset(uri).fresh().to_table()) == expected
    (sstable,) = Path(uri, "_mem_wal", shard).glob("*_gen_1")
    assert peer.value("files_of(uri)", uri=str(sstable)) == [version]
    # The peer reads that SSTable, adds one of its own.
    peer.run("w = lance.dataset(uri).mem_wal_writer(shard, max_wal_flush_interval_ms=5)", uri=uri, shard=shard)
    assert by_id(peer.value("w.lsm_scanner().to_table()").select(SCHEMA.names)) == expected
    peer.run("w.put(more); w.close(); del w", more=rows([4, 12], "they"))
    expected = expect(([0, 2], "base"), ([3, 10], "we"), ([4, 12], "they"))
    assert by_id(javelin.dataset(uri).fresh().to_table()) == expected
    javelin.dataset(uri).compact_shards()
    assert by_id(javelin.dataset(uri).to_table()) == expected
    assert peer.value("rows_of(uri)", uri=uri) == expected
    assert set(peer.value("files_of(uri)", uri=uri)) == {version}


@pytest.mark.parametrize("version", ["2.0", "2.1"])
@pytest.mark.parametrize("maker", ["ours", "theirs"])
def test_a_new_column_while_rows_are_in_the_log(peer, tmp_path, shard, maker, version):
    uri = made(maker, peer, tmp_path, version, rows(range(3), "base"))
    javelin.dataset(uri).initialize_mem_wal(unsharded=True)
    with javelin.dataset(uri).mem_wal_writer(shard, commit_mode="eager") as writer:
        writer.put(rows([3], "before"))
        peer.run("lance.dataset(uri).add_columns(pa.field('late', pa.int64()))", uri=uri)
        writer.evolve()
        writer.put(rows([4], "after").append_column("late", pa.array([7], pa.int64())))
    javelin.dataset(uri).compact_shards()
    expected = [{**entry, "late": 7 if entry["id"] == 4 else None} for entry in expect((range(3), "base"), ([3], "before"), ([4], "after"))]
    assert by_id(javelin.dataset(uri).to_table()) == expected
    assert peer.value("rows_of(uri)", uri=uri) == expected


def test_names_of_versions(peer, tmp_path):
    base = pa.table({"x": [1, 2]})
    for name, version in [("2.0", "2.0"), ("0.3", "2.0"), ("2.1", "2.1"), ("2.2", "2.2"), ("Stable", "2.2"), (None, "2.2")]:
        uri = str(tmp_path / f"{name}.lance")
        assert javelin.write_dataset(base, uri, data_storage_version=name).data_storage_version == version
        theirs = str(tmp_path / f"{name}.theirs.lance")
        assert peer.value("lance.write_dataset(base, uri, data_storage_version=name).data_storage_version", base=base, uri=theirs, name=name) == version
    for name in ["legacy", "0.1", "next", "2.3"]:
        with pytest.raises(errors.NotSupported):
            javelin.write_dataset(base, tmp_path / "none.lance", data_storage_version=name)
    for name in ["2.4", "", "v2.1", "newest"]:
        with pytest.raises(errors.InvalidInput, match="2.1"):
            javelin.write_dataset(base, tmp_path / "none.lance", data_storage_version=name)
    assert not (tmp_path / "none.lance").exists()


@pytest.mark.parametrize("version", ["2.0", "2.1"])
def test_an_append_in_another_version_leaves_a_table_of_both(peer, tmp_path, version):
    uri = made("ours", peer, tmp_path, version, rows(range(3), "base"))
    javelin.write_dataset(rows([3], "other"), uri, mode="append", data_storage_version="2.2")
    javelin.write_dataset(rows([4], "own"), uri, mode="append")
    assert javelin.dataset(uri).data_storage_version == version
    assert peer.value("files_of(uri)", uri=uri) == [version, "2.2", version]
    expected = expect((range(3), "base"), ([3], "other"), ([4], "own"))
    assert by_id(javelin.dataset(uri).to_table()) == peer.value("rows_of(uri)", uri=uri) == expected


def test_what_a_version_cannot_hold_is_refused_before_anything_is_written(tmp_path, shard):
    kind = pa.map_(pa.string(), pa.int32())
    table = pa.table({"id": pa.array([1]), "m": pa.array([[("a", 1)]], kind)})
    for version in ["2.0", "2.1"]:
        with pytest.raises(errors.NotSupported, match="'m'.*2.2"):
            javelin.write_dataset(table, tmp_path / "map.lance", data_storage_version=version)
    assert not (tmp_path / "map.lance").exists()
    # Rows with a null struct: refused by the writer of a table of 2.0, before the log, and its other rows are not touched.
    uri = tmp_path / "struct.lance"
    javelin.write_dataset(rows([1], "base"), uri, data_storage_version="2.0").initialize_mem_wal(unsharded=True)
    null = pa.Table.from_pylist([{**row(2, "null"), "place": None}], schema=SCHEMA)
    with pytest.raises(errors.InvalidInput, match="'place'.*null struct"):
        javelin.write_dataset(null, uri, mode="append")
    with javelin.dataset(uri).mem_wal_writer(shard, commit_mode="eager") as writer:
        with pytest.raises(errors.InvalidInput, match="'place'.*null struct"):
            writer.put(null)
        writer.put(rows([3], "fine"))
        writer.delete(keys(1))
    assert by_id(javelin.dataset(uri).fresh().to_table()) == expect(([3], "fine"))
    javelin.dataset(uri).compact_shards()
    assert by_id(javelin.dataset(uri).to_table()) == expect(([3], "fine"))
