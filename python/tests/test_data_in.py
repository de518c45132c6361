"""Every form in which rows come in."""

import numpy as np
import pandas
import polars
import pyarrow as pa
import pyarrow.dataset
import pytest
from support import KEY, SCHEMA, ids_of, rows

import javelin
from javelin import errors

DATA = rows([1, 2, 3])


class OnlyStream:
    def __arrow_c_stream__(self, requested_schema=None):
        return DATA.__arrow_c_stream__(requested_schema)


class OnlyArray:
    def __arrow_c_array__(self, requested_schema=None):
        return DATA.to_batches()[0].__arrow_c_array__(requested_schema)


FORMS = {
    "table": lambda: DATA,
    "batch": lambda: DATA.to_batches()[0],
    "reader": lambda: DATA.to_reader(),
    "c stream": OnlyStream,
    "c array": OnlyArray,
    "dict of columns": lambda: DATA.to_pydict(),
    "dict of arrays": lambda: {"id": np.array([1, 2, 3]), "text": DATA["text"].combine_chunks()},
    "list of dicts": lambda: DATA.to_pylist(),
    "iterator": lambda: iter(DATA.to_batches()),
    "list of batches": lambda: DATA.to_batches(max_chunksize=1),
    "pyarrow dataset": lambda: pyarrow.dataset.dataset(DATA),
    "pyarrow scanner": lambda: pyarrow.dataset.dataset(DATA).scanner(),
}


@pytest.mark.parametrize("form", FORMS)
def test_write_dataset_takes(uri, form):
    dataset = javelin.write_dataset(FORMS[form](), uri, schema=SCHEMA)
    assert dataset.to_table().to_pydict() == DATA.to_pydict()


@pytest.mark.parametrize("form", FORMS)
def test_put_takes(writer, form):
    schema = SCHEMA if form in ("iterator", "list of batches") else None
    writer.put(FORMS[form](), schema=schema)
    assert sorted(writer.lsm_scanner().to_table().to_pylist(), key=lambda row: row["id"]) == DATA.to_pylist()


def test_data_frames(uri, writer):
    frame = pandas.DataFrame({"id": [7, 8], "text": ["x", None]})
    assert javelin.write_dataset(frame, uri + "2").to_table().to_pydict() == {"id": [7, 8], "text": ["x", None]}
    writer.put(frame)
    frame.loc[0, "id"] = 99
    assert ids_of(writer.lsm_scanner().to_table()) == [1, 2, 3, 7, 8]
    assert list(javelin.dataset(uri + "2").to_pandas().columns) == ["id", "text"]


def test_polars_frames(uri, writer):
    frame = polars.DataFrame({"id": [7, 8], "text": ["x", None]})
    dataset = javelin.write_dataset(frame, uri + "2")
    assert dataset.to_table().to_pydict() == {"id": [7, 8], "text": ["x", None]}
    writer.put(frame)
    assert ids_of(writer.lsm_scanner().to_table()) == [1, 2, 3, 7, 8]
    assert polars.DataFrame(dataset).to_dict(as_series=False) == {"id": [7, 8], "text": ["x", None]}


def test_our_own_datasets_and_scanners_are_data(table, uri):
    copy = javelin.write_dataset(table, uri + "2")
    assert copy.to_table() == table.to_table()
    part = javelin.write_dataset(table.scanner(columns=["text"], limit=1), uri + "3")
    assert part.to_table().to_pydict() == {"text": ["base 1"]}
    fresh = javelin.write_dataset(table.fresh(), uri + "4")
    assert fresh.count_rows() == 3


def test_an_array_that_changes_after_the_put_changes_nothing(writer):
    ids = np.array([10, 11, 12])
    writer.put({"id": ids, "text": ["a", "b", "c"]})
    ids[:] = 99
    assert ids_of(writer.lsm_scanner().to_table()) == [1, 2, 3, 10, 11, 12]


def test_plain_values_take_the_types_of_the_table(uri, shard):
    schema = pa.schema([pa.field("id", pa.int32(), nullable=False), pa.field("score", pa.float32())])
    dataset = javelin.write_dataset(pa.table({"id": [1], "score": [0.5]}, schema=schema), uri)
    dataset.initialize_mem_wal()
    with dataset.mem_wal_writer(shard) as writer:
        writer.put([{"id": 2, "score": 1}])
        writer.put({"id": [3], "score": [None]})
        assert writer.lsm_scanner().to_table().sort_by("id").to_pydict() == {"id": [1, 2, 3], "score": [0.5, 1.0, None]}


def test_rows_may_lack_names_and_may_bring_new_ones_late(uri):
    dataset = javelin.write_dataset([{"id": 1}, {"id": 2, "late": "x"}], uri)
    assert dataset.to_table().to_pydict() == {"id": [1, 2], "late": [None, "x"]}


def test_columns_that_do_not_fit_the_schema_given_are_refused(uri):
    for data in ([{"id": 1, "text": "a", "extra": 2}], {"id": [1]}):
        with pytest.raises(errors.InvalidInput):
            javelin.write_dataset(data, uri, schema=SCHEMA)


def test_batches_are_cast_to_the_schema_given(uri):
    batch = pa.record_batch({"id": pa.array([1], pa.int32()), "text": ["a"]})
    assert javelin.write_dataset(iter([batch]), uri, schema=SCHEMA).schema.field("id").type == pa.int64()
    bad = pa.record_batch({"id": ["not a number"], "text": ["a"]})
    with pytest.raises(errors.InvalidInput):
        javelin.write_dataset(iter([bad]), uri + "2", schema=SCHEMA)


def test_an_iterator_needs_a_schema(uri):
    for data in (iter(DATA.to_batches()), DATA.to_batches(), [], ()):
        with pytest.raises(errors.InvalidInput, match="schema"):
            javelin.write_dataset(data, uri)
    assert javelin.write_dataset([], uri, schema=SCHEMA).count_rows() == 0


NOTHING = {
    "table": lambda: rows([]),
    "reader": lambda: rows([]).to_reader(),
    "dict": lambda: {"id": [], "text": []},
    "list": lambda: [],
    "tuple": lambda: (),
    "iterator": lambda: iter([]),
}


@pytest.mark.parametrize("nothing", NOTHING)
def test_a_put_or_delete_without_rows_does_nothing(writer, nothing):
    before = writer.stats()["put_count"]
    assert writer.put(NOTHING[nothing]()) is None
    assert writer.delete(NOTHING[nothing]()) is None
    ticket = writer.put(rows([]), wait=False)
    ticket.wait(0)
    assert ticket.done() and ticket.token == b""
    assert writer.stats()["put_count"] == before


def test_malformed_arrow_data_is_refused(writer):
    offsets = np.array([0, 2, 5], dtype=np.int32)
    text = pa.StringArray.from_buffers(2, pa.py_buffer(offsets), pa.py_buffer(b"hello"))
    batch = pa.RecordBatch.from_arrays([pa.array([8, 9]), text], schema=SCHEMA)
    offsets[2] = -7
    with pytest.raises(errors.InvalidInput):
        writer.put(batch)


def test_what_is_no_stream_is_refused(writer):
    class Liar:
        def __arrow_c_stream__(self, requested_schema=None):
            return "no capsule"

    class Scalars:
        def __arrow_c_stream__(self, requested_schema=None):
            return pa.chunked_array([[1, 2]]).__arrow_c_stream__()

    with pytest.raises(TypeError, match="arrow_array_stream"):
        writer.put(Liar())
    with pytest.raises(errors.InvalidInput):
        writer.put(Scalars())


def test_a_writer_takes_batches_without_a_schema_argument(writer):
    writer.put(batch for batch in rows([10, 11]).to_batches(max_chunksize=1))
    writer.put(rows([12]).to_batches())
    assert ids_of(writer.lsm_scanner().to_table()) == [1, 2, 3, 10, 11, 12]
    writer.delete(batch for batch in rows([1, 10]).select(["id"]).to_batches(max_chunksize=1))
    assert ids_of(writer.lsm_scanner().to_table()) == [2, 3, 11, 12]

    def failing():
        yield from rows([20]).to_batches()
        raise KeyError("the producer's own")

    with pytest.raises(KeyError, match="own"):
        writer.put(failing())
    assert ids_of(writer.lsm_scanner().to_table()) == [2, 3, 11, 12]


KEYS = {
    "list": [1, 3],
    "tuple": (1, 3),
    "rows": [{"id": 1}, {"id": 3}],
    "columns": {"id": [1, 3]},
    "array": pa.array([1, 3]),
    "rows with more": [{"id": 1, "text": 5.5}, {"id": 3, "other": object()}],
}


@pytest.mark.parametrize("form", KEYS)
def test_get_and_delete_take_the_same_keys(writer, table, form):
    keys = KEYS[form]
    assert table.fresh().get(keys)["id"].to_pylist() == [1, 3]
    writer.delete(keys)
    assert ids_of(writer.lsm_scanner().to_table()) == [2]


def test_keys_of_several_columns_are_no_plain_values(uri, shard):
    schema = pa.schema([pa.field(name, pa.int64(), nullable=False, metadata=KEY) for name in "ab"])
    dataset = javelin.write_dataset([{"a": 1, "b": 2}, {"a": 3, "b": 4}], uri, schema=schema)
    dataset.initialize_mem_wal()
    with dataset.mem_wal_writer(shard) as writer:
        with pytest.raises(errors.InvalidInput, match="dicts"):
            writer.delete([1])
        writer.delete([{"a": 1, "b": 2}])
        assert writer.lsm_scanner().to_table().to_pydict() == {"a": [3], "b": [4]}


def test_one_row_is_no_dict_of_scalars(writer, uri):
    for attempt in (writer.put, writer.delete, lambda data: javelin.write_dataset(data, uri + "2")):
        with pytest.raises(errors.InvalidInput, match="list of one dict"):
            attempt({"id": 5, "text": "z"})
    with pytest.raises(errors.InvalidInput, match="'text' has 1 values"):
        writer.put({"id": [1, 2], "text": ["a"]})


def test_frames_keep_their_values_or_are_refused(uri, shard):
    schema = pa.schema([pa.field("id", pa.int64(), nullable=False, metadata=KEY), pa.field("n", pa.int32())])
    dataset = javelin.write_dataset([{"id": 1, "n": 1}], uri, schema=schema)
    dataset.initialize_mem_wal()
    with dataset.mem_wal_writer(shard) as writer:
        for frame in (pandas.DataFrame, polars.DataFrame, lambda columns: {k: np.array(v) for k, v in columns.items()}):
            for bad in ([2.5], ["2"], [True], [2**40], [b"2"]):
                with pytest.raises(errors.InvalidInput, match="'n'"):
                    writer.put(frame({"id": [2], "n": bad}))
        writer.put(pandas.DataFrame({"id": [2, 3], "n": [7.0, None]}))  # pandas has floats where a whole number is missing
        assert writer.lsm_scanner().to_table().sort_by("id").to_pydict() == {"id": [1, 2, 3], "n": [1, 7, None]}
    for data in (pandas.DataFrame({"id": [1.5], "n": [1]}), pandas.DataFrame({"id": [object()], "n": [1]}),
                 [{"id": 1.5, "n": 1}], {"id": [1.5], "n": [1]}):
        with pytest.raises(errors.InvalidInput):
            javelin.write_dataset(data, uri + "2", schema=schema)
