"""Tables that earlier releases wrote: each folder beside this file holds those of one, and is read for ever."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import _javelin_core
import pyarrow as pa
import pytest

import javelin
import make

TABLES = sorted(Path(__file__).parent.glob("*/*.lance"))
BASE = range(1, 40)
KEYS = [60, 51, 50, 5, 4, 1]


def by_id(table):
    found = {row["id"]: row for row in table.to_pylist()}
    assert len(found) == table.num_rows
    return found


def after(*steps, rows=make.rows):
    """What make.py has put: newest version of each key, after these of its steps."""
    puts = {"base": (BASE,), "first": ((3, 4, 50, 51),), "second": ((4, 52),), "third": ((5, 50, 60),), "log": ((60, 61),)}
    deletes = {"second": (5, 51), "log": (1,)}
    found = {}
    for step in steps:
        for keys in puts[step]:
            found |= by_id(rows(*keys, tag=step))
        for key in deletes.get(step, ()):
            del found[key]
    return found


FLUSHED = ("base", "first", "second", "third")
IN_BASE = {"table": ("base",), "compacted": ("base", "first", "second"), "sharded": ("base", "first", "second")}


class Golden:
    def __init__(self, path, folder):
        self.uri = str(shutil.copytree(path, folder / path.name))
        self.name = path.stem
        self.shards, self.key, self.rows = [make.SHARD], ["id"], make.rows
        if self.name == "sharded":
            self.shards, self.key, self.rows = make.SHARDS, ["region", "name"], make.pair_rows

    def after(self, *steps):
        return after(*steps, rows=self.rows)

    def base(self):
        return self.after(*IN_BASE[self.name])

    def keys(self, *ids):
        return self.rows(*ids, tag="").select(self.key)

    def share(self, shard, table):
        return make.shares(self.uri, table)[shard] if self.name == "sharded" else table

    def files(self, pattern):
        return sorted(str(path.relative_to(self.uri)) for path in Path(self.uri).glob(pattern))


def inspect(command, *arguments):
    program = Path(_javelin_core.__file__).parents[1] / "cli" / "javelin"
    return json.loads(subprocess.run([program, command, "--json", *arguments], capture_output=True, check=True, timeout=60).stdout)


def name_of(path):
    return f"{path.parent.name}-{path.stem}"


@pytest.fixture(params=[path for path in TABLES if path.stem in IN_BASE], ids=name_of)
def golden(request, tmp_path):
    return Golden(request.param, tmp_path)


@pytest.fixture(params=[path for path in TABLES if path.stem == "compacted"], ids=name_of)
def compacted(request, tmp_path):
    return Golden(request.param, tmp_path)


@pytest.fixture(params=[path for path in TABLES if path.stem == "keyless"], ids=name_of)
def keyless(request, tmp_path):
    return Golden(request.param, tmp_path)


def test_there_are_golden_tables_of_every_kind():
    assert {path.stem for path in TABLES} == set(make.TABLES) == {*IN_BASE, "keyless"}


def test_base_and_sstables_read_the_same(golden):
    dataset = javelin.dataset(golden.uri)
    assert by_id(dataset.to_table()) == golden.base()
    assert by_id(dataset.checkout_version(1).to_table()) == golden.after("base")
    view = dataset.fresh()
    rows = golden.after(*FLUSHED)
    assert by_id(view.to_table()) == rows
    assert by_id(view.get(golden.keys(*KEYS))) == {key: rows[key] for key in KEYS if key in rows}
    in_log = [golden.rows(60, 61, tag=""), golden.rows(1, tag="")]  # a put and a delete
    entries = {shard: sum(golden.share(shard, table).num_rows > 0 for table in in_log) for shard in golden.shards}
    assert view.unseen_log_entries() == entries


PEER = """
import json, sys, lance, pyarrow as pa
from lance.mem_wal import LsmScanner, ShardSnapshot
uri, folder, shards = sys.argv[1], sys.argv[2], json.loads(sys.argv[3])
tables = {str(version): lance.dataset(uri, version=version).to_table() for version in (1, None)}
if shards:
    snapshots = []
    for shard, sstables in shards.items():
        snapshots.append(ShardSnapshot(shard))
        for generation, path in sstables:
            snapshots[-1].with_sstable(generation, path)
    tables["merged"] = LsmScanner.from_snapshots(lance.dataset(uri), snapshots).to_table()
for name, table in tables.items():
    with pa.ipc.new_file(f"{folder}/{name}", table.schema) as file:
        file.write_table(table)
"""


def sstables_above_marks(uri):
    table = inspect("inspect", uri)
    marks = {mark["shard_id"]: mark["generation"] for mark in table["mem_wal"]["compacted_sstables"]}
    return {shard["shard_id"]: [(each["generation"], each["path"]) for each in shard["sstables"]
                                if each["generation"] > marks.get(shard["shard_id"], 0)] for shard in table["shards"]}


def peer_tables(uri, folder, shards):
    """What the released peer reads: version 1, the newest one (None), and that with these SSTables (merged)."""
    subprocess.run([sys.executable, "-c", PEER, uri, str(folder), json.dumps(shards)], check=True, timeout=60)
    return [pa.ipc.open_file(pa.memory_map(str(path))).read_all() if (path := folder / name).exists() else None
            for name in ("1", "None", "merged")]


@pytest.mark.interop
def test_the_released_peer_reads_the_same_base_and_sstables(golden, tmp_path):
    found = peer_tables(golden.uri, tmp_path, sstables_above_marks(golden.uri))
    assert [by_id(table) for table in found] == [golden.after("base"), golden.base(), golden.after(*FLUSHED)]


def test_the_log_is_replayed_and_the_shard_goes_on(golden):
    dataset = javelin.dataset(golden.uri)
    expected, more = golden.after(*FLUSHED, "log"), golden.rows(*range(100, 106), tag="now")
    writers = [dataset.mem_wal_writer(shard) for shard in golden.shards]
    assert by_id(dataset.fresh().to_table()) == expected
    for shard, writer in zip(golden.shards, writers):
        seen, mine = by_id(writer.lsm_scanner().to_table()), golden.share(shard, golden.rows(*range(1, 70), tag=""))["id"].to_pylist()
        assert {key: seen[key] for key in mine if key in seen} == {key: expected[key] for key in mine if key in expected}
        writer.put(golden.share(shard, more))
        writer.close()
    expected |= by_id(more)
    assert by_id(dataset.fresh().to_table()) == expected
    for state in dataset.compact_shards(retired_grace=0)["shards"]:
        assert state["generations"] == ([1, 2, 3] if golden.name == "table" else [2, 3])
    assert by_id(dataset.to_table()) == by_id(dataset.fresh().to_table()) == expected
    assert golden.files("_mem_wal/*/*_gen_*/**/*.lance") == []


def in_order(*tables):
    return sorted((row for table in tables for row in table.to_pylist()), key=lambda row: (row["id"], row["text"] or ""))


KEYLESS = {"base": (*BASE,), "first": (3, 4, 50, 50), "second": (4, 60), "log": (60, 61)}


def put_without_key(*steps):
    return in_order(*(make.keyless_rows(*KEYLESS[step], tag=step) for step in steps))


def test_a_table_without_a_key_keeps_every_row(keyless):
    dataset = javelin.dataset(keyless.uri)
    assert in_order(dataset.to_table()) == put_without_key("base", "first")
    view = dataset.fresh()
    assert in_order(view.to_table()) == put_without_key("base", "first", "second")
    assert view.unseen_log_entries() == {make.SHARD: 1}
    with dataset.mem_wal_writer(make.SHARD):
        assert in_order(dataset.fresh().to_table()) == put_without_key(*KEYLESS)
    (state,) = dataset.compact_shards(retired_grace=0)["shards"]
    assert state["generations"] == [2, 3]
    assert in_order(dataset.to_table()) == in_order(dataset.fresh().to_table()) == put_without_key(*KEYLESS)


@pytest.mark.interop
def test_the_released_peer_reads_the_base_without_a_key(keyless, tmp_path):
    """Its reader of SSTables needs a key (P19)."""
    version_1, newest, _ = peer_tables(keyless.uri, tmp_path, {})
    assert (in_order(version_1), in_order(newest)) == (put_without_key("base"), put_without_key("base", "first"))


def test_what_a_compaction_left(compacted):
    """The table is what make.py says of it: nobody can make it a simpler one unseen."""
    table = inspect("inspect", compacted.uri)
    assert table["mem_wal"]["compacted_sstables"] == [{"shard_id": make.SHARD, "generation": 1}]
    assert [(each["physical_rows"], each["deleted_rows"]) for each in table["fragments"]] == [(20, 3), (19, 0), (4, 0)]
    assert len(compacted.files("_deletions/*")) == 1
    (shard,) = table["shards"]
    assert [each["generation"] for each in shard["sstables"]] == [2] and shard["wal_backlog_entries"] == 2
    (retired,) = shard["retired_folders"]
    manifests = inspect("wal", compacted.uri, make.SHARD)["manifests"]
    assert retired["path"] in [each["path"] for manifest in manifests for each in manifest["sstables"]]
    assert retired["path"].endswith("_gen_1") and retired["path"] not in [each["path"] for each in manifests[-1]["sstables"]]
