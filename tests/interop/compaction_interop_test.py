"""Compaction between two libraries: SSTables of either move into the table by either, and both read the same rows.

The peer's own reader of shards takes SSTables that the table holds already for newer ones; so what it is asked for is the
table itself, or a snapshot of the SSTables above what is recorded.
"""

import random
from pathlib import Path

import pyarrow as pa
import pytest

import javelin
from javelin import errors
from peer import Peer
from shard_interop_test import SCHEMA, by_id, expect, made_by_peer, made_by_us, our_scan, our_writer, peer_scan, peer_writer, rows

pytestmark = pytest.mark.interop


def keys(*ids):
    return pa.table({"id": pa.array(ids, pa.int64())})


def flushed_by_peer(peer, uri, shard, *steps):
    """Steps are tables: of keys = deletions, else puts; all of them one SSTable."""
    peer_writer(peer, uri, shard)
    for step in steps:
        peer.run("w.put(step)" if len(step.column_names) > 1 else "w.delete(step)", step=step)
    peer.run("w.close(); del w")


def flushed_by_us(uri, shard, *steps):
    with our_writer(uri, shard) as ours:
        for step in steps:
            (ours.put if len(step.column_names) > 1 else ours.delete)(step)


def peer_rows(peer, uri):
    return peer.value("lance.dataset(uri).to_table().to_pylist()", uri=uri)


def peer_base(peer, uri):
    return by_id(peer_rows(peer, uri))


def our_base(uri):
    return by_id(javelin.dataset(uri).to_table())


def sstable_folders(uri, shard):
    """Those that hold any file; a local store leaves empty ones behind."""
    folder = Path(uri, "_mem_wal", shard)
    names = {path.relative_to(folder).parts[0] for path in folder.rglob("*") if path.is_file()}
    return {name for name in names if "_gen_" in name}


def fresh(uri):
    return by_id(javelin.dataset(uri).fresh().to_table())


def peer_compacts(peer, uri, shard, generation, upserts, deletions=()):
    """As the peer's users do it: deletions first without the mark, upserts with it last."""
    if deletions:
        peer.run("lance.dataset(uri).merge_insert('id').when_matched_delete().execute(gone)", uri=uri, gone=keys(*deletions))
    peer.run("from lance.mem_wal import CompactedSsTable\n"
             "(lance.dataset(uri).merge_insert('id').when_matched_update_all().when_not_matched_insert_all()"
             ".mark_sstables_as_compacted([CompactedSsTable(shard, generation)]).execute(upserts))",
             uri=uri, shard=shard, generation=generation, upserts=upserts)


@pytest.mark.parametrize("made", [made_by_us, made_by_peer], ids=["our-table", "peers-table"])
def test_we_compact_what_the_peer_flushed(tmp_path, peer, shard, made):
    uri = made(tmp_path) if made is made_by_us else made(peer, tmp_path)
    flushed_by_peer(peer, uri, shard, rows(2, 4, 5, tag="a"), rows(4, tag="b"), keys(1))
    flushed_by_peer(peer, uri, shard, rows(6, 3, tag="c"), keys(5, 99))
    expected = {**expect(2, tag="a"), **expect(4, tag="b"), **expect(6, 3, tag="c")}
    assert fresh(uri) == expected
    (entry,) = javelin.dataset(uri).compact_shards(retired_grace=0)["shards"]
    assert (entry["generations"], entry["retired"], entry["folders_deleted"]) == ([1, 2], [1, 2], 2)
    assert peer_base(peer, uri) == our_base(uri) == fresh(uri) == expected
    assert sstable_folders(uri, shard) == set()
    # The shard goes on in either library, with generation 3.
    flushed_by_peer(peer, uri, shard, rows(7, tag="d"))
    assert fresh(uri) == {**expected, **expect(7, tag="d")}
    assert javelin.dataset(uri).compact_shards()["shards"][0]["generations"] == [3]
    assert peer_base(peer, uri) == {**expected, **expect(7, tag="d")}
    peer_writer(peer, uri, shard)
    assert peer_scan(peer) == peer_base(peer, uri), "nothing is listed any more, so its reader agrees"


def test_the_peer_compacts_what_we_flushed(tmp_path, peer, shard):
    uri = made_by_us(tmp_path)
    flushed_by_us(uri, shard, rows(2, 4, tag="a"), keys(1))
    peer_compacts(peer, uri, shard, 1, rows(2, 4, tag="a"), [1])
    expected = {**expect(3), **expect(2, 4, tag="a")}
    assert fresh(uri) == our_base(uri) == peer_base(peer, uri) == expected
    peer.run("ds = lance.dataset(uri); ds.update({'text': \"'direct'\"}, where='id = 4')", uri=uri)
    expected[4] = ("direct", 2.0)
    assert fresh(uri) == expected, "the SSTable is still listed, but what the table says since wins"
    flushed_by_us(uri, shard, rows(2, 8, tag="b"))
    expected |= expect(2, 8, tag="b")
    assert fresh(uri) == expected
    (entry,) = javelin.dataset(uri).compact_shards()["shards"]
    assert (entry["generations"], entry["retired"]) == ([2], [1, 2]), "ours goes on from the peer's mark"
    assert peer_base(peer, uri) == fresh(uri) == expected


def test_indexes_of_the_peer_keep_sstables_listed_until_they_catch_up(tmp_path, peer, shard):
    uri = made_by_peer(peer, tmp_path)
    peer.run("lance.dataset(uri).create_scalar_index('id', 'BTREE')", uri=uri)
    flushed_by_us(uri, shard, rows(2, 4, tag="a"), keys(1))
    (entry,) = javelin.dataset(uri).compact_shards(retired_grace=0)["shards"]
    assert (entry["passes"], entry["retired"], entry["awaiting_indexes"]) == (1, [], 1)
    expected = {**expect(3), **expect(2, 4, tag="a")}
    assert fresh(uri) == peer_base(peer, uri) == expected

    def by_index(key):
        return by_id(peer.value("lance.dataset(uri).to_table(filter=f'id = {key}').to_pylist()", uri=uri, key=key))

    assert [by_index(key) for key in (1, 2, 4)] == [{}, expect(2, tag="a"), expect(4, tag="a")]
    peer.run("lance.dataset(uri).optimize.optimize_indices()", uri=uri)
    (entry,) = javelin.dataset(uri).compact_shards(retired_grace=0)["shards"]
    assert (entry["passes"], entry["retired"], entry["awaiting_indexes"], entry["folders_deleted"]) == (0, [1], 0, 1)
    assert [by_index(key) for key in (1, 2, 4)] == [{}, expect(2, tag="a"), expect(4, tag="a")]
    assert fresh(uri) == peer_base(peer, uri) == expected


def test_stable_row_ids_survive_as_in_an_upsert_of_the_peer(tmp_path, peer, shard):
    uri = str(tmp_path / "table.lance")
    peer.run("ds = lance.write_dataset(base, uri, enable_stable_row_ids=True); ds.initialize_mem_wal(unsharded=True)",
             uri=uri, base=rows(*range(8)))

    def row_ids():
        found = peer.value("lance.dataset(uri).to_table(columns=['id', '_rowid', '_row_created_at_version']).to_pylist()", uri=uri)
        return {row["id"]: (row["_rowid"], row["_row_created_at_version"]) for row in found}

    before = row_ids()
    flushed_by_us(uri, shard, rows(6, 20, 1, tag="a"), keys(3))
    flushed_by_us(uri, shard, rows(5, 21, 1, tag="b"))
    javelin.dataset(uri).compact_shards()
    after = row_ids()
    assert set(after) == (set(before) | {20, 21}) - {3}
    assert {key: after[key] for key in before if key != 3} == {key: before[key] for key in before if key != 3}
    assert len({row_id for row_id, _ in after.values()}) == len(after)
    assert peer_base(peer, uri) == {**expect(0, 2, 4, 7), **expect(6, 20, tag="a"), **expect(5, 21, 1, tag="b")}


def test_columns_of_a_table_that_the_peer_changed_since_the_flush(tmp_path, peer, shard):
    uri = made_by_us(tmp_path)
    flushed_by_us(uri, shard, rows(2, 4, tag="a"), keys(1))
    peer.run("ds = lance.dataset(uri)\n"
             "ds.add_columns(pa.schema([pa.field('flag', pa.bool_())]))\n"  # takes the number that the marker has in the SSTable
             "ds.alter_columns({'path': 'text', 'name': 'words'})\n"
             "ds.drop_columns(['score'])", uri=uri)
    expected = [{"id": 2, "words": "a2", "flag": None}, {"id": 3, "words": "v3", "flag": None},
                {"id": 4, "words": "a4", "flag": None}]
    assert sorted(javelin.dataset(uri).fresh().to_table().to_pylist(), key=lambda row: row["id"]) == expected
    javelin.dataset(uri).compact_shards()
    assert sorted(peer_rows(peer, uri), key=lambda row: row["id"]) == expected
    assert sorted(javelin.dataset(uri).to_table().to_pylist(), key=lambda row: row["id"]) == expected


def test_a_running_writer_of_the_peer_goes_on_beside_our_compaction(tmp_path, peer, shard):
    uri = made_by_peer(peer, tmp_path)
    flushed_by_peer(peer, uri, shard, rows(2, 4, tag="a"))
    peer_writer(peer, uri, shard)
    peer.run("w.put(more)", more=rows(5, tag="b"))
    (entry,) = javelin.dataset(uri).compact_shards(retired_grace=0)["shards"]
    assert (entry["generations"], entry["retired"]) == ([1], [1])
    peer.run("w.put(more); w.close()", more=rows(2, 6, tag="c"))
    expected = {**expect(1, 3), **expect(4, tag="a"), **expect(5, tag="b"), **expect(2, 6, tag="c")}
    assert fresh(uri) == expected
    assert javelin.dataset(uri).compact_shards()["shards"][0]["generations"] == [2]
    assert peer_base(peer, uri) == expected


def expect_gap(call, shard, generation):
    with pytest.raises(errors.Corruption) as refused:
        call()
    assert refused.value.fields["shard"] == shard
    assert refused.value.fields["generation"] == str(generation)


@pytest.mark.parametrize("live", [False, True], ids=["no writer", "a writer of ours"])
def test_the_peer_restores_the_table_to_before_a_compaction(tmp_path, peer, shard, live):
    """The rows are in the version that was left only, and no answer may go without them."""
    uri = made_by_us(tmp_path)
    writer = our_writer(uri, shard) if live else None
    if live:
        writer.put(rows(2, 4, tag="a"))
        writer.flush()
    else:
        flushed_by_us(uri, shard, rows(2, 4, tag="a"))
    before = javelin.dataset(uri).version
    assert javelin.dataset(uri, session=javelin.Session()).compact_shards(retired_grace=0)["shards"][0]["retired"] == [1]
    compacted = javelin.dataset(uri, session=javelin.Session()).version
    peer.run("lance.dataset(uri, version=before).restore()", uri=uri, before=before)
    expect_gap(lambda: fresh(uri), shard, 1)
    expect_gap(lambda: javelin.dataset(uri).fresh().get([4]), shard, 1)
    expect_gap(lambda: javelin.dataset(uri).compact_shards(), shard, 1)
    if live:
        expect_gap(lambda: writer.lsm_scanner().to_table(), shard, 1)
        writer.put(rows(5, tag="b"))
        writer.close()
    expect_gap(lambda: our_writer(uri, shard), shard, 1)

    # Forward again, the rows are there; whoever wants the table without them says so.
    peer.run("lance.dataset(uri, version=compacted).restore()", uri=uri, compacted=compacted)
    whole = {**expect(1, 3), **expect(2, 4, tag="a"), **(expect(5, tag="b") if live else {})}
    assert fresh(uri) == whole
    peer.run("lance.dataset(uri, version=before).restore(); lance.dataset(uri).drop_index('__lance_mem_wal')",
             uri=uri, before=before)
    javelin.dataset(uri).initialize_mem_wal(unsharded=True, adopt_sstables=True)
    left = {**expect(1, 2, 3), **(expect(5, tag="b") if live else {})}
    assert fresh(uri) == left
    with our_writer(uri, shard) as again:
        again.put(rows(6, tag="c"))
    javelin.dataset(uri).compact_shards()
    assert peer_base(peer, uri) == {**left, **expect(6, tag="c")}


def peer_changes_base(peer, uri, chance, model, pending):
    """Past MemWAL: changes a row of the table, or deletes it, with a key that no SSTable above the mark holds. Returns how
    many rows: 0 if there is no such key."""
    free = sorted(set(model).difference(*pending))
    if not free:
        return 0
    key = chance.choice(free)
    if chance.random() < 0.6:
        peer.run("done = lance.dataset(uri).update({'text': f\"'direct{key}'\"}, where=f'id = {key}')", uri=uri, key=key)
        model[key] = (f"direct{key}", model[key][1])
        return peer.value("done['num_rows_updated']")
    peer.run("lance.dataset(uri).delete(f'id = {key}')", uri=uri, key=key)
    del model[key]
    return 1


@pytest.mark.parametrize("seed", range(4))
def test_turns_of_both_libraries_against_a_map(tmp_path, shard, seed):
    """Either writes and flushes, either compacts, the peer changes the base directly, in turns."""
    chance = random.Random(seed)
    with Peer() as peer:
        uri = made_by_us(tmp_path) if seed % 2 else made_by_peer(peer, tmp_path)
        model = expect(1, 2, 3)
        generation, pending = 0, []  # SSTables that the table does not hold: what each changed, None = deleted
        direct = 0
        for turn in range(10):
            steps, change = [], {}
            for number in range(chance.randint(1, 3)):
                if chance.random() < 0.35:
                    gone = chance.sample(range(12), 2)
                    steps.append(keys(*gone))
                    change |= dict.fromkeys(gone)
                else:
                    put = rows(*chance.sample(range(12), chance.randint(1, 4)), tag=f"t{turn}.{number}.")
                    steps.append(put)
                    change |= by_id(put)
            if chance.random() < 0.5:
                flushed_by_peer(peer, uri, shard, *steps)
            else:
                flushed_by_us(uri, shard, *steps)
            generation += 1
            pending.append(change)
            model |= change
            model = {key: row for key, row in model.items() if row is not None}
            assert fresh(uri) == model
            what = chance.random()
            if what < 0.4:
                (entry,) = javelin.dataset(uri).compact_shards(retired_grace=0)["shards"]
                assert entry["generations"] == list(range(generation - len(pending) + 1, generation + 1))
                pending = []
            elif what < 0.7:
                taken = chance.randint(1, len(pending))
                merged = {}
                for older in pending[:taken]:
                    merged |= older
                upserts = {key: row for key, row in merged.items() if row is not None}
                if upserts:
                    table = pa.table({"id": pa.array(list(upserts), pa.int64()), "text": [row[0] for row in upserts.values()],
                                      "score": [row[1] for row in upserts.values()]}, schema=SCHEMA)
                    peer_compacts(peer, uri, shard, generation - len(pending) + taken, table,
                                  [key for key, row in merged.items() if row is None])
                    pending = pending[taken:]
            assert fresh(uri) == model
            if chance.random() < 0.6:
                direct += peer_changes_base(peer, uri, chance, model, pending)
                assert fresh(uri) == model
            if not pending:
                assert peer_base(peer, uri) == our_base(uri) == model
        javelin.dataset(uri).compact_shards(retired_grace=0)
        assert peer_base(peer, uri) == our_base(uri) == fresh(uri) == model
        assert sstable_folders(uri, shard) == set()
        assert direct >= 2, "the base was hardly changed past its shard"
