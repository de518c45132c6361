"""The conflict matrix between us and the released peer: the peer commits, and we commit after it what was built before.

What each operation commits is recorded from the peer, on a copy of the table; commit_tool commits the record, to the table that has
moved on meanwhile.
"""

import glob
import json
import os
import pathlib
import shutil
import subprocess

import pytest

from peer import Peer, built_tool

pytestmark = pytest.mark.interop

# Version 2 of every table: fragments 0 and 1 of 10 rows, and an index on v.
HELPERS = """
import lance, pyarrow as pa
from lance import LanceOperation
def rows(first, count):
    return pa.table({"id": pa.array(range(first, first + count), pa.int64()), "v": pa.array(range(count), pa.int64()),
                     "s": [str(i) for i in range(count)]})
def make(uri):
    ds = lance.write_dataset(rows(0, 20), uri, max_rows_per_file=10)
    ds.create_scalar_index("v", "BTREE")
def look(uri):
    ds = lance.dataset(uri)
    ds.validate()
    return sorted(ds.to_table(columns=["id"])["id"].to_pylist())
"""

OPERATIONS = {
    "append": "lance.write_dataset(rows(100, 5), ds, mode='append')",
    "delete row 1": "ds.delete('id = 1')",
    "delete row 5": "ds.delete('id = 5')",
    "delete fragment 0": "ds.delete('id < 10')",
    "update row 1": "ds.update({'s': \"'x'\"}, where='id = 1')",
    "update row 5": "ds.update({'s': \"'x'\"}, where='id = 5')",
    "update fragment 1": "ds.update({'s': \"'x'\"}, where='id = 15')",
    "merge-insert row 5": "ds.merge_insert('id').when_matched_update_all().when_not_matched_insert_all().execute("
                          "rows(5, 1))",
    "insert": "ds.merge_insert('id').when_not_matched_insert_all().execute(rows(200, 2))",
    "overwrite": "lance.write_dataset(rows(0, 3), ds, mode='overwrite')",
    "index id": "ds.create_scalar_index('id', 'BTREE')",
    "index v again": "ds.create_scalar_index('v', 'BTREE', replace=True)",
    "compact": "ds.optimize.compact_files()",
    "merge": "ds.add_columns({'c': 'id + 1'})",
    "project": "ds.drop_columns(['s'])",
    "restore": "lance.dataset(uri, version=1).restore()",
    "config k": "ds.update_config({'k': 'v'})",
    "config l": "ds.update_config({'l': 'v'})",
    "table metadata": "ds.update_metadata({'k': 'v'})",
    "schema metadata": "ds.update_schema_metadata({'k': 'v'})",
    "bases": "ds.add_bases([lance.DatasetBasePath('/nowhere', 'n')])",
}

OURS = ["append", "delete row 5", "update row 5", "merge-insert row 5", "overwrite", "index id", "compact", "restore", "merge",
        "project", "config k", "config l", "schema metadata", "bases"]

# As measured with the peer on both sides: r = has to run again, X = incompatible, . = committed.
MATRIX = {
    "append":            ". . . . . . . . r . . . . .",
    "delete row 1":      ". . . . . . r . r . . . . .",
    "delete row 5":      ". r r r . . r . r . . . . .",
    "delete fragment 0": ". r r r . . r . r . . . . .",
    "update row 1":      ". . . . . . r . r . . . . .",
    "update fragment 1": ". . . . . . r . r . . . . .",
    "insert":            ". . . . . . . . r . . . . .",
    "overwrite":         "X X X X r X X . X X . . X .",
    "index id":          ". . . . . r r . . . . . . .",
    "index v again":     ". . . . . . r . . . . . . .",
    "compact":           ". r r r . r r . r . . . . .",
    "merge":             ". r r r . . r . r r . . r .",
    "project":           ". . . . . . . . X r . . . .",
    "restore":           "X X X X . X X . X X . . X .",
    "config k":          ". . . . . . . . . . X . . .",
    "table metadata":    ". . . . . . . . . . . . . .",
    "schema metadata":   ". . . . . . . X r . . . X .",
}


class World:
    """A table, and for each operation the same table after the peer did it."""

    def __init__(self, folder, peer):
        self.folder, self.peer, self.done = folder, peer, {}
        self.base = str(folder / "base")
        peer.run("make(uri)", uri=self.base)

    def after(self, name):
        if name not in self.done:
            place = str(self.folder / name.replace(" ", "_"))
            shutil.copytree(self.base, place)
            self.peer.run(f"ds = lance.dataset(uri)\n{OPERATIONS[name]}", uri=place)
            self.done[name] = place
        return self.done[name]

    def records(self, name):
        """The transactions of an operation, in the order of their commits."""
        place = self.after(name)
        old = set(os.listdir(f"{self.base}/_transactions"))
        new = [file for file in glob.glob(f"{place}/_transactions/*") if os.path.basename(file) not in old]
        return sorted(new, key=os.path.getmtime)

    def commit(self, ours, other):
        """What became of ours on the table after the other: a letter as in the matrix, and the table."""
        place = str(self.folder / "now")
        shutil.rmtree(place, ignore_errors=True)
        shutil.copytree(self.after(other), place)
        for kind in ("data", "_deletions", "_indices"):
            if os.path.exists(f"{self.after(ours)}/{kind}"):
                shutil.copytree(f"{self.after(ours)}/{kind}", f"{place}/{kind}", dirs_exist_ok=True)
        done = subprocess.run([built_tool("commit_tool"), place, "2", *self.records(ours)], capture_output=True, text=True, timeout=60,
                              check=False)
        if done.returncode == 0:
            return ".", place
        failure = json.loads(done.stderr.strip().splitlines()[-1])
        return {"RetryableConflict": "r", "IncompatibleConflict": "X"}.get(failure["kind"], str(failure)), place


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    with Peer() as process:
        process.run(HELPERS)
        yield World(pathlib.Path(tmp_path_factory.mktemp("commits")), process)


@pytest.mark.parametrize("other", MATRIX)
def test_conflicts_are_those_of_the_peer(world, other):
    expected = dict(zip(OURS, MATRIX[other].split(), strict=True))
    found = {}
    for ours in OURS:
        found[ours], place = world.commit(ours, other)
        if found[ours] == ".":
            world.peer.value("look(uri)", uri=place)  # what we made of it is a table that the peer takes
    assert found == expected


def test_rows_of_merged_deletions(world):
    verdict, place = world.commit("delete row 5", "delete row 1")
    assert verdict == "."
    assert world.peer.value("look(uri)", uri=place) == [i for i in range(20) if i not in (1, 5)]
    verdict, place = world.commit("update row 5", "delete row 1")
    assert verdict == "."
    assert world.peer.value("look(uri)", uri=place) == [i for i in range(20) if i != 1]


def test_the_peer_commits_over_ours(world):
    """Its handle is at version 2; ours is version 3."""
    for ours in ("append", "config k", "merge", "project", "bases", "index id"):
        place = str(world.folder / "theirs")
        shutil.rmtree(place, ignore_errors=True)
        shutil.copytree(world.base, place)
        world.peer.run("stale = lance.dataset(uri)", uri=place)
        for kind in ("data", "_indices"):
            shutil.copytree(f"{world.after(ours)}/{kind}", f"{place}/{kind}", dirs_exist_ok=True)
        subprocess.run([built_tool("commit_tool"), place, "2", *world.records(ours)], check=True, capture_output=True, timeout=60)
        world.peer.run("stale.update_config({'theirs': '1'})")
        assert world.peer.value("lance.dataset(uri).version", uri=place) == 4, ours
        assert world.peer.value("look(uri)", uri=place)[:20] == list(range(20)), ours
