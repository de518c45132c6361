"""Tables between us and the released peer: what one makes the other reads, appends to and changes, in turn and at once.

The peer runs in a process of its own (peer.py), we in table_tool.
"""

import json
import os
import pathlib
import random
import subprocess
import threading

import pyarrow as pa
import pytest

from peer import Peer, PeerError, built_tool

pytestmark = pytest.mark.interop

SEED = int(os.environ.get("JAVELIN_SEED", "20260101"))

SCHEMA = pa.schema([pa.field("id", pa.int64(), nullable=False), pa.field("s", pa.string()), pa.field("f", pa.float32())])


def rows(first, count, tag="v"):
    ids = range(first, first + count)
    return pa.table({"id": pa.array(ids, pa.int64()), "s": [None if i % 7 == 3 else f"{tag}{i}" for i in ids],
                     "f": pa.array([i / 4 for i in ids], pa.float32())}, schema=SCHEMA)


@pytest.fixture(scope="session")
def tool():
    return built_tool("table_tool")


@pytest.fixture(scope="module")
def peer_process():
    with Peer() as process:
        process.run("import lance, pyarrow as pa\ndef scan(ds, **more): return ds.scanner(**more).to_table()")
        yield process


class Failure(Exception):
    def __init__(self, kind, message):
        super().__init__(f"{kind}: {message}")
        self.kind = kind
        self.message = message


class Ours:
    """The table at `uri` through table_tool."""

    def __init__(self, tool, uri, folder):
        self.tool, self.uri, self.folder = tool, uri, folder

    def _run(self, command, *arguments):
        done = subprocess.run([self.tool, command, self.uri, *map(str, arguments)], capture_output=True, text=True, timeout=120, check=False)
        if done.returncode == 2:
            raise Failure(**json.loads(done.stderr.strip().splitlines()[-1]))
        assert done.returncode == 0, f"{command} {arguments}: exit {done.returncode}\n{done.stderr[-2000:]}"
        return done.stdout

    def _given(self, table, chunk=None):
        path = str(self.folder / "in.arrow")
        with pa.OSFile(path, "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
            writer.write_table(table, max_chunksize=chunk)
        return path

    def _taken(self, path):
        with pa.OSFile(str(path), "rb") as source:
            return pa.ipc.open_file(source).read_all()

    def write(self, mode, table, *more):
        return json.loads(self._run(mode, self._given(table), *more))["version"]

    def scan(self, *more):
        out = self.folder / "out.arrow"
        self._run("scan", out, *more)
        return self._taken(out)

    def take(self, numbers, *more, by_address=False):
        out = self.folder / "out.arrow"
        self._run("take-addresses" if by_address else "take", out, ",".join(map(str, numbers)), *more)
        return self._taken(out)

    def count(self, *more):
        return int(self._run("count", *more))

    def info(self, *more):
        return json.loads(self._run("info", *more))

    def versions(self):
        return json.loads(self._run("versions"))

    def race(self, table, tasks, appends):
        self._run("race", self._given(table), f"{tasks},{appends}")


class Theirs:
    """The same table through the peer."""

    def __init__(self, peer, uri):
        self.peer, self.uri = peer, uri

    def run(self, code, **names):
        """`ds` is the newest version."""
        self.peer.run(f"ds = lance.dataset(uri)\n{code}", uri=self.uri, **names)

    def value(self, code, **names):
        return self.peer.answer("ds = lance.dataset(uri)", code, uri=self.uri, **names)

    def write(self, table, **more):
        self.peer.run("lance.write_dataset(table, uri, **more)", uri=self.uri, table=table, more=more)

    def scan(self, **more):
        return self.value("scan(ds, **more)", more=more)


@pytest.fixture
def ours(tool, tmp_path):
    return Ours(tool, str(tmp_path / "table.lance"), tmp_path)


@pytest.fixture
def theirs(peer_process, ours):
    return Theirs(peer_process, ours.uri)


def plain(table):
    """Columns and values, without schema metadata; dictionaries and views as what they stand for."""
    return table.combine_chunks().replace_schema_metadata(None).to_pydict()


def check_same(ours, theirs):
    """Both libraries see the same table: schema, rows, addresses, row ids, single rows, older versions."""
    expected = theirs.scan(with_row_id=True, with_row_address=True)
    found = ours.scan("--row-id", "--row-address", "--batch-rows", 7)
    assert found.schema.remove_metadata() == expected.schema.remove_metadata()
    assert plain(found) == plain(expected)
    assert ours.count() == len(expected) == theirs.value("ds.count_rows()")
    assert ours.versions() == theirs.value("sorted(v['version'] for v in ds.versions())")
    if len(expected) > 0:
        draw = random.Random(SEED)
        picks = [draw.randrange(len(expected)) for _ in range(5)]
        names = [name for name in expected.column_names if not name.startswith("_row")]
        assert plain(ours.take(picks)) == plain(expected.select(names).take(picks))
        addresses = [expected["_rowaddr"][pick].as_py() for pick in picks]
        assert plain(ours.take(addresses, by_address=True)) == plain(expected.select(names).take(picks))
        first, count = draw.randrange(len(expected)), draw.randrange(1, 9)
        assert plain(ours.scan("--offset", first, "--limit", count)) == plain(expected.select(names).slice(first, count))
    theirs.run("ds.validate()")
    return expected


# ---- ours, then the peer's ----


def test_our_table_is_read_by_the_peer(ours, theirs):
    assert ours.write("create", rows(0, 100), "--max-rows", 30) == 1
    assert ours.write("append", rows(100, 10)) == 2
    assert plain(check_same(ours, theirs))["id"] == list(range(110))
    assert theirs.value("ds.data_storage_version") == "2.2"
    assert theirs.value("[f.physical_rows for f in ds.get_fragments()]") == [30, 30, 30, 10, 10]
    # Column order is free, a nullable column may be missing.
    ours.write("append", rows(110, 5).select(["f", "id"]))
    assert check_same(ours, theirs)["s"].to_pylist()[-5:] == [None] * 5
    assert ours.write("overwrite", pa.table({"other": pa.array([1, 2], pa.uint8())})) == 4
    assert plain(check_same(ours, theirs))["other"] == [1, 2]


@pytest.mark.parametrize("scheme", ["v1", "v2"])
def test_our_table_is_changed_by_the_peer(ours, theirs, scheme):
    ours.write("create", rows(0, 50), "--max-rows", 20, *(["--v1"] if scheme == "v1" else []))
    names = sorted(os.listdir(pathlib.Path(ours.uri) / "_versions"))
    assert ("1.manifest" in names) == (scheme == "v1")
    theirs.write(rows(50, 10), mode="append")
    check_same(ours, theirs)
    theirs.run("ds.delete('id % 5 = 0')")
    check_same(ours, theirs)
    theirs.run("ds.update({'s': \"'changed'\"}, where='id in (1, 22, 51)')")
    check_same(ours, theirs)
    ours.write("append", rows(60, 10))
    check_same(ours, theirs)
    theirs.run("ds.create_scalar_index('id', 'BTREE')")
    assert [index["name"] for index in ours.info()["indices"]] == ["id_idx"]
    assert theirs.value("ds.to_table(filter='id = 61')['s'].to_pylist()") == ["v61"]
    theirs.run("ds.optimize.compact_files()")
    check_same(ours, theirs)
    theirs.run("ds.merge_insert('id').when_matched_update_all().when_not_matched_insert_all().execute(more)", more=rows(65, 10, "merged"))
    check_same(ours, theirs)
    ours.write("append", rows(100, 3))
    theirs.run("ds.optimize.optimize_indices()")
    check_same(ours, theirs)
    theirs.run("ds.cleanup_old_versions(older_than=__import__('datetime').timedelta(0), delete_unverified=True)")
    check_same(ours, theirs)
    ours.write("append", rows(200, 1))
    assert check_same(ours, theirs)["id"].to_pylist()[-1] == 200


def test_empty_tables_in_both_directions(ours, theirs):
    ours.write("create", rows(0, 0))
    check_same(ours, theirs)
    theirs.write(rows(0, 0), mode="append")
    theirs.write(rows(0, 2), mode="append")
    ours.write("append", rows(0, 0))
    assert len(check_same(ours, theirs)) == 2


def test_primary_key_and_field_metadata(ours, theirs):
    schema = pa.schema([pa.field("id", pa.int64(), False, {"lance-schema:unenforced-primary-key": "true"}),
                        pa.field("s", pa.string(), True, {"mine": "kept"})], metadata={"table": "metadata"})
    ours.write("create", pa.table({"id": [1, 2], "s": ["a", "b"]}, schema=schema))
    assert theirs.value("ds.schema") == schema
    assert theirs.value("{k: v for k, v in ds.schema.metadata.items()}") == {b"table": b"metadata"}
    assert ours.scan().schema.equals(schema, check_metadata=True)
    theirs.run("ds.merge_insert().when_matched_update_all().execute(more)", more=pa.table({"id": [2], "s": ["c"]}, schema=schema))
    assert plain(check_same(ours, theirs))["s"] == ["a", "c"]


# ---- the peer's, then ours ----


def deletes_few(theirs):
    theirs.run("ds.delete('id % 11 = 0')")


def deletes_many(theirs):
    theirs.write(rows(1000, 12000), mode="append")
    theirs.run("ds.delete('id % 2 = 0')")  # 5000 and more in a fragment: a Roaring bitmap


def deletes_in_runs(theirs):
    theirs.write(rows(1000, 12000), mode="append")
    theirs.run("ds.delete('id >= 1500 and id < 11000')")


def deletes_everything(theirs):
    theirs.run("ds.delete('true')")


def drops_a_column(theirs):
    theirs.run("ds.drop_columns(['f'])")


def adds_a_column(theirs):
    theirs.run("ds.add_columns({'twice': 'f * 2'})")
    theirs.write(rows(300, 5), mode="append")


def adds_an_empty_column(theirs):
    theirs.run("ds.add_columns(pa.schema([pa.field('later', pa.int32())]))")


def drops_then_adds(theirs):
    theirs.run("ds.drop_columns(['f'])")
    theirs.run("ds.add_columns({'again': 'length(s)'})")


def renames_and_casts(theirs):
    theirs.run("ds.alter_columns({'path': 's', 'name': 'renamed'})")
    theirs.run("ds.alter_columns({'path': 'f', 'data_type': pa.float64()})")


def updates_rows(theirs):
    theirs.run("ds.update({'s': \"'new'\"}, where='id % 3 = 0')")


def rewrites_columns(theirs):
    theirs.run("ds.create_scalar_index('id', 'BTREE')")
    theirs.run("ds.merge_insert('id').when_matched_update_all().execute(more)",
               more=pa.table({"id": pa.array([3, 40], pa.int64()), "s": ["x", "y"]}))


def compacts(theirs):
    theirs.run("ds.delete('id < 9')")
    theirs.run("ds.optimize.compact_files(target_rows_per_fragment=1000)")


def compacts_with_deferred_remap(theirs):
    theirs.run("ds.create_scalar_index('id', 'BTREE')")
    theirs.run("ds.optimize.compact_files(target_rows_per_fragment=1000, defer_index_remap=True)")


def restores(theirs):
    theirs.run("ds.delete('id > 3')")
    theirs.run("old = lance.dataset(uri, version=1)\nold.restore()")


def tags_and_branches(theirs):
    theirs.run("ds.tags.create('first', 1)")
    theirs.run("ds.create_branch('side', 1)")


def sets_configuration(theirs):
    theirs.run("ds.update_config({'mine': 'kept'})")
    theirs.run("ds.update_metadata({'free': 'text'})")


def indexes_text(theirs):
    theirs.run("ds.create_scalar_index('s', 'INVERTED')")
    theirs.run("ds.create_scalar_index('f', 'ZONEMAP')")


def initializes_mem_wal(theirs):
    theirs.run("ds.initialize_mem_wal(unsharded=True)")


CHANGES = [deletes_few, deletes_many, deletes_in_runs, deletes_everything, drops_a_column, adds_a_column, adds_an_empty_column,
           drops_then_adds, renames_and_casts, updates_rows, rewrites_columns, compacts, compacts_with_deferred_remap, restores,
           tags_and_branches, sets_configuration, indexes_text]


@pytest.mark.parametrize("made", [{}, {"enable_v2_manifest_paths": False}, {"enable_stable_row_ids": True}],
                         ids=["plain", "v1-names", "stable-row-ids"])
@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)
def test_the_peers_table_is_read_and_appended_to(ours, theirs, change, made):
    if change is compacts_with_deferred_remap and "enable_stable_row_ids" in made:
        pytest.skip("the peer refuses deferred remap on such tables")
    theirs.write(rows(0, 100), max_rows_per_file=40, **made)
    change(theirs)
    before = check_same(ours, theirs)
    schema = before.drop_columns(["_rowid", "_rowaddr"]).schema
    # The new rows: whatever columns the table has by now.
    more = pa.Table.from_pylist([{name: None if name != "id" else 50000 + i for name in schema.names} for i in range(4)],
                                schema=schema.remove_metadata())
    ours.write("append", more)
    after = check_same(ours, theirs)
    assert plain(after.slice(0, len(before))) == plain(before)
    assert after["id"].to_pylist()[-4:] == [50000, 50001, 50002, 50003]
    if "enable_stable_row_ids" in made:
        assert len(set(after["_rowid"].to_pylist())) == len(after)
    # And on: the peer changes what we appended.
    theirs.run("ds.delete('id = 50001')")
    theirs.run("ds.optimize.compact_files(target_rows_per_fragment=1000)")
    assert sorted(check_same(ours, theirs)["id"].to_pylist()) == sorted(set(after["id"].to_pylist()) - {50001})


def test_rows_of_our_append_have_versions(ours, theirs):
    theirs.write(rows(0, 5), enable_stable_row_ids=True)
    ours.write("append", rows(5, 2))
    found = theirs.scan(columns=["id", "_row_created_at_version", "_row_last_updated_at_version"])
    assert found["_row_created_at_version"].to_pylist() == [1] * 5 + [2] * 2
    assert found["_row_last_updated_at_version"].to_pylist() == [1] * 5 + [2] * 2


def test_row_ids_spilled_into_data_files(ours, theirs):
    theirs.write(rows(0, 30), enable_stable_row_ids=True, max_rows_per_file=10)
    theirs.run("ds.update_config({'lance.row_lineage.spill': 'true', 'lance.row_lineage.inline_max_bytes': '0'})")
    theirs.run("ds.delete('id in (3, 14)')")
    theirs.run("ds.optimize.compact_files()")
    theirs.run("ds.update({'s': \"'new'\"}, where='id % 9 = 0')")
    assert ours.info()["reader_flags"] & 2048
    check_same(ours, theirs)
    ours.write("append", rows(30, 3))
    check_same(ours, theirs)


@pytest.mark.parametrize("version", ["2.0", "2.1"])
def test_tables_of_older_data_files(ours, theirs, version):
    theirs.write(rows(0, 60), data_storage_version=version, max_rows_per_file=25)
    theirs.run("ds.delete('id = 30')")
    check_same(ours, theirs)
    ours.write("append", rows(60, 1))
    check_same(ours, theirs)
    assert theirs.value("{(f.file_major_version, f.file_minor_version) for fragment in ds.get_fragments() for f in fragment.metadata.files}") == {
        tuple(map(int, version.split(".")))}


def test_legacy_data_files_are_refused(ours, theirs):
    """They name no columns, which else means that a column was added later and is null."""
    theirs.write(rows(0, 5), data_storage_version="legacy")
    for read in (ours.scan, lambda: ours.take([0, 3])):
        with pytest.raises(Failure) as refused:
            read()
        assert refused.value.kind == "NotSupported"
        assert "0.1" in refused.value.message


def test_a_shallow_clone_reads_its_source(ours, theirs, tool, tmp_path):
    theirs.write(rows(0, 40), max_rows_per_file=15)
    theirs.run("ds.delete('id = 7')")
    clone_uri = str(tmp_path / "clone.lance")
    theirs.run("ds.shallow_clone(target, 2)", target=clone_uri)
    clone, their_clone = Ours(tool, clone_uri, tmp_path), Theirs(theirs.peer, clone_uri)
    assert clone.info()["reader_flags"] & 16
    check_same(clone, their_clone)
    clone.write("append", rows(40, 3))
    their_clone.run("ds.delete('id = 8')")
    assert sorted(check_same(clone, their_clone)["id"].to_pylist()) == [i for i in range(43) if i not in (7, 8)]
    assert ours.versions() == [1, 2]  # the source is as it was


def test_a_branch_is_a_table_of_its_own(ours, theirs, tool, tmp_path):
    theirs.write(rows(0, 10))
    theirs.run("ds.create_branch('feat/a', 1)")
    branch_uri = f"{ours.uri}/tree/feat/a"
    branch = Ours(tool, branch_uri, tmp_path)
    branch.write("append", rows(10, 2))
    assert branch.scan()["id"].to_pylist() == list(range(12))
    assert theirs.value("lance.dataset(uri).checkout_version(('feat/a', None)).to_table()['id'].to_pylist()") == list(range(12))
    assert ours.scan()["id"].to_pylist() == list(range(10))


def test_the_mem_wal_entry_passes_an_append_untouched(ours, theirs):
    schema = SCHEMA.set(0, pa.field("id", pa.int64(), False, {"lance-schema:unenforced-primary-key": "true"}))
    theirs.write(rows(0, 10).cast(schema))
    theirs.run("ds.create_scalar_index('s', 'BTREE')")
    theirs.run("ds.initialize_mem_wal(unsharded=True)")
    before = ours.info()["indices"]
    assert [index["name"] for index in before] == ["s_idx", "__lance_mem_wal"]
    details = theirs.value("ds.mem_wal_index_details()")
    ours.write("append", rows(10, 5).cast(schema))
    assert ours.info()["indices"] == before
    assert theirs.value("ds.mem_wal_index_details()") == details
    theirs.run("ds.delete('id = 11')")
    assert ours.info()["indices"] == before


# ---- stale handles ----


def test_the_peer_rebases_over_our_append(ours, theirs):
    theirs.write(rows(0, 20), max_rows_per_file=10)
    theirs.run("stale = ds")
    ours.write("append", rows(20, 5))
    theirs.peer.run("stale.delete('id = 3')")
    theirs.run("stale = ds")
    ours.write("append", rows(25, 5))
    theirs.peer.run("lance.write_dataset(more, stale, mode='append')", more=rows(30, 1))
    theirs.run("stale = ds")
    ours.write("append", rows(31, 1))
    theirs.peer.run("stale.create_scalar_index('id', 'BTREE')")
    assert check_same(ours, theirs)["id"].to_pylist() == [i for i in range(32) if i != 3]


@pytest.mark.parametrize("change", [deletes_few, updates_rows, compacts, adds_an_empty_column, drops_a_column, sets_configuration,
                                    indexes_text], ids=lambda change: change.__name__)
def test_we_rebase_over_the_peer(ours, theirs, change):
    theirs.write(rows(0, 50), max_rows_per_file=20)
    change(theirs)
    theirs.write(rows(50, 3) if change is not drops_a_column else rows(50, 3).drop_columns(["f"]), mode="append")
    expected = theirs.scan()["id"].to_pylist()
    ours.write("append", rows(100, 2), "--version", 1)
    assert check_same(ours, theirs)["id"].to_pylist() == expected + [100, 101]


def test_overwrites_stop_stale_appends_both_ways(ours, theirs):
    theirs.write(rows(0, 5))
    theirs.run("stale = ds")
    theirs.write(rows(7, 2), mode="overwrite")
    with pytest.raises(Failure) as refused:
        ours.write("append", rows(5, 1), "--version", 1)
    assert refused.value.kind == "IncompatibleConflict"
    ours.write("overwrite", rows(9, 3))
    with pytest.raises(PeerError, match="incompatible"):
        theirs.peer.run("lance.write_dataset(more, stale, mode='append')", more=rows(5, 1))
    assert check_same(ours, theirs)["id"].to_pylist() == [9, 10, 11]


def test_a_reused_field_id_never_takes_our_values(ours, theirs):
    """The peer gives the id of a dropped column to the next one; a stale append still has the old column under it."""
    theirs.write(rows(0, 5).drop_columns(["f"]))
    theirs.run("ds.add_columns({'f': 'length(s)'})")
    theirs.run("ds.drop_columns(['f'])")
    theirs.run("ds.add_columns({'g': 'length(s) + 1'})")
    more = pa.table({"id": pa.array([5], pa.int64()), "s": ["v"], "f": pa.array([77], pa.int32())})
    with pytest.raises(Failure) as refused:
        ours.write("append", more, "--version", 2)
    assert refused.value.kind == "RetryableConflict"
    assert "column 'f' and is now 'g'" in refused.value.message
    check_same(ours, theirs)
    ours.write("append", more.drop_columns(["f"]), "--version", 2)
    assert check_same(ours, theirs)["g"].to_pylist()[-1] is None


def test_both_append_at_once(ours, theirs):
    ours.write("create", rows(0, 0))
    appends = 12
    failures = []

    def theirs_appends():
        try:
            theirs.peer.run("for i in range(n): lance.write_dataset(more, uri, mode='append')", uri=ours.uri, n=appends, more=rows(1000, 3))
        except Exception as failure:  # noqa: BLE001 - reported by the main thread
            failures.append(failure)

    thread = threading.Thread(target=theirs_appends)
    thread.start()
    ours.race(rows(2000, 2), tasks=4, appends=appends // 4)
    thread.join()
    assert not failures, failures
    assert ours.versions() == list(range(1, 2 * appends + 2))
    found = check_same(ours, theirs)["id"].to_pylist()
    assert sorted(found) == sorted([1000, 1001, 1002] * appends + [2000, 2001] * appends)


# ---- random operations by both, against a model ----


class Model:
    """What the table must hold: id -> s, for rows with distinct ids."""

    def __init__(self):
        self.rows = {}
        self.next_id = 0

    def fresh(self, count):
        table = rows(self.next_id, count)
        self.next_id += count
        return table

    def add(self, table):
        self.rows.update(zip(table["id"].to_pylist(), table["s"].to_pylist()))


@pytest.mark.parametrize("round_", range(6))
def test_random_operations_by_both(ours, theirs, round_):
    draw = random.Random(SEED + round_)
    model = Model()
    made = draw.choice([{}, {"enable_v2_manifest_paths": False}, {"enable_stable_row_ids": True}])
    first = model.fresh(30)
    theirs.write(first, max_rows_per_file=13, **made)
    model.add(first)
    for _ in range(14):
        step = draw.choice(["our append", "our append", "their append", "delete", "update", "compact", "index", "our overwrite", "stale append"])
        if step == "our append":
            more = model.fresh(draw.randrange(0, 12))
            ours.write("append", more, "--max-rows", draw.randrange(1, 9))
            model.add(more)
        elif step == "their append":
            more = model.fresh(draw.randrange(0, 12))
            theirs.write(more, mode="append")
            model.add(more)
        elif step == "delete":
            by, rest = draw.randrange(2, 7), draw.randrange(0, 2)
            theirs.run(f"ds.delete('id % {by} = {rest}')")
            model.rows = {key: s for key, s in model.rows.items() if key % by != rest}
        elif step == "update":
            by = draw.randrange(2, 7)
            theirs.run(f"ds.update({{'s': \"'u'\"}}, where='id % {by} = 0')")
            model.rows = {key: "u" if key % by == 0 else s for key, s in model.rows.items()}
        elif step == "compact":
            theirs.run("ds.optimize.compact_files(target_rows_per_fragment=25)")
        elif step == "index":
            theirs.run("ds.create_scalar_index('id', 'BTREE', replace=True)")
        elif step == "our overwrite":
            model.rows = {}
            more = model.fresh(draw.randrange(1, 20))
            ours.write("overwrite", more)
            model.add(more)
        elif step == "stale append":
            read = ours.info()["version"]
            between = model.fresh(2)
            theirs.write(between, mode="append")
            more = model.fresh(3)
            ours.write("append", more, "--version", read)
            model.add(between)
            model.add(more)
        found = ours.scan()
        assert dict(zip(found["id"].to_pylist(), found["s"].to_pylist())) == model.rows, step
        assert len(found) == len(model.rows), step
    check_same(ours, theirs)
