"""Blob columns: where values lie, and the bytes, of the peer's tables by us, of ours by the peer, and of one by both in turn."""

import os
import pathlib
import random
import subprocess

import pyarrow as pa
import pytest

import javelin
from peer import PeerError, built_tool

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

def everything(uri):
    "Ids, and the bytes by each way that the peer has, which must agree."
    dataset = lance.dataset(uri)
    rows = list(range(dataset.count_rows()))
    files = [] if not rows else dataset.take_blobs("b", indices=rows)
    whole = [None if file is None else file.read() for file in files]
    assert [value for _, value in (dataset.read_blobs("b", indices=rows) if rows else [])] == whole
    table = dataset.to_table(blob_handling="all_binary")
    assert table["b"].to_pylist() == whole
    shuffled = rows[::-3]
    if shuffled:
        assert [None if file is None else file.read() for file in dataset.take_blobs("b", indices=shuffled)] == [whole[i] for i in shuffled]
    return table["id"].to_pylist(), whole
"""

BLOB = {"lance-encoding:blob": "true"}
SIZES = {"lance-encoding:blob-inline-size-threshold": "300", "lance-encoding:blob-dedicated-size-threshold": "2000",
         "lance-encoding:blob-pack-file-size-threshold": "5000"}
SHORT = pa.struct([("data", pa.large_binary()), ("uri", pa.utf8())])
LONG = pa.struct([("data", pa.large_binary()), ("uri", pa.utf8()), ("position", pa.uint64()), ("size", pa.uint64())])


class BlobType(pa.ExtensionType):
    def __init__(self, storage=LONG):
        super().__init__(storage, "lance.blob.v2")

    def __arrow_ext_serialize__(self):
        return b""

    @classmethod
    def __arrow_ext_deserialize__(cls, storage, serialized):
        return cls(storage)


def rows_of(values, first=0, kind=pa.large_binary(), metadata=BLOB):
    """A table of ids from `first` on and the values as blobs of a type that they may be given in."""
    storage = kind.storage_type if isinstance(kind, pa.ExtensionType) else kind
    plain = values if not pa.types.is_struct(storage) else [None if value is None else {"data": value} for value in values]
    array = pa.array(plain, storage)
    array = pa.ExtensionArray.from_storage(kind, array) if isinstance(kind, pa.ExtensionType) else array
    schema = pa.schema([pa.field("id", pa.int64()), pa.field("b", kind, metadata=metadata)])
    return pa.table([pa.array(range(first, first + len(values)), pa.int64()), array], schema=schema)


def random_values(draw, count, edges):
    """Nulls, empty ones, and bytes of sizes around each edge."""
    values = []
    for _ in range(count):
        size = max(0, draw.choice(edges) + draw.randint(-2, 2)) if draw.random() < 0.5 else draw.randint(0, 400)
        values.append(None if draw.random() < 0.15 else draw.randbytes(0 if draw.random() < 0.1 else size))
    return values

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


def test_blobs_outside_of_base_paths_are_refused(peer, tmp_path):
    uri, outside = str(tmp_path / "table"), tmp_path / "outside.bin"
    outside.write_bytes(b"outside")
    peer.run("write_v2(uri, values, allow_external_blob_outside_bases=True)", uri=uri, values=[b"inside", outside.as_uri()])
    dataset = javelin.dataset(uri)
    assert [place["kind"] for place in described(dataset.to_table())] == [0, 3]
    assert described(dataset.to_table())[1]["blob_uri"] == outside.as_uri()
    for read in (
        lambda: dataset.to_table(blob_handling="all_binary"),
        lambda: dataset.take_blobs("b", indices=[0, 1]),
        lambda: dataset.read_blobs("b", indices=[1]),
        lambda: dataset.read_blob_ranges("b", [(1, 0, 0)], selector="indices"),
    ):
        with pytest.raises(javelin.errors.NotSupported, match=f"column 'b' in row 1, '{outside.as_uri()}'"):
            read()
    assert dataset.take([0], blob_handling="all_binary")["b"].to_pylist() == [b"inside"]
    assert dataset.to_table(["id"], blob_handling="all_binary")["id"].to_pylist() == [0, 1]


# By name below the base path, and as a URI of something in it; whole objects and ranges.
def test_blobs_in_base_paths(peer, tmp_path):
    uri, base = str(tmp_path / "table"), tmp_path / "base path"
    (base / "in side").mkdir(parents=True)
    (base / "a.bin").write_bytes(b"0123456789")
    (base / "in side" / "b.bin").write_bytes(b"b" * 70000)
    (base / "empty.bin").write_bytes(b"")
    peer.run("""
from lance.blob import Blob
bases = [lance.DatasetBasePath("file://" + base.replace(" ", "%20"), name="x")]
values = [None, root + "/a.bin", Blob.from_uri(root + "/a.bin", 2, 3), root + "/in%20side/b.bin", b"own", root + "/empty.bin"]
write_v2(uri, values, initial_bases=bases)
# The same at URIs, as a table that got its base path later has them.
write_v2(late, values, allow_external_blob_outside_bases=True)
lance.dataset(late).add_bases([lance.DatasetBasePath("file://" + base.replace(" ", "%20"), name="x")])
""", uri=uri, late=uri + "2", base=str(base), root=base.as_uri())
    expected = [None, b"0123456789", b"234", b"b" * 70000, b"own", b""]
    for at in (uri, uri + "2"):
        dataset = javelin.dataset(at)
        assert peer.answer("", "everything(uri)[1]", uri=at) == expected
        assert dataset.to_table(blob_handling="all_binary")["b"].to_pylist() == expected
        assert [data for _, data in dataset.read_blobs("b", indices=range(6))] == expected
        requests = [(1, 9, 1), (2, 1, 2), (3, 69999, 1), (2, 3, 0), (5, 0, 0), (0, 7, 7), (2, 0, 1)]
        theirs = peer.answer("", "lance.dataset(uri).read_blob_ranges('b', requests, selector='indices')", uri=at, requests=requests)
        assert dataset.read_blob_ranges("b", requests, selector="indices") == theirs
        for request in [(1, 10, 1), (2, 0, 4), (5, 0, 1)]:
            with pytest.raises(javelin.errors.InvalidInput, match="request 0"):
                dataset.read_blob_ranges("b", [request], selector="indices")
        batches = list(dataset.to_batches(["b"], blob_handling="all_binary"))
        assert [value for batch in batches for value in batch["b"].to_pylist()] == expected
    (base / "a.bin").write_bytes(b"01")
    with pytest.raises(javelin.errors.Corruption, match="a.bin"):
        javelin.dataset(uri).read_blobs("b", indices=[2])
    (base / "a.bin").unlink()
    with pytest.raises(javelin.errors.NotFound, match="column 'b'"):
        javelin.dataset(uri).take_blobs("b", indices=[1])
    assert javelin.dataset(uri).read_blobs("b", indices=[4])[0][1] == b"own"


# The same questions to both packages, on tables of both.
@pytest.mark.parametrize("writer", ["ours", "theirs"])
@pytest.mark.parametrize("version", ["2.0", "2.1", "2.2"])
def test_single_rows(peer, tmp_path, version, writer):
    uri = str(tmp_path / "table")
    draw = random.Random(version + writer)
    values = random_values(draw, 120, [0, 300, 2000, 5000])
    rows = rows_of(values, metadata={**BLOB, **(SIZES if version == "2.2" else {})})
    if writer == "ours":
        javelin.write_dataset(rows, uri, data_storage_version=version, max_rows_per_file=50)
    else:
        peer.run("lance.write_dataset(rows, uri, data_storage_version=version, max_rows_per_file=50)", rows=rows, uri=uri, version=version)
    peer.run("lance.dataset(uri).delete('id % 9 = 4')", uri=uri)
    live = [i for i in range(120) if i % 9 != 4]
    address = {i: i % 50 + (i // 50 << 32) for i in live}
    dataset = javelin.dataset(uri)
    for name in ("indices", "addresses", "ids"):
        picked = [draw.choice(live) for _ in range(50)]
        called = {i: live.index(i) if name == "indices" else address[i] for i in live}
        asked = [called[i] for i in picked]
        ours = dataset.read_blobs("b", **{name: asked})
        assert ours == peer.answer("", "lance.dataset(uri).read_blobs('b', **{name: asked})", uri=uri, name=name, asked=asked)
        assert [data for _, data in ours] == [values[i] for i in picked]
        files = dataset.take_blobs("b", **{name: asked})
        assert [None if file is None else file.read() for file in files] == [values[i] for i in picked]
        requests = []
        for i in picked:
            size = len(values[i] or b"")
            offset = draw.randint(0, size)
            requests.append((called[i], offset, draw.randint(0, size - offset)))
        answers = dataset.read_blob_ranges("b", requests, selector=name)
        assert answers == peer.answer("", "lance.dataset(uri).read_blob_ranges('b', requests, selector=name)", uri=uri, name=name, requests=requests)
    for name, row in [("addresses", 4), ("ids", 4), ("indices", len(live))]:
        with pytest.raises(javelin.errors.InvalidInput):
            dataset.read_blobs("b", **{name: [row]})


def test_stable_row_ids(peer, tmp_path):
    uri = str(tmp_path / "table")
    values = [b"%d" % i for i in range(30)]
    peer.run("""
write_v2(uri, values, enable_stable_row_ids=True, max_rows_per_file=7)
dataset = lance.dataset(uri)
dataset.delete("id in (1, 4, 20)")
dataset.optimize.compact_files()
schema = pa.schema([pa.field("id", pa.int64()), lance.blob_field("b")])
dataset = lance.dataset(uri)
dataset.merge_insert("id").when_matched_update_all().execute(pa.table([pa.array([3, 8]), lance.blob_array([b"three", b"eight"])], schema=schema))
""", uri=uri, values=values)
    dataset = javelin.dataset(uri)
    rows = dataset.to_table(with_row_id=True, with_row_address=True, blob_handling="all_binary").to_pylist()
    assert len(rows) == 27 and [row["b"] for row in rows if row["id"] in (3, 8)] == [b"three", b"eight"]
    asked = [row["_rowid"] for row in rows][::-2] * 2
    assert dataset.read_blobs("b", ids=asked) == [(row["_rowaddr"], row["b"]) for row in rows[::-2] * 2]
    assert dataset.read_blobs("b", ids=asked) == peer.answer("", "lance.dataset(uri).read_blobs('b', ids=asked)", uri=uri, asked=asked)
    for gone in (1, 100, 2**64 - 1):
        with pytest.raises(javelin.errors.InvalidInput, match=f"no row of id {gone}"):
            dataset.take_blobs("b", ids=[0, gone])


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
@pytest.mark.parametrize("version", ["2.1", "2.2"])
def test_views_of_shards_refuse_blobs(peer, shard, tmp_path, version):
    uri = str(tmp_path / "table")
    peer.run("""
v1 = pa.field("b", pa.large_binary(), metadata={"lance-encoding:blob": "true"})
field = v1 if version == "2.1" else lance.blob_field("b")
schema = pa.schema([pa.field("id", pa.int64(), False, metadata={"lance-schema:unenforced-primary-key": "true"}), field])
blobs = lambda count: pa.array([b"x"] * count, v1.type) if version == "2.1" else lance.blob_array([b"x"] * count)
rows = lambda ids: pa.table([pa.array(ids), blobs(len(ids))], schema=schema)
dataset = lance.write_dataset(rows([1, 2]), uri, data_storage_version=version)
dataset.initialize_mem_wal(unsharded=True)
writer = dataset.mem_wal_writer(shard)
writer.put(rows([3]))
writer.close()
""", uri=uri, shard=shard, version=version)
    dataset = javelin.dataset(uri)
    assert dataset.to_table(blob_handling="all_binary")["b"].to_pylist() == [b"x", b"x"]
    view = dataset.fresh()
    assert sorted(view.to_table(["id"])["id"].to_pylist()) == [1, 2, 3]
    for read in [view.to_table, lambda: view.get([1]), lambda: view.get([3]), dataset.compact_shards, lambda: dataset.mem_wal_writer(shard)]:
        with pytest.raises(javelin.errors.NotSupported):
            read()
    assert javelin.dataset(uri).to_table(["id"])["id"].to_pylist() == [1, 2]


# ---- what we write ----


@pytest.mark.parametrize("version", ["2.0", "2.1", "2.2"])
@pytest.mark.parametrize("seed", range(3))
def test_the_peer_reads_what_we_write(peer, tmp_path, version, seed):
    uri = str(tmp_path / "table")
    draw = random.Random(seed)
    metadata = {**BLOB, **(SIZES if seed % 2 == 0 else {})}
    edges = [0, 64, 300, 2000, 5000] if seed % 2 == 0 else [0, 64, 4096, 1 << 16]
    values = random_values(draw, 400, edges)
    source = rows_of(values, metadata=metadata).to_reader(max_chunksize=draw.randint(1, 150))
    javelin.write_dataset(source, uri, data_storage_version=version, max_rows_per_file=150)
    for _ in range(2):
        more = random_values(draw, 90, edges)
        javelin.write_dataset(rows_of(more, len(values), metadata=metadata), uri, mode="append")
        values += more
    assert peer.answer("", "everything(uri)", uri=uri) == (list(range(len(values))), values)
    dataset = javelin.dataset(uri)
    assert dataset.to_table(blob_handling="all_binary")["b"].to_pylist() == values
    assert described(dataset.to_table()) == peer.value("lance.dataset(uri).to_table()['b'].combine_chunks().to_pylist()")
    some = [draw.randrange(len(values)) for _ in range(40)]
    assert dataset.take(some, blob_handling="all_binary")["b"].to_pylist() == [values[i] for i in some]


# Sizes at which values move, unless the field says otherwise.
def test_the_peer_reads_sidecars_of_ours(peer, tmp_path):
    uri = str(tmp_path / "table")
    values = [bytes([i + 1]) * size for i, size in enumerate([0, 1 << 16, (1 << 16) + 1, 4 << 20, (4 << 20) + 1, 70000])]
    javelin.write_dataset(rows_of(values), uri, max_bytes_per_file=1 << 30)
    kinds = [place["kind"] for place in described(javelin.dataset(uri).to_table())]
    assert kinds == [0, 0, 1, 1, 2, 1]
    assert peer.answer("", "everything(uri)[1]", uri=uri) == values


# The same values by both: the same places, sidecars and schema.
@pytest.mark.parametrize("version", ["2.0", "2.1", "2.2"])
def test_places_are_those_of_the_peer(peer, tmp_path, version):
    ours, theirs = str(tmp_path / "ours"), str(tmp_path / "theirs")
    draw = random.Random(5)
    metadata = {**BLOB, **(SIZES if version == "2.2" else {})}
    table = rows_of(random_values(draw, 300, [0, 300, 2000, 5000]), metadata=metadata)
    javelin.write_dataset(table, ours, data_storage_version=version)
    peer.run("lance.write_dataset(table, uri, data_storage_version=version)", table=table, uri=theirs, version=version)
    for column in ["id", "b"]:
        assert javelin.dataset(ours).to_table()[column].combine_chunks() == javelin.dataset(theirs).to_table()[column].combine_chunks()
    assert javelin.dataset(ours).schema.equals(javelin.dataset(theirs).schema, check_metadata=True)
    columns = "[file.fields for fragment in lance.dataset(uri).get_fragments() for file in fragment.data_files()]"
    assert peer.answer("", columns, uri=ours) == peer.answer("", columns, uri=theirs)

    def sidecars(uri):
        return sorted((path.name, path.read_bytes()) for path in pathlib.Path(uri, "data").glob("*/*"))

    assert sidecars(ours) == sidecars(theirs) and bool(sidecars(ours)) == (version == "2.2")


# Each after the other: appends, deletes, merges, compaction and cleanup of the peer's, appends and overwrites of ours.
@pytest.mark.parametrize("version", ["2.0", "2.1", "2.2"])
def test_one_table_in_turn(peer, tmp_path, version):
    uri = str(tmp_path / "table")
    draw = random.Random(11)
    metadata = {**BLOB, **(SIZES if version == "2.2" else {})}
    table = {}

    def add(count, write):
        values = random_values(draw, count, [0, 300, 2000, 5000])
        first = max(table, default=-1) + 1
        write(rows_of(values, first, metadata=metadata))
        table.update(enumerate(values, first))

    def ours(mode, **options):
        return lambda rows: javelin.write_dataset(rows, uri, mode=mode, **options)

    def theirs(rows):
        peer.run("lance.write_dataset(rows, uri, mode='append')", rows=rows, uri=uri)

    def check():
        ids, values = peer.answer("", "everything(uri)", uri=uri)
        assert dict(zip(ids, values)) == table and len(ids) == len(table)
        mine = javelin.dataset(uri).to_table(blob_handling="all_binary")
        assert mine["id"].to_pylist() == ids and mine["b"].to_pylist() == values

    add(60, ours("create", data_storage_version=version, max_rows_per_file=25))
    add(30, theirs)
    add(30, ours("append"))
    check()
    peer.run("lance.dataset(uri).delete('id % 7 = 3')", uri=uri)
    table = {key: value for key, value in table.items() if key % 7 != 3}
    check()
    peer.run("lance.dataset(uri).optimize.compact_files()", uri=uri)
    check()
    changed = rows_of([b"new" * 500, None], 4, metadata=metadata)
    peer.run("lance.dataset(uri).merge_insert('id').when_matched_update_all().when_not_matched_insert_all().execute(rows)",
             uri=uri, rows=changed)
    table.update({4: b"new" * 500, 5: None})
    add(10, ours("append"))
    check()
    peer.run("import datetime; lance.dataset(uri).cleanup_old_versions(datetime.timedelta(0), delete_unverified=True)", uri=uri)
    check()
    table = {}
    add(20, ours("overwrite"))
    check()


FORMS = {
    "large_binary, marked": (pa.large_binary(), BLOB),
    "binary, marked": (pa.binary(), BLOB),
    "text, marked": (pa.utf8(), BLOB),
    "extension": (BlobType(), None),
    "extension, short": (BlobType(SHORT), None),
    "extension by metadata": (LONG, {"ARROW:extension:name": "lance.blob.v2"}),
    "short by metadata": (SHORT, {"ARROW:extension:name": "lance.blob.v2"}),
    "marked struct": (SHORT, BLOB),
    "both": (SHORT, {"ARROW:extension:name": "lance.blob.v2", **BLOB}),
    "extension of bytes": (pa.large_binary(), {"ARROW:extension:name": "lance.blob.v2"}),
    "extension of other fields": (pa.struct([("data", pa.binary()), ("uri", pa.utf8())]), {"ARROW:extension:name": "lance.blob.v2"}),
    "extension of one field": (pa.struct([("data", pa.large_binary())]), {"ARROW:extension:name": "lance.blob.v2"}),
    "strange sizes": (pa.large_binary(), {**BLOB, "lance-encoding:blob-inline-size-threshold": "many"}),
    "large_binary, plain": (pa.large_binary(), None),
    "struct, plain": (SHORT, None),
    "long struct, plain": (LONG, None),
    "other sizes": (BlobType(), {"lance-encoding:blob-inline-size-threshold": "7"}),
}
SEND = """
def unpacked(name, storage, metadata, values, first):
    kind = lance.blob.BlobType._from_storage_type(storage) if name.startswith("extension") and metadata is None else storage
    kind = lance.blob.BlobType._from_storage_type(storage) if name == "other sizes" else kind
    array = pa.array(values, storage)
    array = pa.ExtensionArray.from_storage(kind, array) if kind != storage else array
    schema = pa.schema([pa.field("id", pa.int64()), pa.field("b", kind, metadata=metadata)])
    return pa.table([pa.array(range(first, first + len(values)), pa.int64()), array], schema=schema)
"""


def accepted(write):
    try:
        write()
    except (PeerError, javelin.errors.InvalidInput, javelin.errors.NotSupported):
        return False
    return True


# What is taken for a new table and for an append, we take too, and nothing more.
@pytest.mark.parametrize("base, version", [(None, "2.1"), (None, "2.2"), ("large_binary, marked", "2.1"),
                                           ("large_binary, marked", "2.2"), ("extension", "2.2")])
def test_forms_that_are_taken(peer, tmp_path, base, version):
    peer.run(SEND)
    differ = []
    for name, (kind, metadata) in FORMS.items():
        if base is None and name in ("large_binary, plain", "struct, plain", "long struct, plain"):
            continue  # no blobs
        uri = str(tmp_path / name.replace(" ", "_"))
        ours, theirs = uri + "_ours", uri + "_theirs"
        values = [b"abc", None, b""] if name != "text, marked" else ["abc", None, ""]
        if base is not None:
            for table in (ours, theirs):
                javelin.write_dataset(rows_of([b"base"], kind=FORMS[base][0], metadata=FORMS[base][1]), table, data_storage_version=version)
        mode = "create" if base is None else "append"
        mine = rows_of(values, 1, kind, metadata)
        storage = kind.storage_type if isinstance(kind, pa.ExtensionType) else kind
        plain = mine["b"].combine_chunks()
        plain = (plain.storage if isinstance(kind, pa.ExtensionType) else plain).to_pylist()
        by_us = accepted(lambda: javelin.write_dataset(mine, ours, mode=mode, data_storage_version=version))
        by_them = accepted(lambda: peer.run(
            "lance.write_dataset(unpacked(name, storage, metadata, values, 1), uri, mode=mode, data_storage_version=version)",
            name=name, storage=storage, metadata=metadata, values=plain, uri=theirs, mode=mode, version=version))
        if by_us != by_them:
            differ.append((name, by_us, by_them))
        if by_us and by_them:
            assert peer.answer("", "everything(uri)", uri=ours) == peer.answer("", "everything(uri)", uri=theirs), name
    assert not differ, str(differ)


def test_values_that_are_refused_leave_nothing(tmp_path):
    uri = str(tmp_path / "table")
    schema = pa.schema([pa.field("b", LONG, metadata={"ARROW:extension:name": "lance.blob.v2"})])
    for row, kind in [({}, javelin.errors.InvalidInput), ({"data": b"a", "uri": "file:///x"}, javelin.errors.InvalidInput),
                      ({"data": b"a", "position": 1, "size": 1}, javelin.errors.InvalidInput),
                      ({"uri": "file:///x", "size": 1}, javelin.errors.InvalidInput),
                      ({"uri": "file:///x"}, javelin.errors.NotSupported)]:
        good = [{"data": b"x" * 70000}] * 3
        batches = [pa.record_batch([pa.array(values, LONG)], schema=schema) for values in (good, [row])]
        with pytest.raises(kind, match="'b'"):
            javelin.write_dataset(iter(batches), uri, schema=schema, max_rows_per_file=2)
        assert [path for path in pathlib.Path(uri).rglob("*") if path.is_file()] == []
    with pytest.raises(javelin.errors.NotSupported, match="2.2"):
        javelin.write_dataset(pa.table([pa.array([{"data": b"a"}], LONG)], schema=schema), uri, data_storage_version="2.1")


# Values of all columns of a file share its sidecars.
def test_several_columns(peer, tmp_path):
    draw = random.Random(21)
    fields = [pa.field("id", pa.int64()), pa.field("tags", pa.list_(pa.string()))]
    sizes = [SIZES, {}, {**SIZES, "lance-encoding:blob-pack-file-size-threshold": "700"}]
    fields += [pa.field(f"b{i}", pa.large_binary(), metadata={**BLOB, **some}) for i, some in enumerate(sizes)]
    blobs = [random_values(draw, 200, [0, 300, 2000, 5000]) for _ in sizes]
    blobs[1][77] = draw.randbytes(70000)
    table = pa.table([pa.array(range(200)), pa.array([["x"] * (i % 3) for i in range(200)])] +
                     [pa.array(values, pa.large_binary()) for values in blobs], schema=pa.schema(fields))
    ours, theirs = str(tmp_path / "ours"), str(tmp_path / "theirs")
    dataset = javelin.write_dataset(table, ours)
    peer.run("lance.write_dataset(table, uri)", table=table, uri=theirs)
    for read in (dataset, javelin.dataset(theirs)):
        bytes_of = read.to_table(blob_handling="all_binary")
        assert [bytes_of[name].to_pylist() for name in bytes_of.column_names] == [table[name].to_pylist() for name in table.column_names]
    assert peer.answer("", "lance.dataset(uri).to_table(blob_handling='all_binary').to_pydict()", uri=ours) == table.to_pydict()
    assert dataset.to_table().combine_chunks().to_pydict() == javelin.dataset(theirs).to_table().to_pydict()


# A file alone: v1 in all versions.
@pytest.mark.parametrize("version", ["2.0", "2.1", "2.2"])
def test_files_of_ours(peer, tmp_path, version):
    values = random_values(random.Random(3), 500, [0, 64, 4096])
    table = rows_of(values)
    source, target = str(tmp_path / "in.arrow"), str(tmp_path / "out.lance")
    with pa.OSFile(source, "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table, max_chunksize=90)
    subprocess.run([built_tool("file_tool"), "write", source, target, "--page-bytes", "2000", "--version", version], check=True)
    peer.run("from lance.file import LanceFileReader")
    read = peer.answer("", "LanceFileReader(path).read_all().to_table().to_pydict()", path=target)
    assert read == {"id": list(range(500)), "b": values}


# ---- memory and batches ----


def test_large_values_in_little_memory(tmp_path):
    uri = str(tmp_path / "table")
    session = javelin.Session(memory_limit_bytes=24 << 20)
    values = [bytes([i + 1]) * (6 << 20) for i in range(8)]
    for mode, version in [("create", "2.2"), ("overwrite", "2.1")]:
        javelin.write_dataset(rows_of(values), uri, mode=mode, session=session, data_storage_version=version)
        dataset = javelin.dataset(uri, session=session)
        with pytest.raises(javelin.errors.OutOfMemory):
            dataset.take(list(range(8)), blob_handling="all_binary")
        batches = list(dataset.to_batches(["b"], blob_handling="all_binary", batch_size_bytes=8 << 20))
        assert [batch.num_rows for batch in batches] == [1] * 8
        assert [value for batch in batches for value in batch["b"].to_pylist()] == values


def test_bytes_of_blobs_count_in_a_batch(tmp_path):
    uri = str(tmp_path / "table")
    values = random_values(random.Random(9), 600, [0, 1000, 9000])
    dataset = javelin.write_dataset(rows_of(values), uri, max_rows_per_file=250)
    batches = list(dataset.to_batches(blob_handling="all_binary", batch_size_bytes=20000))
    assert [value for batch in batches for value in batch["b"].to_pylist()] == values
    assert max(batch.nbytes for batch in batches) < 2 * 20000 and len(batches) > 10
    scan = dataset.scanner(["b"], limit=100, offset=37, blob_handling="all_binary", batch_size=30, batch_size_bytes=5000)
    assert scan.to_table()["b"].to_pylist() == values[37:137] and max(batch.num_rows for batch in scan.to_batches()) <= 30


def test_shards_of_blob_tables_are_refused(tmp_path):
    key = pa.field("id", pa.int64(), False, metadata={"lance-schema:unenforced-primary-key": "true"})
    for version in ("2.0", "2.1", "2.2"):
        table = rows_of([b"a", b"b"])
        table = pa.table(table.columns, schema=pa.schema([key, table.schema.field("b")]))
        dataset = javelin.write_dataset(table, str(tmp_path / version), data_storage_version=version)
        with pytest.raises(javelin.errors.NotSupported, match="'b'"):
            dataset.initialize_mem_wal(unsharded=True)


INSIDE = """
import glob
plain = pa.field("b", pa.large_binary(), metadata={"lance-encoding:blob": "true"})
values = [b"abc", None, b"", b"x" * 100_000, b"y" * 300] * 40

def inside(kind, version):
    "A table with the values as blobs inside structs or lists, and rows that are null or empty around them."
    if version == "v2":
        blobs, field = lance.blob_array(values), lance.blob_field("b")
    else:
        blobs, field = pa.array(values, pa.large_binary()), plain
    if kind == "struct":
        rows = pa.StructArray.from_arrays([pa.array(range(200), pa.int16()), blobs], fields=[pa.field("x", pa.int16()), field],
                                          mask=None if version == "2.0" else pa.array([i % 7 == 0 for i in range(200)]))
    else:
        ends = [i // 2 * 2 for i in range(101)]
        storage = blobs.storage if isinstance(blobs, pa.ExtensionArray) else blobs
        rows = pa.ListArray.from_arrays(pa.array(ends, pa.int32()), storage, type=pa.list_(pa.field("item", storage.type, metadata=plain.metadata)),
                                        mask=pa.array([i % 4 == 2 for i in range(100)]))
    schema = pa.schema([pa.field("id", pa.int64()), pa.field("c", rows.type)])
    if kind == "struct":
        schema = pa.schema([pa.field("id", pa.int64()), pa.field("c", pa.struct([pa.field("x", pa.int16()), field]))])
    return pa.table([pa.array(range(len(rows))), rows], schema=schema)

def write_inside(uri, kind, version):
    lance.write_dataset(inside(kind, version), uri, data_storage_version="2.2" if version == "v2" else version)
    return glob.glob(uri + "/data/*.lance")[0]
"""


@pytest.mark.parametrize("kind, version", [("struct", "2.0"), ("struct", "2.1"), ("struct", "2.2"), ("struct", "v2"), ("list", "2.0"), ("list", "2.2")])
def test_places_of_blobs_inside_structs_and_lists(peer, tmp_path, kind, version):
    peer.run(INSIDE)
    path = peer.value("write_inside(uri, kind, version)", uri=str(tmp_path / "t"), kind=kind, version=version)
    theirs = peer.value("lance.dataset(uri).to_table().to_pylist()", uri=str(tmp_path / "t"))
    tool, out = built_tool("file_tool"), str(tmp_path / "out.arrow")
    subprocess.run([tool, "read", path, out], check=True)
    with pa.OSFile(out, "rb") as source:
        assert pa.ipc.open_file(source).read_all().to_pylist() == theirs
    rows = [len(theirs) - 1, 3, 0, 50, 3]
    subprocess.run([tool, "read", path, out, "--rows", ",".join(map(str, rows))], check=True)
    with pa.OSFile(out, "rb") as source:
        assert pa.ipc.open_file(source).read_all().to_pylist() == [theirs[row] for row in rows]


@pytest.mark.parametrize("kind, version", [("struct", "2.0"), ("struct", "2.1"), ("struct", "2.2"), ("struct", "v2"), ("list", "2.0"), ("list", "2.2"), ("list", "v2")])
def test_bytes_of_blobs_inside_structs_and_lists(peer, tmp_path, kind, version):
    uri = str(tmp_path / "theirs")
    peer.run(INSIDE)
    if (kind, version) == ("list", "v2"):
        peer.run("""
rows = pa.ListArray.from_arrays(pa.array([i // 2 * 2 for i in range(101)], pa.int32()), lance.blob_array(values))
lance.write_dataset(pa.table([pa.array(range(100)), rows], names=["id", "c"]), uri)
""", uri=uri)
    else:
        peer.run("write_inside(uri, kind, version)", uri=uri, kind=kind, version=version)
    theirs = peer.answer("", "lance.dataset(uri).to_table(blob_handling='all_binary')", uri=uri)
    dataset = javelin.dataset(uri)
    read = dataset.to_table(blob_handling="all_binary")
    assert read.to_pylist() == theirs.to_pylist() and read.schema.field("c").type == theirs.schema.field("c").type
    small = list(dataset.to_batches(["c"], blob_handling="all_binary", batch_size_bytes=150_000))
    assert [value for batch in small for value in batch["c"].to_pylist()] == theirs["c"].to_pylist() and len(small) > 5
    rows = [99, 3, 0, 50, 3]
    assert dataset.take(rows, blob_handling="all_binary")["c"].to_pylist() == [theirs["c"][row].as_py() for row in rows]
    if kind == "struct":
        everyone = list(range(dataset.count_rows()))
        assert dataset.read_blobs("c.b", indices=everyone) == peer.answer("", "lance.dataset(uri).read_blobs('c.b', indices=rows)", uri=uri, rows=everyone)
    else:
        with pytest.raises(javelin.errors.InvalidInput, match="all_binary"):
            dataset.read_blobs("c.item", indices=[0])
    # The same rows, given by us.
    inner = "b" if kind == "struct" else "item"
    blob = pa.field(inner, pa.large_binary(), metadata={**BLOB, **SIZES})
    wanted = pa.struct([pa.field("x", pa.int16()), blob]) if kind == "struct" else pa.list_(blob)
    given = pa.table([theirs["id"].cast(pa.int64()), pa.chunked_array([pa.array(theirs["c"].to_pylist(), wanted)])],
                     schema=pa.schema([pa.field("id", pa.int64()), pa.field("c", wanted)]))
    ours = str(tmp_path / "ours")
    number = "2.2" if version == "v2" else version
    made = javelin.write_dataset(given.slice(0, 60), ours, data_storage_version=number, max_rows_per_file=47)
    javelin.write_dataset(given.slice(60), ours, mode="append")
    made.checkout_latest()
    assert made.to_table(blob_handling="all_binary")["c"].to_pylist() == theirs["c"].to_pylist()
    assert peer.answer("", "lance.dataset(uri).to_table(blob_handling='all_binary')['c'].to_pylist()", uri=ours) == theirs["c"].to_pylist()
    if kind == "struct":
        assert made.read_blobs("c.b", indices=rows) == peer.answer("", "lance.dataset(uri).read_blobs('c.b', indices=rows)", uri=ours, rows=rows)
    # Each goes on with the other's.
    peer.run("lance.write_dataset(rows, uri, mode='append')", rows=given.slice(0, 5), uri=ours)
    peer.run("lance.dataset(uri).delete('id % 5 = 1')\nlance.dataset(uri).optimize.compact_files()", uri=ours)
    javelin.write_dataset(given.slice(5, 5), ours, mode="append")
    expected = [row for row in given.to_pylist() + given.slice(0, 5).to_pylist() if row["id"] % 5 != 1] + given.slice(5, 5).to_pylist()
    assert javelin.dataset(ours).to_table(blob_handling="all_binary").to_pylist() == expected
    assert peer.answer("", "lance.dataset(uri).to_table(blob_handling='all_binary').to_pylist()", uri=ours) == expected
    # Other columns of such rows are changed.
    changed = javelin.dataset(ours)
    changed.update({"id": "id + 1000"}, where="id % 4 = 3")
    expected = sorted(({**row, "id": row["id"] + 1000 * (row["id"] % 4 == 3)} for row in expected), key=lambda row: row["id"])
    read = changed.to_table(blob_handling="all_binary").to_pylist()
    assert sorted(read, key=lambda row: row["id"]) == expected
    assert peer.answer("", "lance.dataset(uri).to_table(blob_handling='all_binary').to_pylist()", uri=ours) == read


# A list of blobs as 2.1 has them is refused before the first byte: the peer writes it, and cannot read what it wrote.
def test_lists_of_blobs_of_2_1_are_not_written(tmp_path):
    blob = pa.field("item", pa.large_binary(), metadata=BLOB)
    table = pa.table([pa.array([[b"a"]], pa.list_(blob))], schema=pa.schema([pa.field("c", pa.list_(blob))]))
    with pytest.raises(javelin.errors.NotSupported, match="c.item.*2.2"):
        javelin.write_dataset(table, str(tmp_path / "t"), data_storage_version="2.1")
    assert not list((tmp_path / "t").glob("data/*")) 
    assert javelin.write_dataset(table, str(tmp_path / "t")).to_table(blob_handling="all_binary")["c"].to_pylist() == [[b"a"]]


def test_lists_of_blobs_that_the_peer_cannot_read(peer, tmp_path):
    peer.run(INSIDE)
    path = peer.value("write_inside(uri, 'list', '2.1')", uri=str(tmp_path / "t"))
    done = subprocess.run([built_tool("file_tool"), "read", path, str(tmp_path / "out.arrow")], capture_output=True, text=True, check=False)
    assert done.returncode == 2 and "NotSupported" in done.stderr and "blobs in lists" in done.stderr, done.stderr
