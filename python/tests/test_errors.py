"""Each kind of failure, its class, and the built-in that existing code catches."""

import pickle

import numpy as np
import pyarrow as pa
import pytest
from support import KEY, SCHEMA, rows

import javelin
from javelin import _core, errors


def test_every_kind_has_a_class():
    assert {kind for kind, _ in _core.ERROR_KINDS} == set(errors._CLASS_OF_KIND)
    for kind, retryable in _core.ERROR_KINDS:
        error = errors._from_core(kind, "what went wrong", {"shard": "7"})
        assert (error.kind, error.retryable, error.fields, str(error)) == (kind, retryable, {"shard": "7"}, "what went wrong")
        assert isinstance(error, errors.JavelinError)
        again = pickle.loads(pickle.dumps(error))
        assert (type(again), str(again), again.fields) == (type(error), str(error), error.fields)


def test_table_not_found(tmp_path):
    with pytest.raises(errors.NotFound, match="there is no table at .*none.lance") as raised:
        javelin.dataset(tmp_path / "none.lance")
    assert isinstance(raised.value, ValueError) and raised.value.kind == "NotFound" and not raised.value.retryable


def test_version_not_found(table, uri):
    for call in (lambda: javelin.dataset(uri, version=99), lambda: table.checkout_version(99), lambda: javelin.dataset(uri, 0)):
        with pytest.raises(errors.NotFound):
            call()


def test_create_existing(table, uri):
    for target in (uri, table):
        with pytest.raises(errors.AlreadyExists, match="append.*overwrite") as raised:
            javelin.write_dataset(rows([4]), target)
        assert isinstance(raised.value, OSError)


def test_a_key_that_may_be_null_says_how_to_make_it(uri):
    schema = pa.schema([pa.field("id", pa.int64(), metadata=KEY)])
    with pytest.raises(errors.InvalidInput, match="nullable=False"):
        javelin.write_dataset([{"id": 1}], uri, schema=schema)


def test_an_option_out_of_range_names_one_range(table, shard):
    texts = []
    for number in (-1, 0, 2**40, 2**70):
        with pytest.raises(errors.InvalidInput, match="max_memtable_rows") as raised:
            table.mem_wal_writer(shard, max_memtable_rows=number)
        assert str(number) in str(raised.value)
        texts.append(str(raised.value))
    assert len({text.rpartition("must be from")[2] for text in texts if "must be from" in text}) == 1


@pytest.mark.parametrize(
    "data",
    [
        pa.table({"id": [1], "text": ["a"], "extra": [1]}),
        pa.table({"id": pa.array([1], pa.int32()), "text": ["a"]}),
        pa.table({"id": pa.array([None], pa.int64()), "text": ["a"]}),
        pa.table({"text": ["a"]}),
    ],
    ids=["extra column", "other type", "null key", "no key"],
)
def test_append_that_does_not_fit(table, uri, data):
    with pytest.raises(errors.InvalidInput) as raised:
        javelin.write_dataset(data, uri, mode="append")
    assert isinstance(raised.value, OSError)
    assert javelin.dataset(uri).version == table.version


@pytest.mark.parametrize(
    "arguments", [{"mode": "bogus"}, {"data_storage_version": "9.9"}, {"max_rows_per_file": 0}, {"max_bytes_per_file": -1}]
)
def test_bad_arguments_of_a_write(uri, arguments):
    with pytest.raises(errors.InvalidInput) as raised:
        javelin.write_dataset(rows([1]), uri, **arguments)
    assert isinstance(raised.value, ValueError)
    with pytest.raises(errors.NotFound):
        javelin.dataset(uri)


@pytest.mark.parametrize(
    "scan", [{"limit": -1}, {"offset": -1}, {"batch_size": 0}, {"columns": ["nope"]}, {"columns": ["id", "id"]}]
)
def test_bad_arguments_of_a_scan(table, scan):
    with pytest.raises(errors.InvalidInput) as raised:
        table.to_table(**scan)
    assert isinstance(raised.value, ValueError)


def test_unknown_scheme():
    with pytest.raises(errors.NotSupported, match="nowhere") as raised:
        javelin.dataset("nowhere://bucket/table")
    assert isinstance(raised.value, ValueError)


def test_unknown_storage_option(uri):
    with pytest.raises(errors.InvalidInput, match="colour"):
        javelin.write_dataset(rows([1]), uri, storage_options={"colour": "red"})
    with pytest.raises(TypeError):
        javelin.write_dataset(rows([1]), uri, storage_options={"sync": True})


def test_wrong_types_of_arguments(table, uri):
    for call in (
        lambda: javelin.write_dataset(rows([1]), 42),
        lambda: javelin.write_dataset(42, uri, mode="append"),
        lambda: javelin.dataset(42),
        lambda: javelin.dataset(uri, session="mine"),
        lambda: table.to_table(limit="3"),
        lambda: table.mem_wal_writer(7),
    ):
        with pytest.raises(TypeError):
            call()


@pytest.mark.parametrize(
    "indices",
    [[3], [-1], [2**64], [0, None], np.array([-1]), np.array([[0]]), np.array(0), np.array([0, None]), pa.array([-1]),
     pa.array([0, None]), pa.chunked_array([[0], [3]])],
    ids=lambda indices: type(indices).__name__,
)
def test_take_of_a_row_number_that_does_not_exist(table, indices):
    with pytest.raises(errors.InvalidInput) as refused:
        table.take(indices)
    assert not isinstance(refused.value, errors.WrongType)


@pytest.mark.parametrize(
    "indices",
    [["a"], [True], [1.0], [0, 1.5], 0, None, "0", b"0", [np.bool_(True)], [np.float32(1)], np.array([1.0]), np.array([True]),
     np.array(["0"]), pa.array([1.0]), pa.array([True]), pa.array(["0"])],
    ids=lambda indices: type(indices).__name__,
)
def test_take_of_what_is_no_row_number(table, indices):
    with pytest.raises(errors.WrongType, match="row numbers must be"):
        table.take(indices)


@pytest.mark.parametrize(
    "data",
    [
        pa.table({"text": ["a"], "id": [4]}),
        pa.table({"id": [4]}),
        pa.table({"id": [4], "text": ["a"], "extra": [1]}),
        pa.table({"id": pa.array([4], pa.int32()), "text": ["a"]}),
        pa.table({"id": pa.array([None], pa.int64()), "text": ["a"]}),
    ],
    ids=["reordered", "missing", "extra", "other type", "null key"],
)
def test_put_that_does_not_fit(writer, data):
    with pytest.raises(errors.InvalidInput) as raised:
        writer.put(data)
    assert isinstance(raised.value, OSError)
    writer.put(rows([4]))
    assert writer.lsm_scanner().count_rows() == 4


@pytest.mark.parametrize(
    "keys",
    [pa.table({"text": ["a"]}), pa.table({"id": pa.array([1], pa.int32())}), pa.table({"id": pa.array([None], pa.int64())})],
    ids=["no key column", "other type", "null"],
)
def test_delete_that_does_not_fit(writer, keys):
    with pytest.raises(errors.InvalidInput):
        writer.delete(keys)
    assert writer.lsm_scanner().count_rows() == 3


def test_delete_without_a_key(uri, shard):
    dataset = javelin.write_dataset(pa.table({"n": [1.0]}), uri)
    dataset.initialize_mem_wal()
    with dataset.mem_wal_writer(shard) as writer:
        with pytest.raises(errors.InvalidInput, match="primary key"):
            writer.delete(pa.table({"n": [1.0]}))


def test_shard_id_must_be_a_uuid(table):
    with pytest.raises(errors.InvalidInput, match="nope") as raised:
        table.mem_wal_writer("nope")
    assert isinstance(raised.value, ValueError)


def test_writer_needs_mem_wal(uri, shard):
    dataset = javelin.write_dataset(rows([1]), uri)
    assert dataset.mem_wal_index_details() is None
    with pytest.raises(errors.NotFound) as raised:
        dataset.mem_wal_writer(shard)
    assert isinstance(raised.value, OSError)


def test_a_writer_without_memtables_is_refused(table, writer, shard):
    with pytest.raises(errors.NotSupported, match="enable_memtable"):
        table.mem_wal_writer(shard, enable_memtable=False)
    assert writer.refresh_manifest()["writer_epoch"] == writer.epoch


def test_a_table_whose_writers_would_have_no_memtables_is_not_made(uri, shard):
    dataset = javelin.write_dataset(rows([1]), uri)
    with pytest.raises(errors.NotSupported, match="enable_memtable"):
        dataset.initialize_mem_wal(unsharded=True, enable_memtable=False)
    assert (dataset.version, dataset.latest_version, dataset.mem_wal_index_details()) == (1, 1, None)
    dataset.initialize_mem_wal(unsharded=True, enable_memtable=True)
    dataset.mem_wal_writer(shard).close()


def test_fenced_writer_says_so_everywhere(table, shard):
    first = table.mem_wal_writer(shard, max_wal_flush_interval_ms=5)
    first.put(rows([4]))
    with table.mem_wal_writer(shard, max_wal_flush_interval_ms=5) as second:
        with pytest.raises(errors.FencedPeerClaimedEpoch) as raised:
            first.put(rows([5]))
        assert raised.value.kind == "Fenced(PeerClaimedEpoch)"
        assert isinstance(raised.value, errors.Fenced) and isinstance(raised.value, OSError)
        assert shard in str(raised.value)
        for call in (
            lambda: first.put(rows([6])),
            lambda: first.delete({"id": [1]}),
            lambda: first.lsm_scanner().to_table(),
            lambda: first.lsm_scanner().count_rows(),
        ):
            with pytest.raises(errors.FencedPeerClaimedEpoch):
                call()
        assert first.stats()["put_count"] >= 1
        assert first.memtable_stats()["generation"] == 1
        second.put(rows([7]))
        assert second.lsm_scanner().count_rows() == 5


def test_closed_writer(table, shard):
    writer = table.mem_wal_writer(shard)
    writer.put(rows([4]))
    writer.close()
    writer.close()
    for call in (lambda: writer.put(rows([5])), lambda: writer.put(rows([])), lambda: writer.delete({"id": [1]})):
        with pytest.raises(errors.Closed) as raised:
            call()
        assert isinstance(raised.value, OSError)
    with pytest.raises(errors.Closed):
        writer.lsm_scanner().to_table()
    assert writer.stats()["put_count"] == 1
    assert writer.shard_id == shard


def test_source_that_fails_raises_its_own_error(uri):
    def batches():
        yield rows([1]).to_batches()[0]
        raise KeyError("boom")

    with pytest.raises(KeyError, match="boom") as raised:
        javelin.write_dataset(batches(), uri, schema=SCHEMA)
    assert isinstance(raised.value.__cause__, errors.InvalidInput)
    with pytest.raises(errors.NotFound):
        javelin.dataset(uri)


def test_source_that_fails_in_a_reader(uri):
    def batches():
        yield rows([1]).to_batches()[0]
        raise KeyError("boom")

    with pytest.raises(errors.InvalidInput, match="boom"):
        javelin.write_dataset(pa.RecordBatchReader.from_batches(SCHEMA, batches()), uri)


def test_what_panics_elsewhere_is_refused(table, uri):
    for call in (
        lambda: table.take([0], columns=["nope"]),
        lambda: javelin.write_dataset(rows([1]), uri + "2", max_rows_per_file=0),
        lambda: table.to_table(batch_size=-1),
        lambda: table.take([-1]),
    ):
        with pytest.raises(errors.InvalidInput):
            call()
