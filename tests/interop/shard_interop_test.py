"""One shard, two libraries: what one writes the other opens, replays, appends to and fences.

The peer sees unflushed rows of a shard only through a writer of its own: it claims the shard, writes a sentinel and replays.
"""

import random
from pathlib import Path

import pyarrow as pa
import pytest

import javelin
from peer import Peer, PeerError

SCHEMA = pa.schema([
    pa.field("id", pa.int64(), nullable=False, metadata={"lance-schema:unenforced-primary-key": "true"}),
    pa.field("text", pa.string()),
    pa.field("score", pa.float64()),
])


def rows(*keys, tag="v"):
    return pa.table({"id": pa.array(keys, pa.int64()), "text": [f"{tag}{key}" for key in keys],
                     "score": [key / 2 for key in keys]}, schema=SCHEMA)


def by_id(table_or_rows):
    found = table_or_rows.to_pylist() if isinstance(table_or_rows, (pa.Table, pa.RecordBatch)) else table_or_rows
    result = {row["id"]: (row["text"], row["score"]) for row in found}
    assert len(result) == len(found), "an id comes twice"
    return result


def expect(*keys, tag="v"):
    return {key: (f"{tag}{key}", key / 2) for key in keys}


def made_by_us(path, base=rows(1, 2, 3)):
    uri = str(path / "ours.lance")
    javelin.write_dataset(base, uri).initialize_mem_wal(unsharded=True)
    return uri


def made_by_peer(peer, path, base=rows(1, 2, 3)):
    uri = str(path / "theirs.lance")
    peer.run("lance.write_dataset(base, uri).initialize_mem_wal(unsharded=True)", uri=uri, base=base)
    return uri


def peer_writer(peer, uri, shard, **options):
    peer.run("w = lance.dataset(uri).mem_wal_writer(shard, **options)", uri=uri, shard=shard,
             options={"max_wal_flush_interval_ms": 5, **options})


def peer_scan(peer):
    return by_id(peer.value("w.lsm_scanner().to_table()").select(SCHEMA.names))


def our_writer(uri, shard, **options):
    return javelin.dataset(uri).mem_wal_writer(shard, commit_mode="eager", **options)


def our_scan(writer):
    return by_id(writer.lsm_scanner().to_table())


def sstable_folders(uri, shard):
    return {path.name for path in Path(uri, "_mem_wal", shard).glob("*_gen_*")}


def wal_objects(uri, shard):
    return sorted(Path(uri, "_mem_wal", shard, "wal").glob("*.arrow"))


def test_peer_replays_puts_to_and_flushes_our_shard(tmp_path, peer, shard):
    uri = made_by_us(tmp_path)
    with our_writer(uri, shard) as ours:
        ours.put(rows(3, 4, 5, tag="ours"))
        ours.put(rows(5, 6, tag="again"))
        ours.delete(pa.table({"id": pa.array([1, 4], pa.int64())}))
        expected = {**expect(2), **expect(3, tag="ours"), **expect(5, 6, tag="again")}
        assert our_scan(ours) == expected
    peer_writer(peer, uri, shard)
    assert peer_scan(peer) == expected
    peer.run("w.put(batch)", batch=rows(7, 2, tag="peer"))
    expected |= expect(7, 2, tag="peer")
    assert peer_scan(peer) == expected
    generation, before = peer.value("w.memtable_stats()['generation']"), sstable_folders(uri, shard)
    peer.run("w.close()")
    (sstable,) = sstable_folders(uri, shard) - before
    assert sstable.endswith(f"_gen_{generation}")
    with our_writer(uri, shard) as ours:  # everything was flushed, and listed: nothing is left to replay
        assert sstable in [entry["path"] for entry in ours.manifest()["sstables"]]
        assert ours.memtable_stats()["row_count"] == 0
    peer_writer(peer, uri, shard)
    assert peer_scan(peer) == expected


def test_we_replay_a_shard_whose_peer_was_killed(tmp_path, peer, shard):
    uri = made_by_peer(peer, tmp_path)
    peer_writer(peer, uri, shard)
    peer.run("w.put(a); w.put(b); w.delete(keys)", a=rows(3, 4, 5, tag="peer"), b=rows(5, 6, tag="again"),
             keys=pa.table({"id": pa.array([1, 4], pa.int64())}))
    expected = {**expect(2), **expect(3, tag="peer"), **expect(5, 6, tag="again")}
    assert peer_scan(peer) == expected
    peer.kill()
    with our_writer(uri, shard) as ours:
        assert our_scan(ours) == expected
        assert by_id(javelin.dataset(uri).fresh().to_table()) == expected
        ours.put(rows(7, 2, tag="ours"))
        expected |= expect(7, 2, tag="ours")
        assert our_scan(ours) == expected
    with Peer() as second:
        peer_writer(second, uri, shard)
        assert peer_scan(second) == expected


def test_what_only_fences_counts_in_no_log(tmp_path, peer, shard):
    """Of tables with much metadata too, which is in every entry of the peer that holds rows."""
    much = SCHEMA.with_metadata({"notes": "x" * 20_000})
    uri = made_by_peer(peer, tmp_path, rows(1).cast(much))
    peer_writer(peer, uri, shard)
    peer.run("w.put(a); w.put(b)", a=rows(2).cast(much), b=rows(3).cast(much))
    peer.kill()
    view = javelin.dataset(uri).fresh
    assert view().unseen_log_entries() == {shard: 2}
    with Peer() as second:
        peer_writer(second, uri, shard)
        second.kill()
    assert view().unseen_log_entries() == {shard: 2}
    our_writer(uri, shard)._abort()
    assert view().unseen_log_entries() == {shard: 2}
    our_writer(uri, shard).close()
    with Peer() as third:
        peer_writer(third, uri, shard)
        third.kill()
    assert view().unseen_log_entries() == {}


def test_a_shard_flushed_by_the_peer_is_read(tmp_path, peer, shard):
    uri = made_by_peer(peer, tmp_path)
    peer_writer(peer, uri, shard)
    peer.run("w.put(a); w.put(b); w.put(c)", a=rows(4, 2, tag="old"), b=rows(4, tag="peer"), c=rows(2, tag="peer"))
    peer.run("w.delete(k); w.close()", k=rows(3).select(["id"]))
    expected = {**expect(1), **expect(2, 4, tag="peer")}
    view = javelin.dataset(uri).fresh()
    assert by_id(view.to_table()) == expected
    assert by_id(view.get([4, 3, 2, 1])) == expected
    assert view.count_rows() == 3
    with our_writer(uri, shard) as ours:
        ours.put(rows(5, tag="ours"))
        expected |= expect(5, tag="ours")
        assert our_scan(ours) == expected
    assert by_id(javelin.dataset(uri).fresh().to_table()) == expected  # two SSTables by now, one of each
    with Peer() as second:
        peer_writer(second, uri, shard)
        assert peer_scan(second) == expected


def test_our_sstables_are_read_by_the_peer(tmp_path, peer, shard):
    uri = made_by_us(tmp_path)
    expected = expect(1, 2, 3)
    for generation in range(1, 4):
        with our_writer(uri, shard) as ours:
            ours.put(rows(generation, 10 + generation, tag=f"g{generation}"))
            ours.put(rows(10, tag=f"g{generation}"))
        expected |= expect(generation, 10 + generation, 10, tag=f"g{generation}")
        assert by_id(javelin.dataset(uri).fresh().to_table()) == expected
    assert len(list(Path(uri, "_mem_wal", shard).glob("*_gen_*"))) == 3
    peer_writer(peer, uri, shard)
    assert peer_scan(peer) == expected


def test_our_claim_fences_the_peer(tmp_path, peer, shard):
    uri = made_by_us(tmp_path)
    peer_writer(peer, uri, shard)
    peer.run("w.put(a)", a=rows(4, tag="peer"))
    with our_writer(uri, shard) as ours:
        with pytest.raises(PeerError, match="(?i)fence|epoch"):
            peer.run("w.put(a)", a=rows(5, tag="late"))
        assert our_scan(ours) == {**expect(1, 2, 3), **expect(4, tag="peer")}


def test_the_peers_claim_fences_us(tmp_path, peer, shard):
    uri = made_by_us(tmp_path)
    ours = our_writer(uri, shard)
    ours.put(rows(4, tag="ours"))
    peer_writer(peer, uri, shard)
    for attempt in (lambda: ours.put(rows(5, tag="late")), lambda: ours.put(rows(6, tag="late")),
                    lambda: our_scan(ours), ours.close):
        with pytest.raises(javelin.errors.FencedPeerClaimedEpoch) as failure:
            attempt()
        assert shard in str(failure.value)
    assert ours.memtable_stats()["generation"] == 1
    assert peer_scan(peer) == {**expect(1, 2, 3), **expect(4, tag="ours")}


def test_many_generations_in_our_log(tmp_path, peer, shard):
    """Small limits freeze often; the peer flushes one generation after the other while it replays."""
    uri = made_by_us(tmp_path)
    with our_writer(uri, shard, max_memtable_rows=5) as ours:
        for key in range(10, 33):
            ours.put(rows(key, tag="a"))
        ours.put(rows(10, 31, tag="b"))
        expected = {**expect(1, 2, 3), **expect(*range(10, 33), tag="a"), **expect(10, 31, tag="b")}
        assert our_scan(ours) == expected
    with our_writer(uri, shard) as again:
        assert our_scan(again) == expected
    peer_writer(peer, uri, shard)
    assert peer_scan(peer) == expected


def test_the_log_of_either_opens_under_any_limits_here(tmp_path, peer, shard):
    """P10: the peer refuses a generation that is larger than its own limits; we grow."""
    uri = made_by_peer(peer, tmp_path)
    peer_writer(peer, uri, shard)
    peer.run("for key in range(30): w.put(pa.table({'id': pa.array([key], pa.int64()), 'text': [f'v{key}'], "
             "'score': [key / 2]}, schema=schema))", schema=SCHEMA)
    peer.kill()
    with our_writer(uri, shard, max_memtable_batches=10, max_memtable_rows=20) as ours:
        assert our_scan(ours) == expect(*range(30))
        ours.put(rows(30))
        assert our_scan(ours) == expect(*range(31))


def test_log_objects_are_contiguous_and_never_rewritten(tmp_path, peer, shard):
    uri = made_by_us(tmp_path)
    with our_writer(uri, shard) as ours:
        ours.put(rows(4))
    before = {path.name: path.read_bytes() for path in wal_objects(uri, shard)}
    peer_writer(peer, uri, shard)
    peer.run("w.put(a)", a=rows(5))
    peer.kill()
    with our_writer(uri, shard) as ours:
        ours.put(rows(6))
    names = {path.name for path in wal_objects(uri, shard)}
    positions = sorted(int(name[:64][::-1], 2) for name in names)
    assert positions == list(range(1, len(positions) + 1))
    assert all(Path(uri, "_mem_wal", shard, "wal", name).read_bytes() == data for name, data in before.items())


@pytest.mark.parametrize("seed", range(6))
def test_random_turns_of_both_libraries(tmp_path, shard, seed):
    """Both write to one shard in turn, each killed or dropped without flushing, against a plain map."""
    random_source = random.Random(seed)
    with Peer() as first:
        uri = made_by_us(tmp_path) if seed % 2 else made_by_peer(first, tmp_path)
    model = expect(1, 2, 3)
    for turn in range(6):
        operations = [("delete", random_source.sample(range(20), 2)) if random_source.random() < 0.3 else
                      ("put", random_source.sample(range(20), random_source.randint(1, 6))) for _ in range(5)]
        batches = [pa.table({"id": pa.array(keys, pa.int64())}) if kind == "delete" else rows(*keys, tag=f"t{turn}.{number}.")
                   for number, (kind, keys) in enumerate(operations)]
        if turn % 2:
            with Peer() as peer:
                peer_writer(peer, uri, shard)
                assert peer_scan(peer) == model
                for (kind, _), batch in zip(operations, batches):
                    peer.run(f"w.{kind}(batch)", batch=batch)
        else:
            ours = our_writer(uri, shard)
            assert our_scan(ours) == model
            for (kind, _), batch in zip(operations, batches):
                getattr(ours, kind)(batch)
            del ours
        for (kind, keys), batch in zip(operations, batches):
            if kind == "delete":
                for key in keys:
                    model.pop(key, None)
            else:
                model |= by_id(batch)
    with our_writer(uri, shard) as ours:
        assert our_scan(ours) == model


@pytest.mark.parametrize("kind", [pa.list_(pa.large_string()), pa.map_(pa.string(), pa.large_string()),
                                  pa.list_(pa.struct([("x", pa.large_binary())])), pa.list_(pa.list_(pa.float32(), 3))], ids=str)
def test_the_peer_replays_our_deletes_of_rows_with_nested_columns(tmp_path, peer, shard, kind):
    """The columns of a delete are null, and so is all that would lie in them."""
    schema = pa.schema([SCHEMA.field("id"), pa.field("more", kind)])
    uri = str(tmp_path / "ours.lance")
    javelin.write_dataset(pa.Table.from_pylist([{"id": i, "more": []} for i in range(10)], schema=schema), uri).initialize_mem_wal(unsharded=True)
    writer = our_writer(uri, shard)
    for keys in ([0], [1, 2], [3, 4, 5, 6]):
        writer.delete(keys)
    writer._abort()
    peer_writer(peer, uri, shard)
    peer.run("w.close(); del w")
    assert sorted(javelin.dataset(uri).fresh().to_table()["id"].to_pylist()) == [7, 8, 9]
