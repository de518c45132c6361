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


def after(*steps):
    """What make.py has put: newest version of each key, after these of its steps."""
    puts = {"base": (BASE,), "first": ((3, 4, 50, 51),), "second": ((4, 52),), "third": ((5, 50, 60),), "log": ((60, 61),)}
    deletes = {"second": (5, 51), "log": (1,)}
    found = {}
    for step in steps:
        for keys in puts[step]:
            found |= by_id(make.rows(*keys, tag=step))
        for key in deletes.get(step, ()):
            del found[key]
    return found


FLUSHED = ("base", "first", "second", "third")
IN_BASE = {"table": ("base",), "compacted": ("base", "first", "second")}


class Golden:
    def __init__(self, path, folder):
        self.uri = str(shutil.copytree(path, folder / path.name))
        self.name = path.stem
        self.base = after(*IN_BASE[self.name])

    def files(self, pattern):
        return sorted(str(path.relative_to(self.uri)) for path in Path(self.uri).glob(pattern))


def inspect(command, *arguments):
    program = Path(_javelin_core.__file__).parents[1] / "cli" / "javelin"
    return json.loads(subprocess.run([program, command, "--json", *arguments], capture_output=True, check=True, timeout=60).stdout)


@pytest.fixture(params=TABLES, ids=lambda path: f"{path.parent.name}-{path.stem}")
def golden(request, tmp_path):
    return Golden(request.param, tmp_path)


@pytest.fixture(params=[path for path in TABLES if path.stem == "compacted"], ids=lambda path: path.parent.name)
def compacted(request, tmp_path):
    return Golden(request.param, tmp_path)


def test_there_are_golden_tables_of_every_kind():
    assert {path.stem for path in TABLES} == set(make.TABLES) == set(IN_BASE)


def test_base_and_sstables_read_the_same(golden):
    dataset = javelin.dataset(golden.uri)
    assert by_id(dataset.to_table()) == golden.base
    assert by_id(dataset.checkout_version(1).to_table()) == after("base")
    view = dataset.fresh()
    rows = after(*FLUSHED)
    assert by_id(view.to_table()) == rows
    assert by_id(view.get(KEYS)) == {key: rows[key] for key in KEYS if key in rows}
    assert view.unseen_log_entries() == {make.SHARD: 2}


@pytest.mark.interop
def test_the_released_peer_reads_the_same_base(golden, tmp_path):
    code = ("import sys, lance, pyarrow as pa\n"
            "for version in (1, None):\n"
            "    table = lance.dataset(sys.argv[1], version=version).to_table()\n"
            "    with pa.ipc.new_file(f'{sys.argv[2]}/{version}', table.schema) as file: file.write_table(table)\n")
    subprocess.run([sys.executable, "-c", code, golden.uri, str(tmp_path)], check=True, timeout=60)
    found = [pa.ipc.open_file(pa.memory_map(str(tmp_path / version))).read_all() for version in ("1", "None")]
    assert [by_id(table) for table in found] == [after("base"), golden.base]


def test_the_log_is_replayed_and_the_shard_goes_on(golden):
    dataset = javelin.dataset(golden.uri)
    with dataset.mem_wal_writer(make.SHARD) as writer:
        assert by_id(writer.lsm_scanner().to_table()) == after(*FLUSHED, "log")
        writer.put(make.rows(100, tag="now"))
    expected = {**after(*FLUSHED, "log"), **by_id(make.rows(100, tag="now"))}
    assert by_id(dataset.fresh().to_table()) == expected
    (state,) = dataset.compact_shards(retired_grace=0)["shards"]
    assert state["generations"] == ([1, 2, 3] if golden.name == "table" else [2, 3])
    assert by_id(dataset.to_table()) == by_id(dataset.fresh().to_table()) == expected
    assert golden.files("_mem_wal/*/*_gen_*/**/*.lance") == []


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
