"""Reading tables, their versions, and what comes out of them."""

import datetime
import pathlib
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from support import SCHEMA, rows, run_python

import javelin
from javelin import errors
from javelin._row_numbers import row_numbers


@pytest.fixture
def plain(uri):
    """Rows 0 to 9 in data files of four rows."""
    return javelin.write_dataset(rows(range(10)), uri, max_rows_per_file=4)


def test_what_a_dataset_says_of_itself(plain, uri):
    assert (plain.uri, plain.version, plain.latest_version, len(plain)) == (uri, 1, 1, 10)
    assert plain.schema.equals(SCHEMA, check_metadata=True)
    assert plain.data_storage_version == "2.2"
    assert isinstance(plain.session(), javelin.Session)


def test_path_objects(uri):
    javelin.write_dataset(rows([1]), pathlib.Path(uri))
    assert javelin.dataset(pathlib.Path(uri)).count_rows() == 1


def test_uris(uri):
    javelin.write_dataset(rows([1]), f"file://{uri}")
    assert javelin.dataset(uri).count_rows() == 1


def test_tables_in_memory_live_in_their_session():
    session = javelin.Session()
    dataset = javelin.write_dataset(rows([1]), "memory://here/t", session=session)
    assert javelin.dataset("memory://here/t", session=session).to_table() == dataset.to_table()
    with pytest.raises(errors.NotFound):
        javelin.dataset("memory://here/t", session=javelin.Session())


def test_scans(plain):
    everything = rows(range(10))
    assert plain.to_table() == everything
    assert plain.to_table(["text"]) == everything.select(["text"])
    assert plain.to_table(columns=["text", "id"]) == everything.select(["text", "id"])
    assert plain.to_table(limit=3, offset=2) == everything.slice(2, 3)
    assert plain.to_table(offset=8) == everything.slice(8)
    assert plain.to_table(offset=100).num_rows == 0
    assert plain.to_table(limit=0).schema == SCHEMA
    assert plain.head(2) == everything.slice(0, 2)
    assert plain.head(2, columns=["id"]).to_pydict() == {"id": [0, 1]}


def test_row_ids_and_addresses(plain):
    table = plain.to_table(["id"], with_row_id=True, with_row_address=True, limit=5)
    assert table.schema.names == ["id", "_rowid", "_rowaddr"]
    assert table["_rowaddr"].to_pylist() == [0, 1, 2, 3, 1 << 32]
    assert table["_rowid"].type == pa.uint64()


def test_batches(plain):
    batches = list(plain.to_batches(batch_size=3))
    assert all(batch.num_rows <= 3 for batch in batches)
    assert pa.Table.from_batches(batches) == rows(range(10))


def test_batches_of_so_many_bytes(plain):
    assert [batch.num_rows for batch in plain.to_batches(batch_size_bytes=1)] == [1] * 10
    assert plain.to_table(batch_size_bytes=1) == rows(range(10))


def test_a_scan_that_failed_does_not_end_as_if_all_rows_had_come(plain, uri):
    data = pathlib.Path(uri, "data")
    before = set(data.iterdir())
    javelin.write_dataset(rows([10]), uri, mode="append")
    for file in set(data.iterdir()) - before:
        file.unlink()
    batches = javelin.dataset(uri).to_batches(["id"])
    assert [row for _ in range(3) for row in next(batches)["id"].to_pylist()] == list(range(10))
    for _ in range(3):
        with pytest.raises(errors.NotFound):
            next(batches)


def test_scanner(plain):
    scanner = plain.scanner(["text"], limit=4, offset=1)
    assert scanner.projected_schema == pa.schema([SCHEMA.field("text")])
    assert scanner.dataset_schema == SCHEMA
    assert scanner.count_rows() == 4
    assert plain.scanner(offset=8).count_rows() == 2
    assert plain.scanner(offset=80, limit=1).count_rows() == 0
    expected = rows(range(1, 5)).select(["text"])
    assert scanner.to_table() == expected
    assert scanner.to_reader().read_all() == expected
    assert pa.Table.from_batches(scanner.to_batches()) == expected
    assert pa.table(scanner) == expected


def test_a_dataset_is_an_arrow_stream(plain):
    assert pa.table(plain) == rows(range(10))
    wider = pa.schema([pa.field("id", pa.int64(), nullable=False), pa.field("text", pa.large_string())])
    assert pa.RecordBatchReader.from_stream(plain, schema=wider).read_all()["text"].type == pa.large_string()
    stream = plain.__arrow_c_stream__()
    del stream  # never read


def test_take(plain):
    assert plain.take([7, 0, 7])["id"].to_pylist() == [7, 0, 7]
    assert plain.take(pa.array([3, 1])).to_pylist() == [{"id": 3, "text": "row 3"}, {"id": 1, "text": "row 1"}]
    assert plain.take(np.array([9]), columns=["text"]).to_pydict() == {"text": ["row 9"]}
    assert plain.take([]).schema == SCHEMA


@pytest.mark.parametrize(
    "indices",
    [(3, 1), range(3, 0, -2), [np.int8(3), 1], iter([3, 1]), {3: 0, 1: 0}, np.array([3, 1], np.uint8), np.array([3, 2, 1])[::2],
     np.array([3, 1], object), pa.array([3, 1], pa.int8()), pa.chunked_array([[3], [1]]), pa.array([3, 1]).dictionary_encode(),
     pd.Series([3, 1]), pl.Series([3, 1])],
    ids=lambda indices: type(indices).__name__,
)
def test_forms_of_row_numbers(plain, indices):
    assert plain.take(indices)["id"].to_pylist() == [3, 1]


@pytest.mark.parametrize("nothing", [(), range(0), np.array([]), pa.array([]), pa.chunked_array([], pa.int64())],
                         ids=lambda nothing: type(nothing).__name__)
def test_take_of_no_rows(plain, nothing):
    assert plain.take(nothing).to_pylist() == []


def test_reads_and_puts_do_not_import_pandas(uri, shard):
    """Half a second of every short program. Arrow does it when it converts plain values, whatever they are."""
    javelin.write_dataset(rows(range(4)), uri).initialize_mem_wal(unsharded=True)
    run_python(
        """
        import sys
        import numpy as np
        import javelin
        uri, shard = sys.argv[1:]
        dataset = javelin.dataset(uri)
        for indices in ([3, 0], (3, 0), range(3, -1, -3), np.array([3, 0]), iter([3, 0])):
            assert dataset.take(indices).num_rows == 2
        assert dataset.to_table(limit=3).num_rows == 3
        with dataset.mem_wal_writer(shard) as writer:
            writer.put([{"id": 7, "text": "seven"}])
            writer.put({"id": [8, 9], "text": ["eight", ""]})
            writer.delete([9])
            view = dataset.fresh()
            assert view.get([7, 3]).num_rows == 2
            assert view.to_table().num_rows == 6
        assert "pandas" not in sys.modules
        """,
        uri, shard,
    )


def test_row_numbers_are_not_shared_with_the_caller(plain):
    indices = np.array([3, 1], np.uint64)
    taken = row_numbers(indices)
    indices[0] = 7
    assert list(memoryview(taken).cast("B").cast("Q")) == [3, 1]


def test_versions(uri):
    before = datetime.datetime.now()
    first = javelin.write_dataset(rows([1]), uri)
    dataset = javelin.dataset(uri)
    dataset.insert(rows([2]))
    assert (dataset.version, dataset.count_rows()) == (2, 2)
    javelin.write_dataset(rows([9]), dataset, mode="overwrite")
    assert (dataset.version, dataset.latest_version) == (2, 3)
    versions = javelin.dataset(uri).versions()
    assert [entry["version"] for entry in versions] == [1, 2, 3]
    assert before - datetime.timedelta(seconds=1) <= versions[0]["timestamp"] <= versions[2]["timestamp"]
    assert dataset.checkout_version(1).to_table() == rows([1])
    assert dataset.version == 2
    assert javelin.dataset(uri, version=2).count_rows() == 2
    dataset.checkout_latest()
    assert dataset.to_table() == rows([9])
    assert (first.version, first.latest_version, first.count_rows()) == (1, 3, 1)


def test_insert_into_an_old_version_lands_on_the_newest(uri):
    old = javelin.write_dataset(rows([1]), uri)
    javelin.dataset(uri).insert(rows([2]))
    old.insert([{"id": 3, "text": "row 3"}])
    assert (old.version, old.to_table()) == (3, rows([1, 2, 3]))


def test_writes_through_an_old_handle_meet_what_was_committed_since(uri):
    old = javelin.write_dataset(rows([1]), uri)
    javelin.write_dataset(rows([2]), uri, mode="overwrite")
    with pytest.raises(errors.IncompatibleConflict) as raised:
        old.insert(rows([3]))
    assert isinstance(raised.value, OSError) and not raised.value.retryable
    with pytest.raises(errors.RetryableConflict) as raised:
        old.insert(rows([3]), mode="overwrite")
    assert isinstance(raised.value, OSError) and raised.value.retryable
    with pytest.raises(errors.AlreadyExists):
        old.insert(rows([3]), mode="create")
    assert (old.version, old.latest_version) == (1, 2)


def test_append_creates_what_is_not_there(uri):
    data = iter(rows([1, 2]).to_batches(max_chunksize=1))
    assert javelin.write_dataset(data, uri, schema=SCHEMA, mode="append").to_table() == rows([1, 2])


def test_overwrite_creates_what_is_not_there(uri):
    assert javelin.write_dataset(rows([1]), uri, mode="overwrite").version == 1


def test_a_column_that_may_be_null_may_be_left_out_of_an_append(plain):
    plain.insert(rows([50]).select(["id"]))
    assert plain.take([10]).to_pylist() == [{"id": 50, "text": None}]


def test_a_dataset_can_be_pickled(plain):
    again = pickle.loads(pickle.dumps(plain))
    assert (again.version, again.to_table()) == (plain.version, plain.to_table())


def test_a_reader_serves_one_thread_at_a_time(plain):
    reader = plain._core.scan()
    reader.__arrow_c_stream__()
    with pytest.raises(errors.Closed):
        reader.read_next()


def test_json_columns_are_not_written(tmp_path):
    """Tables hold JSON in a binary form; as text the released library could not open them any more."""
    texts = pa.ExtensionArray.from_storage(pa.json_(pa.string()), pa.array(['{"a": 1}', None]))
    with pytest.raises(errors.NotSupported, match="'j' is of arrow.json"):
        javelin.write_dataset(pa.table({"j": texts}), tmp_path / "table")
    assert not (tmp_path / "table").exists()


def test_a_session_holds_no_more_than_its_limit(tmp_path):
    count = 60_000
    vectors = pa.FixedSizeListArray.from_arrays(np.arange(count * 64, dtype=np.float32), 64)
    held = pa.table({"id": range(count), "vector": vectors})
    uri = str(tmp_path / "t.lance")
    session = javelin.Session(memory_limit_bytes=8 << 20)
    assert session.memory_limit_bytes == 8 << 20
    table = javelin.write_dataset(held, uri, session=session)

    # A scan makes smaller steps, even where it is asked for all in one.
    batches = list(table.to_batches(batch_size=count, batch_size_bytes=1 << 40))
    assert len(batches) > 2 and pa.Table.from_batches(batches) == held
    assert session.memory_used_bytes < 1 << 20  # what it held is free again

    # Rows by number come as one piece.
    with pytest.raises(errors.OutOfMemory, match=str(8 << 20)):
        table.take(range(0, count, 2))
    assert table.take([7, 1, 59_999]) == held.take([7, 1, 59_999])
    assert javelin.dataset(uri, session=javelin.Session()).take(range(count)) == held


def test_limits_of_sessions_that_make_no_sense_are_refused():
    with pytest.raises(errors.InvalidInput, match="memory_limit_bytes must be at least 1048576"):
        javelin.Session(memory_limit_bytes=1000)
    with pytest.raises(errors.WrongType, match="memory_limit_bytes"):
        javelin.Session(memory_limit_bytes="1 GiB")
