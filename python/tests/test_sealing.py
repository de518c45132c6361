"""Sealing shards."""

import uuid

import pytest
from support import ids_of, rows, run_python

import javelin


def test_a_sealed_shard_takes_no_writer_and_is_read(table, uri, shard):
    with table.mem_wal_writer(shard, commit_mode="eager") as writer:
        writer.put(rows([4]))
    sealed = table.seal_shard(shard)
    assert sealed["status"] == "sealed" and sealed["writer_epoch"] == 2 and sealed["shard_id"] == shard
    assert table.seal_shard(shard) == sealed, "sealing again changes nothing"
    with pytest.raises(javelin.errors.Sealed):
        table.mem_wal_writer(shard)
    assert ids_of(javelin.dataset(uri).fresh().to_table()) == [1, 2, 3, 4]
    unsealed = table.unseal_shard(shard)
    assert unsealed["status"] == "active" and unsealed["version"] == sealed["version"] + 1
    assert table.unseal_shard(shard) == unsealed
    with table.mem_wal_writer(shard, commit_mode="eager") as writer:
        writer.put(rows([5]))
        assert ids_of(writer.lsm_scanner().to_table()) == [1, 2, 3, 4, 5]


def test_the_writer_at_work_is_fenced(table, uri, shard):
    writer = table.mem_wal_writer(shard, commit_mode="eager")
    writer.put(rows([4]))
    run_python("import javelin, sys; javelin.dataset(sys.argv[1]).seal_shard(sys.argv[2])", uri, shard)
    assert writer.manifest()["status"] == "active" and writer.refresh_manifest()["status"] == "sealed"
    for _ in range(2):
        with pytest.raises(javelin.errors.FencedPeerClaimedEpoch):
            writer.put(rows([5]))
    with pytest.raises(javelin.errors.FencedPeerClaimedEpoch):
        writer.close()
    table.unseal_shard(shard)
    with table.mem_wal_writer(shard) as writer:
        assert ids_of(writer.lsm_scanner().to_table()) == [1, 2, 3, 4], "what was acknowledged before the seal is there"


def test_a_writer_of_the_same_session_is_fenced_too(table, shard):
    writer = table.mem_wal_writer(shard, commit_mode="eager")
    writer.put(rows([4]))
    table.seal_shard(shard)
    with pytest.raises(javelin.errors.FencedPeerClaimedEpoch):
        writer.put(rows([5]))
    with pytest.raises(javelin.errors.Fenced):
        table.fresh()  # the session's own writer holds rows that may not be shown
    with pytest.raises(javelin.errors.Fenced):
        writer.close()
    assert ids_of(table.fresh().to_table()) == [1, 2, 3], "row 4 is in the log, for the writer after an unseal"
    table.unseal_shard(shard)
    with table.mem_wal_writer(shard) as writer:
        assert ids_of(writer.lsm_scanner().to_table()) == [1, 2, 3, 4]


def test_a_writer_seals_its_own_shard(table, shard):
    writer = table.mem_wal_writer(shard, commit_mode="eager")
    writer.put(rows([4]))
    sealed = writer.seal()
    assert sealed["status"] == "sealed" and sealed["writer_epoch"] == writer.epoch and len(sealed["sstables"]) == 1
    with pytest.raises(javelin.errors.Closed):
        writer.put(rows([5]))
    writer.close()
    assert writer.seal()["status"] == "sealed"
    with pytest.raises(javelin.errors.Sealed):
        table.mem_wal_writer(shard)
    assert ids_of(table.fresh().to_table()) == [1, 2, 3, 4]
    assert writer.unseal()["status"] == "active"
    with pytest.raises(javelin.errors.Closed):
        writer.put(rows([5]))
    table.mem_wal_writer(shard).close()
    with pytest.raises(javelin.errors.FencedPeerClaimedEpoch):
        writer.seal()


def test_what_cannot_be_sealed(table):
    for call in (table.seal_shard, table.unseal_shard):
        with pytest.raises(javelin.errors.NotFound):
            call(str(uuid.uuid4()))
        with pytest.raises(javelin.errors.InvalidInput, match="shard_id"):
            call("no uuid")
        with pytest.raises(TypeError):
            call(5)
