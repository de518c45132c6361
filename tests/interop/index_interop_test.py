"""The index files of an SSTable: those that we make of the released peer's rows against its own, and in their place.

The peer runs in a process of its own (peer.py), we in index_tool.
"""

import pathlib
import subprocess
import uuid

import pyarrow as pa
import pytest

from peer import Peer, built_tool

pytestmark = pytest.mark.interop

KEY = "lance-schema:unenforced-primary-key"


@pytest.fixture(scope="module")
def tool():
    return built_tool("index_tool")


@pytest.fixture(scope="module")
def peer():
    with Peer() as process:
        process.run("from lance.file import LanceFileReader\n"
                    "def read(path):\n"
                    "    reader = LanceFileReader(path)\n"
                    "    return reader.read_all().to_table(), dict(reader.metadata().schema.metadata or {})")
        yield process


def number(i):
    return (i * 7919) % 20011


KEYS = {
    "int32": [(pa.int32(), lambda i: number(i) - 9000)],
    "int64": [(pa.int64(), lambda i: (number(i) - 9000) * 10**12)],
    "utf8": [(pa.string(), lambda i: f"key {number(i)} é"[: 3 + i % 12] + str(number(i)))],
    "binary": [(pa.binary(), lambda i: number(i).to_bytes(3, "little"))],
    "int8": [(pa.int8(), lambda i: i % 256 - 128)],
    "uint16": [(pa.uint16(), lambda i: number(i))],
    "uint64": [(pa.uint64(), lambda i: 2**63 + number(i) - 9000)],
    "bool": [(pa.bool_(), lambda i: i % 3 == 0)],
    "large_utf8": [(pa.large_string(), lambda i: f"key {number(i)}")],
    "int32 and utf8": [(pa.int32(), lambda i: number(i) % 50 - 20), (pa.string(), lambda i: f"{number(i)}\0z"[: 1 + i % 8])],
    "uint64, binary and bool": [(pa.uint64(), lambda i: 2**63 + i % 7), (pa.binary(), lambda i: number(i).to_bytes(4, "big")),
                                (pa.bool_(), lambda i: i % 2 == 0)],
}
HASHED_BY_THE_PEER = {"int32", "int64", "utf8", "binary", "int32 and utf8"}


class Flushed:
    """One SSTable that the peer flushed: rows 0 to `count` - 1, of which some keys come again."""

    def __init__(self, peer, folder, columns, count):
        self.peer = peer
        self.uri = str(folder / "table.lance")
        self.shard = str(uuid.uuid4())
        fields = [pa.field(f"k{i}", kind, False, {KEY: "true", f"{KEY}:position": str(i + 1)})
                  for i, (kind, _) in enumerate(columns)]
        self.schema = pa.schema(fields + [pa.field("v", pa.int64())])
        self.names = [field.name for field in fields]
        made = [pa.array([make(i % (count - count // 10)) for i in range(count)], kind) for kind, make in columns]
        self.rows = pa.Table.from_arrays(made + [pa.array(range(count), pa.int64())], schema=self.schema)
        peer.run("lance.write_dataset(schema.empty_table(), uri, schema=schema).initialize_mem_wal(unsharded=True)\n"
                 "w = lance.dataset(uri).mem_wal_writer(shard)\nw.put(rows)\nw.close()",
                 uri=self.uri, schema=self.schema, shard=self.shard, rows=self.rows)
        (self.sstable,) = pathlib.Path(self.uri, "_mem_wal", self.shard).glob("*_gen_1")

    def key(self, path):
        with pa.ipc.new_stream(path, self.rows.select(self.names).schema) as stream:
            stream.write_table(self.rows.select(self.names))
        return str(path)

    def scan(self):
        return self.peer.answer("w = lance.dataset(uri).mem_wal_writer(shard)\nfound = w.lsm_scanner().to_table()\nw.close()", "found",
                                uri=self.uri, shard=self.shard)


@pytest.fixture(params=KEYS, ids=lambda name: name.replace(" ", "-"))
def flushed(request, peer, tmp_path):
    table = Flushed(peer, tmp_path, KEYS[request.param], 9000 if request.param == "int64" else 900)
    table.kind = request.param
    return table


def test_the_key_filter_is_the_peers_byte_for_byte(tool, flushed, tmp_path):
    subprocess.run([tool, "key-filter", flushed.key(tmp_path / "key"), tmp_path / "filter"], check=True)
    ours, theirs = (tmp_path / "filter").read_bytes(), (flushed.sstable / "bloom_filter.bin").read_bytes()
    assert len(ours) == len(theirs) == 32768
    assert (ours == theirs) == (flushed.kind in HASHED_BY_THE_PEER)
    if flushed.kind not in HASHED_BY_THE_PEER and "binary" not in flushed.kind:
        assert sum(map(int.bit_count, theirs)) <= 8  # one entry for all keys


def test_the_key_index_holds_what_the_peers_does(tool, peer, flushed, tmp_path):
    subprocess.run([tool, "key-index", flushed.key(tmp_path / "key"), tmp_path], check=True)
    for name in ("page_data.lance", "page_lookup.lance"):
        ours, our_metadata = peer.value("read(path)", path=str(tmp_path / name))
        theirs, their_metadata = peer.value("read(path)", path=str(flushed.sstable / "_pk_index" / name))
        assert ours.schema == theirs.schema
        assert our_metadata == their_metadata
        if name == "page_data.lance":  # the order of rows inside equal values is free
            order = [("values", "ascending"), ("ids", "ascending")]
            assert ours == ours.sort_by(order)
            assert ours == theirs.sort_by(order)
        else:
            assert ours == theirs


def test_the_peer_reads_through_our_files(tool, flushed, tmp_path):
    before = flushed.scan()
    newest = {tuple(row[name] for name in flushed.names): row["v"] for row in flushed.rows.to_pylist()}
    assert {tuple(row[name] for name in flushed.names): row["v"] for row in before.to_pylist()} == newest
    key = flushed.key(tmp_path / "key")
    for name in ("page_data.lance", "page_lookup.lance"):
        (flushed.sstable / "_pk_index" / name).unlink()
    subprocess.run([tool, "key-index", key, flushed.sstable / "_pk_index"], check=True)
    subprocess.run([tool, "key-filter", key, flushed.sstable / "bloom_filter.bin"], check=True)
    order = [(name, "ascending") for name in flushed.names]
    if flushed.schema.field(0).type != pa.bool_():
        assert flushed.scan().sort_by(order) == before.sort_by(order)
    else:
        assert sorted(flushed.scan()["v"].to_pylist()) == sorted(before["v"].to_pylist())
