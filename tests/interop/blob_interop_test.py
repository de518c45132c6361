"""Blob columns of the peer's tables: where values lie, and the bytes, by us and by the peer."""

import os
import pathlib

import pyarrow as pa
import pytest

import javelin

pytestmark = pytest.mark.interop

HELPERS = """
import shutil

def write(uri, values, version):
    field = pa.field("b", pa.large_binary(), metadata={"lance-encoding:blob": "true"})
    schema = pa.schema([pa.field("id", pa.int64()), field])
    table = pa.table([pa.array(range(len(values))), pa.array(values, field.type)], schema=schema)
    lance.write_dataset(table, uri, data_storage_version=version, max_rows_per_file=25)

def write_v2(uri, values, **options):
    schema = pa.schema([pa.field("id", pa.int64()), lance.blob_field("b")])
    table = pa.table([pa.array(range(len(values))), lance.blob_array(values)], schema=schema)
    lance.write_dataset(table, uri, data_storage_version="2.2", **options)
"""

VALUES = [None if i % 5 == 3 else b"" if i % 5 == 4 else bytes([i % 251]) * (i * 300) for i in range(60)]


def described(table):
    """A description column as plain values."""
    return table["b"].combine_chunks().to_pylist()


@pytest.mark.parametrize("version", ["2.0", "2.1", "2.2"])
def test_descriptions_and_bytes(peer, tmp_path, version):
    uri = str(tmp_path / "table")
    peer.run("write(uri, values, version)", uri=uri, values=VALUES, version=version)
    theirs = peer.answer("t = lance.dataset(uri).to_table()", "(t['b'].combine_chunks().to_pylist(), t.schema.field('b').type,"
                         " dict(t.schema.field('b').metadata))", uri=uri)
    dataset = javelin.dataset(uri)
    table = dataset.to_table()
    assert (described(table), table.schema.field("b").type, dict(table.schema.field("b").metadata)) == theirs
    assert dataset.take([7, 3, 4, 59], columns=["b"])["b"].to_pylist() == [theirs[0][i] for i in [7, 3, 4, 59]]

    whole = dataset.to_table(blob_handling="all_binary")
    assert whole["b"].to_pylist() == VALUES and whole.column_names == ["id", "b"]
    assert whole.schema.field("b").type == pa.large_binary()
    batches = list(dataset.to_batches(["b"], batch_size=7, blob_handling="all_binary"))
    assert [value for batch in batches for value in batch["b"].to_pylist()] == VALUES
    assert max(batch.num_rows for batch in batches) <= 7
    scan = dataset.scanner(["b", "id"], limit=3, offset=24, with_row_address=True, blob_handling="all_binary")
    assert scan.projected_schema.names == ["b", "id", "_rowaddr"] == scan.to_table().column_names
    assert scan.to_table()["b"].to_pylist() == VALUES[24:27] == pa.table(scan)["b"].to_pylist()
    taken = dataset.take([59, 3, 4, 7, 59], blob_handling="all_binary")
    assert taken["b"].to_pylist() == [VALUES[i] for i in [59, 3, 4, 7, 59]] and taken.column_names == ["id", "b"]


# An empty value beside neighbours reads as empty, whether it is asked for alone or with them.
@pytest.mark.parametrize("version", ["2.0", "2.1", "2.2"])
def test_an_empty_blob_beside_neighbours(peer, tmp_path, version):
    uri = str(tmp_path / "table")
    values = [b"first", b"", b"third", None, b"", b"", b"last"]
    peer.run("write(uri, values, version)", uri=uri, values=values, version=version)
    dataset = javelin.dataset(uri)
    for first in range(len(values)):
        for end in range(first + 1, len(values) + 1):
            rows = list(range(first, end))
            assert dataset.take(rows, blob_handling="all_binary")["b"].to_pylist() == values[first:end]


def test_sidecars(peer, tmp_path):
    uri = str(tmp_path / "table")
    values = [b"", b"small", None, b"x" * 70000, b"y" * (5 << 20), b"z" * 65536, b"q" * 65537]
    peer.run("write_v2(uri, values)", uri=uri, values=values)
    dataset = javelin.dataset(uri)
    kinds = [None if place is None else place["kind"] for place in described(dataset.to_table())]
    assert kinds == [0, 0, None, 1, 2, 0, 1]
    assert dataset.to_table(blob_handling="all_binary")["b"].to_pylist() == values
    assert dataset.take([6, 4, 2], blob_handling="all_binary")["b"].to_pylist() == [values[i] for i in [6, 4, 2]]
    # A sidecar that was cut short, and one that is gone.
    sidecars = sorted(pathlib.Path(uri, "data").glob("*/*.blob"))
    assert len(sidecars) == 2
    packed = next(path for path in sidecars if path.stat().st_size == 70000 + 65537)
    os.truncate(packed, 70000 + 65536)
    with pytest.raises(javelin.errors.Corruption, match="column 'b'"):
        javelin.dataset(uri).take([6], blob_handling="all_binary")
    assert javelin.dataset(uri).take([3], blob_handling="all_binary")["b"].to_pylist() == [values[3]]
    packed.unlink()
    with pytest.raises(javelin.errors.NotFound):
        javelin.dataset(uri).take([3], blob_handling="all_binary")


def test_blobs_outside_the_table_are_refused(peer, tmp_path):
    uri, outside = str(tmp_path / "table"), tmp_path / "outside.bin"
    outside.write_bytes(b"outside")
    peer.run("write_v2(uri, values, allow_external_blob_outside_bases=True)", uri=uri, values=[b"inside", outside.as_uri()])
    dataset = javelin.dataset(uri)
    assert [place["kind"] for place in described(dataset.to_table())] == [0, 3]
    assert described(dataset.to_table())[1]["blob_uri"] == outside.as_uri()
    with pytest.raises(javelin.errors.NotSupported, match="column 'b'"):
        dataset.to_table(blob_handling="all_binary")
    assert dataset.take([0], blob_handling="all_binary")["b"].to_pylist() == [b"inside"]
    assert dataset.to_table(["id"], blob_handling="all_binary")["id"].to_pylist() == [0, 1]


def test_what_is_asked_of_blobs_is_checked(peer, tmp_path):
    uri = str(tmp_path / "table")
    peer.run("write(uri, values, '2.1')", uri=uri, values=[b"a", b"b"])
    dataset = javelin.dataset(uri)
    with pytest.raises(javelin.errors.InvalidInput, match="all_binary"):
        dataset.to_table(blob_handling="bytes")
    with pytest.raises(javelin.errors.WrongType):
        dataset.scanner(blob_handling=1)
    # What deletes leave is right for blobs too.
    peer.run("lance.dataset(uri).delete('id = 0')", uri=uri)
    assert javelin.dataset(uri).to_table(blob_handling="all_binary").to_pylist() == [{"id": 1, "b": b"b"}]


# Newer rows of a shard would have to be told apart from the base's: until they are, such views answer the other columns only.
def test_views_of_shards_refuse_blobs(peer, shard, tmp_path):
    uri = str(tmp_path / "table")
    peer.run("""
field = pa.field("b", pa.large_binary(), metadata={"lance-encoding:blob": "true"})
schema = pa.schema([pa.field("id", pa.int64(), False, metadata={"lance-schema:unenforced-primary-key": "true"}), field])
rows = lambda ids: pa.table([pa.array(ids), pa.array([b"x"] * len(ids), field.type)], schema=schema)
dataset = lance.write_dataset(rows([1, 2]), uri, data_storage_version="2.1")
dataset.initialize_mem_wal(unsharded=True)
writer = dataset.mem_wal_writer(shard)
writer.put(rows([3]))
writer.close()
""", uri=uri, shard=shard)
    dataset = javelin.dataset(uri)
    assert dataset.to_table(blob_handling="all_binary")["b"].to_pylist() == [b"x", b"x"]
    view = dataset.fresh()
    assert sorted(view.to_table(["id"])["id"].to_pylist()) == [1, 2, 3]
    for read in [view.to_table, lambda: view.get([1]), lambda: view.get([3]), dataset.compact_shards, lambda: dataset.mem_wal_writer(shard)]:
        with pytest.raises(javelin.errors.NotSupported):
            read()
    assert javelin.dataset(uri).to_table(["id"])["id"].to_pylist() == [1, 2]
