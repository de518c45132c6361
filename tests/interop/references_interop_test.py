"""Tags, branches, clones, restores and metadata made by either library, as the other sees them and goes on with them."""

import datetime
import json
import os
import re

import pyarrow as pa
import pytest

import javelin
from javelin import errors
from peer import PeerError

pytestmark = pytest.mark.interop

HELPERS = """
from datetime import datetime
def rows(*ids):
    return pa.table({"id": pa.array(ids, pa.int64())})
def held(ds):
    ds.validate()
    return sorted(ds.to_table()["id"].to_pylist())
"""


def rows(*ids):
    return pa.table({"id": pa.array(ids, pa.int64())})


def held(dataset):
    return sorted(dataset.to_table()["id"].to_pylist())


@pytest.fixture(params=["ours", "theirs"])
def uri(request, peer, tmp_path):
    """A table of either library, whose version n holds ids 1 to n, n up to 3."""
    uri = str(tmp_path / "table.lance")
    for number in (1, 2, 3):
        if request.param == "ours":
            javelin.write_dataset(rows(number), uri, mode="append")
        else:
            peer.run("lance.write_dataset(rows(number), uri, mode='append')", uri=uri, number=number)
    return uri


def test_tags_of_either(uri, peer):
    ours = javelin.dataset(uri)
    ours.tags.create("ours", 1)
    peer.run("ds = lance.dataset(uri); ds.tags.create('theirs', 2)", uri=uri)
    assert ours.tags.list() == peer.value("ds.tags.list()")
    assert ours.tags.list_ordered() == peer.value("ds.tags.list_ordered()")
    assert ours.tags.list_ordered("asc") == peer.value("ds.tags.list_ordered('asc')")
    assert peer.value("held(lance.dataset(uri, version='ours'))") == [1] and held(javelin.dataset(uri, "theirs")) == [1, 2]
    # Each moves and marks what the other made.
    ours.tags.update("theirs", 3)
    ours.tags.replace_metadata("theirs", {"b": "1", "a": "2"})
    peer.run("ds.tags.update('ours', 2); ds.tags.replace_metadata('ours', {'k': 'v'})")
    assert ours.tags.list() == peer.value("ds.tags.list()")
    assert ours.tags.get_version("ours") == 2 and peer.value("ds.tags.get_version('theirs')") == 3
    assert list(json.load(open(f"{uri}/_refs/tags/ours.json"))) == list(json.load(open(f"{uri}/_refs/tags/theirs.json")))
    ours.tags.delete("ours")
    peer.run("ds.tags.delete('theirs')")
    assert ours.tags.list() == peer.value("ds.tags.list()") == {}


def test_branches_of_either(uri, peer):
    """Each writes on the other's branch, in turn."""
    ours = javelin.dataset(uri).create_branch("ours", 2)
    peer.run("ds = lance.dataset(uri); theirs = ds.create_branch('feature/theirs', 3)", uri=uri)
    assert javelin.dataset(uri).branches.list() == peer.value("ds.branches.list()")
    assert [name for name, _ in ours.branches.list_ordered()] == peer.value("[name for name, _ in ds.branches.list_ordered()]")
    expected = {"ours": [1, 2], "feature/theirs": [1, 2, 3]}
    for turn in range(3):
        for name, ids in expected.items():
            mine = javelin.dataset(uri, (name, None))
            mine.insert(rows(100 + turn))
            peer.run("b = ds.checkout_version((name, None)); b = lance.write_dataset(rows(number), b, mode='append')",
                     name=name, number=200 + turn)
            ids += [100 + turn, 200 + turn]
            mine.checkout_latest()
            assert held(mine) == peer.value("held(b)") == sorted(ids)
            assert mine.version == peer.value("b.version") and mine.uri == peer.value("b.uri")
            assert mine.version_refs() == peer.value("b.version_refs()")
    assert held(javelin.dataset(uri)) == peer.value("held(lance.dataset(uri))") == [1, 2, 3]
    # Branches of branches, made by the other.
    peer.run("child = ds.create_branch('child', ('ours', None))")
    child = javelin.dataset(uri, ("child", None))
    assert held(child) == sorted(expected["ours"])
    grandchild = child.create_branch("grandchild")
    grandchild.insert(rows(7))
    assert peer.value("held(ds.checkout_version(('grandchild', None)))") == sorted(expected["ours"] + [7])
    assert javelin.dataset(uri).branches.list() == peer.value("ds.branches.list()")
    javelin.dataset(uri).branches.replace_metadata("child", {"a": "b"})
    peer.run("ds.branches.replace_metadata('grandchild', {'c': 'd'})")
    assert javelin.dataset(uri).branches.list() == peer.value("ds.branches.list()")
    # Both keep what others begin at, and what tags name.
    grandchild.tags.create("kept")
    for name in ("child", "grandchild"):
        with pytest.raises(errors.InvalidInput):
            javelin.dataset(uri).branches.delete(name)
        with pytest.raises(PeerError, match="OSError"):
            peer.run("ds.branches.delete(name)", name=name)
    grandchild.tags.delete("kept")
    peer.run("ds.branches.delete('grandchild')")
    javelin.dataset(uri).branches.delete("child")
    javelin.dataset(uri).branches.delete("feature/theirs")
    peer.run("ds.branches.delete('ours')")
    assert javelin.dataset(uri).branches.list() == peer.value("ds.branches.list()") == {}


def test_where_references_lead(uri, peer):
    """The same answers, from the table and from a branch."""
    branch = javelin.dataset(uri).create_branch("b", 2)
    branch.insert(rows(20))
    branch.tags.create("of-branch", 3)
    javelin.dataset(uri).tags.create("of-main", 1)
    peer.run("main = lance.dataset(uri); branch = main.checkout_version(('b', None))", uri=uri)
    for reference in (1, 2, 3, 9, "of-branch", "of-main", "none", (None, None), ("main", None), ("main", 2), (None, 1), ("b", None),
                      ("b", 2), ("b", 1), ("b", 9), ("c", None)):
        for name, start in {"main": javelin.dataset(uri), "branch": branch}.items():
            try:
                found = peer.value(f"(lambda ds: [held(ds), ds.version])({name}.checkout_version({reference!r}))")
            except PeerError:
                with pytest.raises(errors.NotFound):
                    start.checkout_version(reference)
                continue
            ours = start.checkout_version(reference)
            assert [held(ours), ours.version] == found, (name, reference)


def test_clones_of_either(uri, peer, tmp_path):
    folder = str(tmp_path)
    javelin.dataset(uri).create_branch("b", 2).insert(rows(20))
    ours = javelin.dataset(uri).shallow_clone(f"{folder}/ours", ("b", None))
    peer.run("ds = lance.dataset(uri); theirs = ds.shallow_clone(folder + '/theirs', ('b', None))", uri=uri, folder=folder)
    records = [peer.value(f"str(lance.dataset(folder + '/{name}').read_transaction(3).operation)") for name in ("ours", "theirs")]
    assert records[0] == records[1]
    bases = [peer.value(f"[(b.id, b.name, b.path, b.is_dataset_root) for b in lance.dataset(folder + '/{name}').base_paths().values()]")
             for name in ("ours", "theirs")]
    assert sorted(bases[0]) == sorted(bases[1])
    assert held(javelin.dataset(f"{folder}/theirs")) == [1, 2, 20] == peer.value("held(lance.dataset(folder + '/ours'))")
    for name in ("ours", "theirs"):
        javelin.write_dataset(rows(30), f"{folder}/{name}", mode="append")
        peer.run("c = lance.write_dataset(rows(31), folder + '/' + name, mode='append')", name=name)
        assert held(javelin.dataset(f"{folder}/{name}")) == peer.value("held(c)") == [1, 2, 20, 30, 31]
    # A clone of a clone, and a deletion of the peer in what lies elsewhere.
    peer.run("c.delete('id = 1'); cc = c.shallow_clone(folder + '/second', None)")
    assert held(javelin.dataset(f"{folder}/second")) == [2, 20, 30, 31]
    assert held(javelin.dataset(f"{folder}/second").shallow_clone(f"{folder}/third", None)) == [2, 20, 30, 31]
    assert peer.value("held(lance.dataset(folder + '/third'))") == [2, 20, 30, 31]
    assert held(ours) == [1, 2, 20]


def test_restores_of_either(uri, peer):
    old = javelin.dataset(uri, 1)
    old.restore()
    assert peer.value("held(lance.dataset(uri))", uri=uri) == [1]
    peer.run("old = lance.dataset(uri, version=3); old.restore()")
    assert held(javelin.dataset(uri)) == [1, 2, 3]
    peer.run("records = [lance.dataset(uri).read_transaction(version) for version in (4, 5)]")
    assert peer.value("[record.operation.version for record in records]") == [1, 3]
    assert peer.value("[record.read_version for record in records]") == [3, 4]
    javelin.dataset(uri).insert(rows(4))
    assert peer.value("held(lance.dataset(uri))") == [1, 2, 3, 4]
    # On a branch, by the other.
    javelin.dataset(uri).create_branch("b", 2).insert(rows(20))
    peer.run("b = lance.dataset(uri).checkout_version(('b', 2)); b.restore()")
    assert held(javelin.dataset(uri, ("b", None))) == [1, 2]
    javelin.dataset(uri, ("b", 3)).restore()
    assert peer.value("held(lance.dataset(uri).checkout_version(('b', None)))") == [1, 2, 20]


def test_versions_by_time(uri, peer):
    times = [entry["timestamp"] for entry in javelin.dataset(uri).versions()]
    step = datetime.timedelta(microseconds=1)
    peer.run("ds = lance.dataset(uri)", uri=uri)
    same_version = lambda ours, theirs: (  # the peer's times go through floats
        {**ours, "timestamp": None} == {**theirs, "timestamp": None} and abs(ours["timestamp"] - theirs["timestamp"]) <= step)
    assert all(map(same_version, javelin.dataset(uri).versions(), peer.value("ds.versions()")))
    assert same_version(javelin.dataset(uri, 2).get_version(), peer.value("ds.checkout_version(2).get_version()"))
    for time in [t + d for t in times for d in (-3 * step, 3 * step)]:  # the peer cuts them to microseconds
        try:
            found = peer.value("lance.dataset(uri, asof=time).version", time=time)
        except PeerError:
            with pytest.raises(errors.NotFound):
                javelin.dataset(uri, asof=time)
            continue
        assert javelin.dataset(uri, asof=time).version == found


CHANGES = [
    ("update_config", ({"a": "1", "b": "2"},), {}),
    ("update_config", ({"a": None, "c": "3"},), {}),
    ("update_config", ({},), {}),
    ("update_config", ({"c": None, "d": "4"},), {"replace": True}),
    ("delete_config_keys", (["d", "none"],), {}),
    ("update_metadata", ({"t": "1"},), {}),
    ("update_schema_metadata", ({"s": "1"},), {}),
    ("update_field_metadata", ({"id": {"k": "v"}, "p.x": {"l": "w"}},), {}),
    ("update_field_metadata", ({"id": {"k": None, "m": "x"}},), {}),
    ("replace_schema_metadata", ({"r": "1"},), {}),
    ("replace_field_metadata", ("p.x", {"n": "y"}), {}),
    ("update_field_metadata", ({},), {}),
]


def by_key(record):
    return sorted(re.split("[{},]", record.replace(" ", "")))


def test_metadata_of_either(peer, tmp_path):
    """The same calls commit the same transactions, and give the same answers."""
    table = pa.table({"id": pa.array([1], pa.int64()), "p": [{"x": 1}]})
    ours, theirs = str(tmp_path / "ours"), str(tmp_path / "theirs")
    javelin.write_dataset(table, ours)
    javelin.write_dataset(table, theirs)
    dataset = javelin.dataset(ours)
    peer.run("ds = lance.dataset(uri)", uri=theirs)
    for name, arguments, options in CHANGES:
        assert getattr(dataset, name)(*arguments, **options) == peer.value(
            "getattr(ds, name)(*arguments, **options)", name=name, arguments=arguments, options=options), (name, arguments)
        look = "[ds.config(), ds.metadata, ds.schema_metadata, str(ds.lance_schema), ds.schema, ds.schema.field('id').metadata, ds.version]"
        assert peer.value(look.replace("ds", "lance.dataset(uri)"), uri=ours) == peer.value(look), (name, arguments)
        assert dataset.schema.equals(peer.value("ds.schema"), check_metadata=True)
        record = "str(lance.dataset(uri).read_transaction(version).operation)"
        # The keys of a change come in any order there.
        assert by_key(peer.value(record, uri=ours, version=dataset.version)) == by_key(peer.value(record, uri=theirs)), (name, arguments)
    assert os.path.exists(ours)


def test_what_changed(peer, tmp_path):
    """In a table whose rows the peer inserts, updates, merges and deletes."""
    uri = str(tmp_path / "stable")
    peer.run("""
def some(ids, v):
    return pa.table({"id": pa.array(ids, pa.int64()), "v": pa.array([v] * len(ids), pa.int64())})
ds = lance.write_dataset(some(range(20), 0), uri, enable_stable_row_ids=True, max_rows_per_file=6)
ds = lance.write_dataset(some(range(20, 25), 1), uri, mode='append')
ds.update({'v': '2'}, where='id % 3 = 0')
ds.merge_insert('id').when_matched_update_all().when_not_matched_insert_all().execute(some(range(18, 30), 3))
ds.delete('id % 5 = 1')
ds.optimize.compact_files()
ds.update({'v': '4'}, where='id = 7')
""", uri=uri)
    newest = peer.value("ds.version")
    dataset = javelin.dataset(uri)
    for begin in range(newest + 1):
        for end in range(newest + 2):
            for kind in ("get_inserted_rows", "get_updated_rows"):
                theirs = peer.value("getattr(ds.delta(begin_version=begin, end_version=end), kind)().read_all()", begin=begin, end=end,
                                    kind=kind)
                ours = getattr(dataset.delta(begin_version=begin, end_version=end), kind)().read_all()
                assert ours.schema.names == theirs.schema.names
                assert ours.sort_by("_rowid").to_pylist() == theirs.sort_by("_rowid").to_pylist(), (begin, end, kind)
    old = dataset.checkout_version(3)
    peer.run("old = ds.checkout_version(3)")
    assert old.delta(1).get_updated_rows().read_all().num_rows == peer.value("old.delta(1).get_updated_rows().read_all().num_rows") > 0
