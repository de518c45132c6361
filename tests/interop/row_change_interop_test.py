"""Row changes of ours (rows go and come, SSTables are marked as compacted) on tables that the released peer made, reads and
changes.

The peer runs in a process of its own (peer.py), we in table_tool.
"""

import random
import uuid

import pyarrow as pa
import pytest

from peer import PeerError
from table_interop_test import (CHANGES, SCHEMA, SEED, Failure, check_same, compacts, compacts_with_deferred_remap, deletes_few,  # noqa: F401
                                ours, peer_process, plain, rows, theirs, tool, updates_rows)

pytestmark = pytest.mark.interop

KEYED = SCHEMA.set(0, pa.field("id", pa.int64(), False, {"lance-schema:unenforced-primary-key": "true"}))


def places(ours):
    """id -> address of its row."""
    found = ours.scan("--row-address")
    return dict(zip(found["id"].to_pylist(), found["_rowaddr"].to_pylist()))


def change(ours, new, masked=(), compacted=(), *more):
    """Rows with the ids `masked` go, those of the table `new` come."""
    at = places(ours) if masked else {}
    arguments = [*more]
    if masked:
        arguments += ["--mask", ",".join(str(at[key]) for key in masked)]
    if compacted:
        arguments += ["--compacted", ",".join(f"{shard}:{generation}" for shard, generation in compacted)]
    return ours.write("change", new, *arguments)


def test_our_changes_are_read_and_continued_by_the_peer(ours, theirs):
    ours.write("create", rows(0, 60), "--max-rows", 20)
    assert change(ours, rows(5, 3, "new"), [5, 6, 7, 59]) == 2
    assert check_same(ours, theirs)["id"].to_pylist() == [i for i in range(60) if i not in (5, 6, 7, 59)] + [5, 6, 7]
    assert theirs.value("[f.num_deletions for f in ds.get_fragments()]") == [3, 0, 1, 0]
    change(ours, rows(0, 0), [0, *range(40, 59)])  # a whole fragment goes
    assert theirs.value("[f.fragment_id for f in ds.get_fragments()]") == [0, 1, 3]
    assert sorted(check_same(ours, theirs)["id"].to_pylist()) == list(range(1, 40))
    theirs.run("ds.delete('id = 6 or id = 1')")
    theirs.run("ds.update({'s': \"'theirs'\"}, where='id in (5, 20)')")
    change(ours, rows(20, 1, "ours"), [20, 2])
    found = check_same(ours, theirs)
    assert dict(zip(found["id"].to_pylist(), found["s"].to_pylist()))[20] == "ours20"
    theirs.run("ds.optimize.compact_files()")
    assert sorted(check_same(ours, theirs)["id"].to_pylist()) == [i for i in range(3, 40) if i != 6]


@pytest.mark.parametrize("count", [4999, 5000, 9000])
def test_many_masked_rows(ours, theirs, count):
    ours.write("create", rows(0, 12000))
    gone = random.Random(SEED).sample(range(12000), count)
    change(ours, rows(0, 0), gone)
    assert check_same(ours, theirs)["id"].to_pylist() == sorted(set(range(12000)) - set(gone))
    theirs.run("ds.delete('id < 600')")
    change(ours, rows(0, 0), [i for i in range(600, 700) if i not in gone])
    assert check_same(ours, theirs)["id"].to_pylist() == sorted(set(range(700, 12000)) - set(gone))


@pytest.mark.parametrize("made", [{}, {"enable_v2_manifest_paths": False}, {"enable_stable_row_ids": True}],
                         ids=["plain", "v1-names", "stable-row-ids"])
@pytest.mark.parametrize("before", CHANGES, ids=lambda change: change.__name__)
def test_we_change_the_peers_table(ours, theirs, before, made):
    if before is compacts_with_deferred_remap and "enable_stable_row_ids" in made:
        pytest.skip("the peer refuses deferred remap on such tables")
    theirs.write(rows(0, 100), max_rows_per_file=40, **made)
    before(theirs)
    found = check_same(ours, theirs)
    schema = found.drop_columns(["_rowid", "_rowaddr"]).schema
    ids = found["id"].to_pylist()
    gone = random.Random(SEED).sample(ids, min(len(ids), 30))
    more = pa.Table.from_pylist([{name: None if name != "id" else 50000 + i for name in schema.names} for i in range(4)],
                                schema=schema.remove_metadata())
    change(ours, more, gone)
    after = check_same(ours, theirs)
    expected = [i for i in ids if i not in set(gone)] + [50000, 50001, 50002, 50003]
    assert after["id"].to_pylist() == expected
    if "enable_stable_row_ids" in made:
        assert len(set(after["_rowid"].to_pylist())) == len(after)
        stays = dict(zip(found["id"].to_pylist(), found["_rowid"].to_pylist()))
        assert all(stays.get(key, row) == row for key, row in zip(after["id"].to_pylist(), after["_rowid"].to_pylist()))
    theirs.run("ds.delete('id = 50001')")
    theirs.run("ds.optimize.compact_files(target_rows_per_fragment=1000)")
    assert sorted(check_same(ours, theirs)["id"].to_pylist()) == sorted(set(expected) - {50001})


@pytest.mark.parametrize("made", [{}, {"enable_stable_row_ids": True}], ids=["plain", "stable-row-ids"])
def test_the_peers_indexes_answer_after_our_change(ours, theirs, made):
    theirs.write(rows(0, 100), max_rows_per_file=40, **made)
    theirs.run("ds.create_scalar_index('id', 'BTREE')")
    theirs.run("ds.create_scalar_index('s', 'BITMAP')")
    before = ours.info()["indices"]
    change(ours, rows(50, 2, "new"), [50, 51, 3, *range(80, 100)])
    assert ours.info()["indices"] == before

    def ask():
        assert theirs.value("ds.to_table(filter='id = 50')['s'].to_pylist()") == ["new50"]
        assert theirs.value("ds.to_table(filter='id = 3').num_rows") == 0
        assert theirs.value("ds.to_table(filter='id >= 78')['id'].to_pylist()") == [78, 79]
        assert theirs.value("ds.to_table(filter=\"s = 'v51'\").num_rows") == 0
        assert theirs.value("ds.to_table(filter=\"s = 'new51'\")['id'].to_pylist()") == [51]

    ask()
    theirs.run("ds.optimize.optimize_indices()")
    ask()
    change(ours, rows(0, 0), [0, 1])
    theirs.run("ds.optimize.compact_files()")
    ask()
    check_same(ours, theirs)


VERSIONS = ["id", "s", "_rowid", "_row_created_at_version", "_row_last_updated_at_version"]


def lineage(ours, theirs):
    """What each id has of `VERSIONS`, as both see it."""
    found = theirs.scan(columns=VERSIONS).to_pylist()
    assert ours.scan("--columns", ",".join(VERSIONS)).to_pylist() == found
    return {row.pop("id"): row for row in found}


@pytest.mark.parametrize("spilled", [False, True], ids=["inline", "spilled"])
def test_replaced_rows_keep_their_ids_as_in_an_upsert_of_the_peer(ours, theirs, tool, tmp_path, spilled):
    copy = type(ours)(tool, str(tmp_path / "copy.lance"), tmp_path), type(theirs)(theirs.peer, str(tmp_path / "copy.lance"))
    for _, made in ((ours, theirs), copy):
        made.write(rows(0, 60), max_rows_per_file=25, enable_stable_row_ids=True)
        if spilled:
            made.run("ds.update_config({'lance.row_lineage.spill': 'true', 'lance.row_lineage.inline_max_bytes': '0'})")
        made.run("ds.delete('id in (3, 14)')")
        made.write(rows(60, 10), mode="append")
        made.run("ds.optimize.compact_files()")
        made.run("ds.update({'s': \"'new'\"}, where='id % 9 = 0')")
    assert lineage(ours, theirs) == lineage(*copy)
    found = theirs.scan(columns=["id"], with_row_address=True)
    order = [key for key in found["id"].to_pylist() if key in (9, 10, 40, 41, 65)]  # the peer's own order
    at = places(ours)
    upserted = pa.concat_tables([rows(key, 1, "upserted") for key in order + [3, 70]])
    ours.write("change", upserted, "--replace", ",".join(str(at[key]) for key in order), "--max-rows", 3)
    copy[1].run("ds.merge_insert('id').when_matched_update_all().when_not_matched_insert_all().execute(more)", more=upserted)
    mine, other = lineage(ours, theirs), lineage(*copy)
    assert mine == other
    assert {mine[key]["_row_created_at_version"] for key in (9, 10)} == {1}
    check_same(ours, theirs)
    for _, made in ((ours, theirs), copy):
        made.run("ds.optimize.compact_files()")
    assert {key: row["_rowid"] for key, row in lineage(ours, theirs).items()} == {key: row["_rowid"] for key, row in other.items()}


# ---- compaction progress ----


def mark_by_the_peer(theirs, shard, generation, more):
    theirs.run("ds.merge_insert('id').when_matched_update_all().when_not_matched_insert_all()"
               ".mark_sstables_as_compacted([lance.CompactedSsTable(shard, generation)]).execute(more)",
               shard=shard, generation=generation, more=more)


def test_progress_is_common_to_both(ours, theirs):
    first, second = str(uuid.uuid4()), str(uuid.uuid4())
    theirs.write(rows(0, 20).cast(KEYED))
    theirs.run("ds.create_scalar_index('id', 'BTREE')")
    with pytest.raises(Failure) as refused:
        change(ours, rows(0, 0).cast(KEYED), [], [(first, 1)])
    assert refused.value.kind == "InvalidInput"
    theirs.run("ds.initialize_mem_wal(unsharded=True)")
    change(ours, rows(3, 2, "new").cast(KEYED), [3, 4], [(first, 2)])
    assert ours.info()["progress"] == {first: 2}
    with pytest.raises(PeerError, match="(?i)stale"):
        mark_by_the_peer(theirs, first, 2, rows(3, 1, "stale").cast(KEYED))
    mark_by_the_peer(theirs, first, 3, rows(4, 1, "theirs").cast(KEYED))
    with pytest.raises(Failure) as refused:
        change(ours, rows(0, 0).cast(KEYED), [5], [(second, 1), (first, 3)])
    assert refused.value.kind == "InvalidInput"
    with pytest.raises(Failure) as refused:
        change(ours, rows(0, 0).cast(KEYED), [5], [(first, 4), (first, 5)])
    assert refused.value.kind == "InvalidInput"
    change(ours, rows(0, 0).cast(KEYED), [5], [(second, 7), (first, 4)])
    assert ours.info()["progress"] == {first: 4, second: 7}
    mark_by_the_peer(theirs, second, 8, rows(0, 0).cast(KEYED))
    assert ours.info()["progress"] == {first: 4, second: 8}
    found = check_same(ours, theirs)
    by_id = dict(zip(found["id"].to_pylist(), found["s"].to_pylist()))
    assert (by_id[4], 5 in by_id, len(by_id)) == ("theirs4", False, 19)


def test_the_peer_derives_catch_up_behind_our_progress_and_we_behind_its(ours, theirs):
    shard = str(uuid.uuid4())
    theirs.write(rows(0, 20).cast(KEYED))
    theirs.run("ds.create_scalar_index('id', 'BTREE')")
    theirs.run("ds.initialize_mem_wal(unsharded=True)")

    def caught_up():
        return {name: marks[shard] for name, marks in ours.info()["catch_up"].items()}

    change(ours, rows(20, 2).cast(KEYED), [], [(shard, 2)])
    assert caught_up() == {}
    theirs.run("ds.optimize.optimize_indices()")
    assert caught_up() == {"id_idx": 2}
    change(ours, rows(3, 1, "new").cast(KEYED), [3], [(shard, 3)])
    assert caught_up() == {"id_idx": 2}
    theirs.run("ds.delete('id = 4')")
    assert caught_up() == {"id_idx": 2}
    theirs.run("ds.optimize.optimize_indices()")
    assert caught_up() == {"id_idx": 3}
    mark_by_the_peer(theirs, shard, 4, rows(0, 0).cast(KEYED))
    assert caught_up() == {"id_idx": 3}
    change(ours, rows(0, 0).cast(KEYED))  # any commit: the index covers all that was there at generation 4
    assert caught_up() == {"id_idx": 4}
    check_same(ours, theirs)


# ---- stale handles ----


@pytest.mark.parametrize(("between", "row"), [(deletes_few, 11), (updates_rows, 15), (compacts, 16)],
                         ids=["deletes_few", "updates_rows", "compacts"])
def test_we_give_way_to_the_peer_on_common_rows(ours, theirs, between, row):
    theirs.write(rows(0, 50), max_rows_per_file=20)
    at = places(ours)
    between(theirs)
    expected = check_same(ours, theirs)
    with pytest.raises(Failure) as refused:
        ours.write("change", rows(100, 2), "--version", 1, "--mask", at[row])
    assert refused.value.kind == "RetryableConflict"
    assert plain(check_same(ours, theirs)) == plain(expected)
    change(ours, rows(100, 2), [16])
    assert check_same(ours, theirs)["id"].to_pylist()[-2:] == [100, 101]


@pytest.mark.parametrize("between", [deletes_few, updates_rows], ids=lambda change: change.__name__)
def test_we_pass_the_peer_on_other_rows_of_a_fragment(ours, theirs, between):
    theirs.write(rows(0, 50), max_rows_per_file=20)
    at = places(ours)
    between(theirs)
    expected = {row["id"]: row for row in check_same(ours, theirs).to_pylist()}
    ours.write("change", rows(100, 2), "--version", 1, "--mask", at[16])
    del expected[16]
    found = {row["id"]: row for row in check_same(ours, theirs).to_pylist()}
    assert {key: row for key, row in found.items() if key < 100} == expected
    assert sorted(found)[-2:] == [100, 101]


def test_we_pass_the_peer_on_other_fragments(ours, theirs):
    theirs.write(rows(0, 60), max_rows_per_file=20)
    at = places(ours)
    theirs.run("ds.delete('id = 3')")
    theirs.write(rows(60, 2), mode="append")
    theirs.run("ds.create_scalar_index('id', 'BTREE')")
    theirs.run("ds.update({'s': \"'theirs'\"}, where='id = 45')")
    ours.write("change", rows(100, 2), "--version", 1, "--mask", at[25])
    assert sorted(check_same(ours, theirs)["id"].to_pylist()) == [i for i in range(62) if i not in (3, 25)] + [100, 101]
    assert theirs.value("ds.to_table(filter='id in (25, 45, 100)')['id'].to_pylist()") in ([45, 100], [100, 45])


def test_we_give_way_to_keys_that_the_peer_inserted(ours, theirs):
    """Its merge-insert did not find the key that ours brings too: both would insert it."""
    theirs.write(rows(0, 20).cast(KEYED))
    theirs.run("ds.merge_insert().when_matched_update_all().when_not_matched_insert_all().execute(more)", more=rows(30, 1, "theirs").cast(KEYED))
    with pytest.raises(Failure) as refused:
        ours.write("change", rows(30, 1, "ours").cast(KEYED), "--version", 1)
    assert refused.value.kind == "RetryableConflict"
    change(ours, rows(30, 1, "ours").cast(KEYED), [30])
    assert check_same(ours, theirs)["id"].to_pylist() == [*range(20), 30]


def test_the_peer_gives_way_to_us_or_passes(ours, theirs):
    theirs.write(rows(0, 60).cast(KEYED), max_rows_per_file=20)
    theirs.run("stale = ds")
    change(ours, rows(60, 1).cast(KEYED), [3, 25])
    theirs.peer.run("stale.delete('id = 4')")  # another row of the same fragment: the peer merges its mask with ours
    assert sorted(check_same(ours, theirs)["id"].to_pylist()) == [i for i in range(61) if i not in (3, 4, 25)]
    theirs.run("stale = ds")
    change(ours, rows(5, 1, "ours").cast(KEYED), [5])
    theirs.peer.run("stale.update({'s': \"'theirs'\"}, where='id = 5')")  # the same row: it runs again
    found = check_same(ours, theirs)
    assert dict(zip(found["id"].to_pylist(), found["s"].to_pylist()))[5] == "theirs"
    theirs.run("stale = ds")
    change(ours, rows(70, 1, "ours").cast(KEYED))
    theirs.peer.run("stale.merge_insert().when_matched_update_all().when_not_matched_insert_all().execute(more)",
                    more=rows(70, 1, "theirs").cast(KEYED))
    found = check_same(ours, theirs)
    assert sorted(found["id"].to_pylist()) == [i for i in range(61) if i not in (3, 4, 25)] + [70]
    assert dict(zip(found["id"].to_pylist(), found["s"].to_pylist()))[70] == "theirs70"


# ---- random operations by both, against a model ----


@pytest.mark.parametrize("round_", range(6))
def test_random_changes_by_both(ours, theirs, round_):
    draw = random.Random(SEED + round_)
    made = [{}, {"enable_v2_manifest_paths": False}, {"enable_stable_row_ids": True}][round_ % 3]
    theirs.write(rows(0, 40).cast(KEYED), max_rows_per_file=13, **made)
    theirs.run("ds.create_scalar_index('id', 'BTREE')")
    theirs.run("ds.initialize_mem_wal(unsharded=True)")
    model = {i: rows(i, 1)["s"][0].as_py() for i in range(40)}
    shard, generation, progress = str(uuid.uuid4()), 0, {}
    for step in range(14):
        kind = draw.choice(["our change", "our change", "our change", "their merge", "delete", "compact", "optimize", "our append"])
        keys = draw.sample(range(80), draw.randrange(1, 15))
        if kind == "our change":
            marks = []
            if draw.random() < 0.5:
                generation += 1
                marks, progress = [(shard, generation)], {shard: generation}
            upserts = [key for key in keys if draw.random() < 0.7]
            new = pa.concat_tables([rows(key, 1, f"step {step} ") for key in upserts] or [rows(0, 0)])
            change(ours, new.cast(KEYED), [key for key in keys if key in model], marks, "--max-rows", draw.randrange(3, 30))
            for key in keys:
                model.pop(key, None)
            model |= dict(zip(new["id"].to_pylist(), new["s"].to_pylist()))
        elif kind == "their merge":
            new = pa.concat_tables([rows(key, 1, f"step {step} ") for key in keys])
            generation += 1
            mark_by_the_peer(theirs, shard, generation, new.cast(KEYED))
            progress = {shard: generation}
            model |= dict(zip(new["id"].to_pylist(), new["s"].to_pylist()))
        elif kind == "delete":
            theirs.run(f"ds.delete('id in ({', '.join(map(str, keys))})')")
            model = {key: s for key, s in model.items() if key not in keys}
        elif kind == "compact":
            theirs.run("ds.optimize.compact_files(target_rows_per_fragment=25)")
        elif kind == "optimize":
            theirs.run("ds.optimize.optimize_indices()")
        else:
            new = rows(100 + 10 * step, draw.randrange(1, 5))
            ours.write("append", new.cast(KEYED))
            model |= dict(zip(new["id"].to_pylist(), new["s"].to_pylist()))
        found = ours.scan()
        assert dict(zip(found["id"].to_pylist(), found["s"].to_pylist())) == model, (step, kind)
        assert len(found) == len(model), (step, kind)
        assert ours.info()["progress"] == progress, (step, kind)
        key = draw.choice(keys)
        assert theirs.value(f"ds.to_table(filter='id = {key}')['s'].to_pylist()") == ([model[key]] if key in model else []), (step, kind)
    check_same(ours, theirs)
