"""Fragments put together: of the peer's tables by us, of ours by the peer, by both in turn; plans compared."""

import pathlib
import pickle
import random

import pyarrow as pa
import pytest

import javelin
from javelin import errors
from javelin.optimize import Compaction, CompactionMetrics, CompactionPlan, CompactionTask, RewriteResult
from peer import PeerError

pytestmark = pytest.mark.interop

HELPERS = """
import lance.optimize

def plan(uri, options):
    ds = lance.dataset(uri)
    return [[fragment.id for fragment in task.fragments] for task in lance.optimize.Compaction.plan(ds, options).tasks]

def fragments(uri):
    return [(f.fragment_id, f.physical_rows, f.num_deletions) for f in lance.dataset(uri).get_fragments()]

def rows(uri, **more):
    ds = lance.dataset(uri)
    ds.validate()
    return ds.scanner(**more).to_table().replace_schema_metadata(None)
"""

SYSTEM = ["_rowid", "_row_created_at_version", "_row_last_updated_at_version"]


def numbered(first, count):
    ids = range(first, first + count)
    return pa.table({"id": pa.array(ids, pa.int64()), "s": pa.array([None if i % 7 == 3 else f"v{i}" for i in ids], pa.string()),
                     "l": pa.array([[i] * (i % 4) for i in ids], pa.list_(pa.int64())), "st": [{"a": i, "b": str(i % 3)} for i in ids]})


@pytest.fixture
def uri(tmp_path):
    return str(tmp_path / "table.lance")


def check_same(peer, uri, expected=None):
    """Both read the same rows, which are those expected."""
    theirs = peer.value("rows(uri)", uri=uri)
    ours = javelin.dataset(uri).to_table()
    assert ours.to_pylist() == theirs.to_pylist()
    if expected is not None:
        assert theirs["id"].to_pylist() == expected
    return theirs


def lineage(peer, uri):
    """id -> row id and versions, as both see them."""
    names = ["id", *SYSTEM]
    theirs = peer.value("lance.dataset(uri).scanner(columns=names).to_table().select(names).to_pylist()", uri=uri, names=names)
    assert javelin.dataset(uri).to_table(columns=names).to_pylist() == theirs
    return {row["id"]: tuple(row[name] for name in SYSTEM) for row in theirs}


def make(peer, uri, **options):
    """Of the peer: rows 0 to 99 in fragments of 9, of which some have deleted rows; the ids that are left."""
    peer.run("lance.write_dataset(table, uri, max_rows_per_file=9, **options)", uri=uri, table=numbered(0, 100), options=options)
    peer.run("ds = lance.dataset(uri); ds.delete('id in (3, 4, 5, 20, 99) or id between 36 and 44')", uri=uri)
    return [i for i in range(100) if i not in (3, 4, 5, 20, 99) and not 36 <= i <= 44]


@pytest.mark.parametrize("version", ["2.0", "2.1", "2.2"])
@pytest.mark.parametrize("stable", [False, True], ids=["addresses", "row-ids"])
def test_we_compact_the_peers_table(peer, uri, version, stable):
    left = make(peer, uri, data_storage_version=version, enable_stable_row_ids=stable)
    peer.run("ds = lance.dataset(uri); ds.update({'s': \"'new'\"}, where='id in (7, 70)')", uri=uri)
    left = [i for i in left if i not in (7, 70)] + [7, 70]
    before = lineage(peer, uri)
    found = check_same(peer, uri, left)
    dataset = javelin.dataset(uri)
    metrics = dataset.optimize.compact_files(target_rows_per_fragment=30)
    assert (metrics.fragments_removed, metrics.fragments_added, metrics.files_added) == (11, 4, 4)
    assert metrics.files_removed >= 11 + 3
    assert dataset.version == javelin.dataset(uri).version
    assert check_same(peer, uri, left).equals(found)
    if stable:
        assert lineage(peer, uri) == before
    assert [(rows, deleted) for _, rows, deleted in peer.value("fragments(uri)")] == [(30, 0), (1, 0), (30, 0), (25, 0)]
    assert dataset.optimize.compact_files(target_rows_per_fragment=26) == CompactionMetrics(0, 0, 0, 0)
    # The peer goes on with it.
    peer.run("ds = lance.dataset(uri); ds.delete('id = 50'); lance.write_dataset(table, uri, mode='append')", table=numbered(200, 5))
    left = [i for i in left if i != 50] + list(range(200, 205))
    check_same(peer, uri, left)
    peer.run("ds = lance.dataset(uri); ds.optimize.compact_files()")
    check_same(peer, uri, left)
    if stable:
        assert {key: value for key, value in lineage(peer, uri).items() if key < 200} == {k: v for k, v in before.items() if k != 50}


@pytest.mark.parametrize("version", ["2.0", "2.1", "2.2"])
def test_the_peer_compacts_ours(peer, uri, version):
    javelin.write_dataset(numbered(0, 50), uri, data_storage_version=version, max_rows_per_file=5)
    javelin.dataset(uri).optimize.compact_files(target_rows_per_fragment=10)
    assert [rows for _, rows, _ in peer.value("fragments(uri)", uri=uri)] == [10] * 5
    peer.run("lance.dataset(uri).delete('id in (1, 2, 3)')")
    peer.run("lance.dataset(uri).optimize.compact_files(target_rows_per_fragment=20)")
    left = [0, *range(4, 50)]
    check_same(peer, uri, left)
    dataset = javelin.dataset(uri)
    dataset.optimize.compact_files()
    assert len(peer.value("fragments(uri)")) == 1
    check_same(peer, uri, left)


def test_new_files_of_another_version(peer, uri):
    left = make(peer, uri, data_storage_version="2.0")
    javelin.dataset(uri).optimize.compact_files(data_storage_version="2.1", target_rows_per_fragment=45)
    versions = peer.value("[(f.file_major_version, f.file_minor_version) for x in lance.dataset(uri).get_fragments() for f in x.data_files()]")
    assert versions == [(2, 1)] * 2
    check_same(peer, uri, left)
    assert javelin.dataset(uri).data_storage_version == "2.0"
    javelin.write_dataset(numbered(300, 3), uri, mode="append")
    check_same(peer, uri, left + [300, 301, 302])


def test_columns_that_came_later_and_went(peer, uri):
    make(peer, uri)
    peer.run("ds = lance.dataset(uri); ds.add_columns({'twice': 'id * 2'}); ds.drop_columns(['s'])", uri=uri)
    peer.run("lance.dataset(uri).add_columns(pa.field('nothing', pa.int32()))")
    found = check_same(peer, uri)
    javelin.dataset(uri).optimize.compact_files()
    assert check_same(peer, uri).equals(found)
    assert found["twice"].to_pylist() == [2 * i for i in found["id"].to_pylist()]
    assert peer.value("[len(f.data_files()) for f in lance.dataset(uri).get_fragments()]") == [1]


def test_plans_are_the_peers(peer, uri):
    draw = random.Random(20261130)
    peer.run("lance.write_dataset(table, uri)", uri=uri, table=pa.table({"id": pa.array([0], pa.int64())}))
    for step in range(25):
        count = draw.randrange(1, 30)
        peer.run("lance.write_dataset(table, uri, mode='append', max_rows_per_file=limit)", limit=draw.randrange(3, 15),
                 table=pa.table({"id": pa.array(range(step * 100, step * 100 + count), pa.int64())}))
        low, length = draw.randrange(step * 100 + 1), draw.randrange(1, 12)
        peer.run("lance.dataset(uri).delete(f'id >= {low} and id < {low + length} and id > 0')", low=low, length=length)
        options = {"target_rows_per_fragment": draw.choice([5, 10, 17, 40, 10**6])}
        if draw.random() < 0.4:
            options["materialize_deletions_threshold"] = draw.choice([0.0, 0.2, 0.5, 1.0])
        if draw.random() < 0.2:
            options["materialize_deletions"] = False
        if draw.random() < 0.3:
            options["excluded_fragment_ids"] = [draw.randrange(40) for _ in range(draw.randrange(1, 4))]
        if draw.random() < 0.3:
            options["max_source_fragments"] = draw.randrange(1, 12)
        if draw.random() < 0.3:
            options["max_source_rows"] = draw.randrange(1, 80)
        dataset = javelin.dataset(uri)
        ours = [task.fragment_ids for task in Compaction.plan(dataset, options).tasks]
        assert ours == peer.value("plan(uri, options)", options=options), (step, options)
        before = dataset.to_table()
        if draw.random() < 0.3:
            dataset.optimize.compact_files(**options)
            # New fragments come behind the others, as with the peer.
            assert sorted(check_same(peer, uri)["id"].to_pylist()) == sorted(before["id"].to_pylist())


def test_the_tables_config_says_what_is_not_given(peer, uri):
    make(peer, uri)
    peer.run("lance.dataset(uri).update_config({'lance.compaction.target_rows_per_fragment': '20', "
             "'lance.compaction.max_source_fragments': '7'})", uri=uri)
    for options in ({}, {"max_source_fragments": 100}, {"target_rows_per_fragment": 1000, "max_source_fragments": 3}):
        ours = [task.fragment_ids for task in Compaction.plan(javelin.dataset(uri), options).tasks]
        assert ours == peer.value("plan(uri, options)", options=options)


def test_steps_cross_processes(peer, uri):
    left = make(peer, uri)
    dataset = javelin.dataset(uri)
    plan = Compaction.plan(dataset, {"target_rows_per_fragment": 25})
    assert plan.num_tasks() == len(plan.tasks) >= 3
    assert pickle.loads(pickle.dumps(plan)) == plan == CompactionPlan.from_json(plan.json())
    results = []
    for task in plan.tasks:
        copy = pickle.loads(pickle.dumps(task))
        assert copy == task == CompactionTask.from_json(task.json()) and copy.read_version == plan.read_version
        result = copy.execute(javelin.dataset(uri))
        assert pickle.loads(pickle.dumps(result)) == result == RewriteResult.from_json(result.json())
        results.append(pickle.loads(pickle.dumps(result)))
    assert javelin.dataset(uri).version == plan.read_version
    metrics = Compaction.commit(dataset, results[1:])
    assert metrics.fragments_removed == sum(len(task.fragment_ids) for task in plan.tasks[1:])
    assert sorted(check_same(peer, uri)["id"].to_pylist()) == left
    Compaction.commit(dataset, results[:1])
    assert sorted(check_same(peer, uri)["id"].to_pylist()) == left
    assert [rows for _, rows, _ in peer.value("fragments(uri)")] == [25, 2, 25, 2, 25, 7]
    with pytest.raises(errors.RetryableConflict):
        Compaction.commit(dataset, results[:1])


@pytest.mark.parametrize("change", ["ds.delete('id = 11')", "ds.update({'s': \"'x'\"}, where='id = 11')",
                                    "ds.optimize.compact_files(target_rows_per_fragment=30)"])
def test_what_changed_meanwhile_wins(peer, uri, change):
    make(peer, uri)
    dataset = javelin.dataset(uri)
    results = [task.execute(dataset) for task in Compaction.plan(dataset, {}).tasks]
    peer.run(f"ds = lance.dataset(uri); {change}", uri=uri)
    found = check_same(peer, uri)
    with pytest.raises(errors.RetryableConflict):
        Compaction.commit(dataset, results)
    files = sorted(path.name for path in pathlib.Path(uri, "data").iterdir())
    with pytest.raises(errors.RetryableConflict):
        javelin.dataset(uri, version=dataset.version).optimize.compact_files()
    assert sorted(path.name for path in pathlib.Path(uri, "data").iterdir()) == files  # nothing of that is left
    assert check_same(peer, uri).equals(found)
    # And the other way round.
    peer.run("stale = lance.dataset(uri)")
    javelin.dataset(uri).optimize.compact_files(target_rows_per_fragment=1000)
    with pytest.raises(PeerError, match="(?i)conflict|preempted|retry"):
        peer.run("lance.LanceDataset.commit(uri, lance.LanceOperation.Delete([], [f.fragment_id for f in stale.get_fragments()][:1], ''),"
                 " read_version=stale.version)")
    peer.run("stale.checkout_version(stale.version).delete('id = 12')")  # runs again by itself
    assert sorted(check_same(peer, uri)["id"].to_pylist()) == sorted(set(found["id"].to_pylist()) - {12})


def test_an_append_of_the_peer_meanwhile_stays(peer, uri):
    left = make(peer, uri)
    dataset = javelin.dataset(uri)
    peer.run("lance.write_dataset(table, uri, mode='append')", uri=uri, table=numbered(100, 4))
    dataset.optimize.compact_files()
    assert sorted(check_same(peer, uri)["id"].to_pylist()) == sorted(left + [100, 101, 102, 103])


# ---- indexes ----


def ask(peer, uri, filters):
    return [sorted(peer.value("lance.dataset(uri).to_table(filter=f)['id'].to_pylist()", uri=uri, f=f)) for f in filters]


def test_rows_that_an_index_knows_by_place_stay(peer, uri):
    make(peer, uri)
    peer.run("lance.dataset(uri).create_scalar_index('id', 'BTREE')", uri=uri)
    files = sorted(pathlib.Path(uri).rglob("*"))
    dataset = javelin.dataset(uri)
    for call in (dataset.optimize.compact_files, lambda: Compaction.plan(dataset, {})):
        with pytest.raises(errors.NotSupported, match="id_idx"):
            call()
    assert sorted(pathlib.Path(uri).rglob("*")) == files
    # Rows that it does not know may move.
    peer.run("lance.write_dataset(table, uri, mode='append', max_rows_per_file=3)", table=numbered(100, 12))
    dataset = javelin.dataset(uri)
    known = [i for i, rows, _ in peer.value("fragments(uri)") if rows > 3]
    metrics = dataset.optimize.compact_files(excluded_fragment_ids=known)
    assert (metrics.fragments_removed, metrics.fragments_added) == (4, 1)
    assert ask(peer, uri, ["id = 3", "id = 8", "id >= 98"]) == [[], [8], [98, *range(100, 112)]]
    peer.run("lance.dataset(uri).optimize.compact_files()")
    assert ask(peer, uri, ["id = 3", "id = 8", "id >= 98"]) == [[], [8], [98, *range(100, 112)]]


def test_an_index_that_is_made_meanwhile_wins(peer, uri):
    make(peer, uri)
    dataset = javelin.dataset(uri)
    peer.run("lance.dataset(uri).create_scalar_index('id', 'BTREE')", uri=uri)
    with pytest.raises(errors.RetryableConflict):
        dataset.optimize.compact_files()
    assert ask(peer, uri, ["id = 8"]) == [[8]]


def test_a_table_with_a_deferred_map_is_left_alone(peer, uri):
    make(peer, uri)
    peer.run("ds = lance.dataset(uri); ds.create_scalar_index('id', 'BTREE'); ds.optimize.compact_files(target_rows_per_fragment=30, "
             "defer_index_remap=True); lance.write_dataset(table, uri, mode='append', max_rows_per_file=3)", uri=uri, table=numbered(100, 12))
    with pytest.raises(errors.NotSupported, match="__lance_frag_reuse|id_idx"):
        javelin.dataset(uri).optimize.compact_files()
    assert ask(peer, uri, ["id = 8", "id >= 98"]) == [[8], [98, *range(100, 112)]]


INDEXES = {
    "BTREE": ("ds.create_scalar_index('id', 'BTREE')", ["id = 8", "id = 3", "id between 30 and 50"]),
    "BITMAP": ("ds.create_scalar_index('s', 'BITMAP')", ["s = 'v8'", "s = 'v20'", "s is null"]),
    "LABEL_LIST": ("ds.create_scalar_index('l', 'LABEL_LIST')", ["array_has(l, 9)", "array_has_any(l, [5, 6, 7])"]),
    "NGRAM": ("ds.create_scalar_index('s', 'NGRAM')", ["contains(s, 'v80')", "contains(s, '99')", "contains(s, 'v12')"]),
}


@pytest.mark.parametrize("kind", INDEXES)
def test_indexes_of_stable_row_ids_keep_their_rows(peer, uri, kind):
    """The released reader finds no rows of fragments that an index covered and that are gone."""
    make(peer, uri, enable_stable_row_ids=True)
    build, filters = INDEXES[kind]
    peer.run(f"ds = lance.dataset(uri); {build}", uri=uri)
    peer.run("lance.write_dataset(table, uri, mode='append', max_rows_per_file=3)", table=numbered(100, 12))
    answers = ask(peer, uri, filters)
    covered = peer.value("[i['fragment_ids'] for i in lance.dataset(uri).list_indices()]")
    with pytest.raises(errors.NotSupported, match="_idx"):
        javelin.dataset(uri).optimize.compact_files(target_rows_per_fragment=40)
    javelin.dataset(uri).optimize.compact_files(excluded_fragment_ids=sorted({i for ids in covered for i in ids}))
    assert ask(peer, uri, filters) == answers


@pytest.mark.parametrize("kind", ["ZONEMAP", "BLOOMFILTER"])
def test_indexes_that_know_places_all_the_same(peer, uri, kind):
    make(peer, uri, enable_stable_row_ids=True)
    peer.run(f"lance.dataset(uri).create_scalar_index('id', '{kind}')", uri=uri)
    with pytest.raises(errors.NotSupported, match="id_idx"):
        javelin.dataset(uri).optimize.compact_files()


# ---- blobs ----


def test_blobs_move_with_their_rows(peer, uri):
    draw = random.Random(5)
    values = [None if i % 9 == 4 else bytes([i]) * draw.choice([0, 10, 70_000, 5_000_000 if i % 20 == 0 else 3]) for i in range(60)]
    peer.run("""
schema = pa.schema([pa.field("id", pa.int64()), lance.blob_field("b")])
lance.write_dataset(pa.table([pa.array(range(len(values))), lance.blob_array(values)], schema=schema), uri, max_rows_per_file=7)
lance.dataset(uri).delete("id in (2, 40, 41)")
""", uri=uri, values=values)
    left = [i for i in range(60) if i not in (2, 40, 41)]
    old = {path for path in pathlib.Path(uri, "data").rglob("*") if path.is_file()}
    javelin.dataset(uri).optimize.compact_files(target_rows_per_fragment=30)
    for found in (peer.value("lance.dataset(uri).to_table(blob_handling='all_binary')"), javelin.dataset(uri).to_table(blob_handling="all_binary")):
        assert found["id"].to_pylist() == left
        assert found["b"].to_pylist() == [values[i] for i in left]
    new = {path for path in pathlib.Path(uri, "data").rglob("*") if path.is_file()} - old
    assert any(path.suffix == ".blob" for path in new)
    # A commit that fails takes the sidecars with it.
    dataset = javelin.dataset(uri)
    peer.run("lance.dataset(uri).delete('id = 1')")
    before = {path for path in pathlib.Path(uri, "data").rglob("*") if path.is_file()}
    with pytest.raises(errors.RetryableConflict):
        dataset.optimize.compact_files()
    assert {path for path in pathlib.Path(uri, "data").rglob("*") if path.is_file()} == before


@pytest.mark.parametrize("version", ["2.0", "2.1"])
def test_blobs_of_older_files(peer, uri, version):
    values = [None if i % 7 == 3 else bytes([i]) * (i * 50) for i in range(40)]
    peer.run("""
schema = pa.schema([pa.field("id", pa.int64()), pa.field("b", pa.large_binary(), metadata={"lance-encoding:blob": "true"})])
table = pa.table([pa.array(range(len(values))), pa.array(values, pa.large_binary())], schema=schema)
lance.write_dataset(table, uri, data_storage_version=version, max_rows_per_file=9)
""", uri=uri, values=values, version=version)
    javelin.dataset(uri).optimize.compact_files()
    files = peer.value("lance.dataset(uri).take_blobs('b', indices=list(range(40)))[1].read()")
    assert files == values[1]
    assert javelin.dataset(uri).to_table(blob_handling="all_binary")["b"].to_pylist() == values
    assert len(peer.value("fragments(uri)")) == 1
    with pytest.raises(errors.NotSupported):
        javelin.dataset(uri).optimize.compact_files(data_storage_version="2.2")


# ---- turns ----


@pytest.mark.parametrize("stable", [False, True], ids=["addresses", "row-ids"])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_both_in_turn_against_a_model(peer, uri, stable, seed):
    draw = random.Random(seed)
    peer.run("lance.write_dataset(table, uri, max_rows_per_file=6, enable_stable_row_ids=stable)", uri=uri, table=numbered(0, 20), stable=stable)
    model, next_id = list(range(20)), 20
    kept = lineage(peer, uri) if stable else {}
    for _ in range(40):
        kind = draw.choice(["append", "delete", "compact", "ours", "ours-append"])
        if kind in ("append", "ours-append"):
            table = numbered(next_id, draw.randrange(1, 15))
            if kind == "append":
                peer.run("lance.write_dataset(table, uri, mode='append', max_rows_per_file=5)", table=table)
            else:
                javelin.write_dataset(table, uri, mode="append", max_rows_per_file=5)
            model += table["id"].to_pylist()
            next_id += len(table)
        elif kind == "delete" and model:
            gone = set(draw.sample(model, min(len(model), draw.randrange(1, 12))))
            peer.run("lance.dataset(uri).delete(f'id in ({ids})')", ids=", ".join(map(str, gone)))
            model = [i for i in model if i not in gone]
        else:
            options = {"target_rows_per_fragment": draw.choice([4, 10, 30, 1000])}
            if kind == "ours":
                javelin.dataset(uri).optimize.compact_files(**options)
            else:
                peer.run("lance.dataset(uri).optimize.compact_files(**options)", options=options)
        found = check_same(peer, uri)["id"].to_pylist()
        assert sorted(found) == model
        if stable:
            now = lineage(peer, uri)
            assert {key: now[key] for key in kept if key in now} == {key: value for key, value in kept.items() if key in now}
            assert set(now) == set(model)
            kept = now
